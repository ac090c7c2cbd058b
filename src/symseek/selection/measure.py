"""The error of formulas on some rows, by the reward that was asked for.

It is a part of the error of the best single number there, so that it means the same for any reward
and in any units, and it is no smaller than the digits of the data can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from symseek.algebra.numbers import neat_numbers
from symseek.arrays import Floats
from symseek.data import Data, Scales
from symseek.model import Accuracy, HasAccuracy, loss
from symseek.programs import Program
from symseek.rewards import ErrorReward, Reward
from symseek.selection import rules
from symseek.selection.exactness import Digits
from symseek.selection.noise import Inputs
from symseek.tokens import Library

_FEW_DIGITS = 3  # of a decimal that counts as neat
_LARGEST_NEAT = 200.0


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

    def _best_number(self) -> tuple[float, float]:
        """The number with the smallest error, the mean or the median of y, and its error."""
        data = self.data
        order = np.argsort(data.y, kind="stable")
        middle = np.searchsorted(np.cumsum(data.weights[order]), 0.5 * data.weights.sum())
        numbers = float(np.average(data.y, weights=data.weights)), float(data.y[order][middle])
        losses = [self._loss_of_values(np.full_like(data.y, number)) for number in numbers]
        best = int(losses[1] < losses[0])
        return numbers[best], losses[best] if 0 < losses[best] < np.inf else 1.0

    def _loss_of_values(self, values: Floats) -> float:
        return loss(Accuracy.of_values(values, self.data, self.reward), self.reward)

    def of(self, found: HasAccuracy) -> float:
        """The error of a formula whose accuracy on these rows is known."""
        return loss(found, self.reward) / self._unit

    def error(self, program: Program) -> float:
        """The error of a program."""
        return self.of(Accuracy.of(program, self.data, self.reward))

    @cached_property
    def last_bits(self) -> float:
        """The error that arithmetic alone explains; 0 where a reward has units of its own."""
        if not isinstance(self.reward, ErrorReward):
            return 0.0
        return self.digits.tolerance / self.digits.spread

    def error_above_digits(self, error: float, program: Program | None = None) -> float:
        """An error, no smaller than what the digits of the target can tell.

        For a program, the digits of the inputs count too. Numbers with few digits may be exact, as
        counts are. So an error in the last bits stays.
        """
        if not isinstance(self.reward, ErrorReward):
            return error
        if error <= 2 * self.last_bits:
            return self.last_bits
        digits = self.digits
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

    def exact(self, program: Program) -> bool:
        """Whether a program meets every digit of the target, and by no chance."""
        return self.digits.beyond_chance(
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
        )


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
