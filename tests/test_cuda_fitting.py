"""Fits on the CUDA engine, on the host device: the native engine's, and the promises of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import host_device
import nvrtc
from evolution_helpers import copies
from examples import examples, mostly_slow
from host_device import HostDevice
from strategies import COMPOSED
from symseek import FitConfig, FitStatus, InputError, Library, Program, Programs, Token
from symseek.constants import FIT_METHODS
from symseek.engines.cuda import fitting
from symseek.engines.cuda.evaluator import Batch, CudaEvaluator, Sums
from symseek.engines.cuda.fitting import SIZES, fit_source
from symseek.engines.cuda.operations import steps_of
from symseek.tokens import OPERATORS
from test_constants import (
    ASTRAY,
    LIBRARY,
    MANY,
    TABLE,
    TARGET,
    WEIGHTS,
    fit,
    on_table,
    parsed,
    sampled,
    with_constants,
)
from test_cuda_evaluation import SmallDevice
from threaded_device import ThreadedDevice

DEVICE = HostDevice()
DEVICES = (ThreadedDevice(), DEVICE)

# Kernels read programs without formulas in another way.
PLAIN = Library(
    ["add", "sub", "mul", "div", "pow", "sin", "cos", "exp", "log", "sqrt", "tanh", "2.5", "const"],
    variables=["x", "y"],
)
assert steps_of(PLAIN).most == 1 < steps_of(LIBRARY).most

pytestmark = pytest.mark.skipif(
    host_device.compiler() is None, reason="the kernels need a C++ compiler to run on the host"
)


def on_device(rows: int = 20, library: Library = LIBRARY, device: Any = DEVICE) -> CudaEvaluator:
    return CudaEvaluator(library, device, TABLE[:rows], TARGET[:rows], WEIGHTS[:rows])


@examples(60)
@given(
    st.sampled_from([LIBRARY, PLAIN]).flatmap(
        lambda library: st.lists(with_constants(library, max_length=12), min_size=1, max_size=8)
    ),
    st.builds(
        FitConfig,
        method=st.sampled_from(FIT_METHODS),
        restarts=st.integers(0, 2),
        max_steps=st.sampled_from([1, 2, 5, 150]),
        rescue=st.booleans(),
    ),
    st.sampled_from([1, 20, 300]),
)
def test_a_fit_never_ends_worse_and_says_what_it_did(
    batch: list[Program], config: FitConfig, rows: int
) -> None:
    given_, on = Programs.from_list(batch), on_device(rows, batch[0].library)
    kept = given_.constants.copy()
    before = on.errors(given_)
    found = fit(given_, config, on)
    np.testing.assert_array_equal(given_.constants, kept)
    usable = before.ok & np.isfinite(before.sums[0])
    assert found.errors.ok[usable].all()
    # The sums that a fit goes by are added in another order than those of `errors`.
    bound = before.sums[0, usable] * (1 + 1e-13)
    assert (found.errors.sums[0, usable] <= bound).all()
    ok = found.errors.ok
    assert ((found.status == FitStatus.INVALID) == ~ok).all()
    np.testing.assert_array_equal(found.programs.constants[~ok], given_.constants[~ok])
    again = on.errors(found.programs)
    assert again.ok[ok].all()
    assert again.sums[0, ok].tobytes() == found.errors.sums[0, ok].tobytes()
    assert again.sums[1, ok].tobytes() == found.errors.sums[1, ok].tobytes()


@pytest.mark.parametrize("library", [LIBRARY, PLAIN], ids=["formulas", "plain"])
@pytest.mark.parametrize("method", FIT_METHODS)
@pytest.mark.parametrize(
    "size", mostly_slow([(1, 200), (20, 200), (300, 60), (MANY, 20)], (20, 200))
)
def test_fits_are_the_native_ones(library: Library, method: str, size: tuple[int, int]) -> None:
    """But for programs whose fits hang on last bits; those may end in other minima."""
    rows, count = size
    batch, config = sampled(count, library), FitConfig(method, restarts=2)
    on, native_on = on_device(rows, library), on_table(rows, library)
    found, native = fit(batch, config, on), fit(batch, config, native_on)
    assert np.count_nonzero(found.errors.ok != native.errors.ok) <= 1 + count // 100
    ok = found.errors.ok & native.errors.ok
    one, other = found.errors.sums[0, ok], native.errors.sums[0, ok]
    floor = 1e-12 * (WEIGHTS[:rows] @ TARGET[:rows] ** 2)
    near = np.abs(one - other) <= 1e-6 * other + floor
    assert ok.sum() > count // 4
    assert np.count_nonzero(~near) <= 1 + len(near) // 20
    assert found.errors.distinct == native.errors.distinct


PLANTED = {
    "1.0*sin(1.0*x) + 1.0": (2.5, 1.3, -3.0),
    "exp(1.0*y)*1.0": (0.7, 2.0),
    "1.0*x/(1.0 + x)": (2.0, 0.5),
    "1.0 + 1.0*x + 1.0*y + 1.0*x*y + 1.0*x*x": (1.0, -2.0, 3.0, 0.5, 0.25),
    "+".join(f"1.0*sin({k}*x)*cos({k}*y)" for k in range(1, 11)): (*np.linspace(-2, 2, 10),),
}


@pytest.mark.parametrize("text", PLANTED)
@pytest.mark.parametrize("method", FIT_METHODS)
def test_planted_constants_are_found_again(text: str, method: str) -> None:
    """Few, more and many constants: kernels of their own."""
    library = Library(
        [*["add", "mul", "sub", "div", "sin", "cos", "exp"], *map(str, range(2, 11)), "const"],
        ["x", "y"],
    )
    parts = [str(each) for each in PLANTED[text]]
    pieces = text.split("1.0")
    filled = [f"{piece}const({part})" for piece, part in zip(pieces, [*parts, ""], strict=True)]
    whole = "".join(filled)
    planted = Program.parse(whole[: -len("const()")], library)
    y = planted.evaluate(TABLE[:60])
    begin = Programs.from_list(
        [Program(library, planted.tokens, tuple(1.0 for _ in planted.constants))]
    )
    on = CudaEvaluator(library, DEVICE, TABLE[:60], y)
    found = on.fit(begin, FitConfig(method), 60 * float(y.var()), 0.5)
    assert found.errors.sums[0, 0] < 1e-8 * 60 * y.var()
    assert found.status[0] != FitStatus.INVALID


@pytest.mark.parametrize("method", FIT_METHODS)
@pytest.mark.parametrize("text", ASTRAY)
def test_a_program_that_is_invalid_where_it_starts_is_rescued_if_wished(
    text: str, method: str
) -> None:
    batch = parsed(text)
    saved = fit(batch, FitConfig(method), on_device())
    assert saved.errors.ok[0]
    left = fit(batch, FitConfig(method, rescue=False), on_device())
    assert left.status.tolist() == [FitStatus.INVALID]
    np.testing.assert_array_equal(left.programs.constants, batch.constants)


@pytest.mark.parametrize("method", FIT_METHODS)
def test_the_status_says_how_a_fit_ended(method: str) -> None:
    texts = ["exp(1.0*x) + 1.0*y", "log(-x**2)*1.0", "log(-(1.0*x)**2 - 2.5)", "x + y", "log(-x)"]
    batch = parsed(*texts)
    for steps in (2, 100):
        config = FitConfig(method, restarts=0, max_steps=steps)
        found, native = fit(batch, config, on_device()), fit(batch, config)
        assert found.status.tolist() == native.status.tolist()


def test_a_constant_that_is_used_twice_is_not_linear() -> None:
    """The formula reads its argument twice: in a + exp(a) the constant enters linearly and not."""
    twice = Token("twice", 1, formula="a + exp(a)")
    library = Library([twice, "mul", "const"], ["x"])
    batch = Programs.from_list([Program.from_preorder("twice const", library)])
    X, y = np.zeros((5, 1)), np.full(5, 1.0)  # 0 + exp(0)
    found = CudaEvaluator(library, DEVICE, X, y).fit(batch, FitConfig("least_squares", restarts=0))
    assert found.programs.constants[0, 0] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("rows", [6, 5000])
def test_runs_fit_their_own_data_and_inactive_ones_are_left_alone(rows: int) -> None:
    library = Library(["add", "mul", "sin", "const"], ["x"])
    random = np.random.default_rng(3)
    X = random.uniform(-2, 2, (3, rows, 1))
    truth = np.array([[1.5, -0.5], [-3.0, 2.0], [0.25, 4.0]])
    y = truth[:, :1] * np.sin(X[:, :, 0]) + truth[:, 1:]
    batch = copies(["1.0*sin(x) + 1.0", "x*x"], library, 4)
    dataset = np.array([2, 0, 1, 2], dtype=np.int32)
    active = np.array([1, 1, 0, 1], dtype=np.uint8)
    constants = np.ones((8, 2))
    sums = Sums(np.full((2, 8), 7.0), np.full(8, 7, dtype=np.uint8))
    status = np.full(8, 7, dtype=np.uint8)
    on = CudaEvaluator(library, DEVICE, X, y)
    whole = Batch(batch.tokens, batch.lengths, constants, 2, dataset, active)
    on.launch_fit(whole, FitConfig(), np.array([1.0, 2.0, 3.0]), 0.5, status, sums)
    for run, data in enumerate(dataset):
        if active[run]:
            np.testing.assert_allclose(constants[2 * run], truth[data], rtol=1e-6)
            assert status[2 * run : 2 * run + 2].tolist() == [FitStatus.CONVERGED] * 2
            assert sums.losses[0, 2 * run] < 1e-12 < sums.losses[0, 2 * run + 1]
        else:
            assert constants[2 * run].tolist() == [1.0, 1.0]
            assert {*status[2 * run : 2 * run + 2], *sums.ok[2 * run : 2 * run + 2]} == {7}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mixed", "projected"])
@pytest.mark.parametrize("rows", [5, 40, 600])  # a row a thread, warps, and blocks
def test_threads_fit_what_one_thread_does(rows: int, method: str) -> None:
    library = Library(["add", "mul", "sin", "exp", "div", "gauss", "const"], ["x", "y"])
    texts = ["1.0*sin(1.0*x) + 1.0", "1.0/(x + 1.0*y*y)", "exp(x*exp(1.0*x*y))", "x + y"]
    batch = copies([*texts, "+".join(f"1.0*gauss(x*{'y*' * k}y)" for k in range(5))], library, 1)
    config = FitConfig(method, restarts=0, max_steps=6)
    found, alone = (fit(batch, config, on_device(rows, library, each)) for each in DEVICES)
    assert found.status.tolist() == alone.status.tolist()
    np.testing.assert_allclose(found.errors.sums[0], alone.errors.sums[0], rtol=1e-6, atol=1e-12)


def test_underflow_at_the_end_of_a_fit_makes_it_invalid() -> None:
    library = Library(["mul", "exp", "const"], ["x"])
    batch = Programs.from_list([Program.parse("exp(const*x)", library)])
    x = np.array([1.0, 2.0, 3.0, 1000.0])[:, None]
    for strict in (False, True):
        on = CudaEvaluator(library, DEVICE, x, np.exp(-x[:, 0]), underflow_invalid=strict)
        found = on.fit(batch, FitConfig("least_squares"), 1.0, 0.5)
        assert found.errors.ok[0] == (not strict)
        assert (found.status[0] == FitStatus.INVALID) == strict


def test_more_constants_than_a_kernel_takes_are_left_as_they_are() -> None:
    library = Library(["add", "mul", "const"], ["x"])
    batch = copies(["+".join(["1.0*x"] * 33)], library, 1)
    X = np.linspace(1, 2, 10)[:, None]
    found = CudaEvaluator(library, DEVICE, X, X[:, 0]).fit(batch, FitConfig())
    assert found.status.tolist() == [FitStatus.LIMIT]
    assert set(found.programs.constants[0]) == {1.0}
    assert found.errors.sums[0, 0] == pytest.approx(np.sum((32 * X) ** 2))


def test_a_table_beyond_the_devices_memory_is_fitted_where_it_lies() -> None:
    library = Library(["add", "mul", "sin", "const"], ["x", "y"])
    X = np.random.default_rng(4).normal(size=(40_000, 2))
    y = 2.0 * np.sin(X[:, 0]) + 3.0
    on = CudaEvaluator(library, SmallDevice(), X, y)
    assert on.table.resident is None
    found = on.fit(copies(["1.0*sin(x) + 1.0"], library, 1), FitConfig())
    np.testing.assert_allclose(found.programs.constants, [[2.0, 3.0]])
    assert found.errors.sums[0, 0] < 1e-15


def test_what_cannot_be_fitted_is_refused() -> None:
    library = Library(["add", "const"], ["x"])
    batch = copies(["x + 1.0"], library, 1)
    with pytest.raises(InputError, match="without a target"):
        CudaEvaluator(library, DEVICE, np.ones((3, 1))).fit(batch, FitConfig())
    on = CudaEvaluator(library, DEVICE, np.ones((3, 1)), np.ones(3))
    assert len(on.fit(batch[:0], FitConfig()).status) == 0


def test_more_rows_than_kernels_can_count_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "MOST_ROWS", 20)
    with pytest.raises(InputError, match=r"fewer than 20 rows, and these are 20; take fewer"):
        on_device(20).fit(sampled(3), FitConfig())


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed")
@pytest.mark.parametrize("composed", [COMPOSED, ()], ids=["composed", "plain"])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_kernels_are_cuda(sizes: tuple[int, int], composed: tuple[Token, ...]) -> None:
    names = OPERATORS if sizes == SIZES[0] else ("add", "mul", "sin")
    steps = steps_of(Library([*names, *composed, "1", "const"], ["x"]))
    assert nvrtc.compile_errors(fit_source(steps, 20, *sizes)) == ""
