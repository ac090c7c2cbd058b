"""The CUDA engine behind the interface that all engines have.

What a GPU does not do better is left to the native engine: a policy under constraints that are
Python functions, or with very many units, and children of very long programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.constraints import ConstraintSet
from symseek.constraints.tables import RuleTables
from symseek.engines.cuda.breeding import LONGEST, BreedingKernels, CudaBreeder
from symseek.engines.cuda.device import Device, GpuDevice
from symseek.engines.cuda.evaluator import CudaEvaluator
from symseek.engines.cuda.pairing import pair
from symseek.engines.cuda.policy import CudaPolicy, PolicyKernels, TooLarge
from symseek.engines.cuda.rules import device_rules
from symseek.engines.interface import Breeder, Pairs, Policy, Turn
from symseek.engines.native import NativeEngine
from symseek.errors import InputError
from symseek.losses import ABSOLUTE, SQUARED, Loss
from symseek.programs import Programs
from symseek.tokens import Library


class CudaEngine:
    """A GPU, and threads of the host for what is left to it."""

    name = "cuda"

    def __init__(self, threads: int = 1, device: Device | None = None) -> None:
        self.device: Device = GpuDevice() if device is None else device
        self.host = NativeEngine(threads)
        self._kernels: WeakKeyDictionary[RuleTables, dict[int, PolicyKernels | None]]
        self._kernels = WeakKeyDictionary()
        self._breeding: WeakKeyDictionary[RuleTables, BreedingKernels | None] = WeakKeyDictionary()

    def policy(self, rules: ConstraintSet, hidden: int) -> Policy:
        """A network with `hidden` units."""
        kernels = self.policy_kernels(rules, hidden)
        return self.host.policy(rules, hidden) if kernels is None else CudaPolicy(rules, kernels)

    def policy_kernels(self, rules: ConstraintSet, hidden: int) -> PolicyKernels | None:
        """The kernels for rules and a size, made once; None where the device cannot have them."""
        if rules.custom:
            return None
        known = self._kernels.setdefault(rules.tables, {})
        if hidden not in known:
            tables = device_rules(rules.tables)
            try:
                made = None if tables is None else PolicyKernels(self.device, tables, hidden)
            except TooLarge:
                made = None
            known[hidden] = made
        return known[hidden]

    def permits(self, rules: ConstraintSet, programs: Programs) -> NDArray[np.bool_]:
        """Which programs [B] are complete and obey all constraints, custom ones included."""
        return self.host.permits(rules, programs)

    def evaluator(
        self,
        library: Library,
        X: Floats,
        y: Floats | None = None,
        weights: Floats | None = None,
        cache: int | None = None,
        underflow_invalid: bool = False,
        losses: Sequence[Loss] = (SQUARED, ABSOLUTE),
        scale: Floats | None = None,
    ) -> CudaEvaluator:
        """A data set X [N, n], y [N]."""
        if scale is not None:
            raise InputError(
                "the engine cuda has no parameters of losses that differ by row; use native"
            )
        return CudaEvaluator(library, self.device, X, y, weights, underflow_invalid, losses)

    def breeder(self, rules: ConstraintSet) -> Breeder:
        """A maker of children."""
        kernels = self.breeding_kernels(rules)
        return self.host.breeder(rules) if kernels is None else CudaBreeder(rules, kernels)

    def breeding_kernels(self, rules: ConstraintSet) -> BreedingKernels | None:
        """The kernels for rules, made once; None where the device cannot have them."""
        if rules.tables not in self._breeding:
            tables = device_rules(rules.tables) if rules.max_length <= LONGEST else None
            constant = rules.library.constant_id
            made = None if tables is None else BreedingKernels(self.device, tables, constant)
            self._breeding[rules.tables] = made
        return self._breeding[rules.tables]

    def pair(
        self,
        values: Floats,
        candidates: Floats,
        target: Floats,
        weights: Floats,
        allowed: NDArray[np.bool_],
    ) -> Pairs:
        """What each of some values [P, N] lacks to be the target [N], of candidates [Q, N]."""
        return pair(self.device, values, candidates, target, weights, allowed)

    def advance(self, turns: Sequence[Turn]) -> list[Any]:
        """One search after another; `symseek.lab.gpu.searches` does many at once."""
        return [turn.take() for turn in turns]
