"""The Pareto front, its picked formula and the steepest steps named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symseek.algebra.typeset import readable
from symseek.arrays import Floats
from symseek.report import fronts
from symseek.report.plots import style
from symseek.report.plots.draw import draw
from symseek.report.plots.labels import Place, Places, formula_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symseek.model import Model

_KNEES = 4  # formulas named, in addition to the picked one
_KNEE = 1.12  # a knee divides the error by at least this
_NEXT_TO = 12.0  # points of type within which a label needs no line to its point
_LONGEST = 90  # characters of a formula that is still typeset


def front(model: Model, ax: Axes | None = None) -> Axes:
    """Draw error against complexity, with the picked formula and the steepest steps named.

    Rows without a finite error are left out. On a logarithmic scale errors of zero stand on a line
    of their own, labelled 0.
    """
    ax = draw(fronts.front(model), ax)
    rows = fronts.finite_rows(model)
    if rows:
        _name(ax, model, rows, *fronts.places(model))
    return ax


def _knees(model: Model, errors: Floats, rows: list[int]) -> list[int]:
    """Which points to name, the most important first: the picked one, then the steepest steps."""
    before = np.append(max(1.0, errors[0]), errors[:-1])
    drops = before / np.maximum(errors, fronts.EXACT)
    steep = [int(i) for i in np.argsort(-drops, kind="stable") if drops[i] >= _KNEE]
    picked = [rows.index(model.picked)] if model.picked in rows else []
    return picked + [i for i in steep if i not in picked][:_KNEES]


def _name(ax: Axes, model: Model, rows: list[int], sizes: Floats, errors: Floats) -> None:
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


def _label(ax: Axes, places: Places, model: Model, row: int, point: Floats, picked: bool) -> None:
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
    ax: Axes, text: str, point: Floats, place: Place, unit: float, look: dict[str, Any]
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
