"""How the rewards of a batch move in training, with and without seeking risk."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symseek.lab.figures import shared
from symseek.lab.figures.shared import Floats, Row
from symseek.objectives import top_quantile
from symseek.report.plots import style
from symseek.text import brief, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BANDWIDTH = 0.25  # of the densities, in parts of the rewards' standard deviation
_NARROWEST = 1e-3  # a density's standard deviation where all rewards are equal
_TALLEST = 3.0  # a panel's height, in parts of its lowest peak


def density(rewards: Sequence[float] | Floats, at: Floats, bandwidth: float = BANDWIDTH) -> Floats:
    """A Gaussian kernel density of rewards at some places.

    The paper says "bandwidth 0.25" and no more. Rewards lie between 0 and 1, where kernels that
    wide would hide everything, so it is taken as SciPy takes it: in standard deviations.

    >>> density([0.2, 0.8], np.array([0.2, 0.5, 0.8])).round(2)
    array([1.88, 0.07, 1.88])
    """
    sample = np.asarray(rewards, dtype=np.float64)
    spread = float(sample.std(ddof=1)) if len(sample) > 1 else 0.0
    width = bandwidth * max(spread, _NARROWEST)
    # Equal rewards are counted once: a batch has many, above all of invalid expressions.
    values, counts = np.unique(sample, return_counts=True)
    kernels = np.exp(-0.5 * ((at[:, None] - values) / width) ** 2)
    return np.asarray(kernels @ counts / (len(sample) * width * math.sqrt(2 * math.pi)))


def distributions(data: Mapping[str, Row], title: str = "") -> Figure:
    """Draw how the rewards of a batch and of its best part move, and their means below.

    The data is `{name: {"epsilon": 0.05, "iterations": [I], "batches": [I][runs][N], "curve":
    {"iteration": [P], "mean": [P], "top": [P], "best": [P]}}}`, for "risk-seeking" and "standard":
    the rewards of whole batches at some iterations, and over all of them the mean reward, the mean
    of the top epsilon and the best so far, each averaged over the runs. A density is averaged over
    the runs too; a triangle is the mean at the last iteration. A peak that would leave the others
    no height, as of a batch whose best are all equal, leaves the panel at its top.

    >>> curve = {"iteration": [1, 2], "mean": [0.2, 0.3], "top": [0.5, 0.6], "best": [0.7, 0.8]}
    >>> course = {"epsilon": 0.5, "iterations": [1], "batches": [[[0.1, 0.4]]], "curve": curve}
    >>> [ax.get_title("left") for ax in distributions({"standard": course}).axes[:2]]
    ['Standard: the whole batch', 'Standard: its best 50 %']
    """
    if not data:
        return shared.empty()
    figure = shared.blank((10.5, 2.4 * len(data) + 4.2))
    places = figure.add_gridspec(len(data) + 1, 2, height_ratios=[1.0] * len(data) + [1.3])
    colors = [_objective_color(name, i) for i, name in enumerate(data)]
    for i, (name, course) in enumerate(data.items()):
        pair = [figure.add_subplot(places[i, j]) for j in range(2)]
        _densities(pair, name, course, colors[i])
    below = figure.add_subplot(places[len(data), :])
    style.dress(below, "Over training", "iteration", "reward")
    for color, (name, course) in zip(colors, data.items(), strict=True):
        _means(below, name, course["curve"], color)
    below.set_ylim(0, 1.03)
    below.margins(x=0.01)
    shared.key(figure, shared.handles([below]), columns=len(data))
    shared.head(figure, title or _distribution_title(data))
    return figure


_STAT_LINES = (
    ("best", "best so far", "-"),
    ("top", "mean of its best part", "--"),
    ("mean", "mean of the batch", ":"),
)


def _objective_color(name: str, at: int) -> str:
    known = {"risk-seeking": shared.COLORS["dsr"], "standard": shared.COLORS["vpg"]}
    return known.get(name, style.SERIES[at % len(style.SERIES)])


def _densities(pair: list[Axes], name: str, course: Row, color: str) -> None:
    """The whole batch and its best part, a curve an iteration, darker as training continues."""
    epsilon = float(course["epsilon"])
    titles = "the whole batch", f"its best {brief(100 * epsilon, 3)} %"
    whole = [[np.asarray(run, dtype=np.float64) for run in runs] for runs in course["batches"]]
    best = [[run[run >= top_quantile(run, epsilon)] for run in runs] for runs in whole]
    shades = _shades(color)
    for ax, title, batches in zip(pair, titles, (whole, best), strict=True):
        style.dress(ax, f"{name.capitalize()}: {title}", "reward", "density", grid="x")
        at, peaks = np.linspace(-0.02, 1.02, 521), []
        for i, runs in enumerate(batches):
            heights = np.mean([density(run, at) for run in runs], axis=0)
            peaks.append(float(heights.max()))
            shade = shades(0.2 + 0.8 * (i + 1) / len(batches))
            ax.plot(at, heights, color=shade, linewidth=1.3 + 0.7 * (i == len(batches) - 1))
        mean = float(np.mean([run.mean() for run in batches[-1]]))
        look: dict[str, Any] = {"marker": "v", "markersize": 10, "color": color, "clip_on": False}
        look |= {"markeredgecolor": style.PAPER, "zorder": 5}  # seen on peaks of its colour too
        ax.plot(mean, 0.96, transform=ax.get_xaxis_transform(), **look)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(0, 1.05 * min(max(peaks), _TALLEST * min(peaks)))
        ax.set_yticks([])
    _iteration_bar(pair[1], course["iterations"], shades)


def _shades(color: str) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shades", [style.PAPER, color])


def _iteration_bar(ax: Axes, iterations: Sequence[int], shades: Any) -> None:
    """A key beside the axes: which shade is which iteration."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    number = len(iterations)
    colors = ListedColormap([shades(0.2 + 0.8 * (i + 1) / number) for i in range(number)])
    steps = ScalarMappable(BoundaryNorm(np.arange(number + 1), number), colors)
    bar = ax.figure.colorbar(steps, ax=ax, ticks=np.arange(number) + 0.5, pad=0.02, aspect=14)
    bar.minorticks_off()
    bar.ax.set_yticklabels([count(iteration) for iteration in iterations])
    bar.ax.tick_params(length=0, labelsize=style.SMALL, labelcolor=style.INK)
    bar.set_label("iteration", fontsize=style.SMALL, color=style.INK)
    bar.outline.set_visible(False)


def _means(ax: Axes, name: str, curve: Row, color: str) -> None:
    marker = "o" if len(curve["iteration"]) == 1 else None
    for key, label, line in _STAT_LINES:
        look: dict[str, Any] = {"color": color, "linestyle": line, "marker": marker}
        ax.plot(curve["iteration"], curve[key], linewidth=2, label=f"{name}: {label}", **look)


def _distribution_title(data: Mapping[str, Row]) -> str:
    """The best rewards in the end."""
    shown = [f"{name} {brief(drawn['curve']['best'][-1], 3)}" for name, drawn in data.items()]
    return f"The best reward in the end: {', '.join(shown)}"
