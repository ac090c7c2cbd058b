"""Formulas on rows that their numbers were not fitted to.

The rows are cut into at most ten folds. For each fold, the numbers of a formula are fitted again on
the others, and the fold is predicted. Where rows follow each other, in time or along a column, the
neighbours of a row tell what it is, so that folds are blocks of consecutive rows; elsewhere rows
are shuffled. Nothing here draws from a generator that a search uses, and the same rows give the
same folds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from symseek.algebra.simplify import structural_exponents
from symseek.arrays import Floats
from symseek.constants import FitConfig
from symseek.data import Data
from symseek.engines.interface import Engine
from symseek.evaluation import fit_constants
from symseek.programs import Program, Programs
from symseek.rewards import ErrorReward, reward_named
from symseek.selection.noise import standard_ranks

Folds = NDArray[np.intp]

FOLDS = 10  # at most
_ALIKE = 3.0  # standard errors of noise, by which neighbouring rows are alike in rows that follow
_NEXT_TO_NOTHING = 10.0  # times smaller, the squared errors of held-out rows
_REFIT = FitConfig("least_squares", restarts=0, max_steps=50, rescue=False)


def rows_follow_each_other(data: Data, residuals: Floats) -> bool:
    """Whether residuals [N] of neighbours in the table are more alike than those of noise.

    Ranks are compared.

    >>> data = Data(np.zeros((40, 1)), np.arange(40.0), np.ones(40))
    >>> rows_follow_each_other(data, np.sin(data.y / 5))
    True
    >>> rows_follow_each_other(data, np.random.default_rng(0).normal(size=40))
    False
    """
    ranks = standard_ranks(residuals[np.argsort(_place(data), kind="stable")])
    return bool(np.mean(ranks[1:] * ranks[:-1]) * math.sqrt(len(ranks)) > _ALIKE)


def _place(data: Data) -> Folds:
    """Where the rows stood in the table."""
    return np.arange(len(data.y)) if data.place is None else data.place


def blocks(values: Floats) -> Folds:
    """The fold of each row when folds are blocks along some values, equal values in one block.

    >>> blocks(np.array([3.0, 1.0, 1.0, 2.0])).tolist()
    [2, 0, 0, 1]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) // 2
    fold = np.minimum(middle * min(FOLDS, len(counts)) // len(values), FOLDS - 1)
    return np.asarray(np.unique(fold, return_inverse=True)[1][place.ravel()])


def folds(data: Data, residuals: Floats, groups: Floats | None = None) -> Folds:
    """The fold of each row: blocks where residuals [N] follow each other, shuffled elsewhere.

    With `groups` [N], each fold has its part of the rows of every group.

    >>> data = Data(np.zeros((20, 1)), np.arange(20.0), np.ones(20))
    >>> group = np.repeat([0.0, 1.0], 10)
    >>> fold = folds(data, np.random.default_rng(0).normal(size=20), group)
    >>> sorted(fold[:10].tolist()) == sorted(fold[10:].tolist()) == list(range(10))
    True
    """
    count = len(data.y)
    follow = rows_follow_each_other(data, residuals)
    if groups is not None:
        return _folds_of_each(data, groups, follow)
    if follow:
        return blocks(_place(data).astype(np.float64))
    shuffled = np.random.default_rng(count).permutation(count)
    return np.asarray(shuffled % min(FOLDS, count))


def _folds_of_each(data: Data, groups: Floats, follow: bool) -> Folds:
    """The fold of each row, the rows of each group spread over all of them."""
    count, found = len(groups), np.empty(len(groups), dtype=np.intp)
    place = _place(data) if follow else np.random.default_rng(count).permutation(count)
    for at, group in enumerate(np.unique(groups).tolist()):
        rows = np.flatnonzero(groups == group)
        if follow:
            found[rows] = blocks(place[rows].astype(np.float64))
        else:
            rank = np.argsort(np.argsort(place[rows], kind="stable"), kind="stable")
            found[rows] = (rank + at) % min(FOLDS, count)  # small groups begin at different ones
    return np.asarray(np.unique(found, return_inverse=True)[1].ravel())


def held_out_losses(
    programs: Sequence[Program],
    data: Data,
    fold: Folds,
    reward: ErrorReward,
    threads: int = 1,
    engine: str | Engine = "native",
) -> Floats:
    """What each row counts [programs, N], predicted by a fit to the other folds.

    A row on which a fit is undefined has an infinite error.

    >>> from symseek.model import full_library
    >>> from symseek.rewards import reward_named
    >>> line = Program.parse("1.0*x", full_library(["x"]))
    >>> data = Data(np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 2.0, 8.0]), np.ones(3))
    >>> losses = held_out_losses([line], data, np.array([0, 1, 1]), reward_named("inverse_mse"))
    >>> losses.round(6).tolist()
    [[0.64, 0.0, 16.0]]
    """
    batch = Programs.from_list(programs)
    fixed = structural_exponents(batch)
    # Without the spread of the target, which some folds may lack.
    fitted_by = reward if not reward.is_squared else reward_named("inverse_mse")
    values = np.full((len(programs), len(data.y)), np.inf)
    for number in range(int(fold.max()) + 1):
        out = fold == number
        rest = data.rows(np.flatnonzero(~out))
        fitted = fit_constants(
            batch,
            rest.X,
            rest.y,
            _REFIT,
            fixed=fixed,
            reward=fitted_by,
            weights=rest.weights,
            sigma=rest.sigma,
            threads=threads,
            engine=engine,
        )
        for row, program in enumerate(fitted.programs):
            with np.errstate(all="ignore"):
                values[row, out] = program.evaluate(data.X[out])
    with np.errstate(all="ignore"):
        losses = reward.row_losses(values, data)
    return np.where(np.isfinite(losses), losses, np.inf)


def pays(losses: Floats, others: Floats, groups: NDArray[np.intp], wanted: float) -> bool:
    """Whether others are smaller by so many standard errors, or next to nothing.

    However small they are, a few rows give few standard errors.
    """
    return next_to_nothing(losses, others) or squared_gain(losses, others, groups) > wanted


def next_to_nothing(losses: Floats, others: Floats) -> bool:
    """Whether others are much smaller, in sum and in the middle: one row alone decides neither."""
    pairs = (losses.sum(), others.sum()), (np.median(losses), np.median(others))
    return all(other * _NEXT_TO_NOTHING < loss for loss, other in pairs)


def squared_gain(losses: Floats, others: Floats, groups: NDArray[np.intp]) -> float:
    """The mean of the differences of losses [N] over its standard error; rows of a group as one.

    >>> squared_gain(np.array([2.0, 3.0, 4.0]), np.ones(3), np.arange(3)).__round__(3)
    3.464
    """
    return _over_its_error(np.bincount(groups, losses - others).astype(np.float64))


def logarithmic_gain(losses: Floats, others: Floats, fold: NDArray[np.intp]) -> float:
    """The same of the logarithms of the folds' losses, which one bad fold does not decide."""
    pair = [np.log(np.bincount(fold, each)) for each in (losses, others)]
    return _over_its_error(pair[0] - pair[1])


def _over_its_error(differences: Floats) -> float:
    largest = float(np.abs(differences).max(initial=0.0))
    if 0 < largest < math.inf:  # whose squares may overflow
        differences = np.ldexp(differences, -math.frexp(largest)[1])
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    mean = float(differences.mean())
    return mean / error if error > 0 else math.copysign(math.inf, mean) if mean else 0.0
