"""The same on a Ray cluster: every run is a task, and only this process uses the store.

A run depends on its spec alone, so it comes out the same on any machine, and one whose worker or
machine is lost is done again. Ray is an extra, and is imported only when it is used:

    pip install 'symseek[cluster]'
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import Any

from symseek.errors import InputError
from symseek.jobs.perform import perform, resolve
from symseek.jobs.pool import GRACE, Event, LostRun
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.version import __version__

QUEUED = 2  # tasks for each processor: one that runs, and one that is there when it ends
RETRIES = 1  # by Ray itself, of a run whose worker was lost
COUNT_EVERY = 10.0  # seconds between two counts of the processors: machines come and go


def _do(spec: Spec, execute: str) -> Record:
    return perform(spec, resolve(execute))


class RayPool:
    """A pool of Ray's workers. A connection that is already open is used, and left open.

    "auto" is the address of the cluster that this machine is part of, "local" makes one of this
    machine. The package, and the module of `execute`, must be installed on every machine.
    """

    def __init__(self, address: str, execute: str) -> None:
        self._ray, self._own = connected(address)
        self._execute = execute
        self._task = self._ray.remote(num_cpus=1, max_retries=RETRIES)(_do)
        self._running: dict[Any, Spec] = {}  # by the reference to the result
        self._size = 0
        self._count_due = 0.0

    @property
    def size(self) -> int:
        """The processors of the cluster, now."""
        if time.monotonic() >= self._count_due:
            self._size = max(1, int(self._ray.cluster_resources().get("CPU", 0)))
            self._count_due = time.monotonic() + COUNT_EVERY
        return self._size

    @property
    def room(self) -> int:
        return QUEUED * self.size - len(self._running)

    def start(self, spec: Spec) -> None:
        self._running[self._task.remote(spec, self._execute)] = spec

    def wait(self, timeout: float) -> list[Event]:
        references = list(self._running)
        try:
            ended = self._ray.wait(references, num_returns=1, timeout=timeout)[0]
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise InputError(f"the cluster has gone: {last_line(error)}") from error
        if not ended:
            return []
        ready, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
        return [event for each in ready for event in self._fetch(each)]

    def _fetch(self, reference: Any) -> list[Event]:
        """The record; how the run was lost; or nothing, if it was started again."""
        errors = self._ray.exceptions
        spec = self._running.pop(reference)
        try:
            record: Record = self._ray.get(reference)
        except (errors.NodeDiedError, errors.ObjectLostError):  # never the fault of the run
            self.start(spec)
            return []
        except (errors.WorkerCrashedError, errors.OutOfMemoryError) as error:
            return [LostRun(spec, f"{error}\n{RETRIES + 1} workers in a row were lost with it")]
        except errors.RayError as error:  # not the run's own, which `perform` keeps
            raise InputError(f"the cluster cannot do the runs: {last_line(error)}") from error
        check_version(record)
        return [record]

    def close(self) -> None:
        """Interrupt the runs, which may save their work, and end those that take too long."""
        references = list(self._running)
        self._running.clear()
        with suppress(self._ray.exceptions.RayError, ConnectionError):  # it has gone
            for reference in references:
                self._ray.cancel(reference, force=False)
            if references:
                late = self._ray.wait(references, num_returns=len(references), timeout=GRACE)[1]
                for reference in late:
                    self._ray.cancel(reference, force=True)
        if self._own:
            self._ray.shutdown()


def connected(address: str) -> tuple[Any, bool]:
    """Ray, connected to a cluster, and whether it was connected here."""
    ray = _ray()
    if ray.is_initialized():
        return ray, False
    options = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"there is no Ray cluster at {address!r}: {error}") from None
    return ray, True


def check_version(record: Record) -> None:
    """Refuse runs that another version has done."""
    if record.symseek != __version__:
        raise InputError(
            f"a machine of the cluster has symseek {record.symseek}, and this one has"
            f" {__version__}; install the same version everywhere"
        )


def last_line(error: BaseException) -> str:
    """The end of an error, where its cause stands."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError(
            "a cluster needs Ray, which is not installed; pip install 'symseek[cluster]'"
        ) from None
    return ray
