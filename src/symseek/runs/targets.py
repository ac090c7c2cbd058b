"""The folder of a fit of several targets: a run folder for each, and one report of all.

    targets.json   the targets in their order, and the folder of each
    1-height/      the run folder of a target, without a report of its own
    report.html    everything at a glance, a section for each target
    lock           who writes the folder, as long as someone does

Each target is searched for alone, with its own budget, so that it comes to what it would without
the others. Another target is never one of its inputs. Anyone may have written a folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from symseek.errors import Action, InputError, Message, Quoted, Setting, shown, unknown_name
from symseek.files.regular import is_there, read_regular, write_regular
from symseek.files.schema import Label, Most, parse_json, read
from symseek.files.tables import TrainingTable
from symseek.loop import Result
from symseek.model import Model
from symseek.runs.folder import RunFolder, refused_as_there
from symseek.runs.lock import LOCK, FolderLock
from symseek.runs.request import FitRequest
from symseek.version import __version__

TARGETS, REPORT = "targets.json", "report.html"
FORMAT = 1  # of targets.json
MOST_TARGETS = 100
_MOST_BYTES = 1 << 20
_FOLDER = re.compile(r"[1-9]\d{0,2}(-[A-Za-z0-9_]{1,40})?", re.ASCII)


@dataclass(frozen=True)
class _Stored:
    """What targets.json holds."""

    format: int
    symseek: Label
    targets: Annotated[tuple[Label, ...], Most(MOST_TARGETS)]
    folders: Annotated[tuple[Label, ...], Most(MOST_TARGETS)]


@dataclass(frozen=True)
class TargetsFolder:
    """The folder, and which targets it has."""

    path: Path
    targets: tuple[str, ...]
    folders: tuple[str, ...]  # of each, inside the folder

    @classmethod
    def create(
        cls, path: Path, requests: Sequence[FitRequest], overwrite: bool = False
    ) -> TargetsFolder:
        """Make the folder, and a run folder for each request."""
        names = tuple(each.target for each in requests)
        folder = cls(path, names, tuple(_folder(*each) for each in enumerate(names, 1)))
        _refuse_taken(path, overwrite)
        record = {"format": FORMAT, "symseek": __version__}
        record |= {"targets": list(names), "folders": list(folder.folders)}
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_regular(path / TARGETS, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
            with suppress(FileNotFoundError):
                (path / REPORT).unlink()
        except OSError as error:
            raise _unwritable(path, error) from None
        for name, request in zip(folder.folders, requests, strict=True):
            _refuse_link(path / name)
            RunFolder.create(path / name, request, overwrite=True).close()
        return folder

    @classmethod
    def open(cls, path: Path) -> TargetsFolder:
        """Read a folder that `create` made."""
        file = path / TARGETS
        try:
            stored: _Stored = read(parse_json(read_regular(file, _MOST_BYTES)), _Stored, "the file")
            _check(stored)
        except OSError as error:
            why = f": {error.strerror or error}"
            raise InputError("cannot read ", Quoted(file), why) from None
        except ValueError as error:
            text = f" is damaged ({str(error).rstrip('.')}); run "
            raise InputError(Quoted(file), text, Action("fit"), " again") from None
        for each in stored.folders:
            _refuse_link(path / each)
        return cls(path, stored.targets, stored.folders)

    def runs(self, threads: int = 1) -> list[RunFolder]:
        """The run folder of each target."""
        return [RunFolder.open(self.path / each, threads, reported=False) for each in self.folders]

    def run(self, target: str) -> RunFolder:
        """The run folder of one target."""
        if target not in self.targets:
            raise unknown_name("target", target, self.targets)
        folder = self.folders[self.targets.index(target)]
        return RunFolder.open(self.path / folder, reported=False)

    def lock(self, stack: ExitStack) -> None:
        """Keep other processes from writing the folder until the stack is left."""
        try:
            is_there(self.path / REPORT)
            stack.callback(FolderLock(self.path).release)
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def models_so_far(self) -> list[tuple[str, Model | None, Message | None]]:
        """Each target, its model if there is one, and what to know of a run that is not ended."""
        found: list[tuple[str, Model | None, Message | None]] = []
        for target, run in zip(self.targets, self.runs(), strict=True):
            try:
                found.append((target, *run.model_so_far()))
            except InputError as error:
                if is_there(run.path / "front.json"):
                    raise
                found.append((target, None, Message(error)))
        return found

    def models(self) -> list[Model]:
        """The model of each target; refused while one has none."""
        return [each.model() for each in self.runs()]

    def write_report(
        self, found: Sequence[Searched], known: Mapping[str, str | None] | None = None
    ) -> Message | None:
        """Write the report of all targets; returns why it could not be written."""
        path = self.path / REPORT
        try:
            write_regular(path, _report(found, known or {}))
        except OSError as error:
            return Message("could not write ", Quoted(path), f": {error.strerror or error}")
        return None


@dataclass(frozen=True)
class Searched:
    """What a search has come to, with the table that it was made on."""

    request: FitRequest
    table: TrainingTable
    model: Model
    result: Result


def holds_targets(path: Path) -> bool:
    """Whether a folder is that of several targets."""
    try:
        return b'"symseek"' in read_regular(path / TARGETS, _MOST_BYTES)
    except OSError:
        return False


def requests_of(request: FitRequest, targets: Sequence[str]) -> list[FitRequest]:
    """A request for each target, the others left out of its inputs."""
    twice = next((each for each in targets if targets.count(each) > 1), None)
    if twice is not None:
        raise InputError(f"target {shown(twice)} is named twice", field=Setting("target"))
    if len(targets) > MOST_TARGETS:
        raise InputError(f"there are {len(targets):,} targets; there may be {MOST_TARGETS}")
    names = [("features", each) for each in request.features or ()]
    names += [(name, getattr(request, name)) for name in ("weights", "sigma", "group")]
    for name, column in names:
        if column in targets:
            raise InputError(
                f"column {shown(column)} is both a target and one of ",
                Setting(name),
                "; leave one out",
                field=Setting(name),
                value=column,
            )
    return [
        replace(request, target=each, others=tuple(other for other in targets if other != each))
        for each in targets
    ]


def _report(found: Sequence[Searched], known: Mapping[str, str | None]) -> str:
    from symseek.report.html import html_of

    first = found[0].request
    settings = first.settings.to_dict()
    summary: dict[str, Any] = {
        "data": first.data.name,
        "seed": settings.pop("seed"),
        **{
            f"{each.model.target}: {name}": value
            for each in found
            for name, value in (
                ("rows", len(each.table.y)),
                ("expressions", each.result.expressions),
                ("seconds", round(each.result.seconds, 1)),
                ("ended", each.result.stopped.value),
            )
        },
        **{name: text for name, text in known.items() if text is not None},
    }
    parts = [
        (
            each.model,
            each.model.rows(each.table.X, each.table.groups),
            each.table.y,
            each.result.history,
        )
        for each in found
    ]
    return html_of(parts, settings, summary)


def _folder(number: int, target: str) -> str:
    """The name of a target's folder.

    >>> _folder(1, "height [m]"), _folder(2, "Δ")
    ('1-height_m', '2')
    """
    word = re.sub(r"[^A-Za-z0-9]+", "_", target).strip("_")[:40]
    return f"{number}-{word}" if word else str(number)


def _check(stored: _Stored) -> None:
    if stored.format != FORMAT:
        raise ValueError(f"its format is {stored.format}, not {FORMAT}")
    if len(stored.targets) != len(stored.folders) or not stored.targets:
        raise ValueError("it has not a folder for each target")
    for each in stored.folders:
        if not _FOLDER.fullmatch(each):
            raise ValueError(f"{shown(each)} is no name of a run folder")
    if len(set(stored.targets)) < len(stored.targets):
        raise ValueError("a target is named twice")
    if len({each.casefold() for each in stored.folders}) < len(stored.folders):
        raise ValueError("two targets have the same folder")


def _refuse_link(path: Path) -> None:
    """Refuse a run folder that is somewhere else."""
    if path.is_symlink():
        raise InputError(
            "cannot use ", Quoted(path), ": it is a link, which symseek has not made; remove it"
        )


def _refuse_taken(path: Path, overwrite: bool) -> None:
    """Refuse to write over anything but a fit of several targets, and unless asked."""
    if path.exists() and not path.is_dir():
        raise InputError(Quoted(path), " is a file; choose another place with ", Setting("folder"))
    found = {each.name for each in path.iterdir()} - {LOCK} if path.is_dir() else set()
    if not found:
        return
    if not overwrite:
        raise refused_as_there(path)
    if not holds_targets(path):
        raise InputError(
            Quoted(path),
            " is not the folder of a fit of several targets, so ",
            Setting("overwrite"),
            " does not write over it; choose another place with ",
            Setting("folder"),
        )


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        "cannot write to the run folder ",
        Quoted(path),
        f": {error.strerror or error}; choose another with ",
        Setting("folder"),
    )
