"""Who has the law first, on a real table?  Seconds to the exact law, against pyoperon.

    python benchmarks/tables.py [--laws 20] [--limit 60] [--operon-limit 60] [--seed 0] [--core 0]
    python benchmarks/tables.py --rows   # two laws on 100 to 1,000,000 rows
    python benchmarks/tables.py --runs tables.jsonl   # each run a line; a second call continues

Laws of physics, every sixth of the Feynman suite, 2,000 rows without noise; both sides have the
same rows and operators and one thread on one core. symseek is a fit without settings, and its
seconds are those of all of it, until the formulas are told. pyoperon's are those until the law is
first on its front. "Exact": a formula of the front, its numbers fitted again in float64 to the same
rows for both sides, has an NRMSE below 1e-9 on other rows. That fit costs pyoperon no time, and
makes up for its float32. Seconds, the limits too, are those of the processor, which other programs
hardly change. A dash means that the limit passed, or that symseek stopped without the law.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import operon
import others
from symseek import Program
from symseek.jobs.provenance import commit, hardware
from symseek.lab import problems
from symseek.lab.trials.refit import refitted, relative_error
from symseek.regression.regression import Regression
from symseek.settings import Settings

ROWS = 2_000
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
SIZED_LAWS = ("feynman_I_18_4", "feynman_III_4_33")
EVERY = 6  # law of the suite
OTHER_ROWS = 1_000  # on which a formula must be exact
FITTED_TO = 2_000  # rows that numbers are fitted to, at most
EXACT = 1e-9  # NRMSE
NEAR = 0.03  # NRMSE before the numbers are fitted again, of what is worth a fit
OPERON = {
    "defaults": {"optimizer_iterations": 5},
    "best": {
        "objectives": ["r2", "length"],
        "optimizer_iterations": 10,
        "local_search_probability": 0.2,
        "max_length": 30,
    },
}
"""pyoperon's settings; its default is to optimise no coefficient."""
SIDES = ("symseek", *OPERON)


class Table:
    """The rows of a law, and other rows to tell whether a formula is the law."""

    def __init__(self, problem: problems.BenchmarkProblem, rows: int, seed: int) -> None:
        rng = np.random.RandomState(seed)
        columns, truth = len(problem.variables), problem.truth().evaluate
        X = problem.train.draw(columns, rng)
        while len(X) < rows + OTHER_ROWS:
            X = np.concatenate([X, problem.train.draw(columns, rng)])
        self.problem = problem
        self.X, self.y = X[:rows], truth(X[:rows])
        self.other_X = X[rows : rows + OTHER_ROWS]
        self.other_y = truth(self.other_X)
        self.failed: dict[tuple[int, ...], float] = {}  # errors of forms that no fit made exact

    def law_among(self, programs: Sequence[Program], last: bool = True) -> Program | None:
        """The first that is the law, its numbers fitted to the rows again.

        As long as more programs will come, far ones are left out, and so is a form whose error is
        about what it was when a fit did not help: such fits take time.
        """
        for program in programs:
            error = relative_error(program, self.other_X, self.other_y)
            if error < EXACT:
                return program
            if not last and error > min(NEAR, self.failed.get(program.tokens, np.inf) / 2):
                continue
            again = refitted(program, self.X[:FITTED_TO], self.y[:FITTED_TO])
            if relative_error(again, self.other_X, self.other_y) < EXACT:
                return again
            self.failed[program.tokens] = error
        return None


def main() -> int:
    options = parse()
    os.sched_setaffinity(0, {options.core})
    warnings.simplefilter("ignore")
    attention = others.Attention()
    print(header(options), flush=True)
    with attention:
        sizes(options) if options.rows else laws(options)
    attention.warn()
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", type=int, default=20, help="how many; default 20")
    parser.add_argument("--limit", type=float, default=60, help="seconds of a run")
    parser.add_argument("--operon-limit", type=float, help="seconds of pyoperon's, if not the same")
    parser.add_argument("--rows", action="store_true", help="other numbers of rows, two laws")
    parser.add_argument("--runs", type=Path, help="a file that remembers runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    options = parser.parse_args()
    options.operon_limit = options.operon_limit or options.limit
    return options


def header(options: argparse.Namespace) -> str:
    machine = hardware()
    limits = f"{options.limit:g} s, pyoperon {options.operon_limit:g} s"
    lines = [
        f"- commit {commit()[:7]}, {datetime.date.today()}, one core of {machine['cores']} of an"
        f" {machine['cpu']}, pyoperon {version('pyoperon')}",
        f"- at most {limits}; seed {options.seed}; seconds of the processor",
        *(f"- pyoperon, {name}: {told(settings)}" for name, settings in OPERON.items()),
    ]
    return "\n".join(lines)


def told(settings: dict[str, Any]) -> str:
    return ", ".join(f"`{name}={value!r}`" for name, value in settings.items())


def laws(options: argparse.Namespace) -> None:
    """A law a row, the sides as columns."""
    chosen = problems.suite("Feynman")[::EVERY][: options.laws]
    print(f"\n{ROWS:,} rows; seconds to the exact law, a dash where it is not found\n")
    print("| law | | symseek | " + " | ".join(f"pyoperon, {name}" for name in OPERON) + " |")
    print("|---|---|" + "---:|" * (1 + len(OPERON)))
    columns: list[list[float | None]] = []
    for problem in chosen:
        times = row(problem, ROWS, options)
        columns.append(times)
        cells = " | ".join(map(cell, times))
        print(f"| {problem.name[8:]} | `{problem.expression}` | {cells} |", flush=True)
    print(f"| exact | of {len(chosen)} | {' | '.join(map(score, zip(*columns, strict=True)))} |")


def sizes(options: argparse.Namespace) -> None:
    """A law and a number of rows a row."""
    print("\nseconds to the exact law, a dash where it is not found\n")
    print("| law | rows | symseek | " + " | ".join(f"pyoperon, {name}" for name in OPERON) + " |")
    print("|---|---:|" + "---:|" * (1 + len(OPERON)))
    for name in SIZED_LAWS[: options.laws]:
        for rows in SIZES:
            times = row(problems.load(name), rows, options)
            print(f"| {name[8:]} | {rows:,} | {' | '.join(map(cell, times))} |", flush=True)


def row(
    problem: problems.BenchmarkProblem, rows: int, options: argparse.Namespace
) -> list[float | None]:
    """The seconds of every side; what the file remembers is not run again."""
    lines = options.runs.read_text().splitlines() if options.runs and options.runs.exists() else []
    known = [json.loads(line) for line in lines]
    table, found = Table(problem, rows, options.seed), []
    for side in SIDES:
        limit = options.limit if side == "symseek" else options.operon_limit
        run: dict[str, Any] = {"law": problem.name, "rows": rows, "side": side, "limit": limit}
        run["seed"] = options.seed
        same = [each for each in known if run.items() <= each.items()]
        if same:
            run = same[-1]
        else:
            run |= {"seconds": seconds_of(side, table, limit, options.seed), "commit": commit()[:7]}
            if options.runs:
                with options.runs.open("a") as file:
                    file.write(json.dumps(run) + "\n")
        found.append(run["seconds"])
    return found


def seconds_of(side: str, table: Table, limit: float, seed: int) -> float | None:
    """The seconds of one side until it has the law, if it has."""
    if side == "symseek":
        return fit(table, limit, seed)
    table.failed.clear()
    settings = OPERON[side]
    return operon.seconds_to_law(table.X, table.y, table.law_among, settings, limit, seed).seconds


def fit(table: Table, limit: float, seed: int) -> float | None:
    """The seconds of a fit without settings, if the law is on its front."""
    settings = Settings(max_seconds=None, seed=seed, threads=1)
    start = time.process_time()
    regression = Regression(table.X, table.y, table.problem.variables, settings)
    regression.run(callback=lambda now: time.process_time() - start > limit)
    model = regression.model()
    seconds = time.process_time() - start
    law = table.law_among([each.program for each in model.formulas])
    return None if law is None else seconds


def cell(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.2f}"


def score(times: Sequence[float | None]) -> str:
    """How many, and the median of the seconds, those without the law being the longest."""
    found = sum(each is not None for each in times)
    middle = statistics.median(np.inf if each is None else each for each in times)
    return f"{found}" + (f", median {middle:.2f}" if np.isfinite(middle) else "")


if __name__ == "__main__":
    raise SystemExit(main())
