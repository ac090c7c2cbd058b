"""Every Python block of the documentation runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks() -> list[object]:
    found = []
    for page in PAGES:
        for match in re.finditer(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S):
            line = page.read_text()[: match.start()].count("\n") + 1
            found.append(pytest.param(match.group(1), id=f"{page.name}:{line}"))
    return found


@pytest.mark.parametrize("code", blocks())
def test_block_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "<documentation>", "exec", dont_inherit=True), {"__name__": "documentation"})
    assert "print(" not in code or capsys.readouterr().out.strip()
