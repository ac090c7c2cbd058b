"""Groups: rows that share a formula and have some of its numbers each for themselves.

The column that names the groups stands in a table of numbers as the place of each row's label among
all labels. The numbers of the groups' own are variables of a library that no column of the table
has: their value in a row follows from its group.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.errors import InputError, Setting, shown

OWN_COMPLEXITY = 3
"""Of a number that each group has of its own: it is many, so a front has it where it pays."""
MOST_GROUPS = 1000
MOST_OWN = 10

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Groups:
    """The column that names the group of each row, as it is asked for."""

    column: str
    labels: Sequence[Any]  # [N] text or numbers


@dataclass(frozen=True)
class Grouping:
    """The column of the groups, its labels, and the names of their own numbers.

    >>> Grouping("strain", ("A", "B"), ("a_strain",)).codes(["B", "A", "B"])
    array([1., 0., 1.])
    """

    column: str
    labels: tuple[str, ...]  # by the number that stands for each
    own: tuple[str, ...]  # variables of the library, the last ones

    def codes(self, labels: Sequence[Any]) -> Floats:
        """The number [N] of each label; one that is not known is refused."""
        known = {label: float(at) for at, label in enumerate(self.labels)}
        texts = label_texts(labels)
        unknown = next((each for each in texts if each not in known), None)
        if unknown is not None:
            raise InputError(
                f"group {shown(unknown)} of {self.column!r} was not in the table that was fitted,"
                f" so its own numbers are not known; known are {shown_labels(self.labels)}",
                field=self.column,
                kind="column",
                value=unknown,
            )
        return np.array([known[each] for each in texts])

    def columns(self, codes: Floats, own: Sequence[Sequence[float]]) -> Floats:
        """The groups' own numbers [N, J] row by row; NaN where a group or a number is not known."""
        table = np.full((len(self.own), len(self.labels) + 1), np.nan)
        if own:
            table[:, :-1] = own
        known = (codes >= 0) & (codes < len(self.labels))
        return table[:, np.where(known, codes, len(self.labels)).astype(np.intp)].T


def shown_labels(labels: Sequence[str]) -> str:
    """The first labels, for a message."""
    return ", ".join(map(shown, labels[:6])) + (", ..." if len(labels) > 6 else "")


def label_texts(labels: Sequence[Any]) -> list[str]:
    """Labels as text; numbers as they are written shortest.

    >>> label_texts([1.0, "B", 2, True])
    ['1', 'B', '2', 'True']
    """
    texts = []
    for each in np.asarray(labels, dtype=object).tolist():
        number = isinstance(each, int | float) and not isinstance(each, bool)
        texts.append(repr(float(each)).removesuffix(".0") if number else str(each))
    return texts


def grouping_of(groups: Groups, taken: Collection[str], most_own: int) -> tuple[Grouping, Floats]:
    """The groups that labels [N] make, in the order in which they first come, and their codes [N].

    >>> grouping_of(Groups("strain", ["B", "A", "B"]), ["x", "a_strain"], 1)
    (Grouping(column='strain', labels=('B', 'A'), own=('b_strain',)), array([0., 1., 0.]))
    """
    column, texts = groups.column, label_texts(groups.labels)
    known = tuple(dict.fromkeys(texts))
    if not 2 <= len(known) <= MOST_GROUPS:
        raise InputError(
            f"the groups of {column!r} are {len(known):,}; there must be 2 to {MOST_GROUPS:,}",
            field=Setting("group"),
            value=column,
        )
    word = "".join(each if each.isalnum() else "_" for each in column).strip("_") or "group"
    names = (f"{letter}_{word}" for letter in _LETTERS)
    free = [each for each in names if each not in taken]
    grouping = Grouping(column, known, tuple(free[:most_own]))
    return grouping, grouping.codes(texts)


def by_group(
    codes: Floats, groups: int, lanes: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_], list[int]]:
    """Rows in the order of their groups, each group filled up to a multiple of `lanes`.

    Returns the row that stands at each place, whether it stands there for itself and not to fill a
    group up, and where groups begin, with the end.

    >>> by_group(np.array([1.0, 0.0, 1.0]), 2, 2)
    (array([1, 1, 0, 2]), array([ True, False,  True,  True]), [0, 2, 4])
    """
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes.astype(np.intp), minlength=groups)
    padded = -(-sizes // lanes) * lanes
    begins = np.concatenate([[0], np.cumsum(padded)])
    ends = np.cumsum(sizes)
    at = np.arange(begins[-1])
    group = np.repeat(np.arange(groups), padded)
    within = at - begins[group]
    real = within < sizes[group]
    places = order[np.minimum(ends[group] - sizes[group] + within, ends[group] - 1)]
    return places, real, begins.tolist()
