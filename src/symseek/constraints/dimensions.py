"""The constraint that formulas agree with physical dimensions: no metres are added to seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from symseek.arguments import check_fields, refused
from symseek.constraints.tables import Tables
from symseek.dimensions import DIMENSIONLESS, Dimension, Rule, rule_of
from symseek.errors import InputError
from symseek.programs import Program
from symseek.tokens import Library, Token, TokenKind

GRAIN = 12
"""Powers of base dimensions are whole numbers of so many parts of 1."""

MOST = 127
"""Of these parts, in either direction."""

ANY = None
"""The dimension of what may have any: a free number, or what is made of one."""


class Mismatch(ValueError):
    """What is wrong with the dimensions of a program, in words."""


@dataclass(frozen=True)
class Dimensions:
    """Every part of a formula has a dimension, and the whole has that of the target.

    Each column has its dimension, fixed numbers have none, and fitted ones have none or, as
    `free_numbers`, each the one that suits its place. The target may be None: any dimension. A
    token of `arguments`, the root of a given form, takes arguments of these dimensions, None for
    any, and gives the target's. A part must not have a power above 127/12, nor one that is no whole
    number of twelfths.

    >>> from symseek import Library
    >>> metre, second = Dimension({"m": 1}), Dimension({"s": 1})
    >>> library = Library(["add", "mul", "div", "sin", "const"], variables=["x", "t"])
    >>> units = Dimensions({"x": metre, "t": second}, target=metre / second)
    >>> [units.violated_by(Program.parse(text, library)) for text in ("x/t", "x + t", "sin(x)")]
    [False, True, True]
    """

    binding: ClassVar[bool] = True  # on what is proposed, too

    variables: Mapping[str, Dimension]
    target: Dimension | None
    free_numbers: bool = False
    arguments: Mapping[str, Sequence[Dimension | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)
        for name, each in self.variables.items():
            if not isinstance(each, Dimension):
                raise refused(f"the dimension of {name!r}", each, "of the type Dimension")

    def __hash__(self) -> int:
        given = tuple((name, tuple(each)) for name, each in self.arguments.items())
        return hash((frozenset(self.variables.items()), self.target, self.free_numbers, given))

    def narrow(self, tables: Tables) -> None:
        """Hand the dimensions of the library's tokens to the tables."""
        self._check(tables.library)

    def violated_by(self, program: Program) -> bool:
        """Does the finished program break this?"""
        try:
            self.of(program)
        except Mismatch:
            return True
        return False

    def of(self, program: Program) -> Dimension | None:
        """The dimension of a program, None for any; where it has none, a `Mismatch` says why.

        >>> from symseek import Library
        >>> units = Dimensions({"x": Dimension({"m": 1})}, target=None)
        >>> print(units.of(Program.parse("x**2 + x*x")))
        m^2
        >>> units.of(Program.parse("x**2 + x"))
        Traceback (most recent call last):
        symseek.constraints.dimensions.Mismatch: add is given m^2 and m
        """
        self._check(program.library)
        tokens = program.library.tokens
        part = program.fold(lambda token, value, parts: self._part(tokens[token], value, parts))
        if self.target is not None and part.dimension not in (ANY, self.target):
            raise Mismatch(f"the formula has {part.dimension}, the target {self.target}")
        return part.dimension

    def _part(self, token: Token, constant: float | None, parts: list[_Part]) -> _Part:
        """A token with its arguments."""
        if token.kind is TokenKind.VARIABLE:
            return _Part(_within(self.variables[token.name]))
        if token.kind is not TokenKind.OPERATOR:
            free = token.kind is TokenKind.CONSTANT and self.free_numbers
            return _Part(ANY if free else DIMENSIONLESS, token.value or constant or 0.0)
        found = [part.dimension for part in parts]
        if token.name in self.arguments:
            for wanted, given in zip(self.arguments[token.name], found, strict=True):
                if ANY not in (wanted, given) and wanted != given:
                    raise Mismatch(f"an argument of {token.name} has {given}, not {wanted}")
            return _Part(self.target)
        return _Part(_value(token, rule_of(token), found, parts))

    def _check(self, library: Library) -> None:
        """Refuse a library with a column whose dimension is not known."""
        for name in library.variables:
            if name not in self.variables:
                raise InputError(
                    f"the dimension of the variable {name!r} is not given; name one for each",
                    field="constraints",
                    value=name,
                )


@dataclass(frozen=True)
class _Part:
    """What a part of a program comes to."""

    dimension: Dimension | None
    number: float | None = None  # its value, if it is a number


def _value(
    token: Token, rule: Rule, found: list[Dimension | None], parts: Sequence[_Part]
) -> Dimension | None:
    """The dimension of an operator's value, given those of its arguments."""
    if rule.plain:
        for each in found:
            _plain(token, each)
        return DIMENSIONLESS
    if rule.raises:
        return _raised(token, found, parts[1].number)
    if rule.alike:
        known = [each for each in found if each is not ANY]
        if any(each != known[0] for each in known):
            names = " and ".join(map(str, dict.fromkeys(known)))
            raise Mismatch(f"{token.name} is given {names}")
        found = [*known, *found][:1]
    value = DIMENSIONLESS
    for each, power in zip(found, rule.powers, strict=True):
        if power and each is ANY:
            return ANY
        if power and each is not None:
            value = value * each**power
    return _within(value)


def _raised(
    token: Token, found: list[Dimension | None], exponent: float | None
) -> Dimension | None:
    """The dimension of a power with a number or a part of the formula as the exponent."""
    base, above = found
    if exponent is None or base == DIMENSIONLESS:
        _plain(token, above)
        _plain(token, base)
        return DIMENSIONLESS
    power = Fraction(exponent).limit_denominator(GRAIN)
    if float(power) != exponent:
        _plain(token, base)
        return DIMENSIONLESS
    if base is ANY:
        return ANY if power else DIMENSIONLESS
    return _within(base**power)


def _plain(token: Token, dimension: Dimension | None) -> None:
    if dimension is not ANY and not dimension.dimensionless:
        raise Mismatch(f"{token.name} is given {dimension}")


def _within(dimension: Dimension) -> Dimension:
    """The dimension, if a search can hold it."""
    for _, power in dimension.powers:
        if (power * GRAIN).denominator != 1 or abs(power * GRAIN) > MOST:
            raise Mismatch(f"a part has {dimension}, which is out of bounds")
    return dimension
