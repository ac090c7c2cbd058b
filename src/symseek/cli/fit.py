"""`symseek fit` and `symseek resume`: from a file to a run folder."""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symseek.cli.options import FAILED, INTERRUPTED, Commands, Parser, names, new_command
from symseek.errors import InputError

if TYPE_CHECKING:
    from symseek.files.tables import Table
    from symseek.loop import Result
    from symseek.regression.regression import Regression
    from symseek.regression.settings import Settings
    from symseek.runs.folder import Run

__all__ = ["add_fit", "add_resume"]

FIT_DESCRIPTION = """\
Search a table for a formula.

The file is CSV, TSV or Parquet with a header; all its columns but the target are used unless
--features names some. While it searches, a bar and the best formulas so far are shown. Ctrl-C ends
early and keeps everything. What is found goes into a folder, by default data-run-1 for data.csv:
the formulas (front.csv, front.json), a report to open in a browser (report.html), the settings, the
course of the search (curve.csv) and a checkpoint to go on from.
"""

FIT_EXAMPLES = """\
examples:
  symseek fit data.csv --target y
  symseek fit lab.tsv --target power --features voltage,current --max-seconds 20
  symseek fit noisy.csv --target y --validation 0.2
  symseek fit data.csv --target y --operators add,sub,mul,div --out my-run
"""

RESUME_DESCRIPTION = """\
Go on with a run that was stopped, killed or ended.

A run that was killed comes to what it would have come to. One that has spent its budget goes on if
a larger one is given.
"""


def add_fit(commands: Commands) -> None:
    """The command `fit`."""
    text = "find a formula in a file"
    fit = new_command(commands, "fit", text, description=FIT_DESCRIPTION, epilog=FIT_EXAMPLES)
    add = fit.add_argument
    add("data", type=Path, metavar="FILE", help="the table: .csv, .tsv, .txt or .parquet")
    add("--target", required=True, metavar="COLUMN", help="the column to find a formula for")
    add(
        "--features",
        type=names,
        metavar="COLUMNS",
        help="columns that it may use, with commas between; default: all others",
    )
    add("--weights", metavar="COLUMN", help="a column that says how much each row counts")
    add("--delimiter", metavar="CHARACTER", help="between columns; default: found by itself")
    add("--out", type=Path, metavar="FOLDER", help="where the run goes; default: data-run-1, ...")
    add("--force", action="store_true", help="write over a run that is there")
    add("--quiet", action="store_true", help="show no progress")
    for each in _options():
        _add_setting(fit, each.name, each.metadata["help"], each.default)
    fit.set_defaults(command=_fit)


def add_resume(commands: Commands) -> None:
    """The command `resume`."""
    resume = new_command(commands, "resume", "go on with a run", description=RESUME_DESCRIPTION)
    add = resume.add_argument
    add("run", type=Path, metavar="RUN", help="the folder of the run")
    add("--quiet", action="store_true", help="show no progress")
    for each in _options():
        if each.name in ("max_expressions", "max_seconds", "patience", "threads"):
            _add_setting(resume, each.name, each.metadata["help"], argparse.SUPPRESS)
    resume.set_defaults(command=_resume)


def _options() -> list[Any]:
    """The settings that can be given as text."""
    from symseek.regression.settings import Settings

    return [each for each in fields(Settings) if "help" in each.metadata]


def _add_setting(parser: Parser, name: str, text: str, default: Any) -> None:
    """An option for a field of `Settings`; what is not given is left out."""
    option = "--" + name.replace("_", "-")
    if isinstance(default, bool):
        parser.add_argument(
            f"--no-{option[2:]}" if default else option,
            dest=name,
            action="store_false" if default else "store_true",
            default=argparse.SUPPRESS,
            help=f"not: {text}" if default else text,
        )
        return
    reading = _READERS.get(name, str)
    if name == "threads":
        shown: Any = "every core"
    else:
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
    parser.add_argument(
        option,
        type=reading,
        default=argparse.SUPPRESS,
        metavar="N" if reading in (_whole, _whole_or_none) else "X",
        help=text if default is argparse.SUPPRESS else f"{text}; default {shown}",
    )


def _whole(text: str) -> int:
    try:
        return int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return value


def _whole_or_none(text: str) -> int | None:
    return None if text == "none" else _whole(text)


def _number_or_none(text: str) -> float | None:
    return None if text == "none" else _number(text)


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(names(text))


_READERS: dict[str, Any] = {
    "operators": _tokens,
    "max_length": _whole,
    "max_expressions": _whole,
    "max_seconds": _number_or_none,
    "patience": _whole_or_none,
    "validation": _number,
    "sample_rows": _whole_or_none,
    "seed": _whole,
    "threads": _whole,
}


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given, and as many threads as there are cores."""
    from symseek.regression.settings import cores

    given = {each.name: getattr(options, each.name) for each in _options() if each.name in options}
    return {"threads": cores(), **given}


def _fit(options: argparse.Namespace) -> int:
    from symseek.regression.settings import Settings
    from symseek.runs.folder import Question, Run, free_folder

    settings = Settings(**_given(options))
    features = None if options.features is None else tuple(options.features)
    question = Question(
        options.data, options.target, features, options.weights, options.delimiter, settings
    )
    table = question.table()
    regression = _regression(table, settings)
    folder = options.out or free_folder(options.data)
    run = Run.created(folder, question, options.force)
    for note in table.notes:
        _say(note)
    return _search(run, regression, table, options.quiet)


def _resume(options: argparse.Namespace) -> int:
    from symseek.runs.folder import Run

    given = _given(options)
    run = Run.opened(options.run, given["threads"])
    settings = replace(run.question.settings, **given)
    table = run.question.table()
    regression = _regression(table, settings)
    run.sweep()
    run.restore(regression)
    _refuse_finished(run, regression)
    if settings != run.question.settings:
        run.raise_budget(settings)
    return _search(run, regression, table, options.quiet)


def _refuse_finished(run: Run, regression: Regression) -> None:
    from symseek.loop import Stopped

    why = regression.search.finished
    if why is None or not run.complete:
        return
    cure = (
        "there is nothing better to find"
        if why is Stopped.REWARD
        else "give a larger --max-expressions, --max-seconds or --patience to go on"
    )
    raise InputError(f"the run {str(run.folder)!r} is finished: {why.value}; {cure}")


def _regression(table: Table, settings: Settings) -> Regression:
    from symseek.regression.regression import Regression

    return Regression(
        table.X,
        table.y,
        table.features,
        settings,
        target=table.target,
        weights=table.weights,
    )


def _search(run: Run, regression: Regression, table: Table, quiet: bool) -> int:
    """Search, print what was found and put it into the folder."""
    from symseek.loop import Stopped
    from symseek.regression.progress import watched

    keeper = run.keeper(regression)
    told: list[str] = []

    def keep(now: Any) -> None:
        keeper(now)
        if keeper.error is not None and not told:
            told.append(keeper.error)
            _say(f"{keeper.error}; the search goes on")

    if not quiet:
        rows, columns = table.X.shape
        noun = "column" if columns == 1 else "columns"
        _say(f"{rows:,} rows, {columns} {noun} beside {table.target}; the run goes to {run.folder}")
    result = regression.run(keep) if quiet else watched(regression, sys.stderr, keep)
    keeper.finish()
    model = regression.model()
    print(model)
    print(_ending(run, result))
    run.finish(model, table, result)
    for trouble in [*run.troubles, *([keeper.error] if keeper.error else [])]:
        _say(trouble)
    if result.stopped is Stopped.INTERRUPTED:
        return INTERRUPTED
    return FAILED if run.troubles or keeper.error else 0


def _ending(run: Run, result: Result) -> str:
    rate = result.expressions / max(result.seconds, 1e-9)
    return (
        f"\n{result.expressions:,} expressions in {result.seconds:.1f} s ({rate:,.0f}/s), seed"
        f" {result.seed}: {result.stopped.value}\n"
        f"report: {run.folder / 'report.html'}; use it: symseek predict {run.folder} NEW.csv"
    )


def _say(text: str) -> None:
    print(f"symseek: {text}", file=sys.stderr, flush=True)
