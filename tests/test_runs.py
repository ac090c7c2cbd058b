"""A run on disk: whole files, refusals in a sentence, and a search that continues."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest

from examples import mostly_slow
from run_helpers import (
    FILES,
    PATIENCE,
    SHORT,
    Capture,
    answer,
    child,
    fit,
)
from symseek.cli.settings import fit_command
from symseek.model import Model
from symseek.regression.regression import Regression
from symseek.runs import recorder
from symseek.runs.folder import RunFolder, new_folder

pytestmark = pytest.mark.usefixtures("here")


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
    assert "the run folder 'run' exists; choose another with --out, continue with it" in said.err
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
        assert ("reads format 1" if damage == "other format" else "damaged") in said.err
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


@pytest.mark.parametrize("field", ["data", "target", "features", "settings"])
def test_a_field_that_is_missing_is_named(field: str, folder: Path, capsys: Capture) -> None:
    path = folder / "settings.json"
    record = json.loads(path.read_text())
    del record[field]
    path.write_text(json.dumps(record))
    said = answer(capsys, "show", "run")
    assert (said.code, "is damaged (the run has no field" in said.err) == (2, True)
    assert f"has no field {field!r})" in said.err


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
    assert "has no front yet: it was stopped before its end; continue with `symseek resume`" in (
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
    assert "began with 500 expressions, less than a batch, and cannot continue" in said.err


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
@pytest.mark.parametrize("old", mostly_slow([True, False], True))
def test_a_run_killed_while_it_wrote_what_it_found_is_completed(
    name: str, old: bool, folder: Path, capsys: Capture
) -> None:
    timeless = [each for each in FILES[1:] if each != "progress.json"]
    wanted = {each: (folder / each).read_bytes() for each in timeless}
    if old:
        before = (folder / "checkpoint").stat().st_mtime_ns - 1
        os.utime(folder / name, ns=(before, before))
    else:
        (folder / name).unlink()
    assert answer(capsys, "resume", folder, "--quiet").code == 0
    assert {each: (folder / each).read_bytes() for each in timeless} == wanted
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
    written = ["checkpoint", "discoveries.json", "front.json", "progress.json", "settings.json"]
    assert sorted(os.listdir("run")) == written
    with monkeypatch.context() as patch:  # and again when the search is over
        patch.setattr(Regression, "model", die)
        with pytest.raises(Killed):
            answer(capsys, "resume", "run", "--quiet")
    assert answer(capsys, "resume", "run", "--quiet").code == 0
    assert Path("run/front.json").read_bytes() == wanted
