"""Programs as MathML, which browsers typeset without any script.

Every operator has one line in `_FORMS`: how tightly the whole holds together, what it asks of its
arguments, and its markup. The rest follows `printing.latex`, so that a formula looks the same in
both. All names are escaped, whatever a column may be called.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from symseek.notation.printing import ATOM, LOOSE, POWER, PRODUCT, SIGN, SUM, latex_name
from symseek.programs import Program
from symseek.tokens import ARGUMENTS, Kind, Token, number_name, short_number

__all__ = ["escaped", "mathml"]

_DIGITS = 15  # as many as every decimal keeps in a float
_MINUS = "<mo>−</mo>"
_DOT = "<mo>⋅</mo>"
_TIMES = '<mo lspace="0.1em" rspace="0.1em">&#x2062;</mo>'  # a product without a sign
_APPLY = "<mo>&#x2061;</mo>"  # between a function and its bracket

_E = "<msup><mi>e</mi><mrow>{a}</mrow></msup>"

# name: (level of the whole, levels asked of the arguments, markup). What stands in brackets, in a
# fraction or under a root asks for nothing. A fraction needs brackets only under a power.
_FORMS: dict[str, tuple[int, tuple[int, ...], str]] = {
    "add": (SUM, (SUM, PRODUCT), "{a}<mo>+</mo>{b}"),
    "sub": (SUM, (SUM, PRODUCT), "{a}" + _MINUS + "{b}"),
    "mul": (PRODUCT, (PRODUCT, PRODUCT), "{a}" + _DOT + "{b}"),
    "div": (POWER, (LOOSE, LOOSE), "<mfrac><mrow>{a}</mrow><mrow>{b}</mrow></mfrac>"),
    "pow": (POWER, (ATOM, LOOSE), "<msup><mrow>{a}</mrow><mrow>{b}</mrow></msup>"),
    "exp": (POWER, (LOOSE,), _E),
    "neg_exp": (POWER, (POWER,), _E.replace("{a}", _MINUS + "{a}")),
    "sqrt": (ATOM, (LOOSE,), "<msqrt><mrow>{a}</mrow></msqrt>"),
    "square": (POWER, (ATOM,), "<msup><mrow>{a}</mrow><mn>2</mn></msup>"),
    "cube": (POWER, (ATOM,), "<msup><mrow>{a}</mrow><mn>3</mn></msup>"),
    "fourth": (POWER, (ATOM,), "<msup><mrow>{a}</mrow><mn>4</mn></msup>"),
    "reciprocal": (POWER, (LOOSE,), "<mfrac><mn>1</mn><mrow>{a}</mrow></mfrac>"),
    "neg": (SIGN, (POWER,), _MINUS + "{a}"),
    "abs": (
        ATOM,
        (LOOSE,),
        '<mrow><mo fence="true">|</mo><mrow>{a}</mrow><mo fence="true">|</mo></mrow>',
    ),
}


class _Markup(NamedTuple):
    text: str
    level: int

    def at(self, level: int) -> str:
        """The markup for a place that asks for a level."""
        return self.text if self.level >= level else _bracketed(self.text)

    def after(self, level: int) -> str:
        """The same for a place behind a symbol, where no sign may follow."""
        return self.at(ATOM if self.text.startswith(_MINUS) else level)


def mathml(program: Program, target: str | None = None) -> str:
    """Write a `math` element, as an equation where a target is named.

    >>> print(mathml(Program.parse("-t"), target="y"))
    <math displaystyle="true"><mi>y</mi><mo>=</mo><mrow><mo>−</mo><mi>t</mi></mrow></math>
    """
    body = f"<mrow>{_markup(program, _named).text}</mrow>"
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


def _markup(program: Program, variable: Callable[[str], _Markup]) -> _Markup:
    def combine(token: int, constant: float | None, arguments: list[_Markup]) -> _Markup:
        this = program.library.tokens[token]
        if this.kind is Kind.VARIABLE:
            return variable(this.name)
        if this.kind is Kind.OPERATOR:
            return _operator(this, arguments)
        return _number(this, constant)

    return program.fold(combine)


def _operator(token: Token, arguments: list[_Markup]) -> _Markup:
    named = dict(zip(ARGUMENTS, arguments, strict=False))
    if token.name == "mul" and _runs_on(*arguments):
        return _Markup(arguments[0].text + _TIMES + arguments[1].at(PRODUCT), PRODUCT)
    if token.name in _FORMS:
        level, places, form = _FORMS[token.name]
        texts = {
            name: each.at(place) if _open(form, name, place) else each.after(place)
            for (name, each), place in zip(named.items(), places, strict=True)
        }
        return _Markup(_filled(form, texts), level)
    if token.expansion is not None:
        return _markup(token.expansion, named.__getitem__)
    if token.arity == 0:
        return _Markup(_name(token.name), ATOM)
    inside = "<mo>,</mo>".join(each.text for each in arguments)
    return _Markup(f"<mi>{escaped(token.name)}</mi>{_APPLY}{_bracketed(inside)}", ATOM)


def _open(form: str, name: str, place: int) -> bool:
    """Whether a sign may come first there: at the start, or where the form itself encloses."""
    return place == LOOSE or form.startswith(f"{{{name}}}")


_NAME_FIRST = re.compile("<msqrt>|(<msup>(<mrow>)?)?<m(i|text|sub)>")


def _runs_on(left: _Markup, right: _Markup) -> bool:
    """Whether a product reads well without a dot: a number before a name, a root or a bracket."""
    number = re.fullmatch(rf"({_MINUS})?<mn>[^<]*</mn>", left.text) or left.text == _PI
    bracket = right.level < PRODUCT
    return bool(number) and (bracket or _NAME_FIRST.match(right.text) is not None)


def _filled(form: str, texts: dict[str, str]) -> str:
    """The form with its arguments, in one pass: a name may hold braces."""
    return re.sub(r"\{([a-h])\}", lambda match: texts[match.group(1)], form)


def _bracketed(text: str) -> str:
    return f"<mrow><mo>(</mo><mrow>{text}</mrow><mo>)</mo></mrow>"


_PI = "<mi>π</mi>"


def _number(token: Token, constant: float | None) -> _Markup:
    value = token.value if constant is None else constant
    assert value is not None
    if constant is None and token.name != number_name(value):
        return _Markup(_name(token.name), ATOM)
    sign, level = (_MINUS, SIGN) if value < 0 else ("", ATOM)
    size = abs(value)
    if math.isnan(size):
        return _Markup("<mi>nan</mi>", ATOM)
    if size == math.pi or math.isinf(size):
        return _Markup(sign + (_PI if size == math.pi else "<mi>∞</mi>"), level)
    mantissa, _, exponent = short_number(size, _DIGITS).partition("e")
    if exponent:
        power = f"{_MINUS * (int(exponent) < 0)}<mn>{abs(int(exponent))}</mn>"
        ten = f"<msup><mn>10</mn><mrow>{power}</mrow></msup>"
        return _Markup(f"{sign}<mn>{mantissa}</mn>{_DOT}{ten}", PRODUCT)
    return _Markup(f"{sign}<mn>{mantissa}</mn>", level)


def _named(name: str) -> _Markup:
    return _Markup(_name(name), ATOM)


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
