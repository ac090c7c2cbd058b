"""What one does with formulas in Chromium: compare, pick, predict; and who can read the page."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from browser_helpers import (
    ENDLESS,
    Page,
    StudioProcess,
    Window,
    drop,
    expect,
    expect_formulas,
    expect_status,
)
from run_helpers import Capture, answer

pytestmark = pytest.mark.slow  # a browser of its own

OpenStudio = Callable[..., StudioProcess]

RUN = "data-run-1"


@pytest.fixture
def page(shared_studio: StudioProcess, window: Window) -> Page:
    """A tab that shows this run."""
    page = window.open(shared_studio.run_address(RUN))
    expect_status(page, "finished")
    expect(page.locator('[data-export="latex"]')).to_be_visible()
    return page


def not_picked(page: Page) -> str:
    """A row that is not the picked one."""
    row = page.locator("#formulas tbody tr:not(.picked)").nth(1).get_attribute("data-row")
    assert row is not None
    return row


def test_another_row_is_picked_for_the_command_line_too(
    page: Page, shared_studio: StudioProcess, capsys: Capture
) -> None:
    row = not_picked(page)
    page.locator(f'#formulas tr[data-row="{row}"]').click()
    page.locator("#use").click()
    expect(page.locator(f'#formulas tr[data-row="{row}"]')).to_have_class("picked chosen")
    expect(page.locator("#pick-note")).to_contain_text("by hand")
    lines = answer(capsys, "show", shared_studio.folder / RUN).out.splitlines()
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


def test_predictions_for_another_file(
    page: Page, shared_studio: StudioProcess, tmp_path: Path, capsys: Capture
) -> None:
    new = tmp_path / "new.csv"
    new.write_text("a,b\n1,2\n2,3\n0.5,0.5\n")
    row = not_picked(page)
    page.locator(f'#formulas tr[data-row="{row}"]').click()
    drop(page, "#predict-drop", new)
    result = page.locator("#predict-result")
    expect(result).to_contain_text(f"3 rows predicted by row {row}")
    with page.expect_download() as download:
        result.locator("a").click()
    told = answer(capsys, "predict", shared_studio.folder / RUN, new, "--row", row).out
    assert download.value.path().read_text() == told
    assert len(list(csv.reader(told.splitlines()))) == 4
    new.write_text("a,b\n7,8\n")
    page.locator("#predict-file").set_input_files(new)
    expect(result).to_contain_text(f"1 row predicted by row {row}")


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
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def serious_in_both_colours(page: Page) -> list[str]:
    """The same in light and in dark."""
    found = []
    for colours in ("light", "dark"):
        page.emulate_media(color_scheme=colours)
        found += [f"{colours}, {each}" for each in serious(page)]
    return found


def test_axe_finds_nothing_serious(page: Page, shared_studio: StudioProcess) -> None:
    page.locator("#compare").select_option(not_picked(page))
    expect(page.locator("#compared")).to_be_visible()
    assert serious_in_both_colours(page) == []
    page.goto(f"{shared_studio.address}#/new")
    expect(page.locator("#paste")).to_be_visible()
    assert serious_in_both_colours(page) == []
    page.goto(f"{shared_studio.address}#/new/data.csv")
    expect(page.locator("#command")).to_contain_text("--target y")
    page.locator("#more > summary").click()
    assert serious_in_both_colours(page) == []
    page.evaluate("document.body.append(document.createElement('img'))")
    assert any("image-alt" in each for each in serious(page))  # there is something to be found


def test_axe_finds_nothing_serious_in_a_search(open_studio: OpenStudio, window: Window) -> None:
    studio = open_studio()
    page = window.open(studio.run_address(studio.start(seeds=2, **ENDLESS)))
    expect_formulas(page)
    expect(page.locator('[data-export="latex"]')).to_be_visible()
    expect_status(page, "searching")
    assert serious_in_both_colours(page) == []


def test_the_theme_button(page: Page) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(colour)
    page.locator("#theme").click()
    assert page.evaluate(colour) != before
    page.reload()
    expect_status(page, "finished")
    assert page.evaluate(colour) != before
