"""The normal form of a formula: sums of products, in which numbers meet and merge.

    Sum      offset + coefficient * Product + ...
    Product  base ** exponent * ...

Nothing is expanded, so the shape that a search found stays. Where an identity holds only for
positive numbers, such as sqrt(x**2) = x, it is not used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from symseek.programs import Program
from symseek.tokens import Kind, Library, Token

__all__ = [
    "Base",
    "Call",
    "Group",
    "NoForm",
    "Product",
    "Sum",
    "Variable",
    "added",
    "merged",
    "multiplied",
    "normal_form",
    "number",
    "operated",
    "raised",
    "scaled",
]

_MOST_POWER = 300.0  # a larger power of e is too long to write


class NoForm(Exception):
    """There is no number for a part of the formula, such as log(-1)."""


@dataclass(frozen=True)
class Variable:
    name: str


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Sum, ...]


@dataclass(frozen=True)
class Group:
    """A sum as one factor of a product; its first coefficient is 1."""

    inside: Sum


Base: TypeAlias = "Variable | Call | Group"
Product: TypeAlias = "tuple[tuple[Base, float], ...]"  # bases with exponents, as they came


@dataclass(frozen=True)
class Sum:
    offset: float
    terms: tuple[tuple[float, Product], ...] = field(default=())  # coefficients, none 0

    @property
    def constant(self) -> bool:
        return not self.terms


def normal_form(program: Program, library: Library, inputs: Sequence[float]) -> Sum:
    """The normal form of a program whose variables stand for others divided by `inputs`."""

    def combine(token: int, constant: float | None, arguments: list[Sum]) -> Sum:
        this = program.library.tokens[token]
        if this.kind is Kind.VARIABLE:
            assert this.index is not None
            variable = Variable(library.variables[this.index])
            return Sum(0.0, ((1.0 / inputs[this.index], ((variable, 1.0),)),))
        if this.kind is not Kind.OPERATOR:
            value = this.value if constant is None else constant
            assert value is not None
            return Sum(number(value))
        return operated(this, arguments)

    return program.fold(combine)


def operated(token: Token, arguments: list[Sum]) -> Sum:
    """An operator of normal forms: arithmetic is done, the rest becomes a `Call`."""
    name = token.name
    first = arguments[0] if arguments else Sum(0.0)
    if name in ("add", "sub"):
        return added(first, scaled(arguments[1], 1.0 if name == "add" else -1.0))
    if name == "neg":
        return scaled(first, -1.0)
    if name == "mul":
        return multiplied(first, arguments[1])
    if name == "div":
        return multiplied(first, raised(arguments[1], -1.0))
    if token.exponent is not None:
        return raised(first, token.exponent)
    if name == "pow" and arguments[1].constant:
        return raised(first, arguments[1].offset)
    if token.numpy is not None and all(argument.constant for argument in arguments):
        with np.errstate(all="ignore"):
            return Sum(number(float(token.numpy(*(each.offset for each in arguments)))))
    if name in ("exp", "neg_exp"):
        return _exp(first if name == "exp" else scaled(first, -1.0))
    sign = 1.0
    if token.parity is not None and _negative(first):
        sign = -1.0 if token.parity == "odd" else 1.0
        arguments = [scaled(first, -1.0)]
    return Sum(0.0, ((sign, ((Call(name, tuple(arguments)), 1.0),)),))


def number(value: float) -> float:
    if not math.isfinite(value):
        raise NoForm
    return value


def _negative(total: Sum) -> bool:
    return total.offset <= 0 and all(coefficient < 0 for coefficient, _ in total.terms)


def added(one: Sum, other: Sum) -> Sum:
    """Like terms merge, in the place of the first."""
    terms: dict[Product, float] = {}
    for coefficient, product in one.terms + other.terms:
        key = next((each for each in terms if set(each) == set(product)), product)
        terms[key] = terms.get(key, 0.0) + coefficient
    kept = tuple((number(c), product) for product, c in terms.items() if c != 0.0)
    return Sum(number(one.offset + other.offset), kept)


def scaled(total: Sum, factor: float) -> Sum:
    if factor == 0.0:
        return Sum(0.0)
    terms = tuple((number(c * factor), product) for c, product in total.terms)
    return Sum(number(total.offset * factor), terms)


def multiplied(one: Sum, other: Sum) -> Sum:
    if one.constant:
        return scaled(other, one.offset)
    if other.constant:
        return scaled(one, other.offset)
    (c, first), (d, second) = _factored(one), _factored(other)
    return scaled(merged(first + second), c * d)


def _factored(total: Sum) -> tuple[float, Product]:
    """The sum as a coefficient and a product."""
    leading, product = total.terms[0]
    if len(total.terms) == 1 and total.offset == 0.0:
        return leading, product
    return leading, ((Group(scaled(total, 1.0 / leading)), 1.0),)


def merged(factors: Product) -> Sum:
    """A product whose equal bases are one; exponential functions are one too."""
    powers: dict[Base | None, float] = {}
    exponent = Sum(0.0)
    place: Base | None = None  # where the first exponential stood
    for base, power in factors:
        if isinstance(base, Call) and base.name == "exp":
            exponent = added(exponent, scaled(base.arguments[0], power))
            place = place or base
            base, power = place, 1.0
            powers[base] = 1.0
        else:
            powers[base] = powers.get(base, 0.0) + power
    if place is not None:
        whole = None if exponent.constant else Call("exp", (exponent,))
        powers = {whole if base == place else base: p for base, p in powers.items()}
    product = tuple((base, p) for base, p in powers.items() if base is not None and p != 0.0)
    return Sum(0.0, ((1.0, product),)) if product else Sum(1.0)


def raised(total: Sum, exponent: float) -> Sum:
    if exponent == 0.0:
        return Sum(1.0)
    if exponent == 1.0:
        return total
    if total.constant:
        if total.offset < 0 and not exponent.is_integer():
            raise NoForm
        return Sum(number(total.offset**exponent))
    coefficient, product = _factored(total)
    if exponent.is_integer():
        powers = tuple((base, power * exponent) for base, power in product)
        return scaled(merged(powers), number(coefficient**exponent))
    # (x**2)**0.5 is |x| and (x*y)**0.5 needs only the product to be positive: such stay whole.
    size = abs(coefficient)
    alone = len(product) == 1 and coefficient > 0 and product[0][1] % 2 != 0
    whole = product if alone else ((Group(scaled(total, 1.0 / size)), 1.0),)
    return scaled(merged(tuple((b, p * exponent) for b, p in whole)), size**exponent)


def _exp(total: Sum) -> Sum:
    """e**(offset + rest) = e**offset * e**rest: the number can merge with others."""
    if abs(total.offset) > _MOST_POWER:
        return Sum(0.0, ((1.0, ((Call("exp", (total,)), 1.0),)),))
    rest = Sum(0.0, total.terms)
    return Sum(0.0, ((math.exp(total.offset), ((Call("exp", (rest,)), 1.0),)),))
