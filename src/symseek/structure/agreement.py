"""Agreement: whether a formula depends on the columns as a transform says.

A transform is found before any formula, from rows that have noise. Before it is reported, the
formula that was picked is compared with it: along every direction in which its columns stay the
same, the formula, divided by its factor, must stay the same too. And it must vary with each of
these columns: a mere number, or a formula of some of them, is no reason to name them all.
"""

from __future__ import annotations

import numpy as np

from symseek.arrays import Floats
from symseek.programs import Program
from symseek.structure.solving import least_squares
from symseek.structure.transform import ColumnProduct, DerivedColumn, TableColumn, Transform

_ROWS = 100  # looked at
_STEP = 1e-4  # of a column's spread, for differences
_CLOSE = 0.01  # of the slopes: what the rounding of constants makes
_VARIES = 1e-6  # of the slopes: what counts as a part of them
_ROUNDING = 1e-9  # of the values: differences that mean nothing


def agrees(transform: Transform, program: Program, X: Floats) -> bool:
    """Whether a program over the table's columns [N, n] depends on them just as the transform says.

    >>> from symseek import Library
    >>> library = Library(["add", "sub", "sin"], ["a", "b", "c"])
    >>> transform = Transform((TableColumn(0, "a"), TableColumn(1, "b")))
    >>> X = np.random.default_rng(0).uniform(1, 3, (50, 3))
    >>> agrees(transform, Program.parse("sin(a - b)", library), X)
    True
    >>> agrees(transform, Program.parse("sin(a - c)", library), X)
    False
    >>> agrees(transform, Program.parse("sin(a)", library), X)
    False
    """
    named = _indices((*transform.columns, transform.factor))
    used = {program.library.tokens[each].index for each in program.tokens} - {None}
    if not used <= named:
        return False
    if not named:  # the transform says that y is constant, and so is the formula
        return True
    X = X[:: -(-len(X) // _ROWS)]
    with np.errstate(all="ignore"):
        slopes = _slopes(transform, program, X, sorted(named))  # [N, derived columns + 1, n]
        own = np.abs(_values(transform, program, X)[:, -1:])
        slopes[:, -1] = np.where(np.abs(slopes[:, -1]) > _ROUNDING * own, slopes[:, -1], 0.0)
    known = [each for each in slopes if np.isfinite(each).all()]
    parts = [part for each in known if (part := _parts(each)) is not None]
    if not parts:
        return False
    left, size, *shares = np.sqrt(np.mean(np.square(parts), axis=0))
    return bool(left <= _CLOSE * size and all(share > _VARIES * size for share in shares))


def _parts(slopes: Floats) -> list[float] | None:
    """Of the last row, how much the others do not make up, how much there is, and each's share."""
    others, own = slopes[:-1], slopes[-1]
    numbers = least_squares(others.T, own, 1e-9) if len(others) else np.zeros(0)
    if numbers is None:
        return None
    shares = numbers[:, None] * others
    return [float(np.abs(each).max()) for each in (own - shares.sum(axis=0), own, *shares)]


def _slopes(transform: Transform, program: Program, X: Floats, along: list[int]) -> Floats:
    """Slopes of the derived columns and program/factor, by each column in units of its spread."""
    found = []
    for at in along:
        step = _STEP * float(X[:, at].std())
        above, below = X.copy(), X.copy()
        above[:, at] += step
        below[:, at] -= step
        found.append(_values(transform, program, above) - _values(transform, program, below))
    return np.stack(found, axis=-1)


def _values(transform: Transform, program: Program, X: Floats) -> Floats:
    own = program.evaluate(X) / transform.factor.values(X)
    return np.column_stack([*(each.values(X) for each in transform.columns), own])


def _indices(parts: tuple[DerivedColumn, ...]) -> set[int]:
    """The table's columns that some parts are made of."""
    found: set[int] = set()
    for part in parts:
        if isinstance(part, TableColumn):
            found.add(part.index)
        elif isinstance(part, ColumnProduct):
            found |= _indices(tuple(each for each, _ in part.factors))
        else:
            found |= _indices((part.first, part.second))
    return found
