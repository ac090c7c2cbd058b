"""What the command meets around it: names that are no text, Ctrl-C at any moment, odd settings of
the environment, output that cannot be written. One sentence, an exit code, and nothing left behind.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from symseek.command import main
from symseek.jobs.database_files import StoreError
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import Store

Done = subprocess.CompletedProcess
ROWS = "a,b,y\n" + "\n".join(f"{i / 7},{i % 5},{(i / 7) ** 2 + 0.5 * (i % 5)}" for i in range(30))
SHORT = ("--target", "y", "--max-expressions", "1000", "--quiet")
COMMAND = "import sys; from symseek_command import main; sys.exit(main())"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(ROWS)
    return tmp_path


def command(
    *words: str | bytes, code: str = COMMAND, stdout: int = subprocess.PIPE, **environment: str
) -> Done[bytes]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


def one_line(done: Done[bytes], code: int) -> str:
    """What was said, if it was one line and no traceback."""
    said = done.stderr.decode(errors="replace")
    assert done.returncode == code, said
    assert len(said.splitlines()) == 1, said
    return said


# --- names that are no text


@pytest.mark.slow
def test_names_of_files_need_not_be_text(here: Path) -> None:
    Path(os.fsdecode(b"d\xff.csv")).write_text(ROWS)
    done = command("fit", b"d\xff.csv", "--out", b"run\xfe", *SHORT)
    assert done.returncode == 0, done.stderr
    assert b"symseek fit $'d\\xff.csv'" in done.stdout
    assert b"predict $'run\\xfe' NEW.csv" in done.stdout
    assert b'd\\udcff.csv",' in Path(os.fsdecode(b"run\xfe/settings.json")).read_bytes()
    assert Path(os.fsdecode(b"run\xfe/report.html")).read_text(encoding="utf-8")
    again = command("resume", b"run\xfe", "--max-expressions", "2000", "--quiet")
    assert again.returncode == 0, again.stderr
    for words in (("show", b"run\xfe"), ("predict", b"run\xfe", b"d\xff.csv")):
        assert command(*words).returncode == 0
    assert command("export", b"run\xfe", "--to", "c", "--out", b"f\xff.c").returncode == 0
    assert Path(os.fsdecode(b"f\xff.c")).exists()


@pytest.mark.parametrize(
    "words",
    [("fit", b"\xff.csv", *SHORT), ("show", b"\xff"), ("fit", "data.csv", "--target", b"\xff")],
)
def test_a_name_that_is_no_text_can_be_refused(words: tuple[str | bytes, ...], here: Path) -> None:
    assert "\\udcff" in one_line(command(*words), 2)
    assert sorted(os.listdir()) == ["data.csv"]


# --- Ctrl-C while modules are imported

INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            {action}

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
sys.meta_path.insert(0, Finder())
from symseek_command import main
sys.exit(main())
"""
ACTIONS = {
    "Ctrl-C": "os.kill(os.getpid(), signal.SIGINT)",
    "an error of the import": "exec('try: raise KeyboardInterrupt\\nexcept BaseException as e:"
    " raise ImportError from e')",
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("name", ["symseek", "numpy", "symseek.cli.fit", "symseek.runs.folder"])
def test_ctrl_c_while_importing_is_one_line(name: str, action: str, here: Path) -> None:
    code = INTERRUPTED.format(name=name, action=ACTIONS[action])
    done = command("fit", "data.csv", *SHORT, code=code)
    assert one_line(done, 130) == "symseek: stopped by Ctrl-C\n"
    assert sorted(os.listdir()) == ["data.csv"]


def test_other_errors_of_an_import_are_shown(here: Path) -> None:
    code = INTERRUPTED.format(name="symseek.runs.folder", action="raise ImportError('on purpose')")
    done = command("fit", "data.csv", *SHORT, code=code)
    assert done.returncode == 1
    assert b"ImportError: on purpose" in done.stderr


# --- the environment


@pytest.mark.parametrize("wanted", ["mmx", "AVX2", "avx9000", " ", "\udcff", "x" * 10_000])
@pytest.mark.parametrize(
    "words", ["fit data.csv --target y", "bench Nguyen-1", "paper table1 --quick"]
)
def test_an_instruction_set_that_is_not_there_is_refused(
    words: str,
    wanted: str,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SYMSEEK_SIMD", wanted)
    assert main(words.split()) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("symseek: SYMSEEK_SIMD is ")
    assert "but this machine runs only:" in said
    assert len(said) < 250
    assert sorted(os.listdir()) == ["data.csv"]


def test_a_folder_for_temporary_files_is_not_needed(here: Path) -> None:
    done = command("fit", "data.csv", *SHORT, "--out", "run", TMPDIR="/nowhere", HOME="/nowhere")
    assert done.returncode == 0, done.stderr
    assert Path("run/report.html").exists()


# --- output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
def test_output_that_cannot_be_written_is_said(here: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = command("problems", "Nguyen", stdout=full.fileno())
    assert one_line(done, 1) == "symseek: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("closed", ["1", "2"])
def test_output_may_be_closed(closed: str, here: Path) -> None:
    code = f"import os, sys; os.close({closed}); os.execv(sys.executable, sys.argv[1:])"
    words = (sys.executable, "-c", COMMAND, "problems", "Nguyen-1")
    done = command(*words, code=code)
    assert (done.returncode, done.stderr) == (0, b"")


# --- rows of a store


@pytest.fixture
def store(here: Path) -> Path:
    path = here / "runs.sqlite"
    with Store(path) as made:
        made.finish(Record(Spec("dsr", "Nguyen-1", 0), recovered="yes", expression="x", reward=1.0))
    return path


def change(path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(path) as db:
        db.execute(statement, values)
    db.close()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("status", "lost"),
        ("status", b"\xff"),
        ("status", None),
        ("finished", "soon"),
        ("owner", b"\0"),
        ("record", "{"),
        ("record", "5"),
        ("record", b"\xff\xfe"),
        ("record", '{"spec": 5}'),
        ("record", "[" * 100_000),
        ("record", "1e400"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_odd_rows_of_a_store_get_a_sentence(column: str, value: object, store: Path) -> None:
    change(store, f"UPDATE runs SET {column} = ?", value)

    def read() -> None:
        with Store(store) as opened:
            opened.counts([Spec("dsr", "Nguyen-1", 0)])
            opened.counts()
            opened.records()

    with pytest.raises(StoreError, match="is damaged") as caught:
        read()
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "lost"),
        ("recovered", 3),
        ("evaluations", "many"),
        ("reward", [1]),
        ("curve", 5),
        ("front", "text"),
        ("expression", None),
        ("hardware", [1]),
        ("new", 1),
        ("spec", {"method": "dsr", "problem": "Nguyen-2", "seed": 0, "settings": {}}),
    ],
    ids=str,
)
def test_odd_records_of_a_store_get_a_sentence(field: str, value: object, store: Path) -> None:
    record = Record(Spec("dsr", "Nguyen-1", 0), recovered="yes").to_dict()
    change(store, "UPDATE runs SET record = ?", json.dumps({**record, field: value}))
    with Store(store) as opened, pytest.raises(StoreError, match="is damaged"):
        opened.records()


@pytest.mark.parametrize("values", [("t", "h", "one", "s", 0.0), ("t", "h", 10**12, "s", 0.0)])
def test_odd_owners_in_a_store_get_a_sentence(values: tuple[object, ...], store: Path) -> None:
    change(
        store,
        "INSERT INTO owners (token, host, pid, started, beat, place) VALUES (?, ?, ?, ?, ?, '')",
        *values,
    )
    with Store(store) as opened, pytest.raises(StoreError, match="is damaged"):
        opened.claim([Spec("dsr", "Nguyen-1", 1)])


@pytest.mark.parametrize("way", ["--store", "--take"])
def test_a_store_with_nonsense_leaves_no_folder(
    way: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from symseek.lab.paper.catalogue import experiment

    spec = experiment("table1").specs(range(1), True)[0]
    with Store(store) as opened:
        opened.finish(Record(spec))
    change(store, "UPDATE runs SET record = '{}'")
    before = sorted(os.listdir())
    assert main(["paper", "table1", "--quick", "--seeds", "1", way, str(store), "--report"]) == 2
    assert "is damaged" in capsys.readouterr().err
    assert sorted(os.listdir()) == before
