"""Numbers that are told as fractions stand on their side of the line, and mean what they did."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from strategies import programs
from symseek.algebra.upright import upright
from symseek.model import full_library
from symseek.programs import Program
from symseek.tokens import Library


@pytest.mark.parametrize(
    ("formula", "names", "text"),
    [
        ("0.1*a*b/c", ["1/(4*pi)"], "a*b/(4*pi*c)"),
        ("0.1*a*b", ["1/(2*pi)"], "a*b/(2*pi)"),
        ("0.1*a*b", ["3/(8*pi)"], "3*a*b/(8*pi)"),
        ("0.1*a*b", ["1/2"], "1/2*a*b"),
        ("0.1*a*b", ["2*pi/3"], "2*pi/3*a*b"),
        ("0.1*a/b", ["3/2"], "3*a/(2*b)"),
        ("a/(0.1*b)", ["3/2"], "2*a/(3*b)"),
        ("a/(0.1*b)", ["-3/2"], "-2*a/(3*b)"),
        ("a/(0.1*b)", ["-2"], "-a/(2*b)"),
        ("0.1*a/b", ["-1/(8*pi)"], "-a/(8*pi*b)"),
        ("0.1/b", ["-1/(8*pi)"], "-1/(8*pi*b)"),
        ("0.1/b", ["1/sqrt(2*pi)"], "1/(sqrt(2*pi)*b)"),
        ("0.1*exp(0.2*a**2/b**2)/b", ["1/sqrt(pi)", "-1/2"], "exp(-a**2/(2*b**2))/(sqrt(pi)*b)"),
        ("c + 0.1*a/(b*(0.2*a + 1))", ["3/4", "1/pi", "1"], "c + 3*a/(4*b*(a/pi + 1))"),
        ("-(0.1*a/b)", ["6.4"], "-6.4*a/b"),
        ("-(a*b)", [], "-a*b"),
        ("-(a + b)*c", [], "-(a + b)*c"),
        ("a**0.1", ["3/2"], "a**(3/2)"),
        ("a + 0.1", ["1/(4*pi)"], "a + 1/(4*pi)"),
        ("0.1*a**0.2", ["pi**2", "1/2"], "pi**2*a**(1/2)"),
        ("a/0.1", ["sqrt(2*pi)"], "a/sqrt(2*pi)"),
        ("a/0.1", ["pi**2"], "a/pi**2"),
        ("a*0.1", ["1e-07"], "a*1e-07"),
    ],
)
def test_customary_writing(formula, names, text):
    program = Program.parse(formula, full_library(["a", "b", "c"]))
    assert upright(program, names) == text


def test_a_library_without_quotients_keeps_its_order():
    program = Program.parse("0.1*x", Library(["mul", "const"], ["x"]))
    assert upright(program, ["1/(2*pi)"]) == "1/(2*pi)*x"


NAMES = ["1/2", "-1/2", "2*pi/3", "-pi", "3", "-1", "1", "1/(4*pi)", "-3/(8*pi)", "sqrt(2)/2"]
NAMES += ["1/sqrt(2*pi)", "pi**2", "-1/pi**2", "0.75", "-2/(3*sqrt(pi))", "1e-07"]


@examples(300)
@given(st.data())
def test_the_text_has_the_values_of_the_names(data):
    operators = ["add", "sub", "mul", "div", "reciprocal", "neg", "pow", "sin", "square"]
    library = Library([*operators, "const"], ["x", "y"])
    program = data.draw(programs(library, max_length=13))
    names = [data.draw(st.sampled_from(NAMES)) for _ in program.constants]
    values = [float(Program.parse(name).evaluate(np.zeros((1, 0)))[0]) for name in names]
    X = np.array([[0.7, 1.9], [1.3, 0.4], [2.1, 1.1]])
    expected = Program(library, program.tokens, tuple(values)).evaluate(X)
    assume(np.isfinite(expected).all() and (np.abs(expected) < 1e6).all())
    moved = Program(library, program.tokens, tuple(v * (1 + 1e-13) for v in values)).evaluate(X)
    assume((np.abs(moved - expected) <= 1e-9 * np.abs(expected) + 1e-12).all())
    read_back = Program.parse(upright(program, names), full_library(["x", "y"])).evaluate(X)
    assert read_back == pytest.approx(expected, rel=1e-8, abs=1e-10)
