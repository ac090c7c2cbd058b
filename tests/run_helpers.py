"""What the tests of runs and of the commands share: a table, and the command line in-process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from symseek.cli import main


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
