"""Fits of constants on the device: their kernels, and what they need of a table.

There is a kernel for few constants, one for more and one for many: the fewer, the more of a fit
stays in registers. Each takes the programs that it is made for and leaves the others alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.constants import FIT_METHODS, FitConfig
from symseek.engines.cuda.device import Array, Device, Kernel
from symseek.engines.cuda.operations import Steps, operation_text
from symseek.engines.cuda.source import compiled, power_of_two, with_sizes
from symseek.engines.cuda.table import RowBlock, Table
from symseek.errors import InputError

__all__ = ["MOST_CONSTANTS", "FitKernels", "fit_source"]

SIZES = ((1, 1), (2, 3), (4, 6), (7, 32))  # constants, least and most, that a kernel is made for
MOST_CONSTANTS = SIZES[-1][1]
SAMPLE = 1024  # rows on which starts are sought where there are several times as many
EXACT = 1e-30  # every residual of a perfect fit is off by a few roundings of its target
WARP_ROWS = 512  # below this many rows a warp fits a program, from there on a block
THREADS = 128  # of a block
# On very many rows a program has more threads, as many as there are registers for, so that programs
# which take long do not keep the others waiting.
MANY_ROWS = 16_384
MANY_THREADS = {1: 512, 3: 512, 6: 384}
MOST_SHARED = 90 << 10  # bytes that any GPU of the last years has
MOST_NODES = 4096


def fit_source(steps: Steps, length: int, least: int, most: int) -> str:
    """The source of a kernel for programs of so many tokens and constants."""
    nodes = power_of_two(length * steps.most)
    if nodes > MOST_NODES:
        raise InputError("a program is too long to be fitted; lower the maximum length")
    sizes = {
        "LEAST_K": least,
        "MAX_K": most,
        "NODES": nodes,
        "STACK": power_of_two(steps.depth(length)),
        "SUM_BYTES": _sum_bytes(most),
        "MOST_THREADS": _most_threads(most),
        "TAPE_BYTES": _tape_bytes(nodes),
    }
    names = ("random", "programs", "tape", "fitting", "bfgs", "starts")
    return with_sizes(sizes, *(f"{name}.cuh" for name in names), more=operation_text(steps))


def _tape_bytes(nodes: int) -> int:
    return 16 * nodes + 16


def _sum_bytes(constants: int) -> int:
    """Shared memory for the loss, gradient and normal matrix of each warp."""
    sums = 1 + constants + constants * (constants + 1) // 2
    return (8 * sums * _most_threads(constants) // 32 + 15) // 16 * 16


def _most_threads(constants: int) -> int:
    return MANY_THREADS.get(constants, THREADS)


@dataclass(frozen=True)
class _Sample:
    """Some rows of every data set, and which losses count as none."""

    block: RowBlock | None
    exact: Array  # [D] a squared error that is none, as far as float64 can tell
    sample_exact: Array  # [D] the same of the sample
    share: Array  # [D] of all rows, by weight, that the sample has

    @classmethod
    def of(cls, device: Device, table: Table) -> _Sample:
        """Rows at even distances; none when there are too few for that to pay."""
        assert table.target is not None
        assert table.weight is not None
        rows = np.arange(SAMPLE) * table.rows // SAMPLE if table.rows >= 4 * SAMPLE else None
        some = slice(0, 0) if rows is None else rows
        target, weight = table.target[:, some], table.weight[:, some]
        all_weight = table.weight.sum(axis=1)
        share = weight.sum(axis=1) / np.where(all_weight > 0, all_weight, 1.0)
        return cls(
            None if rows is None else table.some_rows(rows),
            *(
                device.xp.asarray(np.ascontiguousarray(each, dtype=np.float64))
                for each in (_exact(table.target, table.weight), _exact(target, weight), share)
            ),
        )

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the kernel is given."""
        known = (self.exact, self.sample_exact, self.share)
        if self.block is None:
            return (None, None, None, np.int64(0), *known)
        block = self.block
        return (block.columns, block.target, block.weight, np.int64(block.rows), *known)


def _exact(target: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    exact: NDArray[np.float64] = EXACT * (weight * target * target).sum(axis=1)
    return exact


class FitKernels:
    """Fits to the data of one table."""

    def __init__(self, device: Device, steps: Steps, table: Table) -> None:
        if table.target is None:
            raise InputError("constants cannot be fitted without a target; give y")
        self._device = device
        self._steps = steps
        self._block = table.anywhere()
        self._sample = _Sample.of(device, table)
        self._known: dict[tuple[int, int], Kernel] = {}

    def launch(
        self,
        batch: tuple[Any, ...],
        sizes: tuple[int, int, int],  # P, T, K
        config: FitConfig,
        scale: Array,
        power: float,
        status: Array,
    ) -> None:
        """Fit the constants of a batch, given as kernels are, in place."""
        programs, length, width = sizes
        arguments = (
            *batch,
            *self._block.arguments,
            *self._sample.arguments,
            scale,
            np.float64(power),
            np.int32(FIT_METHODS.index(config.method)),
            *(np.int32(each) for each in (config.restarts, config.max_steps, config.rescue)),
            np.int32(MOST_CONSTANTS),
            status,
        )
        for least, most in SIZES:
            if least <= max(width, 1):
                self._launch(programs, length, least, most, arguments)

    def _launch(
        self, programs: int, length: int, least: int, most: int, arguments: tuple[Any, ...]
    ) -> None:
        if (length, most) not in self._known:
            source = fit_source(self._steps, length, least, most)
            self._known[length, most] = compiled(self._device, source, "fit")["fit"]
        tape = _tape_bytes(power_of_two(length * self._steps.most))
        groups, threads = 1, (1, 1)
        if self._device.warp > 1:
            if self._block.rows < WARP_ROWS:
                groups = max(1, min(THREADS // self._device.warp, MOST_SHARED // tape))
            threads = (self._width(most), groups)
        blocks = min(-(-programs // groups), 1 << 20)
        self._known[length, most](blocks, threads, arguments, _sum_bytes(most) + groups * tape)

    def _width(self, most: int) -> int:
        """Threads that fit one program."""
        if self._block.rows < WARP_ROWS:
            return self._device.warp
        return THREADS if self._block.rows < MANY_ROWS else _most_threads(most)
