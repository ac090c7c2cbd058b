"""The study of settings: which rows a run belongs to, and what agrees with the paper."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symseek.errors import InputError
from symseek.lab import Record, Spec, problems
from symseek.lab.gpu.shapes import shape_of
from symseek.lab.paper.catalogue import experiment
from symseek.lab.paper.settings import Condition, conditions
from symseek.lab.reports.tables import ResultTable
from symseek.lab.trials.plan import Plan, on_engine

STUDY = experiment("settings")
MILLION = 1_000_000
STRICT = {"underflow_invalid": True}


def run(problem: str, seed: int, batch: int = 1000, **more: Any) -> Record:
    """A run as the paper states it but for the batch, of its budget unless another is named."""
    size = {"max_expressions": more.pop("budget", problems.load(problem).budget)}
    size |= {"max_constants": 3} if problems.load(problem).constants else {}
    spec = Spec("dsr", problem, seed, {"batch_size": batch, **STRICT, **size})
    assert spec in STUDY.specs([seed], False)
    return Record(spec, **{"evaluations": size["max_expressions"], "test_rmse": 0.0, **more})


def table(records: list[Record], name: str) -> ResultTable:
    return next(each for each in STUDY.report(records).tables if each.name == name)


def cells(records: list[Record], name: str, problem: str) -> dict[str, Any]:
    """By row, what the data of a table says of a problem."""
    data = table(records, name).data
    return {row["condition"]: row for row in data if row["problem"] == problem}


def test_a_run_without_constants_also_says_what_half_of_its_budget_gives() -> None:
    early = run("Nguyen-8'", 0, evaluations=MILLION, recovered="yes")
    late = run("Nguyen-8'", 1, evaluations=MILLION + 1000, recovered="yes")
    found = cells([early, late], "altered", "Nguyen-8'")
    assert found["batch 1000, 1 M"]["recovered"] == 1
    assert found["batch 1000, 2 M"]["recovered"] == 2
    assert [found[f"batch 1000, {n} M"]["steps"] for n in (1, 2)] == [1000, 2000]


def test_a_seed_counts_once_where_two_of_its_runs_say_the_same() -> None:
    two = run("Nguyen-8'", 0, evaluations=MILLION, recovered="yes")
    four = run("Nguyen-8'", 0, budget=4 * MILLION, evaluations=MILLION, recovered="yes")
    found = cells([two, four], "altered", "Nguyen-8'")
    assert {name: row["runs"] for name, row in found.items()} == {
        f"batch 1000, {n} M": 1 for n in (1, 2, 4)
    }


def test_a_run_with_constants_counts_in_its_own_budget_alone() -> None:
    found = cells([run("Jin-1", 0, test_rmse=2.0)], "jin", "Jin-1")
    assert list(found) == ["batch 1000, 3 constants, 1 M"]


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([0.0, 1e-14], "1 of 1"),
        ([0.0, 2.0, 2.0, 2.1, 2.0, 2.0], "0 of 1, not 2"),
        ([0.0], "too few runs"),
    ],
)
def test_the_table_says_where_it_agrees(errors: list[float], said: str) -> None:
    records = [run("Jin-2", seed, test_rmse=each) for seed, each in enumerate(errors)]
    assert table(records, "jin").rows[1][-1] == said


def test_the_likeliest_settings_are_named() -> None:
    """The paper recovers Nguyen-8' in half of its runs."""
    few = [run("Nguyen-8'", seed, recovered="no") for seed in range(20)]
    half = [
        run("Nguyen-8'", seed, 500, recovered="yes" if seed % 2 else "no", evaluations=MILLION + 1)
        for seed in range(20)
    ]
    notes = STUDY.report([*few, *half]).notes
    assert notes[0] == (
        "Altered Nguyen: most like the paper is “batch 500, 2 M” (1 of 1); with the settings that"
        " it states, 0 of 1, not 8'."
    )
    assert notes[1].startswith("4 of 4 cells have fewer runs than the paper's")
    (only,) = [each for each in STUDY.report(few).notes if "most like" in each]
    assert only.endswith("the settings that the paper states.")


def test_the_grid_counts_on_both_problems() -> None:
    settings = {"batch_size": 500, "learning_rate": 0.001, "entropy_weight": 0.01, "epsilon": 0.1}
    wanted = [each for each in STUDY.specs(range(3), False) if "epsilon" in each.settings]
    assert len(wanted) == 54 * 2 * 3
    own = [each for each in wanted if settings.items() <= dict(each.settings).items()]
    assert len(own) == 6
    done = [Record(each, recovered="yes" if each.problem == "Nguyen-2'" else "no") for each in own]
    (row,) = table(done, "grid").rows
    assert row[:6] == ["500", "0.001", "0.01", "0.1", "3 of 3", "0 of 3"]


@given(st.sampled_from(STUDY.specs([0, 49, 99], False)))
def test_every_run_has_a_row_and_runs_wholly_on_a_gpu(spec: Spec) -> None:
    Plan.of(spec)
    (on_gpu,) = on_engine([spec], "cuda")
    assert shape_of(on_gpu) is not None
    rows = conditions(Record(spec))
    assert rows[-1].budget == spec.settings["max_expressions"]
    assert all(isinstance(each, Condition) and each.steps for each in rows)


def test_jin_has_the_seeds_that_the_paper_took() -> None:
    specs = STUDY.specs([49, 50], False)
    assert {each.seed for each in specs if each.problem.startswith("Jin")} == {49}
    assert {each.seed for each in specs if each.problem.startswith("Nguyen")} == {49, 50}


@pytest.mark.parametrize("name", ["constants", "details"])
def test_the_studies_that_it_replaces_are_known(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is a part of .*: symseek paper settings"):
        experiment(name)


def test_protected_runs_have_protected_operators() -> None:
    spec = Spec("dsr", "Jin-1", 0, {"max_expressions": 4000, "protected": True})
    library = Plan.of(spec).library(problems.load("Jin-1"))
    names = {"protected_div", "protected_exp", "protected_square", "protected_cube", "sin", "add"}
    assert names < set(library.names)
    assert not {"div", "exp", "square", "cube"} & set(library.names)
