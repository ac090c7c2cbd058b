"""What a run says: the command that repeats it, progress, and a disk that fails."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
import shlex
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from run_helpers import (
    FILES,
    SHORT,
    Capture,
    answer,
    fit,
    read_rows,
    request,
    search,
)
from symseek import display
from symseek.cli.settings import fit_command, option_words
from symseek.display import SearchProgress, run_with_progress
from symseek.files.regular import write_regular
from symseek.regression.regression import Regression
from symseek.runs import live, recorder
from symseek.runs.folder import RunFolder
from symseek.runs.request import FitRequest
from symseek.settings import Settings
from symseek.structure.proposals import Proposals
from symseek.text import clock

pytestmark = pytest.mark.usefixtures("here")


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


@pytest.mark.slow
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
        patch.setattr(live, "write_regular", self.write_unsynced)

    def write_unsynced(self, path: Path, text: str, lasting: bool) -> None:
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_regular(path, text, lasting)

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
    assert lines[0] == f"symseek: the checkpoint 'run/checkpoint' {full}; the search continues"
    assert lines[1:5] == [
        f"symseek: could not write 'run/{name}': No space left on device"
        for name in ("front.json", "front.csv", "curve.csv", "report.html")
    ]
    assert lines[5:] == [f"symseek: the checkpoint 'run/checkpoint' {full}"]
    assert os.listdir("run") == ["settings.json"]


def test_a_disk_that_has_room_again(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(recorder, "FRONT_FIRST", 0.0)  # and so the first discoveries
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


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_LINE", 0.0)
    monkeypatch.setattr(display, "_SHARE", 0)
    out = io.StringIO()
    iterations: list[int] = []
    run_with_progress(search(), out, lambda now: iterations.append(now.iteration))
    first, *lines = out.getvalue().splitlines()
    assert re.match(r"\d+ expressions.*; R2 0\.", first)  # the simplest formulas, before any search
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
    monkeypatch.setattr(display, "_REDRAW", 0.0)
    monkeypatch.setattr(display, "_SHARE", 0)
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
    assert display._next_time(100.0, 0.5) == 100.5
    assert display._next_time(98.0, 0.5) == 118.0


def test_a_callback_may_end_a_search_with_progress() -> None:
    result = run_with_progress(search(), io.StringIO(), lambda now: now.iteration == 2)
    assert len(result.history) == 2


def test_the_progress_of_a_search() -> None:
    hunt = search(max_seconds=100.0)
    hunt.run()
    now = hunt.search.history[0]
    assert SearchProgress(hunt, replace(now, expressions=1_500, seconds=3.0)).share == 0.5
    # Of 100 seconds, 95 are for the search.
    late = SearchProgress(hunt, replace(now, expressions=30, seconds=71.25))
    assert late.share == pytest.approx(0.75, abs=1e-4)
    assert str(late) == "30 expressions, 0/s, 0:24 left at most"
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


# --- what the columns act like


def falls(noise: float = 0.001, rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Heights, with noise, by g and t and a column of no use."""
    draw = np.random.default_rng(1)
    columns = draw.uniform(1, 3, (rows, 3))
    g, t, _ = columns.T
    return columns, g * (t**2 / 2 + np.sin(t)) * (1 + noise * draw.normal(size=rows))


SAYS = "as far as the rows show, height/g depends on t only"


def test_what_the_columns_act_like_is_said_in_a_line(capsys: Capture, here: Path) -> None:
    columns, height = falls()
    lines = [",".join(map(repr, row)) for row in np.column_stack([columns, height]).tolist()]
    Path("falls.csv").write_text("\n".join(["g,t,other,height", *lines]))
    said = answer(capsys, "fit", "falls.csv", "--target", "height", *SHORT)
    assert said.out.splitlines().count(SAYS) == 1
    plain = answer(capsys, "fit", "falls.csv", "--target", "height", "--no-structure", *SHORT)
    assert "as far as" not in plain.out


def test_the_live_displays_say_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def hunt() -> Regression:
        # Without noise the first formulas agree with the sentence; others would keep it back.
        settings = Settings(max_expressions=2_000)
        return Regression(*falls(noise=0.0), ["g", "t", "other"], settings, target="height")

    assert hunt().structure is None  # nothing has been looked for
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(display, "_REDRAW", 0.0)
    monkeypatch.setattr(display, "_SHARE", 0)
    out = Terminal()
    run_with_progress(hunt(), out)
    assert SAYS in out.getvalue()

    shown: list[str] = []
    monkeypatch.setattr(display, "_in_notebook", lambda: True)
    monkeypatch.setattr(display._NotebookDisplay, "_show", lambda self, html: shown.append(html))
    run_with_progress(hunt(), io.StringIO())
    assert f"<div>{SAYS}</div>" in shown[1]  # the first has the simplest formulas alone


def test_sums_of_columns_in_other_units_are_not_told() -> None:
    """The search sees b in thousands: a + b there is not a + b here."""
    draw = np.random.default_rng(1)
    X = draw.uniform(1, 3, (300, 2))
    total = X[:, 0] + X[:, 1]
    y = np.exp(-total) / np.sqrt(1 + np.cos(total) ** 2)
    found = Regression(X, y, ["a", "b"], Settings(max_expressions=2_000))
    found.run()
    assert found.structure == "as far as the rows show, y depends on a + b only"
    found = Regression(X * [1, 1000], y, ["a", "b"], Settings(max_expressions=2_000))
    found.run()
    assert isinstance(found.search.proposals, Proposals)
    assert found.search.proposals.found is not None
    assert found.structure is None
