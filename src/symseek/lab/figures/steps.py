"""Recovery and errors against the number of learning steps, the paper's figures beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from symseek.lab.figures import shared
from symseek.lab.figures.shared import Row
from symseek.report.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = "os^vDP"
_COLORS = (style.ORANGE, style.GREEN, style.BLUE, style.INK, "#AA3377", style.SKY)
_FLOOR = 1e-6  # zero has no logarithm: errors below this stand at the lower edge
_APART = 1.035  # marks of one number of steps stand side by side


def steps(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each group and a line for each problem; the paper's value is dashed.

    A row is `{"group": "Jin", "problem": "Jin-1", "steps": 1000, "value": 1.4, "low": 1.1, "high":
    1.7, "paper": 0.46, "strict": True, "stated": True, "limit": 3}`, the value an error; one with
    `recovered` has a rate in percent. Lines join the runs of the paper's budget; those of another
    budget are hollow marks.

    >>> row = {"group": "Jin", "problem": "Jin-1", "steps": 1000, "value": 1.4, "low": 1.1}
    >>> row |= {"high": 1.7, "paper": 0.46, "strict": True, "stated": True, "limit": 3}
    >>> [ax.get_yscale() for ax in steps([row]).axes]
    ['log']
    """
    needed = "group", "problem", "steps", "value", "low", "high", "paper", "strict", "stated"
    rows = [row for row in shared.checked(rows, *needed, "limit") if _drawn(row)]
    if not rows:
        return shared.empty()
    groups = shared.distinct(rows, "group")
    height, columns = math.ceil(len(groups) / 2), min(2, len(groups))
    figure, panels = shared.sheet((5.6 * columns, 4.4 * height), height, columns)
    for ax, group in zip(panels.flat, groups, strict=False):
        own = [row for row in rows if row["group"] == group]
        rates = "recovered" in own[0]
        measure = "recovered runs" if rates else "mean error on the test points"
        style.dress(ax, f"{group}: {measure}", "learning steps", "", "y")
        _draw(ax, own)
        ax.set_xscale("log", base=2)
        ticks = sorted({row["steps"] for row in own})
        ax.set_xticks(ticks, [f"{each:,}" for each in ticks])
        if rates:
            ax.set_ylim(-4, 104)
            shared.percents(ax)
        else:
            ax.set_yscale("log")
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 3}
        ax.legend(frameon=False, fontsize=style.SMALL, labelcolor=style.INK, **below)
    for ax in list(panels.flat)[len(groups) :]:
        ax.set_axis_off()
    shared.head(figure, "DSR against learning steps (dashed: the paper; hollow: another budget)")
    return figure


def _drawn(row: Row) -> bool:
    """Whether a row is in the picture: three constants at most, underflow as in the release."""
    return bool(row["strict"]) and row["limit"] in (0, 3) and math.isfinite(row["value"])


def _draw(ax: Axes, rows: Sequence[Row]) -> None:
    problems = shared.distinct(rows, "problem")
    for place, problem in enumerate(problems):
        own = [row for row in rows if row["problem"] == problem]
        color, apart = _COLORS[place % len(_COLORS)], _APART ** (place - (len(problems) - 1) / 2)
        look: dict[str, Any] = {"color": color, "marker": _MARKS[place % len(_MARKS)], "ms": 5.5}
        stated = sorted((row for row in own if row["stated"]), key=lambda row: int(row["steps"]))
        points = [(row["steps"] * apart, _height(row, row["value"])) for row in stated]
        ax.plot(*zip(*points or [(math.nan, math.nan)], strict=True), label=problem, **look)
        for row in own:
            at = row["steps"] * apart
            if not row["stated"]:
                ax.plot(at, _height(row, row["value"]), linestyle="none", mfc="none", **look)
            if math.isfinite(row["high"]):
                ends = [_height(row, row["low"]), _height(row, row["high"])]
                ax.plot([at, at], ends, color=color, alpha=0.35)
        printed = _height(own[0], own[0]["paper"])
        ax.axhline(printed, color=color, linestyle="--", lw=1, alpha=0.8)


def _height(row: Row, value: float) -> float:
    return float(value) if "recovered" in row else max(float(value), _FLOOR)
