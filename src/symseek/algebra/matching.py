"""Finding the pattern of a rule in a normal form, whatever the order of terms and factors.

In a pattern a, b, c stand for anything and n for a number. Beside other factors, such a letter
stands for all that is left of the product, which may be 1; beside other terms, for all that is left
of the sum, which may be 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from symseek.algebra.normal_form import Base, Call, Group, Product, Sum, Variable, scaled, single

ANYTHING, NUMBERS = ("a", "b", "c"), ("n",)

Binding: TypeAlias = "Mapping[str, Sum]"  # what the letters stand for

_SAME = 1e-15


def close(one: Sum, other: Sum) -> bool:
    """Whether two sums are the same but for the last digits of their numbers."""
    if one == other:
        return True
    if len(one.terms) != len(other.terms) or not _near(one.offset, other.offset):
        return False
    left = {frozenset(product): c for c, product in one.terms}
    pairs = [(c, left.get(frozenset(product))) for c, product in other.terms]
    return all(mate is not None and _near(c, mate) for c, mate in pairs)


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=4 * _SAME)


def names(form: Sum) -> frozenset[str]:
    """The functions that a form calls."""
    found: set[str] = set()
    for _, product in form.terms:
        for base, _ in product:
            if isinstance(base, Group):
                found |= names(base.inside)
            elif isinstance(base, Call):
                found.add(base.name)
                found.update(*(names(each) for each in base.arguments))
    return frozenset(found)


def bound(binding: Binding, letter: str, form: Sum) -> Iterator[Binding]:
    """The binding with one letter more, unless that stands for something else already."""
    if letter in binding:
        if close(binding[letter], form):
            yield binding
    elif letter in ANYTHING or form.constant:
        yield {**binding, letter: form}


def arguments_match(pattern: Sum, form: Sum, binding: Binding) -> Iterator[Binding]:
    """The ways in which a whole sum is as the pattern says."""
    rest = [term for term in pattern.terms if _letter(term[1]) is not None]
    terms = [term for term in pattern.terms if _letter(term[1]) is None]
    if pattern.offset and not _near(pattern.offset, form.offset):
        return
    offset = 0.0 if pattern.offset else form.offset
    for chosen, found in terms_match(terms, form.terms, binding):
        left = Sum(offset, tuple(t for i, t in enumerate(form.terms) if i not in chosen))
        if rest:
            ((coefficient, product),) = rest
            letter = _letter(product)
            assert letter is not None
            yield from bound(found, letter, scaled(left, 1.0 / coefficient))
        elif left.constant and left.offset == 0.0:
            yield found


def terms_match(
    patterns: Sequence[tuple[float, Product]],
    terms: Sequence[tuple[float, Product]],
    binding: Binding,
    chosen: tuple[int, ...] = (),
) -> Iterator[tuple[tuple[int, ...], Binding]]:
    """The ways to find each pattern among the terms, with the places where."""
    if len(chosen) == len(patterns):
        yield chosen, binding
        return
    coefficient, product = patterns[len(chosen)]
    for at, (size, factors) in enumerate(terms):
        if at not in chosen:
            for found in product_match(product, size / coefficient, factors, binding):
                yield from terms_match(patterns, terms, found, (*chosen, at))


def product_match(
    pattern: Product, coefficient: float, product: Product, binding: Binding
) -> Iterator[Binding]:
    """The ways in which a whole term is as the pattern says."""
    letters = [base.name for base, _ in pattern if isinstance(base, Variable)]
    factors = tuple(factor for factor in pattern if not isinstance(factor[0], Variable))
    of_numbers = [each for each in letters if each in NUMBERS]
    of_rest = [each for each in letters if each in ANYTHING]
    for chosen, found in factors_match(factors, product, binding):
        rest = tuple(factor for i, factor in enumerate(product) if i not in chosen)
        if of_numbers:
            if coefficient == 1.0 or (rest and not of_rest):
                continue
            left = Sum(0.0, ((1.0, rest),)) if rest else Sum(1.0)
            ways = bound(found, of_numbers[0], Sum(coefficient))
        else:
            left = Sum(0.0, ((coefficient, rest),)) if rest else Sum(coefficient)
            ways = iter([found])
        for way in ways:
            if of_rest:
                yield from bound(way, of_rest[0], left)
            elif left.constant and _near(left.offset, 1.0):
                yield way


def factors_match(
    patterns: Product,
    product: Product,
    binding: Binding,
    chosen: tuple[int, ...] = (),
    at_least: bool = False,
) -> Iterator[tuple[tuple[int, ...], Binding]]:
    """The ways to find each factor of the pattern, with the places where.

    The powers must be the same; or, where something may be left, at least those of the pattern.
    """
    if len(chosen) == len(patterns):
        yield chosen, binding
        return
    base, power = patterns[len(chosen)]
    for at, (other, its_power) in enumerate(product):
        if at in chosen:
            continue
        ways: Iterator[Binding] = iter(())
        if power == its_power or (at_least and its_power / power > 1.0):
            ways = base_match(base, other, binding)
        elif power == 1.0 and isinstance(base, Call) and base.name == "pow":
            ways = _power_match(base, other, its_power, binding)
        for found in ways:
            yield from factors_match(patterns, product, found, (*chosen, at), at_least)


def _power_match(pattern: Call, base: Base, power: float, binding: Binding) -> Iterator[Binding]:
    """A power with a number for exponent, which a normal form has no call for."""
    whole, exponent = pattern.arguments
    if len(exponent.terms) == 1 and _letter(exponent.terms[0][1]) in NUMBERS:
        for found in arguments_match(whole, single(base), binding):
            yield from arguments_match(exponent, Sum(power), found)


def base_match(pattern: Base, base: Base, binding: Binding) -> Iterator[Binding]:
    if isinstance(pattern, Group) and isinstance(base, Group):
        yield from arguments_match(pattern.inside, base.inside, binding)
    if isinstance(pattern, Call) and isinstance(base, Call) and pattern.name == base.name:
        ways: list[Binding] = [binding]
        for mine, its in zip(pattern.arguments, base.arguments, strict=True):
            ways = [found for way in ways for found in arguments_match(mine, its, way)]
        yield from ways


def _letter(product: Product) -> str | None:
    """The letter that stands for the rest of a sum, if the product is one."""
    ((base, power), *others) = product
    if not others and power == 1.0 and isinstance(base, Variable):
        return base.name
    return None
