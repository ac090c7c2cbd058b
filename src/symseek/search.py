"""The search: Algorithm 1 of the paper as a step from one state to the next.

Sample programs from the policy, grade them, keep the best, choose what to learn from, learn. Start
reading at `Search.step`; every line of it is one module. `SearchState` is all that one iteration
leaves to the next, and `loop` has the loop over it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.arguments import ABOVE_0, BELOW_1, FINITE, check_fields, number, refused, whole
from symseek.constants import FitConfig
from symseek.constraints import Constraint, ConstraintSet, Custom, paper_constraints
from symseek.data import Data
from symseek.engines.interface import Engine, Sample, engine_named
from symseek.errors import InputError, Setting, unknown_name
from symseek.evaluation import Check, Graded, Grader, ScoreFunction, checked, score_grader
from symseek.evolution import Evolution, Evolver, Population, merged, part
from symseek.front import Front
from symseek.loop import (
    Clock,
    Iteration,
    IterativeSearch,
    LoopState,
    NoProposals,
    OutOfTime,
    StepContext,
    Stopped,
    check_budget,
    check_seed,
)
from symseek.mapping import Mapping
from symseek.objectives import Objective, RiskSeeking, Selection
from symseek.policy import AdamState, PolicyConfig
from symseek.programs import Program, Programs
from symseek.racing import Racer, Racing
from symseek.rewards import ErrorReward, Reward, reward_named, with_sigma
from symseek.start import first_weights
from symseek.target import Target
from symseek.tokens import Library

PERFECT = 1 - 1e-12  # a reward that only rounding keeps from 1


@dataclass(frozen=True)
class SearchConfig:
    """How to search.

    The defaults are the paper's settings for deep symbolic regression, but that an underflow is
    valid; `presets.dsr` takes it as invalid, as the authors' code did.
    """

    batch_size: int = 1000  # N: programs sampled in each iteration
    # The budget: every program graded counts, copies too. None: no limit.
    max_expressions: int | None = 2_000_000
    max_seconds: float | None = None  # a second budget, in time
    stop_reward: float | None = None  # stop once the best reward reaches this
    objective: Objective = field(default_factory=RiskSeeking)
    learning_rate: float = 5e-4  # of Adam
    entropy_weight: float = 0.005  # lambda: how strongly variety is rewarded
    entropy_decay: float = 1.0  # below 1, variety in early tokens counts more than in late ones
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    untrained_share: float = 0.0  # share of the batches that a policy which never learns writes
    evolution: Evolution | None = None  # generations bred from each batch before learning
    max_constants: int = 3  # in one program, unless `constraints` say otherwise
    constants: FitConfig | None = field(default_factory=FitConfig.paper)  # None: const stays 1
    underflow_invalid: bool = False  # whether exp(-800) is as invalid as exp(800)
    racing: Racing | None = None  # on many rows, grade on few first and only the best on all

    def __post_init__(self) -> None:
        check_fields(
            self,
            batch_size=2,
            learning_rate=(0, FINITE),
            entropy_weight=(0, FINITE),
            entropy_decay=(ABOVE_0, 1),
            untrained_share=(0, BELOW_1),
            max_constants=0,
            max_seconds=ABOVE_0,
        )
        if isinstance(self.objective, type) or not hasattr(self.objective, "select"):
            raise refused("objective", self.objective, "an objective, such as RiskSeeking()")
        check_budget(self, "batch", "batch_size")

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> SearchConfig:
        """Build from keywords, refusing unknown ones by name."""
        known = [each.name for each in fields(cls)]
        for name in settings:
            if name not in known:
                raise unknown_name("setting", name, known)
        return cls(**settings)


@dataclass(frozen=True, kw_only=True)
class SearchState(LoopState):
    """All that one iteration leaves to the next; a checkpoint is this, saved."""

    weights: NDArray[np.float32]  # [P] of the policy, flat as in PolicyWeights
    adam: AdamState  # moments [P]
    objective: Any  # what the objective remembers
    population: Population | None = None  # that an evolution continues with, [B] programs
    restarted_at: int = 0  # expressions graded when the policy last began anew
    without_proposals: bool = (
        False  # whether it has continued without proposals, which took too long
    )
    failed: bool = False  # whether proposals have failed; none are asked for from then on


class Proposer(Protocol):
    """Brings programs to a search; what it brings depends on the iteration and its data alone."""

    def __call__(self, iteration: int, context: StepContext) -> Iterable[Programs]:
        """Programs in groups, to be graded one after another.

        If they take too much of the time it raises `OutOfTime`. From then on the search asks for
        those of iteration 0, until it gets them. If it fails it raises `NoProposals`, and is not
        asked again.
        """

    def shortlist(self, expressions: int) -> list[Program]:
        """The best it knows, which a front may not show, after so many expressions."""


class Ends(Protocol):
    """Says when a search ends, or begins anew; by its state alone, so that it can be repeated."""

    def __call__(self, state: SearchState) -> Stopped | None:
        """The reason to end, if there is one."""

    def begins_anew(self, state: SearchState) -> bool:
        """Whether the next iteration is one of a policy that has learnt nothing."""


class Search(IterativeSearch):
    """Finds programs with high reward, on data X [N, n], y [N] or under a score of the programs.

    >>> import numpy as np
    >>> from symseek import Library
    >>> library = Library(["add", "mul", "sin"], variables=["x"])
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> search = Search(library, X, X[:, 0] ** 2 + X[:, 0], seed=1)
    >>> result = search.run(callback=lambda now: now.best.reward > 1 - 1e-9)
    >>> round(result.best.reward, 9)
    1.0
    """

    least = 2

    def __init__(
        self,
        library: Library,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        config: SearchConfig | None = None,
        *,
        reward: str | Reward | Callable[..., NDArray[np.floating]] = "inverse_nrmse",
        weights: ArrayLike | None = None,
        sigma: ArrayLike | None = None,
        target: Target | None = None,
        mapping: Mapping | None = None,
        score: ScoreFunction | None = None,
        deterministic: bool = True,
        constraints: Iterable[Constraint | Custom] | None = None,
        check: Check | None = None,
        ending: Ends | None = None,
        proposals: Proposer | None = None,
        seed: int = 0,
        threads: int = 1,
        engine: str | Engine = "native",
    ) -> None:
        if not isinstance(library, Library):
            raise refused("library", library, "of the type Library")
        self.library = library
        self.config = config = SearchConfig() if config is None else config
        if not isinstance(config, SearchConfig):
            raise refused("config", config, "of the type SearchConfig")
        self.seed = seed = check_seed(seed)
        self.engine = engine_named(engine, threads)
        self.mapping = mapping  # from the programs that are written to those that are graded
        self.data: Data | None = None
        self.rows: Data | None = None  # with the values that a formula is to have
        self.perfect = math.inf  # the reward of an exact fit
        self.check = check  # of what programs do beside the rows
        self.judged_by: object
        self.grader: Grader
        if score is not None:
            self.judged_by = score, deterministic
            self.grader = score_grader(score, deterministic, library, config.constants)
        elif X is None or y is None:
            raise InputError("a search needs data X and y, or a score of programs")
        else:
            by = reward_named(reward)
            data = Data.checked(X, y, self._columns(), weights, sigma)
            data = with_sigma(data, by) if weights is None else data
            self._grade_on(data, by, Target() if target is None else target)
        if constraints is None:
            constraints = paper_constraints(constants=config.max_constants)
        self.rules = ConstraintSet(library, constraints)
        self.policy = self.engine.policy(self.rules, config.policy.hidden)
        self.evolver = None
        if config.evolution is not None:
            # What is missing is known of graded programs, and only written ones can be joined.
            rows = None if mapping is not None or library.grouping is not None else self.rows
            self.evolver = Evolver(config.evolution, self.rules, seed, self.engine, rows)
            self.margin = max(config.batch_size, config.evolution.pairs)
        self.ending = ending  # asked between iterations
        self.proposals = proposals  # programs that others propose, in every iteration
        first = first_weights(config.policy, library, seed)
        # Its random numbers are those of another seed: the same ones would give the same programs.
        self._untrained_seed = seed ^ (1 << 63)
        self._untrained = first_weights(config.policy, library, self._untrained_seed).flat
        self.state: SearchState = SearchState(
            weights=first.flat,
            adam=AdamState.start(first.flat.size),
            objective=config.objective.start(),
        )

    def _columns(self) -> Sequence[str]:
        """The names of the columns of data, which are variables of the programs that are graded."""
        graded = self.library if self.mapping is None else getattr(self.mapping, "library", None)
        if not isinstance(graded, Library):
            raise refused("mapping", self.mapping, "a map of programs with their library")
        return graded.columns

    def _grade_on(self, data: Data, reward: Reward, target: Target) -> None:
        """Grade programs on data, in full and in races."""
        if not isinstance(target, Target):
            raise refused("target", target, "of the type Target")
        config = self.config
        how = reward, self.engine, config.constants, config.underflow_invalid, self.mapping
        self.data, self.rows = data, target.rows(data)
        self.judged_by = reward if type(target) is Target else (reward, target)
        # A check is of formulas with their groups' own numbers, which a cache does not keep.
        kept = None if self.check is None or self.library.grouping is None else 0
        graded = target.grader(self.library, data, *how, cache=kept)
        self.grader = checked(graded, self.check)
        if self.rows is not None:
            fitted = self.library, self.rows, *how
            self.racer = Racer.on(config.racing, *fitted, self.seed, self.grader, self.check)
        if isinstance(reward, ErrorReward):  # each is 1 where there is no error
            self.perfect = PERFECT

    @classmethod
    def for_programs(
        cls,
        library: Library,
        score: ScoreFunction,
        config: SearchConfig | None = None,
        **options: Any,
    ) -> Search:
        """Search trees of any kind under any score: `score(programs)` gives rewards [B].

        There is no data set, and tokens need no formula. NaN marks a program as invalid. Pass
        `deterministic=False` for a score that may differ between calls. The other options are
        those of `Search`.
        """
        return cls(library, config=config, score=score, **options)

    def step(self, state: SearchState, context: StepContext) -> SearchState:
        """One iteration of Algorithm 1."""
        config, clock = self.config, context.clock
        if self.ending is not None and self.ending.begins_anew(state):
            state = self.restarted(state)
        room = self._room(context)
        batch, entropy = self._first_batch(state, context)
        batch, aid = self._with_proposals(batch, state, context, room)
        graded, population = batch, None
        if self.evolver is not None:
            graded, population = self.evolver(
                batch, state.population, state.iteration, context.grade, room
            )
            clock.lap("evolve")
        selection, objective = config.objective.select(
            state.objective, graded.programs, graded.rewards
        )
        weights, adam = self._learn(state, selection)
        clock.lap("train")
        epsilon = getattr(config.objective, "epsilon", RiskSeeking.epsilon)
        return SearchState(
            weights=weights,
            adam=adam,
            objective=objective,
            population=population,
            restarted_at=state.restarted_at,
            **aid,
            **context.closed(batch, state, epsilon, entropy),
        )

    def _first_batch(self, state: SearchState, context: StepContext) -> tuple[Graded, float]:
        """What an iteration begins with: a sample, graded, and the policy's mean entropy along it.

        An evolution that continues brings its own population, of which the policy knows nothing.
        """
        if state.population is not None:
            return state.population.graded, math.nan
        sample = self._sample(state, min(self.config.batch_size, context.left))
        context.clock.lap("sample")
        graded = context.grade(sample.programs)
        context.clock.lap("evaluate")
        return graded, float(sample.entropy.sum(dtype=np.float64)) / len(sample.entropy)

    def _with_proposals(
        self, batch: Graded, state: SearchState, context: StepContext, room: Callable[[], int]
    ) -> tuple[Graded, dict[str, Any]]:
        """The batch with what is proposed, and whether the search runs without proposals, and why.

        If they take too long it runs as if there had never been any, and a search without them
        repeats it. With more time, a search that is resumed gets them. If they fail, what this
        iteration has got of them is dropped, and no later one asks: a search that is resumed
        then comes to the same.
        """
        aid: dict[str, Any] = {"without_proposals": state.without_proposals, "failed": state.failed}
        if self.proposals is None or state.failed or not room():
            return batch, aid
        own, before = batch, copy(context)
        try:
            for proposed in self.proposals(
                0 if state.without_proposals else state.iteration, context
            ):
                batch = self._joined(batch, proposed, context)
                if not room():
                    break
        except (OutOfTime, NoProposals) as reason:
            context.adopt_counts(before)
            context.front = before.front
            failed = isinstance(reason, NoProposals)
            return own, {"without_proposals": not failed, "failed": failed}
        return batch, {"without_proposals": False, "failed": False}

    def _joined(self, batch: Graded, proposed: Programs, context: StepContext) -> Graded:
        """The batch with proposals that the constraints allow.

        The front looks at all that break no `binding` constraint.
        """
        proposed = self.rules.bound(proposed[: max(context.left, 0)])
        if not len(proposed):
            return batch
        graded = context.grade(proposed, race=False)
        short = np.flatnonzero(proposed.lengths <= self.rules.max_length)
        allowed = short[self.engine.permits(self.rules, proposed[short])]
        return merged([batch, part(graded, allowed)])

    def first_proposals(self) -> tuple[Graded, Front, int]:
        """What is proposed to the first iteration, if its sample is not exact.

        The programs that the constraints allow, the front of all, and the expressions they take. No
        seed changes it, so that searches on the same data can share it.
        """
        context = self.context(Clock(self.state))
        context.expressions = sampled = self.config.batch_size
        none = Programs.from_list([], self.library)
        nothing = Graded(none, np.zeros(0), np.zeros(0, dtype=bool), 0)
        batch, _ = self._with_proposals(nothing, self.state, context, self._room(context))
        return batch, context.front, context.expressions - sampled

    def _sample(self, state: SearchState, batch: int) -> Sample:
        """A batch from the policy or, for a share of the iterations, from one that never learns."""
        share, number = self.config.untrained_share, state.iteration
        if int((number + 1) * share) > int(number * share):
            return self.policy.sample(self._untrained, self._untrained_seed, number, batch)
        return self.policy.sample(state.weights, self.seed, number, batch)

    def _room(self, context: StepContext) -> Callable[[], int]:
        """How many children may still be graded: none once the search ends or a fit is exact.

        A search that continues after an exact fit, for a simpler one perhaps, evolves on.
        """
        exact_before = self._exact(context.front)

        def room() -> int:
            context.clock.lap("evolve")
            context.wind_up(self.margin)
            done = context.finished(self.least) is not None or (
                self._exact(context.front) and not exact_before
            )
            return 0 if done else context.left

        return room

    def _exact(self, front: Front) -> bool:
        return front.best is not None and front.best.reward >= self.perfect

    def _learn(
        self, state: SearchState, selection: Selection
    ) -> tuple[NDArray[np.float32], AdamState]:
        """The policy's weights and Adam's state after learning from what was selected."""
        config = self.config
        if config.learning_rate == 0:
            return state.weights, state.adam
        shares = config.entropy_weight * selection.entropy_shares
        score = self.policy.gradient(
            state.weights, selection.programs, selection.weights, shares, config.entropy_decay
        )
        assert score.gradient is not None
        return self.policy.ascend(state.weights, state.adam, score.gradient, config.learning_rate)

    @property
    def finished(self) -> Stopped | None:
        """Why there is nothing left to do; None while there is."""
        stopped = super().finished
        if stopped is None and self.ending is not None:
            stopped = self.ending(self.state)
        return stopped

    # What others ask of a search between two iterations.

    @property
    def iteration(self) -> int:
        """Iterations done."""
        return self.state.iteration

    @property
    def expressions(self) -> int:
        """Programs graded."""
        return self.state.expressions

    @property
    def history(self) -> tuple[Iteration, ...]:
        """A row for each iteration."""
        return self.state.history

    def sample(self, batch: int, iteration: int | None = None) -> Sample:
        """Programs that the policy writes as it is now, as it would in some iteration."""
        turn = self.state.iteration if iteration is None else iteration
        batch = whole(Setting("batch"), batch, "a whole number of 1 or more", 1, 2**31 - 1)
        turn = whole(Setting("iteration"), turn, "a whole number of 0 or more", 0, 2**63 - 1)
        return self.policy.sample(self.state.weights, self.seed, turn, batch)

    def consider(self, programs: Programs) -> Graded:
        """Grade programs that others propose, which the front keeps if they are good.

        They count against the budget. Only the constraints that are `binding` are asked, the others
        say what to sample, and each is graded on all rows: those who bring programs want to know
        their rewards.
        """
        programs = self.rules.bound(programs)
        context = self.context(Clock(self.state))
        graded = context.grade(programs, race=False)
        self.state = replace(self.state, front=context.front, expressions=context.expressions)
        return graded

    def learn_from(self, other: Search) -> None:
        """Begin with the formulas and the policy of another search over the same library."""
        if other.library != self.library or not len(other.front):
            return
        self.consider(Programs.from_list([entry.program for entry in other.front]))
        if other.state.weights.shape == self.state.weights.shape:
            self.state = replace(self.state, weights=other.state.weights)

    def restarted(self, state: SearchState) -> SearchState:
        """The state with a policy that has learnt nothing, and with the front it had."""
        first = first_weights(self.config.policy, self.library, self.seed)
        return replace(
            state,
            weights=first.flat,
            adam=AdamState.start(first.flat.size),
            objective=self.config.objective.start(),
            population=None,
            restarted_at=state.expressions,
        )

    def raise_budget(self, expressions: int | None, seconds: float | None) -> None:
        """Allow so many more expressions and seconds; None for no limit."""
        if expressions is not None:
            expressions = whole(
                Setting("expressions"), expressions, "a whole number of 0 or more", 0
            )
        if seconds is not None:
            seconds = number(Setting("seconds"), seconds, "a number of 0 or more", 0)
        self.config = replace(
            self.config,
            max_expressions=None if expressions is None else self.state.expressions + expressions,
            max_seconds=None if seconds is None else self.state.seconds + seconds,
        )
