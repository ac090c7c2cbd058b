"""Student's and the beta distribution, without SciPy, which takes longer to import than a fit."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_TERMS = 500  # of a continued fraction, at most
_LIKE_NORMAL = 100_000  # spare rows from which Student's distribution is a corrected normal one
_HALVINGS = 200


def beta_below(a: float, b: float, x: float) -> float:
    """The chance that a variable with a beta distribution is below x, by a continued fraction.

    >>> beta_below(2.0, 2.0, 0.5)
    0.5
    """
    if x <= 0.0:
        return 0.0
    if x > (a + 1) / (a + b + 2):  # where the fraction of the other side converges faster
        return 1.0 - beta_below(b, a, 1.0 - x) if x < 1.0 else 1.0
    front = a * math.log(x) + b * math.log1p(-x) - math.log(a)
    front += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    value, last, inverse = 1.0, 1.0, 0.0
    for step in range(2 * _TERMS):  # by Lentz's method
        m, odd = divmod(step, 2)
        if step == 0:
            term = 1.0
        elif odd:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        inverse = 1.0 / _not_zero(1.0 + term * inverse)
        last = _not_zero(1.0 + term / last)
        value *= last * inverse
        if step and abs(last * inverse - 1.0) < 1e-15:
            break
    return math.exp(front) * (value - 1.0)


def _not_zero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300


@lru_cache(maxsize=256)
def student(level: float, spare: int) -> float:
    """How many standard errors hold the true value at this level, with so many spare rows.

    >>> round(student(0.95, 10), 3), round(student(0.95, 10**9), 3)
    (2.228, 1.96)
    """
    normal = NormalDist().inv_cdf(0.5 + level / 2)
    if spare > _LIKE_NORMAL:
        return normal + (normal**3 + normal) / (4 * spare)
    low, high = 0.0, 1.0  # of x = t**2/(spare + t**2), which has a beta distribution
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        below = beta_below(0.5, spare / 2, middle) < level
        low, high = (middle, high) if below else (low, middle)
    x = 0.5 * (low + high)
    return math.sqrt(spare * x / (1.0 - x)) if x < 1.0 else math.inf
