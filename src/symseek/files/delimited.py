"""Text tables: what separates the columns, what they are called, and the numbers in them.

pandas reads the numbers of large files at full speed; small ones are read before it is loaded. Only
when that fails is the file read again, record by record, to name the line.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import math
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError

__all__ = ["COMPRESSED", "DELIMITERS", "CellError", "Delimited", "as_delimiter", "tidy"]

# Builds the error for a cell that is not a number: its column, its place and its content.
CellError = Callable[[int, str, object], InputError]

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
GUESSED = ",;\t|"  # blanks are in too many names to be guessed
COMPRESSED: dict[str, Callable[[Path, str], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
MISSING = frozenset(["", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "None"])

SAMPLE = 1 << 20  # bytes from which delimiter and decimal sign are guessed
SCORED_ROWS = 200  # of the sample, for the delimiter
SMALL = 1 << 19  # bytes of a file that is read sooner than pandas is loaded
ROWS_AT_A_TIME = 1 << 16  # bounds the memory that text takes while it is read

_NUMBER = {  # by decimal sign
    sign: re.compile(
        rf"\s*[+-]?((\d+([{sign}]\d*)?|[{sign}]\d+)(e[+-]?\d+)?|inf|infinity|nan)\s*",
        re.ASCII | re.IGNORECASE,
    )
    for sign in ".,"
}
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", re.ASCII)

# pandas reads a column of nothing but these as ones and zeros, although numbers were asked for.
_BOOLEANS = ("True", "TRUE", "true", "False", "FALSE", "false")


@dataclass(frozen=True)
class Delimited:
    """A text table that has been opened: everything but its numbers."""

    path: Path
    names: tuple[str, ...]  # of the columns, tidy
    header_line: int
    delimiter: str
    decimal: str  # "." or ","

    @classmethod
    def open(cls, path: Path, delimiter: str | None = None) -> Delimited:
        """Read the start of the file; the delimiter is guessed when it is None."""
        sample, whole = _sample(path)
        if delimiter is None:
            delimiter = _likely_delimiter(path, sample)
        records = list(_records(path, sample, delimiter))
        if not records:
            raise InputError(f"{path} is empty; give a table with a line of column names")
        (line, header), rows = records[0], records[1:]
        if not whole:
            rows = rows[:-1]  # the last may go on after the sample
        decimal = "." if delimiter == "," else _likely_decimal(record for _, record in rows)
        table = cls(path, tuple(map(tidy, header)), line, delimiter, decimal)
        if all(_is_number(name, decimal) for name in header):
            raise InputError(
                f"line {line} of {path} has numbers where the column names should be; put a line"
                " of names first"
            )
        for line, record in rows:
            table._refuse_ragged(line, record)
        return table

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done that the user may not expect."""
        return ("read commas in numbers as decimal signs",) if self.decimal == "," else ()

    @property
    def header(self) -> str:
        """Where the names are."""
        return f"line {self.header_line}"

    def misread(self) -> InputError | None:
        """The error about a wrong delimiter, when that is why there is only one column."""
        other = [each for each in DELIMITERS if each != self.delimiter and each in self.names[0]]
        if len(self.names) > 1 or not other:
            return None
        value = "tab" if other[0] == "\t" else other[0]
        return InputError(
            f"{self.path} has only one column when split at {_called(self.delimiter)}, and its"
            f" name contains {_called(other[0])}; give `delimiter` as {value!r}"
        )

    def floats(self, columns: Sequence[int], cell_error: CellError) -> NDArray[np.float64]:
        """The numbers [N, k] of some columns; nan where one is missing."""
        try:
            if self.path.stat().st_size <= SMALL:
                values = self._converted(columns)
            else:
                with _text(self.path) as text:
                    values = self._parsed(text, columns)
        except InputError:
            raise
        except ValueError as error:
            self._explain(columns, cell_error)
            reason = " ".join(str(error).split())
            raise InputError(
                f"{self.path} cannot be read as a table ({reason}); check its numbers"
            ) from None
        if (gone := np.isnan(values).any(axis=1)).any():
            self._explain(columns, cell_error, frozenset(np.flatnonzero(gone).tolist()))
        return values

    def where(self, row: int) -> str:
        """The place in the file of a row, counted from 0, in words."""
        line, _ = next(islice(self._records(), row + 1, None))
        return f"line {line}"

    def _parsed(self, text: TextIO, columns: Sequence[int]) -> NDArray[np.float64]:
        import pandas

        for _ in _records(self.path, text, self.delimiter):  # leaves the rest to pandas
            break
        wanted = frozenset(columns)
        version = tuple(int(part) for part in pandas.__version__.split(".")[:2])
        chunks = pandas.read_csv(
            text,
            sep=self.delimiter,
            decimal=self.decimal,
            skipinitialspace=self.delimiter != " ",
            header=None,
            names=range(len(self.names)),
            index_col=False,
            # All columns are read, wanted or not: only then are lines that are too long noticed.
            dtype={i: np.float64 if i in wanted else object for i in range(len(self.names))},
            keep_default_na=False,
            na_values=[*MISSING, *_BOOLEANS],
            chunksize=ROWS_AT_A_TIME,
            # Later versions round correctly anyway, and warn about the option.
            **({} if version >= (3, 1) else {"float_precision": "round_trip"}),
        )
        blocks = [np.ascontiguousarray(chunk[list(columns)].to_numpy()) for chunk in chunks]
        return np.concatenate(blocks)

    def _converted(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """The same numbers as those of `_parsed`, record by record."""
        rows = [
            [self._value(record[column]) for column in columns]
            for _, record in islice(self._records(), 1, None)
            if self._whole(record)
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, len(columns))

    def _whole(self, record: Sequence[str]) -> bool:
        if len(record) != len(self.names):
            raise ValueError("a record is not as long as the header")
        return True

    def _value(self, cell: str) -> float:
        if cell in MISSING:
            return math.nan
        if not _is_number(cell, self.decimal):
            raise ValueError("a cell is not a number")
        return float(cell.replace(self.decimal, "."))

    def _explain(
        self, columns: Sequence[int], cell_error: CellError, rows: Collection[int] | None = None
    ) -> None:
        """Refuse the first record, of these rows or all, that is too long or not a number."""
        for row, (line, record) in enumerate(islice(self._records(), 1, None)):
            if rows is not None and row not in rows:
                continue
            self._refuse_ragged(line, record)
            for column in columns:
                cell = record[column]
                if cell not in MISSING and not _is_number(cell, self.decimal):
                    raise cell_error(column, f"line {line}", cell)

    def _refuse_ragged(self, line: int, record: Sequence[str]) -> None:
        if len(record) == len(self.names):
            return
        if error := self.misread():
            raise error
        if "\n" in record[-1]:
            raise InputError(
                f"line {line} of {self.path} opens a quotation mark that is never closed; close it"
            )
        fields = "one field" if len(record) == 1 else f"{len(record)} fields"
        raise InputError(
            f"line {line} of {self.path} has {fields} and the header has"
            f" {len(self.names)}; make them agree, and put text with {_called(self.delimiter)}"
            " between quotation marks"
        )

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        with _text(self.path) as text:
            yield from _records(self.path, text, self.delimiter)


def as_delimiter(text: str) -> str:
    r"""Check what the user gave as a delimiter.

    >>> as_delimiter("tab"), as_delimiter(";")
    ('\t', ';')
    """
    delimiter = {"tab": "\t", r"\t": "\t"}.get(text, text)
    plain = len(delimiter) == 1 and delimiter.isascii() and not delimiter.isalnum()
    if not plain or delimiter in "\r\n\"'+-.":
        raise InputError(
            f"`delimiter` must be one character such as ',' or ';', or 'tab', not {text!r}"
        )
    return delimiter


def tidy(name: str) -> str:
    r"""A column's name on one line, without blanks around it.

    >>> tidy(" wind\nspeed ")
    'wind speed'
    """
    return " ".join(part.strip() for part in name.splitlines()).strip()


@contextmanager
def _binary(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, decompressed; an `InputError` says what is wrong with them."""
    try:
        with COMPRESSED.get(path.suffix.lower(), Path.open)(path, "rb") as file:
            yield file
    except UnicodeDecodeError:
        raise _undecodable(path) from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is damaged ({error}); compress the table again") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path} cannot be read ({reason}); check the file") from None


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    with (
        _binary(path) as file,
        io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text,
    ):
        yield text


def _undecodable(path: Path) -> InputError:
    """The error about bytes that are not UTF-8; names the first line with such."""
    line = 1
    with _binary(path) as file:
        for content in file:
            try:
                content.decode()
            except UnicodeDecodeError:
                break
            line += 1
    return InputError(f"line {line} of {path} is not UTF-8 text; save the table as UTF-8")


def _sample(path: Path) -> tuple[list[str], bool]:
    """Whole lines from the start of the file, and whether these are all."""
    with _binary(path) as file:
        start = file.read(SAMPLE)
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(f"{path} is UTF-16 text; save the table as UTF-8")
        if b"\0" in start:
            raise InputError(f"{path} is not a text file; save the table as CSV")
        start += file.readline()
        lines = list(io.StringIO(start.decode("utf-8-sig"), newline=""))
        return lines, not file.read(1)


def _records(path: Path, text: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every record but blank lines, which pandas skips as well, with the line where it starts."""
    last = ""

    def noted() -> Iterator[str]:
        nonlocal last
        for each in text:
            last = each
            yield each

    reader = csv.reader(noted(), delimiter=delimiter, skipinitialspace=delimiter != " ")
    blanks = " \t\r\n".replace(delimiter, "")
    line = 1
    try:
        for record in reader:
            if reader.line_num > line or last.strip(blanks):
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"line {line} of {path} cannot be split into columns ({error}); check its quotation"
            " marks"
        ) from None


def _likely_delimiter(path: Path, sample: Sequence[str]) -> str:
    """The one that splits the header, agrees with the rows, and leaves numbers between.

    >>> _likely_delimiter(Path("-"), ["length, m;time, s\\n", "1,5;2,0\\n"])
    ';'
    """
    tried: dict[str, list[list[str]]] = {each: [] for each in GUESSED}
    for delimiter in GUESSED:
        with suppress(InputError):  # a wide header is one enormous field to a wrong delimiter
            records = islice(_records(path, sample, delimiter), 1 + SCORED_ROWS)
            tried[delimiter] = [record for _, record in records]
    splitting = [each for each in GUESSED if tried[each] and len(tried[each][0]) > 1]
    return max(splitting or GUESSED, key=lambda each: _agreement(tried[each], each))


def _agreement(records: Sequence[Sequence[str]], delimiter: str) -> tuple[float, int]:
    """How well a delimiter does: a point a row as wide as the header, and one for its numbers."""
    if not records:
        return 0.0, 0
    header, *rows = records
    signs = "." if delimiter == "," else ".,"
    points = 0.0
    for row in rows:
        if len(row) == len(header):
            good = [c in MISSING or any(_is_number(c, sign) for sign in signs) for c in row]
            points += 1 + sum(good) / len(row)
    return points, len(header)


def _likely_decimal(rows: Iterable[Sequence[str]]) -> str:
    """A comma if some number has one that cannot separate thousands, and none has a point.

    >>> _likely_decimal([["1,5", "2"]]), _likely_decimal([["1,500", "2"]])
    (',', '.')
    """
    certain = False
    for row in rows:
        for cell in row:
            if "." in cell and _is_number(cell, "."):
                return "."
            if "," in cell and _is_number(cell, ","):
                certain = certain or not _THOUSANDS.fullmatch(cell)
    return "," if certain else "."


def _is_number(cell: str, decimal: str) -> bool:
    return _NUMBER[decimal].fullmatch(cell) is not None


def _called(delimiter: str) -> str:
    return DELIMITERS.get(delimiter, repr(delimiter))
