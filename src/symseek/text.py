"""Text for people: numbers, counts, times and names as they are read, in a terminal or a plot."""

from __future__ import annotations

import math
import os
import unicodedata
from collections.abc import Sequence
from typing import TextIO

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def brief(value: float, digits: int = 3, padded: bool = False) -> str:
    """A number for reading, in few digits; padded, zeros at its end stay for a column of them.

    >>> brief(0.01234), brief(-2.5e-7), brief(1234567.0), brief(0.0), brief(0.01, padded=True)
    ('0.0123', '−2.5×10⁻⁷', '1.23×10⁶', '0', '0.0100')
    """
    if not math.isfinite(value):
        return {"inf": "∞", "-inf": "−∞"}.get(str(value), "undefined")
    shape = f"{'#' if padded and value else ''}.{digits}g"
    mantissa, _, exponent = f"{value:{shape}}".partition("e")
    text = mantissa.rstrip(".").replace("-", "−")
    return text if not exponent else f"{text}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def r2_text(r2: float | None) -> str:
    """R² in four digits, never rounded up to 1.

    >>> r2_text(0.98765), r2_text(0.999999), r2_text(1.0), r2_text(-3.5), r2_text(-2e-11)
    ('0.9877', '> 0.9999', '1.0000', '−3.5000', '0.0000')
    """
    if r2 is None:
        return "–"
    if 0.9999 < r2 < 1 - 1e-15:
        return "> 0.9999"
    # What rounds to 0 has no sign.
    return f"{round(r2, 4) + 0.0:.4f}".replace("-", "−") if abs(r2) < 100 else brief(r2)


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(12000, "row")
    ('1 row', '12,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shortened(text: str, most: int) -> str:
    """At most `most` characters: of a longer text, its beginning and its end.

    >>> shortened("temperature of the inner wall", 15)
    'tempera…er wall'
    """
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def count(value: float) -> str:
    """A count in few characters, for an axis.

    >>> count(500.0), count(150_000.0), count(2_500_000.0)
    ('500', '150k', '2.5M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def clock(seconds: float) -> str:
    """A duration as minutes and seconds, with hours and days where there are any.

    >>> clock(75), clock(4000), clock(200_000)
    ('1:15', '1:06:40', '2 d 7:33:20')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if not hours and not days:
        return f"{minutes}:{rest:02}"
    return f"{f'{days} d ' if days else ''}{hours}:{minutes:02}:{rest:02}"


def can_redraw(out: TextIO) -> bool:
    """Whether what was written to this output can be drawn again in place."""
    return out.isatty() and os.environ.get("TERM") != "dumb"


def width(text: str) -> int:
    """How many columns of a terminal a text takes.

    >>> width("sensor"), width("温度"), width("e\u0301")
    (6, 4, 1)
    """
    if text.isascii():
        return len(text)
    shown = [each for each in text if not unicodedata.combining(each)]
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in shown)


def padded(text: str, columns: int, right: bool = False) -> str:
    """The text with blanks after it, or before it, to take so many columns of a terminal."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def text_table(rows: Sequence[Sequence[str]], left: bool = False) -> list[str]:
    """Aligned columns: the first to the left, the others to the right, or to the left as well.

    >>> text_table([("a", "n"), ("bb", "10")])
    ['a    n', 'bb  10']
    """
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            padded(cell, columns, right=number > 0 and not left)
            for number, (cell, columns) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
