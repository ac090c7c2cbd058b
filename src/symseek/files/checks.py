"""What is wrong with the columns of a table, each in a sentence that says where and what to do."""

from __future__ import annotations

import datetime
import re

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.data import FEWEST_ROWS, LARGEST
from symseek.errors import InputError, Part, Setting, name_shown
from symseek.files.source import TableSource

SHOWN = 40  # characters of a bad cell

_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}([-/.]\d{1,2}.*)?|\d{1,2}([-/.])\d{1,2}\3\d{2,4}.*|\d{1,2}:\d{2}.*"
    r"|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}.*)",
    re.ASCII | re.DOTALL,
)
_TIMES = (datetime.date, datetime.time, datetime.timedelta)
_GROUPED = re.compile(r"\s*[+-]?[\d.]*,[\d.,]*\s*", re.ASCII)


def of_column(
    source: TableSource, name: str, *parts: Part, value: object = None, row: int | None = None
) -> InputError:
    """The error about a column, which the sentence begins with."""
    what = f"column {name_shown(name, quoted=True)} of "
    return InputError(what, source.path, *parts, field=name, kind="column", value=value, row=row)


def nameless(source: TableSource, column: int) -> InputError:
    return InputError(
        f"column {column + 1} has no name in {source.header} of ",
        source.path,
        "; name it, or choose among the others with ",
        Setting("features"),
        field="",
        kind="column",
    )


def not_a_number(where: str, value: object) -> tuple[str, str]:
    """What a cell has instead of a number, and what to do about it.

    >>> not_a_number("line 2", "2024-05-01")
    ("the date '2024-05-01' in line 2", 'turn dates into numbers, such as days since the start')
    """
    text = str(value)
    shown = repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
    if text.strip().casefold() in ("true", "false"):
        return f"{shown} in {where}", "write 1 for true and 0 for false"
    if isinstance(value, _TIMES) or is_date(text):
        advice = "turn dates into numbers, such as days since the start"
        return f"the date {shown} in {where}", advice
    if _GROUPED.fullmatch(text):
        advice = "write decimals with a point, and thousands without a separator"
        return f"{shown} in {where}", advice
    return f"{shown} in {where}, which is not a number", "replace it by a number"


def is_date(cell: str) -> bool:
    """Whether a cell is a date, or a time of day."""
    return _DATE.fullmatch(cell) is not None


def refuse_non_finite(
    source: TableSource, name: str, values: Floats, rows: NDArray[np.intp]
) -> None:
    """Refuse missing, infinite and enormous values in the rows that are used."""
    column = values[rows]
    gone = np.isnan(column)
    if gone.any():
        count = int(gone.sum())
        many = "a missing value" if count == 1 else f"{count} missing values, the first"
        raise of_column(
            source,
            name,
            f" has {many} in {source.where(int(gone.argmax()))}; fill them in, or set ",
            Setting("missing"),
            " to rows, or column, to leave those out",
            row=int(gone.argmax()),
        )
    large = np.abs(column) > LARGEST
    if not large.any():
        return
    row = int(large.argmax())
    value, row = float(column[row]), int(rows[row])
    where = source.where(row)
    what = f" has {value:g} in {where}"
    if np.isinf(value):
        advice = "; replace infinite values, or leave their cells empty and set "
        parts = what + advice, Setting("missing"), " to rows"
        raise of_column(source, name, *parts, value=value, row=row)
    advice = f", and squares overflow beyond {LARGEST:g}; rescale the column"
    raise of_column(source, name, what + advice, value=value, row=row)


def refuse_few_rows(source: TableSource, rows: int) -> None:
    if rows < FEWEST_ROWS:
        many = "one row" if rows == 1 else f"{rows} rows"
        raise InputError(
            source.path, f" has only {many}; a search needs at least {FEWEST_ROWS}, so add some"
        )


def refuse_constant(source: TableSource, target: str, y: Floats) -> None:
    if y.min() == y.max():
        raise InputError(
            f"the target {name_shown(target, quoted=True)} of ",
            source.path,
            f" is {y[0]:g} in every row; choose one that varies",
            field=target,
            kind="column",
            value=float(y[0]),
        )


def refuse_bad_weights(
    source: TableSource, name: str, weights: Floats, rows: NDArray[np.intp]
) -> None:
    negative = weights < 0
    if negative.any():
        value, row = float(weights[negative.argmax()]), int(rows[negative.argmax()])
        text = f" has the weight {value:g} in {source.where(row)}; make weights zero or more"
        raise of_column(source, name, text, value=value, row=row)
    if not weights.any():
        text = " has the weight 0 in every row; make some positive"
        raise of_column(source, name, text, value=0.0)


def refuse_bad_errors(
    source: TableSource, name: str, sigma: Floats, rows: NDArray[np.intp]
) -> None:
    wrong = ~(sigma > 0)
    if wrong.any():
        value, row = float(sigma[wrong.argmax()]), int(rows[wrong.argmax()])
        text = f" is {value:g} in {source.where(row)}; every error of measurement must be positive"
        raise of_column(source, name, text, value=value, row=row)
