"""Groups as users have them: a column of a file, a run folder, predictions."""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import symseek
from run_helpers import CHILD, answer
from symseek import Program, SymbolicRegressor
from symseek.errors import InputError
from symseek.export import (
    latex_own,
    to_c,
    to_excel,
    to_numpy,
    to_python,
    to_sympy,
    torch_function,
)
from symseek.files.tables import read_inputs, read_table
from symseek.groups import Grouping, Groups, grouping_of, label_texts
from symseek.model import Formula, Model, full_library
from symseek.report import plots
from symseek.report.chart import Chart, Cloud, Line
from symseek.report.groups import curves
from symseek.report.html import html
from symseek.runs.folder import RunFolder

Capture = pytest.CaptureFixture[str]
QUIET = ("--max-seconds", "none", "--quiet", "--no-report")

STRAINS = ("wild type", "ΔrpoS", "K-12, plate 3", "<b>B</b>", "MG1655", "007")
HEIGHTS = (1.0, 2.0, 3.0, 4.0, 5.5, 7.0)
RATES = (0.3, 0.5, 0.7, 0.9, 1.1, 1.3)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def strains(rows: int = 240, noise: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """y = a*exp(-k*t) + 1.7*x + 0.6, where a and k are each strain's own."""
    draw = np.random.default_rng(seed)
    strain = draw.integers(0, len(STRAINS), rows)
    t, x = draw.uniform(0, 4, rows), draw.uniform(1, 3, rows)
    y = np.array(HEIGHTS)[strain] * np.exp(-np.array(RATES)[strain] * t) + 1.7 * x + 0.6
    y += noise * draw.normal(size=rows)
    names = [STRAINS[each] for each in strain]
    return pd.DataFrame({"t": t, "strain": names, "x": x, "y": y})


def found_in(folder: str) -> Model:
    return RunFolder.open(Path(folder)).model()


# --- labels


def test_a_number_is_one_label_however_it_is_written() -> None:
    assert label_texts([1, 1.0, "1", "1.0", "1e0", np.float64(1), np.int32(1)]) == ["1"] * 7
    assert label_texts(["0.1", np.float32(0.1), 0.1, "0.10", ".1"]) == ["0.1"] * 5
    many = ["007", "7", "1,5", "e5", ".", "-", "12345678901234567", "12345678901234568"]
    assert label_texts(many) == many
    assert label_texts([True, "True", " B "]) == ["True", "True", "B"]


@pytest.mark.parametrize("label", [None, float("nan"), "", "  ", pd.NA, pd.NaT])
def test_a_row_without_a_label_is_refused(label: object) -> None:
    with pytest.raises(InputError, match="'site' has no label in row 2; give every row"):
        grouping_of(Groups("site", ["A", label, "B"]), [], 1)
    assert grouping_of(Groups("site", ["nan", "NA", "nan"]), [], 1)[0].labels == ("nan", "NA")


def test_a_label_has_an_end() -> None:
    with pytest.raises(InputError, match=r"has a label of 100,000 characters, more than 1,000, in"):
        grouping_of(Groups("site", ["A", "B" * 100_000]), [], 1)


# --- tables


def test_groups_are_read_beside_the_columns(here: Path) -> None:
    strains(12).to_csv("s.csv", index=False)
    table = read_table("s.csv", "y", group="strain")
    assert table.features == ("t", "x")
    assert table.X.shape == (12, 2)
    assert table.groups == Groups("strain", strains(12).strain.tolist())
    roles = [(each.name, each.role, each.kind) for each in table.columns]
    assert roles[-1] == ("strain", "group", "groups")
    assert table.layout.columns == (0, 2, 1)
    assert not any("groups apart" in str(note) for note in table.notes)


def test_numbers_name_groups_too(here: Path) -> None:
    Path("a.csv").write_text("site,x,y\n1,1,2\n1.0,2,3\n2,3,5\n2.50,4,5\n")
    table = read_table("a.csv", "y", group="site")
    assert (table.features, table.groups) == (("x",), Groups("site", ["1", "1", "2", "2.5"]))
    both = read_table("a.csv", "y", ["site", "x"], group="site")
    assert both.X[:, 0].tolist() == [1, 1, 2, 2.5]


@pytest.mark.parametrize("end", [".csv", ".xlsx", ".parquet"])
def test_every_kind_of_file_has_the_same_groups(here: Path, end: str) -> None:
    frame = pd.DataFrame({"site": [1, 2, 1, 2], "x": [1.0, 2, 4, 3], "y": [2.0, 5, 1, 3]})
    path = Path("a" + end)
    {".csv": frame.to_csv, ".xlsx": frame.to_excel}.get(end, frame.to_parquet)(path, index=False)
    assert read_table(path, "y", group="site").groups == Groups("site", ["1", "2", "1", "2"])


def test_rows_without_a_group_are_refused_or_left_out(here: Path) -> None:
    Path("a.csv").write_text("site,x,y\nA,1,2\n,2,3\nB,3,5\nNA,4,5\nB,5,7\nA,7,8\n")
    with pytest.raises(
        InputError, match=r"'site' of a\.csv has 2 missing values, the first in line"
    ):
        read_table("a.csv", "y", group="site")
    table = read_table("a.csv", "y", group="site", missing="rows")
    assert table.groups == Groups("site", ["A", "B", "B", "A"])
    assert table.X[:, 0].tolist() == [1, 3, 5, 7]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"group": "y"}, "column 'y' is both `target` and `group`; choose another"),
        (
            {"group": "w", "weights": "w"},
            "column 'w' is both `weights` and `group`; choose another",
        ),
        ({"group": "sit"}, "a.csv has no column 'sit'; did you mean 'site'?"),
        ({"group": "site", "features": ["site"]}, "which is not a number"),
    ],
)
def test_a_column_that_cannot_name_groups_is_refused(
    here: Path, options: dict[str, str], sentence: str
) -> None:
    Path("a.csv").write_text("site,x,w,y\nA,1,1,2\nB,2,1,3\nB,3,1,5\nA,4,2,5\n")
    with pytest.raises(InputError) as error:
        read_table("a.csv", "y", **options)  # type: ignore[arg-type]
    assert sentence in str(error.value)


def test_new_rows_need_a_group_that_is_known(here: Path) -> None:
    Path("new.csv").write_text("x,site\n1,B\n2,A\n,A\n4,B\n")
    grouping, _ = grouping_of(Groups("site", ["A", "B"]), [], 1)
    read = read_inputs("new.csv", ["x"], missing="rows", grouping=grouping)
    assert read.X.tolist() == [[1, 1], [2, 0], [4, 1]]
    Path("new.csv").write_text("x,site\n1,B\n2,C\n")
    with pytest.raises(InputError, match="group 'C' of 'site' was not in the table"):
        read_inputs("new.csv", ["x"], grouping=grouping)
    Path("new.csv").write_text("x\n1\n2\n")
    with pytest.raises(InputError, match=r"new\.csv has no column 'site'"):
        read_inputs("new.csv", ["x"], grouping=grouping)


# --- the command line


def test_six_strains_share_two_numbers_and_have_two_of_their_own(
    here: Path, capsys: Capture
) -> None:
    strains(noise=0.003).to_csv("s.csv", index=False)
    options = ("--group", "strain", "--max-expressions", "20000", *QUIET)
    said = answer(capsys, "fit", "s.csv", "--target", "y", *options)
    assert said.code == 0
    best = found_in("s-run-1").best
    assert len(best.program.own_used) == 2
    assert "x" in best.text
    near = sorted(best.program.constants)
    assert near == pytest.approx([0.6, 1.7], abs=0.01)
    grouping = best.program.library.grouping
    assert grouping is not None
    assert set(grouping.labels) == set(STRAINS)
    new = strains(60, seed=1)
    new.drop(columns="y").to_csv("new.csv", index=False)
    said = answer(capsys, "predict", "s-run-1", "new.csv")
    assert said.code == 0
    assert said.out.splitlines()[0] == "t,x,strain,y"
    Path("out.csv").write_text(said.out)
    np.testing.assert_allclose(pd.read_csv("out.csv").y, new.y, atol=0.01)


def test_an_unknown_group_is_refused_in_a_sentence(here: Path, capsys: Capture) -> None:
    strains().to_csv("s.csv", index=False)
    options = ("--group", "strain", "--max-expressions", "2000", *QUIET)
    assert answer(capsys, "fit", "s.csv", "--target", "y", *options).code == 0
    new = strains(3).assign(strain=["K-13", STRAINS[0], STRAINS[1]])
    new.to_csv("new.csv", index=False)
    said = answer(capsys, "predict", "s-run-1", "new.csv")
    assert said.code == 2
    assert said.err.startswith("symseek: group 'K-13' of 'strain' was not in the table that was")
    assert said.err.count("\n") == 1


def test_a_grouped_run_is_kept_as_it_was_asked_for(here: Path, capsys: Capture) -> None:
    strains(60).to_csv("s.csv", index=False)
    options = ("--group", "strain", "--own", "1", "--max-expressions", "2000", *QUIET)
    said = answer(capsys, "fit", "s.csv", "--target", "y", *options)
    assert "--group strain" in said.out
    assert "--own 1" in said.out
    request = RunFolder.open(Path("s-run-1")).request
    assert (request.group, request.settings.own) == ("strain", 1)
    model = found_in("s-run-1")
    assert Model.from_dict(json.loads(json.dumps(model.to_dict()))).to_dict() == model.to_dict()
    assert model.features == ("t", "x", "strain")
    assert all(len(each.program.own_used) <= 1 for each in model.formulas)
    said = answer(capsys, "show", "s-run-1")
    assert (said.code, said.err) == (0, "")


def test_a_damaged_model_with_groups_is_refused(here: Path, capsys: Capture) -> None:
    strains(60).to_csv("s.csv", index=False)
    options = ("--group", "strain", "--max-expressions", "2000", *QUIET)
    assert answer(capsys, "fit", "s.csv", "--target", "y", *options).code == 0
    record = found_in("s-run-1").to_dict()
    at = next(at for at, each in enumerate(record["formulas"]) if "own" in each)
    name = next(iter(record["formulas"][at]["own"]))

    def damaged(change: object) -> dict[str, object]:
        copy = json.loads(json.dumps(record))
        change(copy)  # type: ignore[operator]
        return dict(copy)

    for change, sentence in (
        (lambda copy: copy["formulas"][at].pop("own"), "has not the groups' own numbers"),
        (lambda copy: copy["formulas"][at]["own"][name].pop(), "has not a number of its own for"),
        (lambda copy: copy["groups"]["labels"].append("007"), "a group is named twice"),
        (lambda copy: copy["groups"].update(column="x"), "the last feature is not the column 'x'"),
        (lambda copy: copy["formulas"][at]["own"].update({name: ["a"] * 6}), "must be a number"),
    ):
        with pytest.raises(InputError, match=r"this model is damaged \(.*; fit it again") as error:
            Model.from_dict(damaged(change))
        assert sentence in str(error.value)


def test_a_killed_run_with_groups_comes_to_the_same(here: Path, capsys: Capture) -> None:
    strains(120, noise=0.01).to_csv("s.csv", index=False)
    words = ("fit", "s.csv", "--target", "y", "--group", "strain", "--max-expressions", "12000")
    words += (*QUIET, "--threads", "1", "--patience", "none")
    assert answer(capsys, *words, "--out", "whole").code == 0
    command = [sys.executable, "-c", CHILD, "0.0", "0.0", *words, "--out", "cut"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not Path("cut", "checkpoint").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    assert process.wait() < 0, "it was killed before its end"
    assert answer(capsys, "resume", "cut", "--quiet", "--no-report").code == 0
    fronts = [Path(each, "front.json").read_bytes() for each in ("whole", "cut")]
    assert fronts[0] == fronts[1]


def test_by_another_column_fits_groups_in_each_table(here: Path, capsys: Capture) -> None:
    frame = strains(240)
    frame.assign(year=np.where(np.arange(240) % 2, 2023, 2024)).to_csv("s.csv", index=False)
    words = ("fit", "s.csv", "--target", "y", "--group", "strain", "--max-expressions", "2000")
    said = answer(capsys, *words, *QUIET, "--by", "year", "--out", "years")
    assert said.code == 0, said.err
    for year in ("2023", "2024"):
        assert found_in(f"years/{year}").grouping is not None
    fits = symseek.fit_many(
        strains(120).assign(year=np.arange(120) % 2),
        "y",
        by="year",
        group="strain",
        jobs=1,
        max_expressions=2000,
    )
    assert [fits[each].grouping is not None for each in fits] == [True, True]
    said = answer(capsys, *words, *QUIET, "--by", "strain")
    assert said.code == 2
    assert "column 'strain' is both --by and --group; choose another" in said.err


# --- what is shown of them, and formulas elsewhere


LAW = "a_strain*exp(-b_strain*t) + 1.7*x + 0.6"


def strain_model(labels: tuple[str, ...] = STRAINS) -> Model:
    """The law of the strains as a model."""
    grouping = Grouping("strain", labels, ("a_strain", "b_strain"))
    library = full_library(["t", "x", "strain"], grouping=grouping)
    law = replace(Program.parse(LAW, library), own=(HEIGHTS, RATES))
    formulas = [
        Formula(Program.parse("1.5*x", library), "1.5*x", 0.5, 0.9, 0.2),
        Formula(law, LAW, 0.99, 0.01, 0.99),
    ]
    return Model("y", ("t", "x", "strain"), tuple(formulas), 1, spread=2.0)


def rows_of(model: Model) -> tuple[np.ndarray, list[str]]:
    table = strains(40)
    labels = table.strain.tolist()
    return model.rows(table[["t", "x"]].to_numpy(), Groups("strain", labels)), labels


def test_own_numbers_are_a_table_by_group() -> None:
    model = strain_model()
    frame = model.own_numbers()
    assert frame.index.name == "strain"
    assert frame.index.tolist() == list(STRAINS)
    assert frame["a_strain"].tolist() == list(HEIGHTS)
    assert model.own_numbers(0).shape == (6, 0)
    shown = str(model).splitlines()
    at = shown.index("The numbers of row 1 that each strain has of its own:")
    assert shown[at + 1].split() == ["strain", "a_strain", "b_strain"]
    assert shown[at + 2] == "wild type             1       0.3"
    assert not strain_model().own_lines(0)


def test_many_groups_are_shown_in_part() -> None:
    labels = tuple(f"site {at}" for at in range(30))
    grouping = Grouping("site", labels, ("a_site",))
    library = full_library(["x", "site"], grouping=grouping)
    law = replace(Program.parse("a_site*x", library), own=(tuple(np.arange(30.0)),))
    model = Model("y", ("x", "site"), (Formula(law, "a_site*x", 0.9, 0.1, 0.9),), 0)
    shown = str(model).splitlines()
    assert shown[-1] == "... and 18 more"
    assert len(model.own_lines()) == 33
    X = np.column_stack([np.tile(np.linspace(1, 2, 4), 30), np.repeat(np.arange(30), 4)])
    picture = curves(model, X, model.predict(X))
    assert isinstance(picture, Chart)
    drawn = [each for each in picture.marks if isinstance(each, Line)]
    assert len(drawn) == 30
    assert len({each.color for each in drawn}) == 9, "eight colours, and grey for the others"


def test_the_curves_are_along_the_input_in_which_groups_differ() -> None:
    model = strain_model()
    X, _ = rows_of(model)
    picture = curves(model, X, model.predict(X))
    assert isinstance(picture, Chart)
    assert picture.x.label == "t"
    lines = [each for each in picture.marks if isinstance(each, Line)]
    clouds = [each for each in picture.marks if isinstance(each, Cloud)]
    middle = np.median(X[:, 1])
    for line, cloud, height, rate in zip(lines, clouds, HEIGHTS, RATES, strict=True):
        for x, y in ((line.x, line.y), (cloud.x, cloud.y)):
            expected = height * np.exp(-rate * np.asarray(x)) + 1.7 * middle + 0.6
            np.testing.assert_allclose(y, expected)


def test_the_report_has_a_table_of_the_numbers(here: Path) -> None:
    model = strain_model()
    X, _ = rows_of(model)
    page = html(model, X, model.predict(X), [], {}, {})
    assert "40 rows, 2 input columns, 6 groups by strain" in page
    assert "<h2>Numbers that each strain has of its own</h2>" in page
    assert '<th scope="row">&lt;b&gt;B&lt;/b&gt;</th><td class="number">4</td>' in page
    assert "<b>B</b>" not in page
    assert "A curve for each strain, at x = " in page
    plots.data(model, X, model.predict(X)).figure.savefig("curves.png")
    assert Path("curves.png").stat().st_size > 1000


def test_exported_functions_take_the_label_of_the_group(here: Path) -> None:
    model = strain_model()
    X, labels = rows_of(model)
    program, expected = model.best.form(), model.predict(X)
    made: dict[str, Any] = {}
    exec(to_python(program), made)
    values = [made["formula"](t, x, label) for (t, x, _), label in zip(X, labels, strict=True)]
    np.testing.assert_allclose(values, expected, rtol=1e-14)
    with pytest.raises(KeyError):
        made["formula"](1.0, 2.0, "K-13")
    made = {}
    exec(to_numpy(program), made)
    np.testing.assert_allclose(made["formula"](X[:, :2], labels), expected, rtol=1e-14)
    made = {}
    exec(to_sympy(program), made)
    law = made["expression"].subs(made["own"][labels[0]])
    places = dict(zip((each.name for each in law.free_symbols), law.free_symbols, strict=True))
    value = law.subs({places["t"]: X[0, 0], places["x"]: X[0, 1]})
    assert float(value) == pytest.approx(expected[0])
    alone = model.formula(0).form()
    assert "OWN" not in to_python(alone)
    assert "def formula(t, x):" in to_python(alone)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_exported_c_takes_the_label_of_the_group(here: Path) -> None:
    labels = ('"quoted"', "a\\b??/", "ΔrpoS", "*/", "x", "007")
    model = strain_model(labels)
    Path("f.c").write_text(to_c(model.best.form()))
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "f.c", "-o", "f.so", "-lm"], check=True)
    formula = ctypes.CDLL(str(Path("f.so").resolve())).formula
    formula.argtypes = [ctypes.c_double, ctypes.c_double, ctypes.c_char_p]
    formula.restype = ctypes.c_double
    for code, label in enumerate(labels):
        (expected,) = model.predict([[0.7, 1.3, float(code)]])
        assert formula(0.7, 1.3, label.encode()) == pytest.approx(expected, rel=1e-14)
    assert np.isnan(formula(0.7, 1.3, b"other"))


def test_a_spreadsheet_looks_the_group_up() -> None:
    model = strain_model()
    cell = to_excel(model.best.form())
    looked_up = re.findall(r"\(SUMPRODUCT\(EXACT\(C2,\{(.*?)\}\)\*\{(.*?)\}\)/SUMPRODUCT", cell)
    assert len(looked_up) == 2
    for (labels, numbers), values in zip(looked_up, (HEIGHTS, RATES), strict=True):
        assert labels == ";".join(f'"{each}"' for each in STRAINS)
        assert tuple(map(float, numbers.split(";"))) == values
    assert to_excel(model.formula(0).form()) == "=1.5*B2"


def test_tables_for_latex_and_arrays(here: Path) -> None:
    model = strain_model()
    table = latex_own(model.best.form())
    assert r"wild\ type & $1$ & $0.3$ \\" in table
    assert latex_own(model.formula(0).form()) == ""
    torch = pytest.importorskip("torch")
    X, _ = rows_of(model)
    values = torch_function(model.best.form())(torch.tensor(X))
    np.testing.assert_allclose(values.numpy(), model.predict(X))


# --- the estimator


def test_the_estimator_takes_a_column_or_labels(here: Path) -> None:
    table = strains(noise=0.003)
    inputs, y = table[["t", "x", "strain"]], table.y
    model = SymbolicRegressor(max_expressions=20_000, max_seconds=None, random_state=0)
    model.fit(inputs, y, groups="strain")
    assert model.group_ == "strain"
    assert model.n_features_in_ == 2
    assert list(model.feature_names_in_) == ["t", "x"]
    assert model.own_numbers().index.tolist() == list(dict.fromkeys(table.strain))
    assert model.own_numbers().shape == (6, 2)
    np.testing.assert_allclose(model.predict(inputs), y, atol=0.02)
    assert model.score(inputs, y) > 0.999
    labels = table.strain.to_numpy()
    plain = SymbolicRegressor(max_expressions=20_000, max_seconds=None, random_state=0)
    plain.fit(table[["t", "x"]], y, groups=labels)
    assert plain.group_ == "group"
    same = plain.predict(table[["t", "x"]], groups=labels)
    np.testing.assert_array_equal(same, model.predict(inputs))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(inputs), same)
    again.report(here / "again.html", inputs, y)
    assert "has of its own" in (here / "again.html").read_text()


def test_the_estimator_says_what_is_wrong_with_groups() -> None:
    table = strains(60)
    inputs = table[["t", "x", "strain"]]
    model = SymbolicRegressor(max_expressions=500, max_seconds=None, random_state=0)
    with pytest.raises(InputError, match="unknown column 'strian'; did you mean 'strain'"):
        model.fit(inputs, table.y, groups="strian")
    with pytest.raises(InputError, match="X has no names of columns; give `groups` as a label"):
        model.fit(inputs[["t", "x"]].to_numpy(), table.y, groups="strain")
    with pytest.raises(InputError, match=r"shape \(2,\); give one label for each of 60 rows"):
        model.fit(inputs[["t", "x"]], table.y, groups=["A", "B"])
    model.fit(inputs, table.y, groups="strain")
    with pytest.raises(InputError, match="give their labels as `groups`, or X with the column 's"):
        model.predict(inputs[["t", "x"]])
    with pytest.raises(InputError, match="group 'K-13' of 'strain' was not in the table"):
        model.predict(inputs[["t", "x"]][:1], groups=["K-13"])
    model.fit(inputs[["t", "x"]], table.y)
    with pytest.raises(InputError, match="the fit was without groups; leave out `groups`"):
        model.predict(inputs[["t", "x"]], groups=table.strain)
    with pytest.raises(InputError, match="fitted without groups"):
        model.own_numbers()


# --- own numbers that are given


def fit_of_form(form: str, table: pd.DataFrame, **settings: Any) -> SymbolicRegressor:
    chosen = {"max_expressions": 4_000, "max_seconds": None, "random_state": 0, **settings}
    model = SymbolicRegressor(form=form, **chosen)
    return model.fit(table[["t", "x", "strain"]], table.y, groups="strain")


def test_a_form_says_which_numbers_are_the_groups_own() -> None:
    table = strains(noise=0.003)
    law = "y = A[strain]*exp(-k[strain]*t) + c*x + d"
    model = fit_of_form(law, table)
    assert list(model.own_numbers().columns) == ["A_strain", "k_strain"]
    found = model.own_numbers().loc[list(STRAINS)]
    np.testing.assert_allclose(found.A_strain, HEIGHTS, atol=0.02)
    np.testing.assert_allclose(found.k_strain, RATES, atol=0.02)
    parts = model.models_[0].best.parts
    assert parts["c"].program.constants[0] == pytest.approx(1.7, abs=0.01)
    assert len(model.models_[0].formulas) == 1, "nothing is left to find"
    shared = fit_of_form("y = A[strain]*exp(-k*t) + c*x + d", table)
    assert list(shared.own_numbers().columns) == ["A_strain"]
    assert shared.models_[0].best.nrmse > 5 * model.models_[0].best.nrmse
    free = fit_of_form("y = A*exp(-k*t) + c*x + d", table)
    assert free.own_numbers().shape == (6, 2), "which of them are, is found"


def test_a_form_with_own_numbers_and_functions() -> None:
    table = strains(noise=0.003)
    model = fit_of_form("y = A[strain]*exp(-k[strain]*t) + f(x)", table, max_expressions=10_000)
    best = model.models_[0].best
    assert list(model.own_numbers().columns) == ["A_strain", "k_strain"]
    assert all(len(each.program.own_used) == 2 for each in model.models_[0].formulas)
    assert best.nrmse < 0.01
    again = Model.from_dict(json.loads(json.dumps(model.models_[0].to_dict())))
    X = np.column_stack([table[["t", "x"]], [STRAINS.index(each) for each in table.strain]])
    codes = again.rows(table[["t", "x"]].to_numpy(), Groups("strain", table.strain.tolist()))
    assert codes.shape == X.shape
    np.testing.assert_allclose(again.predict(codes), table.y, atol=0.05)


def test_a_form_solved_for_the_target_keeps_own_numbers() -> None:
    table = strains()
    strain = [STRAINS.index(each) for each in table.strain]
    table["y"] = np.exp(np.array(RATES)[strain] - 0.3 * table.t)
    model = fit_of_form("log(y) = A[strain] - k*t", table)
    np.testing.assert_allclose(model.predict(table[["t", "x", "strain"]]), table.y, rtol=1e-6)
    assert Model.from_dict(model.models_[0].to_dict()).best.own is not None


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ("y = A[plate]*x", r"A\[plate\] is of other groups than those of strain"),
        ("y = x[strain]*t", "x is a column or a function; no group has a number of that name"),
        ("y = f[strain] + f(x)", "f is a column or a function"),
    ],
)
def test_own_numbers_that_make_no_sense_are_refused(form: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        fit_of_form(form, strains(60))


def test_own_numbers_need_groups() -> None:
    table = strains(60)
    model = SymbolicRegressor(form="y = A[strain]*x")
    with pytest.raises(InputError, match="say which rows belong together with `group`"):
        model.fit(table[["t", "x"]], table.y)


def test_the_course_of_the_error_follows_own_numbers(here: Path, capsys: Capture) -> None:
    strains(noise=0.01).to_csv("s.csv", index=False)
    options = ("--group", "strain", "--max-expressions", "20000", *QUIET)
    assert answer(capsys, "fit", "s.csv", "--target", "y", *options).code == 0
    course = json.loads(Path("s-run-1/progress.json").read_text())["course"]
    assert course[-1][1] == pytest.approx(found_in("s-run-1").formulas[-1].nrmse, rel=0.3)
