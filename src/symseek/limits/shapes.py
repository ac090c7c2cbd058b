"""The limits on how a formula's values change: checked while formulas are searched, then proved.

A search asks of every program on a few points, and of those that come to its front on many. Of the
formulas that are left in the end each limit is proved by interval arithmetic, by the symmetry of
operators or by what grows fastest. Where that decides nothing, the points stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from symseek.algebra.forms import styled
from symseek.arrays import Floats
from symseek.groups import Grouping
from symseek.limits import proofs
from symseek.limits.forms import (
    Bounded,
    Concave,
    Convex,
    Decreasing,
    Even,
    Increasing,
    Limit,
    Odd,
    Tends,
)
from symseek.limits.parity import parity
from symseek.limits.points import Points, Region
from symseek.limits.proofs import Claim, Proof, Verdict
from symseek.limits.tendency import tendency
from symseek.programs import Program

MANY = 4096  # points that a formula is checked on, for each limit
_DOUBTED, _CLOSELY = 100, 41  # boxes that no proof decides, and points along a line through each
_STYLES = ("best", "expanded")
_SLACK = 1e-9  # relative: what a value may be beyond a bound, by rounding
_REACHED = 1e-6  # relative: how near to a limit is at it

_CLAIMS: dict[type[Limit], tuple[Claim, int]] = {
    Increasing: (proofs.rises, 1),
    Decreasing: (proofs.falls, 1),
    Convex: (proofs.bends_up, 2),
    Concave: (proofs.bends_down, 2),
}


def itself(program: Program, of: str) -> Program:
    """What limits are about, unless formulas stand for something else."""
    return program


@dataclass(frozen=True)
class Shapes:
    """Limits on values, with the rows of a table that say where they hold.

    >>> limits = (Increasing("x"), Bounded(low=0.0))
    >>> shapes = Shapes(limits, ("x",), np.linspace(1, 2, 9)[:, None], spread=1.0)
    >>> for text in ("x**2", "x - 3.0", "1/x"):
    ...     print(shapes.allow(Program.parse(text)))
    True
    False
    False
    >>> shapes.said(Program.parse("x - sin(x)"))
    ('x: increasing, proved', 'value: >= 0, proved')
    """

    limits: tuple[Limit, ...]
    columns: tuple[str, ...]  # of the table
    rows: Floats  # [R, n] of the table, in the user's units
    spread: float  # of the target
    grouping: Grouping | None = None  # whose column is the last
    whole: Callable[[Program, str], Program] = itself  # from formulas to what limits are of
    _known: dict[tuple[Limit, Program], Verdict] = field(
        default_factory=dict, compare=False, repr=False
    )

    @cached_property
    def points(self) -> list[Points]:
        """Many points for each limit."""
        return self.some(MANY)

    def some(self, size: int) -> list[Points]:
        """About so many points for each limit."""
        return [
            Points.of(each, self.columns, self._region(each), size, self.spread)
            for each in self.limits
        ]

    def _region(self, limit: Limit) -> Region:
        return Region.of(limit, self.columns, self.rows, self.grouping)

    def allow(self, program: Program) -> bool:
        """Whether a formula keeps to all limits, as far as points show."""
        wholes = {each.of: self.whole(program, each.of) for each in self.limits}
        return not any(
            points.broken(wholes[points.limit.of].evaluate(points.flat)[None, :])[0]
            for points in self.points
        )

    def hold(self, program: Program) -> bool:
        """The same, and no limit is disproved between points."""
        return self.allow(program) and all(
            self._verdict(each, program) is not Verdict.DISPROVED for each in self.limits
        )

    def said(self, program: Program) -> tuple[str, ...]:
        """How each limit is known to hold for a formula that keeps to all."""
        return tuple(
            f"{each}, proved"
            if self._proved(each, program)
            else f"{each}, checked on {points.count:,} points"
            for each, points in zip(self.limits, self.points, strict=True)
        )

    def _verdict(self, limit: Limit, program: Program) -> Verdict:
        """What can be proved of a formula as it is."""
        key = limit, program
        if key not in self._known:
            self._known[key] = self._decided(limit, self.whole(program, limit.of))
        return self._known[key]

    def _proved(self, limit: Limit, program: Program) -> bool:
        """Whether it can be of the formula as it is, or else as it is written for people."""
        if self._verdict(limit, program) is Verdict.UNDECIDED:
            whole = self.whole(program, limit.of)
            ways = (styled(whole, style).owning(whole) for style in _STYLES)
            proved = any(self._decided(limit, each) is Verdict.PROVED for each in ways)
            self._known[limit, program] = Verdict.PROVED if proved else Verdict.UNKNOWN
        return self._known[limit, program] is Verdict.PROVED

    def _decided(self, limit: Limit, program: Program) -> Verdict:
        return _verdict(program, limit, self.columns, self._region(limit), self.spread)


def _verdict(
    program: Program, limit: Limit, columns: Sequence[str], region: Region, spread: float
) -> Verdict:
    """What can be proved of a limit."""
    low, high = _boxes(program, region)
    if isinstance(limit, Bounded):
        ends = [abs(each) for each in (limit.low, limit.high) if np.isfinite(each)]
        size = max(ends, default=0.0)
        claim = proofs.between(limit.low, limit.high, _SLACK * size)
        return _doubted(program, limit, region, proofs.prove(program, low, high, claim), None)
    column = list(columns).index(str(limit.about))
    if isinstance(limit, Even | Odd):
        found = parity(program, column)
        wanted = "even" if isinstance(limit, Even) else "odd"
        return Verdict.PROVED if found in (wanted, "zero") else Verdict.UNDECIDED
    if isinstance(limit, Tends):
        slack = _REACHED * max(spread, abs(limit.value))
        return _tends(limit, program, column, low, high, slack)
    claim, order = _CLAIMS[type(limit)]
    proof = proofs.prove(program, low, high, claim, column, order)
    return _doubted(program, limit, region, proof, column)


def _doubted(
    program: Program, limit: Limit, region: Region, proof: Proof, column: int | None
) -> Verdict:
    """What comes of a proof; where it decides nothing, values there are looked at closely.

    Values may leap across a pole that lies between all points.
    """
    if proof.verdict is not Verdict.UNDECIDED or proof.open is None:
        return proof.verdict
    low, high = (each[:_DOUBTED, : len(region.low)] for each in proof.open)
    lines = np.repeat(((low + high) / 2)[:, None, :], _CLOSELY, axis=1)
    for at in range(len(region.low)) if column is None else [column]:
        wide = 3 * (high[:, at] - low[:, at])
        begin = np.maximum(low[:, at] - wide, region.low[at])
        end = np.minimum(high[:, at] + wide, region.high[at])
        lines[:, :, at] = np.linspace(begin, end, _CLOSELY, axis=1)
    points = Points(limit, lines, np.zeros(lines.shape[:2], dtype=bool), 1.0)
    lost = points.broken(program.evaluate(points.flat)[None, :])[0]
    return Verdict.DISPROVED if lost else Verdict.UNDECIDED


def _boxes(program: Program, region: Region) -> tuple[Floats, Floats]:
    """The box of a region; with groups one for each, with its own numbers."""
    if region.grouping is None:
        return region.low[None, :], region.high[None, :]
    codes = np.arange(len(region.grouping.labels), dtype=np.float64)
    low, high = np.tile(region.low, (len(codes), 1)), np.tile(region.high, (len(codes), 1))
    low[:, -1] = high[:, -1] = codes
    return program.widened(low), program.widened(high)


def _tends(
    limit: Tends, program: Program, column: int, low: Floats, high: Floats, slack: float
) -> Verdict:
    """Whether a program tends to a number in each of some boxes, by the scales of its parts."""
    sides = [1]
    if limit.to == 0:
        sides = [
            side for side, is_there in ((-1, low < 0), (1, high > 0)) if is_there[:, column].any()
        ]
    verdict = Verdict.PROVED
    for least, most in zip(low, high, strict=True):
        for side in sides or [1]:
            found = tendency(program, column, limit.to, side, least, most)
            if found is None:
                verdict = Verdict.UNDECIDED
            elif found.low > limit.value + slack or found.high < limit.value - slack:
                return Verdict.DISPROVED
            elif not (found.low >= limit.value - slack and found.high <= limit.value + slack):
                verdict = Verdict.UNDECIDED
    return verdict
