"""How many programs are invalid only if underflow counts, at random and among those learned from.

    python benchmarks/underflow.py

The first table is about random programs of the untrained policy, the second about whole runs of
deep symbolic regression: among the best 5 % of each batch, which alone teach the policy, how many
would be invalid with `SearchConfig(underflow_invalid=True)`. Runs end when they are exact.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import numpy as np

from symseek import Search, presets
from symseek.engines.interface import Evaluator
from symseek.evaluation import Graded
from symseek.lab import problems
from symseek.programs import Programs


class Watched:
    """A grader that also counts, among the best of each batch, what strict evaluation refuses."""

    def __init__(self, search: Search, strict: Evaluator, share: float = 0.05) -> None:
        self.grader, self.strict, self.share = search.grader, strict, share
        self.batches = self.best = self.refused = self.touched = 0
        self.memories = search.grader.memories

    def __call__(self, programs: Programs) -> Graded:
        graded = self.grader(programs)
        threshold = np.quantile(graded.rewards, 1 - self.share, method="higher")
        rows = np.flatnonzero((graded.rewards >= threshold) & graded.ok)
        refused = int((~self.strict.predict(graded.programs[rows]).ok).sum())
        self.batches += 1
        self.best += len(rows)
        self.refused += refused
        self.touched += refused > 0
        return graded


def search_on(name: str, seed: int, expressions: int) -> tuple[Search, Evaluator]:
    problem = problems.load(name)
    X, y, *_ = problem.data()
    config = presets.dsr(max_expressions=expressions, stop_reward=1 - 1e-12)
    search = Search(problem.library(), X, y, config, seed=seed)
    strict = search.engine.evaluator(search.library, X, y, underflow_invalid=True, cache=0)
    return search, strict


def at_random(name: str, count: int) -> None:
    search, strict = search_on(name, 0, count)
    programs = search.policy.sample(search.state.weights, 0, 0, count).programs
    graded = search.grader(programs)
    only = graded.ok & ~strict.predict(graded.programs).ok
    print(f"{name:<12}{count:>9,}{np.mean(~graded.ok):>12.2%}{np.mean(only):>14.2%}", flush=True)


def in_runs(name: str, seeds: Iterable[int], expressions: int) -> None:
    for seed in seeds:
        search, strict = search_on(name, seed, expressions)
        watched = Watched(search, strict)
        search.grader = watched
        result = search.run()
        share = watched.refused / max(1, watched.best)
        print(
            f"{name:<12}{seed:>5}{watched.batches:>9,}{result.best.reward:>9.4f}{watched.best:>9,}"
            f"{watched.refused:>9,}{share:>9.3%}{watched.touched:>10,}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--expressions", type=int, default=500_000, help="of a run, at most")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'problem':<12}{'programs':>9}{'invalid':>12}{'by underflow':>14}")
    for name in ("Jin-2", "Nguyen-7"):
        at_random(name, options.programs)
    print(
        f"\n{'problem':<12}{'seed':>5}{'batches':>9}{'reward':>9}{'best 5%':>9}{'refused':>9}"
        f"{'share':>9}{'batches':>10}"
    )
    for name in ("Nguyen-5", "Nguyen-7", "Nguyen-8", "Nguyen-10c"):
        in_runs(name, range(options.seeds), options.expressions)


if __name__ == "__main__":
    main()
