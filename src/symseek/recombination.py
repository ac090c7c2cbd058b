"""Recombination by what is missing: two programs joined because one is what the other lacks.

A program a that explains part of the data leaves a residual: y - a for a sum, y / a for a product.
Among the short programs seen, the one nearest to it is found by comparing values on a sample of
the rows, and the two become one program. Chance alone would have to try as many crossovers as there
are pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symseek.data import Data
from symseek.engines.breeding import PAIRS, PAIRS_SWAPPED, pair
from symseek.engines.native import Evaluator, Workers
from symseek.evaluation import Graded
from symseek.programs import Programs
from symseek.tokens import EMPTY, Library

__all__ = ["Recombiner"]

_ROWS = 64  # rows on which programs are compared: enough to tell them apart
_WHOLES = 100  # the best programs, which are completed
_PARTS = 2000  # the shortest programs, with which they are


class Recombiner:
    """Joins programs of one search on its data."""

    def __init__(
        self, library: Library, data: Data, max_length: int, threads: int | Workers = 1
    ) -> None:
        rows = np.unique(np.linspace(0, len(data.y) - 1, _ROWS).astype(np.intp))
        self.library = library
        self.max_length = max_length
        self.threads = threads
        self.target, self.weights = data.y[rows], data.weights[rows]
        self.evaluator = Evaluator(library, data.X[rows], threads=threads, cache=0)
        self.ways = [way for way, name in enumerate(PAIRS) if name in library.names]

    def __call__(self, graded: Graded, count: int) -> Programs | None:
        """The `count` best pairs of those graded, as programs; they may break constraints."""
        wholes, parts = self._choose(graded)
        if not len(wholes) or not len(parts) or not self.ways:
            return None
        programs = graded.programs
        lengths = programs.lengths
        fits = lengths[wholes][:, None] + lengths[parts][None, :] + 1 <= self.max_length
        error, index = pair(
            self.evaluator.predict(programs[wholes]).values,
            self.evaluator.predict(programs[parts]).values,
            self.target,
            self.weights,
            fits,
            self.threads,
        )
        rank = np.argsort(error[:, self.ways], axis=None, kind="stable")[:count]
        children = []
        for at in rank:
            row, way = int(at) // len(self.ways), self.ways[int(at) % len(self.ways)]
            if not np.isfinite(error[row, way]):
                break
            children.append((way, int(wholes[row]), int(parts[index[row, way]])))
        return self._joined(programs, children) if children else None

    def _choose(self, graded: Graded) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The best programs and the shortest, one of each reward: equal rewards, equal values."""
        lengths = graded.programs.lengths
        room = self.max_length - 2  # for an operator and the shortest part
        valid = np.flatnonzero(graded.ok & (lengths <= room))
        valid = valid[np.argsort(lengths[valid], kind="stable")]  # of equals, the shortest
        valid = valid[np.unique(graded.rewards[valid], return_index=True)[1]]
        best = valid[np.argsort(-graded.rewards[valid], kind="stable")]
        short = valid[lengths[valid] <= self.max_length // 2 - 1]
        order = np.argsort(lengths[short], kind="stable")
        return best[:_WHOLES], short[order][:_PARTS]

    def _joined(self, programs: Programs, children: list[tuple[int, int, int]]) -> Programs:
        """The pairs as programs: an operator, then one program, then the other."""
        constant = self.library.constant_id
        tokens = np.full((len(children), self.max_length), EMPTY, dtype=np.int16)
        lengths = np.empty(len(children), dtype=np.int32)
        values: list[list[float]] = []
        for row, (way, one, other) in enumerate(children):
            if PAIRS_SWAPPED[way]:
                one, other = other, one
            parts = [programs.tokens[each, : programs.lengths[each]] for each in (one, other)]
            joined = np.concatenate([[self.library.names.index(PAIRS[way])], *parts])
            tokens[row, : len(joined)] = joined
            lengths[row] = len(joined)
            values.append([])
            for each, part in zip((one, other), parts, strict=True):
                count = np.count_nonzero(part == constant)
                values[-1] += programs.constants[each, :count].tolist()
        constants = np.ones((len(children), max(map(len, values))))
        for row, given in enumerate(values):
            constants[row, : len(given)] = given
        return Programs._trusted(self.library, tokens, lengths, constants)
