"""The numbers of a formula that each group has of its own, as a table by group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from symseek.errors import printable
from symseek.programs import Program
from symseek.text import shortened, text_table

MOST_SHOWN = 12  # groups below a front
_LABEL = 40  # characters of a label in a text


@dataclass(frozen=True)
class OwnNumbers:
    """The numbers of a formula that groups have of their own.

    >>> from dataclasses import replace
    >>> from symseek import Library
    >>> from symseek.groups import Grouping
    >>> library = Library(["mul"], ["x", "site", "a"], Grouping("site", ("A", "B"), ("a",)))
    >>> law = replace(Program.parse("a*x", library), own=((0.5, 2.0),))
    >>> print("\\n".join(OwnNumbers.of(law).lines()))
    site    a
    A     0.5
    B       2
    """

    column: str  # that names the groups
    names: tuple[str, ...]  # of the numbers, in their order in the formula
    labels: tuple[str, ...]  # of the groups
    values: tuple[tuple[float, ...], ...]  # of each number, by group

    @classmethod
    def of(cls, program: Program) -> OwnNumbers | None:
        """Those of a program; None if it has none."""
        grouping = program.library.grouping
        if grouping is None or not program.own_used or not program.own:
            return None
        used = sorted(program.own_used, key=lambda at: program.names.index(grouping.own[at]))
        names, values = [grouping.own[at] for at in used], [program.own[at] for at in used]
        return cls(grouping.name, tuple(names), grouping.labels, tuple(values))

    def of_group(self, at: int) -> tuple[float, ...]:
        """The numbers of a group, by its place."""
        return tuple(each[at] for each in self.values)

    def columns(self) -> dict[str, Sequence[str | float]]:
        """The columns of the table, by name."""
        pairs = zip(self.names, self.values, strict=True)
        return {self.column: self.labels, **{name: values for name, values in pairs}}

    def lines(self, most: int | None = None) -> list[str]:
        """The table as text, at most so many groups of it."""
        head = self.column, *self.names
        rows = [
            (shortened(printable(label), _LABEL), *map(_written, self.of_group(at)))
            for at, label in enumerate(self.labels[:most])
        ]
        return text_table([head, *rows])


def _written(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.6g}"
