"""The runs of `symseek srbench`, and what is reported of them: rates, what was missed, a figure."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.reports.cells import number, percent, rate_row, rate_text
from symseek.lab.reports.experiment import Drawing, Experiment, Report, grouped
from symseek.lab.reports.report import Request, seeds_text
from symseek.lab.reports.tables import NOTHING, ResultTable
from symseek.lab.srbench.execute import METHOD
from symseek.lab.srbench.protocol import LEVELS, NAMES
from symseek.lab.srbench.published import SYSTEMS

SEEDS = 3
SECONDS, THREADS = 60.0, 2

Row: TypeAlias = Mapping[str, Any]

#: The grades, as columns of a run, and what a table calls them.
GRADES = {
    "form": "form right",
    "solved": "solved, SRBench's rule",
    "positive": "the same, signs of the columns known",
    "accurate": "accurate, R2 > 0.999",
}
SUITES = ("Feynman", "Strogatz")
ALL = "All"

_LONGEST = 90  # characters of a formula in a table for people


@dataclass(frozen=True)
class SRBenchRequest(Request):
    """What was asked for, and the command that asks for it again.

    >>> SRBenchRequest("srbench", range(3), levels=(0.0, 0.01), seconds=600.0).command
    'symseek srbench --seeds 3 --noise 0,0.01 --seconds 600'
    """

    levels: tuple[float, ...] = LEVELS
    seconds: float = SECONDS
    threads: int = THREADS

    @property
    def command(self) -> str:
        words = ["symseek", "srbench", "--seeds", seeds_text(self.seeds)]
        if self.levels != LEVELS:
            words += ["--noise", ",".join(f"{each:g}" for each in self.levels)]
        words += ["--seconds", f"{self.seconds:g}"] if self.seconds != SECONDS else []
        words += ["--threads", str(self.threads)] if self.threads != THREADS else []
        words += ["--problems", ",".join(self.problems)] if self.problems else []
        words += ["--max-expressions", str(self.max_expressions)] if self.max_expressions else []
        return shlex.join(words)


def experiment(asked: SRBenchRequest) -> Experiment:
    """The experiment, with the noise and the budget that were asked for.

    >>> found = experiment(SRBenchRequest("srbench", range(3)))
    >>> len(found.specs([0], False)), found.specs([0], False)[0].problem
    (520, 'feynman_I_6_2')
    """
    settings = {"seconds": float(asked.seconds), "threads": asked.threads}

    def specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
        return [
            Spec(METHOD, name, seed, {"noise": float(level), **settings})
            for seed in seeds
            for level in asked.levels
            for name in NAMES
        ]

    return Experiment(
        "srbench",
        "SRBench's problems with known formulas",
        f"A fit without settings but for SRBench's limit of 1,000,000 evaluations,"
        f" {asked.seconds:g} seconds on {asked.threads} threads, on 116 laws"
        " of physics and 14 right-hand sides of differential equations, with and without noise.",
        "the protocol of SRBench",
        SEEDS,
        specs,
        _report,
    )


def _report(records: Sequence[Record]) -> Report:
    data = _rates(records)
    tables = [_rate_table(data), _beside(data), _missed(records)]
    notes = [
        "Form right: exact once its numbers are fitted again to rows without noise, with no part"
        " that vanishes then. Solved: as printed, numbers to three decimals, the law up to an added"
        " constant or a factor.",
        "Seconds limit the runs, so other machines may find other formulas.",
    ]
    return Report(tables, [Drawing("srbench", _drawn(data))], notes)


# --- rates


def _level(record: Record) -> float:
    return float(record.spec.settings.get("noise", 0.0))


def _grade(record: Record, name: str) -> bool:
    return bool(record.curve.get(name, [False])[0])


def _rates(records: Sequence[Record]) -> list[dict[str, Any]]:
    """A row for each grade, noise and suite that has runs."""
    rows: list[dict[str, Any]] = []
    for name in GRADES:
        for level, group in sorted(grouped(records, _level).items()):
            for suite in (*SUITES, ALL):
                own = [each for each in group if suite in (ALL, _suite(each.spec.problem))]
                if own:
                    rate = rate_row(sum(_grade(each, name) for each in own), len(own))
                    seconds = statistics.median(each.seconds or 0.0 for each in own)
                    where = {"grade": name, "noise": level, "suite": suite}
                    rows.append({**where, **rate, "median_seconds": seconds})
    return rows


def _suite(problem: str) -> str:
    return problems.load(problem).suite


def _rate_table(data: Sequence[Row]) -> ResultTable:
    found = {(row["grade"], row["noise"], row["suite"]): row for row in data}
    rows = []
    for grade, noise in dict.fromkeys((row["grade"], row["noise"]) for row in data):
        cells = [found.get((grade, noise, suite)) for suite in (*SUITES, ALL)]
        seconds = found[grade, noise, ALL]["median_seconds"]
        texts = [NOTHING if cell is None else rate_text(cell) for cell in cells]
        runs = str(found[grade, noise, ALL]["runs"])
        rows.append([GRADES[grade], f"{noise:g}", *texts, runs, f"{seconds:.1f}"])
    columns = ["Grade", "Noise", *(f"{suite}, %" for suite in (*SUITES, ALL)), "Runs", "Seconds"]
    note = (
        "Percent of the runs [95 % interval]; median seconds of a run. Noise on the target to train"
        " on, in parts of its root mean square."
    )
    return ResultTable("rates", "Rates by noise", columns, rows, data, note)


def _beside(data: Sequence[Row]) -> ResultTable:
    """The rates of others beside ours."""
    levels = sorted({row["noise"] for row in data} | set(LEVELS))
    ours = {
        grade: {
            row["noise"]: row["value"]
            for row in data
            if row["grade"] == grade and row["suite"] == ALL
        }
        for grade in ("solved", "form")
    }
    seconds = statistics.median(row["median_seconds"] for row in data if row["suite"] == ALL)
    lines: list[tuple[str, Mapping[float, float], str, str]] = [
        ("symseek, solved", ours["solved"], f"{seconds:.0f} s", "this report"),
        ("symseek, form right", ours["form"], f"{seconds:.0f} s", "this report"),
    ]
    for each in SYSTEMS:
        only = ", Feynman only" if each.feynman_only else ""
        lines.append((each.name + only, each.solved, each.cost or NOTHING, each.source))
    rows = [
        [name, *(_cell(rates.get(level)) for level in levels), cost, source]
        for name, rates, cost, source in lines
    ]
    flat = [
        {"system": name, "noise": level, "value": rates[level], "source": source}
        for name, rates, _, source in lines
        for level in levels
        if level in rates
    ]
    columns = ["System", *(f"Noise {level:g}" for level in levels), "A problem", "Source"]
    note = "Solved problems in percent. Others had other budgets and machines; see their sources."
    return ResultTable("beside", "Beside published rates", columns, rows, flat, note)


def _cell(value: float | None) -> str:
    return NOTHING if value is None else percent(value)


def _drawn(data: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows of the figure."""
    ours = [
        {"system": f"symseek, {name}", "level": row["noise"], "rate": row["value"]}
        | {"low": row["low"], "high": row["high"], "ours": True}
        for grade, name in (("solved", "solved"), ("form", "form right"))
        for row in data
        if row["grade"] == grade and row["suite"] == ALL
    ]
    theirs = [
        {"system": each.name, "level": level, "rate": rate, "ours": False}
        for each in SYSTEMS
        if not each.feynman_only
        for level, rate in each.solved.items()
    ]
    return ours + theirs


# --- what was missed


def _missed(records: Sequence[Record]) -> ResultTable:
    """The problems of which a run has the wrong form or is not solved, with what was found."""
    order = {name: at for at, name in enumerate(NAMES)}
    groups = grouped(records, lambda each: (order[each.spec.problem], _level(each)))
    rows, data = [], []
    for _, group in sorted(groups.items()):
        wrong, unsolved = (_without(group, name) for name in ("form", "solved"))
        missed = _together(wrong, unsolved)
        if missed:
            right = (f"{len(group) - len(each)}/{len(group)}" for each in (wrong, unsolved))
            rows.append(_missed_row((wrong or unsolved)[0], *right))
            data += [_missed_data(each) for each in missed]
    columns = ["Problem", "Noise", "Law", "Form", "Solved", "Found instead", "Test R2"]
    note = "Runs with the right form and solved runs, of all; the first formula that is not both."
    return ResultTable("missed", "What was missed", columns, rows, data, note)


def _missed_row(record: Record, form: str, solved: str) -> list[str]:
    name = record.spec.problem
    law, found = problems.load(name).expression, record.expression
    score = number(record.curve.get("r2", [None])[0], 4)
    return [name, f"{_level(record):g}", _short(law), form, solved, _short(found), score]


def _missed_data(record: Record) -> dict[str, Any]:
    name, curve = record.spec.problem, record.curve
    return {
        "problem": name,
        "noise": _level(record),
        "seed": record.spec.seed,
        "law": problems.load(name).expression,
        "found": record.expression,
        "form": _grade(record, "form"),
        "solved": _grade(record, "solved"),
        "r2": curve.get("r2", [None])[0],
        "why": curve.get("reason", [record.reason])[0],
    }


def _without(records: Sequence[Record], grade: str) -> list[Record]:
    return [each for each in records if not _grade(each, grade)]


def _together(*groups: Sequence[Record]) -> list[Record]:
    """The runs of any group, each once, by seed."""
    found = {each.spec.key: each for group in groups for each in group}
    return sorted(found.values(), key=lambda each: each.spec.seed)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
