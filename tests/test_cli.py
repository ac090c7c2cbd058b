"""The command line and what it prints: words in, exit codes out, lines, tables, saved results."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fake_experiments import repeatable
from run_helpers import answer
from symseek.command import main, parse_seeds
from symseek.lab import Counts, Outcome, Record, Snapshot, Spec, Store, problems, run
from symseek.lab.bench.display import BenchProgress
from symseek.lab.bench.specs import bench_specs
from symseek.lab.bench.summary import write_json
from symseek.lab.commands.bench import show_problems
from symseek.rewards import REWARDS
from symseek.tokens import OPERATORS


def spec(problem: str = "Nguyen-1", method: str = "dsr", seed: int = 0) -> Spec:
    return Spec(method, problem, seed, {"max_expressions": problems.load(problem).budget})


RECORD = Record(
    spec(),
    recovered="yes",
    reason="identical",
    evaluations=5_000,
    seconds=0.05,
    reward=1.0,
    expression="x*x*x + x*x + x",
    complexity=11,
)

# Seconds after which a child process of a test is taken to hang.
PATIENCE = 60


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "symseek", *words]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


# --- words in, exit codes out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["--version"])
    assert exit.value.code == 0
    assert capsys.readouterr().out.startswith("symseek ")


def test_help_lists_operators_and_rewards(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    said = capsys.readouterr().out
    listed = said.partition("operators, for --operators:")[2]
    operators, _, rewards = listed.partition("rewards, for --reward:")
    operators = operators.replace("protected operators, with a number for what is undefined:", ",")
    words = re.findall(r"[a-z]\w*", re.sub(r" \(.*?\)(?=,|$)", "", operators, flags=re.M))
    assert words == list(OPERATORS)
    assert re.findall(r"^  (\w+) ", rewards.partition("examples:")[0], re.M) == list(REWARDS)
    assert max(map(len, listed.splitlines())) <= 100


@pytest.mark.parametrize("words", [["--help"], ["bench", "--help"], ["fit", "--help"]])
def test_help_has_examples(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(words)
    assert exit.value.code == 0
    assert f"symseek {words[0].replace('--help', 'fit')} " in capsys.readouterr().out


def test_problems_lists_those_of_the_paper_and_names_the_other_suites(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["problems"]) == 0
    said = capsys.readouterr()
    paper = [each.name for each in problems.paper()]
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == paper
    assert re.findall(r"(\d+) more .* `symseek problems (\w+)`", said.err) == [
        ("119", "Feynman"),
        ("14", "Strogatz"),
    ]


def test_problems_of_one_suite_and_a_few(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["problems", "Jin", "nguyen-8pp", "Neat-6"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [line.split()[0] for line in lines[1:]]
    assert found == [*(f"Jin-{number}" for number in range(1, 7)), "Nguyen-8''", "Neat-6"]
    assert "sum of 1/k for k = 1, ..., x" in lines[-1]


def test_problems_fit_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    show_problems(problems.paper(), out)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    paper = [each.name for each in problems.paper()]
    assert [line.split()[0] for line in lines if line.startswith(" ")] == paper
    assert "Neat: add mul div reciprocal neg sqrt; test E(1, 120, 120)" in lines


def test_long_laws_go_on_in_the_next_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    laws = problems.select("Feynman", "Strogatz")
    show_problems(laws, out)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 100  # only the ranges of nine variables need more than 80
    assert [line.strip() for line in lines if re.match("  [a-z]", line)] == [e.name for e in laws]
    text = re.sub(r"\s+", "", out.getvalue())
    assert all(re.sub(r"\s+", "", each.expression) in text for each in laws)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bensh"], "bensh"),
        (["bench"], "PROBLEM"),
        (["bench", "Nguyen-13"], "did you mean 'Nguyen-"),
        (["problems", "Nguyem"], "did you mean 'Nguyen'"),
        (["bench", "Nguyen-1", "--method", "dsrr"], "did you mean 'dsr'"),
        (["bench", "Nguyen-1", "--method", "hybrid,dsrr"], "did you mean 'dsr'"),
        (["bench", "Nguyen-1", "--method", ","], "names no method"),
        (["bench", "Nguyen-1", "--seeds", "0"], "1 or more"),
        (["bench", "Nguyen-1", "--noise", "-0.1"], "'-0.1' is not a number of 0 or more"),
        (["bench", "Nguyen-1", "--noise", "much"], "--noise"),
        (["bench", "Nguyen-1", "--seeds", "3-1"], "names no seeds"),
        (["bench", "Nguyen-1", "--seeds", "one"], "'one'"),
        (["bench", "Nguyen-1", "--seeds", "0-99999999999"], "more than"),
        (["bench", "Nguyen-1", "--seeds", "2", "--seed", "1"], "not allowed with"),
        (["bench", "Nguyen-1", "--seed", "-1"], "--seed"),
        (["bench", "Nguyen-1", "--seed", str(2**64)], "seed"),
        (["bench", "Nguyen-1", "--threads", "5000"], "threads is 5000"),
        (["bench", "Nguyen-1", "--max-expressions", "10"], "smaller than one batch"),
        (["bench", "Nguyen-1", "--jobs", "0"], "1 or more"),
        (["bench", "Nguyen-1", "--threads", "x"], "'x'"),
        (["bench", "Nguyen-1", "--max-expressions", "-5"], "--max-expressions"),
        (["bench", "Nguyen-1", "--json", "no/such/folder/a.json"], "no folder 'no/such/folder'"),
        (["bench", "Nguyen-1", "--json", "."], "is a folder"),
    ],
)
def test_bad_input_ends_with_2_and_one_sentence(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = answer(capsys, *words)
    assert (said.code, said.out) == (2, "")
    assert says in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("1", [0]),
        ("3", [0, 1, 2]),
        ("7,", [7]),
        ("7-7", [7]),
        ("3,5,8-10", [3, 5, 8, 9, 10]),
        (" 5, 3 ,5", [3, 5]),
    ],
)
def test_seeds(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", ",", "-", "1.5", "3-", "-3", "1,,x", "5-4"])
def test_seeds_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        parse_seeds(text)


# --- real runs


def test_bench_recovers_and_repeats_exactly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, again = tmp_path / "first.json", tmp_path / "again.json"
    assert main(["bench", "Nguyen-11", "--seeds", "8,", "--json", str(first)]) == 0
    out = capsys.readouterr().out
    document = json.loads(first.read_text())
    (run,) = document["runs"]
    assert run["recovered"] == "yes"
    assert document["average_recovery"] == 100
    assert document["planned"] == 1
    assert not document["interrupted"]
    assert "seed 8" in out
    assert run["command"] in out
    assert "1/1" in out

    words = run["command"].split()
    assert words[0] == "symseek"
    assert main([*words[1:], "--threads", "2", "--json", str(again)]) == 0
    (repeated,) = json.loads(again.read_text())["runs"]
    for key in ("expressions", "reward", "expression", "seed"):
        assert repeated[key] == run[key]


def test_budget_is_kept_and_repeated_in_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "Nguyen-12", "--seed", "1", "--max-expressions", "3000", "--method", "pqt"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "not recovered" in out
    assert "3,000 expressions" in out
    again = "symseek bench Nguyen-12 --method pqt --seed 1 --max-expressions 3000"
    assert again in out
    assert "0/1" in out


def test_methods_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "saved.json"
    words = ["bench", "Nguyen-1", "--seeds", "2", "--max-expressions", "2000", "--json", str(saved)]
    assert main([*words, "--method", "hybrid,pqt"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Nguyen-1   hybrid seed 0 ")
    assert lines[2].startswith("Nguyen-1   pqt    seed 0 ")
    assert lines[3].strip().startswith("again: symseek bench Nguyen-1 --method pqt --seed 0")
    assert "hybrid  pqt" in [re.sub(r"\s{2,}", "  ", line.strip()) for line in lines]
    document = json.loads(saved.read_text())
    assert [(run["seed"], run["method"]) for run in document["runs"]] == [
        (0, "hybrid"),
        (0, "pqt"),
        (1, "hybrid"),
        (1, "pqt"),
    ]


def test_processes_change_nothing() -> None:
    specs = bench_specs(["Nguyen-1"], seeds=[0, 1, 2], max_expressions=20_000)
    kept = []
    for jobs in (1, 2):
        with Store() as store:
            run(specs, store, jobs)
            kept.append([repeatable(record) for record in store.records()])
    assert len(kept[0]) == 3
    assert kept[0] == kept[1]


def test_a_broken_run_fails_alone() -> None:
    specs = [replace(spec(), problem=name) for name in ("No-such", "Nguyen-11")]
    with Store() as store:
        outcome = run(specs, store, jobs=2)
    assert outcome.counts == Counts(done=1, failed=1)
    (failed,) = outcome.failures
    assert failed.spec == specs[0]
    assert "No-such" in failed.error


# A shell lets the commands that it starts in the background ignore Ctrl-C; this one hears it.
HEARING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from symseek.command import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_finished_runs(jobs: str, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    words = ["bench", "Nguyen-11", "Nguyen-12", "--seed", "8", "--jobs", jobs, "--json", str(saved)]
    with subprocess.Popen(
        [sys.executable, "-c", HEARING, *words],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        line = child.stdout.readline()  # Nguyen-11 is quick; Nguyen-12 has long to go
        assert line.startswith("Nguyen-11 ")
        assert "recovered" in line
        os.killpg(child.pid, signal.SIGINT)
        rest = child.communicate(timeout=PATIENCE)[0]
    assert child.returncode == 130
    assert "1 of 2 runs" in rest
    assert "1/1" in rest
    document = json.loads(saved.read_text())
    assert document["interrupted"]
    assert document["planned"] == 2
    assert [run["problem"] for run in document["runs"]] == ["Nguyen-11"]


def test_output_into_a_closed_pipe_is_no_traceback() -> None:
    with subprocess.Popen(
        command("problems"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert "Traceback" not in child.stderr.read()


# --- what is shown and saved


EMPTY = Store()


def progress(out: io.StringIO, *specs: Spec) -> BenchProgress:
    return BenchProgress(EMPTY, specs or [spec()], out)


def outcome(done: int, interrupted: bool = False, **counts: int) -> Outcome:
    return Outcome(Counts(done=done, **counts), done, interrupted=interrupted)


def test_terminal_gets_a_live_table_and_a_pipe_plain_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for term, kind, live in (
        ("xterm", io.StringIO, False),
        ("xterm", Terminal, True),
        ("dumb", Terminal, False),
    ):
        monkeypatch.setenv("TERM", term)
        with progress(kind()) as shown:
            assert (shown.live is not None) == live


def test_live_table_shows_each_running_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    out = Terminal()
    other = spec(seed=1)
    with progress(out, spec(), other) as display:
        display.counted(Counts(missing=2), [spec(), other], size=1)
        display.started(spec())
        display.progressed(Snapshot(spec(), 40_000, 0.5, 0.75, "sin(x) + [x]"))
        display.live.refresh()
        shown = out.getvalue()
        display.finished(RECORD)
        display.summary(outcome(1, interrupted=True, missing=1))
    for word in ("Nguyen-1", "40,000", "80,000/s", "0.750000", "sin(x) + [x]", "0/2, 0 failed"):
        assert word in shown
    after = out.getvalue()[len(shown) :]
    assert "symseek bench Nguyen-1 --method dsr --seed 0" in after
    assert "1/1" in after
    assert "Interrupted: 1 of 2 runs" in after


def shown(*records: Record) -> str:
    out = io.StringIO()
    display = progress(out, *(each.spec for each in records))
    for each in records:
        display.finished(each)
    display.summary(outcome(len(records)))
    return out.getvalue()


def cells(text: str, row: str) -> dict[str, str]:
    """A row of the summary by its columns' headings, of the table that stands nearest above it."""
    headings: list[str] = []
    for line in text.splitlines():
        words = re.split(r"\s{2,}", line.strip())
        if words[0] == "problem":
            headings = words
        elif words[0] == row and headings:
            return dict(zip(headings, words, strict=True))
    raise AssertionError(f"no row {row!r} in {text}")


def test_undecided_runs_say_why() -> None:
    lost = replace(RECORD, spec=spec(seed=1), recovered="undecided", reason="too hard")
    text = shown(RECORD, lost)
    assert "why: too hard" in text
    row = cells(text, "Nguyen-1")
    assert (row["recovered"], row["recovery"], row["undecided"]) == ("1/2", "50%", "1")


def test_columns_without_anything_are_left_out() -> None:
    lost = replace(RECORD, recovered="no", seconds=2.5)
    row = cells(shown(lost), "Nguyen-1")
    assert list(row) == ["problem", "recovered", "recovery", "paper", "s/run", "rate"]
    assert (row["recovered"], row["paper"], row["s/run"]) == ("0/1", "100%", "2.50")


def jin(number: int, seed: int, rmse: float | None) -> Record:
    return replace(RECORD, spec=spec(f"Jin-{number}", seed=seed), test_rmse=rmse)


def test_errors_are_averaged_as_the_paper_does() -> None:
    """Jin: mean over the runs. Neat: median. Each in a table of its own, below the recoveries."""
    neat = [
        replace(RECORD, spec=spec("Neat-3", seed=seed), test_rmse=rmse)
        for seed, rmse in enumerate((0.5, 0.25, None))
    ]
    runs = [jin(1, 0, 0.5), jin(1, 1, 0.25), jin(6, 0, 2.0), *neat, RECORD]
    text = shown(*runs)
    assert "test RMSE 0.25 " in text  # in the line of the run
    first, sixth = cells(text, "Jin-1"), cells(text, "Jin-6")
    assert (first["test RMSE"], first["paper"], first["recovered"]) == ("0.375", "0.46", "2/2")
    assert (sixth["test RMSE"], sixth["paper"]) == ("2", "2.23")
    average = cells(text, "average")
    assert (average["test RMSE"], average["paper"]) == ("1.188", "1.345")
    third = cells(text, "Neat-3")
    assert (third["test RMSE"], third["paper"]) == ("0.5", "0.0041")  # the invalid one is infinite
    assert "test RMSE" not in cells(text, "Nguyen-1")
    assert text.index("\nNguyen-1  ", text.index("problem")) < text.index("mean over the runs")
    assert text.index("mean over the runs") < text.index("median over the runs")
    assert text.count("s/run, rate") == 1


def test_an_infinite_mean_is_shown_as_such() -> None:
    text = shown(jin(1, 0, None), jin(1, 1, 0.25), jin(2, 0, 1.0))
    assert cells(text, "Jin-1")["test RMSE"] == "inf"
    assert cells(text, "average")["test RMSE"] == "inf"


def test_a_target_without_closed_form_has_no_recovery() -> None:
    record = replace(RECORD, spec=spec("Neat-6"), recovered="no", test_rmse=0.25)
    row = cells(shown(record), "Neat-6")
    assert "recovered" not in row
    assert (row["test RMSE"], row["paper"]) == ("0.25", "0.2378")


def beside(*records: Record, methods: tuple[str, ...] = ("hybrid", "dsr")) -> list[str]:
    """The lines of the tables of several methods, two spaces between columns."""
    out = io.StringIO()
    display = progress(out, *(spec(method=method) for method in methods))
    display.records += records
    display.summary(outcome(len(records)))
    lines = [re.sub(r"\s{2,}", "  ", line.strip()) for line in out.getvalue().splitlines()]
    return [line for line in lines if "  " in line]


def by(method: str, problem: str = "Nguyen-1", **changes: object) -> Record:
    return replace(RECORD, spec=spec(problem, method), **changes)  # type: ignore[arg-type]


def test_methods_stand_side_by_side() -> None:
    """In the order asked for, each with the paper's figure where the paper has one."""
    runs = [
        by("dsr", "Nguyen-5", recovered="no"),  # with several processes, any may finish first
        by("hybrid", "Nguyen-5", evaluations=7_000, seconds=1.5),
        by("hybrid", evaluations=3_000, seconds=0.25),
        by("dsr", evaluations=50_000, seconds=2.0),
    ]
    assert beside(*runs) == [
        "hybrid  dsr",
        "problem  recovery  evaluations  seconds  recovery  paper  evaluations  seconds",
        "Nguyen-5  100%  7,000  1.50  0%  72%  -  -",
        "Nguyen-1  100%  3,000  0.25  100%  100%  50,000  2.00",
        "average  100.0%  -  -  50.0%  86.0%  -  -",
    ]


def test_test_errors_stand_side_by_side() -> None:
    runs = [
        by("hybrid", "Jin-1", test_rmse=0.25),
        by("dsr", "Jin-1", test_rmse=None, recovered="no"),
        by("vpg", "Jin-1", test_rmse=1.0, recovered="undecided"),
    ]
    methods, headings, row = beside(*runs, methods=("hybrid", "dsr", "vpg"))
    assert methods == "hybrid  dsr  vpg"
    assert list(zip(headings.split("  "), row.split("  "), strict=True)) == [
        ("problem", "Jin-1"),
        *(("test RMSE", "0.25"), ("recovered", "1/1"), ("evaluations", "5,000")),
        *(("seconds", "0.05"), ("test RMSE", "inf"), ("paper", "0.46"), ("recovered", "0/1")),
        *(("test RMSE", "1"), ("recovered", "0/1"), ("undecided", "1")),
    ]


def test_a_method_that_has_not_come_to_a_problem_has_dashes_and_no_average() -> None:
    names = ("Nguyen-1", "Nguyen-2", "Nguyen-3")
    runs = [*(by("hybrid", name) for name in names), *(by("dsr", name) for name in names[:2])]
    *_, third, average = beside(*runs)
    assert third == "Nguyen-3  100%  5,000  0.05  -  -  -  -"
    assert average == "average  100.0%  -  -  -  -  -  -"


def test_live_table_names_the_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    out = Terminal()
    specs = [spec(method=method) for method in ("hybrid", "dsr")]
    with progress(out, *specs) as display:
        for each in specs:
            display.started(each)
        display.live.refresh()
    for word in ("method", "hybrid", "dsr"):
        assert word in out.getvalue()


def test_failures_are_shown() -> None:
    text = shown(Record(spec(), "failed", error="Traceback ...\nKeyError: 1"))
    assert "FAILED" in text
    assert "again: symseek bench Nguyen-1 --method dsr --seed 0" in text
    assert "KeyError: 1" in text
    assert "1 runs failed" in text


def test_saved_file_is_whole_or_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.json"
    write_json(path, [RECORD], planned=1)
    before = path.read_text()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_json(path, [], planned=1, interrupted=True)
    assert path.read_text() == before
    assert os.listdir(tmp_path) == ["runs.json"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("fitt data.csv", "unknown command 'fitt'; did you mean 'fit'?"),
        ("--units", "unknown option '--units'; known: --help, --version"),
        ("fit data.csv --target y --no-cache", "unknown option '--no-cache'; known: "),
        (
            "resume run --max-length 3",
            "known: --help, --quiet, --max-table-size, --jobs, --cluster, --no-report, --max-exp",
        ),
        ("fit data.csv --target y --max-expressions -1e3", "--max-expressions is -1000; it must"),
        ("fit data.csv --max-table-size " + "9x" * 150, "is no size; write it as 500MB or 4GB"),
    ],
)
def test_words_that_are_nearly_right(line: str, says: str, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("x,y\n1,2\n2,3.5\n3,4\n")
    said = answer(capsys, *line.split())
    assert said.code == 2
    assert says in said.err
    assert len(said.err) < 300
