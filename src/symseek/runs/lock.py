"""The lock of a run folder: one process writes it at a time, and others can tell which.

The lock is the operating system's, on a file in the folder that says who holds it. The system gives
it up when the process ends, however it ends, so one that was killed never keeps others out. Where a
file system has no locks, runs continue without one.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from symseek.errors import Action, InputError, Quoted
from symseek.files.regular import open_alone, open_regular

LOCK = "lock"  # the name of the file

_TRIES, _PAUSE = 4, 0.05  # one who only looks holds the lock for an instant
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_LOCKED_BYTE = 1 << 30  # for systems that lock bytes: far behind the text, which stays readable
_LONGEST = 1000  # bytes of the file that are read


@dataclass(frozen=True)
class Holder:
    """The process that writes a folder."""

    pid: int | None = None  # None: it has not written yet who it is
    host: str = ""
    since: str = ""

    def __str__(self) -> str:
        if self.pid is None:
            return "another process"
        return f"process {self.pid} on {self.host} since {self.since}"

    @classmethod
    def read(cls, content: bytes) -> Holder:
        """What `FolderLock` wrote; anything else is nobody in particular."""
        try:
            record = json.loads(content)
            pid, host, since = record["pid"], record["host"], record["since"]
        except (ValueError, RecursionError, KeyError, TypeError):
            return cls()
        texts = all(isinstance(each, str) and each.isprintable() for each in (host, since))
        return cls(pid, host[:80], since[:40]) if type(pid) is int and texts else cls()


class FolderLock:
    """Holds the lock of a folder from when it is made until `release`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = FolderLock(Path(folder))
    ...     held = holder(Path(folder))
    ...     lock.release()
    ...     print(held.pid == os.getpid(), holder(Path(folder)), os.listdir(folder))
    True None []
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self._descriptor: int | None = None
        for left in reversed(range(_TRIES)):
            if self._take():
                return
            if left:
                time.sleep(_PAUSE)
        raise held_error(folder, holder(folder) or Holder())

    def _take(self) -> bool:
        """Whether the lock is ours now."""
        descriptor = open_alone(self._path)
        try:
            taken = _lock(descriptor) and _same_file(descriptor, self._path)
            if taken:
                with suppress(OSError):  # a full disk: it is locked all the same
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, _myself())
        except BaseException:
            os.close(descriptor)
            raise
        if taken:
            self._descriptor = descriptor
        else:
            os.close(descriptor)
        return taken

    def release(self) -> None:
        """Let others write; the file goes. More than once does no harm."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if os.name == "posix":  # removed while it is locked, so that nobody has just opened it
            with suppress(OSError):
                os.unlink(self._path)
        os.close(descriptor)
        if os.name != "posix":  # open files cannot be removed there
            with suppress(OSError):
                os.unlink(self._path)

    def __del__(self) -> None:
        self.release()


def holder(folder: Path) -> Holder | None:
    """Who writes the folder just now, if anyone does."""
    try:
        descriptor = open_regular(folder / LOCK)
    except OSError:
        return None
    try:
        content = os.read(descriptor, _LONGEST)
        return None if _lock(descriptor) else Holder.read(content)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def held_error(folder: Path, who: Holder) -> InputError:
    """The refusal to write a folder that someone writes."""
    return InputError(
        "the run folder ",
        Quoted(folder),
        f" is being written by {who}; wait until it has ended, stop it, or ",
        Action("fit"),
        " to another folder",
    )


def _myself() -> bytes:
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}).encode()


def _same_file(descriptor: int, path: Path) -> bool:
    """Whether the locked file is still the one of that name: who held it has removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except OSError:
        return False


def _lock(descriptor: int) -> bool:
    """Lock the file; False if another holds it."""
    try:
        _SYSTEM_LOCK(descriptor)
    except OSError as error:
        return error.errno not in _HELD  # anything else: this file system has no locks
    return True


def _system_lock() -> Callable[[int], None]:
    """The way in which this system locks a file at once or not at all."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        def lock_byte(descriptor: int) -> None:
            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(descriptor, 0, os.SEEK_SET)

        return lock_byte
    return lambda descriptor: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


_SYSTEM_LOCK = _system_lock()
