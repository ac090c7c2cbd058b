"""Evaluation: from a batch of programs to a reward each, by whichever route the reward needs.

Data with a built-in reward is graded from error sums in the engine; a custom reward sees
predictions; a score function sees the programs themselves, with no data at all. Constants are
fitted on the way. All routes answer the same question, so the search does not know which it has.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.arguments import refused
from symseek.arrays import Floats
from symseek.constants import FitConfig, FitStatus, search_constants, with_fixed, with_room
from symseek.data import Data
from symseek.engines.interface import Engine, Errors, Evaluator, engine_named
from symseek.errors import InputError, Setting
from symseek.mapping import Mapping, check_evaluable, mapped
from symseek.programs import Programs
from symseek.rewards import (
    Curve,
    ErrorReward,
    PredictionReward,
    Reward,
    checked_rewards,
    reward_named,
    with_sigma,
)
from symseek.tokens import Library

ScoreFunction = Callable[[Programs], NDArray[np.floating]]

_PREDICTIONS = 1 << 22  # predictions held at a time: 32 MB
_REMEMBERED = 1 << 16  # programs whose score is remembered


@dataclass(frozen=True)
class Graded:
    """Rewards of a batch: 0 for invalid programs, which `ok` tells apart from a reward of 0."""

    programs: Programs  # the batch, constants fitted
    rewards: Floats  # [B]
    ok: NDArray[np.bool_]  # [B]
    distinct: int
    status: NDArray[np.uint8] | None = None  # [B] FitStatus codes, where constants were fitted
    final: NDArray[np.bool_] | None = None  # [B] seen on all rows; None: all are (see `racing`)

    @property
    def messages(self) -> list[str]:
        """How the fit of each program ended, in words; empty where nothing was fitted."""
        return [] if self.status is None else [FitStatus(code).message for code in self.status]

    @property
    def final_rewards(self) -> Floats:
        """Rewards [B]; NaN where a program is invalid, or its reward is not of all rows."""
        known = self.ok if self.final is None else self.ok & self.final
        return np.where(known, self.rewards, np.nan)


class Grader(Protocol):
    """Gives every program of a batch its reward."""

    def __call__(self, programs: Programs) -> Graded:
        """Grade the batch."""

    @property
    def memories(self) -> list[dict[bytes, Any]]:
        """What is remembered of a function of the caller's.

        Asked again, it might answer otherwise in the last bit: how a product of matrices is rounded
        can depend on how many programs are graded with it. So a checkpoint keeps them.
        """


class Check(Protocol):
    """Says which graded programs may be kept, beside what their errors say."""

    def few_points(self, programs: Programs, ok: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of those that are `ok` [B] may be, at a glance."""

    def foremost(
        self, programs: Programs, rewards: Floats, ok: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """The same, looked at closely where a program may enter a front."""


def checked(grader: Grader, check: Check | None, closely: bool = True) -> Grader:
    """A grader whose programs are valid only if a check lets them pass."""
    return grader if check is None else _CheckedGrader(grader, check, closely)


def data_grader(
    library: Library,
    data: Data,
    reward: Reward,
    engine: Engine,
    constants: FitConfig | None = None,
    underflow_invalid: bool = False,
    unit: float | None = None,
    cache: int | None = None,
    mapping: Mapping | None = None,
) -> Grader:
    """The grader for a data set; with `constants`, placeholders are fitted, else they stay.

    Errors count by the unit of the reward, the spread of the target as a rule, unless another one
    is given: that of a larger table.
    With a `mapping`, what it makes of the programs is graded.
    """
    graded = library if mapping is None else mapping.library
    check_evaluable(graded)
    if unit is None and isinstance(reward, ErrorReward) and reward.needs_spread:
        data.refuse_constant_target("the normalised error")
    if library.constant_id is None and library.grouping is None:
        constants = None
    if unit is None:
        unit = reward.unit(data) if isinstance(reward, ErrorReward) else data.spread
    losses = reward.losses if isinstance(reward, ErrorReward) else ErrorReward.losses
    given = (data.X, data.y, data.weights, cache, underflow_invalid, losses)
    own = data.sigma is not None and any(each.in_sigmas for each in losses)
    scale: dict[str, Any] = {"scale": data.sigma} if own else {}
    evaluator = mapped(engine.evaluator(graded, *given, **scale), mapping)
    fits = isinstance(reward, ErrorReward) and reward.curve(unit or 1.0) is not None
    grouping = library.grouping
    if grouping is not None and grouping.own and not (fits and constants is not None):
        raise InputError(
            "numbers of the groups' own are fitted by a loss that falls with the error of each row;"
            " choose another reward, such as inverse_nrmse, and leave constants on"
        )
    grader: _ErrorGrader | _PredictionGrader
    if isinstance(reward, ErrorReward):
        grader = _ErrorGrader(evaluator, data, reward, unit)
        if constants is not None and (curve := reward.curve(unit)) is not None:
            return _LeastSquaresGrader(grader, constants, curve)
    else:
        grader = _PredictionGrader(evaluator, data, reward)
    if constants is None:
        return grader
    # No derivatives of the reward: what suits the squared error is a good place to search from.
    size = float(data.weights.sum()) * unit**2 or 1.0

    def guess(programs: Programs) -> Programs:
        return evaluator.fit(programs, constants, size, 0.5).programs

    return _SearchGrader(grader, constants, guess)


def refitting(grader: Grader, constants: FitConfig | None) -> Grader:
    """A grader of `data_grader` that fits otherwise, on the same rows; they are there once."""
    if isinstance(grader, _CheckedGrader):
        return replace(grader, grader=refitting(grader.grader, constants))
    if constants is None or not isinstance(grader, _LeastSquaresGrader | _SearchGrader):
        return grader
    return replace(grader, config=constants)


def score_grader(
    score: ScoreFunction,
    deterministic: bool = True,
    library: Library | None = None,
    constants: FitConfig | None = None,
) -> Grader:
    """The grader for a function of programs; a deterministic one is asked once per program."""
    grader = _ScoreGrader(score, deterministic)
    # What a score that varies from call to call says of two constants cannot be compared.
    if constants is None or library is None or library.constant_id is None or not deterministic:
        return grader
    return _SearchGrader(grader, constants)


def fit_constants(
    programs: Programs,
    X: ArrayLike,
    y: ArrayLike,
    config: FitConfig | None = None,
    *,
    fixed: NDArray[np.bool_] | None = None,
    reward: str | Reward | Callable[..., NDArray[np.floating]] = "inverse_nrmse",
    weights: ArrayLike | None = None,
    sigma: ArrayLike | None = None,
    threads: int = 1,
    engine: str | Engine = "native",
) -> Graded:
    """Fit the constants of given programs to data, starting from the values they have.

    Those that are `fixed` [B, K] keep them. With errors of measurement `sigma` [N] rows weigh as
    these say, unless `weights` are given. A reward may also be that of a loss, such as
    `LossReward(Loss("huber", 0.5))`.

    >>> from symseek import Library, Program
    >>> library = Library(["mul", "add", "sin", "const"], variables=["x"])
    >>> batch = Programs.from_list([Program.parse("1.0*sin(1.0*x) + 1.0", library)])
    >>> x = np.linspace(0, 5, 30)
    >>> fitted = fit_constants(batch, x, 2.5 * np.sin(1.2 * x) - 3)
    >>> fitted.programs.constants.round(9), fitted.messages
    (array([[ 2.5,  1.2, -3. ]]), ['converged'])
    """
    if not isinstance(programs, Programs):
        raise refused(Setting("programs"), programs, "of the type Programs")
    library = programs.library
    if library.constant_id is None and library.grouping is None:
        raise InputError("the library has no 'const' token, so there are no constants to fit")
    if not isinstance(config, FitConfig | None):
        raise refused(Setting("config"), config, "of the type FitConfig")
    by = reward_named(reward)
    data = Data.checked(X, y, library.columns, weights, sigma)
    if sigma is not None and weights is None:
        data = with_sigma(data, by)
    made = engine_named(engine, threads)
    fixed = np.zeros(programs.constants.shape, dtype=bool) if fixed is None else fixed
    if getattr(fixed, "shape", None) != programs.constants.shape or fixed.dtype != bool:
        raise refused(Setting("fixed"), fixed, "an array of flags, like the constants")
    free = with_fixed(programs, fixed) if fixed.any() else programs
    # No results are kept: with them the groups' own numbers would be lost.
    kept = None if library.grouping is None else 0
    given = free.library, data, by, made, config or FitConfig()
    grader = data_grader(*given, cache=kept)
    graded = grader(free)
    if free is programs:
        return graded
    constants = programs.constants.copy()
    changed = (np.arange(constants.shape[1]) < programs.constant_counts[:, None]) & ~fixed
    fitted = np.arange(graded.programs.constants.shape[1]) < free.constant_counts[:, None]
    constants[changed] = graded.programs.constants[fitted]
    best = Programs._trusted(
        library, programs.tokens, programs.lengths, constants, graded.programs.own
    )
    return replace(graded, programs=best)


@dataclass
class _CheckedGrader:
    """Takes programs as invalid that a check does not let pass."""

    grader: Grader
    check: Check
    closely: bool  # with those that may enter a front

    @property
    def memories(self) -> list[dict[bytes, Any]]:
        return self.grader.memories

    def __call__(self, programs: Programs) -> Graded:
        graded = self.grader(programs)
        ok = self.check.few_points(graded.programs, graded.ok)
        if self.closely:
            ok = self.check.foremost(graded.programs, graded.rewards, ok)
        found = graded.programs
        if found.own is not None:  # a search keeps none of them
            found = Programs._trusted(found.library, found.tokens, found.lengths, found.constants)
        return replace(graded, programs=found, rewards=np.where(ok, graded.rewards, 0.0), ok=ok)


@dataclass
class _ErrorGrader:
    """Rewards from error sums."""

    memories: ClassVar[list[dict[bytes, Any]]] = []
    evaluator: Evaluator
    data: Data
    reward: ErrorReward
    unit: float  # of its errors

    def __post_init__(self) -> None:
        self.rows = float(self.data.weights.sum())

    def __call__(self, programs: Programs) -> Graded:
        errors = self.evaluator.errors(programs)
        return Graded(programs, self.rewards(errors), errors.ok, errors.distinct)

    def rewards(self, errors: Errors) -> Floats:
        # Finite values can still have an error sum that overflows: infinitely bad, reward 0.
        rewards = self.reward(*errors.sums / self.rows, self.unit)
        rewards[~errors.ok] = 0.0
        return rewards


@dataclass
class _LeastSquaresGrader:
    """Fits constants in the engine: the reward falls with the first of its losses."""

    memories: ClassVar[list[dict[bytes, Any]]] = []
    grader: _ErrorGrader
    config: FitConfig
    curve: Curve

    def __call__(self, programs: Programs) -> Graded:
        scale = self.curve.scale * self.grader.rows
        fitted = self.grader.evaluator.fit(programs, self.config, scale, self.curve.power)
        errors = fitted.errors
        rewards = self.grader.rewards(errors)
        return Graded(fitted.programs, rewards, errors.ok, errors.distinct, fitted.status)


@dataclass
class _SearchGrader:
    """Fits constants by asking any other grader again and again; what was fitted is remembered."""

    grader: Grader
    config: FitConfig
    guess: Callable[[Programs], Programs] | None = None  # constants worth starting from

    def __post_init__(self) -> None:
        self.known: OrderedDict[bytes, tuple[Floats, float, int]] = OrderedDict()

    @property
    def memories(self) -> list[dict[bytes, Any]]:
        return [self.known, *self.grader.memories]

    def __call__(self, programs: Programs) -> Graded:
        keys, first, inverse = _distinct(programs)
        new = [at for at, key in enumerate(keys) if key not in self.known]
        if new:
            fitted, rewards, status = self._fit(programs[first[new]])
            for at, values, reward, code in zip(
                new, fitted.constants, rewards.tolist(), status.tolist(), strict=True
            ):
                self.known[keys[at]] = values, reward, code
        found = [self.known[key] for key in keys]
        while len(self.known) > _REMEMBERED:
            self.known.popitem(last=False)
        constants = np.ones((len(first), max((len(values) for values, _, _ in found), default=0)))
        for row, (values, _, _) in enumerate(found):
            constants[row, : len(values)] = values
        rewards = np.array([reward for _, reward, _ in found])[inverse]
        status = np.array([code for _, _, code in found], dtype=np.uint8)[inverse]
        best = programs.with_constants(constants[inverse])
        ok = ~np.isnan(rewards)
        return Graded(best, np.where(ok, rewards, 0.0), ok, len(first), status)

    def _fit(self, programs: Programs) -> tuple[Programs, Floats, NDArray[np.uint8]]:
        if self.guess is not None:
            guessed = self.guess(programs)
            # An invalid guess must not replace a valid start.
            promise = self._rewards(guessed)
            better = ~np.isnan(promise) & ~(promise < self._rewards(programs))
            own = with_room(programs.constants, guessed.constants.shape[1])
            start = np.where(better[:, None], guessed.constants, own)
            programs = programs.with_constants(start)
        return search_constants(programs, self._rewards, self.config)

    def _rewards(self, programs: Programs) -> Floats:
        graded = self.grader(programs)
        return np.where(graded.ok, graded.rewards, np.nan)


@dataclass
class _PredictionGrader:
    """Rewards by a function of the predictions."""

    memories: ClassVar[list[dict[bytes, Any]]] = []
    evaluator: Evaluator
    data: Data
    reward: PredictionReward

    def __call__(self, programs: Programs) -> Graded:
        _, first, inverse = _distinct(programs)
        rewards = np.zeros(len(first))
        ok = np.zeros(len(first), dtype=bool)
        step = max(1, _PREDICTIONS // len(self.data.y))
        for start in range(0, len(first), step):
            rows = slice(start, start + step)
            predictions = self.evaluator.predict(programs[first[rows]])
            valid = predictions.ok
            if valid.any():
                graded = self.reward(self.data, predictions.values[valid])
                valid[valid] = np.isfinite(graded)
                rewards[rows][valid] = graded[np.isfinite(graded)]
            ok[rows] = valid
        return Graded(programs, rewards[inverse], ok[inverse], len(first))


@dataclass
class _ScoreGrader:
    score: ScoreFunction
    deterministic: bool

    def __post_init__(self) -> None:
        self.known: OrderedDict[bytes, float] = OrderedDict()

    @property
    def memories(self) -> list[dict[bytes, Any]]:
        return [self.known]

    def __call__(self, programs: Programs) -> Graded:
        keys, first, inverse = _distinct(programs)
        if not self.deterministic:
            return self._graded(programs, self._ask(programs), len(first))
        new = [at for at, key in enumerate(keys) if key not in self.known]
        if new:
            asked = self._ask(programs[first[new]])
            self.known.update(zip((keys[at] for at in new), asked.tolist(), strict=True))
        rewards = np.array([self.known[key] for key in keys])
        while len(self.known) > _REMEMBERED:
            self.known.popitem(last=False)
        return self._graded(programs, rewards[inverse], len(first))

    def _ask(self, programs: Programs) -> Floats:
        return checked_rewards(self.score(programs), len(programs), "the score function")

    @staticmethod
    def _graded(programs: Programs, rewards: Floats, distinct: int) -> Graded:
        ok = np.isfinite(rewards)
        return Graded(programs, np.where(ok, rewards, 0.0), ok, distinct)


def _distinct(programs: Programs) -> tuple[list[bytes], NDArray[np.intp], NDArray[np.intp]]:
    """Keys and first rows of the distinct programs, as they appear; each row's place among them."""
    places: dict[bytes, int] = {}
    inverse = np.fromiter(
        (places.setdefault(key, len(places)) for key in _keys(programs)), np.intp, len(programs)
    )
    first = np.unique(inverse, return_index=True)[1]
    return list(places), first, inverse


def _keys(programs: Programs) -> list[bytes]:
    """What tells each program from others: its tokens and the values of its constants."""
    keys = _starts(programs.tokens, programs.lengths)
    if programs.library.constant_id is None:
        return keys
    counts = np.minimum(programs.constant_counts, programs.constants.shape[1])
    values = _starts(programs.constants, counts)
    return [key + value for key, value in zip(keys, values, strict=True)]


def _starts(array: NDArray[Any], counts: NDArray[np.integer]) -> list[bytes]:
    """The bytes of the first `counts` entries of every row."""
    # One copy of all bytes, cut up: an array for each row would take ten times as long.
    data, width = array.tobytes(), array.shape[1] * array.itemsize
    ends = (np.arange(len(array)) * width + counts * array.itemsize).tolist()
    return [data[row * width : end] for row, end in enumerate(ends)]
