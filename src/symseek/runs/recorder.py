"""What a search leaves on disk while it runs: its state, the front so far, and how far it is.

A front so far is the front.json of a run with one key more, which says how far the search has come.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from symseek.errors import Message
from symseek.files.regular import write_regular
from symseek.front import Front
from symseek.loop import Iteration, Result
from symseek.model import Model
from symseek.regression.regression import Regression
from symseek.runs.checkpoint import Checkpointer
from symseek.runs.live import Live

CHECKPOINT = "checkpoint"  # the name of the file
PROGRESS = "progress"  # the key that only a front so far has
SAVE_EVERY = 5.0  # seconds between two checkpoints
FRONT_FIRST, FRONT_EVERY = 0.3, 1.0  # seconds to the first front so far, and between two

_SHARE = 0.02  # of the time, at most, goes into the front so far


class Recorder:
    """Saves the search and its front every few seconds: call it after each iteration.

    `finish` at the end saves the search once more, and `ended` says that all is written. If a
    checkpoint cannot be written, `error` says why and the search continues. A front so far that
    cannot be written is left out.
    """

    def __init__(self, folder: Path, regression: Regression) -> None:
        self.regression = regression
        self._front = folder / "front.json"
        self._folder = folder
        self._live = Live(folder, regression)
        self._checkpointers: list[Checkpointer] = []  # of the searches that have started
        self._latest_model: tuple[list[Front], Model] | None = None  # fronts, and the model of them
        self._due = time.monotonic() + min(FRONT_FIRST, FRONT_EVERY)

    @property
    def error(self) -> Message | None:
        """Why the last checkpoint could not be written."""
        errors = [each.error for each in self._checkpointers]
        return next((each for each in errors if each is not None), None)

    def __call__(self, now: Iteration) -> None:
        """Save what is due."""
        self._latest()(now)
        self._live(now)
        began = time.monotonic()
        if began < self._due:
            return
        with suppress(OSError):
            write_regular(self._front, self._so_far())
        took = time.monotonic() - began
        self._due = time.monotonic() + max(FRONT_EVERY, took / _SHARE if FRONT_EVERY else 0.0)

    def started(self) -> None:
        """Write the first formulas, which are there before the first iteration ends."""
        with suppress(OSError):
            write_regular(self._front, self._so_far())

    def finish(self) -> None:
        """Save what has changed of the search since the last time."""
        self._latest().finish()
        self._live.finishing()

    def ended(self, result: Result, model: Model) -> None:
        """Say that the search has ended, and that its results are written."""
        self._live.ended(result, model)

    def _latest(self) -> Checkpointer:
        """That of the search that runs; those before it have a file each, and are saved."""
        searches = self.regression.searches
        while len(self._checkpointers) <= searches.index(self.regression.search):
            if self._checkpointers:
                self._checkpointers[-1].finish()
            path = checkpoint_path(self._folder, len(self._checkpointers))
            search = searches[len(self._checkpointers)]
            self._checkpointers.append(Checkpointer(search, path, SAVE_EVERY))
        return self._checkpointers[-1]

    def _so_far(self) -> str:
        searches = self.regression.searches
        progress = {
            "expressions": sum(each.expressions for each in searches),
            "most": self.regression.most_expressions,
            "seconds": round(sum(each.state.seconds for each in searches), 1),
        }
        return front_text(self._model(), progress)

    def _model(self) -> Model:
        """The model so far, made again if a front has changed."""
        fronts = [each.front for each in self.regression.searches]
        if self._latest_model is None or self._latest_model[0] != fronts:
            self._latest_model = fronts, self.regression.model(final=False)
            self._live.discovered(self._latest_model[1])
        return self._latest_model[1]


def checkpoint_path(folder: Path, at: int) -> Path:
    """Where the state of a search is kept: each seed has its own.

    >>> [checkpoint_path(Path("run"), at).name for at in (0, 1)]
    ['checkpoint', 'checkpoint-2']
    """
    return folder / (f"{CHECKPOINT}-{at + 1}" if at else CHECKPOINT)


def front_text(model: Model, progress: Mapping[str, Any] | None = None) -> str:
    """The content of front.json."""
    record = model.to_dict()
    if progress is not None:
        record[PROGRESS] = dict(progress)
    return json.dumps(record, indent=2, ensure_ascii=False)


def how_far(progress: Any) -> str:
    """How far a search had come when it wrote its front, as the end of a sentence."""
    if not isinstance(progress, dict):
        return ""
    done, most, seconds = (progress.get(name) for name in ("expressions", "most", "seconds"))
    limited = type(most) is int
    if type(done) is not int or not (limited or most is None) or type(seconds) not in (int, float):
        return " (how far it had come cannot be read)"
    count = f"{done:,} of at most {most:,}" if limited else f"{done:,}"
    return f": {count} expressions in {seconds:,.1f} s"
