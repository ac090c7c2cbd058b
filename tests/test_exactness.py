"""What the digits of a table tell: an exact fit, noise, and neither."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from oracle import neighbours
from symseek import Stopped
from symseek.data import Data, Scales
from symseek.model import Formula, Model, full_library
from symseek.programs import Program
from symseek.regression import exactness
from symseek.regression.exactness import Digits, looks_random
from symseek.regression.regression import Regression
from symseek.regression.settings import Settings

Floats = NDArray[np.float64]

X = np.linspace(-3, 3, 60)
WAVE = 3.2 * np.exp(-0.5 * X) * np.sin(2.1 * X)
DRAW = np.random.default_rng(0)


def digits(y: Floats, X: Floats | None = None, scales: Scales | None = None) -> Digits:
    inputs = np.arange(len(y), dtype=float)[:, None] if X is None else X
    return Digits.of(Data(inputs, y, np.ones(len(y))), scales)


# --- digits


@given(st.integers(-6, 8), st.integers(0, 2**32))
@settings(max_examples=60)
def test_rounded_numbers_show_their_last_digit(decimals: int, seed: int) -> None:
    y = np.random.default_rng(seed).normal(0, 10.0 ** (3 - decimals), 40)
    y = np.array([float(f"{each:.{max(decimals, 0)}f}") for each in y])
    step = digits(y).step
    if decimals >= 0:
        assert np.allclose(step, 10.0**-decimals)
    assert (step <= 1.0).all()


def test_significant_digits_are_told_from_decimals() -> None:
    y = np.array([float(f"{each:.5e}") for each in 10.0 ** DRAW.uniform(-5, 5, 50)])
    expected = 10.0 ** (np.floor(np.log10(y)) - 5)
    assert np.allclose(digits(y).step, expected)


def test_full_and_single_precision() -> None:
    y = DRAW.normal(size=50)
    assert not digits(y).step.any()
    single = y.astype(np.float32).astype(np.float64)
    assert np.allclose(digits(single).step, np.abs(single) * 2.0**-23)


def test_digits_go_with_the_units() -> None:
    y = np.round(DRAW.normal(size=20), 3)
    inputs = np.round(DRAW.uniform(1, 2, (20, 1)), 4)
    scaled = digits(y, inputs, Scales(np.array([10.0]), 1000.0))
    assert np.allclose(scaled.step, 1e-6)
    assert np.allclose(scaled.inputs, 1e-5)
    assert scaled.error == pytest.approx(digits(y, inputs).error)


@pytest.mark.parametrize(
    ("column", "measured"),
    [
        ([0.387, 0.723, 1.0, 1.524, 5.203], True),
        ([0.1, 0.2, 0.3, 0.4, 0.5], False),  # a grid
        ([1.0, 2.0, 5.0, 10.0, 20.0], False),  # whole numbers
        ([0.1, 0.2, 0.5, 1.0, 2.0], False),  # one digit: chosen, not measured
        ([0.1234567890123456, 0.3, 0.7, 0.9, 1.1], False),
    ],
)
def test_inputs_that_were_rounded(column: list[float], measured: bool) -> None:
    y = np.array([1.5, 2.25, 3.75, 4.5, 5.25])
    assert digits(y, np.array(column)[:, None]).inputs.any() == measured


def test_the_digits_of_inputs_reach_the_target_through_a_formula() -> None:
    exact = DRAW.uniform(1, 2, (30, 1))
    inputs, y = np.round(exact, 2), np.round(100 * exact[:, 0], 3)
    found = digits(y, inputs)
    program = Program.parse("100.0*x", full_library(["x"]))
    expected = np.hypot(100 * 0.01, 0.001) / np.sqrt(12) / np.std(y)
    assert found.error_of(program, inputs) == pytest.approx(expected, rel=1e-6)


# --- exact or not


def test_a_good_approximation_is_not_exact() -> None:
    found = digits(WAVE)
    assert found.explain(WAVE * 0)
    assert found.explain(1e-15 * DRAW.normal(size=60))
    assert not found.explain(1e-9 * DRAW.normal(size=60))
    assert not found.explain(np.full(60, np.nan))
    rounded = np.round(WAVE, 6)
    assert digits(rounded).explain(rounded - WAVE)
    assert not digits(rounded).explain(rounded - WAVE + 2e-6)


def test_few_digits_prove_nothing() -> None:
    y = np.array([1.0, 2.0, 2.0, 3.0, 3.0, 5.0])
    nearly = np.full(6, 0.3)
    assert digits(y).explain(nearly)
    assert not digits(y).prove(nearly, 12, 3, 12)
    assert digits(y).prove(np.zeros(6), 12, 3, 12)  # to the last bit: that is another matter
    assert not digits(y).prove(np.zeros(6), 12, 6, 12)  # unless the constants are as many


def test_a_search_goes_on_until_the_last_digits() -> None:
    """An approximation with an error of 1e-8 does not end it, and is not called exact."""
    found = Regression(X[:, None], np.sinh(X), ["x"], Settings(max_expressions=100_000))
    result = found.run()
    best = found.model().best
    assert best.exact == (result.stopped is Stopped.EXACT) == (best.nrmse < 1e-14)
    assert all(each.nrmse < 1e-14 for each in found.model().formulas if each.exact)


def test_a_target_with_six_digits_is_met_to_six() -> None:
    found = Regression(X[:, None], np.round(WAVE, 6), ["x"], Settings(max_expressions=300_000))
    assert found.run().stopped is Stopped.EXACT
    model = found.model()
    assert model.best.exact
    assert model.formulas[-1] is model.best
    assert sorted(np.abs(model.best.program.constants)) == [0.5, 2.1, 3.2]


def test_whole_numbers_are_exact_only_to_the_last_bit() -> None:
    x = np.arange(1.0, 13)
    found = Regression(x[:, None], x**2 + 1, ["x"], Settings(max_expressions=20_000))
    assert found.run().stopped is Stopped.EXACT
    assert found.model().best.text == "x**2 + 1"


# --- noise or not


@pytest.mark.parametrize("rows", [8, 20, 300])
@pytest.mark.parametrize("columns", [1, 3, 9])
def test_noise_looks_random(rows: int, columns: int) -> None:
    rng = np.random.default_rng([rows, columns])
    noise = ((rng.normal(size=rows), rng.normal(size=(rows, columns))) for _ in range(300))
    assert sum(looks_random(*each) for each in noise) >= 292


@pytest.mark.parametrize("rows", [16, 50, 3_000])
def test_a_curve_does_not(rows: int) -> None:
    x = np.linspace(-1, 1, rows)
    assert not looks_random(x**3 - 0.6 * x, x[:, None])
    inputs = DRAW.uniform(-1, 1, (rows * 4, 2))
    assert not looks_random(np.sin(3 * inputs[:, 0] * inputs[:, 1]) ** 2, inputs)


LINE = np.linspace(-1, 1, 50)


def without_the_right_operators(y: Floats, method: str) -> Regression:
    """A search that can find no more than a line."""
    chosen = Settings(
        operators=("add", "sub"), max_expressions=120_000, patience=2_000, method=method
    )
    return Regression(LINE[:, None], y, ["x"], chosen)


def test_patience_is_for_noise() -> None:
    """A curve that is not found yet is searched for until the budget is spent."""
    curve = without_the_right_operators(LINE + LINE**3, "hybrid")
    assert curve.run().stopped is Stopped.BUDGET
    assert curve.search.state.begun > 0  # it began anew
    noisy = without_the_right_operators(2 * LINE + 0.3 * DRAW.normal(size=50), "hybrid")
    result = noisy.run()
    assert result.stopped is Stopped.EARLY
    assert 12_000 <= result.expressions < 120_000  # a tenth of the budget at least


def test_beginning_anew_survives_a_stop() -> None:
    whole, stopped = (without_the_right_operators(LINE + LINE**3, "dsr") for _ in range(2))
    whole.run()
    for _ in range(30):
        stopped.run(lambda now: True)
    assert stopped.search.state.begun > 0
    stopped.run()
    assert stopped.model() == whole.model()
    assert np.array_equal(stopped.search.state.weights, whole.search.state.weights)


# --- what a person reads


def test_the_table_says_exact_and_not_proven_exact() -> None:
    library = full_library(["x"])
    program = Program.parse("2.0*x", library)
    exact = Formula(program, "2*x", 1.0, 1e-16, 1.0, exact=True)
    close = Formula(program, "2*x", 1.0, 1e-9, 1.0)
    model = Model("y", ("x",), (exact,), 0)
    assert " exact " in str(model)
    assert model.doubt == ""
    model = Model("y", ("x",), (close,), 0)
    assert str(model).endswith(model.doubt)
    assert "Row 0 is not proven exact" in model.doubt
    assert Model("y", ("x",), (Formula(program, "2*x", 0.9, 0.1, 0.9),), 0).doubt == ""


def test_files_keep_what_is_exact() -> None:
    program = Program.parse("2.0*x", full_library(["x"]))
    formula = Formula(program, "2*x", 1.0, 1e-16, 1.0, exact=True)
    model = Model("y", ("x",), (formula,), 0)
    record = model.to_dict()
    assert Model.from_dict(record) == model
    del record["formulas"][0]["exact"]  # as older files
    assert not Model.from_dict(record).best.exact
    assert model.frame()["exact"].tolist() == [True]


@given(st.integers(2, 40), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_neighbours_are_those_found_one_by_one(rows: int, columns: int, seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(rows, columns))
    assert exactness._nearest(X).tolist() == neighbours.nearest(X)
