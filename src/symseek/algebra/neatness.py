"""Neat numbers for constants that were fitted to noisy rows.

A fit says 0.4996 where its standard error is 0.0006. Is that 1/2? Two descriptions compete. The
neat number costs what it takes to name it among all neat ones, `naming_cost`, and what the fit
loses by it; any other number costs the digits that its standard error leaves it. As probabilities:

    neat    exp(-naming_cost) * t(z)               z = (neat - fitted) / standard error
    other   standard error / (range * |fitted|)    numbers of all sizes alike

where t is Student's density: few rows do not know their noise well. A neat number is kept when its
part of the sum is large. Then the other constants are fitted anew, which makes them more certain,
and so on while there is a constant to tell. benchmarks/neatness.py measures how often it is right.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from symseek.algebra.least_squares import LeastSquares
from symseek.algebra.numbers import (
    MOST_DIGITS,
    POWER_OF_TWO,
    UNITS,
    Neat,
    multiple,
    naming_cost,
    root_of,
    unit_cost,
)
from symseek.algebra.rounding import Rounding
from symseek.algebra.simplify import STRUCTURAL
from symseek.data import Data
from symseek.programs import Program
from symseek.tokens import short_number

_SURE = 0.88  # the part of all probability that a number must have to be accepted
_FARTHEST = 3.5  # standard errors that a number may be away
_LOOKED_AT = 6.0  # standard errors within which numbers compete
_RANGE = 9.0  # the logarithm of the range of ordinary numbers, 0.01 to 100
_DEAREST = 10.5  # nats, beyond which no fraction or multiple is considered
_MANY = 40  # decimals of so many digits within reach: none of them stands out
_LARGEST = 0.1  # relative standard error, beyond which nothing is known of a number

_IN_ANGLE = 1.5  # nats that a multiple of pi costs less as a phase: cos(x) is sin(x + pi/2)
_ANGLES, _SUMS = frozenset({"sin", "cos", "tan"}), frozenset({"add", "sub"})
_ENOUGH = 100_000  # rows to decide on; what is not neat is fitted to all


def probably_neat(
    program: Program,
    X: ArrayLike,
    y: ArrayLike,
    *,
    weights: ArrayLike | None = None,
) -> Rounding:
    """Tell constants as neat numbers where noisy rows make those likely; fit the others anew.

    The constants must be near their least squares, and what the formula leaves of y be noise: where
    it is an error of the formula, the standard errors mean little.

    >>> x = np.linspace(0.1, 5.0, 500)
    >>> y = x**2/2 + 1.2345*x + 0.01*np.random.default_rng(0).normal(size=500)
    >>> program = Program.parse("0.5001*x**2 + 1.2341*x")
    >>> print(probably_neat(program, x[:, None], y).shown(3))
    1/2*x**2 + 1.23*x
    """
    every = Data.checked(X, y, program.library.variables, weights)
    data = every.rows(np.arange(0, len(every.y), -(-len(every.y) // _ENOUGH)))
    accepted: list[Neat | None] = [None] * len(program.constants)
    roles = _roles(program)
    first = LeastSquares.of(program, data, fitted_places(program))
    if first is None:
        return Rounding(program, tuple(accepted), math.nan, math.nan)
    fit, refused = first, set[tuple[int, str]]()
    while (choice := _likeliest(fit, roles, sum(map(bool, accepted)), refused)) is not None:
        at, neat, away = choice
        after = fit.with_fixed(at, neat.value)
        # Where a formula bends, the loss may be larger than the standard error says.
        if after is None or after.squares - fit.squares > (away + 1.0) ** 2 * fit.variance:
            refused.add((at, neat.text))
        else:
            accepted[at], fit = neat, after
    final = fit if len(data.y) == len(every.y) else LeastSquares.of(fit.program, every, fit.free)
    found = fit if final is None else final
    return Rounding(found.program, tuple(accepted), first.mean, fit.mean)


class _Guesses(NamedTuple):
    """What one constant may be."""

    at: int  # its place
    near: list[tuple[float, Neat, float]]  # neat numbers: weight, number, standard errors away
    other: float  # the weight of all other numbers

    @property
    def share(self) -> float:
        """The probability that it is some neat number, were it neat as often as not."""
        neat = sum(weight for weight, _, _ in self.near)
        return neat / (neat + self.other)


def _guesses(fit: LeastSquares, roles: Sequence[str]) -> Iterator[_Guesses]:
    """The guesses at every constant that something is known of."""
    for at in fit.free:
        value, error = fit.program.constants[at], fit.errors[at]
        size = abs(value)
        if 0.0 < error <= _LARGEST * size:
            near = [
                (math.exp(-cost) * _student(away, fit.spare), -neat if value < 0 else neat, away)
                for cost, neat, away in _near(size, error, roles[at])
            ]
            yield _Guesses(at, near, error / (size * (_RANGE + abs(math.log(size)))))


def _likeliest(
    fit: LeastSquares, roles: Sequence[str], accepted: int, refused: set[tuple[int, str]]
) -> tuple[int, Neat, float] | None:
    """A constant, the neat number it probably is and how far that is away; the surest first.

    Laws have neat numbers and empirical formulas have none, so that each constant says something of
    the others: by Laplace's rule of succession, of which `accepted` are known to be neat.
    """
    found: list[tuple[float, int, Neat, float]] = []
    guesses = list(_guesses(fit, roles))
    for at, near, other in guesses:
        shares = [each.share for each in guesses if each.at != at]
        odds = (1 + accepted + sum(shares)) / (1 + len(shares) - sum(shares))
        total = other / odds + sum(weight for weight, _, _ in near)
        for weight, neat, away in near:
            if weight >= _SURE * total and away <= _FARTHEST and (at, neat.text) not in refused:
                found.append((weight / total, at, neat, away))
    if not found:
        return None
    _, at, neat, away = max(found, key=lambda each: each[0])
    return at, neat, away


def _student(away: float, spare: int) -> float:
    """Student's density, for so many rows more than constants."""
    log_size = math.lgamma((spare + 1) / 2) - math.lgamma(spare / 2) - math.log(spare * math.pi) / 2
    return math.exp(log_size - (spare + 1) / 2 * math.log1p(away * away / spare))


def _near(size: float, error: float, role: str) -> Iterator[tuple[float, Neat, float]]:
    """The neat numbers near a positive value: cost, number and distance in standard errors.

    Exponents are no multiples of pi, which angles often are, and no roots.
    """
    reach = _LOOKED_AT * error
    values, costs, table = _table()
    seen = set()
    for place in range(bisect_left(values, size - reach), bisect_right(values, size + reach)):
        unit = table[place].unit
        if not (unit and role == "exponent"):
            seen.add(values[place])
            cheaper = _IN_ANGLE if unit == "pi" and role == "angle" else 0.0
            yield costs[place] - cheaper, table[place], abs(values[place] - size) / error
    for neat in _decimals(size, reach):
        if neat.value not in seen:
            seen.add(neat.value)
            yield naming_cost(neat), neat, abs(neat.value - size) / error
    if role != "exponent":
        for square in _decimals(size * size, 2.0 * size * reach):
            root = root_of(square)
            if root is not None and root.value not in seen:
                yield naming_cost(root), root, abs(root.value - size) / error


@lru_cache(maxsize=1)
def _table() -> tuple[list[float], list[float], list[Neat]]:
    """All fractions and multiples that are cheap enough: values in order, costs, numbers."""
    cheapest: dict[float, tuple[float, Neat]] = {}
    for unit in ("", *UNITS):
        for above, below in _fractions(unit_cost(unit)):
            factor = Fraction(above, below)
            neat = multiple(factor, unit) if unit else Neat(str(factor), factor)
            cost = naming_cost(neat)
            if cost <= _DEAREST and cost < cheapest.get(neat.value, (math.inf, neat))[0]:
                cheapest[neat.value] = cost, neat
    values = sorted(cheapest)
    return values, [cheapest[each][0] for each in values], [cheapest[each][1] for each in values]


def _fractions(start: float) -> Iterator[tuple[int, int]]:
    """Numerators and denominators that may be cheap enough."""
    most = math.exp(_DEAREST - start + 2 * POWER_OF_TWO)
    for below in range(1, math.isqrt(int(most)) + 1):
        for above in range(1, math.isqrt(int(most / (below * (below + 1)))) + 1):
            if math.gcd(above, below) == 1:
                yield above, below


def _decimals(size: float, reach: float) -> Iterator[Neat]:
    """The decimals of few digits near a value, those that stand out among their like."""
    place = math.floor(math.log10(size))
    for count in range(1, MOST_DIGITS + 1):
        unit = Fraction(10) ** (place - count + 1)
        low, high = ((Fraction(size) + sign * Fraction(reach)) / unit for sign in (-1, 1))
        first, last = max(math.ceil(low), 1), math.floor(high)
        if last - first >= _MANY:
            continue
        for each in range(first, last + 1):
            if each % 10 or count == 1:  # else it has fewer digits
                text = short_number(float(each * unit), count)
                yield Neat(text, Fraction(text))


def _roles(program: Program) -> list[str]:
    """What each constant is: an "exponent", an addend in an "angle", or nothing in particular."""
    names = program.names
    roles: list[str] = []  # of all tokens
    for parent, argument in program.parents:
        above, role = (names[parent], roles[parent]) if parent >= 0 else ("", "")
        angle = above in _ANGLES or (above in _SUMS and role == "angle")
        exponent = above == "pow" and argument == 1
        roles.append("exponent" if exponent else "angle" if angle else "")
    return [role for name, role in zip(names, roles, strict=True) if name == "const"]


def fitted_places(program: Program) -> tuple[int, ...]:
    """The constants that come of a fit: exponents of roots and of products, and 1, do not."""
    roles = _roles(program)
    return tuple(
        at
        for at, (value, role) in enumerate(zip(program.constants, roles, strict=True))
        if value != 1.0 and (role != "exponent" or not (value * STRUCTURAL).is_integer())
    )
