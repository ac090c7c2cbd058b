"""Sentences as the command line says them: the same words in the page and in a terminal."""

from __future__ import annotations

from functools import cache
from pathlib import Path, PurePath

from symseek.cli.fit import add_fit
from symseek.cli.options import Parser, wording_of
from symseek.cli.resume import add_resume
from symseek.errors import InputError, Message, Named, Quoted


def worded(said: BaseException | Message | str, folder: Path, command: str = "fit") -> str:
    """What is said of an error; files in the folder are called by their names alone.

    >>> from symseek.errors import Setting
    >>> text = Message(Path("/lab/a.csv"), " has no rows; see ", Setting("missing"))
    >>> worded(text, Path("/lab"))
    'a.csv has no rows; see --missing'
    """
    if not isinstance(said, (Message, InputError)):
        return str(said)
    in_words = wording_of(_parser(command))

    def wording(part: Named) -> str:
        if isinstance(part, (Quoted, PurePath)):
            path = PurePath(part.name if isinstance(part, Quoted) else part)
            shown = path.relative_to(folder) if folder in path.parents else path
            return str(Quoted(shown) if isinstance(part, Quoted) else shown)
        return in_words(part)

    return said.worded(wording)


@cache
def _parser(command: str) -> Parser:
    commands = Parser("symseek").add_subparsers()
    add_fit(commands)
    add_resume(commands)
    return commands.choices[command]
