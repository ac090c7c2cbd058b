"""The estimator behaves as scikit-learn's own do, and finds formulas."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from examples import QUICK
from refusals import refused
from symseek import InputError, Search, SymbolicRegressor, Token, presets
from symseek.model import Model
from symseek.regression.estimator import UndefinedWarning
from symseek.regression.regression import Regression
from symseek.settings import Settings

DRAW = np.random.default_rng(0)
X = DRAW.uniform(0.5, 2, (60, 2))
Y = X[:, 0] * np.sin(X[:, 1])
NOISE = 0.05 * DRAW.normal(size=60)


def regressor(**settings: Any) -> SymbolicRegressor:
    small = {"max_expressions": 2_000, "random_state": 0, "structure": False}
    return SymbolicRegressor(**{**small, **settings})


@pytest.fixture(scope="module")
def noisy() -> SymbolicRegressor:
    """Fitted once for the tests that only ask it; they leave it as it is."""
    return regressor().fit(X, Y + NOISE)


@parametrize_with_checks([regressor(max_expressions=300, structure=not QUICK)])
def test_what_scikit_learn_asks_for(estimator: Any, check: Any) -> None:
    check(estimator)


def test_its_parameters_are_the_settings() -> None:
    """By the same names and defaults, except where scikit-learn has names of its own."""
    defaults = {each.name: each.default for each in fields(Settings)}
    own = {"seed": "random_state", "threads": "n_jobs"}
    expected = {own.get(name, name) for name in defaults}
    expected |= {"warm_start", "verbose", "undefined", "all_columns"}
    parameters = SymbolicRegressor().get_params()
    assert set(parameters) == expected
    shared = set(defaults) & set(parameters)
    assert {name: parameters[name] for name in shared} == {name: defaults[name] for name in shared}


# --- in the company of other estimators


def test_in_a_pipeline_and_a_grid_search() -> None:
    pipeline = make_pipeline(StandardScaler(), regressor(max_expressions=10_000))
    grid = GridSearchCV(pipeline, {"symbolicregressor__max_length": [1, 12]}, cv=2)
    grid.fit(X, X[:, 0] * X[:, 1] + NOISE)
    assert grid.best_params_ == {"symbolicregressor__max_length": 12}
    assert grid.best_score_ > 0.9
    assert cross_val_score(regressor(), X, Y + NOISE, cv=2).min() > 0.8


def test_a_clone_has_the_settings_and_nothing_else() -> None:
    wave = Token("wave", 1, 3, formula="sin(a)/a")
    model = regressor(operators=["add", "mul", wave], config=presets.dsr(max_expressions=1_000))
    fresh = clone(model.fit(X, Y))
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "models_")


def test_a_pickled_model_predicts_and_prints_the_same() -> None:
    wave = Token("wave", 1, 3, formula="sin(a)/a")
    for operators in (("add", "mul", "sin"), ("add", "mul", wave)):
        model = regressor(operators=operators, warm_start=True).fit(X, Y + NOISE)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(X), model.predict(X))
        assert str(again) == str(model)
        assert again.history_ == model.history_
        assert again.fit(X, Y).score(X, Y) > 0.9  # starts again


# --- names


def test_columns_of_a_frame_are_in_the_formula() -> None:
    names = ["flow rate", "größe.x"]
    target = pandas.Series(X[:, 0] / X[:, 1], name="Leistung, W")
    model = regressor(max_expressions=20_000).fit(pandas.DataFrame(X, columns=names), target)
    assert model.formula() == "`flow rate`/`größe.x`"
    assert "Leistung, W =" in str(model)
    assert model.model("Leistung, W") is model.models_[0]
    frame = pandas.DataFrame(X[:, ::-1], columns=names[::-1])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame)
    assert np.array_equal(model.predict(frame[names]), target)


def test_columns_without_names_are_numbered() -> None:
    model = regressor(max_expressions=20_000).fit(X, Y)
    assert {str(each) for each in model.sympy().free_symbols} == {"x0", "x1"}
    assert r"\sin" in model.latex()
    assert model.models_[0].target == "y"


@pytest.mark.parametrize("name", ["sin", "const", "neg_exp"])
def test_a_column_named_like_an_operator_is_refused(name: str) -> None:
    frame = pandas.DataFrame(X, columns=["x", name])
    with pytest.raises(InputError, match=f"column '{name}' is named like an operator; rename it"):
        regressor().fit(frame, Y)


# --- weights


def front(model: SymbolicRegressor) -> list[Any]:
    return [(each.program, each.nrmse, each.text) for each in model.models_[0].formulas]


def texts(model: SymbolicRegressor) -> list[str]:
    return [each.text for each in model.models_[0].formulas]


def test_rows_of_no_weight_are_as_if_they_were_not_there() -> None:
    odd = np.vstack([X, [[-5.0, 7.0]], [[0.0, 0.0]]])
    targets = np.append(Y + NOISE, [1e6, -1e6])
    weights = np.append(np.ones(60), [0.0, 0.0])
    weighted = regressor().fit(odd, targets, sample_weight=weights)
    assert texts(weighted) == texts(regressor().fit(X, Y + NOISE))


def test_weights_are_repetitions() -> None:
    counts = DRAW.integers(1, 4, 60)
    weighted = regressor().fit(X, Y + NOISE, sample_weight=counts)
    repeated = regressor().fit(np.repeat(X, counts, axis=0), np.repeat(Y + NOISE, counts))
    assert texts(weighted) == texts(repeated)
    assert texts(weighted) != texts(regressor().fit(X, Y + NOISE))


@pytest.mark.parametrize("weights", [-np.ones(60), np.zeros(60)])
def test_bad_weights(weights: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="weights"):
        regressor().fit(X, Y, sample_weight=weights)


# --- seeds


def test_a_seed_gives_the_same_whatever_the_threads(noisy: SymbolicRegressor) -> None:
    one = regressor(random_state=3, n_jobs=1).fit(X, Y + NOISE)
    all_cores = regressor(random_state=np.int64(3), n_jobs=-1).fit(X, Y + NOISE)
    assert front(one) == front(all_cores)
    assert one.history_[0][0].mean_reward != noisy.history_[0][0].mean_reward


def test_random_states_are_drawn_from() -> None:
    states = [np.random.RandomState(7), np.random.RandomState(7)]
    first, again = (regressor(random_state=state).fit(X, Y + NOISE) for state in states)
    assert front(first) == front(again)
    before = first.history_[0][0].mean_reward
    assert first.fit(X, Y + NOISE).history_[0][0].mean_reward != before  # the state has continued
    assert regressor(random_state=None).fit(X, Y).score(X, Y) > 0.5


# --- going on


@pytest.mark.parametrize("state", [0, None])
def test_a_warm_start_on_the_same_data_goes_on(state: int | None) -> None:
    noisy = Y + NOISE
    model = regressor(warm_start=True, random_state=state, max_expressions=3_000).fit(X, noisy)
    before, iterations = model.history_[0][-1].best, model.n_iter_
    model.fit(X, noisy)
    assert model.history_[0][-1].expressions > 5_000
    assert model.n_iter_ > iterations
    assert model.history_[0][-1].best.reward >= before.reward * (1 - 1e-9)
    cold = regressor(random_state=0, max_expressions=3_000).fit(X, noisy).fit(X, noisy)
    assert cold.history_[0][-1].expressions <= 3_000


def test_a_warm_start_on_other_data_begins_with_the_formulas_it_had() -> None:
    law = 2.5 * X[:, 0] * np.sin(X[:, 1]) + 1.5
    options = {"structure": False}  # which finds such laws at once
    model = regressor(warm_start=True, max_expressions=60_000, **options).fit(X, law)
    assert model.score(X, law) == 1.0
    more = DRAW.uniform(0.5, 2, (40, 2))
    other = 4.5 * more[:, 0] * np.sin(more[:, 1]) - 0.5
    model.set_params(max_expressions=200).fit(more, other)
    assert model.score(more, other) == 1.0
    anew = regressor(max_expressions=200, **options).fit(more, other)
    assert anew.score(more, other) < 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"max_length": 8},
        {"operators": ["add", "mul"]},
        {"config": presets.dsr(max_expressions=1_000)},
        {"validation": 0.2},
        {"random_state": 5},
    ],
    ids=lambda each: next(iter(each)),
)
def test_a_warm_start_with_other_settings_begins_a_search_of_its_own(
    changes: dict[str, Any],
) -> None:
    model = regressor(warm_start=True).fit(X, Y + NOISE)
    last = model._regressions[0]
    model.set_params(**changes).fit(X, Y + NOISE)
    assert model._regressions[0] is not last
    assert model.history_[0][-1].expressions <= 2_000


def test_a_warm_start_with_another_network_works() -> None:
    small = presets.dsr(max_expressions=1_000)
    large = replace(small, policy=replace(small.policy, hidden=8))
    model = regressor(warm_start=True, config=small).fit(X, Y)
    assert model.set_params(config=large).fit(X, Y).score(X, Y) > 0.5
    again = model.set_params(config=replace(large, max_expressions=3_000)).fit(X, Y)
    assert again.history_[0][-1].expressions > 2_000  # another budget is no other setting


def test_a_warm_start_after_validation_rows_have_changed_is_not_a_continuation() -> None:
    model = regressor(warm_start=True, validation=0.25).fit(X, Y + NOISE)
    last = model._regressions[0]
    assert last.rows.validation is not None
    changed = np.where(np.isin(Y + NOISE, last.rows.validation.y), Y + NOISE + 1.0, Y + NOISE)
    model.fit(X, changed)
    assert model._regressions[0] is not last


# --- several targets


@pytest.mark.parametrize("named", [True, False])
def test_each_target_has_its_formula(named: bool) -> None:
    targets: Any = np.column_stack([X[:, 0] * X[:, 1], X[:, 0] - 2 * X[:, 1]])
    if named:
        targets = pandas.DataFrame(targets, columns=["area", "rest"])
    model = regressor(max_expressions=20_000).fit(X, targets)
    assert [each.target for each in model.models_] == (["area", "rest"] if named else ["y0", "y1"])
    assert np.allclose(model.predict(X), np.asarray(targets))
    assert model.predict(X).shape == (60, 2)
    assert [each.columns[0] for each in model.front_] == ["complexity", "complexity"]
    assert model.score(X, targets) == pytest.approx(1.0)
    assert model.formula(target=1) == model.model(1).best.text
    assert str(model).count(">") == 2
    alone = regressor(max_expressions=20_000).fit(X, np.asarray(targets)[:, 1])
    assert alone.formula() == model.formula(target=1)
    for absent in (2, -1, "height"):
        with pytest.raises(InputError, match=r"unknown target|`target` is"):
            model.formula(target=absent)


def test_a_column_vector_is_one_target() -> None:
    with pytest.warns(DataConversionWarning):
        model = regressor().fit(X, Y[:, None])
    assert model.predict(X).shape == (60,)


# --- what is found


def test_the_front_as_a_table(noisy: SymbolicRegressor) -> None:
    table = noisy.front_
    assert list(table.columns) == [
        "complexity",
        "reward",
        "nrmse",
        "exact",
        "rmse",
        "r2",
        "validation_r2",
        "expression",
    ]
    assert table.index.name == "row"
    assert (np.diff(table["complexity"]) > 0).all()
    assert (np.diff(table["nrmse"]) < 0).all()
    assert table["validation_r2"].isna().all()
    assert noisy.formula(1) == table["expression"][1]


def test_the_picked_row_is_marked_and_predicts(noisy: SymbolicRegressor) -> None:
    found = noisy.models_[0]
    (marked,) = [line for line in str(noisy).splitlines() if line.startswith(">")]
    assert marked.split()[1] == str(found.picked)
    assert marked.endswith(noisy.formula())
    assert np.array_equal(noisy.predict(X), noisy.predict(X, row=found.picked))
    assert not np.array_equal(noisy.predict(X), noisy.predict(X, row=0))


@pytest.mark.parametrize("row", [-1, 99])
def test_a_row_that_is_not_there(row: int) -> None:
    model = regressor().fit(X, Y + NOISE)
    with refused("row", wanted="the front has rows 0 to 3"):
        model.predict(X, row=row)


def test_errors_are_the_usual_ones_in_the_units_of_the_target() -> None:
    weights = DRAW.uniform(0.5, 2, 60)
    target = 100 * (Y + NOISE)
    model = regressor().fit(X, target, sample_weight=weights)
    table = model.front_
    for row in table.index:
        values = model.predict(X, row=row)
        r2 = r2_score(target, values, sample_weight=weights)
        rmse = np.sqrt(mean_squared_error(target, values, sample_weight=weights))
        assert table["r2"][row] == pytest.approx(r2, abs=1e-9)
        assert table["rmse"][row] == pytest.approx(rmse, rel=1e-9)
        assert model.model().rmse(row) == table["rmse"][row]
        assert f"{rmse:.4g}" in str(model).splitlines()[1 + row]
    assert model.model().rmse() == table["rmse"][model.model().picked]
    assert "RMSE" in str(model).splitlines()[0]
    older = Model.from_dict({**model.model().to_dict(), "spread": None})
    assert older.rmse() is None
    assert older.frame()["rmse"].isna().all()
    assert " RMSE" not in str(older)
    for spread in (0.0, -1.0, NAN, "1", True):
        with pytest.raises(InputError, match="spread"):
            Model.from_dict({**model.model().to_dict(), "spread": spread})


# --- where a formula has no value

LINE = np.linspace(0.1, 3, 40)
BEYOND = np.array([[-1.0], [1.0], [2.0]])
MEAN = float(np.log(LINE).mean())


def logarithm(**settings: Any) -> SymbolicRegressor:
    model = regressor(max_expressions=20_000, **settings).fit(LINE[:, None], np.log(LINE))
    assert model.formula() == "log(x0)"
    return model


def test_where_a_formula_is_undefined_the_score_takes_the_mean() -> None:
    assert logarithm().score(BEYOND, [MEAN, 0.0, np.log(2.0)]) == pytest.approx(1.0)


def test_undefined_predictions_are_told_and_what_to_do() -> None:
    model = logarithm()
    with pytest.warns(UndefinedWarning) as caught:
        values = model.predict(BEYOND)
    assert np.isfinite(values).tolist() == [False, True, True]
    assert "log(x0) has no value in 1 of 3 rows, the first of them row 0" in str(caught[0].message)
    assert "set `undefined` to 'mean'" in str(caught[0].message)
    assert caught[0].filename == __file__
    model.set_params(undefined="mean")
    assert model.predict(BEYOND).tolist() == pytest.approx([MEAN, 0.0, np.log(2.0)])
    model.set_params(undefined="error")
    with pytest.raises(InputError, match="row 0; leave them out, or set `undefined` to 'mean'"):
        model.predict(BEYOND)
    assert model.predict(BEYOND[1:]).tolist() == pytest.approx([0.0, np.log(2.0)])
    for wrong in ("men", None, 3):
        with refused("undefined"):
            model.set_params(undefined=wrong).predict(BEYOND)


def test_scores_of_cross_validation_are_numbers_or_it_is_told_why_not() -> None:
    """The first fold is trained where the logarithm is defined, and tested where it is not."""
    x = np.concatenate([np.linspace(-1, -0.1, 10), LINE])[:, None]
    y = np.log(np.abs(x[:, 0]))
    folds = [(np.arange(10, 50), np.arange(10))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = cross_val_score(
            regressor(max_expressions=20_000), x, y, cv=folds, scoring="neg_mean_squared_error"
        )
    assert np.isnan(scores).all()
    assert any("set `undefined` to 'mean'" in str(each.message) for each in caught)
    filled = regressor(max_expressions=20_000, undefined="mean")
    scores = cross_val_score(filled, x, y, cv=folds, scoring="neg_mean_squared_error")
    assert np.isfinite(scores).all()
    assert np.isfinite(cross_val_score(regressor(), x, y, cv=folds)).all()


def test_each_target_has_its_own_mean_where_it_is_undefined() -> None:
    both = np.column_stack([np.log(LINE), LINE**2])
    model = regressor(max_expressions=20_000, undefined="mean").fit(LINE[:, None], both)
    assert model.predict(BEYOND)[0].tolist() == pytest.approx([MEAN, 1.0])


# --- the pick after the fit


def test_another_pick_after_the_fit_picks_anew() -> None:
    rules = ("accuracy", "mdl", "validation", "auto")
    noisy = Y + 6 * NOISE
    fitted = {rule: regressor(validation=0.25, pick=rule).fit(X, noisy).model() for rule in rules}
    assert len({each.picked for each in fitted.values()}) > 1
    model = regressor(validation=0.25).fit(X, noisy)
    for rule in (*rules, *rules):
        model.set_params(pick=rule)
        found = model.model()
        assert (found.picked, found.rule) == (fitted[rule].picked, fitted[rule].rule)
        assert np.array_equal(model.predict(X), fitted[rule].predict(X))
        assert model.formula() == fitted[rule].best.text


@pytest.mark.slow
def test_a_pick_that_cannot_be_made_is_told() -> None:
    model = regressor(structure=True).fit(X, Y + NOISE)
    before = model.formula()
    for rule, says in (("mld", "did you mean 'mdl'"), ("validation", "needs validation rows")):
        with pytest.raises(InputError, match=says):
            model.set_params(pick=rule).predict(X)
    with refused("pick", value=3):
        model.set_params(pick=3).predict(X)
    assert model.set_params(pick="auto").formula() == before
    loaded = pickle.loads(pickle.dumps(model.set_params(pick="elbow")))
    assert loaded.formula() == model.formula()
    loaded.set_params(pick="accuracy")
    with pytest.raises(InputError, match="set it back, fit again, or choose a formula with `row`"):
        loaded.predict(X)
    assert loaded.set_params(pick="elbow").formula() == model.formula()
    assert loaded.set_params(pick="accuracy").fit(X, Y + NOISE).model().rule == "accuracy"


def test_a_warm_start_goes_on_after_another_pick() -> None:
    model = regressor(warm_start=True).fit(X, Y + NOISE)
    last = model._regressions[0]
    model.set_params(pick="accuracy")
    assert model.model().rule == "accuracy"
    model.fit(X, Y + NOISE)
    assert model._regressions[0] is last
    assert model.model().rule == "accuracy"


# --- the report


@pytest.mark.parametrize("several", [False, True])
def test_a_report_needs_a_path_alone(several: bool, tmp_path: Path) -> None:
    target = np.column_stack([Y + NOISE, 2 * Y + NOISE]) if several else Y + NOISE
    model = regressor().fit(X, target)
    page = tmp_path / "report.html"
    model.report(page)
    text = page.read_text()
    assert text.count(">row</th>") == (2 if several else 1)
    assert text.count("60 rows, 2 input columns") == 1
    assert "Seed 0" in text
    loaded = pickle.loads(pickle.dumps(model))
    with pytest.raises(InputError, match="a model that was saved has no rows to show; give `X`"):
        loaded.report(tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()
    loaded.report(tmp_path / "other.html", X, target)
    assert (tmp_path / "other.html").read_text() == text
    with pytest.raises(InputError, match="give both `X` and `y`"):
        loaded.report(tmp_path / "other.html", X)
    with pytest.raises(NotFittedError):
        regressor().report(page)


# --- the stop button


def test_stopping_the_last_touches_keeps_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Regression.model

    def stopped(self: Regression, final: bool = True) -> Model:
        if final:
            raise KeyboardInterrupt
        return whole(self, final)

    monkeypatch.setattr(Regression, "model", stopped)
    assert regressor().fit(X, Y + NOISE).score(X, Y) > 0.5


@pytest.mark.slow
def test_stopping_one_search_stops_those_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found for the first target is kept, and the second has its simplest formulas."""
    runs: list[int] = []
    step = Search.step

    def stopped(self: Search, state: Any, context: Any) -> Any:
        runs.append(id(self))
        if len(set(runs)) == 1 and len(runs) == 4:
            raise KeyboardInterrupt
        return step(self, state, context)

    monkeypatch.setattr(Search, "step", stopped)
    config = presets.hybrid(max_expressions=10**9, batch_size=100)
    both = np.column_stack([Y + NOISE, 2 * Y + NOISE])
    model = regressor(config=config, patience=None).fit(X, both)
    assert len(runs) == 5
    assert [len(each.formulas) > 1 for each in model.models_] == [True, True]
    assert np.isfinite(model.predict(X)).all()


def test_before_a_fit_there_is_nothing() -> None:
    model = regressor()
    for ask in (
        lambda: model.predict(X),
        lambda: model.front_,
        lambda: model.formula(),
        lambda: model.sympy(),
        lambda: model.latex(),
    ):
        with pytest.raises(NotFittedError):
            ask()
    assert str(model) == repr(model)
    with refused("y", value=1.0):
        model.fit(X, np.ones(60))
    with pytest.raises(NotFittedError):  # one that failed is none
        model.predict(X)


def test_a_configuration_with_every_detail() -> None:
    config = presets.evolution(max_expressions=4_000, batch_size=100)
    model = regressor(config=config).fit(X, Y + NOISE)
    assert 3_000 < model.history_[0][-1].expressions <= 4_000
    assert model._regressions[0].search.config == config


def test_operators_of_ones_own() -> None:
    wave = Token("wave", 1, 3, formula="sin(a)/a")
    x = np.linspace(0.1, 9, 60)
    model = regressor(operators=["add", "mul", wave, 2], max_expressions=20_000)
    model.fit(x[:, None], 3 * np.sin(x) / x)
    assert model.formula() == "3*wave(x0)"
    assert Model.from_dict(model.models_[0].to_dict()) == model.models_[0]


def test_operators_may_be_tokens_of_the_table() -> None:
    from symseek.tokens import OPERATORS

    model = regressor(operators=["add", OPERATORS["mul"], OPERATORS["sin"]]).fit(X, Y)
    assert model.score(X, Y) > 0.5


def test_progress_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    regressor().fit(X, Y)
    assert capsys.readouterr() == ("", "")
    regressor(verbose=True).fit(X, Y)
    assert capsys.readouterr().out == ""


def test_a_notebook_shows_the_front(noisy: SymbolicRegressor) -> None:
    assert "SymbolicRegressor" in regressor()._repr_mimebundle_()["text/html"]
    shown = noisy._repr_mimebundle_()
    assert "<math" in shown["text/html"]
    assert "▸" in shown["text/html"]
    assert shown["text/plain"] == str(noisy)


# --- parameters that make no sense

NAN = float("nan")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"operators": ["add", "sine"]}, "unknown token 'sine'; did you mean 'sin'?"),
        ({"operators": []}, "`operators` is empty"),
        ({"operators": ["add", "add"]}, "'add' is in the library twice"),
        ({"method": "hybird"}, "unknown method 'hybird'; did you mean 'hybrid'?"),
        ({"reward": "inverse_rmse"}, "unknown reward 'inverse_rmse'; did you mean 'inverse_nrmse'"),
        ({"reward": 3}, "`reward` is 3; it must be a name"),
        ({"pick": "mld"}, "unknown pick rule 'mld'; did you mean 'mdl'?"),
        ({"pick": "validation"}, "needs validation rows; set `validation`"),
        ({"validation": -0.1}, "`validation` is -0.1; it must be a share of the rows"),
        ({"validation": 0.95}, "`validation` is 0.95; it must be a share of the rows"),
        ({"validation": NAN}, "`validation` is nan; it must be a share of the rows"),
        ({"validation": 0.01}, "which is 1 of 60 rows; it must be at least 2 of them"),
        ({"validation": "0.2"}, "`validation` is '0.2'; it must be a share"),
        ({"max_expressions": 0}, "`max_expressions` is 0; it must be a whole number of 2 or more"),
        ({"max_expressions": -5}, "`max_expressions` is -5"),
        ({"max_expressions": NAN}, "`max_expressions` is nan"),
        ({"max_expressions": 1e6}, "`max_expressions` is 1000000.0; it must be a whole number"),
        ({"max_seconds": 0}, "`max_seconds` is 0; it must be a positive number, or none"),
        ({"max_seconds": -1.0}, "`max_seconds` is -1.0"),
        ({"max_seconds": NAN}, "`max_seconds` is nan"),
        ({"max_seconds": float("inf")}, "`max_seconds` is inf"),
        ({"max_length": 0}, "`max_length` is 0; it must be a whole number from 1 to 1000"),
        ({"max_length": 12.5}, "`max_length` is 12.5"),
        ({"patience": 0}, "`patience` is 0; it must be a whole number of 1 or more, or none"),
        ({"patience": NAN}, "`patience` is nan"),
        ({"sample_rows": 2}, "`sample_rows` is 2; it must be a whole number of 3 or more, or none"),
        ({"sample_rows": NAN}, "`sample_rows` is nan"),
        ({"random_state": -1}, "`random_state` is -1; it must be a whole number from 0 to"),
        ({"random_state": -1, "validation": 0.2}, "`random_state` is -1"),
        ({"n_jobs": 0}, "`n_jobs` is 0; use a number of threads, or -1 for every core"),
        ({"n_jobs": -10_000}, "`n_jobs` is -10000"),
        ({"n_jobs": 5_000}, "`n_jobs` is 5000"),
    ],
)
def test_bad_parameters_get_a_sentence(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as error:
        regressor(**settings).fit(X, Y)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("inputs", "target", "says"),
    [
        (X, np.ones(60), "y is constant"),
        (X, 1e200 * Y, "y reaches .*e.200, and squares of such numbers are lost"),
        (X, 1e-200 * Y, "y reaches .*e-200, and squares of such numbers are lost"),
        (X[:2], Y[:2], "there are only 2 different rows; a search needs at least 3"),
        (np.repeat(X[:2], 9, axis=0), np.repeat(Y[:2], 9), "only 2 different rows"),
        (np.where(X > 1.9, np.nan, X), Y, "NaN"),
    ],
)
def test_bad_tables_get_a_sentence(inputs: Any, target: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        regressor().fit(inputs, target)


def test_a_target_named_like_a_feature_is_y() -> None:
    table = pandas.DataFrame({"x": np.linspace(1, 2, 20)})
    model = regressor().fit(table, table["x"] ** 2)
    assert model.models_[0].target == "y"


def test_operators_as_one_text_are_refused() -> None:
    with refused("operators", value="add"):
        regressor(operators="add").fit(np.arange(10.0)[:, None], np.arange(10.0) ** 2)
