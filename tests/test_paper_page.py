"""The page of all experiments: which stored runs it takes, what it calls a difference."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symseek import InputError
from symseek.command import main
from symseek.lab import Record, Spec
from symseek.lab.paper.page import compared, page
from symseek.lab.paper.published import ALTERED, RECOVERY
from symseek.lab.paper.stored import largest, runs_in
from symseek.lab.reports.statistics import holm
from symseek.lab.trials.csv_file import runs_csv

ON_GPU = {"engine": "cuda"}
STRICT = {"underflow_invalid": True}


def runs(problem: str, won: int, count: int, method: str = "dsr", **more: Any) -> list[Record]:
    """Runs of Table 1 or 9, the first of which recover the formula."""
    settings = {"curve": True, "max_expressions": 2_000_000, **more}
    return [
        Record(
            Spec(method, problem, seed, settings),
            recovered="yes" if seed < won else "no",
            evaluations=1_000_000,
            expression="x",
            test_rmse=0.5,
            test_nrmse=0.5,
            seconds=1.0,
            wall=3.6,
        )
        for seed in range(count)
    ]


def stored(folder: Path, where: str, name: str, records: Sequence[Record]) -> None:
    (folder / where).mkdir(exist_ok=True)
    path = folder / where / f"{name}-runs.csv.gz"
    path.write_bytes(gzip.compress(runs_csv(records).encode()))
    (folder / where / f"{name}.md").write_text("")


def table(text: str, title: str) -> dict[str, list[str]]:
    """The lines of a table of the page, by their first cells."""
    part = text.partition(f"**{title}**")[2].partition("\n**")[0]
    lines = [line.strip("| ").split("|") for line in part.splitlines() if line.startswith("|")]
    return {line[0].strip(): [cell.strip() for cell in line[1:]] for line in lines[2:]}


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holms_correction_is_its_definition(p: list[float]) -> None:
    """A hypothesis falls with all that are less likely, each tested against those that are left."""
    slow = [max(min(1.0, q * sum(other >= q for other in p)) for q in p if q <= each) for each in p]
    assert holm(p) == pytest.approx(slow)


def test_the_largest_set_is_taken_and_sets_are_not_joined() -> None:
    folders = {"gpu": runs("Nguyen-7", 3, 20, **ON_GPU), "paper": runs("Nguyen-7", 9, 30)}
    (row,) = compared(RECOVERY, largest(folders))
    assert (row["recovered"], row["runs"], row["strict"], row["folder"]) == (9, 30, False, "paper")


def test_of_equal_sets_the_one_with_the_presets_rule_for_underflow_is_taken() -> None:
    new, old = runs("Nguyen-7", 11, 30, **STRICT), runs("Nguyen-7", 9, 30)
    for folders in ({"a": old, "b": new}, {"a": new, "b": old}, {"a": [*old, *new]}):
        (row,) = compared(RECOVERY, largest(folders))
        assert (row["recovered"], row["runs"], row["strict"]) == (11, 30, True)


def test_runs_with_other_settings_or_budgets_are_not_the_papers() -> None:
    records = [
        *runs("Nguyen-7", 1, 9, max_expressions=1000),
        *runs("Nguyen-7", 1, 9, batch_size=500),
        *runs("Nguyen-8", 4, 5),
    ]
    assert [row["problem"] for row in compared(RECOVERY, largest({"a": records}))] == ["Nguyen-8"]


def test_a_difference_is_named_with_what_the_study_says_of_it(tmp_path: Path) -> None:
    altered = [*runs("Nguyen-8'", 10, 100), *runs("Nguyen-8''", 3, 100)]
    stored(tmp_path, "paper", "variations", [*altered, *runs("Nguyen-5'", 8, 100, "pqt")])
    half = [
        Record(
            Spec("dsr", "Nguyen-8'", seed, {**size, **STRICT, **ON_GPU}),
            recovered="yes" if seed < 5 else "no",
            evaluations=1_500_000,
        )
        for size in [{"batch_size": 500, "max_expressions": 2_000_000}]
        for seed in range(10)
    ]
    stored(tmp_path, "gpu", "settings", half)
    text = page(tmp_path)
    (first, second) = compared(ALTERED, largest({"paper": altered}))
    assert first["holm"] == pytest.approx(2 * first["p"])
    assert second["holm"] == pytest.approx(1)
    differ = text.partition("Differences outside chance")[2].partition("\n**")[0]
    assert "| Nguyen-8'  | 10 of 100 | 50 " in differ.replace("Nguyen-8' |", "Nguyen-8'  |")
    assert "Nguyen-8''" not in differ
    assert "1 of 2; batch 500, 2 M, 4,000 steps: 50 in 10 runs (p = 1)" in differ
    assert "none: not a part of the study" in differ  # PQT, the paper 25 %
    cells = table(text, "Table 9, altered")
    assert cells["Nguyen-8'"] == ["**10 of 100† (50)**", "–"]
    assert cells["Nguyen-5'"] == ["–", "**8 of 100† (25)**"]
    assert "Of 3 recovery rates, 1 are within chance" in text


def test_seeds_are_those_of_the_least_and_the_most_and_hours_those_of_what_is_missing(
    tmp_path: Path,
) -> None:
    stored(tmp_path, "paper", "table1", runs("Nguyen-7", 3, 20, **STRICT))
    seeds = table(page(tmp_path), "Seeds")["Table 1"]
    assert seeds[:4] == ["`table1`", "[paper](paper/table1.md)", seeds[2], "100"]
    assert seeds[2].startswith("DSR 0 to 20, PQT 0, ")
    assert seeds[4].startswith("DSR 1,180: 1.2; PQT 1,200: not known; ")


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[Any]) -> None:
    stored(tmp_path, "paper", "table1", runs("Nguyen-1", 10, 10, **STRICT))
    assert main(["paper", "--page", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"written: {tmp_path / 'paper.md'}\n"
    assert (tmp_path / "paper.md").read_text() == page(tmp_path)
    assert main(["paper", "table1", "--page", str(tmp_path)]) == 2
    assert "leave out 'table1'" in capsys.readouterr().err


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder with the runs of a report"):
        runs_in(tmp_path)
