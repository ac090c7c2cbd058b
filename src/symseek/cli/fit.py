"""`symseek fit`: from a file to a run folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from symseek.cli.fit_many import add_many, asks_for_many, fit_many
from symseek.cli.options import (
    FAILED,
    INTERRUPTED,
    Commands,
    Parser,
    add_drop_missing,
    add_max_table_size,
    ended_by_signals,
    names,
    new_command,
    say,
    shell_words,
    show,
)
from symseek.cli.settings import add_settings, fit_command, given_settings, vocabulary
from symseek.errors import InputError, Message

if TYPE_CHECKING:
    from symseek.files.tables import TrainingTable
    from symseek.loop import Iteration, Result
    from symseek.regression.regression import Regression
    from symseek.runs.folder import RunFolder

DESCRIPTION = """\
Search a table for a formula.

The file is CSV, TSV, columns aligned with blanks, Parquet, or Excel's .xlsx, with a line of names;
lines that begin with # and a row of units are left out. All columns but the target are used unless
--features names some; row numbers, identifiers, constants and copies of other columns only if they
are named there, or --all-columns is given.

A fit searches until a formula is exact, or what is left cannot be distinguished from noise by a
test, or the time is up; with neither --max-seconds nor --max-expressions it may run until Ctrl-C.
While it searches, a bar and the best formulas so far are shown. Ctrl-C, like `kill`, ends early and
keeps everything.

What is found goes into a folder, by default data-run-1 for data.csv: the formulas (front.csv,
front.json), a report to open in a browser (report.html), the settings, the course of the search
(curve.csv) and a checkpoint to resume from. `symseek show` prints the formulas so far while it
searches.

Several files, a folder of files, or --by COLUMN make a fit for each file or each value of the
column, some at a time (--jobs). Each has its run folder inside one folder, by default data-runs-1,
with a summary of all (summary.html, summary.csv). A file that cannot be fitted is a line in the
summary, and the exit code is then 1. After Ctrl-C, the same command with the same --out, or
`symseek resume data-runs-1`, continues: what is done is kept, and what failed is tried again.
"""

EXAMPLES = """\
examples:
  symseek fit data.csv --target y
  symseek fit lab.tsv --target power --features voltage,current --max-seconds 20
  symseek fit noisy.csv --target y --validation 0.2
  symseek fit data.csv --target y --operators add,sub,mul,div --out my-run
  symseek fit *.csv --target y --jobs 4
  symseek fit measurements/ --target y --out fits
  symseek fit long.csv --target y --by sensor
  symseek fit growth.csv --target mass --group strain
"""


def add_fit(commands: Commands) -> None:
    """The command `fit`."""
    text = "find a formula in a file"
    epilog = f"{vocabulary()}\n{EXAMPLES}"
    fit = new_command(commands, "fit", text, description=DESCRIPTION, epilog=epilog)
    add = fit.add_argument
    add(
        "data",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="the table: .csv, .tsv, .txt, .dat, .parquet, .xlsx; or several, or a folder of them",
    )
    add("--target", required=True, metavar="COLUMN", help="the column to find a formula for")
    add(
        "--features",
        type=names,
        metavar="COLUMNS",
        help="columns that it may use, with commas between; default: all others but row numbers,"
        " identifiers, constants and copies",
    )
    add("--all-columns", action="store_true", help="use those as well")
    add("--by", metavar="COLUMN", help="fit the rows of each value of this column on their own")
    add(
        "--group",
        metavar="COLUMN",
        help="a column of text or numbers that tells groups of rows apart: one formula for all,"
        " with some of its numbers each group's own",
    )
    add("--weights", metavar="COLUMN", help="a column that says how much each row counts")
    add("--delimiter", metavar="CHARACTER", help="between columns; default: found by itself")
    add("--sheet", metavar="NAME", help="of an Excel workbook; default: the first")
    add_max_table_size(fit)
    add(
        "--out",
        dest="folder",
        type=Path,
        metavar="FOLDER",
        help="where the run goes; default: data-run-1, ...; of several, data-runs-1, ...",
    )
    add("--force", dest="overwrite", action="store_true", help="write over a run that is there")
    add("--quiet", action="store_true", help="show no progress")
    add_many(fit)
    add_no_report(fit)
    add_ended(fit)
    add_settings(fit)
    add_drop_missing(fit)
    fit.set_defaults(command=_fit)


@ended_by_signals()
def _fit(options: argparse.Namespace) -> int:
    from symseek.algebra.threads import reserve_buffers
    from symseek.runs.folder import RunFolder, new_folder
    from symseek.runs.regressions import make_regression
    from symseek.runs.request import FitRequest
    from symseek.settings import Settings

    settings = Settings(**given_settings(options))
    features = None if options.features is None else tuple(options.features)
    columns = options.target, features, options.weights
    data = options.data[0]
    request = FitRequest(
        data,
        *columns,
        options.delimiter,
        settings,
        all_columns=options.all_columns,
        sheet=options.sheet,
        group=options.group,
        max_table_size=options.max_table_size,
    )
    if asks_for_many(options):
        return fit_many(options, request)
    reserve_buffers()
    table = request.read_table()
    request = replace(request, left_out=table.left_out)
    regression = make_regression(table, settings)
    folder = options.folder or new_folder(data)
    with RunFolder.create(folder, request, options.overwrite) as run:
        for note in table.notes:
            say(note, options.parser)
        return search(run, regression, table, options)


def add_ended(parser: Parser) -> None:
    """Where a program that starts searches finds what was wrong with one."""
    parser.add_argument("--ended", type=Path, help=argparse.SUPPRESS)


def add_no_report(parser: Parser) -> None:
    """The option that leaves out the report."""
    parser.add_argument("--no-report", action="store_true", help="write no report.html")


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
    from symseek.display import run_with_progress
    from symseek.engines.choice import NATIVE
    from symseek.loop import Stopped
    from symseek.runs.ended import write_end
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
        if options.quiet:
            result = regression.run(save, recorder.started)
        else:
            result = run_with_progress(regression, sys.stderr, save, recorder.started)
    except InputError as error:
        if regression.search.engine.name == NATIVE:
            raise
        recorder.finish()
        raise InputError(_go_on(run, error, recorder.error)) from error
    recorder.finish()
    model = regression.model()
    command = _repeating(run, regression, result) if first_budget else None
    known = known_of(regression)
    run.finish(model, table, result, {"command": command, **known}, not options.no_report)
    recorder.ended(result, model)
    show(str(model))
    show(_summary(run, result, command, known, not options.no_report))
    sys.stdout.flush()
    errors = [*run.write_errors, *([recorder.error] if recorder.error else [])]
    for each in errors:
        say(each)
        write_end(options.ended, InputError(each))
    if result.stopped is Stopped.INTERRUPTED:
        return INTERRUPTED
    return FAILED if errors else 0


def _go_on(run: RunFolder, error: InputError, unsaved: Message | None) -> str:
    """What to do about a search whose device has failed."""
    if unsaved is not None:
        return f"{error}; {unsaved}"
    command = shell_words(["symseek", "resume", str(run.path), "--engine", "native"])
    return f"{error}; the search is saved, and continues without the GPU by `{command}`"


def _repeating(run: RunFolder, regression: Regression, result: Result) -> str | None:
    """The command that repeats the run, if there is one: not if it ended by chance."""
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
    return fit_command(request, result)


def _summary(
    run: RunFolder, result: Result, command: str | None, known: Mapping[str, str], report: bool
) -> str:
    from symseek.loop import Stopped

    rate = result.expressions / max(result.seconds, 1e-9)
    lines = [
        "",
        *([f"units: {known['units']}"] if "units" in known else []),
        *([known["structure"]] if "structure" in known else []),
        f"{result.expressions:,} expressions in {result.seconds:.1f} s ({rate:,.0f}/s), seed"
        f" {result.seed}: {result.stopped.value}",
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
