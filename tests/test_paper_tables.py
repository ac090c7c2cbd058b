"""What the tables of the paper's experiments say of runs that are incomplete, equal or missing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from symseek.lab import Record, Spec, figures
from symseek.lab.paper import published
from symseek.lab.paper.catalogue import experiment
from symseek.lab.paper.grids import chosen
from symseek.lab.paper.literature import log_error
from symseek.lab.paper.measures import INCOMPLETE, error_table, recovery_table, significance_table
from symseek.lab.reports.experiment import Report
from symseek.lab.reports.statistics import median, wilson
from symseek.lab.reports.tables import ResultTable

NGUYEN = list(published.RECOVERY.rows)


def runs(
    method: str, problem: str, recovered: int, count: int, settings: dict[str, Any] | None = None
) -> list[Record]:
    """So many runs, the first of which recovered the formula."""
    return [
        Record(
            Spec(method, problem, seed, settings or {}),
            recovered="yes" if seed < recovered else "no",
            test_nrmse=0.5,
        )
        for seed in range(count)
    ]


def on_all(method: str, problems: Iterable[str], count: int = 10, **settings: Any) -> list[Record]:
    """Runs that recovered half of the time."""
    return [
        each for name in problems for each in runs(method, name, count // 2, count, dict(settings))
    ]


def row_of(table: ResultTable, first: str) -> list[str]:
    return next(list(row) for row in table.rows if row[0] == first)


def report(name: str, records: Sequence[Record]) -> Report:
    return experiment(name).report(records)


# --- averages


def test_a_method_without_every_problem_has_no_average() -> None:
    records = on_all("dsr", NGUYEN) + on_all("vpg", NGUYEN[:8])
    table = recovery_table("t", "T", records, published.RECOVERY, ("eureqa",))
    assert row_of(table, "Average")[2:] == ["50 [41, 59] (83.6)", "–", "73.9"]
    line = next(row for row in table.data if (row["problem"], row["method"]) == ("Average", "vpg"))
    assert (line["value"], line["low"], line["paper"]) == (None, None, None)
    assert (line["recovered"], line["runs"]) == (40, 80)


def test_an_error_without_every_problem_has_no_average() -> None:
    records = on_all("dsr", NGUYEN) + on_all("vpg", NGUYEN[:8])
    table = error_table(
        "t", "T", records, published.NRMSE, lambda each: each.test_nrmse, extra=("eureqa",)
    )
    assert row_of(table, "Average")[2:] == ["0.5 (0.019 ± 0.059)", "–", "0.013 ± 0.046"]


def test_an_average_of_fewer_problems_has_none_of_the_paper_beside_it() -> None:
    table = recovery_table("t", "T", on_all("dsr", NGUYEN[:8]), published.RECOVERY)
    assert row_of(table, "Average")[2:] == ["50 [39, 61]"]


@pytest.mark.parametrize(
    "counts",
    [[(100, 100), (0, 1)], [(0, 100), (1, 1)], [(1, 1), (0, 1), (50, 1000)], [(99, 100), (5, 5)]],
)
def test_an_average_is_within_its_interval(counts: list[tuple[int, int]]) -> None:
    records = [
        each
        for name, (won, count) in zip(NGUYEN, counts, strict=False)
        for each in runs("dsr", name, won, count)
    ]
    average = recovery_table("t", "T", records, published.RECOVERY).data[-1]
    mean = 100 * sum(won / count for won, count in counts) / len(counts)
    assert average["value"] == pytest.approx(mean)
    assert average["low"] <= average["value"] <= average["high"]


def test_with_equally_many_runs_an_average_has_the_interval_of_all_pooled() -> None:
    records = [each for i, name in enumerate(NGUYEN) for each in runs("dsr", name, (3 * i) % 8, 7)]
    average = recovery_table("t", "T", records, published.RECOVERY).data[-1]
    pooled = [100 * bound for bound in wilson(average["recovered"], 7 * 12)]
    assert [average[name] for name in ("value", "low", "high")] == pytest.approx(pooled)


def test_few_runs_on_one_problem_make_an_average_less_certain() -> None:
    def width(last: int) -> float:
        records = runs("dsr", "Nguyen-1", 50, 100) + runs("dsr", "Nguyen-2", last // 2, last)
        average = recovery_table("t", "T", records, published.RECOVERY).data[-1]
        return float(average["high"] - average["low"])

    assert width(2) > 2 * width(100)


# --- conditions that are compared over all problems


def test_ablations_tell_their_runs_and_mark_what_is_incomplete() -> None:
    records = on_all("dsr", NGUYEN) + on_all("dsr", NGUYEN[:3], ablation="No risk")
    (table,) = report("ablations", records).tables
    assert row_of(table, "DSR")[1] == "50 [41, 59] of 120"
    assert row_of(table, "No risk")[1] == "50 [33, 67] of 30*"
    assert INCOMPLETE in table.note
    assert [(row["problems"], row["complete"]) for row in table.data] == [(12, True), (3, False)]


def test_ablations_on_the_same_problems_are_not_marked() -> None:
    records = on_all("dsr", NGUYEN[:3]) + on_all("dsr", NGUYEN[:3], ablation="No risk")
    (table,) = report("ablations", records).tables
    assert not any("*" in cell for row in table.rows for cell in row)
    assert "*" not in table.note


def test_of_conditions_on_different_problems_none_is_complete() -> None:
    records = on_all("gp", NGUYEN[:3]) + on_all("gp", NGUYEN[1:4], constraints=True)
    (table,) = report("gp-constraints", records).tables
    assert [row[1][-1] for row in table.rows] == ["*", "*"]


@pytest.mark.parametrize(("problems", "shown"), [(NGUYEN, True), (NGUYEN[:11], False)])
def test_the_papers_average_stands_beside_all_twelve_problems(
    problems: list[str], shown: bool
) -> None:
    (ablations,) = report("ablations", on_all("dsr", problems)).tables
    assert ("Its full method recovers 83.6." in ablations.note) == shown
    assert ablations.data[0]["paper"] == (83.6 if shown else None)
    gp = on_all("gp", problems) + on_all("gp", problems, constraints=True)
    (constrained,) = report("gp-constraints", gp).tables
    assert [row[-1] for row in constrained.rows] == (["60.1", "32.3"] if shown else ["–", "–"])
    (checkpoints,) = report("curves", with_curves(on_all("dsr", problems))).tables
    assert checkpoints.rows[0][-1] == ("83.6" if shown else "–")


def test_noise_tells_its_runs_and_marks_what_is_incomplete() -> None:
    noisy = on_all("dsr", NGUYEN[:2], noise=0.1)
    (table,) = report("noise", on_all("dsr", NGUYEN[:4]) + noisy).tables
    cells = {(row[0], row[1]): row[2] for row in table.rows}
    assert cells["0", "1×"] == "50 [35, 65] of 40"
    assert cells["0.1", "1×"] == "50 [30, 70] of 20*"
    assert INCOMPLETE in table.note


def test_noisy_rewards_tell_their_runs() -> None:
    records = on_all("dsr", ["Nguyen-4"]) + on_all("dsr", ["Nguyen-4"], 4, reward_noise=0.5)
    (table,) = report("reward-noise", records).tables
    assert [row[1].split(" of ")[1] for row in table.rows] == ["10", "4"]


def test_curves_tell_their_runs_and_mark_what_is_incomplete() -> None:
    records = with_curves(on_all("dsr", NGUYEN) + on_all("vpg", NGUYEN[:3]))
    (table,) = report("curves", records).tables
    assert [row[:2] for row in table.rows] == [["DSR", "120"], ["VPG", "30*"]]
    assert [row[-1] for row in table.rows] == ["83.6", "–"]
    assert INCOMPLETE in table.note


def with_curves(records: Sequence[Record]) -> list[Record]:
    curve = {"expressions": [100], "best": [0.5]}
    return [
        Record(
            Spec(each.spec.method, each.spec.problem, each.spec.seed, {"max_expressions": 100}),
            recovered=each.recovered,
            evaluations=100,
            curve=curve,
        )
        for each in records
    ]


# --- errors


def with_errors(method: str, problem: str, errors: Sequence[float | None]) -> list[Record]:
    return [
        Record(Spec(method, problem, seed), test_rmse=error) for seed, error in enumerate(errors)
    ]


def test_the_deviation_is_explained_and_left_out_where_an_error_is_infinite() -> None:
    records = with_errors("dsr", "Jin-1", [1.0, 3.0])
    records += with_errors("dsr", "Jin-2", [1.0, 3.0, None])
    (table,) = report("bsr", records).tables
    assert "± the standard deviation over the runs" in table.note
    assert row_of(table, "Jin-1")[2].startswith("2 ± 1 [1, 3]")
    assert row_of(table, "Jin-2")[2].startswith("infinite [")
    assert [row["deviation"] for row in table.data[:4:2]] == [1.0, None]


def test_a_median_has_no_deviation_to_explain() -> None:
    records = with_errors("dsr", "Neat-1", [1.0, 3.0])
    table = error_table("t", "T", records, published.NEAT, lambda each: each.test_rmse, median)
    assert "±" not in table.note + table.rows[0][2]


def test_an_error_figure_says_what_the_error_is() -> None:
    records = with_errors("dsr", "GrammarVAE-1", [0.1, 0.2])
    (figure,) = report("grammarvae", records).figures
    assert figures.errors(figure.data).axes[0].get_xlabel() == "log(1 + MSE)"
    (other,) = report("bsr", with_errors("dsr", "Jin-1", [0.1, 0.2])).figures
    assert figures.errors(other.data).axes[0].get_xlabel() == "error on the test points"


# --- comparisons


def test_comparisons_that_were_not_made_have_no_verdict() -> None:
    table = significance_table(on_all("hybrid", NGUYEN[8:]), published.RECOVERY, ("wolfram",))
    assert table.rows == []
    assert table.data == []


def test_doubts_about_the_papers_runs_are_told_where_they_matter() -> None:
    (variations,) = (
        table
        for table in report("variations", on_all("dsr", published.CONSTANTS.rows)).tables
        if table.name == "significance-constants"
    )
    assert "multiples of ten" in variations.note
    altered = significance_table(on_all("dsr", published.ALTERED.rows), published.ALTERED)
    assert "multiples of ten" not in altered.note


# --- GrammarVAE's best expressions


def trial(seed: int, expression: str, rmse: float | None, recovered: Any = "no") -> Record:
    spec = Spec("dsr", "GrammarVAE-1", seed)
    return Record(spec, recovered=recovered, expression=expression, test_rmse=rmse)


def best_expressions(records: Sequence[Record]) -> list[str]:
    table = report("grammarvae", records).tables[1]
    assert table.name == "expressions"
    return [row["expression"] for row in table.data if row["method"] == "DSR"]


def test_a_formula_is_among_the_best_once_whatever_its_spelling() -> None:
    near = 0.1234
    records = [
        trial(0, "1/3 + x + sin(x*x)", 1e-16, "yes"),
        trial(1, "x + sin(x*x) + 1/3", 3e-16, "yes"),
        trial(2, "x + sin(x*x)", near),
        trial(3, "sin(x*x) + x", near * (1 + 1e-13)),
        trial(4, "x + sin(x*x) + sin(1)", near * (1 + 1e-6)),
        trial(5, "x/0", None),
    ]
    assert best_expressions(records) == [
        "1/3 + x + sin(x*x)",
        "x + sin(x*x)",
        "x + sin(x*x) + sin(1)",
    ]


def test_what_only_rounding_tells_apart_is_the_same() -> None:
    records = [trial(0, "a", 1e-16), trial(1, "b", 2e-16, "undecided"), trial(2, "c", 1e-9)]
    assert best_expressions(records) == ["a", "c"]


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ((10, 12), "10 trials"),
        ((4, 4), "4 trials"),
        ((1, 1), "1 trial"),
        ((3, 50), "3 to 10 trials"),
    ],
)
def test_trials_are_counted(counts: tuple[int, int], shown: str) -> None:
    records = [
        record
        for method, count in zip(("dsr", "hybrid"), counts, strict=True)
        for record in with_errors(method, "GrammarVAE-1", [0.1] * count)
    ]
    error, expressions, _ = report("grammarvae", records).tables
    assert error.title == f"log(1 + MSE) of {shown}"
    assert f"of {shown}." in expressions.note
    assert error.data[0]["value"] == pytest.approx(log_error(records[0]) or math.nan)


# --- grids


def test_a_setting_that_is_on_or_off_is_written_so() -> None:
    settings = {**chosen("gp"), "constraints": True}
    records = on_all("gp", ["Nguyen-7"], **settings) + on_all("gp", ["Nguyen-7"], **chosen("gp"))
    (table,) = report("grid-gp", records).tables
    at = list(table.columns).index("constraints")
    assert {row[at] for row in table.rows} == {"yes", "no"}
    assert {row[list(table.columns).index("mutation")] for row in table.rows} == {"0.05"}
