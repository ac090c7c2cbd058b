"""How fast is the GPU engine beside the native one?  Programs sampled, evaluated and fitted.

    python benchmarks/gpu.py [--rows 20,200,2000,20000,1000000] [--constants 1,2,3,4,5,6]

Both engines do the same work in the same run: programs of the same kind on the same rows, the
native engine on one thread and on all. Numbers are programs a second, and how many times one core.
"Sampled" are a thousand programs of each of many policies; "fitted" are programs with so many
constants, from starts of 1, by least squares with 15 steps at most, as in a fit. Every figure is
the best of three, or the first where it takes seconds, without the time to compile. A node counts
as one operation in the share of the card's peak, though a sine takes dozens, so that share is a
lower bound.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from symseek import ConstraintSet, FitConfig, Library, Programs, paper_constraints
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.cuda.evaluator import Batch, Sums
from symseek.engines.native import NativeEngine
from symseek.policy import PolicyWeights

OPERATORS = ["add", "sub", "mul", "div", "sin", "cos", "exp", "log"]
KOZA = Library(OPERATORS, variables=["x", "y"])
FITTED = Library([*OPERATORS, "const"], variables=["x", "y"])
FIT = FitConfig("least_squares", restarts=0, max_steps=15)
CONSTANTS = 6  # at most
MOST = 40_000  # programs of a batch at most
SECONDS = 0.5  # that a measurement should take at least on each side
LONG = 2.0  # a part of it that takes so many is enough
FLOAT64_PEAK = 34e12  # operations a second of an H200, by its data sheet


def rate(work: Callable[[], int], repeats: int = 3) -> float:
    """Programs a second, the best of some repeats; work that takes long is done once."""
    best = 0.0
    for _ in range(repeats):
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < SECONDS / repeats:
            count += work()
        took = time.perf_counter() - start
        best = max(best, count / took)
        if took > LONG:
            break
    return best


def warm_rate(work: Callable[[], int]) -> float:
    """The same, without what the first time takes to compile."""
    work()
    return rate(work)


def programs(library: Library, count: int, constants: int | None = None) -> Programs:
    """Programs as a policy writes them that has not learnt, valid on positive numbers."""
    return _drawn(library, constants)[:count]


@cache
def _drawn(library: Library, constants: int | None) -> Programs:
    rules = ConstraintSet(library, paper_constraints(constants=CONSTANTS))
    policy = NativeEngine(os.cpu_count() or 1).policy(rules, 32)
    weights = PolicyWeights.start(len(library), 32, seed=0).flat
    X = table(20)[0]
    valid = NativeEngine(1).evaluator(library, X, np.zeros(len(X)))
    found: list[Programs] = []
    have, iteration = 0, 0
    while have < MOST:
        drawn = policy.sample(weights, 0, iteration, 20_000).programs
        iteration += 1
        keep = valid.errors(drawn).ok
        if constants is not None:
            keep &= (drawn.tokens == library.constant_id).sum(axis=1) == constants
        found.append(drawn[np.flatnonzero(keep)])
        have += len(found[-1])
    return Programs.concatenate(found)


def table(rows: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    X = random.uniform(0.5, 2.0, (rows, 2))
    return X, 2.5 * np.sin(1.3 * X[:, 0]) + X[:, 1] ** 2 / 3


class Measured:
    """The lines of the table."""

    def __init__(self, cores: int) -> None:
        self.head = ["", "rows", "GPU", "one core", f"{cores} cores", "GPU / one core", "of peak"]
        self.rows: list[list[str]] = []

    def add(self, what: str, rows: int, gpu: float, one: float, all_: float, nodes: float) -> None:
        share = f"{100 * gpu * rows * nodes / FLOAT64_PEAK:.1f} %" if nodes else ""
        numbers = [f"{each:,.0f}" for each in (gpu, one, all_)]
        self.rows.append([what, f"{rows:,}" if rows else "", *numbers, f"{gpu / one:,.0f}", share])
        print(" | ".join(self.rows[-1]), flush=True)

    def markdown(self) -> str:
        lines = [self.head, ["---", *["---:"] * (len(self.head) - 1)], *self.rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def sampled(engine: CudaEngine, natives: list[NativeEngine], into: Measured, runs: int) -> None:
    rules = ConstraintSet(KOZA, paper_constraints())
    kernels, xp = engine.policy_kernels(rules, 32), engine.device.xp
    assert kernels is not None
    batch, width = 1000, rules.max_length
    weights = np.stack([PolicyWeights.start(len(KOZA), 32, seed).flat for seed in range(runs)])
    tokens = xp.empty((runs, batch, width), dtype=np.int16)
    lengths, entropy = xp.empty((runs, batch), np.int32), xp.empty((runs, batch), np.float32)
    given = xp.asarray(weights), xp.arange(runs, dtype=np.uint64), xp.zeros(runs, np.int32), None

    def on_device() -> int:
        kernels.sample(*given, batch, tokens, lengths, entropy)
        engine.device.get(lengths[:1, :1])
        return runs * batch

    def on_host(native: NativeEngine) -> Callable[[], int]:
        policy = native.policy(rules, 32)
        return lambda: len(policy.sample(weights[0], 0, 0, 4000).programs)

    into.add("sampled", 0, warm_rate(on_device), *(rate(on_host(each)) for each in natives), 0.0)


def evaluated(engine: CudaEngine, natives: list[NativeEngine], into: Measured, rows: int) -> None:
    X, y = table(rows)
    count = int(np.clip(2e9 / rows, 2_000, 400_000))
    batch = programs(KOZA, count)
    on = engine.evaluator(KOZA, X, y)
    copies = -(-count // len(batch))
    whole = Programs.concatenate([batch] * copies)
    given = on._batch(whole)
    sums = Sums.empty(engine.device, len(whole))

    def on_device() -> int:
        on.launch_errors(given, sums)
        engine.device.get(sums.ok[:1])
        return len(whole)

    few = batch[: int(np.clip(1e8 / rows, 50, len(batch)))]

    def on_host(native: NativeEngine) -> Callable[[], int]:
        evaluator = native.evaluator(KOZA, X, y, cache=0)
        return lambda: len(evaluator.errors(few).ok)

    nodes = float(batch.lengths.mean())
    hosts = (rate(on_host(each)) for each in natives)
    into.add("evaluated", rows, warm_rate(on_device), *hosts, nodes)


def fitted(
    engine: CudaEngine, natives: list[NativeEngine], into: Measured, rows: int, constants: int
) -> None:
    X, y = table(rows)
    count = int(np.clip(4e8 / rows, 1_000, MOST))
    batch = programs(FITTED, count, constants)
    scale = float(rows * y.var())
    on = engine.evaluator(FITTED, X, y)
    start = on._batch(batch)
    scales = engine.device.xp.full(1, scale)
    status = engine.device.xp.empty(count, dtype=np.uint8)
    sums = Sums.empty(engine.device, count)

    def on_device() -> int:
        given = Batch(start.tokens, start.lengths, start.constants.copy(), start.per_run)
        on.launch_fit(given, FIT, scales, 0.5, status, sums)
        engine.device.get(sums.ok[:1])
        return count

    few = batch[: int(np.clip(4e6 / rows, 32, count))]

    def on_host(native: NativeEngine) -> Callable[[], int]:
        evaluator = native.evaluator(FITTED, X, y, cache=0)
        return lambda: len(evaluator.fit(few, FIT, scale, 0.5).status)

    name = f"fitted, {constants} constant{'s' * (constants > 1)}"
    into.add(name, rows, warm_rate(on_device), *(rate(on_host(each)) for each in natives), 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="20,200,2000,20000,1000000")
    parser.add_argument("--runs", type=int, default=1200, help="policies that are sampled from")
    parser.add_argument("--constants", default="1,2,3,4,5,6", help="how many, in programs fitted")
    parser.add_argument("--markdown", type=Path, help="where to write the table")
    options = parser.parse_args()
    cores = os.cpu_count() or 1
    engine, natives = CudaEngine(), [NativeEngine(1), NativeEngine(cores)]
    into = Measured(cores)
    print(engine.device.name, "and", cores, "cores")
    print(" | ".join(into.head))
    sampled(engine, natives, into, options.runs)
    for rows in [int(each) for each in options.rows.split(",")]:
        evaluated(engine, natives, into, rows)
        for constants in options.constants.split(","):
            fitted(engine, natives, into, rows, int(constants))
    if options.markdown:
        options.markdown.write_text(into.markdown())


if __name__ == "__main__":
    main()
