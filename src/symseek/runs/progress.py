"""What a search says of itself while it runs, read from its files.

Anyone may have written these files, and an older search writes none. So whatever is not as expected
counts as not being there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from symseek.files.records import parse_json, plain_text
from symseek.files.regular import read_regular, written_at

__all__ = ["read_discoveries", "read_progress"]

STATES = ("searching", "telling", "ended")
SEED_STATES = ("waiting", "searching", "ended")

_MOST_BYTES = 1 << 20
_MOST_SEEDS, _MOST_POINTS, _MOST_DISCOVERIES = 100, 1000, 1000
_LARGEST = 1 << 53  # whole numbers that JavaScript has

Check = Callable[[Any], Any]


class _Odd(Exception):
    """Something that a search does not write."""


def read_progress(path: Path) -> dict[str, Any] | None:
    """How far a search is, and `at` what time it said so; or None."""
    try:
        written = written_at(path) or 0
        return {**_object(_json(path), _PROGRESS), "at": written / 1e9}
    except (OSError, _Odd):
        return None


def read_discoveries(path: Path) -> list[dict[str, Any]]:
    """The formulas that brought a search on, the latest of them if they are many."""
    try:
        listed = _json(path)
    except _Odd:
        return []
    found = []
    for each in listed[-_MOST_DISCOVERIES:] if isinstance(listed, list) else []:
        try:
            found.append(_object(each, _DISCOVERY))
        except _Odd:
            continue
    return found


def _json(path: Path) -> Any:
    try:
        return parse_json(read_regular(path, _MOST_BYTES))
    except (OSError, ValueError):
        raise _Odd from None


def _object(value: Any, fields: dict[str, Check]) -> dict[str, Any]:
    """The known fields of an object; one that is missing is read as null."""
    if not isinstance(value, dict):
        raise _Odd
    return {name: check(value.get(name)) for name, check in fields.items()}


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise _Odd
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or abs(value) > 1e300:
        raise _Odd
    return float(value)


def _text(value: Any) -> str:
    try:
        return plain_text(value, "the text", 10_000)
    except ValueError:
        raise _Odd from None


def _one_of(*names: str) -> Check:
    def check(value: Any) -> Any:
        if value not in names:
            raise _Odd
        return value

    return check


def _or_none(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _list_of(check: Check, most: int) -> Check:
    def check_all(value: Any) -> list[Any]:
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > most:
            raise _Odd
        return [check(each) for each in value]

    return check_all


def _point(value: Any) -> list[float | None]:
    if not isinstance(value, list) or len(value) != 2:
        raise _Odd
    return [_number(value[0]), None if value[1] is None else _number(value[1])]


_DISCOVERY: dict[str, Check] = {
    "seconds": _number,
    "expressions": _count,
    "text": _text,
    "nrmse": _number,
    "before": _or_none(_number),
    "complexity": _count,
}

_SEED: dict[str, Check] = {
    "seed": lambda value: value if type(value) is int and 0 <= value < 1 << 64 else _count(None),
    "expressions": _count,
    "seconds": _number,
    "nrmse": _or_none(_number),
    "state": _one_of(*SEED_STATES),
}

_PROGRESS: dict[str, Check] = {
    "state": _one_of(*STATES),
    "ended": _or_none(_text),
    "why": _or_none(_text),
    "expressions": _count,
    "most": _or_none(_count),
    "seconds": _number,
    "max_seconds": _or_none(_number),
    "rate": _or_none(_number),
    "share": _or_none(_number),
    "left": _or_none(_number),
    "structure": _or_none(_text),
    "seeds": _list_of(lambda value: _object(value, _SEED), _MOST_SEEDS),
    "course": _list_of(_point, _MOST_POINTS),
}
