"""Grading: from a batch of programs to a reward each, by whichever route the reward needs.

Data with a built-in reward is graded from error sums in the native core; a custom reward sees
predictions; a score function sees the programs themselves, with no data at all. All three answer
the same question, so the search does not know which one it has.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from symseek.data import Data
from symseek.engines.native import Evaluator, Workers
from symseek.errors import InputError
from symseek.programs import Programs
from symseek.rewards import ErrorReward, PredictionReward, Reward, checked_rewards
from symseek.tokens import Library

__all__ = ["Graded", "Grader", "ScoreFunction", "data_grader", "score_grader"]

Floats = NDArray[np.float64]
ScoreFunction = Callable[[Programs], NDArray[np.floating]]

_PREDICTIONS = 1 << 22  # predictions held at a time: 32 MB
_REMEMBERED = 1 << 16  # programs whose score is remembered


@dataclass(frozen=True)
class Graded:
    """Rewards of a batch: 0 for invalid programs, which `ok` tells apart from a reward of 0."""

    rewards: Floats  # [B]
    ok: NDArray[np.bool_]  # [B]
    distinct: int


class Grader(Protocol):
    """Gives every program of a batch its reward."""

    def __call__(self, programs: Programs) -> Graded:
        """Grade the batch."""


def data_grader(library: Library, data: Data, reward: Reward, threads: int | Workers = 1) -> Grader:
    """The grader for a data set."""
    if not library.evaluable:
        names = ", ".join(t.name for t in library if t.arity and t.numpy is None)
        raise InputError(
            f"the library has tokens without a formula ({names}), so it cannot be fitted to data;"
            " give them one, or use Search.for_programs"
        )
    if isinstance(reward, ErrorReward):
        if reward.needs_spread:
            data.refuse_constant_target("the normalised error")
        return _ErrorGrader(Evaluator(library, data.X, data.y, data.weights, threads), data, reward)
    return _PredictionGrader(Evaluator(library, data.X, threads=threads), data, reward)


def score_grader(score: ScoreFunction, deterministic: bool = True) -> Grader:
    """The grader for a function of programs; a deterministic one is asked once per program."""
    return _ScoreGrader(score, deterministic)


@dataclass
class _ErrorGrader:
    evaluator: Evaluator
    data: Data
    reward: ErrorReward

    def __post_init__(self) -> None:
        self.rows = float(self.data.weights.sum())
        self.spread = self.data.spread

    def __call__(self, programs: Programs) -> Graded:
        errors = self.evaluator.errors(programs)
        # Finite values can still have an error sum that overflows: infinitely bad, reward 0.
        rewards = self.reward(errors.squared / self.rows, errors.absolute / self.rows, self.spread)
        rewards[~errors.ok] = 0.0
        return Graded(rewards, errors.ok, errors.distinct)


@dataclass
class _PredictionGrader:
    evaluator: Evaluator
    data: Data
    reward: PredictionReward

    def __call__(self, programs: Programs) -> Graded:
        first, inverse = _distinct(programs)
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
        return Graded(rewards[inverse], ok[inverse], len(first))


@dataclass
class _ScoreGrader:
    score: ScoreFunction
    deterministic: bool

    def __post_init__(self) -> None:
        self.known: OrderedDict[bytes, float] = OrderedDict()

    def __call__(self, programs: Programs) -> Graded:
        first, inverse = _distinct(programs)
        if not self.deterministic:
            return self._graded(self._ask(programs), len(first))
        keys = [programs.tokens[row, : programs.lengths[row]].tobytes() for row in first]
        new = [at for at, key in enumerate(keys) if key not in self.known]
        if new:
            asked = self._ask(programs[first[new]])
            self.known.update(zip((keys[at] for at in new), asked.tolist(), strict=True))
        rewards = np.array([self.known[key] for key in keys])
        while len(self.known) > _REMEMBERED:
            self.known.popitem(last=False)
        return self._graded(rewards[inverse], len(first))

    def _ask(self, programs: Programs) -> Floats:
        return checked_rewards(self.score(programs), len(programs), "the score function")

    @staticmethod
    def _graded(rewards: Floats, distinct: int) -> Graded:
        ok = np.isfinite(rewards)
        return Graded(np.where(ok, rewards, 0.0), ok, distinct)


def _distinct(programs: Programs) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First row of each distinct program, as they appear, and each row's place among them."""
    places: dict[bytes, int] = {}
    inverse = np.empty(len(programs), dtype=np.intp)
    first: list[int] = []
    for row, length in enumerate(programs.lengths):
        key = programs.tokens[row, :length].tobytes() + programs.constants[row].tobytes()
        place = places.setdefault(key, len(first))
        if place == len(first):
            first.append(row)
        inverse[row] = place
    return np.array(first, dtype=np.intp), inverse
