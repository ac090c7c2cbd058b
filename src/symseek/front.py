"""The Pareto front: for each complexity, the best program that nothing simpler matches.

It is kept over everything a search has seen. Along it, complexity and reward both rise strictly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from symseek.programs import Program, Programs

ALIKE = 1e-3  # of the distance to 1: a fit so little better is not another formula
ROUNDING = 1e-12  # rewards that differ by less, relatively, are the same


@dataclass(frozen=True)
class Entry:
    """One program worth keeping."""

    program: Program
    reward: float
    complexity: int
    found_at: int = 0  # expressions graded when it, or the like with hardly a worse fit, was found


@dataclass(frozen=True)
class Front:
    """The entries, simplest first.

    >>> from symseek import Library
    >>> library = Library(["add", "sin"], variables=["x"])
    >>> batch = Programs.from_list([Program.parse(t, library) for t in ("x + x", "sin(x)", "x")])
    >>> print(Front().updated(batch, np.array([0.5, 0.4, 0.2])))
    complexity    reward  expression
             1  0.200000  x
             3  0.500000  x + x
    """

    entries: tuple[Entry, ...] = ()

    @property
    def best(self) -> Entry | None:
        """The entry with the highest reward; of those that only rounding tells apart, the simplest.

        Otherwise a term such as x/1e15 could stand in the best formula.
        """
        if not self.entries:
            return None
        highest = self.entries[-1].reward
        return next(e for e in self.entries if e.reward >= highest - ROUNDING * abs(highest))

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __getitem__(self, row: int) -> Entry:
        return self.entries[row]

    def updated(self, programs: Programs, rewards: NDArray[np.float64], at: int = 0) -> Front:
        """The front with a batch taken in; invalid programs have reward NaN.

        `at` says how many expressions have been graded.
        """
        complexity = programs.complexity
        rows = np.flatnonzero(rewards > self._to_beat(complexity))
        front = self
        for row in rows[np.lexsort((rows, -rewards[rows], complexity[rows]))]:
            cost = int(complexity[row])
            if rewards[row] > front._to_beat(cost):
                reward = float(rewards[row])
                found_at = front._found_at(reward, cost, at)
                front = front._entered(Entry(programs[int(row)], reward, cost, found_at))
        return front

    @cached_property
    def _steps(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The complexities of the entries, and the best reward below the first and from each on."""
        complexities = np.array([e.complexity for e in self.entries], dtype=np.int64)
        return complexities, np.array([-np.inf, *(e.reward for e in self.entries)])

    def _to_beat(self, complexity: NDArray[np.int32] | int) -> NDArray[np.float64]:
        """The best reward at these complexities or below."""
        complexities, rewards = self._steps
        best: NDArray[np.float64] = rewards[np.searchsorted(complexities, complexity, "right")]
        return best

    def _found_at(self, reward: float, complexity: int, at: int) -> int:
        """Now, unless something no more complex is nearly as good: then, when that was found."""
        for entry in self.entries:
            if entry.complexity <= complexity and entry.reward >= reward - ALIKE * abs(1 - reward):
                return entry.found_at
        return at

    def _entered(self, entry: Entry) -> Front:
        """The front with an entry that beats all simpler ones."""
        simpler = [e for e in self.entries if e.complexity < entry.complexity]
        better = [
            e for e in self.entries if e.complexity >= entry.complexity and e.reward > entry.reward
        ]
        return Front((*simpler, entry, *better))

    def __str__(self) -> str:
        lines = ["complexity    reward  expression"]
        lines += [f"{e.complexity:>10}  {e.reward:.6f}  {e.program}" for e in self.entries]
        return "\n".join(lines)
