"""Takes pictures of every view of `symseek studio`, at three widths, light and dark.

A studio runs in a folder of its own, and a real Chromium looks at it: an empty folder, a table with
its question, a search under way, and what it found. `python tools/studio_pictures.py FOLDER` writes
the pictures there, and needs Playwright (the extra `test`) and a Chromium on the path. With
`--docs`, only those of the documentation are taken.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

PLANETS = Path(__file__).parents[1] / "examples" / "planets.csv"
HEIGHTS = {380: 800, 1280: 900, 1600: 1560, 2500: 1300}  # of a window, by its width
IN_DOCS = 1600
PATIENCE = 60_000  # milliseconds
SECONDS = 40  # of the search that is looked at
RUN = "planets-run-1"


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--docs", action="store_true", help="only those of the documentation")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    widths = [IN_DOCS] if options.docs else [width for width in HEIGHTS if width != IN_DOCS]
    looks = [(width, theme) for width in widths for theme in ("light", "dark")]
    with tempfile.TemporaryDirectory() as parent, sync_playwright() as playwright:
        folder = Path(parent, "orbits")
        folder.mkdir()
        shutil.copy(PLANETS, folder)
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox"] if root else [],
        )
        with studio(folder) as address:
            camera = Camera(browser, address, options.folder, looks)
            camera.take("welcome", "#/new", "main h1")
            camera.take("question", "#/new/planets.csv", "#start:enabled")
            with search(folder):
                camera.take("searching", f"#/run/{RUN}", "#run-view math")
            camera.take("finished", f"#/run/{RUN}", "#exports pre, #exports code")


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """The address of a studio in a folder."""
    command = [sys.executable, "-m", "symseek", "studio", "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found, "the studio has printed no address"
        yield found[0]
    finally:
        process.terminate()
        process.wait()


@contextmanager
def search(folder: Path) -> Iterator[None]:
    """A search under way, which is at its end after."""
    words = f"fit planets.csv --target year --features distance --out {RUN} --quiet"
    budget = f"--max-seconds {SECONDS} --max-expressions 1000000000 --patience none"
    command = [sys.executable, "-m", "symseek", *words.split(), *budget.split()]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    while process.poll() is None and not (folder / RUN / "front.json").exists():
        time.sleep(0.1)
    time.sleep(3)  # for the front to grow
    yield
    process.wait()


@dataclass
class Camera:
    """A browser that looks at a studio, in windows of some widths and themes."""

    browser: Browser
    address: str
    folder: Path
    looks: Sequence[tuple[int, str]]

    def take(self, name: str, view: str, there: str) -> None:
        """Pictures of a view, once an element is there."""
        for width, theme in self.looks:
            path = self.folder / f"studio-{name}-{width}-{theme}.png"
            page = self.browser.new_page(viewport={"width": width, "height": HEIGHTS[width]})
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            page.goto(self.address + view)
            page.locator(there).first.wait_for(timeout=PATIENCE)
            page.wait_for_timeout(500)  # for what is asked of the server after that
            page.screenshot(path=path, full_page=width != IN_DOCS)
            page.close()
            print(path, flush=True)


if __name__ == "__main__":
    main()
