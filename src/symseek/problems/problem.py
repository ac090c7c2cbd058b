"""One benchmark problem as data: a formula, a library, and the rule that draws its points.

The points depend on the problem's name alone, so every search seed sees the same data:
`RandomState(adler32(name))` draws the training inputs, one variable after another, and then the
test inputs from the same stream. Letters: N rows, n input variables.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from symseek.programs import Program
    from symseek.tokens import Library

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Uniform:
    """U(low, high, count): `count` rows, each variable uniform between `low` and `high`.

    >>> import numpy as np
    >>> Uniform(0, 1, 3).draw(2, np.random.RandomState(0)).shape
    (3, 2)
    """

    low: float
    high: float
    count: int

    def draw(self, variables: int, rng: np.random.RandomState) -> Array:
        """The inputs [N, n]."""
        columns = [rng.uniform(self.low, self.high, self.count) for _ in range(variables)]
        return np.column_stack(columns)  # [N, n]

    def __str__(self) -> str:
        return f"U({self.low:g}, {self.high:g}, {self.count})"


@dataclass(frozen=True)
class Evenly:
    """E(low, high, count): `count` evenly spaced values of each variable, ends included.

    With several variables every combination is a row, so N is `count` to the power n.

    >>> import numpy as np
    >>> Evenly(0, 1, 3).draw(2, np.random.RandomState(0))[:4].tolist()
    [[0.0, 0.0], [0.0, 0.5], [0.0, 1.0], [0.5, 0.0]]
    """

    low: float
    high: float
    count: int

    def draw(self, variables: int, rng: np.random.RandomState) -> Array:
        """The inputs [N, n]; nothing is random about them."""
        axis = np.linspace(self.low, self.high, self.count)
        return np.array(list(itertools.product(axis, repeat=variables)))  # [N, n]

    def __str__(self) -> str:
        return f"E({self.low:g}, {self.high:g}, {self.count})"


Points: TypeAlias = Uniform | Evenly


class Data(NamedTuple):
    """The arrays of a problem, ready for a search."""

    X_train: Array  # [N, n] float64
    y_train: Array  # [N]
    X_test: Array  # [N, n]
    y_test: Array  # [N]


@dataclass(frozen=True)
class Problem:
    """A formula to be found again from points drawn from it.

    >>> from symseek import problems
    >>> problem = problems.load("Nguyen-5")
    >>> problem.expression, str(problem.train), problem.variables
    ('sin(x**2)*cos(x) - 1', 'U(-1, 1, 20)', ('x',))
    >>> problem.data().X_train.shape
    (20, 1)
    """

    name: str
    suite: str
    expression: str  # infix text, the truth
    operators: tuple[str, ...]  # names for Library: operators, numbers, "const"
    variables: tuple[str, ...]
    train: Points
    test: Points
    budget: int = 2_000_000  # expressions a search may sample
    #: Recovery in percent that the paper reports for each method.
    published: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    def library(self) -> Library:
        """The tokens the paper gives a search on this problem."""
        from symseek.tokens import Library

        return Library(self.operators, self.variables)

    def truth(self) -> Program:
        """The formula as a program over every operator: a problem's own library may lack some."""
        from symseek.programs import Program
        from symseek.tokens import OPERATORS, Library

        return Program.parse(self.expression, Library([*OPERATORS, "const"], self.variables))

    def data(self) -> Data:
        """Draw the points and compute the targets; the same arrays at every call."""
        rng = np.random.RandomState(zlib.adler32(self.name.encode()))
        X_train = self.train.draw(len(self.variables), rng)
        X_test = self.test.draw(len(self.variables), rng)
        truth = self.truth()
        return Data(X_train, truth.evaluate(X_train), X_test, truth.evaluate(X_test))

    @property
    def positive(self) -> bool:
        """Whether every training input is positive: then exp(y*log(x)) is x**y."""
        return self.train.low >= 0
