"""Intervals of predictions: where a new row is, by the noise of the rows and the errors of numbers.

A formula's value changes with its numbers as its tangent g does, so that its variance is g'Cg with
their covariance C. A new row of weight 1 has the variance of the noise beside it. How g'Cg compares
with what it is on the rows of the fit tells whether a row lies among these, all columns together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.programs import Program
from symseek.uncertainty.record import LEVEL, Certainty
from symseek.uncertainty.slopes import slopes

_STEP = 0.02  # of a standard error, for a derivative where a number is uncertain
_SMALLEST = 1e-5  # of a number, for a step that is not lost in rounding
_ROOM = 1e-9  # of the largest leverage: a row of the fit lies among its rows


def leverages(program: Program, certainty: Certainty, X: Floats) -> Floats:
    """How much of the noise of a row [N] the errors of the numbers make: g'Cg over its variance."""
    free = certainty.free
    if not free or not certainty.variance > 0.0:
        return np.zeros(len(X))
    values = [program.constants[place] for place in free]
    errors = np.sqrt(np.diag(certainty.covariance))
    pairs = zip(errors.tolist(), values, strict=True)
    sizes = [max(_STEP * error, _SMALLEST * (abs(value) or 1.0)) for error, value in pairs]
    with np.errstate(all="ignore"):
        g = slopes(program, X, free, sizes)
        return np.asarray(np.einsum("ij,jk,ik->i", g, certainty.covariance / certainty.variance, g))


def band(
    program: Program, certainty: Certainty, X: Floats, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """The lower and the upper end [N] of the interval of a new row of weight 1.

    >>> law = Program.parse("2.0*x")
    >>> known = Certainty((0,), np.array([[0.01]]), variance=1.0, spare=10**6)
    >>> low, high = band(law, known, np.array([[0.0], [20.0]]))
    >>> low.round(2), high.round(2)
    (array([-1.96, 35.62]), array([ 1.96, 44.38]))
    """
    values = program.evaluate(X)
    with np.errstate(all="ignore"):
        spread = np.sqrt(certainty.variance * (1.0 + leverages(program, certainty, X)))
        half = certainty.quantile(level) * spread
        low, high = values - half, values + half
    known = np.isfinite(values) & np.isfinite(half)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def outside(X: Floats, ranges: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
    """Which values [N, n] are outside the range of their column in the rows of the fit.

    >>> outside(np.array([[1.0, 5.0]]), [(0.0, 2.0), (0.0, 2.0)])
    array([[False,  True]])
    """
    low, high = np.array(ranges).reshape(-1, 2).T
    with np.errstate(invalid="ignore"):
        return np.asarray(np.less(X, low) | np.greater(X, high))


def far(leverage: Floats, largest: float) -> NDArray[np.bool_]:
    """Which rows are further from the rows of the fit than any of those, by their leverages [N].

    >>> far(np.array([0.1, 0.3]), 0.2)
    array([False,  True])
    """
    return np.asarray(~(leverage <= largest * (1.0 + _ROOM)))
