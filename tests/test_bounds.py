"""Constants that stay within bounds: the native fit beside SciPy's, and every other way to fit."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from symseek import Library, Program, fit_constants
from symseek.constants import FIT_METHODS, Bounds, FitConfig
from symseek.programs import Programs

LIBRARY = Library(["add", "sub", "mul", "div", "sin", "exp", "const"], ["x", "z"])
BOXES = [(0.0, np.inf), (-np.inf, 0.5), (-1.0, 1.0), (0.25, 0.75)]
# Each program with the law behind its rows, whose numbers are outside of some boxes.
PROGRAMS = [
    ("1.0*x + 1.0", lambda x, z: 2.0 * x - 3.0),
    ("1.0*x + 1.0*z + 1.0", lambda x, z: -0.5 * x + 0.7 * z + 4.0),
    ("1.0*exp(1.0*x)", lambda x, z: 3.0 * np.exp(-0.8 * x)),
    ("1.0/(x + 1.0)", lambda x, z: 0.6 / (x + 0.2)),
    ("1.0*sin(1.0*x) + 1.0*z", lambda x, z: 0.6 * np.sin(0.9 * x) + 0.4 * z),
    ("1.0*exp(1.0*x) + 1.0*exp(1.0*z)", lambda x, z: 0.5 * np.exp(0.4 * x) + 0.3 * np.exp(z)),
]
METHODS = [*FIT_METHODS]


def rows(law, seed=0, count=60):
    draw = np.random.default_rng(seed)
    X = draw.uniform(0.2, 2, (count, 2))
    return X, law(X[:, 0], X[:, 1]) + 0.01 * draw.normal(size=count)


def loss(program, constants, X, y):
    other = Program(program.library, program.tokens, tuple(constants))
    with np.errstate(all="ignore"):
        return other.evaluate(X) - y


def best_of_scipy(program, X, y, low, high):
    """The least sum of squares that SciPy's bounded fit finds from many places."""
    draw = np.random.default_rng(1)
    count, best = len(program.constants), np.inf
    least, most = (np.full(count, each) for each in (low, high))
    for _ in range(12):
        size = 10.0 ** draw.uniform(-1, 0.5, count) * draw.choice([-1, 1], count)
        start = np.clip(size, np.maximum(least, -3) + 1e-3, np.minimum(most, 3) - 1e-3)
        found = least_squares(
            lambda c: np.nan_to_num(loss(program, c, X, y), nan=1e6, posinf=1e6, neginf=-1e6),
            start,
            bounds=(least, most),
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        )
        best = min(best, 2 * found.cost)
    return best


@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
@pytest.mark.parametrize("method", METHODS)
def test_the_fit_is_as_good_as_scipys_and_within_bounds(method, number, box):
    text, law = PROGRAMS[number]
    program = Program.parse(text, LIBRARY)
    X, y = rows(law)
    config = FitConfig(method, restarts=8, bounds=Bounds(*box))
    graded = fit_constants(Programs.from_list([program]), X, y, config)
    constants = graded.programs[0].constants
    assert graded.ok[0]
    assert all(box[0] <= each <= box[1] for each in constants)
    mine = np.sum(loss(program, constants, X, y) ** 2)
    its = best_of_scipy(program, X, y, *box)
    assert mine <= its * (1 + 1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_bounds_that_do_not_bind_change_no_optimum(method):
    text, law = PROGRAMS[2]
    batch = Programs.from_list([Program.parse(text, LIBRARY)])
    X, y = rows(law)
    free = fit_constants(batch, X, y, FitConfig(method))
    bound = fit_constants(batch, X, y, FitConfig(method, bounds=Bounds(-100, 100)))
    np.testing.assert_allclose(bound.programs.constants, free.programs.constants, rtol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_remembered_of_a_fit_is_of_its_bounds(threads):
    """The same programs on the same evaluator, with other bounds."""
    from symseek.engines.interface import engine_named

    X, y = rows(PROGRAMS[1][1])
    texts = [text for text, _ in PROGRAMS] * 3
    batch = Programs.from_list([Program.parse(text, LIBRARY) for text in texts])
    evaluator = engine_named("native", threads).evaluator(LIBRARY, X, y)
    for low, high in [*BOXES, (-np.inf, np.inf), *BOXES]:
        config = FitConfig(bounds=Bounds(low, high))
        fresh = engine_named("native", 1).evaluator(LIBRARY, X, y).fit(batch, config)
        found = evaluator.fit(batch, config)
        np.testing.assert_array_equal(found.programs.constants, fresh.programs.constants)
        for program in found.programs:
            assert all(low <= each <= high for each in program.constants)


def test_other_rewards_keep_to_bounds():
    X, y = rows(PROGRAMS[2][1])
    batch = Programs.from_list([Program.parse(text, LIBRARY) for text, _ in PROGRAMS])

    def reward(y, predictions, weights):
        return 1 / (1 + np.abs(y - predictions).max(axis=-1))

    graded = fit_constants(batch, X, y, FitConfig(bounds=Bounds(0, 1.5)), reward=reward)
    assert graded.ok.all()
    for program in graded.programs:
        assert all(0 <= each <= 1.5 for each in program.constants)


def test_many_rows_keep_to_bounds():
    """Where starts are sought on a sample of the rows."""
    X, y = rows(PROGRAMS[2][1], count=5000)
    batch = Programs.from_list([Program.parse(PROGRAMS[2][0], LIBRARY)])
    graded = fit_constants(batch, X, y, FitConfig(bounds=Bounds(0, 2)))
    assert all(0 <= each <= 2 for each in graded.programs[0].constants)
    its = best_of_scipy(batch[0], X, y, 0, 2)
    assert np.sum(loss(batch[0], graded.programs[0].constants, X, y) ** 2) <= its * (1 + 1e-6)
