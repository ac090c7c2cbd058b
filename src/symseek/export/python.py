"""Formulas as a Python function of numbers, which needs nothing but `math`.

Python's own arithmetic raises an error where a value is undefined or too large. The functions
written below the formula give nan or an infinity instead, as predictions do.
"""

from __future__ import annotations

import math

from symseek.export.names import (
    PYTHON_RESERVED,
    described,
    function_name,
    identifiers,
    python_identifier,
)
from symseek.export.tree import exportable
from symseek.export.writer import ARITHMETIC, Form, Language, Piece, call, literal, write
from symseek.notation.printing import POWER, PRODUCT, SIGN
from symseek.programs import Program

__all__ = ["FORMS", "docstring", "to_python"]

_INDENT = "    "

HELPERS = {
    "_divide": """\
def _divide(a, b):
    return a / b if b else a * math.copysign(math.inf, b)
""",
    "_power": """\
def _power(a, b):
    large = math.copysign(math.inf, a) if b % 2.0 == 1.0 else math.inf
    try:
        return math.pow(a, b)
    except OverflowError:
        return large
    except ValueError:
        return math.nan if a else large
""",
    "_exp": """\
def _exp(a):
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf
""",
    "_log": """\
def _log(a):
    return math.log(a) if a > 0.0 else -math.inf if a == 0.0 else math.nan
""",
    "_sqrt": """\
def _sqrt(a):
    return math.sqrt(a) if a >= 0.0 else math.nan
""",
    **{
        f"_{name}": f"""\
def _{name}(a):
    return math.{name}(a) if math.isfinite(a) else math.nan
"""
        for name in ("sin", "cos", "tan")
    },
}

FORMS = {
    **ARITHMETIC,
    "div": Form("_divide({a}, {b})", needs="_divide"),
    "reciprocal": Form("_divide(1.0, {a})", needs="_divide"),
    "pow": Form("_power({a}, {b})", needs="_power"),
    "sin": call("_sin", needs="_sin"),
    "cos": call("_cos", needs="_cos"),
    "tan": call("_tan", needs="_tan"),
    "tanh": call("math.tanh"),
    "exp": call("_exp", needs="_exp"),
    "neg_exp": Form("_exp(-{a})", places=(POWER,), needs="_exp"),
    "log": call("_log", needs="_log"),
    "sqrt": call("_sqrt", needs="_sqrt"),
    "square": Form("{a}*{a}", PRODUCT, (SIGN,)),
    "cube": Form("{a}*{a}*{a}", PRODUCT, (SIGN,)),
    "fourth": Form("{a}*{a}*({a}*{a})", PRODUCT, (SIGN,)),
    "abs": call("abs"),
}
_RESERVED = PYTHON_RESERVED | set(HELPERS) | {"abs", "float", "math"}


def _number(value: float) -> Piece:
    sign = "-" if value < 0 else ""
    return literal(repr(value) if math.isfinite(value) else f"{sign}math.{abs(value)!r}")


LANGUAGE = Language(FORMS, _number, assign="{name} = {text}")


def to_python(program: Program, name: str = "formula") -> str:
    """The source of a Python function of one number for each column, in the order of the columns.

    Where the formula has no value the function returns nan or an infinity, as `evaluate` does.

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
    columns = exportable(program).library.variables
    taken = _RESERVED | {function_name(name, python_identifier, _RESERVED)}
    names = identifiers(columns, python_identifier, taken.__contains__)
    source = write(program, LANGUAGE, names, taken)
    body = [
        *docstring(described(program, names)),
        *(f"{names[i]} = float({names[i]})" for i in sorted(source.used)),
        *source.lines,
        f"return {source.expression}",
    ]
    head = f"def {name}({', '.join(names)}):"
    function = "\n".join([head, *(_INDENT + line if line else "" for line in body)]) + "\n"
    helpers = [text for each, text in HELPERS.items() if each in source.needs]
    return "\n\n".join(["import math\n", function, *helpers])


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
