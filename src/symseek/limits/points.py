"""Points to check a limit on, and whether values there break it.

A limit of how values change is checked along lines: one column goes through its range while the
others stay, as they are in rows of the table or anywhere in the box. What falls from one point of a
line to another by no more than rounding may is no fall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from symseek.arrays import Floats
from symseek.groups import Grouping
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
from symseek.limits.intervals import Flags

_BEYOND = 0.2  # of a column's range, to either side of it
_RELATIVE, _ROUNDING = 1e-9, 1e-13  # of the range of values, and of their size: no difference
_STRIDES = (1, 4, 16)  # between the points whose slopes are compared
_DECADES = np.array([1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0])  # on the way to infinity
_REACHED, _NEAR, _FALLS = 1e-6, 1e-2, 0.95  # distances from what values tend to, and their ratio
_MOST_CORNERS = 6  # columns whose corners are looked at


@dataclass(frozen=True)
class Region:
    """The box that a limit is about: a range for each column, and rows of the table."""

    low: Floats  # [n]
    high: Floats  # [n]
    given: Flags  # [n] the range was given
    rows: Floats  # [R, n]
    grouping: Grouping | None = None  # whose column is the last

    @classmethod
    def of(
        cls, limit: Limit, columns: Sequence[str], rows: Floats, grouping: Grouping | None
    ) -> Region:
        """The region of a limit in a table.

        Where no range is given it is that of the rows and a fifth more on either side; but a
        column whose values are all of one sign keeps it, and goes at most half the way to 0.

        >>> rows = np.array([[1.0, -1.0], [11.0, 1.0]])
        >>> found = Region.of(Increasing("x"), ["x", "z"], rows, None)
        >>> found.low.tolist(), found.high.tolist()
        ([0.5, -1.4], [13.0, 1.4])
        """
        least, most = rows.min(axis=0), rows.max(axis=0)
        more = _BEYOND * (most - least)
        low = np.where(least >= 0, np.maximum(least - more, least / 2), least - more)
        high = np.where(most <= 0, np.minimum(most + more, most / 2), most + more)
        if grouping is not None:
            low[-1], high[-1] = least[-1], most[-1]
        given = np.zeros(len(columns), dtype=bool)
        for name, *ends in limit.ranges:
            at = list(columns).index(name)
            low[at], high[at], given[at] = *ends, True
        return cls(low, high, given, rows, grouping)

    def rows_inside(self, count: int) -> Floats:
        """Some rows; columns with a range that was given go through it."""
        chosen = np.unique(np.linspace(0, len(self.rows) - 1, count).astype(np.intp))
        found = self.rows[chosen]
        if self.given.any():
            found = np.where(self.given, self.anywhere(len(found)), found)
        return found

    def anywhere(self, count: int) -> Floats:
        """Points all over the box; of groups, one after another."""
        found = self.low + _even_spread(count, len(self.low)) * (self.high - self.low)
        if self.grouping is not None:
            found[:, -1] = np.arange(count) % len(self.grouping.labels)
        return found

    def at_ends(self, count: int) -> Floats:
        """Points with every column at an end of its range, but for that of groups."""
        spread = _even_spread(count, len(self.low))
        found = np.where(spread < 0.5, self.low, self.high)
        if self.grouping is not None:
            found[:, -1] = np.arange(count) % len(self.grouping.labels)
        return found

    def corners(self) -> Floats:
        """The corners of the box, unless there are many."""
        free = np.flatnonzero(self.high > self.low)
        if self.grouping is not None or len(free) > _MOST_CORNERS:
            return np.empty((0, len(self.low)))
        bits = np.arange(2 ** len(free))[:, None] >> np.arange(len(free)) & 1
        found = np.tile(self.low, (len(bits), 1))
        found[:, free] = np.where(bits, self.high[free], self.low[free])
        return found


@dataclass(frozen=True)
class Points:
    """Where a limit is checked: lines of points, along each of which the limit's column changes."""

    limit: Limit
    X: Floats  # [L, P, n]
    needed: Flags  # [L, P] a formula must have a value there
    spread: float  # of the target, which says what is near

    @classmethod
    def of(
        cls, limit: Limit, columns: Sequence[str], region: Region, size: int, spread: float
    ) -> Points:
        """About so many points."""
        if isinstance(limit, Bounded):
            return cls._scattered(limit, region, size, spread)
        column = list(columns).index(str(limit.about))
        lines, along = _balanced(size, region, column)
        anchors, some = _anchors(region, lines)
        places = _places(limit, region, column, along)
        X = np.repeat(anchors, len(places), axis=0)[:, None, :].repeat(places.shape[1], axis=1)
        X[:, :, column] = np.tile(places, (len(anchors), 1))
        needed = np.zeros(X.shape[:2], dtype=bool)
        if region.given[column] and not isinstance(limit, Tends):
            needed[: some * len(places)] = True
        return cls(limit, X, needed, spread)

    @classmethod
    def _scattered(cls, limit: Limit, region: Region, size: int, spread: float) -> Points:
        """Points in rows, in the corners of the box and all over it, each a line of its own."""
        inside, spots = region.rows_inside(size // 2), region.anywhere(size)
        if len(region.low) == 1:
            inside, spots = np.linspace(region.low, region.high, size), region.rows_inside(size)
        X = np.concatenate([inside, region.corners(), spots])[:, None, :]
        needed = np.arange(len(X)) < (len(inside) if region.given.any() else 0)
        return cls(limit, X, needed[:, None], spread)

    @property
    def count(self) -> int:
        """How many points there are."""
        return int(np.prod(self.X.shape[:2]))

    @property
    def flat(self) -> Floats:
        """The points as rows [L P, n]."""
        return self.X.reshape(self.count, self.X.shape[2])

    def scaled(self, by: Floats) -> Points:
        """The points in other units."""
        return replace(self, X=self.X / by)

    def broken(self, values: Floats) -> Flags:
        """Which formulas [B] with these values [B, L P] break the limit."""
        lines = values.reshape(len(values), *self.X.shape[:2])
        with np.errstate(all="ignore"):
            lost = (self.needed & ~np.isfinite(lines)).any(axis=(1, 2))
            return np.asarray(lost | _BROKEN[type(self.limit)](self, lines))


def _even_spread(count: int, dimensions: int) -> Floats:
    """Points [count, dimensions] from 0 to 1 that leave no part out: multiples of irrationals."""
    ratio = 2.0
    for _ in range(40):  # the root of r^(d+1) = r + 1, which spreads them best
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    steps = np.power(ratio, -np.arange(1.0, dimensions + 1))
    found: Floats = (0.5 + np.arange(1.0, count + 1)[:, None] * steps) % 1.0
    return found


def _balanced(size: int, region: Region, column: int) -> tuple[int, int]:
    """How many lines, and how many points along each."""
    others = np.flatnonzero(region.high > region.low)
    groups = 1 if region.grouping is None else len(region.grouping.labels)
    others = others[others != column]
    if region.grouping is not None:
        others = others[others != len(region.low) - 1]
    lines = max(2 * groups + 2, round(size**0.5 / 1.5)) if len(others) else groups
    return lines, max(24, size // lines)


def _anchors(region: Region, lines: int) -> tuple[Floats, int]:
    """What the other columns are along each line, and how many lines have them as rows do.

    Half are as in rows, the others anywhere and at the ends of the box.

    Where there are no others, but for that of the groups, every line counts as one in rows.
    """
    groups = 1 if region.grouping is None else len(region.grouping.labels)
    if lines == groups:
        return region.anywhere(lines), lines
    ends = lines // 4
    inside = region.rows_inside(lines - lines // 2)
    anywhere = region.anywhere(lines // 2 - ends)
    return np.concatenate([inside, anywhere, region.at_ends(ends)]), len(inside)


def _places(limit: Limit, region: Region, column: int, along: int) -> Floats:
    """Where the column goes, [sides, P]."""
    low, high = float(region.low[column]), float(region.high[column])
    if isinstance(limit, Even | Odd):
        most = max(abs(low), abs(high))
        half = np.linspace(0.0, most, along // 2 + 1)[1:]
        return np.concatenate([-half[::-1], half])[None, :]
    if not isinstance(limit, Tends):
        return np.linspace(low, high, along)[None, :]
    size = max(abs(low), abs(high)) or 1.0
    if limit.to == 0:
        sides = [sign for sign, is_there in ((-1.0, low < 0), (1.0, high > 0)) if is_there]
        return np.array([sign * size * 10.0**-_DECADES for sign in sides or [1.0]])
    far: Floats = np.sign(limit.to) * size * 10.0**_DECADES
    return far[None, :]


# Whether values [B, L, P] break a limit.


def _slack(lines: Floats) -> Floats:
    """What is no difference on each line [B, L, 1]."""
    finite = np.where(np.isfinite(lines), lines, np.nan)
    high = np.fmax.reduce(finite, axis=2, keepdims=True)
    low = np.fmin.reduce(finite, axis=2, keepdims=True)
    size = np.maximum(np.abs(high), np.abs(low))
    slack: Floats = _RELATIVE * (high - low) + _ROUNDING * size
    return slack


def _falling(points: Points, lines: Floats, sign: float) -> Flags:
    """Whether values fall from one point of a line to a later one."""
    values = sign * np.where(np.isfinite(lines), lines, np.nan)
    before = np.fmax.accumulate(values, axis=2)[:, :, :-1]
    return np.asarray((values[:, :, 1:] < before - _slack(lines)).any(axis=(1, 2)))


def _bending(points: Points, lines: Floats, sign: float) -> Flags:
    """Whether a slope along a line is below one before."""
    values, slack = sign * lines, 4 * _slack(lines)
    bends = np.zeros(len(values), dtype=bool)
    for stride in _STRIDES:
        if values.shape[2] > 2 * stride:
            middle = values[:, :, stride:-stride]
            second = values[:, :, : -2 * stride] - 2 * middle + values[:, :, 2 * stride :]
            bends |= (np.isfinite(second) & (second < -slack)).any(axis=(1, 2))
    return bends


def _lopsided(points: Points, lines: Floats, sign: float) -> Flags:
    """Whether the values on one side of 0 are other than those on the other."""
    turned = sign * lines[:, :, ::-1]
    alone = np.isfinite(turned) != np.isfinite(lines)
    both = np.isfinite(turned) & np.isfinite(lines)
    apart = both & (np.abs(lines - turned) > _slack(lines))
    return np.asarray((alone | apart).any(axis=(1, 2)))


def _outside(points: Points, lines: Floats) -> Flags:
    limit = points.limit
    assert isinstance(limit, Bounded)
    slack = {
        each: _RELATIVE * abs(each) if np.isfinite(each) else 0.0
        for each in (limit.low, limit.high)
    }
    finite = np.where(np.isfinite(lines), lines, 0.0)
    size = _ROUNDING * np.abs(finite).max(axis=(1, 2), keepdims=True)
    below = lines < limit.low - slack[limit.low] - size
    above = lines > limit.high + slack[limit.high] + size
    return np.asarray((below | above).any(axis=(1, 2)))


def _elsewhere(points: Points, lines: Floats) -> Flags:
    """Whether values do not come near what they are to tend to.

    They do if two of them one after another have reached it and the last is near, or if they come
    nearer all the way. The farthest may be too large to be computed, but a few must be there.
    """
    limit = points.limit
    assert isinstance(limit, Tends)
    off = np.abs(lines - limit.value) / max(points.spread, abs(limit.value))
    known = np.isfinite(off)
    farthest = known.shape[2] - 1 - np.argmax(known[:, :, ::-1], axis=2)
    last = np.take_along_axis(off, farthest[:, :, None], axis=2)[:, :, 0]
    reached = known & (off < _REACHED)
    twice = (reached[:, :, 1:] & reached[:, :, :-1]).any(axis=2)
    both = known[:, :, 1:] & known[:, :, :-1]
    nearer = ~both | reached[:, :, 1:] | (off[:, :, 1:] < _FALLS * off[:, :, :-1])
    comes = nearer.all(axis=2) & (np.count_nonzero(known, axis=2) > 2)
    return np.asarray(~((twice | comes) & (last < _NEAR)).all(axis=1))


_BROKEN = {
    Increasing: lambda points, lines: _falling(points, lines, 1.0),
    Decreasing: lambda points, lines: _falling(points, lines, -1.0),
    Convex: lambda points, lines: _bending(points, lines, 1.0),
    Concave: lambda points, lines: _bending(points, lines, -1.0),
    Even: lambda points, lines: _lopsided(points, lines, 1.0),
    Odd: lambda points, lines: _lopsided(points, lines, -1.0),
    Bounded: _outside,
    Tends: _elsewhere,
}
