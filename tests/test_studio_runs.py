"""Searches in the studio: started, paused, continued with, stopped, killed, and from a terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from studio_helpers import EXAMPLES, Served, serving, wait_for
from symseek.runs.lock import LOCK, Holder, holder
from symseek.search import Search
from symseek.studio.question import Considered, Question, consider

LONG: dict[str, Any] = {"max_expressions": 10_000_000, "max_seconds": None, "patience": None}
COUNTED = {**LONG, "max_expressions": 30_000}


def front_of(served: Served, run: str) -> Any:
    return json.loads((served.folder / run / "front.json").read_bytes())


def test_the_whole_way_from_a_table_to_its_exports(tmp_path: Path) -> None:
    with serving(tmp_path) as studio:
        preview = studio.post(
            "api/tables?name=planets.csv", (EXAMPLES / "planets.csv").read_bytes()
        )
        assert [each["kind"] for each in preview["columns"]] == ["text", "number", "number"]
        target, features = preview["suggested_target"], ["distance"]
        question = {"table": preview["name"], "target": target, "features": features}
        question["settings"] = {"max_expressions": 3000, "seed": 1}
        considered = studio.post("api/question", question)
        assert (considered["problems"], considered["rows"]) == ([], 8)
        run = studio.post("api/runs", question)["run"]
        assert run == "planets-run-1"
        with studio.events(run) as events:
            kinds = set()
            for kind, data in events:
                kinds.add(kind)
                if kind == "front" and data["status"] == "finished":
                    break
        assert kinds == {"runs", "front", "progress"}
        assert data["command"] == considered["command"]
        assert data["formulas"][data["picked"]]["text"] == "0.197577*distance**(3/2)"
        assert data["formulas"][data["picked"]]["mathml"].startswith("<math")
        assert (data["table"], data["target"], data["features"]) == (
            "planets.csv",
            "year",
            features,
        )
        assert data["why"] == "the budget of expressions is spent"
        assert (data["can_resume"], data["report"], data["error"]) == (True, True, None)
        assert data["progress"]["state"] == "ended"
        assert data["discoveries"][-1]["mathml"].startswith("<math")
        exports = studio.get(f"api/runs/{run}/exports?row={data['picked']}")["targets"]
        assert r"\mathrm{distance}" in exports[0]["text"]
        answer = studio.client.get(f"api/runs/{run}/report")
        assert "script" not in answer.headers["content-security-policy"]
        assert answer.text.startswith("<!DOCTYPE html>")
        line = studio.get("api/state")["runs"][0]
        assert (line["run"], line["status"], line["best"]) == (
            run, "finished", "0.197577*distance**(3/2)",
        )  # fmt: skip


@pytest.mark.slow
def test_a_run_that_was_paused_ends_as_one_that_was_not(studio: Served) -> None:
    one, other = studio.start(**COUNTED), studio.start(**COUNTED)
    assert {one, other} == {"data-run-1", "data-run-2"}
    wait_for(lambda: studio.get(f"api/runs/{one}")["formulas"], bool)
    studio.post(f"api/runs/{one}/pause")
    studio.post(f"api/runs/{one}/pause")  # a second time does no harm
    paused = studio.until(one, "paused")
    assert 0 < paused["progress"]["expressions"] < 30_000
    assert paused["can_resume"]
    assert paused["why"] == "interrupted; the best so far is kept"
    assert studio.post(f"api/runs/{one}/resume") == {"ok": True}
    assert studio.refused(f"api/runs/{one}/resume")[0] == 409
    for run in (one, other):
        assert studio.until(run, "finished", "died")["status"] == "finished"
    assert front_of(studio, one) == front_of(studio, other)


def test_a_search_is_stopped_and_goes_on_with_a_larger_budget(studio: Served) -> None:
    run = studio.start(**LONG)
    assert studio.post(f"api/runs/{run}/stop") == {"ok": True}  # before it has begun
    stopped = studio.until(run, "stopped")
    assert stopped["can_resume"]
    assert studio.refused(f"api/runs/{run}/stop")[0] == 409
    other = studio.refused(f"api/runs/{run}/resume", {"settings": {"max_length": 2}})[1]
    assert other.startswith("unknown setting to continue with 'max_length'")
    sentence = studio.refused(f"api/runs/{run}/resume", {"settings": {"max_expressions": 1}})[1]
    assert sentence == "--max-expressions is 1; it must be a whole number of 2 or more, or none"
    studio.post(f"api/runs/{run}/resume", {"settings": {"max_expressions": 2_000}})
    finished = studio.until(run, "finished", "died")
    assert finished["settings"]["max_expressions"] == 2_000
    assert finished["formulas"]
    studio.post(f"api/runs/{run}/resume", {})
    again = wait_for(lambda: studio.get(f"api/runs/{run}"), lambda now: now["error"] is not None)
    assert again["status"] == "finished"
    assert again["error"].startswith(f"the run '{run}' is finished: the budget")
    assert "give a larger --max-expressions, or none, to continue" in again["error"]


@pytest.mark.slow
def test_a_search_that_is_killed_is_said_to_be_dead_and_goes_on(studio: Served) -> None:
    run = studio.start(**LONG)
    wait_for(lambda: studio.get(f"api/runs/{run}")["formulas"], bool)
    process = studio.studio.searches.own(run)
    assert process is not None
    os.kill(process.process.pid, signal.SIGKILL)
    dead = studio.until(run, "died")
    assert (studio.folder / run / LOCK).exists()  # which it could not remove
    assert dead["error"] == (
        "the process of the search was killed, perhaps since the memory was full"
    )
    assert dead["can_resume"]
    assert dead["formulas"]
    studio.post(f"api/runs/{run}/resume")
    assert studio.until(run, "searching")["error"] is None
    wait_for(lambda: studio.get(f"api/runs/{run}")["progress"], bool)  # it has begun
    studio.post(f"api/runs/{run}/pause")
    assert studio.until(run, "paused")["progress"]["expressions"] > 0


def terminal(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """A command of someone else."""
    command = [sys.executable, "-m", "symseek", *words]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.PIPE)


@pytest.mark.slow
def test_a_fit_in_a_terminal_is_seen_and_paused(studio: Served) -> None:
    words = ("--max-expressions", "10000000", "--max-seconds", "none", "--patience", "none")
    fit = terminal(studio.folder, "fit", "data.csv", "--target", "y", "--out", "mine", *words)
    with fit:
        with studio.events() as events:
            seen = next(
                line
                for kind, lines in events
                for line in lines
                if kind == "runs" and line["run"] == "mine" and line["status"] == "searching"
            )
        assert seen["table"] == "data.csv"
        now = studio.get("api/runs/mine")
        assert (now["elsewhere"], now["status"]) == (True, "searching")
        assert studio.refused("api/runs/mine/pick", {"row": 0})[0] == 409
        studio.post("api/runs/mine/pause")
        studio.post("api/runs/mine/stop")  # it is asked once
        assert fit.wait(60) == 130
    assert studio.until("mine", "paused")["elsewhere"] is False


def test_a_studio_that_ends_leaves_its_searches_paused(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "data.csv").write_text("x,y\n" + "".join(f"{i},{i * i % 7}\n" for i in range(20)))
    with serving(tmp_path) as studio:
        run = studio.start(**LONG)
        studio.until(run, "searching")
        studio.server.end_searches(said.append)
    path = studio.folder / run
    assert said == [
        f"pausing {run}; what was found is kept",
        f"{run} is paused; continue: symseek resume {path}",
    ]
    assert holder(path) is None
    with serving(tmp_path) as later:
        assert later.get(f"api/runs/{run}")["status"] == "paused"


def test_only_the_process_of_a_search_makes_one(
    studio: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's question is considered once, without a search, and its request is a file."""
    asked: list[Question] = []

    def noted(question: Question, *about: Any) -> Considered:
        asked.append(question)
        return consider(question, *about)

    def made(search: Search, *about: Any, **more: Any) -> None:
        raise AssertionError("a search in the server")

    monkeypatch.setattr("symseek.studio.app.consider", noted)
    monkeypatch.setattr(Search, "__init__", made)
    settings = {"max_expressions": 2_000, "guesses": ["2*a"], "threads": 1}
    question = {"table": "data.csv", "target": "y", "settings": settings}
    for _ in range(2):
        assert studio.post("api/question", question)["problems"] == []
    run = studio.post("api/runs", question)["run"]
    assert len(asked) == 1
    written = json.loads((studio.folder / run / "settings.json").read_text())
    assert written["settings"]["guesses"] == ["2*a"]
    assert written["left_out"] == {}
    assert studio.until(run, "finished", "died")["status"] == "finished"


def test_a_search_that_cannot_begin_says_why(
    studio: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    run = studio.start()
    died = studio.until(run, "died")
    assert died["error"] == "the process of the search ended with 1"
    assert (died["can_resume"], died["formulas"], died["table"]) == (True, [], "data.csv")
    monkeypatch.undo()
    studio.post(f"api/runs/{run}/resume", {"settings": {"max_expressions": 2_000}})
    assert studio.until(run, "finished")["formulas"]


@pytest.mark.parametrize("pid", [-1, 0, 1])
def test_only_a_search_is_sent_a_signal(
    studio: Served, monkeypatch: pytest.MonkeyPatch, pid: int
) -> None:
    """Minus one would mean every process."""
    sent: list[int] = []
    monkeypatch.setattr("os.kill", lambda pid, sign: sent.append(pid))
    (studio.folder / "odd-run-1").mkdir()
    (studio.folder / "odd-run-1" / LOCK).touch()
    here = os.uname().nodename
    monkeypatch.setattr("symseek.studio.searches.holder", lambda path: Holder(pid, here, "now"))
    assert studio.refused("api/runs/odd-run-1/pause")[0] == 409
    assert sent == []
