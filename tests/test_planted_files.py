"""A run folder that someone else has filled: nothing outside it is read, changed or waited for."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symseek
from run_helpers import FILES, Capture, answer
from studio_helpers import Served, serving
from symseek.errors import InputError
from symseek.files.records import parse_json
from symseek.files.regular import read_regular, write_regular
from symseek.runs import checkpoint
from symseek.runs.folder import RunFolder
from symseek.runs.lock import FolderLock
from symseek.runs.progress import read_discoveries, read_progress
from symseek.runs.regressions import make_regression
from symseek.studio.snapshot import Runs

SECRET = "the victim's own words"
NAMES = ["lock", "checkpoint-2", *FILES]


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


KINDS: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda path, victim: path.symlink_to(victim),
    "link to nowhere": lambda path, victim: path.symlink_to(victim.with_name("created")),
    "link to itself": lambda path, victim: path.symlink_to(path.name),
    "pipe": lambda path, victim: os.mkfifo(path),
    "socket": lambda path, victim: _socket(path),
    "device": lambda path, victim: path.symlink_to("/dev/zero"),
    "folder": lambda path, victim: path.mkdir(),
}

COMMANDS = {
    "resume": ["resume", "run", "--max-expressions", "2500", "--quiet"],
    "show": ["show", "run"],
    "predict": ["predict", "run", "data.csv"],
    "export": ["export", "run", "--to", "python"],
    "fit over it": ["fit", "data.csv", "--target", "y", "--out", "run", "--force", "--quiet"],
}


def some_slow(values: Iterable[str], *slow: str) -> list[Any]:
    """The values, of which some are tried only with all the slow tests."""
    return [pytest.param(each, marks=[pytest.mark.slow] * (each in slow)) for each in values]


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    """Whoever waits for a pipe is woken, and has failed."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file elsewhere, which must stay as it is, alone in its folder."""
    path = tmp_path_factory.mktemp("elsewhere") / "victim"
    path.write_text(SECRET)
    yield path
    assert path.read_text() == SECRET
    assert os.listdir(path.parent) == ["victim"]


def plant(run: Path, name: str, kind: str, victim: Path) -> Path:
    path = run / name
    path.unlink(missing_ok=True)
    KINDS[kind](path, victim)
    return path


@pytest.mark.parametrize("kind", some_slow(KINDS, "socket", "device", "folder"))
@pytest.mark.parametrize("name", NAMES)
def test_every_command_refuses_what_is_no_file_or_does_without(
    name: str, kind: str, folder: Path, victim: Path, capsys: Capture
) -> None:
    path = plant(folder, name, kind, victim)
    for command, words in COMMANDS.items():
        said = answer(capsys, *words)
        assert SECRET not in said.out + said.err
        reads = {"show", "predict", "export"}
        if command in reads and name not in ("settings.json", "front.json"):
            assert (said.code, said.err) == (0, "")
        else:
            assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
        if command == "resume":
            assert f"'run/{name}': it is a " in said.err
            assert ", and not a file" in said.err
        assert os.path.lexists(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_second_name_of_a_file_elsewhere_is_not_written_through(
    name: str, folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    path, other = folder / name, tmp_path / "other"
    if not path.exists():
        path.write_text(SECRET)
    os.link(path, other)
    before = other.read_bytes()
    said = answer(capsys, *COMMANDS["resume"])
    assert other.read_bytes() == before
    if name == "lock":
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert "it is another name of a file elsewhere (a hard link)" in said.err
    elif name == "checkpoint-2":  # of a seed that this run does not have
        assert said.code == 0
    else:
        assert (said.code, said.err) == (0, "")
        assert not path.samefile(other) or name == "discoveries.json"  # nothing new to write


ROUTES = [
    ("GET", "", None),
    ("GET", "/report", None),
    ("GET", "/exports", None),
    ("GET", "/fit", None),
    ("GET", "/tree", None),
    ("POST", "/pick", {"row": 0}),
    ("POST", "/predict?name=new.csv", b"a,b\n1,2\n"),
    ("POST", "/stop", {}),
]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("studio")) as served:
        yield served


@pytest.mark.parametrize("kind", some_slow(KINDS, "socket", "device", "folder"))
def test_no_route_of_the_studio_follows_a_link(
    kind: str, folder: Path, victim: Path, studio: Served
) -> None:
    for name in NAMES:
        run = studio.folder / f"run-{kind.replace(' ', '-')}-{name}"
        shutil.copytree(folder, run)
        path = plant(run, name, kind, victim)
        listed = [each["run"] for each in studio.get("api/state")["runs"]]
        assert (run.name in listed) == (name != "settings.json")
        for method, route, body in ROUTES:
            content = {"content": body} if isinstance(body, bytes) else {"json": body}
            more = content if method == "POST" else {}
            answered = studio.client.request(method, f"api/runs/{run.name}{route}", **more)
            assert answered.status_code < 500, (name, route, answered.text)
            assert SECRET not in answered.text
            if route == "/pick":
                assert answered.status_code == 400
                assert "and not a file" in answered.json()["error"]
        assert os.path.lexists(path)


def test_a_run_folder_that_is_itself_a_link_is_the_users_choice(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "latest").symlink_to(folder)
    assert answer(capsys, "show", "latest").code == 0
    more = ("--max-expressions", "2500", "--quiet")
    assert answer(capsys, "resume", "latest", *more).code == 0


def test_a_checkpoint_that_links_to_itself_does_not_start_the_run_anew(
    folder: Path, capsys: Capture
) -> None:
    (folder / "checkpoint").unlink()
    (folder / "checkpoint").symlink_to("checkpoint")
    said = answer(capsys, "resume", "run", "--quiet")
    assert said.code == 2
    assert said.err == (
        "symseek: cannot use 'run/checkpoint': it is a link, and not a file; symseek made no such"
        " thing, so remove it, or `symseek fit` to another folder\n"
    )


def test_what_appears_after_the_look_is_not_followed_either(tmp_path: Path, victim: Path) -> None:
    """A name may become a link between the look at the folder and the writing."""
    (tmp_path / "file").symlink_to(victim)
    with pytest.raises(OSError, match="it is a link"):
        read_regular(tmp_path / "file", most=100)
    write_regular(tmp_path / "file", "new")
    assert not (tmp_path / "file").is_symlink()
    (tmp_path / "lock").symlink_to(victim)
    with pytest.raises(OSError, match="it is a link"):
        FolderLock(tmp_path)


# Content that no search writes.

ODD = ["NaN", "Infinity", "1e400", "9" * 5000, "null", "[]", '"x"', "true", "-1", "[" * 100_000]


@pytest.mark.parametrize("odd", some_slow(ODD, *ODD[2:-1]), ids=lambda odd: odd[:10])
@pytest.mark.parametrize("name", ["discoveries.json", "progress.json", "settings.json"])
def test_a_run_with_odd_content_goes_on_or_is_refused_in_a_sentence(
    name: str, odd: str, folder: Path, capsys: Capture
) -> None:
    path = folder / name
    before = json.loads(path.read_text())
    fields = before[-1] if isinstance(before, list) else before
    nested = fields.get("settings", fields)
    for field in ("nrmse", "seconds", "validation"):
        if field in nested:
            nested[field] = "ODD"
    path.write_text(json.dumps(before).replace('"ODD"', odd))
    said = answer(capsys, *COMMANDS["resume"])
    assert "Traceback" not in said.err
    if name == "settings.json":
        assert (said.code, said.err.count("\n")) == (2, 1)
    else:
        assert (said.code, said.err) == (0, "")
    if name == "discoveries.json":
        assert all(np.isfinite(each["nrmse"]) for each in json.loads(path.read_text()))


def odd_arrays(array: np.ndarray) -> Iterator[np.ndarray]:
    """The array with other numbers, of another type and of another shape."""
    if array.dtype.kind == "f" and array.size:
        for value in (np.nan, np.inf, -np.inf, 1e300):
            out = array.copy()
            with np.errstate(over="ignore"):
                out.flat[-1] = value
            yield out
    if array.dtype.kind in "iu" and array.size:
        for value in (np.iinfo(array.dtype).max, np.iinfo(array.dtype).min, 99):
            out = array.copy()
            out.flat[-1] = value
            yield out
    for kind in (np.float32, np.complex128, np.int8, "U3"):
        if array.dtype != kind:
            yield np.zeros(array.shape, kind)
    yield array[None]
    yield array[:-1] if array.ndim and len(array) else np.zeros((2, 0), array.dtype)


def test_no_array_of_a_checkpoint_ends_in_a_traceback(folder: Path, capsys: Capture) -> None:
    """That of a whole run, with all that a run keeps: every array of it, one after another."""
    path, run = folder / "checkpoint", RunFolder.open(folder)
    arrays = checkpoint._arrays(path.read_bytes())
    record = json.loads(arrays.pop("record").tobytes())
    regression = make_regression(run.request.read_table(), run.request.settings)
    refused = []
    for name, array in arrays.items():
        for odd in odd_arrays(array):
            path.write_bytes(checkpoint._archive(record, {**arrays, name: odd}))
            try:
                checkpoint.restore(regression.search, path)
            except InputError as error:
                refused.append(str(error))
    assert len(refused) > len(arrays)
    assert not any("\n" in each for each in refused)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -1.0])
def test_a_history_without_times_is_refused(odd: float, folder: Path, capsys: Capture) -> None:
    """It would come into the files that a search writes for those who watch."""
    path, run = folder / "checkpoint", RunFolder.open(folder)
    search = make_regression(run.request.read_table(), run.request.settings).search
    checkpoint.restore(search, path)
    first, *rest = search.state.history
    search.state = replace(search.state, history=(replace(first, seconds=odd), *rest))
    checkpoint.save(search, path)
    said = answer(capsys, *COMMANDS["resume"])
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert f"(the seconds of an iteration are {odd})" in said.err


# Files of any size.


def test_a_large_front_takes_little_memory_to_list(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "front.json"
    for content in (b"[" + b"{}," * (8 << 20) + b"{}]", b"[" + b"{}," * (300 << 10) + b"{}]"):
        path.write_bytes(content)
        tracemalloc.start()
        assert Runs._read_line(path) == {"best": None, "r2": None, "unfinished": False}
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 8 << 20


def test_a_small_file_cannot_stand_for_a_large_value() -> None:
    with pytest.raises(ValueError, match="it has 600,002 parts or more; at most 500,000 are read"):
        parse_json(b"[" + b"{}," * 300_000 + b"{}]")


@pytest.mark.parametrize("name", ["settings.json", "front.json"])
def test_show_reads_no_file_of_a_size_that_no_run_has(
    name: str, folder: Path, capsys: Capture
) -> None:
    with open(folder / name, "ab") as file:
        file.truncate(28_000_000)
    said = answer(capsys, "show", "run")
    assert (said.code, said.out) == (2, "")
    assert "it has 28,000,000 bytes; at most 16,777,216 are read" in said.err


def test_what_a_watcher_reads_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b" " * (1 << 20) + b"[]")
    assert (read_progress(path), read_discoveries(path)) == (None, [])


# Who opens files.

OPENING = ("open", "read_text", "read_bytes", "write_text", "write_bytes", "fdopen", "load")


def test_only_one_module_opens_files_of_runs() -> None:
    """Whatever `runs` and `studio` read or write goes through `files.regular`, but for these."""
    source = Path(symseek.__file__).parent
    elsewhere = {  # no files of a run folder
        "studio/app.py": {"self.workspace.table(name).read_bytes", "place.read_bytes"},
        "studio/workspace.py": {"path.read_bytes"},  # a table that is there already
        "studio/formulas.py": {"path.write_bytes"},  # a table in a temporary folder
        "runs/checkpoint.py": {"np.load"},  # of bytes in memory
        "studio/desktop.py": {"os.open", "open", "webbrowser.open"},  # a page of ours
        "studio/events.py": {"events.open"},
    }
    for folder in ("runs", "studio"):
        for path in sorted((source / folder).rglob("*.py")):
            name = path.relative_to(source).as_posix()
            found = {
                ast.unparse(node.func)
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, (ast.Call,))
                and ast.unparse(node.func).split(".")[-1] in OPENING
            } | {
                ast.unparse(node)
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Attribute) and node.attr in OPENING[1:-1]
            }
            allowed = elsewhere.get(name, set()) | {"RunFolder.open"}
            assert found <= allowed, name
