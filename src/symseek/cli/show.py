"""`symseek show`: the formulas of a run."""

from __future__ import annotations

import argparse

from symseek.cli.fit_many import holds_many, show_many
from symseek.cli.options import Commands, add_run, new_command, read_model

__all__ = ["add_show"]

DESCRIPTION = """\
Show the formulas of a run, simplest first, the picked one marked; with --row, one in full.
Of the folder of many fits, show the summary.
"""


def add_show(commands: Commands) -> None:
    """The command `show`."""
    show = new_command(commands, "show", "the formulas of a run", description=DESCRIPTION)
    add_run(show)
    show.set_defaults(command=_show)


def _show(options: argparse.Namespace) -> int:
    if holds_many(options.run):
        return show_many(options.run)
    model = read_model(options)
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
    rmse = model.rmse(options.row)
    error = "" if rmse is None else f", RMSE {rmse:.6g} in the units of {model.target}"
    exact = ", exact: it meets every digit" if formula.exact else ""
    print(f"fit         R2 {formula.r2:.6g}, NRMSE {formula.nrmse:.6g}{error}{validation}{exact}\n")
    print(formula.program.tree())
    return 0
