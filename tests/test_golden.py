"""Stored runs: the same seed gives the same bits, today and next year.

A dozen short runs of every method, with and without constants, are kept as their fronts and as
digests of their rewards and learned weights. Their targets are made by addition and multiplication
alone, which round alike on every machine.

    python tests/test_golden.py            compare every run with what is stored, as a table
    python tests/test_golden.py --write    store them anew, after a change meant to alter results
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import mostly_slow
from symseek import (
    FitConfig,
    Library,
    Novelty,
    PolicyConfig,
    RiskSeeking,
    Search,
    paper_constraints,
    presets,
)
from symseek.lab.baselines import GeneticProgramming, GPConfig

STORED = Path(__file__).parent / "golden" / "runs.json"

OPERATORS = ["add", "sub", "mul", "div", "sin", "cos", "exp", "log"]
X = np.random.RandomState(11).uniform(-1, 1, (20, 2))
PLAIN = X[:, 0] * X[:, 0] * X[:, 0] + X[:, 0] * X[:, 1] - X[:, 1]
SCALED = 3.39 * X[:, 0] * X[:, 0] - 1.75 * X[:, 1] + 0.5


def search(method: str, constants: bool, expressions: int, threads: int, **more: Any) -> Search:
    library = Library([*OPERATORS, *(["const"] if constants else [])], variables=["x", "y"])
    settings = {"max_expressions": expressions, **more.pop("settings", {})}
    config = presets.method(method, **settings)
    target = SCALED if constants else PLAIN
    return Search(library, X, target, config, seed=7, threads=threads, **more)


def genetic_programming(constants: bool, threads: int, **settings: Any) -> GeneticProgramming:
    library = Library([*OPERATORS, *(["const"] if constants else [])], variables=["x", "y"])
    config = GPConfig(max_expressions=5_000, **settings)
    target = SCALED if constants else PLAIN
    return GeneticProgramming(library, X, target, config, seed=7, threads=threads)


class NoLeadingSum:
    """A constraint of the caller's own."""

    def __call__(self, partial: Any) -> Any:
        mask = np.ones((len(partial.tokens), len(partial.library)), dtype=bool)
        if partial.length == 0:
            mask[:, partial.library.index("add")] = False
        return mask


def absolute_error(y: Any, values: Any, weights: Any) -> Any:
    return 1 / (1 + np.abs(values - y).max(axis=1))


def short_and_even(programs: Any) -> Any:
    return (programs.lengths % 2 == 0) / programs.lengths


def general_trees(threads: int) -> Search:
    library = Library(["add", "mul", "sin"], variables=["x"])
    config = presets.dsr(max_expressions=5_000)
    return Search.for_programs(library, short_and_even, config, seed=7, threads=threads)


SMALL = {"settings": {"batch_size": 100, "constants": FitConfig(restarts=1, max_steps=60)}}
NOVEL = {"settings": {"objective": Novelty(RiskSeeking(0.1)), "policy": PolicyConfig(hidden=16)}}
OWN = {"constraints": [*paper_constraints(), NoLeadingSum()]}

CASES: dict[str, Callable[[int], Any]] = {
    "dsr": lambda threads: search("dsr", False, 20_000, threads),
    "dsr, constants": lambda threads: search("dsr", True, 6_000, threads),
    "pqt": lambda threads: search("pqt", False, 20_000, threads),
    "pqt, constants": lambda threads: search("pqt", True, 6_000, threads),
    "pqt-whole": lambda threads: search("pqt-whole", False, 20_000, threads),
    "pqt-whole, constants": lambda threads: search("pqt-whole", True, 6_000, threads),
    "vpg": lambda threads: search("vpg", False, 20_000, threads),
    "vpg, constants": lambda threads: search("vpg", True, 6_000, threads),
    "hybrid": lambda threads: search("hybrid", False, 50_000, threads),
    "hybrid, constants": lambda threads: search("hybrid", True, 24_000, threads),
    "evolution": lambda threads: search("evolution", False, 50_000, threads),
    "evolution, constants": lambda threads: search("evolution", True, 24_000, threads),
    "genetic programming": lambda threads: genetic_programming(False, threads),
    "genetic programming, constants": lambda threads: genetic_programming(True, threads),
    "genetic programming, constraints": lambda threads: genetic_programming(
        False, threads, constraints=True
    ),
    "novelty": lambda threads: search("dsr", False, 10_000, threads, **NOVEL),
    "own constraint": lambda threads: search("hybrid", False, 30_000, threads, **OWN),
    "own reward, constants": lambda threads: search(
        "dsr", True, 300, threads, reward=absolute_error, **SMALL
    ),
    "absolute error, constants": lambda threads: search(
        "dsr", True, 300, threads, reward="inverse_mae", **SMALL
    ),
    "general trees": general_trees,
}


def digest(values: Iterable[float]) -> str:
    return hashlib.sha256(np.array(list(values), dtype=np.float64).tobytes()).hexdigest()[:16]


def learned(run: Any) -> str | None:
    """The policy's weights and Adam's moments, as a checkpoint holds them."""
    if not isinstance(run, Search):
        return None
    arrays = (run.state.weights, run.state.adam.mean, run.state.adam.variance)
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


def record(case: str, threads: int) -> dict[str, Any]:
    run = CASES[case](threads)
    result = run.run()
    history = result.history
    return {
        "expressions": result.expressions,
        "front": [
            [entry.program.preorder(), float(entry.reward).hex(), entry.complexity, entry.found_at]
            for entry in result.front
        ],
        "rewards": digest(now.mean_reward for now in history),
        "entropies": digest(now.entropy for now in history),
        "quantiles": digest(value for now in history for value in now.quantiles),
        "weights": learned(run),
    }


@pytest.mark.parametrize("case", CASES)
def test_the_stored_run_comes_back(case: str) -> None:
    assert record(case, 1) == json.loads(STORED.read_text())[case]


THREADED = ("hybrid, constants", "genetic programming, constants")  # all that threads do


@pytest.mark.parametrize("case", mostly_slow(CASES, *THREADED))
def test_the_stored_run_comes_back_from_two_threads(case: str) -> None:
    assert record(case, 2) == json.loads(STORED.read_text())[case]


def compare() -> bool:
    """Print a line for each run; true if all are as stored."""
    stored, same = json.loads(STORED.read_text()), True
    parts = ("front", "rewards", "entropies", "quantiles", "weights")
    print(f"{'run':<34}threads  expressions  " + "  ".join(parts))
    for case in CASES:
        for threads in (1, 2):
            now = record(case, threads)
            equal = {part: now[part] == stored[case][part] for part in parts}
            same &= all(equal.values())
            marks = [
                ("–" if now[part] is None else "same" if equal[part] else "OTHER").ljust(len(part))
                for part in parts
            ]
            print(f"{case:<34}{threads:>7}  {now['expressions']:>11,}  {'  '.join(marks)}")
    return same


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        runs = {case: record(case, 1) for case in CASES}
        STORED.write_text(json.dumps(runs, indent=1) + "\n")
    sys.exit(not compare())
