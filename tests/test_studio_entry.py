"""What is typed and clicked on the pages, and what the folder does meanwhile, in a real browser."""

from __future__ import annotations

import os
import shutil
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from run_helpers import write_table
from studio_helpers import Served, serving
from symseek.studio.desktop import browser_at

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.exists(CHROMIUM), reason=f"there is no browser at {CHROMIUM}"),
]


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
    page.locator('[data-field="max_expressions"] [data-none]').uncheck()
    page.locator("[name=max_expressions]").fill("2,000")
    expect(page.locator("#command")).to_contain_text("--max-expressions 2000")
    page.locator("#start").dblclick()
    expect(page.locator("#status")).to_have_attribute("data-status", "finished", timeout=60_000)
    assert [each["run"] for each in studio.get("api/state")["runs"]] == ["data-run-1"]


@pytest.fixture
def finished(studio: Served, page: Page) -> str:
    """The view of a run that has come to its end."""
    run = studio.start(max_expressions=2000)
    studio.until(run, "finished")
    page.evaluate("run => { location.hash = `#/run/${run}`; }", run)
    expect(page.locator("#status")).to_have_attribute("data-status", "finished")
    return run


def test_rows_with_missing_values_are_left_out_of_predictions(
    studio: Served, page: Page, finished: str
) -> None:
    features = studio.get(f"api/runs/{finished}")["features"]
    gaps = ["1"] * (len(features) - 1) + [""]
    lines = [",".join(features), ",".join(["1"] * len(features)), ",".join(gaps)]
    path = studio.folder / "gaps.csv"
    path.write_text("\n".join([*lines, lines[1]]) + "\n")
    page.set_input_files("#predict-file", path)
    expect(page.locator("#predict-problem")).to_contain_text("missing value")
    page.get_by_label("Leave out rows with missing values").check()
    expect(page.locator("#predict-result")).to_contain_text("2 rows predicted")
    expect(page.locator("#predict-problem")).to_be_hidden()


def test_the_view_of_a_run_whose_folder_is_removed_says_so(
    studio: Served, page: Page, finished: str
) -> None:
    expect(page.locator(f"#runs [data-run={finished}]")).to_be_visible()
    shutil.rmtree(studio.folder / finished)
    expect(page.locator("#main")).to_contain_text(f"There is no run '{finished}'")


OUTSIDE = """
() => {
  const dots = document.querySelector("#residuals .dots.second");
  const { x, width } = dots.getBBox();
  return [x, x + width, dots.ownerSVGElement.width.baseVal.value];
}
"""


def test_the_residuals_of_two_formulas_are_all_in_the_picture(page: Page, finished: str) -> None:
    page.locator("tr[data-row='0']").click()  # a number: its predictions are all the same
    page.locator("#compare").select_option(index=2)
    page.locator("#against").select_option("")
    expect(page.locator("#residuals .dots.second")).to_be_attached()
    low, high, wide = page.evaluate(OUTSIDE)
    assert (low > -10, high < wide + 10) == (True, True)
    assert high - low > wide / 2


def test_a_browser_comes_from_the_file_that_the_command_opens(
    studio: Served, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with browser_at(studio.server.address):
        while not opened:  # by a thread
            time.sleep(0.01)
        page.goto(opened[0])
        expect(page.locator("#question-note")).to_contain_text("rows to learn from")
        assert page.url.startswith(studio.server.address)
        assert page.evaluate("document.referrer") == ""
    page.go_back(timeout=5000)
    assert not page.url.startswith("file:")  # the file is gone, and nothing leads back to it
