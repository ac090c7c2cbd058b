"""What is told of the programs that a search has found.

A program of the search is simplified, left without addends that hardly matter, refitted to the
rows, brought into the user's units, and its numbers are named where the data decide them. Of all of
them the front is kept, and one is picked. Of a large table all this is done on a sample, and what
is on the front is then fitted to all rows and graded on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from symseek.algebra.forms import styled, ways
from symseek.algebra.neatness import probably_neat
from symseek.algebra.reading import number_cost
from symseek.algebra.rounding import rounded
from symseek.algebra.simplify import reductions, rescaled, simplified, structural_exponents
from symseek.constants import FitConfig
from symseek.data import Data, Scales
from symseek.engines.interface import Engine
from symseek.errors import InputError
from symseek.evaluation import fit_constants
from symseek.model import Accuracy, Formula
from symseek.programs import Program, Programs
from symseek.regression.all_rows import AllRows
from symseek.rewards import ErrorReward, Reward
from symseek.selection import rules
from symseek.selection.measure import Measure
from symseek.selection.noise import looks_random
from symseek.selection.pick import Choice, chosen
from symseek.tokens import Library

__all__ = ["LOOKED_AT", "Telling"]

LOOKED_AT = 2_000  # rows on which formulas are compared when they are rounded
_BETTER = 0.999  # a longer formula must have this part of the error, or less, to be on the front
_BRIEFER = 2.0  # nats by which a description must be shorter to count as that
_ROUNDS = 4  # of leaving out addends, one from each formula at a time
_ENOUGH = 20_000  # rows to see by whether an addend matters
_NEARLY_EXACT = 1e-9  # of the spread of y
_STRUCTURE = 0.0005  # the chance at which noise may be taken for more, and no number told neat
_NEAT = 2.0  # the cost of a number, beyond which it is a fitted one
_NEAT_ENOUGH = 1.0  # the cost of a number that no other way to write a formula makes neater
_MADE_NEAT = 600  # tokens of all formulas together; to make numbers neat takes a while for each
_REWRITTEN = 30  # tokens at most of another way to write a formula, to be made neat
_GOES_WITH_A_NUMBER = 2  # complexity, where it becomes 0 or 1: its own and that of an operator
_FINAL_FIT = FitConfig("least_squares", restarts=0, rescue=False)


@dataclass
class Telling:
    """The table that formulas are told of, and how."""

    full: Library  # of the formulas
    library: Library  # of the search
    train: Data  # a sample of a large table, like the validation rows
    validation: Data | None
    searched: Data  # as they are scaled
    scales: Scales
    reward: Reward
    measure: Measure  # on the rows to train on
    constants: bool  # whether numbers are fitted
    engine: str | Engine
    threads: int
    every: AllRows | None = None  # of a large table
    # What is told again and again while a search goes on, by the program that it is told of:
    _simplified: dict[Program, Program] = field(default_factory=dict)
    _in_units: dict[Program, Program] = field(default_factory=dict)
    _formulas: dict[Program, Formula] = field(default_factory=dict)

    def number(self) -> Program:
        """The simplest formula of all."""
        value = self.measure.number / self.scales.target
        return Program(self.full, (self.full.index("const"),), (value,))

    def in_units(self, program: Program) -> Program:
        """A program of scaled columns in those of the user's."""
        if program not in self._in_units:
            units = self.scales.inputs.tolist(), self.scales.target
            self._in_units[program] = rescaled(program, self.full, self.train.X, *units)
        return self._in_units[program]

    def simple(self, program: Program) -> Program:
        if program not in self._simplified:
            self._simplified[program] = simplified(program, self.full, self.scaled.X)
        return self._simplified[program]

    @cached_property
    def scaled(self) -> Data:
        """The training rows in the units of the search."""
        return self.train.scaled(self.scales)

    def tightened(self, programs: list[Program]) -> list[Program]:
        """The programs and shorter ones: an addend that hardly matters is left out.

        Fits like to keep a term times 1e-9, which the law does not have.
        """
        known, rows = dict.fromkeys(programs), self.searched.sampled(_ENOUGH, seed=0)
        for _ in range(_ROUNDS):
            programs = self.refitted(list(known), rows)
            kept = self.front([self.graded(each, rows) for each in programs])
            shorter = [
                reduced
                for each in kept
                for reduced in reductions(each.program, self.full)
                if reduced not in known
            ]
            if not shorter:
                break
            known = dict.fromkeys([*(each.program for each in kept), *shorter])
        return list(known)

    def refitted(self, programs: list[Program], data: Data) -> list[Program]:
        """Constants fitted to these rows, as they are scaled; programs undefined there go.

        Exponents stay: sqrt(x)*x, written x**1.5, is not to become x**1.497. So do all numbers
        where the search had none to fit.
        """
        if not self.constants:
            return [each for each in programs if np.isfinite(each.evaluate(data.X)).all()]
        batch = Programs.from_list(programs)
        fitted = fit_constants(
            batch,
            data.X,
            data.y,
            _FINAL_FIT,
            fixed=None if "pow" in self.library.names else structural_exponents(batch),
            reward=self.reward,
            weights=data.weights,
            threads=self.threads,
            engine=self.engine,
        )
        return list(fitted.programs[np.flatnonzero(fitted.ok)])

    def contenders(self, programs: list[Program], proposed: list[Program]) -> list[Program]:
        """Of refitted programs, those that may be on the front once their numbers are neat.

        That is the front as it is, and what fits as well but is longer by no more than neat numbers
        may save. Of these, what was proposed comes first, then what is longer by the least, until
        there are too many: by their tokens, not by a clock, so that every machine does the same.
        """
        graded = [self.graded(each, self.scaled) for each in programs]
        front, shapes = self.front(graded), {each.tokens for each in proposed}
        errors = [
            _BETTER * self.measure.error_above_digits(self.measure.of(each)) for each in front
        ]
        kept = {each.program for each in front}
        others: list[tuple[bool, int, Program]] = []
        for each in graded:
            program, error = each.program, self.measure.error_above_digits(self.measure.of(each))
            as_good = (row for row, its in zip(front, errors, strict=True) if its <= error)
            longer = each.complexity - next(as_good, front[-1]).complexity
            if program not in kept and longer <= _GOES_WITH_A_NUMBER * len(program.constants):
                others.append((program.tokens not in shapes, longer, program))
        room = _MADE_NEAT - sum(map(len, kept))
        for *_, program in sorted(others, key=lambda each: each[:2]):
            room -= len(program)
            if room < 0:
                break
            kept.add(program)
        return [each for each in programs if each in kept]

    def neat(self, program: Program) -> Program:
        """The formula with neat numbers, where its error stays or noise makes them likely.

        A number may be neat in one way to write a formula only: 9.81*m*(h + 0.05097*v**2) is
        9.81*m*h + 1/2*m*v**2. A number alone is the mean or the median, and stays that.
        """
        if len(program) == 1:
            return program
        found = self._neat(program)
        if all(number_cost(value) <= _NEAT_ENOUGH for value in found.constants):
            return found
        if not (self.measure.exact(program) or self._noisy(program)):
            return found  # its numbers are no law's
        others = [way for way in ways(program) if len(way) <= _REWRITTEN]
        pairs = [(way, self._neat(way)) for way in others]
        changed = [neat for way, neat in pairs if neat != way]
        return min([found, *changed], key=_number_costs) if changed else found

    def _neat(self, program: Program) -> Program:
        """The formula with neat numbers, in the way that it is written."""
        train, measure, step = self.train, self.measure, -(-len(self.train.y) // LOOKED_AT)
        X, y, weights = (each[::step] for each in (train.X, train.y, train.weights))
        exact, count = measure.exact(program), len(program.constants)
        likely = self._likely(program, exact)
        if likely is not None:
            return likely
        # The fit has followed the rounding of the target a little way: its mean square may grow.
        growth = 3 * count / max(len(train.y) - count, 1) if exact else 0.0
        try:
            neat = rounded(program, X, y, weights=weights, growth=growth).program
        except InputError:  # undefined on some row
            return program
        if neat == program:
            return program
        neat = simplified(neat, self.full, train.X)
        if exact:
            return neat if measure.exact(neat) else program
        before, after = (measure.error(each) for each in (program, neat))
        return neat if after <= max(before * (1 + 1e-9), measure.last_bits) else program

    def _likely(self, program: Program, exact: bool) -> Program | None:
        """The formula with the numbers that are probably neat, if what it leaves is noise.

        Rounding of the target is noise too, but then all digits must be met, and all numbers told.
        """
        train = self.train
        if not (self.constants and self._noisy(program)):
            return None
        found = probably_neat(program, train.X, train.y, weights=train.weights)
        neat = simplified(found.program, self.full, train.X) if any(found.neat) else program
        told = any(found.neat) and (not exact or (found.complete and self.measure.exact(neat)))
        return neat if told else None

    def _noisy(self, program: Program) -> bool:
        """Whether what a formula leaves is noise, of which least squares can tell."""
        reward = self.reward
        squared = isinstance(reward, ErrorReward) and reward.curve(1.0) is not None
        if not (squared and self.measure.error(program) > _NEARLY_EXACT):  # that is arithmetic
            return False
        residuals = self.measure.residuals(program)
        return looks_random(residuals, self.measure.inputs, chance=_STRUCTURE)

    def graded(self, program: Program, data: Data) -> Formula:
        """A formula without its text, which takes longer than the rest."""
        found = Accuracy.of(program, data, self.reward)
        return Formula(program, "", found.reward, found.nrmse, found.r2)

    def formula(self, program: Program) -> Formula:
        """A program with its accuracy and its text."""
        if program not in self._formulas:
            self._formulas[program] = self._formula(program)
        return self._formulas[program]

    def _formula(self, program: Program) -> Formula:
        found, validation = self.graded(program, self.train), self.validation
        return replace(
            found,
            text=found.written(),
            validation_r2=None if validation is None else self.graded(program, validation).r2,
            exact=self.measure.exact(program),
        )

    def final(self, formula: Formula) -> Formula:
        """The formula with its accuracy and its numbers on all rows.

        Nothing changes where the table is no larger than what it was chosen on.
        """
        every = self.every
        if every is None:
            return formula
        program = formula.program if formula.exact else every.fitted(formula.program)
        found, validated = every.accuracy(program)
        formula = replace(
            formula, program=program, reward=found.reward, nrmse=found.nrmse, r2=found.r2
        )
        return replace(
            formula,
            text=formula.written(),
            validation_r2=None if validated is None else validated.r2,
            exact=formula.exact and every.exact(program, len(self.library)),
        )

    def front(self, formulas: list[Formula]) -> list[Formula]:
        """The formulas that nothing simpler matches, simplest first.

        Of two that match, a longer one stands for the shorter if it describes the rows more
        briefly: a law with neat numbers, beside an approximation with fitted ones. Of one
        complexity the shortest description stays: fewer numbers may be worth a larger error.
        """
        errors = [self.measure.of(each) for each in formulas]
        lengths = self.measure.descriptions([each.program for each in formulas], errors)
        rows = sorted(
            zip(formulas, errors, lengths, strict=True), key=lambda row: (row[0].complexity, row[1])
        )
        kept: list[tuple[Formula, float, float]] = []
        for row in rows:
            error, complexity = self.measure.error_above_digits(row[1]), row[0].complexity
            if not kept or error < _BETTER * kept[-1][1]:
                kept.append(row)
            elif complexity == kept[-1][0].complexity > 1:  # no column replaces the mean
                better = len(kept) < 2 or error < _BETTER * kept[-2][1]
                if better and row[2] < kept[-1][2]:
                    kept[-1] = row
            elif _BETTER * error <= kept[-1][1] and row[2] < kept[-1][2] - _BRIEFER:
                kept[-1] = row
            if row[0].exact:  # nothing is better
                break
        return [formula for formula, _, _ in kept]

    def pick(self, formulas: list[Formula], rule: str, final: bool = True) -> tuple[Choice, str]:
        """The row that a rule picks, and the rule; "auto" is validation where there are such rows.

        The tests of "auto" take a while, so only what is `final` goes through them.
        """
        if rule == "auto" and self.validation is not None:
            rule = "validation"
        errors = [self.measure.error_above_digits(self.measure.of(each)) for each in formulas]
        programs = [each.program for each in formulas]
        if rule == "accuracy":
            return Choice(rules.accuracy(errors)), rule
        if rule == "validation":
            return Choice(self._best_validated(programs)), rule
        if rule == "auto" and final and self.constants:
            return chosen(programs, errors, self.measure, self.threads, self.engine), rule
        return Choice(self.measure.shortest(programs, errors)), rule

    def _best_validated(self, programs: list[Program]) -> int:
        held_out, reward = self.validation, self.reward
        assert held_out is not None
        if not isinstance(reward, ErrorReward):  # no row has an error of its own
            rewards = [Accuracy.of(each, held_out, reward).reward for each in programs]
            return rules.accuracy([-each for each in rewards])
        with np.errstate(all="ignore"):
            errors = np.array([each.evaluate(held_out.X) - held_out.y for each in programs])
        losses = held_out.weights * reward.row_losses(errors)
        rounding = np.array([self.measure.last_bits * held_out.spread])
        return rules.validation(losses, float(reward.row_losses(rounding)[0]))


def _number_costs(program: Program) -> tuple[int, float]:
    """How many numbers are not neat where a formula is written for people, and what all cost."""
    costs = [number_cost(value) for value in styled(program).constants]
    return sum(cost > _NEAT for cost in costs), sum(costs)
