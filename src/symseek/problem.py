"""The problem: the rows of a table, what its columns are, and what makes a formula good.

This is what a fit is asked. How it is searched for is in `Settings`, what is found in `Model`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from numpy.typing import ArrayLike

from symseek.columns import Column, Role
from symseek.constraints import Constraint, Custom, Dimensions
from symseek.data import Data, Scales
from symseek.errors import InputError, Setting
from symseek.form import GivenForm
from symseek.groups import Grouping
from symseek.rewards import LossReward, Reward, with_sigma
from symseek.target import Target
from symseek.units import ColumnUnits


@dataclass(frozen=True)
class Problem:
    """What is asked for.

    >>> from symseek.rewards import reward_named
    >>> reward = reward_named("r2")
    >>> problem = Problem.of([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0], ["t"], "height", reward)
    >>> [(column.name, column.role) for column in problem.columns]
    [('t', 'input'), ('height', 'target')]
    """

    columns: tuple[Column, ...]  # the inputs in the order of the data, then the target
    data: Data  # with the weights of the rows
    reward: Reward  # what is maximised
    constraints: tuple[Constraint | Custom, ...] = ()  # beside those of every search
    target: Target = field(default_factory=Target)  # what the values of a formula are to meet
    form: GivenForm | None = None  # what every formula looks like
    grouping: Grouping | None = None  # whose column is the last of the inputs
    units: ColumnUnits | None = None  # with which formulas agree

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        inputs: Sequence[str | Column],
        target: str | Column,
        reward: Reward,
        weights: ArrayLike | None = None,
        constraints: Collection[Constraint | Custom] = (),
        grouping: Grouping | None = None,
        sigma: ArrayLike | None = None,
    ) -> Problem:
        """The problem of arrays, checked; columns are records, or names."""
        columns = *(_column(each, "input") for each in inputs), _column(target, "target")
        if grouping is not None:
            *own, groups, output = columns
            columns = *own, replace(groups, role="group", kind="groups"), output
        if sigma is not None and weights is not None:
            raise InputError(
                "give weights or errors of measurement, not both: a row of error sigma weighs"
                " 1/sigma**2",
                field=Setting("sigma"),
            )
        data = Data.checked(X, y, [each.name for each in columns[:-1]], weights, sigma)
        problem = cls(columns, data, reward, tuple(constraints), grouping=grouping)
        problem._check_target()
        return replace(problem, data=with_sigma(data, reward))

    def _check_target(self) -> None:
        """Refuse a target that the loss is not for."""
        if isinstance(self.reward, LossReward):
            self.reward.loss.check(self.data.y, self.output.name)

    def formed(self, text: str) -> Problem:
        """The problem with a given form, of its left side in the place of the target."""
        *inputs, output = (each.name for each in self.columns)
        group = None if self.grouping is None else self.grouping.name
        form = GivenForm.of(text, inputs, output, group)
        data = replace(self.data, y=form.values(self.data.X, self.data.y))
        if data.sigma is not None and not form.plain:
            raise InputError(
                "errors of measurement are those of the target, and the form has more than that on"
                " its left; solve it for the target, or leave out ",
                Setting("sigma"),
                field=Setting("sigma"),
            )
        problem = replace(self, data=data, form=form)
        problem._check_target()
        return problem

    def measured(self, units: ColumnUnits) -> Problem:
        """The problem with units of its columns, and formulas that agree with them."""
        texts = units.texts()
        columns = tuple(replace(each, unit=texts.get(each.name, "")) for each in self.columns)
        rule = units.dimensions(self.form, self.grouping)
        return replace(self, columns=columns, units=units, constraints=(*self.constraints, rule))

    @property
    def dimensions(self) -> Dimensions | None:
        """The constraint that formulas agree with units, if there is one."""
        rules = (each for each in self.constraints if isinstance(each, Dimensions))
        return next(rules, None)

    @property
    def output(self) -> Column:
        """The column of the target."""
        return self.columns[-1]

    def scaled(self, scales: Scales) -> Problem:
        """The problem with what a search divides each column by."""
        by = *scales.inputs.tolist(), scales.target
        pairs = zip(self.columns, by, strict=True)
        return replace(self, columns=tuple(replace(each, scale=scale) for each, scale in pairs))


def _column(given: str | Column, role: Role) -> Column:
    return replace(given, role=role) if isinstance(given, Column) else Column(str(given), role)
