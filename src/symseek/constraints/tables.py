"""The tables that the sampler reads: what may stand at the next open position of a program.

Constraints narrow these arrays one after another; `Tables.compiled` then packs them into bits for
the engine and adds what follows from them: which lengths and counts can still be reached, and how
many tokens each open position needs at least or can hold at most, so that sampling does not run
into a position where nothing fits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.constraints.room import Room
from symseek.errors import InputError
from symseek.tokens import Library

__all__ = ["MAX_COUNTS", "MAX_DESCENDANTS", "CountTable", "Tables"]

Mask = NDArray[np.bool_]

MAX_COUNTS = 15  # the engine keeps 16 counters per prefix; one is the bare length
MAX_DESCENDANTS = 64  # the engine keeps one bit per rule


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
    descendants: list[tuple[Mask, Mask]] = field(default_factory=list)  # (ancestors, forbidden) [L]
    not_all: list[Mask] = field(default_factory=list)  # [L]: not all children of an operator
    counts: list[CountTable] = field(default_factory=list)
    soft: list[Any] = field(default_factory=list)  # priors: added_logits(tables) -> [T, 2, L]

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

    def count_feasibility(self, rule: CountTable) -> NDArray[np.uint32]:
        """[T, T + 1, cap + 1] bits: classes of token that can still lead to a valid whole.

        Works backwards from complete programs: a prefix of so many tokens, open positions and
        counted tokens is feasible when some class of token leads to a feasible longer one. A class
        is an arity, with and without membership of the counted set.
        """
        length, arities = self.capacity, self.max_arity + 1
        cap = rule.low if rule.high is None else rule.high
        feasible = np.zeros((length + 1, length + 1, cap + 1), dtype=bool)
        enough = np.arange(cap + 1) >= rule.low
        feasible[self.min_length :, 0, :] = enough
        classes = [
            (arity + arities * member, arity, bool(member))
            for member in (0, 1)
            for arity in range(arities)
            if np.any((self.library.arity == arity) & (rule.member == bool(member)))
        ]
        bits = np.zeros((length, length + 1, cap + 1), dtype=np.uint32)
        for at in range(length - 1, -1, -1):
            for number, arity, member in classes:
                leads = np.zeros((length + 1, cap + 1), dtype=bool)
                # open -> open - 1 + arity, for open = 1 ... length
                reach = feasible[at + 1, arity : length + 1]
                leads[1 : 1 + len(reach)] = reach[:length]
                if member:
                    stay = leads[:, cap] if rule.high is None else np.zeros(length + 1, dtype=bool)
                    leads = np.column_stack([leads[:, 1:], stay])
                bits[at] |= np.where(leads, np.uint32(1 << number), np.uint32(0))
                feasible[at] |= leads
            feasible[at, 0] = at >= self.min_length and enough
        bits[:, 0] = 0
        return bits

    def compiled(self) -> dict[str, Any]:
        """Everything as the engine wants it."""
        if len(self.descendants) > MAX_DESCENDANTS or len(self.counts) > MAX_COUNTS:
            raise InputError(
                f"{len(self.descendants)} constraints on descendants and {len(self.counts)} on"
                f" counts are more than the {MAX_DESCENDANTS} and {MAX_COUNTS} that a search can"
                " hold; merge constraints that share their tokens"
            )
        library, arity = self.library, self.library.arity.astype(np.int8)
        room = self._compiled_room()  # first: it forbids what would lead nowhere
        anything = CountTable(np.zeros(len(library), dtype=bool), 0, 0)
        counts = [self._compiled_count(rule) for rule in self.counts or [anything]]
        triggers = np.zeros(len(library), dtype=np.uint64)
        for bit, (ancestors, _) in enumerate(self.descendants):
            triggers[ancestors] |= np.uint64(1 << bit)
        forbidden = np.array([each for _, each in self.descendants], dtype=bool)
        forbidden = forbidden.reshape(-1, len(library))
        bias = np.zeros((self.capacity, 2, len(library)), dtype=np.float32)
        for prior in self.soft:
            bias += prior.added_logits(self)
        return {
            "arity": arity,
            "max_arity": self.max_arity,
            "min_length": self.min_length,
            "max_length": self.capacity,
            "child": _bits(self.child),
            "sibling": _bits(self.sibling),
            "descendant": _bits(~forbidden),
            "triggers": triggers,
            "at_length": _bits(self.at_length()),
            "counts": counts,
            "bias": bias,
            "not_all": _bits(np.array(self.not_all, dtype=bool).reshape(-1, len(library))),
            **room,
        }

    def _compiled_count(self, rule: CountTable) -> dict[str, Any]:
        arities = self.max_arity + 1
        sets = np.zeros((2 * arities, len(self.library)), dtype=bool)
        for arity in range(arities):
            sets[arity] = (self.library.arity == arity) & ~rule.member
            sets[arity + arities] = (self.library.arity == arity) & rule.member
        return {
            "allowed": self.count_feasibility(rule),
            "class_sets": _bits(sets),
            "member": rule.member.astype(np.uint8),
            "cap": rule.low if rule.high is None else rule.high,
        }

    def _compiled_room(self) -> dict[str, Any]:
        """What `Room` found, and the sets of tokens by what they ask for.

        `sized` is False when every position takes a lone terminal and has no upper bound: the
        length table alone is exact then, and the sampler does not keep these sums.
        """
        room, span = Room(self), np.arange(self.capacity + 1)
        places = np.append(self.library.arity, 1)  # the root has one place
        used = np.arange(self.max_arity) < places[:, None]
        tight = (room.slot_least[:, used] > 1).any() or (
            room.slot_most[:, used] < self.min_length
        ).any()
        return {
            "sized": bool(tight) and self.close_at is None,
            "exact_sets": room.exact,
            "slot_least": np.where(used, room.slot_least, 0).astype(np.int32),
            "slot_most": np.where(used, room.slot_most, 0).astype(np.int32),
            "needs": room.needs.astype(np.int32),
            "holds": room.holds.astype(np.int32),
            "needs_at_most": _bits(room.needs[:, None] <= span[:, None]),  # [S, T + 1, words]
            "holds_at_least": _bits(room.holds[:, None] >= span[:, None]),  # [S, T + 1, words]
        }


def _bits(allowed: Mask) -> NDArray[np.uint64]:
    """[..., L] booleans as [..., ceil(L / 64)] words, token 0 in the lowest bit."""
    size = allowed.shape[-1]
    words = (size + 63) // 64
    padded = np.zeros((*allowed.shape[:-1], words * 64), dtype=bool)
    padded[..., :size] = allowed
    packed = np.packbits(padded, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64)
