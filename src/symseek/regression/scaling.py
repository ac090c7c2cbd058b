"""Units to search in: columns far from 1 are divided by a power of ten.

A search starts its constants at 1 and takes sines and exponentials of what it is given, so that a
column of 1e-9 or 1e12 would be lost on it. Columns of ordinary size stay as they are: the formula
sin(x) is simpler than sin(10*x).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scales"]

Floats = NDArray[np.float64]

_SMALL, _LARGE = 0.01, 100.0  # a column whose typical size is between these is left alone


@dataclass(frozen=True)
class Scales:
    """What each input and the target are divided by.

    >>> scales = Scales.of(np.array([[1.5e11, 0.3], [7.8e11, 0.2]]), np.array([3e7, 4e8]))
    >>> scales.inputs.tolist(), scales.target
    ([1000000000000.0, 1.0], 100000000.0)
    """

    inputs: Floats  # [n]
    target: float

    @classmethod
    def of(cls, X: Floats, y: Floats) -> Scales:
        """The powers of ten that bring columns to a size near 1, where they are far from it."""
        return cls(np.array([_scale(column) for column in X.T]), _scale(y))

    @classmethod
    def none(cls, columns: int) -> Scales:
        """Everything stays as it is."""
        return cls(np.ones(columns), 1.0)


def _scale(values: Floats) -> float:
    """A power of ten near the root of the mean square."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    size = largest * math.sqrt(float(np.mean((values / largest) ** 2)))
    return 1.0 if _SMALL <= size <= _LARGE else 10.0 ** round(math.log10(size))
