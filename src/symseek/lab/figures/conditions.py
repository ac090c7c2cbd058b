"""Recovery under changed conditions: without a part of the method, or with noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from symseek.lab.figures import shared
from symseek.lab.figures.shared import Floats, Row
from symseek.lab.reports.statistics import wilson
from symseek.report.plots import style
from symseek.text import brief, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def ablations(rows: Iterable[Row]) -> Figure:
    """Draw the recovery without each part of the method, in the order given.

    A row is `{"ablation": "No risk", "recovered": 700, "runs": 1200}`, the counts over all
    problems. The first row is the one the others are compared with.

    >>> rows = [{"ablation": "DSR", "recovered": 9, "runs": 10}]
    >>> [float(bar.get_width()) for bar in ablations(rows).axes[0].patches]
    [90.0]
    """
    rows = shared.checked(rows, "ablation", "recovered", "runs")
    if not rows:
        return shared.empty()
    figure, panels = shared.sheet((8.0, 1.5 + 0.42 * len(rows)))
    ax = panels[0, 0]
    rates = np.array([wilson(row["recovered"], row["runs"]) for row in rows]) * 100
    title, x = _ablation_title(rows, rates[:, 0]), "recovered runs, with the interval of 95 %"
    style.dress(ax, title, x, "", grid="x")
    colors = [style.ORANGE] + [style.SKY] * (len(rows) - 1)
    ax.barh(range(len(rows)), rates[:, 0], height=0.66, color=colors)
    reach = np.abs(rates[:, 1:].T - rates[:, 0])
    look: dict[str, Any] = {"fmt": "none", "ecolor": style.INK, "elinewidth": 1.2, "capsize": 3}
    ax.errorbar(rates[:, 0], range(len(rows)), xerr=reach, **look)
    ax.axvline(rates[0, 0], color=style.ORANGE, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    look = {"fontsize": style.TICK, "color": style.INK}
    paper = {"facecolor": style.PAPER, "edgecolor": "none", "pad": 1.5}  # over the dashed line
    for at, (rate, _, high) in enumerate(rates):
        ax.text(high + 1.5, at, f"{rate:.1f} %", va="center", bbox=paper, **look)
    ax.set_yticks(range(len(rows)))
    ax.set_yticklabels([style.drawable(shortened(str(row["ablation"]), 30)) for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 112)
    ax.set_xticks(range(0, 101, 20))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    ax.tick_params(axis="y", length=0)
    return figure


def _ablation_title(rows: list[Row], rates: Floats) -> str:
    if len(rows) == 1:
        return f"{rows[0]['ablation']} recovers {rates[0]:.1f} %"
    worst = 1 + int(np.argmin(rates[1:]))
    change = rates[worst] - rates[0]
    word = "costs most" if change < 0 else "costs nothing"
    points = f"{change:+.1f} points".replace("-", "−")
    return f"“{rows[worst]['ablation']}” {word}: {points}"


def noise(rows: Iterable[Row]) -> Figure:
    """Draw recovery against the noise on the data: a line a method, a panel an amount of data.

    A row is `{"method": "dsr", "level": 0.02, "data": 1, "recovered": 800, "runs": 1200}`, the
    counts over all problems; `level` in parts of the targets' root mean square, `data` how many
    times the usual points.

    >>> row = {"method": "dsr", "level": 0.0, "recovered": 9, "runs": 10}
    >>> [ax.get_title("left") for ax in noise([{**row, "data": k} for k in (1, 10)]).axes]
    ['the usual points', '10 times the points']
    """
    rows = shared.checked(rows, "method", "level", "data", "recovered", "runs")
    if not rows:
        return shared.empty()
    amounts = sorted({row["data"] for row in rows})
    figure, panels = shared.sheet((1.2 + 4.6 * len(amounts), 4.4), 1, len(amounts), sharey=True)
    for ax, amount in zip(panels[0], amounts, strict=True):
        title = "the usual points" if amount == 1 else f"{amount:g} times the points"
        style.dress(ax, title, "noise, in parts of the targets’ size", "")
        _lines(ax, [row for row in rows if row["data"] == amount], "level")
    panels[0, 0].set_ylabel("recovered runs", fontsize=style.LABEL, color=style.INK)
    shared.head(figure, _noise_title(rows, "level"))
    shared.key(figure, shared.handles(panels[0]))
    return figure


def reward_noise(rows: Iterable[Row]) -> Figure:
    """Draw recovery against the noise that is added to the rewards, a line a method.

    A row is `{"method": "pqt", "sigma": 0.5, "recovered": 40, "runs": 100}`, sigma the noise's
    standard deviation.

    >>> row = {"method": "dsr", "sigma": 0.0, "recovered": 9, "runs": 10}
    >>> len(reward_noise([row]).axes)
    1
    """
    rows = shared.checked(rows, "method", "sigma", "recovered", "runs")
    if not rows:
        return shared.empty()
    figure, panels = shared.sheet((7.0, 4.6))
    ax = panels[0, 0]
    style.dress(ax, "", "standard deviation of the noise on the rewards", "recovered runs")
    _lines(ax, rows, "sigma")
    shared.head(figure, _noise_title(rows, "sigma"))
    shared.key(figure, shared.handles([ax]))
    return figure


def _lines(ax: Axes, rows: list[Row], x: str) -> None:
    """A line a method, its intervals a little apart so that none hides another."""
    levels = sorted({float(row[x]) for row in rows})
    methods = shared.in_order(shared.distinct(rows, "method"))
    places = _places(ax, levels)
    step = 0.1 * float(min(np.diff(sorted(places.values())), default=0.0))
    for i, method in enumerate(methods):
        own = sorted((row for row in rows if row["method"] == method), key=lambda row: row[x])
        rates = np.array([wilson(row["recovered"], row["runs"]) for row in own]) * 100
        at = [places[float(row[x])] + step * (i - (len(methods) - 1) / 2) for row in own]
        reach = np.abs(rates[:, 1:].T - rates[:, 0])
        look: dict[str, Any] = {
            "marker": shared.MARKERS.get(method, "o"),
            "color": shared.color(method),
        }
        look |= {"linewidth": 2, "elinewidth": 1.1, "markersize": 6, "capsize": 2.5}
        ax.errorbar(at, rates[:, 0], reach, label=shared.label(method), **look)
    ax.set_ylim(-3, 103)
    shared.percents(ax)


def _places(ax: Axes, levels: list[float]) -> dict[float, float]:
    """Where each level stands: at its value, or evenly spaced where the values span decades."""
    positive = [level for level in levels if level > 0]
    if not positive or max(positive) < 20 * min(positive):
        ax.set_xticks(levels if len(levels) <= 7 else levels[:: math.ceil(len(levels) / 7)])
        ax.xaxis.set_major_formatter(lambda value, _: brief(value, 3))
        return {level: level for level in levels}
    ax.set_xticks(range(len(levels)))
    ax.set_xticklabels([brief(level, 2) for level in levels])
    return {level: float(i) for i, level in enumerate(levels)}


def _noise_title(rows: list[Row], x: str) -> str:
    """Who recovers most under the most noise, over the amounts of data together."""
    most = max(row[x] for row in rows)
    totals: dict[Any, tuple[int, int]] = {}
    for row in (row for row in rows if row[x] == most):
        k, n = totals.get(row["method"], (0, 0))
        totals[row["method"]] = k + row["recovered"], n + row["runs"]
    ranks = sorted(totals, key=lambda method: -totals[method][0] / totals[method][1])
    shown = [f"{shared.label(m)} {100 * totals[m][0] / totals[m][1]:.0f} %" for m in ranks[:2]]
    return f"Recovered under the most noise: {', '.join(shown)}"
