"""Whether a program is even or odd in a column, by the symmetry of its operators.

What is found is sure. A program may be even in another way: (x + 1)**2 - 2*x is, and nothing is
found.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from symseek.operators.record import Token
from symseek.programs import Program

Parity: TypeAlias = Literal["even", "odd", "zero"] | None


def parity(program: Program, column: int) -> Parity:
    """What a sign before a column does to the values; of what is always 0, nothing.

    >>> [parity(Program.parse(text), 0) for text in ("x*sin(x)", "x**3 + x", "x + 1.0", "cos(x)")]
    ['even', 'odd', None, 'even']
    """

    def number(value: float) -> Parity:
        return "zero" if value == 0 else "even"

    def operator(token: Token, arguments: list[Parity]) -> Parity:
        return _applied(token, arguments, columns)

    columns: list[Parity] = [
        "odd" if at == column else "even" for at in range(len(program.library.variables))
    ]
    return program.worked(columns.__getitem__, number, operator)


def _applied(token: Token, arguments: list[Parity], columns: list[Parity]) -> Parity:
    """What an operator makes of arguments."""
    name = token.name
    if name in ("add", "sub"):
        one, other = arguments
        if one == other or other == "zero":
            return one
        return other if one == "zero" else None
    if name in ("mul", "div"):
        one, other = arguments
        if None in arguments:
            return None
        if "zero" in arguments:
            return "zero" if one == "zero" else "even" if name == "mul" else None
        return "even" if one == other else "odd"
    if all(each in ("even", "zero") for each in arguments) and not token.columns:
        return "even"
    if name in ("atan2",) and arguments[0] == "odd" and arguments[1] in ("even", "zero"):
        return None  # at the jump behind 0 the signs are not opposite
    if token.arity == 1 and arguments[0] == "odd":
        return _of_odd(token)
    meaning = token.expansion
    if meaning is None:
        return None
    inside = [*arguments, *columns[: token.columns]]
    return meaning.worked(
        inside.__getitem__,
        lambda value: "zero" if value == 0 else "even",
        lambda each, parts: _applied(each, parts, inside),
    )


def _of_odd(token: Token) -> Parity:
    if token.parity is not None:
        return token.parity
    if token.name == "neg":
        return "odd"
    exponent = token.exponent
    if exponent is not None and exponent.is_integer():
        return "odd" if exponent % 2 else "even"
    meaning = token.expansion
    if meaning is None:
        return None
    return meaning.worked(
        lambda at: "odd",
        lambda value: "zero" if value == 0 else "even",
        lambda each, parts: _applied(each, parts, []),
    )
