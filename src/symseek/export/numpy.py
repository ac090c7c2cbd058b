"""Formulas as a NumPy function of a table, which gives the very values of `Program.evaluate`."""

from __future__ import annotations

import math

from symseek.export.names import (
    PYTHON_RESERVED,
    described,
    function_name,
    identifiers,
    python_identifier,
)
from symseek.export.python import docstring
from symseek.export.tree import exportable
from symseek.export.writer import ARITHMETIC, Form, Language, Piece, call, literal, write
from symseek.notation.printing import POWER, PRODUCT, SIGN
from symseek.programs import Program

__all__ = ["FORMS", "to_numpy"]

FORMS = {
    **ARITHMETIC,
    "div": Form("{a}/{b}", PRODUCT, (PRODUCT, SIGN)),
    "reciprocal": Form("1/{a}", PRODUCT, (SIGN,)),
    "pow": Form("np.float_power({a}, {b})"),
    "sin": call("np.sin"),
    "cos": call("np.cos"),
    "tan": call("np.tan"),
    "tanh": call("np.tanh"),
    "exp": call("np.exp"),
    "neg_exp": Form("np.exp(-{a})", places=(POWER,)),
    "log": call("np.log"),
    "sqrt": call("np.sqrt"),
    "square": call("np.square"),
    "cube": Form("{a}*{a}*{a}", PRODUCT, (SIGN,)),
    "fourth": Form("{a}*{a}*({a}*{a})", PRODUCT, (SIGN,)),
    "abs": call("np.abs"),
}
_RESERVED = PYTHON_RESERVED | {"X", "float", "len", "np", "values"}


def _number(value: float) -> Piece:
    sign = "-" if value < 0 else ""
    return literal(repr(value) if math.isfinite(value) else f"{sign}np.{abs(value)!r}")


# Python's own numbers raise an error at 1/0.
LANGUAGE = Language(FORMS, _number, lift="np.float64({})", assign="{name} = {text}")


def to_numpy(program: Program, name: str = "formula") -> str:
    """The source of a function that takes rows X [N, n] and gives the values [N].

    >>> print(to_numpy(Program.parse("2.5*`flow rate`**2 + log(x)")), end="")
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def formula(X):
        \"""2.5*`flow rate`**2 + log(x)
    <BLANKLINE>
        flow_rate: column 0, "flow rate"
        x: column 1, "x"
        \"""
        X = np.asarray(X, dtype=float)
        flow_rate = X[:, 0]
        x = X[:, 1]
        with np.errstate(all="ignore"):
            values = 2.5*np.square(flow_rate) + np.log(x)
        return values if np.ndim(values) else np.full(len(X), values)
    """
    columns = exportable(program).library.variables
    taken = _RESERVED | {function_name(name, python_identifier, _RESERVED)}
    names = identifiers(columns, python_identifier, taken.__contains__)
    source = write(program, LANGUAGE, names, taken)
    body = [
        *docstring(described(program, names)),
        "X = np.asarray(X, dtype=float)",
        *(f"{names[i]} = X[:, {i}]" for i in sorted(source.used)),
        'with np.errstate(all="ignore"):',
        *("    " + line for line in source.lines),
        f"    values = {source.expression}",
        "return values if np.ndim(values) else np.full(len(X), values)",
    ]
    head = ["import numpy as np", "", "", f"def {name}(X):"]
    return "\n".join([*head, *("    " + line if line else "" for line in body)]) + "\n"
