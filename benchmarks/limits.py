"""Do limits hold, beyond the rows, and what do they cost?

Twenty tables whose rows break what is asked of the formulas, or do not say it. Each is fitted with
its limits and without. Every formula of every front is then looked at on a dense grid in the box of
the rows and 20 % beyond it, by code that shares nothing with the search: the formulas as they
predict and as they are printed. The formulas of the fits without limits show that it finds
violations.

    python benchmarks/limits.py [--expressions 20000] [--only NAME]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from symseek import Program, SymbolicRegressor
from symseek.model import Model

Array = NDArray[np.float64]

ROWS, LINES, POINTS = 120, 40, 3001
STEP = 30  # points between which slopes are compared
SLACK = 1e-8  # of the range of values: what rounding may do, and the six digits of a printed number
PRINTED = 1e-4


@dataclass(frozen=True)
class Table:
    name: str
    law: Callable[..., Array]  # of the columns
    ranges: dict[str, tuple[float, float]]  # of the rows
    limits: tuple[str, ...]
    noise: float = 0.05
    form: str | None = None


def _logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


X, XZ = {"x": (0.3, 6.0)}, {"x": (0.3, 6.0), "z": (1.0, 3.0)}
BOTH = {"x": (-3.0, 3.0)}

TABLES = [
    Table("dose", lambda x: 3 * x / (1 + x) + 0.2 * np.sin(4 * x), X, ("x: increasing",)),
    Table("decay", lambda x: 2 * np.exp(-x) + 0.1 * np.cos(5 * x), X, ("x: decreasing",)),
    Table("decay to 0", lambda x: 2 * np.exp(-x) + 0.2, X, ("x -> inf: 0", "x: decreasing")),
    Table("cost", lambda x: x**2 - 3 * x + 0.8 * np.sin(4 * x), X, ("x: convex",)),
    Table(
        "returns", lambda x: np.sqrt(x) + 0.1 * np.sin(4 * x), X, ("x: concave", "x: increasing")
    ),
    Table("share", lambda x: _logistic(2 * x - 6) * 1.1 - 0.05, X, ("value: between 0 and 1",)),
    Table("positive", lambda x: (x - 3) ** 2 - 0.3, X, ("value: >= 0",)),
    Table("even", lambda x: x**2 + 0.3 * x, BOTH, ("x: even",)),
    Table("odd", lambda x: np.sin(x) + 0.2 * x**2, BOTH, ("x: odd",)),
    Table("even, one side", lambda x: np.cos(x), X, ("x: even",)),
    Table(
        "two columns", lambda x, z: x * z + np.sin(3 * x), XZ, ("x: increasing", "z: increasing")
    ),
    Table("one of two", lambda x, z: np.log(x) * z - z**2 / 4, XZ, ("x: increasing",), 0.2),
    Table(
        "gas", lambda x, z: 8 * z / x, XZ, ("x: decreasing", "z: increasing", "value: >= 0"), 1.0
    ),
    Table("probability", lambda x, z: _logistic(x - 2 * z), XZ, ("value: between 0 and 1",), 0.1),
    Table("far away", lambda x, z: z * np.exp(-x) + 0.1, XZ, ("x -> inf: 0",)),
    Table("from 0", lambda x, z: z * np.sin(x) + 0.2, XZ, ("x -> 0: 0",)),
    Table("given range", lambda x: np.log(x) + 0.2 * x, X, ("x: increasing in 0.1..30",), 0.1),
    Table("large", lambda x: 4e9 * x**1.5, {"x": (1e6, 9e6)}, ("x: increasing", "x: convex"), 3e18),
    Table(
        "inside log", lambda x: np.exp(np.sin(2 * x)), X, ("value: <= 2.5",), 0.02, "log(y) = f(x)"
    ),
    Table("saturation", lambda x: np.tanh(x), X, ("x -> inf: 1", "x: increasing", "x: concave")),
]


def table_of(each: Table) -> tuple[pd.DataFrame, Array]:
    """The rows, the same every time."""
    draw = np.random.default_rng(sum(map(ord, each.name)))
    columns = {name: draw.uniform(*ends, ROWS) for name, ends in each.ranges.items()}
    y = each.law(*columns.values()) + each.noise * draw.normal(size=ROWS)
    if each.form is not None:
        y = np.maximum(y, 0.01)
    return pd.DataFrame(columns), y


# The grid, and what is wrong on it.


def box(limit: str, columns: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """20 % beyond the rows, but a column of one sign goes half the way to 0; or as is said."""
    found = {}
    for name in columns:
        low, high = float(columns[name].min()), float(columns[name].max())
        more = 0.2 * (high - low)
        found[name] = (max(low - more, low / 2) if low >= 0 else low - more, high + more)
    if " in " in limit:
        ends = limit.partition(" in ")[2].split("..")
        found[limit.partition(":")[0]] = (float(ends[0]), float(ends[1]))
    return found


def lines(limit: str, columns: pd.DataFrame, along: str) -> list[Array]:
    """Lines of points along a column: in rows, elsewhere in the box, and at its edges."""
    ends, draw = box(limit, columns), np.random.default_rng(7)
    names = list(columns)
    found = []
    for at in range(LINES if len(names) > 1 else 1):
        line = np.empty((POINTS, len(names)))
        for column, name in enumerate(names):
            elsewhere = draw.choice(ends[name]) if at % 4 else draw.uniform(*ends[name])
            line[:, column] = columns[name].iloc[at] if at % 2 else elsewhere
        line[:, names.index(along)] = np.linspace(*ends[along], POINTS)
        found.append(line)
    return found


def violated(
    limit: str, values: Callable[[Array], Array], columns: pd.DataFrame, slack: float
) -> bool:
    """Whether the values break a limit somewhere."""
    subject, _, what = limit.partition(": ")
    names = list(columns)
    if subject == "value":
        low, high = bounds_of(what)
        return any(
            bool(np.nanmin(found) < low - slack * size or np.nanmax(found) > high + slack * size)
            for line in [each for name in names for each in lines(limit, columns, name)]
            if np.isfinite(found := values(line)).any()
            for size in [max(1.0, float(np.nanmax(np.abs(found))))]
        )
    column, _, to = subject.partition(" -> ")
    at = names.index(column)
    return any(
        bends(what, line, at, values, slack)
        if not to
        else leaves(float(what), to, line, at, values)
        for line in lines(limit, columns, column)
    )


def bounds_of(what: str) -> tuple[float, float]:
    words = what.split()
    if words[0] == "between":
        return float(words[1]), float(words[3])
    return (float(words[1]), np.inf) if words[0] == ">=" else (-np.inf, float(words[1]))


def bends(what: str, line: Array, at: int, values: Callable[[Array], Array], slack: float) -> bool:
    """Whether a line is not as it should be; where there is no value, nothing is."""
    given, what = " in " in what, what.split()[0]
    if what in ("even", "odd"):
        most = np.abs(line[:, at]).max()
        line = line.copy()
        line[:, at] = np.linspace(-most, most, POINTS)
    found = values(line)
    some = found[np.isfinite(found)]
    if given and len(some) < len(found):
        return True
    if not len(some):
        return False
    off = slack * np.ptp(some) + 1e-12 * np.abs(some).max()
    if what in ("even", "odd"):
        turned = found[::-1] if what == "even" else -found[::-1]
        return bool((np.isfinite(found) != np.isfinite(turned)).any()) or bool(
            (np.abs(some - turned[np.isfinite(turned)]) > off).any()
        )
    if what in ("increasing", "decreasing"):
        rising = some if what == "increasing" else -some
        return bool((np.maximum.accumulate(rising) - rising > off).any())
    sign = 1 if what == "convex" else -1
    second = found[: -2 * STEP] - 2 * found[STEP:-STEP] + found[2 * STEP :]
    return bool((sign * second[np.isfinite(second)] < -off).any())


def leaves(value: float, to: str, line: Array, at: int, values: Callable[[Array], Array]) -> bool:
    """Whether values do not come near a number."""
    far = line[:1].repeat(4, axis=0)
    size = np.abs(line[:, at]).max()
    far[:, at] = size * 10.0 ** (np.array([3, 5, 7, 9]) * (1 if "inf" in to else -1))
    found = np.abs(values(far) - value)
    found = found[np.isfinite(found)]
    return bool(len(found)) and bool(found[-1] > max(1e-4 * max(1, abs(value)), 0.5 * found[0]))


def counted(model: Model, limits: tuple[str, ...], columns: pd.DataFrame) -> tuple[int, int]:
    """How many formulas break a limit, as they predict and as they are printed."""
    programs = texts = 0
    for formula in model.formulas:
        program = formula.program
        printed = Program.parse(formula.text, program.library)
        programs += any(violated(each, program.evaluate, columns, SLACK) for each in limits)
        texts += any(violated(each, printed.evaluate, columns, PRINTED) for each in limits)
    return programs, texts


def fitted(each: Table, limits: tuple[str, ...], expressions: int) -> tuple[Model, float]:
    """The model of a table, and expressions tried in a second of the processor."""
    columns, y = table_of(each)
    search = SymbolicRegressor(
        limit=limits,
        form=each.form,
        max_expressions=expressions,
        max_seconds=None,
        random_state=0,
    )
    began = time.process_time()
    search.fit(columns, y)
    return search.models_[0], search.history_[0][-1].expressions / (time.process_time() - began)


HEAD = f"{'table':<16}{'broken':>7}{'printed':>9}{'of':>4}{'proved':>9}{'free':>6}{'of':>4}"
HEAD += f"{'rate':>8}{'free':>8}{'NRMSE':>8}{'free':>8}  limits"


def main() -> None:
    """Fit every table with and without its limits."""
    parser = argparse.ArgumentParser(description="do limits hold, and what do they cost?")
    parser.add_argument("--expressions", type=int, default=20_000)
    parser.add_argument("--only", default="", help="tables with this in their name")
    options = parser.parse_args()
    print("free: without limits; rate: expressions/s of the processor, all of a fit")
    print(HEAD)
    sums, rates = np.zeros(5, dtype=int), []
    for each in TABLES:
        if options.only not in each.name:
            continue
        columns, _ = table_of(each)
        kept, rate = fitted(each, each.limits, options.expressions)
        free, other = fitted(each, (), options.expressions)
        broken, printed = counted(kept, each.limits, columns)
        before, _ = counted(free, each.limits, columns)
        said = [one for formula in kept.formulas for one in formula.limits]
        proved = f"{sum(one.endswith(', proved') for one in said)}/{len(said)}"
        found = len(kept.formulas), len(free.formulas)
        sums += [broken, printed, found[0], before, found[1]]
        rates.append(rate / other)
        errors = kept.formulas[-1].nrmse, free.formulas[-1].nrmse
        line = f"{each.name:<16}{broken:>7}{printed:>9}{found[0]:>4}{proved:>9}{before:>6}"
        line += f"{found[1]:>4}{rate:>8.0f}{other:>8.0f}{errors[0]:>8.4f}{errors[1]:>8.4f}"
        print(f"{line}  {'; '.join(each.limits)}", flush=True)
    print(f"broken: {sums[0]} of {sums[2]}, as printed {sums[1]}; free: {sums[3]} of {sums[4]}")
    print(f"rate with limits over free: {np.exp(np.mean(np.log(rates))):.2f}")


if __name__ == "__main__":
    main()
