"""How programs are changed after a search: shortened, written in other units, with less in them.

Each change is one of `algebra`, made to a program as a whole. A program of a given form keeps to
it: every unknown function is changed by itself, and named numbers stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from symseek.algebra.forms import styled, ways
from symseek.algebra.simplify import reductions, rescaled, simplified
from symseek.algebra.writing import Writer
from symseek.arrays import Floats
from symseek.data import Scales
from symseek.form import GivenForm
from symseek.programs import Program
from symseek.regression.own_numbers import folded
from symseek.tokens import Library


class Editing:
    """Changes programs as a whole."""

    def __init__(self, full: Library) -> None:
        self.full = full  # what changed programs are made of

    def simplified(self, program: Program, X: Floats) -> Program:
        """The program with fewer tokens; X has the rows that it is looked at on."""
        return simplified(program, self.full, X)

    def in_units(self, program: Program, X: Floats, scales: Scales) -> Program:
        """The program of scaled columns in the user's units, where X has the rows."""
        return rescaled(program, self.full, X, scales.inputs.tolist(), scales.target)

    def translated(self, program: Program, scales: Scales | None = None) -> Program:
        """The same token by token, in the user's units if there are scales."""
        units = () if scales is None else (scales.inputs.tolist(), scales.target)
        return Writer(self.full).translated(program, *units)

    def reductions(self, program: Program) -> list[Program]:
        """The program with one thing less in it, for all there are."""
        return reductions(program, self.full)

    def ways(self, program: Program) -> list[Program]:
        """Other ways to write the program, in which its numbers may be neat."""
        return list(ways(program))

    def read(self, program: Program, style: str = "best") -> Program:
        """The program as it is written for people."""
        return styled(program, style)


class FormEditing(Editing):
    """Changes the unknown functions of a given form, each by itself."""

    def __init__(self, full: Library, form: GivenForm) -> None:
        super().__init__(form.over(full))
        self.plain, self.form = full, form

    def simplified(self, program: Program, X: Floats) -> Program:
        return self._each(program, lambda part: simplified(part, self.plain, X))

    def in_units(self, program: Program, X: Floats, scales: Scales) -> Program:
        units = scales.inputs.tolist()
        return self._each(program, lambda part: rescaled(part, self.plain, X, units, 1.0))

    def translated(self, program: Program, scales: Scales | None = None) -> Program:
        units = () if scales is None else (scales.inputs.tolist(), 1.0)
        return self._each(program, lambda part: Writer(self.plain).translated(part, *units))

    def reductions(self, program: Program) -> list[Program]:
        parts = program.arguments
        return [
            self.form.with_parts([*parts[:at], shorter, *parts[at + 1 :]], self.full)
            for at, (unknown, part) in enumerate(zip(self.form.unknowns, parts, strict=True))
            if not unknown.is_number
            for shorter in reductions(part, self.plain)
        ]

    def ways(self, program: Program) -> list[Program]:
        return []

    def read(self, program: Program, style: str = "best") -> Program:
        return styled(self.form.whole(program, self.plain), style)

    def _each(self, program: Program, change: Callable[[Program], Program]) -> Program:
        pairs = zip(self.form.unknowns, program.arguments, strict=True)
        parts = [part if unknown.is_number else change(part) for unknown, part in pairs]
        return self.form.with_parts(parts, self.full)


class GroupEditing(Editing):
    """Changes programs that may have numbers of the groups' own, which keep their values."""

    def __init__(self, inner: Editing) -> None:
        super().__init__(inner.full)
        self.inner = inner

    def simplified(self, program: Program, X: Floats) -> Program:
        return self.inner.simplified(program, program.widened(X)).owning(program)

    def in_units(self, program: Program, X: Floats, scales: Scales) -> Program:
        wide = self.inner.in_units(program, program.widened(X), self._wide(scales))
        return folded(wide.owning(program))

    def translated(self, program: Program, scales: Scales | None = None) -> Program:
        units = None if scales is None else self._wide(scales)
        return self.inner.translated(program, units).owning(program)

    def reductions(self, program: Program) -> list[Program]:
        return [each.owning(program) for each in self.inner.reductions(program)]

    def ways(self, program: Program) -> list[Program]:
        return [each.owning(program) for each in self.inner.ways(program)]

    def read(self, program: Program, style: str = "best") -> Program:
        return self.inner.read(program, style).owning(program)

    def _wide(self, scales: Scales) -> Scales:
        """The groups' own numbers have no units to be scaled by."""
        units = np.ones(len(self.full.variables))
        units[: len(scales.inputs)] = scales.inputs
        return replace(scales, inputs=units)
