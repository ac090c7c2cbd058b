"""Runs of signs by counting every order, and poles by looking very closely."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from symseek.arrays import Floats
from symseek.programs import Program


def runs_chance(residuals: Floats) -> float:
    """The share of all orders of these signs that have as few runs, or fewer."""
    signs = [each > 0 for each in residuals if each != 0]
    if len(set(signs)) < 2:
        return 1.0

    def runs(order: list[bool]) -> int:
        return 1 + sum(a != b for a, b in pairwise(order))

    places = range(len(signs))
    orders = [
        [at in above for at in places] for above in map(set, combinations(places, sum(signs)))
    ]
    return sum(runs(order) <= runs(signs) for order in orders) / len(orders)


def has_gap(program: Program, x: Floats, points: int = 40_001) -> bool:
    """Whether a formula of one variable is undefined or huge between its smallest and largest."""
    with np.errstate(all="ignore"):
        values = program.evaluate(np.linspace(x.min(), x.max(), points)[:, None])
        usual = np.abs(program.evaluate(x[:, None])).max()
    return bool(not np.isfinite(values).all() or np.abs(values).max() > 100 * usual)
