"""What the rows say about the numbers of a formula: a record for each, and one for all together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from symseek.arrays import Floats
from symseek.uncertainty.distributions import student

LEVEL = 0.95
"""Of an interval, where no other is asked for."""


@dataclass(frozen=True)
class Constant:
    """A number in a formula, and how sure the rows make it.

    A number was fitted, and has a standard error; or it is neat, and stands in place of what least
    squares has; or the rows do not determine it, since others make up for it, as in a*b*x.

    >>> Constant(0.19764, standard_error=0.00021).shown
    '0.1976(2)'
    """

    value: float
    standard_error: float | None = None  # None where it is not known
    name: str | None = None  # of a neat number, such as 1/2
    unit: str = ""  # where units are known, and it has one
    low: float | None = None  # of the 95 % interval
    high: float | None = None
    determined: bool = True  # False where no row says anything of it
    fitted: float | None = None  # what least squares has where a neat number was chosen
    fitted_error: float | None = None  # and its standard error

    @property
    def away(self) -> float | None:
        """How many standard errors a neat number is from what it replaced."""
        if self.fitted is None or not self.fitted_error:
            return None
        return abs(self.value - self.fitted) / self.fitted_error

    @property
    def said(self) -> str:
        """What is known of it, in words; empty if nothing is.

        >>> Constant(2.0, 0.1, low=1.8, high=2.2).said
        '95 % interval 1.80 to 2.20'
        >>> Constant(2.5, fitted=2.49, fitted_error=0.02).said
        'in place of 2.49(2), 0.5 standard errors away'
        """
        if not self.determined:
            return "not determined by these rows: other numbers make up for it"
        if self.away is not None:
            replaced = with_error(self.fitted or 0.0, self.fitted_error)
            return f"in place of {replaced}, {self.away:.1f} standard errors away"
        if self.standard_error is None or self.low is None or self.high is None:
            return ""
        low, high = (_end(each, self.standard_error) for each in (self.low, self.high))
        if math.isinf(self.low) and math.isinf(self.high):
            return "not bounded by these rows to either side"
        if math.isinf(self.low) or math.isinf(self.high):
            return f"95 % interval {f'from {low}' if math.isinf(self.high) else f'up to {high}'}"
        return f"95 % interval {low} to {high}"

    @property
    def shown(self) -> str:
        """The number in digits that mean something, with the error of the last in brackets."""
        if not self.determined:
            return f"{self.value:.6g}(?)"
        if self.standard_error is None and self.name is not None:
            return self.name
        return with_error(self.value, self.standard_error)


def _end(value: float, deviation: float) -> str:
    """The end of an interval, to two digits of the standard error."""
    if not (math.isfinite(value) and 0.0 < deviation < math.inf):
        return f"{value:.6g}"
    digits = math.floor(math.log10(max(abs(value), deviation) / deviation)) + 2
    return f"{value:#.{min(digits, 15)}g}".rstrip(".")


def with_error(value: float, deviation: float | None) -> str:
    """A number, and the error of its last digits in brackets: two of them where it begins with 1.

    >>> with_error(0.19764, 0.00021), with_error(-2.5, 0.14), with_error(12345.0, 320.0)
    ('0.1976(2)', '-2.50(14)', '12300(300)')
    >>> with_error(3.2e-9, 4.1e-11), with_error(3.25, None)
    ('3.20(4)e-9', '3.25')
    """
    if deviation is None or not 1e-12 * abs(value) < deviation < math.inf:
        return f"{value:.6g}"
    power = math.floor(math.log10(max(abs(value), deviation)))
    scale = power if power < -4 or power > 6 else 0
    value, size = value / 10.0**scale, deviation / 10.0**scale
    place = math.floor(math.log10(size))
    place -= size < 1.95 * 10.0**place  # it begins with 1
    last, places = round(size / 10.0**place), max(-place, 0)
    if place >= 0:
        value, inside = round(value / 10**place) * 10**place, f"{last * 10**place}"
    else:
        inside = f"{size:.{places}f}" if size >= 1 else f"{last}"
    return f"{value:.{places}f}({inside})" + (f"e{scale}" if scale else "")


@dataclass(frozen=True)
class Certainty:
    """What least squares says of the numbers of a program that were fitted, all together."""

    free: tuple[int, ...]  # the constants that were fitted, by their places
    covariance: Floats = field(compare=False)  # [k, k] of them
    variance: float = 0.0  # of what is left in a row of weight 1
    spare: int = 0  # rows more than numbers
    leverage: float = math.inf  # the largest of a row of the fit, see `bands`

    def quantile(self, level: float = LEVEL) -> float:
        """How many standard errors an interval reaches to either side."""
        return student(level, self.spare) if self.spare > 0 else math.inf

    @property
    def correlation(self) -> Floats:
        """[k, k] of the numbers that were fitted."""
        errors = np.sqrt(np.diag(self.covariance))
        size = np.outer(errors, errors)
        return np.asarray(np.divide(self.covariance, size, out=np.zeros_like(size), where=size > 0))
