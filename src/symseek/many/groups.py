"""Tables that are no files yet, written as files: the groups of a long table, tables in memory.

A long table is read once, some thousand rows at a time, and each of its rows goes to the file of
its group. Numbers are written with all of their digits, so a group is fitted as if it had been a
file from the start.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from symseek.errors import InputError, Setting, name_shown, suggestion
from symseek.files.cells import BLANK, is_number, value_of
from symseek.files.heading import tidy
from symseek.files.limits import MOST_TABLE
from symseek.files.regular import write_regular
from symseek.files.source import TableSource
from symseek.files.tables import open_table
from symseek.many.tables import Table, folder_names
from symseek.runs.lock import FolderLock, holder

TABLES = "tables"  # the folder of these files, in the parent folder of the runs
MOST_GROUPS = 10_000  # a column with more values counts or measures something

_PART = ".part-"  # how the name of the folder begins in which groups are being written
_ROWS_AT_A_TIME = 1 << 14

Cells = Sequence[object]  # of a row: numbers, or text


@dataclass(frozen=True)
class SplitTable:
    """A long table as one table for each group, and what was done that may not be expected."""

    tables: list[Table]
    notes: tuple[str, ...] = ()


def split_file(
    path: Path,
    by: str,
    parent: Path,
    known: dict[str, str],
    delimiter: str | None = None,
    drop_missing: bool = False,
    max_table_size: int = MOST_TABLE,
    sheet: str | None = None,
) -> SplitTable:
    """Write a file into `parent` for each value of the column `by`.

    `known` has the folders of groups that have one already.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "long.csv")
    ...     _ = path.write_text("sensor,t,y\\nA,0,1.5\\nB,0,2.5\\nA,1,3\\n")
    ...     split = split_file(path, "sensor", Path(folder), {})
    ...     for table in split.tables:
    ...         print(table.name, Path(folder, table.data).read_text().split())
    A ['"t","y"', '0.0,1.5', '1.0,3.0']
    B ['"t","y"', '0.0,2.5']
    """
    source = open_table(path, delimiter, max_table_size, sheet)
    at = _column(source, by)
    left_out = {at, *([0] if source.names[0] == "" else [])}
    kept = [place for place in range(len(source.names)) if place not in left_out]
    dropped: list[str] = []
    rows = _grouped(source, at, kept, drop_missing, dropped)
    tables = split_rows(rows, [source.names[place] for place in kept], parent, known)
    notes = source.notes
    if 0 in left_out - {at}:
        notes += ("left out column 1, which has no name",)
    if dropped:
        many = "one row" if len(dropped) == 1 else f"{len(dropped):,} rows"
        notes += (f"left out {many} with no value of {by!r}, the first in {dropped[0]}",)
    return SplitTable(tables, notes)


def _column(source: TableSource, by: str) -> int:
    """The place of the column that names the groups."""
    name, setting = tidy(by), Setting("by")
    count, quoted = source.names.count(name), name_shown(name, quoted=True)
    if count == 1:
        return source.names.index(name)
    if not count and (error := source.misread()):
        raise error
    if not count:
        hint = suggestion(name, [each for each in source.names if each])
        text = f" has no column {quoted} for "
        raise InputError(source.path, text, setting, f"; {hint}", field=setting, value=name)
    text = f" has {count} columns named {quoted}; rename them, for "
    raise InputError(source.path, text, setting, field=setting, value=name)


def _grouped(
    source: TableSource, at: int, kept: list[int], drop_missing: bool, dropped: list[str]
) -> Iterator[tuple[str, Cells]]:
    """Each row with its group; the places of those without one are added to `dropped`."""
    for where, record in source.rows():
        value = record[at]
        group = "" if value is None else str(value).strip()
        if group in BLANK:
            if not drop_missing:
                raise InputError(
                    f"column {source.names[at]!r} of {source.path} has no value in {where}; fill"
                    " it in, or set ",
                    Setting("missing"),
                    " to rows to leave out such rows",
                    field=Setting("by"),
                    value=source.names[at],
                )
            dropped.append(where)
            continue
        yield group, [_cell(record[place], source.decimal) for place in kept]


def _cell(value: object, decimal: str) -> object:
    """A cell as it is written: a number with all of its digits, or text."""
    if isinstance(value, str):
        return value_of(value, decimal) if is_number(value, decimal) else value
    return "" if value is None else value


def split_rows(
    rows: Iterable[tuple[str, Cells]], columns: Sequence[str], parent: Path, known: dict[str, str]
) -> list[Table]:
    """Write the rows of each group to a file, in the order in which they come.

    Only some thousand rows are held at a time, however many there are.
    """
    remaining = iter(rows)
    (parent / TABLES).mkdir(exist_ok=True)
    parts = Path(tempfile.mkdtemp(prefix=_PART, dir=parent))
    lock = FolderLock(parts)
    try:
        groups: dict[str, tuple[Path, Any]] = {}  # the file, and the digest of what is in it
        while portion := list(islice(remaining, _ROWS_AT_A_TIME)):
            texts: dict[str, list[Cells]] = {}
            for group, cells in portion:
                texts.setdefault(group, [] if group in groups else [columns]).append(cells)
            for group, records in texts.items():
                new = parts / str(len(groups)), hashlib.sha256()
                part, digest = groups.setdefault(group, new)
                if len(groups) > MOST_GROUPS:
                    raise InputError(
                        Setting("by"),
                        f" gives more than {MOST_GROUPS:,} groups; choose a column with fewer"
                        " values",
                    )
                content = _text(records)
                digest.update(content)
                with open(part, "ab") as file:
                    file.write(content)
        folders = folder_names({group: group for group in groups}, known)
        return [
            _placed(part, parent, group, folders[group], digest.hexdigest())
            for group, (part, digest) in groups.items()
        ]
    finally:
        lock.release()
        shutil.rmtree(parts, ignore_errors=True)


def remove_parts(parent: Path) -> None:
    """Remove what a process left that was killed while it wrote the groups."""
    for parts in parent.glob(f"{_PART}*"):
        if holder(parts) is None:
            shutil.rmtree(parts, ignore_errors=True)


def _placed(part: Path, parent: Path, name: str, folder: str, digest: str) -> Table:
    """A written file under its own name: whole, as nobody has seen it before."""
    data = Path(TABLES, f"{folder}.csv")
    _refuse_folder(parent / data)
    os.replace(part, parent / data)
    return Table(name, folder, data, digest)


def written_table(
    parent: Path, name: str, folder: str, columns: Sequence[str], rows: Iterable[Cells]
) -> Table:
    """A table in memory as a file in `parent`."""
    content = _text([columns, *rows])
    data = Path(TABLES, f"{folder}.csv")
    (parent / TABLES).mkdir(exist_ok=True)
    _refuse_folder(parent / data)
    write_regular(parent / data, content)
    return Table(name, folder, data, hashlib.sha256(content).hexdigest())


def _refuse_folder(place: Path) -> None:
    """Refuse a folder where a table goes; anything else gives way to the table."""
    if place.is_dir() and not place.is_symlink():
        raise InputError(f"{str(place)!r} is a folder, and not a table; remove it")


def _text(records: Iterable[Cells]) -> bytes:
    """Records as CSV: text in quotation marks, so that no cell is taken for a comment."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerows(records)
    return out.getvalue().encode(errors="backslashreplace")
