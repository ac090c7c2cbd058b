"""What rows cost to describe, beside a formula with some loss on them: minus its log-likelihood.

A loss says how the rows scatter about the law. Squared errors are those of normal noise, absolute
ones of Laplace's, a quantile's of the asymmetric Laplace distribution, relative ones of normal
noise in proportion to the target. Their scale is not known, and is taken to be the one that makes
the rows likeliest: N rows then cost N times the logarithm of the error. Huber's and log-cosh's
losses change from one shape to another with the size of an error, so that the scale is looked for.
Counts and classes scatter as much as their means say, and rows with known errors of measurement as
much as these: those cost half of their deviance, or of chi squared, and nothing is rescaled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from symseek.data import Data
from symseek.losses import SQUARED, Loss
from symseek.rewards import ErrorReward, LossReward, Reward

_SMALL, _LARGE = 1e-300, 1e300
_SCALES = 60  # steps of a search for the scale, each of which leaves 0.618 of what is left


@dataclass(frozen=True)
class Likelihood:
    """How errors, as parts of that of the best number, become nats.

    >>> import numpy as np
    >>> data = Data(np.zeros((4, 1)), np.array([2.0, 3.0, 5.0, 4.0]), np.ones(4))
    >>> counts = Likelihood.of(LossReward(Loss("poisson")), data, 0.7)
    >>> round(counts.misfit(1.0, 0), 9)  # half of 4 rows times 0.7
    1.4
    """

    loss: Loss
    rows: int
    mean: float  # the loss of the best number, over all rows
    deviance: float | None = None  # of it, where the scatter is known

    @classmethod
    def of(cls, reward: Reward, data: Data, mean: float) -> Likelihood:
        """The likelihood of some rows; `mean` is the first loss of the best number there."""
        loss = reward.losses[0] if isinstance(reward, ErrorReward) else SQUARED
        squared = isinstance(reward, ErrorReward) and reward.is_squared
        known, sigma = None, data.sigma
        asked = squared or isinstance(reward, LossReward)
        if isinstance(reward, LossReward) and loss.is_of_means:
            known = mean * len(data.y)
        elif sigma is not None and asked and loss.name != "quantile":
            # Weights are 1 in the mean: their sum is that of what the errors say.
            known = mean * float(loss.weights(sigma).sum())
            known *= 2 * math.sqrt(2) if loss.name == "absolute" else 1.0
        return cls(loss, len(data.y), mean, known)

    @property
    def is_scale(self) -> bool:
        """Whether rows cost the logarithm of their error each."""
        return self.deviance is None and not self.loss.in_sigmas

    def misfit(self, error: float, numbers: int) -> float:
        """What rows with an error cost, up to a number that is the same for all formulas.

        Each fitted number needs more digits, the less scatter there is.
        """
        error = min(max(error, _SMALL), _LARGE)
        if self.deviance is None:
            return max(self.rows - numbers, 0) * self._log_scale(error)
        digits = 0.5 * math.log(max(self.deviance / self.rows, 1.0))
        power: float = 1 / self.loss.kind.power
        return float(0.5 * self.deviance * error**power + numbers * digits)

    def _log_scale(self, error: float) -> float:
        """What a row costs where the scale is the likeliest."""
        if self.is_scale:
            return math.log(error)
        return self._shaped(error**2 * self.mean) - self._shaped(self.mean)

    def _shaped(self, mean: float) -> float:
        """The same of a loss that changes its shape: the least over all scales."""
        p = self.loss.p

        def cost(log_scale: float) -> float:
            scale = math.exp(log_scale)
            return _log_total(self.loss.name, p, scale) + mean / (2 * scale**2)

        # A loss of squares has the root of the mean; a straight one has a larger scale.
        low = 0.5 * math.log(max(mean, _SMALL)) - 2.0
        high = low + 4.0 + max(0.0, 0.5 * math.log(max(mean, _SMALL)) - math.log(p))
        ratio = (math.sqrt(5) - 1) / 2
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        at_a, at_b = cost(a), cost(b)
        for _ in range(_SCALES):
            if at_a < at_b:
                high, b, at_b = b, a, at_a
                a = high - ratio * (high - low)
                at_a = cost(a)
            else:
                low, a, at_a = a, b, at_b
                b = low + ratio * (high - low)
                at_b = cost(b)
        return min(at_a, at_b)


def _log_total(name: str, p: float, scale: float) -> float:
    """The logarithm of the integral of exp(-loss / (2 scale**2)) over all residuals.

    >>> round(_log_total("huber", 50.0, 1.0) - math.log(math.sqrt(2 * math.pi)), 12)
    0.0
    """
    ratio = p / scale
    if name == "huber":
        inner = math.sqrt(2 * math.pi) * (2 * NormalDist().cdf(ratio) - 1)
        return math.log(scale) + math.log(inner + 2 / ratio * math.exp(-0.5 * ratio**2))
    power = ratio**2  # of 1 / cosh(r / p)
    if power > 1e6:  # normal, as far as the difference of two large logarithms tells
        return math.log(scale * math.sqrt(2 * math.pi))
    beta = 0.5 * math.log(math.pi) + math.lgamma(power / 2) - math.lgamma((power + 1) / 2)
    return math.log(p) + beta
