"""Tables from files, checked: CSV, TSV, aligned columns, Parquet and Excel in, float64 arrays out.

What is wrong with a file is said in one sentence that names the file, the column and the line, and
what to do. A file is data: nothing in it is ever run.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.columns import Column, Layout, Role
from symseek.errors import (
    InputError,
    Message,
    Part,
    Quoted,
    Setting,
    name_shown,
    nearest,
    shown,
    suggestion,
)
from symseek.files.cells import BLANK, is_number
from symseek.files.checks import (
    nameless,
    not_a_number,
    of_column,
    refuse_bad_errors,
    refuse_bad_weights,
    refuse_constant,
    refuse_few_rows,
    refuse_non_finite,
)
from symseek.files.delimited import Delimited
from symseek.files.excel import Workbook
from symseek.files.heading import as_delimiter, tidy, unit_in
from symseek.files.kinds import FLAG, offers_groups, unit_of
from symseek.files.limits import MOST_TABLE
from symseek.files.lines import COMPRESSED
from symseek.files.naming import names_identifier
from symseek.files.parquet import Parquet
from symseek.files.roles import group_note, left_out_note, roles, with_followed
from symseek.files.source import LOOKED_AT, Numbers, TableSource, TextCell
from symseek.files.texts import text_columns
from symseek.groups import Grouping, Groups, label_texts
from symseek.tokens import RESERVED

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_COLUMNS = 500  # features; a search among more finds nothing in any reasonable time

_LISTED = 10  # names in a sentence
_GROUPING = ("text", "an identifier", "group numbers")  # columns that may tell groups apart

TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat", ".asc", ".prn")
TABBED = (".tsv", ".tab")
PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")


@dataclass(frozen=True)
class TrainingTable:
    """What a search needs from a file, every number finite."""

    X: Floats  # [N, n]
    y: Floats  # [N]
    weights: Floats | None  # [N], none negative, not all zero
    columns: tuple[Column, ...]  # features, target, weights or sigma, group, what is left out
    path: Path
    layout: Layout  # where the features are in the file, then the group
    # What was done that the user may not expect, a sentence each.
    notes: tuple[str | Message, ...] = ()
    groups: Groups | None = None  # of the rows
    others: tuple[str, ...] = ()  # the names of the columns that a search does not take
    sigma: Floats | None = None  # [N] errors of measurement, all positive

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the inputs [n]."""
        return tuple(each.name for each in self.columns if each.role == "input")

    @property
    def target(self) -> str:
        """The name of the target."""
        return self.columns[self.X.shape[1]].name

    @property
    def left_out(self) -> dict[str, str]:
        """The columns that are left out, and why."""
        return {each.name: each.kind for each in self.columns if each.role == "left out"}


@dataclass(frozen=True)
class InputTable:
    """What a prediction needs from a file, every number finite."""

    X: Floats  # [N, n], and with groups the number of each row's in a last column
    features: tuple[str, ...]  # [n]
    ignored: tuple[str, ...]  # columns of the file that were not asked for
    rows: NDArray[np.intp]  # [N] which rows of the file these are, from 0
    path: Path
    notes: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)  # of columns, as the file says


def read_table(
    path: str | os.PathLike[str],
    target: str,
    features: Sequence[str] | None = None,
    weights: str | None = None,
    delimiter: str | None = None,
    missing: str = "refuse",
    left_out: Mapping[str, str] | None = None,
    max_table_size: int = MOST_TABLE,
    sheet: str | None = None,
    group: str | None = None,
    others: Sequence[str] = (),
    sigma: str | None = None,
) -> TrainingTable:
    """Read a target and its features: all other quantities, unless some columns are chosen.

    Row numbers, identifiers, constants, copies and text are no quantities, and left out; `left_out`
    names others to leave out instead, and {} none. Dates become the time since the first row. The
    delimiter of a text table is guessed unless it is given, as are decimal commas. Where values are
    `missing`, the table is refused, or the rows are left out, or the columns. Of a workbook a
    `sheet` is read, by default the first. A compressed table, or Parquet, may take `max_table_size`
    bytes when it is read. A column of text or numbers may tell the `group` of each row; it is an
    input only if `features` names it too. The `others` are never inputs. The column `sigma` has the
    error of measurement of each row instead of weights.

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
    source = open_table(Path(path), delimiter, max_table_size, sheet)
    asked = target, features, weights, missing, left_out, group, others, sigma
    return training_table(source, *asked)


def training_table(
    source: TableSource,
    target: str,
    features: Sequence[str] | None = None,
    weights: str | None = None,
    missing: str = "refuse",
    left_out: Mapping[str, str] | None = None,
    group: str | None = None,
    others: Sequence[str] = (),
    sigma: str | None = None,
) -> TrainingTable:
    """The target and its features of a table that has been opened, as `read_table` has them."""
    target = _bare(source, target)
    if weights is not None and sigma is not None:
        raise InputError(
            "give ",
            Setting("weights"),
            " or ",
            Setting("sigma"),
            ", not both: a row of error sigma weighs 1/sigma**2",
            field=Setting("sigma"),
            value=sigma,
        )
    weights, sigma = (None if each is None else _bare(source, each) for each in (weights, sigma))
    group = None if group is None else _bare(source, group)
    beside = [target, *(each for each in (weights, sigma) if each is not None)]
    if group is not None:
        _refuse_group(source, group, beside, _counted_by(sigma))
    apart = [] if group is None else [group]
    apart += [_bare(source, each) for each in others]
    _columns(source, apart)
    decided = left_out is not None or features is not None
    if features is None:
        _refuse_beside(source, beside, _counted_by(sigma))
        names, numbers, left_out, remarks = _quantities(source, beside, left_out, apart)
    else:
        _refuse_beside(source, beside, _counted_by(sigma))
        names = _feature_names(source, beside, features, sigma is None)
        left_out, remarks = {}, {}
        numbers = _numbers(source, [*names, *beside])
    values, read = numbers.values, [*names, *beside]
    kinds = {read[at]: kind for at, kind in numbers.kinds.items()}
    labels: list[str] = []
    if group is not None:
        codes, labels = _labels(source, group)
        beside, values = [*beside, group], np.column_stack([values, codes])
    if missing == "column":
        names, values, gaps = _without_gaps(source, names, beside, values)
        left_out, remarks = {**left_out, **gaps}, {**remarks, **gaps}
    rows, dropped = _whole_rows(source, [*names, *beside], values, missing != "refuse")
    values = _taken(values, rows)
    if dropped and not decided:  # in the rows that are left, other columns may be constant
        more = {names[at]: why for at, why in roles(values.T[: len(names)]).items()}
        kept = [at for at, name in enumerate(names) if name not in more]
        values = values[:, [*kept, *range(len(names), values.shape[1])]]
        names, left_out = tuple(names[at] for at in kept), {**left_out, **more}
    refuse_few_rows(source, len(values))
    y = values[:, len(names)].copy()
    refuse_constant(source, target, y)
    row_weights = errors = None
    if weights is not None:
        row_weights = values[:, len(names) + 1].copy()
        refuse_bad_weights(source, weights, row_weights, rows)
    if sigma is not None:
        errors = values[:, len(names) + 1].copy()
        refuse_bad_errors(source, sigma, errors, rows)
    return TrainingTable(
        values[:, : len(names)],  # no copy: a large table is in memory once
        y,
        row_weights,
        _with_roles(source, names, target, weights, sigma, group, left_out, kinds),
        source.path,
        Layout(
            tuple(
                source.first_column + source.names.index(name)
                for name in (*names, *([group] if group is not None else []))
            ),
            source.first_row,
        ),
        (
            *source.notes,
            *_read_notes({name: kinds[name] for name in (*names, *beside) if name in kinds}),
            *left_out_note({**left_out, **remarks}),
            *group_note(_possible_groups(source, left_out) if group is None else []),
            *dropped,
        ),
        None if group is None else Groups(group, [labels[int(at)] for at in values[:, -1]]),
        tuple(name for name in source.names if name and name not in (*names, target)),
        errors,
    )


def _counted_by(sigma: str | None) -> str:
    """What the column beside the target is called that rows count by."""
    return "weights" if sigma is None else "sigma"


def _refuse_group(source: TableSource, group: str, beside: Sequence[str], counted: str) -> None:
    """Refuse a column for groups that is not there, or something else already."""
    if group in beside:
        other = Setting(counted if group in beside[1:] else "target")
        raise InputError(
            f"column {_named(group)} is both ",
            other,
            " and ",
            Setting("group"),
            "; choose another",
            field=Setting("group"),
            value=group,
        )
    _columns(source, [group])


def _labels(source: TableSource, name: str) -> tuple[Floats, list[str]]:
    """The group of each row [N] as the place of its label among all; nan where it has none."""
    (cells,) = source.cells(_columns(source, [name]))
    missing = [each is None or each != each or str(each).strip() in BLANK for each in cells]
    texts = label_texts([_with_point(each, source.decimal) for each in cells])
    pairs = list(zip(texts, missing, strict=True))
    known = {
        text: float(at) for at, text in enumerate(dict.fromkeys(t for t, no in pairs if not no))
    }
    return np.array([np.nan if no else known[text] for text, no in pairs]), list(known)


def _with_point(cell: object, decimal: str) -> object:
    """A cell with the sign of decimals that Python has, if it is a number."""
    number = decimal == "," and isinstance(cell, str) and is_number(cell, decimal)
    return str(cell).replace(",", ".") if number else cell


def _with_roles(
    source: TableSource,
    inputs: Sequence[str],
    target: str,
    weights: str | None,
    sigma: str | None,
    group: str | None,
    left_out: Mapping[str, str],
    kinds: Mapping[str, str],
) -> tuple[Column, ...]:
    """The columns of a table with what they are for, what they hold, and their units."""
    named: list[tuple[str, Role]] = [(name, "input") for name in inputs]
    named.append((target, "target"))
    named += [] if weights is None else [(weights, "weights")]
    named += [] if sigma is None else [(sigma, "sigma")]
    found = [(name, role, kinds.get(name, "quantity")) for name, role in named]
    found += [] if group is None else [(group, "group", "groups")]
    found += [(name, "left out", why) for name, why in left_out.items()]
    units = {
        name: unit_of(kind) or source.units.get(name) or unit_in(name) for name, _, kind in found
    }
    return tuple(Column(name, role, kind, units[name]) for name, role, kind in found)


def _read_notes(kinds: Mapping[str, str]) -> list[str]:
    """A sentence about each column that had no numbers."""
    return [
        f"read {name_shown(name)} as {'0 and 1' if kind == FLAG else kind}"
        for name, kind in kinds.items()
    ]


def _possible_groups(source: TableSource, left_out: Mapping[str, str]) -> list[str]:
    """The columns left out that tell groups of rows apart."""
    names = [name for name, why in left_out.items() if name and why in _GROUPING]
    if not names:
        return []
    head = source.head(LOOKED_AT)
    return [name for name in names if offers_groups([r[source.names.index(name)] for r in head])]


def _without_gaps(
    source: TableSource, names: Sequence[str], beside: Sequence[str], values: Floats
) -> tuple[tuple[str, ...], Floats, dict[str, str]]:
    """The features without missing values, the numbers of these and the columns beside, and why."""
    counts = [int(np.isnan(values[:, at]).sum()) for at in range(len(names))]
    kept = [at for at, count in enumerate(counts) if not count]
    gaps = {names[at]: _missing_values(count) for at, count in enumerate(counts) if count}
    if gaps and not kept:
        raise InputError(
            source.path,
            " has missing values in every column that may be used; leave out rows instead, with ",
            Setting("missing"),
            " 'rows'",
            field=Setting("missing"),
            value="column",
        )
    if gaps:
        values = values[:, [*kept, *range(len(names), values.shape[1])]]
    return tuple(names[at] for at in kept), values, gaps


def _missing_values(count: int) -> str:
    return "a missing value" if count == 1 else f"{count:,} missing values"


def _quantities(
    source: TableSource,
    beside: Sequence[str],
    left_out: Mapping[str, str] | None,
    apart: Sequence[str] = (),
) -> tuple[tuple[str, ...], Numbers, dict[str, str], dict[str, str]]:
    """The quantities beside the target, the numbers of all of these, and what is left out and why.

    Those `apart` are for something else. What is to be left out may be known already, from when a
    run began. The reasons come twice, at last with the remark that the target follows a column.
    """
    found = dict(left_out or {})
    names = [name for name in source.names if name not in (*beside, *found, *apart)]
    # R and pandas give no name to a first column that numbers the rows.
    unnamed = names[:1] == [""] == [source.names[0]]
    _refuse_number(source, names[1:] if unnamed else names, beside)
    if "" in names[unnamed:]:
        _refuse_name(source, "")
    numbers, texts = _without_text(source, names, beside, left_out is not None)
    found |= texts
    names = [name for name in names if name not in texts]
    values = numbers.values
    columns, target = values.T[: len(names)], values[:, len(names)]
    others: dict[int, str] = {}
    if left_out is None or "" in names:
        others = roles(columns, names, all(map(names_identifier, texts)))
    if left_out is not None:
        others = {at: why for at, why in others.items() if not names[at]}
    if texts and len(others) == len(names):
        text = [name for name in texts if not names_identifier(name)]
        _numbers(source, text, optional=text)  # says what is wrong with them
    kept = [at for at in range(len(names)) if at not in others]
    for at in kept:
        _refuse_name(source, names[at])
    found |= {names[at]: why for at, why in others.items()}
    remarks = with_followed(others, columns, names, target, beside[0])
    if others:
        numbers = numbers.of([*kept, *range(len(names), values.shape[1])])
    ordered = {name: found[name] for name in source.names if name in found}
    return tuple(names[at] for at in kept), numbers, ordered, remarks


def _without_text(
    source: TableSource, names: Sequence[str], beside: Sequence[str], known: bool
) -> tuple[Numbers, dict[str, str]]:
    """The numbers of the columns that are no text, and why the others are left out.

    Where it is `known` what to leave out, only a column without a name, which is never used, is.
    """
    left, texts = list(names), dict[str, str]()
    while True:
        every = [*left, *beside]
        numbers = source.numbers(_columns(source, every))
        if not numbers.texts:
            _refuse_no_rows(source, numbers)
            return numbers, texts
        for at in numbers.with_text():
            name, found = every[at], dict[str, str]()
            if name in texts:
                continue
            if name in left and not (known and name):
                found = text_columns(source, [name] if known else left, [name])
                if name in found and (reason := numbers.texts[at].reason):
                    found[name] = reason
            if name not in found or not set(left) - set(found):
                raise _text_error(source, name, numbers.texts[at], left)
            texts |= found
            left = [each for each in left if each not in texts]


def columns_left_out(source: TableSource, beside: Collection[str]) -> dict[str, str]:
    """The columns, but those beside, that a search does without unless asked, and why."""
    every = source.whole().numbers(range(len(source.names)))
    if not every.values.size:
        return {}
    others = [at for at, name in enumerate(source.names) if name not in beside]
    texts = [source.names[at] for at in others if at in every.texts]
    numbers = [at for at in others if at not in every.texts]
    names = [source.names[at] for at in numbers]
    why = text_columns(source, texts, texts) if texts else {}
    for name in why:
        why[name] = every.texts[source.names.index(name)].reason or why[name]
    alone = all(names_identifier(name) for name in why)
    found = roles([every.values[:, at] for at in numbers], names, alone)
    if len(found) == len(names):
        why = {}  # these are all, or none is left but text, about which there is then an error
    why |= {names[at]: reason for at, reason in found.items()}
    return {name: why[name] for at in others if (name := source.names[at]) in why}


def read_inputs(
    path: str | os.PathLike[str],
    features: Sequence[str],
    delimiter: str | None = None,
    missing: str = "refuse",
    max_table_size: int = MOST_TABLE,
    kinds: Mapping[str, str] | None = None,
    sheet: str | None = None,
    grouping: Grouping | None = None,
) -> InputTable:
    """Read some columns by name, whatever their order in the file.

    Of columns that had no numbers, `kinds` has what they were when a formula was searched for, and
    `grouping` the groups of its rows; another group is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     _ = path.write_text("day,b,a\\nMonday,1,2\\n")
    ...     inputs = read_inputs(path, ["a", "b"])
    >>> inputs.X, inputs.ignored
    (array([[2., 1.]]), ('day',))
    """
    source = open_table(Path(path), delimiter, max_table_size, sheet)
    names = _checked_features(source, features)
    numbers = _numbers(source, names, known=kinds or {})
    X = numbers.values
    for at, kind in numbers.kinds.items():
        if kind != FLAG and kind != (kinds or {}).get(names[at]):
            text = f" has {kind}, unlike when the formula was searched for; write it as then"
            raise of_column(source, names[at], text)
    columns = names
    if grouping is not None:
        codes, labels = _labels(source, grouping.name)
        columns, X = (*names, grouping.name), np.column_stack([X, codes])
    rows, dropped = _whole_rows(source, columns, X, missing != "refuse")
    ignored = tuple(name for name in source.names if name not in columns)
    X = _taken(X, rows)
    if grouping is not None:
        X[:, -1] = grouping.codes([labels[int(at)] for at in X[:, -1]])
    units = {name: source.units.get(name) or unit_in(name) for name in names}
    said = {name: unit for name, unit in units.items() if unit}
    return InputTable(X, names, ignored, rows, source.path, (*source.notes, *dropped), said)


def read_all(
    path: str | os.PathLike[str],
    delimiter: str | None = None,
    max_table_size: int = MOST_TABLE,
    sheet: str | None = None,
) -> DataFrame:
    """Read every column as it is in the file: numbers or not, the cells of a text table as text.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     _ = path.write_text("day,a\\nMonday,1.50\\n")
    ...     print(read_all(path).to_csv(index=False), end="")
    day,a
    Monday,1.50
    """
    return open_table(Path(path), delimiter, max_table_size, sheet).frame()


def column_error(source: TableSource, at: int, missing: str = "refuse") -> InputError | None:
    """What is wrong with one column, if a search is to use it."""
    name = source.names[at]
    try:
        _refuse_name(source, name)
        values = _numbers(source, [name], optional=[name]).values
        _whole_rows(source, [name], values, missing != "refuse")
    except InputError as error:
        return error
    return None


def open_table(
    path: Path,
    delimiter: str | None = None,
    max_table_size: int = MOST_TABLE,
    sheet: str | None = None,
) -> TableSource:
    """The file by its suffix, its names read and its numbers not yet."""
    _refuse_other_than_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    elif suffixes and suffixes[-1] in PARQUET + EXCEL:
        if delimiter is not None:
            raise InputError(
                Setting("delimiter"), " is for text tables; leave it out to read ", path
            )
        if suffixes[-1] in EXCEL:
            return Workbook.open_sheet(path, sheet, max_table_size)
    if sheet is not None:
        text = " is for Excel workbooks; leave it out to read "
        raise InputError(Setting("sheet"), text, path, field=Setting("sheet"), value=sheet)
    if suffixes and suffixes[-1] in PARQUET:
        return Parquet.open(path, max_table_size)
    if not suffixes or suffixes[-1] not in TEXT:
        raise InputError(
            path,
            " does not have the name of a table that can be read"
            f" ({', '.join((*TEXT, *PARQUET, *EXCEL))}); save it as CSV, Parquet or .xlsx",
        )
    if delimiter is not None:
        return Delimited.open(path, as_delimiter(delimiter), max_table_size)
    return Delimited.open(path, "\t" if suffixes[-1] in TABBED else None, max_table_size)


def _refuse_other_than_file(path: Path) -> None:
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise _no_such_file(path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(path, f" cannot be read ({reason}); check the path") from None
    if stat.S_ISDIR(mode):
        tables = _tables_in(path)
        such: list[Part] = [", such as ", path / tables[0]] if tables else []
        raise InputError(path, " is a folder; give a file in it", *such)
    if not stat.S_ISREG(mode):
        raise InputError(path, " is not a plain file; save the table to one")


def _no_such_file(path: Path) -> InputError:
    if not path.parent.is_dir():
        return InputError("there is no folder ", path.parent, "; check the path", field=path)
    if path.is_symlink():
        return InputError(path, " is a link to a file that is not there; check the link")
    tables = _tables_in(path.parent)
    near = nearest(str(path), [str(path.parent / name) for name in tables])
    hint: list[Part] = [suggestion("", tables) if tables else "check the path"]
    if near is not None:
        hint = ["did you mean ", Quoted(near), "?"]
    return InputError("there is no file ", path, "; ", *hint, field=path)


def _tables_in(folder: Path) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if names_table(name)]


def names_table(name: str) -> bool:
    """Whether a file of that name is read as a table.

    >>> names_table("lab.CSV"), names_table("lab.csv.gz"), names_table("lab.xls")
    (True, True, False)
    """
    readable = tuple(kind + packed for kind in TEXT for packed in ("", *COMPRESSED))
    # Excel keeps a file of that beginning beside a workbook that is open.
    return name.lower().endswith(readable + PARQUET + EXCEL) and not name.startswith("~$")


def _feature_names(
    source: TableSource, beside: Sequence[str], features: Sequence[str], weighed: bool
) -> tuple[str, ...]:
    """The columns that the caller names; beside them are target and weights or errors."""
    names = _checked_features(source, features)
    counted = "the weights" if weighed else "the error of measurement"
    for name, role in zip(beside, ("the target", counted), strict=False):
        if name in names:
            raise InputError(
                f"column {_named(name)} is {role} and a feature; leave it out of ",
                Setting("features"),
                field=Setting("features"),
                value=name,
            )
    _refuse_names(source, names, beside)
    return names


def _refuse_beside(source: TableSource, beside: Sequence[str], counted: str) -> None:
    target, *weights = beside
    if weights == [target]:
        raise InputError(
            f"column {_named(target)} is both ",
            Setting("target"),
            " and ",
            Setting(counted),
            f"; give another column of {'weights' if counted == 'weights' else 'errors'}",
            field=Setting(counted),
            value=target,
        )
    _columns(source, beside)


def _refuse_names(source: TableSource, names: Sequence[str], beside: Sequence[str]) -> None:
    """Refuse columns that are none, too many, or cannot name variables."""
    _refuse_number(source, names, beside)
    for name in names:
        _refuse_name(source, name)


def _refuse_number(source: TableSource, names: Sequence[str], beside: Sequence[str]) -> None:
    """Refuse columns that are none or too many."""
    if not names:
        if error := source.misread():
            raise error
        text = f" has no column beside {_named(beside[0])} to predict it from; add one"
        raise InputError(source.path, text, field=Setting("features"))
    if len(names) > MOST_COLUMNS:
        raise InputError(
            source.path,
            f" has {len(names)} feature columns, more than {MOST_COLUMNS}; choose some with ",
            Setting("features"),
            field=Setting("features"),
            value=len(names),
        )


def _named(name: str) -> str:
    return name_shown(name, quoted=True)


def _checked_features(source: TableSource, features: Sequence[str]) -> tuple[str, ...]:
    if isinstance(features, str):
        text = f"give the features as a list, such as [{_named(features)}], not one text"
        raise InputError(text, field=Setting("features"), value=features)
    if not features:
        raise InputError(Setting("features"), " names no column; name at least one")
    return tuple(_bare(source, name) for name in features)


def _bare(source: TableSource, name: str) -> str:
    """A column's name as the file has it; formulas show some between backquotes."""
    name = tidy(name)
    bare = name[1:-1] if name.startswith("`") and name.endswith("`") else name
    return bare if name not in source.names and bare in source.names else name


def _refuse_name(source: TableSource, name: str) -> None:
    """Refuse a name that no variable can have."""
    if not name:
        raise nameless(source, len(source.names) - 1 - source.names[::-1].index(""))
    if name in RESERVED:
        raise InputError(
            f"column {name!r} in {source.header} of ",
            source.path,
            f" is named like an operator; rename it, for instance to {name + '_'!r}",
            field=name,
            kind="column",
        )


def _columns(source: TableSource, names: Sequence[str]) -> list[int]:
    """Where the columns of these names are, each there exactly once."""
    missing = [name for name in names if name not in source.names]
    if missing and (error := source.misread()):
        raise error
    if missing:
        others = [*map(_named, missing[1:_LISTED]), *["..."] * (len(missing) > _LISTED)]
        also = f" (nor {', '.join(others)})" if others else ""
        hint = suggestion(missing[0], [_in_a_list(name) for name in source.names if name])
        text = f" has no column {_named(missing[0])}{also}; {hint}"
        raise InputError(source.path, text, field=missing[0], kind="column", wanted=hint)
    asked, found = Counter(names), Counter(source.names)
    for name in names:
        if asked[name] > 1 and found[name] == 1:
            text = f"feature {_named(name)} is given twice; give it once"
            raise InputError(text, field=Setting("features"), value=name)
        if found[name] > 1:
            raise InputError(
                source.path,
                f" has {found[name]} columns named {_named(name)} in {source.header}; rename them"
                " so that they differ",
                field=name,
                kind="column",
            )
    return [source.names.index(name) for name in names]


def _in_a_list(name: str) -> str:
    """A name as it is written in a list with commas between, on the command line."""
    return f"`{name}`" if "," in name else name


def _numbers(
    source: TableSource,
    names: Sequence[str],
    optional: Sequence[str] = (),
    known: Mapping[str, str] | None = None,
) -> Numbers:
    """The numbers [N, k] of some columns, nan where missing; an optional one could be left out."""
    places = {at: known[name] for at, name in enumerate(names) if name in known} if known else {}
    numbers = source.numbers(_columns(source, names), places)
    for at in numbers.with_text():
        raise _text_error(source, names[at], numbers.texts[at], optional)
    _refuse_no_rows(source, numbers)
    return numbers


def _refuse_no_rows(source: TableSource, numbers: Numbers) -> None:
    if not len(numbers.values):
        raise no_rows(source)


def _text_error(
    source: TableSource, name: str, cell: TextCell, optional: Sequence[str]
) -> InputError:
    """The error about a cell that is no number."""
    if not name:
        return nameless(source, source.names.index(name))
    wrong, advice = not_a_number(cell.where, cell.value)
    if cell.advice:
        wrong, advice = f"{shown(cell.value)} in {cell.where}", cell.advice
    parts: list[Part] = [f" has {wrong}; {advice}"]
    if name in optional:
        parts += [", or leave the column out with ", Setting("features")]
    return of_column(source, name, *parts, value=cell.value, row=cell.row)


def _whole_rows(
    source: TableSource, names: Sequence[str], values: Floats, drop_missing: bool
) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """The rows without missing values, which must be all unless they may be dropped; and notes."""
    gone = np.zeros(len(values), dtype=bool)
    for column in values.T:
        gone |= np.isnan(column)
    rows = np.flatnonzero(~gone) if drop_missing else np.arange(len(values))
    for i, name in enumerate(names):
        if name:  # the count of the rows has its own check
            refuse_non_finite(source, name, values[:, i], rows)
    if not len(rows):
        raise no_rows(source, "a missing value in every row")
    if len(rows) == len(values):
        return rows, ()
    many = "one row" if gone.sum() == 1 else f"{gone.sum():,} of {len(values):,} rows"
    where = source.where(int(gone.argmax()))
    counts = {name: int(np.isnan(values[:, at]).sum()) for at, name in enumerate(names)}
    found = [f"{count:,} in {name_shown(name)}" for name, count in counts.items() if count]
    more = [f"and in {len(found) - _LISTED} more columns"] if len(found) > _LISTED else []
    listed = ", ".join(found[:_LISTED] + more)
    return rows, (f"left out {many} with missing values, the first in {where}: {listed}",)


def _taken(values: Floats, rows: NDArray[np.intp]) -> Floats:
    """Some of the rows; no copy if these are all."""
    return values if len(rows) == len(values) else values[rows]


def no_rows(source: TableSource, what: str = "column names but no rows") -> InputError:
    """The sentence about a table without a row that can be used."""
    why = " beside the lines that begin with #, which are comments" if source.comments else ""
    return InputError(source.path, f" has {what}{why}; add some")
