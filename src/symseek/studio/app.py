"""The routes of the studio: what the page asks for, and who answers it.

Whatever reads a file or computes does so in a thread, so that the events continue meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
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
        run, posted = "/api/runs/{run}", "the request"
        formulas, runs = self.formulas, self.runs
        return [
            _route("/api/state", self.state),
            _route("/api/options", lambda asked: options()),
            _route("/api/tables", self.add_table, "the table"),
            _route("/api/tables/{name}", self.table),
            _route("/api/question", lambda asked: self._consider(asked.json()).to_dict(), posted),
            _route("/api/runs", self.start, posted),
            _route(run, lambda asked: runs.snapshot(asked.run)),
            _route(f"{run}/pause", lambda asked: self.ask(asked.run, "pause"), posted),
            _route(f"{run}/stop", lambda asked: self.ask(asked.run, "stop"), posted),
            _route(f"{run}/resume", self.resume, posted),
            _route(f"{run}/pick", self.pick, posted),
            _route(f"{run}/fit", lambda asked: formulas.fit(asked.run, asked.rows)),
            _route(f"{run}/exports", lambda asked: formulas.exports(asked.run, asked.row)),
            _route(f"{run}/tree", lambda asked: formulas.tree(asked.run, asked.row)),
            _route(f"{run}/predict", self.predict, "the table"),
            _route(f"{run}/report", self.report),
            _route(f"{run}/open-folder", self.open_folder, posted),
            _route("/api/files/{name}", self.file),
            Route("/api/events", self.stream),
            _route("/", _page),
            _route("/{path:path}", _page),
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

    # --- what is here

    def state(self, asked: _Asked) -> dict[str, Any]:
        """The folder, its tables and its runs."""
        return {
            "folder": str(self.workspace.folder),
            "version": __version__,
            "cores": cores(),
            "runs": self.runs.lines(),
            "tables": self.workspace.tables(),
            "open": self.opened,
        }

    async def stream(self, request: Request) -> Response:
        """Events for a tab, and for the run that it watches."""
        run = request.query_params.get("run") or None
        if run is not None:
            await in_thread(self.workspace.run, run)
        return EventStream(self.events, run)

    # --- tables

    def add_table(self, asked: _Asked) -> dict[str, Any]:
        """Save a table that was dropped or pasted."""
        name = asked.query.get("name", "")
        if not asked.body.strip():
            raise InputError(f"{shown(name)} is empty; give a table with a line of column names")
        return self.previews(
            self.workspace.table(self.workspace.save_table(name, asked.body)), None
        )

    def table(self, asked: _Asked) -> dict[str, Any]:
        delimiter = asked.query.get("delimiter") or None
        return self.previews(self.workspace.table(asked.name), delimiter)

    def _read_table(self, path: Path, delimiter: str | None = None) -> TableSource:
        return open_table(path, delimiter, self.max_table_size).whole()

    def _read_preview(self, path: Path, delimiter: str | None) -> dict[str, Any]:
        try:
            return preview(self.tables(path, delimiter), self.workspace.folder)
        except InputError as error:
            return unreadable(path.name, error, self.workspace.folder)

    # --- questions and searches

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

    def start(self, asked: _Asked) -> dict[str, Any]:
        considered = self._consider(asked.json())
        if considered.problems:
            raise Refused(400, considered.problems[0]["sentence"])
        folder = new_folder(considered.request.data, self.workspace.folder)
        RunFolder.create(folder, considered.request).close()
        self.searches.start(folder.name, [*considered.aside, *self._limit()])
        return {"run": folder.name}

    def ask(self, run: str, what: Asked) -> dict[str, Any]:
        """Ask a search to end its iteration and keep everything, for now or for good."""
        self.workspace.run(run)
        if self.runs.status(run).status != "finishing":  # then it is ending by itself
            self.searches.ask(run, what)
        return {"ok": True}

    def resume(self, asked: _Asked) -> dict[str, Any]:
        """Continue with a run, with other budgets if there are any."""
        self.workspace.run(asked.run)
        resumed: _Resumed = read(asked.json(), _Resumed, "the request")
        given = resumed.settings or {}
        known = [name for name, each in PARAMETERS.items() if each.while_paused]
        for name in given:
            if name not in known:
                raise unknown_name("setting to continue with", name, known)
        _, problems = read_settings(given, self.workspace.folder)
        if problems:
            raise Refused(400, problems[0]["sentence"])
        self.runs.readable(asked.run)
        words = [word for name, value in given.items() for word in option_words(name, value)]
        self.searches.start(asked.run, [*words, *self._limit()])
        return {"ok": True}

    def _limit(self) -> list[str]:
        """The limit of tables, for a search."""
        if self.max_table_size == limits.MOST_TABLE:
            return []
        return ["--max-table-size", str(self.max_table_size)]

    # --- formulas

    def pick(self, asked: _Asked) -> dict[str, Any]:
        picked: _Picked = read(asked.json(), _Picked, "the request")
        self.formulas.pick(asked.run, picked.row)
        return {"ok": True}

    def predict(self, asked: _Asked) -> dict[str, Any]:
        drop = asked.query.get("drop_missing", "") in ("1", "true")
        name = asked.query.get("name", "")
        return self.formulas.predict(asked.run, asked.row, name, asked.body, drop)

    def file(self, asked: _Asked) -> Response:
        """A file of predictions, to be saved elsewhere."""
        if asked.name not in self.workspace.written:
            raise Refused(404, "there is no such file of predictions")
        content = self.workspace.table(asked.name).read_bytes()
        name = quote(asked.name, safe="")
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    def report(self, asked: _Asked) -> Response:
        """The report of a run; whatever is in that file, no script in it runs."""
        try:
            path = self.workspace.file(asked.run, "report.html")
            content = read_regular(path, _MOST_REPORT)
        except FileNotFoundError:
            raise Refused(404, "this run has no report yet") from None
        except OSError as error:
            raise Refused(403, f"the report cannot be read: {error.strerror}") from None
        headers = {"Content-Security-Policy": REPORT_POLICY}
        return Response(content, media_type="text/html; charset=utf-8", headers=headers)

    def open_folder(self, asked: _Asked) -> dict[str, Any]:
        """Show the folder of a run in a window of the system."""
        path = self.workspace.run(asked.run)
        return {"ok": show_folder(path), "path": str(path)}


_MOST_REPORT = 1 << 26  # bytes


@dataclass(frozen=True)
class _Resumed:
    """How to continue with a run."""

    settings: dict[str, Any] | None = None


@dataclass(frozen=True)
class _Picked:
    """Which formula to use."""

    row: Annotated[int, Within(0, 100_000)]


@dataclass(frozen=True)
class _Asked:
    """A request, read as far as it may be."""

    query: QueryParams
    path: Mapping[str, str]  # the parts of the address that are names
    body: bytes

    @property
    def run(self) -> str:
        return self.path["run"]

    @property
    def name(self) -> str:
        return self.path["name"]

    @property
    def rows(self) -> list[int]:
        """The rows of the front that are asked for."""
        given = self.query.getlist("row")
        if not all(each.isdecimal() and each.isascii() and len(each) < 6 for each in given):
            raise InputError("a row is a whole number; give one of the front")
        return [int(each) for each in given]

    @property
    def row(self) -> int | None:
        """The one row that is asked for; None is the picked one."""
        rows = self.rows
        if len(rows) > 1:
            raise InputError("give one row")
        return rows[0] if rows else None

    def json(self) -> Any:
        try:
            return parse_json(self.body or b"{}")
        except ValueError as error:
            raise InputError(f"the request is no JSON: {error}") from None


def _route(path: str, function: Callable[[_Asked], Any], body: str = "") -> Route:
    """A route that is answered in a thread; `body` says in words what is sent to it, if anything.

    The answer is JSON, unless the function gives another one.
    """

    async def answer(request: Request) -> Response:
        most = MOST_TABLE if body == "the table" else MOST_JSON
        data = await read_body(request, most, body) if body else b""
        asked = _Asked(request.query_params, request.path_params, data)
        found = await in_thread(function, asked)
        return found if isinstance(found, Response) else Answer(found)

    return Route(path, answer, methods=["POST" if body else "GET"])


def _page(asked: _Asked) -> Response:
    """A file of the page itself.

    Each name is looked for among those that are there, and never joined to a path.
    """
    path, place = asked.path.get("path", "index.html"), files("symseek.studio")
    kind = TYPES.get(os.path.splitext(path)[1])
    for name in ("pages", *path.split("/")):
        there = [each for each in place.iterdir() if each.name == name] if place.is_dir() else []
        if not there:
            raise Refused(404, "there is nothing at this address")
        place = there[0]
    if kind is None or not place.is_file():
        raise Refused(404, "there is nothing at this address")
    return Response(place.read_bytes(), media_type=kind)
