"""How often do 95 % intervals hold what they say they do?

    python benchmarks/coverage.py [--tables 1000] [--level 0.95] [--seed 0]

Each table is made by one of ten laws with noise, a twentieth of the target's spread, and has 10 to
200 rows. The numbers of the law's own form are fitted to it, as a fit does once it has found the
form, and judged as those of a fit are. "numbers" is the part of the true numbers in their
intervals, "bent" the part of the intervals that came from the profile of the squares, "rows" the
part of 20 new rows a table in the intervals of their predictions. An interval that one side of the
rows does not bound counts as "open". The last column has seconds a table.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from symseek import FitConfig, Program, fit_constants
from symseek.data import Data
from symseek.model import full_library
from symseek.programs import Programs
from symseek.uncertainty.bands import band
from symseek.uncertainty.distributions import student
from symseek.uncertainty.numbers import judged

ROWS = (10, 20, 50, 200)
NOISE = 0.05  # of the spread of the target
NEW = 20  # rows
# An exponent of a half or a third is no number to fit, nor is 1.
LAWS = [
    "1.7*x + 0.6",
    "0.8*x**2 - 1.3*z + 0.45",
    "2.3*exp(-0.9*x)",
    "2.1*exp(-1.4*x) + 0.7*z",
    "1.9*x/(0.8 + x)",
    "1.6*x**1.27*z**0.61",
    "1.2*sin(2.3*x + 0.4)",
    "0.9*log(1.3*x + 0.7*z)",
    "2.6/(1 + exp(1.7 - 1.9*x))",
    "sqrt(0.6*x**2 + 1.9*z)",
]
LIBRARY = full_library(["x", "z"])


@dataclass
class Counts:
    """What was counted of some tables."""

    numbers: int = 0
    held: int = 0
    bent: int = 0
    unbounded: int = 0
    unknown: int = 0
    rows: int = 0
    rows_held: int = 0
    tables: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        def part(count: int, of: int) -> str:
            return f"{100 * count / of:5.1f} %" if of else "    - "

        error = 100 * math.sqrt(0.95 * 0.05 / self.numbers) if self.numbers else math.nan
        cells = [
            f"{self.tables:6}",
            f"{part(self.held, self.numbers)} ± {error:.1f}",
            part(self.bent, self.numbers),
            part(self.unbounded, self.numbers),
            part(self.unknown, self.numbers + self.unknown),
            part(self.rows_held, self.rows),
            f"{self.seconds / max(self.tables, 1):.4f}",
        ]
        return "  ".join(cells)


def one(law: Program, rows: int, level: float, seed: list[int], counts: list[Counts]) -> None:
    """Make a table of a law, and count what its intervals hold."""
    draw = np.random.default_rng(seed)
    X, new = draw.uniform(0.2, 3.0, (rows, 2)), draw.uniform(0.2, 3.0, (NEW, 2))
    true, wanted = law.evaluate(X), law.evaluate(new)
    noise = NOISE * float(law.evaluate(draw.uniform(0.2, 3.0, (1000, 2))).std())
    y = true + noise * draw.normal(size=rows)
    there = wanted + noise * draw.normal(size=NEW)
    config = FitConfig("least_squares", restarts=0, rescue=False, max_steps=1000)
    batch = Programs.from_list([law])
    fixed = np.array([[value == 1.0 for value in law.constants]])
    program = fit_constants(batch, X, y, config, fixed=fixed).programs[0]
    began = time.perf_counter()
    (found,) = judged([program], [program], Data.checked(X, y, ["x", "z"]))
    seconds = time.perf_counter() - began
    for count in counts:
        count.tables += 1
        count.seconds += seconds
    for value, number in zip(law.constants, found.numbers, strict=True):
        low, high, error = number.low, number.high, number.standard_error
        if value == 1.0:
            continue
        for count in counts:
            if low is None or high is None or error is None:
                count.unknown += 1
                continue
            reach = student(0.95, rows - sum(each != 1.0 for each in law.constants)) * error
            count.numbers += 1
            count.held += low <= value <= high
            count.unbounded += math.isinf(low) or math.isinf(high)
            count.bent += abs(high - number.value - reach) > 1e-9 * reach
    if found.certainty is not None:
        low_ends, high_ends = band(program, found.certainty, new, level)
        for count in counts:
            count.rows += NEW
            count.rows_held += int(((low_ends <= there) & (there <= high_ends)).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--level", type=float, default=0.95, help="of the predictions")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    by: dict[str, Counts] = defaultdict(Counts)
    for at in range(options.tables):
        text, rows = LAWS[at % len(LAWS)], ROWS[at // len(LAWS) % len(ROWS)]
        counts = [by["all"], by[f"{rows} rows"], by[text]]
        one(Program.parse(text, LIBRARY), rows, options.level, [options.seed, at], counts)
    wide = max(map(len, by))
    head = "tables    numbers        bent      open  unknown     rows  seconds"
    print(f"{'':{wide}}  {head}")
    for name in ["all", *(f"{rows} rows" for rows in ROWS), *LAWS]:
        print(f"{name:{wide}}  {by[name].line()}")


if __name__ == "__main__":
    main()
