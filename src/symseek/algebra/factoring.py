"""Polynomials that are nearly products, and quotients of them that nearly cancel.

Fitted numbers never make a common factor of a numerator and a denominator exactly the same, nor a
table of coefficients exactly one of products. So what is here is near to the formula and no more:
whoever asks refits it and compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.algebra.forms import multiplied_out
from symseek.algebra.normal_form import (
    FORM_ERRORS,
    Algebra,
    Base,
    Group,
    NoForm,
    Product,
    Sum,
    Variable,
    added,
    merged,
    number,
    scaled,
)

Floats = NDArray[np.floating[Any]]

_MOST_DEGREE = 8  # of a polynomial whose roots are looked for
_MOST_BASES = 5  # of a sum that is to be a product: 15 ways to divide them in two
_NEARLY = 0.3  # the part of the coefficients that a product may leave
_NEGLIGIBLE = 1e-12  # of the largest coefficient: one that is no more than rounding
_MOST_LEVELS = 2  # of powers that are multiplied out
_FAILED = (*FORM_ERRORS, np.linalg.LinAlgError)
_WHOLE = 1e-9  # imaginary parts below this, relatively, are rounding


def cancelled(total: Sum, algebra: Algebra) -> Iterator[Sum]:
    """A quotient of polynomials in one column without the factors that its two sides nearly share.

    >>> from symseek.model import full_library
    >>> from symseek.algebra.writing import Writer
    >>> from symseek.programs import Program
    >>> library = full_library(["x"])
    >>> algebra = Algebra(library)
    >>> law = Program.parse("(x**2 - 3.0*x + 2.0)/(x**2 + x - 2.0)", library)
    >>> for each in cancelled(algebra.form(law, [1.0]), algebra):
    ...     print(Writer(library).program(each))
    (x - 2.0)/(x + 2.0)
    """
    columns = {base for _, product in total.terms for base in _columns(product)}
    if len(columns) != 1:
        return
    (column,) = columns
    try:
        above, below = _quotient(total, column)
        pairs = _without_nearest(above, below)
    except _FAILED:
        return
    for upper, lower in pairs:
        with suppress(*_FAILED):
            whole = _polynomial(upper, column), _polynomial(lower, column)
            yield algebra.multiplied(whole[0], algebra.raised(whole[1], -1.0))


def factorised(total: Sum, algebra: Algebra) -> Iterator[Sum]:
    """A sum of several terms as a product of two sums that it nearly is, with fewer numbers.

    >>> from symseek.model import full_library
    >>> from symseek.algebra.writing import Writer
    >>> from symseek.programs import Program
    >>> library = full_library(["x", "y"])
    >>> algebra = Algebra(library)
    >>> law = Program.parse("x*y + 2.0*x + 3.0*y + 6.0", library)
    >>> for each in factorised(algebra.form(law, [1.0, 1.0]), algebra):
    ...     print(Writer(library).program(each))
    (x + 3.0)*(y + 2.0)
    """
    try:
        flat = multiplied_out(total, algebra, _MOST_LEVELS)
    except FORM_ERRORS:
        return
    terms = [*flat.terms, *([(flat.offset, ())] if flat.offset else [])]
    bases = list(dict.fromkeys(base for _, product in terms for base, _ in product))
    if len(terms) < 3 or not 2 <= len(bases) <= _MOST_BASES:
        return
    for count in range(1, len(bases) // 2 + 1):
        for chosen in combinations(bases, count):
            if 2 * count == len(bases) and bases[0] not in chosen:
                continue  # its other half has come already
            with suppress(*_FAILED):
                yield _product_of_two(terms, frozenset(chosen), algebra)


def less_above(total: Sum, algebra: Algebra) -> Iterator[Sum]:
    """A sum with one quotient in it as a quotient, without one of the addends above the line.

    A curve through the origin has one number less than the hyperbola that it is written as:

    >>> from symseek.model import full_library
    >>> from symseek.algebra.writing import Writer
    >>> from symseek.programs import Program
    >>> library = full_library(["x"])
    >>> algebra = Algebra(library)
    >>> law = Program.parse("5.0 - 9.75/(x + 2.0)", library)
    >>> for each in less_above(algebra.form(law, [1.0]), algebra):
    ...     print(Writer(library).program(each))
    0.25/(x + 2.0)
    5.0*x/(x + 2.0)
    """
    below = [
        (at, base)
        for at, (_, product) in enumerate(total.terms)
        for base, power in product
        if isinstance(base, Group) and power == -1
    ]
    if len(below) != 1 or len(total.terms) + bool(total.offset) < 2:
        return
    ((at, line),) = below
    coefficient, product = total.terms[at]
    rest = Sum(total.offset, total.terms[:at] + total.terms[at + 1 :])
    upper = merged(tuple(each for each in product if each != (line, -1.0)))
    try:
        whole = algebra.multiplied(rest, line.inside)
        above = multiplied_out(added(whole, scaled(upper, coefficient)), algebra, _MOST_LEVELS)
        under = algebra.raised(line.inside, -1.0)
    except _FAILED:
        return
    for at in range(len(above.terms)):
        shorter = Sum(above.offset, above.terms[:at] + above.terms[at + 1 :])
        with suppress(*_FAILED):
            yield algebra.multiplied(shorter, under)
    if above.offset and above.terms:
        with suppress(*_FAILED):
            yield algebra.multiplied(Sum(0.0, above.terms), under)


def _columns(product: Product) -> Iterator[Base]:
    """The columns that a product is made of; whatever else is in it is kept apart from them."""
    for base, _ in product:
        if isinstance(base, Group):
            for _, inside in base.inside.terms:
                yield from _columns(inside)
        else:
            yield base


def _quotient(total: Sum, column: Base) -> tuple[Floats, Floats]:
    """A sum as one polynomial over another, coefficients from the highest power on."""
    above: Floats = np.array([total.offset])
    below: Floats = np.ones(1)
    for coefficient, product in total.terms:
        upper: Floats = np.array([coefficient])
        lower: Floats = np.ones(1)
        for base, power in product:
            if not power.is_integer() or abs(power) > _MOST_DEGREE:
                raise NoForm
            its_upper, its_lower = _base(base, column)
            if power < 0:
                its_upper, its_lower = its_lower, its_upper
            for _ in range(int(abs(power))):
                upper, lower = np.polymul(upper, its_upper), np.polymul(lower, its_lower)
        if len(upper) > 2 * _MOST_DEGREE or len(lower) > 2 * _MOST_DEGREE:
            raise NoForm
        if np.array_equal(lower, below):
            above = np.polyadd(above, upper)
        else:
            above = np.polyadd(np.polymul(above, lower), np.polymul(upper, below))
            below = np.polymul(below, lower)
    return np.trim_zeros(above, "f"), np.trim_zeros(below, "f")


def _base(base: Base, column: Base) -> tuple[Floats, Floats]:
    if base == column and isinstance(base, Variable):
        return np.array([1.0, 0.0]), np.ones(1)
    if isinstance(base, Group):
        return _quotient(base.inside, column)
    raise NoForm


def _without_nearest(above: Floats, below: Floats) -> list[tuple[Floats, Floats]]:
    """Both polynomials without the root, or the pair of complex roots, that is nearest in both."""
    if not all(
        np.isfinite(each).all() and 1 < len(each) <= _MOST_DEGREE for each in (above, below)
    ):
        raise NoForm
    uppers, lowers, found = np.roots(above), np.roots(below), []
    for real in (True, False):
        some, others = (
            [root for root in roots if (abs(root.imag) <= _WHOLE * abs(root)) == real]
            for roots in (uppers, lowers)
        )
        if not some or not others:
            continue
        pairs = [(abs(one - other), one, other) for one in some for other in others]
        _, one, other = min(pairs, key=lambda pair: pair[0])
        found.append((_divided(above, one, real), _divided(below, other, real)))
    return found


def _divided(polynomial: Floats, root: complex, real: bool) -> Floats:
    """A polynomial without a root, or without it and its conjugate."""
    factor = [1.0, -root.real] if real else [1.0, -2.0 * root.real, abs(root) ** 2]
    return np.asarray(np.polydiv(polynomial, np.array(factor))[0])


def _polynomial(coefficients: Floats, column: Base) -> Sum:
    powers = range(len(coefficients) - 1, -1, -1)
    terms = [
        (number(float(size)), ((column, float(power)),))
        for size, power in zip(coefficients, powers, strict=True)
        if power and size
    ]
    return Sum(number(float(coefficients[-1])), tuple(terms))


def _product_of_two(
    terms: list[tuple[float, Product]], chosen: frozenset[Base], algebra: Algebra
) -> Sum:
    """The product of a sum in some of the bases and one in the others that is nearest to a sum."""
    table: dict[tuple[Product, Product], float] = {}
    for coefficient, product in terms:
        mine = tuple(sorted((each for each in product if each[0] in chosen), key=repr))
        other = tuple(sorted((each for each in product if each[0] not in chosen), key=repr))
        table[mine, other] = table.get((mine, other), 0.0) + coefficient
    rows = list(dict.fromkeys(row for row, _ in table))
    columns = list(dict.fromkeys(column for _, column in table))
    fewer = len(rows) + len(columns) - 1
    if min(len(rows), len(columns)) < 2 or fewer >= len(table):
        raise NoForm
    matrix = np.array([[table.get((row, column), 0.0) for column in columns] for row in rows])
    if not np.isfinite(matrix).all():
        raise NoForm
    left, sizes, right = np.linalg.svd(matrix)
    if np.linalg.norm(sizes[1:]) > _NEARLY * np.linalg.norm(sizes):
        raise NoForm
    one, other = left[:, 0] * sizes[0], right[0]
    unit = other[np.argmax(np.abs(other))]
    sums = _sum(one * unit, rows), _sum(other / unit, columns)
    return algebra.multiplied(*sums)


def _sum(coefficients: Floats, products: list[Product]) -> Sum:
    smallest = _NEGLIGIBLE * np.abs(coefficients).max()
    pairs = [
        (number(float(size)), product)
        for size, product in zip(coefficients, products, strict=True)
        if abs(size) > smallest
    ]
    offset = sum(size for size, product in pairs if not product)
    return Sum(offset, tuple(pair for pair in pairs if pair[1]))
