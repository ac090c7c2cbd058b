"""A formula as a tree: where its tokens stand.

The layout is Reingold and Tilford's: each subtree is laid out by itself, then siblings are pushed
together until their outlines nearly touch, and a parent stands over the middle of its children.
Nodes are as wide as what is written in them, so nothing overlaps. One unit is the height of the
type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from symseek.report.chart import BLUE, GREEN, ORANGE, SKY
from symseek.text import brief, counted, shortened
from symseek.tokens import Token, TokenKind, number_name

if TYPE_CHECKING:
    from symseek.programs import Program

LETTER = 0.56  # the mean width of a letter, in parts of the type's size
# kind: (colour of the outline, of the inside)
COLOURS = {
    "operator": (BLUE, "#E3EFF7"),
    "function": (SKY, "#EEF7FD"),
    "column": (GREEN, "#E2F4EE"),
    "number": (ORANGE, "#FBEADF"),
}
_GAP = 0.7  # between siblings, in heights of the type, like the next ones
HEIGHT = 1.9  # of a node
_PADDING = 0.9  # in a node, both sides together
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


def letters(text: str) -> float:
    """About how wide a text is, in heights of its type, whatever the font."""
    return sum(1.0 if ord(each) > 0x2E7F else LETTER for each in text)


def laid_out(
    program: Program, width: Callable[[str], float] = letters, drawable: Callable[[str], str] = str
) -> list[Node]:
    """The nodes in pre-order, each with its place: x, and its depth below the root.

    `width` says how wide a text is, in heights of its type; `drawable` what is drawn of it.
    """

    def combine(token: int, constant: float | None, children: list[Node]) -> Node:
        this = program.library.tokens[token]
        text = drawable(_text(this, constant))
        node = Node(text, _kind(this), max(HEIGHT, width(text) + _PADDING), children)
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


def title(program: Program) -> str:
    size = f"{counted(len(program), 'token')}, complexity {program.complexity}"
    return f"The formula as a tree: {size}"


def kinds(nodes: list[Node]) -> list[str]:
    """The kinds of the nodes, in the order of a legend."""
    return [kind for kind in COLOURS if any(node.kind == kind for node in nodes)]


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
        return brief(constant, 4)
    return token.forms.label or shortened(token.name, _LONGEST)


def _kind(token: Token) -> str:
    if token.kind in (TokenKind.CONSTANT, TokenKind.NUMBER):
        return "number"
    return {0: "column", 1: "function"}.get(token.arity, "operator")


def extent(nodes: list[Node]) -> tuple[float, float, int]:
    """The left and right end of the tree, and its levels."""
    return min(nodes[0].left), max(nodes[0].right), len(nodes[0].left)
