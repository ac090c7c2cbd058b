"""Several targets of one table: a run folder for each in one folder, one report, one command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from run_helpers import answer, child
from symseek.errors import InputError
from symseek.files.tables import read_table
from symseek.runs.folder import RunFolder
from symseek.runs.request import FitRequest
from symseek.runs.targets import TARGETS, TargetsFolder, holds_targets, requests_of
from symseek.settings import Settings

Capture = pytest.CaptureFixture[str]
BUDGET = ("--max-expressions", "1000", "--max-seconds", "none", "--no-structure", "--quiet")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(rows: int = 60, noise: float = 0.05) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    x, z = draw.uniform(0.5, 3, (2, rows))
    power = 2.5 * x * z + 1 + noise * draw.normal(size=rows)
    torque = np.sin(x) + z**2 + noise * draw.normal(size=rows)
    return pd.DataFrame({"x": x, "z": z, "power": power, "torque, N": torque})


def fitted(capsys: Capture, *words: str, out: str = "run") -> TargetsFolder:
    table().to_csv("t.csv", index=False)
    said = answer(
        capsys, "fit", "t.csv", "--target", "power,`torque, N`", *BUDGET, *words, "--out", out
    )
    assert (said.code, said.err) == (0, "")
    return TargetsFolder.open(Path(out))


def test_each_target_has_the_result_that_it_has_alone(capsys: Capture) -> None:
    folder = fitted(capsys)
    assert folder.targets == ("power", "torque, N")
    assert folder.folders == ("1-power", "2-torque_N")
    for target, model in zip(folder.targets, folder.models(), strict=True):
        assert model.features == ("x", "z"), "the other target is no input"
        alone = f"alone-{folder.targets.index(target)}"
        words = ("--features", "x,z", *BUDGET, "--out", alone)
        assert answer(capsys, "fit", "t.csv", "--target", f"`{target}`", *words).code == 0
        assert RunFolder.open(Path(alone)).model().to_dict() == model.to_dict()


def test_one_folder_has_everything(capsys: Capture) -> None:
    folder = fitted(capsys)
    assert holds_targets(folder.path)
    assert sorted(os.listdir("run")) == ["1-power", "2-torque_N", "report.html", TARGETS]
    assert "report.html" not in os.listdir("run/1-power")
    page = Path("run/report.html").read_text()
    assert "<h1>Formulas for power, torque, N</h1>" in page
    assert page.count("Every formula on the front") == 2
    assert "<h2>power</h2>" in page
    assert "<h2>torque, N</h2>" in page
    said = answer(capsys, "show", "run")
    assert (said.code, said.err) == (0, "")
    assert "  power =\n" in said.out
    assert "  torque, N =\n" in said.out
    said = answer(capsys, "show", "run", "--row", "0")
    assert said.code == 2
    assert "--row is of one target, and there are several; name it with --target" in said.err
    said = answer(capsys, "show", "run", "--row", "0", "--target", "power")
    assert said.out.startswith("power = ")
    said = answer(capsys, "show", "run", "--target", "powr")
    assert "unknown target 'powr'; did you mean 'power'?" in said.err


def test_the_command_that_is_printed_repeats_it(capsys: Capture) -> None:
    table().to_csv("t.csv", index=False)
    words = ("fit", "t.csv", "--target", "power,`torque, N`", *BUDGET)
    said = answer(capsys, *words, "--out", "run")
    line = next(each for each in said.out.splitlines() if each.startswith("repeat it:"))
    assert line.startswith("repeat it: symseek fit t.csv --target 'power,`torque, N`' ")
    assert said.out.index("\npower: ") < said.out.index("\ntorque, N: ")


def test_predictions_have_a_column_for_each(capsys: Capture) -> None:
    folder = fitted(capsys)
    new = table(10)
    new[["z", "x"]].to_csv("new.csv", index=False)
    said = answer(capsys, "predict", "run", "new.csv")
    assert said.code == 0
    Path("out.csv").write_text(said.out)
    out = pd.read_csv("out.csv")
    assert list(out.columns) == ["x", "z", "power", "torque, N"]
    for target, model in zip(folder.targets, folder.models(), strict=True):
        np.testing.assert_allclose(out[target], model.predict(new[["x", "z"]].to_numpy()))
    said = answer(capsys, "predict", "run", "new.csv", "--target", "power")
    assert said.out.splitlines()[0] == "x,z,power"


def test_an_export_is_of_one_target(capsys: Capture) -> None:
    fitted(capsys)
    said = answer(capsys, "export", "run", "--to", "python")
    assert said.code == 2
    assert "the run has several targets, 'power', 'torque, N'; name one with --target" in said.err
    said = answer(capsys, "export", "run", "--to", "python", "--target", "torque, N")
    assert said.code == 0
    assert "def formula(x, z):" in said.out


def test_a_run_continues_with_each(capsys: Capture) -> None:
    fitted(capsys, "--patience", "none", out="whole")
    folder = fitted(capsys, "--patience", "none", "--no-report", out="cut")
    said = answer(capsys, "resume", "cut", "--quiet", "--no-report")
    assert said.code == 2
    assert "the run 'cut' is finished: the budget of expressions is spent" in said.err
    words = ("--max-expressions", "5000", "--quiet")
    for each in ("whole", "cut"):
        assert answer(capsys, "resume", each, *words).code == 0
    assert all(run.request.settings.max_expressions == 5000 for run in folder.runs())
    for name in folder.folders:
        whole, cut = (Path(each, name, "front.json").read_bytes() for each in ("whole", "cut"))
        assert whole == cut
    assert Path("cut/report.html").is_file()


def test_ctrl_c_keeps_what_is_found_and_the_rest_begins_later(capsys: Capture) -> None:
    table().to_csv("t.csv", index=False)
    words = ("fit", "t.csv", "--target", "power,`torque, N`", "--max-seconds", "none", "--quiet")
    words += ("--patience", "none", "--threads", "1", "--out", "run")
    process = subprocess.Popen(
        child(0.0, 0.0, *words), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    deadline = time.monotonic() + 60
    while not Path("run/1-power/checkpoint").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "continue: symseek resume run" in out
    assert "power: " in out
    assert "torque, N: " not in out
    said = answer(capsys, "show", "run")
    assert said.code == 0
    assert "  power =\n" in said.out
    assert "the run 'run/2-torque_N' has no front yet" in said.err
    said = answer(capsys, "predict", "run", "t.csv")
    assert said.code == 2
    found = json.loads(Path("run/1-power/progress.json").read_text())["expressions"]
    more = ("--max-expressions", str(found + 1000), "--quiet")
    assert answer(capsys, "resume", "run", *more).code == 0
    folder = TargetsFolder.open(Path("run"))
    assert [each.target for each in folder.models()] == ["power", "torque, N"]
    assert "<h2>torque, N</h2>" in Path("run/report.html").read_text()


def test_groups_and_several_targets(capsys: Capture) -> None:
    frame = table()
    frame["site"] = np.where(np.arange(len(frame)) % 2, "A", "B")
    frame.to_csv("t.csv", index=False)
    words = ("fit", "t.csv", "--target", "power,`torque, N`", "--group", "site", *BUDGET)
    assert answer(capsys, *words, "--out", "run").code == 0
    folder = TargetsFolder.open(Path("run"))
    assert all(each.grouping is not None for each in folder.models())
    said = answer(capsys, "predict", "run", "t.csv")
    assert said.out.splitlines()[0] == 'x,z,site,power,"torque, N"'


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--target", "power,powr"), "has no column 'powr'; did you mean 'power'?"),
        (("--target", "power,power"), "target 'power' is named twice"),
        (("--target", "power,x", "--features", "x,z"), "column 'x' is both a target and one of"),
        (("--target", "power,x", "--weights", "x"), "column 'x' is both a target and one of --we"),
        (("--target", "power,x", "--by", "z"), "several targets are for one table"),
    ],
)
def test_what_makes_no_sense_is_refused(
    capsys: Capture, words: tuple[str, ...], sentence: str
) -> None:
    table().to_csv("t.csv", index=False)
    said = answer(capsys, "fit", "t.csv", *words, *BUDGET, "--out", "run")
    assert said.code == 2
    assert sentence in said.err
    assert not Path("run").exists()


def test_a_column_whose_name_has_a_comma_is_one(capsys: Capture) -> None:
    table().to_csv("t.csv", index=False)
    said = answer(capsys, "fit", "t.csv", "--target", "torque, N", *BUDGET, "--out", "run")
    assert said.code == 0
    assert RunFolder.open(Path("run")).model().target == "torque, N"


def test_a_folder_is_not_written_over_unless_asked(capsys: Capture) -> None:
    fitted(capsys)
    words = ("fit", "t.csv", "--target", "power,x", *BUDGET, "--out", "run")
    said = answer(capsys, *words)
    assert said.code == 2
    assert "the run folder 'run' exists; choose another with --out" in said.err
    assert answer(capsys, *words, "--force").code == 0
    assert TargetsFolder.open(Path("run")).targets == ("power", "x")
    assert answer(capsys, "fit", "t.csv", "--target", "x", *BUDGET, "--out", "one").code == 0
    said = answer(capsys, *words[:-1], "one", "--force")
    assert "'one' is not the folder of a fit of several targets" in said.err


def test_a_folder_of_anyone_is_checked(capsys: Capture) -> None:
    folder = fitted(capsys)
    record = json.loads((folder.path / TARGETS).read_text())
    for change, sentence in (
        ({"folders": ["..", "2"]}, "'..' is no name of a run folder"),
        ({"folders": ["1-power"]}, "it has not a folder for each target"),
        ({"folders": ["1-power", "1-POWER"]}, "two targets have the same folder"),
        ({"targets": ["power", "power"]}, "a target is named twice"),
        ({"format": 7}, "its format is 7, not 1"),
        ({"targets": 3}, "targets"),
    ):
        (folder.path / TARGETS).write_text(json.dumps({**record, **change}))
        with pytest.raises(InputError, match=r"targets\.json' is damaged") as error:
            TargetsFolder.open(folder.path)
        assert sentence in str(error.value)
    (folder.path / TARGETS).write_text(json.dumps(record))
    moved = folder.path.parent / "moved"
    (folder.path / "1-power").rename(moved)
    (folder.path / "1-power").symlink_to(moved)
    with pytest.raises(InputError, match="it is a link, which symseek has not made"):
        TargetsFolder.open(folder.path)


def test_a_folder_is_written_by_one_process_at_a_time(capsys: Capture) -> None:
    from contextlib import ExitStack

    folder = fitted(capsys)
    with ExitStack() as stack:
        folder.lock(stack)
        said = answer(capsys, "resume", "run", "--max-expressions", "4000", "--quiet")
    assert said.code == 2
    assert "another process" in said.err or "process " in said.err


def test_requests_and_tables_leave_the_others_out() -> None:
    table().to_csv("t.csv", index=False)
    request = FitRequest(Path("t.csv"), "power", None, None, None, Settings())
    one, two = requests_of(request, ["power", "torque, N"])
    assert (one.target, one.others) == ("power", ("torque, N",))
    assert one.read_table().features == two.read_table().features == ("x", "z")
    assert FitRequest.from_dict(json.loads(one.to_json()), 1).others == ("torque, N",)
    assert "others" not in json.loads(request.to_json())
    assert read_table("t.csv", "power").features == ("x", "z", "torque, N")
