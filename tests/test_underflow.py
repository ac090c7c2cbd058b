"""Underflow as invalid, an option: the native evaluator against NumPy's floating-point flags."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import numpy as np
import pytest
from hypothesis import given

from engine_helpers import Policy, evaluator
from examples import examples
from oracle.evaluate import FORMULAS, evaluate, evaluate_strictly
from strategies import programs
from symseek import (
    ConstraintSet,
    FitConfig,
    FitStatus,
    Length,
    Library,
    PolicyConfig,
    Program,
    Programs,
    Search,
    SearchConfig,
)
from symseek.constants import FIT_METHODS
from symseek.data import Data
from symseek.engines.interface import engine_named
from symseek.evaluation import data_grader
from symseek.rewards import reward_named
from symseek.tokens import OPERATORS

SMALLEST = 2.2250738585072014e-308  # normal number

# Without atan2: whether NumPy raises a flag for it depends on the machine.
NAMES = ["add", "sub", "mul", "div", "pow", "sin", "cos", "exp", "log", "sqrt", "square", "cube"]
NAMES += ["fourth", "reciprocal", "neg_exp", "tanh", "min", "hypot", "gauss", "logistic"]
NAMES += [name for name, token in OPERATORS.items() if token.protects is not None]
LIBRARY = Library([*NAMES, "1", "2.5", "const"], ["x", "y", "z"])

_random = np.random.default_rng(0)
TABLE = np.stack(  # near 1, far below 1, and either sign far above
    [
        _random.uniform(-2, 2, 40),
        10.0 ** _random.uniform(-170, -5, 40),
        _random.choice([-1, 1], 40) * 10.0 ** _random.uniform(1, 160, 40),
    ],
    axis=1,
)


def subnormal_somewhere(program: Program, X: np.ndarray) -> bool:
    """Whether a node is below the smallest normal number without being 0.

    There NumPy raises a flag only if the value is rounded too, which the engine does not look at.
    """
    seen = [np.array(program.constants)]

    def noted(name: str) -> Callable[..., np.ndarray]:
        formula = FORMULAS[name]

        def function(*arguments: np.ndarray) -> np.ndarray:
            seen.append(formula(*arguments))
            return seen[-1]

        return function

    with mock.patch.dict(FORMULAS, {name: noted(name) for name in FORMULAS}):
        evaluate(program, X)
    return any(((np.abs(each) > 0) & (np.abs(each) < SMALLEST)).any() for each in seen)


def check(program: Program, X: np.ndarray) -> None:
    batch = Programs.from_list([program])
    strict = evaluator(program.library, X, underflow_invalid=True).predict(batch)
    plain = evaluator(program.library, X).predict(batch)
    np.testing.assert_array_equal(strict.values, plain.values)
    assert not (strict.ok & ~plain.ok).any()
    if bool(plain.ok[0]) != evaluate(program, X)[1]:  # the last bits decide
        return
    expected = evaluate_strictly(program, X)[1]
    if bool(strict.ok[0]) != expected:
        assert expected
        assert subnormal_somewhere(program, X)


@pytest.mark.slow
@examples(400)
@given(programs(LIBRARY, max_length=12))
def test_underflow_is_numpys(program: Program) -> None:
    for rows in (TABLE[:1], TABLE[:9], TABLE):
        check(program, rows)


def test_the_programs_compared_are_of_both_kinds() -> None:
    """Otherwise the test above would say little."""
    rules = ConstraintSet(LIBRARY, [Length(1, 12)])
    batch = Policy(rules, PolicyConfig(hidden=8)).sample(1500, 0).programs
    strict = evaluator(LIBRARY, TABLE[:9], underflow_invalid=True).predict(batch).ok
    plain = evaluator(LIBRARY, TABLE[:9]).predict(batch).ok
    assert (plain & ~strict).sum() > 50
    assert strict.sum() > 50
    for row in range(300):
        check(batch[row], TABLE)


@pytest.mark.parametrize(
    ("text", "x", "valid"),
    [
        ("exp(x)", -708.0, True),
        ("exp(x)", -708.5, False),
        ("exp(x)", -800.0, False),
        ("neg_exp(x)", 740.0, False),
        ("gauss(x)", 30.0, False),
        ("gauss(x)", 26.0, True),
        ("logistic(x)", 800.0, False),
        ("x*x", 1e-200, False),
        ("x*x", 0.0, True),
        ("x*(x - x)", 1e-200, True),
        ("square(x)", 1e-160, False),
        ("cube(x)", 1e-103, False),
        ("fourth(x)", 1e-81, False),
        ("fourth(x)", 0.0, True),
        ("x/1e200", 1e-200, False),
        ("(x - x)/1e200", 1e-200, True),
        ("reciprocal(x)", 1.7e308, False),
        ("x**2.5", 1e-200, False),
        ("0.5**x", 2000.0, False),
        ("x**2.5", 0.0, True),
        ("atan2(x, 1e300)", 1e-300, False),
        ("atan2(x, -1e300)", 1e-300, True),
        ("x + 1e-308", -1.5e-308, True),
        ("sin(x) - log(x + 1)", 1e-300, True),
        ("protected_exp(x)", -800.0, False),
        ("protected_exp(x)", 800.0, True),
        ("protected_div(x, 1e200)", 1e-200, False),
        ("protected_div(x, 0.0)", 1e-200, True),
        ("protected_square(x)", 1e-200, False),
        ("protected_square(x)", 1e200, True),
        ("protected_reciprocal(x)", 1e-200, True),
    ],
)
def test_what_underflows(text: str, x: float, valid: bool) -> None:
    library = Library([*OPERATORS, "const"], ["x"])
    batch = Programs.from_list([Program.parse(text, library)])
    X = np.full((11, 1), 1.0)
    X[7] = x
    y = np.zeros(11)
    assert evaluator(library, X, y, underflow_invalid=True).errors(batch).ok[0] == valid
    assert evaluator(library, X, y).errors(batch).ok[0]
    assert evaluate_strictly(batch[0], X)[1] == valid or "atan2" in text


def test_rows_of_any_number_and_threads_agree() -> None:
    library = Library(["mul", "exp"], ["x"])
    batch = Programs.from_list([Program.parse(text, library) for text in ("exp(x)*x", "x*x")])
    for at in (0, 255, 256, 4999):
        X = np.ones((5000, 1))
        X[at] = -800.0
        for threads in (1, 2):
            on = evaluator(library, X, np.ones(5000), threads=threads, underflow_invalid=True)
            assert on.errors(batch).ok.tolist() == [False, True]


@pytest.mark.parametrize("method", FIT_METHODS)
def test_a_fit_is_judged_by_its_last_constants(method: str) -> None:
    library = Library(["mul", "exp", "const"], ["x"])
    batch = Programs.from_list([Program.parse("exp(const*x)", library)])
    x = np.array([1.0, 2.0, 3.0, 1000.0])[:, None]
    y = np.exp(-x[:, 0])
    config = FitConfig(method=method, rescue=True)
    for strict in (False, True):
        fitted = evaluator(library, x, y, underflow_invalid=strict).fit(batch, config, 1.0, 0.5)
        if strict:
            assert not fitted.errors.ok[0]
            assert FitStatus(fitted.status[0]) is FitStatus.INVALID
        else:
            assert fitted.programs.constants[0, 0] == pytest.approx(-1.0, rel=1e-3)
            assert fitted.errors.ok[0]


def test_a_search_takes_the_setting() -> None:
    library = Library(["add", "mul", "sub", "exp", "div"], ["x"])
    x = np.linspace(-30, -20, 20)[:, None]
    y = x[:, 0] ** 2
    counts = []
    for strict in (False, True):
        config = SearchConfig(max_expressions=2_000, underflow_invalid=strict)
        search = Search(library, x, y, config, seed=0)
        programs = search.policy.sample(search.state.weights, 0, 0, 1000).programs
        counts.append(int(search.grader(programs).ok.sum()))
        search.run()
    assert counts[1] < counts[0]


def test_custom_rewards_see_it_too() -> None:
    library = Library(["exp"], ["x"])
    batch = Programs.from_list([Program.parse("exp(x)", library)])
    data = Data.checked(np.array([[1.0], [-800.0]]), np.array([1.0, 0.0]), ["x"], None)
    reward = reward_named(lambda y, values, weights: 1 / (1 + np.abs(values - y).max(axis=1)))
    for strict in (False, True):
        grader = data_grader(library, data, reward, engine_named("native"), None, strict)
        assert grader(batch).ok.tolist() == [not strict]
