"""The searches: each a process of its own, started, asked to end, and looked after.

A search is asked to end by SIGTERM, once: it ends its iteration, tells what it has found and
writes everything. One that has only just started is asked when its folder is there, so that there
is something to continue with. What this server did not start, but another program runs in the
folder, is known by the lock of its run.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from symseek.errors import InputError
from symseek.runs.ended import ENDED, read_end
from symseek.runs.lock import LOCK, Holder, holder
from symseek.studio.answers import Refused
from symseek.studio.caches import stamp

Asked = Literal["pause", "stop"]

INTERRUPTED = 130  # the exit code of a search that was asked to end

_LOOK = 0.5  # seconds between two looks at a lock


@dataclass
class Process:
    """A search that this server started."""

    process: subprocess.Popen[bytes]
    folder: Path
    started: float = field(default_factory=time.time)
    asked: Asked | None = None
    signalled: bool = False
    ended: float | None = None  # when, once it has
    code: int | None = None
    error: InputError | None = None  # what was wrong, if anything

    def look(self) -> None:
        """See whether it has ended."""
        code = self.process.poll()
        if code is None or self.ended is not None:
            return
        self.ended, self.code = time.time(), code
        if code not in (0, INTERRUPTED):
            said = read_end(self.folder / ENDED, self.process.pid)
            self.error = said or InputError(_silent_end(code))


def _silent_end(code: int) -> str:
    try:
        name = signal.Signals(-code).name if code < 0 else None
    except ValueError:
        name = None
    if name == "SIGKILL":  # by a person, or by a system whose memory is full
        return "the process of the search was killed, perhaps since the memory was full"
    how = f"ended with {code}" if name is None else f"was ended by {name}"
    return f"the process of the search {how}"


@dataclass
class _Seen:
    """The lock of a run, as it was when it was last looked at."""

    at: float
    holder: Holder | None
    asked: dict[int, Asked] = field(default_factory=dict)  # by process


class SearchProcesses:
    """The processes of the runs in a folder, by the names of the runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._own: dict[str, Process] = {}
        self._seen: dict[str, _Seen] = {}
        self._lock = threading.RLock()

    def start(self, run: str, words: Sequence[str] = ()) -> None:
        """Start a process that searches as the settings of a run say, but for what the words do."""
        with self._lock:
            if self.running(run):
                raise Refused(409, f"the run {run} is being searched already")
            folder = self.folder / run
            command = ["resume", str(folder), "--quiet", "--ended", str(folder / ENDED)]
            try:
                process = subprocess.Popen(
                    [sys.executable, "-m", "symseek", *command, *words],
                    # Not in the user's folder: Python would look for modules there.
                    cwd=Path(sys.executable).parent,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C at the server is not for it
                )
            except (OSError, ValueError) as error:
                raise InputError(f"the search cannot be started: {error}") from None
            self._own.pop(run, None)  # the newest is the last
            self._own[run] = Process(process, folder)

    def own(self, run: str) -> Process | None:
        """The process of a run that this server started last, whether or not it has ended."""
        with self._lock:
            process = self._own.get(run)
            if process is not None:
                process.look()
            return process

    def running(self, run: str) -> bool:
        process = self.own(run)
        return (process is not None and process.ended is None) or self.elsewhere(run)

    def elsewhere(self, run: str) -> bool:
        """Whether a program that this server did not start searches just now."""
        process, who = self.own(run), self.holder(run)
        if process is None or who is None:
            return who is not None
        if who.pid == process.process.pid and process.ended is not None:
            who = self.holder(run, now=True)  # it was killed, and could not remove its lock
        return process.ended is not None and who is not None

    def holder(self, run: str, now: bool = False) -> Holder | None:
        """Who writes the folder of a run; not looked up at every call, unless `now`."""
        path = self.folder / run
        if stamp(path / LOCK) is None:
            return None
        with self._lock:
            seen = self._seen.setdefault(run, _Seen(0.0, None))
            if now or time.monotonic() >= seen.at + _LOOK:
                seen.holder, seen.at = holder(path), time.monotonic()
            return seen.holder

    def asked(self, run: str) -> Asked | None:
        """What the search that runs, or ran last, was asked."""
        process = self.own(run)
        if process is not None and (process.ended is None or not self.elsewhere(run)):
            return process.asked
        seen, who = self._seen.get(run), self.holder(run)
        return seen.asked.get(who.pid) if seen and who and who.pid is not None else None

    def ask(self, run: str, what: Asked) -> None:
        """Ask a search to end, once; asked again, only what it is called changes."""
        with self._lock:
            process = self.own(run)
            if process is not None and process.ended is None:
                process.asked = what
                self._signal(run, process)
                return
            self._ask_holder(run, what)

    def _ask_holder(self, run: str, what: Asked) -> None:
        who = self.holder(run, now=True)
        if who is None:
            raise Refused(409, f"the run {run} is not being searched")
        # A lock can say anything, and to the system some numbers mean many processes.
        process = who.pid is not None and who.pid > 1 and who.pid != os.getpid()
        if not process or who.host != socket.gethostname():
            raise Refused(409, f"the run {run} is searched by {who}, and can be stopped only there")
        asked = self._seen[run].asked
        assert who.pid is not None
        if who.pid not in asked:
            try:
                os.kill(who.pid, signal.SIGTERM)
            except OSError as error:
                why = error.strerror or error
                raise Refused(409, f"{who} cannot be asked to stop: {why}") from None
        asked[who.pid] = what

    def tick(self) -> bool:
        """Look after the processes; whether any of them runs."""
        with self._lock:
            for run, process in self._own.items():
                process.look()
                if process.ended is None and process.asked and not process.signalled:
                    self._signal(run, process)
            return any(each.ended is None for each in self._own.values())

    def _signal(self, run: str, process: Process) -> None:
        """Send the signal, if the search has come so far that it can keep something."""
        if not process.signalled and stamp(self.folder / run / LOCK) is not None:
            process.signalled = True
            process.process.terminate()

    @property
    def busy(self) -> bool:
        """Whether a search that this server started may be running; asks nothing of it."""
        return any(each.ended is None for each in list(self._own.values()))

    def end_all(self) -> list[str]:
        """Ask all that this server started to pause, and name them."""
        with self._lock:
            going = [run for run, each in self._own.items() if self.running(run) and not each.ended]
            for run in going:
                if self._own[run].asked is None:
                    self.ask(run, "pause")
            return going
