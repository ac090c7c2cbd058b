"""Hybrid searches side by side on a device: each is the search that it would be alone, on the host.

The host's search is given the same kernels for its arithmetic, so that the two agree to the last
bit in every reward, and therefore in every decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import host_device
import nvrtc
from examples import mostly_slow
from symseek import (
    ConstraintSet,
    Evolution,
    InputError,
    Length,
    Library,
    RiskSeeking,
    Search,
    SearchConfig,
    VanillaPolicyGradient,
    evolution,
    paper_constraints,
    presets,
)
from symseek.data import Data
from symseek.engines.cuda.breeding import LONGEST
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.cuda.rules import device_rules
from symseek.evolution import RECENT
from symseek.lab import problems
from symseek.lab.gpu import evolving
from symseek.lab.gpu.evolving import evolution_source, span
from symseek.lab.gpu.limits import most_constants, why_not
from symseek.lab.gpu.proposed import Proposed
from symseek.lab.gpu.searches import Searches
from symseek.lab.trials.execute import proposals_for
from symseek.objectives import WholeQueue
from symseek.racing import Racing
from symseek.rewards import reward_named
from threaded_device import ThreadedDevice

pytestmark = host_device.needs_compiler

REWARD = reward_named("inverse_nrmse")
SHORT = Evolution(generations=6, pairing=3, pairs=20, elite=15, kept=10)


@lru_cache(maxsize=2)
def engine(threaded: bool = False) -> CudaEngine:
    return CudaEngine(1, ThreadedDevice() if threaded else host_device.HostDevice())


def config(expressions: int = 1500, batch: int = 50, **changes: Any) -> SearchConfig:
    given = {"max_expressions": expressions, "batch_size": batch, "evolution": SHORT, **changes}
    return presets.hybrid(**given)


def constraints() -> list[Any]:
    return paper_constraints(4, 14, constants=6)


def table(name: str) -> Data:
    problem = problems.load(name)
    data = problem.data()
    return Data.checked(data.X_train, data.y_train, problem.variables)


def made(
    library: Library,
    tables: Sequence[Data],
    settings: SearchConfig,
    slots: int,
    on: CudaEngine | None = None,
    **more: Any,
) -> Searches:
    rules = ConstraintSet(library, constraints())
    return Searches(
        on or engine(), library, rules, settings, REWARD, tables, slots, curve=True, **more
    )


def finished(runs: Searches) -> dict[int, Any]:
    """What all searches have found, by slot."""
    results = {}
    while runs.busy:
        for standing in runs.advance(2):
            assert standing.ended
            slot = standing.slot
            rows = runs.stats(slot)[: standing.iterations]
            front = [(e.complexity, e.reward, str(e.program)) for e in runs.front(slot)]
            results[slot] = front, standing.expressions, rows, runs.weights(slot)
            runs.end(slot)
    return results


def alone(library: Library, data: Data, settings: SearchConfig, seed: int, **more: Any) -> Search:
    given = {"constraints": constraints(), "seed": seed, "engine": engine(), **more}
    return Search(library, data.X, data.y, settings, **given)


def assert_alike(found: Any, search: Search) -> None:
    """Every decision is the same; sums of floats may differ in their last bit."""
    front, expressions, rows, weights = found
    want = search.run()
    assert expressions == want.expressions
    assert front == [(e.complexity, e.reward, str(e.program)) for e in want.front]
    assert len(rows) == len(want.history)
    for row, known in zip(rows, want.history, strict=True):
        assert known.best is not None
        batch = known.mean_reward, known.top_mean_reward, known.best_reward, known.entropy
        np.testing.assert_allclose(row, (*batch, known.expressions, known.best.reward), rtol=1e-5)
    rate = search.config.learning_rate
    np.testing.assert_allclose(weights, search.state.weights, atol=1e-2 * rate, rtol=1e-4)


CASES: dict[str, tuple[tuple[str, str], SearchConfig]] = {
    "no constants": (("Nguyen-5", "Nguyen-7"), config(2500)),
    "constants": (("Nguyen-5c", "Nguyen-7c"), config(1201)),
    "two columns": (("Nguyen-9", "Nguyen-12"), config(1300)),
    "no recombination": (
        ("Nguyen-5", "Nguyen-7"),
        config(evolution=Evolution(generations=4, pairing=0, elite=0, kept=60)),
    ),
    "many pairs": (
        ("Nguyen-5", "Nguyen-7"),
        config(evolution=Evolution(generations=3, pairing=1, pairs=80, elite=5), batch=20),
    ),
    "untrained": (("Nguyen-5", "Nguyen-7"), config(untrained_share=0.9)),
    "vanilla": (("Nguyen-5", "Nguyen-7"), config(objective=VanillaPolicyGradient())),
    "queue": (("Nguyen-5", "Nguyen-7"), config(objective=WholeQueue(5))),
    "wide": (("Nguyen-5", "Nguyen-7"), config(objective=RiskSeeking(0.3))),
}


@pytest.mark.parametrize("case", mostly_slow(CASES, "constants", "many pairs"))
def test_each_search_is_that_of_the_host(case: str) -> None:
    names, settings = CASES[case]
    library, tables = problems.load(names[0]).library(), [table(name) for name in names]
    runs = made(library, tables, settings, 3)
    slots = [runs.start(seed, seed % 2) for seed in range(3)]
    found = finished(runs)
    for seed, slot in enumerate(slots):
        assert len(found[slot][2]) > 2  # iterations
        assert_alike(found[slot], alone(library, tables[seed % 2], settings, seed))


@pytest.fixture
def few_mates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recombination has to leave out most of the programs."""
    for module in (evolution, evolving):
        monkeypatch.setattr(module, "WHOLES", 10)
        monkeypatch.setattr(module, "PARTS", 30)
    monkeypatch.setattr(evolving, "_MATES", 40)


@pytest.mark.usefixtures("few_mates")
@pytest.mark.parametrize("name", ["Nguyen-5", "Nguyen-5c", "Nguyen-12"])
def test_the_mates_are_those_of_the_host(name: str) -> None:
    library, settings = problems.load(name).library(), config()
    runs = made(library, [table(name)], settings, 2)
    for seed in range(2):
        runs.start(seed, 0)
    found = finished(runs)
    for seed in range(2):
        assert_alike(found[seed], alone(library, table(name), settings, seed))


def test_a_search_is_the_same_beside_others_and_in_a_used_slot() -> None:
    library, tables = problems.load("Nguyen-5").library(), [table("Nguyen-5"), table("Nguyen-7")]
    settings = config(900)
    one, many = made(library, tables, settings, 1), made(library, tables, settings, 3)
    results = []
    for seed in (5, 3, 5):  # one after another in one slot
        one.start(seed, 1)
        results.append(finished(one)[0])
    slots = [many.start(seed, at) for seed, at in ((4, 0), (5, 1), (5, 0))]
    beside = finished(many)[slots[1]]
    for other in (results[2], beside):
        assert other[:2] == results[0][:2]
        np.testing.assert_array_equal(other[2], results[0][2])
        np.testing.assert_array_equal(other[3], results[0][3])
    assert results[1][0] != results[0][0]


# --- proposals


def proposing(name: str, settings: SearchConfig, seed: int, **more: Any) -> Search:
    library, data = problems.load(name).library(), table(name)
    options = {"reward": "inverse_nrmse", "threads": 1, "engine": engine(), "seed": seed}
    proposals = proposals_for("hybrid", library, data, settings, options)
    assert proposals is not None
    assert not proposals.searches
    return alone(library, data, settings, seed, proposals=proposals, **more)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Nguyen-1", "Nguyen-5", "Nguyen-8c", "Jin-6"])
def test_proposals_join_the_first_batch_as_on_the_host(name: str) -> None:
    library, settings = problems.load(name).library(), config(2000)
    proposed = Proposed(*proposing(name, settings, 0).first_proposals())
    runs = made(library, [table(name)], settings, 2, proposed=[proposed])
    for seed in range(2):
        runs.start(seed, 0)
    found = finished(runs)
    for seed in range(2):
        assert_alike(found[seed], proposing(name, settings, seed))
    known = {"Nguyen-1": (6, 6), "Nguyen-5": (0, 0), "Nguyen-8c": (6, 6)}
    if name in known:
        assert (proposed.expressions, len(proposed.batch.programs)) <= known[name]
    else:
        assert proposed.expressions > 800  # fits of candidates that come near count too


def test_a_sample_that_is_exact_ends_the_evolution_and_needs_no_proposals() -> None:
    library = problems.load("Nguyen-1").library()
    x = np.linspace(0.1, 1.0, 20)
    data = Data.checked(x[:, None], x + np.sin(x), ["x"])
    settings = config(400, batch=200)
    options = {"reward": "inverse_nrmse", "threads": 1}
    more = {"proposals": proposals_for("hybrid", library, data, settings, options)}
    proposed = Proposed(*alone(library, data, settings, 0, **more).first_proposals())
    assert proposed.expressions > 0
    runs = made(library, [data], settings, 2, proposed=[proposed])
    seeds = {0: [200.0 + proposed.expressions, 1.0], 2: [200.0, 1.0]}  # the second one samples it
    for seed in seeds:
        runs.start(seed, 0)
    found = finished(runs)
    for slot, (seed, first) in enumerate(seeds.items()):
        assert found[slot][2][0][4:].tolist() == first  # nothing was bred in the first iteration
        assert_alike(found[slot], alone(library, data, settings, seed, **more))


def test_a_search_asks_about_what_was_proposed() -> None:
    settings = config(2000)
    proposed = Proposed(*proposing("Nguyen-1", settings, 0).first_proposals())
    library = problems.load("Nguyen-1").library()
    runs = made(library, [table("Nguyen-1")], settings, 1, ask=1 - 1e-9, proposed=[proposed])
    slot = runs.start(0, 0)
    (standing,) = runs.advance(3)
    assert (standing.asks, standing.iterations, standing.ended) == (True, 1, False)
    assert standing.expressions == 50 + proposed.expressions
    best = runs.front(slot).best
    assert best is not None
    assert best.program in [entry.program for entry in proposed.front]


# --- many threads


@pytest.mark.slow
@pytest.mark.usefixtures("few_mates")
def test_many_threads_take_the_same_decisions() -> None:
    library, data = problems.load("Nguyen-5c").library(), table("Nguyen-5c")
    settings = config(
        90, 16, evolution=Evolution(generations=2, pairing=2, pairs=8, elite=5, kept=4)
    )
    runs = made(library, [data], settings, 2, on=engine(threaded=True))
    for seed in (0, 1):
        runs.start(seed, 0)
    found = finished(runs)
    for seed in (0, 1):
        want = alone(library, data, settings, seed).run()
        front, expressions, rows, _ = found[seed]
        assert expressions == want.expressions
        assert [row[0] for row in front] == [e.complexity for e in want.front]
        np.testing.assert_allclose([row[1] for row in front], [e.reward for e in want.front])
        np.testing.assert_allclose(rows[:, 0], [row.mean_reward for row in want.history], rtol=1e-3)


# --- what cannot be


def test_what_cannot_run_on_a_device_is_said() -> None:
    library = problems.load("Nguyen-5").library()
    rules = ConstraintSet(library, constraints())

    def said(rows: int = 20, allowed: ConstraintSet = rules, **changes: Any) -> str:
        return str(why_not(config(**changes), REWARD, allowed, rows))

    assert said() == said(rows=256) == "None"
    assert why_not(presets.hybrid(), REWARD, rules, 20) is None
    assert "with 257 rows programs race" in said(rows=257)
    assert said(rows=257, racing=None) == said(rows=257, racing=Racing(rows=100)) == "None"
    assert "one long evolution" in said(evolution=Evolution(continues=True))
    assert f"more than {RECENT} generations" in said(evolution=Evolution(generations=23))
    assert said(evolution=Evolution(generations=22)) == "None"
    assert "more than 8192 programs" in said(expressions=10_000, batch=9000)
    assert "a clock" in said(max_seconds=3.0)
    assert "a wanted reward" in said(stop_reward=0.9)
    long = ConstraintSet(library, [Length(1, LONGEST + 1)])
    assert f"more than {LONGEST} tokens" in said(allowed=long)
    assert "without evolution" in said(evolution=None)
    with pytest.raises(InputError, match="cannot run wholly on a GPU: one long evolution"):
        made(library, [table("Nguyen-5")], config(evolution=Evolution(continues=True)), 1)


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed")
@pytest.mark.parametrize("name", ["Nguyen-5", "Nguyen-12", "Nguyen-5c"])
def test_the_kernels_are_cuda(name: str) -> None:
    library = problems.load(name).library()
    rules = ConstraintSet(library, constraints())
    tables = device_rules(rules.tables)
    assert tables is not None
    constant = -1 if library.constant_id is None else library.constant_id
    sizes = (most_constants(rules), 40, span(Evolution(), 1000))
    assert nvrtc.compile_errors(evolution_source(tables, constant, *sizes)) == ""
