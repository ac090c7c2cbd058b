"""One benchmark problem as data: a formula, a library, and the rule that draws its points.

The points depend on the problem's name alone, so every search seed sees the same data:
`RandomState(adler32(name))` draws the training inputs, one variable after another, and then the
test inputs from the same stream; evenly spaced points serve for both. The name is that of the
authors' code, which writes a prime as a letter a. Letters: N rows, n input variables.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError

if TYPE_CHECKING:
    from symseek.programs import Program
    from symseek.tokens import Library

Array = NDArray[np.float64]

_TIME_STEP = 0.1  # between two points of a trajectory
_INNER_STEPS = 20  # of the integration, from one point to the next


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

    With several variables every combination is a row, so N is `count` to the power n. Where that
    is too many, `grid=False` makes N `count`: the first variable runs through its values in order
    and every other one through its own in shuffled order, so that each keeps its fine spacing. (A
    coarser grid would not do: 316 values of x a side, 100,000 rows in all, sample cos(9.8*x) on
    [-50, 50] at two points a period, where it looks like another function.)

    >>> import numpy as np
    >>> Evenly(0, 1, 3).draw(2, np.random.RandomState(0))[:4].tolist()
    [[0.0, 0.0], [0.0, 0.5], [0.0, 1.0], [0.5, 0.0]]
    >>> Evenly(0, 1, 3, grid=False).draw(2, np.random.RandomState(0)).tolist()
    [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    """

    low: float
    high: float
    count: int
    grid: bool = True

    def draw(self, variables: int, rng: np.random.RandomState) -> Array:
        """The inputs [N, n]; only the order of values is random, and only without a grid."""
        axis = np.linspace(self.low, self.high, self.count)
        if self.grid:
            columns = list(np.meshgrid(*[axis] * variables, indexing="ij"))
        else:
            columns = [axis, *(rng.permutation(axis) for _ in range(1, variables))]
        return np.column_stack([column.ravel() for column in columns])  # [N, n]

    def __str__(self) -> str:
        return f"E({self.low:g}, {self.high:g}, {self.count})"


@dataclass(frozen=True)
class Box:
    """`count` rows, each variable uniform in a range of its own.

    >>> import numpy as np
    >>> box = Box(((1, 5), (3, 10)), 4)
    >>> box.draw(2, np.random.RandomState(0)).shape, box.low, str(box)
    ((4, 2), 1, 'U(1-5 3-10, 4)')
    """

    ranges: tuple[tuple[float, float], ...]  # low and high, in the order of the variables
    count: int

    def draw(self, variables: int, rng: np.random.RandomState) -> Array:
        """The inputs [N, n]."""
        if variables != len(self.ranges):
            raise InputError(f"{variables} variables have {len(self.ranges)} ranges; give one each")
        columns = [rng.uniform(low, high, self.count) for low, high in self.ranges]
        return np.column_stack(columns)  # [N, n]

    @property
    def low(self) -> float:
        """The least value that a variable may have."""
        return min(low for low, _ in self.ranges)

    def __str__(self) -> str:
        ranges = dict.fromkeys(self.ranges)
        if len(ranges) == 1:
            return str(Uniform(*self.ranges[0], self.count))
        return f"U({' '.join(f'{low:g}-{high:g}' for low, high in self.ranges)}, {self.count})"


@dataclass(frozen=True)
class Trajectories:
    """T(count, steps): points along trajectories of two differential equations, 0.1 apart in time.

    They are followed by the fourth-order method of Runge and Kutta, in steps so small that its
    error is far below what a fit could tell from the solution.

    >>> import numpy as np
    >>> circle = Trajectories(lambda x, y: (-y, x), lambda count, rng: np.eye(2)[:count], count=1)
    >>> X = circle.draw(2, np.random.RandomState(0))
    >>> X.shape, bool(np.allclose(X[63], [np.cos(6.3), np.sin(6.3)], rtol=0, atol=1e-9))
    ((100, 2), True)
    """

    slopes: Callable[[Array, Array], tuple[Array, Array]]  # dx/dt and dy/dt
    start: Callable[[int, np.random.RandomState], Array]  # points [count, 2] to start from
    low: float = -math.inf  # what no variable comes below
    count: int = 4  # trajectories
    steps: int = 100  # points of each

    def draw(self, variables: int, rng: np.random.RandomState) -> Array:
        """The inputs [N, 2], one trajectory after another, each from its start."""
        if variables != 2:
            raise InputError(f"trajectories have 2 variables, not {variables}")
        points = np.empty((self.count, self.steps, 2))
        now = np.array(self.start(self.count, rng), dtype=float).T  # [2, count]
        for step in range(self.steps):
            points[:, step] = now.T
            for _ in range(_INNER_STEPS):
                now = self._after(now, _TIME_STEP / _INNER_STEPS)
        return points.reshape(-1, 2)

    def _after(self, now: Array, time: float) -> Array:
        """The points [2, count] a short time later."""
        first = np.array(self.slopes(*now))
        second = np.array(self.slopes(*(now + time / 2 * first)))
        third = np.array(self.slopes(*(now + time / 2 * second)))
        fourth = np.array(self.slopes(*(now + time * third)))
        return now + time / 6 * (first + 2 * second + 2 * third + fourth)

    def __str__(self) -> str:
        return f"T({self.count}, {self.steps})"


Points: TypeAlias = Uniform | Evenly | Box | Trajectories


class TrainTest(NamedTuple):
    """The arrays of a problem: points to search on, and points to test on."""

    X_train: Array  # [N, n] float64
    y_train: Array  # [N]
    X_test: Array  # [N, n]
    y_test: Array  # [N]


#: How the paper grades a problem: by the share of runs that recover the formula, or by a statistic,
#: over the runs, of the RMSE on the test points.
GradedBy: TypeAlias = Literal["recovery", "mean RMSE", "median RMSE"]

#: What the paper reports, by method.
Figures: TypeAlias = Mapping[str, float]


def _no_figures() -> Figures:
    return MappingProxyType({})


@dataclass(frozen=True)
class BenchmarkProblem:
    """A formula to be found again from points drawn from it.

    >>> from symseek.lab import problems
    >>> problem = problems.load("Nguyen-5")
    >>> problem.expression, str(problem.train), problem.variables
    ('sin(x**2)*cos(x) - 1', 'U(-1, 1, 20)', ('x',))
    >>> problem.data().X_train.shape
    (20, 1)
    """

    name: str
    suite: str
    expression: str  # infix text, the truth; words where `target` stands in for it
    operators: tuple[str, ...]  # names for Library: operators, numbers, "const"
    variables: tuple[str, ...]
    train: Points
    test: Points
    budget: int = 2_000_000  # expressions a search may sample
    #: The targets [N] of inputs [N, n], for a function that no formula over the operators writes.
    target: Callable[[Array], Array] | None = None
    graded_by: GradedBy = "recovery"
    published: Figures = field(default_factory=_no_figures, hash=False)  # recovery in percent
    published_rmse: Figures = field(default_factory=_no_figures, hash=False)  # see `graded_by`

    def library(self) -> Library:
        """The tokens that a search on this problem is given."""
        from symseek.tokens import Library

        return Library(self.operators, self.variables)

    def truth(self) -> Program:
        """The formula as a program over every operator: a problem's own library may lack some.

        A problem without a closed form has none, which is an error; see `closed_form`.
        """
        from symseek.programs import Program
        from symseek.tokens import OPERATORS, Library

        if not self.closed_form:
            raise InputError(f"{self.name} has no closed form: its target is {self.expression}")
        return Program.parse(self.expression, Library([*OPERATORS, "const"], self.variables))

    def data(self) -> TrainTest:
        """Draw the points and compute the targets; the same arrays at every call."""
        rng = np.random.RandomState(zlib.adler32(self.letter_name.encode()))
        n = len(self.variables)
        X_train = self.train.draw(n, rng)
        same = isinstance(self.test, Evenly) and self.test == self.train
        X_test = X_train.copy() if same else self.test.draw(n, rng)
        target = self.target or self.truth().evaluate
        return TrainTest(X_train, target(X_train), X_test, target(X_test))

    @property
    def closed_form(self) -> bool:
        """Whether the target is a formula, so that it can be recovered at all."""
        return self.target is None

    @property
    def constants(self) -> bool:
        """Whether the library has `const`, so that a search fits numbers to the data."""
        return "const" in self.operators

    @property
    def positive(self) -> bool:
        """Whether every training input is positive: then exp(y*log(x)) is x**y."""
        return self.train.low >= 0

    @property
    def letter_name(self) -> str:
        """The name in the authors' code, which draws the points: a letter a for a prime.

        >>> from symseek.lab import problems
        >>> problems.load("Nguyen-8''").letter_name
        'Nguyen-8aa'
        """
        return self.name.replace("'", "a")

    @property
    def shell_name(self) -> str:
        """The name with a letter p for a prime, which a shell would take for a quote.

        >>> from symseek.lab import problems
        >>> problems.load("Nguyen-8''").shell_name
        'Nguyen-8pp'
        """
        return self.name.replace("'", "p")
