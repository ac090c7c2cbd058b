"""Text tables: the numbers under their heading.

pandas reads the numbers of a large plain file at full speed. A small one is read before pandas is
loaded, and one with comments, or with cells that pandas does not take for numbers, is read record
by record too, which also names the line of what is wrong.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO

import numpy as np

from symseek.arrays import Floats
from symseek.errors import InputError, Setting
from symseek.files.cells import BOOLEANS, MISSING, is_number, value_of
from symseek.files.heading import DELIMITERS, Heading
from symseek.files.limits import MOST_TABLE, NUMBER, TEXT, refuse_large
from symseek.files.lines import (
    BLANKS,
    UTF_8,
    is_comment,
    is_compressed,
    look_through,
    opened,
    records,
)
from symseek.files.source import Numbers, TableSource, TextCell

if TYPE_CHECKING:
    from pandas import DataFrame

SMALL = 1 << 19  # bytes of a file that is read sooner than pandas is loaded
CELLS_AT_A_TIME = 1 << 18  # bounds the memory that text takes while it is read
ROWS_AT_A_TIME = 1 << 16  # the same, of few columns


@dataclass(frozen=True)
class Delimited(TableSource):
    """A text table that has been opened."""

    heading: Heading
    plain: bool  # nothing in it but what pandas reads as well
    small: bool  # it is read sooner than pandas is loaded
    encoding: str = UTF_8

    word: ClassVar[str] = "line"  # what a row is called

    @classmethod
    def open(cls, path: Path, delimiter: str | None = None, most: int = MOST_TABLE) -> Delimited:
        """Read the start of the file; the delimiter is guessed when it is None."""
        look = look_through(path, most)
        heading = Heading.read(path, delimiter, most, look.encoding)
        comments = _comments(path, heading.line, most, look.encoding) if look.commented else 0
        lines = "a line that begins" if comments == 1 else f"{comments} lines that begin"
        table = cls(
            path,
            heading.names,
            heading.units,
            look.notes + heading.notes + ((f"left out {lines} with #",) if comments else ()),
            f"line {heading.line}",
            heading.first_row,
            comments,
            most,
            heading.decimal,
            heading,
            not look.commented,
            look.size <= SMALL,
            look.encoding,
        )
        for line, record in heading.sample:
            table._refuse_ragged(line, record)
        return table

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

    def _seen(self, columns: Sequence[int]) -> dict[int, TextCell]:
        texts: dict[int, TextCell] = {}
        for row, (line, record) in enumerate(self.heading.sample):
            for at, column in enumerate(columns):
                if at not in texts and self._is_text(record[column]):
                    texts[at] = TextCell(row, f"{self.word} {line}", record[column])
        return texts

    def _read(self, columns: Sequence[int]) -> Numbers:
        if not self.plain or self.small:
            return self._converted(columns)
        try:
            with opened(self.path, self.most, self.encoding) as text:
                values = self._parsed(text, columns)
        except InputError:
            raise
        except ValueError:
            return self._converted(columns)
        return self._with_gaps(values, columns) if np.isnan(values).any() else Numbers(values, {})

    def where(self, row: int) -> str:
        if self.held is not None and self.held.lines is not None:
            return f"{self.word} {self.held.lines[row]}"
        line, _ = next(islice(self._records(), row, None))
        return f"{self.word} {line}"

    def rows(self) -> Iterator[tuple[str, Sequence[object]]]:
        """The rows as text, with their lines."""
        for line, record in self._records():
            self._refuse_ragged(line, record)
            yield f"{self.word} {line}", record

    def frame(self) -> DataFrame:
        """All columns as the text that they are in the file."""
        import pandas

        rows = []
        for line, record in self._records():
            self._refuse_ragged(line, record)
            rows.append(record)
            self._refuse_large(len(rows), len(record) * TEXT)
        return pandas.DataFrame(rows, columns=list(self.names), dtype=object)

    def head(self, count: int) -> list[list[str]]:
        """The first rows as the text that they are in the file."""
        return [list(record) for _, record in self.heading.sample[:count]]

    def _parsed(self, text: TextIO, columns: Sequence[int]) -> Floats:
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
        blocks: list[Floats] = []
        for chunk in chunks:
            blocks.append(np.ascontiguousarray(chunk[list(columns)].to_numpy()))
            self._refuse_large(sum(map(len, blocks)), len(columns) * NUMBER)
        return _stacked(blocks)

    def _converted(self, columns: Sequence[int]) -> Numbers:
        """The numbers record by record, as many at a time as take little memory as text."""
        blocks, lines = [np.empty((0, len(columns)))], array("q")
        texts: dict[int, TextCell] = {}
        before = 0
        for portion in self._portions():
            for line, record in portion:
                self._refuse_ragged(line, record)
                lines.append(line)
            block = np.empty((len(portion), len(columns)))
            for at, column in enumerate(columns):
                cells = [record[column] for _, record in portion]
                block[:, at], odd = _numbers(cells, self.decimal)
                if odd is not None and at not in texts:
                    row = before + odd
                    texts[at] = TextCell(row, f"{self.word} {lines[row]}", cells[odd])
            blocks.append(block)
            before = len(lines)
            self._refuse_large(before, len(columns) * NUMBER)
        return Numbers(_stacked(blocks), texts, lines)

    def _portions(self) -> Iterator[list[tuple[int, list[str]]]]:
        records = self._records()
        count = min(ROWS_AT_A_TIME, max(1, CELLS_AT_A_TIME // len(self.names)))
        while portion := list(islice(records, count)):
            yield portion

    def _with_gaps(self, values: Floats, columns: Sequence[int]) -> Numbers:
        """The numbers that pandas has read: where it left a gap there may be a flag."""
        gone = np.asarray(np.isnan(values).any(axis=1))
        lines, texts = array("q"), dict[int, TextCell]()
        for row, (line, record) in enumerate(self._records()):
            lines.append(line)
            for at, column in enumerate(columns) if gone[row] else ():
                if at not in texts and self._is_text(record[column]):
                    texts[at] = TextCell(row, f"{self.word} {line}", record[column])
        return Numbers(values, texts, lines)

    def _is_text(self, cell: str) -> bool:
        return cell not in MISSING and not is_number(cell, self.decimal)

    def _refuse_large(self, rows: int, each: int) -> None:
        """Refuse a compressed file with more rows than it may have, of so many bytes each."""
        if is_compressed(self.path):
            refuse_large(self.path, rows * each, self.most)

    def _refuse_ragged(self, line: int, record: Sequence[str]) -> None:
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

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """The records of numbers, each with its line."""
        with opened(self.path, self.most, self.encoding) as text:
            every = records(self.path, text, self.heading.delimiter)
            yield from islice(every, self.heading.skipped, None)


def _numbers(cells: Sequence[str], decimal: str) -> tuple[Floats, int | None]:
    """The numbers of some cells, and the first that is none.

    Python reads numbers faster than they can be checked, but for a few that are none here.
    """
    together = "".join(cells)
    if decimal == "." and together.isascii() and "_" not in together:
        try:
            plain = ["nan" if cell in MISSING else cell for cell in cells]
            return np.array(list(map(float, plain))), None
        except ValueError:
            pass
    values, odd = np.full(len(cells), np.nan), None
    for at, cell in enumerate(cells):
        if is_number(cell, decimal):
            values[at] = value_of(cell, decimal)
        elif odd is None and cell not in MISSING:
            odd = at
    return values, odd


def _stacked(blocks: list[Floats]) -> Floats:
    """The rows of all blocks in one array; each block is let go of as soon as it is copied."""
    end = sum(map(len, blocks))
    table = np.empty((end, blocks[0].shape[1]))
    while blocks:
        block = blocks.pop()
        table[end - len(block) : end] = block
        end -= len(block)
    return table


def _comments(path: Path, names: int, most: int, encoding: str) -> int:
    """How many comments there are beside the line of names."""
    with opened(path, most, encoding) as text:
        return sum(is_comment(line) for number, line in enumerate(text, 1) if number != names)


def _called(delimiter: str) -> str:
    return DELIMITERS.get(delimiter, repr(delimiter))
