"""A chart as SVG text: axes with ticks, and points, lines, areas and words in a frame.

The report has a handful of these. They are written without a plotting library, which would take
longer to load and to draw than a short search runs. Words are text, drawn by the browser in the
colour of the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from symseek.arrays import Floats
from symseek.notation.mathml import escaped
from symseek.text import brief, shortened

__all__ = ["Axis", "Chart", "drawing", "text_width"]

WIDTH, HEIGHT = 672, 432  # of a picture, in pixels, like all lengths here
SIZE, SMALL, TITLE = 13.0, 12.0, 16.0  # of type
LETTER = 0.56  # the mean width of a letter, in parts of the type's size

_TOP, _BOTTOM, _RIGHT = 64, 54, 16  # around the frame
_TICKS = 6  # about so many
_DECADES = 7  # beyond which not every decade has a tick


def text_width(text: str, size: float = SIZE) -> float:
    """About how wide a text is drawn."""
    return sum(1.0 if ord(c) > 0x2E7F else LETTER for c in text) * size


def drawing(width: float, height: float, content: str, words: str) -> str:
    """The content as a picture, with words for those who do not see it."""
    return (
        f'<svg role="img" aria-label="{escaped(words)}" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}">{content}</svg>'
    )


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high`, with ticks."""

    label: str
    low: float
    high: float
    log: bool = False
    grid: bool = True
    shown: Callable[[float], str] | None = None  # how a tick is written
    whole: bool = False  # ticks at whole numbers only

    def part(self, values: ArrayLike) -> Floats:
        """Where values stand: 0 at the low end and 1 at the high one; NaN where there is none."""
        numbers = np.asarray(values, dtype=np.float64)
        low, high = self.low, self.high
        with np.errstate(all="ignore"):
            if self.log:
                numbers, low, high = np.log10(numbers), math.log10(low), math.log10(high)
            parts = (numbers - low) / (high - low)
        return np.where(np.isfinite(parts), parts, np.nan)

    def ticks(self) -> list[tuple[float, str]]:
        """Values with their texts."""
        values, digits = self._decades() if self.log else self._steps()
        return [(v, self.shown(v) if self.shown else brief(v, digits)) for v in values]

    def _steps(self) -> tuple[list[float], int]:
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(k * power for k in (1, 2, 5, 10) if k * power >= 0.999 * rough)
        step = max(step, 1.0) if self.whole else step
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        largest = max(abs(self.low), abs(self.high))
        digits = max(5 if largest < 1e5 else 3, math.ceil(math.log10(largest / step)) + 1)
        return [k * step for k in range(first, min(last, first + 50) + 1)], min(digits, 15)

    def _decades(self) -> tuple[list[float], int]:
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        every = max(1, math.ceil((last - first + 1) / _DECADES))
        powers = range(first - 1, last + 1, every)
        heads = (1, 2, 5) if last - first < 2 else (1,)
        values = [k * 10.0**power for power in powers for k in heads]
        return [v for v in values if self.low <= v <= self.high], 3


@dataclass
class Chart:
    """A frame with two axes, a title above it, and what is drawn into it.

    >>> chart = Chart("Two points", Axis("x", 0, 4), Axis("y", 0, 1))
    >>> chart.points([1, 2], [0.5, 1.0], "#0072B2")
    >>> chart.svg("and what they mean").count("<circle")
    2
    """

    title: str
    x: Axis
    y: Axis
    right: float = _RIGHT  # pixels beside the frame, which `beside` may use
    inside: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    legend: list[tuple[str, str]] = field(default_factory=list)  # texts with their colours

    def __post_init__(self) -> None:
        longest = max((text_width(text, SMALL) for _, text in self.y.ticks()), default=0.0)
        self.left = 40 + longest
        self.width, self.height = WIDTH - self.left - self.right, HEIGHT - _TOP - _BOTTOM

    def place(self, x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
        """Pixels in the frame."""
        return self.x.part(x) * self.width, (1 - self.y.part(y)) * self.height

    def points(
        self, x: ArrayLike, y: ArrayLike, color: str, radius: float = 3.0, opacity: float = 1.0
    ) -> None:
        """A disc for each point."""
        places = zip(*self.place(x, y), strict=True)
        discs = "".join(
            f'<circle cx="{left:.1f}" cy="{top:.1f}" r="{radius:g}"/>'
            for left, top in places
            if left == left and top == top
        )
        self.inside.append(f'<g fill="{color}" fill-opacity="{opacity:g}">{discs}</g>')

    def line(
        self,
        x: ArrayLike,
        y: ArrayLike,
        color: str,
        width: float = 1.5,
        steps: bool = False,
        dashed: bool = False,
    ) -> None:
        """A line through the points, broken where there is none; as steps, right first."""
        lefts, tops = self.place(x, y)
        parts, last = [], None
        for left, top in zip(lefts.tolist(), tops.tolist(), strict=True):
            if left != left or top != top:
                last = None
                continue
            if last is None:
                parts.append(f"M{left:.1f} {_bounded(top):.1f}")
            else:
                parts.append(("H" if steps else "L") + f"{left:.1f}")
                parts.append(("V" if steps else " ") + f"{_bounded(top):.1f}")
            last = left
        dash = ' stroke-dasharray="2 4"' if dashed else ""
        self.inside.append(
            f'<path d="{"".join(parts)}" fill="none" stroke="{color}" stroke-width="{width:g}"'
            f'{dash} stroke-linejoin="round"/>'
        )

    def area(
        self, x: ArrayLike, low: ArrayLike, high: ArrayLike, color: str, opacity: float = 1.0
    ) -> None:
        """What lies between two lines."""
        lefts, bottoms = self.place(x, low)
        _, tops = self.place(x, high)
        there = list(zip(lefts, tops, strict=True))
        back = list(zip(lefts, bottoms, strict=True))[::-1]
        corners = " ".join(f"{a:.1f},{_bounded(b):.1f}" for a, b in there + back if b == b)
        self.inside.append(
            f'<polygon points="{corners}" fill="{color}" fill-opacity="{opacity:g}"/>'
        )

    def cells(self, x: Floats, y: Floats, color: str, size: float = 8.0) -> None:
        """Of very many points, how many there are in each small cell."""
        columns, rows = int(self.width // size), int(self.height // size)
        counts, _, _ = np.histogram2d(
            self.x.part(x), self.y.part(y), bins=(columns, rows), range=((0, 1), (0, 1))
        )
        shades = np.log1p(counts) / max(math.log1p(counts.max()), 1e-9)
        wide, high = self.width / columns, self.height / rows
        boxes = "".join(
            f'<rect x="{i * wide:.1f}" y="{self.height - (j + 1) * high:.1f}"'
            f' width="{wide:.1f}" height="{high:.1f}" fill-opacity="{shades[i, j]:.2f}"/>'
            for i, j in np.argwhere(counts).tolist()
        )
        self.inside.append(f'<g fill="{color}">{boxes}</g>')

    def words(
        self, text: str, left: float, top: float, color: str = "", side: str = "start"
    ) -> None:
        """Small words at a place in the frame, given in parts of it from the left and the top."""
        self.inside.append(written(text, left * self.width, top * self.height, color, side))

    def svg(self, caption: str) -> str:
        """The chart as a picture; the caption goes to those who do not see it."""
        size = f'width="{self.width:.1f}" height="{self.height:.1f}"'
        parts = [
            written(shortened(self.title, 90), 0, 18, size=_fitting(self.title), weight=600),
            self._legend(),
            f'<g transform="translate({self.left:.1f} {_TOP})">',
            *self._axes(),
            # The frame of its own cuts off what leaves it.
            f"<svg {size}>{''.join(self.inside)}</svg>",
            *self.beside,
            "</g>",
        ]
        return drawing(WIDTH, HEIGHT, "".join(parts), f"{self.title}. {caption}")

    def _legend(self) -> str:
        parts, left = [], self.left
        for text, color in self.legend:
            parts.append(f'<circle cx="{left + 5:.1f}" cy="42" r="5" fill="{color}"/>')
            parts.append(written(text, left + 15, 46))
            left += 36 + text_width(text, SMALL)
        return "".join(parts)

    def _axes(self) -> list[str]:
        wide, high = self.width, self.height
        parts = []
        for value, text in self.x.ticks():
            at = float(self.x.part(value)) * wide
            if self.x.grid:
                parts.append(f'<path class="grid" d="M{at:.1f} 0V{high}"/>')
            parts.append(written(text, at, high + 18, side="middle"))
        for value, text in self.y.ticks():
            at = (1 - float(self.y.part(value))) * high
            if self.y.grid:
                parts.append(f'<path class="grid" d="M0 {at:.1f}H{wide:.1f}"/>')
            parts.append(written(text, -7, at + 4, side="end"))
        parts.append(f'<path class="frame" d="M0 0V{high}H{wide:.1f}"/>')
        parts.append(
            written(shortened(self.x.label, 60), wide / 2, high + 42, side="middle", size=SIZE)
        )
        label = written(shortened(self.y.label, 45), 0, 0, side="middle", size=SIZE)
        turned = f"translate({14 - self.left:.1f} {high / 2:.0f}) rotate(-90)"
        parts.append(f'<g transform="{turned}">{label}</g>')
        return parts


def written(
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


def _fitting(title: str) -> float:
    """The size of type in which a title is no wider than the picture."""
    return round(min(TITLE, WIDTH / max(text_width(shortened(title, 90), 1.0), 1.0)), 1)


def _bounded(pixels: float) -> float:
    """Far outside the frame is outside it: some browsers choke on huge coordinates."""
    return min(max(pixels, -1e4), 1e4)
