"""Errors of numbers by the bootstrap: the rows are drawn anew, and the formula is fitted again.

It takes nothing for granted of the noise, which may be larger in some rows than in others, and it
follows a formula that bends. It takes a fit for each draw, so it is done where it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symseek.constants import FitConfig
from symseek.data import Data
from symseek.evaluation import fit_constants
from symseek.programs import Program, Programs
from symseek.uncertainty.numbers import fitted
from symseek.uncertainty.record import LEVEL, Constant

_FIT = FitConfig("least_squares", restarts=0, rescue=False)
_FEWEST = 0.5  # part of the draws that a fit must come of, for anything to be said


def bootstrapped(
    program: Program,
    data: Data,
    resamples: int = 500,
    level: float = LEVEL,
    seed: int = 0,
    threads: int = 1,
) -> tuple[Constant, ...]:
    """The constants of a program with errors and intervals from rows that are drawn anew.

    An interval holds the middle part, `level`, of the values that a number has had. Numbers that
    are neat stay as they are.

    >>> draw = np.random.default_rng(0)
    >>> x = draw.uniform(size=200)
    >>> data = Data(x[:, None], 3.0 * x + 0.1 * draw.normal(size=200), np.ones(200))
    >>> program = Program.parse(f"{float(x @ data.y / (x @ x))}*x")
    >>> round(bootstrapped(program, data)[0].standard_error, 3)
    0.012
    """
    free = fitted(program)
    if not free or program.own_used:
        return tuple(map(Constant, program.constants))
    values = np.array(list(_draws(program, data, free, resamples, seed, threads)))
    constants = [Constant(value) for value in program.constants]
    if len(values) < max(_FEWEST * resamples, 2):
        return tuple(constants)
    ends = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    for at, place in enumerate(free):
        error, (low, high) = float(values[:, at].std(ddof=1)), ends[:, at].tolist()
        constants[place] = Constant(program.constants[place], error, low=low, high=high)
    return tuple(constants)


def _draws(
    program: Program, data: Data, free: Sequence[int], resamples: int, seed: int, threads: int
) -> list[list[float]]:
    """The numbers that were fitted to each draw, of those where a fit came to something."""
    batch, rows = Programs.from_list([program]), len(data.y)
    fixed = np.array([[place not in free for place in range(len(program.constants))]])
    random = np.random.default_rng([seed, 4])
    found = []
    for _ in range(resamples):
        times = np.bincount(random.integers(rows, size=rows), minlength=rows)
        drawn = np.flatnonzero(times)
        weights = data.weights[drawn] * times[drawn]
        given = data.X[drawn], data.y[drawn], _FIT
        graded = fit_constants(batch, *given, fixed=fixed, weights=weights, threads=threads)
        constants = graded.programs[0].constants
        if graded.ok[0] and np.isfinite(constants).all():
            found.append([constants[place] for place in free])
    return found
