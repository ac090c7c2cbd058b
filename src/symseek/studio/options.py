"""What `symseek fit` can be told, for the page to draw: every setting, and every operator."""

from __future__ import annotations

import types
from dataclasses import fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from symseek.cli.settings import CHANGEABLE, option_words
from symseek.engines.choice import AUTO
from symseek.engines.interface import ENGINES
from symseek.operators.record import ARGUMENTS, Token
from symseek.presets import METHODS
from symseek.regression.settings import Settings, cores
from symseek.rewards import REWARDS
from symseek.selection.rules import RULES
from symseek.tokens import OPERATORS

__all__ = ["options"]

MAIN = (
    "operators",
    "constants",
    "max_length",
    "max_expressions",
    "max_seconds",
    "seeds",
    "validation",
)
CHOICES: dict[str, list[str]] = {
    "method": list(METHODS),
    "reward": list(REWARDS),
    "pick": list(RULES),
    "engine": [AUTO, *ENGINES],
}


def options() -> dict[str, Any]:
    """The settings in their order, and the operators."""
    hints = get_type_hints(Settings)
    every = [each for each in fields(Settings) if "help" in each.metadata]
    default = Settings()
    return {
        "settings": [
            _setting(each.name, each.metadata["help"], hints[each.name], default) for each in every
        ],
        "operators": [_operator(token, default) for token in OPERATORS.values()],
    }


def _setting(name: str, text: str, hint: Any, default: Settings) -> dict[str, Any]:
    value = getattr(default, name)
    optional = get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)
    return {
        "name": name,
        "option": option_words(name, not value if isinstance(value, bool) else "")[0],
        "help": text,
        "kind": _kind(name, hint),
        "optional": optional,
        "default": cores() if name == "threads" else value,
        "choices": CHOICES.get(name),
        "level": "main" if name in MAIN else "more",
        "while_paused": name in CHANGEABLE,
    }


def _kind(name: str, hint: Any) -> str:
    if name in CHOICES:
        return "choice"
    if name == "operators":
        return "operators"
    kinds = {bool: "flag", int: "whole", float: "number"}
    return next((kinds[each] for each in (hint, *get_args(hint)) if each in kinds), "text")


def _operator(token: Token, default: Settings) -> dict[str, Any]:
    return {
        "name": token.name,
        "symbol": _symbol(token),
        "complexity": token.complexity,
        "arity": token.arity,
        "default": token.name in default.operators,
        "protected": token.protects is not None,
    }


def _symbol(token: Token) -> str:
    """How it is written, such as a + b."""
    arguments = dict(zip(ARGUMENTS, ARGUMENTS, strict=True))
    written = token.form("infix")
    if written is not None:
        return written.format(**arguments)
    return f"{token.name}({', '.join(ARGUMENTS[: token.arity])})"
