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
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symseek.notation.brackets import ATOM, PRODUCT, SIGN, Fragment, Style, Template, read
from symseek.notation.lowering import WHOLE_POWERS
from symseek.notation.parse import quote
from symseek.tokens import ARGUMENTS, Library, Token, TokenKind, number_name

if TYPE_CHECKING:
    from symseek.programs import Program

_EXPONENT = re.compile(r"(?<=[\d)])e[-+]?")  # of ten, whose sign is no difference
# A minus before a number is read as belonging to it, so that of `neg` needs brackets after it.
_INFIX = Style(signed_numbers=False)


def infix(program: Program, constants: Sequence[str] | None = None) -> str:
    """Write a program as infix text that `Program.parse` reads back.

    `constants` are texts for the `const` tokens in their order, instead of the values: numbers,
    names, calls, or products and quotients of those, with or without a sign. What they stand for
    then reads back, though not always the very tokens: a factor called 1 and an addend called 0 are
    left out.

    >>> from symseek import Program
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

    def combine(token: int, constant: float | None, arguments: list[Fragment]) -> Fragment:
        this = library.tokens[token]
        if constant is not None and texts:
            return _given(texts.pop())
        if this.arity == 0:
            return _terminal(library, this, constant)
        alone = _neutral(this.name, arguments) if constants else None
        return _infix_operator(library, this, arguments) if alone is None else alone

    return program.fold(combine).text


_NEUTRAL = {"mul": "1", "div": "1", "pow": "1", "add": "0", "sub": "0"}


def _neutral(name: str, arguments: list[Fragment]) -> Fragment | None:
    """What is left beside a factor or exponent that is called 1, or an addend that is called 0."""
    text = _NEUTRAL.get(name)
    if text is None:
        return None
    first, second = arguments
    if second.text == text and second.literal is None:
        return first
    if name in ("mul", "add") and first.text == text and first.literal is None:
        return second
    return None


def _terminal(library: Library, token: Token, constant: float | None) -> Fragment:
    """A variable, number, constant or terminal of the caller's; the same in pre-order text."""
    if constant is not None:
        if not math.isfinite(constant) or constant in library.number_ids:
            return Fragment(f"const({constant!r})")
        return _number(repr(constant), constant)
    if token.value is not None and token.name == number_name(token.value):
        return _number(token.name, token.value)
    return Fragment(quote(token.name))


def _given(text: str) -> Fragment:
    """A constant in the caller's words."""
    return Fragment(text, read(_EXPONENT.sub("e", text)).level)


def _number(text: str, value: float) -> Fragment:
    return Fragment(text, SIGN if text.startswith("-") else ATOM, value)


def _infix_operator(library: Library, token: Token, arguments: list[Fragment]) -> Fragment:
    template = token.form("infix")
    if template is None or _reads_as_another(library, token.name, arguments):
        return Fragment(f"{quote(token.name)}({', '.join(each.text for each in arguments)})")
    return _INFIX.fill(read(template), arguments)


def _reads_as_another(library: Library, name: str, arguments: list[Fragment]) -> bool:
    """Whether the parser would take the symbols for an operator made for this case."""
    if name == "div":
        return arguments[0].literal == 1.0 and "reciprocal" in library
    return name == "pow" and WHOLE_POWERS.get(arguments[1].literal or 0.0) in library


def preorder(program: Program) -> str:
    """Write the names in pre-order, constants as their values; `from_preorder` reads it back.

    >>> from symseek import Program
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
        constant = next(constants) if this.kind is TokenKind.CONSTANT else None
        labels.append(_terminal(program.library, this, constant).text)
    return labels


def tree(program: Program) -> str:
    """Draw the tree, a node a line.

    >>> from symseek import Program
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


@dataclass(frozen=True)
class Typeset:
    """A language that formulas are typeset in; operators given by a formula are written out."""

    style: Style
    template: Callable[[Token], Template | None]  # of an operator, if it has one
    call: Callable[[Token, list[Fragment]], Fragment]  # an operator without one, by its name
    number: Callable[[Token, float | None], Fragment]
    product: Callable[[list[Fragment]], Fragment | None] = lambda factors: (
        None
    )  # where none need a sign

    def write(self, program: Program, variable: Callable[[str], Fragment]) -> Fragment:
        """The text of a program, with texts for its variables."""

        def combine(token: int, constant: float | None, arguments: list[Fragment]) -> Fragment:
            this = program.library.tokens[token]
            if this.kind is TokenKind.VARIABLE:
                return variable(this.name)
            if this.kind is TokenKind.OPERATOR:
                return self._operator(this, arguments)
            return self.number(this, constant)

        return program.fold(combine)

    def _operator(self, token: Token, arguments: list[Fragment]) -> Fragment:
        if token.name == "mul":
            together = self.product(arguments)
            if together is not None:
                return together
        template = self.template(token)
        if template is not None:
            return self.style.fill(template, arguments) if arguments else Fragment(template.text)
        if token.expansion is not None:
            named = dict(zip(ARGUMENTS, arguments, strict=False))
            return self.write(token.expansion, named.__getitem__)
        return self.call(token, arguments)


_GREEK = re.compile(
    "alpha|beta|[gG]amma|[dD]elta|epsilon|zeta|eta|[tT]heta|iota|kappa|[lL]ambda|mu|nu|[xX]i|[pP]i|"
    "rho|[sS]igma|tau|[uU]psilon|[pP]hi|chi|[pP]si|[oO]mega"
)
_LATEX_SPECIAL = str.maketrans(
    {c: "\\" + c for c in "#$%&_{} "} | {"\\": r"\backslash{}", "^": r"\hat{}", "~": r"\sim{}"}
)
_LATEX_STYLE = Style(brackets=r"\left({}\right)")


def latex(program: Program) -> str:
    r"""Write LaTeX for mathematics mode; operators given by a formula are written out.

    >>> from symseek import Program
    >>> print(latex(Program.parse("sin(x1)**2/(y + 1.5)")))
    \frac{\sin\left(x_{1}\right)^{2}}{y + 1.5}
    """
    return LATEX.write(program, lambda name: Fragment(latex_name(name))).text


def _latex_template(token: Token) -> Template | None:
    text = token.form("latex")
    return None if text is None else read(text)


def _latex_call(token: Token, arguments: list[Fragment]) -> Fragment:
    if not arguments:
        return Fragment(latex_name(token.name))
    name = rf"\operatorname{{{token.name.translate(_LATEX_SPECIAL)}}}"
    return Fragment(name + _LATEX_STYLE.bracketed(", ".join(each.text for each in arguments)))


def _latex_number(token: Token, constant: float | None) -> Fragment:
    value = token.value if constant is None else constant
    assert value is not None
    if constant is None and token.name != number_name(value):
        return Fragment(latex_name(token.name))
    if not math.isfinite(value):
        special = {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\mathrm{nan}"}[str(value)]
        return Fragment(special, SIGN)
    mantissa, _, exponent = number_name(value).partition("e")
    if exponent:
        return Fragment(rf"{mantissa} \cdot 10^{{{int(exponent)}}}", PRODUCT)
    return _number(mantissa, value)


LATEX = Typeset(_LATEX_STYLE, _latex_template, _latex_call, _latex_number)


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
