"""Reading JSON that anyone may have written: its fields by type and bounds.

A number, a text or a list in JSON may be of any size. Whatever is not as expected is named in one
sentence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from symseek.errors import InputError, shown, unknown_name

__all__ = ["Record", "parse_json", "plain_text"]

MOST_VALUES = 500_000  # of a file of JSON: in memory one may take thirty times its text
MOST_DIGITS = 40  # of a whole number: 2**64 has 20
MOST_TEXT = 100_000  # characters


def parse_json(data: bytes, most: int = MOST_VALUES) -> Any:
    """The value that JSON stands for, of at most so many parts.

    A `ValueError` says what is wrong with it.

    >>> parse_json(b'{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> parse_json(b"1e400")
    Traceback (most recent call last):
    ValueError: the number '1e400' is too large
    """
    # Every part but the first comes after one of these; those in texts count as well.
    parts = sum(map(data.count, (b",", b"[", b"{")))
    if parts > most:
        raise ValueError(f"it has {parts:,} parts or more; at most {most:,} are read")
    try:
        return json.loads(data, parse_int=_whole, parse_float=_real)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number has {len(text):,} digits")
    return int(text)


def _real(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {shown(text)} is too large")
    return value


def plain_text(value: Any, what: str, most: int = MOST_TEXT) -> str:
    """Text that can be written: not too long, and without halves of characters.

    >>> plain_text("x", "the name"), plain_text("\\ud800", "the name")
    Traceback (most recent call last):
    symseek.errors.InputError: the name is '\\ud800', which is no text
    """
    if not isinstance(value, str):
        raise InputError(f"{what} is {shown(value)}, which is no text")
    if len(value) > most:
        raise InputError(f"{what} has {len(value):,} characters; at most {most:,} are read")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} is {shown(value)}, which is no text") from None
    return value


@dataclass(frozen=True)
class Record:
    """An object of a file, with exactly the fields that are known.

    >>> Record.of("the model", {"picked": 3}, ["picked"]).whole("picked", 0, 9)
    3
    >>> Record.of("the model", {"pikced": 3}, ["picked"])
    Traceback (most recent call last):
    symseek.errors.InputError: unknown field of the model 'pikced'; did you mean 'picked'?
    """

    what: str
    fields: dict[str, Any]

    @classmethod
    def of(
        cls, what: str, value: Any, known: Collection[str], optional: Collection[str] = ()
    ) -> Record:
        """The object, if it is one; unknown and missing fields are refused by name.

        Those that are `optional` are None where they are missing.
        """
        if not isinstance(value, dict):
            raise InputError(f"{what} is {shown(value)}, which is no object")
        for name in value:
            if name not in known and name not in optional:
                raise unknown_name(f"field of {what}", name, [*known, *optional])
        for name in known:
            if name not in value:
                raise InputError(f"{what} has no field {name!r}")
        return cls(what, {**dict.fromkeys(optional), **value})

    def text(self, name: str, most: int = MOST_TEXT) -> str:
        """A text of at most so many characters."""
        return plain_text(self.fields[name], f"{name!r} of {self.what}", most)

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number within bounds."""
        value = self.fields[name]
        if type(value) is not int or not low <= value <= high:
            raise InputError(
                f"{name!r} of {self.what} is {shown(value)}; it must be a whole number from {low:,}"
                f" to {high:,}"
            )
        return value

    def number(self, name: str) -> float:
        """A number, which may be infinite."""
        value = self.fields[name]
        if type(value) not in (int, float) or math.isnan(value):
            raise InputError(f"{name!r} of {self.what} is {shown(value)}, which is no number")
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false; what is missing is false."""
        value = self.fields[name]
        if value is not None and not isinstance(value, bool):
            raise InputError(f"{name!r} of {self.what} is {shown(value)}; it must be true or false")
        return bool(value)

    def items(self, name: str, most: int) -> list[Any]:
        """A list of at most so many things."""
        value = self.fields[name]
        if not isinstance(value, (list, tuple)):
            raise InputError(f"{name!r} of {self.what} is {shown(value)}, which is no list")
        if len(value) > most:
            raise InputError(
                f"{name!r} of {self.what} has {len(value):,} entries; at most {most:,} are read"
            )
        return list(value)
