"""Derivatives by the constants against JAX.

They stand apart from the other tests of fitting because JAX has threads of its own, which the
thread sanitizer would watch too.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine_helpers import evaluator
from examples import examples
from oracle.constants import expect
from symseek import Library, Program, Programs
from symseek.engines.native import operations
from symseek.tokens import OPERATORS
from test_constants import (
    GENTLE,
    LIBRARY,
    ROWS,
    TABLE,
    TARGET,
    WEIGHTS,
    on_table,
    with_constants,
)


def check_derivatives(program: Program, rows: int) -> bool:
    """Compare the sums that a fit goes by, if rounding errors leave anything to compare."""
    whole = max(ROWS)
    expected = expect(program, TABLE[:whole], TARGET[:whole], WEIGHTS[:whole], rows)
    found = on_table(rows, program.library).derivatives(Programs.from_list([program]))
    if expected.valid is False:
        assert not found.ok[0]
    if expected.sums is None or expected.off is None:
        return False
    assert found.ok[0]
    for name, sums, off in zip(expected.sums._fields, expected.sums, expected.off, strict=True):
        assert (np.abs(getattr(found, name)[0] - sums) <= off).all(), name
    return True


@pytest.mark.slow
@examples(40)
@given(with_constants(LIBRARY, max_length=12), st.sampled_from(ROWS))
def test_derivatives_are_those_of_automatic_differentiation(program: Program, rows: int) -> None:
    assume(check_derivatives(program, rows))


@examples(20)
@given(with_constants(GENTLE, max_length=40), st.sampled_from(ROWS[-4:]))
def test_derivatives_of_long_programs(program: Program, rows: int) -> None:
    """Beyond some size the tape is not kept whole, but computed again block by block."""
    assume(check_derivatives(program, rows))


@pytest.mark.parametrize(
    ("name", "place"), [(name, at) for name, arity in operations().items() for at in range(arity)]
)
def test_every_operation_has_its_slope(name: str, place: int) -> None:
    for value in ("0.7", "-0.7") if name not in ("asin", "acos") else ("0.3", "-0.3"):
        arguments = ["x"] * operations()[name]
        arguments[place] = f"mul {value} x"
        program = Program.from_preorder(" ".join([name, *arguments]), LIBRARY)
        compared = check_derivatives(program, 20)
        assert compared or (value == "-0.7" and name in ("log", "sqrt", "pow"))


PROTECTED = [  # where a number stands for the value, and where not
    *(f"protected_div mul 0.7 x mul {scale} x" for scale in (0.7, 1e-4)),
    *(f"protected_exp mul {scale} x" for scale in (-0.7, 1e4)),
    *(f"protected_neg_exp mul {scale} x" for scale in (0.7, -1e4)),
    *(
        f"protected_{name} mul {scale} x"
        for name in ("log", "reciprocal")
        for scale in (-0.7, 1e-4)
    ),
    *(f"protected_{name} mul {scale} x" for name in ("square", "cube") for scale in (-0.7, 1e8)),
    "protected_sqrt mul -0.7 x",
]


@pytest.mark.parametrize("text", PROTECTED)
def test_slopes_of_protected_operators(text: str) -> None:
    assert check_derivatives(Program.from_preorder(text, LIBRARY), 20)


def test_slopes_at_kinks_and_steps() -> None:
    """Where there are two slopes the engine takes one of them; a step has the slope 0."""
    library = Library([*OPERATORS, "const"], variables=["x"])
    X, y = np.array([[1.0], [-2.0]]), np.zeros(2)
    gradients = {  # at c = 1, the sum of -f df/dc over x = 1 and x = -2
        "sign mul 1.0 x": 0.0,
        "floor mul 1.0 x": 0.0,
        "min mul 1.0 x x": 0.0,  # of two equal operands the second is chosen
        "max mul 1.0 x x": 0.0,
        "abs mul 1.0 x": -(1.0 * 1.0 + 2.0 * 2.0),
    }
    for text, gradient in gradients.items():
        batch = Programs.from_list([Program.from_preorder(text, library)])
        found = evaluator(library, X, y).derivatives(batch)
        assert found.ok[0]
        assert found.gradient[0].tolist() == [gradient], text
