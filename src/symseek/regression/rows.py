"""The rows of a table by what they are for, from those that train to those that a search sees.

A large table is in memory once: what looks at programs again and again does so on a sample of it,
and only the formulas that are left in the end see every row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from symseek.data import Data, Scales
from symseek.errors import InputError, shown
from symseek.groups import Grouping
from symseek.problem import Problem
from symseek.rewards import ErrorReward
from symseek.settings import Settings
from symseek.units import ColumnUnits

_JUDGED = 10_000  # rows by which formulas are chosen; what is chosen is graded on all
_GROUPED, _SEEN = 800, 12  # rows to search on with groups, and of how many groups
_MERGED = 100_000  # tables with no more rows than this are looked through for equal ones


@dataclass(frozen=True)
class Rows:
    """The rows of a problem, in the user's units but for those that are `searched`."""

    train: Data
    validation: Data | None
    judged: Data  # of those to train on, the ones that formulas are chosen by
    held_out: Data | None  # of those to validate on
    sampled: Data  # of those to train on, the ones that a search sees
    scales: Scales  # from the user's units to those of the search
    repeats: float = 1.0  # rows of the table for each one, as equal ones are one here

    @classmethod
    def of(cls, problem: Problem, settings: Settings) -> Rows:
        """Divide the rows; a table that no formula can be found in is refused."""
        data = problem.data
        data = data.merged() if len(data.y) <= _MERGED else data.counted()
        data.refuse_few_rows()
        data.refuse_extreme_target()
        data.refuse_constant_target("there is no formula to find, and the normalised error")
        train, validation = data.split(settings.validation, settings.seed)
        train.refuse_constant_target("the normalised error of the rows to train on")
        judged, sampled = train.spanning(_JUDGED, 0), None
        if problem.grouping is not None:
            column = data.X.shape[1] - 1
            _refuse_untrained(problem.grouping, train, column)
            judged = train.of_each(column, _JUDGED, 0)
            most = min(_GROUPED, settings.sample_rows or _GROUPED)
            sampled = _largest_groups(train, column).of_each(column, most, settings.seed)
        rows = cls(
            train,
            validation,
            judged,
            None if validation is None else validation.spanning(_JUDGED, 0),
            sampled or train.sampled(settings.sample_rows, settings.seed),
            _scales(judged, problem, settings),
            np.count_nonzero(problem.data.weights > 0) / len(data.y),
        )
        rows.searched.refuse_constant_target("the normalised error of the rows sampled")
        return rows

    @cached_property
    def searched(self) -> Data:
        """The rows that a search sees, in its units."""
        return self.sampled.scaled(self.scales)

    def ranges(self, grouped: bool) -> tuple[tuple[float, float], ...]:
        """From where to where each input goes in the rows to train on; groups have no range."""
        columns = self.train.X.T[: -1 if grouped else None]
        return tuple((float(each.min()), float(each.max())) for each in columns)

    @property
    def whole(self) -> bool:
        """Whether formulas are chosen by all rows to train on."""
        return self.judged is self.train


def _largest_groups(data: Data, column: int) -> Data:
    """The rows of the groups with the most of them: what others add shows when all are fitted."""
    codes, counts = np.unique(data.X[:, column], return_counts=True)
    if len(codes) <= _SEEN:
        return data
    chosen = codes[np.argsort(-counts, kind="stable")[:_SEEN]]
    return data.rows(np.flatnonzero(np.isin(data.X[:, column], chosen)))


def _refuse_untrained(grouping: Grouping, train: Data, column: int) -> None:
    """Refuse groups that the rows to train on have none of: their own numbers cannot be fitted."""
    known = np.isin(np.arange(len(grouping.labels)), train.X[:, column])
    if not known.all():
        label = grouping.labels[int(np.argmin(known))]
        raise InputError(
            f"group {shown(label)} of {grouping.column!r} has no row to train on; give its rows"
            " weights, or validate on fewer",
            field=grouping.column,
            kind="column",
            value=label,
        )


def _scales(data: Data, problem: Problem, settings: Settings) -> Scales:
    units = problem.units
    if units is not None and (not units.free or (settings.scale and units.conversions())):
        return _coherent(data, problem, units, settings)
    # A given form says in which units its columns add up.
    if problem.form is not None:
        return Scales.none(data.X.shape[1])
    # Without constants a formula has nothing to turn the units of x*y into those of y with.
    if not (settings.scale and settings.constants):
        return Scales.none(data.X.shape[1])
    scales = Scales.of(data.X, data.y)
    if problem.grouping is not None:
        scales.inputs[-1] = 1.0
    return scales if _any_unit(problem) else replace(scales, target=1.0)


def _any_unit(problem: Problem) -> bool:
    """Whether the reward is the same in any unit of the target; else it means that of the user."""
    return isinstance(problem.reward, ErrorReward) and problem.reward.any_units


def _coherent(data: Data, problem: Problem, units: ColumnUnits, settings: Settings) -> Scales:
    """The scales of columns whose units are known, so that these agree without numbers."""
    if problem.form is None and settings.constants and _any_unit(problem):
        return units.scales(data.X, data.y, settings.scale)
    if not units.free:
        units.refuse_conversions()
    return Scales.none(data.X.shape[1])
