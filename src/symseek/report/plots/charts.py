"""The charts of a fit and a search, drawn with Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from symseek.algebra.typeset import readable
from symseek.report import fits, groups, training
from symseek.report.plots.draw import draw
from symseek.report.plots.labels import formula_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symseek.loop import Iteration
    from symseek.model import Model

_LONGEST = 60  # characters of a formula above the plot


def parity(y: ArrayLike, predicted: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw predictions against true values: on the diagonal they are equal.

    Rows without a finite prediction, and predictions far beyond the data, are counted in a note.
    """
    return draw(fits.parity(y, predicted), ax)


def residuals(y: ArrayLike, predicted: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw residuals against predictions, with their distribution at the side."""
    return draw(fits.residuals(y, predicted), ax)


def data(
    model: Model, X: ArrayLike, y: ArrayLike, row: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the data and the predictions of a formula, by default the picked one.

    With one input that is a curve. With several, data and predictions stand side by side along the
    input on which the formula depends the most. With groups, whose numbers X has as its last
    column, each has a curve along that input. Of many rows, evenly spaced ones are drawn.
    """
    if model.grouping is not None:
        return draw(groups.curves(model, X, y, row), ax)
    text, math_mode = formula_text(readable(model.formula(row), digits=4), _LONGEST)
    return draw(fits.data(model, X, y, row, text if math_mode else "formula"), ax)


def curves(history: Sequence[Iteration], ax: Axes | None = None) -> Axes:
    """Draw the best reward so far, and the means of each batch and of its best part."""
    return draw(training.curves(history), ax)


def rewards(history: Sequence[Iteration], ax: Axes | None = None) -> Axes:
    """Draw how the rewards of a batch are distributed, and how that changes."""
    return draw(training.rewards(history), ax)


def tokens(
    history: Sequence[Iteration], library_names: Sequence[str], ax: Axes | None = None
) -> Axes:
    """Draw the shares of the tokens that the search used most; the others are one grey area."""
    return draw(training.tokens(history, library_names), ax)
