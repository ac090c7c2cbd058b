"""How fast are expressions evaluated?  Node evaluations a second against pyoperon and NumPy.

    python benchmarks/evaluate.py [--rows 20,1000] [--repeats 9] [--core 0]

A node evaluation is one node of one expression on one row. All three sides get the same random
expressions and the same points; every expression is valid on every row, so that nobody stops early.
Ours includes the error of each expression (a sum over rows) and no cache; pyoperon's is predictions
only. Sides take turns within a round; a ratio is the median over rounds of that round's ratio.
One thread, pinned to one core.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np

import others
from symseek import Library, Program, Programs
from symseek.engines.interface import engine_named

ROWS = (20, 1_000, 100_000, 1_000_000)
VARIABLES = ("x", "y")

BAR = 0.7  # of pyoperon's float32 rate, in float64, at every size
LINEAR = 1.25  # cost a row may grow by at most this factor from the smallest large size up

# Many expressions where a pass over them is short, so that no side learns them by heart; few where
# the rows alone fill a second.
MANY, FEW, MANY_UP_TO = 1_000, 100, 1_000


def main() -> int:
    options = parse()
    os.sched_setaffinity(0, {options.core})
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (max(options.rows), len(VARIABLES)))
    y = np.sin(X[:, 0] ** 2) * np.cos(X[:, 1]) - 1
    few = valid_expressions(FEW, X, rng)
    many = few + valid_expressions(MANY - FEW, X[:MANY_UP_TO], rng, apart_from=few)
    length = np.mean([len(names) for names in many])
    print(f"random expressions, {length:.1f} nodes on average, one thread on core {options.core}")
    print("precision: symseek float64, NumPy float64, pyoperon float32 (half the bytes a value)")
    print(
        f"\n{'rows':>9}  {'symseek':>9}  {'pyoperon':>9}  {'NumPy':>9}   million node evaluations/s"
    )
    attention = others.Attention()
    with attention:
        passed = [
            measure(rows, many if rows <= MANY_UP_TO else few, X, y, options.repeats)
            for rows in options.rows
        ]
        large = [rows for rows in options.rows if rows >= MANY_UP_TO]
        if len(large) > 1:
            passed.append(linear(large, few, X, y, options.repeats))
    attention.warn()
    return 0 if all(passed) else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rows", type=lambda text: [int(part) for part in text.split(",")], default=list(ROWS)
    )
    parser.add_argument("--repeats", type=int, default=9, help="rounds; default 9")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    return parser.parse_args()


def valid_expressions(
    count: int,
    X: np.ndarray,
    rng: np.random.Generator,
    apart_from: list[list[str]] | None = None,
) -> list[list[str]]:
    """Distinct random expressions that are finite at every node on every row of X, and squared."""
    columns = dict(zip(VARIABLES, X.T.copy(), strict=True))
    seen = {tuple(names) for names in apart_from or []}
    found: list[list[str]] = []
    with np.errstate(all="ignore"):
        while len(found) < count:
            (names,) = others.random_expressions(1, VARIABLES, rng)
            values, valid = others.numpy_evaluate(names, columns)
            if valid and tuple(names) not in seen and np.isfinite(np.square(values).sum()):
                seen.add(tuple(names))
                found.append(names)
    return found


def symseek_side(
    expressions: list[list[str]], X: np.ndarray, y: np.ndarray
) -> Callable[[], np.ndarray]:
    library = Library(list(others.FUNCTIONS), VARIABLES)
    programs = Programs.from_list([Program.from_preorder(names, library) for names in expressions])
    evaluator = engine_named("native").evaluator(library, X, y, cache=0)
    return lambda: evaluator.errors(programs).sums[0]


def measure(
    rows: int, expressions: list[list[str]], X: np.ndarray, y: np.ndarray, repeats: int
) -> bool:
    """Time the three sides in turns and print a row; whether the bar is met."""
    X, y = X[:rows], y[:rows]
    columns = dict(zip(VARIABLES, X.T.copy(), strict=True))
    ours = symseek_side(expressions, X, y)
    sides = {
        "symseek": ours,
        "pyoperon": others.Operon(X, y, VARIABLES).prepare(expressions),
        "NumPy": lambda: others.numpy_errors(expressions, columns, y),
    }
    check(ours(), expressions, columns, y)
    work = rows * sum(map(len, expressions))
    times = time_in_turns(sides, work, repeats)
    rates = {name: work / np.median(taken) / 1e6 for name, taken in times.items()}
    ratio = float(np.median(np.divide(times["pyoperon"], times["symseek"])))
    plain = float(np.median(np.divide(times["NumPy"], times["symseek"])))
    print(
        f"{rows:>9,}  {rates['symseek']:>9,.0f}  {rates['pyoperon']:>9,.0f}  "
        f"{rates['NumPy']:>9,.0f}   {ratio:.2f} x pyoperon, {plain:.1f} x NumPy   "
        f"{verdict(ratio >= BAR)} (bar {BAR})",
        flush=True,
    )
    return ratio >= BAR


def check(
    ours: np.ndarray, expressions: list[list[str]], columns: dict[str, np.ndarray], y: np.ndarray
) -> None:
    """The speed of a wrong answer is worth nothing.

    Some expressions, such as cos(exp(y/x)), blow the last bit up to all digits; how far NumPy moves
    when its inputs move by a bit says how far it may be from us.
    """
    plain = others.numpy_errors(expressions, columns, y)
    nudged = {name: np.nextafter(column, 2.0) for name, column in columns.items()}
    allowed = 1e-9 * (1 + plain) + 100 * abs(others.numpy_errors(expressions, nudged, y) - plain)
    wrong = np.count_nonzero(abs(ours - plain) > allowed)
    if wrong:
        raise SystemExit(f"{wrong} of {len(plain)} errors differ from NumPy's")


def time_in_turns(
    sides: dict[str, Callable[[], object]], work: int, repeats: int
) -> dict[str, list[float]]:
    """Seconds a pass for every side and round."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()
    for _ in range(repeats):
        for name, side in sides.items():
            # NumPy is an order slower and no bar hangs on it: fewer passes, the same rounds.
            times[name].append(seconds_a_pass(side, work if name != "NumPy" else 10 * work))
    return times


def seconds_a_pass(
    side: Callable[[], object], work: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Short passes are repeated to be measurable."""
    passes = max(1, round(2e7 / work))
    start = clock()
    for _ in range(passes):
        side()
    return (clock() - start) / passes


def linear(
    sizes: list[int], expressions: list[list[str]], X: np.ndarray, y: np.ndarray, repeats: int
) -> bool:
    """Whether the cost of a row stays the same as rows grow, on the same expressions."""
    nodes = sum(map(len, expressions))
    sides = {rows: symseek_side(expressions, X[:rows], y[:rows]) for rows in sizes}
    for side in sides.values():
        side()

    def cost(rows: int) -> float:
        """Of a node and row, in processor time: other programs cannot spoil it."""
        work = rows * nodes
        return seconds_a_pass(sides[rows], work, time.process_time) / work

    costs = np.array([[cost(rows) for rows in sizes] for _ in range(repeats)])  # [rounds, sizes]
    growth = float(np.median(costs / costs[:, :1], axis=0).max())
    typical = zip(sizes, np.median(costs, axis=0), strict=True)
    listed = ", ".join(f"{cost * 1e9:.2f} at {rows:,}" for rows, cost in typical)
    print(f"\nnanoseconds a node and row on the same {len(expressions)} expressions: {listed}")
    print(f"linear in rows: growth {growth:.2f}   {verdict(growth <= LINEAR)} (bar {LINEAR})")
    return growth <= LINEAR


def verdict(passed: bool) -> str:
    return "PASS" if passed else "FAIL"


if __name__ == "__main__":
    raise SystemExit(main())
