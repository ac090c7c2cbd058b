"""Dates and times as numbers: the time since the first row, in seconds, days or years.

ISO dates are read, names of months, and days and months as numbers where the whole column tells
which is which: 13/02/2020 anywhere in it does. What can be read in two ways is refused.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from symseek.arrays import Floats

Order: TypeAlias = Literal["", "day first", "month first"]  # of a day and a month as numbers
Instant: TypeAlias = tuple[int | None, float]  # the day, if there is a date; the seconds in it

UNITS = {"seconds": ("s", 1.0), "days": ("d", 86400.0), "years": ("yr", 31557600.0)}
"""The units that a column is in, with their symbols and their seconds; a year is a Julian one."""

_DAYS, _YEARS = 2 * 86400.0, 1000 * 86400.0  # spans in seconds from which these are the unit
_CLOCK = re.compile(
    r"(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?(?:\s*([ap])\.?m\.?)?"
    r"\s*(?:(z|utc|gmt)|([+-])(\d{2}):?(\d{2})?)?",
    re.ASCII | re.IGNORECASE,
)
_REST = r"(?:(?:\s*,\s*|\s+|t)(\d{1,2}:.+))?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})(?:\2(\d{{1,2}}))?{_REST}", re.A | re.I)
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_REST}", re.A | re.I)
_NAMED = re.compile(
    rf"(?:(\d{{1,2}})[-/ .]+)?([a-z]{{3,9}})\.?[-/ ,]+(?:(\d{{1,2}}),?\s+)?(\d{{4}}){_REST}",
    re.A | re.I,
)
_SHORT_YEAR = re.compile(
    r"\d{1,2}([-/.])\d{1,2}\1\d{2}(\s.*)?|\d{1,2}[- ][a-z]{3,9}[- ]\d{2}", re.A | re.I
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_TIMES = (datetime.date, datetime.time)


@dataclass(frozen=True)
class Since:
    """The time since an instant, which is 0.

    >>> Since.of([(738276, 0.0), (738279, 43200.0)]).kind
    'days since 2022-05-01'
    >>> Since.known("seconds since 12:30:00").first
    (None, 45000.0)
    """

    first: Instant
    unit: str  # of UNITS
    order: Order = ""

    @classmethod
    def of(cls, instants: Sequence[Instant], order: Order = "") -> Since:
        """In the unit that goes with the span of the times."""
        days = [day or 0 for day, _ in instants]
        times = np.array(days) * 86400.0 + np.array([seconds for _, seconds in instants])
        span = float(np.ptp(times))
        dates = all(day is not None and not seconds for day, seconds in instants)
        unit = "years" if span >= _YEARS else "days" if dates or span >= _DAYS else "seconds"
        return cls(instants[0], unit, order)

    @classmethod
    def known(cls, kind: str) -> Since | None:
        """What `kind` was made of; None if it is another kind."""
        unit, since, rest = kind.partition(" since ")
        text, _, order = rest.partition(", ")
        first = instant(text)
        if not since or unit not in UNITS or first is None or order not in _ORDERS:
            return None
        return cls(first, unit, _ORDERS[order])

    @property
    def kind(self) -> str:
        """In words, for `Column.kind`."""
        day, seconds = self.first
        parts = [] if day is None else [datetime.date.fromordinal(day).isoformat()]
        if seconds or day is None:
            whole, part = divmod(seconds, 1)
            clock = f"{int(whole) // 3600:02}:{int(whole) // 60 % 60:02}:{int(whole) % 60:02}"
            parts.append(clock + f"{round(part, 9):.9f}"[1:].rstrip("0").rstrip("."))
        order = f", {self.order}" if self.order else ""
        return f"{self.unit} since {' '.join(parts)}{order}"

    def value(self, at: Instant) -> float:
        """The time between."""
        return ((at[0] or 0) - (self.first[0] or 0)) * (86400.0 / UNITS[self.unit][1]) + (
            at[1] - self.first[1]
        ) / UNITS[self.unit][1]


_ORDERS: dict[str, Order] = {"": "", "day first": "day first", "month first": "month first"}


@dataclass(frozen=True)
class UnclearTime:
    """Why a column of dates is no column of times."""

    row: int  # among the cells
    reason: str  # of leaving it out, in a few words
    advice: str


def times(
    cells: Sequence[object], known: str = "", missing: Callable[[object], bool] = lambda _: False
) -> tuple[Floats, Since] | UnclearTime | None:
    """The time of each cell since the first one that has any; None where these are no dates.

    Where it is `known` what they are, from when a formula was searched for, they are measured so.

    >>> values, since = times(["13/02/2020", "01/03/2020"])
    >>> values.tolist(), since.kind
    ([0.0, 17.0], 'days since 2020-02-13, day first')
    >>> times(["01/02/2020", "03/04/2020"]).advice
    'write dates as 2020-12-31, since it may be the day or the month that is first'
    """
    before = Since.known(known)
    distinct: dict[object, int] = {}
    for row, cell in enumerate(cells):
        if not missing(cell):
            distinct.setdefault(cell, row)
    if not distinct:
        return None
    order = _order([each for each in distinct if isinstance(each, str)], before)
    found: dict[object, Instant] = {}
    others: list[int] = []
    for cell, row in distinct.items():
        at = instant(cell, order or "day first")
        if order is None:
            at = at or instant(cell, "month first")
        if at is None and _SHORT_YEAR.fullmatch(str(cell).strip()):
            advice = "write the years of dates with four digits"
            return UnclearTime(row, "dates with years of two digits", advice)
        if at is None:
            others.append(row)
        else:
            found[cell] = at
    if others:
        advice = "replace it by a date or time, as the others are"
        mostly = len(found) > len(others)
        return UnclearTime(others[0], "dates and text", advice) if mostly else None
    if order is None:
        row = next(row for cell, row in distinct.items() if _YEAR_LAST.fullmatch(str(cell).strip()))
        advice = "write dates as 2020-12-31, since it may be the day or the month that is first"
        return UnclearTime(row, "dates that can be read in two ways", advice)
    if len({day is None for day, _ in found.values()}) > 1 or (
        before is not None and (before.first[0] is None) != (next(iter(found.values()))[0] is None)
    ):
        return UnclearTime(0, "dates and times of day", "give dates, or times of day, in all rows")
    since = before or Since.of(list(found.values()), order)
    values = {cell: since.value(at) for cell, at in found.items()}
    return np.array([np.nan if missing(cell) else values[cell] for cell in cells]), since


def _order(cells: Sequence[str], before: Since | None) -> Order | None:
    """Whether days or months are first where both are numbers; None if nothing tells.

    Dates with points between are written with the day first, wherever they are.
    """
    pairs = [
        found.group(1, 2, 3) for each in cells if (found := _YEAR_LAST.fullmatch(each.strip()))
    ]
    if not pairs:
        return ""
    day = any(int(first) > 12 for first, _, _ in pairs)
    month = any(int(second) > 12 for _, _, second in pairs)
    if day != month:
        return "day first" if day else "month first"
    if not day and before is not None and before.order:
        return before.order
    same = all(int(first) == int(second) for first, _, second in pairs)
    return "day first" if same or all(sign == "." for _, sign, _ in pairs) else None


def instant(cell: object, order: Order = "day first") -> Instant | None:
    """The day and the seconds in it that a cell says; None if it says none.

    >>> instant("2022-05-01T06:00Z"), instant("May 1, 2022"), instant("6:00 pm")
    ((738276, 21600.0), (738276, 0.0), (None, 64800.0))
    >>> instant("2022-13-01"), instant("x"), instant(1.5)
    (None, None, None)
    """
    if isinstance(cell, _TIMES):
        return _of_object(cell)
    if not isinstance(cell, str) or len(cell) > 60:
        return None
    text = cell.strip()
    if found := _YEAR_FIRST.fullmatch(text):
        year, _, month, day, rest = found.groups()
        return _instant(int(year), int(month), int(day or 1), rest)
    if found := _YEAR_LAST.fullmatch(text):
        first, _, second, year, rest = found.groups()
        month, day = (first, second) if order == "month first" else (second, first)
        return _instant(int(year), int(month), int(day), rest)
    if found := _NAMED.fullmatch(text):
        before, name, after, year, rest = found.groups()
        number = _month(name)
        if number is None or (before and after):
            return None
        return _instant(int(year), number, int(before or after or 1), rest)
    return _clock(None, text)


def _of_object(cell: datetime.date | datetime.time) -> Instant | None:
    """The instant of a date or time of Python or pandas, as UTC where it has a zone."""
    day = cell.toordinal() if isinstance(cell, datetime.date) else None
    if not isinstance(cell, datetime.datetime | datetime.time):
        return day, 0.0
    seconds = cell.hour * 3600 + cell.minute * 60 + cell.second + cell.microsecond * 1e-6
    seconds += getattr(cell, "nanosecond", 0) * 1e-9  # of pandas
    offset = cell.utcoffset()
    if offset is None or day is None:
        return day, seconds
    over, seconds = divmod(seconds - offset.total_seconds(), 86400.0)
    return day + int(over), seconds


def _month(name: str) -> int | None:
    """The month that begins so.

    >>> _month("Sept"), _month("mar"), _month("maybe")
    (9, 3, None)
    """
    begun = [at for at, month in enumerate(_MONTHS, 1) if month.startswith(name.casefold())]
    return begun[0] if len(begun) == 1 else None


def _instant(year: int, month: int, day: int, rest: str | None) -> Instant | None:
    try:
        date = datetime.date(year, month, day).toordinal()
    except ValueError:
        return None
    return (date, 0.0) if rest is None else _clock(date, rest)


def _clock(day: int | None, text: str) -> Instant | None:
    """A time of day, of a day if there is one."""
    found = _CLOCK.fullmatch(text.strip())
    if found is None:
        return None
    hour, minute, second, half, zone, sign, hours, minutes = found.groups()
    at = int(hour), int(minute), float((second or "0").replace(",", "."))
    if half is not None:
        if not 1 <= at[0] <= 12:
            return None
        at = at[0] % 12 + 12 * (half.lower() == "p"), *at[1:]
    if at[0] > 23 or at[1] > 59 or at[2] >= 60:
        return None
    seconds = at[0] * 3600 + at[1] * 60 + at[2]
    if sign is None and zone is None:
        return day, seconds
    offset = (int(hours or 0) * 3600 + int(minutes or 0) * 60) * (-1 if sign == "-" else 1)
    if day is None:
        return None  # which day it is, only the zone tells
    over, seconds = divmod(seconds - offset, 86400.0)
    return day + int(over), seconds
