"""Data that anyone may have written, checked by the types beside the fields of a dataclass.

A number, a text or a list in JSON may be of any size, so a type may have bounds:

    Word = Annotated[str, Most(1000)]
    Share = Annotated[float, Within(0, 1)]

Whatever is not of its type or out of its bounds is named in one sentence.
"""

from __future__ import annotations

import json
import math
import os
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from symseek.errors import InputError, Setting, shown, unknown_name
from symseek.programs import Program, Programs

MOST_VALUES = 500_000  # of a file of JSON: in memory one may take thirty times its text
MOST_DIGITS = 40  # of a whole number: 2**64 has 20
_LARGEST = 1 << 64  # of a whole number: no count or seed is larger
_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


@dataclass(frozen=True)
class Within:
    """The bounds of a number; nan is in none."""

    low: float
    high: float


@dataclass(frozen=True)
class Most:
    """How long a text or a list may be; such a text has no halves of characters in it."""

    length: int


Real = Annotated[float, Within(-math.inf, math.inf)]  # not nan
Finite = Annotated[float, Within(-1e300, 1e300)]
Word = Annotated[str, Most(100)]
Label = Annotated[str, Most(10_000)]
Text = Annotated[str, Most(100_000)]


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


def read(
    value: Any, hint: Any, what: str | Setting, *, unknown: bool = False, missing: bool = True
) -> Any:
    """What JSON stands for, as a value of this type: lists become tuples, objects dataclasses.

    Fields with a default may be missing unless that is refused, `unknown` ones may not be there
    unless that is allowed.

    >>> @dataclass
    ... class Point:
    ...     x: Annotated[int, Within(0, 9)]
    ...     y: int = 0
    >>> read([{"x": 3}], list[Point], "the points")
    [Point(x=3, y=0)]
    >>> read({"x": 10}, Point, "the point")
    Traceback (most recent call last):
    symseek.errors.InputError: 'x' of the point is 10; it must be a whole number from 0 to 9
    """
    return _Reader(True, unknown, missing).read(value, hint, what)


def check(value: Any, hint: Any, what: str | Setting) -> None:
    """Refuse a value of Python that is of another type than it should be.

    >>> check((1, 2.5), tuple[float, ...], "the rewards")
    >>> check((1, "a"), tuple[float, ...], "the rewards")
    Traceback (most recent call last):
    symseek.errors.InputError: entry 1 of the rewards is 'a'; it must be a number
    """
    _Reader(False, False, False).read(value, hint, what)


@dataclass(frozen=True)
class _Reader:
    json: bool  # whether what is read comes from JSON, which has neither tuples nor dataclasses
    unknown: bool
    missing: bool

    def read(self, value: Any, hint: Any, what: str | Setting) -> Any:
        bound = None
        if get_origin(hint) is Annotated:
            hint, bound = get_args(hint)
        origin = get_origin(hint)
        if hint in (bool, str, bytes, int, float):
            return _plain(value, hint, bound, what)
        if origin in (Union, types.UnionType):
            return self._one_of(value, get_args(hint), what)
        if origin in (tuple, list, Sequence):
            return self._entries(value, hint, bound, what)
        if origin is Literal:
            if not any(type(value) is type(each) and value == each for each in get_args(hint)):
                raise _refused(value, what, " or ".join(map(repr, get_args(hint))))
        elif origin is np.ndarray:
            _check_array(value, hint, what)
        elif origin is not None and issubclass(origin, Mapping):
            return self._mapping(value, hint, bound, what)
        elif hint is None or hint is type(None):
            if value is not None:
                raise _refused(value, what, "none")
        elif hint is Path and self.json:
            return _path(value, what)
        elif isinstance(origin or hint, type) and hint is not Any:
            return self._object(value, origin or hint, what)
        return value

    def _one_of(self, value: Any, hints: tuple[Any, ...], what: str | Setting) -> Any:
        some = [each for each in hints if each is not type(None)]
        if value is None and len(some) < len(hints):
            return None
        if len(some) == 1:
            return self.read(value, some[0], what)
        for each in some:
            try:
                return self.read(value, each, what)
            except InputError:
                pass
        raise _refused(value, what, " or ".join(map(_name, some)))

    def _entries(self, value: Any, hint: Any, bound: Most | None, what: str | Setting) -> Any:
        origin, hints = get_origin(hint), get_args(hint)
        kinds = {tuple: (list, tuple) if self.json else (tuple,), list: (list,)}
        if not isinstance(value, kinds.get(origin, (list, tuple))):
            raise _refused(value, what, "a list")
        _refuse_long(value, bound, what, "entries")
        if origin is tuple and hints[-1:] != (Ellipsis,):
            if len(value) != len(hints):
                raise _refused(value, what, f"a list of {len(hints)}")
        else:
            hints = (hints[0],) * len(value)
            if hints[:1] == (Any,):
                return tuple(value) if origin is tuple else list(value)
        pairs = enumerate(zip(value, hints, strict=True))
        found = [self.read(each, hint, f"entry {at} of {what}") for at, (each, hint) in pairs]
        return tuple(found) if origin is tuple else found

    def _mapping(self, value: Any, hint: Any, bound: Most | None, what: str | Setting) -> Any:
        if not isinstance(value, Mapping):
            raise _refused(value, what, "an object")
        _refuse_long(value, bound, what, "entries")
        key, item = get_args(hint)
        return {
            self.read(name, key, f"a name in {what}"): self.read(each, item, f"an entry of {what}")
            for name, each in value.items()
        }

    def _object(self, value: Any, cls: type[Any], what: str | Setting) -> Any:
        hints = _hints_of(cls) if is_dataclass(cls) else {}
        if isinstance(value, cls):
            if not isinstance(value, Program | Programs):
                for name, hint in _hints_of(type(value)).items():
                    self.read(getattr(value, name), hint, f"{name!r} of {type(value).__name__}")
            return value
        if not (self.json and hints and isinstance(value, dict)):
            raise _refused(value, what, "an object" if self.json and hints else _name(cls))
        given = {name: each for name, each in value.items() if name in hints}
        if len(given) < len(value) and not self.unknown:
            name = next(name for name in value if name not in hints)
            raise unknown_name(f"field of {what}", name, hints)
        for each in fields(cls):
            optional = self.missing and not each.default is each.default_factory is MISSING
            if each.name not in given and not optional:
                raise InputError(f"{what} has no field {each.name!r}")
        return cls(**{n: self.read(v, hints[n], f"{n!r} of {what}") for n, v in given.items()})


def _plain(value: Any, hint: type[Any], bound: Within | Most | None, what: str | Setting) -> Any:
    """A number, a text or a flag."""
    fine = type(value) is hint or (hint is float and type(value) is int)
    if type(value) is int:
        fine = fine and abs(value) <= _LARGEST
    if isinstance(bound, Within):
        if not fine or not bound.low <= value <= bound.high:
            finite = abs(bound.low) < 1e300 and abs(bound.high) < 1e300
            span = f" from {bound.low:,} to {bound.high:,}" if finite else ""
            raise _refused(value, what, f"{_name(hint)}{span}")
    elif not fine:
        raise _refused(value, what, _name(hint))
    elif isinstance(bound, Most):
        _refuse_long(value, bound, what, "characters")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _refused(value, what, "text") from None
    return value


def _path(value: Any, what: str | Setting) -> Path:
    """A path; the bytes of its name need not be text, and are then kept as Python keeps them."""
    try:
        _plain(os.fsencode(value).decode(errors="replace"), str, Most(10_000), what)
        if isinstance(value, str) and value and "\0" not in value:
            return Path(value)
    except (TypeError, UnicodeEncodeError):
        pass
    raise _refused(value, what, "the name of a file")


def _refuse_long(value: Any, bound: Most | None, what: str | Setting, parts: str) -> None:
    if bound is not None and len(value) > bound.length:
        text = f" has {len(value):,} {parts}; at most {bound.length:,} are read"
        raise InputError(what, text, field=what)


def _check_array(value: Any, hint: Any, what: str | Setting) -> None:
    (of,) = get_args(get_args(hint)[1])
    known = of is not Any and get_origin(of) is None  # else any kind of numbers will do
    if not isinstance(value, np.ndarray) or (known and value.dtype != np.dtype(of)):
        raise _refused(value, what, "an array" + (f" of {np.dtype(of)}" if known else ""))


def _refused(value: Any, what: str | Setting, wanted: str) -> InputError:
    text = f" is {shown(value)}; it must be {wanted}"
    return InputError(what, text, field=what, value=value, wanted=wanted)


def _name(hint: Any) -> str:
    """A type in words."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if hint in _NAMES:
        return _NAMES[hint]
    return hint.__name__ if isinstance(hint, type) and get_origin(hint) is None else str(hint)


def _hints_of(cls: type[Any]) -> dict[str, Any]:
    """The types of a dataclass's fields; none where they cannot be found, as in a local class."""
    return _found_hints(cls) if is_dataclass(cls) else {}


@cache
def _found_hints(cls: Any) -> dict[str, Any]:
    try:
        hints = get_type_hints(cls, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}
    return {each.name: hints[each.name] for each in fields(cls) if each.name in hints}
