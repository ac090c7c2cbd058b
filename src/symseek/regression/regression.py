"""One target's search on a user's table: from columns in any unit to a model in the same units.

    Problem ──> Rows ──> Search, for each seed ──> front ──> Postprocessing ──> Model

The estimator and the command line are both thin covers of this.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import cycle

import numpy as np

from symseek.algebra.threads import one_blas_thread
from symseek.arrays import Floats
from symseek.columns import Column, Layout
from symseek.data import Data
from symseek.engines.faults import faults_reported
from symseek.errors import InputError
from symseek.groups import Groups
from symseek.loop import Iteration, NoProposals, Result, Stopped
from symseek.model import Formula, Model
from symseek.programs import Program, Programs
from symseek.regression import seeds
from symseek.regression.guesses import simple_forms, simple_programs
from symseek.regression.number_units import with_units
from symseek.regression.postprocessing import Postprocessing, solved
from symseek.regression.search_plan import SearchPlan, of_classes
from symseek.rewards import LossFunction, LossReward
from symseek.search import Search
from symseek.selection.measure import Measure
from symseek.selection.stopping import Ending
from symseek.settings import Settings
from symseek.structure.agreement import agrees
from symseek.structure.cycles import cyclic_programs
from symseek.structure.guard import guarded
from symseek.structure.proposals import SHARE, Proposals
from symseek.structure.transform import Transform


class Regression:
    """A search on a table, and the model it comes to.

    Inputs and target are columns, or names of columns; units may be given of `others` as well.

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
        features: Sequence[str | Column],
        settings: Settings | None = None,
        *,
        target: str | Column = "y",
        weights: Floats | None = None,
        groups: Groups | None = None,
        layout: Layout | None = None,
        others: Collection[str] = (),
        sigma: Floats | None = None,
    ) -> None:
        began = time.perf_counter()
        self.settings = settings = settings or Settings()
        self.layout = layout
        asked = target, weights, groups, others, sigma
        self.plan = plan = SearchPlan.of(X, y, features, settings, *asked)
        self.full, self.library = plan.full, plan.library
        self.problem, self.rows = plan.problem, plan.rows
        self.target = plan.problem.output.name
        self.guesses = plan.guessed(settings.guesses)
        self.measure = Measure(self.rows.judged, plan.problem.reward, self.library)
        self.postprocessing = Postprocessing(
            self.full,
            self.rows,
            self.measure,
            settings,
            self.plan.longest,
            self.plan.engine,
            self.plan.limits,
            plan.problem.form,
        )
        with faults_reported():
            self.searches = [
                self.plan.seeded((settings.seed + at) % 2**64, self._polished)
                for at in range(settings.seeds)
            ]
        self.search = self.searches[0]  # that runs, or ran last
        self._picked: Program | None = None  # by the last model
        self._found: Sequence[Formula] = ()  # in it, of the left side of a form
        self._spent = time.perf_counter() - began  # seconds, which count as those of the search

    @property
    def repeatable(self) -> Settings:
        """The settings, with an engine that is the same on any machine."""
        return self.plan.repeatable(self.search)

    @property
    def structure(self) -> str | None:
        """What the columns have been found to act like, in a sentence; None if like themselves.

        None also where the formula that was picked last depends on them in another way.
        """
        if self.settings.structure and of_classes(self.problem):
            return "no structure is looked for where a formula is the logarithm of odds"
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
        if found is None or not (found.holds_in(self.rows.scales.inputs) and self._agrees(found)):
            return None
        return f"as far as the rows show, {found.sentence(self.target)}"

    def _agrees(self, transform: Transform) -> bool:
        """Whether the formula that was picked last depends on the columns as a transform says."""
        try:
            with guarded():
                return self._picked is None or agrees(transform, self._picked, self.rows.judged.X)
        except NoProposals:
            return False

    def run(
        self,
        callback: Callable[[Iteration], object] | None = None,
        started: Callable[[], object] | None = None,
    ) -> Result:
        """Search until a budget is spent, or continue with one that was raised; seed by seed.

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
            for first in (self.guesses, self._simple(), self._cyclic()):
                if len(first):
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

    def _simple(self) -> Programs:
        form = self.problem.form
        return simple_programs(self.library) if form is None else simple_forms(form, self.library)

    def _cyclic(self) -> Programs:
        if (
            self.problem.form is not None
            or self.problem.grouping is not None
            or of_classes(self.problem)
        ):
            return Programs.from_list([], self.library)
        try:
            with guarded():
                programs = cyclic_programs(self.library, self.rows.searched)
        except NoProposals:
            self.search.state = replace(self.search.state, failed=True)
            return Programs.from_list([], self.library)
        return programs[programs.lengths <= self.settings.max_length]

    def _polished(self, program: Program) -> Program:
        """A program of the search, its constants fitted to the last digit where that helps."""
        steps = self.postprocessing
        return next(iter(steps.refit([steps.simplified(program)], self.rows.searched)), program)

    def with_own(self, program: Program) -> Program:
        """A program of the search with the groups' own numbers, which it does not keep."""
        return program if program.own or not program.own_used else self._polished(program)

    def continues_as(self, other: Regression) -> bool:
        """Whether another regression is this one again: the same but for budgets and threads."""
        mine, its = (_without_budgets(each.settings) for each in (self, other))
        pairs = ((each.rows.train, each.rows.validation) for each in (self, other))
        same = all(_equal(one, another) for one, another in zip(*pairs, strict=True))
        return same and mine == its and self.full == other.full

    def raise_budget(self, settings: Settings) -> None:
        """Allow as much again as these settings say."""
        wanted = self.plan.config(settings)
        for search in self.searches:
            ending_of(search).patient_from = search.expressions
            search.raise_budget(wanted.max_expressions, wanted.max_seconds)

    def learn_from(self, other: Regression) -> None:
        """Begin with the formulas and the policy of a search on other data."""
        for mine, its in zip(self.searches, cycle(other.searches), strict=False):
            mine.learn_from(its)

    def model(self, final: bool = True) -> Model:
        """What has been found so far; `final` refits on all rows and looks for neat numbers."""
        fronts = [search.front for search in self.searches]
        found = [each.program for each in seeds.merged_front(fronts)]
        steps = self.postprocessing
        formulas = steps.formulas(found, self._shortlist()) if final else steps.preview(found)
        formulas = seeds.counted(formulas, fronts, self.rows.train, self.rows.scales)
        if not formulas:
            raise InputError("no formula of the form has a value on every row", field="form")
        choice = steps.pick(formulas, self.settings.pick, final)
        self._picked, self._found = formulas[choice.row].program, formulas
        form, solution = self.problem.form, self.plan.solution
        target, said = self.target, "" if form is None else form.text
        if form is not None and solution is None:
            target = form.said
        elif form is not None and solution is not None and not form.plain:
            formulas = [solved(each, form, solution) for each in formulas]
        units = self.problem.units
        if units is not None:
            formulas = [with_units(each, units, form) for each in formulas]
        return Model(
            target,
            self.full.columns,
            tuple(formulas),
            choice.row,
            choice.rule,
            self.layout,
            self.rows.train.spread,
            choice.because,
            form=said,
            ranges=self.rows.ranges(self.full.grouping is not None),
            quantities=self.problem.columns,
            units={} if units is None else units.texts(),
            loss=self._loss,
        )

    @property
    def _loss(self) -> str:
        """What was asked to be small, for a table; empty for squared errors."""
        reward = self.problem.reward
        if isinstance(reward, LossReward):
            return str(reward.loss)
        return "loss" if isinstance(reward, LossFunction) else ""

    def _shortlist(self) -> list[Program]:
        """What the structure of the data proposes, unless something is exact already."""
        if not any(len(search.front) for search in self.searches):
            return []
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

    def repicked(self, model: Model, rule: str) -> Model:
        """The model with the formula that another rule picks."""
        self.settings = replace(self.settings, pick=rule)
        # Of a form, the model has formulas that are solved for the target.
        formulas = model.formulas if self.problem.form is None else self._found
        choice = self.postprocessing.pick(formulas, self.settings.pick)
        self._picked = formulas[choice.row].program
        return replace(model, picked=choice.row, rule=choice.rule, picked_because=choice.because)


def ending_of(search: Search) -> Ending:
    """What says when a search on a table has ended."""
    ending = search.ending
    assert isinstance(ending, Ending)
    return ending


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
    names = ("X", "y", "weights", "sigma")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
