"""Text tables: the numbers under their heading.

pandas reads the numbers of a large plain file at full speed. A small one is read before pandas is
loaded, and one with comments, or with cells that pandas does not take for numbers, is read record
by record too, which also names the line of what is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError, Setting
from symseek.files.cells import BOOLEANS, MISSING, is_number, value_of
from symseek.files.heading import DELIMITERS, Heading
from symseek.files.limits import MOST_TABLE, NUMBER, TEXT, refuse_large
from symseek.files.lines import BLANKS, is_comment, is_compressed, look_through, opened, records
from symseek.files.source import CellError

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Delimited"]

SMALL = 1 << 19  # bytes of a file that is read sooner than pandas is loaded
CELLS_AT_A_TIME = 1 << 18  # bounds the memory that text takes while it is read
ROWS_AT_A_TIME = 1 << 16  # the same, of few columns


@dataclass(frozen=True)
class Delimited:
    """A text table that has been opened: everything but its numbers."""

    path: Path
    heading: Heading
    comments: int  # lines that are left out
    plain: bool  # nothing in it but what pandas reads as well
    small: bool  # it is read sooner than pandas is loaded
    most: int = MOST_TABLE  # bytes that a compressed one may take

    @classmethod
    def open(cls, path: Path, delimiter: str | None = None, most: int = MOST_TABLE) -> Delimited:
        """Read the start of the file; the delimiter is guessed when it is None."""
        heading = Heading.read(path, delimiter, most)
        commented, size = look_through(path, most, SMALL + 1)
        comments = _comments(path, heading.line, most) if commented else 0
        table = cls(path, heading, comments, not commented, size <= SMALL, most)
        for line, record in table.heading.sample:
            table.refuse_ragged(line, record)
        return table

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, tidy."""
        return self.heading.names

    @property
    def units(self) -> Mapping[str, str]:
        """Units of columns by name, from a row of their own."""
        return self.heading.units

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done that the user may not expect."""
        if not self.comments:
            return self.heading.notes
        lines = "a line that begins" if self.comments == 1 else f"{self.comments} lines that begin"
        return (*self.heading.notes, f"left out {lines} with #")

    @property
    def header(self) -> str:
        """Where the names are."""
        return f"line {self.heading.line}"

    @property
    def first_row(self) -> int:
        """The first row of numbers in a spreadsheet that shows the file."""
        return self.heading.first_row

    def misread(self) -> InputError | None:
        """The error about a wrong delimiter, when that is why there is only one column.

        Where it was guessed, no other does better.
        """
        used = self.heading.delimiter
        other = [each for each in DELIMITERS if each != used and each in self.names[0]]
        if self.heading.guessed or len(self.names) > 1 or not other:
            return None
        value = "tab" if other[0] == "\t" else other[0]
        return InputError(
            self.path,
            f" has only one column when split at {_called(used)}, and its name contains"
            f" {_called(other[0])}; give ",
            Setting("delimiter"),
            f" as {value!r}",
            field=Setting("delimiter"),
            value=used,
        )

    def portions(self) -> Iterator[list[tuple[int, list[str]]]]:
        """The rows, as many at a time as take little memory while they are text."""
        rows = self.rows()
        count = min(ROWS_AT_A_TIME, max(1, CELLS_AT_A_TIME // len(self.names)))
        while portion := list(islice(rows, count)):
            yield portion

    def floats(self, columns: Sequence[int], cell_error: CellError) -> NDArray[np.float64]:
        """The numbers [N, k] of some columns; nan where one is missing."""
        if not self.plain or self.small:
            return self._converted(columns, cell_error)
        try:
            with opened(self.path, self.most) as text:
                values = self._parsed(text, columns)
        except InputError:
            raise
        except ValueError:
            return self._converted(columns, cell_error)
        if (gone := np.isnan(values).any(axis=1)).any():
            rows = frozenset(np.flatnonzero(gone).tolist())
            for row, (line, record) in enumerate(self.rows()):
                if row in rows:
                    self._refuse_text(line, record, columns, cell_error)
        return values

    def where(self, row: int) -> str:
        """The place in the file of a row, counted from 0, in words."""
        line, _ = next(islice(self.rows(), row, None))
        return f"line {line}"

    def frame(self) -> DataFrame:
        """All columns as the text that they are in the file."""
        import pandas

        rows = []
        for line, record in self.rows():
            self.refuse_ragged(line, record)
            rows.append(record)
            self.refuse_large(len(rows), len(record) * TEXT)
        return pandas.DataFrame(rows, columns=list(self.names), dtype=object)

    def head(self, count: int) -> list[list[str]]:
        """The first rows as the text that they are in the file."""
        return [list(record) for _, record in self.heading.sample[:count]]

    def _parsed(self, text: TextIO, columns: Sequence[int]) -> NDArray[np.float64]:
        import pandas

        heading = self.heading
        for _ in islice(records(self.path, text, heading.delimiter), heading.skipped):
            pass  # leaves the rest to pandas
        wanted = frozenset(columns)
        version = tuple(int(part) for part in pandas.__version__.split(".")[:2])
        chunks = pandas.read_csv(
            text,
            sep=r"\s+" if heading.delimiter == BLANKS else heading.delimiter,
            decimal=heading.decimal,
            skipinitialspace=True,
            header=None,
            names=range(len(self.names)),
            index_col=False,
            # All columns are read, wanted or not: only then are lines that are too long noticed.
            dtype={i: np.float64 if i in wanted else object for i in range(len(self.names))},
            keep_default_na=False,
            na_values=[*MISSING, *BOOLEANS],
            chunksize=ROWS_AT_A_TIME,
            # Later versions round correctly anyway, and warn about the option.
            **({} if version >= (3, 1) else {"float_precision": "round_trip"}),
        )
        blocks: list[NDArray[np.float64]] = []
        for chunk in chunks:
            blocks.append(np.ascontiguousarray(chunk[list(columns)].to_numpy()))
            self.refuse_large(sum(map(len, blocks)), len(columns) * NUMBER)
        return _stacked(blocks)

    def _converted(self, columns: Sequence[int], cell_error: CellError) -> NDArray[np.float64]:
        """The numbers record by record; the first that is too long or no number is refused."""
        blocks = [np.empty((0, len(columns)))]
        for portion in self.portions():
            for line, record in portion:
                self._refuse_text(line, record, columns, cell_error)
            decimal = self.heading.decimal
            values = [[value_of(record[at], decimal) for at in columns] for _, record in portion]
            blocks.append(np.array(values, dtype=np.float64))
            self.refuse_large(sum(map(len, blocks)), len(columns) * NUMBER)
        return _stacked(blocks)

    def refuse_large(self, rows: int, each: int) -> None:
        """Refuse a compressed file with more rows than it may have, of so many bytes each."""
        if is_compressed(self.path):
            refuse_large(self.path, rows * each, self.most)

    def _refuse_text(
        self, line: int, record: Sequence[str], columns: Collection[int], cell_error: CellError
    ) -> None:
        self.refuse_ragged(line, record)
        for column in columns:
            cell = record[column]
            if cell not in MISSING and not is_number(cell, self.heading.decimal):
                raise cell_error(column, f"line {line}", cell)

    def refuse_ragged(self, line: int, record: Sequence[str]) -> None:
        """Refuse a record with more or fewer fields than there are columns."""
        if len(record) == len(self.names):
            return
        if error := self.misread():
            raise error
        if "\n" in record[-1]:
            raise InputError(
                f"line {line} of ",
                self.path,
                " opens a quotation mark that is never closed; close it",
            )
        fields = "one field" if len(record) == 1 else f"{len(record)} fields"
        raise InputError(
            f"line {line} of ",
            self.path,
            f" has {fields} and the header has {len(self.names)}; make them agree, and put text"
            f" with {_called(self.heading.delimiter)} between quotation marks",
        )

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The records of numbers, each with its line."""
        with opened(self.path, self.most) as text:
            every = records(self.path, text, self.heading.delimiter)
            yield from islice(every, self.heading.skipped, None)


def _stacked(blocks: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The rows of all blocks in one array; each block is let go of as soon as it is copied."""
    end = sum(map(len, blocks))
    table = np.empty((end, blocks[0].shape[1]))
    while blocks:
        block = blocks.pop()
        table[end - len(block) : end] = block
        end -= len(block)
    return table


def _comments(path: Path, names: int, most: int) -> int:
    """How many comments there are beside the line of names."""
    with opened(path, most) as text:
        return sum(is_comment(line) for number, line in enumerate(text, 1) if number != names)


def _called(delimiter: str) -> str:
    return DELIMITERS.get(delimiter, repr(delimiter))
