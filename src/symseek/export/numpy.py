"""Formulas as a NumPy function of a table, which gives the very values of `Program.evaluate`."""

from __future__ import annotations

import math

from symseek.export.names import described
from symseek.export.python import docstring
from symseek.export.writer import Language, literal, python_source
from symseek.notation.brackets import Fragment
from symseek.programs import Program

_RESERVED = {"X", "float", "ValueError", "len", "math", "np", "values"}


def _number(value: float) -> Fragment:
    sign = "-" if value < 0 else ""
    text = repr(value) if math.isfinite(value) else f"{sign}np.{abs(value)!r}"
    return literal(text, value)


# Python's own numbers raise an error at 1/0.
_LANGUAGE = Language("numpy", _number, lift="np.float64({})", assign="{name} = {text}")


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
        if X.shape[1:] != (2,):
            raise ValueError("X needs the columns named above and no others, in this order")
        flow_rate = X[:, 0]
        x = X[:, 1]
        with np.errstate(all="ignore"):
            values = 2.5*np.square(flow_rate) + np.log(x)
        return values if np.ndim(values) else np.full(len(X), values)
    """
    names, source = python_source(program, _LANGUAGE, name, _RESERVED)
    body = [
        *docstring(described(program, names)),
        "X = np.asarray(X, dtype=float)",
        # A whole table, with the target and other columns in it, would give wrong numbers.
        f"if X.shape[1:] != ({len(names)},):",
        '    raise ValueError("X needs the columns named above and no others, in this order")',
        *(f"{names[i]} = X[:, {i}]" for i in sorted(source.used)),
        'with np.errstate(all="ignore"):',
        *("    " + line for line in source.lines),
        f"    values = {source.expression}",
        "return values if np.ndim(values) else np.full(len(X), values)",
    ]
    forms = [token.form("numpy") or "" for token in source.operators.values()]
    math_too = ["import math", ""] if any("math." in form for form in forms) else []
    head = [*math_too, "import numpy as np", "", "", f"def {name}(X):"]
    return "\n".join([*head, *("    " + line if line else "" for line in body)]) + "\n"
