"""On a GPU: what only a GPU can show, many threads and tensor cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import host_device
from symseek import (
    ConstraintSet,
    Evolution,
    FitConfig,
    Library,
    Program,
    Programs,
    Search,
    SearchConfig,
    paper_constraints,
    presets,
)
from symseek.data import Data
from symseek.engines.cuda.breeding import CudaBreeder
from symseek.engines.cuda.device import GpuDevice
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.cuda.policy import PolicyKernels
from symseek.engines.cuda.rules import device_rules
from symseek.engines.native import NativeEngine
from symseek.lab import problems
from symseek.lab.gpu.searches import Searches
from symseek.policy import PolicyWeights
from symseek.rewards import reward_named
from symseek.structure import solving

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


def searched(engine: CudaEngine, name: str, config: SearchConfig, slots: int) -> dict[int, Any]:
    """Searches side by side to their end: front, notes, weights and how each stands, by seed."""
    problem = problems.load(name)
    data = problem.data()
    table = Data.checked(data.X_train, data.y_train, problem.variables)
    library = problem.library()
    rules = ConstraintSet(library, paper_constraints(constants=config.max_constants))
    reward, found = reward_named("inverse_nrmse"), {}
    runs = Searches(engine, library, rules, config, reward, [table], slots, curve=True)
    seeds = {runs.start(seed, 0): seed for seed in range(slots)}
    while runs.busy:
        for standing in runs.advance(10):
            slot = standing.slot
            front = [(e.complexity, e.reward, str(e.program)) for e in runs.front(slot)]
            notes = runs.stats(slot)[: standing.iterations].tolist()
            found[seeds[slot]] = front, notes, runs.weights(slot).tolist(), standing.expressions
            runs.end(slot)
    return found


@pytest.mark.parametrize("method", ["dsr", "hybrid"])
def test_the_same_seed_gives_the_same_result(engine: CudaEngine, method: str) -> None:
    config = presets.method(method, max_expressions=100_000)
    alone, beside = (searched(engine, "Nguyen-5", config, slots) for slots in (1, 40))
    assert alone[0] == beside[0]


@pytest.mark.parametrize("name", ["Nguyen-5", "Nguyen-5c", "Nguyen-12"])
def test_a_hybrid_begins_as_the_hosts_and_ends_as_well(engine: CudaEngine, name: str) -> None:
    """Rounding parts the two in time, so rewards are compared over seeds, and budgets exactly."""
    config = presets.hybrid(max_expressions=60_000)
    found, problem = searched(engine, name, config, 12), problems.load(name)
    data = problem.data()
    given = problem.library(), data.X_train, data.y_train, config
    best: list[tuple[float, float]] = []
    for seed in range(12):
        want = Search(*given, seed=seed, threads=2).run()
        front, notes, _, expressions = found[seed]
        assert config.max_expressions - 2 < expressions <= config.max_expressions
        first = want.history[0]
        batch = first.mean_reward, first.top_mean_reward, first.best_reward, first.entropy
        np.testing.assert_allclose(notes[0][:4], batch, rtol=0.02)
        assert first.best is not None
        if max(notes[0][5], first.best.reward) < 1 - 1e-9:  # an exact fit ends the evolution
            assert notes[0][4] == pytest.approx(first.expressions, rel=0.1)
        assert want.best is not None
        best.append((front[-1][1], want.best.reward))
    errors = np.log(np.maximum(1 - np.array(best), 1e-12))  # rewards are all near 1
    ours, theirs = errors.T
    chance = np.sqrt((ours.var() + theirs.var()) / len(ours))
    assert abs(ours.mean() - theirs.mean()) < 4 * chance + 0.2


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
    ok = found.errors.ok
    assert ok.tolist() == other.errors.ok.tolist()
    one, two = found.errors.sums[0, ok], other.errors.sums[0, ok]
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-9)
    crowd = on.fit(batch[np.arange(len(batch)).repeat(40)], config)
    for at in range(len(batch)):
        alone, count = on.fit(batch[[at]], config), len(batch[at].constants)
        for each in (found.programs.constants[at], *crowd.programs.constants[40 * at :][:40]):
            assert each[:count].tobytes() == alone.programs.constants[0, :count].tobytes()


def test_a_gpu_fits_large_tables_as_this_machine_does() -> None:
    draw = np.random.default_rng(0)
    table, target = draw.normal(size=(4_000, 200)), draw.normal(size=4_000)
    here = solving.least_squares(table, target), solving.singular(table)[0]
    with solving.on_device(GpuDevice()):
        there = solving.least_squares(table, target), solving.singular(table)[0]
        Q, R = solving.factored(table)
    assert all(np.allclose(*pair) for pair in zip(here, there, strict=True))
    assert np.allclose(Q @ R, table)
