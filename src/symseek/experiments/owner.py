"""Who holds a claim on a run, and whether that process is still there.

On its own machine a process is asked for by its number and the moment it started, so that a new one
with an old number is not taken for it. Of a process elsewhere only the heartbeat is known. Another
container has process numbers of its own, and another boot too: both count as elsewhere.
"""

from __future__ import annotations

import os
import platform
import secrets
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

__all__ = ["STALE", "Owner"]

STALE = 300.0  # seconds without a heartbeat after which a process elsewhere counts as dead


@dataclass(frozen=True)
class Owner:
    """A process that runs experiments.

    >>> me = Owner.this_process()
    >>> me.alive(silent_for=0.0), me.alive(silent_for=86_400.0)
    (True, True)
    >>> Owner("t", "far", "elsewhere", 1, "").alive(silent_for=86_400.0)
    False
    """

    token: str  # its own, whatever else agrees
    host: str  # for people
    place: str  # where its process number means something
    pid: int
    started: str  # when, as the system tells it; "" where it does not

    @classmethod
    def this_process(cls) -> Owner:
        """The caller, with a new token."""
        pid = os.getpid()
        return cls(secrets.token_hex(8), platform.node(), _place(), pid, _start_of(pid) or "")

    def alive(self, silent_for: float) -> bool:
        """Whether it may still finish its runs, given the age of its last heartbeat in seconds."""
        if self.place != _place() or os.name != "posix":
            return silent_for < STALE
        if not _exists(self.pid):
            return False
        started = _start_of(self.pid)
        if started is not None:
            return started == self.started
        return silent_for < STALE  # the number may be another process's by now

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@lru_cache(maxsize=1)
def _place() -> str:
    """The machine, this boot of it, and the namespace of its process numbers."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _start_of(pid: int) -> str | None:
    """When a process started, in the system's ticks; None where that cannot be read.

    One that has ended, and whose parent has yet to hear of it, gives "ended".
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name comes second, in brackets, and may hold any character; the state is field 3 and the
    # start field 22.
    state, *rest = status.rpartition(")")[2].split()
    return "ended" if state in "ZX" else rest[18]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
