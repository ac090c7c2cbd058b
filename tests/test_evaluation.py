"""The native evaluator against NumPy, and its functions against high precision."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.evaluate import evaluate
from strategies import COMPOSED, programs
from symseek import Library, Program, Programs
from symseek.engines.native import Evaluator, operations
from symseek.tokens import OPERATORS

LIBRARY = Library([*OPERATORS, *COMPOSED, "1", "2.5", "-3", "const"], variables=["x", "y", "z"])
ROWS = [1, 7, 8, 9, 20, 255, 256, 257, 2049, 5000]


def table(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 3, (rows, 3))
    return X, X[:, 0] * X[:, 1] - np.cos(X[:, 2])


NUDGES = (1e-15, -1e-15, 7e-15, -3e-14)


def condition(program: Program, X: np.ndarray) -> float:
    """How far NumPy itself moves when its inputs move by a few bits."""
    here, _ = evaluate(program, X)
    worst = 0.0
    with np.errstate(all="ignore"):
        for nudge in NUDGES:
            there, _ = evaluate(program, X * (1 + nudge))
            worst = max(worst, float(np.max(np.abs(here - there) / (1e-300 + np.abs(here)))))
    return worst


def test_the_engine_has_every_operator_and_the_table_every_operation() -> None:
    listed = {name: token.arity for name, token in OPERATORS.items() if token.formula is None}
    assert operations() == listed


@settings(max_examples=300, deadline=None)
@given(programs(LIBRARY, max_length=25), st.sampled_from(ROWS))
def test_values_and_validity_are_numpys(program: Program, rows: int) -> None:
    X, _ = table(rows)
    expected, valid = evaluate(program, X)
    found = Evaluator(LIBRARY, X).predict(Programs.from_list([program]))
    if bool(found.ok[0]) != valid:
        assert near_the_edge(program, X)
    elif valid and (sensitivity := condition(program, X)) < 1e-9:  # else the last bit decides
        np.testing.assert_allclose(
            found.values[0], expected, rtol=1e-13 + 1e2 * sensitivity, atol=1e-290
        )


def near_the_edge(program: Program, X: np.ndarray) -> bool:
    """Does validity hang on the last bits, as in log(x - x*1) or 1/(x - x)?"""
    return len({evaluate(program, X * (1 + nudge))[1] for nudge in (0.0, *NUDGES)}) == 2


@settings(max_examples=60, deadline=None)
@given(st.lists(programs(LIBRARY, max_length=12), min_size=1, max_size=20), st.sampled_from(ROWS))
def test_error_sums_are_those_of_the_predictions(batch: list[Program], rows: int) -> None:
    X, y = table(rows)
    weights = np.random.default_rng(1).uniform(0, 2, rows)
    programs_ = Programs.from_list([*batch, *batch])
    predictions = Evaluator(LIBRARY, X).predict(programs_)
    errors = Evaluator(LIBRARY, X, y, weights).errors(programs_)
    assert errors.ok.tolist() == predictions.ok.tolist()
    assert errors.distinct == len(set(batch))
    with np.errstate(over="ignore"):
        for row in np.flatnonzero(errors.ok):
            residual = y - predictions.values[row]
            squared, absolute = weights @ residual**2, weights @ np.abs(residual)
            assert errors.squared[row] == pytest.approx(squared, rel=1e-12)
            assert errors.absolute[row] == pytest.approx(absolute, rel=1e-12)


def test_cache_threads_and_batch_order_change_nothing() -> None:
    X, y = table(300)
    random = np.random.default_rng(2)
    library = Library(["add", "sub", "mul", "sin", "div", "log", "exp"], ["x", "y", "z"])
    batches = []
    for _ in range(20):
        texts = [f"sin(x*y) + {'z*' * random.integers(0, 9)}x", "x/(y - y)", "log(x)", "exp(x) + z"]
        batches.append(Programs.from_list([Program.parse(t, library) for t in texts]))
    variants = [
        Evaluator(library, X, y, cache=0),
        Evaluator(library, X, y, cache=4),
        Evaluator(library, X, y, threads=3),
    ]
    for batch in batches:
        plain, *others = [each.errors(batch) for each in variants]
        assert plain.ok.tolist() == [True, False, False, True]
        for other in others:
            assert plain.squared[plain.ok].tobytes() == other.squared[plain.ok].tobytes()
            assert plain.absolute[plain.ok].tobytes() == other.absolute[plain.ok].tobytes()
            assert plain.ok.tolist() == other.ok.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "1.0/(1.0/(x - x))",
        "neg_exp(1.0/(x - x)**2)",
        "exp(-1.0/(x - x)**2)",
        "tanh(1.0/(x - x))",
        "pow(log(-1.0 - x*x), x - x)",
        "pow(1.0, 1.0/(x - x))",
        "reciprocal(exp(exp(exp(x*x + 3.0))))",
    ],
)
def test_a_value_that_is_not_finite_cannot_hide(text: str) -> None:
    library = Library([*OPERATORS, "const"], variables=["x"])
    X = np.linspace(1, 2, 20)[:, None]
    program = Program.parse(text, library)
    assert not evaluate(program, X)[1]
    assert not Evaluator(library, X).predict(Programs.from_list([program])).ok[0]


def test_one_bad_row_among_many_is_enough() -> None:
    library = Library(["log", "mul"], variables=["x"])
    program = Programs.from_list([Program.parse("log(x)*x", library)])
    for bad in (0, 19, 255, 256, 4999):
        X = np.ones((5000, 1))
        X[bad] = 0.0
        errors = Evaluator(library, X, np.ones(5000)).errors(program)
        assert not errors.ok[0]


def ulps(found: np.ndarray, exact: list[mpmath.mpf]) -> float:
    worst = 0.0
    for value, truth in zip(found.tolist(), exact, strict=True):
        if not math.isfinite(value):
            continue
        unit = mpmath.mpf(math.ulp(float(truth)))
        worst = max(worst, float(abs(mpmath.mpf(value) - truth) / unit))
    return worst


RANGES = {
    "exp": [(-700, 700), (-1, 1)],
    "log": [(1e-300, 1e300), (0.5, 2), (0.999, 1.001)],
    "sin": [(-10, 10), (-1e5, 1e5), (-1e12, 1e12)],
    "cos": [(-10, 10), (-1e5, 1e5), (-1e12, 1e12)],
    "tan": [(-10, 10), (-1e5, 1e5)],
    "tanh": [(-1, 1), (-25, 25)],
    "neg_exp": [(-700, 700)],
    "sqrt": [(0, 1e300)],
}


@pytest.mark.parametrize("name", RANGES)
def test_functions_are_within_two_units_in_the_last_place(name: str) -> None:
    function = {"neg_exp": lambda a: mpmath.exp(-a)}.get(name) or getattr(mpmath, name)
    library = Library([name], variables=["x"])
    random = np.random.default_rng(3)
    for low, high in RANGES[name]:
        X = random.uniform(low, high, (800, 1))
        if low > 0 and high / low > 1e6:
            X = np.exp(random.uniform(np.log(low), np.log(high), (800, 1)))
        found = Evaluator(library, X).predict(
            Programs.from_list([Program.from_preorder([name, "x"], library)])
        )
        with mpmath.workprec(200):
            exact = [function(mpmath.mpf(x)) for x in X[:, 0].tolist()]
            assert ulps(found.values[0], exact) <= 2.0


def test_pow_is_within_two_units_and_follows_c99() -> None:
    library = Library(["pow"], variables=["x", "y"])
    program = Programs.from_list([Program.from_preorder("pow x y", library)])
    random = np.random.default_rng(4)
    X = np.column_stack([random.uniform(0.01, 50, 800), random.uniform(-40, 40, 800)])
    found = Evaluator(library, X).predict(program).values[0]
    with mpmath.workprec(200):
        exact = [mpmath.mpf(a) ** mpmath.mpf(b) for a, b in X.tolist()]
        assert ulps(found, exact) <= 2.0
    special = np.array([[-2, 3], [-2, 2], [-8, -1], [0, 2], [5, 0], [1, 1e300], [-2, 0.5], [0, -1]])
    found = Evaluator(library, special).predict(program).values[0]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, np.power(special[:, 0], special[:, 1]))
