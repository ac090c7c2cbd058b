"""Formulas to any number of digits, by mpmath.

The evaluator has a context of its own, so that neither another thread nor the caller's precision
comes between. A value must be real at every node: `NotReal` is raised where a formula
leaves the reals, and where a node is so large that its digits are not worth having.

More digits alone do not show how many of them are right: (1 + t) - 1 is 0 to any precision that t
falls below. With `noise` every operation is off by a random amount in its last digits, so that what
rounding can do to a value shows as a change when the digits are doubled.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from symseek.errors import InputError
from symseek.operators.record import missing_form
from symseek.operators.table import BY_SYMPY_NAME
from symseek.programs import Program
from symseek.tokens import ARGUMENTS, OPERATORS, Token

if TYPE_CHECKING:
    from sympy import Expr

ExactFormula: TypeAlias = "Program | Expr"

# A node beyond this is not worth having, and asking mpmath for the exponential of a huge number, or
# for its sine, could take all the memory there is.
_HUGE = 1e300
_LARGEST_EXPONENT = 700  # exp of this is about _HUGE
_SMALLEST_EXPONENT = -1e6

# Digits kept beyond those asked for, so that the noise is larger than the rounding; and as many
# different errors as do not fall into step with a formula.
_GUARD = 5
_ERRORS = 61

# SymPy's names for numbers that mpmath calls otherwise.
_RENAMED = {"Exp1": "e", "Pi": "pi", "GoldenRatio": "phi", "EulerGamma": "euler"}


class NotReal(ArithmeticError):
    """The formula has no real value of a sensible size here."""


class Precise:
    """Evaluates programs and SymPy expressions at points of given names.

    >>> precise = Precise(digits=30)
    >>> root = precise.program(Program.parse("sqrt(x)"), {"x": precise.number("2")})
    >>> print(str(root)[:32])
    1.414213562373095048801688724209
    """

    def __init__(self, digits: int, noise: bool = False) -> None:
        from mpmath import MPContext

        self.digits = digits
        self.noise = noise
        self.context = context = MPContext()
        context.dps = digits + _GUARD
        self.last_digit = context.mpf(10) ** -digits
        draw = random.Random(digits)
        errors = [draw.uniform(0.1, 1.0) * draw.choice((-1, 1)) for _ in range(_ERRORS)]
        self.errors = itertools.cycle([1 + self.last_digit * error for error in errors])

    def number(self, text: str) -> Any:
        """A decimal number to the full precision: "0.1" is a tenth, not the float nearest to it."""
        return self.context.mpf(text)

    def formula(self, formula: Any, values: Mapping[str, Any]) -> Any:
        """The value of a program or of a SymPy expression."""
        if isinstance(formula, Program):
            return self.program(formula, values)
        return self.expression(formula, values)

    def program(self, program: Program, values: Mapping[str, Any]) -> Any:
        """The value of a program."""
        names = program.library.variables
        return program.worked(
            lambda at: values[names[at]],
            lambda value: self.checked(self.number, [repr(value)]),
            self.operator,
        )

    def operator(self, token: Token, arguments: list[Any]) -> Any:
        """The value of an operator, by its mpmath form or by what it means in others."""
        form = token.forms.mpmath
        if form is None:
            if token.meaning is None:
                raise missing_form(token, "mpmath", f"forms=Forms(mpmath={token.name!r})")
            return self.program(token.meaning, dict(zip(ARGUMENTS, arguments, strict=False)))
        return self.real(self.named(form) if isinstance(form, str) else form, arguments)

    def named(self, name: str) -> Any:
        """A function of mpmath, or one that keeps it within bounds."""
        guarded = {"power": self.power, "exponential": self.exponential}
        if name in guarded:
            return guarded[name]
        function = getattr(self.context, name, None)
        if function is None:
            raise InputError(f"mpmath has nothing named {name!r}; give a function instead")
        return function

    def expression(self, expression: Any, values: Mapping[str, Any]) -> Any:
        """The value of a SymPy expression."""
        name = type(expression).__name__
        if expression.is_Symbol:
            return values[expression.name]
        if expression.is_Rational:
            return self.checked(lambda: self.context.mpf(expression.p) / expression.q, [])
        if expression.is_Float:
            return self.number(repr(float(expression)))
        arguments = [self.expression(each, values) for each in expression.args]
        if expression.is_Add:
            return self.real(lambda *terms: self.context.fsum(terms), arguments)
        if expression.is_Mul:
            return self.real(lambda *factors: self.context.fprod(factors), arguments)
        if expression.is_Pow:
            return self.real(self.power, arguments)
        if name in BY_SYMPY_NAME:
            return self.operator(OPERATORS[BY_SYMPY_NAME[name]], arguments)
        function = getattr(self.context, _RENAMED.get(name, name), None)
        if function is None:
            raise InputError(f"{expression} is a SymPy {name}, which has no numeric form here")
        return self.real(function, arguments) if arguments else +function

    def real(self, function: Callable[..., Any], arguments: list[Any]) -> Any:
        """The value of a node, with its error if there is to be noise."""
        value = self.checked(function, arguments)
        return value * next(self.errors) if self.noise else value

    def checked(self, function: Callable[..., Any], arguments: list[Any]) -> Any:
        """Call, and refuse what is not a real number of a sensible size."""
        try:
            value = function(*arguments)
            if not isinstance(value, self.context.mpf) or not abs(value) < _HUGE:
                raise NotReal
        except (ZeroDivisionError, OverflowError, ValueError):
            raise NotReal from None
        return value

    def power(self, base: Any, exponent: Any) -> Any:
        if abs(exponent) < _LARGEST_EXPONENT:
            nearest = self.context.nint(exponent)
            # Noise must not make x**(1 + 1) undefined for a negative x.
            slack = self.last_digit * 10**_GUARD if self.noise else 0
            if abs(exponent - nearest) <= slack * (1 + abs(exponent)):
                return base ** int(nearest)
        if base <= 0:
            raise NotReal
        return self.exponential(exponent * self.context.log(base))

    def exponential(self, exponent: Any) -> Any:
        if not _SMALLEST_EXPONENT < exponent < _LARGEST_EXPONENT:
            raise NotReal
        return self.context.exp(exponent)
