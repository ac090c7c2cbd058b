"""Genetic programming on DEAP: its operators, its limits, its budget and its random numbers."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from evolution_helpers import FITTED, KOZA
from examples import examples
from oracle.evaluate import evaluate
from refusals import refused
from strategies import libraries
from symseek import (
    ConstraintSet,
    FitConfig,
    InputError,
    Iteration,
    Library,
    Program,
    Programs,
    Stopped,
    fit_constants,
    paper_constraints,
)
from symseek.evaluation import Graded
from symseek.lab import problems
from symseek.lab.baselines import GeneticProgramming, GPConfig
from symseek.lab.baselines.trees import Tree, TreeOperators

X = np.random.default_rng(0).uniform(-1, 1, (20, 1))
HARD = np.sin(X[:, 0] ** 2) * np.cos(X[:, 0]) - 1 + np.exp(X[:, 0]) / 3
XY = np.random.default_rng(1).uniform(0.5, 2, (20, 2))
CURVED = 2.5 * XY[:, 0] ** 2 + 0.7 * XY[:, 1]

Tokens = tuple[int, ...]


def evolution(
    library: Library = KOZA,
    inputs: NDArray[np.float64] = X,
    y: NDArray[np.float64] = HARD,
    seed: int = 0,
    threads: int = 1,
    **changes: Any,
) -> GeneticProgramming:
    config = GPConfig(**{"population": 100, "max_expressions": 2_000, **changes})
    return GeneticProgramming(library, inputs, y, config, seed=seed, threads=threads)


def generations(run: GeneticProgramming) -> list[list[Tokens]]:
    """Evolve to the end; the trees of every population."""
    seen: list[list[Tokens]] = []
    run.run(lambda now: seen.append([tuple(map(int, tree)) for tree in run.state.population]))
    return seen


def depths(library: Library, tokens: Tokens) -> set[int]:
    """The depths of the leaves."""
    program = Program(library, tokens)

    def leaves(token: int, constant: float | None, below: list[list[int]]) -> list[int]:
        return [depth + 1 for each in below for depth in each] or [0]

    return set(program.fold(leaves))


def breaks(rules: ConstraintSet, tokens: Tokens) -> bool:
    return bool(rules.violations(Program(rules.library, tokens)))


@examples(40)
@given(
    libraries(evaluable=False),
    st.integers(0, 2**64 - 1),
    st.integers(3, 12),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_children_are_trees_within_the_limits_and_leave_their_parents_alone(
    library: Library, seed: int, most: int, crossover: float, mutation: float
) -> None:
    assume(any(library.arities) and crossover + mutation > 0)
    config = GPConfig(crossover=crossover, mutation=mutation)

    def broken(tree: Tree) -> bool:
        return len(tree) > most or tree.count(0) > 2

    operators = TreeOperators(library, config, broken, seed)
    population = [tree for _ in range(60) if not broken(tree := operators.individual())]
    assume(population)
    for _ in range(5):
        for tree in population:
            tree.fitness.values = (-float(len(tree)),)
        before = [tuple(tree) for tree in population]
        children = operators.offspring(population, 31)
        assert [tuple(tree) for tree in population] == before
        assert len({id(child) for child in children}) == 31
        programs = operators.programs(children)
        for child, program in zip(children, programs, strict=True):
            assert Program(library, tuple(child)) == program  # refuses what is no tree
            assert not broken(child)
        population = children


def test_crossover_swaps_one_subtree_of_each_parent() -> None:
    operators = TreeOperators(KOZA, GPConfig(init_depths=(2, 3)), lambda tree: False)
    swapped = 0
    for _ in range(100):
        one, other = operators.individual(), operators.individual()
        tokens = sorted([*one, *other])
        left, right = operators.toolbox.mate(Tree(one), Tree(other))
        assert sorted([*left, *right]) == tokens
        assert (left[0], right[0]) == (one[0], other[0])  # the roots stay, as DEAP has it
        swapped += list(left) != list(one)
    assert swapped > 50


def test_mutation_puts_in_a_full_tree_of_the_asked_depths() -> None:
    found: set[int] = set()
    run = evolution(
        init_depths=(0, 0), mutation_depths=(1, 2), crossover=0, mutation=1, max_expressions=200
    )
    first, second = generations(run)
    assert {len(tokens) for tokens in first} == {1}
    for tokens in second:
        (depth,) = depths(KOZA, tokens)
        found.add(depth)
    assert found == {1, 2}


def test_the_first_trees_are_full_and_of_every_depth() -> None:
    (first,) = generations(evolution(max_expressions=100))
    assert all(len(depths(KOZA, tokens)) == 1 for tokens in first)
    assert set.union(*(depths(KOZA, tokens) for tokens in first)) == {0, 1, 2}
    (deep,) = generations(evolution(init_depths=(4, 4), max_expressions=100, max_length=20))
    assert {depth for tokens in deep for depth in depths(KOZA, tokens)} == {4}
    assert max(map(len, deep)) <= 20


def test_first_trees_that_cannot_keep_the_limits_are_refused() -> None:
    library = Library(["add"], variables=["x"])
    with pytest.raises(InputError, match="lower init_depths"):
        evolution(library, init_depths=(3, 3), max_length=14).run()


def test_limits_hold_for_every_tree() -> None:
    run = evolution(FITTED, XY, CURVED, max_length=11, max_constants=1, max_expressions=3_000)
    trees = [tokens for population in generations(run) for tokens in population]
    assert max(map(len, trees)) == 11
    assert max(tokens.count(FITTED.constant_id) for tokens in trees) == 1


@pytest.mark.parametrize(("library", "x", "y"), [(KOZA, X, HARD), (FITTED, XY, CURVED)])
def test_with_constraints_no_child_breaks_them(
    library: Library, x: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    rules = ConstraintSet(library, paper_constraints())
    run = evolution(library, x, y, constraints=True, max_expressions=4_000)
    seen = generations(run)
    assert any(breaks(rules, tokens) for tokens in seen[0])  # the first trees are not asked
    for before, after in pairwise(seen):
        new = set(after) - set(before)
        assert not any(breaks(rules, tokens) for tokens in new)
    assert not any(breaks(rules, tokens) for tokens in seen[-1])  # those have died out


def test_without_constraints_children_break_them() -> None:
    rules = ConstraintSet(KOZA, paper_constraints())
    assert any(breaks(rules, tokens) for tokens in generations(evolution())[-1])


def test_the_compiled_constraints_judge_as_the_plain_ones_do() -> None:
    rules = ConstraintSet(FITTED, paper_constraints(high=12, constants=2))
    run = evolution(FITTED, XY, CURVED, constraints=True, max_length=12, max_constants=2)
    draw = TreeOperators(FITTED, GPConfig(init_depths=(0, 3)), lambda tree: False).individual
    broken = run._limits()
    verdicts = [(broken(tree), breaks(rules, tuple(tree))) for tree in (draw() for _ in range(500))]
    assert {(True, True), (False, False)} == set(verdicts)


def test_selection_prefers_the_better_of_two() -> None:
    operators = TreeOperators(KOZA, GPConfig(init_depths=(0, 0)), lambda tree: False)
    population = [operators.individual() for _ in range(100)]
    for rank, tree in enumerate(population):
        tree.fitness.values = (float(rank),)
    chosen = operators.toolbox.select(population, 20_000)
    ranks = np.array([tree.fitness.values[0] for tree in chosen])
    counts = np.bincount(ranks.astype(int), minlength=100)
    # The better of two drawn with replacement has rank r in (2 r + 1) of 10,000 cases.
    expected = 2 * (2 * np.arange(100) + 1)
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected.max())


class Noted:
    """A run whose graded populations are kept."""

    def __init__(self, run: GeneticProgramming) -> None:
        self.graded: list[Graded] = []
        grader = run.grader

        def grade(programs: Programs) -> Graded:
            self.graded.append(grader(programs))
            return self.graded[-1]

        run.grader = grade
        self.result = run.run()

    def __iter__(self) -> Iterator[tuple[Program, float, bool]]:
        for each in self.graded:
            yield from zip(each.programs, each.rewards.tolist(), each.ok.tolist(), strict=True)


def test_rewards_are_those_of_an_obvious_evaluation() -> None:
    invalid = 0
    for program, reward, ok in Noted(evolution(max_expressions=1_000)):
        values, finite = evaluate(program, X)
        assert ok == finite
        expected = 0.0
        if finite:
            with np.errstate(over="ignore"):
                nrmse = np.sqrt(np.mean((values - HARD) ** 2)) / np.std(HARD)
            expected = 1 / (1 + nrmse)
        assert reward == pytest.approx(expected, rel=1e-9, abs=1e-300)
        invalid += not finite
    assert invalid > 0


def test_constants_are_fitted_from_one_in_every_tree() -> None:
    noted = Noted(evolution(FITTED, XY, CURVED, max_expressions=500))
    for graded in noted.graded:
        plain = Programs.from_list([Program(FITTED, p.tokens) for p in graded.programs])
        again = fit_constants(plain, XY, CURVED, FitConfig.paper())
        np.testing.assert_array_equal(graded.rewards, again.rewards)
        assert graded.programs.constants.shape[1] <= 3
    best = noted.result.best
    assert best is not None
    values, _ = evaluate(best.program, XY)
    nrmse = np.sqrt(np.mean((values - CURVED) ** 2)) / np.std(CURVED)
    assert best.reward == pytest.approx(1 / (1 + nrmse))


def test_a_tree_in_the_population_has_the_fitness_of_its_program() -> None:
    run = evolution()
    run.run()
    graded = run.grader(run.operators.programs(run.state.population))
    assert [tree.fitness.values[0] for tree in run.state.population] == [
        reward if ok else -np.inf
        for reward, ok in zip(graded.rewards.tolist(), graded.ok.tolist(), strict=True)
    ]


def test_an_invalid_tree_is_worse_than_any_reward() -> None:
    def error(y: Any, predictions: Any, weights: Any) -> Any:
        return -np.mean((predictions - y) ** 2, axis=1)

    run = GeneticProgramming(
        KOZA, X, HARD, GPConfig(population=100, max_expressions=3_000), reward=error
    )
    result = run.run()
    assert result.history[-1].invalid_fraction < result.history[0].invalid_fraction
    assert result.best is not None
    assert -0.1 < result.best.reward <= 0


def test_nothing_valid_is_no_best() -> None:
    library = Library(["log"], variables=["x"])
    result = GeneticProgramming(
        library,
        -np.ones((5, 1)) - np.arange(5)[:, None],
        np.arange(5.0),
        GPConfig(population=10, max_expressions=50, init_depths=(1, 2), mutation_depths=(1, 2)),
    ).run()
    assert result.best is None
    assert result.history[-1].best_reward == 0
    assert result.history[-1].invalid_fraction == 1


def test_the_budget_of_expressions_is_kept_to_the_last() -> None:
    noted = Noted(evolution(max_expressions=1_234, population=500))
    result = noted.result
    assert result.stopped is Stopped.BUDGET
    assert result.expressions == 1_234
    assert [now.expressions for now in result.history] == [500, 1_000, 1_234]
    assert [len(each.programs) for each in noted.graded] == [500, 500, 234]


def test_the_paper_s_budget_is_two_thousand_populations() -> None:
    config = GPConfig()
    assert config.max_expressions == 2_000 * config.population


def test_the_budget_of_seconds_ends_a_run() -> None:
    result = evolution(max_expressions=10**9, max_seconds=0.1).run()
    assert result.stopped is Stopped.TIME
    assert result.seconds >= 0.1
    assert sum(result.timings.values()) == pytest.approx(result.seconds)


def test_a_reward_ends_a_run() -> None:
    result = evolution(max_expressions=10**6, stop_reward=0.5).run()
    assert result.stopped is Stopped.REWARD
    assert result.best is not None
    assert result.best.reward >= 0.5


def test_the_callback_sees_every_generation_and_can_stop() -> None:
    seen: list[Iteration] = []

    def listen(now: Iteration) -> bool:
        seen.append(now)
        return now.iteration == 3

    run = evolution()
    result = run.run(listen)
    assert result.stopped is Stopped.CALLBACK
    assert [now.iteration for now in seen] == [1, 2, 3]
    assert result.history == seen
    assert run.run().expressions == 2_000  # and the run continues where it stopped


def test_statistics_are_those_of_the_population() -> None:
    noted = Noted(evolution())
    for now, graded in zip(noted.result.history, noted.graded, strict=True):
        programs = graded.programs
        assert now.mean_reward == pytest.approx(graded.rewards.mean())
        assert now.best_reward == graded.rewards.max()
        assert now.quantiles[0] == graded.rewards.min()
        assert now.quantiles[-1] == graded.rewards.max()
        assert now.mean_length == pytest.approx(programs.lengths.mean())
        assert now.unique_fraction == len({p.tokens for p in programs}) / len(programs)
        counts = [sum(p.tokens.count(token) for p in programs) for token in range(len(KOZA))]
        assert now.tokens == tuple(counts)
        assert np.isnan(now.entropy)
    best = noted.result.best
    assert best is not None
    assert best.reward == pytest.approx(max(each.rewards.max() for each in noted.graded))


def test_ctrl_c_keeps_the_best_so_far() -> None:
    def interrupt(now: Iteration) -> None:
        if now.iteration == 2:
            raise KeyboardInterrupt

    result = evolution().run(interrupt)
    assert result.stopped is Stopped.INTERRUPTED
    assert result.expressions == 200
    assert result.best is not None


def test_the_seed_decides_everything() -> None:
    one = generations(evolution(seed=3))
    assert one == generations(evolution(seed=3))
    assert one == generations(evolution(seed=3, threads=2))
    assert one != generations(evolution(seed=4))


def test_the_global_random_numbers_are_neither_used_nor_changed() -> None:
    expected = generations(evolution())
    state = random.getstate()
    assert generations(evolution()) == expected
    assert random.getstate() == state

    run, seen = evolution(), []

    def meddle(now: Iteration) -> None:
        random.seed(now.iteration % 2)
        seen.append([tuple(map(int, tree)) for tree in run.state.population])

    run.run(meddle)
    random.setstate(state)
    assert seen == expected


def test_runs_in_several_threads_do_not_touch_each_other() -> None:
    expected = [generations(evolution(seed=seed)) for seed in range(3)]
    found: dict[int, list[list[Tokens]]] = {}
    threads = [
        threading.Thread(target=lambda s=seed: found.update({s: generations(evolution(seed=s))}))
        for seed in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(3)] == expected


def test_it_recovers_nguyen_1() -> None:
    problem = problems.load("Nguyen-1")
    data = problem.data()
    run = GeneticProgramming(
        problem.library(),
        data.X_train,
        data.y_train,
        GPConfig(max_expressions=50_000, stop_reward=1 - 1e-12),
        seed=1,
    )
    result = run.run()
    assert result.stopped is Stopped.REWARD
    assert result.best is not None
    x = run.library.variables[0]
    assert str(result.best.program.sympy().expand()) == f"{x}**3 + {x}**2 + {x}"


def test_a_result_prints_like_any_other() -> None:
    text = str(evolution(seed=5).run())
    lines = text.splitlines()
    assert lines[0] == "complexity    reward  expression"
    assert lines[1].split()[0] == "1"
    assert lines[-1].startswith("2,000 expressions in ")
    assert lines[-1].endswith("seed 5: the budget of expressions is spent")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"population": 1}, "population is 1; it must be a whole number of 2 or more"),
        ({"tournament": 0}, "tournament is 0"),
        ({"max_length": 0}, "max_length is 0"),
        ({"crossover": 1.5}, "crossover is 1.5; it must be a number from 0 to 1"),
        ({"mutation": -0.1}, "mutation is -0.1"),
        ({"crossover": 0, "mutation": 0}, "both 0"),
        ({"init_depths": (2, 1)}, r"init_depths is \(2, 1\)"),
        ({"mutation_depths": (0, 50)}, "mutation_depths"),
        ({"init_depths": (1,)}, "init_depths"),
        ({"max_constants": -1}, "max_constants is -1"),
        ({"max_expressions": 999}, "smaller than one population"),
        ({"max_seconds": 0}, "max_seconds is 0"),
        ({"stop_reward": float("nan")}, "stop_reward is nan"),
        ({"populaton": 10}, "unknown setting 'populaton'; did you mean 'population'"),
    ],
)
def test_bad_settings_are_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GPConfig.from_dict(changes)


def test_depths_may_come_as_a_list() -> None:
    assert GPConfig.from_dict({"init_depths": [1, 2]}).init_depths == (1, 2)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="no operator"):
        evolution(Library([], variables=["x"]))
    with refused("the seed", value=-1):
        evolution(seed=-1)
    with refused("threads", value=0):
        evolution(threads=0)
    with refused("y", value=1.0):
        evolution(y=np.ones(20))


def test_deap_is_imported_when_used_and_asked_for_when_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = "import sys, symseek.lab.baselines; sys.exit('deap' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    monkeypatch.setitem(sys.modules, "deap", None)
    monkeypatch.delitem(sys.modules, "symseek.lab.baselines.trees")
    with pytest.raises(InputError, match=r"pip install 'symseek\[gp\]'"):
        evolution()
