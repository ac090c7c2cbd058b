"""Objectives: which programs to learn from, and how much from each.

All are one idea: choose programs tau_i, a weight w_i and a share of the entropy bonus v_i for
each, then ascend sum_i w_i log p(tau_i) + lambda sum_i v_i H(tau_i). An objective is a pair of pure
functions: `start` gives its state, `select` turns (state, batch, rewards) into (selection, state).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from symseek.arguments import ABOVE_0, FINITE, check_fields
from symseek.arrays import Floats
from symseek.programs import Programs


@dataclass(frozen=True)
class Selection:
    """Programs to learn from."""

    programs: Programs
    weights: Floats  # [B] of the log-probabilities
    entropy_shares: Floats  # [B] of the entropy bonus, sum 1


class Objective(Protocol):
    """What the search asks of an objective."""

    def start(self) -> Any:
        """The state before the first batch."""

    def select(self, state: Any, programs: Programs, rewards: Floats) -> tuple[Selection, Any]:
        """What to learn from this batch, and the next state."""


def top_quantile(rewards: Floats, epsilon: float) -> float:
    """The (1 - epsilon) empirical quantile, the higher of two neighbours.

    >>> float(top_quantile(np.arange(1000.0), 0.05))
    950.0
    """
    rank = int(np.ceil((1.0 - epsilon) * (len(rewards) - 1)))
    return float(np.partition(rewards, rank)[rank])


@dataclass(frozen=True)
class RiskSeeking:
    r"""The risk-seeking policy gradient: learn from the best `epsilon` of each batch.

    .. math:: \frac{1}{n} \sum_{R_i \ge R_\epsilon} (R_i - R_\epsilon) \nabla \log p(\tau_i)

    with n the number of programs kept, all ties with the threshold included (Petersen et al. 2021,
    Algorithm 1).
    """

    epsilon: float = 0.05

    def __post_init__(self) -> None:
        check_fields(self, epsilon=(ABOVE_0, 1))

    def start(self) -> None:
        return None

    def select(self, state: None, programs: Programs, rewards: Floats) -> tuple[Selection, None]:
        threshold = top_quantile(rewards, self.epsilon)
        kept = np.flatnonzero(rewards >= threshold)
        weights = (rewards[kept] - threshold) / len(kept)
        return Selection(programs[kept], weights, np.full(len(kept), 1.0 / len(kept))), None


@dataclass(frozen=True)
class VanillaPolicyGradient:
    r"""REINFORCE with a moving-average baseline: learn from the whole batch.

    .. math:: \frac{1}{N} \sum_i (R_i - b) \nabla \log p(\tau_i), \quad
              b \leftarrow \beta \bar R + (1 - \beta) b
    """

    beta: float = 0.25

    def __post_init__(self) -> None:
        check_fields(self, beta=(ABOVE_0, 1))

    def start(self) -> float | None:
        return None

    def select(
        self, state: float | None, programs: Programs, rewards: Floats
    ) -> tuple[Selection, float]:
        mean = float(rewards.mean())
        baseline = mean if state is None else self.beta * mean + (1.0 - self.beta) * state
        count = len(rewards)
        weights = (rewards - baseline) / count
        return Selection(programs, weights, np.full(count, 1.0 / count)), baseline


@dataclass(frozen=True)
class Novelty:
    r"""Another objective, with a bonus for programs seldom seen: R + weight / sqrt(times seen).

    Only what the policy learns from changes; the rewards of the front do not. The counts are kept
    over the whole search, the present batch included.

    >>> objective = Novelty(RiskSeeking(0.05), weight=0.1)
    """

    objective: Objective
    weight: float = 0.1

    def __post_init__(self) -> None:
        check_fields(self, weight=0)

    def start(self) -> tuple[Any, dict[bytes, int]]:
        return self.objective.start(), {}

    def select(
        self, state: tuple[Any, dict[bytes, int]], programs: Programs, rewards: Floats
    ) -> tuple[Selection, tuple[Any, dict[bytes, int]]]:
        inner, seen = state  # the counts grow in place: they are too many to copy for each batch
        keys = [row[:n].tobytes() for row, n in zip(programs.tokens, programs.lengths, strict=True)]
        for key in keys:
            seen[key] = seen.get(key, 0) + 1
        bonus = self.weight / np.sqrt([seen[key] for key in keys])
        # An invalid program stays the worst there is, however new.
        selection, inner = self.objective.select(
            inner, programs, np.where(rewards > 0, rewards + bonus, rewards)
        )
        return selection, (inner, seen)


@dataclass(frozen=True)
class Queue:
    """The best distinct programs seen so far, best first."""

    programs: Programs | None = None
    rewards: Floats | None = None

    def with_best(self, programs: Programs, rewards: Floats, size: int) -> Queue:
        """The queue with programs taken in, `size` at most; of equals, the earlier stays."""
        if self.programs is not None and self.rewards is not None:
            full = len(self.rewards) == size
            worst = self.rewards[-1] if full else -np.inf
            better = np.flatnonzero(rewards > worst)
            if not len(better):
                return self
            programs = Programs.concatenate([self.programs, programs[better]])
            rewards = np.concatenate([self.rewards, rewards[better]])
        chosen: list[int] = []
        seen: set[bytes] = set()
        for row in np.argsort(-rewards, kind="stable"):
            key = programs.tokens[row, : programs.lengths[row]].tobytes()
            if key not in seen:
                seen.add(key)
                chosen.append(int(row))
            if len(chosen) == size:
                break
        return Queue(programs[chosen], rewards[chosen])


@dataclass(frozen=True)
class _Queued:
    """What the two kinds of priority queue training share."""

    size: int = 10  # programs in the queue

    def __post_init__(self) -> None:
        check_fields(self, size=1)

    def start(self) -> Queue:
        return Queue()


@dataclass(frozen=True)
class PriorityQueue(_Queued):
    r"""Priority queue training as the paper's authors ran it: imitate one of the best programs.

    The best program of each batch goes into a queue of the `size` best distinct ones. Each step
    imitates one of them, drawn at random, with a weight far above that of the entropy bonus, which
    is that of the best `epsilon` of the batch. On average, a step goes along

    .. math:: \frac{1}{k} \sum_{i=1}^{k} \nabla \log p(\tau^{[i]})

    as in `WholeQueue`; the single draws make it wander more, and that recovers more formulas.

    >>> PriorityQueue(10)
    PriorityQueue(size=10, weight=200.0, epsilon=0.05)
    """

    weight: float = 200.0  # of the imitated program
    epsilon: float = 0.05  # share of the batch that has the entropy bonus

    def __post_init__(self) -> None:
        check_fields(self, size=1, weight=(ABOVE_0, FINITE), epsilon=(ABOVE_0, 1))

    def select(self, state: Queue, programs: Programs, rewards: Floats) -> tuple[Selection, Queue]:
        best = [int(rewards.argmax())]
        queue = state.with_best(programs[best], rewards[best], self.size)
        assert queue.programs is not None
        imitated = queue.programs[[_draw(programs, len(queue.programs))]]
        kept = np.flatnonzero(rewards >= top_quantile(rewards, self.epsilon))
        weights, shares = np.zeros(1 + len(kept)), np.full(1 + len(kept), 1.0 / len(kept))
        weights[0], shares[0] = self.weight, 0.0
        return Selection(Programs.concatenate([imitated, programs[kept]]), weights, shares), queue


@dataclass(frozen=True)
class WholeQueue(_Queued):
    r"""Priority queue training by its formula: imitate all of the `size` best programs ever seen.

    .. math:: \frac{1}{k} \sum_{i=1}^{k} \nabla \log p(\tau^{[i]})

    Every program of a batch may enter the queue, and the entropy bonus is that of the queue
    (Abolafia et al. 2018). It has no random draw, so one step shows what the whole queue asks for.

    >>> WholeQueue(5)
    WholeQueue(size=5)
    """

    def select(self, state: Queue, programs: Programs, rewards: Floats) -> tuple[Selection, Queue]:
        queue = state.with_best(programs, rewards, self.size)
        assert queue.programs is not None
        equal = np.full(len(queue.programs), 1.0 / len(queue.programs))
        return Selection(queue.programs, equal, equal), queue


def _draw(programs: Programs, count: int) -> int:
    """A number below `count`, as random as the batch is.

    It follows from the batch alone, so selecting stays a pure function: a run that continues after
    a stop draws what it would have drawn.
    """
    seed = zlib.crc32(np.ascontiguousarray(programs.tokens).tobytes())
    return int(np.random.default_rng(seed).integers(count))
