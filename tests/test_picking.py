"""The pick on tables of few rows: a curve where there is one, the mean where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from examples import mostly_slow
from symseek.arrays import Floats
from symseek.model import Model
from symseek.regression.regression import Regression
from symseek.settings import Settings


def fitted(x: Floats, y: Floats, **settings: object) -> Model:
    chosen = Settings(**{"max_expressions": 40_000, **settings})  # type: ignore[arg-type]
    found = Regression(x[:, None], y, ["x"], chosen)
    found.run()
    return found.model()


def test_the_saturation_of_an_enzyme() -> None:
    """Puromycin, treated: reaction rates at six concentrations (Treloar 1974)."""
    x = np.repeat([0.02, 0.06, 0.11, 0.22, 0.56, 1.10], 2)
    y = np.array([76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200.0])
    best = fitted(x, y).best
    assert best.r2 > 0.95
    assert best.complexity <= 12


@pytest.mark.slow
def test_an_assay_to_four_digits() -> None:
    """DNase, run 1: optical density at eight concentrations."""
    x = np.repeat([0.0488, 0.1953, 0.3906, 0.7812, 1.5625, 3.125, 6.25, 12.5], 2)
    y = [0.017, 0.018, 0.121, 0.124, 0.206, 0.215, 0.377, 0.374]
    y += [0.614, 0.609, 1.019, 1.001, 1.334, 1.364, 1.730, 1.710]
    best = fitted(x, np.array(y)).best
    assert best.r2 > 0.995
    assert best.complexity <= 12


def test_a_tiny_error_by_chance_is_neither_picked_nor_exact() -> None:
    """BOD: six rows, which formulas with six numbers meet however noisy they are."""
    x = np.array([1, 2, 3, 4, 5, 7.0])
    y = np.array([8.3, 10.3, 19.0, 16.0, 15.6, 19.8])
    model = fitted(x, y, max_expressions=100_000)
    assert model.formulas[-1].nrmse < 0.01
    assert not any(each.exact for each in model.formulas)
    assert model.best.complexity <= 8


def test_planets_to_three_digits() -> None:
    """What formulas could tell apart is less than the digits of the distances."""
    x = np.array([0.387, 0.723, 1, 1.524, 5.203, 9.537, 19.19, 30.07])
    y = np.array([87.97, 224.7, 365.26, 686.98, 4332.6, 10759, 30685, 60189.0])
    assert "x**(3/2)" in fitted(x, y, max_expressions=200_000).best.text


@pytest.mark.parametrize("rows", mostly_slow([6, 12, 30], 6))
def test_noise_is_described_by_its_mean(rows: int) -> None:
    """A search among so many formulas finds some that fit; not every table has a law."""
    picked = []
    for seed in range(4):
        rng = np.random.default_rng([seed, rows])
        model = fitted(np.arange(rows) * 0.7, rng.normal(5, 1, rows), max_expressions=20_000)
        picked.append(model.best.complexity == 1)
    assert sum(picked) >= 3


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_absolute_errors_are_picked_by_in_any_unit(scale: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 40)
    y = scale * (2.5 * x + 1 + rng.laplace(0, 0.05, 40))
    y[:4] += scale * 3  # outliers
    model = fitted(
        x, y, reward="inverse_mae", max_expressions=6_000, operators=("add", "mul", "sin")
    )
    errors = [np.mean(np.abs(each.program.evaluate(x[:, None]) - y)) for each in model.formulas]
    assert errors == sorted(errors, reverse=True)  # the front goes by absolute errors
    assert np.median(y) == pytest.approx(
        model.formulas[0].program.evaluate(x[:1, None])[0], rel=0.1
    )
    line = model.best.program.evaluate(x[:, None]) / scale
    assert np.abs(line - 2.5 * x - 1).max() < 0.3
    assert model.best.complexity <= 7


def test_validation_rows_are_judged_by_the_reward_too() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 4, 80)
    y = 2.5 * x + 1 + rng.laplace(0, 0.05, 80)
    y[::9] += 40
    options = {"validation": 0.3, "operators": ("add", "mul"), "max_expressions": 6_000}
    best = fitted(x, y, reward="inverse_mae", **options).best
    assert np.abs(best.program.evaluate(x[:, None]) - 2.5 * x - 1).max() < 0.3
