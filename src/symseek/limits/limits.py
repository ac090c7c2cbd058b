"""The limits of one fit: what formulas must and must not have, and what their numbers may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isinf

from symseek.algebra.simplify import structural_exponents
from symseek.constants import Bounds
from symseek.constraints.phrases import Binding, forbidden, required
from symseek.errors import InputError, Setting, suggestion
from symseek.limits.forms import WANTED, Bounded, Limit, Numbers, parse
from symseek.programs import Program, Programs
from symseek.tokens import Library


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
    shapes: tuple[Limit, ...] = ()  # of their values
    numbers: Bounds | None = None  # of their numbers

    @classmethod
    def of(
        cls,
        library: Library,
        full: Library,
        target: str,
        require: Iterable[str] = (),
        forbid: Iterable[str] = (),
        limit: Iterable[str] = (),
    ) -> Limits:
        """The limits that are asked for; names that are not known are refused.

        Args:
            library: what formulas are searched with.
            full: the library with every operator.
            target: the name of what formulas are of.
            require: what they must have.
            forbid: what they must not have.
            limit: what their values and numbers are to be.
        """
        rules = (*required(require, library, full), *forbidden(forbid, full))
        records = [_of_target(parse(each), target) for each in limit]
        numbers = [each for each in records if isinstance(each, Numbers)]
        return cls(rules, (), _bounds(numbers))

    def __bool__(self) -> bool:
        return bool(self.rules or self.shapes or self.numbers)

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

    def said(self, program: Program) -> tuple[str, ...]:
        """What to say of a formula that keeps to the limits, of those that take a proof."""
        return ()

    def allow(self, program: Program) -> bool:
        """Whether a formula in the user's units keeps to all limits."""
        if any(rule.violated_by(program) for rule in self.rules):
            return False
        return self.numbers is None or _within(program, self.numbers)


def _of_target(limit: Limit | Numbers, target: str) -> Limit | Numbers:
    """A limit of the target by its name is one of the values."""
    if isinstance(limit, Numbers) and limit.name == target:
        return Bounded(limit.low, limit.high)
    if isinstance(limit, Numbers) and limit.name != "numbers":
        known = suggestion(limit.name, ["numbers", "value", target])
        raise InputError(
            Setting("limit"),
            f" is about {limit.name}, which is neither the value of the formula nor its numbers;"
            f" {known}",
            value=str(limit),
            wanted=WANTED,
        )
    return limit


def _bounds(numbers: Sequence[Numbers]) -> Bounds | None:
    """The bounds of all numbers together."""
    if not numbers:
        return None
    low, high = max(each.low for each in numbers), min(each.high for each in numbers)
    if not low < high:
        raise InputError(
            Setting("limit"),
            f" leaves no number: {' and '.join(map(str, numbers))} contradict each other",
            value=[str(each) for each in numbers],
            wanted=WANTED,
        )
    return Bounds(low, high)


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
