"""What does it earn to begin with formulas as people write them?  The hybrid from both starts.

    python benchmarks/start.py [--seeds 5] [--jobs 2] [--budget 100000] [--problems Nguyen-5,Jin-6]
    python benchmarks/start.py --idle-columns 10   # with columns that y does not depend on

Both starts run on every problem with the same seeds and budget. A run counts as recovered once a
formula fits exactly (reward above 1 - 1e-9, or 1 - 1e-7 where constants are fitted). Beside that
are shown the first batch's invalid share and mean reward, and in how many pairs of runs with the
same problem and seed the start from formulas was quicker or slower, with p of the sign test.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from symseek import Library, PolicyConfig, Search, presets
from symseek.lab import problems
from symseek.policy import STARTS

PROBLEMS = "Nguyen,Nguyen-altered,Nguyen-c,Jin"


@dataclass(frozen=True)
class Run:
    """One search, and what the policy wrote before it had learnt anything."""

    problem: str
    start: str
    seed: int
    recovered: bool
    expressions: int
    invalid: float  # share of the first batch
    reward: float  # mean over the first batch


def main() -> int:
    options = parse()
    names = [problem.name for problem in problems.select(*options.problems.split(","))]
    jobs = [
        (name, start, seed) for name in names for start in STARTS for seed in range(options.seeds)
    ]
    one = partial(run, budget=options.budget, idle=options.idle_columns)
    head()
    runs: list[Run] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for done in pool.map(one, *zip(*jobs, strict=True)):
            runs.append(done)
            own = [each for each in runs if each.problem == done.problem]
            if len(own) == len(STARTS) * options.seeds:
                row(done.problem, own)
    row("all", runs)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in runs], indent=1))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=int, default=100_000, help="expressions of a run")
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--idle-columns", type=int, default=0, help="columns y does not depend on")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def run(name: str, start: str, seed: int, budget: int, idle: int) -> Run:
    """One search to an exact fit, or to the end of the budget."""
    problem = problems.load(name)
    data = problem.data()
    low, high = data.X_train.min(), data.X_train.max()
    noise = np.random.default_rng(20210).uniform(low, high, (len(data.y_train), idle))
    columns = [*problem.variables, *(f"idle{number}" for number in range(idle))]
    exact = 1 - 1e-7 if problem.constants else 1 - 1e-9
    config = presets.hybrid(
        max_expressions=budget, stop_reward=exact, policy=PolicyConfig(start=start)
    )
    X = np.column_stack([data.X_train, noise])
    search = Search(Library(problem.operators, columns), X, data.y_train, config, seed=seed)
    first = search.grader(search.sample(config.batch_size).programs)
    result = search.run()
    return Run(
        name,
        start,
        seed,
        recovered=result.best is not None and result.best.reward >= exact,
        expressions=result.expressions,
        invalid=float(1 - first.ok.mean()),
        reward=float(first.rewards.mean()),
    )


def head() -> None:
    """The names of the columns, a group of them a start."""
    groups = "".join(f"{start:>36}" for start in STARTS)
    print(f"{'':14}{groups}{'quicker, slower':>18}{'p':>9}")
    print(f"{'':14}" + "  recovered  thousand invalid reward" * len(STARTS))


def row(name: str, runs: Sequence[Run]) -> None:
    """Both starts on one problem, or on all."""
    cells = [cell([each for each in runs if each.start == start]) for start in STARTS]
    print(f"{name:14}" + "".join(cells) + compared(runs), flush=True)


def cell(runs: Sequence[Run]) -> str:
    """Recovered runs, mean thousands of expressions, and the first batch."""
    won = f"{sum(each.recovered for each in runs)}/{len(runs)}"
    spent, invalid, reward = np.mean(
        [(each.expressions / 1000, each.invalid, each.reward) for each in runs], axis=0
    )
    return f"{won:>11}{spent:>10.1f}{invalid:>8.2f}{reward:>7.3f}"


def compared(runs: Sequence[Run]) -> str:
    """Pairs of runs in which the second start was quicker or slower, and the sign test's p."""
    before, after = (
        {(each.problem, each.seed): cost(each) for each in runs if each.start == start}
        for start in STARTS
    )
    change = [after[pair] - before[pair] for pair in before]
    quicker, slower = sum(each < 0 for each in change), sum(each > 0 for each in change)
    p = binomtest(quicker, quicker + slower).pvalue if quicker + slower else 1.0
    return f"{f'{quicker}, {slower}':>18}{p:>9.2g}"


def cost(run: Run) -> float:
    """Expressions to the exact formula; all runs without it are equally bad."""
    return run.expressions if run.recovered else np.inf


if __name__ == "__main__":
    raise SystemExit(main())
