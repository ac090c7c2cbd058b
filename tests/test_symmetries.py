"""Symmetries: the transform with the fewest columns, from the rows alone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from symseek.data import Data
from symseek.structure.symmetries import reducing_transform
from symseek.structure.transform import ColumnProduct, DerivedColumn, TableColumn, Transform

ALL = {"add", "sub", "mul", "div", "sqrt"}
NAMES = ("a", "b", "c", "d", "e")


def seen(
    X: np.ndarray, y: np.ndarray, operators: set[str] = ALL, weights: np.ndarray | None = None
) -> Transform | None:
    data = Data(X, y, np.ones(len(y)) if weights is None else weights)
    return reducing_transform(data, NAMES[: X.shape[1]], operators)


def drawn(
    rows: int, columns: int, low: float = 1.0, high: float = 3.0, seed: int = 0
) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, (rows, columns))


def noisy(y: np.ndarray, part: float) -> np.ndarray:
    return y + part * y.std() * np.random.default_rng(99).normal(size=len(y))


def powers(part: DerivedColumn) -> dict[str, Fraction]:
    """The exponents of a product of columns, by name."""
    pairs = part.factors if isinstance(part, ColumnProduct) else ((part, Fraction(1)),)
    assert all(isinstance(each, TableColumn) for each, _ in pairs)
    return {str(each): power for each, power in pairs}


@examples(40)
@given(
    halves=st.lists(st.integers(-6, 6), min_size=2, max_size=5).filter(any),
    number=st.sampled_from([1.0, -2.5, 1e-3, 40.0]),
    seed=st.integers(0, 1000),
)
def test_products_of_powers_need_no_column(halves: list[int], number: float, seed: int) -> None:
    X = drawn(300, len(halves), seed=seed)
    y = number * np.prod(X ** (np.array(halves) / 2), axis=1)
    transform = seen(X, y)
    assert transform is not None
    assert transform.columns == ()
    wanted = {name: Fraction(half, 2) for name, half in zip(NAMES, halves, strict=False) if half}
    assert powers(transform.factor) == wanted


LAWS: list[tuple[str, Callable[..., np.ndarray], str]] = [
    ("a ratio", lambda a, b, c: a / np.sqrt(1 + (b / c) ** 2), "y/a depends on c/b only"),
    ("a difference", lambda a, b, c: c * np.exp(-((a - b) ** 2)), "y/c depends on a - b only"),
    ("a sum", lambda a, b, c: np.sin(a + b) / c, "y*c depends on a + b only"),
    ("squares", lambda a, b, c: c * np.sqrt(1 + a**2 + b**2), "y/c depends on a**2 + b**2 only"),
    ("reciprocals", lambda a, b, c: np.tanh(1 / a + 1 / b) * c, "y/c depends on 1/a + 1/b only"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize(("function", "text"), [law[1:] for law in LAWS], ids=[x[0] for x in LAWS])
def test_columns_that_act_together(
    function: Callable[..., np.ndarray], text: str, noise: float
) -> None:
    X = drawn(4_000 if noise else 600, 3)
    transform = seen(X, noisy(function(*X.T), noise))
    assert str(transform) == text


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_table_without_symmetry_stays(noise: float) -> None:
    X = drawn(2_000, 3, 0.5, 3.0)
    a, b, c = X.T
    assert (
        seen(X, noisy(np.sin(2 * a) * b**2 + np.exp(b / 2 - c) + c * np.cos(a * c), noise)) is None
    )


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("low", [0.5, -2.0])
def test_idle_columns_go(low: float, noise: float) -> None:
    X = drawn(1_000, 4, low, 2.5)
    a, _, c, _ = X.T
    transform = seen(X, noisy(np.sin(2 * a) + np.exp(c) * a**2, noise))
    assert str(transform) == "y depends on a, c only"


def test_a_column_that_matters_a_little_stays() -> None:
    X = drawn(3_000, 3, -2.0, 2.0)
    a, b, c = X.T
    transform = seen(X, noisy(np.sin(2 * a) + np.exp(b) * a**2 + 0.3 * c * b, 0.02))
    assert transform is None


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["constant", "zero", "twice", "other unit", "difference"])
def test_columns_that_say_nothing_new_go(extra: str) -> None:
    X = drawn(400, 3)
    column = {
        "constant": np.full(400, 2.0),
        "zero": np.zeros(400),
        "twice": X[:, 1],
        "other unit": 1e3 * X[:, 1],
        "difference": X[:, 0] - X[:, 2],
    }[extra]
    transform = seen(np.column_stack([X, column]), X[:, 0] / np.sqrt(1 + (X[:, 1] / X[:, 2]) ** 2))
    assert transform is not None
    assert len(transform.columns) == 1
    if extra in ("constant", "zero"):
        assert "d" not in str(transform).replace("depends", "")


def test_columns_with_zeros_and_of_both_signs() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(1, 3, (500, 3))
    X[:, 1] = rng.choice([0.0, 1.0, 2.0, -1.5, -0.5], 500)
    transform = seen(X, X[:, 0] * np.cos(X[:, 1]))
    assert str(transform) == "y/a depends on b only"
    X[:, 1] = rng.uniform(-3, 3, 500)
    X[:, 0] *= -1  # a stretch keeps a sign
    transform = seen(X, X[:, 0] ** 2 * np.exp(X[:, 1]) / X[:, 2])
    assert transform is not None
    assert [str(each) for each in transform.columns] == ["b"]
    assert powers(transform.factor) == {"a": 2, "c": -1}


def test_roots_of_negative_columns_are_not_taken() -> None:
    X = -drawn(500, 2)
    transform = seen(X, np.sqrt(-X[:, 0]) * X[:, 1])
    assert transform is not None
    assert powers(transform.factor) == {"b": 1}
    assert [str(each) for each in transform.columns] == ["a"]


def test_missing_operators_are_respected() -> None:
    X = drawn(500, 2)
    root = np.sqrt(X[:, 0]) * X[:, 1]
    assert seen(X, root, {"add", "sub", "mul"}) is None
    transform = seen(X, root, {"mul", "div"})
    assert transform is not None
    assert "sqrt" not in [
        *transform.factor.words(),
        *(w for each in transform.columns for w in each.words()),
    ]
    assert seen(X, np.sin(X[:, 0] + X[:, 1]), {"mul", "div"}) is None


def test_few_rows_and_one_column_tell_nothing() -> None:
    X = drawn(99, 2)
    assert seen(X, X[:, 0] * X[:, 1]) is None
    assert seen(np.vstack([X, [[2.0, 3.0]]]), np.r_[X[:, 0] * X[:, 1], 6.0]) is not None
    assert seen(drawn(200, 1), drawn(200, 1)[:, 0] ** 2) is None


@pytest.mark.parametrize("unit", [1e-100, 1e-12, 1e15, 1e60])
def test_units_do_not_matter(unit: float) -> None:
    X = drawn(400, 3) * [unit, 1, unit]
    transform = seen(X, X[:, 0] / np.sqrt(1 + (X[:, 0] / X[:, 2]) ** 2) * X[:, 1])
    assert str(transform) == "y/(b*c) depends on a/c only"


@pytest.mark.slow
def test_weights_say_which_rows_count() -> None:
    """Rows of no weight break the symmetry, and are not asked."""
    X = drawn(800, 3)
    y = X[:, 0] * np.sin(X[:, 1]) / X[:, 2]
    weights = np.r_[np.full(600, 4 / 3), np.full(200, 1e-12)]
    y[600:] *= X[600:, 2] ** 3
    transform = seen(X, y, weights=weights)
    assert transform is not None
    assert [str(each) for each in transform.columns] == ["b"]


@pytest.mark.slow
def test_many_rows_are_looked_at_where_few_do_not_tell() -> None:
    X = drawn(20_000, 4)
    a, b, c, d = X.T
    y = noisy(np.sin(a / b) * c + d**2 * c * np.exp(-a / b), 0.3)
    transform = seen(X, y)
    assert transform is not None
    assert len(transform.columns) <= 3


@examples(15)
@given(seed=st.integers(0, 10_000), columns=st.integers(2, 4), low=st.sampled_from([-1.0, 0.5]))
def test_noise_ends_without_a_warning(seed: int, columns: int, low: float) -> None:
    X = drawn(150, columns, low, 2.0, seed)
    transform = seen(X, np.random.default_rng(seed).normal(size=150))
    assert transform is None or np.isfinite(transform.data(Data(X, X[:, 0], np.ones(150))).X).all()


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_many_columns_of_no_use_are_left_out(noise: float) -> None:
    draw = np.random.default_rng(5)
    X = draw.uniform(1, 3, (3000, 20))
    y = X[:, 3] * X[:, 11] / np.sqrt(1 + (X[:, 17] / X[:, 6]) ** 2)
    y += noise * y.std() * draw.normal(size=len(y))
    names = tuple(f"x{at}" for at in range(20))
    transform = reducing_transform(Data(X, y, np.ones(len(y))), names, {"mul", "div"})
    assert str(transform) in (
        "y/(x3*x11) depends on x6/x17 only",
        "y/(x3*x11) depends on x17/x6 only",
    )
