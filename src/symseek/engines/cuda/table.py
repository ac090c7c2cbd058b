"""The numbers that programs are evaluated on: on the device if they fit there, else on the host.

A table larger than the device is handed to the kernels block by block. Sums over the rows are the
same either way: blocks are whole parts of those sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.engines.cuda.device import Array, Device
from symseek.errors import InputError

PART = 8192  # rows of one sum: what is added in which order follows from the number of rows alone
SHARE = 0.6  # of the device's free memory that a table may take


@dataclass(frozen=True)
class RowBlock:
    """Some rows of all data sets, on the device."""

    columns: Array  # [D, n, stride]
    target: Array | None  # [D, stride]
    weight: Array | None  # [D, stride]
    begin: int  # the first of them in the whole table
    rows: int

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What kernels are given: the arrays and their sizes."""
        _, variables, stride = self.columns.shape
        sizes = (np.int32(variables), np.int64(stride), np.int64(0), np.int64(self.rows))
        return (self.columns, self.target, self.weight, *sizes)


class DeviceTable:
    """Data sets of equal size: X [N, n] and y [N], or X [D, N, n] and y [D, N]."""

    def __init__(self, device: Device, X: Floats, y: Floats | None, weights: Floats | None) -> None:
        self._device = device
        X = np.asarray(X, dtype=np.float64)
        if X.ndim == 2:
            X = X[None]
        sizes: tuple[int, int, int] = X.shape
        self.sets, self.rows, self.variables = sizes
        self._X = X
        self.target = None if y is None else _sets(y, self.sets, self.rows)
        self.weight = None
        if self.target is not None:
            given = np.ones(self.rows) if weights is None else weights
            self.weight = _sets(given, self.sets, self.rows)
        self._row_bytes = 8 * self.sets * (self.variables + 2)
        self.resident: RowBlock | None = None
        if self.rows * self._row_bytes <= SHARE * device.free_memory():
            self.resident = self._block(0, self.rows)

    def _block(self, begin: int, rows: int) -> RowBlock:
        return self._block_of(slice(begin, begin + rows), self._device.xp.asarray)

    def _block_of(
        self, rows: slice | NDArray[np.intp], make: Callable[[Floats], Array]
    ) -> RowBlock:
        columns = np.ascontiguousarray(self._X[:, rows].transpose(0, 2, 1))
        target, weight = (
            None if each is None else make(np.ascontiguousarray(each[:, rows]))
            for each in (self.target, self.weight)
        )
        begin = rows.start if isinstance(rows, slice) else 0
        return RowBlock(make(columns), target, weight, begin, columns.shape[2])

    def blocks(self) -> Iterator[RowBlock]:
        """The table, in one block or in several, one after another."""
        if self.resident is not None:
            yield self.resident
            return
        most = self._most_rows()
        for begin in range(0, self.rows, most):
            yield self._block(begin, min(most, self.rows - begin))

    def _budget(self) -> int:
        return int(SHARE * self._device.free_memory()) // 2

    def _most_rows(self) -> int:
        """Rows of a block: as many as take half of what may be used."""
        if self.resident is not None:
            return self.rows
        most = self._budget() // self._row_bytes // PART * PART
        if most == 0:
            raise InputError(
                f"the GPU has no room for {PART} rows of {self.variables} columns; free some of its"
                " memory, or use the engine 'native'"
            )
        return most

    def portion(self, programs: int) -> int:
        """How many programs may have the values of a block on the device at once."""
        return max(1, min(programs, self._budget() // (8 * self._most_rows())))

    def some_rows(self, rows: NDArray[np.intp]) -> RowBlock:
        """These rows, on the device."""
        return self._block_of(rows, self._device.xp.asarray)

    def anywhere(self) -> RowBlock:
        """The whole table: on the device, or in memory of the host that kernels can read."""
        if self.resident is None:
            return self._block_of(slice(0, self.rows), self._device.pinned)
        return self.resident

    def check_resident(self) -> RowBlock:
        """The whole table on the device."""
        if self.resident is None:
            raise InputError(
                f"{self.sets} tables of {self.rows} rows and {self.variables} columns do not fit on"
                f" the GPU ({self._device.name}); use fewer rows, or the engine 'native'"
            )
        return self.resident


def _sets(values: Floats, sets: int, rows: int) -> Floats:
    """[D, N] of what may be given once for all."""
    return np.broadcast_to(np.asarray(values, dtype=np.float64), (sets, rows))
