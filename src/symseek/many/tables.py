"""The tables of many fits: which files were named, what each is called, and where its run goes.

Names of files and values of a column are data. What is shown is the name as it is; the name of a
folder is made from it, and holds only letters, digits, dots, dashes and underscores.
"""

from __future__ import annotations

import glob
import hashlib
import os
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, BinaryIO

from symseek.errors import InputError, shown
from symseek.files.schema import Most
from symseek.files.tables import names_table
from symseek.jobs.database_files import SIDES

_LONGEST = 80  # bytes of a folder's name, so that a number and a file in it have room
_MOST_HASHED = 1 << 30  # bytes; a larger file has changed when its size or time has
_BLOCK = 1 << 20  # bytes that are read at a time
_KINDS = ".csv, .tsv, .txt, .dat, .parquet, .xlsx"
_EMPTY = "table"  # the name of what has no letter
# What the parent folder holds beside the runs, and names that Windows keeps for devices.
_TAKEN = {"tables", "fits.json", "summary.csv", "summary.html", "lock"}
_TAKEN |= {f"fits.sqlite{end}" for end in ("", *SIDES)}
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))}


Short = Annotated[str, Most(2000)]


@dataclass(frozen=True)
class Table:
    """One of the tables to be fitted."""

    name: str  # for reading: of the file, or the value of the column that the rows share
    folder: Short  # of its run, inside the parent folder
    data: Path  # the file; relative to the parent folder if it was written there
    stamp: Short  # of its content; of a file from elsewhere, with its size and time
    error: Short = ""  # why there is no file

    @property
    def here(self) -> bool:
        """Whether the file was written into the parent folder."""
        return not self.data.is_absolute()

    @property
    def content(self) -> str:
        """What differs when the content does."""
        return self.stamp.partition(" ")[0]

    def now(self) -> Table:
        """The table as its file is now; as it was, if the file is gone."""
        return self if self.here else replace(self, stamp=stamp_of(self.data, self.stamp))

    def note(self) -> str:
        """What to say of a formula whose data are not there any more."""
        if self.here or not self.stamp:
            return ""
        if not self.data.exists():
            return "the file is gone"
        return "" if self.now().content == self.content else "the file has changed since"


def stamp_of(path: Path, before: str = "") -> str:
    """A digest of a file, its size and its time; only read if they differ from those before.

    A file that was copied back or touched so stays the same. One that is gone is as before.
    """
    try:
        found = path.stat()
    except (OSError, ValueError):
        return before
    looks = f"{found.st_size} {found.st_mtime_ns}"
    if before.partition(" ")[2] == looks:
        return before
    content = looks.replace(" ", "-")
    if stat.S_ISREG(found.st_mode) and found.st_size <= _MOST_HASHED:
        with suppress(OSError), open(path, "rb") as file:
            content = _digest(file)
    return f"{content} {looks}"


def _digest(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


def files_named(paths: Iterable[Path]) -> tuple[list[Path], list[str]]:
    """The files that were named, and of every folder the tables in it by name; each once.

    What is like `*.csv`, and no file, stands for those that match: not every shell does that. The
    second list has a sentence for each folder without tables.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.csv", "a.csv", "notes.pdf"):
    ...         Path(folder, name).touch()
    ...     files, notes = files_named([Path(folder), Path(folder, "*.csv")])
    ...     [path.name for path in files], notes
    (['a.csv', 'b.csv'], [])
    """
    found: dict[Path, None] = {}
    without: list[str] = []
    for path in (each for given in paths for each in _matching(given)):
        tables = _tables_in(path) if path.is_dir() else [path]
        found |= {Path(os.path.abspath(each)): None for each in tables}
        if not tables:
            without.append(f"the folder {path} has no tables in it ({_KINDS})")
    if not found:
        raise InputError(
            f"{without[0]}; name another"
            if without
            else "no table is named; give files, or a folder of files"
        )
    return list(found), without


def _matching(path: Path) -> list[Path]:
    """The path, or what matches it if it is a pattern and not there."""
    if not glob.has_magic(str(path)) or os.path.lexists(path):
        return [path]
    matching = sorted(map(Path, glob.glob(str(path))))
    if not matching:
        raise InputError(f"no file is like {shown(str(path))}; name others")
    return matching


def _tables_in(folder: Path) -> list[Path]:
    """The tables in a folder, without those that are hidden."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise InputError(f"cannot read the folder {folder}: {error.strerror or error}") from None
    tables = [folder / name for name in names if names_table(name) and name[0] != "."]
    return [path for path in tables if not path.is_dir()]


def file_tables(files: Sequence[Path], known: Sequence[Table] = ()) -> list[Table]:
    """The files as tables; those that are known keep their folders."""
    names = relative_names(files)
    labels = {str(path): _without_suffix(name) for path, name in zip(files, names, strict=True)}
    folders = folder_names(labels, {str(each.data): each.folder for each in known})
    stamps = {str(each.data): each.stamp for each in known}
    return [
        Table(name, folders[str(path)], path, stamp_of(path, stamps.get(str(path), "")))
        for path, name in zip(files, names, strict=True)
    ]


def _without_suffix(name: str) -> str:
    """The name of a file up to the first dot.

    >>> _without_suffix("a.b/run.csv.gz")
    'a.b/run'
    """
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition('.')[0] or last}"


def relative_names(files: Sequence[Path]) -> list[str]:
    """What the files are called: by their names, with as much of their folders as differs.

    >>> relative_names([Path("/lab/a/x.csv"), Path("/lab/b/x.csv")])
    ['a/x.csv', 'b/x.csv']
    """
    try:
        shared = os.path.commonpath([path.parent for path in files])
    except ValueError:  # on different drives
        return [path.as_posix() for path in files]
    return [path.relative_to(shared).as_posix() for path in files]


def safe_name(text: str) -> str:
    """A name for a folder that leads nowhere else and that every system takes.

    >>> [safe_name(text) for text in ("../../etc/passwd", "Sensor 7 (north)", "nul", "")]
    ['etc_passwd', 'Sensor_7_north', 'nul_', 'table']
    """
    text = unicodedata.normalize("NFC", text)
    kept = "".join(each if each.isalnum() or each in "-_." else " " for each in text)
    name = "_".join(kept.split())
    while len(name.encode()) > _LONGEST:
        name = name[:-1]
    name = name.strip("._-") or _EMPTY
    stem = name.partition(".")[0].casefold()
    return f"{name}_" if stem in _DEVICES or name.casefold() in _TAKEN else name


def is_safe(folder: str) -> bool:
    """Whether this may be the name of a run folder, whoever wrote it.

    >>> is_safe("run-2"), is_safe(".."), is_safe("a/b"), is_safe("summary.html")
    (True, False, False, False)
    """
    plain = all(each.isalnum() or each in "-_." for each in folder)
    return plain and folder[:1] not in ("", ".") and folder.casefold() not in _TAKEN


def folder_names(labels: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """A folder for each table, named like its label; no two alike even where case does not count.

    Tables that are known keep the folders that they have.

    >>> folder_names({"1": "a b", "2": "a/b", "3": "A_B"}, {})
    {'1': 'a_b', '2': 'a_b-2', '3': 'A_B-3'}
    """
    folders = dict(known)
    taken = {each.casefold() for each in folders.values()}
    numbers: Counter[str] = Counter()
    for table, label in labels.items():
        if table in folders:
            continue
        folder = safe = safe_name(label)
        while folder.casefold() in taken:
            numbers[safe.casefold()] += 1
            folder = f"{safe}-{numbers[safe.casefold()] + 1}"
        taken.add(folder.casefold())
        folders[table] = folder
    return folders
