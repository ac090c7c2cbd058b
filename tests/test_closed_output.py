"""Commands whose output nobody reads to its end: everything is kept, without a complaint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from examples import mostly_slow
from run_helpers import FILES, Capture, answer
from symseek.runs.folder import RunFolder

FIT = ["fit", "data.csv", "--target", "y", "--out", "run", "--max-expressions", "2000"]


def closed(*words: str, stream: str) -> tuple[int, str]:
    """The exit code of a command with a pipe that nobody reads, and what it says on the other."""
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writing}
    with subprocess.Popen([sys.executable, "-m", "symseek", *words], text=True, **streams) as made:
        os.close(writing)
        out, err = made.communicate(timeout=120)
    return made.returncode, (err if stream == "stdout" else out) or ""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_fit_whose_reader_has_gone_leaves_every_file(stream: str, here: Path) -> None:
    code, said = closed(*FIT, stream=stream)
    assert code == 0
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    assert "Broken" not in said
    assert sorted(os.listdir("run")) == FILES
    assert "progress" not in json.loads(Path("run/front.json").read_text())
    assert ("y =" in said) == (stream == "stderr")


def test_a_reader_that_takes_one_line_gets_it(here: Path) -> None:
    line = f"{sys.executable} -m symseek {' '.join(FIT)} --quiet | head -1"
    made = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=120)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.split()[:2] == ["row", "complexity"]
    assert sorted(os.listdir("run")) == FILES


@pytest.mark.parametrize(
    "line",
    mostly_slow(
        [
            "show run",
            "predict run data.csv",
            "export run --to c",
            "problems Nguyen",
            "fit --help",
            "resume run --max-expressions 2500 --quiet",
        ],
        "show run",
        "predict run data.csv",
    ),
)
def test_other_commands_end_quietly_too(line: str, folder: Path) -> None:
    assert closed(*line.split(), stream="stdout") == (0, "")


def test_a_refusal_that_nobody_reads_is_still_one(here: Path) -> None:
    assert closed("show", "nowhere", stream="stderr") == (2, "")


def test_results_are_written_before_they_are_printed(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    finish = RunFolder.finish

    def look(*arguments: object) -> None:
        finish(*arguments)  # type: ignore[arg-type]
        said.append(capsys.readouterr().out)

    monkeypatch.setattr(RunFolder, "finish", look)
    assert "y =" in answer(capsys, *FIT, "--quiet").out
    assert said == [""]


# --- streams that are closed, or on a full disk


def in_shell(line: str) -> subprocess.CompletedProcess[str]:
    line = f"{sys.executable} -m symseek {line}"
    return subprocess.run(line, shell=True, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("end", [">&-", ">&- <&-", ">&- 2>&-"])
def test_workers_do_without_a_closed_stream(end: str, here: Path) -> None:
    Path("other.csv").write_bytes(Path("data.csv").read_bytes())
    options = "--target y --max-expressions 600 --no-structure --no-report --quiet"
    made = in_shell(f"fit data.csv other.csv {options} --out many {end}")
    assert (made.returncode, made.stderr) == (0, "")
    assert Path("many/summary.csv").read_text().count("budget of expressions") == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
@pytest.mark.parametrize(("end", "code"), [("2>/dev/full", 0), (">/dev/full", 1)])
def test_a_full_disk_under_the_output_ends_no_search(end: str, code: int, here: Path) -> None:
    made = in_shell(f"{' '.join(FIT)} {end}")
    assert made.returncode == code
    assert sorted(os.listdir("run")) == FILES
    last = "symseek: cannot write the output: No space left on device"
    assert made.stderr.splitlines()[-1:] == [last] * code
    assert ("y =" in made.stdout) == (code == 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
def test_a_help_text_that_is_lost_is_no_success() -> None:
    made = in_shell("--help >/dev/full")
    assert made.returncode == 1
    assert made.stderr.count("\n") == 1
