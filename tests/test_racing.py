"""Racing: who continues to more rows, what the front may see, and that nothing else decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from oracle.racing import Grade, race
from refusals import refused
from symseek import (
    Evolution,
    FitConfig,
    InputError,
    Library,
    Program,
    Programs,
    Racing,
    Search,
    SearchConfig,
    presets,
)
from symseek.data import Data
from symseek.evaluation import Grader, data_grader
from symseek.front import Entry, Front
from symseek.racing import Racer
from symseek.rewards import ErrorReward, reward_named
from symseek.runs import checkpoint

LIBRARY = Library(["add", "sub", "mul", "div", "sin", "exp", "log", "const"], ["x", "y"])
PLAIN = Library(["add", "sub", "mul", "div", "sin", "exp", "log"], ["x", "y"])
QUICK = Racing(rows=16, steps=4, keep=0.2, doubt=1.0)


def table(rows: int, seed: int = 0, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 3.0, (rows, 2))
    y = 2.3 * X[:, 0] * np.exp(-0.7 * X[:, 1]) + np.sin(X[:, 0])
    return X, y + noise * rng.normal(size=rows)


def hunt(rows: int = 600, library: Library = LIBRARY, **options: Any) -> Search:
    """A search that races."""
    given = {key: options.pop(key) for key in ("reward", "weights", "threads") if key in options}
    config = presets.hybrid(
        **{
            "racing": QUICK,
            "batch_size": 200,
            "max_expressions": 3_000,
            "evolution": Evolution(generations=4, pairing=2, pairs=20),
            **options,
        }
    )
    return Search(library, *table(rows, noise=0.02), config, seed=3, **given)


def racer_of(search: Search) -> Racer:
    assert search.racer is not None
    return search.racer


def alone(grader: Grader) -> Grade:
    """A grader that sees one program at a time."""

    def grade(program: Program) -> tuple[Program, float, bool]:
        graded = grader(Programs.from_list([program]))
        return graded.programs[0], float(graded.rewards[0]), bool(graded.ok[0])

    return grade


def regraded(search: Search, programs: Programs) -> tuple[np.ndarray, np.ndarray]:
    """Rewards on all rows with the constants that the programs have, and which are valid."""
    assert search.data is not None
    reward = search.judged_by
    assert isinstance(reward, ErrorReward)
    plain = data_grader(search.library, search.data, reward, search.engine)(programs)
    return plain.rewards, plain.ok


@examples(25)
@given(
    seed=st.integers(0, 10_000),
    rows=st.sampled_from([70, 300, 1_500]),
    keep=st.sampled_from([0.0, 0.1, 0.5]),
    doubt=st.sampled_from([0.0, 1.0, 3.0]),
    reward=st.sampled_from(["inverse_nrmse", "r2", "inverse_mae"]),
    fitted=st.booleans(),
    weighted=st.booleans(),
)
def test_a_race_is_that_of_the_plain_version(
    seed: int, rows: int, keep: float, doubt: float, reward: str, fitted: bool, weighted: bool
) -> None:
    racing = Racing(rows=16, steps=3, keep=keep, doubt=doubt)
    library = LIBRARY if fitted and reward != "inverse_mae" else PLAIN
    constants = FitConfig("least_squares", restarts=0, max_steps=6)
    config = SearchConfig(batch_size=60, racing=racing, constants=constants, max_expressions=1000)
    weights = np.random.default_rng(seed).uniform(0, 2, rows) if weighted else None
    X, y = table(rows, seed, noise=0.05)
    search = Search(library, X, y, config, reward=reward, seed=seed, weights=weights)
    search.consider(search.sample(20, iteration=1).programs)
    racer, programs, front = racer_of(search), search.sample(60, iteration=2).programs, search.front
    assert search.data is not None
    chosen = reward_named(reward)
    assert isinstance(chosen, ErrorReward)
    plain = race(
        programs,
        front,
        racing,
        [(rung.data, alone(rung.grader)) for rung in racer.rungs],
        alone(racer.grader),
        chosen,
        search.data.spread,
    )
    graded = racer(programs, front)
    assert graded.final is not None
    assert graded.final.tolist() == [each.final for each in plain]
    assert graded.ok.tolist() == [each.ok for each in plain]
    assert graded.rewards.tolist() == [each.reward if each.ok else 0.0 for each in plain]
    assert list(graded.programs) == [each.program for each in plain]


@examples(20)
@given(
    seed=st.integers(0, 10_000),
    rows=st.sampled_from([70, 400, 2_000]),
    library=st.sampled_from([LIBRARY, PLAIN]),
    reward=st.sampled_from(["inverse_nrmse", "inverse_nmse", "inverse_mse", "r2"]),
)
def test_final_rewards_are_those_of_all_rows(
    seed: int, rows: int, library: Library, reward: str
) -> None:
    search = hunt(rows, library, reward=reward)
    graded = racer_of(search)(search.sample(100, seed).programs, search.front)
    rewards, ok = regraded(search, graded.programs)
    assert graded.final is not None
    assert np.count_nonzero(graded.final)
    assert (graded.rewards[graded.final] == rewards[graded.final]).all()
    assert (graded.ok[graded.final] == ok[graded.final]).all()
    # Those left behind are told as such, whatever their reward.
    assert (np.isnan(graded.final_rewards) == ~(graded.final & graded.ok)).all()


@pytest.mark.parametrize("library", [LIBRARY, PLAIN], ids=["fitted", "plain"])
@pytest.mark.parametrize("rows", [100, 600, 5_000])
def test_a_front_has_final_rewards_only(rows: int, library: Library) -> None:
    search = hunt(rows, library)
    front = search.run().front
    rewards, ok = regraded(search, Programs.from_list([each.program for each in front]))
    assert ok.all()
    assert rewards.tolist() == [each.reward for each in front]
    assert len(front) > 3


def test_what_is_left_behind_was_not_better_on_the_rows_that_it_saw() -> None:
    search = hunt(2_000)
    search.run()
    racer, front = racer_of(search), search.front
    programs = search.sample(300, 77).programs
    graded = racer(programs, front)
    assert graded.final is not None
    known = front.updated(graded.programs, graded.final_rewards)
    behind = np.flatnonzero(graded.ok & ~graded.final)
    rung = racer.rungs[0]
    assert not rung.may_beat(rung.grader(programs[behind]), known, doubt=0.0).any()


def test_ways_to_write_one_formula_do_not_go_on() -> None:
    search = hunt(2_000)
    texts = ["1.0*x", "x*1.0", "1.0*x + 0.0*y", "(1.0*x)/1.0"]
    first = Programs.from_list([Program.parse(text, LIBRARY) for text in texts[:1]])
    search.consider(first)
    graded = racer_of(search)(
        Programs.from_list([Program.parse(text, LIBRARY) for text in texts]), search.front
    )
    assert graded.final is not None
    assert graded.final.tolist()[:2] == [False, False]
    assert not graded.final[3]


def test_an_infinite_loss_of_a_row_without_weight_warns_of_nothing() -> None:
    X = np.linspace(1, 3, 600)[:, None]
    library = Library(["add", "div", "sub", 1.0], ["x"])
    weights = np.append(0.0, np.ones(599))
    search = Search(library, X, X[:, 0] ** 2, SearchConfig(racing=QUICK), weights=weights, seed=1)
    racer = racer_of(search)
    rung = racer.rungs[0]
    zero = np.flatnonzero(rung.data.weights == 0)
    assert len(zero)
    undefined = Program.parse("x/(x - 1.0)", library)
    rung._remember([Entry(undefined, 0.5, 5, 1)])
    assert undefined in rung._known


def test_a_program_undefined_on_one_row_is_invalid_once_all_rows_are_seen() -> None:
    X, _ = table(600)
    X[300] = 1.7, 2.1  # in the midst of the others, so that no rung need have it
    library = Library(["add", "sub", "mul", "div", 1.7], ["x", "y"])
    texts = ("x + (y - y)/(x - 1.7)", "y", "x + y*y")  # the first is x, but for that row
    batch = Programs.from_list([Program.parse(text, library) for text in texts])
    search = Search(library, X, X[:, 0], SearchConfig(racing=QUICK), seed=1)
    racer = racer_of(search)
    assert all(1.7 not in rung.data.X[:, 0] for rung in racer.rungs)
    provisional = racer.rungs[0].grader(batch)
    assert provisional.ok.all()
    assert provisional.rewards[0] == 1.0
    graded = racer(batch, Front())
    assert graded.final is not None
    assert graded.final[0]
    assert graded.ok.tolist() == [False, True, True]
    assert graded.rewards[0] == 0.0
    # What was behind it for that reason only has been graded in full as well.
    assert graded.final[1]


def test_threads_change_nothing() -> None:
    results = [hunt(2_000, threads=threads).run() for threads in (1, 3)]
    assert results[0].front == results[1].front
    known = [[replace(each, seconds=0.0) for each in result.history] for result in results]
    assert repr(known[0]) == repr(known[1])  # the entropy may be NaN


def test_batches_do_not_depend_on_those_before() -> None:
    search, other = hunt(2_000), hunt(2_000)
    front = hunt(2_000).run().front
    batches = [search.sample(100, number).programs for number in range(3)]
    for batch in batches[:2]:
        racer_of(other)(batch, Front() if batch is batches[0] else front)
    one, two = racer_of(search)(batches[2], front), racer_of(other)(batches[2], front)
    assert one.rewards.tolist() == two.rewards.tolist()
    assert one.final is not None
    assert two.final is not None
    assert one.final.tolist() == two.final.tolist()


@pytest.mark.parametrize("continues", [False, True])
def test_a_search_goes_on_after_a_stop_as_if_there_had_been_none(
    tmp_path: Path, continues: bool
) -> None:
    evolution = Evolution(generations=3, pairing=0, continues=continues)
    whole = hunt(1_200, evolution=evolution).run()
    first = hunt(1_200, evolution=evolution)
    first.run(callback=lambda now: now.iteration == 2)
    checkpoint.save(first, tmp_path / "run.checkpoint")
    second = hunt(1_200, evolution=evolution)
    checkpoint.restore(second, tmp_path / "run.checkpoint")
    assert second.iteration == 2
    assert second.run().front == whole.front


def test_a_checkpoint_tells_whether_programs_race(tmp_path: Path) -> None:
    few, many = hunt(40), hunt(600)
    for search in (few, many):
        search.run(callback=lambda now: now.iteration == 1)
    checkpoint.save(few, tmp_path / "few")
    checkpoint.save(many, tmp_path / "many")
    checkpoint.restore(hunt(40, racing=None), tmp_path / "few")  # nothing races on so few rows
    with pytest.raises(InputError, match="setting racing"):
        checkpoint.restore(hunt(600, racing=None), tmp_path / "many")


def test_on_few_rows_nothing_changes() -> None:
    one, two = hunt(64), hunt(64, racing=None)
    assert one.racer is None
    assert one.run().front == two.run().front


def test_only_means_over_rows_are_raced() -> None:
    def largest(y: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return -np.abs(values - y).max(axis=1)

    assert hunt(600, reward=largest).racer is None
    assert hunt(600, reward="inverse_mae", library=PLAIN).racer is not None


def test_absolute_errors_are_raced_with_constants_too() -> None:
    search = hunt(600, reward="inverse_mae", batch_size=20, evolution=None, max_expressions=40)
    front = search.run().front
    rewards, _ = regraded(search, Programs.from_list([each.program for each in front]))
    assert rewards.tolist() == pytest.approx([each.reward for each in front], abs=1e-12)


def test_programs_from_elsewhere_are_graded_on_all_rows() -> None:
    search = hunt(600)
    assert search.consider(search.sample(30).programs).final is None


def test_the_papers_methods_never_race() -> None:
    for make in (presets.dsr, presets.pqt, presets.pqt_whole, presets.vpg):
        assert make().racing is None
    assert presets.hybrid().racing == presets.evolution().racing == Racing()


def test_an_exact_formula_ends_the_race() -> None:
    X, _ = table(2_000)
    config = presets.hybrid(racing=QUICK, batch_size=200, max_expressions=20_000)
    search = Search(LIBRARY, X, 1.7 * X[:, 0] + X[:, 1], config, seed=0)
    result = search.run(callback=lambda now: now.best.reward > 1 - 1e-12)
    assert result.best is not None
    assert result.best.reward > 1 - 1e-12
    rung = racer_of(search).rungs[0]
    again = rung.grader(Programs.from_list([result.best.program]))
    assert not rung.may_beat(again, result.front, doubt=100.0).any()


@pytest.mark.parametrize("rows", [0, 7, 64.5, "many"])
def test_bad_rows_are_refused(rows: Any) -> None:
    with refused("Racing.rows", wanted="a whole number of 8 or more"):
        Racing(rows=rows)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("last_steps", 0),
        ("keep", -0.1),
        ("keep", 1.5),
        ("keep", "half"),
        ("doubt", -1.0),
        ("doubt", float("inf")),
        ("doubt", float("nan")),
        ("steps", None),
    ],
)
def test_bad_settings_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        Racing(**{name: value})


def test_racing_of_another_type_is_refused() -> None:
    with refused("SearchConfig.racing", value=0.5):
        SearchConfig(racing=0.5)  # type: ignore[arg-type]


@settings(deadline=None)
@given(
    rows=st.integers(1, 300),
    count=st.integers(1, 100),
    seed=st.integers(0, 1000),
    columns=st.integers(1, 5),
)
def test_sampled_rows_cover_the_target(rows: int, count: int, seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    weights = rng.choice([0.0, 0.5, 3.0], rows)
    weights[0] = 1.0
    data = Data.checked(X, y, [f"x{i}" for i in range(columns)], weights)
    some, again = data.covering(count, seed), data.covering(count, seed)
    assert some.X.tolist() == again.X.tolist()
    assert some.weights.tolist() == again.weights.tolist()
    place = [int(np.flatnonzero((row == data.X).all(axis=1))[0]) for row in some.X]
    assert place == sorted(set(place))
    assert (data.y[place] == some.y).all()
    assert data.weights[place][some.weights > 0].all()  # rows of no weight are not drawn
    assert some.weights.sum() == pytest.approx(len(some.y))
    # Along the target, the share of the weight below any value is right to within one draw.
    for bound in some.y:
        share = some.weights[some.y <= bound].sum() / len(some.y)
        truth = data.weights[data.y <= bound].sum() / rows
        heaviest = data.weights.max() / rows
        assert abs(share - truth) <= 1 / count + heaviest + 1e-9


def test_where_columns_end_is_seen() -> None:
    X, y = table(1_000)
    some = Data.checked(X, y, ["x", "y"]).covering(50, 0)
    assert (some.X.min(axis=0) == X.min(axis=0)).all()
    assert (some.X.max(axis=0) == X.max(axis=0)).all()
    assert np.count_nonzero(some.weights == 0) <= 4
