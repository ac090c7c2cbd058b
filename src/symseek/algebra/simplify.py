"""Simplifying formulas, and writing them in other units: a small algebra of sums and products.

A fitted formula often reads 2.0*(1.5*x) or exp(0.3 + x)*1.1, and one found in scaled columns has to
be written in the user's units. Both are one job: the formula becomes its normal form
(`normal_form`), and is then written again with as few tokens as it needs. The result is compared
with the original on the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from symseek.algebra.normal_form import (
    Base,
    Call,
    Group,
    NoForm,
    Product,
    Sum,
    Variable,
    added,
    merged,
    multiplied,
    normal_form,
    number,
    operated,
    raised,
    scaled,
)
from symseek.notation.typeset import ALL_DIGITS, tidied
from symseek.operators.table import POWERS
from symseek.programs import Program, Programs
from symseek.tokens import Kind, Library, Token

__all__ = ["exponents_held", "reductions", "rescaled", "simplified", "translated"]

# A normal form is worked by recursion, which formulas of some hundreds of levels exhaust.
_NOT_SIMPLIFIED = (NoForm, OverflowError, RecursionError, ZeroDivisionError)

_AGREE = 1e-9  # of the largest value: what rounding may make of the same formula written otherwise


def simplified(program: Program, library: Library, X: NDArray[np.float64]) -> Program:
    """The formula with fewer tokens where that can be done, over a library with every operator.

    It is compared on the rows of X [N, n]; where it would differ, the formula is only translated.

    >>> from symseek.model import full_library
    >>> library = full_library(["x", "y"])
    >>> X = np.array([[0.5, 2.0], [1.5, 3.0]])
    >>> print(simplified(Program.parse("2.0*(1.5*x) + x*x*x - exp(0.0)*y/y", library), library, X))
    3.0*x + x**3 - 1.0
    """
    return rescaled(program, library, X, [1.0] * len(program.library.variables), 1.0)


def rescaled(
    program: Program,
    library: Library,
    X: NDArray[np.float64],
    inputs: Sequence[float],
    output: float,
) -> Program:
    """The formula f in other units, simplified: output * f(x1 / inputs[0], x2 / inputs[1], ...).

    X [N, n] has the rows to compare on, in the new units; variables are matched by their order.

    >>> from symseek.model import full_library
    >>> library = full_library(["a"])
    >>> law = Program.parse("2.0*a*sqrt(a)", library)  # a in units of 1e11, the result of 1e8
    >>> print(rescaled(law, library, np.array([[1.5e11]]), [1e11], 1e8))
    6.324555320336758e-09*a**1.5
    """
    plain = _translated(program, library, inputs, output)
    tidy = tidied(plain, ALL_DIGITS)
    if tidy.complexity <= plain.complexity and _agree(plain, tidy, X):
        plain = tidy
    try:
        short = _written(scaled(normal_form(program, library, inputs), output), library)
    except _NOT_SIMPLIFIED:
        return plain
    same_units = output == 1.0 and all(scale == 1.0 for scale in inputs)
    if same_units and short.complexity > plain.complexity:
        return plain
    return short if _agree(plain, short, X) else plain


def reductions(program: Program, library: Library) -> list[Program]:
    """The formula with one addend left out, for every addend at every depth, simplified.

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
    try:
        whole = normal_form(program, library, [1.0] * len(library.variables))
        parts = list(_Reducer(library).sums(whole))
    except _NOT_SIMPLIFIED:
        return []
    for part in parts:
        with suppress(*_NOT_SIMPLIFIED):
            found[_written(part(), library)] = None
    return list(found)


def exponents_held(programs: Sequence[Program], library: Library) -> Programs:
    """The programs over a library in which their exponents are numbers, which no fit changes.

    >>> from symseek.model import full_library
    >>> library = full_library(["x"])
    >>> held = exponents_held([Program.parse("2.0*x**1.5", library)], library)
    >>> held.constants, str(translated(held[0], library))
    (array([[2.]]), '2.0*x**1.5')
    """
    tokens = {token.name: token for token in library}

    def combine(token: int, constant: float | None, arguments: list[_Named]) -> _Named:
        name = library.names[token]
        if name == "pow" and arguments[1].names == ("const",):
            (value,) = arguments[1].constants
            exponent = Token(f"exponent {value!r}", 0, kind=Kind.NUMBER, value=value)
            tokens[exponent.name] = exponent
            arguments[1] = _Named((exponent.name,))
        own = () if constant is None else (constant,)
        return _Named(
            (name, *(each for part in arguments for each in part.names)),
            (*own, *(each for part in arguments for each in part.constants)),
        )

    named = [program.fold(combine) for program in programs]
    chosen = [token for token in tokens.values() if token.kind is not Kind.VARIABLE]
    wide = Library(chosen, library.variables)
    return Programs.from_list(
        [Program(wide, tuple(map(wide.index, each.names)), each.constants) for each in named]
    )


def translated(program: Program, library: Library) -> Program:
    """The program token by token over a library with every operator; numbers become constants."""
    return _translated(program, library, [1.0] * len(program.library.variables), 1.0)


def _agree(one: Program, other: Program, X: NDArray[np.float64]) -> bool:
    """Whether two programs have the same values wherever the first has one."""
    expected, found = one.evaluate(X), other.evaluate(X)
    known = np.isfinite(expected)
    if not known.any():
        return False
    with np.errstate(all="ignore"):
        largest = np.abs(expected[known]).max()
        return bool((np.abs(found[known] - expected[known]) <= _AGREE * largest).all())


# --- with less in it

_Later: TypeAlias = "Callable[[], Sum]"  # a form that may turn out to have no number


@dataclass(frozen=True)
class _Reducer:
    library: Library

    def sums(self, total: Sum) -> Iterator[_Later]:
        """The sum without one of its addends, or with an addend reduced within."""
        for at in range(len(total.terms)):
            yield partial(Sum, total.offset, total.terms[:at] + total.terms[at + 1 :])
        if total.offset and total.terms:
            yield partial(Sum, 0.0, total.terms)
        for at, (coefficient, product) in enumerate(total.terms):
            others = Sum(total.offset, total.terms[:at] + total.terms[at + 1 :])
            for within in self.products(product):
                yield partial(_joined, others, coefficient, within)

    def products(self, product: Product) -> Iterator[_Later]:
        for at, (base, power) in enumerate(product):
            rest = product[:at] + product[at + 1 :]
            for within in self.bases(base):
                yield partial(_completed, rest, within, power)

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
        return operated(self.library[call.name], arguments)


def _joined(others: Sum, coefficient: float, within: _Later) -> Sum:
    return added(others, scaled(within(), coefficient))


def _completed(rest: Product, within: _Later, power: float) -> Sum:
    return multiplied(merged(rest), raised(within(), power))


# --- and out again


@dataclass(frozen=True)
class _Named:
    names: tuple[str, ...]
    constants: tuple[float, ...] = ()


@dataclass(frozen=True)
class _Written:
    tokens: tuple[int, ...]
    constants: tuple[float, ...] = ()


class _Writer:
    """Puts normal forms into the tokens of a library."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def node(self, name: str, *arguments: _Written) -> _Written:
        tokens = (self.library.index(name), *(t for each in arguments for t in each.tokens))
        return _Written(tokens, tuple(c for each in arguments for c in each.constants))

    def number(self, value: float) -> _Written:
        return _Written((self.library.index("const"),), (value,))

    def sum(self, total: Sum) -> _Written:
        """Positive parts first, so that no sign has to stand in front."""
        total = self._without_log_factors(total)
        parts = [(c, self.term(abs(c), product)) for c, product in total.terms]
        plus = [part for c, part in parts if c > 0]
        minus = [part for c, part in parts if c < 0]
        if total.offset > 0:
            plus.append(self.number(total.offset))
        if total.offset < 0 and plus:
            minus.append(self.number(-total.offset))
        if total.offset < 0 and not plus:
            plus.append(self.number(total.offset))
        if not plus:
            if not minus:
                return self.number(0.0)
            written = self.term(*total.terms[0])
            minus = minus[1:]
        else:
            written = plus[0]
        for part in plus[1:]:
            written = self.node("add", written, part)
        for part in minus:
            written = self.node("sub", written, part)
        return written

    def _without_log_factors(self, total: Sum) -> Sum:
        """c + log(2*x) = (c + log(2)) + log(x): one number less, where there is an offset."""
        if total.offset == 0.0:
            return total
        offset, terms = total.offset, []
        for coefficient, product in total.terms:
            (base, power) = product[0]
            if len(product) == 1 and power == 1.0 and isinstance(base, Call):
                inside = base.arguments[0] if base.arguments else Sum(0.0)
                if base.name == "log" and len(inside.terms) == 1 and inside.offset == 0.0:
                    factor, rest = inside.terms[0]
                    if factor > 0.0:
                        offset += coefficient * math.log(factor)
                        base = Call("log", (Sum(0.0, ((1.0, rest),)),))
                        product = ((base, 1.0),)
            terms.append((coefficient, product))
        return Sum(number(offset), tuple(terms))

    def term(self, coefficient: float, product: Product) -> _Written:
        """A fraction: the number first, where it is not 1."""
        above = [self.power(base, power) for base, power in product if power > 0]
        below = [self.power(base, -power) for base, power in product if power < 0]
        if coefficient == 1.0 and not above:
            return self.node("reciprocal", self.product(below))
        if coefficient == -1.0 and above:
            above[0] = self.node("neg", above[0])
        elif coefficient != 1.0:
            above = [self.number(coefficient), *above]
        written = self.product(above)
        return self.node("div", written, self.product(below)) if below else written

    def product(self, factors: list[_Written]) -> _Written:
        written = factors[0]
        for factor in factors[1:]:
            written = self.node("mul", written, factor)
        return written

    def power(self, base: Base, exponent: float) -> _Written:
        written = self.base(base)
        if exponent == 1.0:
            return written
        if exponent in POWERS:
            return self.node(POWERS[exponent], written)
        return self.node("pow", written, self.number(exponent))

    def base(self, base: Base) -> _Written:
        if isinstance(base, Variable):
            return self.node(base.name)
        if isinstance(base, Group):
            return self.sum(base.inside)
        return self.node(base.name, *(self.sum(argument) for argument in base.arguments))


def _written(total: Sum, library: Library) -> Program:
    written = _Writer(library).sum(total)
    return Program(library, written.tokens, written.constants)


def _translated(
    program: Program, library: Library, inputs: Sequence[float], output: float
) -> Program:
    """The program token by token, with a factor at every variable that has one and in front."""
    writer = _Writer(library)

    def combine(token: int, constant: float | None, arguments: list[_Written]) -> _Written:
        this = program.library.tokens[token]
        if this.kind is Kind.VARIABLE:
            assert this.index is not None
            scale = inputs[this.index]
            variable = writer.node(library.variables[this.index])
            return variable if scale == 1.0 else writer.node("div", variable, writer.number(scale))
        if this.kind is not Kind.OPERATOR:
            value = this.value if constant is None else constant
            assert value is not None
            return writer.number(value)
        return writer.node(this.name, *arguments)

    written = program.fold(combine)
    if output != 1.0:
        written = writer.node("mul", writer.number(output), written)
    return Program(library, written.tokens, written.constants)
