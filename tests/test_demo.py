"""The demonstration runs, says what it does, and leaves reports to open."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).parent.parent / "examples" / "demo.py"


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the script, its searches made short."""
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(DEMO))
    names["SECONDS"].update(dict.fromkeys(names["SECONDS"], 0.3))
    return names


@pytest.mark.slow
def test_the_demonstration_runs_from_tables_to_formulas(
    demo: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # again over what it left
        assert demo["main"]() == 0
        said = capsys.readouterr().out
        for words in (
            "Neptune,4515.0,59800.0",
            "$ symseek fit ",
            "repeat it: ",
            "> ",
            "R2  year =",
        ):
            assert words in said
        for method in demo["METHODS"]:
            (line,) = [line for line in said.splitlines() if line.startswith(f"  {method} ")]
            assert " expressions  " in line
        assert "\x1b" not in said  # it was not a terminal
    for name in ("planets", "medicine"):
        assert (tmp_path / "build" / "demo" / name / "report.html").stat().st_size > 10_000
