"""The paper's experiments: each runs once, and is reported beside the paper's figures."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from examples import mostly_slow
from symseek import InputError
from symseek.command import main
from symseek.lab import Record, Spec, Store
from symseek.lab.paper import published
from symseek.lab.paper.catalogue import EXPERIMENTS, experiment
from symseek.lab.paper.grids import combinations
from symseek.lab.paper.literature import worst_harmonic_error
from symseek.lab.paper.measures import recovery_table, significance_table
from symseek.lab.reports.report import Request, selected, write_report
from symseek.lab.reports.tables import ResultTable, to_csv, to_latex, to_markdown
from symseek.lab.trials.csv_file import runs_csv
from symseek.lab.trials.plan import Plan, on_engine

SEEDS = range(2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all experiments, as a user has it: they share runs."""
    return tmp_path_factory.mktemp("paper")


def inflated(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def ask(folder: Path, name: str, *more: str) -> int:
    files = ["--store", str(folder / "runs.sqlite"), "--out", str(folder / "out")]
    return main(["paper", name, "--seeds", "2", "--quick", *files, *more])


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with Store(folder / "runs.sqlite") as opened:
        yield opened


def in_process(name: str, store: Store) -> list[Record]:
    """The runs that the command does, without starting processes."""
    from symseek.jobs.perform import perform
    from symseek.lab.trials.execute import execute

    specs = selected(EXPERIMENTS[name], Request(name, SEEDS, quick=True))
    for spec in store.missing(specs):
        store.finish(perform(spec, execute))
    assert store.missing(specs) == []
    records = store.records(specs)
    assert [record.last_line for record in records if record.status == "failed"] == []
    return records


@pytest.mark.parametrize("name", mostly_slow(EXPERIMENTS, "reward-noise"))
def test_every_experiment_writes_its_files(name: str, store: Store, tmp_path: Path) -> None:
    records, request = in_process(name, store), Request(name, SEEDS, quick=True)
    specs = [record.spec for record in records]
    files = write_report(EXPERIMENTS[name], [request], specs, records, tmp_path)
    kinds = {path.suffix for path in files}
    assert kinds == {".md", ".csv", ".gz", ".tex", ".svg", ".png"}
    assert all(path.stat().st_size > 0 for path in files)
    text = files[0].read_text(encoding="utf-8")
    assert files[0].name == f"{name}.md"
    assert f"`symseek paper {name} --seeds 2 --quick`" in text
    assert re.search(r"\[[\d.e+-]+, [\d.e+-]+\]", text), "no interval"
    links = re.findall(r"\]\(([^)]+\.png)\)", text)
    assert links
    for link in links:
        assert (tmp_path / link).exists()


@pytest.mark.parametrize("name", mostly_slow(EXPERIMENTS, "table1"))
def test_runs_on_a_gpu_are_reported_as_others(name: str, store: Store) -> None:
    """Their settings name the engine, by which no table groups or labels them."""
    records = in_process(name, store)
    specs = selected(EXPERIMENTS[name], Request(name, SEEDS, quick=True, engine="cuda"))
    assert all("engine" in spec.settings for spec in specs if spec.method != "gp")
    moved = [replace(record, spec=on_engine([record.spec], "cuda")[0]) for record in records]
    assert {record.spec for record in moved} == set(specs)
    one, other = (EXPERIMENTS[name].report(each) for each in (records, moved))
    assert repr(one) == repr(other)


def test_the_command_runs_what_is_missing_and_nothing_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = folder / "command"
    own.mkdir()
    assert ask(own, "reward-noise", "--jobs", "2") == 0
    assert "8 runs to do of 8" in capsys.readouterr().err
    assert ask(own, "reward-noise") == 0
    shown = capsys.readouterr()
    assert "0 runs to do of 8 (8 done)" in shown.err
    assert "# Noisy rewards" in shown.out
    assert {path.suffix for path in (own / "out").iterdir()} == {
        ".md",
        ".csv",
        ".gz",
        ".tex",
        ".svg",
        ".png",
    }


def test_without_a_name_the_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)


def test_bad_names_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "tabel1"]) == 2
    assert "did you mean 'table1'?" in capsys.readouterr().err
    store = ["--store", str(tmp_path / "s"), "--out", str(tmp_path / "out")]
    assert main(["paper", "table1", "--only", "eureqa", *store]) == 2
    assert "unknown method of table1 'eureqa'" in capsys.readouterr().err


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_setting_of_every_experiment_is_known(name: str) -> None:
    wanted = EXPERIMENTS[name]
    specs = wanted.specs(range(1), False)
    assert len(set(specs)) == len(specs)
    for spec in specs:
        Plan.of(spec)
    assert len(wanted.specs(SEEDS, False)) == 2 * len(specs)


def test_runs_where_an_underflow_is_valid_are_other_runs() -> None:
    """So a run that was stored before the presets took it as invalid is not taken for a new one."""
    usual, valid = (Request("table1", [0], underflow_valid=each) for each in (False, True))
    assert valid.command == f"{usual.command} --underflow-valid"
    new, before = (selected(EXPERIMENTS["table1"], each) for each in (usual, valid))
    assert {spec.method for spec in new if spec in before} == {"gp", "hybrid"}
    assert Spec("dsr", "Nguyen-1", 0, {"curve": True, "max_expressions": 2_000_000}) in before
    assert not any(Plan.of(spec).underflow_invalid for spec in before)


def test_the_protocols_are_the_papers() -> None:
    sizes = {
        name: each.seeds * len(each.specs(range(1), False)) for name, each in EXPERIMENTS.items()
    }
    assert sizes["table1"] == 12 * 5 * 100
    assert sizes["ablations"] == 12 * 8 * 100
    assert sizes["ssr"] == 10 * 2 * 30
    assert sizes["bsr"] == 6 * 2 * 50
    assert sizes["neatgp"] == 9 * 2 * 30
    assert sizes["grid-gp"] == 800 * 2 * 10
    assert [len(combinations(method)) for method in published.GRIDS] == [81, 81, 81, 800]
    budgets = {
        (spec.problem, spec.settings["max_expressions"])
        for name in ("table1", "variations", "grid-dsr")
        for spec in EXPERIMENTS[name].specs(range(1), False)
    }
    assert ("Nguyen-1", 2_000_000) in budgets
    assert ("Nguyen-1c", 1_000_000) in budgets
    assert ("Nguyen-7", 1_000_000) in budgets


def test_experiments_share_their_runs() -> None:
    table1 = set(EXPERIMENTS["table1"].specs(SEEDS, False))
    assert set(EXPERIMENTS["curves"].specs(SEEDS, False)) == table1
    for name in ("variations", "runtimes", "noise"):
        assert table1 < set(EXPERIMENTS[name].specs(SEEDS, False))


def test_a_smaller_protocol_and_fewer_methods() -> None:
    request = Request("table1", SEEDS, only=("gp",), max_expressions=50_000)
    specs = selected(experiment("table1"), request)
    assert {spec.method for spec in specs} == {"gp"}
    assert {spec.settings["max_expressions"] for spec in specs} == {50_000}
    assert request.command == "symseek paper table1 --seeds 2 --only gp --max-expressions 50000"


def test_a_report_says_which_method_has_which_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    assert ask(tmp_path, "table1", "--only", "dsr") == 0
    assert ask(tmp_path, "table1", "--seeds", "1", "--only", "vpg") == 0
    capsys.readouterr()
    assert ask(tmp_path, "table1", "--report") == 0
    report = capsys.readouterr().out
    assert "--seeds 2 --quick --only dsr`, `symseek paper table1 --seeds 1 --quick" in report
    assert "Runs: 6 of 6 done" in report
    runs = list(csv.DictReader(io.StringIO(inflated(tmp_path / "out" / "table1-runs.csv.gz"))))
    assert [(row["method"], row["status"]) for row in runs].count(("dsr", "done")) == 4


def test_a_report_names_what_failed(tmp_path: Path) -> None:
    fine = Record(Spec("dsr", "Nguyen-1", 0), recovered="yes")
    broken = [Record(Spec("dsr", "Nguyen-1", n), "failed", error="KeyError: 1") for n in (1, 2)]
    request, records = Request("table1", range(3)), [fine, *broken]
    specs = [each.spec for each in records]
    first, *_ = write_report(experiment("table1"), [request], specs, records, tmp_path)
    assert "Failed, 2 runs: KeyError: 1" in first.read_text()
    assert inflated(tmp_path / "table1-runs.csv.gz").count("KeyError: 1") == 2


def test_runs_of_another_machine_are_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    assert ask(there, "table1", "--only", "dsr") == 0
    other = str(next(there.glob("*.sqlite")))
    capsys.readouterr()
    assert ask(here, "table1", "--report", "--take", other) == 0
    assert capsys.readouterr().err.startswith(f"{other}: 4 runs were new")
    assert ask(here, "table1", "--report", "--take", other) == 0
    assert capsys.readouterr().err.startswith(f"{other}: 0 runs were new")


def test_a_table_of_runs_is_a_store_that_can_be_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    assert ask(there, "settings", "--problems", "Jin-5", "--seeds", "1") == 0
    table = next(there.rglob("settings-runs.csv.gz"))
    assert ask(here, "settings", "--report", "--seeds", "1", "--take", str(table)) == 0
    assert capsys.readouterr().err.count("18 runs were new") == 1
    again = next(here.rglob("settings-runs.csv.gz"))
    assert inflated(again) == inflated(table)
    written = [next(each.rglob("settings-jin.csv")).read_text() for each in (here, there)]
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("seed,", "sead,", 1), "no column 'seed'"),
        (lambda text: text.replace(",done,", ",perhaps,", 1), "line 2"),
        (lambda text: text.replace(",0,", ",zero,", 1), "line 2"),
        (lambda text: text.replace('"{', '"[', 1), "line 2"),
        (lambda text: text[: text.rindex(",")], "line 2"),
        (lambda text: "", "no column 'method'"),
    ],
)
def test_a_table_that_has_no_runs_is_refused_by_its_line(
    change: Any, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    done = Record(Spec("dsr", "Nguyen-1", 0, {"max_expressions": 4000, "curve": True}))
    table = tmp_path / "some.csv"
    table.write_text(change(runs_csv([done])))
    folder = tmp_path / "here"
    folder.mkdir()
    assert refused(folder, "table1", "--report", "--take", str(table))
    assert said in capsys.readouterr().err


def refused(folder: Path, *words: str) -> bool:
    """Whether a command is refused, and nothing was made on the way."""
    return ask(folder, *words) == 2 and not list(folder.iterdir())


def test_what_cannot_be_done_is_refused_before_anything_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused(tmp_path, "table1", "--max-expressions", "500")
    assert "smaller than one batch" in capsys.readouterr().err
    assert refused(tmp_path, "table1", "--only", "foo")
    assert refused(tmp_path, "table1", "--take", str(tmp_path / "typo.sqlite"))
    assert refused(tmp_path, "table1", "--report", "--retry-failed")
    assert refused(tmp_path, "table1", "--report", "--cluster", "auto")
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, "deap", None)  # importing it fails
    monkeypatch.delitem(sys.modules, "symseek.lab.baselines.trees", raising=False)
    assert refused(tmp_path, "table1")
    assert "needs DEAP" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_refused_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    assert ask(tmp_path, "table1", "--out", "/proc") == 2
    assert "cannot write to the folder '/proc'" in capsys.readouterr().err


def test_no_method_is_not_every_method(capsys: pytest.CaptureFixture[Any], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as end:
        ask(tmp_path, "table1", "--only", "")
    assert end.value.code == 2
    assert "names no method" in capsys.readouterr().err


def test_a_report_of_some_methods_names_these(
    tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    assert ask(tmp_path, "table1", "--only", "dsr,gp") == 0
    capsys.readouterr()
    assert ask(tmp_path, "table1", "--report") == 0
    report = capsys.readouterr().out
    assert "`symseek paper table1 --seeds 2 --quick --only dsr,gp`" in report
    assert "Runs: 8 of 8 done" in report


def test_a_report_needs_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[Any]) -> None:
    assert ask(tmp_path, "table1", "--report") == 2
    assert "there is no store" in capsys.readouterr().err


# --- tables


def made_up(rates: dict[str, float], runs: int = 100) -> list[Record]:
    """Runs of every Nguyen problem that recover so many in a hundred."""
    return [
        Record(Spec(method, problem, seed), recovered="yes" if seed < rate * runs / 100 else "no")
        for method, rate in rates.items()
        for problem in published.RECOVERY.rows
        for seed in range(runs)
    ]


def test_a_recovery_table_has_ours_the_interval_and_the_papers() -> None:
    records = made_up({"dsr": 72, "gp": 0})
    table = recovery_table("t", "T", records, published.RECOVERY, ("eureqa", "wolfram"))
    rows = {row[0]: row[2:] for row in table.rows}
    assert list(table.columns)[2:] == ["DSR", "GP", "Eureqa, paper", "Wolfram, paper"]
    assert rows["Nguyen-5"] == ["72 [63, 80] (72)", "0 [0, 4] (45)", "73", "2"]
    assert rows["Nguyen-12"][-1] == "–"
    assert rows["Average"] == ["72 [69, 74] (83.6)", "0 [0, 0] (60.1)", "73.9", "–"]
    data = list(csv.DictReader(io.StringIO(to_csv(table))))
    line = next(row for row in data if (row["problem"], row["method"]) == ("Nguyen-5", "dsr"))
    assert (line["recovered"], line["runs"], line["paper"]) == ("72", "100", "72.0")


def test_failed_and_missing_runs_are_not_counted() -> None:
    records = made_up({"dsr": 50}, runs=10)
    broken = Record(Spec("dsr", "Nguyen-1", 99), "failed", error="KeyError: 1")
    table = recovery_table("t", "T", [*records, broken], published.RECOVERY)
    assert table.data[0]["runs"] == 10


def test_significance_is_given_against_each_other_and_against_the_paper() -> None:
    table = significance_table(made_up({"dsr": 84, "vpg": 47}), published.RECOVERY, ("eureqa",))
    verdicts = {(row["ours"], row["theirs"]): row["verdict"] for row in table.data}
    assert verdicts["DSR", "VPG"] == "ours recovers more"
    assert verdicts["DSR", "DSR, paper"] == "no difference shown"
    assert verdicts["DSR", "Eureqa, paper"] == "ours recovers more"


def test_tables_are_written_in_three_ways() -> None:
    table = ResultTable(
        "t", "50 % & more", ["a|b", "c"], [["x^2", "1 ± 2"]], [{"a": 1, "b": None}], "n"
    )
    assert to_markdown(table).splitlines()[-5:] == [
        "| a\\|b | c     |",
        "|------|-------|",
        "| x^2  | 1 ± 2 |",
        "",
        "n",
    ]
    assert to_csv(table) == "a,b\n1,\n"
    latex = to_latex(table, "Made so.")
    assert r"\caption{50 \% \& more. n Made so.}" in latex
    assert r"x\textasciicircum{}2 & 1 $\pm$ 2 \\" in latex


def test_nothing_done_is_nothing_to_report(tmp_path: Path) -> None:
    broken = Record(Spec("dsr", "Nguyen-1", 0), "failed", error="KeyError: 1")
    with pytest.raises(InputError, match="nothing to report"):
        write_report(experiment("table1"), [Request("table1", SEEDS)], [], [broken], tmp_path)


def test_the_harmonic_formula_of_the_paper_is_near() -> None:
    assert worst_harmonic_error(published.HARMONIC.expression, far=10_000) < 1e-4
    assert worst_harmonic_error("log(x - 1)", far=10) == float("inf")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_the_command_runs_every_experiment(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    assert ask(tmp_path, name, "--jobs", "2") == 0
    capsys.readouterr()
    assert ask(tmp_path, name) == 0
    assert capsys.readouterr().err.startswith("0 runs to do")


def test_an_experiment_that_is_stopped_early_has_runs_of_everything() -> None:
    request = Request("noise", SEEDS)
    specs = selected(experiment("noise"), request)
    half = specs[: len(specs) // 2]
    assert {spec.seed for spec in half} == {0}
    assert {spec.problem for spec in half} == {spec.problem for spec in specs}
