"""The problem table against formulas, ranges and libraries copied from the paper by hand."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from symseek import problems
from symseek.errors import InputError
from symseek.problems import Evenly, Uniform

L0 = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log")

# name: (formula in NumPy, low, high, variables)
PAPER = {
    "Nguyen-1": (lambda x: x**3 + x**2 + x, -1, 1, "x"),
    "Nguyen-2": (lambda x: x**4 + x**3 + x**2 + x, -1, 1, "x"),
    "Nguyen-3": (lambda x: x**5 + x**4 + x**3 + x**2 + x, -1, 1, "x"),
    "Nguyen-4": (lambda x: x**6 + x**5 + x**4 + x**3 + x**2 + x, -1, 1, "x"),
    "Nguyen-5": (lambda x: np.sin(x**2) * np.cos(x) - 1, -1, 1, "x"),
    "Nguyen-6": (lambda x: np.sin(x) + np.sin(x + x**2), -1, 1, "x"),
    "Nguyen-7": (lambda x: np.log(x + 1) + np.log(x**2 + 1), 0, 2, "x"),
    "Nguyen-8": (lambda x: np.sqrt(x), 0, 4, "x"),
    "Nguyen-9": (lambda x, y: np.sin(x) + np.sin(y**2), 0, 1, "xy"),
    "Nguyen-10": (lambda x, y: 2 * np.sin(x) * np.cos(y), 0, 1, "xy"),
    "Nguyen-11": (lambda x, y: x**y, 0, 1, "xy"),
    "Nguyen-12": (lambda x, y: x**4 - x**3 + 0.5 * y**2 - y, 0, 1, "xy"),
}


def test_every_problem_is_in_the_hand_checked_table() -> None:
    assert problems.names() == list(PAPER)


@pytest.mark.parametrize("name", PAPER)
def test_formula_points_and_library(name: str) -> None:
    formula, low, high, variables = PAPER[name]
    problem = problems.load(name)
    data = problem.data()
    assert problem.variables == tuple(variables)
    assert problem.library().names == (*L0, *variables)
    assert problem.budget == 2_000_000
    assert problem.positive == (low >= 0)
    for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        assert X.shape == (20, len(variables))
        assert X.dtype == y.dtype == np.float64
        assert X.min() >= low
        assert X.max() <= high
        np.testing.assert_allclose(y, formula(*X.T), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ["Nguyen-8", "Nguyen-12"])
def test_points_follow_the_rule(name: str) -> None:
    """Train inputs one variable after another, then test inputs, from one stream keyed by name."""
    _, low, high, variables = PAPER[name]
    rng = np.random.RandomState(zlib.adler32(name.encode()))
    train = [rng.uniform(low, high, 20) for _ in variables]
    test = [rng.uniform(low, high, 20) for _ in variables]
    data = problems.load(name).data()
    np.testing.assert_array_equal(data.X_train, np.transpose(train))
    np.testing.assert_array_equal(data.X_test, np.transpose(test))


def test_the_draw_itself_is_pinned() -> None:
    """NumPy promises that RandomState never changes; recovery rates depend on these very points."""
    X = problems.load("Nguyen-8").data().X_train
    assert X[:3, 0].tolist() == [0.4439140598156808, 3.5777730471526197, 1.0466773330204768]


def test_data_are_the_same_at_every_call() -> None:
    first, second = problems.load("Nguyen-9").data(), problems.load("Nguyen-9").data()
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_two_problems_with_the_same_range_have_different_points() -> None:
    a, b = (problems.load(name).data().X_train for name in ("Nguyen-1", "Nguyen-2"))
    assert not np.array_equal(a, b)


def test_suite_and_selection() -> None:
    assert [each.name for each in problems.suite("Nguyen")] == list(PAPER)
    chosen = problems.select("Nguyen-5", "nguyen", "Nguyen-5")
    assert [each.name for each in chosen][:3] == ["Nguyen-5", "Nguyen-1", "Nguyen-2"]
    assert len(chosen) == 12


def test_published_averages_are_the_papers() -> None:
    suite = problems.suite("Nguyen")
    for method, average in (("dsr", 83.6), ("pqt", 75.2), ("vpg", 46.7)):
        published = [each.published[method] for each in suite]
        assert np.mean(published) == pytest.approx(average, abs=0.051)


@pytest.mark.parametrize("ask", [problems.load, problems.suite, problems.select])
def test_unknown_names_are_refused_with_the_nearest(ask: object) -> None:
    with pytest.raises(InputError, match=r"'Nguyem'.*'Nguyen"):
        ask("Nguyem")  # type: ignore[operator]


def test_evenly_spaced_points() -> None:
    """E(a, b, c) is c points, not a step of c: both ends are in."""
    rng = np.random.RandomState(0)
    line = Evenly(1, 50, 50).draw(1, rng)
    np.testing.assert_array_equal(line[:, 0], np.arange(1, 51))
    grid = Evenly(-5, 5, 21).draw(2, rng)
    assert grid.shape == (441, 2)
    assert str(Evenly(-5, 5, 21)) == "E(-5, 5, 21)"
    assert str(Uniform(0.3, 4, 100)) == "U(0.3, 4, 100)"
