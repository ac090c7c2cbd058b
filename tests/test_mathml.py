"""MathML: well formed, escaped, and with brackets exactly where they are needed."""

from __future__ import annotations

import html
import math
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plot_helpers import NAMES
from strategies import COMPOSED, LABELS, any_program
from symseek import Library, Program
from symseek.notation.mathml import escaped, mathml
from symseek.tokens import OPERATORS

CHILDREN = {"mfrac": 2, "msup": 2, "msub": 2}
KNOWN = {"math", "mrow", "mi", "mn", "mo", "mtext", "msqrt", *CHILDREN}


def read(markup: str) -> ET.Element:
    """Parse strictly, and check what MathML asks of each element."""
    root = ET.fromstring(markup)
    for element in root.iter():
        assert element.tag in KNOWN
        assert len(element) == CHILDREN.get(element.tag, len(element))
        if element.tag in ("mi", "mn", "mo", "mtext"):
            assert len(element) == 0
            assert element.text
    return root


def flat(program: Program | str) -> str:
    """The formula in a line of text, fractions and powers written out."""
    if isinstance(program, str):
        program = Program.parse(program)
    text = mathml(program)
    text = re.sub("<mfrac><mrow>(.*?)</mrow><mrow>(.*?)</mrow></mfrac>", r"{\1}/{\2}", text)
    text = re.sub("<mfrac><mn>1</mn><mrow>(.*?)</mrow></mfrac>", r"{1}/{\1}", text)
    text = re.sub("<msup>(.*?)</msup>", r"\1", text)
    text = re.sub("<msqrt>(.*?)</msqrt>", r"√{\1}", text)
    return html.unescape(re.sub("<[^>]*>", "", text)).replace("\u2061", "").replace("\u2062", "")


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_a_form(name: str) -> None:
    library = Library([name], ["x", "y"])
    program = Program(library, (0, 1, 2)[: OPERATORS[name].arity + 1])
    root = read(mathml(program))
    assert any(each.text == "x" for each in root.iter("mi"))
    if OPERATORS[name].arity == 2:
        assert any(each.text == "y" for each in root.iter("mi"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x - (y - z)", "x−(y−z)"),
        ("x - y - z", "x−y−z"),
        ("(x + y)*z", "(x+y)⋅z"),
        ("x*(y*z)", "x⋅y⋅z"),
        ("x*(-y)", "x⋅(−y)"),
        ("x + (-2)", "x+(−2)"),
        ("-2 + x", "−2+x"),
        ("(x + y)**2", "(x+y)2"),
        ("x**y", "xy"),
        ("(x/y)**2", "({x}/{y})2"),
        ("(x**2)**3", "(x2)3"),
        ("-(x + y)", "−(x+y)"),
        ("2*x", "2x"),
        ("2*(x + y)", "2(x+y)"),
        ("2*sin(x)", "2sin(x)"),
        ("2*3", "2⋅3"),
        ("2*(x/y)", "2⋅{x}/{y}"),
        ("x*2", "x⋅2"),
        ("pi*x", "πx"),
        ("sqrt(x + 1)", "√{x+1}"),
        ("abs(x - 1)", "|x−1|"),
        ("theta + alpha2", "θ+α2"),
        ("1.5e-7*x", "1.5⋅10−7⋅x"),
        ("8988000000.0*x", "8.988⋅109⋅x"),
    ],
)
def test_brackets_and_signs(text: str, expected: str) -> None:
    assert flat(text) == expected


def test_operators_given_by_a_formula_are_written_out() -> None:
    library = Library(list(COMPOSED), ["x", "y"])
    assert flat(Program.from_preorder("hypotenuse x y", library)) == "√{x2+y2}"


def test_labels_are_functions_and_names() -> None:
    library = Library(list(LABELS), ["x"])
    assert flat(Program.from_preorder("pair leaf x", library)) == "pair(leaf,x)"


def test_numbers_that_are_none() -> None:
    library = Library(["const"], ["x"])
    for value, expected in ((math.inf, "∞"), (-math.inf, "−∞"), (math.nan, "nan")):
        assert flat(Program(library, (library.index("const"),), (value,))) == expected


@given(any_program(evaluable=False))
def test_every_program_is_well_formed(program: Program) -> None:
    read(mathml(program))


@pytest.mark.parametrize("name", NAMES)
def test_names_are_escaped(name: str) -> None:
    root = read(mathml(Program(Library([], [name]), (0,)), target=name))
    texts = [each.text or "" for each in root.iter("mtext")]
    clean = "".join("�" if ord(c) < 32 and c not in "\t\n" else c for c in name)
    assert texts in ([clean, clean], [])


@given(st.text())
def test_escaped_text_has_no_markup_and_can_be_written(text: str) -> None:
    safe = escaped(text)
    assert not set("<>\"'") & set(safe)
    safe.encode()
    ET.fromstring(f"<p>{safe}</p>")


def test_a_target_makes_an_equation() -> None:
    markup = mathml(Program.parse("x"), target="flow rate")
    assert "<mtext>flow rate</mtext><mo>=</mo>" in markup
