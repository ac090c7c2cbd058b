"""Formulas on rows that their numbers were not fitted to, against least squares by NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from symseek.arrays import Floats
from symseek.data import Data
from symseek.model import full_library
from symseek.programs import Program
from symseek.rewards import reward_named
from symseek.selection.held_out import blocks, folds, held_out_losses

LIBRARY = full_library(["x"])
LINES = [Program.parse(each, LIBRARY) for each in ("1.0", "1.0*x", "1.0*x + 1.0")]
SQUARES = reward_named("inverse_nrmse")


def designs(x: Floats) -> list[Floats]:
    ones = np.ones_like(x)
    return [ones[:, None], x[:, None], np.column_stack([x, ones])]


@examples(12)
@given(st.integers(0, 10**6), st.integers(6, 40))
def test_losses_are_those_of_least_squares_on_the_other_folds(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    x, weights = rng.uniform(0, 3, rows), rng.uniform(0.5, 2, rows)
    y = 2 * x + 1 + rng.normal(size=rows)
    data = Data(x[:, None], y, weights / weights.mean())
    fold = folds(data, y - y.mean())
    found = held_out_losses(LINES, data, fold, SQUARES)
    for design, losses in zip(designs(x), found, strict=True):
        for number in range(fold.max() + 1):
            out = fold == number
            root = np.sqrt(data.weights[~out])
            best = np.linalg.lstsq(design[~out] * root[:, None], y[~out] * root, rcond=None)[0]
            assert losses[out] == pytest.approx((design[out] @ best - y[out]) ** 2, rel=1e-5)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=80))
def test_blocks_are_even_and_keep_equal_values_together(values: list[int]) -> None:
    column = np.array(values, dtype=np.float64)
    fold = blocks(column)
    order = np.argsort(column, kind="stable")
    assert (np.diff(fold[order]) >= 0).all()
    assert set(fold.tolist()) == set(range(fold.max() + 1))
    assert fold.max() < 10
    for value in set(values):
        assert len(set(fold[column == value].tolist())) == 1


def test_even_blocks() -> None:
    assert np.bincount(blocks(np.arange(100.0))).tolist() == [10] * 10


def test_rows_that_follow_each_other_are_held_out_in_blocks() -> None:
    x = np.arange(60.0)
    wave = Data(x[:, None], np.sin(x / 6), np.ones(60))
    assert folds(wave, wave.y).tolist() == np.repeat(np.arange(10), 6).tolist()
    # In the order of the table, not in the one that merging brings.
    turned = Data(x[::-1, None].copy(), wave.y, np.ones(60))
    merged = turned.merged()
    fold = folds(merged, merged.y)
    assert fold.tolist() == np.repeat(np.arange(10), 6)[::-1].tolist()
    noise = np.random.default_rng(0).normal(size=60)
    shuffled = folds(wave, noise)
    assert np.bincount(shuffled).tolist() == [6] * 10
    assert (np.diff(shuffled) != 0).sum() > 30
    assert np.array_equal(shuffled, folds(wave, noise))


def test_a_row_where_a_formula_is_undefined_is_infinitely_bad() -> None:
    x = np.array([-1.0, 1.0, 2.0, 3.0])
    data = Data(x[:, None], x, np.ones(4))
    root = [Program.parse("1.0*log(x)", LIBRARY)]
    losses = held_out_losses(root, data, np.array([0, 1, 1, 1]), SQUARES)
    assert losses[0, 0] == np.inf
