"""The native core's face: arrays in, arrays filled. `engines` is what the package calls."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def simd() -> str: ...
def simd_variants() -> list[str]: ...
def operations() -> dict[str, int]: ...
def fit_methods() -> list[str]: ...

FIT_SAMPLE: int
EXACT_SHARE: float
DOUBLE_LANES: int

def losses() -> list[str]: ...
def fit_statuses() -> list[str]: ...
def pair_kinds() -> list[tuple[str, bool]]: ...
def adam(
    weights: NDArray[np.float32],
    mean: NDArray[np.float32],
    variance: NDArray[np.float32],
    gradient: NDArray[np.float32],
    step: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> None: ...

class Pool:
    def __init__(self, threads: int) -> None: ...

class Rules:
    def __init__(self, tables: dict[str, Any]) -> None: ...
    def permits(
        self,
        tokens: NDArray[np.int16],
        lengths: NDArray[np.int32],
        pool: Pool,
        ok: NDArray[np.bool_],
        ask: Callable[..., NDArray[np.float32]] | None = None,
    ) -> None: ...

class Policy:
    restarts: int

    def __init__(self, rules: Rules, hidden: int, pool: Pool) -> None: ...
    def sample(
        self,
        weights: NDArray[np.float32],
        seed: int,
        iteration: int,
        tokens: NDArray[np.int16],
        lengths: NDArray[np.int32],
        entropy: NDArray[np.float32],
        ask: Callable[..., NDArray[np.float32]] | None,
    ) -> list[int] | None: ...
    def score(
        self,
        weights: NDArray[np.float32],
        tokens: NDArray[np.int16],
        lengths: NDArray[np.int32],
        weight: NDArray[np.float32],
        entropy_weight: NDArray[np.float32],
        entropy_decay: float,
        log_probability: NDArray[np.float32],
        entropy: NDArray[np.float32],
        gradient: NDArray[np.float32] | None,
        ask: Callable[..., NDArray[np.float32]] | None,
    ) -> None: ...

def pair(
    values: NDArray[np.float64],
    candidates: NDArray[np.float64],
    inverses: NDArray[np.float64],
    target: NDArray[np.float64],
    weight: NDArray[np.float64],
    penalty: NDArray[np.float64],
    pool: Pool,
    error: NDArray[np.float64],
    index: NDArray[np.int64],
) -> None: ...

class Breeder:
    def __init__(self, rules: Rules, constant: int, pool: Pool) -> None: ...
    def begin(self, tokens: NDArray[np.int16], lengths: NDArray[np.int32]) -> None: ...
    def admit(
        self, tokens: NDArray[np.int16], lengths: NDArray[np.int32], ok: NDArray[np.bool_]
    ) -> None: ...
    def breed(
        self,
        tokens: NDArray[np.int16],
        lengths: NDArray[np.int32],
        constants: NDArray[np.float64],
        fitness: NDArray[np.float64],
        seed: int,
        iteration: int,
        generation: int,
        tournament: int,
        crossover: float,
        mutation: float,
        child_tokens: NDArray[np.int16],
        child_lengths: NDArray[np.int32],
        child_constants: NDArray[np.float64],
    ) -> int: ...

class Evaluator:
    def __init__(
        self,
        code: Sequence[Sequence[tuple[str, int, float]]],
        arity: Sequence[int],
        columns: NDArray[np.float64],
        target: NDArray[np.float64],
        weight: NDArray[np.float64],
        losses: list[tuple[str, float]],
        pool: Pool,
        cache: int,
        underflow_invalid: bool = False,
        begins: list[int] = ...,
        own: int = 0,
        scale: NDArray[np.float64] | None = None,
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    def errors(
        self,
        tokens: NDArray[np.int16],
        lengths: NDArray[np.int32],
        constants: NDArray[np.float64],
        sums: NDArray[np.float64],
        ok: NDArray[np.bool_],
    ) -> int: ...
    def fit(
        self,
        tokens: NDArray[np.int16],
        lengths: NDArray[np.int32],
        constants: NDArray[np.float64],
        method: str,
        restarts: int,
        max_steps: int,
        rescue: bool,
        scale: float,
        power: float,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        bounds: int,
        fitted: NDArray[np.float64],
        status: NDArray[np.uint8],
        sums: NDArray[np.float64],
        ok: NDArray[np.bool_],
        own: NDArray[np.float64] | None = None,
    ) -> int: ...
    def derivatives(
        self,
        tokens: NDArray[np.int16],
        lengths: NDArray[np.int32],
        constants: NDArray[np.float64],
        loss: NDArray[np.float64],
        gradient: NDArray[np.float64],
        normal: NDArray[np.float64],
        ok: NDArray[np.bool_],
    ) -> None: ...
    def predict(
        self,
        tokens: NDArray[np.int16],
        lengths: NDArray[np.int32],
        constants: NDArray[np.float64],
        predictions: NDArray[np.float64],
        ok: NDArray[np.bool_],
    ) -> None: ...
