"""Finds a few formulas again from twenty points each, before your eyes.

    python examples/demo.py [PROBLEM ...]

Each search sees only numbers. It stops once a formula fits them to the last digit. That formula is
then compared with the one that the numbers came from.
"""

from __future__ import annotations

import shutil
import sys
import time

from symseek import Search, presets, problems, rounded
from symseek.errors import InputError
from symseek.experiments.runs.judge import judged
from symseek.loop import Iteration, Result

PROBLEMS = ("Nguyen-1", "Nguyen-5", "Nguyen-8", "Nguyen-7c")
SEED = 0


class ProgressLine:
    """One line that rewrites itself, and the rule that ends the search: an exact fit."""

    def __init__(self) -> None:
        self.live = sys.stdout.isatty()
        self.due = 0.0

    def __call__(self, now: Iteration) -> bool:
        exact = now.best is not None and now.best.reward > 1 - 1e-9
        if self.live and now.best and (exact or time.monotonic() > self.due):
            self.due = time.monotonic() + 0.05
            text = (
                f"  {now.expressions:>9,} tried  reward {now.best.reward:.6f}  {now.best.program}"
            )
            print("\r\033[K" + text[: shutil.get_terminal_size().columns - 1], end="", flush=True)
        return exact

    def clear(self) -> None:
        if self.live:
            print("\r\033[K", end="")


def main(names: list[str]) -> int:
    try:
        chosen = problems.select(*(names or PROBLEMS))
    except InputError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    found = [recover(problem) for problem in chosen]
    print(f"{sum(found)} of {len(found)} formulas recovered. More: .venv/bin/symseek bench Nguyen")
    return 0


def recover(problem: problems.Problem) -> bool:
    """Search for one formula, and show it with the simpler ones found on the way."""
    data = problem.data()
    print(f"{problem.name}: {len(data.y_train)} points of {problem.expression}, seed {SEED}")
    line = ProgressLine()
    config = presets.dsr(max_expressions=problem.budget)
    search = Search(problem.library(), data.X_train, data.y_train, config=config, seed=SEED)
    result = search.run(callback=line)
    line.clear()
    show_front(result, data)
    if result.best is None:
        print("  nothing valid was found\n")
        return False
    verdict = judged(result.best.program, problem)
    words = {"yes": "the true formula", "no": "another formula", "undecided": "cannot tell"}
    print(
        f"  {words[verdict.answer]}, after {result.expressions:,} expressions in "
        f"{result.seconds:.1f} s ({result.expressions / result.seconds:,.0f} a second)\n"
    )
    return verdict.answer == "yes"


def show_front(result: Result, data: problems.Data) -> None:
    """The best formula of each complexity that beats all simpler ones, fitted constants short."""
    print("  complexity    reward  formula")
    for entry in result.front:
        formula = rounded(entry.program, data.X_train, data.y_train).shown()
        print(f"  {entry.complexity:>10}  {entry.reward:.6f}  {formula}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
