"""Where brackets go: the one printer of everything that is written with symbols.

A `Fragment` knows how tightly its text holds together. A `Template`, such as "{a}/{b}", says how
tightly each argument must; what holds less gets brackets. Both follow from the symbols in the
template, so an operator needs no more than its template in each language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from symseek.operators.record import ARGUMENTS

LOOSE, SUM, PRODUCT, SIGN, POWER, ATOM = range(6)

# What a symbol makes of the whole, and what it asks of its neighbours. Equal symbols are read from
# the left, so the right one is asked for more; a product that is typeset reads well either way.
_SYMBOLS = {
    #     whole, left, right
    "+": (SUM, SUM, PRODUCT),
    "-": (SUM, SUM, PRODUCT),
    "*": (PRODUCT, PRODUCT, SIGN),
    "/": (PRODUCT, PRODUCT, SIGN),
    r"\cdot": (PRODUCT, PRODUCT, PRODUCT),
    "**": (POWER, ATOM, ATOM),
    "^": (POWER, ATOM, ATOM),
}
_UNKNOWN = (LOOSE, ATOM, ATOM)
_PART = re.compile(
    r"\{(?P<argument>[a-h])\}"
    r"|(?P<open>\\left(?:\\[a-z]+|.)|[({\[])|(?P<close>\\right(?:\\[a-z]+|.)|[)}\]])"
    r"|(?P<symbol>\*\*|\\cdot|[^\w\s\\,.])|(?P<comma>,)|(?P<word>\\?[\w.]+)"
)


@dataclass(frozen=True)
class Fragment:
    """Text for a part of a formula."""

    text: str
    level: int = ATOM  # how tightly it holds together
    literal: float | None = None  # the value, where the text is a number as it stands
    depth: int = 0  # operators inside one another


class Template(NamedTuple):
    """A text with places for arguments, and the levels in question."""

    text: str
    level: int  # of the whole
    places: tuple[int, ...]  # asked of the arguments
    signed: frozenset[int]  # the arguments that a sign stands before

    @property
    def repeats(self) -> bool:
        """Whether an argument stands in the template more than once."""
        return any(self.text.count(f"{{{name}}}") > 1 for name in ARGUMENTS)


@lru_cache(maxsize=4096)
def read(text: str) -> Template:
    """The levels that follow from the symbols of a template.

    >>> read("{a}/{b}").level == PRODUCT, read("{a}/{b}").places == (PRODUCT, SIGN)
    (True, True)
    >>> read("exp(-{a})").level == ATOM, read("exp(-{a})").signed
    (True, frozenset({0}))
    """
    parts = [(match.lastgroup or "", match[match.lastgroup or 0]) for match in _PART.finditer(text)]
    level, depth = ATOM, 0
    places: dict[int, int] = {}
    signed = set()
    for at, (kind, found) in enumerate(parts):
        depth += (kind == "open") - (kind == "close")
        if kind == "argument":
            name = ARGUMENTS.index(found)
            before, after = _need(parts, at - 1, 2), _need(parts, at + 1, 1)
            if _is_sign(parts, at - 1):
                signed.add(name)
                before = LOOSE
            places[name] = max(places.get(name, LOOSE), before, after)
        elif depth == 0 and kind == "symbol":
            whole = SIGN if _is_sign(parts, at) else _SYMBOLS.get(found, _UNKNOWN)[0]
            level = min(level, whole)
        elif depth == 0 and found == r"\frac":  # it needs brackets only under a power
            level = min(level, POWER)
    count = max(places, default=-1) + 1
    wanted = tuple(places.get(name, LOOSE) for name in range(count))
    return Template(text, level, wanted, frozenset(signed))


def _need(parts: Sequence[tuple[str, str]], at: int, side: int) -> int:
    """What the neighbour of an argument asks for, if it is a symbol."""
    if not 0 <= at < len(parts) or parts[at][0] != "symbol":
        return LOOSE
    return _SYMBOLS.get(parts[at][1], _UNKNOWN)[side]


def _is_sign(parts: Sequence[tuple[str, str]], at: int) -> bool:
    """Whether there is a minus there with nothing to subtract from."""
    if at < 0 or parts[at] != ("symbol", "-"):
        return False
    return at == 0 or parts[at - 1][0] in ("open", "comma", "symbol")


@dataclass(frozen=True)
class Style:
    """How a language writes brackets and signs."""

    brackets: str = "({})"
    sign: str = "-"  # what a text with a sign begins with
    after_sign: int = POWER  # asked of what follows a sign
    signed_numbers: bool = True  # whether a number may follow a sign that is not its own

    def fill(self, template: Template, arguments: Sequence[Fragment]) -> Fragment:
        """The template with its arguments, in brackets where those are needed."""
        texts = {
            name: self._placed(template, at, name, piece)
            for at, (name, piece) in enumerate(zip(ARGUMENTS, arguments, strict=False))
        }
        text = re.sub(r"\{([a-h])\}", lambda match: texts[match[1]], template.text)
        return Fragment(text, template.level, depth=1 + max(piece.depth for piece in arguments))

    def _placed(self, template: Template, at: int, name: str, piece: Fragment) -> str:
        place = template.places[at] if at < len(template.places) else LOOSE
        if at in template.signed:
            place = max(place, self.after_sign)
            if piece.literal is not None and not self.signed_numbers:
                place = ATOM + 1
        # No sign may follow another symbol.
        first = place == LOOSE or template.text.startswith(f"{{{name}}}")
        if piece.level < place or (not first and piece.text.startswith(self.sign)):
            return self.bracketed(piece.text)
        return piece.text

    def bracketed(self, text: str) -> str:
        """The text in brackets."""
        return self.brackets.replace("{}", text)
