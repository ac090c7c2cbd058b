"""Files of a run, changed at random: each is read, or refused with one sentence.

`Files` makes a run and changes its front.json, settings.json and checkpoint. Run as a script, this
counts how the reading of so many changed files ends, each in a process of its own:

    python tests/hostile_files.py [--files 3000]
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import os
import random
import signal
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from symseek import Library, Search, SearchConfig
from symseek.command import main as command
from symseek.errors import InputError
from symseek.export import TARGETS, export, latex_table
from symseek.policy import PolicyConfig
from symseek.runs import checkpoint
from symseek.runs.folder import RunFolder

ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**30,
    -0.5,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\ud800",
    "a\0b",
    "\\input{/etc/passwd} {a}",
    "y" * 5000,
    [],
    {},
    [1],
    ["x", 3],
    {"array": "array0"},
    {"numpy": "sin"},
    [[[[[[[[[[1]]]]]]]]]],
]
RAW = [b"1e400", b"9" * 5000, b"[" * 5000, b'"\\ud800"', b"NaN", b"\xff", b"-", b'{"a":1}', b""]


def changed_json(rng: random.Random, value: Any) -> Any:
    """The value with something else in one or two places."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, 2)):
        places = list(_places(value))
        holder, key = rng.choice(places)
        kind = rng.randrange(6)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[rng.choice(["latex", "numpy", "new", "x" * 300, key + "_"])] = rng.choice(ODD)
        elif kind == 2:
            other, name = rng.choice(places)
            with_it = other[name] if _has(other, name) else None
            holder[key] = copy.deepcopy(with_it)
        elif kind == 3 and isinstance(holder[key], str):
            holder[key] = _changed_text(rng, holder[key])
        else:
            holder[key] = rng.choice(ODD)
        if not list(_places(value)):
            break
    return value


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _places(value: Any) -> Any:
    """Every place in lists and objects that may be changed: the holder, and a key."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


def _changed_text(rng: random.Random, text: str) -> str:
    words = text.split(" ")
    at = rng.randrange(len(words))
    new = rng.choice(["add", "sin", "1e999", "9" * 400, "const(nan)", "x", "((", "`", "", "const"])
    return " ".join([*words[:at], new, *words[at + rng.randint(0, 1) :]])


def changed_bytes(rng: random.Random, data: bytes) -> bytes:
    """The bytes with some of them other, missing or new."""
    at = rng.randrange(len(data))
    kind = rng.randrange(4)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    return data[:at] + rng.choice(RAW) + data[at + rng.randint(0, 3) :]


def changed_array(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """Another array of nearly the same sort."""
    kind = rng.randrange(6)
    if kind == 0:
        return array[: rng.randint(0, len(array))] if array.ndim else array[None]
    if kind == 1:
        return array[None]
    if kind == 2:
        to = rng.choice([np.float32, np.int8, bool, complex, "U3", np.float64])
        with np.errstate(all="ignore"):
            return np.zeros(array.shape, to) if array.dtype.kind in "SU" else array.astype(to)
    out = np.atleast_1d(array).copy()
    if not out.size or out.dtype.kind not in "iuf":
        return np.zeros((3, 0))
    for _ in range(rng.randint(1, 4)):
        odd = [-1, 0, 7, 99] if out.dtype.kind in "iu" else [np.nan, np.inf, -1.0, 1e300]
        with np.errstate(all="ignore"):
            out.flat[rng.randrange(out.size)] = np.array(rng.choice(odd)).astype(out.dtype)
    return out.reshape(array.shape)


class Files:
    """A run, and a search with its checkpoint; both small."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        here = Path.cwd()
        os.chdir(folder)
        try:
            rows = [f"{i / 7},{i % 5},{(i / 7) ** 2 + 0.5 * (i % 5)}" for i in range(30)]
            Path("data.csv").write_text("\n".join(["a,b,y", *rows]))
            words = "fit data.csv --target y --max-expressions 2000 --out run --quiet"
            with open(os.devnull, "w") as nothing:
                kept, os_out = os.dup(1), nothing.fileno()
                os.dup2(os_out, 1)
                try:
                    assert command(words.split()) == 0
                finally:
                    os.dup2(kept, 1)
                    os.close(kept)
        finally:
            os.chdir(here)
        self.run = folder / "run"
        self.whole = {
            name: (self.run / name).read_bytes() for name in ("front.json", "settings.json")
        }
        search = self.search()
        search.run()
        checkpoint.save(search, folder / "c")
        self.saved = (folder / "c").read_bytes()

    def search(self) -> Search:
        library = Library(["add", "mul", "sin", "const"], variables=["x"])
        x = np.linspace(-1, 1, 12)
        config = SearchConfig(max_expressions=60, batch_size=20, policy=PolicyConfig(hidden=2))
        return Search(library, x, x**2 + 1.5, config)

    def front_as_it_is(self) -> None:
        """Read the front in every language: so what they need is loaded."""
        model = RunFolder.open(self.run).model()
        for target in TARGETS:
            export(model.best.program, target)

    def front(self, seed: int) -> None:
        """Read a changed front.json, and use it."""
        self._write("front.json", seed)
        model = RunFolder.open(self.run).model()
        text = f"{model}{latex_table(model)}"
        model.predict(np.ones((3, len(model.features))))
        targets = list(TARGETS)
        text += export(model.best.program, targets[seed % len(targets)])
        text.encode()
        if "passwd" in text or "numpy: sin" in text:
            raise AssertionError("text of the file has come into an export")

    def settings(self, seed: int) -> None:
        """Read a changed settings.json."""
        self._write("settings.json", seed)
        RunFolder.open(self.run).request.to_json().encode()

    def checkpoint(self, seed: int) -> None:
        """Take up a changed checkpoint, whose checksums are right, and continue."""
        rng = random.Random(seed)
        if rng.random() < 0.1:
            data = changed_bytes(rng, self.saved)
        else:
            arrays = checkpoint._arrays(io.BytesIO(self.saved))
            record = json.loads(arrays.pop("record").tobytes())
            if rng.random() < 0.5:
                record = changed_json(rng, record)
            else:
                name = rng.choice(sorted(arrays))
                arrays[name] = changed_array(rng, arrays[name])
            data = checkpoint._archive(record, arrays)
        path = self.folder / "c"
        path.write_bytes(data)
        search = self.search()
        checkpoint.restore(search, path)
        if search.expressions < 10**6 and not search.finished:
            search.run()

    def _write(self, name: str, seed: int) -> None:
        rng = random.Random(seed)
        for each, data in self.whole.items():
            (self.run / each).write_bytes(data)
        if rng.random() < 0.3:
            data = changed_bytes(rng, self.whole[name])
        else:
            data = json.dumps(changed_json(rng, json.loads(self.whole[name]))).encode()
        (self.run / name).write_bytes(data)


WAYS = ("front", "settings", "checkpoint")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=3000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))
        files.front_as_it_is()
        for name in WAYS:
            ended = Counter(_ending(getattr(files, name), seed) for seed in range(options.files))
            print(name, dict(ended.most_common()), flush=True)


def _ending(way: Callable[[int], None], seed: int) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_PROF, 5.0)
        try:
            way(seed)
            said = b"is read"
        except InputError as error:
            said = b"is refused" if len(str(error)) < 1000 else b"is refused at length"
        except BaseException as error:
            said = f"{type(error).__name__}".encode()
        os.write(writing, said)
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    return said if not status else f"signal {status}"


if __name__ == "__main__":
    main()
