"""Formulas as people write them: sums of terms, numbers that say something, peaks by their centre.

The shortest way to write a formula is what a search is graded by, and often not what a person
reads: 9.81*m*(h + 0.05097*v**2) hides 1/2*m*v**2, and 4.2e-9*exp(0.14*x*(24.6 - x)) hides where
the peak is. Here a formula is written in several ways, part by part, and the way that costs the
reader least is taken:

    cost    1 for each symbol (operator, column, number), 1 for a bracket, 2 for one inside it, ...
    number  0 for one digit to 3 for six or more, by its neat name if it has one, and
            1 for each power of ten that it is beyond 0.01 or 100

The ways are: as it is; brackets multiplied out; brackets divided by their constant, 1 + ...; and
quadratics inside exp or below a line by their centre. A fitted number to a variable power is
always written with exp. A formula that costs the same stays as it is. The program that predicts and
its complexity stay what they are: this is about the text, and what is exported.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache

import numpy as np

from symseek.algebra.normal_form import (
    Algebra,
    Base,
    Call,
    Group,
    NoForm,
    Product,
    Sum,
    Variable,
    added,
    merged,
    number,
    scaled,
    undone,
)
from symseek.algebra.numbers import is_multiple, neat_numbers
from symseek.algebra.precision import agree, measured
from symseek.algebra.writing import Writer, Written, digits
from symseek.errors import unknown_name
from symseek.notation.upright import upright
from symseek.operators.table import POWERS
from symseek.programs import Program
from symseek.tokens import Library, short_number

__all__ = ["STYLES", "multiplied_out", "number_cost", "reading_cost", "text", "written"]

STYLES = ("best", "factored", "expanded")
"""How a formula may be written: as costs the reader least, with the fewest tokens, as a sum."""

_MOST_TERMS = 12  # of a sum that brackets are multiplied out to
_MOST_LEVELS = 3  # of powers that are multiplied out where a sum is asked for
_LARGEST_SHIFT = 300.0  # of an exponent: e to a larger power is too long to write
_ORDINARY = 2.0  # powers of ten that a number may be from 1 without a price
_FITTED_BASE = 8.0  # the price of a fitted number to a variable power: exp is what people write
_NAMED = 1.5  # the price of a number with a name, such as 1/(4*pi)
_DIGITS, _MOST_DIGITS = 6, 9  # of numbers for reading; more name a number where a formula is exact
_SAME = 1e-14  # numbers that differ by less, relatively, are one
_HIDDEN = 0.5  # the price of a number in brackets
_HIDDEN_WIDTH = 3.0  # the price of a number that is no width, inside exp
_SMALL = 0.01  # part of an offset that the numbers after it are, where those are corrections
_WORTH_A_CHANGE = 1.0  # in cost: what gains no more stays as it is
_PLACES = 40  # at which a way is compared with the program
_LARGEST_BASE = 10.0  # whole numbers to a variable power: 2**x and 10**x stay
_BRACKETED = frozenset({"mul", "div", "pow", "neg", "reciprocal"})
# A library that lacks one of these keeps its programs as they are.
_NEEDED = (*_BRACKETED, *POWERS.values(), "add", "sub", "exp", "abs", "const")


def written(program: Program, style: str = "best") -> Program:
    """The program as people write it, all digits kept; the same function, but for rounding.

    >>> from symseek.model import full_library
    >>> library = full_library(["m", "h", "v"])
    >>> energy = Program.parse("9.81*m*(h + 0.0509683995922528*v**2)", library)
    >>> print(written(energy))
    9.81*m*h + 0.5*m*v**2
    >>> print(written(energy, "factored") == energy)
    True
    >>> print(text(written(Program.parse("4.4e-9*exp(0.14*h*(24.6 - h))", library))))
    6.95137*exp(-((h - 12.3)/2.67261)**2)
    """
    if not isinstance(style, str) or style not in STYLES:
        raise unknown_name("style", style, STYLES)
    return program if style == "factored" else _written(program, style)


@lru_cache(maxsize=1024)
def _written(program: Program, style: str) -> Program:
    library, expand = program.library, style == "expanded"
    if not all(name in library for name in _NEEDED):
        return program
    reading = _Reading(library, expand)
    try:
        with np.errstate(all="ignore"):
            former = _Former(library, reading)
            form = former.algebra.form(program, [1.0] * len(library.variables))
            found = reading.program(former.expanded(form) if expand else former.best(form))
    except undone:
        return program
    gain = reading.of(program) - reading.of(found)
    return found if (expand or gain > _WORTH_A_CHANGE) and _same(program, found) else program


def text(program: Program, exact: bool = False) -> str:
    """The program for reading: numbers by their neat names, or cut to six digits.

    A formula that meets its rows to nine digits may have names for numbers of nine digits.

    >>> from symseek.model import full_library
    >>> print(text(Program.parse("0.3333333333333333*x", full_library(["x"]))))
    1/3*x
    >>> print(text(Program.parse("14.833333333333334", full_library(["x"]))))
    14.8333
    """
    most = _MOST_DIGITS if exact else _DIGITS
    names = [_named(value, most) for value in program.constants]
    if len(program) == 1 and names:  # a mean of counts is a fraction by nature, and says nothing
        names = [short_number(program.constants[0], _DIGITS)]
    return upright(program, names)


def _named(value: float, most: int) -> str:
    """A number by its neat name if it has one, as 1/3 does, else cut to six digits."""
    return _name_of(value, most) or short_number(value, _DIGITS)


@lru_cache(maxsize=4096)
def _name_of(value: float, most: int) -> str | None:
    """The neat name of a number, decimals of up to so many digits among them."""
    near = (
        each.text
        for each in neat_numbers(value, most, rare=True)
        if math.isclose(each.value, value, rel_tol=_SAME)
    )
    return next(near, None)


def reading_cost(program: Program) -> float:
    """What a program costs to read, as it is written.

    >>> reading_cost(Program.parse("2.5*x")) < reading_cost(Program.parse("2.51734*x"))
    True
    """
    return _Reading(program.library).of(program)


def multiplied_out(total: Sum, algebra: Algebra, levels: int = 1) -> Sum:
    """The sum with brackets multiplied out, those to whole powers up to `levels` as well."""
    if levels < 1:
        raise NoForm
    parts = [Sum(total.offset)]
    for coefficient, product in total.terms:
        parts.append(scaled(_distributed(product, algebra, levels), coefficient))
    found = added(*parts)
    if len(found.terms) > _MOST_TERMS:
        raise NoForm
    return found


def _distributed(product: Product, algebra: Algebra, levels: int) -> Sum:
    """A product without brackets above the line."""
    for at, (base, power) in enumerate(product):
        if not isinstance(base, Group) or power not in range(1, levels + 1):
            continue
        rest = merged((*product[:at], *product[at + 1 :], *([(base, power - 1)] * (power > 1))))
        inside = base.inside
        parts = [Sum(0.0, (term,)) for term in inside.terms]
        parts += [Sum(inside.offset)] if inside.offset else []
        whole = added(*(algebra.multiplied(part, rest) for part in parts))
        return multiplied_out(whole, algebra, levels)
    return Sum(0.0, ((1.0, product),))


def _same(program: Program, other: Program) -> bool:
    """Whether two programs have the same values, where the first has any, but for rounding."""
    rng = np.random.default_rng(0)
    shape = (_PLACES, len(program.library.variables))
    X = rng.choice([-1.0, 1.0, 1.0, 1.0], shape) * 10 ** rng.uniform(-1.0, 1.0, shape)
    with np.errstate(all="ignore"):
        values, errors = measured(program, X)
        found, more = measured(other, X)
        return agree((values, errors + np.where(np.isfinite(more), more, 0.0)), found)


class _Reading(Writer):
    """Writes normal forms in the way that costs the reader least.

    The cost of a part is what it costs to read, and the levels of brackets in it.
    """

    def __init__(self, library: Library, expands: bool = False) -> None:
        super().__init__(library)
        self.expands = expands  # whether a number before a sum goes to each of its terms

    def of(self, program: Program) -> float:
        """What a program costs to read."""

        def combine(token: int, constant: float | None, arguments: list[Written]) -> Written:
            if constant is not None:
                return self.number(constant)
            return self.node(program.library.names[token], *arguments)

        return program.fold(combine).cost[0]

    def node(self, name: str, *arguments: Written) -> Written:
        whole = super().node(name, *arguments)
        cost, levels = 1.0, 0.0
        for at, each in enumerate(arguments):
            bracket = self._in_brackets(name, at, each)
            its_levels = each.cost[1] + bracket
            # In brackets a number does not say by itself what it is.
            hidden = _HIDDEN * sum(value != 1.0 for value in each.constants)
            cost += each.cost[0] + bracket * (its_levels + hidden)
            levels = max(levels, its_levels)
        if name == "square" and self._is_shifted(arguments[0]):
            # (x - b)**2 and ((x - b)/c)**2 read as one thing, and their brackets are no burden.
            cost, levels = len(whole.tokens) - 1.0 + sum(map(number_cost, whole.constants)), 0.0
        if name == "pow" and _is_fitted_base(arguments[0]):
            cost += _FITTED_BASE
        if name == "exp" and self._hides_a_width(arguments[0]):
            cost += _HIDDEN_WIDTH
        return Written(whole.tokens, whole.constants, (cost, levels))

    def _in_brackets(self, name: str, at: int, argument: Written) -> bool:
        """Whether an argument is a sum that is written in brackets."""
        if self.library.names[argument.tokens[0]] not in ("add", "sub"):
            return False
        if name == "sub":
            return at == 1
        return name in _BRACKETED or self.library[name].exponent not in (None, 0.5)

    def _is_shifted(self, argument: Written) -> bool:
        """Whether an argument is something less its centre, maybe in units of a width."""
        names = [self.library.names[token] for token in argument.tokens]
        divided = names[0] == "div" and names[-2:] == ["const", "const"]
        if divided:
            names = names[1:-1]
        shifted = names[0] in ("add", "sub") and names[-1] == "const"
        return shifted and len(argument.constants) == 1 + divided

    def _hides_a_width(self, argument: Written) -> bool:
        """Whether an argument is -c*(x - b)**2 with a fitted c: a width has the units of x."""
        names = [self.library.names[token] for token in argument.tokens[:4]]
        square = names[:3] == ["mul", "const", "square"] and names[3:] in (["add"], ["sub"])
        return square and argument.constants[0] < 0 and number_cost(argument.constants[0]) > _NAMED

    def number(self, value: float) -> Written:
        return Written((self._constant,), (value,), (1.0 + number_cost(value), 0.0))

    def sum(self, total: Sum) -> Written:
        return self._plain_sum(total) if self.expands else super().sum(total)

    def taken_in(self, base: Base, power: float, coefficient: float) -> Base | None:
        """Numbers go into brackets, but not into exp: its factor is where it starts, or peaks."""
        return None if isinstance(base, Call) else super().taken_in(base, power, coefficient)

    def parts(self, total: Sum) -> list[tuple[float, Product]]:
        """A polynomial by its powers, else the shortest term first; a number before small ones."""
        parts = super().parts(total)
        powers = [_power(product) for _, product in parts]
        columns = {name for name, _ in powers if name}
        if len(columns) == 1 and len(total.terms) > 1 and all(each for _, each in powers[:-1]):
            parts.sort(key=lambda part: -_power(part[1])[1])
            return parts[::-1] if parts[0][0] < 0 < parts[-1][0] else parts
        most = _SMALL * abs(total.offset)
        if all(abs(size) < most and abs(size) != 1.0 for size, _ in total.terms):
            return parts[-1:] + parts[:-1]
        return sorted(parts, key=lambda part: (not part[1], len(self.term(1.0, part[1]).tokens)))

    def base(self, base: Base) -> Written:
        peak = _peak(base)
        if peak is None:
            return super().base(base)
        inside, width = self.sum(peak[0]), peak[1]
        divided = inside if width == 1.0 else self.node("div", inside, self.number(width))
        return self.node("exp", self.node("neg", self.node("square", divided)))


def _power(product: Product) -> tuple[str, float]:
    """The name and the exponent of a power of one column; no name for anything else."""
    if len(product) == 1 and isinstance(product[0][0], Variable):
        return product[0][0].name, product[0][1]
    return "", 0.0


def _peak(base: Base) -> tuple[Sum, float] | None:
    """The shifted variable and the width of exp(-((x - b)/c)**2)."""
    if not isinstance(base, Call) or base.name != "exp":
        return None
    (argument,) = base.arguments
    if argument.offset or len(argument.terms) != 1:
        return None
    ((size, product),) = argument.terms
    if size >= 0.0 or len(product) != 1 or product[0][1] != 2.0:
        return None
    shifted = product[0][0]
    return (shifted.inside, number(1.0 / math.sqrt(-size))) if isinstance(shifted, Group) else None


def _is_fitted_base(argument: Written) -> bool:
    return len(argument.constants) == len(argument.tokens) == 1 and not _whole_base(
        argument.constants[0]
    )


def _whole_base(value: float) -> bool:
    """Whether a number to a variable power is written as that: 2**x and 10**x, or 0.5**x."""
    return value > 0.0 and (
        (value.is_integer() and value <= _LARGEST_BASE)
        or ((1 / value).is_integer() and 1 / value <= _LARGEST_BASE)
    )


@lru_cache(maxsize=4096)
def number_cost(value: float) -> float:
    """What a number costs to read, beyond being a symbol.

    >>> number_cost(3.0), number_cost(0.5), number_cost(1 / (4 * math.pi)), number_cost(0.5097412)
    (0.0, 1.0, 1.5, 3.0)
    """
    size = abs(value)
    far = abs(math.log10(size)) - _ORDINARY if size > 0.0 else 0.0
    price = (digits(size) - 1) / 2
    if price > _NAMED and is_multiple(size, _SAME):
        price = _NAMED
    return price + max(far, 0.0)


class _Former:
    """Looks for the way to write sums that costs the reader least, the parts before the whole."""

    def __init__(self, library: Library, reading: _Reading) -> None:
        self.algebra, self.reading = Algebra(library), reading
        self._known: dict[Sum, Sum] = {}

    def best(self, total: Sum) -> Sum:
        """The best of the ways to write a sum."""
        found = self._known.get(total)
        if found is None:
            start = self._with_parts(total, self.best)
            ways = [*self._ways(start), start]
            found = self._known[total] = min(ways, key=lambda way: self.reading.sum(way).cost[0])
        return found

    def expanded(self, total: Sum) -> Sum:
        """The sum without brackets, as far as there are not too many terms."""
        start = self._with_parts(total, self._expanded_part)
        with suppress(*undone):
            return multiplied_out(start, self.algebra, _MOST_LEVELS)
        return start

    def _expanded_part(self, total: Sum) -> Sum:
        """A sum inside a function or below a line, its squares left as they are."""
        start = self._with_parts(total, self._expanded_part)
        with suppress(*undone):
            return multiplied_out(start, self.algebra)
        return start

    def _with_parts(self, total: Sum, change: Callable[[Sum], Sum]) -> Sum:
        """The sum with others for the sums inside it, and exp for numbers to a variable power."""
        sums = [Sum(total.offset)]
        for coefficient, product in total.terms:
            factors = [self._factor(base, power, change) for base, power in product]
            sums.append(scaled(self.algebra.multiplied(*factors), coefficient))
        return added(*sums)

    def _factor(self, base: Base, power: float, change: Callable[[Sum], Sum]) -> Sum:
        same = Sum(0.0, ((1.0, ((base, power),)),))
        if isinstance(base, Group):
            inside = change(base.inside)
            if len(inside.terms) + (inside.offset != 0.0) > 1:
                return Sum(0.0, ((1.0, ((Group(inside), power),)),)) if power != 1.0 else inside
            return self.algebra.raised(inside, power)
        if not isinstance(base, Call):
            return same
        arguments = [change(each) for each in base.arguments]
        if base.name == "pow" and arguments[0].constant:
            value = arguments[0].offset
            if value > 0.0 and not _whole_base(value):
                exponent = scaled(arguments[1], number(math.log(value)))
                exp = self.algebra.operated(self.algebra.library["exp"], [exponent])
                return self.algebra.raised(exp, power)
        return self.algebra.raised(self.algebra.called(base, arguments), power)

    def _ways(self, total: Sum) -> Iterator[Sum]:
        """The sum written otherwise: all brackets multiplied out, or each term at its best."""
        with suppress(*undone):
            yield multiplied_out(total, self.algebra)
        with suppress(*undone):
            terms = [self._best_term(Sum(0.0, (term,))) for term in total.terms]
            yield added(Sum(total.offset), *terms)

    def _best_term(self, term: Sum) -> Sum:
        ways = [term]
        for change in (self._multiplied_out, self._by_constants, self._by_centres):
            with suppress(*undone):
                ways.append(change(term))
        return min(ways, key=lambda way: self.reading.sum(way).cost[0])

    def _multiplied_out(self, term: Sum) -> Sum:
        return multiplied_out(term, self.algebra)

    def _by_constants(self, term: Sum) -> Sum:
        """c*(x + d) as c*d*(1 + x/d)."""
        ((coefficient, product),) = term.terms
        factors: list[tuple[Base, float]] = []
        for base, power in product:
            if isinstance(base, Group) and base.inside.offset:
                unit = base.inside.offset
                if not power.is_integer():
                    unit = abs(unit)
                coefficient = number(coefficient * unit**power)
                base = Group(scaled(base.inside, 1.0 / unit))
            factors.append((base, power))
        return Sum(0.0, ((coefficient, tuple(factors)),))

    def _by_centres(self, term: Sum) -> Sum:
        """Quadratics below a line or inside exp as c*(x - b)**2 + d."""
        ((coefficient, product),) = term.terms
        factors: list[tuple[Base, float]] = []
        for base, power in product:
            if isinstance(base, Group) and power < 0:
                base = Group(self._centred(base.inside))
            elif isinstance(base, Call) and base.name == "exp" and power == 1.0:
                centred = self._centred(base.arguments[0])
                if abs(centred.offset) > _LARGEST_SHIFT:
                    raise NoForm
                coefficient = number(coefficient * math.exp(centred.offset))
                base = Call("exp", (Sum(0.0, centred.terms),))
            factors.append((base, power))
        if coefficient == 0.0:
            raise NoForm
        return Sum(0.0, ((coefficient, tuple(factors)),))

    def _centred(self, total: Sum) -> Sum:
        """The sum with c*x**2 + d*x, where x is nowhere else, as c*(x - b)**2 + e."""
        flat = multiplied_out(total, self.algebra)
        counts = Counter(base for _, product in flat.terms for base, _ in product)
        sizes = {product[0]: size for size, product in flat.terms if len(product) == 1}
        found, offset = {}, flat.offset
        for (base, power), size in sizes.items():
            linear = sizes.get((base, 1.0))
            if power == 2.0 and linear is not None and counts[base] == 2:
                centre = -linear / (2.0 * size)
                offset -= size * centre * centre
                shifted = Group(Sum(number(-centre), ((1.0, ((base, 1.0),)),)))
                found[base] = (size, ((shifted, 2.0),))
        kept = (term for term in flat.terms if not any(base in found for base, _ in term[1]))
        return Sum(number(offset), (*found.values(), *kept)) if found else total
