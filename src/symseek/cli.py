"""The `symseek` command: `bench` runs the benchmark problems, `problems` lists them.

Bad input ends with exit code 2 and one sentence, Ctrl-C with 130. Only what a command needs is
imported, so `--help` and `--version` answer at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

__all__ = ["main", "parse_seeds"]

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130

# More seeds than anyone means: a mistyped range should not fill the memory.
MOST_SEEDS = 1_000_000

DESCRIPTION = """\
Find formulas in data: deep symbolic regression.

  symseek bench Nguyen-5            search for one benchmark formula, ten seeds
  symseek bench Nguyen --jobs 2     the whole suite, two runs at a time
  symseek problems                  what there is to search for
  symseek problems Jin              the problems of one suite
"""

BENCH_DESCRIPTION = """\
Run benchmark problems and say how often the true formula was recovered.

Each run searches until its best formula is proved equal to the true one, or until its budget of
expressions is spent. A table shows the running searches; every finished run prints a line with its
seed and the command that repeats it exactly. Ctrl-C ends early and keeps the finished runs.
Where the paper grades a problem by its error on test points, that is shown as well.
"""

BENCH_EXAMPLES = """\
examples:
  symseek bench Nguyen-1 --seeds 1
  symseek bench Nguyen-5 --seeds 10 --jobs 2 --method hybrid
  symseek bench Nguyen --jobs 2 --json nguyen.json
  symseek bench Nguyen-1 Nguyen-6 --method hybrid,dsr
  symseek bench Nguyen-7 Nguyen-8 --seeds 3,5,8-10 --max-expressions 500000
"""

PROBLEMS_DESCRIPTION = """\
List the benchmark problems: formula, training and test points, library.

U(a, b, c): c points drawn uniformly between a and b for each variable.
E(a, b, c): c evenly spaced values of each variable from a to b.

A prime may be written as a letter p: Nguyen-8'' is also Nguyen-8pp.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    >>> main(["problems", "Nguyen-8"])
    name      formula  train        test         variables  operators
    Nguyen-8  sqrt(x)  U(0, 4, 20)  U(0, 4, 20)  x          add sub mul div sin cos exp log
    0
    """
    from symseek.errors import InputError

    parser = _parser()
    options = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except InputError as error:
        print(f"symseek: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


class _Parser(argparse.ArgumentParser):
    """Complains in one sentence, without the wall of usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see `{self.prog} --help`)\n")


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser("symseek", description=DESCRIPTION, formatter_class=raw, allow_abbrev=False)
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_bench(commands, raw)
    _add_problems(commands, raw)
    return parser


def _add_bench(
    commands: argparse._SubParsersAction[_Parser], raw: type[argparse.HelpFormatter]
) -> None:
    bench = commands.add_parser(
        "bench",
        help="run benchmark problems",
        description=BENCH_DESCRIPTION,
        epilog=BENCH_EXAMPLES,
        formatter_class=raw,
        allow_abbrev=False,
    )
    add = bench.add_argument
    add("problems", nargs="+", metavar="PROBLEM", help="a problem (Nguyen-5) or a suite (Nguyen)")
    add(
        "--method",
        default="dsr",
        help="dsr (risk-seeking policy gradient), pqt (priority queue training) and vpg "
        "(vanilla policy gradient); hybrid (with evolution in the loop); evolution (alone); "
        "several, separated by commas, are compared; default dsr",
    )
    seeds = bench.add_mutually_exclusive_group()
    seeds.add_argument(
        "--seeds",
        type=parse_seeds,
        default=parse_seeds("10"),
        metavar="N|LIST",
        help="how many seeds, counted from 0 (10), or which ones (3,5,8-10); default 10",
    )
    seeds.add_argument("--seed", type=_natural, metavar="S", help="one run with this seed")
    add("--jobs", type=_positive, default=1, metavar="N", help="runs at a time; default 1")
    add(
        "--threads",
        type=_positive,
        default=1,
        metavar="N",
        help="threads of each run; they change its speed, never its result; default 1",
    )
    add(
        "--max-expressions",
        type=_positive,
        metavar="N",
        help="budget of a run in graded expressions; default: 2,000,000, or 1,000,000 for a "
        "problem with constants to fit",
    )
    add("--json", type=Path, metavar="FILE", help="also write runs and summary here as data")
    bench.set_defaults(command=_bench)


def _add_problems(
    commands: argparse._SubParsersAction[_Parser], raw: type[argparse.HelpFormatter]
) -> None:
    listing = commands.add_parser(
        "problems",
        help="list the benchmark problems",
        description=PROBLEMS_DESCRIPTION,
        formatter_class=raw,
        allow_abbrev=False,
    )
    add = listing.add_argument
    add("problems", nargs="*", metavar="PROBLEM", help="only these problems or suites; default all")
    listing.set_defaults(command=_problems)


class _Version(argparse.Action):
    """Reads the version only when asked for it."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: object) -> None:
        super().__init__(option_strings, dest, nargs=0, help=str(rest.get("help")))

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from symseek import __version__

        print(f"symseek {__version__}")
        parser.exit()


def _problems(options: argparse.Namespace) -> int:
    from symseek import problems
    from symseek.display import show_problems

    show_problems(problems.select(*(options.problems or problems.suites())))
    return 0


def _bench(options: argparse.Namespace) -> int:
    from symseek.bench import Outcome, make_jobs
    from symseek.display import open_display
    from symseek.summary import write_json
    from symseek.workers import run_jobs

    _check_writable(options.json)
    jobs = make_jobs(
        options.problems,
        options.method,
        options.seeds if options.seed is None else [options.seed],
        options.max_expressions,
        options.threads,
    )

    def save(outcome: Outcome) -> None:
        if options.json is not None:
            write_json(options.json, outcome)

    methods = list(dict.fromkeys(job.method for job in jobs))
    with open_display(len(jobs), methods=methods) as display:
        outcome = run_jobs(jobs, options.jobs, display, save)
        display.summary(outcome)
    if outcome.interrupted:
        return INTERRUPTED
    return FAILED if outcome.failures else 0


def _check_writable(path: Path | None) -> None:
    """Refuse a file that cannot be written before the hours of work, not after them."""
    from symseek.errors import InputError

    if path is None:
        return
    if path.is_dir():
        raise InputError(f"cannot write {str(path)!r}: it is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"cannot write {str(path)!r}: its folder is not writable.")


def parse_seeds(text: str) -> list[int]:
    """Read `10` as the first ten seeds, and `3,5,8-10` or `7,` as those very seeds.

    >>> parse_seeds("3"), parse_seeds("3,5,8-10"), parse_seeds("7-7")
    ([0, 1, 2], [3, 5, 8, 9, 10], [7])
    """
    if text.isdecimal():
        spans = [(0, _positive(text) - 1)]
    else:
        spans = [_span(part.strip()) for part in text.split(",") if part.strip()]
    if not spans or any(first > last for first, last in spans):
        raise argparse.ArgumentTypeError(f"{text!r} names no seeds; write 10, or 3,5,8-10")
    if sum(last - first + 1 for first, last in spans) > MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MOST_SEEDS:,} seeds")
    return sorted({seed for first, last in spans for seed in range(first, last + 1)})


def _span(part: str) -> tuple[int, int]:
    first, dash, last = part.partition("-")
    return _natural(first), _natural(last if dash else first)


def _natural(text: str) -> int:
    if not text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def _positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)
