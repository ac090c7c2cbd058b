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

from symseek.errors import InputError
from symseek.tokens import Library

__all__ = ["MAX_COUNTS", "MAX_DESCENDANTS", "CountTable", "Tables"]

Mask = NDArray[np.bool_]

MAX_COUNTS = 15  # the engine keeps 16 counters per prefix; one is the bare length
MAX_DESCENDANTS = 64  # the engine keeps one bit per rule
_UNBOUNDED = 1 << 20  # stands for "any number of tokens"; sums of a few hundred fit in 32 bits


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

    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[L + 1, A] least and most tokens that fit below each parent at each place.

        Cautious: every rule about descendants is taken to be in force (but at the root), and the
        sibling to be the most restrictive one, so a promise made here can always be kept. A rule
        whose ancestors cannot be completed under it never comes into force and is left out.
        """
        below = np.ones(len(self.library), dtype=bool)
        for ancestors, forbidden in self.descendants:
            least, _ = self._sizes_below(~forbidden)
            if np.any(least[:-1, 0][ancestors] < _UNBOUNDED):
                below &= ~forbidden
        return self._sizes_below(below)

    def _sizes_below(self, below: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same, with these tokens allowed anywhere but at the root."""
        size, arity = len(self.library), self.library.arity
        used = np.arange(self.max_arity) < arity[:, None]
        least = np.where(arity == 0, 1, _UNBOUNDED).astype(np.int64)  # [L] of a whole subtree
        most = np.ones(size, dtype=np.int64)
        for _ in range(2 * size + 2):
            slot_least, slot_most = self._slot_sizes(least, most, below)
            new_least = np.minimum(1 + np.where(used, slot_least[:-1], 0).sum(axis=1), _UNBOUNDED)
            new_most = np.minimum(1 + np.where(used, slot_most[:-1], 0).sum(axis=1), _UNBOUNDED)
            if np.array_equal(new_least, least) and np.array_equal(new_most, most):
                break
            least, most = new_least, new_most
            if most.max() > 4 * self.capacity + 4:  # it can be as large as anyone may ask
                most = np.where(most > self.capacity, _UNBOUNDED, most)
        return self._slot_sizes(least, most, below)

    def _slot_sizes(
        self, least: NDArray[np.int64], most: NDArray[np.int64], below: Mask
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        size = len(self.library)
        slot_least = np.full((size + 1, self.max_arity), _UNBOUNDED, dtype=np.int64)
        slot_most = np.zeros((size + 1, self.max_arity), dtype=np.int64)
        for parent in range(size + 1):
            places = 1 if parent == size else int(self.library.arity[parent])
            for place in range(places):
                allowed = self.child[parent, place] & (below if parent < size else True)
                siblings = [size]
                if place > 0:
                    siblings = list(np.flatnonzero(self.child[parent, place - 1]))
                fits = allowed & self.sibling[siblings]  # [S, L]
                if fits.size == 0:
                    continue
                slot_least[parent, place] = np.where(fits, least, _UNBOUNDED).min(axis=1).max()
                slot_most[parent, place] = np.where(fits, most, 0).max(axis=1).min()
        return slot_least, slot_most

    def compiled(self) -> dict[str, Any]:
        """Everything as the engine wants it."""
        if len(self.descendants) > MAX_DESCENDANTS or len(self.counts) > MAX_COUNTS:
            raise InputError(
                f"{len(self.descendants)} constraints on descendants and {len(self.counts)} on"
                f" counts are more than the {MAX_DESCENDANTS} and {MAX_COUNTS} that a search can"
                " hold; merge constraints that share their tokens"
            )
        library, arity = self.library, self.library.arity.astype(np.int8)
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
        slot_least, slot_most = self.sizes()
        return {
            "arity": arity,
            "max_arity": self.max_arity,
            "min_length": self.min_length,
            "max_length": self.capacity,
            "max_open": self.capacity,
            "child": _bits(self.child),
            "sibling": _bits(self.sibling),
            "descendant": _bits(~forbidden),
            "triggers": triggers,
            "at_length": _bits(self.at_length()),
            "counts": counts,
            "bias": bias,
            **self._compiled_sizes(slot_least, slot_most),
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

    def _compiled_sizes(self, least: NDArray[np.int64], most: NDArray[np.int64]) -> dict[str, Any]:
        """Least and most tokens per open position, and the sets of tokens by what they ask for.

        `sized` is False when every position takes a lone terminal and has no upper bound: the
        length table alone is exact then, and the sampler does not keep these sums.
        """
        size, arity = len(self.library), self.library.arity
        places = np.append(arity, 1)  # the root has one place
        used = np.arange(self.max_arity) < places[:, None]
        needs = np.where(used, least, 0)[:size].sum(axis=1)  # [L] below each token, least
        holds = np.where(used, most, 0)[:size].sum(axis=1)  # [L] most
        span = self.capacity + 1
        sized = bool(np.any(least[used] > 1) or np.any(most[used] < self.min_length))
        return {
            "sized": sized and self.close_at is None,
            "slot_least": np.where(used, least, 0).astype(np.int32),
            "slot_most": np.where(used, most, 0).astype(np.int32),
            "needs": np.minimum(needs, _UNBOUNDED).astype(np.int32),
            "holds": np.minimum(holds, _UNBOUNDED).astype(np.int32),
            "needs_at_most": _bits(needs <= np.arange(span)[:, None]),  # [T + 1, words]
            "holds_at_least": _bits(holds >= np.arange(span)[:, None]),  # [T + 1, words]
        }


def _bits(allowed: Mask) -> NDArray[np.uint64]:
    """[..., L] booleans as [..., ceil(L / 64)] words, token 0 in the lowest bit."""
    size = allowed.shape[-1]
    words = (size + 63) // 64
    padded = np.zeros((*allowed.shape[:-1], words * 64), dtype=bool)
    padded[..., :size] = allowed
    packed = np.packbits(padded, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64)
