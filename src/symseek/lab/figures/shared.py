"""What the figures share: the sheet, its title and key, how a method looks, and the files.

Rates of ours are counts, `recovered` of `runs`, drawn with their intervals of 95 %
(`statistics.wilson`); the paper's are in percent, as printed. Methods are named as in the tables
(`measures.label`), and any other name is drawn as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError
from symseek.files.atomic import write_whole
from symseek.lab.paper import measures
from symseek.lab.paper.published import LABELS
from symseek.report.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats: TypeAlias = NDArray[np.float64]
Row: TypeAlias = Mapping[str, Any]

# No two look the same to a colour-blind eye, and marks distinguish them without any colour. The
# keys stand in the order in which methods are listed.
COLORS = {
    "dsr": style.ORANGE,
    "pqt": style.GREEN,
    "vpg": style.BLUE,
    "gp": "#AA3377",
    "hybrid": style.INK,
    "evolution": style.SKY,
}
MARKERS = {"dsr": "o", "pqt": "s", "vpg": "D", "gp": "^", "hybrid": "v", "evolution": "P"}
PUBLISHED = style.MUTED  # the colour of the paper's figures
SMALL: dict[str, Any] = {"fontsize": style.SMALL, "ha": "center", "va": "center"}
_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": style.TICK, "labelcolor": style.INK}


def blank(size: tuple[float, float]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=style.DPI, facecolor=style.PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.06)  # type: ignore[call-arg, union-attr]
    return figure


def sheet(
    size: tuple[float, float], rows: int = 1, columns: int = 1, **share: Any
) -> tuple[Figure, Any]:
    """A figure and its panels [rows, columns]."""
    figure = blank(size)
    return figure, figure.subplots(rows, columns, squeeze=False, **share)


def empty() -> Figure:
    """A figure that says there is nothing to see."""
    figure, panels = sheet(style.SIZE)
    style.message(panels[0, 0], "There is no run to draw.")
    return figure


def head(figure: Figure, title: str) -> None:
    """The figure's title, at the left edge, smaller where it would not fit."""
    room = 72 * figure.get_figwidth() / (0.55 * max(len(title), 1))
    size = min(style.TITLE + 1.5, room)
    figure.suptitle(
        style.drawable(title), x=0.012, ha="left", fontsize=size, color=style.INK, fontweight="bold"
    )


def key(figure: Figure, marks: list[Any], columns: int = 0) -> None:
    """What the marks mean, below all panels: in one line, or in so many columns."""
    if marks:
        place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns or len(marks)}
        figure.legend(handles=marks, **place, **_LEGEND)


def handles(panels: Iterable[Axes]) -> list[Any]:
    """One mark for each label in any of the panels."""
    found: dict[str, Any] = {}
    for ax in panels:
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(text, handle)
    return list(found.values())


def percents(ax: Axes) -> None:
    ax.set_yticks(range(0, 101, 20))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")


def label(method: str) -> str:
    """How a method is written, as in the tables.

    >>> label("dsr"), label("hybrid")
    ('DSR', 'Hybrid (ours)')
    """
    return style.drawable(measures.label(str(method)))


def color(method: str) -> str:
    """A method's own colour; another's is one of the series, the same in every figure."""
    if method in COLORS:
        return COLORS[method]
    if method in LABELS:
        return style.MUTED
    return style.SERIES[sum(method.encode()) % len(style.SERIES)]


def distinct(rows: Iterable[Row], name: str) -> list[Any]:
    """The values under a key, in the order in which they come."""
    return list(dict.fromkeys(row[name] for row in rows))


def in_order(methods: Iterable[str]) -> list[str]:
    """The methods as a key lists them: the paper's, ours, and others as they come.

    >>> in_order(["other", "hybrid", "vpg", "dsr"])
    ['dsr', 'vpg', 'hybrid', 'other']
    """
    places = {method: at for at, method in enumerate(COLORS)}
    return sorted(methods, key=lambda method: places.get(method, len(places)))


def checked(rows: Iterable[Row], *needed: str) -> list[Row]:
    """The rows, each with all that is needed."""
    listed = list(rows)
    for i, row in enumerate(listed):
        missing = [name for name in needed if name not in row]
        if missing:
            raise InputError(f"row {i} of the figure has no {', '.join(missing)}: {dict(row)}")
    return listed


def save(figure: Figure, stem: str | os.PathLike[str]) -> list[Path]:
    """Write the figure as `stem.svg` and `stem.png`; the same figure gives the same bytes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save(empty(), f"{folder}/nothing")]
    ['nothing.svg', 'nothing.png']
    """
    paths = []
    for kind in ("svg", "png"):
        paths.append(Path(f"{os.fspath(stem)}.{kind}"))
        write_whole(paths[-1], style.image(figure, kind))
    return paths
