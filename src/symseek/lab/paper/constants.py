"""Which settings gave the paper its figures with constants?

The paper names three constants at most and one million expressions. Its table for Jin does not come
out of these, nor its Nguyen-10c. So this study varies what its authors may have run with: the limit
on constants, the settings of their release or those of their development, and the budget. A run
goes to two million expressions, and what was best after one million is kept on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.paper import published
from symseek.lab.paper.measures import problems_of
from symseek.lab.reports import statistics
from symseek.lab.reports.cells import bounds_text, number, or_infinite, percent, rate_row, rate_text
from symseek.lab.reports.experiment import Drawing, Experiment, Report, grouped
from symseek.lab.reports.tables import NOTHING, ResultTable

FEW = 3  # constants at most, says the paper
ANY = 30  # as many as a program has tokens
BUDGET, QUICK_BUDGET = 2_000_000, 2_000  # a row of the table is for half of it
QUICK = ("Jin-5", "Nguyen-8c")

#: What the authors had before they tuned: these, and operators that are defined everywhere.
UNTUNED: Mapping[str, Any] = {
    "batch_size": 500,
    "epsilon": 0.1,
    "learning_rate": 0.001,
    "entropy_weight": 0.1,
}
DEVELOPMENT: Mapping[str, Any] = {**UNTUNED, "protected": True}
SETTINGS: Mapping[str, Mapping[str, Any]] = {"release": {}, "development": DEVELOPMENT}

_EXACT_NMSE = 1e-12  # on the test points, which the authors' code calls a success
_EXACT = 1e-6  # an error below this is printed as zero, as in the paper
CHANCE = 0.05  # a difference that chance makes more often than this is none


class Condition(NamedTuple):
    """One row of the table."""

    limit: int
    settings: str
    budget: int

    def __str__(self) -> str:
        few = f"{self.limit} constants" if self.limit == FEW else "any number"
        return f"{few}, {self.settings}, {self.budget / 1e6:g} M"


def _specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    """Jin has half as many seeds as Nguyen with constants, as in the paper."""
    names = [each.name for suite in ("Jin", "Nguyen-c") for each in problems.suite(suite)]
    budget = QUICK_BUDGET if quick else BUDGET
    return [
        Spec("dsr", name, seed, _settings(limit, settings, budget))
        for name in (QUICK if quick else names)
        for seed in seeds
        if seed < published.BSR.runs or problems.load(name).suite != "Jin"
        for settings in SETTINGS
        for limit in (FEW, ANY)
    ]


def _settings(limit: int, settings: str, budget: int) -> dict[str, Any]:
    own = {"max_expressions": budget, "halfway": True, "max_constants": limit}
    return own | dict(SETTINGS[settings])


def _conditions(record: Record) -> list[Condition]:
    """The two rows that a run belongs to."""
    spec = record.spec.settings
    settings = "development" if spec.get("protected") else "release"
    whole = spec["max_expressions"]
    return [Condition(spec["max_constants"], settings, budget) for budget in (whole // 2, whole)]


class _Outcome(NamedTuple):
    recovered: bool
    rmse: float


def _outcome(record: Record, budget: int) -> _Outcome:
    """How the run stood when this budget was spent.

    A formula of protected operators can equal the true one by what they do where others are
    undefined, which is no proof by algebra. So an exact fit of the test points counts as well.
    """
    whole = record.spec.settings["max_expressions"]
    proven, rmse = record.recovered == "yes", or_infinite(record.test_rmse)
    if budget < whole and record.evaluations > budget:
        proven, rmse = False, or_infinite(record.curve["halfway_rmse"][0])
    return _Outcome(proven or (rmse / _spread(record.spec.problem)) ** 2 < _EXACT_NMSE, rmse)


@cache
def _spread(problem: str) -> float:
    """The standard deviation of the test targets."""
    return float(np.std(problems.load(problem).data().y_test))


def _report(records: Sequence[Record]) -> Report:
    found: dict[tuple[Condition, str], list[_Outcome]] = {}
    for problem, group in grouped(records, lambda each: each.spec.problem).items():
        for record, condition in ((each, row) for each in group for row in _conditions(each)):
            outcome = _outcome(record, condition.budget)
            found.setdefault((condition, problem), []).append(outcome)
    conditions = sorted({key for key, _ in found}, key=_order)
    suites: dict[str, list[str]] = {}
    for name in problems_of(records):
        suites.setdefault(problems.load(name).suite, []).append(name)
    tables = []
    if "Jin" in suites:
        tables.append(_errors(conditions, suites["Jin"], found))
    if "Nguyen-c" in suites:
        tables.append(_rates(conditions, suites["Nguyen-c"], found))
    drawn = [{**row, "variant": row["condition"]} for table in tables for row in table.data]
    title = "DSR with constants: settings that may have been the paper's"
    return Report(tables, [Drawing("variants", {"title": title, "rows": drawn})])


def _order(condition: Condition) -> tuple[bool, int, int]:
    return condition.settings != "release", condition.limit, condition.budget


def _laid_out(
    name: str,
    title: str,
    data: Sequence[Mapping[str, Any]],
    paper: published.PublishedTable,
    figure: Callable[[float], str],
    cell: Callable[[Mapping[str, Any]], str],
    note: str,
) -> ResultTable:
    """A line for the paper and one for each condition, a cell for each problem."""
    names = list(dict.fromkeys(row["problem"] for row in data))
    whole = len(names) == len(paper.rows)
    printed = [figure(paper.rows[name]["dsr"]) for name in names]
    rows = [["the paper", *printed, figure(paper.averages["dsr"]) if whole else NOTHING, ""]]
    for condition in dict.fromkeys(row["condition"] for row in data):
        own = {row["problem"]: row for row in data if row["condition"] == condition}
        cells = [cell(own[name]) if name in own else NOTHING for name in names]
        values = [row["value"] for row in own.values()]
        mean = figure(float(np.mean(values))) if len(own) == len(names) else NOTHING
        rows.append([condition, *cells, mean, _agreement(list(own.values()))])
    columns = ["Constants, settings, budget", *names, "Mean", "As in the paper"]
    note = f"{note} The paper's: {paper.source}, {paper.runs} runs."
    return ResultTable(name, title, columns, rows, data, note)


# --- Jin: the mean error


def _errors(
    conditions: Sequence[Condition], names: Sequence[str], found: Mapping[Any, Sequence[_Outcome]]
) -> ResultTable:
    data = [
        _error_row(condition, name, [each.rmse for each in found[condition, name]])
        for condition in conditions
        for name in names
        if (condition, name) in found
    ]
    note = (
        "Mean RMSE on the test points, [its 95 % interval] of how many runs. Last column: on how"
        f" many benchmarks the difference from the paper's mean may be chance (Welch's test, p ≥"
        f" {CHANCE:g}), and on which it is not."
    )
    title = "Jin, mean error"
    return _laid_out("jin", title, data, published.BSR, number, _error_cell, note)


def _error_row(condition: Condition, name: str, values: Sequence[float]) -> dict[str, Any]:
    paper, value = published.BSR, statistics.mean(values)
    printed, spread = paper.rows[name]["dsr"], paper.deviations[name]["dsr"]
    p = _same_mean(values, printed, spread, paper.runs)
    return {
        "condition": str(condition),
        "panel": "Jin: mean error on the test points",
        "problem": name,
        "runs": len(values),
        **value._asdict(),
        "paper": printed,
        "p": p,
    }


def _same_mean(values: Sequence[float], mean: float, deviation: float, runs: int) -> float:
    """Welch's test of our errors against a printed mean and deviation.

    >>> _same_mean([0.0, 0.0], 0.0, 0.0, 50), _same_mean([1.0, 1.0], 0.0, 0.0, 50)
    (1.0, 0.0)
    """
    from scipy.stats import ttest_ind_from_stats  # type: ignore[import-untyped]

    if len(values) < 2 or not np.isfinite(values).all():
        return math.nan
    ours, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    if spread < _EXACT and deviation == 0:
        return 1.0 if abs(ours - mean) < _EXACT else 0.0
    test = ttest_ind_from_stats(ours, spread, len(values), mean, deviation, runs, equal_var=False)
    return float(test.pvalue)


def _error_cell(row: Mapping[str, Any]) -> str:
    value, low, high = (
        0.0 if row[name] < _EXACT else row[name] for name in ("value", "low", "high")
    )
    bounds = f" {bounds_text(low, high)}" if row["runs"] > 1 else ""
    return f"{number(value)}{bounds} of {row['runs']}"


# --- Nguyen with constants: the recovery


def _rates(
    conditions: Sequence[Condition], names: Sequence[str], found: Mapping[Any, Sequence[_Outcome]]
) -> ResultTable:
    data = [
        _rate_row(condition, name, found[condition, name])
        for condition in conditions
        for name in names
        if (condition, name) in found
    ]
    note = (
        "Recovery in percent, [its 95 % interval] of how many runs: proven, or an NMSE on the test"
        f" points below {_EXACT_NMSE:g}, as the authors' code counts. Last column: on how many"
        f" benchmarks the difference from the paper's may be chance (Fisher's test, p ≥"
        f" {CHANCE:g})."
    )
    title = "Nguyen with constants, recovery"
    return _laid_out("nguyen-c", title, data, published.CONSTANTS, percent, _rate_cell, note)


def _rate_row(condition: Condition, name: str, outcomes: Sequence[_Outcome]) -> dict[str, Any]:
    paper = published.CONSTANTS
    count = sum(each.recovered for each in outcomes), len(outcomes)
    p = statistics.p_value([count], [(paper.count(name, "dsr"), paper.runs)])
    own = {"condition": str(condition), "panel": "Nguyen with constants: recovered runs"}
    own |= {"problem": name, **rate_row(*count)}
    return own | {"paper": paper.rows[name]["dsr"], "p": p}


def _rate_cell(row: Mapping[str, Any]) -> str:
    return f"{rate_text(row)} of {row['runs']}"


def _agreement(rows: Sequence[Mapping[str, Any]]) -> str:
    """On how many benchmarks a row agrees with the paper, and on which not."""
    if any(math.isnan(row["p"]) for row in rows):
        return "too few runs"
    differ = [row["problem"] for row in rows if not row["p"] >= CHANCE]
    text = f"{len(rows) - len(differ)} of {len(rows)}"
    numbers = ", ".join(name.partition("-")[2] for name in differ)
    return f"{text}, not {numbers}" if differ else text


CONSTANTS = Experiment(
    "constants",
    "What the figures with constants were made with",
    "DSR on Jin and on Nguyen with constants under eight settings, one of which may be the paper's"
    " own.",
    "Tables 7 and 9",
    100,
    _specs,
    _report,
)

EXPERIMENTS = (CONSTANTS,)
