"""A chart as SVG text.

The report has a handful of these. They are written without a plotting library, which would take
longer to load and to draw than a short search runs. Words are text, drawn by the browser in the
colour of the page. Lengths are in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from symseek.arrays import Floats
from symseek.notation.mathml import escaped
from symseek.programs import Program
from symseek.report import chart, trees
from symseek.report.chart import INK, MUTED, Chart
from symseek.text import brief, shortened

WIDTH, HEIGHT = 672, 432  # of a chart
SIZE, SMALL, TITLE = 13.0, 12.0, 16.0  # of type

_TOP, _BOTTOM = 64, 54  # above and below the frame
_TICKS = 6  # about so many
_DECADES = 7  # beyond which not every decade has a tick
_MANY = 2_000  # points beyond which they are counted in cells
_CELL = 8.0  # the size of such a cell
_TREE_TYPE = 15.0  # if there is room


def drawn(picture: Chart | str, caption: str) -> str:
    """The chart; the caption goes to those who do not see it.

    >>> x, y = chart.Axis("x", 0, 4), chart.Axis("y", 0, 1)
    >>> two = Chart("Two points", x, y, [chart.Points([1, 2], [0.5, 1.0], "#0072B2", 3.0)])
    >>> drawn(two, "and what they mean").count("<circle")
    2
    """
    if isinstance(picture, str):
        nothing = chart.Axis("", 0, 1, grid=False, shown=lambda _: "")
        words = chart.Words("nothing to draw", 0.45, 0.5, MUTED)
        picture = Chart(picture.rstrip("."), nothing, nothing, [words])
    frame = _Frame(picture)
    inside = "".join(frame.inside(mark) for mark in picture.marks)
    beside = "".join(frame.beside(mark) for mark in picture.marks)
    size = f'width="{frame.width:.1f}" height="{frame.height:.1f}"'
    return _image(
        HEIGHT,
        f"{_title(picture.title)}{_legend(picture.marks, frame.left)}"
        f'<g transform="translate({frame.left:.1f} {_TOP})">{frame.axes()}'
        # The frame of its own cuts off what leaves it.
        f"<svg {size}>{inside}</svg>{beside}</g>",
        f"{picture.title}. {caption}",
    )


def drawn_tree(program: Program, caption: str) -> str:
    """The tokens of the program as a tree."""
    nodes = trees.laid_out(program, lambda text: trees.letters(text) + 0.2)
    left, right, levels = trees.extent(nodes)
    size = min(_TREE_TYPE, (WIDTH - 8) / (right - left))
    level = size * 3.0
    height = max((levels - 1) * level + size * trees.HEIGHT + 4, 40)
    shift = (WIDTH - (right - left) * size) / 2 - left * size
    title = trees.title(program)
    return _image(
        max(height + 68, HEIGHT / 2),
        f"{_text(title, 0, 18, size=TITLE, weight=600)}{_kinds(nodes)}"
        f'<g transform="translate({shift:.1f} {64 + size * trees.HEIGHT / 2:.1f})">'
        + "".join(_node(node, size, level) for node in nodes)
        + "</g>",
        f"{title}. {caption}",
    )


class _Frame:
    """The frame of a chart: where values stand in it, and what is drawn there."""

    def __init__(self, picture: Chart) -> None:
        self.x, self.y = picture.x, picture.y
        widths = {chart.Bars: 76, chart.Names: 120}  # of what is beside the frame
        right = max((widths.get(type(mark), 16) for mark in picture.marks), default=16)
        longest = max((_width(text, SMALL) for _, text in _ticks(self.y)), default=0.0)
        self.left = 40 + longest
        self.width, self.height = WIDTH - self.left - right, HEIGHT - _TOP - _BOTTOM

    def place(self, x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
        """Pixels in the frame."""
        return _part(self.x, x) * self.width, (1 - _part(self.y, y)) * self.height

    def inside(self, mark: chart.Mark) -> str:
        """What a mark draws in the frame."""
        match mark:
            case chart.Cloud() if len(mark.x) > _MANY:
                return self._cells(mark)
            case chart.Cloud():
                radius = (3.0 if len(mark.x) <= 500 else 2.0) * math.sqrt(mark.size)
                return self._discs(mark.x, mark.y, mark.color, radius, 0.6)
            case chart.Points():
                return self._discs(mark.x, mark.y, mark.color, mark.radius)
            case chart.Line():
                return self._line(mark)
            case chart.Area():
                return self._area(mark)
            case chart.Tags():
                places = zip(*self.place(mark.x, mark.y), mark.texts, mark.colors, strict=True)
                bold = {MUTED: 400}
                return "".join(
                    _text(text, x + 7, y - 8, color, weight=bold.get(color, 700))
                    for x, y, text, color in places
                )
            case chart.Words():
                x, y = mark.x * self.width, (1 - mark.y) * self.height + 4
                color = "" if mark.color == INK else mark.color
                return _text(mark.text, x, y, color, "end" if mark.right else "start")
            case _:
                return ""

    def beside(self, mark: chart.Mark) -> str:
        """What a mark draws to the right of the frame."""
        if isinstance(mark, chart.Bars):
            high, most = self.height / len(mark.counts), max(1, *mark.counts)
            return "".join(
                f'<rect x="{self.width + 6:.1f}" y="{self.height - (at + 1) * high:.1f}"'
                f' width="{64 * number / most:.1f}" height="{max(high - 1, 1):.1f}"'
                f' fill="{mark.color}" fill-opacity="0.6"/>'
                for at, number in enumerate(mark.counts)
            )
        if not isinstance(mark, chart.Names):
            return ""
        parts = []
        for name, height, place, color in zip(
            mark.texts, mark.heights, mark.places, mark.colors, strict=True
        ):
            top = (1 - place) * self.height
            ends = f"M{self.width:.1f} {(1 - height) * self.height:.1f}"
            ends += f"L{self.width + 14:.1f} {top:.1f}"
            parts.append(f'<path d="{ends}" stroke="{color}" stroke-width="2"/>')
            parts.append(_text(shortened(name, 14), self.width + 18, top + 4))
        return "".join(parts)

    def _discs(
        self, x: ArrayLike, y: ArrayLike, color: str, radius: float, opacity: float = 1.0
    ) -> str:
        discs = "".join(
            f'<circle cx="{left:.1f}" cy="{top:.1f}" r="{radius:.2g}"/>'
            for left, top in zip(*self.place(x, y), strict=True)
            if left == left and top == top
        )
        return f'<g fill="{color}" fill-opacity="{opacity:g}">{discs}</g>'

    def _cells(self, mark: chart.Cloud) -> str:
        """How many points there are in each small cell."""
        columns, rows = int(self.width // _CELL), int(self.height // _CELL)
        places = _part(self.x, mark.x), _part(self.y, mark.y)
        counts, _, _ = np.histogram2d(*places, bins=(columns, rows), range=((0, 1), (0, 1)))
        shades = np.log1p(counts) / max(math.log1p(counts.max()), 1e-9)
        wide, high = self.width / columns, self.height / rows
        boxes = "".join(
            f'<rect x="{i * wide:.1f}" y="{self.height - (j + 1) * high:.1f}"'
            f' width="{wide:.1f}" height="{high:.1f}" fill-opacity="{shades[i, j]:.2f}"/>'
            for i, j in np.argwhere(counts).tolist()
        )
        return f'<g fill="{mark.color}">{boxes}</g>'

    def _line(self, mark: chart.Line) -> str:
        if np.size(mark.x) == 1:
            return self._discs(mark.x, mark.y, mark.color, 3.0)
        lefts, tops = self.place(mark.x, mark.y)
        parts, last = [], None
        for left, top in zip(lefts.tolist(), tops.tolist(), strict=True):
            if left != left or top != top:
                last = None
                continue
            if last is None:
                parts.append(f"M{left:.1f} {_bounded(top):.1f}")
            else:
                parts.append(("H" if mark.steps else "L") + f"{left:.1f}")
                parts.append(("V" if mark.steps else " ") + f"{_bounded(top):.1f}")
            last = left
        dash = ' stroke-dasharray="2 4"' if mark.dashed else ""
        return (
            f'<path d="{"".join(parts)}" fill="none" stroke="{mark.color}"'
            f' stroke-width="{mark.width:g}"{dash} stroke-linejoin="round"/>'
        )

    def _area(self, mark: chart.Area) -> str:
        lefts, bottoms = self.place(mark.x, mark.low)
        _, tops = self.place(mark.x, mark.high)
        there = list(zip(lefts, tops, strict=True))
        back = list(zip(lefts, bottoms, strict=True))[::-1]
        corners = " ".join(f"{a:.1f},{_bounded(b):.1f}" for a, b in there + back if b == b)
        return f'<polygon points="{corners}" fill="{mark.color}" fill-opacity="{mark.opacity:g}"/>'

    def axes(self) -> str:
        wide, high = self.width, self.height
        parts = []
        for value, text in _ticks(self.x):
            at = float(_part(self.x, value)) * wide
            if self.x.grid:
                parts.append(f'<path class="grid" d="M{at:.1f} 0V{high}"/>')
            parts.append(_text(text, at, high + 18, side="middle"))
        for value, text in _ticks(self.y):
            at = (1 - float(_part(self.y, value))) * high
            if self.y.grid:
                parts.append(f'<path class="grid" d="M0 {at:.1f}H{wide:.1f}"/>')
            parts.append(_text(text, -7, at + 4, side="end"))
        parts.append(f'<path class="frame" d="M0 0V{high}H{wide:.1f}"/>')
        label = shortened(self.x.label, 60)
        parts.append(_text(label, wide / 2, high + 42, side="middle", size=SIZE))
        label = _text(shortened(self.y.label, 45), 0, 0, side="middle", size=SIZE)
        turned = f"translate({14 - self.left:.1f} {high / 2:.0f}) rotate(-90)"
        parts.append(f'<g transform="{turned}">{label}</g>')
        return "".join(parts)


# --- axes


def _part(axis: chart.Axis, values: ArrayLike) -> Floats:
    """Where values stand: 0 at the low end and 1 at the high one; NaN where there is none."""
    numbers = np.asarray(values, dtype=np.float64)
    low, high = axis.low, axis.high
    with np.errstate(all="ignore"):
        if axis.log:
            numbers, low, high = np.log10(numbers), math.log10(low), math.log10(high)
        parts = (numbers - low) / (high - low)
    return np.where(np.isfinite(parts), parts, np.nan)


def _ticks(axis: chart.Axis) -> list[tuple[float, str]]:
    """Values with their texts."""
    values, digits = _decades(axis) if axis.log else _steps(axis)
    return [(v, axis.shown(v) if axis.shown else brief(v, digits)) for v in values]


def _steps(axis: chart.Axis) -> tuple[list[float], int]:
    rough = (axis.high - axis.low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= 0.999 * rough)
    step = max(step, 1.0) if axis.whole else step
    first, last = math.ceil(axis.low / step - 1e-9), math.floor(axis.high / step + 1e-9)
    largest = max(abs(axis.low), abs(axis.high))
    digits = max(5 if largest < 1e5 else 3, math.ceil(math.log10(largest / step)) + 1)
    return [k * step for k in range(first, min(last, first + 50) + 1)], min(digits, 15)


def _decades(axis: chart.Axis) -> tuple[list[float], int]:
    first, last = math.ceil(math.log10(axis.low)), math.floor(math.log10(axis.high))
    every = max(1, math.ceil((last - first + 1) / _DECADES))
    powers = range(first - 1, last + 1, every)
    heads = (1, 2, 5) if last - first < 2 else (1,)
    values = [k * 10.0**power for power in powers for k in heads]
    return [v for v in values if axis.low <= v <= axis.high], 3


# --- words and shapes


def _width(text: str, size: float) -> float:
    """About how wide a text is drawn."""
    return trees.letters(text) * size


def _image(height: float, content: str, words: str) -> str:
    """The content as a picture, with words for those who do not see it."""
    return (
        f'<svg role="img" aria-label="{escaped(words)}" width="{WIDTH:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {WIDTH:.0f} {height:.0f}">{content}</svg>'
    )


def _title(title: str) -> str:
    """The title in type so small that it is no wider than the picture."""
    text = shortened(title, 90)
    size = round(min(TITLE, WIDTH / max(_width(text, 1.0), 1.0)), 1)
    return _text(text, 0, 18, size=size, weight=600)


def _legend(marks: Sequence[chart.Mark], left: float) -> str:
    parts = []
    for mark in marks:
        if isinstance(mark, chart.Cloud | chart.Points | chart.Line | chart.Area) and mark.label:
            faint = f' fill-opacity="{mark.opacity:g}"' if isinstance(mark, chart.Area) else ""
            disc = f'<circle cx="{left + 5:.1f}" cy="42" r="5" fill="{mark.color}"{faint}/>'
            parts += [disc, _text(mark.label, left + 15, 46)]
            left += 36 + _width(mark.label, SMALL)
    return "".join(parts)


def _text(
    text: str,
    left: float,
    top: float,
    color: str = "",
    side: str = "start",
    size: float = SMALL,
    weight: int = 400,
) -> str:
    """A text in the page's colour, or one of its own; `side` is the one at `left`."""
    fill = f' style="fill:{color}"' if color else ""
    anchor = f' text-anchor="{side}"' if side != "start" else ""
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    return (
        f'<text x="{left:.1f}" y="{top:.1f}" font-size="{size:g}"{anchor}{bold}{fill}>'
        f"{escaped(text)}</text>"
    )


def _bounded(pixels: float) -> float:
    """Far outside the frame is outside it: some browsers choke on huge coordinates."""
    return min(max(pixels, -1e4), 1e4)


def _node(node: trees.Node, size: float, level: float) -> str:
    x, y, wide, high = node.x * size, node.depth * level, node.width * size, trees.HEIGHT * size
    lines = "".join(
        f'<path class="frame" d="M{x:.1f} {y + high / 2:.1f}L{child.x * size:.1f}'
        f' {y + level - high / 2:.1f}"/>'
        for child in node.children
    )
    outline, inside = trees.COLOURS[node.kind]
    text = _text(node.text, x, y + 0.36 * size, INK, "middle", round(size, 1))
    return (
        f'{lines}<rect x="{x - wide / 2:.1f}" y="{y - high / 2:.1f}" width="{wide:.1f}"'
        f' height="{high:.1f}" rx="{0.6 * size:.1f}" fill="{inside}" stroke="{outline}"/>{text}'
    )


def _kinds(nodes: list[trees.Node]) -> str:
    """What the colours stand for, as far as they occur."""
    parts, left = [], 0
    for kind in trees.kinds(nodes):
        outline, inside = trees.COLOURS[kind]
        box = f'<rect x="{left + 1}" y="36" width="11" height="11"'
        parts += [f'{box} fill="{inside}" stroke="{outline}"/>', _text(kind, left + 18, 46)]
        left += 40 + round(_width(kind, SMALL))
    return "".join(parts)
