"""The units that the numbers of a finished formula have, beside them.

A number has the unit that its place needs, in the units of the table: with T in K and p in kPa, the
number of p = c*T is in kPa/K. One that only converts units is in m/cm, say.
"""

from __future__ import annotations

from dataclasses import replace

from symseek.algebra import forms
from symseek.dimensions import DIMENSIONLESS, Dimension
from symseek.form import GivenForm
from symseek.model import Formula
from symseek.units import ColumnUnits, read_unit
from symseek.units.numbers import needed

_SAME = 1e-9


def with_units(formula: Formula, units: ColumnUnits, form: GivenForm | None = None) -> Formula:
    """The formula with the units of its numbers, of those that have one.

    >>> from symseek.columns import Column
    >>> from symseek.model import full_library
    >>> from symseek.programs import Program
    >>> from symseek.units import GivenUnits
    >>> columns = [Column("T"), Column("p", "target")]
    >>> units = ColumnUnits.of(GivenUnits.read("T: K, p: kPa"), columns, free=True)
    >>> law = Program.parse("8.3*T", full_library(["T"]))
    >>> with_units(Formula(law, "8.3*T", 1.0, 0.0, 1.0), units).with_units
    (('8.3', 'kPa/K'),)
    """
    if form is not None and formula.filled:
        named = units.of_numbers(form, {each.name: each.program for each in formula.filled})
        filled = tuple(replace(each, unit=named.get(each.name, "")) for each in formula.filled)
        formula = replace(formula, filled=filled)
    if form is not None and not units.free:
        return formula
    target = units.target[1]
    whole = None if target is None else target.named
    grouping = formula.program.library.grouping
    known = units.named
    if grouping is not None:
        known = {**known, grouping.column: DIMENSIONLESS}
    numbers = needed(formula.program, known, whole, strict=False).numbers
    constants = tuple(
        replace(constant, unit=_text(unit))
        for constant, unit in zip(formula.constants, numbers, strict=True)
    )
    shown = formula.form()
    found = needed(shown, known, whole, strict=False)
    written = tuple(
        replace(number, unit=_text(unit))
        for number, unit in zip(formula.numbers, found.numbers, strict=False)
    )
    texts = forms.number_texts(shown, exact=formula.is_close)
    pairs = [*zip(texts, map(_text, found.numbers), strict=True)]
    pairs += [(each, _text(unit)) for each, unit in found.others.items() if unit is not None]
    named_ones = {(each.text, each.unit) for each in formula.filled}
    said = dict.fromkeys(pair for pair in pairs if pair[1] and pair not in named_ones)
    return replace(formula, constants=constants, numbers=written, with_units=tuple(said))


def _text(named: Dimension) -> str:
    """A unit as text; empty where it is none, whatever it is called, as N*s^2/kg/m."""
    dimension, factor = DIMENSIONLESS, 1.0
    for name, power in named.powers:
        unit = read_unit(name)
        dimension, factor = dimension * unit.dimension**power, factor * unit.factor ** float(power)
    if dimension.dimensionless and abs(factor - 1.0) <= _SAME:
        return ""
    return str(named)
