"""Does a value that was read from a file have the type that the code expects of it?

The types are those written beside the fields of the dataclasses, so that a new field is checked
without a word more.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from symseek.errors import shown
from symseek.programs import Program, Programs

__all__ = ["check_type", "hints_of"]

_LARGEST = 1 << 64  # of a whole number: no count or seed is larger


def check_type(value: Any, hint: Any, what: str) -> None:
    """Raise a `TypeError` that names what is of another type than it should be.

    >>> check_type((1, 2.5), tuple[float, ...], "the rewards")
    >>> check_type((1, "a"), tuple[float, ...], "the rewards")
    Traceback (most recent call last):
    TypeError: the rewards has 'a', where float is expected
    """
    if not _is(value, hint, what):
        name = getattr(hint, "__name__", None) if get_origin(hint) is None else None
        raise TypeError(f"{what} has {shown(value)}, where {name or hint} is expected")


def _is(value: Any, hint: Any, what: str) -> bool:
    origin = get_origin(hint)
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in get_args(hint))
    if hint is Any or (origin is None and not isinstance(hint, type) and hint is not None):
        return True
    if origin in (Union, types.UnionType):
        return _is_one_of(value, get_args(hint), what)
    if origin is np.ndarray:
        (of,) = get_args(get_args(hint)[1])
        return isinstance(value, np.ndarray) and (
            of is Any or getattr(of, "__origin__", None) is not None or value.dtype == np.dtype(of)
        )
    if origin is tuple:
        return _is_tuple(value, get_args(hint), what)
    if origin is list:
        return isinstance(value, list) and _each(value, get_args(hint)[0], what)
    if origin is not None and issubclass(origin, Mapping):
        key, item = get_args(hint)
        return (
            isinstance(value, Mapping)
            and _each(value, key, what)
            and _each(value.values(), item, what)
        )
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return type(value) in (int, float) and (type(value) is float or abs(value) < _LARGEST)
    if hint is int:
        return type(value) is int and abs(value) <= _LARGEST
    if hint in (bool, str, bytes):
        return type(value) is hint
    if origin is Sequence:
        return isinstance(value, (list, tuple)) and _each(value, get_args(hint)[0], what)
    if not isinstance(value, origin or hint):
        return False
    if is_dataclass(value) and not isinstance(value, (Program, Programs)):
        cls: type[Any] = type(value)
        for name, each in hints_of(cls).items():
            check_type(getattr(value, name), each, f"{name!r} of {cls.__name__}")
    return True


def _is_one_of(value: Any, hints: tuple[Any, ...], what: str) -> bool:
    """Whether the value is of one of these types; a dataclass among them may complain itself."""
    complaint = None
    for hint in hints:
        try:
            if _is(value, hint, what):
                return True
        except TypeError as error:
            complaint = error
    if complaint is not None:
        raise complaint
    return False


def _is_tuple(value: Any, hints: tuple[Any, ...], what: str) -> bool:
    if not isinstance(value, tuple):
        return False
    if len(hints) == 2 and hints[1] is Ellipsis:
        return _each(value, hints[0], what)
    if len(value) != len(hints):
        return False
    for each, hint in zip(value, hints, strict=True):
        check_type(each, hint, what)
    return True


def _each(values: Any, hint: Any, what: str) -> bool:
    for each in values:
        check_type(each, hint, what)
    return True


_known: dict[str, dict[str, Any]] = {}


def hints_of(cls: type[Any]) -> dict[str, Any]:
    """The types of a dataclass's fields; none where they cannot be found, as in a local class."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    if "<locals>" in name:
        return {}
    if name not in _known:
        try:
            hints = get_type_hints(cls)
        except (NameError, TypeError, AttributeError):
            hints = {}
        _known[name] = {each.name: hints[each.name] for each in fields(cls) if each.name in hints}
    return _known[name]
