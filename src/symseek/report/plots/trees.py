"""A formula as a tree, drawn with Matplotlib: the type is chosen so that the whole tree fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symseek.report import trees
from symseek.report.plots import style
from symseek.report.trees import COLOURS, HEIGHT, Node

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symseek.programs import Program

_LEVEL, _CLOSEST = 3.2, 2.3  # from one level to the next, at best and where room is short
_LARGEST, _WANTED = 14.0, 11.0  # points of type: at most, and in a figure that grows
_MOST = 14.0  # inches of a figure that grows


def tree(program: Program, ax: Axes | None = None) -> Axes:
    """Draw the program's tokens as a tree; a figure of its own grows with a large tree."""
    nodes = trees.laid_out(program, _width, style.drawable)
    ax = style.axes(ax, _size(nodes))
    style.entitle(ax, trees.title(program))
    ax.set_axis_off()
    _legend(ax, nodes)
    type_size, level = _fit(ax, nodes)
    for node in nodes:
        _draw(ax, node, type_size, level)
    return ax


def _width(text: str) -> float:
    """How wide a text is, in heights of its type."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    measured = TextToPath().get_text_width_height_descent(text, FontProperties(size=10), False)
    return measured[0] / 10


def _size(nodes: list[Node]) -> tuple[float, float]:
    """Inches that show the tree in readable type."""
    left, right, levels = trees.extent(nodes)
    width, height = (right - left + 2) * _WANTED / 72, (levels * _CLOSEST + 4) * _WANTED / 72
    return min(max(style.SIZE[0], width), _MOST), min(max(style.SIZE[1], height), _MOST)


def _fit(ax: Axes, nodes: list[Node]) -> tuple[float, float]:
    """Make one unit of the axes the height of the type; returns that and the levels' distance."""
    figure = ax.figure.figure
    figure.draw_without_rendering()
    box = ax.get_window_extent()
    width, height = box.width * 72 / figure.dpi, box.height * 72 / figure.dpi
    left, right, levels = trees.extent(nodes)
    needed = (levels - 1) * _CLOSEST + HEIGHT + 0.4
    size = min(_LARGEST, width / (right - left + 0.4), height / needed)
    level = min(_LEVEL, (height / size - HEIGHT - 0.4) / max(levels - 1, 1))
    middle, spare = (left + right) / 2, height / size - (levels - 1) * level
    ax.set_xlim(middle - width / size / 2, middle + width / size / 2)
    ax.set_ylim(-(levels - 1) * level - spare / 2, spare / 2)
    return size, level


def _draw(ax: Axes, node: Node, size: float, level: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    y = -node.depth * level
    for child in node.children:
        ends = [y - HEIGHT / 2, y - level + HEIGHT / 2]
        ax.plot([node.x, child.x], ends, color=style.MUTED, linewidth=0.9, zorder=1)
    outline, inside = COLOURS[node.kind]
    corner = (node.x - node.width / 2, y - HEIGHT / 2)
    box = FancyBboxPatch(
        corner,
        node.width,
        HEIGHT,
        boxstyle="round,pad=0,rounding_size=0.6",
        facecolor=inside,
        edgecolor=outline,
        linewidth=1.1,
        zorder=2,
    )
    ax.add_patch(box)
    centred: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 3}
    ax.text(node.x, y, node.text, fontsize=size, color=style.INK, parse_math=False, **centred)


def _legend(ax: Axes, nodes: list[Node]) -> None:
    """What the colours stand for, as far as they occur."""
    kinds = trees.kinds(nodes)
    for kind in kinds:
        outline, inside = COLOURS[kind]
        ax.scatter([], [], s=70, marker="s", color=inside, edgecolor=outline, label=kind)
    style.legend(ax, len(kinds))
