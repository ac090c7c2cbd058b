"""Groups: rows that share a formula and have some of its numbers each for themselves.

The column that names the groups stands in a table of numbers as the place of each row's label among
all labels. The numbers of the groups' own are variables of a library that no column of the table
has: their value in a row follows from its group.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.errors import InputError, Setting, name_shown, shown

OWN_COMPLEXITY = 3
"""Of a number that each group has of its own: it is many, so a front has it where it pays."""
MOST_GROUPS = 1000
MOST_OWN = 10
MOST_LABEL = 1000  # characters of a label

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Of 007 nobody knows whether it is a number.
_NUMBER = re.compile(r"[+-]?(?=\.?\d)(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?", re.ASCII)
_MISSING = ("None", "nan", "<NA>", "NaT")  # as Python and pandas print them
_LARGEST_WHOLE = 1e15  # of a number that is written with all of its digits


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

    column: str  # of the library
    labels: tuple[str, ...]  # by the number that stands for each
    own: tuple[str, ...]  # variables of the library, the last ones
    source: str = ""  # the column of the table, if an input has its name

    @property
    def name(self) -> str:
        """The column of the table that names the groups."""
        return self.source or self.column

    def codes(self, labels: Sequence[Any]) -> Floats:
        """The number [N] of each label; one that is not known is refused."""
        known = {label: float(at) for at, label in enumerate(self.labels)}
        texts = label_texts(labels)
        unknown = next((at for at, each in enumerate(texts) if each not in known), None)
        if unknown is not None:
            raise InputError(
                f"group {shown(texts[unknown])} of {name_shown(self.name, quoted=True)} was not in"
                " the table that was fitted, so its own numbers are not known; known are"
                f" {shown_labels(self.labels)}",
                field=self.name,
                kind="column",
                value=texts[unknown],
                row=unknown,
            )
        return np.array([known[each] for each in texts])

    def beside(self, X: Floats, labels: Sequence[Any]) -> Floats:
        """Rows [N, n] with the number of each label as their last column, as programs have it."""
        if len(labels) != len(X):
            rows = f"{len(X):,} rows and {len(labels):,} labels of groups"
            raise InputError(f"there are {rows}; give one label for each row", field=self.name)
        return np.column_stack([X, self.codes(labels)])

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
    """Labels as text; numbers as they are written shortest, whether they are text already or not.

    A file may have 1.0 where an array has 1. What is no number stays as it is, as 007 does.

    >>> label_texts([1.0, "B", 2, True, "1.50", "007", "3.0"])
    ['1', 'B', '2', 'True', '1.5', '007', '3']
    """
    written = list(map(str, np.asarray(labels, dtype=object).ravel().tolist()))
    known = {each: _text(each) for each in set(written)}
    return [known[each] for each in written]


def _text(label: str) -> str:
    text = label.strip().encode(errors="backslashreplace").decode()
    if not _NUMBER.fullmatch(text):
        return text
    if text.lstrip("+-").isdecimal():
        return text.lstrip("+")
    value = float(text)
    whole = value.is_integer() and abs(value) < _LARGEST_WHOLE
    return str(int(value)) if whole else repr(value)


def grouping_of(
    groups: Groups, taken: Collection[str], most_own: int, named: Sequence[str] = ()
) -> tuple[Grouping, Floats]:
    """The groups that labels [N] make, in the order in which they first come, and their codes [N].

    Their own numbers are at most so many, or those that are `named`.

    >>> grouping, codes = grouping_of(Groups("strain", ["B", "A", "B"]), ["x", "a_strain"], 1)
    >>> grouping.labels, grouping.own, codes
    (('B', 'A'), ('b_strain',), array([0., 1., 0.]))
    """
    name, texts = groups.column, _checked(groups)
    known = tuple(dict.fromkeys(texts))
    if not 2 <= len(known) <= MOST_GROUPS:
        raise InputError(
            f"the groups of {name_shown(name, quoted=True)} are {len(known):,}; there must be 2 to"
            f" {MOST_GROUPS:,}",
            field=Setting("group"),
            value=name,
        )
    column = name
    while column in taken:
        column += "_group"
    word = "".join(each if each.isalnum() else "_" for each in name).strip("_") or "group"
    names = (f"{letter}_{word}" for letter in _LETTERS)
    free = [each for each in names if each not in taken and each != column]
    if named:
        if len(named) > MOST_OWN:
            text = f"the groups have {len(named)} numbers of their own; they may have {MOST_OWN}"
            raise InputError(text, field=Setting("form"))
        free, most_own = [], len(named)
        for own in (f"{each}_{word}" for each in named):
            while own in taken or own == column or own in free:
                own += "_"
            free.append(own)
    source = "" if column == name else name
    grouping = Grouping(column, known, tuple(free[:most_own]), source)
    return grouping, grouping.codes(texts)


def _checked(groups: Groups) -> list[str]:
    """The labels as text; one that is missing or too long is refused."""
    name = name_shown(groups.column, quoted=True)
    texts = label_texts(groups.labels)
    for row, (label, text) in enumerate(zip(groups.labels, texts, strict=True)):
        wrong = ""
        if not text or (text in _MISSING and not isinstance(label, str)):
            wrong = "has no label"
        elif len(text) > MOST_LABEL:
            wrong = f"has a label of {len(text):,} characters, more than {MOST_LABEL:,},"
        if wrong:
            raise InputError(
                f"{name} {wrong} in row {row + 1}; give every row the label of its group",
                field=Setting("group"),
                value=groups.column,
                row=row,
            )
    return texts


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
