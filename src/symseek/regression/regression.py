"""One target's search on a user's table: from columns in any unit to a model in the same units.

    table ──> validation rows ──> rows sampled ──> scaled ──> Search ──> front
                                                                           │
    Model <── picked <── graded on all rows <── user's units <── refitted ─┘

The estimator and the command line are both thin covers of this.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from symseek.algebra.rounding import neat_numbers, rounded
from symseek.algebra.simplify import exponents_held, reductions, rescaled, simplified, translated
from symseek.constants import FitConfig
from symseek.constraints.forms import paper_constraints
from symseek.data import Data, Scales
from symseek.errors import InputError
from symseek.evaluation import fit_constants
from symseek.loop import Iteration, Result
from symseek.model import Accuracy, Formula, Model, full_library, loss
from symseek.notation.printing import infix
from symseek.programs import Program, Programs
from symseek.regression import picking
from symseek.regression.settings import Settings
from symseek.rewards import ErrorReward, Reward, reward_named
from symseek.search import Search, SearchState
from symseek.tokens import Library, short_number

__all__ = ["Regression", "simple_programs"]

Floats = NDArray[np.float64]

_BETTER = 0.999  # a longer formula must have this part of the error, or less, to be on the front
_LOOKED_AT = 2_000  # rows on which formulas are compared when they are rounded
_MERGED = 100_000  # tables with no more rows than this are looked through for equal ones
_ROUNDS = 4  # of leaving out addends, one from each formula at a time
_DIGITS, _EXACT_DIGITS = 6, 9  # of numbers for reading; more are worth it where a formula is exact
_SAME = 1e-14  # numbers that differ by less, relatively, are one
_ROUNDING = 1e-8  # an error of this part of the spread of y, or less, ends a search
_FEW_SHORT = 400  # pairs of variables, for which every operator is tried
_FINAL_FIT = FitConfig("least_squares", restarts=0, rescue=False)


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
    ) -> None:
        self.settings = settings = settings or Settings()
        self.target = target
        self.reward = reward_named(settings.reward)
        self.full = full_library(features, settings.operators)
        data = Data.checked(X, y, self.full.variables, weights)
        if len(data.y) <= _MERGED:
            data = data.merged()
        else:
            data = data.rows(np.flatnonzero(data.weights > 0))
        data.refuse_few_rows()
        data.refuse_extreme_target()
        data.refuse_constant_target("there is no formula to find, and the normalised error")
        self.train, self.validation = data.split(settings.validation, settings.seed)
        self.train.refuse_constant_target("the normalised error of the rows to train on")
        self.scales = self._scales()
        numbers = ["const"] if settings.constants else []
        self.library = Library([*settings.operators, *numbers], self.full.variables)
        self.searched = self.train.sampled(settings.sample_rows, settings.seed).scaled(self.scales)
        self.searched.refuse_constant_target("the normalised error of the rows sampled")
        config = settings.search_config()
        if settings.config is None:
            config = replace(config, stop_reward=_exact_reward(self.reward, self.searched.spread))
        # As many constants as there are rows fit anything.
        most_constants = min(config.max_constants, len(self.searched.y) - 1)
        self.search = Search(
            self.library,
            self.searched.X,
            self.searched.y,
            config,
            reward=self.reward,
            weights=self.searched.weights,
            constraints=paper_constraints(
                low=max(1, min(4, settings.max_length // 2)),
                high=settings.max_length,
                constants=most_constants,
            ),
            stop_early=self._long_without_better,
            seed=settings.seed,
            threads=settings.threads,
        )
        self._patient_from = 0  # expressions
        self._errors: dict[Program, float] = {}  # of programs on the front of the search
        self._simplified: dict[Program, Program] = {}  # programs of the search, by what they were

    def _scales(self) -> Scales:
        columns = len(self.full.variables)
        # Without constants a formula has nothing to turn the units of x*y into those of y with.
        if not self.settings.scale or not self.settings.constants:
            return Scales.none(columns)
        scales = Scales.of(self.train.X, self.train.y)
        # A reward in the target's own units means those of the user.
        free = isinstance(self.reward, ErrorReward) and self.reward.needs_spread
        return scales if free else replace(scales, target=1.0)

    def run(self, callback: Callable[[Iteration], object] | None = None) -> Result:
        """Search until a budget is spent, or go on with one that was raised."""
        if self.search.iteration == 0:
            simple = simple_programs(self.library)
            self.search.consider(simple[: self.search.config.max_expressions])
        return self.search.run(callback)

    def _long_without_better(self, state: SearchState) -> bool:
        """Early stopping: whether the formula to pick was found long ago.

        It depends on the state alone, so that a resumed search ends where it would have.
        """
        patience, front = self.settings.patience, state.front
        if patience is None or not len(front):
            return False
        picked = picking.elbow(
            [self._search_error(each.program) for each in front],
            [len(each.program) for each in front],
            [len(each.program.constants) for each in front],
            len(self.searched.y),
            len(self.library),
        )
        found = front[picked].found_at
        since = state.expressions - max(found, self._patient_from)
        return since >= max(patience, 2 * found)

    def _search_error(self, program: Program) -> float:
        if program not in self._errors:
            self._errors[program] = self._loss(program, self.searched)
        return self._errors[program]

    def _loss(self, program: Program, data: Data) -> float:
        return loss(Accuracy.of(program, data, self.reward), self.reward)

    def continues_as(self, other: Regression) -> bool:
        """Whether another regression is this one again: the same but for budgets and threads."""
        mine, its = (_without_budgets(each.settings) for each in (self, other))
        same = _equal(self.train, other.train) and _equal(self.validation, other.validation)
        return same and mine == its and self.full == other.full

    def raise_budget(self, settings: Settings) -> None:
        """Allow as much again as these settings say."""
        wanted = settings.search_config()
        self._patient_from = self.search.expressions
        self.search.raise_budget(wanted.max_expressions, wanted.max_seconds)

    def learn_from(self, other: Regression) -> None:
        """Begin with the formulas and the policy of a search on other data."""
        self.search.learn_from(other.search)

    def model(self, final: bool = True) -> Model:
        """What has been found so far; `final` refits on all rows and looks for neat numbers."""
        programs = [self._simple(each.program) for each in self.search.front]
        if final and programs:
            programs = self._refitted(self._tightened(programs), self.train.scaled(self.scales))
        if self.settings.constants or not programs:
            programs = [self._mean(), *programs]
        programs = [
            rescaled(each, self.full, self.train.X, self.scales.inputs.tolist(), self.scales.target)
            for each in programs
        ]
        if final:
            programs = [self._neat(each) for each in programs]
        formulas = self._front(
            [self._formula(each, self.train, self.validation) for each in programs]
        )
        picked, rule = self._pick(formulas)
        return Model(self.target, self.full.variables, tuple(formulas), picked, rule)

    def _mean(self) -> Program:
        """The simplest formula of all: a number."""
        mean = float(np.average(self.train.y, weights=self.train.weights)) / self.scales.target
        return Program(self.full, (self.full.index("const"),), (mean,))

    def _simple(self, program: Program) -> Program:
        if program not in self._simplified:
            rows = self.train.X / self.scales.inputs
            self._simplified[program] = simplified(program, self.full, rows)
        return self._simplified[program]

    def _tightened(self, programs: list[Program]) -> list[Program]:
        """The programs and shorter ones: an addend that hardly matters is left out.

        Fits like to keep a term times 1e-9, which the law does not have.
        """
        known = dict.fromkeys(programs)
        for _ in range(_ROUNDS):
            programs = self._refitted(list(known), self.searched)
            graded = [self._formula(each, self.searched, None) for each in programs]
            kept = self._front(graded)
            shorter = [
                reduced
                for each in kept
                for reduced in reductions(each.program, self.full)
                if reduced not in known
            ]
            if not shorter:
                break
            known = dict.fromkeys([*(each.program for each in kept), *shorter])
        return list(known)

    def _refitted(self, programs: list[Program], data: Data) -> list[Program]:
        """Constants fitted to these rows, as they are scaled; programs undefined there go.

        Exponents stay: sqrt(x)*x, written x**1.5, is not to become x**1.497. So do all numbers
        where the search had none to fit.
        """
        if not self.settings.constants:
            return [each for each in programs if np.isfinite(each.evaluate(data.X)).all()]
        fixed = "pow" not in self.library.names
        fitted = fit_constants(
            exponents_held(programs, self.full) if fixed else Programs.from_list(programs),
            data.X,
            data.y,
            _FINAL_FIT,
            reward=self.reward,
            weights=data.weights,
            threads=self.settings.threads,
        )
        pairs = zip(fitted.programs, fitted.ok, strict=True)
        return [translated(each, self.full) for each, ok in pairs if ok]

    def _neat(self, program: Program) -> Program:
        """The formula with neat numbers where its error stays; a term that comes to 0 goes."""
        train, step = self.train, -(-len(self.train.y) // _LOOKED_AT)
        X, y, weights = (each[::step] for each in (train.X, train.y, train.weights))
        try:
            neat = rounded(program, X, y, weights=weights).program
        except InputError:  # undefined on some row
            return program
        neat = simplified(neat, self.full, train.X)
        before, after = (self._loss(each, self.train) for each in (program, neat))
        return neat if after <= max(before * (1 + 1e-9), picking.EXACT) else program

    def _formula(self, program: Program, data: Data, validation: Data | None) -> Formula:
        found = Accuracy.of(program, data, self.reward)
        digits = _EXACT_DIGITS if found.nrmse <= picking.EXACT else _DIGITS
        text = infix(program, [_named(value, digits) for value in program.constants])
        r2 = None if validation is None else Accuracy.of(program, validation, self.reward).r2
        return Formula(program, text, found.reward, found.nrmse, found.r2, r2)

    def _front(self, formulas: list[Formula]) -> list[Formula]:
        """The formulas that nothing simpler matches, simplest first."""
        losses = {id(each): loss(each, self.reward) for each in formulas}
        kept: list[Formula] = []
        for each in sorted(formulas, key=lambda each: (each.complexity, losses[id(each)])):
            if not kept or max(losses[id(each)], picking.EXACT) < _BETTER * losses[id(kept[-1])]:
                kept.append(each)
        return kept

    def _pick(self, formulas: list[Formula]) -> tuple[int, str]:
        rule = self.settings.pick
        if rule == "auto":
            rule = "elbow" if self.validation is None else "validation"
        errors = [loss(each, self.reward) for each in formulas]
        if rule == "accuracy":
            return picking.accuracy(errors), rule
        if rule == "elbow":
            lengths = [len(each.program) for each in formulas]
            constants = [len(each.program.constants) for each in formulas]
            rows, tokens = len(self.train.y), len(self.library)
            return picking.elbow(errors, lengths, constants, rows, tokens), rule
        held_out = self.validation
        assert held_out is not None
        with np.errstate(all="ignore"):
            squares = [
                held_out.weights * (each.program.evaluate(held_out.X) - held_out.y) ** 2
                for each in formulas
            ]
        return picking.validation(np.array(squares), held_out.spread), rule


def _named(value: float, digits: int) -> str:
    """A number for reading: by its neat name if it has one, as 1/3 does, else cut to six digits."""
    neat = (
        each
        for each in neat_numbers(value, digits)
        if math.isclose(each.value, value, rel_tol=_SAME)
    )
    return next((each.text for each in neat), short_number(value, _DIGITS))


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


def _exact_reward(reward: Reward, spread: float) -> float | None:
    """The reward of an error that only rounding explains, at which a search ends."""
    if not isinstance(reward, ErrorReward):
        return None
    error = np.array([_ROUNDING * spread])
    return float(reward(error**2, error, spread)[0])


def _without_budgets(settings: Settings) -> Settings:
    config = settings.config
    if config is not None:
        config = replace(config, max_expressions=sys.maxsize, max_seconds=None)
    return replace(
        settings, max_expressions=2, max_seconds=None, patience=None, threads=1, config=config
    )


def _equal(one: Data | None, other: Data | None) -> bool:
    if one is None or other is None:
        return one is other
    names = ("X", "y", "weights")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
