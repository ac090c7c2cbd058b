"""How long a run takes, for the whole budget and until the formula is recovered: Table 11."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab.paper import published
from symseek.lab.paper.measures import label, methods_of
from symseek.lab.paper.recovery_tables import METHODS, nguyen, nguyen_specs
from symseek.lab.reports import statistics
from symseek.lab.reports.cells import bounds_text, number
from symseek.lab.reports.experiment import Drawing, Experiment, Report, grouped, specs_for
from symseek.lab.reports.tables import NOTHING, ResultTable

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
    table = ResultTable(
        "seconds", "Runtimes across the Nguyen benchmarks", columns, rows, data, note
    )
    return Report([table], [Drawing("runtimes", data)], [_ADVICE])


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
        ours = f"{number(value)} ± {number(deviation)} {bounds_text(low, high)}"
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


EXPERIMENTS = (RUNTIMES,)
