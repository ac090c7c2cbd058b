"""The loop that every search shares: steps until a budget is spent, with a callback and a clock.

A search has a `state`, frozen, and a `step` from one state to the next. The loop below takes steps
of one search, or of several side by side, and ends each by its own budget. A state always stands
between two iterations: one that was interrupted leaves no trace in it.
"""

from __future__ import annotations

import enum
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from symseek.arguments import refused, whole
from symseek.engines.interface import Engine
from symseek.errors import InputError
from symseek.evaluation import Graded, Grader
from symseek.front import Entry, Front
from symseek.objectives import top_quantile
from symseek.programs import Programs
from symseek.racing import Racer

QUANTILES: NDArray[np.float64] = np.linspace(0, 1, 21)
"""Where the distribution of each batch's rewards is kept: every twentieth."""

STAGES = ("sample", "evaluate", "evolve", "train", "other")


class Stopped(enum.Enum):
    """Why a search ended; the values are what a user reads."""

    BUDGET = "the budget of expressions is spent"
    TIME = "the time is up"
    REWARD = "the wanted reward is reached"
    EXACT = "a formula meets every digit of the target"
    CALLBACK = "the callback asked to stop"
    EARLY = "what is left cannot be distinguished from noise, and the search has stopped improving"
    INTERRUPTED = "interrupted; the best so far is kept"


class OutOfTime(Exception):
    """What is being looked for takes too much of the time."""


class NoProposals(Exception):
    """What proposes programs to a search has failed; the search runs without it."""


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
    repeated_by: int | None = None  # the `max_expressions` that give the same without a clock

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


class Budget(Protocol):
    """What ends a search; None where there is no limit."""

    @property
    def max_expressions(self) -> int | None: ...
    @property
    def max_seconds(self) -> float | None: ...
    @property
    def stop_reward(self) -> float | None: ...


def check_budget(budget: Budget, batch: str, setting: str) -> None:
    """Refuse a budget of expressions that is smaller than one batch."""
    size = getattr(budget, setting)
    if budget.max_expressions is not None and budget.max_expressions < size:
        raise InputError(
            f"the budget of {budget.max_expressions} expressions is smaller than one {batch} of"
            f" {size}; raise max_expressions or lower {setting}"
        )


def check_seed(seed: int) -> int:
    """The seed, if it is one."""
    return whole("the seed", seed, "a whole number from 0 to 2**64 - 1", 0, 2**64 - 1)


@dataclass(frozen=True, kw_only=True)
class LoopState:
    """What every search has between two iterations."""

    front: Front = field(default_factory=Front)
    iteration: int = 0
    expressions: int = 0  # graded so far
    seconds: float = 0.0
    timings: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    history: tuple[Iteration, ...] = ()


class Clock:
    """The seconds of a search, stage by stage."""

    def __init__(self, state: LoopState, spent: float = 0.0) -> None:
        self.seconds = state.seconds
        self.timings = dict(state.timings)
        self._last = time.perf_counter() - spent

    @property
    def now(self) -> float:
        """The seconds up to this moment."""
        return self.seconds + time.perf_counter() - self._last

    def lap(self, stage: str) -> None:
        """Add the time since the last lap to a stage."""
        now = time.perf_counter()
        self.timings[stage] += now - self._last
        self.seconds += now - self._last
        self._last = now


class StepContext:
    """The front and the budget while an iteration continues; every program it grades counts."""

    def __init__(
        self,
        grader: Grader,
        budget: Budget,
        state: LoopState,
        clock: Clock,
        racer: Racer | None = None,
    ) -> None:
        self.grader = grader
        self.racer = racer
        self.budget = budget
        self.clock = clock
        self.front = state.front
        self.expressions = state.expressions
        most = budget.max_expressions
        self.most = sys.maxsize if most is None else most
        self.out_of_time = False  # whether the clock has set an end to the expressions

    def grade(self, programs: Programs, race: bool = True) -> Graded:
        """Rewards for programs; the front keeps the best of those that are final."""
        racer, front = self.racer, self.front
        graded = racer(programs, front) if race and racer else self.grader(programs)
        self.expressions += len(programs)
        self.front = self.front.updated(graded.programs, graded.final_rewards, self.expressions)
        return graded

    def nested(self, search: IterativeSearch) -> StepContext:
        """A context of another search, with a front of its own and with this budget and clock."""
        state = LoopState(expressions=self.expressions)
        own = StepContext(search.grader, self.budget, state, self.clock, search.racer)
        own.most, own.out_of_time = self.most, self.out_of_time
        return own

    def check_time(self, share: float) -> None:
        """Raise `OutOfTime` if more than a share of the time is spent."""
        seconds = self.budget.max_seconds
        if seconds is not None and self.clock.now > share * seconds:
            raise OutOfTime

    def adopt_counts(self, other: StepContext) -> None:
        """Count what was graded in a nested search, or no more than was before."""
        self.expressions, self.most = other.expressions, other.most
        self.out_of_time = other.out_of_time

    @property
    def left(self) -> int:
        """Expressions that may still be graded."""
        return self.most - self.expressions

    def wind_up(self, more: int) -> None:
        """If the time is up, end after so many expressions more.

        A budget of that many then gives the same search without a clock, if no step before could
        have made out that there were no more left.
        """
        seconds = self.budget.max_seconds
        if seconds is not None and self.clock.seconds >= seconds and not self.out_of_time:
            self.most = min(self.most, self.expressions + more)
            self.out_of_time = True

    def finished(self, least: int) -> Stopped | None:
        """Why the search has ended, if it has; an iteration grades `least` programs or more."""
        budget, best = self.budget, self.front.best
        if budget.stop_reward is not None and best and best.reward >= budget.stop_reward:
            return Stopped.REWARD
        if self.left < least:
            return Stopped.TIME if self.out_of_time else Stopped.BUDGET
        if self.out_of_time or budget.max_seconds is None:
            return None
        return Stopped.TIME if self.clock.seconds >= budget.max_seconds else None

    def closed(self, graded: Graded, state: LoopState, epsilon: float, entropy: float) -> Any:
        """The parts of the next state that every search has; `graded` is the batch to record."""
        self.clock.lap("other")
        now = Iteration.of(
            graded,
            epsilon,
            iteration=state.iteration + 1,
            expressions=self.expressions,
            seconds=self.clock.seconds,
            entropy=entropy,
            best=self.front.best,
        )
        return {
            "front": self.front,
            "iteration": now.iteration,
            "expressions": self.expressions,
            "seconds": self.clock.seconds,
            "timings": dict(self.clock.timings),
            "history": (*state.history, now),
        }


class IterativeSearch:
    """What `Search` and genetic programming share: a state, and steps until a budget is spent."""

    engine: Engine
    grader: Grader
    racer: Racer | None = None  # that spares the grader most programs
    config: Any  # a Budget
    seed: int
    state: Any  # a LoopState
    interrupted: StepContext | None = None  # what an interrupted iteration had found
    least = 1  # programs that an iteration grades at least
    margin = 0  # programs that an iteration may ask for at a time, and grade fewer
    most: int | None = None  # expressions, once the time is up

    def step(self, state: Any, context: StepContext) -> Any:
        """The state after one more iteration."""
        raise NotImplementedError

    def run(
        self,
        callback: Callback | None = None,
        before: Callable[[], object] | None = None,
        spent: float = 0.0,
    ) -> Result:
        """Search until a budget is spent, the reward is reached, or the callback returns true.

        The callback is asked once an iteration. Ctrl-C ends it with the best so far. If the
        callback raises, its error passes through and the search keeps its state.
        """
        if callback is not None and not callable(callback):
            raise refused("callback", callback, "a function, or None")
        return run_together([self], [callback], before, spent)[0]

    def context(self, clock: Clock) -> StepContext:
        """The front and the budget, for a step to continue with."""
        context = StepContext(self.grader, self.config, self.state, clock, self.racer)
        if self.most is not None:
            context.most, context.out_of_time = min(context.most, self.most), True
        return context

    def wind_up(self) -> None:
        """Between two iterations: if the time is up, see to it that a count repeats the search."""
        context = self.context(Clock(self.state))
        context.wind_up(self.margin)
        self.most = context.most if context.out_of_time else None

    @property
    def finished(self) -> Stopped | None:
        """Why there is nothing left to do; None while there is."""
        return self.context(Clock(self.state)).finished(self.least)

    @property
    def front(self) -> Front:
        """The best programs so far, those of an interrupted iteration included."""
        front: Front = (self.interrupted or self.state).front
        return front


@dataclass
class _Run:
    """A search on its way through the loop, which takes its turns."""

    search: IterativeSearch
    callback: Callback | None
    clock: Clock
    context: StepContext | None = None
    stopped: Stopped | None = None

    def take(self) -> Any:
        """The state after one more step."""
        self.clock.lap("other")
        self.context = self.search.context(self.clock)
        return self.search.step(self.search.state, self.context)

    def accept(self, state: Any) -> None:
        if self.context is not None and self.context.out_of_time:
            self.search.most = self.context.most
        self.search.state, self.context = state, None
        self.search.wind_up()
        if self.callback is not None and self.callback(state.history[-1]):
            self.stopped = Stopped.CALLBACK
        else:
            self.stopped = self.search.finished

    def result(self) -> Result:
        self.clock.lap("other")
        search, found = self.search, self.context or self.search.state
        search.interrupted = self.context
        search.state = replace(
            search.state, seconds=self.clock.seconds, timings=dict(self.clock.timings)
        )
        return Result(
            found.front,
            found.expressions,
            self.clock.seconds,
            self.stopped or Stopped.INTERRUPTED,
            list(search.state.history),
            search.seed,
            dict(self.clock.timings),
            self._repeated_by(found.expressions),
        )

    def _repeated_by(self, expressions: int) -> int | None:
        """The budget of expressions that gives the same without a clock, if there was one.

        A search that ended by its own rule comes to that rule again before such a budget is spent:
        it leaves room for all that the last iteration asked for.
        """
        budget = self.search.config
        by_itself = self.stopped in (Stopped.EXACT, Stopped.EARLY, Stopped.REWARD)
        if self.search.most is not None or budget.max_seconds is None or not by_itself:
            return self.search.most
        enough = expressions + max(self.search.margin, self.search.least)
        return min(enough, budget.max_expressions or enough)


def run_together(
    searches: Sequence[IterativeSearch],
    callbacks: Sequence[Callback | None] | None = None,
    before: Callable[[], object] | None = None,
    spent: float = 0.0,
) -> list[Result]:
    """Run searches side by side, each until its own end; none depends on the others.

    What is to be done `before` the first step may be ended by Ctrl-C as well. It counts as time, as
    do the seconds that were `spent` earlier, but there is one step at least.

    Those that share an engine take their steps in one call to it. Ctrl-C ends all of them with the
    best so far. If a callback raises, its error passes through and each search keeps its state.
    """
    asked = callbacks or [None] * len(searches)
    for search in searches:
        search.interrupted = search.most = None
    runs = [
        _Run(search, callback, Clock(search.state, spent))
        for search, callback in zip(searches, asked, strict=True)
    ]
    try:
        if before is not None:
            before()
        for run in runs:
            run.stopped = run.search.finished
        while going := [run for run in runs if run.stopped is None]:
            for engine in dict.fromkeys(run.search.engine for run in going):
                turns = [run for run in going if run.search.engine is engine]
                for run, state in zip(turns, engine.advance(turns), strict=True):
                    run.accept(state)
    except KeyboardInterrupt:
        pass
    return [run.result() for run in runs]
