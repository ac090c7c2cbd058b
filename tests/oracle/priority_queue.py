"""Priority queue training as the paper's authors ran it, written plainly.

The queue is a list of rewards and token sequences. A step's loss has two parts: 200 times the
log-probability of one member, and 0.005 times the mean entropy of the programs whose reward is in
the best twentieth of the batch. There is no policy gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Tokens = tuple[int, ...]


class PlainQueue:
    """The best distinct token sequences that were the best of their batch."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.members: list[tuple[float, Tokens]] = []

    def push(self, batch: Sequence[Tokens], rewards: Sequence[float]) -> None:
        """Take in the best of a batch, and drop the worst member if there are too many."""
        best = max(range(len(batch)), key=lambda at: rewards[at])  # the first of equals
        if any(tokens == batch[best] for _, tokens in self.members):
            return
        self.members.append((rewards[best], batch[best]))
        if len(self.members) > self.capacity:
            lowest = min(reward for reward, _ in self.members)
            last = max(at for at, (reward, _) in enumerate(self.members) if reward == lowest)
            del self.members[last]  # of equals, the later


def factors(
    batch: Sequence[Tokens],
    rewards: Sequence[float],
    imitated: Tokens,
    weight: float = 200.0,
    entropy_weight: float = 0.005,
    epsilon: float = 0.05,
) -> tuple[dict[Tokens, float], dict[Tokens, float]]:
    """By program, its factor on the log-probability and on the entropy in one step's objective."""
    threshold = np.quantile(rewards, 1 - epsilon, method="higher")
    kept = [tokens for tokens, reward in zip(batch, rewards, strict=True) if reward >= threshold]
    entropies: dict[Tokens, float] = {}
    for tokens in kept:
        entropies[tokens] = entropies.get(tokens, 0.0) + entropy_weight / len(kept)
    return {imitated: weight}, entropies


class PlainAdam:
    """Adam in float64, with the small number in the denominator where TensorFlow has it."""

    def __init__(self, size: int, rate: float) -> None:
        self.mean, self.variance, self.steps = np.zeros(size), np.zeros(size), 0
        self.rate = rate

    def ascend(self, flat: Array, gradient: Array) -> Array:
        """The weights after one step."""
        self.steps += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.variance = 0.999 * self.variance + 0.001 * gradient**2
        rate = self.rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        moved: Array = flat + rate * self.mean / (np.sqrt(self.variance) + 1e-8)
        return moved
