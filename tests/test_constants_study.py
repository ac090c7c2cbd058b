"""The study of settings with constants: which row a run belongs to, and what agrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symseek.lab import Record, Spec, problems
from symseek.lab.paper.catalogue import experiment

STUDY = experiment("constants")
MILLION = 1_000_000


def run(problem: str, seed: int, half: float = 1.0, **more: Any) -> Record:
    """A run under the release's settings with three constants."""
    spec = next(
        each
        for each in STUDY.specs([seed], False)
        if each.problem == problem
        and each.settings["max_constants"] == 3
        and not each.settings.get("protected")
    )
    curve = {"halfway_rmse": [half]}
    return Record(spec, **{"evaluations": 2 * MILLION, "test_rmse": 0.0, "curve": curve, **more})


def cells(records: list[Record], table: str, problem: str) -> dict[str, Any]:
    """By row, what the data of a table says of a problem."""
    found = next(each for each in STUDY.report(records).tables if each.name == table)
    return {row["condition"]: row for row in found.data if row["problem"] == problem}


ONE, TWO = "3 constants, release, 1 M", "3 constants, release, 2 M"


def test_a_run_counts_in_both_budgets_as_it_stood_then() -> None:
    records = [run("Jin-1", seed, half=3.0 + seed, test_rmse=1.0) for seed in range(3)]
    found = cells(records, "jin", "Jin-1")
    assert found[ONE]["value"] == 4.0
    assert found[TWO]["value"] == 1.0
    assert found[TWO]["runs"] == 3


def test_a_run_that_ended_early_stood_at_its_end() -> None:
    done = run("Nguyen-8c", 0, evaluations=500_000, recovered="yes")
    late = run("Nguyen-8c", 1, evaluations=1_500_000, recovered="yes")
    found = cells([done, late], "nguyen-c", "Nguyen-8c")
    assert (found[ONE]["recovered"], found[TWO]["recovered"]) == (1, 2)


def test_an_exact_fit_of_the_test_points_is_a_success() -> None:
    spread = float(np.std(problems.load("Nguyen-8c").data().y_test))
    near = run("Nguyen-8c", 0, half=1e-5 * spread, test_rmse=1e-7 * spread)
    found = cells([near], "nguyen-c", "Nguyen-8c")
    assert (found[ONE]["recovered"], found[TWO]["recovered"]) == (0, 1)


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([0.0, 1e-14], "1 of 1"),
        ([0.0, 2.0, 2.0, 2.1, 2.0, 2.0], "0 of 1, not 2"),
        ([0.0], "too few runs"),
    ],
)
def test_the_table_says_where_it_agrees(errors: list[float], said: str) -> None:
    records = [run("Jin-2", seed, half=9.0, test_rmse=each) for seed, each in enumerate(errors)]
    (table,) = STUDY.report(records).tables
    assert {row[0]: row[-1] for row in table.rows}[TWO] == said


def test_jin_has_the_seeds_that_the_paper_took() -> None:
    specs = STUDY.specs([49, 50], False)
    seeds = {each.seed for each in specs if each.problem.startswith("Jin")}
    assert seeds == {49}
    assert len(specs) == 4 * (11 + 5)


def test_protected_runs_have_protected_operators() -> None:
    from symseek.lab.trials.plan import Plan

    spec = Spec("dsr", "Jin-1", 0, {"max_expressions": 4000, "protected": True})
    library = Plan.of(spec).library(problems.load("Jin-1"))
    names = {"protected_div", "protected_exp", "protected_square", "protected_cube", "sin", "add"}
    assert names < set(library.names)
    assert not {"div", "exp", "square", "cube"} & set(library.names)
