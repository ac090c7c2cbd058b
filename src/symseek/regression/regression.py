"""One target's search on a user's table: from columns in any unit to a model in the same units.

    table ──> validation rows ──> rows sampled ──> scaled ──> Search ──> front
                                                                           │
    Model <── picked <── graded on all rows <── user's units <── refitted ─┘

The estimator and the command line are both thin covers of this.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, product
from typing import Any

import numpy as np

from symseek.algebra.threads import one_blas_thread
from symseek.arrays import Floats
from symseek.columns import Layout
from symseek.constraints.constraint_set import suits
from symseek.constraints.forms import Constraint, Custom, paper_constraints
from symseek.data import Data, Scales
from symseek.engines.choice import NATIVE, RACED, chosen, fixed
from symseek.engines.faults import faults_reported
from symseek.engines.interface import Engine, engine_named
from symseek.loop import Iteration, NoProposals, Result, Stopped
from symseek.model import Formula, Model, full_library
from symseek.programs import Program, Programs
from symseek.regression import seeds
from symseek.regression.all_rows import AllRows
from symseek.regression.guesses import guessed
from symseek.regression.telling import LOOKED_AT, Telling
from symseek.rewards import ErrorReward, reward_named
from symseek.search import Search, SearchConfig
from symseek.selection.measure import Measure
from symseek.selection.stopping import Ending
from symseek.settings import Settings
from symseek.structure.agreement import agrees
from symseek.structure.cycles import cyclic_programs
from symseek.structure.guard import guarded
from symseek.structure.proposals import MOST_ROWS, SHARE, Proposals
from symseek.structure.transform import Transform
from symseek.tokens import Library

__all__ = ["Regression", "simple_programs"]

_LONGER = 2  # times as long as a program that is searched for: what linear algebra finds may be
_UNSIMPLIFIED = 3  # times as long as that: what it writes at first
_LINE = 5  # tokens of c*x + c, which is always tried
# What is left of `max_seconds` for the time after the search: a part, and some for every row.
_AFTER, _AFTER_A_ROW, _MOST_AFTER = 0.05, 2e-6, 0.2
_JUDGED = 10_000  # rows by which formulas are chosen; what is chosen is graded on all
_MERGED = 100_000  # tables with no more rows than this are looked through for equal ones
_FEW_SHORT = 400  # pairs of variables, for which every operator is tried


class Regression:
    """A search on a table, and the model it comes to.

    >>> t = np.linspace(0.1, 3, 40)
    >>> regression = Regression(t[:, None], 9.81e6 / 2 * t**2, ["t"], target="height")
    >>> result = regression.run()
    >>> print(regression.model().best.text)
    4905000*t**2
    """

    def __init__(
        self,
        X: Floats,
        y: Floats,
        features: Sequence[str],
        settings: Settings | None = None,
        *,
        target: str = "y",
        weights: Floats | None = None,
        layout: Layout | None = None,
    ) -> None:
        began = time.perf_counter()
        self.settings = settings = settings or Settings()
        self.target = target
        self.layout = layout
        self.reward = reward_named(settings.reward)
        self.full = full_library(features, settings.operators)
        data = Data.checked(X, y, self.full.variables, weights)
        data = data.merged() if len(data.y) <= _MERGED else data.counted()
        data.refuse_few_rows()
        data.refuse_extreme_target()
        data.refuse_constant_target("there is no formula to find, and the normalised error")
        self.train, self.validation = data.split(settings.validation, settings.seed)
        self.train.refuse_constant_target("the normalised error of the rows to train on")
        judged = self.train.spanning(_JUDGED, 0)
        self.scales = self._scales(judged)
        numbers = ["const"] if settings.constants else []
        self.library = Library([*settings.operators, *numbers], self.full.variables)
        self.guesses = self._guessed()
        sampled = self.train.sampled(settings.sample_rows, settings.seed)
        self.searched = sampled.scaled(self.scales)
        self.searched.refuse_constant_target("the normalised error of the rows sampled")
        self.measure = Measure(judged, self.reward, self.library)
        self.engine = self._engine()
        self.telling = self._telling(judged)
        self._searched_by = Measure(sampled, self.reward, self.library, self.scales)
        with faults_reported():
            self.searches = [
                self._seeded((settings.seed + at) % 2**64) for at in range(settings.seeds)
            ]
        self.search = self.searches[0]  # that runs, or ran last
        self._picked: Program | None = None  # by the last model
        self._spent = time.perf_counter() - began  # seconds, which count as those of the search

    def _scales(self, data: Data) -> Scales:
        columns = len(self.full.variables)
        # Without constants a formula has nothing to turn the units of x*y into those of y with.
        if not self.settings.scale or not self.settings.constants:
            return Scales.none(columns)
        scales = Scales.of(data.X, data.y)
        # A reward in the target's own units means those of the user.
        free = isinstance(self.reward, ErrorReward) and self.reward.needs_spread
        return scales if free else replace(scales, target=1.0)

    def _telling(self, judged: Data) -> Telling:
        """What tells of formulas: chosen on some of the rows, with the numbers of all of them."""
        settings, train, validation = self.settings, self.train, self.validation
        every = AllRows(train, validation, self.reward, self.engine, settings.threads)
        return Telling(
            self.full,
            self.library,
            judged,
            None if validation is None else validation.spanning(_JUDGED, 0),
            self.searched,
            self.scales,
            self.reward,
            self.measure,
            settings.constants,
            # A sample of a large table is too small for a device to pay.
            self.engine if judged is train else NATIVE,
            settings.threads,
            None if judged is train else every,
        )

    def _guessed(self) -> Programs | None:
        """What the user has guessed."""
        if not self.settings.guesses:
            return None
        columns = self.full, self.library, self.train.spanning(_JUDGED, 0).X, self.scales
        return guessed(self.settings.guesses, *columns, self.longest)

    def _engine(self) -> str | Engine:
        """What computes; all searches of a fit share one device."""
        name = chosen(self.settings.engine, *self._work)
        return name if name == NATIVE else engine_named(name, self.settings.threads)

    @property
    def _work(self) -> tuple[int, int]:
        """Rows that every program sees, or as good as those, and programs in a batch."""
        rows, config = len(self.searched.y), self.settings.search_config()
        racing = config.racing if isinstance(self.reward, ErrorReward) else None
        raced = racing is not None and any(few < rows for few in racing.sizes(rows))
        return rows // RACED if raced else rows, config.batch_size

    @property
    def repeatable(self) -> Settings:
        """The settings, with an engine that is the same on any machine."""
        name = fixed(self.settings.engine, self.search.engine.name, *self._work)
        return replace(self.settings, engine=name)

    def _seeded(self, seed: int) -> Search:
        """The search with one seed."""
        ending = Ending(self._searched_by, self.settings.patience, self._polished)
        proposals = self._proposals(seed)
        return self._search(
            self.library, self.searched, seed=seed, ending=ending, proposals=proposals
        )

    def _config(self, settings: Settings) -> SearchConfig:
        """The settings of the search, which leaves some of the seconds for what comes after it."""
        config, seconds = settings.search_config(), settings.max_seconds
        if settings.config is not None or seconds is None:
            return config
        return replace(config, max_seconds=seconds - self._after(seconds))

    def _after(self, seconds: float) -> float:
        """How many of the seconds are left for what comes after the search."""
        return min(_AFTER * seconds + _AFTER_A_ROW * len(self.train.y), _MOST_AFTER * seconds)

    def _search(self, library: Library, data: Data, **options: Any) -> Search:
        """A search on these rows."""
        settings, config = self.settings, self._config(self.settings)
        # As many constants as there are rows fit anything.
        most_constants = min(config.max_constants, len(data.y) - 1)
        return Search(
            library,
            data.X,
            data.y,
            config,
            reward=self.reward,
            weights=data.weights,
            constraints=[
                *paper_constraints(
                    low=max(1, min(4, settings.max_length // 2)),
                    high=settings.max_length,
                    constants=most_constants,
                ),
                *self._further_constraints(library),
            ],
            threads=settings.threads,
            engine=self.engine,
            **options,
        )

    def _further_constraints(self, library: Library) -> Collection[Constraint | Custom]:
        """Those of the user; on transformed columns, only those that name none that are gone."""
        asked = self.settings.constraints
        if library is self.library:
            return asked
        return [each for each in asked if suits(each, library)]

    def _proposals(self, seed: int) -> Proposals | None:
        """What the structure of the data proposes, if it is asked for and the reward allows it."""
        settings = self.settings
        evolves = settings.search_config().evolution is not None
        if not (settings.structure and evolves and Proposals.suit(self.reward)):
            return None

        # The same rows for every seed, so that searches can share what they show.
        rows = self.train.spanning(MOST_ROWS, 0)
        return Proposals(
            self.library,
            rows.scaled(self.scales),
            self.longest * (_UNSIMPLIFIED if self.longest > settings.max_length else 1),
            partial(self._search_some_rows, seed=seed),
            settings.threads,
            getattr(self.engine, "device", None),
        )

    @property
    def longest(self) -> int:
        """The most tokens of a formula: linear algebra may take more than the search, unless asked.

        Who asks for formulas shorter than usual gets them.
        """
        length = self.settings.max_length
        return length if length < Settings.max_length else _LONGER * length

    def _search_some_rows(self, library: Library, data: Data, seed: int) -> Search:
        some = data.sampled(self.settings.sample_rows, self.settings.seed)
        return self._search(library, some, seed=seed)

    @property
    def structure(self) -> str | None:
        """What the columns have been found to act like, in a sentence; None if like themselves.

        None also where the formula that was picked last depends on them in another way.
        """
        if self.search.state.failed:
            return (
                "the structure of this table could not be computed (numbers out of range, or too"
                " little memory); the search ran without it"
            )
        if self.search.state.without_proposals:
            return (
                f"to look for structure takes more than {SHARE:.0%} of `max_seconds`; the search"
                " ran without it"
            )
        proposals = self.search.proposals
        found = proposals.found if isinstance(proposals, Proposals) else None
        if found is None or not (found.holds_in(self.scales.inputs) and self._agrees(found)):
            return None
        return f"as far as the rows show, {found.sentence(self.target)}"

    def _agrees(self, transform: Transform) -> bool:
        """Whether the formula that was picked last depends on the columns as a transform says."""
        try:
            with guarded():
                return self._picked is None or agrees(transform, self._picked, self.telling.train.X)
        except NoProposals:
            return False

    def run(
        self,
        callback: Callable[[Iteration], object] | None = None,
        started: Callable[[], object] | None = None,
    ) -> Result:
        """Search until a budget is spent, or go on with one that was raised; seed by seed.

        `started` is called once, when the simplest formulas are known and before anything is looked
        for that takes longer.

        Raises:
            DeviceFault: the engine's device failed; the search stands after its last iteration.
        """
        results: list[Result] = []
        for search in self.searches:
            if isinstance(search.proposals, Proposals):
                search.proposals.share(self.search.proposals)
            self.search = search
            with faults_reported(), one_blas_thread():
                results.append(self._run(callback, started))
            if results[-1].stopped not in seeds.CONTINUE_AFTER:
                break
        return seeds.merged_result(results)

    def _run(
        self,
        callback: Callable[[Iteration], object] | None,
        started: Callable[[], object] | None,
    ) -> Result:
        """Run the search of one seed."""

        def begin() -> None:
            for first in (self.guesses, simple_programs(self.library), self._cyclic()):
                if first is not None:
                    self.search.consider(first[: self._left])
            if started is not None and self.search is self.searches[0]:
                started()

        if self.search.iteration:
            return self.search.run(callback)
        spent = self._spent if self.search is self.searches[0] else 0.0
        return self.search.run(callback, begin, spent)

    @property
    def _left(self) -> int | None:
        """Expressions that may still be graded; None for any number."""
        budget = self.search.config.max_expressions
        return None if budget is None else max(budget - self.search.expressions, 0)

    @property
    def most_expressions(self) -> int | None:
        """The budget of all seeds together; None for no limit."""
        budgets = [search.config.max_expressions for search in self.searches]
        return None if None in budgets else sum(filter(None, budgets))

    @property
    def finished(self) -> Stopped | None:
        """Why there is nothing left to do; None while there is."""
        reasons = [search.finished for search in self.searches]
        return next((each for each in reasons if each not in seeds.CONTINUE_AFTER), reasons[-1])

    def _cyclic(self) -> Programs:
        try:
            with guarded():
                programs = cyclic_programs(self.library, self.searched)
        except NoProposals:
            self.search.state = replace(self.search.state, failed=True)
            return Programs.from_list([], self.library)
        return programs[programs.lengths <= self.settings.max_length]

    def _polished(self, program: Program) -> Program:
        """A program of the search, its constants fitted to the last digit where that helps."""
        return next(
            iter(self.telling.refitted([self.telling.simple(program)], self.searched)), program
        )

    def continues_as(self, other: Regression) -> bool:
        """Whether another regression is this one again: the same but for budgets and threads."""
        mine, its = (_without_budgets(each.settings) for each in (self, other))
        same = _equal(self.train, other.train) and _equal(self.validation, other.validation)
        return same and mine == its and self.full == other.full

    def raise_budget(self, settings: Settings) -> None:
        """Allow as much again as these settings say."""
        wanted = self._config(settings)
        for search in self.searches:
            ending_of(search).patient_from = search.expressions
            search.raise_budget(wanted.max_expressions, wanted.max_seconds)

    def learn_from(self, other: Regression) -> None:
        """Begin with the formulas and the policy of a search on other data."""
        for mine, its in zip(self.searches, cycle(other.searches), strict=False):
            mine.learn_from(its)

    def model(self, final: bool = True) -> Model:
        """What has been found so far; `final` refits on all rows and looks for neat numbers."""
        front = seeds.merged_front([each.front for each in self.searches])
        programs = [self.telling.simple(each.program) for each in front]
        proposed: list[Program] = []
        if final and programs:
            proposed = [self.telling.simple(each) for each in self._shortlist()]
            # How short these are shows once their numbers are neat, so none is left out before.
            tightened = dict.fromkeys([*self.telling.tightened([*programs, *proposed]), *proposed])
            programs = self.telling.refitted(list(tightened), self.telling.scaled)
        programs = [each for each in programs if len(each) <= max(self.longest, _LINE)]
        if final and programs:
            programs = self.telling.contenders(programs, proposed)
        if self.settings.constants or not programs:
            programs = [self.telling.number(), *programs]
        programs = [self.telling.in_units(each) for each in programs]
        if final:
            programs = [self.telling.neat(each) for each in programs]
        formulas = self.telling.front([self.telling.formula(each) for each in programs])
        if final:
            formulas = [self.telling.final(each) for each in formulas]
            formulas = self.telling.front(formulas)
        formulas = self._counted(formulas)
        choice, rule = self.telling.pick(formulas, self.settings.pick, final)
        self._picked = formulas[choice.row].program
        return Model(
            self.target,
            self.full.variables,
            tuple(formulas),
            choice.row,
            rule,
            self.layout,
            self.train.spread,
            choice.because,
        )

    def _shortlist(self) -> list[Program]:
        """What the structure of the data proposes, unless something is exact already."""
        if self.search.iteration and ending_of(self.search)(self.search.state) is Stopped.EXACT:
            return []
        listed = [
            each
            for search in self.searches
            if search.proposals is not None and search.iteration
            if not (search.state.without_proposals or search.state.failed)
            for each in search.proposals.shortlist(search.expressions)
        ]
        return list(dict.fromkeys(listed))

    def _counted(self, formulas: list[Formula]) -> list[Formula]:
        """The formulas with how many seeds came to each, if there are several to tell of."""
        begun = [each for each in self.searches if len(each.front)]
        if len(begun) < 2:
            return formulas
        every = slice(None, None, -(-len(self.train.y) // LOOKED_AT))
        X, spread = self.train.X[every], self.train.spread
        scaled, unit = X / self.scales.inputs, self.scales.target / spread
        with np.errstate(all="ignore"):
            values = np.array([each.program.evaluate(X) for each in formulas]) / spread
            fronts = [
                np.array([each.program.evaluate(scaled) for each in search.front]) * unit
                for search in begun
            ]
        errors = np.array([each.nrmse for each in formulas])
        counts = seeds.found_by(values, errors, fronts)
        pairs = zip(formulas, counts, strict=True)
        return [replace(each, seeds=(count, len(begun))) for each, count in pairs]

    def repicked(self, model: Model, rule: str) -> Model:
        """The model with the formula that another rule picks."""
        self.settings = replace(self.settings, pick=rule)
        choice, rule = self.telling.pick(list(model.formulas), self.settings.pick)
        self._picked = model.formulas[choice.row].program
        return replace(model, picked=choice.row, rule=rule, picked_because=choice.because)


def ending_of(search: Search) -> Ending:
    """What says when a search on a table has ended."""
    ending = search.ending
    assert isinstance(ending, Ending)
    return ending


def simple_programs(library: Library) -> Programs:
    """The formulas too short for the search to write: x, c*x and c*x + c for every variable.

    Where there are no constants, x*y does not come of c*x*y: every operator of variables is there.

    >>> [str(each) for each in simple_programs(Library(["add", "mul", "const"], ["x"]))]
    ['x', '1.0*x', '1.0*x + 1.0']
    >>> [str(each) for each in simple_programs(Library(["sub", "sin"], ["x", "y"]))]
    ['x', 'y', 'sin(x)', 'sin(y)', 'x - x', 'x - y', 'y - x', 'y - y']
    """
    names, constant = set(library.names), library.constant_id
    found = []
    for variable in library.variable_ids:
        found.append([variable])
        if constant is not None and "mul" in names:
            found.append([library.index("mul"), constant, variable])
            if "add" in names:
                found.append([library.index("add"), *found[-1], constant])
    if constant is None:
        found += [
            [operator, *arguments]
            for arity in (1, 2)
            if len(library.variable_ids) ** arity <= _FEW_SHORT
            for operator in np.flatnonzero(library.arity == arity).tolist()
            for arguments in product(library.variable_ids, repeat=arity)
        ]
    return Programs.from_list([Program(library, tuple(tokens)) for tokens in found])


def _without_budgets(settings: Settings) -> Settings:
    config = settings.config
    if config is not None:
        config = replace(config, max_expressions=None, max_seconds=None)
    return replace(
        settings, max_expressions=2, max_seconds=None, patience=None, threads=1, config=config
    )


def _equal(one: Data | None, other: Data | None) -> bool:
    if one is None or other is None:
        return one is other
    names = ("X", "y", "weights")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
