"""Parts of an engine with what they are asked about bound to them, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek import ConstraintSet, Library, PolicyConfig, Programs
from symseek.engines.interface import Engine, Sample, Score, engine_named
from symseek.policy import AdamState, PolicyWeights


class Policy:
    """A policy with its weights, seed and optimiser."""

    def __init__(
        self,
        rules: ConstraintSet,
        config: PolicyConfig | None = None,
        seed: int = 0,
        threads: int = 1,
        engine: str | Engine = "native",
    ) -> None:
        hidden = (config or PolicyConfig()).hidden
        self.rules = rules
        self.seed = seed
        self.engine = engine_named(engine, threads)
        self.weights = PolicyWeights.start(len(rules.library), hidden, seed)
        self.adam = AdamState.start(self.weights.flat.size)
        self.kernel = self.engine.policy(rules, hidden)

    def sample(self, batch: int, iteration: int) -> Sample:
        return self.kernel.sample(self.weights.flat, self.seed, iteration, batch)

    def score(self, programs: Programs) -> Score:
        return self.kernel.score(self.weights.flat, programs)

    def gradient(self, programs: Programs, *weights: Any) -> Score:
        return self.kernel.gradient(self.weights.flat, programs, *weights)

    def ascend(self, gradient: NDArray[np.float32], learning_rate: float) -> None:
        after, self.adam = self.kernel.ascend(self.weights.flat, self.adam, gradient, learning_rate)
        self.weights.flat[:] = after

    def permits(self, programs: Programs) -> NDArray[np.bool_]:
        return self.engine.permits(self.rules, programs)


class Breeder:
    """A breeder with its seed."""

    def __init__(self, rules: ConstraintSet, seed: int, threads: int = 1) -> None:
        self.seed = seed
        self.kernel = engine_named("native", threads).breeder(rules)
        self.begin, self.admit = self.kernel.begin, self.kernel.admit

    def breed(
        self,
        parents: Programs,
        fitness: NDArray[np.float64],
        iteration: int,
        generation: int,
        options: Any,
    ) -> Programs:
        return self.kernel.breed(
            parents, fitness, self.seed, iteration, generation, options, len(parents)
        )


def evaluator(library: Library, *data: Any, threads: int = 1, **more: Any) -> Any:
    """A data set on the native engine."""
    return engine_named("native", threads).evaluator(library, *data, **more)


def pair(*task: Any, threads: int = 1) -> Any:
    """Errors and candidates of the best pairs, by the native engine."""
    found = engine_named("native", threads).pair(*task)
    return found.error, found.candidate
