"""The output of a command, which may go nowhere: to a pipe that someone closes, or to a full disk.

Nobody reads what comes after `symseek fit ... | head -1`, but the command has more to do than to
print: it continues, and everything is written that would have been. What a full disk had no room
for is named at the end, if it was output and no message.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


def open_closed() -> None:
    """Open a stream that is closed, as by `>&-`, to nowhere; for processes that begin here too."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)  # what has its number is something else by now
            number = os.open(os.devnull, os.O_WRONLY)
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
        setattr(sys, name, open(number, "w", closefd=False))  # noqa: SIM115, used until the end


@contextmanager
def kept_output() -> Iterator[Output]:
    """Let a command write where that may fail; what has become of its output is yielded."""
    before = sys.stdout, sys.stderr
    output, messages = (Output(each) for each in before)
    sys.stdout, sys.stderr = output, messages
    try:
        yield output
    finally:
        for each in (output, messages):
            with suppress(ValueError):  # such as a stream that is closed
                each.flush()
        sys.stdout, sys.stderr = before


def drop(stream: Any) -> None:
    """Write nothing more to a stream: what is left would fail again when Python ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)


class Output:
    """A stream; what cannot be written is dropped, and so is all that comes after it."""

    def __init__(self, stream: TextIO) -> None:
        self.error: OSError | None = None  # why something was dropped that someone would have read
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write some text."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._drop(error)
            return len(text)

    def flush(self) -> None:
        """Write what waits."""
        try:
            self._stream.flush()
        except OSError as error:
            self._drop(error)

    def _drop(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            self.error = self.error or error
        drop(self._stream)
