"""Formulas as SymPy source: the symbols, then the expression."""

from __future__ import annotations

import math
import re

from symseek.export.names import PYTHON_RESERVED, function_name, identifiers, python_identifier
from symseek.export.tree import exportable
from symseek.export.writer import ARITHMETIC, Form, Language, Piece, call, literal, write
from symseek.notation.printing import ATOM, POWER, PRODUCT, SIGN
from symseek.programs import Program

__all__ = ["FORMS", "to_sympy"]

FORMS = {
    **ARITHMETIC,
    "div": Form("{a}/{b}", PRODUCT, (PRODUCT, SIGN)),
    "reciprocal": Form("1/{a}", PRODUCT, (SIGN,)),
    "pow": Form("{a}**{b}", POWER, (ATOM, ATOM)),
    **{
        name: call(name, needs=name) for name in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt")
    },
    "neg_exp": Form("exp(-{a})", places=(POWER,), needs="exp"),
    "square": Form("{a}**2", POWER, (ATOM,)),
    "cube": Form("{a}**3", POWER, (ATOM,)),
    "fourth": Form("{a}**4", POWER, (ATOM,)),
    "abs": call("Abs", needs="Abs"),
}
_RESERVED = PYTHON_RESERVED | {form.needs for form in FORMS.values()} | {"S", "Symbol"}


_NOT_FINITE = {"inf": "S.Infinity", "-inf": "S.NegativeInfinity", "nan": "S.NaN"}


def _number(value: float) -> Piece:
    """The same number as in `Program.sympy`: an integer where it is one."""
    if not math.isfinite(value):
        return Piece(_NOT_FINITE[repr(value)], ATOM)
    whole = value.is_integer() and abs(value) < 2**53
    return literal(str(int(value)) if whole else repr(value))


# Python's own numbers raise an error at 1/0; SymPy's do not.
LANGUAGE = Language(FORMS, _number, lift="S({})", assign="{name} = {text}")


def to_sympy(program: Program, name: str = "expression") -> str:
    """The source that makes the SymPy expression, under a name, and its symbols.

    The symbols are real numbers, as columns are. `Program.sympy` gives the expression itself.

    >>> print(to_sympy(Program.parse("2.5*`flow rate`**2 + log(x)")), end="")
    from sympy import Symbol, log
    <BLANKLINE>
    flow_rate = Symbol('flow rate', real=True)
    x = Symbol('x', real=True)
    <BLANKLINE>
    expression = 2.5*flow_rate**2 + log(x)
    """
    columns = exportable(program).library.variables
    taken = _RESERVED | {function_name(name, python_identifier, _RESERVED)}
    names = identifiers(columns, python_identifier, taken.__contains__)
    source = write(program, LANGUAGE, names, taken)
    whole = source.lifted(source.whole) if source.whole.literal else source.whole
    lines = [*source.lines, f"{name} = {whole.text}"]
    symbols = [f"{names[i]} = Symbol({columns[i]!r}, real=True)" for i in sorted(source.used)]
    numbers = {"S"} if re.search(r"\bS[.(]", " ".join(lines)) else set()
    symbol = {"Symbol"} if symbols else set()
    imported = ", ".join(sorted(source.needs | numbers | symbol))
    blocks = [f"from sympy import {imported}"] if imported else []
    blocks += ["\n".join(each) for each in (symbols, lines) if each]
    return "\n\n".join(blocks) + "\n"
