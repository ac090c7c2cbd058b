"""`symseek predict`: the values of a run's formula on new rows."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

from symseek.cli.options import (
    Commands,
    add_run,
    check_writable,
    new_command,
    read_model,
    say,
    write_text,
)

__all__ = ["add_predict"]

DESCRIPTION = """\
Predict with a formula of a run: reads the columns it needs from a table and writes them as CSV with
the prediction beside them; --keep writes the other columns too. Where the formula is undefined, the
cell is left empty.
"""


def add_predict(commands: Commands) -> None:
    """The command `predict`."""
    text = "predict with a run"
    predict = new_command(commands, "predict", text, description=DESCRIPTION)
    add_run(predict)
    add = predict.add_argument
    add("data", type=Path, metavar="FILE", help="the table: .csv, .tsv, .txt, .dat or .parquet")
    add("--out", type=Path, metavar="FILE", help="write here; default: print")
    add("--keep", action="store_true", help="write all columns of the table, as they are")
    add("--delimiter", metavar="CHARACTER", help="between columns; default: found by itself")
    add("--drop-missing", action="store_true", help="leave out rows with missing values")
    predict.set_defaults(command=_predict)


def _predict(options: argparse.Namespace) -> int:
    import numpy as np
    import pandas

    from symseek.files.tables import read_all, read_inputs

    check_writable(options.out)
    model = read_model(options)
    formula = model.formula(options.row)
    inputs = read_inputs(options.data, model.features, options.delimiter, options.drop_missing)
    for note in inputs.notes:
        say(note)
    values = formula.program.evaluate(inputs.X)
    undefined = ~np.isfinite(values)
    if options.keep:
        frame = read_all(options.data, options.delimiter).iloc[inputs.rows]
    else:
        frame = pandas.DataFrame(inputs.X, columns=list(model.features))
    predicted = np.where(undefined, np.nan, values)
    frame = frame.assign(**{_unused_name(model.target, frame.columns): predicted})
    write_text(frame.to_csv(index=False), options.out)
    if undefined.any():
        first = int(np.argmax(undefined))
        say(
            f"{formula.text} is undefined in {undefined.sum():,} of {len(values):,} rows,"
            f" the first of them row {first + 1}; their cells are empty"
        )
    return 0


def _unused_name(name: str, used: Collection[str]) -> str:
    """A name for the prediction that no column has."""
    while name in used:
        name += "_predicted"
    return name
