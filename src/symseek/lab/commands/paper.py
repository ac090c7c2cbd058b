"""`symseek paper`: the paper's tables and figures, run here, with the paper's numbers beside."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from symseek.cli.options import Commands, add_workers, names, new_command, positive
from symseek.lab.commands.stored import add_seeds, add_store, run_experiment

if TYPE_CHECKING:
    from symseek.lab.reports.experiment import Experiment

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
  symseek paper table1 --seeds 100 --engine cuda
  symseek paper table1 --seeds 100 --take other-machine.sqlite --report
  symseek paper --page results
"""


def add_paper(commands: Commands) -> None:
    """The command `paper`."""
    paper = new_command(
        commands, "paper", "run the paper's experiments", description=DESCRIPTION, epilog=EXAMPLES
    )
    add = paper.add_argument
    add("experiment", nargs="?", metavar="NAME", help="which one; without, they are listed")
    add_seeds(add, "the paper's")
    add_workers(paper)
    add(
        "--only",
        type=_methods,
        default=[],
        metavar="METHODS",
        help="run these methods only: dsr,gp",
    )
    add(
        "--max-expressions",
        type=positive,
        metavar="N",
        help="budget of every run in graded expressions, for a smaller protocol than the paper's",
    )
    add(
        "--underflow-valid",
        action="store_true",
        help="let an underflow be valid, which the paper's methods take as invalid",
    )
    add("--quick", action="store_true", help="tiny budgets and few problems, to try it out")
    add(
        "--page",
        type=Path,
        metavar="FOLDER",
        help="run nothing; write FOLDER/paper.md, every table and figure of the paper and ours"
        " beside it, of the reports in the folders of FOLDER",
    )
    add_store(paper, out=Path("results"), names_like="Jin-2,Nguyen-c")
    paper.set_defaults(command=_paper)


def _methods(text: str) -> list[str]:
    found = names(text)
    if not found:
        raise argparse.ArgumentTypeError("it names no method; give some, as in dsr,gp")
    return found


def _paper(options: argparse.Namespace) -> int:
    from symseek.lab.paper.catalogue import EXPERIMENTS, experiment
    from symseek.lab.reports.report import Request
    from symseek.lab.trials.plan import check

    if options.page is not None:
        return _page(options)
    if options.experiment is None:
        _list(list(EXPERIMENTS.values()))
        return 0
    wanted = experiment(options.experiment)
    seeds = options.seeds or range(wanted.seeds)
    request = Request(
        wanted.name,
        seeds,
        options.quick,
        tuple(options.only),
        tuple(options.problems),
        options.max_expressions,
        options.engine,
        options.underflow_valid,
    )
    return run_experiment(wanted, request, options, check=check)


def _page(options: argparse.Namespace) -> int:
    """Write the page of all experiments."""
    from symseek.errors import InputError, printable
    from symseek.files.atomic import write_whole
    from symseek.lab.paper.page import page

    if options.experiment is not None:
        raise InputError(f"--page has all experiments; leave out {options.experiment!r}")
    text, path = page(options.page), options.page / "paper.md"
    try:
        write_whole(path, text)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None
    print(printable(f"written: {path}"))
    return 0


def _list(experiments: list[Experiment]) -> None:
    """Print the name, the sentence and the size of each."""
    width = max(len(each.name) for each in experiments)
    for each in experiments:
        # Nearly everywhere every seed has the same runs.
        first, last = (len(each.specs([seed], False)) for seed in (0, each.seeds - 1))
        same = first == last
        runs = each.seeds * first if same else len(each.specs(range(each.seeds), False))
        print(f"{each.name:<{width}}  {each.what} ({each.source}; {runs:,} runs.)")
