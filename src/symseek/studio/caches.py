"""What was read from a file, kept until the file changes: twenty tabs cost one reading."""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from symseek.errors import InputError

T = TypeVar("T")
Stamp = tuple[int, int, int, int]


def stamp(path: str | os.PathLike[str]) -> Stamp | None:
    """What changes when a file does; None where there is none.

    A table may be a link, whose own stamp is that of what it leads to, if that is there.
    """
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            with suppress(OSError):
                found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns


class FileCache(Generic[T]):
    """Calls a reader of a path once for each state of the file, from however many threads.

    What the reader refuses, it refuses until the file changes: a large file that is damaged is
    not read ten times a second.

    >>> import tempfile
    >>> read = FileCache(lambda path: path.read_text(), most=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a")
    ...     _ = path.write_text("one")
    ...     first, again = read(path), read(path)
    ...     _ = path.write_text("three")
    ...     print(first is again, read(path))
    True three
    """

    def __init__(self, read: Callable[..., T], most: int) -> None:
        self._read = read
        self._most = most
        self._found: OrderedDict[Hashable, tuple[Stamp | None, Callable[[], T]]] = OrderedDict()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def __call__(self, path: Path, *more: Any) -> T:
        """What the reader makes of the file, and of what else tells two readings apart."""
        key = (path, *more)
        with self._lock:
            one_at_a_time = self._locks.setdefault(key, threading.Lock())
        with one_at_a_time:
            now = stamp(path)
            known = self._found.get(key)
            if known is not None and known[0] == now:
                with self._lock:
                    if key in self._found:
                        self._found.move_to_end(key)
                return known[1]()
            answer = self._answer(path, *more)  # one that changes meanwhile is read again next time
            with self._lock:
                self._found[key] = now, answer
                self._found.move_to_end(key)
                while len(self._found) > self._most:
                    gone, _ = self._found.popitem(last=False)
                    self._locks.pop(gone, None)
            return answer()

    def _answer(self, path: Path, *more: Any) -> Callable[[], T]:
        """What gives the value, or raises the refusal anew."""
        try:
            value = self._read(path, *more)
        except InputError as error:
            return partial(_refuse, error)
        return lambda: value


def _refuse(error: InputError) -> NoReturn:
    raise copy(error)
