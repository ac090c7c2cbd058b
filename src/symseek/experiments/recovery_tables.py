"""How often, how exactly and how fast: Table 1, its variations, errors and runtimes.

They share their runs: the searches of Table 1 stop when the formula is recovered and keep their
course, so the training curves, and all that compares with them, cost nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symseek import problems
from symseek.experiments import published, statistics
from symseek.experiments.experiment import Experiment, Figure, Report, grouped, specs_for
from symseek.experiments.measures import (
    by_problem,
    error_table,
    label,
    methods_of,
    number,
    recovery_table,
    significance_table,
)
from symseek.experiments.record import Record
from symseek.experiments.spec import Spec
from symseek.experiments.tables import NOTHING, Table

__all__ = ["METHODS", "QUICK", "RUNTIMES", "TABLE1", "VARIATIONS", "nguyen_specs"]

METHODS = ("dsr", "pqt", "vpg", "gp", "hybrid")
PAPER_METHODS = METHODS[:4]
COMMERCIAL = ("eureqa", "wolfram")  # not to be had: the paper's figures stand alone

QUICK = ("Nguyen-1", "Nguyen-11")
_QUICK_VARIATIONS = ("Nguyen-8'", "Nguyen-8c")


def nguyen(quick: bool) -> list[str]:
    """The problems of Table 1, or two of them."""
    return list(QUICK) if quick else [each.name for each in problems.suite("Nguyen")]


def nguyen_specs(
    methods: Sequence[str], seeds: Sequence[int], quick: bool, names: Sequence[str] = ()
) -> list[Spec]:
    """The runs of Table 1, which other experiments share."""
    return specs_for(names or nguyen(quick), methods, seeds, quick, curve=True)


# --- Table 1


def _table1_specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    return nguyen_specs(METHODS, seeds, quick)


def _table1(records: Sequence[Record]) -> Report:
    paper = published.RECOVERY
    table = recovery_table("recovery", "Recovery on Nguyen", records, paper, COMMERCIAL)
    tests = significance_table(records, paper, COMMERCIAL)
    return Report([table, tests], [Figure("table1", by_problem(table))])


TABLE1 = Experiment(
    "table1",
    "Recovery on the Nguyen benchmarks",
    "How often each method finds the exact formula of the twelve Nguyen benchmarks.",
    published.RECOVERY.source,
    100,
    _table1_specs,
    _table1,
)


# --- its variations, and the errors of all

_SETS = (
    ("altered", "Nguyen-altered", published.ALTERED, published.NRMSE_ALTERED),
    ("constants", "Nguyen-c", published.CONSTANTS, published.NRMSE_CONSTANTS),
)


def _variations_specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    names = [each.name for _, suite, _, _ in _SETS for each in problems.suite(suite)]
    chosen = list(_QUICK_VARIATIONS) if quick else names
    return nguyen_specs(METHODS, seeds, quick, chosen) + nguyen_specs(METHODS, seeds, quick)


def _variations(records: Sequence[Record]) -> Report:
    tables = []
    for name, suite, recovery, nrmse in (*_SETS, ("nguyen", "Nguyen", None, published.NRMSE)):
        those = [each for each in records if problems.load(each.spec.problem).suite == suite]
        if not those:
            continue
        if recovery is not None:
            tables.append(recovery_table(name, f"Recovery on {suite}", those, recovery, COMMERCIAL))
            tables.append(significance_table(those, recovery, COMMERCIAL, name))
        title = f"NRMSE on the test points of {suite}"
        tables.append(
            error_table(
                f"nrmse-{name}", title, those, nrmse, lambda each: each.test_nrmse, extra=COMMERCIAL
            )
        )
    shown = [table for table in tables if table.name in ("altered", "constants")]
    rows = [row for table in shown for row in by_problem(table)]
    return Report(tables, [Figure("table1", rows)])


VARIATIONS = Experiment(
    "variations",
    "Variations of the Nguyen benchmarks, and errors",
    "Recovery on four altered benchmarks and five with constants, and the error of all 21.",
    "Tables 9 and 10",
    100,
    _variations_specs,
    _variations,
)


# --- runtimes

_ADVICE = (
    "Runs side by side slow each other down, and runs that another experiment or machine left in"
    " the store are taken with the times they have. For the times of one core, give this experiment"
    " a store of its own: `--store runtimes.sqlite --jobs 1`."
)


def _runtimes_specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    full = specs_for(nguyen(quick), METHODS, seeds, quick, early_stop=False)
    return nguyen_specs(METHODS, seeds, quick) + full


def _runtimes(records: Sequence[Record]) -> Report:
    groups = grouped(
        records, lambda each: (each.spec.method, bool(each.spec.settings.get("early_stop", True)))
    )
    data, rows = [], []
    for method in methods_of(records):
        cells = [label(method)]
        for early, paper in ((False, published.RUNTIMES), (True, published.RUNTIMES_TO_RECOVERY)):
            seconds = [each.seconds or 0.0 for each in groups.get((method, early), [])]
            printed = paper.rows["Nguyen"].get(method)
            deviation = paper.deviations["Nguyen"].get(method)
            row = _times(method, early, seconds) | {"paper": printed, "paper_deviation": deviation}
            data.append(row)
            cells.append(_time_text(row))
        rows.append(cells)
    columns = ["Method", "Whole budget, s", "Until recovery, s"]
    note = (
        "A cell: mean ± standard deviation over all runs, [95 % interval of the mean], (the"
        " paper's, on a Xeon E5-2695 v4). Seconds of the search alone, one thread."
    )
    table = Table("seconds", "Runtimes across the Nguyen benchmarks", columns, rows, data, note)
    return Report([table], [Figure("runtimes", data)], [_ADVICE])


def _times(method: str, early: bool, seconds: Sequence[float]) -> dict[str, Any]:
    value, low, high = statistics.mean(seconds) if seconds else (None, None, None)
    return {
        "method": method,
        "label": label(method),
        "early": early,
        "runs": len(seconds),
        "seconds": value,
        "deviation": float(np.std(seconds)) if seconds else None,
        "low": low,
        "high": high,
    }


def _time_text(row: dict[str, Any]) -> str:
    ours = NOTHING
    value, deviation, low, high, paper, spread = (
        row[name] for name in ("seconds", "deviation", "low", "high", "paper", "paper_deviation")
    )
    if value is not None:
        ours = f"{number(value)} ± {number(deviation)} [{number(low)}, {number(high)}]"
    return ours if paper is None else f"{ours} ({paper:g} ± {spread:g})"


RUNTIMES = Experiment(
    "runtimes",
    "Runtimes with and without early stopping",
    "How long each method takes for the whole budget, and until it recovers the formula.",
    "Table 11",
    100,
    _runtimes_specs,
    _runtimes,
)
