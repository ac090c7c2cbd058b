"""One target's search on a user's table: from columns in any unit to a model in the same units.

    table ──> rows kept aside ──> rows sampled ──> scaled ──> Search ──> front
                                                                           │
    Model <── picked <── graded on all rows <── user's units <── refitted ─┘

The estimator and the command line are both thin covers of this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from symseek import picking
from symseek.constants import FitConfig
from symseek.constraints import paper_constraints
from symseek.data import Data
from symseek.errors import InputError
from symseek.grading import fit_constants
from symseek.model import Formula, Model, full_library
from symseek.printing import infix
from symseek.programs import Program, Programs
from symseek.rewards import ErrorReward, Reward, reward_named
from symseek.rounding import rounded
from symseek.scaling import Scales
from symseek.search import Iteration, Result, Search
from symseek.settings import Settings
from symseek.simplify import reductions, rescaled, simplified
from symseek.tokens import Library, Token, short_number

__all__ = ["Regression", "shown", "simple_programs"]

Floats = NDArray[np.float64]

_BETTER = 0.999  # a longer formula must have this part of the error, or less, to be on the front
_LOOKED_AT = 2_000  # rows on which formulas are compared when they are simplified or rounded
_MERGED = 100_000  # tables with no more rows than this are looked through for equal ones
_ROUNDS = 4  # of leaving out addends, one from each formula at a time
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
        own = [token for token in settings.operators if isinstance(token, Token)]
        self.full = full_library(features, own)
        data = Data.checked(X, y, self.full.variables, weights)
        if len(data.y) <= _MERGED:
            data = data.merged()
        data.refuse_constant_target("there is no formula to find, and the normalised error")
        self.train, self.aside = _split(data, settings)
        self.train.refuse_constant_target("the normalised error of the rows to train on")
        self.scales = self._scales()
        numbers = ["const"] if settings.constants else []
        self.library = Library([*settings.operators, *numbers], self.full.variables)
        self.searched = _scaled(_sample(self.train, settings), self.scales)
        config = settings.search_config()
        self.search = Search(
            self.library,
            self.searched.X,
            self.searched.y,
            config,
            reward=self.reward,
            weights=self.searched.weights,
            constraints=paper_constraints(
                low=min(4, settings.max_length),
                high=settings.max_length,
                constants=config.max_constants,
            ),
            seed=settings.seed,
            threads=settings.threads,
        )
        self._told: dict[Program, Program] = {}  # programs of the search, simplified

    def _scales(self) -> Scales:
        columns = len(self.full.variables)
        if not self.settings.scale:
            return Scales.none(columns)
        scales = Scales.of(self.train.X, self.train.y)
        # A reward in the target's own units means those of the user.
        free = isinstance(self.reward, ErrorReward) and self.reward.needs_spread
        return scales if free else replace(scales, target=1.0)

    def run(self, callback: Callable[[Iteration], object] | None = None) -> Result:
        """Search until a budget is spent, or go on with one that was raised."""
        if self.search.iteration == 0:
            self.search.consider(simple_programs(self.library))
        return self.search.run(callback)

    def continues_as(self, other: Regression) -> bool:
        """Whether another regression is this one again: the same but for budgets and threads."""
        mine, its = (
            replace(each.settings, max_expressions=2, max_seconds=None, threads=1, config=None)
            for each in (self, other)
        )
        same = all(
            np.array_equal(getattr(self.train, name), getattr(other.train, name))
            for name in ("X", "y", "weights")
        )
        return same and mine == its and self.full == other.full

    def raise_budget(self, settings: Settings) -> None:
        """Allow as much again as these settings say."""
        wanted = settings.search_config()
        seconds = wanted.max_seconds
        self.search.config = replace(
            self.search.config,
            max_expressions=self.search.expressions + wanted.max_expressions,
            max_seconds=None if seconds is None else self.search.seconds + seconds,
        )

    def learn_from(self, other: Regression) -> None:
        """Begin with the formulas and the policy of a search on other data."""
        if other.library == self.library and len(other.search.front):
            self.search.consider(Programs.from_list([e.program for e in other.search.front]))
            self.search.policy.weights.flat[:] = other.search.policy.weights.flat

    def model(self, final: bool = True) -> Model:
        """What has been found so far; `final` refits on all rows and looks for neat numbers."""
        programs = self._mean() + [self._simple(each.program) for each in self.search.front]
        if final:
            programs = self._refitted(self._tightened(programs), _scaled(self.train, self.scales))
        told = [
            rescaled(each, self.full, self._few, self.scales.inputs.tolist(), self.scales.target)
            for each in programs
        ]
        if final:
            told = [self._neat(each) for each in told]
        graded = [self._formula(each, self.train, self.aside, final) for each in told]
        formulas = _front(graded)
        picked, rule = self._pick(formulas)
        return Model(self.target, self.full.variables, tuple(formulas), picked, rule)

    @property
    def _few(self) -> Floats:
        """Rows for comparing formulas, in the user's units."""
        step = -(-len(self.train.y) // _LOOKED_AT)
        return self.train.X[::step]

    def _mean(self) -> list[Program]:
        """The simplest formula of all: a number."""
        mean = float(np.average(self.train.y, weights=self.train.weights)) / self.scales.target
        return [Program(self.full, (self.full.index("const"),), (mean,))]

    def _simple(self, program: Program) -> Program:
        if program not in self._told:
            rows = self._few / self.scales.inputs
            self._told[program] = simplified(program, self.full, rows)
        return self._told[program]

    def _tightened(self, programs: list[Program]) -> list[Program]:
        """The programs and shorter ones: an addend that hardly matters is left out.

        Fits like to keep a term times 1e-9, which the law does not have.
        """
        known = dict.fromkeys(programs)
        for _ in range(_ROUNDS):
            programs = self._refitted(list(known), self.searched)
            graded = [self._formula(each, self.searched, None, final=False) for each in programs]
            shorter = [
                reduced
                for each in _front(graded)
                for reduced in reductions(each.program, self.full)
                if reduced not in known
            ]
            if not shorter:
                break
            known = dict.fromkeys([*(each.program for each in _front(graded)), *shorter])
        return list(known)

    def _refitted(self, programs: list[Program], data: Data) -> list[Program]:
        """Constants fitted to these rows, as they are scaled; programs undefined there go."""
        fitted = fit_constants(
            Programs.from_list(programs),
            data.X,
            data.y,
            _FINAL_FIT,
            reward=self.reward,
            weights=data.weights,
            threads=self.settings.threads,
        )
        return [each for each, ok in zip(fitted.programs, fitted.ok, strict=True) if ok]

    def _neat(self, program: Program) -> Program:
        """The formula with neat numbers where its error stays; a term that comes to 0 goes."""
        step = -(-len(self.train.y) // _LOOKED_AT)
        rows = self.train.X[::step], self.train.y[::step]
        try:
            neat = rounded(program, *rows, weights=self.train.weights[::step]).program
        except InputError:  # undefined on some row
            return program
        neat = simplified(neat, self.full, rows[0])
        before, after = (_Grade.of(each, self.train, self.reward).nrmse for each in (program, neat))
        return neat if after <= max(before * (1 + 1e-9), picking.EXACT) else program

    def _formula(
        self, program: Program, data: Data, aside: Data | None, final: bool = True
    ) -> Formula:
        grade = _Grade.of(program, data, self.reward)
        text = self._text(program) if final else shown(program)
        validation = None if aside is None else _Grade.of(program, aside, self.reward).r2
        return Formula(program, text, grade.reward, grade.nrmse, grade.r2, validation)

    def _text(self, program: Program) -> str:
        step = -(-len(self.train.y) // _LOOKED_AT)
        weights = self.train.weights[::step]
        try:
            return rounded(program, self._few, self.train.y[::step], weights=weights).shown()
        except InputError:  # undefined on some row
            return shown(program)

    def _pick(self, formulas: list[Formula]) -> tuple[int, str]:
        rule = self.settings.pick
        if rule == "auto":
            rule = "elbow" if self.aside is None else "validation"
        errors = [each.nrmse for each in formulas]
        if rule == "accuracy":
            return picking.accuracy(errors), rule
        if rule == "elbow":
            lengths = [len(each.program) for each in formulas]
            constants = [len(each.program.constants) for each in formulas]
            rows, tokens = len(self.train.y), len(self.library)
            return picking.elbow(errors, lengths, constants, rows, tokens), rule
        assert self.aside is not None
        with np.errstate(all="ignore"):
            squares = [
                self.aside.weights * (each.program.evaluate(self.aside.X) - self.aside.y) ** 2
                for each in formulas
            ]
        return picking.validation(np.array(squares), self.aside.spread), rule


@dataclass(frozen=True)
class _Grade:
    """How well a program does on some rows; an undefined value on any is infinitely bad."""

    reward: float
    nrmse: float
    r2: float

    @classmethod
    def of(cls, program: Program, data: Data, reward: Reward) -> _Grade:
        values = program.evaluate(data.X)
        if not np.isfinite(values).all():
            return cls(0.0, math.inf, -math.inf)
        with np.errstate(over="ignore"):
            errors = np.abs(values - data.y)
            mse = float(np.average(errors**2, weights=data.weights))
        mae = float(np.average(errors, weights=data.weights))
        nrmse = math.sqrt(mse) / data.spread if data.spread else math.inf
        if isinstance(reward, ErrorReward):
            graded = reward(np.array([mse]), np.array([mae]), data.spread)
        else:
            graded = reward(data, values[None])
        return cls(float(graded[0]), nrmse, 1 - nrmse**2)


def shown(program: Program, digits: int = 6) -> str:
    """The formula for reading, its numbers cut to so many significant digits.

    >>> print(shown(Program.parse("3.14159265*x")))
    3.14159*x
    """
    return infix(program, [short_number(value, digits) for value in program.constants])


def simple_programs(library: Library) -> Programs:
    """The formulas too short for the search to write: x, c*x and c*x + c for every variable.

    >>> [str(each) for each in simple_programs(Library(["add", "mul", "const"], ["x"]))]
    ['x', '1.0*x', '1.0*x + 1.0']
    """
    names = set(library.names)
    found = []
    for variable in library.variable_ids:
        constant = library.constant_id
        found.append([variable])
        if constant is not None and "mul" in names:
            found.append([library.index("mul"), constant, variable])
            if "add" in names:
                found.append([library.index("add"), *found[-1], constant])
    return Programs.from_list([Program(library, tuple(tokens)) for tokens in found])


def _front(formulas: list[Formula]) -> list[Formula]:
    """The formulas that nothing simpler matches, simplest first."""
    kept: list[Formula] = []
    for each in sorted(formulas, key=lambda each: (each.complexity, each.nrmse)):
        if not kept or max(each.nrmse, picking.EXACT) < _BETTER * kept[-1].nrmse:
            kept.append(each)
    return kept


def _split(data: Data, settings: Settings) -> tuple[Data, Data | None]:
    """The rows to train on, and those kept aside."""
    rows = len(data.y)
    if settings.validation == 0:
        return data, None
    count = round(settings.validation * rows)
    if count < 2 or rows - count < 2:
        raise InputError(
            f"validation is {settings.validation}, which is {count} of {rows} rows; at least 2 are"
            " needed on either side"
        )
    order = np.random.default_rng([settings.seed, 1]).permutation(rows)
    return data.rows(np.sort(order[count:])), data.rows(np.sort(order[:count]))


def _sample(data: Data, settings: Settings) -> Data:
    """The rows to search on."""
    most, rows = settings.sample_rows, len(data.y)
    if most is None or rows <= most:
        return data
    chosen = np.random.default_rng([settings.seed, 2]).choice(rows, most, replace=False)
    return data.rows(np.sort(chosen))


def _scaled(data: Data, scales: Scales) -> Data:
    return replace(data, X=data.X / scales.inputs, y=data.y / scales.target)
