"""Neat numbers in the formulas: 1/2, pi or 9.81 where the rows decide for them.

Numbers are looked at in the user's units, since those are the units of a law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symseek.algebra.neatness import probably_neat
from symseek.algebra.reading import number_cost
from symseek.algebra.rounding import rounded
from symseek.errors import InputError
from symseek.programs import Program
from symseek.regression.editing import Editing
from symseek.rewards import ErrorReward, LossReward
from symseek.selection.measure import Measure
from symseek.selection.noise import looks_random

LOOKED_AT = 2_000  # rows on which formulas are compared when they are rounded
_NEARLY_EXACT = 1e-9  # of the spread of y
_STRUCTURE = 0.0005  # the chance at which noise may be taken for more, and no number made neat
_NEAT = 2.0  # the cost of a number, beyond which it is a fitted one
_NEAT_ENOUGH = 1.0  # the cost of a number that no other way to write a formula makes neater
_REWRITTEN = 30  # tokens at most of another way to write a formula, to be made neat


@dataclass(frozen=True)
class NeatNumbers:
    """Makes the numbers of a formula neat."""

    editing: Editing
    measure: Measure  # on the rows that decide
    constants: bool  # whether numbers were fitted

    def __call__(self, program: Program) -> Program:
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
        others = [way for way in self.editing.ways(program) if len(way) <= _REWRITTEN]
        pairs = [(way, self._neat(way)) for way in others]
        changed = [neat for way, neat in pairs if neat != way]
        return min([found, *changed], key=self._number_costs) if changed else found

    def _neat(self, program: Program) -> Program:
        """The formula with neat numbers, in the way that it is written."""
        measure, train = self.measure, self.measure.data
        step = -(-len(train.y) // LOOKED_AT)
        wide = program.widened(train.X)
        X, y, weights = (each[::step] for each in (wide, *self.measure.working(program)))
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
        if neat.owning(program) == program:
            return program
        neat = self.editing.simplified(neat, train.X)
        if exact:
            return neat if measure.exact(neat) else program
        before, after = (measure.error(each) for each in (program, neat))
        return neat if after <= max(before * (1 + 1e-9), measure.last_bits) else program

    def _likely(self, program: Program, exact: bool) -> Program | None:
        """The formula with the numbers that are probably neat, if what it leaves is noise.

        Rounding of the target is noise too, but then every digit and every number must agree.
        """
        train = self.measure.data
        if not (self.constants and self._noisy(program)):
            return None
        wide = program.widened(train.X)
        y, weights = self.measure.working(program)
        if not (np.isfinite(y).all() and np.isfinite(weights).all()):
            return None
        found = probably_neat(program, wide, y, weights=weights)
        likely = found.program.owning(program)
        neat = self.editing.simplified(likely, train.X) if any(found.neat) else program
        accepted = any(found.neat) and (not exact or (found.complete and self.measure.exact(neat)))
        return neat if accepted and self._describes(neat, program) else None

    def _describes(self, neat: Program, program: Program) -> bool:
        """Whether the loss that was asked for agrees: the description becomes no longer by it."""
        if not isinstance(self.measure.reward, LossReward):
            return True
        both = neat, program
        after, before = self.measure.descriptions(both, [self.measure.error(each) for each in both])
        return after <= before

    def _noisy(self, program: Program) -> bool:
        """Whether what a formula leaves is noise, as the residuals of least squares show."""
        reward = self.measure.reward
        fits = isinstance(reward, ErrorReward) and reward.is_squared
        # Of counts and classes no number is known so well that it would show as neat.
        fits = fits or (isinstance(reward, LossReward) and not reward.loss.is_of_means)
        if not (fits and self.measure.error(program) > _NEARLY_EXACT):  # that is arithmetic
            return False
        residuals = self.measure.leftover(program)
        return looks_random(residuals, self.measure.inputs, chance=_STRUCTURE)

    def _number_costs(self, program: Program) -> tuple[int, float]:
        """How many numbers are not neat where a formula is written for people, and their cost."""
        costs = [number_cost(value) for value in self.editing.read(program).constants]
        return sum(cost > _NEAT for cost in costs), sum(costs)
