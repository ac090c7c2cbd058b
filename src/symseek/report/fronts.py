"""The Pareto front: error against complexity, and the picked formula."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symseek.arrays import Floats
from symseek.report.chart import BLUE, MUTED, ORANGE, Axis, Chart, Line, Mark, Points
from symseek.text import brief, counted

if TYPE_CHECKING:
    from symseek.model import Model

EXACT = 1e-12  # errors below this part of the spread of y are rounding
SPAN = 10.0  # a front whose errors differ by more is read on a logarithmic scale


def front(model: Model) -> Chart | str:
    """Error against complexity, the picked formula marked.

    Rows without a finite error are left out. On a logarithmic scale errors of zero stand on a line
    of their own, labelled 0.
    """
    rows = finite_rows(model)
    if not rows:
        return "There is no formula with a finite error."
    sizes, shown = places(model)
    axis, zero = _error_axis(_errors(model))
    room = max(1.0, 0.05 * (sizes[-1] - sizes[0]))
    across = Axis("complexity", sizes[0] - room, sizes[-1] + room, grid=False, whole=True)
    marks: list[Mark] = [
        Line(sizes, shown, BLUE, 1.4, steps=True),
        Points(sizes, shown, BLUE, 4.5, "on the front"),
    ]
    if zero is not None:
        ends = [across.low, across.high]
        marks.insert(0, Line(ends, [zero * 10**0.5] * 2, MUTED, 0.7, dashed=True))
    if model.picked in rows:
        at = slice(rows.index(model.picked), rows.index(model.picked) + 1)
        marks.append(Points(sizes[at], shown[at], ORANGE, 7.5, "picked"))
    return Chart(_title(model, len(rows)), across, axis, marks)


def finite_rows(model: Model) -> list[int]:
    """The rows of the front that are drawn."""
    return [row for row, each in enumerate(model.formulas) if math.isfinite(each.nrmse)]


def places(model: Model) -> tuple[Floats, Floats]:
    """Where the formulas stand: their complexities and errors, that of an exact one above 0."""
    sizes = [model.formulas[row].complexity for row in finite_rows(model)]
    errors = _errors(model)
    _, zero = _error_axis(errors)
    return np.array(sizes, dtype=np.float64), errors if zero is None else np.maximum(errors, zero)


def _errors(model: Model) -> Floats:
    """The errors of the rows; those of exact formulas are rounding, and none."""
    formulas = [model.formulas[row] for row in finite_rows(model)]
    return np.array([0.0 if each.exact or each.nrmse < EXACT else each.nrmse for each in formulas])


def _title(model: Model, count: int) -> str:
    best = model.best
    error = "no error" if best.nrmse < EXACT else f"NRMSE {brief(best.nrmse, 2)}"
    error = "exact" if best.exact else error
    return f"Picked of {counted(count, 'formula')}: complexity {best.complexity}, {error}"


def _error_axis(errors: Floats) -> tuple[Axis, float | None]:
    """The scale of the errors, and where on a logarithmic one errors of 0 stand."""
    label = "error (NRMSE)"
    positive = errors[errors > 0]
    if not len(positive) or errors.max() / positive.min() < SPAN:
        top = float(errors.max()) or 1.0
        return Axis(label, -0.04 * top, 1.15 * top), None
    low, high = math.log10(positive.min()), math.log10(positive.max())
    room = 0.12 * max(high - low, 1.0)
    if len(positive) == len(errors):
        return Axis(label, 10 ** (low - room), 10 ** (high + room), log=True), None
    zero = 10.0 ** (math.floor(low) - 1)  # a line below all others

    def shown(value: float) -> str:
        return "0" if value <= zero * 1.001 else brief(value)

    return Axis(label, zero / 10**0.3, 10 ** (high + room), log=True, shown=shown), zero
