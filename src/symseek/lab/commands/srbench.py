"""`symseek srbench`: SRBench's problems with known formulas, and the published rates beside."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from symseek.cli.options import Commands, names, new_command, positive, share
from symseek.lab.commands.stored import add_seeds, add_store, run_experiment

if TYPE_CHECKING:
    from symseek.jobs.spec import Spec

DESCRIPTION = """\
Fit the 130 problems with known formulas of SRBench, and write how many formulas are found.

A run is a fit without settings on at most 10,000 rows with noise on the target. Its formula is
graded in three ways: the form is right (its numbers fitted again to rows without noise it is
exact), it is solved by SRBench's rule (as printed, numbers to three decimals), it is accurate
(R2 above 0.999 on test rows). Every finished run is kept in the store, and is not done again.
The report is Markdown, each table also CSV and LaTeX, the figure SVG and PNG.
"""

EXAMPLES = """\
examples:
  symseek srbench --problems feynman_I_12_1,feynman_I_6_2 --seeds 1 --noise 0
  symseek srbench --problems Strogatz --noise 0,0.01 --jobs 1
  symseek srbench --seeds 10 --seconds 600
  symseek srbench --take other-machine.sqlite --report
"""


def add_srbench(commands: Commands) -> None:
    """The command `srbench`."""
    srbench = new_command(
        commands,
        "srbench",
        "run SRBench's problems with known formulas",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    add = srbench.add_argument
    add_seeds(add, "3")
    add(
        "--noise",
        type=_levels,
        metavar="LEVELS",
        help="noise on the target, over its root mean square; default 0,0.001,0.01,0.1",
    )
    add(
        "--seconds",
        type=_seconds,
        metavar="S",
        help="how many seconds to search in a run; default 60",
    )
    add("--threads", type=positive, metavar="N", help="threads of each run; default 2")
    add(
        "--max-expressions",
        type=positive,
        metavar="N",
        help="how many formulas to try at most in a run; default: 1,000,000, SRBench's limit",
    )
    add("--jobs", type=positive, default=1, metavar="N", help="runs at a time; default 1")
    add_store(srbench, out=Path("results/srbench"), names_like="Strogatz,feynman_I_6_2")
    srbench.set_defaults(command=_srbench)


def _levels(text: str) -> tuple[float, ...]:
    found = sorted({share(part) for part in names(text)})
    if not found:
        raise argparse.ArgumentTypeError("it names no level of noise; give some, as in 0,0.01")
    return tuple(found)


def _seconds(text: str) -> float:
    if share(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return share(text)


def _srbench(options: argparse.Namespace) -> int:
    from symseek.lab.srbench import experiment as srbench
    from symseek.lab.srbench.execute import EXECUTE, check

    given = {"levels": options.noise, "seconds": options.seconds, "threads": options.threads}
    asked = srbench.SRBenchRequest(
        "srbench",
        options.seeds or range(srbench.SEEDS),
        problems=tuple(options.problems),
        max_expressions=options.max_expressions,
        **{name: value for name, value in given.items() if value is not None},
    )

    def check_all(specs: Sequence[Spec], here: bool) -> None:
        for spec in specs:
            check(spec)

    return run_experiment(srbench.experiment(asked), asked, options, EXECUTE, check=check_all)
