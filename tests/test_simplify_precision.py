"""The bounds of rounding errors hold, and are not much too wide."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, reject

from strategies import programs
from symseek.algebra.normal_form import FORM_ERRORS, Algebra
from symseek.algebra.precision import EvaluatedForms, agree, measured
from symseek.model import full_library
from symseek.programs import Program
from symseek.tokens import Library

LIBRARY = full_library(["x", "y"])
X = np.random.default_rng(0).uniform(0.1, 3, (5, 2))
PLAIN = Library(
    ["add", "sub", "mul", "div", "sin", "exp", "sqrt", "square", "neg", "const"], ["x", "y"]
)


def exact(program: Program, row: np.ndarray) -> mpmath.mpf:
    """The value in 60 digits."""
    functions = {
        "add": mpmath.fadd, "sub": mpmath.fsub, "mul": mpmath.fmul, "div": mpmath.fdiv,
        "sin": mpmath.sin, "exp": mpmath.exp, "sqrt": mpmath.sqrt, "neg": mpmath.fneg,
        "square": lambda a: a * a,
    }  # fmt: skip

    def combine(token: int, constant: float | None, arguments: list) -> mpmath.mpf:
        this = program.library.tokens[token]
        if constant is not None:
            return mpmath.mpf(constant)
        if this.index is not None:
            return mpmath.mpf(row[this.index])
        return functions[this.name](*arguments)

    with mpmath.workdps(60):
        return program.fold(combine)


@given(programs(PLAIN, max_length=12))
def test_the_error_is_within_the_bound(program: Program) -> None:
    values, errors = measured(program, X)
    assume(np.isfinite(values).all() and (np.abs(values) < 1e100).all())
    for row, value, error in zip(X, values, errors, strict=True):
        if error < 1e-6:  # beyond that a function is no longer nearly a line
            off = abs(exact(program, row) - mpmath.mpf(value))
            assert off <= 2 * error + 1e-300


@pytest.mark.parametrize(
    ("text", "bound"),
    [("x*y + 1.5", 1e-14), ("1e6 + x - 1e6", 1e-9), ("sin(1e6*x)", 1e-8), ("x/3.0", 1e-15)],
)
def test_the_bound_is_about_as_wide_as_it_must_be(text: str, bound: float) -> None:
    _, errors = measured(Program.parse(text, LIBRARY), X)
    assert (errors < bound).all()


@given(programs(LIBRARY, max_length=12))
def test_normal_forms_have_the_values_of_programs(program: Program) -> None:
    with np.errstate(all="ignore"):
        rows = EvaluatedForms(LIBRARY, X)
        try:
            form = Algebra(LIBRARY, rows).form(program, [1.0, 1.0])
        except FORM_ERRORS:
            reject()
        values, errors = measured(program, X)
        assume(np.isfinite(values).all() and (np.abs(values) < 1e100).all())
        own = rows.errors(form)
        assume((errors < 1e-9 * np.abs(values).max()).all())
        assert agree((values, errors + own), rows.values(form))
