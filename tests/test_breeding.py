"""Breeding in the native core: crossover, mutation, tournaments, and no program twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from constraint_strategies import constraint_lists, policy
from engine_helpers import Breeder
from evolution_helpers import FITTED, KOZA, TREES, Node, copies, nodes, token_rows
from examples import examples
from strategies import libraries
from symseek import (
    ConstraintSet,
    Evolution,
    InputError,
    Length,
    Library,
    Program,
    Programs,
    paper_constraints,
)
from symseek.engines.interface import engine_named
from symseek.evaluation import Graded
from symseek.evolution import Evolver

CROSSING = Evolution(crossover=1.0, mutation=0.0)
MUTATING = Evolution(crossover=0.0, mutation=1.0)


def tree_end(library: Library, tree: tuple[Node, ...], at: int) -> int:
    """Where the subtree that begins at a place ends."""
    open_slots = 1
    while open_slots:
        open_slots += library.arities[tree[at][0]] - 1
        at += 1
    return at


def subtrees(library: Library, tree: tuple[Node, ...]) -> list[tuple[int, int]]:
    return [(at, tree_end(library, tree, at)) for at in range(len(tree))]


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


@examples(80)
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
        assert made.permits(children).all()
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
    assert made.permits(children).all()
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


def nothing_to_breed() -> tuple[ConstraintSet, Programs]:
    library = Library([], variables=["x"])
    return ConstraintSet(library, [Length(1, 3)]), copies(["x"], library, 5)


def test_where_nothing_can_be_bred_there_are_no_children() -> None:
    rules, parents = nothing_to_breed()
    assert len(bred(rules.library, parents, Evolution(), rules=rules.constraints)) == 0
    sampled = Graded(parents, np.ones(5), np.ones(5, dtype=bool), 1)

    def grade(programs: Programs) -> Graded:
        raise AssertionError("there is nothing to grade")

    evolver = Evolver(Evolution(), rules, 0, engine_named("native"))
    batch, _ = evolver(sampled, None, 0, grade, lambda: 0)
    assert token_rows(batch.programs) == token_rows(parents)


def test_no_parents_have_no_children() -> None:
    assert len(bred(KOZA, Programs.from_list([], KOZA), Evolution(), fitness=np.ones(0))) == 0
