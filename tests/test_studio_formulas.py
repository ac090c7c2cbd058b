"""What the studio does with formulas: drawn, exported, picked and used on new rows."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from run_helpers import Capture, answer
from studio_helpers import Served, serving
from symseek.export import TARGETS
from symseek.runs.folder import RunFolder
from symseek.studio.formulas import LABELS

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def studio(here: Path, folder: Path) -> Iterator[Served]:
    """A studio with a run that has come to its end."""
    with serving(here) as served:
        yield served


def test_every_export_is_that_of_the_command_line(studio: Served, capsys: Capture) -> None:
    exports = studio.get("api/runs/run/exports?row=1")["targets"]
    assert set(LABELS) == set(TARGETS)
    assert [each["name"] for each in exports] == [*LABELS, "latex-table", "text"]
    for each in exports:
        if each["name"] in TARGETS:
            said = answer(capsys, "export", "run", "--row", 1, "--to", each["name"])
            assert said.out.rstrip("\n") == each["text"].rstrip("\n")
    assert len({each["file"] for each in exports}) == len(exports)


def test_a_formula_goes_through_the_data(studio: Served) -> None:
    model = RunFolder.open(studio.folder / "run").model()
    fit = studio.get("api/runs/run/fit?row=0&row=2")
    assert (fit["target"], fit["features"], fit["rows"], fit["rows_shown"]) == (
        "y", ["a", "b"], 40, 40,
    )  # fmt: skip
    X = np.column_stack([fit["columns"]["a"], fit["columns"]["b"]])
    assert [each["row"] for each in fit["formulas"]] == [0, 2]
    for each in fit["formulas"]:
        predicted = model.predict(X, each["row"])
        assert each["predicted"] == predicted.tolist()
        assert each["residual"] == (np.array(fit["y"]) - predicted).tolist()
    assert fit["curve"] is None


def test_units_are_seen_beside_formulas_and_axes(studio: Served, capsys: Capture) -> None:
    x = np.linspace(0.1, 3, 40)
    rows = "".join(f"{each!r},{2.5 / each!r}\n" for each in x.tolist())
    Path("units.csv").write_text("x,y\n" + rows)
    words = ["--units", "x: m, y: V", "--numbers", "free", "--max-expressions", 1000]
    answer(capsys, "fit", "units.csv", "--target", "y", "--out", "units", *words)
    fit = studio.get("api/runs/units/fit")
    assert (fit["target"], fit["features"], fit["labels"]) == ("y [V]", ["x"], {"x": "x [m]"})
    with studio.events("units") as events:
        front = next(data for kind, data in events if kind == "front")
    assert front["heading"] == "y [V]"
    assert front["formulas"][front["picked"]]["where"] == "5/2 is in V*m"
    for each in studio.get("api/runs/units/exports")["targets"]:
        if each["name"] in TARGETS:
            said = answer(capsys, "export", "units", "--to", each["name"])
            assert said.out.rstrip("\n") == each["text"].rstrip("\n")


def test_one_input_has_a_curve_and_many_rows_are_thinned(studio: Served, capsys: Capture) -> None:
    x = np.linspace(0.1, 3, 5000)
    rows = "".join(f"{each!r},{1 / each - 1!r}\n" for each in x.tolist())
    Path("one.csv").write_text("x,y\n" + rows)
    answer(capsys, "fit", "one.csv", "--target", "y", "--out", "one", "--max-expressions", 1000)
    fit = studio.get("api/runs/one/fit")
    assert (fit["rows"], fit["rows_shown"], len(fit["y"])) == (5000, 2000, 2000)
    assert (fit["columns"]["x"][0], fit["columns"]["x"][-1]) == (x[0], x[-1])
    assert (len(fit["curve"]["x"]), len(fit["curve"]["y"]), len(fit["curve"]["y"][0])) == (
        400,
        1,
        400,
    )


def test_a_tree_has_the_labels_of_its_operators(studio: Served) -> None:
    labels, waiting = [], [studio.get("api/runs/run/tree")["tree"]]
    while waiting:
        node = waiting.pop()
        labels.append(node["label"])
        waiting += node["children"]
    best = RunFolder.open(studio.folder / "run").model().best
    assert {"a", "b"} & set(labels)
    assert "×" in labels, best.text


def test_a_pick_is_written_to_the_run(studio: Served, capsys: Capture) -> None:
    before = RunFolder.open(studio.folder / "run").model()
    assert studio.get("api/runs/run")["picked"] == before.picked != 0
    assert studio.post("api/runs/run/pick", {"row": 0}) == {"ok": True}
    now = studio.get("api/runs/run")
    assert (now["picked"], now["rule"]) == (0, "by hand")
    assert "> " in answer(capsys, "show", "run").out.splitlines()[1]
    assert studio.refused("api/runs/run/pick", {"row": 99})[0] == 400
    assert studio.refused("api/runs/run/pick", {"row": "0"})[0] == 400
    assert os.listdir("run").count("lock") == 0


def test_a_dropped_file_is_predicted(studio: Served) -> None:
    model = RunFolder.open(studio.folder / "run").model()
    rows = b"name,b,a\nx,1.5,2\ny,0.5,1\n"
    for file in ("new-predicted.csv", "new-predicted.csv"):  # the same again is the same file
        found = studio.post("api/runs/run/predict?row=1&name=new.csv", rows)
        assert found["file"] == file
    assert found["head"]["names"] == ["a", "b", "y"]
    assert (found["rows"], found["undefined"], found["notes"]) == (2, 0, [])
    answered = studio.client.get(f"api/files/{found['file']}")
    assert answered.headers["content-disposition"].startswith("attachment")
    table = list(csv.reader(io.StringIO(answered.text)))
    assert [float(row[2]) for row in table[1:]] == model.predict([[2, 1.5], [1, 0.5]], 1).tolist()
    assert studio.refused("api/runs/run/predict?name=new.csv", b"a\n1\n") == (
        400, "new.csv has no column 'b'; known: a",
    )  # fmt: skip
    assert studio.refused("api/files/data.csv", method="GET")[0] == 404
    assert studio.refused("api/runs/run/predict?name=../x.csv", rows)[0] == 400


def test_missing_values_in_a_dropped_file(studio: Served) -> None:
    rows = b"a,b\n1,2\n,3\n"
    assert "--missing to rows" in studio.refused("api/runs/run/predict?name=n.csv", rows)[1]
    found = studio.post("api/runs/run/predict?name=n.csv&drop_missing=1", rows)
    assert found["rows"] == 1
    assert found["notes"] == ["left out one row with missing values, the first in line 3: 1 in a"]


def test_a_report_runs_no_script_and_leads_nowhere_else(studio: Served, tmp_path: Path) -> None:
    report = studio.folder / "run" / "report.html"
    answered = studio.client.get("api/runs/run/report")
    assert answered.text == "<!doctype html>"
    policy = answered.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "script-src" not in policy
    secret = tmp_path.parent / "secret.txt"
    secret.write_text("secret")
    report.unlink()
    assert studio.refused("api/runs/run/report", method="GET")[0] == 404
    report.symlink_to(secret)
    assert studio.refused("api/runs/run/report", method="GET")[0] == 403


def test_a_table_elsewhere_is_read_only_for_a_run_that_was_named(
    here: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("elsewhere")
    (here / "data.csv").rename(other / "data.csv")
    record = json.loads((folder / "settings.json").read_text())
    record["data"] = str(other / "data.csv")
    (folder / "settings.json").write_text(json.dumps(record))
    with serving(here) as studio:
        assert studio.refused("api/runs/run/fit", method="GET")[0] == 403
        assert studio.refused("api/runs/run/resume")[0] == 403
        assert studio.get("api/runs/run")["command"].startswith(f"symseek fit {other}")
    with serving(here, run="run") as studio:
        assert studio.get("api/state")["open"] == {"table": None, "run": "run"}
        assert studio.get("api/runs/run/fit")["rows"] == 40


def test_a_folder_is_shown_only_where_there_is_a_screen(
    studio: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    shown = studio.post("api/runs/run/open-folder")
    assert shown == {"ok": False, "path": str(studio.folder / "run")}


# --- files that anyone may have written

HOSTILE: list[Any] = [
    b"",
    b"{",
    b"[1, 2]",
    b"[" * 100_000,
    b'{"state": "searching"}',
    b'{"state": ["x"], "seconds": 1}',
    b"\xff\xfe",
    b'{"state": "ended", "expressions": -1, "seconds": 1e999}',
    b" " * (2 << 20),
]


def test_progress_that_is_none_counts_as_missing(studio: Served) -> None:
    for content in HOSTILE:
        for name in ("progress.json", "discoveries.json"):
            (studio.folder / "run" / name).write_bytes(content)
        now = studio.get("api/runs/run")
        assert (now["progress"], now["discoveries"], now["status"]) == (None, [], "finished")


def test_fields_that_are_none_are_not_passed_on(studio: Served) -> None:
    path = studio.folder / "run" / "progress.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "why": "<b>", "more": {"html": "<script>"}}))
    progress = studio.get("api/runs/run")["progress"]
    assert (progress["why"], "more" in progress) == ("<b>", False)
    for odd in ({"course": [[1, 2, 3]]}, {"course": [0] * 10**5}, {"seeds": [{"seed": "x"}]}):
        path.write_text(json.dumps({**record, **odd}))
        assert studio.get("api/runs/run")["progress"] is None


def test_discoveries_that_cannot_be_read_are_left_out(studio: Served) -> None:
    good = {"seconds": 1, "expressions": 2, "nrmse": 0.5, "before": None, "complexity": 3}
    listed = [{**good, "text": "a*b"}, {**good, "text": 7}, "x", {**good, "text": "<img>(("}]
    (studio.folder / "run" / "discoveries.json").write_text(json.dumps(listed))
    found = studio.get("api/runs/run")["discoveries"]
    assert [each["text"] for each in found] == ["a*b", "<img>(("]
    assert [each["mathml"] is None for each in found] == [False, True]


@pytest.mark.parametrize("name", ["settings.json", "front.json"])
def test_a_damaged_run_is_said_to_be_so(studio: Served, name: str) -> None:
    for content in (b'{"symseek": 1}', b'"symseek" {', b"[" * 100_000 + b'"symseek"'):
        (studio.folder / "run" / name).write_bytes(content)
        now = studio.get("api/runs/run")
        assert now["error"]
        assert str(studio.folder) not in now["error"]
        if name == "settings.json":
            assert now["status"] == "damaged"
        for part in ("exports", "fit", "tree"):
            answered = studio.client.get(f"api/runs/run/{part}")
            good = name == "settings.json" and part != "fit"
            assert answered.status_code == (200 if good else 400)
        assert [each["run"] for each in studio.get("api/state")["runs"]] == ["run"]


def test_a_folder_of_another_program_is_no_run(studio: Served) -> None:
    (studio.folder / "other").mkdir()
    (studio.folder / "other" / "settings.json").write_text('{"editor": 1}')
    assert [each["run"] for each in studio.get("api/state")["runs"]] == ["run"]


def test_a_front_with_an_odd_end_is_called_damaged(studio: Served) -> None:
    path = studio.folder / "run" / "front.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "progress": "much"}))
    status, sentence = studio.refused("api/runs/run/pick", {"row": 0})
    assert status == 400
    assert "front.json is damaged ('progress' is no object)" in sentence


def test_nothing_is_picked_with_settings_that_are_elsewhere(
    studio: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = studio.folder / "run" / "settings.json"
    other = tmp_path_factory.mktemp("elsewhere") / "settings.json"
    path.rename(other)
    path.symlink_to(other)
    before = (path.parent / "front.json").read_bytes()
    status, sentence = studio.refused("api/runs/run/pick", {"row": 0})
    assert (status, "it is a link, and not a file" in sentence) == (400, True)
    assert (path.parent / "front.json").read_bytes() == before


def test_settings_of_a_size_that_no_run_has_are_not_read(studio: Served) -> None:
    with open(studio.folder / "run" / "settings.json", "ab") as file:
        file.truncate(1 << 25)
    found = studio.get("api/runs/run")
    assert found["status"] == "damaged"
    assert "33,554,432 bytes; at most 4,194,304 are read" in found["error"]
