"""Sentences as the command line says them: the same words in the page and in a terminal."""

from __future__ import annotations

from functools import cache
from pathlib import Path, PurePath

from symseek.cli.fit import add_fit
from symseek.cli.options import Parser, wording_of
from symseek.cli.resume import add_resume
from symseek.errors import InputError, Message, Named

__all__ = ["told"]


def told(said: BaseException | Message | str, folder: Path, command: str = "fit") -> str:
    """What is said of an error; files in the folder are called by their names alone.

    >>> from symseek.errors import Setting
    >>> text = Message(Path("/lab/a.csv"), " has no rows; see ", Setting("drop_missing"))
    >>> told(text, Path("/lab"))
    'a.csv has no rows; see --drop-missing'
    """
    if not isinstance(said, (Message, InputError)):
        return str(said)
    in_words = wording_of(_parser(command))

    def wording(part: Named) -> str:
        if isinstance(part, PurePath) and folder in part.parents:
            part = part.relative_to(folder)
        return in_words(part)

    return said.worded(wording)


@cache
def _parser(command: str) -> Parser:
    commands = Parser("symseek").add_subparsers()
    add_fit(commands)
    add_resume(commands)
    return commands.choices[command]
