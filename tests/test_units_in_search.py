"""Units while formulas are written: exactly those that agree are sampled, bred and scored."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.units import agrees, every_program
from symseek import InputError, Library, Program, Token
from symseek.constraints import (
    Arguments,
    ConstraintSet,
    Dimensions,
    Length,
    MaxConstants,
    NotAllConstants,
    paper_constraints,
)
from symseek.dimensions import DIMENSIONLESS, Dimension
from symseek.engines.native import NativeEngine
from symseek.evolution import Evolution
from symseek.policy import PolicyWeights
from symseek.programs import Programs

METRE, SECOND, KILOGRAM = (Dimension({name: 1}) for name in ("m", "s", "kg"))
COLUMNS = {"x": METRE, "t": SECOND, "m": KILOGRAM, "a": DIMENSIONLESS}
OPERATORS = (
    *("add", "sub", "mul", "div", "sqrt", "square", "sin", "exp", "log", "neg", "abs", "sign"),
    *("atan2", "hypot", "max", "reciprocal"),
)
ENGINE = NativeEngine()


def powers(dimension: Dimension) -> dict[str, Fraction]:
    return dict(dimension.powers)


def all_programs(library: Library, longest: int) -> Programs:
    return Programs.from_list([Program(library, each) for each in every_program(library, longest)])


@st.composite
def searches(draw: st.DrawFn, longest: int) -> tuple[ConstraintSet, Dimensions]:
    """A small library with units, and its constraints."""
    columns = draw(st.sampled_from([("x", "t"), ("x",), ("x", "a"), ("x", "t", "m"), ("t", "a")]))
    operators = draw(
        st.lists(st.sampled_from([*OPERATORS, "pow"]), min_size=1, max_size=3, unique=True)
    )
    numbers: list[Any] = draw(st.sampled_from([[], ["const"], [2], [2, "const"], [-0.5, 2]]))
    library = Library([*operators, *numbers], variables=columns)
    targets = [
        DIMENSIONLESS,
        METRE,
        METRE**2,
        METRE / SECOND,
        SECOND,
        METRE ** Fraction(1, 2),
        None,
    ]
    units = Dimensions(COLUMNS, draw(st.sampled_from(targets)), draw(st.booleans()))
    rules: list[Any] = [Length(1, longest), units]
    if "const" in numbers:
        rules += draw(
            st.sampled_from([[], [NotAllConstants()], [MaxConstants(1), NotAllConstants()]])
        )
    return ConstraintSet(library, rules), units


@settings(max_examples=60)
@given(made=searches(longest=5))
def test_all_formulas_that_agree_and_no_others_may_be_written(
    made: tuple[ConstraintSet, Dimensions],
) -> None:
    rules, units = made
    programs = all_programs(rules.library, 5)
    columns = {name: powers(each) for name, each in units.variables.items()}
    target = None if units.target is None else powers(units.target)
    others = [each for each in rules.built_in if each is not units]
    wanted = [
        agrees(each, columns, target, units.free_numbers)
        and not any(other.violated_by(each) for other in others)
        for each in programs
    ]
    assert ENGINE.permits(rules, programs).tolist() == wanted


@settings(max_examples=40)
@given(made=searches(longest=5), seed=st.integers(0, 1000))
def test_samples_agree_and_are_as_likely_as_scored(
    made: tuple[ConstraintSet, Dimensions], seed: int
) -> None:
    rules, units = made
    programs = all_programs(rules.library, 5)
    permitted = programs[np.flatnonzero(ENGINE.permits(rules, programs))]
    policy = ENGINE.policy(rules, hidden=8)
    weights = PolicyWeights.start(tokens=len(rules.library), hidden=8, seed=seed).flat
    if not len(permitted):
        with pytest.raises(InputError, match="the constraints collide"):
            policy.sample(weights, seed, 0, 5)
        return
    sample = policy.sample(weights, seed, 0, 200)
    assert not any(units.violated_by(each) for each in sample.programs)
    share = np.exp(policy.score(weights, permitted).log_probability).sum()
    assert np.isfinite(policy.score(weights, sample.programs).log_probability).all()
    # What is missing is what comes to a dead end; restarts are what it is of all that was begun.
    assert share < 1 + 1e-4
    begun = 200 + policy.restarts
    assert abs((1 - share) - policy.restarts / begun) < 6 * np.sqrt(0.25 / begun)


KINEMATIC = {"x": METRE, "t": SECOND, "m": KILOGRAM, "g": METRE / SECOND**2}
ENERGY = KILOGRAM * METRE**2 / SECOND**2


def kinematic(free: bool = False, target: Dimension | None = ENERGY) -> ConstraintSet:
    library = Library(["add", "sub", "mul", "div", "sin", "exp", "log", "const"], list(KINEMATIC))
    return ConstraintSet(library, [*paper_constraints(), Dimensions(KINEMATIC, target, free)])


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("target", [ENERGY, None, DIMENSIONLESS])
def test_long_formulas_agree_and_few_are_begun_anew(free: bool, target: Dimension | None) -> None:
    rules = kinematic(free, target)
    policy = ENGINE.policy(rules, hidden=16)
    weights = PolicyWeights.start(tokens=len(rules.library), hidden=16, seed=0).flat
    sample = policy.sample(weights, 0, 0, 2000)
    columns = {name: powers(each) for name, each in KINEMATIC.items()}
    wanted = None if target is None else powers(target)
    assert all(agrees(each, columns, wanted, free) for each in sample.programs)
    assert ENGINE.permits(rules, sample.programs).all()
    assert sample.programs.lengths.max() == 30
    assert policy.restarts < 2000


def test_samples_do_not_depend_on_threads() -> None:
    rules = kinematic()
    weights = PolicyWeights.start(tokens=len(rules.library), hidden=16, seed=0).flat
    one, three = (NativeEngine(n).policy(rules, 16).sample(weights, 3, 2, 500) for n in (1, 3))
    assert np.array_equal(one.programs.tokens, three.programs.tokens)
    assert np.array_equal(one.entropy, three.entropy)


@pytest.mark.parametrize("free", [False, True])
def test_children_agree(free: bool) -> None:
    rules = kinematic(free)
    policy = ENGINE.policy(rules, hidden=16)
    weights = PolicyWeights.start(tokens=len(rules.library), hidden=16, seed=0).flat
    parents = policy.sample(weights, 0, 0, 500).programs
    breeder = ENGINE.breeder(rules)
    breeder.begin(parents)
    fitness = np.random.default_rng(0).uniform(size=500)
    children = breeder.breed(parents, fitness, 0, 0, 0, Evolution(), 1000)
    columns = {name: powers(each) for name, each in KINEMATIC.items()}
    assert all(agrees(each, columns, powers(ENERGY), free) for each in children)
    assert len(children) > 700


def test_the_arguments_of_a_form_have_their_dimensions() -> None:
    library = Library([Token("form", 3), "add", "mul", "div", "const"], variables=["x", "t"])
    given_form = Dimensions(
        {"x": METRE, "t": SECOND}, METRE, arguments={"form": (METRE, DIMENSIONLESS / SECOND, None)}
    )
    every = frozenset({"add", "mul", "div", "const", "x", "t"})
    rules = ConstraintSet(library, [Length(4, 14), Arguments("form", (every,) * 3), given_form])
    policy = ENGINE.policy(rules, hidden=8)
    weights = PolicyWeights.start(tokens=len(library), hidden=8, seed=0).flat
    dimensions = {"x": {"m": Fraction(1)}, "t": {"s": Fraction(1)}}
    wanted = ({"m": Fraction(1)}, {"s": Fraction(-1)}, None)
    for each in policy.sample(weights, 0, 0, 2000).programs:
        assert all(agrees(p, dimensions, w) for p, w in zip(each.arguments, wanted, strict=True))


def test_units_that_a_search_cannot_hold_are_refused() -> None:
    many = {f"x{at}": Dimension({f"d{at}": 1}) for at in range(9)}
    library = Library(["add"], variables=list(many))
    with pytest.raises(InputError, match=r"9 base dimensions, d0, .*; a search can hold 8"):
        ConstraintSet(library, [Length(1, 5), Dimensions(many, None)])
    twice = [Length(1, 5), Dimensions(COLUMNS, None), Dimensions(COLUMNS, METRE)]
    with pytest.raises(InputError, match="two Dimensions constraints"):
        ConstraintSet(Library(["add"], ["x"]), twice)
