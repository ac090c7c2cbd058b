"""Formulas for the eye: few digits, signs where a person writes them, one fraction for several.

A search writes `0.7 + t*(-0.49924801)`; a page should say `0.7 - 0.4992*t`. The value stays the
same but for the digits cut off. MathML and the labels of the plots begin here.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from symseek.algebra.parts import Builder, FormulaPart
from symseek.errors import InputError
from symseek.programs import Program
from symseek.tokens import TokenKind

if TYPE_CHECKING:
    from symseek.model import Formula

ALL_DIGITS = 17  # of a float: none is cut

# What signs are moved with. A library that lacks one of these keeps its signs where they are.
_NEEDED = ("add", "sub", "neg", "mul", "div", "reciprocal")

# A product of a number and a letter, a function or a bracket needs no dot; `2 \frac{1}{2}` and
# `2 10^{3}` do, and so do two numbers.
_PLAIN_PRODUCT = re.compile(r"(?<=\d) \\cdot (?=[A-Za-z]|\\(?!frac))")


def readable(formula: Formula, digits: int = 6) -> Program:
    """The formula as its text says it, with neat numbers, tidied for display.

    >>> from symseek.model import Formula, full_library
    >>> program = Program.parse("t*(-0.66666666) + 1.23456789", full_library(["t"]))
    >>> formula = Formula(program, "t*(-2/3) + 1.23457", reward=1.0, nrmse=0.0, r2=1.0)
    >>> print(readable(formula, digits=3))
    1.23 - 2.0*t/3.0
    """
    library = formula.program.library
    try:
        program = Program.parse(formula.text, library)
    except InputError:
        program = formula.program
    return tidied(program, digits)


def tidied(program: Program, digits: int = 6) -> Program:
    """The same formula, easier to read: constants cut to so many digits, signs pulled out.

    Terms and factors may change places, so its floats can differ in the last digits.

    >>> print(tidied(Program.parse("0.7 + exp(t*(-0.499248014))*(t - (-3))"), digits=4))
    0.7 + exp(-0.4992*t)*(t + 3.0)
    """
    short = tuple(_cut(value, digits) for value in program.constants)
    program = replace(program, constants=short)
    if not all(name in program.library for name in _NEEDED):
        return program
    tidy = _Tidy(program.library)
    whole = tidy.with_sign(program.fold(tidy.node))
    return Program(program.library, whole.tokens, whole.constants)


def latex_line(program: Program) -> str:
    r"""LaTeX for a label: no dots that can be spared, pi by its letter, outer fractions large.

    >>> print(latex_line(Program.parse("2.5*t*sin(pi*t)/t")))
    \dfrac{2.5\,t \cdot \sin\left(\pi\,t\right)}{t}
    """
    text = program.latex().replace(repr(math.pi), r"\pi")
    text = _PLAIN_PRODUCT.sub(r"\\,", text).replace(r"\pi \cdot ", r"\pi\,")
    return _with_large_fractions(text)


def _with_large_fractions(text: str) -> str:
    depth, parts = 0, []
    for part in re.split(r"(\\frac|[{}])", text):
        depth += (part == "{") - (part == "}")
        parts.append(r"\dfrac" if part == r"\frac" and depth == 0 else part)
    return "".join(parts)


def _cut(value: float, digits: int) -> float:
    """The value in so many significant digits; pi stays itself, to be known by its letter."""
    if abs(value) == math.pi or not math.isfinite(value):
        return value
    return float(f"{value:.{digits}g}")


class _Tidy(Builder):
    """Pulls signs out of products and into sums, node by node from the leaves."""

    def node(self, token: int, constant: float | None, arguments: list[FormulaPart]) -> FormulaPart:
        this = self.library.tokens[token]
        if constant is not None:
            return FormulaPart((token,), (abs(constant),), constant < 0)
        if this.kind is not TokenKind.OPERATOR:
            return FormulaPart((token,), ())
        if this.name == "neg":
            return arguments[0].negated()
        if this.name in ("add", "sub"):
            first, second = arguments
            return self.sum(first, second if this.name == "add" else second.negated())
        if this.name in ("mul", "div", "reciprocal"):
            return self.product(this.name, arguments)
        return self.joined((token,), [self.with_sign(each) for each in arguments])

    def sum(self, first: FormulaPart, second: FormulaPart) -> FormulaPart:
        """One sum without brackets; if there is a term without a sign, it comes first."""
        terms = first.terms() + second.terms()
        leader = next((i for i, term in enumerate(terms) if not term.negative), 0)
        terms.insert(0, terms.pop(leader))
        signs = ["sub" if term.negative else "add" for term in terms[1:]]
        chain = tuple(self.library.index(name) for name in reversed(signs))
        parts = [self.with_sign(terms[0]), *(term.positive() for term in terms[1:])]
        return self.joined(chain, parts)._replace(summands=tuple(terms))

    def product(self, name: str, arguments: list[FormulaPart]) -> FormulaPart:
        """One fraction, or a product where nothing is below the line, its sign before it."""
        above, below, negative = self.gathered(name, arguments)
        above, below = self.ordered(above, bool(below)), self.ordered(below, False)
        whole = self.fraction(above, below)._replace(above=above, below=below)
        return whole._replace(negative=negative)

    def ordered(
        self, factors: tuple[FormulaPart, ...], may_be_empty: bool
    ) -> tuple[FormulaPart, ...]:
        """Numbers first; a factor of 1 is left out."""
        kept = [each for each in factors if each.constants != (1.0,) or len(each.tokens) > 1]
        if not kept and not may_be_empty:
            kept = list(factors[:1])
        return tuple(sorted(kept, key=self.is_number, reverse=True))

    def with_sign(self, part: FormulaPart) -> FormulaPart:
        """The part with its sign inside: at the first factor, a number's own where it is one."""
        if not part.negative:
            return part
        names = self.library.names
        first = next(i for i, token in enumerate(part.tokens) if names[token] != "mul")
        if part.tokens[first] == self.library.constant_id:
            return FormulaPart(part.tokens, (-part.constants[0], *part.constants[1:]))
        sign = self.library.index("neg")
        return FormulaPart((*part.tokens[:first], sign, *part.tokens[first:]), part.constants)
