"""`symseek bench` and `symseek problems`: the benchmark problems, run and listed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from symseek.cli.options import (
    Commands,
    add_workers,
    check_writable,
    natural,
    new_command,
    parse_seeds,
    positive,
    say,
    share,
)
from symseek.lab.commands.stored import add_seeds, exit_code
from symseek.text import can_redraw, text_table

if TYPE_CHECKING:
    from symseek.lab.problems import BenchmarkProblem

_WIDTH = 80  # of a terminal
_OPERATOR = re.compile(r"(?<!\*)\*(?!\*)|[-+/]")  # that a formula may be broken before

BENCH_DESCRIPTION = """\
Run benchmark problems and report how often the true formula was recovered.

Each run searches until its best formula is proved equal to the true one, or until its budget of
expressions is spent. A table shows the running searches; every finished run prints a line with its
seed and the command that repeats it exactly. Ctrl-C ends early and keeps the finished runs.
Where the paper grades a problem by its error on test points, that is shown as well.

With --noise a run spends its whole budget, as no fit is exact. The true formula then counts
anywhere on the front, its constants fitted again to rows without noise.
"""

BENCH_EXAMPLES = """\
examples:
  symseek bench Nguyen-1 --seeds 1
  symseek bench Nguyen-5 --seeds 10 --jobs 2 --method hybrid
  symseek bench Nguyen --jobs 2 --json nguyen.json
  symseek bench Nguyen-1 Nguyen-6 --method hybrid,dsr
  symseek bench Nguyen-7 Nguyen-8 --seeds 3,5,8-10 --max-expressions 500000
  symseek bench Nguyen --seeds 100 --engine cuda
  symseek bench Feynman --noise 0.01 --seeds 5 --method hybrid --max-expressions 50000
"""

PROBLEMS_DESCRIPTION = """\
List the benchmark problems: formula, training and test points, library.

U(a, b, c): c points drawn uniformly between a and b for each variable.
E(a, b, c): c evenly spaced values of each variable from a to b.
U(a-b c-d, n): n points, each variable drawn uniformly from its own range, in their order.
T(a, b): a trajectories of two differential equations, b points of each.

Without names, the problems of the paper are listed, and how many the other suites have.
A prime may be written as a letter p: Nguyen-8'' is also Nguyen-8pp.
"""


def add_bench(commands: Commands) -> None:
    """The command `bench`."""
    bench = new_command(
        commands,
        "bench",
        "run benchmark problems",
        description=BENCH_DESCRIPTION,
        epilog=BENCH_EXAMPLES,
    )
    add = bench.add_argument
    add("problems", nargs="+", metavar="PROBLEM", help="a problem (Nguyen-5) or a suite (Nguyen)")
    add(
        "--method",
        default="dsr",
        help="dsr (risk-seeking policy gradient), pqt (priority queue training; pqt-whole imitates "
        "the whole queue in each step) and vpg (vanilla policy gradient); hybrid (with evolution "
        "in the loop); evolution (alone); gp (genetic programming, needs symseek[gp]); several, "
        "separated by commas, are compared; default dsr",
    )
    seeds = bench.add_mutually_exclusive_group()
    add_seeds(seeds.add_argument, "10", default=parse_seeds("10"))
    seeds.add_argument("--seed", type=natural, metavar="S", help="one run with this seed")
    add_workers(bench)
    add(
        "--threads",
        type=positive,
        default=1,
        metavar="N",
        help="threads of each run; they change its speed, never its result; default 1",
    )
    add(
        "--max-expressions",
        type=positive,
        metavar="N",
        help="budget of a run in graded expressions; default: 2,000,000, or 1,000,000 for a "
        "problem with constants to fit",
    )
    add(
        "--noise",
        type=share,
        default=0.0,
        metavar="LEVEL",
        help="noise on the targets to train on, over their root mean square: 0.01; default 0",
    )
    add("--json", type=Path, metavar="FILE", help="also write runs and summary here as data")
    add("--force", dest="overwrite", action="store_true", help="write over a file that is there")
    bench.set_defaults(command=_bench)


def add_problems(commands: Commands) -> None:
    """The command `problems`."""
    listing = new_command(
        commands, "problems", "list the benchmark problems", description=PROBLEMS_DESCRIPTION
    )
    add = listing.add_argument
    add("problems", nargs="*", metavar="PROBLEM", help="only these problems or suites")
    listing.set_defaults(command=_problems)


def _problems(options: argparse.Namespace) -> int:
    from symseek.lab import problems

    if options.problems:
        show_problems(problems.select(*options.problems))
        return 0
    show_problems(problems.paper())
    listed = {each.suite for each in problems.paper()}
    for name in problems.suites():
        if name not in listed:
            count = len(problems.suite(name))
            say(f"{count} more are in the suite {name}: `symseek problems {name}` lists them")
    return 0


def show_problems(chosen: Sequence[BenchmarkProblem], out: TextIO | None = None) -> None:
    """List problems: by library and within 80 columns in a terminal, else one line each."""
    out = out or sys.stdout
    if can_redraw(out):
        lines = _grouped_problems(chosen)
    else:
        rows = [("name", "formula", "train", "test", "variables", "operators")]
        for each in chosen:
            names = " ".join(each.variables), " ".join(each.operators)
            rows.append((each.name, each.expression, str(each.train), str(each.test), *names))
        lines = text_table(rows, left=True)
    for line in lines:
        print(line, file=out)


def _grouped_problems(chosen: Sequence[BenchmarkProblem]) -> list[str]:
    """A heading for what neighbours share: the suite, the library, test points of their own."""
    table = text_table([(e.name, e.expression, str(e.train)) for e in chosen], left=True)
    shown = [[line] for line in table]
    if max(map(len, table)) > _WIDTH - 2:
        shown = [_in_lines(each) for each in chosen]
    lines: list[str] = []
    last = ""
    for each, own in zip(chosen, shown, strict=True):
        heading = f"{each.suite}: {' '.join(each.operators)}"
        if each.test != each.train:
            heading += f"; test {each.test}"
        if heading != last:
            lines += ["", heading] if lines else [heading]
        lines += [f"  {line}" for line in own]
        last = heading
    return lines


def _in_lines(problem: BenchmarkProblem) -> list[str]:
    """A problem that is too long for a line: the formula and the points below its name."""
    lines, rest = [problem.name], problem.expression
    while len(rest) > _WIDTH - 6:  # a formula continues in the next line before an operator
        ends = [match.start() for match in _OPERATOR.finditer(rest, 1, _WIDTH - 6)]
        lines.append(f"    {rest[: ends[-1]].rstrip()}")
        rest = rest[ends[-1] :]
    return [*lines, f"    {rest}", f"    {' '.join(problem.variables)}: {problem.train}"]


def _bench(options: argparse.Namespace) -> int:
    from symseek.lab import Store, run
    from symseek.lab.bench.display import BenchProgress
    from symseek.lab.bench.specs import bench_specs

    check_writable(options.json, options.overwrite)
    specs = bench_specs(
        options.problems,
        options.method,
        options.seeds if options.seed is None else [options.seed],
        options.max_expressions,
        options.threads,
        options.noise,
        options.engine,
    )
    with Store() as store, BenchProgress(store, specs, json=options.json) as progress:
        outcome = run(specs, store, options.jobs, listener=progress, engine=options.engine)
        progress.summary(outcome)
    return exit_code(outcome)
