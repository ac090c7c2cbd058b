"""The file under a store: an SQLite database, opened with care and changed in transactions.

Everything that can be wrong with it, from a file of another kind to a full disk, is told in one
sentence. A transaction has the file to itself, and is whole or not there at all.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from symseek.errors import InputError

__all__ = ["Database", "StoreError"]

FORMAT = 1  # raise it when a change makes old stores unreadable
PATIENCE = 10.0  # seconds to wait while another process writes

# File systems that several machines may write.
_NETWORKS = (
    *("9p", "afs", "beegfs", "ceph", "cifs", "gfs2", "gpfs", "lustre", "nfs", "nfs4", "ocfs2"),
    *("orangefs", "smb3", "smbfs", "virtiofs"),
)

_SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """
    CREATE TABLE owners (
        token TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        place TEXT NOT NULL,
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
        owner TEXT,  -- the token of who is at it, NULL: nobody
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

    def __init__(self, sentence: str, passing: bool = False) -> None:
        super().__init__(sentence)
        self.passing = passing  # whether it may be well again in a while: full, locked


class Database:
    """The open file. With `shared`, other machines may write it too; None: see where it lies.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = Database(Path(folder, "runs.db"))
    ...     with database.writing(durable=True):
    ...         _ = database.execute("INSERT INTO about VALUES ('mood', 'fine')")
    ...     database.execute("SELECT value FROM about WHERE name = 'mood'").fetchall()
    ...     database.close()
    [('fine',)]
    """

    def __init__(self, path: Path, create: bool = True, shared: bool | None = None) -> None:
        self.path = path
        self._refuse_path(create)
        self._wal = not (_on_network(path) if shared is None else shared)
        with self.told():
            self._connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        self.execute = self._connection.execute
        self.executemany = self._connection.executemany
        self.close = self._connection.close
        try:
            self._open_patiently()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def writing(self, durable: bool) -> Iterator[None]:
        """One transaction, alone in the file; `durable`: on the disk before it is left."""
        with self.told():
            if self._connection.in_transaction:  # Ctrl-C came just before the `try` below
                self._connection.rollback()
            # Without its log, SQLite needs the disk at every step to keep the file whole.
            full = durable or not self._wal
            self.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.rollback()
                raise

    @contextmanager
    def told(self) -> Iterator[None]:
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
                passing=True,
            )
        if "locked" in why:
            return StoreError(
                f"the store {name} is locked by another program; close that and run again, what"
                " it holds is safe",
                passing=True,
            )
        if "readonly" in why or "unable to open" in why:
            return StoreError(
                f"the store {name} cannot be opened for writing ({why}); allow that for the file"
                " and its folder"
            )
        return StoreError(f"the store {name} cannot be used: {why}")

    # --- what it must be

    def _refuse_path(self, create: bool) -> None:
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
                if not error.passing or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def _open(self) -> None:
        """Check that the file is a store of this format, or make it one."""
        with self.told():
            tables = self._tables()
            if tables and "about" not in tables:
                raise self._not_a_store("a database of something else")
            wanted = "wal" if self._wal else "delete"
            ((mode,),) = self.execute(f"PRAGMA journal_mode = {wanted}").fetchall()
            self._wal = mode == "wal"
        if not tables:
            self._create()
        self._refuse_other_format()
        self._refuse_damage()

    def _tables(self) -> set[str]:
        return {name for (name,) in self.execute("SELECT name FROM sqlite_master")}

    def _create(self) -> None:
        from symseek import __version__

        with self.writing(durable=True):
            if self._tables():  # another process was quicker
                return
            for statement in _SCHEMA:
                self.execute(statement)
            about = {"what": "symseek runs", "format": str(FORMAT), "symseek": __version__}
            self.executemany("INSERT INTO about VALUES (?, ?)", about.items())

    def _refuse_other_format(self) -> None:
        with self.told():
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
        with self.told():
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


def _on_network(path: Path) -> bool:
    """Whether other machines may write the file too, as far as the mounts of Linux tell."""
    target = os.path.realpath(path)
    best, kind = "", ""
    with suppress(OSError):
        for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
            _, point, mounted, *_ = line.split(" ")
            point = point.replace("\\040", " ")
            inside = target == point or target.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, kind = point, mounted
    return kind in _NETWORKS or kind.startswith("fuse.")
