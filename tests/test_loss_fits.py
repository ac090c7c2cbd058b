"""Whole fits by a loss, and with errors of measurement: what is found, shown, kept and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from symseek import InputError, Library, Program, Programs, SymbolicRegressor, fit_constants
from symseek.algebra.numbers import is_neat
from symseek.command import main
from symseek.data import Data
from symseek.losses import LOSSES, Loss
from symseek.model import Model, full_library
from symseek.regression.regression import Regression
from symseek.rewards import LossReward, reward_asked, reward_named, with_sigma
from symseek.selection.leftover import leftover, working
from symseek.selection.likelihood import Likelihood
from symseek.selection.measure import Measure
from symseek.selection.noise import looks_random
from symseek.selection.residual_tests import chi_squared_test
from symseek.settings import Settings
from symseek.uncertainty.numbers import judged

DRAW = np.random.default_rng(0)
ROWS = 400
X = DRAW.uniform(0, 4, (ROWS, 1))
LINE = 2.5 * X[:, 0] + 1
FAULTY = LINE + DRAW.normal(0, 0.1, ROWS)
FAULTY[::7] += 20
UNEVEN = LINE + (1 + X[:, 0]) * DRAW.normal(0, 0.5, ROWS)
COUNTS = DRAW.poisson(40 * np.exp(-0.8 * X[:, 0])).astype(float)
CLASSES = (DRAW.random(ROWS) < 1 / (1 + np.exp(4 - 2 * X[:, 0]))).astype(float)
SIGMA = DRAW.uniform(0.05, 2, ROWS)
MEASURED = LINE + np.sin(3 * X[:, 0]) + SIGMA * DRAW.normal(size=ROWS)


def fitted(loss: Any, y: np.ndarray, sigma: np.ndarray | None = None, **more: Any) -> Regression:
    given = {"operators": ["add", "mul", "exp"], "max_expressions": 6_000, "max_seconds": None}
    regression = Regression(X, y, ["x"], Settings(**{**given, "loss": loss, **more}), sigma=sigma)
    regression.run()
    return regression


def at(model: Model, *places: float) -> np.ndarray:
    return model.predict(np.array(places)[:, None])


@pytest.mark.parametrize("loss", ["absolute", "huber:0.3", "log-cosh:0.3"])
def test_rows_that_are_far_off_do_not_matter(loss: str) -> None:
    model = fitted(loss, FAULTY).model()
    assert at(model, 0.0, 4.0) == pytest.approx([1, 11], abs=0.1)
    assert len(model.best.program) == 5


def test_a_quantile_has_its_share_of_the_rows_below() -> None:
    model = fitted("quantile:0.9", UNEVEN).model()
    below = model.predict(X) > UNEVEN
    assert 0.88 <= below.mean() <= 0.92
    wanted = 1 + 0.5 * scipy.stats.norm.ppf(0.9)
    assert at(model, 0.5, 3.5) == pytest.approx([2.25 + 0.96, 9.75 + 2.88], abs=0.6)
    assert wanted > 1


def test_the_rate_of_counts_is_found() -> None:
    model = fitted("poisson", COUNTS).model()
    rates = 40 * np.exp(-0.8 * X[:, 0])
    assert model.predict(X) == pytest.approx(rates, rel=0.15)
    assert (model.predict(X) > 0).all()


def test_the_odds_of_classes_are_found() -> None:
    regression = fitted("logistic", CLASSES, operators=["add", "mul"])
    model = regression.model()
    assert at(model, 2.0)[0] == pytest.approx(0, abs=0.5)
    right = (model.predict(X) > 0) == (CLASSES > 0)
    assert right.mean() > 0.85
    assert "odds" in str(regression.structure)
    chances = 1 / (1 + np.exp(-model.predict(X)))
    off = np.sqrt(np.mean((chances - CLASSES) ** 2))
    assert model.rmse() == pytest.approx(off)


def test_known_errors_weigh_rows_and_end_a_search() -> None:
    more = {"operators": ["add", "mul", "sin"], "max_expressions": 20_000}
    regression = fitted("squared", MEASURED, SIGMA, **more)
    model = regression.model()
    assert at(model, 0.5, 1.5, 3.0) == pytest.approx(
        [2.25 + np.sin(1.5), 4.75 + np.sin(4.5), 8.5 + np.sin(9)], abs=0.1
    )
    law = Program.parse("2.5*x + 1.0 + sin(3.0*x)", full_library(["x"]))
    measure = regression.measure
    chi_squared = float(np.sum(((MEASURED - law.evaluate(X)) / SIGMA) ** 2))
    deviance = measure.likelihood.deviance
    assert deviance is not None
    assert deviance * measure.error(law) ** 2 == pytest.approx(chi_squared)
    assert measure.leaves_noise(law)
    # The same scatter is too much where errors are said to be half of what they are.
    half = Regression(X, MEASURED, ["x"], Settings(), sigma=SIGMA / 2).measure
    assert not half.leaves_noise(law)
    plain = Regression(X, MEASURED, ["x"], Settings()).measure
    assert looks_random(plain.residuals(law), plain.inputs)


def test_errors_of_numbers_follow_from_known_errors() -> None:
    """And not from how far off the rows happen to be."""
    y = LINE + 0.3 * SIGMA * DRAW.normal(size=ROWS)
    line = Program.parse("2.5*x + 1.0", full_library(["x"]))
    start = Programs.from_list([line])
    law = fit_constants(start, X, y, sigma=SIGMA).programs[0]
    data = with_sigma(Data.checked(X, y, ["x"], sigma=SIGMA), reward_named("inverse_nrmse"))
    (found,) = judged([law], [law], data)
    A = np.column_stack([X[:, 0], np.ones(ROWS)]) / SIGMA[:, None]
    wanted = np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
    assert [each.standard_error for each in found.constants] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("loss", ["absolute", "huber:1", "log-cosh:1", "quantile:0.5"])
def test_known_errors_go_with_losses_of_residuals(loss: str) -> None:
    y = LINE + SIGMA * DRAW.normal(size=ROWS)
    model = fitted(loss, y, SIGMA).model()
    assert at(model, 0.0, 4.0) == pytest.approx([1, 11], abs=0.25)
    formula = model.best
    means = np.average(
        Loss.read(loss).values(y, model.predict(X), SIGMA), weights=Loss.read(loss).weights(SIGMA)
    )
    assert formula.loss == pytest.approx(means)


def test_any_function_may_be_a_loss() -> None:
    seen = []

    def fourth(y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        seen.append(predictions.shape)
        return np.abs(y - predictions) ** 1.5

    y = LINE + DRAW.normal(0, 0.1, ROWS)
    model = fitted(fourth, y, operators=["add", "mul"], max_expressions=1_500).model()
    assert at(model, 0.0, 4.0) == pytest.approx([1, 11], abs=0.15)
    best = model.best
    assert best.loss == pytest.approx(float(np.mean(np.abs(y - model.predict(X)) ** 1.5)))
    assert all(len(shape) == 2 for shape in seen)
    assert "loss" in str(model).split("\n")[0]


@pytest.mark.parametrize("loss", ["absolute", "huber:0.3", "poisson", "logistic", "relative"])
def test_a_table_shows_the_loss_and_json_keeps_it(loss: str) -> None:
    y = {"poisson": COUNTS, "logistic": CLASSES}.get(loss, FAULTY)
    model = fitted(loss, y, max_expressions=2_000).model()
    assert f"  {loss}  y =" in str(model).split("\n")[0]
    losses = [each.loss for each in model.formulas]
    assert losses == sorted(losses, reverse=True)
    for formula in model.formulas:
        values = formula.program.evaluate(X)
        assert formula.loss == pytest.approx(Loss.read(loss).values(y, values).mean())
    assert Model.from_dict(model.to_dict()) == model
    assert model.frame()["loss"].tolist() == losses


def test_all_rows_of_a_large_table_are_fitted_by_the_loss() -> None:
    rows = 12_000
    draw = np.random.default_rng(1)
    x = draw.uniform(0, 4, (rows, 1))
    y = 2.5 * x[:, 0] + 1 + draw.normal(0, 0.1, rows)
    y[::5] += 20
    settings = Settings(
        operators=["add", "mul"], loss="absolute", max_expressions=3_000, max_seconds=None
    )
    regression = Regression(x, y, ["x"], settings)
    regression.run()
    line = next(each for each in regression.model().formulas if len(each.program) == 5)
    best = np.abs(y - line.program.evaluate(x)).sum()
    free = [k for k, value in enumerate(line.program.constants) if not is_neat(value)]
    assert free
    for k in free:
        for step in (1e-4, -1e-4):
            moved = np.array(line.program.constants)
            moved[k] += step
            there = Program(line.program.library, line.program.tokens, tuple(moved.tolist()))
            assert np.abs(y - there.evaluate(x)).sum() >= best


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in ("absolute", "quantile")])
def test_least_squares_of_the_working_target_are_the_numbers_of_the_loss(name: str) -> None:
    y = {"poisson": COUNTS, "logistic": CLASSES}.get(name, UNEVEN + 8)
    text = "30.0*exp(-0.7*x)" if name == "poisson" else "2.0*x + 1.0"
    start = Programs.from_list([Program.parse(text, full_library(["x"]))])
    loss = Loss(name)
    reward = LossReward(loss) if name != "squared" else reward_named("inverse_nrmse")
    law = fit_constants(start, X, y, reward=reward).programs
    data = Data(X, y, np.ones(ROWS))
    target, weights = working(loss, law[0].evaluate(X), data)
    again = fit_constants(law, X, target, weights=weights).programs
    np.testing.assert_allclose(again.constants, law.constants, rtol=1e-4, atol=1e-4)


def test_numbers_are_neat_by_the_loss_too() -> None:
    y = LINE + np.sin(3 * X[:, 0]) + DRAW.normal(0, 0.05, ROWS)
    y[::7] += 20
    model = fitted("huber:0.2", y, operators=["add", "mul", "sin"], max_expressions=15_000).model()
    assert "sin(3*x)" in model.best.text


# --- likelihoods


@pytest.mark.parametrize("name", ["squared", "absolute", "quantile", "relative"])
def test_a_scale_that_is_not_known_costs_the_logarithm_of_the_error(name: str) -> None:
    data = Data(X, FAULTY, np.ones(ROWS))
    reward = reward_asked(name, "inverse_nrmse")
    likelihood = Likelihood.of(reward, data, 1.0)
    found = likelihood.misfit(0.5, 0) - likelihood.misfit(1.0, 0)
    assert found == pytest.approx(ROWS * np.log(0.5))


@pytest.mark.parametrize("mean", [0.01, 1.0, 30.0])
def test_hubers_likelihood_is_that_of_its_density(mean: float) -> None:
    """And log-cosh's: minus the logarithm of the density, at the likeliest scale."""
    import scipy.integrate
    import scipy.optimize

    for name in ("huber", "log_cosh"):
        loss = Loss(name, 0.7)

        def cost(log_scale: float, loss: Loss = loss) -> float:
            scale = np.exp(log_scale)

            def density(r: float) -> float:
                value = loss.values(np.array([r]), np.zeros(1))[0]
                return float(np.exp(-value / (2 * scale**2)))

            whole = 2 * scipy.integrate.quad(density, 0, 60 * (scale + scale**2), limit=500)[0]
            return float(np.log(whole) + mean / (2 * scale**2))

        wanted = scipy.optimize.minimize_scalar(cost, bounds=(-4, 6)).fun
        base = Likelihood(loss, ROWS, mean)
        assert base._shaped(mean) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("name", ["poisson", "logistic"])
def test_counts_and_classes_cost_minus_their_log_likelihood(name: str) -> None:
    y = COUNTS if name == "poisson" else CLASSES
    data, loss = Data(X, y, np.ones(ROWS)), Loss(name)
    measure = Measure(data, LossReward(loss), Library(["add", "const"], ["x"]))
    values = np.full((2, ROWS), 1.0) + np.array([[0.5], [0.0]]) * X[:, 0]
    if name == "poisson":
        wanted = [-scipy.stats.poisson.logpmf(y, each).sum() for each in values]
    else:
        wanted = [
            -scipy.stats.bernoulli.logpmf(y, 1 / (1 + np.exp(-each))).sum() for each in values
        ]
    programs = [Program.parse(each, full_library(["x"])) for each in ("0.5*x + 1.0", "1.0")]
    found = [measure.likelihood.misfit(measure.error(each), 0) for each in programs]
    assert found[0] - found[1] == pytest.approx(wanted[0] - wanted[1])


@pytest.mark.parametrize("name", ["poisson", "logistic"])
def test_what_a_true_law_leaves_is_even(name: str) -> None:
    draw = np.random.default_rng(2)
    x = draw.uniform(0, 4, 3_000)
    if name == "poisson":
        values = np.exp(1.4 * x)  # from 1 to 270
        y = draw.poisson(values).astype(float)
    else:
        values = 2 * x - 4
        y = (draw.random(3_000) < 1 / (1 + np.exp(-values))).astype(float)
    data = Data(x[:, None], y, np.ones(3_000))
    left = leftover(Loss(name), values, data) + 0.5
    assert scipy.stats.kstest(left, "uniform").pvalue > 0.01
    assert looks_random(left - 0.5, data.X)
    wrong = leftover(Loss(name), values * 1.3 if name == "poisson" else values + 1, data)
    assert not looks_random(wrong, data.X)


@pytest.mark.parametrize(("value", "spare"), [(3.0, 10), (18.3, 10), (1100.0, 1000), (0.5, 1)])
def test_chi_squared_is_scipys(value: float, spare: int) -> None:
    wanted = scipy.stats.chi2.sf(value, spare)
    assert chi_squared_test(value, spare) == pytest.approx(wanted, rel=1e-9)


# --- what is refused


@pytest.mark.parametrize(
    ("loss", "y", "word"),
    [
        ("poisson", [1.0, -2.0, 3.0, 4.0], "row 2"),
        ("poisson", [1.0, 2.0, 3.5, 4.0], "row 3"),
        ("logistic", [0.0, 1.0, 1.0, 0.5], "row 4"),
        ("relative", [0.0, 1.0, 1.0, 0.5], "row 1"),
    ],
)
def test_a_target_that_does_not_suit_is_refused_by_its_row(
    loss: str, y: list[float], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        Regression(np.arange(4.0)[:, None], np.array(y), ["x"], Settings(loss=loss))


@pytest.mark.parametrize("loss", [name for name in LOSSES if not LOSSES[name].of_residual])
def test_errors_of_measurement_are_refused_where_they_mean_nothing(loss: str) -> None:
    y = {"poisson": COUNTS, "logistic": CLASSES}.get(loss, LINE)
    with pytest.raises(InputError, match="by itself"):
        Regression(X, y, ["x"], Settings(loss=loss), sigma=SIGMA)


def test_errors_of_measurement_are_positive_and_no_second_weights() -> None:
    for wrong in (0.0, -1.0, np.nan):
        sigma = SIGMA.copy()
        sigma[4] = wrong
        with pytest.raises(InputError, match="row 5"):
            Regression(X, LINE, ["x"], sigma=sigma)
    with pytest.raises(InputError, match="not both"):
        Regression(X, LINE, ["x"], weights=SIGMA, sigma=SIGMA)
    data = Data(X, LINE, np.ones(ROWS), sigma=SIGMA)
    for reward in ("inverse_mae", lambda y, predictions, weights: predictions[:, 0]):
        with pytest.raises(InputError, match="sigma"):
            with_sigma(data, reward_named(reward))


def test_a_loss_makes_its_own_reward() -> None:
    with pytest.raises(InputError, match="its own reward"):
        SymbolicRegressor(loss="absolute", reward="r2").fit(X, LINE)


@pytest.mark.parametrize("text", ["huber:x", "huber:0", "quantile:1", "squared:2", "cubic", ""])
def test_no_loss_of_that_text(text: str) -> None:
    with pytest.raises(InputError) as found:
        SymbolicRegressor(loss=text).fit(X, LINE)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("given", [3, None, [1], int])
def test_no_loss_of_that_type(given: object) -> None:
    with pytest.raises(InputError, match="loss"):
        SymbolicRegressor(loss=given).fit(X, LINE)


def test_a_function_that_is_no_loss_is_told() -> None:
    for function, word in (
        (lambda y: y, "target and the predictions"),
        (lambda y, p: -np.ones(len(p)), "less than 0"),
        (lambda y, p: np.ones(3), "shape"),
    ):
        with pytest.raises(InputError, match=word):
            SymbolicRegressor(loss=function, max_expressions=500).fit(X, LINE)


# --- run folders and the command line


def written(folder: Path) -> Path:
    path = folder / "rows.csv"
    table = np.column_stack([X[:, 0], SIGMA, MEASURED])[:120]
    np.savetxt(path, table, delimiter=",", header="t,error,y", comments="", fmt="%.5f")
    return path


def test_a_run_keeps_loss_and_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, run = written(tmp_path), tmp_path / "run"
    words = ["fit", str(path), "--target", "y", "--sigma", "error", "--loss", "huber:2", "--quiet"]
    words += ["--max-expressions", "1500", "--max-seconds", "none", "--out", str(run)]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "huber:2" in shown.split("\n")[0]
    assert "error" not in shown.split("repeat it")[0].replace("standard errors", "")
    assert "--sigma error" in shown
    assert "--loss huber:2" in shown
    assert main(["resume", str(run), "--max-expressions", "3000", "--quiet"]) == 0
    assert "huber:2" in capsys.readouterr().out.split("\n")[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sigma", "t", "--weights", "error"], "not both"),
        (["--sigma", "y"], "is both --target and --sigma"),
        (["--sigma", "none"], "none"),
        (["--sigma", "error", "--loss", "poisson"], "counts"),
        (["--sigma", "error", "--features", "t,error"], "the error of measurement and a feature"),
        (["--loss", "huber", "--reward", "r2"], "leave out --reward, or --loss"),
    ],
)
def test_a_command_refuses_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["fit", str(written(tmp_path)), "--target", "y", "--quiet", *words]) == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert "\n" not in error


def test_an_error_that_is_not_positive_is_told_by_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("t,e,y\n1,0.1,2\n2,0,3\n3,0.1,5\n4,0.2,6\n")
    assert main(["fit", str(path), "--target", "y", "--sigma", "e", "--quiet"]) == 2
    assert "'e' of rows.csv is 0 in line 3" in capsys.readouterr().err.replace(f"{tmp_path}/", "")
