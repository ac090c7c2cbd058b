"""How much a benchmark's recovery depends on the twenty points that were drawn for it.

    python benchmarks/points.py "Nguyen-2'" "Nguyen-8'" --draws 6 --seeds 10 --jobs 2

Every seed of a benchmark sees the same points, so a rate over a hundred seeds is a rate for these
points. Draw 0 is the benchmark's own; the others come from the same range. The last column is how
likely counts as unequal as these are if the points do not matter.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

import numpy as np

from symseek import Search, presets
from symseek.lab import problems
from symseek.lab.trials.judge import Judge, StopAtRecovery

_SHUFFLES = 20_000


def recovered(name: str, draw: int, expressions: int, seed: int) -> bool:
    """Whether deep symbolic regression finds the formula from one draw of the points."""
    problem = problems.load(name)
    drawn = replace(problem, name=f"{name} draw {draw}") if draw else problem
    X, y, *_ = drawn.data()
    stop = StopAtRecovery(Judge(problem))
    config = presets.dsr(max_expressions=expressions)
    Search(problem.library(), X, y, config, seed=seed).run(callback=stop)
    return stop.recovered_at is not None


def chance(counts: list[int], seeds: int) -> float:
    """How often counts differ at least so much when the runs are dealt out at random."""
    runs = np.zeros(len(counts) * seeds)
    runs[: sum(counts)] = 1
    random, spread = np.random.default_rng(0), np.var(counts)
    dealt = (random.permutation(runs).reshape(len(counts), seeds) for _ in range(_SHUFFLES))
    return float(np.mean([np.var(each.sum(axis=1)) >= spread - 1e-12 for each in dealt]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--max-expressions", type=int, default=2_000_000)
    options = parser.parse_args()
    heads = [f"draw {draw}" for draw in range(options.draws)]
    print(f"{'recovered':<12}" + "".join(f"{head:>8}" for head in heads) + "   of      p")
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for name in options.problems:
            counts = []
            print(f"{name:<12}", end="", flush=True)
            for draw in range(options.draws):
                run = partial(recovered, name, draw, options.max_expressions)
                counts.append(sum(pool.map(run, range(options.seeds))))
                print(f"{counts[-1]:>8}", end="", flush=True)
            print(f"{options.seeds:>5}{chance(counts, options.seeds):>7.3f}", flush=True)


if __name__ == "__main__":
    main()
