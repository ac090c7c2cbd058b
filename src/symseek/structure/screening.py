"""Screening: which of many columns a target depends on, before anything is fitted.

The columns and the target are replaced by their ranks, so that outliers count no more than others.
Then the target is correlated with polynomials and steps of every column, with the products of such
polynomials of two columns, and with the products of three columns. A column that acts only through
another, as in x1*x2 around zero, shows in the products. What the chosen columns explain is taken
away by a surrogate, and the rest is tested in the same way, so that a weak column beside strong
ones is found too, until there is nothing new.

Every correlation is compared with what chance makes of a column that does not matter; one in a
thousand tables of idle columns has a false alarm, however many columns it has. All products of two
columns are one product of matrices, so this takes a tenth of a second for 30 columns.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray

from symseek.structure.solving import mean
from symseek.structure.surrogate import Surrogate

__all__ = ["screened"]

Floats = NDArray[np.float64]

_CHANCE = 0.001  # of a false alarm in a whole table
_DEGREE, _PAIR_DEGREE = 4, 3  # of the polynomials of one column, and of those in products of two
_STEPS = 16  # steps along a column, which show waves that no such polynomial follows
_WORK = 2e9  # multiplications that all products of three columns may take
_FEWEST_ROWS = 500  # to look at products of three columns
_EXPLAINED = 12  # columns, at most, whose effect a surrogate can take away


def screened(X: Floats, y: Floats, weights: Floats) -> list[int]:
    """The columns of X [N, n] that y [N] depends on, in their order.

    >>> draw = np.random.default_rng(0)
    >>> X = draw.uniform(-1, 1, (1000, 20))
    >>> screened(X, X[:, 3] * X[:, 11] + 0.1 * draw.normal(size=1000), np.ones(1000))
    [3, 11]
    """
    moving = np.flatnonzero(X.min(axis=0) < X.max(axis=0))
    places = np.column_stack([_places(X[:, at]) for at in moving]) if len(moving) else X[:, :0]
    chosen: set[int] = set()
    left = y
    while left.min() < left.max():
        found = _found(places, _scores(left), weights)
        new = {int(moving[at]) for at in np.flatnonzero(found)} - chosen
        chosen |= new
        if not new or len(chosen) > _EXPLAINED:
            break
        surrogate = Surrogate.fitted(np.ascontiguousarray(X[:, sorted(chosen)]), y, weights)
        if surrogate is None or not np.isfinite(surrogate.values).all():
            break
        left = y - surrogate.values
    return sorted(chosen)


def _places(values: Floats) -> Floats:
    """The ranks of values [N], between -1 and 1; equal values share the middle of theirs."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    return ((2 * middle + 1) / len(values) - 1)[which.ravel()]


def _scores(target: Floats) -> Floats:
    """The target [N] as a normal distribution in the same order."""
    values, which = np.unique(_places(target), return_inverse=True)
    normal = NormalDist()
    return np.array([normal.inv_cdf((1 + each) / 2) for each in values.tolist()])[which.ravel()]


def _found(places: Floats, target: Floats, weights: Floats) -> NDArray[np.bool_]:
    """Which columns [n] show in any of the correlations."""
    middle = mean(target, weights)
    if middle is None:  # no row counts
        return np.zeros(places.shape[1], dtype=bool)
    counted = weights * (target - middle)
    columns = places.shape[1]
    triples = _rows_for_triples(len(places), columns)
    tests = columns * (_DEGREE + _STEPS) + (columns * _PAIR_DEGREE) ** 2 // 2
    tests += columns**3 // 6 if triples else 0
    limit = NormalDist().inv_cdf(1 - _CHANCE / (2 * max(tests, 1)))
    powers = np.stack([_standard(legvander(each, _DEGREE)[:, 1:]) for each in places.T])
    found = _alone(places, powers, counted) > limit
    found |= _in_pairs(powers[:, :, :_PAIR_DEGREE], counted) > limit
    if triples:
        # Rows may be sorted, so these are spread over all of them.
        rows = np.linspace(0, len(places) - 1, triples).astype(np.intp)
        found |= _in_triples(powers[:, rows, 0].T, counted[rows]) > limit
    return found


def _rows_for_triples(rows: int, columns: int) -> int:
    """How many rows the products of three columns are looked at on; 0 where that says nothing."""
    affordable = min(rows, int(_WORK / max(columns, 1) ** 3))
    return affordable if affordable >= _FEWEST_ROWS and columns > 2 else 0


def _alone(places: Floats, powers: Floats, counted: Floats) -> Floats:
    """The largest score [n] of each column by itself."""
    steps = np.minimum(((places + 1) / 2 * _STEPS).astype(np.intp), _STEPS - 1)
    best = []
    for column, polynomials in zip(steps.T, powers, strict=True):
        step = _standard((column[:, None] == np.arange(_STEPS)).astype(np.float64))
        best.append(_scored(counted[:, None], np.hstack([polynomials, step])).max())
    return np.array(best)


def _in_pairs(powers: Floats, counted: Floats) -> Floats:
    """The largest score [n] of each column in products with another."""
    columns, rows, degree = powers.shape
    table = powers.transpose(1, 0, 2).reshape(rows, columns * degree)
    scores = _scored(table * counted[:, None], table)
    by_pair = scores.reshape(columns, degree, columns, degree).max(axis=(1, 3))
    np.fill_diagonal(by_pair, 0.0)
    return np.asarray(by_pair.max(axis=1, initial=0.0))


def _in_triples(places: Floats, counted: Floats) -> Floats:
    """The largest score [n] of each column in products with two others."""
    columns = places.shape[1]
    best = np.zeros(columns)
    for first in range(columns - 2):
        rest = places[:, first + 1 :]
        scores = _scored(rest * (places[:, first] * counted)[:, None], rest)
        np.fill_diagonal(scores, 0.0)
        best[first] = max(best[first], scores.max())
        best[first + 1 :] = np.maximum(best[first + 1 :], scores.max(axis=1))
    return best


def _scored(left: Floats, right: Floats) -> Floats:
    """How far the sums of left [N, a] times right [N, b] are from 0, in standard errors [a, b]."""
    squares = (left**2).T @ right**2
    errors = np.sqrt(np.where(squares > 0, squares, np.inf))
    return np.asarray(np.abs(left.T @ right) / errors)


def _standard(table: Floats) -> Floats:
    """The columns with mean 0 and spread 1; those that are constant, 0."""
    centred = table - table.mean(axis=0)
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 1e-9, spread, np.inf))
