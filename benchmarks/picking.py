"""Which rule picks the right formula?  Every rule on the same fronts of some hundreds of tables.

    python benchmarks/picking.py [--fronts FOLDER] [--expressions 100000] [--part 0/1] [--by rows]

A search makes the front of each table, once: it is kept in FOLDER, and what is there is not
searched again. Then every rule picks a row of every front. There are four sets of tables:

- laws: one of eleven laws, from a line to a damped oscillation, or pure noise; 5 to 200 rows and
  noise of 0 to 30 % of the target's standard deviation.
- tiny: 5 to 15 evenly spaced rows of saturating, sigmoid and exponential laws with noise of 1 to
  10 %, and as many tables of pure noise.
- real: measured tables whose accepted model is known (real_tables.py).
- lawless: measured tables of which nobody knows a law. A fifth of the rows is kept from the search:
  two blocks of consecutive rows where rows follow each other in time, else rows drawn at random.

A pick of a made table is right when the law is one of its members: fitted to the law itself, on
fresh points without noise, its NRMSE is below 1e-6, and it has at most one number more than the
law. Where there is only noise, the mean is right. "off" is its error against the law without noise,
on fresh points, over the smallest such error on the front.

A pick of a real table is right when it has at most as many fitted numbers as the accepted model
and a standard error of the residuals, sqrt(RSS/(N - k)), of at most 1.1 times its; which the same
form with the same numbers has too. "off" is the ratio of these standard errors.

A pick of a lawless table is right when its error on the rows that were kept is at most 1.05 times
the smallest on the front. "off" is the ratio of these errors.

Other picks are simpler or longer than the right model, or of its size (complexity within two).
"off" is a geometric mean; "> 3x" counts picks above three (1.5 of real and lawless tables).
"waves" counts picks with a sine or cosine, "size" is the mean complexity.
"""

from __future__ import annotations

import argparse
import json
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from laws import Law, has_form
from real_tables import ACCEPTED, LAWLESS, RealTable
from symseek import FitConfig, Program, Programs, fit_constants
from symseek.algebra.simplify import structural_exponents
from symseek.files.atomic import write_whole
from symseek.model import full_library
from symseek.regression.regression import Regression
from symseek.selection import rules
from symseek.settings import Settings

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
TINY_LAWS = [
    Law("sigmoid", "72.5/(1.0 + exp(2.62 - 0.067*x))", {"x": (5, 85)}),
    Law("enzyme", "212.7*x/(0.3 + x)", {"x": (0.02, 1.1)}),
    Law("charging", "238.9*(1.0 - exp(-0.55*x))", {"x": (0.3, 6)}),
    Law("cooling", "81.4 + 102.7*exp(-0.0049*x)", {"x": (0, 400)}),
    Law("exponential", "2.1*exp(0.35*x)", {"x": (0, 6)}),
    Law("Hill", "7.8*x**2/(9.3 + x**2)", {"x": (0.3, 10)}),
    Law("noise", "0.0*x", {"x": (0, 5)}),
]
TINY_ROWS = (5, 6, 7, 9, 12, 15)
TINY_NOISE = (0.01, 0.03, 0.1)
AS_GOOD, AS_GOOD_KEPT = 1.1, 1.05  # times the standard error, or the error on rows that were kept
FOLDS = 20  # at most
WAVES = ("sin", "cos", "tan")


@dataclass(frozen=True)
class Row:
    """A formula of a front, and what rules go by."""

    text: str
    program: str  # its tokens in preorder
    complexity: int
    length: int
    constants: int
    error: float  # NRMSE on the rows
    left_out: float  # the same with each part of the rows left out of the fit and predicted
    off: float  # see above; the rule's own, not yet over the smallest of the front
    right: bool

    @property
    def wave(self) -> bool:
        return any(each in self.program.split() for each in WAVES)


@dataclass(frozen=True)
class Table:
    """What is searched, and how its formulas are judged."""

    kind: str
    name: str
    source: Law | RealTable
    count: int = 0  # rows, of made tables
    noise: float = 0.0
    expressions: int = 100_000
    drawn: int = 0  # another number draws other rows of made tables

    @cached_property
    def rows(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """The names of the inputs, and the rows to search on."""
        names, X, y = self._all_rows
        if self.kind != "lawless":
            return names, X, y
        return names, X[~self._kept], y[~self._kept]

    @cached_property
    def _all_rows(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        if isinstance(self.source, RealTable):
            return self.source.draw()
        rng = np.random.default_rng(
            [zlib.crc32(self.name.encode()), self.drawn][: 1 + bool(self.drawn)]
        )
        names = list(self.source.ranges)
        X, y = self.source.draw(rng, self.count)
        if self.kind == "tiny":
            X = np.linspace(*self.source.ranges["x"], self.count)[:, None]
            y = self.source.program().evaluate(X)
        if self.source.name == "noise":
            return names, X, rng.normal(3 * (self.noise > 0.05), 1, self.count)
        return names, X, y + self.noise * np.std(y) * rng.normal(size=self.count)

    @cached_property
    def _kept(self) -> np.ndarray:
        """Which rows of a lawless table are kept from the search."""
        count = len(self._all_rows[2])
        if isinstance(self.source, RealTable) and self.source.ordered:
            return np.isin(10 * np.arange(count) // count, (3, 7))
        return np.random.default_rng(0).permutation(count) % 5 == 0

    @cached_property
    def regression(self) -> Regression:
        names, X, y = self.rows
        settings = Settings(max_expressions=self.expressions, max_seconds=None, patience=None)
        return Regression(X, y, names, settings)

    def front(self) -> list[Row]:
        self.regression.run()
        formulas = self.regression.model().formulas
        programs = [each.program for each in formulas]
        left_out = cross_validated(programs, *self.rows[1:])
        return [
            Row(
                each.text,
                each.program.preorder(),
                each.complexity,
                len(each.program),
                len(each.program.constants),
                each.nrmse,
                out,
                *self.judged(each.program),
            )
            for each, out in zip(formulas, left_out, strict=True)
        ]

    def judged(self, program: Program) -> tuple[float, bool]:
        """How far off a formula is, and whether it is right."""
        if isinstance(self.source, Law):
            fresh, clean = self.source.draw(np.random.default_rng(1))
            noise = self.source.name == "noise"
            off = error_of(program, fresh, clean) / (1.0 if noise else float(np.std(clean)))
            return off, program.complexity == 1 if noise else has_form(program, self.source)
        _, X, y = self._all_rows
        if self.kind == "lawless":
            return error_of(program, X[self._kept], y[self._kept]) / float(np.std(y)), False
        error, numbers, _ = self.accepted
        spare = len(y) - len(program.constants)
        if spare <= 0:
            return math.inf, False
        off = error_of(program, X, y) * math.sqrt(len(y) / spare) / error
        return off, off <= AS_GOOD and len(program.constants) <= numbers

    @cached_property
    def accepted(self) -> tuple[float, int, int]:
        """The standard error of the accepted model, its fitted numbers and its complexity."""
        assert isinstance(self.source, RealTable)
        names, X, y = self._all_rows
        model = Program.parse(self.source.accepted, full_library(names))
        start = np.array(model.constants)
        free = start != 1.0  # which is part of the form

        def residuals(numbers: np.ndarray) -> np.ndarray:
            constants = start.copy()
            constants[free] = numbers * start[free]
            with np.errstate(all="ignore"):
                values = Program(model.library, model.tokens, tuple(constants)).evaluate(X)
            return np.nan_to_num((values - y) / np.std(y), nan=1e6, posinf=1e6, neginf=-1e6)

        found = least_squares(residuals, np.ones(free.sum()), x_scale="jac", xtol=1e-12, ftol=1e-12)
        squares = 2 * found.cost * float(np.var(y))
        return (
            math.sqrt(squares / (len(y) - int(free.sum()))),
            int(free.sum()),
            model.complexity,
        )

    @property
    def right_size(self) -> int:
        """The complexity of the right model."""
        if isinstance(self.source, Law):
            return 1 if self.source.name == "noise" else self.source.program().complexity
        return self.accepted[2] if self.source.accepted else 0


def error_of(program: Program, X: np.ndarray, y: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        found = math.sqrt(np.mean((program.evaluate(X) - y) ** 2))
    return found if math.isfinite(found) else math.inf


def cross_validated(programs: list[Program], X: np.ndarray, y: np.ndarray) -> list[float]:
    """The NRMSE of each formula on rows that its numbers were not fitted to."""
    count = min(len(y), FOLDS)
    fold = np.random.default_rng(0).permutation(len(y)) % count
    batch = Programs.from_list(programs)
    fixed = structural_exponents(batch)
    errors = np.zeros((len(programs), len(y)))
    config = FitConfig("least_squares", restarts=0, max_steps=50, rescue=False)
    for number in range(count):
        out = fold == number
        fitted = fit_constants(
            batch, X[~out], y[~out], config, fixed=fixed, reward="inverse_mse"
        ).programs
        for row in range(len(programs)):
            with np.errstate(all="ignore"):
                errors[row, out] = fitted[row].evaluate(X[out]) - y[out]
    with np.errstate(all="ignore"):
        squares = np.mean(errors**2, axis=1)
    return (np.sqrt(np.where(np.isfinite(squares), squares, np.inf)) / np.std(y)).tolist()


def tables() -> Iterator[Table]:
    """Every table, those that differ most next to each other: a part of them says something too."""
    every = [
        Table("laws", f"{law.name}-{rows}-{noise:g}", law, rows, noise)
        for law in LAWS
        for rows in ROWS
        for noise in NOISE
    ]
    every += [
        Table("tiny", f"tiny-{law.name}-{rows}-{noise:g}", law, rows, noise)
        for law in TINY_LAWS
        for rows in TINY_ROWS
        for noise in TINY_NOISE
    ]
    every += [Table("real", f"real-{each.name}", each) for each in ACCEPTED]
    every += [Table("lawless", f"lawless-{each.name}", each) for each in LAWLESS]
    yield from sorted(every, key=lambda each: zlib.crc32(("order " + each.name).encode()))


# The rules: each gives the costs of the rows, of which the smallest is picked.

Costs = Callable[[list[Row], Table], Sequence[float]]
FLOOR = 1e-13  # errors below it are rounding


def _tokens(table: Table) -> int:
    """In the library: the operators, the columns and constants."""
    return len(table.regression.library)


def _residuals(error: float, rows: float) -> float:
    return rows * math.log(min(max(error, FLOOR), 1e300))


def knee(front: list[Row], table: Table) -> list[float]:
    errors = [max(row.error, FLOOR) for row in front]
    lengths, constants = [row.length for row in front], [row.constants for row in front]
    count = len(table.rows[2])
    return rules.descriptions(errors, lengths, constants, count, _tokens(table))


def production(rule: str) -> Costs:
    """What a fit does with this rule."""

    def costs(front: list[Row], table: Table) -> list[float]:
        steps = table.regression.postprocessing
        programs = [Program.from_preorder(row.program, steps.full) for row in front]
        picked = steps.pick([steps.formula(each) for each in programs], rule).row
        return [float(row != picked) for row in range(len(front))]

    return costs


def aicc(front: list[Row], table: Table) -> list[float]:
    rows = len(table.rows[2])

    def cost(row: Row) -> float:
        k = row.constants + 1
        spare = rows - k - 1
        return _residuals(row.error, rows) + k + (k * (k + 1) / spare if spare > 0 else math.inf)

    return [cost(row) for row in front]


def bic(front: list[Row], table: Table) -> list[float]:
    rows = len(table.rows[2])
    penalty = 0.5 * math.log(rows)
    return [_residuals(row.error, rows) + penalty * (row.constants + 1) for row in front]


def description(price: float | None) -> Costs:
    """So many nats a token, and as many digits of a constant as the residuals are small."""

    def cost(row: Row, rows: int, tokens: int) -> float:
        numbers = row.constants * 0.5 * math.log(rows)
        each = math.log(tokens) if price is None else price
        return _residuals(row.error, max(rows - row.constants, 0)) + each * row.length + numbers

    return lambda front, table: [cost(row, len(table.rows[2]), _tokens(table)) for row in front]


def left_out(price: float, freedom: bool = False) -> Costs:
    """Rows left out of the fit, their error in all rows or in those that the constants leave."""

    def cost(row: Row, rows: int) -> float:
        counted = max(rows - row.constants, 0) if freedom else rows
        return _residuals(row.left_out, counted) + price * row.length

    return lambda front, table: [cost(row, len(table.rows[2])) for row in front]


RULES: dict[str, Costs] = {
    "auto (symseek's)": production("auto"),
    "mdl (symseek's)": production("mdl"),
    "description, log(L) a token": description(None),
    "description, 1.25 a token": description(1.25),
    "description, 1 a token": description(1.0),
    "AICc": aicc,
    "BIC": bic,
    "left out": left_out(0.0),
    "left out, 1 a token": left_out(1.0),
    "left out, 2.5 a token": left_out(2.5),
    "left out, freedom, 1.5": left_out(1.5, freedom=True),
}


def main() -> int:
    options = parse()
    part, parts = (int(each) for each in options.part.split("/"))
    options.fronts.mkdir(parents=True, exist_ok=True)
    fronts: list[tuple[Table, list[Row]]] = []
    for number, table in enumerate(tables()):
        table = replace(table, drawn=options.drawn)
        if options.kind and table.kind not in options.kind.split(","):
            continue
        file = options.fronts / f"{table.name.replace(' ', '_').replace(',', '')}.json"
        if not file.exists() and number % parts == part and not options.stored:
            table = replace(table, expressions=options.expressions)
            write_whole(file, json.dumps([asdict(row) for row in table.front()], indent=1))
            print(f"{number + 1}: {table.name}", flush=True)
        if file.exists():
            fronts.append((table, [Row(**each) for each in json.loads(file.read_text())]))
    report(fronts, options.by)
    return 0


def report(fronts: list[tuple[Table, list[Row]]], by: str) -> None:
    groups: dict[str, list[tuple[Table, list[Row]]]] = {}
    for each in fronts:
        groups.setdefault(each[0].kind, []).append(each)
        if by:
            value = each[0].source.name if by == "law" else getattr(each[0], by)
            groups.setdefault(f"{each[0].kind}, {by} {value}", []).append(each)
    for name, group in groups.items():
        on_front = sum(any(is_right(front, row, table) for row in front) for table, front in group)
        print(f"\n{name}: {len(group)} tables, a right formula on {on_front} fronts")
        print(f"{'rule':29}{'right':>6}{'simpler':>9}{'other':>7}{'longer':>8}", end="")
        print(f"{'off':>8}{'> 3x':>6}{'waves':>7}{'size':>6}")
        for rule, costs in RULES.items():
            print(f"{rule:29}{score(group, costs)}")


def score(group: list[tuple[Table, list[Row]]], costs: Costs) -> str:
    """The counts of one rule on some fronts."""
    kinds: Counter[str] = Counter()
    off, sizes, waves = [], [], 0
    for table, front in group:
        picked = front[int(np.argmin(costs(front, table)))]
        kinds[verdict(front, picked, table)] += 1
        off.append(off_by(front, picked, table))
        sizes.append(picked.complexity)
        waves += picked.wave
    far = sum(each > (3 if isinstance(table.source, Law) else 1.5) for each in off)
    return (
        f"{kinds['right']:>6}{kinds['simpler']:>9}{kinds['other']:>7}{kinds['longer']:>8}"
        f"{np.exp(np.mean(np.log(np.minimum(off, 1e3)))):>8.2f}{far:>6}{waves:>7}"
        f"{np.mean(sizes):>6.1f}"
    )


def off_by(front: list[Row], row: Row, table: Table) -> float:
    """The error of a row: over the smallest of the front, or over that of the accepted model."""
    if table.kind == "real":
        return row.off
    best = min(each.off for each in front if math.isfinite(each.off))
    return max(row.off, 1e-6) / max(best, 1e-6) if math.isfinite(row.off) else math.inf


def is_right(front: list[Row], row: Row, table: Table) -> bool:
    return off_by(front, row, table) <= AS_GOOD_KEPT if table.kind == "lawless" else row.right


def verdict(front: list[Row], row: Row, table: Table) -> str:
    if is_right(front, row, table):
        return "right"
    right = table.right_size
    if table.kind == "lawless":  # the size of the formula that does best on the rows kept
        right = min(front, key=lambda each: each.off).complexity
    if abs(row.complexity - right) <= 2:
        return "other"
    return "simpler" if row.complexity < right else "longer"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fronts", type=Path, default=Path("build/picking"))
    parser.add_argument("--expressions", type=int, default=100_000)
    parser.add_argument("--part", default="0/1", help="search only every so many-th table: 0/2")
    parser.add_argument("--stored", action="store_true", help="search nothing, use what is there")
    parser.add_argument("--kind", default="", help="laws, tiny, real, lawless; with commas between")
    parser.add_argument("--drawn", type=int, default=0, help="draw other rows, with other --fronts")
    parser.add_argument("--by", default="", choices=["", "count", "noise", "law"])
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
