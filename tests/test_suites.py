"""The Feynman and Strogatz suites: formulas read by Python itself, ranges, trajectories."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from refusals import refused
from symseek.errors import InputError
from symseek.lab import problems
from symseek.lab.problems import BenchmarkProblem, Box, Trajectories, strogatz
from symseek.settings import Settings

FEYNMAN, STROGATZ = problems.suite("Feynman"), problems.suite("Strogatz")

PYTHON = {
    name: getattr(np, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "pi")
} | {"asin": np.arcsin, "acos": np.arccos}

# Copied by hand: formula as a function of the columns, and the ranges.
BY_HAND = {
    "feynman_I_6_2": (
        lambda s, t: np.exp(-((t / s) ** 2) / 2) / (math.sqrt(2 * math.pi) * s),
        [(1, 3), (1, 3)],
    ),
    "feynman_I_15_3t": (
        lambda x, c, u, t: (t - u * x / c**2) / np.sqrt(1 - u**2 / c**2),
        [(1, 5), (3, 10), (1, 2), (1, 5)],
    ),
    "feynman_I_26_2": (lambda n, t: np.arcsin(n * np.sin(t)), [(0, 1), (1, 5)]),
    "feynman_I_44_4": (lambda n, k, T, a, b: n * k * T * np.log(b / a), [(1, 5)] * 5),
    "feynman_II_11_3": (
        lambda q, E, m, a, b: q * E / (m * (a**2 - b**2)),
        [(1, 3)] * 3 + [(3, 5), (1, 2)],
    ),
    "feynman_II_35_21": (lambda n, m, B, k, T: n * m * np.tanh(m * B / (k * T)), [(1, 5)] * 5),
    "feynman_III_19_51": (
        lambda m, q, h, n, e: -m * q**4 / (2 * (4 * np.pi * e) ** 2 * (h / 2 / np.pi) ** 2 * n**2),
        [(1, 5)] * 5,
    ),
    "feynman_test_5": (
        lambda d, G, m, M: 2 * np.pi * d**1.5 / np.sqrt(G * (m + M)),
        [(1, 3)] * 4,
    ),
    "feynman_test_20": (
        lambda w, v, a, h, m, c, b: (
            a**2
            * h**2
            / (4 * np.pi * m**2 * c**2)
            * (v / w) ** 2
            * (v / w + w / v - np.sin(b) ** 2)
        ),
        [(1, 5)] * 6 + [(0, 6)],
    ),
}


def test_names_and_sizes() -> None:
    assert len(FEYNMAN) == 119
    assert len({each.name for each in FEYNMAN}) == 119
    volumes = [re.match(r"feynman_(III|II|I|test)_", each.name)[1] for each in FEYNMAN]  # type: ignore[index]
    assert {v: volumes.count(v) for v in volumes} == {"I": 51, "II": 33, "III": 15, "test": 20}
    systems = ("bacres", "barmag", "glider", "lv", "predprey", "shearflow", "vdp")
    assert [each.name for each in STROGATZ] == [f"strogatz_{s}{i}" for s in systems for i in (1, 2)]
    assert max(len(each.variables) for each in FEYNMAN) == 9


def test_the_operators_are_those_of_a_fit() -> None:
    for each in (*FEYNMAN, *STROGATZ):
        assert each.operators == (*Settings().operators, "const")
        assert each.constants


@pytest.mark.parametrize("problem", [*FEYNMAN, *STROGATZ], ids=lambda each: each.name)
def test_python_reads_the_formula_alike(problem: BenchmarkProblem) -> None:
    """And every variable is in it, and has a value in its range, and the target is a number."""
    data = replace(problem, train=small(problem), test=small(problem)).data()
    columns = dict(zip(problem.variables, data.X_test.T, strict=True))
    value = eval(problem.expression, {"__builtins__": {}}, PYTHON | columns)
    np.testing.assert_allclose(data.y_test, value, rtol=1e-12)
    assert np.isfinite(data.y_train).all()
    assert np.std(data.y_train) > 0
    names = set(re.findall(r"[A-Za-z_]\w*", problem.expression))
    assert names - set(PYTHON) <= set(problem.variables) <= names | {"x", "y"}
    if problem.positive:
        assert data.X_train.min() >= 0


def small(problem: BenchmarkProblem) -> problems.Points:
    points = problem.train
    return replace(points, count=50) if isinstance(points, Box) else points


@pytest.mark.parametrize("name", BY_HAND)
def test_laws_copied_by_hand(name: str) -> None:
    formula, ranges = BY_HAND[name]
    problem = problems.load(name)
    data = problem.data()
    assert data.X_train.shape == data.X_test.shape == (2000, len(ranges))
    np.testing.assert_allclose(data.y_train, formula(*data.X_train.T), rtol=1e-13)
    for column, (low, high) in zip(data.X_train.T, ranges, strict=True):
        assert low <= column.min() < low + 0.01 * (high - low)
        assert high >= column.max() > high - 0.01 * (high - low)
    assert not np.array_equal(data.X_train, data.X_test)


def test_laws_are_found_by_name_or_suite() -> None:
    assert problems.load("Feynman_i_6_2A").expression == "exp(-theta**2/2)/sqrt(2*pi)"
    assert problems.load("strogatz_vdp2").expression == "-x/10"
    assert len(problems.select("feynman", "STROGATZ", "feynman_test_1")) == 133
    with refused("problem", "feynman_I_6_3", "did you mean 'feynman_I_6_2'?"):
        problems.load("feynman_I_6_3")


# --- points


def test_the_text_of_a_box() -> None:
    assert str(Box(((1, 5), (1, 5)), 2000)) == "U(1, 5, 2000)"
    assert str(Box(((0, 6), (1.5, 5)), 30)) == "U(0-6 1.5-5, 30)"
    with pytest.raises(InputError, match="3 variables have 2 ranges"):
        Box(((0, 1), (0, 1)), 5).draw(3, np.random.RandomState(0))


@pytest.mark.parametrize("system", strogatz.SYSTEMS, ids=lambda each: each.name)
def test_trajectories_are_solutions(system: strogatz._System) -> None:
    """A solver of another order, with steps of its own, comes to the same points."""
    problem = problems.load(f"strogatz_{system.name}1")
    X = problem.data().X_train
    assert X.shape == (400, 2)
    for path in X.reshape(4, 100, 2):
        found = solve_ivp(
            lambda t, z: np.array(system.slopes(*z)),
            (0, 9.9),
            path[0],
            "DOP853",
            np.linspace(0, 9.9, 100),
            rtol=1e-11,
            atol=1e-11,
        )
        np.testing.assert_allclose(path, found.y.T, rtol=1e-5, atol=1e-5)


def test_starts() -> None:
    first = {each.name: each.data().X_train[::100] for each in STROGATZ}
    assert first["strogatz_lv1"].tolist() == [[1, 3], [4, 1], [8, 2], [3, 3]]
    near = first["strogatz_bacres1"] - [5, 10]
    assert 0 < np.abs(near).max() < 4
    assert ((first["strogatz_vdp2"] >= 0) & (first["strogatz_vdp2"] <= 1)).all()
    assert (np.abs(first["strogatz_shearflow1"]) <= [math.pi, math.pi / 2]).all()
    assert not np.array_equal(first["strogatz_vdp1"], first["strogatz_vdp2"])


def test_trajectories_of_one_variable_are_refused() -> None:
    points = problems.load("strogatz_lv1").train
    assert isinstance(points, Trajectories)
    assert str(points) == "T(4, 100)"
    with pytest.raises(InputError, match="2 variables, not 1"):
        points.draw(1, np.random.RandomState(0))
