"""The `symseek` command. Each of its commands is a module of `cli` or of `lab.commands`.

Bad input ends with exit code 2 and one sentence, Ctrl-C with 130. Only what a command needs is
imported, so `--help` and `--version` answer at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from symseek.cli import export, fit, predict, resume, show
from symseek.cli.options import (
    BAD_INPUT,
    FAILED,
    INTERRUPTED,
    Commands,
    Parser,
    parse_seeds,
    say,
)
from symseek.cli.output import Output, kept_output, open_closed
from symseek.errors import InputError, described, shown, suggestion
from symseek.lab.commands import bench, paper, srbench
from symseek.studio.command import add_studio
from symseek.version import __version__

__all__ = ["main", "parse_seeds"]

# In the order of the help. To add a command, write a module with such a function, and name it here.
COMMANDS: tuple[Callable[[Commands], None], ...] = (
    fit.add_fit,
    show.add_show,
    predict.add_predict,
    export.add_export,
    resume.add_resume,
    add_studio,
    bench.add_bench,
    bench.add_problems,
    paper.add_paper,
    srbench.add_srbench,
)

DESCRIPTION = """\
Find formulas in data: symbolic regression.

  symseek fit data.csv --target y   search for a formula of the other columns that gives y
  symseek show data-run-1           the formulas that were found
  symseek predict data-run-1 new.csv
  symseek export data-run-1 --to latex
  symseek resume data-run-1         continue where it stopped
  symseek studio                    all of this in the browser
  symseek bench Nguyen --jobs 2     the paper's benchmark problems, two runs at a time
  symseek problems                  what those are
  symseek paper table1 --jobs 2     the paper's tables and figures, run here
  symseek srbench --noise 0,0.01    SRBench's problems with known formulas
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    >>> main(["problems", "Nguyen-8"])
    name      formula  train        test         variables  operators
    Nguyen-8  sqrt(x)  U(0, 4, 20)  U(0, 4, 20)  x          add sub mul div sin cos exp log
    0
    """
    _prepare_output()
    with kept_output() as output:
        try:
            return _run(arguments) or _lost(output)
        except SystemExit as end:  # of a help text, say
            end.code = end.code or _lost(output)
            raise


def _refuse_unknown(parser: Parser, commands: Commands, word: str) -> None:
    """Refuse a first word that is neither a command nor an option of all."""
    if word in commands.choices or word in ("-h", "--help", "--version"):
        return
    if word.startswith("-"):
        parser.refuse(word)
    parser.error(f"unknown command {shown(word)}; {suggestion(word, commands.choices)}")


def _lost(output: Output) -> int:
    """The exit code of a command that has done its work, but for what a full disk has lost."""
    output.flush()  # it is noticed here, and not at the very end
    if output.error is None:
        return 0
    say(f"cannot write the output: {output.error.strerror or output.error}")
    return FAILED


def _run(arguments: Sequence[str] | None) -> int:
    parser, commands = _parsers()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help()
        return 0
    _refuse_unknown(parser, commands, (sys.argv[1:] if arguments is None else arguments)[0])
    options, rest = parser.parse_known_args(arguments)
    if rest:
        options.parser.refuse(rest[0])
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except KeyboardInterrupt:
        say("stopped by Ctrl-C")
        return INTERRUPTED
    except (InputError, MemoryError, OSError) as error:
        said = described(error)
        say(said, options.parser)
        if ended := getattr(options, "ended", None):
            from symseek.runs.ended import write_end

            write_end(ended, said)
        return FAILED if isinstance(error, OSError) else BAD_INPUT


def _prepare_output() -> None:
    """Let every name be shown; a column's need not be such that a terminal can show it."""
    open_closed()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _parsers() -> tuple[Parser, Commands]:
    """The parser, and the parsers of the commands by name."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("symseek", description=DESCRIPTION, formatter_class=raw, allow_abbrev=False)
    version = f"symseek {__version__}"
    parser.add_argument(
        "--version", action="version", version=version, help="print the version and exit"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in COMMANDS:
        add(commands)
    return parser, commands
