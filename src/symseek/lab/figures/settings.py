"""What each setting of a method does to its recovery."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from symseek.lab.figures import shared
from symseek.lab.figures.shared import Row
from symseek.report.plots import style
from symseek.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Mark: TypeAlias = tuple[str, Mapping[str, Any], str, int]  # its label, settings, color and size


def grid(rows: Iterable[Row]) -> Figure:
    """Draw a panel for each setting: the recovery of every combination, by the setting's value.

    A row is `{"settings": {"epsilon": 0.05, "batch_size": 500}, "recovered": 12, "runs": 20}`; a
    line joins the means of the values. The settings of the best row are marked, of equals the one
    with the lowest `nrmse` if rows have one; those of the row with `"chosen": True` as well.

    >>> row = {"settings": {"epsilon": 0.05}, "recovered": 12, "runs": 20}
    >>> [ax.get_xlabel() for ax in grid([row]).axes]
    ['epsilon']
    """
    rows = shared.checked(rows, "settings", "recovered", "runs")
    if not rows:
        return shared.empty()
    names = list(dict.fromkeys(name for row in rows for name in row["settings"]))
    best = max(rows, key=lambda row: (row["recovered"] / row["runs"], -(row.get("nrmse") or 0.0)))
    marks = [("the best", best["settings"], style.ORANGE, 13)]
    marks += [
        ("the paper's choice", row["settings"], style.INK, 19) for row in rows if row.get("chosen")
    ]
    figure, panels = shared.sheet((0.9 + 2.5 * len(names), 4.2), 1, len(names), sharey=True)
    for ax, name in zip(panels[0], names, strict=True):
        _setting(ax, name, [row for row in rows if name in row["settings"]], marks)
    panels[0, 0].set_ylabel("recovered runs", fontsize=style.LABEL, color=style.INK)
    shared.percents(panels[0, 0])
    shared.key(figure, shared.handles(panels[0]))
    rate = 100 * best["recovered"] / best["runs"]
    of = counted(len(rows), "combination")
    shared.head(figure, f"The best of {of} recovers {rate:.0f} %")
    return figure


def _setting(ax: Axes, name: str, rows: list[Row], marks: Iterable[Mark]) -> None:
    """Dots side by side within a value's column, so that equal rates are all seen."""
    style.dress(ax, "", name.replace("_", " "), "", grid="y")
    values = sorted({row["settings"][name] for row in rows})
    means = []
    for at, value in enumerate(values):
        own = [row for row in rows if row["settings"][name] == value]
        rates = np.sort([100 * row["recovered"] / row["runs"] for row in own])
        means.append(rates.mean())
        beside = np.linspace(-0.28, 0.28, len(rates)) if len(rates) > 1 else np.zeros(1)
        dots: dict[str, Any] = {
            "linestyle": "none",
            "marker": ".",
            "markersize": 6,
            "color": style.SKY,
        }
        ax.plot(at + beside, rates, label="one combination", **dots)
    ax.plot(means, color=style.BLUE, linewidth=2, marker="o", markersize=7, label="their mean")
    for label, settings, color, size in marks:
        if settings.get(name) not in values:
            continue
        at = values.index(settings[name])
        ring: dict[str, Any] = {"marker": "o", "markersize": size, "markerfacecolor": "none"}
        ring |= {"linestyle": "none", "markeredgewidth": 2, "color": color, "clip_on": False}
        ax.plot(at, means[at], label=label, zorder=5, **ring)
    ax.set_xticks(range(len(values)))
    ax.set_xticklabels([str(value) for value in values])
    ax.set_xlim(-0.5, len(values) - 0.5)
    ax.set_ylim(-3, 103)
