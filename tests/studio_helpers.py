"""What the tests of the studio share: a studio that is served by a thread, and a client of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from symseek.files.schema import read
from symseek.studio.app import Studio
from symseek.studio.question import Question
from symseek.studio.server import Server

PATIENCE = 60.0  # seconds in which whatever is waited for happens on any machine
EXAMPLES = Path(__file__).parent.parent / "examples"

# A table that no search comes to an end with by itself; no report, which takes a while.
NOISY = {"table": "data.csv", "target": "y"}


def questioned(body: Any) -> Question:
    """What the page asks, of what it sends."""
    return read(body, Question, "the question")


class Served:
    """A studio that is being served."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.studio = server.studio
        self.folder = server.studio.workspace.folder
        self.origin = f"http://127.0.0.1:{server.port}"
        headers = {"Origin": self.origin}
        self.client = httpx.Client(base_url=server.address, headers=headers, timeout=PATIENCE)

    def get(self, path: str) -> Any:
        """What an address answers, which must not be a refusal."""
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None) -> Any:
        """The same for something that is to be done."""
        content = {"content": body} if isinstance(body, bytes) else {"json": body or {}}
        answer = self.client.post(path, **content)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, path: str, body: Any = None, method: str = "POST") -> tuple[int, str]:
        """The status and the one sentence of a refusal."""
        content = {"content": body} if isinstance(body, bytes) else {"json": body or {}}
        answer = self.client.request(method, path, **(content if method == "POST" else {}))
        assert answer.status_code >= 400, answer.text
        assert set(answer.json()) == {"error"}
        return answer.status_code, answer.json()["error"]

    def start(self, **settings: Any) -> str:
        """Start a search on the noisy table."""
        return str(self.post("api/runs", {**NOISY, "settings": settings})["run"])

    def until(self, run: str, *statuses: str) -> dict[str, Any]:
        """The snapshot of a run as soon as it stands so."""
        return wait_for(lambda: self.get(f"api/runs/{run}"), lambda now: now["status"] in statuses)

    @contextmanager
    def events(self, run: str | None = None) -> Iterator[Iterator[tuple[str, Any]]]:
        """The events of a tab, as they come."""
        address = "api/events" if run is None else f"api/events?run={run}"
        with self.client.stream("GET", address) as stream:
            assert stream.status_code == 200
            yield parsed(stream.iter_lines())


def parsed(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """The events in the lines of a stream."""
    kind = ""
    for line in lines:
        if line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            yield kind, json.loads(line[6:])


def wait_for(look: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    """What is seen as soon as it is as it should be."""
    end = time.monotonic() + PATIENCE
    while not good(seen := look()):
        assert time.monotonic() < end, f"this is as far as it came: {str(seen)[:2000]}"
        time.sleep(0.02)
    return seen


@contextmanager
def serving(folder: Path, **opened: Any) -> Iterator[Served]:
    """Serve a folder; its searches are paused in the end."""
    server = Server(Studio(folder, **opened))
    thread = threading.Thread(target=server.run)
    thread.start()
    served = Served(server)
    try:
        wait_for(lambda: server.server.started, bool)
        yield served
    finally:
        served.client.close()
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        server.end_searches(lambda sentence: None)


def error_of(action: Callable[[], object], kind: type[Exception]) -> str:
    """What is complained of."""
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)
