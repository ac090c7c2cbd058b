"""How sure numbers are: standard errors, intervals, bands; against SciPy and by simulation."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from run_helpers import answer
from symseek import FitConfig, SymbolicRegressor, fit_constants
from symseek.algebra.forms import styled
from symseek.data import Data
from symseek.errors import InputError
from symseek.model import Constant, Formula, Model, full_library
from symseek.programs import Program, Programs
from symseek.report import fits
from symseek.report.chart import Area, Chart
from symseek.uncertainty.bands import band, leverages
from symseek.uncertainty.bootstrap import bootstrapped
from symseek.uncertainty.distributions import student
from symseek.uncertainty.evidence import Evidence
from symseek.uncertainty.normal import Inverse, normals
from symseek.uncertainty.numbers import Judged, judged
from symseek.uncertainty.profile import profiled
from symseek.uncertainty.record import Certainty, with_error

LIBRARY = full_library(["x", "z"])
EXACT = FitConfig("least_squares", restarts=0, rescue=False, max_steps=1000)


def table(rows: int, seed: int = 0) -> tuple[np.ndarray, np.random.Generator]:
    draw = np.random.default_rng(seed)
    return draw.uniform(0.2, 3.0, (rows, 2)), draw


def fitted(text: str, X: np.ndarray, y: np.ndarray, weights: Any = None) -> Program:
    """The program of a text at its least squares, numbers with a point in them fitted."""
    batch = Programs.from_list([Program.parse(text, LIBRARY)])
    return fit_constants(batch, X, y, EXACT, weights=weights).programs[0]


def judge(program: Program, X: np.ndarray, y: np.ndarray, weights: Any = None) -> Judged:
    data = Data.checked(X, y, ["x", "z"], weights)
    return judged([program], [program], data)[0]


LAWS: list[tuple[str, Callable[..., Any]]] = [
    ("2.1*x + 0.4", lambda X, a, b: a * X[:, 0] + b),
    (
        "2.5*sin(1.3*x)*exp(-0.7*z) + 0.4",
        lambda X, a, b, c, d: a * np.sin(b * X[:, 0]) * np.exp(c * X[:, 1]) + d,
    ),
    ("3.1*x**1.7/(z + 0.9)", lambda X, a, b, c: a * X[:, 0] ** b / (X[:, 1] + c)),
    ("2.0*log(1.1*x + 0.3*z)", lambda X, a, b, c: a * np.log(b * X[:, 0] + c * X[:, 1])),
]


@pytest.mark.parametrize(("text", "function"), LAWS)
@pytest.mark.parametrize("weighted", [False, True])
def test_standard_errors_are_those_of_curve_fit(
    text: str, function: Callable[..., Any], weighted: bool
) -> None:
    X, draw = table(60)
    weights = draw.uniform(0.3, 3.0, 60) if weighted else np.ones(60)
    law = Program.parse(text, LIBRARY)
    y = law.evaluate(X) + 0.05 * draw.normal(size=60) / np.sqrt(weights)
    program = fitted(text, X, y, weights)
    found = judge(program, X, y, weights).constants
    tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
    values, covariance = scipy.optimize.curve_fit(
        function, X, y, p0=program.constants, sigma=1 / np.sqrt(weights), **tight
    )
    # SciPy takes derivatives by differences; its minimum and ours are the same.
    assert np.allclose([each.value for each in found], values, rtol=1e-6)
    errors = [each.standard_error for each in found]
    assert np.allclose(errors, np.sqrt(np.diag(covariance)), rtol=1e-6)


@pytest.mark.parametrize("spare", [1, 2, 7, 30, 400, 200_000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_quantiles_are_those_of_scipy(spare: int, level: float) -> None:
    assert student(level, spare) == pytest.approx(
        scipy.stats.t.ppf(0.5 + level / 2, spare), rel=1e-8
    )


def test_equal_rows_that_were_merged_count_as_many() -> None:
    X, draw = table(30)
    y = 2.0 * X[:, 0] + 0.5 + 0.1 * draw.normal(size=30)
    twice = np.concatenate([X, X]), np.concatenate([y, y])
    program = fitted("2.0*x + 0.5", X, y)
    merged = Data.checked(*twice, ["x", "z"]).merged()
    assert len(merged.y) == 30
    (found,) = judged([program], [program], merged, repeats=2.0)
    whole = judge(program, *twice)
    for one, other in zip(found.constants, whole.constants, strict=True):
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-12)
    assert found.certainty is not None
    assert whole.certainty is not None
    assert found.certainty.variance == pytest.approx(whole.certainty.variance, rel=1e-12)
    assert found.certainty.spare == whole.certainty.spare == 58


def test_printed_numbers_have_errors_that_follow_from_those_of_the_program() -> None:
    X, draw = table(60)
    y = 3.0 * (X[:, 0] + 2.0) * (X[:, 1] + 0.7) + 0.1 * draw.normal(size=60)
    program = fitted("3.0*(x + 2.0)*(z + 0.7)", X, y)
    form = styled(program, "expanded")
    assert len(form.constants) == 4 > len(program.constants)
    data = Data.checked(X, y, ["x", "z"])
    (found,) = judged([program], [form], data)
    a, b, c = program.constants
    assert found.certainty is not None
    covariance = found.certainty.covariance
    # x, z, x*z and 1 are times a*c, a*b, a and a*b*c.
    by = {a * c: (c, 0, a), a * b: (b, a, 0), a: (1, 0, 0), a * b * c: (b * c, a * c, a * b)}
    for value, slope in by.items():
        number = min(found.numbers, key=lambda each: abs(each.value - value))
        g = np.array(slope)
        assert number.standard_error == pytest.approx(math.sqrt(g @ covariance @ g), rel=1e-6)


def test_numbers_that_make_up_for_one_another_are_not_determined() -> None:
    X, draw = table(60)
    y = 6.0 * X[:, 0] + 0.7 * X[:, 1] + 0.1 * draw.normal(size=60)
    product, other = fitted("6.0*x + 0.7*z", X, y).constants
    program = Program.parse("3.1*x*2.1 + 0.7*z", LIBRARY)
    program = replace(program, constants=(1.2345678901, product / 1.2345678901, other))
    first, second, third = judge(program, X, y).constants
    assert not first.determined
    assert not second.determined
    assert first.standard_error is None
    assert "(?)" in first.shown
    assert third.determined
    assert third.standard_error == pytest.approx(0.01, rel=0.5)


def test_a_cubic_of_years_is_determined_though_its_normal_matrix_is_nearly_singular() -> None:
    draw = np.random.default_rng(0)
    year = np.arange(1950.0, 2021.0)
    shifted = (year - 1985) / 35
    y = 3 + 2 * shifted + shifted**3 + 0.1 * draw.normal(size=len(year))
    coefficients = np.polyfit(year, y, 3)
    columns = np.vander(year, 4)
    _, triangle = np.linalg.qr(columns)
    unit = np.linalg.inv(triangle)
    spare = len(year) - 4
    left = y - columns @ coefficients
    wanted = np.sqrt(left @ left / spare * (unit**2).sum(axis=1))
    texts = [f"{float(each)!r}" for each in coefficients]
    text = "{}*x**3 + {}*x**2 + {}*x + {}".format(*texts)
    program = Program.parse(text.replace("+ -", "- "), LIBRARY)
    X = np.column_stack([year, np.zeros_like(year)])
    errors = sorted(each.standard_error or 0.0 for each in judge(program, X, y).constants)
    assert np.allclose(errors, sorted(wanted), rtol=0.05)


def test_a_neat_number_says_what_it_replaced_and_by_how_many_standard_errors() -> None:
    X, draw = table(80)
    y = 2.0 * X[:, 0] + 0.733 * X[:, 1] + 0.1 * draw.normal(size=80)
    free = fitted("2.0*x + 0.7*z", X, y)
    held = Program.parse("2.0*x + 0.7*z", LIBRARY)
    rest = float(X[:, 1] @ (y - 2.0 * X[:, 0]) / (X[:, 1] @ X[:, 1]))
    held = replace(held, constants=(2.0, rest))
    two, other = judge(held, X, y).constants
    whole = judge(free, X, y).constants
    assert two.standard_error is None
    assert two.name == "2"
    assert two.fitted == pytest.approx(free.constants[0], rel=1e-9)
    assert two.fitted_error == pytest.approx(whole[0].standard_error, rel=1e-9)
    assert two.away == pytest.approx(abs(2.0 - free.constants[0]) / whole[0].standard_error)
    assert "standard errors away" in two.said
    assert other.standard_error is not None
    assert other.standard_error < whole[1].standard_error  # what is known makes the rest surer


def test_too_few_rows_and_numbers_off_the_least_squares_say_nothing() -> None:
    X, draw = table(3)
    y = draw.normal(size=3)
    program = Program.parse("0.123456789012*x + 0.223456789012*z + 0.323456789012*x*z", LIBRARY)
    assert judge(program, X, y).certainty is None
    X, draw = table(40)
    y = 2.0 * X[:, 0] + 0.01 * draw.normal(size=40)
    elsewhere = Program.parse("1.923456789012*x", LIBRARY)
    assert judge(elsewhere, X, y).certainty is None
    assert judge(elsewhere, X, y).constants == (Constant(1.923456789012),)


def _profile(c: float, others: Callable[[float], float], level: float, start: float) -> float:
    return float(scipy.optimize.brentq(lambda at: others(at) - level, *sorted([c, start])))


def test_a_bent_profile_is_where_the_squares_have_grown_as_much_as_allowed() -> None:
    draw = np.random.default_rng(3)
    x = np.linspace(0.1, 1.0, 12)
    X = np.column_stack([x, x])
    y = 2.0 * (1 - np.exp(-1.5 * x)) + 0.03 * draw.normal(size=12)
    batch = Programs.from_list([Program.parse("2.0*(1 - exp(1.5*x))", LIBRARY)])
    fixed = np.array([[False, True, False]])
    start = batch.with_constants(np.array([[2.0, 1.0, -1.5]]))
    program = fit_constants(start, X, y, EXACT, fixed=fixed).programs[0]
    found = judge(program, X, y)
    assert found.certainty is not None
    reach = found.certainty.quantile() ** 2 * found.certainty.variance

    def best(rate: float) -> float:
        shape = 1 - np.exp(rate * x)
        left = y - shape * float(shape @ y / (shape @ shape))
        return float(left @ left)

    least, rate = best(program.constants[2]), found.numbers[2]
    assert rate.low is not None
    assert rate.high is not None
    assert best(rate.low) - least == pytest.approx(reach, rel=0.01)
    assert best(rate.high) - least == pytest.approx(reach, rel=0.01)
    # It reaches further to one side than to the other.
    assert abs((rate.value - rate.low) / (rate.high - rate.value) - 1) > 0.05


def test_a_parabola_is_left_as_it_is() -> None:
    X, draw = table(40)
    y = 2.0 * X[:, 0] + 0.5 + 0.1 * draw.normal(size=40)
    program = fitted("2.0*x + 0.5", X, y)
    data = Data.checked(X, y, ["x", "z"])
    (normal,) = normals([program], data)
    assert normal is not None
    inverse = Inverse.at(program, data, normal, (0, 1))
    assert inverse is not None
    errors = np.sqrt(np.diag(inverse.matrix))
    assert profiled(program, data, (0, 1), errors, 1.0) == {}


def test_intervals_hold_the_true_numbers_as_often_as_they_say() -> None:
    hits = rows_hit = 0
    tries, fresh = 300, 20
    for seed in range(tries):
        X, draw = table(25, seed)
        law = Program.parse("2.0*exp(-0.7*x) + 0.31*z", LIBRARY)
        y = law.evaluate(X) + 0.1 * draw.normal(size=25)
        found = judge(program := fitted(str(law), X, y), X, y)
        pairs = zip(law.constants, found.numbers, strict=True)
        hits += sum((n.low or 0) <= true <= (n.high or 0) for true, n in pairs)
        new, _ = table(fresh, 1000 + seed)
        values = law.evaluate(new) + 0.1 * draw.normal(size=fresh)
        assert found.certainty is not None
        low, high = band(program, found.certainty, new)
        rows_hit += int(((low <= values) & (values <= high)).sum())
    # Three standard errors of such counts.
    assert abs(hits / (3 * tries) - 0.95) < 0.03
    assert abs(rows_hit / (fresh * tries) - 0.95) < 0.02


def test_the_band_of_a_line_is_the_textbook_one() -> None:
    X, draw = table(30)
    y = 2.0 * X[:, 0] + 0.5 + 0.1 * draw.normal(size=30)
    program = fitted("2.0*x + 0.5", X, y)
    found = judge(program, X, y)
    assert found.certainty is not None
    new = np.array([[0.5, 1.0], [10.0, 1.0]])
    low, high = band(program, found.certainty, new, 0.9)
    x = X[:, 0]
    spread = 1 + 1 / 30 + (new[:, 0] - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()
    half = scipy.stats.t.ppf(0.95, 28) * np.sqrt(found.certainty.variance * spread)
    assert np.allclose(high - low, 2 * half, rtol=1e-6)
    largest = found.certainty.leverage
    assert largest == pytest.approx(leverages(program, found.certainty, X).max())


def test_a_fit_has_errors_everywhere_and_they_survive_json_and_old_files() -> None:
    X, draw = table(80)
    y = 2.537 * X[:, 0] ** 2 - 0.733 * X[:, 1] + 0.1 * draw.normal(size=80)
    model = SymbolicRegressor(random_state=0, max_expressions=2000, max_seconds=None).fit(X, y)
    fit = model.models_[0]
    numbers = model.constants_
    assert [each.standard_error is not None for each in numbers] == [True] * len(numbers)
    assert "standard errors: y = " in str(fit)
    values, low, high = model.predict(X, interval=0.95)
    assert (low < values).all()
    assert (values < high).all()
    inside = (low <= y) & (y <= high)
    assert inside.mean() > 0.85
    record = json.loads(json.dumps(fit.to_dict()))
    assert Model.from_dict(record) == fit
    again = Model.from_dict(record).formulas[fit.picked]
    assert again.certainty is not None
    assert fit.best.certainty is not None
    assert np.array_equal(again.certainty.covariance, fit.best.certainty.covariance)
    for each in record["formulas"]:
        for name in ("numbers", "constants", "certainty"):
            each.pop(name, None)
    del record["ranges"]
    older = Model.from_dict(record)
    assert older.best.numbers == ()
    assert older.sure == ""
    assert older.outside(X[:1]) == [""]
    with pytest.raises(InputError, match=r"errors of .* are not known"):
        older.interval(X)


def test_rows_beyond_those_of_the_fit_are_told() -> None:
    X, draw = table(80)
    X[:, 1] = X[:, 0] + 0.02 * draw.normal(size=80)
    y = 2.5 * X[:, 0] + 0.7 * X[:, 1] + 0.1 * draw.normal(size=80)
    program = fitted("2.5*x + 0.7*z", X, y)
    found = judge(program, X, y)
    formula = Formula(
        program, str(program), 0.9, 0.1, 0.9, certainty=found.certainty, constants=found.constants
    )
    ranges = tuple((float(c.min()), float(c.max())) for c in X.T)
    model = Model("y", ("x", "z"), (formula,), 0, ranges=ranges)
    assert model.outside([[1.0, 1.0], [9.0, 1.0], [9.0, 9.0], [0.5, 2.5]]) == [
        "",
        "x",
        "x, z",
        "hull",
    ]


def test_an_interval_must_be_a_share() -> None:
    X, draw = table(30)
    model = SymbolicRegressor(random_state=0, max_expressions=500, max_seconds=None)
    model.fit(X, X[:, 0] + 0.1 * draw.normal(size=30))
    for wrong in (0.0, 1.0, 95, "much"):
        with pytest.raises(InputError, match="above 0 and below 1"):
            model.predict(X, interval=wrong)  # type: ignore[call-overload]


def test_predict_writes_ends_and_says_which_rows_are_beyond(tmp_path: Any, capsys: Any) -> None:
    X, draw = table(60)
    y = 2.5 * X[:, 0] - 0.4 * X[:, 1] + 0.1 * draw.normal(size=60)
    rows = np.column_stack([X, y])
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="x,low,y", comments="")
    np.savetxt(tmp_path / "n.csv", [[1, 1], [9, 1]], delimiter=",", header="x,low", comments="")
    run = tmp_path / "run"
    words = ("fit", tmp_path / "t.csv", "--target", "y", "--max-expressions", "500", "--quiet")
    assert answer(capsys, *words, "--out", run).code == 0
    said = answer(capsys, "predict", run, tmp_path / "n.csv", "--interval", "0.9")
    head, first, second = said.out.strip().split("\n")
    assert head == "x,low,y,low_predicted,high,outside"
    _, _, value, low, high, outside = first.split(",")
    assert float(low) < float(value) < float(high)
    assert outside == ""
    assert second.endswith(",x")
    assert "1 of 2 rows are beyond the rows of the fit, the first of them row 2 (x)" in said.err
    python = answer(capsys, "export", run, "--to", "python").out
    assert python.startswith("# with standard errors: ")
    exec(compile(python, "export", "exec"), {})
    assert answer(capsys, "export", run, "--to", "latex").out.startswith("% with standard errors: ")
    shown = answer(capsys, "show", run, "--row", "2").out
    assert "95 % interval" in shown


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.19764, 0.00021, "0.1976(2)"),
        (-2.5, 0.14, "-2.50(14)"),
        (12345.0, 320.0, "12300(300)"),
        (25.0, 1.44, "25.0(1.4)"),
        (0.5, 0.96, "0.5(10)"),
        (3.2e-9, 4.1e-11, "3.20(4)e-9"),
        (3.25, None, "3.25"),
        (3.25, 0.0, "3.25"),
        (3.25, math.inf, "3.25"),
    ],
)
def test_numbers_are_shown_in_digits_that_mean_something(
    value: float, error: float | None, text: str
) -> None:
    assert with_error(value, error) == text


def test_one_sided_intervals_are_said_as_such() -> None:
    known = {"standard_error": 0.5, "low": 1.0}
    assert Constant(2.0, **known, high=math.inf).said == "95 % interval from 1.0"
    assert Constant(2.0, 0.5, low=-math.inf, high=math.inf).said.startswith("not bounded")


def test_damaged_errors_in_a_file_are_left_out() -> None:
    number = Constant(0.19764123456789, standard_error=0.0002, low=0.1, high=0.3)
    program = Program.parse("0.19764123456789*x", LIBRARY)
    known = Certainty((0,), np.array([[4e-8]]), 0.01, 20)
    text = "0.197641*x"
    formula = Formula(
        program, text, 0.9, 0.1, 0.9, constants=(number,), numbers=(number,), certainty=known
    )
    record = Model("y", ("x", "z"), (formula,), 0).to_dict()
    assert Model.from_dict(record).best.certainty == known
    record["formulas"][0]["certainty"]["free"] = [3]
    assert Model.from_dict(record).best.certainty is None
    record["formulas"][0]["numbers"][0]["value"] = 0.5
    assert Model.from_dict(record).best.numbers == ()
    record["formulas"][0]["numbers"][0]["error"] = -1.0
    with pytest.raises(InputError, match="damaged"):
        Model.from_dict(record)


# --- between formulas


def known(squares: float, rows: int, numbers: int) -> Certainty:
    """Of a formula that leaves these squares."""
    covariance = np.eye(numbers)
    return Certainty(tuple(range(numbers)), covariance, squares / (rows - numbers), rows - numbers)


def front(*certainties: Certainty | None) -> Model:
    program = Program.parse("0.19764123456789*x", LIBRARY)
    formulas = tuple(
        Formula(program, "0.197641*x", 0.9, 0.1, 0.9, constants=(Constant(program.constants[0]),))
        for _ in certainties
    )
    pairs = zip(formulas, certainties, strict=True)
    return Model("y", ("x", "z"), tuple(replace(f, certainty=c) for f, c in pairs), 1)


def test_criteria_are_those_of_the_textbook() -> None:
    found = Evidence.of(known(3.0, 40, 2))
    # The likelihood of normal noise, its variance a parameter like the others.
    likelihood = -20 * math.log(3.0 / 40)
    assert found.bic == pytest.approx(-2 * likelihood + 3 * math.log(40))
    assert found.aicc == pytest.approx(-2 * likelihood + 6 + 2 * 3 * 4 / 36)


def test_rows_that_fit_as_well_are_not_decided_between() -> None:
    # Half the difference of BIC: 40/2*log(1.1) - log(40)/2 = 0.06 nats, and 16.2 for the first.
    model = front(known(10.0, 40, 1), known(3.0, 40, 3), known(3.0 / 1.1, 40, 4), None)
    assert model.against(2) == pytest.approx(math.log(40) / 2 - 20 * math.log(1.1))
    assert model.against(0) == pytest.approx(20 * math.log(10 / 3) - math.log(40))
    assert model.against(3) is None
    assert model.undecided == "The data do not decide between rows 1 and 2."
    assert model.undecided in str(model)
    assert front(known(100.0, 40, 1), known(3.0, 40, 3)).undecided == ""


def test_a_fit_stores_how_its_rows_compare() -> None:
    X, draw = table(60)
    y = 2.5 * X[:, 0] - 0.4 * X[:, 1] + 0.1 * draw.normal(size=60)
    fit = SymbolicRegressor(random_state=0, max_expressions=500, max_seconds=None).fit(X, y)
    record = fit.models_[0].to_dict()
    assert {"description", "aicc", "bic"} <= set(record["formulas"][fit.models_[0].picked])
    lengths = [each["description"] for each in record["formulas"]]
    assert lengths[fit.models_[0].picked] <= min(lengths) + 10
    assert Model.from_dict(record) == fit.models_[0]


def test_a_formula_without_numbers_keeps_its_interval_in_json() -> None:
    X, draw = table(60)
    y = X[:, 0] * X[:, 1] + 0.1 * draw.normal(size=60)
    fit = SymbolicRegressor(random_state=0, max_expressions=500, max_seconds=None).fit(X, y)
    model = fit.models_[0]
    row = next(at for at, each in enumerate(model.formulas) if not each.constants)
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    np.testing.assert_array_equal(again.interval(X, 0.95, row), model.interval(X, 0.95, row))


def test_the_picture_of_one_input_has_the_band_of_new_rows() -> None:
    x = np.linspace(0.1, 3.0, 40)[:, None]
    y = 2.5 * x[:, 0] + 0.1 * np.random.default_rng(0).normal(size=40)
    fit = SymbolicRegressor(random_state=0, max_expressions=500, max_seconds=None).fit(x, y)
    picture = fits.data(fit.models_[0], x, y)
    assert isinstance(picture, Chart)
    (area,) = [each for each in picture.marks if isinstance(each, Area)]
    low, high = fit.models_[0].interval(x)
    assert np.interp(x[:, 0], area.x, area.low) == pytest.approx(low, abs=0.01)
    assert np.interp(x[:, 0], area.x, area.high) == pytest.approx(high, abs=0.01)


# --- the bootstrap


def test_the_bootstrap_agrees_with_least_squares_where_noise_is_alike() -> None:
    X, draw = table(150)
    y = 2.5 * X[:, 0] + 0.7 + 0.2 * draw.normal(size=150)
    program = fitted("2.5*x + 0.7", X, y)
    found = bootstrapped(program, Data.checked(X, y, ["x", "z"]))
    for one, other in zip(found, judge(program, X, y).constants, strict=True):
        assert one.standard_error == pytest.approx(other.standard_error, rel=0.15)
        assert one.low == pytest.approx(other.low, abs=0.5 * (other.standard_error or 0))


def test_the_bootstrap_knows_noise_that_grows() -> None:
    """Least squares takes the noise for the same in all rows, and is too sure of the slope."""
    draw = np.random.default_rng(0)
    slopes, said, drawn = [], [], []
    for _ in range(60):
        x = draw.uniform(0.1, 3.0, 80)
        X, y = np.column_stack([x, x]), 2.0 * x + 0.1 * x**2 * draw.normal(size=80)
        program = fitted("2.0*x", X, y)
        slopes.append(program.constants[0])
        said.append(judge(program, X, y).constants[0].standard_error)
        drawn.append(bootstrapped(program, Data.checked(X, y, ["x", "z"]), 60)[0].standard_error)
    true = float(np.std(slopes))
    assert np.mean(np.array(said, dtype=float)) < 0.8 * true
    assert np.mean(np.array(drawn, dtype=float)) == pytest.approx(true, rel=0.25)


def test_an_estimator_draws_its_rows_anew() -> None:
    X, draw = table(60)
    y = 2.537 * X[:, 0] - 0.433 * X[:, 1] + 0.1 * draw.normal(size=60)
    model = SymbolicRegressor(random_state=0, max_expressions=500, max_seconds=None).fit(X, y)
    for each in model.bootstrap(resamples=50):
        assert each.standard_error is not None
    loaded = pickle.loads(pickle.dumps(model))
    with pytest.raises(InputError, match="no rows to draw from"):
        loaded.bootstrap()
    with pytest.raises(InputError, match="resamples"):
        model.bootstrap(resamples=1)
