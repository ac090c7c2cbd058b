"""The lines of text files: decompressed, decoded, and split into records.

Blank lines are no records, nor are comments, which begin with #. Where blanks separate the columns,
any number of them does, as in the aligned columns that instruments and Fortran write.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from symseek.errors import InputError
from symseek.files.limits import MOST_TABLE, inflated

BLANKS = " "  # the delimiter that stands for any number of blanks and tabs
COMPRESSED: dict[str, Callable[[Path, str], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
UTF_8, UTF_16, CP1252 = "utf-8-sig", "utf-16", "cp1252"
"""Encodings: with a mark at the beginning or not; with one; and what Excel has in the West."""

SAMPLE = 1 << 20  # bytes from which delimiter and decimal sign are guessed
BLOCK = 1 << 20  # bytes that are looked through at a time

# A spreadsheet's word for a cell without a value begins like a comment.
_COMMENT = re.compile(r"[ \t]*#(?!N/?A\b|DIV/0!|VALUE!|REF!|NUM!|NAME\?|NULL!)")
_MARKS = re.compile(r"[ \t]*#+[ \t]*")
_QUOTED_OR_BLANK = re.compile(r'("[^"]*")|[ \t]+')


def is_compressed(path: Path) -> bool:
    """Whether the file may become larger when it is read."""
    return path.suffix.lower() in COMPRESSED


@contextmanager
def _binary(path: Path, most: int = MOST_TABLE) -> Iterator[BinaryIO]:
    """The file's bytes, decompressed; an `InputError` says what is wrong with them."""
    try:
        with COMPRESSED.get(path.suffix.lower(), Path.open)(path, "rb") as file:
            yield inflated(path, file, most) if is_compressed(path) else file
    except UnicodeDecodeError:
        raise _undecodable(path) from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(path, f" is damaged ({error}); compress the table again") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(path, f" cannot be read ({reason}); check the file") from None


@contextmanager
def opened(path: Path, most: int = MOST_TABLE, encoding: str = UTF_8) -> Iterator[TextIO]:
    """The file's text, its ends of lines as they are; at most so many bytes of a compressed one."""
    with (
        _binary(path, most) as file,
        io.TextIOWrapper(file, encoding=encoding, newline="") as text,
    ):
        yield text


def _undecodable(path: Path) -> InputError:
    """The error about bytes that are no text; names the first line with such that are not UTF-8."""
    line = 1
    with _binary(path) as file:
        for content in file:
            try:
                content.decode()
            except UnicodeDecodeError:
                break
            line += 1
    text = " is not text in UTF-8, UTF-16 or Windows-1252; save the table as UTF-8"
    return InputError(f"line {line} of ", path, text)


def first_lines(
    path: Path, most: int = MOST_TABLE, encoding: str = UTF_8
) -> tuple[list[str], bool]:
    """Whole lines from the start of the file, and whether these are all."""
    with opened(path, most, encoding) as text:
        start = text.read(SAMPLE)
        start += text.readline()
        return list(io.StringIO(start, newline="")), not text.read(1)


@dataclass(frozen=True)
class Look:
    """What a look through a file tells."""

    commented: bool  # there may be comments in it
    size: int  # in bytes, inflated
    encoding: str

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say of the encoding."""
        name = {UTF_16: "UTF-16", CP1252: "Windows-1252, as it is not UTF-8"}.get(self.encoding)
        return () if name is None else (f"read the text as {name}",)


def look_through(path: Path, most: int = MOST_TABLE) -> Look:
    """Look through all of a file.

    Excel writes CSV in Windows-1252 unless asked for UTF-8, and "Unicode text" in UTF-16.
    """
    commented, size, encoding = False, 0, UTF_8
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _binary(path, most) as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            marked = block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            if not size and marked and not block.startswith(codecs.BOM_UTF32_LE):
                encoding = UTF_16
            elif not size and b"\0" in block[:SAMPLE]:
                raise InputError(path, " is not a text file; save the table as CSV")
            commented, size = commented or b"#" in block, size + len(block)
            if encoding == UTF_8:
                encoding = _encoding(decoder, block)
        if encoding == UTF_8:
            encoding = _encoding(decoder, b"", final=True)
    return Look(commented, size, encoding)


def _encoding(decoder: codecs.IncrementalDecoder, block: bytes, final: bool = False) -> str:
    """UTF-8 as far as the bytes until now are."""
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return CP1252
    return UTF_8


def is_comment(line: str) -> bool:
    """Whether a line is a comment.

    >>> is_comment(" # by hand"), is_comment("1,#2"), is_comment("#N/A,2")
    (True, False, False)
    """
    return _COMMENT.match(line) is not None


def uncommented(line: str) -> str:
    """What a comment says.

    >>> uncommented("## t, V")
    't, V'
    """
    return _MARKS.sub("", line, count=1)


def records(path: Path, text: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every record with the line where it starts.

    >>> list(records(Path("-"), ["# t and V", " 1   2.5", "", "10  12.5"], BLANKS))
    [(2, ['1', '2.5']), (4, ['10', '12.5'])]
    """
    blanks = " \t\r\n".replace("" if delimiter == BLANKS else delimiter, "")
    number = start = 0
    between = True  # two records; a text between quotation marks may have any lines in it

    def lines() -> Iterator[str]:
        nonlocal number, start, between
        for line in text:
            number += 1
            if between:
                if is_comment(line) or not line.strip(blanks):
                    continue
                start, between = number, False
            yield _folded(line) if delimiter == BLANKS else line

    reader = csv.reader(lines(), delimiter=delimiter, skipinitialspace=delimiter != BLANKS)
    try:
        for record in reader:
            yield start, record
            between = True
    except csv.Error as error:
        raise InputError(
            f"line {start} of ",
            path,
            f" cannot be split into columns ({error}); check its quotation marks",
        ) from None


def _folded(line: str) -> str:
    """The line with one blank between its fields; quotation marks keep theirs."""
    return _QUOTED_OR_BLANK.sub(lambda found: found[1] or " ", line.strip(" \t\r\n"))
