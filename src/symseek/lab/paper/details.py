"""Details that the paper leaves out, and what they do to its rates.

How a step of priority queue training is taken, whether a program is invalid where a value
underflows, and the settings that the authors used before those of the paper. They are tried on the
benchmarks where such things show: on the others every variant recovers nearly all or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab.paper import published
from symseek.lab.paper.constants import UNTUNED
from symseek.lab.paper.measures import label
from symseek.lab.paper.recovery_tables import nguyen_specs
from symseek.lab.reports import statistics
from symseek.lab.reports.cells import percent, rate_row, rate_text, recovered
from symseek.lab.reports.experiment import Drawing, Experiment, Report, grouped
from symseek.lab.reports.tables import NOTHING, ResultTable

_PROBLEMS = ("Nguyen-4", "Nguyen-5", "Nguyen-7", "Nguyen-8", "Nguyen-2'", "Nguyen-8'")
_QUICK_PROBLEMS = ("Nguyen-8",)


class _Variant(NamedTuple):
    text: str
    method: str
    settings: Mapping[str, Any]

    @property
    def published(self) -> str:
        """The method that the paper has figures of."""
        return self.method.removesuffix("-whole")


_UNDERFLOW = {"underflow_invalid": True}
_VARIANTS = (
    _Variant("DSR", "dsr", {}),
    _Variant("DSR, underflow is invalid", "dsr", _UNDERFLOW),
    _Variant("DSR, settings of the authors' development", "dsr", UNTUNED),
    _Variant("PQT: imitates one, weight 200, bonus of the best 5 %", "pqt", {}),
    _Variant("PQT: the same, underflow is invalid", "pqt", _UNDERFLOW),
    _Variant("PQT: imitates one, weight 200, bonus of the batch", "pqt", {"epsilon": 1.0}),
    _Variant("PQT: imitates one, weight 1, bonus of the best 5 %", "pqt", {"weight": 1.0}),
    _Variant(
        "PQT: imitates one, weight 1, bonus of the batch", "pqt", {"weight": 1.0, "epsilon": 1.0}
    ),
    _Variant("PQT: imitates all, weight 1, bonus of the queue", "pqt-whole", {}),
)
_VARIED = {name for variant in _VARIANTS for name in variant.settings}


def _specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    names = _QUICK_PROBLEMS if quick else _PROBLEMS
    return [
        Spec(variant.method, spec.problem, spec.seed, {**spec.settings, **variant.settings})
        for variant in _VARIANTS
        for spec in nguyen_specs([variant.method], seeds, quick, names)
    ]


def _variant(record: Record) -> _Variant:
    settings = {name: value for name, value in record.spec.settings.items() if name in _VARIED}
    own = record.spec.method, settings
    return next(each for each in _VARIANTS if (each.method, each.settings) == own)


def _report(records: Sequence[Record]) -> Report:
    groups = grouped(records, lambda each: (_variant(each).text, each.spec.problem))
    names = [name for name in _PROBLEMS if any(name == problem for _, problem in groups)]
    data: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    for variant in _VARIANTS:
        own = {name: groups[variant.text, name] for name in names if (variant.text, name) in groups}
        if not own:
            continue
        cells = [_row(variant, name, group) for name, group in own.items()]
        data += cells
        if variant.published not in {row[0] for row in rows}:
            rows.append(_printed(variant.published, names))
        texts = {row["problem"]: f"{rate_text(row)} of {row['runs']}" for row in cells}
        shown = [texts.get(name, NOTHING) for name in names]
        rows.append([variant.published, variant.text, *shown, f"{_p(cells):.2g}"])
    table = ResultTable(
        "recovery",
        "Recovery by variant",
        ["", *names, "p"],
        [row[1:] for row in rows],
        data,
        "A cell: recovery in percent, [its 95 % interval], of how many runs."
        " p: the exact test across these benchmarks against the paper.",
    )
    drawn = [row | {"panel": f"{label(row['paper_method'])}: recovered runs"} for row in data]
    title = "What details that the paper leaves out do to its rates"
    return Report([table], [Drawing("variants", {"title": title, "rows": drawn})])


def _published(problem: str) -> published.PublishedTable:
    """The table of the paper that has a problem."""
    tables = published.RECOVERY, published.ALTERED
    return next(table for table in tables if problem in table.rows)


def _row(variant: _Variant, problem: str, group: Sequence[Record]) -> dict[str, Any]:
    printed = _published(problem).rows[problem][variant.published]
    own = {"variant": variant.text, "method": variant.method, "problem": problem}
    theirs = {"paper": printed, "paper_method": variant.published}
    return {**own, **rate_row(*recovered(group)), **theirs}


def _printed(method: str, names: Sequence[str]) -> list[str]:
    figures = [percent(_published(name).rows[name][method]) for name in names]
    return [method, f"{label(method)}, the paper", *figures, ""]


def _p(rows: Sequence[Mapping[str, Any]]) -> float:
    ours = [(row["recovered"], row["runs"]) for row in rows]
    theirs = []
    for row in rows:
        paper = _published(row["problem"])
        theirs.append((paper.count(row["problem"], row["paper_method"]), paper.runs))
    return statistics.p_value(ours, theirs)


DETAILS = Experiment(
    "details",
    "Details that the paper leaves out",
    "DSR and PQT when an underflow makes a program invalid, DSR with earlier settings, and PQT when"
    " a step imitates one program of the queue or all, with two weights beside the entropy bonus.",
    "Tables 1 and 9",
    100,
    _specs,
    _report,
)

EXPERIMENTS = (DETAILS,)
