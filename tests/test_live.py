"""What a search tells those who watch its folder."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from run_helpers import Capture, answer, fit, search
from symseek.model import Model
from symseek.regression.regression import Regression
from symseek.runs import live
from symseek.runs.live import Live
from symseek.runs.progress import DISCOVERIES, PROGRESS_FILE

pytestmark = pytest.mark.usefixtures("here")


def read(name: str, folder: Path = Path()) -> Any:
    return json.loads((folder / name).read_text())


@pytest.fixture
def hunt() -> Regression:
    return search(method="dsr", max_seconds=600.0)


def test_a_watcher_sees_how_far_a_search_is(hunt: Regression, monkeypatch: Any) -> None:
    monkeypatch.setattr(live, "EVERY", 0.0)
    seen, watch = [], Live(Path(), hunt)

    def look(now: Any) -> None:
        watch(now)
        seen.append(read(PROGRESS_FILE))

    result = hunt.run(look)
    assert [each["expressions"] for each in seen] == [each.expressions for each in result.history]
    assert {each["state"] for each in seen} == {"searching"}
    assert all(each["most"] == hunt.search.config.max_expressions for each in seen)
    assert all(each["max_seconds"] == hunt.settings.max_seconds for each in seen)
    assert all(0 < each["share"] <= 1 for each in seen)
    watch.finishing()
    assert read(PROGRESS_FILE)["state"] == "finishing"
    watch.ended(result, hunt.model())
    last = read(PROGRESS_FILE)
    assert (last["state"], last["ended"], last["why"]) == (
        "ended",
        result.stopped.name,
        result.stopped.value,
    )
    assert [each["state"] for each in last["seeds"]] == ["ended"]


def test_the_progress_is_not_written_too_often(hunt: Regression, monkeypatch: Any) -> None:
    clock, written = [0.0], []
    monkeypatch.setattr(live.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(live, "write_regular", lambda path, text, lasting: written.append(clock[0]))
    hunt.run()
    watch = Live(Path(), hunt)
    for _ in range(100):
        clock[0] += 0.03
        watch(hunt.search.state.history[-1])
    assert min(b - a for a, b in pairwise(written)) >= live.EVERY


def test_the_error_over_time_falls_and_a_run_that_goes_on_keeps_it(hunt: Regression) -> None:
    watch = Live(Path(), hunt)
    hunt.run(watch)
    watch.finishing()
    course = read(PROGRESS_FILE)["course"]
    assert course[0] == [0.0, 1.0]
    times, errors = zip(*course, strict=True)
    assert list(times) == sorted(times)
    assert all(b < 0.99 * a for a, b in pairwise(errors))
    again = Live(Path(), hunt)
    again.finishing()
    assert read(PROGRESS_FILE)["course"] == course


def test_what_was_found_without_an_iteration_is_in_the_course(hunt: Regression) -> None:
    hunt.run()
    watch = Live(Path(), hunt)
    watch._course = [(0.0, 1.0)]  # as if no iteration had come to its end
    watch.finishing()
    record = read(PROGRESS_FILE)
    assert record["course"] == [[0.0, 1.0], [record["seconds"], record["seeds"][0]["nrmse"]]]


def test_the_course_stays_short(hunt: Regression) -> None:
    hunt.run()
    watch, best = Live(Path(), hunt), hunt.search.front.best
    assert best is not None
    for step in range(2000):
        watch._errors[best.program] = 0.98**step * 1e-3
        watch._follow(float(step), best)
    assert len(watch._course) <= 301
    assert watch._course[0] == (0.0, 1.0)
    assert watch._course[-1][0] == 1999.0


def with_error(model: Model, nrmse: float, text: str) -> Model:
    best = replace(model.best, nrmse=nrmse, text=text)
    rows = [best if row == model.picked else each for row, each in enumerate(model.formulas)]
    return replace(model, formulas=tuple(rows))


def test_a_formula_with_a_clearly_smaller_error_is_a_discovery(hunt: Regression) -> None:
    hunt.run()
    watch, model = Live(Path(), hunt), hunt.model(final=False)
    for text, error in (("a", 0.5), ("b", 0.46), ("c", 0.25), ("d", math.inf), ("e", 1e-3)):
        watch.discovered(with_error(model, error, text))
    found = read(DISCOVERIES)
    assert [each["text"] for each in found] == ["a", "c", "e"]
    assert [each["before"] for each in found] == [None, 0.5, 0.25]
    later = Live(Path(), hunt)  # of a run that continues
    later.discovered(with_error(model, 0.9e-3, "f"))
    assert [each["text"] for each in read(DISCOVERIES)] == ["a", "c", "e", "f"]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"nrmse": "no"}]', "[" * 5000, "\0"])
def test_discoveries_that_cannot_be_read_are_begun_anew(content: str, hunt: Regression) -> None:
    Path(DISCOVERIES).write_text(content)
    hunt.run()
    Live(Path(), hunt).discovered(hunt.model(final=False))
    assert len(read(DISCOVERIES)) == 1


def test_several_seeds_are_told_one_by_one(capsys: Capture) -> None:
    folder = fit(capsys, "--seeds", 2, "--method", "dsr")
    seeds = read(PROGRESS_FILE, folder)["seeds"]
    assert [each["seed"] for each in seeds] == [0, 1]
    assert all(each["state"] == "ended" and each["nrmse"] < 1 for each in seeds)
    assert read(PROGRESS_FILE, folder)["expressions"] == sum(each["expressions"] for each in seeds)


def test_a_new_fit_in_the_folder_forgets_what_was_discovered(capsys: Capture) -> None:
    folder = fit(capsys)
    (folder / DISCOVERIES).write_text('[{"nrmse": 1e-30}]')
    words = ("--target", "y", "--out", folder, "--max-expressions", 2000, "--quiet", "--force")
    assert answer(capsys, "fit", "data.csv", *words).code == 0
    assert read(DISCOVERIES, folder)[0]["nrmse"] > 1e-30
