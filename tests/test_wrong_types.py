"""The public functions with arguments of every wrong type: one sentence, and not a raw error."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Iterator
from enum import EnumMeta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refusals
import symseek
from examples import examples
from symseek import (
    InputError,
    Length,
    Library,
    PredictionReward,
    Program,
    Programs,
    Search,
    SymbolicRegressor,
    Token,
    fit_constants,
    fit_many,
    presets,
    rounded,
)
from symseek.data import Data
from symseek.model import Accuracy, Formula, Model, full_library
from symseek.rewards import R2
from symseek.text import r2_text

LIBRARY = Library(["add", "mul", "sin", "const"], ["x"])
PROGRAM = Program.parse("x + 1.5", LIBRARY)
FULL = full_library(["x"])
FORMULAS = tuple(
    Formula(Program.parse(text, FULL), text, 0.5, 0.5, 0.75) for text in ("2.5", "x", "x + 2.5")
)
MODEL = Model("y", ("x",), FORMULAS, 1, spread=2.0)
X = np.linspace(0, 1, 30)[:, None]
Y = X[:, 0] ** 2 + X[:, 0]

WRONG = [
    *(None, True, 1.5, -1, 2**70, 10**5000, float("nan"), pd.NA, "\x1b[31m", "x" * 6000, b"x"),
    *([], {}, set(), [None], ["\x1b[31m"], [[1, "a"]], object(), int, lambda: 0, Ellipsis),
    *(np.zeros(0), np.array("a"), np.array(1.5), pd.Series(["a"]), {"a": 1}, 1j),
]


def fitted(**parameters: Any) -> SymbolicRegressor:
    usual = {"max_expressions": 2, "max_seconds": 1.0, "random_state": 0}
    return SymbolicRegressor(**{**usual, **parameters}).fit(X, Y)


@pytest.fixture(scope="module")
def estimator() -> SymbolicRegressor:
    return fitted()


CALLS: dict[str, Callable[[Any], object]] = {
    "Program.parse": Program.parse,
    "Program.parse library": lambda value: Program.parse("x", value),
    "Program.from_preorder": lambda value: Program.from_preorder(value, LIBRARY),
    "Program.from_preorder library": lambda value: Program.from_preorder("x", value),
    "Program.from_sympy": Program.from_sympy,
    "Program library": lambda value: Program(value, (0,)),
    "Program tokens": lambda value: Program(LIBRARY, value),
    "Program constants": lambda value: Program(LIBRARY, (3,), value),
    "Program.evaluate": PROGRAM.evaluate,
    "Programs.from_list": Programs.from_list,
    "Programs.concatenate": Programs.concatenate,
    "Library": Library,
    "Library variables": lambda value: Library(["add"], value),
    "Token": lambda value: Token(value, 1),
    "Token arity": lambda value: Token("q", value),
    "Token formula": lambda value: Token("q", 1, formula=value),
    "Model.formula": MODEL.formula,
    "Model.predict": MODEL.predict,
    "Model.predict row": lambda value: MODEL.predict(X, value),
    "Model.rmse": MODEL.rmse,
    "Model.from_dict": Model.from_dict,
    "PredictionReward": PredictionReward,
    "rounded": lambda value: rounded(value, X, Y),
    "fit_constants": lambda value: fit_constants(value, X, Y),
    "Data X": lambda value: Data.checked(value, Y, ["x"]),
    "Data y": lambda value: Data.checked(X, value, ["x"]),
    "Data weights": lambda value: Data.checked(X, Y, ["x"], value),
    "Search library": lambda value: Search(value, X, Y),
    "Search X": lambda value: Search(LIBRARY, value, Y),
    "Search y": lambda value: Search(LIBRARY, X, value),
    "Search reward": lambda value: Search(LIBRARY, X, Y, reward=value),
    "Search seed": lambda value: Search(LIBRARY, X, Y, seed=value),
}


def refused(call: Callable[[Any], object], value: Any) -> None:
    """Call it: what it raises, if anything, is a sentence of ours that can be shown."""
    try:
        call(value)
    except InputError as error:
        text = str(error)
        assert 10 < len(text) < 700
        assert text.isprintable()


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_gets_one_sentence(name: str) -> None:
    for value in WRONG:
        refused(CALLS[name], value)


# What else a public function or class needs before the argument that is wrong.
NEEDED: dict[str, dict[str, Any]] = {
    "ConstraintSet": {"library": LIBRARY, "constraints": [Length(4, 20)]},
    "Count": {"tokens": "sin"},
    "Entry": {"program": PROGRAM, "reward": 0.5, "complexity": 3},
    "Forbid": {"tokens": "sin", "relation": "child", "of": "sin"},
    "Library": {"names": ["add"], "variables": ["x"]},
    "NotAll": {"tokens": "const"},
    "Program": {"library": LIBRARY, "tokens": (LIBRARY.index("x"),)},
    "Search": {"library": LIBRARY, "X": X, "y": Y},
    "Token": {"name": "q", "arity": 1},
    "fit_constants": {"programs": Programs.from_list([PROGRAM]), "X": X, "y": Y},
    "fit_many": {"tables": {"a": (X, Y)}, "max_expressions": 0},  # refused after all the others
    "rounded": {"program": PROGRAM, "X": X, "y": Y},
}
ODD = [None, 1.5, -1, 10**500, "x", b"x", [], [None], {"a": 1}, object(), int, np.zeros(2), 1j]


def arguments(public: Any) -> Iterator[str]:
    """The parameters for which `NEEDED` has all the others that have no default."""
    given = [
        each
        for each in inspect.signature(public).parameters.values()
        if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]
    required = {each.name for each in given if each.default is each.empty}
    for each in given:
        if required <= {*NEEDED.get(public.__name__, {}), each.name}:
            yield each.name


@pytest.mark.parametrize("name", sorted({*symseek.__all__} - {"Fits", "InputError"}))
def test_a_wrong_argument_of_anything_public_gets_one_sentence(name: str) -> None:
    public = getattr(symseek, name)
    if callable(public) and not isinstance(public, EnumMeta):
        for argument in arguments(public):
            for value in ODD:
                given = NEEDED.get(name, {}) | {argument: value}
                refused(lambda given: public(**given), given)


@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_wrong_arguments_of_methods_get_one_sentence(value: Any) -> None:
    search = Search(LIBRARY, X, Y)
    refused(lambda value: search.run(5), value)
    for call in (
        search.sample,
        search.consider,
        presets.method,
        LIBRARY.index,
        LIBRARY.__getitem__,
    ):
        refused(call, value)
    refused(lambda value: Search(LIBRARY, X, Y).raise_budget(value, None), value)
    refused(lambda value: Search(LIBRARY, X, Y).raise_budget(None, value), value)
    refused(lambda value: search.sample(5, value), value)
    refused(lambda value: MODEL.formula().form(value), value)
    refused(lambda value: MODEL.formula().written(value), value)
    assert value not in LIBRARY or value == "x"


@pytest.mark.parametrize("name", sorted(SymbolicRegressor().get_params()))
def test_a_parameter_of_a_wrong_type_gets_one_sentence(name: str) -> None:
    for value in WRONG:
        if not (value is None or value is True):  # what some parameters may be, and then search
            refused(lambda value: fitted(**{name: value}), value)


@pytest.mark.parametrize("method", ["formula", "sympy", "latex"])
def test_a_row_or_target_of_a_wrong_type_gets_one_sentence(
    method: str, estimator: SymbolicRegressor
) -> None:
    for value in WRONG:
        refused(getattr(estimator, method), value)
        refused(lambda value: getattr(estimator, method)(target=value), value)
        refused(lambda value: estimator.predict(X, value), value)


@examples(100)
@given(
    st.sampled_from([name for name in CALLS if not name.startswith("Search")]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
        max_leaves=5,
    ),
)
def test_any_value_gets_one_sentence(name: str, value: Any) -> None:
    refused(CALLS[name], value)


def test_what_the_sentences_say() -> None:
    with refusals.refused("the formula", wanted="text, such as 'x**2 + 1'"):
        Program.parse(None)  # type: ignore[arg-type]
    for row in ("x", 1.5, True, np.float64(1.0)):
        with refusals.refused("row", wanted="a whole number, or None for the picked formula"):
            MODEL.formula(row)  # type: ignore[arg-type]
        with refusals.refused("row", wanted="a whole number, or None for the picked formula"):
            MODEL.predict(X, row)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be a function of the target, predictions and"):
        fitted(reward=lambda: 0)
    with refusals.refused(
        "operators",
        value=5,
        wanted="a list of operators, numbers and Tokens, such as ['add', 'mul']",
    ):
        fitted(operators=5)
    assert MODEL.formula(np.int64(2)) is MODEL.formulas[2]


def test_a_reward_may_take_more_than_it_is_given() -> None:
    for function in (
        lambda y, predictions, weights: np.ones(len(predictions)),
        lambda *every: np.ones(len(every[1])),
        lambda y, predictions, weights, power=2: np.ones(len(predictions)),
        np.vectorize(lambda y, predictions, weights: 1.0),
    ):
        PredictionReward(function)


@pytest.mark.parametrize(
    "y",
    [
        [str(each) for each in Y],
        np.array([str(each) for each in Y]),
        np.array([str(each) for each in Y], dtype=object),
        pd.Series([str(each) for each in Y]),
        pd.DataFrame({"y": [str(each) for each in Y]}),
        [*Y[:-1], "3"],
    ],
)
def test_a_target_of_text_is_not_converted(y: Any) -> None:
    with pytest.raises(InputError, match=r"y has the text '.*' in row \d+; give numbers"):
        SymbolicRegressor().fit(X, y)


def test_columns_of_text_are_not_converted(estimator: SymbolicRegressor) -> None:
    frame = pd.DataFrame({"x": X[:, 0], "b": [str(each) for each in Y]})
    with pytest.raises(InputError, match=r"column 'b' of X has the text '.*' in row 0"):
        SymbolicRegressor().fit(frame, Y)
    for inputs in (X.astype(str), X.astype(str).astype(object), X.astype(str).tolist()):
        with refusals.refused("X", value="0.0"):
            SymbolicRegressor().fit(inputs, Y)
        with refusals.refused("X", value="0.0"):
            estimator.predict(inputs)
    with pytest.raises(InputError, match="y has a missing value in row 1"):
        SymbolicRegressor().fit(X, [1.0, pd.NA, *Y[2:]])


TEXT = [str(each) for each in Y]
BATCH = Programs.from_list([PROGRAM])
QUICK = {"jobs": 1, "max_expressions": 300, "structure": False}
LONG = pd.DataFrame({"g": 30 * ["u"], "x": X[:, 0], "t": TEXT, "y": Y})


def line_of(tables: dict[str, Any]) -> None:
    """What the line of a table that cannot be fitted says, raised."""
    raise InputError(fit_many(tables, **QUICK).table["error"][0])


TAKE_Y: dict[str, Callable[[Any], object]] = {
    "fit": lambda y: SymbolicRegressor().fit(X, y),
    "fit_many": lambda y: line_of({"a": (X, y)}),
    "fit_many of a DataFrame": lambda y: fit_many(
        LONG.assign(y=y, t=0), target="y", by="g", **QUICK
    ),
    "Search": lambda y: Search(LIBRARY, X, y),
    "fit_constants": lambda y: fit_constants(BATCH, X, y),
    "rounded": lambda y: rounded(PROGRAM, X, y),
    "weights": lambda y: Search(LIBRARY, X, Y, weights=y),
    "sample_weight": lambda y: SymbolicRegressor().fit(X, Y, sample_weight=y),
}
TAKE_X: dict[str, Callable[[Any], object]] = {
    "fit_many": lambda x: line_of({"a": (x, Y)}),
    "Search": lambda x: Search(LIBRARY, x, Y),
    "evaluate": PROGRAM.evaluate,
    "predict": MODEL.predict,
}
NOT_REAL: dict[str, Any] = {
    "the text": TEXT,
    "the text 'x'": np.array(["x", *TEXT[1:]], dtype=object),
    "Complex data not supported": Y + 1j,
    "the date or time 2024-01-01": pd.date_range("2024-01-01", periods=30),
    "the date or time 2024": pd.Series(pd.period_range("2024", periods=30, freq="D")),
    "the date or time 0": pd.Series(pd.to_timedelta(range(30), unit="D"), dtype=object),
}


@pytest.mark.parametrize("wrong", NOT_REAL)
@pytest.mark.parametrize("takes", TAKE_Y)
def test_only_numbers_are_taken_for_a_target(takes: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        TAKE_Y[takes](NOT_REAL[wrong])


@pytest.mark.parametrize("takes", TAKE_X)
def test_only_numbers_are_taken_for_columns(takes: str) -> None:
    for wrong in (X.astype(str), pd.DataFrame({"x": TEXT}), [[each] for each in TEXT]):
        with pytest.raises(InputError, match="the text"):
            TAKE_X[takes](wrong)
    with pytest.raises(InputError, match="Complex"):
        TAKE_X[takes](X + 1j)


def test_columns_of_text_that_are_not_used_may_stay() -> None:
    fits = fit_many(LONG, target="y", by="g", features=["x"], **QUICK)
    assert list(fits) == ["u"]
    with refusals.refused("column 't'", value="0.0"):
        fit_many(LONG, target="y", by="g", **QUICK)
    missing = LONG.assign(x=[None, *X[1:, 0].astype(object)])
    assert list(fit_many(missing, target="y", by="g", features=["x"], drop_missing=True, **QUICK))


def test_scores_and_columns_of_other_tables_are_told_in_a_sentence(
    estimator: SymbolicRegressor,
) -> None:
    with refusals.refused("y", value="0.0"):
        estimator.score(X, TEXT)
    for weights in (TEXT, [1, 2], 1j * Y):
        with pytest.raises(InputError):
            estimator.score(X, Y, sample_weight=weights)
    frame = pd.DataFrame({"a": X[:, 0], "b": Y})
    named = SymbolicRegressor(max_expressions=2, random_state=0).fit(frame, Y)
    with pytest.raises(InputError, match="feature names should match") as refused:
        named.predict(frame.rename(columns={"b": "b\x1b[31m"}))
    assert "\x1b" not in str(refused.value)


def test_numbers_in_object_arrays_are_numbers() -> None:
    model = SymbolicRegressor(max_expressions=2, random_state=0).fit(X.astype(object), list(Y))
    assert model.predict(X.astype(object)).shape == (30,)


# --- what is written and shown of a model


def test_front_json_has_the_row_and_the_error_of_each_formula() -> None:
    written = json.loads(json.dumps(MODEL.to_dict()))
    assert [each["row"] for each in written["formulas"]] == [0, 1, 2]
    assert [each["rmse"] for each in written["formulas"]] == [1.0, 1.0, 1.0]
    assert Model.from_dict(written) == MODEL


def test_models_from_before_are_still_read() -> None:
    written = MODEL.to_dict()
    for each in written["formulas"]:
        del each["row"], each["rmse"]
    assert Model.from_dict(written) == MODEL


@pytest.mark.parametrize("wrong", [{"row": 2}, {"row": "x"}, {"rmse": "x"}, {"rmse": [1]}])
def test_a_wrong_row_or_error_is_refused(wrong: dict[str, Any]) -> None:
    written = copy.deepcopy(MODEL.to_dict())
    written["formulas"][0] |= wrong
    with pytest.raises(InputError, match="damaged"):
        Model.from_dict(written)


@pytest.mark.parametrize("offset", [0.0, 1e6, -3e9, 1e-8])
def test_the_mean_explains_nothing_exactly(offset: float) -> None:
    y = Y + offset
    data = Data(X, y, np.ones(len(y)))
    for mean in (np.mean(y), np.mean(y) * (1 + 1e-15), np.mean(y) + 1e-6 * np.std(y)):
        r2 = Accuracy.of_values(np.full(len(y), mean), data, R2()).r2
        assert r2 == 0.0
        assert "-" not in f"{r2:.6g}"
    assert Accuracy.of_values(np.full(len(y), np.mean(y) + 1), data, R2()).r2 < -0.1


def test_what_rounds_to_zero_has_no_sign() -> None:
    shown = [Formula(FORMULAS[0].program, "2.5", 0.5, 1.0, r2) for r2 in (-0.0, -2e-11, 0.0)]
    lines = str(Model("y", ("x",), tuple(shown), 0)).splitlines()[1:4]
    assert "-0.0" not in lines[0]
    assert r2_text(-2e-11) == r2_text(-0.0) == "0.0000"
    assert r2_text(-0.01) == "−0.0100"


@pytest.mark.parametrize("value", ["9 x " * 1750, "9" * 7000])
def test_no_sentence_is_longer_than_people_read(value: str) -> None:
    text = str(InputError(f"there is no file {value}; name another"))
    assert len(text) <= 1000
    assert text.endswith("name another")
