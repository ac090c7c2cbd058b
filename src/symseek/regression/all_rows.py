"""All rows of a table that is so large that its formulas are chosen on a sample.

What is chosen gets its final numbers here: constants that are not neat are fitted once more, to
every row, and errors are those of every row. Only the columns that a formula names are touched, one
formula at a time, so that no copy of the table is made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from symseek.algebra.numbers import is_neat
from symseek.arrays import Floats
from symseek.constants import Bounds, FitConfig, with_fixed
from symseek.data import Data
from symseek.engines.interface import Engine, engine_named
from symseek.evaluation import data_grader
from symseek.model import Accuracy
from symseek.programs import Program, Programs
from symseek.rewards import ErrorReward, Reward
from symseek.selection.exactness import Digits
from symseek.tokens import Library, TokenKind

_BLOCK = 1 << 16  # rows evaluated together
# The sample's fit is near: a step of Gauss and Newton leaves an error of second order.
_FIT = FitConfig("least_squares", restarts=0, max_steps=3, rescue=False)
_STEPS = 100  # for other losses, whose weights change from step to step


@dataclass(frozen=True)
class AllRows:
    """The training and validation rows, all of them, in the user's units.

    >>> from symseek.rewards import InverseNRMSE
    >>> x = np.linspace(0, 1, 1000)
    >>> data = Data(x[:, None], 0.5 * x + 0.1234567891234, np.ones(1000))
    >>> every = AllRows(data, None, InverseNRMSE(), "native", 1)
    >>> near = Program.parse("0.5*x + 0.12345678901", Library(["add", "mul", "const"], ["x"]))
    >>> tuple(round(value, 13) for value in every.fitted(near).constants)
    (0.5, 0.1234567891234)
    """

    train: Data
    validation: Data | None
    reward: Reward
    engine: str | Engine
    threads: int
    bounds: Bounds | None = None  # of the constants

    @cached_property
    def unit(self) -> float:
        """What errors count by on all training rows."""
        assert isinstance(self.reward, ErrorReward)
        return self.reward.unit(self.train)

    def fitted(self, program: Program) -> Program:
        """The program with the constants that are not neat fitted to all training rows."""
        free = [not is_neat(value) for value in program.constants]
        by_slopes = isinstance(self.reward, ErrorReward) and self.reward.curve(1.0) is not None
        if not (any(free) or program.own_used) or not by_slopes:
            return program
        assert isinstance(self.reward, ErrorReward)
        steps = _FIT.max_steps if self.reward.is_squared else _STEPS
        small, X = _compact(program, self.train)
        held = with_fixed(Programs.from_list([small]), ~np.array([free], dtype=bool))
        # The spread of all rows is known, and takes as long as a fit.
        grader = data_grader(
            held.library,
            replace(self.train, X=X),
            self.reward,
            engine_named(self.engine, self.threads),
            replace(_FIT, max_steps=steps, bounds=self.bounds),
            unit=self.unit,
            cache=None if not program.own_used else 0,
        )
        fitted = grader(held)
        if not fitted.ok[0]:
            return program
        best = fitted.programs[0]
        new = iter(best.constants)
        pairs = zip(program.constants, free, strict=True)
        constants = tuple(next(new) if is_free else old for old, is_free in pairs)
        return replace(program, constants=constants).owning(best)

    def accuracy(self, program: Program) -> tuple[Accuracy, Accuracy | None]:
        """How well a program does on the training rows, and on the validation rows if any."""
        of = self._accuracy
        return of(program, self.train), of(program, self.validation) if self.validation else None

    def _accuracy(self, program: Program, data: Data) -> Accuracy:
        return Accuracy.of_values(_values(program, data.X), data, self.reward)

    def exact(self, program: Program, tokens: int) -> bool:
        """Whether a program meets every digit of the target in every row, by no chance."""
        train = self.train
        digits = Digits.of(Data(train.X[:, :0], train.y, train.weights))
        with np.errstate(all="ignore"):
            residuals = train.y - _values(program, train.X)
        return digits.beyond_chance(residuals, len(program), program.numbers, tokens)


def _values(program: Program, X: Floats) -> Floats:
    """The values [N], some rows at a time: what is in between takes little memory."""
    values = np.empty(len(X))
    for start in range(0, len(X), _BLOCK):
        values[start : start + _BLOCK] = program.evaluate(X[start : start + _BLOCK])
    return values


def _compact(program: Program, data: Data) -> tuple[Program, Floats]:
    """The program over the columns that it names, and those columns [N, k], one after another."""
    library = program.library
    # An operator of the user's may count on the order of the columns; own numbers go by the group.
    if program.own_used or any(library.tokens[each].columns for each in program.tokens):
        return program, data.X
    named = [each for each in library.variable_ids if each in program.tokens]
    used = named or library.variable_ids[:1]  # a library needs a variable
    tokens = [each for each in library if each.kind is not TokenKind.VARIABLE]
    own = Library(tokens, [library.names[each] for each in used])
    X = np.empty((len(used), len(data.y)))
    for column, each in zip(X, used, strict=True):
        column[:] = data.X[:, library.variable_ids.index(each)]
    names = tuple(own.index(library.names[each]) for each in program.tokens)
    return Program(own, names, program.constants), X.T
