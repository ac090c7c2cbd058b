"""Formulas written shorter, or in other units, have the same values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import programs
from symseek import Library, Program, Token
from symseek.algebra.precision import measured
from symseek.algebra.simplify import rescaled, simplified
from symseek.model import full_library

def same_but_for_rounding(before: Program, after: Program, rows: np.ndarray) -> None:
    """Defined where it was, and no further off than a few roundings of the terms, or 1e-6."""
    values, errors = measured(before, rows)
    found = after.evaluate(rows)
    known = np.isfinite(values)
    size = np.abs(values[known]).max(initial=0.0)
    assert np.isfinite(found[known]).all()
    off = np.abs(found[known] - values[known])
    assert np.all(off <= np.minimum(8 * errors[known], 1e-6 * size))


LIBRARY = full_library(["x", "y"])
X = np.random.default_rng(0).uniform(0.1, 3, (50, 2))


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("2.0*(1.5*x + 3.0)", "3.0*x + 6.0"),
        ("exp(x + 0.0)*exp(y)", "exp(x + y)"),
        ("exp(x)/exp(x)", "1.0"),
        ("sqrt(4.0*x)*sqrt(x)", "2.0*x"),
        ("x - x + y", "y"),
        ("x/x + y", "y + 1.0"),
        ("(2.0*x + 3.0)*(4.0*y - 5.0)", "8.0*(x + 1.5)*(y - 1.25)"),
        ("x*x*x*x*x/(y*y)", "x**5.0/y**2"),
        ("-x - y", "-x - y"),
        ("0.0 - x*y", "-x*y"),
        ("1.0/(1.0/x + 1.0/y)", "x*y/(x + y)"),
        ("sqrt(x**2)", "x"),
        ("(x*y)**0.5", "sqrt(x*y)"),
        ("sin(0.0 - x)", "-sin(x)"),
        ("cos(0.0 - x)", "cos(x)"),
        ("-1.0/x", "-1.0/x"),
        ("sin(2.0 - 2.0)*x + y", "y"),
        ("x*y + 2.0*(y*x)", "3.0*x*y"),
        ("log(2.0*x)", "log(2.0*x)"),
    ],
)
def test_written_shorter(text: str, short: str) -> None:
    assert str(simplified(Program.parse(text, LIBRARY), LIBRARY, X)) == short


@given(programs(LIBRARY))
def test_the_values_stay_and_it_never_gets_longer(program: Program) -> None:
    short = simplified(program, LIBRARY, X)
    assert short.complexity <= program.complexity
    same_but_for_rounding(program, short, X)


@given(
    programs(LIBRARY),
    st.tuples(st.integers(-12, 12), st.integers(-12, 12)),
    st.integers(-12, 12),
)
def test_other_units(program: Program, inputs: tuple[int, int], output: int) -> None:
    scales = [10.0**power for power in inputs]
    with np.errstate(over="ignore"):
        before, *nearby = (
            10.0**output * program.evaluate(X * slip) for slip in (1.0, 1 - 1e-14, 1 + 1e-14)
        )
    told = rescaled(program, LIBRARY, X * scales, scales, 10.0**output)
    known = np.isfinite(program.evaluate((X * scales) / scales)) & np.isfinite(before)
    size = np.abs(before[known]).max(initial=0.0)
    # Dividing by a power of ten rounds; near a pole or a jump, or in sin(1e10*x), that shows.
    steady = all(np.all(np.abs(each[known] - before[known]) <= 1e-7 * size) for each in nearby)
    if known.any() and steady:
        assert np.all(np.abs(told.evaluate(X * scales)[known] - before[known]) <= 1e-6 * size)


def test_where_it_is_undefined_it_is_only_translated() -> None:
    program = Program.parse("log(-1.0)*x", LIBRARY)
    assert simplified(program, LIBRARY, X) == program


def test_other_libraries_and_operators_of_the_callers_own() -> None:
    wave = Token("wave", 1, 3, formula="sin(a)/a")
    small = Library(["add", "mul", wave, 2, "const"], ["x"])
    large = full_library(["length"], [wave])
    program = Program.parse("wave(2*x)*1.5*2", small)
    told = rescaled(program, large, X[:, :1], [1.0], 1.0)
    assert str(told) == "3.0*wave(2.0*length)"
