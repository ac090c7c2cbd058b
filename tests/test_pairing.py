"""Pairs of programs that complete each other: the native comparison, and the Recombiner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine_helpers import evaluator, pair
from evolution_helpers import FITTED, copies
from examples import examples
from oracle import pairing
from symseek import Library, Program, Programs
from symseek.data import Data
from symseek.engines.interface import engine_named
from symseek.evaluation import Graded
from symseek.evolution import Recombiner

ENGINE = engine_named("native")

# ---- the comparison --------------------------------------------------------------------------

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


@examples(60)
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


# ---- programs --------------------------------------------------------------------------------

ROWS = np.random.default_rng(3).uniform(0.5, 2.0, (50, 2))
SOME = ["sin(x)", "y*y", "x", "y", "exp(y)", "x*y", "sin(y)", "x + x", "exp(x) + y", "sin(x*y)"]


def data_for(
    formula: str, library: Library, X: NDArray[np.float64] = ROWS, weights: Any = None
) -> Data:
    y = Program.parse(formula).evaluate(X)
    return Data.checked(X, y, library.variables, weights)


def graded(programs: Programs, data: Data) -> Graded:
    """Rewards that fall with the squared error; constants stay as they are."""
    errors = evaluator(programs.library, data.X, data.y, data.weights).errors(programs)
    rewards = np.where(errors.ok, 1 / (1 + errors.sums[0]), 0.0)
    return Graded(programs, rewards, errors.ok, errors.distinct)


@pytest.mark.parametrize("formula", ["sin(x) + y*y", "sin(x)*y*y", "sin(x)/(y*y)", "sin(x) - y*y"])
def test_two_halves_in_the_batch_become_the_whole(formula: str) -> None:
    data = data_for(formula, FITTED)
    pairs = Recombiner(FITTED, data, 20, ENGINE)(graded(copies(SOME, FITTED, 1), data), 10)
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
    pairs = Recombiner(FITTED, data, 11, ENGINE)(batch, 5)
    assert pairs is not None
    assert Program.parse(formula, FITTED).tokens == pairs[0].tokens


def test_pairs_are_no_longer_than_programs_may_be() -> None:
    data = data_for("exp(x) + x*sin(x) + sin(y*x)", FITTED)
    batch = graded(copies([*SOME, "exp(x) + x*sin(x)"], FITTED, 1), data)
    exact = {}
    for most in (4, 7, 11, 12):
        pairs = Recombiner(FITTED, data, most, ENGINE)(batch, 100)
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
        pairs = Recombiner(FITTED, data, 24, ENGINE)(batch, 5)
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
    assert Recombiner(library, data, 20, ENGINE)(batch, 5) is None


def test_only_the_operators_of_the_library_are_used() -> None:
    library = Library(["mul", "sin"], variables=["x", "y"])
    data = data_for("sin(x) + y", FITTED)
    batch = graded(copies(["sin(x)", "y", "x"], library, 1), data)
    pairs = Recombiner(library, data, 20, ENGINE)(batch, 100)
    assert pairs is not None
    assert {program.names[0] for program in pairs} == {"mul"}


def test_invalid_programs_are_not_joined() -> None:
    data = data_for("sin(x) + y", FITTED)
    batch = copies(["x/(y - y)", "sin(x)/(x - x)"], FITTED, 1)
    assert not graded(batch, data).ok.any()
    assert Recombiner(FITTED, data, 20, ENGINE)(graded(batch, data), 5) is None


def test_of_equal_programs_the_shortest_is_the_part() -> None:
    """The longer one, which comes first, leaves no room for the other half."""
    data = data_for("sin(x)*y + x*y", FITTED)
    batch = graded(copies(["x*y + 0*x", "x*y", "sin(x)*y"], FITTED, 1), data)
    assert batch.rewards[0] == batch.rewards[1]
    pairs = Recombiner(FITTED, data, 9, ENGINE)(batch, 5)
    assert pairs is not None
    np.testing.assert_allclose(pairs[0].evaluate(data.X), data.y, rtol=1e-12)


def test_tables_with_more_rows_than_are_compared() -> None:
    X = np.random.default_rng(4).uniform(0.5, 2.0, (5000, 2))
    data = data_for("sin(x)*y*y", FITTED, X)
    pairs = Recombiner(FITTED, data, 20, ENGINE)(graded(copies(SOME, FITTED, 1), data), 5)
    assert pairs is not None
    np.testing.assert_allclose(pairs[0].evaluate(X), data.y, rtol=1e-12)


def test_rows_without_weight_do_not_count() -> None:
    weights = np.ones(50)
    weights[::2] = 0.0
    spoilt = Program.parse("sin(x) + y*y").evaluate(ROWS)
    spoilt[::2] += 100.0
    data = Data.checked(ROWS, spoilt, FITTED.variables, weights)
    pairs = Recombiner(FITTED, data, 20, ENGINE)(graded(copies(SOME, FITTED, 1), data), 5)
    assert pairs is not None
    np.testing.assert_allclose(pairs[0].evaluate(ROWS)[1::2], spoilt[1::2], rtol=1e-12)
