"""Four comparisons with figures from the literature, each on its own protocol, and one formula.

Others measured in their own way, so DSR is run in the same way: on their problems, with their
number of trials and their measure. The hybrid is run beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.paper import published
from symseek.lab.paper.measures import (
    by_problem,
    error_table,
    label,
    methods_of,
    rate_cell,
    recovery_table,
    significance_table,
)
from symseek.lab.paper.recovery_tables import QUICK, nguyen_specs
from symseek.lab.reports import statistics
from symseek.lab.reports.cells import bounds_text, number, or_infinite, rate_row, recovered
from symseek.lab.reports.experiment import Drawing, Experiment, Report, grouped, specs_for
from symseek.lab.reports.tables import ResultTable

METHODS = ("dsr", "hybrid")


def _errors(table: ResultTable, **more: str) -> Drawing:
    return Drawing("errors", [{**row, **more} for row in by_problem(table)])


# --- SSR: recovery on the first ten of Table 1


def _ssr_specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    names = QUICK[:1] if quick else list(published.SSR.rows)
    return nguyen_specs(METHODS, seeds, quick, names)


def _ssr(records: Sequence[Record]) -> Report:
    table = recovery_table("recovery", "Recovery", records, published.SSR, ("ssr",))
    tests = significance_table(records, published.SSR, ("ssr",))
    return Report([table, tests], [Drawing("table1", by_problem(table))])


SSR = Experiment(
    "ssr",
    "Against semantics-based symbolic regression",
    "Recovery on Nguyen-1 to 10 against what SSR reports (Huynh et al. 2016).",
    published.SSR.source,
    published.SSR.runs,
    _ssr_specs,
    _ssr,
)


# --- GrammarVAE: log(1 + MSE) of ten trials, the best expressions, recovery over all

_GRAMMAR = "GrammarVAE-1"
_TRIALS = published.GRAMMAR_VAE.runs
_SHOWN = 3  # best expressions
_LOG_ERROR = "log(1 + MSE)"
_ROUNDING = 1e-12  # errors of one formula in two spellings differ by less


def log_error(record: Record) -> float | None:
    """log(1 + MSE) of a run's best expression; the test points are the training points."""
    return None if record.test_rmse is None else math.log1p(record.test_rmse**2)


def _grammarvae(records: Sequence[Record]) -> Report:
    trials = _first_trials(records)
    error = error_table(
        "error",
        f"{_LOG_ERROR} of {_how_many(trials)}",
        trials,
        published.GRAMMAR_VAE,
        log_error,
        extra=("grammar_vae",),
    )
    tables = [error, _best_expressions(trials), _grammarvae_recovery(records)]
    return Report(tables, [_errors(error, measure=_LOG_ERROR)])


def _first_trials(records: Sequence[Record]) -> list[Record]:
    """The trials with the lowest seeds, as many as the comparison has."""
    groups = grouped(records, lambda each: each.spec.method)
    return [
        each
        for group in groups.values()
        for each in sorted(group, key=lambda each: each.spec.seed)[:_TRIALS]
    ]


def _how_many(trials: Sequence[Record]) -> str:
    """The trials of a method, which may be fewer than the comparison has."""
    counts = sorted(
        {len(group) for group in grouped(trials, lambda each: each.spec.method).values()}
    )
    if counts == [1]:
        return "1 trial"
    return " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1]))) + " trials"


def _best_expressions(trials: Sequence[Record]) -> ResultTable:
    """The best of all trials' best expressions, no formula twice."""
    data: list[dict[str, Any]] = []
    for method, shown in published.GRAMMAR_VAE_BEST.items():
        for rank, (expression, error) in enumerate(shown, 1):
            data.append(_ranked(f"{label(method)}, paper", rank, expression, error))
    for method, group in grouped(trials, lambda each: each.spec.method).items():
        for rank, each in enumerate(_different(group)[:_SHOWN], 1):
            error = or_infinite(log_error(each))
            data.append(_ranked(label(method), rank, each.expression, error))
    rows = [
        [row["method"], str(row["rank"]), row["expression"], number(row["error"])] for row in data
    ]
    columns = ["Method", "Rank", "Expression", _LOG_ERROR]
    note = f"The best expressions of {_how_many(trials)}. The paper's: Table 6."
    return ResultTable("expressions", "Best expressions", columns, rows, data, note)


def _different(group: Sequence[Record]) -> list[Record]:
    """The runs with an error, the best first, one for each formula."""
    known = [each for each in group if each.test_rmse is not None]
    kept: list[Record] = []
    for each in sorted(known, key=lambda each: or_infinite(each.test_rmse)):
        if not any(_same_formula(each, other) for other in kept):
            kept.append(each)
    return kept


def _same_formula(one: Record, other: Record) -> bool:
    """Whether two runs found one formula, in whatever spelling.

    All that recovered did. Others did if their errors differ by no more than rounding.
    """
    if one.recovered == other.recovered == "yes" or one.expression == other.expression:
        return True
    first, second = or_infinite(one.test_rmse), or_infinite(other.test_rmse)
    return math.isclose(first, second, rel_tol=_ROUNDING, abs_tol=_ROUNDING)


def _ranked(method: str, rank: int, expression: str, error: float) -> dict[str, Any]:
    return {"method": method, "rank": rank, "expression": expression, "error": error}


def _grammarvae_recovery(records: Sequence[Record]) -> ResultTable:
    printed = {"dsr": problems.load(_GRAMMAR).published["dsr"]}
    data: list[dict[str, Any]] = []
    for method, group in grouped(records, lambda each: each.spec.method).items():
        row = {"method": label(method), **rate_row(*recovered(group))}
        data.append(row | {"paper": printed.get(method)})
    data.append({"method": f"{label('grammar_vae')}, paper", "paper": 0.0})
    rows = [[row["method"], str(row.get("runs", "")), rate_cell(row)] for row in data]
    return ResultTable(
        "recovery",
        "Recovery over all trials",
        ["Method", "Trials", "Recovery, %"],
        rows,
        data,
        "A cell: measured here, [its 95 % interval], (the paper's figure, over 100 trials).",
    )


GRAMMARVAE = Experiment(
    "grammarvae",
    "Against GrammarVAE",
    "Error, best expressions and recovery on GrammarVAE's benchmark (Kusner et al. 2017).",
    "Table 6 and the text beside it",
    100,
    partial(specs_for, [_GRAMMAR], METHODS),
    _grammarvae,
)


# --- BSR and Neat-GP: errors on their own problems


def _suite_specs(suite: str, tried: Sequence[str], seeds: Sequence[int], quick: bool) -> list[Spec]:
    """The runs on a suite; of a quick try, those on some of its problems."""
    names = tried if quick else [each.name for each in problems.suite(suite)]
    return specs_for(names, METHODS, seeds, quick)


def _bsr(records: Sequence[Record]) -> Report:
    table = error_table(
        "rmse", "Mean RMSE", records, published.BSR, lambda each: each.test_rmse, extra=("bsr",)
    )
    return Report([table], [_errors(table)])


BSR = Experiment(
    "bsr",
    "Against Bayesian symbolic regression",
    "The mean error on the six Jin benchmarks against what BSR reports (Jin et al. 2019).",
    published.BSR.source,
    published.BSR.runs,
    partial(_suite_specs, "Jin", ["Jin-5"]),
    _bsr,
)


def _neatgp(records: Sequence[Record]) -> Report:
    table = error_table(
        "rmse",
        "Median RMSE",
        records,
        published.NEAT,
        lambda each: each.test_rmse,
        statistics.median,
        ("neat_gp",),
    )
    note = (
        "Neat-7 has 100,000 points: a grid of so many values of each of its two variables, which"
        " the paper's notation means, would have as many squared."
    )
    return Report([table], [_errors(table)], [note])


NEATGP = Experiment(
    "neatgp",
    "Against Neat-GP",
    "The median error on the nine Neat benchmarks against what Neat-GP reports"
    " (Trujillo et al. 2016).",
    published.NEAT.source,
    published.NEAT.runs,
    partial(_suite_specs, "Neat", ["Neat-1", "Neat-6"]),
    _neatgp,
)


# --- the harmonic numbers

_HARMONIC = "Neat-6-extended"
_FAR = 10**6  # a formula is tried on every number n up to here
_SHOWN_FORMULAS = 5


def _harmonic(records: Sequence[Record]) -> Report:
    data: list[dict[str, Any]] = [
        _formula_row("DSR, paper", published.HARMONIC.expression, None, None)
    ]
    best = sorted(records, key=lambda each: or_infinite(each.test_rmse))[:_SHOWN_FORMULAS]
    for each in best:
        data.append(
            _formula_row(label(each.spec.method), each.expression, each.spec.seed, each.test_rmse)
        )
    rows = [
        [
            row["method"],
            "" if row["seed"] is None else str(row["seed"]),
            row["expression"],
            number(row["test_rmse"]),
            number(row["worst"], 2),
        ]
        for row in data
    ]
    columns = ["Method", "Seed", "Formula", "RMSE to n = 120", "Greatest relative error"]
    note = (
        f"The greatest relative error is over every n to {_FAR:,}. The paper says less than"
        f" {published.HARMONIC.error:g} of its own; the digits that it prints give what is here."
    )
    formulas = ResultTable("formulas", "The best formulas", columns, rows, data, note)
    errors = _harmonic_errors(records)
    drawn = [{"problem": _HARMONIC, "paper": None, **row} for row in errors.data]
    return Report([formulas, errors], [Drawing("errors", drawn)])


def _harmonic_errors(records: Sequence[Record]) -> ResultTable:
    """The median error of each method."""
    groups = grouped(records, lambda each: each.spec.method)
    data: list[dict[str, Any]] = []
    for method in methods_of(records):
        errors = [or_infinite(each.test_rmse) for each in groups[method]]
        value, low, high = statistics.median(errors)
        row = {"method": method, "label": label(method), "runs": len(errors), "value": value}
        data.append(row | {"low": low, "high": high, "best": min(errors)})
    rows = [
        [
            row["label"],
            str(row["runs"]),
            f"{number(row['value'])} {bounds_text(row['low'], row['high'])}",
            number(row["best"]),
        ]
        for row in data
    ]
    columns = ["Method", "Runs", "Median RMSE to n = 120", "Best"]
    return ResultTable(
        "rmse", "Errors of all runs", columns, rows, data, "In brackets, 95 % intervals."
    )


def _formula_row(
    method: str, expression: str, seed: int | None, rmse: float | None
) -> dict[str, Any]:
    row = {"method": method, "seed": seed, "expression": expression, "test_rmse": rmse}
    return row | {"worst": worst_harmonic_error(expression)}


def worst_harmonic_error(expression: str, far: int = _FAR) -> float:
    """The greatest relative error of a formula for the harmonic numbers up to `far`.

    >>> worst_harmonic_error("log(x) + 0.5772156649 + 1/(2*x)", far=1000) < 0.08
    True
    """
    from symseek.programs import Program
    from symseek.tokens import OPERATORS, Library

    program = Program.parse(expression, Library([*OPERATORS, "const"], ["x"]))
    x = np.arange(1, far + 1, dtype=np.float64)
    truth = np.cumsum(1 / x)
    with np.errstate(all="ignore"):
        errors = np.abs(program.evaluate(x[:, None]) / truth - 1)
    return float(np.max(errors)) if np.isfinite(errors).all() else math.inf


HARMONIC = Experiment(
    "harmonic",
    "A formula for the harmonic numbers",
    "Neat-6 with log and const: how near a closed formula comes to the harmonic numbers.",
    published.HARMONIC.source,
    published.NEAT.runs,
    partial(specs_for, [_HARMONIC], METHODS),
    _harmonic,
)


EXPERIMENTS = (SSR, GRAMMARVAE, BSR, NEATGP, HARMONIC)
