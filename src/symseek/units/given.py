"""What a fit is told of units: "h: m, t: s, g: m/s^2", or that the table has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from symseek.errors import InputError, Setting, shown

FIELD = Setting("units")
TABLE = "table"
WANTED = f"a unit for each column, such as 'h: m, t: s, y: m', or '{TABLE}' for those it has"

_ITEM = re.compile(r"(?:`(?:[^`]|``)*`|[^,`])+")
_QUOTED = re.compile(r"\s*`((?:[^`]|``)*)`\s*:(.*)", re.DOTALL)
_SPECIAL = re.compile(r"[,:`]|^\s|\s$")


@dataclass(frozen=True)
class GivenUnits:
    """The units of some columns by name, as text; others may have those of the table.

    >>> GivenUnits.read("h: m, `flow, in`: l/s").columns
    {'h': 'm', 'flow, in': 'l/s'}
    >>> print(GivenUnits({"flow, in": "l/s"}, table=True))
    table, `flow, in`: l/s
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    table: bool = False  # whether columns that are not named have the units that the table says

    def __post_init__(self) -> None:
        for name, unit in self.columns.items():
            if not isinstance(name, str) or not isinstance(unit, str) or not unit.strip():
                raise _refused({name: unit}, "say 1 of a column that has no unit")
            if "," in unit or "`" in unit:
                raise _refused(unit, "a unit has neither commas nor backquotes")

    @classmethod
    def read(cls, text: str) -> GivenUnits:
        """The units in a text, which names columns with commas between."""
        columns: dict[str, str] = {}
        table = False
        for item in filter(str.strip, _ITEM.findall(text)):
            quoted = _QUOTED.fullmatch(item)
            name, colon, unit = item.rpartition(":")
            if quoted is not None:
                name, colon, unit = quoted[1].replace("``", "`"), ":", quoted[2]
            if not colon and item.strip() == TABLE:
                table = True
                continue
            name = name if quoted is not None else name.strip()
            if not colon or not name:
                raise _refused(item.strip(), "it names no column with its unit")
            if name in columns:
                raise _refused(text, f"{shown(name)} is named twice")
            columns[name] = unit.strip()
        if not columns and not table:
            raise _refused(text, "it names no column")
        return cls(columns, table)

    def __str__(self) -> str:
        said = [f"{_quoted(name)}: {unit.strip()}" for name, unit in self.columns.items()]
        return ", ".join([*[TABLE] * self.table, *said])


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`" if _SPECIAL.search(name) or not name else name


def _refused(value: object, why: str) -> InputError:
    said = f" has {shown(value)}, which cannot be used: {why}; give {WANTED}"
    return InputError(FIELD, said, field=FIELD, value=value, wanted=WANTED)
