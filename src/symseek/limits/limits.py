"""The limits of one fit: what formulas must and must not have, and what their numbers may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf
from types import MappingProxyType

from symseek.algebra.simplify import structural_exponents
from symseek.arrays import Floats
from symseek.constants import Bounds
from symseek.constraints.dimensions import Dimensions
from symseek.constraints.phrases import Binding, forbidden, required
from symseek.errors import InputError, Setting, shown, suggestion
from symseek.form import GivenForm
from symseek.groups import Grouping
from symseek.limits.forms import WANTED, Bounded, Limit, Numbers, Tends, parse
from symseek.limits.shapes import Shapes, itself
from symseek.programs import Program, Programs
from symseek.tokens import Library
from symseek.units.columns import agrees_in_full

_NONE: Mapping[str, Sequence[str]] = MappingProxyType({})


@dataclass(frozen=True)
class Limits:
    """What every formula of a front keeps to, in the user's units.

    >>> from symseek.model import full_library
    >>> full = full_library(["x"])
    >>> limits = Limits.of(full, full, "y", forbid=["sin inside exp"], limit=["numbers: positive"])
    >>> for text in ("exp(x) + sin(x)", "exp(1 - sin(x))", "x - 2.5", "x*(-2.5)"):
    ...     print(limits.allow(Program.parse(text, full)))
    True
    False
    True
    False
    """

    rules: tuple[Binding, ...] = ()  # of what formulas are made
    values: tuple[Limit, ...] = ()  # of their values
    numbers: Bounds | None = None  # of their numbers
    shapes: Shapes | None = None  # the limits of values, in a table
    dimensions: Dimensions | None = None  # of their parts
    form: GivenForm | None = None  # that they have, if dimensions depend on it

    @classmethod
    def of(
        cls,
        library: Library,
        full: Library,
        target: str,
        require: Iterable[str] = (),
        forbid: Iterable[str] = (),
        limit: Iterable[str] = (),
        unknowns: Mapping[str, Sequence[str]] = _NONE,
    ) -> Limits:
        """The limits that are asked for; names that are not known are refused.

        Args:
            library: what formulas are searched with.
            full: the library with every operator.
            target: the name of what formulas are of.
            require: what they must have.
            forbid: what they must not have.
            limit: what their values and numbers are to be.
            unknowns: those of a given form by name, with the columns of each; a number has none.
        """
        rules = (*required(require, library, full), *forbidden(forbid, full))
        records = [_placed(parse(each), target, unknowns) for each in limit]
        numbers = [each for each in records if isinstance(each, Numbers)]
        values = tuple(each for each in records if isinstance(each, Limit))
        for each in values:
            _check_columns(each, full, unknowns)
        return cls(rules, values, _bounds(numbers, values, unknowns))

    def within(
        self,
        columns: Sequence[str],
        rows: Floats,
        spread: float,
        grouping: Grouping | None = None,
        whole: Callable[[Program, str], Program] = itself,
    ) -> Limits:
        """The limits in a table, which says where those of values hold.

        Args:
            columns: the columns of the table.
            rows: the rows [N, n], in the user's units.
            spread: of the target.
            grouping: whose column is the last.
            whole: what to make of a formula before its values are looked at, or an unknown in it.
        """
        if not self.values:
            return self
        shapes = Shapes(self.values, tuple(columns), rows, spread, grouping, whole)
        return replace(self, shapes=shapes)

    def __bool__(self) -> bool:
        return bool(self.rules or self.values or self.numbers or self.dimensions)

    @property
    def none_left(self) -> str:
        """What to say where no formula that was found keeps to them."""
        if self.dimensions is None or self.rules or self.values or self.numbers:
            return "no formula that was found keeps to all limits; search longer or ask for less"
        return (
            "no formula that was found agrees with the units; search longer, give operators that"
            " the law needs, or look whether a column is missing"
        )

    @property
    def unscaled(self) -> bool:
        """Whether formulas must be searched in the user's units.

        In others a formula has factors that it has not in the user's, and other numbers; only their
        signs are the same.
        """
        ends = () if self.numbers is None else (self.numbers.low, self.numbers.high)
        return any(end != 0 and not isinf(end) for end in ends) or any(
            {"mul", "div"} & {*rule.rule.tokens} for rule in self.rules
        )

    @property
    def marks(self) -> list[float]:
        """The numbers that values are to tend to, or to stay within, but for 0."""
        ends = [
            each
            for limit in self.values
            for each in (
                (limit.value,)
                if isinstance(limit, Tends)
                else (limit.low, limit.high)
                if isinstance(limit, Bounded)
                else ()
            )
        ]
        return [each for each in ends if each != 0 and not isinf(each)]

    def said(self, program: Program) -> tuple[str, ...]:
        """What to say of a formula that keeps to the limits, of those that take a proof."""
        return () if self.shapes is None else self.shapes.said(program)

    def allow(self, program: Program) -> bool:
        """Whether a formula in the user's units keeps to all limits, as far as points show."""
        shapes = self.shapes
        return self.allow_writing(program) and (shapes is None or shapes.allow(program))

    def allow_writing(self, program: Program) -> bool:
        """Whether what it is made of does, its operators, columns and numbers."""
        if any(rule.violated_by(program) for rule in self.rules):
            return False
        if self.dimensions is not None and not _agrees(program, self.dimensions, self.form):
            return False
        return self.numbers is None or _within(program, self.numbers)

    def hold(self, program: Program) -> bool:
        """The same, and nothing is disproved between the points."""
        return self.allow(program) and (self.shapes is None or self.shapes.hold(program))


def _placed(
    limit: Limit | Numbers, target: str, unknowns: Mapping[str, Sequence[str]]
) -> Limit | Numbers:
    """A limit with what it is of: the formula, or an unknown; that of a name is one of values."""
    name = limit.name if isinstance(limit, Numbers) else limit.of
    if name in ("", "numbers"):
        return limit
    if name != target and name not in unknowns:
        known = suggestion(name, ["numbers", "value", target, *unknowns])
        raise InputError(
            Setting("limit"),
            f" is about {shown(name)}, which is neither the value of the formula nor its numbers;"
            f" {known}",
            value=str(limit),
            wanted=WANTED,
        )
    of = "" if name == target else name
    if isinstance(limit, Numbers):
        return Bounded(limit.low, limit.high, of=of)
    return replace(limit, of=of)


def _check_columns(limit: Limit, full: Library, unknowns: Mapping[str, Sequence[str]]) -> None:
    """Refuse a limit of columns that are not in the table, or not in an unknown function."""
    known = [each for each in full.columns if not _is_group(each, full)]
    column = [] if limit.about is None else [limit.about]
    for name in (*column, *(each for each, *_ in limit.ranges)):
        if name not in known:
            raise InputError(
                Setting("limit"),
                f" is about {shown(name)}, which is no column of the table;"
                f" {suggestion(name, known)}",
                value=str(limit),
                wanted=WANTED,
            )
    if limit.of and column and column[0] not in unknowns[limit.of]:
        raise InputError(
            Setting("limit"),
            f" is about {column[0]} in {limit.of}, which is no function of it",
            value=str(limit),
            wanted=WANTED,
        )


def _is_group(column: str, full: Library) -> bool:
    return full.grouping is not None and column == full.grouping.column


def _bounds(
    numbers: Sequence[Numbers], values: Sequence[Limit], unknowns: Mapping[str, Sequence[str]]
) -> Bounds | None:
    """The bounds of all numbers together, closer ones of those that a given form names."""
    named = {each.of: each for each in values if isinstance(each, Bounded)}
    first = tuple(
        (named[name].low, named[name].high) if name in named else (-inf, inf)
        for name, columns in unknowns.items()
        if not columns
    )
    first = first if any(ends != (-inf, inf) for ends in first) else ()
    if not (numbers or first):
        return None
    low = max((each.low for each in numbers), default=-inf)
    high = min((each.high for each in numbers), default=inf)
    if not low < high:
        raise InputError(
            Setting("limit"),
            f" leaves no number: {' and '.join(map(str, numbers))} contradict each other",
            value=[str(each) for each in numbers],
            wanted=WANTED,
        )
    return Bounds(low, high, first)


def _agrees(program: Program, dimensions: Dimensions, form: GivenForm | None) -> bool:
    """Whether a program agrees with units; a given form in full has numbers that have some."""
    if form is not None and program.names[0] != form.token.name:
        return True
    if dimensions.violated_by(program):
        return False
    return form is None or agrees_in_full(program, form, dimensions)


def _within(program: Program, bounds: Bounds) -> bool:
    """Whether the numbers of a program are within bounds.

    Exponents of roots and powers, such as 2 and 3/2, and 1 and -1 are not fitted.
    """
    if not program.constants:
        return True
    fixed = structural_exponents(Programs.from_list([program]))[0]
    return all(
        bounds.low <= value <= bounds.high or skip or value in (1.0, -1.0)
        for value, skip in zip(program.constants, fixed, strict=False)
    )
