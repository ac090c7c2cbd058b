"""Rewards: how good is a fit? One number per program, larger is better, 0 for an invalid program.

The built-in rewards are formulas of the error sums that the engine returns, so predictions are
never stored. To add one, write a subclass of `ErrorReward` with its formula; if it falls with the
mean squared error alone, `curve` says how, and constants are fitted with derivatives. One that
takes another loss of the rows, such as Huber's, names it in `losses` (see `symseek.losses`).
`PredictionReward` takes any Python function of the predictions instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symseek.arguments import refused
from symseek.arrays import Floats
from symseek.data import Data
from symseek.errors import InputError, Setting, shown, unknown_name
from symseek.losses import ABSOLUTE, SQUARED, Loss


@dataclass(frozen=True)
class Curve:
    """A reward that rises and falls as 1 / (1 + (mse / scale)**power) does."""

    scale: float
    power: float  # 1/2 or 1

    def __post_init__(self) -> None:
        if self.power not in (0.5, 1.0):
            raise refused("the power of a curve", self.power, "0.5 or 1")
        if not self.scale > 0:
            raise refused("the scale of a curve", self.scale, "positive")


@dataclass(frozen=True)
class ErrorReward:
    """A reward computed from mean losses, those of `losses`. Constants are fitted by the first."""

    needs_spread: ClassVar[bool] = False
    losses: ClassVar[tuple[Loss, ...]] = (SQUARED, ABSOLUTE)

    def __call__(self, *means: Any, **named: Any) -> Floats:
        """Rewards [B] from the mean [B] of each loss, and then the standard deviation of y."""
        raise NotImplementedError

    def curve(self, spread: float) -> Curve | None:
        """How the reward falls with the mean of the first loss; None if it falls otherwise."""
        return None

    @property
    def is_squared(self) -> bool:
        """Whether the reward falls with the mean squared error, whatever else changes."""
        return self.losses[0] == SQUARED and self.curve(1.0) is not None

    def of_errors(self, errors: Floats, data: Data) -> float:
        """The reward of a program whose values are off by these errors [N]."""
        means = [np.average(each.values(errors), weights=data.weights) for each in self.losses]
        return float(self(*[np.array([float(mean)]) for mean in means], data.spread)[0])

    def row_losses(self, errors: Floats) -> Floats:
        """What each row counts against the reward."""
        return self.losses[-1 if self.curve(1.0) is None else 0].values(errors)


@dataclass(frozen=True)
class InverseNRMSE(ErrorReward):
    """1 / (1 + NRMSE), the paper's; NRMSE is the RMSE over the standard deviation of y.

    >>> import numpy as np
    >>> InverseNRMSE()(np.array([0.0, 4.0]), np.array([0.0, 2.0]), 2.0)
    array([1. , 0.5])
    """

    needs_spread: ClassVar[bool] = True

    def __call__(self, mse: Floats, mae: Floats, spread: float) -> Floats:
        return 1.0 / (1.0 + np.sqrt(mse) / spread)

    def curve(self, spread: float) -> Curve:
        return Curve(spread**2, 0.5)


@dataclass(frozen=True)
class InverseNMSE(ErrorReward):
    """1 / (1 + NMSE); NMSE is the mean squared error over the variance of y."""

    needs_spread: ClassVar[bool] = True

    def __call__(self, mse: Floats, mae: Floats, spread: float) -> Floats:
        return 1.0 / (1.0 + mse / spread**2)

    def curve(self, spread: float) -> Curve:
        return Curve(spread**2, 1.0)


@dataclass(frozen=True)
class InverseMSE(ErrorReward):
    """1 / (1 + MSE), in the target's own units."""

    def __call__(self, mse: Floats, mae: Floats, spread: float) -> Floats:
        return 1.0 / (1.0 + mse)

    def curve(self, spread: float) -> Curve:
        return Curve(1.0, 1.0)


@dataclass(frozen=True)
class InverseMAE(ErrorReward):
    """1 / (1 + MAE), in the target's own units; outliers count less."""

    def __call__(self, mse: Floats, mae: Floats, spread: float) -> Floats:
        return 1.0 / (1.0 + mae)


@dataclass(frozen=True)
class R2(ErrorReward):
    """The coefficient of determination, 0 where the fit is no better than the mean of y."""

    needs_spread: ClassVar[bool] = True

    def __call__(self, mse: Floats, mae: Floats, spread: float) -> Floats:
        return np.maximum(1.0 - mse / spread**2, 0.0)

    def curve(self, spread: float) -> Curve:
        return Curve(spread**2, 1.0)


@dataclass(frozen=True)
class PredictionReward:
    """Any function (y [N], predictions [B, N], weights [N]) -> rewards [B].

    It sees valid programs only. NaN marks a program as invalid.
    """

    function: Callable[[Floats, Floats, Floats], NDArray[np.floating]]

    def __post_init__(self) -> None:
        try:
            inspect.signature(self.function).bind("y", "predictions", "weights")
        except ValueError:  # a function in C does not say what it takes
            if isinstance(self.function, type):
                raise refused("the reward", self.function, "a function, not a type") from None
        except TypeError as error:
            raise InputError(
                f"{shown(self.function)} is no reward: it must be a function of the target,"
                f" predictions and weights, in this order ({error})",
                field=Setting("reward"),
                value=self.function,
            ) from None

    def __call__(self, data: Data, predictions: Floats) -> Floats:
        """Rewards [B], checked."""
        rewards = self.function(data.y, predictions, data.weights)
        return checked_rewards(rewards, len(predictions), "the reward function")


Reward = ErrorReward | PredictionReward

REWARDS: dict[str, type[ErrorReward]] = {
    "inverse_nrmse": InverseNRMSE,
    "inverse_nmse": InverseNMSE,
    "inverse_mse": InverseMSE,
    "inverse_mae": InverseMAE,
    "r2": R2,
}


def reward_named(reward: str | Reward | Callable[..., NDArray[np.floating]]) -> Reward:
    """The reward for a name, a reward object, or a function of predictions.

    >>> reward_named("r2")
    R2()
    """
    if isinstance(reward, ErrorReward | PredictionReward):
        return reward
    if isinstance(reward, str):
        if reward not in REWARDS:
            raise unknown_name("reward", reward, REWARDS, Setting("reward"))
        return REWARDS[reward]()
    if callable(reward):
        return PredictionReward(reward)
    raise InputError(
        f"{shown(reward)} is not a reward: give a name, a reward object or a function",
        field=Setting("reward"),
        value=reward,
    )


def checked_rewards(values: NDArray[np.floating], count: int, what: str) -> Floats:
    """A user's rewards as float64 [B]; NaN and -inf stay for the caller to treat as invalid."""
    try:
        rewards = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} returned something else than numbers: {error}") from None
    if rewards.shape != (count,):
        raise InputError(
            f"{what} returned shape {rewards.shape} for {count} programs; it must be ({count},)"
        )
    if (rewards == np.inf).any():
        raise InputError(f"{what} returned an infinite reward; rewards must be finite")
    return rewards
