"""Draws a picture on Matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symseek.report import chart
from symseek.report.chart import Chart
from symseek.report.plots import style
from symseek.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MANY = 20_000  # rows beyond which points are counted in cells instead of drawn
_POINT = 0.75  # points of type in a pixel of the picture, as it is that wide here
# The background of words that may stand on points.
_PLATE: dict[str, Any] = {"facecolor": style.PAPER, "alpha": 0.85, "edgecolor": "none", "pad": 1.5}


def draw(picture: Chart | str, ax: Axes | None) -> Axes:
    """Draw it on the axes, or on a figure of its own."""
    ax = style.axes(ax)
    if isinstance(picture, str):
        return style.message(ax, picture)
    x, y = picture.x, picture.y
    style.dress(ax, picture.title, x.label, y.label, "x" * x.grid + "y" * y.grid)
    for name, scale in (("x", x), ("y", y)):
        _scale(ax, name, scale)
    for order, mark in enumerate(picture.marks):
        _draw(ax, mark, 2 + order / 100, picture)
    labelled = len(ax.get_legend_handles_labels()[1])
    if labelled:
        style.legend(ax, labelled)
    return ax


def _scale(ax: Axes, name: str, scale: chart.Axis) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    axis = getattr(ax, f"{name}axis")
    if scale.log:
        ax.set(**{f"{name}scale": "log"})
    ax.set(**{f"{name}lim": (scale.low, scale.high)})
    if scale.whole:
        axis.set_major_locator(MaxNLocator(integer=True))
    shown = scale.shown
    if shown is not None:
        axis.set_major_formatter(FuncFormatter(lambda value, _: shown(value)))
        axis.set_minor_locator(NullLocator())


def _draw(ax: Axes, mark: chart.Mark, order: float, picture: Chart) -> None:
    look: dict[str, Any] = {"zorder": order, "label": getattr(mark, "label", "") or None}
    match mark:
        case chart.Cloud():
            _cloud(ax, mark, look)
        case chart.Points():
            look |= {"s": (2 * _POINT * mark.radius) ** 2, "linewidth": 1.0}
            ax.scatter(mark.x, mark.y, color=mark.color, edgecolor=style.PAPER, **look)
        case chart.Tags():
            for x, y, text, color in zip(
                np.asarray(mark.x), np.asarray(mark.y), mark.texts, mark.colors, strict=True
            ):
                ax.annotate(text, (x, y), (5, 5), textcoords="offset points", color=color)
        case chart.Line():
            look |= {"color": mark.color, "linewidth": _POINT * mark.width * 1.2}
            look["linestyle"] = (0, (2, 4)) if mark.dashed else "-"
            look["drawstyle"] = "steps-post" if mark.steps else "default"
            ax.plot(mark.x, mark.y, marker="o" if np.size(mark.x) == 1 else None, **look)
        case chart.Area():
            look |= {"color": mark.color, "alpha": mark.opacity, "linewidth": 0}
            ax.fill_between(np.asarray(mark.x), mark.low, mark.high, **look)
        case chart.Words():
            place: dict[str, Any] = {"ha": "right" if mark.right else "left", "zorder": 6}
            style.note(ax, mark.text, mark.x, mark.y, color=mark.color, bbox=_PLATE, **place)
        case chart.Bars():
            side = ax.inset_axes((1.02, 0, 0.14, 1), sharey=ax)
            edges = np.linspace(picture.y.low, picture.y.high, len(mark.counts) + 1)
            bars: dict[str, Any] = {"align": "edge", "color": mark.color, "alpha": 0.6}
            side.barh(edges[:-1], mark.counts, height=np.diff(edges), **bars)
            side.set_axis_off()
        case chart.Names():
            _names(ax, mark)


def _cloud(ax: Axes, mark: chart.Cloud, look: dict[str, Any]) -> None:
    """Points, or for many rows the number of them in small cells."""
    if len(mark.x) <= _MANY:
        area, alpha = (18, 0.6) if len(mark.x) <= 2000 else (6, 0.25)
        ax.scatter(mark.x, mark.y, s=area * mark.size, color=mark.color, alpha=alpha, lw=0, **look)
        return
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("counts", ["#CFE3EF", mark.color, style.INK])
    cells: dict[str, Any] = {"gridsize": 70, "bins": "log", "mincnt": 1, "linewidths": 0.1}
    ax.hexbin(mark.x, mark.y, cmap=shades, zorder=look["zorder"], **cells)


def _names(ax: Axes, mark: chart.Names) -> None:
    for text, height, place, color in zip(
        mark.texts, mark.heights, mark.places, mark.colors, strict=True
    ):
        line = {"arrowstyle": "-", "color": color, "linewidth": 2.0, "relpos": (0, 0.5)}
        ax.annotate(
            style.drawable(shortened(text, 16)),
            (1.0, height),
            xytext=(1.035, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=style.SMALL,
            color=style.ink(ax),
            va="center",
            parse_math=False,
            arrowprops={**line, "shrinkA": 2, "shrinkB": 0},
        )
