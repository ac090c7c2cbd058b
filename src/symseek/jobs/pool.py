"""Worker processes on this machine, each of which does many runs.

Starting a process takes longer than a short run, so they are kept. A process that ends in the
middle of a run is replaced, and the run comes back as a `LostRun` with the last output of the
process. All of them end with the process that started them, however that ends.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from symseek.errors import InputError
from symseek.jobs.perform import Terminated, perform, resolve
from symseek.jobs.record import Record, Snapshot
from symseek.jobs.spec import Spec

GRACE = 5.0  # seconds a terminated process has to save its work before it is killed
MAX_FAILED_STARTS = 3  # processes in a row that end before they are ready: then none will be
LAST_OUTPUT = 4_000  # characters of a lost process's output that are kept


@dataclass(frozen=True)
class LostRun:
    """A run whose process ended in the middle of it."""

    spec: Spec
    why: str


#: What comes back from a pool: how a run stands, what it left, or that it was lost.
Event: TypeAlias = Snapshot | Record | LostRun


class Workers(Protocol):
    """What the runner asks of those that do the runs."""

    @property
    def size(self) -> int:
        """How many runs are done at a time."""

    @property
    def room(self) -> int:
        """How many more runs may be started now."""

    def start(self, spec: Spec) -> None:
        """Start a run."""

    def wait(self, timeout: float) -> Sequence[Event]:
        """What has come since; waits for the first event, but not longer than this."""

    def close(self) -> None:
        """Stop all runs."""


class ProcessPool:
    """A pool of processes on this machine.

    >>> pool = ProcessPool(1, "symseek.lab.trials.execute:execute")
    >>> pool.start(Spec("dsr", "Nguyen-11", 0, {"max_expressions": 20_000}))
    >>> events = []
    >>> while not any(isinstance(event, Record) for event in events):
    ...     events += pool.wait(timeout=60.0)
    >>> events[-1].status
    'done'
    >>> pool.close()
    """

    def __init__(self, size: int, execute: str) -> None:
        self.size = size
        self._execute = execute
        self._context = _context(execute)
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []
        self._failed_starts = 0

    @property
    def room(self) -> int:
        return self.size - len(self._busy)

    def start(self, spec: Spec) -> None:
        while self._idle:
            worker = self._idle.pop()
            if worker.send(spec):
                self._busy.append(worker)
                return
            worker.stop()  # its process ended while it was idle
        worker = _Worker(self._context, self._execute)
        worker.send(spec)  # if its process has ended by now, `wait` finds out
        self._busy.append(worker)

    def wait(self, timeout: float) -> list[Event]:
        deadline = time.monotonic() + timeout
        events: list[Event] = []
        while not events:
            sources = [source for worker in self._busy for source in worker.sources]
            ready = set(wait(sources, max(0.0, deadline - time.monotonic())))
            if not ready:
                break
            for worker in [each for each in self._busy if not ready.isdisjoint(each.sources)]:
                events += self._events_of(worker)
        return events

    def _events_of(self, worker: _Worker) -> list[Event]:
        events = worker.receive()
        if worker.ready:
            self._failed_starts = 0
        last = events[-1] if events else None
        if isinstance(last, LostRun):
            self._busy.remove(worker)
            worker.stop()
            if not worker.ready:
                self._start_again(last)
                return []
        elif isinstance(last, Record):
            self._busy.remove(worker)
            self._idle.append(worker)
        return events

    def _start_again(self, lost: LostRun) -> None:
        """A process that ended before it was ready did not end because of the run."""
        self._failed_starts += 1
        if self._failed_starts >= MAX_FAILED_STARTS:
            raise InputError(f"the worker processes end before they are ready: {lost.why}")
        self.start(lost.spec)

    def close(self) -> None:
        workers = self._busy + self._idle
        self._busy, self._idle = [], []
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.stop()


class _Worker:
    """A worker process, as its parent sees it."""

    def __init__(self, context: BaseContext, execute: str) -> None:
        self.spec: Spec | None = None
        self.ready = False
        self.connection, far = context.Pipe()
        # Both processes hold the file of the output; its name goes as soon as the worker has it.
        handle, self.output = tempfile.mkstemp(prefix="symseek-worker-")
        self._output = os.fdopen(handle, "rb")
        arguments = (far, execute, self.output)
        process = context.Process(target=_work, args=arguments)  # type: ignore[attr-defined]
        self.process: BaseProcess = process
        with _program_left_alone(execute):
            self.process.start()
        far.close()  # the worker holds the only other end, so its end reads as end of file

    @property
    def sources(self) -> tuple[Connection, int]:
        """What can be waited for: a message, and the end of the process, which may leave none.

        A child of the process can hold the far end open, so both are needed.
        """
        return self.connection, self.process.sentinel

    def send(self, spec: Spec) -> bool:
        """Send it a run; False if its process has ended."""
        self.spec = spec
        try:
            self.connection.send(spec)
        except OSError:
            return False
        return True

    def receive(self) -> list[Event]:
        """The messages that are there, a record or the loss of the run last."""
        assert self.spec is not None
        events: list[Event] = []
        try:
            while self.connection.poll():
                message: Snapshot | Record | None = self.connection.recv()
                self.ready = True
                if message is not None:
                    events.append(message)
                if isinstance(message, Record):
                    return events
            if not self.process.is_alive() and not self.connection.poll():
                raise EOFError
        except (EOFError, OSError):
            events.append(LostRun(self.spec, self._last_output()))
        return events

    def _last_output(self) -> str:
        self.process.join(GRACE)
        self._output.seek(0)
        text = self._output.read().decode(errors="replace")[-LAST_OUTPUT:].strip()
        end = _ending(self.process.exitcode)
        return f"{text}\nits process {end}" if text else f"its process {end}"

    def stop(self) -> None:
        """Wait for its end, or bring it about, and close what belongs to it."""
        self.process.join(GRACE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.connection.close()
        self._output.close()
        with suppress(OSError):
            os.unlink(self.output)


def _ending(code: int | None) -> str:
    """How a process ended, in words.

    >>> _ending(-11), _ending(3)
    ('was killed by SIGSEGV', 'ended with exit code 3 and no result')
    """
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code} and no result"


@contextmanager
def _program_left_alone(execute: str) -> Iterator[None]:
    """Keep a new process from running the user's program once more.

    Python does so to find functions of that program. A worker needs none of them, and a program
    that does not begin with `if __name__ == "__main__":` would start workers in every worker.
    """
    if execute.startswith("__main__:"):
        yield
        return
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


def _context(execute: str) -> BaseContext:
    """A clean parent to fork from where there is one: quick starts, and no threads are copied."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "symseek.search", "sympy", execute.partition(":")[0]])
    return context


# --- in the worker process


def _work(connection: Connection, execute: str, output: str) -> None:
    """Do runs until the parent closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent acts
    signal.signal(signal.SIGTERM, _terminate)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _redirect_output(output)
    try:
        function = resolve(execute)
        connection.send(None)  # ready
        while True:
            spec = connection.recv()
            os.ftruncate(1, 0)
            connection.send(perform(spec, function, connection.send))
    except (EOFError, OSError, Terminated):
        os._exit(1)  # nobody waits for it


def _terminate(*_: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what is saved now is not cut off
    raise Terminated


def _end_with_parent() -> None:
    """A run may last for hours: end it when nobody waits for it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)  # so that it saves its work
        time.sleep(GRACE)
        os._exit(1)


def _redirect_output(output: str) -> None:
    """Send what is printed, and what Python prints when it crashes, to an unnamed file."""
    handle = os.open(output, os.O_WRONLY | os.O_APPEND)
    with suppress(OSError):
        os.unlink(output)
    if sys.stdout is not None:  # closed, as by `>&-`
        sys.stdout.flush()
    for stream in (1, 2):
        os.dup2(handle, stream)
    os.close(handle)
    faulthandler.enable(file=2)
