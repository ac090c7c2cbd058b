"""The text of a unit, such as m/s^2, "kg m-3" or kWh: its dimension, and how many SI units it is.

Names of units are looked up with Pint, which is an extra. Products, quotients and powers are read
here, since they are written in more ways than one, and since a text may come from anyone.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from symseek.dimensions import DIMENSIONLESS, Dimension
from symseek.errors import InputError, shown
from symseek.units.given import FIELD

MOST_CHARACTERS = 100
_MOST_POWER = 20

_PLAIN = ("1", "-", "dimensionless", "unitless", "none")
_SI = {
    "[length]": "m",
    "[mass]": "kg",
    "[time]": "s",
    "[current]": "A",
    "[temperature]": "K",
    "[substance]": "mol",
    "[luminosity]": "cd",
}
# Money has no factor that stays; each currency is a dimension of its own.
_MONEY = ("EUR", "USD", "GBP", "JPY", "CHF", "CNY", "INR", "€", "$", "£", "¥")
_SIGNS = str.maketrans({"·": "*", "⋅": "*", "×": "*", "−": "-", "–": "-", "′": "'", "″": '"'})
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_NAME = r"(?:[^\W\d]|[°%‰$€£¥])+(?:\d+[^\W\d]+)*"
_TOKEN = re.compile(
    rf"\s*(?:(?P<name>{_NAME})(?P<power>[-+]?\d+(?![\d.]))?"
    r"|(?P<number>\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)"
    r"|(?P<sign>[*/()^]))\s*"
)
_EXPONENT = re.compile(
    r"\s*(?:([-+]?\d+(?:\.\d+)?)|\(\s*([-+]?\d+)\s*/\s*(\d+)\s*\)|\(\s*([-+]?\d+(?:\.\d+)?)\s*\))"
)


@dataclass(frozen=True)
class Unit:
    """A unit: as it is written, and what that means.

    >>> speed = read_unit("km/h")
    >>> print(speed.dimension, speed.named, speed.factor)
    m/s km/h 0.277777777778
    """

    text: str
    dimension: Dimension  # of powers of SI's base units
    named: Dimension  # the same of powers of the units that the text names
    factor: float  # SI units in it

    def __str__(self) -> str:
        return self.text

    @property
    def plain(self) -> bool:
        """Whether values are plain numbers, of no other size than they say."""
        return self.dimension.dimensionless and self.factor == 1.0


class UnknownUnit(InputError):
    """A text that names no unit."""


class NoPint(InputError):
    """There is nothing to look up names of units with."""


PLAIN = Unit("1", DIMENSIONLESS, DIMENSIONLESS, 1.0)
"""No unit."""


def read_unit(text: str) -> Unit:
    """What a text says; one that names no unit is refused.

    >>> [str(read_unit(each).dimension) for each in ("[N]", "kg m-3", "m²·s⁻²", "%", "-")]
    ['kg*m/s^2', 'kg/m^3', 'm^2/s^2', 'dimensionless', 'dimensionless']
    >>> read_unit("parsnip")
    Traceback (most recent call last):
    symseek.units.reading.UnknownUnit: 'parsnip' is no unit that is known
    """
    said = " ".join(text.split())
    if len(said) > 1 and said[0] + said[-1] in ("[]", "()", "{}"):
        said = said[1:-1].strip()
    if said in _PLAIN:
        return PLAIN
    if not said or len(said) > MOST_CHARACTERS:
        raise _unknown(text)
    plainly = _RAISED.sub(lambda found: f"^({found[0].translate(_SUPERSCRIPTS)})", said)
    found = _Reader(plainly.translate(_SIGNS).replace("**", "^"), text).whole()
    alone = _Reader.alone(plainly)
    if alone is not None and _atom(alone).shifted:
        raise InputError(
            f"{shown(said)} is measured from a point of its own, so that sums and ratios of such"
            " values mean nothing; convert it to K, or say delta_degC or delta_degF of differences"
        )
    factor = _rounded(found.factor)
    if not (0 < factor < math.inf):
        raise _unknown(text)
    named = found.named
    if _NUMBER in dict(named.powers):
        named = Dimension({f"({said})": 1})
    return Unit(said, found.dimension, named, factor)


def same_unit(one: str, other: str) -> bool:
    """Whether two texts may say the same unit; if one cannot be read, nobody knows better.

    >>> same_unit("m/s^2", "[m s-2]"), same_unit("m", "cm"), same_unit("m", "as before")
    (True, False, True)
    """
    if one == other:
        return True
    try:
        first, second = read_unit(one), read_unit(other)
    except InputError:
        return True
    return (first.dimension, first.factor) == (second.dimension, second.factor)


@dataclass(frozen=True)
class _Atom:
    """One named unit."""

    dimension: Dimension
    named: Dimension
    factor: float
    shifted: bool = False  # whether its 0 is not that of SI

    def times(self, other: _Atom, power: Fraction) -> _Atom:
        return _Atom(
            self.dimension * other.dimension**power,
            self.named * other.named**power,
            self.factor * other.factor ** float(power),
        )


_NUMBER = ""  # in the place of a name, of what has a number in it
_ONE = _Atom(DIMENSIONLESS, DIMENSIONLESS, 1.0)


class _Reader:
    """Reads a product of powers from left to right."""

    def __init__(self, text: str, given: str) -> None:
        self.text, self.given, self.at = text, given, 0

    @staticmethod
    def alone(text: str) -> str | None:
        """The name, if the text is nothing else."""
        found = _TOKEN.fullmatch(text)
        return found["name"] if found and found["name"] and not found["power"] else None

    def whole(self) -> _Atom:
        try:
            value = self._product()
        except (OverflowError, ZeroDivisionError):
            raise _unknown(self.given) from None
        if self.at < len(self.text):
            raise _unknown(self.given)
        return value

    def _product(self) -> _Atom:
        value, below, awaited = _ONE, False, True
        while self.at < len(self.text) and self.text[self.at] != ")":
            if not awaited and self.text[self.at] in "*/":
                below, awaited = self.text[self.at] == "/", True
                self._skip(1)
                continue
            factor = self._factor()
            if factor is None:  # the word per
                below, awaited = True, True
                continue
            value = value.times(factor, Fraction(-1 if below else 1))
            below, awaited = False, False
        if awaited:
            raise _unknown(self.given)
        return value

    def _factor(self) -> _Atom | None:
        if self.text[self.at] == "(":
            self._skip(1)
            value = self._product()
            if self.at >= len(self.text):
                raise _unknown(self.given)
            self._skip(1)
            return self._raised(value)
        found = _TOKEN.match(self.text, self.at)
        if found is None or found["sign"]:
            raise _unknown(self.given)
        self.at = found.end()
        if found["number"]:
            number = float(found["number"])
            named = DIMENSIONLESS if number == 1.0 else Dimension({_NUMBER: 1})
            return self._raised(_Atom(DIMENSIONLESS, named, number))
        if found["name"] == "per":
            return None
        atom = _atom(found["name"])
        if found["power"]:
            return _ONE.times(atom, self._checked(Fraction(found["power"])))
        return self._raised(atom)

    def _raised(self, value: _Atom) -> _Atom:
        if self.at >= len(self.text) or self.text[self.at] != "^":
            return value
        found = _EXPONENT.match(self.text, self.at + 1)
        if found is None:
            raise _unknown(self.given)
        self.at = found.end()
        self._skip(0)
        if found[2] is None:
            power = Fraction(found[1] or found[4])
        else:
            power = Fraction(int(found[2]), int(found[3]))
        return _ONE.times(value, self._checked(power))

    def _checked(self, power: Fraction) -> Fraction:
        if abs(power) > _MOST_POWER or power.denominator > _MOST_POWER:
            raise _unknown(self.given)
        return power

    def _skip(self, characters: int) -> None:
        self.at += characters
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1


@lru_cache(maxsize=1000)
def _atom(name: str) -> _Atom:
    """A unit by its name alone."""
    if name in _MONEY:
        return _Atom(Dimension({name: 1}), Dimension({name: 1}), 1.0)
    quantity = _registry().Quantity
    try:
        unit = _registry().parse_units(_ALIASES.get(name, name))
        values = [float(quantity(n, unit).to_base_units().magnitude) for n in (0.0, 1.0, 2.0)]
        powers = dict(unit.dimensionality)
    except Exception:  # whatever Pint raises at what is no name of a unit
        raise _unknown(name) from None
    zero, one, two = values
    if not math.isclose(two - one, one - zero, rel_tol=1e-9):
        raise InputError(f"{shown(name)} is a logarithm of a unit; convert it to one")
    known = {_SI.get(each, each.strip("[]")): _fraction(p) for each, p in powers.items()}
    dimension = Dimension(known)
    factor = _rounded(one - zero)
    named = DIMENSIONLESS if dimension.dimensionless and factor == 1.0 else Dimension({name: 1})
    return _Atom(dimension, named, factor, shifted=zero != 0.0)


_ALIASES = {"%": "percent", "‰": "permille"}


def _fraction(power: Any) -> Fraction:
    return Fraction(power).limit_denominator(100)


def _rounded(value: float) -> float:
    """Without the last digits, which conversions leave: a litre is 0.0010000000000000002 m^3."""
    return float(f"{value:.12g}")


@lru_cache(maxsize=1)
def _registry() -> Any:
    try:
        import pint
    except ImportError:
        raise NoPint(FIELD, " needs Pint; run: pip install pint", field=FIELD) from None
    return pint.UnitRegistry()


def _unknown(text: str) -> UnknownUnit:
    return UnknownUnit(f"{shown(text)} is no unit that is known", value=text)
