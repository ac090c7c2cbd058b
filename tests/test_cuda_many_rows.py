"""Fits on many rows, which blocks share out: the native engine's, whoever takes which rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import host_device
from evolution_helpers import copies
from examples import examples
from host_device import HostDevice
from symseek import FitConfig, FitStatus, Library, Program, Programs
from symseek._native import FIT_SAMPLE as SAMPLE
from symseek.engines.cuda import fitting
from symseek.engines.cuda.evaluator import Batch, CudaEvaluator, Sums
from symseek.engines.cuda.fitting import chunks_of
from symseek.engines.interface import Evaluator, Fitted
from symseek.engines.native import NativeEngine
from test_constants import LIBRARY, MANY, TABLE, TARGET, WEIGHTS, fit, with_constants
from threaded_device import ThreadedDevice

pytestmark = pytest.mark.skipif(
    host_device.compiler() is None, reason="the kernels need a C++ compiler to run on the host"
)

METHODS = st.sampled_from(["mixed", "least_squares", "projected"])
SMALL = Library(["add", "mul", "sub", "div", "log", "sin", "exp", "const"], ["x", "y"])


class WideDevice(HostDevice):
    """A device whose blocks have one chunk of the rows each."""

    processors = 1000


NARROW, WIDE = HostDevice(), WideDevice()


def on_device(device: Any = NARROW, library: Library = LIBRARY) -> CudaEvaluator:
    return CudaEvaluator(library, device, TABLE, TARGET, WEIGHTS)


def bits(found: Fitted, rows: Any = slice(None)) -> list[bytes]:
    """All that a fit has found, with the constants that programs do not have left out."""
    programs, errors = found.programs[rows], found.errors
    used = [np.array(each.constants) for each in programs]
    sums = (errors.sums[0, rows], errors.sums[1, rows], errors.ok[rows], found.status[rows])
    return [each.tobytes() for each in (*used, *sums)]


@pytest.mark.slow
@examples(25)
@given(
    st.lists(with_constants(LIBRARY, max_length=12), min_size=2, max_size=6),
    st.builds(
        FitConfig,
        method=METHODS,
        restarts=st.integers(0, 1),
        max_steps=st.sampled_from([1, 2, 8, 60]),
        rescue=st.booleans(),
    ),
    st.data(),
)
def test_neither_company_nor_blocks_nor_memory_change_a_fit(
    batch: list[Program], config: FitConfig, data: st.DataObject
) -> None:
    programs = Programs.from_list(batch)
    plain = fit(programs, config, on_device())
    assert bits(fit(programs, config, on_device(WIDE))) == bits(plain)
    one = [data.draw(st.integers(0, len(batch) - 1))]
    assert bits(fit(programs[one], config, on_device())) == bits(plain, one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "ROOM", 1)  # one program at a time
        assert bits(fit(programs, config, on_device())) == bits(plain)


@examples(25)
@given(
    st.lists(with_constants(LIBRARY, max_length=12), min_size=1, max_size=6),
    st.sampled_from([1, 5, 60]),
    st.booleans(),
)
def test_a_fit_never_ends_worse(batch: list[Program], steps: int, rescue: bool) -> None:
    programs, on = Programs.from_list(batch), on_device()
    before = on.errors(programs)
    found = fit(programs, FitConfig(restarts=0, max_steps=steps, rescue=rescue), on)
    usable = before.ok & np.isfinite(before.sums[0])
    assert found.errors.ok[usable].all()
    # The sums that a fit goes by are added in another order than those of `errors`.
    assert (found.errors.sums[0, usable] <= before.sums[0, usable] * (1 + 1e-13)).all()
    assert {*found.status.tolist()} <= {*FitStatus}
    assert ((found.status == FitStatus.INVALID) == ~found.errors.ok).all()


def test_the_chunks_of_a_look_change_a_fit_by_rounding_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["1.0*sin(1.0*x) + 1.0", "1.0/(x + 1.0*y*y)", "exp(1.0*x)*1.0 + 1.0*y"]
    batch, config = copies(texts, SMALL, 1), FitConfig("least_squares", restarts=0, max_steps=60)
    shared_out = fit(batch, config, on_device(library=SMALL))
    monkeypatch.setattr(fitting, "LEAST_CHUNK", MANY)
    assert chunks_of(MANY)[1] == 1
    whole = fit(batch, config, on_device(library=SMALL))
    np.testing.assert_allclose(shared_out.errors.sums[0], whole.errors.sums[0], rtol=1e-9)
    np.testing.assert_allclose(shared_out.programs.constants, whole.programs.constants, rtol=1e-5)


def fitted_by_both(
    text: str, X: np.ndarray, y: np.ndarray, weights: np.ndarray, config: FitConfig
) -> tuple[Fitted, Fitted]:
    batch = Programs.from_list([Program.parse(text, SMALL)])
    engines: tuple[Evaluator, ...] = (
        CudaEvaluator(SMALL, NARROW, X, y, weights),
        NativeEngine(1).evaluator(SMALL, X, y, weights),
    )
    one, other = (each.fit(batch, config, float(weights @ y**2), 0.5) for each in engines)
    return one, other


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 9, 60])
def test_both_looks_of_a_projected_trial_count_as_steps(steps: int) -> None:
    """Launches are as many as steps, so a descent must not take more; and engines decide alike."""
    texts = ["1.0*exp(-x) + 1.0", "1.0*exp(1.0*x) + 1.0", "1.0*x*exp(0.5*x*y) + 1.0*x"]
    y = 2.5 * np.exp(-1.3 * TABLE[:, 0]) + 0.6 * TABLE[:, 1]
    config = FitConfig("projected", restarts=0, max_steps=steps)
    for text in texts:
        found, native = fitted_by_both(text, TABLE, y, WEIGHTS, config)
        assert found.status.tolist() == native.status.tolist()
        np.testing.assert_allclose(found.errors.sums[0], native.errors.sums[0], rtol=1e-6)
        np.testing.assert_allclose(found.programs.constants, native.programs.constants, rtol=1e-4)


@pytest.mark.parametrize("rescue", [False, True])
def test_rows_left_out_of_the_sample_may_decide(rescue: bool) -> None:
    """log(c + x) is valid on the sample where it begins, but not on all rows."""
    X = np.random.default_rng(0).uniform(0.0, 3.0, (MANY, 2))
    X[1, 0] = -4.0
    y = np.log(X[:, 0] + 4.5)
    sample = np.arange(SAMPLE) * MANY // SAMPLE
    assert 1 not in sample
    y[sample] = np.log(X[sample, 0] + 2.0)
    config = FitConfig("least_squares", restarts=0, rescue=rescue)
    found, native = fitted_by_both("log(const + x)", X, y, np.ones(MANY), config)
    assert found.status.tolist() == native.status.tolist()
    assert (found.status[0] == FitStatus.INVALID) == (not rescue)
    assert found.errors.ok[0] == rescue
    if rescue:
        np.testing.assert_allclose(found.errors.sums[0], native.errors.sums[0], rtol=1e-9)


def test_a_sample_that_weighs_nothing_is_not_asked() -> None:
    weights = np.ones(MANY)
    weights[np.arange(SAMPLE) * MANY // SAMPLE] = 0.0
    y = 2.5 * np.sin(TABLE[:, 0]) - 1.5
    config = FitConfig("least_squares", restarts=0)
    found, native = fitted_by_both("const*sin(x) + const", TABLE, y, weights, config)
    np.testing.assert_allclose(found.programs.constants, [[2.5, -1.5]])
    np.testing.assert_allclose(native.programs.constants, [[2.5, -1.5]])


@pytest.mark.slow
def test_threads_fit_what_one_thread_does_and_the_same_again() -> None:
    """Which block is the last one, and adds up, is chance."""
    library = Library(["add", "mul", "sin", "const"], ["x", "y"])
    batch = copies(["1.0*sin(1.0*x) + 1.0", "1.0*x + 1.0*y", "x + y"], library, 1)
    config = FitConfig("least_squares", restarts=0, max_steps=2)
    threaded = ThreadedDevice()
    devices = (threaded, threaded, NARROW)
    found, again, alone = (fit(batch, config, on_device(each, library)) for each in devices)
    assert bits(found) == bits(again)
    assert found.status.tolist() == alone.status.tolist()
    np.testing.assert_allclose(found.errors.sums[0], alone.errors.sums[0], rtol=1e-9)


def test_few_and_many_constants_and_none_are_fitted_together() -> None:
    """Each kernel takes those of its size; more constants than any takes are left as they are."""
    wide = ["+".join(["1.0*sin(x)", *(f"1.0*sin({'x*' * k}y)" for k in range(6))])]
    texts = ["x*y", "1.0*x", "1.0*x + 1.0", "1.0*x + 1.0*y + 1.0*x*y + 1.0", *wide]
    library = Library(["add", "mul", "sin", "const"], ["x", "y"])
    batch = copies([*texts, "+".join(["1.0*x"] * 33)], library, 1)
    config = FitConfig("least_squares", restarts=0)
    on = CudaEvaluator(library, NARROW, TABLE, TARGET, WEIGHTS)
    native = NativeEngine(1).evaluator(library, TABLE, TARGET, WEIGHTS)
    found, other = (each.fit(batch, config) for each in (on, native))
    assert found.status.tolist() == [*[FitStatus.CONVERGED] * 5, FitStatus.LIMIT]
    np.testing.assert_allclose(found.errors.sums[0, :5], other.errors.sums[0, :5], rtol=1e-8)
    assert {*found.programs.constants[5]} == {1.0}


def test_runs_side_by_side_fit_what_they_fit_alone() -> None:
    library = Library(["add", "mul", "sin", "const"], ["x", "y"])
    X = np.random.default_rng(5).uniform(-2, 2, (2, MANY, 2))
    y = np.array([[1.5], [-0.5]]) * np.sin(X[:, :, 0]) + X[:, :, 1]
    batch = copies(["1.0*sin(x) + 1.0*y", "x*y"], library, 3)
    active = np.array([1, 0, 1], dtype=np.uint8)
    whole = Batch(
        batch.tokens, batch.lengths, np.ones((6, 2)), 2, np.array([1, 0, 0], np.int32), active
    )
    sums, status = Sums.empty(NARROW, 2, 6), np.full(6, 7, dtype=np.uint8)
    on = CudaEvaluator(library, NARROW, X, y)
    on.launch_fit(whole, FitConfig("least_squares"), np.ones(2), 0.5, status, sums)
    assert status.tolist() == [0, 0, 7, 7, 0, 0]
    np.testing.assert_allclose(whole.constants[[0, 2, 4]], [[-0.5, 1], [1, 1], [1.5, 1]])
    alone = CudaEvaluator(library, NARROW, X[1], y[1]).fit(batch[:1], FitConfig("least_squares"))
    assert alone.programs.constants.tobytes() == whole.constants[:1].tobytes()
