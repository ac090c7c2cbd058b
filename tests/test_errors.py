"""An error is a sentence for people and fields for code, also in another process."""

import datetime
import json
import os
import pickle
from pathlib import Path, PurePath

import numpy as np
import pytest

from refusals import refused as refuses
from symseek.arguments import real_array, refuse_text, refused, whole
from symseek.data import Data
from symseek.errors import Action, InputError, Message, Setting, described, unknown_name
from symseek.files.tables import read_table
from symseek.runs.ended import ENDED, read_end, write_end
from symseek.settings import Settings


def fields_of(error):
    return error.field, error.kind, error.value, error.wanted


def test_a_refused_setting_has_its_fields():
    with pytest.raises(InputError) as caught:
        Settings(max_length=0)
    assert fields_of(caught.value) == (
        "max_length",
        "setting",
        0,
        "a whole number from 1 to 1000",
    )
    assert str(caught.value) == "`max_length` is 0; it must be a whole number from 1 to 1000"


def test_an_error_that_quotes_another_is_about_the_same():
    inner = unknown_name("operator", "sinn", ["sin"])
    assert fields_of(InputError("line 3: ", inner)) == fields_of(inner)
    outer = InputError(Setting("operators"), ": ", inner)
    assert (outer.field, outer.kind) == ("operators", "setting")
    assert str(outer) == "`operators`: unknown operator 'sinn'; did you mean 'sin'?"


def test_a_front_end_words_settings_actions_and_paths_itself():
    text = Message(
        "choose ", Setting("features"), " or ", Action("resume"), " ", Path("/lab/a.csv")
    )
    words = {Setting: "--features", Action: "symseek resume"}

    def wording(part):
        return part.name if isinstance(part, PurePath) else words[type(part)]

    assert text.worded(wording) == "choose --features or symseek resume a.csv"
    assert str(text) == "choose `features` or `resume` /lab/a.csv"


def test_text_of_a_user_is_never_taken_for_a_setting():
    error = InputError("column '`seed`' is not a number; choose ", Setting("seed"))
    renamed = error.renamed({"seed": "random_state"})
    assert str(renamed) == "column '`seed`' is not a number; choose `random_state`"


def test_a_renamed_error_keeps_its_fields():
    error = refused(Setting("seed"), -1, "a whole number").renamed({"seed": "random_state"})
    assert fields_of(error) == ("random_state", "setting", -1, "a whole number")


@pytest.mark.parametrize("value", [3, "x", None])
def test_another_process_gets_the_fields(value):
    error = refused(Setting("seed"), value, "a whole number")
    got = pickle.loads(pickle.dumps(error))
    assert fields_of(got) == ("seed", "setting", value, "a whole number")
    assert str(got) == str(error)


def test_another_process_gets_what_it_cannot_have_as_text():
    error = refused(Setting("seed"), lambda: 0, "a whole number")
    assert pickle.loads(pickle.dumps(error)).value.startswith("<function ")


def test_a_plain_sentence_has_no_fields():
    assert fields_of(InputError("there is no target")) == (None, None, None, "")
    with pytest.raises(InputError) as caught:
        whole("rows", "3", "a whole number")
    assert fields_of(caught.value) == ("rows", "argument", "3", "a whole number")


CELLS = ["oops", "", "inf", "1e200"]


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_that_is_no_number_has_its_column_and_row(tmp_path, cell):
    rows = ["1,2", "3,4", f"5,{cell}", "7,8"]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / "t.csv", "y")
    assert (caught.value.field, caught.value.kind, caught.value.row) == ("y", "column", 2)
    assert "line 4" in str(caught.value)


def test_a_weight_below_zero_has_its_row(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,w\n1,2,1\n2,3,-1\n3,5,1\n4,7,1\n")
    with refuses("w", value=-1.0, row=1):
        read_table(tmp_path / "t.csv", "y", weights="w")


@pytest.mark.parametrize("cell", ["text", 1j, None, float("nan"), datetime.date(2024, 5, 1)])
def test_an_array_s_entry_that_is_no_number_has_its_row(cell):
    X = np.array([[1.0], [2.0], [cell], [4.0]], dtype=object)

    def read():
        refuse_text(X, "X")
        return Data.checked(real_array(X, "X"), np.arange(4.0), ["x"])

    with pytest.raises(InputError) as caught:
        read()
    assert caught.value.row == 2


# --- the end of a search, for another process


VALUES = [-1, "x" * 10**6, 10**30, 10**9000, float("nan"), lambda: 0, None, b"x", "\udcff"]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_the_end_of_a_search_keeps_the_fields(tmp_path, value):
    error = refused(Setting("seed"), value, "a whole number")
    write_end(tmp_path / ENDED, error)
    got = read_end(tmp_path / ENDED, os.getpid())
    assert (str(got), got.field, got.kind, got.wanted) == (
        str(error),
        "seed",
        "setting",
        "a whole number",
    )
    assert isinstance(got.value, (type(value), str))
    assert got.row is None
    assert read_end(tmp_path / ENDED, os.getpid() + 1) is None


def test_the_end_of_a_search_keeps_the_row(tmp_path):
    write_end(tmp_path / ENDED, InputError("bad", field="y", kind="column", row=7))
    assert read_end(tmp_path / ENDED, os.getpid()).row == 7


def test_the_end_names_a_file_whose_name_is_no_text(tmp_path):
    error = InputError("there is no file ", Path("d\udcff.csv"), field=Path("d\udcff.csv"))
    write_end(tmp_path / ENDED, error)
    got = read_end(tmp_path / ENDED, os.getpid())
    assert (str(got), got.field, got.kind) == (str(error), r"d\udcff.csv", "file")


def test_a_file_that_cannot_be_read_is_a_part_of_the_sentence():
    error = described(PermissionError(13, "Permission denied", "/lab/a.csv"))
    assert str(error) == "cannot read or write '/lab/a.csv': Permission denied"
    assert error.worded(lambda part: "a.csv") == "cannot read or write a.csv: Permission denied"


HOSTILE = [
    b"",
    b"[]",
    b"{}",
    b"[" * 100_000,
    b'"' + b"x" * (1 << 21) + b'"',
    {"process": "1"},
    {"message": 3},
    {"message": ["x"] * 1000},
    {"message": ["x" * 10**6]},
    {"message": [{"setting": 3}]},
    {"message": [{"code": "x"}]},
    {"message": [{"setting": "x", "file": "y"}]},
    {"field": 3},
    {"kind": "weapon"},
    {"value": [1]},
    {"wanted": None},
    {"more": 1},
]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_an_end_that_no_search_wrote_is_none(tmp_path, content):
    write_end(tmp_path / ENDED, InputError("the table is gone"))
    written = json.loads((tmp_path / ENDED).read_text())
    if isinstance(content, dict):
        content = json.dumps(written | content).encode()
    (tmp_path / ENDED).write_bytes(content)
    assert read_end(tmp_path / ENDED, os.getpid()) is None


def test_the_end_is_not_read_or_written_through_a_link(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    write_end(other / ENDED, InputError("the table is gone"))
    before = (other / ENDED).read_bytes()
    (tmp_path / ENDED).symlink_to(other / ENDED)
    assert read_end(tmp_path / ENDED, os.getpid()) is None
    write_end(tmp_path / ENDED, InputError("the disk is full"))
    assert (other / ENDED).read_bytes() == before
    assert str(read_end(tmp_path / ENDED, os.getpid())) == "the disk is full"


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path):
    write_end(tmp_path / "gone" / ENDED, InputError("the table is gone"))
    assert read_end(tmp_path / "gone" / ENDED, os.getpid()) is None
