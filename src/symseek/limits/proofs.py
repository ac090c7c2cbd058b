"""Proofs by interval arithmetic: whether something holds in every point of a box.

A box that cannot be decided is halved, again and again, until all are decided or there are too
many. What is undecided then may hold or not.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.limits.bounds import Bounds, bounds
from symseek.limits.intervals import Flags
from symseek.programs import Program

_MOST = 2048  # boxes looked at for one proof
_TIMES = 24  # that a box is halved, at most
_FRUITLESS = 5  # rounds of halving in which no box was decided

Claim = Callable[[Bounds], tuple[Flags, Flags]]
"""Says of each box whether something holds in all of it, and whether it fails somewhere in it."""


class Verdict(enum.Enum):
    """What is known of a claim."""

    PROVED = "proved"
    DISPROVED = "disproved"
    UNDECIDED = "undecided"
    UNKNOWN = "unknown"  # undecided in every way to write a program


@dataclass(frozen=True)
class Proof:
    """What came of an attempt."""

    verdict: Verdict
    witness: Floats | None = None  # [n] a point in or near which the claim fails
    open: tuple[Floats, Floats] | None = None  # [M, n] ends of the boxes that are undecided


def prove(
    program: Program,
    low: Floats,
    high: Floats,
    claim: Claim,
    column: int | None = None,
    order: int = 0,
    most: int = _MOST,
) -> Proof:
    """Try to prove a claim of a program in boxes.

    Args:
        program: what the claim is about.
        low: the least value of each variable, in each of some boxes [M, n].
        high: the largest.
        claim: what is to hold.
        column: the variable that slopes are by.
        order: what bounds the claim asks for, see `bounds`.
        most: boxes to look at.

    >>> box = np.array([[0.5]]), np.array([[20.0]])
    >>> for text in ("x - sin(x)", "x - 1.5*sin(x)"):
    ...     print(prove(Program.parse(text), *box, rises, column=0, order=1).verdict.value)
    proved
    disproved
    """
    used = [at for at, each in enumerate(program.library.variable_ids) if each in program.tokens]
    low, high = _split_at_0(np.asarray(low), np.asarray(high), used)
    widths = np.maximum((high - low).max(axis=0), 1e-300)
    looked_at = fruitless = 0
    for _ in range(_TIMES):
        looked_at += len(low)
        middle = low / 2 + high / 2
        holds, fails = claim(bounds(program, low, high, column, order))
        if not holds.all():  # a point may show what is too narrow to fill a box
            fails = fails | claim(bounds(program, middle, middle, column, order))[1]
        if fails.any():
            return Proof(Verdict.DISPROVED, middle[int(np.argmax(fails))])
        left = ~holds
        if not left.any():
            return Proof(Verdict.PROVED)
        fruitless = 0 if holds.any() else fruitless + 1
        low, high = low[left], high[left]
        if looked_at + 2 * len(low) > most or not used or fruitless > _FRUITLESS + len(used):
            break
        low, high = _halved(low, high, _across(program, low, high, widths, used, column, order))
    return Proof(Verdict.UNDECIDED, open=(low, high))


def _split_at_0(low: Floats, high: Floats, used: list[int]) -> tuple[Floats, Floats]:
    """The boxes, those with 0 inside a range as two: many functions change there."""
    for at in used:
        inside = (low[:, at] < 0) & (high[:, at] > 0)
        if inside.any():
            below, above = high[inside].copy(), low[inside].copy()
            below[:, at] = above[:, at] = 0.0
            low = np.concatenate([low[~inside], low[inside], above])
            high = np.concatenate([high[~inside], below, high[inside]])
    return low, high


def _across(
    program: Program,
    low: Floats,
    high: Floats,
    widths: Floats,
    used: list[int],
    column: int | None,
    order: int,
) -> NDArray[np.intp]:
    """The column to halve each box across: that which bounds depend on most.

    That is the one without which, in the middle of its range, they would be closest.
    """
    shares = ((high - low) / widths)[:, used]
    found: NDArray[np.intp] = np.asarray(used)[np.argmax(shares, axis=1)]
    if len(used) == 1:
        return found
    closest = np.full(len(low), np.inf)
    for at in used:
        lower, upper = low.copy(), high.copy()
        lower[:, at] = upper[:, at] = low[:, at] / 2 + high[:, at] / 2
        bound = bounds(program, lower, upper, column, order)
        of = (bound.value, bound.slope, bound.curve)[order]
        assert of is not None
        with np.errstate(invalid="ignore"):
            apart = np.where(bound.sure, of.high - of.low, np.inf)
        better = (apart < closest) & (high[:, at] > low[:, at])
        closest, found = np.where(better, apart, closest), np.where(better, at, found)
    return found


def _halved(low: Floats, high: Floats, across: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Each box as two halves, across a column of its own."""
    rows = np.arange(len(low))
    middle = low[rows, across] / 2 + high[rows, across] / 2
    left, right = high.copy(), low.copy()
    left[rows, across] = right[rows, across] = middle
    return np.concatenate([low, right]), np.concatenate([left, high])


def unclear(program: Program, low: Floats, high: Floats, most: int = _MOST) -> list[Floats]:
    """Small boxes [2, n] in which a program may have no value; none if it has one everywhere.

    Poles and the ends of domains lie in these.

    >>> law = Program.parse("1/(x - 1.0)")
    >>> found = unclear(law, np.array([0.0]), np.array([3.0]))
    >>> all(abs(each - 1.0).max() < 1e-3 for each in found), len(found) > 0
    (True, True)
    >>> unclear(Program.parse("1/(x*x + 1.0)"), np.array([0.0]), np.array([3.0]))
    []
    """
    proof = prove(program, low[None, :], high[None, :], defined, most=most)
    if proof.verdict is Verdict.PROVED or proof.open is None:
        return []
    return [np.stack(ends) for ends in zip(*proof.open, strict=True)]


# Claims.


def defined(found: Bounds) -> tuple[Flags, Flags]:
    """There is a value, and no infinite one."""
    finite = np.isfinite(found.value.low) & np.isfinite(found.value.high)
    return found.sure & finite, np.zeros_like(found.sure)


def rises(found: Bounds) -> tuple[Flags, Flags]:
    """The values never fall as the column grows."""
    assert found.slope is not None
    return found.sure & (found.slope.low >= 0), found.sure & (found.slope.high < 0)


def falls(found: Bounds) -> tuple[Flags, Flags]:
    """The values never rise."""
    assert found.slope is not None
    return found.sure & (found.slope.high <= 0), found.sure & (found.slope.low > 0)


def bends_up(found: Bounds) -> tuple[Flags, Flags]:
    """The slope never falls."""
    assert found.curve is not None
    return found.sure & (found.curve.low >= 0), found.sure & (found.curve.high < 0)


def bends_down(found: Bounds) -> tuple[Flags, Flags]:
    """The slope never rises."""
    assert found.curve is not None
    return found.sure & (found.curve.high <= 0), found.sure & (found.curve.low > 0)


def between(low: float, high: float, slack: float) -> Claim:
    """The values are between two numbers, but for what rounding may do."""

    def claim(found: Bounds) -> tuple[Flags, Flags]:
        value = found.value
        inside = (value.low >= low - slack) & (value.high <= high + slack)
        outside = (value.low > high + slack) | (value.high < low - slack)
        return found.sure & inside, found.sure & outside

    return claim
