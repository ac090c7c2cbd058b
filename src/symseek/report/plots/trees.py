"""A formula as a tree.

The layout is Reingold and Tilford's: each subtree is laid out by itself, then siblings are pushed
together until their outlines nearly touch, and a parent stands over the middle of its children.
Nodes are as wide as what is written in them, so nothing overlaps. One unit is the height of the
type, which is chosen so that the whole tree fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from symseek.report.plots import style
from symseek.tokens import Token, TokenKind, number_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symseek.programs import Program

__all__ = ["COLOURS", "HEIGHT", "Node", "extent", "laid_out", "tree"]

# kind: (colour of the outline, of the inside)
COLOURS = {
    "operator": (style.BLUE, "#E3EFF7"),
    "function": (style.SKY, "#EEF7FD"),
    "column": (style.GREEN, "#E2F4EE"),
    "number": (style.ORANGE, "#FBEADF"),
}
_GAP = 0.7  # between siblings, in heights of the type, like the next ones
HEIGHT = 1.9  # of a node
_PADDING = 0.9  # in a node, both sides together
_LEVEL, _CLOSEST = 3.2, 2.3  # from one level to the next, at best and where room is short
_LARGEST, _WANTED = 14.0, 11.0  # points of type: at most, and in a figure that grows
_MOST = 14.0  # inches of a figure that grows
_LONGEST = 16  # characters of a name


@dataclass
class Node:
    """One token with its place, and the outline of all that hangs below it."""

    text: str
    kind: str
    width: float
    children: list[Node]
    offset: float = 0.0  # from the parent
    x: float = 0.0  # from the root
    depth: int = 0
    left: list[float] = field(default_factory=list)  # its leftmost edge at each depth, from here
    right: list[float] = field(default_factory=list)


def tree(program: Program, ax: Axes | None = None) -> Axes:
    """Draw the program's tokens as a tree; a figure of its own grows with a large tree."""
    nodes = laid_out(program)
    ax = style.axes(ax, _size(nodes))
    size = f"{style.counted(len(nodes), 'token')}, complexity {program.complexity}"
    style.entitle(ax, f"The formula as a tree: {size}")
    ax.set_axis_off()
    _legend(ax, nodes)
    type_size, level = _fit(ax, nodes)
    for node in nodes:
        _draw(ax, node, type_size, level)
    return ax


def laid_out(program: Program, width: Callable[[str], float] | None = None) -> list[Node]:
    """The nodes in pre-order, each with its place: x, and its depth below the root.

    `width` says how wide a text is, in heights of its type; by default, as Matplotlib draws it,
    with a box for what it cannot draw.
    """

    def combine(token: int, constant: float | None, children: list[Node]) -> Node:
        this = program.library.tokens[token]
        text = _text(this, constant)
        if width is None:
            text = style.drawable(text)
        wide = _width(text) if width is None else width(text)
        node = Node(text, _kind(this), max(HEIGHT, wide + _PADDING), children)
        _arrange(node)
        return node

    waiting, nodes = [program.fold(combine)], []
    while waiting:
        node = waiting.pop()
        for child in node.children:
            child.x, child.depth = node.x + child.offset, node.depth + 1
        waiting += reversed(node.children)
        nodes.append(node)
    return nodes


def _arrange(node: Node) -> None:
    """Push the children together, put the node over their middle, and join their outlines."""
    left: list[float] = []
    right: list[float] = []
    for child in node.children:
        needed = [edge + _GAP - mine for edge, mine in zip(right, child.left, strict=False)]
        child.offset = max(needed, default=0.0)
        left += [child.offset + edge for edge in child.left[len(left) :]]
        right[: len(child.right)] = [child.offset + edge for edge in child.right]
    middle = (node.children[0].offset + node.children[-1].offset) / 2 if node.children else 0.0
    for child in node.children:
        child.offset -= middle
    node.left = [-node.width / 2, *(edge - middle for edge in left)]
    node.right = [node.width / 2, *(edge - middle for edge in right)]


def _text(token: Token, constant: float | None) -> str:
    if constant is None and token.value is not None and token.name == number_name(token.value):
        constant = token.value
    if constant is not None:
        return style.brief(constant, 4)
    return token.forms.label or style.shortened(token.name, _LONGEST)


def _kind(token: Token) -> str:
    if token.kind in (TokenKind.CONSTANT, TokenKind.NUMBER):
        return "number"
    return {0: "column", 1: "function"}.get(token.arity, "operator")


def _width(text: str) -> float:
    """How wide a text is, in heights of its type."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    measured = TextToPath().get_text_width_height_descent(text, FontProperties(size=10), False)
    return measured[0] / 10


def extent(nodes: list[Node]) -> tuple[float, float, int]:
    """The left and right end of the tree, and its levels."""
    return min(nodes[0].left), max(nodes[0].right), len(nodes[0].left)


def _size(nodes: list[Node]) -> tuple[float, float]:
    """Inches that show the tree in readable type."""
    left, right, levels = extent(nodes)
    width, height = (right - left + 2) * _WANTED / 72, (levels * _CLOSEST + 4) * _WANTED / 72
    return min(max(style.SIZE[0], width), _MOST), min(max(style.SIZE[1], height), _MOST)


def _fit(ax: Axes, nodes: list[Node]) -> tuple[float, float]:
    """Make one unit of the axes the height of the type; returns that and the levels' distance."""
    figure = ax.figure.figure
    figure.draw_without_rendering()
    box = ax.get_window_extent()
    width, height = box.width * 72 / figure.dpi, box.height * 72 / figure.dpi
    left, right, levels = extent(nodes)
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
    kinds = [kind for kind in COLOURS if any(node.kind == kind for node in nodes)]
    for kind in kinds:
        outline, inside = COLOURS[kind]
        ax.scatter([], [], s=70, marker="s", color=inside, edgecolor=outline, label=kind)
    style.legend(ax, len(kinds))
