"""The arrays of searches side by side, by name: what each has on the device, and of which size."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from symseek.engines.cuda.device import Array, Device
from symseek.engines.cuda.policy import CHUNK


class Sizes(NamedTuple):
    """How large the arrays are."""

    runs: int
    rows: int  # programs of a run at a time
    width: int  # tokens
    constants: int
    costs: int  # complexities
    looks: int  # iterations that notes are kept of
    weights: int
    warps: int  # that score
    queue: int
    own: int  # numbers that each run has of its own


def arrays(device: Device, sizes: Sizes, evolves: bool) -> dict[str, Array]:
    """All zero; with `evolves`, also weights that never learn."""
    runs, rows, width, _, costs, looks, size, *_ = sizes
    shapes: dict[str, tuple[tuple[int, ...], Any]] = {
        "tokens": ((runs, rows, width), np.int16),
        "lengths": ((runs, rows), np.int32),
        "entropy": ((runs, rows), np.float32),
        "constants": ((runs, rows, sizes.constants), np.float64),
        "losses": ((2, runs, rows), np.float64),
        "ok": ((runs, rows), np.uint8),
        "status": ((runs, rows), np.uint8),
        "rewards": ((runs, rows), np.float64),
        "chosen": ((runs, rows), np.int32),
        "weight": ((runs, rows), np.float32),
        "share": ((runs, rows), np.float32),
        "counts": ((runs,), np.int32),
        "first_item": ((runs + 1,), np.int32),
        "step": ((runs,), np.float32),
        "partial": ((runs * -(-rows // CHUNK), sizes.warps, size), np.float32),
        "gradient": ((runs, size), np.float32),
        "weights": ((runs, size), np.float32),
        "mean": ((runs, size), np.float32),
        "variance": ((runs, size), np.float32),
        "seeds": ((runs,), np.uint64),
        "iterations": ((runs,), np.int32),
        "last": ((runs,), np.int32),
        "active": ((runs,), np.uint8),
        "asks": ((runs,), np.uint8),
        "dataset": ((runs,), np.int32),
        "own": ((runs, sizes.own), np.float64),
        "baseline": ((runs,), np.float64),
        "queue_reward": ((runs, sizes.queue), np.float64),
        "queue_tokens": ((runs, sizes.queue, width), np.int16),
        "queue_size": ((runs,), np.int32),
        "front_reward": ((runs, costs), np.float64),
        "front_tokens": ((runs, costs, width), np.int16),
        "front_constants": ((runs, costs, sizes.constants), np.float64),
        "front_found": ((runs, costs), np.int32),
        "front_source": ((runs, costs), np.int32),
        "stats": ((runs, looks, 6), np.float32),
    }
    if evolves:  # a policy that never learns, and the one that writes now
        shapes |= {name: ((runs, size), np.float32) for name in ("untrained", "now")}
    return {name: device.xp.zeros(shape, dtype=dtype) for name, (shape, dtype) in shapes.items()}
