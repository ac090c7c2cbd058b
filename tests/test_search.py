"""The loop: budgets, stops, callbacks, threads, and searches without data."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from refusals import refused
from symseek import (
    FitConfig,
    InputError,
    Iteration,
    Length,
    Library,
    PolicyConfig,
    PriorityQueue,
    Program,
    Programs,
    Search,
    SearchConfig,
    Stopped,
    Token,
    VanillaPolicyGradient,
    presets,
)
from symseek.lab import problems

LIBRARY = Library(["add", "sub", "mul", "div", "sin", "cos", "exp", "log"], variables=["x"])
X = np.random.default_rng(0).uniform(-1, 1, (20, 1))
Y = X[:, 0] ** 3 + X[:, 0] ** 2 + X[:, 0]


def search(seed: int = 0, threads: int = 1, **settings: Any) -> Search:
    config = SearchConfig(**{"max_expressions": 5_000, "batch_size": 500, **settings})
    return Search(LIBRARY, X, Y, config, seed=seed, threads=threads)


def test_the_budget_of_expressions_is_kept_to_the_last() -> None:
    result = search(max_expressions=1_234).run()
    assert result.stopped is Stopped.BUDGET
    assert result.expressions == 1_234
    assert [now.expressions for now in result.history] == [500, 1_000, 1_234]


def test_the_budget_of_seconds_ends_a_search() -> None:
    result = search(max_expressions=10**9, max_seconds=0.2).run()
    assert result.stopped is Stopped.TIME


def test_a_reward_ends_a_search() -> None:
    result = search(stop_reward=0.5, max_expressions=10**6).run()
    assert result.stopped is Stopped.REWARD
    assert result.best is not None
    assert result.best.reward >= 0.5


def test_the_callback_sees_every_iteration_and_can_stop() -> None:
    seen: list[Iteration] = []

    def listen(now: Iteration) -> bool:
        seen.append(now)
        return now.iteration == 3

    result = search().run(listen)
    assert result.stopped is Stopped.CALLBACK
    assert [now.iteration for now in seen] == [1, 2, 3]
    assert result.history == seen


def test_statistics_are_those_of_the_batch() -> None:
    hunt = search(max_expressions=500)
    sample = hunt.sample(500, 0)
    graded = hunt.grader(sample.programs)
    (now,) = hunt.run().history
    rewards = graded.rewards
    assert now.mean_reward == pytest.approx(rewards.mean())
    threshold = np.quantile(rewards, 0.95, method="higher")
    assert now.top_mean_reward == pytest.approx(rewards[rewards >= threshold].mean())
    assert now.best_reward == rewards.max()
    assert now.entropy == pytest.approx(float(sample.entropy.mean()), rel=1e-5)
    assert now.mean_length == pytest.approx(sample.programs.lengths.mean())
    assert now.invalid_fraction == pytest.approx(1 - graded.ok.mean())
    names = {program.tokens for program in sample.programs}
    assert now.unique_fraction == len(names) / 500


def test_an_error_in_the_callback_is_the_users_own_and_the_front_is_kept() -> None:
    class Mine(Exception):
        pass

    def fail(now: Iteration) -> None:
        if now.iteration == 2:
            raise Mine("stop here")

    hunt = search()
    with pytest.raises(Mine, match="stop here"):
        hunt.run(fail)
    assert hunt.front.best is not None
    assert len(hunt.history) == 2


def test_ctrl_c_ends_with_the_best_so_far() -> None:
    def press(now: Iteration) -> None:
        if now.iteration == 2:
            raise KeyboardInterrupt

    result = search().run(press)
    assert result.stopped is Stopped.INTERRUPTED
    assert result.best is not None


def fingerprint(hunt: Search) -> tuple[Any, ...]:
    result = hunt.run()
    rewards = tuple(now.mean_reward for now in result.history)
    entries = tuple((entry.program.tokens, entry.reward) for entry in result.front)
    return rewards, entries, hunt.state.weights.tobytes()


@pytest.mark.parametrize(
    "objective", [None, VanillaPolicyGradient(), PriorityQueue()], ids=["risk", "vanilla", "queue"]
)
def test_the_number_of_threads_changes_nothing(objective: Any) -> None:
    settings: dict[str, Any] = {"max_expressions": 10_000}
    if objective is not None:
        settings["objective"] = objective
    one, two, three = (fingerprint(search(threads=n, **settings)) for n in (1, 2, 3))
    assert len(one[0]) == 20
    assert one == two == three


def test_the_seed_changes_everything() -> None:
    assert fingerprint(search(seed=1)) != fingerprint(search(seed=2))


def test_searches_in_threads_do_not_touch_each_other() -> None:
    alone = [fingerprint(search(seed=seed)) for seed in range(3)]
    together: dict[int, Any] = {}

    def work(seed: int) -> None:
        together[seed] = fingerprint(search(seed=seed, threads=2))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[seed] for seed in range(3)] == alone


@pytest.mark.parametrize("method", sorted(presets.METHODS))
def test_every_method_recovers_an_easy_problem(method: str) -> None:
    problem = problems.load("Nguyen-11")
    data = problem.data()
    config = presets.method(method, max_expressions=100_000, stop_reward=1 - 1e-9)
    result = Search(problem.library(), data.X_train, data.y_train, config, seed=0).run()
    assert result.stopped is Stopped.REWARD


def test_dsr_recovers_nguyen_1() -> None:
    problem = problems.load("Nguyen-1")
    data = problem.data()
    config = presets.dsr(max_expressions=400_000, stop_reward=1 - 1e-9)
    result = Search(problem.library(), data.X_train, data.y_train, config, seed=2).run()
    assert result.stopped is Stopped.REWARD


TREES = Library([Token("fork", 3), Token("chain", 1), Token("a", 0), Token("b", 0)], variables=[])


def alternation(programs: Programs) -> np.ndarray:
    """The share of neighbouring tokens that differ, for trees of ten tokens."""
    tokens = programs.tokens[:, :10]
    share = (tokens[:, 1:] != tokens[:, :-1]).mean(axis=1)
    return np.where(programs.lengths == 10, share, np.nan)


def test_any_tree_under_any_score_needs_no_data() -> None:
    hunt = Search.for_programs(
        TREES,
        alternation,
        SearchConfig(max_expressions=60_000, stop_reward=1.0),
        constraints=[Length(1, 12)],
    )
    result = hunt.run()
    assert result.stopped is Stopped.REWARD
    assert result.best is not None
    names = result.best.program.names
    assert len(names) == 10
    assert all(left != right for left, right in pairwise(names))


def test_a_deterministic_score_is_asked_once_per_program() -> None:
    asked: list[tuple[int, ...]] = []

    def score(programs: Programs) -> np.ndarray:
        asked.extend(program.tokens for program in programs)
        return np.ones(len(programs))

    config = SearchConfig(max_expressions=2_000, batch_size=500)
    Search.for_programs(TREES, score, config, constraints=[Length(1, 5)]).run()
    assert len(asked) == len(set(asked))


def test_a_score_that_differs_between_calls_is_asked_every_time() -> None:
    sizes = []

    def score(programs: Programs) -> np.ndarray:
        sizes.append(len(programs))
        return np.random.default_rng(len(sizes)).uniform(size=len(programs))

    config = SearchConfig(max_expressions=1_000, batch_size=500)
    Search.for_programs(TREES, score, config, deterministic=False, constraints=[Length(1, 5)]).run()
    assert sizes == [500, 500]


def test_tokens_without_a_formula_cannot_be_fitted_to_data() -> None:
    library = Library(["add", Token("mystery", 1)], variables=["x"])
    with pytest.raises(InputError, match="mystery"):
        Search(library, X, Y)


def test_a_score_of_the_wrong_shape_is_refused() -> None:
    hunt = Search.for_programs(TREES, lambda programs: np.ones(3), constraints=[Length(1, 5)])
    with pytest.raises(InputError, match="score function returned shape"):
        hunt.run()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 1}, "batch_size is 1; it must be a whole number of 2 or more"),
        ({"max_expressions": 10, "batch_size": 100}, "smaller than one batch"),
        ({"max_seconds": 0.0}, "max_seconds"),
        ({"max_seconds": float("nan")}, "max_seconds"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"entropy_weight": -1.0}, "entropy_weight"),
        ({"stop_reward": float("nan")}, "stop_reward"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SearchConfig(**settings)


def test_unknown_settings_and_methods_are_refused_by_name() -> None:
    with refused("setting", value="batchsize", wanted="did you mean 'batch_size'?"):
        presets.dsr(batchsize=3)
    with refused("method", value="dsrr", wanted="did you mean 'dsr'?"):
        presets.method("dsrr")


@pytest.mark.parametrize(
    "make",
    [
        lambda: search(seed=-1),
        lambda: search(threads=0),
        lambda: PolicyConfig(hidden=0),
    ],
)
def test_bad_numbers_are_refused(make: Any) -> None:
    with pytest.raises(InputError):
        make()


FITTED = Library(["add", "mul", "sin", "log", "const"], variables=["x"])
LINE_X = np.linspace(0.1, 3, 30)[:, None]
LINE_Y = 2.5 * LINE_X[:, 0] + 1.3


def wave(x: np.ndarray) -> np.ndarray:
    return 2.5 * np.sin(1.7 * x) + 1.3 * x


def fitted_search(method: str = "dsr", threads: int = 1, **settings: Any) -> Search:
    config = presets.method(method, **{"max_expressions": 4_000, "batch_size": 200, **settings})
    return Search(FITTED, LINE_X, wave(LINE_X[:, 0]), config, seed=0, threads=threads)


@pytest.mark.parametrize("method", sorted(presets.METHODS))
def test_every_method_finds_constants(method: str) -> None:
    result = fitted_search(method, max_expressions=100_000, stop_reward=1 - 1e-9).run()
    assert result.stopped is Stopped.REWARD
    assert result.best is not None
    beyond = np.array([5.0, 10.0])
    np.testing.assert_allclose(
        result.best.program.evaluate(beyond[:, None]), wave(beyond), rtol=1e-6
    )


def test_programs_on_the_front_carry_the_constants_that_earned_their_reward() -> None:
    result, y = fitted_search().run(), wave(LINE_X[:, 0])
    assert any(entry.program.constants for entry in result.front)
    for entry in result.front:
        printed = Program.parse(str(entry.program), FITTED)
        assert printed == entry.program
        error = np.sqrt(np.mean((y - printed.evaluate(LINE_X)) ** 2)) / y.std()
        assert entry.reward == pytest.approx(1 / (1 + error), rel=1e-9)


@pytest.mark.parametrize("constants", [FitConfig(), FitConfig.paper()], ids=["mixed", "paper"])
def test_threads_change_nothing_where_constants_are_fitted(constants: FitConfig) -> None:
    hunts = [fitted_search(threads=threads, constants=constants) for threads in (1, 2)]
    one, two = (fingerprint(hunt) for hunt in hunts)
    assert one == two
    fitted = [[entry.program.constants for entry in hunt.front] for hunt in hunts]
    assert fitted[0] == fitted[1]
    assert any(fitted[0])


def test_constants_stay_where_they_are_if_nobody_fits_them() -> None:
    front = fitted_search(constants=None).run().front
    assert {value for entry in front for value in entry.program.constants} == {1.0}


def test_constants_are_fitted_to_a_reward_or_a_score_of_ones_own_once_for_each_program() -> None:
    asked: list[int] = []

    def largest_error(y: np.ndarray, predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
        asked.append(len(predictions))
        return -np.abs(y - predictions).max(axis=1)

    def score(programs: Programs) -> np.ndarray:
        """The sum of the constants should be 3.7; without any a program is invalid."""
        asked.append(len(programs))
        sums = [sum(each.constants) if each.constants else np.nan for each in programs]
        return -np.abs(np.array(sums) - 3.7)

    config = SearchConfig(
        batch_size=50, max_expressions=1_000, stop_reward=-1e-6, constants=FitConfig(restarts=0)
    )
    rules = [Length(1, 7)]
    of_data = Search(FITTED, LINE_X, LINE_Y, config, reward=largest_error, constraints=rules)
    of_programs = Search.for_programs(FITTED, score, config, constraints=rules)
    for hunt in (of_data, of_programs):
        result = hunt.run()
        assert result.stopped is Stopped.REWARD
        batch = hunt.sample(50, 0).programs
        once = hunt.grader(batch)
        so_far = len(asked)
        again = hunt.grader(batch[::-1])
        assert len(asked) == so_far
        assert again.rewards[::-1].tolist() == once.rewards.tolist()
        assert list(again.programs[::-1]) == list(once.programs)
    assert of_programs.front.best is not None
    assert sum(of_programs.front.best.program.constants) == pytest.approx(3.7, abs=1e-6)
    assert of_data.front.best is not None
    np.testing.assert_allclose(of_data.front.best.program.evaluate(LINE_X), LINE_Y, atol=1e-6)
