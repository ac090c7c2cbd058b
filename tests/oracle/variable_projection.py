"""Variable projection written plainly: the linear constants are whatever NumPy's least squares say.

What is left to minimise is a function of the other constants, which SciPy does by differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.optimize

from symseek.arrays import Floats


class Projected:
    """A formula with constants [K], affine in some of them, and the rows that it should fit."""

    def __init__(
        self, values: Callable[[Floats], Floats], linear: Sequence[bool], y: Floats, weights: Floats
    ) -> None:
        self.values = values
        self.linear = np.array(linear)
        self.y = y
        self.root = np.sqrt(weights)

    def columns(self, constants: Floats) -> tuple[Floats, Floats]:
        """What does not depend on the linear constants [N], and what each is a factor of [N, L]."""
        none = np.where(self.linear, 0.0, constants)
        rest = self.values(none)
        ones = np.eye(len(constants))[self.linear]
        return rest, np.stack([self.values(none + one) - rest for one in ones], axis=1)

    def solved(self, constants: Floats) -> Floats:
        """The constants with the linear ones at their best."""
        rest, columns = self.columns(constants)
        best = constants.copy()
        best[self.linear] = np.linalg.lstsq(
            columns * self.root[:, None], (self.y - rest) * self.root, rcond=None
        )[0]
        return best

    def residuals(self, constants: Floats) -> Floats:
        """What is left on each row [N], times the root of its weight."""
        return (self.y - self.values(constants)) * self.root

    def fit(self, start: Floats) -> tuple[Floats, float]:
        """The constants of a minimum, and its loss."""

        def filled(others: Floats) -> Floats:
            constants = start.copy()
            constants[~self.linear] = others
            return self.solved(constants)

        found = scipy.optimize.least_squares(
            lambda others: self.residuals(filled(others)),
            start[~self.linear],
            xtol=1e-12,
            ftol=1e-14,
        )
        return filled(found.x), float(2 * found.cost)
