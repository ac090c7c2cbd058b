"""The pictures of the report, each with its caption.

They show what `symseek.report.plots` draws for a reader's own figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from symseek.arrays import Floats
from symseek.report import fits, fronts, groups, training
from symseek.report.chart import MUTED, ORANGE, Chart, Tags
from symseek.report.svg import drawn, drawn_tree
from symseek.text import shortened

if TYPE_CHECKING:
    from symseek.loop import Iteration
    from symseek.model import Model


def pictures(
    model: Model, inputs: Floats, target: Floats, history: Sequence[Iteration]
) -> Iterator[tuple[str, str]]:
    """Every picture of a fit as SVG text, with a sentence about it."""
    for picture, caption in _fit(model, inputs, target):
        yield drawn(picture, caption), caption
    caption = "The picked formula as a tree."
    yield drawn_tree(model.best.form(), caption), caption
    for picture, caption in _search(history) if history else ():
        yield drawn(picture, caption), caption


def _fit(model: Model, inputs: Floats, target: Floats) -> Iterator[tuple[Chart | str, str]]:
    predicted, unit = model.predict(inputs), model.unit(model.target)
    yield (
        _with_rows(fronts.front(model), model),
        "Error against complexity: each point is the best formula of its size, with its row; the"
        " picked one is orange.",
    )
    if model.grouping is not None:
        yield (
            groups.curves(model, inputs, target),
            f"The picked formula for each {shortened(model.grouping.name, 40)}, with its rows."
            " Other columns are at their medians, and a row is as far from its curve as its"
            " residual.",
        )
    if inputs.shape[1] == 1:
        label = shortened(model.best.text, 70)
        yield (
            fits.data(model, inputs, target, label=label),
            "The data and the curve of the picked formula.",
        )
    else:
        yield (
            fits.parity(target, predicted, unit),
            "Predictions of the picked formula against the data: on the line both are equal.",
        )
    yield (
        fits.residuals(target, predicted, unit),
        "The residuals of the picked formula, and their distribution; a pattern here is something"
        " the formula misses.",
    )


def _with_rows(front: Chart | str, model: Model) -> Chart | str:
    """The front with the row of each formula beside it."""
    if isinstance(front, str):
        return front
    rows = fronts.finite_rows(model)
    colors = [ORANGE if row == model.picked else MUTED for row in rows]
    tags = Tags(*fronts.places(model), [str(row) for row in rows], colors)
    return replace(front, marks=[*front.marks, tags])


def _search(history: Sequence[Iteration]) -> Iterator[tuple[Chart | str, str]]:
    yield (
        training.curves(history),
        "Rewards during the search: the best so far, and the means of each batch of formulas.",
    )
    yield (
        training.rewards(history),
        "How the rewards of a batch are distributed, and how that changes as the search learns.",
    )
    found = [now.best for now in history if now.best is not None]
    if found and any(sum(now.tokens) for now in history):
        names = found[-1].program.library.names
        yield training.tokens(history, names), "Which tokens the search wrote, as shares of all."
