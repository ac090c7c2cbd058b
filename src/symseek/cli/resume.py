"""`symseek resume`: continue with a run."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from symseek.cli.fit import add_ended, add_no_report
from symseek.cli.fit_many import add_many, holds_many, refuse_many, resume_many
from symseek.cli.fit_targets import resume_targets
from symseek.cli.options import Commands, add_max_table_size, ended_by_signals, new_command
from symseek.cli.searching import continued, finished_error, record_budget, search
from symseek.cli.settings import add_settings, given_settings

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
    from symseek.runs.targets import holds_targets

    if holds_many(options.run):
        return resume_many(options)
    if holds_targets(options.run):
        refuse_many(options)
        return resume_targets(options)
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
        once = continued(run, regression, settings)
        reason = regression.finished
        if reason is not None and run.complete:
            raise finished_error(run.path, reason)
        record_budget(run, settings)
        return search(run, regression, table, options, first_budget=once)
