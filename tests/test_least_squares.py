"""Fits of constants and their standard errors, beside the textbook's formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from symseek.algebra.least_squares import LeastSquares
from symseek.data import Data
from symseek.programs import Program


def oracle(table: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients of the columns of a table, and their standard errors."""
    weighted = table * weights[:, None]
    inverse = np.linalg.inv(table.T @ weighted)
    found = inverse @ (weighted.T @ y)
    left = y - table @ found
    variance = (weights * left**2).sum() / (np.count_nonzero(weights) - table.shape[1])
    return found, np.sqrt(variance * np.diag(inverse))


@examples(60)
@given(st.integers(4, 60), st.floats(1e-6, 10), st.booleans(), st.integers(0, 2**32 - 1))
def test_a_straight_line_is_the_textbooks(rows, noise, weighted, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 5, rows)
    y = 3.0 * x - 1.5 + noise * rng.normal(size=rows)
    weights = rng.integers(0, 4, rows) * 1.0 if weighted else np.ones(rows)
    weights[:4] = 1.0
    data = Data(x[:, None], y, weights)
    fit = LeastSquares.of(Program.parse("2.0*x + 1.0"), data, (0, 1))
    assert fit is not None
    found, errors = oracle(np.column_stack([x, np.ones(rows)]), y, weights)
    scale = np.abs(errors).max()
    assert fit.program.constants == pytest.approx(found, abs=1e-4 * scale + 1e-9)
    assert [fit.errors[0], fit.errors[1]] == pytest.approx(errors, rel=1e-5, abs=1e-12)


def test_a_bent_formula_comes_to_its_minimum():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, 200)
    y = 2.0 * np.exp(-0.7 * x) + 0.01 * rng.normal(size=200)
    data = Data(x[:, None], y, np.ones(200))
    fit = LeastSquares.of(Program.parse("1.5*exp(-0.9*x)"), data, (0, 1))
    assert fit is not None
    assert fit.program.constants == pytest.approx((2.0, -0.7), abs=0.02)
    for place in (0, 1):
        for move in (-0.01, 0.01):
            constants = list(fit.program.constants)
            constants[place] += move
            moved = Program(fit.program.library, fit.program.tokens, tuple(constants))
            assert ((moved.evaluate(data.X) - y) ** 2).sum() > fit.squares


def test_errors_that_overflow_are_infinite():
    x = 1e-20 * np.arange(1.0, 9.0)
    data = Data(x[:, None], 1e145 * np.resize([1.0, -1.0], 8), np.ones(8))
    fit = LeastSquares.of(Program.parse("1e165*x"), data, (0,))
    assert fit is not None
    assert fit.errors[0] == np.inf


def test_what_has_no_inverse_is_not_fitted(monkeypatch):
    def fails(*given):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(np.linalg, "inv", fails)
    x = np.arange(1.0, 9.0)
    data = Data(x[:, None], x**2, np.ones(8))
    assert LeastSquares.of(Program.parse("2.0*x"), data, (0,)) is None


def test_a_constant_that_is_held_makes_the_other_more_certain():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, 100)
    data = Data(x[:, None], 3.0 * x + 1.0 + 0.1 * rng.normal(size=100), np.ones(100))
    fit = LeastSquares.of(Program.parse("2.9*x + 1.1"), data, (0, 1))
    assert fit is not None
    held = fit.with_fixed(1, 1.0)
    assert held is not None
    assert held.program.constants[1] == 1.0
    assert held.free == (0,)
    assert held.errors[0] < 0.2 * fit.errors[0]
    away = (1.0 - fit.program.constants[1]) / fit.errors[1]
    assert held.squares - fit.squares == pytest.approx(away**2 * fit.variance, rel=1e-6)
    both = held.with_fixed(0, 3.0)
    assert both is not None
    assert (both.free, both.errors) == ((), {})


def test_what_cannot_be_fitted_is_none():
    x = np.linspace(1, 2, 20)
    data = Data(x[:, None], 3.0 * x, np.ones(20))
    assert LeastSquares.of(Program.parse("0.7*x*0.8"), data, (0, 1)) is None
    assert LeastSquares.of(Program.parse("0.7*sqrt(x - 1.5)"), data, (0,)) is None
    few = Data(x[:2, None], 3.0 * x[:2], np.ones(2))
    assert LeastSquares.of(Program.parse("0.7*x + 0.8"), few, (0, 1)) is None
