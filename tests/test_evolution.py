"""Evolution between sampling and learning: the Evolver, and searches that use it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evolution_helpers import FITTED, KOZA, TREES, copies, nodes, token_rows
from symseek import (
    InputError,
    Length,
    Library,
    PriorityQueue,
    Programs,
    RiskSeeking,
    Search,
    SearchConfig,
    Stopped,
    VanillaPolicyGradient,
    presets,
)
from symseek.evaluation import Graded
from symseek.evolution import Evolution, Population, fittest
from symseek.lab import problems

X = np.random.default_rng(0).uniform(-1, 1, (20, 1))
HARD = np.sin(X[:, 0] ** 2) * np.cos(X[:, 0]) - 1 + np.exp(X[:, 0]) / 3
EASY = X[:, 0] ** 2 + X[:, 0]
SHORT = Evolution(generations=5, pairing=3)
LONG = Evolution(generations=5, pairing=3, continues=True)


class Hunt:
    """A search that keeps what it grades and what it learns from."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.batches: list[Programs] = []
        self.perfect_before: list[bool] = []  # for each batch
        grader, best = search.grader, 0.0

        def grade(programs: Programs) -> Graded:
            nonlocal best
            self.perfect_before.append(best >= search.perfect)
            self.batches.append(programs)
            graded = grader(programs)
            best = max(best, graded.rewards.max(initial=0.0))
            return graded

        search.grader = grade
        self.result = search.run()

    @property
    def sizes(self) -> list[int]:
        return [len(batch) for batch in self.batches]


class Listening:
    """An objective that remembers what it chose from."""

    def __init__(self, objective: Any) -> None:
        self.objective = objective
        self.seen: list[Programs] = []

    def start(self) -> Any:
        return self.objective.start()

    def select(self, state: Any, programs: Programs, rewards: Any) -> Any:
        self.seen.append(programs)
        return self.objective.select(state, programs, rewards)


def hybrid(
    library: Library = KOZA,
    y: NDArray[np.float64] = HARD,
    threads: int = 1,
    seed: int = 0,
    constraints: Any = None,
    **changes: Any,
) -> Search:
    chosen = {"max_expressions": 6_000, "batch_size": 200, "evolution": SHORT, **changes}
    columns = np.repeat(X, len(library.variables), axis=1)
    return Search(
        library,
        columns,
        y,
        presets.hybrid(**chosen),
        seed=seed,
        threads=threads,
        constraints=constraints,
    )


def fingerprint(search: Search) -> tuple[Any, ...]:
    result = search.run()
    entries = tuple((nodes(entry.program), entry.reward) for entry in result.front)
    means = tuple(now.mean_reward for now in result.history)
    return entries, means, result.expressions, search.state.weights.tobytes()


def test_invalid_programs_are_behind_even_negative_rewards() -> None:
    """An invalid program's reward is 0, which a valid one may be below."""
    programs = copies(["x", "x + x", "sin(x)"], KOZA, 1)
    ok = np.array([True, False, True])
    best = fittest([Graded(programs, np.array([-2.0, 0.0, -1.0]), ok, 3)], 2)
    assert [str(program) for program in best.programs] == ["sin(x)", "x"]


@pytest.mark.parametrize("library", [KOZA, FITTED], ids=["plain", "constants"])
def test_a_search_is_that_of_its_seed_whatever_the_threads(library: Library) -> None:
    first = fingerprint(hybrid(library))
    assert fingerprint(hybrid(library)) == first
    assert fingerprint(hybrid(library, threads=2)) == first
    assert fingerprint(hybrid(library, seed=1)) != first


def test_every_graded_program_counts_and_the_budget_is_kept() -> None:
    hunt = Hunt(hybrid(max_expressions=3_000))
    assert hunt.result.stopped is Stopped.BUDGET
    assert hunt.result.expressions == sum(hunt.sizes)
    assert len(hunt.sizes) > 2 * len(hunt.result.history)  # there were children
    assert 2_998 <= hunt.result.expressions <= 3_000  # a batch of one could teach nothing


def test_time_is_kept_within_an_evolution() -> None:
    search = hybrid(
        max_expressions=10**9, max_seconds=0.2, evolution=Evolution(generations=10**6, pairing=0)
    )
    result = search.run()
    assert result.stopped is Stopped.TIME
    assert len(result.history) <= 2  # what is left of the last batch may be an iteration of its own
    assert result.expressions < 10**8


def test_an_evolution_ends_with_its_first_perfect_fit_but_later_ones_go_on() -> None:
    hunt = Hunt(hybrid(y=EASY, max_expressions=20_000))
    history = hunt.result.history
    perfect = [now.best is not None and now.best.reward >= hunt.search.perfect for now in history]
    assert perfect.count(True) > 3
    # The generations of an iteration that begins with a perfect fit are graded like all others.
    assert sum(hunt.perfect_before) > perfect.count(True)


def test_room_is_asked_for_before_the_first_generation() -> None:
    search = hybrid()
    assert search.evolver is not None
    sampled = search.grader(search.sample(50, 0).programs)

    def grade(programs: Programs) -> Graded:
        raise AssertionError("nothing was to be bred")

    batch, _ = search.evolver(sampled, None, 0, grade, lambda: 0)
    assert token_rows(batch.programs) == token_rows(sampled.programs)


def test_the_batch_to_learn_from_has_the_sample_and_the_best_children() -> None:
    search = hybrid()
    assert search.evolver is not None
    sampled = search.grader(search.sample(200, 0).programs)
    born: list[Graded] = []

    def grade(programs: Programs) -> Graded:
        born.append(search.grader(programs))
        return born[-1]

    batch, _ = search.evolver(sampled, None, 0, grade, lambda: 10**6)
    assert len(born) > SHORT.generations  # the pairs too
    assert token_rows(batch.programs[:200]) == token_rows(sampled.programs)
    np.testing.assert_array_equal(batch.rewards[:200], sampled.rewards)
    children = np.sort(np.concatenate([each.rewards for each in born]))[::-1]
    np.testing.assert_array_equal(batch.rewards[200:], children[: SHORT.kept])
    seen = [row for each in born for row in token_rows(each.programs)]
    assert len(set(seen)) == len(seen)
    assert not set(seen) & set(token_rows(sampled.programs))
    regraded = search.grader(batch.programs)
    np.testing.assert_array_equal(regraded.rewards, batch.rewards)


@pytest.mark.parametrize(
    "objective",
    [RiskSeeking(0.05), VanillaPolicyGradient(), PriorityQueue()],
    ids=["risk", "vanilla", "queue"],
)
def test_every_objective_learns_from_children_that_the_policy_could_have_written(
    objective: Any,
) -> None:
    listening = Listening(objective)
    hunt = Hunt(hybrid(objective=listening))
    assert hunt.result.stopped is Stopped.BUDGET
    assert all(len(batch) > 200 for batch in listening.seen[:-1])
    for batch in [*listening.seen, *hunt.batches]:
        score = hunt.search.policy.score(hunt.search.state.weights, batch)
        assert np.isfinite(score.log_probability).all()


def test_evolution_finds_more_than_sampling() -> None:
    with_it, without = hybrid().run(), hybrid(evolution=None).run()
    assert with_it.best is not None
    assert without.best is not None
    assert with_it.best.reward > without.best.reward


def test_the_front_has_the_constants_that_earned_its_rewards() -> None:
    y = 2.5 * np.sin(1.7 * X[:, 0]) + 1.3 * np.exp(X[:, 0])
    search = hybrid(FITTED, y)
    front = search.run().front
    assert any(value != 1.0 for entry in front for value in entry.program.constants)
    for entry in front:
        values = entry.program.evaluate(np.repeat(X, 2, axis=1))
        error = np.sqrt(np.mean((y - values) ** 2)) / y.std()
        assert entry.reward == pytest.approx(1 / (1 + error), rel=1e-9)


def test_children_start_from_the_constants_of_their_parents() -> None:
    hunt = Hunt(hybrid(FITTED))
    sampled, first = hunt.batches[:2]
    assert (sampled.constants == 1.0).all()
    assert (first.constants != 1.0).any()


def test_an_evolution_that_continues_samples_once_and_is_seen_in_every_iteration() -> None:
    hunt = Hunt(hybrid(evolution=LONG, learning_rate=0.0))
    history = hunt.result.history
    sampled = hunt.search.sample(200, 0).programs
    assert token_rows(hunt.batches[0]) == token_rows(sampled)
    assert len(history) > 4
    assert max(hunt.sizes) <= 200
    assert hunt.result.expressions == sum(hunt.sizes)
    assert [np.isnan(now.entropy) for now in history] == [False] + [True] * (len(history) - 1)
    means = [now.mean_reward for now in history]
    assert min(means[1:]) > means[0]  # they begin with what was bred, not with samples


def test_an_evolution_that_continues_is_that_of_its_seed_whatever_the_threads() -> None:
    first = fingerprint(hybrid(FITTED, evolution=LONG))
    assert fingerprint(hybrid(FITTED, evolution=LONG, threads=2)) == first
    assert fingerprint(hybrid(FITTED, evolution=LONG, seed=1)) != first


def test_a_callback_stops_an_evolution_that_a_second_run_continues() -> None:
    whole, halves = hybrid(evolution=LONG), hybrid(evolution=LONG)
    first = halves.run(callback=lambda now: now.iteration == 2)
    assert first.stopped is Stopped.CALLBACK
    assert len(first.history) == 2
    assert fingerprint(halves) == fingerprint(whole)


def test_the_arrays_of_the_population_are_all_that_an_evolution_needs_to_go_on() -> None:
    one, other = hybrid(FITTED, evolution=LONG), hybrid(FITTED, evolution=LONG)
    assert one.evolver is not None
    assert other.evolver is not None
    sampled = one.grader(one.sample(200, 0).programs)
    _, old = one.evolver(sampled, None, 0, one.grader, lambda: 10**6)
    assert old is not None
    programs = Programs(
        FITTED,
        old.graded.programs.tokens.copy(),
        old.graded.programs.lengths.copy(),
        old.graded.programs.constants,
    )
    kept = Graded(programs, old.graded.rewards.copy(), old.graded.ok.copy(), old.graded.distinct)
    copied = Population(kept, old.children)
    (left, _), (right, _) = (
        search.evolver(population.graded, population, 1, search.grader, lambda: 10**6)
        for search, population in ((one, old), (other, copied))
    )
    np.testing.assert_array_equal(left.rewards, right.rewards)
    assert list(map(nodes, left.programs)) == list(map(nodes, right.programs))


def test_a_population_of_which_nothing_new_can_be_bred_gives_way_to_a_sample() -> None:
    hunt = Hunt(
        hybrid(
            Library(["sin"], variables=["x"]),
            evolution=LONG,
            constraints=[Length(1, 3)],
            max_expressions=1_000,
        )
    )
    assert hunt.result.stopped is Stopped.BUDGET
    assert hunt.sizes.count(200) > 3


def alternation(programs: Programs) -> NDArray[np.float64]:
    """The share of neighbouring tokens that differ, for trees of ten tokens."""
    tokens = programs.tokens[:, :10]
    share = (tokens[:, 1:] != tokens[:, :-1]).mean(axis=1)
    return np.where(programs.lengths == 10, share, np.nan)


@pytest.mark.parametrize("offset", [0.0, -5.0], ids=["rewards above 0", "rewards below 0"])
def test_trees_under_any_score_evolve_without_data(offset: float) -> None:
    config = SearchConfig(
        batch_size=100, max_expressions=20_000, stop_reward=1.0 + offset, evolution=Evolution()
    )
    search = Search.for_programs(
        TREES, lambda each: alternation(each) + offset, config, constraints=[Length(1, 12)]
    )
    assert search.evolver is not None
    assert search.evolver.recombiner is None
    assert search.run().stopped is Stopped.REWARD


class NoDoubleUnary:
    """A user's mask: no unary operator under a unary operator."""

    def __call__(self, partial: Any) -> NDArray[np.bool_]:
        arity = partial.library.arity
        under = (partial.parent >= 0) & (arity[partial.parent] == 1)
        return ~(under[:, None] & (arity == 1)[None, :])


def test_children_obey_custom_constraints() -> None:
    hunt = Hunt(hybrid(constraints=[Length(1, 15), NoDoubleUnary()]))
    unary = {name for name, arity in zip(KOZA.names, KOZA.arities, strict=True) if arity == 1}
    assert len(hunt.sizes) > 2 * len(hunt.result.history)
    for batch in hunt.batches:
        for program in batch:
            names = program.names
            assert not any({one, next_} <= unary for one, next_ in pairwise(names))


def test_without_a_learning_rate_the_policy_stays_as_it_is() -> None:
    learns, stays = hybrid(), hybrid(learning_rate=0.0)
    start = learns.state.weights.copy()
    learns.run()
    stays.run()
    np.testing.assert_array_equal(stays.state.weights, start)
    assert (learns.state.weights != start).any()


@pytest.mark.parametrize(
    ("share", "fresh"), [(0.0, ""), (0.5, "1 3 5 7"), (0.25, "3 7"), (0.75, "1 2 3 5 6 7")]
)
def test_a_share_of_the_batches_is_written_by_an_untrained_policy(share: float, fresh: str) -> None:
    search = hybrid(
        untrained_share=share, evolution=None, max_expressions=1_600, learning_rate=0.01
    )
    untrained = hybrid(seed=search.seed ^ (1 << 63), evolution=None)
    hunt = Hunt(search)
    same = [
        token_rows(batch) == token_rows(untrained.sample(200, number).programs)
        for number, batch in enumerate(hunt.batches)
    ]
    assert len(same) == 8
    assert np.flatnonzero(same).tolist() == [int(number) for number in fresh.split()]


def test_max_constants_bounds_every_program() -> None:
    for most in (0, 2):
        hunt = Hunt(hybrid(FITTED, max_constants=most, max_expressions=2_000))
        counts = [
            int((batch.tokens == FITTED.constant_id).sum(axis=1).max()) for batch in hunt.batches
        ]
        assert max(counts) == most


def test_entropy_decay_changes_what_is_learnt() -> None:
    plain, decayed = hybrid(), hybrid(entropy_decay=0.5)
    plain.run()
    decayed.run()
    assert (plain.state.weights != decayed.state.weights).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"generations": -1}, "generations is -1"),
        ({"generations": 0}, "generations is 0"),
        ({"tournament": 0}, "tournament is 0"),
        ({"pairs": 0}, "pairs is 0"),
        ({"kept": 0}, "kept is 0"),
        ({"elite": -1}, "elite is -1"),
        ({"pairing": -1}, "pairing is -1"),
        ({"crossover": 2.0}, "crossover is 2"),
        ({"crossover": float("nan")}, "crossover is nan"),
        ({"mutation": -0.1}, "mutation is -0.1"),
        ({"crossover": 0.0, "mutation": 0.0}, "both 0"),
    ],
)
def test_bad_settings_of_evolution_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        Evolution(**settings)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"entropy_decay": 0.0}, "entropy_decay is 0"),
        ({"entropy_decay": 1.5}, "entropy_decay is 1.5"),
        ({"entropy_decay": float("nan")}, "entropy_decay is nan"),
        ({"untrained_share": 1.0}, "untrained_share is 1"),
        ({"untrained_share": -0.5}, "untrained_share is -0.5"),
        ({"max_constants": -1}, "max_constants is -1"),
    ],
)
def test_bad_settings_of_the_search_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        presets.hybrid(**settings)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["Nguyen-1", "Nguyen-10"])
def test_hybrid_recovers_a_problem_quickly(name: str) -> None:
    problem = problems.load(name)
    data = problem.data()
    config = presets.hybrid(max_expressions=300_000, stop_reward=1 - 1e-9)
    result = Search(problem.library(), data.X_train, data.y_train, config, seed=0).run()
    assert result.stopped is Stopped.REWARD


def test_hybrid_recovers_constants() -> None:
    y = 2.5 * np.sin(1.7 * X[:, 0]) + 1.3 * X[:, 0]
    library = Library(["add", "mul", "sin", "const"], variables=["x"])
    result = hybrid(library, y, max_expressions=50_000, stop_reward=1 - 1e-9).run()
    assert result.stopped is Stopped.REWARD
    assert result.best is not None
    beyond = np.array([[5.0], [10.0]])
    want = 2.5 * np.sin(1.7 * beyond[:, 0]) + 1.3 * beyond[:, 0]
    np.testing.assert_allclose(result.best.program.evaluate(beyond), want, rtol=1e-6)
