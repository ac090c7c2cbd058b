"""How strongly slow waves are in residuals, one sum after another."""

from __future__ import annotations

import math
from itertools import combinations, product

from symseek.arrays import Floats

__all__ = ["waves"]


def waves(residuals: Floats, X: Floats, weights: Floats) -> list[float]:
    """Six waves along each input, and products of the two slowest along each pair of inputs."""
    rows = range(len(residuals))
    middle = sum(weights[i] * residuals[i] for i in rows) / sum(weights)
    centred = [float(weights[i] * (residuals[i] - middle)) for i in rows]
    inputs = [place(X[:, at]) for at in range(X.shape[1]) if len(set(X[:, at])) > 1]
    shapes = [wave(each, order) for each in inputs for order in range(1, 7)]
    for one, other in combinations(inputs, 2):
        for orders in product((1, 2), repeat=2):
            pair = wave(one, orders[0]), wave(other, orders[1])
            shapes.append([pair[0][i] * pair[1][i] for i in rows])
    return [strength(centred, shape) for shape in shapes]


def place(column: Floats) -> list[float]:
    """The share of the values below each, and half of those equal to it."""
    below = [sum(other < one for other in column) for one in column]
    equal = [sum(other == one for other in column) for one in column]
    return [(b + e / 2) / len(column) for b, e in zip(below, equal, strict=True)]


def wave(places: list[float], order: int) -> list[float]:
    """A cosine with so many half periods."""
    return [round(math.cos(math.pi * order * each), 12) for each in places]


def strength(centred: list[float], shape: list[float]) -> float:
    """The sum of the products, over the root of the sum of their squares."""
    parts = [one * other for one, other in zip(centred, shape, strict=True)]
    squares = sum(each * each for each in parts)
    return abs(sum(parts)) / math.sqrt(squares) if squares else 0.0
