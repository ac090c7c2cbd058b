"""Dimensions: their arithmetic, what each operator does with them, and programs that break them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import programs
from symseek import InputError, Library, Program, Token
from symseek.constraints import Dimensions
from symseek.constraints.dimensions import Mismatch
from symseek.dimensions import DIMENSIONLESS, Dimension, rule_of
from symseek.tokens import OPERATORS

METRE, SECOND, KILOGRAM = (Dimension({name: 1}) for name in ("m", "s", "kg"))
SPEED = METRE / SECOND
OPERATIONS = "add sub mul div pow sin exp sqrt square neg sign atan2 hypot max protected_div"
LIBRARY = Library([*OPERATIONS.split(), 1, 2, -0.5, "const"], variables=["x", "y", "t", "a"])
COLUMNS = {"x": METRE, "y": METRE, "t": SECOND, "a": DIMENSIONLESS}


def test_dimensions_multiply_divide_and_are_raised() -> None:
    assert METRE / METRE == DIMENSIONLESS == Dimension({"m": 0})
    assert {SPEED * SECOND, METRE} == {METRE}
    assert (SPEED**2 * KILOGRAM) ** Fraction(1, 2) == SPEED * KILOGRAM ** Fraction(1, 2)
    assert [str(each) for each in (SPEED**2, DIMENSIONLESS / SECOND)] == ["m^2/s^2", "1/s"]


@pytest.mark.parametrize("name", [n for n, t in OPERATORS.items() if t.protects is None])
def test_each_operator_keeps_its_rule_in_any_units(name: str) -> None:
    token = OPERATORS[name]
    assert token.dimensions is not None or token.exponent is not None, "its line lacks dimensions="
    rule = rule_of(token)
    if rule.raises:
        return
    random = np.random.default_rng(0)
    arguments = random.uniform(0.1, 0.9, (token.arity, 50))
    powers = [
        Fraction(0 if rule.plain else 1 if rule.alike else at) for at in (1, 2)[: token.arity]
    ]
    value = sum((p * q for p, q in zip(powers, rule.powers, strict=False)), Fraction(0))
    scaled = [each * 4.0 ** float(power) for each, power in zip(arguments, powers, strict=True)]
    assert token.numpy is not None
    np.testing.assert_allclose(token.numpy(*scaled), token.numpy(*arguments) * 4.0 ** float(value))


FINE = {
    "x": METRE, "x + y": METRE, "x - neg(y)": METRE, "x*t": METRE * SECOND, "x/t": SPEED,
    "sin(x/y)": DIMENSIONLESS, "exp(2*a)": DIMENSIONLESS, "sqrt(x*y)": METRE,
    "sqrt(x)": METRE ** Fraction(1, 2), "x**2": METRE**2, "pow(x, 2)": METRE**2,
    "pow(x, -0.5)": METRE ** Fraction(-1, 2), "pow(a, sin(a))": DIMENSIONLESS,
    "sign(x) + atan2(x, y)": DIMENSIONLESS, "hypot(x, y)": METRE, "max(x, y)/t": SPEED,
    "protected_div(x, t)": SPEED, "1.5*x": METRE,
}  # fmt: skip
BROKEN = {
    "x + t": "add is given m and s", "1 + x": "add is given dimensionless and m",
    "sin(x)": "sin is given m", "pow(x, a)": "pow is given m", "pow(2, x)": "pow is given m",
    "atan2(x, t)": "atan2 is given m and s", "x + 1.5": "add is given m and dimensionless",
    "hypot(x, t)": "hypot is given m and s", "sqrt(x)**2 + a": "add is given m and dimensionless",
}  # fmt: skip


@pytest.mark.parametrize(("text", "dimension"), FINE.items())
def test_dimensions_of_formulas(text: str, dimension: Dimension) -> None:
    program = Program.parse(text, LIBRARY)
    assert Dimensions(COLUMNS, None).of(program) == dimension
    assert not Dimensions(COLUMNS, dimension).violated_by(program)
    assert Dimensions(COLUMNS, dimension * KILOGRAM).violated_by(program)


@pytest.mark.parametrize(("text", "why"), BROKEN.items())
def test_formulas_that_break_dimensions_are_told_where(text: str, why: str) -> None:
    program = Program.parse(text, LIBRARY)
    assert Dimensions(COLUMNS, None).violated_by(program)
    with pytest.raises(Mismatch) as caught:
        Dimensions(COLUMNS, None).of(program)
    assert str(caught.value) == why


def test_free_numbers_take_the_dimension_that_suits() -> None:
    free = Dimensions(COLUMNS, SPEED, free_numbers=True)
    fine = ["1.5*x", "1.5*x + y/t", "1.5 + x/t", "x/(t + 1.5)", "sqrt(1.5*sin(x/1.5))", "1.5**a"]
    assert [free.violated_by(Program.parse(each, LIBRARY)) for each in fine] == [False] * 5 + [True]
    broken = ["sin(x)", "x + 1.5", "1*x", "sin(1.5) + x/t", "1.5*(x + t)"]
    assert all(free.violated_by(Program.parse(each, LIBRARY)) for each in broken)


def test_a_fitted_exponent_counts_by_its_value() -> None:
    units = Dimensions(COLUMNS, None)
    power = Program.from_preorder("pow x const", LIBRARY)
    assert units.of(power.over(LIBRARY)) == METRE  # a placeholder is 1
    for value, known in ((3.0, METRE**3), (0.25, METRE ** Fraction(1, 4)), (1.37, None)):
        program = Program(LIBRARY, power.tokens, (value,))
        assert units.violated_by(program) if known is None else units.of(program) == known


def test_the_arguments_of_a_given_form_have_their_own_dimensions() -> None:
    library = Library([Token("form", 3), "add", "div", "const"], variables=["x", "t"])
    wanted = (METRE, DIMENSIONLESS / SECOND, None)
    units = Dimensions({"x": METRE, "t": SECOND}, METRE, arguments={"form": wanted})
    judged = {"form x div const t x": False, "form add x x div const t const": False,
              "form x x x": True, "form x const t": True, "form t div const t x": True,
              "form x div const t add x t": True}  # fmt: skip
    for text, broken in judged.items():
        assert units.violated_by(Program.from_preorder(text, library)) is broken


def test_powers_out_of_bounds_are_refused() -> None:
    units = Dimensions(COLUMNS, None)
    high, odd = "x**2", "sqrt(x)"
    for _ in range(3):
        high, odd = f"({high})**2", f"sqrt({odd})"
    assert units.violated_by(Program.parse(high, LIBRARY))
    assert units.violated_by(Program.parse(odd, LIBRARY))


def test_every_column_needs_a_dimension() -> None:
    with pytest.raises(InputError, match="the dimension of the variable 't' is not given"):
        Dimensions({"x": METRE}, None).violated_by(Program.parse("x + t"))


@given(program=programs(LIBRARY, max_length=12), data=st.data())
def test_a_formula_that_agrees_means_the_same_in_any_units(program: Program, data: Any) -> None:
    try:
        dimension = Dimensions(COLUMNS, None).of(program)
    except Mismatch:
        return
    factor = {"m": 4.0, "s": 0.25}

    def scale(of: Dimension | None) -> float:
        assert of is not None
        return float(np.prod([factor[name] ** float(power) for name, power in of.powers] or [1]))

    seed = data.draw(st.integers(0, 99))
    columns = np.random.default_rng(seed).uniform(0.5, 2.0, (4, 5))
    sizes = [scale(COLUMNS[name]) for name in LIBRARY.variables]
    before = np.broadcast_to(program.apply(*columns), 5) * scale(dimension)
    after = np.broadcast_to(program.apply(*(c * s for c, s in zip(columns, sizes, strict=True))), 5)
    if "protected_div" in program.names or not np.isfinite([before, after]).all():
        return  # it jumps at a fixed number, whatever the unit
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-9 * np.abs(before).max())
