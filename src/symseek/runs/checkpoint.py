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
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.data import Data
from symseek.errors import InputError
from symseek.evaluation import Graded
from symseek.files.atomic import write_whole
from symseek.front import Entry, Front
from symseek.objectives import Queue
from symseek.policy import AdamState
from symseek.runs.encoding import Reader, Unknown, Writer, class_name, dataclasses_in, printed
from symseek.search import Iteration, Search

__all__ = ["Checkpointer", "restore", "save"]

FORMAT = 1  # raise it when a change makes old files unreadable
BUDGETS = ("max_expressions", "max_seconds", "stop_reward")  # may change when a search is taken up

_MAGIC = b"symseek checkpoint\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size

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
        state = Reader(arrays, search.library, _classes(search)).value(record["state"])
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
        "library": printed([[getattr(token, each) for each in told] for token in search.library]),
        "data": _data_digest(getattr(grader, "data", None)),
        "reward": printed(judge),
        "constraints": printed(search.rules.constraints),
        "seed": printed(search.seed),
        **{f"setting {name}": printed(getattr(search.config, name)) for name in settings},
    }


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


def _classes(search: Search) -> dict[str, type[Any]]:
    """By name, the only classes that a file may speak of: some of ours and the objective's own."""
    own = dataclasses_in(search.config.objective.start())
    ours = (AdamState, Entry, Front, Graded, Iteration, Queue, _State)
    return {class_name(each): each for each in (*own, *ours)}


# The file: the magic words, a checksum of the rest, the length of the JSON, the JSON, the arrays.


def _checkpoint(search: Search, setup: dict[str, str]) -> bytes:
    """The file as bytes."""
    from symseek import __version__

    if not _between_iterations(search):
        raise InputError(
            "the search was stopped within an iteration, which a checkpoint cannot hold; save it"
            " from its callback, or after a run that came to its end"
        )
    writer = Writer(search.library, _classes(search))
    try:
        state = writer.value(_State.of(search))
    except Unknown as error:  # all else is this package's own
        raise InputError(
            f"the state of the objective {printed(search.config.objective)} cannot be saved:"
            f" {error};"
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
