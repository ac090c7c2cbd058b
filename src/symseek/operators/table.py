"""The table of operators, a line each.

A function that is known by its name nearly everywhere takes a short line, see `Token.function`; one
that follows from others takes its formula. The twelve lines of arithmetic at the top are longer,
since every language writes powers and quotients in its own way.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from symseek.operators.protected import PROTECTED
from symseek.operators.record import OPERATORS, Forms, Token

__all__ = ["ALIASES", "BY_SYMPY_NAME", "OPERATORS", "POWERS", "RESERVED"]


def _arithmetic(
    name: str,
    complexity: int,
    infix: str,
    numpy: Callable[..., Any],
    plain: Callable[..., Any],
    /,
    latex: str | None = None,
    *,
    inverse: str | None = None,
    exponent: float | None = None,
    aliases: str = "",
    dimensions: str | None = None,
    **differing: Any,
) -> Token:
    """An operator of symbols, the same in most languages; `plain` takes any kind of number."""
    texts = dict.fromkeys(("infix", "c", "python", "numpy", "sympy", "excel"), infix)
    functions = dict.fromkeys(("mpmath", "torch", "jax"), plain)
    return Token(
        name,
        2 if "{b}" in infix else 1,
        complexity,
        numpy=numpy,
        sympy=plain if exponent is None else partial(pow, exp=int(exponent)),
        latex=latex or infix,
        forms=Forms(**{**texts, **functions, **differing}),
        inverse=inverse,
        exponent=exponent,
        aliases=tuple(aliases.split()),
        dimensions=dimensions,
    )


def _over(a: Any) -> Any:
    return 1 / a


def _squared(a: Any) -> Any:
    return a * a


def _cubed(a: Any) -> Any:
    return a * a * a


def _to_the_fourth(a: Any) -> Any:
    return (a * a) * (a * a)


def _exp_of_minus(a: Any) -> Any:
    return np.exp(-a)


def _sympy_exp_of_minus(a: Any) -> Any:
    import sympy

    return sympy.exp(-a)


_erf = np.vectorize(math.erf, otypes=[float])  # NumPy has none, and SciPy takes long to load

# Python's own arithmetic raises an error where a value is undefined or too large. These give nan
# or an infinity instead, as NumPy does.
_DIVIDE = """\
def _divide(a, b):
    return a / b if b else a * math.copysign(math.inf, b)
"""
_POWER = """\
def _power(a, b):
    large = math.copysign(math.inf, a) if b % 2.0 == 1.0 else math.inf
    try:
        return math.pow(a, b)
    except OverflowError:
        return large
    except ValueError:
        return math.nan if a else large
"""
_LOG = """\
def _log(a):
    return math.log(a) if a > 0.0 else -math.inf if a == 0.0 else math.nan
"""
_MIN = """\
def _min(a, b):
    return b if b < a or math.isnan(b) else a
"""
_MAX = """\
def _max(a, b):
    return b if b > a or math.isnan(b) else a
"""
_SIGN = """\
def _sign(a):
    return math.copysign(1.0, a) if abs(a) > 0.0 else a
"""
_FLOOR = """\
def _floor(a):
    return math.copysign(math.floor(a), a) if math.isfinite(a) else a
"""


def _unbounded(name: str, limit: str = "math.inf") -> str:
    """The Python function of that name with an infinity where it runs over."""
    return f"""\
def _{name}(a):
    try:
        return math.{name}(a)
    except OverflowError:
        return {limit}
"""


# fmt: off
# Complexity follows the paper: 1 for + - *, variables and constants, 2 for division, 3 for sin and
# cos, 4 for exp and log. The rest is set beside them: a sign costs 1; 1/x as much as division; an
# integer power its exponent, which stays below spelling it out (x*x*x has complexity 5); a square
# root, the mildest irrational function, 3; what has a kink or a step 2; every other function 4.

# No column may have one of these names: the simplifier writes in these operators.
_BASIC = [
    _arithmetic("add", 1, "{a} + {b}", np.add, operator.add, label="+", aliases="+",
                slopes=("1.0", "1.0"), dimensions="same"),
    _arithmetic("sub", 1, "{a} - {b}", np.subtract, operator.sub, label="−", aliases="-",
                slopes=("1.0", "-1.0"), dimensions="same"),
    _arithmetic("mul", 1, "{a}*{b}", np.multiply, operator.mul, r"{a} \cdot {b}", label="×",
                aliases="*", slopes=("{b}", "{a}"), underflow="{a} != 0.0 && {b} != 0.0",
                dimensions="product"),
    _arithmetic("div", 2, "{a}/{b}", np.divide, operator.truediv, r"\frac{{a}}{{b}}", label="÷",
                aliases="/", python="_divide", helper=_DIVIDE,
                slopes=("1.0/{b}", "-{v}/{b}"), underflow="{a} != 0.0", dimensions="quotient"),
    _arithmetic("pow", 4, "{a}**{b}", np.float_power, operator.pow, "{a}^{{b}}", label="power",
                aliases="^ **", c="pow", python="_power", helper=_POWER, numpy="np.float_power",
                excel="{a}^{b}", mpmath="power",
                slopes=("{b}*pow({a}, {b} - 1.0)", "{v}*log({a})"), underflow="{a} != 0.0",
                dimensions="power"),
    Token.function("sin", 1, 3, np.sin, trigonometric=True, parity="odd", slopes=("cos({a})",),
                   dimensions="none"),
    Token.function("cos", 1, 3, np.cos, trigonometric=True, parity="even", slopes=("-sin({a})",),
                   dimensions="none"),
    Token.function("tan", 1, 4, np.tan, trigonometric=True, parity="odd",
                   slopes=("1.0 + {v}*{v}",), dimensions="none"),
    Token.function("tanh", 1, 4, np.tanh, parity="odd", slopes=("1.0 - {v}*{v}",),
                   dimensions="none"),
    Token.function("exp", 1, 4, np.exp, "e^{{a}}", inverse="log", helper=_unbounded("exp"),
                   mpmath="exponential", slopes=("{v}",), underflow="1", dimensions="none"),
    Token.function("log", 1, 4, np.log, inverse="exp", domain="a > 0.0", helper=_LOG, excel="LN",
                   aliases=("ln",), slopes=("1.0/{a}",), dimensions="none"),
    Token.function("sqrt", 1, 3, np.sqrt, r"\sqrt{{a}}", inverse="square", domain="a >= 0.0",
                   exponent=0.5, label="√", slopes=("0.5/{v}",)),
    _arithmetic("square", 2, "{a}**2", np.square, _squared, "{a}^{2}", inverse="sqrt", exponent=2.0,
                label="( )²", c="{a}*{a}", python="{a}*{a}", numpy="np.square", excel="{a}^2",
                slopes=("2.0*{a}",), underflow="{a} != 0.0"),
    _arithmetic("cube", 3, "{a}**3", _cubed, _cubed, "{a}^{3}", exponent=3.0, label="( )³",
                c="{a}*{a}*{a}", python="{a}*{a}*{a}", numpy="{a}*{a}*{a}", excel="{a}^3",
                slopes=("3.0*{a}*{a}",), underflow="{a} != 0.0"),
    _arithmetic("fourth", 4, "{a}**4", _to_the_fourth, _to_the_fourth, "{a}^{4}", exponent=4.0,
                label="( )⁴", c="{a}*{a}*({a}*{a})", python="{a}*{a}*({a}*{a})",
                numpy="{a}*{a}*({a}*{a})", excel="{a}^4",
                slopes=("4.0*{a}*{a}*{a}",), underflow="{a} != 0.0"),
    _arithmetic("reciprocal", 2, "1/{a}", _over, _over, r"\frac{1}{{a}}", inverse="reciprocal",
                exponent=-1.0, label="1/( )", aliases="inv recip", c="1.0/{a}",
                python="_divide(1.0, {a})", helper=_DIVIDE, slopes=("-{v}*{v}",), underflow="1"),
    _arithmetic("neg", 1, "-{a}", np.negative, operator.neg, inverse="neg", label="−( )",
                slopes=("-1.0",), dimensions="same"),
    Token.function("abs", 1, 2, np.abs, r"\left|{a}\right|", parity="even", label="|( )|", c="fabs",
                   python="abs", numpy="np.abs", sympy="Abs", mpmath="fabs", aliases=("Abs",),
                   slopes=("({a} < 0.0 ? -1.0 : 1.0)",), dimensions="same"),
    Token("neg_exp", 1, 4, numpy=_exp_of_minus, sympy=_sympy_exp_of_minus, latex="e^{-{a}}",
          spelling="exp(-a)", forms=Forms(
              c="exp(-{a})", python="_exp(-{a})", helper=_unbounded("exp"), numpy="np.exp(-{a})",
              sympy="exp(-{a})", excel="EXP(-{a})", label="exp(−)",
              slopes=("-{v}",), underflow="1"), dimensions="none"),
]
# A column with one of these names takes the operator out of the libraries of its table.
_MORE = [
    Token.function("asin", 1, 4, np.arcsin, r"\arcsin", domain="-1.0 <= a <= 1.0", parity="odd",
                   slopes=("1.0/sqrt((1.0 - {a})*(1.0 + {a}))",), dimensions="none"),
    Token.function("acos", 1, 4, np.arccos, r"\arccos", domain="-1.0 <= a <= 1.0",
                   slopes=("-1.0/sqrt((1.0 - {a})*(1.0 + {a}))",), dimensions="none"),
    Token.function("atan", 1, 4, np.arctan, r"\arctan", parity="odd",
                   slopes=("1.0/(1.0 + {a}*{a})",), dimensions="none"),
    Token.function("sinh", 1, 4, np.sinh, parity="odd", spelling="(exp(a) - exp(-a))/2",
                   helper=_unbounded("sinh", "math.copysign(math.inf, a)"), slopes=("cosh({a})",),
                   dimensions="none"),
    Token.function("cosh", 1, 4, np.cosh, parity="even", spelling="(exp(a) + exp(-a))/2",
                   helper=_unbounded("cosh"), slopes=("sinh({a})",), dimensions="none"),
    Token.function("asinh", 1, 4, np.arcsinh, r"\operatorname{arsinh}", parity="odd",
                   spelling="log(a + sqrt(a**2 + 1))", slopes=("1.0/hypot(1.0, {a})",),
                   dimensions="none"),
    Token.function("atan2", 2, 4, np.arctan2, excel="ATAN2({b}, {a})",
                   slopes=("{b}/hypot({a}, {b})/hypot({a}, {b})",
                           "-{a}/hypot({a}, {b})/hypot({a}, {b})"),
                   underflow="{a} != 0.0", dimensions="ratio"),
    Token.function("min", 2, 2, np.minimum, helper=_MIN, sympy="Min", mpmath=min,
                   spelling="(a + b - abs(a - b))/2", c="({b} < {a} || isnan({b}) ? {b} : {a})",
                   slopes=("({a} < {b} ? 1.0 : 0.0)", "({a} < {b} ? 0.0 : 1.0)"),
                   dimensions="same"),
    Token.function("max", 2, 2, np.maximum, helper=_MAX, sympy="Max", mpmath=max,
                   spelling="(a + b + abs(a - b))/2", c="({b} > {a} || isnan({b}) ? {b} : {a})",
                   slopes=("({b} < {a} ? 1.0 : 0.0)", "({b} < {a} ? 0.0 : 1.0)"),
                   dimensions="same"),
    Token.function("sign", 1, 2, np.sign, r"\operatorname{sgn}", parity="odd", helper=_SIGN,
                   c="({a} > 0.0 ? 1.0 : {a} < 0.0 ? -1.0 : {a})", slopes=("0.0",),
                   dimensions="sign"),
    Token.function("floor", 1, 2, np.floor, r"\left\lfloor{a}\right\rfloor", helper=_FLOOR,
                   excel="INT", label="⌊ ⌋", slopes=("0.0",), dimensions="none"),
    Token.function("erf", 1, 4, _erf, parity="odd", jax="scipy.special.erf",
                   numpy="np.vectorize(math.erf, otypes=[float])",
                   slopes=("1.1283791670955126*exp(-({a}*{a}))",), dimensions="none"),
    Token("hypot", 2, 4, formula="sqrt(a**2 + b**2)", dimensions="same"),
    Token("gauss", 1, 4, formula="exp(-a**2)", dimensions="none"),
    Token("logistic", 1, 4, formula="1/(1 + exp(-a))", dimensions="none"),
]
# fmt: on

OPERATORS.update({token.name: token for token in (*_BASIC, *_MORE, *PROTECTED)})

RESERVED = frozenset({*(token.name for token in _BASIC), "const"})
"""Names that no variable may have."""

ALIASES = {alias: token.name for token in OPERATORS.values() for alias in token.aliases}
"""Other names for operators, in lists of names and in formulas."""

POWERS = {token.exponent: name for name, token in OPERATORS.items() if token.exponent is not None}
"""The operators that are powers, by their exponents."""

BY_SYMPY_NAME = {
    token.forms.sympy: name
    for name, token in OPERATORS.items()
    if token.forms.sympy is not None and "{" not in token.forms.sympy
}
"""The operators that are a function of SymPy, by its name there."""
