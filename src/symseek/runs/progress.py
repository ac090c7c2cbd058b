"""What a search says of itself while it runs, for those who watch its folder.

    progress.json      how far it is, about ten times a second
    discoveries.json   the formulas that made the error clearly smaller, when there is a new one

Anyone may have written these files, and an older search writes none. So whatever is not as expected
counts as not being there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from symseek.errors import InputError
from symseek.files.regular import read_regular, written_at
from symseek.files.schema import Finite, Label, Most, Within, parse_json, read

PROGRESS_FILE, DISCOVERIES = "progress.json", "discoveries.json"
MOST_DISCOVERIES = 1000

_MOST_BYTES = 1 << 20

Count = Annotated[int, Within(0, 1 << 53)]  # the whole numbers that JavaScript has


@dataclass(frozen=True)
class Discovery:
    """A formula that made the error clearly smaller."""

    seconds: Finite
    expressions: Count
    text: Label
    complexity: Count
    nrmse: Finite
    before: Finite | None = None  # the error until then


@dataclass(frozen=True)
class SeedProgress:
    """How far the search with one seed is."""

    seed: Annotated[int, Within(0, 2**64 - 1)]
    expressions: Count
    seconds: Finite
    state: Literal["waiting", "searching", "ended"]
    nrmse: Finite | None = None


@dataclass(frozen=True)
class RunProgress:
    """How far a search is; what is not known is None."""

    state: Literal["searching", "finishing", "ended"]
    expressions: Count
    seconds: Finite
    ended: Label | None = None  # the reason, by its name
    why: Label | None = None  # in words
    most: Count | None = None  # expressions
    max_seconds: Finite | None = None
    rate: Finite | None = None  # expressions in a second
    share: Finite | None = None  # of the budget, if there is one
    left: Finite | None = None  # seconds
    structure: Label | None = None
    seeds: Annotated[tuple[SeedProgress, ...], Most(100)] = ()
    course: Annotated[tuple[tuple[Finite, Finite | None], ...], Most(1000)] = ()
    at: Finite = 0.0  # when the file was written


def read_progress(path: Path) -> RunProgress | None:
    """How far a search is; None if it does not say so."""
    try:
        record = parse_json(read_regular(path, _MOST_BYTES))
        state = "finishing" if record["state"] == "telling" else record["state"]  # of older ones
        own = {"state": state, "at": (written_at(path) or 0) / 1e9}
        progress: RunProgress = read({**record, **own}, RunProgress, "it", unknown=True)
    except (OSError, LookupError, TypeError, ValueError):
        return None
    return progress


def read_discoveries(path: Path) -> list[Discovery]:
    """The formulas that brought a search on, the latest of them if they are many."""
    try:
        listed = parse_json(read_regular(path, _MOST_BYTES))
    except (OSError, ValueError):
        return []
    found = []
    for each in listed[-MOST_DISCOVERIES:] if isinstance(listed, list) else []:
        try:
            found.append(read(each, Discovery, "it", unknown=True))
        except InputError:
            continue
    return found
