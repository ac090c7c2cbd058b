"""Units: how they are read, what they make of a fit, and where they are seen."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refusals import refused
from symseek import InputError, Program, SymbolicRegressor
from symseek.columns import Column
from symseek.command import main
from symseek.constraints import Dimensions
from symseek.constraints.dimensions import Mismatch
from symseek.data import Scales
from symseek.dimensions import DIMENSIONLESS, Dimension
from symseek.files.tables import open_table
from symseek.form import GivenForm
from symseek.model import Model, full_library
from symseek.regression.regression import Regression
from symseek.runs.folder import RunFolder
from symseek.settings import Settings
from symseek.studio.options import options
from symseek.studio.question import Question, consider
from symseek.units import ColumnUnits, GivenUnits, read_unit
from symseek.units.numbers import needed, spanned

METRE, SECOND, KILOGRAM = (Dimension({name: 1}) for name in ("m", "s", "kg"))

DRAW = np.random.default_rng(0)
ROWS = 60
BALL = pd.DataFrame(
    {"v": DRAW.uniform(1, 10, ROWS), "t": DRAW.uniform(0.1, 3, ROWS)}
    | {"g": DRAW.uniform(1.6, 9.8, ROWS)}
)
HEIGHT = pd.Series(BALL.v * BALL.t - BALL.g * BALL.t**2 / 2, name="h")
UNITS = {"v": "m/s", "t": "s", "g": "m/s^2", "h": "m"}
GAS = pd.DataFrame({"T": DRAW.uniform(250, 400, ROWS), "V": DRAW.uniform(1, 5, ROWS)})
PRESSURE = pd.Series(8.314 * GAS["T"] / GAS.V, name="p")


def regressor(**settings: Any) -> SymbolicRegressor:
    usual = {"max_expressions": 4000, "max_seconds": None, "random_state": 0}
    return SymbolicRegressor(**{**usual, **settings})


def units_of(text: str, *names: str, free: bool = False) -> ColumnUnits:
    *inputs, target = (Column(name) for name in names)
    return ColumnUnits.of(GivenUnits.read(text), [*inputs, target], free)


@pytest.mark.parametrize(
    ("text", "dimension", "factor"),
    [
        ("m/s^2", METRE / SECOND**2, 1),
        ("m s-2", METRE / SECOND**2, 1),
        ("m·s⁻²", METRE / SECOND**2, 1),
        ("[km/h]", METRE / SECOND, 1 / 3.6),
        ("miles per hour", METRE / SECOND, 0.44704),
        ("J/(kg*m)", METRE / SECOND**2, 1),
        ("N m", METRE**2 * KILOGRAM / SECOND**2, 1),
        ("10^3 kg", KILOGRAM, 1000),
        ("m^(1/2)", METRE ** Fraction(1, 2), 1),
        ("kg**0.5", KILOGRAM ** Fraction(1, 2), 1),
        ("L", METRE**3, 0.001),
        ("delta_degC", Dimension({"K": 1}), 1),
        ("J/degC", METRE**2 * KILOGRAM / SECOND**2 / Dimension({"K": 1}), 1),
        ("EUR/kg", Dimension({"EUR": 1}) / KILOGRAM, 1),
        ("%", DIMENSIONLESS, 0.01),
        ("deg", DIMENSIONLESS, np.pi / 180),
        ("rad", DIMENSIONLESS, 1),
        ("-", DIMENSIONLESS, 1),
        ("1", DIMENSIONLESS, 1),
    ],
)
def test_units_are_read_as_they_are_written(text: str, dimension: Dimension, factor: float) -> None:
    unit = read_unit(text)
    assert unit.dimension == dimension
    assert unit.factor == pytest.approx(factor, rel=1e-10)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "parsnip",
        "0 m",
        "9e999 m",
        "m" * 101,
        "import os",
        *("Kg", "__import__", "m//s", "m/", "(m", "m)", "*m", "m^", "m^x", "9^9^9^9", "m^1000"),
        *("1/0", "m^(1/0)", "if"),
    ],
)
def test_what_is_no_unit_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no unit that is known"):
        read_unit(text)


@pytest.mark.parametrize(("text", "why"), [("degC", "convert it to K"), ("°F", "K"), ("dB", "log")])
def test_units_whose_values_cannot_be_added_are_refused(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_unit(text)


@given(st.text(max_size=30) | st.text("mskg/*^()-1209. ", max_size=15))
@example("m^((((")
@example("/1e309m")
def test_any_text_is_a_unit_or_refused(text: str) -> None:
    try:
        unit = read_unit(text)
    except InputError:
        return
    assert 0 < unit.factor < np.inf


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.sampled_from(["m", "m/s^2", "1"])))
def test_given_units_are_read_as_they_were_written(columns: dict[str, str]) -> None:
    given = GivenUnits(columns, table=True)
    assert GivenUnits.read(str(given)) == given


@pytest.mark.parametrize("text", ["", " , ", "m", "h m", "h:", ": m", "h: m, h: s", "h: `m`"])
def test_a_text_that_gives_no_units_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="units"):
        Settings(units=text)


def test_settings_keep_units_as_text() -> None:
    assert Settings(units={"h": "m", "flow, in": " l/s"}).units == "h: m, `flow, in`: l/s"
    assert Settings(units=" h :m ").units == "h: m"
    with refused("units"):
        Settings(units={"h": 3})
    with refused("units"):
        Settings(units=["h: m"])


def test_numbers_need_the_units_of_their_places() -> None:
    known = {"t": SECOND, "x": METRE, "z": METRE}
    library = full_library(list(known))
    cases = {
        "2.5*x + 3.5": ("1", "m"),
        "2.5*exp(1.5 - 0.3*t)": ("m", "1", "1/s"),
        "x*(t/3.5)**1.23": ("s", "1"),
        "sqrt(2.5*x)": ("m",),
        "2.5*x**2": ("1/m", "1"),
        "hypot(2.5, x)": ("m",),
        "2.5*3.5*x*t": ("1/s", "1"),
    }
    for text, units in cases.items():
        found = needed(Program.parse(text, library), known, METRE).numbers
        plain = ["1" if each.dimensionless else str(each) for each in found]
        assert sorted(plain) == sorted(units[: len(plain)]), text


def test_units_that_contradict_each_other_are_said() -> None:
    known = {"t": SECOND, "x": METRE}
    library = full_library(list(known))
    for text, why in {"x + t": "add is given m and s", "sin(x)": "sin is given m"}.items():
        with pytest.raises(Mismatch, match=why):
            needed(Program.parse(text, library), known, None)
    assert not needed(Program.parse("x + t", library), known, None, strict=False).numbers


@given(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), max_size=4), st.data())
def test_what_columns_span_is_what_their_products_reach(
    columns: list[list[int]], data: st.DataObject
) -> None:
    every = [Dimension(dict(zip("msk", each, strict=True))) for each in columns]
    product = DIMENSIONLESS
    for each in every:
        product = product * each ** data.draw(st.integers(-2, 2))
    assert spanned(product, every)
    table = np.array(columns).reshape(-1, 3)
    wanted = np.array([0, 0, 1])
    reached = np.linalg.matrix_rank(np.vstack([table, wanted])) == np.linalg.matrix_rank(table)
    assert spanned(Dimension({"k": 1}), every) == reached


def test_unknowns_of_a_form_have_the_dimensions_that_follow() -> None:
    form = GivenForm.of("y = f(x)*exp(-k*t) + g(x)*t", ["x", "t"], "y")
    rule = units_of("x: kg, t: s, y: m", "x", "t", "y").dimensions(form)
    assert rule.arguments == {"form": [None, METRE, METRE / SECOND]}
    assert rule.target == METRE
    open_form = GivenForm.of("y = f(x)*g(t)", ["x", "t"], "y")
    rule = units_of("x: kg, t: s, y: m", "x", "t", "y").dimensions(open_form)
    assert rule.arguments == {"form": [None, None]}
    left = GivenForm.of("y/x = f(t)", ["x", "t"], "y")
    rule = units_of("x: kg, t: s, y: m", "x", "t", "y").dimensions(left)
    assert (rule.target, rule.arguments) == (METRE / KILOGRAM, {"form": [METRE / KILOGRAM]})


def test_a_form_that_breaks_units_is_refused() -> None:
    for text, why in {"log(y) = f(x)": "log is given m", "y = f(x)*x + x*t": "m"}.items():
        form = GivenForm.of(text, ["x", "t"], "y")
        with pytest.raises(InputError, match=rf"`form`: its units do not agree: .*{why}"):
            units_of("x: kg, t: s, y: m", "x", "t", "y").dimensions(form)


def test_scales_keep_what_agrees_the_same() -> None:
    """G*m/r^2 is the same number in any units of one system."""
    draw = np.random.default_rng(0)
    X = draw.uniform(1, 2, (50, 3)) * [6.7e-11, 1e24, 1e7]
    y = X[:, 0] * X[:, 1] / X[:, 2] ** 2
    units = units_of("G: m^3/kg/s^2, m: kg, r: m, a: m/s^2", "G", "m", "r", "a")
    scales = units.scales(X, y, resized=True)
    scaled = X / scales.inputs
    assert (scales.inputs != 1).all()
    np.testing.assert_allclose(scaled[:, 0] * scaled[:, 1] / scaled[:, 2] ** 2, y / scales.target)
    assert np.abs(np.log10(np.abs(scaled).mean(axis=0))).max() < 4
    assert (units.scales(X, y, resized=False).inputs == 1).all()


def test_sizes_near_one_stay_and_plain_columns_have_their_own_scale() -> None:
    X = np.column_stack([np.linspace(1, 9, 20), np.linspace(1e5, 9e5, 20)])
    units = units_of("x: m, Re: 1, y: m", "x", "Re", "y")
    assert units.scales(X, X[:, 0], resized=True) is not Scales.none(2)
    assert units.scales(X, X[:, 0], resized=True).inputs.tolist() == [1.0, 1e6]


def test_columns_in_different_units_are_searched_in_one() -> None:
    units = units_of("x: cm, z: m, y: km", "x", "z", "y")
    scales = units.scales(np.ones((9, 2)), np.ones(9), resized=False)
    assert (scales.inputs.tolist(), scales.target) == ([100.0, 1.0], 0.001)
    agreeing = units_of("P: kPa, V: L, E: J", "P", "V", "E")
    assert not agreeing.conversions()
    cgs = units_of("x: cm, v: cm/s, t: s", "x", "v", "t")
    assert not cgs.conversions()


def test_columns_that_cannot_be_converted_are_refused() -> None:
    X = pd.DataFrame({"x": DRAW.uniform(50, 200, ROWS), "z": DRAW.uniform(0.5, 2, ROWS)})
    y = pd.Series(X.x / 100 + X.z, name="y")
    units = "x: cm, z: m, y: m"
    said = "x in cm and z in m do not agree without a factor; convert one of the columns"
    for settings in (
        {"constants": False},
        {"form": "y = f(x) + g(z)"},
        {"reward": "inverse_mse"},
        {"limit": ["numbers: between 0 and 1"]},
    ):
        with pytest.raises(InputError, match=said):
            regressor(units=units, **settings).fit(X, y)
    best = regressor(units=units).fit(X, y).models_[0].best
    assert (best.text, best.with_units) == ("0.01*x + z", (("0.01", "m/cm"),))
    free = regressor(units=units, numbers="free", form="y = f(x) + g(z)").fit(X, y).models_[0]
    assert free.best.exact


def test_free_numbers_leave_the_factor_between_units_to_the_search() -> None:
    X = pd.DataFrame({"x": DRAW.uniform(50, 200, ROWS), "z": DRAW.uniform(0.5, 2, ROWS)})
    y = pd.Series(X.x / 100 + X.z, name="y")
    settings = {"units": "x: cm, z: m, y: m", "numbers": "free", "constants": True}
    regression = Regression(
        X.to_numpy(), y.to_numpy(), ["x", "z"], Settings(**settings), target="y"
    )
    rows = regression.rows.searched
    np.testing.assert_allclose(rows.X.sum(axis=1), rows.y)


def test_no_formula_of_a_front_breaks_units() -> None:
    noisy = HEIGHT + np.random.default_rng(1).normal(0, 0.3, ROWS)
    model = regressor(units=UNITS, max_expressions=8_000).fit(BALL, noisy.rename("h")).models_[0]
    rule = Dimensions({"v": METRE / SECOND, "t": SECOND, "g": METRE / SECOND**2}, target=METRE)
    assert len(model.formulas) > 2
    for each in model.formulas:
        for style in (None, "factored", "expanded"):
            assert rule.of(each.form(style)) == METRE, each.text
        assert rule.of(Program.parse(each.text, each.program.library)) == METRE
    without = regressor(max_expressions=8_000).fit(BALL, noisy).models_[0]
    assert any(rule.violated_by(each.program) for each in without.formulas)


@pytest.mark.parametrize("numbers", ["plain", "free"])
def test_formulas_are_the_same_in_other_units(numbers: str) -> None:
    """What agrees with units has the same form in all of them: an independent check."""
    noisy = (HEIGHT + np.random.default_rng(1).normal(0, 1, ROWS)).rename("h")
    table = BALL.assign(start=np.random.default_rng(2).uniform(10, 99, ROWS))
    units = {**UNITS, "start": "cm"}
    settings = {"units": units, "numbers": numbers, "max_expressions": 10_000}
    model = regressor(**settings).fit(table, (noisy + table.start / 100).rename("h")).models_[0]
    by = {"m": 3.7, "s": 0.6, "cm": 3.7}  # metres are 3.7 times as short, and so on

    def factor(named: Dimension) -> float:
        return float(np.prod([by[name] ** float(power) for name, power in named.powers]))

    X = table.to_numpy()
    other = X * [factor(read_unit(units[name]).named) for name in table]
    assert len(model.formulas) > 2
    for each in model.formulas:
        named = [read_unit(constant.unit or "1").named for constant in each.constants]
        numbers_there = [
            constant.value * factor(unit)
            for constant, unit in zip(each.constants, named, strict=True)
        ]
        there = replace(each.program, constants=tuple(numbers_there))
        np.testing.assert_allclose(
            there.evaluate(other), each.program.evaluate(X) * 3.7, rtol=1e-6, err_msg=each.text
        )


def test_the_target_may_have_any_unit() -> None:
    model = regressor(units="v: m/s, t: s, g: m/s^2").fit(BALL, HEIGHT).models_[0]
    rule = Dimensions({"v": METRE / SECOND, "t": SECOND, "g": METRE / SECOND**2}, target=None)
    assert not any(rule.violated_by(each.program) for each in model.formulas)
    assert model.units == {"v": "m/s", "t": "s", "g": "m/s^2"}


def test_free_numbers_have_units_beside_them() -> None:
    model = regressor(units="T: K, V: L, p: kPa", numbers="free").fit(GAS, PRESSURE).models_[0]
    assert model.best.text == "8.314*T/V"
    assert [each.unit for each in model.best.constants] == ["L*kPa/K"]
    assert "p [kPa] =" in str(model)
    assert "where 8.314 is in L*kPa/K" in str(model)
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    assert [each.constants for each in again.formulas] == [e.constants for e in model.formulas]


def test_a_target_that_no_product_reaches_is_refused() -> None:
    said = "no formula of these columns has the unit of 'p', kPa: .* with `numbers` 'free'"
    with pytest.raises(InputError, match=said):
        regressor(units="T: K, V: L, p: kPa").fit(GAS, PRESSURE)


def test_guesses_that_break_units_are_refused() -> None:
    with pytest.raises(InputError, match=r"units do not agree: add is given m and m/s\^2") as found:
        regressor(units=UNITS, guesses=["v*t + g"]).fit(BALL, HEIGHT)
    assert found.value.field == "guesses"
    best = regressor(units=UNITS, guesses=["v*t - 3*g*t**2"]).fit(BALL, HEIGHT).models_[0].best
    assert best.exact


def test_units_of_columns_that_there_are_not_are_refused() -> None:
    with refused("units", "w", "known: v, t, g, h"):
        regressor(units={**UNITS, "w": "m"}).fit(BALL, HEIGHT)
    with pytest.raises(InputError) as found:
        regressor(units={**UNITS, "g": "parsnip"}).fit(BALL, HEIGHT)
    said = "`units` of column 'g': 'parsnip' is no unit that is known; "
    assert str(found.value) == said + "units are written as in m/s^2, and 1 is none"
    # A column that is left out may have a unit.
    table = BALL.assign(same=1.0)
    with pytest.warns(UserWarning, match="ignored"):
        regressor(units={**UNITS, "same": "kg"}, max_expressions=200).fit(table, HEIGHT)


def test_several_targets_each_have_their_unit() -> None:
    targets = pd.DataFrame({"h": HEIGHT, "w": BALL.g * BALL.t})
    units = {**UNITS, "h": "m", "w": "m/s"}
    model = regressor(units=units).fit(BALL, targets)
    assert [each.best.text for each in model.models_] == ["t*(v - 1/2*t*g)", "t*g"]


def test_names_of_columns_have_units_where_that_is_asked_for() -> None:
    table = BALL.rename(columns={name: f"{name} [{UNITS[name]}]" for name in BALL})
    asked = regressor(units="table, h: m").fit(table, HEIGHT).models_[0]
    assert asked.units == {**{f"{n} [{UNITS[n]}]": UNITS[n] for n in BALL}, "h": "m"}
    left = regressor(max_expressions=500).fit(table, HEIGHT).models_[0]
    assert not left.units
    assert left.formulas[0].text.replace(".", "").replace("-", "").isdigit()


def test_named_numbers_of_a_form_have_their_units() -> None:
    table = pd.DataFrame({"x": DRAW.uniform(1, 3, ROWS), "t": DRAW.uniform(0, 5, ROWS)})
    y = pd.Series(2 * table.x * np.exp(-0.7 * table.t), name="y")
    model = regressor(form="y = f(x)*exp(-k*t)", units="x: m, t: h, y: m").fit(table, y).models_[0]
    parts = model.best.parts
    assert (parts["k"].text, parts["k"].unit, parts["f"].text) == ("0.7", "1/h", "2*x")
    assert "k = 0.7 in 1/h" in str(model)
    other = {"form": "y = A*f(x)*exp(-k*t)", "units": "x: m, t: h, y: V"}
    parts = regressor(**other).fit(table, y).models_[0].best.parts
    assert {name: parts[name].unit for name in "Ak"} == {"A": "V/m", "k": "1/h"}
    assert Model.from_dict(model.to_dict()) == model


def test_functions_whose_dimensions_depend_on_each_other_agree_in_full() -> None:
    table = pd.DataFrame({"x": DRAW.uniform(1, 3, ROWS), "t": DRAW.uniform(0.5, 2, ROWS)})
    y = pd.Series(table.x / table.t, name="y")
    fitted = regressor(form="y = f(x)*g(t)", units="x: m, t: s, y: m/s").fit(table, y).models_[0]
    rule = Dimensions({"x": METRE, "t": SECOND}, target=METRE / SECOND)
    assert fitted.best.exact
    assert not any(rule.violated_by(each.program) for each in fitted.formulas)


def test_numbers_of_groups_have_units_like_others() -> None:
    own = {"A": 2.0, "B": 5.0, "C": 9.0}
    labels = pd.Series(np.repeat(list(own), ROWS // 3), name="strain")
    h = pd.Series(BALL.v * BALL.t * labels.map(own), name="h")
    table = BALL[["v", "t"]]
    units = {"v": "m/s", "t": "s", "h": "m"}
    plain = regressor(units=units).fit(table, h, groups=labels).models_[0]
    assert (plain.best.text, plain.best.with_units) == ("v*t*a_strain", ())
    units["h"] = "kg"
    free = regressor(units=units, numbers="free").fit(table, h, groups=labels).models_[0]
    assert (free.best.text, free.best.with_units) == ("v*t*a_strain", (("a_strain", "kg/m"),))


def test_without_pint_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from symseek.units import reading

    monkeypatch.setitem(sys.modules, "pint", None)
    reading._registry.cache_clear()
    reading._atom.cache_clear()
    with pytest.raises(InputError) as found:
        regressor(units=UNITS).fit(BALL, HEIGHT)
    assert str(found.value) == "`units` needs Pint; run: pip install pint"


def test_a_fit_without_units_needs_no_pint() -> None:
    code = "import sys; sys.modules['pint'] = None; import symseek; symseek.SymbolicRegressor("
    code += "max_expressions=100).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 4.0, 9.0, 16.0])"
    subprocess.run([sys.executable, "-c", code], check=True)


def written(folder: Path, units_row: bool = True, noise: float = 0.0) -> Path:
    path = folder / "ball.csv"
    heights = HEIGHT + np.random.default_rng(2).normal(0, noise, ROWS)
    lines = BALL.assign(h=heights).to_csv(index=False).splitlines()
    rows = [",".join(UNITS[name] for name in lines[0].split(","))] if units_row else []
    path.write_text("\n".join([lines[0], *rows, *lines[1:]]) + "\n")
    return path


BUDGET = ["--max-expressions", "2000", "--max-seconds", "none", "--quiet"]


def test_units_go_all_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, noise=0.2)
    assert main(["fit", "ball.csv", "--target", "h", "--units", "table", *BUDGET]) == 0
    said = capsys.readouterr().out
    assert "units: v in m/s, t in s, g in m/s^2, h in m" in said
    assert "h [m] =" in said
    assert "--units table" in said
    run = RunFolder.open(tmp_path / "ball-run-1")
    assert run.request.settings.units == "table"
    assert run.model().units == UNITS
    page = (tmp_path / "ball-run-1" / "report.html").read_text()
    assert "h [m] =" in page
    assert "v in m/s, t in s" in page
    assert main(["show", "ball-run-1"]) == 0
    assert "h [m] =" in capsys.readouterr().out
    assert main(["predict", "ball-run-1", "ball.csv"]) == 0
    capsys.readouterr()
    for target, mark in {"python": "# ", "c": "// ", "latex": "% ", "sympy": "# "}.items():
        assert main(["export", "ball-run-1", "--to", target]) == 0
        first = capsys.readouterr().out.splitlines()[0]
        assert first == f"{mark}h in m; v in m/s, t in s, g in m/s^2."
    assert main(["export", "ball-run-1", "--to", "excel"]) == 0
    assert capsys.readouterr().out.startswith("=")
    assert main(["resume", "ball-run-1", "--max-expressions", "3000", "--quiet"]) == 0
    assert "h [m] =" in capsys.readouterr().out


def test_new_rows_in_other_units_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = written(tmp_path).read_text()
    assert main(["fit", "ball.csv", "--target", "h", "--units", "table", *BUDGET]) == 0
    for unit, code in {"ms": 2, "[s]": 0, "by hand": 0}.items():
        Path("new.csv").write_text(text.replace("m/s,s,", f"m/s,{unit},"))
        assert main(["predict", "ball-run-1", "new.csv"]) == code, unit
    Path("new.csv").write_text(text.replace("m/s,s,", "m/s,ms,"))
    capsys.readouterr()
    assert main(["predict", "ball-run-1", "new.csv"]) == 2
    said = "symseek: column 't' is in ms in new.csv, and the formula takes it in s; convert it\n"
    assert capsys.readouterr().err.endswith(said)


def test_units_in_a_heading_change_nothing_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    fronts = []
    for units_row in (True, False):
        written(tmp_path, units_row)
        assert main(["fit", "ball.csv", "--target", "h", "--out", "run", "--force", *BUDGET]) == 0
        record = json.loads((tmp_path / "run" / "front.json").read_text())
        fronts.append({name: record[name] for name in ("formulas", "picked", "target")})
    assert fronts[0] == fronts[1]


def test_many_tables_have_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = written(tmp_path, units_row=False).read_text()
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(text)
    said = "v: m/s, t: s, g: m/s^2, h: m"
    words = ["--target", "h", "--units", said, "--out", "runs"]
    assert main(["fit", "a.csv", "b.csv", *words, *BUDGET]) == 0
    assert RunFolder.open(tmp_path / "runs" / "a").model().units == UNITS


def test_the_studio_takes_units(tmp_path: Path) -> None:
    path = written(tmp_path)
    table = open_table(path).whole()
    for said, wrong in {
        "table": [],
        "table, g: parsnip": ["units"],
        "v: m/s, t: s, g: m/s, h: K": ["units"],
    }.items():
        question = Question(path.name, "h", settings={"units": said})
        found = consider(question, path, lambda: table)
        assert [each["field"] for each in found.problems] == wrong, said
        assert f"--units {shlex.quote(said)}" in found.command
    assert {"units", "numbers"} <= {each["name"] for each in options()["settings"]}


def test_exports_say_the_units_of_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    GAS.assign(p=PRESSURE).to_csv("gas.csv", index=False)
    words = ["--units", "T: K, V: L, p: kPa", "--numbers", "free"]
    assert main(["fit", "gas.csv", "--target", "p", *words, *BUDGET]) == 0
    assert "where 8.314 is in L*kPa/K" in (tmp_path / "gas-run-1" / "report.html").read_text()
    capsys.readouterr()
    assert main(["export", "gas-run-1", "--to", "c"]) == 0
    remarks = ["// p in kPa; T in K, V in L.", "// where 8.314 is in L*kPa/K."]
    assert capsys.readouterr().out.splitlines()[:2] == remarks
    assert main(["show", "gas-run-1", "--row", "3"]) == 0
    assert "p [kPa] = 8.314*T/V\nwhere 8.314 is in L*kPa/K\n" in capsys.readouterr().out


def test_axes_have_units() -> None:
    x = np.linspace(1, 5, 30)
    columns = [Column("x", unit="m")]
    regression = Regression(x[:, None], 3 * x, columns, Settings(max_expressions=100), target="y")
    regression.run()
    model = regression.model()
    from symseek.report import fits

    drawn = fits.data(model, x[:, None], 3 * x)
    assert not isinstance(drawn, str)
    assert (drawn.x.label, drawn.y.label) == ("x [m]", "y")
    left = fits.residuals(3 * x, model.predict(x[:, None]), "m")
    assert not isinstance(left, str)
    assert left.y.label == "residual (true − predicted) [m]"
