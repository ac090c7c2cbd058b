"""The hyper-parameter grids: every combination on two benchmarks, the best by mean recovery.

The paper chose for each method the combination with the highest average recovery, of equals the one
with the lowest average error. Some of what it then used is not on the grid that it describes; then
the paper's choice is run as well.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symseek.jobs.record import Record
from symseek.jobs.spec import Spec, canonical
from symseek.lab.paper import published
from symseek.lab.paper.measures import label
from symseek.lab.reports.cells import number, or_infinite, rate_row, rate_text, recovered
from symseek.lab.reports.experiment import Drawing, Experiment, Report, grouped, specs_for
from symseek.lab.reports.tables import ResultTable
from symseek.lab.trials.plan import HYPERPARAMETERS

_SHOWN = 10  # of the best combinations, in the table for people
_QUICK = 4  # combinations


def combinations(method: str) -> list[dict[str, Any]]:
    """Every combination of the paper's grid.

    >>> len(combinations("dsr")), len(combinations("gp"))
    (81, 800)
    """
    grid = published.GRIDS[method]
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def chosen(method: str) -> dict[str, Any]:
    """What the paper chose, of what is on the grid."""
    return {name: published.TUNED[method][name] for name in published.GRIDS[method]}


def _specs(method: str, seeds: Sequence[int], quick: bool) -> list[Spec]:
    tuning, settings = published.TUNING, combinations(method)
    if quick:
        settings = settings[:: math.ceil(len(settings) / (_QUICK - 1))]
    if chosen(method) not in settings:
        settings = [*settings, chosen(method)]
    names = tuning.problems[-1:] if quick else tuning.problems
    size = {} if quick else {"max_expressions": tuning.expressions}
    return [
        spec
        for each in settings
        for spec in specs_for(names, [method], seeds, quick, **each, **size)
    ]


def _settings(record: Record) -> dict[str, Any]:
    tunable = HYPERPARAMETERS[record.spec.method]
    return {name: value for name, value in record.spec.settings.items() if name in tunable}


def _report(method: str, records: Sequence[Record]) -> Report:
    groups = grouped(records, lambda each: canonical(_settings(each)))
    data = sorted((_scored(method, group) for group in groups.values()), key=_rank)
    for place, row in enumerate(data, 1):
        row["rank"] = place
    shown = [row for row in data if row["rank"] <= _SHOWN or row["chosen"]]
    names = list(published.GRIDS[method])
    rows = [
        [str(row["rank"]), *(_value(row["settings"][name]) for name in names), *_scores(row)]
        for row in shown
    ]
    columns = ["Rank", *(name.replace("_", " ") for name in names), "Recovery, %", "NRMSE", ""]
    note = (
        f"The best of {len(data)} combinations, by mean recovery [its 95 % interval] and"
        " then by the lowest mean NRMSE on the test points. Last column: what the paper chose."
    )
    flat = [
        {name: row[name] for name in row if name != "settings"} | row["settings"] for row in data
    ]
    table = ResultTable("settings", f"Settings of {label(method)}", columns, rows, flat, note)
    return Report([table], [Drawing("grid", data)])


def _value(setting: bool | float) -> str:
    if isinstance(setting, bool):
        return "yes" if setting else "no"
    return f"{setting:g}"


def _scored(method: str, group: Sequence[Record]) -> dict[str, Any]:
    settings = _settings(group[0])
    return {
        "rank": 0,
        "settings": settings,
        **rate_row(*recovered(group)),
        "nrmse": float(np.mean([or_infinite(each.test_nrmse) for each in group])),
        "chosen": settings == chosen(method),
    }


def _rank(row: Mapping[str, Any]) -> tuple[float, float]:
    return -row["value"], row["nrmse"]


def _scores(row: Mapping[str, Any]) -> list[str]:
    rate = f"{rate_text(row)} of {row['runs']}"
    return [rate, number(row["nrmse"]), "the paper's choice" if row["chosen"] else ""]


def _experiment(method: str) -> Experiment:
    count = len(combinations(method))

    def specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
        return _specs(method, seeds, quick)

    def report(records: Sequence[Record]) -> Report:
        return _report(method, records)

    return Experiment(
        f"grid-{method}",
        f"Hyper-parameters of {label(method)}",
        f"{count} combinations of {label(method)}'s hyper-parameters on"
        f" {' and '.join(published.TUNING.problems)}.",
        published.TUNING.source,
        published.TUNING.runs,
        specs,
        report,
    )


EXPERIMENTS = tuple(_experiment(method) for method in published.GRIDS)
