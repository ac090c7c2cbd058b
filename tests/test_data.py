"""Bad tables get one clear sentence."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from symseek import InputError, Library, Search, presets
from symseek.data import Data

X = np.linspace(0, 1, 5)[:, None]
Y = X[:, 0] ** 2
NAN_Y = np.where(np.arange(5) == 3, np.nan, Y)
INF_Y = np.where(np.arange(5) == 2, np.inf, Y)


@pytest.mark.parametrize(
    ("inputs", "target", "message"),
    [
        (X, NAN_Y, "y has nan in row 3"),
        (X, INF_Y, "y has inf in row 2"),
        (np.where(X == 0.5, np.nan, X), Y, "column 'x' of X has nan in row 2"),
        (X, Y[:4], "X has 5 rows but y has 4 values"),
        (np.empty((0, 1)), np.empty(0), "0 rows"),
        (np.empty((5, 0)), Y, "0 columns"),
        (np.ones((5, 2)), Y, "X has 2 columns but the library has 1 input variable"),
        (X, np.column_stack([Y, Y]), "y has shape"),
        (np.ones((5, 1, 1)), Y, "X has shape"),
        ([["a"], ["b"]], [1, 2], "X has the text 'a' in row 0"),
        ([[object()], [1]], [1, 2], "X must be numbers"),
        (X, np.full(5, 2.0), "y is constant"),
    ],
)
def test_bad_tables(inputs: object, target: object, message: str) -> None:
    library = Library(["add", "mul"], variables=["x"])
    with pytest.raises(InputError, match=message):
        Search(library, inputs, target)  # type: ignore[arg-type]


def test_a_column_vector_is_flattened() -> None:
    assert Data.checked(X, Y[:, None], ["x"]).y.shape == (5,)


def test_one_variable_may_come_as_a_vector() -> None:
    assert Data.checked(X[:, 0], Y, ["x"]).X.shape == (5, 1)


def test_a_constant_target_is_fine_where_nothing_is_normalised() -> None:
    library = Library(["add", "mul"], variables=["x"])
    config = presets.dsr(max_expressions=1000)
    best = Search(library, X, np.full(5, 2.0), config, reward="inverse_mse").run().best
    assert best is not None
    squared = np.mean((best.program.evaluate(X) - 2.0) ** 2)
    assert best.reward == pytest.approx(1 / (1 + squared))


@pytest.mark.parametrize("weights", [np.full(5, -1.0), np.zeros(5), np.full(5, np.nan), np.ones(4)])
def test_bad_weights(weights: np.ndarray) -> None:
    with refused("weights"):
        Data.checked(X, Y, ["x"], weights)


def test_spread_is_the_weighted_standard_deviation() -> None:
    weights = np.array([1.0, 2.0, 0.0, 4.0, 1.0])
    data = Data.checked(X, Y, ["x"], weights)
    mean = np.average(Y, weights=weights)
    expected = np.sqrt(np.average((Y - mean) ** 2, weights=weights))
    assert data.spread == pytest.approx(expected, rel=1e-14)


# --- rows merged and chosen


def test_equal_rows_become_one_of_their_weight_together() -> None:
    table = np.array([[2.0, 0.0], [1.0, 5.0], [2.0, -0.0], [1.0, 5.0], [1.0, 5.0]])
    y = np.array([3.0, 4.0, 3.0, 4.0, 9.0])
    merged = Data.checked(table, y, ["a", "b"]).merged()
    assert merged.X.tolist() == [[1.0, 5.0], [1.0, 5.0], [2.0, 0.0]]
    assert merged.y.tolist() == [4.0, 9.0, 3.0]
    assert merged.weights == pytest.approx([1.2, 0.6, 1.2])
    assert merged.X.flags.c_contiguous
    assert merged.y.flags.c_contiguous


def test_merged_rows_stand_for_those_they_were() -> None:
    draw = np.random.default_rng(0)
    table, y = draw.integers(0, 3, (50, 2)).astype(float), draw.integers(0, 3, 50).astype(float)
    weights = draw.integers(0, 4, 50).astype(float)
    data = Data.checked(table, y, ["a", "b"], weights)
    merged = data.merged()
    assert len(merged.y) < 27
    assert merged.weights.mean() == pytest.approx(1.0)
    assert (merged.weights > 0).all()
    assert merged.spread == pytest.approx(data.spread)
    order = draw.permutation(50)
    other = Data.checked(table[order], y[order], ["a", "b"], weights[order]).merged()
    assert np.array_equal(merged.X, other.X)
    assert np.array_equal(merged.y, other.y)
    assert merged.weights == pytest.approx(other.weights)


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 4), st.integers(1, 5))
def test_rows_are_merged_as_by_numpy(seed: int, rows: int, columns: int, values: int) -> None:
    draw = np.random.default_rng(seed)
    table = draw.choice([-0.0, 0.0, 1.5, -2.0, 1e-300][:values], (rows, columns + 1))
    weights = draw.integers(0, 3, rows) + np.eye(rows)[0]
    data = Data(table[:, :-1], table[:, -1], weights)
    merged = data.merged()
    unique, first, same = np.unique(table + 0.0, axis=0, return_index=True, return_inverse=True)
    summed = np.bincount(same.ravel(), weights)
    kept = summed > 0
    found = np.column_stack([merged.X, merged.y])
    assert found.tobytes() == unique[kept].tobytes()
    assert np.array_equal(merged.place, first[kept])
    assert np.array_equal(merged.weights, summed[kept] * (kept.sum() / summed.sum()))


def test_a_table_is_merged_with_one_copy_of_it() -> None:
    X = np.random.default_rng(0).normal(size=(2_000, 30))
    data = Data(X, X[:, 0], np.ones(2_000))
    tracemalloc.start()
    data.merged()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.5 * X.nbytes


def test_rows_without_weight_are_left_out_when_merged() -> None:
    merged = Data.checked(X, Y, ["x"], [0.0, 1.0, 0.0, 3.0, 0.0]).merged()
    assert merged.X[:, 0].tolist() == [0.25, 0.75]
    assert merged.weights == pytest.approx([0.5, 1.5])


def test_some_rows() -> None:
    data = Data.checked(X, Y, ["x"], [1.0, 1.0, 2.0, 4.0, 0.0])
    some = data.rows(np.array([3, 1]))
    assert some.X[:, 0].tolist() == [0.75, 0.25]
    assert some.y.tolist() == [Y[3], Y[1]]
    assert some.weights == pytest.approx([1.6, 0.4])
    with pytest.raises(InputError, match="all rows that were drawn have weight 0"):
        data.rows(np.array([4]))
