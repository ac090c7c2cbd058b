"""Constants become neat numbers where the data allow it, and stay fitted where they do not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from strategies import libraries, programs
from symseek.algebra.numbers import Neat, neat_numbers
from symseek.algebra.rounding import rounded
from symseek.errors import InputError
from symseek.notation.printing import infix
from symseek.programs import Program
from symseek.tokens import Library


def line(low: float = 0.1, high: float = 2.0, rows: int = 30) -> np.ndarray:
    return np.linspace(low, high, rows)[:, None]


def mean_square(program: Program, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((program.evaluate(X) - y) ** 2))


@pytest.mark.parametrize(
    ("fitted", "truth", "text"),
    [
        ("0.4999999999*x", "x/2", "1/2*x"),
        ("3.1415926536*x", "pi*x", "pi*x"),
        ("-1.5707963268*x", "-pi/2*x", "-pi/2*x"),
        ("x - 0.7853981634", "x - pi/4", "x - pi/4"),
        ("2.718281828459*x", "exp(1)*x", "exp(1)*x"),
        ("1.4142135624*x", "sqrt(2)*x", "sqrt(2)*x"),
        ("0.8660254038*x", "sqrt(3)/2*x", "sqrt(3)/2*x"),
        ("0.0795774715459*x", "x/(4*pi)", "1/(4*pi)*x"),
        ("9.8696044011*x", "pi**2*x", "pi**2*x"),
        ("0.0126651479553*x", "x/(8*pi**2)", "1/(8*pi**2)*x"),
        ("x/0.01612576721660", "x*2*pi**3", "x/(1/(2*pi**3))"),
        ("2.50662827463*x", "sqrt(2*pi)*x", "sqrt(2*pi)*x"),
        ("x**0.3989422804014", "x**(1/sqrt(2*pi))", "x**(1/sqrt(2*pi))"),
        ("x - 1.1283791670955", "x - 2/sqrt(pi)", "x - 2/sqrt(pi)"),
        ("0.3183098861837*x + 0.318", "x/pi + 0.318", "1/pi*x + 0.318"),
        ("3.3900000000012*x**3 + 2.12*x", "3.39*x**3 + 2.12*x", "3.39*x**3 + 2.12*x"),
        ("x*0.3333333333", "x/3", "x*(1/3)"),
        ("x/2.9999999999", "x/3", "x/3"),
        ("x**1.4999999999", "x**1.5", "x**(3/2)"),
        ("x - 1e-11", "x", "x"),
        ("1.0000000001*x + 0.2857142857", "x + 2/7", "x + 2/7"),
        ("6.67430000001e-11*x", "6.6743e-11*x", "6.6743e-11*x"),
        ("x + 1000000.0000001", "x + 1000000", "x + 1000000"),
        ("1.23456789000000012*x", "1.23456789*x", "1.23456789*x"),
        ("5.4999999999*sin(1.4000000001*x)", "5.5*sin(1.4*x)", "5.5*sin(1.4*x)"),
    ],
)
def test_exact_data_give_neat_numbers(fitted, truth, text):
    X = line()
    y = Program.parse(truth).evaluate(X)
    result = rounded(Program.parse(fitted), X, y)
    assert str(result) == text
    assert result.after <= result.before
    assert mean_square(result.program, X, y) == result.after


def test_numbers_that_are_not_neat_stay():
    X = line()
    program = Program.parse("exp(0.5*log(x) + 0.10350708469216306)")
    result = rounded(program, X, np.sqrt(1.23 * X[:, 0]))
    assert result.names == ("1/2", "0.10350708469216306")
    assert result.program.constants == (0.5, 0.10350708469216306)
    assert result.shown() == "exp(1/2*log(x) + 0.103507)"


def test_constants_that_make_up_for_one_another_are_rounded_together():
    # The errors of slope and offset cancel in the middle of the data, so neither can go alone.
    X = line(0.9, 1.1)
    y = 2.5 * X[:, 0] + 1.5
    program = Program.parse("2.500001*x + 1.499999")
    for slope, offset in ((2.5, 1.499999), (2.500001, 1.5)):
        alone = Program(program.library, program.tokens, (slope, offset))
        assert mean_square(alone, X, y) > mean_square(program, X, y)
    assert rounded(program, X, y).names == ("5/2", "3/2")


def test_redundant_constants_are_left_when_neither_is_neat():
    X = line()
    program = Program.parse("0.7612345612345*x*4.4532920938839")
    result = rounded(program, X, program.evaluate(X))
    assert result.program == program
    assert result.neat == (None, None)


def fitted_line(noise: float) -> tuple[Program, np.ndarray, np.ndarray]:
    """A straight line through noisy points, fitted as well as can be."""
    X = line(-1, 1, 200)
    y = 0.5 * X[:, 0] + 2 + noise * np.random.default_rng(3).normal(size=len(X))
    slope, offset = np.polyfit(X[:, 0], y, 1)
    program = Program.parse("1*x + 1")
    return Program(program.library, program.tokens, (float(slope), float(offset))), X, y


@pytest.mark.parametrize("noise", [1e-6, 1e-4, 1e-3])
def test_noisy_data_keep_the_fitted_values(noise):
    program, X, y = fitted_line(noise)
    assert rounded(program, X, y).program == program


def test_noisy_data_are_rounded_when_the_error_may_grow():
    program, X, y = fitted_line(1e-3)
    result = rounded(program, X, y, growth=0.05)
    assert result.names == ("1/2", "2")
    assert result.before < result.after <= 1.05 * result.before


def test_weights_count():
    X, program = line(), Program.parse("0.500012345678*x")
    y = 0.5 * X[:, 0]
    y[-1] *= 1.5  # an outlier that wants a steeper slope
    weights = np.ones(len(X))
    assert rounded(program, X, y, weights=weights).neat == (None,)
    weights[-1] = 0.0
    assert rounded(program, X, y, weights=weights).names == ("1/2",)


def test_a_row_without_weight_needs_no_value():
    X = np.array([[-1.0], [1.0], [4.0]])
    result = rounded(Program.parse("0.9999999999*sqrt(x)"), X, [0, 1, 2], weights=[0, 1, 1])
    assert result.names == ("1",)


def test_a_large_offset_hides_more_digits():
    # At 1e12 a float64 is right to 1e-4, so an offset of a thousandth of that is no difference.
    X = line()
    y = 1e12 + X[:, 0]
    result = rounded(Program.parse("x + 1000000000000.0001"), X, y)
    assert result.names == ("1e12",)


def test_a_program_without_constants_is_left_alone():
    program = Program.parse("x + x", Library(["add"], ["x"]))
    result = rounded(program, line(), line()[:, 0])
    assert result.program == program
    assert result.names == ()
    assert str(result) == "x + x"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, X, y: rounded("x", X, y), "'x' is not a Program"),
        (lambda p, X, y: rounded(p, X, y, growth=-0.1), "growth is -0.1"),
        (lambda p, X, y: rounded(p, X, y, growth=math.nan), "growth is nan"),
        (lambda p, X, y: rounded(p, X, y[:-1]), "X has 30 rows but y has 29 values"),
        (lambda p, X, y: rounded(p, X, y, weights=-y), "weights must be finite, not negative"),
        (lambda p, X, y: rounded(p, -X, y), "has no finite error on these rows"),
        (lambda p, X, y: rounded(p, X, y * 1e200), "give y in other units"),
        (lambda p, X, y: rounded(Program.parse("const(inf)*x"), X, y), "the constant inf"),
    ],
)
def test_bad_input_is_refused(call, message):
    X = line()
    with pytest.raises(InputError, match=message):
        call(Program.parse("0.5*sqrt(x)"), X, np.sqrt(X[:, 0]))


# Neat numbers


@pytest.mark.parametrize(
    ("value", "neatest"),
    [
        (0.5, "1/2"),
        (0.2, "0.2"),
        (1.4, "1.4"),
        (5.5, "5.5"),
        (0.25, "1/4"),
        (3.0, "3"),
        (-3.0, "-3"),
        (-0.75, "-3/4"),
        (1e-7, "0"),
        (0.0, "0"),
        (3.1416, "pi"),
        (1e22, "1e22"),
        (120.0, "120"),
    ],
)
def test_the_neatest_number_comes_first(value, neatest):
    assert neat_numbers(value)[0].text == neatest


def number() -> st.SearchStrategy[float]:
    return st.floats(allow_nan=False, allow_infinity=False) | st.floats(-100, 100)


@given(number(), st.integers(1, 9), st.booleans())
def test_neat_numbers_are_near_and_sorted(value, digits, rare):
    found = neat_numbers(value, digits, rare)
    assert set(neat_numbers(value, digits)) <= set(neat_numbers(value, digits, rare=True))
    assert [each.cost for each in found] == sorted(each.cost for each in found)
    assert len({each.text for each in found}) == len(found)
    for each in found:
        if each.factor:
            assert abs(each.value - value) <= 1.001e-3 * abs(value)
        else:
            assert abs(value) <= 1e-3


@given(number(), st.integers(1, 9))
def test_a_neat_number_is_what_its_text_says(value, digits):
    import sympy

    for each in neat_numbers(value, digits, rare=True):
        meant = each.sympy()
        assert sympy.simplify(sympy.sympify(each.text, rational=True) - meant) == 0
        assert float(sympy.N(meant, 30)) == pytest.approx(each.value, rel=1e-15)
        assert Program.parse(each.text).evaluate(np.zeros((1, 0)))[0] == pytest.approx(
            each.value, rel=1e-15
        )


def test_few_digits_do_not_decide_for_a_power_of_pi():
    X = line()
    y = np.round(X[:, 0] / np.pi, 3)
    result = rounded(Program.parse("0.3183*x"), X, y, growth=0.01)
    assert result.names in [("0.318",), ("0.3183",)]


def test_an_odd_name_must_be_nearer_than_chance():
    """31/7 is 4.42857, and sqrt(19.62) is 4.42945: one fraction in many is as near to anything."""
    X = np.random.default_rng(0).uniform(1, 5, (40, 1))
    for places in (1, 2, 3, 4):
        y = np.round(math.sqrt(19.62) * X[:, 0], places)
        fitted = float(X[:, 0] @ y / (X[:, 0] @ X[:, 0]))
        for growth in (0.01, 0.1, 0.5):
            (neat,) = rounded(Program.parse(f"{fitted!r}*x"), X, y, growth=growth).neat
            assert neat is None or neat.text.replace(".", "").isdigit()


def test_exact_data_name_the_root_of_a_decimal():
    X = line()
    result = rounded(Program.parse("4.42944691807*x"), X, math.sqrt(19.62) * X[:, 0])
    assert result.names == ("sqrt(19.62)",)
    assert result.sympy().coeff(sympy.Symbol("x")) == sympy.sqrt(sympy.Rational(981, 50))
    assert Program.parse(str(result)).evaluate(X) == pytest.approx(math.sqrt(19.62) * X[:, 0])


def test_a_rounding_is_complete_when_no_long_number_is_left():
    X = line()
    for fitted, truth in (("0.4999999999*x**1.5", "x**1.5/2"), ("0.4999999999*x", "x/2")):
        assert rounded(Program.parse(fitted), X, Program.parse(truth).evaluate(X)).complete
    long = Program.parse("0.5*x + 1.23456789012")
    assert not rounded(long, X, long.evaluate(X)).complete


def test_signs_and_units():
    assert -Neat("pi/2", Fraction(1, 2), "pi") == Neat("-pi/2", Fraction(-1, 2), "pi")
    assert Neat("-pi/2", Fraction(-1, 2), "pi").value == -math.pi / 2


# Text and SymPy

OPERATORS = ["add", "sub", "mul", "div", "pow", "neg", "square", "reciprocal", "sin", "exp"]
TEXTS = ["1/2", "-1/2", "2*pi/3", "-pi", "3", "-3", "1e-07", "sqrt(2)/2", "exp(1)", "0"]
TEXTS += ["pi**2", "-pi**2", "1/(4*pi)", "-3/(8*pi**2)", "sqrt(2*pi)", "-1/sqrt(2*pi)", "-1e-07"]


@examples(200)
@given(st.data())
def test_texts_for_constants_are_bracketed_where_they_must(data):
    library = Library([*OPERATORS, 1, 2, "const"], ["x"])
    program = data.draw(programs(library, max_length=9))
    texts = [data.draw(st.sampled_from(TEXTS)) for _ in program.constants]
    values = [float(Program.parse(text).evaluate(np.zeros((1, 0)))[0]) for text in texts]
    meant = Program(library, program.tokens, tuple(values)).evaluate([[0.7], [1.3]])
    assume(np.isfinite(meant).all() and (np.abs(meant) < 1e6).all())
    written = Program.parse(infix(program, texts))
    columns = np.full((2, len(written.library.variables)), [[0.7], [1.3]])
    got = written.evaluate(columns)
    assert got == pytest.approx(meant, rel=1e-9, abs=1e-9)


def test_sympy_has_exact_numbers():
    import sympy

    x = sympy.Symbol("x")
    X = line()
    program = Program.parse("0.4999999999*x + sin(3.1415926536*x) + 1.35*x*0.10350708469216306")
    y = 0.5 * X[:, 0] + np.sin(np.pi * X[:, 0]) + 1.35 * 0.10350708469216306 * X[:, 0]
    expression = rounded(program, X, y).sympy()
    assert expression.has(sympy.sin(sympy.pi * x), sympy.Rational(1, 2))
    root = rounded(Program.parse("sqrt(x**2)*0.5"), X, X[:, 0] / 2)
    assert root.sympy(positive=True) == sympy.Symbol("x", positive=True) / 2


@examples(60)
@given(st.data(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-9, 1e-3, 0.1]))
def test_rounding_never_makes_the_error_larger(data, seed, noise):
    library = data.draw(libraries(composed=False, odd=False))
    assume("const" in library)
    program = data.draw(programs(library, max_length=10))
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.1, 2.0, (20, len(library.variables)))
    y = program.evaluate(X)
    assume(np.isfinite(y).all() and (np.abs(y) < 1e100).all())
    y = y + noise * max(1.0, float(np.std(y))) * rng.normal(size=len(y))
    result = rounded(program, X, y)
    # What float64 arithmetic does by itself: see the module.
    floor = max(1e-12 * np.std(y), 1e-15 * np.abs(y).max()) ** 2
    before, after = mean_square(program, X, y), mean_square(result.program, X, y)
    assert after <= max(before, floor * (1 + 1e-9))
    assert result.program.tokens == program.tokens
    for neat, old, new in zip(
        result.neat, program.constants, result.program.constants, strict=True
    ):
        assert new == (old if neat is None else neat.value)


@examples(60)
@given(st.data())
def test_the_text_means_the_program(data):
    import sympy

    library = Library(["add", "sub", "mul", "div", "sin", "sqrt", "neg", "const"], ["x", "y"])
    program = data.draw(programs(library, max_length=9))
    # No sum of a few of these is a multiple of pi, whose sine would be 0 for SymPy alone.
    value = data.draw(st.sampled_from([0.5, 2.0, math.pi / 5, 1 / 3, 3.39, -0.75, 0.123456789]))
    constants = [value] * len(program.constants)
    program = Program(library, program.tokens, tuple(constants))
    X = np.array([[0.3, 0.7], [1.1, 1.9]])
    y = program.evaluate(X)
    assume(np.isfinite(y).all())
    result = rounded(program, X, y)
    read_back = Program.parse(str(result), Library([*library.names[:7], "const"], ["x", "y"]))
    expected = result.program.evaluate(X)
    # The text has the exact numbers: rounding must not decide the value, as in sqrt(x - x).
    moved = tuple(value * (1 + 1e-13) for value in result.program.constants)
    change = np.abs(Program(library, program.tokens, moved).evaluate(X * (1 + 1e-13)) - expected)
    assume((change <= 1e-10 * np.abs(expected) + 1e-12).all())
    assert read_back.evaluate(X) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for expression in (sympy.sympify(str(result)), result.sympy()):
        values = [complex(expression.evalf(30, subs={"x": a, "y": b})) for a, b in X.tolist()]
        assert values == pytest.approx(expected, rel=1e-9, abs=1e-12)
