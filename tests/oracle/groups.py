"""A formula with numbers of the groups' own, fitted by SciPy: all numbers in one dense problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

Array = NDArray[np.float64]


def dense_fit(
    law: Callable[..., Array],
    rows: tuple[Array, NDArray[np.intp], Array, Array],
    counts: tuple[int, int, int],
) -> tuple[float, Array, Array]:
    """The sum of squares, the shared numbers [K] and the groups' own [J, G].

    Args:
        law: gives values [N] from x [N], shared numbers [K] and own ones row by row [J, N].
        rows: x [N], the group of each row, y and weights.
        counts: K, J and G.
    """
    x, group, y, weights = rows
    shared, own, groups = counts

    def residuals(numbers: Array) -> Array:
        table = numbers[shared:].reshape(own, groups)
        return np.sqrt(weights) * (law(x, numbers[:shared], table[:, group]) - y)

    found = least_squares(residuals, np.ones(shared + own * groups), xtol=1e-15, ftol=1e-15)
    return 2 * found.cost, found.x[:shared], found.x[shared:].reshape(own, groups)


def linear_fit(
    columns: Array, own: Array, group: NDArray[np.intp], y: Array, weights: Array
) -> Array:
    """The values [N] of the best sum of columns [K, N] and of own columns [J, N] group by group."""
    blocks = [np.where(group == each, own, 0.0) for each in np.unique(group)]
    matrix = np.sqrt(weights) * np.vstack([columns, *blocks])
    solution = np.linalg.lstsq(matrix.T, np.sqrt(weights) * y, rcond=None)[0]
    return np.asarray(np.vstack([columns, *blocks]).T @ solution)
