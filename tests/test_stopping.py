"""When a fit ends: a formula is exact, what is left is noise by a test, or the time is up."""

from __future__ import annotations

import json
import re
import shlex
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from run_helpers import Capture, answer
from symseek import Library, Search, SearchConfig, Stopped, SymbolicRegressor
from symseek.arrays import Floats
from symseek.display import SearchProgress
from symseek.jobs.spec import Spec
from symseek.lab.gpu.limits import why_not
from symseek.lab.srbench.execute import METHOD, settings_of
from symseek.regression.regression import Regression
from symseek.runs.recorder import how_far
from symseek.settings import Settings

DRAW = np.random.default_rng(0)
LINE = np.linspace(-1, 1, 50)
CURVE, NOISE = LINE + LINE**3, 2 * LINE + 0.3 * DRAW.normal(size=50)
SUMS = ("add", "sub")  # with which no search finds more than a line


def regression(y: Floats, X: Floats = LINE[:, None], **changes: object) -> Regression:
    given = {"operators": SUMS, "patience": 2_000, "max_seconds": None, **changes}
    names = [f"x{at}" for at in range(X.shape[1])]
    return Regression(X, y, names, Settings(**given))  # type: ignore[arg-type]


class Ticking:
    """A clock that continues a little at every look."""

    def __init__(self, tick: float = 0.01) -> None:
        self.now, self.tick = 0.0, tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


# --- the rule


def test_a_pattern_is_searched_for_however_many_expressions_it_takes() -> None:
    found = regression(CURVE, max_expressions=None, max_seconds=60.0, method="dsr")
    found.run(lambda now: now.expressions > 5_000)
    assert found.search.state.restarted_at > 0  # it has begun anew
    later = replace(found.search.state, expressions=50_000_000)
    found.search.state = later
    assert found.finished is None
    found.search.state = replace(later, seconds=60.0)
    assert found.finished is Stopped.TIME


def test_a_fit_has_a_minute_and_no_limit_on_expressions() -> None:
    settings = Settings()
    assert (settings.max_expressions, settings.max_seconds) == (None, 60.0)
    assert SymbolicRegressor().max_expressions is None
    assert settings.search_config().max_expressions is None
    assert Regression(LINE[:, None], CURVE, ["x"]).most_expressions is None


@pytest.mark.parametrize("method", ["hybrid", "dsr"])
def test_noise_ends_a_search_at_the_same_count_whatever_its_budget(method: str) -> None:
    budgets = None, 200_000, 10**9
    results = [regression(NOISE, max_expressions=n, method=method).run() for n in budgets]
    assert {each.stopped for each in results} == {Stopped.EARLY}
    assert len({each.expressions for each in results}) == 1
    assert results[0].expressions < 20_000  # an iteration of the hybrid or two


def test_noise_beside_idle_columns_ends_soon() -> None:
    X = DRAW.normal(size=(150, 12))
    found = regression(DRAW.normal(size=150), X, operators=("add", "mul", "div", "sin"))
    result = found.run()
    assert result.stopped is Stopped.EARLY
    assert result.expressions < 40_000


def test_patience_alone_ends_a_search_on_fewer_than_eight_rows() -> None:
    x = np.linspace(-1, 1, 6)
    assert regression(x + x**3 / 2, x[:, None]).run().stopped is Stopped.EARLY


def test_without_patience_a_search_neither_ends_nor_begins_anew() -> None:
    for y in (CURVE, NOISE):
        found = regression(y, patience=None, max_expressions=20_000)
        assert found.run().stopped is Stopped.BUDGET
        assert found.search.state.restarted_at == 0


def test_an_exact_formula_ends_a_search_without_budgets() -> None:
    found = regression(2 * LINE + LINE**2, operators=("add", "mul"))
    assert found.run().stopped is Stopped.EXACT


def test_each_ending_is_a_plain_sentence() -> None:
    said = {each.name: each.value for each in Stopped}
    assert said["EARLY"] == (
        "what is left cannot be distinguished from noise, and the search has stopped improving"
    )
    assert said["TIME"] == "the time is up"
    assert not any("early stopping" in each or "for long" in each for each in said.values())


def test_the_help_has_the_rule(capsys: Capture) -> None:
    said = " ".join(answer(capsys, "fit", "--help").out.split())
    rule = (
        "A fit searches until a formula is exact, or what is left cannot be distinguished from"
        " noise by a test, or the time is up"
    )
    assert rule in said
    assert "how many formulas to try at most, or none for no limit; default none" in said
    docs = Path(__file__).parents[1] / "docs" / "getting-started.md"
    assert rule in " ".join(docs.read_text(encoding="utf-8").split())
    assert rule in " ".join((SymbolicRegressor.__doc__ or "").split())


# --- a count of expressions repeats what the clock has ended


@pytest.mark.parametrize(
    ("method", "seconds"), [("hybrid", 1.0), ("dsr", 0.4), ("dsr", 0.43), ("dsr", 0.8)]
)
def test_a_search_that_began_anew_is_repeated_by_its_count(
    method: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "perf_counter", Ticking())
    timed = regression(CURVE, max_seconds=seconds, patience=1_000, method=method, structure=False)
    result = timed.run()
    assert result.stopped is Stopped.TIME
    assert result.repeated_by is not None
    assert timed.search.state.restarted_at > 0
    monkeypatch.undo()
    settings = replace(timed.settings, max_seconds=None, max_expressions=result.repeated_by)
    again = Regression(LINE[:, None], CURVE, ["x0"], settings)
    assert again.run().expressions == result.expressions
    assert again.search.state.restarted_at == timed.search.state.restarted_at
    assert again.search.state.weights.tobytes() == timed.search.state.weights.tobytes()
    assert again.search.front == timed.search.front
    assert again.model() == timed.model()


def write_curve(path: Path) -> None:
    rows = "\n".join(f"{x},{y}" for x, y in zip(LINE.tolist(), CURVE.tolist(), strict=True))
    path.write_text(f"x,y\n{rows}\n")


FIT = ("fit", "curve.csv", "--target", "y", "--operators", "add,sub", "--patience", "1000")


def test_the_command_of_a_search_that_began_anew_is_printed(capsys: Capture, here: Path) -> None:
    write_curve(here / "curve.csv")
    said = answer(capsys, *FIT, "--max-seconds", "0.7", "--quiet", "--out", "timed")
    (command,) = re.findall(r"^repeat it: (.+)$", said.out, re.MULTILINE)
    assert re.search(r"--max-expressions \d+ --max-seconds none", command)
    again = answer(capsys, *shlex.split(command)[1:], "--quiet", "--out", "again")
    assert again.code == 0
    assert Path("again/front.json").read_bytes() == Path("timed/front.json").read_bytes()


@pytest.mark.parametrize(
    ("law", "reason"),
    [
        (np.sin(3 * LINE) + 0.1 * np.random.default_rng(0).normal(size=len(LINE)), Stopped.EARLY),
        (LINE * LINE + LINE, Stopped.EXACT),
    ],
)
def test_a_run_that_ended_by_itself_is_repeated_without_its_clock(
    law: np.ndarray, reason: Stopped, capsys: Capture, here: Path
) -> None:
    rows = "\n".join(f"{x},{y}" for x, y in zip(LINE.tolist(), law.tolist(), strict=True))
    (here / "law.csv").write_text(f"x,y\n{rows}\n")
    words = ("fit", "law.csv", "--target", "y", "--patience", "2000", "--max-seconds", "1000")
    words = (*words, "--no-structure") if reason is Stopped.EARLY else words
    said = answer(capsys, *words, "--quiet", "--threads", "1", "--out", "timed")
    (command,) = re.findall(r"^repeat it: (.+)$", said.out, re.MULTILINE)
    assert re.search(r"--max-expressions \d+ --max-seconds none", command)
    once = "--quiet", "--threads", "2", "--out", "again"
    again = answer(capsys, *shlex.split(command)[1:], *once)
    assert f": {reason.value}\n" in said.out
    assert f": {reason.value}\n" in again.out
    assert Path("again/front.json").read_bytes() == Path("timed/front.json").read_bytes()


def test_a_run_whose_time_was_up_continues_with_more(capsys: Capture, here: Path) -> None:
    write_curve(here / "curve.csv")
    answer(capsys, *FIT, "--max-seconds", "0.3", "--quiet", "--out", "run")
    assert json.loads(Path("run/settings.json").read_text())["settings"]["max_expressions"] is None
    progress = json.loads(Path("run/progress.json").read_text())
    assert (progress["most"], progress["ended"]) == (None, "TIME")
    refused = answer(capsys, "resume", "run", "--quiet")
    assert refused.code == 2
    assert "the time is up; give a larger --max-seconds, or none, to continue" in refused.err
    more = answer(capsys, "resume", "run", "--max-seconds", "0.6", "--quiet")
    assert more.code == 0
    after = json.loads(Path("run/progress.json").read_text())
    assert after["expressions"] > progress["expressions"]


def test_a_run_with_a_count_continues_without_one(capsys: Capture, here: Path) -> None:
    write_curve(here / "curve.csv")
    answer(capsys, *FIT, "--max-expressions", "2000", "--quiet", "--out", "run")
    words = ("--max-expressions", "none", "--max-seconds", "0.6", "--quiet")
    assert "the time is up" in answer(capsys, "resume", "run", *words).out


# --- what is shown without a budget


def test_progress_without_a_budget_has_no_share() -> None:
    found = regression(CURVE)
    now = found.run(lambda now: True).history[-1]
    progress = SearchProgress(found, now)
    assert (progress.share, progress.left, progress.percent) == (None, None, "")
    assert str(progress).endswith("/s")
    limited = regression(CURVE, max_seconds=1e6)
    timed = SearchProgress(limited, now)
    # Of its seconds, a search leaves some for what comes after it.
    seconds = limited.search.config.max_seconds
    assert timed.share == pytest.approx(now.seconds / seconds)
    assert 0.9e6 < seconds < 1e6
    assert str(timed).endswith("left at most")


def test_how_far_a_run_without_a_limit_is() -> None:
    record = {"expressions": 1234, "most": None, "seconds": 2.5}
    assert how_far(record) == ": 1,234 expressions in 2.5 s"
    assert how_far({**record, "most": 5000}) == ": 1,234 of at most 5,000 expressions in 2.5 s"
    assert "cannot be read" in how_far({**record, "most": "5"})


# --- the searches beneath


def test_a_search_may_have_no_limit() -> None:
    library = Library(["add", "mul"], variables=["x"])
    config = SearchConfig(max_expressions=None, batch_size=100)
    search = Search(library, LINE, CURVE, config)
    result = search.run(lambda now: now.iteration == 3)
    assert (result.stopped, result.expressions) == (Stopped.CALLBACK, 300)
    search.raise_budget(500, None)
    assert search.run().stopped is Stopped.BUDGET
    search.raise_budget(None, None)
    assert search.finished is None
    reason = why_not(config, search.judged_by, search.rules, 50)  # type: ignore[arg-type]
    assert reason == "without a budget of expressions searches end on the host"


def test_srbench_keeps_its_limit_of_a_million_evaluations() -> None:
    spec = Spec(METHOD, "feynman_I_12_1", 0, {"noise": 0.0})
    assert settings_of(spec).max_expressions == 1_000_000
