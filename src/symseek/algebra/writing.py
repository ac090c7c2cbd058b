"""Normal forms as programs: with as few tokens, and as short numbers, as they can be written with.

The same sum may be 2*x + 2*y or 2*(x + y), the same product sqrt(x)*sqrt(y) or sqrt(x*y). The
writer tries the ways there are and keeps the one of lowest complexity; of several, that with fewer
digits; of several, the first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from symseek.algebra.normal_form import (
    FORM_ERRORS,
    Base,
    Call,
    Group,
    Product,
    Sum,
    Variable,
    number,
    scaled,
)
from symseek.operators.table import POWERS
from symseek.programs import Program
from symseek.tokens import Library, short_number

_BRACKET, _FUNCTION, _ROOT = 10**6, 10**6 + 1, 10**6 + 2  # among factors; letters come before
_MANY_DIGITS = 7  # a number of more characters counts as one of so many: it is a fitted one
_LARGEST_SHIFT = 10.0  # of the argument of exp
_SMALLEST = 1e-300  # its inverse is still a float
_DENOMINATORS, _LARGEST_NUMERATOR, _SAME = (*range(1, 13), 16), 99, 1e-14
_PLAIN_DENOMINATOR = 4  # ninths count as one more character: they read less easily than a decimal


@dataclass(frozen=True)
class Written:
    tokens: tuple[int, ...]
    constants: tuple[float, ...]
    cost: tuple[float, float]  # complexity, digits
    arguments: tuple[Written, ...] = ()


@lru_cache(maxsize=4096)
def digits(value: float) -> int:
    """How many characters a number takes, by its neat name if it has one.

    >>> digits(0.5), digits(1 / 3), digits(-math.pi), digits(0.1234567890123)
    (3, 3, 3, 7)
    """
    size, sign = abs(value), value < 0
    lengths = [len(short_number(size, 9)), _MANY_DIGITS]
    for unit, name in ((1.0, ""), (math.pi, "*pi")):
        for below in _DENOMINATORS:
            above = size / unit * below
            near = round(min(above, 1e3))
            if 0 < near <= _LARGEST_NUMERATOR and abs(above - near) <= _SAME * above:
                text = f"{near}{name}".replace("1*pi", "pi") + (f"/{below}" if below > 1 else "")
                lengths.append(len(text) + (below > _PLAIN_DENOMINATOR))
    return min(lengths) + sign


class Writer:
    """Puts normal forms into the tokens of a library."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._sums: dict[Sum, Written] = {}
        self._constant = library.index("const")

    def program(self, total: Sum) -> Program:
        written = self.sum(total)
        return Program(self.library, written.tokens, written.constants)

    def letters(self, total: Sum) -> int:
        """How many times a variable stands in a sum as it is written."""
        variables = set(self.library.variable_ids)
        return sum(token in variables for token in self.sum(total).tokens)

    def node(self, name: str, *arguments: Written) -> Written:
        token = self.library.index(name)
        tokens = (token, *(t for each in arguments for t in each.tokens))
        constants = tuple(c for each in arguments for c in each.constants)
        return Written(tokens, constants, self.cost(name, arguments), arguments)

    def cost(self, name: str, arguments: tuple[Written, ...]) -> tuple[float, float]:
        """The cost of an operator of these arguments."""
        complexity = self.library.tokens[self.library.index(name)].complexity
        return (
            complexity + sum(each.cost[0] for each in arguments),
            sum(each.cost[1] for each in arguments),
        )

    def number(self, value: float) -> Written:
        complexity = self.library.tokens[self._constant].complexity
        return Written((self._constant,), (value,), (complexity, digits(value)))

    def sum(self, total: Sum) -> Written:
        found = self._sums.get(total)
        if found is None:
            ways = [self._plain_sum(total)]
            sizes = Counter(abs(coefficient) for coefficient, _ in total.terms)
            size, count = sizes.most_common(1)[0] if sizes else (1.0, 0)
            if count > 1 and size != 1.0:
                with suppress(*FORM_ERRORS):
                    inside = self._plain_sum(scaled(total, 1.0 / size))
                    ways.append(self.node("mul", self.number(size), inside))
            found = self._sums[total] = _best(ways)
        return found

    def _plain_sum(self, total: Sum) -> Written:
        """The first part is positive, if any is, so that no sign stands before it; offset last."""
        parts = self.parts(total)
        if not parts:
            return self.number(0.0)
        leader = next((at for at, (size, _) in enumerate(parts) if size > 0), None)
        if leader is None and not parts[-1][1]:
            leader = len(parts) - 1  # a negative number has its sign with it
        (size, product), *others = [parts.pop(leader or 0), *parts]
        written = self.term(size, product)
        for size, product in others:
            written = self.node(
                "add" if size > 0 else "sub", written, self.term(abs(size), product)
            )
        return written

    def parts(self, total: Sum) -> list[tuple[float, Product]]:
        """The addends in their order; the offset is the one with an empty product."""
        return [*self._ordered(total.terms), *([(total.offset, ())] if total.offset else [])]

    def _ordered(self, terms: tuple[tuple[float, Product], ...]) -> list[tuple[float, Product]]:
        """What has no function first; only letters as the columns are; all else as it came."""
        bare = all(len(product) == 1 and _is_letter(product[0]) for _, product in terms)
        if bare:
            return sorted(terms, key=lambda term: self._rank(term[1][0]))
        return sorted(terms, key=lambda term: any(isinstance(base, Call) for base, _ in term[1]))

    def term(self, coefficient: float, product: Product) -> Written:
        """A coefficient times a product; the number may go into a bracket, the sign too."""
        if not product:
            return self.number(coefficient)
        ways = [self.fraction(*each) for each in self.in_other_sizes(coefficient, product)]
        for at, (base, power) in enumerate(product):
            if coefficient < 0 and power % 2 == 1:
                turned = self._turned(base)
                if turned is not None:
                    ways.append(self.fraction(-coefficient, _with(product, at, turned)))
        best = _best(ways)
        for at, (base, power) in enumerate(product):
            inside = self.taken_in(base, power, coefficient)
            if inside is not None:
                way = self.fraction(1.0, _with(product, at, inside))
                if _clearly_less(way, best):
                    best = way
        return best

    def taken_in(self, base: Base, power: float, coefficient: float) -> Base | None:
        """A factor with the coefficient of its product inside: 2*exp(x) is exp(x + log(2))."""
        if coefficient <= 0.0 or coefficient == 1.0:
            return None
        with suppress(*FORM_ERRORS):
            if isinstance(base, Group):
                return Group(scaled(base.inside, number(coefficient ** (1.0 / power))))
            if isinstance(base, Call) and base.name == "exp" and power == 1.0:
                (exponent,) = base.arguments
                offset = number(exponent.offset + math.log(coefficient))
                # Before exp(x), 1.5e-14 shows that the term hardly counts; exp(x - 31.8) hides it.
                if abs(offset) <= _LARGEST_SHIFT:
                    return Call("exp", (Sum(offset, exponent.terms),))
        return None

    def in_other_sizes(self, coefficient: float, product: Product) -> list[tuple[float, Product]]:
        """The same, first with brackets in which the simplest term has no number before it."""
        size, changed = coefficient, product
        with suppress(*FORM_ERRORS):
            for at, (base, power) in enumerate(product):
                if isinstance(base, Group) and abs(coefficient) != 1.0:
                    unit = abs(self.simplest(base.inside)[0])
                    size = number(size * unit**power)
                    changed = _with(changed, at, Group(scaled(base.inside, 1.0 / unit)))
            return [(size, changed), (coefficient, product)][changed == product :]
        return [(coefficient, product)]

    def simplest(self, total: Sum) -> tuple[float, Product]:
        """The term of a bracket that has no number before it."""
        return min(total.terms, key=lambda term: self._simplicity(term[1]))

    def _simplicity(self, product: Product) -> tuple[int, int]:
        return len(self.fraction(1.0, product).tokens), min(map(self._rank, product))

    def _turned(self, base: Base) -> Base | None:
        """What the base is times -1, if that is a base too."""
        if isinstance(base, Group):
            return Group(scaled(base.inside, -1.0))
        if isinstance(base, Call) and self.library[base.name].parity == "odd":
            return Call(base.name, (scaled(base.arguments[0], -1.0),))
        return None

    def fraction(self, coefficient: float, product: Product) -> Written:
        """The number first, where it is not 1; or its inverse below the line, if that is neater."""
        factors = sorted(_pooled(_squared(product)), key=self._rank)  # of one rank as they came
        upper = [self.power(base, power) for base, power in factors if power > 0]
        lower = [self.power(base, -power) for base, power in factors if power < 0]
        if coefficient == 1.0:
            return self._over(upper, lower)
        if coefficient == -1.0 and upper:
            return self._over([self.node("neg", upper[0]), *upper[1:]], lower)
        whole = self._over([self.number(coefficient), *upper], lower)
        if upper and lower and abs(coefficient) > _SMALLEST:
            turned = self._over(upper, [self.number(number(1.0 / coefficient)), *lower])
            if _clearly_less(turned, whole):
                return turned
        return whole

    def _over(self, above: list[Written], below: list[Written]) -> Written:
        if not above:
            return self.node("reciprocal", self._chain(below))
        written = self._chain(above)
        return self.node("div", written, self._chain(below)) if below else written

    def _chain(self, factors: Sequence[Written]) -> Written:
        written = factors[0]
        for factor in factors[1:]:
            written = self.node("mul", written, factor)
        return written

    def _rank(self, factor: tuple[Base, float]) -> int:
        """The customary order: letters as the columns are, brackets, functions, roots."""
        base, power = factor
        if isinstance(base, Call):
            return _FUNCTION
        if not power.is_integer():
            return _ROOT
        return self.library.index(base.name) if isinstance(base, Variable) else _BRACKET

    def power(self, base: Base, exponent: float) -> Written:
        written = self.base(base)
        if exponent == 1.0:
            return written
        if exponent in POWERS:
            return self.node(POWERS[exponent], written)
        return self.node("pow", written, self.number(exponent))

    def base(self, base: Base) -> Written:
        if isinstance(base, Variable):
            return self.node(base.name)
        if isinstance(base, Group):
            return self.sum(base.inside)
        return self.node(base.name, *(self.sum(argument) for argument in base.arguments))

    def translated(
        self, program: Program, inputs: Sequence[float] | None = None, output: float = 1.0
    ) -> Program:
        """The program token by token, with a factor at every variable that has one and in front."""

        def column(at: int) -> Written:
            variable = self.node(self.library.variables[at])
            scale = 1.0 if inputs is None else inputs[at]
            return variable if scale == 1.0 else self.node("div", variable, self.number(scale))

        written = program.worked(
            column, self.number, lambda token, arguments: self.node(token.name, *arguments)
        )
        if output != 1.0:
            written = self.node("mul", self.number(output), written)
        return Program(self.library, written.tokens, written.constants)


def _best(ways: list[Written]) -> Written:
    return min(ways, key=lambda each: each.cost)


def _is_letter(factor: tuple[Base, float]) -> bool:
    return isinstance(factor[0], Variable) and factor[1] == 1.0


def _with(product: Product, at: int, base: Base) -> Product:
    """The product with another base at one place."""
    return (*product[:at], (base, product[at][1]), *product[at + 1 :])


def _squared(product: Product) -> Product:
    """A quotient of squares as the square of a quotient: (v/c)**2."""
    powers = [power for _, power in product]
    letters = all(isinstance(base, Variable) for base, _ in product)
    if not letters or set(powers) != {2.0, -2.0}:
        return product
    under = tuple((base, power / 2) for base, power in product)
    return ((Group(Sum(0.0, ((1.0, under),))), 2.0),)


def _pooled(product: Product) -> list[tuple[Base, float]]:
    """The factors, those of one root under one: x**1.5 * y**0.5 is x * (x*y)**0.5."""
    pools: dict[float, list[tuple[Base, float]]] = {}
    for base, power in product:
        if not power.is_integer():
            pools.setdefault(_root(power), []).append((base, power))
    found: list[tuple[Base, float]] = []
    for base, power in product:
        pool = pools.get(_root(power), [])
        if len(pool) < 2:
            found.append((base, power))
        elif pool[0] == (base, power):
            above = any(its > 0 for _, its in pool)  # sqrt(x/y), not 1/sqrt(y/x)
            root = math.copysign(_root(power), 1.0 if above else -1.0)
            under = tuple((each, math.copysign(1.0, its * root)) for each, its in pool)
            found.append((Group(Sum(0.0, ((1.0, under),))), root))
            found += [(b, p - math.copysign(root, p)) for b, p in pool if abs(p) != abs(root)]
    return found


def _root(power: float) -> float:
    return 0.5 if power % 1 == 0.5 else abs(power)


def _clearly_less(one: Written, other: Written) -> bool:
    """Whether one way is better by more than a digit, which would not be worth a change."""
    return one.cost < (other.cost[0], other.cost[1] - 1)
