"""On a GPU: what only a GPU can show, many threads and tensor cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import host_device
from symseek import (
    ConstraintSet,
    FitConfig,
    Library,
    Program,
    Programs,
    paper_constraints,
    presets,
    problems,
)
from symseek.data import Data
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.cuda.policy import PolicyKernels
from symseek.engines.cuda.rules import device_rules
from symseek.engines.cuda.runs import Runs
from symseek.engines.native import NativeEngine
from symseek.rewards import reward_named

pytestmark = [*host_device.needs_gpu]

OPERATORS = ["add", "sub", "mul", "div", "sin", "cos", "exp", "log"]
LIBRARIES = {
    "small": Library(OPERATORS, variables=["x"]),
    "inputs apart": Library([*OPERATORS, "const"], variables=[f"x{i}" for i in range(1, 16)]),
}


@pytest.fixture(scope="module")
def engine() -> CudaEngine:
    return CudaEngine()


def drawn(kernels: PolicyKernels, weights: Any, batch: int) -> tuple[Any, ...]:
    xp, runs = kernels.device.xp, len(weights)
    width = kernels.sizes["T"]
    tokens = xp.zeros((runs, batch, width), dtype=np.int16)
    lengths = xp.zeros((runs, batch), dtype=np.int32)
    entropy = xp.zeros((runs, batch), dtype=np.float32)
    seeds, iterations = xp.arange(runs, dtype=np.uint64), xp.zeros(runs, dtype=np.int32)
    given = xp.asarray(weights), seeds, iterations, None
    kernels.sample(*given, batch, tokens, lengths, entropy)
    return tuple(kernels.device.get(each) for each in (tokens, lengths, entropy))


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_tensor_cores_draw_what_plain_ones_and_the_host_draw(
    engine: CudaEngine, library: Library
) -> None:
    rules = ConstraintSet(library, paper_constraints())
    tables = device_rules(rules.tables)
    assert tables is not None
    kernels = PolicyKernels(engine.device, tables, 32)
    assert kernels.tensor
    random = np.random.default_rng(0)
    weights = random.normal(0.0, 0.3, (3, kernels.weights)).astype(np.float32)
    by_tensors = drawn(kernels, weights, 1000)
    kernels.tensor = False
    plain = drawn(kernels, weights, 1000)
    same = (by_tensors[0] == plain[0]).all(axis=2)
    # A random number within rounding of a boundary may fall on either side.
    assert same.mean() > 0.998
    np.testing.assert_array_equal(by_tensors[1][same], plain[1][same])
    np.testing.assert_allclose(by_tensors[2][same], plain[2][same], rtol=1e-4)
    native = NativeEngine(2).policy(rules, 32).sample(weights[1], 1, 0, 1000)
    width = native.programs.tokens.shape[1]
    alike = (by_tensors[0][1, :, :width] == native.programs.tokens).all(axis=1)
    assert alike.mean() > 0.998


def test_the_same_seed_gives_the_same_result(engine: CudaEngine) -> None:
    problem = problems.load("Nguyen-5")
    data = problem.data()
    table = Data.checked(data.X_train, data.y_train, problem.variables)
    library = problem.library()
    rules = ConstraintSet(library, paper_constraints())
    results = []
    for slots in (1, 40):
        config = presets.dsr(max_expressions=100_000)
        reward = reward_named("inverse_nrmse")
        runs = Runs(engine, library, rules, config, reward, [table], slots, curve=True)
        for seed in range(slots):
            runs.start(seed, 0)
        while not any(each.slot == 0 for each in runs.advance(10)):
            pass
        front = [(e.complexity, e.reward, str(e.program)) for e in runs.front(0)]
        results.append((front, runs.stats(0).tolist(), runs.weights(0).tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("rows", [5_000, 200_000])
def test_fits_on_many_rows_are_the_native_ones_in_any_company(
    engine: CudaEngine, rows: int
) -> None:
    library = Library([*OPERATORS, "const"], variables=["x", "y"])
    X = np.random.default_rng(0).uniform(0.5, 3.0, (rows, 2))
    y = 2.7 * X[:, 0] * np.exp(-0.6 * X[:, 1]) + 1.0 / (1.3 + X[:, 0])
    texts = [
        *("const*x", "const*x + const", "const*x*exp(const*y)", "const*x*exp(const*y) + const"),
        "const*x*exp(const*y) + const/(const + x)",
        "const*x + const*y + const*x*y + const*x*x + const*y*y + const*sin(x) + const",
        "const*log(x - const)",
        "x*y",
    ]
    batch = Programs.from_list([Program.parse(text, library) for text in texts])
    config = FitConfig("least_squares", restarts=0, max_steps=40)
    on, native = (each.evaluator(library, X, y) for each in (engine, NativeEngine(4)))
    found, other = (each.fit(batch, config) for each in (on, native))
    assert found.errors.ok.tolist() == other.errors.ok.tolist()
    np.testing.assert_allclose(found.errors.squared, other.errors.squared, rtol=1e-6, atol=1e-9)
    crowd = on.fit(batch[np.arange(len(batch)).repeat(40)], config)
    for one in range(len(batch)):
        alone = on.fit(batch[[one]], config)
        for each in (found.programs.constants[one], *crowd.programs.constants[40 * one :][:40]):
            count = len(batch[one].constants)
            assert each[:count].tobytes() == alone.programs.constants[0, :count].tobytes()
