"""The policy on a device: programs drawn, scored and learnt from, for one search or many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.constraints import ConstraintSet
from symseek.engines.cuda.device import Array, Device, Kernel
from symseek.engines.cuda.rules import DeviceRules
from symseek.engines.cuda.source import compiled, with_sizes
from symseek.engines.interface import (
    Sample,
    Score,
    check_library,
    check_permitted,
    check_weights,
    unfitted_constants,
)
from symseek.policy import AdamState
from symseek.programs import Programs

Weights = NDArray[np.float32]

CHUNK = 64  # programs of an item of work
WARPS = 8  # of a block that scores, fewer where its memory is short
SAMPLES = 1  # programs that a thread draws at a time
_DRAWING = 128  # threads of a block that draws
_WIDE = 256  # threads of a block that adds up
_TENSOR_WARPS = 8  # of a block that draws on tensor cores
_TENSOR_HIDDEN = 32  # units for which there are tensor cores
_PAIRS = 64 << 10  # bytes that a table of all pairs of inputs may take
_FILES = (
    *("shared/random.hpp", "shared/rules.hpp", "rules.cuh"),
    *("network.cuh", "sampling.cuh", "gradient.cuh"),
)
_KERNELS = ("sample", "score", "add_parts", "ascend")


class TooLarge(Exception):
    """A network or library that has no room in the shared memory of a block."""


class PolicyKernels:
    """The kernels for one set of rules and one size of the network, and the tables they read.

    Arrays of R runs lie side by side: weights [R, P], tokens [R, rows, T]. All calls return before
    the device has finished.
    """

    def __init__(self, device: Device, rules: DeviceRules, hidden: int) -> None:
        self.device, self.hidden, self.sizes = device, hidden, rules.sizes
        xp = device.xp
        self._tables = tuple(xp.asarray(each) for each in (rules.words, rules.integers, rules.bias))
        numbers = {
            **rules.sizes,
            "H": hidden,
            "SAMPLES": SAMPLES if device.warp > 1 else 1,
            "CHUNK": CHUNK,
        }
        tokens, width, steps = rules.sizes["L"], hidden + 1, rules.sizes["T"]
        self.weights = 4 * hidden * (2 * (tokens + 1) + hidden + 1) + (hidden + 1) * tokens
        inputs = 2 * (tokens + 1)
        drawing = (hidden * hidden + inputs * width) * 16 + (tokens * hidden + tokens) * 4
        layers = (hidden + inputs) * width * 16 + (hidden * (tokens | 1) + tokens) * 4 + 16
        exchange = (inputs + 1) * hidden * 16 + (hidden + tokens) * 4 + 16
        routes = CHUNK * (steps * 8 * (rules.sizes["WORDS"] + 1) + 8)
        room = (device.shared_memory - layers - routes) // exchange
        if room < 1 or drawing > device.shared_memory:
            raise TooLarge
        self.warps = min(WARPS, room) if device.warp > 1 else 1
        self._shared = {"sample": drawing, "score": layers + routes + self.warps * exchange}
        row = (4 * hidden + 8) * 4
        combined = (tokens + 1) ** 2 * row <= _PAIRS
        tiles, logits = (hidden // 8) ** 2, -(-tokens // 8)
        tables = (4 * tiles + logits * (hidden // 8)) * 32 * 16
        tables += ((tokens + 1) ** 2 if combined else inputs) * row
        self._shared["tensor_sample"] = tables + _TENSOR_WARPS * 32 * (8 * logits + 1) * 4
        self.tensor = (
            device.tensor_cores
            and hidden == _TENSOR_HIDDEN
            and self._shared["tensor_sample"] <= device.shared_memory
        )
        self._blocks = 2 * device.processors if device.warp > 1 else 1
        self._traces = xp.empty((self._blocks, self.warps, steps * 8 * hidden), dtype=np.float32)
        files = (*_FILES, "tensor_sampling.cuh") if self.tensor else _FILES
        names = (*_KERNELS, "tensor_sample") if self.tensor else _KERNELS
        self.source = with_sizes({**numbers, "COMBINED": int(combined)}, *files)
        self._kernels: dict[str, Kernel] = dict(compiled(device, self.source, *names))

    def sample(
        self,
        weights: Array,  # [R, P] float32
        seeds: Array,  # [R] uint64
        iterations: Array,  # [R] int32
        active: Array | None,  # [R] uint8: the others are left alone
        batch: int,
        tokens: Array,  # [R, rows, T] int16: the first `batch` rows are drawn
        lengths: Array,  # [R, rows] int32; -1 at a dead end
        entropy: Array,  # [R, rows] float32
    ) -> None:
        """Draw programs for every run."""
        runs, rows = lengths.shape
        name, threads, each = "sample", _DRAWING, SAMPLES
        if self.tensor:
            name, threads, each = "tensor_sample", 32 * _TENSOR_WARPS, 1
        parts = -(-batch // (threads * each)) if self.device.warp > 1 else 1
        given = (weights, seeds, iterations, active)
        sizes = (np.int32(batch), np.int32(rows), np.int32(parts))
        drawn = (tokens, lengths, entropy)
        self._launch(name, runs * parts, threads, (*self._tables, *given, *sizes, *drawn))

    def score(
        self,
        weights: Array,  # [R, P]
        tokens: Array,  # [R, rows, T]
        first_item: Array,  # [R + 1] int32: counts in chunks, added up
        counts: Array,  # [R] int32: programs of each run
        chosen: Array | None,  # [R, rows] int32: which rows these are
        weight: Array | None,  # [R, rows] float32
        share: Array | None,  # [R, rows] float32
        entropy_decay: float,
        log_probability: Array | None = None,  # [R, rows] float32
        entropy: Array | None = None,  # [R, rows] float32
        partial: Array | None = None,  # [items, warps, P] float32
    ) -> None:
        """Score programs; with `partial`, also the parts of the gradient."""
        runs, rows = tokens.shape[:2]
        given = (weights, tokens, np.int32(rows), np.int32(runs), first_item, counts, chosen)
        more = (weight, share, np.float32(entropy_decay), self._traces)
        results = (log_probability, entropy, partial)
        arguments = (*self._tables, *given, *more, *results)
        self._launch("score", self._blocks, self.device.warp, arguments, self.warps)

    def add_parts(self, partial: Array, first_item: Array, gradient: Array) -> None:
        """The gradient [R, P] of every run from its parts."""
        sizes = np.int32(len(gradient)), np.int32(self.warps)
        self._launch(
            "add_parts", self._wide(gradient), _WIDE, (partial, first_item, *sizes, gradient)
        )

    def ascend(
        self,
        weights: Array,  # [R, P], changed in place like the next two
        mean: Array,
        variance: Array,
        gradient: Array,
        first_item: Array,
        step: Array,  # [R] float32
        adam: tuple[float, float, float] = (0.9, 0.999, 1e-8),
    ) -> None:
        """One step of Adam for every run that has programs to learn from."""
        numbers = tuple(np.float32(each) for each in adam)
        sizes = tuple(np.int32(each) for each in weights.shape)
        given = (weights, mean, variance, gradient, first_item, step, *sizes)
        self._launch("ascend", self._wide(weights), _WIDE, (*given, *numbers))

    def _wide(self, array: Array) -> int:
        return -(-array.size // _WIDE) if self.device.warp > 1 else 1

    def _launch(
        self, name: str, blocks: int, threads: int, arguments: tuple[Any, ...], warps: int = 1
    ) -> None:
        width = threads if self.device.warp > 1 else 1
        self._kernels[name](blocks, (width, warps), arguments, self._shared.get(name, 0))


class CudaPolicy:
    """The network of one search on a device."""

    def __init__(self, rules: ConstraintSet, kernels: PolicyKernels) -> None:
        self.rules = rules
        self.kernels = kernels
        self._xp, self._get = kernels.device.xp, kernels.device.get

    def sample(self, weights: Weights, seed: int, iteration: int, batch: int) -> Sample:
        """Draw programs; the same arguments give the same programs."""
        check_weights(weights)
        xp, width = self._xp, self.rules.max_length
        tokens = xp.empty((1, batch, width), dtype=np.int16)
        lengths = xp.empty((1, batch), dtype=np.int32)
        entropy = xp.empty((1, batch), dtype=np.float32)
        seeds = xp.asarray(np.array([seed], dtype=np.uint64))
        iterations = xp.asarray(np.array([iteration], dtype=np.int32))
        given = xp.asarray(weights)[None], seeds, iterations, None
        self.kernels.sample(*given, batch, tokens, lengths, entropy)
        drawn, counts = self._get(tokens)[0], self._get(lengths)[0]
        if counts.min() < 0:
            prefix = drawn[int(np.argmin(counts))]
            dead_end = prefix[prefix >= 0].tolist()
            raise self.rules.dead_end(dead_end)
        constants = unfitted_constants(self.rules.library, drawn)
        programs = Programs._trusted(self.rules.library, drawn, counts, constants)
        return Sample(programs, self._get(entropy)[0])

    def score(self, weights: Weights, programs: Programs) -> Score:
        """Log-probability and entropy; -inf for a program that the constraints rule out."""
        return self._score(weights, programs, None, None, 1.0)

    def gradient(
        self,
        weights: Weights,
        programs: Programs,
        program_weights: NDArray[np.floating],
        entropy_weights: NDArray[np.floating],
        entropy_decay: float = 1.0,
    ) -> Score:
        """The gradient of sum_i w_i log p(tau_i) + v_i H(tau_i); weights w, v [B]."""
        score = self._score(weights, programs, program_weights, entropy_weights, entropy_decay)
        check_permitted(score, programs)
        return score

    def _score(
        self,
        weights: Weights,
        programs: Programs,
        weight: NDArray[np.floating] | None,
        share: NDArray[np.floating] | None,
        entropy_decay: float,
    ) -> Score:
        check_library(self.rules.library, programs)
        xp, count = self._xp, len(programs)
        if count == 0:
            nothing = np.zeros(0, dtype=np.float32)
            return Score(nothing, nothing, None if weight is None else np.zeros_like(weights))
        items = -(-count // CHUNK)
        first_item = xp.asarray(np.array([0, items], dtype=np.int32))
        given = xp.asarray(weights)[None], xp.asarray(self._padded(programs))[None], first_item
        counts = xp.asarray(np.array([count], dtype=np.int32))
        results = [xp.empty((1, count), dtype=np.float32) for _ in range(2)]
        if weight is None or share is None:
            self.kernels.score(*given, counts, None, None, None, entropy_decay, *results)
            return Score(self._get(results[0])[0], self._get(results[1])[0])
        on_device = [
            xp.asarray(np.asarray(each, dtype=np.float32))[None] for each in (weight, share)
        ]
        partial = xp.empty((items, self.kernels.warps, weights.size), dtype=np.float32)
        gradient = xp.empty((1, weights.size), dtype=np.float32)
        self.kernels.score(
            *given,
            counts,
            None,
            on_device[0],
            on_device[1],
            entropy_decay,
            results[0],
            results[1],
            partial,
        )
        self.kernels.add_parts(partial, first_item, gradient)
        return Score(*(self._get(each)[0] for each in (*results, gradient)))

    def _padded(self, programs: Programs) -> NDArray[np.int16]:
        """Tokens [B, T]; a program that is too long for the tables is cut, and so ruled out."""
        width = self.rules.max_length
        tokens = np.full((len(programs), width), -1, dtype=np.int16)
        shared = min(width, programs.tokens.shape[1])
        tokens[:, :shared] = programs.tokens[:, :shared]
        return tokens

    def ascend(
        self, weights: Weights, adam: AdamState, gradient: Weights, learning_rate: float
    ) -> tuple[Weights, AdamState]:
        """The weights and Adam's state after one step up the gradient."""
        after = replace(adam, steps=adam.steps + 1)
        xp = self._xp
        moved, mean, variance = (
            xp.array(each)[None] for each in (weights, adam.mean, adam.variance)
        )
        step = xp.asarray(np.array([after.step_size(learning_rate)], dtype=np.float32))
        one = xp.asarray(np.array([0, 1], dtype=np.int32))
        numbers = after.beta1, after.beta2, after.epsilon
        slope = xp.asarray(gradient)[None]
        self.kernels.ascend(moved, mean, variance, slope, one, step, numbers)
        found = replace(after, mean=self._get(mean)[0], variance=self._get(variance)[0])
        return self._get(moved)[0], found
