"""Tidied formulas say what the program says, and read better."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from strategies import any_program, programs
from symseek import Library, Program
from symseek.algebra.typeset import latex_line, readable, tidied
from symseek.model import Formula, full_library
from symseek.tokens import TokenKind

FULL = full_library(["x", "y"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + (-2)", "x - 2.0"),
        ("x - (-2)", "x + 2.0"),
        ("x*(-2)", "-2.0*x"),
        ("-x + y", "y - x"),
        ("-x - y", "-x - y"),
        ("x - (y - 2)", "x - y + 2.0"),
        ("x - (-y)*3", "x + 3.0*y"),
        ("-(x + y)", "-(x + y)"),
        ("-(x + y)*y", "-(x + y)*y"),
        ("exp(x*(-0.5))", "exp(-0.5*x)"),
        ("x*(y*2)", "2.0*x*y"),
        ("x/y/(x + 1)", "x/(y*(x + 1.0))"),
        ("x/(y/x)", "x*x/y"),
        ("x/y*2", "2.0*x/y"),
        ("(-x)/y", "-(x/y)"),
        ("1/x*y", "y/x"),
        ("1*x", "x"),
        ("1/x/y", "1/(x*y)"),
        ("x**2*(-1)", "-x**2"),
        ("1.23456789", "1.235"),
        ("sin(x - (-1.00001))", "sin(x + 1.0)"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert str(tidied(Program.parse(text, FULL), digits=4)) == expected


EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "reciprocal": lambda a: 1 / a,
    "sin": lambda a: 2 * a + 3,  # any function will do that is not odd
}
FRACTIONS = Library([*EXACT, -2, "const"], ["x", "y"])


def exact_value(program: Program) -> Fraction:
    """The value at one point, in fractions, so that the order of operations does not matter."""

    def combine(token: int, constant: float | None, arguments: list[Fraction]) -> Fraction:
        this = program.library.tokens[token]
        if constant is not None:
            return Fraction(constant)
        if this.kind is TokenKind.OPERATOR:
            return EXACT[this.name](*arguments)
        return Fraction(this.value) if this.value is not None else POINT[this.name]

    return program.fold(combine)


POINT = {"x": Fraction(7, 3), "y": Fraction(-5, 11)}


@given(programs(FRACTIONS, max_length=20))
def test_tidied_formulas_have_the_same_value(program: Program) -> None:
    values = (-2.5, 0.5, 3.0, -1.0, 1.0, 0.0, 1.0, 1.0)
    program = replace(program, constants=values[: len(program.constants)])
    try:
        expected = exact_value(program)
    except ZeroDivisionError:
        reject()
    assert exact_value(tidied(program)) == expected


@given(any_program(evaluable=False))
def test_any_program_can_be_tidied_twice_with_the_same_result(program: Program) -> None:
    once = tidied(program)
    assert len(once.constants) <= len(program.constants)
    assert str(tidied(once)) == str(once)


def test_a_library_without_signs_keeps_its_form() -> None:
    library = Library(["add", "mul", "const"], ["x"])
    program = Program.parse("x + x*(-1.23456789)", library)
    assert str(tidied(program, digits=3)) == "x + x*(-1.23)"


def test_pi_stays_pi_and_numbers_that_are_none_stay() -> None:
    program = Program.parse("pi*x", FULL)
    assert tidied(program, digits=2).constants == (math.pi,)
    assert latex_line(tidied(program)) == r"\pi\,x"
    odd = Program(FULL, (FULL.index("const"),), (math.inf,))
    assert tidied(odd).constants == (math.inf,)


def test_readable_follows_the_text_and_else_the_program() -> None:
    program = Program.parse("0.3333333*x", FULL)
    assert str(readable(Formula(program, "1/3*x", 1.0, 0.0, 1.0))) == "x/3.0"
    assert str(readable(Formula(program, "not ( a formula", 1.0, 0.0, 1.0), 3)) == "0.333*x"


def test_latex_lines_spare_dots_only_where_nothing_becomes_ambiguous() -> None:
    def line(text: str) -> str:
        return latex_line(Program.parse(text))

    assert line("2*x") == r"2\,x"
    assert line("2*sin(x)") == r"2\,\sin\left(x\right)"
    assert line("2*(x/y)") == r"2 \cdot \dfrac{x}{y}"
    assert line("2*3*x") == r"2 \cdot 3\,x"
    assert line("x1*y") == r"x_{1} \cdot y"
    assert line("x/(1 + x/y)") == r"\dfrac{x}{1 + \frac{x}{y}}"


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(1, 8))
def test_constants_are_cut_to_so_many_digits(value: float, digits: int) -> None:
    constant = tidied(Program(FULL, (FULL.index("const"),), (value,)), digits).constants[0]
    assert constant == pytest.approx(value, rel=10.0 ** (1 - digits))
    assert float(f"{constant:.{digits}g}") == constant
