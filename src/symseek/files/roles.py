"""Columns that are no quantities: row numbers, identifiers, constants and copies.

A search would use them like any other column, and find `5408.66/(48.03 - rownames)`. So they are
left out unless they are asked for.

To leave out a real input loses the law, which is the worse mistake. Row numbers and identifiers are
therefore recognised by their name and their values together: 1, 2, 3, ... in a column named `x`,
`year` or `dose` is a quantity, and so is a column named `id` with fractions in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from symseek.arrays import Floats
from symseek.errors import Message, Setting, name_shown
from symseek.files.naming import Hint, hint

_LISTED = 12  # columns that a sentence names
_MANY = 10  # different numbers that are no coincidence
_FEW = 3  # groups; two tell a treatment from its control
_YEARS = 1500, 2200
_SURPRISE = 4.5  # standard deviations
_RANKED = 2000  # rows, and
_BESIDE = 50  # columns beside, that tell whether a target follows a column
_WEAK = {Hint.GROUP, Hint.THING, Hint.COUNTED, Hint.RUN, Hint.COUNTER}
_NO_NUMBERS = "text", "dates"  # how reasons begin
_LARGEST = 2.0**53  # float64 has every whole number up to here


def roles(
    columns: Sequence[Floats] | Floats, names: Sequence[str] | None = None, alone: bool = True
) -> dict[int, str]:
    """Which columns [n, N] are no quantities, by their places, and why.

    nan stands for a missing value. Where there are no names, only constants and copies are found
    from quantities. If no column would be left, those that vary stay; where the table has others,
    which are not `alone`, only those stay that may be quantities.

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
    if names is not None and _is_unnamed_in_r(columns, names):
        numbers[0] = "row numbers"
    left = found | numbers
    named = [at for at in range(len(columns)) if names is None or names[at]]
    if not set(named) - set(left):  # nothing would be left
        varying = [at for at in named if at in numbers]
        weak = [at for at in varying if names is not None and hint(names[at]) in _WEAK]
        kept = weak or (varying or named if alone else [])
        left = {at: why for at, why in left.items() if at not in kept}
    left |= _copies(columns, left, names)
    return dict(sorted(left.items()))


def with_reasons(left_out: Mapping[str, str]) -> str:
    """The columns with the reason for each, for reading.

    >>> with_reasons({"rownames": "row numbers", "": "row numbers"})
    'rownames (row numbers), the column without a name (row numbers)'
    """
    listed = [
        f"{name_shown(name) if name else 'the column without a name'} ({why})"
        for name, why in left_out.items()
    ]
    more = [f"and {len(listed) - _LISTED} more"] if len(listed) > _LISTED else []
    return ", ".join(listed[:_LISTED] + more)


def left_out_note(left_out: Mapping[str, str]) -> tuple[Message, ...]:
    """The sentence about the columns that were left out, if there are any.

    >>> print(*left_out_note({"Subject": "an identifier"}))
    left out: Subject (an identifier); take it with `features` or `all_columns`
    """
    if not left_out:
        return ()
    named = [name for name in left_out if name]
    them = "it" if len(named) == 1 else "them"
    advice = Message(f"; take {them} with ", Setting("features"), " or ", Setting("all_columns"))
    if all(why.startswith(_NO_NUMBERS) for why in left_out.values()):
        advice = Message(f"; turn {them} into numbers to use {them}")
    return (Message(f"left out: {with_reasons(left_out)}", *([advice] if named else [])),)


def group_note(names: Sequence[str]) -> tuple[Message, ...]:
    """The sentence about columns that may tell groups of rows apart, if there are any.

    >>> print(*group_note(["strain", "Subject"]))
    strain or Subject may tell groups apart: try `group` strain, or `by` strain for a fit of each
    """
    if not names:
        return ()
    first = name_shown(names[0])
    return (
        Message(
            f"{' or '.join(map(name_shown, names[:_LISTED]))} may tell groups apart: try ",
            *(Setting("group"), f" {first}, or ", Setting("by"), f" {first} for a fit of each"),
        ),
    )


def with_followed(
    left_out: Mapping[int, str],
    columns: Sequence[Floats] | Floats,
    names: Sequence[str],
    target: Floats,
    called: str,
) -> dict[str, str]:
    """Why columns are left out, by their names, and which of them the target follows.

    >>> trial, x = np.arange(1.0, 41.0), np.sin(np.arange(40.0))
    >>> with_followed({0: "row numbers"}, [trial, x], ["trial", "x"], 3 / trial + x, "y")
    {'trial': 'row numbers, but y follows it'}
    """
    beside = [columns[at] for at in range(len(columns)) if at not in left_out][:_BESIDE]
    remark = f", but {name_shown(called)} follows it"
    return {
        names[at]: why + remark * _is_followed(names[at], columns[at], target, beside)
        for at, why in left_out.items()
    }


def _is_followed(name: str, column: Floats, target: Floats, beside: Sequence[Floats]) -> bool:
    """Whether a target goes up or down with a column left out, beyond those that are not.

    Only of names that quantities have, too: any table may be sorted by its target.
    """
    said = hint(name)
    if said in (None, Hint.UNNAMED, Hint.NUMBERED, Hint.ROW, Hint.NUMBER):
        return False
    if said is Hint.IDENTIFIER and name.casefold() != "id":
        return False
    if said is Hint.IDENTIFIER and _counts(column):
        return False
    some = np.unique(np.linspace(0, len(column) - 1, _RANKED).astype(int))
    table = np.column_stack([each[some] for each in (target, column, *beside)])
    table = table[~np.isnan(table).any(axis=1)]
    free = len(table) - table.shape[1] - 2  # degrees of freedom
    if free < 1:
        return False
    ranks = np.column_stack([_ranks(each) for each in table.T])
    known = np.column_stack([np.ones(len(ranks)), ranks[:, 2:]])
    left = ranks[:, :2] - known @ np.linalg.lstsq(known, ranks[:, :2], rcond=None)[0]
    sizes = np.sqrt((left**2).mean(axis=0))
    if (sizes < 1e-3 * len(ranks)).any():  # the others say all about it
        return False
    correlation = (left[:, 0] * left[:, 1]).mean() / sizes.prod()
    return bool(abs(np.arctanh(np.clip(correlation, -1, 1) * (1 - 1e-9))) * free**0.5 > _SURPRISE)


def _ranks(values: Floats) -> Floats:
    """The rank of each; equal values have the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places], dtype=np.float64)


def _numbering(name: str, column: Floats, given: Floats) -> str | None:
    """Why a column that varies is no quantity, by its name and its values together."""
    said = hint(name)
    if said is None or not _are_numbers(given):
        return None
    if _counts(column):
        return "row numbers"
    if said is Hint.IDENTIFIER:
        return "an identifier"
    values = np.unique(given)
    if len(values) < len(given):
        return _repeated(said, column, given, values)
    if said is Hint.SUBJECT:
        return "an identifier"
    if said in (Hint.UNNAMED, Hint.NUMBER) and (said is Hint.UNNAMED or len(given) >= _MANY):
        return "an identifier"
    if said in (Hint.NUMBER, Hint.INDEX):
        return "an identifier" if _numbers_rows(given) else None
    steps = np.diff(column)
    if said in (Hint.ROW, Hint.RUN, Hint.COUNTER):
        regular = len(steps) > 1 and (steps == steps[0]).all() and steps[0] > 0
        if regular and (steps[0] == 1 or said is Hint.ROW):
            return "row numbers"
        return "row numbers" if said is Hint.ROW and _rises(given) else None
    consecutive = np.ptp(values) + 1 == len(values) and values[0] in (0, 1)
    return "an identifier" if consecutive or _rises(given) else None


def _repeated(said: Hint, column: Floats, given: Floats, values: Floats) -> str | None:
    """Why numbers of which some are equal are no quantity."""
    many = len(values) >= (_MANY if said is Hint.COUNTED else _FEW)
    if said is Hint.SUBJECT:
        return "an identifier"
    if not many or said in (Hint.UNNAMED, Hint.ROW, Hint.COUNTER):
        return None
    if said is not Hint.COUNTED and _restarts(column):
        return "row numbers of groups" if said in (Hint.NUMBER, Hint.INDEX) else "group numbers"
    if said in (Hint.NUMBER, Hint.INDEX):
        return None
    torn = 1 + np.count_nonzero(np.diff(given)) - len(values)  # blocks that continue further down
    if not torn and _is_dense(values):
        return "group numbers"
    if said is Hint.GROUP:
        consecutive = np.ptp(values) + 1 == len(values) and values[0] in (0, 1)
        uneven = len(values) >= _MANY and len(np.unique(np.diff(values))) > 2
        blocks = uneven and torn <= len(values) / _MANY and len(given) >= 2 * len(values)
        return "group numbers" if consecutive or blocks else None
    return None


def _is_unnamed_in_r(columns: Sequence[Floats] | Floats, names: Sequence[str]) -> bool:
    """Whether a first column `X` has the row numbers that R wrote without a name.

    Beside columns with names as short, X is one of the quantities.
    """
    if names[:1] != ["X"] and names[:1] != ("X",):
        return False
    others = [name for name in names[1:] if len(name) > 1 and not name[1:].isdecimal()]
    return len(columns[0]) >= _MANY and len(others) == len(names) - 1 > 0 and _counts(columns[0])


def _rises(given: Floats) -> bool:
    """Whether different numbers rise down the rows, and few of those between are left out."""
    gaps = len(given) >= _MANY and np.ptp(given) < 3 * len(given) and not _are_years(given)
    return bool((np.diff(given) > 0).all() and (gaps or _is_dense(given)))


def _is_dense(values: Floats) -> bool:
    """Whether different numbers in order leave out few, as numbers of things do, and not sizes."""
    span = np.ptp(values)
    dense = span + 1 == len(values) or (values[0] >= 100 and span < 3 * len(values))
    return bool(dense) and not _are_years(values)


def _are_years(values: Floats) -> bool:
    return bool(_YEARS[0] <= values.min() and values.max() <= _YEARS[1])


def _restarts(column: Floats) -> bool:
    """Whether a column counts from 0 or 1 again and again."""
    starts = column == column[0]
    after = np.diff(column)
    return bool(
        column[0] in (0.0, 1.0)
        and np.count_nonzero(starts) > 1
        and ((after == 1) | starts[1:]).all()
        and not starts[1:][after == 0].any()
    )


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
