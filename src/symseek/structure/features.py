"""Features: small families of functions of the columns, of which a transformed target may be a sum.

Polynomials, quotients of powers, sines of one column times powers of the others, exponentials and
logarithms. A family is small, so that one factorisation tells for all targets at once whether they
lie in its span.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from itertools import product as choices
from typing import TypeAlias

import numpy as np

from symseek.arrays import Floats
from symseek.structure.targets import Preorder, chain, monomial, powers, quotient

Rates: TypeAlias = dict[tuple[int, int], list[float]]  # by column and power of it, in halves

_MOST = 48  # features in a family
_SMALLEST, _LARGEST = 1e-150, 1e12  # squares of smaller numbers underflow
# Exponents of two columns u and v in pairs of products of them: u and u*v, u and u/v, ...
_BASES = (
    ((1, 0), (1, 1)),
    ((0, 1), (1, 1)),
    ((1, 0), (-1, 1)),
    ((0, 1), (1, -1)),
    ((1, 0), (1, -1)),
    ((0, 1), (-1, 1)),
    ((-1, 0), (1, -1)),
    ((-1, 1), (-2, 1)),
    ((1, -1), (1, -2)),
    ((1, 0), (0, -1)),
    ((-1, 0), (0, 1)),
    ((-1, 0), (0, -1)),
)


@dataclass(frozen=True)
class Family:
    """Some features and their values."""

    words: tuple[tuple[str | float, ...], ...]  # of each feature, in pre-order; empty for 1
    table: Floats  # [N, M]


@dataclass(frozen=True)
class _Feature:
    words: Preorder
    values: Floats

    def times(self, other: _Feature) -> _Feature:
        """The product; empty words stand for 1."""
        return _Feature(
            chain([each for each in (self.words, other.words) if each]), self.values * other.values
        )


class _Columns:
    """Makes features of the columns."""

    def __init__(self, Z: Floats, names: tuple[str, ...], operators: set[str]) -> None:
        self.Z, self.names, self.operators = Z, names, operators
        self.one = _Feature([], np.ones(len(Z)))
        self.nonzero = [bool((column != 0).all()) for column in Z.T]
        self.positive = [bool((column > 0).all()) for column in Z.T]

    def power(self, at: int, halves: int) -> _Feature:
        """A power of a column; below the line for a negative one."""
        return self.one if halves == 0 else self.monomial((at,), (halves,))

    def monomial(self, columns: tuple[int, ...], halves: tuple[int, ...]) -> _Feature:
        """A product of powers, with one line between those above and those below."""
        words = quotient(*powers([self.names[c] for c in columns], halves))
        return _Feature(words, monomial(self.Z, columns, halves))

    def usable(self, columns: tuple[int, ...], halves: tuple[int, ...]) -> bool:
        """Whether every power is defined on all rows, and can be written."""
        return all(
            (h >= 0 or (self.nonzero[c] and "div" in self.operators))
            and (h % 2 == 0 or (self.positive[c] and "sqrt" in self.operators))
            for c, h in zip(columns, halves, strict=True)
        )

    def monomials(
        self, columns: tuple[int, ...], exponents: tuple[int, ...], most: int
    ) -> list[_Feature]:
        """All with these exponents, in halves, whose sizes sum up to no more than `most`."""
        return [
            self.monomial(columns, halves)
            for halves in choices(exponents, repeat=len(columns))
            if sum(map(abs, halves)) <= most and self.usable(columns, halves)
        ]

    def function(self, name: str, at: int, scale: float = 1.0, halves: int = 2) -> _Feature:
        """A function of a power of a column, times a number."""
        inside = self.power(at, halves)
        with np.errstate(all="ignore"):
            values = getattr(np, name)(scale * inside.values)
        words = inside.words if scale == 1.0 else ["mul", scale, *inside.words]
        return _Feature([name, *words], values)


def families(
    Z: Floats, names: tuple[str, ...], operators: set[str], rates: Rates
) -> Iterator[Family]:
    """The families for some columns, small ones first; `rates` has frequencies along each."""
    columns = _Columns(Z, names, operators)
    for features in _sets(columns, rates):
        unique = {tuple(each.words): each for each in features}
        kept = [
            each
            for each in unique.values()
            if np.isfinite(each.values).all() and _SMALLEST < np.abs(each.values).max() < _LARGEST
        ][:_MOST]
        if kept:
            table = np.column_stack([each.values for each in kept])
            yield Family(tuple(tuple(each.words) for each in kept), table)


def _sets(columns: _Columns, rates: Rates) -> Iterator[list[_Feature]]:
    count = columns.Z.shape[1]
    every = tuple(range(count))
    if not count:
        yield [columns.one]
        return
    for at in every:
        yield columns.monomials((at,), (0, 2, -2, 4, -4, 6, 8), 8)
        yield columns.monomials((at,), (0, 2, 4, 6, 8, 10, 12, 14, 16, 18), 18)
        yield columns.monomials((at,), (0, 1, -1, 2, -2, 3, -3, 4, -4), 4)
        yield from _curves(columns, at, rates)
    for size in range(2, min(count, 6) + 1):
        for chosen in combinations(every, size):
            yield columns.monomials(chosen, (0, 2, 4), 4)
    if count > 1:
        yield [columns.one, *(columns.power(at, h) for at in every for h in (2, 4, 6, 8))]
    for chosen in combinations(every, 2):
        yield columns.monomials(chosen, (0, 2, -2, 4, -4), 8)
        yield columns.monomials(chosen, (0, 1, -1, 2, -2, 3, -3), 4)
        yield columns.monomials(chosen, (0, 2, 4, 6, 8), 8)
        yield from _other_bases(columns, chosen)
    for chosen in combinations(every, 3):
        yield columns.monomials(chosen, (0, 2, -2), 6)
        yield columns.monomials(chosen, (0, 2, 4, 6), 6)
    if "log" in columns.operators and all(columns.positive):
        yield [columns.one, *(columns.function("log", at) for at in every)]
    if count > 1:
        yield from _short_waves(columns)
        yield from _waves(columns, rates)


def _other_bases(columns: _Columns, chosen: tuple[int, int]) -> Iterator[list[_Feature]]:
    """Polynomials of products and quotients of two columns: which of them are simple, who knows."""
    for first, second in _BASES:
        powers = [
            tuple(2 * (a * f + b * s) for f, s in zip(first, second, strict=True))
            for a, b in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2))
        ]
        if all(columns.usable(chosen, each) for each in powers):
            made = [columns.monomial(chosen, each) for each in powers]
            yield made[:4]
            yield made


def _curves(columns: _Columns, at: int, rates: Rates) -> Iterator[list[_Feature]]:
    """Functions of one column, and their products with its powers."""
    powers = [columns.power(at, halves) for halves in (0, 2, 4)]
    operators = columns.operators
    if {"sin", "cos"} <= operators:
        for halves in (2, -2):
            for scale in rates.get((at, halves), []):
                sine, cosine = (columns.function(f, at, scale, halves) for f in ("sin", "cos"))
                waves = [sine, cosine, sine.times(sine), sine.times(cosine)]
                yield [*powers, *(w.times(p) for w in waves for p in powers)]
    if "exp" in operators:
        rising, falling = (columns.function("exp", at, scale) for scale in (1.0, -1.0))
        curves = [rising, falling]
        curves += [columns.function("exp", at, scale, 4) for scale in (-1.0, -0.5)]
        yield [*powers, *(c.times(p) for c in curves for p in powers)]
    if "log" in operators and columns.positive[at]:
        log = columns.function("log", at)
        yield [*powers, *(log.times(p) for p in powers), log.times(log)]


def _short_waves(columns: _Columns) -> Iterator[list[_Feature]]:
    """Few features of a column and the sine or cosine of another: quotients need few."""
    if not {"sin", "cos"} <= columns.operators:
        return
    for at, other in permutations(range(columns.Z.shape[1]), 2):
        powers = [columns.power(other, halves) for halves in (0, 2, 4)]
        for name in ("sin", "cos"):
            wave = columns.function(name, at)
            yield [p.times(w) for p in powers for w in (columns.one, wave)]
            yield [p.times(w) for p in powers for w in (columns.one, wave, wave.times(wave))]


def _waves(columns: _Columns, rates: Rates) -> Iterator[list[_Feature]]:
    """A sine and cosine of one column times powers of the others."""
    if not {"sin", "cos"} <= columns.operators:
        return
    count = columns.Z.shape[1]
    for at in range(count):
        others = tuple(each for each in range(count) if each != at)
        for chosen in [(each,) for each in others] + list(combinations(others, 2)):
            exponents = (0, 1, -1, 2, -2, 3, 4, -4) if len(chosen) == 1 else (0, 2, -2, 4)
            powers = columns.monomials(chosen, exponents, 4)[:10]
            for scale in rates.get((at, 2), []):
                sine, cosine = (columns.function(name, at, scale) for name in ("sin", "cos"))
                waves = [columns.one, sine, cosine, sine.times(sine)]
                yield [w.times(p) for w in waves for p in powers]
