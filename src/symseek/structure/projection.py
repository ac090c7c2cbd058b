"""Projections: which transformed targets are sums of a few features.

One orthogonal factorisation of a family of features gives the residuals of all transformed targets
at once. A target that lies in the span is found exactly, with no search. Where there is noise, or
the span comes near only, the best sums of one to four features are candidates, to be fitted to the
rows themselves and compared with everything else that a search finds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.structure.features import Family
from symseek.structure.solving import factored, inverses, least_squares, lengths, mean
from symseek.structure.targets import Preorder, TransformedTarget, times, total

EXACT = 1e-9  # relative residual of what lies in a span
ROWS_A_TERM = 2  # at least: as many features as rows give any target
_MOST_TERMS = 12  # in an exact sum
_SUBSETS = {1: 48, 2: 48, 3: 32, 4: 16}  # features in a family of which all sums are looked at
_PROMISING = 40  # targets of a family for which sums are looked at
_SAME = 1e-12
_CUTOFF = 1e-12  # a singular value, over the largest, below which features are dependent


@dataclass(frozen=True)
class Candidate:
    """A formula of the columns in pre-order, and its error on the rows looked at."""

    words: tuple[str | float, ...]
    error: float  # root mean square, weighted, in units of y

    def times(self, sign: int) -> Candidate:
        """The formula, or -1 times it."""
        return self if sign > 0 else Candidate(("mul", -1.0, *self.words), self.error)


@dataclass(frozen=True)
class TargetRows:
    """What candidates are compared on."""

    y: Floats  # [N]
    weights: Floats  # [N]
    names: tuple[str, ...]

    def error(self, values: Floats) -> float:
        """The error of some values [N]; infinite where one is undefined."""
        if not np.isfinite(values).all():
            return np.inf
        with np.errstate(all="ignore"):
            square = mean((values - self.y) ** 2, self.weights)
        return np.inf if square is None else math.sqrt(square)


def exact_sums(
    family: Family, targets: Sequence[TransformedTarget], rows: TargetRows, close: float = EXACT
) -> Iterator[Candidate]:
    """The targets in the span of a family, each with as few features as it needs."""
    T = _values(targets)
    sizes, scale = lengths(T), lengths(family.table)
    factors = factored(family.table / scale)
    if factors is None:
        return
    Q, R = factors
    Q = Q[:, np.abs(np.diag(R)) > 1e-9 * np.abs(np.diag(R)).max()]
    if Q.shape[1] > len(T) / ROWS_A_TERM:
        return
    left = lengths(T - Q @ (Q.T @ T)) / sizes
    for at in np.argsort(left, kind="stable"):
        if not left[at] < close:
            break
        found = _fewest(family.table / scale, T[:, at], close)
        if found is not None and len(found[0]) <= _MOST_TERMS:
            terms, numbers = found
            yield _candidate(family, targets[at], terms, numbers / scale[terms], rows)


def _fewest(table: Floats, target: Floats, close: float) -> tuple[list[int], Floats] | None:
    """The fewest features that still give the target, and their coefficients."""
    terms = list(range(table.shape[1]))
    numbers = least_squares(table, target, _CUTOFF)
    if numbers is None:
        return None
    size = lengths(target[:, None])[0]
    while len(terms) > 1:
        order = np.argsort(np.abs(numbers), kind="stable")
        for place in order[: max(1, len(terms) // 2)]:
            fewer = [each for at, each in enumerate(terms) if at != place]
            trial = least_squares(table[:, fewer], target, _CUTOFF)
            if trial is None:
                continue
            left = table[:, fewer] @ trial - target
            if lengths(left[:, None])[0] < close * size:
                terms, numbers = fewer, trial
                break
        else:
            break
    return terms, numbers


def near_sums(
    family: Family, targets: Sequence[TransformedTarget], rows: TargetRows
) -> Iterator[Candidate]:
    """The best sums of one to four features for the targets that a family comes nearest to."""
    T = _values(targets)
    T = T / lengths(T)
    scale = lengths(family.table)
    A = family.table / scale
    factors = factored(A)
    if factors is None:
        return
    Q = factors[0]
    left = lengths(T - Q @ (Q.T @ T))
    chosen = np.argsort(left, kind="stable")[:_PROMISING]
    gram, along = A.T @ A, A.T @ T[:, chosen]  # [M, M], [M, targets]
    for size, most in _SUBSETS.items():
        if size > A.shape[1] or A.shape[1] > most:
            continue
        subsets = _subsets(A.shape[1], size)
        best = _best_subsets(gram, along, subsets)
        for at, which in zip(chosen, best, strict=False):
            terms = subsets[which].tolist()
            numbers = least_squares(A[:, terms], targets[at].values, _CUTOFF)
            if numbers is not None:
                yield _candidate(family, targets[at], terms, numbers / scale[terms], rows)


@lru_cache(maxsize=64)
def _subsets(count: int, size: int) -> NDArray[np.intp]:
    return np.array(list(combinations(range(count), size)), dtype=np.intp)


def _best_subsets(gram: Floats, along: Floats, subsets: NDArray[np.intp]) -> NDArray[np.intp]:
    """For every target, the subset of features that explains most of it; none without inverses."""
    size = subsets.shape[1]
    blocks = gram[subsets[:, :, None], subsets[:, None, :]] + _SAME * np.eye(size)
    inverted = inverses(blocks)  # [S, k, k]
    if inverted is None:
        return np.empty(0, dtype=np.intp)
    parts = along[subsets]  # [S, k, targets]
    explained = np.einsum("skt,skt->st", parts, np.einsum("skl,slt->skt", inverted, parts))
    return np.asarray(explained.argmax(axis=0))


def _values(targets: Sequence[TransformedTarget]) -> Floats:
    return np.column_stack([each.values for each in targets])


def _candidate(
    family: Family, target: TransformedTarget, terms: list[int], numbers: Floats, rows: TargetRows
) -> Candidate:
    """The formula m * f(sum), with its error."""
    total = family.table[:, terms] @ numbers
    with np.errstate(all="ignore"):
        error = rows.error(target.multiplier.values * target.form.apply(total))
    words = weighted_sum([family.words[at] for at in terms], numbers.tolist())
    above, below = target.multiplier.words(rows.names)
    whole = times(above, target.form.words(words))
    if below:
        whole = ["div", *whole, *below]
    return Candidate(tuple(whole), error)


def weighted_sum(features: Sequence[Sequence[str | float]], numbers: Sequence[float]) -> Preorder:
    """A sum of features times numbers in pre-order.

    >>> weighted_sum([["x"], []], [2.0, 3.0])
    ['add', 'mul', 2.0, 'x', 3.0]
    """
    pairs = zip(features, numbers, strict=True)
    return total([times([number], list(feature)) for feature, number in pairs])
