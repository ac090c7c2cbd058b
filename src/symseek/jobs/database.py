"""The SQLite database under a store, opened with care and changed in transactions.

What is wrong with the file, from another kind of file to a full disk, is said in one sentence.
A transaction has the file to itself, is whole or not there at all, and is on the disk when it ends.
SQLite's rollback journal is used, as its faster log does not work where machines share a folder.

Anyone may have made the file: it is used only if all that is in it are the tables of a store.
"""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from symseek.jobs.database_files import StoreError, copy_database, refuse_planted
from symseek.version import __version__

FORMAT = 1  # raise it when a change makes old stores unreadable
PATIENCE = 10.0  # seconds to wait while another process writes
_LONGEST = 1 << 26  # bytes of a value or a row
_STEPS = 100_000  # of SQLite, after which Python looks for Ctrl-C

_SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """
    CREATE TABLE owners (
        token TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        place TEXT NOT NULL,  -- not used any more
        pid INTEGER NOT NULL,
        started TEXT NOT NULL,
        beat REAL NOT NULL  -- Unix time of the last heartbeat
    )
    """,
    """
    CREATE TABLE runs (
        key TEXT PRIMARY KEY,
        method TEXT NOT NULL,
        problem TEXT NOT NULL,
        seed TEXT NOT NULL,  -- a seed may be larger than SQLite's integers
        status TEXT,  -- done or failed, NULL while its first claim lasts
        owner TEXT,  -- the token of the process that does it, NULL if none
        tries INTEGER NOT NULL DEFAULT 0,  -- records it has had: the last one is kept
        finished REAL,  -- Unix time
        wall REAL,  -- seconds it took, as in the record
        record TEXT  -- JSON
    )
    """,
    "CREATE INDEX owned ON runs (owner) WHERE owner IS NOT NULL",
)


class Database:
    """The open database: a file, or in memory where the path is None.

    Who is to read only has a copy, and changes nothing beside the file.

    >>> database = Database(None)
    >>> with database.writing():
    ...     _ = database.execute("INSERT INTO about VALUES ('mood', 'fine')")
    >>> database.execute("SELECT value FROM about WHERE name = 'mood'").fetchall()
    [('fine',)]
    >>> database.close()
    """

    def __init__(self, path: Path | None, read_only: bool = False) -> None:
        self.path = path
        self._copied: tempfile.TemporaryDirectory[str] | None = None
        self._refuse_path(read_only)
        place: Path | str = ":memory:" if path is None else self._safe_place(path, read_only)
        with self.errors_in_words():
            self._connection = sqlite3.connect(place, timeout=PATIENCE, isolation_level=None)
        self.execute = self._connection.execute
        self.executemany = self._connection.executemany
        try:
            self._guard()
            self._open_patiently()
            if read_only:
                self.execute("PRAGMA query_only = ON")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()
        if self._copied is not None:
            self._copied.cleanup()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, alone in the file."""
        with self.errors_in_words():
            if self._connection.in_transaction:  # Ctrl-C came just before the `try` below
                self._connection.rollback()
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.rollback()
                raise

    @contextmanager
    def errors_in_words(self) -> Iterator[None]:
        """Say in one sentence what is wrong with the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._described(error) from None

    def _described(self, error: sqlite3.Error) -> StoreError:
        name = repr(str(self.path))
        why = str(error)
        if why == "interrupted":  # by Ctrl-C, which SQLite cannot pass on
            raise KeyboardInterrupt
        if "not a database" in why:
            return self._not_a_store("a file of another kind")
        if "malformed" in why or "no such" in why or "corrupt" in why:
            return self.damaged(why)
        if "disk is full" in why:
            return StoreError(
                f"the disk is full: the store {name} cannot grow",
                "; make room and run again, what it holds is safe",
                temporary=True,
            )
        if "locked" in why:
            return StoreError(
                f"the store {name} is locked by another program",
                "; close that and run again, what it holds is safe",
                temporary=True,
            )
        if "readonly" in why or "unable to open" in why:
            return StoreError(
                f"the store {name} cannot be opened for writing ({why})",
                "; allow that for the file and its folder",
            )
        return StoreError(f"the store {name} cannot be used: {why}")

    # --- checks on opening

    def _refuse_path(self, read_only: bool) -> None:
        if self.path is None:
            return
        if self.path.is_dir():
            raise StoreError(f"the store {str(self.path)!r} is a folder", "; name a file in it")
        if read_only and not self.path.exists():
            raise StoreError(f"there is no store {str(self.path)!r}")
        if not self.path.parent.is_dir():
            raise StoreError(f"there is no folder {str(self.path.parent)!r} to keep a store in")

    def _safe_place(self, path: Path, read_only: bool) -> Path:
        """The file that SQLite may open: the store itself, or a copy to read."""
        file = Path(os.path.realpath(path))  # the store that the user names may be a link
        refuse_planted(file, shared=read_only)
        if not read_only:
            return file
        self._copied = tempfile.TemporaryDirectory(prefix="symseek-")
        try:
            return copy_database(file, Path(self._copied.name))
        except OSError as error:
            raise StoreError(
                f"the store {str(path)!r} cannot be read: {error.strerror or error}"
            ) from None

    def _guard(self) -> None:
        """Trust nothing that the file says about itself."""
        with self.errors_in_words():
            for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
                self.execute(f"PRAGMA {setting}").fetchall()
        if hasattr(self._connection, "setlimit"):  # from Python 3.11 on
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        self._connection.set_progress_handler(lambda: 0, _STEPS)

    def _open_patiently(self) -> None:
        """Wait for another process that is making the file: SQLite does not do so by itself."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._open()
            except StoreError as error:
                if not error.temporary or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def _open(self) -> None:
        """Check that the file is a store of this format, or make it one."""
        with self.errors_in_words():
            tables = self._tables()
            if tables and not set(tables) >= {each for each in _made() if each[1] == "about"}:
                raise self._not_a_store("a database of something else")
        if not tables:
            self._create()
        self._refuse_other_format()
        with self.errors_in_words():
            if self._tables() != _made():
                raise self._not_a_store("a database with other tables, views or triggers")
            self.execute("PRAGMA journal_mode = DELETE")  # older versions left another one
        self._refuse_damage()

    def _tables(self) -> list[tuple[str, ...]]:
        return _contents(self._connection)

    def _create(self) -> None:
        with self.writing():
            if self._tables():  # another process was quicker
                return
            for statement in _SCHEMA:
                self.execute(statement)
            about = {"what": "symseek runs", "format": str(FORMAT), "symseek": __version__}
            self.executemany("INSERT INTO about VALUES (?, ?)", about.items())

    def _refuse_other_format(self) -> None:
        with self.errors_in_words():
            names = "('what', 'format', 'symseek')"
            about = dict(self.execute(f"SELECT name, value FROM about WHERE name IN {names}"))
        if about.get("what") != "symseek runs":
            raise self._not_a_store("a database of something else")
        if about.get("format") != str(FORMAT):
            found, version = (str(about.get(name))[:20] for name in ("format", "symseek"))
            raise StoreError(
                f"the store {str(self.path)!r} has format {found}, by symseek {version}, and this"
                f" version reads format {FORMAT}",
                "; use that version, or name a new store",
            )

    def _refuse_damage(self) -> None:
        with self.errors_in_words():
            ((found,),) = self.execute("PRAGMA quick_check(1)").fetchall()
        if found != "ok":
            raise self.damaged(str(found))

    def _not_a_store(self, what: str) -> StoreError:
        return StoreError(
            f"{str(self.path)!r} is not a store of runs but {what}", "; name another file"
        )

    def damaged(self, why: str) -> StoreError:
        """The error that says so (the caller raises it)."""
        return StoreError(
            f"the store {str(self.path)!r} is damaged ({' '.join(why.split())})",
            "; put a copy in its place, or name a new file to run everything again",
        )


def _contents(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    """The tables, indices and whatever else there is, and how each was made."""
    rows = connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master")
    found = (tuple(map(str, row)) for row in rows.fetchmany(100))
    return sorted((*names, _without_comments(sql)) for *names, sql in found)


def _without_comments(sql: str) -> str:
    return re.sub(r"(\s|--[^\n]*)+", " ", sql, flags=re.ASCII).strip()


@cache
def _made() -> list[tuple[str, ...]]:
    """What there is in a store."""
    connection = sqlite3.connect(":memory:")
    for statement in _SCHEMA:
        connection.execute(statement)
    found = _contents(connection)
    connection.close()
    return found
