"""`symseek show`, `predict` and `export`: what to do with a run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from symseek.cli.options import Commands, check_writable, natural, new_command
from symseek.errors import InputError, unknown_name

if TYPE_CHECKING:
    from symseek.model import Model

__all__ = ["add_export", "add_predict", "add_show"]

SHOW_DESCRIPTION = """\
Show the formulas of a run, simplest first, the picked one marked; with --row, one in full.
"""

PREDICT_DESCRIPTION = """\
Predict with a formula of a run: reads the columns it needs from a table and writes them as CSV with
the prediction beside them. Where the formula is undefined, the cell is left empty.
"""

EXPORT_DESCRIPTION = """\
Write a formula of a run for use elsewhere.

targets:
  latex        for a document; latex-table is the whole front as a table
  python       a function that needs nothing but Python
  numpy        a function of NumPy arrays
  c            a C99 function
  sympy        source that makes the SymPy expression
  excel        a formula for row 2 of a spreadsheet whose columns are those of the data
"""


def add_show(commands: Commands) -> None:
    """The command `show`."""
    show = new_command(commands, "show", "the formulas of a run", description=SHOW_DESCRIPTION)
    _add_run(show)
    show.set_defaults(command=_show)


def add_predict(commands: Commands) -> None:
    """The command `predict`."""
    text = "predict with a run"
    predict = new_command(commands, "predict", text, description=PREDICT_DESCRIPTION)
    _add_run(predict)
    add = predict.add_argument
    add("data", type=Path, metavar="FILE", help="the table: .csv, .tsv, .txt or .parquet")
    add("--out", type=Path, metavar="FILE", help="write here; default: print")
    add("--delimiter", metavar="CHARACTER", help="between columns; default: found by itself")
    predict.set_defaults(command=_predict)


def add_export(commands: Commands) -> None:
    """The command `export`."""
    text = "write a formula for use elsewhere"
    export = new_command(commands, "export", text, description=EXPORT_DESCRIPTION)
    _add_run(export)
    add = export.add_argument
    add("--to", required=True, metavar="TARGET", help="latex, python, numpy, c, sympy or excel")
    add("--out", type=Path, metavar="FILE", help="write here; default: print")
    export.set_defaults(command=_export)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of the run")
    parser.add_argument(
        "--row", type=natural, metavar="N", help="the row of the front; default: the picked one"
    )


def _model(options: argparse.Namespace) -> Model:
    from symseek.runs.folder import Run

    return Run.opened(options.run).model()


def _show(options: argparse.Namespace) -> int:
    model = _model(options)
    if options.row is None:
        print(model)
        print(f"\npicked by the rule {model.rule!r}; symseek show {options.run} --row N for more")
        return 0
    formula = model.formula(options.row)
    validation = (
        "" if formula.validation_r2 is None else f", validation R2 {formula.validation_r2:.6g}"
    )
    print(f"{model.target} = {formula.text}\n")
    print(f"in full     {formula.program}")
    print(f"complexity  {formula.complexity}")
    print(f"fit         R2 {formula.r2:.6g}, NRMSE {formula.nrmse:.6g}{validation}\n")
    print(formula.program.tree())
    return 0


def _predict(options: argparse.Namespace) -> int:
    import numpy as np
    import pandas

    from symseek.files.tables import read_inputs

    check_writable(options.out)
    model = _model(options)
    formula = model.formula(options.row)
    inputs = read_inputs(options.data, model.features, options.delimiter)
    values = formula.program.evaluate(inputs.X)
    undefined = ~np.isfinite(values)
    frame = pandas.DataFrame(inputs.X, columns=list(model.features))
    frame[_free(model.target, model.features)] = np.where(undefined, np.nan, values)
    _write(frame.to_csv(index=False), options.out)
    if undefined.any():
        first = int(np.argmax(undefined))
        print(
            f"symseek: {formula.text} is undefined in {undefined.sum():,} of {len(values):,} rows,"
            f" the first of them row {first + 1}; their cells are empty",
            file=sys.stderr,
        )
    return 0


def _free(name: str, taken: tuple[str, ...]) -> str:
    """A name for the prediction that no column has."""
    while name in taken:
        name += "_predicted"
    return name


def _export(options: argparse.Namespace) -> int:
    from symseek.export import TARGETS, export, latex_table

    check_writable(options.out)
    if options.to not in (*TARGETS, "latex-table"):
        raise unknown_name("target", options.to, [*TARGETS, "latex-table"])
    model = _model(options)
    if options.to == "latex-table":
        if options.row is not None:
            raise InputError("latex-table has all rows; leave out --row, or use --to latex")
        text = latex_table(model)
    else:
        text = export(model.formula(options.row).program, options.to)
    _write(text, options.out)
    return 0


def _write(text: str, path: Path | None) -> None:
    from symseek.files.atomic import write_whole

    text = text if text.endswith("\n") else text + "\n"
    if path is None:
        print(text, end="")
        return
    try:
        write_whole(path, text)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
