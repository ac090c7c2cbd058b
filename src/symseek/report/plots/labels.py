"""Labels that neither overlap nor leave the axes.

A label may be at any place of a grid. It takes one that is free and near its point; where it is not
next to the point, a thin line connects the two. Where every place is taken, a label is left out,
unless it must be there. All distances here are in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symseek.algebra.typeset import latex_line
from symseek.programs import Program
from symseek.report.plots import style
from symseek.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Boxes = NDArray[np.float64]  # [., 4] left, bottom, right, top

_COLUMNS, _ROWS = 60, 40  # of the grid
_FARTHEST = 45.0  # points of type from a label to its point, if the label may be left out
_STEP = 4.0  # between the points that stand for a line


def formula_text(program: Program, longest: int) -> tuple[str, bool]:
    """What to draw for a formula, and whether it is mathtext; plain text where that fails."""
    plain = style.drawable(program.infix())
    latex = latex_line(program)
    if len(plain) <= longest and style.drawable(latex) == latex and _parses(f"${latex}$"):
        return f"${latex}$", True
    return shortened(plain, longest), False


def _parses(text: str) -> bool:
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(text)
    except (ValueError, RecursionError):
        return False
    return True


class Place(NamedTuple):
    """Where a label stands."""

    centre: tuple[float, float]
    distance: float  # from its nearest side to the point it names


@dataclass
class Places:
    """The places inside a frame, and which of them are free."""

    frame: tuple[float, float, float, float]  # left, bottom, right, top
    unit: float  # pixels in a point
    taken: list[Boxes] = field(default_factory=list)
    labels: list[Boxes] = field(default_factory=list)

    @classmethod
    def inside(cls, ax: Axes) -> Places:
        """The inside of axes, less a small margin; a layout still to come is done first."""
        root = ax.figure.figure
        root.draw_without_rendering()
        box, unit = ax.get_window_extent(), root.dpi / 72
        margin = 4 * unit
        frame = (box.x0 + margin, box.y0 + margin, box.x1 - margin, box.y1 - margin)
        return cls(frame, unit)

    def block_points(self, points: NDArray[np.float64], radius: float) -> None:
        """Keep labels away from points [., 2]; the radius is in points of type."""
        reach = radius * self.unit
        self.taken.append(np.hstack([points - reach, points + reach]))

    def block_line(self, corners: NDArray[np.float64]) -> None:
        """Keep labels away from a line through corners [., 2]."""
        for start, end in pairwise(corners):
            self.block_points(_along(start, end), 1.5)

    def put(
        self, anchor: NDArray[np.float64], width: float, height: float, must: bool = False
    ) -> Place | None:
        """A free place near the anchor, taken from now on; None if there is none."""
        boxes = self._candidates(anchor, width, height)
        if not len(boxes):
            return None
        distance = _distance(boxes, anchor)
        # There is more space above a falling front than below it, and text reads to the right.
        middle = (boxes[:, :2] + boxes[:, 2:]) / 2
        cost = distance + 0.15 * np.maximum(anchor - middle, 0).sum(axis=1)
        hits = _overlaps(boxes, self.taken) + 100 * _overlaps(boxes, self.labels)
        order = np.lexsort((cost, hits))
        if not must:
            order = order[(hits[order] == 0) & (distance[order] <= _FARTHEST * self.unit)]
        for row in order:
            lead = _along(anchor, np.clip(anchor, boxes[row, :2], boxes[row, 2:]))
            if must or not _overlaps(np.hstack([lead, lead]), self.labels).any():
                self.labels.append(boxes[row][None] + self.unit * np.array([-4, -4, 4, 4]))
                self.block_points(lead, 1.5)
                return Place((float(middle[row, 0]), float(middle[row, 1])), float(distance[row]))
        return None

    def _candidates(self, anchor: NDArray[np.float64], width: float, height: float) -> Boxes:
        left, bottom, right, top = self.frame
        if width > right - left or height > top - bottom:
            return np.empty((0, 4))
        half = np.array([width / 2, height / 2])
        xs = np.linspace(left + half[0], right - half[0], _COLUMNS)
        ys = np.linspace(bottom + half[1], top - half[1], _ROWS)
        centres = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
        return np.hstack([centres - half, centres + half])


def _along(start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points on a line, close enough to stand for it."""
    count = max(2, math.ceil(float(np.hypot(*(end - start))) / _STEP))
    steps: NDArray[np.float64] = np.linspace(start, end, count)
    return steps


def _distance(boxes: Boxes, anchor: NDArray[np.float64]) -> NDArray[np.float64]:
    """From the anchor to the nearest side of each box."""
    gaps = np.maximum(np.maximum(boxes[:, :2] - anchor, anchor - boxes[:, 2:]), 0)
    distances: NDArray[np.float64] = np.hypot(gaps[:, 0], gaps[:, 1])
    return distances


def _overlaps(boxes: Boxes, others: Iterable[Boxes]) -> NDArray[np.int64]:
    """How many of the other boxes each box touches."""
    total: NDArray[Any] = np.zeros(len(boxes), dtype=np.int64)
    for group in others:
        low = (boxes[:, None, :2] < group[None, :, 2:]).all(axis=2)
        high = (boxes[:, None, 2:] > group[None, :, :2]).all(axis=2)
        total += (low & high).sum(axis=1)
    return total
