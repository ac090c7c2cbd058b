"""Cycles: the frequency of a sine cannot be fitted from afar, so it is read off the data first.

A fit of sin(c*x) goes downhill from where it starts, and between two frequencies there is a hill
for every wave that they differ by. So the frequencies along each column come from a periodogram of
what a trend leaves (Lomb's, by least squares, which needs no even spacing), and a trend with such a
cycle is among the first formulas of a search.
"""

from __future__ import annotations

import math

import numpy as np

from symseek.arrays import Floats
from symseek.data import Data
from symseek.programs import Program, Programs
from symseek.structure.solving import least_squares, power_of_two
from symseek.tokens import Library

_FEWEST = 12  # rows: with fewer, some frequency always fits
_MOST = 2_000  # rows that are looked at
_NARROWEST = 1e-300  # range of a column: a frequency along a narrower one overflows
_FEWEST_WAVES = 1.5  # over all rows
_FINENESS = 4  # frequencies tried for each that the rows tell apart
_NEAR = 101  # frequencies tried around a peak
_CLEAR = 25.0  # the chance that noise has such a peak is less than exp(-25/2)
_MOST_COLUMNS = 100  # that are looked along
_PEAKS = 2  # that are tried along a column


@np.errstate(all="ignore")  # what overflows shows in its values
def frequencies(x: Floats, y: Floats) -> list[float]:
    """The clear angular frequencies of y along x, the strongest first.

    >>> x = np.arange(120.0)
    >>> round(frequencies(x, 0.1 * x + np.sin(2 * np.pi * x / 12))[0], 3)
    0.524
    """
    every = slice(None, None, -(-len(x) // _MOST))
    x, y = x[every], y[every]
    if not np.isfinite(x).all():
        return []
    gaps = np.diff(np.unique(x))
    span = float(gaps.sum())
    if len(gaps) + 1 < _FEWEST or not _NARROWEST < span < np.inf:
        return []
    place = 2 * (x - x.min()) / span - 1
    trend = np.vander(place, 3)
    # Powers are ratios, which no unit changes.
    left = _remainder(trend, y / power_of_two(np.abs(y).max()))
    # One wave over all rows is a trend; two rows a wave is the most that even spacing tells.
    most = min(0.5 * span / float(np.median(gaps)), float(len(gaps)))
    found: list[float] = []
    for _ in range(_PEAKS):
        if left is None:
            break
        strongest, power = _strongest(x - x.min(), left, span, most)
        tried = _FINENESS * most
        if power * len(x) < _CLEAR + 2 * math.log(max(tried, 1.0)):
            break
        found.append(strongest)
        wave = np.column_stack([np.sin(strongest * x), np.cos(strongest * x), trend])
        left = _remainder(wave, left)
    return found


def _remainder(table: Floats, values: Floats) -> Floats | None:
    """What the columns of a table do not explain; None if that cannot be said."""
    numbers = least_squares(table, values)
    return None if numbers is None else values - table @ numbers


def _strongest(x: Floats, left: Floats, span: float, most: float) -> tuple[float, float]:
    """The frequency of up to so many waves over the span that explains most, and how much.

    A Fourier transform of the rows in narrow cells shows where to look closely.
    """
    cells = 8 * max(int(most), 2)
    heights = np.bincount(np.minimum((x / span * cells).astype(np.int64), cells - 1), left, cells)
    spectrum = np.abs(np.fft.rfft(heights, cells * _FINENESS))
    spectrum = spectrum[: int(_FINENESS * most) + 1]
    spectrum[: math.ceil(_FINENESS * _FEWEST_WAVES)] = 0.0
    step = 2 * math.pi / span / _FINENESS
    near = step * (int(spectrum.argmax()) + np.linspace(-1, 1, _NEAR))
    powers = _powers(x, left, near)
    best = int(powers.argmax())
    return float(near[best]), float(powers[best])


def _powers(x: Floats, left: Floats, tried: Floats) -> Floats:
    """The part of the variance that a sine and a cosine of each frequency explain."""
    total = float(left @ left)
    if not total > 0:
        return np.zeros(len(tried))
    powers = np.empty(len(tried))
    for at, frequency in enumerate(tried.tolist()):
        sine, cosine = np.sin(frequency * x), np.cos(frequency * x)
        ss, cc, sc = sine @ sine, cosine @ cosine, sine @ cosine
        s, c = sine @ left, cosine @ left
        determinant = ss * cc - sc * sc
        explained = (s * s * cc + c * c * ss - 2 * s * c * sc) / max(determinant, 1e-9 * ss * cc)
        powers[at] = explained / total
    return powers


def cyclic_programs(library: Library, data: Data) -> Programs:
    """Trends with a cycle, or two, for every column along which there is a clear one.

    Their constants start where a fit finds the frequencies.

    >>> x = np.arange(120.0)
    >>> data = Data(x[:, None], 0.1 * x + np.sin(2 * np.pi * x / 12), np.ones(120))
    >>> library = Library(["add", "mul", "sin", "const"], ["x"])
    >>> print(next(iter(cyclic_programs(library, data))).preorder().split()[:6])
    ['add', 'mul', 'sin', 'add', 'mul', 'x']
    """
    found: list[Program] = []
    if {"add", "mul", "sin", "const"} <= set(library.names):
        for at in _smoothest(data):
            column, name = data.X[:, at], library.variables[at]
            known = frequencies(column, data.y)
            for count in range(1, len(known) + 1):
                for degree in (0, 1, 2):
                    words = _fitted(column, data.y, name, degree, known[:count])
                    if words is not None:
                        found.append(Program.from_preorder(words, library))
    return Programs.from_list(found, library)


def _smoothest(data: Data) -> list[int]:
    """The columns to look along; of very many, those along which y changes least row by row.

    >>> draw = np.random.default_rng(0)
    >>> X = draw.uniform(0, 9, (400, 1_000))
    >>> 7 in _smoothest(Data(X, np.sin(4 * X[:, 7]), np.ones(400)))
    True
    """
    columns = data.X.shape[1]
    if columns <= _MOST_COLUMNS:
        return list(range(columns))
    every = slice(None, None, -(-len(data.y) // _MOST))
    X, y = data.X[every], data.y[every] / power_of_two(np.abs(data.y).max())
    changes = [float((np.diff(y[np.argsort(x, kind="stable")]) ** 2).sum()) for x in X.T]
    return sorted(np.argsort(changes, kind="stable")[:_MOST_COLUMNS].tolist())


def _fitted(
    x: Floats, y: Floats, name: str, degree: int, frequencies: list[float]
) -> list[str | float] | None:
    """A polynomial of x and waves of these frequencies, their constants by least squares."""
    with np.errstate(all="ignore"):
        waves = [wave(each * x) for each in frequencies for wave in (np.sin, np.cos)]
        table = np.column_stack([*waves, np.vander(x, degree + 1)])
    fitted = least_squares(table, y)
    if fitted is None:
        return None
    numbers = fitted.tolist()
    words: list[str | float] = []
    for at, frequency in enumerate(frequencies):
        sine, cosine = numbers[2 * at : 2 * at + 2]
        size, shift = math.hypot(sine, cosine), math.atan2(cosine, sine)
        words += ["add", "mul", "sin", "add", "mul", name, frequency, shift, size]
    highest, *rest = numbers[2 * len(frequencies) :]
    trend: list[str | float] = [highest]
    for number in rest:  # Horner's form
        trend = ["add", "mul", name, *trend, number]
    return words + trend
