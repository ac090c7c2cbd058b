"""Values as JSON and arrays, without pickle: nothing in them is ever run or imported.

What JSON has stands for itself; everything else is an object of one key, which says what it is.
Arrays are kept apart, by name. A sequence of values of one kind, such as the history of a search,
becomes a few arrays. Dataclasses are known by name from a table that the caller gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.programs import Program, Programs
from symseek.tokens import Library

PLAIN = "biufcSU"  # kinds of arrays that are nothing but their bytes
MOST_PARTS = 1_000_000  # of a value, beside what its file has bytes for
_DEEPEST = 32  # sequences in one another; a search has 8


def printed(value: object) -> str:
    """How it prints, without addresses in memory, which differ from process to process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


class UnknownType(Exception):
    """A value that a file cannot hold."""


def parts(value: object) -> Iterator[object]:
    """A value and all that it holds; what it holds twice comes twice."""
    waiting: list[Any] = [value]
    while waiting:
        this = waiting.pop()
        yield this
        if isinstance(this, tuple | list):
            waiting.extend(this)
        elif isinstance(this, dict):
            waiting.extend(this.values())
        elif _is_open(this):
            waiting.extend(getattr(this, each.name) for each in fields(this))


def dataclasses_in(value: object) -> Iterator[Any]:
    """All dataclasses in a value, itself among them."""
    return (each for each in parts(value) if _is_open(each))


def _is_open(value: Any) -> bool:
    """Whether it is a dataclass that is written field by field."""
    return is_dataclass(value) and not isinstance(value, Program | Programs | type)


def class_name(cls: type[Any]) -> str:
    """The name by which a class is known."""
    return f"{cls.__module__}.{cls.__qualname__}"


class Encoder:
    """Turns values into JSON and arrays."""

    def __init__(self, library: Library, classes: dict[str, type[Any]]) -> None:
        self.library = library
        self.classes = classes
        self.arrays: dict[str, NDArray[Any]] = {}

    def value(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind is np.ndarray and value.dtype.kind in PLAIN:
            return {"array": self._array(value)}
        if isinstance(value, np.generic) and value.dtype.kind in PLAIN:
            return {"scalar": self._array(np.asarray(value))}
        if kind in (tuple, list):
            return {kind.__name__: self.sequence(value)}
        if kind is dict and set(map(type, value)) <= {str, int, bytes}:
            return {"dict": [self.sequence(list(value)), self.sequence(list(value.values()))]}
        if kind in (Program, Programs):
            return self._program(value)
        if kind is bytes or self._may_hold(kind):
            return {"object": self.sequence([value])}
        raise UnknownType(f"{printed(value)[:80]} is of type {class_name(kind)}")

    def sequence(self, values: Sequence[Any]) -> Any:
        """Several values, as arrays where they are of one kind."""
        kinds = set(map(type, values))
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is float or (kind is int and min(values) >= -(2**63) and max(values) < 2**63):
            return {"numbers": self._array(np.array(values))}
        if kind is bytes:
            return self._pieces(np.frombuffer(b"".join(values), np.uint8), values)
        if kind is np.ndarray and all((v.dtype.str, v.ndim) == ("<f8", 1) for v in values):
            return self._pieces(np.concatenate(values), values)
        distinct = {id(each): each for each in values}
        if len(distinct) < len(values) and kind not in (bool, str):
            return self._shared(distinct, values)
        # One tuple alone may be long, such as the history: it is a sequence of its own.
        if kind is tuple and len(values) > 1 and values[0] and len(set(map(len, values))) == 1:
            if {type(each) for value in values for each in value} <= {float}:
                return {"rows": self._array(np.array(values))}
            return {"columns": [None, *map(self.sequence, zip(*values, strict=True))]}
        if kind is not None and self._may_hold(kind):
            names = [each.name for each in fields(kind)]
            columns = [[getattr(value, name) for value in values] for name in names]
            return {"columns": [class_name(kind), *map(self.sequence, columns)]}
        return {"each": [self.value(each) for each in values]}

    def _pieces(self, joined: NDArray[Any], values: Sequence[Any]) -> Any:
        """Bytes or vectors, end to end, and their lengths."""
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        return {"pieces": [self._array(joined), self._array(lengths)]}

    def _shared(self, distinct: dict[int, Any], values: Sequence[Any]) -> Any:
        """Each object once, where some come more than once: the best program of many iterations."""
        places = {identity: place for place, identity in enumerate(distinct)}
        index = np.array([places[id(each)] for each in values])
        return {"shared": [self.sequence(list(distinct.values())), self._array(index)]}

    def _array(self, array: NDArray[Any]) -> str:
        name = f"array{len(self.arrays)}"
        self.arrays[name] = array
        return name

    def _may_hold(self, kind: type[Any]) -> bool:
        return self.classes.get(class_name(kind)) is kind and all(
            each.init for each in fields(kind)
        )

    def _program(self, value: Program | Programs) -> Any:
        if value.library != self.library:
            raise UnknownType(f"{value!r} is over another library than the search")
        if isinstance(value, Program):
            return {"program": [value.tokens, value.constants]}
        arrays = (value.tokens, value.lengths, value.constants)
        return {"programs": [self._array(each) for each in arrays]}


class Decoder:
    """Turns what `Encoder` made into values again.

    A few bytes may stand for many values, as each may be referred to many times. So there is a
    limit to the `size` of all together: bytes of arrays, and parts of other values.
    """

    def __init__(
        self,
        arrays: dict[str, NDArray[Any]],
        library: Library,
        classes: dict[str, type[Any]],
        size: int = MOST_PARTS,
    ) -> None:
        self.arrays = arrays
        self.library = library
        self.classes = classes
        self._left, self._depth = size, 0
        self._values: dict[str, Callable[[Any], Any]] = {
            "array": lambda of: arrays[of],
            "scalar": lambda of: self._array(of)[()],
            "list": self.sequence,
            "tuple": lambda of: tuple(self.sequence(of)),
            "dict": lambda of: dict(zip(*map(self.sequence, of), strict=True)),
            "program": lambda of: Program(library, *of),
            "programs": self._programs,
            "object": lambda of: self.sequence(of)[0],
        }
        self._sequences: dict[str, Callable[[Any], list[Any]]] = {
            "numbers": lambda of: self._array(of).tolist(),
            "rows": lambda of: list(map(tuple, self._array(of).tolist())),
            "pieces": self._pieces,
            "shared": self._shared,
            "columns": self._columns,
            "each": lambda of: [self.value(each) for each in of],
        }

    def value(self, written: Any) -> Any:
        if not isinstance(written, dict):
            return written
        ((what, of),) = written.items()
        return self._values[what](of)

    def sequence(self, written: dict[str, Any]) -> list[Any]:
        ((what, of),) = written.items()
        if self._depth == _DEEPEST:
            raise ValueError("it is nested too deeply")
        self._depth += 1
        values = self._sequences[what](of)
        self._depth -= 1
        self._spend(len(values))
        return values

    def _array(self, name: str) -> NDArray[Any]:
        """An array that is to be copied."""
        array = self.arrays[name]
        self._spend(array.nbytes)
        return array

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("it stands for more values than a file of its size can hold")

    def _pieces(self, of: list[str]) -> list[Any]:
        joined, lengths = map(self._array, of)
        if (lengths < 0).any() or lengths.sum() != len(joined):
            raise ValueError("its pieces do not make up a whole")
        ends = np.cumsum(lengths).tolist()
        whole = joined.tobytes() if joined.dtype == np.uint8 else joined
        return [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def _shared(self, of: list[Any]) -> list[Any]:
        distinct = self.sequence(of[0])
        sizes = [sum(1 for _ in parts(each)) for each in distinct]
        places = self._array(of[1]).tolist()
        self._spend(sum(sizes[place] for place in places))
        return [distinct[place] for place in places]

    def _columns(self, of: list[Any]) -> list[Any]:
        name, *columns = of
        rows = list(zip(*map(self.sequence, columns), strict=True))
        if name is None:
            return rows
        cls = self.classes[name]
        # A file from before the last fields existed has their defaults.
        names = [each.name for each in fields(cls)][: len(columns)]
        return [cls(**dict(zip(names, row, strict=True))) for row in rows]

    def _programs(self, of: list[str]) -> Programs:
        """A batch, each program checked."""
        return Programs(self.library, *map(self._array, of))
