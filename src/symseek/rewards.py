"""Rewards: how good is a fit? One number per program, larger is better, 0 for an invalid program.

The built-in rewards are formulas of the error sums that the engine returns, so predictions are
never stored. To add one, write a subclass of `ErrorReward` with its formula; if it falls with the
mean squared error alone, `curve` says how, and constants are fitted with derivatives. One that
takes another loss of the rows, such as Huber's, names it in `losses` (see `symseek.losses`);
`LossReward` is that of any loss. `PredictionReward` takes any Python function of the predictions
instead, and `LossFunction` a loss of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
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

    @property
    def any_units(self) -> bool:
        """Whether it is the same in whatever units the target is."""
        return self.needs_spread

    def unit(self, data: Data) -> float:
        """What errors count by on these rows, the last argument of a call: the spread of y."""
        return data.spread

    def of_values(self, values: Floats, data: Data) -> float:
        """The reward of a program with these values [N]."""
        means = (self._mean(each, values, data) for each in self.losses)
        return float(self(*[np.array([mean]) for mean in means], self.unit(data))[0])

    def mean_loss(self, values: Floats, data: Data) -> float:
        """The mean of the first loss of a program with these values [N]."""
        return self._mean(self.losses[0], values, data)

    def row_losses(self, values: Floats, data: Data) -> Floats:
        """What each row counts against the reward, of programs with these values [..., N]."""
        return self.row_loss.values(data.y, values, data.sigma)

    @property
    def row_loss(self) -> Loss:
        """The loss that it falls with."""
        return self.losses[-1 if self.curve(1.0) is None else 0]

    @staticmethod
    def _mean(loss: Loss, values: Floats, data: Data) -> float:
        return float(np.average(loss.values(data.y, values, data.sigma), weights=data.weights))


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
class LossReward(ErrorReward):
    """1 / (1 + a part), the loss as a part of that of the best number, or the root of it.

    >>> InverseNRMSE()(4.0, 0.0, 2.0) == LossReward(SQUARED)(np.array([4.0]), 4.0)
    array([ True])
    """

    loss: Loss

    def __post_init__(self) -> None:
        object.__setattr__(self, "losses", (self.loss,))

    def __call__(self, *means: Any, **named: Any) -> Floats:
        """Rewards [B] from the mean loss [B] and that of the best number."""
        mean, unit = means
        power = self.loss.kind.power
        return np.asarray(1.0 / (1.0 + (np.sqrt(mean / unit) if power == 0.5 else mean / unit)))

    def curve(self, spread: float) -> Curve:
        return Curve(spread, self.loss.kind.power)

    @property
    def is_squared(self) -> bool:
        return False

    @property
    def any_units(self) -> bool:
        return not self.loss.kind.has_units

    def unit(self, data: Data) -> float:
        """The mean loss of the best number; 1 where that is none, or infinite."""
        number = self.loss.best_number(data.y, data.weights, data.sigma)
        mean = self.mean_loss(np.full_like(data.y, number), data)
        return mean if 0 < mean < np.inf else 1.0


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


@dataclass(frozen=True)
class LossFunction(PredictionReward):
    """Any function (y [N], predictions [B, N]) -> losses [B], or of each row [B, N].

    The reward is 1 / (1 + a part), the loss as a part of that of the mean or the median of y. Rows
    count by their weights where the function gives the loss of each; one of whole programs may ask
    for the weights [N] as a third argument.

    >>> fit = LossFunction(lambda y, predictions: (y - predictions) ** 4)
    >>> fit(Data.checked([[0.0], [1.0]], [0.0, 2.0], ["x"]), np.array([[0.0, 2.0], [2.0, 2.0]]))
    array([1.        , 0.11111111])
    """

    def __post_init__(self) -> None:
        if self._arguments() is None:
            raise InputError(
                f"{shown(self.function)} is no loss: it must be a function of the target and the"
                " predictions, in this order",
                field=Setting("loss"),
                value=self.function,
            )

    def _arguments(self) -> int | None:
        """How many it takes; None where that is not two or three."""
        try:
            described = inspect.signature(self.function)
        except (TypeError, ValueError):  # a function in C does not say what it takes
            return None if isinstance(self.function, type) else 2
        for count in (2, 3):
            try:
                described.bind(*range(count))
            except TypeError:
                continue
            return count
        return None

    def __call__(self, data: Data, predictions: Floats) -> Floats:
        """Rewards [B], checked."""
        return np.asarray(1.0 / (1.0 + self.losses(data, predictions) / self.unit(data)))

    def losses(self, data: Data, predictions: Floats) -> Floats:
        """The loss of each program [B]; NaN marks one as invalid."""
        given = (data.y, predictions, data.weights)[: self._arguments()]
        found: Any = self.function(*given)
        if np.shape(found) == predictions.shape:
            found = np.average(found, axis=1, weights=data.weights)
        losses = checked_rewards(found, len(predictions), "the loss function", infinite=True)
        if (losses < 0).any():
            raise InputError("the loss function returned less than 0; 0 must be no loss at all")
        return losses

    def unit(self, data: Data) -> float:
        """The loss of the best number, the mean or the median of y."""
        numbers = np.average(data.y, weights=data.weights), np.median(data.y)
        losses = self.losses(data, np.array([np.full_like(data.y, each) for each in numbers]))
        best = float(np.nanmin(losses)) if np.isfinite(losses).any() else 1.0
        return best if 0 < best < np.inf else 1.0


Reward = ErrorReward | PredictionReward

REWARDS: dict[str, type[ErrorReward]] = {
    "inverse_nrmse": InverseNRMSE,
    "inverse_nmse": InverseNMSE,
    "inverse_mse": InverseMSE,
    "inverse_mae": InverseMAE,
    "r2": R2,
}


USUAL = "inverse_nrmse"


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


def reward_asked(
    loss: str | Loss | Callable[..., NDArray[np.floating]],
    reward: str | Reward | Callable[..., NDArray[np.floating]],
) -> Reward:
    """The reward of a loss; for the squared one, the reward that was asked for.

    >>> reward_asked("squared", "r2"), reward_asked("absolute", "inverse_nrmse")
    (R2(), LossReward(loss=Loss(name='absolute', parameter=1.0)))
    """
    found = Loss.read(loss) if isinstance(loss, str) else loss
    if found == SQUARED:
        return reward_named(reward)
    if reward != USUAL:
        raise InputError(
            "the loss ",
            shown(loss),
            " makes its own reward; leave out ",
            Setting("reward"),
            ", or ",
            Setting("loss"),
            field=Setting("reward"),
            value=reward,
        )
    return LossReward(found) if isinstance(found, Loss) else LossFunction(found)


def with_sigma(data: Data, reward: Reward) -> Data:
    """Rows with errors of measurement, weighed as these say; other rewards than those of a loss
    that can take them into account are refused.
    """
    if data.sigma is None:
        return data
    if isinstance(reward, LossReward):
        loss = reward.loss
    elif isinstance(reward, ErrorReward) and reward.is_squared:
        loss = SQUARED
    else:
        raise InputError(
            Setting("sigma"),
            " goes with the squared error or another loss of residuals, and not with a reward or a"
            " loss of your own; leave out one of them",
            field=Setting("sigma"),
        )
    weights = loss.weights(data.sigma)
    return replace(data, weights=weights * (len(weights) / weights.sum()))


def checked_rewards(
    values: NDArray[np.floating], count: int, what: str, infinite: bool = False
) -> Floats:
    """A user's rewards as float64 [B]; NaN and -inf stay for the caller to treat as invalid."""
    try:
        rewards = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} returned something else than numbers: {error}") from None
    if rewards.shape != (count,):
        raise InputError(
            f"{what} returned shape {rewards.shape} for {count} programs; it must be ({count},)"
        )
    if not infinite and (rewards == np.inf).any():
        raise InputError(f"{what} returned an infinite reward; rewards must be finite")
    return rewards
