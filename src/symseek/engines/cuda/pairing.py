"""Pairs of programs that together come near to the target, tried on the device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.engines.cuda.device import Array, Device, said_in_a_sentence
from symseek.engines.cuda.source import compiled, with_sizes
from symseek.engines.interface import PAIRS, Pairs

THREADS = 128  # of a block, which works on one program
_FOUND = 16  # bytes: an error and a candidate


def pair_source() -> str:
    """The source of the kernel."""
    return with_sizes({}, "shared/pairs.hpp", "pairing.cuh")


def pair(
    device: Device,
    values: Floats,
    candidates: Floats,
    target: Floats,
    weights: Floats,
    allowed: NDArray[np.bool_],
) -> Pairs:
    """What each of some values [P, N] lacks to be the target [N], of candidates [Q, N]."""
    kernel = compiled(device, pair_source(), "pair")["pair"]
    programs, rows = values.shape
    with said_in_a_sentence():
        on = [_on(device, each) for each in (values, candidates.T, target, weights)]
        with np.errstate(divide="ignore", over="ignore"):
            on.insert(2, 1.0 / on[1])
        error = device.xp.empty((programs, len(PAIRS)))
        index = device.xp.empty(error.shape, dtype=np.int64)
        permitted = device.xp.asarray(np.ascontiguousarray(allowed, dtype=np.uint8))
        sizes = (np.int64(each) for each in (programs, rows, len(candidates)))
        threads = THREADS if device.warp > 1 else 1
        if programs:
            arguments = (*on, permitted, *sizes, error, index)
            kernel(programs, (threads, 1), arguments, threads * len(PAIRS) * _FOUND)
        return Pairs(device.get(error), device.get(index))


def _on(device: Device, array: Floats) -> Array:
    return device.xp.asarray(np.ascontiguousarray(array, dtype=np.float64))
