"""The alphabet: tokens, the one table of operators, and the library a search draws from.

A program is a sequence of tokens, and everything that any engine needs to know about a token is
written once, on its line of `OPERATORS`. A `Library` is an ordered choice of tokens plus the names
of the input variables; it gives each token the small integer that the arrays hold.

To add an operator, write one line: `Token("logistic", 1, 4, formula="1/(1 + exp(-a))")`. The
formula, in the arguments `a`, `b`, ... over the operators of the table, is enough for NumPy, SymPy,
LaTeX and the native engine alike. Hand the token to `Library` beside the names.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError, unknown_name

if TYPE_CHECKING:
    from symseek.programs import Program

__all__ = ["ARGUMENTS", "CONST", "EMPTY", "MAX_ARITY", "OPERATORS", "Kind", "Library", "Token"]

EMPTY = -1
"""Padding in token arrays; also "no parent" and "no sibling"."""

ARGUMENTS = "abcdefgh"
"""Names of an operator's arguments in formulas and LaTeX templates."""

MAX_ARITY = len(ARGUMENTS)


class Kind(enum.Enum):
    """What a token stands for."""

    OPERATOR = "operator"
    VARIABLE = "variable"
    NUMBER = "number"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Token:
    """One symbol of the alphabet.

    A token with neither `numpy` nor `formula` is a label in a general tree: it can be sampled,
    printed and scored by a function of the programs, but not evaluated on data.

    >>> logistic = Token("logistic", 1, 4, formula="1/(1 + exp(-a))")
    >>> print(logistic.numpy(0.0))
    0.5
    """

    name: str
    arity: int
    complexity: int = 1
    kind: Kind = Kind.OPERATOR
    inverse: str | None = None  # the unary operator that undoes this one
    trigonometric: bool = False
    formula: str | None = None  # infix text in a, b, ... over the operators of the table
    value: float | None = None  # NUMBER only
    index: int | None = None  # VARIABLE only: its column
    numpy: Callable[..., Any] | None = None
    sympy: Callable[..., Any] | None = None
    latex: str | None = None  # a template in {a}, {b}, ...

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a token's name must be a non-empty string, not {self.name!r}")
        if not 0 <= self.arity <= MAX_ARITY:
            raise InputError(
                f"token {self.name!r} has arity {self.arity}; it must be from 0 to {MAX_ARITY}"
            )
        if self.complexity < 0:
            raise InputError(
                f"token {self.name!r} has complexity {self.complexity}; it must not be negative"
            )
        if self.kind is not Kind.OPERATOR:
            self._check_terminal()
        if self.formula is not None:
            self._derive_from_formula(self.formula)

    def _check_terminal(self) -> None:
        if self.arity != 0:
            raise InputError(f"{self.kind.value} {self.name!r} must have arity 0, not {self.arity}")
        if self.kind is Kind.CONSTANT and self.name != "const":
            raise InputError(f"the constant {self.name!r} must be named 'const'")
        if self.kind is Kind.NUMBER and (self.value is None or not math.isfinite(self.value)):
            raise InputError(f"the number {self.name!r} needs a finite value, not {self.value}")

    def _derive_from_formula(self, formula: str) -> None:
        """Fill in the forms that follow from the formula; a bad formula is refused here."""
        composed = _composed(self.name, self.arity, formula)
        for form in ("numpy", "sympy"):
            if getattr(self, form) not in (None, getattr(composed, form)):
                raise InputError(f"operator {self.name!r} has a formula; leave out its {form} form")
            object.__setattr__(self, form, getattr(composed, form))

    @property
    def expansion(self) -> Program | None:
        """The formula as a program over the table's operators, with `a`, `b`, ... as variables."""
        if self.formula is None:
            return None
        return _composed(self.name, self.arity, self.formula).program

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was written, not what follows from it: the table's lambdas do not travel."""
        written = {each.name: getattr(self, each.name) for each in fields(self)}
        builtin = OPERATORS.get(self.name) if self.kind is Kind.OPERATOR else None
        for form in ("numpy", "sympy", "latex"):
            if self.formula is not None or (builtin and written[form] is getattr(builtin, form)):
                del written[form]
        return _restore_token, (written,)


def _restore_token(written: dict[str, Any]) -> Token:
    builtin = OPERATORS.get(written["name"])
    if builtin is not None and written["kind"] is Kind.OPERATOR:
        for form in ("numpy", "sympy", "latex"):
            written.setdefault(form, getattr(builtin, form))
    return Token(**written)


@dataclass(frozen=True)
class _Composed:
    """The forms of an operator that is given by a formula."""

    name: str
    formula: str
    program: Program

    def numpy(self, *arguments: Any) -> Any:
        return self.program.apply(*arguments)

    def sympy(self, *arguments: Any) -> Any:
        from symseek.notation.sympy_forms import to_sympy

        named = dict(zip(ARGUMENTS, arguments, strict=False))
        return to_sympy(self.program, named.__getitem__)


@lru_cache(maxsize=1024)
def _composed(name: str, arity: int, formula: str) -> _Composed:
    from symseek.notation.parse import parse_infix

    library = Library([*OPERATORS, "const"], variables=tuple(ARGUMENTS[:arity]))
    try:
        return _Composed(name, formula, parse_infix(formula, library))
    except InputError as error:
        raise InputError(f"the formula of operator {name!r}: {error}") from None


class _SymPy:
    """The sympy module, imported when a form is first used: it costs more than all of symseek."""

    def __getattr__(self, name: str) -> Any:
        import sympy

        return getattr(sympy, name)


_s = _SymPy()


def _op(
    name: str,
    arity: int,
    complexity: int,
    numpy: Callable[..., Any],
    sympy: Callable[..., Any],
    latex: str,
    **more: Any,
) -> tuple[str, Token]:
    """One line of the table; brackets in LaTeX are made to grow with what they hold."""
    latex = latex.replace("({a})", r"\left({a}\right)")
    return name, Token(name, arity, complexity, numpy=numpy, sympy=sympy, latex=latex, **more)


def _over(a: Any) -> Any:
    return 1 / a


# fmt: off
# Complexity follows the paper: 1 for + - *, variables and constants, 2 for division, 3 for sin and
# cos, 4 for exp and log. The rest is set beside them: a sign costs 1; 1/x as much as division; an
# integer power its exponent, which stays below spelling it out (x*x*x has complexity 5); a square
# root, the mildest irrational function, 3; tan, tanh, e^-x and a general power as much as exp; an
# absolute value 2, for its kink.
OPERATORS: dict[str, Token] = dict([
    #    name     arity, complexity, NumPy, SymPy, LaTeX
    _op("add",        2, 1, np.add, lambda a, b: a + b, "{a} + {b}"),
    _op("sub",        2, 1, np.subtract, lambda a, b: a - b, "{a} - {b}"),
    _op("mul",        2, 1, np.multiply, lambda a, b: a * b, r"{a} \cdot {b}"),
    _op("div",        2, 2, np.divide, lambda a, b: a / b, r"\frac{{a}}{{b}}"),
    _op("pow",        2, 4, np.float_power, lambda a, b: a**b, "{a}^{{b}}"),
    _op("sin",        1, 3, np.sin, lambda a: _s.sin(a), r"\sin({a})", trigonometric=True),
    _op("cos",        1, 3, np.cos, lambda a: _s.cos(a), r"\cos({a})", trigonometric=True),
    _op("tan",        1, 4, np.tan, lambda a: _s.tan(a), r"\tan({a})", trigonometric=True),
    _op("tanh",       1, 4, np.tanh, lambda a: _s.tanh(a), r"\tanh({a})"),
    _op("exp",        1, 4, np.exp, lambda a: _s.exp(a), "e^{{a}}", inverse="log"),
    _op("log",        1, 4, np.log, lambda a: _s.log(a), r"\log({a})", inverse="exp"),
    _op("sqrt",       1, 3, np.sqrt, lambda a: _s.sqrt(a), r"\sqrt{{a}}", inverse="square"),
    _op("square",     1, 2, np.square, lambda a: a**2, "{a}^{2}", inverse="sqrt"),
    _op("cube",       1, 3, lambda a: a * a * a, lambda a: a**3, "{a}^{3}"),
    _op("fourth",     1, 4, lambda a: (a * a) * (a * a), lambda a: a**4, "{a}^{4}"),
    _op("reciprocal", 1, 2, _over, _over, r"\frac{1}{{a}}", inverse="reciprocal"),
    _op("neg",        1, 1, np.negative, lambda a: -a, "-{a}", inverse="neg"),
    _op("abs",        1, 2, np.abs, lambda a: _s.Abs(a), r"\left|{a}\right|"),
    _op("neg_exp",    1, 4, lambda a: np.exp(-a), lambda a: _s.exp(-a), "e^{-{a}}"),
])
# fmt: on

CONST = Token("const", 0, kind=Kind.CONSTANT)
"""The placeholder whose value is fitted to the data."""


def number_name(value: float) -> str:
    """Name the token of a fixed number: the shortest text that reads back to the same float.

    >>> number_name(1.0), number_name(2.5), number_name(1e-300)
    ('1', '2.5', '1e-300')
    """
    return repr(float(value)).removesuffix(".0")


def short_number(value: float, digits: int = 6) -> str:
    """A number for reading: so many significant digits, a power of ten where it is far from 1.

    >>> short_number(3.14159265), short_number(8.988e9), short_number(4905000.0)
    ('3.14159', '8.988e9', '4905000')
    """
    cut = float(f"{value:.{digits}g}")
    if cut == 0.0 or 1e-4 <= abs(cut) < 1e7 or not math.isfinite(cut):
        return number_name(cut)
    mantissa, _, exponent = f"{cut:.{digits - 1}e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def number_token(value: float) -> Token:
    """Make the token of a fixed number."""
    value = float(value) + 0.0  # -0.0 and 0.0 are one number
    if not math.isfinite(value):
        raise InputError(f"the number {value} cannot be a token; give a finite one")
    return Token(number_name(value), 0, kind=Kind.NUMBER, value=value)


class Library:
    """An ordered choice of tokens: operators as given, then variables, numbers, `const`.

    `names` holds operator names, numbers (`1`, `2.5` or their text), `"const"`, and `Token`s of
    the caller's own. Two libraries are equal when their tokens are.

    >>> library = Library(["add", "mul", "sin", 1, "const"], variables=["x", "y"])
    >>> library.names
    ('add', 'mul', 'sin', 'x', 'y', '1', 'const')
    >>> library.index("sin"), library.arity.tolist()
    (2, [2, 2, 1, 0, 0, 0, 0])
    """

    tokens: tuple[Token, ...]
    names: tuple[str, ...]
    variables: tuple[str, ...]

    def __init__(self, names: Iterable[str | float | Token], variables: Sequence[str] = ()) -> None:
        if isinstance(names, str):
            raise InputError(f"give the library a list of names, such as [{names!r}], not one text")
        if isinstance(variables, str):
            raise InputError(f"give variables as a list, such as [{variables!r}], not one text")
        chosen = [_token(name) for name in names]
        columns = [_variable_token(name, i) for i, name in enumerate(variables)]
        groups = {kind: [token for token in chosen if token.kind is kind] for kind in Kind}
        operators, numbers, constants = (
            groups[kind] for kind in (Kind.OPERATOR, Kind.NUMBER, Kind.CONSTANT)
        )
        if groups[Kind.VARIABLE]:
            name = groups[Kind.VARIABLE][0].name
            raise InputError(f"variable {name!r} is among the operators; list it in `variables`")
        self._set_tokens((*operators, *columns, *numbers, *constants))

    def _set_tokens(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = tokens
        self.names = tuple(token.name for token in tokens)
        self._index = {name: i for i, name in enumerate(self.names)}
        self._check()
        self.variables = tuple(t.name for t in tokens if t.kind is Kind.VARIABLE)
        self.arities: tuple[int, ...] = tuple(t.arity for t in tokens)
        self.arity: NDArray[np.int8] = _frozen(self.arities, np.int8)  # [L]
        costs = [t.complexity for t in tokens]
        self.complexity: NDArray[np.int32] = _frozen(costs, np.int32)  # [L]
        self.variable_ids = self._ids(lambda t: t.kind is Kind.VARIABLE)
        self.terminal_ids = self._ids(lambda t: t.arity == 0)
        self.number_ids: dict[float, int] = {  # by value; a number named in words has no literal
            t.value: i
            for i, t in enumerate(tokens)
            if t.value is not None and t.name == number_name(t.value)
        }
        self.constant_id: int | None = self._index.get("const")
        self._hash = hash(tuple((t.name, t.arity, t.complexity, t.formula) for t in tokens))

    def _check(self) -> None:
        """Refuse, by name, what no search could use."""
        if not self.tokens:
            raise InputError("the library is empty; name some operators and variables")
        for i, token in enumerate(self.tokens):
            if self._index[token.name] != i:
                raise InputError(f"token {token.name!r} is in the library twice; name it once")
            reserved = token.name in OPERATORS or token.name == "const"
            if token.kind is Kind.VARIABLE and reserved:
                raise InputError(f"variable {token.name!r} is named like a token; rename it")
            if token.kind is Kind.OPERATOR and reserved and not _is_builtin(token):
                raise InputError(f"token {token.name!r} redefines a built-in one; rename it")
        if all(token.arity > 0 for token in self.tokens):
            raise InputError("the library has no terminal; add a variable, a number or const")

    def _ids(self, wanted: Callable[[Token], bool]) -> tuple[int, ...]:
        return tuple(i for i, token in enumerate(self.tokens) if wanted(token))

    def index(self, name: str) -> int:
        """The position of a token, by name; an unknown name is refused with the nearest one."""
        try:
            return self._index[name]
        except KeyError:
            raise unknown_name("token", name, self.names) from None

    @cached_property
    def evaluable(self) -> bool:
        """Whether every program over this library can be evaluated on data."""
        return all(t.numpy is not None for t in self.tokens if t.kind is Kind.OPERATOR)

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[Token]:
        return iter(self.tokens)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __getitem__(self, name: str) -> Token:
        return self.tokens[self.index(name)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Library):
            return NotImplemented
        return self is other or (self._hash == other._hash and self.tokens == other.tokens)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_library, (self.tokens,)

    def __repr__(self) -> str:
        others = [t.name for t in self.tokens if t.kind is not Kind.VARIABLE]
        return f"Library({others}, variables={list(self.variables)})"


def _restore_library(tokens: tuple[Token, ...]) -> Library:
    library = Library.__new__(Library)
    library._set_tokens(tokens)
    return library


def _frozen(values: Sequence[int], dtype: Any) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def _token(name: str | float | Token) -> Token:
    """The token that an entry of a library's list stands for."""
    if isinstance(name, Token):
        return name
    if isinstance(name, (int, float, np.integer, np.floating)) and not isinstance(name, bool):
        return number_token(float(name))
    if not isinstance(name, str):
        raise InputError(f"a library is made of names, numbers and Tokens, not {name!r}")
    if name in OPERATORS:
        return OPERATORS[name]
    if name == CONST.name:
        return CONST
    try:
        value = float(name)
    except ValueError:
        raise unknown_name("token", name, [*OPERATORS, CONST.name]) from None
    return number_token(value)


def _variable_token(name: str, index: int) -> Token:
    if not isinstance(name, str) or not name:
        raise InputError(f"a variable's name must be a non-empty string, not {name!r}")
    return Token(name, 0, kind=Kind.VARIABLE, index=index)


def _is_builtin(token: Token) -> bool:
    """Whether a token means what the table says; its complexity is the caller's to choose."""
    builtin = OPERATORS.get(token.name, CONST)
    return (token.kind, token.arity, token.numpy, token.formula) == (
        builtin.kind,
        builtin.arity,
        builtin.numpy,
        None,
    )
