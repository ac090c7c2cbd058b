"""The record of a token: everything that any part of the package knows of an operator.

Parser, printers, exporters, algebra, recovery and plots read the record. So an operator is added
in one place, by one line of the `table`, or by a `Token` that a `Library` is given at run time.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symseek.arguments import refused, whole
from symseek.errors import InputError, shown, unknown_name

if TYPE_CHECKING:
    from symseek.programs import Program

ARGUMENTS = "abcdefgh"
"""Names of an operator's arguments in formulas and templates."""

MAX_ARITY = len(ARGUMENTS)

DIMENSION_RULES = {
    "none": "neither the arguments nor the value have a dimension",
    "same": "the arguments have the same dimension, which is the value's",
    "ratio": "the arguments have the same dimension, the value has none",
    "sign": "the arguments have any dimensions, the value has none",
    "product": "the arguments have any dimensions, which multiply",
    "quotient": "the arguments have any dimensions, which divide",
    "power": "none, or any for the first argument where the second is a number in the formula",
}
"""What the record of an operator may say of physical dimensions.

A power, such as `sqrt`, says it by its exponent, and a protected operator does as the one that it
protects. An operator that says nothing takes and gives plain numbers.
"""

OPERATORS: dict[str, Token] = {}
"""The operators by name; `symseek.operators.table` fills it."""


class TokenKind(enum.Enum):
    """What a token stands for."""

    OPERATOR = "operator"
    VARIABLE = "variable"
    NUMBER = "number"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Forms:
    """How an operator is written and computed in other languages.

    A text is the name of a function, such as "erfc", or a template in {a}, {b}, ..., such as
    "{a}*{a}"; brackets around the arguments are added where they are needed. An operator with a
    formula needs none of these: each follows from the formula. `c`, `slopes` and `underflow` are
    what the GPU's kernels are made of.
    """

    c: str | None = None  # C99, with math.h
    python: str | None = None  # with the module math
    helper: str | None = None  # the definition of a Python function that `python` calls
    numpy: str | None = None  # source, with NumPy as np
    sympy: str | None = None  # source, with SymPy's names imported
    excel: str | None = None  # Excel, LibreOffice, Google Sheets
    mathml: str | None = None  # otherwise made of the LaTeX form
    mpmath: str | Callable[..., Any] | None = None  # a name in mpmath, or a function of numbers
    torch: str | Callable[..., Any] | None = None  # a name in torch, or a function of tensors
    jax: str | Callable[..., Any] | None = None  # a name in jax, or a function of arrays
    slopes: tuple[str, ...] = ()  # C too: the derivative by each operand, also in {v}, the value
    underflow: str | None = None  # C too: whether a value below the least normal float is no zero
    infix: str | None = None  # in the text of programs, for what the parser has a symbol for
    label: str | None = None  # in a drawn tree, where it is not the name


@dataclass(frozen=True)
class Token:
    """One symbol of the alphabet.

    A token with neither `numpy` nor `formula` is a label in a general tree: it can be sampled,
    printed and scored by a function of the programs, but not evaluated on data.

    >>> softplus = Token("softplus", 1, 5, formula="log(1 + exp(a))")
    >>> print(softplus.numpy(0.0))
    0.6931471805599453
    """

    name: str
    arity: int
    complexity: int = 1
    kind: TokenKind = TokenKind.OPERATOR
    inverse: str | None = None  # the unary operator that undoes this one
    trigonometric: bool = False
    formula: str | None = None  # infix text in a, b, ... over the operators of the table
    value: float | None = None  # NUMBER only
    index: int | None = None  # VARIABLE only: its column
    numpy: Callable[..., Any] | None = None
    sympy: Callable[..., Any] | None = None  # a function, or a class whose instances read back
    latex: str | None = None  # like the texts of `forms`
    forms: Forms = Forms()
    parity: Literal["odd", "even"] | None = None  # f(-a) is -f(a), or f(a)
    exponent: float | None = None  # of an operator that is a power
    dimensions: str | None = None  # what it does with them, a word of DIMENSION_RULES
    domain: str | None = None  # the condition on a under which there is a value
    spelling: str | None = None  # infix text that means the same, for libraries without it
    aliases: tuple[str, ...] = ()  # other names for it
    protects: str | None = None  # the operator that recovery takes a protected one for
    columns: int = 0  # of the table that its formula reads too, as x1, x2, ...

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(
                f"a token's name must be a non-empty string, not {shown(self.name)}",
                field="name",
                value=self.name,
            )
        token = f"of the token {shown(self.name)}"
        whole(f"the arity {token}", self.arity, f"from 0 to {MAX_ARITY}", 0, MAX_ARITY)
        whole(f"the complexity {token}", self.complexity, "a whole number of 0 or more", 0)
        if not isinstance(self.formula, str | None):
            raise InputError(
                f"token {shown(self.name)} has the formula {shown(self.formula)}; it must be text",
                field="formula",
                value=self.formula,
            )
        if not isinstance(self.dimensions, str | None) or (
            self.dimensions is not None and self.dimensions not in DIMENSION_RULES
        ):
            raise refused(
                f"what the dimensions {token} come to",
                self.dimensions,
                f"one of {', '.join(DIMENSION_RULES)}",
            )
        if not isinstance(self.kind, TokenKind):
            raise refused(f"the kind {token}", self.kind, "a TokenKind")
        if self.kind is not TokenKind.OPERATOR:
            self._check_terminal()
        if self.formula is not None:
            self._derive_from_formula(self.formula)

    def _check_terminal(self) -> None:
        if self.arity != 0:
            raise InputError(
                f"{self.kind.value} {self.name!r} must have arity 0, not {self.arity}",
                field="arity",
                value=self.arity,
            )
        if self.kind is TokenKind.CONSTANT and self.name != "const":
            raise InputError(f"the constant {self.name!r} must be named 'const'")
        if self.kind is TokenKind.NUMBER and (self.value is None or not math.isfinite(self.value)):
            raise InputError(
                f"the number {self.name!r} needs a finite value, not {self.value}",
                field="value",
                value=self.value,
            )

    def _derive_from_formula(self, formula: str) -> None:
        """Fill in the forms that follow from the formula; a bad formula is refused here."""
        for form in ("numpy", "sympy"):
            derived = _FromFormula(self.name, self.arity, formula, form, self.columns)
            if getattr(self, form) not in (None, derived):
                raise InputError(f"operator {self.name!r} has a formula; leave out its {form} form")
            object.__setattr__(self, form, derived)
        if _readers:  # none while the table itself is being made
            _read(self.name, self.arity, formula, self.columns)

    @classmethod
    def function(
        cls,
        name: str,
        arity: int,
        complexity: int,
        numpy: Callable[..., Any],
        /,
        latex: str | None = None,
        **more: Any,
    ) -> Token:
        r"""An operator that other languages know as a function of the same name.

        In C it is then `name(a)`, in Python `math.name(a)`, in a spreadsheet `NAME(a)`, and so on;
        in NumPy, PyTorch and JAX it has the name of the NumPy function. `more` are fields of
        `Token`, and those of `Forms` that differ.

        >>> import numpy as np
        >>> acosh = Token.function("acosh", 1, 4, np.arccosh, r"\operatorname{arcosh}")
        >>> acosh.form("c"), acosh.form("python"), acosh.form("numpy"), acosh.form("excel")
        ('acosh({a})', 'math.acosh({a})', 'np.arccosh({a})', 'ACOSH({a})')
        """
        of_forms = {each.name for each in fields(Forms)}
        of_token = {each.name for each in fields(cls)} - of_forms
        for key in more:
            if key not in of_forms | of_token:
                raise unknown_name(f"field of operator {name!r}", key, of_forms | of_token)
        written = {key: value for key, value in more.items() if key in of_token}
        given = {key: value for key, value in more.items() if key in of_forms}
        given.setdefault("helper", _guard(name, **written))
        forms = Forms(**{**_named_forms(name, numpy, given["helper"]), **given})
        known = _numpy_name(numpy)
        if known not in (None, name):
            written["aliases"] = (*written.get("aliases", ()), known)
        latex = latex or (rf"\{name}" if name in _LATEX else rf"\operatorname{{{name}}}")
        sympy = _SymPyFunction(forms.sympy or name)
        return cls(
            name, arity, complexity, numpy=numpy, sympy=sympy, latex=latex, forms=forms, **written
        )

    def with_complexity(self, complexity: int) -> Token:
        """The same operator at another price: what a search pays for it.

        >>> OPERATORS["sin"].with_complexity(1).complexity
        1
        """
        return replace(self, complexity=complexity)

    def form(self, language: str) -> str | None:
        r"""The template of a language; `None` if the token has none of its own.

        >>> OPERATORS["abs"].form("c"), OPERATORS["sin"].form("latex")
        ('fabs({a})', '\\sin\\left({a}\\right)')
        """
        text = self.latex if language == "latex" else getattr(self.forms, language)
        if text is None or "{a}" in text or not self.arity:
            return text
        inside = ", ".join(f"{{{each}}}" for each in ARGUMENTS[: self.arity])
        return rf"{text}\left({inside}\right)" if language == "latex" else f"{text}({inside})"

    @property
    def expansion(self) -> Program | None:
        """The formula as a program over the table's operators, with `a`, `b`, ... as variables."""
        if self.formula is None:
            return None
        return _read(self.name, self.arity, self.formula, self.columns)

    @property
    def meaning(self) -> Program | None:
        """The same for an operator that other operators can stand in for, by formula or not."""
        text = self.formula or self.spelling
        return None if text is None else _read(self.name, self.arity, text, self.columns)

    def __reduce__(self) -> tuple[Any, ...]:
        """An operator of the table is pickled by its name."""
        builtin = OPERATORS.get(self.name)
        if builtin is not None and self == builtin.with_complexity(self.complexity):
            return _table_token, (self.name, self.complexity)
        return _plain_token, ({each.name: getattr(self, each.name) for each in fields(self)},)


def _table_token(name: str, complexity: int) -> Token:
    return OPERATORS[name].with_complexity(complexity)


def _plain_token(written: dict[str, Any]) -> Token:
    return Token(**written)


def missing_form(token: Token, language: str, example: str) -> InputError:
    """What to say of an operator that a language has no form for."""
    return InputError(
        f"operator {token.name!r} has no formula and no form for {language}; give its Token one,"
        f" such as formula='a**2 + 1', or {example}"
    )


# A formula is a program, and programs are made of tokens. So the module of programs hands its
# reader down to here.
_readers: list[Callable[[str, int, str, int], Program]] = []


def read_formulas_with(reader: Callable[[str, int, str, int], Program]) -> None:
    """Say how the formula of an operator, given with its name, arity and columns, is read."""
    _readers[:] = [reader]


def _read(name: str, arity: int, formula: str, columns: int) -> Program:
    return _readers[0](name, arity, formula, columns)


@dataclass(frozen=True)
class _FromFormula:
    """A form of an operator that is given by a formula."""

    name: str
    arity: int
    formula: str
    form: str
    columns: int = 0

    def __call__(self, *arguments: Any) -> Any:
        program = _read(self.name, self.arity, self.formula, self.columns)
        return program.apply(*arguments) if self.form == "numpy" else program.sympy_of(*arguments)


@dataclass(frozen=True)
class _SymPyFunction:
    """A function of SymPy, looked up when used: importing SymPy costs more than all of symseek."""

    __name__: str

    def __call__(self, *arguments: Any) -> Any:
        import sympy

        function = getattr(sympy, self.__name__, None)
        if function is None:
            raise InputError(f"SymPy has no function {self.__name__!r}; say sympy= what it has")
        return function(*arguments)


_LATEX = ("cos", "cosh", "exp", "log", "max", "min", "sin", "sinh", "tan", "tanh")
"""Functions that LaTeX has a name for, among those that operators are named like."""


def _numpy_name(function: Callable[..., Any]) -> str | None:
    """What NumPy calls a function, if it is one of its own."""
    name = getattr(function, "__name__", "")
    return name if name and getattr(np, name, None) is function else None


def _named_forms(name: str, numpy: Callable[..., Any], helper: str | None) -> dict[str, str | None]:
    """The forms of a function that goes by its name nearly everywhere."""
    known = _numpy_name(numpy)
    python = f"math.{name}" if hasattr(math, name) else None
    return {
        "c": name,
        "python": f"_{name}" if helper else python,
        "numpy": known and f"np.{known}",
        "sympy": name,
        "excel": name.upper(),
        "mpmath": name,
        "torch": known or name,
        "jax": known and f"numpy.{known}",
    }


def _guard(
    name: str, domain: str | None = None, trigonometric: bool = False, **others: Any
) -> str | None:
    """Python's own functions raise an error outside their domain; this one gives nan."""
    condition = "math.isfinite(a)" if trigonometric else domain
    if condition is None:
        return None
    return f"def _{name}(a):\n    return math.{name}(a) if {condition} else math.nan\n"
