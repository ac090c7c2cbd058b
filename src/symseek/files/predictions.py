"""The values of a formula on the rows of a file, as the table that is written of them."""

from __future__ import annotations

from collections.abc import Collection
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


def predictions(
    model: Model,
    row: int | None,
    path: Path,
    delimiter: str | None = None,
    missing: str = "refuse",
    keep: bool = False,
    max_table_size: int = MOST_TABLE,
    sheet: str | None = None,
) -> PredictedTable:
    """Predict with a row of the front; `keep` all columns of the file, as they are."""
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
    complaint = None
    if undefined.any():
        first = int(np.argmax(undefined))
        complaint = (
            f"{formula.text} is undefined in {undefined.sum():,} of {len(values):,} rows,"
            f" the first of them row {first + 1}; their cells are empty"
        )
    return PredictedTable(frame, int(undefined.sum()), inputs.notes, complaint)


def _unused_name(name: str, used: Collection[str]) -> str:
    """A name for the prediction that no column has."""
    while name in used:
        name += "_predicted"
    return name
