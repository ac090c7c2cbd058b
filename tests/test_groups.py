"""Numbers that groups of rows have of their own: their fit, and what keeps to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.oracle.groups import dense_fit, linear_fit

from symseek import InputError, Library, Program, Programs
from symseek.constants import FitConfig
from symseek.engines.native import NativeEngine
from symseek.evaluation import Graded, fit_constants
from symseek.groups import Grouping, Groups, by_group, grouping_of

Array = NDArray[np.float64]

OPERATORS = ["add", "sub", "mul", "div", "exp", "neg", "square", "sin", "const"]


def library_of(groups: int) -> Library:
    grouping = Grouping("group", tuple(map(str, range(groups))), ("a", "b"))
    return Library(OPERATORS, ["x", "group", "a", "b"], grouping)


def rows_of(groups: int, rows: int, seed: int) -> tuple[Array, NDArray[np.intp]]:
    """Inputs, and groups in any order; a group may have no rows at all."""
    random = np.random.default_rng(seed)
    return random.uniform(0.5, 3.0, rows), random.integers(0, groups, rows)


def fitted(
    texts: list[str],
    rows: tuple[Array, NDArray[np.intp]],
    y: Array,
    groups: int,
    weights: Array | None = None,
    method: str = "least_squares",
    threads: int = 1,
    reward: str = "inverse_nrmse",
) -> Graded:
    library = library_of(groups)
    batch = Programs.from_list([Program.parse(text, library) for text in texts])
    config = FitConfig(method, restarts=3, max_steps=200)
    X = np.column_stack(rows)
    return fit_constants(batch, X, y, config, weights=weights, threads=threads, reward=reward)


@settings(max_examples=40, deadline=None)
@given(
    groups=st.integers(2, 6),
    rows=st.integers(30, 90),
    seed=st.integers(0, 2**16),
    heavy=st.booleans(),
)
def test_a_linear_fit_is_that_of_dense_least_squares(
    groups: int, rows: int, seed: int, heavy: bool
) -> None:
    x, group = rows_of(groups, rows, seed)
    random = np.random.default_rng([seed, 1])
    y = random.normal(size=rows) + 10.0 * random.normal(size=groups)[group]
    weights = random.uniform(0.0, 2.0, rows) if heavy else np.ones(rows)
    weights *= rows / weights.sum()
    law = fitted(["a + b*x + 1.0*x**2 + 1.0*sin(x)"], (x, group), y, groups, weights)
    values = law.programs[0].evaluate(np.column_stack([x, group]))
    best = linear_fit(np.array([x**2, np.sin(x)]), np.array([np.ones(rows), x]), group, y, weights)
    loss, least = (float(weights @ (each - y) ** 2) for each in (values, best))
    assert loss <= least * (1 + 1e-8) + 1e-12 * float(weights @ y**2)


@settings(max_examples=15, deadline=None)
@given(
    groups=st.integers(2, 5),
    seed=st.integers(0, 2**16),
    method=st.sampled_from(["least_squares", "mixed", "projected", "bfgs"]),
)
def test_a_fit_with_exponents_finds_what_scipy_finds(groups: int, seed: int, method: str) -> None:
    x, group = rows_of(groups, 40 * groups, seed)
    random = np.random.default_rng([seed, 2])
    a, b = random.uniform(1, 3, groups), random.uniform(0.5, 1.5, groups)
    y = a[group] * np.exp(-b[group] * x) + 0.8 * x + 0.01 * random.normal(size=len(x))
    least, shared, own = dense_fit(
        lambda x, shared, own: own[0] * np.exp(-own[1] * x) + shared[0] * x,
        (x, group, y, np.ones(len(x))),
        (1, 2, groups),
    )
    law = fitted(["a*exp(-b*x) + 1.0*x"], (x, group), y, groups, method=method).programs[0]
    values = law.evaluate(np.column_stack([x, group]))
    assert float(np.sum((values - y) ** 2)) == pytest.approx(least, rel=1e-6)
    assert law.constants[0] == pytest.approx(shared[0], rel=1e-3, abs=1e-3)
    np.testing.assert_allclose(law.own, own, rtol=5e-3, atol=5e-3)


def test_a_fit_begins_where_the_own_numbers_are() -> None:
    x, group = rows_of(3, 90, 8)
    y = np.sin(np.array([7.0, 9.0, 11.0])[group] * x)
    near = np.array([[[7.02, 8.98, 11.01], [np.nan] * 3]])
    X, library = np.column_stack([x, group]), library_of(3)
    law = Program.parse("sin(a*x)", library)
    config = FitConfig("least_squares", restarts=0)
    one = fit_constants(Programs.from_list([law]), X, y, config)
    two = fit_constants(
        Programs.from_list([replace(law, own=tuple(map(tuple, near[0])))]), X, y, config
    )
    assert one.rewards[0] < 0.9, "from 1 it finds another minimum"
    np.testing.assert_allclose(two.programs[0].own[0], [7.0, 9.0, 11.0], rtol=1e-6)


def test_one_name_is_one_number_wherever_it_stands() -> None:
    x, group = rows_of(3, 60, 1)
    a = np.array([0.5, 1.0, 1.7])[group]
    law = fitted(["a*x + exp(-a*x)"], (x, group), a * x + np.exp(-a * x), 3).programs[0]
    np.testing.assert_allclose(law.own[0], [0.5, 1.0, 1.7], rtol=1e-6)
    assert np.isnan(law.own[1]).all(), "the program has no b"


@pytest.mark.parametrize("rows", [90, 9_000])  # those of many rows start on a sample of them
def test_threads_order_and_company_change_nothing(rows: int) -> None:
    x, group = rows_of(5, rows, 3)
    y = np.sin(x) * (1 + group) + 0.1 * group
    texts = ["a*sin(x) + b", "a*sin(b*x)", "exp(-a*x)", "x + 1.0", "a*sin(x) + b"]
    one, two = (fitted(texts, (x, group), y, 5, threads=each) for each in (1, 2))
    np.testing.assert_array_equal(one.programs.own, two.programs.own)
    np.testing.assert_array_equal(one.rewards, two.rewards)
    own = one.programs.own
    assert own is not None
    np.testing.assert_array_equal(own[0], own[4])
    alone = fitted(texts[1:2], (x, group), y, 5)
    assert alone.programs.own is not None
    np.testing.assert_array_equal(alone.programs.own[0], own[1])
    assert one.rewards[0] > 1 - 1e-9


@pytest.mark.parametrize("reward", ["inverse_nrmse", "inverse_nmse", "r2"])
def test_rewards_are_those_of_the_predictions(reward: str) -> None:
    x, group = rows_of(4, 80, 5)
    y = x**2 + group + np.random.default_rng(0).normal(size=80)
    found = fitted(["a + 1.0*x"], (x, group), y, 4, reward=reward)
    values = found.programs[0].evaluate(np.column_stack([x, group]))
    share = np.mean((values - y) ** 2) / np.var(y)
    expected = {
        "inverse_nrmse": 1 / (1 + share**0.5),
        "inverse_nmse": 1 / (1 + share),
        "r2": 1 - share,
    }
    assert found.rewards[0] == pytest.approx(expected[reward], rel=1e-9)


def test_without_a_fit_programs_with_own_numbers_have_no_value() -> None:
    library = library_of(2)
    batch = Programs.from_list([Program.parse(text, library) for text in ("a + x", "2.0*x")])
    X = np.array([[1.0, 1.0], [2.0, 0.0], [4.0, 1.0]])
    evaluator = NativeEngine().evaluator(library, X, np.zeros(3))
    assert evaluator.errors(batch).ok.tolist() == [False, True]
    predictions = evaluator.predict(batch)
    assert predictions.values[1].tolist() == [2.0, 4.0, 8.0], "rows are in the table's order"
    assert np.isnan(batch[0].evaluate(X)).all()


def test_a_reward_that_no_fit_can_follow_is_refused() -> None:
    x, group = rows_of(2, 20, 0)
    with pytest.raises(InputError, match="choose another reward"):
        fitted(["a + x"], (x, group), x, 2, reward="inverse_mae")


def test_labels_are_told_apart_and_unknown_ones_are_named() -> None:
    grouping, codes = grouping_of(
        Groups("soil type", ["clay", 3.0, "clay", 3]), ["x", "a_soil_type"], 2
    )
    assert grouping.labels == ("clay", "3")
    assert grouping.own == ("b_soil_type", "c_soil_type")
    assert codes.tolist() == [0.0, 1.0, 0.0, 1.0]
    with pytest.raises(InputError, match="group 'sand' of 'soil type' was not in the table"):
        grouping.codes(["clay", "sand"])
    with pytest.raises(InputError, match="the groups of 'soil' are 1"):
        grouping_of(Groups("soil", ["clay", "clay"]), [], 2)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60))
def test_rows_stand_by_group_and_groups_are_filled_up(groups: list[int]) -> None:
    codes = np.array(groups, dtype=float)
    places, real, begins = by_group(codes, 5, 8)
    assert sorted(places[real].tolist()) == list(range(len(codes)))
    assert all(each % 8 == 0 for each in begins)
    for group in range(5):
        block = slice(begins[group], begins[group + 1])
        assert (codes[places[block]] == group).all()
        assert real[block].sum() == (codes == group).sum()
        inside = places[block][real[block]]
        assert (np.diff(inside) > 0).all()


def test_parts_of_a_program_keep_its_own_numbers() -> None:
    library = library_of(2)
    law = replace(Program.parse("a*x + 2.0", library), own=((3.0, 5.0), (0.0, 0.0)))
    X = np.array([[1.0, 1.0], [2.0, 0.0]])
    assert law.subtree(1).evaluate(X).tolist() == [5.0, 6.0]
    assert law.over(library) == law
    assert law.replaced(4, Program.parse("1.0", library)).evaluate(X).tolist() == [6.0, 7.0]


def test_a_constant_that_an_own_number_can_take_up_is_left_out() -> None:
    from symseek.model import full_library
    from symseek.regression.own_numbers import variants

    library = full_library(["t", "group"], grouping=Grouping("group", ("A", "B"), ("a", "b")))
    law = replace(Program.parse("a*exp(4.6 - t*b)", library), own=((1.0, 2.0), (3.0, 4.0)))
    assert "a*exp(-(t*b))" in [str(each) for each in variants(law)]


def test_folds_and_lines_keep_to_groups() -> None:
    from symseek.data import Data
    from symseek.selection.gaps import Lines
    from symseek.selection.held_out import folds

    random = np.random.default_rng(0)
    codes = np.repeat([0.0, 1.0, 2.0], [40, 25, 3])
    data = Data(
        np.column_stack([random.uniform(size=68), codes]), random.normal(size=68), np.ones(68)
    )
    for residuals in (random.normal(size=68), np.sin(np.arange(68) / 5)):
        fold = folds(data, residuals, codes)
        for group in range(3):
            inside = fold[codes == group]
            assert np.bincount(inside, minlength=10).max() <= len(inside) // 10 + 1
    _, lines = Lines(data.X, codes).along((0,))
    assert len(lines)
    assert (codes[lines[:, 0]] == codes[lines[:, 1]]).all()


def test_a_pole_between_rows_of_one_group_is_seen() -> None:
    from symseek.model import full_library
    from symseek.selection.gaps import Lines, find_gap

    grouping = Grouping("group", ("A", "B"), ("a",))
    library = full_library(["x", "group"], grouping=grouping)
    x = np.tile(np.linspace(0.0, 3.0, 10), 2)
    codes = np.repeat([0.0, 1.0], 10)
    X = np.column_stack([x, codes])
    for own, pole in (((-1.0, -2.0), False), ((-1.0, 1.55), True)):
        law = replace(Program.parse("1.0/(x - a)", library), own=(own,))
        gap = find_gap(law, Lines(law.widened(X), codes))
        assert (gap is not None) is pole
        if gap is not None:
            assert gap.at[0] == pytest.approx(1.55)
            assert gap.at[1] == 1.0


def test_a_program_that_has_no_value_has_no_own_numbers() -> None:
    x, group = rows_of(3, 30, 4)
    config = FitConfig("least_squares", restarts=0)
    library = Library([*OPERATORS, "log"], ["x", "group", "a", "b"], library_of(3).grouping)
    texts = ("a*log(x - x)", "a*x", "a*x + b*log(x - x)")
    batch = Programs.from_list([Program.parse(each, library) for each in texts])
    found = fit_constants(batch, np.column_stack([x, group]), x, config)
    assert found.ok.tolist() == [False, True, False]
    assert found.programs.own is not None
    assert np.isnan(found.programs.own[[0, 2]]).all()


def test_a_search_sees_some_groups_and_all_are_fitted() -> None:
    from symseek.regression.regression import Regression
    from symseek.settings import Settings

    random = np.random.default_rng(0)
    group = np.concatenate([np.arange(40).repeat(20), np.arange(20, 32).repeat(30)])
    level = random.uniform(1, 3, 40)
    x = random.uniform(0, 2, len(group))
    y = level[group] * np.exp(-x)
    labels = Groups("site", [f"site {each}" for each in group])
    chosen = Settings(max_expressions=4_000, max_seconds=None)
    regression = Regression(x[:, None], y, ["x"], chosen, groups=labels)
    seen = np.unique(regression.rows.sampled.X[:, 1])
    assert seen.tolist() == list(range(20, 32)), "the largest groups"
    regression.run()
    best = regression.model().best
    assert best.own is not None
    assert best.own.labels == tuple(f"site {each}" for each in range(40))
    assert best.nrmse < 1e-6
    assert np.isfinite(best.own.values).all()
