"""Formulas as people write them: sums of terms, numbers that say something, peaks by their centre.

The shortest way to write a formula is what a search is graded by, and often not what a person
reads: 9.81*m*(h + 0.05097*v**2) hides 1/2*m*v**2, and 4.2e-9*exp(0.14*x*(24.6 - x)) hides where
the peak is. Here a formula is written in several ways, part by part, and the way that costs the
reader least (see `symseek.algebra.reading`) is taken. The ways are:

    as it is
    brackets multiplied out
    brackets divided by their constant, 1 + ..., or by what is before their first term, x + ...
    fractions below the line of another cleared
    quadratics inside exp or below a line by their centre

A fitted number to a variable power is always written with exp. A formula that costs the same stays
as it is. The program that predicts and its complexity stay what they are: this is about the text,
and what is exported.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

import numpy as np

from symseek.algebra.normal_form import (
    FORM_ERRORS,
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
)
from symseek.algebra.numbers import neat_numbers
from symseek.algebra.precision import agree, measured
from symseek.algebra.reading import Reading, whole_base
from symseek.algebra.upright import upright
from symseek.errors import unknown_name
from symseek.operators.table import POWERS
from symseek.programs import Program
from symseek.tokens import Library, short_number

STYLES = ("best", "factored", "expanded")
"""How a formula may be written: as costs the reader least, with the fewest tokens, as a sum."""
_DIVIDED = "divided"  # with brackets divided by their constant, where neat numbers may be

_MOST_TERMS = 12  # of a sum that brackets are multiplied out to
_MOST_LEVELS = 3  # of powers that are multiplied out where a sum is asked for
_LARGEST_SHIFT = 300.0  # of an exponent: e to a larger power is too long to write
_DIGITS, _MOST_DIGITS = 6, 9  # of numbers for reading; more name a number where a formula is exact
_SAME = 1e-14  # numbers that differ by less, relatively, are one
_WORTH_A_CHANGE = 1.0  # in cost: what gains no more stays as it is
_LARGEST_NUMERATOR, _ODD_DENOMINATORS = 12, (11, 13, 17, 19)  # of fractions beside decimals
_PLACES = 40  # at which a way is compared with the program
# A library that lacks one of these keeps its programs as they are.
_NEEDED = (*POWERS.values(), "add", "sub", "mul", "div", "neg", "pow", "exp", "abs", "const")


def styled(program: Program, style: str = "best") -> Program:
    """The program as people write it, all digits kept; the same function, but for rounding.

    >>> from symseek.model import full_library
    >>> library = full_library(["m", "h", "v"])
    >>> energy = Program.parse("9.81*m*(h + 0.0509683995922528*v**2)", library)
    >>> print(styled(energy))
    9.81*m*h + 0.5*m*v**2
    >>> print(styled(energy, "factored") == energy)
    True
    >>> print(text(styled(Program.parse("4.4e-9*exp(0.14*h*(24.6 - h))", library))))
    6.95137*exp(-((h - 12.3)/2.67261)**2)
    """
    if not isinstance(style, str) or style not in STYLES:
        raise unknown_name("style", style, STYLES)
    return program if style == "factored" else _styled(program, style)


def ways(program: Program) -> list[Program]:
    """The ways to write a program in which its numbers may be neat, other than as it is.

    >>> from symseek.model import full_library
    >>> growth = Program.parse("38.2/(exp(-0.31*t) + 0.0408)", full_library(["t"]))
    >>> for each in ways(growth):
    ...     print(text(each))
    936.275/(1 + 24.5098*exp(-0.31*t))
    """
    found = {_styled(program, "expanded"): None}
    for style in ("best", _DIVIDED):
        way = _styled(program, style)
        if _numbers(way) <= _numbers(program):  # x*(y + 1.7), divided, has a number more to fit
            found[way] = None
    return [each for each in found if each != program]


def _numbers(program: Program) -> int:
    """How many numbers of a program may be any: 1 + ... is that by the way it is written."""
    return sum(value != 1.0 for value in program.constants)


@lru_cache(maxsize=1024)
def _styled(program: Program, style: str) -> Program:
    library, expand = program.library, style == "expanded"
    if not all(name in library for name in _NEEDED):
        return program
    reading = Reading(library, plain=expand, as_given=style == _DIVIDED)
    try:
        with np.errstate(all="ignore"):
            former = _Former(library, reading)
            form = former.algebra.form(program, [1.0] * len(library.variables))
            change = {"best": former.best, "expanded": former.expanded, _DIVIDED: former.divided}
            found = reading.program(change[style](form))
    except FORM_ERRORS:
        return program
    gain = reading.of(program) - reading.of(found)
    changed = style != "best" or gain > _WORTH_A_CHANGE
    return found if changed and _same(program, found) else program


def text(program: Program, exact: bool = False, numbers: Sequence[str | None] | None = None) -> str:
    """The program for reading: numbers by their neat names, or cut to six digits.

    A formula that meets its rows to nine digits may have names for numbers of nine digits. Texts
    for some `numbers` may be given, and None for the others.

    >>> from symseek.model import full_library
    >>> print(text(Program.parse("0.3333333333333333*x", full_library(["x"]))))
    1/3*x
    >>> print(text(Program.parse("14.833333333333334", full_library(["x"]))))
    14.8333
    """
    return upright(program, number_texts(program, exact, numbers))


def number_texts(
    program: Program, exact: bool = False, numbers: Sequence[str | None] | None = None
) -> list[str]:
    """The numbers of a program, in their order, as `text` writes them.

    >>> from symseek.model import full_library
    >>> number_texts(Program.parse("0.3333333333333333*x + 2.5", full_library(["x"])))
    ['1/3', '5/2']
    """
    most = _MOST_DIGITS if exact else _DIGITS
    given = numbers or [None] * len(program.constants)
    cut = [
        each or short_number(value, _DIGITS)
        for value, each in zip(program.constants, given, strict=True)
    ]
    if len(program) == 1:  # a mean of counts is a fraction by nature, and says nothing
        return cut
    names = [
        None if each else _name_of(value, most)
        for value, each in zip(program.constants, given, strict=True)
    ]
    decimals = any("." in (name or each) for name, each in zip(names, cut, strict=True))
    kept = [name if name and not (decimals and _is_odd(name)) else None for name in names]
    return [name or each for name, each in zip(kept, cut, strict=True)]


def _is_odd(name: str) -> bool:
    """Whether a name says nothing beside decimals, as 20/13, 49/2 and sqrt(4.5e-7) do."""
    above, _, below = name.lstrip("-").partition("/")
    if above.isdigit() and below.isdigit():
        return int(above) > _LARGEST_NUMERATOR or int(below) in _ODD_DENOMINATORS
    return "sqrt" in name and "e-" in name


@lru_cache(maxsize=4096)
def _name_of(value: float, most: int) -> str | None:
    """The neat name of a number, decimals of up to so many digits among them."""
    near = (
        each.text
        for each in neat_numbers(value, most, rare=True)
        if math.isclose(each.value, value, rel_tol=_SAME)
    )
    return next(near, None)


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


class _Former:
    """Looks for the way to write sums that costs the reader least, the parts before the whole."""

    def __init__(self, library: Library, reading: Reading) -> None:
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
        with suppress(*FORM_ERRORS):
            return multiplied_out(start, self.algebra, _MOST_LEVELS)
        return start

    def divided(self, total: Sum) -> Sum:
        """The sum with brackets divided by their constants where a number is before them."""
        start = self._with_parts(total, self.divided)
        with suppress(*FORM_ERRORS):
            terms = [self._divided_term(Sum(0.0, (term,))) for term in start.terms]
            return added(Sum(start.offset), *terms)
        return start

    def _divided_term(self, term: Sum) -> Sum:
        return term if abs(term.terms[0][0]) == 1.0 else self._by_constants_but_shifts(term)

    def _expanded_part(self, total: Sum) -> Sum:
        """A sum inside a function or below a line, its squares left as they are."""
        start = self._with_parts(total, self._expanded_part)
        with suppress(*FORM_ERRORS):
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
            if value > 0.0 and not whole_base(value):
                exponent = scaled(arguments[1], number(math.log(value)))
                exp = self.algebra.operated(self.algebra.library["exp"], [exponent])
                return self.algebra.raised(exp, power)
        return self.algebra.raised(self.algebra.called(base, arguments), power)

    def _ways(self, total: Sum) -> Iterator[Sum]:
        """The sum written otherwise: all brackets multiplied out, or each term at its best."""
        with suppress(*FORM_ERRORS):
            yield multiplied_out(total, self.algebra)
        with suppress(*FORM_ERRORS):
            terms = [self._best_term(Sum(0.0, (term,))) for term in total.terms]
            yield added(Sum(total.offset), *terms)

    def _best_term(self, term: Sum) -> Sum:
        if all(isinstance(base, Variable) for _, product in term.terms for base, _ in product):
            return term
        ways = [term]
        with suppress(*FORM_ERRORS):
            ways.append(self._cleared(term))
        changes = (
            self._multiplied_out,
            self._by_constants,
            self._by_constants_but_shifts,
            self._by_letters,
            self._by_centres,
        )
        for start in tuple(dict.fromkeys(ways)):
            for change in changes:
                with suppress(*FORM_ERRORS):
                    ways.append(change(start))
        return min(dict.fromkeys(ways), key=lambda way: self.reading.sum(way).cost[0])

    def _multiplied_out(self, term: Sum) -> Sum:
        return multiplied_out(term, self.algebra)

    def _by_constants_but_shifts(self, term: Sum) -> Sum:
        """c*(x**2 + d)*(x - e) as c*d*(1 + x**2/d)*(x - e)."""
        return self._by_constants(term, shifts=False)

    def _by_constants(self, term: Sum, shifts: bool = True) -> Sum:
        """c*(x + d) as c*d*(1 + x/d), also where it is one factor of several under a root."""
        ((coefficient, product),) = term.terms
        factors: list[tuple[Base, float]] = []
        for base, power in product:
            if isinstance(base, Group) and (shifts or not _is_shift(base.inside)):
                inside, unit = base.inside, base.inside.offset
                if not unit and len(inside.terms) == 1:
                    inside = self._by_constants(inside, shifts)
                    unit = inside.terms[0][0]
                if unit:
                    unit = unit if power.is_integer() else abs(unit)
                    coefficient = number(coefficient * unit**power)
                    inside = scaled(inside, 1.0 / unit)
                base = Group(self._in_scales(inside) if power < 0 else inside)
            factors.append((base, power))
        return Sum(0.0, ((coefficient, tuple(factors)),))

    def _in_scales(self, total: Sum) -> Sum:
        """1 + c*x**n with a fitted n as 1 + (x/d)**n: d is the x at which both parts are equal."""
        if not total.offset:
            return total
        terms = []
        for size, product in total.terms:
            (base, power), *others = product
            if size > 0.0 and isinstance(base, Variable) and not others and power not in POWERS:
                scale = Group(Sum(number(size ** (-1.0 / power))))
                quotient = (
                    ((base, 1.0), (scale, -1.0)) if power > 0 else ((scale, 1.0), (base, -1.0))
                )
                arguments = Sum(0.0, ((1.0, quotient),)), Sum(abs(power))
                size, product = 1.0, ((Call("pow", arguments), 1.0),)
            terms.append((size, product))
        return Sum(total.offset, tuple(terms))

    def _by_letters(self, term: Sum) -> Sum:
        """c/(d*x + e) as c/d/(x + e/d)."""
        ((coefficient, product),) = term.terms
        factors: list[tuple[Base, float]] = []
        for base, power in product:
            if isinstance(base, Group) and power < 0 and base.inside.terms:
                unit = abs(self.reading.simplest(base.inside)[0])
                coefficient = number(coefficient * unit**power)
                base = Group(scaled(base.inside, 1.0 / unit))
            factors.append((base, power))
        return Sum(0.0, ((coefficient, tuple(factors)),))

    def _cleared(self, term: Sum) -> Sum:
        """c/(d/x + e) as c*x/(d + e*x)."""
        ((coefficient, product),) = term.terms
        factors: list[Sum] = []
        for base, power in product:
            lines = _lines(base.inside) if isinstance(base, Group) else ()
            if not isinstance(base, Group) or not lines or power >= 0 or not power.is_integer():
                factors.append(Sum(0.0, ((1.0, ((base, power),)),)))
                continue
            parts = [scaled(merged((*each, *lines)), size) for size, each in base.inside.terms]
            inside = added(*parts, scaled(merged(lines), base.inside.offset))
            outside = merged(tuple((each, -power * line) for each, line in lines))
            factors += [self.algebra.raised(inside, power), outside]
        return scaled(self.algebra.multiplied(*factors), coefficient)

    def _by_centres(self, term: Sum) -> Sum:
        """Quadratics below a line or inside exp as c*(x - b)**2 + d."""
        ((coefficient, product),) = term.terms
        factors: list[tuple[Base, float]] = []
        for base, power in product:
            if isinstance(base, Group) and power < 0:
                base = Group(self._resonance(base.inside))
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

    def _resonance(self, total: Sum) -> Sum:
        """A sum below a line by its centre; not where it has a zero, which says more."""
        centred = self._centred(total)
        if len(centred.terms) == 1 and centred.offset * centred.terms[0][0] < 0.0:
            return total
        return centred

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


def _is_shift(total: Sum) -> bool:
    """Whether a sum is a column and a number in its units."""
    if not total.offset or len(total.terms) != 1:
        return False
    ((size, product),) = total.terms
    ((base, power), *others) = product
    return abs(size) == power == 1.0 and isinstance(base, Variable) and not others


def _lines(total: Sum) -> Product:
    """The columns below the lines of a sum, in the highest whole powers that they have there."""
    most: dict[Base, float] = {}
    for _, product in total.terms:
        for base, power in product:
            if isinstance(base, Variable) and power < 0 and power.is_integer():
                most[base] = max(most.get(base, 0.0), -power)
    return tuple(most.items())
