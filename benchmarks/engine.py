"""How fast is the whole loop?  Expressions a second against pyoperon's evaluations a second.

    python benchmarks/engine.py [--expressions 2000000] [--repeats 3] [--problems Nguyen-4,Nguyen-5]

Ours is the paper's setting (risk-seeking policy gradient, batches of 1,000, an LSTM of 32) without
a stop: sampling under constraints, evaluation in float64 and training. The policy's expressions
change in length as it learns, so a rate is over a whole run of the paper's budget, two million
expressions. pyoperon (float32) evolves a population of 1,000, at most 30 nodes, on the same 20
points with the same operators, without coefficient optimisation; its rate is over as many
evaluations. Both are pinned to the same core and take turns; ratios are medians over rounds. Two
threads then get two cores.
"""

from __future__ import annotations

import argparse
import os
import statistics
from dataclasses import replace

import others
from symseek import Search, presets
from symseek.lab import problems

PROBLEMS = ("Nguyen-4", "Nguyen-5", "Nguyen-8", "Nguyen-12")
BARS = {"Nguyen-4": 1.0, "Nguyen-5": 1.5}  # times pyoperon's rate, one thread
SCALING_BAR = 1.7  # two threads over one
STAGES = ("sample", "evaluate", "train", "other")


def main() -> int:
    options = parse()
    cores = sorted(os.sched_getaffinity(0))
    print(f"{options.expressions:,} expressions a run, {options.repeats} rounds, core {cores[0]}")
    print("ours: sampling, evaluation (float64) and training; pyoperon: evolution (float32)\n")
    attention = others.Attention()
    passed = [
        compare(problem, cores, options, attention)
        for problem in problems.select(*options.problems)
    ]
    attention.warn()
    return 0 if all(passed) else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--expressions", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--problems", type=lambda text: text.split(","), default=list(PROBLEMS))
    return parser.parse_args()


def compare(
    problem: problems.BenchmarkProblem,
    cores: list[int],
    options: argparse.Namespace,
    attention: others.Attention,
) -> bool:
    """One problem: both sides in turns on one core, then ours on two; whether the bars are met."""
    alone: list[float] = []
    both: list[float] = []
    theirs: list[float] = []
    lengths: list[float] = []
    shares: dict[str, float] = {}
    search(problem, cores[:1], 20_000, seed=0)  # warm up
    for seed in range(options.repeats):
        with attention:
            rate, shares, length = search(problem, cores[:1], options.expressions, seed)
            evolution = evolve(problem, cores[:1], options.expressions, seed)
        alone.append(rate)
        theirs.append(evolution.rate)
        lengths.append(evolution.mean_length)
        if len(cores) > 1:
            both.append(search(problem, cores[:2], options.expressions, seed)[0])
    print(f"{problem.name}: {problem.expression}")
    print(
        f"  one thread   {statistics.median(alone):>9,.0f} expressions/s, mean length "
        f"{length:.1f}: "
        + ", ".join(f"{stage} {shares[stage]:.0%}" for stage in STAGES if stage in shares)
    )
    print(
        f"  pyoperon     {statistics.median(theirs):>9,.0f} evaluations/s, mean length "
        f"{statistics.median(lengths):.1f} at the end"
    )
    passed = judge("over pyoperon", alone, theirs, BARS.get(problem.name))
    if both:
        print(f"  two threads  {statistics.median(both):>9,.0f} expressions/s")
        passed &= judge("two threads over one", both, alone, SCALING_BAR)
    print(flush=True)
    return passed


def search(
    problem: problems.BenchmarkProblem, cores: list[int], expressions: int, seed: int
) -> tuple[float, dict[str, float], float]:
    """Rate, each stage's share of the time, and the mean length of the sampled expressions."""
    os.sched_setaffinity(0, cores)
    data = problem.data()
    result = Search(
        problem.library(),
        data.X_train,
        data.y_train,
        config=replace(presets.dsr(), max_expressions=expressions, stop_reward=None),
        seed=seed,
        threads=len(cores),
    ).run()
    total = sum(result.timings.values())
    shares = {stage: seconds / total for stage, seconds in result.timings.items()}
    length = statistics.fmean(iteration.mean_length for iteration in result.history)
    return result.expressions / result.seconds, shares, length


def evolve(
    problem: problems.BenchmarkProblem, cores: list[int], evaluations: int, seed: int
) -> others.Evolution:
    os.sched_setaffinity(0, cores)
    data = problem.data()
    return others.operon_evolution(
        data.X_train, data.y_train, problem.operators, evaluations, len(cores), seed + 1
    )


def judge(what: str, ours: list[float], theirs: list[float], bar: float | None) -> bool:
    """Print the median ratio over rounds, and whether it meets the bar where there is one."""
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    if bar is None:
        print(f"  {ratio:.2f} x {what}")
        return True
    print(f"  {ratio:.2f} x {what}  {'PASS' if ratio >= bar else 'FAIL'} (bar {bar})")
    return ratio >= bar


if __name__ == "__main__":
    raise SystemExit(main())
