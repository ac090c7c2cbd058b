"""A table before the search: its columns with what they hold, and what is wrong with each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError
from symseek.files.source import TableSource
from symseek.files.tables import column_error, columns_left_out, no_rows
from symseek.studio.wording import worded

Reader = Callable[[Path, str | None], TableSource]

HEAD = 8  # rows that are shown
BINS = 20  # of a histogram
MOST_COLUMNS = 1000
_CELL = 80  # characters of a cell


def preview(table: TableSource, folder: Path) -> dict[str, Any]:
    """What the page shows of a table."""
    names = table.names
    if len(names) > MOST_COLUMNS:
        what = f"{table.path} has {len(names):,} columns, and at most {MOST_COLUMNS:,} are shown"
        return unreadable(table.path.name, f"{what}; leave some out", folder)
    rows = len(table.numbers([0]).values) if names else 0
    columns = [_column(table, at, folder) for at in range(len(names))]
    numbers = [each["name"] for each in columns if each["kind"] == "number" and each["name"]]
    left_out = columns_left_out(table, numbers[-1:])
    for each in columns:
        each["left_out"] = left_out.get(each["name"])
    return {
        "name": table.path.name,
        "rows": rows,
        "notes": list(table.notes),
        "error": None if rows else worded(no_rows(table), folder),
        "columns": columns,
        "head": [[cell[:_CELL] for cell in row] for row in table.head(HEAD)],
        "suggested_target": numbers[-1] if numbers else None,
    }


def unreadable(name: str, error: InputError | str, folder: Path) -> dict[str, Any]:
    """The same of a file that cannot be read."""
    return {
        "name": name,
        "rows": 0,
        "notes": [],
        "error": worded(error, folder),
        "columns": [],
        "head": [],
        "suggested_target": None,
    }


def _column(table: TableSource, at: int, folder: Path) -> dict[str, Any]:
    column = table.numbers([at])
    values = column.values[:, 0]
    finite = values[np.isfinite(values)]
    wrong = column_error(table, at)
    counts = table.names[at] == "" and at == 0  # it may number the rows
    kind = "text" if column.texts else _kind(finite)
    shown = len(finite) > 0 and kind != "text"
    return {
        "name": table.names[at],
        "kind": kind,
        "missing": 0 if column.texts else int(np.isnan(values).sum()),
        "min": float(finite.min()) if shown else None,
        "max": float(finite.max()) if shown else None,
        "mean": float(finite.mean()) if shown and np.abs(finite).max() < 1e300 else None,
        "histogram": _histogram(finite) if kind == "number" else None,
        "problem": None if wrong is None or counts else worded(wrong, folder),
    }


def _kind(finite: NDArray[np.float64]) -> str:
    if not len(finite):
        return "empty"
    return "constant" if finite.min() == finite.max() else "number"


def _histogram(finite: NDArray[np.float64]) -> list[int] | None:
    low, high = float(finite.min()), float(finite.max())
    if not np.isfinite(high - low) or high - low < 1e-300:
        return None
    places = ((finite - low) / (high - low) * BINS).astype(np.int64)
    return [int(each) for each in np.bincount(np.minimum(places, BINS - 1), minlength=BINS)]
