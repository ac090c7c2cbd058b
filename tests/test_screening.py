"""Screening: the columns that matter among many that do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import screening as oracle
from symseek.structure import screening
from symseek.structure.screening import screened

ROWS, COLUMNS = 2_000, 30
ACTIVE = [2, 8, 14, 20, 27]

LAWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "only by products of two and three": lambda X: X[2] * X[8] + 0.5 * X[14] * X[20] * X[27],
    "even, with no correlation at all": lambda X: (
        X[2] ** 2 * X[8] ** 2 + np.abs(X[14]) + X[20] * X[27]
    ),
    "weak beside strong": lambda X: np.exp(2 * X[2]) * X[8] + X[14] + X[20] + 0.1 * X[27],
    "waves": lambda X: np.sin(6 * X[2]) * X[8] + X[14] * X[20] + np.cos(9 * X[27]),
    "a few rows far out": lambda X: X[14] * X[20] * X[27] + X[2] / (X[8] + 1.001),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", [0, 1])
def test_five_of_thirty_columns_are_found(law: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    X = draw.uniform(-1, 1, (COLUMNS, ROWS))
    y = LAWS[law](X)
    y += 0.01 * y.std() * draw.normal(size=ROWS)
    assert screened(X.T, y, np.ones(ROWS)) == ACTIVE


def test_idle_columns_are_hardly_ever_taken() -> None:
    draw = np.random.default_rng(0)
    tables = [(draw.normal(size=(500, 20)), draw.standard_t(2, 500)) for _ in range(40)]
    assert sum(bool(screened(X, y, np.ones(500))) for X, y in tables) <= 1


def test_columns_of_few_values_and_heavy_noise() -> None:
    draw = np.random.default_rng(1)
    X = draw.integers(0, 3, (4_000, 15)).astype(float)
    X[:, 9] = 7.0  # constant
    y = 3 * (X[:, 4] == 1) * X[:, 11] + draw.standard_t(2, 4_000)
    assert screened(X, y, np.ones(4_000)) == [4, 11]


def test_rows_without_weight_do_not_count() -> None:
    draw = np.random.default_rng(2)
    X = draw.uniform(-1, 1, (1_000, 12))
    weights = np.repeat([1.0, 0.0], 500)
    y = np.where(weights > 0, X[:, 3], 5 * X[:, 6]) + 0.1 * draw.normal(size=1_000)
    assert screened(X, y, weights) == [3]


def checked() -> None:
    """Nothing to check."""


@given(st.integers(0, 2**32), st.integers(3, 6), st.integers(20, 60), st.integers(1, 7))
def test_the_scores_are_those_of_one_product_at_a_time(
    seed: int, columns: int, rows: int, block: int
) -> None:
    draw = np.random.default_rng(seed)
    powers = draw.normal(size=(columns, rows, 2))
    powers[0, :, 1] = 0.0  # of a column with two values
    counted = draw.normal(size=rows)
    pairs = screening._in_pairs(powers, counted, checked, block)
    assert np.allclose(pairs, oracle.in_pairs(powers, counted), rtol=1e-9)
    triples = screening._in_triples(powers[:, :, 0].T, counted, checked)
    assert np.allclose(triples, oracle.in_triples(powers[:, :, 0].T, counted), rtol=1e-9)


def test_of_five_thousand_columns_those_that_show_most_are_paired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, columns, work, checks, sizes = 150, 5_000, 5e7, [], []
    monkeypatch.setattr(screening, "_PAIR_WORK", work)
    real = screening._scored

    def scored(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        sizes.append((left.shape[1], right.shape[1]))
        return real(left, right)

    monkeypatch.setattr(screening, "_scored", scored)
    draw = np.random.default_rng(0)
    X = draw.normal(size=(rows, columns))
    y = X[:, 3] + X[:, 4_321] + 0.1 * draw.normal(size=rows)
    places = np.array([screening._places(x) for x in X.T])
    found = screening._found(places, screening._scores(y), np.ones(rows), lambda: checks.append(1))
    assert np.flatnonzero(found).tolist() == [3, 4_321]
    assert sum(rows * a * b for a, b in sizes if a > 1) <= work
    assert max(a * b for a, b in sizes) < 10 * rows * columns  # what is in memory at a time
    assert len(checks) > columns
