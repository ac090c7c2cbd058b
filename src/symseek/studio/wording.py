"""Sentences as the command line says them: the same words in the page and in a terminal."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from symseek.cli.fit import add_fit
from symseek.cli.options import Parser, in_command_line_terms
from symseek.cli.resume import add_resume
from symseek.errors import Text

__all__ = ["told"]

_COMMANDS = ("fit", "show", "predict", "export", "resume")


def told(error: BaseException | Text | str, folder: Path, command: str = "fit") -> str:
    """The sentence of an error; files in the folder are called by their names alone.

    >>> told("/lab/a.csv has no rows; see `drop_missing`", Path("/lab"))
    'a.csv has no rows; see --drop-missing'
    """
    text = in_command_line_terms(str(error), _parser(command), _COMMANDS)
    return text.replace(f"{folder}{os.sep}", "")


@cache
def _parser(command: str) -> Parser:
    commands = Parser("symseek").add_subparsers()
    add_fit(commands)
    add_resume(commands)
    return commands.choices[command]
