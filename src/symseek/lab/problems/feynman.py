"""Laws of physics as problems: the Feynman suite of SRBench, a line of `feynman.txt` each.

Volumes I, II and III are Feynman's lectures, by chapter and equation; the `test` laws come from
other textbooks. Every variable has its own name and range. The operators are those of a fit that is
given none: a law may have more (tanh, asin, acos), and the numbers in it are to be fitted.
"""

from __future__ import annotations

from pathlib import Path

from symseek.lab.problems.problem import BenchmarkProblem, Box

#: The default operators of a fit, and numbers to fit.
OPERATORS = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log", "sqrt", "square", "const")

ROWS = 2000  # to search on, and as many to test on
BUDGET = 1_000_000  # expressions a search may sample


def _law(line: str) -> BenchmarkProblem:
    """The problem that a line stands for."""
    law, _, ranges = line.partition("|")
    name, expression = law.split(maxsplit=1)
    box: dict[str, tuple[float, float]] = {}
    for group in ranges.split(","):
        *variables, between = group.split()
        low, _, high = between.partition("-")
        box |= dict.fromkeys(variables, (float(low), float(high)))
    points = Box(tuple(box.values()), ROWS)
    return BenchmarkProblem(
        name=f"feynman_{name}",
        suite="Feynman",
        expression=expression.strip(),
        operators=OPERATORS,
        variables=tuple(box),
        train=points,
        test=points,
        budget=BUDGET,
    )


PROBLEMS: tuple[BenchmarkProblem, ...] = tuple(
    _law(line)
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
