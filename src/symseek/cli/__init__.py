"""The `symseek` command: one line here for each of its commands, which are in `commands`.

Bad input ends with exit code 2 and one sentence, Ctrl-C with 130. Only what a command needs is
imported, so `--help` and `--version` answer at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from symseek.cli.bench import add_bench, add_problems
from symseek.cli.fit import add_fit, add_resume
from symseek.cli.options import BAD_INPUT, FAILED, INTERRUPTED, Parser, parse_seeds
from symseek.cli.paper import add_paper
from symseek.cli.use import add_export, add_predict, add_show
from symseek.errors import InputError

__all__ = ["main", "parse_seeds"]

DESCRIPTION = """\
Find formulas in data: symbolic regression.

  symseek fit data.csv --target y   search for a formula of the other columns that gives y
  symseek show data-run-1           the formulas that were found
  symseek predict data-run-1 new.csv
  symseek export data-run-1 --to latex
  symseek resume data-run-1         go on where it stopped
  symseek bench Nguyen --jobs 2     the paper's benchmark problems, two runs at a time
  symseek problems                  what those are
  symseek paper table1 --jobs 2     the paper's tables and figures, run here
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    >>> main(["problems", "Nguyen-8"])
    name      formula  train        test         variables  operators
    Nguyen-8  sqrt(x)  U(0, 4, 20)  U(0, 4, 20)  x          add sub mul div sin cos exp log
    0
    """
    if hasattr(sys.stdout, "reconfigure"):  # columns may have names that a terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    options, rest = _parser().parse_known_args(arguments)
    if rest:
        options.parser.refuse(rest[0])
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        code = command(options)
        sys.stdout.flush()  # a reader that is gone is noticed here, and not at the very end
        return code
    except InputError as error:
        print(f"symseek: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("symseek", description=DESCRIPTION, formatter_class=raw, allow_abbrev=False)
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_fit(commands)
    add_show(commands)
    add_predict(commands)
    add_export(commands)
    add_resume(commands)
    add_bench(commands)
    add_problems(commands)
    add_paper(commands)
    return parser


class _Version(argparse.Action):
    """Reads the version only when asked for it."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: object) -> None:
        super().__init__(option_strings, dest, nargs=0, help=str(rest.get("help")))

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from symseek.version import __version__

        print(f"symseek {__version__}")
        parser.exit()
