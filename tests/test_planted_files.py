"""A run folder that someone else has filled: nothing outside it is read, changed or waited for."""

from __future__ import annotations

import ast
import io
import json
import os
import shutil
import signal
import socket
import sqlite3
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symseek
from examples import mostly_slow
from run_helpers import FILES, Capture, answer
from studio_helpers import Served, serving
from symseek.errors import InputError
from symseek.files.regular import read_regular, write_regular
from symseek.files.schema import parse_json
from symseek.lab import Record, Spec, Store, StoreError
from symseek.runs import checkpoint
from symseek.runs.folder import RunFolder
from symseek.runs.lock import FolderLock
from symseek.runs.progress import read_discoveries, read_progress
from symseek.runs.regressions import make_regression
from symseek.studio.snapshot import RunViews

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


@pytest.mark.parametrize("kind", mostly_slow(KINDS, "link", "pipe"))
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


@pytest.mark.parametrize("kind", mostly_slow(KINDS, "link", "pipe"))
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


@pytest.mark.parametrize("odd", mostly_slow(ODD, ODD[0], ODD[1], ODD[-1]), ids=lambda odd: odd[:10])
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
    arrays = checkpoint._arrays(io.BytesIO(path.read_bytes()))
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
        assert RunViews._read_line(path) == {"best": None, "r2": None, "unfinished": False}
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
    most = "4,194,304" if name == "settings.json" else "16,777,216"
    assert f"it has 28,000,000 bytes; at most {most} are read" in said.err


@pytest.mark.parametrize(("tokens", "rows", "most"), [(2_001, 1, "2,000"), (1_999, 60, "100,000")])
def test_a_front_has_no_longer_formulas_than_a_run_finds(
    tokens: int, rows: int, most: str, folder: Path, capsys: Capture
) -> None:
    record = json.loads((folder / "front.json").read_text())
    formula = record["formulas"][0]
    program = " ".join(["add"] * (tokens // 2) + ["a"] * (tokens // 2 + 1))
    record["formulas"] = [{**formula, "program": program, "row": row} for row in range(rows)]
    (folder / "front.json").write_text(json.dumps({**record, "picked": 0}))
    said = answer(capsys, "show", "run")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert f"more than {most} tokens" in said.err


def test_a_run_has_no_more_operators_than_anyone_gives(folder: Path, capsys: Capture) -> None:
    record = json.loads((folder / "settings.json").read_text())
    record["settings"]["operators"] += ["add"] * 1000
    (folder / "settings.json").write_text(json.dumps(record))
    said = answer(capsys, *COMMANDS["resume"])
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "entries; give at most 1,000" in said.err


def test_one_of_many_fits_with_damaged_settings_is_begun_again(many: Path) -> None:
    (many / "fits.sqlite").unlink()
    (many / "a" / "settings.json").write_text('{"symseek": 1')
    fit_memory(many)
    assert RunFolder.open(many / "a").model().best.text == "2*x0"


def test_what_a_watcher_reads_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b" " * (1 << 20) + b"[]")
    assert (read_progress(path), read_discoveries(path)) == (None, [])


# The folder of many fits, and its database.


@pytest.fixture
def many(here: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of one fit, of a table in memory."""
    shared = tmp_path_factory.getbasetemp() / "shared-many"
    if not shared.exists():
        fit_memory(shared)
    shutil.copytree(shared, "many")
    return Path("many")


def fit_memory(folder: Path) -> None:
    x = np.linspace(1, 3, 12)
    few: dict[str, Any] = {"max_expressions": 300, "structure": False}
    symseek.fit_many({"a": (x, 2 * x)}, folder=folder, jobs=1, report=False, **few)


def plant_journal(store: Path, victim: Path) -> None:
    """A journal that names another, which SQLite deletes after it has restored nothing."""
    head, name = store.read_bytes()[:100], os.fsencode(victim.absolute())
    page = int(struct.unpack(">H", head[16:18])[0])
    magic = bytes.fromhex("d9d505f920a163d7")
    start = magic + struct.pack(">5I", 0, 1, store.stat().st_size // page, 512, page)
    last = struct.pack(">I", (1 << 30) // page + 1) + name
    last += struct.pack(">II", len(name), sum(name)) + magic
    Path(f"{store}-journal").write_bytes(start.ljust(512, b"\0") + last)


@pytest.mark.parametrize(
    "words",
    [
        ["show", "many"],
        ["resume", "many", "--quiet"],
        ["paper", "table1", "--report", "--take", "many/fits.sqlite"],
        ["paper", "table1", "--report", "--store", "many/fits.sqlite"],
    ],
    ids=" ".join,
)
def test_a_journal_cannot_have_a_file_deleted(
    words: list[str], many: Path, victim: Path, capsys: Capture
) -> None:
    plant_journal(many / "fits.sqlite", victim)
    said = answer(capsys, *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "fits.sqlite-journal': it names another file, which would be deleted" in said.err
    assert victim.exists()


@pytest.mark.parametrize("name", ["", "-journal", "-wal", "-shm"])
def test_a_database_is_not_written_through_a_second_name(
    name: str, tmp_path: Path, victim: Path
) -> None:
    path = tmp_path / "store"
    Store(path).close()
    file = Path(f"{path}{name}")
    file.unlink(missing_ok=True)
    os.link(victim, file)
    with pytest.raises(StoreError, match=r"it is another name of a file elsewhere"):
        Store(path)
    os.unlink(file)  # the victim is alone again


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_files_is_beside_a_database(kind: str, tmp_path: Path, victim: Path) -> None:
    for name in ("-journal", "-wal", "-shm"):
        path = tmp_path / f"store{name}-of"
        Store(path).close()
        plant(tmp_path, f"{path.name}{name}", kind, victim)
        for read_only in (False, True):
            with pytest.raises(StoreError, match="symseek made no such thing, so remove it"):
                Store(path, read_only=read_only)


def test_who_only_reads_a_store_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path) as store:
        store.finish(Record(Spec("m", "P", 1)))
    before = path.read_bytes(), path.stat().st_mtime_ns
    with Store(path, read_only=True) as store:
        assert len(store.records()) == 1
        with pytest.raises(StoreError, match="cannot be opened for writing"):
            store.claim([Spec("m", "P", 2)])
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert os.listdir(tmp_path) == ["store"]


COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
SCHEMAS = [
    f"DROP TABLE about; CREATE VIEW about (name, value) AS {COUNTING} SELECT 'what', i FROM n",
    "ALTER TABLE runs RENAME TO r; CREATE VIEW runs AS SELECT key, method, problem, seed, status,"
    " owner, tries, finished, wall, printf('%.*c', 900000000, 'x') AS record FROM r",
    "CREATE TRIGGER t AFTER INSERT ON owners BEGIN DELETE FROM runs; END",
    "CREATE VIRTUAL TABLE t USING fts5(a)",
    "CREATE INDEX other ON runs (method)",
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda text: text[:20])
@pytest.mark.parametrize("words", [["show", "many"], ["resume", "many", "--quiet"]], ids=" ".join)
def test_a_database_with_more_than_our_tables_is_refused(
    schema: str, words: list[str], many: Path, capsys: Capture
) -> None:
    planted = sqlite3.connect(many / "fits.sqlite")
    planted.executescript(schema)
    planted.close()
    said = answer(capsys, *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "is not a store of runs but a database " in said.err


@pytest.mark.skipif(not hasattr(sqlite3.Connection, "setlimit"), reason="from Python 3.11 on")
def test_no_value_of_a_database_is_larger_than_any_run_has(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path) as store:
        store.finish(Record(Spec("m", "P", 1)))
    planted = sqlite3.connect(path)
    planted.execute("UPDATE runs SET record = printf('%.*c', 70000000, 'x')")
    planted.commit()
    planted.close()
    with pytest.raises(StoreError, match="too big"), Store(path, read_only=True) as store:
        store.records()


def test_ctrl_c_ends_what_sqlite_does(tmp_path: Path) -> None:
    with Store() as store:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt), store._db.errors_in_words():
            store._db.execute(f"{COUNTING} SELECT count(*) FROM n").fetchall()


OWN = ["fits.json", "fits.sqlite", "summary.csv", "summary.html", "tables"]


@pytest.mark.parametrize("kind", mostly_slow(KINDS, "link", "pipe", "folder"))
@pytest.mark.parametrize("name", OWN)
def test_a_folder_of_many_fits_has_only_files(
    name: str, kind: str, many: Path, victim: Path, capsys: Capture
) -> None:
    path = many / name
    shutil.rmtree(path) if name == "tables" else path.unlink(missing_ok=True)
    if (name, kind) == ("tables", "folder"):
        return
    KINDS[kind](path, victim)
    table = ["fit", "data.csv", "--target", "y", "--jobs", "1", "--quiet", "--max-expressions"]
    for words in (["resume", "many", "--quiet"], [*table, "300", "--out", "many", "--force"]):
        said = answer(capsys, *words)
        assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
        assert os.path.lexists(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_from_memory_takes_the_place_of_what_is_there(
    kind: str, many: Path, victim: Path
) -> None:
    path = plant(many / "tables", "a.csv", kind, victim)
    if kind == "folder":
        with pytest.raises(InputError, match="is a folder, and not a table; remove it"):
            fit_memory(many)
        return
    fit_memory(many)
    assert path.read_text().startswith('"x0","y"')
    assert not path.is_symlink()


# Who opens files.

READING, WRITING = ("read_text", "read_bytes"), ("write_text", "write_bytes", "write_whole")
OPENING = ("open", *READING, *WRITING, "fdopen", "load")


def test_only_one_module_opens_files_of_runs() -> None:
    """What `runs`, `many` and `studio` read or write goes through `files.regular`, but for this."""
    source = Path(symseek.__file__).parent
    elsewhere = {  # no files of a run folder
        "studio/app.py": {"self.workspace.table(asked.name).read_bytes", "place.read_bytes"},
        "studio/workspace.py": {"path.read_bytes"},  # a table that is there already
        "studio/formulas.py": {"path.write_bytes"},  # a table in a temporary folder
        "runs/checkpoint.py": {"os.fdopen"},  # what `open_regular` has opened
        "many/groups.py": {"open"},  # a file in a new folder of its own
        "many/summary.py": {"Path(__file__).with_suffix(end).read_text"},  # of the package
        "many/tables.py": {"open"},  # a table, of which it makes a digest
        "studio/desktop.py": {"os.open", "open", "webbrowser.open"},  # a page of ours
        "studio/events.py": {"events.open"},
    }
    for folder in ("runs", "many", "studio"):
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
            allowed = elsewhere.get(name, set()) | {"RunFolder.open", "ManyFolder.open"}
            assert found <= allowed, name
