"""Row losses: sums, derivatives and fits by each, in the native core and in the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.optimize

from host_device import HostDevice, needs_compiler
from symseek import FitConfig, InputError, Library, Program, Programs, fit_constants
from symseek.engines.cuda.evaluator import CudaEvaluator
from symseek.engines.interface import engine_named
from symseek.losses import LOSSES, Loss
from symseek.regression.regression import Regression
from symseek.rewards import Curve, ErrorReward
from symseek.settings import Settings

LIBRARY = Library(["add", "mul", "div", "sin", "exp", "const"], ["x"])
HUBER = Loss("huber", 0.5)
X = np.linspace(0.1, 4, 60)[:, None]
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2, len(X))
Y = 2.5 * X[:, 0] + np.sin(X[:, 0]) + np.random.default_rng(0).normal(0, 0.2, len(X))
Y[::7] += 8  # outliers
TEXTS = ["2.0*x + 1.0", "1.0*sin(1.5*x) + 2.0*x", "exp(0.3*x) + x/1.5"]
PROGRAMS = Programs.from_list([Program.parse(text, LIBRARY) for text in TEXTS])


def on(engine: str, *losses: Loss) -> Any:
    data = (LIBRARY, X, Y, WEIGHTS)
    if engine == "native":
        return engine_named("native").evaluator(*data, losses=losses)
    return CudaEvaluator(LIBRARY, HostDevice(), X, Y, WEIGHTS, losses=losses)


engines = pytest.mark.parametrize("engine", ["native", pytest.param("cuda", marks=needs_compiler)])


def residuals(program: Program) -> np.ndarray:
    return Y - program.evaluate(X)


@engines
@pytest.mark.parametrize("name", LOSSES)
def test_sums_are_those_of_the_formula(engine: str, name: str) -> None:
    losses = (Loss(name, 0.7), HUBER)
    errors = on(engine, *losses).errors(PROGRAMS)
    wanted = [[WEIGHTS @ loss.values(residuals(each)) for each in PROGRAMS] for loss in losses]
    np.testing.assert_allclose(errors.sums, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_differences(name: str) -> None:
    loss = Loss(name, 0.7)
    evaluator = on("native", loss)
    found = evaluator.derivatives(PROGRAMS)
    for row, program in enumerate(PROGRAMS):
        for k in range(len(program.constants)):
            ends = []
            for step in (1e-6, -1e-6):
                constants = np.array(program.constants)
                constants[k] += step
                moved = Program(LIBRARY, program.tokens, tuple(constants))
                ends.append(WEIGHTS @ loss.values(residuals(moved)))
            slope = (ends[0] - ends[1]) / 2e-6
            assert -2 * found.gradient[row, k] == pytest.approx(slope, rel=1e-5, abs=1e-4)


@engines
@pytest.mark.parametrize("method", ["mixed", "least_squares", "bfgs"])
def test_hubers_fits_are_scipys(engine: str, method: str) -> None:
    config = FitConfig(method, restarts=2, max_steps=300)
    found = on(engine, HUBER).fit(PROGRAMS, config, float(WEIGHTS.sum()))
    for program, loss in zip(PROGRAMS, found.errors.sums[0], strict=True):

        def off(constants: np.ndarray, program: Program = program) -> np.ndarray:
            moved = Program(LIBRARY, program.tokens, tuple(constants))
            return np.sqrt(WEIGHTS) * residuals(moved)

        def cost(constants: np.ndarray, program: Program = program) -> float:
            moved = Program(LIBRARY, program.tokens, tuple(constants))
            return float(WEIGHTS @ HUBER.values(residuals(moved)))

        theirs = scipy.optimize.minimize(cost, program.constants)
        assert loss <= theirs.fun * (1 + 1e-4)


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
    mean = HUBER.values(residuals(robust.programs[0])).mean()
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
        mean = HUBER.values(y - formula.program.evaluate(x[:, None])).mean()
        assert formula.reward == pytest.approx(1 / (1 + mean))
    line = next(each for each in regression.model().formulas if len(each.program) == 5)
    at = line.program.evaluate(np.array([[0.0], [1.0]]))
    assert at == pytest.approx([1, 3.5], abs=0.25)  # least squares: about 2.1 and 4.6


@pytest.mark.parametrize("given", [("hubert", 1.0), ("huber", 0.0), ("huber", np.nan)])
def test_no_loss(given: tuple[str, float]) -> None:
    with pytest.raises(InputError):
        Loss(*given)
