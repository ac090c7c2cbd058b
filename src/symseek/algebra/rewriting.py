"""Other ways to write a normal form: by the table of rules, and by what sums and products allow.

Every way has the same value on the rows, or nearly so; which one is shorter is for the caller.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from math import copysign, sqrt

import numpy as np

from symseek.algebra.matching import Binding, close, factors_match, names, terms_match
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
from symseek.algebra.precision import EvaluatedForms
from symseek.algebra.rules import RULES, RewriteRule
from symseek.programs import Program
from symseek.tokens import Library

_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_EPSILON = float(np.finfo(np.float64).eps)
_MOST_EXPANDED = 12  # terms
_FEWEST_ROWS = 4  # on which something that is always the same is a number


class Rewriter:
    """Rewrites sums on some rows."""

    def __init__(self, library: Library, rows: EvaluatedForms) -> None:
        self.library, self.rows = library, rows
        self.algebra = Algebra(library, rows)
        self._rules = [rule for rule in RULES if all(name in library for name in rule.functions)]

    def ways(self, total: Sum) -> Iterator[Sum]:
        """The sum written otherwise, in one step."""
        calls = [_calls(product) for _, product in total.terms]
        all_calls = frozenset().union(*calls)
        for rule in self._rules:
            if not rule.calls <= all_calls:
                continue
            if rule.is_sum:
                yield from self._sums(rule, total)
                continue
            for at, its_calls in enumerate(calls):
                if rule.calls <= its_calls:
                    yield from self._in_place(total, at, self._products(rule, *total.terms[at]))
        yield from self._with_common_factors(total)
        yield from self._with_squares(total)
        for at, (coefficient, product) in enumerate(total.terms):
            yield from self._in_place(total, at, self._other_products(coefficient, product))

    def _in_place(self, total: Sum, at: int, terms: Iterator[Sum]) -> Iterator[Sum]:
        """The sum with others for one of its terms."""
        before, after = total.terms[:at], total.terms[at + 1 :]
        for term in terms:
            with suppress(*FORM_ERRORS):
                yield added(Sum(total.offset, before), term, Sum(0.0, after))

    # --- by the table

    def _sums(self, rule: RewriteRule, total: Sum) -> Iterator[Sum]:
        """The pattern among the addends, all of them times one number."""
        pattern = rule.pattern
        sizes = dict.fromkeys(c / pattern.terms[0][0] for c, _ in total.terms)
        for size in sizes:
            terms = [(number(c / size), product) for c, product in total.terms]
            for chosen, binding in terms_match(pattern.terms, terms, {}):
                if not self._holds(rule, binding):
                    continue
                with suppress(*FORM_ERRORS):
                    rest = tuple(term for i, term in enumerate(total.terms) if i not in chosen)
                    offset = total.offset - size * pattern.offset
                    new = scaled(self._built(rule.replacement, binding), size)
                    yield added(new, Sum(number(offset), rest))

    def _products(self, rule: RewriteRule, coefficient: float, product: Product) -> Iterator[Sum]:
        """The pattern among the factors, to any one power."""
        ((size, factors),) = rule.pattern.terms
        patterns = tuple(each for each in factors if not isinstance(each[0], Variable))
        numbers = [base.name for base, _ in factors if isinstance(base, Variable)]
        if numbers and coefficient == 1.0:
            return
        powers = dict.fromkeys(
            power / one for first, one in patterns for base, power in product if _alike(first, base)
        )
        for power in powers if not numbers else [1.0]:
            flat = tuple((base, number(each / power)) for base, each in product)
            start: Binding = {numbers[0]: Sum(coefficient)} if numbers else {}
            for chosen, binding in factors_match(patterns, flat, start, at_least=True):
                if not self._holds(rule, binding):
                    continue
                with suppress(*FORM_ERRORS):
                    new = self.algebra.raised(self._built(rule.replacement, binding), power)
                    used = {
                        at: each * power for at, (_, each) in zip(chosen, patterns, strict=True)
                    }
                    rest = tuple(
                        (base, number(each - used.get(at, 0.0)))
                        for at, (base, each) in enumerate(product)
                    )
                    factor = 1.0 if numbers else coefficient
                    left = scaled(merged(rest), number(factor / size**power))
                    yield self.algebra.multiplied(new, left)

    def _holds(self, rule: RewriteRule, binding: Binding) -> bool:
        """Whether the conditions of a rule are met on all rows."""
        try:
            for left, sign, right in rule.conditions:
                sides = (self.rows.values(self._built(each, binding)) for each in (left, right))
                if not _COMPARE[sign](*sides).all():
                    return False
        except FORM_ERRORS:
            return False
        return True

    def _built(self, program: Program, binding: Binding) -> Sum:
        """A formula in letters, with what they stand for."""
        letters = program.library.variables
        return program.worked(lambda at: binding[letters[at]], Sum, self.algebra.operated)

    # --- by what sums and products allow

    def _with_common_factors(self, total: Sum) -> Iterator[Sum]:
        """a*b + a*c = a*(b + c), for every a that several terms have."""
        shared: dict[tuple[Base, bool], list[tuple[int, float]]] = {}
        for at, (_, product) in enumerate(total.terms):
            for base, power in product:
                shared.setdefault((base, power > 0), []).append((at, power))
        for (base, _), places in shared.items():
            if len(places) < 2:
                continue
            with suppress(*FORM_ERRORS):
                power = min((power for _, power in places), key=abs)
                chosen = {at for at, _ in places}
                inside = added(
                    *(
                        scaled(merged((*product, (base, -power))), c)
                        for at, (c, product) in enumerate(total.terms)
                        if at in chosen
                    )
                )
                factor = Sum(0.0, ((1.0, ((base, power),)),))
                rest = tuple(term for at, term in enumerate(total.terms) if at not in chosen)
                yield added(self.algebra.multiplied(factor, inside), Sum(total.offset, rest))

    def _with_squares(self, total: Sum) -> Iterator[Sum]:
        """a**2 + 2*a*b + b**2 = (a + b)**2, and a**2 - b**2 = (a + b)*(a - b)."""
        parts = [*(Sum(0.0, (term,)) for term in total.terms), Sum(total.offset)]
        roots = [(at, *root) for at, part in enumerate(parts) if (root := _square_root(part))]
        for (i, sign, one), (j, its_sign, other) in combinations(roots, 2):
            with suppress(*FORM_ERRORS):
                rest = [part for at, part in enumerate(parts) if at not in (i, j)]
                plus, minus = added(one, other), added(one, scaled(other, -1.0))
                if sign != its_sign and len(total.terms) == 2 - (j == len(parts) - 1):
                    yield scaled(self.algebra.multiplied(plus, minus), sign)
                if sign != its_sign:
                    continue
                double = scaled(self.algebra.multiplied(one, other), 2.0 * sign)
                for whole, cross in ((plus, double), (minus, scaled(double, -1.0))):
                    if any(close(part, cross) for part in rest):
                        square = scaled(self.algebra.raised(whole, 2.0), sign)
                        yield added(square, *(part for part in rest if not close(part, cross)))

    def _other_products(self, coefficient: float, product: Product) -> Iterator[Sum]:
        for at, (base, power) in enumerate(product):
            others = product[:at] + product[at + 1 :]
            rest = scaled(merged(others), coefficient)
            if isinstance(base, Group):
                yield from self._with_bracket(base, power, others, rest)
            if isinstance(base, Call):
                value = self._always(base)
                with suppress(*FORM_ERRORS):
                    if value is not None:
                        yield scaled(rest, number(value**power))

    def _with_bracket(
        self, group: Group, power: float, others: Product, rest: Sum
    ) -> Iterator[Sum]:
        """What a bracket becomes when other factors come into it, or go out of it."""
        with suppress(*FORM_ERRORS):
            if power in (1.0, 2.0):
                yield from self._expanded(group.inside, power, rest)
        # exp(x)/(exp(x) + 1) = 1/(exp(-x) + 1), but x/(x + 1) is what people write.
        grown: list[tuple[Base, float]]
        grown = [(b, -its / power) for b, its in others if isinstance(b, Call) and b.name == "exp"]
        if not power.is_integer():  # c/sqrt(c**2 - v**2) = 1/sqrt(1 - (v/c)**2)
            grown += [(b, each) for b, _ in others for each in _powers(b, group.inside)]
        for factor in _denominators(group.inside) + grown:
            with suppress(*FORM_ERRORS):
                yield self._without(factor, group, power, rest)
        if others:  # which might cancel
            for way in (self._with_common_factors, self._with_squares):
                for inside in way(group.inside):
                    if len(inside.terms) == 1 and inside.offset == 0.0:
                        with suppress(*FORM_ERRORS):
                            raised = self.algebra.raised(inside, power)
                            yield self.algebra.multiplied(raised, rest)

    def _expanded(self, inside: Sum, power: float, rest: Sum) -> Iterator[Sum]:
        """(a + b)*c = a*c + b*c, and the same for a square."""
        parts = [*(Sum(0.0, (term,)) for term in inside.terms)]
        parts += [Sum(inside.offset)] if inside.offset else []
        if power == 2.0:
            parts = [self.algebra.multiplied(one, other) for one in parts for other in parts]
        if len(parts) <= _MOST_EXPANDED:
            yield added(*(self.algebra.multiplied(part, rest) for part in parts))

    def _without(self, below: tuple[Base, float], group: Group, power: float, rest: Sum) -> Sum:
        """(1/a + b)**p = (1 + a*b)**p / a**p, and the same for any power of a."""
        base, exponent = below
        cleared = added(
            *(
                scaled(merged((*product, (base, -exponent))), c)
                for c, product in group.inside.terms
            ),
            scaled(merged(((base, -exponent),)), group.inside.offset),
        )
        if not power.is_integer() and self.algebra.sign(base) <= 0:
            raise NoForm
        taken = merged(((base, number(exponent * power)),))
        return self.algebra.multiplied(self.algebra.raised(cleared, power), taken, rest)

    def _always(self, call: Call) -> float | None:
        """The number that a function of something that varies is on all rows, as tanh(50*x)."""
        values = self.rows.values(call)
        if len(values) < _FEWEST_ROWS or not np.isfinite(values).all():
            return None
        if not any(np.ptp(self.rows.values(each)) > 0 for each in call.arguments):
            return None
        middle = float(np.median(values))
        same = (np.abs(values - middle) <= _EPSILON * abs(middle)).all()
        return middle if same else None

    def without_negligible(self, total: Sum) -> Sum:
        """Addends that are lost in the last digit of another on every row are left out."""
        if len(total.terms) + (total.offset != 0.0) < 2 or len(self.rows.X) == 0:
            return total
        with np.errstate(all="ignore"):
            sizes = [np.abs(c * self.rows.values(product)) for c, product in total.terms]
            largest = np.maximum.reduce([np.full(len(self.rows.X), abs(total.offset)), *sizes])
            lost = [bool((size <= _EPSILON / 4 * largest).all()) for size in sizes]
            offset_lost = bool((abs(total.offset) <= _EPSILON / 4 * largest).all())
        kept = tuple(term for term, gone in zip(total.terms, lost, strict=True) if not gone)
        return Sum(0.0 if offset_lost else total.offset, kept)


def _calls(product: Product) -> frozenset[str]:
    """The functions in a product, at any depth below its own calls."""
    return names(Sum(0.0, ((1.0, product),)))


def _square_root(part: Sum) -> tuple[float, Sum] | None:
    """The sign of an addend and the square root of its size, if that is no worse than it is."""
    if part.constant:
        return (copysign(1.0, part.offset), Sum(sqrt(abs(part.offset)))) if part.offset else None
    ((coefficient, product),) = part.terms
    if not all(power % 2 == 0 for _, power in product):
        return None
    root = tuple((base, power / 2) for base, power in product)
    return copysign(1.0, coefficient), Sum(0.0, ((sqrt(abs(coefficient)), root),))


def _alike(pattern: Base, base: Base) -> bool:
    if isinstance(pattern, Call):
        return isinstance(base, Call) and base.name == pattern.name
    return type(pattern) is type(base)


def _powers(base: Base, inside: Sum) -> list[float]:
    """The powers of a variable that are positive terms of a sum by themselves, times numbers."""
    terms = (product for coefficient, product in inside.terms if coefficient > 0)
    alone = (product[0] for product in terms if len(product) == 1)
    letter = isinstance(base, Variable)
    return list(dict.fromkeys(power for b, power in alone if letter and b == base and power > 0))


def _denominators(inside: Sum) -> list[tuple[Base, float]]:
    """The factors below a line somewhere in the sum, each with its largest power."""
    found: dict[Base, float] = {}
    for _, product in inside.terms:
        for base, power in product:
            if power < 0:
                found[base] = min(power, found.get(base, 0.0))
    return list(found.items())
