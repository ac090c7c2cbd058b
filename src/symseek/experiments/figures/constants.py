"""Figures with constants under several settings, the paper's beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from symseek.experiments.figures import shared
from symseek.experiments.figures.errors import EXACT
from symseek.experiments.figures.shared import Row
from symseek.report.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["constants"]

_MARKS = "os^vDPXd"
_SHADES = (style.ORANGE, style.GREEN, style.BLUE, style.INK)


def constants(rows: Iterable[Row]) -> Figure:
    """Draw a panel for the errors and one for the recovery, a mark for each setting.

    A row is `{"condition": "3 constants", "problem": "Jin-1", "value": 1.4, "low": 1.1, "high":
    1.7, "paper": 0.46}`, the value an error; one with `recovered` has a rate in percent.

    >>> row = {"condition": "a", "problem": "Jin-1", "value": 1.4, "low": 1.1, "high": 1.7}
    >>> [ax.get_yscale() for ax in constants([row | {"paper": 0.46}]).axes]
    ['log']
    """
    rows = shared.checked(rows, "condition", "problem", "value", "low", "high", "paper")
    if not rows:
        return shared.empty()
    kinds = [kind for kind in (False, True) if any(("recovered" in row) == kind for row in rows)]
    figure, panels = shared.sheet((1.0 + 5.6 * len(kinds), 4.8), 1, len(kinds))
    names = shared.distinct(rows, "condition")
    for ax, rates in zip(panels[0], kinds, strict=True):
        title = "recovered runs" if rates else "mean error on the test points"
        style.dress(ax, title, "", "", "y")
        _marks(ax, [row for row in rows if ("recovered" in row) == rates], names)
        if rates:
            ax.set_ylim(-4, 104)
            shared.percents(ax)
        else:
            ax.set_yscale("log")
    shared.head(figure, "DSR with constants: settings that may have been the paper's")
    shared.key(figure, shared.handles(panels[0]), columns=3)
    return figure


def _marks(ax: Axes, rows: Sequence[Row], names: Sequence[str]) -> None:
    problems = shared.distinct(rows, "problem")
    for i, name in enumerate(names):
        look: dict[str, Any] = {"color": _SHADES[i // 2 % len(_SHADES)]}
        mark: dict[str, Any] = {"marker": _MARKS[i % len(_MARKS)], "ms": 5.5, "linestyle": "none"}
        filled = look["color"] if i % 2 else "none"
        ax.plot([], [], label=style.drawable(name), mfc=filled, **mark, **look)
        for row in (row for row in rows if row["condition"] == name):
            at = problems.index(row["problem"]) + 0.8 * ((i + 0.5) / len(names) - 0.5)
            if not math.isfinite(row["value"]):
                continue
            ax.plot(at, _place(row, row["value"]), mfc=filled, **mark, **look)
            if math.isfinite(row["high"]):
                ends = [_place(row, row["low"]), _place(row, row["high"])]
                ax.plot([at, at], ends, alpha=0.5, **look)
    for place, problem in enumerate(problems):
        row = next(row for row in rows if row["problem"] == problem)
        label = "the paper's" if place == 0 else None
        ends = [place - 0.42, place + 0.42]
        ax.plot(ends, 2 * [_place(row, row["paper"])], color=style.MUTED, lw=2, label=label)
    ax.set_xticks(range(len(problems)), [style.drawable(each) for each in problems])


def _place(row: Row, value: float) -> float:
    """Zero has no logarithm: an error below rounding stands at the lower edge."""
    return value if "recovered" in row else max(value, EXACT)
