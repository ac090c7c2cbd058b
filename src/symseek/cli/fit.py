"""`symseek fit`: from a file to a run folder."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from symseek.cli.fit_many import add_many, asks_for_many, fit_many
from symseek.cli.fit_targets import fit_targets, targets_named
from symseek.cli.options import (
    Commands,
    Parser,
    add_drop_missing,
    add_max_table_size,
    ended_by_signals,
    names,
    new_command,
    say,
)
from symseek.cli.searching import search
from symseek.cli.settings import add_settings, given_settings, vocabulary

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

Several targets, with commas between, are searched for one after another, each with the whole budget
and without the others as inputs; they have one run folder and one report.

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
  symseek fit motor.csv --target torque,power
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
    add(
        "--target",
        required=True,
        metavar="COLUMN",
        help="the column to find a formula for; or several, with commas between",
    )
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
    add(
        "--sigma",
        metavar="COLUMN",
        help="a column with the error of measurement of each row's target",
    )
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
        sigma=options.sigma,
        max_table_size=options.max_table_size,
    )
    targets = targets_named(options)
    if len(targets) > 1:
        return fit_targets(options, request, targets)
    request = replace(request, target=targets[0])
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
