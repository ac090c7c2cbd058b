"""A given form by substitution in SymPy: its text is read, and the parts are put in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy

from symseek.arrays import Floats
from symseek.programs import Program


def substituted(right: str, columns: list[str], parts: Mapping[str, Program]) -> sympy.Expr:
    """The right side of an equation with programs for its unknown functions and numbers."""
    symbols = {name: sympy.Symbol(name, real=True) for name in columns}

    def function(part: Program):
        return lambda *_: part.sympy(real=True)

    names = dict(symbols)
    for name, part in parts.items():
        called = f"{name}(" in right
        names[name] = function(part) if called else part.sympy(real=True)
    return sympy.sympify(right.replace("^", "**"), locals=names)


def values(expression: sympy.Expr, columns: list[str], X: Floats) -> Floats:
    """Its values [N], by SymPy's own arithmetic; nan where it has none."""
    symbols = [sympy.Symbol(name, real=True) for name in columns]
    found = []
    for row in X:
        number = expression.evalf(30, subs=dict(zip(symbols, map(sympy.Float, row), strict=True)))
        real = number.is_real and number.is_finite
        found.append(float(number) if real else np.nan)
    return np.array(found)
