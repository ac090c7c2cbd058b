"""Runs that are being written, shown while they search, and stopped at any moment."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from run_helpers import (
    FILES,
    PATIENCE,
    Answer,
    Capture,
    answer,
    child,
    fit,
    read_rows,
    search,
)
from symseek.runs import folder as runs
from symseek.runs import recorder
from symseek.runs.folder import RunFolder

pytestmark = pytest.mark.usefixtures("here")


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
    assert said.err.endswith(" s; continue with `symseek resume`\n")
    assert answer(capsys, "resume", "run", "--quiet").code == 0
    assert answer(capsys, "show", "run").err == ""


def test_a_run_that_has_just_begun_says_so(folder: Path, capsys: Capture) -> None:
    (folder / "front.json").unlink()
    with RunFolder.open(folder) as run:
        run.lock()
        said = answer(capsys, "show", "run")
    assert said.code == 2
    assert "has no front yet: process " in said.err
    assert "has just started it; look again in a few seconds" in said.err


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

    monkeypatch.setattr(recorder, "write_regular", slow)
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


# --- processes that are stopped

# Seconds after which a child process of a test is taken to hang.


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_everything(sent: signal.Signals, capsys: Capture) -> None:
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
        os.killpg(process.pid, sent)
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
