"""`symseek fit` for several files, a folder, or the groups of one table; and `symseek resume`."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from symseek.cli.options import (
    FAILED,
    INTERRUPTED,
    Parser,
    positive,
    say,
    shell_words,
    show,
    wording_of,
)
from symseek.cli.settings import given_settings
from symseek.errors import Action, InputError, Setting

if TYPE_CHECKING:
    from symseek.many.folder import ManyFolder, WorkerPlan
    from symseek.many.line import FitSummary
    from symseek.runs.request import FitRequest


def add_many(parser: Parser) -> None:
    """The options of how many tables are fitted."""
    add = parser.add_argument
    add(
        "--jobs",
        type=positive,
        metavar="N",
        help="tables at a time, each with one thread; default: one for each core",
    )
    add(
        "--cluster",
        metavar="ADDRESS",
        help="fit the tables on a Ray cluster (auto, HOST:6379, ray://HOST:10001) that shares the"
        " folders of the data and the runs; needs symseek[cluster]",
    )


def holds_many(path: Path) -> bool:
    """Whether this is the folder of many fits; asked before anything else is loaded."""
    return (path / "fits.json").is_file()


def refuse_many(options: argparse.Namespace) -> None:
    """Refuse the options of many fits where there is one run."""
    for name in ("jobs", "cluster"):
        if getattr(options, name) is not None:
            raise InputError(f"--{name} is for the folder of many fits, and this is one run")


def asks_for_many(options: argparse.Namespace) -> bool:
    """Whether the command is for several tables, and not for one as it is."""
    asked = (options.by, options.jobs, options.cluster)
    several = len(options.data) > 1 or any(path.is_dir() for path in options.data)
    return several or any(each is not None for each in asked)


def fit_many(options: argparse.Namespace, request: FitRequest) -> int:
    """Fit every table, and return the exit code."""
    from symseek.many.folder import nothing_left
    from symseek.many.tables import files_named
    from symseek.runs.folder import new_folder

    _check(options, request)
    files, notes = files_named(options.data)
    parent = options.folder or new_folder(_named_after(options.data), kind="runs")
    with nothing_left(parent):
        folder = _prepared(options, request, parent, files)
    for note in notes:
        say(note)
    return _run(folder, options, _workers(folder, options))


def _check(options: argparse.Namespace, request: FitRequest) -> None:
    """Refuse options that do not fit together, and a cluster that is not there."""
    from symseek.many.folder import WorkerPlan

    WorkerPlan.chosen(1, options.jobs, options.cluster, getattr(options, "threads", None))
    if options.cluster is not None:
        from symseek.jobs.cluster import connected

        connected(options.cluster)
    if options.by is None:
        return
    for name in ("target", "weights", "sigma", "group"):
        if (column := getattr(request, name)) == options.by:
            raise InputError(f"column {column!r} is both --by and --{name}; choose another")
    if options.by in (request.features or ()):
        raise InputError(f"column {options.by!r} is for --by; leave it out of --features")


def resume_many(options: argparse.Namespace) -> int:
    """Continue with the fits of a folder."""
    from symseek.many.folder import ManyFolder

    given = set(given_settings(options)) & set(vars(options)) - {"threads"}
    if given:
        name = min(given)
        raise InputError(
            Setting(name),
            " cannot be changed for many fits that have begun; ",
            Action("fit"),
            " the tables with it into another folder",
        )
    folder = ManyFolder.open(options.run)
    most = options.max_table_size
    folder = replace(folder, request=replace(folder.request, max_table_size=most))
    folder = folder.looked_at_again()
    return _run(folder, options, _workers(folder, options))


def show_many(path: Path) -> int:
    """Print the summary of a folder of fits."""
    from symseek.many.folder import ManyFolder
    from symseek.many.summary import summary_text

    folder = ManyFolder.open(path)
    show(summary_text(folder.lines(wording_of(None)), folder.noun))
    return 0


def _named_after(paths: list[Path]) -> Path:
    """What a new folder is named after: the one table or folder, or the folder of the tables."""
    if len(paths) == 1:
        return Path(os.path.abspath(paths[0]))
    with suppress(ValueError):  # on different drives
        return Path(os.path.commonpath([os.path.abspath(path.parent) for path in paths]))
    return Path("data")


def _prepared(
    options: argparse.Namespace, request: FitRequest, parent: Path, files: list[Path]
) -> ManyFolder:
    """The folder with its tables: files as they are, or a file for each group."""
    from symseek.many.folder import ManyFolder
    from symseek.many.groups import split_file
    from symseek.many.tables import file_tables

    if options.by is None:
        folder = ManyFolder.begin(parent, request, "file", None, options.overwrite)
        return folder.of(file_tables(files, folder.tables))
    if len(files) > 1:
        raise InputError(f"--by is for one table, and {len(files)} are named; name one")
    # The files of the groups have commas between their columns, whatever the table has.
    request = replace(request, delimiter=None, sheet=None)
    folder = ManyFolder.begin(parent, request, "group", options.by, options.overwrite)
    given = (
        options.delimiter,
        request.settings.missing == "rows",
        options.max_table_size,
        options.sheet,
    )
    split = split_file(files[0], options.by, parent, folder.known, *given)
    for note in split.notes:
        say(note)
    return folder.of(split.tables)


def _workers(folder: ManyFolder, options: argparse.Namespace) -> WorkerPlan:
    from symseek.many.folder import WorkerPlan

    threads = getattr(options, "threads", None)
    return WorkerPlan.chosen(len(folder.tables), options.jobs, options.cluster, threads)


def _run(folder: ManyFolder, options: argparse.Namespace, workers: WorkerPlan) -> int:
    """Do the fits, write the summary, print it, and return the exit code."""
    if not options.quiet:
        say(f"the runs go to {folder.path}")
    wording = wording_of(options.parser)
    try:
        outcome, lines = folder.fit(workers, not options.no_report, not options.quiet, wording)
    except InputError:  # of the cluster, say: what is done is done
        _summarise(folder, folder.lines(wording))
        _say_how_to_continue(folder)
        raise
    _summarise(folder, lines)
    if outcome.interrupted:
        _say_how_to_continue(folder)
        return INTERRUPTED
    return FAILED if any(line.error for line in lines) else 0


def _summarise(folder: ManyFolder, lines: list[FitSummary]) -> None:
    """Write the summary, and print it."""
    from symseek.many.summary import summary_text

    files = folder.write_summary(lines)
    show(summary_text(lines, folder.noun))
    show(f"\nsummary: {', '.join(str(path) for path in reversed(files))}")
    sys.stdout.flush()


def _say_how_to_continue(folder: ManyFolder) -> None:
    say(f"continue: {shell_words(['symseek', 'resume', str(folder.path)])}")
