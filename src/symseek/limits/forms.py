"""The limits themselves: records, and the text that each is written as.

A limit is about the formula's values, as a column changes within a range, or about its numbers.
Text and record are the same thing: `str` of one is read back as it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from symseek.errors import InputError, Setting, shown
from symseek.tokens import number_name

Ranges = tuple[tuple[str, float, float], ...]
"""Columns with the range in which a limit holds; of the others, that of the data and some more."""

WANTED = (
    "such as 'x: increasing', 'x: convex in 0..10', 'value: between 0 and 1', 'x -> inf: 0' or"
    " 'numbers: positive'"
)


@dataclass(frozen=True)
class Limit:
    """What every formula keeps to."""

    ranges: Ranges = field(default=(), kw_only=True)
    of: str = field(default="", kw_only=True)  # an unknown of a given form; empty: the formula

    @property
    def about(self) -> str | None:
        """The column that it is about; None if it is about the values as they are."""
        return getattr(self, "column", None)

    def _text(self, before: str, what: str, own: str | None = None) -> str:
        """The limit as text; the range of the column that it is about needs no name."""
        if own is not None and [name for name, *_ in self.ranges] == [own]:
            return f"{before}: {what} in {_range(*self.ranges[0][1:])}"
        within = ", ".join(f"{name} in {_range(*ends)}" for name, *ends in self.ranges)
        return f"{before}: {what}" + (f" for {within}" if within else "")


@dataclass(frozen=True)
class _Shape(Limit):
    """How the values change with a column."""

    column: str
    word: ClassVar[str]

    def __str__(self) -> str:
        if self.of:
            return self._text(self.of, f"{self.word} in {self.column}")
        return self._text(self.column, self.word, self.column)


class Increasing(_Shape):
    """Values that never fall while a column grows.

    >>> str(Increasing("x", ranges=(("x", 0, 10),)))
    'x: increasing in 0..10'
    """

    word = "increasing"


class Decreasing(_Shape):
    """Values that never rise while a column grows."""

    word = "decreasing"


class Convex(_Shape):
    """Values whose slope by a column never falls."""

    word = "convex"


class Concave(_Shape):
    """Values whose slope by a column never rises."""

    word = "concave"


class Even(_Shape):
    """Values that are the same for -x as for x."""

    word = "even"


class Odd(_Shape):
    """Values that for -x are the opposite of those for x."""

    word = "odd"


@dataclass(frozen=True)
class Bounded(Limit):
    """Values between two numbers, these included.

    >>> print(Bounded(0, 1), Bounded(low=0), Bounded(high=2.5), sep="; ")
    value: between 0 and 1; value: >= 0; value: <= 2.5
    """

    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        _check_ends(self.low, self.high, "the values")

    def __str__(self) -> str:
        return self._text(self.of or "value", _between(self.low, self.high))


@dataclass(frozen=True)
class Tends(Limit):
    """Values that tend to a number as a column goes to infinity, minus infinity or 0.

    >>> print(Tends("x", math.inf, 0))
    x -> inf: 0
    """

    column: str
    to: float  # inf, -inf or 0
    value: float

    def __post_init__(self) -> None:
        if self.to != 0 and not math.isinf(self.to):
            raise _refused(f"{self.column} -> {self.to}", "a column goes to inf, -inf or 0")
        if not math.isfinite(self.value):
            raise _refused(str(self.value), "values tend to a finite number")

    def __str__(self) -> str:
        goes = f"{self.column} -> {_number(self.to)}"
        if self.of:
            return self._text(self.of, f"tends to {_number(self.value)} as {goes}")
        return self._text(goes, _number(self.value))


@dataclass(frozen=True)
class Numbers:
    """The numbers in a formula, all or that of a name, between two others, these included.

    >>> print(Numbers(0), Numbers(-1, 1), Numbers(0, name="k"), sep="; ")
    numbers: >= 0; numbers: between -1 and 1; k: >= 0
    """

    low: float = -math.inf
    high: float = math.inf
    name: str = "numbers"

    def __post_init__(self) -> None:
        _check_ends(self.low, self.high, "the numbers")

    def __str__(self) -> str:
        return f"{self.name}: {_between(self.low, self.high)}"


SHAPES: dict[str, type[_Shape]] = {
    each.word: each for each in (Increasing, Decreasing, Convex, Concave, Even, Odd)
}
_VALUE = ("value", "the value", "values", "formula")
_NUMBER = r"([-+]?(?:inf(?:inity)?|\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?))"
_RANGE = re.compile(rf"{_NUMBER}\s*(?:\.\.|to)\s*{_NUMBER}")
_TENDS = re.compile(rf"(?:tends? to\s+)?{_NUMBER}", re.IGNORECASE)
_GOES = re.compile(rf"(.+?)\s*->\s*{_NUMBER}", re.IGNORECASE)
_AS = re.compile(rf"(?:(.+?):\s*)?tends? to\s+{_NUMBER}\s+as\s+(.+)", re.IGNORECASE)
_SHAPE = re.compile(rf"({'|'.join(SHAPES)})\s+in\s+(.+)")
_BETWEEN: list[tuple[re.Pattern[str], Callable[..., tuple[float, float]]]] = [
    (re.compile(r"positive|nonnegative|non-negative"), lambda: (0.0, math.inf)),
    (re.compile(r"negative|nonpositive|non-positive"), lambda: (-math.inf, 0.0)),
    (re.compile(rf"(?:between\s+)?{_NUMBER}\s*(?:\.\.|and|to)\s*{_NUMBER}"), lambda a, b: (a, b)),
    (re.compile(rf"(?:>=?|at least)\s*{_NUMBER}"), lambda a: (a, math.inf)),
    (re.compile(rf"(?:<=?|at most)\s*{_NUMBER}"), lambda b: (-math.inf, b)),
]


def parse(text: str) -> Limit | Numbers:
    """The limit that a text says.

    >>> parse("x: increasing in 0..10")
    Increasing(ranges=(('x', 0.0, 10.0),), of='', column='x')
    >>> parse("f: increasing in x") == Increasing("x", of="f")
    True
    >>> parse("tends to 1 as x -> inf") == parse("x -> inf: 1") == Tends("x", math.inf, 1.0)
    True
    >>> parse("value: positive for x in 0..5, z in 1..2").ranges
    (('x', 0.0, 5.0), ('z', 1.0, 2.0))
    """
    said = " ".join(text.split())
    said, ranges = _ranges_of(said)
    tends, of = _AS.fullmatch(said), ""
    if tends is not None:
        of = _part(tends[1] or "value")
        said = f"{tends[3]}: {tends[2]}"
    subject, colon, what = said.rpartition(":")
    subject, what = subject.strip(), what.strip()
    if not colon:
        subject, what = "value", said
    goes = _GOES.fullmatch(subject)
    if goes is not None:
        value = _TENDS.fullmatch(what)
        if value is None:
            raise _refused(text, f"{shown(what)} is no number that values tend to")
        named = _named(ranges, goes[1], text)
        return Tends(goes[1], float(goes[2]), float(value[1]), ranges=named, of=of)
    shape = _SHAPE.fullmatch(what)
    if shape is not None and colon:
        named = _named(ranges, shape[2], text)
        return SHAPES[shape[1]](shape[2], ranges=named, of=_part(subject))
    if what in SHAPES:
        if not colon:
            raise _refused(text, f"say of which column, as in 'x: {what}'")
        return SHAPES[what](subject, ranges=_named(ranges, subject, text))
    ends = _ends(what)
    if ends is None:
        raise _refused(text, f"{shown(what)} is no limit that is known")
    if subject == "numbers" and ranges:
        raise _refused(text, "a number has no range of a column")
    if _part(subject) and not ranges:
        return Numbers(*ends, name=subject)
    return Bounded(*ends, ranges=_named(ranges, None, text), of=_part(subject))


def _part(subject: str) -> str:
    """What a limit is of, where that is not the formula."""
    return "" if subject.lower() in _VALUE else subject


def _ranges_of(said: str) -> tuple[str, list[tuple[str | None, float, float]]]:
    """The text before the ranges, and those; the name is None where the limit's column is meant."""
    before, word, after = said.rpartition(" for ")
    if word:
        found: list[tuple[str | None, float, float]] = []
        for part in after.split(", "):
            name, _, ends = part.rpartition(" in ")
            match = _RANGE.fullmatch(ends.strip())
            if not name or match is None:
                return said, []
            found.append((name.strip(), float(match[1]), float(match[2])))
        return before, found
    before, word, after = said.rpartition(" in ")
    match = _RANGE.fullmatch(after.strip())
    return (before, [(None, float(match[1]), float(match[2]))]) if word and match else (said, [])


def _named(ranges: list[tuple[str | None, float, float]], column: str | None, text: str) -> Ranges:
    named: list[tuple[str, float, float]] = []
    for name, low, high in ranges:
        if name is None and column is None:
            raise _refused(text, "say of which column the range is, as in 'for x in 0..10'")
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise _refused(text, "a range goes from a finite number to a larger one")
        named.append((name or str(column), low, high))
    return tuple(named)


def _ends(what: str) -> tuple[float, float] | None:
    for pattern, ends in _BETWEEN:
        match = pattern.fullmatch(what)
        if match is not None:
            return ends(*map(float, match.groups()))
    return None


def _check_ends(low: float, high: float, of: str) -> None:
    if not low < high:
        raise _refused(f"{_number(low)}..{_number(high)}", f"{of} go from a number to a larger one")


def _refused(text: str, why: str) -> InputError:
    field = Setting("limit")
    said = f" has {shown(text)}, which cannot be used: {why}; {WANTED}"
    return InputError(field, said, field=field, value=text, wanted=WANTED)


def _between(low: float, high: float) -> str:
    if math.isinf(high):
        return f">= {_number(low)}"
    if math.isinf(low):
        return f"<= {_number(high)}"
    return f"between {_number(low)} and {_number(high)}"


def _range(low: float, high: float) -> str:
    return f"{_number(low)}..{_number(high)}"


def _number(value: float) -> str:
    return number_name(value)
