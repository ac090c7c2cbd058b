"""On a GPU: what only a GPU can show, many threads and tensor cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import host_device
from symseek import ConstraintSet, Evolution, Library, paper_constraints, presets, problems
from symseek.data import Data
from symseek.engines.cuda.breeding import CudaBreeder
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.cuda.policy import PolicyKernels
from symseek.engines.cuda.rules import device_rules
from symseek.engines.cuda.runs import Runs
from symseek.engines.native import NativeEngine
from symseek.policy import PolicyWeights
from symseek.programs import Programs
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


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_children_are_the_very_programs_that_the_host_makes(
    engine: CudaEngine, library: Library
) -> None:
    rules = ConstraintSet(library, paper_constraints(constants=6))
    host, random = NativeEngine(2), np.random.default_rng(0)
    made = host.policy(rules, 32)
    weights = random.normal(0.0, 0.3, PolicyWeights.start(len(library), 32, 0).flat.size)
    population = made.sample(weights.astype(np.float32), 0, 0, 3000).programs
    breeders = engine.breeder(rules), host.breeder(rules)
    assert isinstance(breeders[0], CudaBreeder)
    for breeder in breeders:
        breeder.begin(population)
    for generation in range(10):
        values = random.normal(size=population.constants.shape)
        population = Programs(library, population.tokens, population.lengths, values)
        fitness = random.uniform(size=len(population))
        draw = (7, 2, generation, Evolution(), 3000)
        ours, theirs = (breeder.breed(population, fitness, *draw) for breeder in breeders)
        np.testing.assert_array_equal(ours.tokens, theirs.tokens)
        np.testing.assert_array_equal(ours.constants, theirs.constants)
        np.testing.assert_array_equal(*(breeder.admit(population[:50]) for breeder in breeders))
        assert len(ours) > 1000
        population = ours
