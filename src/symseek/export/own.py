"""What a formula with groups is a function of: its columns, and the label of a row's group."""

from __future__ import annotations

from dataclasses import dataclass

from symseek.errors import InputError
from symseek.export.tree import checked
from symseek.programs import Program


@dataclass(frozen=True)
class OwnColumns:
    """The places of a formula's columns, and of the numbers that each group has of its own.

    >>> from dataclasses import replace
    >>> from symseek import Library
    >>> from symseek.groups import Grouping
    >>> library = Library(["mul"], ["x", "site", "a"], Grouping("site", ("A", "B"), ("a",)))
    >>> law = replace(Program.parse("a*x", library), own=((0.5, 2.0),))
    >>> own = OwnColumns.of(law)
    >>> own.columns, own.group, own.numbers, own.lines()
    ((0,), 1, (2,), [('A', (0.5,)), ('B', (2.0,))])
    """

    columns: tuple[int, ...]  # that are quantities
    group: int | None  # the column of the labels; None where the formula needs no group
    numbers: tuple[int, ...] = ()  # places among the variables
    labels: tuple[str, ...] = ()
    values: tuple[tuple[float, ...], ...] = ()  # of each number, by group

    @classmethod
    def of(cls, program: Program) -> OwnColumns:
        """Those of a program; one whose own numbers were not fitted is refused."""
        library = checked(program).library
        grouping, count = library.grouping, len(library.columns)
        if grouping is None:
            return cls(tuple(range(count)), None)
        group = library.columns.index(grouping.column)
        columns = tuple(at for at in range(count) if at != group)
        if not program.own_used:
            return cls(columns, None)
        if not program.own:
            raise InputError("the groups' own numbers are not known; fit the formula first")
        values = tuple(program.own[at] for at in program.own_used)
        numbers = tuple(count + at for at in program.own_used)
        return cls(columns, group, numbers, grouping.labels, values)

    @property
    def arguments(self) -> tuple[int, ...]:
        """The places of what a function takes: the group is the last."""
        return self.columns if self.group is None else (*self.columns, self.group)

    def lines(self) -> list[tuple[str, tuple[float, ...]]]:
        """The label of each group with its numbers."""
        return list(zip(self.labels, zip(*self.values, strict=True), strict=True))
