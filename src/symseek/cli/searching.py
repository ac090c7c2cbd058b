"""A search of a command: what is seen of it while it runs, and said when it has ended."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from symseek.cli.options import FAILED, INTERRUPTED, say, shell_words, show
from symseek.cli.settings import fit_command, repeated
from symseek.errors import InputError, Message, Quoted, Setting

if TYPE_CHECKING:
    from symseek.files.tables import TrainingTable
    from symseek.loop import Iteration, Result, Stopped
    from symseek.model import Model
    from symseek.regression.regression import Regression
    from symseek.runs.folder import RunFolder
    from symseek.runs.recorder import Recorder
    from symseek.runs.request import FitRequest
    from symseek.settings import Settings


def search(
    run: RunFolder,
    regression: Regression,
    table: TrainingTable,
    options: argparse.Namespace,
    first_budget: bool = True,
) -> int:
    """Search, write what was found to the folder, print it, and return the exit code.

    One command repeats a run that had the same budget from its beginning on.
    """
    found = run_search(run, regression, table, options, first_budget)
    command = None
    if found.repeated is not None:
        command = fit_command(found.repeated)
    known, report = {"command": command, **found.known}, not options.no_report
    run.finish(found.model, table, found.result, known, report)
    found.recorder.ended(found.result, found.model)
    show(str(found.model))
    show(_summary(run, found.result, command, found.known, report))
    return said_of_ends(options, [found], run.write_errors)


@dataclass(frozen=True)
class Found:
    """What a search on a table has come to, before it is written down."""

    model: Model
    result: Result
    known: dict[str, str]  # of its structure and engine
    repeated: FitRequest | None  # what repeats it, if anything does
    recorder: Recorder


def said_of_ends(
    options: argparse.Namespace, found: Sequence[Found], errors: Sequence[Message]
) -> int:
    """Say what could not be written, and return the exit code."""
    from symseek.loop import Stopped
    from symseek.runs.ended import write_end

    sys.stdout.flush()
    unsaved = [each.recorder.error for each in found if each.recorder.error]
    for each in (*errors, *unsaved):
        say(each)
        write_end(options.ended, InputError(each))
    if any(each.result.stopped is Stopped.INTERRUPTED for each in found):
        return INTERRUPTED
    return FAILED if errors or unsaved else 0


def run_search(
    run: RunFolder,
    regression: Regression,
    table: TrainingTable,
    options: argparse.Namespace,
    first_budget: bool = True,
    label: str = "",
    begin: bool = True,
) -> Found:
    """Search with what there is to see of it, and what it has come to.

    A `label` says which of several searches it is. One that is not to `begin` was interrupted.
    """
    from symseek.display import run_with_progress
    from symseek.engines.choice import NATIVE
    from symseek.loop import Stopped
    from symseek.runs.regressions import known_of

    recorder = run.recorder(regression)
    warned = False

    def save(now: Iteration) -> None:
        nonlocal warned
        recorder(now)
        if recorder.error is not None and not warned:
            warned = True
            say(f"{recorder.error}; the search continues")

    if not options.quiet:
        rows, columns = table.X.shape
        noun = "column" if columns == 1 else "columns"
        say(f"{rows:,} rows, {columns} {noun} beside {table.target}; the run goes to {run.path}")
    try:
        if not begin:
            stopped = regression.finished or Stopped.INTERRUPTED
            result = replace(regression.run(lambda _: True), stopped=stopped)
        elif options.quiet:
            result = regression.run(save, recorder.started)
        else:
            result = run_with_progress(regression, sys.stderr, save, recorder.started, label)
    except InputError as error:
        if regression.search.engine.name == NATIVE:
            raise
        recorder.finish()
        raise InputError(_go_on(run, error, recorder.error)) from error
    recorder.finish()
    request = _repeating(run, regression, result) if first_budget else None
    return Found(regression.model(), result, known_of(regression), request, recorder)


def _go_on(run: RunFolder, error: InputError, unsaved: Message | None) -> str:
    """What to do about a search whose device has failed."""
    if unsaved is not None:
        return f"{error}; {unsaved}"
    command = shell_words(["symseek", "resume", str(run.path), "--engine", "native"])
    return f"{error}; the search is saved, and continues without the GPU by `{command}`"


def _repeating(run: RunFolder, regression: Regression, result: Result) -> FitRequest | None:
    """What repeats the run, if anything does: nothing if it ended by chance."""
    from symseek.loop import Stopped

    if result.stopped is Stopped.INTERRUPTED:
        return None
    if result.stopped is Stopped.TIME and result.repeated_by is None:
        return None
    without_proposals = {
        each.state.without_proposals for each in regression.searches if each.iteration
    }
    if len(without_proposals) == 2:
        return None
    request = replace(run.request, settings=regression.repeatable)
    if without_proposals == {True}:
        request = replace(request, settings=replace(request.settings, structure=False))
    return repeated(request, result)


def in_a_line(result: Result) -> str:
    """How long a search took, and why it ended."""
    rate = result.expressions / max(result.seconds, 1e-9)
    return (
        f"{result.expressions:,} expressions in {result.seconds:.1f} s ({rate:,.0f}/s), seed"
        f" {result.seed}: {result.stopped.value}"
    )


def _summary(
    run: RunFolder, result: Result, command: str | None, known: Mapping[str, str], report: bool
) -> str:
    from symseek.loop import Stopped

    lines = [
        "",
        *([f"units: {known['units']}"] if "units" in known else []),
        *([known["structure"]] if "structure" in known else []),
        in_a_line(result),
    ]
    if "engine" in known:
        lines.append(f"engine: {known['engine']}")
    if command is not None:
        lines.append(f"repeat it: {command}")
    if result.stopped is Stopped.INTERRUPTED:
        lines.append(f"continue: {shell_words(['symseek', 'resume', str(run.path)])}")
    use = f"use it: {shell_words(['symseek', 'predict', str(run.path)])} NEW.csv"
    lines.append(f"report: {run.path / 'report.html'}; {use}" if report else use)
    return "\n".join(lines)


# --- a run that continues


def continued(run: RunFolder, regression: Regression, settings: Settings) -> bool:
    """Bring a regression to where its run was left; returns whether one command can repeat both."""
    run.remove_leftovers()
    before, engine = run.restore(regression), regression.search.engine.name
    other = before not in (None, engine)
    if other and regression.finished is None:
        say(
            f"the run was on the engine {before!r} and continues with {engine!r}, so what it"
            " finds may differ in the last bits, and then in more, from a run on one engine"
        )
    return settings == run.request.settings and not other


def record_budget(run: RunFolder, settings: Settings) -> None:
    """Write down the budgets with which a run continues, if they are others."""
    if settings != run.request.settings:
        run.change_settings(settings)


def finished_error(path: Path, reason: Stopped) -> InputError:
    """Why there is nothing to continue with."""
    from symseek.loop import Stopped

    larger = {
        Stopped.BUDGET: Setting("max_expressions"),
        Stopped.TIME: Setting("max_seconds"),
        Stopped.EARLY: Setting("patience"),
    }.get(reason)
    advice = Message("there is nothing better to find")
    if larger is not None:
        advice = Message("give a larger ", larger, ", or none, to continue")
    text = f" is finished: {reason.value}; "
    return InputError("the run ", Quoted(path), text, advice, field=larger)
