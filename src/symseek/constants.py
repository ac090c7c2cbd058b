"""Fitting constants: the values of `const` placeholders that make a program fit best.

Rewards that fall with the squared error are fitted by the engine, with exact derivatives (see
`Evaluator.fit`). Any other reward is searched without derivatives, by `search_constants` below,
which asks for rewards of whole batches: one step for every program at a time. Either way a fit
never makes a program worse, its work is bounded, and every program gets a status.
"""

from __future__ import annotations

import enum
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symseek.arguments import check_fields, refused
from symseek.arrays import Floats
from symseek.errors import unknown_name
from symseek.programs import Program, Programs
from symseek.tokens import Library, Token, TokenKind

RewardFunction = Callable[[Programs], Floats]  # rewards [B], NaN where invalid

FIT_METHODS = ("mixed", "least_squares", "bfgs", "projected")

_LOOKS = 16  # random places that a start is chosen from
_SPREAD = 0.25  # size of the first simplex, relative to a constant
_SMALL = 1e-10  # relative size of a simplex that has found its place


class FitStatus(enum.IntEnum):
    """How the fit of a program ended; `message` is what a user reads."""

    CONVERGED = 0
    LIMIT = 1
    INVALID = 2

    @property
    def message(self) -> str:
        """The status in words.

        >>> FitStatus.LIMIT.message
        'stopped at the limit of steps'
        """
        return _MESSAGES[self]


_MESSAGES = {
    FitStatus.CONVERGED: "converged",
    FitStatus.LIMIT: "stopped at the limit of steps",
    FitStatus.INVALID: "invalid wherever it was tried",
}


@dataclass(frozen=True)
class Bounds:
    """Between which every constant of a program stays.

    >>> Bounds(0).name == Bounds(0.0).name != Bounds(1).name
    True
    """

    low: float = -math.inf
    high: float = math.inf
    first: tuple[tuple[float, float], ...] = ()  # of the first constants, closer ones

    def of(self, constants: Floats) -> tuple[Floats, Floats]:
        """The least and the largest value of each constant [B, K + 1].

        The last are those of every number that groups have of their own.
        """
        shape = len(constants), constants.shape[1] + 1
        low, high = np.full(shape, float(self.low)), np.full(shape, float(self.high))
        for at, (least, most) in enumerate(self.first[: shape[1] - 1]):
            low[:, at], high[:, at] = max(least, self.low), min(most, self.high)
        return low, high

    @property
    def name(self) -> int:
        """A number that tells these bounds from others, and is not 0."""
        ends = *self.first, (self.low, self.high)
        text = " ".join(f"{float(low)!r} {float(high)!r}" for low, high in ends).encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") | 1


@dataclass(frozen=True)
class FitConfig:
    """How constants are fitted.

    >>> FitConfig.paper()
    FitConfig(method='bfgs', restarts=0, max_steps=150, rescue=False, bounds=None)
    """

    #: "bfgs" is the paper's, on the reward; "least_squares" is Levenberg and Marquardt's;
    #: "projected" is that with the linear constants solved for at every trial; "mixed" descends by
    #: least squares, now and then by BFGS first, and finds the best optima.
    method: str = "mixed"
    restarts: int = 4  # further descents, each from the best of some random places
    max_steps: int = 100  # evaluations of a program in one descent
    rescue: bool = True  # look elsewhere when a program is invalid where it starts
    bounds: Bounds | None = None  # where constants stay; within bounds "bfgs" is least squares

    def __post_init__(self) -> None:
        check_fields(self, restarts=0, max_steps=1)
        if not isinstance(self.method, str):
            raise refused("method", self.method, f"one of {', '.join(FIT_METHODS)}")
        if self.method not in FIT_METHODS:
            raise unknown_name("method of fitting constants", self.method, FIT_METHODS)

    @classmethod
    def paper(cls) -> FitConfig:
        """The paper's way: BFGS on the reward from 1.0, and nothing else."""
        return cls("bfgs", restarts=0, max_steps=150, rescue=False)


def with_fixed(programs: Programs, fixed: NDArray[np.bool_]) -> Programs:
    """The programs with numbers of a wider library for constants [B, K] that no fit is to change.

    >>> from symseek import Program
    >>> law = Programs.from_list([Program.parse("2.0*x**1.5")])
    >>> with_fixed(law, np.array([[False, True]])).constants
    array([[2.]])
    """
    library = programs.library
    numbers: dict[str, Token] = {}
    rows: list[tuple[list[str], list[float]]] = []
    for program, mask in zip(programs, fixed.tolist(), strict=True):
        names: list[str] = []
        free: list[float] = []
        values = iter(zip(program.constants, mask, strict=False))
        for name in program.names:
            value, is_fixed = next(values) if name == "const" else (0.0, False)
            if is_fixed:
                name = f"number {value!r}"
                numbers[name] = Token(name, 0, kind=TokenKind.NUMBER, value=value)
            elif name == "const":
                free.append(value)
            names.append(name)
        rows.append((names, free))
    others = [token for token in library if token.kind is not TokenKind.VARIABLE]
    wider = Library([*others, *numbers.values()], library.variables, library.grouping)
    return Programs.from_list(
        [
            Program(wider, tuple(map(wider.index, names)), tuple(free), program.own)
            for (names, free), program in zip(rows, programs, strict=True)
        ],
        wider,
    )


def search_constants(
    programs: Programs, rewards_of: RewardFunction, config: FitConfig
) -> tuple[Programs, Floats, NDArray[np.uint8]]:
    """Fit constants without derivatives, by Nelder and Mead's method.

    Args:
        programs: the programs, with the constants to start from.
        rewards_of: gives the rewards [B] of programs, NaN for an invalid one.
        config: `restarts` and `max_steps` count; the method is always this one.

    Returns:
        The fitted programs, their rewards [B] (NaN: invalid) and `FitStatus` codes [B].

    >>> from symseek import Library, Program
    >>> library = Library(["mul", "const"], variables=["x"])
    >>> batch = Programs.from_list([Program.parse("1.0*x", library)])
    >>> rewards_of = lambda p: 1 / (1 + np.abs(p.constants[:, 0] - 3.5))
    >>> search_constants(batch, rewards_of, FitConfig())[0].constants.round(6)
    array([[3.5]])
    """
    counts = programs.constant_counts
    constants = with_room(programs.constants, int(counts.max(initial=0)))
    rewards = np.full(len(programs), np.nan)
    status = np.full(len(programs), FitStatus.CONVERGED, dtype=np.uint8)
    for count in np.unique(counts):
        rows = np.flatnonzero(counts == count)
        of_these = programs[rows].with_constants(constants[rows])
        group = _Group(of_these, rewards_of, int(count), config.bounds)
        group.fit(config)
        constants[rows, :count] = group.best
        rewards[rows] = group.reward
        status[rows] = np.where(np.isnan(group.reward), FitStatus.INVALID, group.status)
    return programs.with_constants(constants), rewards, status


def with_room(constants: Floats, width: int) -> Floats:
    """A copy with a column for every constant; those not given are 1."""
    out = np.ones((len(constants), max(width, constants.shape[1])))
    out[:, : constants.shape[1]] = constants
    return out


class _Group:
    """Programs with the same number of constants k, fitted side by side."""

    def __init__(
        self,
        programs: Programs,
        rewards_of: RewardFunction,
        count: int,
        bounds: Bounds | None = None,
    ) -> None:
        self.programs = programs
        self.rewards_of = rewards_of
        self.best = programs.constants[:, :count].copy()  # [B, k]
        self.box = None
        if bounds is not None:
            self.box = tuple(each[:, :count] for each in bounds.of(programs.constants))
            self.best = self._within(np.arange(len(programs)), self.best)
        self.reward = self._ask(np.arange(len(programs)), self.best)
        self.status = np.full(len(programs), FitStatus.CONVERGED, dtype=np.uint8)

    def fit(self, config: FitConfig) -> None:
        if self.best.shape[1] == 0:
            return
        if config.rescue:
            lost = np.flatnonzero(np.isnan(self.reward))
            start, reward = self._looks(lost, 0)
            self._keep(lost, start, reward, np.full(len(lost), FitStatus.LIMIT, dtype=np.uint8))
        for number in range(config.restarts + 1):
            rows = np.flatnonzero(~np.isnan(self.reward))
            if number == 0:
                start, reward = self.best[rows], self.reward[rows]
            else:
                start, reward = self._looks(rows, number)
            rows, start = rows[~np.isnan(reward)], start[~np.isnan(reward)]
            self._keep(rows, *self._descend(rows, start, config.max_steps))

    def _keep(
        self, rows: NDArray[np.intp], x: Floats, reward: Floats, status: NDArray[np.uint8]
    ) -> None:
        """Take over what is better."""
        better = ~np.isnan(reward) & ~(reward < self.reward[rows])
        self.best[rows[better]] = x[better]
        self.reward[rows[better]] = reward[better]
        self.status[rows[better]] = status[better]

    def _within(self, rows: NDArray[np.intp], x: Floats) -> Floats:
        """Constants [B, k] of some programs, moved to the nearest place within the bounds."""
        return x if self.box is None else np.clip(x, self.box[0][rows], self.box[1][rows])

    def _ask(self, rows: NDArray[np.intp], x: Floats) -> Floats:
        """Rewards [B] of some programs with these constants [B, k]."""
        constants = self.programs.constants[rows]
        constants[:, : x.shape[1]] = x
        if not len(rows):
            return np.empty(0)
        return self.rewards_of(self.programs[rows].with_constants(constants))

    def _looks(self, rows: NDArray[np.intp], number: int) -> tuple[Floats, Floats]:
        """The best of some random places for each program: either sign, sizes from 0.1 to 10."""
        draw = np.random.default_rng([20211, number])
        start = self.best[rows].copy()
        reward = np.full(len(rows), np.nan)
        for _ in range(_LOOKS):
            # The same places for every program: which others are in the batch must not matter.
            place = 10.0 ** draw.uniform(-1, 1, start.shape[1]) * draw.choice(
                [-1, 1], start.shape[1]
            )
            places = self._within(rows, np.tile(place, (len(rows), 1)))
            here = self._ask(rows, places)
            better = ~np.isnan(here) & ~(here <= reward)
            start[better], reward[better] = places[better], here[better]
        return start, reward

    def _descend(
        self, rows: NDArray[np.intp], start: Floats, max_steps: int
    ) -> tuple[Floats, Floats, NDArray[np.uint8]]:
        """Nelder and Mead's simplex of k + 1 places for each program, worst replaced first."""
        count, k = start.shape
        places = np.repeat(start[:, None, :], k + 1, axis=1)  # [B, k + 1, k]
        corner = np.arange(k)
        places[:, corner + 1, corner] += _SPREAD * np.where(start == 0, 1.0, np.abs(start))
        for i in range(k + 1):
            places[:, i] = self._within(rows, places[:, i])
        costs = np.stack([self._costs(rows, places[:, i]) for i in range(k + 1)], axis=1)
        status = np.full(count, FitStatus.LIMIT, dtype=np.uint8)
        # Each program has its own steps counted: which others are in the batch must not matter.
        spent = np.full(count, k + 1)
        active = np.arange(count)
        while len(active := active[spent[active] < max_steps]):
            order = np.argsort(costs[active], axis=1, kind="stable")
            places[active] = np.take_along_axis(places[active], order[:, :, None], axis=1)
            costs[active] = np.take_along_axis(costs[active], order, axis=1)
            size = np.abs(places[active] - places[active, :1]).max(axis=(1, 2))
            small = size <= _SMALL * np.maximum(np.abs(places[active, 0]).max(axis=1), 1e-3)
            status[active[small]] = FitStatus.CONVERGED
            active = active[~small]
            spent[active] += self._move(rows, places, costs, active)
        lowest = costs.argmin(axis=1)
        at = np.arange(count)
        reward = np.where(np.isfinite(costs[at, lowest]), -costs[at, lowest], np.nan)
        return places[at, lowest], reward, status

    def _costs(self, rows: NDArray[np.intp], x: Floats) -> Floats:
        rewards = self._ask(rows, x)
        return np.where(np.isnan(rewards), np.inf, -rewards)

    def _move(
        self, rows: NDArray[np.intp], places: Floats, costs: Floats, active: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Reflect the worst place of each simplex, then expand, contract or shrink.

        Gives the evaluations that each program took [B].
        """
        middle = places[active, :-1].mean(axis=1)
        away = middle - places[active, -1]
        reflected = self._within(rows[active], middle + away)
        cost = self._costs(rows[active], reflected)
        best, second, worst = costs[active, 0], costs[active, -2], costs[active, -1]
        expand, accept = cost < best, (cost >= best) & (cost < second)
        # Further out where that was the best yet, half-way out or in where it was not good enough.
        reach = np.where(expand, 2.0, np.where(cost < worst, 0.5, -0.5))
        further = self._within(rows[active], middle + reach[:, None] * away)
        ask = ~accept
        cost_further = cost.copy()
        cost_further[ask] = self._costs(rows[active[ask]], further[ask])
        use_further = ask & (cost_further < cost)
        shrink = ask & ~expand & ~(cost_further < np.minimum(cost, worst))
        chosen = active[~shrink]
        places[chosen, -1] = np.where(use_further[:, None], further, reflected)[~shrink]
        costs[chosen, -1] = np.where(use_further, cost_further, cost)[~shrink]
        shrunk = active[shrink]
        if len(shrunk):
            places[shrunk, 1:] = 0.5 * (places[shrunk, 1:] + places[shrunk, :1])
            for i in range(1, places.shape[1]):
                costs[shrunk, i] = self._costs(rows[shrunk], places[shrunk, i])
        taken: NDArray[np.intp] = 1 + ask + (places.shape[1] - 1) * shrink
        return taken
