"""Formulas for a cell of a spreadsheet: Excel, LibreOffice and Google Sheets read the same text.

Numbers have a decimal point, and the arguments of MIN, MAX, ATAN2 and IF a comma between them; no
other function takes several. Where a formula has no value, or one too large, the cell shows an
error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from symseek.columns import Layout
from symseek.errors import InputError, unknown_name
from symseek.export.tree import checked
from symseek.export.writer import Language, literal, write
from symseek.model import Model
from symseek.notation.brackets import ATOM, Fragment, Style
from symseek.programs import Program
from symseek.tokens import number_name

_MOST_CHARACTERS, _MOST_BRACKETS = 8192, 64  # of Excel, the strictest of the three


def _number(value: float) -> Fragment:
    if not math.isfinite(value):
        raise InputError(f"a spreadsheet has no number {value}; fit the constants first")
    return literal(number_name(value + 0.0).upper(), value)


# In a spreadsheet a sign binds tighter than a power: -2^2 is 4. So what has a sign is never the
# base of a power without brackets, and no power follows a sign without them.
_STYLE = Style(after_sign=ATOM)
_LANGUAGE = Language("excel", _number, most_characters=_MOST_CHARACTERS - 1, style=_STYLE)


def to_excel(program: Program, cells: Mapping[str, str] | None = None) -> str:
    """The formula for a spreadsheet, to be typed into a cell and filled down.

    Excel itself keeps 15 digits of a number; what is written here has all 17 where it needs them.

    Args:
        program: the formula.
        cells: the cell of each column, such as {"x": "B2"}, or anything else that a spreadsheet
            knows the value by; `cells_of` a model are those of the file that it was fitted to.
            A2, B2, ... in the order of the formula's columns when None.

    >>> program = Program.parse("2.5*`flow rate`**2 - log(x)")
    >>> print(to_excel(program))
    =2.5*A2^2 - LN(B2)
    >>> print(to_excel(program, {"flow rate": "$C$1", "x": "Height"}))
    =2.5*$C$1^2 - LN(Height)
    """
    columns = checked(program).library.variables
    if cells is None:
        cells = {name: f"{_letters(place)}2" for place, name in enumerate(columns)}
    _check_cells(cells, columns)
    source = write(program, _LANGUAGE, [cells.get(name, "") for name in columns])
    for index in sorted(source.used):
        if columns[index] not in cells:
            raise InputError(
                f"column {columns[index]!r} has no cell; give one, such as 'B2'",
                field="cells",
                value=columns[index],
            )
    _check_brackets(source.expression)
    return "=" + source.expression


def cells_of(model: Model) -> dict[str, str]:
    """The cells of a model's features: in the first row of numbers of the file that they came from.

    Where they came from arrays, they are the first columns of a sheet, under a row of names.

    >>> cells_of(Model("y", ("a", "b"), (), 0, layout=Layout((2, 3))))
    {'a': 'C2', 'b': 'D2'}
    """
    layout = model.layout or Layout(tuple(range(len(model.features))))
    pairs = zip(model.features, layout.columns, strict=True)
    return {name: f"{_letters(place)}{layout.first_row}" for name, place in pairs}


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
