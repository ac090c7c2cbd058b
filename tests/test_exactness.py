"""What the digits of a table tell: an exact fit, noise, and neither."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from oracle import neighbours
from oracle.waves import waves
from symseek import Stopped
from symseek.arrays import Floats
from symseek.data import Data, Scales
from symseek.model import Formula, Model, full_library
from symseek.programs import Program
from symseek.regression.regression import Regression
from symseek.selection import noise
from symseek.selection.exactness import Digits
from symseek.selection.noise import looks_random
from symseek.settings import Settings

X = np.linspace(-3, 3, 60)
WAVE = 3.2 * np.exp(-0.5 * X) * np.sin(2.1 * X)
DRAW = np.random.default_rng(0)


def digits(y: Floats, X: Floats | None = None, scales: Scales | None = None) -> Digits:
    inputs = np.arange(len(y), dtype=float)[:, None] if X is None else X
    return Digits.of(Data(inputs, y, np.ones(len(y))), scales)


# --- digits


@given(st.integers(-6, 8), st.integers(0, 2**32))
@examples(60)
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
    assert not digits(y).beyond_chance(nearly, 12, 3, 12)
    # To the last bit: that is another matter.
    assert digits(y).beyond_chance(np.zeros(6), 12, 3, 12)
    assert not digits(y).beyond_chance(np.zeros(6), 12, 6, 12)  # unless the constants are as many


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


@pytest.mark.parametrize("repeats", [2, 20])
def test_noise_in_rows_with_equal_inputs_looks_random(repeats: int) -> None:
    """The rows of a table come sorted, those with equal inputs by the target."""
    rng, x = np.random.default_rng(repeats), np.repeat(np.arange(10.0), repeats)
    tables = [Data(x[:, None], rng.normal(size=len(x)), np.ones(len(x))) for _ in range(100)]
    merged = [each.merged() for each in tables]
    assert sum(looks_random(each.y, each.X, weights=each.weights) for each in merged) >= 97


def test_counts_with_noise_look_random() -> None:
    """Equal rows are one row with a weight: its residual counts as often."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(100):
        x = rng.integers(0, 10, 600).astype(float)
        data = Data(x[:, None], rng.poisson(5 + x).astype(float), np.ones(600)).merged()
        alarms += not looks_random(data.y - 5 - data.X[:, 0], data.X, weights=data.weights)
    assert alarms <= 3


@pytest.mark.parametrize("shape", ["skewed", "outliers", "growing"])
def test_other_noise_looks_random_too(shape: str) -> None:
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(200):
        X = rng.uniform(1, 2, (100, 2))
        noise = {
            "skewed": rng.exponential(size=100) - 1,
            "outliers": rng.standard_cauchy(100),
            "growing": rng.normal(size=100) * X[:, 0] ** 4,
        }[shape]
        alarms += not looks_random(noise, X)
    assert alarms <= 6


def test_a_slow_wave_far_below_the_noise_does_not() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        X = rng.uniform(-1, 1, (1_000, 2))
        noise = rng.normal(size=1_000)
        assert looks_random(noise, X)
        assert not looks_random(noise + 0.5 * np.sin(4 * X[:, 1]), X)  # an eighth of the noise
        assert not looks_random(noise + X[:, 0] * X[:, 1], X)


def test_residuals_on_one_side_of_zero_do_not() -> None:
    rng = np.random.default_rng(3)
    X, noise = rng.uniform(-1, 1, (40, 1)), rng.normal(size=40)
    assert looks_random(noise, X)
    assert not looks_random(noise + 1, X)


def test_nothing_and_too_few_rows_look_random() -> None:
    x = np.linspace(0, 1, 30)
    assert looks_random(np.zeros(30), x[:, None])
    assert looks_random(x[:7] ** 2, x[:7, None])
    assert not looks_random(np.where(x > 0.9, np.inf, 0.0), x[:, None])
    for size in (1e-300, 1e300):
        assert not looks_random(size * (x - 0.5), x[:, None])


@given(
    rows=st.integers(8, 30),
    columns=st.integers(1, 4),
    seed=st.integers(0, 2**32),
    ties=st.booleans(),
)
def test_waves_are_those_of_one_sum_after_another(
    rows: int, columns: int, seed: int, ties: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = (
        rng.integers(0, 4, (rows, columns)).astype(float)
        if ties
        else rng.normal(size=(rows, columns))
    )
    residuals, weights = rng.normal(size=rows), rng.uniform(0.5, 2, rows)
    inputs = noise.Inputs(X)
    found = noise._waves(residuals[inputs.some], inputs, weights[inputs.some])
    wanted = waves(residuals, X, weights)
    assert np.allclose(np.sort(found), np.sort(wanted), atol=1e-9)


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
    assert curve.search.state.restarted_at > 0  # it began anew
    noisy = without_the_right_operators(2 * LINE + 0.3 * DRAW.normal(size=50), "hybrid")
    result = noisy.run()
    assert result.stopped is Stopped.EARLY
    assert 2_000 <= result.expressions < 60_000


@pytest.mark.slow
def test_beginning_anew_survives_a_stop() -> None:
    whole, stopped = (without_the_right_operators(LINE + LINE**3, "dsr") for _ in range(2))
    whole.run()
    for _ in range(30):
        stopped.run(lambda now: True)
    assert stopped.search.state.restarted_at > 0
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
    inputs = noise.Inputs(X)
    assert inputs.nearest.tolist() == neighbours.nearest(X[inputs.some])
