"""Columns that are no quantities: which they are, and that all ways to fit leave them out."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from run_helpers import Capture, answer
from studio_helpers import questioned
from symseek import SymbolicRegressor
from symseek.errors import InputError
from symseek.files.naming import names_identifier
from symseek.files.roles import left_out_note, roles
from symseek.files.tables import columns_left_out, open_table, read_table, training_table
from symseek.regression.estimator import LeftOutWarning
from symseek.runs.folder import RunFolder
from symseek.runs.request import FitRequest
from symseek.studio.preview import preview
from symseek.studio.question import consider

SHORT = ("--max-expressions", "2000", "--quiet", "--no-report")
HEIGHTS = (58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72)
WEIGHTS = (115, 117, 120, 123, 126, 129, 132, 135, 139, 142, 146, 150, 154, 159, 164)
WOMEN = "rownames,height,weight\n" + "".join(
    f"{row},{height},{weight}\n"
    for row, (height, weight) in enumerate(zip(HEIGHTS, WEIGHTS, strict=True), 1)
)
ROWS = 12
COUNT = list(range(1, ROWS + 1))
QUANTITY = [round(0.37 * i**2 + 0.1, 3) for i in COUNT]
NUMBERING = """
rownames row.names rowname Row_Names row_number RowNumber rowid index Index idx id ID Id
Unnamed:_0 ...1 no no. No. Nr. nr number # № s.no. sl_no serial_number obs observation
case case_no sample Sample_ID SampleNo subject Subject patient_id PatientID passengerid
row line record seq run trial uuid key code
OBJECTID FID gid ID_1 id1 Id.x Scan_no shot.no point_nr event_num TreeNo tree plot site
chick rat plant seed batch lot station block expt
"""
COUNTING = """
x t T time Time year day month hour minute week age dose n i step iteration epoch
cycle generation order rank level position distance length height atomic_number
wave_number quantum_number Reynolds_number number_of_cells mass_number price_index
refractive_index mach_no wave_no atomic_no month_index lap layer mode fluid humid solid casino
snow piano cases samples users codes_per_line
case_fatality sample_size row_spacing population speed keyword zipper runtime trials
tests
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(**columns: list[float]) -> dict[str, str]:
    """What is left out of a table of these columns, and why."""
    names = list(columns)
    values = np.array([columns[name] for name in names], dtype=float)
    return {names[at]: why for at, why in roles(values, names).items()}


def beside(name: str, values: list[float]) -> str | None:
    """Why a column is left out that stands beside a quantity."""
    return found(**{name: values}, other=QUANTITY).get(name)


# --- the rule


@pytest.mark.parametrize(
    "name",
    NUMBERING.split(),
)
def test_row_numbers_are_told_by_their_name_and_values(name: str) -> None:
    name = name.replace("Unnamed:_0", "Unnamed: 0")
    assert beside(name, COUNT) == "row numbers"
    assert beside(name, [each - 1 for each in COUNT]) == "row numbers"
    assert beside(name, [each + 0.5 for each in COUNT]) is None
    assert beside(name, [-each for each in COUNT]) is None


@pytest.mark.parametrize(
    "name",
    COUNTING.split(),
)
def test_a_quantity_that_counts_stays(name: str) -> None:
    assert beside(name, COUNT) is None
    assert beside(name, [each - 1 for each in COUNT]) is None
    assert found(**{name: COUNT}) == {}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Subject", [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]),
        ("patient_id", [104, 104, 99, 99, 7, 7, 8, 8, 9, 9, 10, 10]),
        ("zip", [90210, 10001, 60601, 2139, 2139, 2139, 5, 6, 7, 8, 9, 10]),
        ("country code", [1, 44, 49, 33, 1, 44, 49, 33, 1, 44, 49, 33]),
        ("No.", [901, 17, 322, 5, 44, 71, 20, 33, 12, 99, 120, 300]),
        ("index", [0, 3, 4, 7, 8, 12, 13, 20, 21, 22, 40, 41]),
        ("number", [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
        ("Unnamed: 0", [3, 1, 8, 12, 4, 5, 60, 7, 2, 9, 10, 11]),
    ],
)
def test_identifiers_are_told_by_their_name_and_values(name: str, values: list[float]) -> None:
    assert beside(name, values) == "an identifier"


BLOCKS = [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
CYCLES = [1, 2, 3, 4] * 3


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *[(name, BLOCKS) for name in ("Tree", "Chick", "Diet", "batch", "Run", "Expt", "scan_no")],
        *[(name, CYCLES) for name in ("Run", "plant", "Rep", "block", "treatment")],
        ("Seed", [301, 301, 303, 303, 303, 305, 307, 307, 309, 309, 311, 311]),
        ("block", [2, 3, 1, 1, 3, 2, 3, 1, 2, 2, 1, 3]),
    ],
)
def test_group_numbers_are_told_by_their_name_and_values(name: str, values: list[float]) -> None:
    assert beside(name, values) == "group numbers"


@pytest.mark.parametrize("name", ["x", "dose", "level", "A", "day", "cycle", "trial", "row"])
def test_the_levels_of_an_experiment_stay(name: str) -> None:
    assert beside(name, BLOCKS) is None
    assert beside(name, CYCLES) is None


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("row", [10 * each for each in COUNT], "row numbers"),
        ("row", [2, 3, 5, 6, 7, 11, 12, 14, 15, 17, 19, 20], "row numbers"),
        ("run", [each + 4 for each in COUNT], "row numbers"),
        ("run", [10 * each for each in COUNT], None),
        ("index", CYCLES, "row numbers of groups"),
        ("sample", [2, 3, 5, 6, 7, 11, 12, 14, 15, 17, 19, 20], "an identifier"),
    ],
)
def test_row_numbers_need_not_begin_at_one(name: str, values: list[float], why: str | None) -> None:
    assert beside(name, values) == why


def test_the_first_column_x_may_be_the_row_numbers_of_r() -> None:
    heights = [each + 0.5 for each in QUANTITY]
    assert found(X=COUNT, height=heights) == {"X": "row numbers"}
    for table in ({"X": COUNT}, {"X": COUNT, "Y": heights}, {"X": COUNT, "x2": heights}):
        assert found(**table) == {}
    assert found(height=heights, X=COUNT) == {}
    assert found(X=[2 * each for each in COUNT], height=heights) == {}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("NO", [12, 40, 7, 33, 21, 18, 9, 55, 61, 2, 30, 28]),  # nitric oxide, in ppb
        ("Number", [3, 5, 4, 3, 2, 5, 6, 4, 3, 2, 7, 3]),  # of vertebrae
        ("index", [100, 104, 103, 110, 108, 112, 120, 118, 125, 130, 129, 140]),  # of prices
        ("row", [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]),  # in a field
        ("run", [3, 1, 2, 4, 6, 5, 7, 9, 8, 10, 12, 11]),
        ("Id", [0.1, 0.2, 0.4, 0.9, 1.1, 1.3, 1.8, 2.0, 2.2, 2.5, 2.8, 3.0]),  # a drain current
        ("household", [2, 4, 1, 7, 3, 3, 5, 2, 6, 1, 4, 2]),  # its size
        ("household", BLOCKS),
        ("sample", [100, 300, 1000, 100, 300, 1000] * 2),
        ("batch", [16, 16, 16, 32, 32, 32, 64, 64, 64, 128, 128, 128]),
        ("lot", [5000, 5200, 6100, 7400, 7400, 8000, 8100, 8200, 9100, 9900, 9900, 12000]),
        ("case", [1, 0] * 6),  # of an illness
        ("cohort", [1990, 1990, 1991, 1991, 1992, 1992, 1993, 1993, 1994, 1994, 1995, 1995]),
        ("air NO", COUNT),
        ("code", [-1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
    ],
)
def test_quantities_with_names_like_those_of_identifiers_stay(
    name: str, values: list[float]
) -> None:
    assert beside(name, values) is None


def test_constants_and_copies_are_left_out() -> None:
    nan = float("nan")
    table = {
        "x": QUANTITY,
        "same": [3.0] * ROWS,
        "again": QUANTITY,
        "gaps": [nan, *[2.0] * (ROWS - 1)],
        "empty": [nan] * ROWS,
        "minus": [-each for each in QUANTITY],
    }
    assert found(**table) == {
        "same": "constant",
        "again": "a copy of x",
        "gaps": "constant",
        "empty": "no values",
    }
    values = np.array(list(table.values()))
    assert roles(values) == {
        1: "constant",
        2: "a copy of column 0",
        3: "constant",
        4: "no values",
    }


def test_zeros_of_either_sign_are_copies() -> None:
    assert found(x=[0.0, 1.0, 2.0], z=[-0.0, 1.0, 2.0]) == {"z": "a copy of x"}


def test_something_is_always_left() -> None:
    assert found(id=COUNT) == {}
    assert found(id=COUNT, Subject=[1, 2] * 6) == {}
    assert found(id=COUNT, same=[3.0] * ROWS) == {"same": "constant"}
    assert found(id=COUNT, Tree=BLOCKS, Run=CYCLES) == {"id": "row numbers"}
    assert found(same=[3.0] * ROWS, other=[4.0] * ROWS) == {}
    assert found(**{"": COUNT, "same": [3.0] * ROWS}) == {"": "row numbers"}


@given(st.permutations(COUNT), st.sampled_from(["x", "height", "t", "year", "dose", "x1"]))
def test_the_quantity_of_a_shuffled_table_is_never_left_out(order: list[int], name: str) -> None:
    assert beside(name, order) is None


@given(st.permutations(COUNT), st.sampled_from(["id", "rownames", "subject", "index", "number"]))
def test_shuffled_row_numbers_are_identifiers(order: list[int], name: str) -> None:
    assume(order != COUNT)
    assert beside(name, order) == "an identifier"


floats = st.floats(-1e9, 1e9, allow_nan=False)


@given(
    st.lists(floats, min_size=3, max_size=8),
    st.sampled_from(["id", "rownames", "No.", "Unnamed: 0", "subject", "zip", "", "x"]),
)
def test_fractions_are_never_identifiers(values: list[float], name: str) -> None:
    assume(any(each != int(each) for each in values) and len(set(values)) > 1)
    other = [0.5 * at + 3 for at in range(len(values))]
    assume(other != values)
    assert found(**{name: values}, other=other).get(name) is None


@given(
    st.lists(
        st.tuples(
            st.text("abidxno_. ", min_size=0, max_size=6),
            st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, 2.5]), min_size=4, max_size=4),
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda pair: pair[0],
    )
)
def test_a_column_that_varies_is_always_left(table: list[tuple[str, list[float]]]) -> None:
    names, values = [name for name, _ in table], np.array([column for _, column in table])
    left = roles(values, names)
    varying = [at for at, name in enumerate(names) if name and len(set(values[at])) > 1]
    assert not varying or set(varying) - set(left)
    assert all(names_identifier(names[at]) for at, why in left.items() if why == "an identifier")


def test_a_long_list_of_columns_is_cut() -> None:
    many = {f"c{i}" * 100: "constant" for i in range(400)}
    (note,) = left_out_note(many)
    assert len(str(note)) < 1500
    assert "and 388 more; take them with `features` or `all_columns`" in str(note)


# --- the command line


def test_row_numbers_are_left_out_of_a_fit_with_a_word(here: Path, capsys: Capture) -> None:
    (here / "women.csv").write_text(WOMEN)
    said = answer(capsys, "fit", "women.csv", "--target", "weight", *SHORT)
    assert said.code == 0
    assert said.err == (
        "symseek: left out: rownames (row numbers); take it with --features or --all-columns\n"
    )
    assert "rownames" not in said.out
    run = RunFolder.open(Path("women-run-1"))
    assert run.model().features == ("height",)
    written = json.loads(Path("women-run-1/settings.json").read_text())
    assert written["left_out"] == {"rownames": "row numbers"}
    assert "--features" not in said.out
    again = answer(capsys, "resume", "women-run-1", "--max-expressions", "3000", "--quiet")
    assert again.code == 0
    assert "rownames" not in again.out


def test_what_is_asked_for_is_taken(here: Path, capsys: Capture) -> None:
    (here / "women.csv").write_text(WOMEN)
    fit = "fit", "women.csv", "--target", "weight", *SHORT
    said = answer(capsys, *fit, "--all-columns")
    assert (said.code, said.err) == (0, "")
    assert RunFolder.open(Path("women-run-1")).model().features == ("rownames", "height")
    assert "--all-columns" in said.out  # in the command that repeats it
    said = answer(capsys, *fit, "--features", "rownames")
    assert (said.code, said.err) == (0, "")
    assert RunFolder.open(Path("women-run-2")).model().features == ("rownames",)
    written = json.loads(Path("women-run-1/settings.json").read_text())
    assert (written["all_columns"], written["left_out"]) == (True, {})
    assert RunFolder.open(Path("women-run-1")).request.read_table().X.shape == (15, 2)


def test_the_report_says_what_was_left_out(here: Path, capsys: Capture) -> None:
    (here / "women.csv").write_text(WOMEN)
    fit = "fit", "women.csv", "--target", "weight", "--max-expressions", "1000", "--quiet"
    assert answer(capsys, *fit).code == 0
    assert "rownames (row numbers)" in Path("women-run-1/report.html").read_text()


def test_a_run_from_before_goes_on_with_all_its_columns(here: Path, capsys: Capture) -> None:
    (here / "women.csv").write_text(WOMEN)
    fit = "fit", "women.csv", "--target", "weight", *SHORT
    answer(capsys, *fit, "--all-columns")
    path = Path("women-run-1/settings.json")
    written = json.loads(path.read_text())
    del written["all_columns"], written["left_out"]
    path.write_text(json.dumps(written))
    said = answer(capsys, "resume", "women-run-1", "--max-expressions", "3000", "--quiet")
    assert said.code == 0
    assert RunFolder.open(Path("women-run-1")).model().features == ("rownames", "height")


def test_a_run_keeps_its_columns_when_the_table_grows(here: Path) -> None:
    """A column that was constant when the run began may vary by now."""
    path = here / "data.csv"
    path.write_text("a,b,y\n1.5,7,2\n2.5,7,4\n3,7,9\n")
    table = read_table(path, "y")
    assert table.left_out == {"b": "constant"}
    path.write_text("a,b,y\n1.5,7,2\n2.5,7,4\n3,7,9\n4,8,11\n")
    assert read_table(path, "y").left_out == {}
    assert read_table(path, "y", left_out=table.left_out).features == ("a",)


@pytest.mark.parametrize("wrong", [[], {"b": 3}, "b", {"b": "\ud800"}])
def test_columns_left_out_are_checked_when_they_are_read(wrong: object) -> None:
    from symseek.settings import Settings

    request = FitRequest(Path("data.csv"), "y", None, None, None, Settings())
    record = json.loads(request.to_json()) | {"left_out": wrong}
    with pytest.raises(InputError):
        FitRequest.from_dict(record, 1)


@pytest.mark.parametrize(
    ("content", "left_out"),
    [
        (",x,y\n2,5,1\n3,6,2\n4,8,4\n", {"": "an identifier"}),  # of a table with rows taken out
        (",x,y\nAnn,5,1\nBob,6,2\nCy,8,4\n", {"": "an identifier"}),  # R's row names
        ("id,x,y\nA-1,5,1\nA-2,6,2\nB-1,8,4\n", {"id": "an identifier"}),
        ("station,x,y\n117,5,1\n1083,6,2\nc168,8,4\n", {"station": "text"}),
        ("id,x,y\n1,5,1\n,6,2\n3,8,4\n", {"id": "an identifier"}),  # and no row is missing
    ],
)
def test_identifiers_need_not_be_numbers(
    here: Path, content: str, left_out: dict[str, str]
) -> None:
    path = here / "data.csv"
    path.write_text(content)
    table = read_table(path, "y")
    assert table.left_out == left_out
    assert table.X.tolist() == [[5.0], [6.0], [8.0]]
    assert columns_left_out(open_table(path), ["y"]) == left_out


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ("treated untreated treated", "text"),
        ("1988F1 25-34 S01", "text"),
        ("1/5/2024 2/5/2024 3/5/2024", "dates that can be read in two ways"),
        ("1/5/24 2/5/24 13/5/24", "dates with years of two digits"),
        ("2024-05-01 2024-05-02 noon", "dates and text"),
    ],
)
def test_text_is_left_out(here: Path, cells: str, why: str) -> None:
    path = here / "data.csv"
    path.write_text("state,x,y\n{},5,1\n{},6,2\n{},8,4\n".format(*cells.split()))
    table = read_table(path, "y")
    assert (table.features, table.left_out) == (("x",), {"state": why})
    assert tuple(map(str, table.notes)) == (
        f"left out: state ({why}); turn it into numbers to use it",
    )
    assert columns_left_out(open_table(path), ["y"]) == {"state": why}
    asked = questioned({"table": "data.csv", "target": "y"})
    assert consider(asked, path, lambda: open_table(path).whole()).problems == []
    for all_columns in ({"features": ["state"]}, {"left_out": {}}):
        with pytest.raises(InputError, match=r"column 'state' of .* has"):
            read_table(path, "y", **all_columns)


@pytest.mark.parametrize(
    "cells", ["heavy 2 3", "2 3 4kg", "1kg 2kg 3kg", '"1,2" "1,3" "1,4"', "TRUE FALSE 1"]
)
def test_mistyped_numbers_are_still_refused(here: Path, cells: str) -> None:
    path = here / "data.csv"
    path.write_text("mass,x,y\n{},5,1\n{},6,2\n{},7,4\n".format(*cells.split()))
    with pytest.raises(InputError, match=r"column 'mass' of .* has .* in line [24]"):
        read_table(path, "y")
    assert columns_left_out(open_table(path), ["y"]) == {}


def test_text_is_refused_where_no_quantity_is_left(here: Path) -> None:
    path = here / "data.csv"
    path.write_text("rownames,spray,y\n1,A,5\n2,A,6\n3,B,8\n")
    with pytest.raises(InputError, match=r"column 'spray' of .* has 'A' in line 2"):
        read_table(path, "y")
    assert columns_left_out(open_table(path), ["y"]) == {"rownames": "row numbers"}


def test_a_constant_may_be_named_like_an_operator(here: Path) -> None:
    path = here / "data.csv"
    path.write_text("const,exp,x,y\n1,a,5,1\n1,b,6,2\n1,c,8,4\n")
    assert read_table(path, "y").left_out == {"const": "constant", "exp": "text"}
    path.write_text("const,x,y\n1,5,1\n1,6,2\n2,8,4\n")
    with pytest.raises(InputError, match=r"column 'const' in line 1 of .* is named like an"):
        read_table(path, "y")


def test_the_line_tells_a_drain_current_named_like_an_identifier(here: Path) -> None:
    current = np.random.default_rng(0).integers(1, 30, 40)
    frame = pd.DataFrame({"Vgs": np.tile([0.5, 1.0], 20), "Id": current, "y": current**2})
    frame.to_csv("data.csv", index=False)
    assert "Id (an identifier, but y follows it)" in str(read_table("data.csv", "y").notes[0])


def test_the_line_tells_a_column_that_the_target_follows(here: Path) -> None:
    trial, x = np.arange(1.0, 41.0), np.random.default_rng(0).uniform(1, 9, 40)
    frame = pd.DataFrame({"id": trial, "trial": trial + 0, "x": x, "y": x + trial**0.5})
    frame.to_csv("data.csv", index=False)
    follows = "left out: id (row numbers), trial (row numbers, but y follows it); take them with"
    assert str(read_table("data.csv", "y").notes[0]).startswith(follows)
    model = SymbolicRegressor(random_state=0, max_expressions=100)
    with pytest.warns(LeftOutWarning, match=r"trial \(row numbers, but y follows it\); to use"):
        model.fit(frame[["trial", "x"]], frame["y"])
    assert model.ignored_columns_ == {"trial": "row numbers"}
    frame.assign(y=x**2).to_csv("data.csv", index=False)
    assert "follows" not in str(read_table("data.csv", "y").notes[0])


def test_what_is_constant_in_the_rows_left_is_left_out(here: Path) -> None:
    (here / "data.csv").write_text("a,b,y\n1.5,7,2\n2.5,7,4\n3,7,9\n,8,9\n")
    table = read_table("data.csv", "y", missing="rows")
    assert (table.features, table.left_out) == (("a",), {"b": "constant"})
    assert str(table.notes[0]).startswith("left out: b (constant); take it")
    assert read_table("data.csv", "y", ["a", "b"], missing="rows").features == ("a", "b")


def test_text_in_a_quantity_is_still_refused(here: Path) -> None:
    (here / "data.csv").write_text("mass,x,y\nheavy,5,1\n2,6,2\n3,7,4\n")
    with pytest.raises(InputError, match=r"column 'mass' of data.csv has 'heavy' in line 2"):
        read_table("data.csv", "y")


# --- the estimator


def test_the_estimator_ignores_columns_that_are_no_quantities() -> None:
    x = np.linspace(1, 3, 40)
    frame = pd.DataFrame({"rownames": range(1, 41), "x": x, "same": 2.0, "twin": x})
    model = SymbolicRegressor(random_state=0, max_expressions=2000)
    with pytest.warns(LeftOutWarning, match=r"ignored: rownames \(row numbers\), same \(constant"):
        model.fit(frame, 3 * x**2)
    assert model.ignored_columns_ == {
        "rownames": "row numbers",
        "same": "constant",
        "twin": "a copy of x",
    }
    assert model.n_features_in_ == 4
    assert model.formula() == "3*x**2"
    np.testing.assert_allclose(model.predict(frame), 3 * x**2)
    assert model.score(frame, 3 * x**2) == pytest.approx(1)
    model.report("report.html")
    assert "same (constant)" in Path("report.html").read_text()
    assert model.set_params(all_columns=True).fit(frame, 3 * x**2).ignored_columns_ == {}


def test_an_array_has_no_row_numbers() -> None:
    t = np.arange(1.0, 41.0)
    X = np.column_stack([t, np.sin(t), np.full(40, 5.0)])
    model = SymbolicRegressor(random_state=0, max_expressions=2000)
    with pytest.warns(LeftOutWarning):
        model.fit(X, t**2)
    assert model.ignored_columns_ == {"x2": "constant"}
    assert model.formula() == "x0**2"
    np.testing.assert_allclose(model.predict(X[:3]), [1.0, 4.0, 9.0])


def test_a_warm_start_goes_on_with_the_columns_it_had() -> None:
    x = np.linspace(1, 3, 40)
    model = SymbolicRegressor(random_state=0, max_expressions=2000, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        model.fit(np.column_stack([x, np.full(40, 2.0)]), x**2)
        model.fit(np.column_stack([x, x[::-1]]), x**2 + 1)
    assert model.ignored_columns_ == {"x1": "constant"}
    assert model.predict(np.column_stack([x, x])).shape == (40,)


# --- the studio


def test_the_studio_shows_what_is_left_out_and_why(here: Path) -> None:
    path = here / "women.csv"
    path.write_text(WOMEN)
    shown = preview(open_table(path).whole(), here)
    reasons = {each["name"]: each["left_out"] for each in shown["columns"]}
    assert reasons == {"rownames": "row numbers", "height": None, "weight": None}
    asked = questioned({"table": "women.csv", "target": "weight"})
    considered = consider(asked, path, lambda: open_table(path).whole())
    assert considered.problems == []
    assert considered.command == "symseek fit women.csv --target weight"
    assert considered.notes == [
        "left out: rownames (row numbers); take it with --features or --all-columns"
    ]
    ticked = questioned(
        {"table": "women.csv", "target": "weight", "features": ["rownames", "height"]}
    )
    considered = consider(ticked, path, lambda: open_table(path).whole())
    assert considered.notes == []
    assert considered.command.endswith("--features rownames,height")


def test_an_identifier_of_text_is_no_problem_in_the_studio(here: Path) -> None:
    path = here / "data.csv"
    path.write_text("id,x,y\nA-1,5,1\nA-2,6,2\nB-1,8,4\n")
    asked = questioned({"table": "data.csv", "target": "y"})
    assert consider(asked, path, lambda: open_table(path).whole()).problems == []


cells = st.sampled_from(["0", "1", "2", "3", "7", "1.5", "-1", "A", ""])


@examples(60)
@given(
    st.lists(st.tuples(cells, cells, cells), min_size=4, max_size=6),
    st.tuples(*[st.sampled_from(["id", "x", "rownames", "Subject", "time", "no."])] * 3),
)
def test_a_table_in_memory_leaves_out_what_the_file_does(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], names: tuple[str, ...]
) -> None:
    assume(len(set(names)) == 3)
    path = tmp_path_factory.mktemp("both") / "data.csv"
    lines = [",".join([*row, str(at**2)]) for at, row in enumerate(rows)]
    path.write_text("\n".join([",".join([*names, "y"]), *lines]))
    whole = open_table(path).whole()
    try:
        table = read_table(path, "y")
    except InputError:
        with pytest.raises(InputError):
            training_table(whole, "y")
    else:
        assert columns_left_out(whole, ["y"]) == table.left_out
