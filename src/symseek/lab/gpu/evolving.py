"""Short evolutions of many searches side by side, every step of them on the device.

It is `symseek.evolution` in kernels. All programs of an iteration lie in an archive, in the order
in which they were graded; a population is rows of it. So a generation is a sequence of launches for
all searches: breed, leave out what was seen, grade, and now and then pair by what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symseek.data import Data
from symseek.engines.cuda.breeding import BreedingKernels, Memory, Pool, slots_for
from symseek.engines.cuda.device import Array, Device, Kernel
from symseek.engines.cuda.evaluator import Batch, CudaEvaluator
from symseek.engines.cuda.rules import DeviceRules
from symseek.engines.cuda.source import compiled, with_sizes
from symseek.engines.interface import PAIRS
from symseek.evolution import PARTS, WHOLES, Evolution, compared_rows
from symseek.lab.gpu.proposed import OnDevice, Proposed
from symseek.search import SearchConfig
from symseek.tokens import Library

LEDGER = (
    "expressions",
    "sampled",
    "size",
    "filled",
    "mark",
    "staged",
    "members",
    "best",
    "offered",
)
"""The numbers of a run, as `evolution.cuh` counts them."""

_THREADS = 256
_PAIRING = 128  # threads of a block that pairs
_FOUND = 16  # bytes: an error and a candidate
_MATES = WHOLES + PARTS
_KERNELS = (
    "open_iteration",
    "draw_from",
    "trim",
    "take_new",
    "join_proposals",
    "append",
    "plan_generation",
    "survive",
    "restore",
    "close_iteration",
    "choose_mates",
    "gather_mates",
    "pair_mates",
    "join_mates",
)


@dataclass(frozen=True)
class Stage:
    """Where programs lie while they are graded: arrays [R, rows, ...] of the device."""

    tokens: Array
    lengths: Array
    constants: Array
    rewards: Array
    ok: Array
    dataset: Array  # [R]
    front: dict[str, Array]  # reward, found, source: [R, C]
    asks: Array  # [R]


def span(config: Evolution, batch: int) -> int:
    """The most programs that an iteration can have, of so many that it begins with.

    >>> span(Evolution(generations=20, pairing=10, pairs=100), 1000)
    21200
    """
    pairings = config.generations // config.pairing if config.pairing else 0
    return batch * (1 + config.generations) + config.pairs * pairings


def evolution_source(
    rules: DeviceRules, constant: int, constants: int, complexities: int, rows: int
) -> str:
    """The source of the kernels, for so many constants, complexities and rows of the archive."""
    sizes = {
        **rules.sizes,
        "CONSTANT_TOKEN": constant,
        "K": constants,
        "C": complexities,
        "SPAN": rows,
        "WHOLES": WHOLES,
        "PARTS": PARTS,
    }
    shared = ("shared/keys.hpp", "shared/pairs.hpp", "shared/rules.hpp")
    files = ("rules.cuh", "memory.cuh", "evolution.cuh", "pairing.cuh", "mates.cuh")
    return with_sizes(sizes, *shared, *files)


class EvolutionKernels:
    """Launches the kernels; every one is given the numbers of the runs first."""

    def __init__(self, device: Device, source: str, ledger: Array) -> None:
        self._wide = device.warp > 1
        self._kernels: dict[str, Kernel] = dict(compiled(device, source, *_KERNELS))
        self._numbers = (ledger, np.int32(ledger.shape[1]))

    def by_run(self, name: str, arguments: tuple[Any, ...], shared: int = 0) -> None:
        """A block for each run."""
        self.launch(name, int(self._numbers[1]), (*self._numbers, *arguments), _THREADS, shared)

    def spread(self, name: str, items: int, arguments: tuple[Any, ...], own: bool = False) -> None:
        """A thread for each item; with `own` it has no use for the numbers of the runs."""
        blocks = min(-(-items // _THREADS), 1 << 16) if self._wide else 1
        self.launch(name, blocks, arguments if own else (*self._numbers, *arguments), _THREADS)

    def launch(
        self, name: str, blocks: int, arguments: tuple[Any, ...], threads: int, shared: int = 0
    ) -> None:
        """Any number of blocks."""
        self._kernels[name](blocks, (threads if self._wide else 1, 1), arguments, shared)


class Evolving:
    """The evolutions of the searches of one `Searches`."""

    def __init__(
        self,
        device: Device,
        breeding: BreedingKernels,
        rules: DeviceRules,
        library: Library,
        config: SearchConfig,
        tables: Sequence[Data],
        proposed: Sequence[Proposed | None],
        runs: int,
        constants: int,
        complexities: int,
    ) -> None:
        assert config.evolution is not None
        self.device, self.config, self.evolution = device, config, config.evolution
        self._breeding, self._runs, self._constants = breeding, runs, constants
        more = max((len(each.batch.programs) for each in proposed if each), default=0)
        self.size = max(config.batch_size + more, self.evolution.pairs)
        self.rows = self.size + self.evolution.kept  # of the stage
        self._span = span(self.evolution, self.size)
        self._width = breeding.width
        xp = device.xp
        self.ledger = xp.zeros((len(LEDGER), runs), dtype=np.int32)
        self.number = {name: self.ledger[at] for at, name in enumerate(LEDGER)}
        constant = -1 if library.constant_id is None else library.constant_id
        source = evolution_source(rules, constant, constants, complexities, self._span)
        self._kernels = EvolutionKernels(device, source, self.ledger)
        self._proposals = OnDevice(device, proposed, self._width, constants)
        self._mates = None
        if self.evolution.pairing:
            self._mates = _Mates(device, library, tables, runs, self._width, constants, self._span)
        self._allocate()

    def _allocate(self) -> None:
        xp, runs, evolution = self.device.xp, self._runs, self.evolution
        self.evolving = xp.zeros(runs, dtype=np.uint8)
        self._was_exact, self._fresh = (xp.zeros(runs, dtype=np.uint8) for _ in range(2))
        self._seeds = xp.zeros(runs, dtype=np.uint64)
        self._archive, self._bred = (
            Pool.empty(self.device, runs, rows, self._width, self._constants)
            for rows in (self._span, self.size)
        )
        self._archive, self._bred = (
            Pool(pool.tokens, pool.lengths, pool.constants, self.number[name])
            for pool, name in ((self._archive, "members"), (self._bred, "staged"))
        )
        self._fitness = xp.zeros((runs, self._span))
        self._most = self.size + evolution.pairs + evolution.elite
        self._members = [xp.zeros((runs, self._most), dtype=np.int32) for _ in range(2)]
        self._best = xp.zeros((runs, evolution.kept), dtype=np.int32)
        self._memory = Memory.empty(self.device, runs, slots_for(self._span + evolution.pairs))
        self._places = xp.zeros((runs, self.rows), dtype=np.int32)
        self._kept = xp.zeros(runs, dtype=np.int32)

    @staticmethod
    def bytes_for(config: SearchConfig, length: int, constants: int) -> int:
        """Roughly the memory that the evolution of one search takes."""
        assert config.evolution is not None
        size = max(config.batch_size, config.evolution.pairs)
        rows = span(config.evolution, size)
        program = 2 * length + 8 * constants + 20
        mates = _MATES * (program + 8 * 64) if config.evolution.pairing else 0
        return (rows + 2 * size) * program + 24 * slots_for(rows) + 4 * rows + mates

    # ---- the parts of an iteration -----------------------------------------------------------

    def begin(
        self, stage: Stage, active: Array, iterations: Array, seeds: Array
    ) -> tuple[Array, Array]:
        """Begin an iteration of every active search: untrained or not [R], and the seeds [R]."""
        config = self.config
        given = (active, iterations, seeds, self._budget, np.int32(config.batch_size))
        flags = (self.evolving, self._was_exact, self._fresh, self._seeds)
        arguments = (*given, np.float64(config.untrained_share), stage.front["reward"], *flags)
        self._kernels.spread("open_iteration", self._runs, arguments)
        return self._fresh, self._seeds

    def draw_from(self, active: Array, weights: Array, untrained: Array, now: Array) -> None:
        """The weights [R, P] that write the next batch."""
        runs, size = weights.shape
        sizes = np.int32(runs), np.int32(size)
        arguments = (active, self._fresh, weights, untrained, *sizes, now)
        self._kernels.spread("draw_from", weights.size, arguments, own=True)

    def trim(self, stage: Stage) -> None:
        """Leave out samples beyond the budget."""
        arguments = (self.evolving, np.int32(self._rows_of(stage)), stage.lengths)
        self._kernels.spread("trim", stage.lengths.size, arguments)

    def evolve(
        self,
        stage: Stage,
        iterations: Array,
        seeds: Array,
        ask: float,
        grade: Callable[[], None],  # what is on the stage
    ) -> None:
        """Evolve the batch, which is graded, on the stage; the best children join it there."""
        breeding, memory = self._breeding, self._memory
        self._join(stage, iterations, ask)
        pool = Pool(stage.tokens, stage.lengths, stage.constants, self.number["staged"])
        breeding.forget(memory, self.evolving)
        breeding.sift(pool, memory, self.evolving, False, self._places, self._kept)
        self._append(stage, first=True)
        for generation in range(self.evolution.generations):
            self._breed(iterations, seeds, generation, stage)
            self._take(stage, pool, pairs=False, grade=grade)
            if self._mates is not None and (generation + 1) % self.evolution.pairing == 0:
                self._pair(self._mates, stage)
                self._take(stage, pool, pairs=True, grade=grade)
            self._survive()

    def restore(self, stage: Stage, active: Array) -> None:
        """Put the batch and the best children on the stage."""
        kept = np.int32(self.evolution.kept)
        given = (active, self._archive.tokens, self._fitness, self._best, kept)
        to = (np.int32(self._rows_of(stage)), stage.tokens, stage.rewards)
        self._kernels.by_run("restore", (*given, *to))

    def close(self, active: Array, asks: Array, iterations: Array) -> None:
        """The end of an iteration."""
        arguments = (self._budget, asks, iterations, active)
        self._kernels.spread("close_iteration", self._runs, arguments)

    @property
    def _budget(self) -> np.int32:
        assert self.config.max_expressions is not None  # see `limits`
        return np.int32(self.config.max_expressions)

    @staticmethod
    def _rows_of(stage: Stage) -> int:
        return int(stage.lengths.shape[1])

    def _join(self, stage: Stage, iterations: Array, ask: float) -> None:
        """What the data propose joins the batch of a first iteration."""
        when = (self.evolving, iterations, stage.dataset, self._budget, self._was_exact)
        programs = (stage.tokens, stage.lengths, stage.constants, stage.rewards, stage.ok)
        front = (stage.front["reward"], stage.front["found"], stage.front["source"], stage.asks)
        rows = (np.float64(ask), np.int32(self._rows_of(stage)))
        arguments = (*when, *self._proposals.arguments, *rows, *programs, *front)
        self._kernels.by_run("join_proposals", arguments)

    def _append(self, stage: Stage, first: bool = False) -> None:
        archive = self._archive
        given = (stage.tokens, stage.lengths, stage.constants, stage.rewards, stage.ok)
        to = (archive.tokens, archive.lengths, archive.constants, self._fitness)
        members = (np.int32(self._most), self._members[0])
        rows = np.int32(self._rows_of(stage))
        arguments = (self.evolving, np.int32(first), rows, *given, *to, *members)
        self._kernels.by_run("append", arguments)

    def _breed(self, iterations: Array, seeds: Array, generation: int, stage: Stage) -> None:
        """Children of the population, as many as there is room for."""
        known = (self._budget, stage.front["reward"], self._was_exact, self.evolving)
        self._kernels.spread("plan_generation", self._runs, known)
        draw = seeds, iterations, generation
        wanted = self.number["staged"]
        given = (draw, self.evolution, self.evolving, wanted, self._bred, self._members[0])
        self._breeding.breed(self._archive, self._fitness, *given)

    def _take(self, stage: Stage, pool: Pool, pairs: bool, grade: Callable[[], None]) -> None:
        """Grade what was bred and is new, and keep it."""
        breeding, evolving = self._breeding, self.evolving
        breeding.sift(self._bred, self._memory, evolving, pairs, self._places, self._kept)
        breeding.gather(self._bred, self._places, evolving, pool)
        known = (evolving, self._kept, np.int32(pairs), self._budget)
        more = (stage.front["reward"], self._was_exact, np.int32(self._rows_of(stage)))
        self._kernels.by_run("take_new", (*known, *more, stage.lengths))
        grade()
        self._append(stage)

    def _survive(self) -> None:
        evolution = self.evolution
        sizes = tuple(np.int32(each) for each in (evolution.elite, evolution.kept, self._most))
        given = (self._fitness, *sizes, *self._members, self._best, self.evolving)
        self._kernels.by_run("survive", given, 12 * (self._most + evolution.kept))
        self._members.reverse()

    def _pair(self, mates: _Mates, stage: Stage) -> None:
        """Pairs that come near to the target, where children are bred."""
        kernels, archive, evolving = self._kernels, self._archive, self.evolving
        table, runs = mates.by_reward, np.int32(self._runs)
        self._breeding.forget(table, evolving)
        counts = (mates.wholes, mates.parts)
        given = (evolving, archive.lengths, self._fitness, np.int32(table.slots), table.keys)
        shared = 16 * PARTS + 4 * (_THREADS + self._width + 2)
        found = (table.first, mates.distinct, mates.rows, *counts)
        kernels.by_run("choose_mates", (*given, *found), shared)
        programs = (mates.pool.tokens, mates.pool.lengths, mates.pool.constants)
        from_archive = (archive.tokens, archive.lengths, archive.constants)
        rows = (evolving, runs, mates.rows, *counts, *from_archive, *programs)
        kernels.spread("gather_mates", self._runs * _MATES, rows, own=True)
        mates.evaluate(stage.dataset, evolving)
        about = (evolving, *counts, mates.pool.lengths, mates.values, stage.dataset)
        errors = (mates.target, mates.weight, np.int32(mates.compared), mates.error, mates.partner)
        blocks = self._runs * WHOLES
        shared = _PAIRING * len(PAIRS) * _FOUND
        kernels.launch("pair_mates", blocks, (*about, *errors), _PAIRING, shared)
        best = (evolving, mates.wholes, *programs, mates.error, mates.partner, mates.operators)
        bred = self._bred
        size = (np.int32(self.evolution.pairs), np.int32(self.size))
        arguments = (*best, *size, bred.tokens, bred.lengths, bred.constants)
        kernels.by_run("join_mates", arguments, 8 * WHOLES * len(PAIRS) + 4 * _THREADS)


class _Mates:
    """The programs of each run that are paired, their values, and the pairs."""

    def __init__(
        self,
        device: Device,
        library: Library,
        tables: Sequence[Data],
        runs: int,
        length: int,
        constants: int,
        rows: int,
    ) -> None:
        xp = device.xp
        some = compared_rows(len(tables[0].y))
        X, y, weights = (
            np.stack([getattr(each, name)[some] for each in tables])
            for name in ("X", "y", "weights")
        )
        self.compared = len(some)
        self.target, self.weight = (xp.asarray(np.ascontiguousarray(e)) for e in (y, weights))
        self._evaluator = CudaEvaluator(library, device, X)
        self.pool = Pool.empty(device, runs, _MATES, length, constants)
        self.by_reward = Memory.empty(device, runs, slots_for(rows))
        self.rows = xp.zeros((runs, _MATES), dtype=np.int32)
        self.distinct = xp.zeros((runs, rows), dtype=np.int32)
        self.wholes, self.parts = (xp.zeros(runs, dtype=np.int32) for _ in range(2))
        self.values = xp.zeros((runs * _MATES, self.compared))
        self._ok = xp.zeros(runs * _MATES, dtype=np.uint8)
        self.error = xp.zeros((runs, WHOLES, len(PAIRS)))
        self.partner = xp.zeros(self.error.shape, dtype=np.int32)
        names = library.names
        ways = [library.index(e.operator) if e.operator in names else -1 for e in PAIRS]
        self.operators = xp.asarray(np.array(ways, dtype=np.int32))

    def evaluate(self, dataset: Array, evolving: Array) -> None:
        """Put the values of the mates."""
        pool, count = self.pool, self.rows.size
        tokens = pool.tokens.reshape(count, pool.tokens.shape[2])
        constants = pool.constants.reshape(count, pool.constants.shape[2])
        lengths = pool.lengths.reshape(count)
        batch = Batch(tokens, lengths, constants, _MATES, dataset, evolving)
        self._evaluator.launch_predict(batch, self.values, self._ok)
