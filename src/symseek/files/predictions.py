"""The values of a formula on the rows of a file, as the table that is written of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from symseek.files.limits import MOST_TABLE
from symseek.files.tables import read_all, read_inputs

if TYPE_CHECKING:
    from pandas import DataFrame

    from symseek.model import Model


@dataclass(frozen=True)
class PredictedTable:
    """What a formula predicts."""

    frame: DataFrame  # the columns it needs, or all, and the prediction: empty where undefined
    undefined: int  # rows
    notes: tuple[str, ...]  # what was done that the user may not expect, a sentence each
    complaint: str | None  # where the formula is undefined, in a sentence
    beyond: str | None = None  # which rows are beyond those of the fit, in a sentence


def predictions(
    model: Model,
    row: int | None,
    path: Path,
    delimiter: str | None = None,
    missing: str = "refuse",
    keep: bool = False,
    max_table_size: int = MOST_TABLE,
    sheet: str | None = None,
    interval: float | None = None,
) -> PredictedTable:
    """Predict with a row of the front; `keep` all columns of the file, as they are.

    With an `interval`, the columns low and high have its ends, and outside says in what a row is
    beyond the rows of the fit.
    """
    import pandas

    formula = model.formula(row)
    inputs = read_inputs(
        path, model.inputs, delimiter, missing, max_table_size, model.kinds, sheet, model.grouping
    )
    values = formula.program.evaluate(inputs.X)
    undefined = ~np.isfinite(values)
    if keep or model.kinds or model.grouping:  # dates and groups as they are in the file
        frame = read_all(path, delimiter, max_table_size, sheet).iloc[inputs.rows]
        needed = [*model.inputs, *([model.grouping.name] if model.grouping else [])]
        frame = frame if keep else frame[list(dict.fromkeys(needed))]
    else:
        frame = pandas.DataFrame(inputs.X, columns=list(model.features))
    predicted = np.where(undefined, np.nan, values)
    frame = frame.assign(**{_unused_name(model.target, frame.columns): predicted})
    beyond = None
    if interval is not None:
        low, high = model.interval(inputs.X, interval, row)
        outside = model.outside(inputs.X, row)
        more = {"low": low, "high": high, "outside": outside}
        named = {_unused_name(name, frame.columns): each for name, each in more.items()}
        frame, beyond = frame.assign(**named), _beyond(outside)
    complaint = None
    if undefined.any():
        first = int(np.argmax(undefined))
        complaint = (
            f"{formula.text} is undefined in {undefined.sum():,} of {len(values):,} rows,"
            f" the first of them row {first + 1}; their cells are empty"
        )
    return PredictedTable(frame, int(undefined.sum()), inputs.notes, complaint, beyond)


def _beyond(outside: Sequence[str]) -> str | None:
    """Which rows are beyond those of the fit, in a sentence."""
    rows = [at for at, each in enumerate(outside) if each]
    if not rows:
        return None
    return (
        f"{len(rows):,} of {len(outside):,} rows are beyond the rows of the fit, the first of them"
        f" row {rows[0] + 1} ({outside[rows[0]]}); intervals hold there only if the formula does"
    )


def _unused_name(name: str, used: Collection[str]) -> str:
    """A name for the prediction that no column has."""
    while name in used:
        name += "_predicted"
    return name
