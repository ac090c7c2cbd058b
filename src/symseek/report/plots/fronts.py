"""The Pareto front: error against complexity, and the picked formula."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symseek.algebra.typeset import readable
from symseek.report.plots import style
from symseek.report.plots.labels import Place, Places, formula_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symseek.model import Model

__all__ = ["EXACT", "SPAN", "front", "title"]

EXACT = 1e-12  # errors below this part of the spread of y are rounding
SPAN = 10.0  # a front whose errors differ by more is read on a logarithmic scale
_KNEES = 4  # formulas named, in addition to the picked one
_KNEE = 1.12  # a knee divides the error by at least this
_NEXT_TO = 12.0  # points of type within which a label needs no line to its point
_LONGEST = 90  # characters of a formula that is still typeset


def front(model: Model, ax: Axes | None = None) -> Axes:
    """Draw error against complexity, with the picked formula and the steepest steps named.

    Rows without a finite error are left out. On a logarithmic scale errors of zero stand on a line
    of their own, labelled 0.
    """
    ax = style.axes(ax)
    rows = [i for i, each in enumerate(model.formulas) if math.isfinite(each.nrmse)]
    if not rows:
        return style.message(ax, "There is no formula with a finite error.")
    sizes = np.array([model.formulas[i].complexity for i in rows], dtype=np.float64)
    errors = errors_of(model, rows)
    style.dress(ax, title(model, len(rows)), "complexity", "error (NRMSE)", grid="y")
    shown = _scale(ax, errors)
    _limits(ax, sizes)
    _draw(ax, sizes, shown, rows.index(model.picked) if model.picked in rows else None)
    _name(ax, model, rows, sizes, shown)
    return ax


def errors_of(model: Model, rows: list[int]) -> NDArray[np.float64]:
    """The errors of some rows; those of exact formulas are rounding, and none."""
    formulas = [model.formulas[row] for row in rows]
    return np.array([0.0 if each.exact or each.nrmse < EXACT else each.nrmse for each in formulas])


def title(model: Model, count: int) -> str:
    best = model.best
    error = "no error" if best.nrmse < EXACT else f"NRMSE {style.brief(best.nrmse, 2)}"
    error = "exact" if best.exact else error
    return f"Picked of {style.counted(count, 'formula')}: complexity {best.complexity}, {error}"


def _scale(ax: Axes, errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Choose the scale of the errors; returns where on it each one stands."""
    positive = errors[errors > 0]
    if not len(positive) or errors.max() / errors.min(initial=np.inf, where=errors > 0) < SPAN:
        top = errors.max(initial=0.0)
        ax.set_ylim(-0.04 * top if top else -0.05, 1.15 * top if top else 1.0)
        return errors
    ax.set_yscale("log")
    low, high = math.log10(positive.min()), math.log10(positive.max())
    room = 0.12 * max(high - low, 1)
    if len(positive) == len(errors):
        ax.set_ylim(10 ** (low - room), 10 ** (high + room))
        return errors
    return _with_zero(ax, errors, low, high + room)


def _with_zero(
    ax: Axes, errors: NDArray[np.float64], low: float, high: float
) -> NDArray[np.float64]:
    """A line below all others on which errors of zero stand, its tick labelled 0."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogFormatterSciNotation

    lowest = math.floor(low)
    zero = 10.0 ** (lowest - 1)
    ax.set_ylim(zero / 10**0.3, 10**high)
    usual = LogFormatterSciNotation()
    usual.set_axis(ax.yaxis)
    ax.yaxis.set_major_formatter(
        FuncFormatter(lambda value, at: "0" if value <= zero * 1.001 else usual(value, at))
    )
    between = [k * 10.0**decade for decade in range(lowest, 9) for k in range(2, 10)]
    ax.yaxis.set_minor_locator(FixedLocator(between))
    ax.axhline(zero * 10**0.5, color=style.MUTED, linewidth=0.7, linestyle=(0, (2, 4)))
    return np.maximum(errors, zero)


def _limits(ax: Axes, sizes: NDArray[np.float64]) -> None:
    from matplotlib.ticker import MaxNLocator

    room = max(1.0, 0.05 * (sizes[-1] - sizes[0]))
    ax.set_xlim(sizes[0] - room, sizes[-1] + room)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw(
    ax: Axes, sizes: NDArray[np.float64], errors: NDArray[np.float64], picked: int | None
) -> None:
    ax.step(sizes, errors, where="post", color=style.BLUE, linewidth=1.2, alpha=0.55, zorder=2)
    rim: dict[str, Any] = {"linewidth": 1.0, "edgecolor": style.PAPER}
    ax.scatter(sizes, errors, s=38, color=style.BLUE, label="on the front", zorder=3, **rim)
    if picked is not None:
        x, y = sizes[picked], errors[picked]
        ax.scatter(x, y, s=110, color=style.ORANGE, label="picked", zorder=4, **rim)


def _knees(model: Model, errors: NDArray[np.float64], rows: list[int]) -> list[int]:
    """Which points to name, the most important first: the picked one, then the steepest steps."""
    before = np.append(max(1.0, errors[0]), errors[:-1])
    drops = before / np.maximum(errors, EXACT)
    steep = [int(i) for i in np.argsort(-drops, kind="stable") if drops[i] >= _KNEE]
    picked = [rows.index(model.picked)] if model.picked in rows else []
    return picked + [i for i in steep if i not in picked][:_KNEES]


def _name(
    ax: Axes, model: Model, rows: list[int], sizes: NDArray[np.float64], errors: NDArray[np.float64]
) -> None:
    """Write formulas beside their points."""
    places = Places.inside(ax)
    points = ax.transData.transform(np.column_stack([sizes, errors]))
    corners = np.repeat(points, 2, axis=0)
    corners[1:-1:2, 0] = corners[2::2, 0]  # the line runs right first, then down
    places.block_line(corners)
    places.block_points(points, 5.0)
    for point in _knees(model, errors, rows):
        picked = rows[point] == model.picked
        _label(ax, places, model, rows[point], points[point], picked)


def _label(
    ax: Axes, places: Places, model: Model, row: int, point: NDArray[np.float64], picked: bool
) -> None:
    program = readable(model.formulas[row], digits=4 if picked else 3)
    size, widest = (style.TICK + 1, 0.95) if picked else (style.SMALL, 0.5)
    for longest in (_LONGEST, 60, 45, 30, 15):
        text, math_mode = formula_text(program, longest)
        look: dict[str, Any] = {
            "fontsize": size,
            "color": style.ORANGE if picked else style.INK,
            "parse_math": math_mode,
            "math_fontfamily": "dejavusans",
            "ha": "center",
            "va": "center",
            "zorder": 5,
        }
        drawn = ax.text(0.5, 0.5, text, transform=ax.transAxes, **look)
        box = drawn.get_window_extent()
        drawn.remove()
        if box.width <= widest * (places.frame[2] - places.frame[0]):
            break
        if not picked:
            return  # part of a formula is of little use
    place = places.put(point, box.width, box.height, must=picked)
    if place is not None:
        _annotate(ax, text, point, place, places.unit, look)


def _annotate(
    ax: Axes,
    text: str,
    point: NDArray[np.float64],
    place: Place,
    unit: float,
    look: dict[str, Any],
) -> None:
    """The text at a distance in points of type from its point, so that both move together."""
    line = {"arrowstyle": "-", "color": look["color"], "linewidth": 0.6, "alpha": 0.6, "shrinkB": 3}
    x, y = ax.transData.inverted().transform(point)
    label = ax.annotate(
        text,
        (x, y),
        xytext=((place.centre[0] - point[0]) / unit, (place.centre[1] - point[1]) / unit),
        textcoords="offset points",
        arrowprops=line if place.distance > _NEXT_TO * unit else None,
        annotation_clip=False,
        **look,
    )
    label.set_in_layout(False)  # it stands inside the axes, and its place is chosen
