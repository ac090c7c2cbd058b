"""Children on the native core: crossover and mutation of programs, and pairs of matching values.

The plain form of each: parents in, new programs out; values in, the nearest pairs out. Who takes
part is decided above, in `evolution` and `recombination`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from symseek import _native
from symseek.engines.native import Workers, all_constants, pool, same_library, unfitted
from symseek.errors import InputError
from symseek.programs import Programs

if TYPE_CHECKING:
    from symseek.constraints.constraint_set import ConstraintSet

__all__ = ["PAIRS", "PAIRS_SWAPPED", "Breeder", "Breeding", "pair"]


class Breeding(Protocol):
    """How children are made."""

    @property
    def tournament(self) -> int: ...
    @property
    def crossover(self) -> float: ...
    @property
    def mutation(self) -> float: ...


class Breeder:
    """Makes children of programs on the native core; each is met once between two `begin`s."""

    def __init__(self, rules: ConstraintSet, seed: int, threads: int | Workers = 1) -> None:
        self.rules = rules
        self.seed = seed
        constant = rules.library.constant_id
        self._core = _native.Breeder(
            rules.compiled, -1 if constant is None else constant, pool(threads)
        )
        self._width = 0 if constant is None else rules.max_length

    def begin(self, programs: Programs) -> None:
        """Forget the programs met so far; remember these."""
        same_library(self.rules.library, programs)
        self._core.begin(programs.tokens, programs.lengths)

    def admit(self, programs: Programs) -> NDArray[np.bool_]:
        """Which programs [B] obey the constraints and are met for the first time."""
        same_library(self.rules.library, programs)
        ok = np.empty(len(programs), dtype=bool)
        self._core.admit(programs.tokens, programs.lengths, ok)
        return ok

    def breed(
        self,
        parents: Programs,
        fitness: NDArray[np.float64],
        iteration: int,
        generation: int,
        options: Breeding,
        count: int | None = None,
    ) -> Programs:
        """As many children as parents, or `count`, less those met before or never made valid."""
        same_library(self.rules.library, parents)
        count = len(parents) if count is None else count
        if len(fitness) != len(parents):
            raise InputError(f"{len(parents)} parents came with {len(fitness)} values of fitness")
        tokens = np.empty((count, self.rules.max_length), dtype=np.int16)
        lengths = np.empty(count, dtype=np.int32)
        constants = np.empty((count, self._width))
        made = self._core.breed(
            parents.tokens,
            parents.lengths,
            all_constants(self.rules.library, parents),
            np.ascontiguousarray(fitness, dtype=np.float64),
            self.seed,
            iteration,
            generation,
            options.tournament,
            options.crossover,
            options.mutation,
            tokens,
            lengths,
            constants,
        )
        library = self.rules.library
        most = unfitted(library, tokens[:made]).shape[1]
        return Programs._trusted(
            library, tokens[:made], lengths[:made], np.ascontiguousarray(constants[:made, :most])
        )


PAIRS = ("add", "sub", "sub", "mul", "div", "div")
"""The operators of `pair`; where one comes twice, the second time its operands are swapped."""
PAIRS_SWAPPED = (False, False, True, False, False, True)


def pair(
    values: NDArray[np.float64],
    candidates: NDArray[np.float64],
    target: NDArray[np.float64],
    weights: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    threads: int | Workers = 1,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """What each of some values [P, N] lacks to be the target [N]: a candidate [Q, N] for each way.

    Returns:
        The squared errors [P, 6] of the best pairs by each of `PAIRS`, and the candidates [P, 6]:
        infinity and -1 where none is allowed [P, Q].
    """
    count, lanes = len(candidates), 8
    table = np.full((candidates.shape[1], -(-count // lanes) * lanes), np.nan)
    table[:, :count] = candidates.T
    penalty = np.full((len(values), table.shape[1]), np.inf)
    penalty[:, :count] = np.where(allowed, 0.0, np.inf)
    error = np.empty((len(values), len(PAIRS)))
    index = np.empty(error.shape, dtype=np.int64)
    with np.errstate(divide="ignore", over="ignore"):
        inverses = 1.0 / table
    _native.pair(
        np.ascontiguousarray(values),
        table,
        inverses,
        np.ascontiguousarray(target),
        np.ascontiguousarray(weights),
        penalty,
        pool(threads),
        error,
        index,
    )
    return error, index
