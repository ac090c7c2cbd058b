"""What the tests of runs and of the commands share: a table, and the command line in-process."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symseek.command import main
from symseek.regression.regression import Regression
from symseek.runs.request import FitRequest
from symseek.settings import Settings

FILES = [
    "checkpoint",
    "curve.csv",
    "discoveries.json",
    "front.csv",
    "front.json",
    "progress.json",
    "report.html",
    "settings.json",
]
SHORT = ("--max-expressions", "2000", "--quiet")

Capture = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Answer:
    """What a command came to."""

    code: int
    out: str
    err: str


def answer(capsys: pytest.CaptureFixture[str], *words: object) -> Answer:
    """Run a command in this process."""
    capsys.readouterr()
    try:
        code = main([str(word) for word in words])
    except SystemExit as exit:
        code = int(exit.code or 0)
    captured = capsys.readouterr()
    return Answer(code, captured.out, captured.err)


def write_table(path: Path, rows: int = 40) -> Path:
    """A product with noise: no search comes to an end with it by itself."""
    draw = np.random.default_rng(0)
    a, b = draw.uniform(0.5, 2, (2, rows))
    y = a * b + 0.1 * draw.normal(size=rows)
    lines = [",".join(map(repr, row)) for row in np.column_stack([a, b, y]).tolist()]
    path.write_text("\n".join(["a,b,y", *lines]) + "\n")
    return path


def fit(capsys: Capture, *words: object, out: str = "run") -> Path:
    """A run that has come to its end."""
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--out", out, *SHORT, *words)
    assert (said.code, said.err) == (0, "")
    return Path(out)


def request(**changes: Any) -> FitRequest:
    settings = Settings(**changes.pop("settings", {}))
    return replace(FitRequest(Path("data.csv"), "y", None, None, None, settings), **changes)


def read_rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def search(**settings: Any) -> Regression:
    table = request().read_table()
    chosen = Settings(**{"max_expressions": 3_000, "method": "dsr", **settings})
    return Regression(table.X, table.y, table.features, chosen, target="y")


PATIENCE = 120

CHILD = """
import os, signal, sys, time
from symseek.runs import folder as runs, recorder
from symseek.command import main

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
