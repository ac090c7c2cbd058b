"""A run on disk: whole files, refusals in a sentence, and a search that goes on where it stood."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from run_helpers import Answer, answer, write_table
from symseek.cli.settings import fit_command, option_words
from symseek.model import Model
from symseek.regression import progress
from symseek.regression.progress import SearchProgress, run_with_progress
from symseek.regression.regression import Regression
from symseek.regression.settings import Settings
from symseek.report.text import clock
from symseek.runs import folder as runs
from symseek.runs import recorder
from symseek.runs.folder import FitRequest, RunFolder, new_folder

FILES = ["checkpoint", "curve.csv", "front.csv", "front.json", "report.html", "settings.json"]
SHORT = ("--max-expressions", "2000", "--quiet")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table; reports, which take a while, are tested once and elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RunFolder, "_report", lambda *_: "<!doctype html>")
    write_table(tmp_path / "data.csv")
    return tmp_path


def fit(capsys: Capture, *words: object, out: str = "run") -> Path:
    """A run that has come to its end."""
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--out", out, *SHORT, *words)
    assert (said.code, said.err) == (0, "")
    return Path(out)


@pytest.fixture
def folder(here: Path, capsys: Capture, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, a copy of one that all tests share."""
    shared = tmp_path_factory.getbasetemp() / "shared"
    if not shared.exists():
        fit(capsys, out=str(shared))
    shutil.copytree(shared, "run")
    settings = json.loads((shared / "settings.json").read_text())
    settings["data"] = str(here / "data.csv")
    Path("run/settings.json").write_text(json.dumps(settings, indent=2) + "\n")
    return Path("run")


def request(**changes: Any) -> FitRequest:
    settings = Settings(**changes.pop("settings", {}))
    return replace(FitRequest(Path("data.csv"), "y", None, None, None, settings), **changes)


# --- the folder


def test_a_run_leaves_its_files(capsys: Capture) -> None:
    folder = fit(capsys)
    assert sorted(os.listdir(folder)) == FILES
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["data"] == str(Path("data.csv").resolve())
    assert settings["settings"]["max_expressions"] == 2000
    front = Model.from_dict(json.loads((folder / "front.json").read_text()))
    rows = list(csv.DictReader((folder / "front.csv").read_text().splitlines()))
    assert [row["expression"] for row in rows] == [each.text for each in front.formulas]
    assert (folder / "front.csv").read_text() == front.frame().to_csv()
    assert [float(row["nrmse"]) for row in rows] == [each.nrmse for each in front.formulas]
    curve = list(csv.DictReader((folder / "curve.csv").read_text().splitlines()))
    assert float(curve[-1]["best_so_far"]) == max(float(row["best_so_far"]) for row in curve)
    assert int(curve[-1]["expressions"]) <= 2000


def test_an_exact_law_leaves_all_files_too(capsys: Capture, here: Path) -> None:
    """The very first formulas that are tried may be exact: then there is no iteration."""
    lines = [f"{x},{2 * x + 1}" for x in range(9)]
    (here / "data.csv").write_text("\n".join(["x,y", *lines]))
    folder = fit(capsys)
    assert sorted(os.listdir(folder)) == FILES
    said = answer(capsys, "resume", folder, "--max-expressions", 9000)
    assert said.code == 2
    assert (
        "is finished: a formula meets every digit of the target; there is nothing better"
        in said.err
    )


def test_folders_are_numbered(here: Path) -> None:
    (here / "data-run-2").touch()
    wanted = ["data-run-1", "data-run-3", "data-run-4", "data-run-5"]
    tables = ("some/where/data.csv", "data.csv", "data.csv.gz", ".csv")
    for data, folder in zip(tables, wanted, strict=True):
        assert new_folder(Path(data)) == Path(folder)
        assert os.listdir(folder) == []


def test_runs_that_begin_at_once_have_a_folder_each(here: Path) -> None:
    words = ("fit", here / "data.csv", "--target", "y", *SHORT)
    processes = [
        subprocess.Popen(child(5.0, 0.0, *words, "--seed", seed), stdout=subprocess.DEVNULL)
        for seed in range(3)
    ]
    assert [process.wait(PATIENCE) for process in processes] == [0, 0, 0]
    seeds = [RunFolder.open(Path(f"data-run-{i}")).request.settings.seed for i in (1, 2, 3)]
    assert sorted(seeds) == [0, 1, 2]


def test_a_run_goes_to_a_folder_of_its_own(capsys: Capture) -> None:
    for number in (1, 2):
        said = answer(capsys, "fit", "data.csv", "--target", "y", *SHORT)
        assert said.code == 0
        assert f"data-run-{number}/report.html" in said.out
    assert sorted(os.listdir("data-run-2")) == FILES


def test_a_run_is_not_written_over_unless_asked(capsys: Capture) -> None:
    folder = fit(capsys, "--seed", 3)
    before = (folder / "front.json").read_bytes()
    (folder / "notes.txt").write_text("mine")
    words = ("fit", "data.csv", "--target", "y", "--out", folder, *SHORT)
    said = answer(capsys, *words)
    assert said.code == 2
    assert "the run folder 'run' exists; choose another with --out, go on with it" in said.err
    assert (folder / "front.json").read_bytes() == before
    (folder / ".checkpoint.0123abcd.part").write_text("half")
    (folder / ".report.html.0123abcd.part").write_text("half")
    assert answer(capsys, *words, "--force").code == 0
    assert sorted(os.listdir(folder)) == sorted([*FILES, "notes.txt"])
    assert json.loads((folder / "settings.json").read_text())["settings"]["seed"] == 0


@pytest.mark.parametrize("content", [None, '{"editor.fontSize": 14}', "[]", b"\xff\0"])
def test_other_folders_are_never_written_over(
    content: str | bytes | None, capsys: Capture, here: Path
) -> None:
    folder = here / "project"
    folder.mkdir()
    (folder / "front.json").write_text("mine")
    if content is not None:
        data = content if isinstance(content, bytes) else content.encode()
        (folder / "settings.json").write_bytes(data)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--out", folder, "--force", *SHORT)
    assert said.code == 2
    assert "is not a run folder, so --force does not write over it; choose another" in said.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_empty_folder_may_be_used(capsys: Capture, here: Path) -> None:
    (here / "run").mkdir()
    (here / "run" / ".settings.json.0123abcd.part").touch()  # of one killed at the very start
    assert sorted(os.listdir(fit(capsys))) == FILES


@pytest.mark.parametrize(
    ("place", "says"), [("data.csv", "is a file"), ("data.csv/x", "cannot write to the run")]
)
def test_places_that_are_not_a_folder(place: str, says: str, capsys: Capture) -> None:
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--out", place, *SHORT)
    assert said.code == 2
    assert says in said.err
    assert "--out" in said.err


def test_bad_input_leaves_no_folder(capsys: Capture, here: Path) -> None:
    assert answer(capsys, "fit", "data.csv", "--target", "z").code == 2
    assert answer(capsys, "fit", "data.csv", "--target", "y", "--validation", "0.01").code == 2
    assert os.listdir(here) == ["data.csv"]


# --- damage

DAMAGE: dict[str, Any] = {
    "empty": b"",
    "half": None,
    "random": random.Random(0).randbytes(500),
    "text": b"hello",
    "list": b"[1, 2]",
    "other format": b'{"format": 99}',
    "nothing in it": b'{"format": 1}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["settings.json", "front.json"])
def test_damaged_files_are_refused(name: str, damage: str, folder: Path, capsys: Capture) -> None:
    path = folder / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if DAMAGE[damage] is None else DAMAGE[damage])
    commands = [("show", "run"), ("predict", "run", "data.csv"), ("export", "run", "--to", "c")]
    if name == "settings.json":
        commands.append(("resume", "run", "--max-expressions", "5000"))
    for words in commands:
        said = answer(capsys, *words)
        assert said.code == 2
        assert len(said.err.splitlines()) == 1
        assert "damaged" in said.err or "reads format 1" in said.err
        assert "fit" in said.err


@pytest.mark.parametrize(
    "change",
    [
        {"data": None},
        {"data": 5},
        {"features": 5},
        {"weights": 5},
        {"delimiter": ["a"]},
        {"settings": None},
        {"settings": []},
        {"settings": {"max_length": "30"}},
        {"settings": {"max_length": -1}},
        {"settings": {"operators": 5}},
        {"settings": {"operators": []}},
        {"settings": {"seed": "zero"}},
        {"settings": {"seed": 1.5}},
        {"settings": {"method": "magic"}},
        {"settings": {"new": 1}},
        {"settings": {"validation": None}},
        {"settings": {"reward": None}},
        {"settings": {"pick": 5}},
    ],
    ids=str,
)
def test_settings_of_other_kinds_are_refused(
    change: dict[str, Any], folder: Path, capsys: Capture
) -> None:
    path = folder / "settings.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, **change}))
    said = answer(capsys, "resume", "run", "--max-expressions", "5000")
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert "'run/settings.json' is damaged (" in said.err


@pytest.mark.parametrize(
    "change",
    [
        {"formulas": []},
        {"formulas": None},
        {"formulas": [5]},
        {"picked": 99},
        {"picked": "a"},
        {"features": 5},
        {"features": ["q"]},
        {"operators": [{"name": "own"}]},
        {"operators": [{"name": "own", "arity": 1, "formula": "__import__('os')"}]},
        {"operators": [5]},
        {"target": None, "rule": None, "formulas": [{"program": ["add"]}]},
    ],
    ids=str,
)
def test_models_of_other_kinds_are_refused(
    change: dict[str, Any], folder: Path, capsys: Capture
) -> None:
    path = folder / "front.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, **change}))
    said = answer(capsys, "predict", "run", "data.csv")
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert "this model is damaged (" in said.err


@pytest.mark.parametrize("damage", ["empty", "half", "random", "text"])
def test_a_damaged_checkpoint_is_refused(damage: str, folder: Path, capsys: Capture) -> None:
    path = folder / "checkpoint"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if DAMAGE[damage] is None else DAMAGE[damage])
    said = answer(capsys, "resume", "run", "--max-expressions", "5000")
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert "is damaged, or not a checkpoint of symseek; remove it to start again" in said.err


def test_places_without_a_run(capsys: Capture, here: Path) -> None:
    (here / "empty").mkdir()
    for place, says in (
        ("nowhere", "there is no run folder 'nowhere'; `symseek fit` makes one"),
        ("data.csv", "there is no run folder 'data.csv'"),
        ("empty", "'empty' is not a run folder: it has no settings.json"),
    ):
        for words in (("show", place), ("resume", place), ("export", place, "--to", "c")):
            said = answer(capsys, *words)
            assert said.code == 2
            assert says in said.err
            assert said.err.count("\n") == 1


def test_a_run_without_a_front_says_how_to_go_on(folder: Path, capsys: Capture) -> None:
    (folder / "front.json").unlink()
    said = answer(capsys, "show", "run")
    assert said.code == 2
    assert "has no front yet: it was stopped before its end; go on with `symseek resume`" in (
        said.err
    )


# --- going on


def test_a_finished_run_goes_on_with_a_larger_budget(folder: Path, capsys: Capture) -> None:
    said = answer(capsys, "resume", folder)
    assert said.code == 2
    assert "the run 'run' is finished: the budget of expressions is spent; give a larger" in (
        said.err
    )
    before = json.loads((folder / "front.json").read_text())["formulas"][-1]["nrmse"]
    said = answer(capsys, "resume", folder, "--max-expressions", 5000, "--quiet")
    assert said.code == 0
    after = json.loads((folder / "front.json").read_text())["formulas"][-1]["nrmse"]
    assert after <= before
    curve = list(csv.DictReader((folder / "curve.csv").read_text().splitlines()))
    assert 4_900 < int(curve[-1]["expressions"]) <= 5_000
    assert [int(row["iteration"]) for row in curve] == list(range(1, len(curve) + 1))
    # The budget is the run's from now on.
    assert "5000" in fit_command(RunFolder.open(folder).request)
    assert answer(capsys, "resume", folder).code == 2
    (folder / "front.json").unlink()
    assert answer(capsys, "resume", folder, "--quiet").code == 0


def test_a_smaller_budget_changes_nothing(folder: Path, capsys: Capture) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert answer(capsys, "resume", folder, "--max-expressions", 1500).code == 2
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_run_of_less_than_a_batch_cannot_grow(capsys: Capture) -> None:
    folder = fit(capsys, "--max-expressions", 500)
    said = answer(capsys, "resume", folder, "--max-expressions", 5000)
    assert said.code == 2
    assert "began with 500 expressions, less than a batch, and cannot go on" in said.err


def test_a_run_killed_before_its_first_checkpoint_starts_again(
    folder: Path, capsys: Capture
) -> None:
    wanted = (folder / "front.json").read_bytes()
    for name in FILES[:-1]:
        (folder / name).unlink()
    (folder / ".checkpoint.0123abcd.part").write_text("half")
    (folder / ".front.json.89abcdef.part").write_text("half")
    (folder / ".mine.part").write_text("mine")
    assert answer(capsys, "resume", folder, "--quiet").code == 0
    assert sorted(os.listdir(folder)) == [".mine.part", *FILES]
    assert (folder / "front.json").read_bytes() == wanted


@pytest.mark.parametrize("name", ["front.csv", "curve.csv", "report.html"])
@pytest.mark.parametrize("old", [True, False])
def test_a_run_killed_while_it_wrote_what_it_found_is_completed(
    name: str, old: bool, folder: Path, capsys: Capture
) -> None:
    wanted = {name: (folder / name).read_bytes() for name in FILES[1:]}
    if old:
        before = (folder / "checkpoint").stat().st_mtime_ns - 1
        os.utime(folder / name, ns=(before, before))
    else:
        (folder / name).unlink()
    assert answer(capsys, "resume", folder, "--quiet").code == 0
    assert {name: (folder / name).read_bytes() for name in FILES[1:]} == wanted
    assert answer(capsys, "resume", folder).code == 2


def test_looking_at_a_run_does_not_disturb_its_writer(folder: Path, capsys: Capture) -> None:
    part = folder / ".checkpoint.0123abcd.part"
    part.write_text("half")
    assert answer(capsys, "show", "run").code == 0
    assert part.exists()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_that_was_stopped_comes_to_the_same(
    threads: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--max-expressions", 9000, "--method", "dsr", "--threads", threads)
    wanted = (fit(capsys, *words, out="whole") / "front.json").read_bytes()

    class Killed(BaseException):
        pass

    def die(self: Regression, final: bool = True) -> NoReturn:
        raise Killed

    class Killer(recorder.Checkpointer):
        def __call__(self, now: Any = None) -> None:
            super().__call__(now)
            if self.search.iteration == 4:
                raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(recorder, "Checkpointer", Killer)
        patch.setattr(recorder, "SAVE_EVERY", 0.0)
        patch.setattr(recorder, "FRONT_EVERY", 0.0)
        with pytest.raises(Killed):
            fit(capsys, *words)
    assert sorted(os.listdir("run")) == ["checkpoint", "front.json", "settings.json"]
    with monkeypatch.context() as patch:  # and again when the search is over
        patch.setattr(Regression, "model", die)
        with pytest.raises(Killed):
            answer(capsys, "resume", "run", "--quiet")
    assert answer(capsys, "resume", "run", "--quiet").code == 0
    assert Path("run/front.json").read_bytes() == wanted


# --- a run that is being written


@pytest.fixture
def alive(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """What commands say about a run in the midst of its search, one after each iteration."""
    said: list[Answer] = []
    asked = [("show", "run"), ("resume", "run"), ("fit", "data.csv", "--target", "y")]
    commands = [*asked, (*asked[2], "--out", "run", "--force"), ("predict", "run", "data.csv")]
    commands[2] = (*asked[2], "--out", "run")
    before: dict[str, bytes] = {}

    class Asked(recorder.Recorder):
        def __call__(self, now: Any) -> None:
            super().__call__(now)
            if len(said) < len(commands):
                before.update({each.name: each.read_bytes() for each in Path("run").iterdir()})
                said.append(answer(capsys, *commands[len(said)]))
                assert before == {each.name: each.read_bytes() for each in Path("run").iterdir()}

    with monkeypatch.context() as patch:
        patch.setattr(runs, "Recorder", Asked)
        patch.setattr(recorder, "FRONT_EVERY", 0.0)
        patch.setattr("symseek.runs.lock._PAUSE", 0.0)
        fit(capsys, "--max-expressions", 9000, "--method", "dsr")
    return said


def test_a_run_that_is_being_written_is_left_alone(alive: list[Answer]) -> None:
    writer = f"the run folder 'run' is being written by process {os.getpid()} on "
    for said in alive[1:4]:
        assert said.code == 2
        assert said.out == ""
        assert writer in said.err
        assert len(said.err.splitlines()) == 1
    assert sorted(os.listdir("run")) == FILES


def test_a_run_that_is_being_searched_is_shown(alive: list[Answer]) -> None:
    show, predict = alive[0], alive[4]
    assert (show.code, predict.code) == (0, 0)
    assert "> " in show.out
    assert f"the run 'run' is being searched by process {os.getpid()} on " in show.err
    assert ": 1,006 of at most 9,000 expressions in " in show.err
    assert len(read_rows(predict.out)) == 41
    assert "of at most 9,000 expressions" in predict.err


def read_rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_a_stopped_run_is_shown_and_says_how_far_it_came(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    class Killer(recorder.Recorder):
        def __call__(self, now: Any) -> None:
            super().__call__(now)
            if now.iteration == 2:
                raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(runs, "Recorder", Killer)
        patch.setattr(recorder, "FRONT_EVERY", 0.0)
        with pytest.raises(Killed):
            fit(capsys, "--max-expressions", 9000, "--method", "dsr")
    said = answer(capsys, "show", "run")
    assert said.code == 0
    assert "> " in said.out
    assert said.err.startswith(
        "symseek: the run 'run' was stopped before its end: 2,006 of at most 9,000 expressions in"
    )
    assert said.err.endswith(" s; go on with `symseek resume`\n")
    assert answer(capsys, "resume", "run", "--quiet").code == 0
    assert answer(capsys, "show", "run").err == ""


def test_a_run_that_has_just_begun_says_so(folder: Path, capsys: Capture) -> None:
    (folder / "front.json").unlink()
    with RunFolder.open(folder) as run:
        run.lock()
        said = answer(capsys, "show", "run")
    assert said.code == 2
    assert "has no front yet: process " in said.err
    assert "has just begun it; look again in a few seconds" in said.err


@pytest.mark.parametrize("progress", [5, [], {}, {"expressions": "a", "most": 1, "seconds": 1}])
def test_odd_words_about_progress_do_no_harm(progress: Any, folder: Path, capsys: Capture) -> None:
    path = folder / "front.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "progress": progress}))
    said = answer(capsys, "show", "run")
    assert said.code == 0
    assert said.err.count("\n") <= 1


def test_the_front_so_far_takes_a_small_part_of_the_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    hunt = search(method="dsr")
    hunt.run()
    times: list[float] = []

    def slow(path: Path, content: str) -> None:
        times.append(clock[0])
        clock[0] += 2.0

    monkeypatch.setattr(recorder, "write_whole", slow)
    record = RunFolder.open(folder).recorder(hunt)
    for _ in range(300):
        clock[0] += 1.0
        record(hunt.search.history[-1])
    assert times[0] == 101.0
    assert set(np.diff(times)) == {102.0}


def test_a_run_without_a_report(capsys: Capture) -> None:
    folder = fit(capsys, "--no-report")
    assert sorted(os.listdir(folder)) == [name for name in FILES if name != "report.html"]
    assert answer(capsys, "resume", folder, "--quiet").code == 0  # which writes it
    assert sorted(os.listdir(folder)) == FILES
    more = ("--max-expressions", 5000, "--quiet", "--no-report")
    said = answer(capsys, "resume", folder, *more)
    assert said.code == 0
    assert "report: " not in said.out
    assert not (folder / "report.html").exists()


def test_other_data_are_noticed(folder: Path, capsys: Capture, here: Path) -> None:
    table = here / "data.csv"
    lines = table.read_text().splitlines()
    resume = ("resume", folder, "--max-expressions", 5000)
    table.write_text("\n".join(lines[:-1]))
    said = answer(capsys, *resume)
    assert said.code == 2
    assert "they have changed since" in said.err
    table.write_text("\n".join(lines).replace("a,b,y", "a,c,y"))
    assert "another value of the library" in answer(capsys, *resume).err
    table.write_text("\n".join(lines).replace("a,b,y", "a,b,z"))
    assert "has no column 'y'" in answer(capsys, *resume).err
    table.unlink()
    said = answer(capsys, *resume)
    assert said.code == 2
    assert said.err == f"symseek: there is no file {table}; check the path\n"
    assert answer(capsys, "show", folder).code == 0  # what was found is still there


# --- the command that repeats a run


def printed_command(out: str) -> list[str]:
    """The words of the command that a fit printed."""
    (line,) = [line for line in out.splitlines() if line.startswith("repeat it: ")]
    return shlex.split(line.removeprefix("repeat it: "))


def test_a_run_prints_the_command_that_repeats_it(capsys: Capture, here: Path) -> None:
    shutil.copy("data.csv", "my data.csv")
    said = answer(capsys, "fit", "my data.csv", "--target", "y", "--seed", 4, *SHORT)
    says = "repeat it: symseek fit 'my data.csv' --target y --max-expressions 2000 --seed 4\n"
    assert says in said.out
    assert answer(capsys, *printed_command(said.out)[1:], "--out", "again").code == 0
    assert Path("again/front.json").read_bytes() == Path("my data-run-1/front.json").read_bytes()


@pytest.mark.parametrize("method", ["hybrid", "evolution", "dsr"])
@pytest.mark.parametrize("seconds", [0.1, 0.17, 0.31])
def test_a_run_that_the_clock_ended_is_repeated_by_its_count(
    method: str, seconds: float, capsys: Capture
) -> None:
    words = ("--max-seconds", seconds, "--patience", "none", "--quiet", "--method", method)
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--out", "timed", *words)
    assert "the time is up" in said.out
    command = printed_command(said.out)
    assert command[command.index("--max-seconds") + 1] == "none"
    again = answer(capsys, *command[1:], "--out", "again", "--quiet")
    assert again.code == 0
    for name in ("front.json", "front.csv"):
        assert Path("again", name).read_bytes() == Path("timed", name).read_bytes()
    counts = [read_rows(Path(name, "curve.csv").read_text())[-1][1] for name in ("timed", "again")]
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--seed", "7", "--max-seconds", "none", "--sample-rows", "none", "--no-scale"),
        ("--operators", "add,mul,2.5,neg", "--no-constants", "--pick", "accuracy"),
        ("--validation", "0.25", "--reward", "r2", "--method", "pqt", "--max-length", "9"),
        ("--features", "b", "--patience", "none", "--weights", "a", "--delimiter", ","),
    ],
)
def test_the_command_repeats_the_run(words: tuple[str, ...], capsys: Capture) -> None:
    folder = fit(capsys, *words)
    command = shlex.split(fit_command(RunFolder.open(folder).request))
    assert command[:2] == ["symseek", "fit"]
    assert answer(capsys, *command[1:], "--out", "again", "--quiet").code == 0
    for name in ("settings.json", "front.json"):
        assert Path("again", name).read_bytes() == (folder / name).read_bytes()


def test_odd_names_are_quoted_in_the_command(capsys: Capture, here: Path) -> None:
    names = ["flow, in l/s", "größe.x", "`t`", "-y", "a b"]
    table = np.random.default_rng(0).uniform(1, 2, (30, 5))
    with (here / "odd.csv").open("w", newline="") as file:
        csv.writer(file).writerows([names, *table.tolist()])
    asked = request(data=Path("odd.csv"), target="-y", features=tuple(names[:2]), weights="a b")
    for features in (tuple(names[:2]), ("a b", "größe.x"), None):
        command = command_with(asked, features)
        assert "--target=-y" in command
        said = answer(capsys, *command[1:], *SHORT, "--out", "run", "--force")
        assert said.code == 0
        again = RunFolder.open(Path("run")).request
        assert (again.target, again.features) == ("-y", features)


def command_with(asked: FitRequest, features: tuple[str, ...] | None) -> list[str]:
    weights = None if features and "a b" in features else asked.weights
    return shlex.split(fit_command(replace(asked, features=features, weights=weights)))


def test_words_of_options() -> None:
    assert option_words("max_length", 5) == ["--max-length", "5"]
    assert option_words("max_seconds", None) == ["--max-seconds", "none"]
    assert option_words("operators", ["add", 2.5]) == ["--operators", "add,2.5"]
    assert option_words("operators", [-1.0, "add"]) == ["--operators=-1.0,add"]
    assert option_words("scale", False) == ["--no-scale"]


# --- a disk that fails


class Disk:
    """Takes so many files, and then none."""

    def __init__(self, patch: pytest.MonkeyPatch, files: int) -> None:
        self.left = files
        self.fsync = os.fsync
        patch.setattr(os, "fsync", self)

    def __call__(self, descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            return
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1
        self.fsync(descriptor)


def test_a_full_disk_does_not_end_the_search(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "SAVE_EVERY", 0.0)
    Disk(monkeypatch, files=1)
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--out", "run", *SHORT)
    assert said.code == 1
    assert "> " in said.out  # the front, one row of it picked
    full = "could not be written: No space left on device"
    lines = said.err.splitlines()
    assert lines[0] == f"symseek: the checkpoint 'run/checkpoint' {full}; the search goes on"
    assert lines[1:5] == [
        f"symseek: could not write 'run/{name}': No space left on device"
        for name in ("front.json", "front.csv", "curve.csv", "report.html")
    ]
    assert lines[5:] == [f"symseek: the checkpoint 'run/checkpoint' {full}"]
    assert os.listdir("run") == ["settings.json"]


def test_a_disk_that_has_room_again(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "SAVE_EVERY", 0.0)
    disk = Disk(monkeypatch, files=1)
    write = RunFolder.finish

    def finish(self: RunFolder, *arguments: Any) -> None:
        disk.left = 99
        write(self, *arguments)

    monkeypatch.setattr(RunFolder, "finish", finish)
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--out", "run", *SHORT)
    assert said.code == 1  # the checkpoint is missing
    assert sorted(os.listdir("run")) == FILES[1:]


def test_a_full_disk_at_the_start_is_an_error_at_once(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Disk(monkeypatch, files=0)
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--out", "run", *SHORT)
    assert said.code == 2
    assert said.err == (
        "symseek: cannot write to the run folder 'run': No space left on device;"
        " choose another with --out\n"
    )


def test_a_full_disk_when_a_run_goes_on(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    Disk(monkeypatch, files=0)
    said = answer(capsys, "resume", folder, "--max-expressions", 5000, "--quiet")
    assert said.code == 1
    assert "could not write 'run/settings.json'" in said.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_predictions_on_a_full_disk(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Disk(monkeypatch, files=0)
    said = answer(capsys, "predict", folder, "data.csv", "--out", "p.csv")
    assert said.code == 2
    assert said.err == "symseek: cannot write 'p.csv': No space left on device\n"


# --- what is shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def search(**settings: Any) -> Regression:
    table = request().read_table()
    chosen = Settings(**{"max_expressions": 3_000, "method": "dsr", **settings})
    return Regression(table.X, table.y, table.features, chosen, target="y")


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LINE", 0.0)
    monkeypatch.setattr(progress, "_SHARE", 0)
    out = io.StringIO()
    iterations: list[int] = []
    run_with_progress(search(), out, lambda now: iterations.append(now.iteration))
    lines = out.getvalue().splitlines()
    assert len(lines) == len(iterations) == 3
    assert lines[0].startswith("1,006 expressions, ")
    assert "/s, 0:0" in lines[0]
    assert "left at most; R2 0." in lines[0]
    assert "\x1b" not in out.getvalue()


def test_no_line_before_it_is_due() -> None:
    out = io.StringIO()
    run_with_progress(search(), out)
    assert out.getvalue() == ""


def test_a_terminal_gets_a_live_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(progress, "_REDRAW", 0.0)
    monkeypatch.setattr(progress, "_SHARE", 0)
    out = Terminal()
    run_with_progress(search(), out)
    shown = out.getvalue()
    for word in ("━", "expressions", "left at most", "y =", "complexity", ">", "R2", "34%"):
        assert word in shown
    monkeypatch.setenv("TERM", "dumb")
    out = Terminal()
    run_with_progress(search(), out)
    assert out.getvalue() == ""


def test_showing_takes_a_small_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    assert progress._next_time(100.0, 0.5) == 100.5
    assert progress._next_time(98.0, 0.5) == 118.0


def test_a_callback_may_end_a_search_with_progress() -> None:
    result = run_with_progress(search(), io.StringIO(), lambda now: now.iteration == 2)
    assert len(result.history) == 2


def test_the_progress_of_a_search() -> None:
    hunt = search(max_seconds=100.0)
    hunt.run()
    now = hunt.search.history[0]
    assert SearchProgress(hunt, replace(now, expressions=1_500, seconds=3.0)).share == 0.5
    late = SearchProgress(hunt, replace(now, expressions=30, seconds=75.0))
    assert late.share == 0.75
    assert str(late) == "30 expressions, 0/s, 0:25 left at most"
    assert (clock(59.6), clock(3600)) == ("1:00", "1:00:00")


def test_quiet_says_nothing_but_the_result(capsys: Capture) -> None:
    words = ("fit", "data.csv", "--target", "y", "--max-expressions", "2000")
    quiet, loud = answer(capsys, *words, "--quiet"), answer(capsys, *words)
    assert quiet.err == ""
    assert loud.err == "symseek: 40 rows, 2 columns beside y; the run goes to data-run-2\n"

    def front(text: str) -> list[str]:
        return text.split("\n\n")[0].splitlines()

    assert front(quiet.out) == front(loud.out)
    assert "report: data-run-1/report.html; use it: symseek predict data-run-1 NEW" in quiet.out
    assert "repeat it: symseek fit data.csv --target y --max-expressions 2000\n" in quiet.out


# --- processes that are stopped

# Seconds after which a child process of a test is taken to hang.
PATIENCE = 120

CHILD = """
import os, signal, sys, time
from symseek.runs import folder as runs, recorder
from symseek.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells make it deaf in the background
fsync, slowness = os.fsync, float(sys.argv[2])
os.fsync = lambda descriptor: (time.sleep(slowness), fsync(descriptor))
recorder.SAVE_EVERY = recorder.FRONT_EVERY = float(sys.argv[1])
runs.RunFolder._report = lambda *_: ""
sys.exit(main(sys.argv[3:]))
"""


def child(every: float, slowness: float, *words: object) -> list[str]:
    """A command that saves so often, to a disk so slow, and writes no report to speak of."""
    return [sys.executable, "-c", CHILD, str(every), str(slowness), *map(str, words)]


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_keeps_everything(capsys: Capture) -> None:
    endless = ("--max-seconds", "none", "--max-expressions", 10**12, "--patience", "none")
    words = ("fit", "data.csv", "--target", "y", "--out", "run", "--method", "dsr", *endless)
    with subprocess.Popen(
        child(0.2, 0.0, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + PATIENCE
        while not Path("run/checkpoint").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "interrupted; the best so far is kept" in out
    assert "> " in out
    assert "Traceback" not in err
    assert sorted(os.listdir("run")) == FILES
    curve = list(csv.DictReader(Path("run/curve.csv").read_text().splitlines()))
    done = int(curve[-1]["expressions"])
    said = answer(capsys, "resume", "run", "--max-expressions", done + 5_000, "--quiet")
    assert said.code == 0
    assert "the budget of expressions is spent" in said.out


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_killed_at_any_moment_a_run_comes_to_the_same(here: Path) -> None:
    """Killed while it starts, searches, saves or writes what it found, and taken up each time."""
    budget = ("--max-seconds", "none", "--max-expressions", 100_000, "--seed", 1, "--quiet")
    fit = ("fit", here / "data.csv", "--target", "y", *budget)
    often = (0.0, 0.3)  # after each iteration, and most of the time
    start = time.monotonic()
    subprocess.run(child(*often, *fit, "--out", "whole"), check=True, stdout=subprocess.DEVNULL)
    lasts = time.monotonic() - start
    wanted = Path("whole/front.json").read_bytes()
    draw = random.Random(0)
    kills, number, left = 0, 0, Counter[str]()
    while kills < 20:
        number += 1
        folder = Path(f"run-{number}")
        words: tuple[object, ...] = (*fit, "--out", folder)
        code = None
        while code is None:
            process = subprocess.Popen(child(*often, *words), stdout=subprocess.DEVNULL)
            try:
                code = process.wait(draw.uniform(0.0, 1.0) * lasts)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
                left[stage(folder)] += 1
            if (folder / "settings.json").exists():
                words = ("resume", folder, "--quiet")
        # One that was killed when all was written is refused, since it is finished.
        assert code in (0, 2)
        assert RunFolder.open(folder).complete
        assert (folder / "front.json").read_bytes() == wanted
        assert set(os.listdir(folder)) - set(FILES) == set() or code == 2
    print(f"{kills} kills, {number} runs of {lasts:.1f} s, which left: {dict(left)}")
    assert left["a file under way"] >= 3
    assert left["a checkpoint"] >= 3


def stage(folder: Path) -> str:
    """How far a run had come when it was killed."""
    found = set(os.listdir(folder)) if folder.exists() else set()
    if any(name.endswith(".part") for name in found):
        return "a file under way"
    if "front.csv" in found:  # front.json is there before the end
        return "what it found"
    return "a checkpoint" if "checkpoint" in found else "settings" if found else "nothing"
