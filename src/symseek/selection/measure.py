"""The error of formulas on some rows, by the reward that was asked for.

It is a part of the error of the best single number there, so that it means the same for any reward
and in any units, and it is no smaller than the digits of the data can tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from symseek.algebra.numbers import neat_numbers
from symseek.arrays import Floats
from symseek.data import Data, Scales
from symseek.losses import SQUARED
from symseek.model import Accuracy, HasAccuracy, loss
from symseek.programs import Program
from symseek.rewards import ErrorReward, LossReward, Reward
from symseek.selection import rules
from symseek.selection.exactness import Digits
from symseek.selection.leftover import leftover, working
from symseek.selection.likelihood import Likelihood
from symseek.selection.noise import Inputs, looks_random
from symseek.selection.residual_tests import chi_squared_test
from symseek.tokens import Library

_FEW_DIGITS = 3  # of a decimal that counts as neat
_LARGEST_NEAT = 200.0
_TOO_LARGE = 0.01  # a chance, for rows to scatter so much more than their errors of measurement


class Measure:
    """Errors on rows [N], and what follows from them.

    >>> from symseek.rewards import InverseMAE
    >>> x = np.linspace(1, 2, 20)[:, None]
    >>> data = Data(x, 1e6 * x[:, 0] ** 2, np.ones(20))
    >>> measure = Measure(data, InverseMAE(), Library(["mul"], ["x"]))
    >>> number = Program.parse("2.1e6", Library(["const"], ["x"]))
    >>> round(measure.number / 1e6, 3), round(measure.error(number), 3)
    (2.172, 1.009)
    """

    def __init__(
        self, data: Data, reward: Reward, library: Library, scales: Scales | None = None
    ) -> None:
        self.data = data if scales is None else data.scaled(scales)
        self.reward = reward
        self.library = library  # that formulas were made of
        self.digits = Digits.of(data, scales)
        self.number, self._unit = self._best_number()
        self.likelihood = self._likelihood()

    def _best_number(self) -> tuple[float, float]:
        """The number with the smallest error, the mean or the median of y, and its error."""
        data = self.data
        if isinstance(self.reward, LossReward):
            number = self.reward.loss.best_number(data.y, data.weights, data.sigma)
            found = self._loss_of_values(np.full_like(data.y, number))
            return number, found if 0 < found < np.inf else 1.0
        order = np.argsort(data.y, kind="stable")
        middle = np.searchsorted(np.cumsum(data.weights[order]), 0.5 * data.weights.sum())
        numbers = float(np.average(data.y, weights=data.weights)), float(data.y[order][middle])
        losses = [self._loss_of_values(np.full_like(data.y, number)) for number in numbers]
        best = int(losses[1] < losses[0])
        return numbers[best], losses[best] if 0 < losses[best] < np.inf else 1.0

    def _loss_of_values(self, values: Floats) -> float:
        return loss(Accuracy.of_values(values, self.data, self.reward), self.reward)

    def _likelihood(self) -> Likelihood:
        mean = self.data.spread**2
        if isinstance(self.reward, ErrorReward):
            mean = self.reward.mean_loss(np.full_like(self.data.y, self.number), self.data)
        return Likelihood.of(self.reward, self.data, mean if 0 < mean < np.inf else 1.0)

    @property
    def _has_digits(self) -> bool:
        """Whether the digits of the target mean something: not those of counts and classes."""
        reward = self.reward
        return not isinstance(reward, LossReward) or not reward.loss.is_of_means

    @property
    def _of_digits(self) -> bool:
        """Whether errors compare with the digits of the target."""
        return isinstance(self.reward, ErrorReward) and self._has_digits

    def _error_of(self, residuals: Floats) -> float:
        """The error of a formula that leaves these residuals, where a loss is asked for."""
        data, reward = self.data, self.reward
        assert isinstance(reward, LossReward)
        mean = reward.mean_loss(data.y - residuals, data)
        return float(mean**reward.loss.kind.power / self._unit)

    def of(self, found: HasAccuracy) -> float:
        """The error of a formula whose accuracy on these rows is known."""
        return loss(found, self.reward) / self._unit

    def error(self, program: Program) -> float:
        """The error of a program."""
        return self.of(Accuracy.of(program, self.data, self.reward))

    @cached_property
    def last_bits(self) -> float:
        """The error that arithmetic alone explains; 0 where a reward has units of its own."""
        if not self._of_digits:
            return 0.0
        if isinstance(self.reward, LossReward):
            return self._error_of(np.full_like(self.data.y, self.digits.tolerance))
        return self.digits.tolerance / self.digits.spread

    @cached_property
    def _rounding(self) -> float:
        """The error that the rounding of the target makes."""
        digits = self.digits
        if isinstance(self.reward, LossReward):
            return self._error_of(np.hypot(digits.step / math.sqrt(12), digits.tolerance))
        return digits.error

    def error_above_digits(self, error: float, program: Program | None = None) -> float:
        """An error, no smaller than what the digits of the target can tell.

        For a program, the digits of the inputs count too. Numbers with few digits may be exact, as
        counts are. So an error in the last bits stays.
        """
        if not self._of_digits:
            return error
        if error <= 2 * self.last_bits:
            return self.last_bits
        digits = self.digits
        if isinstance(self.reward, LossReward):
            grows = 1.0 if program is None else digits.error_of(program, self.data.X) / digits.error
            return max(error, min(self._rounding * grows, 1.0))
        floor = digits.error if program is None else digits.error_of(program, self.data.X)
        return max(error, floor)

    @cached_property
    def inputs(self) -> Inputs:
        """The inputs of the rows, against which residuals are tested for noise."""
        return Inputs(self.data.X)

    def residuals(self, program: Program) -> Floats:
        """What a program leaves of y [N]."""
        with np.errstate(all="ignore"):
            return self.data.y - program.evaluate(self.data.X)

    def leftover(self, program: Program) -> Floats:
        """What a program leaves of the rows [N], as it is tested for noise."""
        data = self.data
        with np.errstate(all="ignore"):
            return self.leftover_of(program.evaluate(data.X), data)

    def leftover_of(self, values: Floats, data: Data) -> Floats:
        """The same of values [N] on other rows."""
        loss = self.reward.loss if isinstance(self.reward, LossReward) else SQUARED
        return leftover(loss, values, data)

    def working(self, program: Program) -> tuple[Floats, Floats]:
        """A target and weights by which least squares have the program's numbers where it is."""
        data, reward = self.data, self.reward
        if not isinstance(reward, LossReward):
            return data.y, data.weights
        with np.errstate(all="ignore"):
            return working(reward.loss, program.evaluate(data.X), data)

    def leaves_noise(self, program: Program) -> bool:
        """Whether what a program leaves is rounding, or cannot be distinguished from noise.

        Where errors of measurement are known, it must also be no larger than these.
        """
        if self._has_digits and self.digits.explain(self.residuals(program)):
            return True
        data, known = self.data, self.likelihood.deviance
        if known is not None and data.sigma is not None and self.likelihood.loss == SQUARED:
            square = known * self.error(program) ** 2
            if chi_squared_test(square, len(data.y) - fitted_numbers(program)) < _TOO_LARGE:
                return False
        weights = data.weights if data.sigma is None else None
        return looks_random(self.leftover(program), self.inputs, weights=weights)

    def exact(self, program: Program) -> bool:
        """Whether a program meets every digit of the target, and by no chance."""
        return self._has_digits and self.digits.beyond_chance(
            self.residuals(program), len(program), program.numbers, len(self.library)
        )

    def shortest(self, programs: Sequence[Program], errors: Sequence[float]) -> int:
        """The row of a front to pick by the length of its description."""
        return int(np.argmin(self.descriptions(programs, errors)))

    def descriptions(self, programs: Sequence[Program], errors: Sequence[float]) -> list[float]:
        """The lengths of the descriptions that programs with these errors make of the rows."""
        floored = [self.error_above_digits(*pair) for pair in zip(errors, programs, strict=True)]
        return rules.descriptions(
            floored,
            [len(each) for each in programs],
            [fitted_numbers(each) for each in programs],
            len(self.data.y),
            len(self.library),
            None if self.likelihood.is_scale else self.likelihood.misfit,
        )

    def square(self, error: float) -> float:
        """An error as a mean square that is as unlikely in normal noise, for tests of these."""
        if self.likelihood.is_scale:
            return error**2
        nats = self.likelihood.misfit(error, 0) - self.likelihood.misfit(1.0, 0)
        return math.exp(min(2 * nats / len(self.data.y), 600.0))


def fitted_numbers(program: Program) -> int:
    """The constants that are no neat numbers: it takes rows to know these, and none to know 1/2.

    A number of the groups' own is one for each group.
    """
    shared = sum(not _is_neat(value) for value in program.constants)
    return shared + program.numbers - len(program.constants)


@lru_cache(maxsize=4096)
def _is_neat(value: float) -> bool:
    """Whether a law may have the number. Powers of ten far from 1 come of units, not of laws."""
    if not 1 / _LARGEST_NEAT <= abs(value) <= _LARGEST_NEAT:
        return value == 0.0
    return any(neat.value == value for neat in neat_numbers(value, _FEW_DIGITS))
