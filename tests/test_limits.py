"""Limits of values: what keeps to them, and that every formula of a front does."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from examples import mostly_slow
from symseek import InputError, Library, Program, Programs, SymbolicRegressor
from symseek.command import main
from symseek.data import Scales
from symseek.engines.interface import engine_named
from symseek.groups import Grouping, Groups
from symseek.limits import (
    Bounded,
    Concave,
    Convex,
    Decreasing,
    Even,
    Increasing,
    Odd,
    ShapeCheck,
    Tends,
)
from symseek.limits.forms import parse
from symseek.limits.points import Region
from symseek.limits.proofs import Verdict, prove, rises
from symseek.limits.shapes import Shapes
from symseek.model import full_library
from symseek.regression.regression import Regression
from symseek.settings import Settings

FULL = full_library(["x", "z"])


def shapes(limit, rows=None, library=FULL):
    draw = np.random.default_rng(0)
    if rows is None:
        rows = draw.uniform(0.5, 6.0, (50, len(library.columns)))
    return Shapes((limit,), library.columns, rows, spread=1.0)


@pytest.mark.parametrize(
    ("limit", "proved", "checked", "broken"),
    [
        (Increasing("x"), "log(x) + z", "x**2 - 0.9*x + 2.0*x", "sin(x)"),
        (Increasing("x"), "z", "(x + z)/(x + z)", "z - 1e-6*x"),
        (Decreasing("x"), "z/x", "exp(-x)*(2.0 + sin(exp(-x)))", "1/(x - 3.0)"),
        (Convex("x"), "x**2 + abs(x - 2.0)", "max(x, x + 1.0)", "x*z - 0.001*x**2"),
        (Concave("x"), "sqrt(x)*z", "min(x, x + 1.0)", "sin(x)"),
        (Even("x"), "x*sin(x) + z", "(x + 1.0)**2 - 2.0*x", "x**2 + 0.001*x"),
        (Even("x"), "x**2", "sqrt(x*x)", "log(x)"),
        (Odd("x"), "x*z + sin(x)", "x + (x + 1.0) - 1.0", "x + 0.001*x**2"),
        (Bounded(0, 1), "logistic(x - z)", "(x + z)/(x + z)", "tanh(x) - 0.1*z"),
        (Bounded(low=0), "exp(x)*z", "x**2 - 2.0*x + 1.0 + 1e-9", "x - z"),
        (Tends("x", math.inf, 0), "z*exp(-x)", "exp(x)/(1 + exp(x)) - 1.0", "1/x + 0.01"),
        (Tends("x", 0, 1), "sin(x)/x", "(exp(x) - 1.0)/x", "cos(x)*1.01"),
        (Tends("x", -math.inf, 2), "2.0*x/(x - z)", "2.0 + x - x", "x"),
        (Tends("x", math.inf, 1), "tanh(x)", "x - (x - 1.0)", "sqrt(9.0 - x)"),
    ],
    ids=str,
)
def test_what_keeps_to_a_limit_and_what_breaks_it(limit, proved, checked, broken):
    of = shapes(limit)
    kept = [Program.parse(text, FULL) for text in (proved, checked)]
    assert all(of.allow(each) and of.hold(each) for each in kept)
    assert of.said(kept[0]) == (f"{limit}, proved",)
    (said,) = of.said(kept[1])
    assert said.startswith(f"{limit}, checked on ") or said == f"{limit}, proved"
    assert not of.hold(Program.parse(broken, FULL))


def test_a_limit_that_is_broken_between_points_is_found_by_the_proof():
    """A dip that is narrower than the points are apart."""
    dip = Program.parse("x - 0.001*gauss(30000.0*(x - 2.00001))", full_library(["x"]))
    of = shapes(Increasing("x"), np.linspace(0.5, 6, 20)[:, None], dip.library)
    assert of.allow(dip)
    assert not of.hold(dip)


def test_where_a_limit_holds():
    """In ranges that are given a formula needs a value; beyond rows it holds where there is one."""
    law = Program.parse("sqrt(3.0 - x)", full_library(["x"]))
    rows = np.linspace(0.5, 2.9, 9)[:, None]
    inside, outside = (Decreasing("x", ranges=(("x", 0, high),)) for high in (2.5, 3.5))
    assert shapes(Decreasing("x"), rows, law.library).allow(law)
    assert shapes(inside, rows, law.library).said(law) == ("x: decreasing in 0..2.5, proved",)
    assert not shapes(outside, rows, law.library).allow(law)


def test_a_column_of_one_sign_keeps_it():
    rows = np.array([[0.0, -4.0, 1.0], [10.0, -2.0, 1.5]])
    region = Region.of(Bounded(0), ["x", "z", "t"], rows, None)
    np.testing.assert_allclose(region.low, [0.0, -4.4, 0.9])
    np.testing.assert_allclose(region.high, [12.0, -1.6, 1.6])


LAWS = {
    "x: increasing": (["x"], lambda x: 2 * np.log(x) + 0.3 * np.sin(3 * x)),
    "x: convex": (["x"], lambda x: x**2 + np.sin(4 * x)),
    "x: odd": (["x"], lambda x: x**3 + 0.5 * np.cos(x)),
    "value: between 0 and 1": (["x", "z"], lambda x, z: 1.2 / (1 + np.exp(z - x)) - 0.1),
    "x -> inf: 0": (["x", "z"], lambda x, z: z * np.exp(-x) + 0.2),
}


def broken(text, formula, X, names):
    """Whether a formula breaks a limit on a dense grid, asked without any module of limits."""
    subject, _, what = text.partition(": ")
    if subject == "value":
        draw = np.random.default_rng(1)
        low, high = X.min(axis=0), X.max(axis=0)
        more = 0.2 * (high - low)
        spots = draw.uniform(np.maximum(low - more, low / 2), high + more, (20_000, len(low)))
        values = formula.evaluate(spots)
        return bool((values < -1e-9).any() or (values > 1 + 1e-9).any())
    at = names.index(subject.split()[0])
    low, high = X[:, at].min(), X[:, at].max()
    more = 0.2 * (high - low)
    ends = max(low - more, low / 2), high + more
    for row in X[:: max(1, len(X) // 10)]:
        line = np.tile(row, (4001, 1))
        line[:, at] = np.linspace(*ends, 4001)
        if "->" in subject:
            line[:, at] = 1e9
            if abs(formula.evaluate(line)[0]) > 1e-3:
                return True
            continue
        values = formula.evaluate(line)
        values = values[np.isfinite(values)]
        slack = 1e-8 * np.ptp(values) + 1e-12 * np.abs(values).max()
        if what == "increasing" and (np.diff(values) < -slack).any():
            return True
        if what == "convex" and (np.diff(values[::40], 2) < -slack).any():
            return True
        if what == "odd":
            mirrored = line.copy()
            mirrored[:, at] *= -1
            if not np.allclose(formula.evaluate(line), -formula.evaluate(mirrored), atol=slack):
                return True
    return False


@pytest.mark.parametrize("limit", mostly_slow([*LAWS], "x: increasing", "value: between 0 and 1"))
def test_every_formula_of_a_front_keeps_to_a_limit_that_the_rows_break(limit):
    names, law = LAWS[limit]
    draw = np.random.default_rng(0)
    X = draw.uniform(0.3, 4.0, (80, len(names)))
    y = law(*X.T) + 0.05 * draw.normal(size=80)
    table = pd.DataFrame(X, columns=names)
    free, kept = (
        SymbolicRegressor(limit=asked, max_expressions=4000, random_state=0)
        .fit(table, y)
        .models_[0]
        for asked in ([], [limit])
    )
    assert any(broken(limit, each.program, X, names) for each in free.formulas)
    assert len(kept.formulas) > 1
    for formula in kept.formulas:
        assert not broken(limit, formula.program, X, names), formula.text
        assert len(formula.limits) == 1
        assert formula.limits[0].startswith(limit)
    assert "Limits of row" in str(kept)
    assert type(kept).from_dict(json.loads(json.dumps(kept.to_dict()))).kept == kept.kept


def test_a_front_has_no_formula_that_breaks_a_limit_where_programs_race():
    draw = np.random.default_rng(0)
    X = draw.uniform(0.5, 6.0, (1500, 2))
    y = X[:, 0] + np.sin(2 * X[:, 0]) + X[:, 1]
    settings = Settings(limit=["x: increasing"], max_expressions=6000, max_seconds=None)
    regression = Regression(X, y, ["x", "z"], settings)
    assert regression.search.racer is not None
    regression.run()
    assert len(regression.search.front) > 2
    for formula in regression.model().formulas:
        assert not broken("x: increasing", formula.program, X, ["x", "z"]), formula.text


def test_a_leap_across_a_narrow_pole_is_found():
    law = Program.parse("x - 0.47*(x - 0.9983)/log(x)", full_library(["x"]))
    of = shapes(Increasing("x"), np.linspace(0.51, 6, 40)[:, None], law.library)
    assert not of.hold(law)


def test_programs_that_break_a_limit_are_invalid_and_the_next_best_is_looked_at():
    library = Library(["add", "mul", "sub", "gauss", "const"], ["x"])
    texts = ["x", "x + 1.0", "1.0 - x", "x - 0.01*gauss(300.0*x - 894.0)", "x + x + x"]
    batch = Programs.from_list([Program.parse(text, library) for text in texts])
    of = Shapes((Increasing("x"),), ("x",), np.linspace(1, 5, 30)[:, None], spread=1.0)
    check = ShapeCheck(of, engine_named("native", 1), library, Scales.none(1))
    ok = np.array([True, True, True, True, False])
    few = check.few_points(batch, ok)
    assert few.tolist() == [True, True, False, True, False]  # the dip lies between the few points
    rewards = np.array([0.5, 0.6, 0.0, 0.9, 0.0])
    assert check.foremost(batch, rewards, few).tolist() == [True, True, False, False, False]


def test_limits_are_in_the_users_units():
    """A column of 1e9 is searched in other units, and the target too."""
    x = np.linspace(1e9, 6e9, 60)[:, None]
    y = 3e-7 * x[:, 0] + 200 * np.sin(x[:, 0] / 3e8)
    limits = ["x0: increasing in 5e8..9e9", "value: between 0 and 3000"]
    fitted = SymbolicRegressor(limit=limits, max_expressions=5000, random_state=0).fit(x, y)
    model = fitted.models_[0]
    grid = np.linspace(5e8, 9e9, 5001)[:, None]
    beside = np.linspace(1e9 - 5e8, 7e9, 5001)[:, None]
    for formula in model.formulas:
        values = formula.program.evaluate(grid)
        assert np.isfinite(values).all()
        assert (np.diff(values) >= -1e-6).all(), formula.text
        values = formula.program.evaluate(beside)
        assert values.min() >= -1e-6
        assert values.max() <= 3000 + 1e-6, formula.text


def test_a_limit_is_of_the_target_inside_a_function():
    """log(y) may fall and rise; y may not be above a bound."""
    draw = np.random.default_rng(0)
    x = draw.uniform(0.5, 3.0, (80, 1))
    y = np.exp(np.sin(2 * x[:, 0]))
    settings = Settings(
        form="log(y) = f(x)", limit=["value: <= 2"], max_expressions=4000, max_seconds=None
    )
    regression = Regression(x, y, ["x"], settings)
    regression.run()
    grid = np.linspace(0.25, 3.5, 3001)[:, None]
    model = regression.model()
    assert len(model.formulas) > 1
    for formula in model.formulas:
        assert formula.program.evaluate(grid).max() <= 2 + 1e-8
        assert formula.limits


def test_a_limit_holds_for_each_group():
    draw = np.random.default_rng(0)
    x, group = draw.uniform(0.5, 3.0, 120), np.repeat(["a", "b", "c"], 40)
    slope = {"a": 1.0, "b": 0.3, "c": -0.4}
    y = np.array([slope[each] for each in group]) * x + 2.0
    settings = Settings(limit=["x: increasing"], max_expressions=3000, max_seconds=None)
    regression = Regression(x[:, None], y, ["x"], settings, groups=Groups("strain", group))
    regression.run()
    assert len(regression.search.front) > 2
    model = regression.model()
    assert any(formula.program.own_used for formula in model.formulas)
    for formula in model.formulas:
        for code in range(3):
            grid = np.column_stack([np.linspace(0.25, 3.5, 200), np.full(200, float(code))])
            values = formula.program.evaluate(grid)
            assert (np.diff(values) >= -1e-9).all(), formula.text


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("q: increasing", "is no column of the table"),
        ("value: >= 0 for q in 0..1", "is no column of the table"),
        ("xx -> inf: 0", "is no column of the table"),
    ],
)
def test_columns_that_are_not_there_are_refused(limit, said):
    X = np.linspace(1, 2, 10)[:, None]
    with pytest.raises(InputError, match="limit") as caught:
        SymbolicRegressor(limit=[limit]).fit(X, X[:, 0] ** 2)
    assert said in str(caught.value)


def test_limits_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.linspace(0.5, 5, 40)
    pd.DataFrame({"x": x, "y": 2 * np.log(x) + 0.2 * np.sin(5 * x)}).to_csv("data.csv", index=False)
    words = ["fit", "data.csv", "--target", "y", "--limit", "x: increasing; x: concave"]
    main([*words, "--max-expressions", "3000", "--max-seconds", "none", "--out", "run"])
    assert "x: increasing, proved" in capsys.readouterr().out
    main(["show", "run", "--row", "1"])
    assert "\nlimit       x: increasing, proved\n" in capsys.readouterr().out
    front = json.loads((tmp_path / "run" / "front.json").read_text())
    report = (tmp_path / "run" / "report.html").read_text()
    assert "x: concave, " in json.dumps(front)
    assert "x: concave, " in report


def formed(form, y, limit, columns, **more):
    settings = Settings(form=form, limit=limit, max_expressions=4000, max_seconds=None, **more)
    regression = Regression(np.column_stack([*columns.values()]), y, [*columns], settings)
    regression.run()
    return regression.model()


def test_a_limit_of_an_unknown_function_beside_groups():
    """Points of a limit of f(mass) need not be in all groups."""
    draw = np.random.default_rng(0)
    kind = np.repeat(["oak", "pine", "ash"], 40)
    t, mass = draw.uniform(1, 60, 120), draw.uniform(0.5, 3, 120)
    y = np.repeat([2.4, 1.1, 1.7], 40) * mass * (1 - np.exp(-0.08 * t))
    settings = Settings(
        form="y = A[kind]*f(mass)*(1 - exp(-k*t))",
        limit=["f: increasing in mass"],
        max_expressions=2000,
        max_seconds=None,
    )
    groups = Groups("kind", kind)
    regression = Regression(
        np.column_stack([t, mass]), y, ["t", "mass"], settings, target="y", groups=groups
    )
    regression.run()
    assert all(each.limits for each in regression.model().formulas)


def test_a_limit_of_an_unknown_function():
    draw = np.random.default_rng(0)
    columns = {name: draw.uniform(0.3, 4.0, 90) for name in ("x", "t")}
    y = (columns["x"] + np.sin(2 * columns["x"])) * np.exp(-0.5 * columns["t"])
    y += 0.01 * draw.normal(size=90)
    asked = ["f: increasing in x", "f: >= 0"]
    grid = np.column_stack([np.linspace(0.2, 4.5, 3001), np.ones(3001)])
    falls = []
    for limit in ([], asked):
        model = formed("y = f(x)*exp(-k*t)", y, limit, columns)
        lines = [each.parts["f"].program.evaluate(grid) for each in model.formulas]
        falls.append(any((np.diff(each) < -1e-8).any() for each in lines))
    assert falls == [True, False]
    assert len(model.formulas) > 1
    for formula, line in zip(model.formulas, lines, strict=True):
        assert np.nanmin(line) >= 0
        assert [each.rpartition(", ")[0] for each in formula.limits] == asked


@pytest.mark.parametrize(("limit", "low", "high"), [("k: <= 0.5", -9, 0.5), ("k: >= 1", 1, 9)])
def test_a_number_that_a_form_names_is_fitted_within_its_bounds(limit, low, high):
    """The fit ends at the bound: the best that it allows, and not the best of all cut off."""
    draw = np.random.default_rng(0)
    columns = {"t": draw.uniform(0.3, 4.0, 90)}
    y = 3 * np.exp(-0.8 * columns["t"])
    model = formed("y = A*exp(-k*t)", y, [limit], columns)
    (best,) = {each.parts["k"].program.constants for each in model.formulas}
    assert low <= best[0] <= high
    assert best[0] == pytest.approx(low if low > -9 else high)
    shape = np.exp(-best[0] * columns["t"])
    amplitude = model.best.parts["A"].program.constants[0]
    assert amplitude == pytest.approx(shape @ y / (shape @ shape), rel=1e-4)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("g: increasing in x", "is about 'g'"),
        ("f: increasing in t", "is no function of it"),
        ("f: increasing in q", "is no column of the table"),
    ],
)
def test_limits_of_what_a_form_does_not_have_are_refused(limit, said):
    columns = {name: np.linspace(1, 2, 20) ** power for power, name in ((1, "x"), (2, "t"))}
    with pytest.raises(InputError, match="limit") as caught:
        formed("y = f(x) + t", columns["x"], [limit], columns)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "limit",
    [
        Increasing("x", of="f", ranges=(("x", 0.0, 10.0),)),
        Convex("flow rate"),
        Bounded(0, 2.5, of="f", ranges=(("x", 0.0, 1.0), ("z", -1.0, 1.0))),
        Tends("x", -math.inf, 0.5, of="f"),
        Tends("x", 0, 1, ranges=(("z", 0.0, 1.0),)),
        Odd("x", ranges=(("x", -2.0, 2.0),)),
    ],
    ids=str,
)
def test_a_limit_is_read_as_it_is_written(limit):
    assert parse(str(limit)) == limit


def test_programs_of_groups_are_checked_with_each_groups_own_numbers():
    grouping = Grouping("strain", ("A", "B"), ("a", "b"))
    library = Library(["add", "sub", "mul", "const"], ["x", "strain", "a", "b"], grouping)
    texts = ["a*x + 2.0", "3.0*x + b", "x*2.0 - a*b", "2.0 - a*x", "a*x + x*0.5", "1.5*x"]
    own = ((-0.2, 0.4), (1.0, -3.0))
    batch = Programs.from_list([replace(Program.parse(each, library), own=own) for each in texts])
    rows = np.column_stack([np.tile(np.linspace(1, 3, 20), 2), np.repeat([0.0, 1.0], 20)])
    of = Shapes((Increasing("x"),), ("x", "strain"), rows, spread=1.0, grouping=grouping)
    check = ShapeCheck(of, engine_named("native", 1), library, Scales.none(2))
    ok = np.ones(len(texts), dtype=bool)
    kept = [False, True, True, False, True, True]
    assert check.few_points(batch, ok).tolist() == kept
    assert [of.allow(each) for each in batch] == kept
    (values,) = check.few
    points = np.concatenate([each.flat for each in values.points])
    for row, program in enumerate(batch):
        np.testing.assert_allclose(values(batch)[row], program.evaluate(points), rtol=1e-12)


def test_a_number_that_noisy_values_are_to_tend_to_is_written_as_it_is():
    """Their fit ends near it, which would not do."""
    draw = np.random.default_rng(0)
    x = np.sort(draw.uniform(0.1, 4.0, 80))[:, None]
    y = 2 * np.exp(-1.3 * x[:, 0]) + 0.3 + 0.02 * draw.normal(size=80)
    model = SymbolicRegressor(limit=["x0 -> inf: 0.3"], max_expressions=4000, random_state=0)
    formulas = model.fit(x, y).models_[0].formulas
    assert min(each.nrmse for each in formulas) < 0.5
    for formula in formulas:
        assert formula.program.evaluate([[1e8]])[0] == pytest.approx(0.3, abs=1e-4)
    with_others = Settings(limit=["x: increasing"]), Settings()
    plans = [Regression(x, y, ["x"], each).library.names for each in with_others]
    assert plans[0] == plans[1]


def test_what_is_near_depends_on_the_size_of_the_target():
    law = Program.parse("1e-9/x + 2e-10", full_library(["x"]))
    rows = np.linspace(0.5, 6, 20)[:, None]
    limits = (Tends("x", math.inf, 0),)
    kept = [Shapes(limits, ("x",), rows, spread).hold(law) for spread in (1e-9, 1.0)]
    assert kept == [False, True]


def test_the_box_is_that_of_all_rows_and_a_limit_without_ends_holds():
    rows = np.append(np.linspace(1, 2, 30_000), 900.0)[:, None]
    law = Program.parse("x - 0.001*x**2", full_library(["x"]))
    assert not Shapes((Increasing("x"),), ("x",), rows, 1.0).allow(law)
    assert Shapes((Bounded(),), ("x",), rows, 1.0).hold(law)


@pytest.mark.parametrize("text", ["0.57*x*(z - 1.0173) + t", "x*(z - 1.02) + t**2 + sin(t)*z"])
def test_a_violation_at_an_end_of_another_column_is_found(text):
    law = Program.parse(text, full_library(["x", "z", "t"]))
    rows = np.random.default_rng(0).uniform([0.5, 0.5, 0.5], [4, 4, 4], (200, 3))
    limit = Increasing("x", ranges=(("z", 1.0, 4.0),))
    of = Shapes((limit,), ("x", "z", "t"), rows, 1.0)
    box = np.array([[0.5, 1.0, 0.5]]), np.array([[4.0, 4.0, 4.0]])
    assert not of.allow(law)
    assert prove(law, *box, rises, 0, 1).verdict is Verdict.DISPROVED
