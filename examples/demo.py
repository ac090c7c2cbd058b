"""What symseek does, in half a minute: a real table, a noisy law, and a race between methods.

    python examples/demo.py

The runs go to build/demo, each a folder with a report to open in a browser.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path

import numpy as np

from symseek import Search, presets
from symseek.algebra.simplify import simplified
from symseek.command import main as symseek
from symseek.lab import problems
from symseek.lab.trials.judge import judged
from symseek.loop import Iteration
from symseek.model import full_library
from symseek.notation.printing import infix
from symseek.runs.folder import RunFolder
from symseek.text import can_redraw
from symseek.tokens import short_number

HERE = Path(__file__).parent
RUNS = Path("build/demo")
RACE = "Nguyen-10"
METHODS = ("hybrid", "evolution", "dsr")
SECONDS = {"planets": 4, "medicine": 5, "race": 4}  # at most, each search


def main() -> int:
    RUNS.mkdir(parents=True, exist_ok=True)
    code = planets() or medicine()
    if code:
        return code
    race()
    print(
        "\nYour own table: .venv/bin/symseek fit FILE.csv --target COLUMN"
        "\nMore to read:   docs/getting-started.md"
    )
    return 0


def planets() -> int:
    """A real table, from the file to the picked formula."""
    table = Path(os.path.relpath(HERE / "planets.csv"))
    heading("1. A real table: how long is the year of a planet?")
    print("Mean distance from the sun in million km, and days:\n")
    print(table.read_text())
    words = ["--target", "year", "--features", "distance", "--max-length", "10"]
    code = fit(table, "planets", words)
    if not code and "distance**(3/2)" in RunFolder.open(RUNS / "planets").model().best.text:
        print(
            "\nThe year goes with the distance to the power 3/2: Kepler's third law, from 8 rows."
        )
    return code


def medicine() -> int:
    """A law that was measured with noise."""
    rng = np.random.default_rng(3)
    hours, dose = rng.uniform(0, 10, 200), rng.uniform(1, 5, 200)
    level = dose * np.exp(-0.3 * hours) + 1.2 + rng.normal(0, 0.05, 200)
    table = RUNS / "medicine.csv"
    np.savetxt(
        table,
        np.column_stack([hours, dose, level]),
        "%.3f",
        delimiter=",",
        header="hours,dose,level",
        comments="",
    )
    heading("2. A noisy law: 200 made-up patients, level = dose*exp(-0.3*hours) + 1.2 and noise")
    return fit(table, "medicine", ["--target", "level", "--max-length", "17"])


def fit(table: Path, name: str, words: list[str]) -> int:
    """Run `symseek fit`, and show the command."""
    budget = ["--max-seconds", str(SECONDS[name])]
    words = ["fit", str(table), *words, *budget, "--out", str(RUNS / name), "--force"]
    print(f"$ {shlex.join(['symseek', *words])}", flush=True)
    return symseek(words)


def race() -> None:
    """Methods side by side on a problem of the paper: which finds the formula, and when?"""
    problem = problems.load(RACE)
    points = len(problem.data().y_train)
    heading(f"3. A race: find {problem.expression} again from {points} points of it")
    print(f"Problem {RACE} of the paper, {SECONDS['race']} s at most for each method:\n")
    for method in METHODS:
        run_method(method, problem)


def run_method(method: str, problem: problems.BenchmarkProblem) -> None:
    """Search by one method until its formula is exact, and say how it went."""
    data = problem.data()
    config = presets.method(
        method, max_expressions=problem.budget, max_seconds=float(SECONDS["race"])
    )
    search = Search(problem.library(), data.X_train, data.y_train, config=config, seed=0)
    line = Line(method)
    result = search.run(callback=line)
    line.clear()
    if result.best is None:
        print(f"{method:<10} found nothing")
        return
    found = judged(result.best.program, problem).answer == "yes"
    short = simplified(result.best.program, full_library(problem.variables), data.X_train)
    formula = infix(short, [short_number(value, 6) for value in short.constants])
    print(
        f"  {method:<10}{result.seconds:5.1f} s {result.expressions:>10,} expressions "
        f" {'the true formula' if found else 'not yet':<16}  {formula}",
        flush=True,
    )


class Line:
    """A line that rewrites itself in a terminal, and ends a search whose fit is exact."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.live = can_redraw(sys.stdout)
        self.due = 0.0

    def __call__(self, now: Iteration) -> bool:
        exact = now.best is not None and now.best.reward > 1 - 1e-9
        if self.live and now.best and time.monotonic() > self.due:
            self.due = time.monotonic() + 0.05
            text = f"  {self.method:<10}{now.seconds:5.1f} s {now.expressions:>10,} expressions "
            print(f"\r\033[K{text} reward {now.best.reward:.6f}", end="", flush=True)
        return exact

    def clear(self) -> None:
        """Leave an empty line."""
        if self.live:
            print("\r\033[K", end="")


def heading(text: str) -> None:
    """A line above a part of the demonstration."""
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
