"""What is typed and clicked on the page of a question, in a real browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from run_helpers import write_table
from studio_helpers import Served, serving

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"

pytestmark = pytest.mark.skipif(
    not os.path.exists(CHROMIUM), reason=f"there is no browser at {CHROMIUM}"
)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Served]:
    """A studio with a table."""
    write_table(tmp_path / "data.csv")
    with serving(tmp_path, table="data.csv") as served:
        yield served


@pytest.fixture
def page(studio: Served) -> Iterator[Page]:
    """The question about the table."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(studio.server.address)
        expect(page.locator("#question-note")).to_contain_text("rows to learn from")
        yield page
        browser.close()


def test_a_decimal_comma_is_not_left_out_of_a_number(page: Page) -> None:
    command, seconds = page.locator("#command"), page.locator("[name=max_seconds]")
    seconds.fill("2,5")
    expect(page.locator("[data-field=max_seconds] .problem")).to_contain_text("'2,5'")
    expect(command).not_to_contain_text("25")
    seconds.fill("1,250")
    expect(command).to_contain_text("--max-seconds 1250")
    seconds.fill("2.5")
    expect(command).to_contain_text("--max-seconds 2.5")


def test_two_clicks_start_one_search(studio: Served, page: Page) -> None:
    page.locator("[name=max_expressions]").fill("2,000")
    expect(page.locator("#command")).to_contain_text("--max-expressions 2000")
    page.locator("#start").dblclick()
    expect(page.locator("#status")).to_have_attribute("data-status", "finished", timeout=60_000)
    assert [each["run"] for each in studio.get("api/state")["runs"]] == ["data-run-1"]
