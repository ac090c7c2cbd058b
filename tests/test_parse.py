"""Text of any size is read in time that grows as its length, without recursion, or refused."""

from __future__ import annotations

import sys
from contextlib import suppress

import numpy as np
import pytest

from examples import mostly_slow
from symseek import InputError, Library, Program
from symseek.algebra.simplify import reductions, simplified
from symseek.errors import QUOTED, shown
from symseek.export import TARGETS, export
from symseek.model import full_library
from symseek.notation.parse import MOST_CHARACTERS
from symseek.recovery import equivalent

FEW = Library(["add", "mul", "sin", "const"], variables=["x"])
MILLION = MOST_CHARACTERS


def nested(before: str, after: str, count: int) -> str:
    return before * count + "x" + after * count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (nested("sin(", ")", 199_999), 200_000),
        (nested("x+(", ")", 25_000), 50_001),
        (nested("(", ")", 50_000), 1),
        ("x+" * 50_000 + "x", 100_001),
        ("x**" * 30_000 + "x", 60_001),
        ("-" * 100_000 + "x", 100_001),
        ("0." + "1" * 999_998, 1),
        ("x" + "1" * 999_999, 1),
    ],
    ids=["calls", "right", "brackets", "left", "powers", "signs", "digits", "name"],
)
def test_up_to_a_million_characters_are_read(text: str, tokens: int) -> None:
    assert len(Program.parse(text)) == tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x" * (MILLION + 1), "has 1,000,001 characters; at most 1,000,000 are read"),
        ("(" * 100_000, "expected a value but found the end"),
        ("x" * MILLION, "unknown variable 'xxx"),
        ("y" * 999_990 + "(x)", "unknown operator 'yyy"),
        ("1" * MILLION, "the number 111"),
        ("1e" + "9" * 999_998, "is too large"),
        ("`" + "a" * 999_999, "the backquote is never closed"),
        (" " * 999_999 + "$", "has no meaning here"),
        ("const(" + "1 " * 40_000, "const takes one number"),
        ("sin(" + "x," * 40_000 + "x)", "'sin' takes 1 argument, not 40001"),
        ("x " * 40_000, "expected an operator before 'x'"),
        ("x " + "y" * 900_000, "expected an operator before 'yyy"),
        ("((((((((((x**60)**60)**60)**60)**60)**60)**60)**60)**60)**60)", "2,000,000 tokens"),
    ],
    ids=lambda value: value[:20],
)
def test_a_refusal_of_a_long_text_is_quick_and_short(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        Program.parse(text, FEW)
    message = str(caught.value)
    assert words in message
    for letter in "xy1$9a(":  # of the text at most 80 characters are repeated
        assert message.count(letter) <= 80 + 12


def test_pre_order_of_any_size_is_read_or_refused() -> None:
    assert len(Program.from_preorder("sin " * 100_000 + "x", FEW)) == 100_001
    for text, words in (
        ("add " * 2_000_001, "more than 2,000,000 tokens"),
        ("1" * MILLION + "x", "unknown token '111"),
        ("1e999", "the number 1e999 is too large"),
        ("-" + "9" * 500, "is too large"),
    ):
        with pytest.raises(InputError) as caught:
            Program.from_preorder(text, FEW)
        assert words in str(caught.value)
        assert len(str(caught.value)) < 200


def test_names_are_ordered_by_their_numbers_of_any_length() -> None:
    long = "x" + "9" * 5000
    text = f"x10 + x9 + {long} + x09 + x + y1"
    assert Program.parse(text).library.variables == ("x", "x09", "x9", "x10", long, "y1")


def test_what_is_shown_of_a_value_is_short() -> None:
    for value in ("x" * 10**6, b"x" * 10**6, 10**5000, ["a"] * 10**4, {"a": "b" * 100}):
        assert len(shown(value)) <= QUOTED


def test_a_library_has_no_more_tokens_than_an_array_can_hold() -> None:
    with pytest.raises(InputError, match="the library has 40,001 tokens; it may have 32,767"):
        Library(["sin"], variables=[f"x{i}" for i in range(40_000)])


# Numbers without end, and depth.

TOWERS = ["9**9**9**9", "9**-9**9", "x**9**9**9", "exp(exp(exp(9.5)))", "sinh(1e9) + x"]
TOWERS += ["square(" * 30 + "9" + ")" * 30]


@pytest.mark.parametrize("text", TOWERS, ids=lambda text: text[:12])
def test_numbers_without_end_do_not_hang_sympy(text: str) -> None:
    program = Program.parse(text)
    with pytest.raises(InputError, match="a number that is too large for SymPy"):
        program.sympy()
    with pytest.raises(InputError, match="a number that is too large for SymPy"):
        export(program, "sympy")
    assert equivalent(text, "x + 1").answer in ("no", "undecided")
    assert export(program, "latex")


@pytest.mark.parametrize("text", ["1.0001**5000*x", "2**-1000*x", "2**1000*x", "(x + 1)**1000000"])
def test_numbers_that_sympy_can_write_are_written(text: str) -> None:
    assert Program.parse(text).sympy()


def test_sympy_is_never_given_text_to_run() -> None:
    for text in ("__import__('os').getcwd()", "9**9**9**9"):
        with pytest.raises(InputError, match="SymPy cannot make an expression of"):
            Program.from_sympy(text)
    with pytest.raises(InputError, match="is not a formula"):
        equivalent(["x"], "x")


DEEP = 1_200  # more than the depth at which Python ends a recursion


DEEP_FORMULAS = {
    "calls": nested("sin(", ")", DEEP),
    "fractions": nested("1/(1 + ", ")", DEEP),
    "powers": "x**" * DEEP + "x",
}


@pytest.mark.parametrize("kind", mostly_slow(DEEP_FORMULAS, "powers"))
def test_deep_formulas_are_written_or_refused(kind: str) -> None:
    text = DEEP_FORMULAS[kind]
    assert sys.getrecursionlimit() < DEEP
    library = full_library(["x"])
    program = Program.parse(text, library)
    X = np.linspace(0.5, 1.0, 5)[:, None]
    assert len(program.tree().splitlines()) == len(program)
    assert program.latex()
    assert Program.parse(program.infix(), library) == program
    assert Program.from_preorder(program.preorder(), library) == program
    assert len(simplified(program, library, X)) > 0
    assert len(reductions(program, library)) >= 0
    for target in TARGETS:
        if target in ("sympy", "excel"):  # SymPy works by recursion, and a cell has an end
            with suppress(InputError):
                assert export(program, target)
        else:
            assert export(program, target)
