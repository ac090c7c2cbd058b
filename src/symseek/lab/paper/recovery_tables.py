"""How often and how exactly: Table 1, its variations, and the errors of all.

Other experiments share the runs of Table 1: these stop when the formula is recovered and keep their
training curve, so the experiment on training curves needs no runs of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.paper import published
from symseek.lab.paper.measures import by_problem, error_table, recovery_table, significance_table
from symseek.lab.reports.experiment import Drawing, Experiment, Report, specs_for

METHODS = ("dsr", "pqt", "vpg", "gp", "hybrid")
COMMERCIAL = ("eureqa", "wolfram")  # not available here: only the paper's figures are shown

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


def _table1(records: Sequence[Record]) -> Report:
    paper = published.RECOVERY
    table = recovery_table("recovery", "Recovery on Nguyen", records, paper, COMMERCIAL)
    tests = significance_table(records, paper, COMMERCIAL)
    return Report([table, tests], [Drawing("table1", by_problem(table))])


TABLE1 = Experiment(
    "table1",
    "Recovery on the Nguyen benchmarks",
    "How often each method finds the exact formula of the twelve Nguyen benchmarks.",
    published.RECOVERY.source,
    100,
    partial(nguyen_specs, METHODS),
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
    return Report(tables, [Drawing("table1", rows)])


VARIATIONS = Experiment(
    "variations",
    "Variations of the Nguyen benchmarks, and errors",
    "Recovery on four altered benchmarks and five with constants, and the error of all 21.",
    "Tables 9 and 10",
    100,
    _variations_specs,
    _variations,
)


EXPERIMENTS = (TABLE1, VARIATIONS)
