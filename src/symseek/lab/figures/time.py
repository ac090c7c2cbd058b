"""How long a run takes, ours beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from symseek.lab.figures import shared
from symseek.lab.figures.shared import Row
from symseek.report.plots import style
from symseek.text import brief

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_APART = 0.07  # lines from the middle to a deviation: the paper's may reach as far as ours


def runtimes(rows: Iterable[Row]) -> Figure:
    """Draw the seconds of a run on a logarithmic scale, and how many times faster ours are.

    A row is `{"method": "dsr", "early": True, "seconds": 3.1, "deviation": 4.0, "paper": 483.0,
    "paper_deviation": 641.9}`: means, `early` for runs that stop at recovery. What is missing or
    None is not drawn; a deviation is a faint line, which ends with the panel below zero.

    >>> len(runtimes([{"method": "gp", "early": False, "seconds": 20.0, "paper": 1375.4}]).axes)
    1
    """
    rows = shared.checked(rows, "method", "early")
    if not rows:
        return shared.empty()
    kinds, methods = sorted({bool(row["early"]) for row in rows}), shared.distinct(rows, "method")
    size = (1.4 + 5.2 * len(kinds), 1.9 + 0.62 * len(methods))
    figure, panels = shared.sheet(size, 1, len(kinds), sharey=True, sharex=True)
    for ax, early in zip(panels[0], kinds, strict=True):
        title = "until recovery" if early else "all of the budget"
        style.dress(ax, title, "seconds on one core", "", grid="x")
        ax.set_xscale("log")
        for row in (row for row in rows if bool(row["early"]) == early):
            _time(ax, row, methods.index(row["method"]))
        ax.set_ylim(len(methods) - 0.4, -0.65)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    _seconds_axis(panels[0, 0], rows)
    panels[0, 0].set_yticks(range(len(methods)))
    panels[0, 0].set_yticklabels([shared.label(method) for method in methods])
    shared.head(figure, _time_title(rows))
    shared.key(figure, _time_marks())
    return figure


def _time(ax: Axes, row: Row, at: int) -> None:
    """A method's seconds, ours and the paper's, with a line between them and their ratio on it."""
    ours, paper, color = row.get("seconds"), row.get("paper"), shared.color(row["method"])
    if paper:
        _reach(ax, paper, row.get("paper_deviation"), at + _APART, shared.PUBLISHED)
        look: dict[str, Any] = {"marker": "D", "markersize": 8, "markerfacecolor": style.PAPER}
        ax.plot(paper, at, color=shared.PUBLISHED, markeredgewidth=1.3, zorder=4, **look)
    if ours:
        _reach(ax, ours, row.get("deviation"), at - _APART, color)
        ax.plot(ours, at, marker="o", markersize=8, color=color, zorder=5)
        text = f"{_short(ours)} s"
        ax.annotate(
            text, (ours, at), (0, -13), textcoords="offset points", color=color, **shared.SMALL
        )
    if ours and paper:
        ax.plot([ours, paper], [at, at], color=style.FAINT, linewidth=1.5, zorder=1)
        look = {"textcoords": "offset points", "color": style.INK, **shared.SMALL}
        ax.annotate(_ratio(paper / ours), (math.sqrt(ours * paper), at), (0, 9), **look)


def _ratio(times: float) -> str:
    """How many times faster, or slower.

    >>> _ratio(113.2), _ratio(8.26), _ratio(0.5)
    ('113 × faster', '8.3 × faster', '2 × slower')
    """
    return f"{_short(times)} × faster" if times >= 1 else f"{_short(1 / times)} × slower"


def _short(value: float) -> str:
    """Two digits, or all that stand before the point.

    >>> _short(1920.7), _short(0.0123), _short(4.0)
    ('1,921', '0.012', '4')
    """
    return f"{value:,.0f}" if value >= 10 else brief(value, 2)


def _reach(ax: Axes, seconds: float, deviation: float | None, at: float, color: str) -> None:
    if deviation:
        low = max(seconds - deviation, 1e-3 * seconds)
        look: dict[str, Any] = {"linewidth": 5, "alpha": 0.25, "solid_capstyle": "butt"}
        ax.plot([low, seconds + deviation], [at, at], color=color, zorder=2, **look)


def _seconds_axis(ax: Axes, rows: list[Row]) -> None:
    """Limits that hold every mean, with room for what is written beside them."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    known = [row.get(key) for row in rows for key in ("seconds", "paper")]
    seconds = [value for value in known if value]
    ax.set_xlim(min(seconds, default=1) / 2.5, max(seconds, default=1) * 2.5)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _time_title(rows: list[Row]) -> str:
    both = [row for row in rows if row.get("paper") and row.get("seconds")]
    ratios = [row["paper"] / row["seconds"] for row in both]
    if not ratios or min(ratios) < 1:
        return "Seconds of a run"
    ends = " to ".join(dict.fromkeys((_short(min(ratios)), _short(max(ratios)))))
    return f"A run takes {ends} times less time than the paper’s"


def _time_marks() -> list[Any]:
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"linestyle": "none", "markersize": 8}
    ours = Line2D([], [], color=style.INK, marker="o", label="ours, mean", **dot)
    paper = Line2D([], [], color=shared.PUBLISHED, marker="D", **dot)
    paper.set(markerfacecolor=style.PAPER, label="the paper, mean, on its own machine")
    band = Line2D([], [], color=style.MUTED, linewidth=5, alpha=0.3, label="± standard deviation")
    return [ours, paper, band]
