"""Formulas are written as people read them, and mean what they did."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from refusals import refused
from run_helpers import Capture
from strategies import programs
from symseek import SymbolicRegressor
from symseek.algebra.forms import styled, text
from symseek.algebra.reading import reading_cost
from symseek.algebra.simplify import reductions
from symseek.command import main
from symseek.errors import InputError
from symseek.export import latex_table, to_latex
from symseek.model import Formula, Model, full_library
from symseek.programs import Program
from symseek.regression.regression import Regression
from symseek.selection.ranking import contenders
from symseek.settings import Settings
from symseek.tokens import Library

NAMES = ["x", "y", "m", "h", "v", "L"]
LIBRARY = full_library(NAMES)


def law(formula: str) -> Program:
    return Program.parse(formula, LIBRARY)


def formula_of(program: Program) -> Formula:
    found = Formula(program, "", reward=1.0, nrmse=0.01, r2=0.9999)
    return Formula(program, found.written(), reward=1.0, nrmse=0.01, r2=0.9999)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        # numbers that are neat in a sum of terms
        ("9.81*m*(h + 0.0509683995922528*v**2)", "9.81*m*h + 1/2*m*v**2"),
        ("0.7*x*(y + 0.35714285714285715*L)*m", "x*m*(0.7*y + 1/4*L)"),
        # numbers far from 1 that hide one of its size
        ("4.0712345e-5*(x**2 + 49245.7123)*sqrt(L)", "(2.00491 + 4.07123e-5*x**2)*sqrt(L)"),
        ("3.71234e-7*(x + 2345678.9)*y*m", "y*m*(0.870796 + 3.71234e-7*x)"),
        # numbers that mean something only times that before the bracket
        ("0.5*m*(v**2 + 19.62*h)", "9.81*m*h + 1/2*m*v**2"),
        ("9.75172*m*(0.0518338*v**2 + h) + 3.1", "9.75172*m*h + 0.505469*m*v**2 + 3.1"),
        ("0.125379*(x**2 + 16)*sqrt(L)", "2.00606*(1 + 1/16*x**2)*sqrt(L)"),
        ("0.0126577*sqrt(L*(x**2 + 25104.3))", "2.00553*sqrt(L*(1 + 3.98338e-5*x**2))"),
        ("0.0002094*x*(393.7 - (y/v)**2)/v", "x*(0.0824408 - 0.0002094*(y/v)**2)/v"),
        ("0.0302632*(cos(x) + 3.63399)", "0.0302632*cos(x) + 0.109976"),
        # plateaus, and the places where half of them is reached
        ("38.3673/(exp(-0.31*x) + 0.0408163)", "939.999/(1 + 24.5*exp(-0.31*x))"),
        ("5.28531/(0.935002**x + 0.0729399)", "72.4612/(1 + 13.7099*exp(-0.0672066*x))"),
        ("25.7799/(1/x**2.1234 + 0.282914)", "91.1227/(1 + (1.81234/x)**2.1234)"),
        ("321.7/(x**2.1234 + 3.53456)", "91.0156/(1 + (x/1.81232)**2.1234)"),
        ("91.1*x**2.1234/(x**2.1234 + 3.53)", "91.1*x**2.1234/(x**2.1234 + 3.53)"),
        ("5.12345/(sin(x) + 1.23457)", "4.14999/(1 + 0.809999*sin(x))"),
        ("0.0169603*x/(4113.14*x + 1)", "4.12344e-6*x/(x + 0.000243123)"),
        ("x/(163307*x + 3.97036)", "6.12344e-6*x/(x + 2.43122e-5)"),
        ("1.92123*x*y/(23.4125*v - x)", "0.08206*x*y/(v - 0.0427122*x)"),
        ("-174.599/(1 - 0.000620505*x)", "281382/(x - 1611.59)"),
        ("3.4567/(exp(0.23456*x) - 1)", "3.4567/(exp(0.23456*x) - 1)"),
        # fractions below the line of another
        ("1/(1/x + 0.0123)", "x/(1 + 0.0123*x)"),
        ("70.4431/((y + 1.70922)/x + 0.791438)", "89.0065*x/(x + 1.26352*y + 2.15964)"),
        ("2.51/(y/x**2 + 3.2/x)", "2.51*x**2/(3.2*x + y)"),
        # signs
        ("22.8085/(v*(1/x - 0.0490324))", "465.172*x/(v*(20.3947 - x))"),
        # numbers with odd names
        ("4.429446918070020*sqrt(h)", "sqrt(19.62*h)"),
        ("4.5e-7*(x + 2222222.2)**2", "(1490.71 + 0.00067082*x)**2"),
        ("2.4*x/(x + 1.5384615384615385)", "2.4*x/(x + 1.53846)"),
        ("2*x/(x + 1.5384615384615385)", "2*x/(x + 20/13)"),
        # brackets in brackets
        (
            "x*(x*(39.6123 - x) - 176.123*0.9077123**x)",
            "39.6123*x**2 - x**3 - 176.123*x*exp(-0.0968278*x)",
        ),
        (
            "0.999802 - 0.00739709*x**2*(66.7108 - x*(x*(7.84494 - x) - 2.26041))",
            "0.999802 - 0.493466*x**2 - 0.0167205*x**3 + 0.0580297*x**4 - 0.00739709*x**5",
        ),
        # a fitted base to a variable power, but no whole one
        ("3.2*0.98123456**x + y", "y + 3.2*exp(-0.0189437*x)"),
        ("3.2*2**x + y", "3.2*2**x + y"),
        ("1.5*10**(0.31*x)", "3/2*10**(0.31*x)"),
        # peaks and resonances
        ("4.4123e-9*exp(0.140172*x*(24.6022 - x))", "7.18177*exp(-((x - 12.3011)/2.67097)**2)"),
        ("7*exp(-0.140171*(x - 12.3013)**2)", "7*exp(-((x - 12.3013)/2.67098)**2)"),
        (
            "4.4123e-9*exp(0.140172*log(x)*(24.6022 - log(x)))",
            "7.18177*exp(-((log(x) - 12.3011)/2.67097)**2)",
        ),
        (
            "5.12345*exp(-0.140145*(x - 12.3123)**2 - 0.273445*(y - 6.51234)**2)",
            "5.12345*exp(-((x - 12.3123)/2.67123)**2 - ((y - 6.51234)/1.91234)**2)",
        ),
        ("3.1/(x**2 - 24.6*x + 160.0)", "3.1/((x - 12.3)**2 + 8.71)"),
        # what is well as it is
        ("x*(y + h)", "x*(y + h)"),
        ("(x + 2.5)*(y - 3.1)", "(x + 5/2)*(y - 3.1)"),
        ("m*(h + v*L*sin(x))", "m*(h + v*L*sin(x))"),
        ("0.5*x*(x + 1)", "1/2*x*(x + 1)"),
        ("m*h/sqrt(1 - v**2/L**2)", "m*h/sqrt(1 - v**2/L**2)"),
        ("7*exp(-0.5*(x - 12)**2)", "7*exp(-1/2*(x - 12)**2)"),
        ("0.02*(x - 1950)**2 + 3.1", "0.02*(x - 1950)**2 + 3.1"),
        # a number alone is a mean, and says nothing as a fraction
        (repr(89 / 6), "14.8333"),
        (repr(math.pi), "3.14159"),
    ],
)
def test_written_as_people_do(formula, expected):
    program = law(formula)
    found = styled(program)
    assert text(found) == expected
    X = np.random.default_rng(0).uniform(0.5, 3.0, (40, len(NAMES)))
    assert found.evaluate(X) == pytest.approx(program.evaluate(X), rel=1e-9, nan_ok=True)


def test_styles_are_offered_and_others_refused():
    program = law("x*(1.5 + 0.25*y)")
    assert str(styled(program, "factored")) == str(program)
    assert str(styled(program, "expanded")) == "1.5*x + 0.25*x*y"
    assert str(styled(law("(x + y)**2*m"), "expanded")) == "x**2*m + y**2*m + 2.0*x*y*m"
    assert formula_of(program).written("expanded") == "3/2*x + 1/4*x*y"
    with refused("style", value="expand", wanted="did you mean 'expanded'?"):
        styled(program, "expand")


def test_the_estimator_writes_any_style():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 5, (40, 2))
    y = X[:, 0] * (1.2345 + X[:, 1] * 0.54321)
    model = SymbolicRegressor(
        operators=["add", "mul"], random_state=0, max_expressions=3_000, structure=False
    ).fit(X, y)
    styles = {style: model.formula(style=style) for style in ("factored", "expanded")}
    assert styles["expanded"] == "1.2345*x0 + 0.54321*x0*x1"
    assert "(" in styles["factored"]
    assert model.formula() in styles.values()


def test_a_number_costs_more_in_brackets_and_far_from_one():
    assert reading_cost(law("2.5*x")) < reading_cost(law("2.51734*x"))
    assert reading_cost(law("2.51734*x")) < reading_cost(law("2.51734e-7*x"))
    assert reading_cost(law("x*(y + h)")) < reading_cost(law("x*(y + 3.0*h)")) - 2.0
    assert reading_cost(law("x*(y*(h + m) + v)")) == reading_cost(law("x*(y + h*m) + v")) + 2.0


# The same function


def agrees(one: Program, other: Program, X: np.ndarray) -> bool:
    """Whether two programs have the same values, where those hardly depend on the last digits."""
    with np.errstate(all="ignore"):
        expected, found = one.evaluate(X), other.evaluate(X)
        steady = np.isfinite(expected)
        for program in (one, other):
            shape = np.random.default_rng(1).choice([-1.0, 1.0], (4, len(program.constants)))
            for signs in shape:
                moved = np.array(program.constants) * (1 + 1e-13 * signs)
                values = Program(program.library, program.tokens, tuple(moved)).evaluate(X)
                here = expected if program is one else found
                steady &= np.abs(values - here) <= 1e-10 * np.abs(here)
        return bool((np.abs(found - expected) <= 1e-9 * np.abs(expected))[steady].all())


OPERATORS = ["add", "sub", "mul", "div", "neg", "pow", "exp", "square", "sqrt", "sin"]


@examples(50)
@given(st.data(), st.sampled_from(["best", "expanded"]))
def test_every_way_has_the_values_of_the_program(data, style):
    library = full_library(["x", "y"])
    few = Library([*OPERATORS, "const"], ["x", "y"])
    drawn = data.draw(programs(few, max_length=21))
    tokens = tuple(library.index(few.names[token]) for token in drawn.tokens)
    program = Program(library, tokens, drawn.constants)
    found = styled(program, style)
    X = np.random.default_rng(7).uniform(0.3, 3.0, (30, 2))
    assert agrees(program, found, X)
    assert style == "expanded" or reading_cost(found) <= reading_cost(program)


@examples(40)
@given(st.data())
def test_a_polynomial_is_multiplied_out_as_sympy_does(data):
    library = full_library(["x", "y"])
    small = Library(["add", "sub", "mul", "square", "const"], ["x", "y"])
    drawn = data.draw(programs(small, max_length=15))
    whole = tuple(float(data.draw(st.integers(1, 9))) for _ in drawn.constants)
    tokens = tuple(library.index(small.names[token]) for token in drawn.tokens)
    program = Program(library, tokens, whole)
    expected = sympy.expand(program.sympy())
    assume(0 < len(sympy.Add.make_args(expected)) <= 10)
    assume(sympy.total_degree(expected) <= 3)
    found = styled(program, "expanded")
    assert sympy.expand(found.sympy() - expected) == 0
    assert len(sympy.Add.make_args(found.sympy())) == len(sympy.Add.make_args(expected))


# Everywhere the same


def model_of(*formulas: str) -> Model:
    rows = tuple(formula_of(law(each)) for each in formulas)
    return Model("z", tuple(NAMES), rows, picked=len(rows) - 1)


PEAK = "4.4123e-9*exp(0.140172*x*(24.6022 - x))"


def test_exports_write_what_the_table_shows():
    model = model_of("1.5", PEAK)
    shown = r"7.18177 \cdot e^{-\left(\frac{x - 12.3011}{2.67097}\right)^{2}}"
    assert "7.18177*exp(-((x - 12.3011)/2.67097)**2)" in str(model)
    assert shown in latex_table(model)
    assert to_latex(model.best.form()) == shown
    X = np.random.default_rng(0).uniform(5, 20, (20, len(NAMES)))
    assert model.best.form().evaluate(X) == pytest.approx(model.predict(X), rel=1e-9)


def test_complexity_is_that_of_the_shortest_way():
    best = formula_of(law("9.81*m*(h + 0.0509683995922528*v**2)"))
    assert best.text == "9.81*m*h + 1/2*m*v**2"
    assert best.complexity == best.program.complexity < best.form().complexity


@pytest.mark.parametrize("formula", [PEAK, "x*(x*(39.6123 - x) - 176.123*0.9077123**x)"])
def test_a_model_with_rewritten_text_is_saved_and_read(formula):
    model = model_of(formula)
    record = json.loads(json.dumps(model.to_dict()))
    assert Model.from_dict(record) == model
    # A model of before had the text of the program as it is.
    record["formulas"][0]["expression"] = model.best.written("factored")
    assert Model.from_dict(record).best.program == model.best.program
    record["formulas"][0]["expression"] = "9.9*exp(-((x - 12.3011)/2.67097)**2)"
    with pytest.raises(InputError, match="is not its program"):
        Model.from_dict(record)


def test_show_prints_the_other_forms(folder: Path, capsys: Capture) -> None:
    record = json.loads((folder / "front.json").read_text())
    names = record["features"]
    program = Program.parse(f"{names[0]}*(1.5 + 0.25*{names[0]})", full_library(names))
    record["formulas"][-1] |= {"program": program.preorder(), "expression": program.infix()}
    (folder / "front.json").write_text(json.dumps(record))
    capsys.readouterr()
    row = len(record["formulas"]) - 1
    assert main(["show", str(folder), "--row", str(row)]) == 0
    said = capsys.readouterr().out
    assert f"factored    {names[0]}*(3/2 + 1/4*{names[0]})" in said
    assert f"expanded    1/4*{names[0]}**2 + 3/2*{names[0]}" in said


# Numbers that are neat in one way to write a formula only


def short_fit(X: np.ndarray, y: np.ndarray, names: list[str]) -> Regression:
    return Regression(X, y, names, Settings(scale=False, structure=False, max_expressions=500))


@pytest.mark.parametrize("noise", [0.0, 0.002])
def test_a_neat_number_is_found_in_the_other_form(noise):
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 9, (80, 3))
    mass, height, speed = X.T
    y = (9.81 * mass * height + mass * speed**2 / 2) * (1 + noise * rng.normal(size=80))
    regression = short_fit(X, np.round(y, 2), ["mass", "height", "speed"])
    start = Program.parse("9.8*mass*(height + 0.051*speed**2)", regression.full)
    (fitted,) = regression.postprocessing.refit([start], regression.rows.train)
    found = regression.postprocessing.formula(regression.postprocessing.neat(fitted))
    assert "1/2*" in found.text
    assert found.complexity == start.complexity


def test_few_formulas_are_made_neat_and_what_was_proposed_first():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (60, 2))
    regression = short_fit(X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=60), ["a", "b"])
    texts = [f"{1 + k / 1e4}*sin({1 - k / 1e4}*a) + 1.01*b + 0.01" for k in range(100)]
    *others, law = (Program.parse(text, regression.full) for text in texts)
    others += [Program.parse(f"a*b + {each}(a)", regression.full) for each in ("sin", "exp")]
    short = Program.parse("sin(a) + b", regression.full)
    law = Program.parse("1.01*(sin(0.99*a) + b) + 0.01", regression.full)  # as good, and longer
    rows, measure = regression.rows.judged, regression.measure
    graded = [Formula.graded(each, rows, measure.reward) for each in (short, *others, law)]
    kept = contenders(graded, [law], measure)
    assert {short, law} <= set(kept)
    assert not set(others[-2:]) & set(kept)  # longer and worse, with no number to make neat
    assert 300 < sum(map(len, kept)) <= 600


@pytest.mark.parametrize(
    ("start", "law", "expected"),
    [
        (
            "38.4/(exp(-0.311*x) + 0.041)",
            lambda x, _: 940 / (1 + 24.5 * np.exp(-0.31 * x)),
            "940/(1 + 24.5*exp(-0.31*x))",
        ),
        (
            "25.8/(1/x**2.12 + 0.283)",
            lambda x, _: 91.1 / (1 + (1.81 / x) ** 2.12),
            "91.1/(1 + (1.81/x)**2.12)",
        ),
        (
            "0.125*(x**2 + 15.9)*sqrt(y)",
            lambda x, y: 2.006 * np.sqrt(y) * (1 + x**2 / 16),
            "2.006*(1 + 1/16*x**2)*sqrt(y)",
        ),
    ],
)
def test_neat_numbers_are_found_with_brackets_divided_by_their_constant(start, law, expected):
    X = np.random.default_rng(0).uniform(0.5, 9.0, (80, 2))
    regression = short_fit(X, np.round(law(*X.T), 6), ["x", "y"])
    steps, program = regression.postprocessing, Program.parse(start, regression.full)
    (fitted,) = steps.refit([program], regression.rows.train)
    assert steps.formula(steps.neat(steps.simplified(fitted))).text == expected


def test_a_mean_of_counts_is_no_fraction():
    y = np.array([3.0, 14, 15, 9, 26, 22] * 3)
    regression = short_fit(np.arange(18.0)[:, None], y, ["t"])
    assert regression.model().formulas[0].text == "14.8333"


# Forms that a person would reduce


def reduced(X: np.ndarray, y: np.ndarray, names: list[str], start: str) -> Formula:
    """The formula that is picked of what is made of one."""
    regression = short_fit(X, y, names)
    steps, train = regression.postprocessing, regression.rows.train
    fitted = steps.refit([Program.parse(start, regression.full)], train)
    simple = [steps.simplified(each) for each in fitted]
    programs = steps.refit(steps.refit.tightened(simple, train), train)
    front = steps.front([steps.formula(steps.simplified(each)) for each in programs])
    return front[steps.pick(front, "mdl").row]


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_common_factor_of_a_quotient_is_cancelled(noise):
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 6, 150)
    y = (2 * x + 3) / (x + 5)
    y += noise * y.std() * rng.normal(size=150)
    # Both times x**2 - 2*x + 4, but for the last digits.
    start = "(2.0*x**3 - 1.01*x**2 + 2.01*x + 12.02)/(x**3 + 3.01*x**2 - 6.02*x + 20.01)"
    found = reduced(x[:, None], y, ["x"], start)
    assert len(found.program.constants) <= 3
    assert found.nrmse <= max(1.1 * noise, 1e-12)


@pytest.mark.parametrize(
    ("quotient", "law"),
    [
        ("(x**2 - 3.0*x + 2.0)/(x**2 + x - 2.0001)", "(x - 2)/(x + 2)"),
        (
            "sin((2*x**3 - x**2 + 2*x + 12)/(x**3 + 3*x**2 - 6*x + 20.001))",
            "sin((2*x + 3)/(x + 5))",
        ),
        ("3*y + (x*(x - 3.0) + 2.0)/(x*(x + 1.0) - 2.0001)", "3*y + (x - 2)/(x + 2)"),
    ],
)
def test_a_quotient_that_nearly_cancels_is_offered_without_the_factor(quotient, law):
    library = full_library(["x", "y"])
    offered = reductions(Program.parse(quotient, library), library)
    X = np.random.default_rng(0).uniform(3, 6, (20, 2))
    expected = Program.parse(law, library).evaluate(X)
    near = [each for each in offered if np.allclose(each.evaluate(X), expected, rtol=1e-3)]
    assert min(len(each.constants) for each in near) <= 4


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_product_that_was_written_out_is_one_again(noise):
    rng = np.random.default_rng(1)
    X = rng.uniform(0.5, 3, (60, 2))
    x, z = X.T
    y = (1 + 0.7 * x) * (2 - 0.9 * z + 0.43 * z**3)
    y += noise * y.std() * rng.normal(size=60)
    start = "2.1 + 1.4*x - 0.9*z - 0.6*x*z + 0.4*z**3 + 0.3*x*z**3"
    found = reduced(X, y, ["x", "z"], start)
    assert len(found.program.constants) <= 4
    assert found.nrmse <= max(1.1 * noise, 1e-12)
