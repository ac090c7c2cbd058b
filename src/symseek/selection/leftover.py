"""What a formula leaves of its rows, in the form in which it is tested for noise.

If the formula is the law, every row has a value that scatters about 0 in the same way, whatever the
inputs: residuals as they are, or over their errors of measurement, or what a loss makes of them.
"""

from __future__ import annotations

import numpy as np

from symseek.arrays import Floats
from symseek.data import Data
from symseek.losses import Loss

_SEED = 20_403
_MANY = 60.0  # counts in the mean, from which on the cube root of a count is as good as normal


def leftover(loss: Loss, values: Floats, data: Data) -> Floats:
    """What a formula with these values [N] leaves of the rows.

    Counts and classes have few values, and scatter more in some rows than in others. So the chance
    of less than what came, with a random part of the chance of just that, stands for them: it lies
    evenly between 0 and 1 if the formula is the law (Dunn and Smyth 1996).

    >>> rate = np.full(4, 2.0)
    >>> data = Data(np.zeros((4, 1)), np.array([0.0, 1.0, 2.0, 9.0]), np.ones(4))
    >>> leftover(Loss("poisson"), rate, data).round(1)
    array([-0.4, -0.1,  0.1,  0.5])
    """
    y, name = data.y, loss.name
    with np.errstate(all="ignore"):
        if loss.is_of_means:
            below, here = _counts(y, values) if name == "poisson" else _classes(y, values)
            return below + np.random.default_rng(_SEED).random(len(y)) * here - 0.5
        residuals = y - values
        if name == "relative":
            return residuals / y
        if name == "quantile":  # how many are above, at any place
            return np.where(residuals > 0, loss.p, loss.p - 1)
        if data.sigma is not None:
            residuals = residuals / data.sigma
        return np.clip(residuals, -loss.p, loss.p) if loss.in_sigmas else residuals


def working(loss: Loss, values: Floats, data: Data) -> tuple[Floats, Floats]:
    """A target and weights of which the least squares are near those of a loss.

    Where a formula with these values has the smallest loss, its numbers have the smallest squares
    of this target, and the same standard errors: each row is moved from its value by what pulls at
    it, over how much the loss bends there (for a corner, how dense residuals are).
    """
    y, weights, name = data.y, data.weights, loss.name
    with np.errstate(all="ignore"):
        residuals = y - values
        if name == "relative":
            return y, weights / y**2
        if name == "poisson":
            return y, weights / values
        if name == "logistic":
            chance = loss.mean(values)
            bend = np.maximum(chance * (1 - chance), 1e-9)
            return values + (y - chance) / bend, weights * bend
        size = loss.p if data.sigma is None else loss.p * data.sigma
        if name == "huber":
            pull, bend = np.clip(residuals, -size, size), np.abs(residuals) < size
        elif name == "log_cosh":
            pull, bend = size * np.tanh(residuals / size), np.cosh(residuals / size) ** -2.0
        elif name in ("absolute", "quantile"):
            level = loss.p if name == "quantile" else 0.5
            pull, bend = np.where(residuals > 0, level, level - 1), _density(residuals)
        else:
            return y, weights
        return values + pull / max(float(np.average(bend, weights=weights)), 1e-9), weights


def _density(residuals: Floats) -> Floats:
    """How dense residuals are at 0 [N], in the mean: the share of those near it."""
    low, high = np.quantile(residuals, [0.25, 0.75])
    near = max(float(high - low), 1e-300) * len(residuals) ** -0.2
    return np.asarray((np.abs(residuals) < near) / (2 * near))


def _classes(y: Floats, odds: Floats) -> tuple[Floats, Floats]:
    """The chance of less than y, and that of y, by the logarithm of the odds of 1."""
    none = 1 / (1 + np.exp(odds))
    return np.where(y > 0, none, 0.0), np.where(y > 0, 1 - none, none)


def _counts(y: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """The chance of fewer than y, and that of y."""
    below, upto = (_normal(_cube_root(count, rate)) for count in (y - 1, y))
    below = np.where(y > 0, below, 0.0)
    few = np.flatnonzero((rate < _MANY) & (y < 10 * _MANY))
    counts, rates = y[few], rate[few]
    chance, sums = np.exp(-rates), np.zeros(len(few))
    for k in range(int(counts.max(initial=-1.0)) + 1):
        here = counts == k
        below[few[here]], upto[few[here]] = sums[here], sums[here] + chance[here]
        sums += chance
        chance *= rates / (k + 1)
    return below, upto - below


def _cube_root(count: Floats, rate: Floats) -> Floats:
    """A count as a normal variable of spread 1 (Wilson and Hilferty 1931)."""
    more = np.maximum(count + 1, 1e-9)
    return np.asarray(3 * np.sqrt(more) * (1 - 1 / (9 * more) - np.cbrt(rate / more)))


def _normal(z: Floats) -> Floats:
    """The chance of less, by Abramowitz and Stegun's 26.2.17: to 7 digits."""
    t = 1 / (1 + 0.2316419 * np.abs(z))
    weights = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    sum_ = np.zeros_like(t)
    for each in reversed(weights):
        sum_ = t * (each + sum_)
    tail = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * sum_
    return np.asarray(np.where(z > 0, 1 - tail, tail))
