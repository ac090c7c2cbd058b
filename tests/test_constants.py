"""Fitting constants: derivatives against JAX, fits against NumPy and SciPy, and the promises made.

A fit never ends worse than it began, its result depends on the program alone, and every program
gets a status that says how its fit ended.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from oracle.constants import Slopes, slopes
from strategies import COMPOSED, programs
from symseek import Library, Program, Programs, Token
from symseek.engines.native import Evaluator, operations
from symseek.tokens import OPERATORS

Array = np.ndarray

# Operators that read an argument more than once: what comes back from each use must be added up.
TWICE = (
    Token("bump", 1, formula="a*exp(-a**2)"),
    Token("blend", 2, formula="a*b - a/(b**2 + 1) + sin(a)"),
)
LIBRARY = Library([*OPERATORS, *COMPOSED, *TWICE, "2.5", "const"], variables=["x", "y"])
GENTLE = Library(
    ["add", "sub", "mul", "sin", "cos", "tanh", COMPOSED[0], *TWICE, "const"], variables=["x", "y"]
)
ROWS = [1, 7, 8, 20, 127, 128, 129, 300, 2049, 3000]
TABLE = np.random.default_rng(0).uniform([0.2, -2.0], [3.0, 2.0], (max(ROWS), 2))
TABLE[5::11, 1] = 0.0
TARGET = TABLE[:, 0] * TABLE[:, 1] - np.cos(TABLE[:, 1])
WEIGHTS = np.random.default_rng(1).uniform(0, 2, max(ROWS))
WEIGHTS[3::7] = 0.0


@st.composite
def with_constants(draw: st.DrawFn, library: Library, *, max_length: int) -> Program:
    """A random program with at least one constant, of moderate values."""
    assert library.constant_id is not None
    tokens = list(draw(programs(library, max_length=max_length)).tokens)
    leaves = [at for at, token in enumerate(tokens) if library.arities[token] == 0]
    tokens[draw(st.sampled_from(leaves))] = library.constant_id
    values = st.sampled_from([0.0, 1.0, 2.0, -1.0]) | st.floats(-3, 3)
    count = tokens.count(library.constant_id)
    return Program(library, tuple(tokens), tuple(draw(values) for _ in range(count)))


# Derivatives


def check_derivatives(program: Program, rows: int) -> None:
    """Compare the sums that a fit goes by, on the first rows of the table, with JAX's."""
    # On the whole table every time: JAX compiles anew for each number of rows.
    each = Slopes(*(part[:, :rows] for part in slopes(program, TABLE, blurred=4)))
    valid = each.finite.all(axis=1)
    assume((valid == valid[0]).all())  # elsewhere the last bits decide
    evaluator = Evaluator(program.library, TABLE[:rows], TARGET[:rows], WEIGHTS[:rows])
    found = evaluator.derivatives(Programs.from_list([program]))
    if not valid[0]:
        assert not found.ok[0]
        return
    assume(each.tame.all() and (each.smooth == each.smooth[0]).all())
    assert found.ok[0]
    f, J, w = each.values[0], each.jacobian[0], WEIGHTS[:rows]
    # What rounding may do, with room to spare; a last share is for the sums.
    off_f = 1e-14 * np.abs(f) + 16 * np.abs(each.values - f).max(axis=0)
    off_J = 1e-14 * np.abs(J) + 16 * np.abs(each.jacobian - J).max(axis=0)
    assume((off_f <= 1e-6 * np.abs(f).max()).all() and (off_J <= 1e-6 * np.abs(J).max()).all())
    r, size_J = TARGET[:rows] - f, np.abs(J)
    size = np.abs(r) + off_f
    assert abs(found.squared[0] - w @ r**2) <= w @ (2 * size * off_f) + 1e-13 * (w @ r**2)
    bound = (w * size) @ off_J + (w * off_f) @ size_J + 1e-13 * ((w * size) @ size_J)
    assert (np.abs(found.gradient[0] - (w * r) @ J) <= bound).all()
    bound = (off_J.T * w) @ size_J + (size_J.T * w) @ (off_J + 1e-13 * size_J)
    assert (np.abs(found.normal[0] - (J.T * w) @ J) <= bound).all()


@settings(max_examples=100, deadline=None)
@given(with_constants(LIBRARY, max_length=12), st.sampled_from(ROWS))
def test_derivatives_are_those_of_automatic_differentiation(program: Program, rows: int) -> None:
    check_derivatives(program, rows)


@settings(max_examples=20, deadline=None)
@given(with_constants(GENTLE, max_length=60), st.sampled_from(ROWS[-4:]))
def test_derivatives_of_long_programs(program: Program, rows: int) -> None:
    """Beyond some size the tape is not kept whole, but computed again block by block."""
    check_derivatives(program, rows)
