"""Evolution between sampling and learning: breeding, recombination, and searches that use them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from constraint_strategies import constraint_lists, policy
from oracle import pairing
from strategies import libraries
from symseek import (
    ConstraintSet,
    InputError,
    Length,
    Library,
    PriorityQueue,
    Program,
    Programs,
    RiskSeeking,
    Search,
    SearchConfig,
    Stopped,
    Token,
    VanillaPolicyGradient,
    paper_constraints,
    presets,
    problems,
)
from symseek.data import Data
from symseek.engines.native import Breeder, Evaluator, pair
from symseek.evolution import Evolution, Evolver, fittest
from symseek.grading import Graded
from symseek.recombination import Recombiner

KOZA = Library(["add", "sub", "mul", "div", "sin", "cos", "exp", "log"], variables=["x"])
FITTED = Library(["add", "sub", "mul", "div", "sin", "exp", "const"], variables=["x", "y"])
TREES = Library([Token("fork", 3), Token("chain", 1), Token("a", 0), Token("b", 0)], variables=[])

CROSSING = Evolution(crossover=1.0, mutation=0.0)
MUTATING = Evolution(crossover=0.0, mutation=1.0)

Node = tuple[int, "float | None"]  # a token and, if it is `const`, its value


def nodes(program: Program) -> tuple[Node, ...]:
    """The tokens in pre-order, each constant beside its own."""
    values = iter(program.constants)
    constant = program.library.constant_id
    return tuple((token, next(values) if token == constant else None) for token in program.tokens)


def tree_end(library: Library, tree: tuple[Node, ...], at: int) -> int:
    """Where the subtree that begins at a place ends."""
    open_slots = 1
    while open_slots:
        open_slots += library.arities[tree[at][0]] - 1
        at += 1
    return at


def subtrees(library: Library, tree: tuple[Node, ...]) -> list[tuple[int, int]]:
    return [(at, tree_end(library, tree, at)) for at in range(len(tree))]


def token_rows(programs: Programs) -> list[tuple[int, ...]]:
    return [program.tokens for program in programs]


def copies(texts: list[str], library: Library, count: int) -> Programs:
    return Programs.from_list([Program.parse(text, library) for text in texts] * count)


def bred(
    library: Library,
    parents: Programs,
    options: Evolution,
    *,
    rules: Any = None,
    fitness: NDArray[np.float64] | None = None,
    seed: int = 0,
) -> Programs:
    """One generation of children, of equal parents unless a fitness is given."""
    breeder = Breeder(ConstraintSet(library, rules or [Length(1, 30)]), seed)
    breeder.begin(parents)
    chosen = np.ones(len(parents)) if fitness is None else fitness
    return breeder.breed(parents, chosen, 0, 0, options)


def with_values(parents: Programs, seed: int) -> Programs:
    """The programs, every constant a number that occurs nowhere else."""
    values = np.random.default_rng(seed).normal(size=parents.constants.shape)
    return Programs(parents.library, parents.tokens, parents.lengths, values)


# ---- breeding --------------------------------------------------------------------------------


def assert_a_generation(rules: ConstraintSet, parents: Programs, children: Programs) -> None:
    """What holds of the children of any generation, those met before apart."""
    for child in children:
        Program(rules.library, child.tokens, child.constants)  # complete, or this raises
        assert rules.violations(child) == []
    constant = rules.library.constant_id
    of_parents = {value for parent in parents for value in parent.constants} | {1.0}
    for tokens, length, values in zip(
        children.tokens, children.lengths, children.constants, strict=True
    ):
        assert (tokens[length:] == -1).all()
        count = 0 if constant is None else np.count_nonzero(tokens == constant)
        assert count <= children.constants.shape[1]
        assert set(values[:count].tolist()) <= of_parents
        assert (values[count:] == 1.0).all()


@settings(max_examples=80, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**64 - 1))
def test_children_are_complete_new_and_obey_the_constraints(data: Any, seed: int) -> None:
    library = data.draw(libraries(evaluable=False))
    constraints = data.draw(constraint_lists(library))
    options = data.draw(st.sampled_from([Evolution(), CROSSING, MUTATING]))
    try:
        made = policy(library, constraints, seed=seed)
        population = with_values(made.sample(40, 0).programs, seed % 1000)
    except InputError:
        assume(False)  # the constraints collide
    breeder = Breeder(made.rules, seed)
    breeder.begin(population)
    met = set(token_rows(population))
    for generation in range(3):
        fitness = np.random.default_rng(generation).uniform(size=len(population))
        children = breeder.breed(population, fitness, 1, generation, options)
        assert len(children) <= len(population)
        assert made.allows(children).all()
        assert_a_generation(made.rules, population, children)
        rows = token_rows(children)
        assert len(set(rows)) == len(rows)
        assert not met & set(rows)
        met |= set(rows)
        population = Programs.concatenate([children, population])


CASES = {
    "paper": (KOZA, paper_constraints()),
    "constants": (FITTED, paper_constraints(4, 20)),
    "arity 3": (TREES, [Length(1, 20)]),
    "one operator": (Library(["add"], variables=["x", "y"]), [Length(1, 15)]),
}


@pytest.mark.parametrize("options", [Evolution(), CROSSING, MUTATING], ids=["both", "cross", "mut"])
@pytest.mark.parametrize(("library", "rules"), CASES.values(), ids=CASES)
def test_ordinary_parents_have_many_children(library: Any, rules: Any, options: Any) -> None:
    made = policy(library, rules, seed=1)
    parents = with_values(made.sample(300, 0).programs, 1)
    children = bred(library, parents, options, rules=rules)
    assert len(children) > 20
    assert made.allows(children).all()
    assert_a_generation(made.rules, parents, children)
    assert not set(token_rows(children)) & set(token_rows(parents))


def test_the_random_numbers_are_those_of_seed_iteration_and_generation() -> None:
    rules = ConstraintSet(FITTED, paper_constraints())
    parents = with_values(policy(FITTED, paper_constraints()).sample(200, 0).programs, 0)
    fitness = np.linspace(0, 1, 200)

    def breed(seed: int, iteration: int, generation: int, threads: int = 1) -> Any:
        breeder = Breeder(rules, seed, threads)
        breeder.begin(parents)
        children = breeder.breed(parents, fitness, iteration, generation, Evolution())
        return tuple(map(nodes, children))

    first = breed(5, 2, 3)
    assert len(first) > 100
    assert breed(5, 2, 3) == breed(5, 2, 3, threads=2) == breed(5, 2, 3, threads=3) == first
    others = [breed(6, 2, 3), breed(5, 1, 3), breed(5, 2, 4)]
    assert len({first, *others}) == 4


def test_begin_forgets_what_was_met() -> None:
    parents = copies(["sin(x) + x", "x*exp(x)"], KOZA, 50)
    breeder = Breeder(ConstraintSet(KOZA, [Length(1, 20)]), 0)
    breeder.begin(parents)
    first = token_rows(breeder.breed(parents, np.ones(100), 0, 0, Evolution()))
    again = token_rows(breeder.breed(parents, np.ones(100), 0, 0, Evolution()))
    assert first
    assert again == []
    breeder.begin(parents)
    assert token_rows(breeder.breed(parents, np.ones(100), 0, 0, Evolution())) == first


def test_admit_takes_what_is_allowed_and_new_once() -> None:
    breeder = Breeder(ConstraintSet(KOZA, paper_constraints(4, 10)), 0)
    breeder.begin(copies(["sin(x) + x"], KOZA, 1))
    texts = ["sin(x) + x", "cos(x) + x", "cos(x) + x", "x", "sin(x + sin(x))", "x + x*x"]
    assert breeder.admit(copies(texts, KOZA, 1)).tolist() == [
        False,  # met by `begin`
        True,
        False,  # met just now
        False,  # too short
        False,  # a sine in a sine
        True,
    ]


CONSTANT_PARENTS = ["2.5*x + 3.5", "sin(4.5 - y)", "6.5/(7.5 + x*8.5)"]


def test_crossover_puts_a_subtree_of_one_parent_and_its_constants_into_another() -> None:
    """Every way to cross the parents occurs, and nothing else."""
    parents = copies(CONSTANT_PARENTS, FITTED, 3000)
    trees = [nodes(program) for program in parents[:3]]
    possible = {
        tree[:at] + other[first:last] + tree[end:]
        for tree in trees
        for other in trees
        for at, end in subtrees(FITTED, tree)
        for first, last in subtrees(FITTED, other)
    }
    children = {nodes(child) for child in bred(FITTED, parents, CROSSING)}
    assert children <= possible

    def only_tokens(some: set[tuple[Node, ...]]) -> set[tuple[int, ...]]:
        return {tuple(token for token, _ in tree) for tree in some}

    # Of programs that differ in their constants alone, one is met first and stands for all.
    assert only_tokens(children) == only_tokens(possible) - only_tokens(set(trees))


def exchanged(library: Library, tree: tuple[Node, ...]) -> set[tuple[Node, ...]]:
    """A token gives way to another of its arity."""
    return {
        (*tree[:at], leaf(library, token), *tree[at + 1 :])
        for at in range(len(tree))
        for token, arity in enumerate(library.arities)
        if arity == library.arities[tree[at][0]] and token != tree[at][0]
    }


def leaf(library: Library, token: int) -> Node:
    return token, 1.0 if token == library.constant_id else None


def inserted(library: Library, tree: tuple[Node, ...]) -> set[tuple[Node, ...]]:
    """A binary or unary operator comes above a node; its other operand is a terminal."""
    found = set()
    for at, end in subtrees(library, tree):
        this = tree[at:end]
        for token, arity in enumerate(library.arities):
            above = ((token, None),)
            terminals = [(leaf(library, other),) for other in library.terminal_ids]
            if arity == 1:
                found.add(tree[:at] + above + this + tree[end:])
            if arity == 2:
                for beside in terminals:
                    found.add(tree[:at] + above + this + beside + tree[end:])
                    found.add(tree[:at] + above + beside + this + tree[end:])
    return found


def hoisted(library: Library, tree: tuple[Node, ...]) -> set[tuple[Node, ...]]:
    """An operator gives way to one of its operands."""
    found = set()
    for at, end in subtrees(library, tree):
        operand = at + 1
        for _ in range(library.arities[tree[at][0]]):
            after = tree_end(library, tree, operand)
            found.add(tree[:at] + tree[operand:after] + tree[end:])
            operand = after
    return found


def is_regrown(library: Library, tree: tuple[Node, ...], child: tuple[Node, ...]) -> bool:
    """Whether a child is the tree with one subtree replaced by another, its constants all 1."""
    for at, end in subtrees(library, tree):
        if child[:at] != tree[:at] or len(child) <= at:
            continue
        child_end = tree_end(library, child, at)
        fresh = all(value in (None, 1.0) for _, value in child[at:child_end])
        if child[child_end:] == tree[end:] and fresh:
            return True
    return False


def test_all_four_mutations_occur_and_nothing_else() -> None:
    parents = copies(["2.5*sin(x) + 3.5"], FITTED, 40_000)
    (tree,) = {nodes(program) for program in parents}
    children = {nodes(child) for child in bred(FITTED, parents, MUTATING)}
    known = {
        kind: make(FITTED, tree) for kind, make in
        (("exchange", exchanged), ("insert", inserted), ("hoist", hoisted))
    }  # fmt: skip
    reached = {tuple(token for token, _ in child) for child in children}
    for kind, expected in known.items():
        assert len(expected) >= 3
        missing = {each for each in expected if tuple(token for token, _ in each) not in reached}
        assert not missing, kind
    others = children - set().union(*known.values())
    assert len(others) > 1000
    assert all(is_regrown(FITTED, tree, child) for child in others)
    # A new subtree is short, so that a child stays near its parent: of the eight tokens asked for
    # the last may be a binary operator, whose operands come on top.
    assert max(map(len, others)) <= len(tree) - 1 + 9


def test_hoisting_is_seen_where_no_new_subtree_can_be_mistaken_for_it() -> None:
    """Nothing that is grown has a constant other than 1, so these values were kept."""
    parents = copies(["(2.5 + x)*(3.5 + y)"], FITTED, 2000)
    children = {str(child) for child in bred(FITTED, parents, MUTATING)}
    assert {"2.5 + x", "3.5 + y", "2.5*(3.5 + y)", "(2.5 + x)*3.5"} <= children


def test_large_tournaments_breed_from_the_best() -> None:
    """Each parent has a variable of its own, by which its children are told."""
    names = [f"v{i}" for i in range(20)]
    library = Library(["add"], variables=names)
    texts = ["+".join([f"({name} + {name})"] * 5) for name in names]
    parents = copies(texts, library, 15)
    best = 7
    fitness = np.tile(np.where(np.arange(20) == best, 1.0, np.linspace(0, 0.5, 20)), 15)
    # With mutation alone a child has one parent.

    def share(tournament: int) -> float:
        options = Evolution(crossover=0.0, mutation=1.0, tournament=tournament)
        children = bred(library, parents, options, fitness=fitness)
        assert len(children) > 100
        leaves = [program.names for program in children]
        return float(np.mean([row.count(names[best]) * 2 > row.count("add") for row in leaves]))

    assert share(1) < 0.2
    assert share(60) > 0.8


def test_invalid_programs_are_behind_even_negative_rewards() -> None:
    """An invalid program's reward is 0, which a valid one may be below."""
    programs = copies(["x", "x + x", "sin(x)"], KOZA, 1)
    ok = np.array([True, False, True])
    best = fittest([Graded(programs, np.array([-2.0, 0.0, -1.0]), ok, 3)], 2)
    assert [str(program) for program in best.programs] == ["sin(x)", "x"]


def nothing_to_breed() -> tuple[ConstraintSet, Programs]:
    library = Library([], variables=["x"])
    return ConstraintSet(library, [Length(1, 3)]), copies(["x"], library, 5)


def test_where_nothing_can_be_bred_there_are_no_children() -> None:
    rules, parents = nothing_to_breed()
    assert len(bred(rules.library, parents, Evolution(), rules=rules.constraints)) == 0
    sampled = Graded(parents, np.ones(5), np.ones(5, dtype=bool), 1)

    def grade(programs: Programs) -> Graded:
        raise AssertionError("there is nothing to grade")

    batch = Evolver(Evolution(), rules, 0, 1)(sampled, 0, grade, lambda: False)
    assert token_rows(batch.programs) == token_rows(parents)


def test_no_parents_have_no_children() -> None:
    assert len(bred(KOZA, Programs.from_list([], KOZA), Evolution(), fitness=np.ones(0))) == 0


# ---- pairs -----------------------------------------------------------------------------------

ordinary = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0]) | st.floats(-10, 10).filter(
    lambda value: abs(value) > 1e-3
)
awkward = st.one_of(ordinary, ordinary, ordinary, st.sampled_from([np.nan, np.inf, -np.inf]))


def tables(draw: Any, elements: Any, rows: int, columns: int) -> NDArray[np.float64]:
    flat = draw(st.lists(elements, min_size=rows * columns, max_size=rows * columns))
    return np.array(flat, dtype=np.float64).reshape(rows, columns)


def assert_best_pairs(got: Any, task: tuple[Any, ...]) -> None:
    """The smallest error of all allowed pairs, and a candidate that has it."""
    error, index = got
    every, scale = pairing.errors(*task)
    for p in range(every.shape[0]):
        for way in range(every.shape[1]):
            lowest = every[p, way].min(initial=np.inf)
            if np.isinf(lowest):
                assert (error[p, way], index[p, way]) == (np.inf, -1)
                continue
            chosen = index[p, way]
            rounding = 1e-12 * max(scale[p, way, chosen], scale[p, way, every[p, way].argmin()])
            assert error[p, way] == pytest.approx(lowest, rel=1e-12, abs=rounding)
            assert every[p, way, chosen] == pytest.approx(lowest, rel=1e-12, abs=rounding)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_pairs_are_those_of_trying_all(data: Any) -> None:
    values, candidates, rows = (data.draw(st.integers(1, most)) for most in (4, 20, 4))
    task = (
        tables(data.draw, awkward, values, rows),
        tables(data.draw, awkward, candidates, rows),
        tables(data.draw, ordinary, 1, rows)[0],
        tables(data.draw, st.sampled_from([0.0, 0.5, 1.0, 3.0]), 1, rows)[0],
        tables(data.draw, st.booleans(), values, candidates).astype(bool),
    )
    assert_best_pairs(pair(*task), task)


@pytest.mark.parametrize("candidates", [1, 7, 8, 9, 64, 75])
def test_pairs_of_many_values(candidates: int) -> None:
    random = np.random.default_rng(candidates)
    task = (
        random.normal(size=(23, 30)),
        random.normal(size=(candidates, 30)),
        random.normal(size=30),
        random.uniform(0.5, 2.0, 30),
        random.uniform(size=(23, candidates)) < 0.7,
    )
    one, two = pair(*task), pair(*task, threads=2)
    assert_best_pairs(one, task)
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_the_planted_pair_is_found_by_its_own_way_among_many() -> None:
    random = np.random.default_rng(1)
    candidates = random.uniform(0.5, 2.0, (50, 40))
    a = random.uniform(0.5, 2.0, 40)
    for way, join in enumerate(pairing.WAYS):
        target = join(a, candidates[33])
        error, index = pair(a[None], candidates, target, np.ones(40), np.ones((1, 50), dtype=bool))
        assert index[0, way] == 33
        assert error[0, way] < 1e-25
        assert (np.delete(error[0], way) > 1e-3).all()


@pytest.mark.parametrize("candidates", [0, 5])
def test_where_no_pair_is_allowed_there_is_none(candidates: int) -> None:
    nothing = np.zeros((3, candidates), dtype=bool)
    error, index = pair(np.ones((3, 4)), np.ones((candidates, 4)), np.ones(4), np.ones(4), nothing)
    assert np.isposinf(error).all()
    assert (index == -1).all()


# ---- recombination ---------------------------------------------------------------------------

ROWS = np.random.default_rng(3).uniform(0.5, 2.0, (50, 2))
SOME = ["sin(x)", "y*y", "x", "y", "exp(y)", "x*y", "sin(y)", "x + x", "exp(x) + y", "sin(x*y)"]


def data_for(
    formula: str, library: Library, X: NDArray[np.float64] = ROWS, weights: Any = None
) -> Data:
    y = Program.parse(formula).evaluate(X)
    return Data.checked(X, y, library.variables, weights)


def graded(programs: Programs, data: Data) -> Graded:
    """Rewards that fall with the squared error; constants stay as they are."""
    errors = Evaluator(programs.library, data.X, data.y, data.weights).errors(programs)
    rewards = np.where(errors.ok, 1 / (1 + errors.squared), 0.0)
    return Graded(programs, rewards, errors.ok, errors.distinct)


@pytest.mark.parametrize("formula", ["sin(x) + y*y", "sin(x)*y*y", "sin(x)/(y*y)", "sin(x) - y*y"])
def test_two_halves_in_the_batch_become_the_whole(formula: str) -> None:
    data = data_for(formula, FITTED)
    pairs = Recombiner(FITTED, data, max_length=20)(graded(copies(SOME, FITTED, 1), data), 10)
    assert pairs is not None
    assert len(pairs) == 10
    best = graded(pairs, data)
    assert best.rewards[0] == best.rewards.max()
    np.testing.assert_allclose(pairs[0].evaluate(data.X), data.y, rtol=1e-12)


@pytest.mark.parametrize("part", ["y", "sin(y)"])
@pytest.mark.parametrize("way", ["whole - part", "part - whole", "whole/part", "part/whole"])
def test_either_operand_can_be_the_one_that_is_missing(way: str, part: str) -> None:
    """The longer half is too long to be a part, so the other must be found for it."""
    whole = "exp(x) + x*sin(x)"
    formula = way.replace("whole", f"({whole})").replace("part", part)
    data = data_for(formula, FITTED)
    batch = graded(copies([*SOME, whole], FITTED, 1), data)
    pairs = Recombiner(FITTED, data, max_length=11)(batch, 5)
    assert pairs is not None
    assert Program.parse(formula, FITTED).tokens == pairs[0].tokens


def test_pairs_are_no_longer_than_programs_may_be() -> None:
    data = data_for("exp(x) + x*sin(x) + sin(y*x)", FITTED)
    batch = graded(copies([*SOME, "exp(x) + x*sin(x)"], FITTED, 1), data)
    exact = {}
    for most in (4, 7, 11, 12):
        pairs = Recombiner(FITTED, data, most)(batch, 100)
        assert pairs is not None
        assert pairs.lengths.max() <= most
        for each in pairs:
            Program(FITTED, each.tokens)  # complete, or this raises
        exact[most] = bool(graded(pairs, data).rewards.max() > 1 - 1e-9)
    assert exact == {4: False, 7: False, 11: False, 12: True}


def test_constants_of_both_parts_are_carried_in_order() -> None:
    parts = ["2.5*sin(3.5*x)", "4.5*y + 5.5"]
    whole = "exp(1.5*x)*2.5 + 0.5"
    for formula, constants in {
        f"{parts[0]} + ({parts[1]})": (2.5, 3.5, 4.5, 5.5),
        f"({parts[1]})/({whole})": (4.5, 5.5, 1.5, 2.5, 0.5),
    }.items():
        data = data_for(formula, FITTED)
        batch = graded(copies([*SOME, *parts, whole], FITTED, 1), data)
        pairs = Recombiner(FITTED, data, max_length=24)(batch, 5)
        assert pairs is not None
        best = pairs[0]
        if best.names[0] == "add" and best.constants != constants:  # the sum the other way round
            constants = constants[2:] + constants[:2]
        assert best.constants == constants
        np.testing.assert_allclose(best.evaluate(data.X), data.y, rtol=1e-12)


def test_a_library_without_binary_operators_has_nothing_to_join_with() -> None:
    library = Library(["sin", "exp"], variables=["x", "y"])
    data = data_for("sin(x) + y", FITTED)
    batch = graded(copies(["sin(x)", "y", "exp(x)"], library, 1), data)
    assert Recombiner(library, data, 20)(batch, 5) is None


def test_only_the_operators_of_the_library_are_used() -> None:
    library = Library(["mul", "sin"], variables=["x", "y"])
    data = data_for("sin(x) + y", FITTED)
    batch = graded(copies(["sin(x)", "y", "x"], library, 1), data)
    pairs = Recombiner(library, data, 20)(batch, 100)
    assert pairs is not None
    assert {program.names[0] for program in pairs} == {"mul"}


def test_invalid_programs_are_not_joined() -> None:
    data = data_for("sin(x) + y", FITTED)
    batch = copies(["x/(y - y)", "sin(x)/(x - x)"], FITTED, 1)
    assert not graded(batch, data).ok.any()
    assert Recombiner(FITTED, data, 20)(graded(batch, data), 5) is None


def test_of_equal_programs_the_shortest_is_the_part() -> None:
    """The longer one, which comes first, leaves no room for the other half."""
    data = data_for("sin(x)*y + x*y", FITTED)
    batch = graded(copies(["x*y + 0*x", "x*y", "sin(x)*y"], FITTED, 1), data)
    assert batch.rewards[0] == batch.rewards[1]
    pairs = Recombiner(FITTED, data, max_length=9)(batch, 5)
    assert pairs is not None
    np.testing.assert_allclose(pairs[0].evaluate(data.X), data.y, rtol=1e-12)


def test_tables_with_more_rows_than_are_compared() -> None:
    X = np.random.default_rng(4).uniform(0.5, 2.0, (5000, 2))
    data = data_for("sin(x)*y*y", FITTED, X)
    pairs = Recombiner(FITTED, data, 20)(graded(copies(SOME, FITTED, 1), data), 5)
    assert pairs is not None
    np.testing.assert_allclose(pairs[0].evaluate(X), data.y, rtol=1e-12)


def test_rows_without_weight_do_not_count() -> None:
    weights = np.ones(50)
    weights[::2] = 0.0
    spoilt = Program.parse("sin(x) + y*y").evaluate(ROWS)
    spoilt[::2] += 100.0
    data = Data.checked(ROWS, spoilt, FITTED.variables, weights)
    pairs = Recombiner(FITTED, data, 20)(graded(copies(SOME, FITTED, 1), data), 5)
    assert pairs is not None
    np.testing.assert_allclose(pairs[0].evaluate(ROWS)[1::2], spoilt[1::2], rtol=1e-12)


# ---- searches --------------------------------------------------------------------------------

X = np.random.default_rng(0).uniform(-1, 1, (20, 1))
HARD = np.sin(X[:, 0] ** 2) * np.cos(X[:, 0]) - 1 + np.exp(X[:, 0]) / 3
EASY = X[:, 0] ** 2 + X[:, 0]
SHORT = Evolution(generations=5, pairing=3)


class Hunt:
    """A search that keeps what it grades and what it learns from."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.batches: list[Programs] = []
        self.perfect_before: list[bool] = []  # for each batch
        grader = search.grader

        def grade(programs: Programs) -> Graded:
            best = search.front.best
            self.perfect_before.append(best is not None and best.reward >= search.perfect)
            self.batches.append(programs)
            return grader(programs)

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
    return entries, means, result.expressions, search.policy.weights.flat.tobytes()


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
    assert len(result.history) == 1


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
    sampled = search.grader(search.policy.sample(50, 0).programs)

    def grade(programs: Programs) -> Graded:
        raise AssertionError("nothing was to be bred")

    batch = search.evolver(sampled, 0, grade, lambda: 0)
    assert token_rows(batch.programs) == token_rows(sampled.programs)


def test_the_batch_to_learn_from_has_the_sample_and_the_best_children() -> None:
    search = hybrid()
    assert search.evolver is not None
    sampled = search.grader(search.policy.sample(200, 0).programs)
    born: list[Graded] = []

    def grade(programs: Programs) -> Graded:
        born.append(search.grader(programs))
        return born[-1]

    batch = search.evolver(sampled, 0, grade, lambda: 10**6)
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
        assert np.isfinite(hunt.search.policy.score(batch).log_probability).all()


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
    start = learns.policy.weights.flat.copy()
    learns.run()
    stays.run()
    np.testing.assert_array_equal(stays.policy.weights.flat, start)
    assert (learns.policy.weights.flat != start).any()


@pytest.mark.parametrize(
    ("share", "fresh"), [(0.0, ""), (0.5, "1 3 5 7"), (0.25, "3 7"), (0.75, "1 2 3 5 6 7")]
)
def test_a_share_of_the_batches_is_written_by_an_untrained_policy(share: float, fresh: str) -> None:
    search = hybrid(fresh=share, evolution=None, max_expressions=1_600, learning_rate=0.01)
    untrained = search.untrained.weights.flat.copy()
    assert (untrained != search.policy.weights.flat).any()
    hunt = Hunt(search)
    np.testing.assert_array_equal(search.untrained.weights.flat, untrained)
    same = [
        token_rows(batch) == token_rows(search.untrained.sample(200, number).programs)
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
    assert (plain.policy.weights.flat != decayed.policy.weights.flat).any()


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
        ({"fresh": 1.0}, "fresh is 1"),
        ({"fresh": -0.5}, "fresh is -0.5"),
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
    config = presets.hybrid(max_expressions=100_000, stop_reward=1 - 1e-9)
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
