"""SRBench's protocol: which problems, which rows to train and to test on, and how much noise.

A problem's rows depend on its name alone; the seed splits them. Noise is added to the target to
train on, and its size is a part of that target's root mean square. The test target stays clean.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np

from symseek.arguments import refused
from symseek.arrays import Floats
from symseek.errors import InputError
from symseek.lab import problems
from symseek.lab.problems import BenchmarkProblem, Box

#: The noise, over the root mean square of the target.
LEVELS = (0.0, 0.001, 0.01, 0.1)

#: Laws that SRBench leaves out: they have an arcsine or an arccosine.
LEFT_OUT = ("feynman_I_26_2", "feynman_I_30_5", "feynman_test_10")

#: The 130 problems: 116 laws of physics, 14 right-hand sides of differential equations.
NAMES: tuple[str, ...] = tuple(
    each.name for each in problems.select("Feynman", "Strogatz") if each.name not in LEFT_OUT
)

TRAIN = 0.75  # of the rows
ROWS = 13_334  # of a law: three quarters are the 10,000 rows that SRBench trains on at most


@dataclass(frozen=True)
class Split:
    """The rows of a run; the target to train on with and without its noise."""

    X_train: Floats  # [N, n]
    y_train: Floats  # [N]
    y_clean: Floats  # [N]
    X_test: Floats  # [M, n]
    y_test: Floats  # [M]


def split(name: str, seed: int, noise: float = 0.0) -> Split:
    """The rows of a problem as a seed splits them.

    One draw of the noise serves all levels, which differ only in its size.

    >>> rows = split("strogatz_lv1", seed=0, noise=0.01)
    >>> rows.X_train.shape, rows.X_test.shape
    ((300, 2), (100, 2))
    """
    if name not in NAMES:
        raise InputError(f"{name} is not among the problems of SRBench")
    if not 0 <= noise < np.inf:
        raise refused("noise", noise, "0 or more")
    problem = problems.load(name)
    X = _rows(problem)
    y = problem.truth().evaluate(X)
    rng = np.random.RandomState([zlib.adler32(name.encode()), seed % 2**32, seed >> 32])
    order = rng.permutation(len(y))
    train, test = np.split(order, [int(TRAIN * len(y))])
    clean = y[train]
    errors = rng.normal(size=len(clean)) * noise * np.sqrt(np.mean(clean**2))
    return Split(X[train], clean + errors, clean, X[test], y[test])


def _rows(problem: BenchmarkProblem) -> Floats:
    """Every row [N, n] that there is; more of a law's than the plain problem has."""
    points = problem.train
    if isinstance(points, Box):
        points = replace(points, count=ROWS)
    rng = np.random.RandomState(zlib.adler32(problem.name.encode()))
    return points.draw(len(problem.variables), rng)
