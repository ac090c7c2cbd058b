"""Formulas as SymPy source: the symbols, then the expression."""

from __future__ import annotations

import math
import re

from symseek.export.own import OwnColumns
from symseek.export.tree import checked
from symseek.export.writer import CALLED, Language, literal, python_source
from symseek.notation.brackets import Fragment
from symseek.programs import Program

_OWN = "own"  # the numbers of each group, by its label
_RESERVED = {"S", "Symbol", _OWN}
_NOT_FINITE = {"inf": "S.Infinity", "-inf": "S.NegativeInfinity", "nan": "S.NaN"}


def _number(value: float) -> Fragment:
    """The same number as in `Program.sympy`: an integer where it is one."""
    if not math.isfinite(value):
        return Fragment(_NOT_FINITE[repr(value)])
    whole = value.is_integer() and abs(value) < 2**53
    return literal(str(int(value)) if whole else repr(value), value)


# Python's own numbers raise an error at 1/0; SymPy's do not.
_LANGUAGE = Language("sympy", _number, lift="S({})", assign="{name} = {text}")


def to_sympy(program: Program, name: str = "expression") -> str:
    """The source that makes the SymPy expression, under a name, and its symbols.

    The symbols are real numbers, as columns are. `Program.sympy` gives the expression itself. Of
    a formula with numbers of each group's own, `expression.subs(own["label"])` has those of one.

    >>> print(to_sympy(Program.parse("2.5*`flow rate`**2 + log(x)")), end="")
    from sympy import Symbol, log
    <BLANKLINE>
    flow_rate = Symbol('flow rate', real=True)
    x = Symbol('x', real=True)
    <BLANKLINE>
    expression = 2.5*flow_rate**2 + log(x)
    """
    columns = checked(program).library.variables
    program.sympy(real=True)  # what SymPy cannot make is refused here, not when the source is run
    names, source = python_source(program, _LANGUAGE, name, _RESERVED)
    whole = source.whole if source.whole.literal is None else source.lifted(source.whole)
    lines = [*source.lines, f"{name} = {whole.text}"]
    symbols = [f"{names[i]} = Symbol({columns[i]!r}, real=True)" for i in sorted(source.used)]
    numbers = {"S"} if re.search(r"\bS[.(]", " ".join(lines)) else set()
    symbol = {"Symbol"} if symbols else set()
    forms = [token.form("sympy") or "" for token in source.operators.values()]
    functions = {each for form in forms for each in CALLED.findall(form)}
    imported = ", ".join(sorted(functions | numbers | symbol))
    blocks = [f"from sympy import {imported}"] if imported else []
    own = OwnColumns.of(program)
    of_groups = [] if own.group is None else [f"{_OWN} = {{"]
    for label, values in own.lines():
        pairs = zip(own.numbers, values, strict=True)
        listed = ", ".join(f"{names[at]}: {_number(value).text}" for at, value in pairs)
        of_groups.append(f"    {label!r}: {{{listed}}},")
    of_groups += ["}"] if of_groups else []
    blocks += ["\n".join(each) for each in (symbols, lines, of_groups) if each]
    return "\n\n".join(blocks) + "\n"
