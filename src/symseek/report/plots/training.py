"""How a search went: its rewards and the tokens it wrote, against the expressions graded.

A long history is drawn as means over equal stretches of iterations: more of them than pixels would
only blur.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symseek.arrays import Floats
from symseek.errors import InputError
from symseek.loop import QUANTILES
from symseek.report.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symseek.loop import Iteration

__all__ = [
    "BANDS",
    "GRADED",
    "MEANS",
    "STRETCHES",
    "TREND",
    "apart",
    "at_quantile",
    "corners",
    "curves",
    "most_used",
    "most_written",
    "reward_limits",
    "rewards",
    "stretches",
    "tokens",
    "whole",
    "widened",
]

GRADED = "expressions graded"
_NOTHING = "The search recorded no iteration."
MEANS = ("top of the batch (mean)", "whole batch (mean)")
STRETCHES = 150  # drawn of a history
TREND = 24  # the same for shares, which are read for their trend
BANDS = ((0.05, 0.95, 0.18, "middle 90 %"), (0.25, 0.75, 0.32, "middle 50 %"))


def curves(history: Sequence[Iteration], ax: Axes | None = None) -> Axes:
    """Draw the best reward so far, and the means of each batch and of its best part."""
    ax = style.axes(ax)
    if not history:
        return style.message(ax, _NOTHING)
    best = np.maximum.accumulate([n.best.reward if n.best else n.best_reward for n in history])
    graded = [now.expressions for now in history]
    means = np.array([(now.top_mean_reward, now.mean_reward) for now in whole(history)])
    x, means = stretches(history, means, STRETCHES)
    style.dress(ax, f"The best reward reaches {style.brief(float(best[-1]), 4)}", GRADED, "reward")
    marker = "o" if len(x) == 1 else None
    look: dict[str, Any] = {"drawstyle": "steps-post", "marker": marker, "label": "best so far"}
    ax.plot(*corners(graded, best), color=style.ORANGE, linewidth=2.2, **look)
    for column, label, color in zip(means.T, MEANS, (style.BLUE, style.MUTED), strict=True):
        ax.plot(x, column, color=color, linewidth=1.3, label=label, marker=marker)
    _frame(ax, graded[-1], np.append(means, best))
    style.legend(ax, 3)
    return ax


def rewards(history: Sequence[Iteration], ax: Axes | None = None) -> Axes:
    """Draw how the rewards of a batch are distributed, and how that changes."""
    ax = style.axes(ax)
    if not history:
        return style.message(ax, _NOTHING)
    quantiles = np.array([now.quantiles for now in whole(history)])
    x, quantiles = stretches(history, quantiles, STRETCHES)
    median = quantiles[:, at_quantile(0.5)]
    first, last = (style.brief(float(value), 2) for value in median[[0, -1]])
    change = f"stays at {first}" if first == last else f"goes from {first} to {last}"
    style.dress(ax, f"The median reward {change}", GRADED, "reward")
    at, levels = (x, quantiles) if len(x) > 1 else widened(x, quantiles)
    for low, high, alpha, label in BANDS:
        edges = levels[:, at_quantile(low)], levels[:, at_quantile(high)]
        ax.fill_between(at, *edges, color=style.BLUE, alpha=alpha, linewidth=0, label=label)
    ax.plot(at, levels[:, at_quantile(0.5)], color=style.BLUE, linewidth=1.8, label="median")
    ax.plot(at, levels[:, -1], color=style.ORANGE, linewidth=1.2, label="best of the batch")
    _frame(ax, history[-1].expressions, levels[:, [at_quantile(0.05), at_quantile(0.95), -1]])
    style.legend(ax, 4)
    return ax


def tokens(
    history: Sequence[Iteration], library_names: Sequence[str], ax: Axes | None = None
) -> Axes:
    """Draw the shares of the tokens that the search used most; the others are one grey area."""
    ax = style.axes(ax)
    counts = np.array([now.tokens for now in whole(history)], dtype=np.float64)
    if not counts.sum():
        return style.message(ax, _NOTHING if not history else "The search sampled no token.")
    if counts.shape[1] != len(library_names):
        raise InputError(
            f"the history counts {counts.shape[1]} tokens and there are {len(library_names)} names;"
            " give the names of the library that was searched"
        )
    x, totals = stretches(history, counts, TREND)
    shares, names = most_used(totals, library_names)
    style.dress(ax, most_written(shares, names), GRADED, "share of the tokens", grid="none")
    if len(x) == 1:
        x, shares = widened(x, shares)
    colors = [*style.SERIES[: len(names)], style.REST]
    ax.stackplot(x, shares.T, colors=colors, edgecolor=style.PAPER, linewidth=0.6)
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(0, 1)
    _percent(ax)
    _name_areas(ax, shares[-1], [*names, "others"], colors)
    return ax


def most_written(shares: Floats, names: Sequence[str]) -> str:
    """The token with the largest share at the end, in words."""
    latest = int(np.argmax(shares[-1, : len(names)]))
    name, percent = style.shortened(names[latest], 24), 100 * shares[-1, latest]
    return f"Most written at the end: {name}, {percent:.0f} %"


def whole(history: Sequence[Iteration]) -> Sequence[Iteration]:
    """The iterations without a last one whose batch the budget cut short: its means mislead."""
    if len(history) > 1 and _programs(history[-1]) < 0.9 * _programs(history[-2]):
        return history[:-1]
    return history


def _programs(now: Iteration) -> float:
    """The programs in a batch."""
    return sum(now.tokens) / now.mean_length if now.mean_length else 0.0


def stretches(history: Sequence[Iteration], values: Floats, most: int) -> tuple[Floats, Floats]:
    """Means over at most `most` equal stretches: expressions at each one's end, values [., k]."""
    count = len(values)
    starts = np.unique(np.linspace(0, count, min(most, count), endpoint=False).astype(int))
    sizes = np.diff(np.append(starts, count))
    x = np.array([history[end].expressions for end in starts + sizes - 1], dtype=np.float64)
    return x, np.add.reduceat(values, starts, axis=0) / sizes[:, None]


def corners(x: Sequence[int], rising: Floats) -> tuple[list[float], list[float]]:
    """A staircase without the points at which nothing changes."""
    kept = [i for i in range(len(x)) if i in (0, len(x) - 1) or rising[i] > rising[i - 1]]
    return [float(x[i]) for i in kept], [float(rising[i]) for i in kept]


def widened(x: Floats, values: Floats) -> tuple[Floats, Floats]:
    """One iteration as a stretch from the beginning, so that areas have a width."""
    return np.append(0.0, x), np.repeat(values, 2, axis=0)


def at_quantile(quantile: float) -> int:
    return int(np.argmin(np.abs(QUANTILES - quantile)))


def _frame(ax: Axes, last: float, values: Floats) -> None:
    ax.set_ylim(*reward_limits(values))
    ax.set_xlim(0, 1.005 * last)
    _thousands(ax)


def reward_limits(values: Floats) -> tuple[float, float]:
    """From 0 to 1 where rewards keep to that, else what most of the values span."""
    finite = values[np.isfinite(values)]
    if not len(finite) or (finite.min() >= 0 and finite.max() <= 1):
        return 0.0, 1.03
    low, high = float(np.percentile(finite, 5)), float(finite.max())
    room = 0.05 * ((high - low) or 1.0)
    return low - room, high + room


def _thousands(ax: Axes) -> None:
    from matplotlib.ticker import FuncFormatter

    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.count(value)))


def _percent(ax: Axes) -> None:
    from matplotlib.ticker import PercentFormatter

    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    _thousands(ax)


def most_used(totals: Floats, names: Sequence[str]) -> tuple[Floats, list[str]]:
    """Shares of the most used tokens, the most used first, and last the share of the others."""
    shares = totals / np.maximum(totals.sum(axis=1, keepdims=True), 1.0)
    order = np.argsort(-shares.mean(axis=0), kind="stable")[: len(style.SERIES)]
    chosen = shares[:, order]
    others = np.maximum(1 - chosen.sum(axis=1, keepdims=True), 0.0)
    return np.hstack([chosen, others]), [names[i] for i in order]


def _name_areas(ax: Axes, shares: Floats, names: list[str], colors: list[str]) -> None:
    """Names beside the right ends of the areas, those of thin areas moved apart."""
    middles = np.cumsum(shares) - shares / 2
    kept = [i for i, share in enumerate(shares) if share >= 0.005 or names[i] != "others"]
    for i, height in zip(kept, apart(middles[kept]), strict=True):
        text = style.drawable(style.shortened(names[i], 16))
        line = {"arrowstyle": "-", "color": colors[i], "linewidth": 2.0, "relpos": (0, 0.5)}
        ax.annotate(
            text,
            (1.0, middles[i]),
            xytext=(1.035, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=style.SMALL,
            color=style.ink(ax),
            va="center",
            parse_math=False,
            arrowprops={**line, "shrinkA": 2, "shrinkB": 0},
        )


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
