"""A whole table in memory, read once: every column's numbers, and what is in the way of them.

It answers like the file it was read from, so that the checks of `tables` say the same sentences of
it, however often they are asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.errors import InputError
from symseek.files.cells import MISSING, is_number, value_of
from symseek.files.delimited import Delimited
from symseek.files.limits import MOST_TABLE, NUMBER, TooLarge
from symseek.files.naming import names_identifier
from symseek.files.parquet import Parquet
from symseek.files.roles import roles
from symseek.files.source import CellError
from symseek.files.tables import open_table
from symseek.files.texts import text_columns

__all__ = ["Column", "Contents", "read_contents"]


@dataclass(frozen=True)
class Column:
    """One column."""

    values: Floats  # [N], nan where there is no number
    text: tuple[int, str, object] | None  # the first cell that is no number: row, place, content


@dataclass(frozen=True)
class Contents:
    """A table, all of it."""

    file: Delimited | Parquet
    columns: tuple[Column, ...]
    lines: NDArray[np.int64] | None  # [N] where each row is in a file of text

    @property
    def path(self) -> Path:
        """The file."""
        return self.file.path

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, tidy."""
        return self.file.names

    @property
    def units(self) -> Mapping[str, str]:
        """Units of columns by name, from a row of their own."""
        return self.file.units

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done that the user may not expect."""
        return self.file.notes

    @property
    def header(self) -> str:
        """Where the names are."""
        return self.file.header

    @property
    def first_row(self) -> int:
        """The first row of numbers in a spreadsheet that shows the file."""
        return self.file.first_row

    @property
    def comments(self) -> int:
        """How many lines are left out."""
        return self.file.comments

    @property
    def rows(self) -> int:
        """How many rows of numbers there are."""
        return len(self.columns[0].values) if self.columns else 0

    def misread(self) -> InputError | None:
        """The error about a wrong delimiter, if there is one."""
        return self.file.misread()

    def floats(self, columns: Sequence[int], cell_error: CellError) -> Floats:
        """The numbers [N, k] of some columns; the first cell that is none is refused."""
        found = [
            (text[0], order, column, text)
            for order, column in enumerate(columns)
            if (text := self.columns[column].text) is not None
        ]
        if found:
            _, _, column, (_, where, value) = min(found, key=lambda each: each[:2])
            raise cell_error(column, where, value)
        return np.column_stack([self.columns[column].values for column in columns])

    def left_out(self, beside: Collection[str]) -> dict[str, str]:
        """The columns, but those beside, that a search does without unless asked, and why."""
        others = [at for at, name in enumerate(self.names) if name not in beside]
        texts = [self.names[at] for at in others if self.columns[at].text is not None]
        numbers = [at for at in others if self.columns[at].text is None]
        names = [self.names[at] for at in numbers]
        why = text_columns(self, texts, texts) if texts else {}
        alone = all(names_identifier(name) for name in why)
        found = roles([self.columns[at].values for at in numbers], names, alone)
        if len(found) == len(names):
            why = {}  # these are all, or none is left but text, which is then to be told
        why |= {names[at]: reason for at, reason in found.items()}
        return {self.names[at]: why[self.names[at]] for at in others if self.names[at] in why}

    def head(self, count: int) -> list[list[str]]:
        """The first rows as text."""
        return self.file.head(count)

    def where(self, row: int) -> str:
        """The place in the file of a row, in words."""
        return self.file.where(row) if self.lines is None else f"line {self.lines[row]}"


def read_contents(
    path: Path, delimiter: str | None = None, max_table_size: int = MOST_TABLE
) -> Contents:
    """Read a whole file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     _ = path.write_text("day,a\\nMonday,1.50\\nTuesday,\\n")
    ...     day, a = read_contents(path).columns
    >>> day.text, a.values
    ((0, 'line 2', 'Monday'), array([1.5, nan]))
    """
    file = open_table(path, delimiter, max_table_size)
    if isinstance(file, Parquet):
        return Contents(file, tuple(_parquet(file, at) for at in range(len(file.names))), None)
    return _all_numbers(file) or _delimited(file)


def _parquet(file: Parquet, at: int) -> Column:
    text: list[tuple[int, str, object]] = []

    def keep(column: int, where: str, value: object) -> InputError:
        text.append((0, where, value))
        return InputError(where)

    try:
        return Column(file.floats([at], keep)[:, 0], None)
    except InputError:
        if not text:
            raise
        return Column(np.full(file.count(), np.nan), text[0])


def _all_numbers(file: Delimited) -> Contents | None:
    """The columns of a large text with a number in every cell, which pandas reads much faster."""
    decimal = file.heading.decimal
    cells = (cell for _, record in file.heading.sample for cell in record)
    if not file.plain or file.small or not all(is_number(cell, decimal) for cell in cells):
        return None
    try:
        values = file.floats(range(len(file.names)), lambda *about: InputError("text"))
    except TooLarge:
        raise
    except InputError:
        return None
    if np.isnan(values).any():
        return None
    return Contents(file, tuple(Column(column, None) for column in values.T.copy()), None)


def _delimited(file: Delimited) -> Contents:
    """The columns of a text, some thousand records at a time."""
    blocks: list[list[Floats]] = [[] for _ in file.names]
    texts: list[tuple[int, str, object] | None] = [None] * len(file.names)
    lines: list[int] = []
    for portion in file.portions():
        for line, record in portion:
            file.refuse_ragged(line, record)
        before = len(lines)
        lines += [line for line, _ in portion]
        file.refuse_large(len(lines), len(file.names) * NUMBER)
        for at, cells in enumerate(zip(*(record for _, record in portion), strict=True)):
            values, odd = _numbers(cells, file.heading.decimal)
            blocks[at].append(values)
            if odd is not None and texts[at] is None:
                texts[at] = before + odd, f"line {lines[before + odd]}", cells[odd]
    columns = tuple(
        Column(np.concatenate([np.empty(0), *block]), text)
        for block, text in zip(blocks, texts, strict=True)
    )
    return Contents(file, columns, np.array(lines, dtype=np.int64))


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
