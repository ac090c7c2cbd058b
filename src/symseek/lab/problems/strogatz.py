"""Systems of two differential equations as problems: the Strogatz suite of SRBench.

The rows are points of trajectories, the target is the right-hand side of one of the two equations
there. Trajectories keep close to a curve, so that many formulas fit them nearly as well as the
true one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from symseek.lab.problems.feynman import OPERATORS
from symseek.lab.problems.problem import Array, BenchmarkProblem, Trajectories

BUDGET = 1_000_000  # expressions a search may sample

Random = np.random.RandomState


def _near(x: float, y: float) -> Callable[[int, Random], Array]:
    """Starts about a point, as far as a standard normal number goes."""
    return lambda count, rng: np.array([x, y]) + rng.normal(size=(count, 2))


def _within(x: tuple[float, float], y: tuple[float, float]) -> Callable[[int, Random], Array]:
    """Starts drawn evenly from a rectangle."""
    low, high = np.transpose([x, y])
    return lambda count, rng: rng.uniform(low, high, (count, 2))


def _at(*starts: tuple[float, float]) -> Callable[[int, Random], Array]:
    """These starts, over and over."""
    return lambda count, rng: np.resize(np.array(starts, dtype=float), (count, 2))


class _System(NamedTuple):
    """dx/dt and dy/dt as formulas, and where trajectories start."""

    name: str
    x: str
    y: str
    start: Callable[[int, Random], Array]
    low: float = -math.inf  # of x and y

    @property
    def slopes(self) -> Callable[[Array, Array], tuple[Array, Array]]:
        """dx/dt and dy/dt as a function, with NumPy's operations in the order of the formulas."""
        known = {name: getattr(np, name) for name in ("sin", "cos", "tan")}
        made: Callable[[Array, Array], tuple[Array, Array]]
        made = eval(f"lambda x, y: ({self.x}, {self.y})", known)
        return made


# Bacterial respiration, two bar magnets, a glider, rabbits and sheep that compete, a predator and
# its prey, the spin of a body in a shear flow, the oscillator of van der Pol.
SYSTEMS = (
    _System("bacres", "20 - x - x*y/(1 + 0.5*x**2)", "10 - x*y/(1 + 0.5*x**2)", _near(5, 10), 0.0),
    _System(
        "barmag",
        "0.5*sin(x - y) - sin(x)",
        "0.5*sin(y - x) - sin(y)",
        _within((0, 2 * math.pi), (0, 2 * math.pi)),
    ),
    _System("glider", "-0.05*x**2 - sin(y)", "x - cos(y)/x", _near(5, 0)),
    _System(
        "lv", "3*x - 2*x*y - x**2", "2*y - x*y - y**2", _at((1, 3), (4, 1), (8, 2), (3, 3)), 0.0
    ),
    _System("predprey", "x*(4 - x - y/(1 + x))", "y*(x/(1 + x) - 0.075*y)", _near(5, 10), 0.0),
    _System(
        "shearflow",
        "cos(x)/tan(y)",
        "(cos(y)**2 + 0.1*sin(y)**2)*sin(x)",
        _within((-math.pi, math.pi), (-math.pi / 2, math.pi / 2)),
    ),
    _System("vdp", "10*(y - (x**3 - x)/3)", "-x/10", _within((0, 1), (0, 1))),
)


def _problems(system: _System) -> list[BenchmarkProblem]:
    points = Trajectories(system.slopes, system.start, low=system.low)
    return [
        BenchmarkProblem(
            name=f"strogatz_{system.name}{number}",
            suite="Strogatz",
            expression=expression,
            operators=OPERATORS,
            variables=("x", "y"),
            train=points,
            test=points,
            budget=BUDGET,
        )
        for number, expression in ((1, system.x), (2, system.y))
    ]


PROBLEMS: tuple[BenchmarkProblem, ...] = tuple(
    each for system in SYSTEMS for each in _problems(system)
)
