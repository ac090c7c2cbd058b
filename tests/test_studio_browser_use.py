"""What one does with formulas in Chromium: compare, pick, predict; and who can read the page."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from browser_helpers import (
    ENDLESS,
    StudioProcess,
    Window,
    drop,
    expect_formulas,
    expect_status,
    symseek,
)
from run_helpers import write_table

OpenStudio = Callable[..., StudioProcess]

RUN = "data-run-1"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has come to its end; not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    write_table(folder / "data.csv")
    words = ("--max-expressions", 20_000, "--quiet")
    symseek(folder, "fit", "data.csv", "--target", "y", *words)
    return folder / RUN


@pytest.fixture
def page(open_studio: OpenStudio, window: Window, finished: Path, tmp_path: Path) -> Page:
    """A tab that shows a copy of it."""
    shutil.copytree(finished, tmp_path / RUN)
    page = window.open(open_studio(RUN).address)
    expect_status(page, "finished")
    expect(page.locator('[data-export="latex"]')).to_be_visible()
    return page


def not_picked(page: Page) -> str:
    """A row that is not the picked one."""
    row = page.locator("#formulas tbody tr:not(.picked)").nth(1).get_attribute("data-row")
    assert row is not None
    return row


def test_another_row_is_picked_for_the_command_line_too(page: Page, tmp_path: Path) -> None:
    row = not_picked(page)
    page.locator(f'#formulas tr[data-row="{row}"]').click()
    page.locator("#use").click()
    expect(page.locator(f'#formulas tr[data-row="{row}"]')).to_have_class("picked chosen")
    expect(page.locator("#pick-note")).to_contain_text("picked by hand")
    lines = symseek(tmp_path, "show", RUN).stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith(">")] == [row]


def test_two_rows_are_compared(page: Page) -> None:
    row = not_picked(page)
    text = page.locator(f'#formulas tr[data-row="{row}"]').get_attribute("data-text")
    page.locator("#compare").select_option(row)
    other = page.locator("#compared")
    expect(other.locator("h3")).to_have_text(f"Beside it: row {row}")
    expect(other.locator("math")).to_have_attribute("aria-label", str(text))
    expect(page.locator("#fit")).to_contain_text(f"row {row}")
    page.reload()
    expect(page.locator("#compared h3")).to_have_text(f"Beside it: row {row}")


@pytest.mark.parametrize("way", ["dropped", "chosen"])
def test_predictions_for_another_file(page: Page, tmp_path: Path, way: str) -> None:
    new = tmp_path / "elsewhere" / "new.csv"
    new.parent.mkdir()
    new.write_text("a,b\n1,2\n2,3\n0.5,0.5\n")
    row = not_picked(page)
    page.locator(f'#formulas tr[data-row="{row}"]').click()
    if way == "dropped":
        drop(page, "#predict-drop", new)
    else:
        page.locator("#predict-file").set_input_files(new)
    result = page.locator("#predict-result")
    expect(result).to_contain_text(f"3 rows predicted by row {row}")
    with page.expect_download() as download:
        result.locator("a").click()
    saved = download.value.path().read_text()
    told = symseek(tmp_path, "predict", RUN, new, "--row", row, "--out", "-").stdout
    assert saved == told
    assert len(list(csv.reader(saved.splitlines()))) == 4


def test_a_file_that_lacks_a_column_is_not_predicted(
    page: Page, window: Window, tmp_path: Path
) -> None:
    window.expected = "status of 400"
    (tmp_path / "few.csv").write_text("b\n1\n2\n")
    page.locator("#formulas tbody tr").last.click()
    drop(page, "#predict-drop", tmp_path / "few.csv", "few.csv")
    expect(page.locator("#predict-problem")).to_contain_text("'a'")


def test_a_file_dropped_on_a_run_may_be_a_new_question(page: Page, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("u,v\n1,2\n2,4\n3,6\n4,9\n")
    drop(page, "#front", tmp_path / "other.csv")
    expect(page.locator("#command")).to_contain_text("other.csv --target v")


# --- accessibility


def serious(page: Page) -> list[str]:
    """What axe finds serious or worse."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious(
    page: Page, window: Window, tmp_path: Path, colours: str
) -> None:
    studio = page.url.split("#")[0]
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    page.locator("#compare").select_option(not_picked(page))
    expect(page.locator("#compared")).to_be_visible()
    found = {"finished": serious(page)}
    page.goto(f"{studio}#/new")
    expect(page.locator("#paste")).to_be_visible()
    found["welcome"] = serious(page)
    page.goto(f"{studio}#/new/data.csv")
    expect(page.locator("#command")).to_contain_text("--target y")
    page.locator("#more > summary").click()
    found["data and question"] = serious(page)
    assert found == dict.fromkeys(found, [])


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_search(
    open_studio: OpenStudio, window: Window, colours: str
) -> None:
    studio = open_studio()
    page = window.open(studio.run_address(studio.start(seeds=2, **ENDLESS)))
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    expect_formulas(page)
    expect(page.locator('[data-export="latex"]')).to_be_visible()
    expect_status(page, "searching")
    assert serious(page) == []


def test_axe_would_find_something(page: Page) -> None:
    page.evaluate("document.body.append(document.createElement('img'))")
    assert any(each.startswith("image-alt") for each in serious(page))


def test_the_theme_button(page: Page) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(colour)
    page.locator("#theme").click()
    assert page.evaluate(colour) != before
    page.reload()
    expect_status(page, "finished")
    assert page.evaluate(colour) != before
