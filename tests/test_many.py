"""Many tables fitted with the same settings: each once, whatever happens, and one summary."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import symseek
from run_helpers import answer
from symseek import InputError, Program
from symseek.command import main
from symseek.errors import Setting
from symseek.files.tables import read_table
from symseek.jobs.perform import Terminated, perform
from symseek.jobs.pool import ProcessPool
from symseek.jobs.record import Snapshot
from symseek.jobs.runner import drive, run
from symseek.lab import Listener, Record, Spec, Store
from symseek.many import groups
from symseek.many.fit import EXECUTE, execute
from symseek.many.folder import ManyFolder, WorkerPlan
from symseek.many.forms import FormulaForm, common_forms, form_of
from symseek.many.groups import split_file
from symseek.many.line import NOT_FITTED, FitSummary, Picture
from symseek.many.line import failed as failed_record
from symseek.many.progress import ManyProgress
from symseek.many.summary import summary_csv, summary_html, summary_text
from symseek.many.tables import file_tables, files_named, folder_names, is_safe, safe_name
from symseek.model import full_library
from symseek.runs.folder import RunFolder
from symseek.runs.regressions import make_regression
from symseek.runs.request import FitRequest
from symseek.settings import Settings

QUICK = ["--max-expressions", "1000", "--no-structure", "--no-report", "--quiet"]
SETTINGS = Settings(max_expressions=1000, structure=False)
NASTY = "<img src=x onerror=alert(1)>\x1b[31m\"'&</script>"


def write_table(path: Path, y: Callable[[Any], Any] = lambda t: 2 * t + 1, rows: int = 12) -> Path:
    t = np.linspace(1, 4, rows)
    text = "".join(f"{a!r},{b!r}\n" for a, b in zip(t.tolist(), y(t).tolist(), strict=True))
    path.write_text("t,y\n" + text)
    return path


def some_files(folder: Path, count: int = 3) -> list[Path]:
    folder.mkdir(exist_ok=True)
    return [
        write_table(folder / f"s{k}.csv", lambda t, k=k: (k + 2.5) * t + k + 0.5)
        for k in range(count)
    ]


def many(folder: Path, files: Sequence[Path], settings: Settings = SETTINGS) -> ManyFolder:
    request = FitRequest(Path(), "y", None, None, None, settings)
    begun = ManyFolder.begin(folder, request)
    return begun.of(file_tables(files_named(files)[0], begun.tables))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def summary(folder: Path) -> dict[str, dict[str, str]]:
    found = rows_of((folder / "summary.csv").read_text())
    return {row["name"]: row for row in found}


def begun(folder: Path) -> dict[str, str]:
    """When each fit was begun that is in the store."""
    with Store(folder / "fits.sqlite") as store:
        records = store.records()
    assert len({each.spec.problem for each in records}) == len(records)
    return {each.spec.problem: each.started_at + repr(each.wall) for each in records}


# --- forms

SAME = [
    ("4.1*exp(-0.3*t)", "7*exp(-t)", "exp(1.2 - 0.3*t)", "3*0.9**(t/2)", "0.5**t"),
    ("2*t + 1", "t - 3", "(t + 4)/7"),
    ("sin(2*t + 1)", "3*cos(2.1*t - 1)"),
    ("log(2*t)", "log(t) + 1.2"),
    ("2*t/(3.1 + t)", "t/(1.5 + 0.5*t)"),
    ("5*(1 - exp(-t/3))", "5 - 4*exp(-t)"),
    ("sqrt(19.6*t)", "2*sqrt(t)", "3*t**0.5"),
    ("2*u*t**2/3", "u*t*t"),
    ("t**1.37", "2*t**0.73"),
    ("7.1", "0.3"),
    ("2/t + 3", "(2 + 3*t)/t"),
    ("t*(2*t + 5)", "t**2 + t"),
]


def key(text: str) -> str:
    return form_of(Program.parse(text, full_library(["t", "u"]))).key


_PARTS = st.recursive(
    st.sampled_from(["t", "u", "v", "0.07", "1.6", "-2.35", "3"]),
    lambda part: st.one_of(
        st.tuples(part, st.sampled_from("+-*/"), part).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(part, st.sampled_from(["2", "0.5", "-1.5", "1.37"])).map(
            lambda p: f"{p[0]}**({p[1]})"
        ),
        st.tuples(st.sampled_from(["exp", "sin", "log", "abs"]), part).map("{0[0]}({0[1]})".format),
    ),
    max_leaves=8,
)


@given(_PARTS)
@example("0.7*(t + 0.07*t**2 + 1.6)*(0.3*u - v + 0.6)")
def test_the_text_of_a_form_has_letters_for_fitted_numbers(text: str) -> None:
    program = Program.parse(f"t + ({text})", full_library(["t", "u", "v"]))
    form = form_of(program).text
    assert form == str(program) or not re.search(r"\d\.\d{2,}|\d{4,}", form)


@pytest.mark.parametrize("texts", SAME, ids=lambda texts: texts[0])
def test_formulas_that_differ_in_their_numbers_have_one_form(texts: tuple[str, ...]) -> None:
    assert len({key(text) for text in texts}) == 1


def test_other_formulas_have_other_forms() -> None:
    others = ["t**2", "t**3", "exp(t**2)", "t*u", "t + u", "sin(t)", "cos(t)", "sin(t) + 1", "1/t"]
    texts = [texts[0] for texts in SAME] + others
    assert len({key(text) for text in texts}) == len(texts)


@given(
    st.sampled_from(
        ["{}*exp({}*t) + {}", "({}*t + {})/(t + {})", "{}*sin({}*t + {})*u", "{}*t**2"]
    ),
    st.lists(st.floats(0.11, 90).map(lambda x: round(x, 3) + 0.0101), min_size=6, max_size=6),
)
def test_a_form_does_not_depend_on_the_numbers(template: str, numbers: list[float]) -> None:
    assert key(template.format(*numbers[:3])) == key(template.format(*numbers[3:]))


def test_the_letters_of_a_form_are_not_columns_and_are_no_numbers() -> None:
    program = Program.parse("2*a*exp(-3*a) + 4*b + 5", full_library(["a", "b", "c"]))
    assert form_of(program).text == "d*b + f*a*exp(-g*a) + h"


def test_the_form_of_a_formula_without_a_value_is_the_formula() -> None:
    assert form_of(Program.parse("log(-1)*t", full_library(["t"]))).text == "log(-1.0)*t"


def test_forms_are_counted_and_shown_as_most_have_them() -> None:
    forms = [
        FormulaForm("1", "x"),
        FormulaForm("2", "a*x + b"),
        FormulaForm("1", "a*x"),
        FormulaForm("1", "a*x"),
    ]
    assert [(each.text, each.count) for each in common_forms(forms).values()] == [
        ("a*x", 3),
        ("a*x + b", 1),
    ]


# --- names


@given(st.text(max_size=300))
def test_any_text_becomes_one_folder_inside_the_parent(text: str) -> None:
    name = safe_name(text)
    assert is_safe(name)
    assert not {"/", "\\", ":", "\0"} & set(name)
    assert name not in (".", "..")
    assert len(f"{name}-10000".encode()) < 255


@given(st.lists(st.text(max_size=5), unique=True, max_size=20))
def test_no_two_tables_share_a_folder_even_where_case_does_not_count(labels: list[str]) -> None:
    folders = folder_names({label: label for label in labels}, {})
    assert len({each.casefold() for each in folders.values()}) == len(labels)
    grown = folder_names({label: label for label in ["new", *labels]}, folders)
    assert {label: grown[label] for label in labels} == folders


def test_files_and_folders_may_be_mixed_and_count_once(tmp_path: Path) -> None:
    inside = some_files(tmp_path / "a", 2)
    other = write_table(tmp_path / "s0.csv")
    files, notes = files_named([tmp_path / "a", other, inside[0]])
    assert files == [*inside, other]
    assert [each.name for each in file_tables(files)] == ["a/s0.csv", "a/s1.csv", "s0.csv"]
    assert [each.folder for each in file_tables(files)] == ["a_s0", "a_s1", "s0"]
    assert notes == []
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no tables"):
        files_named([tmp_path / "empty"])
    files, (note,) = files_named([tmp_path / "empty", tmp_path / "a"])
    assert files == inside
    assert "has no tables" in note


def test_hidden_files_are_no_tables_and_a_pattern_is_what_matches_it(tmp_path: Path) -> None:
    inside = some_files(tmp_path / "a", 3)
    for name in (".hidden.csv", "._s0.csv", "...csv"):
        (tmp_path / "a" / name).touch()
    assert files_named([tmp_path / "a"])[0] == inside
    assert files_named([tmp_path / "a" / "s[01].csv"])[0] == inside[:2]
    with pytest.raises(InputError, match="no file is like"):
        files_named([tmp_path / "a" / "*.tsv"])


# --- groups


def test_a_group_is_read_as_the_file_it_might_have_been(tmp_path: Path) -> None:
    long = tmp_path / "long.csv"
    long.write_text("site;t;y\nN;0,1;1,5e-3\n../S;1;2\nN;0,30000000000000004;NA\nN;2;7\nN;3;8\n")
    split = split_file(long, "site", tmp_path, {}, drop_missing=True)
    assert [each.name for each in split.tables] == ["N", "../S"]
    assert [each.folder for each in split.tables] == ["N", "S"]
    assert split.notes == ("read commas in numbers as decimal signs",)
    north = read_table(tmp_path / split.tables[0].data, "y", missing="rows")
    assert north.features == ("t",)
    assert north.X[:, 0].tolist() == [0.1, 2.0, 3.0]
    assert north.y.tolist() == [1.5e-3, 7.0, 8.0]
    assert not list(tmp_path.glob(".part*"))


def test_a_long_table_is_split_some_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "_ROWS_AT_A_TIME", 4)
    rows = [(f"g{k % 3}", k, k * k) for k in range(31)]
    long = tmp_path / "long.csv"
    long.write_text(",g,t,y\n" + "".join(f"{n},{g},{t},{y}\n" for n, (g, t, y) in enumerate(rows)))
    split = split_file(long, "g", tmp_path, {})
    assert split.notes == ("left out column 1, which has no name",)
    for table in split.tables:
        found = read_table(tmp_path / table.data, "y")
        wanted = [(t, y) for g, t, y in rows if g == table.name]
        assert list(zip(found.X[:, 0], found.y, strict=True)) == wanted


@pytest.mark.parametrize(
    ("by", "text", "message"),
    [
        ("sit", "site,t,y\nN,1,2\n", "has no column 'sit' for `by`; did you mean 'site'"),
        ("site", "site,t,y\nN,1,2\n,1,2\n", "has no value in line 3; fill it in"),
        ("t", "t,y\n1,1\n2,2\n3,3\n4,4\n", "more than 3 groups; choose a column with fewer"),
    ],
)
def test_what_is_wrong_with_groups_is_said(
    by: str, text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "MOST_GROUPS", 3)
    (tmp_path / "long.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        split_file(tmp_path / "long.csv", by, tmp_path, {})
    assert not list(tmp_path.glob(".part*"))


def test_a_parquet_table_is_split_like_text(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"g": [1, 2, 1], "t": [0.1, 0.2, None], "y": [1, 2, 3]})
    frame.to_parquet(tmp_path / "long.parquet")
    split = split_file(tmp_path / "long.parquet", "g", tmp_path, {})
    texts = [(tmp_path / each.data).read_text() for each in split.tables]
    assert texts == ['"t","y"\n0.1,1\n"",3\n', '"t","y"\n0.2,2\n']


# --- the command


def test_several_files_make_a_run_each_and_one_that_fails_is_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = some_files(tmp_path)
    write_table(tmp_path / "flat.csv", lambda t: 0 * t + 3)
    (tmp_path / "other.csv").write_text("t,z\n1,2\n2,3\n3,4\n")
    (tmp_path / "bytes.csv").write_bytes(b"\0\xff\0")
    out = tmp_path / "fits"
    words = ["fit", str(tmp_path), "--target", "y", "--jobs", "2", "--out", str(out)]
    assert main([*words, *QUICK]) == 1
    found = summary(out)
    assert list(found) == ["bytes.csv", "flat.csv", "other.csv", "s0.csv", "s1.csv", "s2.csv"]
    assert "3 in every row" in found["flat.csv"]["error"]
    assert "has no column 'y'" in found["other.csv"]["error"]
    assert "not a text file" in found["bytes.csv"]["error"]
    shown = capsys.readouterr().out
    assert "the form a*t + b was picked for 3 of 6 files" in shown
    assert "without a formula: 3 of 6" in shown
    for path in files:
        line = found[path.name]
        assert line["same_form"] == "3"
        assert line["form"] == "a*t + b"
        assert line["error"] == ""
        model, unfinished = RunFolder.open(out / path.stem).model_so_far()
        assert (model.best.text, unfinished) == (line["formula"], None)
    assert main(["show", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[:4] == shown.splitlines()[:4]


def test_a_file_has_the_same_result_alone_and_among_many_whatever_the_jobs(tmp_path: Path) -> None:
    files = some_files(tmp_path / "data", 2)
    for jobs in ("1", "3"):
        words = ["fit", *map(str, files), "--target", "y", "--jobs", jobs]
        assert main([*words, "--out", str(tmp_path / jobs), *QUICK]) == 0
    for path in files:
        alone = tmp_path / f"alone-{path.stem}"
        assert main(["fit", str(path), "--target", "y", "--out", str(alone), *QUICK]) == 0
        front = json.loads((alone / "front.json").read_text())
        for jobs in ("1", "3"):
            assert json.loads((tmp_path / jobs / path.stem / "front.json").read_text()) == front


def test_the_same_command_again_does_only_what_is_not_done(tmp_path: Path) -> None:
    files, out = some_files(tmp_path / "data"), tmp_path / "fits"
    bad = tmp_path / "data" / "bad.csv"
    bad.write_text("t,z\n1,2\n")
    words = ["fit", str(tmp_path / "data"), "--target", "y", "--jobs", "1", "--out", str(out)]
    assert main([*words, *QUICK]) == 1
    before = begun(out)
    assert main([*words, *QUICK]) == 1  # what failed is tried again, and fails again
    again = begun(out)
    assert {name for name in before if before[name] != again[name]} == {"bad"}
    stamps = [(out / name / "front.json").stat().st_mtime_ns for name in ("s1", "s2")]
    write_table(bad)
    write_table(tmp_path / "data" / "new.csv")
    write_table(files[0], lambda t: 7 * t - 2)
    assert main([*words, *QUICK, "--threads", "2"]) == 0
    found = summary(out)
    assert list(found) == ["bad.csv", "new.csv", "s0.csv", "s1.csv", "s2.csv"]
    assert found["s0.csv"]["formula"] == "7*t - 2"
    # Neither other threads nor a second look make a file that has stayed be fitted again.
    assert main(["resume", str(out), "--quiet", "--jobs", "2"]) == 0
    assert [(out / name / "front.json").stat().st_mtime_ns for name in ("s1", "s2")] == stamps


def test_what_was_found_stays_when_files_are_touched_changed_or_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, out = some_files(tmp_path / "data"), tmp_path / "fits"
    words = ["fit", str(tmp_path / "data"), "--target", "y", "--jobs", "1", "--out", str(out)]
    assert main([*words, *QUICK]) == 0
    before, formulas = begun(out), [row["formula"] for row in summary(out).values()]
    for path in files:
        path.touch()
    assert main([*words, *QUICK]) == 0
    assert begun(out) == before
    write_table(files[1], lambda t: 7 * t - 2)
    files[2].unlink()
    capsys.readouterr()
    assert main(["show", str(out)]) == 0
    text = capsys.readouterr().out
    assert all(formula in text for formula in formulas)
    assert "s1.csv: the file has changed since" in text
    assert "s2.csv: the file is gone" in text
    assert main(["resume", str(out), "--quiet", "--jobs", "1", "--no-report"]) == 0
    found = summary(out)
    assert [row["formula"] for row in found.values()] == [formulas[0], "7*t - 2", formulas[2]]
    assert [row["note"] for row in found.values()] == ["", "", "the file is gone"]


def test_a_call_that_was_stopped_while_tables_were_written_can_be_repeated(tmp_path: Path) -> None:
    x, out = np.linspace(1, 3, 12), tmp_path / "fits"
    options: dict[str, Any] = {"jobs": 1, "max_expressions": 1000, "structure": False}

    def tables(stops: bool) -> Any:
        yield "a", x, 2 * x
        if stops:
            raise RuntimeError
        yield "b", x, 3 * x

    with pytest.raises(RuntimeError):
        symseek.fit_many(tables(stops=True), folder=out, **options)
    (out / ".part-of-a-process-that-was-killed").mkdir()
    fits = symseek.fit_many(tables(stops=False), folder=out, **options)
    assert list(fits) == ["a", "b"]
    assert not list(out.glob(".part*"))


def test_a_pool_that_is_lost_leaves_the_summary_of_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fits"
    some_files(tmp_path / "data", 2)

    class Leaves(ProcessPool):
        def wait(self, timeout: float) -> Any:
            events = super().wait(timeout)
            if any(isinstance(each, Record) for each in events):
                self.wait = self.gone  # type: ignore[method-assign]
            return events

        def gone(self, timeout: float) -> Any:
            raise InputError("the cluster has gone")

    monkeypatch.setattr("symseek.jobs.runner.ProcessPool", Leaves)
    words = ["fit", str(tmp_path / "data"), "--target", "y", "--jobs", "1", "--out", str(out)]
    assert main([*words, *QUICK]) == 2
    assert sorted(row["error"] for row in summary(out).values()) == ["", NOT_FITTED]
    error = capsys.readouterr().err
    assert "the cluster has gone" in error
    assert f"continue: symseek resume {out}" in error


def test_a_folder_that_was_moved_is_not_begun_again(tmp_path: Path) -> None:
    long = tmp_path / "long.csv"
    rows = [(g, t, (k + 2) * t) for k, g in enumerate("AB") for t in (1.0, 2.0, 3.5, 4.0)]
    long.write_text("g,t,y\n" + "".join(f"{g},{t},{y}\n" for g, t, y in rows))
    first, second = tmp_path / "first", tmp_path / "second"
    words = ["fit", str(long), "--target", "y", "--by", "g", "--jobs", "1"]
    assert main([*words, "--out", str(first), *QUICK]) == 0
    assert {name: row["formula"] for name, row in summary(first).items()} == {
        "A": "2*t",
        "B": "3*t",
    }
    stamps = [(first / name / "front.json").stat().st_mtime_ns for name in "AB"]
    first.rename(second)
    assert main([*words, "--out", str(second), *QUICK]) == 0
    assert [(second / name / "front.json").stat().st_mtime_ns for name in "AB"] == stamps


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-expressions", "900"], "other columns or settings; choose another with --out"),
        (["--features", "t"], "other columns or settings"),
    ],
)
def test_other_settings_do_not_go_into_the_same_folder(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fits"
    many(out, some_files(tmp_path / "data", 1))
    before = (out / "fits.json").read_text()
    command = ["fit", str(tmp_path / "data"), "--target", "y", "--out", str(out)]
    assert main([*command, "--no-structure", *words]) == 2
    assert message in capsys.readouterr().err
    assert (out / "fits.json").read_text() == before
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").touch()
    assert main([*command[:-1], str(other)]) == 2
    assert "holds something else than many fits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["long.csv", "other.csv", "--by", "g"], "--by is for one table, and 2 are named"),
        (["long.csv", "--by", "y"], "'y' is both --by and --target"),
        (["long.csv", "--by", "g", "--features", "g,t"], "leave it out of --features"),
        (["long.csv", "--by", "G2"], "has no column 'G2' for --by"),
        (["empty"], "has no tables in it"),
        (["long.csv", "--jobs", "0"], "is not a whole number of 1 or more"),
        (["long.csv", "other.csv", "--cluster", "auto", "--jobs", "2"], "leave out --jobs"),
        (["long.csv", "*.tsv"], "no file is like '*.tsv'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence_and_leaves_nothing(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("long.csv", "other.csv"):
        Path(name).write_text("g,t,y\na,1,2\n")
    Path("empty").mkdir()
    said = answer(capsys, "fit", *words, "--target", "y")
    assert said.code == 2
    assert message in said.err
    assert {path.name for path in tmp_path.iterdir()} == {"long.csv", "other.csv", "empty"}


def test_one_file_is_fitted_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(Path("data.csv"))
    assert main(["fit", "data.csv", "--target", "y", *QUICK]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "data-run-1"}
    assert main(["fit", "data.csv", "--target", "y", "--jobs", "1", *QUICK]) == 0
    assert (tmp_path / "data-runs-1" / "data" / "front.json").exists()
    assert main(["resume", "data-run-1", "--jobs", "2"]) == 2


def test_ctrl_c_keeps_what_is_done_and_resume_does_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fits"
    some_files(tmp_path / "data", 4)
    words = ["fit", str(tmp_path / "data"), "--target", "y", "--jobs", "1", "--out", str(out)]

    def impatient(self: ManyProgress, record: Record) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ManyProgress, "finished", impatient)
        assert main([*words, *QUICK[:-1]]) == 130
    assert f"continue: symseek resume {out}" in capsys.readouterr().err
    before = begun(out)
    assert 1 <= len(before) < 4
    assert [line["error"] for line in summary(out).values()].count(NOT_FITTED) == 4 - len(before)
    assert main(["resume", str(out), "--jobs", "1", "--no-report", "--quiet"]) == 0
    after = begun(out)
    assert len(after) == 4
    assert before.items() <= after.items()
    assert not any(line["error"] for line in summary(out).values())


# --- workers that are lost


class Kills(Listener):
    """Kills the process of every second run when it has just begun."""

    def __init__(self) -> None:
        self.pool: Any = None
        self.killed = 0
        self.started_runs = 0

    def started(self, spec: Spec) -> None:
        self.started_runs += 1
        if self.started_runs % 2:
            os.kill(self.pool._busy[-1].process.pid, signal.SIGKILL)
            self.killed += 1


def test_runs_whose_workers_are_killed_are_done_once_and_none_is_lost(tmp_path: Path) -> None:
    files = some_files(tmp_path / "data", 4)
    folder = many(tmp_path / "fits", files)
    specs, listener = folder.specs(WorkerPlan(), report=False), Kills()

    def pool() -> ProcessPool:
        listener.pool = ProcessPool(2, EXECUTE)
        return listener.pool

    with Store(folder.path / "fits.sqlite") as store:
        outcome = drive(specs, store, pool, listener)
    assert listener.killed == 2
    assert (outcome.counts.done, outcome.counts.failed, outcome.ran) == (4, 0, 4)
    undisturbed = many(tmp_path / "calm", files)
    wanted = [execute(spec).expression for spec in undisturbed.specs(WorkerPlan(), report=False)]
    assert [line.formula for line in folder.lines()] == wanted


def test_a_fit_that_is_terminated_saves_how_far_it_has_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symseek.runs.recorder.SAVE_EVERY", 1e9)
    table = write_table(tmp_path / "a.csv", lambda t: np.sin(t * t) / t, 40)
    folder = many(tmp_path / "fits", [table], Settings(max_expressions=5000, structure=False))
    (spec,) = folder.specs(WorkerPlan(), report=False)

    def terminated(snapshot: Snapshot) -> None:
        if snapshot.evaluations > 0:
            raise Terminated

    with pytest.raises(Terminated):
        perform(spec, execute, terminated)
    run = RunFolder.open(folder.path / "a")
    regression = make_regression(read_table(table, "y"), run.request.settings)
    run.restore(regression)
    so_far = regression.search.state
    assert so_far.expressions > 0
    record = perform(spec, execute)
    assert record.seconds > so_far.seconds  # of both attempts
    calm = many(tmp_path / "calm", [table], Settings(max_expressions=5000, structure=False))
    (undisturbed,) = calm.specs(WorkerPlan(), report=False)
    assert record.expression == execute(undisturbed).expression
    assert FitSummary.of(folder.tables[0], record).seconds == record.seconds


def test_a_pool_that_is_closed_lets_its_fits_save_their_work(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a.csv", lambda t: np.sin(t * t) / t, 40)
    folder = many(tmp_path / "fits", [table], Settings(max_expressions=10**8, structure=False))
    (spec,) = folder.specs(WorkerPlan(), report=False)
    pool, seen = ProcessPool(1, EXECUTE), 0
    pool.start(spec)
    while seen < 2000:
        seen = max([each.evaluations for each in pool.wait(60.0) if isinstance(each, Snapshot)])
    pool.close()
    run = RunFolder.open(folder.path / "a")
    regression = make_regression(read_table(table, "y"), run.request.settings)
    run.restore(regression)
    assert regression.search.state.expressions >= seen


def test_a_run_that_was_cut_off_is_continued_to_the_result_it_would_have_had(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    noisy = write_table(tmp_path / "a.csv", lambda t: np.sin(3 * t) + rng.normal(size=len(t)), 40)
    settings = Settings(max_expressions=6000, structure=False)
    whole, cut = (many(tmp_path / name, [noisy], settings) for name in ("whole", "cut"))
    (spec,), (other,) = (each.specs(WorkerPlan(), report=False) for each in (whole, cut))
    wanted = execute(spec)
    request = FitRequest.from_dict(dict(other.settings["request"]), 1)
    with RunFolder.create(cut.path / "a", request) as run:
        regression = make_regression(read_table(noisy, "y"), request.settings)
        recorder = run.recorder(regression)
        regression.run(lambda now: now.expressions >= 3000)
        recorder.finish()
    found = execute(other)
    assert found.expression == wanted.expression
    assert found.evaluations == wanted.evaluations
    assert (cut.path / "a" / "front.json").read_text() == (
        whole.path / "a" / "front.json"
    ).read_text()


def test_progress_names_files_and_options(tmp_path: Path) -> None:
    spec, out = Spec("fit", "s0", 0), io.StringIO()
    failed = failed_record(spec, InputError(Setting("drop_missing")))
    with (
        Store() as store,
        ManyProgress(
            {"s0": "s0.csv"}, store, [spec], out, lambda part: "--drop-missing"
        ) as progress,
    ):
        progress.lost(spec, "killed")
        progress.finished(failed)
    assert "s0.csv lost its process and is done again: killed" in out.getvalue()
    assert "s0.csv failed: --drop-missing" in out.getvalue()


# --- the summary

LINES = [
    FitSummary(
        "a.csv", "a", "2*x", FormulaForm("k", "a*x"), 3, 0.01, 0.9999, False, 2000, 1.5, "TIME"
    ),
    FitSummary("b.csv", "b", "3*x", FormulaForm("k", "a*x"), 3, 0.0, 1.0, True, 100, 0.1, "EXACT"),
    FitSummary(NASTY, "c", error=f"no column {NASTY}"),
    FitSummary(
        f"d {NASTY}",
        "d",
        f"`{'x' + NASTY.replace(chr(27), '')}`**2",
        FormulaForm("m", "x**2"),
        2,
        0.5,
        0.75,
        picture=Picture([(0.0, 1.0), (1.0, 1e150)], [(0.0, 1.0), (1.0, -1e300)], NASTY),
    ),
]


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_escapes_every_name_and_runs_only_its_own_script() -> None:
    page = summary_html(LINES, f"y{NASTY}", "file", {"by": NASTY}, reported={"a"})
    found = Tags(page)
    names = [name for name, _ in found.tags]
    assert names.count("script") == 1
    assert "img" not in names
    assert not [name for _, attrs in found.tags for name in attrs if name.startswith("on")]
    assert "\x1b" not in page
    assert "http" not in page.replace("http-equiv", "")
    (policy,) = [a["content"] for t, a in found.tags if t == "meta" and "http-equiv" in a]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy
    assert [a["href"] for t, a in found.tags if t == "a"] == ["a/report.html"]


def test_the_headings_of_the_page_are_buttons_that_sort() -> None:
    found = Tags(summary_html(LINES, "y", "file"))
    heads = [attrs for tag, attrs in found.tags if tag == "button"]
    assert len(heads) == 8
    rows = page_rows(summary_html(LINES, "y", "file"))
    assert [row[0] for row in rows] == [
        "a.csv",
        "b.csv",
        NASTY.replace("\x1b", "\ufffd"),
        rows[3][0],
    ]
    assert [row[3] for row in rows] == ["0", "0", "", "1"]  # forms, the most frequent one first
    assert [row[5] for row in rows] == ["0.01", "0.0", "", "0.5"]  # NRMSE


def page_rows(page: str) -> list[list[str]]:
    """What each row is sorted by, cell by cell."""
    body = page[page.index('<table class="summary"') :].partition("<tbody>")[2]
    rows: list[list[str]] = []
    for tag, attrs in Tags(body.partition("</tbody>")[0]).tags:
        if tag == "tr":
            rows.append([])
        elif tag == "td":
            rows[-1].append(attrs.get("data-number", attrs.get("data-text")) or "")
    return rows


def test_the_text_has_no_control_characters_and_says_which_forms_recur() -> None:
    text = summary_text(LINES, "file")
    assert all(each.isprintable() or each == "\n" for each in text)
    assert "the form a*x was picked for 2 of 4 files" in text
    first = text.splitlines()[1].split()
    assert first == ["a.csv", "0.0100", "0.9999", "1.5", "s", "time", "2*x"]


def test_the_cells_that_are_searched_have_their_plain_text() -> None:
    page = summary_html(LINES, "y", "file")
    body = page[page.index('<table class="summary"') :].partition("<tbody>")[2]
    texts = [attrs.get("data-text") for tag, attrs in Tags(body.partition("</tbody>")[0]).tags]
    assert [each for each in texts if each][:4] == ["a.csv", "2*x", "a*x", "the time is up"]
    assert "slice(0, 4)" in page  # of them, the reason of the end is not searched


def test_formulas_have_room_of_their_own_and_dots_lie_on_the_line() -> None:
    page = summary_html(LINES, "y", "file")
    assert ".scroll math { overflow-wrap: normal; }" in page
    assert page.count('<div class="scroll"><math') >= 4
    (drawn,) = [line for line in page.splitlines() if "<svg" in line and 'class="fit"' in line]
    assert drawn.index('class="fit"') < drawn.index('class="dots"')
    assert page.count("--dots: #") == 2  # one of them for a dark page


def test_few_forms_are_shown_at_once_and_a_number_is_none() -> None:
    names = [f"x**{k}" for k in range(2, 9)]
    lines = [
        FitSummary(f"{k}", f"{k}", name, FormulaForm(name, name))
        for k, name in enumerate(names * 2)
    ]
    constants = [
        FitSummary(f"c{k}", f"c{k}", f"{k}.5", form_of(Program.parse(f"{k}.5"))) for k in (1, 2)
    ]
    page = summary_html([*lines, *constants], "y", "file")
    at_once, _, later = page.partition("<details>")
    assert at_once.count("<td>2 of 16</td>") == 5
    assert later.count("<td>2 of 16</td>") == 2
    assert summary_text(constants, "file").count("the form") == 0
    assert "Forms that recur" not in summary_html(constants, "y", "file")


def test_tables_whose_turn_has_not_come_are_counted_and_no_failures() -> None:
    waiting = [FitSummary(f"w{k}", f"w{k}", error=NOT_FITTED) for k in range(3)]
    text = summary_text([*LINES, *waiting], "file")
    assert text.count(NOT_FITTED) == 1
    assert "3 of 7 files are not fitted yet" in text
    assert "without a formula: 1 of 7" in text
    page = summary_html([*LINES, *waiting], "y", "file")
    assert page.count('<tr class="waiting">') == 3
    assert "3 fitted, 1 of them exactly, 1 without a formula, 3 not fitted yet." in page


def test_an_exact_formula_has_an_r2_of_1_whatever_rounding_has_left() -> None:
    exact = FitSummary(
        "a", "a", "2*x", FormulaForm("k", "a*x"), 3, 1e-9, 1 - 1e-9, True, 100, 0.1, "BUDGET"
    )
    assert summary_text([exact]).splitlines()[1].split()[:3] == ["a", "exact", "1.0000"]


def test_names_that_a_spreadsheet_would_run_begin_with_an_apostrophe() -> None:
    names = ["=cmd()", "+1", "-x", "@y", "a=b"]
    rows = rows_of(summary_csv([FitSummary(name, "a", error="no") for name in names]))
    assert [row["name"] for row in rows] == ["'=cmd()", "'+1", "'-x", "'@y", "a=b"]


def test_wide_characters_keep_the_columns_aligned() -> None:
    lines = [
        FitSummary(name, "a", "2*x", FormulaForm("k", "a*x"), 3, 0.5, 0.75)
        for name in ("温度", "abcd")
    ]
    first, second = summary_text(lines).splitlines()[1:3]
    assert first.index("0.500") + 2 == second.index("0.500")


def test_the_csv_has_a_line_for_each_with_every_digit() -> None:
    rows = rows_of(summary_csv(LINES))
    assert [row["name"] for row in rows] == [line.name for line in LINES]
    assert [row["same_form"] for row in rows] == ["2", "2", "", "1"]
    assert rows[0]["stopped"] == "the time is up"
    assert rows[1]["exact"] == "True"


# --- folders that someone else has written


@pytest.mark.parametrize("name", ["summary.html", "summary.csv", "fits.sqlite", "fits.json"])
def test_nothing_is_written_through_a_link(name: str, tmp_path: Path) -> None:
    folder = many(tmp_path / "fits", some_files(tmp_path / "data", 1))
    victim = tmp_path / "victim"
    content = (folder.path / name).read_bytes() if (folder.path / name).exists() else b"mine"
    victim.write_bytes(content)
    (folder.path / name).unlink(missing_ok=True)
    (folder.path / name).symlink_to(victim)
    assert main(["resume", str(folder.path), "--quiet"]) == 2
    assert victim.read_bytes() == content


def test_a_run_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = many(tmp_path / "fits", some_files(tmp_path / "data", 1))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder.path / "s0").symlink_to(elsewhere)
    (spec,) = folder.specs(WorkerPlan())
    assert "is a link" in execute(spec).error
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    "change",
    [
        {"tables": [{"name": "a", "folder": "../x", "data": "a.csv", "stamp": ""}]},
        {"tables": [{"name": "a", "folder": "summary.html", "data": "a.csv", "stamp": ""}]},
        {"tables": [{"name": 3, "folder": "a", "data": "a.csv", "stamp": ""}]},
        {"tables": [{"name": "a", "folder": "a", "data": "a", "stamp": ""}] * 2},
        {"tables": 7},
        {"noun": "<b>"},
        {"format": 99},
        {"request": {}},
        {"by": 3},
    ],
)
def test_a_damaged_list_of_fits_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    folder = many(tmp_path / "fits", some_files(tmp_path / "data", 1))
    record = json.loads((folder.path / "fits.json").read_text())
    (folder.path / "fits.json").write_text(json.dumps(record | change))
    with pytest.raises(InputError, match=r"fits\.json' is damaged"):
        ManyFolder.open(folder.path)


@pytest.mark.parametrize("name", ["fits.json", "fits.sqlite"])
def test_a_damaged_folder_says_how_to_go_on(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = many(tmp_path / "fits", some_files(tmp_path / "data", 1))
    (folder.path / name).write_text("{ damaged" * 500)
    words = ["fit", str(tmp_path / "data"), "--target", "y", "--jobs", "1", "--no-structure"]
    words += ["--max-expressions", "1000", "--no-report", "--quiet", "--out", str(folder.path)]
    assert main(words) == 2
    assert "again with --force, or into another --out" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0


def test_a_link_to_nothing_is_named_as_that(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "gone.csv")
    with pytest.raises(InputError, match=r"a\.csv is a link to a file that is not there"):
        read_table(tmp_path / "a.csv", "y")


# --- in Python


def test_fit_many_takes_tables_from_memory_and_gives_models_by_name() -> None:
    x = np.linspace(1, 3, 12, dtype=np.float32)
    fits = symseek.fit_many(
        ((f"t/{k}", pd.DataFrame({"x": x}), k * x.astype(float)) for k in (2, 0, 3)),
        jobs=1,
        max_expressions=1000,
        structure=False,
    )
    assert list(fits) == ["t/2", "t/3"]
    assert fits["t/3"].best.text == "3*x"
    assert fits["t/3"].predict([[2.0]]) == pytest.approx(6.0)
    assert fits.table["form"].tolist() == ["a*x", "", "a*x"]
    assert fits.table["same_form"].tolist() == [2, 0, 2]
    assert "the target 'y' of t/0 is 0 in every row" in fits.table["error"][1]
    assert "t/0" not in fits
    with pytest.raises(KeyError, match="0 in every row"):
        fits["t/0"]
    assert "the form a*x was picked for 2 of 3 tables" in str(fits)
    folder = fits.folder
    assert folder.is_dir()
    del fits
    assert not folder.exists()


def test_a_table_in_memory_that_cannot_be_read_is_a_line(tmp_path: Path) -> None:
    x = np.linspace(1, 3, 12)
    tables = {
        "text": (["q"] * 3, [1, 2, 3]),
        "short": (x, x[:5]),
        "deep": (np.ones((2, 2, 2)), [1, 2]),
        "complex": (x, x + 1j),
        "twice": (pd.DataFrame(np.ones((12, 2)), columns=["a", "a"]), x),
        "good": (x, 2 * x),
    }
    options: dict[str, Any] = {"jobs": 1, "max_expressions": 1000, "structure": False}
    fits = symseek.fit_many(tables, folder=tmp_path / "fits", **options)
    assert list(fits) == ["good"]
    assert [text.partition(";")[0] for text in fits.table["error"]] == [
        "X of the table 'text' has the text 'q' in row 0",
        "X of the table 'short' has 12 rows and y 5",
        "X of the table 'deep' has shape (2, 2, 2)",
        "Complex data not supported: y of the table 'complex' has (1+1j) in row 0",
        "X of the table 'twice' has 2 columns named 'a'",
        "",
    ]
    lines = ManyFolder.open(tmp_path / "fits").lines()
    assert [line.error for line in lines] == fits.table["error"].tolist()


def test_models_outlive_their_folder_in_a_pickle() -> None:
    x = np.linspace(1, 3, 12)
    options: dict[str, Any] = {"jobs": 1, "max_expressions": 1000, "structure": False}
    fits = symseek.fit_many({"a": (x, 2 * x), "b": (x, 0 * x)}, **options)
    kept = pickle.dumps(fits)
    del fits
    read = pickle.loads(kept)
    assert (list(read), read["a"].best.text) == (["a"], "2*x0")


def test_columns_may_have_numbers_for_names() -> None:
    t = np.linspace(1, 3, 12)
    frame = pd.DataFrame({0: np.repeat(["a", "b"], 12), 1: np.tile(t, 2), "y": 2 * np.tile(t, 2)})
    options: dict[str, Any] = {"jobs": 1, "max_expressions": 1000, "structure": False}
    assert list(symseek.fit_many(frame, "y", by="0", **options)) == ["a", "b"]
    with pytest.raises(InputError, match="have numbers for names"):
        symseek.fit_many(frame.rename(columns={"y": 2}), "2", by="0", **options)


def test_fit_many_of_a_long_frame_is_like_the_command_on_its_file(tmp_path: Path) -> None:
    t = np.linspace(1, 3, 12)
    frame = pd.DataFrame(
        {"g": np.repeat(["a", "b"], 12), "t": np.tile(t, 2), "y": [*(2 * t), *np.exp(t)]}
    )
    options: dict[str, Any] = {"by": "g", "max_expressions": 1000, "structure": False, "jobs": 1}
    fits = symseek.fit_many(frame, "y", folder=tmp_path / "fits", **options)
    frame.to_csv(tmp_path / "long.csv", index=False)
    others = symseek.fit_many(tmp_path / "long.csv", "y", **options)
    assert fits.table["formula"].tolist() == others.table["formula"].tolist() == ["2*t", "exp(t)"]
    assert (tmp_path / "fits" / "summary.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tables": 3}, "tables is 3"),
        ({"tables": []}, "no table is given"),
        ({"tables": "a.csv"}, "`target` names no column"),
        ({"tables": {"a": 1}}, "is no pair of X and y"),
        ({"tables": {}}, "no table is given"),
        ({"tables": pd.DataFrame(), "target": "y", "by": "g"}, "no table is given"),
        ({"tables": ["a.csv", ("b", [1.0], [1.0])], "target": "y"}, "beside files"),
        ({"tables": {"a": ([1.0], [1.0])}, "jobs": "2"}, "jobs is '2'"),
        ({"tables": {"a": ([1.0], [1.0])}, "n_jobs": 0}, "n_jobs is 0"),
        ({"tables": {"a": ([1.0], [1.0])}, "features": "x0"}, "it must be a list of names"),
        (
            {"tables": pd.DataFrame([[1, 2, 3]], columns=["g", "y", "y"]), "target": "y"},
            "2 columns named 'y'",
        ),
        ({"tables": [("a", [[1.0]], [1.0])] * 2}, "two tables are called 'a'"),
        ({"tables": pd.DataFrame({"y": [1]}), "target": "y"}, "say with `by` which rows"),
        ({"tables": {"a": ([1.0], [1.0])}, "sed": 3}, "unknown parameter 'sed'"),
        ({"tables": {"a": ([1.0], [1.0])}, "reward": symseek.R2()}, "use names instead"),
    ],
)
def test_fit_many_refuses_what_it_cannot_use(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        symseek.fit_many(**arguments)


def test_a_program_need_not_guard_its_main_part(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import numpy as np, symseek\n"
        "print('begun')\n"
        "x = np.linspace(1, 3, 12)\n"
        "fits = symseek.fit_many({'a': (x, 2*x)}, jobs=2, max_expressions=1000, structure=False)\n"
        "print(fits['a'].best.text)\n"
    )
    command = [sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("begun\n2*x0\n", 0), done.stderr


def test_no_more_cores_are_used_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symseek.many.folder.cores", lambda: 8)
    chosen = WorkerPlan.chosen
    assert chosen(300, None, None, None) == WorkerPlan(8, None, 1)
    assert chosen(3, None, None, None) == WorkerPlan(3, None, 1)
    assert chosen(300, None, None, 4) == WorkerPlan(2, None, 4)
    assert chosen(300, 1, None, None) == WorkerPlan(1, None, 8)
    assert chosen(300, 5, None, 3) == WorkerPlan(5, None, 3)  # asked for
    assert chosen(300, None, "auto", None) == WorkerPlan(None, "auto", 1)
    assert chosen(300, -1, None, None) == WorkerPlan(8, None, 1)
    assert chosen(300, 1, None, -1) == WorkerPlan(1, None, 8)
    with pytest.raises(InputError, match="leave out `threads`"):
        chosen(300, None, "auto", 2)


# --- on a cluster


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray leaves sockets to the collector
def test_a_cluster_whose_workers_are_killed_does_each_fit_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    source = str(Path(symseek.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([source, *filter(None, sys.path)]))
    files = some_files(tmp_path / "data", 12)
    folder = many(tmp_path / "fits", files)
    killed: list[int] = []

    class Kills(Listener):
        def finished(self, record: Record) -> None:
            if len(killed) < 3:
                killed.extend(_kill_a_ray_worker())

    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=10**8)
    try:
        with Store(folder.path / "fits.sqlite") as store:
            specs = folder.specs(WorkerPlan(cluster="local"), report=False)
            outcome = run(specs, store, cluster="local", listener=Kills(), execute=EXECUTE)
    finally:
        ray.shutdown()
    assert killed
    assert (outcome.counts.done, outcome.counts.failed, outcome.ran) == (12, 0, 12)
    wanted = many(tmp_path / "here", files)
    formulas = [execute(spec).expression for spec in wanted.specs(WorkerPlan(), report=False)]
    assert [line.formula for line in folder.lines()] == formulas


def _kill_a_ray_worker() -> list[int]:
    """Kill one that does a fit, of the cluster that this process has started."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()[1:]]
    parents = {int(pid): int(parent) for pid, parent, *_ in rows}
    for pid, _, *words in rows:
        above, worker = int(pid), bool(words) and words[0].startswith("ray::_do")
        while worker and above in parents and above != os.getpid():
            above = parents[above]
        if worker and above == os.getpid():
            os.kill(int(pid), signal.SIGKILL)
            return [int(pid)]
    return []
