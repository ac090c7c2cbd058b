"""Protected operators: a plain number where an ordinary one is undefined or huge.

    protected_div          a/b where |b| > 0.001, else 1
    protected_exp          exp(a) where a < 100, else 0
    protected_log          log|a| where |a| > 0.001, else 0
    protected_sqrt         sqrt|a|
    protected_reciprocal   1/a where |a| > 0.001, else 0
    protected_neg_exp      exp(-a) where a > -100, else 0
    protected_square       a^2 where |a| < 1e6, else 0
    protected_cube         a^3 where |a| < 1e6, else 0

Much work on symbolic regression searches with these, so they are here to compare with. Values and
exports are as defined above, jumps and all. Only recovery takes each for the operator that it
`protects`, since that is what such a search is after. The simplifier leaves them alone.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from symseek.errors import InputError
from symseek.operators.record import Forms, Token

# What the functions in the texts below are called elsewhere.
_NAMES = {
    "c": {"abs": "fabs"},
    "python": {"exp": "math.exp", "log": "math.log"},
    "numpy": {"abs": "np.abs", "exp": "np.exp", "log": "np.log"},
    "sympy": {"abs": "Abs"},
    "excel": {"abs": "ABS", "exp": "EXP", "log": "LN"},
}


def _text(language: str, text: str) -> str:
    return re.sub(r"\b[a-z]+\b(?=\()", lambda name: _NAMES[language].get(name[0], name[0]), text)


@dataclass(frozen=True)
class _Guarded:
    """The operator as a function of the numbers, arrays or expressions of a package."""

    package: str
    holds: Callable[[Any], Any]  # of the last argument: whether there is an ordinary value
    value: Callable[..., Any]  # of the package's functions and the arguments
    otherwise: float

    def __call__(self, *arguments: Any) -> Any:
        *others, last = arguments
        if self.package == "mpmath":
            context = last.context
            ordinary = self.holds(last)
            return self.value(context, *arguments) if ordinary else context.mpf(self.otherwise)
        package = importlib.import_module(self.package)
        if self.package == "sympy":
            return self.piecewise(package, arguments)
        holds = self.holds(last)
        # The value that is not taken must be harmless: a slope that is not finite would spread.
        safe = package.where(holds, last, 1.0)
        return package.where(holds, self.value(package, *others, safe), self.otherwise)[()]

    def piecewise(self, sympy: Any, arguments: tuple[Any, ...]) -> Any:
        # SymPy would solve for where the inner one jumps, which may take for ever.
        if arguments[-1].has(sympy.Piecewise):
            raise InputError(
                "SymPy cannot hold a protected operator inside another one; export to something"
                " else, such as numpy"
            )
        try:
            holds = self.holds(arguments[-1])
        except TypeError:  # SymPy refuses to compare what is not real
            raise InputError(
                f"a protected operator is applied to {arguments[-1]}, which is not a real number"
            ) from None
        return sympy.Piecewise(
            (self.value(sympy, *arguments), holds), (int(self.otherwise), sympy.true)
        )


def _protected(
    plain: str,
    complexity: int,
    texts: tuple[str, str, str],
    holds: Callable[[Any], Any],
    value: Callable[..., Any],
    slopes: tuple[str, ...],
    *aliases: str,
) -> Token:
    """A protected operator: its value, where it has it and what else, as text and as functions.

    `slopes` are those of the value; where there is another number, the slope is 0. The logarithm
    cannot underflow, and the others only where their first argument is not 0.
    """
    name = f"protected_{plain}"
    arity = 2 if "{b}" in texts[0] else 1

    def filled(template: str, language: str) -> str:
        for place, text in zip(("value", "holds", "otherwise"), texts, strict=True):
            template = template.replace(f"<{place}>", _text(language, text))
        return template

    helper = filled("    return <value> if <holds> else <otherwise>.0\n", "python")
    head = f"def _{name}({'a, b' if arity == 2 else 'a'}):\n"
    otherwise = float(texts[2])
    return Token(
        name,
        arity,
        complexity,
        numpy=_Guarded("numpy", holds, value, otherwise),
        sympy=_Guarded("sympy", holds, value, otherwise),
        forms=Forms(
            c=filled("(<holds> ? <value> : <otherwise>.0)", "c"),
            slopes=tuple(filled(f"(<holds> ? {slope} : 0.0)", "c") for slope in slopes),
            underflow=None if plain == "log" else filled("{a} != 0.0 && <holds>", "c"),
            python=f"_{name}",
            helper=head + helper.replace("{", "").replace("}", ""),
            numpy=filled("np.where(<holds>, <value>, <otherwise>.0)", "numpy"),
            sympy=filled("Piecewise((<value>, <holds>), (<otherwise>, True))", "sympy"),
            excel=filled("IF(<holds>, <value>, <otherwise>)", "excel"),
            mpmath=_Guarded("mpmath", holds, value, otherwise),
            torch=_Guarded("torch", holds, value, otherwise),
            jax=_Guarded("jax.numpy", holds, value, otherwise),
        ),
        protects=plain,
        aliases=aliases,
    )


def _large(a: Any) -> Any:
    return abs(a) > 0.001


def _small(a: Any) -> Any:
    return abs(a) < 1e6


_LARGE_A, _LARGE_B, _SMALL_A = "abs({a}) > 0.001", "abs({b}) > 0.001", "abs({a}) < 1000000.0"

# The names that follow an operator are those of the authors of the paper.
# fmt: off
PROTECTED = (
    _protected("div", 2, ("{a}/{b}", _LARGE_B, "1"), _large, lambda _, a, b: a / b,
               ("1.0/{b}", "-{v}/{b}")),
    _protected("exp", 4, ("exp({a})", "{a} < 100.0", "0"), lambda a: a < 100.0,
               lambda package, a: package.exp(a), ("{v}",)),
    _protected("log", 4, ("log(abs({a}))", _LARGE_A, "0"), _large,
               lambda package, a: package.log(abs(a)), ("1.0/{a}",)),
    Token("protected_sqrt", 1, 3, formula="sqrt(abs(a))", protects="sqrt"),
    _protected("reciprocal", 2, ("1/{a}", _LARGE_A, "0"), _large, lambda _, a: 1 / a,
               ("-{v}*{v}",), "protected_inv"),
    Token("protected_neg_exp", 1, 4, formula="protected_exp(-a)", protects="neg_exp",
          aliases=("protected_expneg",)),
    _protected("square", 2, ("{a}*{a}", _SMALL_A, "0"), _small, lambda _, a: a * a,
               ("2.0*{a}",), "protected_n2"),
    _protected("cube", 3, ("{a}*{a}*{a}", _SMALL_A, "0"), _small, lambda _, a: a * a * a,
               ("3.0*{a}*{a}",), "protected_n3"),
)
# fmt: on
