"""One page: every table and figure of the paper, and ours beside it, from stored runs.

The runs are those of the reports, in `FOLDER/*/NAME-runs.csv.gz`; `stored` says which of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from symseek.jobs.record import Record
from symseek.lab import problems
from symseek.lab.paper import literature, published, settings
from symseek.lab.paper.catalogue import EXPERIMENTS
from symseek.lab.paper.measures import error_table, label
from symseek.lab.paper.stored import Found, Key, key_of, largest, on_problem, runs_in
from symseek.lab.reports import statistics
from symseek.lab.reports.cells import number, or_infinite, percent, recovered
from symseek.lab.reports.experiment import Experiment
from symseek.lab.reports.tables import NOTHING, ResultTable, to_markdown

CHANCE = 0.05
_RATES = (  # title, experiment, the paper's table
    ("Table 1", "table1", published.RECOVERY),
    ("Table 9, altered", "variations", published.ALTERED),
    ("Table 9, with constants", "variations", published.CONSTANTS),
    ("Table 5", "ssr", published.SSR),
)
_METHODS = ("dsr", "pqt", "vpg", "gp")
_SHARED = {"curves": "table1"}  # experiments whose runs are another's

# --- rates


def compared(paper: published.PublishedTable, found: Found) -> list[dict[str, Any]]:
    """Every problem and method that both have: rates, p, and p by Holm's correction."""
    data: list[dict[str, Any]] = []
    own = on_problem(found, paper.rows)
    for method in _METHODS:
        rows: list[dict[str, Any]] = []
        for name in paper.rows:
            if (name, method) not in own or method not in paper.rows[name]:
                continue
            runs = own[name, method]
            won, count = recovered(runs.records)
            p = statistics.p_value([(won, count)], [(paper.count(name, method), paper.runs)])
            row = {"method": method, "problem": name, "recovered": won, "runs": count, "p": p}
            printed = {"paper": paper.rows[name][method], "strict": runs.strict}
            rows.append({**row, **printed, "folder": runs.folder})
        for row, p in zip(rows, statistics.holm([row["p"] for row in rows]), strict=True):
            row["holm"] = p
        data += rows
    return data


def _rate_table(title: str, paper: published.PublishedTable, data: Sequence[Any]) -> ResultTable:
    """A line for each problem, a cell for each method."""
    methods = [each for each in _METHODS if any(row["method"] == each for row in data)]
    cells = {(row["problem"], row["method"]): row for row in data}
    lines = []
    for name in paper.rows:
        line = [cells.get((name, method)) for method in methods]
        lines.append([name, *(NOTHING if row is None else _rate_cell(row) for row in line)])
    averages, chances = ["average"], ["p, all problems"]
    for method in methods:
        own = [row for row in data if row["method"] == method]
        rate = sum(100 * row["recovered"] / row["runs"] for row in own) / len(own)
        printed = sum(row["paper"] for row in own) / len(own)
        averages.append(f"{percent(rate)} ({percent(printed)})")
        ours = [(row["recovered"], row["runs"]) for row in own]
        theirs = [(paper.count(row["problem"], method), paper.runs) for row in own]
        chances.append(f"{statistics.p_value(ours, theirs):.2g}")
    note = (
        f"A cell: recovered, of how many runs (the paper's, in percent, of {paper.runs}). In bold,"
        f" outside chance: p < {CHANCE:g} by the exact test, with Holm's correction over the"
        " problems of a method. † An underflow is valid in these runs, and so it is in GP's."
    )
    columns = ["", *map(label, methods)]
    return ResultTable("", title, columns, [*lines, averages, chances], [], note)


def _rate_cell(row: Mapping[str, Any]) -> str:
    mark = "" if row["strict"] or row["method"] == "gp" else "†"
    text = f"{row['recovered']} of {row['runs']}{mark} ({percent(row['paper'])})"
    return text if row["holm"] >= CHANCE else f"**{text}**"


# --- errors


def _error_tables(stored: Mapping[str, Found]) -> list[ResultTable]:
    """Mean and median errors; which of them is outside chance can be tested on Jin alone."""
    tables = []
    for title, name, paper, log in (
        ("Table 6, log(1 + MSE) of ten runs", "grammarvae", published.GRAMMAR_VAE, True),
        ("Table 7, mean RMSE", "bsr", published.BSR, False),
        ("Table 8, median RMSE", "neatgp", published.NEAT, False),
    ):
        own = on_problem(stored.get(name, {}), paper.rows)
        records = [each for runs in own.values() for each in runs.records[: 10 if log else None]]
        if not records:
            continue
        statistic = statistics.median if name == "neatgp" else statistics.mean
        error = literature.log_error if log else _test_rmse
        tables.append(error_table("", title, records, paper, error, statistic))
    return tables


def _average_errors(found: Found) -> ResultTable:
    """Table 10: the mean over the problems of a set that both have, of their mean errors."""
    lines = []
    for title, paper in (
        ("Nguyen", published.NRMSE),
        ("altered", published.NRMSE_ALTERED),
        ("with constants", published.NRMSE_CONSTANTS),
    ):
        own = on_problem(found, paper.rows)
        line = [title]
        for method in _METHODS:
            names = [name for name in paper.rows if (name, method) in own]
            errors = [
                float(np.mean([or_infinite(e.test_nrmse) for e in own[name, method].records]))
                for name in names
            ]
            printed = [paper.rows[name][method] for name in names]
            pair = [number(sum(each) / len(names)) for each in (errors, printed) if names]
            of = "" if len(names) == len(paper.rows) else f", {len(names)} problems"
            line.append(f"{pair[0]} ({pair[1]}){of}" if pair else NOTHING)
        lines.append(line)
    note = (
        "The mean over the problems (the paper's over the same ones, from rows of three digits). A"
        " run whose formula is undefined on a test point has an infinite error."
    )
    columns = ["Set", *map(label, _METHODS)]
    return ResultTable("", "Table 10, mean NRMSE on the test points", columns, lines, [], note)


def _test_rmse(record: Record) -> float | None:
    return record.test_rmse


def _jin(stored: Mapping[str, Found]) -> list[dict[str, Any]]:
    """Jin's errors against the printed means and deviations."""
    paper, rows = published.BSR, list[dict[str, Any]]()
    own = on_problem(stored.get("bsr", {}), paper.rows)
    for name in paper.rows:
        if (name, "dsr") in own:
            runs = own[name, "dsr"]
            values = [or_infinite(each.test_rmse) for each in runs.records]
            printed = paper.rows[name]["dsr"]
            p = settings.same_mean(values, printed, paper.deviations[name]["dsr"], paper.runs)
            if not math.isnan(p):
                ours = f"{number(statistics.mean(values).value)} of {len(values)}"
                row = {"method": "dsr", "problem": name, "ours": ours, "p": p}
                rows.append({**row, "printed": number(printed)})
    for row, p in zip(rows, statistics.holm([row["p"] for row in rows]), strict=True):
        row["holm"] = p
    return rows


# --- differences, and what is known of them


def _differences(
    stored: Mapping[str, Found], rates: Mapping[str, Sequence[Mapping[str, Any]]]
) -> ResultTable:
    """What is outside chance, and whether any other settings give the paper's figure."""
    study = settings.found_by(
        each for runs in stored.get("settings", {}).values() for each in runs.records
    )
    rows = [
        {**row, "where": title, "ours": f"{row['recovered']} of {row['runs']}"}
        | {"printed": percent(row["paper"])}
        for title, data in rates.items()
        for row in data
    ]
    rows += [{**row, "where": "Table 7"} for row in _jin(stored)]
    lines = [
        [
            *(row["where"], label(row["method"]), row["problem"], row["ours"], row["printed"]),
            *(f"{row['holm']:.2g}", _evidence(row, study)),
        ]
        for row in rows
        if row["holm"] < CHANCE
    ]
    columns = ["In the paper", "Method", "Problem", "Ours", "Paper", "p, Holm", "Evidence"]
    note = (
        "Evidence: of the settings in the study (`symseek paper settings`), how many give the"
        f" paper's figure but for chance (p ≥ {CHANCE:g}, not corrected), and the likeliest."
    )
    return ResultTable("", "Differences outside chance", columns, lines, [], note)


def _evidence(row: Mapping[str, Any], study: Mapping[Any, Any]) -> str:
    group = next((each for each in settings.GROUPS if row["problem"] in each.names), None)
    own = [] if group is None else settings.rows_of(group, row["problem"], study)
    known = [each for each in own if not math.isnan(each["p"])]
    if row["method"] != "dsr" or not known:
        return "none: not a part of the study"
    agreeing = sum(each["p"] >= CHANCE for each in known)
    best = max(known, key=lambda each: float(each["p"]))
    value = percent(best["value"]) if "recovered" in best else number(best["value"])
    nearest = f"{best['condition']}, {best['steps']:,} steps: {value} in {best['runs']} runs"
    said = f"{agreeing} of {len(known)}" if agreeing else f"none of {len(known)}"
    return f"{said}; {nearest} (p = {best['p']:.2g})"


# --- seeds


def _seeds(folder: Path, stored: Mapping[str, Found]) -> ResultTable:
    """Every experiment: our seeds and the paper's, and the time of what is missing."""
    lines = []
    for name, experiment in EXPERIMENTS.items():
        found = stored.get(_SHARED.get(name, name), {})
        have: dict[str, set[int]] = {}
        missing: dict[str, int] = {}
        left: dict[str, int] = {}  # expressions
        for key, (count, budget) in _wanted(experiment).items():
            runs = min(count, len(found[key].records)) if key in found else 0
            have.setdefault(key[0], set()).add(runs)
            missing[key[0]] = missing.get(key[0], 0) + count - runs
            left[key[0]] = left.get(key[0], 0) + budget * (count - runs)
        ours = ", ".join(f"{label(method)} {_span(counts)}" for method, counts in have.items())
        reports = sorted(folder.glob(f"*/{name}.md"))
        links = ", ".join(f"[{path.parent.name}]({path.relative_to(folder)})" for path in reports)
        times = "; ".join(
            f"{label(method)} {count:,}: {_hours(left[method], method, found)}"
            for method, count in missing.items()
            if count
        )
        source = experiment.source[0].upper() + experiment.source[1:]
        lines.append([source, f"`{name}`", links, ours, str(experiment.seeds), times or "none"])
    columns = ["In the paper", "Experiment", "Reports", "Seeds", "Paper's", "Missing, runs: hours"]
    note = (
        "Seeds: of the problems or settings with the fewest and the most runs. Hours: of one core,"
        " or of one GPU where the other runs were done there, by the runs that are done and the"
        " budgets. What is below the paper's seeds waits for these hours."
    )
    return ResultTable("", "Seeds", columns, lines, [], note)


def _wanted(experiment: Experiment) -> dict[Key, tuple[int, int]]:
    """How many runs of each kind the paper has, and their budget."""
    seeds = range(experiment.seeds)
    first, last = ({key_of(e) for e in experiment.specs([seeds[at]], False)} for at in (0, -1))
    if first == last:  # nearly everywhere every seed has the same runs
        specs, times = experiment.specs([0], False), len(seeds)
    else:
        specs, times = experiment.specs(seeds, False), 1
    counts: dict[Key, tuple[int, int]] = {}
    for spec in specs:
        so_far = counts.get(key_of(spec), (0, 0))[0]
        counts[key_of(spec)] = so_far + times, spec.settings["max_expressions"]
    return counts


def _span(counts: set[int]) -> str:
    least, most = min(counts), max(counts)
    return str(most) if least == most else f"{least} to {most}"


def _hours(expressions: int, method: str, found: Found) -> str:
    """What so many expressions would take in whole runs, if any were done."""
    done = [each for key, runs in found.items() if key[0] == method for each in runs.records]
    if not done:
        return "not known"
    on_gpu = [each for each in done if "gpu" in each.hardware]
    seconds = sum((each.seconds if on_gpu else each.wall) or 0.0 for each in on_gpu or done)
    budget = sum(each.spec.settings["max_expressions"] for each in on_gpu or done)
    hours = expressions * seconds / budget / 3600
    return f"{number(hours, 2)}{' of a GPU' if on_gpu else ''}"


# --- printed expressions


def _printed(stored: Mapping[str, Found]) -> ResultTable:
    """The expressions that the paper prints, and the nearest of ours to each."""
    lines = []
    for name, problem, formulas in (
        (
            "grammarvae",
            "GrammarVAE-1",
            [text for text, _ in published.GRAMMAR_VAE_BEST["dsr"]],
        ),
        ("harmonic", "Neat-6-extended", [published.HARMONIC.expression]),
    ):
        runs = on_problem(stored.get(name, {}), [problem])
        for text in formulas:
            for (_, method), own in runs.items():
                each, far = _nearest(text, problem, own.records)
                where = f"seed {each.spec.seed} of {len(own.records)}"
                lines.append([f"`{text}`", label(method), f"`{each.expression}`", where])
                lines[-1].append("found again" if far < 1e-12 else number(far))
    columns = ["The paper's", "Method", "The nearest of ours", "Run", "Greatest difference"]
    note = (
        "The greatest difference of the values on the training points, relative to the greatest"
        " value. Below 1e-12 it is the same formula but for rounding."
    )
    return ResultTable("", "Expressions that the paper prints", columns, lines, [], note)


def _nearest(text: str, problem: str, records: Sequence[Record]) -> tuple[Record, float]:
    """The run whose formula differs least from this one on the problem's points."""
    from symseek.programs import Program
    from symseek.tokens import OPERATORS, Library

    library = Library([*OPERATORS, "const"], problems.load(problem).variables)
    points = problems.load(problem).data().X_train

    def values(expression: str) -> Any:
        with np.errstate(all="ignore"):
            return Program.parse(expression, library).evaluate(points)

    truth = values(text)
    size = float(np.abs(truth).max())
    far = [float(np.abs(values(each.expression) - truth).max()) / size for each in records]
    least = min(range(len(far)), key=lambda at: far[at] if math.isfinite(far[at]) else math.inf)
    return records[least], far[least]


def page(folder: Path) -> str:
    """The page as Markdown, for a file in this folder."""
    read = runs_in(folder)
    stored = {name: largest(folders) for name, folders in read.items()}
    rates = {title: compared(paper, stored.get(name, {})) for title, name, paper in _RATES}
    shown = [(title, paper) for title, _, paper in _RATES if rates[title]]
    tables = [_differences(stored, rates)]
    tables += [_rate_table(title, paper, rates[title]) for title, paper in shown]
    tables += _error_tables(stored)
    if "variations" in stored:
        tables.append(_average_errors({**stored.get("table1", {}), **stored["variations"]}))
    if "runtimes" in read:
        records = [each for own in read["runtimes"].values() for each in own]
        (times,) = EXPERIMENTS["runtimes"].report(records).tables
        tables.append(replace(times, title="Table 11, runtimes on Nguyen"))
    tables += [_printed(stored), _seeds(folder, stored)]
    count = sum(len(records) for folders in read.values() for records in folders.values())
    outside = [row for data in rates.values() for row in data if row["holm"] < CHANCE]
    total = sum(len(data) for data in rates.values())
    intro = (
        f"Every table and figure of the paper and ours beside it, from {count:,} stored runs, made"
        f" by `symseek paper --page {folder}`; the reports name the commits and machines. Of"
        f" {total} recovery rates, {total - len(outside)} are within chance of the paper's. The"
        " paper prints no numbers for its figures; the reports have ours."
    )
    return "\n\n".join(["# The paper, beside ours", intro, *map(to_markdown, tables)]) + "\n"
