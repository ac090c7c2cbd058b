"""Formulas as a Python function of numbers, which needs nothing but `math`.

Python's own arithmetic raises an error where a value is undefined or too large. The functions
written below the formula give nan or an infinity instead, as predictions do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from symseek.export.names import described
from symseek.export.own import OwnColumns
from symseek.export.writer import Language, Source, literal, python_source
from symseek.notation.brackets import Fragment
from symseek.programs import Program
from symseek.tokens import OPERATORS

_INDENT = "    "

OWN = "OWN"  # the table of the numbers of each group
_RESERVED = {"abs", "float", "math", "str", OWN}


def _number(value: float) -> Fragment:
    sign = "-" if value < 0 else ""
    text = repr(value) if math.isfinite(value) else f"{sign}math.{abs(value)!r}"
    return literal(text, value)


_LANGUAGE = Language("python", _number, assign="{name} = {text}")


def to_python(program: Program, name: str = "formula") -> str:
    """The source of a Python function of one number for each column, in the order of the columns.

    Where the formula has no value the function returns nan or an infinity, as `evaluate` does. Of
    a formula with numbers of each group's own, the label of the group is the last argument.

    >>> print(to_python(Program.parse("2.5*`flow rate`**2 + log(x)")), end="")
    import math
    <BLANKLINE>
    <BLANKLINE>
    def formula(flow_rate, x):
        \"""2.5*`flow rate`**2 + log(x)
    <BLANKLINE>
        flow_rate: column 0, "flow rate"
        x: column 1, "x"
        \"""
        flow_rate = float(flow_rate)
        x = float(x)
        return 2.5*(flow_rate*flow_rate) + _log(x)
    <BLANKLINE>
    <BLANKLINE>
    def _log(a):
        return math.log(a) if a > 0.0 else -math.inf if a == 0.0 else math.nan
    """
    names, source = python_source(program, _LANGUAGE, name, _RESERVED)
    own = OwnColumns.of(program)
    body = [
        *docstring(described(program, names)),
        *(f"{names[i]} = float({names[i]})" for i in sorted(source.used) if i in own.columns),
        *_own_line(own, names),
        *source.lines,
        f"return {source.expression}",
    ]
    head = f"def {name}({', '.join(names[i] for i in own.arguments)}):"
    function = "\n".join([head, *(_INDENT + line if line else "" for line in body)]) + "\n"
    table = own_table(own, _number)
    return "\n\n".join(["import math\n" + table, function, *_helpers(source)])


def own_table(own: OwnColumns, number: Callable[[float], Fragment]) -> str:
    """The numbers of each group by its label, as lines of Python; empty without such numbers."""
    if own.group is None:
        return ""
    lines = [
        f"    {label!r}: ({' '.join(number(value).text + ',' for value in values)}),"
        for label, values in own.lines()
    ]
    return "\n".join(["", f"{OWN} = {{", *lines, "}", ""])


def _own_line(own: OwnColumns, names: Sequence[str]) -> list[str]:
    """The line that takes the numbers of the group that is asked for."""
    if own.group is None:
        return []
    return [f"{targets(own, names)} = {OWN}[str({names[own.group]})]"]


def targets(own: OwnColumns, names: Sequence[str]) -> str:
    """The names to which the numbers of a group are assigned."""
    one, *others = (names[at] for at in own.numbers)
    return ", ".join([one, *others]) if others else f"({one},)"


def _helpers(source: Source) -> list[str]:
    """The functions that the formula calls, each once: in the table's order, periodic ones last."""
    known = sorted(OPERATORS.values(), key=lambda token: token.trigonometric)
    used = {token.forms.helper for token in source.operators.values()}
    helpers = dict.fromkeys(t.forms.helper for t in (*known, *source.operators.values()))
    return [helper for helper in helpers if helper is not None and helper in used]


def docstring(lines: list[str]) -> list[str]:
    r'''The lines as a docstring, whatever they hold.

    >>> print("\n".join(docstring(["x", "", 'x: "\\"'])))
    """x
    <BLANKLINE>
    x: "\\"
    """
    '''
    safe = [line.replace("\\", "\\\\").replace('"""', r"\"\"\"") for line in lines]
    return [f'"""{safe[0]}', *safe[1:], '"""']
