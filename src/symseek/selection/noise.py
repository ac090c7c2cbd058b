"""Is what a formula leaves noise? Tests of residuals against the inputs.

Three kinds of pattern are looked for: neighbouring rows with residuals alike, slow waves along an
input or along two together, and residuals that lie on one side of zero.
"""

from __future__ import annotations

import math
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats

_UNLIKELY = 0.01  # a chance, for noise to be taken for something else
_FEWEST = 8  # rows, with fewer of which nothing can be said of residuals
_MOST = 10_000  # rows that are looked at, where some tell as much as all
_MOST_NEIGHBOURS = 2_000  # rows whose neighbours are looked for
_WAVES = 6  # half periods along an input that are looked for
_PAIRED = 2  # those of them in products of two
_MOST_PAIRED = 50  # inputs, with more of which products are too many


class Inputs:
    """The inputs of some rows [N, n], and what tests of many formulas on them share."""

    def __init__(self, X: Floats) -> None:
        # Rows with equal inputs have no order of their own: the table's may go by the target.
        self.some = np.random.default_rng(0).permutation(len(X))[:_MOST]  # rows looked at
        X = X[self.some]
        self._columns = [column for column in X.T if column.min() < column.max()]

    @cached_property
    def waves(self) -> list[Floats]:
        """Slow waves along every input that varies [rows, inputs], for each number of half periods.

        Rounded, so that a wave which vanishes at all places of a column does vanish.
        """
        places = np.pi * np.column_stack([_places(column) for column in self._columns])
        return [np.cos(order * places).round(12) for order in range(1, _WAVES + 1)]

    @cached_property
    def orders(self) -> list[NDArray[np.intp]]:
        """The rows in the order of each input that varies."""
        return [np.argsort(each[:_MOST_NEIGHBOURS], kind="stable") for each in self._columns]

    @cached_property
    def nearest(self) -> NDArray[np.intp]:
        """The row nearest to each row in all inputs, which count by the ranks of their values."""
        rows = min(len(self.some), _MOST_NEIGHBOURS)
        away = np.zeros((rows, rows), dtype=np.int16)  # enough for the ranks of so few rows
        for order in self.orders:
            places = np.argsort(order, kind="stable").astype(np.int16)
            np.maximum(away, np.abs(places[:, None] - places), out=away)
        np.fill_diagonal(away, 2 * rows)
        return np.asarray(away.argmin(axis=1))


def looks_random(
    residuals: Floats,
    X: Floats | Inputs,
    chance: float = _UNLIKELY,
    weights: Floats | None = None,
) -> bool:
    """Whether residuals cannot be distinguished from noise: no pattern of the inputs is in them.

    Noise is taken for a pattern with at most this `chance`, in all comparisons together. With fewer
    than 8 rows nothing can be said, and the answer is True. To ask about many formulas on the same
    rows, make their `Inputs` once and give those instead of X.

    >>> x = np.linspace(0, 10, 50)
    >>> looks_random(np.sin(x), x[:, None])
    False
    >>> looks_random(np.random.default_rng(0).normal(size=50), x[:, None])
    True
    """
    if not np.isfinite(residuals).all():
        return False
    largest = float(np.abs(residuals).max(initial=0.0))
    if len(residuals) < _FEWEST or not largest:
        return True
    inputs = X if isinstance(X, Inputs) else Inputs(X)
    residuals = residuals[inputs.some] / largest  # so that squares neither overflow nor vanish
    if not residuals.any():
        return True
    weights = np.ones_like(residuals) if weights is None else weights[inputs.some]
    # Each kind gets its part of the chance of a false alarm, and each comparison its part of it.
    return not (
        _off_zero(residuals, weights, 0.1 * chance)
        or _in_waves(residuals, inputs, weights, 0.4 * chance)
        or _like_neighbours(residuals, inputs, 0.5 * chance)
    )


def _off_zero(residuals: Floats, weights: Floats, chance: float) -> bool:
    """Whether both their mean and their signs lie to one side.

    Either alone may do so with skewed noise, whose mean is not its median.
    """
    limit = NormalDist().inv_cdf(1 - chance / 2)
    parts = (weights * residuals, weights * np.sign(residuals))
    return all(abs(_normalised(each)) > limit for each in parts)


def _normalised(parts: Floats) -> float:
    """A sum over the root of its squares: nearly normal where the signs are random."""
    return float(parts.sum() / math.sqrt(parts @ parts)) if parts.any() else 0.0


def _in_waves(residuals: Floats, inputs: Inputs, weights: Floats, chance: float) -> bool:
    """Whether a slow wave along one input, or a product of two along two, is in the residuals.

    A formula that comes near the law and is not the law errs smoothly, with a few changes of sign,
    and that shows long before neighbours are alike.
    """
    found = _waves(residuals, inputs, weights)
    if not found.size:
        return False
    return float(found.max()) > NormalDist().inv_cdf(1 - chance / (2 * found.size))


def _waves(residuals: Floats, inputs: Inputs, weights: Floats) -> Floats:
    """How strongly each wave is in the residuals: near 1 where those are noise.

    Each is a sum over the root of its squares, so that neither outliers nor noise that grows with
    an input make it large.
    """
    count = len(inputs.orders)
    if not count:
        return np.zeros(0)
    centred = weights * (residuals - np.average(residuals, weights=weights))
    waves = inputs.waves
    # One after another: all of them together would be many copies of a wide table.
    found = np.concatenate([np.abs(centred @ each) / _root(centred**2 @ each**2) for each in waves])
    if not 1 < count <= _MOST_PAIRED:
        return np.asarray(found)
    slow = np.hstack(waves[:_PAIRED])
    sums = slow.T @ (centred[:, None] * slow)
    scales = _root((slow**2).T @ ((centred**2)[:, None] * slow**2))
    along = np.tile(np.arange(count), _PAIRED)  # which input
    pairs = along[:, None] < along
    return np.concatenate([found, (np.abs(sums) / scales)[pairs]])


def _root(squares: Floats) -> Floats:
    """Their roots; 1 for 0, where there is nothing to divide."""
    return np.asarray(np.sqrt(np.where(squares > 0, squares, 1.0)))


def _places(column: Floats) -> Floats:
    """Where each value stands among all, from 0 to 1; equal ones stand at the middle of theirs."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - 0.5 * counts
    return np.asarray(middles[place.ravel()] / len(column))


def standard_ranks(values: Floats) -> Floats:
    """The ranks of values [N] with mean 0 and spread 1: outliers count no more than others."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)
    return np.asarray((ranks - ranks.mean()) / ranks.std())


def _like_neighbours(residuals: Floats, inputs: Inputs, chance: float) -> bool:
    """Whether residuals of neighbouring rows are more alike than those of noise.

    Rows are neighbours along each input, and in all inputs together. Ranks are compared.
    """
    residuals, orders = residuals[:_MOST_NEIGHBOURS], inputs.orders
    ranks = standard_ranks(residuals)
    # Of ranks in a random order the sums are -1 in the mean: each differs from all others.
    rows = len(ranks)
    alike = [(ranks[one[1:]] @ ranks[one[:-1]] + 1) / math.sqrt(rows - 1) for one in orders]
    if len(orders) > 1:
        # Two rows that are each other's nearest count twice.
        alike.append((ranks @ ranks[inputs.nearest] + 1) / math.sqrt(1.6 * rows))
    limit = NormalDist().inv_cdf(1 - chance / max(len(alike), 1))
    return any(value >= limit for value in alike)
