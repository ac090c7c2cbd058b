"""Foreign files of a run: read, or refused with one sentence, whatever is in them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hostile_files
from symseek import InputError, Program
from symseek.algebra.agreement import agree
from symseek.files.regular import read_regular
from symseek.files.schema import parse_json
from symseek.front import Front
from symseek.model import Formula, Model, full_library
from symseek.runs import checkpoint
from symseek.runs.folder import RunFolder

COUNT = 150  # of each kind


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> hostile_files.Files:
    return hostile_files.Files(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("name", hostile_files.WAYS)
def test_changed_files_are_read_or_refused(name: str, files: hostile_files.Files) -> None:
    refused, way = 0, getattr(files, name)
    for seed in range(COUNT):
        try:
            way(seed)
        except InputError as error:
            refused += 1
            sentence = str(error)
        else:
            sentence = ""
        assert len(sentence) < 1000
        assert len(sentence.splitlines()) <= 1
    assert refused > COUNT / 2


LIBRARY = full_library(["x"])


def written(**changes: Any) -> dict[str, Any]:
    """The record of a model of one row, changed."""
    program = Program.parse("2.5*x + 1.0", LIBRARY)
    model = Model("y", ("x",), (Formula(program, "2.5*x + 1", 1.0, 0.0, 1.0),), 0)
    record = model.to_dict()
    row = {**record["formulas"][0], **changes.pop("row", {})}
    return {**record, "formulas": [row], **changes}


def own(**fields: Any) -> dict[str, Any]:
    return {"name": "own", "arity": 1, "complexity": 2, "formula": "a*a", **fields}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"operators": [own(latex="\\input{/etc/passwd} {a}")]},
            "unknown field of entry 0",
        ),
        (
            {"operators": [own(numpy="sin")]},
            "of 'operators' of the model 'numpy'; known: name,",
        ),
        (
            {"operators": [own(arity=9)]},
            "'arity' of entry 0 of 'operators' of the model is 9",
        ),
        ({"operators": [own(arity=True)]}, "must be a whole number from 0 to 8"),
        ({"operators": [own(formula=3)]}, "is 3; it must be text"),
        (
            {"operators": [{"name": "sin", "complexity": 3, "arity": 1}]},
            "not both an arity",
        ),
        ({"operators": [{"name": "none", "complexity": 3}]}, "unknown operator 'none'"),
        ({"row": {"expression": "2.5*x - 1"}}, "'2.5*x - 1', is not its program"),
        ({"row": {"expression": "__import__('os')"}}, "cannot be read"),
        ({"row": {"expression": "\ud800"}}, "'\\ud800'; it must be text"),
        ({"row": {"program": "sin " * 20_000 + "x"}}, "has more than 2,000 tokens"),
        ({"row": {"program": "const(inf)"}}, "constants that are not finite"),
        ({"row": {"program": "1e999"}}, "the number 1e999 is too large"),
        (
            {"row": {"reward": "0.5"}},
            "of 'formulas' of the model is '0.5'; it must be a number",
        ),
        ({"row": {"exact": 1}}, "it must be true or false"),
        ({"row": {"new": 1}}, "unknown field of entry 0 of 'formulas' of the model 'new'"),
        ({"target": "\udcff"}, "'target' of the model is '\\udcff'; it must be text"),
        ({"target": "y" * 20_000}, "has 20,000 characters; at most 10,000 are read"),
        ({"features": ["x", 3]}, "entry 1 of 'features' of the model is 3; it must be text"),
        ({"picked": True}, "'picked' of the model is True"),
        ({"picked": 1}, "row 1 is picked of 1 formulas"),
        ({"formulas": {}}, "'formulas' of the model is {}; it must be a list"),
        ({"more": 1}, "unknown field of the model 'more'"),
        ({"layout": {"columns": [0, 1], "first_row": 2}}, "2 columns for 1 features"),
        ({"layout": {"columns": [-1], "first_row": 2}}, "is -1; it must be a whole number from 0"),
        ({"spread": -1.0}, "its spread is -1.0"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_each_field_of_a_model_is_typed_and_bounded(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        Model.from_dict(written(**change))
    assert words in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_formula_that_would_never_end_when_written_out_is_refused() -> None:
    deep = "own " * 40 + "x"
    record = written(operators=[own(formula="a + sin(a)")], row={"program": deep})
    with pytest.raises(InputError, match="too long to be written out"):
        Model.from_dict(record)


def test_models_of_before_still_read() -> None:
    record = written()
    del record["layout"], record["spread"], record["formulas"][0]["exact"]
    assert Model.from_dict(record).best.text == "2.5*x + 1"
    whole = written(operators=[own()])
    assert Model.from_dict(json.loads(json.dumps(whole))).to_dict() == whole


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0.123456789*x**2.5", "0.123457*x**2.5", True),
        ("sin(1000000.123456*x)", "sin(1e6*x)", True),  # no digit can be told
        ("floor(1.23456789*x)", "floor(1.23457*x)", True),
        ("1e-300*x", "1e-300*x", True),
        ("log(x - 1000)", "log(x - 1000)", True),  # not defined anywhere near
        ("x + 1.0", "x - 1.0", False),
        ("sqrt(x)", "sqrt(x) + 0.001", False),
        ("exp(x)", "exp(-x)", False),
        ("x*x", "abs(x)*x", False),
    ],
)
def test_whether_text_and_program_say_the_same(one: str, other: str, same: bool) -> None:
    assert agree(Program.parse(one, LIBRARY), Program.parse(other, LIBRARY)) is same


# What is not a file.


@pytest.fixture
def run(files: hostile_files.Files, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    for name, data in files.whole.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("name", ["settings.json", "front.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "endless"])
def test_what_is_not_a_file_is_not_opened(name: str, kind: str, run: Path) -> None:
    path = run / name
    path.unlink()
    makers: dict[str, Callable[[], object]] = {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/null"),
        "endless": lambda: path.symlink_to("/dev/zero"),
        "folder": path.mkdir,
    }
    makers[kind]()
    with pytest.raises(InputError, match=r"cannot read .*, and not a file"):
        RunFolder.open(run).model()


def test_a_checkpoint_that_is_a_pipe_is_not_opened(
    files: hostile_files.Files, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "c")
    with pytest.raises(InputError, match="cannot be read: it is a pipe or a device"):
        checkpoint.restore(files.search(), tmp_path / "c")


def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"12345")
    assert read_regular(tmp_path / "large", most=5) == b"12345"
    with pytest.raises(OSError, match="it has 5 bytes; at most 4 are read"):
        read_regular(tmp_path / "large", most=4)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"1e400", "the number '1e400' is too large"),
        (b"-1e400", "is too large"),
        (b"9" * 5000, "a whole number has 5,000 digits"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b"\xff", "decode"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_json_without_measure_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_json(data)


# Settings and checkpoints.


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": "a\0b"}, "'data' of the run is 'a\\x00b'; it must be the name of a file"),
        ({"data": ""}, "'data' of the run is ''; it must be the name of a file"),
        ({"data": "\ud800"}, "'data' of the run is '\\ud800'; it must be the name of a file"),
        ({"target": "\ud800"}, "'\\ud800'; it must be text"),
        ({"features": ["a", 3]}, "entry 1 of 'features' of the run is 3"),
        ({"extra": 1}, "unknown field of the run 'extra'"),
        ({"settings": {"max_expressions": 1e9}}, "`max_expressions`"),
        ({"settings": {"seed": 10**30}}, "`seed`"),
        ({"settings": {"constants": "no"}}, "`constants` is 'no'; it must be True or False"),
        (
            {"settings": {"operators": ["add", None]}},
            "`operators`: a library is made of names, numbers",
        ),
        ({"settings": {"reward": 3}}, "`reward` is 3; it must be a name"),
        ({"settings": {"method": "\ud800"}}, "unknown method '\\ud800'"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_each_setting_is_typed_and_bounded(change: dict[str, Any], words: str, run: Path) -> None:
    path = run / "settings.json"
    record = json.loads(path.read_text())
    settings = {**record["settings"], **change.get("settings", {})}
    path.write_text(json.dumps({**record, **change, "settings": settings}))
    with pytest.raises(InputError) as caught:
        RunFolder.open(run)
    assert words in str(caught.value)


def test_a_name_of_a_file_that_is_no_text_is_kept(run: Path) -> None:
    path = run / "settings.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "data": "/data/\udcff.csv"}))
    assert os.fsencode(RunFolder.open(run).request.data) == b"/data/\xff.csv"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"iteration": -1}, "the iteration is -1"),
        (
            {"iteration": "three"},
            "'iteration' of SearchState is 'three'; it must be",
        ),
        ({"expressions": 10**30}, "'expressions' of SearchState"),
        ({"seconds": float("nan")}, "the seconds are nan"),
        ({"front": None}, "'front' of SearchState is None; it must be Front"),
        ({"history": ()}, ""),
        ({"front": "upside down"}, "the front does not rise"),
        ({"front": "endless"}, "an entry of the front is not graded"),
        ({"timings": {"sample": 1.0}}, "the timings are of other stages"),
        ({"objective": 3.5}, "what the objective remembers is 3.5"),
        ({"population": 1}, "'population' of SearchState is 1"),
        ({"weights": np.full(1, np.nan, np.float32)}, "those of another policy"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_whole_checkpoint_with_odd_contents_is_refused(
    change: dict[str, Any], words: str, files: hostile_files.Files, tmp_path: Path
) -> None:
    search = files.search()
    search.run()
    entries = search.front.entries
    fronts = {
        "upside down": Front(entries[::-1]),
        "endless": Front((replace(entries[-1], reward=np.inf),)),
    }
    for name, given in change.items():
        value = fronts.get(given, given) if isinstance(given, str) else given
        object.__setattr__(search.state, name, value)
    checkpoint.save(search, tmp_path / "c")
    again = files.search()
    if not words:
        checkpoint.restore(again, tmp_path / "c")
        return
    with pytest.raises(InputError) as caught:
        checkpoint.restore(again, tmp_path / "c")
    assert words in str(caught.value)
    assert "remove it to start again" in str(caught.value)
    assert again.iteration == 0
