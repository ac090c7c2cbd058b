"""What `symseek fit` can be asked for, for the page to draw: every setting, and every operator."""

from __future__ import annotations

from typing import Any

from symseek.operators.record import ARGUMENTS, Token
from symseek.settings import PARAMETERS, Parameter, Settings
from symseek.tokens import OPERATORS
from symseek.value_types import Name


def options() -> dict[str, Any]:
    """The settings in their order, and the operators."""
    return {
        "settings": [_setting(each) for each in PARAMETERS.values() if each.is_text],
        "operators": [_operator(token) for token in OPERATORS.values()],
    }


def _setting(parameter: Parameter) -> dict[str, Any]:
    type = parameter.type
    return {
        "name": parameter.name,
        "label": parameter.label or parameter.name.replace("_", " "),
        "help": parameter.help,
        "kind": type.control,
        "none": type.none,
        "default": parameter.by_itself[1]() if parameter.by_itself else parameter.default,
        "choices": list(type.known()) if isinstance(type, Name) else None,
        "usual": parameter.is_usual,
        "while_paused": parameter.while_paused,
    }


def _operator(token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "symbol": _symbol(token),
        "complexity": token.complexity,
        "arity": token.arity,
        "default": token.name in Settings.operators,
        "protected": token.protects is not None,
    }


def _symbol(token: Token) -> str:
    """How it is written, such as a + b."""
    arguments = dict(zip(ARGUMENTS, ARGUMENTS, strict=True))
    written = token.form("infix")
    if written is not None:
        return written.format(**arguments)
    return f"{token.name}({', '.join(ARGUMENTS[: token.arity])})"
