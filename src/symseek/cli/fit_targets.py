"""`symseek fit` and `symseek resume` for several targets of one table.

The targets are searched for one after another, each as it would be alone. Ctrl-C ends the search
that runs and keeps what it has found; those after it begin when the run is resumed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symseek.cli.fit_many import asks_for_many
from symseek.cli.options import names, say, shell_words, show
from symseek.cli.searching import (
    Found,
    continued,
    finished_error,
    in_a_line,
    record_budget,
    run_search,
    said_of_ends,
)
from symseek.cli.settings import fit_words, given_settings
from symseek.errors import InputError

if TYPE_CHECKING:
    from symseek.files.tables import TrainingTable
    from symseek.regression.regression import Regression
    from symseek.runs.folder import RunFolder
    from symseek.runs.request import FitRequest
    from symseek.runs.targets import TargetsFolder


def targets_named(options: argparse.Namespace) -> list[str]:
    """The targets that a command names; a column whose name has a comma is one."""
    text: str = options.target
    found = names(text)
    if len(found) < 2 or "`" in text:
        return found or [text]
    if len(options.data) == 1 and options.data[0].is_file():
        from symseek.files.tables import open_table

        file = options.data[0]
        source = open_table(file, options.delimiter, options.max_table_size, options.sheet)
        if text in source.names:
            return [text]
    return found


@dataclass
class _Job:
    """The search for one target."""

    run: RunFolder
    table: TrainingTable
    regression: Regression
    once: bool = True  # whether one command can repeat it


def fit_targets(options: argparse.Namespace, request: FitRequest, targets: Sequence[str]) -> int:
    """Search for each target, and return the exit code."""
    from symseek.algebra.threads import reserve_buffers
    from symseek.runs.folder import new_folder
    from symseek.runs.regressions import make_regression
    from symseek.runs.targets import TargetsFolder, requests_of

    if asks_for_many(options):
        raise InputError("several targets are for one table; name one target, or one table")
    reserve_buffers()
    # All that can be wrong is found before hours of work on the first.
    found = [(each, each.read_table()) for each in requests_of(request, targets)]
    made = [make_regression(table, request.settings) for _, table in found]
    requests = [replace(each, left_out=table.left_out) for each, table in found]
    path = options.folder or new_folder(options.data[0])
    with ExitStack() as stack:
        folder = TargetsFolder.create(path, requests, options.overwrite)
        folder.lock(stack)
        for note in dict.fromkeys(note for _, table in found for note in table.notes):
            say(note, options.parser)
        jobs = []
        for run, each, (_, table), regression in zip(
            folder.runs(), requests, found, made, strict=True
        ):
            run.request = each  # with the name of the file as it was given
            jobs.append(_Job(run, table, regression))
        return _search(folder, jobs, options)


def resume_targets(options: argparse.Namespace) -> int:
    """Continue with each target that has something left to do."""
    from symseek.algebra.threads import reserve_buffers
    from symseek.runs.regressions import make_regression
    from symseek.runs.targets import TargetsFolder

    reserve_buffers()
    given = given_settings(options)
    folder = TargetsFolder.open(options.run)
    with ExitStack() as stack:
        folder.lock(stack)
        jobs = []
        for run in folder.runs(given["threads"]):
            settings = replace(run.request.settings, **given)
            run.request = replace(run.request, max_table_size=options.max_table_size)
            table = run.request.read_table()
            regression = make_regression(table, settings)
            once = continued(run, regression, settings)
            jobs.append((settings, _Job(run, table, regression, once)))
        reasons = [job.regression.finished for _, job in jobs]
        report = options.no_report or (folder.path / "report.html").is_file()
        if report and None not in reasons and all(job.run.complete for _, job in jobs):
            raise finished_error(folder.path, next(filter(None, reasons)))
        for settings, job in jobs:
            record_budget(job.run, settings)
        return _search(folder, [job for _, job in jobs], options)


def _search(folder: TargetsFolder, jobs: Sequence[_Job], options: argparse.Namespace) -> int:
    """Search for each target, write and print what was found, and return the exit code."""
    from symseek.loop import Stopped
    from symseek.runs.targets import Searched

    done: list[tuple[_Job, Found]] = []
    for number, job in enumerate(jobs, 1):
        stopped = bool(done) and done[-1][1].result.stopped is Stopped.INTERRUPTED
        if stopped and not any(len(each.front) for each in job.regression.searches):
            continue  # nothing has been found for it
        with job.run as run:
            run.lock()
            label = f"{job.table.target} ({number} of {len(jobs)})"
            found = run_search(
                run, job.regression, job.table, options, job.once, label, begin=not stopped
            )
            run.finish(found.model, job.table, found.result, report=False)
            found.recorder.ended(found.result, found.model)
        done.append((job, found))
    commands = _repeating(folder, done)
    errors = [each for job, _ in done for each in job.run.write_errors]
    if not options.no_report:
        known = {"command": "\n".join(commands) or None}
        parts = [
            Searched(job.run.request, job.table, found.model, found.result) for job, found in done
        ]
        unwritten = folder.write_report(parts, known)
        errors += [] if unwritten is None else [unwritten]
    for _, found in done:
        show(f"{found.model}\n")
    _say_how_it_went(folder, done, commands, not options.no_report)
    return said_of_ends(options, [found for _, found in done], errors)


def _say_how_it_went(
    folder: TargetsFolder, done: Sequence[tuple[_Job, Found]], commands: list[str], report: bool
) -> None:
    from symseek.loop import Stopped

    for job, found in done:
        more = [f"units: {found.known['units']}"] if "units" in found.known else []
        more += [found.known["structure"]] if "structure" in found.known else []
        show("; ".join([f"{job.table.target}: {in_a_line(found.result)}", *more]))
    for command in commands:
        show(f"repeat it: {command}")
    ends = [found.result.stopped for _, found in done]
    if Stopped.INTERRUPTED in ends or len(done) < len(folder.targets):
        show(f"continue: {shell_words(['symseek', 'resume', str(folder.path)])}")
    use = f"use it: {shell_words(['symseek', 'predict', str(folder.path)])} NEW.csv"
    show(f"report: {folder.path / 'report.html'}; {use}" if report else use)


def _repeating(folder: TargetsFolder, done: Sequence[tuple[_Job, Found]]) -> list[str]:
    """The command that repeats all searches, or one for each where their budgets differ."""
    requests = [found.repeated for _, found in done]
    if None in requests or len(done) < len(folder.targets):
        return []
    known = [each for each in requests if each is not None]
    alike = {tuple(fit_words(replace(each, target="", left_out=None))) for each in known}
    if len(alike) == 1:
        return [shell_words(fit_words(known[0], folder.targets))]
    alone = [
        replace(each, features=job.table.features)
        for each, (job, _) in zip(known, done, strict=True)
    ]
    return [shell_words(fit_words(each)) for each in alone]
