"""What do groups cost?  A law with two numbers of each group's own, by the number of groups.

    python benchmarks/groups.py [--groups 1,6,50] [--rows 10000] [--expressions 20000]

Every table has the same number of rows, in as many groups as the line says; with one group there is
no grouping, and its fit is what the others are compared with. Then the bar: 50 groups of 200 rows,
fitted until the law is found, as `symseek fit` does it.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from symseek import Library, Program, Programs
from symseek.arrays import Floats
from symseek.constants import FitConfig
from symseek.evaluation import fit_constants
from symseek.groups import Grouping, Groups
from symseek.regression.regression import Regression
from symseek.settings import Settings, cores

_TIMES = 20  # that a fit is made

Table = tuple[Floats, Floats, list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", default="1,6,50")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--expressions", type=int, default=20_000)
    options = parser.parse_args()
    counts = [int(each) for each in options.groups.split(",")]
    print(f"{options.rows:,} rows, one thread; times as often as that of the first line")
    print(f"{'groups':>8}{'one fit':>12}{'ratio':>8}{'a search':>12}{'ratio':>8}")
    first: tuple[float, float] | None = None
    for groups in counts:
        data = table(groups, options.rows)
        took = one_fit(groups, data), a_search(groups, data, options.expressions)
        first = first or took
        cells = [f"{s * 1e3:>9.1f} ms{s / f:>8.2f}" for s, f in zip(took, first, strict=True)]
        print(f"{groups:>8}{''.join(cells)}", flush=True)
    seconds, busy, found = until_found(table(50, 10_000))
    print(
        f"50 groups of 200 rows until the search ends: {seconds:.1f} s, of the processors"
        f" {busy:.1f} s on {cores()} threads, {found}"
    )
    return 0


def table(groups: int, rows: int) -> Table:
    """y = a*exp(-b*t) + 1.7*x, with a and b of each group, and 1 % of noise."""
    draw = np.random.default_rng(0)
    group = np.arange(rows) % groups
    X = draw.uniform(0.2, 3.0, (rows, 2))
    a, b = draw.uniform(1, 3, groups), draw.uniform(0.4, 1.2, groups)
    y = a[group] * np.exp(-b[group] * X[:, 0]) + 1.7 * X[:, 1]
    y += 0.01 * y.std() * draw.normal(size=rows)
    return X, y, [f"strain {each}" for each in group]


def one_fit(groups: int, data: Table) -> float:
    """Seconds of the processor for a fit of the law's numbers to all rows."""
    X, y, labels = data
    if groups == 1:
        library = Library(["add", "mul", "exp", "neg", "const"], ["t", "x"])
        law = Program.parse("1.0*exp(-1.0*t) + 1.0*x", library)
    else:
        known = tuple(dict.fromkeys(labels))
        grouping = Grouping("strain", known, ("a", "b"))
        columns = ["t", "x", "strain", "a", "b"]
        library = Library(["add", "mul", "exp", "neg", "const"], columns, grouping)
        law = Program.parse("a*exp(-b*t) + 1.0*x", library)
        X = np.column_stack([X, grouping.codes(labels)])
    batch = Programs.from_list([law])
    config = FitConfig("least_squares", restarts=0)
    began = time.process_time()
    for _ in range(_TIMES):
        fit_constants(batch, X, y, config, threads=1)
    return (time.process_time() - began) / _TIMES


def a_search(groups: int, data: Table, expressions: int) -> float:
    """Seconds of the processor for a search of so many expressions, and what comes after it."""
    X, y, labels = data
    settings = Settings(max_expressions=expressions, max_seconds=None, structure=False)
    named = None if groups == 1 else Groups("strain", labels)
    began = time.process_time()
    regression = Regression(X, y, ["t", "x"], settings, groups=named)
    regression.run()
    regression.model()
    return time.process_time() - began


def until_found(data: Table) -> tuple[float, float, str]:
    """Seconds until a fit ends by itself, those of the processors, and what it picks."""
    X, y, labels = data
    began, busy = time.perf_counter(), time.process_time()
    regression = Regression(
        X, y, ["t", "x"], Settings(threads=cores()), groups=Groups("strain", labels)
    )
    result = regression.run()
    best = regression.model().best
    stopped = result.stopped.value
    took = time.perf_counter() - began, time.process_time() - busy
    return *took, f"{best.text} (NRMSE {best.nrmse:.4f}; {stopped})"


if __name__ == "__main__":
    raise SystemExit(main())
