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
from symseek.tokens import every_operator

_FUNCTION = re.compile(r"(\w+)\(")
_LETTERS = every_operator([*ANYTHING, *NUMBERS])


@dataclass(frozen=True)
class RewriteRule:
    """Two ways to write one thing.

    >>> rule = RewriteRule("sin(a)/cos(a)", "tan(a)")
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
    RewriteRule("log(b*exp(a))", "a + log(b)"),
    RewriteRule("exp(b*log(a) + c)", "a**b*exp(c)"),
    RewriteRule("log(a) + log(b)", "log(a*b)"),
    RewriteRule("log(a) - log(b)", "log(a/b)"),
    RewriteRule("n*log(a)", "log(a**n)"),
    RewriteRule("log(a**n)", "n*log(a)", where="a > 0"),
    RewriteRule("log(a**b)", "b*log(a)", where="a > 0"),
    RewriteRule("log(n*a)", "log(a) + log(n)", where="n > 0"),
    RewriteRule("exp(a)**b", "exp(a*b)"),
    RewriteRule("a**b*a**c", "a**(b + c)"),
    RewriteRule("a**b/a**c", "a**(b - c)"),
    RewriteRule("1**a", "1"),
    # Sine, cosine, tangent.
    RewriteRule("sin(a)**2 + cos(a)**2", "1"),
    RewriteRule("1 - sin(a)**2", "cos(a)**2"),
    RewriteRule("1 - cos(a)**2", "sin(a)**2"),
    RewriteRule("cos(a)**2 - sin(a)**2", "cos(2*a)"),
    RewriteRule("1 - 2*sin(a)**2", "cos(2*a)"),
    RewriteRule("2*cos(a)**2 - 1", "cos(2*a)"),
    RewriteRule("1 + tan(a)**2", "1/cos(a)**2"),
    RewriteRule("sin(a)*cos(a)", "sin(2*a)/2"),
    RewriteRule("sin(a)/cos(a)", "tan(a)"),
    RewriteRule("tan(a)*cos(a)", "sin(a)"),
    RewriteRule("sin(a)/tan(a)", "cos(a)"),
    RewriteRule("sin(a)*cos(b) + cos(a)*sin(b)", "sin(a + b)"),
    RewriteRule("sin(a)*cos(b) - cos(a)*sin(b)", "sin(a - b)"),
    RewriteRule("cos(a)*cos(b) - sin(a)*sin(b)", "cos(a + b)"),
    RewriteRule("cos(a)*cos(b) + sin(a)*sin(b)", "cos(a - b)"),
    RewriteRule("sin(a + pi/2)", "cos(a)"),
    RewriteRule("sin(a - pi/2)", "-cos(a)"),
    RewriteRule("sin(a + pi)", "-sin(a)"),
    RewriteRule("sin(a - pi)", "-sin(a)"),
    RewriteRule("cos(a + pi/2)", "-sin(a)"),
    RewriteRule("cos(a - pi/2)", "sin(a)"),
    RewriteRule("cos(a + pi)", "-cos(a)"),
    RewriteRule("cos(a - pi)", "-cos(a)"),
    RewriteRule("tan(a + pi/2)", "-1/tan(a)"),
    RewriteRule("tan(a - pi/2)", "-1/tan(a)"),
    RewriteRule("tan(a + pi)", "tan(a)"),
    RewriteRule("tan(a - pi)", "tan(a)"),
    # Their inverses.
    RewriteRule("sin(asin(a))", "a"),
    RewriteRule("cos(acos(a))", "a"),
    RewriteRule("tan(atan(a))", "a"),
    RewriteRule("asin(sin(a))", "a", where="-pi/2 <= a <= pi/2"),
    RewriteRule("acos(cos(a))", "a", where="0 <= a <= pi"),
    RewriteRule("atan(tan(a))", "a", where="-pi/2 < a < pi/2"),
    RewriteRule("asin(a) + acos(a)", "pi/2"),
    # Hyperbolic functions.
    RewriteRule("exp(a) + exp(-a)", "2*cosh(a)"),
    RewriteRule("exp(a) - exp(-a)", "2*sinh(a)"),
    RewriteRule("cosh(a) + sinh(a)", "exp(a)"),
    RewriteRule("cosh(a) - sinh(a)", "exp(-a)"),
    RewriteRule("cosh(a)**2 - sinh(a)**2", "1"),
    RewriteRule("1 + sinh(a)**2", "cosh(a)**2"),
    RewriteRule("cosh(a)**2 - 1", "sinh(a)**2"),
    RewriteRule("sinh(a)*cosh(a)", "sinh(2*a)/2"),
    RewriteRule("sinh(a)/cosh(a)", "tanh(a)"),
    RewriteRule("tanh(a)*cosh(a)", "sinh(a)"),
    RewriteRule("sinh(a)/tanh(a)", "cosh(a)"),
    RewriteRule("(exp(2*a) - 1)/(exp(2*a) + 1)", "tanh(a)"),
    RewriteRule("1 - 2/(exp(2*a) + 1)", "tanh(a)"),
    RewriteRule("2/(exp(-2*a) + 1) - 1", "tanh(a)"),
    RewriteRule("sinh(asinh(a))", "a"),
    RewriteRule("asinh(sinh(a))", "a"),
    # Signs, and the larger of two.
    RewriteRule("abs(a)", "a", where="a >= 0"),
    RewriteRule("abs(a)", "-a", where="a <= 0"),
    RewriteRule("abs(a)**2", "a**2"),
    RewriteRule("abs(a)*abs(b)", "abs(a*b)"),
    RewriteRule("abs(a)/abs(b)", "abs(a/b)"),
    RewriteRule("hypot(a, 0)", "abs(a)"),
    RewriteRule("hypot(0, a)", "abs(a)"),
    RewriteRule("sign(a)", "1", where="a > 0"),
    RewriteRule("sign(a)", "-1", where="a < 0"),
    RewriteRule("sign(a)*abs(a)", "a"),
    RewriteRule("min(a, b)", "a", where="a <= b"),
    RewriteRule("min(a, b)", "b", where="b <= a"),
    RewriteRule("max(a, b)", "a", where="a >= b"),
    RewriteRule("max(a, b)", "b", where="b >= a"),
    RewriteRule("min(a, b) + max(a, b)", "a + b"),
)
