"""The normal form of a formula: sums of products, in which numbers meet and merge.

    Sum      offset + coefficient * Product + ...
    Product  base ** exponent * ...

What two formulas have in common then shows, whatever the order of their terms. Nothing is expanded.
An identity that holds only for positive numbers, such as sqrt(x**2) = x, is used where the rows of
the data say that they are positive.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeAlias

import numpy as np

from symseek.programs import Program
from symseek.tokens import Library, Token

_MOST_POWER = 300.0  # a larger power of e is too long to write
_SLIP = 4  # units in the last place that arithmetic may have moved a short number by
_SHORT = 12  # characters


class NoForm(Exception):
    """There is no number for a part of the formula, such as log(-1)."""


FORM_ERRORS = (NoForm, OverflowError, RecursionError, ZeroDivisionError)
"""What the arithmetic of a form may come to."""


@dataclass(frozen=True)
class Variable:
    name: str


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Sum, ...]


@dataclass(frozen=True)
class Group:
    """A sum as one factor of a product."""

    inside: Sum


Base: TypeAlias = "Variable | Call | Group"
Product: TypeAlias = "tuple[tuple[Base, float], ...]"  # bases with exponents, as they came


@dataclass(frozen=True, eq=False)
class Sum:
    """An offset and terms; equal to another with the same terms in any order."""

    offset: float
    terms: tuple[tuple[float, Product], ...] = ()  # coefficients, none 0
    _key: object = field(init=False, repr=False)
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        key = self.offset, frozenset((c, frozenset(product)) for c, product in self.terms)
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_hash", hash(key))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Sum) and self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    @property
    def constant(self) -> bool:
        return not self.terms


class Signs(Protocol):
    """What the rows of the data say of a base: 1 where none is negative, -1 none positive, or 0."""

    def sign(self, base: Base) -> int: ...


@lru_cache(maxsize=4096)
def number(value: float) -> float:
    """The number, or the short one that it was before arithmetic moved its last digit."""
    if not math.isfinite(value):
        raise NoForm
    short = float(f"{value:.15g}")
    if short != value and len(repr(short)) <= _SHORT:
        return short if abs(short - value) <= _SLIP * math.ulp(value) else value
    return value


def added(*sums: Sum) -> Sum:
    """Like terms merge, in the place of the first."""
    terms: dict[frozenset[tuple[Base, float]], tuple[float, Product]] = {}
    for each in sums:
        for coefficient, product in each.terms:
            key = frozenset(product)
            before = terms.get(key)
            if before is not None:
                total = before[0] + coefficient
                # What is left of two equal numbers is rounding.
                small = abs(total) <= _SLIP * math.ulp(coefficient)
                terms[key] = (0.0 if small else total), before[1]
            else:
                terms[key] = coefficient, product
    kept = tuple((number(c), product) for c, product in terms.values() if c != 0.0)
    return Sum(number(sum(each.offset for each in sums)), kept)


def scaled(total: Sum, factor: float) -> Sum:
    if factor == 1.0:
        return total
    if factor == 0.0:
        return Sum(0.0)
    terms = tuple((number(c * factor), product) for c, product in total.terms)
    if any(c == 0.0 for c, _ in terms):  # too small for a float
        raise NoForm
    return Sum(number(total.offset * factor), terms)


def single(base: Base) -> Sum:
    """One base as a sum."""
    return Sum(0.0, ((1.0, ((base, 1.0),)),))


def merged(factors: Product) -> Sum:
    """A product whose equal bases are one; exponential functions are one too."""
    powers: dict[Base | None, float] = {}
    exponent = Sum(0.0)
    place: Base | None = None  # where the first exponential stood
    for base, power in factors:
        if isinstance(base, Call) and base.name == "exp":
            exponent = added(exponent, scaled(base.arguments[0], power))
            place = place or base
            powers[place] = 1.0
        else:
            powers[base] = number(powers.get(base, 0.0) + power)
    if place is not None:
        whole = None if exponent.constant else Call("exp", (exponent,))
        powers = {whole if base == place else base: p for base, p in powers.items()}
    product = tuple((base, p) for base, p in powers.items() if base is not None and p != 0.0)
    if len(product) == 1 and isinstance(product[0][0], Group) and product[0][1] == 1.0:
        return product[0][0].inside
    return Sum(0.0, ((1.0, product),)) if product else Sum(1.0)


def _negative(total: Sum) -> bool:
    return total.offset <= 0 and all(coefficient < 0 for coefficient, _ in total.terms)


class Algebra:
    """The arithmetic of normal forms, on rows that decide about signs if there are any."""

    def __init__(self, library: Library, signs: Signs | None = None) -> None:
        self.library = library
        self._signs = signs

    def form(self, program: Program, inputs: Sequence[float]) -> Sum:
        """The normal form of a program whose variables stand for others divided by `inputs`."""

        def column(at: int) -> Sum:
            return scaled(single(Variable(self.library.variables[at])), 1.0 / inputs[at])

        return program.worked(column, lambda value: Sum(number(value)), self.operated)

    def operated(self, token: Token, arguments: list[Sum]) -> Sum:
        """An operator of normal forms: arithmetic is done, the rest becomes a `Call`."""
        name = token.name
        first = arguments[0] if arguments else Sum(0.0)
        if name in ("add", "sub"):
            return added(first, scaled(arguments[1], 1.0 if name == "add" else -1.0))
        if name == "neg":
            return scaled(first, -1.0)
        if name == "mul":
            return self.multiplied(first, arguments[1])
        if name == "div":
            return self.multiplied(first, self.raised(arguments[1], -1.0))
        if token.exponent is not None:
            return self.raised(first, token.exponent)
        if name == "pow" and arguments[1].constant:
            return self.raised(first, arguments[1].offset)
        if token.numpy is not None and all(argument.constant for argument in arguments):
            with np.errstate(all="ignore"):
                return Sum(number(float(token.numpy(*(each.offset for each in arguments)))))
        if name in ("exp", "neg_exp"):
            return _exp(first if name == "exp" else scaled(first, -1.0))
        sign = 1.0
        if token.parity == "even" and all(coefficient < 0 for coefficient, _ in first.terms):
            arguments = [scaled(first, -1.0)]
        if token.parity == "odd" and _negative(first):
            sign, arguments = -1.0, [scaled(first, -1.0)]
        return Sum(0.0, ((sign, ((Call(name, tuple(arguments)), 1.0),)),))

    def called(self, call: Call, arguments: Sequence[Sum]) -> Sum:
        """The same function of other arguments."""
        return self.operated(self.library[call.name], list(arguments))

    def multiplied(self, *factors: Sum) -> Sum:
        coefficient = 1.0
        product: Product = ()
        for each in factors:
            if each.constant:
                coefficient *= each.offset
            elif len(factors) == 2 and (other := factors[each is factors[0]]).constant:
                return scaled(each, other.offset)
            else:
                size, more = self.factored(each)
                coefficient, product = coefficient * size, product + more
        return scaled(merged(product), number(coefficient))

    def factored(self, total: Sum) -> tuple[float, Product]:
        """The sum as a coefficient and a product."""
        if len(total.terms) == 1 and total.offset == 0.0:
            return total.terms[0]
        size = _commonest(total)
        group = Group(scaled(total, 1.0 / size))
        if self.sign(group) < 0 or (self.sign(group) == 0 and total.terms[0][0] < 0):
            return -size, ((Group(scaled(total, -1.0 / size)), 1.0),)
        return size, ((group, 1.0),)

    def sign(self, base: Base) -> int:
        if isinstance(base, Call) and base.name in ("exp", "cosh", "abs"):
            return 1
        return 0 if self._signs is None else self._signs.sign(base)

    def raised(self, total: Sum, exponent: float) -> Sum:
        exponent = number(exponent)
        if exponent == 0.0:
            return Sum(1.0)
        if exponent == 1.0:
            return total
        if total.constant:
            if total.offset < 0 and not exponent.is_integer():
                raise NoForm
            return Sum(number(total.offset**exponent))
        coefficient, product = self.factored(total)
        if exponent.is_integer():
            powers = tuple((base, number(power * exponent)) for base, power in product)
            return scaled(merged(powers), number(coefficient**exponent))
        return self._root(coefficient, product, exponent)

    def _root(self, coefficient: float, product: Product, exponent: float) -> Sum:
        """(c * a**p * b**q) ** e for a fraction e, factor by factor where signs are known."""
        sign, outside, inside = math.copysign(1.0, coefficient), 1.0, []
        apart: list[tuple[Base, float]] = []
        for base, power in product:
            new, known, even = number(power * exponent), self.sign(base), power % 2 == 0
            if known > 0 or not power.is_integer() or (even and new % 2 == 0):
                apart.append((base, new))
            elif known < 0:
                sign *= 1.0 if even else -1.0
                outside *= -1.0 if new % 2 == 1 else 1.0
                apart.append((base if new.is_integer() else _minus(base), new))
            elif even:
                apart.append((Call("abs", (single(base),)), new))
            else:
                inside.append((base, power))
        if len(inside) == 1 and sign > 0 and inside[0][1] % 2 != 0:
            apart.append((inside[0][0], number(inside[0][1] * exponent)))
        elif inside:  # (x*y)**0.5 needs only the product to be positive
            apart.append((Group(Sum(0.0, ((sign, tuple(inside)),))), exponent))
        elif sign < 0:
            raise NoForm
        return scaled(merged(tuple(apart)), number(outside * abs(coefficient) ** exponent))


def _commonest(total: Sum) -> float:
    """The size that most coefficients have: divided by it, most are 1."""
    sizes = Counter(abs(coefficient) for coefficient, _ in total.terms)
    most = max(sizes.values())
    if sizes.get(1.0) == most:
        return 1.0
    return next(size for size, count in sizes.items() if count == most)


def _minus(base: Base) -> Base:
    if isinstance(base, Group):
        return Group(scaled(base.inside, -1.0))
    return Group(Sum(0.0, ((-1.0, ((base, 1.0),)),)))


def _exp(total: Sum) -> Sum:
    """e**(offset + rest) = e**offset * e**rest: the number can merge with others."""
    if abs(total.offset) > _MOST_POWER:
        return single(Call("exp", (total,)))
    rest = Sum(0.0, total.terms)
    return Sum(0.0, ((math.exp(total.offset), ((Call("exp", (rest,)), 1.0),)),))
