"""The store: one SQLite file that knows which runs are done, and what each of them left.

A row is a run. It begins with a claim, which says what process does the run, and ends with a
record. A run that has a record is not done again, and the claim of a process that has ended is
free, so an interruption of any kind costs only the runs that were in progress. Every change is one
transaction: processes that share a store never do the same run, and a reader never sees half a run.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from symseek.errors import InputError, shown
from symseek.files.schema import check, parse_json
from symseek.jobs.database import Database
from symseek.jobs.database_files import StoreError
from symseek.jobs.owner import Owner
from symseek.jobs.record import Record, Status
from symseek.jobs.spec import Spec

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
    """How many runs have which state. A failed run that is done again counts as running."""

    done: int = 0
    failed: int = 0
    running: int = 0
    missing: int = 0  # no process has started them

    @property
    def total(self) -> int:
        return self.done + self.failed + self.running + self.missing


class Store:
    """The runs in a file, which is made if it is not there; one that is `read_only` stays as it is.

    Without a path they are in memory. Use it in a `with`, or `close` it: that gives back what it
    has claimed and not finished.

    >>> specs = [Spec("dsr", "Nguyen-1", seed) for seed in range(3)]
    >>> with Store() as store:
    ...     spec = store.claim(specs)
    ...     store.finish(Record(spec, recovered="yes"))
    ...     print(store.counts(specs))
    ...     print([each.seed for each in store.missing(specs)])
    Counts(done=1, failed=0, running=0, missing=2)
    [1, 2]
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        read_only: bool = False,
        owner: Owner | None = None,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.owner = owner or Owner.this_process()
        self._registered = False  # whether the owner has its row
        self._db = Database(self.path, read_only)

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

    # --- claims and records

    def claim(self, specs: Iterable[Spec], *, failed_before: float | None = None) -> Spec | None:
        """Claim the first of these runs that is neither done nor claimed; None if there is none.

        A failed run counts as done unless `failed_before` is given: then one that failed before
        that Unix time may be claimed, and keeps its error until it is finished again.
        """
        with self._db.writing():
            self._free_claims_of_ended_processes()
            for spec, row in self._rows(specs):
                if _claimable(row, failed_before):
                    self._write_heartbeat()
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

        A run that is done stays as it is: if two processes did it after all, the first counts. A
        failure gives way to the record of a later try.
        """
        now = time.time()
        rows = [
            (*_columns(each.spec), each.status, now, each.wall, json.dumps(each.to_dict()))
            for each in records
        ]
        with self._db.writing():
            self._db.executemany(_FINISH, rows)

    def take(self, found: Sequence[Record]) -> int:
        """Take in runs that were finished elsewhere, and return how many were new here.

        A run that is done here stays as it is, and one that failed here gives way to one that is
        done there.
        """
        specs = [each.spec for each in found]
        absent, unfinished = (
            set(self.missing(specs)),
            set(self.missing(specs, failed_before=math.inf)),
        )
        new = [
            each for each in found if each.spec in (unfinished if each.status == "done" else absent)
        ]
        self.finish(*new)
        return len(new)

    def release(self) -> None:
        """Give back all runs that this store's owner has claimed and not finished."""
        if self._registered:
            with self._db.writing():
                self._remove(self.owner)
            self._registered = False

    def heartbeat(self) -> None:
        """Show other machines that the owner of the claims is alive; they wait for `STALE`."""
        if self._registered:
            with self._db.writing():
                self._write_heartbeat()

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
        with self._db.errors_in_words():
            rows = self._db.execute(
                f"SELECT key, record FROM runs WHERE {where}", (*given.values(),)
            )
            found = [self._read(key, text) for key, text in rows if keys is None or key in keys]
        return sorted(found, key=_place_in_a_table)

    def record(self, key: str) -> Record:
        """The finished run whose key begins so."""
        with self._db.errors_in_words():
            pattern = key.replace("*", "") + "*"
            query = "SELECT key, record FROM runs WHERE record IS NOT NULL AND key GLOB ? LIMIT 2"
            rows = self._db.execute(query, (pattern,)).fetchall()
        if len(rows) != 1:
            why = "several of its runs have" if rows else "none of its finished runs has"
            raise InputError(
                f"the store {str(self.path)!r} was asked for {key!r}: {why} such a key"
            )
        return self._read(*rows[0])

    def counts(self, specs: Iterable[Spec] | None = None) -> Counts:
        """How many of these runs, or of all in the store, have which state."""
        if specs is not None:
            return self.survey(specs)[0]
        with self._db.errors_in_words():
            living = self._living()
            rows = self._db.execute("SELECT key, status, owner, finished FROM runs").fetchall()
        return _counted([self._checked_row(*row) for row in rows], living)

    def missing(self, specs: Iterable[Spec], *, failed_before: float | None = None) -> list[Spec]:
        """The runs that have no record yet, claimed or not; each once, in the order given.

        With `failed_before`, those that failed before that Unix time as well.
        """
        return self.survey(specs, failed_before=failed_before)[1]

    def survey(
        self, specs: Iterable[Spec], *, failed_before: float | None = None
    ) -> tuple[Counts, list[Spec]]:
        """The `counts` and the `missing` of these runs, read together."""
        with self._db.errors_in_words():
            living = self._living()
            rows = list(self._rows(dict.fromkeys(specs)))
        missing = [spec for spec, row in rows if _to_do(row, failed_before)]
        return _counted([row for _, row in rows], living), missing

    def times(self, specs: Iterable[Spec]) -> list[tuple[str, str, float]]:
        """The method, the problem and the seconds of each of these runs that is done."""
        query = "SELECT key, method, problem, wall FROM runs WHERE status = 'done' AND wall NOTNULL"
        keys = {spec.key for spec in specs}
        with self._db.errors_in_words():
            rows = [(key, tuple(row)) for key, *row in self._db.execute(query) if key in keys]
        for key, row in rows:
            self._check(key, row, tuple[str, str, float])
        return [row for _, row in rows]

    def _read(self, key: Any, text: Any) -> Record:
        """The record of a row, if it is one."""
        try:
            record = Record.from_dict(parse_json(text.encode()))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise self._odd(key, str(error)) from None
        if record.spec.key != key:
            raise self._odd(key, "its record is that of another run")
        return record

    def _check(self, key: Any, value: Any, hint: Any) -> None:
        try:
            check(value, hint, "its row")
        except InputError as error:
            raise self._odd(key, str(error)) from None

    def _odd(self, key: Any, why: str) -> StoreError:
        return self._db.damaged(f"run {shown(key)}: {why[:200]}")

    # --- rows

    def _rows(self, specs: Iterable[Spec]) -> Iterator[tuple[Spec, tuple[Any, ...] | None]]:
        """Each spec with the status, owner and finish of its row, None where it has none."""
        remaining = iter(specs)
        while chunk := list(islice(remaining, _CHUNK)):
            marks = ", ".join("?" * len(chunk))
            query = f"SELECT key, status, owner, finished FROM runs WHERE key IN ({marks})"
            rows = self._db.execute(query, [spec.key for spec in chunk])
            found = {key: self._checked_row(key, *row) for key, *row in rows}
            for spec in chunk:
                yield spec, found.get(spec.key)

    def _checked_row(self, key: Any, status: Any, owner: Any, finished: Any) -> tuple[Any, ...]:
        """The status, owner and finish of a row, such as they may be."""
        row = status, owner, finished
        if status is None:
            self._check(key, row, tuple[None, str | None, None])
        else:
            self._check(key, row, tuple[Literal["done", "failed"], str | None, float])
        return row

    def _write_heartbeat(self) -> None:
        """Write the owner's row, or the time into it."""
        owner = self.owner
        self._db.execute(
            "INSERT INTO owners (token, host, place, pid, started, beat) VALUES (?, ?, '', ?, ?, ?)"
            " ON CONFLICT (token) DO UPDATE SET beat = excluded.beat",
            (owner.token, owner.host, owner.pid, owner.started, time.time()),
        )
        self._registered = True

    def _owners(self) -> Iterator[tuple[Owner, bool]]:
        """Every owner, and whether it is alive."""
        query = "SELECT token, host, pid, started, beat FROM owners"
        for *row, beat in self._db.execute(query).fetchall():
            owner = Owner(*row)
            self._check("of an owner", (*row, beat), tuple[str, str, int, str, float])
            if not 0 < owner.pid < 2**31:
                raise self._odd("of an owner", f"process {shown(owner.pid)}")
            yield owner, owner.alive(silent_for=time.time() - beat)

    def _living(self) -> set[str]:
        """The tokens of the owners that are alive."""
        return {owner.token for owner, alive in self._owners() if alive}

    def _free_claims_of_ended_processes(self) -> None:
        for owner, alive in self._owners():
            if owner.token != self.owner.token and not alive:
                self._remove(owner)

    def _remove(self, owner: Owner) -> None:
        """End the owner's claims; a run that has never been finished leaves no row."""
        for statement in (
            "DELETE FROM runs WHERE owner = ? AND status IS NULL",
            "UPDATE runs SET owner = NULL WHERE owner = ?",
            "DELETE FROM owners WHERE token = ?",
        ):
            self._db.execute(statement, (owner.token,))


def _columns(spec: Spec) -> tuple[str, str, str, str]:
    return spec.key, spec.method, spec.problem, str(spec.seed)


def _claimable(row: tuple[Any, ...] | None, failed_before: float | None) -> bool:
    return _to_do(row, failed_before) and (row is None or row[1] is None)


def _to_do(row: tuple[Any, ...] | None, failed_before: float | None) -> bool:
    """Whether a run has no record, or one of a failure that may be tried again."""
    if row is None:
        return True
    status, _, finished = row
    if status == "failed" and failed_before is not None:
        return bool(finished < failed_before)
    return status is None


def _counted(rows: Iterable[tuple[Any, ...] | None], living: set[str]) -> Counts:
    return Counts(**Counter(_state(row, living) for row in rows))


def _state(row: tuple[Any, ...] | None, living: set[str]) -> str:
    if row is None:
        return "missing"
    status, owner, _ = row
    return "running" if owner in living else status or "missing"


def _place_in_a_table(record: Record) -> tuple[str, str, int, str]:
    spec = record.spec
    return spec.problem, spec.method, spec.seed, spec.key
