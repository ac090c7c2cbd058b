"""Many searches on one device: each is the search that the native engine would make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import host_device
import nvrtc
from symseek import (
    ConstraintSet,
    InputError,
    Search,
    SearchConfig,
    paper_constraints,
    presets,
)
from symseek.data import Data
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.cuda.policy import PolicyKernels
from symseek.engines.cuda.rules import device_rules
from symseek.lab import problems
from symseek.lab.gpu.learning import LearningKernels, LearningRule, Own
from symseek.lab.gpu.limits import why_not
from symseek.lab.gpu.searches import Searches
from symseek.objectives import (
    Novelty,
    PriorityQueue,
    RiskSeeking,
    VanillaPolicyGradient,
    WholeQueue,
)
from symseek.rewards import reward_named

pytestmark = host_device.needs_compiler

BATCH = 60
PROBLEMS = ("Nguyen-1", "Nguyen-7")
LIBRARY = problems.load(PROBLEMS[0]).library()


@lru_cache(maxsize=1)
def engine() -> CudaEngine:
    return CudaEngine(1, host_device.HostDevice())


def table(name: str) -> Data:
    problem = problems.load(name)
    data = problem.data()
    return Data.checked(data.X_train, data.y_train, problem.variables)


def config(method: str, iterations: int = 6, **changes: Any) -> SearchConfig:
    return presets.method(method, max_expressions=BATCH * iterations, batch_size=BATCH, **changes)


def rules() -> ConstraintSet:
    return ConstraintSet(LIBRARY, paper_constraints(4, 12))


def made(settings: SearchConfig, slots: int, **more: Any) -> Searches:
    tables = [table(name) for name in PROBLEMS]
    reward = reward_named("inverse_nrmse")
    return Searches(engine(), LIBRARY, rules(), settings, reward, tables, slots, **more)


def finished(runs: Searches) -> dict[int, Any]:
    """The fronts and notes of all searches, by slot."""
    results = {}
    while runs.busy:
        for standing in runs.advance(2):
            front = [(e.complexity, e.reward, str(e.program)) for e in runs.front(standing.slot)]
            results[standing.slot] = front, runs.stats(standing.slot).tolist()
            runs.end(standing.slot)
    return results


def by_native(settings: SearchConfig, name: str, seed: int) -> Any:
    data = table(name)
    search = Search(
        LIBRARY, data.X, data.y, settings, constraints=paper_constraints(4, 12), seed=seed
    )
    return search.run()


@pytest.mark.parametrize("method", ["dsr", "vpg", "pqt-whole"])
def test_each_search_is_that_of_the_native_engine(method: str) -> None:
    settings = config(method)
    runs = made(settings, 3, curve=True)
    slots = [runs.start(seed, seed % 2) for seed in range(3)]
    found = finished(runs)
    for seed, slot in enumerate(slots):
        want = by_native(settings, PROBLEMS[seed % 2], seed)
        front, stats = found[slot]
        assert [text for _, _, text in front] == [str(e.program) for e in want.front]
        np.testing.assert_allclose([r for _, r, _ in front], [e.reward for e in want.front])
        for got, row in zip(stats, want.history, strict=True):
            known = row.mean_reward, row.top_mean_reward, row.best_reward, row.entropy
            np.testing.assert_allclose(got[:4], known, rtol=1e-3)
            assert row.best is not None
            np.testing.assert_allclose(got[4:], (row.expressions, row.best.reward), rtol=1e-6)


def test_a_priority_queue_learns_to_write_its_programs() -> None:
    settings = config("pqt", iterations=30, learning_rate=0.01)
    runs = made(settings, 1, curve=True)
    runs.start(0, 0)
    _, stats = finished(runs)[0]
    rows = np.array(stats)
    assert rows[-5:, 0].mean() > 2 * rows[:5, 0].mean()


def test_a_search_does_not_depend_on_what_runs_beside_it() -> None:
    settings = config("dsr")
    alone, beside = made(settings, 1, curve=True), made(settings, 3, curve=True)
    alone.start(5, 1)
    slots = [beside.start(seed, table) for seed, table in ((3, 0), (5, 1), (5, 0))]
    found = finished(beside)
    assert finished(alone)[0] == found[slots[1]]
    assert found[slots[0]] != found[slots[1]] != found[slots[2]]


# Of each method, settings that differ in what runs beside each other may have of their own.
MIXED: dict[str, list[dict[str, Any]]] = {
    "dsr": [
        {},
        {"learning_rate": 0.01, "objective": RiskSeeking(0.3)},
        {"entropy_weight": 0.5, "objective": RiskSeeking(0.1)},
        {"entropy_weight": 0.0, "learning_rate": 0.003},
    ],
    "vpg": [
        {"objective": VanillaPolicyGradient(beta), "learning_rate": rate}
        for beta, rate in ((0.25, 0.01), (0.9, 0.01), (0.25, 0.002))
    ],
    "pqt": [
        {"objective": PriorityQueue(size, weight), "learning_rate": 0.01}
        for size, weight in ((2, 200.0), (20, 200.0), (20, 1.0))
    ],
    "pqt-whole": [{"objective": WholeQueue(size), "learning_rate": 0.01} for size in (1, 3, 20)],
}


@pytest.mark.parametrize("method", MIXED)
def test_runs_of_a_grid_are_what_each_is_alone(method: str) -> None:
    """To the last bit, and no two of them the same."""
    grid = [config(method, iterations=12, **changes) for changes in MIXED[method]]
    given = [(settings, noise) for settings in grid for noise in (0.0, 0.2)]
    together = made(grid[0], len(given), curve=True)
    slots = [together.start(5, 1, Own.of(*each)) for each in given]
    found = finished(together)
    weights = [together.weights(slot) for slot in slots]
    for slot, moved, (settings, noise) in zip(slots, weights, given, strict=True):
        alone = made(settings, 1, curve=True, reward_noise=noise)
        alone.start(5, 1)
        assert finished(alone)[0] == found[slot]
        assert alone.weights(0).tobytes() == moved.tobytes()
    assert len({each.tobytes() for each in weights[::2]}) == len(grid)  # none has noise


@pytest.mark.parametrize("method", ["dsr", "vpg", "pqt-whole"])
def test_runs_of_a_grid_are_those_of_the_native_engine(method: str) -> None:
    grid = [config(method, **changes) for changes in MIXED[method]]
    together = made(grid[0], len(grid), curve=True)
    slots = [together.start(5, 1, Own.of(each)) for each in grid]
    found = finished(together)
    for slot, settings in zip(slots, grid, strict=True):
        want = by_native(settings, PROBLEMS[1], 5)
        rows = [(row.mean_reward, row.top_mean_reward, row.entropy) for row in want.history]
        ours = [(mean, top, entropy) for mean, top, _, entropy, *_ in found[slot][1]]
        np.testing.assert_allclose(ours, rows, rtol=1e-3)


def test_a_slot_is_like_new_for_the_next_search() -> None:
    settings = config("pqt")
    runs = made(settings, 1, curve=True)
    runs.start(1, 0)
    first = finished(runs)[0]
    runs.start(2, 1)
    second = finished(runs)[0]
    runs.start(1, 0)
    assert finished(runs)[0] == first != second


def test_a_search_waits_when_it_asks() -> None:
    runs = made(config("dsr", iterations=4), 1, ask=0.0)
    slot = runs.start(0, 0)
    (standing,) = runs.advance(3)
    assert standing.asks
    assert runs.seconds[slot] > 0  # though it ended within the stretch
    assert (standing.iterations, standing.ended) == (1, False)  # it has not continued
    runs.go_on(slot)
    while not standing.ended:
        (standing,) = runs.advance(1) or [standing]
        runs.go_on(slot)
    assert standing.iterations == 4


def test_noise_on_the_rewards_changes_what_is_learnt_only() -> None:
    settings = config("dsr")
    plain, noisy = (made(settings, 1, curve=True, reward_noise=noise) for noise in (0.0, 0.5))
    for runs in (plain, noisy):
        runs.start(0, 0)
    (_, before), (_, after) = finished(plain)[0], finished(noisy)[0]
    assert before[0] == after[0]  # the first batch, graded as it is
    assert before[-1] != after[-1]


def test_weights_are_those_of_automatic_differentiation_after_a_step() -> None:
    """The items of several runs must not mix: each run has its own gradient."""
    settings = config("vpg", iterations=1)
    runs = made(settings, 2)
    for slot in (0, 1):
        runs.start(slot + 7, slot)
    runs.advance(1)
    for slot in (0, 1):
        search = Search(
            LIBRARY,
            table(PROBLEMS[slot]).X,
            table(PROBLEMS[slot]).y,
            settings,
            constraints=paper_constraints(4, 12),
            seed=slot + 7,
        )
        search.run()
        np.testing.assert_allclose(
            runs.weights(slot), search.state.weights, atol=2e-2 * settings.learning_rate, rtol=1e-4
        )


def test_what_cannot_run_on_a_device_is_said() -> None:
    reward, allowed = reward_named("inverse_nrmse"), rules()
    plain = config("dsr")
    assert why_not(plain, reward, allowed, 20) is None
    novel = replace(plain, objective=Novelty(RiskSeeking()))
    assert "Novelty" in str(why_not(novel, reward, allowed, 20))
    uneven = replace(plain, max_expressions=BATCH + 1)
    assert "multiple" in str(why_not(uneven, reward, allowed, 20))
    custom = reward_named(lambda y, predictions, weights: predictions.sum(axis=1))
    assert "function" in str(why_not(plain, custom, allowed, 20))
    with pytest.raises(InputError, match="cannot run wholly on a GPU"):
        made(uneven, 1)


def test_constants_are_fitted_on_the_device() -> None:
    problem = problems.load("Nguyen-1c")
    data = problem.data()
    rows = Data.checked(data.X_train, data.y_train, problem.variables)
    library = problem.library()
    given = paper_constraints(4, 10)
    allowed = ConstraintSet(library, given)
    settings = config("dsr", iterations=3)
    reward = reward_named("inverse_nrmse")
    runs = Searches(engine(), library, allowed, settings, reward, [rows], 1, curve=True)
    runs.start(0, 0)
    front, stats = finished(runs)[0]
    want = Search(library, rows.X, rows.y, settings, constraints=given, seed=0).run()
    means = [row.mean_reward for row in want.history]
    np.testing.assert_allclose([row[0] for row in stats], means, rtol=1e-3)
    assert front[-1][1] == pytest.approx(want.best.reward, rel=1e-6)  # type: ignore[union-attr]
    assert any("." in text for _, _, text in front)  # fitted, not 1


class Recording(host_device.HostDevice):
    """A device like a GPU that compiles nothing, and keeps what it is asked to compile."""

    warp = 32
    shared_memory = 227 << 10
    tensor_cores = True

    def __init__(self) -> None:
        self.sources: list[str] = []

    def compile(self, source: str, names: Sequence[str]) -> Any:
        self.sources.append(source)
        return dict.fromkeys(names)


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed")
@pytest.mark.parametrize("hidden", [32, 20])
def test_the_kernels_are_cuda(hidden: int) -> None:
    device = Recording()
    tables = device_rules(rules().tables)
    assert tables is not None
    kernels = PolicyKernels(device, tables, hidden)
    assert kernels.tensor == (hidden == 32)
    for number in range(4):
        LearningKernels(
            device, LearningRule(number, queue=3), length=12, constants=2, complexities=40
        )
    assert len(device.sources) == 5
    for source in device.sources:
        assert nvrtc.compile_errors(source) == ""
