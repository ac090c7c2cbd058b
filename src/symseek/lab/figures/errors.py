"""Errors on the test points, ours beside the paper's, on a logarithmic scale.

Zero has no logarithm, and an error below that of rounding means nothing: all of these stand on one
line at the left edge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from symseek.lab.figures import shared
from symseek.report.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXACT = 1e-12  # an error of rounding
_MEASURE = "error on the test points"


def errors(rows: Sequence[Any]) -> Figure:
    """Draw a line for each problem and a mark for each method, with its interval of 95 %.

    A row is `{"problem": "Jin-1", "method": "dsr", "label": "DSR", "value": 0.5, "low": 0.3,
    "high": 0.7, "paper": 0.46}`; `value` is None for what was not run here, `paper` for what the
    paper does not have. Rows may say what the error is, as `"measure": "log(1 + MSE)"`.

    >>> row = {"problem": "Jin-1", "method": "dsr", "label": "DSR", "value": 0.5}
    >>> len(errors([{**row, "low": 0.0, "high": 0.7, "paper": 0.46}]).axes)
    1
    """
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    methods = {row["label"]: row["method"] for row in rows}
    size = (7.5, 1.8 + 0.3 * len(problems) * max(2, len(methods) / 2))
    ax = style.axes(None, size)
    measure = next((row["measure"] for row in rows if "measure" in row), _MEASURE)
    style.dress(ax, "Errors, exact ones at the left edge", measure, "", "x")
    ax.set_xscale("log")
    for i, (label, method) in enumerate(methods.items()):
        color, marker = shared.color(method), shared.MARKERS.get(method, "X")
        for row in (row for row in rows if row["label"] == label):
            at = problems.index(row["problem"]) + 0.7 * ((i + 0.5) / len(methods) - 0.5)
            _mark(ax, row, at, color, marker)
        ax.plot([], [], marker=marker, linestyle="none", color=color, label=label)
    ax.plot(
        [], [], marker="o", linestyle="none", color=style.MUTED, mfc="none", label="the paper's"
    )
    ax.set_yticks(range(len(problems)), [style.drawable(each) for each in problems])
    ax.set_ylim(len(problems) - 0.4, -0.6)
    ax.set_xlim(left=EXACT / 2)
    ax.legend(frameon=False, fontsize=style.SMALL, loc="upper left", bbox_to_anchor=(1, 1))
    figure: Figure = ax.figure  # type: ignore[assignment]  # made here, so no part of another
    return figure


def _mark(ax: Axes, row: Any, at: float, color: str, marker: str) -> None:
    """What was measured as a full mark, what the paper has as an open one."""
    if row["paper"] is not None:
        ax.plot(_place(row["paper"]), at, marker=marker, color=color, mfc="none", ms=9)
    if row["value"] is None or not math.isfinite(row["value"]):
        return
    ax.plot(_place(row["value"]), at, marker=marker, color=color, ms=5.5)
    if row["low"] is not None and math.isfinite(row["high"]):
        ax.plot([_place(row["low"]), _place(row["high"])], [at, at], color=color, alpha=0.5)


def _place(value: float) -> float:
    return max(value, EXACT)
