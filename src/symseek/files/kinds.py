"""What the cells of a column are, if no numbers: true or false, times, or text.

The same for every table: text from a file, values from Parquet, and objects in a DataFrame.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symseek.arrays import Floats
from symseek.files.cells import MISSING
from symseek.files.times import UNITS, Since, UnclearTime, times

TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
"""What stands for 1 and 0, in any case."""

FLAG, DURATION = "true or false", "a duration in seconds"
"""Kinds of columns."""

_MOST_GROUPS = 100  # values of a column that offers itself as a group, and
_FEWEST_ROWS = 3  # of each of them on average


@dataclass(frozen=True)
class Reading:
    """A column of other cells as numbers."""

    values: Floats  # [N], nan where missing
    kind: str  # as `Column.kind`


def reading(cells: Sequence[object], known: str = "") -> Reading | UnclearTime | None:
    """The cells as numbers; None if they are text, or none of them is there.

    Where the kind is `known`, from when a formula was searched for, they are measured so.

    >>> reading(["yes", "NA", "no"]).values
    array([ 1., nan,  0.])
    >>> reading(["2024-05-03", "2024-05-01"]).kind, reading(["red", "yes"])
    ('days since 2024-05-03', None)
    """
    try:
        distinct = {each for each in cells if not is_missing(each)}
    except TypeError:  # lists, for instance
        return None
    if not distinct:
        return None
    if all(_truth(each) is not None for each in distinct):
        flags = [np.nan if is_missing(each) else _truth(each) for each in cells]
        return Reading(np.array(flags, dtype=np.float64), FLAG)
    if all(isinstance(each, datetime.timedelta) for each in distinct):
        return Reading(np.array([_seconds(each) for each in cells]), DURATION)
    found = times(cells, known, is_missing)
    if found is None or isinstance(found, UnclearTime):
        return found
    values, since = found
    return Reading(values, since.kind)


def unit_of(kind: str) -> str:
    """The unit that the numbers of a kind have; empty for one that says nothing of it.

    >>> unit_of("days since 2024-05-01"), unit_of("quantity")
    ('d', '')
    """
    since = Since.known(kind)
    return "s" if kind == DURATION else "" if since is None else UNITS[since.unit][0]


def is_missing(cell: object) -> bool:
    """Whether a cell has no value.

    >>> is_missing(" NA "), is_missing(None), is_missing(float("nan")), is_missing("no")
    (True, True, True, False)
    """
    if isinstance(cell, str):
        return cell in MISSING or cell.strip() in MISSING
    # pandas' own marks are not equal to themselves, or have no truth.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell


def offers_groups(cells: Sequence[object]) -> bool:
    """Whether a column has so few values that each may be a group of rows.

    >>> offers_groups(["a", "b"] * 5), offers_groups(["a", "b", "c"]), offers_groups(["a"] * 5)
    (True, False, False)
    """
    given = [each for each in cells if not is_missing(each)]
    values = len(set(map(str, given)))
    return 2 <= values <= _MOST_GROUPS and values * _FEWEST_ROWS <= len(given)


def _truth(cell: object) -> float | None:
    if isinstance(cell, bool | np.bool_):
        return float(cell)
    return TRUTH.get(cell.strip().casefold()) if isinstance(cell, str) else None


def _seconds(cell: object) -> float:
    if is_missing(cell) or not isinstance(cell, datetime.timedelta):
        return np.nan
    return cell.total_seconds() + getattr(cell, "nanoseconds", 0) * 1e-9  # of pandas
