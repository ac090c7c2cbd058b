"""Simplifying formulas, and writing them in other units.

A fitted formula often reads 2.0*(1.5*x) or exp(-log(a*b/c)), and one found in scaled columns has to
be written in the user's units. Both are one job: the formula becomes its `normal_form`, is
rewritten (`rewriting`, by the table in `rules`) as long as that shortens it, and is written with as
few tokens as it needs (`writing`). The result is compared with the original on the rows.

    program ──> normal form ──> rewritten, the shortest first ──> written ──> compared
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

import numpy as np
from numpy.typing import NDArray

from symseek.algebra.normal_form import FORM_ERRORS, Base, Group, Sum, Variable, added, scaled
from symseek.algebra.periodic import lowest, without_minus
from symseek.algebra.precision import EvaluatedForms, agree, measured
from symseek.algebra.reductions import reductions
from symseek.algebra.rewriting import Rewriter
from symseek.algebra.typeset import ALL_DIGITS, tidied
from symseek.algebra.writing import Writer
from symseek.programs import Program, Programs
from symseek.tokens import Library

__all__ = [
    "STRUCTURAL",
    "reductions",
    "rescaled",
    "simplified",
    "structural_exponents",
    "translated",
]

# A sum is rewritten so many times, and a whole formula in so many ways, at most.
_EXPANDED, _WAYS = 8, 150
# A way to write a sum may be so much longer than the shortest, for what it may lead to.
_DETOUR = 4
_LOOKED_AT = 2_000  # rows on which the ways to write a formula are compared; more, if those differ
_ATTEMPTS = 3
_SAME = 1e-9  # of the largest value: what all other rows may differ by
STRUCTURAL = 16  # exponents that are multiples of one part in so many come of roots and products


def simplified(program: Program, library: Library, X: NDArray[np.float64]) -> Program:
    """The formula with fewer tokens where that can be done, over a library with every operator.

    Its values on the rows of X [N, n] stay, but for rounding, wherever it has some; that all x are
    positive there, or whole numbers, is made use of.

    >>> from symseek.model import full_library
    >>> library = full_library(["x", "y"])
    >>> X = np.array([[0.5, 2.0], [1.5, 3.0]])
    >>> print(simplified(Program.parse("2.0*(1.5*x) + y*y*y - exp(0.0)*y/y", library), library, X))
    3.0*x + y**3 - 1.0
    >>> print(simplified(Program.parse("exp(-log(x*x/y)/2.0)", library), library, X))
    sqrt(y)/x
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

    The shortest way to write it is looked for on some rows, and compared on all. X [N, n] has these
    rows, in the new units; variables are matched by their order.

    >>> from symseek.model import full_library
    >>> library = full_library(["a"])
    >>> law = Program.parse("2.0*a*sqrt(a)", library)  # a in units of 1e11, the result of 1e8
    >>> print(rescaled(law, library, np.array([[1.5e11]]), [1e11], 1e8))
    6.324555320336758e-09*a**1.5
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    plain = Writer(library).translated(program, inputs, output)
    values = plain.evaluate(X)
    X, values = X[np.isfinite(values)], values[np.isfinite(values)]
    if not len(X):
        return plain
    rows = _some_rows(len(X))
    for _ in range(_ATTEMPTS):
        found = _shortest(program, plain, X[rows], inputs, output)
        with np.errstate(all="ignore"):
            same = np.abs(found.evaluate(X) - values) <= _SAME * np.abs(values).max()
        if len(rows) == len(X) or same.all():
            return found
        rows = np.union1d(rows, np.flatnonzero(~same)[:_LOOKED_AT])  # what was overlooked
    return plain


def _some_rows(count: int) -> NDArray[np.intp]:
    """One row of every few, not every third: on every third of 1, 2, 3, ... cos(2*pi*x/3) is 1."""
    step = -(-count // _LOOKED_AT)
    first = np.arange(0, count, step)
    rows: NDArray[np.intp] = first + np.random.default_rng(0).integers(step, size=len(first))
    return np.unique(np.minimum(rows, count - 1))


def _shortest(
    program: Program,
    plain: Program,
    X: NDArray[np.float64],
    inputs: Sequence[float],
    output: float,
) -> Program:
    """The shortest way to write the formula that agrees with its plain translation on all rows."""
    expected, writer = measured(plain, X), Writer(plain.library)
    found = [tidied(plain, ALL_DIGITS)]
    with suppress(*FORM_ERRORS, RecursionError), np.errstate(all="ignore"):
        search = _Shortest(plain.library, X, writer)
        form = scaled(search.algebra.form(program, inputs), output)
        found.insert(0, writer.program(form))
        found.insert(0, writer.program(search.best(form)))
    for each in found:
        if each.complexity <= plain.complexity and agree(expected, each.evaluate(X)):
            return each
    return plain


class _Shortest:
    """Looks for the shortest way to write sums: best first, and the parts before the whole."""

    def __init__(self, library: Library, X: NDArray[np.float64], writer: Writer) -> None:
        self.rows = EvaluatedForms(library, X)
        self.rewriter = Rewriter(library, self.rows)
        self.algebra, self.writer = self.rewriter.algebra, writer
        self._known: dict[Sum, Sum] = {}
        self._left = _WAYS

    def best(self, total: Sum) -> Sum:
        """The shortest of the ways to write a sum that there was time to look at."""
        if total in self._known:
            return self._known[total]
        self._known[total] = total  # should it come up again within itself
        start = self.with_best_parts(total)
        costs = {start: self.writer.sum(start).cost}
        order = count()
        waiting = [(costs[start], next(order), start)]
        for _ in range(_EXPANDED):
            if not waiting or waiting[0][0][0] > min(costs.values())[0] + _DETOUR:
                break
            _, _, form = heapq.heappop(waiting)
            for way in self.rewriter.ways(form):
                if self._left <= 0:
                    break
                self._left -= 1
                way = self.with_best_parts(way)
                if way not in costs:
                    costs[way] = self.writer.sum(way).cost
                    heapq.heappush(waiting, (costs[way], next(order), way))
        expected = self.rows.values(total), self.rows.errors(total)
        # Of several, that which names fewer variables: a**2 - b**2, not (a + b)*(a - b).
        ranked = sorted(costs, key=lambda form: (costs[form][0], self.writer.letters(form)))
        same = (form for form in ranked if agree(expected, self.rows.values(form)))
        found = self._known[total] = next(same, total)
        self._known[found] = found
        return found

    def with_best_parts(self, total: Sum) -> Sum:
        """The sum with every part of it as short as can be, and no addend that does not matter."""
        sums = [Sum(total.offset)]
        for coefficient, product in total.terms:
            term = Sum(0.0, ((coefficient, product),))
            with suppress(*FORM_ERRORS):
                factors = [self._raised(base, power) for base, power in product]
                term = scaled(self.algebra.multiplied(*factors), coefficient)
                if len(term.terms) == 1 and not term.offset:
                    term = without_minus(term, self.algebra)
            sums.append(term)
        try:
            return self.rewriter.without_negligible(added(*sums))
        except FORM_ERRORS:
            return total

    def _raised(self, base: Base, power: float) -> Sum:
        if isinstance(base, Variable):
            return Sum(0.0, ((1.0, ((base, power),)),))
        if isinstance(base, Group):
            return self.algebra.raised(self.best(base.inside), power)
        found = self.algebra.called(base, [self.best(each) for each in base.arguments])
        if not found.constant and found.terms[0][1] != ((base, 1.0),):
            return self.algebra.raised(found, power)
        return self.algebra.raised(lowest(base, self.algebra, self.rows), power)


def structural_exponents(programs: Programs) -> NDArray[np.bool_]:
    """Which constants [B, K] are exponents of roots and products, which no fit is to change.

    An exponent that a fit came to, as in exp(0.4987*log(x)), is none of these.

    >>> law = Program.parse("2.0*x**1.5 + x**0.4987")
    >>> structural_exponents(Programs.from_list([law])).tolist()
    [[False, True, False]]
    """
    fixed = np.zeros(programs.constants.shape, dtype=bool)
    for row, program in zip(fixed, programs, strict=True):
        names, values = program.names, iter(enumerate(program.constants))
        for name, (parent, argument) in zip(names, program.parents, strict=True):
            if name == "const":
                at, value = next(values)
                exponent = argument == 1 and names[parent] == "pow"
                row[at] = exponent and (value * STRUCTURAL).is_integer()
    return fixed


def translated(program: Program, library: Library) -> Program:
    """The program token by token over a library with every operator; numbers become constants."""
    return Writer(library).translated(program)
