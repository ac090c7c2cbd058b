"""Parquet tables: the columns' names and their numbers, by pyarrow, which is an extra."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError
from symseek.files.heading import tidy
from symseek.files.limits import MOST_TABLE, parquet_size, refuse_large
from symseek.files.source import Numbers, TableSource, TextCell

if TYPE_CHECKING:
    from pandas import DataFrame

ROWS_AT_A_TIME = 1 << 16  # bounds the memory that pyarrow's own copy takes
_FEW_ROWS = 16  # to name a text among them; each may be long, and is then in memory once

# How pandas calls an index without a name: it numbers the rows and is not a column.
_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class Parquet(TableSource):
    """A Parquet table that has been opened."""

    fields: tuple[str, ...]  # the names as the file has them

    @classmethod
    def open(cls, path: Path, most: int = MOST_TABLE) -> Parquet:
        """Read the schema."""
        with _file(path) as file:
            stored = tuple(file.schema_arrow.names)
        fields = tuple(name for name in stored if not _INDEX.fullmatch(name))
        notes = ("left out the index that pandas saved",) if fields != stored else ()
        return cls(path, tuple(map(tidy, fields)), {}, notes, "the schema", 2, 0, most, ".", fields)

    def _seen(self, columns: Sequence[int]) -> dict[int, TextCell]:
        found = {at: self._text(column) for at, column in enumerate(columns)}
        return {at: text for at, text in found.items() if text is not None}

    def _read(self, columns: Sequence[int]) -> Numbers:
        self._refuse_large(columns)
        texts = self._seen(columns)
        with _file(self.path) as file:
            # Column after column, as in the file: beside the table there is one of them at a time.
            table = np.full((file.metadata.num_rows, len(columns)), np.nan, order="F")
            end = 0
            for group in range(file.num_row_groups):
                start, end = end, end + file.metadata.row_group(group).num_rows
                for at, column in enumerate(columns):
                    if at not in texts:
                        table[start:end, at] = _numbers(file, group, self.fields[column])
        _release_memory()
        return Numbers(table, texts)

    def frame(self) -> DataFrame:
        """All columns as they are in the file."""
        from pyarrow import Table

        with _file(self.path) as file:
            none = file.schema_arrow.empty_table().select(list(self.fields))
        batches = list(self._batches(ROWS_AT_A_TIME))
        table = Table.from_batches(batches) if batches else none
        frame: DataFrame = table.to_pandas(ignore_metadata=True)
        for name in frame.columns:
            if frame[name].dtype.name == "category":
                texts = frame[name].astype(object)
                frame[name] = texts.where(texts.notna(), None)
        return frame.set_axis(list(self.names), axis="columns")

    def head(self, count: int) -> list[list[str]]:
        """The first rows as text; a missing value is an empty one."""
        for batch in self._batches(count):
            rows = zip(*map(_cells, batch.columns), strict=True)
            return [["" if cell is None else str(cell) for cell in row] for row in rows]
        return []

    def rows(self) -> Iterator[tuple[str, Sequence[object]]]:
        """The rows one by one, each value as Python has it; None where there is none."""
        row = 0
        for batch in self._batches(max(1, ROWS_AT_A_TIME // (len(self.fields) or 1))):
            for cells in zip(*map(_cells, batch.columns), strict=True):
                yield self.where(row), cells
                row += 1

    def _batches(self, rows: int) -> Iterator[Any]:
        """So many rows at a time of all columns, a text that many have in memory once."""
        self._refuse_large(range(len(self.fields)))
        size = 0
        with _file(self.path, texts_once=True) as file:
            for batch in file.iter_batches(rows, columns=list(self.fields)):
                size += sum(map(_text_size, batch.columns))
                refuse_large(self.path, size, self.most)
                yield batch

    def where(self, row: int) -> str:
        """The place in the file of a row, in words."""
        return f"row {row} (the first is 0)"

    def _refuse_large(self, columns: Sequence[int]) -> None:
        """Refuse columns that take more memory than they may, before they are read."""
        with _file(self.path) as file:
            wanted = {self.fields[column] for column in columns}
            leaves = [each.name for each in file.schema_arrow for _ in range(_leaves(each.type))]
            places = [at for at, name in enumerate(leaves) if name in wanted]
            size = parquet_size(file.metadata, places)
        refuse_large(self.path, size, self.most)

    def _text(self, column: int) -> TextCell | None:
        """The first value of a column that does not hold numbers, if it has any."""
        from pyarrow import types

        name = self.fields[column]
        with _file(self.path, texts_once=True) as file:
            kind = file.schema_arrow.field(name).type
            numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
            if any(is_kind(kind) for is_kind in numeric):
                return None
            if types.is_nested(kind):
                return TextCell(0, self.where(0), str(kind))
            row = 0
            for batch in file.iter_batches(_FEW_ROWS, columns=[name]):
                for value in batch.column(0):
                    if value.is_valid:
                        return TextCell(row, self.where(row), value.as_py())
                    row += 1
        return None


@contextmanager
def _file(path: Path, texts_once: bool = False) -> Iterator[Any]:
    """The opened file; an `InputError` says what is wrong with it.

    A text that is in many rows may be in memory once, and not for each of them.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile, read_schema
    except ImportError:
        raise InputError(
            "reading ", path, " needs pyarrow; run: pip install pyarrow, or save the table as CSV"
        ) from None
    try:
        with path.open("rb") as file:
            texts = _texts(read_schema(file)) if texts_once else None
            with ParquetFile(file, read_dictionary=texts) as table:
                yield table
    except MemoryError:  # Arrow's own is an ArrowException too
        raise
    except (ArrowException, OSError) as error:
        if any(os.strerror(each) in str(error) for each in (errno.EAGAIN, errno.ENOMEM)):
            raise MemoryError(str(error)) from None  # no thread can be started, for instance
        if isinstance(error, PermissionError):
            raise InputError(path, f" cannot be read ({error.strerror}); check the file") from None
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(path, f" is not a whole Parquet file ({reason}); save it again") from None


def _numbers(file: Any, group: int, name: str) -> NDArray[np.float64]:
    """A column's numbers in a group of rows; nan where it has no value."""
    import pyarrow

    column = file.read_row_group(group, columns=[name], use_threads=False).column(name)
    # An integer above 2**53 loses its last digits; that is allowed.
    return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy())


def _release_memory() -> None:
    """Give back what pyarrow keeps for the next columns: as much as several take."""
    import pyarrow

    pyarrow.default_memory_pool().release_unused()


def _texts(schema: Any) -> list[str]:
    from pyarrow import types

    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return [each.name for each in schema if any(is_kind(each.type) for is_kind in kinds)]


def _leaves(kind: Any) -> int:
    """How many columns of the file a column is: a list or a record has some for its parts."""
    return sum(_leaves(kind.field(at).type) for at in range(kind.num_fields)) or 1


def _cells(column: Any) -> list[object]:
    """The values as Python has them."""
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return list(column.to_pylist())
    texts = column.dictionary.to_pylist()
    return [None if at is None else texts[at] for at in column.indices.to_pylist()]


def _text_size(column: Any) -> int:
    """The bytes of all texts of a column, were each written by itself."""
    from pyarrow import compute, types

    if not types.is_dictionary(column.type):
        return 0
    kind = column.type.value_type
    if not (types.is_string(kind) or types.is_binary(kind)):
        return 0
    lengths = compute.binary_length(column.dictionary).take(column.indices)
    return int(compute.sum(lengths).as_py() or 0)
