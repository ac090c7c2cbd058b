"""SizeBounds: how many tokens each open position needs at least, and can hold at most.

Usually any position takes a lone terminal and has no upper bound, and the length limits are a
matter of counting. Relations between tokens can change that: below `log`, say, only `exp` is
allowed. Then the sampler must keep enough room for what is still open, and must not close what the
least length still needs. The figures here are cautious about siblings not yet drawn, so a promise
can be kept.

A table may have thousands of variables, which are alike here. So everything is found for one token
of each kind, and then given to all of the kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from symseek.constraints.tables import Tables

UNBOUNDED = 1 << 20  # "any number of tokens"; sums of a few hundred fit in 32 bits
_EXACT = 4  # up to this many rules on descendants, every set of rules in force is looked at

Sizes = NDArray[np.int64]
Mask = NDArray[np.bool_]


def kinds(tables: Tables) -> NDArray[np.intp]:
    """The kind [L] of each token, by number: no rule of the tables tells two of a kind apart."""
    size = len(tables.library)
    masks = [mask for pair in tables.descendants for mask in pair] + tables.not_all
    # By token: what may be below it and to its right, where it may be itself, the sets it is in.
    asked = [
        tables.library.arity[:, None].astype(np.uint8),
        np.packbits(tables.child[:-1].reshape(size, -1), axis=1),
        np.packbits(tables.sibling[:-1], axis=1),
        np.packbits(tables.child.reshape(-1, size), axis=0).T,
        np.packbits(tables.sibling, axis=0).T,
        *(mask.reshape(size, -1).astype(np.uint8) for mask in masks),
    ]
    known: dict[bytes, int] = {}
    rows = np.concatenate(asked, axis=1)
    return np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.intp)


@dataclass
class _Rules:
    """The part of the tables that sizes depend on, for one token of each of K kinds."""

    arity: NDArray[np.intp]  # [K]
    max_arity: int
    capacity: int
    child: Mask  # [K + 1, A, K]
    sibling: Mask  # [K + 1, K]
    descendants: list[tuple[Mask, Mask]]  # where in force [K, A], and what is forbidden there [K]
    not_all: list[Mask]  # [K]

    @classmethod
    def of(cls, tables: Tables, chosen: NDArray[np.intp]) -> _Rules:
        parents = np.append(chosen, len(tables.library))
        return cls(
            tables.library.arity[chosen].astype(np.intp),
            tables.max_arity,
            tables.capacity,
            tables.child[parents][:, :, chosen],
            tables.sibling[np.ix_(parents, chosen)],
            [(inside[chosen], forbidden[chosen]) for inside, forbidden in tables.descendants],
            [alike[chosen] for alike in tables.not_all],
        )


@dataclass
class SizeBounds:
    """Sizes by the set S of descendant rules in force.

    With few rules S runs over all subsets, as bits. With many it is 0 at the root and 1, all of
    them in force, anywhere else. Tokens in the tables that lead nowhere are forbidden there.
    """

    tables: Tables

    def __post_init__(self) -> None:
        kind = kinds(self.tables)
        self.rules = _Rules.of(self.tables, np.unique(kind, return_index=True)[1])
        count = len(self.rules.descendants)
        self.exact = count <= _EXACT
        self.sets = 1 << count if self.exact else 2
        self._apply()
        self._find_sizes()
        self._give_to_all(kind)

    def _apply(self) -> None:
        """What each set of rules allows, and which set is in force inside each argument."""
        size, arity = len(self.rules.arity), self.rules.arity
        self.used = np.arange(self.rules.max_arity) < arity[:, None]  # [K, A]
        self.below = np.ones((self.sets, size), dtype=bool)  # [S, K] allowed under these rules
        self.inside = np.empty((self.sets, *self.used.shape), dtype=np.intp)  # [S, K, A] the set
        for active in range(self.sets):
            self.inside[active] = active if self.exact else 1
            for bit, (inside, forbidden) in enumerate(self.rules.descendants):
                if self.exact:
                    self.inside[active][inside] |= 1 << bit
                if active >> bit & 1 or (not self.exact and active):
                    self.below[active] &= ~forbidden

    def _find_sizes(self) -> None:
        """The sizes of whole subtrees, then of positions."""
        self.usable = self._avoid_dead_ends()  # [S, K]
        self.least = self._least(self.usable, max)  # [S, K] of a subtree with this root
        self.usable &= self.least < UNBOUNDED
        self.most = self._most()  # [S, K]
        self.slot_least = self._slots(self.least, UNBOUNDED, self.usable, max, np.min)
        self.slot_most = self._slots(self.most, 0, self.usable, min, np.max)  # [S, K + 1, A]
        # [S, K] below a token that stands in a position where the set is in force
        self.needs = self._inside(self.slot_least)
        self.holds = self._inside(self.slot_most)

    def _give_to_all(self, kind: NDArray[np.intp]) -> None:
        """Let every token have what was found for its kind."""
        parents = np.append(kind, len(self.rules.arity))
        self.slot_least, self.slot_most = self.slot_least[:, parents], self.slot_most[:, parents]
        self.needs, self.holds = self.needs[:, kind], self.holds[:, kind]
        if len(kind) == len(self.rules.arity):
            self.tables.child = self.rules.child
        else:
            self.tables.child = self.rules.child[parents][:, :, kind]

    def _avoid_dead_ends(self) -> Mask:
        """Forbid children that can never be completed or leave nothing for the place after them."""
        rules, everything = self.rules, np.ones(self.below.shape, dtype=bool)
        while True:
            usable = self._least(everything, min) < UNBOUNDED
            child = rules.child & usable.any(axis=0)
            for place in range(rules.max_arity - 1):
                follows = np.einsum("pr,lr->pl", child[:-1, place + 1], rules.sibling[:-1])
                wider = rules.arity > place + 1
                child[:-1, place][wider] &= follows[wider]
            if np.array_equal(child, rules.child):
                return usable
            rules.child = child

    def _least(self, siblings: Mask, over: Callable[[Sizes], int]) -> Sizes:
        arity = self.rules.arity
        least = np.tile(np.where(arity == 0, 1, UNBOUNDED), (self.sets, 1)).astype(np.int64)
        while True:
            slots = self._slots(least, UNBOUNDED, siblings, over, np.min)
            new = np.minimum(1 + self._inside(slots), UNBOUNDED)
            if np.array_equal(new, least):
                return least
            least = new

    def _most(self) -> Sizes:
        most = np.where(self.usable, 1, 0).astype(np.int64)
        while True:
            slots = self._slots(most, 0, self.usable, min, np.max)
            new = np.where(self.usable, 1 + self._inside(slots), 0)
            new[new > self.rules.capacity] = UNBOUNDED  # as good as any number
            if np.array_equal(new, most):
                return most
            most = new

    def _inside(self, slots: Sizes) -> Sizes:
        """[S, K] sums over the places below each token."""
        size, places = self.used.shape
        below = slots[self.inside, np.arange(size)[:, None], np.arange(places)]  # [S, K, A]
        total: Sizes = np.where(self.used, below, 0).sum(axis=2)
        return total

    def _slots(
        self,
        sizes: Sizes,
        none: int,
        siblings: Mask,
        over: Callable[[Sizes], int],
        best: Callable[..., Sizes],
    ) -> Sizes:
        """[S, K + 1, A] the best size at each place, `over` what may stand to its left."""
        size = len(self.rules.arity)
        slots = np.full((self.sets, size + 1, self.rules.max_arity), none, dtype=np.int64)
        for parent in [*np.flatnonzero(self.rules.arity), size]:
            places = 1 if parent == size else int(self.rules.arity[parent])
            for place in range(places):
                for active in range(self.sets):
                    fits = self._fits(int(parent), place, active, siblings[active])
                    if len(fits):
                        slots[active, parent, place] = over(
                            best(np.where(fits, sizes[active], none), axis=1)
                        )
        return slots

    def _fits(self, parent: int, place: int, active: int, siblings: Mask) -> Mask:
        """[cases, K] allowed at a place, one row for each thing that may stand to its left."""
        rules = self.rules
        allowed = rules.child[parent, place] & self.below[active]
        rows = [allowed] if place == 0 else []
        for left in range(place):
            for sibling in np.flatnonzero(rules.child[parent, left] & siblings):
                rows.append(allowed & rules.sibling[sibling])
        if parent < len(rules.arity) and place == rules.arity[parent] - 1:
            for alike in rules.not_all:
                before = rules.child[parent, :place] & siblings & alike  # [place, K]
                if before.any(axis=1).all():
                    rows.append(allowed & ~alike)
        return np.array(rows, dtype=bool).reshape(-1, len(allowed))
