"""Circuits as Python's own expressions of truth values, worked out one input at a time."""

from __future__ import annotations

from symseek import Program

WRITTEN = {
    "and": "({} and {})",
    "or": "({} or {})",
    "nand": "(not ({} and {}))",
    "nor": "(not ({} or {}))",
    "not": "(not {})",
    "if": "({1} if {0} else {2})",
}


def source(program: Program) -> str:
    """The circuit as Python source in the names of its lines."""

    def combine(token: int, _: float | None, operands: list[str]) -> str:
        name = program.library.names[token]
        return WRITTEN[name].format(*operands) if operands else name

    return program.fold(combine)


def outputs(program: Program) -> list[bool]:
    """What comes out on every input; line i is bit i of the input's number."""
    code, lines = compile(source(program), "circuit", "eval"), program.library.variables
    rows = range(2 ** len(lines))
    return [eval(code, {name: bool(row >> i & 1) for i, name in enumerate(lines)}) for row in rows]
