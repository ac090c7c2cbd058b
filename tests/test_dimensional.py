"""Structure with units: columns and a factor that dimensional analysis gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symseek import Dimensions, Length, Library, Search
from symseek.constraints.constraint_set import DeadEnd
from symseek.data import Data
from symseek.dimensions import DIMENSIONLESS, Dimension
from symseek.regression.regression import Regression
from symseek.settings import Settings
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


def test_a_search_without_a_formula_of_the_unit_says_so() -> None:
    units = Dimensions({"x": METRE, "t": SECOND}, target=KILOGRAM)
    library = Library(["add", "mul", "sin"], ["x", "t"])
    x, t = np.random.default_rng(0).uniform(1, 2, (2, 20))
    with pytest.raises(DeadEnd, match="no token is allowed"):
        Search(library, np.column_stack([x, t]), x * t, constraints=[Length(1, 9), units]).run()


@pytest.mark.slow
def test_columns_that_cannot_have_the_unit_of_the_target_are_not_searched() -> None:
    """What the structure of these rows leaves has no factor in newtons."""
    draw = np.random.default_rng(0)
    names = ["m1", "m2", "G", "x1", "x2", "y1", "y2", "z1", "z2"]
    low, high = [1, 1, 1, 3, 1, 3, 1, 3, 1], [2, 2, 2, 4, 2, 4, 2, 4, 2]
    X = draw.uniform(low, high, (1000, 9))
    m1, m2, G, *places = X.T
    far = sum((one - other) ** 2 for one, other in zip(places[::2], places[1::2], strict=True))
    y = G * m1 * m2 / far
    y += 0.001 * np.sqrt(np.mean(y**2)) * draw.normal(size=1000)
    units = "m1: kg, m2: kg, G: m^3/(kg s^2), y: N, " + ", ".join(f"{n}: m" for n in names[3:])
    settings = Settings(units=units, max_expressions=3000, max_seconds=None)
    regression = Regression(X, y, names, settings)
    assert regression.run().expressions >= 2000
    assert len(regression.model().formulas) > 0
