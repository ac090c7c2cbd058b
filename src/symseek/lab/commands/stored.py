"""What commands share that do many runs: the options of the store and the report, and the runs."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symseek.cli.options import FAILED, INTERRUPTED, Parser, names, parse_seeds, show
from symseek.errors import InputError, printable

if TYPE_CHECKING:
    from symseek.jobs.record import Record
    from symseek.jobs.spec import Spec
    from symseek.lab import Outcome, Store
    from symseek.lab.reports.experiment import Experiment
    from symseek.lab.reports.report import Request


def add_seeds(add: Callable[..., Any], otherwise: str, default: list[int] | None = None) -> None:
    """The option of the seeds, to a parser or a group of one."""
    text = "how many seeds, counted from 0 (10), or which ones (3,5,8-10); default"
    text += f" {otherwise}" if otherwise.isdigit() else f": {otherwise}"
    add("--seeds", type=parse_seeds, default=default, metavar="N|LIST", help=text)


def add_store(parser: Parser, out: Path, names_like: str) -> None:
    """The options of which problems are run, and where runs are done, kept and reported."""
    add = parser.add_argument
    only = f"run these problems or suites only: {names_like}"
    add("--problems", type=names, default=[], metavar="NAMES", help=only)
    add("--cluster", metavar="ADDRESS", help="a Ray cluster to run on instead: auto, host:6379")
    add(
        "--store",
        type=Path,
        default=Path("results.sqlite"),
        metavar="FILE",
        help="where the runs are kept; default results.sqlite",
    )
    where = f"where the report is written; default {out}"
    add("--out", type=Path, default=out, metavar="FOLDER", help=where)
    add(
        "--take",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="first copy the finished runs of another store, from another machine say, or of a"
        " report's NAME-runs.csv.gz into this store; may be given several times",
    )
    add("--report", action="store_true", help="run nothing, report on what the store holds")
    add("--retry-failed", action="store_true", help="run again what has failed before")


def exit_code(outcome: Outcome) -> int:
    """How a command that does runs ends."""
    if outcome.interrupted:
        return INTERRUPTED
    return FAILED if outcome.failures else 0


def run_experiment(
    experiment: Experiment,
    request: Request,
    options: argparse.Namespace,
    execute: str | None = None,
    *,
    check: Callable[[Sequence[Spec], bool], None],
) -> int:
    """Do the runs that the store does not have, then write the report of all that it has.

    `execute` names the function that does a run, where it is not the usual one. `check` refuses
    specs that no run can have; its second argument says whether the runs are done on this machine.
    """
    from symseek.lab import Store
    from symseek.lab.reports.report import by_seeds, selected, write_report

    for name in ("retry_failed", "cluster"):
        if options.report and getattr(options, name):
            option = name.replace("_", "-")
            raise InputError(f"--report runs nothing; leave out --{option}")
    specs = selected(experiment, request)
    if not options.report:
        check(specs, options.cluster is None)
    with ExitStack() as stack:  # whatever may be refused is refused before anything is made
        others = [(path, _runs_of(path)) for path in options.take]
        read_only = options.report and not others
        store = stack.enter_context(Store(options.store, read_only=read_only))
        store.records(specs)
        _check_folder(options.out)
        for path, found in others:
            print(printable(f"{path}: {store.take(found):,} runs were new"), file=sys.stderr)
        status = 0 if options.report else _run_missing(specs, request, store, options, execute)
        records = store.records(specs)
    done = [record for record in records if record.status == "done"]
    if options.report or done:
        requests = by_seeds(request, specs, done) if options.report else [request]
        try:
            files = write_report(experiment, requests, specs, records, options.out)
        except OSError as error:
            raise InputError(
                f"cannot write the report to {str(options.out)!r}: {error.strerror}; the runs are"
                f" safe in {str(options.store)!r}, and --report writes it again"
            ) from None
        show(files[0].read_text(encoding="utf-8"))
        print(printable(f"written: {', '.join(map(str, files))}"), file=sys.stderr)
    return status


def _runs_of(path: Path) -> list[Record]:
    """The finished runs of another store, or of a table of runs."""
    from symseek.lab import Store
    from symseek.lab.trials.csv_file import read_runs

    if path.name.lower().endswith((".csv", ".csv.gz")):
        return read_runs(path)
    with Store(path, read_only=True) as other:
        return other.records()


def _run_missing(
    specs: Sequence[Spec],
    request: Request,
    store: Store,
    options: argparse.Namespace,
    execute: str | None,
) -> int:
    """Do the runs that the store does not have, and return the exit code."""
    from symseek.jobs.progress import Progress
    from symseek.lab import run
    from symseek.lab.trials.execute import EXECUTE

    with Progress(store, specs) as progress:
        outcome = run(
            specs,
            store,
            options.jobs,
            options.cluster,
            progress,
            execute or EXECUTE,
            options.retry_failed,
            request.engine,
        )
        progress.summary(outcome)
    return exit_code(outcome)


def _check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written before the hours of work, not after them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"cannot write to the folder {str(folder)!r}: {error.strerror}") from None
