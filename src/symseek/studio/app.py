"""The routes of the studio: what the page asks for, and who answers it.

Whatever reads a file or computes does so in a thread, so that the events go on meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from symseek.cli.settings import option_words
from symseek.errors import OUT_OF_MEMORY, InputError, described, shown, unknown_name
from symseek.files import limits
from symseek.files.regular import read_regular
from symseek.files.schema import Within, parse_json, read
from symseek.files.source import TableSource
from symseek.files.tables import open_table
from symseek.runs.folder import RunFolder, new_folder
from symseek.settings import PARAMETERS, cores
from symseek.studio.answers import Answer, Refused
from symseek.studio.caches import FileCache
from symseek.studio.desktop import show_folder
from symseek.studio.events import Events, EventStream
from symseek.studio.formulas import RunFormulas
from symseek.studio.guard import MOST_JSON, MOST_TABLE, REPORT_POLICY, Guard, read_body
from symseek.studio.options import options
from symseek.studio.preview import preview, unreadable
from symseek.studio.question import Considered, Question, consider, read_settings
from symseek.studio.searches import Asked, SearchProcesses
from symseek.studio.snapshot import RunViews
from symseek.studio.threads import in_thread
from symseek.studio.wording import worded
from symseek.studio.workspace import Workspace
from symseek.version import __version__

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


class Studio:
    """The studio of one folder; `table` and `run` are what it was opened with."""

    def __init__(
        self,
        folder: Path,
        table: str | None = None,
        run: str | None = None,
        max_table_size: int = limits.MOST_TABLE,
    ) -> None:
        self.max_table_size = max_table_size  # of whatever is read here, or by a search
        self.workspace = Workspace(folder, () if run is None else (run,))
        self.opened = {"table": table, "run": run}
        self.searches = SearchProcesses(self.workspace.folder)
        self.runs = RunViews(self.workspace, self.searches)
        self.events = Events(self.runs, self.searches)
        self.tables: FileCache[TableSource] = FileCache(self._read_table, most=4)
        self.formulas = RunFormulas(self.runs, self.tables, max_table_size)
        self.considered: FileCache[Considered] = FileCache(self._consider_anew, most=20)
        self.previews: FileCache[dict[str, Any]] = FileCache(self._read_preview, most=50)

    def app(self, token: str, port: int) -> Guard:
        """The whole server, behind its guard."""
        star = Starlette(
            routes=self._routes(),
            exception_handlers={
                InputError: self._refuse,
                Refused: self._refuse,
                HTTPException: self._refuse,
                OSError: self._fail,
                MemoryError: self._out_of_memory,
                ClientDisconnect: self._gone,
            },
            lifespan=self._lifespan,
        )
        return Guard(star, token, port)

    def _routes(self) -> list[Route]:
        run = "/api/runs/{run}"
        return [
            Route("/api/state", self._in_thread(self.state)),
            Route("/api/options", self._in_thread(options)),
            Route("/api/tables", self.add_table, methods=["POST"]),
            Route("/api/tables/{name}", self.table),
            Route("/api/question", self.question, methods=["POST"]),
            Route("/api/runs", self.start, methods=["POST"]),
            Route(run, self.snapshot),
            Route(f"{run}/pause", self.pause, methods=["POST"]),
            Route(f"{run}/stop", self.stop, methods=["POST"]),
            Route(f"{run}/resume", self.resume, methods=["POST"]),
            Route(f"{run}/pick", self.pick, methods=["POST"]),
            Route(f"{run}/fit", self.fit),
            Route(f"{run}/exports", self.exports),
            Route(f"{run}/tree", self.tree),
            Route(f"{run}/predict", self.predict, methods=["POST"]),
            Route(f"{run}/report", self.report),
            Route(f"{run}/open-folder", self.open_folder, methods=["POST"]),
            Route("/api/files/{name}", self.file),
            Route("/api/events", self.stream),
            Route("/", self.page),
            Route("/{path:path}", self.page),
        ]

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(self.events.watch())
        try:
            yield
        finally:
            self.events.close()
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    # --- errors

    async def _refuse(self, request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            what = {404: "there is nothing at this address", 405: "this is not done that way"}
            sentence = what.get(error.status_code, str(error.detail))
            return Answer({"error": sentence}, error.status_code)
        status = error.status if isinstance(error, Refused) else 400
        # Of what is too large, the rest is not waited for.
        headers = {"Connection": "close"} if status == 413 else None
        return Answer({"error": worded(error, self.workspace.folder)}, status, headers)

    async def _fail(self, request: Request, error: Exception) -> Response:
        """Something on this machine, such as a full disk."""
        assert isinstance(error, OSError)
        return Answer({"error": worded(described(error), self.workspace.folder)}, 500)

    async def _out_of_memory(self, request: Request, error: Exception) -> Response:
        """A table that is too large for this machine; the server itself is as it was."""
        return Answer({"error": worded(OUT_OF_MEMORY, self.workspace.folder)}, 507)

    async def _gone(self, request: Request, error: Exception) -> Response:
        """A tab that was closed while it sent something; nobody reads the answer."""
        return Response(status_code=400)

    @staticmethod
    def _in_thread(function: Callable[[], Any]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            return Answer(await in_thread(function))

        return answer

    # --- what is here

    def state(self) -> dict[str, Any]:
        """The folder, its tables and its runs."""
        return {
            "folder": str(self.workspace.folder),
            "version": __version__,
            "cores": cores(),
            "runs": self.runs.lines(),
            "tables": self.workspace.tables(),
            "open": self.opened,
        }

    async def page(self, request: Request) -> Response:
        """A file of the page itself."""
        path = request.path_params.get("path", "index.html")
        content = await in_thread(_page, path)
        if content is None:
            raise Refused(404, "there is nothing at this address")
        return Response(content, media_type=TYPES[os.path.splitext(path)[1]])

    # --- tables

    async def add_table(self, request: Request) -> Response:
        """Save a table that was dropped or pasted."""
        name = request.query_params.get("name", "")
        data = await read_body(request, MOST_TABLE, "the table")
        if not data.strip():
            raise InputError(f"{shown(name)} is empty; give a table with a line of column names")
        saved = await in_thread(self.workspace.save_table, name, data)
        return Answer(await in_thread(self._preview, saved, None))

    async def table(self, request: Request) -> Response:
        """A look at a table."""
        delimiter = request.query_params.get("delimiter") or None
        name = request.path_params["name"]
        return Answer(await in_thread(self._preview, name, delimiter))

    def _preview(self, name: str, delimiter: str | None) -> dict[str, Any]:
        return self.previews(self.workspace.table(name), delimiter)

    def _read_table(self, path: Path, delimiter: str | None = None) -> TableSource:
        return open_table(path, delimiter, self.max_table_size).whole()

    def _read_preview(self, path: Path, delimiter: str | None) -> dict[str, Any]:
        try:
            return preview(self.tables(path, delimiter), self.workspace.folder)
        except InputError as error:
            return unreadable(path.name, error, self.workspace.folder)

    # --- questions and searches

    async def question(self, request: Request) -> Response:
        """What there is to say to a question."""
        body = await _json(request)
        considered = await in_thread(self._consider, body)
        return Answer(considered.to_dict())

    def _consider(self, body: Any) -> Considered:
        """What there is to say; a question that is asked again, or started, has it already."""
        question: Question = read(body, Question, "the question")
        path = self.workspace.table(question.table)
        return self.considered(path, json.dumps(body, sort_keys=True))

    def _consider_anew(self, path: Path, text: str) -> Considered:
        question: Question = read(json.loads(text), Question, "the question")
        return consider(
            question, path, lambda: self.tables(path, question.delimiter), self.max_table_size
        )

    async def start(self, request: Request) -> Response:
        """Start a search."""
        body = await _json(request)
        return Answer({"run": await in_thread(self._start, body)})

    def _start(self, body: Any) -> str:
        considered = self._consider(body)
        if considered.problems:
            raise Refused(400, considered.problems[0]["sentence"])
        folder = new_folder(considered.request.data, self.workspace.folder)
        RunFolder.create(folder, considered.request).close()
        self.searches.start(folder.name, [*considered.aside, *self._limit()])
        return folder.name

    async def pause(self, request: Request) -> Response:
        """Ask a search to end its iteration and keep everything."""
        return await self._ask(request, "pause")

    async def stop(self, request: Request) -> Response:
        """The same, for good."""
        return await self._ask(request, "stop")

    async def _ask(self, request: Request, what: Asked) -> Response:
        await read_body(request, MOST_JSON, "the request")
        await in_thread(self._ask_search, request.path_params["run"], what)
        return Answer({"ok": True})

    def _ask_search(self, run: str, what: Asked) -> None:
        self.workspace.run(run)
        if self.runs.status(run).status == "telling":
            return  # it is ending by itself, and must not be disturbed
        self.searches.ask(run, what)

    async def resume(self, request: Request) -> Response:
        """Go on with a run, with other budgets if there are any."""
        body = await _json(request)
        await in_thread(self._resume, request.path_params["run"], body)
        return Answer({"ok": True})

    def _resume(self, run: str, body: Any) -> None:
        self.workspace.run(run)
        resumed: _Resumed = read(body, _Resumed, "the request")
        given = resumed.settings or {}
        known = [name for name, each in PARAMETERS.items() if each.while_paused]
        for name in given:
            if name not in known:
                raise unknown_name("setting to go on with", name, known)
        _, problems = read_settings(given, self.workspace.folder)
        if problems:
            raise Refused(400, problems[0]["sentence"])
        self.runs.readable(run)
        words = [word for name, value in given.items() for word in option_words(name, value)]
        self.searches.start(run, [*words, *self._limit()])

    def _limit(self) -> list[str]:
        """The limit of tables, for a search."""
        if self.max_table_size == limits.MOST_TABLE:
            return []
        return ["--max-table-size", str(self.max_table_size)]

    async def snapshot(self, request: Request) -> Response:
        """Everything about a run."""
        run = request.path_params["run"]
        return Answer(await in_thread(self.runs.snapshot, run))

    async def stream(self, request: Request) -> Response:
        """Events for a tab, and for the run that it watches."""
        run = request.query_params.get("run") or None
        if run is not None:
            await in_thread(self.workspace.run, run)
        return EventStream(self.events, run)

    # --- formulas

    async def pick(self, request: Request) -> Response:
        """Pick another formula."""
        picked: _Picked = read(await _json(request), _Picked, "the request")
        await in_thread(self.formulas.pick, request.path_params["run"], picked.row)
        return Answer({"ok": True})

    async def fit(self, request: Request) -> Response:
        """Formulas through the data."""
        run, rows = request.path_params["run"], _rows(request)
        return Answer(await in_thread(self.formulas.fit, run, rows))

    async def exports(self, request: Request) -> Response:
        """A formula in other languages."""
        run, row = request.path_params["run"], _row(request)
        return Answer(await in_thread(self.formulas.exports, run, row))

    async def tree(self, request: Request) -> Response:
        """A formula as a tree."""
        run, row = request.path_params["run"], _row(request)
        return Answer(await in_thread(self.formulas.tree, run, row))

    async def predict(self, request: Request) -> Response:
        """Predict for a file."""
        data = await read_body(request, MOST_TABLE, "the table")
        run, row, asked = request.path_params["run"], _row(request), request.query_params
        drop = asked.get("drop_missing", "") in ("1", "true")
        name = asked.get("name", "")
        return Answer(await in_thread(self.formulas.predict, run, row, name, data, drop))

    async def file(self, request: Request) -> Response:
        """A file of predictions, to be saved elsewhere."""
        name = request.path_params["name"]
        if name not in self.workspace.written:
            raise Refused(404, "there is no such file of predictions")
        content = await in_thread(self.workspace.table(name).read_bytes)
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    async def report(self, request: Request) -> Response:
        """The report of a run; whatever is in that file, no script in it runs."""
        path = self.workspace.file(request.path_params["run"], "report.html")
        try:
            content = await in_thread(read_regular, path, _MOST_REPORT)
        except FileNotFoundError:
            raise Refused(404, "this run has no report yet") from None
        except OSError as error:
            raise Refused(403, f"the report cannot be read: {error.strerror}") from None
        headers = {"Content-Security-Policy": REPORT_POLICY}
        return Response(content, media_type="text/html; charset=utf-8", headers=headers)

    async def open_folder(self, request: Request) -> Response:
        """Show the folder of a run in a window of the system."""
        await read_body(request, MOST_JSON, "the request")
        path = self.workspace.run(request.path_params["run"])
        return Answer({"ok": await in_thread(show_folder, path), "path": str(path)})


_MOST_REPORT = 1 << 26  # bytes


@dataclass(frozen=True)
class _Resumed:
    """How to go on with a run."""

    settings: dict[str, Any] | None = None


@dataclass(frozen=True)
class _Picked:
    """Which formula to use."""

    row: Annotated[int, Within(0, 100_000)]


def _rows(request: Request) -> list[int]:
    """The rows of the front that are asked for."""
    given = request.query_params.getlist("row")
    if not all(each.isdecimal() and each.isascii() and len(each) < 6 for each in given):
        raise InputError("a row is a whole number; give one of the front")
    return [int(each) for each in given]


def _row(request: Request) -> int | None:
    """The one row that is asked for; None is the picked one."""
    rows = _rows(request)
    if len(rows) > 1:
        raise InputError("give one row")
    return rows[0] if rows else None


def _page(path: str) -> bytes | None:
    """The content of a file of the page; None if it has none there.

    Each name is looked for among those that are there, and never joined to a path.
    """
    place = files("symseek.studio")
    for name in ("pages", *path.split("/")):
        there = [each for each in place.iterdir() if each.name == name] if place.is_dir() else []
        if not there:
            return None
        place = there[0]
    known = place.is_file() and os.path.splitext(path)[1] in TYPES
    return place.read_bytes() if known else None


async def _json(request: Request) -> Any:
    body = await read_body(request, MOST_JSON, "the request")
    try:
        return parse_json(body or b"{}")
    except ValueError as error:
        raise InputError(f"the request is no JSON: {error}") from None
