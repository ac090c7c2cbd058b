"""Several seeds: what searches of the same rows found, taken together.

One search may miss a formula that another finds. Searches that differ in nothing but their seed are
made one after another, each with the whole budget, and their fronts become one. A formula that many
of them come to is no accident of the random numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from symseek.arrays import Floats
from symseek.data import Data, Scales
from symseek.front import Front
from symseek.loop import Iteration, Result, Stopped
from symseek.model import Formula
from symseek.programs import Programs

CONTINUE_AFTER = (Stopped.BUDGET, Stopped.TIME, Stopped.EARLY)
"""Ends of a search after which the next seed has its turn."""

_SAME = 0.1  # of what a formula leaves: one that differs by less has the same values
_ROUNDING = 1e-9  # of the spread
_LOOKED_AT = 2_000  # rows on which formulas are compared


def merged_front(fronts: Sequence[Front]) -> Front:
    """The best at each complexity of some fronts over one library.

    >>> from symseek import Library, Program
    >>> library = Library(["add"], variables=["x"])
    >>> batch = [Program.parse(text, library) for text in ("x", "x + x")]
    >>> one, two = (Front().updated(Programs.from_list([p]), np.array([0.5])) for p in batch)
    >>> len(merged_front([one, two]))
    1
    """
    merged, *others = fronts
    for front in others:
        for entry in front:
            one = Programs.from_list([entry.program])
            merged = merged.updated(one, np.array([entry.reward]), entry.found_at)
    return merged


def merged_result(results: Sequence[Result]) -> Result:
    """One result of several searches, as if they had been one.

    No count of expressions repeats several searches that the clock has ended at different counts.
    """
    if len(results) == 1:
        return results[0]
    last = results[-1]
    timed = any(each.stopped is Stopped.TIME for each in results)
    return Result(
        merged_front([each.front for each in results]),
        sum(each.expressions for each in results),
        sum(each.seconds for each in results),
        Stopped.TIME if timed and last.stopped in CONTINUE_AFTER else last.stopped,
        _joined([each.history for each in results]),
        results[0].seed,
        {stage: sum(each.timings[stage] for each in results) for stage in last.timings},
    )


def _joined(histories: Sequence[Sequence[Iteration]]) -> list[Iteration]:
    """One history after another, counted on, with the best so far of all."""
    joined: list[Iteration] = []
    for history in histories:
        before = joined[-1] if joined else None
        for now in history:
            if before is not None:
                best = [each for each in (before.best, now.best) if each is not None]
                now = replace(
                    now,
                    iteration=before.iteration + now.iteration,
                    expressions=before.expressions + now.expressions,
                    seconds=before.seconds + now.seconds,
                    best=max(best, key=lambda each: each.reward, default=None),
                )
            joined.append(now)
    return joined


def counted(
    formulas: list[Formula], fronts: Sequence[Front], data: Data, scales: Scales
) -> list[Formula]:
    """The formulas with how many fronts came to each, if there are several fronts."""
    fronts = [front for front in fronts if len(front)]
    # A search does not keep the groups' own numbers, so values cannot be compared.
    if len(fronts) < 2 or any(each.program.library.grouping for each in formulas):
        return formulas
    X, spread = data.X[:: -(-len(data.y) // _LOOKED_AT)], data.spread
    scaled, unit = X / scales.inputs, scales.target / spread
    with np.errstate(all="ignore"):
        values = np.array([each.program.evaluate(X) for each in formulas]) / spread
        found = [
            np.array([each.program.evaluate(scaled) for each in front]) * unit for front in fronts
        ]
    counts = found_by(values, np.array([each.nrmse for each in formulas]), found)
    pairs = zip(formulas, counts, strict=True)
    return [replace(each, seeds=(count, len(fronts))) for each, count in pairs]


def found_by(values: Floats, errors: Floats, fronts: Sequence[Floats]) -> list[int]:
    """How many fronts have a formula with the values [N] of each of some formulas [F, N].

    Args:
        values: of the formulas, over the spread of the target.
        errors: [F] what each leaves, over that spread: values that differ by a tenth of it count as
            the same.
        fronts: the values [M, N] of the formulas of each front, over that spread.

    >>> found_by(np.array([[1.0, 2.0]]), np.array([0.1]), [np.array([[1.001, 2.0]]), np.eye(2)])
    [1]
    """
    counts = []
    for own, error in zip(values, errors, strict=True):
        close = max(_SAME * error, _ROUNDING)
        gaps = [np.sqrt(np.mean((front - own) ** 2, axis=1)) for front in fronts]
        counts.append(sum(bool((gap <= close).any()) for gap in gaps))
    return counts
