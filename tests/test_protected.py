"""Protected operators: values by definition; recovery takes them for the plain ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine_helpers import evaluator
from refusals import refused
from symseek import InputError, Library, Program, Programs, Search, SearchConfig
from symseek.algebra.simplify import simplified
from symseek.model import full_library
from symseek.recovery.equivalence import equivalent
from symseek.settings import Settings
from symseek.tokens import OPERATORS

PROTECTED = [name for name, token in OPERATORS.items() if token.protects is not None]

# The operator, its arguments, its value.
BY_DEFINITION = [
    ("protected_div", (3.0, 2.0), 1.5),
    ("protected_div", (3.0, -0.0011), 3.0 / -0.0011),
    ("protected_div", (3.0, 0.001), 1.0),
    ("protected_div", (3.0, -0.001), 1.0),
    ("protected_div", (0.0, 0.0), 1.0),
    ("protected_exp", (-2.0,), math.exp(-2.0)),
    ("protected_exp", (99.9,), math.exp(99.9)),
    ("protected_exp", (100.0,), 0.0),
    ("protected_exp", (1e5,), 0.0),
    ("protected_log", (-2.0,), math.log(2.0)),
    ("protected_log", (0.0011,), math.log(0.0011)),
    ("protected_log", (0.001,), 0.0),
    ("protected_log", (0.0,), 0.0),
    ("protected_sqrt", (-4.0,), 2.0),
    ("protected_reciprocal", (-4.0,), -0.25),
    ("protected_reciprocal", (0.001,), 0.0),
    ("protected_reciprocal", (0.0,), 0.0),
    ("protected_neg_exp", (2.0,), math.exp(-2.0)),
    ("protected_neg_exp", (-100.0,), 0.0),
    ("protected_square", (-999999.0,), 999999.0**2),
    ("protected_square", (-1e6,), 0.0),
    ("protected_cube", (-999999.0,), -(999999.0**3)),
    ("protected_cube", (1e200,), 0.0),
]


@pytest.mark.parametrize(("name", "arguments", "value"), BY_DEFINITION)
def test_values_are_those_of_the_definition(name, arguments, value):
    library = Library([name], ["x", "y"][: len(arguments)])
    program = Program(library, tuple(range(len(arguments) + 1)))
    assert program.apply(*arguments) == pytest.approx(value, rel=1e-15)
    rows = np.array([arguments] * 9)
    found = evaluator(library, rows).predict(Programs.from_list([program]))
    assert found.ok[0]
    np.testing.assert_allclose(found.values[0], value, rtol=1e-15)
    symbols = [str(each) for each in program.library.variables]
    expression = program.sympy(real=True)
    at = {each: arguments[symbols.index(each.name)] for each in expression.free_symbols}
    assert float(expression.subs(at)) == pytest.approx(value, rel=1e-14)


def test_nothing_has_them_by_default():
    assert len(PROTECTED) == 8
    assert not set(PROTECTED) & set(Settings().operators)
    assert all(OPERATORS[OPERATORS[name].protects].protects is None for name in PROTECTED)


def test_they_are_suggested_where_one_is_meant():
    with refused("token", value="protected_lgo", wanted="did you mean 'protected_log'?"):
        Library(["protected_lgo"], ["x"])
    with pytest.raises(InputError, match="unknown token 'nothing'") as told:
        Library(["nothing"], ["x"])
    assert "protected" not in str(told.value)


def test_the_names_of_the_authors_are_known():
    names = ["protected_inv", "protected_expneg", "protected_n2", "protected_n3"]
    assert Library(names, ["x"]).names[:4] == (
        "protected_reciprocal",
        "protected_neg_exp",
        "protected_square",
        "protected_cube",
    )


@pytest.mark.parametrize(
    ("found", "truth", "answer"),
    [
        ("protected_log(x + 1) + protected_log(x**2 + 1)", "log(x + 1) + log(x**2 + 1)", "yes"),
        ("protected_exp(protected_log(x)*y)", "x**y", "yes"),
        ("protected_div(x, protected_div(1.0, y))", "x*y", "yes"),
        ("protected_sqrt(x)", "sqrt(x)", "yes"),
        ("x*protected_reciprocal(y)", "x/y", "yes"),
        ("protected_neg_exp(protected_square(x))", "exp(-x**2)", "yes"),
        ("protected_cube(x) + x", "x**3 + x", "yes"),
        ("protected_div(y, x)", "x/y", "no"),
        ("protected_exp(x) + 1e-9", "exp(x)", "no"),
    ],
)
def test_recovery_takes_them_for_the_plain_ones(found, truth, answer):
    program = Program.parse(found, full_library(["x", "y"]))
    assert equivalent(program, truth).answer == answer


def test_recovery_with_fitted_constants():
    library = Library(["protected_exp", "mul", "const"], ["x"])
    program = Program.parse("2.50001*protected_exp(1.2*x)", library)
    assert equivalent(program, "2.5*exp(1.2*x)", tolerance=1e-3).answer == "yes"


def test_the_simplifier_leaves_them_alone():
    library = full_library(["x"])
    X = np.linspace(-2.0, 2.0, 41)[:, None]
    for text in (
        "protected_div(x, x)",
        "protected_exp(protected_log(x))",
        "protected_square(protected_sqrt(x))",
        "protected_reciprocal(protected_reciprocal(x))",
        "protected_div(1.0, protected_exp(protected_square(x)))",
    ):
        program = Program.parse(f"0.5*(2.0*{text}) + 0.0", library)
        np.testing.assert_array_equal(
            simplified(program, library, X).evaluate(X), Program.parse(text, library).evaluate(X)
        )


def test_sympy_says_what_it_cannot_compare_or_read():
    import sympy

    library = full_library(["x"])
    with pytest.raises(InputError, match="which is not a real number"):
        Program.parse("protected_exp(log(-1.5))", library).sympy()
    with pytest.raises(InputError, match="cannot hold a protected operator inside another"):
        Program.parse("protected_div(x, protected_log(x))", library).sympy()
    assert Program.parse("protected_div(protected_log(x), x)", library).sympy()
    expression = Program.parse("protected_log(x)", library).sympy()
    assert isinstance(expression, sympy.Piecewise)
    with pytest.raises(InputError, match="a SymPy Piecewise, which no operator here stands for"):
        Program.from_sympy(expression, library)


def test_a_search_with_protected_operators_recovers():
    library = Library(["add", "mul", "protected_div", "protected_log", "protected_exp"], ["x"])
    x = np.linspace(-1.0, 1.0, 21)
    y = x + np.where(np.abs(x) > 0.001, np.log(np.abs(np.where(x, x, 1.0))), 0.0)
    config = SearchConfig(max_expressions=50_000, stop_reward=1 - 1e-9)
    best = Search(library, x[:, None], y, config, seed=0).run().best
    assert best.reward == pytest.approx(1.0)
    assert equivalent(best.program, "x + log(x)", positive=True).answer == "yes"
