"""The problem table against formulas, ranges and libraries copied from the paper by hand."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from symseek.errors import InputError
from symseek.lab import problems
from symseek.lab.problems import Evenly, Uniform

sin, cos, exp, log, sqrt = np.sin, np.cos, np.exp, np.log, np.sqrt

# name, formula, training points, test points where they are others, variables, budget in millions
TABLE = """
Nguyen-1         x**3 + x**2 + x                         U(-1, 1, 20)                        x   2
Nguyen-2         x**4 + x**3 + x**2 + x                  U(-1, 1, 20)                        x   2
Nguyen-3         x**5 + x**4 + x**3 + x**2 + x           U(-1, 1, 20)                        x   2
Nguyen-4         x**6 + x**5 + x**4 + x**3 + x**2 + x    U(-1, 1, 20)                        x   2
Nguyen-5         sin(x**2)*cos(x) - 1                    U(-1, 1, 20)                        x   2
Nguyen-6         sin(x) + sin(x + x**2)                  U(-1, 1, 20)                        x   2
Nguyen-7         log(x + 1) + log(x**2 + 1)              U(0, 2, 20)                         x   2
Nguyen-8         sqrt(x)                                 U(0, 4, 20)                         x   2
Nguyen-9         sin(x) + sin(y**2)                      U(0, 1, 20)                         xy  2
Nguyen-10        2*sin(x)*cos(y)                         U(0, 1, 20)                         xy  2
Nguyen-11        x**y                                    U(0, 1, 20)                         xy  2
Nguyen-12        x**4 - x**3 + y**2/2 - y                U(0, 1, 20)                         xy  2
Nguyen-2'        4*x**4 + 3*x**3 + 2*x**2 + x            U(-1, 1, 20)                        x   2
Nguyen-5'        sin(x**2)*cos(x) - 2                    U(-1, 1, 20)                        x   2
Nguyen-8'        x**(1/3)                                U(0, 4, 20)                         x   2
Nguyen-8''       x**(2/3)                                U(0, 4, 20)                         x   2
Nguyen-1c        3.39*x**3 + 2.12*x**2 + 1.78*x          U(-1, 1, 20)                        x   1
Nguyen-5c        sin(x**2)*cos(x) - 0.75                 U(-1, 1, 20)                        x   1
Nguyen-7c        log(x + 1.4) + log(x**2 + 1.3)          U(0, 2, 20)                         x   1
Nguyen-8c        sqrt(1.23*x)                            U(0, 4, 20)                         x   1
Nguyen-10c       sin(1.5*x)*cos(0.5*y)                   U(0, 1, 20)                         xy  1
GrammarVAE-1     1/3 + x + sin(x**2)                     E(-10, 10, 1000)                    x   2
Jin-1            2.5*x**4 - 1.3*x**3 + 0.5*y**2 - 1.7*y  U(-3, 3, 100)       U(-3, 3, 30)    xy  1
Jin-2            8*x**2 + 8*y**3 - 15                    U(-3, 3, 100)       U(-3, 3, 30)    xy  1
Jin-3            0.2*x**3 + 0.5*y**3 - 1.2*y - 0.5*x     U(-3, 3, 100)       U(-3, 3, 30)    xy  1
Jin-4            1.5*exp(x) + 5*cos(y)                   U(-3, 3, 100)       U(-3, 3, 30)    xy  1
Jin-5            6*sin(x)*cos(y)                         U(-3, 3, 100)       U(-3, 3, 30)    xy  1
Jin-6            1.35*x*y + 5.5*sin((x - 1)*(y - 1))     U(-3, 3, 100)       U(-3, 3, 30)    xy  1
Neat-1           x**4 + x**3 + x**2 + x                  U(-1, 1, 20)                        x   2
Neat-2           x**5 + x**4 + x**3 + x**2 + x           U(-1, 1, 20)                        x   2
Neat-3           sin(x**2)*cos(x) - 1                    U(-1, 1, 20)                        x   2
Neat-4           log(x + 1) + log(x**2 + 1)              U(0, 2, 20)                         x   2
Neat-5           2*sin(x)*cos(y)                         U(-1, 1, 100)                       xy  2
Neat-6           sum of 1/k for k = 1, ..., x            E(1, 50, 50)        E(1, 120, 120)  x   2
Neat-7           2 - 2.1*cos(9.8*x)*sin(1.3*y)           E(-50, 50, 100000)                  xy  2
Neat-8           exp(-(x - 1)**2)/(1.2 + (y - 2.5)**2)   U(0.3, 4, 100)                      xy  2
Neat-9           1/(1 + x**-4) + 1/(1 + y**-4)           E(-5, 5, 21)                        xy  2
Neat-6-extended  sum of 1/k for k = 1, ..., x            E(1, 50, 50)        E(1, 120, 120)  x   1
"""

# The rows that these points make: a grid of 21 by 21, but no grid of 100,000 by 100,000.
ROWS = {
    "U(-1, 1, 20)": 20,
    "U(0, 1, 20)": 20,
    "U(0, 2, 20)": 20,
    "U(0, 4, 20)": 20,
    "U(-1, 1, 100)": 100,
    "U(-3, 3, 100)": 100,
    "U(-3, 3, 30)": 30,
    "U(0.3, 4, 100)": 100,
    "E(-10, 10, 1000)": 1000,
    "E(1, 50, 50)": 50,
    "E(1, 120, 120)": 120,
    "E(-5, 5, 21)": 441,
    "E(-50, 50, 100000)": 100_000,
}

L0 = "add sub mul div sin cos exp log"

# By the beginning of the name, the first that fits, without the variables.
LIBRARIES = {
    "Nguyen-1c": f"{L0} const",
    "Nguyen-5c": f"{L0} const",
    "Nguyen-7c": f"{L0} const",
    "Nguyen-8c": f"{L0} const",
    "Nguyen-10c": f"{L0} const",
    "Nguyen": L0,
    "GrammarVAE": "add mul div sin exp 1 2 3",
    "Jin": "add sub mul div sin cos exp square cube const",
    "Neat-1": f"{L0} 1",
    "Neat-2": f"{L0} 1",
    "Neat-3": f"{L0} 1",
    "Neat-4": f"{L0} 1",
    "Neat-5": L0,
    "Neat-6-extended": "add mul div reciprocal neg sqrt log const",
    "Neat-6": "add mul div reciprocal neg sqrt",
    "Neat-7": f"{L0} tan tanh square cube sqrt",
    "Neat-8": "add sub mul div exp neg_exp square",
    "Neat-9": L0,
}


def harmonic(x: Any) -> Any:
    return np.array([sum(1 / k for k in range(1, int(n) + 1)) for n in x])


def fourth_powers(x: Any, y: Any) -> Any:
    with np.errstate(divide="ignore"):  # 1/(1 + inf) is the limit at 0
        return 1 / (1 + 1 / x**4) + 1 / (1 + 1 / y**4)


FORMULAS: dict[str, Callable[..., Any]] = {
    "Nguyen-1": lambda x: x**3 + x**2 + x,
    "Nguyen-2": lambda x: x**4 + x**3 + x**2 + x,
    "Nguyen-3": lambda x: x**5 + x**4 + x**3 + x**2 + x,
    "Nguyen-4": lambda x: x**6 + x**5 + x**4 + x**3 + x**2 + x,
    "Nguyen-5": lambda x: sin(x**2) * cos(x) - 1,
    "Nguyen-6": lambda x: sin(x) + sin(x + x**2),
    "Nguyen-7": lambda x: log(x + 1) + log(x**2 + 1),
    "Nguyen-8": lambda x: sqrt(x),
    "Nguyen-9": lambda x, y: sin(x) + sin(y**2),
    "Nguyen-10": lambda x, y: 2 * sin(x) * cos(y),
    "Nguyen-11": lambda x, y: x**y,
    "Nguyen-12": lambda x, y: x**4 - x**3 + 0.5 * y**2 - y,
    "Nguyen-2'": lambda x: 4 * x**4 + 3 * x**3 + 2 * x**2 + x,
    "Nguyen-5'": lambda x: sin(x**2) * cos(x) - 2,
    "Nguyen-8'": lambda x: np.cbrt(x),
    "Nguyen-8''": lambda x: np.cbrt(x**2),
    "Nguyen-1c": lambda x: 3.39 * x**3 + 2.12 * x**2 + 1.78 * x,
    "Nguyen-5c": lambda x: sin(x**2) * cos(x) - 0.75,
    "Nguyen-7c": lambda x: log(x + 1.4) + log(x**2 + 1.3),
    "Nguyen-8c": lambda x: sqrt(1.23 * x),
    "Nguyen-10c": lambda x, y: sin(1.5 * x) * cos(0.5 * y),
    "GrammarVAE-1": lambda x: 1 / 3 + x + sin(x**2),
    "Jin-1": lambda x, y: 2.5 * x**4 - 1.3 * x**3 + 0.5 * y**2 - 1.7 * y,
    "Jin-2": lambda x, y: 8.0 * x**2 + 8.0 * y**3 - 15.0,
    "Jin-3": lambda x, y: 0.2 * x**3 + 0.5 * y**3 - 1.2 * y - 0.5 * x,
    "Jin-4": lambda x, y: 1.5 * exp(x) + 5.0 * cos(y),
    "Jin-5": lambda x, y: 6.0 * sin(x) * cos(y),
    "Jin-6": lambda x, y: 1.35 * x * y + 5.5 * sin((x - 1.0) * (y - 1.0)),
    "Neat-1": lambda x: x**4 + x**3 + x**2 + x,
    "Neat-2": lambda x: x**5 + x**4 + x**3 + x**2 + x,
    "Neat-3": lambda x: sin(x**2) * cos(x) - 1,
    "Neat-4": lambda x: log(x + 1) + log(x**2 + 1),
    "Neat-5": lambda x, y: 2 * sin(x) * cos(y),
    "Neat-6": harmonic,
    "Neat-7": lambda x, y: 2 - 2.1 * cos(9.8 * x) * sin(1.3 * y),
    "Neat-8": lambda x, y: exp(-((x - 1) ** 2)) / (1.2 + (y - 2.5) ** 2),
    "Neat-9": fourth_powers,
    "Neat-6-extended": harmonic,
}


class Spec(NamedTuple):
    text: str
    train: str
    test: str
    variables: str
    budget: int

    @classmethod
    def of(cls, line: str) -> tuple[str, Spec]:
        name, text, train, *test, variables, budget = re.split(r"\s{2,}", line)
        return name, cls(text, train, *(test or [train]), variables, int(budget) * 1_000_000)


PAPER = dict(Spec.of(line) for line in TABLE.strip().splitlines())

SUITES = {
    "Nguyen": 12,
    "Nguyen-altered": 4,
    "Nguyen-c": 5,
    "GrammarVAE": 1,
    "Jin": 6,
    "Neat": 9,
    "Neat-extended": 1,
}


def test_every_problem_is_in_the_hand_checked_table() -> None:
    assert len(PAPER) == 38
    assert [each.name for each in problems.paper()] == list(PAPER) == list(FORMULAS)
    sizes = {name: len(problems.suite(name)) for name in problems.suites()}
    assert sizes == SUITES | {"Feynman": 119, "Strogatz": 14}
    assert problems.names()[: len(PAPER)] == list(PAPER)


@pytest.mark.parametrize("name", PAPER)
def test_specification(name: str) -> None:
    paper, problem = PAPER[name], problems.load(name)
    library = next(each for start, each in LIBRARIES.items() if name.startswith(start))
    assert problem.expression == paper.text
    assert (str(problem.train), str(problem.test)) == (paper.train, paper.test)
    assert problem.variables == tuple(paper.variables)
    assert set(problem.library().names) == {*library.split(), *paper.variables}
    assert problem.budget == paper.budget
    assert problem.constants == ("const" in library)
    assert problem.positive == ("(-" not in paper.train)
    assert problem.closed_form == ("sum" not in paper.text)


@pytest.mark.parametrize("name", PAPER)
def test_points_and_targets(name: str) -> None:
    paper, problem = PAPER[name], problems.load(name)
    data, again = problem.data(), problem.data()
    for points, X, y in (
        (paper.train, data.X_train, data.y_train),
        (paper.test, data.X_test, data.y_test),
    ):
        low, high = (float(each) for each in points[2:].split(", ")[:2])
        assert X.shape == (ROWS[points], len(paper.variables))
        assert X.dtype == y.dtype == np.float64
        assert low <= X.min() <= X.max() <= high
        assert np.isfinite(y).all()
        np.testing.assert_allclose(y, FORMULAS[name](*X.T), rtol=1e-13, atol=1e-13)
    for first, second in zip(data, again, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", PAPER)
def test_test_points_are_new_where_they_are_random(name: str) -> None:
    """Evenly spaced ones are the same, but for those of Neat-6, which continue where they end."""
    data = problems.load(name).data()
    random = PAPER[name].train.startswith("U")
    same = data.X_train.shape == data.X_test.shape and np.array_equal(data.X_train, data.X_test)
    assert same == (not random and not name.startswith("Neat-6"))
    assert not np.shares_memory(data.X_train, data.X_test)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("Nguyen-8", "Nguyen-8"),
        ("Nguyen-12", "Nguyen-12"),
        ("Nguyen-2'", "Nguyen-2a"),
        ("Nguyen-8''", "Nguyen-8aa"),
    ],
)
def test_points_follow_the_rule(name: str, theirs: str) -> None:
    """Train inputs one variable after another, then test inputs, from one stream keyed by name."""
    points, variables = problems.load(name).train, PAPER[name].variables
    rng = np.random.RandomState(zlib.adler32(theirs.encode()))
    train = [rng.uniform(points.low, points.high, 20) for _ in variables]
    test = [rng.uniform(points.low, points.high, 20) for _ in variables]
    data = problems.load(name).data()
    np.testing.assert_array_equal(data.X_train, np.transpose(train))
    np.testing.assert_array_equal(data.X_test, np.transpose(test))


def test_the_draw_itself_is_pinned() -> None:
    """NumPy promises that RandomState never changes; recovery rates depend on these very points."""
    X = problems.load("Nguyen-8").data().X_train
    assert X[:3, 0].tolist() == [0.4439140598156808, 3.5777730471526197, 1.0466773330204768]


def test_two_problems_with_the_same_range_have_different_points() -> None:
    a, b = (problems.load(name).data().X_train for name in ("Nguyen-1", "Nguyen-2"))
    assert not np.array_equal(a, b)


# --- names


def test_suite_and_selection() -> None:
    chosen = problems.select("Nguyen-5", "nguyen", "Nguyen-5")
    assert [each.name for each in chosen][:3] == ["Nguyen-5", "Nguyen-1", "Nguyen-2"]
    assert len(chosen) == 12  # the altered ones and those with constants are suites of their own


@pytest.mark.parametrize(
    "name", ["Nguyen-8''", "Nguyen-8pp", "nguyen-8PP", "Nguyen-8′′", "Nguyen-8″"]
)
def test_primes_in_many_spellings(name: str) -> None:
    assert problems.load(name).name == "Nguyen-8''"
    assert [each.name for each in problems.select(name, "Nguyen-8p")] == ["Nguyen-8''", "Nguyen-8'"]


@pytest.mark.parametrize("name", PAPER)
def test_shell_names_need_no_quotes_and_read_back(name: str) -> None:
    problem = problems.load(name)
    assert problem.shell_name.replace("-", "").isalnum()
    assert problems.load(problem.shell_name) is problem


@pytest.mark.parametrize("ask", [problems.load, problems.suite, problems.select])
def test_unknown_names_are_refused_with_the_nearest(ask: object) -> None:
    with pytest.raises(InputError, match=r"'Nguyem'.*'Nguyen"):
        ask("Nguyem")  # type: ignore[operator]


# --- the paper's results


@pytest.mark.parametrize(
    ("suite", "averages"),
    [
        ("Nguyen", (83.6, 75.2, 46.7)),
        ("Nguyen-altered", (59.0, 40.5, 0.2)),
        ("Nguyen-c", (100, 98, 88)),
    ],
)
def test_published_averages_are_the_papers(
    suite: str, averages: tuple[float, float, float]
) -> None:
    for method, average in zip(("dsr", "pqt", "vpg"), averages, strict=True):
        published = [each.published[method] for each in problems.suite(suite)]
        assert np.mean(published) == pytest.approx(average, abs=0.051)


@pytest.mark.parametrize(
    ("suite", "grade", "average"), [("Jin", "mean RMSE", 0.45), ("Neat", "median RMSE", 0.1756)]
)
def test_published_errors_are_the_papers(suite: str, grade: str, average: float) -> None:
    members = problems.suite(suite)
    assert {each.graded_by for each in members} == {grade}
    assert not any(each.published for each in members)
    published = [each.published_rmse["dsr"] for each in members]
    assert np.mean(published) == pytest.approx(average, rel=0.005)


# --- a target without a formula


def test_no_closed_form() -> None:
    problem = problems.load("Neat-6")
    with pytest.raises(InputError, match=r"Neat-6 has no closed form.*sum of 1/k"):
        problem.truth()
    assert problem.data().y_train[:3] == pytest.approx([1, 3 / 2, 11 / 6])


# --- points


def test_evenly_spaced_points() -> None:
    """E(a, b, c) is c points, not a step of c: both ends are in."""
    rng = np.random.RandomState(0)
    line = Evenly(1, 50, 50).draw(1, rng)
    np.testing.assert_array_equal(line[:, 0], np.arange(1, 51))
    grid = Evenly(-5, 5, 21).draw(2, rng)
    assert grid.shape == (441, 2)
    assert len(np.unique(grid, axis=0)) == 441
    assert str(Evenly(-5, 5, 21)) == "E(-5, 5, 21)"
    assert str(Uniform(0.3, 4, 100)) == "U(0.3, 4, 100)"


def test_evenly_spaced_without_a_grid() -> None:
    """Every variable takes each of its values once, the first in order."""
    points = Evenly(-50, 50, 1001, grid=False)
    X = points.draw(2, np.random.RandomState(3))
    axis = np.linspace(-50, 50, 1001)
    np.testing.assert_array_equal(X[:, 0], axis)
    np.testing.assert_array_equal(np.sort(X[:, 1]), axis)
    assert abs(np.corrcoef(X.T)[0, 1]) < 0.1
    assert str(points) == "E(-50, 50, 1001)"
