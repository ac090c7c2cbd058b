"""Constraints as the kernels read them: sizes for the source, and three arrays for the device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.constraints.tables import RuleTables
from symseek.engines.packing import packed, packed_rules

_MAX_SETS = 64  # of `not_all`: a bit each


@dataclass(frozen=True)
class DeviceRules:
    """The tables, one after another in an array for each type, and where each begins."""

    sizes: dict[str, int]  # names and numbers for the source
    words: NDArray[np.uint64]
    integers: NDArray[np.int32]
    bias: NDArray[np.float32]  # [T, 2, L]


class _Pile:
    """Arrays that are put one after another."""

    def __init__(self, dtype: type) -> None:
        self._dtype = dtype
        self._parts: list[NDArray[Any]] = []
        self.size = 0

    def put(self, array: NDArray[Any]) -> int:
        """Where the array begins in the pile."""
        at, flat = self.size, np.ascontiguousarray(array).ravel()
        self._parts.append(flat.astype(self._dtype))
        self.size += flat.size
        return at

    def array(self) -> NDArray[Any]:
        # An empty array has no address on some devices.
        return np.concatenate([*self._parts, np.zeros(1, dtype=self._dtype)])


def device_rules(tables: RuleTables) -> DeviceRules | None:
    """The tables for a device; None with units, or if there are too many sets for its bits.

    >>> from symseek import ConstraintSet, Library, paper_constraints
    >>> library = Library(["add", "sin"], variables=["x"])
    >>> rules = device_rules(ConstraintSet(library, paper_constraints()).tables)
    >>> rules.sizes["L"], rules.sizes["T"], rules.sizes["COUNTS"]
    (3, 30, 1)
    """
    if len(tables.not_all) > _MAX_SETS or tables.units is not None:
        return None
    given = packed_rules(tables)
    words, integers = _Pile(np.uint64), _Pile(np.int32)
    bits = np.uint64(1) << np.arange(len(tables.not_all), dtype=np.uint64)
    alike = (tables.not_all * bits[:, None]).sum(axis=0, dtype=np.uint64)  # [L]
    at = {
        "AT_CHILD": words.put(given["child"]),
        "AT_SIBLING": words.put(given["sibling"]),
        "AT_DESCENDANT": words.put(given["descendant"]),
        "AT_IN_FORCE": words.put(given["in_force"]),
        "AT_LENGTHS": words.put(given["at_length"]),
        "AT_NOT_ALL": words.put(packed(tables.not_all)),
        "AT_ALIKE": words.put(alike),
        "AT_NEEDS_AT_MOST": words.put(given["needs_at_most"]),
        "AT_HOLDS_AT_LEAST": words.put(given["holds_at_least"]),
        "AT_ARITY": integers.put(tables.arity),
        "AT_SLOT_LEAST": integers.put(tables.slot_least),
        "AT_SLOT_MOST": integers.put(tables.slot_most),
        "AT_NEEDS": integers.put(tables.needs),
        "AT_HOLDS": integers.put(tables.holds),
    }
    at["AT_COUNTS"] = integers.put(np.array(list(_counts(given["counts"], words, integers))))
    sizes = {
        "L": len(tables.arity),
        "T": tables.max_length,
        "WORDS": (len(tables.arity) + 63) // 64,
        "ARITIES": tables.max_arity,
        "COUNTS": len(tables.counts),
        "NOT_ALL": len(tables.not_all),
        "DESCENDANTS": len(tables.in_force),
        "MIN_LENGTH": tables.min_length,
        "SIZED": int(tables.sized),
        "EXACT_SETS": int(tables.exact_sets),
    }
    bias = np.ascontiguousarray(tables.bias, dtype=np.float32)
    return DeviceRules(sizes | at, words.array(), integers.array(), bias)


def _counts(rules: Iterable[dict[str, Any]], words: _Pile, integers: _Pile) -> Iterable[list[int]]:
    """Of each count rule its cap, and where its tables begin."""
    for rule in rules:
        allowed = np.asarray(rule["allowed"], dtype=np.uint32).view(np.int32)
        yield [
            int(rule["cap"]),
            integers.put(allowed),
            integers.put(np.asarray(rule["member"])),
            words.put(np.asarray(rule["class_sets"])),
        ]
