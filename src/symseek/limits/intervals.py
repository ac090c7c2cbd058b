"""Interval arithmetic on arrays: bounds that hold for every number between two others.

Bounds are rounded outwards, so that rounding cannot make them wrong, and exact zeros stay zeros, so
that signs are not lost. Where a function has values on a part of an interval only, its bounds are
those on that part. Overflow is no error: a bound is then infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats

Flags: TypeAlias = NDArray[np.bool_]

_ULPS = 4  # by which a function of NumPy's may be off, at most
_GRAIN = 4096.0  # products of small multiples of 1/4096 are exact
_WAVES = 1e8  # beyond it, sine and cosine may be anything
_TINY = 5e-324


@dataclass(frozen=True)
class Interval:
    """All numbers from `low` to `high`, place by place.

    >>> print(Interval.of(1, 2) * Interval.of(-3, 4) - 1)
    [-7, 7]
    """

    low: Floats
    high: Floats

    @classmethod
    def of(cls, low: float, high: float | None = None) -> Interval:
        """An interval of numbers; with one number, that alone."""
        return cls(np.asarray(float(low)), np.asarray(float(low if high is None else high)))

    @classmethod
    def hull(cls, *several: Interval) -> Interval:
        """The least interval that contains others."""
        low, high = several[0].low, several[0].high
        for each in several[1:]:
            low, high = np.minimum(low, each.low), np.maximum(high, each.high)
        return cls(low, high)

    def __str__(self) -> str:
        return f"[{self.low:.6g}, {self.high:.6g}]"

    def contains(self, value: Floats | float) -> Flags:
        """Whether a number is in it, ends included."""
        return np.asarray((self.low <= value) & (value <= self.high))

    def where(self, condition: Flags, other: Interval) -> Interval:
        """This where a condition holds, else another."""
        return Interval(
            np.where(condition, self.low, other.low), np.where(condition, self.high, other.high)
        )

    def clipped(self, low: float, high: float) -> Interval:
        """The part between two numbers; where there is none, the nearer of them."""
        return Interval(np.clip(self.low, low, high), np.clip(self.high, low, high))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval | float) -> Interval:
        by = other if isinstance(other, Interval) else Interval.of(other)
        return Interval(_sum_below(self.low, by.low), -_sum_below(-self.high, -by.high))

    def __sub__(self, other: Interval | float) -> Interval:
        by = other if isinstance(other, Interval) else Interval.of(other)
        return self + -by

    def __mul__(self, other: Interval | float) -> Interval:
        by = other if isinstance(other, Interval) else Interval.of(other)
        pairs = [(a, b) for a in (self.low, self.high) for b in (by.low, by.high)]
        ends = [_product(*pair) for pair in pairs]
        low = np.minimum(np.minimum(ends[0][0], ends[1][0]), np.minimum(ends[2][0], ends[3][0]))
        high = np.maximum(np.maximum(ends[0][1], ends[1][1]), np.maximum(ends[2][1], ends[3][1]))
        return Interval(low, high)

    __radd__ = __add__
    __rmul__ = __mul__

    def inverse(self) -> Interval:
        """One over it; unbounded where 0 is inside, half bounded where 0 is an end."""
        inside = (self.low < 0) & (self.high > 0)
        low = np.where(self.high == 0, -np.inf, _down(1.0 / self.high))
        high = np.where(self.low == 0, np.inf, _up(1.0 / self.low))
        return Interval(np.where(inside, -np.inf, low), np.where(inside, np.inf, high))

    def power(self, exponent: int) -> Interval:
        """It to a whole power above 0."""
        if exponent == 1:
            return self
        if exponent % 2:
            return Interval(_power(self.low, exponent)[0], _power(self.high, exponent)[1])
        sizes = np.abs(self.low), np.abs(self.high)
        least = np.where(self.contains(0.0), 0.0, np.minimum(*sizes))
        return Interval(_power(least, exponent)[0], _power(np.maximum(*sizes), exponent)[1])

    @property
    def size(self) -> Interval:
        """The absolute value."""
        sizes = np.abs(self.low), np.abs(self.high)
        least = np.where(self.contains(0.0), 0.0, np.minimum(*sizes))
        return Interval(least, np.maximum(*sizes))


def number(value: float) -> Interval:
    """One number."""
    return Interval.of(value)


ANYTHING = Interval.of(-np.inf, np.inf)
ZERO = Interval.of(0.0)
UPWARDS = Interval.of(0.0, np.inf)
"""What a step or a kink upwards adds to a slope: any number from 0 on."""


def _down(value: Floats) -> Floats:
    """The next number below; 0 is taken as exact."""
    return np.where(value == 0, value, np.nextafter(value, -np.inf))


def _up(value: Floats) -> Floats:
    return np.where(value == 0, value, np.nextafter(value, np.inf))


def _sum_below(a: Floats, b: Floats) -> Floats:
    """A lower bound of a sum: the sum itself where it is exact."""
    total = a + b
    other = total - a
    lost = (a - (total - other)) + (b - other)
    found = np.where(lost >= 0, total, np.nextafter(total, -np.inf))
    unclear = np.isinf(total) & np.isfinite(a) & np.isfinite(b)
    found = np.where(unclear & (total > 0), np.finfo(float).max, found)
    found = np.where(np.isinf(a) | np.isinf(b), total, found)
    return np.where(np.isnan(total), -np.inf, found)


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Bounds of a product of two ends; 0 times infinity is 0, since no number is infinite."""
    found = a * b
    zero = (a == 0) | (b == 0)
    lost = (found == 0) & ~zero
    below = (a < 0) ^ (b < 0)
    exact = zero | (_is_short(a) & _is_short(b)) | np.isinf(a) | np.isinf(b)
    found = np.where(zero, 0.0, found)
    low = np.where(exact, found, _down(found))
    high = np.where(exact, found, _up(found))
    return np.where(lost & below, -_TINY, low), np.where(lost & ~below, _TINY, high)


def _is_short(a: Floats) -> Flags:
    scaled = a * _GRAIN
    return np.asarray((np.abs(a) < _GRAIN) & (np.rint(scaled) == scaled))


def _power(a: Floats, exponent: int) -> tuple[Floats, Floats]:
    low, high = np.asarray(a), np.asarray(a)
    for _ in range(exponent - 1):
        ends = _product(low, np.asarray(a)), _product(high, np.asarray(a))
        low, high = np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])
    return low, high


# Functions that only rise or only fall, by their values at the ends.


def rising(
    function: Callable[[Floats], Floats], a: Interval, low: float = -np.inf, high: float = np.inf
) -> Interval:
    """The values of a function that rises, between what it is at least and at most."""
    found = Interval(_off(function(a.low), -1.0), _off(function(a.high), 1.0))
    return found.clipped(low, high)


def falling(
    function: Callable[[Floats], Floats], a: Interval, low: float = -np.inf, high: float = np.inf
) -> Interval:
    """The values of a function that falls."""
    found = Interval(_off(function(a.high), -1.0), _off(function(a.low), 1.0))
    return found.clipped(low, high)


def _off(value: Floats, side: float) -> Floats:
    """A value that a function has computed, moved by the most it may be off; 0 is exact."""
    moved = value + side * _ULPS * np.finfo(float).eps * np.abs(value)
    # An overflow was some large number.
    moved = np.where(np.isposinf(value) & (side < 0), np.finfo(float).max, moved)
    moved = np.where(np.isneginf(value) & (side > 0), -np.finfo(float).max, moved)
    return np.where(np.isnan(moved), side * np.inf, moved)


def exponential(a: Interval) -> Interval:
    """exp; what underflows is above 0, if by less than any number."""
    low, high = np.exp(a.low), np.exp(a.high)
    # Below the normal numbers a few digits are left.
    low = np.where(low < 1e-300, 0.0, _off(low, -1.0))
    high = np.where(high < 1e-300, np.where(np.isneginf(a.high), 0.0, 1e-300), _off(high, 1.0))
    return Interval(low, high)


def logarithm(a: Interval) -> Interval:
    """log, where there is one."""
    found = rising(np.log, a.clipped(0.0, np.inf))
    return Interval(np.where(a.low <= 0, -np.inf, found.low), found.high)


def root(a: Interval) -> Interval:
    """The square root, where there is one."""
    return rising(np.sqrt, a.clipped(0.0, np.inf), 0.0)


def _meets(a: Interval, first: float, period: float) -> Flags:
    """Whether one of the points first + k period is inside, or so near that it may be."""
    slack = 1e-12 * (1.0 + np.abs(a.low) + np.abs(a.high))
    wide = ~((np.abs(a.low) < _WAVES) & (np.abs(a.high) < _WAVES))
    places = [np.floor((end - first) / period) for end in (a.low - slack, a.high + slack)]
    return np.asarray(wide | (places[0] != places[1]))


def sine(a: Interval) -> Interval:
    """sin."""
    ends = np.sin(a.low), np.sin(a.high)
    low = np.where(_meets(a, -np.pi / 2, 2 * np.pi), -1.0, _off(np.minimum(*ends), -1.0))
    high = np.where(_meets(a, np.pi / 2, 2 * np.pi), 1.0, _off(np.maximum(*ends), 1.0))
    return Interval(low, high).clipped(-1.0, 1.0)


def cosine(a: Interval) -> Interval:
    """cos."""
    ends = np.cos(a.low), np.cos(a.high)
    low = np.where(_meets(a, np.pi, 2 * np.pi), -1.0, _off(np.minimum(*ends), -1.0))
    high = np.where(_meets(a, 0.0, 2 * np.pi), 1.0, _off(np.maximum(*ends), 1.0))
    return Interval(low, high).clipped(-1.0, 1.0)


def tangent(a: Interval) -> tuple[Interval, Flags]:
    """tan, and whether a pole may be inside."""
    pole = _meets(a, np.pi / 2, np.pi)
    return ANYTHING.where(pole, rising(np.tan, a)), pole
