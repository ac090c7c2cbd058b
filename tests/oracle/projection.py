"""Sums of features written plainly: every subset tried by least squares on its own."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from symseek.arrays import Floats


def residual(table: Floats, target: Floats, terms: tuple[int, ...]) -> float:
    """What least squares on some columns leaves of a target, as a part of it."""
    chosen = table[:, list(terms)]
    scale = np.linalg.norm(chosen, axis=0)
    numbers = np.linalg.lstsq(chosen / scale, target, rcond=None)[0]
    left = target - chosen / scale @ numbers
    return float(np.linalg.norm(left) / np.linalg.norm(target))


def best_subset(table: Floats, target: Floats, size: int) -> tuple[float, tuple[int, ...]]:
    """The columns, so many, that leave least."""
    every = combinations(range(table.shape[1]), size)
    return min((residual(table, target, terms), terms) for terms in every)


def fewest_terms(table: Floats, target: Floats, exact: float) -> int | None:
    """How many columns it takes to leave no more than so much; None if all do not."""
    for size in range(1, table.shape[1] + 1):
        if best_subset(table, target, size)[0] < exact:
            return size
    return None
