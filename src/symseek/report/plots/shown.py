"""Figures that show themselves at the end of a notebook's cell, and so do their axes.

Matplotlib's own need pyplot for that, which keeps every figure until it is closed.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from symseek.report.plots.style import DPI, PAPER, image

__all__ = ["new_axes"]

_SCREEN = 96  # pixels to the inch, of a browser

Picture = tuple[bytes, dict[str, int]]


class _ShownFigure(Figure):
    def _repr_png_(self) -> Picture:
        """The picture, and its size on the page: it has more pixels than that, to be sharp."""
        width, height = (round(_SCREEN * inches) for inches in self.get_size_inches())
        return image(self, "png"), {"width": width, "height": height}


class _ShownAxes(Axes):
    def _repr_png_(self) -> Picture | None:
        figure = self.figure.figure
        return figure._repr_png_() if isinstance(figure, _ShownFigure) else None


def new_axes(size: tuple[float, float]) -> Axes:
    """Axes on a figure of their own, in inches."""
    figure = _ShownFigure(figsize=size, dpi=DPI, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot(axes_class=_ShownAxes)
