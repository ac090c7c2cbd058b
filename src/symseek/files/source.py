"""What every table is asked for, whatever the file: names, numbers and where they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from symseek.arrays import Floats
from symseek.errors import InputError
from symseek.files.kinds import Reading, reading
from symseek.files.times import UnclearTime

if TYPE_CHECKING:
    from pandas import DataFrame

S = TypeVar("S", bound="TableSource")

LOOKED_AT = 1000  # rows that tell what a column is


@dataclass(frozen=True)
class TextCell:
    """The first cell of a column that is no number."""

    row: int
    where: str  # in words
    value: object
    reason: str = ""  # of leaving the column out, where it could almost be read
    advice: str = ""


@dataclass(frozen=True)
class Numbers:
    """The numbers of some columns, and what is in the way of them."""

    values: Floats  # [N, k], nan where there is no number
    texts: Mapping[int, TextCell]  # by the places among these columns
    lines: Sequence[int] | None = None  # [N] where each row is in a file of text, if known
    kinds: Mapping[int, str] = field(default_factory=dict)  # of columns that had no numbers

    def of(self, columns: Sequence[int]) -> Numbers:
        """Those of some of the columns."""
        if list(columns) == list(range(self.values.shape[1])):
            return self
        texts = {at: self.texts[each] for at, each in enumerate(columns) if each in self.texts}
        kinds = {at: self.kinds[each] for at, each in enumerate(columns) if each in self.kinds}
        return Numbers(self.values[:, list(columns)], texts, self.lines, kinds)

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
    first_column: int = field(default=0, kw_only=True)  # that has a name, in such a spreadsheet
    held: Numbers | None = field(default=None, kw_only=True, repr=False)  # of all columns

    def numbers(self, columns: Sequence[int], known: Mapping[int, str] | None = None) -> Numbers:
        """The numbers of some columns; none where a text is seen before all of them are read.

        Dates, and what is true or false, become numbers; of some it may be `known`, by the places
        among these columns, how they did when a formula was searched for.
        """
        if self.held is not None:
            return self.held.of(columns)
        texts = self._seen(columns)
        for at in self._readable(columns, texts):
            del texts[at]
        if texts:
            return Numbers(np.empty((0, len(columns))), texts)
        return self._recognised(columns, self._read(columns), known or {})

    def _readable(self, columns: Sequence[int], places: Mapping[int, object]) -> list[int]:
        """The places of columns that become numbers, or almost do, by the first rows."""
        if not places:
            return []
        some = self.sample()
        return [at for at in places if reading([row[columns[at]] for row in some]) is not None]

    def _recognised(
        self, columns: Sequence[int], numbers: Numbers, known: Mapping[int, str]
    ) -> Numbers:
        """The numbers with those of columns that can be read otherwise."""
        places = self._readable(columns, numbers.texts)
        if not places:
            return numbers
        texts, kinds = dict(numbers.texts), dict[int, str]()
        cells = self.cells([columns[at] for at in places])
        for at, column in zip(places, cells, strict=True):
            found = reading(column, known.get(at, ""))
            if isinstance(found, Reading):
                numbers.values[:, at] = found.values
                kinds[at] = found.kind
                del texts[at]
            elif isinstance(found, UnclearTime):
                row = found.row
                cell = column[row]
                texts[at] = TextCell(row, self.where(row), cell, found.reason, found.advice)
        return replace(numbers, texts=texts, kinds=kinds)

    def cells(self, columns: Sequence[int]) -> list[list[object]]:
        """All cells of some columns as they are in the file, column after column."""
        found: list[list[object]] = [[] for _ in columns]
        for _, row in self.rows():
            for cells, column in zip(found, columns, strict=True):
                cells.append(row[column])
        return found

    def sample(self, count: int = LOOKED_AT) -> list[Sequence[object]]:
        """The first rows as they are in the file."""
        return [row for _, row in islice(self.rows(), count)]

    def whole(self: S) -> S:
        """The table with all of its numbers, which are read once."""
        if self.held is not None:
            return self
        every = range(len(self.names))
        return replace(self, held=self._recognised(every, self._read(every), {}))

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
