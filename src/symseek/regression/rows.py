"""Which rows of a table are trained on, kept aside and searched on, and in which units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from symseek.data import Data
from symseek.errors import InputError
from symseek.files.tables import FEWEST_ROWS, LARGEST
from symseek.regression.scaling import Scales
from symseek.regression.settings import Settings

__all__ = ["refuse_extreme_target", "refuse_few_rows", "sampled", "scaled", "split"]


def split(data: Data, settings: Settings) -> tuple[Data, Data | None]:
    """The rows to train on, and those kept aside."""
    rows = len(data.y)
    if settings.validation == 0:
        return data, None
    count = round(settings.validation * rows)
    if count < 2 or rows - count < FEWEST_ROWS:
        raise InputError(
            f"validation is {settings.validation}, which is {count} of {rows} rows; it must be at"
            f" least 2 of them, and leave {FEWEST_ROWS}"
        )
    order = np.random.default_rng([settings.seed, 1]).permutation(rows)
    return data.rows(np.sort(order[count:])), data.rows(np.sort(order[:count]))


def sampled(data: Data, settings: Settings) -> Data:
    """The rows to search on."""
    most, rows = settings.sample_rows, len(data.y)
    if most is None or rows <= most:
        return data
    chosen = np.random.default_rng([settings.seed, 2]).choice(rows, most, replace=False)
    return data.rows(np.sort(chosen))


def scaled(data: Data, scales: Scales) -> Data:
    """The rows in the units of the search."""
    return replace(data, X=data.X / scales.inputs, y=data.y / scales.target)


def refuse_few_rows(data: Data) -> None:
    """Complain of a table from which nothing can be learnt."""
    rows = len(data.y)
    if rows < FEWEST_ROWS:
        many = "is only one row" if rows == 1 else f"are only {rows} different rows"
        raise InputError(f"there {many}; a search needs at least {FEWEST_ROWS}, so add some")


def refuse_extreme_target(data: Data) -> None:
    """Complain of a target whose squares are no numbers."""
    largest = float(np.abs(data.y).max())
    if largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
        raise InputError(
            f"y reaches {largest:g}, and squares of such numbers are lost; give it in other units"
        )
