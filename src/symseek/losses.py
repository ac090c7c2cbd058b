"""Row losses: what a row counts by its target y and the value f that a formula has there.

An engine grades programs by sums of them over the rows, and fits constants by the first one, with
its derivatives. To add one, write its line in `LOSSES`, and its struct with the derivatives in
`engines/shared/losses.hpp`, which all engines compile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from symseek.arguments import refused
from symseek.arrays import Floats
from symseek.errors import InputError, Setting, shown, unknown_name

_ROUNDS = 200  # of weighted means, by which the best number is found
_SAME = 1e-15  # of a number: a change that is none


@dataclass(frozen=True)
class Kind:
    """What there is to know of a loss by its name; p is its parameter."""

    values: Callable[[Floats, Floats, Floats | float], Floats]  # of y, f, p
    parameter: str = ""  # what p is; empty where there is none
    usual: float = 1.0
    most: float = math.inf
    #: The power by which a mean is turned into an error that grows with the residuals.
    power: float = 0.5
    of_residual: bool = True  # whether it depends on y - f alone
    has_units: bool = False  # whether p, or the loss, means something in the target's own units


def _huber(y: Floats, f: Floats, p: Floats | float) -> Floats:
    a = np.abs(y - f)
    return np.where(a < p, a**2, p * (2 * a - p))


def _quantile(y: Floats, f: Floats, p: Floats | float) -> Floats:
    r = y - f
    return np.where(r > 0, 2 * p, 2 - 2 * p) * np.abs(r)


def _log_cosh(y: Floats, f: Floats, p: Floats | float) -> Floats:
    u = np.abs(y - f) / p
    v = u * u
    series = v * (1 - v * (1 / 6 - v * (2 / 45 - v * (17 / 1260 - v * 62 / 14175))))
    return np.where(u < 0.1, series, 2 * (u + np.log1p(np.exp(-2 * u)) - math.log(2))) * p**2


def _poisson(y: Floats, f: Floats, p: Floats | float) -> Floats:
    ratio = np.divide(y, f, out=np.ones(np.broadcast(y, f).shape), where=(y > 0) & (f > 0))
    half = y * np.log(ratio) - (y - f)
    return np.where(f > 0, 2 * np.maximum(half, 0.0), np.inf)


def _logistic(y: Floats, f: Floats, p: Floats | float) -> Floats:
    return 2 * np.logaddexp(0.0, (1 - 2 * y) * f)


LOSSES: dict[str, Kind] = {
    "squared": Kind(lambda y, f, p: (y - f) ** 2),
    "absolute": Kind(lambda y, f, p: np.abs(y - f), power=1.0),
    "huber": Kind(_huber, "the error up to which it is the square", has_units=True),
    "quantile": Kind(_quantile, "the level", 0.5, most=1.0, power=1.0),
    "relative": Kind(lambda y, f, p: ((y - f) / y) ** 2, of_residual=False),
    "log_cosh": Kind(_log_cosh, "the error up to which it is nearly the square", has_units=True),
    "poisson": Kind(_poisson, of_residual=False, has_units=True),
    "logistic": Kind(_logistic, of_residual=False, has_units=True),
}
"""What rows count."""


@dataclass(frozen=True)
class Loss:
    """A loss by name, with its parameter if it has one.

    "huber" is the squared error up to its parameter, and straight beyond.

    >>> Loss("huber", 1.0).values(np.array([0.5, 3.0]), np.zeros(2))
    array([0.25, 5.  ])
    """

    name: str
    parameter: float | None = None  # the usual one, if it has one

    def __post_init__(self) -> None:
        if self.name not in LOSSES:
            raise unknown_name("loss", self.name, LOSSES, Setting("loss"))
        kind = LOSSES[self.name]
        if self.parameter is None or not kind.parameter:
            object.__setattr__(self, "parameter", kind.usual)
        if not 0.0 < self.p < kind.most:
            wanted = "positive" if kind.most == math.inf else f"between 0 and {kind.most:g}"
            raise refused(f"{kind.parameter} of the loss {self.name}", self.parameter, wanted)

    @classmethod
    def read(cls, text: str) -> Loss:
        """The loss that a text names, with its parameter behind a colon.

        >>> Loss.read("quantile:0.9"), str(Loss.read("log-cosh"))
        (Loss(name='quantile', parameter=0.9), 'log_cosh:1')
        """
        name, colon, given = text.strip().partition(":")
        name = name.strip().replace("-", "_")
        if name not in LOSSES:
            raise unknown_name("loss", name, LOSSES, Setting("loss"))
        if not colon:
            return cls(name)
        if not LOSSES[name].parameter:
            raise InputError(
                f"the loss {name} has no parameter, and {shown(text)} gives it one",
                field=Setting("loss"),
                value=text,
            )
        try:
            return cls(name, _number(given))
        except ValueError as error:
            reason = error if isinstance(error, InputError) else f"{shown(given)} is not a number"
            raise InputError(f"{shown(text)} is no loss: ", reason, field=Setting("loss")) from None

    def __str__(self) -> str:
        return f"{self.name}:{self.p:g}" if self.kind.parameter else self.name

    @property
    def p(self) -> float:
        """The parameter."""
        assert self.parameter is not None
        return self.parameter

    @property
    def kind(self) -> Kind:
        """What there is to know of all losses of this name."""
        return LOSSES[self.name]

    @property
    def is_of_means(self) -> bool:
        """Whether a target scatters about its mean as that says: counts and classes do."""
        return self.name in ("poisson", "logistic")

    @property
    def in_sigmas(self) -> bool:
        """Whether the parameter is in units of a row's error of measurement, where it has one."""
        return self.kind.of_residual and self.kind.has_units

    def values(self, y: Floats, f: Floats, sigma: Floats | None = None) -> Floats:
        """What each row counts [..., N], where f [..., N] is in the place of y [N].

        For losses `in_sigmas` the parameter is multiplied by errors of measurement [N], if any.
        """
        own = self.p if sigma is None or not self.in_sigmas else self.p * sigma
        with np.errstate(all="ignore"):
            return self.kind.values(y, f, own)

    def weights(self, sigma: Floats) -> Floats:
        """What rows [N] with these errors of measurement weigh: so that r counts as r/sigma does.

        >>> Loss("squared").weights(np.array([1.0, 2.0])), Loss("absolute").weights(np.array([2.0]))
        (array([1.  , 0.25]), array([0.5]))
        """
        if not self.kind.of_residual:
            raise InputError(
                f"the loss {self.name} knows how far rows are off by itself; leave out ",
                Setting("sigma"),
                ", or choose a loss such as squared, absolute or huber",
                field=Setting("sigma"),
            )
        return 1 / sigma if self.kind.power == 1.0 else 1 / sigma**2

    def mean(self, f: Floats) -> Floats:
        """What a formula with these values says of the mean of the target."""
        if self.name != "logistic":
            return f
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + np.exp(-f)))

    def check(self, y: Floats, name: str = "y") -> None:
        """Refuse a target [N] that the loss is not for, by the first row that is wrong."""
        wrong, what = _unsuitable(self.name, y)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"{name} is {y[row]:g} in row {row + 1}, and the loss {self.name} is for {what}",
                field=name,
                kind="column",
                value=float(y[row]),
                row=row,
            )

    def best_number(self, y: Floats, weights: Floats, sigma: Floats | None = None) -> float:
        """The number with the smallest mean loss on a target [N].

        >>> y = np.array([1.0, 2.0, 3.0, 10.0])
        >>> [round(Loss.read(each).best_number(y, np.ones(4)), 3) for each in ("poisson", "huber")]
        [4.0, 2.5]
        """
        mean = float(np.average(y, weights=weights))
        if self.name in ("squared", "poisson"):
            return mean
        if self.name == "logistic":
            share = min(max(mean, 1e-9), 1 - 1e-9)
            return math.log(share / (1 - share))
        if self.name == "relative":
            return float((weights / y).sum() / (weights / y**2).sum())
        level = self.p if self.name == "quantile" else 0.5
        order = np.argsort(y, kind="stable")
        place = np.searchsorted(np.cumsum(weights[order]), level * weights.sum())
        number = float(y[order][min(int(place), len(y) - 1)])
        if self.in_sigmas:
            p = self.p * (1.0 if sigma is None else sigma)
            for _ in range(_ROUNDS):
                before, bend = number, weights * _bend(self.name, np.abs(y - number) / p)
                number = float((bend @ y) / bend.sum())
                if abs(number - before) <= _SAME * abs(number):
                    break
        return number


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _bend(name: str, u: Floats) -> Floats:
    """The weight of a row whose residual is u times the parameter."""
    safe = np.maximum(u, 1e-300)
    return np.where(u < 1, 1.0, 1 / safe) if name == "huber" else np.tanh(safe) / safe


def _unsuitable(name: str, y: Floats) -> tuple[Floats, str]:
    if name == "poisson":
        return (y < 0) | (y != np.rint(y)), "counts, which are whole numbers of 0 or more"
    if name == "logistic":
        return (y != 0) & (y != 1), "a target of 0 and 1"
    if name == "relative":
        return y == 0, "a target that is nowhere 0"
    return np.zeros(len(y), dtype=bool), ""


SQUARED, ABSOLUTE = Loss("squared"), Loss("absolute")
