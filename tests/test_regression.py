"""From a table in any units to formulas in the same units."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from examples import mostly_slow
from refusals import refused
from symseek import InputError, Iteration, Library, Program, Stopped
from symseek.arrays import Floats
from symseek.data import Data, Scales
from symseek.model import Accuracy, Formula, Model, full_library
from symseek.notation.printing import infix
from symseek.regression.regression import Regression, simple_programs
from symseek.rewards import InverseNRMSE
from symseek.selection import rules
from symseek.settings import Settings
from symseek.tokens import short_number

DRAW = np.random.default_rng(0)
X = DRAW.uniform(0.5, 2, (60, 2))
Y = X[:, 0] * np.sin(X[:, 1])
NOISE = DRAW.normal(size=60)


def regression(
    inputs: Floats, y: Floats, features: Sequence[str] = "abcdefgh", **settings: Any
) -> Regression:
    """A search that has been run."""
    weights = settings.pop("weights", None)
    chosen = Settings(**{"max_expressions": 5_000, **settings})
    found = Regression(inputs, y, features[: inputs.shape[1]], chosen, weights=weights)
    found.run()
    return found


def model(*arguments: Any, **settings: Any) -> Model:
    return regression(*arguments, **settings).model()


# --- units

ORBITS = np.array([57.909, 108.21, 149.598, 227.956, 778.479, 1432.041, 2867.043, 4514.953]) * 1e9
YEARS = np.array([87.969, 224.701, 365.256, 686.98, 4332.589, 10759.22, 30685.4, 60189.0]) * 86400


def test_keplers_law_from_eight_planets() -> None:
    """Metres and seconds; measured, so that nothing is exact, and few rows to overfit."""
    law = model(ORBITS[:, None], YEARS, max_expressions=20_000)
    assert law.best.text == "5.42891e-10*a**(3/2)"
    period = 5.45e-10 * ORBITS**1.5
    assert np.allclose(law.predict(ORBITS[:, None]), period, rtol=0.01)


def test_coulombs_law() -> None:
    charges = DRAW.uniform(1e-9, 5e-9, (40, 2))
    distance = DRAW.uniform(1e-3, 1e-2, 40)
    table = np.column_stack([charges, distance])
    force = 8.9875e9 * charges[:, 0] * charges[:, 1] / distance**2
    law = model(table, force, ["q1", "q2", "r"], max_expressions=60_000)
    assert law.best.nrmse < 1e-12
    assert "8.9875e9" in law.best.text
    assert str(law.best.program.sympy()) == "8987500000*q1*q2/r**2"


@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e6, 1e12, 1e100])
@pytest.mark.parametrize("unit", [1e-9, 1e12])
def test_huge_and_tiny_columns(size: float, unit: float) -> None:
    law = model(X * [unit, 1.0], size * 3.0 * X[:, 0] * X[:, 1])
    assert law.best.nrmse < 1e-12
    (constant,) = law.best.program.constants
    assert constant == pytest.approx(3.0 * size / unit, rel=1e-9)
    assert {"a", "b"} == {str(each) for each in law.best.program.sympy().free_symbols}


def test_ordinary_columns_are_left_alone() -> None:
    scales = Scales.of(np.array([[0.5, 0.0, 3e5], [90.0, 0.0, -1e6]]), np.array([0.02, 0.03]))
    assert scales.inputs.tolist() == [1.0, 1.0, 1e6]
    assert scales.target == 1.0


def test_units_may_be_kept() -> None:
    plain = regression(X * 1e6, 1e9 * Y, scale=False)
    assert plain.rows.scales.inputs.tolist() == [1.0, 1.0]
    assert np.array_equal(plain.rows.searched.X, plain.rows.train.X)


def test_a_reward_in_the_targets_own_units_keeps_them() -> None:
    found = regression(X * 1e6, 1e9 * Y, reward="inverse_mae", max_expressions=1_000)
    assert found.rows.scales.target == 1.0
    assert found.rows.scales.inputs.tolist() == [1e6, 1e6]


def test_without_constants_nothing_is_scaled() -> None:
    """A search that has no numbers cannot turn the units of a*b into those of y."""
    law = model(X * 300, 9e4 * X[:, 0] * X[:, 1], constants=False)
    assert law.best.text in ("a*b", "b*a")


# --- when a search ends


@pytest.mark.parametrize("reward", ["inverse_nrmse", "inverse_nmse", "inverse_mse", "r2"])
def test_an_exact_formula_ends_the_search(reward: str) -> None:
    search = Regression(X, 2.5 * X[:, 0] * X[:, 1], "ab", Settings(reward=reward))
    assert search.run().stopped is Stopped.EXACT
    assert search.search.expressions < 100_000
    assert search.model().best.nrmse < 1e-8


@pytest.mark.parametrize("reward", ["inverse_nrmse", "inverse_nmse", "inverse_mse", "r2"])
def test_a_good_approximation_does_not_end_the_search(reward: str) -> None:
    """To a reward of squares, an error of 1e-5 of the spread is 1e-10."""
    line = 2.0 * X[:, 0] + 1.0
    almost = line + 1e-5 * line.std() * NOISE
    found = Regression(X[:, :1], almost, "a", Settings(reward=reward, max_expressions=1_000))
    assert found.run().stopped is Stopped.BUDGET


def test_other_rewards_end_with_the_budget() -> None:
    def negative_error(y: Floats, predictions: Floats, weights: Floats) -> Floats:
        return -np.abs(predictions - y).mean(axis=1)

    found = Regression(X, X[:, 0], "ab", Settings(reward=negative_error, max_expressions=500))
    assert found.run().stopped is Stopped.BUDGET
    assert found.model().best.text == "a"


@pytest.mark.slow
def test_a_search_that_finds_nothing_better_ends() -> None:
    settings = Settings(patience=1_000, max_expressions=50_000)
    found = Regression(X, NOISE, "ab", settings)
    assert found.run().stopped is Stopped.EARLY
    assert found.search.expressions < 50_000
    assert found.run().stopped is Stopped.EARLY  # and continues only if it may
    before = found.search.expressions
    found.raise_budget(settings)
    assert found.run().expressions > before + 1_000
    endless = Regression(X, NOISE, "ab", Settings(patience=None, max_expressions=5_000))
    assert endless.run().stopped is Stopped.BUDGET


def test_the_budget_holds_for_the_simple_formulas_too() -> None:
    wide = DRAW.normal(size=(30, 20))
    found = regression(wide, NOISE[:30], [f"c{i}" for i in range(20)], max_expressions=50)
    assert found.search.expressions <= 50
    assert found.model().formulas


def test_a_search_that_was_interrupted_has_a_model() -> None:
    def press(now: Iteration) -> None:
        if now.iteration == 2:
            raise KeyboardInterrupt

    search = Regression(X, Y + 0.1 * NOISE, "ab", Settings(method="dsr"))
    assert search.run(press).stopped is Stopped.INTERRUPTED
    assert search.search.iteration == 2
    assert search.model().best.r2 > 0.5


@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("constants", [True, False])
def test_before_it_has_run_there_is_the_mean(final: bool, constants: bool) -> None:
    fresh = Regression(X, Y, "ab", Settings(constants=constants)).model(final)
    assert [each.program.constants for each in fresh.formulas] == [(pytest.approx(Y.mean()),)]


def test_the_model_so_far_is_of_the_same_kind() -> None:
    search = regression(X * 1e6, 1e9 * (Y + 0.1 * NOISE), validation=0.2)
    quick, final = search.model(final=False), search.model()
    assert quick.rule == final.rule == "validation"
    assert final.formulas[-1].nrmse <= quick.formulas[-1].nrmse * (1 + 1e-6)
    for each in (quick, final):
        assert [row.complexity for row in each.formulas] == sorted(
            {row.complexity for row in each.formulas}
        )


# --- rows


def test_a_sample_is_searched_and_all_rows_are_fitted() -> None:
    many = DRAW.uniform(0.5, 2, (5_000, 2))
    law = 2.4871 * many[:, 0] * many[:, 1] + 0.1 * DRAW.normal(size=5_000)
    search = regression(many, law, sample_rows=40, max_expressions=3_000)
    assert search.rows.searched.X.shape == (40, 2)
    found = search.model()
    table = np.column_stack([many[:, 0] * many[:, 1]])
    (slope,) = np.linalg.lstsq(table, law, rcond=None)[0]
    assert found.best.text in (f"{slope:.6g}*a*b", f"{slope:.6g}*b*a")
    residuals = found.predict(many) - law
    assert found.best.nrmse == pytest.approx(residuals.std() / law.std(), rel=1e-3)


def test_a_sample_is_drawn_by_the_seed() -> None:
    many = DRAW.uniform(0.5, 2, (500, 2))
    y = many.sum(axis=1)
    first, again, other = (
        Regression(many, y, "ab", Settings(sample_rows=20, seed=seed)).rows.searched.X
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert Regression(many, y, "ab", Settings(sample_rows=None)).rows.searched.X.shape == (500, 2)


def test_a_sample_whose_target_is_constant_is_told() -> None:
    rare = np.zeros(5_000)
    rare[:2] = 1.0
    with refused("y", value=0.0):
        Regression(DRAW.normal(size=(5_000, 1)), rare, "a", Settings(sample_rows=5))


def test_rows_kept_aside_are_not_learnt_from() -> None:
    search = regression(X, Y + 0.1 * NOISE, validation=0.25)
    assert search.rows.validation is not None
    assert (len(search.rows.train.y), len(search.rows.validation.y)) == (45, 15)
    together = np.vstack([search.rows.train.X, search.rows.validation.X])
    assert np.array_equal(np.unique(together, axis=0), np.unique(X, axis=0))
    found = search.model()
    assert found.rule == "validation"
    for each in found.formulas:
        errors = each.program.evaluate(search.rows.validation.X) - search.rows.validation.y
        score = 1 - (errors**2).mean() / search.rows.validation.y.var()
        assert each.validation_r2 == pytest.approx(score)


def test_other_rules_may_pick_where_rows_are_kept_aside() -> None:
    exact, shortest = (
        model(X, Y + 0.1 * NOISE, validation=0.25, pick=rule) for rule in ("accuracy", "mdl")
    )
    assert (exact.rule, shortest.rule) == ("accuracy", "mdl")
    assert exact.best.validation_r2 is not None
    assert exact.picked == len(exact.formulas) - 1
    assert shortest.picked < len(shortest.formulas) - 1


@pytest.mark.slow
def test_weights_say_what_counts() -> None:
    odd = Y.copy()
    odd[:10] += 50.0
    weights = np.where(np.arange(60) < 10, 1e-9, 1.0)
    assert model(X, odd, weights=weights, max_expressions=20_000).best.text in (
        "a*sin(b)",
        "sin(b)*a",
    )


def test_rows_of_no_weight_need_no_value_in_large_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symseek.regression.rows._MERGED", 10)
    table = np.vstack([X, [[-1.0, 1.0]]])
    law = np.append(np.log(X[:, 0]), 99.0)
    found = model(table, law, weights=np.append(np.ones(60), 0.0), max_expressions=20_000)
    assert found.best.text == "log(a)"


# --- few rows


@pytest.mark.parametrize("rows", mostly_slow([3, 4, 5, 6], 3, 5))
def test_few_rows_are_not_interpolated(rows: int) -> None:
    """As many constants as rows fit anything: such formulas are neither written nor picked."""
    for seed in range(3):
        draw = np.random.default_rng([rows, seed])
        x, noise = draw.uniform(0.5, 2, (rows, 1)), draw.normal(size=rows)
        search = regression(x, noise, seed=seed)
        for each in search.search.front:
            assert len(each.program.constants) < rows
        best = search.model().best
        assert len(best.program.constants) <= 1
        assert best.nrmse > 0.1


@pytest.mark.parametrize("rows", [3, 4, 6])
def test_exact_laws_are_found_in_few_rows(rows: int) -> None:
    x = np.linspace(1, 2, rows)[:, None]
    assert model(x, 2.0 * x[:, 0] + 1.0).best.text == "2*a + 1"
    assert model(x, 3.0 * x[:, 0] ** 2).best.text == "3*a**2"


def test_a_noisy_line_in_six_rows() -> None:
    x = np.array([0.5, 0.8, 1.1, 1.4, 1.7, 2.0])
    y = 2 * x + 1 + np.array([0.02, -0.03, 0.01, 0.03, -0.02, -0.01])
    assert model(x[:, None], y).best.text == "2*a + 1"


@pytest.mark.parametrize("noise", [0.0, 1e-4, 1e-2])
def test_numbers_are_told_where_the_rows_decide(noise: float) -> None:
    many = np.random.default_rng(3).uniform(1, 5, (1_000, 3))
    law = many[:, 0] * many[:, 1] / (4 * np.pi * many[:, 2])
    law = law + noise * law.std() * np.random.default_rng(4).normal(size=1_000)
    assert model(many, law).best.text == "a*b/(4*pi*c)"


def test_a_target_of_few_digits_is_met_by_numbers_that_are_told() -> None:
    many = np.random.default_rng(3).uniform(1, 5, (1_000, 2))
    for law, text in (
        (many[:, 0] * many[:, 1] / (2 * np.pi), "a*b/(2*pi)"),
        (3.39 * many[:, 0] * many[:, 1], "3.39*a*b"),
    ):
        best = model(many, law.round(4)).best
        assert (best.text, best.exact) == (text, True)


@pytest.mark.parametrize("why", ["another number", "no noise", "absolute errors"])
def test_numbers_stay_fitted_where_nothing_is_decided(why: str) -> None:
    """The slope is 0.47, or is near 1/2 while a wave is left, or what is fitted is the median."""
    x = np.linspace(1, 5, 400)
    left = 0.02 * np.random.default_rng(0).normal(size=400)
    law = (0.47 if why == "another number" else 0.5) * x
    if why == "no noise":
        left = 0.02 * np.sin(7 * x)
    search = Regression(
        x[:, None],
        law + left,
        "a",
        Settings(reward="inverse_mae" if why == "absolute errors" else "inverse_nrmse"),
    )
    slope = float(x @ (law + left) / (x @ x))
    line = Program.parse(f"{slope!r}*a", search.full)
    assert search.postprocessing.neat(line) == line
    if why != "another number":
        noise = 0.02 * np.random.default_rng(0).normal(size=400)
        other = Regression(x[:, None], law + noise, "a")
        assert str(other.postprocessing.neat(line)) == "0.5*a"


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(InputError, match="only 2 different rows; a search needs at least 3"):
        Regression(X[:2], Y[:2], "ab")
    with pytest.raises(InputError, match="is 2 of 4 rows; it must be at least 2 of them, and le"):
        Regression(X[:4], Y[:4], "ab", Settings(validation=0.5))


# --- what is picked


@pytest.mark.parametrize("seed", mostly_slow(range(3), 1))
def test_noise_is_not_learnt(seed: int) -> None:
    draw = np.random.default_rng(seed)
    x = draw.uniform(-2, 2, (200, 2))
    line = 2 * x[:, 0] + 1
    found = model(x, line + 0.1 * line.std() * draw.normal(size=200), seed=seed)
    assert found.rule == "auto"
    assert found.picked < len(found.formulas) - 1
    slope, offset = np.polyfit(x[:, 0], found.predict(x), 1)
    assert found.best.complexity == 5
    assert (slope, offset) == (pytest.approx(2, abs=0.05), pytest.approx(1, abs=0.05))


def test_pure_noise_is_its_mean() -> None:
    found = model(X, NOISE)
    assert found.best.text == f"{NOISE.mean():.6g}"


def test_rules() -> None:
    assert rules.accuracy([0.5, 1e-13, 1e-13]) == 1
    assert rules.accuracy([0.5, 0.4, 0.41]) == 1
    sizes: dict[str, Any] = {"lengths": [1, 5, 12], "constants": [1, 2, 6], "tokens": 12}

    def shortest(errors: list[float], rows: int) -> int:
        return int(np.argmin(rules.descriptions(errors, rows=rows, **sizes)))

    assert shortest([1.0, 0.1, 0.099], rows=200) == 1
    assert shortest([1.0, 0.1, 0.001], rows=200) == 2
    assert shortest([1.0, 0.1, 1e-9], rows=6) == 1  # 6 constants fit 6 rows
    assert shortest([np.inf, np.inf, 0.5], rows=6) == 2
    assert shortest([np.inf, 0.5, np.inf], rows=6) == 1
    squares = np.array([[4.0, 9.0, 4.0], [1.0, 1.2, 0.8], [1.0, 1.0, 0.9]])
    assert rules.validation(squares, 1.0) == 1
    assert rules.validation(np.full((2, 3), np.inf), 1.0) == 0
    squares[1, 0] = np.nan
    assert rules.validation(squares, 1.0) == 2
    assert rules.validation(np.array([[1e-25, 1e-25], [1e-30, 1e-30]]), 1.0) == 0


# --- formulas


def test_without_constants_no_number_is_fitted() -> None:
    found = model(X[:, :1], 1.97 * X[:, 0] + 0.01 * NOISE, constants=False, seed=1)
    assert [each.text for each in found.formulas[:2]] == ["a", "2*a"]
    assert not {1.97, 1.969, 1.968} & {round(c, 3) for c in found.formulas[1].program.constants}


@pytest.mark.parametrize(
    ("law", "texts"),
    [
        (X[:, 0] * X[:, 1], ("a*b", "b*a")),
        (X[:, 0] - X[:, 1], ("a - b",)),
        (X[:, 0] / X[:, 1], ("a/b",)),
        (np.sin(X[:, 1]), ("sin(b)",)),
        (X[:, 1] ** 2, ("b**2",)),
    ],
)
@pytest.mark.parametrize("settings", [{"constants": False}, {"max_length": 4}])
def test_the_shortest_laws(law: Floats, texts: tuple[str, ...], settings: dict[str, Any]) -> None:
    """Without constants, or in little room, a*b is not found as a part of something longer."""
    assert model(X, law, **settings).best.text in texts


def test_exponents_are_not_fitted() -> None:
    x = DRAW.uniform(1, 5, (100, 1))
    noise = 1 + 0.02 * DRAW.normal(size=100)
    assert model(x, x[:, 0] ** 1.5 * noise, max_expressions=20_000).best.text == "a**(3/2)"
    powers = ("mul", "pow")
    free = model(x, 2 * x[:, 0] ** 1.37, operators=powers, max_expressions=20_000)
    assert free.best.text == "2*a**1.37"


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 3, 6, 15])
def test_no_formula_is_longer_than_asked_for(length: int) -> None:
    search = regression(X, Y + 0.1 * NOISE, max_length=length, max_expressions=3_000)
    # The linear formulas, of up to five tokens, are always tried.
    assert max(len(each.program) for each in search.search.front) <= max(length, 5)


@pytest.mark.parametrize("enough", [20_000, 30])
def test_terms_that_hardly_matter_are_left_out(enough: int, monkeypatch: Any) -> None:
    """Some of the rows show it as well."""
    monkeypatch.setattr("symseek.regression.refitting._ENOUGH", enough)
    search = Regression(X, 3.0 * X[:, 0] + X[:, 1] ** 2, "ab")
    names = search.library
    fitted = [
        Program.parse("2.9999999*a + b**2 + 1e-9*sin(a)", names),
        Program.parse("3.0000001*(a + 1e-10) + (b + 1e-11*a)**2", names),
    ]
    steps, rows = search.postprocessing, search.rows.searched
    short = steps.refit.tightened([steps.simplified(each) for each in fitted], rows)
    refitted = [
        infix(each, [short_number(value) for value in each.constants])
        for each in steps.refit(short, rows)
    ]
    assert "3*a + b**2" in refitted


def test_a_column_that_is_constant_does_no_harm() -> None:
    table = np.column_stack([np.full(60, 7.0), X[:, 0], np.zeros(60)])
    assert model(table, X[:, 0] ** 2, max_expressions=3_000).best.text == "b**2"


def test_a_hundred_columns() -> None:
    wide = np.random.default_rng(1).uniform(0.5, 2, (80, 100))
    names = [f"c{i}" for i in range(100)]
    found = model(wide, 2 * wide[:, 42] + 1, names, max_expressions=2_000)
    assert found.best.text == "2*c42 + 1"
    assert found.features == tuple(names)


def test_columns_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two columns are named 'x'; rename one"):
        Regression(X, Y, ["x", "x"])


def test_formulas_undefined_on_rows_kept_aside_can_be_saved() -> None:
    library = full_library(["a"])
    formulas = [
        Formula(Program.parse(text, library), text, 0.5, 0.5, 0.75, score)
        for text, score in (("a", 0.5), ("log(a)", -np.inf))
    ]
    saved = Model("y", ("a",), tuple(formulas), 0, "validation")
    text = json.dumps(saved.to_dict(), allow_nan=False)
    again = Model.from_dict(json.loads(text))
    assert [each.validation_r2 for each in again.formulas] == [0.5, None]
    assert "-inf" in str(saved).splitlines()[2]


@pytest.mark.parametrize("factor", [1e100, 1e152, 1e155, 1e308])
def test_enormous_errors_are_grades_too(factor: float) -> None:
    data = Data.checked(np.array([[1.0], [2.0], [3.0]]), np.array([1e-3, 2e-3, 2.5e-3]), ["x"])
    program = Program.parse(f"{factor!r}*x", full_library(["x"]))
    grade = Accuracy.of(program, data, InverseNRMSE())
    assert grade.nrmse > 1e100
    assert grade.r2 < -1e200
    assert grade.reward < 1e-100


def test_the_text_is_what_predicts() -> None:
    """Neat numbers are looked for on some rows of many, and the others have to agree."""
    many = np.random.default_rng(5).uniform(0.5, 2, (6_001, 1))
    law = 2.5 * many[:, 0] + 0.1 * np.random.default_rng(6).normal(size=6_001)
    for each in model(many, law, max_expressions=2_000).formulas:
        read = Program.parse(each.text, each.program.library).evaluate(many)
        assert np.allclose(read, each.program.evaluate(many), rtol=1e-5)


def test_exact_formulas_have_more_digits() -> None:
    assert model(X, 1.2345678 * X[:, 0]).best.text == "1.2345678*a"
    assert model(X, X[:, 0] / 3 + np.pi).best.text == "1/3*a + pi"
    assert model(X[:5, :1], np.array([1.000001, 2.0, 5.0, 1.0, 3.0])).formulas[0].text == "2.4"


def test_shown_numbers_are_short() -> None:
    program = Program.parse("3.14159265*x + 1.5e-9", None)
    texts = [short_number(value) for value in program.constants]
    assert infix(program, texts) == "3.14159*x + 1.5e-9"


def test_simple_programs() -> None:
    def texts(operators: Sequence[Any], variables: Sequence[str]) -> list[str]:
        return [str(each) for each in simple_programs(Library(operators, [*variables]))]

    linear = ["x", "1.0*x", "1.0*x + 1.0", "y", "1.0*y", "1.0*y + 1.0"]
    assert texts(["add", "mul", "sin", "const"], "xy") == linear
    assert texts(["mul", "const"], "x") == ["x", "1.0*x"]
    assert texts(["add", "const"], "x") == ["x"]
    assert texts(["add", "cos"], "xy") == [
        *("x", "y", "cos(x)", "cos(y)"),
        *("x + x", "x + y", "y + x", "y + y"),
    ]
    many = [f"x{i}" for i in range(300)]
    assert len(texts(["add", "cos"], many)) == 600  # no pairs


# --- settings


def test_linear_algebra_has_one_thread_while_a_search_runs() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads(*_: object) -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    seen: list[list[int]] = []
    x = np.linspace(1, 2, 50)
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        y = np.random.default_rng(0).normal(size=50)
        found = Regression(x[:, None], y, ["x"], Settings(max_expressions=2_000))
        found.run(lambda now: seen.append(threads()))
        assert threads() == before
    assert seen
    assert all(count == 1 for each in seen for count in each)
