"""Formulas as source code: an expression with no more brackets than it needs, and lines before it.

A part gets a line and a name of its own where the expression would repeat it, and where it is
nested so deeply that a compiler might give up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from symseek.errors import InputError
from symseek.export.tree import work
from symseek.notation.printing import ATOM, LOOSE, POWER, PRODUCT, SIGN, SUM
from symseek.programs import Program
from symseek.tokens import ARGUMENTS

__all__ = ["ARITHMETIC", "Form", "Language", "Piece", "Source", "call", "literal", "write"]

# Python reads at most 200 brackets inside one another, C99 promises 63.
_DEEPEST = 40


@dataclass(frozen=True)
class Piece:
    """Text for a part of a formula."""

    text: str
    level: int  # how tightly it holds together: one of the levels of `printing`
    literal: bool = False  # a number as it stands
    depth: int = 0  # operators inside one another

    @property
    def repeatable(self) -> bool:
        """Whether the text is so short that it may stand in several places."""
        return self.level == ATOM and self.depth == 0

    def at(self, level: int, first: bool) -> str:
        """The text for a place that asks for a level; no sign may follow another symbol."""
        signed = not first and level > LOOSE and self.text.startswith("-")
        return f"({self.text})" if signed or self.level < level else self.text


@dataclass(frozen=True)
class Form:
    """How an operator is written: a template in {a}, {b}, ... and the levels in question."""

    template: str
    level: int = ATOM  # of the whole
    places: tuple[int, ...] = (LOOSE, LOOSE)  # asked of the arguments
    needs: str = ""  # a name that the source must define or import

    def fill(self, arguments: Sequence[Piece]) -> Piece:
        """The form with its arguments."""
        texts = {
            name: piece.at(place, self.template.startswith(f"{{{name}}}"))
            for name, piece, place in zip(ARGUMENTS, arguments, self.places, strict=False)
        }
        depth = 1 + max(piece.depth for piece in arguments)
        return Piece(self.template.format(**texts), self.level, depth=depth)

    @property
    def repeats(self) -> bool:
        """Whether an argument stands in the template more than once."""
        return any(self.template.count(f"{{{name}}}") > 1 for name in ARGUMENTS)


def call(function: str, needs: str = "") -> Form:
    """The form of a function of one argument."""
    return Form(f"{function}({{a}})", needs=needs)


# Equal symbols are read from the left, so what stands on the right is asked for one level more:
# brackets there keep the order of the roundings.
ARITHMETIC = {
    "add": Form("{a} + {b}", SUM, (SUM, PRODUCT)),
    "sub": Form("{a} - {b}", SUM, (SUM, PRODUCT)),
    "mul": Form("{a}*{b}", PRODUCT, (PRODUCT, SIGN)),
    "neg": Form("-{a}", SIGN, (POWER,)),
}
"""What all languages share."""


@dataclass(frozen=True)
class Language:
    """What a target writes."""

    forms: Mapping[str, Form]
    number: Callable[[float], Piece]
    # A number that meets only numbers must become one of the target's own kind, because those of
    # the language raise errors or warnings. Empty: it gets a name.
    lift: str = "{}"
    assign: str = ""  # the line that gives a part a name; empty where there are no lines
    most_characters: int | None = None


@dataclass
class Source:
    """A formula in a language: lines, and the expression to come after them."""

    language: Language
    names: Sequence[str]  # of the columns
    taken: set[str]  # names that mean something
    lines: list[str] = field(default_factory=list)
    needs: set[str] = field(default_factory=set)
    used: set[int] = field(default_factory=set)  # columns that the formula depends on
    whole: Piece = field(default_factory=lambda: Piece("", ATOM))

    @property
    def expression(self) -> str:
        """The text of the whole formula."""
        return self.whole.text

    def column(self, index: int) -> Piece:
        self.used.add(index)
        return Piece(self.names[index], ATOM)

    def operator(self, form: Form, *arguments: Piece) -> Piece:
        if form.level < ATOM and all(piece.literal for piece in arguments):
            arguments = (self.lifted(arguments[0]), *arguments[1:])
        if form.repeats:
            arguments = tuple(self.named(piece) for piece in arguments)
        self.needs.add(form.needs)
        piece = form.fill(arguments)
        most = self.language.most_characters
        if most is not None and len(piece.text) > most:
            raise InputError(
                f"the formula takes more than the {most} characters that fit; export a shorter one"
            )
        return self.named(piece) if piece.depth > _DEEPEST else piece

    def lifted(self, piece: Piece) -> Piece:
        if not self.language.lift:
            return self.assigned(piece)
        if self.language.lift == "{}":
            return piece
        return Piece(self.language.lift.format(piece.text), ATOM)

    def named(self, piece: Piece) -> Piece:
        """The piece itself if it may be repeated, else a name for it."""
        return piece if piece.repeatable or not self.language.assign else self.assigned(piece)

    def assigned(self, piece: Piece) -> Piece:
        name = next(each for each in map("part{}".format, count(1)) if each not in self.taken)
        self.taken.add(name)
        self.lines.append(self.language.assign.format(name=name, text=piece.text))
        return Piece(name, ATOM)


def write(
    program: Program, language: Language, names: Sequence[str], taken: Collection[str] = ()
) -> Source:
    """A formula in a language, with names for its columns, beside names that are taken."""
    source = Source(language, names, {*names, *taken})
    forms = {name: partial(source.operator, form) for name, form in language.forms.items()}
    source.whole = work(program, forms, language.number, source.column, source.named)
    source.needs.discard("")
    return source


def literal(text: str) -> Piece:
    """A number as it stands."""
    return Piece(text, SIGN if text.startswith("-") else ATOM, literal=True)
