"""`fit_many`: a fit for each of many tables, and what they found."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from symseek.arguments import flag, items, real_array, refuse_text, refused
from symseek.errors import InputError, Setting, shown, unknown_name
from symseek.files.cells import is_number
from symseek.files.limits import MOST_TABLE
from symseek.many.folder import ManyFolder, WorkerPlan, nothing_left
from symseek.many.groups import TABLES, split_file, split_rows, written_table
from symseek.many.line import FitSummary
from symseek.many.summary import forms_of, summary_text, why_stopped
from symseek.many.tables import Table, file_tables, files_named, folder_names
from symseek.model import Model
from symseek.runs.request import FitRequest
from symseek.settings import PARAMETERS, Settings
from symseek.text import counted

if TYPE_CHECKING:
    from pandas import DataFrame

Place: TypeAlias = "str | os.PathLike[str]"
Named: TypeAlias = "tuple[str, ArrayLike, ArrayLike]"  # a table in memory: its name, X and y
Tables: TypeAlias = "Place | Iterable[Place] | DataFrame | Mapping[str, Any] | Iterable[Named]"


class Fits(Mapping[str, Model]):
    """What `fit_many` found: the models by the names of their tables, and a table of all.

    A table that could not be fitted has a line in `table`, and no model.

    >>> from symseek import fit_many
    >>> x = np.linspace(1, 3, 20)
    >>> fits = fit_many([("a", x, 2 * x), ("b", x, 0 * x)], jobs=1, max_expressions=2000)
    >>> list(fits), fits["a"].best.text
    (['a'], '2*x0')
    >>> print(fits.table.set_index("name").error["b"])
    the target 'y' of b is 0 in every row; choose one that varies
    """

    def __init__(self, folder: ManyFolder, lines: Sequence[FitSummary]) -> None:
        self.folder = folder.path
        self._folder = folder
        self._lines = {line.name: line for line in lines}
        self._models: dict[str, Model] = {}

    def __getitem__(self, name: str) -> Model:
        line = self._lines.get(name)
        if line is None:
            raise KeyError(name)
        if line.error:
            raise KeyError(f"{name} has no model: {line.error}")
        if name not in self._models:
            self._models[name] = self._folder.model(line.folder)
        return self._models[name]

    def __iter__(self) -> Iterator[str]:
        return (line.name for line in self._lines.values() if not line.error)

    def __len__(self) -> int:
        return sum(not line.error for line in self._lines.values())

    def __contains__(self, name: object) -> bool:
        line = self._lines.get(name) if isinstance(name, str) else None
        return line is not None and not line.error

    @property
    def table(self) -> DataFrame:
        """A row for each table, in the order given.

        The columns are name, formula, form, same_form (how many have that form), complexity,
        nrmse, r2, exact, expressions, seconds, stopped and error, which is empty where there is a
        formula.
        """
        import pandas

        lines = list(self._lines.values())
        forms = forms_of(lines)
        found = [None if line.form is None else forms[line.form.key] for line in lines]
        columns = {
            "name": [line.name for line in lines],
            "formula": [line.formula for line in lines],
            "form": ["" if form is None else form.text for form in found],
            "same_form": [0 if form is None else form.count for form in found],
            "complexity": pandas.array([line.complexity for line in lines], dtype="Int64"),
            "nrmse": np.array([line.nrmse for line in lines], dtype=float),
            "r2": np.array([line.r2 for line in lines], dtype=float),
            "exact": [line.exact for line in lines],
            "expressions": [line.expressions for line in lines],
            "seconds": [line.seconds for line in lines],
            "stopped": [why_stopped(line) for line in lines],
            "error": [line.error for line in lines],
        }
        return pandas.DataFrame(columns)

    def __getstate__(self) -> dict[str, Any]:
        """With every model, since the folder may be gone when it is read again."""
        return {**vars(self), "_models": {name: self[name] for name in self}}

    def __str__(self) -> str:
        return summary_text(list(self._lines.values()), self._folder.noun)

    def __repr__(self) -> str:
        return f"<Fits of {len(self._lines)} tables, {len(self)} with a model>"

    def _repr_html_(self) -> str:
        return str(self.table.drop(columns="expressions").to_html(index=False))


def fit_many(
    tables: Tables,
    target: str | None = None,
    *,
    by: str | None = None,
    features: Sequence[str] | None = None,
    weights: str | None = None,
    group: str | None = None,
    sigma: str | None = None,
    delimiter: str | None = None,
    drop_missing: bool = False,
    max_table_size: int = MOST_TABLE,
    jobs: int | None = None,
    cluster: str | None = None,
    folder: Place | None = None,
    overwrite: bool = False,
    report: bool | None = None,
    random_state: int = Settings.seed,
    n_jobs: int | None = None,
    verbose: bool = False,
    **settings: Any,
) -> Fits:
    """Fit each of many tables on its own, several at a time, with the same settings.

    A table that cannot be fitted, such as one without the target, does not end the others. A table
    has the same result as alone with the same seed, however many are fitted at a time, unless
    `max_seconds` ends its search. Ctrl-C ends it with what is done.

    Args:
        tables: files, a folder of files, one long table (a file or a DataFrame) with `by`, or
            tables in memory: a mapping of names to (X, y), or any number of (name, X, y).
        target: the column to find formulas for; for tables in memory, what y is called.
        by: the column of one long table that says which rows belong together.
        features: the columns that formulas may use; by default all others.
        weights: a column that says how much each row counts.
        group: a column that tells groups of rows apart in each table, which have some numbers of
            their own.
        sigma: a column with the error of measurement of each row's target.
        delimiter: what is between the columns of text files; found by itself unless given.
        drop_missing: whether to leave out rows with missing values.
        max_table_size: the most bytes that a compressed table, or Parquet, may take when it is
            read.
        jobs: how many are fitted at a time, each in a process; by default one for each core.
        cluster: the address of a Ray cluster whose machines share the data and the folder.
        folder: where the runs go. If the folder holds fits with the same settings, those that are
            done are kept. By default a temporary folder, which goes with the result.
        overwrite: whether fits in the folder are done again.
        report: whether each run gets a report.html; by default if a folder is named.
        random_state: the seed of each fit.
        n_jobs: threads of each fit; by default 1, or every core if one table is fitted at a time.
        verbose: whether to show progress.
        settings: any other parameter of `SymbolicRegressor` that says how to search, such as
            `operators`, `max_seconds` and `seeds`.

    >>> from symseek import fit_many
    >>> t = np.linspace(0, 3, 30)
    >>> decays = {f"sample {k}": (t[:, None], k * np.exp(-t / k)) for k in (2, 3)}
    >>> fits = fit_many(decays, jobs=2, max_expressions=5000)
    >>> print(fits.table[["name", "form", "same_form"]])
           name          form  same_form
    0  sample 2  a*exp(-b*x0)          2
    1  sample 3  a*exp(-b*x0)          2
    >>> print(fits["sample 3"].best.text)
    3*exp(-1/3*x0)
    """
    target, by = (str(name) if isinstance(name, int) else name for name in (target, by))
    names = {"target": target, "by": by, "weights": weights, "group": group}
    names |= {"delimiter": delimiter, "sigma": sigma}
    for name, value in names.items():
        if not isinstance(value, str | None):
            raise refused(Setting(name), value, "text, or None")
    switches = {"drop_missing": drop_missing, "overwrite": overwrite, "verbose": verbose}
    for name, switch in {**switches, "report": report is None or report}.items():
        flag(Setting(name), switch)
    if not isinstance(folder, str | os.PathLike | None):
        raise refused(Setting("folder"), folder, "the name of a folder, or None")
    columns = None
    if features is not None:
        columns = tuple(map(str, items(Setting("features"), features, "a list of names")))
    if drop_missing:
        settings = {**settings, "missing": "rows"}
    chosen = _settings(settings, random_state)
    WorkerPlan.chosen(1, jobs, cluster, n_jobs)
    in_memory, read = _read(tables)
    if in_memory:
        target = target or "y"
    elif target is None:
        raise InputError(Setting("target"), " names no column; name the one to find formulas for")
    given = None if in_memory or by is not None else delimiter
    request = FitRequest(Path(), target, columns, weights, given, chosen, group=group)
    request = replace(request, sigma=sigma, max_table_size=max_table_size)
    noun = "table" if in_memory else "file" if by is None else "group"
    with_report = folder is not None if report is None else report
    with _place(folder) as (path, keep), nothing_left(path):
        many = ManyFolder.begin(path, request, noun, by, overwrite)
        many = many.of(_listed(read, many, by, delimiter))
        workers = WorkerPlan.chosen(len(many.tables), jobs, cluster, n_jobs)
        _, lines = many.fit(workers, with_report, show=verbose)
        if with_report:
            many.write_summary(lines)
        fits = Fits(many, lines)
        keep(fits)
        return fits


@contextmanager
def _place(folder: Place | None) -> Iterator[tuple[Path, Callable[[Fits], object]]]:
    """The folder, or a temporary one; that goes at once, or with the result that is to keep it."""
    if folder is not None:
        yield Path(folder), lambda fits: None
        return
    path = tempfile.mkdtemp(prefix="symseek-")
    kept: list[Fits] = []
    try:
        yield Path(path), kept.append
    finally:
        if kept:
            weakref.finalize(kept.pop(), shutil.rmtree, path, ignore_errors=True)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _settings(given: Mapping[str, Any], seed: int) -> Settings:
    known = [name for name, each in PARAMETERS.items() if each.in_file and name != "seed"]
    for name in given:
        if name not in known:
            raise unknown_name("parameter", name, known)
    chosen = Settings(**given, seed=seed)
    chosen.to_dict()  # refuses Python objects, which no other process could read
    return chosen


# --- what was given


def _read(tables: Any) -> tuple[bool, Any]:
    """Whether the tables are in memory, one by one, and what was given as one of few kinds."""
    if isinstance(tables, (str, os.PathLike)):
        return False, [Path(tables)]
    if hasattr(tables, "columns") and hasattr(tables, "groupby"):
        if not len(tables):
            raise _nothing()
        return False, _with_names(tables)
    if isinstance(tables, Mapping):
        if not tables:
            raise _nothing()
        return True, ((name, *_pair(name, each)) for name, each in tables.items())
    if not isinstance(tables, Iterable) or getattr(tables, "ndim", 1) == 0:
        raise InputError(f"tables is {shown(tables)}; give files, a folder, or (name, X, y) each")
    remaining = iter(tables)
    first = next(remaining, None)
    if first is None:
        raise _nothing()
    if not isinstance(first, (str, os.PathLike)):
        return True, chain([first], remaining)
    paths = [first, *remaining]
    for each in paths:
        if not isinstance(each, (str, os.PathLike)):
            raise InputError(f"a table is {shown(each)}, beside files; give files only")
    return False, list(map(Path, paths))


def _nothing() -> InputError:
    return InputError("no table is given; give files, a folder, or (name, X, y) each")


def _with_names(frame: Any, of: str = "the DataFrame") -> Any:
    """A DataFrame whose columns have names of text, no two alike."""
    names = list(map(str, frame.columns))
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{of} has {count} columns named {shown(name)}; rename them")
    return frame.set_axis(names, axis=1)


def _pair(name: object, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, tuple) or len(given) != 2:
        raise InputError(f"the table {shown(name)} is no pair of X and y; give (X, y)")
    return given


def _listed(read: Any, many: ManyFolder, by: str | None, delimiter: str | None) -> list[Table]:
    """The tables as files."""
    request = many.request
    drop_missing = request.settings.missing == "rows"
    if many.noun == "table":
        if by is not None:
            raise InputError(Setting("by"), " is for one long table; leave it out")
        return list(_written(read, many))
    beside = request.target, request.weights, request.sigma, request.group
    if by is not None and by in (*beside, *(request.features or ())):
        raise InputError(
            f"column {by!r} is for ", Setting("by"), ", and cannot be anything else; choose another"
        )
    if not isinstance(read, list):
        if by is None:
            raise InputError(
                "a DataFrame is one long table; say with ",
                Setting("by"),
                " which rows belong together",
            )
        return _groups_of(read, by, many, drop_missing)
    files, notes = files_named(read)
    for note in notes:
        warnings.warn(note, stacklevel=3)
    if by is None:
        return file_tables(files, many.tables)
    if len(files) > 1:
        raise InputError(
            Setting("by"), f" is for one long table, and {len(files)} are given; give one"
        )
    given = delimiter, drop_missing, request.max_table_size
    return split_file(files[0], by, many.path, many.known, *given).tables


def _groups_of(frame: Any, by: str, many: ManyFolder, drop_missing: bool) -> list[Table]:
    """The groups of a DataFrame, one after another."""
    if by not in frame.columns:
        raise unknown_name("column", by, list(frame.columns))
    names = [name for name in frame.columns if name != by]
    if all(is_number(name, ".") for name in names):  # in a file they would not be taken for names
        raise InputError(
            "all columns of the DataFrame have numbers for names; rename them, as with"
            " frame.add_prefix('x')"
        )
    if frame[by].isna().any() and not drop_missing:
        raise InputError(
            f"column {by!r} has missing values; set ",
            Setting("missing"),
            " to rows, or fill them in",
        )
    _refuse_text(frame[names], many.request)

    def rows() -> Iterator[tuple[str, Sequence[object]]]:
        for value, part in frame.groupby(by, sort=False, observed=True):
            for row in zip(*(_cells(part[name]) for name in names), strict=True):
                yield str(value), row

    return split_rows(rows(), names, many.path, many.known)


def _written(named: Iterable[Any], many: ManyFolder) -> Iterator[Table]:
    """Tables in memory as files, each as it comes; one that cannot be written has its error."""
    folders, seen = many.known, set()
    for each in named:
        if not isinstance(each, tuple) or len(each) != 3:
            raise InputError(f"a table is {shown(each)}; give (name, X, y)")
        name, X, y = str(each[0]), each[1], each[2]
        if name in seen:
            raise InputError(f"two tables are called {shown(name)}; give each its own name")
        seen.add(name)
        folders = folder_names({name: name}, folders)
        try:
            heads, rows = _rows(X, y, shown(name), many.request)
        except InputError as error:
            data = Path(TABLES, f"{folders[name]}.csv")
            yield Table(name, folders[name], data, "", str(error))
        else:
            yield written_table(many.path, name, folders[name], heads, rows)


def _rows(
    X: Any, y: Any, name: str, request: FitRequest
) -> tuple[list[str], Iterable[Sequence[object]]]:
    """The names of the columns, x0, x1 and so on where X has none, and the rows."""
    wanted = real_array(y, f"y of the table {name}").ravel().tolist()
    columns: dict[str, Sequence[object]]
    if hasattr(X, "set_axis"):
        X = _with_names(X, f"X of the table {name}")
        _refuse_text(X, request, f" of X of the table {name}")
        columns = {column: _cells(X[column]) for column in X.columns}
    else:
        values = real_array(X, f"X of the table {name}")
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2:
            raise InputError(f"X of the table {name} has shape {values.shape}; give [N, n]")
        columns = {f"x{at}": column.tolist() for at, column in enumerate(values.T)}
    for column in columns.values():
        if len(column) != len(wanted):
            raise InputError(
                f"X of the table {name} has {counted(len(column), 'row')} and y {len(wanted):,};"
                " give as many of both"
            )
    return [*columns, request.target], zip(*columns.values(), wanted, strict=True)


def _refuse_text(frame: Any, request: FitRequest, where: str = "") -> None:
    """Refuse columns that are used and hold no numbers, although a file of them could be read."""
    used = {
        request.target,
        request.weights,
        request.sigma,
        *(request.features or map(str, frame.columns)),
    }
    for name in frame.columns:
        if str(name) in used and str(name) != request.group:
            refuse_text(frame[name], f"column {shown(name)}{where}", missing=True)


def _cells(column: Any) -> Sequence[object]:
    """The cells of a column as they are written: numbers in double precision, or text."""
    if column.dtype.kind in "iufb":
        cells: list[object] = np.asarray(column, dtype=np.float64).tolist()
        return cells
    gone = column.isna()
    return ["" if lost else value for value, lost in zip(column.tolist(), gone, strict=True)]
