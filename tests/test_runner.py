"""The runner: every run once, whatever is killed, and whatever fails is kept and shown."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fake_experiments import repeatable, some_specs
from refusals import refused
from symseek import InputError
from symseek.jobs import pool as pool_module
from symseek.jobs import runner as runner_module
from symseek.jobs.owner import start_of
from symseek.jobs.perform import perform
from symseek.jobs.pool import Event, ProcessPool
from symseek.jobs.progress import Progress
from symseek.jobs.runner import drive
from symseek.lab import (
    Counts,
    Listener,
    Outcome,
    Record,
    Snapshot,
    Spec,
    Store,
    StoreError,
    run,
)
from symseek.lab.paper.runtimes import RUNTIMES
from symseek.lab.trials.execute import execute

PATIENCE = 60.0  # seconds that any of these may take on a busy machine
posix = pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


class Notes(Listener):
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.counts: list[Counts] = []
        self.begun: list[Spec] = []
        self.snapshots: list[Snapshot] = []
        self.ended: list[Record] = []
        self.troubles: list[str] = []

    def counted(self, counts: Counts, left: list[Spec], size: int) -> None:
        assert counts.total - counts.done - counts.failed <= len(left)
        self.counts.append(counts)

    def started(self, spec: Spec) -> None:
        self.begun.append(spec)

    def progressed(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)

    def finished(self, record: Record) -> None:
        self.ended.append(record)

    def trouble(self, text: str) -> None:
        self.troubles.append(text)


def fake(name: str) -> str:
    return f"fake_experiments:{name}"


def kept(path: Path) -> list[dict[str, Any]]:
    """What a store holds, apart from times and provenance."""
    with Store(path, read_only=True) as store:
        return [repeatable(record) for record in store.records()]


# --- all runs, once


def test_every_run_is_done_once_and_reported(store: Store, tmp_path: Path) -> None:
    specs = some_specs(8, log=str(tmp_path / "log"))
    notes = Notes()
    outcome = run([*specs, *specs], store, jobs=2, listener=notes, execute=fake("steady"))
    assert outcome == Outcome(Counts(done=8), ran=8)
    assert outcome.complete
    assert notes.counts[0] == Counts(missing=8)
    assert notes.begun == specs
    assert {record.spec for record in notes.ended} == set(specs)
    assert {each.spec for each in notes.snapshots} == set(specs)
    assert notes.snapshots[0].expression == "x"
    words = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert sorted(key for word, key, _ in words if word == "start") == sorted(s.key for s in specs)
    assert len({pid for _, _, pid in words}) == 2  # processes are used again
    again = run(specs, store, jobs=2, listener=notes, execute=fake("steady"))
    assert again == Outcome(Counts(done=8), ran=0)
    assert notes.counts[-1] == Counts(done=8)


def test_records_say_with_what_they_were_made(store: Store) -> None:
    from symseek import __version__

    run(some_specs(1, sleep=0.02), store, execute=fake("steady"))
    (record,) = store.records()
    assert record.symseek == __version__
    assert record.hardware["cores"] == os.cpu_count()
    assert record.started_at.endswith("Z")
    assert record.wall is not None
    assert 0.02 <= record.wall < PATIENCE
    assert record.commit == "" or len(record.commit.partition("-")[0]) == 40


def test_several_processes_give_what_one_gives(tmp_path: Path) -> None:
    for jobs in (1, 3):
        with Store(tmp_path / f"{jobs}.db") as store:
            run(some_specs(9), store, jobs=jobs, execute=fake("steady"))
    assert kept(tmp_path / "1.db") == kept(tmp_path / "3.db")


def test_bad_arguments_are_refused_before_anything_runs(store: Store) -> None:
    specs = some_specs(1)
    for name, message in (
        ("steady", "write it as module:function"),
        ("no_such_module:steady", "cannot be imported: No module named 'no_such_module'"),
        (fake("stady"), "fake_experiments has no 'stady'"),
        (fake("not_a_function"), "is not a function"),
    ):
        with pytest.raises(InputError, match=message):
            run(specs, store, execute=name)
    with refused("jobs", value=0, wanted="at least 1"):
        run(specs, store, jobs=0)
    assert store.counts() == Counts()


# --- failures


def test_failed_runs_are_kept_and_tried_again_only_when_asked(store: Store, tmp_path: Path) -> None:
    cured, log = tmp_path / "cured", tmp_path / "log"
    specs = some_specs(10, cured=str(cured), log=str(log))
    first = run(specs, store, jobs=2, execute=fake("some_fail"))
    assert first.counts == Counts(done=8, failed=2)
    assert [each.last_line for each in first.failures] == [
        "ValueError: seed 3 is unlucky",
        "ValueError: seed 8 is unlucky",
    ]
    assert 'raise ValueError(f"seed' in first.failures[0].error
    log.unlink()
    cured.touch()
    second = run(specs, store, execute=fake("some_fail"))
    assert second == Outcome(first.counts, 0, first.failures)
    assert not log.exists()
    third = run(specs, store, execute=fake("some_fail"), retry_failed=True)
    assert third == Outcome(Counts(done=10), ran=2)


def test_a_run_that_fails_again_is_tried_once_a_call(store: Store, tmp_path: Path) -> None:
    specs = some_specs(4, cured=str(tmp_path / "never"), log=str(tmp_path / "log"))
    for _ in range(2):
        outcome = run(specs, store, execute=fake("some_fail"), retry_failed=True)
        assert outcome.counts == Counts(done=3, failed=1)
    starts = (tmp_path / "log").read_text().split().count(specs[3].key)
    assert starts == 2


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("gives_nothing", "TypeError: execute returned a NoneType, not a Record"),
        ("gives_another", "ValueError: execute was given m0 on P-0, seed 0 and returned"),
        ("exits", "SystemExit: no licence"),
    ],
)
def test_whatever_goes_wrong_is_a_failure(
    store: Store, name: str, error: str, capfd: pytest.CaptureFixture[str]
) -> None:
    outcome = run(some_specs(1), store, execute=fake(name))
    assert outcome.failures[0].last_line.startswith(error)
    assert capfd.readouterr().out == ""  # what a run prints does not disturb the picture


@posix
def test_a_process_that_dies_loses_only_its_run(store: Store, tmp_path: Path) -> None:
    specs = some_specs(6, log=str(tmp_path / "log"))
    notes = Notes()
    outcome = run(specs[1:], store, jobs=2, listener=notes, execute=fake("some_die"))
    assert outcome.counts == Counts(done=3, failed=2)
    killed, crashed = sorted(outcome.failures, key=lambda each: each.spec.seed)
    assert killed.error == "its process was killed by SIGKILL, 2 times"
    assert crashed.last_line == "its process was killed by SIGSEGV, 2 times"
    assert "in some_die" in crashed.error  # where it crashed
    assert any("seed 1 lost its process and is done again" in text for text in notes.troubles)


@posix
def test_the_end_of_a_process_is_noticed_though_its_child_lives_on(
    store: Store, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    outcome = run(some_specs(1, log=str(log)), store, execute=fake("dies_before_its_child"))
    assert outcome.failures[0].last_line == (
        "its process ended with exit code 9 and no result, 2 times"
    )
    children = [pid for _, pid in starts(log)]
    assert len(children) == 2
    for child in children:
        assert start_of(child) is not None
        os.kill(child, signal.SIGKILL)


def test_processes_that_cannot_begin_fail_no_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "_work", _die)
    with pytest.raises(InputError, match=r"end before they are ready: .* exit code 7"):
        run(some_specs(5), store, jobs=2, execute=fake("steady"))
    assert store.counts() == Counts()


def _die(*_: object) -> None:
    os._exit(7)


@posix
def test_a_process_that_dies_idle_is_replaced() -> None:
    pool = ProcessPool(1, fake("steady"))
    try:
        for spec in some_specs(2):
            pool.start(spec)
            events: list[Event] = []
            while not any(isinstance(event, Record) for event in events):
                events += pool.wait(PATIENCE)
            assert [type(event) for event in events] == [Snapshot, Record]
            pool._idle[0].process.kill()
            pool._idle[0].process.join()
    finally:
        pool.close()


def test_no_record_is_lost_to_a_store_in_trouble(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, calls = store.finish, []

    def full_at_first(*records: Record) -> None:
        calls.append(records)
        if len(calls) == 1:
            raise StoreError("the disk is full", temporary=True)
        finish(*records)

    monkeypatch.setattr(store, "finish", full_at_first)
    notes = Notes()
    outcome = run(some_specs(1), store, listener=notes, execute=fake("steady"))
    assert outcome.counts == Counts(done=1)
    assert notes.troubles == ["the disk is full; trying again"]
    assert calls[0] == calls[1]

    def full(*records: Record) -> None:
        raise StoreError("the disk is full", temporary=True)

    monkeypatch.setattr(store, "finish", full)
    monkeypatch.setattr(runner_module, "PATIENCE", 0.0)
    with pytest.raises(StoreError, match="the disk is full"):
        run(some_specs(2), store, execute=fake("steady"))
    assert store.counts(some_specs(2)) == Counts(done=1, missing=1)


# --- several runners, and runners that are killed


def fake_runner(
    path: Path, log: Path, jobs: int = 2, runs: int = 30, sleep: float = 0.15
) -> subprocess.Popen[str]:
    script = Path(__file__).with_name("fake_experiments.py")
    return subprocess.Popen(
        [sys.executable, *map(str, (script, path, log, jobs, runs, sleep))],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for(path: Path, done: int) -> set[str]:
    """Wait until a store has so many runs done, and say which."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if path.exists():
            with Store(path) as store:
                records = store.records()
            if len(records) >= done:
                return {record.spec.key for record in records}
        time.sleep(0.02)
    raise AssertionError("the runner does not get on")


def starts(log: Path) -> list[tuple[str, int]]:
    """The keys of the runs that were begun, and by which processes."""
    words = [line.split() for line in log.read_text().splitlines()]
    return [(key, int(pid)) for word, key, pid in words if word == "start"]


def all_gone(pids: set[int]) -> bool:
    """Whether these processes end within a while."""
    deadline = time.monotonic() + PATIENCE
    while any(start_of(pid) is not None for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.slow
@posix
def test_three_kills_cost_nothing_but_the_runs_in_flight(tmp_path: Path) -> None:
    path, log, runs = tmp_path / "killed.db", tmp_path / "log", 30
    done: set[str] = set()
    for kill in range(3):
        begun = len(starts(log)) if log.exists() else 0
        with fake_runner(path, log, runs=runs) as child:
            known = wait_for(path, 6 * (kill + 1))
            os.kill(child.pid, signal.SIGKILL)
        assert child.returncode == -signal.SIGKILL
        assert all_gone({pid for _, pid in starts(log)})  # its processes end with it
        assert done <= known
        assert done.isdisjoint(key for key, _ in starts(log)[begun:])  # what is there is not redone
        with Store(path) as store:
            done = {record.spec.key for record in store.records()}
    with fake_runner(path, log, runs=runs) as child:
        printed, _ = child.communicate(timeout=PATIENCE)
    assert f"30 of 30 runs done, 0 failed, 0 left\nran {runs - len(done)}\n" in printed
    assert len(starts(log)) <= runs + 3 * 2  # two were in flight at each kill
    with fake_runner(tmp_path / "quiet.db", tmp_path / "quiet", runs=runs) as child:
        child.communicate(timeout=PATIENCE)
    assert kept(path) == kept(tmp_path / "quiet.db")
    assert len(kept(path)) == runs


@posix
def test_nobody_goes_on_with_a_run_that_nobody_waits_for(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with fake_runner(tmp_path / "runs.db", log, sleep=2 * PATIENCE) as child:
        while not log.exists() or len(starts(log)) < 2:
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGKILL)
        assert all_gone({pid for _, pid in starts(log)})


@pytest.mark.slow
@posix
def test_two_runners_share_the_work(tmp_path: Path) -> None:
    path, log = tmp_path / "runs.db", tmp_path / "log"
    with fake_runner(path, log, jobs=1) as first, fake_runner(path, log, jobs=1) as second:
        printed = [each.communicate(timeout=PATIENCE)[0] for each in (first, second)]
    assert all("30 of 30 runs done, 0 failed, 0 left\n" in text for text in printed)
    ran = [int(text.split()[-1]) for text in printed]
    assert sum(ran) == 30
    assert min(ran) > 0
    assert set(Counter(key for key, _ in starts(log)).values()) == {1}
    assert len(kept(path)) == 30


@pytest.mark.slow
@posix
def test_the_runs_of_a_killed_runner_are_done_by_the_other(tmp_path: Path) -> None:
    path, log = tmp_path / "runs.db", tmp_path / "log"
    with fake_runner(path, log, jobs=1) as first:
        wait_for(path, 2)
        with fake_runner(path, log, jobs=1) as second:
            wait_for(path, 10)
            os.kill(first.pid, signal.SIGKILL)
            printed, _ = second.communicate(timeout=PATIENCE)
    assert "30 of 30 runs done" in printed
    assert len(starts(log)) <= 31


@posix
def test_ctrl_c_keeps_what_is_done_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path, log = tmp_path / "runs.db", tmp_path / "log"
    with fake_runner(path, log) as child:
        wait_for(path, 5)
        os.killpg(child.pid, signal.SIGINT)
        printed, _ = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0
    assert "Interrupted: " in printed
    assert "Traceback" not in printed
    assert all_gone({pid for _, pid in starts(log)})
    with Store(path) as store:
        counts = store.counts()
        assert 5 <= counts.done < 30
        assert counts.total == counts.done  # claims were given back
        assert store._db.execute("SELECT * FROM owners").fetchall() == []
    assert f"ran {counts.done}\n" in printed


def test_ctrl_c_keeps_what_has_ended_in_that_moment(store: Store) -> None:
    class Interrupted:
        """Two runs end while Ctrl-C is pressed."""

        size = 3
        room = 3

        def __init__(self) -> None:
            self.begun: list[Spec] = []
            self.closed = False
            self.waits = 0

        def start(self, spec: Spec) -> None:
            self.begun.append(spec)
            self.room -= 1

        def wait(self, timeout: float) -> list[Record]:
            self.waits += 1
            if self.waits == 1:
                raise KeyboardInterrupt
            return [Record(spec) for spec in self.begun[:2]]

        def close(self) -> None:
            self.closed = True

    pool, specs = Interrupted(), some_specs(5)
    outcome = drive(specs, store, lambda: pool, Listener())
    assert outcome == Outcome(Counts(done=2, missing=3), ran=2, interrupted=True)
    assert pool.closed
    assert store.claim(specs) == specs[2]  # given back


def test_what_another_process_is_at_is_waited_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "SURVEY", 0.05)
    specs = some_specs(3)
    other = Store(store.path)
    assert other.claim(specs) == specs[0]

    class Helper(Notes):
        def counted(self, counts: Counts, left: list[Spec], size: int) -> None:
            self.counts.append(counts)
            if counts == Counts(done=2, running=1):
                other.finish(Record(specs[0], expression="by the other"))
                other.close()

    notes = Helper()
    outcome = run(specs, store, listener=notes, execute=fake("steady"))
    assert outcome == Outcome(Counts(done=3), ran=2)
    assert store.records(specs[:1])[0].expression == "by the other"


# --- what a person sees


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def some_records() -> tuple[Record, Record]:
    first, second = some_specs(2)
    error = "Traceback (most recent call last):\n  ...\nValueError: [bold]bad\n"
    return Record(first, recovered="yes", wall=90.0), Record(second, "failed", error=error)


def test_plain_lines_name_each_run_and_how_to_see_an_error(store: Store) -> None:
    out = io.StringIO()
    done, failed = some_records()
    left = [*some_specs(2), Spec("m0", "P-0", 7)]
    with Progress(store, out=out) as progress:
        assert progress.live is None
        progress.counted(Counts(done=3, missing=2, running=1), left, size=1)
        progress.started(done.spec)
        progress.finished(done)
        progress.finished(failed)
        progress.trouble("the disk is full")
        progress.summary(Outcome(Counts(4, 1, 0, 1), 2, [failed], interrupted=True))
    see = f"see: python -m symseek.lab {store.path} {failed.spec.short}"
    assert out.getvalue().splitlines() == [
        "3 runs to do of 6 (3 done), 1 in other processes",
        "4/6  m0 on P-0, seed 0: recovered in 1:30, 3:00 left",
        "5/6  m1 on P-1, seed 1 FAILED: ValueError: [bold]bad",
        f"    {see}",
        "the disk is full",
        "Interrupted: 4 of 6 runs done, 1 failed, 1 left",
        "  m1 on P-1, seed 1: ValueError: [bold]bad",
        f"    {see}",
    ]


def test_runs_of_another_budget_do_not_count_for_the_time_left(store: Store) -> None:
    quick, full = (
        [Spec("m0", "P-0", seed, {"max_expressions": budget}) for seed in range(10)]
        for budget in (20, 2_000_000)
    )
    store.finish(*(Record(spec, wall=0.5) for spec in quick))
    store.finish(*(Record(spec, wall=100.0) for spec in full[:4]))
    out = io.StringIO()
    with Progress(store, full, out) as progress:
        progress.counted(Counts(done=4, missing=6), full[4:], size=1)
        progress.finished(Record(full[4], wall=100.0))
    assert out.getvalue().splitlines()[-1].endswith("in 1:40, 8:20 left")


def test_the_times_of_the_paper_ask_for_a_store_of_their_own() -> None:
    settings = {"max_expressions": 1000, "early_stop": False}
    (advice,) = RUNTIMES.report([Record(Spec("dsr", "Nguyen-1", 0, settings), seconds=2.0)]).notes
    assert "another experiment" in advice
    assert "--store runtimes.sqlite --jobs 1" in advice


def test_a_terminal_gets_a_bar_and_what_is_running(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    out = Terminal()
    before = Record(Spec("m1", "P-1", 25), wall=30.0)
    store.finish(before)
    done, failed = some_records()
    left = some_specs(20)
    with Progress(store, [*left, before.spec], out) as progress:
        assert progress.live is not None
        progress.counted(Counts(done=1, missing=20), left, size=2)
        for spec in left[:14]:
            progress.started(spec)
        progress.finished(done)
        progress.progressed(Snapshot(left[1], 40_000, 0.5, 0.75, "sin(x) + [x]"))
        progress.live.refresh()
        shown = out.getvalue()
        progress.finished(failed)
        progress.summary(Outcome(Counts(2, 1, 0, 18), 2, [failed] * 25))
    drawn = ("40,000", "80,000/s", "0.750000", "sin(x) + [x]", "and 3 more")
    for word in ("2/21, 0 failed", "left", "m1", "P-1", *drawn):
        assert word in shown
    after = out.getvalue()[len(shown) :]
    assert "ValueError: [bold]bad" in after
    assert "2 of 21 runs done, 1 failed, 18 left" in after
    assert "and 5 more: python -m symseek.lab" in after


# --- real runs


def test_a_real_run_in_another_process_is_the_same(store: Store) -> None:
    spec = Spec("dsr", "Nguyen-11", 0, {"max_expressions": 20_000})
    here = perform(spec, execute)
    notes = Notes()
    run([spec], store, listener=notes)
    assert [repeatable(record) for record in store.records()] == [repeatable(here)]
    assert here.status == "done"
    assert notes.snapshots[0].spec == spec


def test_bad_settings_are_failures_that_say_so() -> None:
    spec = Spec("dsr", "Nguyen-11", 0, {"max_expressions": 20_000})
    for settings, error in (
        ({}, "max_expressions is None; it must be a whole number"),
        ({"max_expresions": 3}, "unknown setting 'max_expresions'; did you mean 'max_expressions'"),
    ):
        failed = perform(Spec("dsr", "Nguyen-11", 0, settings), execute)
        assert error in failed.last_line
    assert "unknown method" in perform(replace(spec, method="dsrr"), execute).last_line
