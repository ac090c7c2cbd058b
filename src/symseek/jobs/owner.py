"""Which process has claimed a run, and whether that process is still there.

On its own machine a process is known by its number and the moment it started, so that a new process
with an old number is not taken for it. Of a process on another machine only the heartbeat is known.
Machines, and containers too, that share a store need host names of their own.
"""

from __future__ import annotations

import os
import platform
import secrets
from dataclasses import dataclass
from pathlib import Path

STALE = 300.0  # seconds without a heartbeat after which a process elsewhere counts as ended


@dataclass(frozen=True)
class Owner:
    """A process that does runs.

    >>> me = Owner.this_process()
    >>> me.alive(silent_for=0.0), me.alive(silent_for=86_400.0)
    (True, True)
    >>> Owner("t", "elsewhere", 1, "").alive(silent_for=86_400.0)
    False
    """

    token: str  # different for each, even on one machine
    host: str
    pid: int
    started: str  # when, as the system says it; "" where it does not

    @classmethod
    def this_process(cls) -> Owner:
        """The caller, with a new token."""
        pid = os.getpid()
        return cls(secrets.token_hex(8), platform.node(), pid, start_of(pid) or "")

    def alive(self, silent_for: float) -> bool:
        """Whether it may still finish its runs, given the age of its last heartbeat in seconds."""
        if self.host != platform.node() or os.name != "posix":
            return silent_for < STALE
        started = start_of(self.pid)
        if started == "":  # there is a process of that number, perhaps another one
            return silent_for < STALE
        return started == self.started


def start_of(pid: int) -> str | None:
    """When a process of this machine started, in ticks; None if it has ended, "" if unknown.

    A process that has ended and that its parent has not waited for counts as ended.
    """
    if not _exists(pid):
        return None
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # only Linux has it
        return ""
    # The name comes second, in brackets, and may hold any character; the state is field 3 and the
    # start field 22.
    state, *rest = status.rpartition(")")[2].split()
    return None if state in "ZX" else rest[18]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's process
        return True
    return True
