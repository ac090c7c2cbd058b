"""The limits of one fit: what formulas must and must not have."""

from __future__ import annotations

from dataclasses import dataclass

from symseek.constraints.phrases import Binding, forbidden, required
from symseek.programs import Program
from symseek.settings import Settings
from symseek.tokens import Library


@dataclass(frozen=True)
class Limits:
    """What every formula of a front keeps to, in the user's units.

    >>> from symseek.model import full_library
    >>> full = full_library(["x"])
    >>> limits = Limits.of(Settings(forbid=["sin inside exp"]), full, full)
    >>> limits.allow(Program.parse("exp(x) + sin(x)", full))
    True
    >>> limits.allow(Program.parse("exp(1 - sin(x))", full))
    False
    """

    rules: tuple[Binding, ...] = ()  # of what formulas are made

    @classmethod
    def of(cls, settings: Settings, library: Library, full: Library) -> Limits:
        """The limits that settings ask for; names that are not known are refused.

        Args:
            settings: of the fit.
            library: what formulas are searched with.
            full: the library with every operator.
        """
        rules = [*required(settings.require, library, full), *forbidden(settings.forbid, full)]
        return cls(tuple(rules))

    def __bool__(self) -> bool:
        return bool(self.rules)

    @property
    def unscaled(self) -> bool:
        """Whether formulas must be searched in the user's units.

        In others a formula has factors that it has not in the user's.
        """
        return any({"mul", "div"} & {*rule.rule.tokens} for rule in self.rules)

    def said(self, program: Program) -> tuple[str, ...]:
        """What to say of a formula that keeps to the limits, of those that take a proof."""
        return ()

    def allow(self, program: Program) -> bool:
        """Whether a formula in the user's units keeps to all limits."""
        return not any(rule.violated_by(program) for rule in self.rules)
