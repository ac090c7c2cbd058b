"""How well predictions fit: against the true values, their residuals, and along an input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.arrays import Floats
from symseek.columns import with_unit
from symseek.errors import InputError
from symseek.report import chart
from symseek.report.chart import BLUE, INK, MUTED, ORANGE, Chart
from symseek.text import brief, counted, r2_text, shortened
from symseek.uncertainty.record import LEVEL

if TYPE_CHECKING:
    from symseek.model import Model

MANY = 20_000  # rows beyond which evenly spaced ones stand for all along an input
_GRID = 1000  # points of a curve
_OUTLIER = 1.0  # how far beyond the data a prediction is still drawn, in parts of their range
_NO_ROW = "There is no row with a finite prediction."


def parity(y: ArrayLike, predicted: ArrayLike, unit: str = "") -> Chart | str:
    """Predictions against true values, in some unit: on the diagonal they are equal.

    Rows without a finite prediction, and predictions far beyond the data, are counted in a note.
    """
    truth, guess, missing = _pairs(y, predicted)
    if not len(truth):
        return _NO_ROW
    inside = _near(truth, guess)
    ends = spanned(np.append(truth, guess[inside]), 0.04)
    r2 = _r_squared(truth, guess)
    marks = [
        chart.Cloud(truth[inside], guess[inside], BLUE),
        chart.Line(ends, ends, ORANGE, 1.4),
        chart.Words(f"{_equation(r2)}, {counted(len(truth), 'row')}", 0.02, 0.93, INK),
        chart.Words("equal", 0.985, 0.88, ORANGE, right=True),
        *_hidden(missing, inside),
    ]
    across = chart.Axis(with_unit("true value", unit), *ends)
    up = chart.Axis(with_unit("predicted value", unit), *ends)
    return Chart(_explained(r2), across, up, marks)


def residuals(y: ArrayLike, predicted: ArrayLike, unit: str = "") -> Chart | str:
    """Residuals against predictions, in some unit, with their distribution at the side."""
    truth, guess, missing = _pairs(y, predicted)
    if not len(truth):
        return _NO_ROW
    left, inside = truth - guess, _near(truth, guess)
    reach = 1.08 * float(np.abs(left[inside]).max(initial=0.0)) or 1.0
    across = spanned(guess[inside] if inside.any() else truth, 0.04)
    rms = _root_mean_square(left)
    marks: list[chart.Mark] = []
    if rms < reach:
        marks.append(chart.Area(across, [-rms, -rms], [rms, rms], ORANGE, 0.1))
        marks.append(chart.Words("± root mean square", 0.985, 0.53 + rms / reach / 2, right=True))
    bins = int(np.clip(math.sqrt(max(int(inside.sum()), 1)), 5, 50))
    counts, _ = np.histogram(left[inside], bins=bins, range=(-reach, reach))
    marks += [
        chart.Cloud(guess[inside], left[inside], BLUE),
        chart.Line(across, [0, 0], ORANGE, 1.4),
        chart.Bars(counts.tolist(), BLUE),
        *_hidden(missing, inside),
    ]
    horizontal = chart.Axis(with_unit("predicted value", unit), *across, grid=False)
    vertical = chart.Axis(with_unit("residual (true − predicted)", unit), -reach, reach)
    return Chart(_residual_title(left, rms), horizontal, vertical, marks)


def data(
    model: Model, X: ArrayLike, y: ArrayLike, row: int | None = None, label: str = "formula"
) -> Chart | str:
    """The data and the predictions of a formula, by default the picked one.

    With one input that is a curve, with `label` in the legend, and the band that new rows lie in.
    With several, data and predictions stand side by side along the input on which the formula
    depends the most. Of many rows, evenly spaced ones are drawn.
    """
    inputs, truth = rows_of(X, y)
    if not len(truth):
        return "There are no rows."
    one = inputs.shape[1] == 1
    column = 0 if one else strongest(model, inputs, row)
    x = inputs[:, column]
    feature, target = model.features[column], model.target
    across = chart.Axis(model.labelled(feature), *spanned(x, 0.03))
    up = chart.Axis(model.labelled(target), *spanned(truth, 0.08))
    drawn: chart.Mark = (
        chart.Line(*_curve(model, x, row, up), ORANGE, 2.2, label)
        if one
        else chart.Cloud(x, model.predict(inputs, row), ORANGE, "formula", 0.6)
    )
    names = f"{shortened(target, 20)} against {shortened(feature, 20)}"
    band = _band(model, x, row, up) if one else []
    marks = [*band, chart.Cloud(x, truth, MUTED, "data", 1.6), drawn]
    return Chart(f"Data and formula: {names}", across, up, marks)


def rows_of(X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Inputs and target as arrays; of many rows, evenly spaced ones."""
    inputs = np.asarray(X, dtype=np.float64)
    truth = np.asarray(y, dtype=np.float64).ravel()
    if inputs.ndim != 2 or len(inputs) != len(truth):
        raise InputError(
            f"X has shape {inputs.shape} and y {truth.shape}; give one row of X for each y"
        )
    step = math.ceil(len(truth) / MANY) or 1
    return inputs[::step], truth[::step]


def _curve(model: Model, x: Floats, row: int | None, up: chart.Axis) -> tuple[Floats, Floats]:
    """The formula over the range of the input, broken where it is far outside the chart."""
    grid = np.linspace(x.min(), x.max(), _GRID)
    values = model.predict(grid[:, None], row)
    with np.errstate(invalid="ignore"):
        near = np.abs(values - (up.low + up.high) / 2) <= 20 * (up.high - up.low)
    return grid, np.where(near, values, np.nan)


def _band(model: Model, x: Floats, row: int | None, up: chart.Axis) -> list[chart.Mark]:
    """Where new rows lie 95 times in 100, cut at the edges of the chart."""
    formula = model.formula(row)
    if formula.certainty is None or formula.exact:
        return []
    grid = np.linspace(x.min(), x.max(), _GRID)
    ends = model.interval(grid[:, None], LEVEL, row)
    low, high = (np.clip(each, up.low, up.high) for each in ends)
    known = np.isfinite(low) & np.isfinite(high)
    if not known.all():  # an area has no gaps
        return []
    return [chart.Area(grid, low, high, ORANGE, 0.15, "95 % of new rows")]


def strongest(
    model: Model, inputs: Floats, row: int | None, columns: Sequence[int] | None = None
) -> int:
    """The column, of some or all, whose shuffling changes the predictions the most."""
    sample = inputs[:: max(1, len(inputs) // 1000)]
    before = model.predict(sample, row)
    changes, columns = [], range(inputs.shape[1]) if columns is None else columns
    for column in columns:
        changed = sample.copy()
        changed[:, column] = np.roll(changed[:, column], len(changed) // 2)
        with np.errstate(all="ignore"):
            change = np.abs(model.predict(changed, row) - before)
        finite = change[np.isfinite(change)]
        changes.append(float(np.median(finite)) if len(finite) else 0.0)
    return columns[int(np.argmax(changes))]


def _pairs(y: ArrayLike, predicted: ArrayLike) -> tuple[Floats, Floats, int]:
    """True and predicted values where both are finite, and how many rows are not."""
    truth = np.asarray(y, dtype=np.float64).ravel()
    guess = np.asarray(predicted, dtype=np.float64).ravel()
    if len(truth) != len(guess):
        raise InputError(f"there are {len(truth)} true values and {len(guess)} predicted ones")
    finite = np.isfinite(truth) & np.isfinite(guess)
    return truth[finite], guess[finite], int(np.count_nonzero(~finite))


def _near(truth: Floats, guess: Floats) -> NDArray[np.bool_]:
    """Which predictions are not far beyond the data."""
    low, high = spanned(truth)
    return (guess >= low) & (guess <= high)


def spanned(values: Floats, room: float = _OUTLIER) -> tuple[float, float]:
    """The ends of the values with some room beyond them, in parts of their distance."""
    low, high = float(values.min()), float(values.max())
    span = (high - low) or abs(high) or 1.0
    return low - room * span, high + room * span


def _root_mean_square(values: Floats) -> float:
    """Infinite where squares overflow."""
    with np.errstate(over="ignore"):
        return math.sqrt(float(np.mean(values**2)))


def _residual_title(left: Floats, rms: float) -> str:
    """How large residuals are, and whether they are centred, in words."""
    mean = float(left.mean())
    centre = f"mean {brief(mean, 2)}" if abs(mean) > 0.01 * rms else "centred on 0"
    return f"Residuals: root mean square {brief(rms)}, {centre}"


def _r_squared(truth: Floats, guess: Floats) -> float:
    spread = float(np.sum((truth - truth.mean()) ** 2))
    if spread == 0:
        return math.nan
    with np.errstate(over="ignore"):
        return 1 - float(np.sum((truth - guess) ** 2)) / spread


def _explained(r2: float) -> str:
    """R² in words; the percentage is cut, not rounded, so that it is never 100 by rounding."""
    if not math.isfinite(r2):
        return "Predictions against data"
    if r2 < 0:
        return "Predictions are farther from the data than their mean"
    percent = math.floor(r2 * 1e4 + 1e-9) / 100
    return f"Predictions explain {percent:.4g} % of the variance"


def _equation(r2: float) -> str:
    text = r2_text(r2)
    return f"R² {text}" if text[0] in ">u" else f"R² = {text}"


def _hidden(missing: int, inside: NDArray[np.bool_]) -> list[chart.Mark]:
    """How many rows the chart does not show."""
    outside, parts = int(np.count_nonzero(~inside)), []
    if missing:
        parts.append(f"{counted(missing, 'row')} without a finite prediction")
    if outside:
        parts.append(f"{counted(outside, 'prediction')} beyond the frame")
    return [chart.Words("not shown: " + ", ".join(parts), 0.98, 0.045, right=True)] if parts else []
