"""Tables from files: what is read is exact, and what cannot be read is refused in one sentence."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from symseek import InputError
from symseek.data import LARGEST
from symseek.files import delimited, lines
from symseek.files.tables import MOST_COLUMNS, read_inputs, read_table
from symseek.model import full_library
from symseek.studio.wording import worded

GOOD = "a,b,y\n1,2,3\n4,5,6\n7,8,10\n"
X, Y = [[1.0, 2.0], [4.0, 5.0], [7.0, 8.0]], [3.0, 6.0, 10.0]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in errors are as short as the names that were given."""
    monkeypatch.chdir(tmp_path)


def write(content: str | bytes, name: str = "data.csv") -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def error_of(read: Callable[[], object]) -> str:
    """The sentence; that it is one is part of every test."""
    with pytest.raises(InputError) as caught:
        read()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert not sentence.endswith(".")
    assert caught.value.__cause__ is None
    return sentence


# -- what is read ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", GOOD),
        ("DATA.CSV", GOOD),
        ("data.txt", GOOD),
        ("my.data.csv", GOOD),
        ("data.csv", "\ufeff" + GOOD),
        ("data.csv", GOOD.replace("\n", "\r\n")),
        ("data.csv", GOOD.replace("\n", "\r")),
        ("data.csv", GOOD.rstrip("\n")),
        ("data.csv", "\n" + GOOD.replace("\n", "\n\n")),
        ("data.csv", GOOD.replace("\n", "\n  \n")),
        ("data.csv", GOOD.replace(",", ", ")),
        ("data.csv", GOOD.replace(",", " , ")),
        ("data.csv", GOOD.replace(",", ";")),
        ("data.csv", GOOD.replace(",", "|")),
        ("data.csv", GOOD.replace(",", "\t")),
        ("data.tsv", GOOD.replace(",", "\t")),
        ("data.tab", GOOD.replace(",", "\t")),
        ("data.csv", '" a\t","b ","\ny"\n"1","2","3"\n"4","5","6"\n7,8,10\n'),
        ("data.csv", '"a","b","y"\n"1","2","3"\n"4","5","6"\n7,8,10\n'),
        ("data.csv", '"a", "b", "y"\n"1", "2", "3"\n"4", "5", "6"\n7,8,10\n'),
        ("data.csv", "a;b;y\n1,0;2;3\n4;5;6\n7;8;10\n"),
        ("data.csv", "a;b;y\n1.;2.0;3e0\n+4;.5e1;60E-1\n7;8;10\n"),
        ("data.csv.gz", gzip.compress(GOOD.encode(), mtime=0)),
        ("data.csv.bz2", bz2.compress(GOOD.encode())),
        ("data.tsv.xz", lzma.compress(GOOD.replace(",", "\t").encode())),
    ],
)
def test_a_table_reads_the_same_in_every_form(name: str, content: str | bytes) -> None:
    table = read_table(write(content, name), "y")
    assert table.X.tolist() == X
    assert table.y.tolist() == Y
    assert table.weights is None
    assert (table.features, table.target, table.path) == (("a", "b"), "y", Path(name))
    assert table.X.dtype == table.y.dtype == np.float64


def test_columns_are_chosen_by_name() -> None:
    table = read_table(write(GOOD), " y", features=["b "], weights="a")
    assert table.X.tolist() == [[2.0], [5.0], [8.0]]
    assert table.weights is not None
    assert table.weights.tolist() == [1.0, 4.0, 7.0]
    assert table.features == ("b",)


def test_weights_are_not_a_feature_by_default() -> None:
    assert read_table(write(GOOD), "y", weights="b").features == ("a",)


def test_unused_columns_may_hold_anything() -> None:
    rows = 'x,name,name,,y\n1,"a ""b"", c",True,,1\n2,"two\nlines",,é,2\n3,,,,4\n'
    assert read_table(write(rows), "y", ["x"]).X.tolist() == [[1.0], [2.0], [3.0]]


@pytest.mark.parametrize("delimiter", [":", " ", "tab", "\\t", "\t"])
def test_a_delimiter_may_be_given(delimiter: str) -> None:
    character = "\t" if delimiter in ("tab", "\\t") else delimiter
    path = write(GOOD.replace(",", character), "data.txt")
    assert read_table(path, "y", delimiter=delimiter).X.tolist() == X


def test_a_name_on_two_lines_is_put_on_one() -> None:
    path = write('"wind \r\n speed",y\n1,2\n3,4\n5,6\n')
    assert read_table(path, "y").features == ("wind speed",)
    assert read_inputs(path, ["wind\nspeed"]).features == ("wind speed",)


def test_names_of_all_kinds_work() -> None:
    names = ["wind speed", "T.max", "größe", "温度", "x'", "2020", "a-b", "π*r²", "length, m"]
    rows = [[str(i * j + 1) for i in range(len(names))] + [str(j**2)] for j in range(4)]
    text = io.StringIO()
    csv.writer(text).writerows([[*names, "y"], *rows])
    table = read_table(write(text.getvalue()), "y", left_out={})
    assert table.features == tuple(names)
    assert full_library(table.features).variables == tuple(names)


@pytest.mark.parametrize(
    ("content", "first"),
    [
        ("x;y\n1,5;2,0\n2,5;3,0\n3,5;5,0\n", 1.5),
        ("x\ty\n1,5\t2,0\n2,5\t3,0\n3,5\t5,0\n", 1.5),
        ("x;y\n-1,5e3;2\n2;3\n3;5\n", -1500.0),
        ("x;y\n0,125;2\n2,125;3\n3,125;5\n", 0.125),
        ("length, m;y, s\n1,5;2,0\n2,5;3,0\n3,5;5,0\n", 1.5),
        ("x;y;name\n1,5;2,0;a, b\n2,5;3,0;\n3,5;5,0;c\n", 1.5),
    ],
)
def test_decimal_commas(content: str, first: float) -> None:
    target = "y, s" if "y, s" in content else "y"
    features = ["length, m" if "length" in content else "x"]
    table = read_table(write(content), target, features)
    assert table.X[0, 0] == first
    assert table.notes == ("read commas in numbers as decimal signs",)


def test_one_column_with_decimal_commas() -> None:
    assert read_inputs(write("x\n1,5\n2,5\n"), ["x"]).X.tolist() == [[1.5], [2.5]]


def test_an_index_that_pandas_wrote_is_left_out() -> None:
    table = read_table(write(",x,y\n0,5,1\n1,6,2\n2,7,4\n"), "y")
    assert table.features == ("x",)
    assert tuple(map(str, table.notes)) == ("left out: the column without a name (row numbers)",)


def test_large_and_tiny_numbers() -> None:
    table = read_table(write("x,y\n1e150,5e-324\n-1e150,2.2e-308\n0,1e-400\n"), "y")
    assert table.X[:, 0].tolist() == [LARGEST, -LARGEST, 0.0]
    assert table.y.tolist() == [5e-324, 2.2e-308, 0.0]


@pytest.mark.parametrize("rows", [3, 299, 300, 301, 601])
def test_rows_of_several_portions_stay_in_order(rows: int, short_look: None) -> None:
    lines = "".join(f"{i},{i}.5,é\n" for i in range(rows))
    table = read_table(write("x,y,note\n" + lines), "y", ["x"])
    np.testing.assert_array_equal(table.X[:, 0], np.arange(rows))
    np.testing.assert_array_equal(table.y, np.arange(rows) + 0.5)


def test_a_record_that_goes_on_after_the_first_look_is_whole(short_look: None) -> None:
    lines = "".join(f'{i},{i},"text, of\nthree, lines\n, or so"\n' for i in range(50))
    assert read_table(write("x,y,note\n" + lines), "y", ["x"]).X.shape == (50, 1)


def test_a_very_wide_table() -> None:
    names = [f"gene number {i}" for i in range(8_000)]
    rows = [[str(i)] * len(names) for i in range(3)]
    path = write("\n".join(",".join(row) for row in [names, *rows]))
    assert read_table(path, names[-1], names[5:7]).X.tolist() == [[0, 0], [1, 1], [2, 2]]


finite = st.floats(-LARGEST, LARGEST)


@examples(60)
@given(
    rows=st.lists(st.tuples(finite, finite, finite), min_size=3, max_size=20).filter(
        lambda rows: len({row[2] for row in rows}) > 1
    ),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    bom=st.booleans(),
    names=st.lists(
        st.text(
            st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")), min_size=1
        ).map(lambda text: "n" + text + "n"),
        min_size=3,
        max_size=3,
        unique=True,
    ),
)
def test_what_is_written_is_read_exactly(
    rows: list[tuple[float, ...]],
    delimiter: str,
    quoting: int,
    end: str,
    bom: bool,
    names: list[str],
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=end)  # type: ignore[arg-type]
    writer.writerow(names)
    writer.writerows(rows)
    path = write("\ufeff" * bom + text.getvalue())
    table = read_table(path, names[2], delimiter=delimiter, left_out={})
    values = np.array(rows)
    np.testing.assert_array_equal(table.X, values[:, :2])
    np.testing.assert_array_equal(table.y, values[:, 2])
    assert table.features == tuple(names[:2])


@examples(60)
@given(
    rows=st.lists(st.tuples(finite, finite), min_size=3, max_size=20),
    delimiter=st.sampled_from(",;\t|"),
    comma=st.booleans(),
)
def test_the_delimiter_is_found(
    rows: list[tuple[float, float]], delimiter: str, comma: bool
) -> None:
    rows = [*rows, (0.25, 0.5)]  # a fraction that cannot be taken for thousands
    lines = [f"{x!r}{delimiter}{y!r}\n" for x, y in rows]
    if comma and delimiter != ",":
        lines = [line.replace(".", ",") for line in lines]
    inputs = read_inputs(write(f"x{delimiter}y\n" + "".join(lines)), ["x", "y"])
    np.testing.assert_array_equal(inputs.X, np.array(rows))


@examples(300)
@given(body=st.text(st.sampled_from('01234.,;-+e"\r\n \tx\0é'), max_size=40))
def test_what_is_read_is_what_a_plain_reader_finds(body: str) -> None:
    path = write("x,y\n" + body)
    try:
        inputs = read_inputs(path, ["x", "y"], delimiter=",")
    except InputError:
        return
    lines = io.StringIO(body, newline="")
    records = csv.reader(lines, skipinitialspace=True)
    filled = [record for record in records if "".join(record).strip()]
    assert inputs.X.tolist() == [[float(cell) for cell in record] for record in filled]


@examples(200)
@given(content=st.binary(max_size=60) | st.text(st.sampled_from('ay1.,;|"\r\n \t'), max_size=40))
@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.csv.gz", "data.csv.xz", "data.pq"])
def test_any_content_is_read_or_refused(name: str, content: str | bytes) -> None:
    path = write(content, name)
    try:
        assert np.isfinite(read_table(path, "y").X).all()
    except InputError as error:
        text = str(error)
        assert len(text.splitlines()) == 1


@given(
    names=st.lists(
        st.sampled_from(["t", "größe", "Länge [µm]", "x€", "°C"]), min_size=1, unique=True
    ),
    rows=st.lists(st.integers(-99, 99), min_size=3, max_size=5),
    written=st.sampled_from(["cp1252", "utf-16", "utf-16-le", "utf-8", "utf-8-sig"]),
    separator=st.sampled_from(",;\t"),
)
def test_what_excel_writes_is_read(
    names: list[str], rows: list[int], written: str, separator: str
) -> None:
    lines = [[*names, "y"], *([str(row)] * len(names) + [str(at)] for at, row in enumerate(rows))]
    text = "".join(separator.join(line) + "\r\n" for line in lines)
    content = text.encode(written)
    path = write(b"\xff\xfe" + content if written == "utf-16-le" else content)
    table = read_table(path, "y", names)
    assert table.features == tuple(names)
    assert table.X.tolist() == [[row] * len(names) for row in rows]
    said = {"cp1252": "Windows-1252, as it is not UTF-8", "utf-16": "UTF-16", "utf-16-le": "UTF-16"}
    note = f"read the text as {said.get(written)}"
    assert (note in table.notes) == (
        written in said and not (written == "cp1252" and text.isascii())
    )


# -- what is refused: content and sentence ---------------------------------------------------------

OUT = ", or leave the column out with `features`"
NOT = "which is not a number; replace it by a number"
DATES = "turn dates into numbers, such as days since the start"
GROUPS = "write decimals with a point, and thousands without a separator"


def table_with(cell: str) -> str:
    return f"a,b,y\n1,2,3\n4,{cell},6\n7,8,10\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "data.csv is empty; give a table with a line of column names"),
        ("\n \n", "data.csv is empty; give a table with a line of column names"),
        ("\ufeff", "data.csv is empty; give a table with a line of column names"),
        ("a,b,y\n", "data.csv has column names but no rows; add some"),
        ("a,b,y", "data.csv has column names but no rows; add some"),
        ("a,y\n1,2\n", "data.csv has only one row; a search needs at least 3, so add some"),
        ("a,y\n1,2\n3,4\n", "data.csv has only 2 rows; a search needs at least 3, so add some"),
        (
            "1,2,3\n4,5,6\n7,8,10\n",
            "line 1 of data.csv has numbers where the column names should be; put a line of names"
            " first",
        ),
        ("1,5;2,0\n1,6;3,0\n1,7;5,0\n", "line 1 of data.csv has numbers where the column names"),
        ("y\n1\n2\n3\n", "data.csv has no column beside 'y' to predict it from; add one"),
        ("a,b,z\n1,2,3\n", "data.csv has no column 'y'; known: a, b, z"),
        ("a,b,Y\n1,2,3\n", "data.csv has no column 'y'; did you mean 'Y'?"),
        (
            "a,b,a,y\n1,2,3,4\n5,6,7,8\n",
            "data.csv has 2 columns named 'a' in line 1; rename them so that they differ",
        ),
        ("a,y,y\n1,2,3\n", "data.csv has 2 columns named 'y' in line 1"),
        ("a,a ,y\n1,2,3\n", "data.csv has 2 columns named 'a' in line 1"),
        (
            "a,,y\n1,2,3\n",
            "column 2 has no name in line 1 of data.csv; name it, or choose among the others with"
            " `features`",
        ),
        ("a,b,y,\n1,2,3,\n", "column 4 has no name in line 1 of data.csv"),
        (",x,y\n2.5,5,1\n3,6,2\n4,7,4\n", "column 1 has no name in line 1 of data.csv"),
        (",x,y\n0,5,1\n1,6,2\n0,7,4\n", "column 1 has no name in line 1 of data.csv"),
        (",x,y\n-1,5,1\n0,6,2\n1,7,4\n", "column 1 has no name in line 1 of data.csv"),
        ('x,y\n1,2\n\n""\n3,4\n', "line 4 of data.csv has one field and the header has 2"),
        (",,y\n0,5,1\n1,6,2\n2,7,4\n", "column 2 has no name in line 1 of data.csv"),
        (
            "\n\nsin,y\n1,2\n3,4\n5,6\n",
            "column 'sin' in line 3 of data.csv is named like an operator; rename it, for instance"
            " to 'sin_'",
        ),
        ("const,y\n1,2\n3,4\n5,6\n", "column 'const' in line 1 of data.csv is named like an oper"),
        (table_with("tall"), f"column 'b' of data.csv has 'tall' in line 3, {NOT}{OUT}"),
        (table_with("4 kg"), f"column 'b' of data.csv has '4 kg' in line 3, {NOT}{OUT}"),
        (table_with("??"), f"column 'b' of data.csv has '??' in line 3, {NOT}{OUT}"),
        (table_with("0x1F"), f"column 'b' of data.csv has '0x1F' in line 3, {NOT}{OUT}"),
        (table_with("1_000"), f"column 'b' of data.csv has '1_000' in line 3, {NOT}{OUT}"),
        (table_with("١"), f"column 'b' of data.csv has '١' in line 3, {NOT}{OUT}"),
        (table_with("1\0"), "data.csv is not a text file; save the table as CSV"),
        (table_with("1" * 100_000 + "x"), f"has '{'1' * 40}...' in line 3, {NOT}{OUT}"),
        (table_with("x" * 99), f"column 'b' of data.csv has '{'x' * 40}...' in line 3, {NOT}{OUT}"),
        (table_with('"1,234"'), f"column 'b' of data.csv has '1,234' in line 3; {GROUPS}{OUT}"),
        (table_with("2024-05-01"), f"has the date '2024-05-01' in line 3; {DATES}{OUT}"),
        (table_with("2024-05-01T12:00:00Z"), "has the date '2024-05-01T12:00:00Z' in line 3"),
        (table_with("1/5/2024"), "has the date '1/5/2024' in line 3"),
        (table_with("1.5.2024"), "has the date '1.5.2024' in line 3"),
        (table_with("01-May-2024"), "has the date '01-May-2024' in line 3"),
        (table_with("12:30"), "has the date '12:30' in line 3"),
        (table_with("TRUE"), f"has 'TRUE' in line 3; write 1 for true and 0 for false{OUT}"),
        (
            "a,b,y\n1,true,3\n4,false,6\n7,1,10\n",
            "column 'b' of data.csv has 'true' in line 2; write 1 for true and 0 for false" + OUT,
        ),
        (
            "a,y\n1,2\n3,x\n5,6\n",
            f"column 'y' of data.csv has 'x' in line 3, {NOT}",
        ),
        (
            'note,b,y\n"two\nlines",2,3\n,5,6\n,8,bad\n',
            f"column 'y' of data.csv has 'bad' in line 5, {NOT}",
        ),
        (
            "a;b;y\n1,234;2;3\n4,567;5;6\n7,890;8;10\n",
            f"column 'a' of data.csv has '1,234' in line 2; {GROUPS}{OUT}",
        ),
        (
            "a;b;y\n1,5;2.5;3\n4,5;5.5;6\n7,5;8;10\n",
            f"column 'a' of data.csv has '1,5' in line 2; {GROUPS}{OUT}",
        ),
        (
            table_with(""),
            "column 'b' of data.csv has a missing value in line 3; fill them in, or set"
            " `missing` to rows, or column, to leave those out",
        ),
        (
            "a,b,y\n1,2,3\n\n4,NA,6\n7,,10\n",
            "column 'b' of data.csv has 2 missing values, the first in line 4; fill them in,"
            " or set `missing` to rows, or column, to leave those out",
        ),
        ("a,b,y\n1,2,3\n4,5,nan\n7,8,10\n", "column 'y' of data.csv has a missing value in line 3"),
        (
            table_with("-inf"),
            "column 'b' of data.csv has -inf in line 3; replace infinite values, or leave their"
            " cells empty and set `missing` to rows",
        ),
        (table_with("1e999"), "column 'b' of data.csv has inf in line 3; replace infinite"),
        (
            table_with("-2e150"),
            "column 'b' of data.csv has -2e+150 in line 3, and squares overflow beyond 1e+150;"
            " rescale the column",
        ),
        (
            "a,y\n1,3\n2,3\n3,3.0\n",
            "the target 'y' of data.csv is 3 in every row; choose one that varies",
        ),
        (
            "a,b,y\n1,2,3\n4,5,6,7\n8,9,10\n",
            "line 3 of data.csv has 4 fields and the header has 3; make them agree, and put text"
            " with commas between quotation marks",
        ),
        ("a,b,y\n1,2,3\n4,5\n8,9,10\n", "line 3 of data.csv has 2 fields and the header has 3"),
        ("a,b,y\n1,2,3,\n4,5,6,\n", "line 2 of data.csv has 4 fields and the header has 3"),
        (
            'a,b,y\n1,2,3\n4,"5,6\n8,9,10\n',
            "line 3 of data.csv opens a quotation mark that is never closed; close it",
        ),
        (
            'a,y\n1,2\n3,"' + "x" * 200_000 + "\n",
            "line 3 of data.csv cannot be split into columns",
        ),
        (
            GOOD.encode("utf-16") + b"1",
            "data.csv is not text in UTF-8, UTF-16 or Windows-1252; save the table as UTF-8",
        ),
        (b"a,b,y\n1,2,3\n4,\x81,6\n", "line 3 of data.csv is not text in UTF-8, UTF-16 or Wind"),
        (b"a,b,y\n1,2,3\n4,\xff,6\n", f"column 'b' of data.csv has 'ÿ' in line 3, {NOT}{OUT}"),
        (GOOD.encode("utf-32"), "data.csv is not a text file; save the table as CSV"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "data.csv is not a text file; save the table as CSV"),
        (b"PAR1\x15\x04\x15\0", "data.csv is not a text file; save the table as CSV"),
        (
            ",".join(f"x{i}" for i in range(MOST_COLUMNS + 1)) + ",y\n",
            "data.csv has 501 feature columns, more than 500; choose some with `features`",
        ),
    ],
)
def test_bad_files(content: str | bytes, sentence: str) -> None:
    path = write(content)
    text = error_of(lambda: read_table(path, "y"))
    assert sentence in text
    assert "data.csv" in text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target": "z"}, "data.csv has no column 'z'; known: height, b, y"),
        (
            {"features": ["heigth", "c"]},
            "data.csv has no column 'heigth' (nor 'c'); did you mean 'height'?",
        ),
        ({"weights": ""}, "data.csv has no column ''; known: height, b, y"),
        ({"weights": "w"}, "data.csv has no column 'w'; known: height, b, y"),
        (
            {"features": ["b", "y"]},
            "column 'y' is the target and a feature; leave it out of `features`",
        ),
        (
            {"features": ["b"], "weights": "b"},
            "column 'b' is the weights and a feature; leave it out of `features`",
        ),
        (
            {"weights": "y"},
            "column 'y' is both `target` and `weights`; give another column of weights",
        ),
        ({"features": "b"}, "give the features as a list, such as ['b'], not one text"),
        ({"features": ["b", "b"]}, "feature 'b' is given twice; give it once"),
        ({"features": []}, "`features` names no column; name at least one"),
        (
            {"weights": "b"},
            "column 'b' of data.csv has the weight -5 in line 3; make weights zero or more",
        ),
        (
            {"delimiter": ";"},
            "data.csv has only one column when split at semicolons, and its name contains commas;"
            " give `delimiter` as ','",
        ),
        *(
            (
                {"delimiter": each},
                "`delimiter` must be one character such as ',' or ';', or 'tab', or ' ' for blanks,"
                f" not {each!r}",
            )
            for each in ("", ",,", ".", "x", "\n", "§")
        ),
    ],
)
def test_bad_options(options: dict[str, object], sentence: str) -> None:
    path = write("height,b,y\n1,2,3\n4,-5,6\n7,8,10\n")
    arguments: dict[str, object] = {"target": "y", **options}
    assert error_of(lambda: read_table(path, **arguments)) == sentence  # type: ignore[arg-type]


def test_weights_must_not_all_be_zero() -> None:
    path = write("a,w,y\n1,0,3\n4,0,6\n7,0,10\n")
    text = error_of(lambda: read_table(path, "y", weights="w"))
    assert text == "column 'w' of data.csv has the weight 0 in every row; make some positive"


def test_a_column_that_was_asked_for_is_not_to_be_left_out() -> None:
    path = write(table_with("tall"))
    text = error_of(lambda: read_table(path, "y", features=["a", "b"]))
    assert text == f"column 'b' of data.csv has 'tall' in line 3, {NOT}"


@pytest.mark.parametrize(
    ("content", "delimiter", "sentence"),
    [
        ("a;b;y\n1;2;3\n", None, "split at tabs, and its name contains semicolons"),
        ("a\tb\ty\n1\t2\t3\n", ",", "split at commas, and its name contains tabs; give `delimite"),
        ("a;b;y\n1,5;2,0;3\n", ",", "split at commas, and its name contains semicolons; give `del"),
        (
            "a|b|y\n1|2|3\n",
            ":",
            "split at ':', and its name contains bars; give `delimiter` as",
        ),
    ],
)
def test_the_wrong_delimiter_is_named(content: str, delimiter: str | None, sentence: str) -> None:
    path = write(content, "data.tsv")
    assert sentence in error_of(lambda: read_table(path, "y", delimiter=delimiter))


# -- what is wrong far down the file, where the first look does not reach --------------------------

FAR = 1000  # lines


@pytest.fixture
def short_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "SAMPLE", 100)
    monkeypatch.setattr(delimited, "ROWS_AT_A_TIME", 300)


@pytest.mark.usefixtures("short_look")
@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"1,x\n", f"column 'y' of data.csv has 'x' in line {FAR + 2}, {NOT}"),
        (b"1,2,3\n", f"line {FAR + 2} of data.csv has 3 fields and the header has 2"),
        (b"1\n", f"line {FAR + 2} of data.csv has one field and the header has 2"),
        (b"1,\n", f"column 'y' of data.csv has a missing value in line {FAR + 2}; fill"),
        (b"1,True\n", f"column 'y' of data.csv has 'True' in line {FAR + 2}; write"),
        (b"1,\xe9\n", f"column 'y' of data.csv has 'é' in line {FAR + 2}, {NOT}"),
        (b"1,\x81\n", f"line {FAR + 2} of data.csv is not text in UTF-8, UTF-16 or Windows-1252"),
        (b'1,"2\n', f"column 'y' of data.csv has '2\\n1,3\\n' in line {FAR + 2}, {NOT}"),
        (b'"1,2\n', f"line {FAR + 2} of data.csv opens a quotation mark that is never closed"),
        (b"1,\0\0\n", f"column 'y' of data.csv has '\\x00\\x00' in line {FAR + 2}, {NOT}"),
    ],
)
def test_bad_lines_far_down(line: bytes, sentence: str) -> None:
    path = write(b"x,y\n" + b"1,2\n" * FAR + line + b"1,3\n")
    assert sentence in error_of(lambda: read_table(path, "y"))


@pytest.mark.usefixtures("short_look")
def test_decimal_commas_far_down_are_refused_rather_than_guessed() -> None:
    path = write(b"x;y\n" + b"1;2\n" * FAR + b"1;2,5\n")
    text = error_of(lambda: read_table(path, "y"))
    assert text == f"column 'y' of data.csv has '2,5' in line {FAR + 2}; {GROUPS}"


@pytest.mark.usefixtures("short_look")
@pytest.mark.parametrize("cell", ["1.5", "1.500"])
def test_points_among_decimal_commas_are_refused_rather_than_guessed(cell: str) -> None:
    path = write("x;y\n0,5;2\n" + "1;2\n" * FAR + f"1;{cell}\n")
    text = error_of(lambda: read_table(path, "y"))
    assert text == f"column 'y' of data.csv has '{cell}' in line {FAR + 3}, {NOT}"


# -- files that are not what they seem -------------------------------------------------------------


def test_a_missing_file_is_answered_with_a_near_one() -> None:
    write(GOOD, "planets.csv")
    write("", "planet.py")
    text = error_of(lambda: read_table("planet.csv", "y"))
    assert text == "there is no file planet.csv; did you mean 'planets.csv'?"


def test_a_near_file_is_called_as_the_front_end_calls_it() -> None:
    write(GOOD, "planets.csv")
    with pytest.raises(InputError) as caught:
        read_table(Path.cwd() / "planet.csv", "y")
    text = worded(caught.value, Path.cwd())
    names = "did you mean 'planets.csv'?", "known: planets.csv"  # by the length of the folder
    assert text in [f"there is no file planet.csv; {each}" for each in names]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("data.csv", "there is no file data.csv; check the path"),
        ("no/data.csv", "there is no folder no; check the path"),
        ("x" * 300 + ".csv", "cannot be read (File name too long); check the path"),
        ("a\0b.csv", "cannot be read (embedded null byte); check the path"),
        (".", ". is a folder; give a file in it"),
        (os.devnull, f"{os.devnull} is not a plain file; save the table to one"),
    ],
)
def test_paths_without_a_file(path: str, sentence: str) -> None:
    assert sentence in error_of(lambda: read_table(path, "y"))


def test_a_folder_is_answered_with_a_table_in_it() -> None:
    Path("tables").mkdir()
    write(GOOD, "tables/planets.csv.gz")
    text = error_of(lambda: read_table("tables", "y"))
    assert text == "tables is a folder; give a file in it, such as tables/planets.csv.gz"


@pytest.mark.parametrize("name", ["data.xls", "data.json", "data.pkl", "data", "data.gz", ".csv"])
def test_other_formats(name: str) -> None:
    path = write(GOOD, name)
    assert error_of(lambda: read_table(path, "y")) == (
        f"{name} does not have the name of a table that can be read"
        " (.csv, .tsv, .tab, .txt, .dat, .asc, .prn, .parquet, .pq, .xlsx, .xlsm);"
        " save it as CSV, Parquet or .xlsx"
    )


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_a_file_without_permission(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(GOOD, name)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    text = error_of(lambda: read_table(path, "y"))
    assert text == f"{name} cannot be read (Permission denied); check the file"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv.gz", GOOD.encode()),
        ("data.csv.gz", gzip.compress(GOOD.encode(), mtime=0)[:-12]),
        ("data.csv.xz", GOOD.encode()),
        ("data.csv.xz", lzma.compress(GOOD.encode())[:-12]),
        ("data.csv.bz2", GOOD.encode()),
        ("data.csv.bz2", bz2.compress(GOOD.encode())[:-12]),
    ],
)
def test_damaged_compression(name: str, content: bytes) -> None:
    path = write(content, name)
    assert re.match(
        rf"{name} (is damaged|cannot be read) ", error_of(lambda: read_table(path, "y"))
    )


@pytest.mark.usefixtures("short_look")
def test_damage_far_down() -> None:
    numbers = np.random.default_rng(0).integers(0, 10**9, 20_000)
    content = gzip.compress("".join(["x,y\n", *(f"{i},1\n" for i in numbers)]).encode())
    path = write(content[:-1000], "data.csv.gz")
    text = error_of(lambda: read_table(path, "y"))
    assert text.startswith("data.csv.gz is damaged (Compressed file ended before the end-of-stream")


# -- prediction ------------------------------------------------------------------------------------


def test_inputs_are_found_by_name_and_the_rest_is_ignored() -> None:
    path = write("when,b,c,a\n2024-01-01,2,x,1\n2024-01-02,5,y,4\n")
    inputs = read_inputs(path, ("a", "b"))
    assert inputs.X.tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert inputs.ignored == ("when", "c")
    assert (inputs.features, inputs.path) == (("a", "b"), Path(path))


def test_inputs_may_be_one_row_and_one_column() -> None:
    assert read_inputs(write('"p, Pa"\n1\n'), ["p, Pa"], delimiter=",").X.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("mas,speed\n1,2\n", "data.csv has no column 'mass'; did you mean 'mas'?"),
        ("b,c\n1,2\n", "data.csv has no column 'mass' (nor 'speed'); known: b, c"),
        ("mass;speed\n", "data.csv has column names but no rows; add some"),
        ("mass,speed\n1,\n", "column 'speed' of data.csv has a missing value in line 2"),
        ("mass,speed\n1,fast\n", f"column 'speed' of data.csv has 'fast' in line 2, {NOT}"),
        ("mass,speed,mass\n1,2,3\n", "data.csv has 2 columns named 'mass' in line 1"),
    ],
)
def test_bad_inputs(content: str, sentence: str) -> None:
    path = write(content)
    assert sentence in error_of(lambda: read_inputs(path, ["mass", "speed"]))


# -- Parquet ---------------------------------------------------------------------------------------


def parquet(columns: dict[str, object], index: list[object] | None = None) -> str:
    pytest.importorskip("pyarrow")
    import pandas

    pandas.DataFrame(columns, index=index).to_parquet("data.parquet")
    return "data.parquet"


def test_parquet_reads_like_text() -> None:
    path = parquet(
        {
            " a.b ": np.array([1, 4, 2**62]),
            "a": np.array([0.1, 1e150, -0.0], np.float64),
            "short": np.array([1, 2, 3], np.float32),
            "money": [Decimal("1.50"), Decimal("2.25"), Decimal("3.00")],
            "y": [1.0, 2.0, 3.5],
            "w": np.array([1, 2, 3], np.uint8),
        }
    )
    table = read_table(path, "y", weights="w")
    assert table.features == ("a.b", "a", "short", "money")
    assert table.X.T.tolist() == [[1, 4, 2.0**62], [0.1, 1e150, 0], [1, 2, 3], [1.5, 2.25, 3]]
    assert table.y.tolist() == [1.0, 2.0, 3.5]
    assert table.weights is not None
    assert table.weights.tolist() == [1, 2, 3]
    inputs = read_inputs(path, ["a"])
    assert inputs.X.shape == (3, 1)
    assert inputs.ignored == ("a.b", "short", "money", "y", "w")


def test_the_index_of_a_data_frame_is_not_a_column() -> None:
    table = read_table(parquet({"x": [1, 2, 3], "y": [1, 2, 4]}, index=["p", "q", "r"]), "y")
    assert table.features == ("x",)
    assert table.notes == ("left out the index that pandas saved",)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ([1.0, 2.0, None], "has a missing value in row 2 (the first is 0); fill them in"),
        ([None, None, None], "has 3 missing values, the first in row 0 (the first is 0); fill"),
        ([1.0, np.inf, 2.0], "has inf in row 1 (the first is 0); replace infinite values"),
        ([1.0, 1e200, 2.0], "has 1e+200 in row 1 (the first is 0), and squares overflow"),
        ([None, "b", "c"], f"has 'b' in row 1 (the first is 0), {NOT}{OUT}"),
        ([[1], [2], [3]], "has 'list<"),  # not read
    ],
)
def test_bad_parquet_columns(column: object, sentence: str) -> None:
    path = parquet({"a": column, "y": [1.0, 2.0, 4.0]})
    text = error_of(lambda: read_table(path, "y"))
    assert text.startswith(f"column 'a' of data.parquet {sentence}")


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"x": [1.0] * 3}, "data.parquet has no column 'y'; known: x"),
        ({"x": [], "y": []}, "data.parquet has column names but no rows; add some"),
        ({"cos": [1.0] * 3, "y": [1, 2, 3]}, "column 'cos' in the schema of data.parquet is named"),
        ({"x": [1.0] * 3, "y": [2, 2, 2]}, "the target 'y' of data.parquet is 2 in every row"),
    ],
)
def test_bad_parquet_tables(columns: dict[str, object], sentence: str) -> None:
    path = parquet(columns)
    assert sentence in error_of(lambda: read_table(path, "y"))


def test_damaged_parquet() -> None:
    whole = Path(parquet({"x": np.arange(1000.0), "y": np.arange(1000.0)})).read_bytes()
    for content in (b"", GOOD.encode(), whole[:-20], whole[:100] + b"\0" * 900 + whole[1000:]):
        write(content, "data.parquet")
        text = error_of(lambda: read_table("data.parquet", "y"))
        assert text.startswith("data.parquet is not a whole Parquet file (")
        assert text.endswith("); save it again")


def test_parquet_takes_no_delimiter() -> None:
    path = parquet({"x": [1, 2, 3], "y": [1, 2, 4]})
    text = error_of(lambda: read_table(path, "y", delimiter=","))
    assert text == "`delimiter` is for text tables; leave it out to read data.parquet"


def test_parquet_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write(b"PAR1", "data.pq")
    assert error_of(lambda: read_table(path, "y")) == (
        "reading data.pq needs pyarrow; run: pip install pyarrow, or save the table as CSV"
    )


@pytest.mark.parametrize(
    "text",
    [
        "a,y\n1,2\n -3.5e-7 , 1E5\n.5,5.\n0.1,1e-320\n2,3\n",
        'a;b;y\n1,5;"2";3\n\n4;"5,25";6\n7;8;9\n',
        "a,y\n1,2\n3,NA\n5,6\n",
        "a,y\n1,2\n3,true\n5,6\n",
        "a,y\n1,2\n3\n5,6\n",
        "a,y\n1,2,3\n3,4\n5,6\n",
        "a,y\n1,2\n3,x\n5,6\n",
        "a,y\n1,2\n1_0,4\n5,6\n",
    ],
)
def test_small_and_large_files_are_read_alike(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    answers = []
    for small in (0, 1 << 20):
        monkeypatch.setattr("symseek.files.delimited.SMALL", small)
        try:
            table = read_table(path, "y")
            answers.append((table.X.tolist(), table.y.tolist()))
        except InputError as error:
            answers.append(str(error))
    assert answers[0] == answers[1]
