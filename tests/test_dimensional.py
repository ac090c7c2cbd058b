"""Structure with units: columns and a factor that dimensional analysis gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from symseek.data import Data
from symseek.dimensions import DIMENSIONLESS, Dimension
from symseek.structure.dimensional import TableUnits, freeing
from symseek.structure.symmetries import reducing_transform

METRE, SECOND, KILOGRAM = (Dimension({name: 1}) for name in ("m", "s", "kg"))
ACCELERATION = METRE / SECOND**2
OPERATORS = {"add", "sub", "mul", "div", "sqrt"}

exponents = st.integers(-2, 2)


@given(st.lists(st.tuples(exponents, exponents, exponents), min_size=2, max_size=6), st.data())
def test_what_is_freed_has_no_unit_left(
    columns: list[tuple[int, ...]], data: st.DataObject
) -> None:
    bases = ("m", "s", "kg")
    of_columns = [Dimension(dict(zip(bases, each, strict=True))) for each in columns]
    powers = data.draw(st.lists(exponents, min_size=len(columns), max_size=len(columns)))
    target = DIMENSIONLESS
    for each, power in zip(of_columns, powers, strict=True):
        target = target * each**power
    usable = list(range(len(columns)))
    for pivots, halves in freeing(of_columns, target, usable, [True] * len(columns)):
        table = np.array([[float(dict(c.powers).get(b, 0)) for b in bases] for c in of_columns])
        made = halves.T / 2 @ table[list(pivots)]  # [n + 1, D]
        wanted = np.vstack([table, [float(dict(target.powers).get(b, 0)) for b in bases]])
        np.testing.assert_allclose(made, wanted, atol=1e-12)
        assert len(pivots) == np.linalg.matrix_rank(table)


def test_with_units_the_columns_have_none_in_the_end() -> None:
    draw = np.random.default_rng(0)
    length, gravity, mass, time = X = draw.uniform(1, 3, (4, 150))
    y = mass * gravity * length * (1 + np.cos(time * np.sqrt(gravity / length)))
    y = y + 0.05 * y.std() * draw.normal(size=150)
    units = TableUnits((METRE, ACCELERATION, KILOGRAM, SECOND), KILOGRAM * METRE**2 / SECOND**2)
    rows, names = Data(X.T, y, np.ones(150)), ("length", "gravity", "mass", "time")
    found = reducing_transform(rows, names, OPERATORS, units=units)
    assert found is not None
    columns, target = units.left(found)
    assert all(each.dimensionless for each in (*columns, target))
    assert len(columns) == 1


def test_columns_of_other_units_are_not_added() -> None:
    draw = np.random.default_rng(0)
    X = draw.uniform(1, 3, (300, 3))
    y = (X[:, 0] + X[:, 1]) * X[:, 2]
    names, rows = ("a", "b", "c"), Data(X, y, np.ones(300))
    alike = TableUnits((METRE, METRE, SECOND), METRE * SECOND)
    assert "a + b" in str(reducing_transform(rows, names, OPERATORS, units=alike))
    unlike = TableUnits((METRE, KILOGRAM, SECOND), METRE * SECOND)
    assert "a + b" not in str(reducing_transform(rows, names, OPERATORS, units=unlike))
