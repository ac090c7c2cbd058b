"""Checkpoints: the state of a search, saved, from which it continues as if never stopped.

A file is a NumPy archive (npz, without pickle): the arrays of the state, and its other parts as
JSON. Beside the state is what the search was set up with, so that only a search set up alike goes
on from it; budgets, threads and the engine may differ. (Another engine rounds differently, so what
it finds from there on may differ too.) Nothing in a file is ever run, and the checksums of the
archive show damage.

Functions and objects of the caller are known only by how they print, and what they remember
themselves is not kept. Neither is the engine's cache: the same values, to the last bit, come out
when it is filled again.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import time
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from symseek.data import Data
from symseek.errors import InputError, Message, Quoted, shown
from symseek.evaluation import Graded
from symseek.evolution import Population
from symseek.files.regular import open_regular, write_regular
from symseek.files.schema import Word, parse_json, read
from symseek.front import Entry, Front
from symseek.loop import Iteration
from symseek.objectives import Queue
from symseek.policy import AdamState
from symseek.runs.encoding import (
    MOST_PARTS,
    PLAIN,
    Decoder,
    Encoder,
    UnknownType,
    class_name,
    dataclasses_in,
    printed,
)
from symseek.runs.states import check_state
from symseek.search import Search, SearchState

FORMAT = 3  # raise it when a change makes old files unreadable
BUDGETS = ("max_expressions", "max_seconds", "stop_reward")  # may change when a search is resumed

# What files from before a setting existed mean.
_LATER = {"setting underflow_invalid": "False", "setting racing": "None", "mapping": "None"}

_RECORD = "record"  # the name of the JSON in the archive
_MOST_BYTES = 1 << 32
_MOST_VALUES = 10_000_000  # of the JSON, which has no numbers of arrays in it
_MOST_SAID = 200  # characters of what is wrong
_SHARE = 0.02  # of the time, at most, goes into saving

Place = str | os.PathLike[str]


def save(search: Search, path: Place) -> None:
    """Write the state of the search, whole or not at all; a link at the place is replaced.

    A search that continues from there finds what it would have found without the stop. (An
    iteration that a budget cut short stays so when the budget grows.)

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
    write_regular(path, _checkpoint(search, _setup(search)))


def restore(search: Search, path: Place) -> None:
    """Bring a new search to where the saved one stood; `run` continues from there.

    It must have the library, data, reward, constraints, seed and settings of the saved one; only
    its budgets, threads and engine may differ. A search whose file is refused stays as it was.
    """
    record, arrays, size = _opened(Path(path))
    _refuse_other_setup(record["setup"], _setup(search), path)
    try:
        decoder = Decoder(arrays, search.library, _classes(search), MOST_PARTS + 2 * size)
        state, known = decoder.value(record["state"]), decoder.value(record["known"])
        check_state(search, state, known)
    except _ODD as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else _sentence(error)
        raise InputError(
            "the checkpoint ",
            Quoted(path),
            f", by symseek {record['symseek']}, is not such as this version writes ({what});"
            " remove it to start again",
        ) from None
    search.state = state
    for memory, values in zip(search.grader.memories, known, strict=True):
        memory.clear()
        memory.update(values)


def engine_of(path: Place) -> str:
    """The engine of the search that was saved."""
    record, _, _ = _opened(Path(path))
    return str(read(record.get("engine", "native"), Word, "the engine"))


class Checkpointer:
    """Saves a search every few seconds: call it after each iteration, and `finish` at the end.

    Where saving takes long it happens less often, unless `every` is 0. If a checkpoint cannot
    be written, `error` says why, the search continues, and the next is tried when it is due; once
    one is written, `error` is None.

    >>> import tempfile
    >>> from symseek import Library, SearchConfig
    >>> x = np.linspace(-1, 1, 20)
    >>> config = SearchConfig(max_expressions=3_000)
    >>> search = Search(Library(["add", "mul"], variables=["x"]), x, x**2 + x, config)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpointer = Checkpointer(search, f"{folder}/run.checkpoint", every=60.0)
    ...     _ = search.run(callback=checkpointer)
    ...     checkpointer.finish()
    >>> checkpointer.saved, checkpointer.error
    (3, None)
    """

    def __init__(self, search: Search, path: Place, every: float = 5.0) -> None:
        self.search = search
        self.path = Path(path)
        self.every = every  # seconds
        self.saved: int | None = None  # the iteration after which the file was written
        self.error: Message | None = None
        self._setup = _setup(search)  # once: it reads all of the data
        self._due = time.monotonic() + every

    def __call__(self, now: Iteration | None = None) -> None:
        """Save if it is time to."""
        if time.monotonic() >= self._due:
            self._save()

    def finish(self) -> None:
        """Save what has changed since the last time."""
        if self.saved != self.search.iteration:
            self._save()

    def _save(self) -> None:
        began = time.monotonic()
        try:
            write_regular(self.path, _checkpoint(self.search, self._setup))
        except (OSError, InputError) as error:
            reason = getattr(error, "strerror", None) or error
            why = f" could not be written: {reason}"
            self.error = Message("the checkpoint ", Quoted(self.path), why)
        else:
            self.saved, self.error = self.search.iteration, None
        now = time.monotonic()
        pause = max(self.every, (now - began) / _SHARE) if self.every else 0.0
        self._due = now + pause


# What decoding something else than a state may raise.
_ODD = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


def _sentence(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text if len(text) <= _MOST_SAID else text[:_MOST_SAID] + "..."


def _setup(search: Search) -> dict[str, str]:
    """What makes two searches alike, each part as text."""
    written = (
        "name",
        "arity",
        "complexity",
        "kind",
        "inverse",
        "trigonometric",
        "formula",
        "value",
    )
    # Where nothing races, how it would is no matter.
    config = search.config if search.racer else replace(search.config, racing=None)
    settings = [each.name for each in fields(config) if each.name not in BUDGETS]
    tokens = [[getattr(token, each) for each in written] for token in search.library]
    return {
        "library": printed(tokens),
        "data": _data_digest(search.data),
        "reward": printed(search.judged_by),
        "mapping": printed(search.mapping),
        "constraints": printed(search.rules.constraints),
        "seed": printed(search.seed),
        **{f"setting {name}": printed(getattr(config, name)) for name in settings},
    }


def _data_digest(data: Data | None) -> str:
    digest = hashlib.sha256()
    arrays = () if data is None else (data.X, data.y, data.weights, data.sigma)
    for array in (each for each in arrays if each is not None):
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _refuse_other_setup(saved: dict[str, Any], here: dict[str, str], path: Place) -> None:
    parts = []
    for name in here:
        there = saved.get(name, _LATER.get(name))
        if there != here[name]:
            long = name in ("library", "data", "constraints")
            other = there if isinstance(there, str) and len(there) < 200 else shown(there)
            parts.append(f"the {name}" + ("" if long else f" ({other} there, {here[name]} here)"))
    if parts == ["the data"]:
        raise InputError(
            "the data are not those of the checkpoint ",
            Quoted(path),
            ": they have changed since; give those it was made with, or fit again",
        )
    if parts:
        raise InputError(
            "the checkpoint ",
            Quoted(path),
            f" is of another search, with another value of {', '.join(parts)}; set up the search"
            f" as that one was: all but {', '.join(BUDGETS)} and the threads must agree",
        )


def _classes(search: Search) -> dict[str, type[Any]]:
    """The classes that a file may name: some of ours and the objective's own."""
    own = map(type, dataclasses_in(search.config.objective.start()))
    ours = (AdamState, Entry, Front, Graded, Iteration, Population, Queue, SearchState)
    return {class_name(each): each for each in (*own, *ours)}


def _checkpoint(search: Search, setup: dict[str, str]) -> bytes:
    """The file as bytes."""
    from symseek.version import __version__

    encoder = Encoder(search.library, _classes(search))
    try:
        state = encoder.value(search.state)
    except UnknownType as error:  # everything else is this package's own
        raise InputError(
            f"the state of the objective {printed(search.config.objective)} cannot be saved:"
            f" {error};"
            " it may be None, numbers, text, arrays, Programs, dataclasses such as its `start`"
            " gives, and tuples, lists and dicts of these"
        ) from None
    record = {
        "format": FORMAT,
        "symseek": __version__,
        "engine": search.engine.name,
        "setup": setup,
        "state": state,
        "known": encoder.value([dict(each) for each in search.grader.memories]),
    }
    return _archive(record, encoder.arrays)


def _archive(record: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    text = np.frombuffer(json.dumps(record, separators=(",", ":")).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, **{_RECORD: text, **arrays})
    return file.getvalue()


def _opened(path: Path) -> tuple[dict[str, Any], dict[str, Any], int]:
    """The JSON and the arrays of a file that is whole and of this format, and its bytes."""
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        raise InputError("there is no checkpoint ", Quoted(path)) from None
    except OSError as error:
        why = error.strerror
        raise InputError("the checkpoint ", Quoted(path), f" cannot be read: {why}") from None
    try:
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            arrays = _arrays(file)
        record = parse_json(arrays.pop(_RECORD).tobytes(), _MOST_VALUES)
        version = read(record["symseek"], Word, "the version"), record["format"]
        if not isinstance(record["setup"], dict) or not {"state", "known"} <= set(record):
            raise ValueError("a part is missing")
    # A damaged archive fails in many ways; whichever it is, there is nothing to continue with.
    except Exception:
        raise InputError(
            Quoted(path), " is damaged, or not a checkpoint of symseek; remove it to start again"
        ) from None
    if version[1] != FORMAT:
        raise InputError(
            "the checkpoint ",
            Quoted(path),
            f", by symseek {version[0]}, has format {shown(version[1])}, and this version reads"
            f" format {FORMAT}; remove it to start again",
        )
    return record, arrays, size


def _arrays(file: BinaryIO) -> dict[str, Any]:
    """The arrays of an archive, with a look at its checksums."""
    most = min(file.seek(0, os.SEEK_END), _MOST_BYTES)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        # Nothing is compressed or there twice: a small file cannot become a large one.
        if any(each.compress_type != zipfile.ZIP_STORED for each in entries):
            raise ValueError("an array is compressed")
        if sum(each.file_size for each in entries) > most:
            raise ValueError("its arrays are larger than the file")
        return {
            each.filename.removesuffix(".npy"): _array(archive.read(each), most) for each in entries
        }


def _array(data: bytes, most: int) -> NDArray[Any]:
    """The array in a file of NumPy's, if it has as many bytes as it should."""
    file = io.BytesIO(data)
    if npy.read_magic(file) != (1, 0):
        raise ValueError("an array is in another format")
    shape, _, kind = npy.read_array_header_1_0(file)
    size = kind.itemsize * math.prod(shape)
    # An array without numbers may be long, which counts when it becomes a list.
    if kind.kind not in PLAIN or not kind.itemsize or size != len(data) - file.tell():
        raise ValueError("an array is not what its size says")
    if max(shape, default=0) > most:
        raise ValueError("an array of nothing is long")
    file.seek(0)
    array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
    return array
