"""One of many fits, done in a worker process or on a machine of a cluster: a run folder of its own.

A run that was cut off is continued from its checkpoint, and comes to the result that it would have
had. The data are read here, so that no table goes through the process that started the workers.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from symseek.errors import InputError
from symseek.files.limits import MOST_TABLE
from symseek.files.tables import TrainingTable
from symseek.jobs.perform import report
from symseek.jobs.record import Record, Snapshot
from symseek.jobs.spec import Spec
from symseek.loop import Iteration, Stopped
from symseek.many.line import failed, record_of
from symseek.regression.regression import Regression
from symseek.runs.folder import RunFolder, holds_run
from symseek.runs.lock import holder
from symseek.runs.regressions import known_of, make_regression
from symseek.runs.request import FitRequest

METHOD = "fit"
EXECUTE = "symseek.many.fit:execute"

UNIMPORTANT = ("parent", "threads", "report", "max_table_size")
"""Settings of a spec that do not change what is found."""

_REPORT_EVERY = 0.5  # seconds between two snapshots
_LOCK_PATIENCE = 10.0  # seconds in which a worker that was given up has ended


def spec_of(
    folder: str,
    stamp: str,
    request: Mapping[str, Any],
    parent: Path,
    threads: int = 1,
    report: bool = True,
    max_table_size: int = MOST_TABLE,
) -> Spec:
    """What determines a fit: the table and its stamp, the columns and the settings."""
    settings = {
        "stamp": stamp,
        "request": dict(request),
        "parent": str(parent),
        "threads": threads,
        "report": report,
        "max_table_size": max_table_size,
    }
    return Spec(METHOD, folder, int(request["settings"]["seed"]), settings)


def execute(spec: Spec) -> Record:
    """Do the fit; what is wrong with its table is the sentence of a failed record."""
    try:
        return _fit(spec)
    except InputError as error:
        return failed(spec, error)
    except MemoryError:
        return Record(spec, "failed", error="there is not enough memory; fit fewer at a time")


def _fit(spec: Spec) -> Record:
    parent = Path(spec.settings["parent"])
    if not parent.is_dir():
        raise InputError(
            f"there is no folder {str(parent)!r} on the machine {platform.node()!r}; all machines"
            " of a cluster need the data and the folder of the runs under the same path"
        )
    request = FitRequest.from_dict(dict(spec.settings["request"]), spec.settings["threads"])
    most = spec.settings["max_table_size"]
    request = replace(request, data=parent / request.data, max_table_size=most)
    folder = parent / spec.problem
    if folder.is_symlink():
        raise InputError(f"the run folder {str(folder)!r} is a link; remove it")
    table = request.read_table()
    request = replace(request, left_out=table.left_out)
    regression, run = _started(folder, request, table)
    with run:
        return _searched(spec, run, regression, table)


def _started(
    folder: Path, request: FitRequest, table: TrainingTable
) -> tuple[Regression, RunFolder]:
    """The regression as far as the run folder has it, and the folder, locked."""
    deadline = time.monotonic() + _LOCK_PATIENCE
    while holder(folder) is not None and time.monotonic() < deadline:
        time.sleep(0.1)
    regression = make_regression(table, request.settings)
    run = _opened(folder, request.settings.threads)
    if run is not None:
        run.lock()
        try:
            if run.request.settings == request.settings:
                run.remove_leftovers()
                run.restore(regression)
                return regression, run
        except InputError:  # of other data or settings, or damaged: it is started again
            regression = make_regression(table, request.settings)
        except BaseException:
            run.close()
            raise
        run.close()
    return regression, RunFolder.create(folder, request, overwrite=True)


def _opened(folder: Path, threads: int) -> RunFolder | None:
    """The run that is there; one whose settings are damaged is started again."""
    with suppress(InputError):
        return RunFolder.open(folder, threads) if holds_run(folder) else None
    return None


def _searched(spec: Spec, run: RunFolder, regression: Regression, table: TrainingTable) -> Record:
    """Search to the end, and write everything to the run folder."""
    recorder, due = run.recorder(regression), 0.0

    def each(now: Iteration) -> None:
        nonlocal due
        recorder(now)
        if time.monotonic() >= due:
            due = time.monotonic() + _REPORT_EVERY
            best = "" if now.best is None else str(now.best.program)
            reward = 0.0 if now.best is None else now.best.reward
            report(Snapshot(spec, now.expressions, now.seconds, reward, best))

    try:
        result = regression.run(each)
    finally:  # a fit that is ended from outside continues from here
        recorder.finish()
    if result.stopped is Stopped.INTERRUPTED:
        raise InputError("the fit was interrupted; start it again to continue")
    model = regression.model()
    run.finish(model, table, result, known_of(regression), spec.settings["report"])
    recorder.ended(result, model)
    for error in (*run.write_errors, recorder.error):
        if error is not None:
            raise InputError(error)
    return record_of(spec, table, model, result)
