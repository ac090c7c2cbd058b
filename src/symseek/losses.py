"""Row losses: what a row counts by its residual r = y - f.

An engine grades programs by sums of them over the rows, and fits constants by the first one, with
its derivative. To add one, write its line in `LOSSES`, and one in `engines/shared/losses.hpp` with
the derivative, which all engines compile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from symseek.arguments import refused
from symseek.arrays import Floats
from symseek.errors import unknown_name

LOSSES: dict[str, Callable[[Floats, float], Floats]] = {
    "squared": lambda r, p: r**2,
    "absolute": lambda r, p: np.abs(r),
    "huber": lambda r, p: np.where(np.abs(r) < p, r**2, p * (2 * np.abs(r) - p)),
}
"""What rows count by their residuals and a parameter."""


@dataclass(frozen=True)
class Loss:
    """A loss by name. "huber" is the squared error up to its parameter, and straight beyond.

    >>> Loss("huber", 1.0).values(np.array([0.5, 3.0]))
    array([0.25, 5.  ])
    """

    name: str
    parameter: float = 1.0  # of those that have one

    def __post_init__(self) -> None:
        if self.name not in LOSSES:
            raise unknown_name("loss", self.name, LOSSES)
        if not 0.0 < self.parameter < np.inf:
            raise refused("the parameter of a loss", self.parameter, "positive")

    def values(self, residuals: Floats) -> Floats:
        """What each row counts."""
        return LOSSES[self.name](residuals, self.parameter)


SQUARED, ABSOLUTE = Loss("squared"), Loss("absolute")
