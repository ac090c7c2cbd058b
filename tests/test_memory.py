"""Too little memory is one sentence that says what to do, on the command line and in the studio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from run_helpers import SHORT, Capture, answer, write_table
from studio_helpers import serving
from symseek.data import Data
from symseek.studio.app import Studio


def exhausted(*given: Any, **options: Any) -> Any:
    """As NumPy, whose error is one of its own."""
    np.empty(2**46)


@pytest.mark.parametrize("words", [("fit", "--target", "y", *SHORT)])
def test_the_command_line_says_what_to_do(
    words: tuple[str, ...], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = write_table(tmp_path / "table.csv")
    monkeypatch.setattr(Data, "checked", exhausted)
    said = answer(capsys, words[0], table, *words[1:])
    assert said.code == 2
    assert "Traceback" not in said.err
    assert said.err.count("\n") == 1
    for part in ("not enough memory", "--sample-rows", "--features"):
        assert part in said.err


def test_the_studio_answers_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_table(tmp_path / "table.csv")
    with monkeypatch.context() as small, serving(tmp_path) as studio:
        small.setattr(Studio, "_preview", exhausted)
        status, sentence = studio.refused("/api/tables/table.csv", method="GET")
        assert status == 507
        assert "not enough memory" in sentence
        small.undo()
        assert studio.get("/api/tables/table.csv")["columns"]  # the server is as it was
