"""Tests of what formulas leave: signs, runs of signs, and the F test between two formulas.

Each gives a chance (a p-value): how often noise alone would look like this, or more so.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.uncertainty.distributions import beta_below

_MOST = 2_000  # rows that are looked at
_MOST_TERMS = 10_000  # of a sum or a continued fraction


def sign_test(residuals: Floats) -> float:
    """The chance that so many of the residuals, or more, have one sign; either sign counts.

    A formula whose level was fitted leaves about as many above as below.

    >>> sign_test(np.ones(9))
    0.00390625
    """
    above, below = int((residuals > 0).sum()), int((residuals < 0).sum())
    count, fewer = above + below, min(above, below)
    tail = math.fsum(
        math.exp(_log_choose(count, k) - count * math.log(2)) for k in range(fewer + 1)
    )
    return min(1.0, 2 * tail)


def runs_test(residuals: Floats) -> float:
    """The chance of so few runs of one sign, or fewer, in any order of as many signs
    (Wald and Wolfowitz, exact).

    >>> round(runs_test(np.array([1, 1, 1, 1, -1, -1, -1, -1.0])), 4)
    0.0286
    """
    above = residuals[residuals != 0] > 0
    most, fewest = int(above.sum()), int((~above).sum())
    if not (most and fewest):
        return 1.0
    runs = 1 + int((above[1:] != above[:-1]).sum())
    every = _log_choose(most + fewest, most)
    chance = 0.0
    for count in range(2, runs + 1):
        pairs, odd = divmod(count, 2)
        ways = (
            [(pairs, pairs), (pairs, pairs)]
            if not odd
            else [(pairs + 1, pairs), (pairs, pairs + 1)]
        )
        chance += sum(
            math.exp(_log_choose(most - 1, a - 1) + _log_choose(fewest - 1, b - 1) - every)
            for a, b in ways
        )
    return min(1.0, chance)


def worst_signs(residuals: Floats, X: Floats, place: NDArray[np.intp] | None = None) -> float:
    """The smallest chance of the sign test, and of runs along each input and in the order of rows;
    times the number of tests, since any of them may raise the alarm.

    >>> x = np.arange(12.0)
    >>> worst_signs(x - 5.5, x[:, None]) < 0.01
    True
    """
    if not np.isfinite(residuals).all():
        return 0.0
    every = slice(None, None, -(-len(residuals) // _MOST))
    residuals, X = residuals[every], X[every]
    place = np.arange(len(residuals)) if place is None else place[every]
    orders = [column for column in X.T if column.min() < column.max()]
    if not any(_same_order(place, column) for column in orders):
        orders.append(place)
    chances = [runs_test(residuals[np.argsort(each, kind="stable")]) for each in orders]
    return min(1.0, (1 + len(chances)) * min(sign_test(residuals), *chances))


def f_test(shorter: float, longer: float, numbers: tuple[int, int], rows: int) -> float:
    """The chance that more numbers make a sum of squares so much smaller, when they mean nothing.

    `shorter` and `longer` are the sums of squares of two formulas, `numbers` what was fitted in
    each.

    >>> round(f_test(10.0, 5.0, (1, 2), 12), 4)
    0.0101
    """
    more, spare = numbers[1] - numbers[0], rows - numbers[1]
    if more <= 0 or spare <= 0 or not longer < shorter:
        return 1.0
    # What is left is a part of the whole that has a beta distribution.
    return beta_below(spare / 2, more / 2, longer / shorter)


def chi_squared_test(value: float, spare: int) -> float:
    """The chance of so large a sum of squares of so many normal variables, or a larger one.

    >>> round(chi_squared_test(18.307, 10), 4)
    0.05
    """
    a, x = spare / 2, value / 2
    if spare <= 0 or not x > 0:
        return 1.0 if not x > 0 else 0.0
    if x == math.inf:
        return 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:  # the series of the chance of less
        term = total = 1 / a
        for step in range(1, _MOST_TERMS):
            term *= x / (a + step)
            total += term
            if term < 1e-16 * total:
                break
        return 1.0 - front * total
    found = inverse = 1 / (x + 1 - a)  # a continued fraction, by Lentz's method
    last = 1e300
    for step in range(1, _MOST_TERMS):
        term, both = -step * (step - a), x + 2 * step + 1 - a
        inverse = 1 / _not_zero(term * inverse + both)
        last = _not_zero(both + term / last)
        found *= last * inverse
        if abs(last * inverse - 1.0) < 1e-15:
            break
    return front * found


def _not_zero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300


def _same_order(one: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    order = np.argsort(one, kind="stable")
    steps = np.diff(np.asarray(other, dtype=np.float64)[order])
    return bool((steps >= 0).all() or (steps <= 0).all())


def _log_choose(count: int, chosen: int) -> float:
    if not 0 <= chosen <= count:
        return -math.inf
    return math.lgamma(count + 1) - math.lgamma(chosen + 1) - math.lgamma(count - chosen + 1)
