"""Broken files, and names that try to be more than text, in Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from browser_helpers import (
    Page,
    StudioProcess,
    Window,
    complaint,
    drop,
    expect,
    expect_status,
    set_fields,
    symseek,
)
from run_helpers import Capture

pytestmark = pytest.mark.slow  # a browser of its own

OpenStudio = Callable[..., StudioProcess]

COLUMN = "<img src=x onerror=window.hacked=1>"
FILE = "<b onclick=window.hacked=1>'q' & $(x) \"odd\".csv"
RUN = "<svg onload=window.hacked=1>"

BROKEN = {
    "rows that are too short": "a,b,y\n1,2,3\n4,5\n6,7,8\n",
    "no rows": "a,b,y\n",
    "two columns of a name": "a,a,y\n1,2,3\n2,3,4\n",
    "no text at all": "\x00\x01\x02\xff" * 9,
}


def test_broken_files(
    open_studio: OpenStudio, window: Window, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "elsewhere").mkdir()
    studio = open_studio()
    page = window.open(studio.address)
    for at, content in enumerate(BROKEN.values()):
        path = tmp_path / "elsewhere" / f"broken{at}.csv"
        path.write_text(content, encoding="latin-1")
        page.goto(f"{studio.address}#/new")
        drop(page, "#table-drop", path)
        told = complaint(capsys, "fit", path, "--target", "y").replace(f"{path.parent}/", "")
        problem = page.locator(".problem:visible", has_text=path.name).first
        expect(problem).to_contain_text(told, ignore_case=True)
    window.expected = "status of 400"
    page.goto(f"{studio.address}#/new")
    drop(page, "#table-drop", tmp_path / "data.csv", "photo.png")
    expect(page.locator("#banner")).to_contain_text("photo.png")
    assert not (tmp_path / "photo.png").exists()
    assert not list(tmp_path.glob("*-run-*"))


def test_a_column_of_text_is_refused_beside_it(
    open_studio: OpenStudio, window: Window, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "towns.csv").write_text("town,a,y\nUlm,1,2\nBonn,2,4\nKiel,3,6\nJena,4,9\n")
    page = window.open(open_studio("towns.csv").address)
    expect(page.locator("#command")).to_have_text("symseek fit towns.csv --target y")
    page.locator('[data-feature="town"]').check()
    words = ("--target", "y", "--features", "town,a")
    told = complaint(capsys, "fit", tmp_path / "towns.csv", *words)
    told = told.replace(f"{tmp_path}/", "")
    problem = page.locator('[data-column="town"] .problem')
    expect(problem).to_contain_text(told, ignore_case=True)
    expect(page.locator("#start")).to_have_attribute("aria-disabled", "true")
    page.locator('[data-feature="town"]').uncheck()
    expect(page.locator("#start")).to_have_attribute("aria-disabled", "false")


def test_names_are_text_everywhere(open_studio: OpenStudio, window: Window, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    table = place / FILE
    table.write_text(
        f"{COLUMN},</math><i>,y\n" + "".join(f"{n},{n % 3},{n * n}\n" for n in range(9))
    )
    words = ("--max-expressions", 2000, "--quiet", "--no-report")
    symseek(tmp_path, "fit", table, "--target", "y", "--out", tmp_path / RUN, *words)
    page = window.open(open_studio().address)
    expect(page.locator("#runs .run-name")).to_have_text(RUN)
    drop(page, "#table-drop", table)
    expect(page.locator("h1")).to_contain_text(FILE)
    expect(page.locator("#target option")).to_have_text([COLUMN, "</math><i>", "y"])
    expect(page.locator("#columns tbody label").first).to_have_text(COLUMN)
    expect(page.locator("#command")).to_contain_text("--target y")
    nothing_ran(page)
    set_fields(page, {"max_expressions": 2000})
    page.locator("#start").click()
    expect_status(page, "finished")
    expect(page.locator("h1")).to_have_text(f"y from {FILE}")
    look_at_everything(page)
    page.locator("#runs a", has_text=RUN).first.click()
    expect(page.locator(".about")).to_have_text(RUN)
    look_at_everything(page)
    page.locator("#new").click()
    expect(page.locator("#tables")).to_contain_text(FILE)
    nothing_ran(page)


def look_at_everything(page: Page) -> None:
    """Choose, compare and hover on a finished run whose formulas have the odd column."""
    named = page.locator("#formulas tbody tr", has=page.locator(f'[title*="{COLUMN}"]'))
    expect(named.first).to_be_visible()
    named.first.click()
    expect(page.locator('[data-export="python"]')).to_be_visible()
    expect(page.locator("#tree svg")).to_contain_text(COLUMN)
    page.locator("#compare").select_option(index=1)
    expect(page.locator("#compared")).to_be_visible()
    for point in page.locator("#front circle").all():
        point.hover(force=True)
    page.locator("#open-folder").focus()
    nothing_ran(page)


def nothing_ran(page: Page) -> None:
    """No name has become an element, and none has run anything."""
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, i, b, [onclick], [onload], [onerror]").count() == 0
