"""`symseek export`: a run's formula for use elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from symseek.cli.options import (
    Commands,
    add_run,
    check_writable,
    new_command,
    read_model,
    write_text,
)
from symseek.errors import InputError, unknown_name

__all__ = ["add_export"]

DESCRIPTION = """\
Write a formula of a run for use elsewhere.

targets:
  latex        for a document; latex-table is the whole front as a table
  python       a function that needs nothing but Python
  numpy        a function of NumPy arrays
  c            a C99 function
  sympy        source that makes the SymPy expression
  excel        a formula for row 2 of a spreadsheet whose columns are those of the data
"""


def add_export(commands: Commands) -> None:
    """The command `export`."""
    text = "write a formula for use elsewhere"
    export = new_command(commands, "export", text, description=DESCRIPTION)
    add_run(export)
    add = export.add_argument
    add("--to", required=True, metavar="TARGET", help="latex, python, numpy, c, sympy or excel")
    add("--out", type=Path, metavar="FILE", help="write here; default: print")
    export.set_defaults(command=_export)


def _export(options: argparse.Namespace) -> int:
    from symseek.export import TARGETS, export, latex_table

    check_writable(options.out)
    if options.to not in (*TARGETS, "latex-table"):
        raise unknown_name("target", options.to, [*TARGETS, "latex-table"])
    model = read_model(options)
    if options.to == "latex-table":
        if options.row is not None:
            raise InputError("latex-table has all rows; leave out --row, or use --to latex")
        text = latex_table(model)
    else:
        text = export(model.formula(options.row).program, options.to)
    write_text(text, options.out)
    return 0
