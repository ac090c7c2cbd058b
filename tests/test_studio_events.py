"""The events of the studio: told to every tab, made once, and never heaped up."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from run_helpers import write_table
from studio_helpers import Served, error_of, serving, wait_for
from symseek.errors import InputError
from symseek.studio import events as module
from symseek.studio.app import Studio
from symseek.studio.caches import FileCache
from symseek.studio.events import Tab

PROGRESS: dict[str, Any] = {
    "state": "searching",
    "expressions": 1,
    "seconds": 1.0,
    "seeds": [],
    "course": [[0.0, 1.0]],
}


def pretend(folder: Path, expressions: int) -> None:
    """Write what a search would."""
    record = {**PROGRESS, "expressions": expressions}
    (folder / "run" / "progress.json").write_text(json.dumps(record))


@pytest.fixture
def served(here: Path, folder: Path) -> Any:
    with serving(here) as studio:
        yield studio


def test_a_tab_begins_with_what_there_is(served: Served) -> None:
    with served.events("run") as events:
        first = dict(islice(events, 3))
    assert set(first) == {"runs", "front", "progress"}
    assert first["front"] == served.get("api/runs/run")
    assert [each["run"] for each in first["runs"]] == ["run"]
    assert first["progress"]["run"] == "run"
    with served.events() as events:
        assert next(events)[0] == "runs"


def test_two_tabs_are_told_the_same(served: Served) -> None:
    with served.events("run") as one, served.events("run") as other:
        for tab in (one, other):
            assert dict(islice(tab, 3))["progress"]["state"] == "ended"
        pretend(served.folder, 7)
        told = []
        for tab in (one, other):
            told.append(next(data for kind, data in tab if kind == "progress"))
    assert told[0] == told[1]
    assert told[0]["expressions"] == 7


def test_what_is_told_is_made_once_for_all_tabs(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = module.encoded
    with served.events("run") as one, served.events("run") as other, served.events("run") as third:
        tabs = (one, other, third)
        for tab in tabs:
            list(islice(tab, 3))
        monkeypatch.setattr(module, "encoded", lambda value: made.append("x") or real(value))
        pretend(served.folder, 9)
        for tab in tabs:
            next(data for kind, data in tab if kind == "progress")
        # One of progress; of the front, since the run now looks dead; of the list of runs.
        assert len(made) <= 3


def test_a_slow_tab_misses_progress_and_keeps_nothing() -> None:
    async def drawn() -> dict[str, bytes]:
        tab = Tab("run")
        for number in range(1000):
            tab.put("progress", b"%d" % number)
            tab.put("front", b"front")
        return tab.waiting

    assert asyncio.run(drawn()) == {"progress": b"999", "front": b"front"}


def test_there_is_an_end_to_tabs(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TABS", 1)
    with served.events() as events:
        next(events)
        assert served.refused("api/events", method="GET") == (
            503, "too many tabs watch; close some",
        )  # fmt: skip
    wait_for(lambda: served.studio.events.tabs, lambda tabs: tabs == 0)  # closing it is noticed
    with served.events() as events:
        next(events)


def test_a_silent_stream_is_kept_open(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_OPEN", 0.05)
    with served.client.stream("GET", "api/events") as stream:
        assert any(line == ": still here" for line in stream.iter_lines())


def test_a_look_that_fails_is_not_the_last(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with served.events("run") as events:
        list(islice(events, 3))
        with monkeypatch.context() as broken:
            broken.setattr(served.studio.runs, "key", lambda run: 1 / 0)
            wait_for(lambda: caplog.records, bool)
        pretend(served.folder, 11)
        assert next(data for kind, data in events if kind == "progress")["expressions"] == 11


def test_a_run_that_is_removed_is_gone_from_the_list(served: Served) -> None:
    with served.events("run") as events:
        list(islice(events, 3))
        (served.folder / "run" / "settings.json").unlink()
        assert next(data for kind, data in events if kind == "runs") == []


def test_nothing_is_looked_at_while_nobody_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(tmp_path / "data.csv")
    looked: list[float] = []
    real = module.Events._look
    monkeypatch.setattr(
        module.Events, "_look", lambda *words: looked.append(time.monotonic()) or real(*words)
    )
    with serving(tmp_path) as studio:
        studio.get("api/state")
        time.sleep(3 * module.EVERY)
        assert looked == []


def test_a_file_is_read_once_by_however_many_threads(tmp_path: Path) -> None:
    path, read = tmp_path / "a", []
    path.write_text("one")

    def slow(path: Path) -> str:
        read.append(path)
        time.sleep(0.05)
        return path.read_text()

    cache, found = FileCache(slow, most=1), []
    threads = [threading.Thread(target=lambda: found.append(cache(path))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found, len(read)) == (["one"] * 20, 1)
    (tmp_path / "b").write_text("two")
    assert [cache(tmp_path / "b"), cache(path)] == ["two", "one"]
    assert len(read) == 3  # there was room for one


def test_a_studio_is_made_without_reading_anything(tmp_path: Path) -> None:
    assert Studio(tmp_path).events.tabs == 0


def test_tabs_that_come_all_at_once_are_counted_too(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_TABS", 3)
    path = f"/{served.server.token}/api/events"
    asked = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\n\r\n".encode()
    with ExitStack() as stack:
        address = ("127.0.0.1", served.server.port)
        tabs = [stack.enter_context(socket.create_connection(address, 60)) for _ in range(20)]
        for tab in tabs:
            tab.sendall(asked)
        statuses = Counter(tab.recv(12)[9:] for tab in tabs)
    assert statuses == {b"200": 3, b"503": 17}
    wait_for(lambda: served.studio.events.tabs, lambda tabs: tabs == 0)


def test_what_cannot_be_read_is_not_read_again_until_it_changes(tmp_path: Path) -> None:
    path, read = tmp_path / "a", list[str]()
    path.write_text("bad")

    def refuse(path: Path) -> str:
        read.append(path.read_text())
        if read[-1] == "bad":
            raise InputError("this is bad")
        return read[-1]

    cache = FileCache(refuse, most=1)
    for _ in range(3):
        assert error_of(lambda: cache(path), InputError) == "this is bad"
    assert read == ["bad"]
    path.write_text("better")
    assert (cache(path), read) == ("better", ["bad", "better"])
