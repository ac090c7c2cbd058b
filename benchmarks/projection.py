"""Does variable projection find the best constants more often?  Least squares against it.

    python benchmarks/projection.py [--starts 500] [--seed 0]

Each family is a formula with planted constants, on 60 rows with noise of a hundredth of the
target's spread. Fits begin at random places: constants of either sign, sizes from 0.1 to 10; those
where the formula is invalid are left out. "found" is the share of the starts that end at the best
minimum that any fit knows, to a millionth of its loss. "steps" is the mean number of times that a
fit measures the loss until it says that it has converged, at most 100. "us" is the time of a fit,
one thread.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from symseek import FitConfig, FitStatus, Library, Program, Programs
from symseek.engines.interface import Evaluator, engine_named

LIBRARY = Library(["add", "sub", "mul", "div", "pow", "sin", "exp", "log", "tanh", "const"], ["x"])
ENGINE = engine_named("native")
CLOSE = 1e-6  # losses that differ by less, relatively, are of the same minimum
MOST = 100
METHODS = ("least_squares", "projected")

FAMILIES = [
    "2.5*exp(-1.3*x) + 0.6",
    "1.5*x*exp(-0.7*x*x) + 0.4*x",
    "2*exp(-0.5*x) + 3*exp(-2.5*x)",
    "2.2*exp(-0.5*x)*sin(1.4*x)",
    "0.7*x**1.6 + 0.5",
    "1.4*log(x + 2.3) - 0.6",
    "3.2/(1.7 + x)",
    "1.2*x/(0.9 + x*x) + 0.3",
    "1.6*tanh(0.8*x - 0.5) + 0.2",
    "1.8*sin(1.2*x) + 0.3*x",
    "1.8*sin(2.4*x + 0.4) + 0.3",
    "sin(1.2*x) + exp(-0.8*x)",  # no constant is linear
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{'':34}{'found, 15 steps':>18}{'found, 100 steps':>18}{'steps':>14}{'us':>14}")
    print(f"{'':34}" + f"{'plain':>10}{'proj.':>8}" * 2 + f"{'plain':>7}{'proj.':>7}" * 2)
    rows = [family(text, options) for text in FAMILIES]
    for text, row in zip([*FAMILIES, "all"], [*rows, np.mean(rows, axis=0)], strict=True):
        found = "".join(f"{row[i]:>{10 - 2 * (i % 2)}.1%}" for i in range(4))
        print(f"{text:34}{found}" + "".join(f"{each:>7.1f}" for each in row[4:]))


def family(text: str, options: argparse.Namespace) -> list[float]:
    """Shares found after 15 and 100 steps, steps and microseconds, a pair of each."""
    rng = np.random.default_rng(options.seed)
    x = np.linspace(0.1, 4, 60)[:, None]
    truth = Program.parse(text, LIBRARY)
    y = truth.evaluate(x)
    y = y + 0.01 * y.std() * rng.normal(size=len(y))
    on = ENGINE.evaluator(LIBRARY, x, y, cache=0)
    starts = random_starts(truth, options.starts, rng)
    starts = starts[np.flatnonzero(on.errors(starts).ok)]
    best = on.fit(Programs.from_list([truth]), FitConfig("least_squares")).errors.sums[0, 0]
    losses = {
        (method, steps): on.fit(starts, config(method, steps)).errors.sums[0]
        for steps in (15, MOST)
        for method in METHODS
    }
    best = min(best, *(each.min() for each in losses.values()))
    return [
        *(float((each <= best * (1 + CLOSE)).mean()) for each in losses.values()),
        *(steps_taken(on, starts, method) for method in METHODS),
        *(microseconds(on, starts, method) for method in METHODS),
    ]


def config(method: str, steps: int) -> FitConfig:
    return FitConfig(method, restarts=0, max_steps=steps, rescue=False)


def random_starts(truth: Program, count: int, rng: np.random.Generator) -> Programs:
    shape = (count, len(truth.constants))
    places = rng.choice([-1, 1], shape) * 10 ** rng.uniform(-1, 1, shape)
    return Programs.from_list([Program(LIBRARY, truth.tokens, tuple(each)) for each in places])


def steps_taken(on: Evaluator, starts: Programs, method: str) -> float:
    """A fit does the same whatever its limit, up to there: so limits tell where it ends."""
    steps, left = 0, np.arange(len(starts))
    for most in range(1, MOST + 1):
        steps += len(left)
        status = on.fit(starts[left], config(method, most)).status
        left = left[status == FitStatus.LIMIT]
    return steps / len(starts)


def microseconds(on: Evaluator, starts: Programs, method: str) -> float:
    taken = []
    for _ in range(5):
        begin = time.process_time()
        on.fit(starts, config(method, MOST))
        taken.append(time.process_time() - begin)
    return 1e6 * min(taken) / len(starts)


if __name__ == "__main__":
    main()
