"""What "auto" picks from a given front, where the description length alone picks wrongly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from symseek import FitConfig, Program, Programs, fit_constants
from symseek.arrays import Floats
from symseek.model import Model
from symseek.regression.regression import Regression
from symseek.selection.held_out import squared_gain
from symseek.selection.pick import chosen
from symseek.settings import Settings


def numbers(text: str) -> Floats:
    return np.array([float(each) for each in text.split()])


def picked(
    X: Floats, y: Floats, front: Sequence[str], rule: str = "auto", names: Sequence[str] = ("x",)
) -> Model:
    """The pick from a front of these formulas, simplest first, their numbers fitted."""
    X = X.reshape(len(y), -1)
    regression = Regression(X, y, names, Settings())
    steps = regression.postprocessing
    programs = [Program.parse(each, steps.full) for each in front]
    config = FitConfig("least_squares", restarts=0, max_steps=300, rescue=False)
    formulas = []
    for program in programs:
        (fitted,) = fit_constants(Programs.from_list([program]), X, y, config).programs
        formulas.append(steps.formula(fitted))
    model = Model("y", regression.full.variables, tuple(formulas), 0, rule)
    return regression.repicked(model, rule)


RAT42 = (
    numbers("9 14 21 28 42 57 63 70 79"),
    numbers("8.93 10.80 18.59 22.33 39.35 56.11 61.73 64.62 67.08"),
)
GROWTH = [
    "x",
    "0.9*x",
    "0.9*x - 0.6",
    "0.0007*x*(1350.0 - x)",
    "0.00026*(x**2 + 223.0)*(119.0 - x)",
]


def test_residuals_of_one_sign_are_not_picked() -> None:
    """Rat42: nine rows of a sigmoid, all of them below y = x."""
    model = picked(*RAT42, GROWTH)
    residuals = RAT42[1] - model.predict(RAT42[0][:, None])
    assert 2 <= (residuals > 0).sum() <= 7
    assert model.best.r2 > 0.998
    assert model.picked_because.startswith("row 0 has the shortest description, but row 4 fits")


def test_residuals_of_one_sign_are_not_picked_beside_many_longer_rows() -> None:
    """The front of Rat42 as a search leaves it, with waves that fit anything."""
    front = [
        *GROWTH[:3],
        "0.961*x - 0.00071*x**2",
        "0.915*x + cos(x)",
        "0.0639*x*(cos(x) + 14.2)",
        "0.000249*x**2*(118.1 - x) + 6.3",
        "7.88 - 0.0334*x*(0.00831*x**2 - x + 4.71)",
        "0.0873*x*(cos(0.0986*x + 0.781) + 10.4)",
        "0.000254*x**2*(117.8 - x) - sin(0.488*x) + 6.14",
        "0.909*x + sin(0.36*x) + 0.138*(x - 10.8)*cos(x + 0.591)",
    ]
    assert picked(*RAT42, front).picked == 6


def test_mdl_is_the_description_length_alone() -> None:
    model = picked(*RAT42, GROWTH, rule="mdl")
    assert (model.picked, model.rule, model.picked_because) == (0, "mdl", "")


def test_six_rows_that_rise_are_not_their_mean() -> None:
    """BoxBOD."""
    x, y = numbers("1 2 3 5 7 10"), numbers("109 149 149 191 213 224")
    model = picked(x, y, ["172.5", "12.4*x + 114.7", "298.0 - 1045.0/(x + 4.57)"])
    assert model.best.r2 > 0.89


def test_a_number_more_is_taken_where_an_f_test_is_clear() -> None:
    """wtloss: the weight of a patient, a decay to a level."""
    days = (
        "0 4 7 7 11 18 24 30 32 43 46 60 64 70 71 71 73 74 84 88 95 102 106 109 115 122 133 137"
        " 140 143 147 148 149 150 153 156 161 164 165 165 170 176 179 198 214 218 221 225 233"
        " 238 241 246"
    )
    weights = (
        "184.35 182.51 180.45 179.91 177.91 175.81 173.11 170.06 169.31 165.1 163.11 158.3 155.8"
        " 154.31 153.86 154.2 152.2 152.8 150.3 147.8 146.1 145.6 142.5 142.3 139.4 137.9 133.7"
        " 133.7 133.3 131.2 133 132.2 130.8 131.3 129 127.9 126.9 127.7 129.5 128.4 125.4 124.9"
        " 124.9 118.2 118.2 115.3 115.7 116 115.5 112.6 114 112.6"
    )
    front = ["176.9 - 0.29*x", "68900.0/(x + 376.0)", "50200.0/(x + 307.5) + 21.2"]
    model = picked(numbers(days), numbers(weights), [*front, "102.7*exp(-0.00488*x) + 81.4"])
    assert model.picked >= 2
    assert "F test, p = 0.000" in model.picked_because


def test_two_columns_where_two_are_clearly_better() -> None:
    """stackloss: least squares on two columns has an R2 of 0.909."""
    air = numbers("80 80 75 62 62 62 62 62 58 58 58 58 58 58 50 50 50 50 50 56 70")
    water = numbers("27 27 25 24 22 23 24 24 23 18 18 17 18 19 18 18 19 19 20 20 20")
    acid = numbers("89 88 90 87 87 87 93 93 87 80 89 88 82 93 89 86 72 79 80 82 91")
    loss = numbers("42 37 37 28 18 18 19 20 15 14 14 13 11 12 8 7 8 8 9 15 15")
    front = ["water", "air - 42.9", "air + water - 64.0", "0.0253*air*water - 15.3"]
    longer = [
        "0.0439*(water - 7.66)*(air - 32.3)",
        "0.000742*water*(air - 31.2)*(water + 14.7)",
        "0.00081*air*(water**2 + 246.0) - 0.832*water",
        "0.0263*air*(water + sin(1.55*water)) - 16.3",
        "0.0265*air*(water - sin(152.0*water/acid)) - 16.1",
    ]
    X = np.column_stack([air, water, acid])
    for rows in (front, [*front, *longer]):
        model = picked(X, loss, rows, names=["air", "water", "acid"])
        assert model.picked == 3
        assert model.best.r2 > 0.909


# --- poles


def stray() -> tuple[Floats, Floats]:
    """A line with noise, and one row far off it."""
    x = np.arange(1.0, 31.0)
    y = 2 * x + 0.1 * np.random.default_rng(0).normal(size=30)
    y[11] += 8
    return x, y


@pytest.mark.parametrize(
    "term", ["0.8/(12.1 - x)", "0.08/(x - 12.1)**2", "8.0*exp(-log((x - 12.1)**2))"]
)
def test_a_pole_between_rows_is_not_picked(term: str) -> None:
    x, y = stray()
    front = ["2.0*x", f"2.0*x + {term}"]
    assert picked(x, y, front, rule="mdl").picked == 1
    model = picked(x, y, front)
    assert model.picked == 0
    assert "it has a pole between the rows, near x = 12." in model.picked_because


def test_a_formula_that_is_undefined_between_rows_is_not_picked() -> None:
    x = np.arange(1.0, 31.0)
    y = np.sqrt((x - 15.1) * (x - 15.9)) + 0.002 * np.random.default_rng(0).normal(size=30)
    front = ["1.0*abs(x - 15.5)", "1.0*sqrt((x - 15.1)*(x - 15.9))"]
    assert picked(x, y, front, rule="mdl").picked == 1
    model = picked(x, y, front)
    assert model.picked == 0
    assert "it is undefined between the rows, near x = 15." in model.picked_because


def test_a_pole_that_the_rows_show_is_picked() -> None:
    x = np.linspace(0, 10, 41)
    y = 3 / (x - 4.4) + 0.05 * np.random.default_rng(1).normal(size=41)
    model = picked(x, y, ["0.1", "0.1*x + 0.1", "3.0/(x - 4.4)"])
    assert (model.picked, model.picked_because) == (2, "")


# --- waves


def test_a_sine_through_a_few_distinct_values_is_not_picked() -> None:
    """As of the distance of flights: few routes, each with a mean of its own."""
    rng = np.random.default_rng(3)
    routes = np.array([184.0, 229.0, 397.0, 502.0, 733.0, 1029.0, 1400.0, 2475.0])
    means, at = rng.normal(size=8), rng.integers(0, 8, 300)
    y = 10 + means[at] + 0.5 * rng.normal(size=300)
    rate = strongest_rate(routes[at], y, np.linspace(0.02, 0.2, 4000))
    front = ["10.0", "0.0001*x + 10.0", f"sin({rate}*x + 1.0) + 10.0"]
    assert picked(routes[at], y, front, rule="mdl").picked == 2
    model = picked(routes[at], y, front)
    assert model.picked < 2
    assert "its periodic function does not pay on held-out rows" in model.picked_because


def strongest_rate(x: Floats, y: Floats, rates: Floats) -> float:
    power = [abs(np.sum((y - y.mean()) * np.exp(1j * each * x))) for each in rates]
    return float(rates[np.argmax(power)])


@pytest.mark.parametrize("seed", range(4))
def test_a_wave_through_a_random_walk_is_not_picked(seed: int) -> None:
    """Rows that follow each other in time are held out in blocks."""
    time = np.arange(300.0)
    walk = np.cumsum(np.random.default_rng(seed).normal(size=300))
    rate = strongest_rate(time, walk, np.linspace(0.03, 0.2, 200))
    front = ["1.0", "0.01*x + 1.0", f"0.01*x + 4.0*sin({rate}*x + 1.0) + 1.0"]
    assert picked(time, walk, front, rule="mdl").picked == 2
    assert "sin" not in picked(time, walk, front).best.text


def test_two_periods_of_a_random_walk_are_no_wave() -> None:
    """Held-out blocks between known rows are easily met by a slow wave, however well it pays."""
    month = np.arange(1.0, 121.0)
    walk = np.cumsum(np.random.default_rng(0).normal(size=120))
    y = 0.25 * month + 3 * np.sin(0.105 * month) + walk + 52
    front = ["0.25*x + 50.0", "0.25*x + 4.0*sin(0.105*x + 0.1) + 50.0"]
    assert picked(month, y, front, rule="mdl").picked == 1
    assert picked(month, y, front).picked == 0


def test_a_season_of_many_years_is_picked_although_the_rows_drift() -> None:
    year = 1949 + np.arange(144) / 12
    drift = np.cumsum(0.4 * np.random.default_rng(1).normal(size=144))
    y = 30 * (year - 1945) * (1 + 0.12 * np.sin(2 * np.pi * year)) + 9 * drift
    front = ["30.0*x - 58350.0", "30.0*(x - 1945.0)*(1.0 + 0.12*sin(6.2832*x + 0.1))"]
    assert picked(year, y, front).picked == 1


def test_a_wave_that_two_rows_decide_is_not_picked() -> None:
    """mammals: most rows are near zero, so that steps are small; two elephants make the wave."""
    rng = np.random.default_rng(0)
    body = np.append(np.exp(rng.uniform(-4, 5, 60)), [2547.0, 6654.0])
    brain = 9 * body**0.75 * np.exp(rng.normal(0, 0.3, 62))
    brain[-2:] = 4603.0, 5712.0
    front = ["1.0*x", "1.87*x - 2.29e-8*x**3", "x*(cos(0.0043218*x) + 1.7496)"]
    assert "cos" not in picked(body, brain, front).best.text


@pytest.mark.parametrize("sorted_rows", [True, False])
def test_a_wave_that_cycles_is_picked(sorted_rows: bool) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 20, 120)
    x = np.sort(x) if sorted_rows else x
    y = 2.2 * np.sin(1.7 * x) + 1.1 + 0.3 * rng.normal(size=120)
    model = picked(x, y, ["1.0", "0.1*x + 1.0", "2.0*sin(1.7*x) + 1.0"])
    assert (model.picked, model.picked_because) == (2, "")


def test_part_of_a_wave_is_picked_where_it_pays() -> None:
    """Malus' law over a quarter of a turn."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 1.5, 200)
    y = 3 * np.cos(x) ** 2 + 0.03 * rng.normal(size=200)
    model = picked(x, y, ["1.5", "3.0 - 2.0*x", "3.0*exp(-x**2)", "3.0*cos(x)**2"])
    assert model.picked == 3


# --- held-out rows


def test_terms_that_do_not_pay_on_blocks_of_time_are_left_out() -> None:
    rng = np.random.default_rng(5)
    time = np.arange(200.0)
    drift = np.cumsum(0.2 * rng.normal(size=200))
    other = np.cumsum(rng.normal(size=200))  # has nothing to do with it
    y = 0.1 * time + drift
    front = ["0.1*a", "0.1*a + 0.1*b", "0.1*a + 0.1*b + 0.001*a*b + 1.0"]
    X = np.column_stack([time, other])
    assert picked(X, y, front, rule="mdl", names="ab").picked == 2
    model = picked(X, y, front, names="ab")
    assert model.picked == 0
    assert "row 0 predicts held-out rows as well with fewer numbers" in model.picked_because


def test_noise_is_its_mean_for_any_number_of_rows() -> None:
    """No test makes more of noise than it is: a line now and then."""
    wrong = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(5, 40))
        x, y = rng.uniform(0, 5, rows), rng.normal(5, 1, rows)
        wrong += picked(x, y, ["5.0", "0.1*x + 5.0", "0.1*x**2 - 0.1*x + 5.0"]).picked != 0
    assert wrong <= 1


def test_an_exact_law_is_picked_without_tests() -> None:
    x = np.linspace(0, 1.2, 12)
    model = picked(x, 2 * np.sin(x), ["1.0", "2.0*x", "2.0*sin(x)"])
    assert (model.picked, model.picked_because) == (2, "")


@pytest.mark.parametrize("unit", [1.0, 4e307, 1e-300])
def test_a_gain_has_no_unit(unit: float) -> None:
    losses = unit * np.array([2.0, 3.0, 4.0])
    assert squared_gain(losses, unit * np.ones(3), np.arange(3)) == pytest.approx(2 * 3**0.5)


# --- of one complexity


def test_of_one_complexity_the_formula_with_fewer_numbers_is_on_the_front() -> None:
    """Puromycin: a hyperbola has one number more than the law of Michaelis and Menten."""
    x = np.repeat([0.02, 0.06, 0.11, 0.22, 0.56, 1.1], 2)
    y = numbers("76 47 97 107 123 139 159 152 191 201 207 200")
    steps = Regression(x[:, None], y, ["x"], Settings()).postprocessing
    law, hyperbola = "212.684*x/(x + 0.0641213)", "221.67 - 19.8829/(x + 0.104666)"
    formulas = [steps.formula(Program.parse(each, steps.full)) for each in (hyperbola, law)]
    assert formulas[0].complexity == formulas[1].complexity
    assert formulas[0].nrmse < formulas[1].nrmse
    assert [each.text for each in steps.front(formulas)] == [formulas[1].text]


# --- the reason is told


def test_the_reason_is_printed_and_kept() -> None:
    model = picked(*RAT42, GROWTH)
    said = f"Row {model.picked} is picked: {model.picked_because}."
    assert str(model).splitlines()[-1] == said
    again = Model.from_dict(model.to_dict())
    assert again.picked_because == model.picked_because
    older = {name: each for name, each in model.to_dict().items() if name != "picked_because"}
    assert Model.from_dict(older).picked_because == ""


def test_the_same_pick_with_any_number_of_threads() -> None:
    x, y = stray()
    choices = set()
    for threads in (1, 2):
        regression = Regression(x[:, None], y, ["x"], Settings(threads=threads))
        steps = regression.postprocessing
        texts = ["2.0*x", "2.0*x + 0.8/(12.1 - x)", "2.1*x - 0.5"]
        formulas = [steps.formula(Program.parse(each, steps.full)) for each in texts]
        choices.add(steps.pick(formulas, "auto"))
    assert len(choices) == 1


def test_where_one_row_has_nearly_all_the_weight_nothing_is_held_out() -> None:
    x = np.arange(1.0, 61.0)[:, None]
    y = np.sin(x[:, 0]) + x[:, 0] + np.random.default_rng(0).normal(size=60)
    weights = np.append(np.full(59, 1e-9), 1.0)
    regression = Regression(x, y, ["x"], Settings(), weights=weights)
    front = [Program.parse(each, regression.full) for each in ("60.0", "x", "sin(x) + 0.99*x")]
    errors = [regression.measure.error(each) for each in front]
    assert 0 <= chosen(front, errors, regression.measure).row < 3
