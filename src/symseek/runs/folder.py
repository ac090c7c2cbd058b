"""A run on disk: a folder with the request, the state of the search, and its results.

    settings.json   the data, the columns and every setting: written first
    lock            who writes the folder, as long as someone does
    checkpoint      the state of the search, every few seconds; of a second seed, checkpoint-2
    front.json      the model, which predicts and exports; every few seconds what it is so far
    front.csv       the same as a table
    curve.csv       the course of the search
    report.html     everything at a glance
    progress.json, discoveries.json   for those who watch (see `symseek.runs.progress`)
    ended.json      what was wrong, if a search ended by that and was asked to say so

Each file is written whole or not at all. A folder that exists is never written over unless asked,
and never while another process writes it. A folder may come from anyone, so what is in it is read
and written as `symseek.files.regular` says: no link in it is followed.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from symseek.errors import Action, InputError, Message, Quoted, Setting, shown
from symseek.files.atomic import leftovers
from symseek.files.regular import is_there, read_regular, write_regular, written_at
from symseek.files.roles import with_reasons
from symseek.files.schema import parse_json
from symseek.files.tables import TrainingTable
from symseek.loop import Iteration, Result
from symseek.model import Model
from symseek.regression.regression import Regression
from symseek.runs.checkpoint import engine_of, restore
from symseek.runs.ended import ENDED
from symseek.runs.lock import LOCK, FolderLock, held_error, holder
from symseek.runs.progress import DISCOVERIES, PROGRESS_FILE
from symseek.runs.recorder import PROGRESS, Recorder, checkpoint_path, front_text, how_far
from symseek.runs.request import FORMAT, FitRequest
from symseek.settings import MOST_SEEDS, Settings

_MOST_SETTINGS = 1 << 22  # bytes of it
_FIRST = 1 << 20  # bytes of it in which the word symseek stands
MOST_FRONT = 1 << 24  # bytes of front.json, which has some thousands
# In the order in which they are written.
_RESULTS = ("front.json", "front.csv", "curve.csv", "report.html")
_CURVE = (
    "iteration",
    "expressions",
    "seconds",
    "mean_reward",
    "top_mean_reward",
    "best_reward",
    "entropy",
    "mean_length",
    "invalid_fraction",
    "unique_fraction",
)


class RunFolder:
    """The folder of a run. Who writes it locks it first, by `create` or `lock`, and closes it."""

    def __init__(self, path: Path, request: FitRequest, reported: bool = True) -> None:
        self.path = path
        self.request = request
        self.reported = reported  # whether a report belongs to it
        self.write_errors: list[Message] = []  # files that could not be written
        self._lock: FolderLock | None = None

    @classmethod
    def create(cls, folder: Path, request: FitRequest, overwrite: bool = False) -> RunFolder:
        """Make the folder, lock it and write settings.json."""
        run = cls(folder, request)
        try:
            if folder.exists():
                if who := holder(folder):
                    raise held_error(folder, who)
                _check_replaceable(folder, overwrite)
            folder.mkdir(parents=True, exist_ok=True)
            run.lock()
            _check_replaceable(folder, overwrite)  # who held the lock may have started a run
            run.remove_leftovers()
            for path in _files(folder):
                path.unlink(missing_ok=True)
            write_regular(folder / "settings.json", request.to_json())
        except OSError as error:
            run.close()
            raise _unwritable(folder, error) from None
        except BaseException:
            run.close()
            raise
        return run

    def lock(self) -> None:
        """Keep other processes from writing the folder until `close`."""
        _refuse_irregular(self.path)
        try:
            self._lock = FolderLock(self.path)
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def close(self) -> None:
        """Let other processes write the folder."""
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @classmethod
    def open(cls, folder: Path, threads: int = 1, reported: bool = True) -> RunFolder:
        """Read a folder that `create` made."""
        path = folder / "settings.json"
        record = _read_json(folder, path, _MOST_SETTINGS)
        if record.get("format") != FORMAT:
            raise InputError(
                "the run ",
                Quoted(folder),
                f" has format {shown(record.get('format'))}, and this version of symseek reads"
                f" format {FORMAT}; run ",
                Action("fit"),
                " again",
            )
        try:
            return cls(folder, FitRequest.from_dict(record, threads), reported)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _damaged(path, error) from None

    def recorder(self, regression: Regression) -> Recorder:
        """The callback that saves the search and its front now and then."""
        return Recorder(self.path, regression)

    def remove_leftovers(self) -> None:
        """Remove the files of a process that was killed while writing; no other may be writing."""
        with suppress(OSError):
            for left in _leftovers(self.path):
                left.unlink()

    def change_settings(self, settings: Settings) -> None:
        """Record the budgets with which a run continues."""
        self.request = replace(self.request, settings=settings)
        self._write("settings.json", self.request.to_json)

    def restore(self, regression: Regression) -> str | None:
        """Bring a new search to the state of the checkpoint, if there is one.

        Returns the engine that the search was with until then.
        """
        paths = [checkpoint_path(self.path, at) for at in range(len(regression.searches))]
        if not is_there(paths[0]):
            return None
        before = self.request.settings
        if regression.search.config.batch_size != before.search_config().batch_size:
            raise InputError(
                "the run ",
                Quoted(self.path),
                f" began with {before.max_expressions} expressions, less than a batch, and cannot"
                " continue with more; run ",
                Action("fit"),
                " again",
            )
        for search, path in zip(regression.searches, paths, strict=True):
            if is_there(path):
                restore(search, path)
        return engine_of(paths[0])

    @property
    def complete(self) -> bool:
        """Whether every result of the checkpoint is written: no file is missing or older."""
        try:
            saved = [at for path in _checkpoints(self.path) if (at := written_at(path)) is not None]
            written = [written_at(self.path / name) for name in _RESULTS[: 3 + self.reported]]
        except OSError:
            return False
        return bool(saved) and all(at is not None and at >= max(saved) for at in written)

    def model(self) -> Model:
        """The model that was found, or what has been found so far."""
        return self.model_so_far()[0]

    def model_so_far(self) -> tuple[Model, Message | None]:
        """The model, and if the run has not come to its end, a sentence about that."""
        path, who = self.path / "front.json", holder(self.path)
        if not os.path.lexists(path) and os.path.lexists(self.path / "settings.json"):
            why = Message("it was stopped before its end; continue with ", Action("resume"))
            if who is not None:
                why = Message(f"{who} has just started it; look again in a few seconds")
            raise InputError("the run ", Quoted(self.path), " has no front yet: ", why)
        record = _read_json(self.path, path, MOST_FRONT)
        far = how_far(record.pop(PROGRESS, None))
        model = Model.from_dict(record)
        if who is not None:
            return model, Message(
                "the run ", Quoted(self.path), f" is being searched by {who}{far}"
            )
        if far:
            text = f" was stopped before its end{far}; continue with "
            return model, Message("the run ", Quoted(self.path), text, Action("resume"))
        return model, None

    def finish(
        self,
        model: Model,
        table: TrainingTable,
        result: Result,
        known: Mapping[str, str | None] | None = None,
        report: bool = True,
    ) -> None:
        """Write the results; what cannot be written is listed in `write_errors`.

        `known` is for the report: the `command` that repeats the run, a sentence on the
        `structure` of the columns, the `engine`. Without a report, none of an earlier state stays
        either.
        """
        self._write("front.json", lambda: front_text(model))
        self._write("front.csv", lambda: _table(model))
        self._write("curve.csv", lambda: _curve(result.history))
        if report:
            about = {} if known is None else known
            self._write("report.html", lambda: self._report(model, table, result, about))
        else:
            with suppress(OSError):
                (self.path / "report.html").unlink(missing_ok=True)

    def _write(self, name: str, content: Callable[[], str]) -> None:
        path = self.path / name
        try:
            write_regular(path, content())
        except OSError as error:
            why = f": {error.strerror or error}"
            self.write_errors.append(Message("could not write ", Quoted(path), why))

    def _report(
        self, model: Model, table: TrainingTable, result: Result, known: Mapping[str, str | None]
    ) -> str:
        from symseek.report.html import html

        settings = self.request.settings.to_dict()
        summary = {
            "data": self.request.data.name,
            "seed": settings.pop("seed"),
            "rows": len(table.y),
            **({"columns left out": with_reasons(table.left_out)} if table.left_out else {}),
            "expressions": result.expressions,
            "seconds": round(result.seconds, 1),
            "ended": result.stopped.value,
            **{name: text for name, text in known.items() if text is not None},
        }
        X = model.rows(table.X, table.groups)
        return html(model, X, table.y, result.history, settings, summary)


def new_folder(data: Path, inside: Path = Path(), kind: str = "run") -> Path:
    """Make a folder, by default in the working directory, that was not there: data-run-1, -2, ...

    Of several processes that ask at once, each gets one of its own.
    """
    stem = data.name.split(".")[0] or "data"
    number = 1
    while True:
        folder = inside / f"{stem}-{kind}-{number}"
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1
        except OSError as error:
            raise _unwritable(folder, error) from None


def _check_replaceable(folder: Path, overwrite: bool) -> None:
    """Refuse to write over anything but a run that nobody else writes, and unless asked."""
    if not folder.is_dir():
        raise InputError(
            Quoted(folder), " is a file; choose another place with ", Setting("folder")
        )
    found = set(folder.iterdir()) - {*_leftovers(folder), folder / LOCK}
    if found and not overwrite:
        raise refused_as_there(folder)
    if found and not holds_run(folder):
        raise InputError(
            Quoted(folder),
            " is not a run folder, so ",
            Setting("overwrite"),
            " does not write over it; choose another place with ",
            Setting("folder"),
        )


def refused_as_there(folder: Path) -> InputError:
    """What to raise where a run is to be made and one is there."""
    return InputError(
        "the run folder ",
        Quoted(folder),
        " exists; choose another with ",
        Setting("folder"),
        ", continue with it by ",
        Action("resume"),
        ", or write over it with ",
        Setting("overwrite"),
    )


def _checkpoints(folder: Path) -> list[Path]:
    return [checkpoint_path(folder, at) for at in range(MOST_SEEDS)]


def _files(folder: Path) -> list[Path]:
    """What a run may have written, whether or not it is there."""
    names = ("settings.json", *_RESULTS, PROGRESS_FILE, DISCOVERIES, ENDED)
    return [*_checkpoints(folder), *(folder / name for name in names)]


def _leftovers(folder: Path) -> list[Path]:
    found = [folder / left.name for path in _files(folder) for left in leftovers(path)]
    return found + [path for path in (folder / ENDED,) if os.path.lexists(path)]


def holds_run(folder: Path) -> bool:
    """Whether settings.json is symseek's; other programs have files of that name too."""
    try:
        return b'"symseek"' in read_regular(folder / "settings.json", _MOST_SETTINGS, _FIRST)
    except OSError:
        return False


def _refuse_irregular(folder: Path) -> None:
    """Refuse a folder in which a name of ours is not a file: before hours of work, and by name."""
    for path in (folder / LOCK, *_files(folder)):
        try:
            is_there(path)
        except OSError as error:
            raise InputError(
                "cannot use ",
                Quoted(path),
                f": {error.strerror}; symseek made no such thing, so remove it, or ",
                Action("fit"),
                " to another folder",
            ) from None


def _read_json(folder: Path, path: Path, most: int) -> dict[str, Any]:
    if not folder.is_dir():
        raise InputError(
            "there is no run folder ", Quoted(folder), "; ", Action("fit"), " makes one"
        )
    try:
        record = parse_json(read_regular(path, most))
    except FileNotFoundError:
        raise InputError(
            Quoted(folder),
            f" is not a run folder: it has no {path.name}; name a folder that ",
            Action("fit"),
            " made",
        ) from None
    except OSError as error:
        raise InputError("cannot read ", Quoted(path), f": {error.strerror or error}") from None
    except ValueError as error:
        raise _damaged(path, error) from None
    if not isinstance(record, dict):
        raise _damaged(path, "it is not an object")
    return record


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(
        "cannot write to the run folder ",
        Quoted(folder),
        f": {error.strerror or error}; choose another with ",
        Setting("folder"),
    )


def _damaged(path: Path, reason: object) -> InputError:
    text = str(reason).rstrip(".")
    return InputError(Quoted(path), f" is damaged ({text}); run ", Action("fit"), " again")


def _table(model: Model) -> str:
    """The front as CSV; a cell without a value is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = model.columns()
    writer.writerow(["row", *columns])
    for row, cells in enumerate(zip(*columns.values(), strict=True)):
        writer.writerow([row, *("" if cell is None or cell != cell else cell for cell in cells)])
    return out.getvalue()


def _curve(history: Sequence[Iteration]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_CURVE, "best_so_far"])
    for now in history:
        best = "" if now.best is None else now.best.reward
        writer.writerow([*(getattr(now, name) for name in _CURVE), best])
    return out.getvalue()
