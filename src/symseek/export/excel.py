"""Formulas for a cell of a spreadsheet: Excel, LibreOffice and Google Sheets read the same text.

No function in it takes two arguments, so it does not matter whether a comma or a semicolon stands
between them; numbers have a decimal point. Where a formula has no value, or one too large, the cell
shows an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from symseek.errors import InputError, unknown_name
from symseek.export.tree import exportable
from symseek.export.writer import ARITHMETIC, Form, Language, Piece, call, literal, write
from symseek.notation.printing import ATOM, POWER, PRODUCT, SIGN
from symseek.programs import Program
from symseek.tokens import number_name

__all__ = ["FORMS", "to_excel"]

# In a spreadsheet a sign binds tighter than a power: -2^2 is 4. So what has a sign is never the
# base of a power without brackets, and no power follows a sign without them.
FORMS = {
    **ARITHMETIC,
    "neg": Form("-{a}", SIGN, (ATOM,)),
    "div": Form("{a}/{b}", PRODUCT, (PRODUCT, SIGN)),
    "reciprocal": Form("1/{a}", PRODUCT, (SIGN,)),
    "pow": Form("{a}^{b}", POWER, (ATOM, ATOM)),
    "sin": call("SIN"),
    "cos": call("COS"),
    "tan": call("TAN"),
    "tanh": call("TANH"),
    "exp": call("EXP"),
    "neg_exp": Form("EXP(-{a})", places=(ATOM,)),
    "log": call("LN"),
    "sqrt": call("SQRT"),
    "square": Form("{a}^2", POWER, (ATOM,)),
    "cube": Form("{a}^3", POWER, (ATOM,)),
    "fourth": Form("{a}^4", POWER, (ATOM,)),
    "abs": call("ABS"),
}
_MOST_CHARACTERS, _MOST_BRACKETS = 8192, 64  # of Excel, the strictest of the three


def _number(value: float) -> Piece:
    if not math.isfinite(value):
        raise InputError(f"a spreadsheet has no number {value}; fit the constants first")
    return literal(number_name(value + 0.0).upper())


LANGUAGE = Language(FORMS, _number, most_characters=_MOST_CHARACTERS - 1)


def to_excel(program: Program, cells: Mapping[str, str] | None = None) -> str:
    """The formula for a spreadsheet, to be typed into a cell and filled down.

    Excel itself keeps 15 digits of a number; what is written here has all 17 where it needs them.

    Args:
        program: the formula.
        cells: the cell of each column, such as {"x": "B2"}, or anything else that a spreadsheet
            knows the value by; A2, B2, ... in the order of the columns when None.

    >>> program = Program.parse("2.5*`flow rate`**2 - log(x)")
    >>> print(to_excel(program))
    =2.5*A2^2 - LN(B2)
    >>> print(to_excel(program, {"flow rate": "$C$1", "x": "Height"}))
    =2.5*$C$1^2 - LN(Height)
    """
    columns = exportable(program).library.variables
    if cells is None:
        cells = {name: f"{_letters(place)}2" for place, name in enumerate(columns)}
    _check_cells(cells, columns)
    source = write(program, LANGUAGE, [cells.get(name, "") for name in columns])
    for index in sorted(source.used):
        if columns[index] not in cells:
            raise InputError(f"column {columns[index]!r} has no cell; give one, such as 'B2'")
    _check_brackets(source.expression)
    return "=" + source.expression


def _letters(place: int) -> str:
    """The name of a spreadsheet's column.

    >>> [_letters(place) for place in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    text = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        text = chr(ord("A") + letter) + text
    return text


def _check_cells(cells: Mapping[str, str], columns: Sequence[str]) -> None:
    for name, cell in cells.items():
        if name not in columns:
            raise unknown_name("column", name, columns)
        if not isinstance(cell, str) or not cell:
            raise InputError(f"column {name!r} has the cell {cell!r}; give one such as 'B2'")


def _check_brackets(text: str) -> None:
    depth = deepest = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    if deepest > _MOST_BRACKETS:
        raise InputError(
            f"the formula has {deepest} brackets inside one another, and a spreadsheet takes"
            f" {_MOST_BRACKETS}; export a shallower one"
        )
