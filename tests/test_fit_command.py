"""From a file to a formula on the command line; what cannot be used gets one sentence."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from run_helpers import Answer, answer, write_table
from symseek import Program
from symseek.columns import Layout
from symseek.model import Formula, Model, full_library
from symseek.runs.folder import RunFolder
from symseek.runs.request import FitRequest
from symseek.settings import Settings

SHORT = ("--max-expressions", "2000", "--quiet")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports take a while."""
    monkeypatch.setattr(RunFolder, "_report", lambda *_: "<!doctype html>")


@pytest.fixture
def run(here: Path) -> Path:
    """A run whose formulas are known."""
    library = full_library(["a", "b"])
    texts = ["4", "a", "3*log(a) + b"]
    formulas = [Formula(Program.parse(text, library), text, 0.5, 0.5, 0.75) for text in texts]
    model = Model("y", ("a", "b"), tuple(formulas), picked=2, layout=Layout((0, 1)))
    write_table(here / "data.csv")
    request = FitRequest(here / "data.csv", "y", None, None, None, Settings())
    folder = Path("run")
    RunFolder.create(folder, request)
    (folder / "front.json").write_text(json.dumps(model.to_dict()))
    return folder


# --- a fit


def test_a_fit_with_its_report(here: Path, capsys: Capture) -> None:
    write_table(here / "data.csv")
    said = answer(capsys, "fit", "data.csv", "--target", "y", *SHORT)
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0] == "  row  complexity  reward   NRMSE     RMSE      R2  y ="
    assert any(line.startswith(">") for line in lines)
    assert "expressions in" in lines[-3]
    report = Path("data-run-1/report.html").read_text()
    assert "symseek fit data.csv --target y --max-expressions 2000" in report
    assert report.startswith("<!")


def test_an_option_of_several_values_may_come_again(here: Path, capsys: Capture) -> None:
    write_table(here / "data.csv")
    words = ["--forbid", "sin", "--guesses", "a; b", "--forbid", "exp,log", "--guesses", "a*b"]
    said = answer(capsys, "fit", "data.csv", "--target", "y", *SHORT, *words, "--out", "run")
    assert said.code == 0
    settings = RunFolder.open(Path("run")).request.settings
    assert settings.forbid == ("sin", "exp", "log")
    assert settings.guesses == ("a", "b", "a*b")


def test_a_report_says_what_the_columns_act_like(here: Path, capsys: Capture) -> None:
    draw = np.random.default_rng(1)
    g, t = draw.uniform(1, 3, (2, 120))
    height = g / np.sqrt(1 + np.exp(t) / t)
    lines = [",".join(map(repr, row)) for row in np.column_stack([g, t, height]).tolist()]
    (here / "data.csv").write_text("\n".join(["<g>,t,height", *lines]))
    said = answer(capsys, "fit", "data.csv", "--target", "height", *SHORT)
    assert "as far as the rows show, height/<g> depends on t only\n" in said.out
    report = Path("data-run-1/report.html").read_text()
    assert "as far as the rows show, height/&lt;g&gt; depends on t only" in report


def test_a_report_of_a_search_without_iterations(here: Path, capsys: Capture) -> None:
    lines = [f"{x},{2 * x + 1}" for x in range(9)]
    (here / "data.csv").write_text("\n".join(["x,y", *lines]))
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--quiet")
    assert (said.code, said.err) == (0, "")
    assert "2*x + 1" in said.out
    assert Path("data-run-1/report.html").stat().st_size > 1000


@pytest.mark.usefixtures("quick")
def test_columns_with_any_name(here: Path, capsys: Capture) -> None:
    names = ["flow, in l/s", "größe.x", "温度", "x y", "1", "pi`s", "Leistung (kW)"]
    table = np.random.default_rng(0).uniform(1, 2, (30, 7))
    table[:, -1] = table[:, 0] * table[:, 2]
    with (here / "odd.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *table.tolist()])
    words = ("--target", "Leistung (kW)", "--features", "`flow, in l/s`,温度,x y")
    said = answer(capsys, "fit", "odd.csv", *words, "--out", "run", "--quiet")
    assert said.code == 0
    assert "Leistung (kW) =" in said.out
    (picked,) = [line for line in said.out.splitlines() if line.startswith(">")]
    assert set(picked.split("  ")[-1].split("*")) == {"`flow, in l/s`", "温度"}
    said = answer(capsys, "predict", "run", "odd.csv")
    rows = list(csv.reader(said.out.splitlines()))
    assert rows[0] == ["flow, in l/s", "温度", "x y", "Leistung (kW)"]
    assert float(rows[1][-1]) == pytest.approx(table[0, -1])
    assert answer(capsys, "fit", "odd.csv", "--target", "1", *SHORT).code == 0  # all other names


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("inputs", "output"), [(1e-9, 1e12), (1e12, 1e-9), (1e100, 1e-100)])
def test_huge_and_tiny_numbers(inputs: float, output: float, here: Path, capsys: Capture) -> None:
    x = np.linspace(1, 3, 20)
    table = np.column_stack([x * inputs, output * 2.5 * x**2])
    np.savetxt(here / "data.csv", table, delimiter=",", header="x,y", comments="", fmt="%.17g")
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--out", "run", "--quiet")
    assert said.code == 0
    text = RunFolder.open(Path("run")).model().best.text
    coefficient, rest = text.split("*", 1)
    assert rest == "x**2"
    assert float(coefficient) == pytest.approx(2.5 * output / inputs**2, rel=1e-5)


@pytest.mark.usefixtures("quick")
def test_a_weights_column_counts_and_is_not_a_feature(here: Path, capsys: Capture) -> None:
    lines = [f"{x},{2 * x + 1 if x < 9 else 99},{1 if x < 9 else 0}" for x in range(12)]
    (here / "data.csv").write_text("\n".join(["x,y,w", *lines]))
    words = ("--target", "y", "--weights", "w", "--out", "run")
    said = answer(capsys, "fit", "data.csv", *words, "--quiet")
    assert said.code == 0
    assert RunFolder.open(Path("run")).model().best.text == "2*x + 1"


# --- what cannot be used


def rows(*cells: str, count: int = 5) -> str:
    """Lines of plain numbers after some cells that are not."""
    plain = [f"{i}.5,{i * i},{3 * i + 1}" for i in range(1, count + 1)]
    return "\n".join([*cells, *plain]) + "\n"


@dataclass(frozen=True)
class Bad:
    """A table, what is asked of it, and the decisive part of the answer."""

    table: str | None
    says: str
    words: tuple[str, ...] = ("--target", "y")


GOOD = rows("a,b,y")
WIDE = "\n".join(
    [",".join(f"c{i}" for i in range(10_001)), *(",".join([str(k)] * 10_001) for k in range(4))]
)

BAD: dict[str, Bad] = {
    "no file": Bad(None, "there is no file data.csv; check the path"),
    "empty": Bad("", "data.csv is empty; give a table with a line of column names"),
    "only a header": Bad("a,b,y\n", "data.csv has column names but no rows; add some"),
    "no header": Bad(rows(), "has numbers where the column names should be"),
    "wrong delimiter": Bad(
        GOOD.replace(",", ";"),
        "has only one column when split at commas, and its name contains semicolons; give"
        " --delimiter as ';'",
        ("--target", "y", "--delimiter", ","),
    ),
    "delimiter of two": Bad(
        GOOD, "--delimiter must be one character", ("--target", "y", "--delimiter", "ab")
    ),
    "no such target": Bad(
        rows("length,width,height"), "did you mean 'height'?", ("--target", "heigth")
    ),
    "no such feature": Bad(
        rows("length,width,height"),
        "has no column 'lenght'; did you mean 'length'?",
        ("--target", "height", "--features", "lenght,width"),
    ),
    "no such weights": Bad(GOOD, "has no column 'w'", ("--target", "y", "--weights", "w")),
    "names twice": Bad(rows("a,a,y"), "data.csv has 2 columns named 'a' in line 1; rename them"),
    "feature twice": Bad(
        GOOD, "feature 'a' is given twice", ("--target", "y", "--features", "a,a")
    ),
    "text": Bad(rows("a,b,y", "1,x,2"), "column 'b' of data.csv has 'x' in line 2, which is not a"),
    "date": Bad(
        rows("a,b,y", "1,2024-05-01,2"),
        "column 'b' of data.csv has the date '2024-05-01' in line 2; turn dates into numbers",
    ),
    "boolean": Bad(
        rows("a,b,y", "1,True,2"),
        "column 'b' of data.csv has 'True' in line 2; write 1 for true and 0 for false",
    ),
    "missing": Bad(rows("a,b,y", "1,,2"), "column 'b' of data.csv has a missing value in line 2"),
    "missing target": Bad(rows("a,b,y", "1,2,nan"), "column 'y' of data.csv has a missing value"),
    "infinity": Bad(rows("a,b,y", "inf,1,2"), "column 'a' of data.csv has inf in line 2; replace"),
    "overflow": Bad(rows("a,b,y", "1e200,1,2"), "squares overflow beyond 1e+150; rescale"),
    "constant target": Bad("a,y\n1,7\n2,7\n3,7\n", "the target 'y' of data.csv is 7 in every row"),
    "one row": Bad("a,y\n1,2\n", "data.csv has only one row; a search needs at least 3"),
    "two rows": Bad("a,y\n1,2\n2,3\n", "data.csv has only 2 rows; a search needs at least 3"),
    "two different rows": Bad("a,y\n1,2\n2,3\n1,2\n", "only 2 different rows; a search needs at"),
    "a function's name": Bad(
        rows("a,sin,y"), "column 'sin' in line 1 of data.csv is named like an operator; rename it"
    ),
    "target as feature": Bad(
        GOOD, "column 'y' is the target and a feature", ("--target", "y", "--features", "a,y")
    ),
    "only a target": Bad("y\n1\n2\n3\n", "has no column beside 'y' to predict it from"),
    "ten thousand columns": Bad(
        WIDE,
        "has 10000 feature columns, more than 500; choose some with --features",
        ("--target", "c0"),
    ),
    "ragged": Bad(rows("a,b,y", "1,2"), "line 2 of data.csv has 2 fields and the header has 3"),
    "tiny target": Bad(
        "a,y\n1,1e-200\n2,2e-200\n3,4e-200\n",
        "y reaches 4e-200, and squares of such numbers are lost",
    ),
    "negative weights": Bad(
        rows("a,w,y", "1,-2,3"),
        "has the weight -2 in line 2",
        ("--target", "y", "--weights", "w"),
    ),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_tables_get_one_sentence(case: Bad, here: Path, capsys: Capture) -> None:
    if case.table is not None:
        (here / "data.csv").write_text(case.table)
    refused(answer(capsys, "fit", "data.csv", *case.words), case.says)
    assert os.listdir(here) == ["data.csv"] * (case.table is not None)


def refused(said: Answer, says: str) -> None:
    assert says in said.err
    assert len(said.err.splitlines()) == 1
    assert said.code == 2
    assert said.out == ""


OPTIONS: dict[str, str] = {
    "--max-expressions 0": "--max-expressions is 0; it must be a whole number of 2 or more",
    "--max-expressions=-5": "--max-expressions is -5; it must be a whole number of 2 or more",
    "--max-expressions nan": "'nan' is not a whole number",
    "--max-expressions 1.5": "'1.5' is not a whole number",
    "--max-seconds 0": "--max-seconds is 0.0; it must be a positive number, or none",
    "--max-seconds=-3": "--max-seconds is -3.0; it must be a positive number",
    "--max-seconds nan": "'nan' is not a number",
    "--max-seconds inf": "--max-seconds is inf; it must be a positive number",
    "--max-seconds soon": "'soon' is not a number",
    "--patience 0": "--patience is 0; it must be a whole number of 1 or more, or none",
    "--max-length 0": "--max-length is 0; it must be a whole number from 1 to 1000",
    "--operators add,sine": "unknown token 'sine'; did you mean 'sin'?",
    "--operators ,": "--operators is empty; name some",
    "--operators add,add": "'add' is in the library twice",
    "--method hybird": "unknown method 'hybird'; did you mean 'hybrid'?",
    "--reward inverse_rmse": "unknown reward 'inverse_rmse'; did you mean 'inverse_nrmse'?",
    "--pick mld": "unknown pick rule 'mld'; did you mean 'mdl'?",
    "--pick validation": "needs validation rows; set --validation, such as 0.2",
    "--validation 1.5": "--validation is 1.5; it must be a share of the rows from 0 to 0.9",
    "--validation nan": "'nan' is not a number",
    "--validation 0.9": "which is 4 of 5 rows; it must be at least 2 of them, and leave 3",
    "--sample-rows 1": "--sample-rows is 1; it must be a whole number of 3 or more, or none",
    "--seed=-1": "--seed is -1; it must be a whole number from 0 to 2**64 - 1",
    "--seed=-1 --validation 0.4": "--seed is -1; it must be a whole number",
    "--threads 0": "--threads is 0; it must be a whole number from 1 to 1024",
    "--features ,": "--features names no column",
    "--maxlength 5": "unknown option '--maxlength'; did you mean '--max-length'?",
}


@pytest.mark.parametrize("words", OPTIONS)
def test_bad_options_get_one_sentence(words: str, here: Path, capsys: Capture) -> None:
    (here / "data.csv").write_text(GOOD)
    said = answer(capsys, "fit", "data.csv", "--target", "y", *words.split())
    refused(said, OPTIONS[words])
    assert os.listdir(here) == ["data.csv"]


def test_a_missing_file_is_answered_with_a_near_one(here: Path, capsys: Capture) -> None:
    (here / "measured.csv").write_text(GOOD)
    said = answer(capsys, "fit", "mesured.csv", "--target", "y")
    refused(said, "there is no file mesured.csv; did you mean 'measured.csv'?")


@pytest.mark.usefixtures("quick")
def test_what_was_done_is_said(here: Path, capsys: Capture) -> None:
    (here / "data.csv").write_text("a;y\n" + "".join(f"{i},5;{2 * i + 2},0\n" for i in range(9)))
    said = answer(capsys, "fit", "data.csv", "--target", "y", "--quiet")
    assert said.code == 0
    assert said.err == "symseek: read commas in numbers as decimal signs\n"


# --- show


def test_show(run: Path, capsys: Capture) -> None:
    said = answer(capsys, "show", run)
    assert (said.code, said.err) == (0, "")
    assert "> " in said.out
    assert "picked by the rule 'mdl'; symseek show run --row N for more" in said.out


def test_show_a_row(run: Path, capsys: Capture) -> None:
    said = answer(capsys, "show", run, "--row", 2)
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0] == "y = 3*log(a) + b"
    assert "in full     3.0*log(a) + b" in lines
    assert "complexity  9" in lines
    assert "fit         R2 0.75, NRMSE 0.5" in lines
    assert "log" in said.out.split("\n\n")[-1]
    refused(answer(capsys, "show", run, "--row", 3), "no row 3; the front has rows 0 to 2")
    refused(answer(capsys, "show", run, "--row", "x"), "'x' is not a whole number")


# --- predict


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_predict(run: Path, here: Path, capsys: Capture) -> None:
    """Columns in another order, more of them than needed, and of any kind."""
    (here / "new.csv").write_text("day,b,a\nMonday,10,1\nFriday,20,2\n")
    said = answer(capsys, "predict", run, "new.csv")
    assert (said.code, said.err) == (0, "")
    assert read(said.out) == [
        ["a", "b", "y"],
        ["1.0", "10.0", "10.0"],
        ["2.0", "20.0", repr(float(3 * np.log(2.0) + 20))],
    ]
    written = answer(capsys, "predict", run, "new.csv", "--out", "out.csv")
    assert (written.code, written.out) == (0, "")
    assert (here / "out.csv").read_text() == said.out
    other = answer(capsys, "predict", run, "new.csv", "--row", 1)
    assert [row[-1] for row in read(other.out)] == ["y", "1.0", "2.0"]


def test_predictions_that_there_are_none_of_are_empty(
    run: Path, here: Path, capsys: Capture
) -> None:
    (here / "new.csv").write_text("a,b\n1,1\n-1,1\n0,1\n")
    said = answer(capsys, "predict", run, "new.csv")
    assert said.code == 0
    assert [row[-1] for row in read(said.out)] == ["y", "1.0", "", ""]
    assert said.err == (
        "symseek: 3*log(a) + b is undefined in 2 of 3 rows, the first of them row 2; their cells"
        " are empty\n"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a\n1\n", "new.csv has no column 'b'"),
        ("c,d\n1,2\n", "has no column 'a' (nor 'b')"),
        ("a,b\n1,\n", "column 'b' of new.csv has a missing value in line 2"),
        ("a,b\n1,x\n", "column 'b' of new.csv has 'x' in line 2, which is not a number"),
        ("a,b\n", "has column names but no rows"),
        ("a,a,b\n1,2,3\n", "has 2 columns named 'a'"),
        ("", "new.csv is empty"),
    ],
)
def test_tables_that_predict_nothing(
    content: str, says: str, run: Path, here: Path, capsys: Capture
) -> None:
    (here / "new.csv").write_text(content)
    refused(answer(capsys, "predict", run, "new.csv"), says)


def test_places_that_cannot_be_written(run: Path, here: Path, capsys: Capture) -> None:
    for command in (("predict", run, "data.csv"), ("export", run, "--to", "c")):
        refused(answer(capsys, *command, "--out", "no/such/file"), "there is no folder 'no/such'")
        refused(answer(capsys, *command, "--out", "."), "it is a folder")


def test_a_prediction_beside_a_column_of_its_name(here: Path, capsys: Capture) -> None:
    library = full_library(["y"])
    formula = Formula(Program.parse("2*y", library), "2*y", 0.5, 0.5, 0.75)
    write_table(here / "data.csv")
    request = FitRequest(here / "data.csv", "y", None, None, None, Settings())
    RunFolder.create(Path("run"), request)
    model = Model("y", ("y",), (formula,), picked=0)
    Path("run/front.json").write_text(json.dumps(model.to_dict()))
    said = answer(capsys, "predict", "run", "data.csv")
    assert read(said.out)[0] == ["y", "y_predicted"]


# --- export


@pytest.mark.parametrize(
    ("target", "has"),
    [
        ("latex", r"\log"),
        ("latex-table", r"\begin{tabular}"),
        ("python", "import math"),
        ("numpy", "import numpy"),
        ("c", "#include <math.h>"),
        ("sympy", "from sympy import"),
        ("excel", "=3*LN("),
    ],
)
def test_export(target: str, has: str, run: Path, here: Path, capsys: Capture) -> None:
    said = answer(capsys, "export", run, "--to", target)
    assert (said.code, said.err) == (0, "")
    assert has in said.out
    assert said.out.endswith("\n")
    written = answer(capsys, "export", run, "--to", target, "--out", "formula.txt")
    assert (written.code, written.out) == (0, "")
    assert (here / "formula.txt").read_text() == said.out


def test_export_a_row(run: Path, capsys: Capture) -> None:
    assert answer(capsys, "export", run, "--to", "excel", "--row", 1).out == "=A2\n"
    refused(answer(capsys, "export", run, "--to", "excel", "--row", 9), "there is no row 9")
    said = answer(capsys, "export", run, "--to", "latex-table", "--row", 1)
    refused(said, "latex-table has all rows; leave out --row, or use --to latex")


@pytest.mark.parametrize(("target", "near"), [("latx", "latex"), ("pyton", "python")])
def test_unknown_targets(target: str, near: str, run: Path, capsys: Capture) -> None:
    said = answer(capsys, "export", run, "--to", target)
    refused(said, f"unknown target '{target}'; did you mean '{near}'?")


# --- where output goes


def test_a_closed_pipe_gives_no_traceback(run: Path) -> None:
    command = [sys.executable, "-m", "symseek", "show", str(run)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == ""
    assert child.returncode == 0


def test_a_terminal_that_cannot_show_a_name(run: Path, here: Path) -> None:
    library = full_library(["größe"])
    formula = Formula(Program.parse("2*größe", library), "2*größe", 0.5, 0.5, 0.75)
    model = Model("y", ("größe",), (formula,), picked=0)
    (run / "front.json").write_text(json.dumps(model.to_dict()))
    said = subprocess.run(
        [sys.executable, "-m", "symseek", "show", str(run)],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert r"gr\xf6\xdfe" in said.stdout
