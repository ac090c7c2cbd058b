"""The folder that the studio works in: its tables and its runs, by their names.

A name comes from a browser, and is looked for among what is in the folder; it never leads out of
it, not by dots, separators or links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from symseek.errors import InputError, shown
from symseek.files.tables import names_table
from symseek.runs.folder import holds_run
from symseek.studio.answers import Refused
from symseek.studio.caches import FileCache

LONGEST = 200  # bytes of a new file's name; a run's is a little longer
_MOST = 1000  # tables or runs that are listed


class Workspace:
    """The folder; `trusted` are the runs that the user named at the start."""

    def __init__(self, folder: Path, trusted: tuple[str, ...] = ()) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.trusted = frozenset(trusted)
        self.written: set[str] = set()  # files with predictions
        self._holds_run = FileCache(lambda path: holds_run(path.parent), 2 * _MOST)

    def tables(self) -> list[str]:
        """The names of the tables, in order."""
        names = (each.name for each in self._entries() if names_table(each.name))
        return sorted(name for name in names if self._is(name, stat.S_ISREG))[:_MOST]

    def runs(self) -> list[str]:
        """The names of the runs, the newest first."""
        found = []
        for entry in self._entries():
            with suppress(OSError):
                if entry.is_dir() and self.is_run(entry.name):
                    written = os.lstat(self.folder / entry.name / "settings.json").st_mtime_ns
                    found.append((written, entry.name))
        return [name for _, name in sorted(found, reverse=True)[:_MOST]]

    def is_run(self, name: str) -> bool:
        """Whether a folder of that name is here and has a run in it."""
        path = self.folder / name / "settings.json"
        return self._is(name, stat.S_ISDIR) and self._holds_run(path)

    def table(self, name: str) -> Path:
        """The path of a table that is here."""
        if not self._is(name, stat.S_ISREG):
            raise Refused(404, f"there is no table {shown(name)} in the folder")
        return self.folder / name

    def run(self, name: str) -> Path:
        """The path of a run that is here."""
        if not self._is(name, stat.S_ISDIR):
            raise Refused(404, f"there is no run {shown(name)} in the folder")
        return self.folder / name

    def file(self, run: str, name: str) -> Path:
        """The path of a file of a run, whether it is there or not; who reads it follows no link."""
        return self.run(run) / name

    def holds(self, path: Path) -> bool:
        """Whether a file, where links lead, is in the folder."""
        return Path(os.path.realpath(path)).is_relative_to(self.folder)

    def save_table(self, name: str, data: bytes) -> str:
        """Save a table that came from the browser, and return the name that it has now."""
        checked_name(name)
        if not names_table(name):
            raise InputError(
                f"{name} does not have the name of a table that can be read, such as .csv, .tsv,"
                " .txt, .parquet or .xlsx; save it as CSV, Parquet or .xlsx"
            )
        return self.save(name, data)

    def save(self, name: str, data: bytes) -> str:
        """Write a new file whole and return its name: a number is added where the name is taken.

        A file of that name and content that is there already will do.
        """
        for other in _numbered(name):
            path = self.folder / other
            if self._is(other, stat.S_ISREG) and path.stat().st_size == len(data):
                if path.read_bytes() == data:
                    return other
            elif not os.path.lexists(path) and _written(path, data):
                return other
        raise AssertionError("numbers do not end")

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(self.folder) as entries:
                yield from (each for each in entries if safe_name(each.name))
        except OSError as error:
            raise InputError(
                "the folder ", self.folder, f" cannot be read: {error.strerror}"
            ) from None

    def _is(self, name: str, kind: Callable[[int], bool]) -> bool:
        """Whether something of that name and kind is in the folder itself, and not elsewhere."""
        if not safe_name(name):
            return False
        path = self.folder / name
        with suppress(OSError, ValueError):
            return kind(os.stat(path).st_mode) and self.holds(path)
        return False


def safe_name(name: str) -> bool:
    """Whether this can be the name of something in a folder, and of nothing else.

    >>> [safe_name(each) for each in ("a b.csv", "..", "a/b", ".a", "", "<b>", "a" * 300)]
    [True, False, False, False, False, True, False]
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError:  # bytes that are no text
        return False
    return 0 < size <= 255 and name.isprintable() and name[0] != "." and not set(name) & set("/\\")


def checked_name(name: str) -> None:
    """Refuse a name that no new table may have."""
    if not safe_name(name):
        raise InputError(
            f"a file cannot be saved as {shown(name)}; give it a name of letters and digits"
        )
    if len(name.encode()) > LONGEST:
        raise InputError(f"the name {shown(name)} is longer than {LONGEST} bytes; give a shorter")


def _numbered(name: str) -> Iterator[str]:
    """The name, and the same with numbers: data.csv, data-2.csv, ..."""
    stem, dot, suffix = name.partition(".")
    yield name
    for number in count(2):
        yield f"{stem}-{number}{dot}{suffix}"


def _written(path: Path, data: bytes) -> bool:
    """Write a file that is not there, whole; False if it has come to be there."""
    from symseek.files.atomic import write_new

    try:
        write_new(path, data)
    except FileExistsError:
        return False
    except OSError as error:
        raise InputError(path, f" cannot be written: {error.strerror or error}") from None
    return True
