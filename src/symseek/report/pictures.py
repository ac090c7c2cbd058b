"""The pictures of the report, each with its caption.

They show what `symseek.report.plots` draws for a reader's own figures, and share its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from symseek.arrays import Floats
from symseek.report.chart import HEIGHT, LETTER, SMALL, WIDTH, Axis, Chart, drawing, written
from symseek.report.plots import fits, fronts, style, training, trees
from symseek.text import brief, count, counted, shortened

if TYPE_CHECKING:
    from symseek.loop import Iteration
    from symseek.model import Model
    from symseek.programs import Program

__all__ = ["pictures"]

History = Sequence["Iteration"]

_MANY = 2_000  # rows beyond which points are counted in cells
_GRID = 400  # points of a curve
_SIDE = 76  # pixels beside the residuals, for their distribution
_NAMES = 120  # pixels beside the tokens, for their names
_TREE_TYPE = 15.0  # pixels, if there is room


def pictures(
    model: Model, inputs: Floats, target: Floats, history: History
) -> Iterator[tuple[str, str]]:
    """Every picture of a fit as SVG text, with a sentence about it."""
    for chart, caption in _charts(model, inputs, target, history):
        yield chart.svg(caption) if isinstance(chart, Chart) else chart, caption


def _charts(
    model: Model, inputs: Floats, target: Floats, history: History
) -> Iterator[tuple[Chart | str, str]]:
    predicted = model.predict(inputs)
    yield (
        front(model),
        "Error against complexity: each point is the best formula of its size, with its row; the"
        " picked one is orange.",
    )
    if inputs.shape[1] == 1:
        yield data(model, inputs[:, 0], target), "The data and the curve of the picked formula."
    else:
        yield (
            parity(target, predicted),
            "Predictions of the picked formula against the data: on the line both are equal.",
        )
    yield (
        residuals(target, predicted),
        "The residuals of the picked formula, and their distribution; a pattern here is something"
        " the formula misses.",
    )
    caption = "The picked formula as a tree."
    yield tree(model.best.form(), caption), caption
    if not history:
        return
    yield (
        curves(history),
        "Rewards during the search: the best so far, and the means of each batch of formulas.",
    )
    yield (
        rewards(history),
        "How the rewards of a batch are distributed, and how that changes as the search learns.",
    )
    found = [now.best for now in history if now.best is not None]
    if found and any(sum(now.tokens) for now in history):
        names = found[-1].program.library.names
        yield tokens(history, names), "Which tokens the search wrote, as shares of all."


def _message(text: str) -> Chart:
    """A sentence instead of a picture."""
    nothing = Axis("", 0, 1, grid=False, shown=lambda _: "")
    chart = Chart(text, nothing, nothing)
    chart.words("nothing to draw", 0.5, 0.5, style.MUTED, "middle")
    return chart


# --- the front


def front(model: Model) -> Chart:
    """Error against complexity, a number at each formula."""
    rows = [i for i, each in enumerate(model.formulas) if math.isfinite(each.nrmse)]
    if not rows:
        return _message("There is no formula with a finite error")
    sizes = np.array([model.formulas[i].complexity for i in rows], dtype=np.float64)
    errors = fronts.errors_of(model, rows)
    axis, shown, zero = _error_axis(errors)
    room = max(1.0, 0.05 * (sizes[-1] - sizes[0]))
    across = Axis("complexity", sizes[0] - room, sizes[-1] + room, grid=False, whole=True)
    chart = Chart(fronts.title(model, len(rows)), across, axis)
    if zero is not None:
        ends = [across.low, across.high]
        chart.line(ends, [zero * 10**0.5] * 2, style.MUTED, 0.7, dashed=True)
    chart.line(sizes, shown, style.BLUE, 1.4, steps=True)
    chart.points(sizes, shown, style.BLUE, 4.5)
    for row, left, top in zip(rows, *chart.place(sizes, shown), strict=True):
        picked = row == model.picked
        color = style.ORANGE if picked else style.MUTED
        if picked:
            chart.points([model.formulas[row].complexity], [shown[rows.index(row)]], color, 7.5)
        weight = 700 if picked else 400
        chart.inside.append(written(str(row), left + 7, top - 8, color, weight=weight))
    chart.legend = [("on the front, with its row", style.BLUE), ("picked", style.ORANGE)]
    return chart


def _error_axis(errors: Floats) -> tuple[Axis, Floats, float | None]:
    """The scale of the errors, where on it each one stands, and where errors of 0 do."""
    label = "error (NRMSE)"
    positive = errors[errors > 0]
    if not len(positive) or errors.max() / positive.min() < fronts.SPAN:
        top = float(errors.max()) or 1.0
        return Axis(label, -0.04 * top, 1.15 * top), errors, None
    low, high = math.log10(positive.min()), math.log10(positive.max())
    room = 0.12 * max(high - low, 1.0)
    if len(positive) == len(errors):
        return Axis(label, 10 ** (low - room), 10 ** (high + room), log=True), errors, None
    zero = 10.0 ** (math.floor(low) - 1)  # a line below all others

    def shown(value: float) -> str:
        return "0" if value <= zero * 1.001 else brief(value)

    axis = Axis(label, zero / 10**0.3, 10 ** (high + room), log=True, shown=shown)
    return axis, np.maximum(errors, zero), zero


# --- the fit


def data(model: Model, x: Floats, y: Floats) -> Chart:
    """The data and the curve of the picked formula, for one input."""
    feature, target = model.features[0], model.target
    names = f"{shortened(target, 20)} against {shortened(feature, 20)}"
    across, up = Axis(feature, *fits.spanned(x, 0.03)), Axis(target, *fits.spanned(y, 0.08))
    chart = Chart(f"Data and formula: {names}", across, up)
    _cloud(chart, x, y, style.MUTED)
    grid = np.linspace(x.min(), x.max(), _GRID)
    values = model.predict(grid[:, None])
    with np.errstate(invalid="ignore"):
        near = np.abs(values - (up.low + up.high) / 2) <= 20 * (up.high - up.low)
    chart.line(grid, np.where(near, values, np.nan), style.ORANGE, 2.2)
    chart.legend = [("data", style.MUTED), (shortened(model.best.text, 70), style.ORANGE)]
    return chart


def parity(y: Floats, predicted: Floats) -> Chart:
    """Predictions against true values."""
    truth, guess, missing = fits.pairs(y, predicted)
    if not len(truth):
        return _message("There is no row with a finite prediction")
    low, high = fits.spanned(truth)
    inside = (guess >= low) & (guess <= high)
    ends = fits.spanned(np.append(truth, guess[inside]), 0.04)
    r2 = fits.r_squared(truth, guess)
    chart = Chart(fits.explained(r2), Axis("true value", *ends), Axis("predicted value", *ends))
    _cloud(chart, truth[inside], guess[inside], style.BLUE)
    chart.line(ends, ends, style.ORANGE, 1.4)
    chart.words(f"{fits.equation(r2)}, {counted(len(truth), 'row')}", 0.02, 0.06)
    _note_hidden(chart, missing, int(np.count_nonzero(~inside)))
    return chart


def residuals(y: Floats, predicted: Floats) -> Chart:
    """Residuals against predictions, with their distribution at the side."""
    truth, guess, missing = fits.pairs(y, predicted)
    if not len(truth):
        return _message("There is no row with a finite prediction")
    left = truth - guess
    low, high = fits.spanned(truth)
    inside = (guess >= low) & (guess <= high)
    reach = 1.08 * float(np.abs(left[inside]).max(initial=0.0)) or 1.0
    across = fits.spanned(guess[inside] if inside.any() else truth, 0.04)
    chart = Chart(
        fits.residual_title(left),
        Axis("predicted value", *across, grid=False),
        Axis("residual (true − predicted)", -reach, reach),
        right=_SIDE,
    )
    rms = min(fits.root_mean_square(left), reach)
    chart.area(across, [-rms, -rms], [rms, rms], style.ORANGE, 0.1)
    _cloud(chart, guess[inside], left[inside], style.BLUE)
    chart.line(across, [0, 0], style.ORANGE, 1.4)
    _histogram(chart, left[inside])
    _note_hidden(chart, missing, int(np.count_nonzero(~inside)))
    return chart


def _histogram(chart: Chart, values: Floats) -> None:
    """Bars along the right edge, on the scale of the chart."""
    bins = int(np.clip(math.sqrt(max(len(values), 1)), 5, 50))
    counts, _ = np.histogram(values, bins=bins, range=(chart.y.low, chart.y.high))
    high = chart.height / bins
    for at, number in enumerate(counts.tolist()):
        wide = (_SIDE - 12) * number / max(counts.max(), 1)
        top = chart.height - (at + 1) * high
        chart.beside.append(
            f'<rect x="{chart.width + 6:.1f}" y="{top:.1f}" width="{wide:.1f}"'
            f' height="{max(high - 1, 1):.1f}" fill="{style.BLUE}" fill-opacity="0.6"/>'
        )


def _cloud(chart: Chart, x: Floats, y: Floats, color: str) -> None:
    if len(x) <= _MANY:
        chart.points(x, y, color, 3.0 if len(x) <= 500 else 2.0, 0.6)
    else:
        chart.cells(x, y, color)


def _note_hidden(chart: Chart, missing: int, outside: int) -> None:
    """Say how many rows the picture does not show."""
    parts = []
    if missing:
        parts.append(f"{counted(missing, 'row')} without a finite prediction")
    if outside:
        parts.append(f"{counted(outside, 'prediction')} beyond the frame")
    if parts:
        chart.words("not shown: " + ", ".join(parts), 0.98, 0.97, style.MUTED, "end")


# --- the formula


def tree(program: Program, caption: str) -> str:
    """The tokens of the program as a tree."""
    nodes = trees.laid_out(program, lambda text: LETTER * len(text) + 0.2)
    left, right, levels = trees.extent(nodes)
    size = min(_TREE_TYPE, (WIDTH - 8) / (right - left))
    level = size * 3.0
    height = max((levels - 1) * level + size * trees.HEIGHT + 4, 40)
    title = f"The formula as a tree: {counted(len(nodes), 'token')}, complexity"
    title = f"{title} {program.complexity}"
    parts = [written(title, 0, 18, size=16, weight=600), _kinds(nodes)]
    shift = (WIDTH - (right - left) * size) / 2 - left * size
    parts.append(f'<g transform="translate({shift:.1f} {64 + size * trees.HEIGHT / 2:.1f})">')
    parts += [_node(node, size, level) for node in nodes]
    return drawing(
        WIDTH, max(height + 68, HEIGHT / 2), "".join(parts) + "</g>", f"{title}. {caption}"
    )


def _node(node: trees.Node, size: float, level: float) -> str:
    x, y, wide, high = node.x * size, node.depth * level, node.width * size, trees.HEIGHT * size
    lines = "".join(
        f'<path class="frame" d="M{x:.1f} {y + high / 2:.1f}L{child.x * size:.1f}'
        f' {y + level - high / 2:.1f}"/>'
        for child in node.children
    )
    outline, inside = trees.COLOURS[node.kind]
    text = written(node.text, x, y + 0.36 * size, style.INK, "middle", round(size, 1))
    return (
        f'{lines}<rect x="{x - wide / 2:.1f}" y="{y - high / 2:.1f}" width="{wide:.1f}"'
        f' height="{high:.1f}" rx="{0.6 * size:.1f}" fill="{inside}" stroke="{outline}"/>{text}'
    )


def _kinds(nodes: list[trees.Node]) -> str:
    """What the colours stand for, as far as they occur."""
    parts, left = [], 0
    for kind, (outline, inside) in trees.COLOURS.items():
        if any(node.kind == kind for node in nodes):
            box = f'<rect x="{left + 1}" y="36" width="11" height="11"'
            parts.append(f'{box} fill="{inside}" stroke="{outline}"/>')
            parts.append(written(kind, left + 18, 46))
            left += 40 + round(LETTER * SMALL * len(kind))
    return "".join(parts)


# --- the search


def curves(history: History) -> Chart:
    """The best reward so far, and the means of each batch and of its best part."""
    best = np.array([now.best.reward if now.best else now.best_reward for now in history])
    graded = [now.expressions for now in history]
    means = np.array([(now.top_mean_reward, now.mean_reward) for now in training.whole(history)])
    x, means = training.stretches(history, means, training.STRETCHES)
    title = f"The best reward reaches {brief(float(best[-1]), 4)}"
    chart = _search_chart(title, graded[-1], np.append(means, best))
    chart.line(*training.corners(graded, best), style.ORANGE, 2.4, steps=True)
    chart.legend = [("best so far", style.ORANGE)]
    for column, label, color in zip(
        means.T, training.MEANS, (style.BLUE, style.MUTED), strict=True
    ):
        chart.line(x, column, color)
        chart.legend.append((label, color))
        if len(x) == 1:
            chart.points(x, column, color)
    return chart


def rewards(history: History) -> Chart:
    """How the rewards of a batch are distributed, and how that changes."""
    quantiles = np.array([now.quantiles for now in training.whole(history)])
    x, levels = training.stretches(history, quantiles, training.STRETCHES)
    middle, low, high = (training.at_quantile(each) for each in (0.5, 0.05, 0.95))
    first, last = (brief(float(value), 2) for value in levels[[0, -1], middle])
    change = f"stays at {first}" if first == last else f"goes from {first} to {last}"
    title = f"The median reward {change}"
    chart = _search_chart(title, history[-1].expressions, levels[:, [low, high, -1]])
    if len(x) == 1:
        x, levels = training.widened(x, levels)
    for one, other, opacity, _ in training.BANDS:
        low, high = (training.at_quantile(each) for each in (one, other))
        chart.area(x, levels[:, low], levels[:, high], style.BLUE, opacity)
    chart.line(x, levels[:, middle], style.BLUE, 2.0)
    chart.line(x, levels[:, -1], style.ORANGE, 1.4)
    chart.legend = [
        ("median, with the middle 50 % and 90 %", style.BLUE),
        ("best of the batch", style.ORANGE),
    ]
    return chart


def _search_chart(title: str, last: int, values: Floats) -> Chart:
    low, high = training.reward_limits(values)
    across = Axis(training.GRADED, 0, 1.005 * last, shown=count)
    return Chart(title, across, Axis("reward", low, high))


def tokens(history: History, names: Sequence[str]) -> Chart:
    """The shares of the tokens that the search used most."""
    counts = np.array([now.tokens for now in training.whole(history)], dtype=np.float64)
    x, totals = training.stretches(history, counts, training.TREND)
    shares, used = training.most_used(totals, names)
    title = training.most_written(shares, used)
    if len(x) == 1:
        x, shares = training.widened(x, shares)
    across = Axis(training.GRADED, float(x[0]), float(x[-1]), grid=False, shown=count)
    up = Axis("share of the tokens", 0, 1, grid=False, shown=lambda value: f"{100 * value:.0f} %")
    chart = Chart(title, across, up, right=_NAMES)
    colors = [*style.SERIES[: len(used)], style.REST]
    tops = np.cumsum(shares, axis=1)
    for at, color in enumerate(colors):
        chart.area(x, tops[:, at] - shares[:, at], tops[:, at], color)
    middles = tops[-1] - shares[-1] / 2
    heights = training.apart(middles)
    for name, middle, height, color in zip(
        [*used, "others"], middles, heights, colors, strict=True
    ):
        ends = f"M{chart.width:.1f} {(1 - middle) * chart.height:.1f}"
        ends += f"L{chart.width + 14:.1f} {(1 - height) * chart.height:.1f}"
        chart.beside.append(f'<path d="{ends}" stroke="{color}" stroke-width="2"/>')
        top = (1 - height) * chart.height + 4
        chart.beside.append(written(shortened(name, 14), chart.width + 18, top))
    return chart
