"""What the commands share: how they join the parser, how options are read, and how they answer."""

from __future__ import annotations

import argparse
import difflib
import math
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from symseek.errors import (
    QUOTED,
    Action,
    InputError,
    Message,
    Named,
    Setting,
    Wording,
    printable,
    sentence,
    shown,
    suggestion,
    unknown_name,
)

if TYPE_CHECKING:
    from symseek.model import Model

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130

# More seeds than anyone means: a mistyped range should not fill the memory.
MOST_SEEDS = 1_000_000


# --- the parser

_NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I | re.ASCII)


class Parser(argparse.ArgumentParser):
    """Complains in one sentence, without the wall of usage."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._negative_number_matcher = _NEGATIVE  # argparse takes -1e3 for an option

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{sentence(f'{self.prog}: {message}')} (see `{self.prog} --help`)\n")

    def refuse(self, word: str) -> NoReturn:
        """Complain of a word that no option has taken."""
        if not word.startswith("-"):
            self.error(f"{shown(word)} is one word too many")
        known = [
            option
            for option, action in self._option_string_actions.items()
            if option.startswith("--") and action.help != argparse.SUPPRESS
        ]
        name = word.partition("=")[0]
        self.error(f"unknown option {shown(word)}; {_near_option(name, known)}")

    def option_of(self, parameter: str) -> str | None:
        """The option that sets a parameter, if this command has one."""
        for action in self._actions:
            if action.dest == parameter and action.option_strings:
                return action.option_strings[-1]
        return None


def _near_option(name: str, known: Iterable[str]) -> str:
    """The option that was meant, or all; the dashes that all begin with make none alike.

    >>> _near_option("--max-secs", ["--max-seconds", "--quiet"])
    "did you mean '--max-seconds'?"
    >>> _near_option("--units", ["--target", "--quiet"])
    'known: --target, --quiet'
    >>> _near_option("--no-cache", ["--no-scale", "--quiet"])
    'known: --no-scale'
    """
    options = {option.lstrip("-"): option for option in known}
    word = name.lstrip("-").casefold()
    if word.startswith("no-"):  # which is like every other that switches something off
        options = {each: option for each, option in options.items() if each.startswith("no-")}
        options |= {each[3:]: option for each, option in options.items()}
        word = word[3:]
    begun = [option for each, option in options.items() if len(word) > 1 and each.startswith(word)]
    near = difflib.get_close_matches(word[:QUOTED], options, n=1, cutoff=0.7)
    meant = begun or [options[each] for each in near]
    return (
        f"did you mean {meant[0]!r}?" if meant else suggestion("", dict.fromkeys(options.values()))
    )


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def new_command(commands: Commands, name: str, text: str, **more: Any) -> Parser:
    """A command with options of its own; `text` is its line in the list."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(name, help=text, formatter_class=raw, allow_abbrev=False, **more)
    parser.set_defaults(parser=parser)
    return parser


def wording_of(parser: Parser | None) -> Wording:
    """What the settings are called in the words of a command: its options.

    >>> fit = Parser("symseek fit")
    >>> _ = fit.add_argument("--out", dest="folder")
    >>> text = Message("choose another ", Setting("folder"), ", or ", Action("resume"), " it")
    >>> text.worded(wording_of(fit))
    'choose another --out, or `symseek resume` it'
    """

    def wording(part: Named) -> str:
        if isinstance(part, Action):
            return f"`symseek {part.name}`"
        option = parser.option_of(part.name) if parser and isinstance(part, Setting) else None
        return option or str(part)

    return wording


# --- options


def parse_seeds(text: str) -> list[int]:
    """Read `10` as the first ten seeds, and `3,5,8-10` or `7,` as those very seeds.

    >>> parse_seeds("3"), parse_seeds("3,5,8-10"), parse_seeds("7-7")
    ([0, 1, 2], [3, 5, 8, 9, 10], [7])
    """
    if "," not in text and "-" not in text:
        spans = [(0, positive(text) - 1)]
    else:
        spans = [_span(part.strip()) for part in text.split(",") if part.strip()]
    if not spans or any(first > last for first, last in spans):
        raise argparse.ArgumentTypeError(f"{shown(text)} names no seeds; write 10, or 3,5,8-10")
    if sum(last - first + 1 for first, last in spans) > MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"{shown(text)} is more than {MOST_SEEDS:,} seeds")
    return sorted({seed for first, last in spans for seed in range(first, last + 1)})


def _span(part: str) -> tuple[int, int]:
    first, dash, last = part.partition("-")
    return natural(first), natural(last if dash else first)


_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+\s*")


def whole(text: str) -> int:
    """A whole number, in any of the ways in which people write large ones.

    >>> whole("2000"), whole("1e6"), whole("2.5e5"), whole("1_000_000"), whole("1,000,000")
    (2000, 1000000, 250000, 1000000, 1000000)
    """
    try:
        plain = text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
        value = Decimal(plain.replace("_", ""))
        # A number of more digits is no count, and 1e999999999 would not fit into the memory.
        if value.adjusted() < QUOTED and value == value.to_integral_value():
            return int(value)
    except (ArithmeticError, ValueError):
        pass
    raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number")


def natural(text: str) -> int:
    """A whole number of 0 or more."""
    return _at_least(0, text)


def positive(text: str) -> int:
    """A whole number of 1 or more."""
    return _at_least(1, text)


def _at_least(least: int, text: str) -> int:
    try:
        value = whole(text)
    except argparse.ArgumentTypeError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number of {least} or more")
    return value


def share(text: str) -> float:
    """A number of 0 or more, such as a level of noise."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number of 0 or more")
    return value


def names(text: str) -> list[str]:
    """Names with commas between; one in backquotes may have commas of its own.

    >>> names("t, `flow, in l/s`,x")
    ['t', 'flow, in l/s', 'x']
    """
    found, rest = [], text
    while rest:
        rest = rest.lstrip(" ,")
        if rest.startswith("`") and "`" in rest[1:]:
            name, _, rest = rest[1:].partition("`")
        else:
            name, _, rest = rest.partition(",")
            name = name.strip()
        if name:
            found.append(name)
    return found


def add_max_table_size(parser: Parser) -> None:
    """The option of a command that reads a table."""
    from symseek.files.limits import MOST_TABLE

    parser.add_argument(
        "--max-table-size",
        type=size,
        default=MOST_TABLE,
        metavar="SIZE",
        help="the most that a compressed table or Parquet may take when it is read; default 2GB",
    )


def add_drop_missing(parser: Parser) -> None:
    """The short option that leaves out rows with missing values."""
    parser.add_argument(
        "--drop-missing",
        dest="missing",
        action="store_const",
        const="rows",
        default=argparse.SUPPRESS,
        help="leave out rows with missing values, as by --missing rows",
    )


def size(text: str) -> int:
    """A number of bytes, such as 4GB.

    >>> size("4GB"), size("1.5 mb"), size("800")
    (4000000000, 1500000, 800)
    """
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([kmgt]?b?)\s*", text, re.I | re.ASCII)
    bytes_ = round(float(found[1]) * _UNITS[found[2].lower()[:1]]) if found else 0
    if bytes_ < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is no size; write it as 500MB or 4GB")
    return bytes_


_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


# --- many runs


def add_workers(parser: Parser) -> None:
    """How many runs are done at a time, and where they compute."""
    add = parser.add_argument
    add(
        "--jobs",
        type=positive,
        metavar="N",
        help="runs at a time; default 1; with --engine cuda, processes that judge what the runs"
        " find, default one for each core",
    )
    add(
        "--engine",
        choices=("native", "cuda"),
        default="native",
        help="native (default), or cuda: on a GPU, all runs side by side; the same odds, other"
        " random numbers, so such runs are kept apart from native ones",
    )


# --- the end of a search


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Take SIGTERM, which `kill`, batch systems and the studio send, like Ctrl-C.

    A process that a script started in the background is deaf to Ctrl-C, and not to this.
    """

    def end(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # not in the main thread, where alone there are signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# --- a run that is there


def add_run(parser: Parser) -> None:
    """The arguments of a command that uses a formula of a run."""
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of the run")
    parser.add_argument(
        "--row", type=natural, metavar="N", help="the row of the front; default: the picked one"
    )
    parser.add_argument(
        "--target", metavar="COLUMN", help="of a run with several targets, one of them"
    )


def read_models(options: argparse.Namespace, so_far: bool = False) -> list[Model]:
    """The models in the run folder that was named: several of one with several targets.

    One that may become better comes with a word. A row is one of a single model. Targets without a
    front are refused unless what there is `so_far` is asked for.
    """
    from symseek.runs.folder import RunFolder
    from symseek.runs.targets import TargetsFolder, holds_targets

    if not holds_targets(options.run):
        found = [RunFolder.open(options.run).model_so_far()]
        target = options.target
        if target is not None and target != (only := found[0][0].target):
            raise unknown_name("target", target, [only])
    else:
        folder = TargetsFolder.open(options.run)
        names = folder.targets if options.target is None else [options.target]
        every = folder.models_so_far() if so_far and options.target is None else []
        for _, model, said in every:
            if model is None and said is not None:
                say(said)
        found = [(model, said) for _, model, said in every if model is not None]
        found = found or [folder.run(each).model_so_far() for each in names]
        if len(found) > 1 and options.row is not None:
            raise InputError(
                Setting("row"),
                " is of one target, and there are several; name it with ",
                Setting("target"),
                f": {', '.join(map(shown, names))}",
                field=Setting("target"),
            )
    for _, unfinished in found:
        if unfinished is not None:
            say(unfinished)
    return [model for model, _ in found]


def read_model(options: argparse.Namespace) -> Model:
    """The model in the run folder that was named; of several targets, one has to be named."""
    models = read_models(options)
    if len(models) > 1:
        names = ", ".join(shown(each.target) for each in models)
        text = f"the run has several targets, {names}; name one with "
        raise InputError(text, Setting("target"), field=Setting("target"))
    return models[0]


# --- output


def shell_words(words: Iterable[str]) -> str:
    """The words as one types them; what a terminal cannot show is written as shells write it.

    >>> print(shell_words(["show", "my run", "d\\udcff.csv"]))
    show 'my run' $'d\\xff.csv'
    """
    return " ".join(map(_shell_word, words))


def _shell_word(word: str) -> str:
    if printable(word) == word:
        return shlex.quote(word)
    data = word.encode(errors="surrogateescape")
    written = [
        chr(each) if 32 <= each < 127 and each not in b"\\'" else f"\\x{each:02x}" for each in data
    ]
    return f"$'{''.join(written)}'"


def say(text: str | Message | InputError, parser: Parser | None = None) -> None:
    """A line for the person at the terminal, in the words of a command; apart from the output."""
    if not isinstance(text, str):
        text = text.worded(wording_of(parser))
    print(f"symseek: {sentence(text)}", file=sys.stderr, flush=True)


def show(text: str) -> None:
    """Print lines for reading, none of which moves the cursor or changes colours."""
    for line in text.split("\n"):
        print(printable(line))


def add_out(parser: Parser) -> None:
    """Where the output goes, and whether it may take the place of a file."""
    add = parser.add_argument
    add("--out", type=Path, metavar="FILE", help="write here; default: print")
    add("--force", dest="overwrite", action="store_true", help="write over a file that is there")


def check_writable(path: Path | None, overwrite: bool = True) -> None:
    """Refuse a file that cannot be written before hours of work, not after them."""
    if path is None:
        return
    if path.is_dir():
        raise InputError(f"cannot write {str(path)!r}: it is a folder; name a file in it")
    if path.is_file() and not overwrite:
        raise InputError(
            f"the file {str(path)!r} exists; name another, or write over it with ",
            Setting("overwrite"),
        )
    if not path.parent.is_dir():
        raise InputError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"cannot write {str(path)!r}: its folder is not writable")


def write_text(text: str, path: Path | None, overwrite: bool) -> None:
    """Write a file, or print where none is named; the text ends with a line's end.

    A terminal gets it without codes that it would obey; another program gets it as it is.
    """
    from symseek.files.atomic import write_new, write_whole

    text = text if text.endswith("\n") else text + "\n"
    if path is None:
        if sys.stdout.isatty():
            show(text.removesuffix("\n"))
        else:
            print(text, end="")
        return
    try:
        if overwrite or path.exists():  # what is no plain file, such as a pipe, was let through
            write_whole(path, text)
        else:
            write_new(path, text.encode(errors="backslashreplace"))
    except FileExistsError:
        check_writable(path, overwrite)
        raise
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
