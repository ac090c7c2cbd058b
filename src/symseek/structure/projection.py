"""Projections: which transformed targets are sums of a few features.

One orthogonal factorisation of a family of features gives the residuals of all transformed targets
at once. A target that lies in the span is found exactly, with no search. Where there is noise, or
the span comes near only, the best sums of one to four features are candidates, to be fitted to the
rows themselves and compared with everything else that a search finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from symseek.structure.features import Family
from symseek.structure.targets import Target, Words, chain

__all__ = ["Candidate", "exact_sums", "near_sums", "written"]

Floats = NDArray[np.float64]

EXACT = 1e-9  # relative residual of what lies in a span
ROWS_A_TERM = 2  # at least: as many features as rows give any target
_MOST_TERMS = 12  # in an exact sum
_SUBSETS = {1: 48, 2: 48, 3: 32, 4: 16}  # features in a family of which all sums are looked at
_PROMISING = 40  # targets of a family for which sums are looked at
_SAME = 1e-12


@dataclass(frozen=True)
class Candidate:
    """A formula of the columns in pre-order, and its error on the rows looked at."""

    words: tuple[str | float, ...]
    error: float  # root mean square, weighted, in units of y

    def times(self, sign: int) -> Candidate:
        """The formula, or -1 times it."""
        return self if sign > 0 else Candidate(("mul", -1.0, *self.words), self.error)


@dataclass(frozen=True)
class Rows:
    """What candidates are compared on."""

    y: Floats  # [N]
    weights: Floats  # [N]
    names: tuple[str, ...]

    def error(self, values: Floats) -> float:
        """The error of some values [N]; infinite where one is undefined."""
        if not np.isfinite(values).all():
            return np.inf
        return float(np.sqrt(np.average((values - self.y) ** 2, weights=self.weights)))


def exact_sums(
    family: Family, targets: Sequence[Target], rows: Rows, close: float = EXACT
) -> Iterator[Candidate]:
    """The targets in the span of a family, each with as few features as it needs."""
    T = _values(targets)
    sizes = np.linalg.norm(T, axis=0)
    scale = np.linalg.norm(family.table, axis=0)
    Q, R = np.linalg.qr(family.table / scale)
    Q = Q[:, np.abs(np.diag(R)) > 1e-9 * np.abs(np.diag(R)).max()]
    if Q.shape[1] > len(T) / ROWS_A_TERM:
        return
    left = np.linalg.norm(T - Q @ (Q.T @ T), axis=0) / sizes
    for at in np.argsort(left, kind="stable"):
        if not left[at] < close:
            break
        terms, numbers = _fewest(family.table / scale, T[:, at], close)
        if len(terms) <= _MOST_TERMS:
            yield _candidate(family, targets[at], terms, numbers / scale[terms], rows)


def _fewest(table: Floats, target: Floats, close: float) -> tuple[list[int], Floats]:
    """The fewest features that still give the target, and their coefficients."""
    terms = list(range(table.shape[1]))
    numbers = np.linalg.lstsq(table, target, rcond=1e-12)[0]
    size = np.linalg.norm(target)
    while len(terms) > 1:
        order = np.argsort(np.abs(numbers), kind="stable")
        for place in order[: max(1, len(terms) // 2)]:
            fewer = [each for at, each in enumerate(terms) if at != place]
            trial = np.linalg.lstsq(table[:, fewer], target, rcond=1e-12)[0]
            if np.linalg.norm(table[:, fewer] @ trial - target) < close * size:
                terms, numbers = fewer, trial
                break
        else:
            break
    return terms, np.asarray(numbers, dtype=np.float64)


def near_sums(family: Family, targets: Sequence[Target], rows: Rows) -> Iterator[Candidate]:
    """The best sums of one to four features for the targets that a family comes nearest to."""
    T = _values(targets)
    T = T / np.linalg.norm(T, axis=0)
    scale = np.linalg.norm(family.table, axis=0)
    A = family.table / scale
    Q = np.linalg.qr(A)[0]
    left = np.linalg.norm(T - Q @ (Q.T @ T), axis=0)
    chosen = np.argsort(left, kind="stable")[:_PROMISING]
    gram, along = A.T @ A, A.T @ T[:, chosen]  # [M, M], [M, targets]
    for size, most in _SUBSETS.items():
        if size > A.shape[1] or A.shape[1] > most:
            continue
        subsets = _subsets(A.shape[1], size)
        best = _best_subsets(gram, along, subsets)
        for at, which in zip(chosen, best, strict=True):
            terms = subsets[which].tolist()
            numbers = np.linalg.lstsq(A[:, terms], targets[at].values, rcond=1e-12)[0]
            yield _candidate(family, targets[at], terms, numbers / scale[terms], rows)


@lru_cache(maxsize=64)
def _subsets(count: int, size: int) -> NDArray[np.intp]:
    return np.array(list(combinations(range(count), size)), dtype=np.intp)


def _best_subsets(gram: Floats, along: Floats, subsets: NDArray[np.intp]) -> NDArray[np.intp]:
    """For every target, the subset of features that explains most of it."""
    size = subsets.shape[1]
    blocks = gram[subsets[:, :, None], subsets[:, None, :]] + _SAME * np.eye(size)
    inverses = np.linalg.inv(blocks)  # [S, k, k]
    parts = along[subsets]  # [S, k, targets]
    explained = np.einsum("skt,skt->st", parts, np.einsum("skl,slt->skt", inverses, parts))
    return np.asarray(explained.argmax(axis=0))


def _values(targets: Sequence[Target]) -> Floats:
    return np.column_stack([each.values for each in targets])


def _candidate(
    family: Family, target: Target, terms: list[int], numbers: Floats, rows: Rows
) -> Candidate:
    """The formula m * f(sum), with its error."""
    total = family.table[:, terms] @ numbers
    with np.errstate(all="ignore"):
        error = rows.error(target.multiplier.values * target.form.apply(total))
    words = written([family.words[at] for at in terms], numbers.tolist())
    above, below = target.multiplier.words(rows.names)
    whole = target.form.words(words)
    if above:
        if whole[:2] == ["div", 1.0]:
            whole = ["div", *above, *whole[2:]]
        else:
            whole = ["mul", *above, *whole]
    if below:
        whole = ["div", *whole, *below]
    return Candidate(tuple(whole), error)


def written(features: Sequence[Sequence[str | float]], numbers: Sequence[float]) -> Words:
    """A sum of features times numbers in pre-order.

    >>> written([["x"], []], [2.0, 3.0])
    ['add', 'mul', 2.0, 'x', 3.0]
    """
    parts: list[Words] = []
    for feature, number in zip(features, numbers, strict=True):
        if not feature:
            parts.append([number])
        elif list(feature[:2]) == ["div", 1.0]:
            parts.append(["div", number, *feature[2:]])
        else:
            parts.append(chain([[number], list(feature)]))
    result = parts[-1]
    for part in reversed(parts[:-1]):
        result = ["add", *part, *result]
    return result
