"""The files of a database, which anyone may have prepared, before SQLite opens them.

A journal beside a database may name a file that SQLite then deletes, and SQLite writes to whatever
has the name of one of its files. So the files are looked at first, and who only reads does so from
a copy.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from symseek.errors import InputError
from symseek.files.regular import is_there, open_regular

SIDES = ("-journal", "-wal", "-shm")  # what SQLite adds to the name of a database
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")  # the end of a journal that does
_PATIENCE = 10.0  # seconds to wait while another process writes


class StoreError(InputError):
    """The store cannot be used: one sentence says why, and what to do."""

    def __init__(self, reason: str, *advice: str, temporary: bool = False) -> None:
        super().__init__(reason, *advice)
        self.reason = reason
        self.temporary = temporary  # whether it may pass: a full disk, a locked file


def refuse_planted(path: Path, shared: bool = False) -> None:
    """Refuse files that lead elsewhere, or that symseek does not make.

    Unless it may be `shared`, none may be another name of a file elsewhere.
    """
    for file in (path, *(Path(f"{path}{end}") for end in SIDES)):
        try:
            found = is_there(file, shared)
            if found and file.name.endswith("-journal") and file != path:
                found = _names_another(file)
                why = "it names another file, which would be deleted"
            else:
                found = found and file != path
                why = "it is the log of another program"
        except FileNotFoundError:  # its transaction has just ended
            continue
        except OSError as error:
            found, why = True, error.strerror or str(error)
        if found:
            raise StoreError(
                f"cannot use {str(file)!r}: {why}",
                "; symseek made no such thing, so remove it, or choose another place",
            )


def _names_another(journal: Path) -> bool:
    """Whether the journal is part of a transaction in several files, as no journal of ours is."""
    with open(open_regular(journal), "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - len(_NAMES_ANOTHER)))
        return file.read(len(_NAMES_ANOTHER)) == _NAMES_ANOTHER


def copy_database(path: Path, folder: Path) -> Path:
    """Copy a database into an empty folder, with the journal of a transaction that was cut off."""
    copy = folder / "copy"
    deadline = time.monotonic() + _PATIENCE
    while True:
        before = _state(path)
        for end in ("", "-journal"):
            _copy(Path(f"{path}{end}"), Path(f"{copy}{end}"))
        if _state(path) == before:  # and nobody has written meanwhile
            refuse_planted(copy)
            return copy
        if time.monotonic() > deadline:
            raise StoreError(
                f"the store {str(path)!r} is being written all the time",
                "; try again later",
                temporary=True,
            )


def _state(path: Path) -> list[tuple[int, ...]]:
    """What differs after the files have been written."""
    found: list[tuple[int, ...]] = []
    for end in ("", "-journal"):
        try:
            seen = os.lstat(f"{path}{end}")
        except FileNotFoundError:
            found.append(())
        else:
            found.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
    return found


def _copy(path: Path, copy: Path) -> None:
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        copy.unlink(missing_ok=True)
        return
    with open(descriptor, "rb") as file, open(copy, "wb") as new:
        shutil.copyfileobj(file, new)
