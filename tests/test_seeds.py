"""Several seeds: each is the search that it would be alone, and their formulas become one front."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refusals import refused
from run_helpers import SHORT, answer, fit, write_table
from symseek import Stopped, SymbolicRegressor
from symseek.front import Entry
from symseek.loop import Iteration
from symseek.model import Model
from symseek.regression.regression import Regression
from symseek.runs.folder import RunFolder
from symseek.settings import Settings

Capture = pytest.CaptureFixture[str]

DRAW = np.random.default_rng(3)
X = DRAW.uniform(0.5, 3, (120, 2))
Y = X[:, 0] ** 2 / (1 + X[:, 1]) + 0.3 * np.sin(4 * X[:, 0]) + 0.05 * DRAW.normal(size=120)


def regression(**options: Any) -> Regression:
    given = {"max_expressions": 3_000, "max_seconds": None, "structure": False, **options}
    return Regression(X, Y, ["a", "b"], Settings(**given))


def entries(found: Regression) -> list[list[Entry]]:
    return [list(search.front) for search in found.searches]


@pytest.fixture(scope="module")
def three() -> Regression:
    found = regression(seed=5, seeds=3, structure=True)
    found.run()
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "data.csv")
    return tmp_path


@pytest.mark.slow
def test_each_seed_is_the_search_that_it_would_be_alone(three: Regression) -> None:
    alone = [regression(seed=5 + at, structure=True) for at in range(3)]
    results = [each.run() for each in alone]
    assert entries(three) == [list(each.search.front) for each in alone]
    assert sum(each.expressions for each in three.searches) == sum(
        each.expressions for each in results
    )


@pytest.mark.slow
def test_the_front_is_the_best_of_all(three: Regression) -> None:
    model = three.model()
    nrmse = min(each.nrmse for each in model.formulas)
    for seed in range(5, 8):
        alone = regression(seed=seed)
        alone.run()
        assert nrmse <= min(each.nrmse for each in alone.model().formulas) * 1.001


@pytest.mark.slow
def test_a_result_counts_on(three: Regression) -> None:
    again = regression(seed=5, seeds=3)
    seen: list[Iteration] = []
    result = again.run(seen.append)  # type: ignore[func-returns-value]
    assert result.stopped is Stopped.BUDGET
    assert result.expressions == sum(each.expressions for each in three.searches)
    counts = [now.expressions for now in result.history]
    assert counts == sorted(set(counts))
    assert counts[-1] == result.expressions
    assert [now.iteration for now in result.history] == list(range(1, len(seen) + 1))
    bests = [now.best.reward for now in result.history if now.best is not None]
    assert bests == sorted(bests)
    assert result.best is not None
    assert result.best.reward == bests[-1]


def test_the_table_says_how_many_seeds_came_to_a_formula(three: Regression) -> None:
    model = three.model()
    assert "  seeds  y =" in str(model).splitlines()[0]
    counts = [each.seeds for each in model.formulas]
    assert all(each is not None and 0 <= each[0] <= each[1] == 3 for each in counts)
    assert Model.from_dict(json.loads(json.dumps(model.to_dict()))).formulas == model.formulas
    told = ["{}/{}".format(*each) if each and each[0] else "-" for each in counts]
    assert list(model.frame()["seeds"]) == told


def test_a_law_that_every_seed_finds() -> None:
    y = 2.5 * X[:, 0] * X[:, 1] + 0.05 * np.random.default_rng(0).normal(size=len(X))
    settings = Settings(max_expressions=3_000, seeds=3, max_seconds=None)
    found = Regression(X, y, ["a", "b"], settings)
    found.run()
    best = found.model().best
    assert best.text.endswith("a*b")
    assert best.seeds == (3, 3)


def test_an_exact_formula_ends_it() -> None:
    found = Regression(X, X[:, 0] * X[:, 1], ["a", "b"], Settings(seeds=4, max_seconds=None))
    assert found.run().stopped is Stopped.EXACT
    assert [each.iteration > 0 for each in found.searches] == [True, False, False, False]
    assert found.finished is Stopped.EXACT
    assert found.model().best.seeds is None  # of one seed there is nothing to tell


def test_a_callback_ends_it() -> None:
    found = regression(seeds=3)
    assert found.run(lambda _: True).stopped is Stopped.CALLBACK
    assert [each.iteration for each in found.searches] == [1, 0, 0]


@pytest.mark.slow
def test_a_fit_goes_on_after_an_interrupt_in_a_later_seed(three: Regression) -> None:
    found = regression(seed=5, seeds=3, structure=True)

    def interrupt(now: Iteration) -> None:
        if found.search is found.searches[1]:
            raise KeyboardInterrupt

    assert found.run(interrupt).stopped is Stopped.INTERRUPTED
    assert found.finished is None
    assert found.model(final=False).formulas
    found.run()
    assert entries(found) == entries(three)
    assert found.model() == three.model()


def test_a_raised_budget_is_one_for_each(three: Regression) -> None:
    found = regression(seed=5, seeds=3, max_expressions=2_000, patience=None)
    found.run()
    spent = [each.expressions for each in found.searches]
    found.raise_budget(Settings(max_expressions=1_000))
    assert found.finished is None
    found.run()
    more = [after.expressions - before for after, before in zip(found.searches, spent, strict=True)]
    assert all(0 < each <= 1_000 for each in more)


@pytest.mark.parametrize("seeds", [0, 101, 1.5, True, "2"])
def test_what_is_no_number_of_seeds(seeds: Any) -> None:
    with refused("seeds", wanted="a whole number from 1 to 100"):
        Settings(seeds=seeds)


def test_the_last_seed_is_followed_by_the_first() -> None:
    found = regression(seed=2**64 - 1, seeds=2)
    assert [each.seed for each in found.searches] == [2**64 - 1, 0]


@pytest.mark.slow
def test_the_estimator(three: Regression) -> None:
    given: dict[str, Any] = {"max_expressions": 3_000, "max_seconds": None}
    model = SymbolicRegressor(random_state=5, seeds=3, **given).fit(X, Y)
    assert [each.r2 for each in model.models_[0].formulas] == [
        each.r2 for each in three.model().formulas
    ]
    assert "seeds" in model.front_


# The command line.


def test_a_run_on_disk(here: Path, capsys: Capture) -> None:
    folder = fit(capsys, "--seeds", 3)
    names = {path.name for path in folder.iterdir()}
    assert {"checkpoint", "checkpoint-2", "checkpoint-3"} <= names
    assert RunFolder.open(folder).complete
    said = answer(capsys, "show", folder)
    assert "/3  " in said.out
    said = answer(capsys, "resume", folder, "--quiet")
    assert said.code == 2
    assert "is finished" in said.err
    answer(capsys, "fit", "data.csv", "--target", "y", "--out", folder, "--force", *SHORT)
    assert "checkpoint-2" not in {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("lost", [("checkpoint-3",), ("checkpoint-2", "checkpoint-3")])
def test_a_killed_run_comes_to_the_same(lost: tuple[str, ...], here: Path, capsys: Capture) -> None:
    folder = fit(capsys, "--seeds", 3)
    shutil.copytree(folder, "killed")
    for name in (*lost, "front.csv"):
        Path("killed", name).unlink()
    assert answer(capsys, "resume", "killed", "--quiet").code == 0
    for name in ("front.json", "front.csv"):
        assert Path("killed", name).read_bytes() == (folder / name).read_bytes()


def test_more_for_each(here: Path, capsys: Capture) -> None:
    folder = fit(capsys, "--seeds", 2)
    said = answer(capsys, "resume", folder, "--quiet", "--max-expressions", 4_000)
    assert said.code == 0
    (line,) = [line for line in said.out.splitlines() if " expressions in " in line]
    assert 6_000 < int(line.split()[0].replace(",", "")) <= 8_000


def test_the_command_repeats_it(here: Path, capsys: Capture) -> None:
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--seeds", 2, *SHORT)
    assert "repeat it: symseek fit data.csv --target y --max-expressions 2000 --seeds 2" in said.out


def test_no_count_repeats_several_that_the_clock_ended(here: Path, capsys: Capture) -> None:
    words = ("--seeds", 2, "--max-seconds", 0.2, "--patience", "none", "--quiet")
    said = answer(capsys, "fit", "data.csv", "--target", "y", *words)
    assert "the time is up" in said.out
    assert "repeat it" not in said.out
