"""Data on the device: errors, fits and predictions of programs.

`errors`, `fit` and `predict` are what `symseek.engines.interface` asks for: programs in, arrays of
the host out. The `launch_...` methods take arrays of the device for many runs at once, and only
start work there: they wait for nothing, and allocate nothing once a size has been seen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.constants import FitConfig
from symseek.engines.cuda.device import Array, Device, Kernel, said_in_a_sentence
from symseek.engines.cuda.fitting import FitKernels
from symseek.engines.cuda.operations import Steps, operation_text, steps_of
from symseek.engines.cuda.source import compiled, power_of_two, usual_length, with_sizes
from symseek.engines.cuda.table import PART, DeviceTable, RowBlock
from symseek.engines.interface import (
    Errors,
    Fitted,
    Predictions,
    check_library,
    filled_constants,
)
from symseek.errors import InputError
from symseek.losses import ABSOLUTE, SQUARED, Loss
from symseek.programs import Programs
from symseek.tokens import Library

FEW_ROWS = 96  # up to here a thread works on one row at a time, beyond on several
WARP_ROWS = 1024  # below this many rows a warp works on a program, from there on a block
MOST_BLOCKS = 1 << 20
DEEPEST = 1024  # values on a stack


@dataclass(frozen=True)
class Batch:
    """Programs of many runs, as arrays of the device; program p belongs to run p // per_run."""

    tokens: Array  # [P, T] int16, -1 beyond the end
    lengths: Array  # [P] int32, 0 where there is no program
    constants: Array  # [P, K] float64
    per_run: int
    dataset: Array | None = None  # [R] int32, which data a run sees; None: all the first
    active: Array | None = None  # [R] uint8, whose programs are worked on; None: all

    def __getitem__(self, part: slice) -> Batch:
        """Some of the programs, of all runs or of one data set."""
        assert self.dataset is None
        assert self.active is None
        return Batch(self.tokens[part], self.lengths[part], self.constants[part], self.per_run)


@dataclass(frozen=True)
class Sums:
    """Where the sums of a batch go, on the device; infinity where a program is not ok."""

    losses: Array  # [losses, P] float64
    ok: Array  # [P] uint8

    @classmethod
    def empty(cls, device: Device, losses: int, count: int) -> Sums:
        """Room for so many programs."""
        new = device.xp.empty
        return cls(new((losses, count)), new(count, dtype=np.uint8))


class CudaEvaluator:
    """Data sets of equal size on a device: X [N, n] and y [N], or X [D, N, n] and y [D, N].

    Tables that do not fit on the device are read from the host, block by block; the launches are
    not for those.
    """

    def __init__(
        self,
        library: Library,
        device: Device,
        X: Floats,
        y: Floats | None = None,
        weights: Floats | None = None,
        underflow_invalid: bool = False,
        losses: Sequence[Loss] = (SQUARED, ABSOLUTE),
    ) -> None:
        self.library = library
        self.device = device
        self._losses = tuple(losses)
        self._strict = underflow_invalid
        self._steps = steps_of(library)
        self._known: dict[tuple[int, int], Mapping[str, Kernel]] = {}
        self._fits: FitKernels | None = None
        with said_in_a_sentence():
            self.table = DeviceTable(device, X, y, weights)
            self._parameters = device.xp.asarray(np.array([each.p for each in losses]))
            self._step_table = device.xp.asarray(self._steps.table.view(np.uint8))
        self.rows = self.table.rows
        self._scratch = Sums.empty(device, len(losses), 0)
        self._stopped = device.xp.empty(0, dtype=np.uint8)

    # ---- what an engine is asked for ---------------------------------------------------------

    def errors(self, programs: Programs) -> Errors:
        """Sums over the rows, by their weights, of each loss."""
        with said_in_a_sentence():
            batch = self._batch(programs)
            sums = self._empty(len(programs))
            self._all_errors(batch, sums)
            return self._errors(programs, sums)

    def fit(
        self, programs: Programs, config: FitConfig, scale: float = 1.0, power: float = 1.0
    ) -> Fitted:
        """Fit the constants, starting from those the programs have, and give the errors after."""
        if config.bounds is not None:
            raise InputError("the engine cuda cannot fit numbers within bounds; use native")
        with said_in_a_sentence():
            batch = self._batch(programs)
            batch = replace(batch, constants=batch.constants.copy())
            scales = self.device.xp.full(self.table.sets, float(scale))
            status = self.device.xp.empty(len(programs), dtype=np.uint8)
            sums = self._empty(len(programs))
            counts = {*_constants_of(programs).tolist()}
            self._fit(batch, counts, config, scales, power, status, sums)
            errors, get = self._errors(programs, sums), self.device.get
            fitted = get(batch.constants)
        best = Programs._trusted(self.library, programs.tokens, programs.lengths, fitted)
        return Fitted(best, errors, get(status))

    def predict(self, programs: Programs) -> Predictions:
        """Values at every row, and whether every node was finite on every row."""
        count, new = len(programs), self.device.xp
        values, ok = np.empty((count, self.rows)), np.empty(count, dtype=bool)
        with said_in_a_sentence():
            batch, portion = self._batch(programs), self.table.portion(count)
            for begin in range(0, count, portion):
                part = slice(begin, min(begin + portion, count))
                good = new.ones(part.stop - begin, dtype=np.uint8)
                for block in self.table.blocks():
                    out = new.empty((part.stop - begin, block.rows))
                    self._predict(batch[part], block, out, good)
                    values[part, block.begin : block.begin + block.rows] = self.device.get(out)
                ok[part] = self.device.get(good).astype(bool)
        return Predictions(values, ok)

    def _batch(self, programs: Programs) -> Batch:
        check_library(self.library, programs)
        as_array = self.device.xp.asarray
        constants = filled_constants(self.library, programs)
        return Batch(
            as_array(np.ascontiguousarray(programs.tokens)),
            as_array(np.ascontiguousarray(programs.lengths)),
            as_array(constants),
            per_run=max(len(programs), 1),
        )

    def _errors(self, programs: Programs, sums: Sums) -> Errors:
        losses, ok = self.device.get(sums.losses), self.device.get(sums.ok)
        return Errors(losses, ok.astype(bool), _distinct(programs))

    def _empty(self, count: int) -> Sums:
        return Sums.empty(self.device, len(self._losses), count)

    # ---- launches ----------------------------------------------------------------------------

    def launch_errors(self, batch: Batch, sums: Sums) -> None:
        """Put the errors of the programs of active runs where `sums` says."""
        self.table.check_resident()
        self._all_errors(batch, sums)

    def launch_predict(self, batch: Batch, values: Array, ok: Array) -> None:
        """Put the values [P, N] of the programs of active runs; ok [P] becomes 0 where invalid."""
        self._predict(batch, self.table.check_resident(), values, ok)

    def launch_fit(
        self,
        batch: Batch,
        config: FitConfig,
        scale: Array,  # [D] float64: see `Evaluator.fit`
        power: float,
        status: Array,  # [P] uint8: codes of FitStatus
        sums: Sums,
    ) -> None:
        """Fit the constants of the programs of active runs in place, and put the errors after.

        A program with more than `MOST_CONSTANTS` is left as it is, with the status LIMIT.
        """
        self.table.check_resident()
        most = min(batch.constants.shape[1], most_leaves(batch.tokens.shape[1], self.library))
        self._fit(batch, range(most + 1), config, scale, power, status, sums)

    def _fit(
        self,
        batch: Batch,
        counts: Collection[int],
        config: FitConfig,
        scale: Array,
        power: float,
        status: Array,
        sums: Sums,
    ) -> None:
        if self._fits is None:
            self._fits = FitKernels(self.device, self._steps, self.table, self._losses[0])
        programs, length = batch.tokens.shape
        if not programs:
            return
        given = self._batch_arguments(batch)
        self._fits.launch(given, (programs, length), counts, config, scale, power, status)
        self._all_errors(batch, sums)
        judge = self._kernels(length, self.rows)[0]["judge_fits"]
        self._by_program(judge, batch, (), (status, sums.losses, sums.ok))

    def _by_program(
        self, kernel: Kernel, batch: Batch, before: tuple[Any, ...], after: tuple[Any, ...]
    ) -> None:
        """Launch a kernel with a thread for each program; its batch is among its arguments."""
        programs, width = len(batch.lengths), 256 if self.device.warp > 1 else 1
        whose = (batch.lengths, np.int64(programs), np.int32(batch.per_run), batch.active)
        kernel(_blocks(programs, width), (width, 1), (*before, *whose, *after))

    def _all_errors(self, batch: Batch, sums: Sums) -> None:
        for at, block in enumerate(self.table.blocks()):
            self._block_errors(batch, block, sums, more=at > 0)

    def _block_errors(self, batch: Batch, block: RowBlock, sums: Sums, more: bool) -> None:
        programs, parts = len(batch.lengths), -(-block.rows // PART)
        if not programs:
            return
        kernels, threads = self._kernels(batch.tokens.shape[1], block.rows)
        what = (*self._batch_arguments(batch), *block.arguments, np.int64(PART))
        blocks = _blocks(programs * parts, threads[1])
        if parts == 1 and not more:
            arguments = (*what, self._parameters, sums.losses, sums.ok, None)
            kernels["errors"](blocks, threads, arguments, _SHARED)
            return
        scratch = self._room(programs, parts)
        self._stopped[:programs] = 0
        kept = (scratch.losses, scratch.ok)
        kernels["errors"](blocks, threads, (*what, self._parameters, *kept, self._stopped), _SHARED)
        into = (np.int32(more), sums.losses, sums.ok)
        self._by_program(kernels["add_parts"], batch, (*kept, np.int32(parts)), into)

    def _room(self, programs: int, parts: int) -> Sums:
        """Where the sums of parts go; it grows when more is asked for than ever before."""
        if len(self._stopped) < programs:
            self._stopped = self.device.xp.empty(programs, dtype=np.uint8)
        if len(self._scratch.ok) < programs * parts:
            self._scratch = self._empty(programs * parts)
        return self._scratch

    def _predict(self, batch: Batch, block: RowBlock, values: Array, ok: Array) -> None:
        kernels, threads = self._kernels(batch.tokens.shape[1], block.rows)
        what = (*self._batch_arguments(batch), *block.arguments, np.int64(PART), values, ok)
        items = len(batch.lengths) * -(-block.rows // PART)
        kernels["predict"](_blocks(items, threads[1]), threads, what, _SHARED)

    def _batch_arguments(self, batch: Batch) -> tuple[Any, ...]:
        return (
            batch.tokens,
            batch.lengths,
            batch.constants,
            np.int32(batch.tokens.shape[1]),
            np.int32(batch.constants.shape[1]),
            np.int32(self._steps.constant),
            np.int64(len(batch.lengths)),
            np.int32(batch.per_run),
            batch.dataset,
            batch.active,
            self._step_table,
        )

    def _kernels(self, length: int, rows: int) -> tuple[Mapping[str, Kernel], tuple[int, int]]:
        """Kernels for programs of so many tokens on so many rows, and the threads of a block."""
        length, at_once = usual_length(length), 1 if rows <= FEW_ROWS else 4
        if (length, at_once) not in self._known:
            stack = power_of_two(self._steps.depth(length))
            if stack > DEEPEST:
                raise InputError(
                    "a program nests too deeply to be evaluated; lower the maximum length"
                )
            source = evaluation_source(self._steps, stack, at_once, self._strict, self._losses)
            names = ("errors", "add_parts", "predict", "judge_fits")
            self._known[length, at_once] = compiled(self.device, source, *names)
        return self._known[length, at_once], self._threads(rows)

    def _threads(self, rows: int) -> tuple[int, int]:
        if self.device.warp == 1:
            return 1, 1
        return (self.device.warp, 8) if rows < WARP_ROWS else (256, 1)


def most_leaves(length: int, library: Library) -> int:
    """How many leaves a program of so many tokens has at most.

    >>> most_leaves(30, Library(["add", "sin"], ["x"]))
    15
    """
    widest = max(1, int(library.arity.max()))
    return length - -(-(length - 1) // widest)


def evaluation_source(
    steps: Steps,
    stack: int,
    rows: int,
    strict: bool,
    losses: Sequence[Loss] = (SQUARED, ABSOLUTE),
) -> str:
    """The source of the kernels, for threads that work on so many rows at once."""
    sizes = {"STACK": stack, "ROWS": rows, "STRICT": int(strict)}
    sizes |= {"LOSSES": len(losses), "MAX_K": 1}  # no derivatives
    named = " ".join(f"X({place}, {each.name})" for place, each in enumerate(losses))
    more = f"{operation_text(steps)}\n#define EACH_LOSS(X) {named}\n"
    shared = ("shared/losses.hpp", "shared/keys.hpp", "shared/fits.hpp")
    return with_sizes(sizes, *shared, "programs.cuh", "reading.cuh", "evaluation.cuh", more=more)


_SHARED = 8 * 8  # bytes: a number for each warp of a block


def _blocks(items: int, per_block: int) -> int:
    return min(-(-items // per_block), MOST_BLOCKS)


def _constants_of(programs: Programs) -> NDArray[np.intp]:
    """How many constants each program has [P]."""
    token = programs.library.constant_id
    if token is None:
        return np.zeros(len(programs), dtype=np.intp)
    return np.asarray(np.count_nonzero(programs.tokens == token, axis=1))


def _distinct(programs: Programs) -> int:
    """How many programs differ in their tokens or constants."""
    constants = np.array(filled_constants(programs.library, programs))
    if programs.library.constant_id is not None:
        counts = _constants_of(programs)
        constants[np.arange(constants.shape[1]) >= counts[:, None]] = 0.0
    rows = np.hstack(
        [np.ascontiguousarray(programs.tokens).view(np.uint8), constants.view(np.uint8)]
    )
    return len({row.tobytes() for row in rows})
