"""Runs what a store has not got yet, here or on a cluster, and keeps each result as it comes.

Only this process touches the store; those who do the runs know nothing of it. So the loop below is
all there is: claim a run, give it to the crew, keep what comes back, and say now and then that we
are alive. Ctrl-C stops it, and keeps every run that has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from symseek.errors import InputError
from symseek.experiments.crew import Crew, Lost, Processes
from symseek.experiments.perform import EXECUTE, failure, resolve
from symseek.experiments.record import Record
from symseek.experiments.spec import Spec
from symseek.experiments.store import Counts, Store, StoreError

__all__ = ["Listener", "Outcome", "Silent", "drive", "run"]

DEATHS = 2  # a run that has killed so many processes has failed
BEAT = 15.0  # seconds between two heartbeats: many within `owner.STALE`
LOOK = 5.0  # seconds between two looks at what other processes have done with the store
IDLE = 0.5  # seconds between two looks while nothing but the runs of others is left
SHARE = 100  # a look at very many runs takes a while, and comes so much the less often
PATIENCE = 60.0  # seconds to wait for a store that is full or locked: results are at stake

T = TypeVar("T")


class Listener(Protocol):
    """Who wants to know how it goes."""

    def counted(self, counts: Counts, left: list[Spec], crew: int) -> None:
        """How the runs stand in the store, which of them are left, and how many run at a time.

        It is told at the beginning and, as other processes may work on the store too, now and then.
        """

    def started(self, spec: Spec) -> None:
        """A run was given to the crew."""

    def finished(self, record: Record) -> None:
        """A run has ended, done or failed, and is in the store."""

    def trouble(self, text: str) -> None:
        """Something went wrong that may yet come right."""


class Silent:
    """Tells nobody."""

    def counted(self, counts: Counts, left: list[Spec], crew: int) -> None: ...
    def started(self, spec: Spec) -> None: ...
    def finished(self, record: Record) -> None: ...
    def trouble(self, text: str) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """What a call of `run` came to."""

    counts: Counts  # of all the runs asked for, whoever did them
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
    jobs: int = 1,
    cluster: str | None = None,
    listener: Listener | None = None,
    execute: str = EXECUTE,
    retry_failed: bool = False,
) -> Outcome:
    """Do every run that the store has no record of, `jobs` at a time or on a Ray cluster.

    `execute` names the function that does one, as module:function. Runs that failed are not tried
    again unless `retry_failed` says so. What another process is at is left to it, and waited for:
    should that process die, its runs are done here. `cluster` is an address for Ray: "auto",
    "local", "host:6379" or "ray://host:10001"; then `jobs` does not count.

    >>> import tempfile
    >>> specs = [Spec("dsr", "Nguyen-11", seed, {"max_expressions": 20_000}) for seed in (0, 1)]
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/runs.db") as store:
    ...     first, second = run(specs, store), run(specs, store)
    >>> first.counts, first.ran, second.ran
    (Counts(done=2, failed=0, running=0, missing=0), 2, 0)
    """
    if type(jobs) is not int or jobs < 1:
        raise InputError(f"jobs is {jobs!r}; it must be at least 1")
    resolve(execute)  # refuse a bad name here, not a thousand times there

    def assemble() -> Crew:
        if cluster is None:
            return Processes(jobs, execute)
        from symseek.experiments.cluster import RayTasks

        return RayTasks(cluster, execute)

    return drive(specs, store, assemble, listener or Silent(), retry_failed)


def drive(
    specs: Iterable[Spec],
    store: Store,
    assemble: Callable[[], Crew],
    listener: Listener,
    retry_failed: bool = False,
) -> Outcome:
    """`run` with any crew, assembled only if there is something to do."""
    wanted = list(dict.fromkeys(specs))
    loop = _Loop(wanted, store, listener, time.time() if retry_failed else None)
    interrupted = False
    try:
        loop.look(crew=0)
        if loop.waiting:
            loop.run(assemble())
    except KeyboardInterrupt:
        interrupted = True
    finally:
        store.release()
    failures = store.records(wanted, status="failed")
    return Outcome(store.counts(wanted), loop.ran, failures, interrupted)


class _Loop:
    """The runs on their way from the store to the crew and back."""

    def __init__(
        self, specs: list[Spec], store: Store, listener: Listener, failed_before: float | None
    ) -> None:
        self.specs = specs
        self.store = store
        self.listener = listener
        self.failed_before = failed_before  # what fails from now on is not tried again by anyone
        self.waiting: dict[Spec, None] = {}  # not known to have a record, and not with the crew
        self.running: dict[Spec, int] = {}  # how many processes each has killed
        self.unsaved: list[Record] = []
        self.ran = 0
        self._beat_due = self._look_due = 0.0
        self._idle = False  # whether only the runs of others are left

    def run(self, crew: Crew) -> None:
        """Do all the runs; however it ends, what has ended is kept."""
        try:
            self.look(crew.size)
            while self.waiting or self.running:
                self._hand_out(crew)
                self._take_in(crew, timeout=self._pause())
                self._keep_in_touch(crew)
        except KeyboardInterrupt:
            self._take_in(crew, timeout=0.0)
            raise
        finally:
            crew.close()

    def look(self, crew: int) -> None:
        """Ask the store how the runs stand, and tell; `crew` is its size."""
        begin = time.monotonic()
        counts, missing = self._patiently(self._survey)
        self.waiting = {spec: None for spec in missing if spec not in self.running}
        self.listener.counted(counts, [*self.running, *self.waiting], crew)
        now = time.monotonic()
        self._look_due = now + max(LOOK, SHARE * (now - begin))

    def _survey(self) -> tuple[Counts, list[Spec]]:
        return self.store.survey(self.specs, failed_before=self.failed_before)

    def _hand_out(self, crew: Crew) -> None:
        while crew.room > 0:
            spec = self._patiently(self._claim)
            if spec is None:
                break
            del self.waiting[spec]
            self.running[spec] = 0
            crew.start(spec)
            self.listener.started(spec)
        self._idle = not self.running

    def _claim(self) -> Spec | None:
        if not self.waiting:
            return None
        return self.store.claim(self.waiting, failed_before=self.failed_before)

    def _take_in(self, crew: Crew, timeout: float) -> None:
        """Wait for runs to end, and keep what they left before anything else is done."""
        if not self.running:
            time.sleep(timeout)
        for ended in crew.wait(timeout) if self.running else ():
            if isinstance(ended, Lost):
                self._mourn(ended, crew)
            else:
                self.unsaved.append(ended)
        self._save()

    def _mourn(self, lost: Lost, crew: Crew) -> None:
        """A run whose process died is given to another, unless it is the run that kills."""
        self.running[lost.spec] += 1
        if self.running[lost.spec] < DEATHS:
            self.listener.trouble(f"{lost.spec} lost its process and is done again: {lost.why}")
            crew.start(lost.spec)
        else:
            self.unsaved.append(failure(lost.spec, f"{lost.why}, {DEATHS} times"))

    def _save(self) -> None:
        if not self.unsaved:
            return
        self._patiently(lambda: self.store.finish(*self.unsaved))
        saved, self.unsaved = self.unsaved, []
        for record in saved:
            self.ran += 1
            self.running.pop(record.spec, None)
            self.listener.finished(record)

    def _keep_in_touch(self, crew: Crew) -> None:
        """The heartbeat, and a look at what others have done."""
        now = time.monotonic()
        if now >= self._beat_due:
            self._patiently(self.store.beat)
            self._beat_due = now + BEAT
        if now >= self._look_due or self._idle:
            self.look(crew.size)

    def _pause(self) -> float:
        """Seconds until there is something to do even if no run ends."""
        if self._idle:
            return IDLE
        return max(0.0, min(self._beat_due, self._look_due) - time.monotonic())

    def _patiently(self, action: Callable[[], T]) -> T:
        """Do it; a store that is full or locked may be well again in a while."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return action()
            except StoreError as error:
                if not error.passing or time.monotonic() >= deadline:
                    raise
                self.listener.trouble(f"{error}; trying again")
            time.sleep(1.0)
