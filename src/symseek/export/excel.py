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
from symseek.export.own import OwnColumns
from symseek.export.writer import Language, literal, write
from symseek.model import Model
from symseek.notation.brackets import ATOM, Fragment, Style
from symseek.programs import Program
from symseek.tokens import number_name

_MOST_LABEL = 255  # characters of a text in a formula
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
    own, columns = OwnColumns.of(program), program.library.columns
    if cells is None:
        cells = {name: f"{_letters(place)}2" for place, name in enumerate(columns)}
    _check_cells(cells, columns)
    names = [cells.get(name, "") for name in columns]
    names += _of_group(own, names, len(program.library.variables))
    source = write(program, _LANGUAGE, names)
    needed = {at for at in source.used if at < len(columns)}
    needed |= set() if own.group is None else {own.group}
    for index in sorted(needed):
        if columns[index] not in cells:
            raise InputError(
                f"column {columns[index]!r} has no cell; give one, such as 'B2'",
                field="cells",
                value=columns[index],
            )
    if len(source.expression) >= _MOST_CHARACTERS:
        raise InputError(f"the formula takes more than the {_MOST_CHARACTERS} characters of a cell")
    _check_brackets(source.expression)
    return "=" + source.expression


def _of_group(own: OwnColumns, cells: Sequence[str], variables: int) -> list[str]:
    """What gives the numbers of the group in a cell: of an unknown group it is an error."""
    found = [""] * (variables - len(cells))
    if own.group is None:
        return found
    if any(len(label) > _MOST_LABEL for label in own.labels):
        raise InputError(f"a label has more than the {_MOST_LABEL} characters that a cell takes")
    labels = ";".join('"' + label.replace('"', '""') + '"' for label in own.labels)
    here = f"EXACT({cells[own.group]},{{{labels}}})"
    for at, values in zip(own.numbers, own.values, strict=True):
        numbers = ";".join(_number(value).text for value in values)
        found[at - len(cells)] = f"(SUMPRODUCT({here}*{{{numbers}}})/SUMPRODUCT(--{here}))"
    return found


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
