"""A transform: the table's rows by fewer columns, each a formula of the table's own.

If y depends on its columns only through v/c, but for a factor m, then y/m is a function of one
column. A transform has the derived columns and the factor, makes the data of them, and writes a
program over the derived columns back as one over the table's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.data import Data
from symseek.programs import Program
from symseek.structure.solving import power_of_two
from symseek.structure.targets import Preorder, chain, quotient
from symseek.tokens import Library, TokenKind


@dataclass(frozen=True)
class TableColumn:
    """A column of the table."""

    index: int
    name: str

    def values(self, X: Floats) -> Floats:
        """Its values [N]."""
        return X[:, self.index]

    def words(self) -> Preorder:
        """Its names in pre-order."""
        return [self.name]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ColumnProduct:
    """A product of powers, the exponents whole numbers, halves, or halves of those.

    >>> v, c = TableColumn(0, "v"), TableColumn(1, "c")
    >>> law = ColumnProduct(((v, Fraction(1)), (c, Fraction(-2))))
    >>> str(law), law.words()
    ('v/c**2', ['div', 'v', 'mul', 'c', 'c'])
    """

    factors: tuple[tuple[DerivedColumn, Fraction], ...]

    def values(self, X: Floats) -> Floats:
        """Its values [N]."""
        result = np.ones(len(X))
        with np.errstate(all="ignore"):
            for part, power in self.factors:
                result = result * part.values(X) ** float(power)
        return result

    def words(self) -> Preorder:
        """Its names in pre-order, with mul, div and sqrt alone."""
        return quotient(*self.fraction()) or [1.0]

    def fraction(self) -> tuple[Preorder, Preorder]:
        """What is above and below the line; empty for 1."""
        above = _multiplied([pair for pair in self.factors if pair[1] > 0])
        return above, _multiplied([(part, -power) for part, power in self.factors if power < 0])

    def __str__(self) -> str:
        above = [_power(part, power) for part, power in self.factors if power > 0]
        below = [_power(part, -power) for part, power in self.factors if power < 0]
        text = "*".join(above) or "1"
        if not below:
            return text
        return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'*'.join(below)})"


@dataclass(frozen=True)
class ColumnSum:
    """A sum or a difference of two parts.

    >>> str(ColumnSum(TableColumn(0, "a"), TableColumn(1, "b"), -1))
    'a - b'
    """

    first: DerivedColumn
    second: DerivedColumn
    sign: int  # of the second

    def values(self, X: Floats) -> Floats:
        """Its values [N]."""
        return self.first.values(X) + self.sign * self.second.values(X)

    def words(self) -> Preorder:
        """Its names in pre-order."""
        operator = "add" if self.sign > 0 else "sub"
        return [operator, *self.first.words(), *self.second.words()]

    def __str__(self) -> str:
        return f"{self.first} {'+' if self.sign > 0 else '-'} {self.second}"


DerivedColumn: TypeAlias = TableColumn | ColumnProduct | ColumnSum

ONE = ColumnProduct(())


def product(*factors: tuple[DerivedColumn, Fraction]) -> DerivedColumn:
    """The product of some powers, its inner products opened; a lone part stays what it is.

    >>> a, b = TableColumn(0, "a"), TableColumn(1, "b")
    >>> inner = product((a, Fraction(1)), (b, Fraction(-1)))
    >>> str(product((inner, Fraction(2)), (b, Fraction(2))))
    'a**2'
    """
    powers: dict[DerivedColumn, Fraction] = {}
    for part, power in factors:
        inner = part.factors if isinstance(part, ColumnProduct) else ((part, Fraction(1)),)
        for each, exponent in inner:
            powers[each] = powers.get(each, Fraction(0)) + exponent * power
    kept = tuple((part, power) for part, power in powers.items() if power)
    if len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0]
    return ColumnProduct(kept)


@dataclass(frozen=True)
class Transform:
    """Derived columns and a factor of the target: y = factor * f(columns)."""

    columns: tuple[DerivedColumn, ...]
    factor: DerivedColumn = field(default=ONE)

    @classmethod
    def plain(cls, variables: Sequence[str]) -> Transform:
        """The table as it is."""
        return cls(tuple(TableColumn(at, name) for at, name in enumerate(variables)))

    @property
    def is_plain(self) -> bool:
        """Whether it has no columns but the table's own, and its target."""
        return self.factor == ONE and all(isinstance(each, TableColumn) for each in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The derived columns for reading."""
        return tuple(map(str, self.columns))

    def data(self, data: Data) -> Data:
        """The rows in this transform, weighted such that squared errors are those of y itself.

        Rows where it is not `defined`, and those that then weigh nothing, are left out.
        """
        rows = self.defined(data)
        factor = self.factor.values(data.X[rows])
        with np.errstate(all="ignore"):
            size = power_of_two(np.abs(factor).max(initial=0.0))  # whose square may overflow
            weights = data.weights[rows] * (factor / size) ** 2
            target = data.y[rows] / factor
        counted = weights > 0
        weights = weights[counted]
        X = self._values(data.X[rows][counted])
        share = len(weights) / weights.sum() if len(weights) else 1.0
        return Data(X, target[counted], weights * share)

    def defined(self, data: Data) -> NDArray[np.bool_]:
        """The rows [N] on which the columns and y/factor are finite numbers.

        >>> data = Data(np.array([[1.0], [0.0]]), np.array([2.0, 0.0]), np.ones(2))
        >>> Transform((), TableColumn(0, "x")).defined(data).tolist()
        [True, False]
        """
        factor = self.factor.values(data.X)
        with np.errstate(all="ignore"):
            finite = np.isfinite(data.y / factor) & np.isfinite(factor)
        usable: NDArray[np.bool_] = finite & np.isfinite(self._values(data.X)).all(axis=1)
        return usable

    def _values(self, X: Floats) -> Floats:
        """The derived columns [N, m]."""
        with np.errstate(all="ignore"):
            columns = [each.values(X) for each in self.columns]
        return np.column_stack(columns) if columns else np.empty((len(X), 0))

    def program(self, program: Program, library: Library) -> Program:
        """A program over the derived columns, in their order, as one over the table's library."""
        written = [each.words() for each in self.columns]

        def combine(token: int, constant: float | None, arguments: list[Preorder]) -> Preorder:
            this = program.library.tokens[token]
            if this.kind is TokenKind.VARIABLE:
                assert this.index is not None
                return written[this.index]
            own: str | float = this.name if constant is None else constant
            return [own, *(word for part in arguments for word in part)]

        words = program.fold(combine)
        return Program.from_preorder(self._times_factor(words), library)

    def _times_factor(self, words: Preorder) -> Preorder:
        """The names of factor * f, a quotient on the outside."""
        if self.factor == ONE:
            return words
        above, below = self.factor.words(), list[str | float]()
        if isinstance(self.factor, ColumnProduct):
            above, below = self.factor.fraction()
        return quotient(chain([each for each in (above, words) if each]), below)

    def holds_in(self, units: Floats) -> bool:
        """Whether it says the same of columns in other units: a sum does in one unit only."""
        return all(_unit(part, units) is not None for part in (*self.columns, self.factor))

    def sentence(self, target: str) -> str:
        """What it says of a target of this name, in a sentence.

        >>> Transform((TableColumn(0, "t"),), TableColumn(1, "g")).sentence("height")
        'height/g depends on t only'
        """
        inverse = product((self.factor, Fraction(-1)))
        powers = (
            inverse.factors if isinstance(inverse, ColumnProduct) else ((inverse, Fraction(1)),)
        )
        left = product((TableColumn(-1, target), Fraction(1)), *powers)
        if not self.columns:
            return f"{left} is constant"
        return f"{left} depends on {', '.join(self.names)} only"

    def __str__(self) -> str:
        return self.sentence("y")


def _unit(part: DerivedColumn, units: Floats) -> float | None:
    """The unit of a part of columns in these units; None if it adds up different ones.

    >>> total = ColumnSum(TableColumn(0, "a"), TableColumn(1, "b"), 1)
    >>> _unit(total, np.array([10.0, 10.0])), _unit(total, np.array([1.0, 10.0]))
    (10.0, None)
    """
    if isinstance(part, TableColumn):
        return float(units[part.index])
    if isinstance(part, ColumnSum):
        first, second = _unit(part.first, units), _unit(part.second, units)
        return first if first is not None and first == second else None
    found = 1.0
    for each, power in part.factors:
        unit = _unit(each, units)
        if unit is None:
            return None
        found *= unit ** float(power)
    return found


def _multiplied(factors: list[tuple[DerivedColumn, Fraction]]) -> Preorder:
    """The product of positive powers in pre-order; what is under a root is under one root."""
    whole = [(part, int(power)) for part, power in factors if int(power)]
    # Roots of roots come of one step of halves after another.
    rooted = [(part, 2 * (power % 1)) for part, power in factors if power % 1]
    words: list[Preorder] = [part.words() for part, power in whole for _ in range(power)]
    if rooted:
        words.append(["sqrt", *_multiplied(rooted)])
    return chain(words)


def _power(part: DerivedColumn, power: Fraction) -> str:
    text = f"({part})" if isinstance(part, ColumnSum) else str(part)
    if power == 1:
        return text
    return f"{text}**{power}" if power.denominator == 1 else f"{text}**({power})"
