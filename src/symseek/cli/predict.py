"""`symseek predict`: the values of a run's formula on new rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from symseek.cli.options import (
    Commands,
    add_drop_missing,
    add_max_table_size,
    add_out,
    add_run,
    check_writable,
    new_command,
    read_models,
    say,
    write_text,
)

DESCRIPTION = """\
Predict with a formula of a run: reads the columns it needs from a table and writes them as CSV with
the prediction beside them; --keep writes the other columns too. Where the formula is undefined, the
cell is left empty. Of a run with several targets there is a column for each.
"""


def add_predict(commands: Commands) -> None:
    """The command `predict`."""
    text = "predict with a run"
    predict = new_command(commands, "predict", text, description=DESCRIPTION)
    add_run(predict)
    add = predict.add_argument
    add(
        "data",
        type=Path,
        metavar="FILE",
        help="the table: .csv, .tsv, .txt, .dat, .parquet or .xlsx",
    )
    add_out(predict)
    add("--keep", action="store_true", help="write all columns of the table, as they are")
    add(
        "--interval",
        type=float,
        metavar="LEVEL",
        help="also write where a new row lies so often, such as 0.95: the columns low and high, and"
        " outside, which says in what a row is beyond the rows of the fit",
    )
    add("--delimiter", metavar="CHARACTER", help="between columns; default: found by itself")
    add("--sheet", metavar="NAME", help="of an Excel workbook; default: the first")
    add(
        "--missing",
        choices=("refuse", "rows"),
        default="refuse",
        help="what to do about rows with missing values: refuse the table (the default), or leave"
        " out these rows",
    )
    add_drop_missing(predict)
    add_max_table_size(predict)
    predict.set_defaults(command=_predict)


def _predict(options: argparse.Namespace) -> int:
    from symseek.files.predictions import predictions

    check_writable(options.out, options.overwrite)
    models = read_models(options)
    found = predictions(
        models,
        options.row,
        options.data,
        options.delimiter,
        options.missing,
        options.keep,
        options.max_table_size,
        options.sheet,
        options.interval,
    )
    for note in found.notes:
        say(note)
    write_text(found.frame.to_csv(index=False), options.out, options.overwrite)
    for complaint in filter(None, (found.complaint, found.beyond)):
        say(complaint)
    return 0
