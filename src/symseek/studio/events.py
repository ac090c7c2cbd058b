"""What moves, sent to every tab: one look at the files ten times a second, however many watch.

Each event is encoded once. A tab holds the newest event of each kind only, so that one that is slow
to read misses some progress and costs nothing more.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from functools import partial
from typing import Any

import anyio
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from symseek.studio.answers import Refused, encoded
from symseek.studio.searches import SearchProcesses
from symseek.studio.snapshot import RunViews
from symseek.studio.threads import limited

EVERY = 0.1  # seconds between two looks
RUNS_EVERY = 1.0  # seconds between two looks at the list of runs
KEEP_OPEN = 15.0  # seconds after which a silent stream says that it is there
MOST_TABS = 100

_log = logging.getLogger(__name__)

Message = tuple[str | None, str, bytes]  # the run (None: for all), the kind, what to send


class Tab:
    """One stream: the newest event of each kind that it has not sent yet."""

    def __init__(self, run: str | None) -> None:
        self.run = run
        self.waiting: dict[str, bytes] = {}
        self.wake = asyncio.Event()

    def put(self, kind: str, data: bytes) -> None:
        """Take an event; an older one of the kind is forgotten."""
        self.waiting[kind] = data
        self.wake.set()


class Events:
    """The tabs, and the task that tells them what has changed."""

    def __init__(self, runs: RunViews, searches: SearchProcesses) -> None:
        self.runs = runs
        self.searches = searches
        self._tabs: set[Tab] = set()
        self._closed = False
        self._thread = anyio.CapacityLimiter(1)
        self._sent: dict[tuple[str | None, str], tuple[Any, bytes]] = {}  # by run and kind
        self._runs_due = 0.0

    @property
    def tabs(self) -> int:
        return len(self._tabs)

    def open(self, run: str | None) -> Tab:
        """A place for one more tab, which counts from now on and until it is left."""
        if len(self._tabs) >= MOST_TABS:
            raise Refused(503, "too many tabs watch; close some")
        tab = Tab(run)
        self._tabs.add(tab)
        return tab

    def leave(self, tab: Tab) -> None:
        self._tabs.discard(tab)

    async def stream(self, tab: Tab) -> AsyncIterator[bytes]:
        """The events for one tab, from what there is now on."""
        for kind, data in await self._beginning(tab.run):
            tab.waiting.setdefault(kind, data)
        yield b": symseek studio\n\n"
        while not self._closed:
            tab.wake.clear()
            waiting, tab.waiting = tab.waiting, {}
            if waiting:
                yield b"".join(waiting.values())
            if not tab.waiting and not self._closed:
                try:
                    await asyncio.wait_for(tab.wake.wait(), KEEP_OPEN)
                except asyncio.TimeoutError:
                    yield b": still here\n\n"

    def close(self) -> None:
        """End every stream, at the next look."""
        self._closed = True

    async def watch(self) -> None:
        """Look for what has changed, and tell the tabs, for as long as the server runs."""
        due = time.monotonic()
        while not self._closed:
            due = max(due + EVERY, time.monotonic())  # a look takes some of the time
            await asyncio.sleep(due - time.monotonic())
            if self._tabs:
                await self._tell()
            elif self.searches.busy:
                self.searches.tick()  # nobody watches, but a search may wait to be asked to end
        for tab in self._tabs:
            tab.wake.set()

    async def _tell(self) -> None:
        try:
            watched = {tab.run for tab in self._tabs if tab.run is not None}
            messages = await limited(self._thread, self._look, watched)
        except Exception:  # one look that fails must not be the last
            _log.exception("the runs could not be looked at")
            return
        for run, kind, data in messages:
            for tab in self._tabs:
                if run is None or tab.run == run:
                    tab.put(kind, data)

    async def _beginning(self, run: str | None) -> list[tuple[str, bytes]]:
        """What a new tab has to know."""

        def look() -> list[tuple[str, bytes]]:
            self._look({run} if run is not None else set(), all_runs=True)
            kinds = ((None, "runs"), (run, "front"), (run, "progress"))
            return [(key[1], self._sent[key][1]) for key in kinds if key in self._sent]

        return await limited(self._thread, look)

    def _look(self, watched: set[str], all_runs: bool = False) -> list[Message]:
        """What has changed since the last look."""
        self.searches.tick()
        found: list[Message] = []
        if all_runs or time.monotonic() >= self._runs_due:
            self._runs_due = time.monotonic() + RUNS_EVERY
            lines = self.runs.lines()
            found += self._changed(None, "runs", lines, lambda: lines)
            self._forget({each["run"] for each in lines})
        for run in watched:
            try:
                key, now = self.runs.key(run), self.runs.progress_stamp(run)
                found += self._changed(run, "front", key, lambda run=run: self.runs.snapshot(run))
                found += self._changed(run, "progress", now, lambda run=run: self._progress(run))
            except Refused:  # the run is gone
                continue
        return found

    def _progress(self, run: str) -> dict[str, Any] | None:
        progress = self.runs.progress(run)
        return None if progress is None else {"run": run, **asdict(progress)}

    def _changed(self, run: str | None, kind: str, key: Any, content: Any) -> list[Message]:
        """The event, if its key is not that of the last one."""
        known = self._sent.get((run, kind))
        if known is not None and known[0] == key:
            return []
        value = content()
        if value is None:
            return []
        data = b"event: " + kind.encode() + b"\ndata: " + encoded(value) + b"\n\n"
        self._sent[run, kind] = key, data
        return [(run, kind, data)]

    def _forget(self, there: set[str]) -> None:
        """Keep nothing of runs that nobody watches or that are gone."""
        watched = {tab.run for tab in list(self._tabs)}
        for key in list(self._sent):
            if key[0] is not None and (key[0] not in there or key[0] not in watched):
                del self._sent[key]


class EventStream(StreamingResponse):
    """The stream of one tab as an answer; however it ends, the tab is left.

    A tab that is closed at once may end it before the first event is asked for.
    """

    def __init__(self, events: Events, run: str | None) -> None:
        self._leave = partial(events.leave, tab := events.open(run))
        super().__init__(events.stream(tab), media_type="text/event-stream")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events for as long as the tab is there."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()
