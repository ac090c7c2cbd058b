"""Solved problems against noise, ours beside what others have published."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from symseek.lab.figures import shared
from symseek.lab.figures.shared import Row
from symseek.report.plots import style
from symseek.text import brief

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OURS = ((style.ORANGE, "o", "-"), (style.INK, "v", (0, (4, 2))))
_THEIRS = (style.BLUE, style.GREEN, style.SKY, "#AA3377", style.MUTED)
_MARKS = "sD^P*Xh<>"


def srbench(rows: Iterable[Row]) -> Figure:
    """Draw the rates by noise, a line a system: ours with their intervals, others thin.

    A row is `{"system": "PySR", "level": 0.01, "rate": 54.7, "ours": False}`, the rate in percent;
    a row of ours has the ends of its interval, `low` and `high`, as well.

    >>> row = {"system": "PySR", "level": 0.0, "rate": 65.9, "ours": False}
    >>> [line.get_label() for line in srbench([row]).axes[0].get_lines()]
    ['PySR']
    """
    rows = shared.checked(rows, "system", "level", "rate", "ours")
    if not rows:
        return shared.empty()
    figure, panels = shared.sheet((8.4, 5.2))
    ax = panels[0, 0]
    noise = "noise on the target, over its root mean square"
    style.dress(ax, "", noise, "problems, in percent of the runs")
    levels = sorted({float(row["level"]) for row in rows})
    places = {level: at for at, level in enumerate(levels)}
    ours = shared.distinct((row for row in rows if row["ours"]), "system")
    theirs = shared.distinct((row for row in rows if not row["ours"]), "system")
    for at, system in enumerate(theirs):
        mark = {"color": _THEIRS[at % len(_THEIRS)], "marker": _MARKS[at % len(_MARKS)]}
        _line(ax, system, rows, places, linewidth=1.1, markersize=5, alpha=0.9, **mark)
    for at, system in enumerate(ours):
        color, marker, dashes = _OURS[at % len(_OURS)]
        look: dict[str, Any] = {"color": color, "marker": marker, "linestyle": dashes}
        _line(ax, system, rows, places, linewidth=2.6, markersize=8, zorder=5, **look)
    ax.set_xticks(range(len(levels)))
    ax.set_xticklabels([brief(level, 2) for level in levels])
    ax.set_ylim(-3, 103)
    shared.percents(ax)
    shared.head(figure, "Formulas found on SRBench’s problems, by noise")
    shared.key(figure, shared.handles([ax]), columns=4)
    return figure


def _line(ax: Axes, system: str, rows: list[Row], places: dict[float, int], **look: Any) -> None:
    """The line of one system, with intervals where its rows have them."""
    own = sorted((row for row in rows if row["system"] == system), key=lambda row: row["level"])
    at = [places[float(row["level"])] for row in own]
    rates = [float(row["rate"]) for row in own]
    ax.plot(at, rates, label=style.drawable(system), **look)
    if all("low" in row and "high" in row for row in own):
        reach = np.abs([[row["rate"] - row["low"], row["high"] - row["rate"]] for row in own]).T
        ax.errorbar(at, rates, reach, fmt="none", ecolor=look["color"], elinewidth=1.1, capsize=3)
