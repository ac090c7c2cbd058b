"""The heading of a text table: what separates its columns, their names, and where numbers begin.

All of it is read from the first lines. The names are in the first line that is no comment, or in a
comment, where numbers follow it at once. A row of units may come below them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from symseek.errors import InputError, Setting, shown
from symseek.files.cells import MISSING, is_number, is_thousands, is_unit
from symseek.files.limits import MOST_TABLE
from symseek.files.lines import BLANKS, UTF_8, first_lines, is_comment, records, uncommented

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", BLANKS: "blanks"}
SCORED_ROWS = 200  # of the sample, for the delimiter
UNIT_ROWS = 20  # that show which columns have numbers

_SEPARATORS = re.compile(r"[,;|\s]+")
_LINE_END = re.compile(r"\r\n|\r|\n")  # `splitlines` takes other characters for ends too
_GAP = re.compile(r"[ \t]{2,}|\t")  # between names that have single blanks in them
_UNIT_AT_END = re.compile(r"\s[\[(]([^][()]+)[\])]$")
_BRACKETED = re.compile(r"\s*(\[[^]]*\]|\([^)]*\)|[,;|\s]+)+")


@dataclass(frozen=True)
class Heading:
    """What comes before the numbers, and how they are written."""

    names: tuple[str, ...]  # of the columns, tidy
    line: int  # that has them
    delimiter: str
    decimal: str  # "." or ","
    skipped: int  # records before the first row of numbers
    first_row: int  # of numbers, in a spreadsheet that shows the file
    guessed: bool  # whether the delimiter was
    notes: tuple[str, ...]  # what was done that the user may not expect
    units: Mapping[str, str]  # of columns by name, where they have a row of their own
    sample: tuple[tuple[int, list[str]], ...]  # the first rows, each with its line

    @classmethod
    def read(
        cls,
        path: Path,
        delimiter: str | None = None,
        most: int = MOST_TABLE,
        encoding: str = UTF_8,
    ) -> Heading:
        """Read the start of the file; the delimiter is guessed when it is None."""
        lines, whole = first_lines(path, most, encoding)
        at = _comment_with_names(lines)
        if at is not None:
            shown = [*lines[:at], uncommented(lines[at]), *lines[at + 1 :]]
            found = cls._of(path, shown, whole, delimiter, commented=True)
            if all(len(record) == len(found.names) for _, record in found.sample):
                return found
        return cls._of(path, lines, whole, delimiter, commented=False)

    @classmethod
    def _of(
        cls, path: Path, lines: list[str], whole: bool, delimiter: str | None, commented: bool
    ) -> Heading:
        guessed = delimiter is None
        if delimiter is None:
            delimiter = _likely_delimiter(path, lines)
        every = list(records(path, lines, delimiter))
        if not every:
            raise InputError(path, " is empty; give a table with a line of column names")
        if not whole and len(every) > 1:
            every.pop()  # the last may continue after the sample
        return cls._of_rows(path, every, delimiter, lines, guessed, commented)

    @classmethod
    def of_rows(cls, path: Path, rows: Sequence[tuple[int, list[str]]]) -> Heading:
        """The heading of rows that are split into cells, from that of the names on."""
        return cls._of_rows(path, rows, "\t", word="row")

    @classmethod
    def _of_rows(
        cls,
        path: Path,
        every: Sequence[tuple[int, list[str]]],
        delimiter: str,
        lines: Sequence[str] = (),
        guessed: bool = False,
        commented: bool = False,
        word: str = "line",
    ) -> Heading:
        (line, header), rows = every[0], every[1:]
        if lines:
            header = _names(lines[line - 1], header, [row for _, row in rows], delimiter)
        decimal = "." if delimiter == "," else _likely_decimal(row for _, row in rows)
        if all(is_number(name, decimal) for name in header):
            raise InputError(
                f"{word} {line} of ",
                path,
                f" has numbers where the column names should be; put a {word} of names first",
            )
        notes = ["read commas in numbers as decimal signs"] if decimal == "," else []
        if commented:
            notes.append(f"took the names of the columns from the comment in line {line}")
            header[0] = header[0] or "#"
        units = _units(lines, header, rows, decimal, delimiter)
        if units:
            words = ", ".join(f"{name} in {unit}" for name, unit in units)
            notes.append(f"took {word} {rows[0][0]} for units: {words}")
            rows = rows[1:]
        first = rows[0][0] if rows else line + 1
        return cls(
            names=tuple(map(tidy, header)),
            line=line,
            delimiter=delimiter,
            decimal=decimal,
            skipped=(not commented) + bool(units),
            # A name on several lines is in one cell of a spreadsheet.
            first_row=first - sum(len(_LINE_END.findall(name)) for name in header),
            guessed=guessed,
            notes=tuple(notes),
            units=dict(units),
            sample=tuple(rows),
        )


def as_delimiter(text: str) -> str:
    r"""Check what the user gave as a delimiter.

    >>> as_delimiter("tab"), as_delimiter(";")
    ('\t', ';')
    """
    delimiter = {"tab": "\t", r"\t": "\t"}.get(text, text)
    plain = len(delimiter) == 1 and delimiter.isascii() and not delimiter.isalnum()
    if not plain or delimiter in "\r\n\"'+-.#":
        raise InputError(
            Setting("delimiter"),
            " must be one character such as ',' or ';', or 'tab', or ' ' for blanks, not"
            f" {shown(text)}",
        )
    return delimiter


def tidy(name: str) -> str:
    r"""A column's name on one line, without blanks around it.

    >>> tidy(" wind\nspeed ")
    'wind speed'
    """
    return " ".join(part.strip() for part in name.splitlines()).strip()


def _comment_with_names(lines: Sequence[str]) -> int | None:
    """The place of the comment that may name the columns: the last before a line of numbers.

    A last one of nothing but brackets is taken for units.

    >>> _comment_with_names(["# by hand\\n", "# t V\\n", "# [s] [mV]\\n", "0 1\\n"])
    1
    """
    comments = []
    for place, line in enumerate(lines):
        if is_comment(line):
            comments.append(place)
        elif line.strip():
            if not _all_numbers(line):
                return None
            break
    while comments and not uncommented(lines[comments[-1]]).strip():
        comments.pop()
    if len(comments) > 1 and _BRACKETED.fullmatch(uncommented(lines[comments[-1]])):
        comments.pop()
    if not comments or _all_numbers(uncommented(lines[comments[-1]])):
        return None
    return comments[-1]


def _all_numbers(line: str) -> bool:
    cells = [cell for cell in _SEPARATORS.split(line) if cell]
    return all(is_number(cell, ".") for cell in cells)


def _names(
    line: str, header: list[str], rows: Sequence[Sequence[str]], delimiter: str
) -> list[str]:
    """The names; where blanks separate columns, they may be in names as well.

    R leaves out the name of a first column that numbers the rows.
    """
    if delimiter != BLANKS or not rows:
        return header
    width = Counter(map(len, rows)).most_common(1)[0][0]
    header = _as_wide(line, header, width)
    return ["", *header] if len(header) == width - 1 else header


def _as_wide(line: str, record: list[str], width: int) -> list[str]:
    """The fields of a line, split at wider gaps only if that makes them as many as there should be.

    >>> _as_wide("flow rate   pressure", ["flow", "rate", "pressure"], 2)
    ['flow rate', 'pressure']
    """
    apart = _GAP.split(line.strip())
    return apart if len(record) != width == len(apart) else record


def _units(
    lines: Sequence[str],
    header: Sequence[str],
    rows: Sequence[tuple[int, list[str]]],
    decimal: str,
    delimiter: str,
) -> list[tuple[str, str]]:
    """The units in the first row, with names: it has text in all the columns of numbers."""
    if len(rows) < 2:
        return []
    line, cells = rows[0]
    if delimiter == BLANKS:
        cells = _as_wide(lines[line - 1], cells, len(header))
    below = [row for _, row in rows[1 : 1 + UNIT_ROWS] if len(row) == len(header)]
    if len(cells) != len(header) or not below:
        return []
    numeric = []
    for place in range(len(header)):
        given = [row[place] for row in below if row[place] not in MISSING]
        if given and all(is_number(cell, decimal) for cell in given):
            numeric.append(place)
    if not all(cells[place] in MISSING or is_unit(cells[place]) for place in numeric):
        return []
    named = [place for place in numeric if is_unit(cells[place])]
    return [(tidy(header[place]), tidy(cells[place])) for place in named]


def unit_in(name: str) -> str:
    """The unit that a column's name ends with, in brackets; empty if there is none.

    >>> unit_in("height [m]"), unit_in("speed (m/s)"), unit_in("f(x)"), unit_in("group (1)")
    ('m', 'm/s', '', '')
    """
    found = _UNIT_AT_END.search(name)
    return found[1] if found and is_unit(found[1]) else ""


def _likely_delimiter(path: Path, lines: Sequence[str]) -> str:
    """The one that splits the header, agrees with the rows, and leaves numbers between.

    Blanks are in many names, so they are taken only where nothing else splits the rows.

    >>> _likely_delimiter(Path("-"), ["length, m;time, s\\n", "1,5;2,0\\n"])
    ';'
    >>> _likely_delimiter(Path("-"), ["   t   V\\n", " 1.0  10.5\\n", "10.0 100.5\\n"])
    ' '
    """
    tried: dict[str, list[list[str]]] = {each: [] for each in DELIMITERS}
    for delimiter in DELIMITERS:
        with suppress(InputError):  # a wide header is one enormous field to a wrong delimiter
            found = list(islice(records(path, lines, delimiter), 1 + SCORED_ROWS))
            tried[delimiter] = [record for _, record in found]
            if delimiter == BLANKS and found:
                line, header = found[0]
                rows = tried[delimiter][1:]
                tried[delimiter][0] = _names(lines[line - 1], header, rows, delimiter)
    aligned = tried.pop(BLANKS)
    points = {each: _agreement(tried[each], each) for each in tried}
    splitting = [each for each in tried if tried[each] and len(tried[each][0]) > 1]
    if _is_aligned(aligned) and not any(points[each][0] for each in splitting):
        return BLANKS
    return max(splitting or tried, key=points.__getitem__)


def _agreement(rows: Sequence[Sequence[str]], delimiter: str) -> tuple[float, int]:
    """How well a delimiter does: a point a row as wide as the header, and one for its numbers."""
    if not rows:
        return 0.0, 0
    header, *below = rows
    points = 0.0
    for row in below:
        if len(row) == len(header):
            points += 1 + _share_of_numbers(row, delimiter)
    return points, len(header)


def _is_aligned(rows: Sequence[Sequence[str]]) -> bool:
    """Whether blanks split all rows into as many fields as there are names, numbers for the most.

    The first may be of units, which have blanks in them as well.
    """
    below = rows[2:] or rows[1:]
    if not below or any(len(row) != len(rows[0]) for row in below) or len(rows[0]) < 2:
        return False
    return sum(_share_of_numbers(row, BLANKS) for row in below) >= 0.5 * len(below)


def _share_of_numbers(row: Sequence[str], delimiter: str) -> float:
    signs = "." if delimiter == "," else ".,"
    good = [cell in MISSING or any(is_number(cell, sign) for sign in signs) for cell in row]
    return sum(good) / len(row)


def _likely_decimal(rows: Iterable[Sequence[str]]) -> str:
    """A comma if some number has one that cannot separate thousands, and none has a point.

    >>> _likely_decimal([["1,5", "2"]]), _likely_decimal([["1,500", "2"]])
    (',', '.')
    """
    certain = False
    for row in rows:
        for cell in row:
            if "." in cell and is_number(cell, "."):
                return "."
            if "," in cell and is_number(cell, ","):
                certain = certain or not is_thousands(cell)
    return "," if certain else "."
