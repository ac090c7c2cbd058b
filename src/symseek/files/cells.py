"""Cells of text tables: what is a number, what is missing, and what names a unit."""

from __future__ import annotations

import math
import re

BLANK = frozenset(
    ["", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "None", "#N/A", "#NA", "<NA>"]
)
"""Cells without a value, whatever the column has."""

MISSING = BLANK | {"-", "--", ".", "..", "?", "na", "Null", "none"}
"""Cells without a value where numbers are expected."""

# pandas reads a column of nothing but these as ones and zeros, although numbers were asked for.
BOOLEANS = ("True", "TRUE", "true", "False", "FALSE", "false")

# By decimal sign. Fortran writes the exponents of double precision with a D.
_NUMBER = {
    sign: re.compile(
        rf"\s*[+-]?((\d+([{sign}]\d*)?|[{sign}]\d+)([ed][+-]?\d+)?|inf|infinity|nan)\s*",
        re.ASCII | re.IGNORECASE,
    )
    for sign in ".,"
}
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", re.ASCII)
# Such as m/s, [kg], 1/s and 10^3 Pa, but not 12 kg, 1,5 or a date.
_UNIT = re.compile(r"\s*(?![+-]?[\d.,:]*\d)\S.{0,29}|\s*(1/|10\^|10\*\*)\S.{0,29}", re.ASCII)


def is_number(cell: str, decimal: str) -> bool:
    """Whether a cell is a number with this decimal sign.

    >>> is_number("1.5D-03", "."), is_number("1,5", "."), is_number("1,5", ",")
    (True, False, True)
    """
    return _NUMBER[decimal].fullmatch(cell) is not None


def is_thousands(cell: str) -> bool:
    """Whether every comma of a number may be there to separate thousands."""
    return _THOUSANDS.fullmatch(cell) is not None


def value_of(cell: str, decimal: str) -> float:
    """The value of a number; nan where it is missing.

    >>> value_of("-1,5d2", ","), value_of("NA", ".")
    (-150.0, nan)
    """
    if cell in MISSING:
        return math.nan
    return float(cell.replace(",", ".").lower().replace("d", "e"))


def is_unit(cell: str) -> bool:
    """Whether a cell may name a unit.

    >>> [is_unit(cell) for cell in ("m/s", "[kg]", "1/s", "-", "12 kg", "2024-05-01", "true", "")]
    [True, True, True, True, False, False, False, False]
    """
    if cell == "-":  # says that there is none
        return True
    return cell not in BOOLEANS and cell not in MISSING and _UNIT.fullmatch(cell) is not None
