"""`symseek export`: a run's formula for use elsewhere."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from symseek.cli.options import (
    Commands,
    add_out,
    add_run,
    check_writable,
    new_command,
    read_model,
    say,
    write_text,
)
from symseek.errors import InputError, Setting, shown, unknown_name

if TYPE_CHECKING:
    from symseek.model import Model

DESCRIPTION = """\
Write a formula of a run for use elsewhere.

targets:
  latex        for a document; latex-table is the whole front as a table
  python       a function that needs nothing but Python
  numpy        a function of NumPy arrays
  c            a C99 function
  sympy        source that makes the SymPy expression
  excel        a formula for the first row of a spreadsheet that has the columns of the data file,
               to be filled down; --cells says where they are in another sheet

Of a fit with --group, functions take the label of the group as well, and have a table of the
numbers that each group has of its own.
"""


def add_export(commands: Commands) -> None:
    """The command `export`."""
    text = "write a formula for use elsewhere"
    export = new_command(commands, "export", text, description=DESCRIPTION)
    add_run(export)
    add = export.add_argument
    add("--to", required=True, metavar="TARGET", help="latex, python, numpy, c, sympy or excel")
    add_out(export)
    add(
        "--cells",
        type=_cells,
        default={},
        metavar="CELLS",
        help="for excel, the cells of columns, such as a=C2,b=F2; default: as in the data file",
    )
    export.set_defaults(command=_export)


def _export(options: argparse.Namespace) -> int:
    from symseek.export import TARGETS, cells_of, commented, export, latex_own, latex_table

    check_writable(options.out, options.overwrite)
    if options.to not in (*TARGETS, "latex-table"):
        raise unknown_name("target", options.to, [*TARGETS, "latex-table"])
    if options.cells and options.to != "excel":
        raise InputError(Setting("cells"), " are for the target 'excel'; leave them out")
    model = read_model(options)
    if options.to == "latex-table":
        if options.row is not None:
            raise InputError("latex-table has all rows; leave out --row, or use --to latex")
        text = latex_table(model)
    else:
        cells = cells_of(model) | options.cells
        more = {"cells": cells} if options.to == "excel" else {}
        program = model.formula(options.row).form()
        text = export(program, options.to, **more)
        if options.to == "latex" and program.own_used:
            text = f"{text}\n\n{latex_own(program)}"
        if more:
            _say_guessed(model, cells, options.cells)
    formula = None if options.to == "latex-table" else model.formula(options.row)
    text = commented(text, options.to, model.remarks(formula))
    write_text(text, options.out, options.overwrite)
    return 0


def _say_guessed(model: Model, cells: dict[str, str], given: dict[str, str]) -> None:
    """Say which cells were taken where the run does not know."""
    guessed = [f"{name}={cells[name]}" for name in model.features if name not in given]
    if model.layout is None and guessed:
        say(
            f"this run does not say where its columns are in the data file; {','.join(guessed)}"
            " was taken, and --cells gives others"
        )


def _cells(text: str) -> dict[str, str]:
    """Cells by the names of columns; a name in backquotes may have commas and equals signs.

    >>> _cells("a=C2, `flow, in l/s`=Sheet2!$D$1")
    {'a': 'C2', 'flow, in l/s': 'Sheet2!$D$1'}
    """
    found, rest = {}, text.strip()
    while rest:
        pair = _CELL.match(rest)
        if pair is None:
            raise argparse.ArgumentTypeError(
                f"{shown(text)} names no cells; write them as a=C2,b=F2"
            )
        found[pair[1] or pair[2].strip()] = pair[3].strip()
        rest = rest[pair.end() :].lstrip(" ,")
    return found


_CELL = re.compile(r"(?:`([^`]+)`|([^`=,][^=,]*))\s*=\s*([^,=\s][^,]*)")
