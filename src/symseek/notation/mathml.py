"""Programs as MathML, which browsers typeset without any script.

The markup of an operator is made of its LaTeX form, so that a formula looks the same in both and an
operator needs to say it once. All names are escaped, whatever a column may be called.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from symseek.notation.brackets import ATOM, PRODUCT, SIGN, Fragment, Style, Template, read
from symseek.notation.printing import Typeset, latex_name
from symseek.tokens import Token, number_name, short_number

if TYPE_CHECKING:
    from symseek.programs import Program

_DIGITS = 15  # as many as every decimal keeps in a float
_MINUS = "<mo>−</mo>"
_DOT = "<mo>⋅</mo>"
_TIMES = '<mo lspace="0.1em" rspace="0.1em">&#x2062;</mo>'  # a product without a sign
_APPLY = "<mo>&#x2061;</mo>"  # between a function and its bracket
_BRACKETS = "<mrow><mo>(</mo><mrow>{}</mrow><mo>)</mo></mrow>"
_STYLE = Style(_BRACKETS, _MINUS)


def mathml(program: Program, target: str | None = None) -> str:
    """Write a `math` element, as an equation where a target is named.

    >>> from symseek import Program
    >>> print(mathml(Program.parse("-t"), target="y"))
    <math displaystyle="true"><mi>y</mi><mo>=</mo><mrow><mo>−</mo><mi>t</mi></mrow></math>
    """
    body = f"<mrow>{_MATHML.write(program, lambda name: Fragment(_name(name))).text}</mrow>"
    if target is not None:
        body = f"{_name(target)}<mo>=</mo>{body}"
    return f'<math displaystyle="true">{body}</math>'


def escaped(text: str) -> str:
    """Text for HTML and MathML; what no document may hold becomes a replacement character."""
    return html.escape("".join("\ufffd" if _forbidden(c) else c for c in text))


def _forbidden(character: str) -> bool:
    if character in "\t\n":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or character in "\ufffe\uffff"


@lru_cache(maxsize=1024)
def _template(token: Token) -> Template | None:
    """The markup of an operator: its own, or that of its LaTeX form."""
    latex = token.form("latex")
    levels = None if latex is None else read(latex)
    if token.forms.mathml is not None:
        return (levels or read(token.forms.mathml))._replace(text=token.forms.mathml)
    if levels is None or token.arity == 0:
        return None
    try:
        return levels._replace(text=_Translation(levels.text).markup())
    except _Untranslated:
        return None


class _Untranslated(Exception):
    """A LaTeX form that uses more than is known here; the operator is written as a call."""


_LEXEME = re.compile(r"\s*(\\[A-Za-z]+|\{[a-h]\}|[0-9]+|[A-Za-z]+|\S)")
_SIGNS = {"+": "<mo>+</mo>", "-": _MINUS, r"\cdot": _DOT, ",": "<mo>,</mo>"}
_FENCES = {"|": "|", r"\lfloor": "⌊", r"\rfloor": "⌋", r"\lceil": "⌈", r"\rceil": "⌉"}


class _Translation:
    """The LaTeX of a template as MathML, read from left to right."""

    def __init__(self, latex: str) -> None:
        self.lexemes = _LEXEME.findall(latex)
        self.at = 0

    def markup(self, end: str = "") -> str:
        """Everything up to a closing lexeme."""
        parts: list[str] = []
        while self.ahead() != end:
            if self.ahead() == "^":
                self.take()
                base = parts.pop() if parts else ""
                base = base if base.startswith("<mi>") else f"<mrow>{base}</mrow>"
                parts.append(f"<msup>{base}{self.group()}</msup>")
            else:
                parts.append(self.part(self.take()))
        self.take()
        return "".join(parts)

    def ahead(self) -> str:
        return str(self.lexemes[self.at]) if self.at < len(self.lexemes) else ""

    def take(self) -> str:
        self.at += 1
        return str(self.lexemes[self.at - 1]) if self.at <= len(self.lexemes) else ""

    def part(self, lexeme: str) -> str:
        if re.fullmatch(r"\{[a-h]\}", lexeme):
            return lexeme
        if lexeme in _SIGNS:
            return _SIGNS[lexeme]
        if lexeme == r"\frac":
            return f"<mfrac>{self.group()}{self.group()}</mfrac>"
        if lexeme == r"\sqrt":
            return f"<msqrt>{self.group()}</msqrt>"
        if lexeme == r"\left":
            return self.fenced(self.take())
        if lexeme in (r"\operatorname", r"\mathrm"):
            return self.function(self.name())
        if lexeme.isdigit():
            return f"<mn>{lexeme}</mn>"
        if re.fullmatch(r"\\?[A-Za-z]+", lexeme) and lexeme != r"\right":
            return self.function(lexeme.removeprefix("\\"))
        raise _Untranslated(lexeme)

    def group(self) -> str:
        """What stands in braces, as one element."""
        if self.take() != "{":
            raise _Untranslated
        inside = self.markup("}")
        return inside if re.fullmatch("<mn>[0-9]+</mn>", inside) else f"<mrow>{inside}</mrow>"

    def name(self) -> str:
        """The letters in braces; a single one looks like an argument."""
        letters = "{"
        while not letters.endswith("}") and self.ahead():
            letters = letters.removesuffix("{") + self.take()
        return letters.strip("{}")

    def function(self, name: str) -> str:
        return f"<mi>{escaped(name)}</mi>" + _APPLY * (self.ahead() == r"\left")

    def fenced(self, fence: str) -> str:
        inside = self.markup(r"\right")
        close = self.take()
        if (fence, close) == ("(", ")"):
            return _STYLE.bracketed(inside)
        if fence not in _FENCES or close not in _FENCES:
            raise _Untranslated
        left, right = (f'<mo fence="true">{_FENCES[each]}</mo>' for each in (fence, close))
        return f"<mrow>{left}<mrow>{inside}</mrow>{right}</mrow>"


def _call(token: Token, arguments: list[Fragment]) -> Fragment:
    if not arguments:
        return Fragment(_name(token.name))
    inside = "<mo>,</mo>".join(each.text for each in arguments)
    return Fragment(f"<mi>{escaped(token.name)}</mi>{_APPLY}{_STYLE.bracketed(inside)}")


_NAME_FIRST = re.compile("<msqrt>|(<msup>(<mrow>)?)?<m(i|text|sub)>")


def _product(factors: list[Fragment]) -> Fragment | None:
    """A product that reads well without a dot: a number before a name, a root or a bracket."""
    left, right = factors
    number = re.fullmatch(rf"({_MINUS})?<mn>[^<]*</mn>", left.text) or left.text == _PI
    bracket = right.level < PRODUCT
    if not number or not (bracket or _NAME_FIRST.match(right.text)):
        return None
    return Fragment(
        left.text + _TIMES + (_STYLE.bracketed(right.text) if bracket else right.text), PRODUCT
    )


_PI = "<mi>π</mi>"


def _number(token: Token, constant: float | None) -> Fragment:
    value = token.value if constant is None else constant
    assert value is not None
    if constant is None and token.name != number_name(value):
        return Fragment(_name(token.name))
    sign, level = (_MINUS, SIGN) if value < 0 else ("", ATOM)
    size = abs(value)
    if math.isnan(size):
        return Fragment("<mi>nan</mi>")
    if size == math.pi or math.isinf(size):
        return Fragment(sign + (_PI if size == math.pi else "<mi>∞</mi>"), level)
    mantissa, _, exponent = short_number(size, _DIGITS).partition("e")
    if exponent:
        power = f"{_MINUS * (int(exponent) < 0)}<mn>{abs(int(exponent))}</mn>"
        ten = f"<msup><mn>10</mn><mrow>{power}</mrow></msup>"
        return Fragment(f"{sign}<mn>{mantissa}</mn>{_DOT}{ten}", PRODUCT)
    return Fragment(f"{sign}<mn>{mantissa}</mn>", level)


_MATHML = Typeset(_STYLE, _template, _call, _number, _product)


def _name(name: str) -> str:
    """A letter with a subscript, a Greek letter, or upright text; the same as in LaTeX."""
    match = re.fullmatch(r"([A-Za-z]+?)_?([0-9]*)", name)
    if match is None:
        return f"<mtext>{escaped(name)}</mtext>"
    letters, digits = match.groups()
    if latex_name(letters) == f"\\{letters}":
        case = "CAPITAL" if letters[0].isupper() else "SMALL"
        spelling = letters.upper().replace("LAMBDA", "LAMDA")  # as Unicode spells it
        letters = unicodedata.lookup(f"GREEK {case} LETTER {spelling}")
    if not digits:
        return f"<mi>{letters}</mi>"
    return f"<msub><mi>{letters}</mi><mn>{digits}</mn></msub>"
