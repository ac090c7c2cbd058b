"""Proposals: the structure of the data as part of a search, with its budgets and its state."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import mostly_slow
from symseek import Evolution, Programs, Stopped, SymbolicRegressor, presets
from symseek.constraints import paper_constraints
from symseek.loop import StepContext
from symseek.regression.regression import Regression, simple_programs
from symseek.runs.checkpoint import restore, save
from symseek.search import Search
from symseek.settings import Settings
from symseek.structure import proposals
from symseek.structure.proposals import Proposals

ROWS = 300
DRAW = np.random.default_rng(4)
X = DRAW.uniform(1, 3, (ROWS, 3))
LAW = X[:, 0] * np.tanh(X[:, 1] / X[:, 2]) * np.sqrt(X[:, 0] / X[:, 2])
NOISE = DRAW.normal(size=ROWS)
Y = LAW + 0.05 * LAW.std() * NOISE


def regression(
    y: np.ndarray = Y, inputs: np.ndarray = X, weights: np.ndarray | None = None, **options: Any
) -> Regression:
    """A small search."""
    steps = {"generations": 3, "pairing": 2, "pairs": 20}
    small = {"batch_size": 100, "max_expressions": 5_000, "evolution": Evolution(**steps)}
    own = {
        name: options.pop(name) for name in ("max_expressions", "max_seconds") if name in options
    }
    config = presets.hybrid(**{**small, **own})
    settings = Settings(**{"config": config, "max_length": 30, **options})
    features = [f"x{at + 1}" for at in range(inputs.shape[1])]
    return Regression(inputs, y, features, settings, weights=weights)


def of(found: Regression) -> Proposals:
    asked = found.search.proposals
    assert isinstance(asked, Proposals)
    return asked


def outcome(found: Regression) -> Any:
    """All that a search came to, to the last bit."""
    front = [(each.program, each.reward, each.found_at) for each in found.search.front]
    state = found.search.state
    rows = [(now.mean_reward, now.expressions, now.tokens) for now in state.history]
    return front, rows, state.weights.tobytes(), state.expressions


@pytest.fixture(scope="module")
def whole() -> Regression:
    found = regression()
    found.run()
    return found


def test_a_view_is_searched_and_counted(whole: Regression) -> None:
    assert len(of(whole).transform.columns) == 1
    assert whole.search.iteration > 3
    best = whole.model(final=False).formulas[-1]
    assert best.nrmse < 1.1 * 0.05  # the noise


@pytest.mark.parametrize("threads", mostly_slow([2, 3], 2))
def test_threads_change_nothing(whole: Regression, threads: int) -> None:
    other = regression(threads=threads)
    other.run()
    assert outcome(other) == outcome(whole)


def test_a_stop_changes_nothing(whole: Regression, tmp_path: Path) -> None:
    """A search that is killed continues from its last checkpoint, in a new process."""
    saved = regression()
    saved.run(lambda now: save(saved.search, tmp_path / f"after {now.iteration}"))
    for k in range(1, saved.search.iteration + 1):
        again = regression(threads=1 + k % 2)
        restore(again.search, tmp_path / f"after {k}")
        again.run()
        assert outcome(again) == outcome(whole)


def test_a_larger_budget_goes_on(tmp_path: Path) -> None:
    """Not to the last bit, as the small one ended within an iteration; but it does continue."""
    found = regression(max_expressions=2_000)
    found.run()
    before = found.search.front.best
    found.search.raise_budget(2_000, None)
    found.run()
    assert 3_900 <= found.search.expressions <= 4_000
    assert found.search.front.best is not None
    assert before is not None
    assert found.search.front.best.reward >= before.reward


# What is counted.


@pytest.mark.parametrize(
    "budget", mostly_slow([*range(100, 1_000, 60), 1_500, 2_345, 5_000], 100, 460, 880, 2_345)
)
def test_every_expression_is_counted_and_none_is_too_many(
    budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = 0
    grade, fit = StepContext.grade, proposals.fit_constants

    def graded(self: StepContext, programs: Programs, *args: Any, **kwargs: Any) -> Any:
        nonlocal counted
        counted += len(programs)
        return grade(self, programs, *args, **kwargs)

    def fitted(programs: Programs, *args: Any, **kwargs: Any) -> Any:
        nonlocal counted
        counted += len(programs)
        return fit(programs, *args, **kwargs)

    monkeypatch.setattr(StepContext, "grade", graded)
    monkeypatch.setattr(proposals, "fit_constants", fitted)
    found = regression(max_expressions=budget)
    result = found.run()
    assert result.expressions == found.search.expressions == counted <= budget
    assert result.stopped is Stopped.BUDGET
    assert budget - counted < 2


def test_programs_are_as_short_as_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Programs] = []
    joined = Search._joined

    def watched(self: Search, batch: Any, proposed: Programs, context: StepContext) -> Any:
        seen.append(proposed)
        result = joined(self, batch, proposed, context)
        assert result.programs.lengths.max() <= 12  # what is bred on is no longer than allowed
        return result

    monkeypatch.setattr(Search, "_joined", watched)
    regression(max_length=12).run()
    assert len(seen) > 2
    assert max((int(each.lengths.max()) for each in seen if len(each)), default=0) <= 12


def test_an_exact_law_ends_the_search_at_once() -> None:
    found = regression(LAW / np.tanh(X[:, 1] / X[:, 2]) / (1 + X[:, 1] / X[:, 2]))
    result = found.run()
    assert result.stopped is Stopped.EXACT
    assert len(result.history) == 1


# When it is not used.


def test_without_structure_it_is_the_search_on_the_rows(whole: Regression) -> None:
    found = regression(structure=False)
    assert found.search.proposals is None
    plain = Search(
        found.library,
        found.rows.searched.X,
        found.rows.searched.y,
        found.search.config,
        weights=found.rows.searched.weights,
        constraints=paper_constraints(low=4, high=30, constants=found.search.config.max_constants),
    )
    plain.consider(simple_programs(found.library))
    plain.run()
    found.run()
    front = [(each.program, each.reward) for each in found.search.front]
    assert front == [(each.program, each.reward) for each in plain.front]
    assert found.search.expressions == plain.expressions
    assert outcome(found) != outcome(whole)


@pytest.mark.parametrize(
    "options",
    [{"reward": "inverse_mae"}, {"structure": False}],
    ids=["other errors", "not wanted"],
)
def test_where_it_does_not_apply(options: dict[str, Any]) -> None:
    assert regression(**options).search.proposals is None


@pytest.mark.parametrize("method", ["dsr", "pqt", "vpg"])
def test_the_methods_of_the_paper_do_without(method: str) -> None:
    found = Regression(X, Y, ["a", "b", "c"], Settings(method=method))
    assert found.search.proposals is None


@pytest.mark.parametrize(
    "reward", mostly_slow(["inverse_nrmse", "r2", "inverse_nmse", "inverse_mse"], "r2")
)
def test_rewards_of_squared_errors_use_it(reward: str) -> None:
    found = regression(reward=reward, max_expressions=1_500)
    assert found.run().expressions <= 1_500
    assert len(of(found).transform.columns) == 1


# Stops.


class _Slow:
    """Time that passes only when it is asked for."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.01
        return self.now


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.06, 0.2, 0.5, 2.0, 5.0, 10.0])
def test_the_time_ends_it_and_a_count_repeats_it(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "perf_counter", _Slow())
    found = regression(max_seconds=seconds, max_expressions=1_000_000, patience=None)
    result = found.run()
    assert result.stopped is Stopped.TIME
    assert result.repeated_by is not None
    monkeypatch.undo()
    aided = not found.search.state.without_proposals
    assert aided == (seconds > 1)  # to look for structure takes longer than the shorter ones
    again = regression(max_expressions=result.repeated_by, structure=aided, patience=None)
    assert again.run().expressions == result.expressions
    assert outcome(again) == outcome(found)
    assert again.model() == found.model()


def test_what_takes_too_long_is_told_and_made_up_for_with_more_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "perf_counter", _Slow())
    found = regression(max_seconds=0.5)
    found.run()
    monkeypatch.undo()
    assert found.structure is not None
    assert "more than 75% of `max_seconds`" in found.structure
    spent = found.search.expressions
    found.raise_budget(Settings(max_expressions=5_000, max_seconds=None))
    found.run()
    assert not found.search.state.without_proposals
    assert found.search.expressions > spent + of(found)._cost
    assert found.structure == "as far as the rows show, " + of(found).transform.sentence("y")


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_candidates_are_fitted_the_same_a_few_at_a_time(
    size: int, whole: Regression, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "_AT_A_TIME", size)
    assert of(regression())._fitted == of(whole)._fitted


@pytest.mark.parametrize(
    "where", ["reducing_transform", "exact_candidates", "near_candidates", "fit_constants", "step"]
)
def test_an_interrupt_inside_leaves_a_state_to_go_on_from(
    where: str, whole: Regression, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = regression()

    def interrupt(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    searched = of(found).searched
    with monkeypatch.context() as patch:
        if where == "step":
            of(found).searched = interrupt  # the search in the transform's columns is made here
        else:
            patch.setattr(proposals, where, interrupt)
        result = found.run()
    assert result.stopped is Stopped.INTERRUPTED
    assert found.search.iteration == 0
    assert found.model(final=False).best.text
    of(found).searched = searched
    found.search.run()  # without the first programs, which have been graded
    assert outcome(found) == outcome(whole)


# Tables.


def exact(inputs: np.ndarray, y: np.ndarray, **options: Any) -> Regression:
    found = regression(y, inputs, **options)
    result = found.run()
    assert result.stopped is Stopped.EXACT
    assert found.model().best.nrmse < 1e-9
    return found


SIMPLE = X[:, 0] / np.sqrt(1 + (X[:, 1] / X[:, 2]) ** 2)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("units", [(1e-12, 1e15, 1e15), (1e6, 1e-9, 1e-9), (1e100, 1, 1)])
def test_units(units: tuple[float, ...], scale: bool) -> None:
    found = exact(X * units, SIMPLE * units[0], scale=scale)
    assert len(of(found).transform.columns) == 1


@pytest.mark.parametrize("extra", ["constant", "twice", "other unit", "zero", "noise"])
def test_columns_of_no_use(extra: str) -> None:
    column = {
        "constant": np.full(ROWS, 3.0),
        "twice": X[:, 1],
        "other unit": 1e6 * X[:, 1],
        "zero": np.zeros(ROWS),
        "noise": NOISE,
    }[extra]
    found = exact(np.column_stack([X, column]), SIMPLE)
    assert len(of(found).transform.columns) == 1


def test_negative_targets_and_weights() -> None:
    weights = np.random.default_rng(0).uniform(0, 2, ROWS)
    weights[:50] = 0.0
    y = -SIMPLE.copy()
    y[:50] = 7.0  # which counts for nothing
    exact(X, y, weights=weights)


@pytest.mark.parametrize("rows", [3, 5, 12, 40])
def test_few_rows(rows: int) -> None:
    """As many features as rows fit anything: nothing of that may be proposed as exact."""
    rng = np.random.default_rng(rows)
    found = regression(rng.normal(size=rows), rng.uniform(1, 2, (rows, 2)), max_expressions=1_500)
    assert found.run().stopped is Stopped.BUDGET
    assert found.model().best.complexity <= 20


def test_a_target_that_is_a_product_needs_no_search() -> None:
    found = exact(X, 4.2 * X[:, 0] ** 2 / X[:, 2])
    assert of(found).transform.columns == ()
    assert len(found.search.history) == 1


def test_columns_by_any_name() -> None:
    """The transform's own names are z1, z2, ...: the table's may be the same, in another order."""
    found = Regression(X, Y, ["z2", "z1", "z1_"], Settings(max_expressions=2_000))
    found.run()
    assert found.model(final=False).best.nrmse < 1


def test_a_fitted_estimator_can_be_pickled() -> None:
    model = SymbolicRegressor(max_expressions=3_000, max_seconds=None).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert str(again) == str(model)


# Machines.

CHILD = """
import numpy as np
from symseek.regression.regression import Regression
from symseek.settings import Settings
draw = np.random.default_rng(3)
X = draw.uniform(1, 3, (300, 3))
y = X[:, 0] * np.tanh(X[:, 1] / X[:, 2]) * (1 + 0.05 * draw.normal(size=300))
found = Regression(X, y, ["a", "b", "c"], Settings(max_expressions=3_000))
found.run()
print(found.structure, [(each.program.preorder(), each.reward) for each in found.search.front])
"""


@pytest.mark.slow
def test_other_linear_algebra_gives_the_same() -> None:
    """Kernels for other processors round otherwise; where NumPy has no OpenBLAS they are one."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", CHILD],
            env={**os.environ, **kernel},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for kernel in ({}, {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1"})
    ]
    assert "y/a depends on" in printed[0]
    assert printed[0] == printed[1]
