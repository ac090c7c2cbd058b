"""Transforms: rows by derived columns, and programs written back in the table's own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from strategies import programs
from symseek import Library, Program
from symseek.data import Data
from symseek.structure.transform import (
    ONE,
    ColumnProduct,
    ColumnSum,
    DerivedColumn,
    TableColumn,
    Transform,
    product,
)

NAMES = ("a", "b c", "2", "mul2")
COLUMNS = tuple(TableColumn(at, name) for at, name in enumerate(NAMES))
OPERATORS = ["add", "sub", "mul", "div", "sqrt", "sin", "exp", "const"]
TABLE = Library(OPERATORS, NAMES)

halves = st.integers(-5, 5).map(lambda half: Fraction(half, 2))


@st.composite
def parts(draw: st.DrawFn, depth: int = 2) -> DerivedColumn:
    """Products and sums of positive columns, which stay positive."""
    kind = draw(st.sampled_from(["column", "product", "sum"])) if depth else "column"
    if kind == "column":
        return draw(st.sampled_from(COLUMNS))
    if kind == "sum":
        return ColumnSum(draw(parts(depth - 1)), draw(parts(depth - 1)), 1)
    factors = draw(st.lists(st.tuples(parts(depth - 1), halves), max_size=3))
    return product(*factors)


@st.composite
def transforms(draw: st.DrawFn) -> Transform:
    columns = draw(st.lists(parts(), min_size=1, max_size=3))
    return Transform(tuple(columns), draw(parts()))


def rows(seed: int, count: int = 20) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 2.0, (count, len(NAMES)))


@examples(150)
@given(transform=transforms(), seed=st.integers(0, 1000), data=st.data())
def test_a_program_written_back_is_the_factor_times_it(
    transform: Transform, seed: int, data: st.DataObject
) -> None:
    inner = Library(OPERATORS, [f"z{at}" for at in range(len(transform.columns))])
    program = data.draw(programs(inner, max_length=12))
    X = rows(seed)
    Z = np.column_stack([each.values(X) for each in transform.columns])
    with np.errstate(all="ignore"):
        wanted = transform.factor.values(X) * program.evaluate(Z)
        found = transform.program(program, TABLE).evaluate(X)
    # Powers by pow and by products differ in their last bits, which functions may magnify.
    usual = np.isfinite(wanted) & (np.abs(wanted) < 1e6) & (np.abs(wanted) > 1e-6)
    close = np.isclose(found, wanted, rtol=1e-6, atol=1e-9)
    assert (close | ~usual | steep(program, Z)).all()


def steep(program: Program, Z: np.ndarray) -> np.ndarray:
    """Rows where a change in the last bits of a column changes the value much."""
    with np.errstate(all="ignore"):
        values = [program.evaluate(Z * (1 + each)) for each in (0.0, 1e-13, -1e-13)]
        return ~(np.ptp(values, axis=0) < 1e-8 * np.abs(values[0]))


@examples(60)
@given(part=parts(), seed=st.integers(0, 1000))
def test_the_words_of_a_part_are_its_values(part: DerivedColumn, seed: int) -> None:
    X = rows(seed)
    program = Program.from_preorder(part.words(), TABLE)
    assert np.allclose(program.evaluate(X), part.values(X), rtol=1e-12)
    operators = {TABLE.tokens[token].name for token in program.tokens} - {*NAMES, "const"}
    assert operators <= {"mul", "div", "sqrt", "add"}


@examples(60)
@given(transform=transforms(), seed=st.integers(0, 1000), weighted=st.booleans())
def test_squared_errors_in_a_view_are_those_of_y(
    transform: Transform, seed: int, weighted: bool
) -> None:
    X, rng = rows(seed), np.random.default_rng(seed)
    y, guess = rng.normal(size=(2, len(X)))
    weights = rng.uniform(0, 2, len(X)) if weighted else np.ones(len(X))
    data = Data(X, y, weights)
    seen, factor = transform.data(data), transform.factor.values(X)
    assert seen.weights.mean() == pytest.approx(1.0)
    assert np.allclose(seen.y * factor, y)
    ours = seen.weights @ (guess / factor - seen.y) ** 2
    theirs = weights @ (guess - y) ** 2
    others = weights @ (2 * guess - y) ** 2
    assert ours / theirs == pytest.approx(
        seen.weights @ (2 * guess / factor - seen.y) ** 2 / others, rel=1e-9
    )


def test_texts() -> None:
    a, b, c, d = COLUMNS
    assert str(Transform.plain(NAMES[:2])) == "y depends on a, b c only"
    assert str(Transform((), product((a, Fraction(2))))) == "y/a**2 is constant"
    quotient = product((a, Fraction(1)), (b, Fraction(-1)), (c, Fraction(-1, 2)))
    assert str(quotient) == "a/(b c*2**(1/2))"
    assert str(Transform((quotient,), product((d, Fraction(-1))))) == (
        "y*mul2 depends on a/(b c*2**(1/2)) only"
    )
    assert str(product((ColumnSum(a, b, -1), Fraction(2)))) == "(a - b c)**2"
    assert str(ColumnProduct(())) == "1"


def test_views_are_plain_or_not() -> None:
    assert Transform.plain(NAMES).is_plain
    assert Transform(COLUMNS[:2]).is_plain
    assert not Transform(COLUMNS, COLUMNS[0]).is_plain
    assert not Transform((ColumnSum(*COLUMNS[:2], 1),)).is_plain
    assert Transform.plain(NAMES).names == NAMES


def test_inner_products_open() -> None:
    a, b, _, _ = COLUMNS
    half = Fraction(1, 2)
    root = product((a, half), (b, half))
    assert root.words() == ["sqrt", "mul", "a", "b c"]
    assert product((root, Fraction(2))) == product((a, Fraction(1)), (b, Fraction(1)))
    assert product((a, Fraction(1)), (a, Fraction(-1))) == ONE
    assert product((root, Fraction(2)), (b, Fraction(-1))) == a
    assert ONE.words() == [1.0]


def test_numbers_of_the_library_stay_numbers_of_it() -> None:
    table, inner = Library(["mul", "div", 2.0], ["v", "c"]), Library(["mul", "div", 2.0], ["z"])
    transform = Transform(
        (product((TableColumn(0, "v"), Fraction(1)), (TableColumn(1, "c"), Fraction(-1))),)
    )
    back = transform.program(Program.from_preorder("mul 2.0 z", inner), table)
    assert back == Program.from_preorder("mul 2.0 div v c", table)
