"""Formulas as source code: an expression with no more brackets than it needs, and lines before it.

A part gets a line and a name of its own where the expression would repeat it, and where it is
nested so deeply that a compiler might give up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from symseek.errors import InputError
from symseek.export.names import (
    PYTHON_RESERVED,
    function_name,
    identifiers,
    python_identifier,
)
from symseek.export.tree import checked, exportable, work
from symseek.notation.brackets import ATOM, SIGN, Fragment, Style, read
from symseek.programs import Program
from symseek.tokens import OPERATORS, Token

# Python reads at most 200 brackets inside one another, C99 promises 63.
_DEEPEST = 40
CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\(")
"""The name of a function that a form calls."""
_COMPUTES = re.compile("[*/<>]")  # though it is in brackets


@dataclass(frozen=True)
class Language:
    """What a target writes."""

    name: str  # of the form in `Forms`
    number: Callable[[float], Fragment]
    # A number that meets only numbers must become one of the target's own kind, because those of
    # the language raise errors or warnings. Empty: it gets a name.
    lift: str = "{}"
    assign: str = ""  # the line that gives a part a name; empty where there are no lines
    most_characters: int | None = None
    style: Style = field(default_factory=Style)


@dataclass
class Source:
    """A formula in a language: lines, and the expression to come after them."""

    language: Language
    names: Sequence[str]  # of the columns
    taken: set[str]  # names that mean something
    lines: list[str] = field(default_factory=list)
    operators: dict[str, Token] = field(default_factory=dict)  # those written, by their names
    used: set[int] = field(default_factory=set)  # columns that the formula depends on
    whole: Fragment = field(default_factory=lambda: Fragment(""))

    @property
    def expression(self) -> str:
        """The text of the whole formula."""
        return self.whole.text

    def column(self, index: int) -> Fragment:
        self.used.add(index)
        return Fragment(self.names[index])

    def form(self, token: Token) -> Callable[..., Fragment] | None:
        text = token.form(self.language.name)
        return None if text is None else partial(self.operator, token, text)

    def operator(self, token: Token, text: str, *arguments: Fragment) -> Fragment:
        template = read(text)
        self.operators[token.name] = token
        if not arguments:
            return Fragment(text)
        computes = template.level < ATOM or _COMPUTES.search(text) is not None
        if computes and all(piece.literal is not None for piece in arguments):
            arguments = (self.lifted(arguments[0]), *arguments[1:])
        if template.repeats:
            arguments = tuple(self.named(piece) for piece in arguments)
        piece = self.language.style.fill(template, arguments)
        most = self.language.most_characters
        if most is not None and len(piece.text) > most:
            raise InputError(
                f"the formula takes more than the {most} characters that fit; export a shorter one"
            )
        return self.named(piece) if piece.depth > _DEEPEST else piece

    def lifted(self, piece: Fragment) -> Fragment:
        if not self.language.lift:
            return self.assigned(piece)
        if self.language.lift == "{}":
            return piece
        return Fragment(self.language.lift.format(piece.text))

    def named(self, piece: Fragment) -> Fragment:
        """The piece itself if it is so short that it may be repeated, else a name for it."""
        short = piece.level == ATOM and piece.depth == 0
        return piece if short or not self.language.assign else self.assigned(piece)

    def assigned(self, piece: Fragment) -> Fragment:
        name = next(each for each in map("part{}".format, count(1)) if each not in self.taken)
        self.taken.add(name)
        self.lines.append(self.language.assign.format(name=name, text=piece.text))
        return Fragment(name)


def write(
    program: Program, language: Language, names: Sequence[str], taken: Collection[str] = ()
) -> Source:
    """A formula in a language, with names for its columns, beside names that are taken."""
    source = Source(language, names, {*names, *taken})
    exportable(program, language.name)
    source.whole = work(program, source.form, language.number, source.column, source.named)
    return source


def python_source(
    program: Program, language: Language, name: str, reserved: Collection[str]
) -> tuple[list[str], Source]:
    """Python names for the columns, and the formula with them, beside a function of some name."""
    reserved = PYTHON_RESERVED | called(checked(program), language.name) | set(reserved)
    taken = reserved | {function_name(name, python_identifier, reserved)}
    names = identifiers(program.library.variables, python_identifier, taken.__contains__)
    return names, write(program, language, names, taken)


def called(program: Program, language: str) -> frozenset[str]:
    """The functions that operators call in a language: those of the table, and of the program."""
    tokens = (*OPERATORS.values(), *program.library)
    forms = (token.form(language) for token in tokens if token.arity)
    return frozenset(name for form in forms if form for name in CALLED.findall(form))


def literal(text: str, value: float) -> Fragment:
    """A number as it stands."""
    return Fragment(text, SIGN if text.startswith("-") else ATOM, value)
