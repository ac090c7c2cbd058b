"""`require` and `forbid`: phrases as constraints that bind every formula of a front."""

import numpy as np
import pytest

from symseek import InputError, Library, Program, SymbolicRegressor
from symseek.cli.settings import option_words
from symseek.constraints import ConstraintSet, Length
from symseek.constraints.phrases import Binding, forbidden, required
from symseek.model import full_library
from symseek.programs import Programs
from symseek.settings import Settings

FULL = full_library(["x", "z"])

KEPT_AND_BROKEN = [
    ("x", "z + 1.0", "x + z"),
    ("sin", "cos(x)", "1.0 - sin(x)"),
    ("exp", "x", "exp(-x)"),
    ("exp", "x", "gauss(x)"),
    ("div", "x*z", "1/x"),
    ("sin inside exp", "sin(exp(x))", "exp(1.0 + sin(x))"),
    ("sin directly inside exp", "exp(1.0 + sin(x))", "exp(sin(x))"),
    ("exp inside exp", "exp(x) + exp(z)", "exp(x - exp(z))"),
    ("x inside log", "x*log(z)", "log(z + x)"),
    ("div by x", "x/z", "z/(1.0 + x)"),
    ("division by x", "x*z", "1/x"),
]


@pytest.mark.parametrize(("phrase", "kept", "broken"), KEPT_AND_BROKEN)
def test_what_is_forbidden(phrase, kept, broken):
    rules = forbidden([phrase], FULL)
    programs = [Program.parse(text, FULL) for text in (kept, broken)]
    assert [any(r.violated_by(each) for r in rules) for each in programs] == [False, True]


@pytest.mark.parametrize(
    ("phrase", "kept", "broken"),
    [
        ("x", "x + z", "z"),
        ("sin", "sin(z)", "x"),
        ("at most 1 sin", "x", "sin(x) + sin(z)"),
        ("at least 2 x", "x*x", "x"),
        ("exactly 2 x", "x*x", "x*x*x"),
    ],
)
def test_what_is_required(phrase, kept, broken):
    (rule,) = required([phrase], FULL, FULL)
    assert not rule.violated_by(Program.parse(kept, FULL))
    assert rule.violated_by(Program.parse(broken, FULL))


@pytest.mark.parametrize(
    ("setting", "phrase", "said"),
    [
        ("require", "q", "is no column and no operator"),
        ("require", "erf", "not among the operators of the search"),
        ("forbid", "sinn inside exp", "did you mean 'sin'?"),
        ("forbid", "sin inside x0", "has no inside"),
        ("forbid", "const", "is no column and no operator"),
    ],
)
def test_phrases_that_make_no_sense_are_refused(setting, phrase, said):
    X = np.linspace(1, 2, 10)[:, None]
    model = SymbolicRegressor(**{setting: [phrase]})
    with pytest.raises(InputError, match=setting) as caught:
        model.fit(X, X[:, 0] ** 2)
    assert said in str(caught.value)


def test_a_setting_that_is_no_list_of_texts_is_refused():
    for wrong in ("x", [1], [""]):
        with pytest.raises(InputError, match="require"):
            Settings(require=wrong)


def test_the_command_repeats_them():
    assert option_words("forbid", ["sin inside exp", "x"]) == ["--forbid", "sin inside exp,x"]


def test_only_binding_constraints_drop_programs():
    library = Library(["add", "sin"], ["x"])
    batch = Programs.from_list([Program.parse(text, library) for text in ("x + x", "sin(x)")])
    bound = ConstraintSet(library, [Length(1, 9), *forbidden(["sin"], library)])
    free = ConstraintSet(library, [Length(1, 9), forbidden(["sin"], library)[0].rule])
    assert [str(each) for each in bound.bound(batch)] == ["x + x"]
    assert free.bound(batch) is batch


def test_a_library_without_the_tokens_is_no_matter():
    library = Library(["add"], ["u"])
    rules = [*forbidden(["sin inside exp", "div by x"], FULL)]
    assert all(isinstance(each, Binding) for each in rules)
    ConstraintSet(library, [Length(1, 5), *rules])


@pytest.mark.parametrize("structure", [True, False])
def test_every_formula_of_a_front_obeys(structure):
    """The law itself is forbidden, and what structure and simple programs propose is bound too."""
    rows = np.random.default_rng(0)
    X = rows.uniform(0.5, 3, (60, 2))
    y = 2.5 * np.exp(-X[:, 0]) * np.sin(X[:, 1])
    asked = {"require": ["x0", "at most 1 sin"], "forbid": ["exp", "div by x1"]}
    model = SymbolicRegressor(
        max_expressions=6000, random_state=0, structure=structure, **asked
    ).fit(X, y)
    full = full_library(["x0", "x1"])
    rules = [*required(asked["require"], full, full), *forbidden(asked["forbid"], full)]
    formulas = model.models_[0].formulas
    assert len(formulas) > 2
    for formula in formulas:
        for program in (formula.program, formula.form(), Program.parse(formula.text, full)):
            assert not any(rule.violated_by(program) for rule in rules), formula.text


def test_that_nothing_obeys_is_said():
    X = np.linspace(-2, -1, 10)[:, None]  # of which there is no logarithm
    model = SymbolicRegressor(
        operators=["log"], constants=False, max_expressions=10, random_state=0, require=["log"]
    )
    with pytest.raises(InputError, match="keeps to all limits"):
        model.fit(X, X[:, 0] ** 2)
