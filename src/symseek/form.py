"""A given form: a formula with unknown functions and named numbers, which a search fills in.

    y = f(x)*exp(-k*t) + g(z); f: operators add,mul length 10

Here f and g are unknown functions of the columns that they name, and k is a number to fit. What a
search writes is form(k, f, g): the token `form` is outermost and nowhere else, and the evaluator
reads it as a formula of its arguments and of the columns, so that every program obeys the form and
costs no more than any other. Where the left side is no column alone, as in log(y) = f(x), the rows
have its values for a target, and what is found is solved for the column where that can be done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn, TypeAlias

import numpy as np

from symseek.arguments import items
from symseek.arrays import Floats
from symseek.errors import InputError, Setting, shown, suggestion
from symseek.notation.parse import called, named, quote
from symseek.operators.table import ALIASES
from symseek.programs import Program
from symseek.tokens import (
    ARGUMENTS,
    MAX_ARITY,
    OPERATORS,
    RESERVED,
    Library,
    Token,
    TokenKind,
    every_operator,
)

Parts: TypeAlias = "dict[str, Program]"

FIELD = Setting("form")
_SAME = 1e-9  # of the largest y: what solving for it may lose
_OPTION = re.compile(r"\s*([^\s:]+)\s*:\s*(.*?)\s*", re.DOTALL)
# A name in backquotes, or a number of each group's own with the column of the groups.
_OWN_NUMBER = re.compile(r"`[^`]*`|(?<![\w.])([^\W\d]\w*)\s*\[\s*(`[^`]*`|[^]`]*?)\s*\]")
_VALUE = "left side"  # the variable that stands for its value while it is solved for the target


@dataclass(frozen=True)
class Form:
    """A form as it is given: the equation, and what its unknown functions may be made of.

    >>> form = Form("y = f(x) + g(z)", operators={"f": ["add", "mul"]}, length={"f": 10})
    >>> str(form)
    'y = f(x) + g(z); f: operators add,mul length 10'
    >>> Form.read(str(form)) == form
    True
    """

    equation: str
    operators: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by unknown function
    length: Mapping[str, int] = field(default_factory=dict)  # the most tokens, by unknown function

    def __post_init__(self) -> None:
        if not isinstance(self.equation, str) or not self.equation.strip():
            _refuse("give an equation, such as 'y = f(x)*exp(-k*t)'", self.equation)
        listed = {name: tuple(items(FIELD, of, "names")) for name, of in self.operators.items()}
        object.__setattr__(self, "operators", listed)
        object.__setattr__(self, "length", dict(self.length))
        for name, most in self.length.items():
            if isinstance(most, bool) or not isinstance(most, int) or most < 1:
                _refuse(f"the length of {name} must be a whole number of 1 or more", most)

    @classmethod
    def read(cls, text: str) -> Form:
        """The form in a text: the equation, and after semicolons what is said of a function."""
        equation, *options = text.split(";")
        operators: dict[str, tuple[str, ...]] = {}
        length: dict[str, int] = {}
        for option in filter(str.strip, options):
            match = _OPTION.fullmatch(option)
            words = match[2].split() if match else []
            if match is None or not words or len(words) % 2:
                _refuse(
                    f"{shown(option.strip())} says nothing of an unknown function; write"
                    " 'f: operators add,mul length 10'",
                    text,
                )
            for word, value in zip(words[::2], words[1::2], strict=True):
                if word == "operators":
                    operators[match[1]] = tuple(filter(None, value.split(",")))
                elif word == "length" and value.isdecimal():
                    length[match[1]] = int(value)
                else:
                    _refuse(
                        f"{shown(f'{word} {value}')} is unknown; an unknown function may have"
                        " 'operators add,mul' and 'length 10'",
                        text,
                    )
        return cls(equation.strip(), operators, length)

    def __str__(self) -> str:
        parts = [self.equation]
        for name in dict.fromkeys((*self.operators, *self.length)):
            said = f"{name}:"
            if name in self.operators:
                said += f" operators {','.join(map(str, self.operators[name]))}"
            if name in self.length:
                said += f" length {self.length[name]}"
            parts.append(said)
        return "; ".join(parts)


@dataclass(frozen=True)
class Unknown:
    """What a search fills in: a function of columns, or without any a number."""

    name: str
    columns: tuple[str, ...] = ()
    operators: tuple[str, ...] | None = None  # None: those of the search
    length: int | None = None  # the most tokens
    own: bool = False  # of a number: whether each group is said to have its own

    @property
    def is_number(self) -> bool:
        """Whether it is a named number."""
        return not self.columns

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.columns)})" if self.columns else self.name


@dataclass(frozen=True)
class GivenForm:
    """A form on the columns of a table.

    >>> form = GivenForm.of("log(y) = f(x) - k*t", ["x", "t"], "y")
    >>> [str(each) for each in form.unknowns]
    ['k', 'f(x)']
    >>> form.values(np.array([[1.0, 2.0]]), np.array([1.0]))
    array([0.])
    """

    text: str  # the equation
    columns: tuple[str, ...]
    target: str
    left: Program  # of the columns, then the target
    right: Program  # of the columns, then the named numbers; unknown functions are operators
    unknowns: tuple[Unknown, ...]  # the numbers, then the functions: arguments of the token

    @classmethod
    def of(
        cls, given: str | Form, columns: Sequence[str], target: str, group: str | None = None
    ) -> GivenForm:
        """Read a form; what is unclear in it is refused in a sentence.

        A number may be one of each `group` of rows, as in A[strain].
        """
        form = given if isinstance(given, Form) else Form.read(given)
        return _Reader(form, tuple(columns), target, group).form()

    @property
    def functions(self) -> tuple[Unknown, ...]:
        """The unknown functions."""
        return tuple(each for each in self.unknowns if not each.is_number)

    @property
    def numbers(self) -> tuple[Unknown, ...]:
        """The named numbers."""
        return tuple(each for each in self.unknowns if each.is_number)

    @property
    def marked(self) -> bool:
        """Whether it says which numbers are the groups' own; no others are then."""
        return any(each.own for each in self.unknowns)

    @property
    def plain(self) -> bool:
        """Whether the left side is the target alone."""
        return self.left.names == (self.target,)

    @property
    def said(self) -> str:
        """The left side, as it is written."""
        return self.target if self.plain else self.text.partition(" = ")[0]

    @cached_property
    def token(self) -> Token:
        """The token whose arguments are the unknowns, and whose formula is the right side."""
        used = [at for at, name in enumerate(self.columns) if name in self.right.names]
        columns = max(used, default=-1) + 1
        letters, places = ARGUMENTS[: len(self.unknowns)], [f"x{at + 1}" for at in range(columns)]
        library = every_operator([*letters, *places])
        names = [*(each.name for each in self.unknowns), *self.columns[:columns]]
        pairs = zip(names, [*letters, *places], strict=True)
        leaves = {name: Program(library, (library.index(to),)) for name, to in pairs}
        name = "form"
        while name in self.columns:
            name += "_"
        return Token(
            name,
            len(self.unknowns),
            self._price,
            formula=_filled(self.right, library, leaves).infix(),
            columns=columns,
        )

    @property
    def _price(self) -> int:
        """The complexity of what is given."""
        unknown = {each.name for each in self.unknowns}
        tokens = self.right.library.tokens

        def price(token: int, _: float | None, inside: list[int]) -> int:
            return 0 if tokens[token].name in unknown else tokens[token].complexity + sum(inside)

        return self.right.fold(price)

    def over(self, library: Library) -> Library:
        """A library with the token of the form beside the others."""
        others = [each for each in library if each.kind is not TokenKind.VARIABLE]
        return Library([self.token, *others], library.variables, library.grouping)

    def reading(self, library: Library, name: str) -> Library:
        """A library in which a written program comes to what stands for one unknown.

        >>> form = GivenForm.of("y = f(x) - k*x", ["x"], "y")
        >>> written = form.library(Library(["sin", "const"], ["x"]))
        >>> program = Program.from_preorder("form 2.5 sin x", written)
        >>> program.over(form.reading(written, "k")).evaluate([[3.0]])
        array([2.5])
        """
        at = [each.name for each in self.unknowns].index(name)
        token = Token(self.token.name, self.token.arity, formula=ARGUMENTS[at])
        others = [each for each in library if each.kind is not TokenKind.VARIABLE][1:]
        return Library([token, *others], library.variables, library.grouping)

    def library(self, library: Library) -> Library:
        """What a search writes with: a library of its own, and what single functions need."""
        own = [each for of in self.functions for each in _own(of) if each.name not in library]
        numbers = ["const"] if self.numbers and "const" not in library else []
        others = [each for each in library if each.kind is not TokenKind.VARIABLE]
        names: list[str | Token] = [self.token, *others, *dict.fromkeys(own), *numbers]
        return Library(names, library.variables, library.grouping)

    def allowed(self, library: Library) -> tuple[frozenset[str], ...]:
        """The names that each argument may have, where others may have all of a library."""
        usual = {each.name for each in library if each.kind is not TokenKind.VARIABLE}
        own = set() if library.grouping is None else {*library.grouping.own}  # of the groups
        named = iter(() if library.grouping is None else library.grouping.own)
        if self.marked:
            own = set()
        numbers = ({"const"} & usual) | own

        def names(unknown: Unknown) -> frozenset[str]:
            if unknown.own:
                return frozenset({next(named)})
            if unknown.is_number:
                return frozenset({"const", *own})
            operators = {each.name for each in _own(unknown)} if unknown.operators else usual
            return frozenset(operators | numbers | {*unknown.columns})

        return tuple(map(names, self.unknowns))

    def values(self, X: Floats, y: Floats) -> Floats:
        """The left side on rows [N]; a row where it has no value is refused."""
        if self.plain:
            return y
        values = self.left.evaluate(np.column_stack([X, y]))
        lost = np.flatnonzero(~np.isfinite(values))
        if len(lost):
            row = int(lost[0])
            _refuse(
                f"{self.said} has no value in row {row + 1}, where {self.target} is"
                f" {y[row]:g}; leave such rows out, or write another left side",
                self.said,
            )
        return values

    def parts(self, program: Program) -> Parts:
        """What stands for each unknown in a written program."""
        return {
            each.name: part for each, part in zip(self.unknowns, program.arguments, strict=True)
        }

    def with_parts(self, parts: Iterable[Program], library: Library) -> Program:
        """The written program with these arguments, over a library with the form's token."""
        return Program.joined(self.token.name, [each.over(library) for each in parts])

    def whole(self, program: Program, library: Library) -> Program:
        """The right side of a written program in full, over a library with every operator."""
        parts = {name: part.over(library) for name, part in self.parts(program).items()}
        for name in self.columns:
            parts.setdefault(name, Program(library, (library.index(name),)))
        return _filled(self.right, library, parts)

    def solution(self, X: Floats, y: Floats) -> Program | None:
        """The target by the value of the left side and the columns, if it can be solved for it.

        Its variables are the columns and that value. It must hold on all these rows: of y**2 the
        root is the one whose sign the target has.
        """
        library = every_operator((*self.columns, _VALUE))
        value = Program(library, (library.index(_VALUE),))
        rows = np.column_stack([X, self.values(X, y)])
        for found in _solved(self.left, self.target, value):
            with np.errstate(all="ignore"):
                lost = np.abs(found.evaluate(rows) - y)
            if (lost <= _SAME * np.abs(y).max()).all():
                return found
        return None

    def solved(self, solution: Program, whole: Program) -> Program:
        """The target, where the left side has the value of a program."""
        library = whole.library
        leaves = {name: Program(library, (library.index(name),)) for name in self.columns}
        return _filled(solution, library, {**leaves, _VALUE: whole})


def _own(unknown: Unknown) -> list[Token]:
    """The tokens of a function that are no columns; none if it has those of the search."""
    return [each for each in Library(unknown.operators or (), ["\0"]) if each.index is None]


def _refuse(text: str, value: object = None) -> NoReturn:
    raise InputError(FIELD, ": ", text, field=FIELD, value=value)


def _filled(program: Program, library: Library, leaves: Mapping[str, Program]) -> Program:
    """The program over a library, with programs for its variables and unknown functions."""

    def combine(token: int, constant: float | None, arguments: list[Program]) -> Program:
        name = program.library.names[token]
        if constant is not None:
            return Program(library, (library.index("const"),), (constant,))
        if name in leaves:
            return leaves[name]
        if arguments:
            return Program.joined(name, arguments)
        return Program(library, (library.index(name),))

    return program.fold(combine)


def _solved(left: Program, target: str, value: Program) -> Iterator[Program]:
    """What a variable may be where a program that has it once has some value."""
    if left.names.count(target) != 1:
        return
    if left.names == (target,):
        yield value
        return
    library, token = value.library, left.library.tokens[left.tokens[0]]
    arguments = left.arguments
    at = next(n for n, each in enumerate(arguments) if target in each.names)
    others = [_filled(each, library, {}) for n, each in enumerate(arguments) if n != at]
    for found in _inverses(token, at, value, others):
        yield from _solved(arguments[at], target, found)


def _inverses(token: Token, at: int, value: Program, others: list[Program]) -> Iterator[Program]:
    """What the argument of an operator at some place may be where it has some value."""

    def made(name: str, *arguments: Program) -> Program:
        return Program.joined(name, arguments)

    def number(of: float) -> Program:
        return Program(value.library, (value.library.index("const"),), (of,))

    if token.arity == 1:
        even = token.name in ("square", "fourth")
        if token.exponent is not None:
            power = 1.0 / token.exponent
            root = made("sqrt", value) if power == 0.5 else made("pow", value, number(power))
            yield root
            if even:
                yield made("neg", root)
            elif token.name == "cube":
                root = made("pow", made("abs", value), number(power))
                yield made("mul", made("sign", value), root)
        elif token.inverse is not None:
            yield made(token.inverse, value)
        elif token.name == "neg_exp":
            yield made("neg", made("log", value))
        elif token.name in _UNDONE:
            yield made(_UNDONE[token.name], value)
        return
    if len(others) != 1:
        return
    (other,) = others
    if token.name == "add":
        yield made("sub", value, other)
    elif token.name == "sub":
        yield made("add", value, other) if at == 0 else made("sub", other, value)
    elif token.name == "mul":
        yield made("div", value, other)
    elif token.name == "div":
        yield made("mul", value, other) if at == 0 else made("div", other, value)
    elif token.name == "pow" and at == 0:
        yield made("pow", value, made("div", number(1.0), other))
    elif token.name == "pow":
        yield made("div", made("log", value), made("log", other))


_UNDONE = {
    "asin": "sin",
    "acos": "cos",
    "atan": "tan",
    "sin": "asin",
    "cos": "acos",
    "tan": "atan",
    "sinh": "asinh",
    "asinh": "sinh",
}


def own_numbers(text: str) -> list[tuple[str, str]]:
    """The numbers of each group's own in a form, with the column that names the groups.

    >>> own_numbers("A[strain]*exp(-k*t) + B[`soil type`]*A[strain] - `height [m]`")
    [('A', 'strain'), ('B', 'soil type')]
    """
    found = [(each[1], each[2].strip("`")) for each in _OWN_NUMBER.finditer(text) if each[1]]
    return list(dict.fromkeys(found))


class _Reader:
    """Reads the equation of a form, and what is said of its functions."""

    def __init__(
        self, form: Form, columns: tuple[str, ...], target: str, group: str | None
    ) -> None:
        self.given, self.columns, self.target, self.group = form, columns, target, group

    def form(self) -> GivenForm:
        left, equals, right = self.given.equation.partition("=")
        if not equals:
            left, right = quote(self.target), left
        if "=" in right:
            _refuse("an equation has one =", self.given.equation)
        own = [name for name, _ in own_numbers(right)]
        right = self._without_brackets(right)
        functions = self._functions(right)
        names = {each.name for each in functions}
        if self.target in named(right):
            _refuse(f"{self.target} stands on the right side; it belongs on the left", right)
        if called_left := [each for each, _ in called(left) if each not in _KNOWN]:
            _refuse(f"{called_left[0]} stands on the left side, which has columns alone", left)
        numbers = [each for each in named(right) if each not in (*self.columns, *names)]
        for each in numbers:
            if each in RESERVED:
                _refuse(f"{each} is an operator; write its arguments, {each}(...)", right)
        for each in own:
            if each not in numbers:
                _refuse(
                    f"{each} is a column or a function; no group has a number of that name", each
                )
        unknowns = *(Unknown(each, own=each in own) for each in numbers), *functions
        self._check(unknowns)
        tokens = [Token(each.name, len(each.columns)) for each in functions]
        left = self._left(left)
        return GivenForm(
            f"{left} = {right.strip()}",
            self.columns,
            self.target,
            self._parsed(left, every_operator((*self.columns, self.target))),
            self._parsed(right, every_operator((*self.columns, *numbers), tokens)),
            unknowns,
        )

    def _without_brackets(self, text: str) -> str:
        """The right side with the names of the groups' own numbers alone."""
        for name, column in own_numbers(text):
            if self.group is None:
                raise InputError(
                    FIELD,
                    f": {name}[{column}] is a number of each {column}'s own; say which rows belong"
                    " together with ",
                    Setting("group"),
                    field=FIELD,
                    value=text,
                )
            if column != self.group:
                _refuse(f"{name}[{column}] is of other groups than those of {self.group}", text)
        return _OWN_NUMBER.sub(lambda found: found[1] or found[0], text)

    def _parsed(self, text: str, library: Library) -> Program:
        try:
            return Program.parse(text, library)
        except InputError as error:
            raise InputError(FIELD, ": ", error, field=FIELD, value=text) from None

    def _left(self, text: str) -> str:
        """The left side by the target's own name; every target may be called y."""
        target = self.target
        known = *self.columns, target
        if target not in named(text):
            if "y" in known or "y" not in named(text):
                _refuse(f"the left side has no {target}, which is the target", text)
            text = re.sub(r"\by\b", lambda _: quote(target), text)
        for name in named(text):
            if name not in known:
                _refuse(f"{name} on the left side is no column; {suggestion(name, known)}", text)
        return text.strip()

    def _functions(self, text: str) -> list[Unknown]:
        found: dict[str, Unknown] = {}
        for name, arguments in called(text):
            if name in _KNOWN:
                continue
            if name in (*self.columns, self.target):
                _refuse(f"{name} is a column; give the unknown function another name", name)
            columns = tuple(map(self._column, arguments))
            if len(set(columns)) < len(columns) or not columns:
                _refuse(f"{name} needs different columns, as in {name}(x, z)", text)
            own = self.given.operators.get(name)
            operators = None if own is None else tuple(own)
            made = Unknown(name, columns, operators, self.given.length.get(name))
            if found.setdefault(name, made) != made:
                _refuse(
                    f"{name} is a function of {', '.join(found[name].columns)} and of"
                    f" {', '.join(columns)}; give it the same columns everywhere, or use two names",
                    text,
                )
        return list(found.values())

    def _column(self, text: str) -> str:
        name = named(text)[0] if named(text) else text
        if name in self.columns and text in (name, quote(name)):
            return name
        if name == self.target:
            _refuse(f"{name} is the target; an unknown function takes other columns", text)
        if text in (name, quote(name)):
            _refuse(f"there is no column {name}; {suggestion(name, self.columns)}", text)
        _refuse(f"an unknown function takes columns, and {text} is none", text)

    def _check(self, unknowns: Sequence[Unknown]) -> None:
        names = {each.name for each in unknowns}
        if not unknowns:
            _refuse("there is nothing unknown in it; write f(x) for an unknown function", "")
        if len(unknowns) > MAX_ARITY:
            _refuse(f"it has {len(unknowns)} unknowns; at most {MAX_ARITY} can be found", "")
        for name in (*self.given.operators, *self.given.length):
            if name not in names:
                _refuse(f"{name} is no unknown function of it; {suggestion(name, names)}", name)
        for each in unknowns:
            if each.is_number and each.name in (*self.given.operators, *self.given.length):
                _refuse(f"{each.name} is a number, which has neither operators nor length", "")
            _own(each)


_KNOWN = {*OPERATORS, *ALIASES, "const"}
