"""Rewards against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from refusals import refused
from symseek import FitConfig, InputError, Library, Search, SearchConfig, fit_constants
from symseek.data import Data
from symseek.engines.interface import engine_named
from symseek.evaluation import data_grader
from symseek.programs import Program, Programs
from symseek.rewards import REWARDS, PredictionReward, reward_named

ENGINE = engine_named("native")
LIBRARY = Library(["add", "mul", "sin", "log", "exp"], variables=["x"])
TEXTS = ["x + x", "sin(x)*x", "log(x)", "exp(exp(exp(x*x)))", "x + x"]


def graded(reward: object, weights: object = None) -> tuple[Data, Programs, np.ndarray, np.ndarray]:
    X = np.linspace(-2, 3, 20)[:, None]
    y = X[:, 0] ** 2 - 1
    data = Data.checked(X, y, LIBRARY.variables, weights)
    programs = Programs.from_list([Program.parse(text, LIBRARY) for text in TEXTS])
    out = data_grader(LIBRARY, data, reward_named(reward), ENGINE)(programs)  # type: ignore[arg-type]
    assert out.distinct == 4
    return data, programs, out.rewards, out.ok


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", sorted(REWARDS))
def test_named_rewards(name: str, weighted: bool) -> None:
    weights = np.random.default_rng(1).uniform(0, 2, 20) if weighted else None
    data, programs, rewards, ok = graded(name, weights)
    assert ok.tolist() == [True, True, False, False, True]
    assert rewards[2] == rewards[3] == 0.0
    w = np.ones(20) if weights is None else weights
    mean_y = np.average(data.y, weights=w)
    variance = np.average((data.y - mean_y) ** 2, weights=w)
    for row in np.flatnonzero(ok):
        f = programs[int(row)].evaluate(data.X)
        mse = np.average((data.y - f) ** 2, weights=w)
        mae = np.average(np.abs(data.y - f), weights=w)
        expected = {
            "inverse_nrmse": 1 / (1 + np.sqrt(mse / variance)),
            "inverse_nmse": 1 / (1 + mse / variance),
            "inverse_mse": 1 / (1 + mse),
            "inverse_mae": 1 / (1 + mae),
            "r2": max(0.0, 1 - mse / variance),
        }[name]
        assert rewards[row] == pytest.approx(expected, rel=1e-12)


def test_a_function_of_predictions_sees_valid_programs_only() -> None:
    seen = []

    def negative_worst(y: np.ndarray, predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
        seen.append(predictions.shape)
        return -np.abs(y - predictions).max(axis=1)

    data, programs, rewards, ok = graded(negative_worst)
    assert seen == [(2, 20)]  # duplicates and invalid programs are left out
    assert ok.tolist() == [True, True, False, False, True]
    expected = -np.abs(data.y - programs[0].evaluate(data.X)).max()
    assert rewards[0] == rewards[4] == pytest.approx(expected)


def test_nan_from_a_function_marks_a_program_invalid() -> None:
    reward = PredictionReward(lambda y, p, w: np.where(np.arange(len(p)) == 0, np.nan, 1.0))
    _, _, rewards, ok = graded(reward)
    assert ok.tolist() == [False, True, False, False, False]
    assert rewards.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, p, w: np.ones(len(p) + 1), "shape"),
        (lambda y, p, w: np.full(len(p), np.inf), "infinite"),
    ],
)
def test_bad_functions_are_refused(function: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        graded(function)


def test_unknown_reward_is_refused_with_the_nearest_name() -> None:
    with refused("reward", value="inverse_nrms", wanted="did you mean 'inverse_nrmse'?"):
        reward_named("inverse_nrms")


def test_an_error_that_overflows_is_infinitely_bad_not_nan() -> None:
    X = np.linspace(1, 350, 20)[:, None]
    data = Data.checked(X, X[:, 0], LIBRARY.variables)
    programs = Programs.from_list([Program.parse("exp(x + x)", LIBRARY)])
    out = data_grader(LIBRARY, data, reward_named("inverse_nrmse"), ENGINE)(programs)
    assert out.rewards.tolist() == [0.0]


def test_weights_steer_the_search_away_from_rows_that_weigh_nothing() -> None:
    X = np.linspace(-1, 1, 21)[:, None]
    y = X[:, 0] ** 2 + X[:, 0]
    y[5] = 1e6  # an outlier
    weights = np.ones(21)
    weights[5] = 0.0
    config = SearchConfig(stop_reward=1 - 1e-9, max_expressions=200_000)
    best = Search(LIBRARY, X, y, config, weights=weights, seed=0).run().best
    assert best is not None
    assert best.reward > 1 - 1e-9


FITTED = Library(["add", "mul", "sub", "log", "neg", "const"], variables=["x"])


def with_constants(*texts: str) -> Programs:
    return Programs.from_list([Program.parse(text, FITTED) for text in texts], FITTED)


def largest_error(y: np.ndarray, predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return -np.abs(y - predictions).max(axis=1)


def test_constants_are_fitted_to_the_mean_absolute_error() -> None:
    x = np.linspace(0, 3, 31)
    y = 2.5 * x + 1.3
    y[::7] += 100.0  # outliers, which the absolute error does not follow
    batch = with_constants("1.0*x + 1.0", "log(-(x*x))", "1.0*x + 1.0", "x")
    found = fit_constants(batch, x, y, FitConfig(max_steps=500), reward="inverse_mae")
    np.testing.assert_allclose(found.programs.constants[[0, 2]], [[2.5, 1.3]] * 2, rtol=1e-6)
    invalid = "invalid wherever it was tried"
    assert found.messages == ["converged", invalid, "converged", "converged"]
    assert found.ok.tolist() == [True, False, True, True]
    assert found.distinct == 3
    for row in (0, 3):
        error = np.abs(y - found.programs[row].evaluate(x[:, None])).mean()
        assert found.rewards[row] == pytest.approx(1 / (1 + error))


def test_constants_are_fitted_to_any_function_of_predictions() -> None:
    x = np.linspace(0, 1, 101)
    found = fit_constants(with_constants("1.0*x + 1.0"), x, x * x, reward=largest_error)
    # Of all lines, x - 1/8 has the least largest distance from x^2 on [0, 1]: it lies half-way
    # between the chord x and the tangent x - 1/4.
    np.testing.assert_allclose(found.programs.constants, [[1.0, -0.125]], atol=1e-3)
    assert found.rewards[0] == pytest.approx(-0.125, abs=1e-4)


def test_a_start_is_kept_where_the_guess_by_least_squares_is_invalid() -> None:
    x = np.linspace(1, 2, 20)

    def gentle(y: np.ndarray, predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
        slope = predictions[:, -1] / x[-1]
        return np.where(slope > 2, np.nan, slope)

    config = FitConfig(restarts=0, rescue=False)
    found = fit_constants(with_constants("1.0*x"), x, 3 * x, config, reward=gentle)
    assert found.ok[0]
    assert 1.999 < found.rewards[0] <= 2.0


@pytest.mark.parametrize("reward", ["inverse_nrmse", "inverse_mae", largest_error])
def test_no_programs_at_all_can_be_fitted(reward: object) -> None:
    x = np.linspace(1, 2, 20)
    assert len(fit_constants(with_constants(), x, x, reward=reward).rewards) == 0  # type: ignore[arg-type]
