"""The room of every token by itself, where the fast version looks at one of each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symseek.constraints.sizes import UNBOUNDED
from symseek.constraints.tables import Tables

__all__ = ["SizeBounds"]

_EXACT = 4  # up to this many rules on descendants, every set of rules in force is looked at

Sizes = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass
class SizeBounds:
    """Sizes by the set S of descendant rules in force.

    With few rules S runs over all subsets, as bits. With many it is 0 at the root and 1, all of
    them in force, anywhere else.
    """

    tables: Tables

    def __post_init__(self) -> None:
        count = len(self.tables.descendants)
        self.exact = count <= _EXACT
        self.sets = 1 << count if self.exact else 2
        size, arity = len(self.tables.library), self.tables.library.arity
        self.used = np.arange(self.tables.max_arity) < arity[:, None]  # [L, A]
        self.below = np.ones((self.sets, size), dtype=bool)  # [S, L] allowed under these rules
        self.inside = np.empty((self.sets, *self.used.shape), dtype=np.intp)  # [S, L, A] the set
        for active in range(self.sets):
            self.inside[active] = active if self.exact else 1
            for bit, (inside, forbidden) in enumerate(self.tables.descendants):
                if self.exact:
                    self.inside[active][inside] |= 1 << bit
                if active >> bit & 1 or (not self.exact and active):
                    self.below[active] &= ~forbidden
        self._find_sizes()

    def _find_sizes(self) -> None:
        """The sizes of whole subtrees, then of positions."""
        self.usable = self._avoid_dead_ends()  # [S, L]
        self.least = self._least(self.usable, max)  # [S, L] of a subtree with this root
        self.usable &= self.least < UNBOUNDED
        self.most = self._most()  # [S, L]
        self.slot_least = self._slots(self.least, UNBOUNDED, self.usable, max, np.min)
        self.slot_most = self._slots(self.most, 0, self.usable, min, np.max)  # [S, L + 1, A]
        # [S, L] below a token that stands in a position where the set is in force
        self.needs = self._inside(self.slot_least)
        self.holds = self._inside(self.slot_most)

    def _avoid_dead_ends(self) -> Mask:
        """Forbid children that can never be completed or leave nothing for the place after them."""
        tables, everything = self.tables, np.ones(self.below.shape, dtype=bool)
        while True:
            usable = self._least(everything, min) < UNBOUNDED
            child = tables.child & usable.any(axis=0)
            for place in range(tables.max_arity - 1):
                follows = np.einsum("pr,lr->pl", child[:-1, place + 1], tables.sibling[:-1])
                wider = tables.library.arity > place + 1
                child[:-1, place][wider] &= follows[wider]
            if np.array_equal(child, tables.child):
                return usable
            tables.child = child

    def _least(self, siblings: Mask, over: Callable[[Sizes], int]) -> Sizes:
        arity = self.tables.library.arity
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
            new[new > self.tables.capacity] = UNBOUNDED  # as good as any number
            if np.array_equal(new, most):
                return most
            most = new

    def _inside(self, slots: Sizes) -> Sizes:
        """[S, L] sums over the places below each token."""
        size, places = self.used.shape
        below = slots[self.inside, np.arange(size)[:, None], np.arange(places)]  # [S, L, A]
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
        """[S, L + 1, A] the best size at each place, `over` what may stand to its left."""
        size = len(self.tables.library)
        slots = np.full((self.sets, size + 1, self.tables.max_arity), none, dtype=np.int64)
        for parent in [*np.flatnonzero(self.tables.library.arity), size]:
            places = 1 if parent == size else int(self.tables.library.arity[parent])
            for place in range(places):
                for active in range(self.sets):
                    fits = self._fits(int(parent), place, active, siblings[active])
                    if len(fits):
                        slots[active, parent, place] = over(
                            best(np.where(fits, sizes[active], none), axis=1)
                        )
        return slots

    def _fits(self, parent: int, place: int, active: int, siblings: Mask) -> Mask:
        """[cases, L] allowed at a place, one row for each thing that may stand to its left."""
        tables = self.tables
        allowed = tables.child[parent, place] & self.below[active]
        rows = [allowed] if place == 0 else []
        for left in range(place):
            for sibling in np.flatnonzero(tables.child[parent, left] & siblings):
                rows.append(allowed & tables.sibling[sibling])
        if parent < len(tables.library) and place == tables.library.arity[parent] - 1:
            for alike in tables.not_all:
                before = tables.child[parent, :place] & siblings & alike  # [place, L]
                if before.any(axis=1).all():
                    rows.append(allowed & ~alike)
        return np.array(rows, dtype=bool).reshape(-1, len(allowed))
