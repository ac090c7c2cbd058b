"""Constants fitted to the last digit, and addends left out that hardly matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from symseek.algebra.simplify import structural_exponents
from symseek.constants import FitConfig
from symseek.data import Data
from symseek.engines.interface import Engine
from symseek.evaluation import fit_constants
from symseek.model import Formula
from symseek.programs import Program, Programs
from symseek.regression.editing import Editing
from symseek.regression.keeping import KeptTo
from symseek.regression.own_numbers import in_order, variants
from symseek.selection.measure import Measure
from symseek.selection.ranking import ranked

_ROUNDS = 4  # of leaving out addends, one from each formula at a time
_ENOUGH = 20_000  # rows to see by whether an addend matters
_FIT = FitConfig("least_squares", restarts=0, rescue=False)
# A search keeps the constants that it has fitted, but not the numbers of the groups' own.
_FIT_GROUPS = FitConfig("least_squares", restarts=4)


@dataclass(frozen=True)
class Refitting:
    """Fits the constants of programs to rows, as they are scaled."""

    editing: Editing
    measure: Measure  # with the library of the search
    constants: bool  # whether numbers are fitted
    engine: str | Engine
    threads: int
    kept_to: KeptTo  # limits

    def __call__(self, programs: Sequence[Program], data: Data) -> list[Program]:
        """The programs with their constants fitted; those undefined on some row go.

        Exponents stay: sqrt(x)*x, written x**1.5, is not to become x**1.497. So do all numbers
        where the search had none to fit.
        """
        if not self.constants:
            return [each for each in programs if np.isfinite(each.evaluate(data.X)).all()]
        batch = Programs.from_list(list(programs))
        config = _FIT if self.editing.full.grouping is None else _FIT_GROUPS
        fitted = fit_constants(
            batch,
            data.X,
            data.y,
            replace(config, bounds=self.kept_to.limits.numbers),
            fixed=None if "pow" in self.measure.library.names else structural_exponents(batch),
            reward=self.measure.reward,
            weights=data.weights,
            sigma=data.sigma,
            threads=self.threads,
            engine=self.engine,
        )
        pairs = zip(fitted.programs, programs, fitted.ok, strict=True)
        return [self.kept_to.better_scaled(new, old) for new, old, ok in pairs if ok]

    def tightened(self, programs: Sequence[Program], data: Data) -> list[Program]:
        """The programs and shorter ones: an addend that hardly matters is left out.

        Fits like to keep a term times 1e-9, which the law does not have.
        """
        known, rows = dict.fromkeys(programs), data.sampled(_ENOUGH, seed=0)
        for _ in range(_ROUNDS):
            fitted = self.kept_to.those(self(list(known), rows))
            graded = [Formula.graded(each, rows, self.measure.reward) for each in fitted]
            kept = [each.program for each in ranked(graded, self.measure)]
            shorter = [
                reduced
                for each in kept
                for reduced in self.editing.reductions(each)
                if reduced not in known
            ]
            if not shorter:
                break
            known = dict.fromkeys([*kept, *shorter])
        return list(known)

    def shared_out(self, programs: Sequence[Program], data: Data) -> list[Program]:
        """The programs, and those with fewer numbers or others of the groups' own.

        What describes the rows most briefly stays: so that a number is the groups' own where that
        pays for one in each group.
        """
        first = {each.tokens: each for each in map(in_order, programs)}
        known, seen = list(first.values()), set(first)
        kept = known
        for _ in range(_ROUNDS):
            graded = [Formula.graded(each, data, self.measure.reward) for each in known]
            kept = [each.program for each in ranked(graded, self.measure)]
            new = {each.tokens: each for one in kept for each in variants(one)}
            others = [each for tokens, each in new.items() if tokens not in seen]
            if not others:
                break
            seen |= set(new)
            known = [*kept, *self(others, data)]
        return kept

    def own(self, program: Program, data: Data) -> Program:
        """The program with the groups' own numbers fitted once more, its others as they are."""
        if not program.own_used:
            return program
        batch = Programs.from_list([program])
        fitted = fit_constants(
            batch,
            data.X,
            data.y,
            replace(_FIT, bounds=self.kept_to.limits.numbers),
            fixed=np.ones(batch.constants.shape, dtype=bool),
            reward=self.measure.reward,
            weights=data.weights,
            sigma=data.sigma,
            threads=self.threads,
        )
        return program.owning(fitted.programs[0]) if fitted.ok[0] else program
