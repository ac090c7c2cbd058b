"""The rules of rewriting, a line each.

To add one, add its line: what is found, what it may be written as, and on what condition, which the
rows of the data decide. In a rule a, b, c stand for anything and n for a number; see `matching`.
Rules need no direction: whatever makes a formula shorter is kept. What sums, products, powers and
roots do by themselves, such as x*x = x**2, is the normal form's and needs no rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from symseek.algebra.matching import ANYTHING, NUMBERS
from symseek.algebra.normal_form import Algebra, Sum
from symseek.programs import Program
from symseek.tokens import Library, every_operator

__all__ = ["RULES", "Rule"]

_FUNCTION = re.compile(r"(\w+)\(")
_LETTERS = Library([*every_operator([]), "const"], [*ANYTHING, *NUMBERS])


@dataclass(frozen=True)
class Rule:
    """Two ways to write one thing.

    >>> rule = Rule("sin(a)/cos(a)", "tan(a)")
    >>> sorted(rule.functions)
    ['cos', 'sin', 'tan']
    """

    found: str
    written: str
    where: str = ""

    @cached_property
    def pattern(self) -> Sum:
        inputs = [1.0] * len(_LETTERS.variables)
        return Algebra(_LETTERS).form(Program.parse(self.found, _LETTERS), inputs)

    @cached_property
    def replacement(self) -> Program:
        return Program.parse(self.written, _LETTERS)

    @cached_property
    def conditions(self) -> tuple[tuple[Program, str, Program], ...]:
        """Comparisons, each of two formulas in the letters."""
        sides = re.split(r"(<=|>=|<|>)", self.where)
        return tuple(
            (Program.parse(left, _LETTERS), sign, Program.parse(right, _LETTERS))
            for left, sign, right in zip(sides[::2], sides[1::2], sides[2::2], strict=False)
        )

    @cached_property
    def calls(self) -> frozenset[str]:
        """The functions that a formula must have for the rule to apply."""
        return frozenset(_FUNCTION.findall(self.found))

    @cached_property
    def functions(self) -> frozenset[str]:
        """All functions that the rule speaks of."""
        return self.calls.union(_FUNCTION.findall(self.written))

    @cached_property
    def is_sum(self) -> bool:
        """Whether the rule is about several addends."""
        return len(self.pattern.terms) + (self.pattern.offset != 0.0) > 1


RULES = (
    # Logarithms, exponential functions and powers.
    Rule("log(b*exp(a))", "a + log(b)"),
    Rule("exp(b*log(a) + c)", "a**b*exp(c)"),
    Rule("log(a) + log(b)", "log(a*b)"),
    Rule("log(a) - log(b)", "log(a/b)"),
    Rule("n*log(a)", "log(a**n)"),
    Rule("log(a**n)", "n*log(a)", where="a > 0"),
    Rule("log(a**b)", "b*log(a)", where="a > 0"),
    Rule("log(n*a)", "log(a) + log(n)", where="n > 0"),
    Rule("exp(a)**b", "exp(a*b)"),
    Rule("a**b*a**c", "a**(b + c)"),
    Rule("a**b/a**c", "a**(b - c)"),
    Rule("1**a", "1"),
    # Sine, cosine, tangent.
    Rule("sin(a)**2 + cos(a)**2", "1"),
    Rule("1 - sin(a)**2", "cos(a)**2"),
    Rule("1 - cos(a)**2", "sin(a)**2"),
    Rule("cos(a)**2 - sin(a)**2", "cos(2*a)"),
    Rule("1 - 2*sin(a)**2", "cos(2*a)"),
    Rule("2*cos(a)**2 - 1", "cos(2*a)"),
    Rule("1 + tan(a)**2", "1/cos(a)**2"),
    Rule("sin(a)*cos(a)", "sin(2*a)/2"),
    Rule("sin(a)/cos(a)", "tan(a)"),
    Rule("tan(a)*cos(a)", "sin(a)"),
    Rule("sin(a)/tan(a)", "cos(a)"),
    Rule("sin(a)*cos(b) + cos(a)*sin(b)", "sin(a + b)"),
    Rule("sin(a)*cos(b) - cos(a)*sin(b)", "sin(a - b)"),
    Rule("cos(a)*cos(b) - sin(a)*sin(b)", "cos(a + b)"),
    Rule("cos(a)*cos(b) + sin(a)*sin(b)", "cos(a - b)"),
    Rule("sin(a + pi/2)", "cos(a)"),
    Rule("sin(a - pi/2)", "-cos(a)"),
    Rule("sin(a + pi)", "-sin(a)"),
    Rule("sin(a - pi)", "-sin(a)"),
    Rule("cos(a + pi/2)", "-sin(a)"),
    Rule("cos(a - pi/2)", "sin(a)"),
    Rule("cos(a + pi)", "-cos(a)"),
    Rule("cos(a - pi)", "-cos(a)"),
    Rule("tan(a + pi/2)", "-1/tan(a)"),
    Rule("tan(a - pi/2)", "-1/tan(a)"),
    Rule("tan(a + pi)", "tan(a)"),
    Rule("tan(a - pi)", "tan(a)"),
    # Their inverses.
    Rule("sin(asin(a))", "a"),
    Rule("cos(acos(a))", "a"),
    Rule("tan(atan(a))", "a"),
    Rule("asin(sin(a))", "a", where="-pi/2 <= a <= pi/2"),
    Rule("acos(cos(a))", "a", where="0 <= a <= pi"),
    Rule("atan(tan(a))", "a", where="-pi/2 < a < pi/2"),
    Rule("asin(a) + acos(a)", "pi/2"),
    # Hyperbolic functions.
    Rule("exp(a) + exp(-a)", "2*cosh(a)"),
    Rule("exp(a) - exp(-a)", "2*sinh(a)"),
    Rule("cosh(a) + sinh(a)", "exp(a)"),
    Rule("cosh(a) - sinh(a)", "exp(-a)"),
    Rule("cosh(a)**2 - sinh(a)**2", "1"),
    Rule("1 + sinh(a)**2", "cosh(a)**2"),
    Rule("cosh(a)**2 - 1", "sinh(a)**2"),
    Rule("sinh(a)*cosh(a)", "sinh(2*a)/2"),
    Rule("sinh(a)/cosh(a)", "tanh(a)"),
    Rule("tanh(a)*cosh(a)", "sinh(a)"),
    Rule("sinh(a)/tanh(a)", "cosh(a)"),
    Rule("(exp(2*a) - 1)/(exp(2*a) + 1)", "tanh(a)"),
    Rule("1 - 2/(exp(2*a) + 1)", "tanh(a)"),
    Rule("2/(exp(-2*a) + 1) - 1", "tanh(a)"),
    Rule("sinh(asinh(a))", "a"),
    Rule("asinh(sinh(a))", "a"),
    # Signs, and the larger of two.
    Rule("abs(a)", "a", where="a >= 0"),
    Rule("abs(a)", "-a", where="a <= 0"),
    Rule("abs(a)**2", "a**2"),
    Rule("abs(a)*abs(b)", "abs(a*b)"),
    Rule("abs(a)/abs(b)", "abs(a/b)"),
    Rule("hypot(a, 0)", "abs(a)"),
    Rule("hypot(0, a)", "abs(a)"),
    Rule("sign(a)", "1", where="a > 0"),
    Rule("sign(a)", "-1", where="a < 0"),
    Rule("sign(a)*abs(a)", "a"),
    Rule("min(a, b)", "a", where="a <= b"),
    Rule("min(a, b)", "b", where="b <= a"),
    Rule("max(a, b)", "a", where="a >= b"),
    Rule("max(a, b)", "b", where="b >= a"),
    Rule("min(a, b) + max(a, b)", "a + b"),
)
