"""The style of all plots: colours, type sizes, axes, and how a figure is saved.

Everything is set on the artists themselves. No global setting of Matplotlib is changed, and figures
are made without pyplot, so a plot changes nothing but what it returns.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

from symseek.report.chart import BLUE, GREEN, INK, MUTED, ORANGE, SERIES, SKY
from symseek.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

__all__ = [
    "BLUE",
    "GREEN",
    "INK",
    "MUTED",
    "ORANGE",
    "SERIES",
    "SKY",
    "axes",
    "drawable",
    "dress",
    "image",
    "message",
    "note",
]

SIZE = (7.0, 4.5)  # inches: half a slide
DPI = 150

FAINT, PAPER, CHALK = "#E4E4E4", "#FFFFFF", "#E8E8E8"

TITLE, LABEL, TICK, SMALL = 12.5, 11.0, 10.0, 9.0  # points

_SMALLEST = 5.0  # type of a legend in small axes
_LETTER = 0.55  # the mean width of a letter, in parts of the type's size


def axes(ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
    """The caller's axes, or new ones on a figure of their own."""
    if ax is not None:
        return ax
    from symseek.report.plots.shown import new_axes

    return new_axes(size, DPI, PAPER)


def dress(ax: Axes, title: str, x: str, y: str, grid: str = "xy") -> None:
    """Titles, labels, thin spines on the left and below, and a faint grid along the axes named."""
    color = ink(ax)
    ax.set_facecolor(PAPER)
    entitle(ax, title)
    for axis, label in ((ax.xaxis, x), (ax.yaxis, y)):
        text = drawable(shortened(label, 50))
        axis.set_label_text(text, fontsize=LABEL, color=color, parse_math=False)
        axis.grid(False)
        if axis.axis_name in grid:
            axis.grid(True, color=FAINT, linewidth=0.7)
    ax.tick_params(which="both", labelsize=TICK, width=0.7, color=MUTED, labelcolor=color)
    ax.set_axisbelow(True)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set(linewidth=0.7, color=MUTED)


def entitle(ax: Axes, title: str) -> None:
    """A title at the left edge, where reading begins; smaller where it would not fit."""
    room = ax.get_window_extent().width * 72 / ax.figure.figure.dpi
    size = min(TITLE, room / (_LETTER * max(len(title), 1)))
    ax.set_title(drawable(title), loc="left", fontsize=size, color=ink(ax), pad=9, parse_math=False)


def ink(ax: Axes) -> str:
    """The colour for what stands outside the axes: dark, or light on a dark figure."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(ax.figure.get_facecolor())
    return INK if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else CHALK


def note(ax: Axes, text: str, x: float, y: float, **style: Any) -> Text:
    """Small text inside the axes, at a fraction of its width and height."""
    style = {"color": MUTED, "fontsize": SMALL, "va": "center", **style}
    return ax.text(x, y, drawable(text), transform=ax.transAxes, parse_math=False, **style)


def message(ax: Axes, text: str) -> Axes:
    """Axes with a sentence instead of a plot."""
    ax.set_facecolor(PAPER)
    ax.set_axis_off()
    note(ax, text, 0.5, 0.5, ha="center", fontsize=LABEL)
    return ax


def legend(ax: Axes, columns: int, size: float = TICK) -> None:
    """The legend in one line between the title and the axes, where it hides nothing."""
    drawn = ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.1,
        borderpad=0.1,
        ncols=columns,
        frameon=False,
        fontsize=size,
        labelcolor=ink(ax),
        handlelength=1.6,
        columnspacing=1.6,
    )
    drawn.set_in_layout(False)  # a wide legend must not make narrow axes narrower
    box, room = drawn.get_window_extent(), ax.get_window_extent().width
    if box.width > room and size > _SMALLEST:
        legend(ax, columns, max(_SMALLEST, 0.97 * size * room / box.width))
        return
    height = box.height * 72 / ax.figure.figure.dpi
    ax.set_title(ax.get_title("left"), loc="left", pad=height + 9)


def image(figure: Figure, kind: Literal["svg", "png"]) -> bytes:
    """The content of an image file; the same figure gives the same bytes on any day.

    >>> image(message(axes(None), "Nothing to see.").figure.figure, "png")[1:4]
    b'PNG'
    """
    from matplotlib import rc_context

    dated = ("Date", "Creator", "Format", "Type") if kind == "svg" else ("Software",)
    content = io.BytesIO()
    # Letters are outlines, since fonts differ between machines. Without a salt, the names inside an
    # SVG are random; Matplotlib takes both from its settings alone.
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "symseek"}):
        figure.savefig(content, format=kind, metadata=dict.fromkeys(dated), facecolor=PAPER)
    return content.getvalue()


def drawable(text: str) -> str:
    """The text in one line, with a box for each character that no font at hand can draw."""
    families = _families()
    box = "▯" if _drawn("▯", families) else "?"
    line = "".join(" " if c.isspace() else c for c in text)
    return "".join(c if " " <= c <= "~" or _drawn(c, families) else box for c in line)


def _families() -> tuple[str, ...]:
    """The fonts that text is drawn with, the first that has a character before the others."""
    from matplotlib import rcParams

    settings = cast("dict[str, Any]", rcParams)
    families: list[str] = []
    for family in settings["font.family"]:
        families += settings.get(f"font.{family}", [family])
    return tuple(families)


@lru_cache(maxsize=4096)
def _drawn(character: str, families: tuple[str, ...]) -> bool:
    return any(font.get_char_index(ord(character)) for font in _fonts(families))


@lru_cache(maxsize=16)
def _fonts(families: tuple[str, ...]) -> list[Any]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    fonts = []
    for family in families:
        try:
            path = findfont(FontProperties(family=[family]), fallback_to_default=False)
        except ValueError:
            continue
        fonts.append(get_font(path))
    return fonts
