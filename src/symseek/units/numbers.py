"""The units that the numbers of a formula need, and the dimensions of the unknowns of a form.

Each of these is an unknown beside the base dimensions: what an operator asks of its arguments says
that some product of powers is dimensionless, and these equations are solved one after another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from symseek.constraints.dimensions import GRAIN, Mismatch
from symseek.dimensions import DIMENSIONLESS, Dimension, rule_of
from symseek.programs import Program
from symseek.tokens import Token, TokenKind

_MARK = "?"  # before the name of an unknown, which no unit has


@dataclass(frozen=True)
class Needed:
    """What the numbers and the other unknowns of a program are; None of what may be any."""

    numbers: tuple[Dimension, ...]  # of the constants, in their order; where any will do, none
    others: Mapping[str, Dimension | None]  # variables and operators that have been unknown
    whole: Dimension  # of the program


def needed(
    program: Program,
    known: Mapping[str, Dimension],
    target: Dimension | None,
    free: bool = True,
    strict: bool = True,
) -> Needed:
    """The dimensions that numbers and unknown parts of a program must have.

    Args:
        program: a formula; variables that are not known, and operators that no table has, are
            unknown.
        known: the dimensions of variables, and of what unknown operators give.
        target: the dimension of the whole, None for any.
        free: whether numbers are unknown; otherwise they have no dimension.
        strict: whether a contradiction is a `Mismatch`; otherwise the first of two ways counts.

    >>> from symseek.model import full_library
    >>> law = Program.parse("2.5*exp(-0.3*t)", full_library(["t"]))
    >>> found = needed(law, {"t": Dimension({"s": 1})}, Dimension({"m": 1}))
    >>> [str(each) for each in found.numbers]
    ['m', '1/s']
    """
    work = _Work(program, known, free, strict)
    whole = work.whole()
    if target is not None:
        work.alike(whole, target, "the formula")
    numbers = (_MARK + str(at) for at in range(len(program.constants)))
    return Needed(
        tuple(map(work.settled, numbers)),
        {name: work.found(_MARK + name) for name in work.others},
        work.without_unknowns(whole),
    )


@dataclass
class _Part:
    dimension: Dimension
    number: float | None = None


@dataclass
class _Work:
    program: Program
    known: Mapping[str, Dimension]
    free: bool
    strict: bool
    others: dict[str, None] = field(default_factory=dict)
    solved: dict[str, Dimension] = field(default_factory=dict)  # unknowns, by those still open

    def whole(self) -> Dimension:
        """The dimension of the program by its unknowns."""
        left = len(self.program.constants)
        tokens = self.program.library.tokens

        def combine(token: int, constant: float | None, parts: list[_Part]) -> _Part:
            nonlocal left
            this = tokens[token]
            if this.kind is TokenKind.OPERATOR:
                return _Part(self._value(this, parts))
            if this.kind is TokenKind.VARIABLE:
                return _Part(self.known.get(this.name) or self._unknown(this.name))
            left -= constant is not None
            unknown = self.free and constant is not None
            dimension = Dimension({_MARK + str(left): 1}) if unknown else DIMENSIONLESS
            return _Part(dimension, this.value if constant is None else constant)

        return self.program.fold(combine).dimension

    def found(self, unknown: str) -> Dimension | None:
        """An unknown's dimension; None if nothing says it."""
        value = self.solved.get(unknown)
        return None if value is None or _unknowns(value) else value

    def settled(self, unknown: str) -> Dimension:
        """An unknown's dimension, where all that nothing says have none."""
        return self.without_unknowns(self.solved.get(unknown, DIMENSIONLESS))

    def without_unknowns(self, dimension: Dimension) -> Dimension:
        """A dimension with what is known put in, where all that nothing says have none."""
        powers = self._put(dimension).powers
        return Dimension({name: power for name, power in powers if not name.startswith(_MARK)})

    def alike(self, one: Dimension, other: Dimension, where: str) -> None:
        """Two parts must have the same dimension."""
        left = self._put(one / other)
        names = _unknowns(left)
        if not names:
            if self.strict and not left.dimensionless:
                raise Mismatch(f"{where} is given {self._put(one)} and {self._put(other)}")
            return
        name = names[-1]
        power = dict(left.powers)[name]
        value = (left / Dimension({name: power})) ** (-1 / power)
        for each, before in self.solved.items():
            self.solved[each] = _replaced(before, name, value)
        self.solved[name] = value

    def plain(self, one: Dimension, where: str) -> None:
        """A part must be dimensionless."""
        left = self._put(one)
        if self.strict and left.powers and not _unknowns(left):
            raise Mismatch(f"{where} is given {left}")
        self.alike(one, DIMENSIONLESS, where)

    def _put(self, dimension: Dimension) -> Dimension:
        for name, _ in dimension.powers:
            if name in self.solved:
                dimension = _replaced(dimension, name, self.solved[name])
        return dimension

    def _unknown(self, name: str) -> Dimension:
        self.others[name] = None
        return Dimension({_MARK + name: 1})

    def _value(self, token: Token, parts: list[_Part]) -> Dimension:
        found = [part.dimension for part in parts]
        if token.numpy is None and token.formula is None and token.dimensions is None:
            return self.known.get(token.name) or self._unknown(token.name)
        rule = rule_of(token)
        if rule.raises:
            return self._raised(token, found, parts[1].number)
        if rule.plain:
            for each in found:
                self.plain(each, token.name)
            return DIMENSIONLESS
        if rule.alike:
            for each in found[1:]:
                self.alike(found[0], each, token.name)
            found = found[:1]
        value = DIMENSIONLESS
        for each, power in zip(found, rule.powers, strict=True):
            value = value * each**power
        return value

    def _raised(self, token: Token, found: list[Dimension], exponent: float | None) -> Dimension:
        base, above = found
        self.plain(above, token.name)
        power = Fraction(0 if exponent is None else exponent).limit_denominator(GRAIN)
        if exponent is None or float(power) != exponent:
            self.plain(base, token.name)
            return DIMENSIONLESS
        return base**power


def _unknowns(dimension: Dimension) -> list[str]:
    return [name for name, _ in dimension.powers if name.startswith(_MARK)]


def _replaced(dimension: Dimension, name: str, value: Dimension) -> Dimension:
    power = dict(dimension.powers).get(name)
    return dimension if power is None else dimension / Dimension({name: power}) * value**power


def spanned(dimension: Dimension, by: Collection[Dimension]) -> bool:
    """Whether a dimension is a product of powers of others.

    >>> metre, second = Dimension({"m": 1}), Dimension({"s": 1})
    >>> spanned(metre, [metre / second, second]), spanned(metre, [metre / second])
    (True, False)
    """
    names = sorted({name for each in (*by, dimension) for name, _ in each.powers})
    rows = [[dict(each.powers).get(name, Fraction(0)) for name in names] for each in by]
    left = [dict(dimension.powers).get(name, Fraction(0)) for name in names]
    for at in range(len(names)):
        pivot = next((row for row in rows if row[at]), None)
        if pivot is None:
            continue
        rows = [
            [a - b * row[at] / pivot[at] for a, b in zip(row, pivot, strict=True)]
            for row in rows
            if row is not pivot
        ]
        left = [a - b * left[at] / pivot[at] for a, b in zip(left, pivot, strict=True)]
    return not any(left)
