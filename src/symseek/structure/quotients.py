"""Quotients: y = p/q with p and q sums of features, found as p - y*q = 0.

The coefficients are the null vector of [F, -y F], which the smallest singular value tells. Where
there is noise, rows are weighted by 1/q in a second and third turn, so that the error is that of
p/q itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from symseek.arrays import Floats
from symseek.structure.features import Family
from symseek.structure.projection import ROWS_A_TERM, Candidate, TargetRows, weighted_sum
from symseek.structure.solving import lengths, singular
from symseek.structure.targets import Preorder, TransformedTarget

_TURNS = 3
_MOST_FEATURES = 10
_MOST_TERMS = 14
_STAGES = 6  # of leaving out terms that become candidates


@dataclass(frozen=True)
class _Problem:
    """Minimise |F a - s F b| with |a, b| = 1, over some of the columns."""

    A: Floats  # [N, 2 M], columns of norm 1
    scale: Floats  # [2 M]
    table: Floats  # [N, M]

    @classmethod
    def of(cls, family: Family, s: Floats) -> _Problem:
        A = np.concatenate([family.table, -s[:, None] * family.table], axis=1)
        sizes = lengths(A)
        scale = np.where(sizes > 0, sizes, 1.0)
        return cls(A / scale, scale, family.table)

    def solved(self, kept: list[int], turns: int) -> tuple[Floats, float]:
        """The coefficients [2 M] of the columns kept, and the smallest singular value.

        It is infinite where there is none.
        """
        numbers, value, weights = np.zeros(self.A.shape[1]), np.inf, np.ones(len(self.A))
        half = self.table.shape[1]
        for _ in range(turns):
            B = self.A[:, kept] * weights[:, None]
            sizes = lengths(B)
            sizes = np.where(sizes > 0, sizes, 1.0)
            found = singular(B / sizes)
            if found is None or not found[0][0] > 0:
                return np.zeros(self.A.shape[1]), np.inf
            values, vectors = found
            numbers = np.zeros(self.A.shape[1])
            numbers[kept] = vectors[-1] / sizes
            value = float(values[-1] / values[0])
            below = np.abs(self.table @ (numbers / self.scale)[half:])
            # A row near a pole counts much, but not without end.
            weights = 1 / np.maximum(below / max(below.max(), 1e-300), 1e-6)
        return numbers, value

    def error(self, numbers: Floats, s: Floats, weights: Floats) -> float:
        """Of p/q itself; infinite where it is undefined."""
        half, parts = self.table.shape[1], numbers / self.scale
        with np.errstate(all="ignore"):
            errors = self.table @ parts[:half] / (self.table @ parts[half:]) - s
            square = float(weights @ errors**2)
        return square if square < np.inf else np.inf


def quotients(
    family: Family, target: TransformedTarget, rows: TargetRows, close: float | None
) -> Iterator[Candidate]:
    """Quotients of two sums over a family, with as few terms as they need, for a plain target.

    `close` is a smallest singular value, over the largest, that counts as none; without it, the
    best quotients of few terms are given, however near they come.
    """
    exact, null = close is not None, close or 0.0
    half = family.table.shape[1]
    if half > _MOST_FEATURES or half < 2 or target.form.name not in ("s", "sqrt(s)"):
        return
    if 2 * half > len(rows.y) / ROWS_A_TERM:
        return
    problem = _Problem.of(family, target.values)
    kept = list(range(2 * half))
    numbers, value = problem.solved(kept, 1 if exact else _TURNS)
    if exact and not value < null:
        return
    stages: list[Floats] = []
    while True:
        stages.append(numbers)
        above, below = (sum(k < half for k in kept), sum(k >= half for k in kept))
        order = sorted(kept, key=lambda k: abs(numbers[k]))
        best: tuple[float, list[int], Floats] | None = None
        for dropped in order[: 4 if exact else 3]:
            if (above if dropped < half else below) == 1:
                continue
            fewer = [k for k in kept if k != dropped]
            trial, left = problem.solved(fewer, 1 if exact else _TURNS)
            if not exact:
                left = problem.error(trial, target.values, rows.weights)
            if best is None or left < best[0]:
                best = left, fewer, trial
        if best is None or (exact and not best[0] < null):
            break
        kept, numbers = best[1], best[2]
    wanted = stages[-1:] if exact else stages[-_STAGES:]
    for found in wanted:
        candidate = _written(family, target, found / problem.scale, rows)
        if candidate is not None:
            yield candidate


def _written(
    family: Family, target: TransformedTarget, numbers: Floats, rows: TargetRows
) -> Candidate | None:
    half = family.table.shape[1]
    above, below = numbers[:half], numbers[half:]
    terms = [np.flatnonzero(part) for part in (above, below)]
    if sum(map(len, terms)) > _MOST_TERMS or not all(map(len, terms)):
        return None
    unit = below[terms[1][np.argmax(np.abs(below[terms[1]]))]]
    above, below = above / unit, below / unit
    with np.errstate(all="ignore"):
        s = family.table @ above / (family.table @ below)
        error = rows.error(target.form.apply(s))
    parts: list[Preorder] = [
        weighted_sum([family.words[at] for at in chosen], part[chosen].tolist())
        for part, chosen in zip((above, below), terms, strict=True)
    ]
    return Candidate(tuple(target.form.words(["div", *parts[0], *parts[1]])), error)
