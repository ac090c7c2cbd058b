"""The units of the columns of one problem, and what follows from them for its formulas.

A search takes all columns in one coherent system of units, in which no formula needs a number to
convert one unit into another: with x in cm and z in m it adds x/100 and z.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symseek.arrays import Floats
from symseek.columns import Column
from symseek.constraints.dimensions import GRAIN, MOST, Dimensions, Mismatch
from symseek.data import Scales, power_of_ten, size
from symseek.dimensions import DIMENSIONLESS, Dimension
from symseek.errors import InputError, Setting, name_shown, shown, unknown_name
from symseek.form import GivenForm
from symseek.groups import Grouping
from symseek.programs import Program
from symseek.units.given import FIELD, GivenUnits
from symseek.units.numbers import needed, spanned
from symseek.units.reading import PLAIN, NoPint, Unit, UnknownUnit, read_unit

_SAME = 1e-9  # of two factors, on a logarithmic scale


@dataclass(frozen=True)
class ColumnUnits:
    """The units of the inputs and the target of a problem.

    >>> columns = [Column("t", unit="s"), Column("n"), Column("h", "target")]
    >>> units = ColumnUnits.of(GivenUnits.read("table, h: m"), columns)
    >>> print(units)
    t in s, n without a unit, h in m
    """

    inputs: Mapping[str, Unit]
    target: tuple[str, Unit | None]  # its name; None: formulas may have any unit
    free: bool = False  # whether fitted numbers have units, those that their places need
    assumed: tuple[str, ...] = ()  # inputs that no unit is given for, and which have none

    @classmethod
    def of(
        cls,
        given: GivenUnits,
        columns: Sequence[Column],
        free: bool = False,
        others: Collection[str] = (),
    ) -> ColumnUnits:
        """The units of some columns, the last of them the target.

        Columns that the table has beside these, the `others`, may be named as well.
        """
        known = [each.name for each in columns]
        for name in given.columns:
            if name not in known and name not in others:
                raise unknown_name("column", name, known, field=FIELD)
        columns = [each for each in columns if each.role != "group"]
        *inputs, target = (_said(each, given) for each in columns)
        found = {
            column.name: PLAIN if text is None else _read(column.name, text)
            for column, text in zip(columns[:-1], inputs, strict=True)
        }
        unit = None if target is None else _read(columns[-1].name, target)
        assumed = tuple(
            column.name
            for column, text in zip(columns[:-1], inputs, strict=True)
            if text is None and column.kind == "quantity"
        )
        return cls(found, (columns[-1].name, unit), free, assumed)

    def __str__(self) -> str:
        """What the columns have, in words."""
        said = [
            f"{name_shown(name)} without a unit" if unit.plain else f"{name_shown(name)} in {unit}"
            for name, unit in self.inputs.items()
        ]
        name, unit = self.target
        if unit is None:
            said.append(f"{name_shown(name)} in any unit")
        else:
            said.append(f"{name_shown(name)} {'without a unit' if unit.plain else f'in {unit}'}")
        return ", ".join(said)

    def texts(self) -> dict[str, str]:
        """The units by column, as they were given, of those that have one."""
        return {name: unit.text for name, unit in self._every().items() if not unit.plain}

    @property
    def named(self) -> dict[str, Dimension]:
        """The units of the inputs as powers of the units that their texts name."""
        return {name: unit.named for name, unit in self.inputs.items()}

    def dimensions(
        self, form: GivenForm | None = None, grouping: Grouping | None = None
    ) -> Dimensions:
        """The constraint that formulas agree; a form, or columns, that cannot are refused."""
        variables = {name: unit.dimension for name, unit in self.inputs.items()}
        own: dict[str, Dimension] = {}
        if grouping is not None:
            own = dict.fromkeys((grouping.column, *grouping.own), DIMENSIONLESS)
        target = None if self.target[1] is None else self.target[1].dimension
        if form is None:
            if target is not None and not self.free:
                self._refuse_unreachable(target)
            return Dimensions({**variables, **own}, target, self.free)
        return self._of_form(form, variables, own, target)

    def _refuse_unreachable(self, target: Dimension) -> None:
        """Refuse a target whose unit is no product of powers of those of the inputs."""
        if spanned(target, [unit.dimension for unit in self.inputs.values()]):
            return
        name, unit = self.target
        raise InputError(
            f"no formula of these columns has the unit of {name_shown(name, quoted=True)}, {unit}:"
            f" there are {self}; add the column of a constant that it depends on, or let fitted"
            " numbers have units, with ",
            Setting("numbers"),
            " 'free'",
            field=FIELD,
            value=str(unit),
        )

    def _of_form(
        self,
        form: GivenForm,
        variables: Mapping[str, Dimension],
        own: Mapping[str, Dimension],
        target: Dimension | None,
    ) -> Dimensions:
        """The constraint for a form: what its unknown functions are follows from their places."""
        known = variables if target is None else {**variables, form.target: target}
        try:
            left = needed(form.left, known, None, self.free)
            whole = None if target is None else left.whole
            inside = needed(form.right, variables, whole, self.free).others
        except Mismatch as error:
            text = f": its units do not agree: {error}, where there are {self}"
            where = Setting("form")
            raise InputError(where, text, field=where, value=form.text) from None
        wanted = [None if each.is_number else inside.get(each.name) for each in form.unknowns]
        arguments = {form.token.name: wanted}
        return Dimensions({**variables, **own}, whole, self.free, arguments)

    def of_numbers(self, form: GivenForm, parts: Mapping[str, Program]) -> dict[str, str]:
        """The units of a form's named numbers, as text; empty where they have none.

        Where numbers are plain, the functions that were found, among its `parts`, say their own.
        """
        name, unit = self.target
        known, whole = self.named, None
        if unit is not None:
            whole = needed(form.left, {**known, name: unit.named}, None, strict=False).whole
        functions = {each.name for each in form.functions if not self.free}
        for each in functions & parts.keys():
            of_it = needed(parts[each], self.named, None, free=False, strict=False)
            known = known if of_it.others else {**known, each: of_it.whole}
        found = needed(form.right, known, whole, strict=False).others
        return {each.name: _text(found.get(each.name)) for each in form.unknowns if each.is_number}

    def conversions(self) -> dict[str, float]:
        """What the values of columns are multiplied by, so that their units agree; {} if they do.

        >>> columns = [Column("x"), Column("z"), Column("y", "target")]
        >>> ColumnUnits.of(GivenUnits.read("x: cm, z: m, y: m"), columns).conversions()
        {'x': 0.01, 'z': 1.0, 'y': 1.0}
        """
        every = self._every()
        powers, factors = self._powers(every), np.log10([unit.factor for unit in every.values()])
        chosen = np.linalg.lstsq(powers, factors, rcond=None)[0]
        if (np.abs(powers @ chosen - factors) <= _SAME).all():
            return {}
        return {name: unit.factor for name, unit in every.items()}

    def refuse_conversions(self) -> None:
        """Refuse columns in units that do not agree without a factor."""
        if self.conversions():
            one, other = self._differing()
            raise InputError(
                f"{one} and {other} do not agree without a factor; convert one of the columns",
                field=FIELD,
            )

    def _differing(self) -> tuple[str, str]:
        """Two columns, with their units, that do not agree."""
        every = self._every()
        said = [f"{name_shown(name)} in {unit}" for name, unit in every.items()]
        units = list(every.values())
        for at, one in enumerate(units):
            if one.dimension.dimensionless and one.factor != 1.0:
                return said[at], "plain numbers"
            for after, other in enumerate(units[:at]):
                if one.dimension == other.dimension and one.factor != other.factor:
                    return said[after], said[at]
        return ", ".join(said[:-1]), said[-1]

    def scales(self, X: Floats, y: Floats, resized: bool) -> Scales:
        """What a search divides columns by: so that units agree, and `resized` to sizes near 1.

        One factor for each base dimension, so that what agrees in dimensions has the same numbers.
        Columns without a dimension have factors of their own.
        """
        conversions = self.conversions()
        values = dict(zip(self.inputs, X.T, strict=False))
        values[self.target[0]] = y
        by = {name: 1.0 / conversions.get(name, 1.0) for name in values}
        if resized:
            sizes = {name: size(each) / by[name] for name, each in values.items()}
            for name, scale in self._resized(sizes).items():
                by[name] *= scale
        inputs = np.ones(X.shape[1])
        inputs[: len(by) - 1] = list(by.values())[:-1]
        return Scales(inputs, by[self.target[0]])

    def _resized(self, sizes: Mapping[str, float]) -> dict[str, float]:
        """Powers of ten for columns, by their dimensions, near sizes that are far from 1."""
        every = self._every()
        found = {
            name: power_of_ten(each)
            for name, each in sizes.items()
            if name not in every or every[name].plain
        }
        rest = {name: unit for name, unit in every.items() if not unit.dimension.dimensionless}
        if all(power_of_ten(sizes[name]) == 1.0 for name in rest):
            return found
        powers = self._powers(rest)
        logs = np.log10([sizes[name] for name in rest])
        chosen = np.round(np.linalg.lstsq(powers, logs, rcond=None)[0])
        return found | dict(zip(rest, (10.0 ** (powers @ chosen)).tolist(), strict=True))

    def _every(self) -> dict[str, Unit]:
        name, unit = self.target
        return {**self.inputs, **({} if unit is None else {name: unit})}

    @staticmethod
    def _powers(units: Mapping[str, Unit]) -> Floats:
        """Powers [columns, base dimensions]."""
        bases = sorted({name for unit in units.values() for name, _ in unit.dimension.powers})
        table = [dict(unit.dimension.powers) for unit in units.values()]
        return np.array([[float(row.get(name, 0)) for name in bases] for row in table]).reshape(
            len(table), len(bases)
        )


def agrees_in_full(program: Program, form: GivenForm, rule: Dimensions) -> bool:
    """Whether a written program of a form agrees in full with units.

    It says more than the constraint of the form's arguments where the dimension of one function
    depends on that of another, as in y = f(x)*g(z).
    """
    inside = Dimensions(rule.variables, None, rule.free_numbers)
    functions = {each.name for each in form.functions}
    parts = {name: part for name, part in form.parts(program).items() if name in functions}
    try:
        found = {name: inside.of(part) for name, part in parts.items()}
        known = {name: each for name, each in found.items() if each is not None}
        needed(form.right, {**rule.variables, **known}, rule.target, rule.free_numbers)
    except Mismatch:
        return False
    return True


def _said(column: Column, given: GivenUnits) -> str | None:
    """The text of a column's unit; None if nobody says it.

    What a column of dates is measured in is known in any case.
    """
    known = column.unit if given.table or column.kind != "quantity" else ""
    return given.columns.get(column.name) or known or None


def _read(name: str, text: str) -> Unit:
    try:
        unit = read_unit(text)
    except NoPint:
        raise
    except InputError as error:
        column = f" of column {name_shown(name, quoted=True)}: "
        hint = (
            "; units are written as in m/s^2, and 1 is none"
            if isinstance(error, UnknownUnit)
            else ""
        )
        raise InputError(FIELD, column, error, hint, field=FIELD, value=text) from None
    for _, power in unit.dimension.powers:
        if (power * GRAIN).denominator != 1 or abs(power * GRAIN) > MOST:
            raise InputError(
                FIELD,
                f" of column {name_shown(name, quoted=True)}: {shown(text)} has a power of"
                f" {power}; it must be a whole number of twelfths, at most {MOST}",
                field=FIELD,
                value=text,
            )
    return unit


def _text(named: Dimension | None) -> str:
    return "" if named is None or named.dimensionless else str(named)
