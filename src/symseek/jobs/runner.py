"""Does the runs that a store does not have yet, here or on a cluster, and keeps each result.

Only this process uses the store; the workers know nothing of it. The loop claims a run, starts it
in the pool, keeps what comes back, and sends a heartbeat now and then. Ctrl-C stops it and keeps
every run that has finished.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from symseek.arguments import refused
from symseek.jobs.database_files import StoreError
from symseek.jobs.perform import failure, resolve
from symseek.jobs.pool import LostRun, ProcessPool, Workers
from symseek.jobs.record import Record, Snapshot
from symseek.jobs.spec import Spec
from symseek.jobs.store import Counts, Store

MAX_LOSSES = 2  # a run that has lost its process this many times has failed
HEARTBEAT = 15.0  # seconds between two heartbeats: many within `owner.STALE`
SURVEY = 5.0  # seconds between two looks at what other processes have done with the store
IDLE = 0.5  # the same while only runs of other processes are left
SURVEY_COST = 100  # a survey of very many runs takes a while, and is done that much less often
PATIENCE = 60.0  # seconds to wait for a store that is full or locked: results are at stake

T = TypeVar("T")


class Listener:
    """What the runner reports; override what you want to know. This one does nothing."""

    def counted(self, counts: Counts, left: list[Spec], size: int) -> None:
        """How the runs stand in the store, which are left, and how many are done at a time.

        Called at the beginning and, as other processes may use the store, now and then.
        """

    def started(self, spec: Spec) -> None:
        """A run was started."""

    def progressed(self, snapshot: Snapshot) -> None:
        """How a run stands; a cluster's runs do not say."""

    def finished(self, record: Record) -> None:
        """A run has ended, done or failed, and is in the store."""

    def lost(self, spec: Spec, why: str) -> None:
        """A run has lost its process, and is done again."""
        self.trouble(f"{spec} lost its process and is done again: {why}")

    def trouble(self, text: str) -> None:
        """Something went wrong that may pass."""


@dataclass(frozen=True)
class Outcome:
    """What a call of `run` achieved."""

    counts: Counts  # of all the runs asked for, whichever process did them
    ran: int = 0  # finished by this call
    failures: list[Record] = field(default_factory=list)  # every failed run among those asked for
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether every run has its record."""
        return self.counts.done + self.counts.failed == self.counts.total


def run(
    specs: Iterable[Spec],
    store: Store,
    execute: str,
    jobs: int | None = None,
    cluster: str | None = None,
    listener: Listener | None = None,
    retry_failed: bool = False,
) -> Outcome:
    """Do every run that the store has no record of, `jobs` at a time or on a Ray cluster.

    `execute` names the function that does one, as module:function. Runs that failed before are done
    again only with `retry_failed`. A run that another process is doing is left to it, and waited
    for: should that process end, the run is done here. `cluster` is an address for Ray: "auto",
    "local", "host:6379" or "ray://host:10001"; then `jobs` does not count.

    `symseek.lab.run` has an example.
    """
    check(execute, jobs)

    def make_pool() -> Workers:
        if cluster is None:
            return ProcessPool(jobs or 1, execute)
        from symseek.jobs.cluster import RayPool

        return RayPool(cluster, execute)

    return drive(specs, store, make_pool, listener or Listener(), retry_failed)


def check(execute: str, jobs: int | None) -> None:
    """Refuse a bad name or number here, and not in every worker."""
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise refused("jobs", jobs, "at least 1")
    resolve(execute)


def drive(
    specs: Iterable[Spec],
    store: Store,
    make_pool: Callable[[], Workers],
    listener: Listener,
    retry_failed: bool = False,
) -> Outcome:
    """`run` with any pool, which is made only if there is something to do."""
    wanted = list(dict.fromkeys(specs))
    loop = _Loop(wanted, store, listener, time.time() if retry_failed else None)
    interrupted = False
    try:
        loop.survey(pool_size=0)
        if loop.waiting:
            loop.run(make_pool())
    except KeyboardInterrupt:
        interrupted = True
    finally:
        store.release()
    failures = store.records(wanted, status="failed")
    return Outcome(store.counts(wanted), loop.ran, failures, interrupted)


class _Loop:
    """The runs on their way from the store to the pool and back."""

    def __init__(
        self, specs: list[Spec], store: Store, listener: Listener, failed_before: float | None
    ) -> None:
        self.specs = specs
        self.store = store
        self.listener = listener
        self.failed_before = failed_before  # a run that fails from now on is not done again
        self.waiting: dict[Spec, None] = {}  # without a record as far as known, and not started
        self.running: dict[Spec, int] = {}  # how many processes each has lost
        self.unsaved: list[Record] = []
        self.ran = 0
        self._heartbeat_due = self._survey_due = 0.0
        self._idle = False  # whether only runs of other processes are left

    def run(self, pool: Workers) -> None:
        """Do all the runs; however it ends, what has finished is kept."""
        try:
            self.survey(pool.size)
            while self.waiting or self.running:
                self._start_runs(pool)
                self._collect(pool, timeout=self._pause())
                self._keep_in_touch(pool)
        except KeyboardInterrupt:
            self._collect(pool, timeout=0.0)
            raise
        finally:
            pool.close()

    def survey(self, pool_size: int) -> None:
        """Ask the store how the runs stand, and report it."""
        begin = time.monotonic()
        counts, missing = self._patiently(self._survey)
        self.waiting = {spec: None for spec in missing if spec not in self.running}
        self.listener.counted(counts, [*self.running, *self.waiting], pool_size)
        now = time.monotonic()
        self._survey_due = now + max(SURVEY, SURVEY_COST * (now - begin))

    def _survey(self) -> tuple[Counts, list[Spec]]:
        return self.store.survey(self.specs, failed_before=self.failed_before)

    def _start_runs(self, pool: Workers) -> None:
        while pool.room > 0:
            spec = self._patiently(self._claim)
            if spec is None:
                break
            del self.waiting[spec]
            self.running[spec] = 0
            pool.start(spec)
            self.listener.started(spec)
        self._idle = not self.running

    def _claim(self) -> Spec | None:
        if not self.waiting:
            return None
        return self.store.claim(self.waiting, failed_before=self.failed_before)

    def _collect(self, pool: Workers, timeout: float) -> None:
        """Wait for events, and save the records among them before anything else is done."""
        if not self.running:
            time.sleep(timeout)
        for event in pool.wait(timeout) if self.running else ():
            if isinstance(event, Snapshot):
                self.listener.progressed(event)
            elif isinstance(event, LostRun):
                self._lost(event, pool)
            else:
                self.unsaved.append(event)
        self._save()

    def _lost(self, lost: LostRun, pool: Workers) -> None:
        """Start a lost run again, unless it has lost too many processes."""
        self.running[lost.spec] += 1
        if self.running[lost.spec] < MAX_LOSSES:
            self.listener.lost(lost.spec, lost.why)
            pool.start(lost.spec)
        else:
            self.unsaved.append(failure(lost.spec, f"{lost.why}, {MAX_LOSSES} times"))

    def _save(self) -> None:
        if not self.unsaved:
            return
        self._patiently(lambda: self.store.finish(*self.unsaved))
        saved, self.unsaved = self.unsaved, []
        for record in saved:
            self.ran += 1
            self.running.pop(record.spec, None)
            self.listener.finished(record)

    def _keep_in_touch(self, pool: Workers) -> None:
        """The heartbeat, and a survey of what other processes have done."""
        now = time.monotonic()
        if now >= self._heartbeat_due:
            self._patiently(self.store.heartbeat)
            self._heartbeat_due = now + HEARTBEAT
        if now >= self._survey_due or self._idle:
            self.survey(pool.size)

    def _pause(self) -> float:
        """Seconds until there is something to do even if no run ends."""
        if self._idle:
            return IDLE
        return max(0.0, min(self._heartbeat_due, self._survey_due) - time.monotonic())

    def _patiently(self, action: Callable[[], T]) -> T:
        """Do it, and try again for a while if the store is full or locked."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return action()
            except StoreError as error:
                if not error.temporary or time.monotonic() >= deadline:
                    raise
                self.listener.trouble(f"{error}; trying again")
            time.sleep(1.0)
