"""Variable projection: fits whose linear constants are solved for at every trial.

The fast one is compared with the plain one of the oracle, and with least squares, which it must be
where there is nothing to project.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_helpers import evaluator
from examples import examples
from oracle.variable_projection import Projected
from symseek import FitConfig, FitStatus, Library, Program, Programs
from symseek.engines.interface import Evaluator
from test_constants import (
    GENTLE,
    MANY,
    PLAIN,
    fit,
    on_table,
    parsed,
    same,
    sampled,
    sums_of_terms,
    with_constants,
)

Array = np.ndarray

LIBRARY = Library(["add", "sub", "mul", "div", "sin", "exp", "log", "tanh", "const"], ["x"])
X = np.linspace(0.1, 4, 60)[:, None]
WEIGHTS = np.random.default_rng(3).uniform(0, 2, len(X))
# The formula, and which of its constants are linear.
FAMILIES = {
    "2.5*exp(-1.3*x) + 0.6": (True, False, True),
    "1.5*x*exp(-0.7*x*x) + 0.4*x": (True, False, True),
    "2.0*exp(-0.5*x) + 3.0*exp(-2.5*x)": (True, False, True, False),
    "3.2/(x + 1.7)": (True, False),
    "1.8*sin(1.2*x) + 0.3*x": (True, False, True),
    "1.4*log(x + 2.3) - 0.6": (True, False, True),
    "sin(x) - 1.6*tanh(0.8*x - 0.5)": (True, False, False),
}


class Case:
    """Rows of a family, with a little noise."""

    def __init__(self, text: str) -> None:
        self.truth = Program.parse(text, LIBRARY)
        clean = self.truth.evaluate(X)
        self.y = clean + 0.01 * clean.std() * np.random.default_rng(1).normal(size=len(X))
        self.linear = FAMILIES[text]

    @property
    def on(self) -> Evaluator:
        return evaluator(LIBRARY, X, self.y, WEIGHTS, cache=0)

    @property
    def twin(self) -> Projected:
        def values(constants: Array) -> Array:
            return Program(LIBRARY, self.truth.tokens, tuple(constants)).evaluate(X)

        return Projected(values, self.linear, self.y, WEIGHTS)

    def begun(self, constants: Array) -> Programs:
        """The program from these places [B, K]."""
        rows = np.atleast_2d(constants)
        return Programs.from_list(
            [Program(LIBRARY, self.truth.tokens, tuple(each)) for each in rows]
        )

    def random_places(self, count: int) -> Array:
        rng = np.random.default_rng(2)
        shape = (count, len(self.linear))
        return rng.choice([-1, 1], shape) * 10 ** rng.uniform(-1, 1, shape)


def config(method: str = "projected", steps: int = 100) -> FitConfig:
    return FitConfig(method, restarts=0, max_steps=steps, rescue=False)


@pytest.mark.parametrize("text", FAMILIES)
def test_a_fit_ends_where_the_plain_one_does(text: str) -> None:
    case = Case(text)
    factors = np.random.default_rng(4).uniform(0.8, 1.25, (10, len(case.linear)))
    starts = factors * np.array(case.truth.constants)
    found = case.on.fit(case.begun(starts), config())
    assert found.status.tolist() == [FitStatus.CONVERGED] * len(starts)
    for row, start in enumerate(starts):
        constants, loss = case.twin.fit(start)
        assert found.errors.sums[0, row] == pytest.approx(loss, rel=1e-7)
        np.testing.assert_allclose(found.programs.constants[row], constants, rtol=1e-3)


@examples(100)
@given(st.sampled_from(sorted(FAMILIES)), st.data())
def test_it_is_never_worse_and_leaves_nothing_that_linear_constants_could_explain(
    text: str, data: st.DataObject
) -> None:
    case = Case(text)
    sizes = st.sampled_from([0.0, 1.0, -1.0]) | st.floats(-5, 5)
    start = np.array([data.draw(sizes) for _ in case.linear])
    before = case.on.errors(case.begun(start))
    found = case.on.fit(case.begun(start), config())
    if not (before.ok[0] and np.isfinite(before.sums[0, 0])):
        return
    assert found.errors.sums[0, 0] <= before.sums[0, 0]
    if found.status[0] != FitStatus.CONVERGED:
        return
    constants = found.programs.constants[0]
    with np.errstate(all="ignore"):
        least = case.twin.residuals(case.twin.solved(constants))
    # Columns may be so alike that rounding shows, so the loss is asked, not the constants.
    assert found.errors.sums[0, 0] <= (least @ least) * (1 + 1e-6)


@pytest.mark.parametrize("text", FAMILIES)
def test_at_a_minimum_the_residuals_are_at_right_angles_to_the_linear_columns(text: str) -> None:
    case = Case(text)
    found = case.on.fit(case.begun(np.array(case.truth.constants) * 1.1), config())
    assert found.status.tolist() == [FitStatus.CONVERGED]
    constants = found.programs.constants[0]
    left = case.twin.residuals(constants)
    columns = case.twin.columns(constants)[1] * np.sqrt(WEIGHTS)[:, None]
    cosines = left @ columns / (np.linalg.norm(left) * np.linalg.norm(columns, axis=0))
    assert np.abs(cosines).max() < 1e-6


@pytest.mark.parametrize("steps", [15, 100])
@pytest.mark.parametrize("text", list(FAMILIES)[:5])
def test_it_finds_the_best_minimum_as_often_as_least_squares(text: str, steps: int) -> None:
    case = Case(text)
    starts = case.begun(case.random_places(200))
    best = case.twin.fit(np.array(case.truth.constants))[1]
    plain, projected = (
        np.count_nonzero(
            case.on.fit(starts, config(method, steps)).errors.sums[0] < best * 1.000001
        )
        for method in ("least_squares", "projected")
    )
    assert projected >= plain
    if "exp" in text and steps == 100:
        assert projected > 1.15 * plain


@pytest.mark.parametrize("text", FAMILIES)
def test_each_measurement_is_a_step_and_more_of_them_are_never_worse(text: str) -> None:
    case = Case(text)
    starts = case.begun(case.random_places(30))
    usable = np.isfinite(case.on.errors(starts).sums[0])
    losses = [case.on.fit(starts, config(steps=n)).errors.sums[0, usable] for n in range(1, 30)]
    for few, more in pairwise(losses):
        # A trial that is the last is judged as it is: projected, it can only be better.
        assert (more <= few * (1 + 1e-9)).all()
    # The first step solves for the linear constants alone, whatever the method.
    same(*(case.on.fit(starts, config(m, 1)) for m in ("least_squares", "projected")))


@examples(60)
@given(with_constants(GENTLE, max_length=12), st.sampled_from([20, 300, MANY]), st.integers(0, 1))
def test_without_linear_constants_it_is_least_squares(
    inner: Program, rows: int, restarts: int
) -> None:
    outer = Program(GENTLE, (GENTLE.names.index("tanh"), *inner.tokens), inner.constants)
    batch, on = Programs.from_list([outer]), on_table(rows, GENTLE)
    plain, projected = (
        fit(batch, FitConfig(method, restarts), on) for method in ("least_squares", "projected")
    )
    same(plain, projected)


@examples(60)
@given(sums_of_terms(furthest=1e3), st.sampled_from([20, 300, MANY]))
def test_with_linear_constants_alone_it_is_least_squares(
    program: tuple[list[str], Programs], rows: int
) -> None:
    on = on_table(rows, PLAIN)
    plain, projected = (
        fit(program[1], FitConfig(method, 0), on) for method in ("least_squares", "projected")
    )
    same(plain, projected)


def test_of_linear_constants_that_do_the_same_one_is_solved_for() -> None:
    """Of c*x + c*x only the sum is determined, so that the normal matrix is singular."""
    batch = parsed("1.0*x + 1.0*x + 2.0*exp(1.0*y)")
    plain, projected = (fit(batch, FitConfig(m, 0)) for m in ("least_squares", "projected"))
    assert projected.status.tolist() == [FitStatus.CONVERGED]
    assert projected.errors.sums[0, 0] <= plain.errors.sums[0, 0] * (1 + 1e-9)


@pytest.mark.parametrize("rows", [20, MANY])
def test_threads_and_company_change_nothing(rows: int) -> None:
    batch = sampled(60 if rows == MANY else 200)
    several = FitConfig("projected", restarts=1)
    plain = fit(batch, several, on_table(rows, cache=0))
    for threads in (2, 3):
        same(plain, fit(batch, several, on_table(rows, threads=threads)))
    for row in range(0, len(batch), 7):
        same(plain, fit(batch[[row]], several, on_table(rows, cache=0)), [row])


def test_restarts_begin_anew() -> None:
    """From here the descent ends in a poor minimum of the sine; other places do better."""
    case = Case("1.8*sin(1.2*x) + 0.3*x")
    start = case.begun(np.array([1.0, 7.0, 1.0]))
    alone = case.on.fit(start, config()).errors.sums[0, 0]
    helped = case.on.fit(start, FitConfig("projected", restarts=8)).errors.sums[0, 0]
    assert helped < 0.1 * alone
    assert helped == pytest.approx(case.twin.fit(np.array(case.truth.constants))[1], rel=1e-6)
