"""Symbolic control policies: the copies of the environments, the score, the search, the command."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from examples import mostly_slow
from symseek import Library, Program, Programs, Search, paper_constraints
from symseek.model import full_library

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPT = EXAMPLES / "control.py"
NAMES = ["CartPole-v1", "MountainCarContinuous-v0", "Pendulum-v1"]


@pytest.fixture
def control(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example, which other processes can import, too."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import control

    yield control
    for name in {"control", "environments"} - before:
        del sys.modules[name]


def parsed(task: Any, *texts: str) -> Programs:
    library = full_library(task.variables)
    return Programs.from_list([Program.parse(text, library) for text in texts])


@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_that_of_gymnasium(control: ModuleType, name: str) -> None:
    task = control.TASKS[name]
    rng = np.random.default_rng(0)
    env = task.made()
    ends = 0
    for seed in range(3):
        observed, _ = env.reset(seed=seed)
        (start,) = task.starts([seed]).T
        np.testing.assert_array_equal(start, env.unwrapped.state)
        value = 0.0
        for _ in range(150):
            state = np.array(env.unwrapped.state)[:, None, None]
            seen = [np.float32(each.item()) for each in task.observe(state)]
            np.testing.assert_allclose(seen, observed, rtol=1e-6)
            # Now and then a force beyond the limit, kept up for some steps: the car gets somewhere.
            value = rng.normal(0, 3) if rng.uniform() < 0.05 else value
            after, reward, ended = task.step(state, np.array([[value]]))
            observed, true_reward, terminated, _, _ = env.step(task.action(value))
            np.testing.assert_allclose(after[:, 0, 0], env.unwrapped.state, rtol=1e-6, atol=1e-8)
            assert reward.item() == pytest.approx(true_reward, rel=1e-6)
            assert bool(ended.item()) is terminated
            if terminated:
                ends += 1
                break
    assert (ends > 0) is (name == "CartPole-v1")


@pytest.mark.parametrize("name", NAMES)
def test_whole_episodes_are_those_of_gymnasium(control: ModuleType, name: str) -> None:
    task = control.TASKS[name]
    programs = parsed(task, task.published, f"{task.variables[-1]} - 0.01")
    got = control.returns(task, programs, task.starts(range(2)))
    for program, row in zip(programs, got, strict=True):
        np.testing.assert_allclose(row, control.played(name, program, range(2)), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "text", "least", "most"),
    [
        ("CartPole-v1", "angle + 0.5*spin", 500, 500),
        ("CartPole-v1", "-1.0*angle", 8, 12),  # it falls at once
        ("MountainCarContinuous-v0", "log(cos(1))/log(speed)", 98.9, 99.3),
        ("MountainCarContinuous-v0", "0.0*x", 0, 0),  # it stands still
        ("Pendulum-v1", "(-8*sin_a - 2*spin)/cos_a - 2*sin_a", -300, -100),
        ("Pendulum-v1", "0.0*spin", -1700, -900),
    ],
)
def test_known_policies_get_the_return_that_they_should(
    control: ModuleType, name: str, text: str, least: float, most: float
) -> None:
    task = control.TASKS[name]
    (program,) = parsed(task, text)
    mean, error = control.mean_and_error(control.judged(task, program, 6, map))
    assert least <= mean <= most
    assert (error == 0) is (least == most)


def test_an_undefined_value_counts_as_0(control: ModuleType) -> None:
    assert control.TASKS["CartPole-v1"].action(math.nan) == 0
    assert control.TASKS["Pendulum-v1"].action(math.nan).tolist() == [0]
    assert control.TASKS["Pendulum-v1"].action(math.inf).tolist() == [2]
    task = control.TASKS["Pendulum-v1"]
    got = control.returns(task, parsed(task, "log(-1.0)*spin", "0.0*spin"), task.starts([1]))
    assert got[0] == got[1]


@pytest.mark.parametrize("name", mostly_slow(NAMES, "CartPole-v1"))
def test_a_score_depends_on_the_expression_alone(
    control: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "CHUNK", 20)
    task = control.TASKS[name]
    library = Library([*control.OPERATORS, *control.NUMBERS], variables=list(task.variables))
    hunt = Search.for_programs(library, len, constraints=paper_constraints(1, 12))
    programs = hunt.sample(45).programs
    seeds = range(6)
    alone = control.Score(task, seeds)
    first = alone(programs)
    assert np.isfinite(first).all()
    assert len(np.unique(first)) > 10
    np.testing.assert_array_equal(first, alone(programs))
    for row in (0, 30):
        np.testing.assert_array_equal(first[[row]], alone(programs[[row]]))
    with control.processes(2) as spread:
        beside = control.Score(task, seeds, spread)
        np.testing.assert_array_equal(first, beside(programs))
    assert 2 * beside.episodes < alone.episodes  # asked once, and not twice and more


def test_what_promises_little_gets_few_episodes(control: ModuleType) -> None:
    task = control.TASKS["CartPole-v1"]
    score = control.Score(task, range(10))
    bad = score(parsed(task, "-1.0*angle"))
    assert score.episodes == control.FEW
    good = score(parsed(task, "angle + 0.5*spin"))
    assert score.episodes == control.FEW + 10
    assert bad < task.promising
    assert good == 1


def test_a_small_search_is_better_than_chance(
    control: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control, "TUNING", 8)
    rows = []
    for file in ("one.json", "two.json"):
        words = ["CartPole-v1", "--max-expressions", "1000", "--episodes", "6", "--evaluate", "5"]
        assert control.main([*words, "--json", str(tmp_path / file)]) == 0
        written = json.loads((tmp_path / file).read_text())
        (row,) = written["rows"]
        assert row["mean_return"] > 150  # pushing at random gives about 22
        assert row["published_return"] == 500
        assert row["gain"] == pytest.approx(row["mean_return"] - 500)
        assert 0 < row["expressions"] <= 1000
        assert row["expression"] in capsys.readouterr().out
        rows.append({**row, "seconds": 0})
    assert rows[0] == rows[1]  # the same seed gives the same


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name one environment of"),
        (["CartPole-v1", "--all"], "or say --all"),
        (["CartPole-v2"], "did you mean 'CartPole-v1'?"),
        (["CartPole-v1", "--workers", "0"], "not a whole number of 1 or more"),
        (["CartPole-v1", "--seed", "-1"], "seed"),
        (["CartPole-v1", "--max-expressions", "1"], "raise max_expressions"),
        (["CartPole-v1", "--episodes", "100000"], "10000 at most"),
        (["CartPole-v1", "--json", "no/such/folder.json"], "there is no folder"),
        (["CartPole-v1", "--sed", "1"], "unrecognized arguments"),
    ],
)
def test_bad_options_get_one_sentence_and_code_2(
    control: ModuleType, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = control.main(words)
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_without_gymnasium_it_says_what_to_install() -> None:
    code = (
        "import runpy, sys; sys.modules['gymnasium'] = None\n"
        f"sys.path.insert(0, {str(EXAMPLES)!r})\n"
        f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.strip() == "gymnasium is missing: pip install 'symseek[control]'"


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def waited(condition: Any, seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(condition())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it looks at /proc")
@pytest.mark.parametrize(
    ("sent", "early"), [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGKILL, False)]
)
def test_workers_end_with_the_program(sent: signal.Signals, early: bool) -> None:
    words = [sys.executable, str(SCRIPT), "Pendulum-v1", "--workers", "2", "--episodes", "4"]
    begun = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background
    )
    assert begun.stdout is not None
    try:
        if early:  # the workers are there, and know nothing yet
            assert waited(lambda: len(children(begun.pid)) >= min(2, os.cpu_count() or 1) + 1)
        else:
            assert begun.stdout.readline().startswith("Pendulum-v1: ")
            time.sleep(2)  # by now it searches, or nearly so: what it says depends on that
        workers = children(begun.pid)
        if sent == signal.SIGINT:
            os.killpg(begun.pid, sent)  # as a terminal does
        else:
            begun.kill()
        _, err = begun.communicate(timeout=100)
        if sent == signal.SIGINT:
            assert begun.returncode == 130
            assert "stopped by Ctrl-C" in err
            assert len(err.splitlines()) == 1
        assert waited(lambda: not any(map(running, workers)))
    finally:
        if begun.poll() is None:
            os.killpg(begun.pid, signal.SIGKILL)
            begun.communicate()
