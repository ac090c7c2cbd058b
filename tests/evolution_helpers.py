"""Libraries and small functions shared by the tests of breeding, pairing and evolution."""

from __future__ import annotations

from symseek import Library, Program, Programs, Token

KOZA = Library(["add", "sub", "mul", "div", "sin", "cos", "exp", "log"], variables=["x"])
FITTED = Library(["add", "sub", "mul", "div", "sin", "exp", "const"], variables=["x", "y"])
TREES = Library([Token("fork", 3), Token("chain", 1), Token("a", 0), Token("b", 0)], variables=[])

Node = tuple[int, "float | None"]  # a token and, if it is `const`, its value


def nodes(program: Program) -> tuple[Node, ...]:
    """The tokens in pre-order, each constant beside its own."""
    values = iter(program.constants)
    constant = program.library.constant_id
    return tuple((token, next(values) if token == constant else None) for token in program.tokens)


def token_rows(programs: Programs) -> list[tuple[int, ...]]:
    return [program.tokens for program in programs]


def copies(texts: list[str], library: Library, count: int) -> Programs:
    return Programs.from_list([Program.parse(text, library) for text in texts] * count)
