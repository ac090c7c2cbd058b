"""Constants at their least squares, and how certain the rows make them.

Near the smallest sum of squares the residuals are nearly linear in the constants. The normal matrix
of their derivatives then says both where the minimum is (Gauss and Newton's step) and, with the
variance of the noise, how far each constant may be from the true one: its standard error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from symseek.arrays import Floats
from symseek.data import Data
from symseek.programs import Program

_STEP = 1e-6  # of a constant, for its derivative
_ROUNDS, _HALVINGS = 12, 6
_CONVERGED = 1e-10  # of the sum of squares: a step that brings less is the last
_WORST_CONDITION = 1e12  # beyond it constants make up for one another, as in c1*c2*x


@dataclass(frozen=True)
class LeastSquares:
    """A program whose free constants are fitted, beginning from where they are.

    >>> x = np.linspace(0.0, 1.0, 50)
    >>> noise = 0.1 * np.random.default_rng(0).normal(size=50)
    >>> data = Data(x[:, None], 3.0 * x + noise, np.ones(50))
    >>> fit = LeastSquares.of(Program.parse("2.9*x"), data, (0,))
    >>> round(fit.program.constants[0], 2), round(fit.errors[0], 3)
    (3.05, 0.022)
    """

    program: Program
    data: Data
    free: tuple[int, ...]  # the constants that are fitted, by their places
    squares: float  # the weighted sum of squares
    spare: int  # rows more than constants were fitted to begin with
    variance: float  # of the noise in a row of weight 1
    errors: dict[int, float]  # the standard error of each free constant, the others fitted with it

    @classmethod
    def of(cls, program: Program, data: Data, free: tuple[int, ...]) -> LeastSquares | None:
        """The fit; None where the rows are too few, or do not tell the constants apart."""
        spare = int(np.count_nonzero(data.weights > 0)) - len(free)
        return cls._fitted(program, data, free, spare, None) if spare > 0 else None

    def with_fixed(self, place: int, value: float) -> LeastSquares | None:
        """The same with one more constant held at a value, and the noise as known before."""
        constants = list(self.program.constants)
        constants[place] = value
        program = replace(self.program, constants=tuple(constants))
        free = tuple(each for each in self.free if each != place)
        return self._fitted(program, self.data, free, self.spare, self.variance)

    @property
    def mean(self) -> float:
        """The weighted mean square."""
        return self.squares / float(self.data.weights.sum())

    @classmethod
    @np.errstate(all="ignore")  # a step that overflows is no better, and errors may be infinite
    def _fitted(
        cls,
        program: Program,
        data: Data,
        free: tuple[int, ...],
        spare: int,
        variance: float | None,
    ) -> LeastSquares | None:
        rows = _Rows(program, data)
        constants = np.array(program.constants)
        residuals = rows.residuals(constants)
        if not np.isfinite(residuals).all():
            return None
        inverse = np.zeros((0, 0))
        for _ in range(_ROUNDS if free else 0):
            normal = _normal(rows.slopes(constants, free), residuals)
            if normal is None:
                return None
            step, inverse, gain = normal
            before = residuals @ residuals
            if gain > _CONVERGED * before:
                constants, residuals = rows.better(constants, residuals, free, step)
            if before - residuals @ residuals <= _CONVERGED * before:
                break
        squares = float(residuals @ residuals)
        variance = squares / spare if variance is None else variance
        errors = np.sqrt(variance * np.diag(inverse))
        found = replace(program, constants=tuple(constants.tolist()))
        by_place = dict(zip(free, errors.tolist(), strict=True))
        return cls(found, data, free, squares, spare, variance, by_place)


class _Rows:
    """The residuals of a program as a function of its constants."""

    def __init__(self, program: Program, data: Data) -> None:
        counted = data.weights > 0
        self._program = program
        self._X, self._y = data.X[counted], data.y[counted]
        self._roots = np.sqrt(data.weights[counted])

    def residuals(self, constants: Floats) -> Floats:
        """What is left of y [N], times the roots of the weights."""
        program = replace(self._program, constants=tuple(constants.tolist()))
        with np.errstate(all="ignore"):
            return np.asarray(self._roots * (self._y - program.evaluate(self._X)))

    def slopes(self, constants: Floats, free: tuple[int, ...]) -> Floats:
        """The derivatives of the residuals [N, free constants], by differences."""
        columns = []
        for place in free:
            size = _STEP * (abs(constants[place]) or 1.0)
            sides = []
            for sign in (1.0, -1.0):
                moved = constants.copy()
                moved[place] += sign * size
                sides.append(self.residuals(moved))
            with np.errstate(all="ignore"):  # not finite where a formula is undefined
                columns.append((sides[0] - sides[1]) / (2.0 * size))
        return np.column_stack(columns)

    def better(
        self, constants: Floats, residuals: Floats, free: tuple[int, ...], step: Floats
    ) -> tuple[Floats, Floats]:
        """The constants after a step, halved while it overshoots; as they were if nothing helps."""
        for halvings in range(_HALVINGS):
            trial = constants.copy()
            trial[list(free)] += step / 2**halvings
            found = self.residuals(trial)
            with np.errstate(all="ignore"):  # what overflows is not better
                lower = found @ found < residuals @ residuals
            if lower:
                return trial, found
        return constants, residuals


def _normal(slopes: Floats, residuals: Floats) -> tuple[Floats, Floats, float] | None:
    """Gauss and Newton's step, the inverse of the normal matrix, and what the step should gain.

    None where there is no inverse.
    """
    sizes = np.sqrt((slopes**2).sum(axis=0))
    if not (np.isfinite(sizes).all() and sizes.all()):
        return None
    slopes = slopes / sizes
    matrix = slopes.T @ slopes
    gradient = slopes.T @ residuals
    try:
        if np.linalg.cond(matrix) > _WORST_CONDITION:
            return None
        step, inverse = -np.linalg.solve(matrix, gradient), np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    return step / sizes, inverse / np.outer(sizes, sizes), -float(step @ gradient)
