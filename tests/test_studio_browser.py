"""The studio in Chromium, from a table to a formula in a document."""

from __future__ import annotations

import json
import re
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
    field,
    set_fields,
    wait_until,
)
from run_helpers import Capture, answer

pytestmark = pytest.mark.slow  # a browser of its own

OpenStudio = Callable[..., StudioProcess]


@pytest.fixture
def planets(tmp_path: Path) -> Path:
    """A table that is not in the studio's folder."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    text = (Path(__file__).parent.parent / "examples" / "planets.csv").read_text()
    (place / "planets.csv").write_text(text)
    return place / "planets.csv"


def test_from_a_dropped_table_to_latex(
    open_studio: OpenStudio, window: Window, planets: Path, capsys: Capture
) -> None:
    studio = open_studio()
    page = window.open(studio.address)
    drop(page, "#table-drop", planets)
    expect(page.locator("#target")).to_have_value("=year")
    page.locator("#target").select_option("=distance")
    page.locator("#target").select_option("=year")
    set_fields(page, {"max_expressions": 30_000, "max_seconds": None})
    page.locator('[data-operator="sin"]').click()
    expect(page.locator("#command")).to_contain_text("--operators add,sub,mul,div,cos")
    page.locator("#start").click()
    expect_formulas(page)
    expect_status(page, "finished")
    run = "planets-run-1"
    settings = json.loads((studio.folder / run / "settings.json").read_text())["settings"]
    assert (settings["max_expressions"], settings["max_seconds"]) == (30_000, None)
    assert "sin" not in settings["operators"]
    picked = page.locator("#formulas tr.picked")
    other = page.locator("#formulas tbody tr:not(.picked)").nth(1)
    row = other.get_attribute("data-row")
    assert picked.get_attribute("data-row") != row
    other.click()
    page.locator("#use").click()
    expect(page.locator("#formulas tr.picked")).to_have_attribute("data-row", str(row))
    latex = answer(capsys, "export", studio.folder / run, "--to", "latex").out.rstrip("\n")
    export = page.locator('[data-export="latex"]')
    expect(export.locator("pre")).to_have_text(latex)
    export.locator(".copy").click()
    expect(export.locator(".copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == latex


def test_the_file_chooser(shared_studio: StudioProcess, window: Window, planets: Path) -> None:
    page = window.open(shared_studio.address)
    with page.expect_file_chooser() as chooser:
        page.locator('label[for="table-file"]').click()
    chooser.value.set_files(planets)
    expect(page.locator("#command")).to_have_text("symseek fit planets.csv --target year")
    assert (shared_studio.folder / "planets.csv").read_bytes() == planets.read_bytes()


def test_paste_from_a_spreadsheet(shared_studio: StudioProcess, window: Window) -> None:
    page = window.open(shared_studio.address)
    cells = [("time of fall", "height"), *((n, 4.9 * n * n) for n in range(1, 9))]
    text = "\r\n".join("\t".join(map(str, row)) for row in cells)
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.locator("#paste").focus()
    page.keyboard.press("ControlOrMeta+v")
    page.locator("#paste-button").click()
    expect(page.locator('[data-column="time of fall"] .range')).to_have_text("1 to 8")
    expect(page.locator("#target")).to_have_value("=height")
    set_fields(page, {"max_expressions": 2000})
    page.locator("#start").click()
    expect_status(page, "finished")
    expect(page.locator("h1")).to_have_text("height from pasted.tsv")


def test_pasted_text_that_is_no_table(shared_studio: StudioProcess, window: Window) -> None:
    page = window.open(shared_studio.address)
    page.locator("#paste").fill("hello")
    page.locator("#paste-button").click()
    expect(page.locator("#paste-problem")).to_contain_text("Paste a line of names")


def test_keyboard_only_from_the_table_to_a_run(open_studio: OpenStudio, window: Window) -> None:
    page = window.open(open_studio("data.csv").address)
    expect(page.locator("#command")).to_contain_text("--target y")
    tab_to(page, "#target")
    page.keyboard.press("a")
    tab_to(page, '[data-feature="b"]')
    page.keyboard.press("Space")
    tab_to(page, '[data-operator="exp"]')
    page.keyboard.press("Enter")
    tab_to(page, '[data-field="max_seconds"] [data-none]')
    page.keyboard.press("Space")
    tab_to(page, '[data-field="max_expressions"] [data-none]')
    page.keyboard.press("Space")
    tab_to(page, '[data-field="max_expressions"] input[type=text]')
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("1000000000")
    expect(page.locator("#command")).to_contain_text(
        re.compile("--target a --features y --operators add,sub,mul,div,sin,cos,log.* 1000000000")
    )
    tab_to(page, "#start")
    page.keyboard.press("Enter")
    expect_formulas(page)
    expect_status(page, "searching")
    tab_to(page, "#pause")
    page.keyboard.press("Enter")
    expect_status(page, "paused")
    assert page.evaluate("document.activeElement.id") == "go-on", "the focus was lost"


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus, which must be seen."""
    expect(page.locator(selector)).to_have_count(1)
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert page.evaluate(outline) != "none", f"nothing shows the focus on {selector}"
            return
    raise AssertionError(f"Tab never comes to {selector}")


def test_rows_that_arrive_move_nothing(open_studio: OpenStudio, window: Window) -> None:
    studio = open_studio()
    page = window.open(studio.run_address(studio.start(**ENDLESS)))
    wait_until(lambda: page.locator("#formulas tbody tr").count() > 5)
    expect_status(page, "searching")
    expect(page.locator("#tree svg")).to_be_visible()
    assert page.evaluate("window.layoutShift") < 0.1
    page.evaluate("document.querySelector('.controls').style.marginTop = '300px'")
    wait_until(lambda: page.evaluate("window.layoutShift") > 0.1)  # what jumps is seen


def test_a_setting_that_is_wrong_is_said_beside_it(
    shared_studio: StudioProcess, window: Window
) -> None:
    page = window.open(f"{shared_studio.address}#/new/data.csv")
    set_fields(page, {"max_length": "many"})
    expect(field(page, "max_length").locator(".problem")).to_contain_text("many")
    expect(page.locator("#start")).to_have_attribute("aria-disabled", "true")
    page.locator("#start").click(force=True)
    expect(page.locator("#question-note")).to_have_text("1 problem above.")
    assert page.url.endswith("#/new/data.csv")
    set_fields(page, {"max_length": 20})
    expect(page.locator("#command")).to_contain_text("--max-length 20")
    expect(page.locator("#start")).to_have_attribute("aria-disabled", "false")
