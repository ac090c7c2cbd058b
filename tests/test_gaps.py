"""Poles and undefined places between rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from oracle.residual_tests import has_gap
from symseek.model import full_library
from symseek.programs import Program
from symseek.selection.gaps import Lines, find_gap

ONE, TWO = full_library(["x"]), full_library(["a", "b"])
X = np.array([[1.0], [2.0], [3.0], [5.0], [7.0], [10.0]])


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1.0/(x - 2.27)", 2.27),
        ("x + 1e-6/(x - 2.27)", 2.27),  # far narrower than any sample would see
        ("0.23/(x - 4.1)**2", 4.1),  # the same sign on either side
        ("3.0/(x*(x - 2.5))", 2.5),
        ("tan(0.3*x)", np.pi / 0.6),
        ("2.0/log(x/4.0)", 4.0),
        ("(x - 2.5)**(-1.0)", 2.5),
        ("x + 0.1*log((x - 2.5)**2)", 2.5),
        ("exp(-log((x - 2.5)**2))", 2.5),
        ("1.0/cos(3.0/(x + 0.01))", 6.0 / np.pi - 0.01),
    ],
)
def test_a_pole_between_rows_is_found(text: str, at: float) -> None:
    gap = find_gap(Program.parse(text, ONE), X)
    assert gap is not None
    assert gap.away is not None
    assert gap.at[0] == pytest.approx(at, abs=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "1.0/(x - 0.9)",
        "1.0/(x**2 + 1.0)",
        "sin(x - 4.0)/(x - 4.0)",  # in the middle of two rows
        "sin(x - 4.2)/(x - 4.2)",
        "tan(0.1*x)",
        "log(x)",
        "sin(2.0)**x",
        "(x - 2.5)*log((x - 2.5)**2)",
    ],
)
def test_what_is_finite_between_the_rows_has_none(text: str) -> None:
    assert find_gap(Program.parse(text, ONE), X) is None


def test_one_row_has_no_neighbours() -> None:
    assert find_gap(Program.parse("1.0/(x - 2.5)", ONE), X[:1]) is None


def test_an_undefined_stretch_between_rows_is_found() -> None:
    gap = find_gap(Program.parse("sqrt((x - 3.5)*(x - 4.5))", ONE), X)
    assert gap is not None
    assert gap.away is None
    assert 3.5 < gap.at[0] < 4.5


def test_a_pole_that_no_row_is_beyond_is_none() -> None:
    """Of 1/(a - b) where a > b in every row: both columns have the same range."""
    rng = np.random.default_rng(0)
    pairs = np.sort(rng.uniform(0, 1, (60, 2)), axis=1)[:, ::-1].copy()
    assert find_gap(Program.parse("1.0/(a - b)", TWO), pairs) is None
    mixed = rng.uniform(0, 1, (60, 2))
    assert find_gap(Program.parse("1.0/(a - b)", TWO), mixed) is not None


@examples(30)
@given(
    st.floats(0.2, 11.0),
    st.sampled_from(["{c}/(x - {c})", "x + 0.5/(x - {c})**2", "x**2/(x**2 - {c}**2) + 3.0"]),
)
def test_poles_are_found_as_by_looking_very_closely(place: float, form: str) -> None:
    if np.abs(X - place).min() < 1e-3:
        return  # on a row there is no telling
    program = Program.parse(form.format(c=place), ONE)
    # A pole at one of the points of the grid would be missed by neither.
    assert (find_gap(program, X) is not None) == has_gap(program, X[:, 0])


def test_only_lines_along_named_columns_are_looked_along(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = full_library([f"x{at}" for at in range(300)])
    draw = np.random.default_rng(0)
    rows, sorted_along = draw.uniform(0, 1, (40, 300)), []
    real = np.lexsort

    def lexsort(keys: np.ndarray) -> np.ndarray:
        sorted_along.append(len(keys))
        return real(keys)

    monkeypatch.setattr(np, "lexsort", lexsort)
    lines = Lines(rows)
    texts = ("1.0/(x7 - x9)", "x9 + 1.0/(x7 - 0.5)", "sqrt(x7*x9 - 0.3)", "exp(x1)*sin(x2) - 3.0")
    found = [find_gap(Program.parse(text, wide), lines) for text in texts]
    assert [each is not None for each in found] == [True, True, True, False]
    assert all(each.at.shape == (300,) for each in found if each is not None)
    assert sorted_along == [2]  # once for the first three, and not for what is always defined
