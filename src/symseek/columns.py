"""The columns of a table, and where they are in its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from symseek.errors import InputError

Role: TypeAlias = Literal["input", "target", "weights", "sigma", "group", "left out"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    >>> Column("height [m]", unit="m").role
    'input'
    """

    name: str
    role: Role = "input"  # what a search takes it for
    kind: str = "quantity"  # or what else its values are, such as "row numbers" or "dates"
    unit: str = ""  # as the table has it; empty where it has none
    scale: float = 1.0  # what the values are divided by while a formula is searched for


def with_unit(name: str, unit: str) -> str:
    """A column's name with its unit in brackets, unless it has that already.

    >>> with_unit("height", "m"), with_unit("height [m]", "m"), with_unit("n", "")
    ('height [m]', 'height [m]', 'n')
    """
    known = not unit or unit in ("-", "1") or name.endswith((f"[{unit}]", f"({unit})"))
    return name if known else f"{name} {unit}" if unit[0] == "[" else f"{name} [{unit}]"


@dataclass(frozen=True)
class Layout:
    """Where the features are in the table that they came from, as a spreadsheet shows it.

    >>> Layout((2, 3)).first_row
    2
    """

    columns: tuple[int, ...]  # of each feature, from 0
    first_row: int = 2  # that has numbers, counted from 1

    def __post_init__(self) -> None:
        whole = all(type(each) is int for each in (*self.columns, self.first_row))
        if not whole or min(self.columns, default=0) < 0 or self.first_row < 1:
            raise InputError(f"{self} is no layout; give columns from 0 and a row from 1")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"columns": list(self.columns), "first_row": self.first_row}
