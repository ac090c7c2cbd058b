"""A smooth surrogate of the target: a polynomial of the columns, by least squares.

It averages noise out, has slopes, and says how well the columns explain the target at all. Columns
and target are taken as they are or, where all are positive, by their logarithms, whichever predicts
rows that were left out better. The polynomials are Chebyshev's, in which high degrees stay well
conditioned. Letters: N rows, n columns, M terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.structure.solving import factored, solved

_LEFT_OUT = 3  # a third of the rows is predicted, not fitted
_MOST_TERMS = 450
_ROWS_A_TERM = 2.5  # rows to fit on for each term, at least
_HIGHEST = {1: 30, 2: 20}  # degree, by columns
_SKETCH = 120  # terms by which the form is chosen
_DEPENDENT = 1e-10  # the part of a term that no others make up, if it is more than rounding
_TRIMMED = 0.02  # of the rows, those with the largest errors, which poles make


@dataclass(frozen=True)
class Surrogate:
    """A fitted polynomial."""

    error: float  # root mean square on the rows left out, the largest trimmed, in units of y
    squares: Floats  # [N / 3] their squared errors, times their weights
    values: Floats  # [N] on all rows
    slopes: Floats  # [N, n] of y along each column

    @property
    def usable(self) -> bool:
        """Whether its error, its values and its slopes are numbers."""
        finite = np.isfinite(self.values).all() and np.isfinite(self.slopes).all()
        return bool(np.isfinite(self.error) and finite)

    @classmethod
    def fitted(
        cls, X: Floats, y: Floats, weights: Floats, most: int = _MOST_TERMS
    ) -> Surrogate | None:
        """The best of the forms and degrees; None where there are too few rows.

        >>> x = np.linspace(1, 2, 300)
        >>> found = Surrogate.fitted(x[:, None], x**2, np.ones(300))
        >>> found.error < 1e-12, np.allclose(found.slopes[:, 0], 2 * x)
        (True, True)
        """
        with np.errstate(all="ignore"):  # what overflows shows in its values
            best = _best(X, y, weights, most)
            made = None if best is None else best.surrogate()
            return made if made is not None and made.usable else None


def _best(X: Floats, y: Floats, weights: Floats, most: int) -> _Trial | None:
    """The best form by a sketch, with more terms if it wants them."""
    forms = [(logs, log) for logs in _choices(X) for log in _choices(y[:, None] * np.sign(y[0]))]
    made = [_Trial.made(X, y, weights, *form, min(most, _SKETCH)) for form in forms]
    trials = [trial for trial in made if trial is not None]
    if not trials:
        return None
    best = min(trials, key=lambda trial: trial.error)
    if not best.settled and most > _SKETCH:
        return _Trial.made(X, y, weights, best.logs, best.log, most) or best
    return best


def _choices(values: Floats) -> list[bool]:
    """Whether logarithms may be taken: no, or no and yes."""
    positive = bool((values > 0).all()) and values.size > 0
    return [False, True] if positive and np.ptp(values) > 0 else [False]


@dataclass
class _Trial:
    """One form, its degree chosen on the rows left out."""

    X: Floats  # as it was given
    y: Floats
    places: Floats  # [N, n] the columns, or their logarithms, between -1 and 1
    widths: Floats  # [n] half the range of each
    logs: bool
    log: bool
    powers: NDArray[np.intp]  # [M, n]
    coefficients: Floats  # [M]
    error: float
    squares: Floats
    settled: bool  # whether a higher degree was tried, and was no better

    @classmethod
    def made(
        cls, X: Floats, y: Floats, weights: Floats, logs: bool, log: bool, most: int
    ) -> _Trial | None:
        rows, columns = X.shape
        places, widths = scaled_places(np.log(X) if logs else X)
        out = left_out(rows)
        powers, ends = terms(columns, min(most, int((rows - out.sum()) / _ROWS_A_TERM)))
        if len(ends) < 2:
            return None
        table = products([chebyshev(place, powers.max()) for place in places.T], powers, rows)
        sign = np.sign(y[0]) if log else 1.0
        target = np.log(sign * y) if log else y
        # An error of log y counts by what it does to y.
        counted = np.sqrt(weights) * (y if log else 1.0)
        A, b = table[~out] * counted[~out, None], (target * counted)[~out]
        factors = factored(A)
        if factors is None:
            return None
        R = factors[1]
        determined = np.abs(np.diag(R)) > _DEPENDENT * np.abs(R[0, 0])
        if not determined.all():
            # Terms that others make up, as of a column that is constant or there twice, go.
            powers, table = powers[determined], table[:, determined]
            counts = np.unique(np.cumsum(determined)[np.array(ends) - 1])
            ends = tuple(counts[counts > 0].tolist())
            if not ends:  # as where the rows to fit on weigh nothing
                return None
            factors = factored(A[:, determined])
            if factors is None:
                return None
        Q, R = factors
        projected = Q.T @ b
        found: _Trial | None = None
        for end in ends:
            coefficients = solved(R[:end, :end], projected[:end])
            if coefficients is None:
                continue
            predicted = table[out, :end] @ coefficients
            if log:
                predicted = sign * np.exp(np.minimum(predicted, 300.0))
            squares = weights[out] * (predicted - y[out]) ** 2
            error = math.sqrt(_trimmed_mean(squares))
            if found is None or error < found.error:
                found = cls(
                    X,
                    y,
                    places,
                    widths,
                    logs,
                    log,
                    powers[:end],
                    coefficients,
                    error,
                    squares,
                    settled=False,
                )
            else:
                found.settled = True
        return found

    def surrogate(self) -> Surrogate:
        """Values and slopes on all rows."""
        rows, highest = len(self.y), int(self.powers.max())
        tables = [chebyshev(place, highest) for place in self.places.T]
        values = products(tables, self.powers, rows) @ self.coefficients
        values = np.sign(self.y[0]) * np.exp(np.minimum(values, 300.0)) if self.log else values
        slopes = np.empty_like(self.X)
        for at, place in enumerate(self.places.T):
            sloped = [*tables]
            sloped[at] = _chebyshev_slopes(place, highest)
            slope = products(sloped, self.powers, rows) @ self.coefficients / self.widths[at]
            slopes[:, at] = slope / self.X[:, at] if self.logs else slope
        if self.log:
            slopes *= values[:, None]
        return Surrogate(self.error, self.squares, values, slopes)


@lru_cache(maxsize=16)
def left_out(rows: int) -> NDArray[np.bool_]:
    """Which rows [N] are predicted, not fitted: a third of them, the same for every surrogate.

    They are drawn at random. Rows may be sorted and a column may have three values that take turns:
    every third row would then be all rows with one of them.
    """
    order = np.random.default_rng([rows, 7]).permutation(rows)
    chosen: NDArray[np.bool_] = order % _LEFT_OUT == 0
    chosen.setflags(write=False)
    return chosen


def _trimmed_mean(squares: Floats) -> float:
    kept = max(1, round(len(squares) * (1 - _TRIMMED)))
    return float(np.partition(squares, kept - 1)[:kept].mean())


def scaled_places(inputs: Floats) -> tuple[Floats, Floats]:
    """The columns between -1 and 1, and half the range of each."""
    low, high = inputs.min(axis=0), inputs.max(axis=0)
    widths = np.where(high > low, (high - low) / 2, 1.0)
    return (inputs - (low + high) / 2) / widths, widths


@lru_cache(maxsize=64)
def terms(columns: int, most: int) -> tuple[NDArray[np.intp], tuple[int, ...]]:
    """Exponents [M, n] by total degree, at most so many, and where each degree ends."""
    rows: list[list[int]] = []
    ends: list[int] = []
    for degree in range(_HIGHEST.get(columns, 16) + 1):
        new = (
            [
                [chosen.count(at) for at in range(columns)]
                for chosen in combinations_with_replacement(range(columns), degree)
            ]
            if math.comb(columns + degree - 1, degree) + len(rows) <= most
            else []
        )
        if not new:
            break
        rows += new
        ends.append(len(rows))
    return np.array(rows, dtype=np.intp).reshape(len(rows), columns), tuple(ends)


def chebyshev(place: Floats, highest: int) -> Floats:
    """Chebyshev's polynomials [N, degree + 1]."""
    return np.asarray(np.polynomial.chebyshev.chebvander(place, int(highest)))


def _chebyshev_slopes(place: Floats, highest: int) -> Floats:
    """Their derivatives: k times the polynomials of the second kind."""
    second = np.empty((len(place), highest + 1))
    second[:, 0] = 1.0
    if highest:
        second[:, 1] = 2 * place
    for k in range(2, highest + 1):
        second[:, k] = 2 * place * second[:, k - 1] - second[:, k - 2]
    slopes = np.zeros_like(second)
    slopes[:, 1:] = second[:, :-1] * np.arange(1, highest + 1)
    return slopes


def products(tables: list[Floats], powers: NDArray[np.intp], rows: int) -> Floats:
    """The terms on every row [N, M]."""
    result = np.ones((rows, len(powers)))
    for table, power in zip(tables, powers.T, strict=True):
        result *= table[:, power]
    return result
