"""Formulas without numbers: small whole numbers and fractions, written with a column alone.

A library may have no constants. Then 2*x is x + x, and x/2 is x*x/(x + x). A sum of features with
such coefficients can still be written; others cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from symseek.structure.targets import Preorder, chain
from symseek.tokens import OPERATORS

_LARGEST = 4  # numerator or denominator
_SAME = 1e-9  # of a coefficient: what least squares leaves


@dataclass(frozen=True)
class _Tree:
    """A formula: a word and its arguments."""

    word: str | float
    arguments: tuple[_Tree, ...] = ()

    def words(self) -> Preorder:
        return [self.word, *(word for each in self.arguments for word in each.words())]


def without_numbers(words: Sequence[str | float], column: str) -> Preorder | None:
    """The words of the same formula without a number in them; None if there is no such way.

    The column must not be 0 on any row.

    >>> without_numbers(["add", "mul", -1.0, "y", "mul", 2.0, "x"], "x")
    ['sub', 'add', 'x', 'x', 'y']
    >>> without_numbers(["mul", 0.7, "x"], "x") is None
    True
    """
    tree, rest = _read(list(words))
    assert not rest
    try:
        sign, written = _signed(tree, column)
    except ValueError:
        return None
    if sign < 0:  # 0 - what there is
        written = _Tree("sub", (_Tree("sub", (_Tree(column), _Tree(column))), written))
    return written.words()


def _read(words: Preorder) -> tuple[_Tree, Preorder]:
    first, rest = words[0], words[1:]
    arity = OPERATORS[first].arity if isinstance(first, str) and first in OPERATORS else 0
    arguments = []
    for _ in range(arity):
        each, rest = _read(rest)
        arguments.append(each)
    return _Tree(first, tuple(arguments)), rest


def _signed(tree: _Tree, column: str) -> tuple[int, _Tree]:
    """A sign and the rest of a formula, which has no numbers; an error if there is no such way."""
    if isinstance(tree.word, float):
        size = _size(tree.word)
        return (1 if tree.word > 0 else -1), _number(size, column)
    if tree.word == "mul" and isinstance(tree.arguments[0].word, float):
        factor, (sign, inner) = tree.arguments[0].word, _signed(tree.arguments[1], column)
        return sign * (1 if factor > 0 else -1), _times(_size(factor), inner, column)
    signed = [_signed(each, column) for each in tree.arguments]
    if tree.word in ("add", "sub"):
        (one, first), (other, second) = signed
        other = -other if tree.word == "sub" else other
        if one == other:
            return one, _Tree("add", (first, second))
        pair = (first, second) if one > 0 else (second, first)
        return 1, _Tree("sub", pair)
    if tree.word in ("mul", "div"):
        return signed[0][0] * signed[1][0], _Tree(tree.word, tuple(each for _, each in signed))
    if any(sign < 0 for sign, _ in signed):
        raise ValueError("a function of a negative number needs one")
    return 1, _Tree(tree.word, tuple(each for _, each in signed))


def _size(value: float) -> Fraction:
    """The small fraction that a number is, without its sign."""
    size = Fraction(abs(value)).limit_denominator(_LARGEST)
    if not 0 < size.numerator <= _LARGEST or abs(float(size) - abs(value)) > _SAME * abs(value):
        raise ValueError(f"{value} is no small fraction")
    return size


def _many(count: int, tree: _Tree) -> _Tree:
    result = tree
    for _ in range(count - 1):
        result = _Tree("add", (tree, result))
    return result


def _number(size: Fraction, column: str) -> _Tree:
    letter = _Tree(column)
    return _Tree("div", (_many(size.numerator, letter), _many(size.denominator, letter)))


def _times(size: Fraction, tree: _Tree, column: str) -> _Tree:
    """A fraction times a formula, by as few tokens as there is a simple way for."""
    letter, up, down = _Tree(column), size.numerator, size.denominator
    if down == 1 and (up == 1 or len(tree.words()) == 1):
        return _many(up, tree)
    multiplied = chain([tree.words(), _many(up, letter).words()])
    above, _ = _read(multiplied)
    return _Tree("div", (above, _many(down, letter)))
