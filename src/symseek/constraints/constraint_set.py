"""Constraints composed for one library: rule tables for the engines, and a check of programs.

What can be known when they are put together is reported then: bounds that no program can meet, or
relations that leave no way to finish. What shows only while sampling is explained by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symseek.arguments import items, refused
from symseek.constraints.forms import (
    CloseUnfinished,
    Constraint,
    Count,
    Custom,
    Forbid,
    Length,
    NotAll,
    Partial,
)
from symseek.constraints.tables import CountTable, RuleTables, Tables
from symseek.errors import InputError, shown
from symseek.programs import Program, Programs
from symseek.tokens import Library


class DeadEnd(InputError):
    """After the beginning of some program no token is allowed."""


class ConstraintSet:
    """Constraints composed for one library.

    `tables` are what an engine reads; `ask` puts a question to the custom constraints.

    >>> from symseek import Library, Program, paper_constraints
    >>> library = Library(["add", "sin", "exp", "log"], variables=["x"])
    >>> rules = ConstraintSet(library, paper_constraints())
    >>> rules.violations(Program.parse("sin(x + sin(x))", library))
    ['NoNestedTrigonometry()']
    """

    def __init__(self, library: Library, constraints: Iterable[Constraint | Custom]) -> None:
        if not isinstance(library, Library):
            raise refused("library", library, "of the type Library")
        self.library = library
        self.constraints = tuple(items("constraints", constraints, "a list of constraints"))
        for constraint in self.constraints:
            unusable = not isinstance(constraint, Constraint) and not callable(constraint)
            if unusable or isinstance(constraint, type):
                raise InputError(
                    f"{shown(constraint, 80)} is not a constraint: it has neither `narrow` and"
                    " `violated_by` nor can it be called with unfinished programs",
                    field="constraints",
                    value=constraint,
                )
        self.built_in = [each for each in self.constraints if isinstance(each, Constraint)]
        self.custom = [each for each in self.constraints if not isinstance(each, Constraint)]
        # What no formula may break, wherever it comes from; the others bind what is written here.
        self.binding = [each for each in self.built_in if getattr(each, "binding", False)]
        narrowed = self._narrowed(self.built_in)
        if not narrowed.max_length:
            raise InputError("the constraints set no maximum length; add Length(low, high)")
        self.tables: RuleTables = narrowed.rules()
        self._check_possible()

    def _narrowed(self, constraints: Iterable[Constraint]) -> Tables:
        tables = Tables(self.library)
        for constraint in constraints:
            constraint.narrow(tables)
        return tables

    @property
    def max_length(self) -> int:
        """T: the most tokens a program can have."""
        return self.tables.max_length

    def violations(self, program: Program) -> list[str]:
        """Which constraints the finished program breaks (custom ones cannot tell)."""
        return [_label(each) for each in self.built_in if each.violated_by(program)]

    def bound(self, programs: Programs) -> Programs:
        """The programs that break no constraint that is `binding`."""
        if not self.binding:
            return programs
        obey = [not any(rule.violated_by(each) for rule in self.binding) for each in programs]
        return programs[np.flatnonzero(obey)]

    def ask(
        self,
        tokens: NDArray[np.int16],
        parent: NDArray[np.int16],
        sibling: NDArray[np.int16],
        open_slots: NDArray[np.int32],
    ) -> NDArray[np.float32]:
        """What the custom constraints add to the logits [B, L]; -inf forbids."""
        # Copies: the engine continues to use its own arrays.
        partial = Partial(
            self.library, tokens.copy(), parent.copy(), sibling.copy(), open_slots.copy()
        )
        shape = (len(tokens), len(self.library))
        logits = np.zeros(shape, dtype=np.float32)
        for constraint in self.custom:
            answer = np.asarray(constraint(partial))
            if answer.shape != shape:
                raise InputError(
                    f"the constraint {_label(constraint)} answered with shape {answer.shape};"
                    f" it must be {shape}: unfinished programs by tokens of the library"
                )
            if answer.dtype == bool:
                logits[~answer] = -np.inf
            else:
                logits += answer.astype(np.float32)
        if np.any(np.isnan(logits)) or np.any(logits == np.inf):
            raise InputError("a custom constraint answered with NaN or +infinity logits")
        return logits

    def _check_possible(self) -> None:
        """Refuse, by name, constraints that leave no program at all."""
        tables = self.tables
        for rule in tables.counts:
            if rule.reachable[0, 1, 0].any():
                continue
            what = [_label(each) for each in self.built_in if isinstance(each, Length)]
            what += [
                _label(each)
                for each in self.built_in
                if any(np.array_equal(c.member, rule.member) for c in self._narrowed([each]).counts)
            ]
            arities = sorted(set(self.library.arity.tolist()))
            raise InputError(
                f"no program can satisfy {' and '.join(what)} with tokens of arity"
                f" {', '.join(map(str, arities))}; loosen a bound or add tokens"
            )
        root = len(self.library)
        least, most = tables.slot_least[0, root, 0], tables.slot_most[0, root, 0]
        if least > tables.max_length or most < tables.min_length:
            names = ", ".join(_label(each) for each in self.built_in)
            raise InputError(
                f"the constraints collide: {names} leave no program of"
                f" {tables.min_length} to {tables.max_length} tokens; loosen one of them"
            )

    def dead_end(self, prefix: Sequence[int]) -> DeadEnd:
        """What to raise where no token is allowed after this unfinished program."""
        return DeadEnd(f"the constraints collide: {self.explain_dead_end(prefix)}")

    def explain_dead_end(self, prefix: Sequence[int]) -> str:
        """Say which constraints rule out which tokens after this unfinished program."""
        blame: dict[str, list[str]] = {}
        position = _Position(self.library, prefix)
        for constraint in self.built_in:
            for token in position.forbidden_by(self._alone(constraint)):
                blame.setdefault(_label(constraint), []).append(self.library.names[token])
        so_far = " ".join(self.library.names[token] for token in prefix) or "the empty program"
        parts = [f"{name} rules out {', '.join(tokens)}" for name, tokens in blame.items()]
        if self.custom:
            own = ", ".join(map(_label, self.custom))
            parts.append(f"the custom constraints ({own}) may add to it")
        reason = "; ".join(parts) or "together they leave no way to reach a valid length"
        return f"after {so_far} no token is allowed: {reason}"

    def _alone(self, constraint: Constraint) -> Tables:
        """The tables under one constraint and the length limit, which every table needs."""
        lengths = [each for each in self.built_in if isinstance(each, Length | CloseUnfinished)]
        return self._narrowed([constraint] if constraint in lengths else [*lengths, constraint])


@dataclass
class _Position:
    """The next open position after an unfinished program."""

    library: Library
    prefix: Sequence[int]

    def forbidden_by(self, tables: Tables) -> list[int]:
        """Tokens that these tables rule out here."""
        library = self.library
        waiting: list[list[int]] = []  # open operators: token, then the children so far
        for token in self.prefix:
            if waiting:
                waiting[-1].append(token)
            if library.arity[token]:
                waiting.append([token])
            while waiting and len(waiting[-1]) - 1 == library.arity[waiting[-1][0]]:
                waiting.pop()
        parent, *left = waiting[-1] if waiting else [len(library)]
        allowed = tables.child[parent, len(left)].copy()
        for sibling in left:
            allowed &= tables.sibling[sibling]
        if waiting and len(left) == library.arity[parent] - 1:
            for alike in tables.not_all:
                if all(alike[sibling] for sibling in left):
                    allowed &= ~alike
        # The last one of the children so far is unfinished, but for the innermost operator.
        inside = [(token, len(so_far) - 1) for token, *so_far in waiting[:-1]]
        inside += [(parent, len(left))] if waiting else []
        for in_force, forbidden in tables.descendants:
            if any(in_force[argument] for argument in inside):
                allowed &= ~forbidden
        open_slots = 1 + sum(int(library.arity[token]) - 1 for token in self.prefix)
        nothing = CountTable(np.zeros(len(library), dtype=bool), 0, 0)
        for limit in tables.counts or [nothing]:
            rule = tables.count_rule(limit)
            counted = min(sum(rule.member[token] for token in self.prefix), rule.cap)
            number = library.arity + (tables.max_arity + 1) * rule.member
            allowed &= rule.reachable[len(self.prefix), open_slots, counted, number]
        return np.flatnonzero(~allowed).tolist()


def suits(constraint: Constraint | Custom, library: Library) -> bool:
    """Whether a constraint names only tokens that the library has.

    >>> from symseek import Forbid, Library
    >>> suits(Forbid("sin", "descendant", of="exp"), Library(["exp"], ["x"]))
    False
    """
    try:
        if isinstance(constraint, Constraint):
            constraint.narrow(Tables(library))
    except InputError:
        return False
    return True


def _label(constraint: object) -> str:
    if isinstance(constraint, Forbid | Count | NotAll):
        return str(constraint)
    if isinstance(constraint, Constraint):
        return repr(constraint)
    return type(constraint).__name__ if not hasattr(constraint, "__name__") else constraint.__name__
