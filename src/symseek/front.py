"""The Pareto front: for each complexity, the best program that nothing simpler matches.

It is kept over everything a search has seen. Along it, complexity and reward both rise strictly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from symseek.programs import Program, Programs

ALIKE = 1e-3  # of the distance to 1: a fit so little better is no other formula

__all__ = ["Entry", "Front"]

ROUNDING = 1e-12  # rewards that differ by less, relatively, are the same


@dataclass(frozen=True)
class Entry:
    """One program worth keeping."""

    program: Program
    reward: float
    complexity: int
    found_at: int = 0  # expressions graded when it, or the like with hardly a worse fit, was found


@dataclass
class Front:
    """The entries, simplest first.

    >>> from symseek import Library
    >>> library = Library(["add", "sin"], variables=["x"])
    >>> batch = Programs.from_list([Program.parse(t, library) for t in ("x + x", "sin(x)", "x")])
    >>> front = Front()
    >>> front.update(batch, np.array([0.5, 0.4, 0.2]))
    True
    >>> print(front)
    complexity    reward  expression
             1  0.200000  x
             3  0.500000  x + x
    """

    entries: list[Entry] = field(default_factory=list)
    # [C] the best reward at this complexity or below; spares all but the few that enter the front
    _to_beat: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)

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

    def update(self, programs: Programs, rewards: NDArray[np.float64], at: int = 0) -> bool:
        """Take in a batch (invalid programs: reward NaN); True when something entered.

        `at` says how many expressions have been graded.
        """
        complexity = programs.complexity
        self._grow(int(complexity.max(initial=0)))
        rows = np.flatnonzero(rewards > self._to_beat[complexity])
        if not len(rows):
            return False
        for row in rows[np.lexsort((rows, -rewards[rows], complexity[rows]))]:
            if rewards[row] > self._to_beat[complexity[row]]:
                reward, cost = float(rewards[row]), int(complexity[row])
                self._enter(
                    Entry(programs[int(row)], reward, cost, self._found_at(reward, cost, at))
                )
        return True

    def _grow(self, complexity: int) -> None:
        missing = complexity + 1 - len(self._to_beat)
        if missing > 0:
            last = self._to_beat[-1] if len(self._to_beat) else -np.inf
            self._to_beat = np.append(self._to_beat, np.full(missing, last))

    def _found_at(self, reward: float, complexity: int, at: int) -> int:
        """Now, unless something no more complex is nearly as good: then, when that was found."""
        for entry in self.entries:
            if entry.complexity <= complexity and entry.reward >= reward - ALIKE * abs(1 - reward):
                return entry.found_at
        return at

    def _enter(self, entry: Entry) -> None:
        beaten = [e for e in self.entries if e.complexity < entry.complexity]
        better = [
            e for e in self.entries if e.complexity >= entry.complexity and e.reward > entry.reward
        ]
        self.entries = [*beaten, entry, *better]
        tail = self._to_beat[entry.complexity :]
        np.maximum(tail, entry.reward, out=tail)

    def __str__(self) -> str:
        lines = ["complexity    reward  expression"]
        lines += [f"{e.complexity:>10}  {e.reward:.6f}  {e.program}" for e in self.entries]
        return "\n".join(lines)
