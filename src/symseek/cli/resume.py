"""`symseek resume`: continue with a run."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from symseek.cli.fit import add_ended, add_no_report, search
from symseek.cli.fit_many import add_many, holds_many, refuse_many, resume_many
from symseek.cli.options import Commands, add_max_table_size, ended_by_signals, new_command, say
from symseek.cli.settings import add_settings, given_settings
from symseek.errors import InputError, Message, Quoted, Setting

if TYPE_CHECKING:
    from symseek.regression.regression import Regression
    from symseek.runs.folder import RunFolder

DESCRIPTION = """\
Continue a run that was stopped, killed or ended.

A run that was killed ends with the same result as without the interruption. One that has spent its
time or its number of expressions continues if more is given, as in --max-seconds 120. A report that
was left out is written. A run that has lost its GPU continues with --engine native; the last bits
of what it finds may then differ.

With the folder of many fits, those that are not done are continued, and those that failed are
tried again.
"""


def add_resume(commands: Commands) -> None:
    """The command `resume`."""
    resume = new_command(commands, "resume", "continue with a run", description=DESCRIPTION)
    add = resume.add_argument
    add("run", type=Path, metavar="RUN", help="the folder of the run")
    add("--quiet", action="store_true", help="show no progress")
    add_max_table_size(resume)
    add_many(resume)
    add_no_report(resume)
    add_ended(resume)
    add_settings(resume, resumed=True)
    resume.set_defaults(command=_resume)


@ended_by_signals()
def _resume(options: argparse.Namespace) -> int:
    from symseek.algebra.threads import reserve_buffers
    from symseek.runs.folder import RunFolder
    from symseek.runs.regressions import make_regression

    if holds_many(options.run):
        return resume_many(options)
    refuse_many(options)
    reserve_buffers()
    given = given_settings(options)
    run = RunFolder.open(options.run, given["threads"])
    run.lock()
    with run:
        settings = replace(run.request.settings, **given)
        run.request = replace(run.request, max_table_size=options.max_table_size)
        table = run.request.read_table()
        regression = make_regression(table, settings)
        run.remove_leftovers()
        before, engine = run.restore(regression), regression.search.engine.name
        _refuse_finished(run, regression)
        if before not in (None, engine):
            say(
                f"the run was on the engine {before!r} and continues with {engine!r}, so what it"
                " finds may differ in the last bits, and then in more, from a run on one engine"
            )
        same = settings == run.request.settings
        if not same:
            run.change_settings(settings)
        once = same and before in (None, engine)  # one command can repeat it
        return search(run, regression, table, options, first_budget=once)


def _refuse_finished(run: RunFolder, regression: Regression) -> None:
    from symseek.loop import Stopped

    reason = regression.finished
    if reason is None or not run.complete:
        return
    larger = {
        Stopped.BUDGET: Setting("max_expressions"),
        Stopped.TIME: Setting("max_seconds"),
        Stopped.EARLY: Setting("patience"),
    }.get(reason)
    advice = Message("there is nothing better to find")
    if larger is not None:
        advice = Message("give a larger ", larger, ", or none, to continue")
    raise InputError(
        "the run ", Quoted(run.path), f" is finished: {reason.value}; ", advice, field=larger
    )
