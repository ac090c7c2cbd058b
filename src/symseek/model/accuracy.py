"""How well a formula does on some rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from symseek.arrays import Floats
from symseek.data import Data
from symseek.programs import Program
from symseek.rewards import ErrorReward, LossFunction, LossReward, Reward

_ROUNDING = 1e-6  # of the R2 of a mean with few digits


@dataclass(frozen=True)
class Accuracy:
    """How well a program does on some rows; an undefined value on any is infinitely bad."""

    reward: float
    nrmse: float
    r2: float
    loss: float | None = None  # the mean of the loss that was asked for, if there is one

    @classmethod
    def of(cls, program: Program, data: Data, reward: Reward) -> Accuracy:
        """The accuracy of a program."""
        return cls.of_values(program.evaluate(data.X), data, reward)

    @classmethod
    def of_values(cls, values: Floats, data: Data, reward: Reward) -> Accuracy:
        """The accuracy of predictions [N]."""
        if not np.isfinite(values).all():
            return cls(0.0, math.inf, -math.inf, math.inf)
        loss = None
        with np.errstate(over="ignore"):
            means = reward.loss.mean(values) if isinstance(reward, LossReward) else values
            mse = float(np.average((means - data.y) ** 2, weights=data.weights))
            if isinstance(reward, ErrorReward):
                graded = reward.of_values(values, data)
                if isinstance(reward, LossReward):
                    loss = reward.mean_loss(values, data)
            else:
                graded = float(reward(data, values[None])[0])
                if isinstance(reward, LossFunction):
                    loss = float(reward.losses(data, values[None])[0])
        nrmse = math.sqrt(mse) / data.spread if data.spread else math.inf
        r2 = 1 - nrmse * nrmse
        # The mean explains nothing, but for rounding.
        constant = abs(r2) < _ROUNDING and bool((values == values[0]).all())
        return cls(graded, nrmse, 0.0 if constant or abs(r2) < 1e-12 else r2, loss)


class HasAccuracy(Protocol):
    """An accuracy, or a formula that has one."""

    @property
    def reward(self) -> float: ...
    @property
    def nrmse(self) -> float: ...
    @property
    def loss(self) -> float | None: ...


def loss(found: HasAccuracy, reward: Reward) -> float:
    """What is to be small: the NRMSE, or what a reward of other errors falls with."""
    if isinstance(reward, LossReward | LossFunction):
        mean = math.inf if found.loss is None or math.isnan(found.loss) else found.loss
        return float(mean**reward.loss.kind.power) if isinstance(reward, LossReward) else mean
    if not isinstance(reward, ErrorReward):
        return math.exp(min(-found.reward, 700.0)) if math.isfinite(found.nrmse) else math.inf
    if reward.is_squared:
        return found.nrmse
    return 1 / found.reward - 1 if found.reward > 0 else math.inf
