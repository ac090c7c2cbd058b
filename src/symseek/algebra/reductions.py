"""Formulas with less in them, at any depth.

One addend is left out, also of what a sum is over one denominator; a factor that a numerator and a
denominator nearly share is cancelled; or a sum is written as the product that it nearly is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from symseek.algebra.factoring import cancelled, factorised, less_above
from symseek.algebra.normal_form import (
    FORM_ERRORS,
    Algebra,
    Base,
    Call,
    Group,
    Product,
    Sum,
    added,
    merged,
    scaled,
)
from symseek.algebra.writing import Writer
from symseek.programs import Program
from symseek.tokens import Library


def reductions(program: Program, library: Library) -> list[Program]:
    """The formula with one thing less in it, for all there are at every depth, simplified.

    An addend is left out, a nearly common factor cancelled, or a sum made the product that it
    nearly is. The values change; whoever asks refits the numbers and compares.

    >>> from symseek.model import full_library
    >>> library = full_library(["x", "y"])
    >>> for each in reductions(Program.parse("exp(x + 1e-9*y) + 2.0", library), library):
    ...     print(each)
    2.0
    exp(x + 1e-09*y)
    exp(1e-09*y) + 2.0
    exp(x) + 2.0
    """
    found: dict[Program, None] = {}
    algebra, writer = Algebra(library), Writer(library)
    try:
        whole = algebra.form(program, [1.0] * len(library.variables))
        parts = list(_Reducer(algebra).sums(whole))
    except FORM_ERRORS:
        return []
    for part in parts:
        with suppress(*FORM_ERRORS):
            found[writer.program(part())] = None
    return list(found)


_Later: TypeAlias = "Callable[[], Sum]"  # a form that may turn out to have no number


def _same(total: Sum) -> Sum:
    return total


class _Reducer:
    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra

    def sums(self, total: Sum) -> Iterator[_Later]:
        """The sum without one of its addends, or with an addend reduced within."""
        for at in range(len(total.terms)):
            yield partial(Sum, total.offset, total.terms[:at] + total.terms[at + 1 :])
        if total.offset and total.terms:
            yield partial(Sum, 0.0, total.terms)
        for at, (coefficient, product) in enumerate(total.terms):
            others = Sum(total.offset, total.terms[:at] + total.terms[at + 1 :])
            for within in (*self.products(product), *self.quotients(product)):
                yield partial(self.joined, others, coefficient, within)
        for way in (cancelled, factorised, less_above):
            for shorter in way(total, self.algebra):
                yield partial(_same, shorter)

    def quotients(self, product: Product) -> Iterator[_Later]:
        """The product with its brackets above and below the line nearly cancelled."""
        brackets = tuple(each for each in product if isinstance(each[0], Group))
        rest = merged(tuple(each for each in product if each not in brackets))
        if len(brackets) > 1:
            for shorter in cancelled(Sum(0.0, ((1.0, brackets),)), self.algebra):
                yield partial(self.algebra.multiplied, shorter, rest)

    def products(self, product: Product) -> Iterator[_Later]:
        for at, (base, power) in enumerate(product):
            rest = product[:at] + product[at + 1 :]
            for within in self.bases(base):
                yield partial(self.completed, rest, within, power)

    def bases(self, base: Base) -> Iterator[_Later]:
        if isinstance(base, Group):
            yield from self.sums(base.inside)
        if isinstance(base, Call):
            for at, argument in enumerate(base.arguments):
                for within in self.sums(argument):
                    yield partial(self.called, base, at, within)

    def called(self, call: Call, at: int, within: _Later) -> Sum:
        arguments = [*call.arguments]
        arguments[at] = within()
        return self.algebra.called(call, arguments)

    def joined(self, others: Sum, coefficient: float, within: _Later) -> Sum:
        return added(others, scaled(within(), coefficient))

    def completed(self, rest: Product, within: _Later, power: float) -> Sum:
        return self.algebra.multiplied(merged(rest), self.algebra.raised(within(), power))
