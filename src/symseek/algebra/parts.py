"""Parts of a program while it is put together anew: products gathered above and below a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from symseek.tokens import Library, TokenKind


class FormulaPart(NamedTuple):
    """A part of a program, and whether a minus sign stands before it."""

    tokens: tuple[int, ...]
    constants: tuple[Any, ...] = ()  # values, or texts for them
    negative: bool = False
    summands: tuple[FormulaPart, ...] = ()  # of a sum, with their signs
    above: tuple[FormulaPart, ...] = ()  # the factors of a product or quotient, without signs
    below: tuple[FormulaPart, ...] = ()

    def negated(self) -> FormulaPart:
        return self._replace(negative=not self.negative)

    def positive(self) -> FormulaPart:
        return self._replace(negative=False)

    def terms(self) -> list[FormulaPart]:
        """What a sum takes in when this is added to it."""
        if not self.summands:
            return [self]
        return [each.negated() if self.negative else each for each in self.summands]

    def ratio(self) -> tuple[tuple[FormulaPart, ...], tuple[FormulaPart, ...]]:
        """What a product takes in above and below the line when this is multiplied with it."""
        if self.above or self.below:
            return self.above, self.below
        return (self.positive(),), ()


class Builder:
    """Puts parts together in the tokens of a library."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def gathered(
        self, name: str, arguments: Sequence[FormulaPart]
    ) -> tuple[tuple[FormulaPart, ...], tuple[FormulaPart, ...], bool]:
        """The factors above and below the line of a product, quotient or sign; whether negative."""
        above, below = arguments[0].ratio()
        if name == "reciprocal":
            above, below = below, above
        elif len(arguments) == 2:
            more, less = arguments[1].ratio() if name == "mul" else arguments[1].ratio()[::-1]
            above, below = above + more, below + less
        minus = sum(each.negative for each in arguments) + (name == "neg")
        return above, below, minus % 2 == 1

    def fraction(self, above: Sequence[FormulaPart], below: Sequence[FormulaPart]) -> FormulaPart:
        if not below:
            return self.chain(above)
        name, parts = ("div", [self.chain(above)]) if above else ("reciprocal", [])
        return self.joined((self.library.index(name),), [*parts, self.chain(below)])

    def chain(self, factors: Sequence[FormulaPart]) -> FormulaPart:
        return self.joined((self.library.index("mul"),) * (len(factors) - 1), factors)

    def joined(self, tokens: tuple[int, ...], arguments: Sequence[FormulaPart]) -> FormulaPart:
        tokens += tuple(each for part in arguments for each in part.tokens)
        return FormulaPart(tokens, tuple(each for part in arguments for each in part.constants))

    def is_number(self, part: FormulaPart) -> bool:
        return self.library.tokens[part.tokens[0]].kind in (TokenKind.CONSTANT, TokenKind.NUMBER)
