"""Tables of results, problem by problem and method by method, beside the paper's figures.

A cell reads `72 [63, 80] (72)`: what was measured here, its interval of 95 %, and in parentheses
what the paper reports. Methods that were not run here have only the paper's figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from symseek.jobs.record import Record
from symseek.lab import problems
from symseek.lab.paper import published
from symseek.lab.reports import statistics
from symseek.lab.reports.cells import (
    bounds_text,
    number,
    or_infinite,
    percent,
    rate_text,
    recovered,
)
from symseek.lab.reports.experiment import grouped
from symseek.lab.reports.statistics import Interval
from symseek.lab.reports.tables import NOTHING, ResultTable

AVERAGE = "Average"
CELL = (
    "A cell: measured here, [its 95 % interval], (the paper's figure)."
    " Columns marked “paper” were not run here: their figures are the paper's."
)
INCOMPLETE = "* Not all problems were run."
_DEVIATION = "Of what was measured here, ± the standard deviation over the runs."
_CAUTIONS = {  # by the paper's table
    published.CONSTANTS.source: (
        "The test takes the paper's word for its 100 runs, but nearly all of its rates here are"
        " multiples of ten: if they come from 10 runs, differences from them are less certain."
    )
}

Rates: TypeAlias = Mapping[tuple[str, str], tuple[int, int]]  # (problem, method): recovered, runs
Row: TypeAlias = dict[str, Any]
Statistic: TypeAlias = Callable[[Sequence[float]], Interval]

_OURS = {"hybrid": "Hybrid (ours)", "evolution": "Evolution (ours)"}


def label(method: str) -> str:
    """How a method is written.

    >>> label("dsr"), label("hybrid")
    ('DSR', 'Hybrid (ours)')
    """
    return _OURS.get(method) or published.LABELS.get(method, method)


def rates(records: Sequence[Record]) -> dict[tuple[str, str], tuple[int, int]]:
    """How many runs of each problem and method recovered the formula, and of how many."""
    groups = grouped(records, lambda each: (each.spec.problem, each.spec.method))
    return {key: recovered(group) for key, group in groups.items()}


# --- recovery


def rate_cell(row: Mapping[str, Any]) -> str:
    """What was measured and what the paper reports, as far as they are known."""
    printed = NOTHING if row["paper"] is None else percent(row["paper"])
    if row.get("value") is None:
        return printed
    return rate_text(row) + ("" if row["paper"] is None else f" ({printed})")


def recovery_table(
    name: str,
    title: str,
    records: Sequence[Record],
    paper: published.PublishedTable,
    extra: Sequence[str] = (),
) -> ResultTable:
    """Recovery in percent, and its average; `extra` are the methods that the paper alone has."""
    counts = rates(records)
    names, methods = problems_of(records), methods_of(records)
    data = [_rate_row(each, m, counts, paper) for each in names for m in [*methods, *extra]]
    data += [_average_row(m, names, counts, paper) for m in [*methods, *extra]]
    rows = _laid_out(data, [*methods, *extra], rate_cell)
    note = f"Recovery in percent. {CELL} The paper's: {paper.source}, {paper.runs} runs each."
    return ResultTable(name, title, _columns(methods, extra), rows, data, note)


def _laid_out(
    data: Sequence[Row], methods: Sequence[str], text: Callable[[Row], str]
) -> list[list[str]]:
    """A line for each problem, a cell for each method."""
    cells = {(row["problem"], row["method"]): text(row) for row in data}
    return [
        [each, formula(each), *(cells[each, method] for method in methods)]
        for each in dict.fromkeys(row["problem"] for row in data)
    ]


def by_problem(table: ResultTable) -> list[Mapping[str, Any]]:
    """The data without the averages."""
    return [row for row in table.data if row["problem"] != AVERAGE]


def problems_of(records: Sequence[Record]) -> list[str]:
    """The problems that were run, in the order of the benchmark list."""
    found = {record.spec.problem for record in records}
    return [name for name in problems.names() if name in found]


def methods_of(records: Sequence[Record]) -> list[str]:
    """The methods that were run: the paper's first, in its order."""
    found = {record.spec.method for record in records}
    known = [method for method in published.METHODS if method in found]
    return [*known, *sorted(found - set(known))]


def formula(problem: str) -> str:
    """The problem's formula; none for the row of averages."""
    return "" if problem == AVERAGE else problems.load(problem).expression


def _columns(methods: Sequence[str], extra: Sequence[str]) -> list[str]:
    return ["Benchmark", "Expression", *map(label, methods), *(f"{label(m)}, paper" for m in extra)]


def _rate_row(problem: str, method: str, counts: Rates, paper: published.PublishedTable) -> Row:
    won, runs = counts.get((problem, method), (0, 0))
    interval = statistics.wilson(won, runs) if runs else None
    printed = paper.rows.get(problem, {}).get(method)
    return _row(problem, method, interval, printed, recovered=won, runs=runs, scale=100)


def _average_row(
    method: str, names: Sequence[str], counts: Rates, paper: published.PublishedTable
) -> Row:
    """The mean of the rates, of a method that has runs on every problem."""
    found = [counts[name, method] for name in names if (name, method) in counts]
    won, runs = sum(k for k, _ in found), sum(n for _, n in found)
    interval = _mean_rate(found) if found and len(found) == len(names) else None
    printed = _printed_average(method, len(found), names, paper)
    return _row(AVERAGE, method, interval, printed, recovered=won, runs=runs, scale=100)


def _mean_rate(counts: Sequence[tuple[int, int]]) -> Interval:
    """The mean of the rates, in which every problem weighs the same.

    Its interval is that of as many pooled runs as make a rate as certain as this mean. Where all
    problems have equally many runs, these are all runs, and the interval is not too narrow.

    >>> _mean_rate([(9, 10), (5, 10)])[1:] == statistics.wilson(14, 20)[1:]
    True
    """
    rate = float(np.mean([won / runs for won, runs in counts]))
    pooled = round(len(counts) ** 2 / sum(1 / runs for _, runs in counts))
    _, low, high = statistics.wilson(round(rate * pooled), pooled)
    return Interval(rate, low, high)


def _printed_average(
    method: str, measured: int, names: Sequence[str], paper: published.PublishedTable
) -> float | None:
    """The paper's average, where ours is over the same problems or there is none of ours."""
    comparable = measured in (0, len(names)) and set(names) == set(paper.rows)
    return paper.averages.get(method) if comparable else None


def whole_average(method: str, names: Iterable[str]) -> float | None:
    """The paper's average of Table 1, for runs on all of its problems.

    >>> whole_average("dsr", published.RECOVERY.rows), whole_average("dsr", ["Nguyen-1"])
    (83.6, None)
    """
    paper = published.RECOVERY
    return paper.averages.get(method) if set(names) >= set(paper.rows) else None


def _row(
    problem: str,
    method: str,
    interval: Interval | None,
    printed: float | None,
    scale: float = 1.0,
    **more: Any,
) -> Row:
    """A line of data; what is missing is None."""
    value, low, high = interval or (None, None, None)
    scaled = [None if each is None else scale * each for each in (value, low, high)]
    return {
        "problem": problem,
        "expression": formula(problem),
        "method": method,
        "label": label(method),
        **more,
        "value": scaled[0],
        "low": scaled[1],
        "high": scaled[2],
        "paper": printed,
    }


# --- errors


def error_table(
    name: str,
    title: str,
    records: Sequence[Record],
    paper: published.PublishedTable,
    error: Callable[[Record], float | None],
    statistic: Statistic = statistics.mean,
    extra: Sequence[str] = (),
) -> ResultTable:
    """An error on the test points: a statistic over the runs, a mean with its deviation.

    A run without a finite error counts as infinitely wrong.
    """
    groups = grouped(records, lambda each: (each.spec.problem, each.spec.method))
    names, methods = problems_of(records), methods_of(records)
    data = []
    for each in names:
        for method in [*methods, *extra]:
            values = [or_infinite(error(run)) for run in groups.get((each, method), [])]
            data.append(_error_row(each, method, values, paper, statistic))
    if len(names) > 1:
        data += [_mean_of_errors(m, data, names, paper) for m in [*methods, *extra]]
    rows = _laid_out(data, [*methods, *extra], _error_text)
    spread = f" {_DEVIATION}" if statistic is statistics.mean else ""
    note = f"{paper.measure}. {CELL}{spread} The paper's: {paper.source}, {paper.runs} runs each."
    return ResultTable(name, title, _columns(methods, extra), rows, data, note)


def _error_row(
    problem: str,
    method: str,
    values: Sequence[float],
    paper: published.PublishedTable,
    statistic: Statistic,
) -> Row:
    interval = statistic(values) if values else None
    infinite = sum(not math.isfinite(value) for value in values)
    has_deviation = values and not infinite and statistic is statistics.mean
    deviation = float(np.std(values)) if has_deviation else None
    row = _row(problem, method, interval, paper.rows.get(problem, {}).get(method))
    printed = paper.deviations.get(problem, {}).get(method)
    return row | {
        "runs": len(values),
        "infinite": infinite,
        "deviation": deviation,
        "paper_deviation": printed,
    }


def _mean_of_errors(
    method: str, data: Sequence[Row], names: Sequence[str], paper: published.PublishedTable
) -> Row:
    """The mean over the problems of what was measured, of a method that has runs on all."""
    values = [row["value"] for row in data if row["method"] == method and row["runs"]]
    printed = _printed_average(method, len(values), names, paper)
    row = _row(AVERAGE, method, None, printed)
    deviation = paper.deviations.get(AVERAGE, {}).get(method) if printed is not None else None
    return row | {
        "value": float(np.mean(values)) if values and len(values) == len(names) else None,
        "paper_deviation": deviation,
    }


def _error_text(row: Row) -> str:
    printed, deviation = row["paper"], row["paper_deviation"]
    spread = "" if deviation is None else f" ± {number(deviation)}"
    theirs = NOTHING if printed is None else f"{number(printed)}{spread}"
    if row["value"] is None:
        return theirs
    ours = number(row["value"])
    if row.get("deviation") is not None:
        ours += f" ± {number(row['deviation'])}"
    bounds = "" if row["low"] is None else f" {bounds_text(row['low'], row['high'])}"
    return f"{ours}{bounds}" + ("" if printed is None else f" ({theirs})")


# --- is it chance?


def significance_table(
    records: Sequence[Record],
    paper: published.PublishedTable,
    extra: Sequence[str] = (),
    where: str = "",
) -> ResultTable:
    """The first method against every other, and every method here against the paper's figures.

    A comparison without a benchmark that both sides have is left out.
    """
    counts = rates(records)
    methods = methods_of(records)
    first = methods[0]
    pairs = [(first, other, False) for other in methods[1:]]
    pairs += [(method, method, True) for method in methods]
    pairs += [(first, other, True) for other in extra]
    compared = [_compared(*pair, counts, paper) for pair in pairs]
    data = [row for row in compared if row is not None]
    rows = [
        [row["ours"], row["theirs"], str(row["benchmarks"]), _p_text(row["p"]), row["verdict"]]
        for row in data
    ]
    columns = ["Ours", "Against", "Benchmarks", "p", "At the paper's level"]
    note = (
        "Exact test across benchmarks, two-sided: given how many runs recovered each, whose they"
        f" are is chance. The paper asks for p < {published.SIGNIFICANCE:g} and names no test."
    )
    note = f"{note} {_CAUTIONS.get(paper.source, '')}".rstrip()
    name, title = "significance", "Is the difference chance?"
    if where:
        name, title = f"{name}-{where}", f"Is the difference chance? ({where})"
    return ResultTable(name, title, columns, rows, data, note)


def _compared(
    method: str, other: str, printed: bool, counts: Rates, paper: published.PublishedTable
) -> Row | None:
    """One comparison, over the benchmarks that both sides have; None without any."""
    ours, theirs = [], []
    for (problem, each), count in counts.items():
        if each != method:
            continue
        if printed and other in paper.rows.get(problem, {}):
            ours.append(count)
            theirs.append((paper.count(problem, other), paper.runs))
        elif not printed and (problem, other) in counts:
            ours.append(count)
            theirs.append(counts[problem, other])
    if not ours:
        return None
    p = statistics.p_value(ours, theirs)
    return {
        "ours": label(method),
        "theirs": label(other) + (", paper" if printed else ""),
        "benchmarks": len(ours),
        "p": p,
        "verdict": _verdict(p, ours, theirs),
    }


def _verdict(p: float, ours: Sequence[tuple[int, int]], theirs: Sequence[tuple[int, int]]) -> str:
    if p >= published.SIGNIFICANCE:
        return "no difference shown"
    more = sum(k / n for k, n in ours) > sum(k / n for k, n in theirs)
    return "ours recovers more" if more else "ours recovers less"


def _p_text(p: float) -> str:
    return "< 1e-12" if p < 1e-12 else f"{p:.2g}"
