"""The constraint that formulas agree with physical dimensions: no metres are added to seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from symseek.arguments import check_fields, refused
from symseek.constraints.tables import Tables, UnitTables
from symseek.dimensions import DIMENSIONLESS, Dimension, Rule, rule_of
from symseek.errors import InputError
from symseek.programs import Program
from symseek.tokens import Library, Token, TokenKind

GRAIN = 12
"""Powers of base dimensions are whole numbers of so many parts of 1."""

MOST = 127
"""Of these parts, in either direction."""

LANES = 8
"""Base dimensions that a search can hold."""

HIGHEST = 1 << 15
"""A power that takes any dimension out of bounds."""

LONGEST = 1000
"""Tokens that a program can have where units are given."""

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
        if tables.units is not None:
            raise InputError("there are two Dimensions constraints; keep one of them")
        if tables.max_length > LONGEST:
            raise InputError(
                f"with units a program has at most {LONGEST} tokens, not {tables.max_length}",
                field="max_length",
                value=tables.max_length,
            )
        lanes = self._lanes(tables.library)
        wanted: list[Dimension | None] = [None] * tables.max_arity
        for token in tables.library:
            for place, each in enumerate(self.arguments.get(token.name, ())):
                wanted[place] = each
        manners = [self._manner(token, tables.library) for token in tables.library]
        tables.units = UnitTables(
            manner=tuple(manner for manner, _ in manners),
            dimension=np.array(
                [_powers(self._own(token, tables.library), lanes) for token in tables.library]
            ),
            power=np.array([power for _, power in manners], dtype=np.int32),
            fitted=np.array([_fitted(token, tables.library) for token in tables.library]),
            divides=np.array([_divides(token) for token in tables.library]),
            argument=tuple(None if each is None else _powers(each, lanes) for each in wanted),
            target=None if self.target is None else _powers(self.target, lanes),
        )

    def _lanes(self, library: Library) -> list[str]:
        """The base dimensions in the order in which engines hold their powers."""
        used = [self._own(token, library) for token in library]
        used += [each for each in (self.target, *chain(*self.arguments.values())) if each]
        names = sorted({name for each in used for name, _ in each.powers})
        if len(names) > LANES:
            raise InputError(
                f"the units have {len(names)} base dimensions, {', '.join(names)}; a search can"
                f" hold {LANES}",
                field="constraints",
                value=len(names),
            )
        return [*names, *[""] * (LANES - len(names))]

    def _own(self, token: Token, library: Library) -> Dimension:
        """The dimension of a column; of anything else, of a column out of bounds too, none."""
        if token.kind is not TokenKind.VARIABLE or token.name in _no_quantities(library):
            return DIMENSIONLESS
        dimension = self.variables[token.name]
        return dimension if _fits(dimension) else DIMENSIONLESS

    def _manner(self, token: Token, library: Library) -> tuple[str, tuple[int, int]]:
        """What a token does with dimensions, in a word of `MANNERS`, and its power."""
        if token.name in self.arguments:
            return "form", (1, 1)
        if token.kind is TokenKind.OPERATOR:
            return _manner(rule_of(token))
        if token.kind is TokenKind.NUMBER:
            power = _exponent(token.value or 0.0)
            return "number", (0, 0) if power is None else _bounded(power)
        if _fitted(token, library):
            return "wild" if self.free_numbers else "terminal", (1, 1)
        return "terminal" if _fits(self.variables[token.name]) else "banned", (1, 1)

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
        library = program.library
        tokens, own = library.tokens, _no_quantities(library)
        part = program.fold(
            lambda token, value, parts: self._part(tokens[token], value, parts, own)
        )
        if self.target is not None and part.dimension not in (ANY, self.target):
            raise Mismatch(f"the formula has {part.dimension}, the target {self.target}")
        return part.dimension

    def _part(
        self, token: Token, constant: float | None, parts: list[_Part], own: tuple[str, ...]
    ) -> _Part:
        """A token with its arguments; `own` are the numbers that groups have of their own."""
        if token.name in own:
            return _Part(ANY if self.free_numbers else DIMENSIONLESS)
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
            if name not in self.variables and name not in _no_quantities(library):
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
    power = _exponent(exponent)
    if power is None:
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
    if not _fits(dimension):
        raise Mismatch(f"a part has {dimension}, which is out of bounds")
    return dimension


def _fits(dimension: Dimension) -> bool:
    parts = [power * GRAIN for _, power in dimension.powers]
    return all(each.denominator == 1 and abs(each) <= MOST for each in parts)


def _powers(dimension: Dimension, lanes: Sequence[str]) -> NDArray[np.int8]:
    """[D] in parts of 1; one that is out of bounds is that of no part of a formula."""
    powers = dict(dimension.powers)
    parts = [int(powers.get(name, 0) * GRAIN) for name in lanes]
    return np.array(parts if _fits(dimension) else [-MOST - 1] * len(lanes), dtype=np.int8)


def _fitted(token: Token, library: Library) -> bool:
    own = token.kind is TokenKind.VARIABLE and token.name in _no_quantities(library)
    return own or token.kind is TokenKind.CONSTANT


def _no_quantities(library: Library) -> tuple[str, ...]:
    """Variables that are none of the table's quantities: groups, and their own numbers."""
    return () if library.grouping is None else (library.grouping.column, *library.grouping.own)


def _exponent(value: float) -> Fraction | None:
    """A number as a power of a dimension, if it is one."""
    power = Fraction(value).limit_denominator(GRAIN)
    return power if float(power) == value else None


def _bounded(power: Fraction) -> tuple[int, int]:
    """Above and below; a power so high leads out of bounds anyway."""
    return max(-HIGHEST, min(HIGHEST, power.numerator)), power.denominator


def _divides(token: Token) -> bool:
    return token.kind is TokenKind.OPERATOR and -1 in rule_of(token).powers[1:2]


def _manner(rule: Rule) -> tuple[str, tuple[int, int]]:
    """What an operator does with dimensions, in a word of `MANNERS`, and its power."""
    if rule.plain or rule.raises:
        return "plain" if rule.plain else "raised", (1, 1)
    if rule.alike:
        return "alike" if rule.powers[0] else "ratio", (1, 1)
    if not any(rule.powers):
        return "sign", (1, 1)
    if len(rule.powers) > 1:
        return "product", (1, 1)
    power = rule.powers[0]
    if power.denominator > GRAIN:  # only of what has no dimension
        return "plain", (1, 1)
    return "power", _bounded(power)
