"""What the package says when it is given something it cannot use.

Bad input raises an `InputError`. Its message is one sentence that names the thing and says what to
do about it; a misspelt name is answered with the nearest known one.

A message names a parameter in backquotes, as in "choose some with `features`", and the two actions
that a run folder may need as `fit` and `resume`. The command line shows these as its own options
and commands (`cli.options.in_command_line_terms`); nothing outside `cli` names an option.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

__all__ = [
    "OUT_OF_MEMORY",
    "QUOTED",
    "InputError",
    "name_shown",
    "printable",
    "sentence",
    "shown",
    "suggestion",
    "unknown_name",
]

# A list of known names longer than this is a wall of text, not a hint.
_LISTED = 40

_SEARCHED = 2_000  # names among which the nearest is found at once

QUOTED = 40
"""The most characters of someone's input that a message repeats in one place; no message has two
such places and more."""

_NAME = 80  # characters of a name: of a column, say, which is told from others by it
_SENTENCE = 1_000  # characters; what to do comes last, so the middle is left out
_ENDLESS = re.compile(r"\S{500,}")  # no path or command is so long that people type
_UNPRINTABLE = re.compile(r"[^ -~]")  # that may be, if it is not ASCII


OUT_OF_MEMORY = (
    "there is not enough memory for this table; search fewer rows with `sample_rows`, choose fewer"
    " columns with `features`, or give fewer rows"
)
"""What is said where NumPy or Python has run out of memory."""


class InputError(ValueError):
    """Bad input from the caller: the message names it and says what to do."""

    def __str__(self) -> str:
        return sentence(super().__str__())


def sentence(text: str) -> str:
    """A message as it is shown: in one line, and without what no one reads to its end.

    >>> len(sentence("could not convert " + 5000 * "9"))
    120
    """
    text = printable(_ENDLESS.sub(lambda word: word[0][: _NAME + 19] + "...", text))
    return text if len(text) <= _SENTENCE else f"{text[: _SENTENCE - 305]} ... {text[-300:]}"


def printable(text: str) -> str:
    r"""Text in one line that a terminal shows as it is.

    Names of columns and files may hold codes that move the cursor, change colours or turn the
    direction of writing. They are written as in Python's texts.

    >>> print(printable("a\x1b[31m\nb\u202e °C"))
    a\x1b[31m\nb\u202e °C
    """
    return _UNPRINTABLE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode()


def shown(value: object, most: int = QUOTED) -> str:
    """How something prints, in a message: cut where it is long.

    >>> shown("sin"), len(shown("x" * 10**6))
    ("'sin'", 40)
    """
    if isinstance(value, (str, bytes)):
        text = repr(value[: most + 1])
    elif isinstance(value, int) and abs(value) >= 10**most:
        text = f"a whole number of more than {most} digits"
    else:
        try:
            text = " ".join(repr(value).split())
        except Exception:  # whatever a class of the caller's does there
            text = f"an object of type {type(value).__name__}"
    return text if len(text) <= most else text[: most - 3] + "..."


def name_shown(name: str, quoted: bool = False) -> str:
    """A name, in a message: cut where it is longer than names are.

    >>> name_shown("rownames"), name_shown("speed", quoted=True), len(name_shown("x" * 10**6))
    ('rownames', "'speed'", 80)
    """
    if quoted:
        return shown(name, _NAME)
    return printable(name if len(name) <= _NAME else name[: _NAME - 3] + "...")


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return "did you mean 'sin'?", or the known names when none is near.

    >>> suggestion("sinn", ["sin", "cos"])
    "did you mean 'sin'?"
    >>> suggestion("qq", ["sin", "cos"])
    'known: sin, cos'
    """
    names = list(known)
    if not isinstance(name, str) or len(name) > QUOTED:  # and looking would take long
        name = ""
    if len(names) > _SEARCHED:
        return f"{len(names):,} are known"
    folded = {each.casefold(): each for each in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    if near:
        return f"did you mean {name_shown(folded[near[0]], quoted=True)}?"
    if not names:
        return "none is known"
    listed = ", ".join(map(name_shown, names[:_LISTED]))
    return f"known: {listed}" + (", ..." if len(names) > _LISTED else "")


def unknown_name(what: str, name: object, known: Iterable[str]) -> InputError:
    """Build the error for a name that is not among the known ones (the caller raises it).

    >>> print(unknown_name("operator", "sinn", ["sin", "cos"]))
    unknown operator 'sinn'; did you mean 'sin'?
    """
    return InputError(f"unknown {what} {shown(name)}; {suggestion(name, known)}")
