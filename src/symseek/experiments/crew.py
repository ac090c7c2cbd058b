"""Who does the runs: a number of processes on this machine, each of which does many.

Starting a process takes longer than a short run, so they stay. One that dies loses the run it was
at; it is replaced, and whoever gave it the run hears what it said last. They end with the process
that started them, however that ends.
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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, Protocol, TypeAlias

from symseek.errors import InputError
from symseek.experiments.perform import Leave, perform, resolve
from symseek.experiments.record import Record
from symseek.experiments.spec import Spec

__all__ = ["Crew", "Ended", "Lost", "Processes"]

GRACE = 2.0  # seconds a stopped process has to clean up behind itself before it is killed
STILLBORN = 3  # processes in a row that may die before they begin: then none will ever do
LAST_WORDS = 4_000  # characters of a dead process's output that are kept


@dataclass(frozen=True)
class Lost:
    """A run whose process died."""

    spec: Spec
    why: str


Ended: TypeAlias = Record | Lost


class Crew(Protocol):
    """What the runner knows of those who do the runs."""

    @property
    def size(self) -> int:
        """How many runs are done at a time."""

    @property
    def room(self) -> int:
        """How many more runs may be given now."""

    def start(self, spec: Spec) -> None:
        """Give a run."""

    def wait(self, timeout: float) -> Sequence[Ended]:
        """The runs that have ended since; waits for the first one, but not longer than this."""

    def close(self) -> None:
        """Stop everyone, at whatever they are."""


class Processes:
    """A crew on this machine.

    >>> crew = Processes(1, "symseek.experiments.execute:execute")
    >>> crew.start(Spec("dsr", "Nguyen-11", 0, {"max_expressions": 20_000}))
    >>> [record] = crew.wait(timeout=60.0)
    >>> record.status
    'done'
    >>> crew.close()
    """

    def __init__(self, size: int, execute: str) -> None:
        self.size = size
        self._execute = execute
        self._context = _context(execute)
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []
        self._stillborn = 0

    @property
    def room(self) -> int:
        return self.size - len(self._busy)

    def start(self, spec: Spec) -> None:
        while self._idle:
            worker = self._idle.pop()
            if worker.give(spec):
                self._busy.append(worker)
                return
            worker.stop()  # it died with nothing to do
        worker = _Worker(self._context, self._execute)
        worker.give(spec)  # if it is dead by now, `wait` finds out
        self._busy.append(worker)

    def wait(self, timeout: float) -> list[Ended]:
        deadline = time.monotonic() + timeout
        ended: list[Ended] = []
        while not ended:
            sources = [source for worker in self._busy for source in worker.sources]
            ready = set(wait(sources, max(0.0, deadline - time.monotonic())))
            if not ready:
                break
            for worker in [each for each in self._busy if not ready.isdisjoint(each.sources)]:
                ended += self._hear(worker)
        return ended

    def _hear(self, worker: _Worker) -> list[Ended]:
        message = worker.hear()
        if message is None:
            self._stillborn = 0  # it has begun
            return []
        self._busy.remove(worker)
        if isinstance(message, Lost):
            return self._mourn(worker, message)
        self._idle.append(worker)
        return [message]

    def _mourn(self, worker: _Worker, lost: Lost) -> list[Ended]:
        """Who died at a run lost it; one that had not begun was not killed by it."""
        worker.stop()
        if worker.began:
            return [lost]
        self._stillborn += 1
        if self._stillborn >= STILLBORN:
            raise InputError(f"the processes that do the runs end before they begin: {lost.why}")
        self.start(lost.spec)
        return []

    def close(self) -> None:
        workers = self._busy + self._idle
        self._busy, self._idle = [], []
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.stop()


class _Worker:
    """The near end of a process that does runs."""

    def __init__(self, context: BaseContext, execute: str) -> None:
        self.spec: Spec | None = None
        self.began = False
        self.connection, far = context.Pipe()
        # Both of us hold the file of its output; its name goes as soon as the process has it.
        handle, self.output = tempfile.mkstemp(prefix="symseek-worker-")
        self._said = os.fdopen(handle, "rb")
        arguments = (far, execute, self.output)
        process = context.Process(target=_work, args=arguments)  # type: ignore[attr-defined]
        self.process: BaseProcess = process
        self.process.start()
        far.close()  # the process holds the only other end, so its death reads as end of file

    @property
    def sources(self) -> tuple[Connection, int]:
        """What can be waited for: a message, and the process's end, which may leave none.

        A child of the process can hold the far end open, so neither will do alone.
        """
        return self.connection, self.process.sentinel

    def give(self, spec: Spec) -> bool:
        """Send it a run; False if it is dead."""
        self.spec = spec
        try:
            self.connection.send(spec)
        except OSError:
            return False
        return True

    def hear(self) -> Record | Lost | None:
        """Its record, how it was lost, or None: it has begun."""
        assert self.spec is not None
        try:
            if not self.connection.poll() and not self.process.is_alive():
                raise EOFError
            message: Record | None = self.connection.recv()
        except (EOFError, OSError):
            return Lost(self.spec, self._last_words())
        self.began = True
        return message

    def _last_words(self) -> str:
        self.process.join(GRACE)
        self._said.seek(0)
        said = self._said.read().decode(errors="replace")[-LAST_WORDS:].strip()
        end = _ending(self.process.exitcode)
        return f"{said}\nits process {end}" if said else f"its process {end}"

    def stop(self) -> None:
        """See it to its end, which it has been told of or has found."""
        self.process.join(GRACE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.connection.close()
        self._said.close()
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


def _context(execute: str) -> BaseContext:
    """A clean parent to fork from where there is one: quick starts, and no threads are copied."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "symseek.search", "sympy", execute.partition(":")[0]])
    return context


# --- the far end


def _work(connection: Connection, execute: str, output: str) -> None:
    """Do runs until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent acts
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _speak_into(output)
    try:
        function = resolve(execute)
        connection.send(None)
        while True:
            spec = connection.recv()
            os.ftruncate(1, 0)
            connection.send(perform(spec, function))
    except (EOFError, OSError, Leave):
        os._exit(1)  # nobody to tell


def _leave(*_: Any) -> None:
    raise Leave


def _end_with_parent() -> None:
    """A run may last for hours: do not go on with one that nobody waits for."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _speak_into(output: str) -> None:
    """Send what is printed, and what Python says when it crashes, into a file of no name."""
    handle = os.open(output, os.O_WRONLY | os.O_APPEND)
    with suppress(OSError):
        os.unlink(output)
    sys.stdout.flush()
    for stream in (1, 2):
        os.dup2(handle, stream)
    os.close(handle)
    faulthandler.enable(file=2)
