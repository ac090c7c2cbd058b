"""Columns that are no quantities: row numbers, identifiers, constants and copies.

A search would use them like any other column, and find `5408.66/(48.03 - rownames)`. So they are
left out unless they are asked for.

To leave out a real input loses the law, which is the worse mistake. Row numbers and identifiers are
therefore recognised by their name and their values together: 1, 2, 3, ... in a column named `x`,
`year` or `dose` is a quantity, and so is a column named `id` with fractions in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from symseek.errors import name_shown

__all__ = ["left_out_note", "names_identifier", "roles", "with_reasons"]

Floats = NDArray[np.float64]

_LISTED = 12  # columns that a sentence names
_MANY = 10  # different numbers that are no coincidence
_LARGEST = 2.0**53  # float64 has every whole number up to here

# What is numbered. Such a word alone names the number of each.
_THINGS = {
    *("subject", "subj", "sample", "case", "obs", "observation", "patient", "participant"),
    *("person", "respondent", "individual", "specimen", "animal", "student", "user", "customer"),
    *("client", "employee", "household", "passenger"),
}
# Names of row numbers, and of quantities too.
_COUNTERS = {
    *("row", "line", "record", "entry", "item", "seq", "sequence", "counter", "run", "trial"),
    *("test", "experiment", "measurement"),
}
# With these before it, "no" or "number" is no quantity either, such as in "serial number".
_NUMBERED = {
    *_THINGS,
    *_COUNTERS,
    *("serial", "s", "sl", "sr", "lfd", "order", "ticket", "invoice", "account", "phone"),
    *("batch", "lot", "part"),
}
_NUMBER = {"no", "nr", "num", "number"}
_INDICES = {"index", "idx"}
# Whatever stands before them.
_IDENTIFIERS = {
    *("id", "ids", "uid", "uuid", "guid", "rowid", "key", "code", "zip", "zipcode", "postcode"),
    *("plz", "ssn", "barcode", "isbn", "rowname", "rownames"),
}
_UNNAMED = re.compile(r"unnamed: 0(\.\d+)?|\.\.\.1|level_0|_c0|__index_level_0__|")
_BRACKETS = re.compile(r"\[[^]]*\]|\([^)]*\)")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_GLUED = re.compile(r"(\w+?)(id|no|nr|num|number|code|index|idx|names?)")


def roles(columns: Sequence[Floats] | Floats, names: Sequence[str] | None = None) -> dict[int, str]:
    """Which columns [n, N] are no quantities, by their places, and why.

    nan stands for a missing value. Where there are no names, only constants and copies are told
    from quantities. If no column would be left, those that vary stay.

    >>> table = np.array([[1, 58, 3], [2, 59, 3], [3, 60, 3], [4, 62, 3]], dtype=float)
    >>> roles(table.T, ["rownames", "height", "group"])
    {0: 'row numbers', 2: 'constant'}
    >>> roles(table.T[:2], ["day", "height"]), roles(table.T[:1], ["rownames"])
    ({}, {})
    """
    found: dict[int, str] = {}
    numbers: dict[int, str] = {}
    for at, column in enumerate(columns):
        given = column[~np.isnan(column)]
        if not len(given):
            found[at] = "no values"
        elif len(given) > 1 and (given == given[0]).all():
            found[at] = "constant"
        elif names is not None and (why := _numbering(names[at], column, given)) is not None:
            numbers[at] = why
    left = found | numbers
    named = [at for at in range(len(columns)) if names is None or names[at]]
    if not set(named) - set(left):  # nothing would be left
        kept = [at for at in named if at in numbers] or named
        left = {at: why for at, why in left.items() if at not in kept}
    left |= _copies(columns, left, names)
    return dict(sorted(left.items()))


def names_identifier(name: str) -> bool:
    """Whether a column of this name is an identifier, if it holds no quantity.

    >>> [names_identifier(name) for name in ("PatientID", "rownames", "zip code", "", "serial no.")]
    [True, True, True, True, True]
    >>> [names_identifier(name) for name in ("x", "time", "atomic number", "fluid", "price index")]
    [False, False, False, False, False]
    """
    return _hint(name) in ("identifier", "number", "index", "unnamed")


def with_reasons(left_out: Mapping[str, str], most: int = _LISTED) -> str:
    """The columns with the reason for each, for reading.

    >>> with_reasons({"rownames": "row numbers", "": "row numbers"})
    'rownames (row numbers), the column without a name (row numbers)'
    """
    listed = [
        f"{name_shown(name) if name else 'the column without a name'} ({why})"
        for name, why in left_out.items()
    ]
    more = [f"and {len(listed) - most} more"] if len(listed) > most else []
    return ", ".join(listed[:most] + more)


def left_out_note(left_out: Mapping[str, str]) -> tuple[str, ...]:
    """The sentence about the columns that were left out, if there are any.

    >>> left_out_note({"Subject": "an identifier"})
    ('left out: Subject (an identifier); take it with `features` or `all_columns`',)
    """
    if not left_out:
        return ()
    named = [name for name in left_out if name]
    them = "it" if len(named) == 1 else "them"
    advice = f"; take {them} with `features` or `all_columns`" if named else ""
    return (f"left out: {with_reasons(left_out)}{advice}",)


def _numbering(name: str, column: Floats, given: Floats) -> str | None:
    """Why a column that varies is no quantity, by its name and its values together."""
    hint = _hint(name)
    if hint is None or not _are_numbers(given):
        return None
    if _counts(column):
        return "row numbers"
    if hint == "identifier":
        return "an identifier"
    different = len(np.unique(given)) == len(given)
    if hint == "unnamed" or (hint == "number" and len(given) >= _MANY and name != "NO"):
        return "an identifier" if different else None
    if hint in ("number", "index") and name != "NO":  # which is nitric oxide
        return "an identifier" if different and _numbers_rows(given) else None
    return None


def _hint(name: str) -> str | None:
    """What a name says: an identifier, a number, an index or a counter of something."""
    if _UNNAMED.fullmatch(name.casefold()):
        return "unnamed"
    words = _words(name)
    if not words:
        return None
    *before, last = words
    numbered = all(word in _NUMBERED for word in before)
    if last in _IDENTIFIERS or (before and numbered and last in _NUMBER | _INDICES):
        return "identifier"
    if last in ("name", "names") and before == ["row"]:
        return "identifier"
    if before:
        return None
    if last in _THINGS:
        return "identifier"
    if last in _NUMBER:
        return "index" if last == "number" else "number"
    return "index" if last in _INDICES else "counter" if last in _COUNTERS else None


def _words(name: str) -> list[str]:
    """The words of a name in lower case, without what is in brackets.

    >>> _words("PatientID"), _words("sample_no. [1]"), _words("rowid"), _words("#")
    (['patient', 'id'], ['sample', 'no'], ['row', 'id'], ['no'])
    """
    plain = _CAMEL.sub(" ", _BRACKETS.sub(" ", name)).casefold()
    plain = re.sub(r"#|№|\bn°", " no ", plain)
    found: list[str] = []
    for word in re.findall(r"[^\W_]+", plain):
        glued = _GLUED.fullmatch(word)
        apart = glued is not None and glued[1] in _NUMBERED and word not in _NUMBERED
        found += list(glued.groups()) if glued is not None and apart else [word]
    return found


def _are_numbers(given: Floats) -> bool:
    """Whether all are whole numbers that may number something."""
    return bool(((given >= 0) & (given < _LARGEST)).all() and (given == np.floor(given)).all())


def _counts(column: Floats) -> bool:
    """Whether a column is 0, 1, 2, ... or 1, 2, 3, ... down the rows."""
    return column[0] in (0.0, 1.0) and np.array_equal(
        column, np.arange(column[0], column[0] + len(column))
    )


def _numbers_rows(given: Floats) -> bool:
    """Whether different whole numbers are those of rows: some left out, or in another order."""
    low, high = given.min(), given.max()
    return bool((np.diff(given) > 0).all()) or (low in (0, 1) and high - low + 1 == len(given))


def _copies(
    columns: Sequence[Floats] | Floats, found: Mapping[int, str], names: Sequence[str] | None
) -> dict[int, str]:
    """The columns, beside those found, that equal one before them."""
    copies: dict[int, str] = {}
    firsts: dict[bytes, list[int]] = {}  # by a few of their values
    for at, column in enumerate(columns):
        if at in found:
            continue
        some = np.linspace(0, len(column) - 1, 8).astype(int)
        alike = firsts.setdefault((column[some] + 0.0).tobytes(), [])
        for first in alike:
            if np.array_equal(columns[first], column, equal_nan=True):
                what = f"column {first}" if names is None else name_shown(names[first])
                copies[at] = f"a copy of {what}"
                break
        else:
            alike.append(at)
    return copies
