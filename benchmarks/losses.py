"""What does another row loss cost?  Errors and fits of constants by each, beside the squared error.

    python benchmarks/losses.py [--rows 20,2000] [--repeats 5]

The same programs on the same rows on one thread; the least seconds of the processor of some
repeats, as a ratio to those of the squared error in the same run.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from symseek import FitConfig, Library, Program, Programs
from symseek.engines.interface import engine_named
from symseek.losses import ABSOLUTE, SQUARED, Loss

LIBRARY = Library(["add", "mul", "div", "sin", "exp", "const"], variables=["x"])
FORMULAS = ("1.5*x + 0.3", "1.1*sin(0.9*x)", "exp(0.2*x)/(1.0 + 0.5*x)", "0.7*x*x + sin(1.3*x)")
LOSSES = {"squared": SQUARED, "absolute": ABSOLUTE, "huber": Loss("huber", 0.5)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="20,2000")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    batch = Programs.from_list([Program.parse(each, LIBRARY) for each in FORMULAS] * 50)
    print("seconds of the processor, as a ratio to the squared error's")
    print(f"{'rows':>8}{'loss':>12}{'errors':>10}{'fits':>10}")
    for rows in map(int, options.rows.split(",")):
        least: dict[str, tuple[float, float]] = {}
        for _ in range(options.repeats):
            for name, loss in LOSSES.items():
                now = seconds(batch, rows, loss)
                before = least.get(name, now)
                least[name] = min(before[0], now[0]), min(before[1], now[1])
        for name, (errors, fits) in least.items():
            base = least["squared"]
            print(f"{rows:>8,}{name:>12}{errors / base[0]:>10.2f}{fits / base[1]:>10.2f}")
    return 0


def seconds(batch: Programs, rows: int, loss: Loss) -> tuple[float, float]:
    """Of grading a batch, and of five steps of fitting its constants."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 3.0, (rows, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=rows)
    evaluator = engine_named("native").evaluator(LIBRARY, X, y, cache=0, losses=(loss,))
    repeats = max(1, 20_000 // rows)
    began = time.process_time()
    for _ in range(repeats):
        evaluator.errors(batch)
    graded = time.process_time()
    for _ in range(max(1, repeats // 10)):
        evaluator.fit(batch, FitConfig("least_squares", restarts=0, max_steps=5))
    return graded - began, time.process_time() - graded


if __name__ == "__main__":
    raise SystemExit(main())
