"""Formulas worked from the leaves of their tree, with one form an operator.

A target is a choice of forms: texts for source code, functions for callables. An operator without
one is written out in the others that it means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from symseek.errors import InputError
from symseek.operators.record import missing_form
from symseek.programs import Program
from symseek.tokens import Token, TokenKind

Value = TypeVar("Value")


def _itself(value: Value) -> Value:
    return value


def work(
    program: Program,
    form: Callable[[Token], Callable[..., Value] | None],
    number: Callable[[float], Value],
    column: Callable[[int], Value],
    share: Callable[[Value], Value] = _itself,
) -> Value:
    """The value of a formula, whatever the forms make of it.

    Args:
        program: the formula, all of whose operators have a form or a meaning.
        form: what an operator makes of its arguments, if that is known.
        number: what a number becomes.
        column: what a variable becomes, by its place among the columns.
        share: what to do with an argument that the formula of an operator uses more than once.

    >>> forms = {"add": lambda a, b: f"<{a}, {b}>", "sin": str.upper}
    >>> form = lambda token: forms[token.name]
    >>> print(work(Program.parse("sin(x) + 2"), form, str, ["x"].__getitem__))
    <X, 2.0>
    """

    def operator(token: Token, arguments: list[Value]) -> Value:
        known = form(token)
        if known is not None:
            return known(*arguments)
        inner = token.meaning
        assert inner is not None
        places = [inner.library.tokens[each].index for each in inner.tokens]
        shared = [
            share(each) if places.count(place) > 1 else each for place, each in enumerate(arguments)
        ]
        return work(inner, form, number, shared.__getitem__, share)

    return program.worked(column, number, operator)


def checked(program: Program) -> Program:
    """The program, if it is one."""
    if not isinstance(program, Program):
        raise InputError(
            f"{program!r} is not a Program; Program.parse makes one of text",
            field="program",
            value=program,
        )
    return program


def exportable(program: Program, language: str) -> Program:
    """The program, if each of its operators can be written in a language of `Forms`."""
    for token in checked(program).tokens:
        this = program.library.tokens[token]
        if this.kind is not TokenKind.OPERATOR or getattr(this.forms, language) is not None:
            continue
        if this.meaning is None:
            example = f"forms=Forms({language}={this.name!r})"
            raise missing_form(this, language, example)
    return program
