"""Data: arrays of inputs and target that a search can rely on, its rows and its units.

`Data.checked` lets in finite float64 arrays of matching lengths only. From there rows are split
into training and validation rows, sampled, and scaled.

Columns far from 1 are divided by a power of ten. A search starts its constants at 1 and takes sines
and exponentials of what it is given, so that it could not use a column of 1e-9 or 1e12. Columns of
ordinary size stay as they are: the formula sin(x) is simpler than sin(10*x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.arguments import real_array
from symseek.arrays import Floats
from symseek.errors import InputError, Setting

FEWEST_ROWS = 3  # a line fits any two points
LARGEST = 1e150  # the squares of larger numbers overflow
_BLOCK = 1 << 16  # rows looked at together, so that no copy of a large table is made
_SMALL, _LARGE = 0.01, 100.0  # a column whose typical size is between these is left alone


@dataclass(frozen=True)
class Data:
    """Inputs, target and row weights, checked."""

    X: Floats  # [N, n], in any order of memory: a large table is never copied
    y: Floats  # [N]
    weights: Floats  # [N], mean 1
    place: NDArray[np.intp] | None = None  # [N], where rows stood in the table; None: as they are
    sigma: Floats | None = None  # [N], the error of measurement of each y, if it is known

    @classmethod
    def checked(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        variables: Sequence[str],
        weights: ArrayLike | None = None,
        sigma: ArrayLike | None = None,
    ) -> Data:
        """Check and convert; every complaint names the column or row.

        >>> Data.checked([[1.0], [2.0]], [[3.0], [4.0]], ["x"]).y  # a column vector is flattened
        array([3., 4.])
        """
        inputs = real_array(X, "X")
        if inputs.ndim == 1 and len(variables) == 1:
            inputs = inputs[:, None]
        if inputs.ndim != 2:
            text = f"X has shape {inputs.shape}; it must have rows and columns"
            raise InputError(text, field="X", value=inputs.shape)
        rows, columns = inputs.shape
        if rows == 0 or columns == 0:
            raise InputError(
                f"X has {rows} rows and {columns} columns; it needs at least one of each",
                field="X",
                value=inputs.shape,
            )
        if columns != len(variables):
            raise InputError(
                f"X has {columns} columns but the library has {len(variables)} input variables"
                f" ({', '.join(variables)})",
                field="X",
                value=columns,
            )
        target = _vector(y, "y", rows)
        _refuse_non_finite(inputs, variables)
        _refuse_non_finite(target[:, None])
        errors = None if sigma is None else _row_errors(sigma, rows)
        return cls(inputs, target, _row_weights(weights, rows), sigma=errors)

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
        weights = weights * (len(chosen) / weights.sum())
        place = None if self.place is None else self.place[chosen]
        sigma = None if self.sigma is None else self.sigma[chosen]
        return Data(_taken(self.X, chosen), self.y[chosen], weights, place, sigma)

    def counted(self) -> Data:
        """The rows that have a weight; no copy where all have one."""
        kept = self.weights > 0
        return self if kept.all() else self.rows(np.flatnonzero(kept))

    def merged(self) -> Data:
        """Equal rows as one row of their weight together, in an order that the values decide.

        So a row given twice counts exactly as one of weight 2. Where rows stood is kept beside.
        Where each has its own error of measurement, none are equal.
        """
        if self.sigma is not None:
            return self.counted()
        first, same = _equal_rows([*self.X.T, self.y])
        weights = np.bincount(same, weights=self.weights, minlength=len(first))
        kept = weights > 0
        first, total = first[kept], weights.sum()
        y = self.y[first] + 0.0  # -0.0 is 0.0
        X = _taken(self.X, first)
        X += 0.0
        return Data(X, y, weights[kept] * (len(first) / total), first)

    def split(self, share: float, seed: int) -> tuple[Data, Data | None]:
        """Training rows, and validation rows drawn at random: a share of all."""
        rows = len(self.y)
        if share == 0:
            return self, None
        count = round(share * rows)
        if count < 2 or rows - count < FEWEST_ROWS:
            raise InputError(
                Setting("validation"),
                f" is {share}, which is {count} of {rows} rows; it must be at least 2 of them, and"
                f" leave {FEWEST_ROWS}",
            )
        order = np.random.default_rng([seed, 1]).permutation(rows)
        return self.rows(np.sort(order[count:])), self.rows(np.sort(order[:count]))

    def sampled(self, most: int | None, seed: int) -> Data:
        """At most so many rows, drawn at random."""
        rows = len(self.y)
        if most is None or rows <= most:
            return self
        chosen = np.random.default_rng([seed, 2]).choice(rows, most, replace=False)
        return self.rows(np.sort(chosen))

    def of_each(self, column: int, most: int, seed: int) -> Data:
        """About so many rows at most, drawn at random, as many as there are of rare values.

        Each value of a column has its part of the rows.
        """
        rows = len(self.y)
        if rows <= most:
            return self
        order = np.random.default_rng([seed, 2]).permutation(rows)
        order = order[np.argsort(self.X[order, column], kind="stable")]
        values, begins = np.unique(self.X[order, column], return_index=True)
        place = np.arange(rows) - np.repeat(begins, np.diff([*begins, rows]))
        return self.rows(np.sort(order[place < max(1, most // len(values))]))

    def spanning(self, most: int, seed: int) -> Data:
        """At most so many rows drawn at random, and those at the ends of each column beside them.

        A formula may be undefined where a column is smallest, largest or nearest to zero.

        >>> data = Data(np.arange(-50.0, 50.0)[:, None], np.arange(100.0), np.ones(100))
        >>> data.spanning(2, seed=0).X[:, 0].tolist()
        [-50.0, -42.0, 0.0, 46.0, 49.0]
        """
        rows = len(self.y)
        if rows <= most:
            return self
        drawn = np.random.default_rng([seed, 2]).choice(rows, most, replace=False)
        ends = [
            end
            for column in self.X.T
            for end in (column.argmin(), column.argmax(), np.abs(column).argmin())
        ]
        return self.rows(np.union1d(drawn, np.array(ends)))

    def covering(self, count: int, seed: int) -> Data:
        """About `count` rows that stand for all: even along the target, drawn at random within.

        A row is drawn the more often the more it weighs, and all draws count alike. The rows where
        a column is smallest or largest are there too, as far as they are few, with weight 0: they
        show where a formula is undefined.

        >>> data = Data(np.arange(100.0)[:, None], np.arange(100.0) ** 2, np.ones(100))
        >>> some = data.covering(4, seed=0)
        >>> some.X[:, 0].tolist(), some.weights.tolist()
        ([0.0, 10.0, 41.0, 54.0, 78.0, 99.0], [0.0, 1.5, 1.5, 1.5, 1.5, 0.0])
        """
        order = np.argsort(self.y, kind="stable")
        upto = np.cumsum(self.weights[order])
        places = (np.arange(count) + np.random.default_rng([seed, 3, count]).random(count)) / count
        drawn = np.minimum(np.searchsorted(upto, places * upto[-1], "right"), len(order) - 1)
        times = np.bincount(order[drawn], minlength=len(order)).astype(np.float64)
        edges = np.unique([self.X.argmin(axis=0), self.X.argmax(axis=0)])
        rows = np.union1d(np.flatnonzero(times), edges[: count // 2])
        sigma = None if self.sigma is None else self.sigma[rows]
        return Data(self.X[rows], self.y[rows], times[rows] * (len(rows) / count), sigma=sigma)

    def scaled(self, scales: Scales) -> Data:
        """The rows in other units; no copy where those are the same."""
        if scales.target == 1.0 and (scales.inputs == 1.0).all():
            return self
        sigma = None if self.sigma is None else self.sigma / scales.target
        return replace(self, X=self.X / scales.inputs, y=self.y / scales.target, sigma=sigma)

    def refuse_few_rows(self) -> None:
        """Refuse a table from which nothing can be learnt."""
        rows = len(self.y)
        if rows < FEWEST_ROWS:
            many = "is only one row" if rows == 1 else f"are only {rows} different rows"
            raise InputError(f"there {many}; a search needs at least {FEWEST_ROWS}, so add some")

    def refuse_extreme_target(self) -> None:
        """Refuse a target whose squares overflow or vanish."""
        largest = float(np.abs(self.y).max())
        if largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
            raise InputError(
                f"y reaches {largest:g}, and squares of such numbers are lost; give it in other"
                " units",
                field="y",
                value=largest,
            )

    def refuse_constant_target(self, why: str) -> None:
        """Refuse a target that is the same in every row."""
        if self.y.min() == self.y.max() or not self.spread > 0:
            raise InputError(
                f"y is constant ({self.y[0]:g} in every row), so {why} is undefined;"
                " give a target that varies",
                field="y",
                value=float(self.y[0]),
            )


@dataclass(frozen=True)
class Scales:
    """What each input and the target are divided by.

    >>> scales = Scales.of(np.array([[1.5e11, 0.3], [7.8e11, 0.2]]), np.array([3e7, 4e8]))
    >>> scales.inputs.tolist(), scales.target
    ([1000000000000.0, 1.0], 100000000.0)
    """

    inputs: Floats  # [n]
    target: float

    @classmethod
    def of(cls, X: Floats, y: Floats) -> Scales:
        """The powers of ten that bring columns to a size near 1, where they are far from it."""
        *inputs, target = (power_of_ten(size(column)) for column in (*X.T, y))
        return cls(np.array(inputs), target)

    @classmethod
    def none(cls, columns: int) -> Scales:
        """Everything stays as it is."""
        return cls(np.ones(columns), 1.0)


def _taken(X: Floats, chosen: NDArray[np.intp]) -> Floats:
    """Some rows of X [N, n], row after row in memory, however the table lies."""
    rows = np.empty((len(chosen), X.shape[1]))
    for at, column in enumerate(X.T):
        rows[:, at] = column[chosen]
    return rows


def _equal_rows(columns: Sequence[Floats]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first of each group of equal rows, and the group of every row [N].

    Groups are in the order of the first column, and where that has equal values of the next.

    >>> first, same = _equal_rows([np.array([2.0, 1.0, 2.0, 1.0]), np.array([5.0, 7.0, 5.0, 6.0])])
    >>> first.tolist(), same.tolist()
    ([3, 1, 0], [2, 1, 2, 0])
    """
    order = np.argsort(columns[0], kind="stable")
    values = columns[0][order]
    begins = np.append(True, values[1:] != values[:-1])  # a group of rows that are equal so far
    for column in columns[1:]:
        tied = np.flatnonzero(~(begins & np.append(begins[1:], True)))
        if not len(tied):
            break
        values = column[order[tied]]
        again = np.lexsort((values, np.cumsum(begins)[tied]))
        order[tied], values = order[tied[again]], values[again]
        begins[tied[1:]] |= values[1:] != values[:-1]
    same = np.empty(len(order), dtype=np.intp)
    same[order] = np.cumsum(begins) - 1
    return order[begins], same


def _vector(values: ArrayLike, what: str, rows: int) -> Floats:
    vector = real_array(values, what)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        text = f"{what} has shape {vector.shape}; it must be one value for each row"
        raise InputError(text, field=what, value=vector.shape)
    if len(vector) != rows:
        text = f"X has {rows} rows but {what} has {len(vector)} values"
        raise InputError(text, field=what, value=len(vector))
    return np.ascontiguousarray(vector)


def _refuse_non_finite(table: Floats, names: Sequence[str] = ()) -> None:
    """Refuse what is no finite number, in columns of these names or else in y."""
    for start in range(0, len(table), _BLOCK):
        bad = ~np.isfinite(table[start : start + _BLOCK])
        if not bad.any():
            continue
        row, column = (int(each) for each in np.argwhere(bad)[0] + (start, 0))
        raise InputError(
            f"column {names[column]!r} of X" if names else "y",
            f" has {table[row, column]} in row {row};"
            " remove or replace rows with missing or infinite values",
            field=names[column] if names else "y",
            kind="column" if names else "argument",
            value=float(table[row, column]),
            row=row,
        )


def _row_weights(weights: ArrayLike | None, rows: int) -> Floats:
    if weights is None:
        return np.ones(rows)
    vector = _vector(weights, "weights", rows)
    if not np.isfinite(vector).all() or (vector < 0).any() or not vector.sum() > 0:
        text = "weights must be finite, not negative, and not all zero"
        raise InputError(text, field="weights")
    return np.asarray(vector * (rows / vector.sum()))


def _row_errors(sigma: ArrayLike, rows: int) -> Floats:
    """Errors of measurement; one that is not positive is refused by its row."""
    vector = _vector(sigma, "sigma", rows)
    wrong = ~((vector > 0) & np.isfinite(vector))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"sigma is {vector[row]:g} in row {row + 1}; every error of measurement must be"
            " positive",
            field="sigma",
            value=float(vector[row]),
            row=row,
        )
    return vector


def size(values: Floats) -> float:
    """The root of the mean square; 1 where all are 0.

    >>> size(np.array([3.0, -3.0]))
    3.0
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    return largest * math.sqrt(float(np.mean((values / largest) ** 2)))


def power_of_ten(size: float) -> float:
    """A power of ten near a size that is far from 1; else 1.

    >>> power_of_ten(30.0), power_of_ten(3000.0)
    (1.0, 1000.0)
    """
    return 1.0 if _SMALL <= size <= _LARGE else 10.0 ** round(math.log10(size))
