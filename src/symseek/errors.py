"""What the package says when it is given something it cannot use.

Bad input raises an `InputError`. Its message is one sentence that names the thing and says what to
do about it; a misspelt name is answered with the nearest known one.

A message names a parameter in backquotes, as in "choose some with `features`", and the two actions
that a run folder may need as `fit` and `resume`. The command line shows these as its own options
and commands (`cli.options.in_command_line_terms`); nothing outside `cli` names an option.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["OUT_OF_MEMORY", "QUOTED", "InputError", "shown", "suggestion", "unknown_name"]

# A list of known names longer than this is a wall of text, not a hint.
_LISTED = 40

_SEARCHED = 2_000  # names among which the nearest is found at once

QUOTED = 40
"""The most characters of someone's input that a message repeats in one place; no message has two
such places and more."""


OUT_OF_MEMORY = (
    "there is not enough memory for this table; search fewer rows with `sample_rows`, choose fewer"
    " columns with `features`, or give fewer rows"
)
"""What is said where NumPy or Python has run out of memory."""


class InputError(ValueError):
    """Bad input from the caller: the message names it and says what to do."""


def shown(value: object) -> str:
    """How something prints, in a message: cut where it is long.

    >>> shown("sin"), len(shown("x" * 10**6))
    ("'sin'", 40)
    """
    if isinstance(value, (str, bytes)):
        text = repr(value[: QUOTED + 1])
    elif isinstance(value, int) and abs(value) >= 10**QUOTED:
        text = f"a whole number of more than {QUOTED} digits"
    else:
        text = repr(value)
    return text if len(text) <= QUOTED else text[: QUOTED - 3] + "..."


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return "did you mean 'sin'?", or the known names when none is near.

    >>> suggestion("sinn", ["sin", "cos"])
    "did you mean 'sin'?"
    >>> suggestion("qq", ["sin", "cos"])
    'known: sin, cos'
    """
    names = list(known)
    if len(name) > QUOTED:  # no name is so long, and looking for the nearest would take long
        name = ""
    if len(names) > _SEARCHED:
        return f"{len(names):,} are known"
    folded = {each.casefold(): each for each in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    if not names:
        return "none is known"
    listed = ", ".join(names[:_LISTED])
    return f"known: {listed}" + (", ..." if len(names) > _LISTED else "")


def unknown_name(what: str, name: str, known: Iterable[str]) -> InputError:
    """Build the error for a name that is not among the known ones (the caller raises it).

    >>> print(unknown_name("operator", "sinn", ["sin", "cos"]))
    unknown operator 'sinn'; did you mean 'sin'?
    """
    return InputError(f"unknown {what} {shown(name)}; {suggestion(name, known)}")
