"""The alphabet: the library a search draws from, and the tokens in it.

A program is a sequence of tokens. What is known of each is its record (`operators.record`), and
the operators come from one table (`operators.table`). A `Library` is an ordered choice of tokens
plus the names of the input variables; it gives each token the small integer that the arrays hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.arguments import items, refused
from symseek.errors import InputError, Setting, shown, unknown_name
from symseek.groups import OWN_COMPLEXITY, Grouping
from symseek.operators.record import ARGUMENTS, MAX_ARITY, OPERATORS, Forms, Token, TokenKind
from symseek.operators.table import ALIASES, RESERVED

__all__ = [
    "ARGUMENTS",
    "CONST",
    "EMPTY",
    "MAX_ARITY",
    "OPERATORS",
    "RESERVED",
    "Forms",
    "Library",
    "Token",
    "TokenKind",
    "every_operator",
]

EMPTY = -1
"""Padding in token arrays; also "no parent" and "no sibling"."""

MOST_TOKENS = int(np.iinfo(np.int16).max)
"""Of a library: arrays of programs hold their ids in 16 bits."""

CONST = Token("const", 0, kind=TokenKind.CONSTANT)
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
        raise InputError(
            f"the number {value} cannot be a token; give a finite one",
            field="operators",
            value=value,
        )
    return Token(number_name(value), 0, kind=TokenKind.NUMBER, value=value)


class Library:
    """An ordered choice of tokens: operators as given, then variables, numbers, `const`.

    `names` holds operator names (`"+"` is `"add"`), numbers (`1`, `2.5` or their text), `"const"`,
    and `Token`s of the caller's own. Two libraries are equal when their tokens are.

    >>> library = Library(["add", "mul", "sin", 1, "const"], variables=["x", "y"])
    >>> library.names
    ('add', 'mul', 'sin', 'x', 'y', '1', 'const')
    >>> library.index("sin"), library.arity.tolist()
    (2, [2, 2, 1, 0, 0, 0, 0])
    """

    tokens: tuple[Token, ...]
    names: tuple[str, ...]
    variables: tuple[str, ...]
    grouping: Grouping | None  # whose own numbers are the last of the variables

    def __init__(
        self,
        names: Iterable[str | float | Token],
        variables: Sequence[str] = (),
        grouping: Grouping | None = None,
    ) -> None:
        names = items("the library", names, "a list of names, numbers and Tokens")
        variables = items(Setting("variables"), variables, "a list of names")
        chosen = [_token(name) for name in names]
        if not isinstance(grouping, Grouping | None):
            raise refused(Setting("grouping"), grouping, "a Grouping")
        own = () if grouping is None else grouping.own
        columns = [
            _variable_token(name, i, OWN_COMPLEXITY if name in own else 1)
            for i, name in enumerate(variables)
        ]
        groups = {kind: [token for token in chosen if token.kind is kind] for kind in TokenKind}
        operators, numbers, constants = (
            groups[kind] for kind in (TokenKind.OPERATOR, TokenKind.NUMBER, TokenKind.CONSTANT)
        )
        if groups[TokenKind.VARIABLE]:
            name = groups[TokenKind.VARIABLE][0].name
            raise InputError(
                f"variable {name!r} is among the operators; list it in ",
                Setting("variables"),
                field=Setting("variables"),
                value=name,
            )
        self._set_tokens((*operators, *columns, *numbers, *constants), grouping)

    def _set_tokens(self, tokens: tuple[Token, ...], grouping: Grouping | None = None) -> None:
        self.tokens = tokens
        self.grouping = grouping
        self.names = tuple(token.name for token in tokens)
        self._index = {name: i for i, name in enumerate(self.names)}
        self._check()
        self.variables = tuple(t.name for t in tokens if t.kind is TokenKind.VARIABLE)
        own = () if grouping is None else grouping.own
        self.columns = self.variables[: len(self.variables) - len(own)]  # of a table
        # Those that formulas are made of: the groups only say which own numbers a row has.
        self.inputs = tuple(
            name for name in self.columns if grouping is None or name != grouping.column
        )
        self.arities: tuple[int, ...] = tuple(t.arity for t in tokens)
        self.arity: NDArray[np.int8] = _frozen(self.arities, np.int8)  # [L]
        costs = [t.complexity for t in tokens]
        self.complexity: NDArray[np.int32] = _frozen(costs, np.int32)  # [L]
        self.variable_ids = self._ids(lambda t: t.kind is TokenKind.VARIABLE)
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
            raise InputError(
                "the library is empty; name some operators and variables", field="library"
            )
        if len(self.tokens) > MOST_TOKENS:
            raise InputError(
                f"the library has {len(self.tokens):,} tokens; it may have {MOST_TOKENS:,}"
            )
        operators = {token.name for token in self.tokens if token.kind is TokenKind.OPERATOR}
        for token in self.tokens:
            if token.kind is TokenKind.VARIABLE and token.name in operators | RESERVED:
                raise InputError(
                    f"variable {token.name!r} is named like a token; rename it",
                    field=Setting("variables"),
                    value=token.name,
                )
        for i, token in enumerate(self.tokens):
            if self._index[token.name] != i:
                raise InputError(
                    f"token {token.name!r} is in the library twice; name it once",
                    field="library",
                    value=token.name,
                )
            if token.kind is TokenKind.OPERATOR and _redefines(token):
                raise InputError(
                    f"token {token.name!r} redefines a built-in one; rename it",
                    field="library",
                    value=token.name,
                )
        if all(token.arity > 0 for token in self.tokens):
            raise InputError(
                "the library has no terminal; add a variable, a number or const", field="library"
            )

    def _ids(self, wanted: Callable[[Token], bool]) -> tuple[int, ...]:
        return tuple(i for i, token in enumerate(self.tokens) if wanted(token))

    def index(self, name: str) -> int:
        """The position of a token, by name; an unknown name is refused with the nearest one."""
        try:
            return self._index[name]
        except (KeyError, TypeError):  # of what cannot be a key
            raise unknown_name("token", name, self.names) from None

    @cached_property
    def evaluable(self) -> bool:
        """Whether every program over this library can be evaluated on data."""
        return all(t.numpy is not None for t in self.tokens if t.kind is TokenKind.OPERATOR)

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[Token]:
        return iter(self.tokens)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._index

    def __getitem__(self, name: str) -> Token:
        return self.tokens[self.index(name)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Library):
            return NotImplemented
        return self is other or (
            self._hash == other._hash
            and self.tokens == other.tokens
            and self.grouping == other.grouping
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_library, (self.tokens, self.grouping)

    def __repr__(self) -> str:
        others = [t.name for t in self.tokens if t.kind is not TokenKind.VARIABLE]
        return f"Library({others}, variables={list(self.variables)})"


def _restore_library(tokens: tuple[Token, ...], grouping: Grouping | None = None) -> Library:
    library = Library.__new__(Library)
    library._set_tokens(tokens, grouping)
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
        raise InputError(
            f"a library is made of names, numbers and Tokens, not {shown(name)}",
            field="library",
            value=name,
        )
    known = ALIASES.get(name, name)
    if known in OPERATORS:
        return OPERATORS[known]
    if name == CONST.name:
        return CONST
    try:
        value = float(name)
    except ValueError:
        # The list is long enough without the protected ones.
        among = [t.name for t in OPERATORS.values() if t.protects is None or "prot" in name]
        raise unknown_name("token", name, [*among, CONST.name]) from None
    return number_token(value)


def _variable_token(name: str, index: int, complexity: int = 1) -> Token:
    if not isinstance(name, str) or not name:
        raise InputError(
            f"a variable's name must be a non-empty string, not {shown(name)}",
            field=Setting("variables"),
            value=name,
        )
    return Token(name, 0, complexity, kind=TokenKind.VARIABLE, index=index)


def _redefines(token: Token) -> bool:
    """Whether a token takes the name of a built-in one and means something else.

    Its complexity is the caller's to choose. A formula may take the place of an operator whose name
    is not reserved, since every part of the package then goes by the formula.
    """
    if token.name not in OPERATORS:
        return token.name in RESERVED
    if token.formula is not None and token.name not in RESERVED:
        return False
    builtin = OPERATORS[token.name]
    return (token.arity, token.numpy) != (builtin.arity, builtin.numpy)


def every_operator(
    variables: Sequence[str], own: Iterable[Token] = (), grouping: Grouping | None = None
) -> Library:
    """The library with every operator, variables of these names, and `const`.

    An operator that a variable is named like is left out. Those of the caller's own come last,
    and in the place of a built-in one that has the same name.

    >>> every_operator(["x", "cosh"]).names[:3]
    ('add', 'sub', 'mul')
    """
    others = set(variables) - RESERVED
    chosen = {name: token for name, token in OPERATORS.items() if name not in others}
    tokens = {**chosen, **{token.name: token for token in own}}
    return Library([*tokens.values(), CONST], variables, grouping)
