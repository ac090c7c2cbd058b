"""Which formula of a front to use: three rules, each a function of errors and sizes.

- accuracy: the smallest error on the training rows. Right when the data have no noise.
- elbow: the shortest description of the data, the formula and what it leaves unexplained together
  (Rissanen's minimum description length). A formula of t tokens from a library of L costs t log(L),
  and the N residuals N/2 log(MSE): more tokens must pay for themselves. Each fitted constant needs
  as many digits as the residuals are small, log(N)/2 - log(MSE)/2: k constants fit k rows, and
  explain nothing by that.
- validation: the simplest formula whose error on the validation rows is within one standard error
  of the smallest there.

The rows of a front come simplest first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError, unknown_name

__all__ = ["RULES", "accuracy", "check_rule", "elbow", "validation"]

RULES = ("auto", "accuracy", "elbow", "validation")
"""The names; "auto" is validation where there are validation rows, and elbow elsewhere."""

# Errors below this part of the spread of y are rounding, in the arithmetic or in the data.
EXACT = 1e-9
_LARGE = 1e300  # instead of infinity, which times 0 is not a number


def check_rule(rule: str, validated: bool = True) -> None:
    """Refuse an unknown rule, and one that needs validation rows where there are none."""
    if rule not in RULES:
        raise unknown_name("pick rule", rule, RULES)
    if rule == "validation" and not validated:
        raise InputError(
            "the pick rule 'validation' needs validation rows; set `validation`, such as 0.2"
        )


def accuracy(nrmse: Sequence[float]) -> int:
    """The row with the smallest error; of exact ones, the simplest.

    >>> accuracy([0.5, 1e-13, 1e-14])
    1
    """
    errors = np.maximum(nrmse, EXACT)
    return int(np.argmin(errors))


def elbow(
    nrmse: Sequence[float],
    lengths: Sequence[int],
    constants: Sequence[int],
    rows: int,
    tokens: int,
) -> int:
    """The row with the shortest description; errors are NRMSE, `tokens` the size of the library.

    >>> elbow([0.9, 0.011, 0.0109], lengths=[1, 5, 25], constants=[0, 1, 6], rows=200, tokens=12)
    1
    """
    costs = [
        max(rows - count, 0) * math.log(min(max(error, EXACT), _LARGE))
        + length * math.log(tokens)
        + count * 0.5 * math.log(rows)
        for error, length, count in zip(nrmse, lengths, constants, strict=True)
    ]
    return int(np.argmin(costs))


def validation(squared: NDArray[np.float64], spread: float) -> int:
    """The simplest row within one standard error of the best; squared errors [front rows, N].

    >>> validation(np.array([[4.0, 5.0, 6.0], [1.0, 1.1, 0.9], [1.0, 1.0, 0.9]]), spread=1.0)
    1
    """
    squared = np.maximum(squared, (EXACT * spread) ** 2)
    means = np.where(np.isfinite(squared).all(axis=1), squared.mean(axis=1), np.inf)
    best = int(np.argmin(means))
    for row in range(best):
        if np.isfinite(means[row]):
            worse = squared[row] - squared[best]
            if worse.mean() <= worse.std(ddof=1) / math.sqrt(len(worse)):
                return row
    return best
