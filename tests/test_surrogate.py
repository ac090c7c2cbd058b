"""The surrogate: its values, slopes and errors, against a plain version and known functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from oracle import surrogate as plainly
from symseek.structure.surrogate import Surrogate, left_out


def table(seed: int, rows: int, columns: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of a smooth function, positive but for the noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 2.0, (rows, columns))
    scales = rng.uniform(-1, 1, columns)
    y = np.exp(X @ scales) + 0.3 * np.sin(X @ rng.uniform(0, 2, columns))
    return X, y + noise * rng.normal(size=rows)


@examples(30)
@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(40, 90),
    columns=st.integers(1, 3),
    place=st.sampled_from(["positive", "around 0"]),
    sign=st.sampled_from([1, -1]),
    weighted=st.booleans(),
)
def test_a_surrogate_is_that_of_the_plain_version(
    seed: int, rows: int, columns: int, place: str, sign: int, weighted: bool
) -> None:
    X, y = table(seed, rows, columns, noise=0.05)
    y, X = sign * y, X - (1.2 if place == "around 0" else 0.0)
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 2, rows) if weighted else np.ones(rows)
    degree = {1: 6, 2: 3, 3: 2}[columns]
    found = Surrogate.fitted(X, y, weights, most=(7, 10, 10)[columns - 1])
    plain = plainly.fitted(X, y, weights, left_out(rows), degree)
    assume(plain.error > 1e-6)  # else rounding decides which form it is
    assert found is not None
    assert found.error == pytest.approx(plain.error, rel=1e-7)
    assert np.allclose(found.values, plain.function(X), rtol=1e-6, atol=1e-8)
    slopes = plain.slopes(X)
    assert np.allclose(found.slopes, slopes, rtol=1e-4, atol=1e-4 * np.abs(slopes).max())


@pytest.mark.parametrize(
    ("function", "slopes"),
    [
        (lambda x, z: x * x / z, lambda x, z: (2 * x / z, -x * x / z**2)),
        (
            lambda x, z: -np.sqrt(x) * z**3,
            lambda x, z: (-(z**3) / (2 * np.sqrt(x)), -3 * x**0.5 * z**2),
        ),
        (lambda x, z: np.sin(x) + x * z, lambda x, z: (np.cos(x) + z, x)),
        (lambda x, z: np.exp(-x * z), lambda x, z: (-z * np.exp(-x * z), -x * np.exp(-x * z))),
    ],
)
def test_slopes_of_known_functions(function, slopes) -> None:
    X = np.random.default_rng(0).uniform(1, 2, (900, 2))
    found = Surrogate.fitted(X, function(*X.T), np.ones(900))
    assert found is not None
    assert found.error < 1e-8
    assert np.allclose(found.values, function(*X.T), atol=1e-7)
    assert np.allclose(found.slopes, np.column_stack(slopes(*X.T)), atol=1e-5)


def test_products_of_powers_are_told_by_logarithms() -> None:
    """In six columns a polynomial of the products themselves would need too many terms."""
    X = np.random.default_rng(1).uniform(1, 5, (300, 6))
    y = -7 * X[:, 0] ** 2.5 * X[:, 1] / (X[:, 2] ** 3 * np.sqrt(X[:, 3]))
    found = Surrogate.fitted(X, y, np.ones(300))
    assert found is not None
    assert found.error < 1e-10 * y.std()
    elastic = X * found.slopes / y[:, None]
    assert np.allclose(elastic, [2.5, 1, -3, -0.5, 0, 0], atol=1e-8)


@examples(20)
@given(seed=st.integers(0, 10_000), columns=st.integers(1, 4))
def test_the_error_is_honest_on_noise(seed: int, columns: int) -> None:
    """What is fitted to noise predicts no row that was left out better than chance."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(1, 2, (600, columns)), rng.normal(size=600)
    found = Surrogate.fitted(X, y, np.ones(600))
    assert found is not None
    assert found.error > 0.8


def test_the_error_is_that_of_the_noise() -> None:
    X, y = table(3, 3_000, 2, noise=0.0)
    noisy = y + np.random.default_rng(0).normal(0, 0.1, 3_000)
    found = Surrogate.fitted(X, noisy, np.ones(3_000))
    assert found is not None
    assert 0.085 < found.error < 0.11
    assert np.std(found.values - y) < 0.03  # the noise is averaged out


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_too_few_rows_tell_nothing(rows: int) -> None:
    X = np.arange(1.0, rows + 1)[:, None]
    assert Surrogate.fitted(X, X[:, 0], np.ones(rows)) is None


@pytest.mark.parametrize("extra", ["constant", "twice", "other unit", "sum", "product", "levels"])
def test_columns_that_say_nothing_new_do_no_harm(extra: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(1, 2, (600, 2))
    column = {
        "constant": np.full(600, 0.3),
        "twice": X[:, 0],
        "other unit": 1000 * X[:, 1],
        "sum": X[:, 0] + X[:, 1],
        "product": X[:, 0] * X[:, 1],
        "levels": rng.choice([1.0, 2.0, 4.0], 600),
    }[extra]
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    found = Surrogate.fitted(np.column_stack([X, column]), y, np.ones(600))
    assert found is not None
    assert found.error < 1e-3 * y.std()
    if extra in ("constant", "levels"):
        assert np.abs(found.slopes[:, 2]).max() < 0.05


def test_the_rows_left_out_have_all_values_of_a_column() -> None:
    """Sorted rows of a grid with three values in the last column."""
    grid = np.array([(x, z) for x in np.linspace(1, 2, 100) for z in (0.0, 1.0, 3.0)])
    y = np.exp(grid[:, 0]) * np.cos(grid[:, 1])
    found = Surrogate.fitted(grid, y, np.ones(300))
    assert found is not None
    assert found.error < 1e-6
    assert {*grid[left_out(300), 1]} == {*grid[~left_out(300), 1]} == {0.0, 1.0, 3.0}
    assert left_out(300).sum() == 100


def test_a_target_that_begins_with_zero() -> None:
    x = np.linspace(0, 1, 200)
    found = Surrogate.fitted(x[:, None], x**2, np.ones(200))
    assert found is not None
    assert found.error < 1e-12
