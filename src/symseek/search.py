"""The search: Algorithm 1 of the paper as a loop that fits on one screen.

Sample programs from the policy, grade them, keep the best, choose what to learn from, learn. Start
reading at `Search.run`; every step is one module. A search owns its threads, memory and random
numbers, so several can run in one process.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.clock import Clock
from symseek.constants import FitConfig
from symseek.constraints.constraint_set import ConstraintSet
from symseek.constraints.forms import Constraint, Custom, paper_constraints
from symseek.data import Data
from symseek.engines.native import Policy, Sample, Workers
from symseek.errors import InputError, unknown_name
from symseek.evaluation import Graded, Grader, ScoreFunction, data_grader, score_grader
from symseek.evolution import Evolution, Evolver
from symseek.front import Entry, Front
from symseek.objectives import Objective, RiskSeeking, Selection, top_quantile
from symseek.policy import PolicyConfig
from symseek.programs import Programs
from symseek.recombination import Recombiner
from symseek.rewards import ErrorReward, Reward, reward_named
from symseek.tokens import Library

PERFECT = 1 - 1e-12  # a reward that only rounding keeps from 1

QUANTILES: NDArray[np.float64] = np.linspace(0, 1, 21)
"""Where the distribution of each batch's rewards is kept: every twentieth."""

__all__ = ["QUANTILES", "Iteration", "Result", "Search", "SearchConfig", "Stopped"]


@dataclass(frozen=True)
class SearchConfig:
    """How to search. The defaults are the paper's settings for deep symbolic regression."""

    batch_size: int = 1000  # N: programs sampled in each iteration
    max_expressions: int = 2_000_000  # the budget: every program graded counts, copies too
    max_seconds: float | None = None  # a second budget, in time
    stop_reward: float | None = None  # stop once the best reward reaches this
    objective: Objective = field(default_factory=RiskSeeking)
    learning_rate: float = 5e-4  # of Adam
    entropy_weight: float = 0.005  # lambda: how strongly variety is rewarded
    entropy_decay: float = 1.0  # below 1, variety in early tokens counts more than in late ones
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    fresh: float = 0.0  # share of the batches that a policy which never learns writes
    evolution: Evolution | None = None  # generations bred from each batch before learning
    max_constants: int = 3  # in one program, unless `constraints` say otherwise
    constants: FitConfig | None = field(default_factory=FitConfig.paper)  # None: const stays 1

    def __post_init__(self) -> None:
        if self.batch_size < 2:
            raise InputError(f"the batch size is {self.batch_size}; it must be at least 2")
        if self.max_expressions < self.batch_size:
            raise InputError(
                f"the budget of {self.max_expressions} expressions is smaller than one batch of"
                f" {self.batch_size}; raise max_expressions or lower batch_size"
            )
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise InputError(f"max_seconds is {self.max_seconds}; it must be positive")
        for name in ("learning_rate", "entropy_weight"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"{name} is {value}; it must be a number, 0 or more")
        if self.max_constants < 0:
            raise InputError(f"max_constants is {self.max_constants}; it must be 0 or more")
        if not 0 <= self.fresh < 1:
            raise InputError(f"fresh is {self.fresh}; it must be from 0 to below 1: a share")
        if not 0 < self.entropy_decay <= 1:
            raise InputError(
                f"entropy_decay is {self.entropy_decay}; it must be above 0 and at most 1"
            )
        if self.stop_reward is not None and math.isnan(self.stop_reward):
            raise InputError("stop_reward is NaN; give a number, or None")

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> SearchConfig:
        """Build from keywords, refusing unknown ones by name."""
        known = [each.name for each in fields(cls)]
        for name in settings:
            if name not in known:
                raise unknown_name("setting", name, known)
        return cls(**settings)


class Stopped(enum.Enum):
    """Why a search ended; the values are what a user reads."""

    BUDGET = "the budget of expressions is spent"
    TIME = "the time is up"
    REWARD = "the wanted reward is reached"
    CALLBACK = "the callback asked to stop"
    SETTLED = "nothing better has been found for long"
    INTERRUPTED = "interrupted; the best so far is kept"


@dataclass(frozen=True)
class Iteration:
    """One turn of the loop in numbers."""

    iteration: int
    expressions: int  # graded so far
    seconds: float  # since the search began
    mean_reward: float  # of the batch, invalid programs counting 0
    top_mean_reward: float  # of the best epsilon of the batch
    best_reward: float  # of the batch
    entropy: float  # of the policy along a program, mean over the batch; NaN if none was sampled
    mean_length: float  # tokens
    invalid_fraction: float  # of the batch
    unique_fraction: float  # of the batch
    quantiles: tuple[float, ...]  # of the batch's rewards, at `QUANTILES`
    tokens: tuple[int, ...]  # [L] how often each token of the library was sampled
    best: Entry | None  # the best program so far

    @classmethod
    def of(cls, graded: Graded, epsilon: float, **known: Any) -> Iteration:
        """The row of a graded batch; its best `epsilon` counts as the top."""
        rewards, programs, count = graded.rewards, graded.programs, len(graded.rewards)
        top = rewards[rewards >= top_quantile(rewards, epsilon)]
        # EMPTY is -1: shifted by one, padding is counted first, and left out.
        tokens = np.bincount(programs.tokens.ravel() + 1, minlength=len(programs.library) + 1)[1:]
        places = np.rint(QUANTILES * (count - 1)).astype(int)
        return cls(
            mean_reward=float(rewards.sum()) / count,
            top_mean_reward=float(top.sum()) / len(top),
            best_reward=float(top.max()),
            mean_length=float(programs.lengths.sum()) / count,
            invalid_fraction=1.0 - float(np.count_nonzero(graded.ok)) / count,
            unique_fraction=graded.distinct / count,
            quantiles=tuple(np.sort(rewards)[places].tolist()),
            tokens=tuple(tokens.tolist()),
            **known,
        )


@dataclass(frozen=True)
class Result:
    """What a search found."""

    front: Front
    expressions: int
    seconds: float
    stopped: Stopped
    history: list[Iteration]
    seed: int
    timings: dict[str, float]  # seconds in "sample", "evaluate", "evolve", "train" and "other"

    @property
    def best(self) -> Entry | None:
        """The program with the highest reward; None if every program was invalid."""
        return self.front.best

    def __str__(self) -> str:
        rate = self.expressions / max(self.seconds, 1e-9)
        return (
            f"{self.front}\n{self.expressions:,} expressions in {self.seconds:.1f} s"
            f" ({rate:,.0f}/s), seed {self.seed}: {self.stopped.value}"
        )


Callback = Callable[[Iteration], object]


class Search:
    """Finds programs with high reward.

    >>> import numpy as np
    >>> from symseek import Library
    >>> library = Library(["add", "mul", "sin"], variables=["x"])
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> search = Search(library, X, X[:, 0] ** 2 + X[:, 0], seed=1)
    >>> result = search.run(callback=lambda now: now.best.reward > 1 - 1e-9)
    >>> round(result.best.reward, 9)
    1.0
    """

    def __init__(
        self,
        library: Library,
        X: ArrayLike,
        y: ArrayLike,
        config: SearchConfig | None = None,
        *,
        reward: str | Reward | Callable[..., NDArray[np.floating]] = "inverse_nrmse",
        weights: ArrayLike | None = None,
        constraints: Iterable[Constraint | Custom] | None = None,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        config = config or SearchConfig()
        data = Data.checked(X, y, library.variables, weights)
        workers = _workers(threads)
        chosen = reward_named(reward)
        grader = data_grader(library, data, chosen, workers, config.constants)
        # Every reward of errors is 1 for no error at all.
        self.perfect = PERFECT if isinstance(chosen, ErrorReward) else math.inf
        self._set_up(library, grader, config, constraints, seed, workers, data)

    @classmethod
    def for_programs(
        cls,
        library: Library,
        score: ScoreFunction,
        config: SearchConfig | None = None,
        *,
        deterministic: bool = True,
        constraints: Iterable[Constraint | Custom] | None = None,
        seed: int = 0,
        threads: int = 1,
    ) -> Search:
        """Search trees of any kind under any score: `score(programs)` gives rewards [B].

        There is no data set, and tokens need no formula. NaN marks a program as invalid. Pass
        `deterministic=False` for a score that may differ between calls.
        """
        config = config or SearchConfig()
        search = cls.__new__(cls)
        search.perfect = math.inf
        grader = score_grader(score, deterministic, library, config.constants)
        search._set_up(library, grader, config, constraints, seed, _workers(threads))
        return search

    def _set_up(
        self,
        library: Library,
        grader: Grader,
        config: SearchConfig,
        constraints: Iterable[Constraint | Custom] | None,
        seed: int,
        workers: Workers,
        data: Data | None = None,
    ) -> None:
        if not 0 <= seed < 2**64:
            raise InputError(f"the seed is {seed}; it must be from 0 to 2**64 - 1")
        self.library = library
        self.config = config
        self.seed = seed
        self.grader = grader
        self.rules = ConstraintSet(
            library,
            paper_constraints(constants=config.max_constants)
            if constraints is None
            else constraints,
        )
        self.policy = Policy(self.rules, self.config.policy, seed, workers)
        # Its random numbers are those of another seed: the same ones would give the same programs.
        self.untrained = Policy(self.rules, self.config.policy, seed ^ (1 << 63), workers)
        self.evolver = None
        if config.evolution is not None:
            recombiner = None
            if data is not None and config.evolution.pairing:
                recombiner = Recombiner(library, data, self.rules.max_length, workers)
            self.evolver = Evolver(config.evolution, self.rules, seed, workers, recombiner)
        self.objective_state = self.config.objective.start()
        self.enough: Callable[[], bool] | None = None  # asked between iterations; true is the end
        self.front = Front()
        self.iteration = 0
        self.expressions = 0
        self.settled = 0  # the expressions when it last stood between two iterations
        self.seconds = 0.0
        self.history: list[Iteration] = []
        self.timings = dict.fromkeys(("sample", "evaluate", "evolve", "train", "other"), 0.0)

    def run(self, callback: Callback | None = None) -> Result:
        """Search until a budget is spent, the reward is reached, or the callback returns true.

        Ctrl-C ends it with the best so far. If the callback raises, its error passes through and
        the search object keeps its front.
        """
        config, clock = self.config, Clock(self)
        try:
            while (stopped := self.finished) is None:
                batch, entropy = self._batch(clock)
                graded = batch
                if self.evolver is not None:
                    graded = self.evolver(batch, self.iteration, self._grade, self._room(clock))
                    clock.lap("evolve")
                selection, self.objective_state = config.objective.select(
                    self.objective_state, graded.programs, graded.rewards
                )
                self._learn(selection)
                clock.lap("train")
                now = self._record(batch, entropy, clock)
                if callback is not None and callback(now):
                    stopped = Stopped.CALLBACK
                    break
        except KeyboardInterrupt:
            stopped = Stopped.INTERRUPTED
        clock.lap("other")
        return Result(
            self.front,
            self.expressions,
            self.seconds,
            stopped,
            self.history,
            self.seed,
            dict(self.timings),
        )

    def consider(self, programs: Programs) -> Graded:
        """Grade programs from elsewhere, which the front keeps if they are good.

        They count against the budget. The constraints, which say what to sample, are not asked.
        """
        between = self.settled == self.expressions
        graded = self._grade(programs)
        if between:
            self.settled = self.expressions
        return graded

    def _batch(self, clock: Clock) -> tuple[Graded, float]:
        """What an iteration begins with: a sample, graded, and the policy's mean entropy along it.

        An evolution that continues brings its own population, of which the policy knows nothing.
        """
        if self.evolver is not None and self.evolver.population is not None:
            return self.evolver.population, math.nan
        config = self.config
        sample = self._sample(min(config.batch_size, config.max_expressions - self.expressions))
        clock.lap("sample")
        graded = self._grade(sample.programs)
        clock.lap("evaluate")
        return graded, float(sample.entropy.sum(dtype=np.float64)) / len(sample.entropy)

    def _sample(self, batch: int) -> Sample:
        """A batch from the policy or, for a share of the iterations, from one that never learns."""
        share, number = self.config.fresh, self.iteration
        fresh = int((number + 1) * share) > int(number * share)
        return (self.untrained if fresh else self.policy).sample(batch, number)

    def _grade(self, programs: Programs) -> Graded:
        """Rewards for programs, which count against the budget; the front keeps the best."""
        graded = self.grader(programs)
        self.expressions += len(programs)
        rewards = np.where(graded.ok, graded.rewards, np.nan)
        self.front.update(graded.programs, rewards, self.expressions)
        return graded

    def _learn(self, selection: Selection) -> None:
        config = self.config
        if config.learning_rate == 0:
            return
        shares = config.entropy_weight * selection.entropy_shares
        score = self.policy.gradient(
            selection.programs, selection.weights, shares, config.entropy_decay
        )
        assert score.gradient is not None
        self.policy.ascend(score.gradient, config.learning_rate)

    def _room(self, clock: Clock) -> Callable[[], int]:
        """How many children may still be graded: none once the search ends or a fit is exact.

        A search that goes on after an exact fit, for a simpler one perhaps, evolves on.
        """
        exact_before = self._exact()

        def room() -> int:
            clock.lap("evolve")
            done = self._finished() is not None or (self._exact() and not exact_before)
            return 0 if done else self.config.max_expressions - self.expressions

        return room

    @property
    def finished(self) -> Stopped | None:
        """Why there is nothing left to do; None while there is."""
        stopped = self._finished()
        if stopped is None and self.enough is not None and self.enough():
            stopped = Stopped.SETTLED
        return stopped

    def _exact(self) -> bool:
        best = self.front.best
        return best is not None and best.reward >= self.perfect

    def _finished(self) -> Stopped | None:
        config, best = self.config, self.front.best
        if config.stop_reward is not None and best and best.reward >= config.stop_reward:
            return Stopped.REWARD
        if config.max_expressions - self.expressions < 2:
            return Stopped.BUDGET
        if config.max_seconds is not None and self.seconds >= config.max_seconds:
            return Stopped.TIME
        return None

    def _record(self, graded: Graded, entropy: float, clock: Clock) -> Iteration:
        self.iteration += 1
        clock.lap("other")
        epsilon = getattr(self.config.objective, "epsilon", RiskSeeking.epsilon)
        now = Iteration.of(
            graded,
            epsilon,
            iteration=self.iteration,
            expressions=self.expressions,
            seconds=self.seconds,
            entropy=entropy,
            best=self.front.best,
        )
        self.history.append(now)
        self.settled = self.expressions
        return now


def _workers(threads: int) -> Workers:
    if not 1 <= threads <= 1024:
        raise InputError(f"threads is {threads}; it must be from 1 to 1024")
    return Workers(threads)
