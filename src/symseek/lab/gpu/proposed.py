"""Programs that the structure of a table proposes to every search on it, and their arrays.

The host finds them once for all searches. The kernels let them join the first batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.engines.cuda.device import Array, Device
from symseek.evaluation import Graded
from symseek.front import Front


@dataclass(frozen=True)
class Proposed:
    """What the data of a table bring to the first iteration of every search on it."""

    batch: Graded  # what the constraints allow, which joins the batch
    front: Front  # of all of it
    expressions: int  # that it took


class OnDevice:
    """What is proposed for each table, on the device."""

    def __init__(
        self, device: Device, proposed: Sequence[Proposed | None], length: int, constants: int
    ) -> None:
        known = [each for each in proposed if each is not None]
        most = max((len(each.batch.programs) for each in known), default=0) or 1
        entries = max((len(each.front) for each in known), default=0) or 1

        def put(of: Callable[[Proposed], Any], fill: float, dtype: type, *shape: int) -> Array:
            parts = [None if each is None else np.asarray(of(each)) for each in proposed]
            return device.xp.asarray(_stacked(parts, fill, dtype, shape))

        self.arguments: tuple[Any, ...] = (
            put(lambda each: each.batch.programs.tokens, -1, np.int16, most, length),
            put(lambda each: each.batch.programs.lengths, 0, np.int32, most),
            put(lambda each: each.batch.programs.constants, 1.0, np.float64, most, constants),
            put(lambda each: each.batch.rewards, 0.0, np.float64, most),
            put(lambda each: each.batch.ok, 0, np.uint8, most),
            put(lambda each: [len(each.batch.programs)], 0, np.int32, 1),
            put(lambda each: [each.expressions], 0, np.int32, 1),
            np.int32(most),
            put(lambda each: [entry.complexity for entry in each.front], 0, np.int32, entries),
            put(lambda each: [entry.reward for entry in each.front], 0.0, np.float64, entries),
            put(lambda each: [entry.found_at for entry in each.front], 0, np.int32, entries),
            put(lambda each: [len(each.front)], 0, np.int32, 1),
            np.int32(entries),
        )


def _stacked(
    parts: Sequence[NDArray[Any] | None], fill: float, dtype: type, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Arrays of different sizes as one [D, ...], each in the corner of its part."""
    table: NDArray[Any] = np.full((len(parts), *shape), fill, dtype=dtype)
    for row, part in zip(table, parts, strict=True):
        if part is not None and part.size:
            corner = tuple(slice(min(sizes)) for sizes in zip(row.shape, part.shape, strict=True))
            row[corner] = part[corner]
    return table
