"""What every table is asked for, whatever the file: names, numbers and where they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from symseek.arrays import Floats
from symseek.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

S = TypeVar("S", bound="TableSource")


@dataclass(frozen=True)
class TextCell:
    """The first cell of a column that is no number."""

    row: int
    where: str  # in words
    value: object


@dataclass(frozen=True)
class Numbers:
    """The numbers of some columns, and what is in the way of them."""

    values: Floats  # [N, k], nan where there is no number
    texts: Mapping[int, TextCell]  # by the places among these columns
    lines: Sequence[int] | None = None  # [N] where each row is in a file of text, if known

    def of(self, columns: Sequence[int]) -> Numbers:
        """Those of some of the columns."""
        if list(columns) == list(range(self.values.shape[1])):
            return self
        texts = {at: self.texts[each] for at, each in enumerate(columns) if each in self.texts}
        return Numbers(self.values[:, list(columns)], texts, self.lines)

    def with_text(self) -> list[int]:
        """The columns with a cell that is no number, in the order of these cells."""
        return sorted(self.texts, key=lambda at: (self.texts[at].row, at))


@dataclass(frozen=True)
class TableSource(ABC):
    """A table that has been opened: everything but its numbers, unless these are `held`."""

    path: Path
    names: tuple[str, ...]  # of the columns, tidy
    units: Mapping[str, str]  # of columns by name, from a row of their own
    notes: tuple[str, ...]  # what was done that the user may not expect, a sentence each
    header: str  # where the names are, in words
    first_row: int  # of numbers, in a spreadsheet that shows the file
    comments: int  # lines that are left out
    most: int  # bytes that a compressed table may take
    decimal: str  # the sign in numbers that are text
    held: Numbers | None = field(default=None, kw_only=True, repr=False)  # of all columns

    def numbers(self, columns: Sequence[int]) -> Numbers:
        """The numbers of some columns; none where a text is seen before all of them are read."""
        if self.held is not None:
            return self.held.of(columns)
        texts = self._seen(columns)
        return Numbers(np.empty((0, len(columns))), texts) if texts else self._read(columns)

    def whole(self: S) -> S:
        """The table with all of its numbers, which are read once."""
        if self.held is not None:
            return self
        return replace(self, held=self._read(range(len(self.names))))

    def misread(self) -> InputError | None:
        """The error about a wrong delimiter, when that is why there is only one column."""
        return None

    @abstractmethod
    def _seen(self, columns: Sequence[int]) -> dict[int, TextCell]:
        """The texts that are seen without reading all rows."""

    @abstractmethod
    def _read(self, columns: Sequence[int]) -> Numbers: ...

    @abstractmethod
    def head(self, count: int) -> list[list[str]]:
        """The first rows as text; a missing value is one of `MISSING`."""

    @abstractmethod
    def where(self, row: int) -> str:
        """The place in the file of a row, counted from 0, in words."""

    @abstractmethod
    def rows(self) -> Iterator[tuple[str, Sequence[object]]]:
        """The rows one by one as they are in the file, each with its place in words."""

    @abstractmethod
    def frame(self) -> DataFrame:
        """All columns as they are in the file."""
