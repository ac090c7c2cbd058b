"""SRBench's rule step by step, in SymPy alone: rounded, subtracted, simplified, rounded again.

Decimals are exact fractions here: in SymPy's own decimals sin(1.0*x) is not sin(x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import sympy
from sympy.parsing.sympy_parser import parse_expr


def solved(text: str, law: str, variables: Sequence[str]) -> bool:
    """Whether the difference to the law or the ratio is constant, with pi a decimal or exact."""
    names = {name: sympy.Symbol(name) for name in variables}
    decimal, exact = (
        [parse_expr(each, local_dict=names, global_dict=globals_of(pi)) for each in (text, law)]
        for pi in (sympy.Float(math.pi), sympy.pi)
    )
    return any(
        same(decimals(model, places=3), decimals(truth, places=places))
        for model, truth, places in ((*decimal, 3), (*exact, 17), (*decimal, 17))
    )


def globals_of(pi: Any) -> dict[str, Any]:
    return {**vars(sympy), "pi": pi}


def same(model: Any, law: Any) -> bool:
    difference, ratio = sympy.simplify(model - law), sympy.simplify(model / law)
    if not sympy.simplify(model).free_symbols:
        return False
    terms = sympy.Add.make_args(sympy.expand(model - law))
    return not (difference.free_symbols and ratio.free_symbols and any(map(counts, terms)))


def decimals(expression: Any, places: int) -> Any:
    """Every decimal as a fraction, of so many places, and 0 below 1e-4."""
    exact = {
        each: sympy.Rational(0 if abs(each) < 1e-4 else str(round(float(each), places)))
        for each in expression.atoms(sympy.Float)
    }
    return expression.xreplace(exact)


def counts(term: Any) -> bool:
    """Whether a term of a difference is left when its factor is rounded."""
    factor, rest = term.as_coeff_Mul()
    return bool(rest.free_symbols) and abs(float(factor)) >= 0.0005
