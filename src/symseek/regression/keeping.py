"""Formulas kept to limits while they are simplified, refitted and made neat.

The shortest way to write a formula may break a limit that another way keeps to: 3/exp(t/2) has no
negative number, 3*exp(-t/2) has one. So each step that would break a limit leaves a formula as it
was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from symseek.data import Scales
from symseek.limits import Limits
from symseek.model import Formula
from symseek.programs import Program
from symseek.regression.editing import Editing

_Step = Callable[[Program], Program]


class KeptTo:
    """The limits of a fit, asked of formulas in the user's units and in those of the search."""

    def __init__(self, limits: Limits, editing: Editing, scales: Scales) -> None:
        self.limits, self.editing, self.scales = limits, editing, scales
        self.allow = cache(limits.allow) if limits else lambda _: True
        self.hold = cache(limits.hold) if limits else lambda _: True

    def translated(self, program: Program) -> Program:
        """A program in units of the search, token by token in those of the user."""
        return self.editing.translated(program, self.scales)

    def allow_scaled(self, program: Program) -> bool:
        """Whether a program in units of the search keeps to the limits."""
        return not self.limits or self.allow(self.translated(program))

    def those(self, programs: Sequence[Program]) -> list[Program]:
        """The programs, in units of the search, that keep to the limits."""
        return [each for each in programs if self.allow_scaled(each)]

    def better(self, new: Program, old: Program) -> Program:
        """The new program, unless that breaks a limit which the old one keeps to."""
        return old if not self.allow(new) and self.allow(old) else new

    def better_scaled(self, new: Program, old: Program) -> Program:
        """The same for programs in units of the search."""
        return old if not self.allow_scaled(new) and self.allow_scaled(old) else new

    def surely(self, new: Program, old: Program) -> Program:
        """The same, and no limit is to be broken between points."""
        return old if not self.hold(new) and self.hold(old) else new

    def written(self, formula: Formula) -> Formula:
        """The formula, written in a way that keeps to the limits."""
        if not self.limits:
            return formula
        well = self.limits.allow_writing
        kept = well(self.editing.read(formula.program)) or not well(formula.program)
        return replace(formula, style="best" if kept else "factored")

    def told(self, formula: Formula) -> Formula:
        """The formula with what is said of the limits, which takes a proof of each."""
        return (
            replace(formula, limits=self.limits.said(formula.program)) if self.limits else formula
        )

    def simplifying(self, simplified: _Step) -> _Step:
        """A step that simplifies, in units of the search."""
        if not self.limits:
            return simplified
        return lambda program: self.better_scaled(
            simplified(program), self.editing.translated(program)
        )

    def translating(self, in_units: _Step) -> _Step:
        """A step that simplifies a program while it comes into the user's units."""
        if not self.limits:
            return in_units
        return lambda program: self.better(in_units(program), self.translated(program))
