"""Neat numbers: those that a person might write, and what it takes to name one among them all.

There are few plain names, such as 1/2 and 2*pi, and many odd ones, such as 31/7 and pi**3/7: any
number at all is near to one of these. So a name costs more the odder it is, in nats, and a fitted
number must be the nearer to it: exp(cost) names are as simple, and with as many of them one lies
by chance within exp(-cost), as a part, of any number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from symseek.tokens import short_number

if TYPE_CHECKING:
    from sympy import Expr

# A neat number further from the value than this part of it is another number. For 0, which is as
# far from everything, the distance itself counts.
_NEAR = 1e-3
_DIGITS = 6  # significant ones of a decimal
_MANY_DIGITS = 9  # of the longest decimal that may have been chosen
MOST_DIGITS = 5  # of a decimal that is named among others
_DENOMINATORS = range(2, 21)
_PLAIN_DENOMINATOR = 4  # halves, thirds and quarters read as easily as a decimal
_LARGEST_NUMERATOR = 99
# Of multiples of a unit, and of the multiples of powers and roots of pi that physics is written in.
_UNIT_DENOMINATOR, _UNIT_NUMERATOR, _PI_DENOMINATOR, _PI_NUMERATOR = 6, 12, 32, 32
_RARE = 2  # characters that a power or a root of pi counts more: 0.318 is an ordinary decimal
# What the kinds of number cost in nats: rare ones more. A fraction a/b of one kind costs
# log(a*(a + 1)*b*(b + 1)) more, so that all of them together have a finite sum.
_PLAIN, _DECIMAL, _DIGIT = 0.3, 2.0, math.log(10.0)
_UNIT_COSTS = {
    "": _PLAIN,
    "pi": 2.0,
    "1/pi": 2.0,
    "pi**2": 3.5,
    "1/pi**2": 3.5,
    "sqrt(2)": 3.0,
    "sqrt(3)": 4.0,
    "sqrt(pi)": 4.0,
    "1/sqrt(pi)": 4.0,
    "sqrt(2*pi)": 3.0,
    "1/sqrt(2*pi)": 2.5,
    "exp(1)": 5.5,
}
_RARE_UNIT = 8.0
_ROOT = 3.5  # of a decimal, as in sqrt(19.62)
_ROOT_DIGITS = 4  # that such a decimal may have
_SMALLEST, _LARGEST = 1e-100, 1e100  # squares of these are floats
# A seventh or a thirteenth of something costs so much more, and so does seven times a unit.
_ODD = 3.0
_CHANCE = 0.5  # names as near by chance, at which an odd one is not taken
POWER_OF_TWO = 0.7  # that halves and squares bring so much more often than other integers
_WITH_ROOTS = 1.5  # times as much for a fraction of a root or of e, which is seldom seen


def _root(number: Fraction | int) -> Fraction:
    return Fraction(math.isqrt(int(number * 10**60)), 10**30)


_PI = Fraction("3.1415926535897932384626433832795028842")
_POWERS = {
    "pi**2": _PI**2,
    "pi**3": _PI**3,
    "sqrt(pi)": _root(_PI),
    "sqrt(2*pi)": _root(2 * _PI),
}
# To thirty digits, so that the float nearest to a multiple is found.
UNITS = {
    "pi": _PI,
    "exp(1)": Fraction("2.718281828459045235360287471353"),
    **{f"sqrt({number})": _root(number) for number in (2, 3, 5, 6, 7, 10)},
    **_POWERS,
    **{f"1/{name}": 1 / value for name, value in {"pi": _PI, **_POWERS}.items()},
}
"""What a neat number may be a multiple of."""


@dataclass(frozen=True)
class Neat:
    """A number that a person might write: a fraction, maybe times a power of pi, e or a root.

    >>> number = Neat("2*pi/3", Fraction(2, 3), "pi")
    >>> number.value, number.cost, number.sympy()
    (2.0943951023931957, 6, 2*pi/3)
    >>> multiple(Fraction(3, 8), "1/pi").sympy()
    3/(8*pi)
    """

    text: str
    factor: Fraction
    unit: str = ""  # one of UNITS, the root of a decimal, as in "sqrt(19.62)", or none

    @property
    def value(self) -> float:
        """The nearest float."""
        return float(self.factor * _size(self.unit) if self.unit else self.factor)

    @property
    def cost(self) -> int:
        """How far from neat: the characters without a sign, and some more for what is rarer."""
        odd = "/" in self.text and self.factor.denominator > _PLAIN_DENOMINATOR
        rare = _RARE if _is_rare(self.unit) or self.unit not in ("", *UNITS) else 0
        return len(self.text.lstrip("-")) + odd + rare

    def sympy(self) -> Expr:
        """The exact SymPy number."""
        import sympy

        unit = sympy.sympify(self.unit or "1", rational=True)
        number: Expr = sympy.Rational(self.factor.numerator, self.factor.denominator) * unit
        return number

    def __neg__(self) -> Neat:
        return Neat("-" + self.text, -self.factor, self.unit)


def _size(unit: str) -> Fraction:
    """A unit to thirty digits."""
    known = UNITS.get(unit)
    return _root(Fraction(unit.removeprefix("sqrt(").removesuffix(")"))) if known is None else known


_ZERO = Neat("0", Fraction(0))


def neat_numbers(value: float, digits: int = _DIGITS, rare: bool = False) -> list[Neat]:
    """The neat numbers near a value, the neatest first; decimals up to so many digits.

    Powers and roots of pi are rare: multiples of them are everywhere, and mean something only where
    a value is known to many digits.

    >>> [number.text for number in neat_numbers(-0.50001, digits=4)]
    ['-1/2', '-0.5']
    >>> [number.text for number in neat_numbers(2.0944, digits=4)]
    ['2.094', '2*pi/3']
    """
    size = abs(value)
    found = [_ZERO] if size <= _NEAR else []
    if size:
        candidates = _candidates(size, digits, rare)
        near = (each for each in candidates if distance(each, size) <= _NEAR)
        found += [-each for each in near] if value < 0 else near
    by_text = {each.text: each for each in found}
    return sorted(by_text.values(), key=lambda each: each.cost)  # ties stay: fractions come first


def is_neat(value: float) -> bool:
    """Whether a number is one that was chosen, and not one that was fitted.

    >>> is_neat(0.3), is_neat(1 / 3), is_neat(0.3000000000001)
    (True, True, False)
    """
    return neat_name(value) is not None


@lru_cache(maxsize=4096)
def neat_name(value: float) -> str | None:
    """The name of a number that was chosen.

    >>> neat_name(0.5), neat_name(2 * math.pi), neat_name(0.3000000000001)
    ('1/2', '2*pi', None)
    """
    near = neat_numbers(value, _MANY_DIGITS, rare=True)
    return next((each.text for each in near if each.value == value), None)


def _candidates(size: float, digits: int, rare: bool) -> Iterator[Neat]:
    for below in _DENOMINATORS:
        factor = Fraction(round(size * below) if size <= _LARGEST_NUMERATOR else 0, below)
        if factor.denominator == below and 0 < factor.numerator <= _LARGEST_NUMERATOR:
            yield Neat(str(factor), factor)
    for count in range(digits):
        decimal = float(f"{size:.{count}e}")
        if math.isfinite(decimal):
            text = short_number(decimal, count + 1)
            yield Neat(text, Fraction(text))
    if rare and _SMALLEST < size < _LARGEST:
        for count in range(_ROOT_DIGITS):
            root = root_of(Neat("", Fraction(f"{size * size:.{count}e}")))
            if root is not None:
                yield root
    for unit, length in UNITS.items():
        lowest, highest = _UNIT_DENOMINATOR, _UNIT_NUMERATOR
        if _is_rare(unit):
            if not rare:
                continue
            lowest, highest = _PI_DENOMINATOR, _PI_NUMERATOR
        times = min(size, 1e3) / float(length)
        for below in range(1, lowest + 1):
            above = round(times * below)
            if 0 < above <= highest and math.gcd(above, below) == 1:
                yield multiple(Fraction(above, below), unit)


def _is_rare(unit: str) -> bool:
    """Whether the unit is a power or a root of pi, but not pi itself."""
    return "pi" in unit and unit != "pi"


def multiple(factor: Fraction, unit: str) -> Neat:
    """A positive multiple of one of the `UNITS`, as it is customarily written.

    >>> [multiple(Fraction(2, 3), unit).text for unit in ("pi", "sqrt(2)", "1/pi")]
    ['2*pi/3', '2*sqrt(2)/3', '2/(3*pi)']
    """
    above, below = str(factor.numerator), str(factor.denominator)
    if unit.startswith("1/"):
        under = unit[2:] if below == "1" else f"({below}*{unit[2:]})"
        return Neat(f"{above}/{under}", factor, unit)
    text = (unit if above == "1" else f"{above}*{unit}") + ("" if below == "1" else f"/{below}")
    return Neat(text, factor, unit)


def distance(neat: Neat, value: float) -> float:
    """The distance as a part of the value; for 0, the distance itself."""
    return abs(neat.value - value) / (abs(value) if neat.factor else 1.0)


def is_multiple(value: float, closeness: float) -> bool:
    """Whether a positive number has a name with a unit in it: `neat_numbers` in a moment.

    >>> is_multiple(3 / (8 * math.pi), 1e-14), is_multiple(math.sqrt(2.0) / 3, 1e-14)
    (True, True)
    >>> is_multiple(0.75, 1e-14), is_multiple(0.1193662, 1e-14)
    (False, False)
    """
    if not _SMALLEST < value < _LARGEST:
        return False
    sizes, most = _unit_sizes()
    above = value / sizes[:, None] * np.arange(1, _PI_DENOMINATOR + 1)
    near = np.rint(above)
    allowed = (near > 0) & (near <= most) & (np.arange(1, _PI_DENOMINATOR + 1) <= most)
    return bool((allowed & (np.abs(above - near) <= closeness * above)).any())


def is_root(value: float, closeness: float) -> bool:
    """Whether a positive number is the square root of a decimal of few digits.

    >>> is_root(math.sqrt(19.62), 1e-14), is_root(4.42945, 1e-14)
    (True, False)
    """
    if not _SMALLEST < value < _LARGEST:
        return False
    square = float(f"{value * value:.{_ROOT_DIGITS - 1}e}")
    root = root_of(Neat("", Fraction(repr(square))))
    return root is not None and math.isclose(root.value, value, rel_tol=closeness)


@lru_cache(maxsize=1)
def _unit_sizes() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The units, and the largest part above or below the line of a multiple of each [units, 1]."""
    most = [_PI_NUMERATOR if _is_rare(unit) else _UNIT_DENOMINATOR for unit in UNITS]
    return np.array([float(size) for size in UNITS.values()]), np.array(most)[:, None]


def naming_cost(neat: Neat) -> float:
    """The nats that it takes to name a neat number, without its sign, among all of them.

    >>> half, third = (Neat(text, Fraction(text)) for text in ("1/2", "1/3"))
    >>> naming_cost(half) < naming_cost(third) < naming_cost(Neat("0.37", Fraction("0.37")))
    True
    """
    factor = abs(neat.factor)
    cost = 0.0
    for part in (factor.numerator, factor.denominator):
        power_of_two = part > 1 and part & (part - 1) == 0
        cost += math.log(part * (part + 1)) - POWER_OF_TWO * power_of_two
    if "sqrt" in neat.unit or "exp" in neat.unit:
        cost *= _WITH_ROOTS
    odd = factor.denominator * (factor.numerator if neat.unit else 1)
    cost += unit_cost(neat.unit) + _ODD * _has_large_prime(odd)
    return cost if neat.unit else min(cost, _decimal_cost(abs(neat.value)))


def _decimal_cost(value: float) -> float:
    """What a number costs as a decimal, all of its digits being given."""
    mantissa, _, exponent = f"{value:.{MOST_DIGITS}e}".partition("e")
    digits = len(mantissa.replace(".", "").rstrip("0"))
    if digits > MOST_DIGITS:
        return math.inf
    return _DECIMAL + _DIGIT * digits + math.log(2.0 + abs(int(exponent)))


def unit_cost(unit: str) -> float:
    """The nats that a unit costs, before the fraction of it."""
    if unit in ("", *UNITS):
        return _UNIT_COSTS.get(unit, _RARE_UNIT)
    return _ROOT + _decimal_cost(float(unit.removeprefix("sqrt(").removesuffix(")")))


def _has_large_prime(whole: int) -> bool:
    """Whether a positive integer has a prime factor beyond 5."""
    for prime in (2, 3, 5):
        while whole % prime == 0:
            whole //= prime
    return whole > 1


def root_of(square: Neat) -> Neat | None:
    """The square root of a decimal of few digits, unless that is a fraction itself.

    >>> print(root_of(Neat("19.62", Fraction("19.62"))).text, root_of(Neat("9", Fraction(9))))
    sqrt(19.62) None
    """
    size = square.factor
    roots = math.isqrt(size.numerator), math.isqrt(size.denominator)
    text = short_number(float(size), _ROOT_DIGITS)
    if Fraction(text) != size or Fraction(roots[0] ** 2, roots[1] ** 2) == size:
        return None
    return Neat(f"sqrt({text})", Fraction(1), f"sqrt({text})")


def by_chance(neat: Neat, value: float) -> bool:
    """Whether a name is so odd that some name as simple is as near to any value by chance.

    Integers, decimals, halves, thirds and quarters are taken as they are: a few digits of a number
    are no claim of what it is.

    >>> odd, plain = multiple(Fraction(1, 7), "pi**3"), multiple(Fraction(1, 2), "pi")
    >>> by_chance(odd, 4.4294469), by_chance(plain, 1.5708)
    (True, False)
    """
    if not neat.unit and ("/" not in neat.text or neat.factor.denominator <= _PLAIN_DENOMINATOR):
        return False
    return distance(neat, value) * math.exp(naming_cost(neat)) > _CHANCE
