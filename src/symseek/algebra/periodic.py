"""Sines and cosines at the lowest frequency that has the same values.

On whole numbers cos(5.76*x) is cos(0.523*x), since 2*pi*x is a whole number of turns; the same on
any rows that lie on a grid of equal steps. Of all these frequencies a person means the lowest.
"""

from __future__ import annotations

import math

import numpy as np

from symseek.algebra.normal_form import Algebra, Call, Product, Sum, merged, number, scaled
from symseek.algebra.precision import EvaluatedForms
from symseek.algebra.writing import digits
from symseek.arrays import Floats

_PERIODIC = {"sin": 2, "cos": 2, "tan": 1}  # half turns
_EPSILON = float(np.finfo(np.float64).eps)
_FEWEST = 4  # different values: any two lie on a grid
_MOST_STEPS = 1e6  # between the lowest and the highest; finer grids are those of all floats


def lowest(call: Call, algebra: Algebra, rows: EvaluatedForms) -> Sum:
    """The call, with the lowest frequency and the smallest phase; never longer than it was."""
    if call.name not in _PERIODIC or len(call.arguments) != 1:
        return algebra.called(call, call.arguments)
    (argument,) = call.arguments
    turn = _PERIODIC[call.name] * math.pi
    angle = argument
    for at, (coefficient, product) in enumerate(argument.terms):
        angle = _slower(angle, at, coefficient, product, turn, rows)
    offset = angle.offset - turn * round(angle.offset / turn)
    near = 16 * _EPSILON * max(1.0, abs(argument.offset), _size(argument, rows))
    if abs(offset) <= near:
        offset = 0.0
    elif digits(abs(offset)) > digits(abs(angle.offset)):
        offset = angle.offset  # sin(x + 7), not sin(x + 0.716814692820414)
    if angle.terms != argument.terms and offset and not argument.offset:
        angle, offset = argument, 0.0
    return algebra.called(call, [Sum(number(offset), angle.terms)])


def without_minus(total: Sum, algebra: Algebra) -> Sum:
    """One term, with half a turn in the phase of a sine or cosine instead of a minus before it.

    A phase that has a short name, as in -sin(x + 1), stays.
    """
    ((coefficient, product),) = total.terms
    for at, (base, power) in enumerate(product):
        if coefficient >= 0 or power != 1.0 or not isinstance(base, Call):
            continue
        if base.name not in ("sin", "cos") or len(base.arguments) != 1:
            continue
        (angle,) = base.arguments
        offset = angle.offset - math.copysign(math.pi, angle.offset)
        if digits(abs(angle.offset)) >= digits(abs(offset)) and angle.offset:
            call = algebra.called(base, [Sum(number(offset), angle.terms)])
            rest = merged(product[:at] + product[at + 1 :])
            return scaled(algebra.multiplied(call, rest), -coefficient)
    return total


def _slower(
    angle: Sum, at: int, coefficient: float, product: Product, turn: float, rows: EvaluatedForms
) -> Sum:
    """The angle with whole turns a step taken from one of its terms."""
    found = grid(rows.values(product)) if abs(coefficient) < 1 / _EPSILON else None
    if found is None:
        return angle
    start, step = found
    turns = round(coefficient * step / turn)
    left = coefficient - turns * turn / step
    if turns == 0 or abs(left) <= 16 * _EPSILON * abs(coefficient):
        return angle
    # The turns of whole steps are whole; those of the part of a step at the start are a phase.
    part = start - step * round(start / step)
    if abs(part) <= 8 * _EPSILON * max(abs(start), step):
        part = 0.0
    phase = turn * math.fmod(turns * part / step, 1.0)
    terms = (*angle.terms[:at], (number(left), product), *angle.terms[at + 1 :])
    return Sum(number(angle.offset + phase), terms)


def _size(total: Sum, rows: EvaluatedForms) -> float:
    """The largest angle there is."""
    return float(max(np.abs(c * rows.values(product)).max() for c, product in total.terms))


def grid(values: Floats) -> tuple[float, float] | None:
    """The first value and the step of the grid that values lie on, if there is one.

    >>> grid(np.array([3.0, 5.0, 9.0, 11.0]))
    (3.0, 2.0)
    """
    different = np.unique(values)
    if len(different) < _FEWEST or not np.isfinite(different).all():
        return None
    start, length = float(different[0]), float(different[-1] - different[0])
    steps = different - start
    rounding = 8 * _EPSILON * float(np.abs(different).max())
    step = float(np.diff(different).min())
    while step * _MOST_STEPS >= length:
        off = np.abs(steps - step * np.round(steps / step))
        # A step that is off by rounding is off by that times its number, at the far end.
        if off.max() <= max(rounding * length / step, 0.0) and off.max() <= step / 4:
            step = length / round(length / step)
            exact = np.abs(steps - step * np.round(steps / step)).max() <= rounding
            return (start, step) if exact else None
        step = float(off[off > rounding].min()) if (off > rounding).any() else 0.0
    return None
