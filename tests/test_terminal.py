"""What reaches a terminal: no codes that it would obey, no endless quotations, no lost file."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from run_helpers import Capture, answer, write_table
from symseek import InputError, Program
from symseek.cli.options import shell_words, whole
from symseek.display import front_table
from symseek.errors import printable, sentence
from symseek.files.tables import read_table
from symseek.model import Formula, Model, full_library
from symseek.runs.folder import RunFolder
from symseek.runs.request import FitRequest
from symseek.settings import Settings

ESCAPE = "\x1b[31m\x07\x08\x9b1m\u202e"  # a colour, a bell, a backspace, and writing turned round
CODES = set("\x1b\x07\x08\x9b\u202e")
SHORT = ("--max-expressions", "1000", "--no-report")
DIGITS = "9" * 5000


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hostile_table(path: Path) -> Path:
    draw = np.random.default_rng(0)
    rows = draw.uniform(1, 2, (30, 3)).tolist()
    text = "\n".join(",".join(map(repr, row)) for row in rows)
    path.write_text(f"a{ESCAPE},b,y{ESCAPE}\n{text}\n")
    return path


# --- codes


@given(st.text())
def test_what_is_printable_stays_and_all_else_is_written_out(text: str) -> None:
    shown = printable(text)
    assert printable(shown) == shown
    assert all(each.isprintable() or each in "\xa0\u3000" or ord(each) > 127 for each in shown)
    assert "\n" not in shown
    assert "\x1b" not in shown
    if text.isprintable():
        assert shown == text


@pytest.mark.slow
def test_codes_in_names_reach_no_terminal_from_a_fit(here: Path, capsys: Capture) -> None:
    path = hostile_table(here / f"data{ESCAPE}.csv")
    target = f"y{ESCAPE}"
    said = answer(capsys, "fit", path.name, "--target", target, *SHORT)
    assert said.code == 0
    assert not CODES & set(said.out + said.err)
    assert "\\x1b[31m" in said.out
    (run,) = here.glob("*-run-1")
    for words in (
        ("show", run),
        ("show", run, "--row", "1"),
        ("resume", run),
        ("predict", run, "missing\x1b.csv"),
        ("export", run, "--to", "latex-table", "--row", "0"),
        ("fit", path.name, "--target", "x\x1b[2J"),
        ("fit", path.name, "--target", target, "--features", "q\x1b[2J"),
        ("fit", "no\x1b[2J\nsuch.csv", "--target", "y"),
        ("fit", path.name, "--target", target, "--\x1b[2J"),
        ("fit", path.name, "--target", target, "--seed", "\x1b[2J"),
        ("fit", path.name, "\x1b[2J", "--target", target),
        ("\x1b[2J",),
        ("show", "\x1b[2J"),
        ("problems", "\x1b[2J"),
    ):
        said = answer(capsys, *words)
        assert not CODES & set(said.out + said.err), words
        assert said.out or said.err


def test_the_repeating_command_of_a_file_with_codes_can_be_typed() -> None:
    words = shell_words(["symseek", "show", "a\x1b[31m'b"])
    assert "\x1b" not in words
    done = subprocess.run(["bash", "-c", f"printf %s {words}"], capture_output=True, check=True)
    assert done.stdout == b"symsee" + b"k" + b"showa\x1b[31m'b"


def test_predictions_have_codes_written_out_on_a_terminal_only(here: Path) -> None:
    """Another program gets the names as they are."""
    library = full_library([f"a{ESCAPE}"])
    program = Program(library, (library.index(f"a{ESCAPE}"),))
    formula = Formula(program, program.infix(), 0.5, 0.5, 0.75)
    request = FitRequest(here / "data.csv", "y", None, None, None, Settings())
    RunFolder.create(here / "run", request)
    model = Model(f"y{ESCAPE}", library.variables, (formula,), picked=0)
    (here / "run" / "front.json").write_text(json.dumps(model.to_dict()))
    (here / "new.csv").write_text(f"a{ESCAPE},b\n1.5,2\n", encoding="utf-8")
    command = [sys.executable, "-m", "symseek", "predict", "run", "new.csv"]
    piped = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert ESCAPE in piped.stdout.decode()
    master, slave = os.openpty()
    subprocess.run(command, stdout=slave, check=True, timeout=60)
    os.close(slave)
    drawn = os.read(master, 10_000).decode()
    os.close(master)
    assert not CODES & set(drawn)
    assert "1.5,1.5" in drawn


def test_neither_a_model_nor_its_progress_has_codes() -> None:
    from rich.console import Console

    library = full_library([f"a{ESCAPE}\n"])
    program = Program(library, (library.index(f"a{ESCAPE}\n"),))
    model = Model(f"y{ESCAPE}", library.variables, (Formula(program, str(program), 1, 0, 1),), 0)
    assert not CODES & set(str(model))
    assert len(str(model).splitlines()) <= 3
    out = io.StringIO()
    Console(file=out, width=200).print(front_table(model))
    assert not CODES & set(out.getvalue())


def test_an_error_in_python_has_no_codes_either() -> None:
    with pytest.raises(InputError) as caught:
        read_table("no\x1b[2J\nsuch.csv", "y")
    assert not CODES & set(str(caught.value))
    assert "\n" not in str(caught.value)


# --- length


def test_no_sentence_quotes_five_thousand_digits(here: Path, capsys: Capture) -> None:
    long = "x" * 5000
    write_table(here / "data.csv")
    (here / "wide.csv").write_text(f"{long},b,y\n1,{DIGITS[:200]}x{DIGITS},3\n2,5,4\n3,7,5\n")
    fit = "fit", "data.csv", "--target"
    for words in (
        *((*fit, "y", option, DIGITS) for option in ("--seed", "--max-expressions", "--threads")),
        (*fit, "y", "--max-seconds", long),
        (*fit, "y", "--validation", DIGITS),
        (*fit, "y", "--operators", DIGITS),
        (*fit, "y", "--delimiter", long),
        (*fit, "y", "--engine", long),
        (*fit, long),
        (*fit, "y", "--features", f"{long},{long}2"),
        (*fit, "y", f"--{long}"),
        (*fit, "y", long),
        ("fit", "wide.csv", "--target", "y"),
        ("fit", "wide.csv", "--target", "z"),
        ("fit", f"{long}.csv", "--target", "y"),
        ("show", long),
        ("show", "run", "--row", DIGITS),
        ("bench", "Nguyen-1", "--seeds", DIGITS),
        ("bench", long),
        ("export", "run", "--to", long),
        ("export", "run", "--to", "excel", "--cells", long),
        (long,),
    ):
        said = answer(capsys, *words)
        assert said.code in (1, 2), words[:3]
        assert len(said.err) < 1000, (len(said.err), words[:5])


@given(st.text(max_size=2000))
def test_a_sentence_is_never_endless(text: str) -> None:
    longest = max(map(len, sentence(text).split(" ")), default=0)
    assert longest < 500 * 10  # a character that is written out takes ten


# --- files


def test_export_and_predict_write_over_no_file_unless_asked(here: Path, capsys: Capture) -> None:
    data = write_table(here / "data.csv")
    before = data.read_bytes()
    fit = "fit", "data.csv", "--target", "y", "--out", "run", "--quiet", *SHORT
    assert answer(capsys, *fit).code == 0
    for words in (("export", "run", "--to", "c"), ("predict", "run", "data.csv")):
        said = answer(capsys, *words, "--out", "data.csv")
        assert (said.code, said.out) == (2, "")
        assert said.err == (
            "symseek: the file 'data.csv' exists; name another, or write over it with --force\n"
        )
        assert data.read_bytes() == before
        assert answer(capsys, *words, "--out", f"{words[0]}.txt").code == 0
        assert answer(capsys, *words, "--out", "/dev/null").code == 0
        written = Path(f"{words[0]}.txt")
        written.write_text("old")
        assert answer(capsys, *words, "--out", written, "--force").code == 0
        assert written.read_text() != "old"
    assert sorted(path.name for path in here.iterdir()) == [
        "data.csv",
        "export.txt",
        "predict.txt",
        "run",
    ]


def test_bench_writes_over_no_file_unless_asked(here: Path, capsys: Capture) -> None:
    (here / "data.csv").write_text("mine")
    bench = "bench", "Nguyen-1", "--seed", "0", "--max-expressions", "1000", "--json", "data.csv"
    assert answer(capsys, *bench).code == 2
    assert (here / "data.csv").read_text() == "mine"
    assert answer(capsys, *bench, "--force").code == 0
    assert "runs" in json.loads((here / "data.csv").read_text())


# --- words and numbers


def test_symseek_alone_shows_its_help(capsys: Capture) -> None:
    said = answer(capsys)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("usage: symseek")
    assert "symseek fit data.csv --target y" in said.out


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--volume", "known: --help, --target"),
        ("--jobs-per-core", "known: --help"),
        ("--max-expression", "did you mean '--max-expressions'?"),
        ("--max-exp", "did you mean '--max-expressions'?"),
        ("--feature=x", "did you mean '--features'?"),
        ("--Target", "did you mean '--target'?"),
    ],
)
def test_only_a_near_option_is_suggested(option: str, hint: str, capsys: Capture) -> None:
    said = answer(capsys, "fit", "data.csv", "--target", "y", option)
    assert said.code == 2
    assert hint in said.err


def test_counts_may_be_written_as_people_write_them(here: Path, capsys: Capture) -> None:
    write_table(here / "data.csv")
    fit = "fit", "data.csv", "--target", "y", "--quiet", "--no-report"
    said = answer(capsys, *fit, "--max-expressions", "2e3", "--sample-rows", "1e5")
    assert said.code == 0
    assert "--max-expressions 2000" in said.out
    assert "--sample-rows 100000" in said.out
    assert answer(capsys, "resume", "data-run-1", "--max-expressions", "3e3", "--quiet").code == 0
    assert answer(capsys, "show", "data-run-1", "--row", "1e0").code == 0
    bench = "bench", "Nguyen-1", "--seeds", "1e0", "--max-expressions", "1e3"
    assert answer(capsys, *bench).code == 0


@given(st.integers(-(10**30), 10**30))
def test_whole_numbers_are_read_in_every_form(value: int) -> None:
    assert whole(str(value)) == whole(f"{value:,}") == whole(f"{value:_}") == value
    assert whole(f"{value}e3") == value * 1000


@pytest.mark.parametrize(
    "text", ["1.5", "1e-1", "1,5", "1e400", "nan", "inf", "x", "", "1e", DIGITS]
)
def test_what_is_no_count_is_refused(text: str, capsys: Capture) -> None:
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--max-expressions", text)
    assert said.code == 2
    assert "is not a whole number" in said.err
