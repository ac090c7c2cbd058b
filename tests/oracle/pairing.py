"""Every pair of values and every way to join them, one after another in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WAYS = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: b - a,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: b / a,
)


def errors(
    values: Array, candidates: Array, target: Array, weights: Array, allowed: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """The squared error [P, 6, Q] of each pair, and what its rounding is relative to [P, 6, Q].

    A pair that is not allowed, or is not finite on some row, has an infinite error.
    """
    shape = len(values), len(WAYS), len(candidates)
    error, scale = np.full(shape, np.inf), np.zeros(shape)
    for p, a in enumerate(values):
        for way, join in enumerate(WAYS):
            for q, b in enumerate(candidates):
                with np.errstate(all="ignore"):
                    joined = join(a, b)
                    squared = np.sum(weights * (joined - target) ** 2)
                if allowed[p, q] and np.isfinite(joined).all():
                    error[p, way, q] = squared
                    terms = np.abs([a, b, joined, target])
                    size = np.where(np.isfinite(terms), terms, 0.0).sum(axis=0)  # 1 / inf is exact
                    with np.errstate(over="ignore"):
                        scale[p, way, q] = np.sum(weights * size**2)
    return error, scale
