"""Reading programs: infix text through an operator-precedence parser, and pre-order names.

The parser keeps two stacks, values and the operators waiting for them, and hands every completed
piece to `Lowering`, which writes it in the tokens of one library. With no recursion anywhere, a
program may be nested as deeply as it likes. Mistakes are reported with their place in the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ParamSpec, TypeVar

from symseek.arguments import refused
from symseek.errors import InputError, shown
from symseek.notation.lowering import MOST_TOKENS, Lowering, Node, Parts
from symseek.operators.table import ALIASES
from symseek.tokens import RESERVED, Library, every_operator

P = ParamSpec("P")
R = TypeVar("R")

MOST_CHARACTERS = 1_000_000
"""Of a text that is read."""

_INFIX = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
_SIGN = 3  # a sign binds tighter than a product and looser than a power, as in -x**2

_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NAME = r"[^\W\d]\w*"
_LEXEME = re.compile(
    rf"\s*(?:(?P<number>{_NUMBER})|(?P<name>{_NAME})|(?P<quoted>`(?:[^`]|``)+`)"
    r"|(?P<symbol>\*\*|[-+*/^(),]))"
)
_WORD = re.compile(r"(`(?:[^`]|``)+`)(?!\S)|(\S+)")
_SIGNED = re.compile(rf"[-+]?{_NUMBER}")
_CONST = re.compile(rf"const\(([-+]?(?:{_NUMBER}|inf|nan))\)")


def quote(name: str) -> str:
    """Write a token's name so that it reads back: in backquotes unless it is an identifier.

    >>> print(quote("x1"), quote("flow rate"))
    x1 `flow rate`
    """
    return name if re.fullmatch(_NAME, name) else "`" + name.replace("`", "``") + "`"


def _unquote(text: str) -> str:
    return text[1:-1].replace("``", "`")


@dataclass(slots=True)
class _Lexeme:
    kind: str  # number, name, quoted, symbol, end
    text: str
    position: int  # of its first character, from 0


class _Failure(Exception):
    """Something wrong at a place in the text; `parse_infix` words it for the reader."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def _lexemes(text: str) -> Iterator[_Lexeme]:
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _LEXEME.match(text, position)
        if match is None or match.lastgroup is None:
            position += len(text[position:]) - len(text[position:].lstrip())
            if text[position] == "`":
                raise _Failure("the backquote is never closed", position)
            raise _Failure(f"{text[position]!r} has no meaning here", position)
        kind = match.lastgroup
        found = match.group(kind)
        yield _Lexeme(kind, "**" if found == "^" else found, match.start(kind))
        position = match.end()
    yield _Lexeme("end", "the end", len(text))


@dataclass(slots=True)
class _Waiting:
    """An operator or bracket on the stack: what it waits for is to its right."""

    symbol: str  # an infix operator, "sign", "plus", "(" or "call"
    precedence: int
    lexeme: _Lexeme
    arguments: int = 1  # of a call, counted by its commas


class _InfixParser:
    """Two stacks: values, and the operators that wait for them."""

    def __init__(self, text: str, lower: Lowering) -> None:
        self.lexemes = list(_lexemes(text))
        self.at = 0
        self.lower = lower
        self.values: list[Node] = []
        self.waiting: list[_Waiting] = []

    def parse(self) -> Node:
        value_next = True
        while True:
            lexeme = self.take()
            if value_next:
                value_next = self.value(lexeme)
            elif lexeme.kind == "end":
                break
            else:
                value_next = self.operator(lexeme)
        self.reduce(0)
        if self.waiting:
            opened = self.waiting[-1].lexeme
            raise _Failure("the bracket opened here is never closed", opened.position)
        return self.values[0]

    def take(self) -> _Lexeme:
        self.at += 1
        return self.lexemes[self.at - 1]

    def ahead(self, count: int = 0) -> str:
        """The text of a lexeme to come."""
        return self.lexemes[min(self.at + count, len(self.lexemes) - 1)].text

    def value(self, lexeme: _Lexeme) -> bool:
        """Read a value, or what may stand before one; say whether a value is still to come."""
        if lexeme.kind == "number":
            self.values.append(self.number(lexeme))
        elif lexeme.kind in ("name", "quoted"):
            return self.named(lexeme)
        elif lexeme.text == "(":
            self.waiting.append(_Waiting("(", 0, lexeme))
            return True
        elif lexeme.text == "-" and self.starts_number():
            self.values.append(self.number(self.take(), -1.0))
        elif lexeme.text in ("-", "+"):
            self.waiting.append(_Waiting("sign" if lexeme.text == "-" else "plus", _SIGN, lexeme))
            return True
        else:
            found = lexeme.text if lexeme.kind == "end" else shown(lexeme.text)
            raise _Failure(f"expected a value but found {found}", lexeme.position)
        return False

    def starts_number(self) -> bool:
        """Whether a sign belongs to the number after it: -2 does, but -2**x is -(2**x)."""
        following = self.lexemes[self.at]
        return following.kind == "number" and self.ahead(1) != "**"

    def number(self, lexeme: _Lexeme, sign: float = 1.0) -> Node:
        value = float(lexeme.text)
        if math.isinf(value):
            raise _Failure(f"the number {_cut(lexeme.text)} is too large", lexeme.position)
        return self.lower.literal(sign * value)

    def named(self, lexeme: _Lexeme) -> bool:
        """Read a variable, or the opening of a call; say whether a value is still to come."""
        quoted = lexeme.kind == "quoted"
        name = _unquote(lexeme.text) if quoted else lexeme.text
        if self.ahead() != "(":
            self.values.append(self.attempt(lexeme, self.lower.name, name, quoted))
            return False
        if name == "const" and not quoted:
            self.values.append(self.const(lexeme))
            return False
        opened = _Lexeme("call", name, lexeme.position)
        self.take()
        if self.ahead() == ")":
            self.take()
            self.values.append(self.attempt(opened, self.lower.call, name))
            return False
        self.waiting.append(_Waiting("call", 0, opened))
        return True

    def const(self, lexeme: _Lexeme) -> Node:
        """Read `const(2.5)`: the placeholder with its value, even where 2.5 is a token."""
        inside = []
        while self.ahead() not in (")", "the end"):
            inside.append(self.take().text)
        match = _CONST.fullmatch(f"const{''.join(inside)})")
        if match is None or self.ahead() != ")":
            raise _Failure("const takes one number, as in const(2.5)", lexeme.position)
        self.take()
        return self.attempt(lexeme, self.lower.constant, float(match.group(1)))

    def operator(self, lexeme: _Lexeme) -> bool:
        """Read what follows a value; say whether a value must come next."""
        if lexeme.text in _INFIX and lexeme.kind == "symbol":
            precedence = _INFIX[lexeme.text]
            # Equal operators reduce from the left, except powers: x**y**z is x**(y**z).
            self.reduce(precedence + (lexeme.text == "**"))
            self.waiting.append(_Waiting(lexeme.text, precedence, lexeme))
            return True
        if lexeme.text not in (",", ")"):
            raise _Failure(
                f"expected an operator before {shown(lexeme.text)} (a product is written with *)",
                lexeme.position,
            )
        self.reduce(1)
        if not self.waiting:
            raise _Failure(f"no bracket is open before {lexeme.text!r}", lexeme.position)
        opened = self.waiting[-1]
        if lexeme.text == ",":
            if opened.symbol != "call":
                raise _Failure("a comma belongs between the arguments of a call", lexeme.position)
            opened.arguments += 1
            return True
        self.waiting.pop()
        if opened.symbol == "call":
            self.close_call(opened)
        return False

    def close_call(self, opened: _Waiting) -> None:
        arguments = self.values[-opened.arguments :]
        del self.values[-opened.arguments :]
        name = opened.lexeme.text
        self.values.append(self.attempt(opened.lexeme, self.lower.call, name, *arguments))

    def reduce(self, least: int) -> None:
        """Apply the operators that bind at least as tightly as `least`, down to a bracket."""
        while self.waiting and self.waiting[-1].precedence >= max(least, 1):
            this = self.waiting.pop()
            right = self.values.pop()
            if this.symbol == "sign":
                self.values.append(self.lower.negate(right))
            elif this.symbol == "plus":
                self.values.append(right)
            else:
                left = self.values.pop()
                value = self.attempt(this.lexeme, self.lower.infix, this.symbol, left, right)
                self.values.append(value)

    def attempt(
        self, lexeme: _Lexeme, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Call, with the place in the text added to whatever is wrong."""
        try:
            return function(*args, **kwargs)
        except InputError as error:
            raise _Failure(str(error), lexeme.position) from None


def parse_infix(text: str, library: Library) -> Parts:
    """Read infix text: the tokens of a library, and the values of its constants.

    >>> parse_infix("2.5*x + x**2", Library(["add", "mul", "const"], variables=["x"]))
    ((0, 1, 3, 2, 1, 2, 2), (2.5,))
    """
    _refuse_other_than_text(text)
    if not text.strip():
        raise InputError("the expression is empty")
    lower = Lowering(library)
    try:
        parser = _InfixParser(text, lower)
        return parser.attempt(parser.lexemes[0], lower.parts, parser.parse())
    except _Failure as failure:
        place = f"at character {failure.position + 1} of {_excerpt(text, failure.position)!r}"
        raise InputError(f"{failure} ({place})") from None


def _excerpt(text: str, position: int, width: int = 36) -> str:
    if len(text) <= width:
        return text
    start = max(0, min(position - width // 2, len(text) - width))
    head, tail = "..." * (start > 0), "..." * (start + width < len(text))
    return head + text[start : start + width] + tail


def _cut(number: str) -> str:
    return number if len(number) <= 40 else number[:40] + "..."


def _refuse_other_than_text(text: object) -> None:
    if not isinstance(text, str):
        raise refused("the formula", text, "text, such as 'x**2 + 1'")
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            f"the expression has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read"
        )


def infer_library(text: str) -> Library:
    """The library for text that comes without one: every operator, `const`, and the names in it.

    An operator that a variable of the text is named like is left out. The variables come in
    alphabetical order, numbers by size: x1, x2, x10.

    >>> infer_library("x10*sin(x2) + flow").variables
    ('flow', 'x2', 'x10')
    """
    return every_operator(sorted(sorted(named(text)), key=_natural))


def named(text: str) -> list[str]:
    """The names in a text that are neither called nor reserved, in their order.

    >>> named("f(x) + b*exp(-k*x)")
    ['x', 'b', 'k']
    """
    names: dict[str, None] = {}
    for this, following in pairwise(_lexemes_of(text)):
        if this.kind == "quoted" and following.text != "(":
            names[_unquote(this.text)] = None
        elif this.kind == "name" and following.text != "(" and this.text not in RESERVED | {"pi"}:
            names[this.text] = None
    return list(names)


def called(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The calls in a text, each with its arguments as they are written.

    >>> called("f(x, z) + exp(-k*g(x))")
    [('f', ('x', 'z')), ('exp', ('-k*g(x)',)), ('g', ('x',))]
    """
    lexemes = _lexemes_of(text)
    found: list[tuple[str, tuple[str, ...]]] = []
    for at, (this, following) in enumerate(pairwise(lexemes)):
        if this.kind not in ("name", "quoted") or following.text != "(":
            continue
        depth, cuts = 0, [following.position]
        for each in lexemes[at + 1 :]:
            depth += (each.text == "(") - (each.text == ")")
            if depth == 0 or (depth == 1 and each.text == ","):
                cuts.append(each.position)
            if depth == 0:
                break
        parts = tuple(text[start + 1 : end].strip() for start, end in pairwise(cuts))
        found.append((_unquote(this.text) if this.kind == "quoted" else this.text, parts))
    return found


def _lexemes_of(text: str) -> list[_Lexeme]:
    _refuse_other_than_text(text)
    try:
        return list(_lexemes(text))
    except _Failure:
        return []  # the parser will say what is wrong with the text


def _natural(name: str) -> list[tuple[int, str]]:
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    digits = [part.lstrip("0") if part[0] in "0123456789" else None for part in parts]
    # Of two numbers without zeros in front, the longer is larger, and else the later in the order.
    return [
        (-1, part) if number is None else (len(number), number)
        for part, number in zip(parts, digits, strict=True)
    ]


def parse_preorder(names: str | Iterable[str | float], library: Library) -> Parts:
    """Read a pre-order sequence: text with spaces between the names, or the names one by one.

    >>> parse_preorder("mul x 1.5", Library(["mul", "const"], variables=["x"]))
    ((0, 1, 2), (1.5,))
    """
    lower = Lowering(library)
    words = _words(names, library)
    if not words:
        raise InputError("the pre-order sequence is empty")
    if len(words) > MOST_TOKENS:
        raise InputError(f"the pre-order sequence has more than {MOST_TOKENS:,} tokens")
    parts = [lower.parts(_preorder_piece(word, quoted, lower)) for word, quoted in words]
    tokens = tuple(token for found, _ in parts for token in found)
    return tokens, tuple(value for _, found in parts for value in found)


def _words(names: str | Iterable[str | float], library: Library) -> list[tuple[str, bool]]:
    """The words, each with whether it can only be a name."""
    if isinstance(names, str):
        return [
            (_unquote(quoted), True) if quoted else (word, False)
            for quoted, word in _WORD.findall(names)
        ]
    return [(str(name), str(name) in library) for name in names]


def _preorder_piece(word: str, quoted: bool, lower: Lowering) -> Node:
    if not quoted and _SIGNED.fullmatch(word):
        value = float(word)
        if math.isinf(value):
            raise InputError(f"the number {_cut(word)} is too large")
        return lower.literal(value)
    constant = None if quoted else _CONST.fullmatch(word)
    if constant is not None:
        return lower.constant(float(constant.group(1)))
    known = word if word in lower.library else ALIASES.get(word, word)
    token = lower.library.index(known)
    return lower.constant() if token == lower.library.constant_id else Node(token)
