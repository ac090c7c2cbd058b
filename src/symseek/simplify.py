"""Simplifying formulas, and writing them in other units: a small algebra of sums and products.

A fitted formula often says 2.0*(1.5*x) or exp(0.3 + x)*1.1, and one found in scaled columns has to
be told in the user's units. Both are one job: every part of the formula becomes a normal form

    Sum      offset + coefficient * Product + ...
    Product  base ** exponent * ...

in which numbers meet and merge, and is then written again with as few tokens as it needs. Nothing
is expanded, so the shape that the search found stays. Where an identity holds only for positive
numbers, such as sqrt(x**2) = x, it is not used, and the result is compared with the original on
the data all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from symseek.programs import Program, Programs
from symseek.tokens import Kind, Library, Token
from symseek.typeset import ALL_DIGITS, tidied

__all__ = ["exponents_held", "reductions", "rescaled", "simplified", "translated"]

_AGREE = 1e-9  # of the largest value: what rounding may make of the same formula written otherwise
_MOST_POWER = 300.0  # e to the power of more is no number worth writing

_ODD, _EVEN = ("sin", "tan", "tanh"), ("cos", "abs")
_POWERS = {"sqrt": 0.5, "square": 2.0, "cube": 3.0, "fourth": 4.0, "reciprocal": -1.0}
_NAMED = {exponent: name for name, exponent in _POWERS.items() if exponent > 0}


class _NoForm(Exception):
    """There is no number for a part of the formula, such as log(-1)."""


@dataclass(frozen=True)
class _Variable:
    name: str


@dataclass(frozen=True)
class _Call:
    name: str
    arguments: tuple[_Sum, ...]


@dataclass(frozen=True)
class _Group:
    """A sum as one factor of a product; its first coefficient is 1."""

    inside: _Sum


_Base: TypeAlias = "_Variable | _Call | _Group"
_Product: TypeAlias = "tuple[tuple[_Base, float], ...]"  # bases with exponents, as they came


@dataclass(frozen=True)
class _Sum:
    offset: float
    terms: tuple[tuple[float, _Product], ...] = field(default=())  # coefficients, none 0

    @property
    def constant(self) -> bool:
        return not self.terms


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
        short = _written(_scale(_normal(program, library, inputs), output), library)
    except (_NoForm, OverflowError, ZeroDivisionError):
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
    functions = {token.name: token.numpy for token in library if token.kind is Kind.OPERATOR}
    found: dict[Program, None] = {}
    try:
        whole = _normal(program, library, [1.0] * len(library.variables))
    except (_NoForm, OverflowError, ZeroDivisionError):
        return []
    for part in _Reducer(functions).sums(whole):
        with suppress(_NoForm, OverflowError, ZeroDivisionError):
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


# --- into the normal form


def _normal(program: Program, library: Library, inputs: Sequence[float]) -> _Sum:
    """The normal form of a program whose variables stand for others divided by `inputs`."""

    def combine(token: int, constant: float | None, arguments: list[_Sum]) -> _Sum:
        this = program.library.tokens[token]
        if this.kind is Kind.VARIABLE:
            assert this.index is not None
            variable = _Variable(library.variables[this.index])
            return _Sum(0.0, ((1.0 / inputs[this.index], ((variable, 1.0),)),))
        if this.kind is not Kind.OPERATOR:
            value = this.value if constant is None else constant
            assert value is not None
            return _Sum(_number(value))
        return _operator(this.name, this.numpy, arguments)

    return program.fold(combine)


def _operator(name: str, function: Callable[..., float] | None, arguments: list[_Sum]) -> _Sum:
    first = arguments[0] if arguments else _Sum(0.0)
    if name in ("add", "sub"):
        return _add(first, _scale(arguments[1], 1.0 if name == "add" else -1.0))
    if name == "neg":
        return _scale(first, -1.0)
    if name == "mul":
        return _multiply(first, arguments[1])
    if name == "div":
        return _multiply(first, _power(arguments[1], -1.0))
    if name in _POWERS:
        return _power(first, _POWERS[name])
    if name == "pow" and arguments[1].constant:
        return _power(first, arguments[1].offset)
    if function is not None and all(argument.constant for argument in arguments):
        with np.errstate(all="ignore"):
            return _Sum(_number(float(function(*(each.offset for each in arguments)))))
    if name in ("exp", "neg_exp"):
        return _exp(first if name == "exp" else _scale(first, -1.0))
    sign = 1.0
    if name in _ODD + _EVEN and _negative(first):
        first, sign = _scale(first, -1.0), -1.0 if name in _ODD else 1.0
        arguments = [first]
    return _Sum(0.0, ((sign, ((_Call(name, tuple(arguments)), 1.0),)),))


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise _NoForm
    return value


def _negative(total: _Sum) -> bool:
    return total.offset <= 0 and all(coefficient < 0 for coefficient, _ in total.terms)


def _add(one: _Sum, other: _Sum) -> _Sum:
    """Like terms merge, in the place of the first."""
    terms: dict[_Product, float] = {}
    for coefficient, product in one.terms + other.terms:
        key = next((each for each in terms if set(each) == set(product)), product)
        terms[key] = terms.get(key, 0.0) + coefficient
    kept = tuple((_number(c), product) for product, c in terms.items() if c != 0.0)
    return _Sum(_number(one.offset + other.offset), kept)


def _scale(total: _Sum, factor: float) -> _Sum:
    if factor == 0.0:
        return _Sum(0.0)
    terms = tuple((_number(c * factor), product) for c, product in total.terms)
    return _Sum(_number(total.offset * factor), terms)


def _multiply(one: _Sum, other: _Sum) -> _Sum:
    if one.constant:
        return _scale(other, one.offset)
    if other.constant:
        return _scale(one, other.offset)
    (c, first), (d, second) = _factored(one), _factored(other)
    return _scale(_merged(first + second), c * d)


def _factored(total: _Sum) -> tuple[float, _Product]:
    """The sum as a coefficient and a product."""
    leading, product = total.terms[0]
    if len(total.terms) == 1 and total.offset == 0.0:
        return leading, product
    return leading, ((_Group(_scale(total, 1.0 / leading)), 1.0),)


def _merged(factors: _Product) -> _Sum:
    """A product whose equal bases are one; exponential functions are one too."""
    powers: dict[_Base | None, float] = {}
    exponent = _Sum(0.0)
    place: _Base | None = None  # where the first exponential stood
    for base, power in factors:
        if isinstance(base, _Call) and base.name == "exp":
            exponent = _add(exponent, _scale(base.arguments[0], power))
            place = place or base
            base, power = place, 1.0
            powers[base] = 1.0
        else:
            powers[base] = powers.get(base, 0.0) + power
    if place is not None:
        whole = None if exponent.constant else _Call("exp", (exponent,))
        powers = {whole if base == place else base: p for base, p in powers.items()}
    product = tuple((base, p) for base, p in powers.items() if base is not None and p != 0.0)
    return _Sum(0.0, ((1.0, product),)) if product else _Sum(1.0)


def _power(total: _Sum, exponent: float) -> _Sum:
    if exponent == 0.0:
        return _Sum(1.0)
    if exponent == 1.0:
        return total
    if total.constant:
        if total.offset < 0 and not exponent.is_integer():
            raise _NoForm
        return _Sum(_number(total.offset**exponent))
    coefficient, product = _factored(total)
    if exponent.is_integer():
        powers = tuple((base, power * exponent) for base, power in product)
        return _scale(_merged(powers), _number(coefficient**exponent))
    # (x**2)**0.5 is |x| and (x*y)**0.5 needs only the product to be positive: such stay whole.
    size = abs(coefficient)
    alone = len(product) == 1 and coefficient > 0 and product[0][1] % 2 != 0
    whole = product if alone else ((_Group(_scale(total, 1.0 / size)), 1.0),)
    return _scale(_merged(tuple((b, p * exponent) for b, p in whole)), size**exponent)


def _exp(total: _Sum) -> _Sum:
    """e**(offset + rest) = e**offset * e**rest: the number can merge with others."""
    if abs(total.offset) > _MOST_POWER:
        return _Sum(0.0, ((1.0, ((_Call("exp", (total,)), 1.0),)),))
    rest = _Sum(0.0, total.terms)
    return _Sum(0.0, ((math.exp(total.offset), ((_Call("exp", (rest,)), 1.0),)),))


# --- with less in it

_Later: TypeAlias = "Callable[[], _Sum]"  # a form that may turn out to have no number


@dataclass(frozen=True)
class _Reducer:
    functions: dict[str, Callable[..., float] | None]

    def sums(self, total: _Sum) -> Iterator[_Later]:
        """The sum without one of its addends, or with an addend reduced within."""
        for at in range(len(total.terms)):
            yield partial(_Sum, total.offset, total.terms[:at] + total.terms[at + 1 :])
        if total.offset and total.terms:
            yield partial(_Sum, 0.0, total.terms)
        for at, (coefficient, product) in enumerate(total.terms):
            others = _Sum(total.offset, total.terms[:at] + total.terms[at + 1 :])
            for within in self.products(product):
                yield partial(_joined, others, coefficient, within)

    def products(self, product: _Product) -> Iterator[_Later]:
        for at, (base, power) in enumerate(product):
            rest = product[:at] + product[at + 1 :]
            for within in self.bases(base):
                yield partial(_completed, rest, within, power)

    def bases(self, base: _Base) -> Iterator[_Later]:
        if isinstance(base, _Group):
            yield from self.sums(base.inside)
        if isinstance(base, _Call):
            for at, argument in enumerate(base.arguments):
                for within in self.sums(argument):
                    yield partial(self.called, base, at, within)

    def called(self, call: _Call, at: int, within: _Later) -> _Sum:
        arguments = [*call.arguments]
        arguments[at] = within()
        return _operator(call.name, self.functions[call.name], arguments)


def _joined(others: _Sum, coefficient: float, within: _Later) -> _Sum:
    return _add(others, _scale(within(), coefficient))


def _completed(rest: _Product, within: _Later, power: float) -> _Sum:
    return _multiply(_merged(rest), _power(within(), power))


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

    def sum(self, total: _Sum) -> _Written:
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

    def _without_log_factors(self, total: _Sum) -> _Sum:
        """c + log(2*x) = (c + log(2)) + log(x): one number less, where there is an offset."""
        if total.offset == 0.0:
            return total
        offset, terms = total.offset, []
        for coefficient, product in total.terms:
            (base, power) = product[0]
            if len(product) == 1 and power == 1.0 and isinstance(base, _Call):
                inside = base.arguments[0] if base.arguments else _Sum(0.0)
                if base.name == "log" and len(inside.terms) == 1 and inside.offset == 0.0:
                    factor, rest = inside.terms[0]
                    if factor > 0.0:
                        offset += coefficient * math.log(factor)
                        base = _Call("log", (_Sum(0.0, ((1.0, rest),)),))
                        product = ((base, 1.0),)
            terms.append((coefficient, product))
        return _Sum(_number(offset), tuple(terms))

    def term(self, coefficient: float, product: _Product) -> _Written:
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

    def power(self, base: _Base, exponent: float) -> _Written:
        written = self.base(base)
        if exponent == 1.0:
            return written
        if exponent in _NAMED:
            return self.node(_NAMED[exponent], written)
        return self.node("pow", written, self.number(exponent))

    def base(self, base: _Base) -> _Written:
        if isinstance(base, _Variable):
            return self.node(base.name)
        if isinstance(base, _Group):
            return self.sum(base.inside)
        return self.node(base.name, *(self.sum(argument) for argument in base.arguments))


def _written(total: _Sum, library: Library) -> Program:
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
