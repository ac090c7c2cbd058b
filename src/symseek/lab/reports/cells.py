"""How rates, errors and intervals are written in a cell of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from symseek.jobs.record import Record
from symseek.lab.reports import statistics
from symseek.lab.reports.tables import NOTHING


def number(value: float | None, digits: int = 3) -> str:
    """A number in few digits.

    >>> number(0.0), number(0.00012345), number(1477.06), number(None)
    ('0', '0.000123', '1,480', '–')
    """
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "infinite"
    if abs(value) >= 100:
        return f"{float(f'{value:.{digits}g}'):,.0f}"
    return f"{value:.{digits}g}"


def percent(value: float) -> str:
    """A rate in percent, with a digit after the point only where there is one.

    >>> percent(83.6), percent(72.0)
    ('83.6', '72')
    """
    return f"{round(value, 1):g}"


def or_infinite(error: float | None) -> float:
    """An error; a run without one is infinitely wrong."""
    return math.inf if error is None else error


def bounds_text(low: float | None, high: float | None) -> str:
    """The bounds of an interval.

    >>> bounds_text(0.5, 1477.06)
    '[0.5, 1,480]'
    """
    return f"[{number(low)}, {number(high)}]"


def rate_row(won: int, runs: int) -> dict[str, Any]:
    """A rate as data: the counts, and the percentage with its interval.

    >>> rate_row(1, 2)["value"]
    50.0
    """
    value, low, high = (100 * bound for bound in statistics.wilson(won, runs))
    return {"recovered": won, "runs": runs, "value": value, "low": low, "high": high}


def rate_text(row: Mapping[str, Any]) -> str:
    """A rate and its interval.

    >>> rate_text(rate_row(1, 2))
    '50 [9, 91]'
    """
    return f"{percent(row['value'])} [{row['low']:.0f}, {row['high']:.0f}]"


def recovered(records: Sequence[Record]) -> tuple[int, int]:
    """How many recovered, and of how many."""
    return sum(each.recovered == "yes" for each in records), len(records)
