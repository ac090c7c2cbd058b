"""Fitting constants: fits against NumPy and SciPy, and the promises made.

A fit never ends worse than it began, its result depends on the program alone, and every program
gets a status that says how its fit ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from engine_helpers import Policy, evaluator
from examples import examples
from strategies import COMPOSED, programs
from symseek import (
    ConstraintSet,
    FitConfig,
    FitStatus,
    InputError,
    Length,
    Library,
    PolicyConfig,
    Program,
    Programs,
    Token,
    fit_constants,
)
from symseek.constants import FIT_METHODS, search_constants
from symseek.engines.interface import Evaluator, Fitted
from symseek.engines.native import simd_variants
from symseek.tokens import OPERATORS

Array = np.ndarray

# Operators that read an argument more than once: what comes back from each use must be added up.
TWICE = (
    Token("bump", 1, formula="a*exp(-a**2)"),
    Token("blend", 2, formula="a*b - a/(b**2 + 1) + sin(a)"),
)
LIBRARY = Library([*OPERATORS, *COMPOSED, *TWICE, "2.5", "const"], variables=["x", "y"])
GENTLE = Library(
    ["add", "sub", "mul", "sin", "cos", "tanh", COMPOSED[0], *TWICE, "const"], variables=["x", "y"]
)
ROWS = [1, 7, 8, 20, 127, 128, 129, 300, 2049, 3000]  # around blocks, and a tape kept whole or not
MANY = 5000  # so many that starts are sought on some of them
TABLE = np.random.default_rng(0).uniform([0.2, -2.0], [3.0, 2.0], (MANY, 2))
TABLE[5::11, 1] = 0.0
TARGET = TABLE[:, 0] * TABLE[:, 1] - np.cos(TABLE[:, 1])
WEIGHTS = np.random.default_rng(1).uniform(0, 2, MANY)
WEIGHTS[3::7] = 0.0


def parsed(*texts: str, library: Library = LIBRARY) -> Programs:
    return Programs.from_list([Program.parse(text, library) for text in texts])


def on_table(rows: int = 20, library: Library = LIBRARY, **more: Any) -> Evaluator:
    return evaluator(library, TABLE[:rows], TARGET[:rows], WEIGHTS[:rows], **more)


def fit(batch: Programs, config: FitConfig, on: Evaluator | None = None) -> Fitted:
    """Fit on the table, BFGS minding the paper's reward."""
    on = on_table(library=batch.library) if on is None else on
    weights, y = WEIGHTS[: on.rows], TARGET[: on.rows]
    return on.fit(batch, config, weights @ (y - np.average(y, weights=weights)) ** 2, 0.5)


def restarted(programs: Programs, constants: Array) -> Programs:
    return Programs(programs.library, programs.tokens, programs.lengths, constants)


@st.composite
def with_constants(draw: st.DrawFn, library: Library, *, max_length: int) -> Program:
    """A random program with at least one constant, of moderate values."""
    assert library.constant_id is not None
    tokens = list(draw(programs(library, max_length=max_length)).tokens)
    leaves = [at for at, token in enumerate(tokens) if library.arities[token] == 0]
    tokens[draw(st.sampled_from(leaves))] = library.constant_id
    values = st.sampled_from([0.0, 1.0, 2.0, -1.0]) | st.floats(-3, 3)
    count = tokens.count(library.constant_id)
    return Program(library, tuple(tokens), tuple(draw(values) for _ in range(count)))


# Derivatives; those of automatic differentiation are in test_derivatives.py


def test_a_derivative_that_is_not_finite_counts_as_none() -> None:
    library = Library(["sqrt", "mul", "const"], variables=["x"])
    X = np.array([[0.0], [1.0], [4.0], [0.0]])
    y = np.array([7.0, 3.0, 5.0, 9.0])
    found = evaluator(library, X, y).derivatives(parsed("sqrt(4.0*x)", library=library))
    assert found.ok[0]
    # sqrt(4 x) has the slope x / (2 sqrt(4 x)) by the constant: 1/4 and 1/2 where x is 1 and 4.
    assert found.loss[0] == pytest.approx(49 + 1 + 1 + 81)
    assert found.gradient[0] == pytest.approx([1 / 4 + 1 / 2])
    assert found.normal[0] == pytest.approx(np.array([[1 / 16 + 1 / 4]]))


def test_a_row_that_weighs_nothing_pulls_nothing_even_where_its_error_overflows() -> None:
    library = Library(["mul", "const"], variables=["x"])
    X, y, weights = np.array([[1], [2], [1e200]]), np.array([3, 5, -1e200]), np.array([1, 1, 0])
    found = evaluator(library, X, y, weights).derivatives(parsed("1.0*x", library=library))
    assert (found.loss[0], found.gradient[0, 0], found.normal[0, 0, 0]) == (13.0, 8.0, 5.0)


def test_an_operator_may_hand_on_any_of_its_arguments() -> None:
    second = Token("second", 2, formula="b")
    library = Library([second, "mul", "const"], variables=["x", "y"])
    batch = Programs.from_list([Program.from_preorder("second x mul 1.0 y", library)])
    found = fit(batch, FitConfig(restarts=0))
    y, target, w = TABLE[:20, 1], TARGET[:20], WEIGHTS[:20]
    assert found.programs.constants[0] == pytest.approx([(w * y) @ target / ((w * y) @ y)])


def test_a_constant_that_enters_twice_is_not_taken_for_linear() -> None:
    """It stands in a sum and in a sine; taken for linear, a fit would end in the first minimum."""
    wave = Token("wave", 1, formula="sin(3*a) + a")
    library = Library([wave, "mul", "const"], variables=["x"])
    batch = Programs.from_list([Program.from_preorder("wave mul 1.0 x", library)])
    x = np.linspace(0.0, 1.0, 40)
    target = np.sin(3 * 4.2 * x) + 4.2 * x
    found = fit_constants(batch, x, target, FitConfig("least_squares", restarts=8))
    assert found.programs.constants[0] == pytest.approx([4.2])


# Fits with a known answer

PLAIN = Library([*OPERATORS, COMPOSED[0], "const"], variables=["x", "y"])
TERMS: dict[str, Callable[[Array, Array], Array]] = {
    "2.0": lambda x, y: np.ones_like(x),
    "2.0*x": lambda x, y: x,
    "sin(y)*2.0": lambda x, y: np.sin(y),
    "x*(2.0*y)": lambda x, y: x * y,
    "2.0/x": lambda x, y: 1 / x,
    "-(exp(y)*2.0)": lambda x, y: -np.exp(y),
    "logistic(y)*2.0/x": lambda x, y: 1 / (1 + np.exp(-y)) / x,
}


@st.composite
def sums_of_terms(draw: st.DrawFn, furthest: float) -> tuple[list[str], Programs]:
    """Some of the terms, added and subtracted, with random factors to start from."""
    terms = draw(st.lists(st.sampled_from(sorted(TERMS)), min_size=1, max_size=5, unique=True))
    text = terms[0] + "".join(draw(st.sampled_from([" + ", " - "])) + term for term in terms[1:])
    batch = parsed(text, library=PLAIN)
    start = [draw(st.floats(-furthest, furthest)) for _ in terms]
    return terms, restarted(batch, np.array([start]))


@examples(60)
@given(
    sums_of_terms(furthest=1e3),
    st.sampled_from([20, 300, MANY]),
    st.sampled_from(["mixed", "least_squares", "projected"]),
)
def test_constants_that_enter_linearly_are_those_of_linear_algebra(
    program: tuple[list[str], Programs], rows: int, method: str
) -> None:
    terms, batch = program
    found = fit(batch, FitConfig(method, restarts=0), on_table(rows, PLAIN))
    root = np.sqrt(WEIGHTS[:rows])
    A = np.stack([TERMS[term](*TABLE[:rows].T) for term in terms], axis=1) * root[:, None]
    best = TARGET[:rows] * root - A @ np.linalg.lstsq(A, TARGET[:rows] * root)[0]
    assert found.status.tolist() == [FitStatus.CONVERGED]
    assert found.errors.sums[0, 0] == pytest.approx(best @ best, rel=1e-8, abs=1e-25)


@examples(40)
@given(sums_of_terms(furthest=3.0), st.sampled_from([20, 300]))
def test_bfgs_ends_where_the_reward_is_flat(program: tuple[list[str], Programs], rows: int) -> None:
    """It follows the reward only as far as SciPy's does, which is short of the least error."""
    on, weights, y = on_table(rows, PLAIN), WEIGHTS[:rows], TARGET[:rows]
    found = fit(program[1], FitConfig.paper(), on)
    assert found.status.tolist() == [FitStatus.CONVERGED]
    at = on.derivatives(found.programs)
    scale = weights @ (y - np.average(y, weights=weights)) ** 2
    error = np.sqrt(at.loss[0] / scale)
    slope = at.gradient[0] / (scale * error * (1 + error) ** 2)  # of 1 / (1 + error)
    assert np.abs(slope).max() <= 1.001e-5


FORMS = {
    "exponential decay": "2.5*neg_exp(1.3*x) + 0.6",
    "logistic": "3.2*logistic(2.1*(x - 1.7))",
    "sine": "1.8*sin(1.2*x + 0.4) + 0.3",
    "damped cosine": "2.2*neg_exp(0.5*x)*cos(1.4*x)",
    "power law": "0.7*x**1.6",
    "Michaelis-Menten": "4.2*x/(1.5 + x)",
    "Hill": "x**2.4/(1.7 + x**2.4)*2.2",
    "rational": "(1.2 + 0.8*x)/(0.9 + x**2)",
    "Gaussian": "2.2*neg_exp((x - 1.4)**2/0.9)",
    "Arrhenius": "3.1*exp(-1.9/(x + 0.6))",
    "logarithm": "1.4*log(x + 2.3) - 0.6",
    "tanh": "1.6*tanh(0.8*x - 0.5) + 0.2",
}
LINE = Library([*OPERATORS, *COMPOSED, "const"], variables=["x"])
POINTS = np.linspace(0.1, 4, 40)[:, None]


@pytest.mark.parametrize("name", FORMS)
def test_planted_constants_are_found_again(name: str) -> None:
    truth = Program.parse(FORMS[name], LINE)
    start = Programs.from_list([Program(LINE, truth.tokens)])  # all constants 1
    found = fit_constants(start, POINTS, truth.evaluate(POINTS))
    assert found.messages == ["converged"]
    np.testing.assert_allclose(found.programs.constants[0], truth.constants, atol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("name", FORMS)
def test_bfgs_comes_as_far_as_scipys(name: str, noise: float) -> None:
    truth = Program.parse(FORMS[name], LINE)
    y = truth.evaluate(POINTS) + noise * np.random.default_rng(0).normal(size=len(POINTS))
    scale = len(y) * y.var()

    def loss(constants: Array) -> float:
        return float(((y - Program(LINE, truth.tokens, constants).evaluate(POINTS)) ** 2).sum())

    def minus_reward(constants: Array) -> float:
        return float(-1 / (1 + np.sqrt(loss(constants) / scale)))

    start = np.ones(len(truth.constants))
    theirs = scipy.optimize.minimize(minus_reward, start, method="BFGS")
    batch = Programs.from_list([Program(LINE, truth.tokens)])
    ours = evaluator(LINE, POINTS, y).fit(batch, FitConfig.paper(), scale, 0.5)
    assert ours.errors.sums[0, 0] <= loss(theirs.x) * (1 + 1e-6)


# What every fit keeps to


@examples(100)
@given(
    st.lists(with_constants(LIBRARY, max_length=12), min_size=1, max_size=8),
    st.builds(
        FitConfig,
        method=st.sampled_from(FIT_METHODS),
        restarts=st.integers(0, 2),
        max_steps=st.sampled_from([1, 2, 5, 150]),
        rescue=st.booleans(),
    ),
    st.sampled_from([1, 20, 300, MANY]),
)
def test_a_fit_never_ends_worse_and_says_what_it_did(
    batch: list[Program], config: FitConfig, rows: int
) -> None:
    before_ = Programs.from_list(batch)
    before = on_table(rows).errors(before_)
    found = fit(before_, config, on_table(rows))
    # An error that overflows is as good as none: there is nothing to go by.
    usable = before.ok & np.isfinite(before.sums[0])
    assert found.errors.ok[usable].all()
    assert (found.errors.sums[0, usable] <= before.sums[0, usable]).all()
    ok = found.errors.ok
    assert ((found.status == FitStatus.INVALID) == ~ok).all()
    np.testing.assert_array_equal(found.programs.constants[~ok], before_.constants[~ok])
    again = on_table(rows).errors(found.programs)
    assert again.ok[ok].all()
    assert again.sums[0, ok].tobytes() == found.errors.sums[0, ok].tobytes()
    assert again.sums[1, ok].tobytes() == found.errors.sums[1, ok].tobytes()


@pytest.mark.parametrize("method", FIT_METHODS)
def test_the_status_says_how_a_fit_ended(method: str) -> None:
    texts = ["exp(1.0*x) + 1.0*y", "log(-x**2)*1.0", "log(-(1.0*x)**2 - 2.5)", "x + y", "log(-x)"]
    batch = parsed(*texts)
    found = fit(batch, FitConfig(method, restarts=0))
    assert found.status.tolist() == [
        FitStatus.CONVERGED,
        FitStatus.INVALID,  # whatever the constant
        FitStatus.INVALID,
        FitStatus.CONVERGED,  # nothing to fit
        FitStatus.INVALID,
    ]
    plain = on_table().errors(batch)
    assert found.errors.sums[0, 3] == plain.sums[0, 3]
    hurried = fit(batch, FitConfig(method, restarts=0, max_steps=2))
    assert hurried.status.tolist() == [FitStatus.LIMIT, *found.status[1:].tolist()]
    assert found.errors.sums[0, 0] < hurried.errors.sums[0, 0] <= plain.sums[0, 0]


ASTRAY = ["log(1.0 - 2.5 - x)", "sqrt(1.0 - 2.5)*x", "1.0**1.0 + sqrt(1.0*x - 2.5*x)"]


@pytest.mark.parametrize("restarts", [0, 4])
@pytest.mark.parametrize("method", FIT_METHODS)
@pytest.mark.parametrize("text", ASTRAY)
def test_a_program_that_is_invalid_where_it_starts_is_rescued_if_wished(
    text: str, method: str, restarts: int
) -> None:
    batch = parsed(text)
    assert not on_table().errors(batch).ok[0]
    saved = fit(batch, FitConfig(method, restarts))
    assert saved.errors.ok[0]
    assert on_table().errors(saved.programs).ok[0]
    left = fit(batch, FitConfig(method, restarts, rescue=False))
    assert left.status.tolist() == [FitStatus.INVALID]
    np.testing.assert_array_equal(left.programs.constants, batch.constants)


@examples(40)
@given(
    st.lists(with_constants(LIBRARY, max_length=12), min_size=1, max_size=8),
    st.sampled_from(FIT_METHODS),
    st.integers(0, 2),
    st.integers(1, 3),
)
def test_more_restarts_are_never_worse(
    batch: list[Program], method: str, few: int, more: int
) -> None:
    programs_ = Programs.from_list(batch)
    one, other = (fit(programs_, FitConfig(method, n)) for n in (few, few + more))
    ok = one.errors.ok
    assert other.errors.ok[ok].all()
    # A fit ends as soon as it is exact, which leaves the last bits to chance.
    exact = 1e-30 * (WEIGHTS[:20] @ TARGET[:20] ** 2)
    assert (other.errors.sums[0, ok] <= np.maximum(one.errors.sums[0, ok], exact)).all()


# The same program has the same fit


def sampled(count: int, library: Library = LIBRARY) -> Programs:
    """Programs as an untrained policy writes them, constants or none."""
    policy = Policy(ConstraintSet(library, [Length(1, 14)]), PolicyConfig(), seed=0)
    return policy.sample(count, 0).programs


def same(one: Fitted, other: Fitted, rows: Any = slice(None)) -> None:
    """The other is the fit of these rows of the first, to the last bit."""
    ok = one.errors.ok[rows]
    assert ok.tolist() == other.errors.ok.tolist()
    assert one.status[rows].tolist() == other.status.tolist()
    for a, b in zip(one.errors.sums, other.errors.sums, strict=True):
        assert a[rows][ok].tobytes() == b[ok].tobytes()
    assert list(one.programs[rows]) == list(other.programs)


@pytest.mark.parametrize("rows", [20, 300, MANY])
def test_threads_cache_order_and_copies_change_nothing(rows: int) -> None:
    batch = sampled(60 if rows == MANY else 300)
    config = FitConfig(restarts=1)
    plain = fit(batch, config, on_table(rows, cache=0))
    assert {FitStatus.CONVERGED, FitStatus.INVALID} <= set(plain.status.tolist())
    for threads in (1, 2, 3):
        same(plain, fit(batch, config, on_table(rows, threads=threads)))
    kept = on_table(rows)
    for order in (slice(None, None, -1), np.arange(len(batch)).repeat(2), [7], slice(None)):
        for on in (kept, on_table(rows, cache=4)):
            same(plain, fit(batch[order], config, on), order)


SIMD = """
import hashlib
import numpy as np
from symseek import ConstraintSet, FitConfig, Length, Library, PolicyConfig
from engine_helpers import Policy, evaluator
from symseek.engines.native import simd
library = Library(["add", "mul", "div", "pow", "sin", "exp", "log", "const"], ["x", "y"])
X = np.random.default_rng(0).uniform(0.1, 4, (37, 2))
on = evaluator(library, X, np.sin(X[:, 0]) * X[:, 1])
batch = Policy(ConstraintSet(library, [Length(1, 14)]), PolicyConfig(), 0).sample(300, 0).programs
digest = hashlib.sha256()
for method in ("mixed", "least_squares", "bfgs", "projected"):
    found = on.fit(batch, FitConfig(method, restarts=1), 10.0, 0.5)
    digest.update(found.programs.constants.tobytes() + found.status.tobytes())
print(simd(), digest.hexdigest())
"""


def test_every_instruction_set_fits_the_same() -> None:
    digests = set()
    for variant in simd_variants():
        environment = {
            **os.environ,
            "SYMSEEK_SIMD": variant,
            "PYTHONPATH": str(Path(__file__).parent),
        }
        command = [sys.executable, "-c", SIMD]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        name, digest = done.stdout.split()
        assert name == variant
        digests.add(digest)
    assert len(digests) == 1


def test_what_is_remembered_of_a_fit_is_not_mistaken_for_anything_else() -> None:
    on, batch = on_table(), parsed("1.0*sin(1.0*x) + 1.0", "x + y")
    other_start = restarted(batch, np.full((2, 3), 2.0))
    asked: list[Callable[[Evaluator], Any]] = [
        lambda on: fit(batch, FitConfig(), on),
        lambda on: fit(batch, FitConfig(max_steps=2, restarts=0), on),
        lambda on: fit(batch, FitConfig("bfgs", restarts=0), on),
        lambda on: on.fit(batch, FitConfig("bfgs", restarts=0), 1.0, 1.0),
        lambda on: fit(other_start, FitConfig(max_steps=2, restarts=0), on),
    ]
    for question in [*asked, *asked]:
        same(question(on_table(cache=0)), question(on))
        assert on.errors(batch).sums[0].tolist() == on_table().errors(batch).sums[0].tolist()


def test_programs_with_more_constants_may_come_later() -> None:
    on = on_table()
    texts = ["x + y", "1.0*x", "1.0*x + 1.0", "1.0*sin(1.0*x) + 1.0*cos(1.0*y) + 1.0", "exp(1.0*y)"]
    alone = [fit(parsed(text), FitConfig()) for text in texts]
    for order in ([0, 1], [2, 1], [3, 1, 0], [4, 3, 2, 1, 0], [1]):
        together = fit(parsed(*(texts[at] for at in order)), FitConfig(), on)
        for row, at in enumerate(order):
            same(alone[at], fit(parsed(texts[at]), FitConfig(), on))
            assert together.programs[row] == alone[at].programs[0]


def test_twelve_constants() -> None:
    names = [f"x{i}" for i in range(6)]
    library = Library(["add", "mul", "sin", "const"], names)
    random = np.random.default_rng(0)
    X, constants = random.uniform(-2, 2, (200, 6)), random.uniform(0.6, 1.4, 12)
    text = " + ".join(f"1.0*sin(1.0*{name})" for name in names)
    batch = parsed(text, library=library)
    truth = Program(library, batch[0].tokens, tuple(constants))
    found = fit_constants(batch, X, truth.evaluate(X))
    np.testing.assert_allclose(found.programs.constants[0], constants, atol=1e-6)
    assert found.messages == ["converged"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FitConfig("bgfs"), "unknown method of fitting constants 'bgfs'; did you mean"),
        (
            lambda: FitConfig(restarts=-1),
            "FitConfig.restarts is -1; it must be a whole number of 0 or more",
        ),
        (
            lambda: FitConfig(max_steps=0),
            "FitConfig.max_steps is 0; it must be a whole number of 1 or more",
        ),
        (
            lambda: fit_constants(parsed("x", library=Library([], ["x"])), POINTS, POINTS[:, 0]),
            "no 'const' token",
        ),
        (lambda: fit(parsed("x*1.0", library=LINE), FitConfig(), on_table()), "another library"),
        (lambda: evaluator(LIBRARY, TABLE).fit(parsed("1.0*x"), FitConfig()), "without a target"),
        (lambda: evaluator(LIBRARY, TABLE).derivatives(parsed("1.0*x")), "without a target"),
    ],
)
def test_bad_input_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_a_very_long_program_is_fitted() -> None:
    program = Program.from_preorder(["neg"] * 40_000 + ["const"], LIBRARY)
    found = fit(Programs.from_list([program]), FitConfig())
    mean = np.average(TARGET[:20], weights=WEIGHTS[:20])
    assert found.programs.constants[0] == pytest.approx([mean])


# Rewards without derivatives


def judge_of(on: Evaluator, loss: int) -> Callable[[Programs], Array]:
    """Minus the sum of this loss of the evaluator's, NaN where invalid."""

    def judge(batch: Programs) -> Array:
        errors = on.errors(batch)
        return np.where(errors.ok, -errors.sums[loss], np.nan)

    return judge


@pytest.mark.parametrize("error", [0, 1], ids=["squared", "absolute"])
@pytest.mark.parametrize("name", list(FORMS)[::3])
def test_a_search_without_derivatives_does_as_well_as_scipys(name: str, error: int) -> None:
    truth = Program.parse(FORMS[name], LINE)
    y = truth.evaluate(POINTS) + 0.1 * np.random.default_rng(0).normal(size=len(POINTS))
    judge = judge_of(evaluator(LINE, POINTS, y), error)
    start = Programs.from_list([Program(LINE, truth.tokens)])

    def cost(constants: Array) -> float:
        return float(-judge(restarted(start, constants[None]))[0])

    options = {"maxfev": 2000, "xatol": 1e-10, "fatol": 1e-12}
    theirs = scipy.optimize.minimize(
        cost, start.constants[0], method="Nelder-Mead", options=options
    )
    found, rewards, _ = search_constants(start, judge, FitConfig(max_steps=2000))
    assert -rewards[0] <= theirs.fun * (1 + 1e-6)
    assert rewards[0] == judge(found)[0]


def test_the_least_absolute_error_of_a_constant_is_the_medians() -> None:
    y = np.random.default_rng(0).exponential(size=21)
    judge = judge_of(evaluator(LINE, POINTS[:21], y), 1)
    found, rewards, status = search_constants(parsed("2.0", library=LINE), judge, FitConfig())
    assert found.constants[0, 0] == pytest.approx(np.median(y), rel=1e-6)
    assert rewards[0] == pytest.approx(-np.abs(y - np.median(y)).sum())
    assert status.tolist() == [FitStatus.CONVERGED]


def test_a_search_never_ends_worse_nor_minds_its_neighbours() -> None:
    batch, judge, config = sampled(80), judge_of(on_table(), 1), FitConfig(restarts=1)
    found, rewards, status = search_constants(batch, judge, config)
    before, after = judge(batch), judge(found)
    np.testing.assert_array_equal(after, rewards)
    valid = ~np.isnan(before)
    assert (rewards[valid] >= before[valid]).all()
    assert (rewards[valid] > before[valid]).any()
    assert ((status == FitStatus.INVALID) == np.isnan(rewards)).all()
    assert {FitStatus.CONVERGED, FitStatus.INVALID} <= set(status.tolist())
    plain = np.count_nonzero(batch.tokens == LIBRARY.constant_id, axis=1) == 0
    assert plain.any()
    np.testing.assert_array_equal(rewards[plain], before[plain])
    assert FitStatus.LIMIT not in status[plain]
    for row in range(0, 80, 5):
        alone = search_constants(batch[[row]], judge, config)
        assert alone[0][0] == found[row]
        assert alone[2][0] == status[row]


def test_a_search_rescues_if_wished_and_keeps_off_what_is_invalid() -> None:
    batch = parsed("1.0*x", "1.0*y")

    def judge(programs: Programs) -> Array:  # best at 9, which is just invalid; lost below 2
        c = programs.constants[:, 0]
        return np.where((c > 2) & (c < 9), c, np.nan)

    found, rewards, status = search_constants(batch, judge, FitConfig())
    assert found.constants[:, 0].tolist() == rewards.tolist()
    assert ((rewards > 8.999) & (rewards < 9)).all()
    assert FitStatus.INVALID not in status
    found, rewards, status = search_constants(batch, judge, FitConfig(rescue=False))
    assert np.isnan(rewards).all()
    assert status.tolist() == [FitStatus.INVALID] * 2
    np.testing.assert_array_equal(found.constants, batch.constants)
