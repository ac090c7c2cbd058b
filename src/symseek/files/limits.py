"""How large a compressed table may become: a few bytes may stand for more than a memory holds.

What is counted is what it becomes: the text as it inflates, and the numbers as they are read. A
plain text file is as large as it looks, and has no limit.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from symseek.errors import InputError, Setting

MOST_TABLE = 2_000_000_000
"""The most bytes of a compressed table, inflated, unless more are allowed."""

NUMBER, TEXT = 8, 64  # bytes of memory that a cell takes: as a number, as a text
LONGEST_LINE = 1 << 24  # bytes
_BLOCK = 1 << 18


class TableTooLarge(InputError):
    """A table that takes more than it may, however it is read."""


def refuse_large(path: Path, size: int, most: int) -> None:
    """Refuse a table that takes more bytes than it may.

    >>> refuse_large(Path("a.csv.gz"), 1_000_000_000, MOST_TABLE)
    """
    if size > most:
        raise TableTooLarge(
            path,
            f" takes more than {size_text(most)} when it is read, which is the limit for"
            " compressed tables; if that is right and there is memory for it, raise ",
            Setting("max_table_size"),
        )


def size_text(size: int) -> str:
    """A number of bytes for people.

    >>> size_text(2_000_000_000), size_text(1_500_000), size_text(12)
    ('2 GB', '1.5 MB', '12 bytes')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.10g} {name}"
    return f"{size} bytes"


def inflated(path: Path, file: BinaryIO, most: int) -> BinaryIO:
    """The bytes of a compressed file, which are refused when there are too many."""
    return io.BufferedReader(_Counted(path, file, most), _BLOCK)


class _Counted(io.RawIOBase):
    """Counts the bytes that a decompressor gives, in all and in one line."""

    def __init__(self, path: Path, file: BinaryIO, most: int) -> None:
        self._path, self._file, self._most = path, file, most
        self._size = self._line = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._file.read(len(buffer))
        buffer[: len(part)] = part
        self._size += len(part)
        end = part.rfind(b"\n")
        self._line = self._line + len(part) if end < 0 else len(part) - end - 1
        refuse_large(self._path, self._size, self._most)
        if self._line > LONGEST_LINE:
            raise TableTooLarge(
                self._path,
                f" has a line of more than {LONGEST_LINE >> 20} MiB; give a table with a line for"
                " each row",
            )
        return len(part)


def parquet_size(metadata: Any, columns: Sequence[int]) -> int:
    """The bytes that some columns of a Parquet file take: in its pages, or as numbers.

    A page may repeat one value for all its rows, so the rows count too, and so do the values of a
    row where it has a list of them.
    """
    groups = range(metadata.num_row_groups)
    parts = [metadata.row_group(group).column(column) for group in groups for column in columns]
    pages: int = sum(part.total_uncompressed_size for part in parts)
    values = max(sum(part.num_values for part in parts), metadata.num_rows * len(columns))
    return max(pages, int(values) * NUMBER)
