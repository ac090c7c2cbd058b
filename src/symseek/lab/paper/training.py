"""How training goes: the best reward and the recovery, and how the rewards of a batch change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from symseek.arrays import Floats
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab.paper.measures import INCOMPLETE, label, methods_of, problems_of, whole_average
from symseek.lab.paper.recovery_tables import METHODS, QUICK, nguyen, nguyen_specs
from symseek.lab.reports import statistics
from symseek.lab.reports.cells import bounds_text, number, percent, rate_row, rate_text
from symseek.lab.reports.experiment import Drawing, Experiment, Report, grouped, specs_for
from symseek.lab.reports.tables import NOTHING, ResultTable
from symseek.lab.trials.training_curve import POINTS
from symseek.presets import dsr


def on_grid(record: Record, column: str, grid: Floats) -> Floats:
    """A column of a run's curve at these numbers of expressions.

    After the end of a run, which recovery ends, its last value holds.

    >>> curve = {"expressions": [100, 200], "best": [0.5, 1.0]}
    >>> on_grid(Record(Spec("dsr", "A", 0), curve=curve), "best", np.array([100.0, 150, 999]))
    array([0.5, 0.5, 1. ])
    """
    at = np.asarray(record.curve["expressions"], dtype=np.float64)
    values = np.asarray(record.curve[column], dtype=np.float64)
    return values[np.clip(np.searchsorted(at, grid, side="right") - 1, 0, None)]


def _grid(records: Sequence[Record]) -> Floats:
    """The numbers of expressions at which runs of one budget are looked at."""
    budget = max(each.spec.settings["max_expressions"] for each in records)
    return np.asarray(budget * np.arange(1, POINTS + 1) / POINTS, dtype=np.float64)


# --- curves of all methods

CHECKPOINTS = (0.05, 0.1, 0.25, 0.5, 1.0)  # shares of the budget that the table shows


def _curves(records: Sequence[Record]) -> Report:
    """What the runs with a curve show; those that were read from a table have none."""
    without = sum(not each.curve for each in records)
    records = [each for each in records if each.curve]
    notes = [f"{without} runs have no training curve and are left out."] if without else []
    groups = grouped(records, lambda each: (each.spec.problem, each.spec.method))
    by_problem: dict[str, dict[str, dict[str, Any]]] = {}
    for problem in problems_of(records):
        for method in methods_of(records):
            group = groups.get((problem, method), [])
            if group:
                by_problem.setdefault(problem, {})[method] = _curve_of(group)
    return Report([_checkpoints(records, by_problem)], [Drawing("curves", by_problem)], notes)


def _curve_of(group: Sequence[Record]) -> dict[str, Any]:
    """What is drawn of one method on one problem."""
    grid = _grid(group)
    return {
        "expressions": grid.tolist(),
        "best": [on_grid(each, "best", grid).tolist() for each in group],
        "recovered_at": [each.evaluations if each.recovered == "yes" else None for each in group],
    }


def _checkpoints(
    records: Sequence[Record], by_problem: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> ResultTable:
    """Recovery after parts of the budget, over all problems, and the mean of the best reward."""
    data, rows = [], []
    for method in methods_of(records):
        own = {name: curves[method] for name, curves in by_problem.items() if method in curves}
        complete = len(own) == len(by_problem)
        after = [_after(method, share, list(own.values())) for share in CHECKPOINTS]
        data += [row | {"problems": len(own), "complete": complete} for row in after]
        runs = str(after[-1]["runs"]) + ("" if complete else "*")
        printed = whole_average(method, own)
        paper = NOTHING if printed is None else percent(printed)
        rows.append([label(method), runs, *map(_checkpoint, after), paper])
    shares = [f"{100 * share:g} % of the budget" for share in CHECKPOINTS]
    note = (
        "A cell: recovery in percent, [its 95 % interval] / the mean of the best reward so far."
        " The last column is the paper's recovery at the end: it prints no other numbers."
    )
    note += "" if all(row["complete"] for row in data) else f" {INCOMPLETE}"
    columns = ["Method", "Runs", *shares, "Paper"]
    return ResultTable("checkpoints", "Along the way, across Nguyen", columns, rows, data, note)


def _checkpoint(row: Mapping[str, Any]) -> str:
    return f"{rate_text(row)} / {row['reward']:.3f}"


def _after(method: str, share: float, curves: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    won = runs = 0
    rewards = []
    for curve in curves:
        limit = share * curve["expressions"][-1]
        at = max(0, round(share * POINTS) - 1)
        won += sum(when is not None and when <= limit for when in curve["recovered_at"])
        runs += len(curve["recovered_at"])
        rewards += [best[at] for best in curve["best"]]
    row = {"method": method, "share": share, **rate_row(won, runs)}
    return row | {"reward": float(np.mean(rewards))}


CURVES = Experiment(
    "curves",
    "Training curves",
    "The best reward and the recovery as a search continues, for every method.",
    "Figures 6 and 7",
    100,
    partial(nguyen_specs, METHODS),
    _curves,
)


# --- distributions of rewards

_NAMES = {"dsr": "risk-seeking", "vpg": "standard"}
_COLUMNS = ("mean", "top", "best")


def _distributions_specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    """Whole runs: a batch after recovery counts as well."""
    settings = {"early_stop": False, "curve": True, "distribution": True}
    names = QUICK[:1] if quick else nguyen(quick)
    return specs_for(names, tuple(_NAMES), seeds, quick, **settings)


def _distributions(records: Sequence[Record]) -> Report:
    groups = grouped(records, lambda each: (each.spec.problem, each.spec.method))
    figures, data = [], []
    for problem in problems_of(records):
        drawn = {}
        for method, name in _NAMES.items():
            if (problem, method) in groups:
                drawn[name] = _distribution(groups[problem, method])
                data.append(_last(problem, name, groups[problem, method]))
        figures.append(Drawing("distributions", drawn, problem))
    rows = [
        [row["problem"], row["objective"], *(_interval_cell(row, name) for name in _COLUMNS)]
        for row in data
    ]
    columns = ["Benchmark", "Gradient", "Mean of the batch", "Mean of its top ε", "Best so far"]
    note = (
        "A cell: the mean over the runs at the last iteration, [its 95 % interval]. The paper shows"
        " pictures and prints no numbers for them; on Nguyen-8 it finds the mean larger with the"
        " standard gradient, and the other two larger with the risk-seeking one."
    )
    table = ResultTable("rewards", "Rewards at the end of training", columns, rows, data, note)
    return Report([table], figures)


def _distribution(group: Sequence[Record]) -> dict[str, Any]:
    """What is drawn of one objective on one problem."""
    grid, batch = _grid(group), dsr().batch_size
    looks = group[0].curve["looks"]
    curve: dict[str, Any] = {"iteration": (grid / batch).tolist()}
    for name in _COLUMNS:
        curve[name] = np.mean([on_grid(each, name, grid) for each in group], axis=0).tolist()
    return {
        "epsilon": getattr(dsr().objective, "epsilon", None),
        "iterations": looks,
        "batches": [[each.curve["batches"][i] for each in group] for i in range(len(looks))],
        "curve": curve,
    }


def _last(problem: str, name: str, group: Sequence[Record]) -> dict[str, Any]:
    row: dict[str, Any] = {"problem": problem, "objective": name, "runs": len(group)}
    for column in _COLUMNS:
        value, low, high = statistics.mean([each.curve[column][-1] for each in group])
        row |= {column: value, f"{column}_low": low, f"{column}_high": high}
    return row


def _interval_cell(row: Mapping[str, Any], name: str) -> str:
    return f"{number(row[name])} {bounds_text(row[f'{name}_low'], row[f'{name}_high'])}"


DISTRIBUTIONS = Experiment(
    "distributions",
    "Distributions of rewards during training",
    "How the rewards of a batch, and of its best part, move with the risk-seeking and the standard"
    " policy gradient.",
    "Figures 2, 8 and 9",
    100,
    _distributions_specs,
    _distributions,
)

EXPERIMENTS = (CURVES, DISTRIBUTIONS)
