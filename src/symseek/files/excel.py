"""Excel workbooks: a sheet as rows of text, which are then read like those of a text table.

A workbook is data: no formula is worked out, no macro runs and no link is followed. The value that
Excel last saw is what a formula has. openpyxl, which is an extra, reads the cells.

A workbook is a compressed archive of XML, so what it becomes is counted before any of it is read,
and a document type, with which a few bytes can stand for a full memory, is refused.
"""

from __future__ import annotations

import datetime
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from xml.parsers import expat

from symseek.errors import InputError, Setting, name_shown, unknown_name
from symseek.files.cells import is_number
from symseek.files.delimited import Delimited
from symseek.files.heading import Heading
from symseek.files.limits import MOST_TABLE, TEXT, refuse_large

Rows = list[tuple[int, list[str]]]  # each with its number in the sheet

_BLOCK = 1 << 16
_MOST_ROWS = 1 << 20  # of a sheet, as Excel has it
_HEAD = 200  # rows among which the names are


@dataclass(frozen=True)
class Workbook(Delimited):
    """A sheet of a workbook that has been opened, its cells as text."""

    below: Rows = field(default_factory=list, repr=False)  # the names

    word: ClassVar[str] = "row"

    @classmethod
    def open_sheet(cls, path: Path, sheet: str | None = None, most: int = MOST_TABLE) -> Workbook:
        """Read a sheet, by default the first."""
        with _archive(path, most) as archive:
            name, rows, notes, marks = _cells(path, archive, sheet, most)
        rows, first_column, more = _table(rows, marks)
        if not rows:
            what = f"the sheet {name_shown(name, quoted=True)} of "
            raise InputError(what, path, " is empty; give a table with a row of column names")
        heading = Heading.of_rows(path, rows)
        return cls(
            path,
            heading.names,
            heading.units,
            (*notes, *more, *heading.notes),
            f"row {heading.line}",
            heading.first_row,
            0,
            most,
            ".",
            heading,
            False,
            True,
            below=rows[heading.skipped :],
            first_column=first_column,
        )

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        yield from self.below


# --- the archive


@contextmanager
def _archive(path: Path, most: int) -> Iterator[zipfile.ZipFile]:
    """The opened archive; an `InputError` says what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            refuse_large(path, sum(each.file_size for each in archive.infolist()), most)
            _refuse_document_types(archive)
            yield archive
    except (InputError, MemoryError):
        raise
    except OSError as error:
        raise InputError(
            path, f" cannot be read ({error.strerror or error}); check the file"
        ) from None
    except Exception as error:  # of a damaged one anything may be raised, by any part of openpyxl
        reason = " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
        text = f" is not a whole Excel file ({reason}); save it again as .xlsx without a password"
        raise InputError(path, text) from None


def _refuse_document_types(archive: zipfile.ZipFile) -> None:
    """Refuse XML that declares entities; no program that writes workbooks does."""

    def refuse(*_: Any) -> None:
        raise ValueError("it declares a document type")

    begun: list[str] = []  # elements, before which such a declaration is

    def begin(name: str, _: dict[str, str]) -> None:
        begun.append(name)

    for each in archive.infolist():
        if not each.filename.endswith((".xml", ".rels", ".vml")):
            continue
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = refuse
        parser.StartElementHandler = begin
        begun.clear()
        with archive.open(each) as file:
            while not begun and (block := file.read(_BLOCK)):
                parser.Parse(block)


@dataclass
class _Marks:
    """What the cells themselves do not say."""

    merged: list[tuple[int, int, int, int]] = field(default_factory=list)  # rows, then columns
    unsaved: str = ""  # the first formula without a value
    count: int = 0  # of these


def _marks(archive: zipfile.ZipFile, part: str) -> _Marks:
    """The merged cells of a sheet, and its formulas without a value."""
    marks = _Marks()
    cell: dict[str, Any] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        plain = name.rpartition(":")[2]
        if plain == "c":
            cell.update(at=attributes.get("r", "?"), formula=False, value=False, within="")
        elif plain == "f":
            cell["formula"] = True
        elif plain in ("v", "is"):
            cell["within"] = plain
        elif plain == "mergeCell" and (found := _RANGE.fullmatch(attributes.get("ref", ""))):
            left, top, right, bottom = found.groups()
            marks.merged.append((int(top), int(bottom), _column(left), _column(right)))

    def text(_: str) -> None:
        cell["value"] = cell.get("value") or cell.get("within")

    def end(name: str) -> None:
        plain = name.rpartition(":")[2]
        if plain in ("v", "is"):
            cell["within"] = ""
        if plain == "c" and cell.get("formula") and not cell.get("value"):
            marks.unsaved = marks.unsaved or str(cell.get("at"))
            marks.count += 1

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = text
    with archive.open(part) as file:
        while block := file.read(_BLOCK):
            parser.Parse(block)
    return marks


_RANGE = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})")


def _column(letters: str) -> int:
    """The place of a column, from 0.

    >>> _column("A"), _column("AB")
    (0, 27)
    """
    place = 0
    for each in letters:
        place = 26 * place + ord(each) - ord("A") + 1
    return place - 1


# --- the cells


def _cells(
    path: Path, archive: zipfile.ZipFile, sheet: str | None, most: int
) -> tuple[str, Rows, list[str], _Marks]:
    """The name of the sheet, its cells as text, what to say of them, and the marks."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise InputError(
            "reading ", path, " needs openpyxl; run: pip install openpyxl, or save it as CSV"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what is not kept, such as validation
        assert archive.filename is not None
        book = load_workbook(archive.filename, read_only=True, data_only=True, keep_links=False)
        try:
            known = [each.title for each in book.worksheets]
            if not known:
                raise InputError(path, " has no sheet with cells; give one that has a table")
            if sheet is not None and sheet not in known:
                raise unknown_name("sheet", sheet, known, field=Setting("sheet"))
            name = known[0] if sheet is None else sheet
            found = book.worksheets[known.index(name)]
            part = str(found._worksheet_path).lstrip("/")
            found.reset_dimensions()  # which may say anything
            rows: Rows = []
            size = 0
            for number, row in enumerate(found.iter_rows(values_only=True), 1):
                if number > _MOST_ROWS:
                    raise ValueError(f"a sheet has at most {_MOST_ROWS:,} rows")
                size += len(row) * TEXT
                refuse_large(path, size, most)
                texts = list(map(_text, row))
                while texts and not texts[-1]:
                    texts.pop()
                if texts:
                    rows.append((number, texts))
        finally:
            book.close()
    marks = _marks(archive, part)
    notes = []
    if sheet is None and len(known) > 1:
        notes.append(f"read the sheet {name_shown(name, quoted=True)}, the first of {len(known)}")
    if marks.count:
        many = "a formula" if marks.count == 1 else f"{marks.count:,} formulas"
        notes.append(
            f"found {many} without a value, the first in {marks.unsaved}; to have them worked out,"
            " open the file in Excel and save it"
        )
    return name, rows, notes, marks


def _text(cell: object) -> str:
    """A cell as it would be in a text table."""
    if cell is None:
        return ""
    if isinstance(cell, datetime.timedelta):
        return repr(cell.total_seconds())
    return str(cell).strip()  # of a number, all digits; of a date, as ISO has it


# --- where the table is


def _table(rows: Rows, marks: _Marks) -> tuple[Rows, int, list[str]]:
    """The rows from the names on, all as wide; the columns before them; and what to say of it.

    Above the names there may be titles, which stand alone. Names over several merged columns are
    joined with those below them.
    """
    if not rows:
        return [], 0, []
    wide = max(sum(map(bool, row)) for _, row in rows[:_HEAD])
    titles = 0
    while wide > 1 and titles < len(rows) - 1 and sum(map(bool, rows[titles][1])) == 1:
        titles += 1
    notes = []
    if titles:
        many = "one row" if titles == 1 else f"{titles} rows"
        notes.append(f"left out {many} above the names of the columns")
        rows = rows[titles:]
    first = min(at for _, row in rows[:_HEAD] for at, cell in enumerate(row) if cell)
    rows = [(number, row[first:]) for number, row in rows]
    width = max(len(row) for _, row in rows)
    rows = [(number, row + [""] * (width - len(row))) for number, row in rows]
    empty = [at for at in range(width) if not any(row[at] for _, row in rows)]
    if empty:
        notes.append("left out what is to the right of an empty column")
        rows = [(number, row[: empty[0]]) for number, row in rows]
    joined = _joined(rows, marks, first)
    if joined is not rows:
        notes.append(f"joined the names in rows {rows[0][0]} to {joined[0][0]}")
    return joined, first, notes


def _joined(rows: Rows, marks: _Marks, first: int) -> Rows:
    """The rows with names of several rows as one, where merged cells say so."""
    top = rows[0][0]
    over = [
        (low, high, left - first, right - first)
        for low, high, left, right in marks.merged
        if low == top and (right > left or high > low)
    ]
    if not over:
        return rows
    last = max(high if high > low else low + (right > left) for low, high, left, right in over)
    heads = [(number, list(row)) for number, row in rows if number <= last]
    numbers = any(is_number(cell, ".") for _, row in heads[1:] for cell in row)
    if len(heads) < 2 or len(heads) == len(rows) or numbers:
        return rows
    for low, high, left, right in marks.merged:
        left, right = left - first, min(right - first, len(heads[0][1]) - 1)
        for number, row in heads:
            if number == low and low == high and left >= 0:  # over several columns
                row[left : right + 1] = [row[left]] * (right + 1 - left)
    names = [
        " ".join(dict.fromkeys(filter(None, parts)))
        for parts in zip(*(row for _, row in heads), strict=True)
    ]
    return [(last, names), *rows[len(heads) :]]
