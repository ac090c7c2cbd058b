"""Formulas of the kind that people write, drawn at random from a grammar.

A formula is a product, a sum or a function, each made of smaller ones; columns are most of its
leaves. The frequencies below are what one sees on leafing through a formulary of physics or
engineering, as round numbers: products and quotients of a few quantities come first, sums of two
terms next; a square is the usual power; exp and sqrt are the usual functions; what is under a root
or in a logarithm is mostly a sum or a quotient, and what is in a sine a column or a product. They
were set before any benchmark was run and are fitted to none.

A formula is a list of roles (see `roles`) in prefix order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

Formula = list[str]
Choice = TypeVar("Choice", bound=Hashable)

_DEEPEST = 3  # levels of sums, products and functions, the outermost apart

_WHOLE = {"product": 0.55, "sum": 0.30, "function": 0.15}

# Of a product: factors above and below the line, a number in front apart.
_ABOVE = {0: 0.08, 1: 0.32, 2: 0.36, 3: 0.18, 4: 0.06}
_BELOW = {0: 0.48, 1: 0.34, 2: 0.14, 3: 0.04}
_FACTOR = {"variable": 0.68, "power": 0.13, "sum": 0.10, "function": 0.09}
_IN_FRONT = 0.35  # a product begins with a number

_TERMS = {2: 0.75, 3: 0.20, 4: 0.05}
_TERM = {"variable": 0.27, "power": 0.15, "product": 0.42, "function": 0.16}
_SUBTRACTED = 0.38  # of the terms after the first
_NUMBER_LAST = 0.35  # one term of a sum is a number, as in 1 + x

_POWER = {"square": 0.80, "cube": 0.10, "fourth": 0.04, "pow": 0.06}
_WRITTEN_OUT = 0.25  # x*x for x**2

_FUNCTION = {
    "exp": 0.27,
    "sqrt": 0.22,
    "cos": 0.15,
    "sin": 0.14,
    "log": 0.11,
    "unary": 0.08,  # any other: tan, atan, sinh, abs, ...
    "tanh": 0.03,
}
_MINUS = 0.4  # exp(-a) among the exponentials
_AS_ONE = 0.2  # of those, written with the operator for exp(-a)
_OTHER_BINARY = 0.01  # of the functions: atan2, hypot, min, ...
_ARGUMENT = {
    "exp": {"product": 0.60, "sum": 0.12, "variable": 0.18, "power": 0.10},
    "sqrt": {"product": 0.35, "sum": 0.60, "variable": 0.05},
    "sin": {"product": 0.43, "sum": 0.15, "variable": 0.42},
    "cos": {"product": 0.43, "sum": 0.15, "variable": 0.42},
    "log": {"product": 0.40, "sum": 0.45, "variable": 0.15},
    "unary": {"product": 0.45, "sum": 0.20, "variable": 0.35},
    "tanh": {"product": 0.50, "sum": 0.20, "variable": 0.30},
}

_FITTED = 0.75  # of the numbers; the others are fixed ones, as the 2 in 2*x


class FormulaGrammar:
    """Draws formulas; the same seed draws the same ones.

    >>> formulas = FormulaGrammar(seed=9)
    >>> [" ".join(formulas.draw()) for _ in range(2)]
    ['div div variable variable variable', 'add variable const']
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._kinds: dict[str, Callable[[int], Formula]] = {
            "variable": lambda depth: ["variable"],
            "power": self._power,
            "product": self._product,
            "sum": self._sum,
            "function": self._function,
        }

    def draw(self, longest: int = 30) -> Formula:
        """A formula of 2 to `longest` tokens."""
        while True:
            formula = self._kinds[self._pick(_WHOLE)](0)
            if 2 <= len(formula) <= longest:
                return formula

    def _pick(self, shares: Mapping[Choice, float]) -> Choice:
        return self._random.choices([*shares], [*shares.values()])[0]

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _part(self, shares: Mapping[str, float], depth: int) -> Formula:
        """A part of some kind; the deepest are columns and their powers."""
        kind = self._pick(shares)
        if depth >= _DEEPEST and kind != "power":
            kind = "variable"
        return self._kinds[kind](depth + 1)

    def _number(self) -> Formula:
        return ["const" if self._chance(_FITTED) else "number"]

    def _power(self, depth: int) -> Formula:
        base = ["variable"]
        if depth < _DEEPEST and self._chance(0.1):
            base = self._sum(depth)
        kind = self._pick(_POWER)
        if kind == "pow":
            return ["pow", *base, *self._number()]
        if kind == "square" and base == ["variable"] and self._chance(_WRITTEN_OUT):
            return ["mul", *base, *base]
        return [kind, *base]

    def _chain(self, operator: str, parts: list[Formula]) -> Formula:
        """The parts joined, from the left or from the right at each step."""
        first, last = 0, len(parts)
        begun, ended = [], []
        while last - first > 1:
            begun.append(operator)
            if self._chance(0.5):
                begun += parts[first]
                first += 1
            else:
                last -= 1
                ended.append(parts[last])
        return [*begun, *parts[first], *(token for part in reversed(ended) for token in part)]

    def _product(self, depth: int) -> Formula:
        above = [self._part(_FACTOR, depth) for _ in range(self._pick(_ABOVE))]
        below = [self._part(_FACTOR, depth) for _ in range(self._pick(_BELOW))]
        if len(above) + len(below) < 2:  # a lone factor gets company
            (below if self._chance(0.5) else above).append(self._part(_FACTOR, depth))
        if not above and self._chance(0.5):
            return ["reciprocal", *self._chain("mul", below)]
        if not above or self._chance(_IN_FRONT):
            above.insert(0, self._number())
        if not below:
            return self._chain("mul", above)
        return self._quotient(above, below)

    def _quotient(self, above: list[Formula], below: list[Formula]) -> Formula:
        """One of the ways to write it: a*b/(c*d), a*(b/(c*d)) or a*b/c/d."""
        if len(above) > 1 and self._chance(0.3):
            last = self._chain("mul", below)
            return ["mul", *self._chain("mul", above[:-1]), "div", *above[-1], *last]
        whole = self._chain("mul", above)
        if len(below) > 1 and self._chance(0.3):
            for part in below:
                whole = ["div", *whole, *part]
            return whole
        return ["div", *whole, *self._chain("mul", below)]

    def _sum(self, depth: int) -> Formula:
        terms = [self._part(_TERM, depth) for _ in range(self._pick(_TERMS))]
        if self._chance(_NUMBER_LAST):
            terms[-1] = self._number()
        if self._chance(0.5):
            self._random.shuffle(terms)
        whole, from_left = terms[0], self._chance(0.65)
        for term in terms[1:]:
            operator = "sub" if self._chance(_SUBTRACTED) else "add"
            whole = [operator, *whole, *term] if from_left else [operator, *term, *whole]
        return ["neg", *whole] if self._chance(0.02) else whole

    def _function(self, depth: int) -> Formula:
        name = self._pick(_FUNCTION)
        argument = self._part(_ARGUMENT[name], depth)
        if name == "exp" and self._chance(_MINUS):
            return ["neg_exp", *argument] if self._chance(_AS_ONE) else ["exp", "neg", *argument]
        if self._chance(_OTHER_BINARY):
            return ["binary", *argument, "variable"]
        return [name, *argument]
