"""The nearest row of each row, looked for one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def nearest(X: NDArray[np.float64]) -> list[int]:
    """The first of the rows that are nearest, columns counting by the ranks of their values."""
    ranks = [[sorted(column.tolist()).index(value) for value in column] for column in X.T]
    rows = np.array(ranks).T
    found = []
    for at, row in enumerate(rows):
        away = {other: np.abs(rows[other] - row).max() for other in range(len(rows)) if other != at}
        found.append(min(away, key=lambda other: (away[other], other)))
    return found
