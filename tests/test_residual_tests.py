"""The tests of residuals, against SciPy and against counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest, f

from examples import examples
from oracle.residual_tests import runs_chance
from symseek.selection.residual_tests import f_test, runs_test, sign_test, worst_signs

signs = st.lists(st.sampled_from([-2.5, -1.0, 0.0, 1.0, 3.0]), min_size=1, max_size=10)


@examples(40)
@given(signs)
def test_signs_are_counted_as_scipy_does(values: list[float]) -> None:
    residuals = np.array(values)
    above, count = int((residuals > 0).sum()), int((residuals != 0).sum())
    expected = binomtest(above, count).pvalue if count else 1.0
    assert sign_test(residuals) == pytest.approx(expected)


@examples(40)
@given(signs)
def test_runs_are_as_rare_as_among_all_orders(values: list[float]) -> None:
    assert runs_test(np.array(values)) == pytest.approx(runs_chance(np.array(values)))


@examples(40)
@given(
    st.floats(1e-6, 1e6),
    st.floats(1e-3, 1.0, exclude_max=True),
    st.integers(0, 5),
    st.integers(1, 5),
    st.integers(1, 300),
)
def test_the_f_test_is_that_of_scipy(
    shorter: float, part: float, few: int, more: int, spare: int
) -> None:
    longer, rows = shorter * part, few + more + spare
    ratio = (shorter - longer) / more / (longer / spare)
    found = f_test(shorter, longer, (few, few + more), rows)
    assert found == pytest.approx(float(f.sf(ratio, more, spare)), rel=1e-6, abs=1e-300)


def test_an_f_test_without_rows_to_spare_or_numbers_to_test_says_nothing() -> None:
    assert f_test(10.0, 1.0, (2, 6), 6) == 1.0
    assert f_test(10.0, 1.0, (2, 2), 20) == 1.0
    assert f_test(1.0, 1.0, (1, 2), 20) == 1.0


def test_long_tables_overflow_nothing() -> None:
    halves = np.repeat([1.0, -1.0], 5_000)
    assert 0 <= runs_test(halves) < 1e-300
    assert sign_test(halves) == 1.0


def test_runs_in_the_order_of_rows_count_too() -> None:
    rng = np.random.default_rng(0)
    X, residuals = rng.normal(size=(40, 1)), np.repeat([1.0, -1.0, 1.0, -1.0], 10)
    order = np.argsort(X[:, 0])
    assert worst_signs(residuals, X) < 1e-6
    assert worst_signs(residuals[order], X[order]) > 0.05  # rows that have lost their order
    place: NDArray[np.intp] = np.arange(40)[order]
    assert worst_signs(residuals[order], X[order], place) < 1e-6


def test_noise_raises_no_alarm_more_often_than_it_may() -> None:
    rng = np.random.default_rng(1)
    alarms = [worst_signs(rng.normal(size=15), rng.normal(size=(15, 2))) < 0.05 for _ in range(400)]
    assert sum(alarms) <= 0.05 * 400
