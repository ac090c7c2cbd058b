"""Dimensional analysis: columns that make all others, and the target, free of units.

With r independent dimensions among its columns, a law of n columns is one of n - r products of
powers of them that have no unit, but for a factor that has the target's (Buckingham). What the
exponents are follows from the units alone, so that such a step costs nothing to find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from symseek.constraints.dimensions import Dimensions
from symseek.dimensions import DIMENSIONLESS, Dimension
from symseek.structure.solving import solved
from symseek.structure.transform import ColumnProduct, DerivedColumn, TableColumn, Transform

_SUBSETS = 300  # of columns to eliminate that are looked at
_LARGEST = 6  # exponent
_INDEPENDENT = 1e-9  # as in symmetries
_CHOSEN = 2  # sets of columns to eliminate that are offered

Exponents = NDArray[np.int64]  # in halves


@dataclass(frozen=True)
class TableUnits:
    """The dimensions of a table's columns and its target, where numbers have none."""

    columns: tuple[Dimension, ...]
    target: Dimension

    @classmethod
    def of(cls, rule: Dimensions | None, variables: Sequence[str]) -> TableUnits | None:
        """What a constraint says of them; None if it does not say what a product needs."""
        if rule is None or rule.free_numbers or rule.target is None:
            return None
        return cls(tuple(rule.variables[name] for name in variables), rule.target)

    def dimension(self, part: DerivedColumn) -> Dimension:
        """That of a derived column; the parts of a sum are alike."""
        if isinstance(part, TableColumn):
            return self.columns[part.index]
        if not isinstance(part, ColumnProduct):
            return self.dimension(part.first)
        whole = DIMENSIONLESS
        for each, power in part.factors:
            whole = whole * self.dimension(each) ** power
        return whole

    def left(self, transform: Transform) -> tuple[list[Dimension], Dimension]:
        """What the derived columns, and the target without the factor, still have."""
        columns = [self.dimension(part) for part in transform.columns]
        return columns, self.target / self.dimension(transform.factor)


def freeing(
    columns: Sequence[Dimension],
    target: Dimension,
    usable: Sequence[int],
    rooted: Sequence[bool],
) -> list[tuple[tuple[int, ...], Exponents]]:
    """Columns to eliminate, and exponents [r, n + 1] in halves that free the others and the target.

    Of all sets of columns that can do it, those with the smallest exponents. Only `usable` ones
    are eliminated, and only of the `rooted` ones square roots taken.

    >>> metre, second = Dimension({"m": 1}), Dimension({"s": 1})
    >>> speed, time = metre / second, second
    >>> [(pivots, exponents)] = freeing([speed, time], metre, [0, 1], [True, True])
    >>> pivots, exponents.tolist()
    ((0, 1), [[2, 0, 2], [0, 2, 2]])
    """
    bases = sorted({name for each in (*columns, target) for name, _ in each.powers})
    if not bases:
        return []
    exact = [[dict(each.powers).get(base, Fraction(0)) for base in bases] for each in columns]
    rank = _rank(exact)
    of_target = [dict(target.powers).get(base, Fraction(0)) for base in bases]
    table = np.array([*exact, of_target], dtype=np.float64).T
    found: list[tuple[int, tuple[int, ...], Exponents]] = []
    for pivots in islice(combinations(usable, rank) if rank else (), _SUBSETS):
        own = table[:, pivots]
        powers = solved(own.T @ own, own.T @ table, _INDEPENDENT)
        if powers is None:
            continue
        halves = np.rint(2 * powers).astype(np.int64)
        odd = (halves % 2 != 0).any(axis=1)
        if np.abs(halves).max() > 2 * _LARGEST or any(
            odd[at] and not rooted[pivot] for at, pivot in enumerate(pivots)
        ):
            continue
        if _frees(columns, target, pivots, halves):
            cost = int(np.abs(halves).sum() + 2 * (halves % 2 != 0).sum())
            found.append((cost, pivots, halves))
    found.sort(key=lambda each: each[0])
    return [(pivots, halves) for _, pivots, halves in found[:_CHOSEN]]


def _rank(rows: list[list[Fraction]]) -> int:
    """How many of the rows are independent, exactly."""
    rows, rank = [list(row) for row in rows], 0
    for at in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in rows[rank:] if row[at]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows.insert(rank, pivot)
        rank += 1
        for other in range(rank, len(rows)):
            times = rows[other][at] / pivot[at]
            rows[other] = [a - times * b for a, b in zip(rows[other], pivot, strict=True)]
    return rank


def _frees(
    columns: Sequence[Dimension], target: Dimension, pivots: tuple[int, ...], halves: Exponents
) -> bool:
    """Whether the exponents are right to the last digit."""
    for at, wanted in enumerate((*columns, target)):
        made = DIMENSIONLESS
        for pivot, half in zip(pivots, halves[:, at].tolist(), strict=True):
            made = made * columns[pivot] ** Fraction(half, 2)
        if made != wanted:
            return False
    return True
