"""On rows of equal steps a sine or cosine is given at its lowest frequency."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from symseek.algebra.periodic import grid
from symseek.algebra.precision import agree, measured
from symseek.algebra.simplify import simplified
from symseek.model import full_library
from symseek.programs import Program

LIBRARY = full_library(["x"])
WHOLE = np.arange(-10.0, 40.0)[:, None]
TURN = 2 * math.pi


def shortened(text: str, rows: np.ndarray) -> Program:
    program = Program.parse(text, full_library(["x", "y"][: rows.shape[1]]))
    found = simplified(program, program.library, rows)
    assert found.complexity <= program.complexity
    assert agree(measured(program, rows), found.evaluate(rows))
    return found


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("cos(5.76*x)", f"cos({TURN - 5.76}*x)"),
        ("2.0*sin(5.76*x)", f"-2.0*sin({TURN - 5.76}*x)"),
        ("sin(5.76*x)", f"sin({5.76 - TURN}*x)"),
        ("2.0*sin(7.0*x)", f"2.0*sin({7.0 - TURN}*x)"),
        ("cos(100.0*x + 0.5)", f"cos({16 * TURN - 100}*x - 0.5)"),
        ("2.0*sin(100.0*x + 0.5)", f"2.0*sin(0.5 - {16 * TURN - 100}*x)"),
        ("x + 3.0*cos(-5.76*x)", f"x + 3.0*cos({TURN - 5.76}*x)"),
        ("cos(6.0*x**2)", f"cos({TURN - 6.0}*x**2)"),
        ("cos(0.52*x)", "cos(0.52*x)"),
        ("cos(3.1*x)", "cos(3.1*x)"),
    ],
)
def test_whole_numbers(text: str, short: str) -> None:
    found, meant = shortened(text, WHOLE), Program.parse(short, LIBRARY)
    assert found.constants == pytest.approx(meant.constants, rel=1e-12)
    assert found.tokens == meant.tokens


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("-1.98*cos(0.523*x + 9.731297866324029)", "1.98*cos(0.523*x + 0.3065199055)"),
        ("1.98*cos(0.523*x + 9.731297866324029)", "1.98*cos(0.523*x - 2.8350727481)"),
        ("x - 1.98*sin(0.523*x - 2.001234567)", "x + 1.98*sin(0.523*x + 1.1403580866)"),
        ("-1.98*sin(0.523*x + 1.0)", "-1.98*sin(0.523*x + 1.0)"),
        ("-1.98*sin(0.523*x)", "-1.98*sin(0.523*x)"),
    ],
)
def test_phases_are_small_and_signs_plain(text: str, short: str) -> None:
    rows = np.sort(np.random.default_rng(0).uniform(0, 30, 60))[:, None]
    found, meant = shortened(text, rows), Program.parse(short, LIBRARY)
    assert found.constants == pytest.approx(meant.constants, rel=1e-9)
    assert found.tokens == meant.tokens


def test_a_monthly_series_in_years() -> None:
    years = 1958.25 + np.arange(300)[:, None] / 12
    found = shortened(f"3.0*cos({13 * TURN}*x + 0.4)", years)
    assert sorted(found.constants) == pytest.approx([0.4, 3.0, TURN], rel=1e-6)


def test_steps_of_another_width() -> None:
    rows = 0.25 * np.arange(50.0)[:, None]
    (frequency,) = shortened("cos(24.0*x)", rows).constants
    assert frequency == pytest.approx(4 * TURN - 24.0)


def test_one_of_several_columns() -> None:
    rows = np.column_stack([np.arange(40.0), np.random.default_rng(0).uniform(0, 9, 40)])
    found = shortened("2.0*cos(6.0*x + 6.0*y)", rows)
    assert sorted(found.constants) == pytest.approx(sorted([2.0, TURN - 6.0, 6.0]))


@pytest.mark.parametrize(
    "rows",
    [
        np.sort(np.random.default_rng(0).uniform(0, 30, 60)),  # no grid
        0.3 + np.arange(40.0),  # a phase would have to be added
        np.array([0.0, 1.0, 0.0, 1.0]),  # any two numbers lie on a grid
    ],
)
def test_elsewhere_the_frequency_stays(rows: np.ndarray) -> None:
    assert str(shortened("cos(5.76*x)", rows[:, None])) == "cos(5.76*x)"


@given(
    st.sampled_from(["sin", "cos"]),
    st.floats(-300, 300),
    st.floats(-20, 20),
    st.floats(0.01, 10),
    st.integers(-1000, 1000),
)
@example("sin", 149.0, 1.0, 4.154957312723244, -5)  # the grid begins at a whole number of steps
def test_the_lowest_and_the_same(
    name: str, frequency: float, phase: float, step: float, start: int
) -> None:
    rows = (step * (start + np.arange(30.0)))[:, None]
    found = shortened(f"2.5*{name}({frequency!r}*x + {phase!r})", rows)
    sizes = np.abs(found.constants)
    assert len(sizes) < 3 or np.sum(sizes <= math.pi / step * (1 + 1e-9)) >= 1


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([0, 1, 2, 3], (0.0, 1.0)),
        ([7, 1, 13, 4], (1.0, 3.0)),
        ([0.1, 0.4, 0.3, 0.7], (0.1, 0.1)),
        ([2, 3, 5, 8, 8], (2.0, 1.0)),
        ([1, 2], None),
        ([0, 1, math.sqrt(2), 2], None),
        ([0, 1, 2, math.nan], None),
    ],
)
def test_grids(values: list[float], found: tuple[float, float] | None) -> None:
    got = grid(np.array(values, dtype=float))
    assert got == (None if found is None else pytest.approx(found))


def test_no_coarser_grid_is_taken_for_the_rows() -> None:
    rows = np.arange(6001.0)[:, None]
    assert str(shortened("cos(2.2*x)", rows)) == "cos(2.2*x)"
