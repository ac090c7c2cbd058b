"""Values as JSON and arrays, without pickle: nothing in them is ever run or imported.

What JSON has stands for itself; all else is an object of one key, which says what it is. Arrays lie
apart, and the JSON has their numbers. A sequence of values of one kind, such as a search's history,
becomes a few arrays. Dataclasses are known by name from a table that the caller gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.programs import Program, Programs
from symseek.tokens import Library

__all__ = ["PLAIN", "Reader", "Unknown", "Writer", "class_name", "dataclasses_in", "printed"]

PLAIN = "biufcSU"  # kinds of arrays whose bytes are all there is to them


def printed(value: object) -> str:
    """How it prints, less the places in memory, which differ from process to process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


class Unknown(Exception):
    """A value that a file cannot hold."""


def dataclasses_in(value: object) -> Iterator[type[Any]]:
    inside: Iterable[object] = ()
    if isinstance(value, tuple | list):
        inside = value
    elif isinstance(value, dict):
        inside = value.values()
    elif is_dataclass(value) and not isinstance(value, Program | Programs | type):
        yield type(value)
        inside = [getattr(value, each.name) for each in fields(value)]
    for each in inside:
        yield from dataclasses_in(each)


def class_name(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


class Writer:
    """Turns values into JSON and arrays."""

    def __init__(self, library: Library, classes: dict[str, type[Any]]) -> None:
        self.library = library
        self.classes = classes
        self.arrays: list[NDArray[Any]] = []

    def value(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind is bytes:
            return {"bytes": self._array(np.frombuffer(value, np.uint8))}
        if kind is np.ndarray and value.dtype.kind in PLAIN:
            return {"array": self._array(value)}
        if isinstance(value, np.generic) and value.dtype.kind in PLAIN:
            return {"number": self._array(np.asarray(value))}
        if kind in (tuple, list):
            return {kind.__name__: self.sequence(value)}
        if kind is dict and set(map(type, value)) <= {str, int, bytes}:
            return {"dict": [self.sequence(list(value)), self.sequence(list(value.values()))]}
        if kind in (Program, Programs):
            return self._program(value)
        if self._may_hold(kind):
            return {"object": self.sequence([value])}
        raise Unknown(f"{printed(value)[:80]} is of type {class_name(kind)}")

    def sequence(self, values: Sequence[Any]) -> Any:
        """Several values, in as few pieces as their kinds allow."""
        kinds = set(map(type, values))
        kind = kinds.pop() if len(kinds) == 1 else None
        for pack in (self._numbers, self._pieces, self._shared, self._columns):
            if (packed := pack(kind, values)) is not None:
                return packed
        return {"each": [self.value(each) for each in values]}

    def _numbers(self, kind: type[Any] | None, values: Sequence[Any]) -> Any:
        if kind is float:
            return {"numbers": self._array(np.array(values))}
        if kind is int and min(values) >= -(2**63) and max(values) < 2**63:
            return {"numbers": self._array(np.array(values, dtype=np.int64))}
        return None

    def _pieces(self, kind: type[Any] | None, values: Sequence[Any]) -> Any:
        """Bytes or vectors, end to end, beside their lengths."""
        if kind is bytes:
            joined = np.frombuffer(b"".join(values), np.uint8)
        elif kind is np.ndarray and {(each.dtype.str, each.ndim) for each in values} == {
            ("<f8", 1)
        }:
            joined = np.concatenate(values)
        else:
            return None
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        return {"pieces": [kind is bytes, self._array(joined), self._array(lengths)]}

    def _shared(self, kind: type[Any] | None, values: Sequence[Any]) -> Any:
        """Each object once, if some come more than once: the best program of many iterations."""
        distinct = {id(each): each for each in values}
        if kind in (bool, str) or len(distinct) == len(values):
            return None
        places = {identity: place for place, identity in enumerate(distinct)}
        index = np.array([places[id(each)] for each in values])
        return {"shared": [self.sequence(list(distinct.values())), self._array(index)]}

    def _columns(self, kind: type[Any] | None, values: Sequence[Any]) -> Any:
        """Tuples of one length, or objects of one class, column by column."""
        if kind is tuple and len(values[0]) and len(set(map(len, values))) == 1:
            return {"columns": [None, *(self.sequence(each) for each in zip(*values, strict=True))]}
        if kind is not None and self._may_hold(kind):
            names = [each.name for each in fields(kind)]
            columns = [[getattr(value, name) for value in values] for name in names]
            return {"columns": [class_name(kind), *map(self.sequence, columns)]}
        return None

    def _array(self, array: NDArray[Any]) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _may_hold(self, kind: type[Any]) -> bool:
        return self.classes.get(class_name(kind)) is kind and all(
            each.init for each in fields(kind)
        )

    def _program(self, value: Program | Programs) -> Any:
        if value.library != self.library:
            raise Unknown(f"{value!r} is over another library than the search")
        if isinstance(value, Program):
            return {"program": [value.tokens, value.constants]}
        arrays = (value.tokens, value.lengths, value.constants)
        return {"programs": [self._array(each) for each in arrays]}


class Reader:
    """Turns what `Writer` wrote into values again."""

    def __init__(
        self, arrays: list[NDArray[Any]], library: Library, classes: dict[str, type[Any]]
    ) -> None:
        self.arrays = arrays
        self.library = library
        self.classes = classes
        self.values: dict[str, Callable[[Any], Any]] = {
            "bytes": lambda of: arrays[of].tobytes(),
            "array": lambda of: arrays[of],
            "number": lambda of: arrays[of][()],
            "list": self.sequence,
            "tuple": lambda of: tuple(self.sequence(of)),
            "dict": lambda of: dict(zip(*map(self.sequence, of), strict=True)),
            "program": lambda of: Program(library, *of),
            "programs": self._programs,
            "object": lambda of: self.sequence(of)[0],
        }
        self.sequences: dict[str, Callable[[Any], list[Any]]] = {
            "numbers": lambda of: arrays[of].tolist(),
            "pieces": self._pieces,
            "shared": self._shared,
            "columns": self._columns,
            "each": lambda of: [self.value(each) for each in of],
        }

    def value(self, written: Any) -> Any:
        if not isinstance(written, dict):
            return written
        ((what, of),) = written.items()
        return self.values[what](of)

    def sequence(self, written: dict[str, Any]) -> list[Any]:
        ((what, of),) = written.items()
        return self.sequences[what](of)

    def _pieces(self, of: list[Any]) -> list[Any]:
        as_bytes, joined, lengths = of
        ends = np.cumsum(self.arrays[lengths]).tolist()
        whole = self.arrays[joined].tobytes() if as_bytes else self.arrays[joined]
        return [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def _shared(self, of: list[Any]) -> list[Any]:
        distinct = self.sequence(of[0])
        return [distinct[place] for place in self.arrays[of[1]].tolist()]

    def _columns(self, of: list[Any]) -> list[Any]:
        name, *columns = of
        rows = list(zip(*map(self.sequence, columns), strict=True))
        if name is None:
            return rows
        cls = self.classes[name]
        names = [each.name for each in fields(cls)]
        return [cls(**dict(zip(names, row, strict=True))) for row in rows]

    def _programs(self, of: list[int]) -> Programs:
        """A batch, each program checked: the native core takes for granted that it is one."""
        programs = Programs(self.library, *(self.arrays[each] for each in of))
        for program in programs:
            Program(self.library, program.tokens)
        return programs
