"""The store: one SQLite file that knows which runs are done, and what each of them left.

A row is a run. It comes with a claim, which says what process is at it, and it stays with a record.
What has a record is not run again, and the claim of a dead process is free for the taking, so an
interruption of any kind costs the runs in flight and no more. Every change is one transaction:
processes that share a store never do the same run, and a reader never sees half of one.

A record is on the disk before `finish` returns, so not even a power cut takes it away. A claim is
not waited for: one that a power cut takes belonged to a process that is gone as well.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from symseek.errors import InputError
from symseek.experiments.database import Database, StoreError
from symseek.experiments.owner import Owner
from symseek.experiments.record import Record, Status
from symseek.experiments.spec import Spec

__all__ = ["Counts", "Store", "StoreError"]

_CHUNK = 500  # keys in one query: SQLite takes 999 everywhere

_FINISH = """
INSERT INTO runs (key, method, problem, seed, status, tries, finished, wall, record)
VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
    status = excluded.status, owner = NULL, tries = tries + 1,
    finished = excluded.finished, wall = excluded.wall, record = excluded.record
WHERE runs.status IS NOT 'done'  -- the first to be done stays
"""


@dataclass(frozen=True)
class Counts:
    """How many runs stand how. A failed run that is tried again counts as running."""

    done: int = 0
    failed: int = 0
    running: int = 0
    missing: int = 0  # nobody has begun them

    @property
    def total(self) -> int:
        """All of them."""
        return self.done + self.failed + self.running + self.missing


class Store:
    """The runs in a file, which is made if it is not there (unless `create` is False).

    Use it in a `with`, or `close` it: that gives back what it has claimed and not finished.

    On a network's file system, where machines share the store, SQLite's quicker way of writing
    does not work and the slower one is taken. A folder that this machine works in itself and
    others reach through the network looks local here: say `shared=True` then.

    >>> import tempfile
    >>> specs = [Spec("dsr", "Nguyen-1", seed) for seed in range(3)]
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/runs.db") as store:
    ...     spec = store.claim(specs)
    ...     store.finish(Record(spec, recovered="yes"))
    ...     print(store.counts(specs))
    ...     print([each.seed for each in store.missing(specs)])
    Counts(done=1, failed=0, running=0, missing=2)
    [1, 2]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        shared: bool | None = None,
        owner: Owner | None = None,
    ) -> None:
        self.path = Path(path)
        self.owner = owner or Owner.this_process()
        self._present = False  # whether the owner has its row
        self._db = Database(self.path, create, shared)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what was claimed and not finished, and close the file."""
        try:
            with suppress(StoreError):  # then its claims end with this process
                self.release()
        finally:
            self._db.close()

    # --- runs come and go

    def claim(self, specs: Iterable[Spec], *, failed_before: float | None = None) -> Spec | None:
        """The first of these runs that nobody has done or is at: now the caller is at it.

        None says that there is none. A failed run counts as done unless `failed_before` is given:
        then one that failed before that Unix time may be claimed, and keeps its error until it is
        finished again.
        """
        with self._db.writing(durable=False):
            self._bury_the_dead()
            for spec, row in self._rows(specs):
                if _open_to_all(row, failed_before):
                    self._appear()
                    self._db.execute(
                        "INSERT INTO runs (key, method, problem, seed, owner)"
                        " VALUES (?, ?, ?, ?, ?)"
                        " ON CONFLICT (key) DO UPDATE SET owner = excluded.owner",
                        (*_columns(spec), self.owner.token),
                    )
                    return spec
        return None

    def finish(self, *records: Record) -> None:
        """Keep what runs have left, all or none, and end their claims.

        A run that is done stays as it is: of two processes that did it after all, as when one was
        thought dead, the first counts. A failure gives way to whatever comes of a later try.
        """
        now = time.time()
        rows = [
            (*_columns(each.spec), each.status, now, each.wall, json.dumps(each.to_dict()))
            for each in records
        ]
        with self._db.writing(durable=True):
            self._db.executemany(_FINISH, rows)

    def take(self, other: Store) -> int:
        """Copy the finished runs of another store, and say how many were new here.

        What is done here stays as it is, and what failed here gives way to what is done there.
        """
        found = other.records()
        specs = [each.spec for each in found]
        absent, wanting = set(self.missing(specs)), set(self.missing(specs, failed_before=math.inf))
        new = [
            each for each in found if each.spec in (wanting if each.status == "done" else absent)
        ]
        self.finish(*new)
        return len(new)

    def release(self, *specs: Spec) -> None:
        """Give back these runs, or all that this store's owner has claimed and not finished."""
        if not self._present:
            return
        with self._db.writing(durable=False):
            if specs:
                for spec in specs:
                    self._free("owner = ? AND key = ?", self.owner.token, spec.key)
            else:
                self._remove(self.owner.token)
                self._present = False

    def beat(self) -> None:
        """Tell other machines that the owner of the claims is alive; `STALE` is their patience."""
        if self._present:
            with self._db.writing(durable=False):
                self._appear()

    # --- what is there

    def records(
        self,
        specs: Iterable[Spec] | None = None,
        *,
        method: str | None = None,
        problem: str | None = None,
        status: Status | None = None,
    ) -> list[Record]:
        """The finished runs, failed ones too, or only those asked for; by problem, method, seed."""
        wanted = {"method": method, "problem": problem, "status": status}
        given = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join(["record IS NOT NULL", *(f"{name} = ?" for name in given)])
        keys = None if specs is None else {spec.key for spec in specs}
        with self._db.told():
            rows = self._db.execute(
                f"SELECT key, record FROM runs WHERE {where}", (*given.values(),)
            )
            found = [self._read(text) for key, text in rows if keys is None or key in keys]
        return sorted(found, key=_place_in_a_table)

    def record(self, key: str) -> Record:
        """The finished run whose key begins so."""
        with self._db.told():
            pattern = key.replace("*", "") + "*"
            query = "SELECT record FROM runs WHERE record IS NOT NULL AND key GLOB ? LIMIT 2"
            rows = self._db.execute(query, (pattern,)).fetchall()
        if len(rows) != 1:
            why = "several of its runs have" if rows else "none of its finished runs has"
            raise InputError(
                f"the store {str(self.path)!r} was asked for {key!r}: {why} such a key"
            )
        return self._read(rows[0][0])

    def counts(self, specs: Iterable[Spec] | None = None) -> Counts:
        """How these runs stand, or all that the store knows; a dead process runs nothing."""
        if specs is not None:
            return self.survey(specs)[0]
        with self._db.told():
            living = self._living()
            rows = self._db.execute("SELECT status, owner, finished FROM runs").fetchall()
        return _counted(rows, living)

    def missing(self, specs: Iterable[Spec], *, failed_before: float | None = None) -> list[Spec]:
        """The runs that have no record yet, claimed or not; each once, in the order given.

        With `failed_before`, those that failed before that Unix time as well.
        """
        return self.survey(specs, failed_before=failed_before)[1]

    def survey(
        self, specs: Iterable[Spec], *, failed_before: float | None = None
    ) -> tuple[Counts, list[Spec]]:
        """How these runs stand, and which are `missing`, at one look."""
        with self._db.told():
            living = self._living()
            rows = list(self._rows(dict.fromkeys(specs)))
        missing = [spec for spec, row in rows if _to_do(row, failed_before)]
        return _counted([row for _, row in rows], living), missing

    def times(self, specs: Iterable[Spec]) -> list[tuple[str, str, float]]:
        """The method, the problem and the seconds of each of these runs that is done."""
        found: list[tuple[str, str, float]] = []
        remaining = iter(dict.fromkeys(specs))
        with self._db.told():
            while chunk := list(islice(remaining, _CHUNK)):
                marks = ", ".join("?" * len(chunk))
                query = (
                    "SELECT method, problem, wall FROM runs"
                    f" WHERE key IN ({marks}) AND status = 'done' AND wall IS NOT NULL"
                )
                found += self._db.execute(query, [spec.key for spec in chunk])
        return found

    def holders(self, specs: Iterable[Spec]) -> dict[Spec, str]:
        """Which living process is at which of these runs."""
        with self._db.told():
            living = self._living()
            rows = list(self._rows(specs))
        return {spec: str(living[row[1]]) for spec, row in rows if row and row[1] in living}

    def _read(self, text: str) -> Record:
        try:
            return Record.from_dict(json.loads(text))
        except (ValueError, TypeError) as error:
            raise self._db.damaged(str(error)) from None

    # --- rows

    def _rows(self, specs: Iterable[Spec]) -> Iterator[tuple[Spec, tuple[Any, ...] | None]]:
        """Each spec with the status, owner and finish of its row, None where it has none."""
        remaining = iter(specs)
        while chunk := list(islice(remaining, _CHUNK)):
            marks = ", ".join("?" * len(chunk))
            query = f"SELECT key, status, owner, finished FROM runs WHERE key IN ({marks})"
            rows = self._db.execute(query, [spec.key for spec in chunk])
            found = {key: row for key, *row in rows}
            for spec in chunk:
                row = found.get(spec.key)
                yield spec, None if row is None else tuple(row)

    def _appear(self) -> None:
        """Write the owner's row, or its heartbeat."""
        self._db.execute(
            "INSERT INTO owners VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (token) DO UPDATE SET beat = excluded.beat",
            (*astuple(self.owner), time.time()),
        )
        self._present = True

    def _owners(self) -> Iterator[tuple[Owner, float]]:
        """Every owner, with the seconds since its last heartbeat."""
        for *row, beat in self._db.execute("SELECT * FROM owners").fetchall():
            yield Owner(*row), time.time() - beat

    def _living(self) -> dict[str, Owner]:
        """The owners that are still there, by token."""
        return {o.token: o for o, silent_for in self._owners() if o.alive(silent_for)}

    def _bury_the_dead(self) -> None:
        """Free the claims of every process that is gone."""
        for owner, silent_for in self._owners():
            if owner.token != self.owner.token and not owner.alive(silent_for):
                self._remove(owner.token)

    def _remove(self, token: str) -> None:
        self._free("owner = ?", token)
        self._db.execute("DELETE FROM owners WHERE token = ?", (token,))

    def _free(self, where: str, *values: str) -> None:
        """End claims; of a run that has never been finished, nothing is left."""
        self._db.execute(f"DELETE FROM runs WHERE {where} AND status IS NULL", values)
        self._db.execute(f"UPDATE runs SET owner = NULL WHERE {where}", values)


def _columns(spec: Spec) -> tuple[str, str, str, str]:
    return spec.key, spec.method, spec.problem, str(spec.seed)


def _open_to_all(row: tuple[Any, ...] | None, failed_before: float | None) -> bool:
    """Whether a run may be claimed."""
    return _to_do(row, failed_before) and (row is None or row[1] is None)


def _to_do(row: tuple[Any, ...] | None, failed_before: float | None) -> bool:
    """Whether a run has no record, or one of a failure that may be tried again."""
    if row is None:
        return True
    status, _, finished = row
    if status == "failed" and failed_before is not None:
        return bool(finished < failed_before)
    return status is None


def _counted(rows: Iterable[tuple[Any, ...] | None], living: Mapping[str, Owner]) -> Counts:
    return Counts(**Counter(_standing(row, living) for row in rows))


def _standing(row: tuple[Any, ...] | None, living: Mapping[str, Owner]) -> str:
    if row is None:
        return "missing"
    status, owner, _ = row
    return "running" if owner in living else status or "missing"


def _place_in_a_table(record: Record) -> tuple[str, str, int, str]:
    spec = record.spec
    return spec.problem, spec.method, spec.seed, spec.key
