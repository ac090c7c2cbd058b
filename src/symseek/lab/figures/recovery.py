"""Recovery by problem and method, ours beside the paper's: Table 1 as a picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from symseek.lab.figures import shared
from symseek.lab.figures.shared import Row
from symseek.lab.reports.statistics import wilson
from symseek.report.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BELOW = 0.75  # lines of room above the averages


def table1(rows: Iterable[Row]) -> Figure:
    """Draw a panel for each method and a line for each problem: our rate and the paper's.

    A row is `{"problem": "Nguyen-1", "method": "dsr", "recovered": 98, "runs": 100,
    "paper": 100.0}`. Without `runs` the method was not run here and only the paper's figure is
    drawn; `paper` may be missing or None. A method has an average where it has every problem.

    >>> row = {"problem": "Nguyen-7", "method": "dsr", "recovered": 4, "runs": 10, "paper": 35}
    >>> [ax.get_title("left") for ax in table1([row]).axes]
    ['DSR']
    """
    rows = shared.checked(rows, "problem", "method")
    if not rows:
        return shared.empty()
    problems, methods = shared.distinct(rows, "problem"), shared.distinct(rows, "method")
    size = (2.4 + 1.75 * len(methods), 2.4 + 0.33 * len(problems))
    figure, panels = shared.sheet(size, 1, len(methods), sharey=True)
    for ax, method in zip(panels[0], methods, strict=True):
        _panel(ax, problems, [row for row in rows if row["method"] == method])
    panels[0, 0].set_yticks([*range(len(problems)), len(problems) + _BELOW])
    panels[0, 0].set_yticklabels([*map(style.drawable, problems), "average"])
    panels[0, 0].get_yticklabels()[-1].set_fontweight("bold")
    shared.head(figure, _recovery_title(rows, methods, len(problems)))
    shared.key(figure, _recovery_marks(rows))
    return figure


def _panel(ax: Axes, problems: list[Any], rows: list[Row]) -> None:
    """One method: our rates with their intervals over the paper's, and both averages."""
    method = rows[0]["method"]
    style.dress(ax, shared.label(method), "", "", grid="x")
    last = len(problems) + _BELOW
    ax.axhline(last - 1.15, color=style.MUTED, linewidth=0.7)
    for row in rows:
        at = problems.index(row["problem"])
        if row.get("paper") is not None:
            _paper_mark(ax, row["paper"], at)
        if row.get("runs"):
            _our_mark(ax, row, at, shared.color(method))
    ours, paper = _averages(rows, len(problems))
    if paper is not None:
        _paper_mark(ax, paper, last)
        ax.text(_off(paper), last + 0.75, f"{paper:.1f}", color=shared.PUBLISHED, **shared.SMALL)
    if ours is not None:
        ax.plot(ours, last, marker="o", color=shared.color(method), markersize=7.5, clip_on=False)
        look = {"color": shared.color(method), "fontweight": "bold", **shared.SMALL}
        ax.text(_off(ours), last - 0.72, f"{ours:.1f}", **look)
    ax.set_xlim(-4, 104)
    ax.set_ylim(last + 1.15, -0.6)
    ax.set_xticks([0, 50, 100])
    ax.set_xticklabels(["0", "50", "100 %"])
    ax.tick_params(axis="y", length=0, pad=8)  # a mark at 0 reaches over the edge
    ax.spines["left"].set_visible(False)


def _off(rate: float) -> float:
    """Where a number beside a mark stays within the panel."""
    return min(max(rate, 8.0), 92.0)


def _our_mark(ax: Axes, row: Row, at: float, color: str) -> None:
    rate, low, high = (100 * bound for bound in wilson(row["recovered"], row["runs"]))
    ax.plot([low, high], [at, at], color=color, linewidth=2.2, alpha=0.45, zorder=3)
    ax.plot(rate, at, marker="o", color=color, markersize=6.5, zorder=4, clip_on=False)


def _paper_mark(ax: Axes, rate: float, at: float) -> None:
    """An open diamond, larger than our mark, so that both are seen where they agree."""
    look: dict[str, Any] = {"marker": "D", "markersize": 9.5, "markerfacecolor": "none"}
    ax.plot(rate, at, color=shared.PUBLISHED, markeredgewidth=1.2, zorder=5, clip_on=False, **look)


def _averages(rows: list[Row], problems: int) -> tuple[float | None, float | None]:
    """The means over all problems in percent, ours and the paper's, or None where one lacks."""
    ours = [100 * row["recovered"] / row["runs"] for row in rows if row.get("runs")]
    paper = [row["paper"] for row in rows if row.get("paper") is not None]
    means = [float(np.mean(rates)) if len(rates) == problems else None for rates in (ours, paper)]
    return means[0], means[1]


def _recovery_title(rows: list[Row], methods: list[Any], problems: int) -> str:
    """What our own methods recover on average, the best first."""
    ours = {m: _averages([r for r in rows if r["method"] == m], problems)[0] for m in methods}
    known = sorted(((v, m) for m, v in ours.items() if v is not None), key=lambda pair: -pair[0])
    if not known:
        return "Recovery by problem and method"
    return "Recovered on average: " + ", ".join(
        f"{shared.label(m)} {v:.1f} %" for v, m in known[:3]
    )


def _recovery_marks(rows: list[Row]) -> list[Any]:
    from matplotlib.lines import Line2D

    runs = sorted({row["runs"] for row in rows if row.get("runs")})
    counts = "–".join(str(count) for count in dict.fromkeys((runs[0], runs[-1]))) if runs else ""
    ours = Line2D([], [], color=style.INK, marker="o", markersize=6.5, linewidth=2.2)
    ours.set_label(f"ours, {counts} runs each, with the interval of 95 %")
    paper = Line2D([], [], color=shared.PUBLISHED, marker="D", markersize=8.5, linestyle="none")
    paper.set(markerfacecolor="none", label="the paper")
    return [ours, paper] if runs else [paper]
