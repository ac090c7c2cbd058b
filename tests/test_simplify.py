"""Formulas written shorter, or in other units, have the same values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import programs
from symseek import Library, Program, Token
from symseek.algebra.precision import measured
from symseek.algebra.simplify import rescaled, simplified, structural_exponents
from symseek.evaluation import fit_constants
from symseek.model import full_library
from symseek.programs import Programs


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


# What people met in fitted formulas. All columns are positive; c is above 10, and s has both signs.
SHORTER = [
    # two numbers in one sum or product, and numbers that are 1 or 0 but for rounding
    ("0.247487*(0.9999999999999999*x - 21.8107)", "0.247487*x - 5.3978647109"),
    ("x + 2.0 + y + 3.0", "x + y + 5.0"),
    ("x*x/(100.0*100.0)", "0.0001*x**2"),
    ("2.0*(1.5*x + 3.0)", "3.0*x + 6.0"),
    ("(x/2.0 + 3.0)*4.0 - 12.0", "2.0*x"),
    ("0.1*x + 0.2*x", "0.3*x"),
    ("0.3*x - 0.1*x - 0.2*x + y", "y"),
    ("x**0.9999999999999998 + 1.0000000000000002*y", "x + y"),
    ("(2.0*x + 3.0)*(4.0*y - 5.0)", "8.0*(x + 1.5)*(y - 1.25)"),
    ("2.0*x + 2.0*y + 2.0", "2.0*(x + y + 1.0)"),
    ("y*(3.0*x + 1.0)", "y*(3.0*x + 1.0)"),
    ("x*0.3333333333333333/y", "x/(3.0*y)"),
    ("x - x + y", "y"),
    ("x/x + y", "y + 1.0"),
    ("sin(2.0 - 2.0)*x + y", "y"),
    ("x*y + 2.0*(y*x)", "3.0*x*y"),
    # what is lost beside the rest
    ("1e-30*x**10.0 + y", "y"),
    ("sin(x + 1e-20*y) + 1e-25", "sin(x)"),
    ("tanh(x + 50.0)*y", "y"),
    # logarithms, exponential functions, powers
    ("exp(-log(x*y/c))", "c/(x*y)"),
    ("log(exp(x/2.0))", "0.5*x"),
    ("-log(V/n)", "log(n/V)"),
    ("3.0*log(V/n)*(-1.0) + 2.0", "2.0 - 3.0*log(V/n)"),
    ("log(n*V) - log(V)", "log(n)"),
    ("2.0*log(x) + log(y)", "log(x**2*y)"),
    ("log(sqrt(x))", "0.5*log(x)"),
    ("log(2.0*x) + 1.0", "log(x) + 1.6931471805599454"),
    ("log(2.0*x)", "log(2.0*x)"),
    ("exp(0.5*log(x) + 1.0)", "2.718281828459045*sqrt(x)"),
    ("exp(y*log(x))", "x**y"),
    ("x**y*x**2.0/x**y", "x**2"),
    ("exp(x + 0.0)*exp(y)", "exp(x + y)"),
    ("exp(x)/exp(x)", "1.0"),
    ("exp(x)*sqrt(exp(x))", "exp(1.5*x)"),
    ("exp(x + 2.0)", "exp(x + 2.0)"),
    ("y - exp(x - 30.0)", "y - 9.357622968840175e-14*exp(x)"),
    ("x*exp(-y)*exp(2.0*y)/exp(y)", "x"),
    # roots, under the domain of the rows
    ("sqrt(x**2)", "x"),
    ("sqrt((x - 5.0)**2)", "5.0 - x"),
    ("sqrt(s**2)", "abs(s)"),
    ("sqrt(s**4)", "s**2"),
    ("sqrt(4.0*x)*sqrt(x)", "2.0*x"),
    ("sqrt(x)/sqrt(y)", "sqrt(x/y)"),
    ("x*sqrt(x)*sqrt(y)", "x*sqrt(x*y)"),
    ("(x*y)**0.5", "sqrt(x*y)"),
    ("sqrt(2.0*x + 3.0)", "sqrt(2.0*x + 3.0)"),
    ("-sqrt(1.0/(c**2 - v**2))", "-1.0/sqrt(c**2 - v**2)"),
    ("sqrt(-1.0/(v**2 - c))", "1/sqrt(c - v**2)"),
    ("-3.0*sqrt(1.0/(c - v**2))", "-3.0/sqrt(c - v**2)"),
    ("1.0/sqrt(1.0 - (v/300.0)**2)", "300.0/sqrt(90000.0 - v**2)"),
    # fractions and brackets
    ("x/(y/c)", "x*c/y"),
    ("1.0/(1.0/x + 1.0/y)", "x*y/(x + y)"),
    ("x*x*x*x*x/(y*y)", "x**5.0/y**2"),
    ("x*y + x*v", "x*(y + v)"),
    ("(x*y + x)/x", "y + 1.0"),
    ("(x*v + y*v)/(x + y)", "v"),
    ("x*(1.0/x + y)", "x*y + 1.0"),
    ("(x + 1.0)**2 - x**2", "2.0*x + 1.0"),
    ("0.5*(x + y) + 0.5*(x - y)", "x"),
    ("(x**2 - y**2)/(x - y)", "x + y"),
    ("x**2 + 2.0*x*y + y**2", "(x + y)**2"),
    ("4.0*x**2 - 4.0*x*y + y**2 + 3.0", "(2.0*x - y)**2 + 3.0"),
    ("x/(x*y + x)", "1/(y + 1.0)"),
    ("x/(1.0 + x/5.0)", "5.0*x/(x + 5.0)"),
    ("exp(x)/(1.0 + exp(x))", "1/(exp(-x) + 1.0)"),
    # signs
    ("--x", "x"),
    ("x + -3.0", "x - 3.0"),
    ("-x*(-y)", "x*y"),
    ("-(x - y)", "y - x"),
    ("-2.0*(x - y)", "2.0*(y - x)"),
    ("-x - y", "-x - y"),
    ("0.0 - x*y", "-x*y"),
    ("-1.0/x", "-1.0/x"),
    ("sin(0.0 - x)", "-sin(x)"),
    ("-sin(x - y)", "sin(y - x)"),
    ("cos(0.0 - x)", "cos(x)"),
    ("abs(x) + abs(-s)", "x + abs(s)"),
    ("max(x, c) - min(x, c)", "c - x"),
    # sine and cosine
    ("cos(1.5707963267948966 - theta)", "sin(theta)"),
    ("sin(theta + 3.141592653589793)*x", "-x*sin(theta)"),
    ("sin(x + 25.132741228718345)", "sin(x)"),
    ("3.0*y*sin(x)**2 + 3.0*y*cos(x)**2", "3.0*y"),
    ("2.0*sin(x)*cos(x)", "sin(2.0*x)"),
    ("sin(x)**2/cos(x)**2", "tan(x)**2"),
    ("asin(sin(theta))", "theta"),
    ("sqrt(1.0 - sin(x)**2)", "cos(x)"),
    ("(exp(x) - exp(-x))/2.0", "sinh(x)"),
    ("(exp(x) - exp(-x))/(exp(x) + exp(-x))", "tanh(x)"),
    ("1.0 - 2.0/(exp(3.0*x) + 1.0)", "tanh(1.5*x)"),
    # one way to write things
    ("1.0*x", "x"),
    ("x*x", "x**2"),
    ("exp(x)*y*2.0", "2.0*y*exp(x)"),
    ("2.0 + x*x*x + 3.0*x", "x*(x**2 + 3.0) + 2.0"),
    ("y - 2.0*v + x + c", "x + y - 2.0*v + c"),
    ("hypot(0.0, s)", "abs(s)"),
]
COLUMNS = ["x", "y", "v", "n", "V", "theta", "c", "s"]
WIDE = full_library(COLUMNS)
ROWS = np.random.default_rng(1).uniform(0.1, 1.5, (60, len(COLUMNS)))
ROWS[:, 6] += 10.0
ROWS[:, 7] -= 0.8


# Laws of physics as a search may find them, and as they are written.
LAWS = [
    ("2.0*U - 2.0*U*cos(k*d)", "2.0*U*(1.0 - cos(d*k))"),
    ("b*a*cos(t) + b", "b*(a*cos(t) + 1.0)"),
    ("G*m*n/r - G*m*n/s", "G*m*n*(1/r - 1/s)"),
    ("w*(1.0 + v/c)/sqrt(1.0 - v*v/(c*c))", "w*sqrt((c + v)/(c - v))"),
    ("m*sqrt(1.0/(1.0 - v*v/(c*c)))", "m/sqrt(1.0 - (v/c)**2)"),
    ("exp(-0.5*log(x*x + y*y))*z", "z/sqrt(x**2 + y**2)"),
    ("n*m*(1.0 - 2.0/(exp(2.0*m*B/(k*T)) + 1.0))", "m*n*tanh(B*m/(T*k))"),
    ("n*k*T*(0.5*log(V*V) - log(W))", "T*k*n*log(V/W)"),
    ("(a/b)/(c/d)*sqrt(e**2)/(1.0/f)", "a*d*e*f/(b*c)"),
    ("r*m/(m + n) + s*n/(m + n)", "(m*r + n*s)/(m + n)"),
]


@pytest.mark.parametrize(("text", "short"), LAWS)
def test_laws_in_their_customary_form(text: str, short: str) -> None:
    names = Program.parse(text).library.variables
    library = full_library(names)
    rows = np.random.default_rng(0).uniform(1, 2, (60, len(names)))
    if "c" in names:
        rows[:, names.index("c")] += 3
    program = Program.parse(text, library)
    found = simplified(program, library, rows)
    assert str(found) == short
    same_but_for_rounding(program, found, rows)


@pytest.mark.parametrize(("text", "short"), SHORTER)
def test_written_shorter(text: str, short: str) -> None:
    program = Program.parse(text, WIDE)
    found = simplified(program, WIDE, ROWS)
    assert str(found) == short
    same_but_for_rounding(program, found, ROWS)
    assert simplified(found, WIDE, ROWS) == found


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("sqrt(x**2)", "abs(x)"),
        ("(x**2)**0.25*y", "y*sqrt(abs(x))"),
        ("log(x**2)", "log(x**2)"),
        ("max(x, y)", "max(x, y)"),
        ("sqrt(x*y)", "sqrt(x*y)"),
        ("exp(log(x**2)/2.0)", "abs(x)"),
        ("asin(sin(4.0*x))", "asin(sin(4.0*x))"),
    ],
)
def test_what_holds_only_for_some_numbers_is_not_used_for_others(text: str, short: str) -> None:
    rows = np.random.default_rng(2).uniform(-2, 2, (60, 2))
    program = Program.parse(text, LIBRARY)
    found = simplified(program, LIBRARY, rows)
    assert found == Program.parse(short, LIBRARY)
    same_but_for_rounding(program, found, rows)


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


UNKNOWN = [
    Token("bump", 1, 3, numpy=lambda a: 1 / (1 + np.square(a))),
    Token("mix", 3, 2, numpy=lambda a, b, c: a * b + np.cos(c)),
    Token("gap", 2, 4, formula="a - b**2"),
]
OWN = full_library(["x", "y"], UNKNOWN)


@given(programs(OWN))
def test_operators_without_rules_are_left_as_they_are(program: Program) -> None:
    short = simplified(program, OWN, X)
    assert short.complexity <= program.complexity
    same_but_for_rounding(program, short, X)


@given(programs(LIBRARY), st.sampled_from(["whole", "both signs", "one row", "zeros"]))
def test_the_values_stay_on_any_rows(program: Program, kind: str) -> None:
    rows = {
        "whole": np.column_stack([np.arange(30.0), np.arange(30.0) % 7 - 3]),
        "both signs": 3 * np.random.default_rng(3).normal(size=(40, 2)),
        "one row": np.array([[0.5, -2.0]]),
        "zeros": np.zeros((5, 2)),
    }[kind]
    short = simplified(program, LIBRARY, rows)
    assert short.complexity <= program.complexity
    same_but_for_rounding(program, short, rows)


@pytest.mark.slow
@given(programs(LIBRARY, max_length=40))
def test_the_same_formula_comes_out_the_same(program: Program) -> None:
    once = simplified(program, LIBRARY, X)
    again = simplified(program, full_library(["x", "y"]), X.copy())
    assert once == again


def test_a_formula_of_any_depth_is_only_translated() -> None:
    deep = "sin(" * 3000 + "x" + ")" * 3000
    program = Program.parse(deep, LIBRARY)
    assert simplified(program, LIBRARY, X).tokens == program.tokens


def test_fitted_exponents_stay_free() -> None:
    batch = Programs.from_list([Program.parse("x**1.5 + x**0.4987", LIBRARY)])
    fixed = structural_exponents(batch)
    assert fixed.tolist() == [[True, False]]
    x = np.linspace(1, 2, 30)
    rows = np.column_stack([x, x])
    fitted = fit_constants(batch, rows, x**1.6 + x**0.5, fixed=fixed).programs
    assert fitted.library == LIBRARY
    assert fitted.constants[0, 0] == 1.5
    assert fitted.constants[0, 1] != 0.4987


@pytest.mark.parametrize("wrong", [1, 40])
def test_all_rows_of_a_large_table_count(wrong: int) -> None:
    rows = np.random.default_rng(4).uniform(0.1, 3, (20_000, 2))
    rows[7 : 7 + wrong, 0] *= -1
    program = Program.parse("sqrt(x**2) + exp(log(y))", LIBRARY)
    found = simplified(program, LIBRARY, rows)
    assert str(found) == "y + abs(x)"
    same_but_for_rounding(program, found, rows)
