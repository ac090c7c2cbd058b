"""How long until the law is found, from 2,000 rows to 2,000,000?  Seconds and memory, one core.

    python benchmarks/table_sizes.py [--rows 2000,20000,200000,2000000] [--laws sum,product,...]
                                     [--seeds 0,1] [--seconds 60] [--flights]

A table has 30 columns, five of which the target depends on, and 1% noise. It is written to a
Parquet file, and every line is a process of its own that reads the file and fits it as `symseek
fit` does. Seconds are those of the processor, so that other work on the machine does not count:

    read      until the table is in memory
    first     from there until the simplest formulas are known
    law       from there until the law, or a formula as good, is on the front
    all       from there until the model is made
    memory    the peak of the process, less what it takes before reading, over the table's size
    found     whether the formula that is picked is the law, by its values where there is no noise

`--flights` is another table, of 327,000 rows and 15 columns of whole numbers with a target of much
and heavy-tailed noise: there the expressions that were tried in the time are of interest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

COLUMNS = 30
NOISE = 0.01
CLOSE = 0.003  # of the spread: what a law with fitted numbers may be off, far below the noise

Law = Callable[[np.ndarray], np.ndarray]
LAWS: dict[str, tuple[Law, float, float]] = {  # with the range of the columns
    "sum": (lambda X: X[3] * np.exp(-0.5 * X[7]) + X[12] * X[18] / X[25], 0.5, 2.0),
    "product": (lambda X: 3.2 * X[1] * X[4] * np.sin(X[22]) / np.hypot(X[9], X[16]), 0.5, 2.0),
    "crossed": (lambda X: X[2] * X[8] + 0.5 * X[14] * X[20] * X[27], -1.0, 1.0),
    "waves": (lambda X: X[0] * np.sin(2 * X[5]) + X[11] * X[19] - X[23] ** 2, -2.0, 2.0),
}
FLIGHTS = "flights"


def main() -> int:
    options = parse()
    if options.measure:
        print(json.dumps(measure(Path(options.measure), options.law, options.seconds)))
        return 0
    heads = ("read", "first", "law", "all", "clock", "memory", "expressions")
    print(f"{'law':<9}{'seed':>5}{'rows':>11}" + "".join(f"{head:>12}" for head in heads), " found")
    laws = [FLIGHTS] if options.flights else options.laws.split(",")
    rows = [327_000] if options.flights else [int(each) for each in options.rows.split(",")]
    for law in laws:
        for seed in map(int, options.seeds.split(",")):
            for count in rows:
                print(f"{law:<9}{seed:>5}{count:>11,}" + line(law, count, seed, options.seconds))
                sys.stdout.flush()
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="2000,20000,200000,2000000")
    parser.add_argument("--laws", default=",".join(LAWS))
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--flights", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--law", help=argparse.SUPPRESS)
    return parser.parse_args()


def line(law: str, rows: int, seed: int, seconds: float) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        write(path, *(flights(rows, seed) if law == FLIGHTS else table(law, rows, seed)))
        words = ["--measure", str(path), "--law", law, "--seconds", str(seconds)]
        one_core = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, __file__, *words], capture_output=True, text=True, env=one_core
        )
    if done.returncode:
        return f"  failed: {done.stderr.strip().splitlines()[-1]}"
    found = json.loads(done.stdout.splitlines()[-1])
    numbers = "".join(
        f"{'-' if found[name] is None else format(found[name], '.2f'):>12}"
        for name in ("read", "first", "law", "all", "clock", "memory")
    )
    return f"{numbers}{found['expressions']:>12,}  {'yes' if found['found'] else 'no'}"


def table(law: str, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    function, low, high = LAWS[law]
    X = rng.uniform(low, high, (COLUMNS, rows))
    y = function(X)
    return X, y + NOISE * y.std() * rng.normal(size=rows)


def flights(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, some of them categories, and delays of which the columns explain little."""
    rng = np.random.default_rng(seed)
    most = (12, 31, 2400, 2400, 16, 105, 3, 4000, 24, 60, 9999, 1300, 7, 2, 100)
    X = np.stack([rng.integers(0, each, rows, endpoint=True) for each in most]).astype(float)
    y = np.rint(0.01 * X[2] + 5 * X[12] + 12 * rng.standard_t(2, rows) + rng.exponential(20, rows))
    return X, y


def write(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = {f"x{at}": column for at, column in enumerate(X)}
    parquet.write_table(pyarrow.table({**columns, "y": y}), path)


def measure(path: Path, law: str, seconds: float) -> dict[str, float | bool | None]:
    """What one fit takes."""
    import pyarrow.parquet  # noqa: F401  (its own memory is not that of the table)

    from symseek.files.tables import read_table
    from symseek.loop import StepContext
    from symseek.regression.regression import Regression
    from symseek.settings import Settings

    before, began = memory(), time.process_time()
    data = read_table(path, "y")
    read, clock = time.process_time(), time.perf_counter()
    known: dict[str, float] = {}
    test, truth = (None, None) if law == FLIGHTS else clean(law)
    grade = StepContext.grade

    def graded(self: StepContext, *arguments: object, **options: object) -> object:
        front = self.front
        result = grade(self, *arguments, **options)  # type: ignore[arg-type]
        best = self.front.best
        if test is not None and "law" not in known and self.front is not front and best is not None:
            variables = best.program.library.variables
            if len(variables) == COLUMNS and is_law(best.program, test / scales, truth / scale):
                known["law"] = time.process_time() - read
        return result

    regression = Regression(data.X, data.y, data.features, Settings(max_seconds=seconds))
    scales, scale = regression.rows.scales.inputs, regression.rows.scales.target
    StepContext.grade = graded  # type: ignore[method-assign, assignment]

    def first() -> None:
        regression.model(final=False)
        known["first"] = time.process_time() - read

    result = regression.run(started=first)
    model = regression.model()
    return {
        "read": read - began,
        "first": known.get("first"),
        "law": known.get("law"),
        "all": time.process_time() - read,
        "clock": time.perf_counter() - clock,
        "memory": (memory() - before) / (data.X.nbytes + data.y.nbytes),
        "expressions": result.expressions,
        "found": test is not None and is_law(model.best.program, test, truth),
    }


def clean(law: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows without noise, which no search has seen."""
    function, low, high = LAWS[law]
    X = np.random.default_rng(99).uniform(low, high, (COLUMNS, 2_000))
    return X.T, function(X)


def is_law(program: object, X: np.ndarray, y: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        off = program.evaluate(X) - y  # type: ignore[attr-defined]
        return bool(np.sqrt(np.mean(off**2)) < CLOSE * y.std())


def memory() -> int:
    """The peak of this process, in bytes; `resource` would count the one it was forked from."""
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(lines["VmHWM"].split()[0])


if __name__ == "__main__":
    raise SystemExit(main())
