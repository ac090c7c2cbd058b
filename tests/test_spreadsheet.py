"""The formula for a spreadsheet is right beside the very file that was fitted."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from run_helpers import answer
from spreadsheet import Sheet, letters
from symseek import InputError, Program, SymbolicRegressor
from symseek.columns import Layout
from symseek.export import cells_of, to_excel, to_numpy
from symseek.files.heading import Heading
from symseek.files.tables import read_table
from symseek.model import Formula, Model, full_library
from symseek.regression.regression import Regression
from symseek.runs.folder import RunFolder
from symseek.runs.request import FitRequest
from symseek.settings import Settings

ROWS = 12
DRAW = np.random.default_rng(1)
COLUMNS = {
    "id": np.arange(100.0, 100 + ROWS),
    "a": DRAW.uniform(0.5, 2, ROWS),
    "b": DRAW.uniform(0.5, 2, ROWS),
}
COLUMNS["y"] = COLUMNS["b"] / COLUMNS["a"] ** 2

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RunFolder, "_report", lambda *_: "<!doctype html>")
    return tmp_path


def lines(order: tuple[str, ...], delimiter: str = ",") -> list[str]:
    table = np.column_stack([COLUMNS[name] for name in order]).tolist()
    return [delimiter.join(order), *(delimiter.join(map(repr, row)) for row in table)]


def exported(path: str, capsys: Capture, *more: str) -> str:
    """What `symseek export` prints for a run whose formula is the law of the columns."""
    table = read_table(path, "y", ("a", "b"))
    formula = Formula(Program.parse("b/a**2", full_library(["a", "b"])), "b/a**2", 1.0, 0.0, 1.0)
    model = Model("y", ("a", "b"), (formula,), 0, layout=table.layout)
    request = FitRequest(Path(path), "y", ("a", "b"), None, None, Settings())
    RunFolder.create(Path("run"), request, overwrite=True)
    Path("run/front.json").write_text(json.dumps(model.to_dict()))
    said = answer(capsys, "export", "run", "--to", "excel", *more)
    assert (said.code, said.err) == (0, "")
    return said.out.strip()


@pytest.mark.parametrize("order", [",".join(each) for each in permutations(COLUMNS)])
def test_columns_in_every_order(order: str, capsys: Capture) -> None:
    Path("data.csv").write_text("\n".join(lines(tuple(order.split(",")))) + "\n")
    formula = exported("data.csv", capsys)
    sheet = Sheet(Path("data.csv"))
    values = [sheet.value(formula, down) for down in range(ROWS)]
    np.testing.assert_allclose(values, COLUMNS["y"], rtol=1e-12)


def test_from_the_fit_to_the_cell(capsys: Capture) -> None:
    """The whole way, and with every row of the front: nothing but a and b is used."""
    Path("data.csv").write_text("\n".join(lines(("id", "y", "a", "b"))) + "\n")
    budget = ("--max-expressions", "20000", "--max-seconds", "none", "--quiet")
    said = answer(
        capsys, "fit", "data.csv", "--target", "y", "--features", "a,b", *budget, "--out", "run"
    )
    assert said.code == 0
    sheet = Sheet(Path("data.csv"))
    model = RunFolder.open(Path("run")).model()
    X = np.column_stack([COLUMNS["a"], COLUMNS["b"]])
    assert model.best.r2 > 0.999
    for row in range(len(model.formulas)):
        formula = answer(capsys, "export", "run", "--to", "excel", "--row", row).out.strip()
        values = [sheet.value(formula, down) for down in range(ROWS)]
        np.testing.assert_allclose(values, model.predict(X, row), rtol=1e-9)


@pytest.mark.parametrize(
    "above",
    [
        "# measured by hand\n# twice\n{}",
        "\n{}",
        "{}\nnumber,kg,m,s",
        "# by hand\n{}\n-,kg,m,s\n# from here on",
    ],
)
def test_numbers_that_begin_further_down(above: str, capsys: Capture) -> None:
    head, *rows = lines(("id", "y", "a", "b"))
    Path("data.csv").write_text("\n".join([above.format(head), *rows]) + "\n")
    formula = exported("data.csv", capsys)
    sheet = Sheet(Path("data.csv"))
    values = [sheet.value(formula, down) for down in range(ROWS)]
    np.testing.assert_allclose(values, COLUMNS["y"], rtol=1e-12)


def test_a_name_on_two_lines_is_one_row(capsys: Capture) -> None:
    head, *rows = lines(("id", "y", "a", "b"))
    text = "\n".join([head.replace("id", '"running\nnumber"'), *rows])
    Path("data.csv").write_text(text + "\n")
    formula = exported("data.csv", capsys)
    assert Sheet(Path("data.csv")).value(formula) == pytest.approx(COLUMNS["y"][0])


def test_more_columns_than_letters(capsys: Capture) -> None:
    names = [f"c{i}" for i in range(700)]
    names[30], names[699] = "a", "b"
    values = {name: np.full(ROWS, -7.0) for name in names} | COLUMNS
    order = (*names, "y")
    table = np.column_stack([values[name] for name in order]).tolist()
    text = [",".join(order), *(",".join(map(repr, row)) for row in table)]
    Path("data.csv").write_text("\n".join(text) + "\n")
    formula = exported("data.csv", capsys)
    assert formula == f"={letters(699)}2/{letters(30)}2^2" == "=ZX2/AE2^2"
    assert Sheet(Path("data.csv")).value(formula, 3) == pytest.approx(COLUMNS["y"][3])


def test_cells_may_be_given(capsys: Capture) -> None:
    Path("data.csv").write_text("\n".join(lines(("id", "y", "a", "b"))) + "\n")
    assert exported("data.csv", capsys) == "=D2/C2^2"
    assert exported("data.csv", capsys, "--cells", "a=$K$7, b=Sheet2!B3") == "=Sheet2!B3/$K$7^2"
    assert exported("data.csv", capsys, "--cells", "`b`=F9") == "=F9/C2^2"
    for wrong, says in (
        ("c=F9", "unknown column 'c'; known: a, b"),
        ("F9", "names no cells; write them as a=C2,b=F2"),
        ("a=", "names no cells"),
    ):
        said = answer(capsys, "export", "run", "--to", "excel", "--cells", wrong)
        assert said.code == 2
        assert says in said.err
    said = answer(capsys, "export", "run", "--to", "c", "--cells", "a=C2")
    assert said.code == 2
    assert "--cells are for the target 'excel'; leave them out" in said.err


def test_a_run_of_before_there_were_layouts_says_what_it_takes(capsys: Capture) -> None:
    Path("data.csv").write_text("\n".join(lines(("id", "y", "a", "b"))) + "\n")
    exported("data.csv", capsys)
    record = json.loads(Path("run/front.json").read_text())
    del record["layout"]
    Path("run/front.json").write_text(json.dumps(record))
    said = answer(capsys, "export", "run", "--to", "excel")
    assert (said.code, said.out) == (0, "=B2/A2^2\n")
    assert "a=A2,b=B2 was taken, and --cells gives others" in said.err
    said = answer(capsys, "export", "run", "--to", "excel", "--cells", "a=C2,b=D2")
    assert (said.out, said.err) == ("=D2/C2^2\n", "")


@pytest.mark.parametrize(
    "layout",
    [
        {"columns": [0], "first_row": 2},
        {"columns": [0, -1], "first_row": 2},
        {"columns": [0, 1.5], "first_row": 2},
        {"columns": [0, True], "first_row": 2},
        {"columns": [0, "B"], "first_row": 2},
        {"columns": [0, 1], "first_row": 0},
        {"columns": [0, 1]},
        [0, 1],
    ],
)
def test_a_damaged_layout_is_refused(layout: object) -> None:
    formula = Formula(Program.parse("b/a", full_library(["a", "b"])), "b/a", 1.0, 0.0, 1.0)
    record = Model("y", ("a", "b"), (formula,), 0, layout=Layout((2, 3))).to_dict()
    assert Model.from_dict(record).layout == Layout((2, 3))
    with pytest.raises(InputError, match=r"layout|damaged"):
        Model.from_dict({**record, "layout": layout})


def test_arrays_are_the_first_columns_of_a_sheet() -> None:
    X = np.column_stack([COLUMNS["a"], COLUMNS["b"]])
    found = SymbolicRegressor(max_expressions=200, random_state=0).fit(X, COLUMNS["y"]).model()
    assert found.layout is None
    assert cells_of(found) == {"x0": "A2", "x1": "B2"}


def test_a_model_of_a_search_knows_its_layout() -> None:
    X = np.column_stack([COLUMNS["a"], COLUMNS["b"]])
    settings = Settings(max_expressions=200)
    regression = Regression(X, COLUMNS["y"], ["a", "b"], settings, layout=Layout((3, 1), 4))
    regression.run()
    for final in (True, False):
        assert cells_of(regression.model(final)) == {"a": "D4", "b": "B4"}


@pytest.mark.parametrize(
    "text",
    ["-a**2", "(-a)**2", "a**b**2", "(a**b)**2", "2.5**-a", "-(-a)", "a - (b - a)", "log(a)/b/a"],
)
def test_the_small_spreadsheet_works_as_excel_does(text: str) -> None:
    Path("data.csv").write_text("\n".join(lines(("a", "b"))) + "\n")
    program = Program.parse(text, full_library(["a", "b"]))
    value = Sheet(Path("data.csv")).value(to_excel(program))
    X = np.column_stack([COLUMNS["a"], COLUMNS["b"]])
    assert value == pytest.approx(program.evaluate(X)[0], rel=1e-12)


def test_signs_and_powers_of_the_small_spreadsheet() -> None:
    Path("data.csv").write_text("a\n3\n")
    sheet = Sheet(Path("data.csv"))
    assert sheet.value("=-A2^2") == 9
    assert sheet.value("=2^3^2") == 64
    assert sheet.value("=1-A2^2") == -8
    assert sheet.value("=LN(EXP(A2))") == pytest.approx(3)


def test_the_numpy_function_refuses_a_whole_table() -> None:
    """Its columns are the features alone: with others in between, every number would be wrong."""
    names: dict[str, object] = {}
    exec(to_numpy(Program.parse("b/a", full_library(["a", "b"]))), names)
    whole = np.column_stack([COLUMNS[name] for name in ("id", "y", "a", "b")])
    formula = names["formula"]
    assert callable(formula)
    np.testing.assert_allclose(formula(whole[:, 2:]), COLUMNS["b"] / COLUMNS["a"])
    for wrong in (whole, whole[0], whole[:, :1]):
        with pytest.raises(ValueError, match="X needs the columns named above"):
            formula(wrong)


@pytest.mark.parametrize("name", ["x\x0cy\x0bz", "x\x85y", "x\u2028y", "a\nb", "\na\r\n\rb\n"])
def test_only_ends_of_lines_make_a_name_longer_than_a_row(name: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(f'"{name}",y\n1,2\n2,3.5\n3,4\n'.encode())
    assert Heading.read(path).first_row == 2
