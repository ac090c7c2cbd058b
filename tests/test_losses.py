"""Row losses: sums, derivatives and fits by each, in the native core and in the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.optimize

from host_device import HostDevice, needs_compiler
from oracle.losses import fitted, row_losses
from symseek import FitConfig, InputError, Library, Program, Programs, fit_constants
from symseek.engines.cuda.evaluator import CudaEvaluator
from symseek.engines.interface import engine_named
from symseek.losses import LOSSES, Loss
from symseek.regression.regression import Regression
from symseek.rewards import Curve, ErrorReward, LossReward
from symseek.settings import Settings

LIBRARY = Library(["add", "mul", "div", "sin", "exp", "const"], ["x"])
HUBER = Loss("huber", 0.5)
X = np.linspace(0.1, 4, 60)[:, None]
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2, len(X))
Y = 2.5 * X[:, 0] + np.sin(X[:, 0]) + np.random.default_rng(0).normal(0, 0.2, len(X))
Y[::7] += 8  # outliers
COUNTS = np.random.default_rng(2).poisson(np.exp(0.4 + 0.6 * X[:, 0])).astype(float)
CLASSES = (np.random.default_rng(3).random(len(X)) < 1 / (1 + np.exp(2 - X[:, 0]))).astype(float)
TEXTS = ["2.0*x + 1.0", "1.0*sin(1.5*x) + 2.0*x", "exp(0.3*x) + x/1.5"]
PROGRAMS = Programs.from_list([Program.parse(text, LIBRARY) for text in TEXTS])
ASKED = [Loss(name) for name in LOSSES] + [HUBER, Loss("quantile", 0.9), Loss("log_cosh", 0.3)]
# The rate of counts, and the odds of classes, as a law of each has them.
LAWS = {"poisson": "exp(0.5*x + 0.2)", "logistic": "1.5*x + -2.0"}


def target(loss: Loss) -> np.ndarray:
    return {"poisson": COUNTS, "logistic": CLASSES}.get(loss.name, Y)


def on(engine: str, *losses: Loss, y: np.ndarray | None = None, **more: Any) -> Any:
    data = (LIBRARY, X, target(losses[0]) if y is None else y, WEIGHTS)
    if engine == "native":
        return engine_named("native").evaluator(*data, losses=losses, **more)
    return CudaEvaluator(LIBRARY, HostDevice(), *data[1:], losses=losses)


engines = pytest.mark.parametrize("engine", ["native", pytest.param("cuda", marks=needs_compiler)])
by_loss = pytest.mark.parametrize("loss", ASKED, ids=str)


@engines
@by_loss
def test_sums_are_those_of_the_formula(engine: str, loss: Loss) -> None:
    y = target(loss)
    errors = on(engine, loss, HUBER).errors(PROGRAMS)
    for row, program in enumerate(PROGRAMS):
        values = program.evaluate(X)
        for at, each in enumerate((loss, HUBER)):
            wanted = WEIGHTS @ row_losses(each, y, values)
            assert errors.sums[at, row] == pytest.approx(wanted, rel=1e-12)
            assert WEIGHTS @ each.values(y, values) == pytest.approx(wanted, rel=1e-12)


@by_loss
def test_a_loss_is_exact_where_errors_are_small(loss: Loss) -> None:
    is_odds = loss.name == "logistic"
    y = np.array([1.0, 0.0, 1.0]) if is_odds else np.array([1.0, 2.0, 7.0])
    batch = Programs.from_list([Program.parse("x", LIBRARY)])
    for size in (1e-3, 1e-5, 1e-7):
        f = (1 - 2 * y) * np.log(size) if is_odds else y + np.array([size, -size, size])
        here = engine_named("native").evaluator(LIBRARY, f[:, None], y, losses=(loss,))
        # Squares are compared with those of the errors, which no logarithm has gone through.
        wanted = loss.values(y, f).sum()
        if loss.name in ("huber", "log_cosh", "poisson"):
            wanted = ((y - f) ** 2 / (y if loss.name == "poisson" else 1.0)).sum()
        if is_odds:
            wanted = 2 * np.log1p(np.exp(-np.abs(f))).sum()
        assert here.errors(batch).sums[0, 0] == pytest.approx(wanted, rel=3 * size + 1e-8)


@by_loss
def test_gradients_are_differences(loss: Loss) -> None:
    y = target(loss)
    evaluator = on("native", loss)
    found = evaluator.derivatives(PROGRAMS)
    for row, program in enumerate(PROGRAMS):
        for k in range(len(program.constants)):
            ends = []
            for step in (1e-6, -1e-6):
                constants = np.array(program.constants)
                constants[k] += step
                moved = Program(LIBRARY, program.tokens, tuple(constants))
                ends.append(WEIGHTS @ loss.values(y, moved.evaluate(X)))
            slope = (ends[0] - ends[1]) / 2e-6
            assert -2 * found.gradient[row, k] == pytest.approx(slope, rel=1e-5, abs=1e-4)
        eigenvalues = np.linalg.eigvalsh(found.normal[row])
        assert eigenvalues.min() >= -1e-9 * eigenvalues.max()


@engines
@by_loss
@pytest.mark.parametrize("method", ["mixed", "least_squares"])
def test_fits_are_scipys(engine: str, loss: Loss, method: str) -> None:
    law = Program.parse(LAWS.get(loss.name, "2.0*x + 1.0"), LIBRARY)
    config = FitConfig(method, restarts=2, max_steps=300)
    found = on(engine, loss).fit(Programs.from_list([law]), config, float(WEIGHTS.sum()))
    wanted = fitted(law, X, target(loss), WEIGHTS, loss)
    assert found.programs.constants[0] == pytest.approx(wanted, rel=1e-6)


@by_loss
def test_fits_to_many_rows_are_those_of_all(loss: Loss) -> None:
    """Where a start is sought on some of the rows."""
    rows = 5_000
    rng = np.random.default_rng(4)
    x = rng.uniform(0.1, 4, rows)
    y = {
        "poisson": rng.poisson(np.exp(0.4 + 0.6 * x)).astype(float),
        "logistic": (rng.random(rows) < 1 / (1 + np.exp(2 - x))).astype(float),
    }.get(loss.name, 2.5 * x + 1 + rng.normal(0, 0.3, rows))
    law = Program.parse(LAWS.get(loss.name, "2.0*x + 1.0"), LIBRARY)
    engine = engine_named("native").evaluator(LIBRARY, x[:, None], y, losses=(loss,))
    found = engine.fit(Programs.from_list([law]), FitConfig("least_squares", max_steps=300), rows)
    # At a minimum no constant can be moved to any good.
    best = found.programs.constants[0]
    least = loss.values(y, found.programs[0].evaluate(x[:, None])).sum()
    for at in range(len(best)):
        for step in (1e-4, -1e-4):
            moved = best.copy()
            moved[at] += step
            values = Program(LIBRARY, law.tokens, tuple(moved)).evaluate(x[:, None])
            assert loss.values(y, values).sum() > least


@needs_compiler
@by_loss
def test_kernels_fit_many_rows_as_the_core_does(loss: Loss) -> None:
    """On these a descent is a launch for each look."""
    times = 80
    rows = np.repeat(np.arange(len(X)), times)
    law = Programs.from_list([Program.parse(LAWS.get(loss.name, "2.0*x + 1.0"), LIBRARY)])
    data = X[rows], target(loss)[rows], WEIGHTS[rows]
    config = FitConfig("least_squares", restarts=0, max_steps=100)
    theirs = CudaEvaluator(LIBRARY, HostDevice(), *data, losses=(loss,)).fit(law, config, 1.0)
    ours = engine_named("native").evaluator(LIBRARY, *data, losses=(loss,)).fit(law, config, 1.0)
    np.testing.assert_allclose(theirs.programs.constants, ours.programs.constants, rtol=1e-6)


def test_a_rate_that_is_not_positive_is_invalid() -> None:
    batch = Programs.from_list([Program.parse("x + -2.0", LIBRARY)])
    poisson = Loss("poisson")
    assert on("native", poisson).errors(batch).sums[0, 0] == np.inf
    graded = fit_constants(batch, X, COUNTS, reward=LossReward(poisson))
    assert graded.ok[0]
    assert (graded.programs[0].evaluate(X) > 0).all()


@pytest.mark.parametrize("name", LOSSES)
def test_rows_that_weigh_nothing_count_nothing(name: str) -> None:
    loss = Loss(name)
    y = target(loss).copy()
    y[0] = {"relative": 0.0, "poisson": 0.0}.get(name, y[0])
    weights = np.where(np.arange(len(X)) == 0, 0.0, 1.0)
    law = Programs.from_list([Program.parse(LAWS.get(name, "2.0*x + 1.0"), LIBRARY)])
    evaluators = [
        engine_named("native").evaluator(LIBRARY, X[at:], y[at:], weights[at:], losses=(loss,))
        for at in (0, 1)
    ]
    config = FitConfig("least_squares")
    both, rest = (each.fit(law, config, 1.0) for each in evaluators)
    np.testing.assert_allclose(both.programs.constants, rest.programs.constants, rtol=1e-6)
    assert both.errors.sums[0, 0] == pytest.approx(rest.errors.sums[0, 0])


@pytest.mark.parametrize("name", LOSSES)
def test_the_best_number_is_scipys(name: str) -> None:
    loss = Loss(name)
    y = target(loss)
    number = loss.best_number(y, WEIGHTS)

    def cost(value: float) -> float:
        return float(WEIGHTS @ row_losses(loss, y, np.full_like(y, value)))

    low = 1e-3 if name == "poisson" else -5.0
    theirs = scipy.optimize.minimize_scalar(cost, bounds=(low, 30.0), options={"xatol": 1e-10})
    assert cost(number) <= theirs.fun * (1 + 1e-9)


@pytest.mark.parametrize("name", ["huber", "log_cosh"])
def test_parameters_may_differ_by_row(name: str) -> None:
    sigma = np.random.default_rng(5).uniform(0.2, 3, len(X))
    loss = Loss(name, 0.8)
    weights = loss.weights(sigma)
    data = (LIBRARY, X, Y, weights)
    evaluator = engine_named("native").evaluator(*data, losses=(loss,), scale=sigma)
    wanted = [row_losses(loss, Y / sigma, each.evaluate(X) / sigma).sum() for each in PROGRAMS]
    assert evaluator.errors(PROGRAMS).sums[0] == pytest.approx(wanted)
    assert [
        weights @ loss.values(Y, each.evaluate(X), sigma) for each in PROGRAMS
    ] == pytest.approx(wanted)


@dataclass(frozen=True)
class InverseHuber(ErrorReward):
    losses: ClassVar[tuple[Loss, ...]] = (HUBER,)

    def __call__(self, *means: Any, **named: Any) -> np.ndarray:
        mean, _ = means
        return 1 / (1 + mean)

    def curve(self, spread: float) -> Curve:
        return Curve(1.0, 1.0)


def test_a_reward_takes_its_loss_to_the_engine() -> None:
    start = Programs.from_list([Program.parse("1.0*x + sin(x)", LIBRARY)])
    robust = fit_constants(start, X, Y, reward=InverseHuber())
    plain = fit_constants(start, X, Y)
    assert robust.programs.constants[0, 0] == pytest.approx(2.5, abs=0.2)
    assert abs(plain.programs.constants[0, 0] - 2.5) > 2 * abs(
        robust.programs.constants[0, 0] - 2.5
    )
    mean = HUBER.values(Y, robust.programs[0].evaluate(X)).mean()
    assert robust.rewards[0] == pytest.approx(1 / (1 + mean))


@pytest.mark.parametrize("rows", [60, 700])  # the latter race
def test_a_whole_fit_is_by_the_loss_of_its_reward(rows: int) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 4, rows)
    y = 2.5 * x + 1 + 0.05 * rng.normal(size=rows)
    y[::7] += 8  # outliers
    settings = Settings(
        operators=["add", "mul"], reward=InverseHuber(), max_expressions=3_000, max_seconds=None
    )
    regression = Regression(x[:, None], y, ["x"], settings)
    regression.run()
    for formula in regression.model().formulas:
        mean = HUBER.values(y, formula.program.evaluate(x[:, None])).mean()
        assert formula.reward == pytest.approx(1 / (1 + mean))
    line = next(each for each in regression.model().formulas if len(each.program) == 5)
    at = line.program.evaluate(np.array([[0.0], [1.0]]))
    assert at == pytest.approx([1, 3.5], abs=0.25)  # least squares: about 2.1 and 4.6


@pytest.mark.parametrize("given", [("hubert", 1.0), ("huber", 0.0), ("huber", np.nan)])
def test_no_loss(given: tuple[str, float]) -> None:
    with pytest.raises(InputError):
        Loss(*given)
