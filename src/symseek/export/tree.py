"""Formulas worked from the leaves of their tree, with one form an operator.

A target is a table of forms: texts for source code, functions for callables. Operators that are
given by a formula are written out, so a table needs no more than the operators of `OPERATORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from symseek.errors import InputError
from symseek.programs import Program
from symseek.tokens import OPERATORS, Kind, Token

__all__ = ["checked", "exportable", "work"]

Value = TypeVar("Value")


def _itself(value: Value) -> Value:
    return value


def work(
    program: Program,
    forms: Mapping[str, Callable[..., Value]],
    number: Callable[[float], Value],
    column: Callable[[int], Value],
    share: Callable[[Value], Value] = _itself,
) -> Value:
    """The value of a formula, whatever the forms make of it.

    Args:
        program: the formula.
        forms: what each operator makes of its arguments.
        number: what a number becomes.
        column: what a variable becomes, by its place among the columns.
        share: what to do with an argument that the formula of an operator uses more than once.

    >>> forms = {"add": lambda a, b: f"<{a}, {b}>", "sin": str.upper}
    >>> print(work(Program.parse("sin(x) + 2"), forms, str, ["x"].__getitem__))
    <X, 2.0>
    """

    def combine(token: int, constant: float | None, arguments: list[Value]) -> Value:
        this = program.library.tokens[token]
        if this.kind is Kind.VARIABLE:
            assert this.index is not None
            return column(this.index)
        if this.kind is not Kind.OPERATOR:
            value = this.value if constant is None else constant
            assert value is not None
            return number(value)
        if this.name in forms:
            return forms[this.name](*arguments)
        inner = _expansion(this)
        places = [inner.library.tokens[each].index for each in inner.tokens]
        shared = [
            share(each) if places.count(place) > 1 else each for place, each in enumerate(arguments)
        ]
        return work(inner, forms, number, shared.__getitem__, share)

    return program.fold(combine)


def _expansion(token: Token) -> Program:
    if token.expansion is None:
        raise InputError(
            f"operator {token.name!r} has no formula, so it cannot be exported;"
            " give its Token one, such as formula='a**2 + 1'"
        )
    return token.expansion


def checked(program: Program) -> Program:
    """The program, if it is one."""
    if not isinstance(program, Program):
        raise InputError(f"{program!r} is no Program; Program.parse makes one of text")
    return program


def exportable(program: Program) -> Program:
    """The program, if every target can write each of its operators."""
    for token in checked(program).tokens:
        this = program.library.tokens[token]
        if this.kind is Kind.OPERATOR and this.name not in OPERATORS:
            _expansion(this)
    return program
