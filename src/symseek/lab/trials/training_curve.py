"""What is kept of a search while it runs: the curve of its rewards, and their distributions.

All runs of one budget are sampled on the same grid of expressions, so that they can be averaged,
and a curve has the same size however long the run was. An objective sees the rewards of every batch
first, so what records or changes them is an objective around the real one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symseek.arrays import Floats
from symseek.loop import Iteration
from symseek.objectives import Objective, RiskSeeking, Selection
from symseek.programs import Programs

POINTS = 100  # of a curve
DISTRIBUTIONS = 10  # how often the distribution of a batch's rewards is kept
SAMPLE = 200  # quantiles that stand for a batch: its best twentieth is ten of them
DIGITS = 6  # of a reward in a curve: more than a picture shows


class _Around:
    """An objective that passes on to another one."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.epsilon = getattr(objective, "epsilon", RiskSeeking.epsilon)

    def start(self) -> Any:
        return self.objective.start()


class NoisyRewards(_Around):
    """An objective that learns from rewards with Gaussian noise: R' = R + N(0, sigma).

    The front keeps the rewards as they are: only the learning sees the noise. An invalid program
    stays at 0. The same seed gives the same noise.
    """

    def __init__(self, objective: Objective, sigma: float, seed: int) -> None:
        super().__init__(objective)
        self.sigma = sigma
        self._random = np.random.Generator(np.random.Philox(seed))

    def select(self, state: Any, programs: Programs, rewards: Floats) -> tuple[Selection, Any]:
        noise = self._random.normal(0.0, self.sigma, len(rewards))
        return self.objective.select(state, programs, np.where(rewards > 0, rewards + noise, 0.0))


class RewardRecorder(_Around):
    """An objective that keeps the rewards of the last batch."""

    rewards: Floats = np.empty(0)

    def select(self, state: Any, programs: Programs, rewards: Floats) -> tuple[Selection, Any]:
        self.rewards = rewards
        return self.objective.select(state, programs, rewards)


class TrainingCurve:
    """The columns of a curve, filled iteration by iteration.

    `expressions`, then rewards: `mean` and `top` (mean of the best epsilon) of the batch, `best` so
    far. With a recorder also `looks` and `batches`: at some iterations, the first and the last
    among them, quantiles of the batch's rewards.
    """

    def __init__(self, budget: int, curve: bool, recorder: RewardRecorder | None = None) -> None:
        self._spacing = {"curve": budget / POINTS, "distribution": budget / DISTRIBUTIONS}
        self._due = {"curve": 0.0, "distribution": 0.0}
        self._budget = budget
        self._curve = curve
        self._recorder = recorder
        self._last: tuple[int, float, float, float] | None = None
        names = ["expressions", "mean", "top", "best"] if curve else []
        names += ["looks", "batches"] if recorder else []
        self.columns: dict[str, list[Any]] = {name: [] for name in names}

    def __call__(self, now: Iteration) -> None:
        """Add an iteration, if it is one to keep."""
        best = now.best.reward if now.best else 0.0
        self.add(now.expressions, now.mean_reward, now.top_mean_reward, best)
        if self._recorder is not None and self._reached("distribution", now.expressions):
            self._add_distribution(now, self._recorder)

    def add(self, expressions: int, mean: float, top: float, best: float) -> None:
        """Add the rewards of a batch, and the best so far."""
        self._last = expressions, mean, top, best
        if self._curve and self._reached("curve", expressions):
            self._add_point(*self._last)

    def finish(self) -> dict[str, list[Any]]:
        """The columns, with the last iteration at their end."""
        last = self._last
        if last is not None and self._curve and self.columns["expressions"][-1] != last[0]:
            self._add_point(*last)
        return self.columns

    def _reached(self, what: str, expressions: int) -> bool:
        if expressions < min(self._due[what], self._budget):
            return False
        spacing = self._spacing[what]
        self._due[what] = spacing * (expressions // spacing + 1)
        return True

    def _add_point(self, expressions: int, mean: float, top: float, best: float) -> None:
        self.columns["expressions"].append(expressions)
        for name, value in (("mean", mean), ("top", top), ("best", best)):
            self.columns[name].append(round(value, DIGITS))

    def _add_distribution(self, now: Iteration, recorder: RewardRecorder) -> None:
        levels = (np.arange(SAMPLE) + 0.5) / SAMPLE
        rewards = np.quantile(recorder.rewards, levels)
        self.columns["looks"].append(now.iteration)
        self.columns["batches"].append(rewards.round(DIGITS).tolist())
