"""Writes what `symseek.runs.progress` reads: how far a search is, and what it has discovered.

Neither is needed to continue with a run, and a search that cannot write them continues without. The
error over time is kept with the progress, since a watcher may come late.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from symseek.display import SearchProgress
from symseek.files.regular import write_regular
from symseek.front import Entry
from symseek.loop import Iteration, Result
from symseek.model import Accuracy, Model
from symseek.programs import Program
from symseek.regression.regression import Regression
from symseek.runs.progress import (
    DISCOVERIES,
    MOST_DISCOVERIES,
    PROGRESS_FILE,
    Discovery,
    RunProgress,
    SeedProgress,
    read_discoveries,
)
from symseek.search import Search

EVERY = 0.09  # seconds between two writings of the progress, at least; an iteration adds to it

_SMALLER = 0.9  # of the error before: less is a discovery
_STEP = 0.99  # of the error before: less is another point of the course
_MOST_POINTS = 300  # of the course


State = Literal["searching", "finishing", "ended"]


class Live:
    """Writes both files: call it after each iteration, and say what else happens."""

    def __init__(self, folder: Path, regression: Regression) -> None:
        self._folder = folder
        self._regression = regression
        self._discoveries = read_discoveries(folder / DISCOVERIES)
        self._kept = True  # whether all of them are written
        self._errors: dict[Program, float | None] = {}  # of the best programs
        self._course = [(0.0, 1.0)]  # seconds, error; it begins with that of the mean
        self._due = 0.0
        self._now: Iteration | None = None  # the last iteration
        self._follow_histories()

    def _follow_histories(self) -> None:
        """Those of a run that continues have been written by another process."""
        before = 0.0
        for search in self._regression.searches:
            for now in search.state.history:
                self._follow(before + now.seconds, now.best)
                self._now = now
            before += search.state.seconds

    def _follow_fronts(self) -> None:
        """One that ends before its first iteration does has found something all the same."""
        for search in self._regression.searches:
            self._follow(self._total("seconds"), search.front.best)

    def __call__(self, now: Iteration) -> None:
        """An iteration has ended."""
        self._now = now
        self._follow(self._seconds(now), now.best)
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY
            self._write_progress("searching")

    def discovered(self, model: Model) -> None:
        """A new model: its pick is a discovery if its error is clearly smaller than before."""
        best, known = model.best, self._discoveries
        before = known[-1].nrmse if known else None
        if before is not None and not best.nrmse <= _SMALLER * before:
            return
        if not math.isfinite(best.nrmse) or len(known) >= MOST_DISCOVERIES:
            return
        seconds, expressions = round(self._total("seconds"), 2), self._total("expressions")
        about = best.text, best.complexity, best.nrmse, before
        known.append(Discovery(seconds, expressions, *about))
        self._keep_discoveries()

    def _keep_discoveries(self) -> None:
        self._kept = self._write(DISCOVERIES, [asdict(each) for each in self._discoveries])

    def finishing(self) -> None:
        """The search has ended, and what it found is being finished."""
        self._follow_fronts()
        self._write_progress("finishing")

    def ended(self, result: Result, model: Model) -> None:
        """Everything is finished and written."""
        self.discovered(model)
        if not self._kept:  # the disk may have room again
            self._keep_discoveries()
        self._write_progress("ended", ended=result.stopped.name, why=result.stopped.value)

    # --- what is written

    def _write_progress(self, state: State, **end: str) -> None:
        record = asdict(self._progress(state)) | end
        del record["at"]  # the time of the file
        self._write(PROGRESS_FILE, record)

    def _progress(self, state: State) -> RunProgress:
        regression, now = self._regression, self._now
        seconds, expressions = self._total("seconds"), self._total("expressions")
        done = None if now is None else SearchProgress(regression, now)
        return RunProgress(
            state,
            expressions,
            round(seconds, 2),
            most=regression.most_expressions,
            max_seconds=regression.settings.search_config().max_seconds,
            rate=round(expressions / max(seconds, 1e-9), 1),
            share=0.0 if done is None else done.share,
            left=None if done is None else done.left,
            structure=regression.structure,
            seeds=tuple(self._seed(each, state) for each in regression.searches),
            course=tuple(self._course),
        )

    def _seed(self, search: Search, state: State) -> SeedProgress:
        """How far the search with one seed is."""
        searches, running = self._regression.searches, self._regression.search
        turn = searches.index(search) - searches.index(running)
        if turn == 0:
            turn = 0 if state == "searching" else -1
        best = search.front.best
        return SeedProgress(
            search.seed,
            search.expressions,
            round(search.state.seconds, 2),
            "searching" if turn == 0 else "ended" if turn < 0 else "waiting",
            None if best is None else self._error(best.program),
        )

    def _write(self, name: str, record: Any) -> bool:
        """Write a file; False on a full disk, with which the search continues unwatched."""
        text = json.dumps(record, ensure_ascii=False, allow_nan=False)
        try:
            write_regular(self._folder / name, text, lasting=False)
        except OSError:
            return False
        return True

    # --- the error over time

    def _follow(self, seconds: float, best: Entry | None) -> None:
        """Note the error, if it is smaller than before."""
        error = None if best is None else self._error(best.program)
        if error is None or error >= _STEP * self._course[-1][1]:
            return
        self._course.append((round(seconds, 2), error))
        if len(self._course) > _MOST_POINTS:
            del self._course[1:-1:2]

    def _error(self, program: Program) -> float | None:
        """The NRMSE of a program of the search; None if it has none."""
        if program not in self._errors:
            data = self._regression.rows.searched
            known = self._regression.with_own(program)
            nrmse = Accuracy.of(known, data, self._regression.problem.reward).nrmse
            self._errors[program] = nrmse if math.isfinite(nrmse) else None
        return self._errors[program]

    def _seconds(self, now: Iteration) -> float:
        """The seconds of all seeds up to an iteration of the search that runs."""
        searches = self._regression.searches
        before = searches[: searches.index(self._regression.search)]
        return now.seconds + sum(each.state.seconds for each in before)

    def _total(self, name: str) -> Any:
        return sum(getattr(each.state, name) for each in self._regression.searches)
