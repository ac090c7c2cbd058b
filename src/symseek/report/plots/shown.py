"""Figures that show themselves at the end of a notebook's cell, and so do their axes.

Matplotlib's own need pyplot for that, which keeps every figure until it is closed.
"""

from __future__ import annotations

import io

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_SCREEN = 96  # pixels to the inch, of a browser

Picture = tuple[bytes, dict[str, int]]


class _ShownFigure(Figure):
    def _repr_png_(self) -> Picture:
        """The picture, and its size on the page: it has more pixels than that, to be sharp."""
        width, height = (round(_SCREEN * inches) for inches in self.get_size_inches())
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue(), {"width": width, "height": height}


class _ShownAxes(Axes):
    def _repr_png_(self) -> Picture | None:
        figure = self.figure.figure
        return figure._repr_png_() if isinstance(figure, _ShownFigure) else None


def new_axes(size: tuple[float, float], dpi: float, paper: str) -> Axes:
    """Axes on a figure of their own, of a size in inches and the colour of the paper."""
    figure = _ShownFigure(figsize=size, dpi=dpi, facecolor=paper, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot(axes_class=_ShownAxes)
