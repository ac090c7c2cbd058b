"""Writing an expression in the tokens of one library, the nearest spelling where one is missing.

What an expression says and what a library offers need not agree: `x**2` is the token `square`, or
`pow` with the number 2, or a product; and a library without `neg` may still write -x as a product
or a difference. So a number stays a bare literal, and a minus sign a bare sign, until it is known
what they stand beside. The order of preference makes printed programs read back unchanged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from symseek.errors import InputError, suggestion, unknown_name
from symseek.operators.table import ALIASES, POWERS
from symseek.tokens import EMPTY, OPERATORS, Library, TokenKind

if TYPE_CHECKING:
    from symseek.programs import Program

Parts: TypeAlias = "tuple[tuple[int, ...], tuple[float, ...]]"  # of a program: tokens, constants

WHOLE_POWERS = {exponent: name for exponent, name in POWERS.items() if exponent > 1.0}
"""The exponents that have an operator of their own."""

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}

# A power without a token of its own is written as a product only up to here.
_LARGEST_PRODUCT = 64


MOST_TOKENS = 2_000_000
"""Of a program that is read: a short text may stand for a product of any length."""


@dataclass(slots=True)
class Node:
    """A part of a program: a token with its arguments, or a literal or sign not finished yet.

    A piece refers to its arguments, and is written out once, when it is whole: so the time to read
    a text grows as its length.
    """

    token: int = EMPTY
    value: float | None = None  # of a `const`
    arguments: tuple[Node, ...] = ()
    size: int = 1  # tokens
    literal: float | None = None
    negates: Node | None = None


class Lowering:
    """Writes expressions in the tokens of one library."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def has(self, *names: str) -> bool:
        """Whether the library has all these operators."""
        return all(name in self.library for name in names)

    def parts(self, piece: Node) -> Parts:
        """The finished piece, for a program."""
        tokens: list[int] = []
        constants: list[float] = []
        waiting = [self.finished(piece)]
        while waiting:
            this = waiting.pop()
            tokens.append(this.token)
            if this.value is not None:
                constants.append(this.value)
            waiting.extend(reversed(this.arguments))
        return tuple(tokens), tuple(constants)

    def finished(self, piece: Node) -> Node:
        """Turn a bare literal or bare signs into tokens."""
        signs = 0
        while piece.negates is not None:
            signs, piece = signs + 1, piece.negates
        if piece.literal is not None and not signs:
            return self._finished_literal(piece.literal)
        for _ in range(signs):
            piece = self._finished_sign(piece)
        return piece

    def _finished_literal(self, value: float) -> Node:
        if value in self.library.number_ids:
            return Node(self.library.number_ids[value])
        if self.library.constant_id is not None:
            return self.constant(value)
        if -value in self.library.number_ids and self.has("neg"):
            return self.operator("neg", self.literal(-value))
        raise InputError(f"the number {value!r} is not in the library; add it, or const")

    def _finished_sign(self, piece: Node) -> Node:
        if self.has("neg"):
            return self.operator("neg", piece)
        if piece.literal is not None:
            return self._finished_literal(-piece.literal)
        for value, name in ((-1.0, "mul"), (0.0, "sub")):
            if self.has(name) and value in self.library.number_ids:
                return self.operator(name, self.literal(value), piece)
        if self.library.constant_id is not None and self.has("mul"):
            return self.operator("mul", self.constant(-1.0), piece)
        if self.library.constant_id is not None and self.has("sub"):
            return self.operator("sub", self.constant(0.0), piece)
        raise InputError("a minus sign needs 'neg' in the library (or 'mul' or 'sub' with const)")

    def constant(self, value: float = 1.0) -> Node:
        """The token `const` with a value."""
        return Node(self.library.index("const"), value)

    def literal(self, value: float) -> Node:
        """A number, as a token of its own or as a `const`."""
        return Node(literal=value)

    def negate(self, piece: Node) -> Node:
        """Change the sign."""
        return Node(negates=piece)

    def name(self, name: str, quoted: bool = False) -> Node:
        """A variable, a terminal of the caller's, a bare `const`, or pi."""
        if name in self.library:
            token = self.library.index(name)
            if self.library.arities[token]:
                raise InputError(f"{name!r} is an operator; write its arguments, {name}(...)")
            return self.constant() if token == self.library.constant_id else Node(token)
        if name == "pi" and not quoted:
            return self.literal(math.pi)
        named = [t.name for t in self.library if t.kind in (TokenKind.VARIABLE, TokenKind.OPERATOR)]
        raise unknown_name("variable", name, [each for each in named if each not in OPERATORS])

    def operator(self, name: str, *arguments: Node) -> Node:
        """The very operator `name`, without any spelling around it."""
        token = self.library.index(name)
        wanted = self.library.arities[token]
        if len(arguments) != wanted:
            raise InputError(
                f"operator {name!r} takes {wanted} argument{'s' * (wanted != 1)}, "
                f"not {len(arguments)}"
            )
        ready = tuple(self.finished(argument) for argument in arguments)
        size = 1 + sum(piece.size for piece in ready)
        if size > MOST_TOKENS:
            raise InputError(f"the expression has more than {MOST_TOKENS:,} tokens")
        return Node(token, None, ready, size)

    def call(self, name: str, *arguments: Node) -> Node:
        """`name(...)`: the operator of that name, or what it means in other operators."""
        if name in self.library:
            if self.library[name].kind is not TokenKind.OPERATOR:
                raise InputError(f"{name!r} is not an operator; write {name}*(...) for a product")
            if name == "exp" and not self.has("neg"):
                return self._exp(*arguments)
            return self.operator(name, *arguments)
        name = ALIASES.get(name, name)
        if name in self.library:
            return self.operator(name, *arguments)
        if name not in OPERATORS:
            raise unknown_name("operator", name, self._operator_names())
        if len(arguments) != OPERATORS[name].arity:
            raise InputError(f"operator {name!r} takes {OPERATORS[name].arity} arguments")
        return self._spelled(name, *arguments)

    def _operator_names(self) -> list[str]:
        return [token.name for token in self.library if token.kind is TokenKind.OPERATOR]

    def _exp(self, *arguments: Node) -> Node:
        """Without `neg`, exp(-u) is most simply e^-u."""
        if len(arguments) == 1 and arguments[0].negates is not None and self.has("neg_exp"):
            return self.operator("neg_exp", arguments[0].negates)
        return self.operator("exp", *arguments)

    def _spelled(self, name: str, *arguments: Node) -> Node:
        """An operator of the table that the library lacks, in those that it has."""
        first = arguments[0]
        exponent = OPERATORS[name].exponent
        if name in _INFIX:
            return self.infix(_INFIX[name], first, arguments[1])
        if name == "neg":
            return self.negate(first)
        if name == "reciprocal":
            return self.infix("/", self.literal(1.0), first)
        if exponent in WHOLE_POWERS:
            return self.power(first, self.literal(exponent))
        if exponent is not None and self.has("pow"):
            return self.operator("pow", first, self.literal(exponent))
        if name == "exp" and self.has("neg_exp"):
            inside = first.negates if first.negates is not None else self.negate(first)
            return self.operator("neg_exp", inside)
        meaning = OPERATORS[name].meaning
        if meaning is None:
            raise self._lacking(name)
        try:
            return self._expanded(meaning, arguments)
        except InputError:
            raise self._lacking(name) from None

    def _expanded(self, meaning: Program, arguments: tuple[Node, ...]) -> Node:
        """The meaning of an operator, with pieces for its arguments."""

        def combine(token: int, constant: float | None, inner: list[Node]) -> Node:
            this = meaning.library.tokens[token]
            if this.index is not None:
                return arguments[this.index]
            if constant is not None:
                return self.literal(constant)
            return self.negate(*inner) if this.name == "neg" else self.call(this.name, *inner)

        return meaning.fold(combine)

    def _lacking(self, name: str) -> InputError:
        hint = suggestion(name, self._operator_names())
        return InputError(f"operator {name!r} is not in the library; {hint}")

    def infix(self, symbol: str, left: Node, right: Node) -> Node:
        """`left symbol right`."""
        if symbol == "**":
            return self.power(left, right)
        if symbol == "/":
            return self.divide(left, right)
        if symbol == "*":
            if not self.has("mul"):
                raise self._lacking("mul")
            return self.operator("mul", left, right)
        name, other = ("add", "sub") if symbol == "+" else ("sub", "add")
        sign = right.negates
        if self.has(name) and (sign is None or self.has("neg") or not self.has(other)):
            return self.operator(name, left, right)
        if not self.has(other):
            raise self._lacking(name)
        return self.operator(other, left, sign if sign is not None else self.negate(right))

    def divide(self, left: Node, right: Node) -> Node:
        """`left / right`."""
        if left.literal == 1.0 and self.has("reciprocal"):
            return self.operator("reciprocal", right)
        if self.has("div"):
            return self.operator("div", left, right)
        if self.has("mul", "reciprocal"):
            return self.operator("mul", left, self.operator("reciprocal", right))
        raise self._lacking("div")

    def power(self, base: Node, exponent: Node) -> Node:
        """`base ** exponent`: an operator of its own, `pow`, a root, or a product."""
        number = exponent.literal
        if number is None:
            if not self.has("pow"):
                raise self._lacking("pow")
            return self.operator("pow", base, exponent)
        if number in WHOLE_POWERS and self.has(WHOLE_POWERS[number]):
            return self.operator(WHOLE_POWERS[number], base)
        numbers = self.library.number_ids
        if self.has("pow") and (number in numbers or self.library.constant_id is not None):
            return self.operator("pow", base, exponent)
        if number == 0.5 and self.has("sqrt"):
            return self.operator("sqrt", base)
        if number < 0.0:
            return self.divide(self.literal(1.0), self.power(base, self.literal(-number)))
        whole, half = int(min(number, _LARGEST_PRODUCT + 1)), number % 1.0
        rooted = half == 0.5 and self.has("sqrt")
        if (half and not rooted) or not 1 <= whole <= _LARGEST_PRODUCT:
            raise self._lacking("pow")
        product = self._product(base, whole)
        return self.infix("*", product, self.operator("sqrt", base)) if rooted else product

    def _product(self, base: Node, count: int) -> Node:
        if count == 1:
            return self.finished(base)
        name = WHOLE_POWERS.get(float(count))
        if name is not None and self.has(name):
            return self.operator(name, base)
        if count % 2 == 0 and self.has("square"):
            return self.operator("square", self._product(base, count // 2))
        return self.infix("*", self._product(base, count - 1), base)
