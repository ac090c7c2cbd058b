"""Cycles: their frequency is read off the data."""

from __future__ import annotations

import numpy as np
import pytest

from symseek import Library
from symseek.data import Data
from symseek.regression.regression import Regression
from symseek.settings import Settings
from symseek.structure.cycles import cyclic_programs, frequencies

MONTHS = np.arange(240.0)
YEARLY = 2 * np.pi / 12


@pytest.mark.parametrize("spacing", ["even", "uneven"])
def test_frequencies_under_a_trend_and_noise(spacing: str) -> None:
    rng = np.random.default_rng(0)
    x = MONTHS if spacing == "even" else np.sort(rng.uniform(0, 240, 240))
    y = 1e-3 * x**2 + np.sin(YEARLY * x + 1) + 0.4 * np.cos(2.9 * x) + rng.normal(0, 0.2, 240)
    assert np.allclose(frequencies(x, y), [YEARLY, 2.9], atol=3e-3)


def test_noise_and_trends_have_none() -> None:
    rng = np.random.default_rng(1)
    assert [frequencies(MONTHS, rng.normal(size=240)) for _ in range(20)] == [[]] * 20
    assert frequencies(MONTHS[:8], np.sin(MONTHS[:8])) == []
    assert frequencies(np.ones(50), rng.normal(size=50)) == []


def test_the_first_programs_are_already_good() -> None:
    library = Library(["add", "mul", "sin", "const"], ["t", "other"])
    inputs = np.column_stack([MONTHS, np.random.default_rng(2).normal(size=240)])
    y = 300 + 0.1 * MONTHS + 3 * np.sin(YEARLY * MONTHS + 0.5)
    programs = cyclic_programs(library, Data(inputs, y, np.ones(240)))
    errors = [np.std(each.evaluate(inputs) - y) for each in programs]
    assert min(errors) < 0.1
    assert (
        len(cyclic_programs(Library(["add", "mul", "const"], ["t", "other"]), Data(inputs, y, y)))
        == 0
    )


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["month", "year"])
def test_a_trend_and_a_yearly_cycle_are_both_found(unit: str) -> None:
    """Such as the record of carbon dioxide in the air."""
    rng = np.random.default_rng(0)
    years = MONTHS / 12
    y = 315 + 1.3 * years + 0.012 * years**2 + 2.8 * np.sin(2 * np.pi * years + 0.4)
    y = np.round(y + rng.normal(0, 0.3, 240), 2)
    x = MONTHS if unit == "month" else 1959 + years
    found = Regression(x[:, None], y, [unit], Settings(max_expressions=60_000))
    found.run()
    best = found.model().best
    assert best.nrmse < 1.1 * 0.3 / np.std(y)
    assert "sin" in best.text or "cos" in best.text
