"""Transformed targets: y/m is f(s), where s may be a simple sum though y is none.

Each form has the function f, its inverse, by which the rows are transformed, and the way to write
it. The multipliers m are short products of powers of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product as choices

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats

Preorder = list[str | float]

_SMALLEST = 1e-150  # squares of smaller numbers underflow
_LARGEST = 1e8  # a transformed target beyond this is near a pole


@dataclass(frozen=True)
class Link:
    """A function f with y/m = f(s); `undo` gives s of y/m, NaN where there is none."""

    name: str
    undo: Callable[[Floats], Floats]
    apply: Callable[[Floats], Floats]
    words: Callable[[Preorder], Preorder]  # of f(s), for the words of s
    operators: tuple[str, ...] = ()  # that the words need


def _where(condition: NDArray[np.bool_], values: Floats) -> Floats:
    return np.where(condition, values, np.nan)


LINKS = (
    Link("s", lambda v: v, lambda s: s, lambda s: s),
    Link("1/s", lambda v: 1 / v, lambda s: 1 / s, lambda s: ["div", 1.0, *s], ("div",)),
    Link("sqrt(s)", lambda v: _where(v > 0, v * v), np.sqrt, lambda s: ["sqrt", *s], ("sqrt",)),
    Link(
        "1/sqrt(s)",
        lambda v: _where(v > 0, 1 / (v * v)),
        lambda s: 1 / np.sqrt(s),
        lambda s: ["div", 1.0, "sqrt", *s],
        ("div", "sqrt"),
    ),
    Link("s**2", lambda v: np.sqrt(v), lambda s: s * s, lambda s: ["mul", *s, *s]),
    Link(
        "1/s**2",
        lambda v: 1 / np.sqrt(v),
        lambda s: 1 / (s * s),
        lambda s: ["div", 1.0, "mul", *s, *s],
        ("div",),
    ),
    Link("exp(s)", np.log, np.exp, lambda s: ["exp", *s], ("exp",)),
    Link("log(s)", np.exp, np.log, lambda s: ["log", *s], ("log",)),
    Link(
        "1/(exp(s) - 1)",
        lambda v: _where(v > 0, np.log1p(1 / v)),
        lambda s: 1 / np.expm1(s),
        lambda s: ["div", 1.0, "sub", "exp", *s, 1.0],
        ("div", "sub", "exp"),
    ),
    Link(
        "exp(s) - 1",
        lambda v: np.log1p(v),
        np.expm1,
        lambda s: ["sub", "exp", *s, 1.0],
        ("sub", "exp"),
    ),
    Link(
        "1/(exp(s) + 1)",
        lambda v: np.log(1 / v - 1),
        lambda s: 1 / (np.exp(s) + 1),
        lambda s: ["div", 1.0, "add", "exp", *s, 1.0],
        ("div", "add", "exp"),
    ),
    Link(
        "tanh(s)",
        np.arctanh,
        np.tanh,
        # 1 - 2/(exp(2*s) + 1), with operators that every library has
        lambda s: ["sub", 1.0, "div", 2.0, "add", "exp", "mul", 2.0, *s, 1.0],
        ("sub", "div", "add", "exp"),
    ),
    Link("sin(s)", np.arcsin, np.sin, lambda s: ["sin", *s], ("sin",)),
    Link("cos(s)", np.arccos, np.cos, lambda s: ["cos", *s], ("cos",)),
    Link(
        "sin(s)**2",
        lambda v: np.arcsin(np.sqrt(v)),
        lambda s: np.sin(s) ** 2,
        lambda s: ["mul", "sin", *s, "sin", *s],
        ("sin",),
    ),
    Link(
        "asin(s)",
        lambda v: _where(np.abs(v) <= np.pi / 2, np.sin(v)),
        np.arcsin,
        lambda s: ["asin", *s],
        ("asin",),
    ),
    Link(
        "acos(s)",
        lambda v: _where((v >= 0) & (v <= np.pi), np.cos(v)),
        np.arccos,
        lambda s: ["acos", *s],
        ("acos",),
    ),
)


@dataclass(frozen=True)
class Multiplier:
    """A product of powers of the columns, the exponents in halves."""

    halves: tuple[int, ...]
    values: Floats  # [N]

    @property
    def plain(self) -> bool:
        """Whether it is 1."""
        return not any(self.halves)

    def words(self, names: tuple[str, ...]) -> tuple[Preorder, Preorder]:
        """What is above and below the line; empty for 1."""
        return powers(names, self.halves)


@dataclass(frozen=True)
class TransformedTarget:
    """The rows of s, if y/m is f(s)."""

    form: Link
    multiplier: Multiplier
    values: Floats  # [N] of s


def chain(parts: list[Preorder]) -> Preorder:
    """A product in pre-order; empty for no parts."""
    result: Preorder = []
    for each in reversed(parts):
        result = ["mul", *each, *result] if result else each
    return result


def times(factor: Preorder, words: Preorder) -> Preorder:
    """A product, either part of which may be empty for 1; what is over 1/... goes above the line.

    >>> times([2.0], ["div", 1.0, "x"]), times([2.0], ["x"])
    (['div', 2.0, 'x'], ['mul', 2.0, 'x'])
    """
    if factor and words[:2] == ["div", 1.0]:
        return ["div", *factor, *words[2:]]
    return chain([each for each in (factor, words) if each])


def total(parts: list[Preorder]) -> Preorder:
    """A sum in pre-order."""
    result = parts[-1]
    for each in reversed(parts[:-1]):
        result = ["add", *each, *result]
    return result


def monomial(Z: Floats, columns: Sequence[int], halves: Sequence[int]) -> Floats:
    """The values [N] of a product of powers of columns, the exponents in halves."""
    values = np.ones(len(Z))
    with np.errstate(all="ignore"):
        for at, half in zip(columns, halves, strict=True):
            values = values * Z[:, at] ** (half / 2)
    return values


def defined(column: Floats, halves: int, operators: set[str]) -> bool:
    """Whether a power of a column, in halves, is a number on all rows and can be written."""
    if halves < 0 and not ((column != 0).all() and "div" in operators):
        return False
    return halves % 2 == 0 or bool((column > 0).all() and "sqrt" in operators)


def power_words(name: str, halves: int) -> Preorder:
    """A positive power of a column, its exponent in halves."""
    parts: list[Preorder] = [[name]] * (halves // 2)
    return chain([*parts, ["sqrt", name]] if halves % 2 else parts)


def powers(names: Sequence[str], halves: Sequence[int]) -> tuple[Preorder, Preorder]:
    """A product of powers of columns: what is above and below the line; empty for 1.

    >>> powers(["x", "y", "z"], [2, -3, 0])
    (['x'], ['mul', 'y', 'sqrt', 'y'])
    """
    pairs = list(zip(names, halves, strict=True))
    above = [power_words(name, half) for name, half in pairs if half > 0]
    below = [power_words(name, -half) for name, half in pairs if half < 0]
    return chain(above), chain(below)


def quotient(above: Preorder, below: Preorder) -> Preorder:
    """What is above over what is below, either of which may be empty for 1; empty if both are.

    >>> quotient([], ["x"])
    ['div', 1.0, 'x']
    """
    return ["div", *(above or [1.0]), *below] if below else above


def multipliers(Z: Floats, operators: set[str]) -> Iterator[Multiplier]:
    """The short products of powers: fewer exponents the more columns there are."""
    count = Z.shape[1]
    whole = {0: (), 1: (0, 2, -2, 4, -4, 6, -6), 2: (0, 2, -2, 4, -4)}.get(count, (0, 2, -2))
    halves = (1, -1, 3, -3) if count == 1 and "sqrt" in operators else ()
    nonzero = ["div" in operators and bool((column != 0).all()) for column in Z.T]
    positive = [bool((column > 0).all()) for column in Z.T]
    allowed = [
        [h for h in (*whole, *(halves if positive[at] else ())) if h >= 0 or nonzero[at]]
        for at in range(count)
    ]
    most = 10 if count < 3 else 6
    for chosen in choices(*allowed):
        if sum(map(abs, chosen)) <= most:
            values = monomial(Z, range(count), chosen)
            if np.isfinite(values).all() and (values != 0).all():
                yield Multiplier(chosen, values)


def targets(Z: Floats, y: Floats, operators: set[str]) -> list[TransformedTarget]:
    """Every transformed target that is a finite number on all rows."""
    found = []
    for multiplier in multipliers(Z, operators):
        for form in LINKS:
            if not set(form.operators) <= operators:
                continue
            with np.errstate(all="ignore"):
                values = form.undo(y / multiplier.values)
            if np.isfinite(values).all() and _SMALLEST < np.abs(values).max() < _LARGEST:
                found.append(TransformedTarget(form, multiplier, values))
    return found
