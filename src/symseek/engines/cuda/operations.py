"""Tokens as the kernels read them: a step or more each, and the code of the operators in them.

The code of a kernel has the operators of a library; columns, numbers and constants are data. So
libraries with the same operators share their kernels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symseek.engines.packing import Instruction, instructions
from symseek.tokens import OPERATORS, Library

GENERIC = ("variable", "number", "constant", "argument", "finish", "formula")
"""Steps that every library may have; a formula is a run of other steps."""

STEP = np.dtype([("value", "f8"), ("opcode", "i4"), ("index", "i4")])
"""One step: an operator by its opcode, or what `GENERIC` names with its column, place or number."""


@dataclass(frozen=True)
class Steps:
    """The steps of a library.

    Token t has step t. Where the token is a formula, that step names the first of the steps that
    it stands for, and their number: they lie behind those of the tokens.
    """

    table: NDArray[np.void]  # [L + ...] of STEP
    operators: tuple[str, ...]  # opcodes count from len(GENERIC)
    arity: int  # the most operands of a token
    constant: int  # the token that is a placeholder, or -1
    most: int  # steps that a token stands for
    room: int  # of the stack, that a token may need beyond what it leaves

    def depth(self, length: int) -> int:
        """Values that a program of so many tokens may have on the stack at once.

        >>> steps_of(Library(["add", "sin"], ["x"])).depth(7)
        4
        """
        arity = max(self.arity, 1)
        return (length - 1) * (arity - 1) // arity + 1 + self.room


def steps_of(library: Library) -> Steps:
    """The steps of a library; a token that cannot be evaluated is refused.

    >>> steps = steps_of(Library(["add", "gauss"], ["x"]))
    >>> steps.operators, steps.most, len(steps.table)
    (('add', 'exp', 'neg', 'square'), 5, 8)
    """
    code = [instructions(token) for token in library]
    operators = tuple(sorted({name for steps in code for name, _, _ in steps} - {*GENERIC}))
    opcodes = {name: at for at, name in enumerate((*GENERIC, *operators))}
    first: list[Instruction] = []
    behind: list[Instruction] = []
    for steps in code:
        if len(steps) == 1:
            first.append(steps[0])
        else:
            first.append(("formula", len(code) + len(behind), float(len(steps))))
            behind.extend(steps)
    table = [(value, opcodes[name], index) for name, index, value in (*first, *behind)]
    constant = library.constant_id
    return Steps(
        table=np.array(table, dtype=STEP),
        operators=operators,
        arity=max(library.arities, default=0),
        constant=-1 if constant is None else constant,
        most=max(map(len, code), default=1),
        room=max((_height(steps) for steps in code if len(steps) > 1), default=0),
    )


def _height(steps: Iterable[Instruction]) -> int:
    """The most values that the steps of a formula have on the stack, above its operands."""
    now = most = 0
    for name, _, _ in steps:
        now += 1 - (OPERATORS[name].arity if name in OPERATORS else 0)
        most = max(most, now)
    return most


def operation_text(steps: Steps) -> str:
    """Opcodes, and for every operator a line: its value, slopes and underflow in a, b and v.

    >>> print(operation_text(steps_of(Library(["div"], ["x"]))).splitlines()[-1])
      BINARY(6, (a/b), (1.0/b), (-v/b), (a != 0.0))
    """
    names = [f"constexpr int {name.upper()} = {at};" for at, name in enumerate(GENERIC)]
    lines = [_line(len(GENERIC) + at, name) for at, name in enumerate(steps.operators)]
    names += [f"constexpr int {name.upper()} = {_place(steps.operators, name)};" for name in _NAMED]
    formulas = int((steps.table["opcode"] == GENERIC.index("formula")).any())
    names.append(f"constexpr int FORMULAS = {formulas};")
    return "\n".join([*names, " \\\n".join(["#define OPERATIONS(UNARY, BINARY)", *lines])])


_NAMED = ("add", "sub", "mul", "div", "neg", "sin", "cos")
"""Operators that kernels know by name, since they may leave a program linear in its constants."""


def _place(operators: tuple[str, ...], name: str) -> int:
    return len(GENERIC) + operators.index(name) if name in operators else -1


def _line(opcode: int, name: str) -> str:
    token = OPERATORS[name]
    value, forms = token.form("c"), token.forms
    assert value is not None, name
    assert len(forms.slopes) == token.arity, name
    texts = ", ".join(
        f"({_plain(text)})" for text in (value, *forms.slopes, forms.underflow or "0")
    )
    return f"  {('UNARY', 'BINARY')[token.arity - 1]}({opcode}, {texts})"


def _plain(template: str) -> str:
    for name in "abv":
        template = template.replace(f"{{{name}}}", name)
    return template
