"""Which formula of a front to use: three rules, each a function of errors and sizes.

- accuracy: the smallest error on the training rows. Right when the data have no noise.
- mdl: the shortest description of the data, the formula and what it leaves unexplained together
  (Rissanen's minimum description length). A formula of t tokens from a library of L costs
  1.2 log(L) t**0.7: the same function can be written in many ways, and long formulas repeat
  themselves, so that a token tells less than log(L), the further on the less. The N residuals cost
  N/2 log(MSE): more tokens must pay for themselves. Each fitted constant needs as many digits as
  the residuals are small, log(N)/2 - log(MSE)/2: k constants fit k rows, and explain nothing by
  that. benchmarks/picking.py compares it with other rules.
- validation: the simplest formula whose error on the validation rows is within one standard error
  of the smallest there.

The rows of a front come simplest first. An error is a part of that of the best number, and no
smaller than the digits of the data explain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError, Setting, unknown_name

RULES = ("auto", "accuracy", "mdl", "validation")
"""The names; "auto" is validation where there are validation rows, and elsewhere mdl with the
tests of pick.py."""
FORMER_NAMES = {"elbow": "mdl"}

_PRICE, _POWER = 1.2, 0.7  # of tokens
_SMALL, _LARGE = 1e-300, 1e300  # instead of 0 and infinity, which times 0 are not numbers


def known_rule(rule: str, validated: bool = True) -> str:
    """The present name of a rule; one that is unknown, or lacks validation rows, is refused.

    >>> known_rule("elbow")
    'mdl'
    """
    rule = FORMER_NAMES.get(rule, rule)
    if rule not in RULES:
        raise unknown_name("pick rule", rule, RULES, Setting("pick"))
    if rule == "validation" and not validated:
        raise InputError(
            "the pick rule 'validation' needs validation rows; set ",
            Setting("validation"),
            ", such as 0.2",
            field=Setting("pick"),
            value=rule,
        )
    return rule


def accuracy(errors: Sequence[float]) -> int:
    """The row with the smallest error; of equal ones, the simplest.

    >>> accuracy([0.5, 1e-13, 1e-13])
    1
    """
    return int(np.argmin(errors))


def descriptions(
    errors: Sequence[float],
    lengths: Sequence[int],
    constants: Sequence[int],
    rows: int,
    tokens: int,
    misfit: Callable[[float, int], float] | None = None,
) -> list[float]:
    """The lengths of the descriptions in nats, up to a number that is the same for all.

    `misfit` says what rows cost with an error and so many numbers, if not as in normal noise.
    """

    def usual(error: float, count: int) -> float:
        return max(rows - count, 0) * math.log(min(max(error, _SMALL), _LARGE))

    return [
        (misfit or usual)(error, count)
        + _PRICE * math.log(tokens) * length**_POWER
        + count * 0.5 * math.log(rows)
        for error, length, count in zip(errors, lengths, constants, strict=True)
    ]


def validation(losses: NDArray[np.float64], rounding: float) -> int:
    """The simplest row within one standard error of the best; squared or absolute errors
    [front rows, N], of which those below `rounding` are alike.

    >>> validation(np.array([[4.0, 5.0, 6.0], [1.0, 1.1, 0.9], [1.0, 1.0, 0.9]]), 1e-20)
    1
    """
    losses = np.maximum(losses, rounding)
    means = np.where(np.isfinite(losses).all(axis=1), losses.mean(axis=1), np.inf)
    best = int(np.argmin(means))
    for row in range(best):
        if np.isfinite(means[row]):
            worse = losses[row] - losses[best]
            if worse.mean() <= worse.std(ddof=1) / math.sqrt(len(worse)):
                return row
    return best
