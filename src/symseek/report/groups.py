"""What groups have of their own: a curve for each, and a table of the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from symseek.arrays import Floats
from symseek.notation.mathml import escaped
from symseek.report import chart, fits
from symseek.report.chart import REST, SERIES, Chart
from symseek.report.training import apart
from symseek.text import brief, counted, r2_text, shortened

if TYPE_CHECKING:
    from symseek.model import Model

_GRID = 300  # points of a curve
_FAR = 20.0  # beyond so many heights of the chart a curve is broken
_FEW = 20  # groups and points by which the input to draw along is chosen
_ALIKE = 1e-6  # of the spread of values: groups that differ by a level alone
_LABEL = 60  # characters of a label in the table


def curves(model: Model, X: ArrayLike, y: ArrayLike, row: int | None = None) -> Chart | str:
    """The formula's curve for each group along an input, with its rows.

    It is the input along which groups differ in different ways, or else the one on which the
    formula depends the most. Other inputs are at their medians, and a row stands as far from its
    curve as its residual. Of many groups, some are in colours, spread by the size of their values.
    """
    inputs, truth = fits.rows_of(X, y)
    if not len(truth):
        return "There are no rows."
    grouping = model.grouping
    assert grouping is not None
    codes = inputs[:, -1].astype(np.intp)
    names = [name for name in model.inputs if name in model.formula(row).program.names]
    column = _column(model, inputs, row, [model.features.index(each) for each in names])
    x, middle = inputs[:, column], np.median(inputs, axis=0)
    plain = np.tile(middle, (len(inputs), 1))
    plain[:, [column, -1]] = inputs[:, [column, -1]]
    alone = len(names) < 2  # the rows themselves are along the curves
    with np.errstate(all="ignore"):
        shift = 0.0 if alone else model.predict(plain, row) - model.predict(inputs, row)
        points = truth + shift
    seen = points[np.isfinite(points)]
    if not len(seen):
        return "The formula has no value on any row."
    feature, target = model.features[column], model.target
    across = chart.Axis(model.labelled(feature), *fits.spanned(x, 0.03))
    up = chart.Axis(model.labelled(target), *fits.spanned(seen, 0.08))
    lines = [
        _curve(model, row, middle, column, (at, x[codes == at]), up)
        for at in range(len(grouping.labels))
    ]
    coloured = _spread_out([each[1] for each in lines])
    colors = [REST] * len(lines)
    for color, at in zip(SERIES, coloured, strict=False):
        colors[at] = color
    order = sorted(range(len(lines)), key=lambda at: at in coloured)  # grey ones below
    marks: list[chart.Mark] = [
        chart.Cloud(x[codes == at], points[codes == at], colors[at], size=0.8)
        for at in order
        if (codes == at).any()
    ]
    marks += [chart.Line(*lines[at], colors[at], 2.0 if at in coloured else 1.0) for at in order]
    marks.append(_names(grouping.labels, coloured, lines, up))
    rest = len(lines) - len(coloured)
    if rest:
        marks.append(
            chart.Words(f"in grey: {counted(rest, 'more group')}", 0.98, 0.045, right=True)
        )
    title = f"A curve for each {shortened(grouping.name, 20)}"
    fixed = [each for each in names if each != feature]
    if fixed:
        listed = (f"{each} = {brief(middle[model.features.index(each)])}" for each in fixed)
        title += f", at {shortened(', '.join(listed), 40)}"
    return Chart(title, across, up, marks)


def _column(model: Model, inputs: Floats, row: int | None, columns: Sequence[int]) -> int:
    """The column to draw along, of those that the formula has."""
    if len(columns) < 2:
        return columns[0] if columns else 0
    groups, middle = np.unique(inputs[:, -1])[:_FEW], np.median(inputs, axis=0)
    varying = []
    for column in columns:
        grid = np.quantile(inputs[:, column], np.linspace(0, 1, _FEW))
        places = np.tile(middle, (len(groups) * _FEW, 1))
        places[:, column], places[:, -1] = np.tile(grid, len(groups)), np.repeat(groups, _FEW)
        values = model.predict(places, row).reshape(len(groups), _FEW)
        with np.errstate(invalid="ignore", over="ignore"):
            spread = float(np.std(values - values.mean(axis=0), axis=1).mean())
            total = float(np.std(values))
        varying.append(spread if np.isfinite(spread) and spread > _ALIKE * total else 0.0)
    best = int(np.argmax(varying))
    return columns[best] if varying[best] else fits.strongest(model, inputs, row, columns)


def _curve(
    model: Model,
    row: int | None,
    middle: Floats,
    column: int,
    group: tuple[int, Floats],
    up: chart.Axis,
) -> tuple[Floats, Floats]:
    """The formula for a group over the range of its rows, broken where it is far outside."""
    at, x = group
    grid = np.linspace(x.min(), x.max(), _GRID) if len(x) else np.empty(0)
    places = np.tile(middle, (len(grid), 1))
    places[:, column], places[:, -1] = grid, at
    values = model.predict(places, row)
    with np.errstate(invalid="ignore"):
        near = np.abs(values - (up.low + up.high) / 2) <= _FAR * (up.high - up.low)
    return grid, np.where(near, values, np.nan)


def _spread_out(curves: Sequence[Floats]) -> list[int]:
    """The groups to colour: all, or of many some that are spread out by their values."""
    means = np.array([float(np.nanmean(c)) if np.isfinite(c).any() else np.inf for c in curves])
    order = np.argsort(means, kind="stable")
    few = np.unique(np.linspace(0, len(order) - 1, min(len(order), len(SERIES))).round())
    return [int(order[int(at)]) for at in few]


def _names(
    labels: Sequence[str],
    coloured: Sequence[int],
    lines: Sequence[tuple[Floats, Floats]],
    up: chart.Axis,
) -> chart.Names:
    """The names of the coloured groups beside the ends of their curves."""
    ends = {}
    for at in coloured:
        there = lines[at][1][np.isfinite(lines[at][1])]
        end = float(there[-1]) if len(there) else up.low
        ends[at] = min(max((end - up.low) / (up.high - up.low), 0.0), 1.0)
    ranked = sorted(coloured, key=ends.__getitem__)
    heights = np.array([ends[at] for at in ranked])
    color = dict(zip(coloured, SERIES, strict=False))
    texts = [labels[at] for at in ranked]
    return chart.Names(texts, heights.tolist(), apart(heights).tolist(), [color[a] for a in ranked])


def table_html(model: Model, X: Floats, y: Floats) -> str:
    """The numbers of the picked formula by group, as HTML; empty without such numbers."""
    own = model.best.own
    if own is None:
        return ""
    predicted, codes = model.predict(X), X[:, -1].astype(np.intp)
    head = [*own.names, "rows", "RMSE", "R²"]
    lines = []
    for at, label in enumerate(own.labels):
        here = codes == at
        numbers = [f"{value:.6g}".replace("-", "−") for value in own.of_group(at)]
        cells = [*numbers, f"{int(here.sum()):,}", *_fit(y[here], predicted[here])]
        tds = "".join(f'<td class="number">{escaped(cell)}</td>' for cell in cells)
        name = escaped(shortened(label, _LABEL))
        lines.append(f'<tr><th scope="row">{name}</th>{tds}</tr>')
    heads = "".join(f'<th class="number" scope="col">{escaped(text)}</th>' for text in head)
    rows = "\n".join(lines)
    return f"""<div class="wide"><table class="front own">
<thead><tr><th scope="col">{escaped(own.column)}</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>"""


def _fit(y: Floats, predicted: Floats) -> list[str]:
    """How well the formula does in a group: the root mean square of what is left, and R²."""
    if not len(y):
        return ["–", "–"]
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(np.sum((y - predicted) ** 2))
        spread = float(np.sum((y - y.mean()) ** 2))
    rms = brief(float(np.sqrt(squares / len(y))), padded=True)
    return [rms, r2_text(1 - squares / spread) if spread and np.isfinite(squares) else "–"]
