"""Errors and recovery under several variants of a method, the paper's figures beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from symseek.lab.figures import shared
from symseek.lab.figures.shared import Row
from symseek.report.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = "os^vDPXd"
_SHADES = (style.ORANGE, style.GREEN, style.BLUE, style.INK)
_FLOOR = 1e-6  # zero has no logarithm: errors below this stand at the lower edge


def variants(data: Mapping[str, Any]) -> Figure:
    """Draw a panel for each part, a mark for each variant and problem, with its interval of 95 %.

    The data is a `title` and `rows`. A row is `{"panel": "Jin: mean error", "variant": "3
    constants", "problem": "Jin-1", "value": 1.4, "low": 1.1, "high": 1.7, "paper": 0.46}`, the
    value an error; one with `recovered` has a rate in percent.

    >>> row = {"panel": "Jin", "variant": "a", "problem": "Jin-1", "value": 1.4, "paper": 0.46}
    >>> figure = variants({"title": "Two settings", "rows": [row | {"low": 1.1, "high": 1.7}]})
    >>> [ax.get_yscale() for ax in figure.axes]
    ['log']
    """
    rows = shared.checked(
        data["rows"], "panel", "variant", "problem", "value", "low", "high", "paper"
    )
    if not rows:
        return shared.empty()
    parts = shared.distinct(rows, "panel")
    figure, panels = shared.sheet((1.0 + 5.6 * len(parts), 5.0), 1, len(parts))
    names = shared.distinct(rows, "variant")
    for ax, part in zip(panels[0], parts, strict=True):
        own = [row for row in rows if row["panel"] == part]
        style.dress(ax, part, "", "", "y")
        _draw(ax, own, names)
        if "recovered" in own[0]:
            ax.set_ylim(-4, 104)
            shared.percents(ax)
        else:
            ax.set_yscale("log")
    shared.head(figure, data["title"])
    shared.key(figure, shared.handles(panels[0]), columns=2)
    return figure


def _draw(ax: Axes, rows: Sequence[Row], names: Sequence[str]) -> None:
    """The marks of one panel, side by side for each problem, and the paper's figure as a bar."""
    problems, own = shared.distinct(rows, "problem"), shared.distinct(rows, "variant")
    for name in own:
        number, place = names.index(name), (own.index(name) + 0.5) / len(own) - 0.5
        look: dict[str, Any] = {"color": _SHADES[number // 2 % len(_SHADES)]}
        mark: dict[str, Any] = {"marker": _MARKS[number % len(_MARKS)], "linestyle": "none"}
        mark |= {"ms": 5.5, "mfc": look["color"] if number % 2 else "none"}
        ax.plot([], [], label=style.drawable(name), **mark, **look)
        for row in (row for row in rows if row["variant"] == name):
            _mark(ax, row, problems.index(row["problem"]) + 0.8 * place, mark, look)
    for place, problem in enumerate(problems):
        printed = next(row for row in rows if row["problem"] == problem)
        ends = [place - 0.42, place + 0.42]
        height = _height(printed, printed["paper"])
        label = "the paper's" if place == 0 else None
        ax.plot(ends, [height, height], color=style.MUTED, lw=2, label=label)
    ax.set_xticks(range(len(problems)), [style.drawable(each) for each in problems])


def _mark(ax: Axes, row: Row, at: float, mark: Mapping[str, Any], look: Mapping[str, Any]) -> None:
    if not math.isfinite(row["value"]):
        return
    ax.plot(at, _height(row, row["value"]), **mark, **look)
    if math.isfinite(row["high"]):
        ends = [_height(row, row["low"]), _height(row, row["high"])]
        ax.plot([at, at], ends, alpha=0.5, **look)


def _height(row: Row, value: float) -> float:
    return value if "recovered" in row else max(value, _FLOOR)
