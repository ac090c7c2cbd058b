"""The losses of rows as textbooks have them, by SciPy, and the fits that minimise their sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.optimize
import scipy.special
from numpy.typing import NDArray

from symseek.losses import Loss
from symseek.programs import Program

Array = NDArray[np.float64]


def row_losses(loss: Loss, y: Array, f: Array) -> Array:
    """What each row counts."""
    r, p = y - f, loss.p
    if loss.name == "squared":
        return r * r
    if loss.name == "absolute":
        return np.abs(r)
    if loss.name == "huber":
        return 2 * scipy.special.huber(p, r)
    if loss.name == "quantile":
        return 2 * np.maximum(p * r, (p - 1) * r)
    if loss.name == "relative":
        return (1 - f / y) ** 2
    if loss.name == "log_cosh":
        return 2 * p**2 * np.log(np.cosh(r / p))
    if loss.name == "poisson":  # the deviance
        return 2 * scipy.special.kl_div(y, f)
    chance = scipy.special.expit(f)
    return -2 * (scipy.special.xlogy(y, chance) + scipy.special.xlog1py(1 - y, -chance))


def slopes(loss: Loss, y: Array, f: Array) -> Array:
    """The derivative of each by f."""
    r, p = y - f, loss.p
    if loss.name == "relative":
        return -2 * r / y**2
    if loss.name == "log_cosh":
        return -2 * p * np.tanh(r / p)
    if loss.name == "huber":
        return -2 * np.clip(r, -p, p)
    if loss.name == "poisson":
        return 2 * (1 - y / f)
    if loss.name == "logistic":
        return 2 * (scipy.special.expit(f) - y)
    if loss.name == "quantile":
        return -2 * np.where(r > 0, p, p - 1)
    return -np.sign(r) if loss.name == "absolute" else -2 * r


def fitted(program: Program, X: Array, y: Array, weights: Array, loss: Loss) -> Array:
    """The constants with the smallest sum of losses near those of a program."""
    value = _sum_of(program, X, y, weights, loss)
    found = np.array(program.constants)
    for _ in range(8):
        options = {"xatol": 1e-13, "fatol": 1e-15}
        found = scipy.optimize.minimize(value, found, method="Nelder-Mead", options=options).x
    if loss.name in ("absolute", "quantile"):  # whose slopes are never 0
        return np.asarray(found)

    def slope(constants: Array) -> Array:
        values = _moved(program, constants).evaluate(X)
        steps = 1e-6 * np.eye(len(constants))
        ends = [
            [_moved(program, constants + way * step).evaluate(X) for way in (1, -1)]
            for step in steps
        ]
        jacobian = np.array([(up - down) / 2e-6 for up, down in ends])
        return np.asarray(jacobian @ (weights * slopes(loss, y, values)))

    return np.asarray(scipy.optimize.root(slope, found, tol=1e-13).x)


def _moved(program: Program, constants: Array) -> Program:
    return Program(program.library, program.tokens, tuple(constants.tolist()))


def _sum_of(
    program: Program, X: Array, y: Array, weights: Array, loss: Loss
) -> Callable[[Array], float]:
    def value(constants: Array) -> float:
        values = _moved(program, constants).evaluate(X)
        with np.errstate(all="ignore"):
            sum_ = float(weights @ row_losses(loss, y, values))
        return sum_ if np.isfinite(sum_) else 1e300

    return value
