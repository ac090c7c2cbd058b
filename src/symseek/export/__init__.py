"""Formulas for use elsewhere: one function a target.

- `to_latex`, `latex_own`, `latex_table`: for a document
- `to_sympy`: source that makes the SymPy expression
- `to_python`, `to_numpy`, `to_c`: source of a function
- `to_excel`: a spreadsheet's cell, `cells_of` a model for the file that it was fitted to
- `numpy_function`, `torch_function`, `jax_function`: functions to call here

Numbers are written so that they read back to the same float64, except in LaTeX, which is to be
read. Text is generated and never run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from symseek.errors import printable, unknown_name
from symseek.export.c import to_c
from symseek.export.callables import jax_function, numpy_function, torch_function
from symseek.export.excel import cells_of, to_excel
from symseek.export.latex import latex_own, latex_table, to_latex
from symseek.export.numpy import to_numpy
from symseek.export.python import to_python
from symseek.export.sympy import to_sympy
from symseek.programs import Program

__all__ = [
    "TARGETS",
    "cells_of",
    "commented",
    "export",
    "jax_function",
    "latex_own",
    "latex_table",
    "numpy_function",
    "to_c",
    "to_excel",
    "to_latex",
    "to_numpy",
    "to_python",
    "to_sympy",
    "torch_function",
]

COMMENTS = {"latex": "%", "latex-table": "%", "python": "#", "c": "//", "sympy": "#", "numpy": "#"}
"""What a line begins with that is not for the program that reads an export."""

TARGETS: dict[str, Callable[..., str]] = {
    "latex": to_latex,
    "python": to_python,
    "c": to_c,
    "sympy": to_sympy,
    "numpy": to_numpy,
    "excel": to_excel,
}
"""The targets that are text, each a function of a program and of options of its own."""


def commented(text: str, target: str, remarks: Iterable[str]) -> str:
    """An export with remarks before it, where the target may have them.

    >>> print(commented("2.5*T", "c", ["T in K"]))
    // T in K.
    2.5*T
    """
    if target not in COMMENTS:
        return text
    # With a point at its end no line continues on the next one.
    lines = [f"{COMMENTS[target]} {printable(each)}." for each in remarks]
    return "\n".join([*lines, text])


def export(program: Program, target: str, **options: Any) -> str:
    """The text of a formula for a target of `TARGETS`; options go to its function.

    >>> print(export(Program.parse("x**2 + 1"), "excel", cells={"x": "B7"}))
    =B7^2 + 1
    >>> export(Program.parse("x"), "exel")
    Traceback (most recent call last):
    symseek.errors.InputError: unknown target 'exel'; did you mean 'excel'?
    """
    if target not in TARGETS:
        raise unknown_name("target", target, TARGETS)
    write = TARGETS[target]
    known = list(inspect.signature(write).parameters)[1:]
    for name in options:
        if name not in known:
            raise unknown_name(f"option of target {target!r}", name, known)
    return write(program, **options)
