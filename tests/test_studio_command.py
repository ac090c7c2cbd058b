"""The command `symseek studio`: its address, its folder, and its end."""

from __future__ import annotations

import ast
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from run_helpers import Capture, answer, write_table
from studio_helpers import PATIENCE, wait_for


@contextmanager
def command(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """The command in a process of its own, and a client of it."""
    line = [sys.executable, "-m", "symseek", "studio", "--no-browser", *words]
    process = subprocess.Popen(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.fullmatch(
            r"symseek studio: (http://127\.0\.0\.1:\d+/[\w-]{32}/)"
            r"  \(Ctrl-C ends it; searches are paused and kept\)\n",
            said,
        )
        assert found, said
        origin = found[1][: found[1].rindex(":") + 6].split("/")[2]
        headers = {"Origin": f"http://{origin}"}
        with httpx.Client(base_url=found[1], headers=headers, timeout=PATIENCE) as client:
            yield process, client
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_its_end_pauses_the_searches(tmp_path: Path, sign: signal.Signals) -> None:
    write_table(tmp_path / "data.csv")
    settings = {"max_seconds": None, "max_expressions": 10**7, "patience": None}
    with command(tmp_path, "data.csv") as (process, client):
        state = client.get("api/state").json()
        assert state["open"] == {"table": "data.csv", "run": None}
        question = {"table": "data.csv", "target": "y", "settings": settings}
        run = client.post("api/runs", json=question).json()["run"]
        wait_for(
            lambda: client.get(f"api/runs/{run}").json(), lambda now: now["status"] == "searching"
        )
        with client.stream("GET", "api/events") as stream:  # an open tab is not waited for
            assert stream.status_code == 200
            process.send_signal(sign)
            out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "")
    assert err.splitlines() == [
        f"symseek: pausing {run}; what was found is kept",
        f"symseek: {run} is paused; continue: symseek resume {tmp_path / run}",
    ]
    assert (tmp_path / run / "front.json").exists()
    assert not (tmp_path / run / "lock").exists()


@pytest.mark.slow
def test_a_server_that_is_killed_leaves_its_search_going(tmp_path: Path) -> None:
    write_table(tmp_path / "data.csv")
    settings = {"max_seconds": None, "max_expressions": 10**7, "patience": None}
    with command(tmp_path) as (process, client):
        question = {"table": "data.csv", "target": "y", "settings": settings}
        run = client.post("api/runs", json=question).json()["run"]
        wait_for(
            lambda: client.get(f"api/runs/{run}").json(), lambda now: now["status"] == "searching"
        )
        process.kill()
        process.wait()
    with command(tmp_path, run) as (_, client):
        now = client.get(f"api/runs/{run}").json()
        assert (now["status"], now["elsewhere"]) == ("searching", True)
        assert client.post(f"api/runs/{run}/pause").json() == {"ok": True}
        wait_for(
            lambda: client.get(f"api/runs/{run}").json(), lambda now: now["status"] == "paused"
        )


def test_a_port_that_is_taken_is_said_to_be_so(here: Path, capsys: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = answer(capsys, "studio", "--no-browser", "--port", port)
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        f"symseek: port {port} is in use; give another with --port, or none for a free one\n"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.csv"], "there is no file or run 'nowhere.csv'; check the path"),
        (["--folder", "nowhere"], "there is no folder 'nowhere'; check the path"),
        (["empty"], "'empty' is not a run folder; to work in it, give it as --folder"),
        (["data.csv", "--folder", "empty"], "'data.csv' is not in that --folder; leave out one"),
        (["--port", "99999"], "port 99999 cannot be used: bind(): port must be 0-65535."),
    ],
)
def test_what_it_cannot_open_is_said_in_a_sentence(
    here: Path, capsys: Capture, words: list[str], sentence: str
) -> None:
    os.mkdir("empty")
    said = answer(capsys, "studio", "--no-browser", *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"symseek: {sentence}")
    assert said.err.count("\n") == 1


def test_without_the_extra_it_says_what_to_install(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("symseek.studio.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    monkeypatch.setitem(sys.modules, "starlette", None)
    said = answer(capsys, "studio", "--no-browser")
    assert (said.code, said.out) == (2, "")
    assert said.err == ("symseek: the studio needs starlette; run: pip install 'symseek[studio]'\n")


BROWSER = """\
#!{python}
import os, re, sys, time, urllib.request
from pathlib import Path

page = Path(sys.argv[1].removeprefix("file://"))
modes = [oct(each.stat().st_mode & 0o777) for each in (page, page.parent)]
address = re.search(r'href="([^"]+)"', page.read_text())[1]
answer = urllib.request.urlopen(address).status
everyone = [
    each.read_bytes()
    for each in Path("/proc").glob("[0-9]*/cmdline")
    if each.parent.name != str(os.getpid())
]
token = address.split("/")[3].encode()
listed = sum(token in each for each in everyone) + (token in " ".join(sys.argv).encode())
Path({out!r}).write_text(repr((sys.argv[1:], modes, answer, listed)))
"""


def test_the_token_stands_in_no_list_of_processes(tmp_path: Path) -> None:
    browser, out = tmp_path / "browser", tmp_path / "out"
    browser.write_text(BROWSER.format(python=sys.executable, out=str(out)))
    browser.chmod(0o700)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    line = [sys.executable, "-m", "symseek", "studio"]
    environment = {**os.environ, "BROWSER": f"{browser} %s", "TMPDIR": str(temporary)}
    with subprocess.Popen(
        line, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[2]
        said = wait_for(lambda: out.exists() and out.read_text(), bool)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    arguments, modes, status, listed = ast.literal_eval(said)
    assert len(arguments) == 1
    assert arguments[0].startswith(f"file://{temporary}/symseek-studio-")
    assert address.split("/")[3] not in arguments[0]
    assert (modes, status, listed) == (["0o600", "0o700"], 200, 0)
    assert os.listdir(temporary) == []  # the page goes with the studio


SLOW = """
import sys, time
from symseek.studio.app import Studio
from symseek.command import main

def compute(self, asked):  # a computation of a minute, which nothing can interrupt
    print("computing", file=sys.stderr, flush=True)
    time.sleep(60)

Studio.state = compute
sys.exit(main(["studio", "--no-browser"]))
"""


@pytest.mark.slow
def test_its_end_does_not_wait_for_what_is_computed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLOW],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            address = process.stdout.readline().split()[2]
            asking = threading.Thread(target=_ask, args=(f"{address}api/state",))
            asking.start()
            assert process.stderr.readline() == "computing\n"
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0
            assert time.monotonic() - began < 10  # a second, and what a busy machine adds
            assert process.stderr.read() == ""
            asking.join()
        finally:
            process.kill()


def _ask(address: str) -> None:
    with suppress(httpx.HTTPError):
        httpx.get(address, timeout=PATIENCE)
