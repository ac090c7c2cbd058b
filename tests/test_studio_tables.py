"""Tables and questions in the studio: dropped, looked at, and complained of."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from run_helpers import Capture, answer
from studio_helpers import Served, error_of, questioned, serving
from symseek.errors import InputError
from symseek.files.cells import MISSING, is_number, value_of
from symseek.files.delimited import Delimited
from symseek.files.tables import open_table, read_table, training_table
from symseek.settings import Settings
from symseek.studio.preview import preview
from symseek.studio.question import consider, read_settings
from symseek.studio.workspace import Workspace

EVIL = "<img src=x onerror=alert(1)>"
UGLY = f"""a,{EVIL},same,text,gaps,empty,big,y
1,5,3,x,1,,1e200,2
2,6,3,y,,,1,4
3,7,3,z,3,,1,9
4,8,3,z,4,,1,1
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One studio for all of these."""
    with serving(tmp_path_factory.mktemp("tables")) as served:
        yield served


def columns_of(path: Path) -> dict[str, Any]:
    found = preview(open_table(path).whole(), path.parent)
    return {each["name"]: each for each in found["columns"]}


def test_every_column_says_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "ugly.csv"
    path.write_text(UGLY)
    columns = columns_of(path)
    kinds = {name: (each["kind"], each["missing"]) for name, each in columns.items()}
    assert kinds == {
        "a": ("number", 0),
        EVIL: ("number", 0),
        "same": ("constant", 0),
        "text": ("text", 0),
        "gaps": ("number", 1),
        "empty": ("empty", 4),
        "big": ("number", 0),
        "y": ("number", 0),
    }
    a = columns["a"]
    assert (a["min"], a["max"], a["mean"], sum(a["histogram"])) == (1.0, 4.0, 2.5, 4)
    assert columns["text"]["histogram"] is None
    wrong = [name for name, each in columns.items() if each["problem"] is not None]
    assert wrong == ["text", "gaps", "empty", "big"]


@pytest.mark.parametrize("name", ["text", "gaps", "empty", "big"])
def test_what_is_wrong_is_said_as_on_the_command_line(
    here: Path, capsys: Capture, name: str
) -> None:
    Path("ugly.csv").write_text(UGLY)
    said = answer(capsys, "fit", "ugly.csv", "--target", "y", "--features", name)
    problem = columns_of(here / "ugly.csv")[name]["problem"]
    assert said.err.replace("symseek: ", "").strip().split("; ")[0] == problem.split("; ")[0]


@pytest.mark.parametrize(
    "content",
    ["a,b\n1,2\n3,4,5\n", "1,2\n3,4\n", "", 'a,b\n1,"2\n', "a;b\n1,5;x\n2,5;3\n", "a,b\n"],
)
def test_a_table_in_memory_answers_like_its_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(content)

    def complaint(read: Any) -> str:
        try:
            return str(read().y)
        except InputError as error:
            return str(error)

    here = complaint(lambda: read_table(path, "b", ["a"]))
    assert complaint(lambda: training_table(open_table(path).whole(), "b", ["a"])) == here


cells = st.sampled_from(
    ["1", "2.5", "-3e2", "", "NA", "x", "1_0", "１", "1d2", " 4 ", "inf", "nan"]
)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=6))
def test_numbers_are_read_once_as_they_are_read_from_the_file(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("cells") / "data.csv"
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows), encoding="utf-8")

    table = Delimited.open(path)
    direct, held = table.numbers([1, 0]), table.whole().numbers([1, 0])
    first = table.heading.first_row  # below a row that was taken for units
    rows = rows[first - 2 :]
    assert direct.texts == held.texts
    if not direct.texts:
        assert repr(direct) == repr(held)
    for at, column in enumerate(zip(*rows, strict=True)):
        values = [value_of(cell, ".") if is_number(cell, ".") else np.nan for cell in column]
        assert np.array_equal(held.values[:, 1 - at], values, equal_nan=True)
        known = [is_number(cell, ".") or cell in MISSING for cell in column]
        odd = [row for row, fine in enumerate(known) if not fine]
        text = direct.texts.get(1 - at)
        assert (text and (text.row, text.where, text.value)) == (
            (odd[0], f"line {first + odd[0]}", column[odd[0]]) if odd else None
        )


@pytest.mark.slow
@pytest.mark.parametrize("last", ["7", "", "x", "nan", "inf", "1,5"])
def test_a_large_table_is_read_alike(tmp_path: Path, last: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "1.25,2\n" * 80_000 + f"3,{last}\n")

    def told(read: Any) -> str:
        try:
            return repr(training_table(read(path), "b").y.sum())
        except InputError as error:
            return str(error)

    assert told(lambda path: open_table(path).whole()) == told(open_table)


def test_a_dropped_table_is_saved_once(studio: Served) -> None:
    first = b"a,b\n1,2\n3,4\n5,7\n"
    assert studio.post("api/tables?name=new.csv", first)["name"] == "new.csv"
    assert studio.post("api/tables?name=new.csv", first)["name"] == "new.csv"
    other = studio.post("api/tables?name=new.csv", b"a,b\n1,2\n3,4\n5,8\n")
    assert (other["name"], other["rows"], other["suggested_target"]) == ("new-2.csv", 3, "b")
    assert (studio.folder / "new.csv").read_bytes() == first
    assert {"new-2.csv", "new.csv"} <= set(studio.get("api/state")["tables"])
    assert studio.get("api/tables/new-2.csv") == other


def test_pasted_columns_are_a_table(studio: Served) -> None:
    pasted = studio.post("api/tables?name=pasted.csv", b"t\theight\n0,5\t1,2\n1,0\t4,9\n1,5\t11\n")
    assert [each["name"] for each in pasted["columns"]] == ["t", "height"]
    assert pasted["notes"] == ["read commas in numbers as decimal signs"]
    assert pasted["head"][0] == ["0,5", "1,2"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\x00\x01\x02binary", "NAME is not a text file; save the table as CSV"),
        (b"a,b\n\xff\x81,2\n", "line 2 of NAME is not text in UTF-8, UTF-16 or Windows-1252"),
        (b"1,2\n3,4\n", "line 1 of NAME has numbers where the column names should be"),
        (b"a,b\n1,2\n3\n", "line 3 of NAME has one field and the header has 2"),
    ],
)
def test_a_broken_file_is_said_to_be_so(studio: Served, content: bytes, sentence: str) -> None:
    found = studio.post("api/tables?name=broken.csv", content)
    assert found["error"].startswith(sentence.replace("NAME", found["name"]))
    assert found["columns"] == []
    asked = studio.post("api/question", {"table": found["name"], "target": "b"})
    assert [each["sentence"] for each in asked["problems"]] == [found["error"]]


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../x.csv", "a/b.csv", "a\\b.csv", ".x.csv", "x\0.csv", "x\n.csv"),
        *("x.exe", "x" * 300 + ".csv", "ä" * 120 + ".csv"),
    ],
)
def test_no_file_is_saved_under_such_a_name(studio: Served, name: str) -> None:
    before = sorted(studio.folder.parent.rglob("*"))
    answered = studio.client.post("api/tables", params={"name": name}, content=b"a,b\n1,2\n")
    assert answered.status_code == 400
    assert len(answered.json()["error"]) < 300
    assert sorted(studio.folder.parent.rglob("*")) == before


def test_names_that_are_markup_are_names(studio: Served) -> None:
    name = f"{EVIL}.csv"
    rows = "".join(f"{i},{i * i},{i * i * i}\n" for i in range(9))
    saved = studio.client.post("api/tables", params={"name": name}, content=f"a,{EVIL},y\n{rows}")
    assert saved.json()["name"] == name
    question = {"table": name, "target": EVIL, "settings": {"max_expressions": 2000}}
    asked = studio.post("api/question", question)
    assert asked["problems"] == []
    assert shlex.split(asked["command"])[:5] == ["symseek", "fit", name, "--target", EVIL]
    run = studio.post("api/runs", question)["run"]
    assert run == "<img src=x onerror=alert(1)>-run-1"
    found = studio.until(run.replace("=", "%3D"), "finished", "died")
    assert (found["status"], found["target"]) == ("finished", EVIL)
    assert not any("<img" in each["mathml"] for each in found["formulas"])


# --- questions


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ({}, ["column:gaps", "column:big"]),
        ({"features": ["a"]}, []),
        ({"features": ["a", "gaps"], "settings": {"missing": "rows"}}, []),
        ({"features": ["a"], "target": None}, ["target"]),
        ({"features": ["a"], "target": "same"}, ["target"]),
        ({"features": ["a"], "target": "text"}, ["target"]),
        ({"features": ["a"], "target": "nowhere"}, ["target"]),
        ({"features": ["a", "y"]}, ["features"]),
        ({"features": []}, ["features"]),
        ({"features": ["nowhere"]}, ["features"]),
        ({"features": ["a"], "weights": "text"}, ["weights"]),
        ({"features": ["a"], "weights": "y"}, ["weights"]),
        ({"features": ["a"], "group": "y"}, ["group"]),
        ({"features": ["a"], "group": "nowhere"}, ["group"]),
        ({"features": ["a"], "settings": {"validation": 0.1}}, ["validation"]),
        ({"features": ["a"], "settings": {"max_length": 0, "seeds": "x"}}, ["max_length", "seeds"]),
        ({"features": ["a"], "settings": {"operators": ["sinn"]}}, ["operators"]),
        ({"features": ["a"], "settings": {"operators": []}}, ["operators"]),
        ({"features": ["a"], "settings": {"pick": "validation"}}, ["pick"]),
        ({"features": ["a"], "settings": {"no_such": 1}}, [None]),
        ({"features": ["a"], "settings": {"guesses": ["a*"]}}, ["guesses"]),
        ({"features": ["a"], "settings": {"guesses": "a"}}, ["guesses"]),
        ({"features": ["a"], "delimiter": "abc"}, ["delimiter"]),
    ],
)
def test_problems_belong_to_fields(
    tmp_path: Path, question: dict[str, Any], fields: list[str | None]
) -> None:
    path = tmp_path / "ugly.csv"
    path.write_text(UGLY)
    asked = questioned({"table": path.name, "target": "y", **question})
    found = consider(asked, path, lambda: open_table(path, asked.delimiter).whole())
    assert [each["field"] for each in found.problems] == fields
    assert all(str(tmp_path) not in each["sentence"] for each in found.problems)


def test_a_column_of_text_may_name_groups(tmp_path: Path) -> None:
    path = tmp_path / "strains.csv"
    rows = "".join(f"{'AB'[at % 2]},{at},{at * (1 + at % 2) + at**0.5}\n" for at in range(20))
    path.write_text("strain,x,y\n" + rows)
    asked = questioned({"table": path.name, "target": "y", "group": "strain"})
    found = consider(asked, path, lambda: open_table(path, asked.delimiter).whole())
    assert found.problems == []
    assert found.request.group == "strain"
    assert "--group strain" in found.command


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*Settings.__dataclass_fields__, "x"]), json_values))
def test_whatever_the_settings_are_there_is_an_answer(given_settings: dict[str, Any]) -> None:
    settings, problems = read_settings(given_settings, Path("/nowhere"))
    assert isinstance(settings, Settings)
    assert all(each["sentence"] for each in problems)


def test_every_wrong_setting_has_its_own_sentence() -> None:
    _, problems = read_settings({"threads": -5, "reward": "best"}, Path("/nowhere"))
    said = {each["field"]: each["sentence"] for each in problems}
    assert set(said) == {"threads", "reward"}
    assert "'best'" in said["reward"]
    assert "-5" in said["threads"]


@given(json_values)
def test_what_is_no_question_is_refused(body: Any) -> None:
    with pytest.raises(InputError):
        questioned({"table": "data.csv", "target": "y", "settings": [body]})


def test_the_command_is_that_of_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a b.csv"
    path.write_text("x,`y,y,-z\n1,2,3\n2,3,5\n3,4,9\n4,5,1\n")
    settings = {"max_seconds": None, "constants": False, "threads": 2, "operators": ["add", 2]}
    asked = questioned({"table": path.name, "target": "-z", "settings": settings})
    found = consider(asked, path, lambda: open_table(path).whole())
    assert found.command == (
        "symseek fit 'a b.csv' --target=-z --operators add,2 --no-constants --max-seconds none"
        " --threads 2"
    )
    assert (found.request.data, found.aside) == (path, ["--threads", "2"])
    assert found.request.settings.operators == ("add", 2)


def test_formulas_to_begin_with_are_left_out_where_they_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,2\n2,3\n3,5\n4,5\n")
    settings = {"guesses": ["2*x", "log(x - 9)", "x + 1", "nonsense("]}
    asked = questioned({"table": path.name, "target": "y", "settings": settings})
    found = consider(asked, path, lambda: open_table(path).whole())
    assert found.problems == []
    assert found.notes == ["left out 2 formulas to begin with that cannot be used"]
    assert found.command == "symseek fit data.csv --target y --guesses '2*x; x + 1'"


def test_files_that_cannot_be_named_are_not_listed(tmp_path: Path) -> None:
    for name in (b"\xff.csv", b".hidden.csv", b"good.csv", b"new\nline.csv"):
        Path(bytes(tmp_path).decode(), name.decode(errors="surrogateescape")).touch()
    (tmp_path / "folder.csv").mkdir()
    assert Workspace(tmp_path).tables() == ["good.csv"]


def test_a_folder_that_is_gone_is_said_to_be_so(tmp_path: Path) -> None:
    place = Workspace(tmp_path / "gone")
    assert "cannot be read" in error_of(place.tables, InputError)
