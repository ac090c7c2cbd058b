"""The fields of `Settings` as options, and a fit as the command that repeats it."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from symseek.cli.options import Parser, names, shell_words, whole
from symseek.errors import shown

if TYPE_CHECKING:
    from symseek.loop import Result
    from symseek.runs.folder import FitRequest

__all__ = [
    "CHANGEABLE",
    "add_settings",
    "fit_command",
    "fit_words",
    "given_settings",
    "option_words",
    "vocabulary",
]

CHANGEABLE = ("max_expressions", "max_seconds", "patience", "threads", "engine")
"""The settings with which a run may go on that it did not begin with."""


def add_settings(parser: Parser, only: tuple[str, ...] | None = None) -> None:
    """An option for each setting, or for some of them without a default."""
    for each in _text_settings():
        if only is None:
            _add_setting(parser, each.name, each.metadata["help"], each.default)
        elif each.name in only:
            _add_setting(parser, each.name, each.metadata["help"], argparse.SUPPRESS)


def vocabulary() -> str:
    """The operators and rewards that there are, for the end of the help."""
    from symseek.rewards import REWARDS
    from symseek.tokens import OPERATORS

    known = []
    for name, token in OPERATORS.items():
        meaning = token.formula or token.form("infix")
        shown = "" if meaning is None else f" ({meaning.format(a='a', b='b')})"
        if token.protects is None:
            known.append(f"{name}{shown}")
    protected = [name for name, token in OPERATORS.items() if token.protects is not None]
    lines = ["operators, for --operators:", *wrapped(known)]
    lines += ["protected operators, with a number for what is undefined:", *wrapped(protected)]
    lines += ["", "rewards, for --reward:"]
    for name, reward in REWARDS.items():
        about = (reward.__doc__ or "").splitlines()[0].rstrip(".")
        lines.append(f"  {name:<15}{about}")
    return "\n".join(lines) + "\n"


def wrapped(words: list[str], width: int = 96) -> list[str]:
    """The words with commas between, in lines; no word is broken.

    >>> wrapped(["a + b", "c"], width=9)
    ['  a + b,', '  c']
    """
    lines = [""]
    for number, word in enumerate(words, 1):
        ended = word if number == len(words) else word + ","
        if lines[-1] and len(lines[-1]) + 1 + len(ended) > width:
            lines.append("")
        lines[-1] += f" {ended}" if lines[-1] else f"  {ended}"
    return lines


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given; threads are as many as there are cores, unless given."""
    from symseek.regression.settings import cores

    given = [each.name for each in _text_settings() if each.name in options]
    return {"threads": cores(), **{name: getattr(options, name) for name in given}}


def fit_command(request: FitRequest, result: Result | None = None) -> str:
    """The command that repeats a fit; one that had a clock, by its count of expressions."""
    if result is not None and result.repeated_by is not None:
        settings = replace(request.settings, max_seconds=None, max_expressions=result.repeated_by)
        request = replace(request, settings=settings)
    return shell_words(fit_words(request))


def fit_words(request: FitRequest) -> list[str]:
    """The words of the command for a fit."""
    from symseek.files.limits import MOST_TABLE
    from symseek.regression.settings import Settings

    words = ["symseek", "fit", str(request.data), *_option("target", request.target)]
    if request.features is not None:
        words += _option("features", ",".join(map(_quoted_name, request.features)))
    for name, value in (("weights", request.weights), ("delimiter", request.delimiter)):
        words += _option(name, value) if value is not None else []
    words += ["--drop-missing"] * request.drop_missing
    words += ["--all-columns"] * request.all_columns
    if request.max_table_size != MOST_TABLE:
        words += _option("max-table-size", str(request.max_table_size))
    default = Settings().to_dict()
    for name, value in request.settings.to_dict().items():
        if value != default[name]:
            words += option_words(name, value)
    return words


def option_words(name: str, value: Any) -> list[str]:
    """A setting as words of the command line.

    >>> option_words("max_seconds", None), option_words("scale", False)
    (['--max-seconds', 'none'], ['--no-scale'])
    """
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    if isinstance(value, list | tuple):
        return _option(option, ("; " if name == "guesses" else ",").join(map(str, value)))
    return _option(option, "none" if value is None else str(value))


def _option(name: str, value: str) -> list[str]:
    """A value that looks like an option has to be in the same word."""
    return [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]


def _quoted_name(name: str) -> str:
    """A name in a list with commas between, as `names` reads it."""
    return f"`{name}`" if "," in name or name.startswith("`") else name


def _text_settings() -> list[Any]:
    """The settings that can be given as text."""
    from symseek.regression.settings import Settings

    return [each for each in fields(Settings) if "help" in each.metadata]


def _add_setting(parser: Parser, name: str, text: str, default: Any) -> None:
    """An option for a field of `Settings`; the namespace lacks it unless it is given."""
    option = "--" + name.replace("_", "-")
    if isinstance(default, bool):
        parser.add_argument(
            f"--no-{option[2:]}" if default else option,
            dest=name,
            action="store_false" if default else "store_true",
            default=argparse.SUPPRESS,
            help=f"not: {text}" if default else text,
        )
        return
    reader = _READERS.get(name, str)
    if name == "threads":
        shown: Any = "every core"
    else:
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
        shown = "none" if shown in ("", None) else shown
    parser.add_argument(
        option,
        type=reader,
        default=argparse.SUPPRESS,
        metavar="N" if reader in (whole, _whole_or_none) else "X",
        help=text if default is argparse.SUPPRESS else f"{text}; default {shown}",
    )


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number")
    return value


def _whole_or_none(text: str) -> int | None:
    return None if text == "none" else whole(text)


def _number_or_none(text: str) -> float | None:
    return None if text == "none" else _number(text)


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(names(text))


def _formulas(text: str) -> tuple[str, ...]:
    """Formulas with semicolons between; a name in backquotes may have semicolons of its own.

    >>> _formulas("2*t; `a;b` + t;")
    ('2*t', '`a;b` + t')
    """
    found = (each.strip() for each in re.findall(r"(?:`[^`]*`|[^;`])+", text))
    return tuple(each for each in found if each)


_READERS: dict[str, Any] = {
    "operators": _tokens,
    "max_length": whole,
    "max_expressions": _whole_or_none,
    "max_seconds": _number_or_none,
    "patience": _whole_or_none,
    "validation": _number,
    "sample_rows": _whole_or_none,
    "seed": whole,
    "seeds": whole,
    "threads": whole,
    "guesses": _formulas,
}
