"""What the browser tests share: a real studio process, a real Chromium, and what a user does."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from run_helpers import Capture, answer
from symseek.runs.lock import holder

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

PATIENCE = 60.0  # seconds in which whatever is waited for happens on any machine
LIVE = ("starting", "searching", "finishing")

# A search that pauses and deaths are tried on: long enough to be met in the middle, and the same
# numbers whenever it is repeated, as no clock ends it.
STEADY = {
    "method": "dsr",
    "max_seconds": None,
    "max_expressions": 80_000,
    "patience": None,
    "threads": 1,
}
# One that does not end by itself while a test lasts.
ENDLESS = {"max_seconds": 600, "max_expressions": 10**9, "patience": None, "threads": 1}

# What the page must not do is told to the console, whose errors fail a test.
WATCHERS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
window.layoutShift = 0;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) {
    if (!hadRecentInput) window.layoutShift += value;
  }
}).observe({ type: "layout-shift", buffered: true });
"""

DROP = """
([node, name, content]) => {
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name));
  const send = (target, kind) => target.dispatchEvent(
    new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: transfer }));
  for (const kind of ["dragenter", "dragover", "drop"]) send(node, kind);
}
"""


def chromium() -> str:
    """The Chromium of this machine; without one, the test is skipped."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("there is no Chromium: none of chromium, chromium-browser, google-chrome")


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser without a window."""
    path = chromium()
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if root else []
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


class Window:
    """Tabs of one browser profile, and whatever went wrong in them."""

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        self.context.set_default_timeout(PATIENCE * 1000)
        self.context.add_init_script(WATCHERS)
        self.problems: list[str] = []
        self.expected: str | None = None  # a pattern of problems that belong to the test
        self.context.on("console", self._console)
        self.context.on("weberror", lambda each: self.problems.append(str(each.error)))

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.text} ({message.location.get('url')})")

    def open(self, address: str) -> Page:
        """A new tab."""
        page = self.context.new_page()
        page.goto(address)
        return page

    def close(self) -> None:
        """Close all tabs; nothing may have gone wrong that the test does not expect."""
        self.context.close()
        bad = [e for e in self.problems if self.expected is None or not re.search(self.expected, e)]
        assert not bad, bad


class StudioProcess:
    """`symseek studio` as a user starts it, but for the browser."""

    def __init__(self, folder: Path, *words: object) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "symseek", "studio", *map(str, words), "--no-browser"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\S+/", said)
        assert found, f"the studio did not start; it said {said!r}"
        self.address = found[0]

    def run_address(self, run: str) -> str:
        """Where a run is shown; its name is plain."""
        return f"{self.address}#/run/{run}"

    def start(self, table: str = "data.csv", target: str = "y", **settings: Any) -> str:
        """Start a search, as the page does."""
        origin = self.address.rsplit("/", 2)[0]
        body = {"table": table, "target": target, "settings": settings}
        url = f"{self.address}api/runs"
        answer = httpx.post(url, json=body, headers={"Origin": origin}, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["run"])

    def kill(self) -> None:
        """End it without a word, as the system does when memory is short."""
        self.process.kill()
        self._wait()

    def close(self) -> None:
        """End it and all searches in its folder, which are of no use any more."""
        self.kill()
        self.kill_searches()

    def kill_searches(self) -> None:
        """End the processes of all searches in the folder without a word."""
        for lock in self.folder.glob("*/lock"):
            who = holder(lock.parent)
            if who is not None and who.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(who.pid, signal.SIGKILL)

    def _wait(self) -> None:
        assert self.process.stdout is not None
        self.process.wait(PATIENCE)
        self.process.stdout.close()


def symseek(folder: Path, *words: object) -> None:
    """A command in a terminal, in a process of its own."""
    command = [sys.executable, "-m", "symseek", *map(str, words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


def options(settings: dict[str, Any]) -> list[str]:
    """Settings as options of the command line."""
    given = [(f"--{name.replace('_', '-')}", value) for name, value in settings.items()]
    return [
        str(word) for name, value in given for word in (name, "none" if value is None else value)
    ]


def complaint(capsys: Capture, *words: object) -> str:
    """The sentence with which a command refuses something."""
    said = answer(capsys, *words)
    assert said.code == 2
    return re.sub(r"^symseek( \w+)?: ", "", said.err.strip().splitlines()[-1])


def progress(run: Path) -> dict[str, Any]:
    """How far a search is."""
    return dict(json.loads((run / "progress.json").read_text()))


def wait_until(look: Callable[[], object]) -> None:
    """Wait for something that no page shows."""
    end = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


# --- what a user does and sees


def drop(page: Page, on: str, path: Path, name: str | None = None) -> None:
    """Drop a file on an element."""
    node = page.locator(on).element_handle()
    content = base64.b64encode(path.read_bytes()).decode()
    page.evaluate(DROP, [node, name or path.name, content])


def field(page: Page, name: str) -> Locator:
    """The place of a setting on the page, brought to view if it is behind `More`."""
    found = page.locator(f'[data-field="{name}"]')
    expect(found).to_have_count(1)
    if not found.is_visible():
        page.locator("#more > summary").click()
    return found


def set_fields(page: Page, settings: dict[str, Any]) -> None:
    """Type settings into the question."""
    for name, value in settings.items():
        place = field(page, name)
        if value is None:
            place.locator("[data-none]").check()
        elif place.locator("select").count():
            place.locator("select").select_option(str(value))
        else:
            if place.locator("[data-none]").count():
                place.locator("[data-none]").uncheck()
            place.locator("input[type=text]").fill(str(value))


def expect_status(page: Page, *statuses: str) -> None:
    """Wait until a run stands so."""
    expect(page.locator("#status")).to_have_attribute("data-status", re.compile("|".join(statuses)))


def expect_formulas(page: Page) -> None:
    """Wait until there is a formula."""
    expect(page.locator("#formulas tbody tr").first).to_be_visible()
