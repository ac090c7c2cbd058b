"""Fits of constants on the device: their kernels, and what they need of a table.

There are kernels for few constants, for more and for many: the fewer, the more of a fit stays in
registers. Each takes the programs that it is made for and leaves the others alone. On few rows a
group of threads fits a program. On many rows the descent is a launch for each look at the rows, and
blocks share them out: a race brings few programs to many rows, and they must not leave most of the
GPU idle.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symseek._native import EXACT_SHARE, FIT_SAMPLE
from symseek.arrays import Floats
from symseek.constants import FIT_METHODS, FitConfig
from symseek.engines.cuda.device import Array, Device, Kernel
from symseek.engines.cuda.operations import Steps, operation_text
from symseek.engines.cuda.source import compiled, power_of_two, usual_length, with_sizes
from symseek.engines.cuda.table import DeviceTable, RowBlock
from symseek.errors import InputError
from symseek.losses import SQUARED, Loss

# Constants, least and most, that a kernel is made for. Of 30 tokens at most 15 are constants.
SIZES = ((1, 1), (2, 3), (4, 6), (7, 16), (17, 32))
MOST_CONSTANTS = SIZES[-1][1]
FEW_ROWS = 400  # up to here a thread works on one row at a time, beyond on several
ROWS = {1: 4, 3: 2, 6: 2}  # so many, by the most constants
WARP_ROWS = 512  # below this many rows a warp fits a program, from there on a block
THREADS = 128  # of a block, unless it is said otherwise
# Threads of a program share what reading its steps costs, and each solves for the constants alone.
BLOCK_THREADS = {1: 256, 6: 64}
# On very many rows a program has more threads, as many as there are registers for, so that programs
# which take long do not keep the others waiting.
MANY_ROWS = 16_384
MANY_THREADS = {1: 256, 3: 512, 6: 384}
# A look at many rows is shared out in chunks, which depend on the number of rows alone: sums must
# not depend on how many programs there are. Fewer rows than these are not worth a block.
LEAST_CHUNK = 4096
MOST_CHUNKS = 512
ROOM = 256 << 20  # bytes for descents; more programs follow one another
LOAD = 16  # blocks for each processor: more than run at a time, so that none waits for the last
MOST_SHARED = 90 << 10  # bytes that any GPU of the last years has
MOST_NODES = 4096
MOST_ROWS = (1 << 31) - (1 << 16)  # places of rows in a kernel have 32 bits, a few beyond the end


def fit_source(
    steps: Steps,
    length: int,
    least: int,
    most: int,
    few_rows: bool = False,
    loss: Loss = SQUARED,
) -> str:
    """The source of the kernels for programs of so many tokens and constants."""
    sizes = {
        "STRICT": 0,  # a fit looks at its last constants only
        "LEAST_K": least,
        "MAX_K": most,
        "ROWS": 1 if few_rows else ROWS.get(most, 1),
        "NODES": _nodes(steps, length),
        "STACK": power_of_two(steps.depth(length)),
        "SUM_BYTES": _sum_bytes(most),
        "MOST_THREADS": _most_threads(most),
        "TAPE_BYTES": _tape_bytes(_nodes(steps, length)),
        "DESCENT_BYTES": _descent_bytes(_nodes(steps, length), most),
    }
    shared = ("random", "keys", "fits", "linesearch", "losses")
    files = (
        *(f"shared/{name}.hpp" for name in shared),
        *("programs.cuh", "reading.cuh", "tape.cuh", "slopes.cuh"),
        *("looks.cuh", "shared/fitting.hpp", "fit.cuh"),
    )
    more = f"{operation_text(steps)}\n#define FIT_LOSS {loss.name}_loss\n"
    more += f"#define FIT_LOSS_NAME {loss.name}\n"
    return with_sizes(sizes, *files, more=more)


def _size_for(count: int) -> tuple[int, int]:
    """The kernel for so many constants; the first one knows what none and too many come to."""
    return next((each for each in SIZES if each[0] <= count <= each[1]), SIZES[0])


def _nodes(steps: Steps, length: int) -> int:
    nodes = power_of_two(length * steps.most)
    if nodes > MOST_NODES:
        raise InputError("a program is too long to be fitted; lower the maximum length")
    return nodes


def _tape_bytes(nodes: int) -> int:
    return 24 * nodes + 16


def _sums(constants: int) -> int:
    """Numbers that a look at the rows adds up: loss, gradient, normal matrix."""
    return 1 + constants + constants * (constants + 1) // 2


def _sum_bytes(constants: int) -> int:
    """Shared memory for the sums of each warp."""
    return (8 * _sums(constants) * _most_threads(constants) // 32 + 15) // 16 * 16


def _descent_bytes(nodes: int, constants: int) -> int:
    """Memory for a descent between two launches: its tape, places, sums and progress."""
    return _tape_bytes(nodes) + 8 * (_sums(constants) + 3 * constants) + 112


def chunks_of(rows: int) -> tuple[int, int]:
    """Rows of a chunk, and how many chunks there are.

    >>> chunks_of(10_000), chunks_of(1_000_000)
    ((4096, 3), (4096, 245))
    """
    size = max(LEAST_CHUNK, -(-rows // (MOST_CHUNKS * THREADS)) * THREADS)
    return size, -(-rows // size)


def _most_threads(constants: int) -> int:
    return MANY_THREADS.get(constants, THREADS)


@dataclass(frozen=True)
class _Sample:
    """Some rows of every data set, and which losses count as none."""

    block: RowBlock | None
    exact: Array  # [D] a loss that is none, as far as float64 can tell
    sample_exact: Array  # [D] the same of the sample
    share: Array  # [D] of all rows, by weight, that the sample has

    @classmethod
    def of(cls, device: Device, table: DeviceTable, loss: Loss) -> _Sample:
        """Rows at even distances; none when there are too few for that to pay."""
        assert table.target is not None
        assert table.weight is not None
        many = table.rows >= 4 * FIT_SAMPLE
        rows = np.arange(FIT_SAMPLE) * table.rows // FIT_SAMPLE if many else None
        some = slice(0, 0) if rows is None else rows
        target, weight = table.target[:, some], table.weight[:, some]
        all_weight = table.weight.sum(axis=1)
        share = weight.sum(axis=1) / np.where(all_weight > 0, all_weight, 1.0)
        return cls(
            None if rows is None else table.some_rows(rows),
            *(
                device.xp.asarray(np.ascontiguousarray(each, dtype=np.float64))
                for each in (
                    _exact(table.target, table.weight, loss),
                    _exact(target, weight, loss),
                    share,
                )
            ),
        )

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the kernel is given."""
        known = (self.sample_exact, self.share)
        if self.block is None:
            return (None, None, None, np.int64(0), *known)
        block = self.block
        return (block.columns, block.target, block.weight, np.int64(block.rows), *known)


def _exact(target: Floats, weight: Floats, loss: Loss) -> Floats:
    """What rows count of which the values are off by a few roundings only."""
    if loss.name in ("absolute", "quantile", "poisson"):
        return np.asarray(math.sqrt(EXACT_SHARE) * (weight * np.abs(target)).sum(axis=1))
    if loss.name == "relative":
        return np.asarray(EXACT_SHARE * weight.sum(axis=1))
    if loss.name == "logistic":
        return np.asarray(math.sqrt(EXACT_SHARE) * weight.sum(axis=1))
    return np.asarray(EXACT_SHARE * (weight * target * target).sum(axis=1))


Given = tuple[Any, ...]  # arguments of kernels
WHOLE, START, REST = range(3)  # what the kernel `fit` does: see kernels/fit.cuh


@dataclass(frozen=True)
class _Part:
    """Some of the programs of a batch, and memory for their descents."""

    begin: int
    end: int
    descents: Array | None = None

    @property
    def arguments(self) -> Given:
        """What kernels are given."""
        return (self.descents, np.int64(self.begin), np.int64(self.end))


class FitKernels:
    """Fits to the data of one table."""

    def __init__(
        self, device: Device, steps: Steps, table: DeviceTable, loss: Loss = SQUARED
    ) -> None:
        if table.target is None:
            raise InputError("constants cannot be fitted without a target; give y")
        if table.rows >= MOST_ROWS:
            raise InputError(
                f"the GPU fits constants to fewer than {MOST_ROWS:,} rows, and these are"
                f" {table.rows:,}; take fewer, or use the engine 'native'"
            )
        self._device = device
        self._steps, self._loss = steps, loss
        self._block = table.anywhere()
        self._sample = _Sample.of(device, table, loss)
        self._chunks = chunks_of(table.rows)
        self._known: dict[tuple[int, int], Mapping[str, Kernel]] = {}
        self._room = device.xp.empty(0, dtype=np.uint8)

    def launch(
        self,
        batch: tuple[Any, ...],
        sizes: tuple[int, int],  # P, T
        counts: Collection[int],  # of constants, that programs may have
        config: FitConfig,
        scale: Array,
        power: float,
        status: Array,
    ) -> None:
        """Fit the constants of a batch, given as kernels are, in place."""
        programs, length = sizes[0], usual_length(sizes[1])
        given = (
            *batch,
            *self._block.arguments,
            self._sample.exact,
            np.float64(self._loss.p),
            scale,
            np.float64(power),
            np.int32(FIT_METHODS.index(config.method)),
            *(np.int32(each) for each in (config.restarts, config.max_steps, config.rescue)),
            status,
        )
        # BFGS has its own steps: a fit by it alone is one launch.
        split = self._sample.block is not None and config.method != "bfgs"
        for size in sorted({_size_for(count) for count in counts}):
            if split and any(size[0] <= count <= size[1] for count in counts):
                self._split(programs, length, size, given, config.max_steps)
            else:
                self._fit(length, size, given, _Part(0, programs), WHOLE)

    def _split(
        self, programs: int, length: int, size: tuple[int, int], given: Given, steps: int
    ) -> None:
        """Fit programs by descents that are a launch for each look, some at a time."""
        each = _descent_bytes(_nodes(self._steps, length), size[1])
        of_parts = 8 * _sums(size[1]) * self._chunks[1]
        portion = max(1, min(programs, ROOM // (each + of_parts)))
        if len(self._room) < portion * (each + of_parts):
            self._room = self._device.xp.empty(portion * (each + of_parts), dtype=np.uint8)
        for begin in range(0, programs, portion):
            count = min(portion, programs - begin)
            descents, parts = self._room[: count * each], self._room[count * each :]
            part = _Part(begin, begin + count, descents)
            self._fit(length, size, given, part, START)
            for _ in range(steps + 2):  # the constants given, those of the sample, then the steps
                self._take_steps(length, size, (*given, *part.arguments), count, parts)
            self._fit(length, size, given, part, REST)

    def _kernels(self, length: int, size: tuple[int, int]) -> Mapping[str, Kernel]:
        if (length, size[1]) not in self._known:
            few_rows = self._block.rows <= FEW_ROWS
            source = fit_source(self._steps, length, *size, few_rows, self._loss)
            self._known[length, size[1]] = compiled(self._device, source, "fit", "take_steps")
        return self._known[length, size[1]]

    def _fit(
        self, length: int, size: tuple[int, int], given: Given, part: _Part, task: int
    ) -> None:
        tape = _tape_bytes(_nodes(self._steps, length))
        rows = FIT_SAMPLE if task == START else self._block.rows
        groups, threads = 1, (1, 1)
        if self._device.warp > 1:
            if rows < WARP_ROWS:
                groups = max(1, min(THREADS // self._device.warp, MOST_SHARED // tape))
            threads = (self._width(rows, size[1]), groups)
        blocks = min(-(-(part.end - part.begin) // groups), 1 << 20)
        rest = (*self._sample.arguments, np.int32(MOST_CONSTANTS), np.int32(task))
        shared = _sum_bytes(size[1]) + groups * tape
        kernel = self._kernels(length, size)["fit"]
        kernel(blocks, threads, (*given, *part.arguments, *rest), shared)

    def _take_steps(
        self, length: int, size: tuple[int, int], given: Given, programs: int, parts: Array
    ) -> None:
        rows, chunks = self._chunks
        threads = (THREADS if self._device.warp > 1 else 1, 1)
        blocks = min(programs * chunks, LOAD * self._device.processors)
        shared = _sum_bytes(size[1]) + _tape_bytes(_nodes(self._steps, length))
        arguments = (*given, np.int64(rows), np.int32(chunks), parts)
        self._kernels(length, size)["take_steps"](blocks, threads, arguments, shared)

    def _width(self, rows: int, most: int) -> int:
        """Threads that fit one program."""
        if rows < WARP_ROWS:
            return self._device.warp
        return BLOCK_THREADS.get(most, THREADS) if rows < MANY_ROWS else _most_threads(most)
