"""Tables in, checked: arrays of inputs and target that a search can rely on.

Everything after this module takes finite float64 arrays of matching lengths for granted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.errors import InputError

__all__ = ["Data"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """Inputs, target and row weights, checked."""

    X: Floats  # [N, n]
    y: Floats  # [N]
    weights: Floats  # [N], mean 1

    @classmethod
    def checked(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        variables: Sequence[str],
        weights: ArrayLike | None = None,
    ) -> Data:
        """Check and convert; every complaint names the column or row.

        >>> Data.checked([[1.0], [2.0]], [[3.0], [4.0]], ["x"]).y  # a column vector is flattened
        array([3., 4.])
        """
        inputs = _numbers(X, "X")
        if inputs.ndim == 1 and len(variables) == 1:
            inputs = inputs[:, None]
        if inputs.ndim != 2:
            raise InputError(f"X has shape {inputs.shape}; it must have rows and columns")
        rows, columns = inputs.shape
        if rows == 0 or columns == 0:
            raise InputError(
                f"X has {rows} rows and {columns} columns; it needs at least one of each"
            )
        if columns != len(variables):
            raise InputError(
                f"X has {columns} columns but the library has {len(variables)} input variables"
                f" ({', '.join(variables)})"
            )
        target = _vector(y, "y", rows)
        _refuse_non_finite(inputs, [f"column {name!r} of X" for name in variables])
        _refuse_non_finite(target[:, None], ["y"])
        return cls(np.ascontiguousarray(inputs), target, _row_weights(weights, rows))

    @cached_property
    def spread(self) -> float:
        """The weighted standard deviation of y, the same to the last bit on every machine."""
        total = math.fsum(self.weights)
        mean = math.fsum(self.weights * self.y) / total
        return math.sqrt(math.fsum(self.weights * (self.y - mean) ** 2) / total)

    def rows(self, chosen: NDArray[np.intp]) -> Data:
        """Some of the rows; their weights count among themselves."""
        weights = self.weights[chosen]
        if not weights.sum() > 0:
            raise InputError("all rows that were drawn have weight 0; give weights to more rows")
        return Data(self.X[chosen], self.y[chosen], weights * (len(chosen) / weights.sum()))

    def merged(self) -> Data:
        """Equal rows as one row of their weight together, in an order that the values decide.

        So a row given twice counts exactly as one of weight 2, and the order of rows not at all.
        """
        table = np.column_stack([self.X, self.y])
        table[table == 0.0] = 0.0  # -0.0 is 0.0
        rows, place = np.unique(table, axis=0, return_inverse=True)
        weights = np.bincount(place.ravel(), weights=self.weights, minlength=len(rows))
        kept = np.flatnonzero(weights > 0)
        return Data(
            np.ascontiguousarray(rows[kept, :-1]),
            np.ascontiguousarray(rows[kept, -1]),
            weights[kept] * (len(kept) / weights.sum()),
        )

    def refuse_constant_target(self, why: str) -> None:
        """Complain when every y is the same."""
        if self.y.min() == self.y.max() or not self.spread > 0:
            raise InputError(
                f"y is constant ({self.y[0]:g} in every row), so {why} is undefined;"
                " give a target that varies"
            )


def _numbers(values: ArrayLike, what: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers: {error}") from None


def _vector(values: ArrayLike, what: str, rows: int) -> Floats:
    vector = _numbers(values, what)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise InputError(f"{what} has shape {vector.shape}; it must be one value for each row")
    if len(vector) != rows:
        raise InputError(f"X has {rows} rows but {what} has {len(vector)} values")
    return np.ascontiguousarray(vector)


def _refuse_non_finite(table: Floats, names: Sequence[str]) -> None:
    bad = ~np.isfinite(table)
    if bad.any():
        row, column = (int(each) for each in np.argwhere(bad)[0])
        raise InputError(
            f"{names[column]} has {table[row, column]} in row {row};"
            " remove or replace rows with missing or infinite values"
        )


def _row_weights(weights: ArrayLike | None, rows: int) -> Floats:
    if weights is None:
        return np.ones(rows)
    vector = _vector(weights, "weights", rows)
    if not np.isfinite(vector).all() or (vector < 0).any() or not vector.sum() > 0:
        raise InputError("weights must be finite, not negative, and not all zero")
    return np.asarray(vector * (rows / vector.sum()))
