"""Constants fitted to noisy rows become neat numbers where the rows make that likely."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from symseek.algebra import neatness
from symseek.algebra.neatness import probably_neat
from symseek.algebra.numbers import UNITS, Neat, multiple, naming_cost
from symseek.model import full_library
from symseek.programs import Program


def measured(value: float, error: float, rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Rows to which c*x is fitted best with this c, and with this standard error."""
    x = np.linspace(1.0, 2.0, rows)
    noise = np.random.default_rng(0).normal(size=rows)
    noise -= x * (noise @ x) / (x @ x)
    noise *= error * math.sqrt(rows - 1) * np.linalg.norm(x) / np.linalg.norm(noise)
    return x[:, None], value * x + noise


@pytest.mark.parametrize(
    ("value", "error", "name"),
    [
        (0.4996, 0.0006, "1/2"),
        (-0.4996, 0.0006, "-1/2"),
        (2.0031, 0.004, "2"),
        (0.0796, 0.0001, "1/(4*pi)"),
        (1.00002, 0.0001, "1"),
        (6.281, 0.005, "2*pi"),
        (0.3990, 0.0002, "1/sqrt(2*pi)"),
        (9.81004, 0.0001, "9.81"),
        (6.6743002e-11, 1e-17, "6.6743e-11"),
        (0.437, 0.01, None),  # 7/16 is no better than 0.437
        (0.318, 0.005, None),  # nor is 1/pi
        (1.234567, 1e-6, None),
        (0.5, 0.2, None),  # nothing is known of it
        (0.4996, 0.00005, None),  # not 1/2
        (2.00607, 0.0009, None),  # 2*pi/sqrt(9.81), and not 2
    ],
)
def test_a_number_is_told_by_its_standard_error(value, error, name):
    X, y = measured(value, error)
    program = Program.parse("1.5*x")
    result = probably_neat(Program(program.library, program.tokens, (value,)), X, y)
    (neat,) = result.neat
    assert (None if neat is None else neat.text) == name
    (told,) = result.program.constants
    assert told == (pytest.approx(value, abs=1e-3 * error) if neat is None else neat.value)
    assert result.after >= result.before


@pytest.mark.parametrize(
    ("law", "fitted", "text"),
    [
        ("sin(y - x)/2 - sin(y)", "0.49*sin(y - x) - 1.01*sin(y)", "1/2*sin(y - x) - 1*sin(y)"),
        ("x/(y + 1) + 1.2345", "1.01*x/(y + 0.99) + 1.23", "1*x/(y + 1) + 1.2345"),
        ("x**1.5*y**2.5", "1.01*x**1.51*y**2.49", "1*x**1.5*y**2.5"),
        ("x*exp(-y/3)", "0.99*x*exp(-0.33*y)", "1*x*exp(-(1/3)*y)"),
        ("y*x**1.5*1.2345", "1.23*y*x**1.5", "1.2345*y*x**1.5"),  # 1.5 comes of x*sqrt(x)
    ],
)
def test_all_numbers_of_a_law(law, fitted, text):
    rng = np.random.default_rng(1)
    X = rng.uniform(1, 4, (2_000, 2))
    library = full_library(["x", "y"])
    y = Program.parse(law, library).evaluate(X)
    y = y + 0.003 * np.std(y) * rng.normal(size=len(y))
    result = probably_neat(Program.parse(fitted, library), X, y)
    shown = Program.parse(result.shown(6), library).evaluate(X)
    meant = Program.parse(text, library).evaluate(X)
    assert np.abs(shown - meant).max() < 1e-3 * np.std(y), result.shown(6)
    fixed = {1.5} if fitted.endswith("x**1.5") else set()
    for neat, value in zip(result.neat, Program.parse(text, library).constants, strict=True):
        assert (neat is None) == (value in {1.2345, *fixed})


def test_a_phase_is_a_part_of_pi_sooner_than_another_number():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 5, 1_000)
    y = np.cos(x) + 0.33 * rng.normal(size=1_000)
    assert probably_neat(Program.parse("sin(x + 1.57)"), x, y).names == ("pi/2",)
    X, y = measured(math.pi / 2 + 0.002, 0.014)  # as uncertain as that
    assert probably_neat(Program.parse("1.57*x"), X, y).neat == (None,)


def test_numbers_that_make_up_for_one_another_stay():
    X, y = measured(0.5, 0.001)
    program = Program.parse("0.7*x*0.7142857")
    result = probably_neat(program, X, y)
    assert result.program == program
    assert result.neat == (None, None)
    assert math.isnan(result.before)


def test_rows_without_a_value_and_rows_too_few():
    X, y = measured(0.5, 0.001)
    for program, rows in ((Program.parse("0.5*sqrt(x - 1.5)"), 400), (Program.parse("0.5*x"), 1)):
        result = probably_neat(program, X[:rows], y[:rows])
        assert result.program == program
        assert not any(result.neat)


def test_a_row_of_weight_two_is_two_rows():
    X, y = measured(0.4996, 0.0006)
    program = Program.parse("0.4999*x")
    twice = probably_neat(program, np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighted = probably_neat(program, X, y, weights=np.full(len(y), 2.0))
    assert twice.names == weighted.names == ("1/2",)
    assert twice.after == pytest.approx(weighted.after)
    y[:5] += 100.0  # outliers, which weigh nothing
    weights = np.ones(len(y))
    weights[:5] = 0.0
    assert probably_neat(program, X, y, weights=weights).names == ("1/2",)


def test_some_of_many_rows_decide_and_all_are_fitted(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 5, 1_000)
    y = 0.5 * x + 1.2345 + 0.01 * rng.normal(size=1_000)
    monkeypatch.setattr(neatness, "_ENOUGH", 300)
    result = probably_neat(Program.parse("0.499*x + 1.23"), x, y)
    assert result.names[0] == "1/2"
    assert result.program.constants[1] == pytest.approx(np.mean(y - 0.5 * x), rel=1e-9)


@pytest.mark.parametrize("value", [math.sqrt(19.62), 31.0062766802998 / 7 * 1.0000001])
@pytest.mark.parametrize("noise", [1e-6, 3e-6, 1e-5, 4e-5])
def test_an_odd_name_needs_more_than_a_few_digits(value, noise):
    """pi**3/7 is 4.42946810: so near to sqrt(19.62), 4.42944692, that five digits are no proof."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.uniform(1, 5, 60)
        program = Program.parse(f"{value!r}*sqrt(x)")
        y = program.evaluate(x[:, None])
        y += noise * y.std() * rng.normal(size=60)
        assert probably_neat(program, x[:, None], y).neat == (None,)


def test_the_root_of_a_decimal_is_told_where_many_digits_are_known():
    x = np.random.default_rng(0).uniform(1, 5, 400)
    y = math.sqrt(19.62) * x * (1 + 1e-8 * np.random.default_rng(1).normal(size=400))
    assert probably_neat(Program.parse("4.42944692*x"), x[:, None], y).names == ("sqrt(19.62)",)


factors = st.fractions(Fraction(1, 32), 32, max_denominator=32)


@given(factors, factors, st.sampled_from(["", *UNITS]))
def test_what_is_simpler_costs_less_to_name(one, other, unit):
    def cost(factor: Fraction) -> float:
        return naming_cost(multiple(factor, unit) if unit else Neat(str(factor), factor))

    assert cost(Fraction(1)) <= cost(one) + 1e-12
    product = Fraction(one.numerator * other.numerator, one.denominator * other.denominator)
    if product.denominator == one.denominator * other.denominator > one.denominator > 4 and unit:
        assert cost(product) > cost(Fraction(product.numerator, one.denominator)) - 1e-12


@examples(60)
@given(
    st.tuples(*[st.floats(0.05, 20) | st.sampled_from([0.5, 1.0, 2.0, math.pi, 0.25])] * 2),
    st.sampled_from(["{}*x + {}*y", "{}*x*exp(-{}*y/10)", "{}*x/({} + y)", "{}*x**2 - {}"]),
    st.sampled_from([1e-4, 1e-2, 0.1]),
    st.integers(5, 200),
    st.integers(0, 2**32 - 1),
)
def test_what_is_told_fits_nearly_as_well(values, form, noise, rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 5, (rows, 2))
    library = full_library(["x", "y"])
    program = Program.parse(form.format(*map(repr, values)), library)
    y = program.evaluate(X)
    y = y + noise * np.sqrt(np.mean(y**2)) * rng.normal(size=rows)
    result = probably_neat(program, X, y)
    assume(math.isfinite(result.before))
    assert result.program.tokens == program.tokens
    for neat, value in zip(result.neat, result.program.constants, strict=True):
        assert neat is None or value == neat.value
    # Each number that is told adds less than (3.5 + 1)**2 of the variance.
    told = sum(each is not None for each in result.neat)
    allowed = told * 4.5**2 / max(rows - len(program.constants), 1)
    assert result.after <= result.before * (1 + allowed) * (1 + 1e-9)
    assert np.mean((result.program.evaluate(X) - y) ** 2) == pytest.approx(result.after)


def test_the_one_of_a_divided_bracket_is_not_fitted():
    x = np.linspace(0.1, 3.0, 200)
    y = 2.0064 * (1 + x**2 / 16) + 0.001 * np.random.default_rng(0).normal(size=200)
    program = Program.parse("2.0063*(1 + 0.06252*x**2)")
    assert probably_neat(program, x[:, None], y).names[1:] == ("1", "1/16")
