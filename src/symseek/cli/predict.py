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
the prediction beside them. Where the formula is undefined, the cell is left empty.
"""


def add_predict(commands: Commands) -> None:
    """The command `predict`."""
    text = "predict with a run"
    predict = new_command(commands, "predict", text, description=DESCRIPTION)
    add_run(predict)
    add = predict.add_argument
    add("data", type=Path, metavar="FILE", help="the table: .csv, .tsv, .txt or .parquet")
    add("--out", type=Path, metavar="FILE", help="write here; default: print")
    add("--delimiter", metavar="CHARACTER", help="between columns; default: found by itself")
    predict.set_defaults(command=_predict)


def _predict(options: argparse.Namespace) -> int:
    import numpy as np
    import pandas

    from symseek.files.tables import read_inputs

    check_writable(options.out)
    model = read_model(options)
    formula = model.formula(options.row)
    inputs = read_inputs(options.data, model.features, options.delimiter)
    values = formula.program.evaluate(inputs.X)
    undefined = ~np.isfinite(values)
    frame = pandas.DataFrame(inputs.X, columns=list(model.features))
    frame[_unused_name(model.target, model.features)] = np.where(undefined, np.nan, values)
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
