"""How does cost grow with rows and columns?  Seconds and memory, beside pyoperon on the same table.

    python benchmarks/large_tables.py [--rows 1000,10000,100000,1000000] [--columns 20,100]

Each measurement is a process of its own that draws a table and searches it. "sampled" is symseek's
default: the search sees 2,000 rows, and the best formulas are fitted and graded on all. "all rows"
grades every expression on every row, without constants, as pyoperon does with its optimiser off.
Seconds are per 100,000 expressions, scaled up from as many as fit into the time; memory is the peak
of the process, the table included.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

SIDES = ("sampled", "all rows", "pyoperon")
PER = 100_000
WORK = 4e9  # rows times expressions in a measurement on all rows
LEAST, MOST = 2_000, 100_000  # expressions of a measurement


def main() -> int:
    options = parse()
    if options.measure:
        print(json.dumps(measure(options.measure, options.table[0], options.table[1])))
        return 0
    print("seconds for 100,000 expressions / peak memory in MB")
    print(f"{'rows':>10}{'columns':>9}" + "".join(f"{side:>18}" for side in SIDES))
    rows, columns = (
        [int(each) for each in text.split(",")] for text in (options.rows, options.columns)
    )
    tables = [(each, columns[0]) for each in rows] + [(10_000, each) for each in columns[1:]]
    for table in tables:
        print(f"{table[0]:>10,}{table[1]:>9}", end="", flush=True)
        for side in SIDES:
            words = [sys.executable, __file__, "--measure", side, "--table", *map(str, table)]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode:
                print(f"{'failed':>18}", end="", flush=True)
                continue
            seconds, memory = json.loads(done.stdout.splitlines()[-1])
            print(f"{seconds:>10.1f} /{memory:>6.0f}", end="", flush=True)
        print(flush=True)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="1000,10000,100000,1000000")
    parser.add_argument("--columns", default="20,100")
    parser.add_argument("--measure", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--table", type=int, nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(side: str, rows: int, columns: int) -> tuple[float, float]:
    """Seconds for 100,000 expressions on one thread, and the peak of memory in MB."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2.0, (rows, columns))
    y = X[:, 0] * np.sin(X[:, 1]) + X[:, 2] / X[:, 3] + 0.1 * rng.normal(size=rows)
    expressions = int(min(MOST, max(LEAST, WORK / rows)))
    start = time.perf_counter()
    if side == "pyoperon":
        spent = run_operon(X, y, expressions)
    else:
        spent = run_symseek(X, y, expressions, side == "sampled")
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return seconds * PER / spent, memory


def run_symseek(X: np.ndarray, y: np.ndarray, expressions: int, sampled: bool) -> int:
    from symseek.regression.regression import Regression
    from symseek.settings import Settings

    settings = Settings(
        max_expressions=MOST if sampled else expressions,
        max_seconds=None,
        constants=sampled,
        sample_rows=2_000 if sampled else None,
    )
    regression = Regression(X, y, [f"x{i}" for i in range(X.shape[1])], settings)
    result = regression.run()
    regression.model()
    return result.expressions


def run_operon(X: np.ndarray, y: np.ndarray, expressions: int) -> int:
    from pyoperon.sklearn import SymbolicRegressor

    model = SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,sin,cos,exp,log,sqrt,square,constant,variable",
        population_size=1000,
        generations=10**9,
        max_evaluations=expressions,
        max_length=30,
        optimizer_iterations=0,
        n_threads=1,
        random_state=0,
    )
    model.fit(X, y)
    return expressions


if __name__ == "__main__":
    raise SystemExit(main())
