"""Arguments that are numbers or flags: what is none is refused in a sentence that names it.

NumPy's numbers and flags are as good as Python's, and become those, so that they can be written as
JSON. A flag is no number: `max_length=True` is a mistake.
"""

from __future__ import annotations

import math
import sys
from datetime import date, timedelta
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek import errors
from symseek.errors import InputError, Kind, Setting

__all__ = [
    "flag",
    "flags",
    "items",
    "number",
    "numbers",
    "real_array",
    "refuse_text",
    "refused",
    "shown",
    "whole",
    "wholes",
]

_SHOWN = 60  # characters of a value
_WHOLE = (int, np.integer)
_NUMBER = (*_WHOLE, float, np.floating)
_TIMES = (date, timedelta, np.datetime64, np.timedelta64)


def _is_number(value: Any) -> bool:
    """Whether a value is a number, and one in double precision."""
    if not isinstance(value, _NUMBER) or isinstance(value, bool):
        return False
    return not isinstance(value, int) or abs(value) <= sys.float_info.max


def whole(
    name: str | Setting, value: Any, wanted: str, low: float = -math.inf, high: float = math.inf
) -> int:
    """A whole number within bounds; `wanted` says in words what it must be.

    >>> whole(Setting("rows"), np.int64(3), "a whole number of 1 or more", low=1)
    3
    >>> whole(Setting("rows"), "3", "a whole number of 1 or more", low=1)
    Traceback (most recent call last):
    symseek.errors.InputError: `rows` is '3'; it must be a whole number of 1 or more
    """
    if not isinstance(value, _WHOLE) or isinstance(value, bool) or not low <= int(value) <= high:
        raise refused(name, value, wanted)
    return int(value)


def number(
    name: str | Setting, value: Any, wanted: str, low: float = -math.inf, high: float = math.inf
) -> float:
    """A number within bounds, which nan is not.

    >>> number(Setting("share"), np.float32(0.5), "from 0 to 1", low=0, high=1)
    0.5
    """
    if not _is_number(value) or not low <= value <= high:
        raise refused(name, value, wanted)
    return value if isinstance(value, int) else float(value)


def flag(name: str | Setting, value: Any) -> bool:
    """True or False.

    >>> flag(Setting("scale"), np.bool_(True))
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise refused(name, value, "True or False")
    return bool(value)


def refused(name: str | Setting, value: Any, wanted: str, kind: Kind | None = None) -> InputError:
    """The error about a value, for the caller to raise."""
    text = f" is {shown(value)}; it must be {wanted}"
    return InputError(name, text, field=name, kind=kind, value=value, wanted=wanted)


def shown(value: Any) -> str:
    """A value in a sentence: in one line, and not too long.

    >>> shown("x"), shown(np.float64(1.5)), shown(np.zeros(2))
    ("'x'", '1.5', 'array([0., 0.])')
    """
    if isinstance(value, bool | np.bool_ | Real) and not isinstance(value, int):
        return str(value)[:_SHOWN]  # NumPy's say their type otherwise
    return errors.shown(value, _SHOWN)


def items(name: str | Setting, value: Any, wanted: str) -> list[Any]:
    """What a list, or anything that can be gone through but text, holds.

    >>> items(Setting("names"), ("x", "y"), "a list of names")
    ['x', 'y']
    """
    try:
        if not isinstance(value, str | bytes):
            return list(value)
    except TypeError:  # such as an array without dimensions
        pass
    raise refused(name, value, wanted)


# --- arrays


def real_array(values: Any, what: str) -> NDArray[np.float64]:
    """Numbers in double precision; nothing else is converted to them.

    >>> real_array([[1, True]], "X")
    array([[1., 1.]])
    """
    refuse_text(values, what)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be numbers: {error}") from None


def refuse_text(values: Any, what: str, missing: bool = False) -> None:
    """Refuse what NumPy would convert to numbers although it is none: text, dates, complex numbers.

    Values that pandas marks as missing are refused too, unless they may be.

    >>> refuse_text(["1", "2"], "y")
    Traceback (most recent call last):
    symseek.errors.InputError: y has the text '1' in row 0; give numbers, as by astype(float)
    """
    if hasattr(values, "iloc") and hasattr(values, "columns"):  # a DataFrame, a type a column
        for at, name in enumerate(values.columns):
            refuse_text(values.iloc[:, at], f"column {errors.shown(name)} of {what}", missing)
        return
    if values is None or getattr(getattr(values, "dtype", None), "kind", "O") in "biuf":
        return  # of no text, whatever else may be wrong
    try:
        array = np.asarray(values)
        rows = np.asarray(values, dtype=object) if array.dtype.kind in "OSUTc" else array
    except (TypeError, ValueError, AttributeError):  # such as rows of different lengths
        return
    if not array.ndim:
        raise refused(what, values, "an array of numbers")
    for row, cells in enumerate(rows if rows.dtype.kind in "OMm" else []):
        for cell in np.ravel(cells):
            _refuse_cell(cell, what, row, missing)


def _refuse_cell(cell: Any, what: str, row: int, missing: bool) -> None:
    if isinstance(cell, str | bytes):
        raise InputError(
            f"{what} has the text {errors.shown(cell)} in row {row}; give numbers, as by"
            " astype(float)"
        )
    if isinstance(cell, complex | np.complexfloating):
        raise InputError(f"Complex data not supported: {what} has {cell} in row {row}")
    if type(cell).__name__ == "NAType":  # of pandas, which need not be there
        if not missing:
            raise InputError(f"{what} has a missing value in row {row}; leave out such rows")
    elif isinstance(cell, _TIMES) or type(cell).__name__ == "Period":
        raise InputError(
            f"{what} has the date or time {cell} in row {row}; give a number for it, such as the"
            " days since the first"
        )


# --- of a frozen dataclass, its fields by their names


def wholes(record: Any, *names: str, optional: tuple[str, ...] = ()) -> None:
    """Refuse fields that are no whole numbers, nor None if they are optional."""
    for name in (*names, *optional):
        value, wanted = getattr(record, name), "a whole number"
        if value is None and name in optional:
            continue
        wanted += ", or None" if name in optional else ""
        object.__setattr__(record, name, whole(name, value, wanted))


def numbers(record: Any, *names: str, optional: tuple[str, ...] = ()) -> None:
    """Refuse fields that are no numbers, nor None if they are optional; nan is one here."""
    for name in (*names, *optional):
        value = getattr(record, name)
        if value is None and name in optional:
            continue
        if not _is_number(value):
            raise refused(name, value, "a number, or None" if name in optional else "a number")
        object.__setattr__(record, name, value if isinstance(value, int) else float(value))


def flags(record: Any, *names: str) -> None:
    """Refuse fields that are neither True nor False."""
    for name in names:
        object.__setattr__(record, name, flag(name, getattr(record, name)))
