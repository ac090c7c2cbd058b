"""The report: one file, complete, harmless whatever the columns are called, whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plot_helpers import NAMES, NASTY, history, model, usual, wave
from symseek import InputError
from symseek.model import Model
from symseek.report import html as report_html
from symseek.report.html import html, report, table_html

SETTINGS: dict[str, Any] = {
    "method": "hybrid",
    "operators": ("add", "mul"),
    "max_seconds": None,
    "scale": True,
    "learning_rate": 0.0025,
    "budget": 1_000_000,
    "policy": {"cell": "lstm", "units": 32},
}
SUMMARY: dict[str, Any] = {
    "data": "wave.csv",
    "command": "symseek fit wave.csv --target y --seed 7",
    "seed": 7,
    "expressions": 12_345,
    "stopped": "the time is up",
}
pytestmark = pytest.mark.usefixtures("no_trace_of_drawing")

VOID = {"meta", "img", "br", "hr", "link"}


class Page(HTMLParser):
    """Reads a page strictly: every element that opens also closes, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def drawings(text: str) -> list[ET.Element]:
    """The pictures of a report, read strictly."""
    found = re.findall(r"<figure>(<svg.*?</svg>)<figcaption>", text, re.DOTALL)
    return [ET.fromstring(each) for each in found]


def described(page: Page) -> list[dict[str, str | None]]:
    """The pictures, without the frames inside them."""
    return [each for each in page.all("svg") if each.get("role") == "img"]


@cache
def usual_text() -> str:
    """The report of the usual model, made once: its pictures take a while."""
    X, y = wave()
    return html(usual(), X, y, history(8, tokens=5), SETTINGS, SUMMARY)


def usual_page() -> Page:
    return Page(usual_text())


def test_the_report_says_everything() -> None:
    page = usual_page()
    assert page.all("html")[0]["lang"] == "en"
    assert any(each.get("name") == "viewport" for each in page.all("meta"))
    assert len(page.all("title")) == len(page.all("h1")) == 1
    for words in (
        "A formula for y", "wave.csv : 50 rows, 1 input column", "sin(2.1*t)/t", "picked by mdl",
        "max_seconds none", "scale yes", "budget 1,000,000", "cell lstm, units 32",
        "expressions 12,345", "the time is up", SUMMARY["command"], "Seed 7; symseek", "NumPy",
    ):  # fmt: skip
        assert words in page.text
    assert len(page.all("math")) == 6  # the picked one, and five on the front


def test_the_picked_row_is_marked() -> None:
    rows = [each for each in usual_page().all("tr") if each.get("class") == "picked"]
    assert len(rows) == 1


def test_pictures_have_captions_and_words_for_those_who_do_not_see_them() -> None:
    page = usual_page()
    assert len(described(page)) == len(page.all("figcaption")) == 7
    for image in described(page):
        assert len(image["aria-label"] or "") > 40
        assert int(image["width"] or 0) > 300
    assert len(drawings(usual_text())) == 7


def test_nothing_comes_from_the_network_and_no_script_runs() -> None:
    text = usual_text()
    page = Page(text)
    assert "http" not in re.sub("http-equiv", "", text)
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.elements}
    assert "default-src 'none'" in text
    assert not re.findall(r"(?:href|src|url)\s*[=(]", text)


def named(name: str) -> Model:
    """A model with a column and a target of this name."""
    quoted = "`" + name.replace("`", "``") + "`"
    return model(["1.5", f"0.5*{quoted}"], [1.0, 0.1], features=[name], target=name)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_harmless(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_html, "pictures", lambda *_: [("<svg></svg>", name)])
    this = named(name)
    X, y = wave()
    settings, summary = {name: name}, {"data": name, "command": name, "seed": name, name: name}
    page = Page(html(this, X, y, [], settings, summary))
    assert not {"script", "b"} & {tag for tag, _ in page.elements}
    known = {"main", "section", "svg", "figure", "table", "math", "code", "h1", "div", "p"}
    assert known <= {tag for tag, _ in page.elements}
    for attributes in (each for _, each in page.elements):
        assert not any(key.startswith("on") for key in attributes)
    Page(table_html(this))


@pytest.mark.parametrize("name", NAMES)
def test_names_are_harmless_in_pictures(name: str) -> None:
    X, y = wave()
    text = html(named(name), X, y, history(3, tokens=5), {}, {})
    assert len(drawings(text)) == 7
    tags = {each.tag for picture in drawings(text) for each in picture.iter()}
    assert tags <= {"svg", "g", "text", "path", "circle", "rect", "polygon"}
    assert NASTY not in text


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is not about them: they take a while."""
    monkeypatch.setattr(report_html, "pictures", lambda *_: [])


@pytest.mark.usefixtures("no_pictures")
def test_validation_is_shown_where_there_is_any() -> None:
    X, y = wave()
    without, with_it = (html(usual(validation=each), X, y, [], {}, {}) for each in (False, True))
    assert "validation R²" not in Page(without).text
    assert "validation R²" in Page(with_it).text


def test_several_targets_are_several_sections() -> None:
    X, y = wave()
    models = [usual(target="first"), usual(target="second")]
    histories = [history(3, tokens=5), []]
    page = Page(html(models, X, np.column_stack([y, 2 * y]), histories, {}, {}))
    assert len(page.all("section")) == 3  # and the settings
    assert "Formulas for first, second" in page.text
    assert len(described(page)) == 7 + 4  # nothing to see of a search without iterations


def test_what_does_not_belong_together_is_refused() -> None:
    X, y = wave()
    with pytest.raises(InputError, match="one column for each of 2 models"):
        html([usual(), usual()], X, y, [[], []], {}, {})
    with pytest.raises(InputError, match="as many histories"):
        html([usual(), usual()], X, np.column_stack([y, y]), history(2), {}, {})


def test_several_inputs_are_shown_as_predictions_against_data() -> None:
    this = model(["x1*x2"], [0.1], features=["x1", "x2"])
    X = np.random.default_rng(0).normal(size=(30, 2))
    page = Page(html([this], X, this.predict(X), [[]], {}, {}))
    assert any("variance" in (each["aria-label"] or "") for each in described(page))


def test_awkward_models_have_a_report() -> None:
    X, y = wave()
    assert "no formula" in Page(html(model([], []), X, y, [], {}, {})).text
    nowhere = Page(html(model(["log(-t)"], [np.nan]), X, y, history(1, tokens=5), {}, {}))
    assert "NRMSE undefined" in nowhere.text
    exact = Page(html(model(["sin(2.1*t)/t"], [0.0]), X, y, [], {}, {}))
    assert "1.0000" in exact.text


def test_a_picture_of_many_rows_stays_small() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 2))
    this = model(["x1*x2"], [0.1], features=["x1", "x2"])
    text = html(this, X, this.predict(X) + rng.normal(size=len(X)), [], {}, {})
    assert len(text) < 1_000_000
    assert text.count("<rect") > 500


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e149])
def test_pictures_of_any_scale_have_ticks_and_finite_places(scale: float) -> None:
    X, y = wave()
    text = html(usual(), X * scale, (y + 1000) * scale, history(3, tokens=5), {}, {})
    for picture in drawings(text):
        words = [each.text or "" for each in picture.iter("text")]
        assert len(words) > 3
        assert "nan" not in ET.tostring(picture, encoding="unicode")


def test_a_report_loads_no_plotting_library() -> None:
    program = """
import sys
sys.path.insert(0, "tests")
from plot_helpers import history, usual, wave
from symseek.report.html import html
html(usual(), *wave(), history(8, tokens=5), {}, {})
assert not {"matplotlib", "pandas", "sympy"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parent.parent)


def test_the_same_run_gives_the_same_bytes() -> None:
    X, y = wave()
    assert html(usual(), X, y, history(8, tokens=5), SETTINGS, SUMMARY) == usual_text()


@pytest.mark.usefixtures("no_pictures")
def test_the_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = wave()
    path = tmp_path / "report.html"
    report(usual(), X, y, [], SETTINGS, SUMMARY, path)
    before = path.read_text(encoding="utf-8")
    Page(before)
    assert stat.S_IMODE(path.stat().st_mode) & 0o444

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        report(usual(), X, 2 * y, [], {}, {}, path)
    assert path.read_text(encoding="utf-8") == before
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_notebook_table_has_a_row_a_formula_and_the_picked_one_bold() -> None:
    page = Page(table_html(usual(validation=True)))
    rows = page.all("tr")
    assert len(rows) == 6
    assert [row["style"] == "font-weight:bold" for row in rows[1:]] == [
        False, False, False, True, False,
    ]  # fmt: skip
    assert len(page.all("math")) == 5
    assert page.text.startswith("row complexity NRMSE R² validation R² y =")
    assert not any("font-family" in (each.get("style") or "") for _, each in page.elements)
