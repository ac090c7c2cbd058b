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


class Grid:
    """Where on the way through a budget something is kept: at so many places, and at the start.

    >>> grid = Grid(1000, 4)
    >>> [at for at in range(100, 1001, 100) if grid.reached(at)]
    [100, 300, 500, 800, 1000]
    """

    def __init__(self, budget: int, places: int) -> None:
        self._budget, self._spacing, self._due = budget, budget / places, 0.0

    def reached(self, expressions: int) -> bool:
        """Whether a place is reached that was not reached before."""
        if expressions < min(self._due, self._budget):
            return False
        self._due = self._spacing * (expressions // self._spacing + 1)
        return True


def looks(budget: int, batch: int) -> tuple[int, ...]:
    """The iterations whose distribution is kept, where each has so many expressions.

    >>> looks(2_000_000, 1000)[:3]
    (1, 200, 400)
    """
    grid = Grid(budget, DISTRIBUTIONS)
    return tuple(at for at in range(1, budget // batch + 1) if grid.reached(at * batch))


class TrainingCurve:
    """The columns of a curve, filled iteration by iteration.

    `expressions`, then rewards: `mean` and `top` (mean of the best epsilon) of the batch, `best` so
    far. With distributions also `looks` and `batches`: at some iterations, the first and the last
    among them, quantiles of the batch's rewards.
    """

    def __init__(
        self,
        budget: int,
        curve: bool,
        distributions: bool = False,
        recorder: RewardRecorder | None = None,
    ) -> None:
        self._points, self._looks = Grid(budget, POINTS), Grid(budget, DISTRIBUTIONS)
        self._curve = curve
        self._recorder = recorder
        self._last: tuple[int, float, float, float] | None = None
        names = ["expressions", "mean", "top", "best"] if curve else []
        names += ["looks", "batches"] if distributions else []
        self.columns: dict[str, list[Any]] = {name: [] for name in names}

    def __call__(self, now: Iteration) -> None:
        """Add an iteration, if it is one to keep."""
        best = now.best.reward if now.best else 0.0
        self.add(now.expressions, now.mean_reward, now.top_mean_reward, best)
        if self._recorder is not None and self._looks.reached(now.expressions):
            self.add_batch(now.iteration, self._recorder.rewards)

    def add(self, expressions: int, mean: float, top: float, best: float) -> None:
        """Add the rewards of a batch, and the best so far."""
        self._last = expressions, mean, top, best
        if self._curve and self._points.reached(expressions):
            self._add_point(*self._last)

    def finish(self) -> dict[str, list[Any]]:
        """The columns, with the last iteration at their end."""
        last = self._last
        if last is not None and self._curve and self.columns["expressions"][-1] != last[0]:
            self._add_point(*last)
        return self.columns

    def _add_point(self, expressions: int, mean: float, top: float, best: float) -> None:
        self.columns["expressions"].append(expressions)
        for name, value in (("mean", mean), ("top", top), ("best", best)):
            self.columns[name].append(round(value, DIGITS))

    def add_batch(self, iteration: int, rewards: Floats) -> None:
        """Add the distribution of the rewards of a batch."""
        levels = (np.arange(SAMPLE) + 0.5) / SAMPLE
        self.columns["looks"].append(iteration)
        self.columns["batches"].append(np.quantile(rewards, levels).round(DIGITS).tolist())
