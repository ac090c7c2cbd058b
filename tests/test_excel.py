"""Excel workbooks: read like the same table as text, and refused in one sentence when hostile."""

from __future__ import annotations

import datetime
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from run_helpers import answer
from symseek.errors import InputError
from symseek.files import tables
from symseek.files.tables import open_table, read_all, read_inputs, read_table
from symseek.many.tables import files_named

Capture = pytest.CaptureFixture[str]
ROWS = [["t", "h"], [1, 5.5], [2, 11.25], [3, 16.0]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def book(
    path: Path | BytesIO, *sheets: Sequence[Sequence[object]], merged: Sequence[str] = ()
) -> None:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for number, rows in enumerate(sheets, 1):
        sheet = made.create_sheet(f"Sheet {number}")
        for row in rows:
            sheet.append(list(row))
        for cells in merged:
            sheet.merge_cells(cells)
    made.save(path)


def changed(path: Path, part: str, change: Callable[[bytes], bytes]) -> None:
    """Change a part of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {each.filename: archive.read(each) for each in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, change(content) if name == part else content)


SHEET = "xl/worksheets/sheet1.xml"


def test_a_workbook_is_read_like_text(here: Path) -> None:
    book(Path("a.xlsx"), ROWS)
    table = read_table("a.xlsx", "h")
    assert (table.features, table.X[:, 0].tolist()) == (("t",), [1, 2, 3])
    assert table.y.tolist() == [5.5, 11.25, 16.0]
    assert (table.layout.columns, table.layout.first_row, table.notes) == ((0,), 2, ())


def test_where_the_table_is_in_the_sheet(here: Path) -> None:
    above = [["Fall of a ball, May 2024"], [], ["by hand"]]
    book(Path("a.xlsx"), [*above, *([None, None, *row, None, "seen"] for row in ROWS)])
    table = read_table("a.xlsx", "h")
    assert table.y.tolist() == [5.5, 11.25, 16.0]
    book(Path("a.xlsx"), [[], [None, "fall"], *([None, *row, None, "seen"] for row in ROWS)])
    table = read_table("a.xlsx", "h")
    assert (table.layout.columns, table.layout.first_row) == ((1,), 4)
    assert table.notes == (
        "left out one row above the names of the columns",
        "left out what is to the right of an empty column",
    )
    book(Path("a.xlsx"), [[], [None, "fall"], *([None, *row] for row in ROWS), [None, 4, "x"]])
    with pytest.raises(InputError, match=r"'x' in row 7, which is not a number"):
        read_table("a.xlsx", "h")


@given(
    table=st.lists(
        st.tuples(
            st.floats(-1e9, 1e9).map(lambda x: float(f"{x:.15g}")) | st.integers(-(10**6), 10**6),
            st.booleans(),
            st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2050, 1, 1)).map(
                lambda at: at.replace(microsecond=0)
            ),
        ),
        min_size=3,
        max_size=6,
    )
)
@settings(max_examples=25, deadline=None)
def test_a_workbook_and_a_text_table_are_the_same(
    table: list[tuple[float, bool, datetime.datetime]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("same")
    names = ["x", "on", "at"]
    rows = [*table, (0.5, True, table[0][2])]
    book(folder / "a.xlsx", [names, *rows])
    pd.DataFrame(rows, columns=names).to_csv(folder / "a.csv", index=False)
    found, text = (read_inputs(folder / each, names[:2]) for each in ("a.xlsx", "a.csv"))
    assert found.X.tolist() == text.X.tolist()
    kinds = [open_table(folder / each).numbers([2]).kinds for each in ("a.xlsx", "a.csv")]
    assert kinds[0] == kinds[1]
    values = [open_table(folder / each).numbers([2]).values for each in ("a.xlsx", "a.csv")]
    assert values[0] == pytest.approx(values[1])


def test_names_over_merged_cells_are_joined(here: Path) -> None:
    rows = [["t", "A", None, "B"], [None, "V", "I", "V"], [1, 2, 3, 4], [2, 3, 5, 1], [4, 4, 4, 0]]
    book(Path("a.xlsx"), rows, merged=["A1:A2", "B1:C1"])
    table = read_table("a.xlsx", "B V")
    assert table.features == ("t", "A V", "A I")
    assert table.notes == ("joined the names in rows 1 to 2",)
    assert table.X.tolist() == [[1, 2, 3], [2, 3, 5], [4, 4, 4]]
    units = [["t", "h"], ["s", "m"], *ROWS[1:]]
    book(Path("a.xlsx"), units)
    columns = read_table("a.xlsx", "h").columns
    assert [each.unit for each in columns] == ["s", "m"]


def test_a_sheet_is_chosen(here: Path, capsys: Capture) -> None:
    book(Path("a.xlsx"), [["notes"], ["none"]], ROWS)
    assert read_table("a.xlsx", "h", sheet="Sheet 2").y.tolist() == [5.5, 11.25, 16.0]
    with pytest.raises(InputError, match="has no column 'h'"):
        read_table("a.xlsx", "h")
    with pytest.raises(InputError, match="unknown sheet 'Sheet 3'; did you mean"):
        read_table("a.xlsx", "h", sheet="Sheet 3")
    Path("a.csv").write_text("t,h\n1,2\n")
    with pytest.raises(InputError, match="`sheet` is for Excel workbooks; leave it out"):
        read_table("a.csv", "h", sheet="Sheet 2")
    book(Path("b.xlsx"), ROWS, ROWS)
    assert read_table("b.xlsx", "h").notes == ("read the sheet 'Sheet 1', the first of 2",)
    words = "fit", "a.xlsx", "--target", "h", "--sheet", "Sheet 2", "--max-expressions", "200"
    said = answer(capsys, *words, "--max-seconds", "none", "--quiet", "--no-report")
    assert said.code == 0
    assert "--sheet 'Sheet 2'" in said.out
    book(Path("new.xlsx"), [["t"], [4]])
    said = answer(capsys, "predict", "a-run-1", "new.xlsx", "--sheet", "Sheet 1")
    assert said.code == 0
    assert said.out.startswith("t,h\n4.0,")


def test_formulas_have_the_values_that_were_saved(here: Path) -> None:
    book(Path("a.xlsx"), [["t", "u", "h"], [1, "=A2*2", 3], [2, "=A3*2", 5], [3, 7, 8]])
    with pytest.raises(InputError, match=r"column 'u' of a\.xlsx has 2 missing values"):
        read_table("a.xlsx", "h")
    found = read_table("a.xlsx", "h", missing="column")
    assert str(found.notes[0]) == (
        "found 2 formulas without a value, the first in B2; to have them worked out, open the file"
        " in Excel and save it"
    )
    changed(
        Path("a.xlsx"),
        SHEET,
        lambda part: (
            part.replace(b"<v></v>", b"<v>4</v>")
            .replace(b"<v />", b"<v>4</v>")
            .replace(b"<v/>", b"<v>4</v>")
        ),
    )
    table = read_table("a.xlsx", "h")
    assert table.X[:, 1].tolist() == [4, 4, 7]
    assert table.notes == ()


def test_many_workbooks_and_all_their_columns(here: Path, capsys: Capture) -> None:
    for name in ("a", "b"):
        book(Path(f"{name}.xlsx"), ROWS)
    Path("~$a.xlsx").write_bytes(b"locked")
    assert [each.name for each in files_named([here])[0]] == ["a.xlsx", "b.xlsx"]
    words = "fit", "a.xlsx", "b.xlsx", "--target", "h", "--max-expressions", "200", "--jobs", "1"
    assert answer(capsys, *words, "--max-seconds", "none", "--quiet", "--no-report").code == 0
    assert list(read_all("a.xlsx")["h"]) == ["5.5", "11.25", "16"]


# --- what is refused


def bomb(part: bytes) -> bytes:
    return part.replace(b"<worksheet", b'<!DOCTYPE x [<!ENTITY a "1">]><worksheet', 1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Path("a.xlsx").write_bytes(b""), "is not a whole Excel file"),
        (
            lambda: Path("a.xlsx").write_bytes(b"PK\x03\x04" + b"x" * 99),
            "is not a whole Excel file",
        ),
        (lambda: book(Path("a.xlsx"), []), "the sheet 'Sheet 1' of a.xlsx is empty; give a table"),
        (
            lambda: book(Path("a.xlsx"), [[1, 2], [3, 4]]),
            "row 1 of a.xlsx has numbers where the col",
        ),
        (
            lambda: book(Path("a.xlsx"), [["t", "h"]]),
            "a.xlsx has column names but no rows; add some",
        ),
        (
            lambda: (book(Path("a.xlsx"), ROWS), changed(Path("a.xlsx"), SHEET, bomb)),
            "is not a whole Excel file (it declares a document type); save it again",
        ),
        (
            lambda: (
                book(Path("a.xlsx"), ROWS),
                changed(Path("a.xlsx"), SHEET, lambda part: bomb(part).decode().encode("utf-16")),
            ),
            "is not a whole Excel file (",
        ),
        (
            lambda: (
                book(Path("a.xlsx"), ROWS),
                changed(Path("a.xlsx"), SHEET, lambda p: p.replace(b'r="4"', b'r="99999999999"')),
            ),
            "is not a whole Excel file (a sheet has at most 1,048,576 rows)",
        ),
        (
            lambda: (
                book(Path("a.xlsx"), ROWS),
                changed(Path("a.xlsx"), "xl/styles.xml", lambda part: part + b" " * 3_000_000),
            ),
            "takes more than 1 MB when it is read",
        ),
    ],
)
def test_what_is_wrong_with_a_workbook(here: Path, make: Any, sentence: str) -> None:
    make()
    with pytest.raises(InputError) as caught:
        read_table("a.xlsx", "h", max_table_size=1_000_000)
    assert sentence in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_sheet_of_few_bytes_and_many_cells_is_refused(here: Path) -> None:
    book(Path("a.xlsx"), ROWS)
    rows = "".join(f'<row r="{r}"><c r="XFD{r}"><v>1</v></c></row>' for r in range(5, 3_000))
    changed(
        Path("a.xlsx"), SHEET, lambda p: p.replace(b"</sheetData>", rows.encode() + b"</sheetData>")
    )
    with pytest.raises(InputError, match="takes more than 500 MB when it is read"):
        read_table("a.xlsx", "h", max_table_size=500_000_000)


def made() -> bytes:
    content = BytesIO()
    book(
        content,
        [["t", "A", None], [None, "V", "I"], [1, 2, 3], [2, 3, 5], [4, 4, 4]],
        merged=["B1:C1"],
    )
    return content.getvalue()


WHOLE = made()


@contextmanager
def suppress_one_sentence() -> Iterator[None]:
    """Let an error pass that is one sentence."""
    try:
        yield
    except InputError as error:
        if len(str(error).splitlines()) != 1:
            raise


@given(
    at=st.integers(0, len(WHOLE) - 1),
    value=st.binary(min_size=0, max_size=4),
    cut=st.integers(0, len(WHOLE)),
)
@settings(max_examples=60, deadline=None)
def test_a_damaged_workbook_gets_one_sentence(
    at: int, value: bytes, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.xlsx"
    content = WHOLE[:at] + value + WHOLE[at + len(value) :]
    path.write_bytes(content[:cut] if cut % 7 == 0 else content)
    with suppress_one_sentence():
        assert len(read_table(path, "A I").y) == 3


@given(
    cells=st.lists(
        st.lists(
            st.none()
            | st.text(st.characters(codec="ascii", min_codepoint=32), max_size=5)
            | st.integers(-9, 9)
            | st.booleans()
            | st.dates(datetime.date(1901, 1, 1)),
            max_size=4,
        ),
        max_size=6,
    )
)
@settings(max_examples=40, deadline=None)
def test_any_sheet_is_read_or_refused_in_one_sentence(
    cells: list[list[object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.xlsx"
    book(path, [["y", "x"], *cells])
    with suppress_one_sentence():
        assert len(read_table(path, "y", missing="rows").y) >= 3


def test_without_openpyxl_the_sentence_says_what_to_install(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book(Path("a.xlsx"), ROWS)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(
        InputError, match=r"reading a\.xlsx needs openpyxl; run: pip install openpyxl"
    ):
        read_table("a.xlsx", "h")
    assert tables.names_table("a.xlsx")
