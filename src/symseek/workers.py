"""Runs benchmark jobs in this process or in several, and tells a listener how they stand.

With several, each run has a process of its own and a pipe to the parent: a run that crashes takes
nothing else with it, and Ctrl-C in the parent keeps every run that has finished.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Protocol

from symseek.bench import Job, Outcome, Progress, Run, run_job

__all__ = ["Listener", "run_jobs"]

# Seconds a stopped process has to clean up behind itself before it is killed.
GRACE = 2.0


class Listener(Protocol):
    """Who wants to know: the live table, or lines of text."""

    def started(self, job: Job) -> None: ...
    def progress(self, progress: Progress) -> None: ...
    def finished(self, run: Run) -> None: ...
    def failed(self, job: Job, error: str) -> None: ...


def run_jobs(
    jobs: Sequence[Job],
    processes: int,
    listener: Listener,
    save: Callable[[Outcome], None] = lambda outcome: None,
) -> Outcome:
    """Run every job, `processes` at a time; Ctrl-C ends it early with what is finished.

    `save` is called after every run with the outcome so far.
    """
    outcome = Outcome(planned=len(jobs))
    listener = _Recorder(listener, outcome, save)
    try:
        if processes == 1 or len(jobs) == 1:
            _run_here(jobs, listener)
        else:
            _Pool(jobs, processes, listener).run()
    except KeyboardInterrupt:
        outcome.interrupted = True
    save(outcome)
    return outcome


class _Recorder:
    """Passes everything on, and writes down what ended."""

    def __init__(
        self, listener: Listener, outcome: Outcome, save: Callable[[Outcome], None]
    ) -> None:
        self.started = listener.started
        self.progress = listener.progress
        self.listener = listener
        self.outcome = outcome
        self.save = save

    def finished(self, run: Run) -> None:
        self.outcome.runs.append(run)
        self.save(self.outcome)
        self.listener.finished(run)

    def failed(self, job: Job, error: str) -> None:
        self.outcome.failures.append((job, error))
        self.save(self.outcome)
        self.listener.failed(job, error)


def _run_here(jobs: Sequence[Job], listener: Listener) -> None:
    for job in jobs:
        listener.started(job)
        try:
            run = run_job(job, listener.progress)
        except Exception:
            listener.failed(job, traceback.format_exc())
        else:
            listener.finished(run)


class _Pool:
    """Keeps a number of processes busy, one job each."""

    def __init__(self, jobs: Sequence[Job], processes: int, listener: Listener) -> None:
        self.waiting = deque(jobs)
        self.processes = processes
        self.listener = listener
        self.running: dict[Connection, tuple[BaseProcess, Job]] = {}
        self.context = _context()

    def run(self) -> None:
        try:
            while self.waiting or self.running:
                while self.waiting and len(self.running) < self.processes:
                    self._start(self.waiting.popleft())
                for connection in wait(list(self.running)):
                    self._hear(connection)  # type: ignore[arg-type]
        finally:
            self._stop_all()

    def _start(self, job: Job) -> None:
        receive, send = self.context.Pipe(duplex=False)
        process = self.context.Process(target=_work, args=(job, send))  # type: ignore[attr-defined]
        process.start()
        send.close()  # the child holds the only other end, so its death reads as end of file
        self.running[receive] = process, job
        self.listener.started(job)

    def _hear(self, connection: Connection) -> None:
        process, job = self.running[connection]
        try:
            message = connection.recv()
        except EOFError:
            process.join()
            message = f"its process ended with exit code {process.exitcode} and no result"
        if isinstance(message, Progress):
            self.listener.progress(message)
            return
        del self.running[connection]
        connection.close()
        process.join()
        if isinstance(message, Run):
            self.listener.finished(message)
        else:
            self.listener.failed(job, message)

    def _stop_all(self) -> None:
        for process, _ in self.running.values():
            process.terminate()
        for process, _ in self.running.values():
            process.join(GRACE)
            if process.is_alive():
                process.kill()
                process.join()


def _context() -> BaseContext:
    """A clean parent to fork from where there is one: quick starts, and no threads are copied."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["symseek.bench", "symseek.search", "symseek.recovery", "sympy"])
    return context


def _work(job: Job, connection: Connection) -> None:
    """Run one job in a process of its own: send its progress, then its run or its error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent acts
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that cleanup below the search runs
    try:
        try:
            message: Run | str = run_job(job, connection.send)
        except BrokenPipeError:
            raise
        except Exception:
            message = traceback.format_exc()
        connection.send(message)
    except BrokenPipeError:
        os._exit(1)  # the parent is gone: nobody to tell
