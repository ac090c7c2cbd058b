"""The fields of `Settings` as options, and a fit as the command that repeats it."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from symseek.cli.options import Parser, names, shell_words, whole
from symseek.errors import shown
from symseek.settings import PARAMETERS, Parameter, Settings
from symseek.value_types import (
    Flag,
    FormulaList,
    LimitList,
    Listed,
    Number,
    OperatorList,
    PhraseList,
    ValueType,
    Whole,
)

if TYPE_CHECKING:
    from symseek.loop import Result
    from symseek.runs.request import FitRequest


def add_settings(parser: Parser, resumed: bool = False) -> None:
    """An option for each setting, or for those with which a run may continue, without a default."""
    for each in _text_settings():
        if each.while_paused or not resumed:
            _add_setting(parser, each, show_default=not resumed)


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
    """The settings that were given, and those that a command has otherwise by default."""
    given = {}
    for each in _text_settings():
        if each.name in options:
            given[each.name] = getattr(options, each.name)
        elif each.by_itself is not None:
            given[each.name] = each.by_itself[1]()
    return given


def fit_command(request: FitRequest, result: Result | None = None) -> str:
    """The command that repeats a fit; one that had a clock, by its count of expressions."""
    return shell_words(fit_words(request if result is None else repeated(request, result)))


def repeated(request: FitRequest, result: Result) -> FitRequest:
    """The request with a count of expressions in the place of a clock that ended it."""
    if result.repeated_by is None:
        return request
    settings = replace(request.settings, max_seconds=None, max_expressions=result.repeated_by)
    return replace(request, settings=settings)


def fit_words(request: FitRequest, targets: Sequence[str] = ()) -> list[str]:
    """The words of the command for a fit, of several targets if they are named."""
    from symseek.files.limits import MOST_TABLE

    named = ",".join(map(quoted_name, targets or [request.target]))
    words = ["symseek", "fit", str(request.data), *_option("target", named)]
    if request.features is not None:
        words += _option("features", ",".join(map(quoted_name, request.features)))
    for name, value in _file_options(request):
        words += _option(name, value) if value is not None else []
    words += ["--all-columns"] * request.all_columns
    if request.max_table_size != MOST_TABLE:
        words += _option("max-table-size", str(request.max_table_size))
    default = Settings().to_dict()
    for name, value in request.settings.to_dict().items():
        if value != default[name]:
            words += option_words(name, value)
    return words


def _file_options(request: FitRequest) -> list[tuple[str, str | None]]:
    names = "weights", "sigma", "group", "delimiter", "sheet"
    return [(name, getattr(request, name)) for name in names]


def option_words(name: str, value: Any) -> list[str]:
    """A setting as words of the command line.

    >>> option_words("max_seconds", None), option_words("scale", False)
    (['--max-seconds', 'none'], ['--no-scale'])
    """
    parameter = PARAMETERS[name]
    if isinstance(parameter.type, Flag):
        return [f"--{'' if value else 'no-'}{parameter.word}"]
    return _option(parameter.word, _written(parameter, value))


def _written(parameter: Parameter, value: Any) -> str:
    """A value as text."""
    if isinstance(parameter.type, Listed):
        return parameter.type.separator.join(map(str, value))
    return "none" if value is None else str(value)


def _option(name: str, value: str) -> list[str]:
    """A value that looks like an option has to be in the same word."""
    return [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]


def quoted_name(name: str) -> str:
    """A name in a list with commas between, as `names` reads it."""
    return f"`{name}`" if "," in name or name.startswith("`") else name


def _text_settings() -> list[Parameter]:
    """The settings that can be given as text."""
    return [each for each in PARAMETERS.values() if each.is_text]


def _add_setting(parser: Parser, parameter: Parameter, show_default: bool) -> None:
    """An option for a setting; the namespace lacks it unless it is given."""
    add = partial(parser.add_argument, dest=parameter.name, default=argparse.SUPPRESS)
    default, option, text = parameter.default, parameter.option, parameter.sentence
    if isinstance(parameter.type, Flag) and not show_default:  # what the run has may be either
        add(f"--{parameter.word}", action=argparse.BooleanOptionalAction, help=text)
        return
    if isinstance(parameter.type, Flag):
        add(option, action="store_const", const=not default, help=parameter.off or text)
        return
    if isinstance(parameter.type, Listed):
        text += f"; with {parameter.type.between} between, or the option again"
    if show_default:
        usual = parameter.by_itself[0] if parameter.by_itself else _written(parameter, default)
        text += f"; default {usual or 'none'}"
    number = "N" if isinstance(parameter.type, Whole) else "X"
    action = "extend" if isinstance(parameter.type, Listed) else "store"
    add(option, action=action, type=_reader(parameter.type), metavar=number, help=text)


def _reader(type: ValueType) -> Callable[[str], Any]:
    """What reads a value of a type from a word."""
    read: Callable[[str], Any] = next(
        (_READERS[each] for each in _READERS if isinstance(type, each)), str
    )
    return lambda text: None if type.none and text == "none" else read(text)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number")
    return value


def _formulas(text: str) -> list[str]:
    """Formulas with semicolons between; a name in backquotes may have semicolons of its own.

    >>> _formulas("2*t; `a;b` + t;")
    ['2*t', '`a;b` + t']
    """
    found = (each.strip() for each in re.findall(r"(?:`[^`]*`|[^;`])+", text))
    return [each for each in found if each]


_READERS: dict[type[ValueType], Callable[[str], Any]] = {
    Whole: whole,  # before `Number`, which it is as well
    Number: _number,
    OperatorList: names,
    PhraseList: names,
    FormulaList: _formulas,
    LimitList: _formulas,
}
