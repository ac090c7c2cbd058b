"""A surrogate written plainly: monomials, least squares for every form and degree, slopes by small
steps of the fitted function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats


@dataclass
class Fitted:
    """The best form and degree."""

    error: float  # on the rows left out, the largest 2% trimmed
    function: Callable[[Floats], Floats]  # of rows [N, n]

    def slopes(self, X: Floats) -> Floats:
        """Along each column, by a small step to either side."""
        result = np.empty_like(X)
        for at in range(X.shape[1]):
            step = 1e-5 * np.ptp(X[:, at])
            moves = np.zeros(X.shape[1])
            moves[at] = step
            result[:, at] = (self.function(X + moves) - self.function(X - moves)) / (2 * step)
        return result


def fitted(X: Floats, y: Floats, weights: Floats, out: NDArray[np.bool_], highest: int) -> Fitted:
    """The form (columns or their logarithms, y or its logarithm) and degree that predict best."""
    best = Fitted(math.inf, lambda rows: np.full(len(rows), np.nan))
    for logs, log in product((False, True), (False, True)):
        if (logs and not (X > 0).all()) or (log and not (y * np.sign(y[0]) > 0).all()):
            continue
        for degree in range(highest + 1):
            function = polynomial(X[~out], y[~out], weights[~out], logs, log, degree)
            squares = sorted(weights[out] * (function(X[out]) - y[out]) ** 2)
            kept = squares[: max(1, round(0.98 * len(squares)))]
            error = math.sqrt(sum(kept) / len(kept))
            if error < best.error:
                best = Fitted(error, function)
    return best


def polynomial(
    X: Floats, y: Floats, weights: Floats, logs: bool, log: bool, degree: int
) -> Callable[[Floats], Floats]:
    """The least squares polynomial of this total degree."""
    sign = float(np.sign(y[0]))
    inputs = np.log(X) if logs else X
    middle, size = inputs.mean(axis=0), inputs.std(axis=0)
    powers = [each for each in product(range(degree + 1), repeat=X.shape[1]) if sum(each) <= degree]

    def table(rows: Floats) -> Floats:
        places = ((np.log(rows) if logs else rows) - middle) / size
        return np.array([[math.prod(place**power) for power in powers] for place in places])

    target = np.log(sign * y) if log else y
    counted = np.sqrt(weights) * (y if log else np.ones(len(y)))
    numbers = np.linalg.lstsq(table(X) * counted[:, None], target * counted, rcond=None)[0]

    def function(rows: Floats) -> Floats:
        values = table(rows) @ numbers
        return np.asarray(sign * np.exp(values) if log else values)

    return function
