"""How the values of a program change with its constants, row by row, by differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from symseek.arrays import Floats
from symseek.programs import Program

_STEP = 1e-4  # of a constant: what the differences leave out is about its fourth power
_SMALLER = 1e-3  # times a step, beyond which a formula is undefined
_SIDES = ((1, 8.0 / 12.0), (2, -1.0 / 12.0))  # steps to either side, and what they count


def slopes(
    program: Program,
    X: Floats,
    places: Sequence[int],
    sizes: Sequence[float] | None = None,
) -> Floats:
    """The derivatives [N, k] of the values on rows X by the constants at some places.

    Args:
        program: the formula.
        X: the rows [N, n].
        places: which constants.
        sizes: [k] steps of them; a part of each constant by default. What is not finite in a row is
            NaN there.

    >>> slopes(Program.parse("2.0*exp(0.5*x)"), np.array([[0.0], [2.0]]), [0, 1]).round(6)
    array([[ 1.      ,  0.      ],
           [ 2.718282, 10.873127]])
    """
    columns = []
    for at, place in enumerate(places):
        value = program.constants[place]
        step = sizes[at] if sizes is not None else _STEP * (abs(value) or 1.0)
        column = _difference(program, X, place, step)
        wrong = ~np.isfinite(column)
        if wrong.any():
            column[wrong] = _difference(program, X[wrong], place, _SMALLER * step)
        columns.append(column)
    return np.column_stack(columns) if columns else np.empty((len(X), 0))


def _difference(program: Program, X: Floats, place: int, step: float) -> Floats:
    total = np.zeros(len(X))
    constants = list(program.constants)
    for steps, share in _SIDES:
        for sign in (1.0, -1.0):
            constants[place] = program.constants[place] + sign * steps * step
            moved = replace(program, constants=tuple(constants))
            with np.errstate(all="ignore"):
                total += sign * share * moved.evaluate(X)
    return np.asarray(total / step)
