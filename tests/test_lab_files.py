"""Files as instruments, Fortran and NumPy write them; and what messages advise works when done."""

from __future__ import annotations

import ast
import gzip
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symseek.files
from examples import examples
from run_helpers import answer
from symseek import InputError
from symseek.cli.options import names as names_in_a_list
from symseek.files import delimited, lines
from symseek.files.tables import MOST_COLUMNS, read_all, read_inputs, read_table
from symseek.runs.folder import RunFolder

X, Y = [[1.0, 2.0], [40.0, 5.5], [7.0, 8.0]], [3.0, 6.0, 10.0]
COMMENTED = "left out a line that begins with #"
COMMENTED_2 = "left out 2 lines that begin with #"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RunFolder, "_report", lambda *_: "<!doctype html>")


def write(content: str | bytes, name: str = "data.dat") -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


# --- what is read

ALIGNED = """\
     a    b     y
   1.0  2.0   3.0
  40.0  5.5   6.0
   7.0  8.0  10.0
"""
UNITS = "took line 2 for units: a in m, b in s, y in kg"


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        (ALIGNED, []),
        (ALIGNED.replace("\n", "   \n"), []),
        (ALIGNED.replace("\n", "\r\n"), []),
        (ALIGNED.replace("   ", "\t "), []),
        (ALIGNED.replace(".", ","), ["read commas in numbers as decimal signs"]),
        ("# by hand\n" + ALIGNED, [COMMENTED]),
        ("# by hand, twice\n\n  # again\n" + ALIGNED, [COMMENTED_2]),
        (ALIGNED.replace("  40.0", "# broken here\n  40.0"), [COMMENTED]),
        (ALIGNED + "# the end", [COMMENTED]),
        (ALIGNED.replace("1.0", "1D0").replace("40.0", "4.d+1").replace("5.5", "55D-01"), []),
        ("a,b,y\n1,2,3\n40,5.5,6\n7,8,1D1\n", []),
        ("a;b;y\n1;2;3\n40;5,5d0;6\n7;8;1D1\n", ["read commas in numbers as decimal signs"]),
        ("a,b,y\nm,s,kg\n1,2,3\n40,5.5,6\n7,8,10\n", [UNITS]),
        ("a,b,y\nm,s,kg\n1,2,3\n40,5.5,6\n7,8,1D1\n", [UNITS]),
        ("a,b,y\n[m],,(kg)\n1,2,3\n40,5.5,6\n7,8,10\n", ["took line 2 for units: a in [m], y in"]),
        (
            ALIGNED.replace("\n", "\n  10^3 m  1/s  °C\n", 1),
            ["took line 2 for units: a in 10^3 m, b in 1/s, y in °C"],
        ),
        (
            "# by hand\na,b,y\nm,s,kg\n# here\n1,2,3\n40,5.5,6\n7,8,10\n",
            ["took line 3", COMMENTED_2],
        ),
        (  # numpy.savetxt
            "# a b y\n1.0 2.0 3.0\n40.0 5.5 6.0\n7.0 8.0 10.0\n",
            ["took the names of the columns from the comment in line 1"],
        ),
        (
            "# by hand\n#a,b,y\n1,2,3\n40,5.5,6\n7,8,10\n",
            ["took the names of the columns from the comment in line 2", COMMENTED],
        ),
        (
            "# by hand\n# a  b  y\n# [m] [s] [kg]\n 1 2 3\n 40 5.5 6\n 7 8 10\n",
            ["took the names of the columns from the comment in line 2", COMMENTED_2],
        ),
        ('"a" "b" "y"\n1 2 3\n40 5.5 6\n7 8 10\n', []),
        (
            '"a" "b" "y"\n"1" 1 2 3\n"2" 40 5.5 6\n"3" 7 8 10\n',  # R's write.table
            ["left out: the column without a name (row numbers)"],
        ),
    ],
)
@pytest.mark.parametrize("name", ["data.dat", "data.txt", "data.csv", "data.asc", "data.dat.gz"])
@pytest.mark.parametrize("small", [-1, delimited.SMALL])
def test_a_table_reads_the_same_in_every_form(
    content: str, notes: list[str], name: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "SMALL", small)  # pandas reads what is larger
    text = content.encode()
    path = write(gzip.compress(text, mtime=0) if name.endswith(".gz") else text, name)
    table = read_table(path, "y")
    assert table.X.tolist() == X
    assert table.y.tolist() == Y
    assert table.features == ("a", "b")
    assert len(table.notes) == len(notes)
    assert all(str(note).startswith(start) for note, start in zip(table.notes, notes, strict=True))


def test_names_of_several_words_over_aligned_columns() -> None:
    path = write("flow rate    wall temperature\n     1.0         2.0\n    10.0        12.0\n")
    assert read_inputs(path, ["flow rate", "wall temperature"]).X.tolist() == [[1, 2], [10, 12]]


def test_long_aligned_columns_with_a_comment_far_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "SAMPLE", 100)
    monkeypatch.setattr(delimited, "ROWS_AT_A_TIME", 300)
    for delimiter in (" ", ","):
        rows = [f"{i}{delimiter}{i}.5{delimiter}é" for i in range(1000)]
        rows.insert(700, "# the power went off")
        path = write("\n".join([f"x{delimiter}y{delimiter}note", *rows]) + "\n")
        table = read_table(path, "y", ["x"])
        np.testing.assert_array_equal(table.X[:, 0], np.arange(1000))
        np.testing.assert_array_equal(table.y, np.arange(1000) + 0.5)
        assert table.notes == (COMMENTED,)


@examples(300)
@given(
    body=st.text(st.sampled_from("01234.-+eD#\r\n \t\tx"), max_size=40),
    small=st.sampled_from([-1, delimited.SMALL]),
)
def test_what_is_read_between_blanks_is_what_a_plain_reader_finds(body: str, small: int) -> None:
    path = write("x y\n" + body)
    try:
        with mock.patch.object(delimited, "SMALL", small):
            inputs = read_inputs(path, ["x", "y"], delimiter=" ")
    except InputError:
        return
    rows = [line.split() for line in re.split("[\r\n]", body)]
    filled = [row for row in rows if row and not row[0].startswith("#")]
    # A first column that has no name is that of R, which numbers the rows.
    numbers = [[float(cell.replace("D", "e")) for cell in row[-2:]] for row in filled]
    assert inputs.X.tolist() == numbers


def test_lines_in_quotation_marks_are_no_comments() -> None:
    path = write('note,x,y\n"two\n# lines",1,2\n"#3",3,4\n,5,7\n', "data.csv")
    table = read_table(path, "y", ["x"])
    assert table.X[:, 0].tolist() == [1, 3, 5]


@pytest.mark.parametrize("cell", ["#N/A", "NA", "", "nan", "<NA>"])
def test_a_row_without_a_value_is_not_a_comment(cell: str) -> None:
    path = write(f"x,y\n1,2\n{cell},4\n5,6\n7,9\n", "data.csv")
    table = read_table(path, "y", missing="rows")
    assert table.X[:, 0].tolist() == [1, 5, 7]
    assert table.notes == ("left out one row with missing values, the first in line 3: 1 in x",)


@pytest.mark.parametrize(
    "content",
    [
        "a,b,y\ntall,2,3\n4,5,6\n7,8,10\n",  # one word is no row of units
        "a,b,y\n12 kg,3 m,4 s\n4,5,6\n7,8,10\n",
        "a,b,y\n2024-05-01,2024-05-02,2024-05-03\n4,5,6\n7,8,10\n",
        "a,b,y\ntrue,false,true\n4,5,6\n7,8,10\n",
        'a,b,y\n"1,234","2,345","3,456"\n4,5,6\n7,8,10\n',
        "a,b,y\n4,5,6\nm,s,kg\n7,8,10\n",  # units come first
    ],
)
def test_what_is_no_row_of_units_is_refused(content: str) -> None:
    with pytest.raises(InputError, match=r"in line [23]"):
        read_table(write(content, "data.csv"), "y")


def test_text_beside_numbers_is_no_row_of_units() -> None:
    path = write("name,colour,x,y\nAnn,red,1,2\nBob,blue,3,4\nCy,red,5,7\n", "data.csv")
    assert read_table(path, "y", ["x"]).X[:, 0].tolist() == [1, 3, 5]
    path = write("name,x,y\nAnn,,2\nBob,3,4\nCy,5,7\nDi,6,8\n", "data.csv")
    assert read_table(path, "y", ["x"], missing="rows").X[:, 0].tolist() == [3, 5, 6]


# --- missing values

GAPS = "day,a,y,w\nMo,1,2,1\nTu,,3,1\nWe,4,nan,1\nTh,5,6,1\n,7,8,\nSa,9,1,1\n"


def test_rows_with_missing_values_are_dropped_on_request() -> None:
    path = write(GAPS, "data.csv")
    with pytest.raises(InputError, match="fill them in, or set `missing` to rows, or column"):
        read_table(path, "y", ["a"])
    table = read_table(path, "y", ["a"], missing="rows")
    assert table.X[:, 0].tolist() == [1, 5, 7, 9]
    assert table.notes == (
        "left out 2 of 6 rows with missing values, the first in line 3: 1 in a, 1 in y",
    )
    weighted = read_table(path, "y", ["a"], weights="w", missing="rows")
    assert weighted.X[:, 0].tolist() == [1, 5, 9]
    with pytest.raises(InputError, match="has a missing value in every row; add some"):
        read_table(write("a,y\n1,\n,2\n3,\n", "data.csv"), "y", missing="rows")
    with pytest.raises(InputError, match="has only 2 rows"):
        read_table(write("a,y\n1,2\n,2\n3,4\n", "data.csv"), "y", missing="rows")


def test_errors_after_dropped_rows_name_the_right_line() -> None:
    path = write("a,y,w\n,2,1\n1,2,1\n2,3,1\n3,4,1\n1e200,5,-1\n", "data.csv")
    with pytest.raises(InputError, match="has 1e\\+200 in line 6"):
        read_table(path, "y", ["a"], missing="rows")
    path = write("a,y,w\n,2,1\n1,2,1\n2,3,1\n3,4,1\n4,5,-1\n", "data.csv")
    with pytest.raises(InputError, match="has the weight -1 in line 6"):
        read_table(path, "y", ["a"], "w", missing="rows")


def test_an_index_is_recognised_beside_dropped_rows() -> None:
    path = write(",a,y\n0,1,2\n1,,3\n2,4,5\n3,5,7\n", "data.csv")
    table = read_table(path, "y", missing="rows")
    assert table.X[:, 0].tolist() == [1, 4, 5]


def test_from_a_lab_file_to_predictions(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{t:6.2f} {4.905 * t * t:12.5E} ok" for t in np.linspace(0.1, 3, 30)]
    text = "\n".join(["# fall, by hand", "     t       height note", "     s            m    -"])
    rows[4] = "   NaN    1.00000D+00 bad"
    write(text + "\n" + "\n".join(rows).replace("E+", "D+").replace("E-", "D-") + "\n")
    command = ("fit", "data.dat", "--target", "height", "--features", "t", "--quiet")
    said = answer(capsys, *command)
    assert said.code == 2
    assert "fill them in, or set --missing to rows, or column, to leave those out" in said.err
    said = answer(capsys, *command, "--drop-missing", "--max-expressions", 2000)
    assert said.code == 0
    assert "took line 3 for units: t in s, height in m" in said.err
    assert "left out one row with missing values, the first in line 8" in said.err
    assert RunFolder.open(Path("data-run-1")).request.settings.missing == "rows"
    assert "--missing rows" in _repeated(Path("data-run-1"))
    assert answer(capsys, "resume", "data-run-1", "--max-expressions", 3000, "--quiet").code in (
        0,
        2,
    )
    said = answer(capsys, "predict", "data-run-1", "data.dat", "--drop-missing", "--keep")
    assert said.code == 0
    head, first, *rest = said.out.splitlines()
    assert head == "t,height,note,height_predicted"
    assert first.startswith("0.10,4.90500D-02,ok,0.049")
    assert len(rest) == 28


def _repeated(folder: Path) -> str:
    from symseek.cli.settings import fit_command

    return fit_command(RunFolder.open(folder).request)


# --- all columns


def test_all_columns_are_as_they_are_in_the_file() -> None:
    path = write(' day ,a,a\n"Mo, \nearly",1.50,#1\n# left out\nTu,,x\n', "data.csv")
    frame = read_all(path)
    assert list(frame.columns) == ["day", "a", "a"]
    assert frame.to_numpy().tolist() == [["Mo, \nearly", "1.50", "#1"], ["Tu", "", "x"]]
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = {"when": ["Mo", None], "n": [1, 2], "x": [0.5, math.nan]}
    parquet.write_table(pyarrow.table(table), "data.parquet")
    kept = read_all("data.parquet")
    assert kept.to_csv(index=False).splitlines() == ["when,n,x", "Mo,1,0.5", ",2,"]


# --- advice that works

GOOD = "a,b,y\n1,2,3\n4,5,6\n7,8,10\n"
WIDE = [f"c{i}" for i in range(MOST_COLUMNS + 1)]


def table(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def read(content: str | bytes, name: str = "data.csv", **options: Any) -> Any:
    path = write(content, name)
    return read_table(path, **{"target": "y", **options})


def cell(text: str) -> str:
    return table("a,b,y", "1,2,3", f"4,{text},6", "7,8,10")


def in_a_folder(path: str) -> Any:
    Path("tables").mkdir(exist_ok=True)
    write(GOOD, "tables/planets.csv")
    return read_table(path, "y")


# What is refused, a part of the sentence, and the same again with the advice followed.
ADVICE: list[tuple[Callable[[], Any], str, Callable[[], Any]]] = [
    (lambda: read(""), "give a table with a line of column names", lambda: read(GOOD)),
    (
        lambda: read("1,2,3\n4,5,6\n7,8,10\n"),
        "put a line of names first",
        lambda: read("a,b,y\n1,2,3\n4,5,6\n7,8,10\n"),
    ),
    (
        lambda: read("1 2 3\n4 5 6\n7 8 10\n", "data.dat"),
        "put a line of names first",
        lambda: read("a b y\n1 2 3\n4 5 6\n7 8 10\n", "data.dat"),
    ),
    (lambda: read("a,b,y\n"), "has column names but no rows; add some", lambda: read(GOOD)),
    (
        lambda: read("a,b,y\n#1,2,3\n"),
        "no rows beside the lines that begin with #, which are comments; add some",
        lambda: read(GOOD),
    ),
    (
        lambda: read("a,y\n1,\n2,\n3,\n", missing="rows"),
        "a missing value in every row; add some",
        lambda: read("a,y\n1,\n2,\n3,\n4,5\n5,6\n6,8\n", missing="rows"),
    ),
    (lambda: read("a,y\n1,2\n"), "a search needs at least 3, so add some", lambda: read(GOOD)),
    (lambda: read("y\n1\n2\n3\n"), "to predict it from; add one", lambda: read(GOOD)),
    (lambda: read(GOOD, target="Y"), "did you mean 'y'?", lambda: read(GOOD, target="y")),
    (
        lambda: read('"length, m",y\n1,2\n3,4\n5,7\n', features=names_in_a_list("length, m")),
        "did you mean '`length, m`'?",
        lambda: read('"length, m",y\n1,2\n3,4\n5,7\n', features=names_in_a_list("`length, m`")),
    ),
    (
        lambda: read('"y, m",a\n1,2\n3,4\n5,7\n', target="y m"),
        "did you mean '`y, m`'?",
        lambda: read('"y, m",a\n1,2\n3,4\n5,7\n', target="`y, m`"),
    ),
    (
        lambda: read("a,a,y\n1,2,3\n4,5,6\n7,8,10\n"),
        "rename them so that they differ",
        lambda: read("a,a2,y\n1,2,3\n4,5,6\n7,8,10\n"),
    ),
    (
        lambda: read("a,,y\n1,2,3\n4,5,6\n7,8,10\n"),
        "name it, or choose among the others with `features`",
        lambda: read("a,,y\n1,2,3\n4,5,6\n7,8,10\n", features=["a"]),
    ),
    (
        lambda: read("sin,y\n1,2\n4,5\n7,8\n"),
        "rename it, for instance to 'sin_'",
        lambda: read("sin_,y\n1,2\n4,5\n7,8\n"),
    ),
    (
        lambda: read(table(",".join([*WIDE, "y"]), *[",".join(["1"] * len(WIDE) + ["2"])] * 3)),
        "choose some with `features`",
        lambda: read(
            table(
                ",".join([*WIDE, "y"]),
                *[",".join([f"{i}"] * len(WIDE) + [f"{i}"]) for i in (1, 2, 3)],
            ),
            features=WIDE[:2],
        ),
    ),
    (
        lambda: read(GOOD, features="a"),
        "give the features as a list, such as ['a']",
        lambda: read(GOOD, features=["a"]),
    ),
    (lambda: read(GOOD, features=[]), "name at least one", lambda: read(GOOD, features=["a"])),
    (
        lambda: read(GOOD, features=["a", "a"]),
        "given twice; give it once",
        lambda: read(GOOD, features=["a"]),
    ),
    (
        lambda: read(GOOD, features=["a", "y"]),
        "leave it out of `features`",
        lambda: read(GOOD, features=["a"]),
    ),
    (
        lambda: read(GOOD, weights="y"),
        "give another column of weights",
        lambda: read(GOOD, weights="b"),
    ),
    (lambda: read(cell("tall")), "replace it by a number", lambda: read(cell("5"))),
    (
        lambda: read(cell("tall")),
        "or leave the column out with `features`",
        lambda: read(cell("tall"), features=["a"]),
    ),
    (lambda: read(cell("TRUE")), "write 1 for true and 0 for false", lambda: read(cell("1"))),
    (lambda: read(cell("2024-05-01")), "turn dates into numbers", lambda: read(cell("3"))),
    (
        lambda: read(cell('"1,234"')),
        "write decimals with a point, and thousands without a separator",
        lambda: read(cell("1234")),
    ),
    (
        lambda: read(cell("")),
        "fill them in, or set `missing` to rows, or column, to leave those out",
        lambda: read(cell("") + "8,9,11\n", missing="rows"),
    ),
    (
        lambda: read(cell("inf")),
        "replace infinite values, or leave their cells empty and set `missing` to rows",
        lambda: read(cell("") + "8,9,11\n", missing="rows"),
    ),
    (
        lambda: read("a,y\n1,2\n,3\n3,4\n4,6\n", missing="column"),
        "leave out rows instead, with `missing` 'rows'",
        lambda: read("a,y\n1,2\n,3\n3,4\n4,6\n", missing="rows"),
    ),
    (lambda: read(cell("1e200")), "rescale the column", lambda: read(cell("1e100"))),
    (
        lambda: read("a,y\n1,3\n2,3\n3,3\n"),
        "choose one that varies",
        lambda: read("a,y\n1,3\n2,3\n3,3\n", target="a"),
    ),
    (
        lambda: read("a,y,w\n1,3,-1\n2,4,1\n3,6,1\n", weights="w"),
        "make weights zero or more",
        lambda: read("a,y,w\n1,3,0\n2,4,1\n3,6,1\n", weights="w"),
    ),
    (
        lambda: read("a,y,e\n1,3,0\n2,4,1\n3,6,1\n", sigma="e"),
        "every error of measurement must be positive",
        lambda: read("a,y,e\n1,3,0.5\n2,4,1\n3,6,1\n", sigma="e"),
    ),
    (
        lambda: read("a,y,e\n1,3,2\n2,4,1\n3,6,1\n", weights="e", sigma="e"),
        "not both: a row of error sigma weighs 1/sigma**2",
        lambda: read("a,y,e\n1,3,2\n2,4,1\n3,6,1\n", sigma="e"),
    ),
    (
        lambda: read("a,y,w\n1,3,0\n2,4,0\n3,6,0\n", weights="w"),
        "make some positive",
        lambda: read("a,y,w\n1,3,0\n2,4,1\n3,6,0\n", weights="w"),
    ),
    (
        lambda: read("n,a,y\nAnn, B,1,3\nC,2,4\nD,3,6\n", features=["a"]),
        "make them agree, and put text with commas between quotation marks",
        lambda: read('n,a,y\n"Ann, B",1,3\nC,2,4\nD,3,6\n', features=["a"]),
    ),
    (
        lambda: read(
            "n a y\nAnn B 1 3\nC 2 4\nD 3 6\nE 4 8\n", "data.dat", delimiter=" ", features=["a"]
        ),
        "put text with blanks between quotation marks",
        lambda: read('n a y\n"Ann B" 1 3\nC 2 4\nD 3 6\nE 4 8\n', "data.dat", features=["a"]),
    ),
    (
        lambda: read('a,b,y\n1,2,3\n4,"5,6\n7,8,10\n'),
        "never closed; close it",
        lambda: read('a,b,y\n1,2,3\n4,"5",6\n7,8,10\n'),
    ),
    (
        lambda: read('a,y\n1,2\n3,"' + "x" * 200_000 + "\n"),
        "check its quotation marks",
        lambda: read("a,y\n1,2\n3,4\n5,7\n"),
    ),
    (
        lambda: read(GOOD.replace(",", ";"), delimiter=","),
        "give `delimiter` as ';'",
        lambda: read(GOOD.replace(",", ";"), delimiter=";"),
    ),
    (
        lambda: read("a   b   y\n1   2   3\n4   5   6\n7   8   10\n", delimiter=","),
        "give `delimiter` as ' '",
        lambda: read("a   b   y\n1   2   3\n4   5   6\n7   8   10\n", delimiter=" "),
    ),
    (
        lambda: read(GOOD.replace(",", "\t"), delimiter=","),
        "give `delimiter` as 'tab'",
        lambda: read(GOOD.replace(",", "\t"), delimiter="tab"),
    ),
    (
        lambda: read(GOOD, delimiter=",,"),
        "must be one character such as ',' or ';', or 'tab', or ' ' for blanks",
        lambda: read(GOOD.replace(",", "   "), delimiter=" "),
    ),
    (
        lambda: read("a,größe\x81,y\n".encode("latin-1")),
        "save the table as UTF-8",
        lambda: read(GOOD.replace("b", "größe").encode()),
    ),
    (lambda: read(b"\x89PNG\0"), "save the table as CSV", lambda: read(GOOD)),
    (
        lambda: read(b"nothing", "data.csv.gz"),
        "compress the table again",
        lambda: read(gzip.compress(GOOD.encode()), "data.csv.gz"),
    ),
    (
        lambda: read(GOOD, "data.xls"),
        "save it as CSV, Parquet or .xlsx",
        lambda: read(GOOD, "data.csv"),
    ),
    (
        lambda: in_a_folder("tables"),
        "give a file in it, such as tables/planets.csv",
        lambda: in_a_folder("tables/planets.csv"),
    ),
    (
        lambda: in_a_folder("tables/planet.csv"),
        "did you mean 'tables/planets.csv'?",
        lambda: in_a_folder("tables/planets.csv"),
    ),
    (
        lambda: in_a_folder("no/planets.csv"),
        "there is no folder no; check the path",
        lambda: in_a_folder("tables/planets.csv"),
    ),
    (lambda: in_a_folder("\0.csv"), "check the path", lambda: in_a_folder("tables/planets.csv")),
    (lambda: read_table("/dev/null", "y"), "save the table to one", lambda: read(GOOD)),
]


@pytest.mark.parametrize(("wrong", "advice", "followed"), ADVICE, ids=[each[1] for each in ADVICE])
def test_advice_works_when_it_is_followed(
    wrong: Callable[[], Any], advice: str, followed: Callable[[], Any]
) -> None:
    with pytest.raises(InputError) as error:
        wrong()
    assert advice in str(error.value)
    assert len(followed().y) >= 3


# Advice about the machine rather than the table, each with a test of its own.
ABOUT_THE_MACHINE = (
    "pip install",
    "check the file",
    "check the link",
    "whole Parquet file",
    "is for text tables",
    "is for Excel workbooks",
    "when the formula was searched for",
)


RAISED = ("InputError", "TooLarge", "of_column")


def test_every_advice_is_followed_here() -> None:
    """Each sentence in the sources that advises something is among those above."""
    said = " ".join(advice for _, advice, _ in ADVICE)
    missing = []
    folder = Path(symseek.files.__file__).parent
    for name in ("lines", "cells", "heading", "delimited", "parquet", "checks", "tables"):
        tree = ast.parse((folder / f"{name}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in RAISED:
                sentence = "".join(written(each, tree) for each in node.args)
                advice = sentence.split("; ")[-1]
                words = re.findall(r"[a-z]+", advice)
                elsewhere = any(each in sentence for each in ABOUT_THE_MACHINE)
                if not elsewhere and not all(word in said for word in words):
                    missing.append(advice)
    assert not missing


def written(node: ast.expr, tree: ast.Module) -> str:
    """The words of a sentence as the source has them, without what is filled in."""
    if isinstance(node, ast.Name):  # what it was set to last
        values = [
            each.value
            for each in ast.walk(tree)
            if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == node.id
            if each.lineno < node.lineno
        ]
        node = max(values, key=lambda value: value.lineno, default=ast.Constant(""))
    if isinstance(node, ast.BinOp):
        return written(node.left, tree) + written(node.right, tree)
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(each.value) for each in parts if isinstance(each, ast.Constant))


@pytest.mark.parametrize(
    "content", ["wind speed\n1\n2\n3\n", "By Ann\nand Bob, in May\n1 2\n3 4\n"]
)
def test_blanks_are_not_advised_where_they_do_not_help(content: str) -> None:
    with pytest.raises(InputError) as error:
        read(content, "data.dat")
    assert "`delimiter`" not in str(error.value)
