"""How well predictions fit: against the true values, their residuals, and along an input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from symseek.algebra.typeset import readable
from symseek.arrays import Floats
from symseek.errors import InputError
from symseek.report.plots import style
from symseek.report.plots.labels import formula_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symseek.model import Model

__all__ = [
    "data",
    "equation",
    "explained",
    "pairs",
    "parity",
    "r_squared",
    "residual_title",
    "residuals",
    "root_mean_square",
    "spanned",
]

MANY = 20_000  # rows beyond which points are counted in cells instead of drawn
_GRID = 1000  # points of a curve
_OUTLIER = 1.0  # how far beyond the data a prediction is still drawn, in parts of their range
# The background of words that may stand on points.
_PLATE: dict[str, Any] = {
    "bbox": {"facecolor": style.PAPER, "alpha": 0.85, "edgecolor": "none", "pad": 1.5},
    "zorder": 6,
}
_LONGEST = 60  # characters of a formula above the plot


def parity(y: ArrayLike, predicted: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw predictions against true values: on the diagonal they are equal.

    Rows without a finite prediction, and predictions far beyond the data, are counted in a note.
    """
    ax = style.axes(ax)
    truth, guess, missing = pairs(y, predicted)
    if not len(truth):
        return style.message(ax, "There is no row with a finite prediction.")
    low, high = spanned(truth)
    inside = (guess >= low) & (guess <= high)
    shown_low, shown_high = spanned(np.append(truth, guess[inside]), 0.04)
    r2 = r_squared(truth, guess)
    style.dress(ax, explained(r2), "true value", "predicted value")
    ax.axline((shown_low, shown_low), slope=1, color=style.ORANGE, linewidth=1.2, zorder=4)
    _cloud(ax, truth[inside], guess[inside])
    ax.set_xlim(shown_low, shown_high)
    ax.set_ylim(shown_low, shown_high)
    style.note(ax, equation(r2), 0.03, 0.93, color=style.INK, fontsize=style.LABEL + 2)
    style.note(ax, style.counted(len(truth), "row"), 0.03, 0.86)
    _note_hidden(ax, missing, int(np.count_nonzero(~inside)))
    style.note(ax, "equal", 0.985, 0.88, color=style.ORANGE, ha="right", va="top")
    return ax


def residuals(y: ArrayLike, predicted: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw residuals against predictions, with their distribution at the side."""
    ax = style.axes(ax)
    truth, guess, missing = pairs(y, predicted)
    if not len(truth):
        return style.message(ax, "There is no row with a finite prediction.")
    left = truth - guess
    rms = root_mean_square(left)
    style.dress(
        ax, residual_title(left), "predicted value", "residual (true − predicted)", grid="y"
    )
    low, high = spanned(truth)
    inside = (guess >= low) & (guess <= high)
    _cloud(ax, guess[inside], left[inside])
    reach = 1.08 * float(np.abs(left[inside]).max(initial=0.0)) or 1.0
    ax.set_ylim(-reach, reach)
    ax.set_xlim(*spanned(guess[inside] if inside.any() else truth, 0.04))
    ax.axhline(0, color=style.ORANGE, linewidth=1.2, zorder=4)
    if rms < reach:
        ax.axhspan(-rms, rms, color=style.ORANGE, alpha=0.08, linewidth=0, zorder=0)
        level = 0.51 + rms / reach / 2
        style.note(ax, "± root mean square", 0.985, level, ha="right", va="bottom", **_PLATE)
    _histogram(ax, left[inside])
    _note_hidden(ax, missing, int(np.count_nonzero(~inside)))
    return ax


def root_mean_square(values: Floats) -> float:
    """Infinite where squares overflow."""
    with np.errstate(over="ignore"):
        return math.sqrt(float(np.mean(values**2)))


def residual_title(left: Floats) -> str:
    """How large residuals are, and whether they are centred, in words."""
    rms, mean = root_mean_square(left), float(left.mean())
    centre = f"mean {style.brief(mean, 2)}" if abs(mean) > 0.01 * rms else "centred on 0"
    return f"Residuals: root mean square {style.brief(rms)}, {centre}"


def _histogram(ax: Axes, values: Floats) -> None:
    """A histogram along the right edge, on the same scale."""
    side = ax.inset_axes((1.02, 0, 0.14, 1), sharey=ax)
    bins = int(np.clip(math.sqrt(len(values)), 5, 50))
    side.hist(
        values,
        bins=bins,
        range=ax.get_ylim(),
        orientation="horizontal",
        color=style.BLUE,
        alpha=0.6,
    )
    side.axhline(0, color=style.ORANGE, linewidth=1.2)
    side.set_axis_off()


def data(
    model: Model, X: ArrayLike, y: ArrayLike, row: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the data and the predictions of a formula, by default the picked one.

    With one input that is a curve. With several, data and predictions stand side by side along the
    input on which the formula depends the most. Of many rows, evenly spaced ones are drawn.
    """
    ax = style.axes(ax)
    inputs, truth = _rows(X, y)
    if not len(truth):
        return style.message(ax, "There are no rows.")
    column = 0 if inputs.shape[1] == 1 else _strongest(model, inputs, row)
    x = inputs[:, column]
    feature, target = model.features[column], model.target
    names = f"{style.shortened(target, 20)} against {style.shortened(feature, 20)}"
    style.dress(ax, f"Data and formula: {names}", feature, target)
    ax.set_xlim(*spanned(x, 0.03))
    ax.set_ylim(*spanned(truth, 0.08))
    _cloud(ax, x, truth, "data", style.MUTED, size=1.6)
    if inputs.shape[1] == 1:
        _curve(ax, model, x, row)
    else:
        _cloud(ax, x, model.predict(inputs, row), "formula", style.ORANGE, size=0.6)
    style.legend(ax, 2)
    return ax


def _rows(X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Inputs and target as arrays; of many rows, evenly spaced ones."""
    inputs = np.asarray(X, dtype=np.float64)
    truth = np.asarray(y, dtype=np.float64).ravel()
    if inputs.ndim != 2 or len(inputs) != len(truth):
        raise InputError(
            f"X has shape {inputs.shape} and y {truth.shape}; give one row of X for each y"
        )
    step = math.ceil(len(truth) / MANY) or 1
    return inputs[::step], truth[::step]


def _curve(ax: Axes, model: Model, x: Floats, row: int | None) -> None:
    """The formula over the range of the input, broken where it is far outside the plot."""
    grid = np.linspace(x.min(), x.max(), _GRID)
    values = model.predict(grid[:, None], row)
    low, high = ax.get_ylim()
    with np.errstate(invalid="ignore"):
        near = np.abs(values - (low + high) / 2) <= 20 * (high - low)
    text, math_mode = formula_text(readable(model.formula(row), digits=4), _LONGEST)
    label = text if math_mode else "formula"
    values = np.where(near, values, np.nan)
    ax.plot(grid, values, color=style.ORANGE, linewidth=2.0, label=label, zorder=4)


def _strongest(model: Model, inputs: Floats, row: int | None) -> int:
    """The column whose shuffling changes the predictions the most."""
    sample = inputs[:: max(1, len(inputs) // 1000)]
    before = model.predict(sample, row)
    changes = []
    for column in range(inputs.shape[1]):
        changed = sample.copy()
        changed[:, column] = np.roll(changed[:, column], len(changed) // 2)
        with np.errstate(all="ignore"):
            change = np.abs(model.predict(changed, row) - before)
        finite = change[np.isfinite(change)]
        changes.append(float(np.median(finite)) if len(finite) else 0.0)
    return int(np.argmax(changes))


def pairs(y: ArrayLike, predicted: ArrayLike) -> tuple[Floats, Floats, int]:
    """True and predicted values where both are finite, and how many rows are not."""
    truth = np.asarray(y, dtype=np.float64).ravel()
    guess = np.asarray(predicted, dtype=np.float64).ravel()
    if len(truth) != len(guess):
        raise InputError(f"there are {len(truth)} true values and {len(guess)} predicted ones")
    finite = np.isfinite(truth) & np.isfinite(guess)
    return truth[finite], guess[finite], int(np.count_nonzero(~finite))


def spanned(values: Floats, room: float = _OUTLIER) -> tuple[float, float]:
    """The ends of the values with some room beyond them, in parts of their distance."""
    low, high = float(values.min()), float(values.max())
    span = (high - low) or abs(high) or 1.0
    return low - room * span, high + room * span


def r_squared(truth: Floats, guess: Floats) -> float:
    spread = float(np.sum((truth - truth.mean()) ** 2))
    if spread == 0:
        return math.nan
    with np.errstate(over="ignore"):
        return 1 - float(np.sum((truth - guess) ** 2)) / spread


def explained(r2: float) -> str:
    """R² in words; the percentage is cut, not rounded, so that it is never 100 by rounding."""
    if not math.isfinite(r2):
        return "Predictions against data"
    if r2 < 0:
        return "Predictions are farther from the data than their mean"
    percent = math.floor(r2 * 1e4 + 1e-9) / 100
    return f"Predictions explain {percent:.4g} % of the variance"


def equation(r2: float) -> str:
    text = style.r2_text(r2)
    return f"R² {text}" if text[0] in ">u" else f"R² = {text}"


def _cloud(
    ax: Axes, x: Floats, y: Floats, label: str = "", color: str = style.BLUE, size: float = 1.0
) -> None:
    """Points, or for many rows the number of them in small cells."""
    if len(x) <= MANY:
        area, alpha = (18, 0.6) if len(x) <= 2000 else (6, 0.25)
        ax.scatter(x, y, s=area * size, color=color, alpha=alpha, lw=0, label=label, zorder=3)
        return
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("counts", ["#CFE3EF", color, style.INK])
    cells = ax.hexbin(x, y, gridsize=70, bins="log", mincnt=1, cmap=shades, linewidths=0.1)
    cells.set_zorder(3)


def _note_hidden(ax: Axes, missing: int, outside: int) -> None:
    """Write how many rows the plot does not show."""
    parts = []
    if missing:
        parts.append(f"{style.counted(missing, 'row')} without a finite prediction")
    if outside:
        parts.append(f"{style.counted(outside, 'prediction')} beyond the frame")
    if parts:
        style.note(ax, "not shown: " + ", ".join(parts), 0.985, 0.045, ha="right", **_PLATE)
