"""Named numbers on their side of the line: q1*q2/(4*pi*r**2), not 1/(4*pi)*q1*q2/r**2.

A constant written as a fraction has a part above the line and one below. Where it is a factor
of a quotient, each part goes to its side; a fraction of integers before a product stays, as in
1/2*m*v**2. This is for reading only: the constants of the result are texts, not values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symseek.algebra.parts import Builder, FormulaPart
from symseek.notation.printing import infix
from symseek.programs import Program
from symseek.tokens import Library

_NEEDED = ("mul", "div", "reciprocal", "neg", "const")


def upright(program: Program, names: Sequence[str]) -> str:
    """The infix text of a program, with names for its constants, fractions among them split.

    A minus that a product has goes before its first factor.

    >>> print(upright(Program.parse("0.0796*q1*q2/(eps*r**2)"), ["1/(4*pi)"]))
    q1*q2/(4*pi*eps*r**2)
    >>> print(upright(Program.parse("0.5*m*v**2"), ["1/2"]))
    1/2*m*v**2
    """
    library = program.library
    if not all(name in library for name in _NEEDED):
        return infix(program, names)
    sides = _Upright(library, names)
    whole = sides.finished(program.fold(sides.node))
    return infix(Program(library, whole.tokens, (0.0,) * len(whole.constants)), whole.constants)


def _number(part: FormulaPart) -> str | None:
    """The name of a constant that stands alone."""
    return part.constants[0] if len(part.tokens) == 1 and part.constants else None


class _Sides(NamedTuple):
    """What a number has above and below the line, without its sign."""

    above: str
    below: str = "1"

    @classmethod
    def of(cls, name: str) -> _Sides:
        above, _, below = name.lstrip("-").partition("/")
        if below.startswith("(") and below.endswith(")"):
            below = below[1:-1]
        return cls(above, below or "1")

    def turned(self) -> _Sides:
        return _Sides(self.below, self.above)


class _Upright(Builder):
    """Gathers the factors of products and puts them on their sides; everything else stays."""

    def __init__(self, library: Library, names: Sequence[str]) -> None:
        super().__init__(library)
        self._names = list(names)  # the tree is worked from its end, and so are they
        self._product = {library.index(name): name for name in ("mul", "div", "reciprocal", "neg")}

    def node(self, token: int, constant: float | None, arguments: list[FormulaPart]) -> FormulaPart:
        if constant is not None:
            return FormulaPart((token,), (self._names.pop(),))
        name = self._product.get(token)
        if name is None:
            return self.joined((token,), [self.finished(each) for each in arguments])
        plain = self.joined((token,), arguments)
        above, below, negative = self.gathered(name, arguments)
        return plain._replace(above=above, below=below, negative=negative)

    def finished(self, part: FormulaPart) -> FormulaPart:
        """A whole product, rebuilt where a number is to be split or a sign to be moved."""
        upper, lower = ([_number(each) for each in side] for side in (part.above, part.below))
        numbers = [*filter(None, upper), *filter(None, lower)]
        sides = [*map(_Sides.of, filter(None, upper))]
        quotient = bool(part.below) or any(not each.below.isdigit() for each in sides)
        split = quotient and any("/" in name for name in numbers)
        factors = len(part.above) + len(part.below)
        signed = self._product.get(part.tokens[0]) == "neg" and factors > 1
        if not (split or signed or any(name and name.startswith("-") for name in lower)):
            return part
        if not split:
            sides = [_Sides(name.lstrip("-")) for name in filter(None, upper)]
        sides += [_Sides.of(name).turned() for name in filter(None, lower)]
        minus = (part.negative + sum(name.startswith("-") for name in numbers)) % 2 == 1
        return self.rebuilt(part, sides, minus)

    def rebuilt(self, part: FormulaPart, sides: list[_Sides], minus: bool) -> FormulaPart:
        """Numbers first on both sides of the line, where they are not 1."""
        above = [self.constant(each.above) for each in sides if each.above != "1"]
        rest = [each for each in part.above if _number(each) is None]
        if minus and above:
            above[0] = self.constant(f"-{above[0].constants[0]}")
        elif minus and rest:
            rest[0] = self.joined((self.library.index("neg"),), rest[:1])
        elif minus:
            above = [self.constant("-1")]
        below = [self.constant(each.below) for each in sides if each.below != "1"]
        below += [each for each in part.below if _number(each) is None]
        above += rest
        return self.fraction(above if above or below else [self.constant("1")], below)

    def constant(self, name: str) -> FormulaPart:
        return FormulaPart((self.library.index("const"),), (name,))
