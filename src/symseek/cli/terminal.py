"""How text is laid out for a person: whether a terminal is there, times in words, plain tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

__all__ = ["duration", "is_terminal", "text_table"]


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream can be redrawn in place: a terminal that understands more than lines."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def duration(seconds: float) -> str:
    """A time in few characters: below a minute, seconds with one digit after the point.

    >>> duration(0.25), duration(75), duration(4000), duration(200_000)
    ('0.2 s', '1:15', '1:06:40', '2 d 7:33:20')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    day = f"{days} d " if days else ""
    return f"{day}{hours}:{minutes:02}:{rest:02}" if hours or days else f"{minutes}:{rest:02}"


def text_table(rows: Sequence[Sequence[str]], left: bool = False) -> list[str]:
    """Aligned columns: the first to the left, the others to the right, or to the left as well.

    >>> text_table([("a", "n"), ("bb", "10")])
    ['a    n', 'bb  10']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number and not left else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
