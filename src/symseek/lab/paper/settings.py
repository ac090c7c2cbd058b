"""Which settings gave the paper its figures?

With the settings that the paper states, the main table comes back, and some figures of the appendix
do not: those of two altered problems, of Jin, of Nguyen-10c. So this study varies what its authors
may have run with: the size of a batch, the budget, the limit on constants, and whether an underflow
makes a program invalid. Two altered problems are tried under a grid of the other settings too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.paper import published
from symseek.lab.paper.measures import problems_of
from symseek.lab.reports import statistics
from symseek.lab.reports.cells import bounds_text, number, or_infinite, percent, rate_row, rate_text
from symseek.lab.reports.experiment import QUICK_BUDGET, Drawing, Experiment, Report, specs_for
from symseek.lab.reports.tables import NOTHING, ResultTable

MILLION = 1_000_000
BATCHES = (1000, 500, 250)
FEW, ANY = 3, 30  # constants at most, as the paper says, or as many as a program has tokens
CHANCE = 0.05  # a difference that chance makes more often than this is none
_SURE = 1e-4  # a difference that chance makes less often is one, however much less
_EXACT = 1e-6  # an error below this is printed as zero, as in the paper
_QUICK = ("Jin-5", "Nguyen-8'")


class Group(NamedTuple):
    """Problems that one table of the paper has."""

    name: str
    title: str
    names: tuple[str, ...]
    paper: published.PublishedTable
    limits: tuple[int, ...] = ()  # on constants, where there are any

    @property
    def budget(self) -> int:
        """The paper's."""
        return problems.load(self.names[0]).budget

    @property
    def errors(self) -> bool:
        """Whether the paper has errors of them, and no rates."""
        return self.paper is published.BSR


def _suite(name: str) -> tuple[str, ...]:
    return tuple(each.name for each in problems.suite(name))


GROUPS = (
    Group("nguyen", "Nguyen", ("Nguyen-4", "Nguyen-5", "Nguyen-7", "Nguyen-8"), published.RECOVERY),
    Group("altered", "Altered Nguyen", _suite("Nguyen-altered"), published.ALTERED),
    Group("nguyen-c", "Nguyen with constants", _suite("Nguyen-c"), published.CONSTANTS, (FEW, ANY)),
    Group("jin", "Jin", _suite("Jin"), published.BSR, (FEW, FEW + 1, ANY)),
)


class Condition(NamedTuple):
    """One row of a table.

    >>> str(Condition(500, 1_000_000, 3, True)), str(Condition(250, 2_000_000, 0, False))
    ('batch 500, 3 constants, 1 M', 'batch 250, 2 M, underflow valid')
    """

    batch: int
    budget: int
    limit: int  # on constants; 0 where there are none
    strict: bool  # whether an underflow makes a program invalid

    def __str__(self) -> str:
        few = {0: "", ANY: ", any number"}.get(self.limit, f", {self.limit} constants")
        valid = "" if self.strict else ", underflow valid"
        return f"batch {self.batch}{few}, {self.budget / MILLION:g} M{valid}"

    @property
    def steps(self) -> int:
        """Of learning."""
        return self.budget // self.batch


#: Where the grid is tried: the values on the paper's, and the entropy weight that it then used.
GRID_PROBLEMS, GRID_SEEDS = ("Nguyen-2'", "Nguyen-8'"), 12
GRID: Mapping[str, tuple[Any, ...]] = {
    "batch_size": (500, 1000),
    "learning_rate": (0.0003, 0.0005, 0.001),
    "entropy_weight": (0.005, 0.01, 0.05),
    "epsilon": (0.05, 0.1, 0.15),
}


def _specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    """Jin has half as many seeds as the others, as in the paper, and the grid has few."""
    found: list[Spec] = []
    for group in GROUPS:
        names = [name for name in group.names if not quick or name in _QUICK]
        own = [seed for seed in seeds if seed < group.paper.runs]
        for settings in _settings(group, quick):
            found += specs_for(names, ["dsr"], own, quick, **settings)
    few = [seed for seed in seeds if seed < GRID_SEEDS]
    for values in () if quick else itertools.product(*GRID.values()):
        found += specs_for(
            GRID_PROBLEMS, ["dsr"], few, quick, **dict(zip(GRID, values, strict=True))
        )
    return found


def _settings(group: Group, quick: bool) -> Iterable[dict[str, Any]]:
    """What the runs of a group are set to, each once."""
    for batch, limit, strict in itertools.product(BATCHES, group.limits or (0,), (True, False)):
        own = {"batch_size": batch, "underflow_invalid": strict}
        own |= {"max_constants": limit} if limit else {}
        for budget in (QUICK_BUDGET,) if quick else _budgets(group, batch):
            yield {**own, "max_expressions": budget}


def _budgets(group: Group, batch: int) -> tuple[int, ...]:
    """The paper's and twice as much; small batches have the steps of that anyway."""
    if group.limits or batch == max(BATCHES):
        return group.budget, 2 * group.budget
    return (group.budget,)


def _is_grid(record: Record) -> bool:
    return "epsilon" in record.spec.settings


def conditions(record: Record) -> list[Condition]:
    """The rows that a run belongs to.

    A run without constants ends with recovery alone, so it also says what half of its budget gives.
    """
    given = record.spec.settings
    strict, limit = given.get("underflow_invalid", False), given.get("max_constants", 0)
    whole = given["max_expressions"]
    budgets = (whole,) if limit else (whole // 2, whole)
    return [Condition(given["batch_size"], budget, limit, strict) for budget in budgets]


def found_by(records: Iterable[Record]) -> dict[tuple[str, Condition], dict[int, Record]]:
    """By problem and row, the runs of each seed."""
    found: dict[tuple[str, Condition], dict[int, Record]] = {}
    for record in records:
        if record.status == "done" and not _is_grid(record):
            for condition in conditions(record):
                own = found.setdefault((record.spec.problem, condition), {})
                own.setdefault(record.spec.seed, record)
    return found


def _report(records: Sequence[Record]) -> Report:
    found, present = found_by(records), set(problems_of(records))
    tables, notes = [], []
    for group in GROUPS:
        names = [name for name in group.names if name in present]
        rows = [row for name in names for row in rows_of(group, name, found)]
        if rows:
            tables.append(_table(group, rows))
            notes.append(_nearest(group, rows))
    drawn = [row for table in tables for row in table.data]
    grid = [each for each in records if _is_grid(each) and each.status == "done"]
    tables += [_grid(grid)] if grid else []
    figures = [Drawing("steps", drawn)] if drawn else []
    return Report(tables, figures, [*notes, *_fewer(drawn)])


def rows_of(
    group: Group, name: str, found: Mapping[tuple[str, Condition], Mapping[int, Record]]
) -> list[dict[str, Any]]:
    """The data of a problem, a row for each condition that it was run under."""
    rows = []
    for (problem, condition), runs in sorted(found.items(), key=lambda item: _order(item[0][1])):
        if problem == name:
            own = _error_row if group.errors else _rate_row
            where = {"group": group.title, "problem": name, "condition": str(condition)}
            facts = {"steps": condition.steps, **condition._asdict(), "seeds": group.paper.runs}
            stated = {"stated": condition.budget == group.budget and condition.limit in (0, FEW)}
            rows.append({**where, **facts, **stated, **own(group, name, condition, runs)})
    return rows


def _order(condition: Condition) -> tuple[Any, ...]:
    return not condition.strict, condition.limit, condition.budget, -condition.batch


def _rate_row(
    group: Group, name: str, condition: Condition, runs: Mapping[int, Record]
) -> dict[str, Any]:
    """How many recovered the formula within the budget."""
    won = sum(
        each.recovered == "yes" and each.evaluations <= condition.budget for each in runs.values()
    )
    p = statistics.p_value([(won, len(runs))], [(group.paper.count(name, "dsr"), group.paper.runs)])
    return {**rate_row(won, len(runs)), "paper": group.paper.rows[name]["dsr"], "p": p}


def _error_row(
    group: Group, name: str, condition: Condition, runs: Mapping[int, Record]
) -> dict[str, Any]:
    """The mean error on the test points."""
    values = [or_infinite(each.test_rmse) for each in runs.values()]
    value, low, high = statistics.mean(values)
    printed, spread = group.paper.rows[name]["dsr"], group.paper.deviations[name]["dsr"]
    p = same_mean(values, printed, spread, group.paper.runs)
    row = {"runs": len(values), "value": value, "low": low, "high": high}
    return {**row, "paper": printed, "p": p}


def same_mean(values: Sequence[float], mean: float, deviation: float, runs: int) -> float:
    """Welch's test of our errors against a printed mean and deviation.

    >>> same_mean([0.0, 0.0], 0.0, 0.0, 50), same_mean([1.0, 1.0], 0.0, 0.0, 50)
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


# --- the tables


def _table(group: Group, rows: Sequence[Mapping[str, Any]]) -> ResultTable:
    """A line for the paper and one for each condition, a cell for each problem."""
    names = list(dict.fromkeys(row["problem"] for row in rows))
    figure = number if group.errors else percent
    printed = [figure(group.paper.rows[name]["dsr"]) for name in names]
    lines = [["the paper", "", *printed, ""]]
    for condition, own in _by_condition(rows).items():
        cells = [_cell(own[name]) if name in own else NOTHING for name in names]
        steps = f"{next(iter(own.values()))['steps']:,}"
        lines.append([condition, steps, *cells, _agreement(own.values())])
    measure = "Mean RMSE on the test points" if group.errors else "Recovery in percent"
    test = "Welch's" if group.errors else "Fisher's exact"
    note = (
        f"A cell: {measure[0].lower()}{measure[1:]}, [its 95 % interval], of how many runs. Last"
        f" column: on how many problems the difference from the paper may be chance ({test} test,"
        f" p ≥ {CHANCE:g}), and on which it is not. The paper's: {group.paper.source},"
        f" {group.paper.runs} runs."
    )
    columns = ["Settings", "Steps", *names, "As in the paper"]
    return ResultTable(group.name, f"{group.title}: {measure.lower()}", columns, lines, rows, note)


def _by_condition(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in sorted(
        rows, key=lambda row: _order(Condition(*(row[e] for e in Condition._fields)))
    ):
        found.setdefault(row["condition"], {})[row["problem"]] = row
    return found


def _cell(row: Mapping[str, Any]) -> str:
    if "recovered" in row:
        return f"{rate_text(row)} of {row['runs']}"
    value, low, high = (
        0.0 if row[name] < _EXACT else row[name] for name in ("value", "low", "high")
    )
    bounds = f" {bounds_text(low, high)}" if row["runs"] > 1 else ""
    return f"{number(value)}{bounds} of {row['runs']}"


def _agreement(rows: Iterable[Mapping[str, Any]]) -> str:
    """On how many problems a row agrees with the paper, and on which not."""
    rows = list(rows)
    if any(math.isnan(row["p"]) for row in rows):
        return "too few runs"
    differ = [row["problem"] for row in rows if not row["p"] >= CHANCE]
    text = f"{len(rows) - len(differ)} of {len(rows)}"
    numbers = ", ".join(name.partition("-")[2] for name in differ)
    return f"{text}, not {numbers}" if differ else text


def _nearest(group: Group, rows: Sequence[Mapping[str, Any]]) -> str:
    """The sentence on which settings are likeliest: as often as possible the paper's figure."""
    names = {row["problem"] for row in rows}
    whole = {key: own for key, own in _by_condition(rows).items() if own.keys() == names}
    if not whole:
        return f"{group.title}: no settings were run on all of its problems."

    def chance(own: Mapping[str, Mapping[str, Any]]) -> tuple[int, float, bool]:
        known = [row["p"] for row in own.values() if not math.isnan(row["p"])]
        least = sum(math.log(max(p, _SURE)) for p in known)
        return sum(p >= CHANCE for p in known), least, all(map(_as_stated, own.values()))

    best = max(whole, key=lambda key: chance(whole[key]))
    stated = next((key for key in whole if all(map(_as_stated, whole[key].values()))), None)
    said = f"{group.title}: most like the paper is “{best}” ({_agreement(whole[best].values())}"
    if stated == best:
        return f"{said}), the settings that the paper states."
    if stated is None:
        return f"{said}); the settings that the paper states were not run on all of its problems."
    return f"{said}); with the settings that it states, {_agreement(whole[stated].values())}."


def _as_stated(row: Mapping[str, Any]) -> bool:
    """Whether this row has the paper's batch, budget and constants, and its code's underflow."""
    return bool(row["stated"] and row["strict"] and row["batch"] == max(BATCHES))


def _fewer(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which cells have fewer runs than the paper, if any."""
    few = [row for row in rows if row["runs"] < row["seeds"]]
    if not few:
        return []
    least, most = (pick(row["runs"] for row in few) for pick in (min, max))
    return [
        f"{len(few)} of {len(rows)} cells have fewer runs than the paper's {GROUPS[-1].paper.runs}"
        f" on Jin and {GROUPS[0].paper.runs} elsewhere: {least} to {most}. “–” was not run."
    ]


# --- the grid

_SHOWN = 10


def _grid(records: Sequence[Record]) -> ResultTable:
    """The combinations that come nearest to both figures of the paper."""
    names = [name for name in GRID_PROBLEMS if any(e.spec.problem == name for e in records)]
    data = []
    for values in itertools.product(*GRID.values()):
        settings = dict(zip(GRID, values, strict=True))
        own = [e for e in records if all(e.spec.settings[n] == settings[n] for n in settings)]
        row: dict[str, Any] = dict(settings)
        ours, theirs = [], []
        for name in names:
            won = [each.recovered == "yes" for each in own if each.spec.problem == name]
            row |= {name: sum(won), f"runs {name}": len(won)}
            ours.append((sum(won), len(won)))
            theirs.append((published.ALTERED.count(name, "dsr"), published.ALTERED.runs))
        if all(runs for _, runs in ours):
            pairs = zip(ours, theirs, strict=True)
            row["p"] = min(statistics.p_value([one], [other]) for one, other in pairs)
            data.append(row)
    data.sort(key=lambda row: -row["p"])
    rows = [
        [
            *(f"{row[name]:g}" for name in GRID),
            *(f"{row[name]} of {row[f'runs {name}']}" for name in names),
            f"{row['p']:.2g}",
        ]
        for row in data[:_SHOWN]
    ]
    printed = ", ".join(f"{percent(published.ALTERED.rows[n]['dsr'])} % of {n}" for n in names)
    both = sum(row["p"] >= CHANCE for row in data)
    note = (
        f"The nearest of {len(data)} combinations with 2 million expressions; the paper recovers"
        f" {printed}. p: the lesser of Fisher's exact tests on these. It is at least {CHANCE:g}"
        f" for {both} of them."
    )
    columns = [*(name.replace("_", " ") for name in GRID), *names, "p"]
    return ResultTable("grid", "Other settings, recovered runs", columns, rows, data, note)


SETTINGS = Experiment(
    "settings",
    "Which settings give the paper's figures",
    "DSR with other batches, budgets, limits on constants and a rule for underflow, on Jin and on"
    " Nguyen, altered and with constants, one row of which may be the paper's own.",
    "Tables 1, 7 and 9",
    100,
    _specs,
    _report,
)

EXPERIMENTS = (SETTINGS,)
