"""Data on the CUDA engine, on the host device, against the native engine and the oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import host_device
import nvrtc
from engine_helpers import Policy, evaluator
from evolution_helpers import copies
from examples import examples, mostly_slow
from host_device import HostDevice
from oracle import pairing
from oracle.evaluate import evaluate
from strategies import COMPOSED, programs
from symseek import ConstraintSet, InputError, Length, Library, PolicyConfig, Program, Programs
from symseek.engines.cuda.evaluator import Batch, CudaEvaluator, Sums, evaluation_source
from symseek.engines.cuda.operations import operation_text, steps_of
from symseek.engines.cuda.pairing import pair, pair_source
from symseek.engines.cuda.source import with_sizes
from symseek.engines.interface import engine_named
from symseek.engines.native import operations
from symseek.tokens import OPERATORS
from test_evaluation import LIBRARY, jittered, table
from test_underflow import LIBRARY as UNDERFLOWING
from test_underflow import TABLE as TINY_AND_HUGE
from threaded_device import ThreadedDevice

DEVICE = HostDevice()
ROWS = [1, 7, 96, 97, 1024, 1025]

pytestmark = pytest.mark.skipif(
    host_device.compiler() is None, reason="the kernels need a C++ compiler to run on the host"
)


def sampled(library: Library, count: int, length: int = 20, seed: int = 0) -> Programs:
    rules = ConstraintSet(library, [Length(1, length)])
    return Policy(rules, PolicyConfig(hidden=8), seed=seed).sample(count, 0).programs


def on_device(*arrays: Any) -> list[Any]:
    return [None if each is None else np.ascontiguousarray(each) for each in arrays]


# ---- operators -------------------------------------------------------------------------------

EVERY = steps_of(Library([*OPERATORS], ["x"]))
PROBE = """
KERNEL probe(int opcode, int count, const double* first, const double* second, double* value,
             double* slopes, uint8* lost) {
  for (int i = group_index(); i < count; i += group_count()) {
    const double a = first[i], b = second[i];
    switch (opcode) {
#define UNARY(CODE, VALUE, SLOPE, UNDERFLOW) \\
  case CODE: { \\
    const double v = value[i] = VALUE; \\
    slopes[2 * i] = SLOPE; lost[i] = UNDERFLOW; \\
  } break;
#define BINARY(CODE, VALUE, SLOPE_A, SLOPE_B, UNDERFLOW) \\
  case CODE: { \\
    const double v = value[i] = VALUE; \\
    slopes[2 * i] = SLOPE_A; slopes[2 * i + 1] = SLOPE_B; lost[i] = UNDERFLOW; \\
  } break;
      OPERATIONS(UNARY, BINARY)
    }
  }
}
"""


def slopes_of(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Values [M] and slopes [M, 2] of an operator as the kernels compute them."""
    source = with_sizes({}, more=operation_text(EVERY) + PROBE)
    value, slopes = np.zeros(len(a)), np.zeros((len(a), 2))
    opcode = 6 + EVERY.operators.index(name)
    lost = np.zeros(len(a), dtype=np.uint8)
    arguments = (np.int32(opcode), np.int32(len(a)), a, b, value, slopes, lost)
    DEVICE.compile(source, ["probe"])["probe"](1, (1, 1), arguments)
    return value, slopes


@pytest.mark.parametrize("name", sorted(operations()))
def test_slopes_are_the_native_ones(name: str) -> None:
    random = np.random.default_rng(0)
    scale = 0.9 if name in ("asin", "acos") else 3.0
    a, b = random.uniform(-scale, scale, (2, 40))
    a[:4], b[:4] = (0.0, 1.0, 2e-4, -0.5), (0.5, 1.0, -2e-4, 1e-4)
    value, slopes = slopes_of(name, a, b)
    library = Library([*OPERATORS, "const"], ["x"])
    arity = operations()[name]
    shape = Program.from_preorder([name, *["const"] * arity], library)
    batch = Programs.from_list(
        [Program(library, shape.tokens, each[:arity]) for each in zip(a, b, strict=True)]
    )
    native = evaluator(library, np.ones((1, 1)), np.zeros(1)).derivatives(batch)
    assert native.ok.sum() > 10
    for row in np.flatnonzero(native.ok):
        slope = np.where(np.isfinite(slopes[row, :arity]), slopes[row, :arity], 0.0)
        assert value[row] ** 2 == pytest.approx(native.loss[row], rel=1e-12)
        np.testing.assert_allclose(-value[row] * slope, native.gradient[row], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.outer(slope, slope), native.normal[row], rtol=1e-9)


@pytest.mark.parametrize("token", OPERATORS.values(), ids=OPERATORS)
def test_every_operator_has_its_slopes(token: Any) -> None:
    """Or it has a formula, which is differentiated step by step."""
    assert len(token.forms.slopes) == (0 if token.formula else token.arity)


# ---- programs --------------------------------------------------------------------------------


@examples(200)
@given(programs(LIBRARY, max_length=25), st.sampled_from(ROWS))
def test_values_and_validity_are_numpys(program: Program, rows: int) -> None:
    X, _ = table(rows)
    expected, valid = evaluate(program, X)
    found = CudaEvaluator(LIBRARY, DEVICE, X).predict(Programs.from_list([program]))
    spread, undecided = jittered(program, X)
    if undecided:  # the last bits decide, as in log(sin(x) - sin(x))
        return
    assert bool(found.ok[0]) == valid
    if valid:
        tame = spread <= 1e-6 * np.abs(expected)  # elsewhere rounding errors have taken over
        apart = np.abs(found.values[0] - expected)
        bound = 16 * spread + 1e-15 * np.abs(expected) + 1e-323
        assert np.all(apart[tame] <= bound[tame])


@examples(60)
@given(st.lists(programs(LIBRARY, max_length=12), min_size=1, max_size=20), st.sampled_from(ROWS))
def test_error_sums_are_those_of_the_predictions(batch: list[Program], rows: int) -> None:
    X, y = table(rows)
    weights = np.random.default_rng(1).uniform(0, 2, rows)
    weights[rows // 2 :: 3] = 0.0
    both = Programs.from_list([*batch, *batch])
    on = CudaEvaluator(LIBRARY, DEVICE, X, y, weights)
    predictions, errors = on.predict(both), on.errors(both)
    assert errors.ok.tolist() == predictions.ok.tolist()
    assert errors.distinct == len(set(batch))
    assert np.isinf(errors.sums[0, ~errors.ok]).all()
    used = weights > 0
    with np.errstate(over="ignore"):
        for row in np.flatnonzero(errors.ok):
            residual = y[used] - predictions.values[row, used]
            squared, absolute = weights[used] @ residual**2, weights[used] @ np.abs(residual)
            assert errors.sums[0, row] == pytest.approx(squared, rel=1e-12)
            assert errors.sums[1, row] == pytest.approx(absolute, rel=1e-12)


def test_a_row_that_weighs_nothing_adds_nothing_even_where_its_error_overflows() -> None:
    library = Library(["mul"], ["x"])
    X, y, weights = np.array([[1.0], [1e150]]), np.array([0.0, -1e308]), np.array([2.0, 0.0])
    batch = copies(["x*x"], library, 1)
    errors = CudaEvaluator(library, DEVICE, X, y, weights).errors(batch)
    assert (errors.sums[0, 0], errors.sums[1, 0], errors.ok[0]) == (2.0, 2.0, True)


def test_underflow_is_the_native_one() -> None:
    batch = sampled(UNDERFLOWING, 1500, 12)
    for strict in (False, True):
        native = evaluator(UNDERFLOWING, TINY_AND_HUGE[:9], underflow_invalid=strict).predict(batch)
        found = CudaEvaluator(
            UNDERFLOWING, DEVICE, TINY_AND_HUGE[:9], underflow_invalid=strict
        ).predict(batch)
        # Functions of the two engines differ in last bits, which decide now and then.
        assert np.count_nonzero(found.ok != native.ok) <= 3
        assert 50 < found.ok.sum() < 1450


@pytest.mark.parametrize("rows", [5, 30_000])
def test_runs_see_their_own_data_and_inactive_ones_are_left_alone(rows: int) -> None:
    library = Library(["add", "mul", "sin", "const"], ["x", "y"])
    random = np.random.default_rng(3)
    X, y = random.normal(size=(3, rows, 2)), random.normal(size=(3, rows))
    weights = random.uniform(size=(3, rows))
    batch, per_run = sampled(library, 12), 3
    dataset = np.array([2, 0, 1, 2], dtype=np.int32)
    active = np.array([1, 1, 0, 1], dtype=np.uint8)
    on = CudaEvaluator(library, DEVICE, X, y, weights)
    sums = Sums(np.full((2, 12), 7.0), np.full(12, 7, dtype=np.uint8))
    constants = np.ones((12, 20))
    lengths = batch.lengths.copy()
    lengths[2] = 0  # no program
    arrays = on_device(batch.tokens, lengths, constants)
    on.launch_errors(Batch(*arrays, per_run, dataset, active), sums)
    assert (sums.losses[0, 2], sums.losses[1, 2], sums.ok[2]) == (7, 7, 7)
    on.launch_errors(
        Batch(*on_device(batch.tokens, batch.lengths, constants), per_run, dataset, active), sums
    )
    for run, data in enumerate(dataset):
        part = slice(run * per_run, (run + 1) * per_run)
        if not active[run]:
            assert (
                set(sums.losses[0, part]) == set(sums.losses[1, part]) == set(sums.ok[part]) == {7}
            )
            continue
        alone = evaluator(library, X[data], y[data], weights[data]).errors(batch[part])
        np.testing.assert_allclose(sums.losses[0, part], alone.sums[0], rtol=1e-12)
        np.testing.assert_allclose(sums.losses[1, part], alone.sums[1], rtol=1e-12)
        assert sums.ok[part].tolist() == alone.ok.tolist()


@pytest.mark.parametrize("rows", mostly_slow([5, 40, 100, 1100, 9000], 40, 1100))
def test_threads_find_what_one_thread_does(rows: int) -> None:
    """Rows of a warp, several a thread, of a block, and in parts."""
    library = Library(["add", "mul", "sin", "log", "gauss", "const"], ["x", "y"])
    random = np.random.default_rng(5)
    X, y = random.uniform(-0.1, 5.0, (rows, 2)), random.normal(size=rows)
    batch = sampled(library, 11)
    one, other = (CudaEvaluator(library, each, X, y) for each in (DEVICE, ThreadedDevice()))
    alone, found = one.errors(batch), other.errors(batch)
    assert found.ok.tolist() == alone.ok.tolist()
    assert 0 < found.ok.sum() < 11
    np.testing.assert_allclose(found.sums[0], alone.sums[0], rtol=1e-12)
    np.testing.assert_allclose(found.sums[1], alone.sums[1], rtol=1e-12)
    here, there = one.predict(batch), other.predict(batch)
    assert here.ok.tolist() == there.ok.tolist()
    np.testing.assert_array_equal(here.values, there.values)


class SmallDevice(HostDevice):
    """A device with room for some thousand rows."""

    def free_memory(self) -> int:
        return 2_000_000


def test_a_table_beyond_the_devices_memory_is_read_in_blocks() -> None:
    library = Library(["add", "mul", "sin", "log", "const"], ["x", "y"])
    random = np.random.default_rng(4)
    X, y = random.normal(size=(60_000, 2)), random.normal(size=60_000)
    X[:, 0] = np.abs(X[:, 0])
    X[50_000, 0] = -1.0  # what is invalid shows late
    batch = sampled(library, 30)
    large, small = (CudaEvaluator(library, each, X, y) for each in (DEVICE, SmallDevice()))
    assert large.table.resident is not None
    assert small.table.resident is None
    assert len(list(small.table.blocks())) > 2
    one, other = large.errors(batch), small.errors(batch)
    assert one.sums[0].tobytes() == other.sums[0].tobytes()
    assert one.sums[1].tobytes() == other.sums[1].tobytes()
    assert one.ok.tolist() == other.ok.tolist()
    assert 0 < one.ok.sum() < 30
    here, there = large.predict(batch), small.predict(batch)
    np.testing.assert_array_equal(here.values, there.values)
    assert here.ok.tolist() == there.ok.tolist() == one.ok.tolist()
    with pytest.raises(InputError, match="do not fit on the GPU"):
        small.launch_errors(Batch(None, None, None, 1), Sums(None, None))


def test_memory_that_is_not_there_is_said_in_a_sentence() -> None:
    class FullDevice(HostDevice):
        def free_memory(self) -> int:
            return 1000

    class LyingDevice(HostDevice):
        class xp:
            @staticmethod
            def asarray(*given: Any) -> Any:
                raise MemoryError

    library = Library(["add"], ["x"])
    with pytest.raises(InputError, match="no room for 8192 rows of 1 columns"):
        CudaEvaluator(library, FullDevice(), np.ones((9000, 1))).errors(copies(["x"], library, 1))
    with pytest.raises(InputError, match="the GPU is out of memory"):
        CudaEvaluator(library, LyingDevice(), np.ones((10, 1)))


def test_programs_that_cannot_be_evaluated_are_refused() -> None:
    library = Library(["add"], ["x"])
    foreign = copies(["y + y"], Library(["add"], ["y"]), 1)
    with pytest.raises(InputError, match="library"):
        CudaEvaluator(library, DEVICE, np.ones((3, 1))).errors(foreign)
    deep = copies(["+".join(["x"] * 2000)], library, 1)
    with pytest.raises(InputError, match="nests too deeply"):
        CudaEvaluator(library, DEVICE, np.ones((3, 1))).errors(deep)
    empty = copies(["x"], library, 1)[:0]
    assert len(CudaEvaluator(library, DEVICE, np.ones((3, 1))).predict(empty).ok) == 0


# ---- pairs -----------------------------------------------------------------------------------


@examples(30)
@given(st.integers(0, 4), st.integers(0, 9), st.integers(1, 20), st.integers(0, 1000))
def test_pairs_are_those_of_the_native_engine(p: int, q: int, rows: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    task = (
        random.choice([0.0, 1.0, -2.0, 0.5], (p, rows)),
        random.choice([0.0, 1.0, -2.0, 0.5], (q, rows)),
        random.normal(size=rows),
        random.uniform(0.0, 2.0, rows),
        random.uniform(size=(p, q)) < 0.7,
    )
    found, native = pair(DEVICE, *task), engine_named("native").pair(*task)
    np.testing.assert_allclose(found.error, native.error, rtol=1e-12)
    assert (np.isinf(found.error) == (found.candidate < 0)).all()
    every, _ = pairing.errors(*task)
    some = found.candidate >= 0
    if some.any():
        chosen = np.take_along_axis(every, np.maximum(found.candidate, 0)[:, :, None], axis=2)
        np.testing.assert_allclose(chosen[:, :, 0][some], found.error[some], rtol=1e-9)


def test_threads_find_the_pairs_that_one_thread_does() -> None:
    random = np.random.default_rng(6)
    sizes = ((3, 20), (300, 20), 20, 20)
    task = (*(random.normal(size=each) for each in sizes), random.uniform(size=(3, 300)) < 0.7)
    found, alone = pair(ThreadedDevice(), *task), pair(DEVICE, *task)
    assert found.candidate.tolist() == alone.candidate.tolist()
    assert found.error.tolist() == alone.error.tolist()


# ---- source ----------------------------------------------------------------------------------


def test_the_source_follows_from_the_operators_alone() -> None:
    one = steps_of(Library(["add", "sin", "1", "const"], ["x"]))
    other = steps_of(Library(["sin", "add", "-4.5", "2", "const"], ["a", "y", "z"]))
    assert operation_text(one) == operation_text(other)
    composed = steps_of(Library(["add", *COMPOSED], ["x"]))
    assert operation_text(composed) != operation_text(one)


needs_nvrtc = pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed")


@needs_nvrtc
@pytest.mark.parametrize("strict", [0, 1])
def test_the_kernels_are_cuda(strict: int) -> None:
    every = steps_of(Library([*OPERATORS, "1", "const"], ["x"]))
    assert nvrtc.compile_errors(evaluation_source(every, 16, 1 + 3 * strict, bool(strict))) == ""
    assert nvrtc.compile_errors(pair_source()) == ""
