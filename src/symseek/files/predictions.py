"""The values of a formula on the rows of a file, as the table that is written of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symseek.errors import InputError, name_shown
from symseek.files.limits import MOST_TABLE
from symseek.files.tables import InputTable, read_all, read_inputs
from symseek.units.reading import same_unit

if TYPE_CHECKING:
    from pandas import DataFrame

    from symseek.model import Model


@dataclass(frozen=True)
class PredictedTable:
    """What a formula predicts."""

    frame: DataFrame  # the columns it needs, or all, and the prediction: empty where undefined
    undefined: int  # cells of predictions
    notes: tuple[str, ...]  # what was done that the user may not expect, a sentence each
    complaint: str | None  # where a formula is undefined, in a sentence
    beyond: str | None = None  # which rows are beyond those of the fit, in a sentence


def predictions(
    models: Sequence[Model],
    row: int | None,
    path: Path,
    delimiter: str | None = None,
    missing: str = "refuse",
    keep: bool = False,
    max_table_size: int = MOST_TABLE,
    sheet: str | None = None,
    interval: float | None = None,
) -> PredictedTable:
    """Predict with a row of a front, or of several; `keep` all columns of the file, as they are.

    With an `interval`, the columns low and high have its ends, and outside says in what a row is
    beyond the rows of the fit; of several fronts, their names begin with that of the target.
    """
    import pandas

    names = list(dict.fromkeys(name for model in models for name in model.inputs))
    kinds = {name: kind for model in models for name, kind in model.kinds.items()}
    grouping = models[0].grouping
    inputs = read_inputs(path, names, delimiter, missing, max_table_size, kinds, sheet, grouping)
    for model in models:
        _refuse_other_units(model, inputs)
    if keep or kinds or grouping:  # dates and groups as they are in the file
        frame = read_all(path, delimiter, max_table_size, sheet).iloc[inputs.rows]
        needed = [*names, *([grouping.name] if grouping else [])]
        frame = frame if keep else frame[list(dict.fromkeys(needed))]
    else:
        frame = pandas.DataFrame(inputs.X, columns=names)
    count, complaints, beyond = 0, [], None
    for model in models:
        places = [*map(names.index, model.inputs), *([len(names)] if grouping else [])]
        formula, X = model.formula(row), inputs.X[:, places]
        values = formula.program.evaluate(X)
        undefined = ~np.isfinite(values)
        more: dict[str, Any] = {model.target: np.where(undefined, np.nan, values)}
        if interval is not None:
            low, high = model.interval(X, interval, row)
            outside = model.outside(X, row)
            before = f"{model.target} " if len(models) > 1 else ""
            more |= {f"{before}low": low, f"{before}high": high}
            more[f"{before}outside"] = np.array(outside)
            beyond = beyond or _beyond(outside)
        for name, column in more.items():
            frame = frame.assign(**{_unused_name(name, frame.columns): column})
        if undefined.any():
            count += int(undefined.sum())
            first = int(np.argmax(undefined))
            complaints.append(
                f"{formula.text} is undefined in {undefined.sum():,} of {len(values):,} rows,"
                f" the first of them row {first + 1}; their cells are empty"
            )
    return PredictedTable(frame, count, inputs.notes, "; ".join(complaints) or None, beyond)


def _refuse_other_units(model: Model, inputs: InputTable) -> None:
    """Refuse a table in other units than those that the formula agrees with."""
    for name, said in inputs.units.items():
        known = model.units.get(name, said)
        if not same_unit(known, said):
            raise InputError(
                f"column {name_shown(name, quoted=True)} is in {said} in ",
                inputs.path,
                f", and the formula takes it in {known}; convert it",
                field=name,
                kind="column",
                value=said,
                wanted=known,
            )


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
