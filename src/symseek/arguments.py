"""Arguments that are numbers or flags: what is none is refused in a sentence that names it.

NumPy's numbers and flags are as good as Python's, and become those, so that they can be written as
JSON. A flag is no number: `max_length=True` is a mistake.
"""

from __future__ import annotations

import math
import sys
from dataclasses import is_dataclass
from datetime import date, timedelta
from functools import cache
from numbers import Real
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from symseek import errors
from symseek.errors import InputError, Kind, Setting

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
        raise InputError(f"{what} must be numbers: {error}", field=what) from None


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
            " astype(float)",
            field=what,
            value=cell,
            row=row,
        )
    if isinstance(cell, complex | np.complexfloating):
        raise InputError(
            f"Complex data not supported: {what} has {cell} in row {row}",
            field=what,
            value=cell,
            row=row,
        )
    if type(cell).__name__ == "NAType":  # of pandas, which need not be there
        if not missing:
            raise InputError(
                f"{what} has a missing value in row {row}; leave out such rows",
                field=what,
                row=row,
            )
    elif isinstance(cell, _TIMES) or type(cell).__name__ == "Period":
        raise InputError(
            f"{what} has the date or time {cell} in row {row}; give a number for it, such as the"
            " days since the first",
            field=what,
            value=cell,
            row=row,
        )


# --- of a frozen dataclass, its fields by their names

ABOVE_0, BELOW_1, FINITE = math.nextafter(0, 1), math.nextafter(1, 0), sys.float_info.max
"""Bounds of numbers."""


def check_fields(record: Any, **bounds: float | tuple[float, float]) -> None:
    """Refuse fields that are not what their annotations say, and numbers out of bounds.

    Looked at are whole numbers, numbers, flags and dataclasses, all of them with None or without.
    Bounds are the lowest value, or that and the highest.
    """
    of: Any = type(record)
    for name, (kind, optional) in _kinds(of).items():
        value, other = getattr(record, name), ", or None" if optional else ""
        if optional and value is None:
            continue
        named = f"{of.__name__}.{name}"
        given = bounds.get(name, -math.inf)
        low, high = given if isinstance(given, tuple) else (given, math.inf)
        if kind is int:
            value = whole(named, value, f"a whole number{_range(low, high)}{other}", low, high)
        elif kind is float:
            value = number(named, value, f"a number{_range(low, high)}{other}", low, high)
        elif kind is bool:
            value = flag(named, value)
        elif not isinstance(value, kind):
            raise refused(named, value, f"of the type {kind.__name__}{other}")
        object.__setattr__(record, name, value)


@cache
def _kinds(record: Any) -> dict[str, tuple[type, bool]]:
    """The types of a dataclass's fields that can be checked, and whether None will do as well."""
    found = {}
    for name, hint in get_type_hints(record).items():
        kinds = [each for each in get_args(hint) or (hint,) if each is not type(None)]
        if len(kinds) == 1 and (kinds[0] in (int, float, bool) or is_dataclass(kinds[0])):
            found[name] = kinds[0], type(None) in get_args(hint)
    return found


def _range(low: float, high: float) -> str:
    """Bounds in words.

    >>> _range(2, math.inf), _range(ABOVE_0, FINITE), _range(0, BELOW_1), _range(-math.inf, FINITE)
    (' of 2 or more', ' above 0', ' from 0 to below 1', '')
    """
    if high >= FINITE:
        return "" if low <= -FINITE else " above 0" if low == ABOVE_0 else f" of {low} or more"
    least = "above 0" if low == ABOVE_0 else f"from {low}"
    return f" {least} to {'below 1' if high == BELOW_1 else high}"
