"""A given form: read, searched for, kept to after the search, and written for other programs."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.forms import substituted, values
from symseek import SymbolicRegressor
from symseek.constraints import Arguments, ConstraintSet, Length
from symseek.engines.native import NativeEngine
from symseek.errors import InputError
from symseek.evaluation import fit_constants
from symseek.export import export
from symseek.form import Form, GivenForm
from symseek.model import Model, full_library
from symseek.programs import Program, Programs
from symseek.regression.editing import FormEditing
from symseek.regression.regression import Regression
from symseek.settings import Settings
from symseek.tokens import Library

COLUMNS = ["x", "t", "z"]
FULL = full_library(COLUMNS)
EQUATIONS = [
    "y = f(x)*exp(-k*t) + g(z)",
    "y = f(x, t)**2/(1 + g(z)) - 3*z",
    "y = k*f(z) + k**2*f(z)*t",
    "y = sqrt(abs(g(x, z))) + c*f(t)",
    "y = atan2(f(x), 2 + cos(z)) + k",
    "log(y) = f(x)",
]


def rows(count: int = 40) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.3, 3.0, (count, len(COLUMNS)))


def parts_of(columns: tuple[str, ...]) -> st.SearchStrategy[Program]:
    """Programs of some columns."""
    leaves = st.sampled_from([f"{name} " for name in columns]) | st.integers(1, 40).map(
        lambda n: f"{n / 8} "
    )
    texts = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["add", "sub", "mul"]), inner, inner),
            st.tuples(st.sampled_from(["sin", "square", "neg_exp"]), inner),
        ).map(lambda words: " ".join(words)),
        max_leaves=4,
    )
    return texts.map(lambda text: Program.from_preorder(text, FULL))


@st.composite
def filled(draw: st.DrawFn) -> tuple[GivenForm, list[Program]]:
    form = GivenForm.of(draw(st.sampled_from(EQUATIONS)), COLUMNS, "y")
    number = st.integers(-16, 16).map(lambda n: Program.from_preorder([n / 4], FULL))
    parts = [
        draw(number if unknown.is_number else parts_of(unknown.columns))
        for unknown in form.unknowns
    ]
    return form, parts


@given(filled())
def test_a_written_program_is_the_form_with_its_parts_put_in(case):
    form, parts = case
    library = form.over(FULL)
    written, X = form.with_parts(parts, library), rows(6)
    by_name = dict(zip([each.name for each in form.unknowns], parts, strict=True))
    right = form.text.partition(" = ")[2]
    expected = values(substituted(right, COLUMNS, by_name), COLUMNS, X)
    whole = form.whole(written, FULL)
    native = NativeEngine().evaluator(library, X).predict(Programs.from_list([written])).values[0]
    for found in (whole.evaluate(X), written.evaluate(X), native):
        known = np.isfinite(expected) & np.isfinite(found)
        assert known.sum() == np.isfinite(found).sum()
        size = 1e-9 * np.maximum(np.abs(expected[known]), 1e3)
        assert (np.abs(found[known] - expected[known]) <= size).all()
    assert list(form.parts(written).values()) == [each.over(library) for each in parts]


@pytest.mark.parametrize(
    ("left", "sign"),
    [
        ("log(y)", 1),
        ("exp(y)", 1),
        ("1/y", 1),
        ("y/x", 1),
        ("x - y", 1),
        ("x/y", 1),
        ("y**2", 1),
        ("y**2", -1),
        ("y**3", -1),
        ("sqrt(y) + t", 1),
        ("t*log(y + x)", 1),
        ("y**1.5", 1),
        ("2**y", 1),
        ("-y", 1),
        ("atan(y)", 1),
        ("exp(-y)", 1),
    ],
)
def test_a_left_side_is_solved_for_the_target(left, sign):
    form = GivenForm.of(f"{left} = f(z)", COLUMNS, "y")
    X = rows()
    y = sign * np.linspace(0.2, 4.0, len(X))
    solution = form.solution(X, y)
    assert solution is not None
    back = solution.evaluate(np.column_stack([X, form.values(X, y)]))
    assert np.allclose(back, y)


@pytest.mark.parametrize("left", ["y + log(y)", "y**2", "sin(y)", "abs(y)", "max(y, x)"])
def test_a_left_side_that_cannot_be_solved(left):
    form = GivenForm.of(f"{left} = f(z)", COLUMNS, "y")
    X = rows()
    y = np.linspace(0.2, 4.0, len(X)) * ([1, -1] * 20 if "log" not in left else 1)
    assert form.solution(X, y) is None


REFUSED = [
    ("y = f(xx)", "no column xx; did you mean 'x'?"),
    ("y = f(x) + f(z)", "give it the same columns everywhere"),
    ("y = f(x) = 2", "one ="),
    ("y = exp(x)", "nothing unknown"),
    ("y = f(2*x)", "takes columns, and 2*x is none"),
    ("w = f(x)", "has no y"),
    ("y + w = f(x)", "w on the left side is no column"),
    ("y = f(x) + y", "y stands on the right side"),
    ("f(y) = x", "f stands on the left side"),
    ("y = x(z)", "x is a column"),
    ("y = f(y)", "y is the target"),
    ("y = f(x, x)", "needs different columns"),
    ("y = f(x)) + 2", "no bracket is open"),
    ("y = f(x); g: length 3", "g is no unknown function"),
    ("y = f(x) + k; k: length 3", "k is a number"),
    ("y = f(x); f length 3", "says nothing of an unknown function"),
    ("y = f(x); f: size 3", "is unknown; an unknown function may have"),
    ("y = f(x); f: operators sinn", "did you mean 'sin'?"),
    ("y = a+b+c+d+e+f+g+h+i", "at most 8"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_what_is_unclear_is_refused(text, said):
    with pytest.raises(InputError, match=re.escape(said)):
        GivenForm.of(text, COLUMNS, "y")


def test_a_form_travels_as_text():
    form = Form("y = f(x)", operators={"f": ["add", "2"]}, length={"f": 7})
    assert Form.read(str(form)) == form
    assert Settings(form=form).form == str(form)
    assert Settings.from_dict(Settings(form=form).to_dict()) == Settings(form=form)


def test_rows_without_a_left_side_are_named():
    X, y = rows(), np.ones(40)
    y[3] = -1.0
    with pytest.raises(InputError, match=r"log\(y\) has no value in row 4, where y is -1"):
        Regression(X, y, COLUMNS, Settings(form="log(y) = f(x)"))


def test_arguments_bind_what_is_sampled_and_bred():
    regression = Regression(*law(), COLUMNS, quick(form=FORM), target="y")
    search = regression.search
    (rule,) = search.rules.binding
    sampled = search.sample(2000).programs
    assert not any(rule.violated_by(each) for each in sampled)
    breeder = search.engine.breeder(search.rules)
    breeder.begin(sampled)
    fitness = np.linspace(0, 1, len(sampled))
    children = breeder.breed(sampled, fitness, 0, 0, 0, search.evolver.config, 1000)
    assert len(children) > 600  # few attempts are in vain
    assert not any(rule.violated_by(each) for each in children)
    f = {name for each in children for name in each.arguments[1].names}
    assert {"add", "mul", "x"} <= f <= {"add", "mul", "sin", "x", "const"}


def test_arguments_know_what_breaks_them():
    library = Library([GivenForm.of("y = f(x) + g(z)", COLUMNS, "y").token, "sin"], COLUMNS)
    rule = Arguments("form", (frozenset({"sin", "x"}), frozenset({"z"})), (2, None))
    rules = ConstraintSet(library, [Length(3, 9), rule])
    kept, *broken = (
        Program.from_preorder(text, library)
        for text in ("form sin x z", "form z z", "form x sin z", "form sin sin x z", "x")
    )
    assert not rules.violations(kept)
    assert all(rules.violations(each) for each in broken)


FORM = "y = f(x)*exp(-k*t) + g(z); f: operators add,mul,sin"


def law() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(1).uniform(0.3, 3.0, (120, 3))
    x, t, z = X.T
    return X, 2.5 * np.sin(x) * np.exp(-0.7 * t) + z**2 + 1 / z


def quick(**more: object) -> Settings:
    return Settings(max_seconds=None, max_expressions=60_000, **more)


def test_two_unknown_functions_are_found_and_exported():
    X, y = law()
    regression = Regression(X, y, COLUMNS, quick(form=FORM), target="y")
    regression.run()
    model = regression.model()
    best = model.best
    assert best.exact
    assert np.allclose(model.predict(X), y)
    said = {name: str(part) for name, part in best.parts.items()}
    assert said["f"] == "f(x) = 5/2*sin(x)"
    assert said["k"] == "k = 0.7"
    assert best.parts["g"].columns == ("z",)
    assert np.allclose(best.parts["g"].program.evaluate(X), X[:, 2] ** 2 + 1 / X[:, 2])
    assert list(said) == ["f", "g", "k"]
    assert "where f(x) = 5/2*sin(x), g(z) = " in str(model)
    assert model.frame()["k"].iloc[-1] == "0.7"
    for formula in model.formulas:  # the whole is the form with the parts put in
        parts = {name: part.program for name, part in formula.parts.items()}
        put_in = substituted("f(x)*exp(-k*t) + g(z)", COLUMNS, parts)
        assert np.allclose(values(put_in, COLUMNS, X[:5]), formula.program.evaluate(X[:5]))
    for language in ("sympy", "latex", "c", "excel", "python", "numpy"):
        assert export(best.form(), language)
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.formulas == model.formulas
    assert again.form == "y = f(x)*exp(-k*t) + g(z)"
    assert str(again) == str(model)


def test_the_target_inside_a_function():
    X, _ = law()
    x, t, _ = X.T
    y = np.exp(np.sin(x) + x - 0.5 * t)
    regression = Regression(X, y, COLUMNS, quick(form="log(y) = f(x) - k*t"), target="y")
    regression.run()
    model = regression.model()
    assert model.best.exact
    assert model.best.program.names[0] == "exp"
    assert np.allclose(model.predict(X), y)
    assert str(model.best.parts["f"]) in ("f(x) = x + sin(x)", "f(x) = sin(x) + x")
    assert "Errors are those of log(y)" in str(model)
    picked = regression.repicked(model, "accuracy")
    assert picked.best.exact


def test_a_left_side_that_stays():
    X, _ = law()
    y = np.exp(X[:, 0])
    regression = Regression(X, y, COLUMNS, quick(form="y + log(y) = f(x)"), target="y")
    regression.run()
    model = regression.model()
    assert model.target == "y + log(y)"
    assert np.allclose(model.predict(X), y + np.log(y))
    assert "could not be solved" in str(model)


def test_numbers_alone_are_fitted():
    X, _ = law()
    y = 2.5 * np.exp(-1.25 * X[:, 1]) + X[:, 0]
    form = "y = A*exp(-k*t) + c*x"
    regression = Regression(X, y, COLUMNS, quick(form=form), target="y")
    regression.run()
    (formula,) = regression.model().formulas
    assert [str(each) for each in formula.filled] == ["A = 2.5", "k = 1.25", "c = 1"]


def test_steps_after_the_search_keep_to_the_form():
    form = GivenForm.of(FORM, COLUMNS, "y")
    editing, X = FormEditing(FULL, form), rows()
    parts = [Program.parse(each, FULL) for each in ("0.5", "x*x*2.0 + 0.0*x", "sin(z) + 1e-9*z")]
    written = form.with_parts(parts, editing.full)
    short = editing.simplified(written, X)
    assert len(short) < len(written)
    assert np.allclose(short.evaluate(X), written.evaluate(X))
    assert short.arguments[0].constants == (0.5,)
    less = editing.reductions(written)
    assert any("sin" not in each.arguments[2].names for each in less)
    assert all(each.names[0] == "form" for each in less)


def test_one_number_in_two_places_is_one_number():
    form = GivenForm.of("y = k*f(z) + k**2*t", COLUMNS, "y")
    library, X = form.over(FULL), rows()
    parts = [Program.parse(each, FULL) for each in ("3.0", "2.0*z")]
    y = form.with_parts(parts, library).evaluate(X)
    start = form.with_parts([Program.parse(each, FULL) for each in ("1.0", "1.0*z")], library)
    fitted = fit_constants(Programs.from_list([start]), X, y).programs[0]
    assert fitted.constants == pytest.approx((3.0, 2.0))


def test_the_estimator_takes_a_form():
    X, y = law()
    frame = pd.DataFrame(X, columns=COLUMNS)
    form = Form("height = f(x)*exp(-k*t) + g(z)", length={"f": 6})
    found = SymbolicRegressor(form=form, max_seconds=None, max_expressions=60_000, random_state=0)
    found.fit(frame, pd.Series(y, name="height"))
    assert np.allclose(found.predict(frame), y)
    assert found.models_[0].best.parts["k"].text == "0.7"
