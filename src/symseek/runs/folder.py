"""A run on disk: a folder with what was asked, where the search stands, and what it found.

    settings.json   the data, the columns and every setting: written first
    checkpoint      the state of the search, every few seconds
    front.json      the model, which predicts and exports; front.csv is the same as a table
    curve.csv       the course of the search
    report.html     everything at a glance

Each file is written whole or not at all. A folder that exists is never written over unless asked.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from symseek import __version__
from symseek.errors import InputError
from symseek.files.atomic import leftovers, write_whole
from symseek.files.tables import Table, read_table
from symseek.loop import Iteration, Result
from symseek.model import Model
from symseek.regression.regression import Regression
from symseek.regression.settings import Settings
from symseek.runs.checkpoint import Checkpointer, restore

__all__ = ["Run", "free_folder"]

FORMAT = 1  # of settings.json
SAVE_EVERY = 5.0  # seconds between two checkpoints
_MADE = ("checkpoint", "front.json", "front.csv", "curve.csv", "report.html")  # in this order
_FILES = ("settings.json", *_MADE)
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


@dataclass(frozen=True)
class Question:
    """What was asked: a file, its columns and the settings."""

    data: Path
    target: str
    features: tuple[str, ...] | None  # None: every other column
    weights: str | None
    delimiter: str | None
    settings: Settings

    def table(self) -> Table:
        """The data, read and checked."""
        return read_table(self.data, self.target, self.features, self.weights, self.delimiter)


class Run:
    """A run folder."""

    def __init__(self, folder: Path, question: Question) -> None:
        self.folder = folder
        self.question = question
        self.troubles: list[str] = []  # files that could not be written, a sentence each

    @classmethod
    def created(cls, folder: Path, question: Question, force: bool = False) -> Run:
        """Make the folder and write down the question."""
        run = cls(folder, question)
        try:
            if folder.exists():
                _refuse_other_folder(folder, force)
                run.sweep()
                for name in _FILES:
                    (folder / name).unlink(missing_ok=True)
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / "settings.json", run._asked())
        except OSError as error:
            raise InputError(
                f"cannot write to the run folder {str(folder)!r}: {error.strerror or error};"
                " choose another with --out"
            ) from None
        return run

    @classmethod
    def opened(cls, folder: Path, threads: int = 1) -> Run:
        """Read a folder that `created` made."""
        path = folder / "settings.json"
        record = _read_json(folder, path)
        if record.get("format") != FORMAT:
            raise InputError(
                f"the run {str(folder)!r} has format {record.get('format')!r}, and this version of"
                f" symseek reads format {FORMAT}; run `symseek fit` again"
            )
        try:
            features = record["features"]
            question = Question(
                Path(record["data"]),
                str(record["target"]),
                None if features is None else tuple(map(str, features)),
                _text_or_none(record["weights"]),
                _text_or_none(record["delimiter"]),
                Settings.from_dict(record["settings"], threads),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _damaged(path, error) from None
        return cls(folder, question)

    def _asked(self) -> str:
        question = self.question
        record = {
            "format": FORMAT,
            "symseek": __version__,
            "data": str(question.data.resolve()),
            "target": question.target,
            "features": None if question.features is None else list(question.features),
            "weights": question.weights,
            "delimiter": question.delimiter,
            "settings": question.settings.to_dict(),
        }
        return json.dumps(record, indent=2, ensure_ascii=False) + "\n"

    @property
    def checkpoint(self) -> Path:
        """Where the state of the search is kept."""
        return self.folder / "checkpoint"

    def keeper(self, regression: Regression) -> Checkpointer:
        """What saves the search now and then."""
        return Checkpointer(regression.search, self.checkpoint, SAVE_EVERY)

    def sweep(self) -> None:
        """Remove what a killed process was writing; nobody else may be writing here."""
        with suppress(OSError):
            for left in _leftovers(self.folder):
                left.unlink()

    def raise_budget(self, settings: Settings) -> None:
        """Write down that a run goes on with other budgets."""
        self.question = replace(self.question, settings=settings)
        self._write("settings.json", self._asked)

    def restore(self, regression: Regression) -> None:
        """Bring a new search to where the run stood; one without a checkpoint begins anew."""
        if not self.checkpoint.exists():
            return
        begun = self.question.settings
        if regression.search.config.batch_size != begun.search_config().batch_size:
            raise InputError(
                f"the run {str(self.folder)!r} was begun with {begun.max_expressions} expressions,"
                " less than a batch, and cannot go on with more; run `symseek fit` again"
            )
        restore(regression.search, self.checkpoint)

    @property
    def complete(self) -> bool:
        """Whether all that the checkpoint came to is written: no file is missing or older."""
        try:
            saved, *written = ((self.folder / name).stat().st_mtime_ns for name in _MADE)
        except OSError:
            return False
        return min(written) >= saved

    def model(self) -> Model:
        """The model that was found."""
        path = self.folder / "front.json"
        if not path.exists() and (self.folder / "settings.json").exists():
            raise InputError(
                f"the run {str(self.folder)!r} has no front yet: it was stopped before its end;"
                f" go on with `symseek resume {self.folder}`"
            )
        return Model.from_dict(_read_json(self.folder, path))

    def finish(self, model: Model, table: Table, result: Result) -> None:
        """Write what was found; what cannot be written is told in `troubles`."""
        self._write("front.json", lambda: json.dumps(model.to_dict(), indent=2, ensure_ascii=False))
        self._write("front.csv", lambda: model.frame().to_csv())
        self._write("curve.csv", lambda: _curve(result.history))
        self._write("report.html", lambda: self._report(model, table, result))

    def _write(self, name: str, content: Callable[[], str]) -> None:
        try:
            write_whole(self.folder / name, content())
        except OSError as error:
            path = str(self.folder / name)
            self.troubles.append(f"could not write {path!r}: {error.strerror or error}")

    def _report(self, model: Model, table: Table, result: Result) -> str:
        from symseek.report.html import html

        settings = self.question.settings.to_dict()
        summary = {
            "data": self.question.data.name,
            "seed": settings.pop("seed"),
            "rows": len(table.y),
            "expressions": result.expressions,
            "seconds": round(result.seconds, 1),
            "ended": result.stopped.value,
            "command": self.command(),
        }
        return html(model, table.X, table.y, result.history, settings, summary)

    def command(self) -> str:
        """What repeats the run."""
        import shlex

        question = self.question
        words = ["symseek", "fit", str(question.data), *_option("target", question.target)]
        if question.features is not None:
            words += _option("features", ",".join(map(_listed, question.features)))
        for name, value in (("weights", question.weights), ("delimiter", question.delimiter)):
            words += _option(name, value) if value is not None else []
        default = Settings().to_dict()
        for name, value in question.settings.to_dict().items():
            if value != default[name]:
                words += option_words(name, value)
        return shlex.join(words)


def option_words(name: str, value: Any) -> list[str]:
    """A setting as words of the command line.

    >>> option_words("max_seconds", None), option_words("scale", False)
    (['--max-seconds', 'none'], ['--no-scale'])
    """
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    if isinstance(value, list | tuple):
        return _option(option, ",".join(map(str, value)))
    return _option(option, "none" if value is None else str(value))


def _option(name: str, value: str) -> list[str]:
    """A value that looks like an option has to stand in the same word."""
    return [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]


def _listed(name: str) -> str:
    """A name in a list of names with commas between."""
    return f"`{name}`" if "," in name or name.startswith("`") else name


def free_folder(data: Path) -> Path:
    """A folder beside the working directory's others that does not exist: data-run-1, -2, ..."""
    stem = data.name.split(".")[0] or "data"
    number = 1
    while (folder := Path(f"{stem}-run-{number}")).exists():
        number += 1
    return folder


def _refuse_other_folder(folder: Path, force: bool) -> None:
    """Only a folder that holds a run, and nothing else, may be written over, and only if asked."""
    if not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file; choose another place with --out")
    found = set(folder.iterdir()) - set(_leftovers(folder))
    if found and not force:
        raise InputError(
            f"the run folder {str(folder)!r} exists; choose another with --out, go on with it by"
            " `symseek resume`, or write over it with --force"
        )
    if found and not _holds_run(folder):
        raise InputError(
            f"{str(folder)!r} is not a run folder, so --force does not write over it; choose"
            " another place with --out"
        )


def _leftovers(folder: Path) -> list[Path]:
    return [folder / left.name for name in _FILES for left in leftovers(folder / name)]


def _holds_run(folder: Path) -> bool:
    """Whether a run was begun here, whatever became of its files; others have settings too."""
    path = folder / "settings.json"
    return path.is_file() and b'"symseek"' in path.read_bytes()


def _read_json(folder: Path, path: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise InputError(f"there is no run folder {str(folder)!r}; `symseek fit` makes one")
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"{str(folder)!r} is not a run folder: it has no {path.name}; name a folder that"
            " `symseek fit` made"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from None
    if not isinstance(record, dict):
        raise _damaged(path, "it is no object")
    return record


def _text_or_none(value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise TypeError(f"{value!r} is no text")
    return value


def _damaged(path: Path, reason: object) -> InputError:
    text = str(reason).rstrip(".")
    return InputError(f"{str(path)!r} is damaged ({text}); run `symseek fit` again")


def _curve(history: Sequence[Iteration]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_CURVE, "best_so_far"])
    for now in history:
        best = "" if now.best is None else now.best.reward
        writer.writerow([*(getattr(now, name) for name in _CURVE), best])
    return out.getvalue()
