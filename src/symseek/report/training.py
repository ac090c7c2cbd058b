"""How a search went: its rewards and the tokens it wrote, against the expressions graded.

A long history is drawn as means over equal stretches of iterations: more of them than pixels would
only blur.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from symseek.arrays import Floats
from symseek.errors import InputError
from symseek.loop import QUANTILES
from symseek.report import chart
from symseek.report.chart import BLUE, MUTED, ORANGE, REST, SERIES, Chart
from symseek.text import brief, count, shortened

if TYPE_CHECKING:
    from symseek.loop import Iteration

STRETCHES = 150  # drawn of a history
TREND = 24  # the same for shares, which are read for their trend
_MEANS = ("top of the batch (mean)", "whole batch (mean)")
_BANDS = ((0.05, 0.95, 0.18, "middle 90 %"), (0.25, 0.75, 0.32, "middle 50 %"))
_GRADED = "expressions graded"
_NOTHING = "The search recorded no iteration."


def curves(history: Sequence[Iteration]) -> Chart | str:
    """The best reward so far, and the means of each batch and of its best part."""
    if not history:
        return _NOTHING
    best = np.maximum.accumulate([n.best.reward if n.best else n.best_reward for n in history])
    graded = [now.expressions for now in history]
    means = np.array([(now.top_mean_reward, now.mean_reward) for now in _whole(history)])
    x, means = _stretches(history, means, STRETCHES)
    marks = [chart.Line(*_corners(graded, best), ORANGE, 2.4, "best so far", steps=True)]
    for column, label, color in zip(means.T, _MEANS, (BLUE, MUTED), strict=True):
        marks.append(chart.Line(x, column, color, label=label))
    title = f"The best reward reaches {brief(float(best[-1]), 4)}"
    return _picture(title, graded[-1], np.append(means, best), marks)


def rewards(history: Sequence[Iteration]) -> Chart | str:
    """How the rewards of a batch are distributed, and how that changes."""
    if not history:
        return _NOTHING
    quantiles = np.array([now.quantiles for now in _whole(history)])
    x, levels = _stretches(history, quantiles, STRETCHES)
    middle, low, high = (_at_quantile(each) for each in (0.5, 0.05, 0.95))
    first, last = (brief(float(value), 2) for value in levels[[0, -1], middle])
    change = f"stays at {first}" if first == last else f"goes from {first} to {last}"
    at, levels = (x, levels) if len(x) > 1 else _widened(x, levels)
    marks: list[chart.Mark] = []
    for one, other, opacity, label in _BANDS:
        edges = levels[:, _at_quantile(one)], levels[:, _at_quantile(other)]
        marks.append(chart.Area(at, *edges, BLUE, opacity, label))
    marks.append(chart.Line(at, levels[:, middle], BLUE, 2.0, "median"))
    marks.append(chart.Line(at, levels[:, -1], ORANGE, 1.4, "best of the batch"))
    title = f"The median reward {change}"
    return _picture(title, history[-1].expressions, levels[:, [low, high, -1]], marks)


def tokens(history: Sequence[Iteration], library_names: Sequence[str]) -> Chart | str:
    """The shares of the tokens that the search used most; the others are one grey area."""
    counts = np.array([now.tokens for now in _whole(history)], dtype=np.float64)
    if not counts.sum():
        return _NOTHING if not history else "The search sampled no token."
    if counts.shape[1] != len(library_names):
        raise InputError(
            f"the history counts {counts.shape[1]} tokens and there are {len(library_names)} names;"
            " give the names of the library that was searched"
        )
    x, totals = _stretches(history, counts, TREND)
    shares, names = _most_used(totals, library_names)
    title = _most_written(shares, names)
    if len(x) == 1:
        x, shares = _widened(x, shares)
    colors = [*SERIES[: len(names)], REST]
    tops = np.cumsum(shares, axis=1)
    marks: list[chart.Mark] = [
        chart.Area(x, tops[:, at] - shares[:, at], tops[:, at], color)
        for at, color in enumerate(colors)
    ]
    middles, last = tops[-1] - shares[-1] / 2, shares[-1]
    kept = [at for at in range(len(last)) if last[at] >= 0.005 or at < len(names)]
    texts = [[*names, "others"][at] for at in kept]
    places = apart(middles[kept])
    marks.append(
        chart.Names(texts, middles[kept].tolist(), places.tolist(), [colors[at] for at in kept])
    )
    across = chart.Axis(_GRADED, float(x[0]), float(x[-1]), grid=False, shown=count)
    up = chart.Axis(
        "share of the tokens", 0, 1, grid=False, shown=lambda value: f"{100 * value:.0f} %"
    )
    return Chart(title, across, up, marks)


def _picture(title: str, last: int, values: Floats, marks: Sequence[chart.Mark]) -> Chart:
    across = chart.Axis(_GRADED, 0, 1.005 * last, shown=count)
    return Chart(title, across, chart.Axis("reward", *_reward_limits(values)), marks)


def _most_written(shares: Floats, names: Sequence[str]) -> str:
    """The token with the largest share at the end, in words."""
    latest = int(np.argmax(shares[-1, : len(names)]))
    name, percent = shortened(names[latest], 24), 100 * shares[-1, latest]
    return f"Most written at the end: {name}, {percent:.0f} %"


def _whole(history: Sequence[Iteration]) -> Sequence[Iteration]:
    """The iterations without a last one whose batch the budget cut short: its means mislead."""
    if len(history) > 1 and _programs(history[-1]) < 0.9 * _programs(history[-2]):
        return history[:-1]
    return history


def _programs(now: Iteration) -> float:
    """The programs in a batch."""
    return sum(now.tokens) / now.mean_length if now.mean_length else 0.0


def _stretches(history: Sequence[Iteration], values: Floats, most: int) -> tuple[Floats, Floats]:
    """Means over at most `most` equal stretches: expressions at each one's end, values [., k]."""
    count = len(values)
    starts = np.unique(np.linspace(0, count, min(most, count), endpoint=False).astype(int))
    sizes = np.diff(np.append(starts, count))
    x = np.array([history[end].expressions for end in starts + sizes - 1], dtype=np.float64)
    return x, np.add.reduceat(values, starts, axis=0) / sizes[:, None]


def _corners(x: Sequence[int], rising: Floats) -> tuple[list[float], list[float]]:
    """A staircase without the points at which nothing changes."""
    kept = [i for i in range(len(x)) if i in (0, len(x) - 1) or rising[i] > rising[i - 1]]
    return [float(x[i]) for i in kept], [float(rising[i]) for i in kept]


def _widened(x: Floats, values: Floats) -> tuple[Floats, Floats]:
    """One iteration as a stretch from the beginning, so that areas have a width."""
    return np.append(0.0, x), np.repeat(values, 2, axis=0)


def _at_quantile(quantile: float) -> int:
    return int(np.argmin(np.abs(QUANTILES - quantile)))


def _reward_limits(values: Floats) -> tuple[float, float]:
    """From 0 to 1 where rewards keep to that, else what most of the values span."""
    finite = values[np.isfinite(values)]
    if not len(finite) or (finite.min() >= 0 and finite.max() <= 1):
        return 0.0, 1.03
    low, high = float(np.percentile(finite, 5)), float(finite.max())
    room = 0.05 * ((high - low) or 1.0)
    return low - room, high + room


def _most_used(totals: Floats, names: Sequence[str]) -> tuple[Floats, list[str]]:
    """Shares of the most used tokens, the most used first, and last the share of the others."""
    shares = totals / np.maximum(totals.sum(axis=1, keepdims=True), 1.0)
    order = np.argsort(-shares.mean(axis=0), kind="stable")[: len(SERIES)]
    chosen = shares[:, order]
    others = np.maximum(1 - chosen.sum(axis=1, keepdims=True), 0.0)
    return np.hstack([chosen, others]), [names[i] for i in order]


def apart(heights: Floats, gap: float = 0.052) -> Floats:
    """Rising heights moved as little as needed to be a gap apart and between 0 and 1."""
    moved = heights.copy()
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    top = 1 - gap / 2
    for i in range(len(moved) - 1, -1, -1):
        moved[i] = min(moved[i], top)
        top = moved[i] - gap
    return moved
