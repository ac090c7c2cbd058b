"""Bad tables get one clear sentence."""

from __future__ import annotations

import numpy as np
import pytest

from symseek import InputError, Library, Search
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
        ([["a"], ["b"]], [1, 2], "X must be numbers"),
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
    Search(library, X, np.full(5, 2.0), reward="inverse_mse")


@pytest.mark.parametrize("weights", [np.full(5, -1.0), np.zeros(5), np.full(5, np.nan), np.ones(4)])
def test_bad_weights(weights: np.ndarray) -> None:
    with pytest.raises(InputError, match="weights"):
        Data.checked(X, Y, ["x"], weights)


def test_spread_is_the_weighted_standard_deviation() -> None:
    weights = np.array([1.0, 2.0, 0.0, 4.0, 1.0])
    data = Data.checked(X, Y, ["x"], weights)
    mean = np.average(Y, weights=weights)
    expected = np.sqrt(np.average((Y - mean) ** 2, weights=weights))
    assert data.spread == pytest.approx(expected, rel=1e-14)
