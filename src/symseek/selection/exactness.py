"""Is a fit exact? What the target's own digits say.

A true law meets float64 data to the last digits, about 1e-14 of their spread. A target given to six
digits is met to half a unit of the sixth. An error above that is not explained by rounding: the
formula may be a good approximation and no more. And a formula with enough numbers meets any few
rows, so that a fit counts as proven only when the rows hold far more digits than the formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symseek.arrays import Floats
from symseek.data import Data, Scales
from symseek.programs import Program

_EPS = float(np.finfo(np.float64).eps)
_ARITHMETIC = 1e-14  # of the spread of y: what float64 loses in some tens of operations
_ULPS = 8  # of the largest y, where that is far from its spread
_MOST_DIGITS = 12  # a number with more significant digits is taken as a full float64
_MARGIN = 10.0  # nats by which the digits must outweigh the formula: chances of 1 in 20,000
_MOST = 2_000  # rows that are looked at, where some tell as much as all
_READ = 10_000  # numbers whose digits are counted
_UNIFORM = 1 / 12  # the mean square of a rounding error, in units of the last digit


@dataclass(frozen=True)
class Digits:
    """How finely the columns of some rows are known.

    >>> y = np.array([0.5, 1.234, 20.0, 3.75])
    >>> digits = Digits.of(Data(np.zeros((4, 1)), y, np.ones(4)))
    >>> digits.step.tolist(), digits.explain(np.array([4e-4, 0.0, -4e-4, 0.0]))
    ([0.001, 0.001, 0.001, 0.001], True)
    """

    step: Floats  # [N] the unit of the last digit of each y; 0 where it is a full float64
    inputs: Floats  # [k, n] the same of the inputs that were rounded, on the rows looked at
    tolerance: float  # the root mean square that arithmetic alone explains
    spread: float

    @classmethod
    def of(cls, data: Data, scales: Scales | None = None) -> Digits:
        """The digits of these rows, for the same rows in other units if there are scales."""
        scales = scales or Scales.none(data.X.shape[1])
        step, inputs = _steps(data.y), np.zeros_like(_looked_at(data.X))
        if step.any():  # a target with all digits was computed from the inputs as they stand
            for at, column in enumerate(data.X.T):
                if _measured(column):
                    inputs[:, at] = _looked_at(_steps(column, coarse=True))
        spread, largest = data.spread / scales.target, float(np.abs(data.y).max()) / scales.target
        tolerance = max(_ARITHMETIC * spread, _ULPS * _EPS * largest)
        return cls(step / scales.target, inputs / scales.inputs, tolerance, spread)

    def explain(self, residuals: Floats) -> bool:
        """Whether residuals [N] are no larger than rounding of the target makes them."""
        return self._grain(residuals) is not None

    def beyond_chance(self, residuals: Floats, length: int, constants: int, tokens: int) -> bool:
        """Whether residuals are that small by more than chance, for so many tokens of a library."""
        grain = self._grain(residuals)
        if grain is None:
            return False
        known = float(np.mean(np.log(np.maximum(self.spread / grain, 1.0))))
        return (len(residuals) - constants) * known >= length * math.log(tokens) + _MARGIN

    def _grain(self, residuals: Floats) -> Floats | None:
        """How finely each y is met: to the last bits, or to its digits; None if not so finely."""
        if not np.isfinite(residuals).all():
            return None
        size = np.abs(residuals)
        largest = float(size.max())
        if largest <= 1e3 * self.tolerance and _root_mean_square(size) <= self.tolerance:
            return np.full_like(self.step, self.tolerance)
        # A number half-way between two of the grid falls to either side.
        if (size <= 0.5 * self.step * (1 + 1e-6)).all():
            return np.maximum(self.step, self.tolerance)
        return None

    @cached_property
    def error(self) -> float:
        """The part of the spread of y that its rounding makes: no error below it means anything."""
        rounded = math.sqrt(_UNIFORM) * _root_mean_square(self.step)
        return math.hypot(rounded, self.tolerance) / self.spread

    def error_of(self, program: Program, X: Floats) -> float:
        """The same with the rounding of the inputs, which reaches y through a formula."""
        if not self.inputs.any():
            return min(self.error, 1.0)
        parts = [self.error]
        X, inputs = _looked_at(X), self.inputs
        values = program.evaluate(X)
        for at in np.flatnonzero(inputs.any(axis=0)):
            moved = X.copy()
            moved[:, at] += math.sqrt(_UNIFORM) * inputs[:, at]
            with np.errstate(all="ignore"):
                change = program.evaluate(moved) - values
            # A pole within rounding is no reason to believe in large errors everywhere.
            change = np.where(np.isfinite(change), change, 0.0)
            parts.append(_root_mean_square(change) / self.spread)
        return min(math.hypot(*parts), 1.0)


def _looked_at(rows: Floats) -> Floats:
    """Some of the rows, evenly spread, where there are many."""
    return rows[:: -(-len(rows) // _MOST)]


def _root_mean_square(values: Floats) -> float:
    """Without overflow."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest * math.sqrt(float(np.mean((values / largest) ** 2))) if largest else 0.0


def _measured(column: Floats) -> bool:
    """Whether an input was read off and rounded, not chosen: three digits or more, and no grid."""
    values = np.unique(column)
    digits = _least_digits(values[:: -(-len(values) // _READ)].tolist(), "e")
    if digits is None or digits < 2 or np.array_equal(np.rint(values), values):
        return False
    gaps = np.diff(values)
    return len(gaps) > 1 and bool(np.ptp(gaps) > 1e-6 * gaps.max())


def _steps(values: Floats, coarse: bool = False) -> Floats:
    """The unit of the last digit of each number, all written with as many decimals or digits.

    Where either is possible, it is the one with fewer zeros at the end or, if `coarse`, the larger.
    """
    some = values[:: -(-len(values) // _READ)].tolist()
    ways = []
    for style in ("f", "e"):
        count = _least_digits(some, style)
        if count is not None:
            shorter = sum(_reads_back(value, count - 1, style) for value in some)
            ways.append((shorter, _units(values, count, style)))
    if not ways:
        return _single_precision(values)
    if coarse:
        return np.asarray(np.max([units for _, units in ways], axis=0))
    return min(ways, key=lambda way: way[0])[1]


def _units(values: Floats, count: int, style: str) -> Floats:
    """The unit of the last of so many digits behind the point."""
    if style == "f":
        return np.full_like(values, 10.0**-count)
    size = np.abs(values)
    exponents = np.floor(np.log10(np.where(size > 0, size, 1.0)))
    return np.where(size > 0, 10.0 ** (exponents - count), 0.0)


def _single_precision(values: Floats) -> Floats:
    """The last bit of numbers that have come through float32; 0 for others."""
    with np.errstate(over="ignore"):
        single = np.array_equal(values.astype(np.float32).astype(np.float64), values)
    if single and not np.array_equal(np.rint(values), values):
        return np.abs(values) * float(np.finfo(np.float32).eps)
    return np.zeros_like(values)


def _least_digits(values: list[float], style: str) -> int | None:
    """The digits behind the point that every number gets by with; None if those are too many.

    They are counted as in 12.34 for the style f, and as in 1.234e+01 for e.
    """
    low, high = 0, _MOST_DIGITS - 1
    if style == "f":
        largest = math.ceil(math.log10(max(*map(abs, values), 1e-300)))
        low, high = max(0, -largest), min(_MOST_DIGITS - largest, 300)
    for count in range(low, high + 1):
        if all(_reads_back(value, count, style) for value in values):
            return count
    return None


def _reads_back(value: float, count: int, style: str) -> bool:
    return count >= 0 and float(f"{value:.{count}{style}}") == value
