"""`symseek paper`: the paper's tables and figures, run here, with the paper's numbers beside."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from symseek.cli.bench import exit_code
from symseek.cli.options import Commands, names, new_command, parse_seeds, positive
from symseek.errors import InputError

if TYPE_CHECKING:
    from symseek.experiments import Store
    from symseek.experiments.paper.experiment import Experiment
    from symseek.experiments.paper.report import Request
    from symseek.experiments.runs.record import Record
    from symseek.experiments.runs.spec import Spec

__all__ = ["add_paper"]

DESCRIPTION = """\
Run an experiment of the paper and write its tables and figure, the paper's figures beside ours.

Without a name, the experiments are listed. Every finished run is kept in the store, and is not done
again by this experiment or another. Ctrl-C loses only the runs in progress.
The report is Markdown, each table also CSV and LaTeX, the figure SVG and PNG.
"""

EXAMPLES = """\
examples:
  symseek paper
  symseek paper table1 --seeds 2 --quick
  symseek paper table1 --seeds 100 --jobs 2
  symseek paper grid-dsr --seeds 3 --max-expressions 200000 --jobs 2
  symseek paper noise --seeds 10 --only dsr,gp --cluster auto
  symseek paper table1 --seeds 100 --take other-machine.sqlite --report
"""


def add_paper(commands: Commands) -> None:
    """The command `paper`."""
    paper = new_command(
        commands,
        "paper",
        "run the paper's experiments",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    add = paper.add_argument
    add("experiment", nargs="?", metavar="NAME", help="which one; without, they are listed")
    add(
        "--seeds",
        type=parse_seeds,
        metavar="N|LIST",
        help="how many seeds, counted from 0 (10), or which ones (3,5,8-10); default: the paper's",
    )
    add("--jobs", type=positive, default=1, metavar="N", help="runs at a time; default 1")
    add("--cluster", metavar="ADDRESS", help="a Ray cluster to run on instead: auto, host:6379")
    add(
        "--store",
        type=Path,
        default=Path("results.sqlite"),
        metavar="FILE",
        help="where the runs are kept; default results.sqlite",
    )
    add(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="FOLDER",
        help="where the report is written; default results",
    )
    add(
        "--only",
        type=_methods,
        default=[],
        metavar="METHODS",
        help="run these methods only: dsr,gp",
    )
    add(
        "--problems",
        type=names,
        default=[],
        metavar="NAMES",
        help="run these problems or suites only: Jin-2,Nguyen-c",
    )
    add(
        "--max-expressions",
        type=positive,
        metavar="N",
        help="budget of every run in graded expressions, for a smaller protocol than the paper's",
    )
    add("--quick", action="store_true", help="tiny budgets and few problems, to try it out")
    add(
        "--take",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="first copy the finished runs of another store, from another machine say, or of a"
        " report's NAME-runs.csv into this store; may be given several times",
    )
    add("--report", action="store_true", help="run nothing, report on what the store holds")
    add("--retry-failed", action="store_true", help="run again what has failed before")
    paper.set_defaults(command=_paper)


def _methods(text: str) -> list[str]:
    found = names(text)
    if not found:
        raise argparse.ArgumentTypeError("it names no method; give some, as in dsr,gp")
    return found


def _paper(options: argparse.Namespace) -> int:
    from symseek.experiments.paper.catalogue import EXPERIMENTS, experiment
    from symseek.experiments.paper.report import Request

    if options.experiment is None:
        _list(list(EXPERIMENTS.values()))
        return 0
    for name in ("retry_failed", "cluster"):
        if options.report and getattr(options, name):
            option = name.replace("_", "-")
            raise InputError(f"--report runs nothing; leave out --{option}")
    wanted = experiment(options.experiment)
    seeds = options.seeds or range(wanted.seeds)
    request = Request(
        wanted.name,
        seeds,
        options.quick,
        tuple(options.only),
        tuple(options.problems),
        options.max_expressions,
    )
    return _run(wanted, request, options)


def _list(experiments: list[Experiment]) -> None:
    """Print the name, the sentence and the size of each."""
    width = max(len(each.name) for each in experiments)
    for each in experiments:
        # Nearly everywhere every seed has the same runs.
        first, last = (len(each.specs([seed], False)) for seed in (0, each.seeds - 1))
        same = first == last
        runs = each.seeds * first if same else len(each.specs(range(each.seeds), False))
        print(f"{each.name:<{width}}  {each.what} ({each.source}; {runs:,} runs.)")


def _run(experiment: Experiment, request: Request, options: argparse.Namespace) -> int:
    """Do the runs that the store does not have, then write the report of all that it has."""
    from symseek.experiments import Store
    from symseek.experiments.paper.report import by_seeds, selected, write_report
    from symseek.experiments.runs.plan import check

    specs = selected(experiment, request)
    if not options.report:
        check(specs, with_libraries=options.cluster is None)
    with ExitStack() as stack:  # whatever may be refused is refused before anything is made
        others = [(path, _runs_of(path)) for path in options.take]
        create = bool(others) or not options.report
        store = stack.enter_context(Store(options.store, create=create))
        store.records(specs)
        _check_folder(options.out)
        for path, found in others:
            print(f"{path}: {store.take(found):,} runs were new", file=sys.stderr)
        status = 0 if options.report else _run_missing(specs, store, options)
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
        print(files[0].read_text(encoding="utf-8"))
        print(f"written: {', '.join(map(str, files))}", file=sys.stderr)
    return status


def _runs_of(path: Path) -> list[Record]:
    """The finished runs of another store, or of a table of runs."""
    from symseek.experiments import Store
    from symseek.experiments.runs.csv_file import read_runs

    if path.suffix.lower() == ".csv":
        return read_runs(path)
    with Store(path, create=False) as other:
        return other.records()


def _run_missing(specs: Sequence[Spec], store: Store, options: argparse.Namespace) -> int:
    """Do the runs that the store does not have, and return the exit code."""
    from symseek.experiments import run
    from symseek.experiments.progress import Progress

    with Progress(store, specs) as progress:
        outcome = run(
            specs,
            store,
            options.jobs,
            options.cluster,
            progress,
            retry_failed=options.retry_failed,
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
