"""Which rule picks the right formula?  Rules beside each other on some hundreds of tables.

    python benchmarks/picking.py [--fronts FOLDER] [--expressions 100000] [--part 0/1] [--by rows]

Each table has one of eleven laws, from a line to a damped oscillation, or pure noise; 5 to 200 rows
and noise of 0 to 30 % of the target's standard deviation. A search makes its front, once: it is
kept in FOLDER, and what is there is not searched again. Then every rule picks a row of every front.

A pick has the true form when the law is one of its members: fitted to the law itself, on fresh
points without noise, its NRMSE is below 1e-6, and it has at most one number more than the law.
Where there is only noise, the mean is right. Other picks are simpler or longer than the law, or
of its size (within two). "off" is the error of the picks against the law without noise, on fresh
points, over the smallest such error on the front (geometric mean); "> 3x" counts those above three.
"""

from __future__ import annotations

import argparse
import json
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from laws import Law, has_form
from symseek import FitConfig, Program, fit_constants
from symseek.algebra.simplify import exponents_held
from symseek.files.atomic import write_whole
from symseek.regression import picking
from symseek.regression.regression import Regression
from symseek.regression.settings import Settings

LAWS = [
    Law("line", "2.3*x + 1.4", {"x": (0, 5)}),
    Law("parabola", "7.2 - 1.3*x**2", {"x": (0, 4)}),
    Law("saturation", "212.7*x/(0.064 + x)", {"x": (0.02, 1.1)}),
    Law("decay", "5.1*exp(-0.7*x)", {"x": (0, 5)}),
    Law("power", "2.5*x**1.5", {"x": (1, 10)}),
    Law("growth", "3.3*(1.0 - exp(-0.8*x))", {"x": (0, 5)}),
    Law("sine", "2.2*sin(1.7*x) + 1.1", {"x": (0, 6)}),
    Law("damped", "3.2*exp(-0.5*x)*sin(2.1*x)", {"x": (0, 7)}),
    Law("quotient", "1.8*a/b", {"a": (1, 5), "b": (0.5, 3)}),
    Law("bell", "2.7*exp(-0.6*(x - 3.1)**2)", {"x": (0, 6)}),
    Law("cubic", "0.7*x**3 - 2.1*x", {"x": (-2.5, 2.5)}),
    Law("noise", "0.0*x", {"x": (0, 5)}),
]
ROWS = (5, 8, 12, 20, 50, 200)
NOISE = (0.0, 0.03, 0.1, 0.3)
FOLDS = 20  # at most
TOKENS = 12  # in the library: the default operators, a column and constants


@dataclass(frozen=True)
class Row:
    """A formula of a front, and what rules go by."""

    text: str
    complexity: int
    length: int
    constants: int
    error: float  # NRMSE on the rows
    left_out: float  # the same with each part of the rows left out of the fit and predicted
    off: float  # against the law, without noise, on fresh points
    true_form: bool


@dataclass(frozen=True)
class Table:
    law: Law
    rows: int
    noise: float

    @property
    def name(self) -> str:
        return f"{self.law.name}-{self.rows}-{self.noise:g}"

    def draw(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        X, y = self.law.draw(rng, self.rows)
        if self.law.name == "noise":
            return X, rng.normal(3 * (self.noise > 0.05), 1, self.rows)
        return X, y + self.noise * np.std(y) * rng.normal(size=self.rows)

    def front(self, expressions: int) -> list[Row]:
        X, y = self.draw()
        settings = Settings(max_expressions=expressions, max_seconds=None, patience=None)
        regression = Regression(X, y, list(self.law.ranges), settings)
        regression.run()
        formulas = regression.model().formulas
        left_out = cross_validated([each.program for each in formulas], X, y)
        fresh, clean = self.law.draw(np.random.default_rng(1))
        rows = []
        for each, out in zip(formulas, left_out, strict=True):
            with np.errstate(all="ignore"):
                off = math.sqrt(np.mean((each.program.evaluate(fresh) - clean) ** 2))
            noise = self.law.name == "noise"
            rows.append(
                Row(
                    each.text,
                    each.complexity,
                    len(each.program),
                    len(each.program.constants),
                    each.nrmse,
                    out,
                    off / (1.0 if noise else float(np.std(clean))),
                    each.complexity == 1 if noise else has_form(each.program, self.law),
                )
            )
        return rows


def cross_validated(programs: list[Program], X: np.ndarray, y: np.ndarray) -> list[float]:
    """The NRMSE of each formula on rows that its numbers were not fitted to."""
    count = min(len(y), FOLDS)
    fold = np.random.default_rng(0).permutation(len(y)) % count
    held = exponents_held(programs, programs[0].library)
    errors = np.zeros((len(programs), len(y)))
    config = FitConfig("least_squares", restarts=0, max_steps=50, rescue=False)
    for number in range(count):
        out = fold == number
        fitted = fit_constants(held, X[~out], y[~out], config, reward="inverse_mse").programs
        for row in range(len(programs)):
            with np.errstate(all="ignore"):
                errors[row, out] = fitted[row].evaluate(X[out]) - y[out]
    squares = np.mean(errors**2, axis=1)
    return (np.sqrt(np.where(np.isfinite(squares), squares, np.inf)) / np.std(y)).tolist()


def tables() -> Iterator[Table]:
    """Every table, those that differ most next to each other: a part of them says something too."""
    every = [Table(law, rows, noise) for law in LAWS for rows in ROWS for noise in NOISE]
    yield from sorted(every, key=lambda each: zlib.crc32(("order " + each.name).encode()))


# The rules: each gives the costs of the rows, of which the smallest is picked.

Costs = Callable[[list[Row], int], list[float]]
FLOOR = 1e-13  # errors below it are rounding


def _residuals(error: float, rows: float) -> float:
    return rows * math.log(min(max(error, FLOOR), 1e300))


def elbow(front: list[Row], rows: int) -> list[float]:
    errors = [max(row.error, FLOOR) for row in front]
    lengths, constants = [row.length for row in front], [row.constants for row in front]
    return picking.descriptions(errors, lengths, constants, rows, TOKENS)


def aicc(front: list[Row], rows: int) -> list[float]:
    def cost(row: Row) -> float:
        k = row.constants + 1
        spare = rows - k - 1
        return _residuals(row.error, rows) + k + (k * (k + 1) / spare if spare > 0 else math.inf)

    return [cost(row) for row in front]


def bic(front: list[Row], rows: int) -> list[float]:
    penalty = 0.5 * math.log(rows)
    return [_residuals(row.error, rows) + penalty * (row.constants + 1) for row in front]


def description(price: float) -> Costs:
    """So many nats a token, and as many digits of a constant as the residuals are small."""

    def cost(row: Row, rows: int) -> float:
        numbers = row.constants * 0.5 * math.log(rows)
        return _residuals(row.error, max(rows - row.constants, 0)) + price * row.length + numbers

    return lambda front, rows: [cost(row, rows) for row in front]


def left_out(price: float, freedom: bool = False) -> Costs:
    """Rows left out of the fit, their error in all rows or in those that the constants leave."""

    def cost(row: Row, rows: int) -> float:
        counted = max(rows - row.constants, 0) if freedom else rows
        return _residuals(row.left_out, counted) + price * row.length

    return lambda front, rows: [cost(row, rows) for row in front]


RULES: dict[str, Costs] = {
    "elbow (symseek's)": elbow,
    "description, log(L) a token": description(math.log(TOKENS)),
    "description, 1.25 a token": description(1.25),
    "description, 1 a token": description(1.0),
    "AICc": aicc,
    "BIC": bic,
    "left out": left_out(0.0),
    "left out, 1 a token": left_out(1.0),
    "left out, 2.5 a token": left_out(2.5),
    "left out, freedom, 1.5": left_out(1.5, freedom=True),
}


def verdict(front: list[Row], picked: int, table: Table) -> str:
    row = front[picked]
    if row.true_form:
        return "true"
    law = 1 if table.law.name == "noise" else table.law.program().complexity
    if abs(row.complexity - law) <= 2:
        return "other"
    return "simpler" if row.complexity < law else "longer"


def main() -> int:
    options = parse()
    part, parts = (int(each) for each in options.part.split("/"))
    options.fronts.mkdir(parents=True, exist_ok=True)
    fronts: list[tuple[Table, list[Row]]] = []
    for number, table in enumerate(tables()):
        file = options.fronts / f"{table.name}.json"
        if not file.exists() and number % parts == part and not options.stored:
            front = table.front(options.expressions)
            write_whole(file, json.dumps([asdict(row) for row in front], indent=1))
            print(f"{number + 1}: {table.name}", flush=True)
        if file.exists():
            fronts.append((table, [Row(**each) for each in json.loads(file.read_text())]))
    report(fronts, options.by)
    return 0


def report(fronts: list[tuple[Table, list[Row]]], by: str) -> None:
    groups: dict[str, list[tuple[Table, list[Row]]]] = {"all": fronts}
    for each in fronts:
        if by:
            value = each[0].law.name if by == "law" else getattr(each[0], by)
            groups.setdefault(f"{by} {value}", []).append(each)
    for name, group in groups.items():
        on_front = sum(any(row.true_form for row in front) for _, front in group)
        print(f"\n{name}: {len(group)} tables, the true form on {on_front} fronts")
        print(f"{'rule':29}{'true':>6}{'simpler':>9}{'other':>7}{'longer':>8}{'off':>8}{'> 3x':>7}")
        for rule, costs in RULES.items():
            kinds: Counter[str] = Counter()
            off = []
            for table, front in group:
                picked = int(np.argmin(costs(front, table.rows)))
                kinds[verdict(front, picked, table)] += 1
                best = min(row.off for row in front if math.isfinite(row.off))
                mine = front[picked].off
                off.append(max(mine, 1e-6) / max(best, 1e-6) if math.isfinite(mine) else math.inf)
            far = sum(each > 3 for each in off)
            print(
                f"{rule:29}{kinds['true']:>6}{kinds['simpler']:>9}{kinds['other']:>7}"
                f"{kinds['longer']:>8}{np.exp(np.mean(np.log(np.minimum(off, 1e3)))):>8.2f}{far:>7}"
            )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fronts", type=Path, default=Path("build/picking"))
    parser.add_argument("--expressions", type=int, default=100_000)
    parser.add_argument("--part", default="0/1", help="search only every so many-th table: 0/2")
    parser.add_argument("--stored", action="store_true", help="search nothing, use what is there")
    parser.add_argument("--by", default="", choices=["", "rows", "noise", "law"])
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
