"""`symseek show`: the formulas of a run."""

from __future__ import annotations

import argparse

from symseek.cli.fit_many import holds_many, show_many
from symseek.cli.options import (
    Commands,
    add_run,
    new_command,
    read_model,
    read_models,
    shell_words,
    show,
)
from symseek.model import Model
from symseek.text import text_table

DESCRIPTION = """\
Show the formulas of a run, simplest first, the picked one marked; with --row, one in full.
Of a run with several targets, show those of each. Of the folder of many fits, show the summary.
"""


def add_show(commands: Commands) -> None:
    """The command `show`."""
    parser = new_command(commands, "show", "the formulas of a run", description=DESCRIPTION)
    add_run(parser)
    parser.set_defaults(command=_show)


def _show(options: argparse.Namespace) -> int:
    if holds_many(options.run):
        return show_many(options.run)
    if options.row is None:
        models = read_models(options, so_far=True)
        more = shell_words(["symseek", "show", str(options.run)])
        one = "" if len(models) == 1 else " --target COLUMN"
        for model in models:
            show(f"{model}\n")
        show(f"picked by the rule {models[0].rule!r}; {more}{one} --row N for more")
        return 0
    model = read_model(options)
    formula = model.formula(options.row)
    validation = (
        "" if formula.validation_r2 is None else f", validation R2 {formula.validation_r2:.6g}"
    )
    rmse = model.rmse(options.row)
    error = "" if rmse is None else f", RMSE {rmse:.6g} in the units of {model.target}"
    exact = ", exact: it meets every digit" if formula.exact else ""
    show(f"{model.heading} = {formula.text}")
    show(f"where {formula.where}\n" if formula.where else "")
    for style in ("factored", "expanded"):
        other = formula.written(style)
        if other != formula.text:
            show(f"{style:<12}{other}")
    show(f"in full     {formula.form()}")
    for each in formula.breaks:
        show(f"beware      {each}")
    if formula.with_errors:
        show(f"with errors {formula.with_errors}")
    show(f"complexity  {formula.complexity}")
    asked = "" if formula.loss is None else f", {model.loss} {formula.loss:.6g}"
    error += asked
    show(f"fit         R2 {formula.r2:.6g}, NRMSE {formula.nrmse:.6g}{error}{validation}{exact}")
    for limit in formula.limits:
        show(f"limit       {limit}")
    show(f"evidence    {_evidence(model, options.row)}\n" if formula.evidence else "")
    known = [
        (f"{each.shown} {each.unit}".rstrip(), each.said) for each in formula.numbers if each.said
    ]
    if known:
        lines = text_table([("number", "what the rows say of it"), *known], left=True)
        show("\n".join(lines) + "\n")
    show(formula.form().tree())
    if formula.own is not None:
        show("\n".join(model.own_lines(options.row)))
    return 0


def _evidence(model: Model, row: int) -> str:
    """How a row compares with the picked one."""
    formula, against = model.formula(row), model.against(row)
    known = formula.evidence
    assert known is not None
    length = "" if formula.description is None else f"description {formula.description:.1f} nats, "
    text = f"{length}AICc {known.aicc:.1f}, BIC {known.bic:.1f}"
    if against is None or row == model.picked:
        return text
    winner = f"row {model.picked}, the picked one" if against > 0 else "it"
    loser = "it" if against > 0 else f"row {model.picked}, the picked one"
    return f"{text}; {abs(against):.1f} nats for {winner}, against {loser}"
