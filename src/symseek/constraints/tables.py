"""Rule tables: what may stand at the next open position of a program, as plain arrays.

Constraints narrow `Tables` one after another. `Tables.rules` then adds what follows from them:
which lengths and counts can still be reached, and how many tokens each open position needs at least
or can hold at most, so that sampling does not run into a position where nothing fits. The result,
`RuleTables`, is all that an engine reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.constraints.sizes import SizeBounds
from symseek.tokens import Library

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class CountRule:
    """A limit on how many tokens of a set a program has.

    A token's class is its arity, plus A + 1 if it is counted, with A the largest arity.
    """

    member: Mask  # [L] the tokens that are counted
    cap: int  # the count is not followed beyond this
    reachable: Mask  # [T, T + 1, cap + 1, 2 (A + 1)] may a token of this class come next, after so
    #                  many tokens, with so many open positions and so many counted tokens?
    limits: bool = False  # whether there are at most as many as the cap


MANNERS = (
    "terminal",  # has a dimension
    "wild",  # a number that takes any
    "number",  # has none, and is a known exponent
    "plain",  # takes and gives none
    "sign",  # takes any, gives none
    "ratio",  # takes arguments alike, gives none
    "alike",  # takes arguments alike, gives the same
    "product",  # multiplies, or divides by the arguments after the first
    "power",  # raises its argument to a known power
    "raised",  # raises the first argument to the second
    "form",  # the root of a given form
    "banned",  # has a dimension that is out of bounds
)
"""What a token may do with dimensions."""


@dataclass(frozen=True, eq=False)
class UnitTables:
    """The dimensions of one library as an engine reads them, D powers each, in parts of 1."""

    manner: tuple[str, ...]  # [L] of MANNERS
    dimension: NDArray[np.int8]  # [L, D] of terminals
    power: NDArray[np.int32]  # [L, 2] of powers, and of numbers as exponents: above, and below or 0
    fitted: Mask  # [L] numbers that are fitted
    divides: Mask  # [L] products whose arguments after the first divide
    argument: tuple[NDArray[np.int8] | None, ...]  # [A] of the root of a given form; None: any
    target: NDArray[np.int8] | None  # [D]


@dataclass(frozen=True, eq=False)
class RuleTables:
    """The constraints of one library as an engine reads them. True means allowed.

    L tokens of the library, A the largest arity, T the longest program, D rules on descendants, S
    sets of these in force: all subsets if `exact_sets`, else 0 at the root and 1 below it.
    """

    arity: NDArray[np.int8]  # [L]
    max_arity: int  # A, at least 1
    min_length: int
    max_length: int  # T
    child: Mask  # [L + 1, A, L] below this parent (L: the root) at this place
    sibling: Mask  # [L + 1, L] to the right of this sibling (L: none)
    in_force: Mask  # [D, L, A] inside these arguments of these tokens the rule is in force
    descendant: Mask  # [D, L] what the rule then allows
    not_all: Mask  # [M, L] sets from which not all children of an operator may come
    at_length: Mask  # [T, L] as the token of this place in the traversal
    counts: tuple[CountRule, ...]  # at least one, which follows the length
    bias: NDArray[np.float32]  # [T, 2, L] added to the logits; 1: at the last open position
    sized: bool  # whether the sizes below say more than the count rules do
    exact_sets: bool
    slot_least: NDArray[np.int32]  # [S, L + 1, A] tokens that this position needs at least
    slot_most: NDArray[np.int32]  # [S, L + 1, A] tokens that it can hold at most
    needs: NDArray[np.int32]  # [S, L] tokens that the arguments of this token need together
    holds: NDArray[np.int32]  # [S, L] tokens that they can hold together
    units: UnitTables | None = None


@dataclass
class CountTable:
    """At least `low` and at most `high` tokens of a set."""

    member: Mask  # [L]
    low: int
    high: int | None


@dataclass
class Tables:
    """What is allowed, while it is being narrowed. True means allowed."""

    library: Library
    min_length: int = 1
    max_length: int = 0  # 0: not set yet
    close_at: int | None = None  # from this length on, only input variables
    child: Mask = field(init=False)  # [L + 1, A, L] under this parent (L: the root) at this place
    sibling: Mask = field(init=False)  # [L + 1, L] to the right of this sibling (row L: none)
    # Where a rule is in force [L, A]: inside these arguments; and what it forbids there [L].
    descendants: list[tuple[Mask, Mask]] = field(default_factory=list)
    not_all: list[Mask] = field(default_factory=list)  # [L]: not all children of an operator
    counts: list[CountTable] = field(default_factory=list)
    soft: list[Any] = field(default_factory=list)  # priors: added_logits(tables) -> [T, 2, L]
    units: UnitTables | None = None

    def __post_init__(self) -> None:
        size = len(self.library)
        self.child = np.ones((size + 1, self.max_arity, size), dtype=bool)
        self.sibling = np.ones((size + 1, size), dtype=bool)

    @property
    def max_arity(self) -> int:
        """The most children any token has, at least 1 so that no axis is empty."""
        return max(1, int(self.library.arity.max()))

    @property
    def capacity(self) -> int:
        """T: the most tokens a program can come to have."""
        if self.close_at is None:
            return self.max_length
        return self.close_at + 1 + self.close_at * (self.max_arity - 1)

    def at_length(self) -> Mask:
        """[T, L]: allowed as the token of this place in the traversal."""
        allowed = np.ones((self.capacity, len(self.library)), dtype=bool)
        if self.close_at is not None:
            allowed[self.close_at :] = False
            allowed[self.close_at :, list(self.library.variable_ids)] = True
        return allowed

    def count_rule(self, rule: CountTable) -> CountRule:
        """Which classes of token can still lead to a valid whole.

        Works backwards from complete programs: a prefix of so many tokens, open positions and
        counted tokens is feasible when some class of token leads to a feasible longer one.
        """
        length, arities = self.capacity, self.max_arity + 1
        cap = rule.low if rule.high is None else rule.high
        feasible = np.zeros((length + 1, length + 1, cap + 1), dtype=bool)
        sufficient = np.arange(cap + 1) >= rule.low
        feasible[self.min_length :, 0, :] = sufficient
        classes = [
            (arity + arities * member, arity, bool(member))
            for member in (0, 1)
            for arity in range(arities)
            if np.any((self.library.arity == arity) & (rule.member == bool(member)))
        ]
        reachable = np.zeros((length, length + 1, cap + 1, 2 * arities), dtype=bool)
        for at in range(length - 1, -1, -1):
            for number, arity, member in classes:
                leads = np.zeros((length + 1, cap + 1), dtype=bool)
                # open -> open - 1 + arity, for open = 1 ... length
                reach = feasible[at + 1, arity : length + 1]
                leads[1 : 1 + len(reach)] = reach[:length]
                if member:
                    stay = leads[:, cap] if rule.high is None else np.zeros(length + 1, dtype=bool)
                    leads = np.column_stack([leads[:, 1:], stay])
                reachable[at, 1:, :, number] = leads[1:]
                feasible[at] |= leads
            feasible[at, 0] = at >= self.min_length and sufficient
        return CountRule(rule.member, cap, reachable, rule.high is not None)

    def rules(self) -> RuleTables:
        """Everything that an engine needs to know."""
        library = self.library
        sizes = self._sizes()  # first: it forbids what would lead nowhere
        anything = CountTable(np.zeros(len(library), dtype=bool), 0, 0)
        bias = np.zeros((self.capacity, 2, len(library)), dtype=np.float32)
        for prior in self.soft:
            bias += prior.added_logits(self)
        return RuleTables(
            arity=library.arity.astype(np.int8),
            max_arity=self.max_arity,
            min_length=self.min_length,
            max_length=self.capacity,
            child=self.child,
            sibling=self.sibling,
            in_force=np.array([inside for inside, _ in self.descendants], dtype=bool).reshape(
                -1, len(library), self.max_arity
            ),
            descendant=~self._masks([forbidden for _, forbidden in self.descendants]),
            not_all=self._masks(self.not_all),
            at_length=self.at_length(),
            counts=tuple(self.count_rule(rule) for rule in self.counts or [anything]),
            bias=bias,
            units=self.units,
            **sizes,
        )

    def _masks(self, rows: list[Mask]) -> Mask:
        """[any number, L]"""
        return np.array(rows, dtype=bool).reshape(-1, len(self.library))

    def _sizes(self) -> dict[str, Any]:
        """What `SizeBounds` found.

        Often every position takes a lone terminal and has no upper bound. The count rules alone are
        exact then, and an engine need not follow these sums.
        """
        bounds = SizeBounds(self)
        places = np.append(self.library.arity, 1)  # the root has one place
        used = np.arange(self.max_arity) < places[:, None]
        tight = (bounds.slot_least[:, used] > 1).any() or (
            bounds.slot_most[:, used] < self.min_length
        ).any()
        return {
            "sized": bool(tight) and self.close_at is None,
            "exact_sets": bounds.exact,
            "slot_least": np.where(used, bounds.slot_least, 0).astype(np.int32),
            "slot_most": np.where(used, bounds.slot_most, 0).astype(np.int32),
            "needs": bounds.needs.astype(np.int32),
            "holds": bounds.holds.astype(np.int32),
        }
