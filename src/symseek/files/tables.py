"""Tables from files, checked: CSV, TSV and Parquet in, float64 arrays out.

What is wrong with a file is said in one sentence that names the file, the column and the line, and
what to do. A file is data: nothing in it is ever run.
"""

from __future__ import annotations

import datetime
import os
import re
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from symseek.data import FEWEST_ROWS, LARGEST
from symseek.errors import InputError, suggestion
from symseek.files.delimited import COMPRESSED, Delimited, as_delimiter, tidy
from symseek.files.parquet import Parquet
from symseek.tokens import RESERVED

__all__ = [
    "MOST_COLUMNS",
    "InputTable",
    "TrainingTable",
    "read_inputs",
    "read_table",
]

Floats = NDArray[np.float64]
Source = Delimited | Parquet

MOST_COLUMNS = 500  # features; a search among more finds nothing in any reasonable time

TEXT = (".csv", ".tsv", ".tab", ".txt")
TABBED = (".tsv", ".tab")
PARQUET = (".parquet", ".pq")

SHOWN = 40  # characters of a bad cell

_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}([-/.]\d{1,2}.*)?|\d{1,2}([-/.])\d{1,2}\3\d{2,4}.*|\d{1,2}:\d{2}.*"
    r"|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}.*)",
    re.ASCII | re.DOTALL,
)
_TIMES = (datetime.date, datetime.time, datetime.timedelta)
_GROUPED = re.compile(r"\s*[+-]?[\d.]*,[\d.,]*\s*", re.ASCII)


@dataclass(frozen=True)
class TrainingTable:
    """What a search needs from a file, every number finite."""

    X: Floats  # [N, n]
    y: Floats  # [N]
    weights: Floats | None  # [N], none negative, not all zero
    features: tuple[str, ...]  # [n]
    target: str
    path: Path
    notes: tuple[str, ...] = ()  # what was done that the user may not expect, a sentence each


@dataclass(frozen=True)
class InputTable:
    """What a prediction needs from a file, every number finite."""

    X: Floats  # [N, n]
    features: tuple[str, ...]  # [n]
    ignored: tuple[str, ...]  # columns of the file that were not asked for
    path: Path
    notes: tuple[str, ...] = ()


def read_table(
    path: str | os.PathLike[str],
    target: str,
    features: Sequence[str] | None = None,
    weights: str | None = None,
    delimiter: str | None = None,
) -> TrainingTable:
    """Read a target and its features: all other columns, unless some are chosen.

    The delimiter of a text table is guessed unless it is given, as are decimal commas.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "fall.csv")
    ...     _ = path.write_text("t;height\\n0,5;1,2\\n1,0;4,9\\n1,5;11,0\\n")
    ...     table = read_table(path, target="height")
    >>> table.features, table.X[:, 0], table.y
    (('t',), array([0.5, 1. , 1.5]), array([ 1.2,  4.9, 11. ]))
    >>> table.notes
    ('read commas in numbers as decimal signs',)
    """
    source = _open(Path(path), delimiter)
    target, weights = tidy(target), None if weights is None else tidy(weights)
    beside = [target] if weights is None else [target, weights]
    names = _feature_names(source, beside, features)
    counted = features is None and source.names[0] == ""  # it may be an index that pandas wrote
    wanted = [*names, *beside, *([""] if counted else [])]
    values = _values(source, wanted, optional=names if features is None else ())
    notes = source.notes
    if counted:
        _refuse_other_than_count(source, values[:, -1])
        notes += ("left out column 1, which has no name and only counts the rows",)
    _refuse_few_rows(source, len(values))
    y = values[:, len(names)].copy()
    _refuse_constant(source, target, y)
    row_weights = None
    if weights is not None:
        row_weights = values[:, len(names) + 1].copy()
        _refuse_bad_weights(source, weights, row_weights)
    X = np.ascontiguousarray(values[:, : len(names)])
    return TrainingTable(X, y, row_weights, names, target, source.path, notes)


def read_inputs(
    path: str | os.PathLike[str], features: Sequence[str], delimiter: str | None = None
) -> InputTable:
    """Read some columns by name, whatever their order in the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     _ = path.write_text("day,b,a\\nMonday,1,2\\n")
    ...     inputs = read_inputs(path, ["a", "b"])
    >>> inputs.X, inputs.ignored
    (array([[2., 1.]]), ('day',))
    """
    source = _open(Path(path), delimiter)
    names = _checked_features(features)
    X = _values(source, names)
    ignored = tuple(name for name in source.names if name not in names)
    return InputTable(X, names, ignored, source.path, source.notes)


def _open(path: Path, delimiter: str | None) -> Source:
    """The file by its suffix, its names read and its numbers not yet."""
    _refuse_other_than_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    elif suffixes and suffixes[-1] in PARQUET:
        if delimiter is not None:
            raise InputError(f"`delimiter` is for text tables; leave it out to read {path}")
        return Parquet.open(path)
    if not suffixes or suffixes[-1] not in TEXT:
        raise InputError(
            f"{path} does not have the name of a table that can be read"
            f" ({', '.join((*TEXT, *PARQUET))}); save it as CSV or Parquet"
        )
    if delimiter is not None:
        return Delimited.open(path, as_delimiter(delimiter))
    return Delimited.open(path, "\t" if suffixes[-1] in TABBED else None)


def _refuse_other_than_file(path: Path) -> None:
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise _no_such_file(path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read ({reason}); check the path") from None
    if stat.S_ISDIR(mode):
        tables = _tables_in(path)
        such = f", such as {tables[0]}" if tables else ""
        raise InputError(f"{path} is a folder; give a file in it{such}")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is not a plain file; save the table to one")


def _no_such_file(path: Path) -> InputError:
    if not path.parent.is_dir():
        return InputError(f"there is no folder {path.parent}; check the path")
    tables = _tables_in(path.parent)
    hint = suggestion(path.name, tables) if tables else "check the path"
    return InputError(f"there is no file {path}; {hint}")


def _tables_in(folder: Path) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    readable = tuple(kind + packed for kind in TEXT for packed in ("", *COMPRESSED)) + PARQUET
    return [name for name in names if name.lower().endswith(readable)]


def _feature_names(
    source: Source, beside: Sequence[str], features: Sequence[str] | None
) -> tuple[str, ...]:
    """The columns to predict from, which can all name a variable; beside are target and weights."""
    target, *weights = beside
    if weights == [target]:
        raise InputError(
            f"column {target!r} is both `target` and `weights`; give another column of weights"
        )
    _columns(source, beside)
    if features is None:
        first = 1 if source.names[0] == "" else 0
        names = tuple(name for name in source.names[first:] if name not in beside)
    else:
        names = _checked_features(features)
    for name, role in zip(beside, ("the target", "the weights"), strict=False):
        if name in names:
            raise InputError(f"column {name!r} is {role} and a feature; leave it out of `features`")
    if not names:
        if error := source.misread():
            raise error
        raise InputError(
            f"{source.path} has no column beside {target!r} to predict it from; add one"
        )
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{source.path} has {len(names)} feature columns, more than {MOST_COLUMNS}; choose"
            " some with `features`"
        )
    for name in names:
        _refuse_name(source, name)
    return names


def _checked_features(features: Sequence[str]) -> tuple[str, ...]:
    """The features that the caller names."""
    if isinstance(features, str):
        raise InputError(f"give the features as a list, such as [{features!r}], not one text")
    if not features:
        raise InputError("`features` names no column; name at least one")
    return tuple(map(tidy, features))


def _refuse_name(source: Source, name: str) -> None:
    """Refuse a name that no variable can have."""
    if not name:
        raise _nameless(source, len(source.names) - 1 - source.names[::-1].index(""))
    if name in RESERVED:
        raise InputError(
            f"column {name!r} in {source.header} of {source.path} is named like an operator;"
            f" rename it, for instance to {name + '_'!r}"
        )


def _nameless(source: Source, column: int) -> InputError:
    return InputError(
        f"column {column + 1} has no name in {source.header} of {source.path}; name it, or choose"
        " among the others with `features`"
    )


def _columns(source: Source, names: Sequence[str]) -> list[int]:
    """Where the columns of these names are, each there exactly once."""
    missing = [name for name in names if name not in source.names]
    if missing and (error := source.misread()):
        raise error
    if missing:
        also = f" (nor {', '.join(map(repr, missing[1:]))})" if missing[1:] else ""
        hint = suggestion(missing[0], [name for name in source.names if name])
        raise InputError(f"{source.path} has no column {missing[0]!r}{also}; {hint}")
    asked, found = Counter(names), Counter(source.names)
    for name in names:
        if asked[name] > 1 and found[name] == 1:
            raise InputError(f"feature {name!r} is given twice; give it once")
        if found[name] > 1:
            raise InputError(
                f"{source.path} has {found[name]} columns named {name!r} in {source.header};"
                " rename them so that they differ"
            )
    return [source.names.index(name) for name in names]


def _values(source: Source, names: Sequence[str], optional: Sequence[str] = ()) -> Floats:
    """The numbers [N, k] of some columns, all finite; an optional one could be left out."""

    def cell_error(column: int, where: str, value: object) -> InputError:
        name = source.names[column]
        if not name:
            return _nameless(source, column)
        wrong, advice = _not_a_number(where, value)
        if name in optional:
            advice += ", or leave the column out with `features`"
        return InputError(f"column {name!r} of {source.path} has {wrong}; {advice}")

    columns = _columns(source, names)
    values = source.floats(columns, cell_error)
    if not len(values):
        raise InputError(f"{source.path} has column names but no rows; add some")
    for i, name in enumerate(names):
        if name:  # the count of the rows has its own check
            _refuse_non_finite(source, name, values[:, i])
    return values


def _not_a_number(where: str, value: object) -> tuple[str, str]:
    """What a cell has instead of a number, and what to do about it.

    >>> _not_a_number("line 2", "2024-05-01")
    ("the date '2024-05-01' in line 2", 'turn dates into numbers, such as days since the start')
    """
    text = str(value)
    shown = repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
    if text.strip().casefold() in ("true", "false"):
        return f"{shown} in {where}", "write 1 for true and 0 for false"
    if isinstance(value, _TIMES) or _DATE.fullmatch(text):
        advice = "turn dates into numbers, such as days since the start"
        return f"the date {shown} in {where}", advice
    if _GROUPED.fullmatch(text):
        advice = "write decimals with a point, and thousands without a separator"
        return f"{shown} in {where}", advice
    return f"{shown} in {where}, which is not a number", "replace it by a number"


def _refuse_non_finite(source: Source, name: str, column: Floats) -> None:
    gone = np.isnan(column)
    if gone.any():
        count = int(gone.sum())
        many = "a missing value" if count == 1 else f"{count} missing values, the first"
        raise InputError(
            f"column {name!r} of {source.path} has {many} in"
            f" {source.where(int(gone.argmax()))}; drop such rows or fill them in"
        )
    large = np.abs(column) > LARGEST
    if not large.any():
        return
    row = int(large.argmax())
    what = f"column {name!r} of {source.path} has {column[row]:g} in {source.where(row)}"
    if np.isinf(column[row]):
        raise InputError(f"{what}; drop rows with infinite values or replace them")
    raise InputError(f"{what}, and squares overflow beyond {LARGEST:g}; rescale the column")


def _refuse_other_than_count(source: Source, column: Floats) -> None:
    if not np.array_equal(column, np.arange(len(column))):
        raise _nameless(source, 0)


def _refuse_few_rows(source: Source, rows: int) -> None:
    if rows < FEWEST_ROWS:
        many = "one row" if rows == 1 else f"{rows} rows"
        raise InputError(
            f"{source.path} has only {many}; a search needs at least {FEWEST_ROWS}, so add some"
        )


def _refuse_constant(source: Source, target: str, y: Floats) -> None:
    if y.min() == y.max():
        raise InputError(
            f"the target {target!r} of {source.path} is {y[0]:g} in every row; choose one that"
            " varies"
        )


def _refuse_bad_weights(source: Source, name: str, weights: Floats) -> None:
    what = f"column {name!r} of {source.path}"
    negative = weights < 0
    if negative.any():
        row = int(negative.argmax())
        raise InputError(
            f"{what} has the weight {weights[row]:g} in {source.where(row)}; make weights zero or"
            " more"
        )
    if not weights.any():
        raise InputError(f"{what} has the weight 0 in every row; make some positive")
