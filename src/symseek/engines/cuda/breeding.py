"""Breeding on the device: the children that the native engine would make, the very same programs.

`BreedingKernels` works on arrays of the device, for many runs at once, and only starts work there.
`CudaBreeder` is what `symseek.engines.interface` asks for: programs in, programs out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.constraints import ConstraintSet
from symseek.engines.cuda.device import Array, Device, Kernel, said_in_a_sentence
from symseek.engines.cuda.rules import DeviceRules
from symseek.engines.cuda.source import compiled, power_of_two, with_sizes
from symseek.engines.interface import (
    Breeding,
    check_library,
    filled_constants,
    unfitted_constants,
)
from symseek.errors import InputError
from symseek.programs import Programs

LONGEST = 256  # tokens of a program: a thread keeps three of them to itself
_THREADS = 128  # of a block that breeds
_WIDE = 256  # of a block that sifts
_SLOTS = 1 << 15  # of the first table
_KERNELS = ("breed", "forget", "rehash", "offer", "sift", "gather")


@dataclass(frozen=True)
class Pool:
    """Programs of many runs as arrays of the device; a run has the first `counts` of its rows."""

    tokens: Array  # [R, rows, width] int16, -1 beyond the end
    lengths: Array  # [R, rows] int32
    constants: Array  # [R, rows, K] float64
    counts: Array  # [R] int32

    @classmethod
    def empty(cls, device: Device, runs: int, rows: int, width: int, constants: int) -> Pool:
        """Room for so many programs of each run."""
        new = device.xp.zeros
        return cls(
            new((runs, rows, width), dtype=np.int16),
            new((runs, rows), dtype=np.int32),
            new((runs, rows, constants)),
            new(runs, dtype=np.int32),
        )


@dataclass(frozen=True)
class Memory:
    """Which programs each run has met: tables of hashes, which `BreedingKernels.forget` empties."""

    keys: Array  # [R, slots] uint64
    first: Array  # [R, slots] int32
    offered: Array  # [R] int32

    @classmethod
    def empty(cls, device: Device, runs: int, slots: int) -> Memory:
        """Tables of so many slots, a power of two."""
        new = device.xp.zeros
        shapes = ((runs, slots), np.uint64), ((runs, slots), np.int32), ((runs,), np.int32)
        return cls(*(new(shape, dtype=dtype) for shape, dtype in shapes))

    @property
    def slots(self) -> int:
        """Slots of a table."""
        return int(self.keys.shape[1])


def slots_for(programs: int) -> int:
    """Slots in which so many programs are found quickly.

    >>> slots_for(30_000)
    65536
    """
    return power_of_two(programs + programs // 2)


def breeding_source(rules: DeviceRules, constant: int) -> str:
    """The source of the kernels; `constant` is the placeholder's token, or -1."""
    shared = (f"shared/{name}.hpp" for name in ("random", "keys", "rules", "breeding"))
    files = (*shared, "rules.cuh", "breeding.cuh", "memory.cuh")
    return with_sizes({**rules.sizes, "CONSTANT_TOKEN": constant}, *files)


class BreedingKernels:
    """The kernels for one set of rules, and the tables they read."""

    def __init__(self, device: Device, rules: DeviceRules, constant: int | None) -> None:
        self.device, self.width = device, rules.sizes["T"]
        xp = device.xp
        self._rules = tuple(xp.asarray(each) for each in (rules.words, rules.integers))
        self._alike = xp.asarray(_alike(rules))
        source = breeding_source(rules, -1 if constant is None else constant)
        self._kernels: dict[str, Kernel] = dict(compiled(device, source, *_KERNELS))

    def breed(
        self,
        parents: Pool,
        fitness: Array,  # [R, rows] float64, of the parents
        draw: tuple[Array, Array, int],  # seeds [R] uint64, iterations [R] int32, generation
        options: Breeding,
        active: Array | None,  # [R] uint8
        wanted: Array,  # [R] int32: children
        children: Pool,  # where they go; those that could not be made have length 0
        members: Array | None = None,  # [R, ...] int32: the rows of parents, if not the first ones
    ) -> None:
        """Make children of every run."""
        seeds, iterations, generation = draw
        runs, rows, width = parents.tokens.shape
        given = (parents.tokens, parents.lengths, parents.constants, fitness, parents.counts)
        chosen = (members, np.int32(0 if members is None else members.shape[1]))
        sizes = tuple(np.int32(each) for each in (rows, width, parents.constants.shape[2]))
        chances = np.float32(options.crossover), np.float32(options.mutation)
        how = (active, np.int32(generation), np.int32(options.tournament), *chances, wanted)
        rows, room = children.tokens.shape[1], children.constants.shape[2]
        parts = self._parts(rows)
        to = (np.int32(rows), np.int32(room), np.int32(parts))
        made = (children.tokens, children.lengths, children.constants)
        which = (*given, *chosen, *sizes, seeds, iterations)
        arguments = (*self._rules, self._alike, *which, *how, *to, *made)
        self._launch("breed", runs * parts, _THREADS, arguments)

    def forget(self, memory: Memory, active: Array | None = None) -> None:
        """Forget all programs of the active runs."""
        runs, slots = memory.keys.shape
        sizes = np.int32(runs), np.int32(slots)
        arguments = (active, *sizes, memory.keys, memory.first, memory.offered)
        self._launch("forget", min(-(-runs * slots // _WIDE), 1 << 16), _WIDE, arguments)

    def moved(self, memory: Memory, slots: int) -> Memory:
        """The memory of one run in a table of so many slots."""
        larger = Memory.empty(self.device, 1, slots)
        self.forget(larger)
        sizes = np.int32(memory.slots), np.int32(slots)
        arguments = (memory.keys, memory.first, sizes[0], larger.keys, larger.first, sizes[1])
        self._launch("rehash", -(-memory.slots // _WIDE), _WIDE, arguments)
        larger.offered[...] = memory.offered
        return larger

    def sift(
        self,
        programs: Pool,
        memory: Memory,
        active: Array | None,
        check: bool,
        places: Array,  # [R, rows] int32
        kept: Array,  # [R] int32
    ) -> None:
        """Remember programs: the places of those that were new among themselves, -1 for others.

        With `check` those that break the constraints are neither new nor remembered.
        """
        runs, rows, width = programs.tokens.shape
        parts = self._parts(rows)
        given = (programs.tokens, programs.lengths, programs.counts, active)
        sizes = tuple(np.int32(each) for each in (rows, width, parts, check, memory.slots))
        arguments = (*self._rules, *given, *sizes, memory.keys, memory.first, memory.offered)
        self._launch("offer", runs * parts, _THREADS, (*arguments, places))
        about = (programs.counts, active, np.int32(rows), np.int32(memory.slots))
        self._launch(
            "sift", runs, _WIDE, (*about, memory.first, memory.offered, places, kept), 4 * _WIDE
        )

    def gather(self, programs: Pool, places: Array, active: Array | None, to: Pool) -> None:
        """Copy the programs that have a place to it."""
        runs, rows, _ = programs.tokens.shape
        parts = self._parts(rows)
        given = (programs.tokens, programs.lengths, programs.constants, places, programs.counts)
        sizes = (rows, programs.constants.shape[2], parts, to.tokens.shape[1])
        arguments = (*given, active, *map(np.int32, sizes), to.tokens, to.lengths, to.constants)
        self._launch("gather", runs * parts, _THREADS, arguments)

    def _parts(self, rows: int) -> int:
        return max(1, -(-rows // _THREADS)) if self.device.warp > 1 else 1

    def _launch(
        self, name: str, blocks: int, threads: int, arguments: tuple[Any, ...], shared: int = 0
    ) -> None:
        width = threads if self.device.warp > 1 else 1
        self._kernels[name](blocks, (width, 1), arguments, shared)


def _alike(rules: DeviceRules) -> NDArray[np.int32]:
    """[arities + 2, 1 + L]: the tokens of each arity, then all operators; how many come first."""
    tokens, begin = rules.sizes["L"], rules.sizes["AT_ARITY"]
    arity = rules.integers[begin : begin + tokens]
    rows = [np.flatnonzero(arity == each) for each in range(rules.sizes["ARITIES"] + 1)]
    rows.append(np.flatnonzero(arity > 0))
    table = np.zeros((len(rows), tokens + 1), dtype=np.int32)
    for row, found in zip(table, rows, strict=True):
        row[0] = len(found)
        row[1 : 1 + len(found)] = found
    return table


class CudaBreeder:
    """Makes children of the programs of one search."""

    def __init__(self, rules: ConstraintSet, kernels: BreedingKernels) -> None:
        self.rules = rules
        self._kernels, self._device = kernels, kernels.device
        self._most = 0 if rules.library.constant_id is None else rules.max_length
        self._memory: Memory | None = None
        self._offered = 0

    def begin(self, programs: Programs) -> None:
        """Forget the programs seen so far; remember these."""
        check_library(self.rules.library, programs)
        with said_in_a_sentence():
            if self._memory is not None:
                self._kernels.forget(self._memory)
            self._offered = 0
            self._sift(self._pool(programs), check=False)

    def admit(self, programs: Programs) -> NDArray[np.bool_]:
        """Which programs [B] obey the built-in constraints and are seen for the first time."""
        check_library(self.rules.library, programs)
        with said_in_a_sentence():
            places, _ = self._sift(self._pool(programs), check=True)
            ok: NDArray[np.bool_] = self._device.get(places)[0] >= 0
            return ok

    def breed(
        self,
        parents: Programs,
        fitness: Floats,
        seed: int,
        iteration: int,
        generation: int,
        options: Breeding,
        count: int,
    ) -> Programs:
        """At most `count` children, without those seen before or never made valid."""
        library = self.rules.library
        check_library(library, parents)
        if len(fitness) != len(parents):
            raise InputError(f"{len(parents)} parents came with {len(fitness)} values of fitness")
        if count == 0:
            return parents[:0]
        if not len(parents):
            raise InputError("there are no parents")
        if parents.lengths.max() > self.rules.max_length:
            raise InputError(
                f"a parent has {parents.lengths.max()} tokens; the constraints allow at most"
                f" {self.rules.max_length}"
            )
        xp, one = self._device.xp, self._one
        with said_in_a_sentence():
            made = Pool.empty(self._device, 1, count, self._kernels.width, self._most)
            made.counts[...] = count
            draw = one(seed, np.uint64), one(iteration, np.int32), generation
            given = xp.asarray(np.ascontiguousarray(fitness, dtype=np.float64))[None]
            pool = self._pool(parents, filled_constants(library, parents))
            self._kernels.breed(pool, given, draw, options, None, made.counts, made)
            places, kept = self._sift(made, check=False)
            new = Pool.empty(self._device, 1, count, self._kernels.width, self._most)
            self._kernels.gather(made, places, None, new)
            return self._programs(new, int(self._device.get(kept)[0]))

    def _programs(self, pool: Pool, count: int) -> Programs:
        """The first programs of a pool, on the host."""
        library, get = self.rules.library, self._device.get
        tokens, lengths = get(pool.tokens[0, :count]), get(pool.lengths[0, :count])
        most = unfitted_constants(library, tokens).shape[1]
        constants = np.ascontiguousarray(get(pool.constants[0, :count])[:, :most])
        return Programs._trusted(library, tokens, lengths, constants)

    def _sift(self, pool: Pool, check: bool) -> tuple[Array, Array]:
        """Remember programs: see `BreedingKernels.sift`."""
        rows, xp = pool.tokens.shape[1], self._device.xp
        places, kept = xp.empty((1, max(rows, 1)), np.int32), xp.empty(1, np.int32)
        self._kernels.sift(pool, self._room(rows), None, check, places, kept)
        return places[:, :rows], kept

    def _room(self, more: int) -> Memory:
        """The memory, with room for more programs."""
        self._offered += more
        slots = max(slots_for(self._offered), _SLOTS)
        if self._memory is None:
            self._memory = Memory.empty(self._device, 1, slots)
            self._kernels.forget(self._memory)
        elif self._memory.slots < slots:
            self._memory = self._kernels.moved(self._memory, slots)
        return self._memory

    def _pool(self, programs: Programs, constants: Floats | None = None) -> Pool:
        given = programs.tokens, programs.lengths, programs.constants[:, :0]
        tokens, lengths, values = (
            self._device.xp.asarray(np.ascontiguousarray(each))[None]
            for each in (*given[:2], given[2] if constants is None else constants)
        )
        return Pool(tokens, lengths, values, self._one(len(programs), np.int32))

    def _one(self, value: int, dtype: type) -> Array:
        return self._device.xp.asarray(np.array([value], dtype=dtype))
