"""Checkpoints: a search put away between two iterations, and taken up again as if never stopped.

A file holds all that one iteration leaves to the next, and what the search was set up with, so that
it is taken up only by a search set up alike; budgets and threads may differ. A checksum stands
before it, and it is JSON and arrays: damage is noticed, and nothing in it is ever run.

Functions and objects of the caller are known by how they print alone, and what they remember
themselves is not kept. Neither is the native cache: what it knows comes out the same, to the last
bit, when it is computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.data import Data
from symseek.errors import InputError
from symseek.front import Entry, Front
from symseek.grading import Graded
from symseek.objectives import Queue
from symseek.policy import AdamState
from symseek.programs import Program, Programs
from symseek.search import Iteration, Search
from symseek.tokens import Library
from symseek.writing import write_whole

__all__ = ["Checkpointer", "restore", "save"]

FORMAT = 1  # raise it when a change makes old files unreadable
BUDGETS = ("max_expressions", "max_seconds", "stop_reward")  # may change when a search is taken up

_MAGIC = b"symseek checkpoint\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
_PLAIN = "biufcSU"  # kinds of arrays whose bytes are all there is to them

Place = str | os.PathLike[str]


def save(search: Search, path: Place) -> None:
    """Write all that the search needs to go on, whole or not at all.

    Do so from its callback or after its run: then it stands between two iterations. A search taken
    up from there finds what it would have found without the stop. (An iteration that a budget cut
    short stays so when the budget grows.)

    >>> import tempfile
    >>> from symseek import Library, SearchConfig
    >>> def search(budget):
    ...     library = Library(["add", "mul", "sin"], variables=["x"])
    ...     x = np.linspace(-1, 1, 20)
    ...     return Search(library, x, x**3 + x, SearchConfig(max_expressions=budget), seed=1)
    >>> first, second = search(2_000), search(5_000)
    >>> _ = first.run()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(first, f"{folder}/run.checkpoint")
    ...     restore(second, f"{folder}/run.checkpoint")
    >>> second.iteration, second.run().best == search(5_000).run().best
    (2, True)
    """
    write_whole(path, _checkpoint(search, _setup(search)))


def restore(search: Search, path: Place) -> None:
    """Bring a new search to where the saved one stood; `run` goes on from there.

    It must have the library, data, reward, constraints, seed and settings of the saved one; only
    its budgets and threads may differ. It is left as it was if the file is refused.
    """
    record, body = _opened(Path(path))
    _refuse_other_setup(record["setup"], _setup(search), path)
    try:
        arrays = _arrays(record["arrays"], body)
        state = _Reader(arrays, search.library, _classes(search)).value(record["state"])
        state.give_to(search)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"the checkpoint {str(path)!r}, by symseek {record['symseek']}, is not such as this"
            f" version writes ({error}); remove it to start anew"
        ) from None


class Checkpointer:
    """Saves a search every few seconds: call it after each iteration, and `finish` at the end.

    A search is worth more than its checkpoint. If one cannot be written, `error` says why, the
    search goes on, and the next is tried when it is due; once one is written, `error` is None.

    >>> import tempfile
    >>> from symseek import Library, SearchConfig
    >>> x = np.linspace(-1, 1, 20)
    >>> config = SearchConfig(max_expressions=3_000)
    >>> search = Search(Library(["add", "mul"], variables=["x"]), x, x**2 + x, config)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keeper = Checkpointer(search, f"{folder}/run.checkpoint", every=60.0)
    ...     _ = search.run(callback=keeper)
    ...     keeper.finish()
    >>> keeper.saved, keeper.error
    (3, None)
    """

    def __init__(self, search: Search, path: Place, every: float = 5.0) -> None:
        self.search = search
        self.path = Path(path)
        self.every = every  # seconds
        self.saved: int | None = None  # the iteration after which the file was written
        self.error: str | None = None
        self._setup = _setup(search)  # once: it reads all of the data
        self._last = time.monotonic()

    def __call__(self, now: Iteration | None = None) -> None:
        """Save if it is time to."""
        if time.monotonic() - self._last >= self.every:
            self._save()

    def finish(self) -> None:
        """Save what came since the last time, unless the search was stopped within an iteration."""
        if self.saved != self.search.iteration and _between_iterations(self.search):
            self._save()

    def _save(self) -> None:
        try:
            write_whole(self.path, _checkpoint(self.search, self._setup))
        except (OSError, InputError) as error:
            reason = getattr(error, "strerror", None) or error
            self.error = f"the checkpoint {str(self.path)!r} could not be written: {reason}"
        else:
            self.saved, self.error = self.search.iteration, None
        self._last = time.monotonic()


@dataclass(frozen=True)
class _State:
    """What one iteration leaves to the next."""

    weights: NDArray[np.float32]
    adam: AdamState
    objective: Any
    front: Front
    population: Graded | None
    children: int
    known: list[dict[bytes, Any]]
    iteration: int
    expressions: int
    seconds: float
    timings: dict[str, float]
    history: list[Iteration]

    @classmethod
    def of(cls, search: Search) -> _State:
        policy, evolver = search.policy, search.evolver
        return cls(
            weights=policy.weights.flat,
            adam=policy.adam,
            objective=search.objective_state,
            front=search.front,
            population=None if evolver is None else evolver.population,
            children=0 if evolver is None else evolver.children,
            known=[dict(known) for known in _memories(search)],
            iteration=search.iteration,
            expressions=search.expressions,
            seconds=search.seconds,
            timings=search.timings,
            history=search.history,
        )

    def give_to(self, search: Search) -> None:
        policy, memories = search.policy, _memories(search)
        shapes = {each.shape for each in (self.weights, self.adam.mean, self.adam.variance)}
        if shapes != {policy.weights.flat.shape} or len(memories) != len(self.known):
            raise ValueError("its parts do not fit this search")
        policy.weights.flat[:] = self.weights
        policy.adam = self.adam
        search.objective_state = self.objective
        search.front = self.front
        if search.evolver is not None:
            search.evolver.population, search.evolver.children = self.population, self.children
        for memory, known in zip(memories, self.known, strict=True):
            memory.clear()
            memory.update(known)
        search.iteration = self.iteration
        search.expressions = search.settled = self.expressions
        search.seconds = self.seconds
        search.timings = self.timings
        search.history = self.history


def _between_iterations(search: Search) -> bool:
    """Whether nothing was graded since the last iteration ended."""
    return search.expressions == search.settled


def _graders(search: Search) -> list[Any]:
    """The grader, and those that it asks in turn."""
    graders: list[Any] = [search.grader]
    while hasattr(graders[-1], "grader"):
        graders.append(graders[-1].grader)
    return graders


def _memories(search: Search) -> list[dict[bytes, Any]]:
    """What the graders remember of the caller's own function.

    Asked again, it might answer otherwise in the last bit: how a product of matrices is rounded can
    depend on how many programs are graded with it.
    """
    return [grader.known for grader in _graders(search) if hasattr(grader, "known")]


def _setup(search: Search) -> dict[str, str]:
    """What makes two searches alike, each part as text."""
    grader = _graders(search)[-1]
    judge = grader.reward if hasattr(grader, "reward") else (grader.score, grader.deterministic)
    told = ("name", "arity", "complexity", "kind", "inverse", "trigonometric", "formula", "value")
    settings = [each.name for each in fields(search.config) if each.name not in BUDGETS]
    return {
        "library": _text([[getattr(token, each) for each in told] for token in search.library]),
        "data": _data_digest(getattr(grader, "data", None)),
        "reward": _text(judge),
        "constraints": _text(search.rules.constraints),
        "seed": _text(search.seed),
        **{f"setting {name}": _text(getattr(search.config, name)) for name in settings},
    }


def _text(value: object) -> str:
    """How it prints, less the places in memory, which differ from process to process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _data_digest(data: Data | None) -> str:
    digest = hashlib.sha256()
    for array in () if data is None else (data.X, data.y, data.weights):
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _refuse_other_setup(saved: dict[str, str], here: dict[str, str], path: Place) -> None:
    parts = []
    for name in here:
        there = saved.get(name)
        if there != here[name]:
            long = name in ("library", "data", "constraints")
            parts.append(f"the {name}" + ("" if long else f" ({there} there, {here[name]} here)"))
    if parts == ["the data"]:
        raise InputError(
            f"the data are not those of the checkpoint {str(path)!r}: they have changed since; give"
            " those it was made with, or fit again"
        )
    if parts:
        raise InputError(
            f"the checkpoint {str(path)!r} is of another search, with another value of"
            f" {', '.join(parts)}; set up the search as that one was: all but"
            f" {', '.join(BUDGETS)} and the threads must agree"
        )


# The file: the magic words, a checksum of the rest, the length of the JSON, the JSON, the arrays.


def _checkpoint(search: Search, setup: dict[str, str]) -> bytes:
    """The file as bytes."""
    from symseek import __version__

    if not _between_iterations(search):
        raise InputError(
            "the search was stopped within an iteration, which a checkpoint cannot hold; save it"
            " from its callback, or after a run that came to its end"
        )
    writer = _Writer(search.library, _classes(search))
    try:
        state = writer.value(_State.of(search))
    except _Unknown as error:  # all else is this package's own
        raise InputError(
            f"the state of the objective {_text(search.config.objective)} cannot be saved: {error};"
            " it may be None, numbers, text, arrays, Programs, dataclasses such as its `start`"
            " gives, and tuples, lists and dicts of these"
        ) from None
    described = [[array.dtype.str, array.shape] for array in writer.arrays]
    record = {"format": FORMAT, "symseek": __version__, "setup": setup, "arrays": described}
    return _sealed({**record, "state": state}, writer.arrays)


def _sealed(record: dict[str, Any], arrays: Iterable[NDArray[Any]]) -> bytes:
    text = json.dumps(record, separators=(",", ":")).encode()
    parts = [len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in arrays)]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join([_MAGIC, digest.digest(), *parts])


def _opened(path: Path) -> tuple[dict[str, Any], memoryview]:
    """The JSON and the bytes of the arrays, of a file that is whole and of this format."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no checkpoint {str(path)!r}") from None
    except OSError as error:
        why = error.strerror
        raise InputError(f"the checkpoint {str(path)!r} cannot be read: {why}") from None
    body = memoryview(data)[_HEAD:]
    if data[:_HEAD] != _MAGIC + hashlib.sha256(body).digest():
        raise InputError(
            f"{str(path)!r} is damaged, or no checkpoint of symseek; remove it to start anew"
        )
    end = 8 + int.from_bytes(body[:8], "little")
    record = json.loads(bytes(body[8:end]))
    if record["format"] != FORMAT:
        raise InputError(
            f"the checkpoint {str(path)!r}, by symseek {record['symseek']}, has format"
            f" {record['format']}, and this version reads format {FORMAT}; remove it to start anew"
        )
    return record, body[end:]


def _arrays(described: Iterable[tuple[str, list[int]]], body: memoryview) -> list[NDArray[Any]]:
    arrays, at = [], 0
    for code, shape in described:
        dtype, count = np.dtype(code), int(np.prod(shape, dtype=np.int64))
        end = at + dtype.itemsize * count
        flat = np.frombuffer(body[at:end], dtype)
        arrays.append(flat.reshape(shape).astype(dtype.newbyteorder("=")))
        at = end
    return arrays


# Values as JSON. What JSON has stands for itself; all else is an object of one key, which says what
# it is. Arrays lie apart, and the JSON has their numbers. A sequence of values of one kind, such as
# the history, becomes a few arrays.


class _Unknown(Exception):
    """A value that a file cannot hold."""


def _classes(search: Search) -> dict[str, type[Any]]:
    """By name, the only classes that a file may speak of: some of ours and the objective's own."""
    own = _dataclasses_in(search.config.objective.start())
    ours = (AdamState, Entry, Front, Graded, Iteration, Queue, _State)
    return {_name(each): each for each in (*own, *ours)}


def _dataclasses_in(value: object) -> Iterator[type[Any]]:
    inside: Iterable[object] = ()
    if isinstance(value, tuple | list):
        inside = value
    elif isinstance(value, dict):
        inside = value.values()
    elif is_dataclass(value) and not isinstance(value, Program | Programs | type):
        yield type(value)
        inside = [getattr(value, each.name) for each in fields(value)]
    for each in inside:
        yield from _dataclasses_in(each)


def _name(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


class _Writer:
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
        if kind is np.ndarray and value.dtype.kind in _PLAIN:
            return {"array": self._array(value)}
        if isinstance(value, np.generic) and value.dtype.kind in _PLAIN:
            return {"number": self._array(np.asarray(value))}
        if kind in (tuple, list):
            return {kind.__name__: self.sequence(value)}
        if kind is dict and set(map(type, value)) <= {str, int, bytes}:
            return {"dict": [self.sequence(list(value)), self.sequence(list(value.values()))]}
        if kind in (Program, Programs):
            return self._program(value)
        if self._may_hold(kind):
            return {"object": self.sequence([value])}
        raise _Unknown(f"{_text(value)[:80]} is of type {_name(kind)}")

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
            return {"columns": [_name(kind), *map(self.sequence, columns)]}
        return None

    def _array(self, array: NDArray[Any]) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _may_hold(self, kind: type[Any]) -> bool:
        return self.classes.get(_name(kind)) is kind and all(each.init for each in fields(kind))

    def _program(self, value: Program | Programs) -> Any:
        if value.library != self.library:
            raise _Unknown(f"{value!r} is over another library than the search")
        if isinstance(value, Program):
            return {"program": [value.tokens, value.constants]}
        arrays = (value.tokens, value.lengths, value.constants)
        return {"programs": [self._array(each) for each in arrays]}


class _Reader:
    """Turns what `_Writer` wrote into values again."""

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
