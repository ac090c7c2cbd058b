"""Searches that are steered and watched in Chromium: pause, stop, several tabs, sudden ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from browser_helpers import (
    ENDLESS,
    PATIENCE,
    STEADY,
    Page,
    StudioProcess,
    Window,
    expect,
    expect_formulas,
    expect_status,
    options,
    progress,
    set_fields,
    symseek,
    wait_until,
)
from run_helpers import Capture, answer, write_table
from symseek.runs.lock import holder

pytestmark = pytest.mark.slow  # a browser of its own

OpenStudio = Callable[..., StudioProcess]

RUN = "data-run-1"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The front of the steady search when nothing disturbs it."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    write_table(folder / "data.csv")
    symseek(folder, "fit", "data.csv", "--target", "y", *options(STEADY), "--no-report")
    return (folder / RUN / "front.json").read_bytes()


@pytest.fixture
def studio(shared_studio: StudioProcess) -> Iterator[StudioProcess]:
    """The studio of these tests; no search outlives its test."""
    yield shared_studio
    shared_studio.kill_searches()


def watched(studio: StudioProcess, window: Window, settings: dict[str, Any]) -> tuple[Page, Path]:
    """A tab that shows a search under way, and the folder of its run."""
    run = studio.start(**settings)
    page = window.open(studio.run_address(run))
    expect_formulas(page)
    expect_status(page, "searching")
    return page, studio.folder / run


def started(page: Page, studio: StudioProcess, settings: dict[str, Any]) -> Path:
    """Ask a question with these settings, and start; the folder of the run."""
    page.goto(f"{studio.address}#/new/data.csv")
    set_fields(page, settings)
    page.locator("#start").click()
    expect(page.locator("#run-view")).to_be_visible()
    return studio.folder / str(page.locator("#run-view").get_attribute("data-run"))


def test_a_pause_changes_nothing(
    studio: StudioProcess, window: Window, uninterrupted: bytes
) -> None:
    page = window.open(studio.address)
    run = started(page, studio, STEADY)
    expect_formulas(page)
    page.locator("#pause").click()
    expect_status(page, "paused")
    assert progress(run)["expressions"] < STEADY["max_expressions"]
    page.locator("#go-on").click()
    expect_status(page, "finished")
    assert (run / "front.json").read_bytes() == uninterrupted


def test_other_budgets_after_a_pause(studio: StudioProcess, window: Window) -> None:
    page, run = watched(studio, window, ENDLESS)
    page.locator("#pause").click()
    expect_status(page, "paused")
    tried = progress(run)["expressions"]
    budget = page.locator('#budgets [data-field="max_expressions"] input[type=text]')
    budget.fill("some")
    page.locator("#go-on-with").click()
    expect(page.locator("#run-problem")).to_contain_text("some")
    window.expected = "status of 400"
    budget.fill(str(tried + 5000))
    page.locator("#go-on-with").click()
    expect_status(page, "finished")
    done = progress(run)
    assert (done["most"], done["ended"]) == (tried + 5000, "BUDGET")
    expect(page.locator("#run-command")).to_contain_text(f"--max-expressions {tried + 5000}")


def test_stop_keeps_everything(studio: StudioProcess, window: Window, capsys: Capture) -> None:
    page, run = watched(studio, window, ENDLESS)
    page.locator("#stop").click()
    expect_status(page, "stopped")
    expect(page.locator("#status")).to_have_text("Stopped. Everything found so far is kept.")
    shown = answer(capsys, "show", run).out
    rows = page.locator("#formulas tbody tr")
    assert rows.count() > 1
    for row in rows.all():
        assert (row.get_attribute("data-text") or "missing") in shown
    with page.expect_popup() as popup:
        page.locator("#report").click()
    expect(popup.value.locator("h1").first).to_be_visible()


def test_neither_a_reload_nor_a_closed_tab_stops_anything(
    studio: StudioProcess, window: Window
) -> None:
    page, run = watched(studio, window, ENDLESS)
    first = page.locator("#formulas tbody tr").first
    first.click()
    expect(first).to_have_class("chosen")
    text = first.get_attribute("data-text")
    page.reload()
    expect(page.locator("#formulas tr.chosen")).to_have_attribute("data-text", str(text))
    expect_status(page, "searching")
    before = page.locator("#progress-expressions").text_content()
    expect(page.locator("#progress-expressions")).not_to_have_text(str(before))
    page.close()
    tried = progress(run)["expressions"]
    wait_until(lambda: progress(run)["expressions"] > tried + 1000)
    page = window.open(studio.address)
    line = page.locator(f'#runs [data-run="{run.name}"]')
    expect(line.locator(".badge")).to_have_attribute("data-status", "searching")
    line.click()
    expect_formulas(page)
    expect_status(page, "searching")


def test_two_tabs_agree(studio: StudioProcess, window: Window) -> None:
    one = window.open(studio.address)
    run = started(one, studio, ENDLESS)
    two = window.open(studio.address)
    two.locator(f'#runs [data-run="{run.name}"]').click()
    expect_formulas(two)
    two.locator("#pause").click()
    for page in (one, two):
        expect_status(page, "paused")
    rows = [page.locator("#formulas tbody").inner_text() for page in (one, two)]
    assert rows[0] == rows[1]
    one.locator("#go-on").click()
    expect_status(two, "searching")


def test_a_search_that_is_killed(
    studio: StudioProcess, window: Window, uninterrupted: bytes
) -> None:
    page, run = watched(studio, window, STEADY)
    studio.kill_searches()
    expect_status(page, "died")
    expect(page.locator("#status")).to_contain_text("The search died")
    expect(page.locator(f'#runs [data-run="{run.name}"] .badge')).to_have_text("died")
    expect(page.locator("#go-on")).to_have_text("Resume")
    page.locator("#go-on").click()
    expect_status(page, "finished")
    assert (run / "front.json").read_bytes() == uninterrupted


def test_a_fit_in_a_terminal_is_watched(
    open_studio: OpenStudio, window: Window, tmp_path: Path
) -> None:
    words = ["fit", "data.csv", "--target", "y", "--out", "mine", *options(ENDLESS)]
    command = [sys.executable, "-m", "symseek", *words]
    terminal = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_until((tmp_path / "mine" / "settings.json").exists)
    page = window.open(open_studio("mine").address)
    expect_formulas(page)
    expect(page.locator("#status")).to_have_text(
        "Searching. It was started outside of this studio."
    )
    page.locator("#pause").click()
    expect_status(page, "paused")
    assert terminal.wait(PATIENCE) == 130
    page.locator("#go-on").click()
    expect_status(page, "searching")


def test_a_server_that_is_killed(
    open_studio: OpenStudio, window: Window, uninterrupted: bytes
) -> None:
    window.expected = "net::ERR_"
    studio = open_studio()
    page, run = watched(studio, window, STEADY)
    search = holder(run)
    assert search is not None
    assert search.pid is not None
    os.kill(search.pid, signal.SIGSTOP)  # so that it is in the middle whatever follows takes
    studio.kill()
    expect(page.locator("#banner")).to_contain_text(f"symseek resume {RUN}")
    page = window.open(open_studio().run_address(RUN))
    expect_formulas(page)
    expect(page.locator("#status")).to_have_text(
        "Searching. It was started outside of this studio."
    )
    page.locator("#pause").click()
    expect_status(page, "pausing")
    os.kill(search.pid, signal.SIGCONT)
    expect_status(page, "paused")
    symseek(studio.folder, "resume", RUN, "--no-report")
    expect_status(page, "finished")
    assert (run / "front.json").read_bytes() == uninterrupted


def test_a_server_that_is_ended_pauses_its_searches(
    open_studio: OpenStudio, window: Window
) -> None:
    window.expected = "ERR_|status of 50"  # what was being asked is not answered any more
    studio = open_studio()
    page, run = watched(studio, window, ENDLESS)
    studio.process.send_signal(signal.SIGINT)
    expect(page.locator("#banner")).to_contain_text(f"symseek resume {RUN}")
    assert studio.process.wait(PATIENCE) == 0
    assert progress(run)["ended"] == "INTERRUPTED"
