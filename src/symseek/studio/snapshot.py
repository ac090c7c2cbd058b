"""A run as the page sees it: a line for the list of runs, and everything for its own view."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from symseek.algebra.typeset import readable, tidied
from symseek.cli.settings import fit_command
from symseek.errors import Action, InputError
from symseek.files.regular import read_regular
from symseek.files.schema import parse_json
from symseek.model import Formula, Model
from symseek.notation.mathml import mathml
from symseek.programs import Program
from symseek.runs.folder import MOST_FRONT, RunFolder
from symseek.runs.lock import LOCK
from symseek.runs.progress import (
    DISCOVERIES,
    PROGRESS_FILE,
    RunProgress,
    read_discoveries,
    read_progress,
)
from symseek.runs.recorder import PROGRESS as UNFINISHED
from symseek.runs.request import FitRequest
from symseek.studio.answers import Refused
from symseek.studio.caches import FileCache, Stamp, stamp
from symseek.studio.searches import SearchProcesses
from symseek.studio.status import RunStatus, status_of
from symseek.studio.wording import worded
from symseek.studio.workspace import Workspace

_WATCHED = ("settings.json", "front.json", DISCOVERIES, "report.html")
_MOST_GROUPS = 50  # whose own numbers are listed
_MOST_TYPESET = 1000  # tokens of a formula; typesetting takes a time that grows as their square
_MOST_LISTED = 1 << 20  # bytes of a front for the list: of a larger one, only its own view tells


class FrontView:
    """A front that was read: the model, and whether the search was under way."""

    def __init__(self, model: Model, unfinished: dict[str, Any] | None) -> None:
        self.model = model
        self.unfinished = unfinished
        self.formulas = [_formula(model, row) for row in range(len(model.formulas))]


class RunViews:
    """The runs of a folder, each file read once for each of its states."""

    def __init__(self, workspace: Workspace, searches: SearchProcesses) -> None:
        self.workspace = workspace
        self.searches = searches
        self._request = FileCache(_read_request, most=200)
        self._front = FileCache(_read_front, most=32)
        self._line = FileCache(self._read_line, most=2000)
        self._progress = FileCache(read_progress, most=200)
        self._discoveries = FileCache(_read_discoveries, most=32)

    # --- the parts of a run

    def request(self, run: str) -> FitRequest:
        """What is fitted."""
        return self._request(self.workspace.file(run, "settings.json"))

    def readable(self, run: str) -> FitRequest:
        """What is fitted, if its table may be read here: it is in the folder, or the run was named.

        A run was named when the studio was started, which is the user's word.
        """
        request, workspace = self.request(run), self.workspace
        if not workspace.holds(request.data) and run not in workspace.trusted:
            raise Refused(
                403,
                f"the table of this run, {request.data}, is not in the folder of the studio; open"
                " the run itself with `symseek studio`",
            )
        return request

    def front(self, run: str) -> FrontView:
        """The formulas; an `InputError` where there are none."""
        path = self.workspace.file(run, "front.json")
        if stamp(path) is None:
            raise InputError(f"the run {run!r} has no formulas yet; look again in a few seconds")
        return self._front(path)

    def progress(self, run: str) -> RunProgress | None:
        """How far the search is, if it says so."""
        return self._progress(self.workspace.file(run, PROGRESS_FILE))

    def status(self, run: str) -> RunStatus:
        path = self.workspace.run(run)
        taken = stamp(path / LOCK)
        best = self._line(self.workspace.file(run, "front.json"))
        return status_of(
            run,
            self.searches,
            self._settings_error(run) is None,
            self.progress(run),
            None if best is None else best["unfinished"],
            None if taken is None else taken[0] / 1e9,
        )

    def key(self, run: str) -> tuple[Any, ...]:
        """What changes when the snapshot does, but for the progress in it."""
        path = self.workspace.folder / run
        files: list[Stamp | None] = [stamp(path / name) for name in _WATCHED]
        return *files, self.status(run)

    def progress_stamp(self, run: str) -> Stamp | None:
        """What changes when the search has said something of itself."""
        return stamp(self.workspace.folder / run / PROGRESS_FILE)

    # --- for the page

    def lines(self) -> list[dict[str, Any]]:
        return [line for run in self.workspace.runs() if (line := self._run_line(run)) is not None]

    def _run_line(self, run: str) -> dict[str, Any] | None:
        try:
            state = self.status(run)
            best = self._line(self.workspace.file(run, "front.json")) or {}
            progress = self.progress(run)
            table, target = self._asked(run)
        except Refused:
            return None
        files = [stamp(self.workspace.folder / run / name) for name in _WATCHED]
        times = [each[0] / 1e9 for each in files if each is not None]
        seconds = progress.seconds if progress else best.get("seconds")
        return {
            "run": run,
            "table": table,
            "target": target,
            "status": state.status,
            "best": best.get("best"),
            "r2": best.get("r2"),
            "seconds": None if seconds is None else round(seconds, 1),
            "modified": max(times, default=None),
        }

    def snapshot(self, run: str) -> dict[str, Any]:
        state, wrong = self.status(run), self._settings_error(run)
        front = None
        try:
            front = self.front(run)
        except InputError as error:
            if stamp(self.workspace.folder / run / "front.json") is not None:
                wrong = wrong or self.worded(error)
        progress = self.progress(run)
        table, target = self._asked(run)
        request = None if self._settings_error(run) else self.request(run)
        model = None if front is None else front.model
        return {
            "run": run,
            "status": state.status,
            "why": state.why,
            "can_resume": state.can_resume,
            "elsewhere": state.elsewhere,
            "settings": {} if request is None else request.settings.to_dict(),
            "table": table,
            "target": target,
            "heading": None if model is None else model.heading,
            "features": self._features(request, model),
            "weights": None if request is None else request.weights,
            "group": None if request is None else request.group,
            "delimiter": None if request is None else request.delimiter,
            "command": None if request is None else self._command(request),
            "picked": None if model is None else model.picked,
            "rule": None if model is None else model.rule,
            "spread": None if model is None else model.spread,
            "progress": None if progress is None else asdict(progress),
            "discoveries": self._discoveries(self.workspace.file(run, DISCOVERIES)),
            "error": (None if state.error is None else self.worded(state.error)) or wrong,
            "report": stamp(self.workspace.folder / run / "report.html") is not None,
            "formulas": [] if front is None else front.formulas,
        }

    def worded(self, error: InputError | Refused | str) -> str:
        """A sentence in the words of the command line."""
        return worded(error, self.workspace.folder, "resume")

    def _asked(self, run: str) -> tuple[str | None, str | None]:
        """The table and the target, as far as they are known."""
        if self._settings_error(run) is not None:
            return None, None
        request = self.request(run)
        return _text(request.data.name), request.target

    def _settings_error(self, run: str) -> str | None:
        try:
            self.request(run)
        except (InputError, Refused) as error:
            return self.worded(error)
        return None

    def _features(self, request: FitRequest | None, model: Model | None) -> list[str] | None:
        if model is not None:
            return list(model.inputs)
        return list(request.features) if request is not None and request.features else None

    def _command(self, request: FitRequest) -> str:
        path = request.data
        if path.parent == self.workspace.folder and not path.name.startswith("-"):
            request = replace(request, data=Path(path.name))
        return _text(fit_command(request))

    @staticmethod
    def _read_line(path: Path) -> dict[str, Any] | None:
        """What the list of runs says of a front, without all of the model."""
        try:
            record = parse_json(read_regular(path, _MOST_LISTED))
            best = record["formulas"][record["picked"]]
            text, r2, unfinished = best["expression"], best["r2"], record.get(UNFINISHED)
        except (OSError, ValueError, LookupError, TypeError):
            return {"best": None, "r2": None, "unfinished": False} if stamp(path) else None
        seconds: Any = unfinished.get("seconds") if isinstance(unfinished, dict) else None
        return {
            "best": text[:500] if isinstance(text, str) else None,
            "r2": r2 if type(r2) in (int, float) else None,
            "unfinished": unfinished is not None,
            "seconds": seconds if type(seconds) in (int, float) and abs(seconds) < 1e12 else None,
        }


def _read_request(path: Path) -> FitRequest:
    return RunFolder.open(path.parent).request


def _read_front(path: Path) -> FrontView:
    try:
        record = parse_json(read_regular(path, MOST_FRONT))
    except OSError as error:
        raise InputError(path, f" cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(path, f" is damaged ({error}); run ", Action("fit"), " again") from None
    unfinished = record.pop(UNFINISHED, None) if isinstance(record, dict) else None
    if unfinished is not None and not isinstance(unfinished, dict):
        raise InputError(
            path, f" is damaged ({UNFINISHED!r} is no object); run ", Action("fit"), " again"
        )
    return FrontView(Model.from_dict(record), unfinished)


def _read_discoveries(path: Path) -> list[dict[str, Any]]:
    return [{**asdict(each), "mathml": _typeset(each.text)} for each in read_discoveries(path)]


def _formula(model: Model, row: int) -> dict[str, Any]:
    formula = model.formulas[row]
    return {
        "row": row,
        "complexity": formula.complexity,
        "nrmse": formula.nrmse,
        "rmse": model.rmse(row),
        "r2": formula.r2,
        "validation_r2": formula.validation_r2,
        "exact": formula.exact,
        "seeds": None if formula.seeds is None else list(formula.seeds),
        "limits": list(formula.limits),
        "with_errors": formula.with_errors,
        "numbers": [[each.shown, each.said] for each in formula.numbers if each.said],
        "breaks": list(map(str, formula.breaks)),
        "text": formula.text,
        "where": formula.where,
        "mathml": _typeset_formula(formula),
        "own": _own(formula),
    }


def _own(formula: Formula) -> dict[str, Any] | None:
    """The numbers that groups have of their own, those of the first groups; None without any."""
    own = formula.own
    if own is None:
        return None
    cells = [
        [_text(label), *(f"{value:.6g}" for value in own.of_group(at))]
        for at, label in enumerate(own.labels[:_MOST_GROUPS])
    ]
    more = len(own.labels) - len(cells)
    return {"names": [own.column, *own.names], "cells": cells, "more": more}


@lru_cache(maxsize=4096)
def _typeset_formula(formula: Formula) -> str | None:
    if len(formula.program) > _MOST_TYPESET:
        return None
    try:
        return mathml(readable(formula))
    except (InputError, RecursionError):
        return None


@lru_cache(maxsize=4096)
def _typeset(text: str) -> str | None:
    """A formula of which there is only the text; its names are the columns."""
    try:
        program = Program.parse(text)
        return mathml(tidied(program)) if len(program) <= _MOST_TYPESET else None
    except (InputError, RecursionError):
        return None


def _text(value: str) -> str:
    """A name for the page; bytes that are no text are shown as such."""
    return os.fsencode(value).decode(errors="replace")
