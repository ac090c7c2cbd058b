"""What each argument of the outermost operator may be made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from symseek.constraints.tables import Tables
from symseek.programs import Program

_ALONE = -3.0  # to the logits of a terminal that makes a function very short
_FEW = 3  # tokens of a function


@dataclass(frozen=True)
class Arguments:
    """One operator is outermost and nowhere else, and each of its arguments has tokens of its own.

    So the programs of a given form look: form(f, g) where f has x alone, and g has z.

    >>> from symseek import ConstraintSet, Length, Library, Token
    >>> library = Library([Token("form", 2), "sin"], ["x", "z"])
    >>> arguments = Arguments("form", (frozenset({"sin", "x"}), frozenset({"z"})))
    >>> rules = ConstraintSet(library, [Length(3, 5), arguments])
    >>> rules.violations(Program.from_preorder("form sin x z", library))
    []
    >>> arguments.violated_by(Program.from_preorder("form sin z z", library))
    True
    """

    operator: str
    allowed: tuple[frozenset[str], ...]  # names, for each argument
    lengths: tuple[int | None, ...] = ()  # the most tokens of each; None, or none at all: any

    binding: ClassVar[bool] = True  # also of what is proposed

    def narrow(self, tables: Tables) -> None:
        library = tables.library
        at, names = library.index(self.operator), np.array(library.names)
        tables.child[-1, :, names != self.operator] = False
        tables.child[:-1, :, at] = False
        for argument, allowed in enumerate(self.allowed):
            forbidden = np.array([name not in allowed for name in library.names])
            tables.child[at, argument, forbidden] = False
            forbidden[at] = False  # it is nowhere else in any case
            if forbidden.any() and any(library.arities[library.index(name)] for name in allowed):
                inside = np.zeros((len(library), tables.max_arity), dtype=bool)
                inside[at, argument] = True
                tables.descendants.append((inside, forbidden))
        tables.soft.append(self)

    def added_logits(self, tables: Tables) -> NDArray[np.float32]:
        """[T, 2, L]: functions shall not be columns alone too often.

        A policy knows no arguments: after a constant or a sum it would go on with a column.
        """
        numbers = sum(allowed == {"const"} for allowed in self.allowed)
        terminal = tables.library.arity == 0
        logits = np.zeros((tables.capacity, 2, len(tables.library)), dtype=np.float32)
        if 0 < numbers < len(self.allowed):
            logits[1 + numbers, :, terminal] = _ALONE
        few = _FEW * (len(self.allowed) - numbers)
        logits[1 + numbers : 1 + numbers + few, 1, terminal] = _ALONE
        return logits

    def violated_by(self, program: Program) -> bool:
        if program.names[0] != self.operator:
            return True
        lengths = self.lengths or (None,) * len(self.allowed)
        return any(
            not allowed.issuperset(part.names) or (most is not None and len(part) > most)
            for part, allowed, most in zip(program.arguments, self.allowed, lengths, strict=True)
        )
