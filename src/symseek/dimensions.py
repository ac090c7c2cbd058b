"""Physical dimensions: what quantity a value is, whatever its units, and what operators make of it.

A dimension is a product of powers of base dimensions, such as m/s^2; the base dimensions may have
any names. Each operator's record says in a word what it asks of its arguments' dimensions and what
its value then has; `rule_of` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from symseek.arguments import refused
from symseek.operators.record import OPERATORS, Token, TokenKind

Power = int | Fraction


@dataclass(frozen=True)
class Dimension:
    """A product of powers of base dimensions; without any it is dimensionless.

    >>> speed = Dimension({"m": 1, "s": -1})
    >>> print(speed, speed**2, speed / speed, Dimension({"m": 1}) ** Fraction(1, 2))
    m/s m^2/s^2 dimensionless m^(1/2)
    """

    powers: tuple[tuple[str, Fraction], ...]  # by name, none of them 0

    def __init__(self, powers: Mapping[str, Power] | None = None) -> None:
        if not isinstance(powers, Mapping | None):
            raise refused("powers", powers, 'powers by name, such as {"m": 1, "s": -1}')
        kept = {name: Fraction(power) for name, power in (powers or {}).items() if power}
        object.__setattr__(self, "powers", tuple(sorted(kept.items())))

    @property
    def dimensionless(self) -> bool:
        """Whether it is that of a plain number."""
        return not self.powers

    def __mul__(self, other: Dimension) -> Dimension:
        powers = dict(self.powers)
        for name, power in other.powers:
            powers[name] = powers.get(name, Fraction(0)) + power
        return Dimension(powers)

    def __truediv__(self, other: Dimension) -> Dimension:
        return self * other**-1

    def __pow__(self, power: Power) -> Dimension:
        return Dimension({name: each * power for name, each in self.powers})

    def __str__(self) -> str:
        above = [_written(name, power) for name, power in self.powers if power > 0]
        below = [_written(name, -power) for name, power in self.powers if power < 0]
        if not above and not below:
            return "dimensionless"
        return "/".join(["*".join(above) or "1", *below])


DIMENSIONLESS = Dimension()
"""The dimension of a plain number."""


def _written(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}^{power}" if power.denominator == 1 else f"{name}^({power})"


@dataclass(frozen=True)
class Rule:
    """What an operator does with dimensions."""

    alike: bool  # the arguments must have one and the same dimension
    powers: tuple[Fraction, ...]  # the value's: the product of the arguments' to these powers;
    #                               only the first where they are alike
    plain: bool = False  # the arguments must be dimensionless
    raises: bool = False  # the second argument is the exponent of the first


def rule_of(token: Token) -> Rule:
    """What an operator does with dimensions.

    >>> from symseek.tokens import OPERATORS
    >>> rule_of(OPERATORS["sqrt"]).powers, rule_of(OPERATORS["sin"]).plain
    ((Fraction(1, 2),), True)
    """
    if token.kind is not TokenKind.OPERATOR:
        raise refused("token", token, "an operator")
    if token.exponent is not None:
        return Rule(False, (Fraction(token.exponent),))
    if token.protects is not None:
        return rule_of(OPERATORS[token.protects])
    one, count = Fraction(1), token.arity
    match token.dimensions:
        case "same":
            return Rule(True, (one,))
        case "ratio":
            return Rule(True, (Fraction(0),))
        case "sign":
            return Rule(False, (Fraction(0),) * count)
        case "product":
            return Rule(False, (one,) * count)
        case "quotient":
            return Rule(False, (one, *(-one,) * (count - 1)))
        case "power":
            return Rule(False, (), raises=True)
    return Rule(False, (), plain=True)
