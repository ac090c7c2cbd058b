"""Poles, undefined places and blow-ups in the box of the rows and around it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from symseek import SymbolicRegressor
from symseek.data import Data
from symseek.model import Break, Formula, Model, full_library
from symseek.programs import Program
from symseek.report.html import html
from symseek.rewards import reward_named
from symseek.selection.breaks import find_breaks
from symseek.selection.measure import Measure
from symseek.selection.pick import pick

ONE, TWO = full_library(["x"]), full_library(["a", "b"])
X = np.array([[1.0], [2.0], [3.0], [5.0], [7.0], [10.0]])
# No row is near the corner where a is small and b is large.
PAIRS = np.sort(np.random.default_rng(0).uniform(1, 9, (60, 2)), axis=1)[:, ::-1].copy()


def of_one(text: str) -> tuple[Break, ...]:
    return find_breaks(Program.parse(text, ONE), X)


@pytest.mark.parametrize(
    ("text", "kind", "at"),
    [
        ("1.0/(x - 2.27)", "a pole", 2.27),
        ("x + 1e-6/(x - 2.27)", "a pole", 2.27),
        ("0.23/(x - 4.1)**2", "a pole", 4.1),
        ("1.0/(x*x - 8.2*x + 16.81)", "a blow-up", 4.1),  # a double zero, which has no sign
        ("tan(0.3*x)", "a pole", np.pi / 0.6),
        ("2.0/log(x/4.0)", "a pole", 4.0),
        ("log(x - 2.0)", "no value", None),
        ("sqrt((x - 3.5)*(x - 4.5))", "no value", None),
    ],
)
def test_what_is_in_the_box_is_found(text: str, kind: str, at: float | None) -> None:
    (found,) = of_one(text)
    assert found.inside
    assert found.kind == kind
    if at is not None:
        assert dict(found.at)["x"] == pytest.approx(at, abs=0.01)


@pytest.mark.parametrize(
    "text",
    [
        "1.0/(x**2 + 1.0)",
        "1.0/(x*x - 8.2*x + 16.9)",  # near a double zero, and above it
        "sin(x - 4.0)/(x - 4.0)",
        "log(x) + 1.0/x + x**(-1.5)",
        "exp(0.3*x) - 3.0*x**2",
        "1.0/(x - 30.0)",
        "sqrt(12.1 - x)",
    ],
)
def test_what_has_a_value_everywhere_has_no_mark(text: str) -> None:
    assert of_one(text) == ()


@pytest.mark.parametrize(
    ("text", "low", "high"), [("1.0/(x - 11.0)", 10.9, 11.1), ("sqrt(10.5 - x)", 10.5, 12.0)]
)
def test_a_fifth_of_the_range_beyond_the_rows_counts_too(
    text: str, low: float, high: float
) -> None:
    (found,) = of_one(text)
    assert not found.inside
    assert low <= dict(found.at)["x"] <= high


def test_a_pole_in_a_corner_without_rows_is_marked() -> None:
    assert (PAIRS[:, 0] > PAIRS[:, 1]).all()
    (found,) = find_breaks(Program.parse("1.0/(a - b)", TWO), PAIRS)
    assert found.inside
    place = dict(found.at)
    assert place["a"] == pytest.approx(place["b"], abs=1e-3)


def test_a_blow_up_is_far_more_than_the_rows_show() -> None:
    (found,) = find_breaks(Program.parse("exp(3.0*(b - a))", TWO), PAIRS)
    assert found.kind == "a blow-up"
    assert find_breaks(Program.parse("exp(0.3*(b - a))", TWO), PAIRS) == ()


@examples(25)
@given(st.tuples(*[st.floats(-2, 2).map(lambda v: round(v, 2))] * 5))
def test_a_fine_grid_shows_no_pole_that_is_not_marked(numbers: tuple[float, ...]) -> None:
    c, d, e, f, g = numbers
    text = f"{c!r} + a/({d!r} + {e!r}*a + {f!r}*b + {g!r}*a*b)".replace("+ -", "- ")
    program = Program.parse(text, TWO)
    rows = np.random.default_rng(0).uniform(0.2, 3.0, (40, 2))
    low, high = rows.min(axis=0), rows.max(axis=0)
    a, b = np.meshgrid(*np.linspace(low, high, 150).T)
    below = d + e * a + f * b + g * a * b
    clear = 1e-6 * np.abs(below).max()
    if (below > clear).any() and (below < -clear).any():
        assert any(each.inside for each in find_breaks(program, rows))
    elif (below > 0.1).all() or (below < -0.1).all():
        assert not any(each.kind == "a pole" and each.inside for each in find_breaks(program, rows))


# --- the table and the pick


def formulas(*texts: str) -> tuple[list[Formula], Measure]:
    """A front of formulas of 1/(a + b), in this order, and the measure of noisy rows."""
    draw = np.random.default_rng(1)
    y = 1 / (PAIRS[:, 0] + PAIRS[:, 1]) + 0.02 * draw.normal(size=60)
    data, reward = Data(PAIRS, y, np.ones(60)), reward_named("inverse_nrmse")
    measure = Measure(data, reward, TWO)
    found = []
    for text in texts:
        program = Program.parse(text, TWO)
        graded = Formula.graded(program, data, reward)
        found.append(replace(graded, text=text, breaks=find_breaks(program, PAIRS)))
    return found, measure


def test_a_row_without_a_pole_that_errs_as_little_is_preferred() -> None:
    pole, longer = "1.0/(a + b) + 0.00001/(a - b)", "1.0/(a + b) + 0.00001*a*b/(a + b)"
    front, measure = formulas("0.1", pole, longer)
    assert [each.broken for each in front] == [False, True, False]
    choice = pick(front, "auto", measure)
    assert choice.row == 2
    assert choice.because.startswith("row 1 has a pole in the box of the rows, near a = ")
    assert choice.because.endswith("and row 2 errs at most 1 % more")


def test_a_pole_that_no_row_does_without_is_picked_and_said() -> None:
    front, measure = formulas("0.1", "1.0/(a + b) + 0.00001/(a - b)")
    choice = pick(front, "auto", measure)
    model = Model("y", ("a", "b"), tuple(front), choice.row)
    assert choice.row == 1
    assert "Row 1 has a pole in the box of the rows, near a = " in str(model)
    assert pick(front, "accuracy", measure).row == 1


def test_marked_rows_are_marked_in_the_table_and_in_json() -> None:
    front, _ = formulas("0.1", "1.0/(a - b)", "1.0/(a + b)")
    model = Model("y", ("a", "b"), tuple(front), 2)
    lines = str(model).split("\n")
    assert lines[2].startswith("!   1")
    assert lines[4].startswith("! a pole or no value in the box of the rows: row 1 (a = ")
    assert Model.from_dict(model.to_dict()) == model
    picked = replace(model, picked=1)
    assert "Row 1 has a pole in the box of the rows, near a = " in str(picked)


def test_a_fit_looks_for_poles() -> None:
    draw = np.random.default_rng(2)
    x = np.sort(draw.uniform(0.2, 3.0, 60))
    y = 2.5 * x**2 + 0.3 * draw.normal(size=60)
    settings: dict[str, Any] = {"max_expressions": 20_000, "max_seconds": None}
    fit = SymbolicRegressor(random_state=0, **settings).fit(x[:, None], y)
    fine = np.linspace(x[0], x[-1], 200_001)[:, None]
    usual = np.abs(y).max()
    assert not fit.models_[0].best.broken
    for each in fit.models_[0].formulas:
        values = np.abs(each.program.evaluate(fine))
        if not np.isfinite(values).all() or values.max() > 1000 * usual:
            assert each.broken


def test_the_report_marks_them_too() -> None:
    front, _ = formulas("0.1", "1.0/(a - b)", "1.0/(a + b)")
    model = Model("y", ("a", "b"), tuple(front), 2)
    page = html(model, PAIRS, PAIRS[:, 0], [], {}, {})
    assert page.count(">!</td>") == 1
    assert 'title="beware of a pole in the box of the rows, near a = ' in page
    assert "! a pole or no value in the box of the rows: row 1" in page
