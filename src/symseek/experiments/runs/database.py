"""The SQLite database under a store, opened with care and changed in transactions.

What is wrong with the file, from another kind of file to a full disk, is said in one sentence.
A transaction has the file to itself, is whole or not there at all, and is on the disk when it ends.
SQLite's rollback journal is used, as its faster log does not work where machines share a folder.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from symseek.errors import InputError

__all__ = ["Database", "StoreError"]

FORMAT = 1  # raise it when a change makes old stores unreadable
PATIENCE = 10.0  # seconds to wait while another process writes

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


class StoreError(InputError):
    """The store cannot be used: one sentence says why, and what to do."""

    def __init__(self, sentence: str, temporary: bool = False) -> None:
        super().__init__(sentence)
        self.temporary = temporary  # whether it may pass: a full disk, a locked file


class Database:
    """The open database: a file, or in memory where the path is None.

    >>> database = Database(None)
    >>> with database.writing():
    ...     _ = database.execute("INSERT INTO about VALUES ('mood', 'fine')")
    >>> database.execute("SELECT value FROM about WHERE name = 'mood'").fetchall()
    [('fine',)]
    >>> database.close()
    """

    def __init__(self, path: Path | None, create: bool = True) -> None:
        self.path = path
        self._refuse_path(create)
        with self.errors_in_words():
            self._connection = sqlite3.connect(
                path or ":memory:", timeout=PATIENCE, isolation_level=None
            )
        self.execute = self._connection.execute
        self.executemany = self._connection.executemany
        self.close = self._connection.close
        try:
            self._open_patiently()
        except BaseException:
            self.close()
            raise

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
            raise self._sentence(str(error)) from None

    def _sentence(self, why: str) -> StoreError:
        name = repr(str(self.path))
        if "not a database" in why:
            return self._not_a_store("a file of another kind")
        if "malformed" in why or "no such" in why or "corrupt" in why:
            return self.damaged(why)
        if "disk is full" in why:
            return StoreError(
                f"the disk is full: the store {name} cannot grow; make room and run again, what"
                " it holds is safe",
                temporary=True,
            )
        if "locked" in why:
            return StoreError(
                f"the store {name} is locked by another program; close that and run again, what"
                " it holds is safe",
                temporary=True,
            )
        if "readonly" in why or "unable to open" in why:
            return StoreError(
                f"the store {name} cannot be opened for writing ({why}); allow that for the file"
                " and its folder"
            )
        return StoreError(f"the store {name} cannot be used: {why}")

    # --- checks on opening

    def _refuse_path(self, create: bool) -> None:
        if self.path is None:
            return
        if self.path.is_dir():
            raise StoreError(f"the store {str(self.path)!r} is a folder; name a file in it")
        if not create and not self.path.exists():
            raise StoreError(f"there is no store {str(self.path)!r}")
        if not self.path.parent.is_dir():
            raise StoreError(f"there is no folder {str(self.path.parent)!r} to keep a store in")

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
            if tables and "about" not in tables:
                raise self._not_a_store("a database of something else")
            self.execute("PRAGMA journal_mode = DELETE")  # older versions left another one
        if not tables:
            self._create()
        self._refuse_other_format()
        self._refuse_damage()

    def _tables(self) -> set[str]:
        return {name for (name,) in self.execute("SELECT name FROM sqlite_master")}

    def _create(self) -> None:
        from symseek import __version__

        with self.writing():
            if self._tables():  # another process was quicker
                return
            for statement in _SCHEMA:
                self.execute(statement)
            about = {"what": "symseek runs", "format": str(FORMAT), "symseek": __version__}
            self.executemany("INSERT INTO about VALUES (?, ?)", about.items())

    def _refuse_other_format(self) -> None:
        with self.errors_in_words():
            try:
                about = dict(self.execute("SELECT name, value FROM about"))
            except sqlite3.OperationalError as error:
                if "no such column" not in str(error):
                    raise
                about = {}
        if about.get("what") != "symseek runs":
            raise self._not_a_store("a database of something else")
        if about.get("format") != str(FORMAT):
            raise StoreError(
                f"the store {str(self.path)!r} has format {about.get('format')}, by symseek"
                f" {about.get('symseek')}, and this version reads format {FORMAT}; use that"
                " version, or name a new store"
            )

    def _refuse_damage(self) -> None:
        with self.errors_in_words():
            ((found,),) = self.execute("PRAGMA quick_check(1)").fetchall()
        if found != "ok":
            raise self.damaged(str(found))

    def _not_a_store(self, what: str) -> StoreError:
        return StoreError(
            f"{str(self.path)!r} is not a store of runs but {what}; name another file"
        )

    def damaged(self, why: str) -> StoreError:
        """The error that says so (the caller raises it)."""
        return StoreError(
            f"the store {str(self.path)!r} is damaged ({' '.join(why.split())}); put a copy in its"
            " place, or name a new file to run everything again"
        )
