"""What the commands share: how options are read, exit codes, and how a command joins the parser."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from symseek.errors import InputError, suggestion

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "INTERRUPTED",
    "Commands",
    "Parser",
    "check_writable",
    "names",
    "natural",
    "new_command",
    "parse_seeds",
    "positive",
]

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130

# More seeds than anyone means: a mistyped range should not fill the memory.
MOST_SEEDS = 1_000_000


class Parser(argparse.ArgumentParser):
    """Complains in one sentence, without the wall of usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see `{self.prog} --help`)\n")

    def refuse(self, word: str) -> NoReturn:
        """Complain of a word that no option has taken."""
        if not word.startswith("-"):
            self.error(f"{word!r} is one word too many")
        known = [option for option in self._option_string_actions if option.startswith("--")]
        self.error(f"unknown option {word!r}; {suggestion(word.partition('=')[0], known)}")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def new_command(commands: Commands, name: str, text: str, **more: Any) -> Parser:
    """A command of its own options; `text` is its line in the list."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(name, help=text, formatter_class=raw, allow_abbrev=False, **more)
    parser.set_defaults(parser=parser)
    return parser


def check_writable(path: Path | None) -> None:
    """Refuse a file that cannot be written before the hours of work, not after them."""
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
        spans = [(0, positive(text) - 1)]
    else:
        spans = [_span(part.strip()) for part in text.split(",") if part.strip()]
    if not spans or any(first > last for first, last in spans):
        raise argparse.ArgumentTypeError(f"{text!r} names no seeds; write 10, or 3,5,8-10")
    if sum(last - first + 1 for first, last in spans) > MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MOST_SEEDS:,} seeds")
    return sorted({seed for first, last in spans for seed in range(first, last + 1)})


def _span(part: str) -> tuple[int, int]:
    first, dash, last = part.partition("-")
    return natural(first), natural(last if dash else first)


def natural(text: str) -> int:
    if not text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


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
