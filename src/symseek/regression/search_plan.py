"""The searches of a problem: one for each seed, on the same rows, with the same settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from symseek.arrays import Floats
from symseek.columns import Column
from symseek.constraints import (
    Arguments,
    Constraint,
    ConstraintSet,
    Count,
    Custom,
    NotAllConstants,
    paper_constraints,
)
from symseek.constraints.constraint_set import suits
from symseek.data import Data
from symseek.engines.choice import AUTO, NATIVE, RACED, chosen, fixed
from symseek.engines.interface import Engine, engine_named
from symseek.errors import InputError, Setting
from symseek.form import GivenForm, own_numbers
from symseek.groups import Groups, grouping_of
from symseek.limits import Limits, ShapeCheck
from symseek.model import full_library
from symseek.problem import Problem
from symseek.programs import Program, Programs
from symseek.regression.guesses import guessed
from symseek.regression.rows import Rows
from symseek.rewards import ErrorReward, LossReward, Reward, reward_asked
from symseek.search import Proposer, Search, SearchConfig
from symseek.selection.measure import Measure
from symseek.selection.stopping import Ending
from symseek.settings import Settings
from symseek.structure.dimensional import TableUnits
from symseek.structure.proposals import MOST_ROWS, Proposals
from symseek.tokens import RESERVED, Library, Token
from symseek.units import ColumnUnits, GivenUnits

_LONGER = 2  # times as long as a program that is searched for: what linear algebra finds may be
_UNSIMPLIFIED = 3  # times as long as that: what it writes at first
# What is left of `max_seconds` for the time after the search: a part, and some for every row.
_AFTER, _AFTER_A_ROW, _MOST_AFTER = 0.05, 2e-6, 0.2


@dataclass(frozen=True)
class SearchPlan:
    """What the searches of a problem have in common; it makes one for each seed."""

    problem: Problem
    settings: Settings
    rows: Rows
    full: Library  # every operator
    library: Library  # what the search writes with
    engine: str | Engine  # one device for all
    limits: Limits  # that every formula keeps to
    solution: Program | None = None  # the target by the left side of a given form

    @classmethod
    def of(
        cls,
        X: Floats,
        y: Floats,
        features: Sequence[str | Column],
        settings: Settings,
        target: str | Column = "y",
        weights: Floats | None = None,
        groups: Groups | None = None,
        others: Collection[str] = (),
        sigma: Floats | None = None,
    ) -> SearchPlan:
        """The plan for a table, checked, on the engine that suits the work.

        The table may have `others` as columns, of which units may be given.
        """
        names = [each.name if isinstance(each, Column) else each for each in features]
        grouping = None
        if groups is not None:
            taken = {*names, getattr(target, "name", str(target)), *RESERVED}
            most = settings.own if settings.constants else 0
            text = "" if settings.form is None else str(settings.form)
            named = [name for name, _ in own_numbers(text)]
            grouping, codes = grouping_of(groups, taken, most, named)
            features, names = [*features, groups.column], [*names, groups.column]
            X = np.column_stack([X, codes])
        full = full_library(names, settings.operators, grouping)
        reward = reward_asked(settings.loss, settings.reward)
        asked = weights, settings.constraints, grouping, sigma
        problem = Problem.of(X, y, features, target, reward, *asked)
        library = Library(_tokens(settings), full.variables, grouping)
        to_keep = settings.require, settings.forbid, settings.limit
        solution, given, form = None, problem.data, None
        if settings.form is not None:
            problem = problem.formed(str(settings.form))
            form = problem.form
        unknowns = {} if form is None else {each.name: each.columns for each in form.unknowns}
        limits = Limits.of(library, full, problem.output.name, *to_keep, unknowns)
        if form is not None:
            solution = form.solution(given.X, given.y)
        if settings.units is not None:
            asked_for, free = GivenUnits.read(str(settings.units)), settings.numbers == "free"
            units = ColumnUnits.of(asked_for, problem.columns, free, others)
            problem = problem.measured(units)
            if limits.unscaled and not free:
                units.refuse_conversions()
        limits = replace(limits, dimensions=problem.dimensions, form=problem.form)
        rows = Rows.of(problem, replace(settings, scale=False) if limits.unscaled else settings)
        limits = limits.within(
            full.columns,
            rows.judged.X,
            given.spread,
            grouping,
            partial(_whole, problem.form, solution, full),
        )
        library = Library(_tokens(settings, limits, rows), full.variables, grouping)
        library = library if form is None else form.library(library)
        problem = problem.scaled(rows.scales)
        name = _engine(problem, settings, rows, limits)
        engine = name if name == NATIVE else engine_named(name, settings.threads)
        return cls(problem, settings, rows, full, library, engine, limits, solution)

    def check(self) -> None:
        """Refuse constraints that no formula obeys, as a search does when it begins."""
        ConstraintSet(self.library, self._constraints(self.library, self.rows.searched))

    def guessed(self, guesses: Iterable[str]) -> Programs:
        """Formulas of the user's columns as programs of the search."""
        judged, scales = self.rows.judged.X, self.rows.scales
        units = self.limits.dimensions
        return guessed(guesses, self.full, self.library, judged, scales, self.longest, units)

    def repeatable(self, search: Search) -> Settings:
        """The settings, with an engine that is the same on any machine."""
        work = _work(self.problem, self.settings, self.rows)
        name = fixed(self.settings.engine, search.engine.name, *work)
        return replace(self.settings, engine=name)

    def seeded(self, seed: int, polished: Callable[[Program], Program]) -> Search:
        """The search with one seed; `polished` fits constants to the last digit."""
        ending = Ending(self._measure, self.settings.patience, polished)
        return self._on(self.library, self.rows.searched, seed, ending, self._proposals(seed))

    @property
    def usual(self) -> Library:
        """What unknown functions are made of, unless it is said of them."""
        tokens, full = _tokens(self.settings, self.limits, self.rows), self.full
        return Library(tokens, full.variables, full.grouping)

    @cached_property
    def _measure(self) -> Measure:
        return Measure(self.rows.sampled, self.problem.reward, self.library, self.rows.scales)

    def config(self, settings: Settings) -> SearchConfig:
        """The settings of the search, which leaves some of the seconds for what comes after it."""
        config, seconds = settings.search_config(), settings.max_seconds
        if self.problem.form is not None:
            config = _of_form(config, self.problem.form)
        if self.limits.numbers is not None and config.constants is not None:
            constants = replace(config.constants, bounds=self.limits.numbers)
            config = replace(config, constants=constants)
        if of_classes(self.problem) and config.evolution is not None:
            # What is missing is known of values, and not of the odds of 0 and 1.
            config = replace(config, evolution=replace(config.evolution, pairing=0))
        if self.problem.grouping is not None:  # a race on few rows has none of some groups
            config = replace(config, racing=None)
        if settings.config is not None or seconds is None:
            return config
        needed = _AFTER * seconds + _AFTER_A_ROW * len(self.rows.train.y)
        return replace(config, max_seconds=seconds - min(needed, _MOST_AFTER * seconds))

    @property
    def longest(self) -> int:
        """The most tokens of a formula: linear algebra may take more than the search, unless asked.

        Who asks for formulas shorter than usual gets them.
        """
        length = self.settings.max_length
        return length if length < Settings.max_length else _LONGER * length

    def _on(
        self,
        library: Library,
        data: Data,
        seed: int,
        ending: Ending | None = None,
        proposals: Proposer | None = None,
    ) -> Search:
        """A search on these rows."""
        problem, settings = self.problem, self.settings
        return Search(
            library,
            data.X,
            data.y,
            self.config(settings),
            reward=problem.reward,
            weights=data.weights,
            sigma=data.sigma,
            target=problem.target,
            constraints=self._constraints(library, data),
            check=self._check if library is self.library else None,
            ending=ending,
            proposals=proposals,
            seed=seed,
            threads=settings.threads,
            engine=self.engine,
        )

    @cached_property
    def _check(self) -> ShapeCheck | None:
        """What says which programs keep to the limits of values."""
        shapes = self.limits.shapes
        if shapes is None:
            return None
        form, solution = self.problem.form, self.solution
        solution = None if form is None or form.plain else solution
        engine = engine_named(self.engine, self.settings.threads)
        parts = None if form is None else partial(form.reading, self.library)
        return ShapeCheck(shapes, engine, self.library, self.rows.scales, solution, parts)

    def _constraints(self, library: Library, data: Data) -> list[Constraint | Custom]:
        """Those of every fit, and those of the user.

        On transformed columns, only those of the user that name none that are gone.
        """
        length, own = self.settings.max_length, library is self.library
        form = self.problem.form if own else None
        usual = paper_constraints(
            low=max(1, min(4, length // 2)),
            high=length,
            # As many constants as there are rows fit anything.
            constants=min(self.settings.search_config().max_constants, len(data.y) - 1),
        )
        asked = self.problem.constraints
        if form is not None:
            usual = self._of_form(form, library, length, len(data.y) - 1)
        rules = self.limits.rules if own else ()
        of_groups: list[Constraint] = []
        if library.grouping is not None:
            names = library.grouping.own
            of_groups = [Count(library.grouping.column, high=0)]
            of_groups += [Count(names, high=len(names) + 1)] if names else []
        asked_of_it = (each for each in asked if own or suits(each, library))
        return [*usual, *of_groups, *asked_of_it, *rules]

    def _of_form(
        self, form: GivenForm, library: Library, length: int, constants: int
    ) -> list[Constraint]:
        """The constraints of every fit, for the programs of a form."""
        most = self.settings.search_config().max_constants + len(form.numbers)
        high = 1 + len(form.numbers) + max(length, len(form.functions))
        usual = paper_constraints(1, high, constants=min(most, constants))
        if not form.functions:  # its arguments are numbers, all of them
            usual = [each for each in usual if not isinstance(each, NotAllConstants)]
        lengths = tuple(each.length for each in form.unknowns)
        return [*usual, Arguments(form.token.name, form.allowed(self.usual), lengths)]

    def _proposals(self, seed: int) -> Proposals | None:
        """What the structure of the data proposes, if it is asked for and the reward allows it."""
        settings = self.settings
        evolves = settings.search_config().evolution is not None
        if self.problem.form is not None:
            return None
        if not (settings.structure and evolves and Proposals.suit(self.problem.reward)):
            return None
        if self.problem.grouping is not None:  # what groups share does not show in all rows as one
            return None

        # The same rows for every seed, so that searches can share what they show.
        rows = _for_least_squares(self.rows.train.spanning(MOST_ROWS, 0), self.problem.reward)
        return Proposals(
            self.library,
            rows.scaled(self.rows.scales),
            self.longest * (_UNSIMPLIFIED if self.longest > settings.max_length else 1),
            partial(self._on_some_rows, seed=seed),
            settings.threads,
            getattr(self.engine, "device", None),
            TableUnits.of(self.problem.dimensions, self.library.variables),
        )

    def _on_some_rows(self, library: Library, data: Data, seed: int) -> Search:
        return self._on(library, data.sampled(self.settings.sample_rows, self.settings.seed), seed)


def _tokens(
    settings: Settings, limits: Limits | None = None, rows: Rows | None = None
) -> list[str | float | Token]:
    """What a search writes with beside columns.

    A formula that tends to 0.3 has that number in it, which no fit of noisy rows would meet.
    """
    found: list[str | float | Token] = [*settings.operators]
    if not settings.constants:
        return found
    if limits is not None and rows is not None and limits.values:
        known = {each.value for each in Library(found, ["\0"])}
        marks = [each / rows.scales.target for each in limits.marks]
        found += [each for each in dict.fromkeys(marks) if each not in known]
    return [*found, "const"]


def _whole(
    form: GivenForm | None, solution: Program | None, full: Library, program: Program, of: str
) -> Program:
    """What limits are of: an unknown, or the target, where a given form can be solved for it."""
    if form is not None and of:
        return form.parts(program)[of].over(full).owning(program)
    if form is None:
        return program
    right = form.whole(program, full)
    solved = right if form.plain or solution is None else form.solved(solution, right)
    return solved.owning(program)


def of_classes(problem: Problem) -> bool:
    """Whether formulas are the logarithms of odds: the target says nothing of their values."""
    reward = problem.reward
    return isinstance(reward, LossReward) and reward.loss.name == "logistic"


def _for_least_squares(data: Data, reward: Reward) -> Data:
    """Rows with weights by which least squares come nearest to the loss."""
    name = reward.loss.name if isinstance(reward, LossReward) else ""
    if name not in ("relative", "poisson"):
        return data
    scatter = data.y**2 if name == "relative" else np.maximum(data.y, 1.0)
    weights = data.weights / scatter
    return replace(data, weights=weights * (len(weights) / weights.sum()))


def _of_form(config: SearchConfig, form: GivenForm) -> SearchConfig:
    """The settings of a search for a form: no two of its programs can be joined into one.

    Where only numbers are unknown, there is one program.
    """
    if config.evolution is not None:
        config = replace(config, evolution=replace(config.evolution, pairing=0))
    return config if form.functions else replace(config, batch_size=2, max_expressions=4)


def _engine(problem: Problem, settings: Settings, rows: Rows, limits: Limits) -> str:
    native = {
        "form": problem.form is not None,
        "group": problem.grouping is not None,
        "limit": limits.numbers is not None or bool(limits.values),
        "units": problem.dimensions is not None,
        "sigma": problem.data.sigma is not None and _in_sigmas(problem.reward),
    }
    only = next((name for name, asked in native.items() if asked), None)
    if only is None:
        return chosen(settings.engine, *_work(problem, settings, rows))
    if settings.engine == "cuda":
        raise InputError(
            Setting(only), " is searched for on the native engine; leave out ", Setting("engine")
        )
    return NATIVE if settings.engine == AUTO else settings.engine


def _in_sigmas(reward: Reward) -> bool:
    return isinstance(reward, LossReward) and reward.loss.in_sigmas


def _work(problem: Problem, settings: Settings, rows: Rows) -> tuple[int, int]:
    """Rows that every program sees, or as good as those, and programs in a batch."""
    count, config = len(rows.sampled.y), settings.search_config()
    racing = config.racing if isinstance(problem.reward, ErrorReward) else None
    raced = racing is not None and any(few < count for few in racing.sizes(count))
    return count // RACED if raced else count, config.batch_size
