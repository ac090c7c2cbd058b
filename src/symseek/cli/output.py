"""The output of a command, whose reader may go before it ends: `symseek fit ... | head -1`.

Nobody reads what comes after that, but the command has more to do than to print: it goes on, and
everything is written that would have been.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

__all__ = ["drop", "kept_output"]


@contextmanager
def kept_output() -> Iterator[None]:
    """Let a command write to a pipe that someone closes."""
    before = sys.stdout, sys.stderr
    streams = [_Output(each) for each in before]
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        for each in streams:
            with suppress(OSError, ValueError):  # a full disk was told of, or cannot be
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


class _Output:
    """A stream; what is written after its reader has gone is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write some text."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            drop(self._stream)
            return len(text)

    def flush(self) -> None:
        """Write what waits."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            drop(self._stream)
