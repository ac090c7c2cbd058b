"""Training curves: the best reward and the recovery against the expressions graded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symseek.errors import InputError
from symseek.lab.figures import shared
from symseek.lab.figures.shared import Row
from symseek.report.plots import style
from symseek.text import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = 6  # on a line, in other places than those of the other lines


def curves(
    data: Mapping[str, Mapping[str, Row]], show: Sequence[str] = ("reward", "recovery")
) -> Figure:
    """Draw the best reward so far and the share of runs that recovered, against expressions.

    The data is `{problem: {method: {"expressions": [P], "best": [[P], ...], "recovered_at":
    [...]}}}`: the best reward of each run at each of P counts of expressions, and for each run the
    expressions after which it had the formula, or None. The reward's line is the mean over the
    runs, its band the standard deviation.

    >>> curve = {"expressions": [1000, 2000], "best": [[0.5, 1.0]], "recovered_at": [1500]}
    >>> [ax.get_ylabel() for ax in curves({"Nguyen-1": {"dsr": curve}}).axes]
    ['best reward so far', 'recovered runs']
    """
    unknown = [each for each in show if each not in _LABELS]
    if unknown or not show:
        raise InputError(f"show is {list(show)}; give reward, recovery or both")
    data = {problem: methods for problem, methods in data.items() if methods}
    if not data:
        return shared.empty()
    columns = len(show) if len(data) == 1 else min(len(data), 4)
    rows = 1 if len(data) == 1 else math.ceil(len(data) / columns) * len(show)
    wide, high = (5.2, 3.6) if columns <= 2 else (3.4, 2.3)
    figure, panels = shared.sheet((0.8 + wide * columns, 1.3 + high * rows), rows, columns)
    used = _panels(panels, list(data), show)
    for (problem, what), ax in used.items():
        _panel(ax, problem, what, data[problem], crowded=columns > 2)
    for ax in set(panels.ravel()) - set(used.values()):
        ax.remove()  # the last row may be short
    shared.head(figure, _curves_title(data))
    shared.key(figure, shared.handles(list(used.values())))
    return figure


_LABELS = {"reward": "best reward so far", "recovery": "recovered runs"}


def _panels(panels: Any, problems: list[str], show: Sequence[str]) -> dict[tuple[str, str], Axes]:
    """Which panel has what: one problem's side by side, several problems' one above the other."""
    if len(problems) == 1:
        return {(problems[0], what): panels[0, i] for i, what in enumerate(show)}
    columns = panels.shape[1]
    return {
        (problem, what): panels[i // columns * len(show) + j, i % columns]
        for i, problem in enumerate(problems)
        for j, what in enumerate(show)
    }


def _panel(ax: Axes, problem: str, what: str, methods: Mapping[str, Row], crowded: bool) -> None:
    style.dress(ax, problem, "expressions", _LABELS[what])
    last = max(float(np.max(curve["expressions"])) for curve in methods.values())
    for i, method in enumerate(shared.in_order(methods)):
        after = (i + 1) / (len(methods) + 1)
        if what == "reward":
            _best_rewards(ax, method, methods[method], after)
        else:
            _recovered(ax, method, methods[method], last, after)
    ax.set_xlim(0, last)
    if what == "recovery":
        ax.set_ylim(-3, 103)
        shared.percents(ax)
    if crowded:
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set_fontsize(style.SMALL)
        ax.tick_params(labelsize=style.SMALL)
    ax.xaxis.set_major_formatter(lambda value, _: count(value))


def _best_rewards(ax: Axes, method: str, curve: Row, after: float) -> None:
    """The mean, its first mark `after` such a part of the way between two marks."""
    runs = np.array(curve["best"], dtype=np.float64)  # [runs, P]
    x, mean, spread = np.array(curve["expressions"]), runs.mean(axis=0), runs.std(axis=0)
    step = max(1, len(x) // MARKS)
    ax.plot(x, mean, markevery=(int(after * step), step), **_look(method))
    if len(runs) > 1:
        low, high = np.clip(mean - spread, 0, None), np.minimum(mean + spread, runs.max(axis=0))
        ax.fill_between(x, low, high, color=shared.color(method), alpha=0.15, linewidth=0)


def _recovered(ax: Axes, method: str, curve: Row, last: float, after: float) -> None:
    """A staircase that rises by one run at each recovery; marks as in `_best_rewards`."""
    runs = curve["recovered_at"]
    at = np.sort([float(when) for when in runs if when is not None])
    marks = last * (np.arange(MARKS) + after) / MARKS
    x = np.unique(np.concatenate([[0.0], at, marks, [last]]))
    share = 100 * np.searchsorted(at, x, side="right") / max(len(runs), 1)
    marked = np.flatnonzero(np.isin(x, marks)).tolist()
    ax.plot(x, share, markevery=marked, drawstyle="steps-post", **_look(method))


def _look(method: str) -> dict[str, Any]:
    """A line of a method's colour with its marks, so that colour is not the only difference."""
    marks = {"marker": shared.MARKERS.get(method, "o"), "markersize": 6}
    edge = {"markeredgecolor": style.PAPER, "markeredgewidth": 0.7}
    label, color = shared.label(method), shared.color(method)
    return {"label": label, "color": color, "linewidth": 1.8, **marks, **edge}


def _curves_title(data: Mapping[str, Mapping[str, Row]]) -> str:
    """What each method had recovered in the end, over all problems."""
    totals: dict[str, list[bool]] = {}
    for methods in data.values():
        for method, curve in methods.items():
            totals.setdefault(method, []).extend(
                when is not None for when in curve.get("recovered_at", ())
            )
    ranks = sorted((m for m in totals if totals[m]), key=lambda method: -np.mean(totals[method]))
    shown = [f"{shared.label(method)} {100 * np.mean(totals[method]):.0f} %" for method in ranks]
    return f"Recovered in the end: {', '.join(shown)}" if shown else "The best reward so far"
