"""Kinds of columns from a file to predictions: dates, flags, text, missing values, identifiers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from run_helpers import answer
from symseek.errors import InputError
from symseek.files.tables import read_inputs, read_table
from symseek.runs.folder import RunFolder

Capture = pytest.CaptureFixture[str]
QUICK = ("--max-expressions", "2000", "--max-seconds", "none", "--quiet", "--no-report")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def dated(rows: int = 30) -> pd.DataFrame:
    days = np.arange(rows) * 3
    return pd.DataFrame(
        {
            "day": (pd.Timestamp("2024-01-13") + pd.to_timedelta(days, "D")).strftime("%d/%m/%Y"),
            "lit": np.where(days % 2, "yes", "no"),
            "level": 2.5 * days + 7 + np.where(days % 2, 4.0, 0.0),
        }
    )


def test_dates_and_flags_go_from_a_file_to_predictions(here: Path, capsys: Capture) -> None:
    dated().to_csv("level.csv", index=False)
    said = answer(capsys, "fit", "level.csv", "--target", "level", *QUICK)
    assert said.code == 0
    assert "read day as days since 2024-01-13, day first" in said.err
    assert "read lit as 0 and 1" in said.err
    model = RunFolder.open(Path("level-run-1")).model()
    assert model.kinds == {"day": "days since 2024-01-13, day first", "lit": "true or false"}
    assert model.best.r2 > 0.999999
    new = dated(40).iloc[[36, 37]].drop(columns="level").assign(day=["01/05/2024", "04/05/2024"])
    new.to_csv("new.csv", index=False)  # whose dates alone could be read in two ways
    said = answer(capsys, "predict", "level-run-1", "new.csv")
    assert said.code == 0
    table = said.out.splitlines()
    assert table[0] == "day,lit,level"
    assert table[1].startswith("01/05/2024,no,")
    assert float(table[1].split(",")[2]) == pytest.approx(2.5 * 109 + 7)
    assert float(table[2].split(",")[2]) == pytest.approx(2.5 * 112 + 7 + 0, abs=4.1)


def test_a_column_keeps_its_kind_and_unit(here: Path) -> None:
    dated().to_csv("level.csv", index=False)
    columns = {each.name: each for each in read_table("level.csv", "level").columns}
    assert (columns["day"].kind, columns["day"].unit) == ("days since 2024-01-13, day first", "d")
    assert (columns["lit"].kind, columns["lit"].unit) == ("true or false", "")


def test_a_model_of_numbers_has_no_kinds_and_refuses_dates(here: Path, capsys: Capture) -> None:
    table = dated().assign(day=range(3, 33))
    table.to_csv("level.csv", index=False)
    assert answer(capsys, "fit", "level.csv", "--target", "level", *QUICK).code == 0
    assert json.loads(Path("level-run-1/front.json").read_text())["kinds"] == {
        "lit": "true or false"
    }
    Path("new.csv").write_text("day,lit\n2024-05-01,yes\n")
    with pytest.raises(InputError, match="has days since 2024-05-01, unlike when the formula"):
        read_inputs("new.csv", ["day"])
    said = answer(capsys, "predict", "level-run-1", "new.csv")
    assert said.code == 2
    assert "column 'day' of new.csv has days since 2024-05-01, unlike when" in said.err


STRAINS = "strain,t,y\n" + "".join(
    f"{'ABC'[row % 3]},{row // 3 + 0.5},{row % 3 + 2 * (row // 3) + row**2}\n" for row in range(30)
)


def test_text_with_few_values_offers_itself_as_a_group(here: Path, capsys: Capture) -> None:
    Path("long.csv").write_text(STRAINS)
    said = answer(capsys, "fit", "long.csv", "--target", "y", *QUICK)
    assert said.code == 0
    assert "left out: strain (text)" in said.err
    assert "try --group strain, or --by strain for a fit of each" in said.err
    Path("names.csv").write_text("name,t,y\nAnn,1,2\nBob,2,3\nCid,4,5\nDan,5,9\n")
    assert "--by" not in answer(capsys, "fit", "names.csv", "--target", "y", *QUICK).err


@pytest.mark.parametrize(
    "asked", [("--target", "strain"), ("--target", "y", "--features", "strain,t")]
)
def test_text_that_is_asked_for_is_refused_by_column_and_row(
    here: Path, capsys: Capture, asked: tuple[str, ...]
) -> None:
    Path("long.csv").write_text(STRAINS)
    said = answer(capsys, "fit", "long.csv", *asked, *QUICK)
    assert said.code == 2
    assert "column 'strain' of long.csv has 'A' in line 2, which is not a number" in said.err


# --- tables of R, as they are shipped

WEIGHTS = [115, 117, 120, 123, 126, 129, 132, 135, 139, 142, 146, 150, 154, 159, 164]
TIMES = [0.25, 0.5, 0.75, 1, 1.25, 2, 3, 4, 5, 6, 8]


def test_row_numbers_of_women_are_not_used(here: Path) -> None:
    women = pd.DataFrame({"rownames": range(1, 16), "height": range(58, 73), "weight": WEIGHTS})
    women.to_csv("women.csv", index=False)
    table = read_table("women.csv", "weight")
    assert (table.features, table.left_out) == (("height",), {"rownames": "row numbers"})


def test_subjects_of_indometh_are_not_used_and_offered_as_groups(here: Path) -> None:
    rows = [
        (11 * (s - 1) + at + 1, s, t, round(2 * np.exp(-t) / (1 + s / 10), 2))
        for s in range(1, 7)
        for at, t in enumerate(TIMES)
    ]
    frame = pd.DataFrame(rows, columns=["rownames", "Subject", "time", "conc"])
    frame.to_csv("Indometh.csv", index=False)
    table = read_table("Indometh.csv", "conc")
    assert table.features == ("time",)
    assert table.left_out == {"rownames": "row numbers", "Subject": "an identifier"}
    assert any("try `group` Subject, or `by` Subject" in str(note) for note in table.notes)


# --- missing values

GAPS = "a,b,y\n1,-,2\n2,?,4\n3,1.5,.\n4,2.5,8\n5,1.0,11\n6,3.5,12\n"


def test_missing_values_are_counted_by_column(here: Path) -> None:
    Path("gaps.csv").write_text(GAPS)
    with pytest.raises(InputError, match=r"column 'b' of gaps\.csv has 2 missing values"):
        read_table("gaps.csv", "y")
    rows = read_table("gaps.csv", "y", missing="rows")
    assert rows.y.tolist() == [8, 11, 12]
    assert rows.notes[-1] == (
        "left out 3 of 6 rows with missing values, the first in line 2: 2 in b, 1 in y"
    )
    column = read_table("gaps.csv", "y", missing="column")
    assert (column.features, column.y.tolist()) == (("a",), [2, 4, 8, 11, 12])
    assert column.left_out == {"b": "2 missing values"}
    assert column.notes[-1] == ("left out one row with missing values, the first in line 4: 1 in y")
    named = read_table("gaps.csv", "y", ["a", "b"], missing="column")
    assert (named.features, named.left_out) == (("a",), {"b": "2 missing values"})


def test_the_choice_is_kept_and_the_short_option_stays(here: Path, capsys: Capture) -> None:
    Path("gaps.csv").write_text(GAPS)
    said = answer(capsys, "fit", "gaps.csv", "--target", "y", "--missing", "column", *QUICK)
    assert said.code == 0
    run = RunFolder.open(Path("gaps-run-1"))
    assert run.request.settings.missing == "column"
    assert run.request.read_table().features == ("a",)
    assert answer(capsys, "fit", "gaps.csv", "--target", "y", "--drop-missing", *QUICK).code == 0
    assert RunFolder.open(Path("gaps-run-2")).request.settings.missing == "rows"
    assert answer(capsys, "fit", "gaps.csv", "--target", "y", *QUICK).code == 2
    assert answer(capsys, "fit", "gaps.csv", "--target", "y", "--missing", "all").code == 2


def test_runs_from_before_there_was_a_choice_are_read(here: Path, capsys: Capture) -> None:
    Path("gaps.csv").write_text(GAPS)
    answer(capsys, "fit", "gaps.csv", "--target", "y", "--drop-missing", *QUICK)
    path = Path("gaps-run-1/settings.json")
    record = json.loads(path.read_text())
    del record["settings"]["missing"]
    path.write_text(json.dumps({**record, "drop_missing": True}))
    assert RunFolder.open(Path("gaps-run-1")).request.settings.missing == "rows"
