"""Formulas as a NumPy function of a table, which gives the very values of `Program.evaluate`."""

from __future__ import annotations

import math

from symseek.export.names import described
from symseek.export.own import OwnColumns
from symseek.export.python import OWN, docstring, own_table, targets
from symseek.export.writer import Language, literal, python_source
from symseek.notation.brackets import Fragment
from symseek.programs import Program

_RESERVED = {"X", "float", "ValueError", "len", "map", "math", "np", "str", "values", OWN}


def _number(value: float) -> Fragment:
    sign = "-" if value < 0 else ""
    text = repr(value) if math.isfinite(value) else f"{sign}np.{abs(value)!r}"
    return literal(text, value)


# Python's own numbers raise an error at 1/0.
_LANGUAGE = Language("numpy", _number, lift="np.float64({})", assign="{name} = {text}")


def to_numpy(program: Program, name: str = "formula") -> str:
    """The source of a function that takes rows X [N, n] and gives the values [N].

    Of a formula with numbers of each group's own, it takes the labels [N] of the groups as well.

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
    own = OwnColumns.of(program)
    of_groups = []
    if own.group is not None:
        rows = f"[{OWN}[each] for each in map(str, {names[own.group]})]"
        of_groups = [f"{targets(own, names)} = np.array({rows}).reshape(-1, {len(own.numbers)}).T"]
    body = [
        *docstring(described(program, names)),
        "X = np.asarray(X, dtype=float)",
        # A whole table, with the target and other columns in it, would give wrong numbers.
        f"if X.shape[1:] != ({len(own.columns)},):",
        '    raise ValueError("X needs the columns named above and no others, in this order")',
        *(f"{names[at]} = X[:, {i}]" for i, at in enumerate(own.columns) if at in source.used),
        *of_groups,
        'with np.errstate(all="ignore"):',
        *("    " + line for line in source.lines),
        f"    values = {source.expression}",
        "return values if np.ndim(values) else np.full(len(X), values)",
    ]
    forms = [token.form("numpy") or "" for token in source.operators.values()]
    math_too = ["import math", ""] if any("math." in form for form in forms) else []
    group = "" if own.group is None else f", {names[own.group]}"
    table = own_table(own, _number).splitlines()
    head = [*math_too, "import numpy as np", *table, "", "", f"def {name}(X{group}):"]
    return "\n".join([*head, *("    " + line if line else "" for line in body)]) + "\n"
