"""How well one formula does on some rows: what the table of a model says of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from symseek.data import Data
from symseek.programs import Program
from symseek.rewards import ErrorReward, Reward

__all__ = ["Grade", "loss"]


@dataclass(frozen=True)
class Grade:
    """How well a program does on some rows; an undefined value on any is infinitely bad."""

    reward: float
    nrmse: float
    r2: float

    @classmethod
    def of(cls, program: Program, data: Data, reward: Reward) -> Grade:
        values = program.evaluate(data.X)
        if not np.isfinite(values).all():
            return cls(0.0, math.inf, -math.inf)
        with np.errstate(over="ignore"):
            errors = np.abs(values - data.y)
            mse = float(np.average(errors**2, weights=data.weights))
            mae = float(np.average(errors, weights=data.weights))
        nrmse = math.sqrt(mse) / data.spread if data.spread else math.inf
        if isinstance(reward, ErrorReward):
            graded = reward(np.array([mse]), np.array([mae]), data.spread)
        else:
            graded = reward(data, values[None])
        r2 = 1 - nrmse * nrmse
        # The mean explains nothing, but for rounding.
        return cls(float(graded[0]), nrmse, 0.0 if abs(r2) < 1e-12 else r2)


class Graded(Protocol):
    """A grade, or a formula that has one."""

    @property
    def reward(self) -> float: ...
    @property
    def nrmse(self) -> float: ...


def loss(graded: Graded, reward: Reward) -> float:
    """What is to be small: the NRMSE or, where the reward is no matter of squares, what it says."""
    if not isinstance(reward, ErrorReward):
        return math.exp(min(-graded.reward, 700.0)) if math.isfinite(graded.nrmse) else math.inf
    if reward.curve(1.0) is not None:
        return graded.nrmse
    return 1 / graded.reward - 1 if graded.reward > 0 else math.inf
