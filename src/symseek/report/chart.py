"""What a chart shows: two axes, and the marks in the order in which they are drawn.

`symseek.report.svg` draws it for the HTML report, `symseek.report.plots` with Matplotlib. A chart
with nothing to show is a sentence instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from numpy.typing import ArrayLike

from symseek.arrays import Floats

# Okabe and Ito's colours, which stay apart for colour-blind readers and in greyscale.
BLUE, ORANGE, GREEN, SKY = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
INK, MUTED = "#222222", "#666666"
# Paul Tol's muted scheme, for as many as eight things side by side.
SERIES = ("#88CCEE", "#332288", "#44AA99", "#117733", "#DDCC77", "#CC6677", "#882255", "#AA4499")
REST = "#D8D8D8"


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high`."""

    label: str
    low: float
    high: float
    log: bool = False
    grid: bool = True
    shown: Callable[[float], str] | None = None  # how a tick is written
    whole: bool = False  # ticks at whole numbers only


@dataclass(frozen=True)
class Cloud:
    """A point for each row; very many are counted in small cells."""

    x: Floats
    y: Floats
    color: str
    label: str = ""
    size: float = 1.0  # of the area of a point


@dataclass(frozen=True)
class Points:
    """Discs; the radius is in pixels of a chart that is 672 wide, as are widths of lines."""

    x: ArrayLike
    y: ArrayLike
    color: str
    radius: float
    label: str = ""


@dataclass(frozen=True)
class Tags:
    """A short text beside each of some points."""

    x: ArrayLike
    y: ArrayLike
    texts: Sequence[str]
    colors: Sequence[str]


@dataclass(frozen=True)
class Line:
    """A line through points, broken where a value is NaN; as steps, right first.

    A line of one point is a disc.
    """

    x: ArrayLike
    y: ArrayLike
    color: str
    width: float = 1.5
    label: str = ""
    steps: bool = False
    dashed: bool = False


@dataclass(frozen=True)
class Area:
    """What lies between two lines."""

    x: ArrayLike
    low: ArrayLike
    high: ArrayLike
    color: str
    opacity: float = 1.0
    label: str = ""


@dataclass(frozen=True)
class Words:
    """A short text in the frame, its place in parts of it from the lower left corner."""

    text: str
    x: float
    y: float
    color: str = MUTED
    right: bool = False  # it ends there instead of beginning


@dataclass(frozen=True)
class Bars:
    """Beside the frame: how often values fall into equal parts of the vertical axis."""

    counts: Sequence[int]
    color: str


@dataclass(frozen=True)
class Names:
    """Beside the frame: names, with lines to the heights that they name, in parts of the frame."""

    texts: Sequence[str]
    heights: Sequence[float]
    places: Sequence[float]  # heights of the names themselves
    colors: Sequence[str]


Mark: TypeAlias = Cloud | Points | Tags | Line | Area | Words | Bars | Names


@dataclass(frozen=True)
class Chart:
    """A chart. Marks with a label are in its legend."""

    title: str
    x: Axis
    y: Axis
    marks: Sequence[Mark]
