"""The kernels between grading and learning, for many runs: rewards, fronts, selections, items."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.engines.cuda.device import Array, Device, Kernel
from symseek.engines.cuda.policy import CHUNK
from symseek.engines.cuda.source import compiled, power_of_two, with_sizes
from symseek.objectives import (
    Objective,
    PriorityQueue,
    RiskSeeking,
    VanillaPolicyGradient,
    WholeQueue,
)
from symseek.rewards import InverseMAE, InverseMSE, InverseNMSE, InverseNRMSE, Reward
from symseek.search import SearchConfig

_REWARDS = (InverseNRMSE, InverseNMSE, InverseMSE, InverseMAE)  # by their number in the kernel
_ROOM = 32  # programs for which every queue has room: queues of different sizes are alike so
_THREADS = 256
_KERNELS = ("grade", "keep", "choose_programs", "plan_items", "count_iteration")


def reward_number(reward: Reward) -> int | None:
    """By which number the kernels know a reward; None if they do not.

    >>> reward_number(InverseNMSE())
    1
    """
    from symseek.rewards import R2

    kinds = (*_REWARDS, R2)
    return kinds.index(type(reward)) if type(reward) in kinds else None


@dataclass(frozen=True)
class LearningRule:
    """An objective as the kernels know it."""

    number: int
    epsilon: float = RiskSeeking.epsilon
    beta: float = 0.0
    imitation: float = 0.0
    queue: int = 1  # programs in the queue

    @property
    def room(self) -> int:
        """Places for programs in the queue of every run beside it."""
        return power_of_two(max(self.queue, _ROOM))

    @property
    def extra(self) -> int:
        """Rows beside the batch for programs of the queue."""
        return {2: 1, 3: self.room}.get(self.number, 0)


def learning_rule(objective: Objective) -> LearningRule | None:
    """How the kernels learn by an objective; None if they cannot.

    >>> learning_rule(RiskSeeking(0.1))
    LearningRule(number=0, epsilon=0.1, beta=0.0, imitation=0.0, queue=1)
    """
    if type(objective) is RiskSeeking:
        return LearningRule(0, objective.epsilon)
    if type(objective) is VanillaPolicyGradient:
        return LearningRule(1, beta=objective.beta)
    if type(objective) is PriorityQueue:
        return LearningRule(2, objective.epsilon, imitation=objective.weight, queue=objective.size)
    if type(objective) is WholeQueue:
        return LearningRule(3, queue=objective.size)
    return None


@dataclass(frozen=True)
class Own:
    """What each of the runs that advance together may have of its own, as `learning.cuh` has it."""

    epsilon: float
    beta: float
    imitation: float
    queue: float
    entropy_weight: float
    learning_rate: float
    reward_noise: float

    @classmethod
    def of(cls, config: SearchConfig, reward_noise: float = 0.0) -> Own:
        """The numbers of a search whose objective the kernels know."""
        rule = learning_rule(config.objective)
        assert rule is not None
        given = (rule.epsilon, rule.beta, rule.imitation, rule.queue)
        return cls(*given, config.entropy_weight, config.learning_rate, reward_noise)

    @property
    def row(self) -> NDArray[np.float64]:
        """[`OWN`] as the kernels read it."""
        return np.array(astuple(self), dtype=np.float64)


OWN = len(fields(Own))


class LearningKernels:
    """Launches the kernels; arrays of R runs lie side by side."""

    def __init__(
        self, device: Device, rule: LearningRule, length: int, constants: int, complexities: int
    ) -> None:
        self.device, self.rule = device, rule
        self.complexities = complexities
        numbers = {
            "T": length,
            "K": constants,
            "C": complexities,
            "Q": rule.room,
            "OBJECTIVE": rule.number,
        }
        source = with_sizes(numbers, "shared/random.hpp", "learning.cuh")
        self._kernels: dict[str, Kernel] = dict(compiled(device, source, *_KERNELS))
        self._wide = device.warp > 1

    def grade(self, arrays: tuple[Array, ...], kind: int, batch: int, rewards: Array) -> None:
        """Rewards [R, rows]; `arrays` are losses, ok, active, dataset, total, spread."""
        runs, rows = rewards.shape
        sizes = (np.int32(kind), np.int32(runs), np.int32(rows), np.int32(batch))
        blocks = -(-rewards.size // _THREADS)
        self._launch("grade", blocks, 0, (*arrays, *sizes, rewards), spread=True)

    def keep(
        self,
        arrays: tuple[Array, ...],  # tokens, lengths, constants, ok, rewards, active
        clock: tuple[Array, int],  # [R] int32, and how much later it is
        complexity: Array,
        counts: Array | None,  # [R] int32: programs of each run; None: `batch`
        batch: int,
        ask: float,
        kept: tuple[Array, ...],  # the front: reward, tokens, constants, found, source; asks
    ) -> None:
        """The best of each complexity."""
        runs, rows = arrays[1].shape
        when = (clock[0], np.int32(clock[1]), complexity)
        sizes = (np.int32(rows), counts, np.int32(batch), np.float64(ask))
        self._launch("keep", runs, self.complexities * 12, (*arrays, *when, *sizes, *kept))

    def choose(
        self,
        given: tuple[Array, ...],  # rewards, active, seeds, iterations
        batch: int,
        own: Array,  # [R, OWN]
        entropy: Array,
        tokens: Array,
        memory: tuple[Array, ...],  # baseline, queue_reward, queue_tokens, queue_size
        chosen: tuple[Array, ...],  # chosen, weight, share, counts
        stats: Array,
        counted: tuple[Array | None, ...],  # offered, shown, samples, expressions
        front: Array,  # its rewards
    ) -> None:
        """What to learn from."""
        runs, rows = given[0].shape
        sizes = (np.int32(rows), np.int32(batch), *counted, front)
        given = (*given, *sizes, own, entropy, tokens, *memory, *chosen, stats)
        shared = (rows + 33) * 8 + _THREADS * 4
        self._launch("choose_programs", runs, shared, (*given, np.int32(stats.shape[1])))

    def plan(
        self, counts: Array, iterations: Array, own: Array, first_item: Array, step: Array
    ) -> None:
        """The items of work, and the size of Adam's step."""
        sizes = (np.int32(len(counts)), np.int32(CHUNK))
        betas = (np.float64(0.9), np.float64(0.999))
        given = (counts, iterations, *sizes, own, *betas, first_item, step)
        self._launch("plan_items", 1, (_THREADS + 1) * 4, given)

    def count(self, active: Array, asks: Array, iterations: Array, last: Array) -> None:
        """The end of an iteration."""
        runs = len(active)
        given = (active, asks, iterations, last, np.int32(runs))
        self._launch("count_iteration", -(-runs // _THREADS), 0, given, spread=True)

    def _launch(
        self, name: str, blocks: int, shared: int, arguments: tuple[Any, ...], spread: bool = False
    ) -> None:
        """`spread`: the blocks share the work, so that on the host one does it all."""
        threads = (_THREADS, 1) if self._wide else (1, 1)
        count = 1 if spread and not self._wide else blocks
        self._kernels[name](count, threads, arguments, shared)
