"""Property tests draw the same examples in every run, and take the time they need.

`make test` draws a part of them, `make test-all` (the profile "thorough") all. With
`HYPOTHESIS_PROFILE=explore make test` they are new each time: for those who look for trouble.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

# As in a search: threads that wait for each other take many times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported

import pytest

from examples import load_profile
from run_helpers import Capture, fit, write_table
from symseek.runs.folder import RunFolder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from browser_helpers import StudioProcess, Window
    from studio_helpers import Served

load_profile()


@pytest.fixture
def no_trace_of_drawing() -> Iterator[None]:
    """Who draws leaves matplotlib as it was: its settings, and no figure open."""
    import matplotlib

    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table; reports, which take a while, are tested once and elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RunFolder, "_report", lambda *_: "<!doctype html>")
    write_table(tmp_path / "data.csv")
    return tmp_path


@pytest.fixture
def folder(here: Path, capsys: Capture, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, a copy of one that all tests share."""
    shared = tmp_path_factory.getbasetemp() / "shared"
    if not shared.exists():
        fit(capsys, out=str(shared))
    shutil.copytree(shared, "run")
    record = json.loads((shared / "settings.json").read_text())
    record["data"] = str(here / "data.csv")
    Path("run/settings.json").write_text(json.dumps(record, indent=2) + "\n")
    return Path("run")


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Served]:
    """A studio in a folder with a table."""
    from studio_helpers import serving  # which needs the studio's own packages

    write_table(tmp_path / "data.csv")
    with serving(tmp_path) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; not for the whole session, as other tests need the event loop that it takes."""
    from browser_helpers import launched

    with launched() as browser:
        yield browser


@pytest.fixture
def window(browser: Browser, open_studio: object) -> Iterator[Window]:
    """A browser profile of its own, closed before the studio ends: nothing may go wrong in it."""
    from browser_helpers import Window

    window = Window(browser)
    yield window
    window.close()


@pytest.fixture(scope="module")
def shared_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    """A studio that the tests of a module share, with a table and a run that has ended."""
    from browser_helpers import StudioProcess, symseek

    folder = tmp_path_factory.mktemp("studio")
    write_table(folder / "data.csv")
    symseek(folder, "fit", "data.csv", "--target", "y", "--max-expressions", 20_000, "--quiet")
    studio = StudioProcess(folder)
    yield studio
    studio.close()


@pytest.fixture
def open_studio(tmp_path: Path) -> Iterator[Callable[..., StudioProcess]]:
    """Starts `symseek studio WORDS` in a folder with a table; ended with its searches."""
    from browser_helpers import StudioProcess

    write_table(tmp_path / "data.csv")
    studios: list[StudioProcess] = []

    def start(*words: object) -> StudioProcess:
        studios.append(StudioProcess(tmp_path, *words))
        return studios[-1]

    yield start
    for studio in studios:
        studio.close()
