"""What every table is asked for, whatever the file: names, numbers and where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError

__all__ = ["CellError", "Source"]

# Builds the error for a cell that is not a number: its column, its place and its content.
CellError = Callable[[int, str, object], InputError]


class Source(Protocol):
    """A table that has been opened."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, tidy."""

    @property
    def units(self) -> Mapping[str, str]:
        """Units of columns by name, where the file has them in a row of their own."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done that the user may not expect, a sentence each."""

    @property
    def header(self) -> str:
        """Where the names are, in words."""

    @property
    def first_row(self) -> int:
        """The first row of numbers in a spreadsheet that shows the file."""

    @property
    def comments(self) -> int:
        """How many lines are left out."""

    def misread(self) -> InputError | None:
        """The error about a wrong delimiter, when that is why there is only one column."""

    def floats(self, columns: Sequence[int], cell_error: CellError) -> NDArray[np.float64]:
        """The numbers [N, k] of some columns; nan where one is missing."""

    def head(self, count: int) -> list[list[str]]:
        """The first rows as text; a missing value is one of `MISSING`."""

    def where(self, row: int) -> str:
        """The place in the file of a row, counted from 0, in words."""
