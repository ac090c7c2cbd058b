"""Writing programs: infix, pre-order and LaTeX text, and a drawn tree.

Infix text is written so that it reads back to the very same tokens. Where two programs would look
alike, the rarer one is written as a call: with `square` in the library x**2 is `square`, and a
power with exponent 2 is `pow(x, 2)`; with `reciprocal` 1/x is that, and a quotient is `div(1, x)`;
a constant whose value is also a number of the library is `const(2.0)`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from symseek.notation.lowering import POWERS
from symseek.notation.parse import quote
from symseek.programs import Program
from symseek.tokens import ARGUMENTS, Kind, Library, Token, number_name

__all__ = ["infix", "latex", "preorder", "tree"]

# How tightly a text holds together; an argument that holds less than its place asks gets brackets.
LOOSE, SUM, PRODUCT, SIGN, POWER, ATOM = range(6)

_SYMBOLS = {"add": (" + ", SUM), "sub": (" - ", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT)}
_EXPONENTS = {operator: exponent for exponent, operator in POWERS.items()}


class _Text(NamedTuple):
    text: str
    level: int
    literal: float | None = None  # the value, where the text is a bare number

    def at(self, level: int, brackets: str = "({})") -> str:
        """The text for a place that asks for a level."""
        return self.text if self.level >= level else brackets.replace("{}", self.text)

    def after(self, level: int, brackets: str = "({})") -> str:
        """The same for a place behind a symbol, where no sign may follow."""
        return self.at(ATOM if self.text.startswith("-") else level, brackets)


def infix(program: Program, constants: Sequence[str] | None = None) -> str:
    """Write a program as infix text that `Program.parse` reads back.

    `constants` are texts for the `const` tokens in their order, instead of the values: numbers,
    names, calls, or products and quotients of those, with or without a sign. What they stand for
    then reads back, though not always the very tokens.

    >>> library = Library(["add", "mul", "square", "pow", 2], variables=["x", "flow rate"])
    >>> for names in ("add square x `flow rate`", "mul x add 2 x", "pow x 2"):
    ...     print(infix(Program.from_preorder(names, library)))
    x**2 + `flow rate`
    x*(2 + x)
    pow(x, 2)
    >>> print(infix(Program.parse("x**0.5 - 6.28*x"), constants=["1/2", "2*pi"]))
    x**(1/2) - 2*pi*x
    """
    library = program.library
    texts = list(constants or ())  # the tree is worked from its end, and so are they

    def combine(token: int, constant: float | None, arguments: list[_Text]) -> _Text:
        this = library.tokens[token]
        if constant is not None and texts:
            return _given(texts.pop())
        if this.arity == 0:
            return _terminal(library, this, constant)
        return _infix_operator(library, this.name, arguments)

    return program.fold(combine).text


def _terminal(library: Library, token: Token, constant: float | None) -> _Text:
    """A variable, number, constant or terminal of the caller's; the same in pre-order text."""
    if constant is not None:
        if not math.isfinite(constant) or constant in library.number_ids:
            return _Text(f"const({constant!r})", ATOM)
        return _number(repr(constant), constant)
    if token.value is not None and token.name == number_name(token.value):
        return _number(token.name, token.value)
    return _Text(quote(token.name), ATOM)


def _given(text: str) -> _Text:
    """A constant in the caller's words."""
    if "*" in text or "/" in text:
        return _Text(text, PRODUCT)
    return _Text(text, SIGN if text.startswith("-") else ATOM)


def _number(text: str, value: float) -> _Text:
    return _Text(text, SIGN if text.startswith("-") else ATOM, value)


def _infix_operator(library: Library, name: str, arguments: list[_Text]) -> _Text:
    first = arguments[0]
    if name in _SYMBOLS and not (
        name == "div" and first.literal == 1.0 and "reciprocal" in library
    ):
        symbol, level = _SYMBOLS[name]
        # One level up on the right, because equal symbols are read from the left.
        return _Text(first.at(level) + symbol + arguments[1].after(level + 1), level)
    if name in _EXPONENTS:
        return _Text(f"{first.at(ATOM)}**{_EXPONENTS[name]:.0f}", POWER)
    if name == "pow" and POWERS.get(arguments[1].literal or 0.0) not in library:
        return _Text(f"{first.at(ATOM)}**{arguments[1].at(ATOM)}", POWER)
    if name == "reciprocal":
        return _Text("1/" + first.at(POWER), PRODUCT)
    if name == "neg":
        return _Text("-" + first.after(POWER if first.literal is None else ATOM + 1), SIGN)
    return _Text(f"{quote(name)}({', '.join(each.text for each in arguments)})", ATOM)


def preorder(program: Program) -> str:
    """Write the names in pre-order, constants as their values; `from_preorder` reads it back.

    >>> preorder(Program.parse("sin(x)*1.5", Library(["mul", "sin", "const"], variables=["x"])))
    'mul sin x 1.5'
    """
    return " ".join(_labels(program))


def _labels(program: Program) -> list[str]:
    """What to call each node, in pre-order."""
    constants = iter(program.constants)
    labels = []
    for token in program.tokens:
        this = program.library.tokens[token]
        constant = next(constants) if this.kind is Kind.CONSTANT else None
        labels.append(_terminal(program.library, this, constant).text)
    return labels


def tree(program: Program) -> str:
    """Draw the tree, a node a line.

    >>> print(tree(Program.parse("sin(x) + 1.5*y")))
    add
    ├── sin
    │   └── x
    └── mul
        ├── 1.5
        └── y
    """
    lines = []
    # For each argument still to be drawn: the lines that pass on its left, and its own corner.
    places = [("", "", "")]
    for token, label in zip(program.tokens, _labels(program), strict=True):
        passing, corner, below = places.pop()
        lines.append(passing + corner + label)
        last = program.library.arities[token] - 1
        places += [
            (passing + below, "├── " if i < last else "└── ", "│   " if i < last else "    ")
            for i in range(last, -1, -1)
        ]
    return "\n".join(lines)


# Levels for LaTeX: (the whole, its arguments). What is not listed brings its own brackets. A
# fraction needs none in a sum or product, only under a power.
_LATEX_LEVELS = {
    "add": (SUM, (SUM, PRODUCT)),
    "sub": (SUM, (SUM, PRODUCT)),
    "mul": (PRODUCT, (PRODUCT, PRODUCT)),
    "div": (POWER, (LOOSE, LOOSE)),
    "reciprocal": (POWER, (LOOSE,)),
    "pow": (POWER, (ATOM, LOOSE)),
    "square": (POWER, (ATOM,)),
    "cube": (POWER, (ATOM,)),
    "fourth": (POWER, (ATOM,)),
    "exp": (POWER, (LOOSE,)),
    "neg_exp": (POWER, (POWER,)),
    "neg": (SIGN, (POWER,)),
}
_LATEX_BRACKETS = r"\left({}\right)"
_GREEK = re.compile(
    "alpha|beta|[gG]amma|[dD]elta|epsilon|zeta|eta|[tT]heta|iota|kappa|[lL]ambda|mu|nu|[xX]i|[pP]i|"
    "rho|[sS]igma|tau|[uU]psilon|[pP]hi|chi|[pP]si|[oO]mega"
)
_LATEX_SPECIAL = str.maketrans(
    {c: "\\" + c for c in "#$%&_{} "} | {"\\": r"\backslash{}", "^": r"\hat{}", "~": r"\sim{}"}
)


def latex(program: Program) -> str:
    r"""Write LaTeX for mathematics mode; operators given by a formula are written out.

    >>> print(latex(Program.parse("sin(x1)**2/(y + 1.5)")))
    \frac{\sin\left(x_{1}\right)^{2}}{y + 1.5}
    """
    return _latex(program, lambda name: _Text(latex_name(name), ATOM)).text


def _latex(program: Program, variable: Callable[[str], _Text]) -> _Text:
    def combine(token: int, constant: float | None, arguments: list[_Text]) -> _Text:
        this = program.library.tokens[token]
        if this.kind is Kind.VARIABLE:
            return variable(this.name)
        if this.kind is Kind.OPERATOR:
            return _latex_operator(this, arguments)
        return _latex_number(this, constant)

    return program.fold(combine)


def _latex_operator(token: Token, arguments: list[_Text]) -> _Text:
    named = dict(zip(ARGUMENTS, arguments, strict=False))
    if token.latex is None and token.expansion is not None:
        return _latex(token.expansion, named.__getitem__)
    if token.latex is None:
        inside = ", ".join(each.text for each in arguments)
        name = latex_name(token.name) if token.arity == 0 else _operator_name(token.name)
        return _Text(name + (_LATEX_BRACKETS.format(inside) if arguments else ""), ATOM)
    level, places = _LATEX_LEVELS.get(token.name, (ATOM, (LOOSE,) * token.arity))
    signs = token.name in ("add", "sub", "mul", "neg", "neg_exp")
    texts = {
        name: (each.after if signs and token.latex.index(f"{{{name}}}") else each.at)(
            place, _LATEX_BRACKETS
        )
        for (name, each), place in zip(named.items(), places, strict=True)
    }
    filled = re.sub(r"\{([a-h])\}", lambda match: texts[match.group(1)], token.latex)
    return _Text(filled, level)


def _operator_name(name: str) -> str:
    return rf"\operatorname{{{name.translate(_LATEX_SPECIAL)}}}"


def _latex_number(token: Token, constant: float | None) -> _Text:
    value = token.value if constant is None else constant
    assert value is not None
    if constant is None and token.name != number_name(value):
        return _Text(latex_name(token.name), ATOM)
    if not math.isfinite(value):
        special = {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\mathrm{nan}"}[str(value)]
        return _Text(special, SIGN)
    mantissa, _, exponent = number_name(value).partition("e")
    if exponent:
        return _Text(rf"{mantissa} \cdot 10^{{{int(exponent)}}}", PRODUCT)
    return _number(mantissa, value)


def latex_name(name: str) -> str:
    r"""Write a variable's name: a letter with a subscript, a Greek letter, or upright text.

    >>> print(latex_name("x1"), latex_name("theta"), latex_name("flow rate"))
    x_{1} \theta \mathrm{flow\ rate}
    """
    match = re.fullmatch(r"([A-Za-z]+?)_?([0-9]*)", name)
    if match is None:
        return rf"\mathrm{{{name.translate(_LATEX_SPECIAL)}}}"
    letters, digits = match.groups()
    subscript = f"_{{{digits}}}" if digits else ""
    if _GREEK.fullmatch(letters):
        return f"\\{letters}{subscript}"
    return (letters if len(letters) == 1 else rf"\mathrm{{{letters}}}") + subscript
