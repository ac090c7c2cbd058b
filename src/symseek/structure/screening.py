"""Screening: which of many columns a target depends on, before anything is fitted.

The columns and the target are replaced by their ranks, so that outliers count no more than others.
Then the target is correlated with polynomials and steps of every column, with the products of such
polynomials of two columns, and with the products of three columns. A column that acts only through
another, as in x1*x2 around zero, shows in the products. What the chosen columns explain is taken
away by a surrogate, and the rest is tested in the same way, so that a weak column beside strong
ones is found too, until there is nothing new.

Every correlation is compared with what chance makes of a column that does not matter; one in a
thousand tables of idle columns has a false alarm, however many columns it has. All products of two
columns are a few products of matrices, so this takes a tenth of a second for 30 columns. Of very
many columns only those that show most by themselves are looked at in products.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.structure.solving import mean
from symseek.structure.surrogate import Surrogate

_CHANCE = 0.001  # of a false alarm in a whole table
_DEGREE, _PAIR_DEGREE = 4, 3  # of the polynomials of one column, and of those in products of two
_STEPS = 16  # steps along a column, which show waves that no such polynomial follows
_PAIR_WORK = 2e10  # multiplications that all products of two columns may take
_WORK = 2e9  # the same, of three columns
_BLOCK = 64  # columns whose products with all others are looked at together
_FEWEST_ROWS = 500  # to look at products of three columns
_EXPLAINED = 12  # columns, at most, whose effect a surrogate can take away


def screened(
    X: Floats, y: Floats, weights: Floats, check: Callable[[], None] = lambda: None
) -> list[int]:
    """The columns of X [N, n] that y [N] depends on, in their order.

    `check` is called now and then, and may raise an error to end this.

    >>> draw = np.random.default_rng(0)
    >>> X = draw.uniform(-1, 1, (1000, 20))
    >>> screened(X, X[:, 3] * X[:, 11] + 0.1 * draw.normal(size=1000), np.ones(1000))
    [3, 11]
    """
    moving = np.flatnonzero(X.min(axis=0) < X.max(axis=0))
    places = np.empty((len(moving), len(X)))
    for own, at in zip(places, moving, strict=True):
        check()
        own[:] = _places(X[:, at])
    chosen: set[int] = set()
    left = y
    while left.min() < left.max():
        found = _found(places, _scores(left), weights, check)
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


def _found(
    places: Floats, target: Floats, weights: Floats, check: Callable[[], None]
) -> NDArray[np.bool_]:
    """Which columns, whose places are [n, N], show in any of the correlations."""
    columns, rows = places.shape
    middle = mean(target, weights)
    if middle is None:  # no row counts
        return np.zeros(columns, dtype=bool)
    counted = weights * (target - middle)
    triples = _rows_for_triples(rows, columns)
    pairs = min(columns, int(np.sqrt(_PAIR_WORK / rows) / _PAIR_DEGREE))
    tests = columns * (_DEGREE + _STEPS) + (pairs * _PAIR_DEGREE) ** 2 // 2
    tests += columns**3 // 6 if triples else 0
    limit = NormalDist().inv_cdf(1 - _CHANCE / (2 * max(tests, 1)))
    alone = _alone(places, counted, check)
    found = alone > limit
    paired = np.sort(np.argsort(-alone, kind="stable")[:pairs])
    if not len(paired):
        return found
    powers = np.stack([_powers(each, _PAIR_DEGREE) for each in places[paired]])
    found[paired] |= _in_pairs(powers, counted, check) > limit
    if triples:
        # Rows may be sorted, so these are spread over all of them.
        some = np.linspace(0, rows - 1, triples).astype(np.intp)
        found[paired] |= _in_triples(powers[:, some, 0].T, counted[some], check) > limit
    return found


def _rows_for_triples(rows: int, columns: int) -> int:
    """How many rows the products of three columns are looked at on; 0 where that says nothing."""
    affordable = min(rows, int(_WORK / max(columns, 1) ** 3))
    return affordable if affordable >= _FEWEST_ROWS and columns > 2 else 0


def _powers(places: Floats, degree: int) -> Floats:
    """Polynomials of places [N] up to a degree [N, degree]."""
    return _standard(np.asarray(legvander(places, degree)[:, 1:], dtype=np.float64))


def _alone(places: Floats, counted: Floats, check: Callable[[], None]) -> Floats:
    """The largest score [n] of each column by itself."""
    best = np.zeros(len(places))
    for at, own in enumerate(places):
        check()
        steps = np.minimum(((own + 1) / 2 * _STEPS).astype(np.intp), _STEPS - 1)
        step = _standard((steps[:, None] == np.arange(_STEPS)).astype(np.float64))
        best[at] = _scored(counted[:, None], np.hstack([_powers(own, _DEGREE), step])).max()
    return best


def _in_pairs(
    powers: Floats, counted: Floats, check: Callable[[], None], block: int = _BLOCK
) -> Floats:
    """The largest score [n] of each column in products with another."""
    columns, rows, degree = powers.shape
    best = np.zeros(columns)
    table = powers.transpose(1, 0, 2).reshape(rows, columns * degree)
    for first in range(0, columns, block):
        check()
        rest = table[:, first * degree :]
        scores = _scored(rest[:, : block * degree] * counted[:, None], rest)
        by_pair = scores.reshape(-1, degree, columns - first, degree).max(axis=(1, 3))
        np.fill_diagonal(by_pair, 0.0)
        own, others = best[first : first + block], best[first:]
        np.maximum(own, by_pair.max(axis=1), out=own)
        np.maximum(others, by_pair.max(axis=0), out=others)
    return best


def _in_triples(places: Floats, counted: Floats, check: Callable[[], None]) -> Floats:
    """The largest score [n] of each column in products with two others."""
    columns = places.shape[1]
    best = np.zeros(columns)
    for first in range(columns - 2):
        check()
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
