"""Columns that are named like operators: refused only where the two would meet."""

from __future__ import annotations

import json

import numpy as np
import pytest

from refusals import refused
from symseek import InputError, Library, Program, Token
from symseek.algebra.simplify import simplified
from symseek.files.tables import read_table
from symseek.model import Formula, Model, full_library
from symseek.recovery.equivalence import equivalent
from symseek.regression.estimator import SymbolicRegressor
from symseek.tokens import OPERATORS, RESERVED

FREE = [name for name in OPERATORS if name not in RESERVED]
"""Operators whose names columns may have."""

X = np.random.default_rng(0).uniform(0.5, 2.0, (40, 2))


@pytest.mark.parametrize("name", FREE)
def test_a_column_takes_the_operator_out(name):
    library = full_library(["x", name])
    assert library.variables == ("x", name)
    assert library.arities[library.index(name)] == 0
    program = Program.parse(f"2.0*(1.5*{name}) + x*x", library)
    assert str(simplified(program, library, X)) == f"3.0*{name} + x**2"
    assert Program.from_preorder(program.preorder(), library) == program


@pytest.mark.parametrize("name", FREE)
def test_text_without_a_library_shows_which_is_meant(name):
    assert Program.parse(f"{name} + x").library.variables in ((name, "x"), ("x", name))
    arguments = ", ".join("xy"[: OPERATORS[name].arity])
    call = Program.parse(f"{name}({arguments})")
    assert call.names[0] == name
    assert name not in call.library.variables
    with pytest.raises(InputError, match=f"'{name}' is not an operator"):
        Program.parse(f"{name}({arguments}) + {name}")
    import sympy

    assert Program.from_sympy(sympy.Symbol(name) + 1).library.variables == (name,)
    assert equivalent(f"{name} + {name}", f"2*{name}", [name]).answer == "yes"


@pytest.mark.parametrize("name", FREE)
def test_an_operator_in_use_is_refused_as_a_column(name):
    with pytest.raises(InputError, match=f"variable '{name}' is named like a token"):
        Library([name], ["x", name])
    for operators in (["add", name], ["add", OPERATORS[name]]):
        with pytest.raises(InputError, match=f"column '{name}' is named like an operator"):
            full_library(["x", name], operators)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_names_that_the_simplifier_needs_are_refused(name):
    with pytest.raises(InputError, match=f"variable '{name}' is named like a token"):
        Library([1], ["x", name])
    with pytest.raises(InputError, match=f"column '{name}' is named like an operator"):
        full_library(["x", name])


def test_a_fit_with_such_columns(tmp_path):
    import pandas

    columns = {"gauss": X[:, 0], "logistic": X[:, 1], "y": 2.5 * X[:, 0] + X[:, 1]}
    path = tmp_path / "table.csv"
    pandas.DataFrame(columns).to_csv(path, index=False)
    table = read_table(path, "y")
    assert table.features == ("gauss", "logistic")
    frame = pandas.DataFrame(table.X, columns=table.features)
    regressor = SymbolicRegressor(operators=["+", "*"], random_state=0, max_expressions=5_000)
    regressor.fit(frame, table.y)
    model = regressor.models_[0]
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    np.testing.assert_allclose(again.predict(X), columns["y"], rtol=1e-6)


def test_an_own_operator_takes_the_place_of_one_that_is_not_reserved():
    own = Token("gauss", 1, 3, formula="exp(-a**2/2)")
    library = full_library(["x"], [own])
    assert library["gauss"] == own
    program = Program.parse("gauss(x)", library)
    assert program.evaluate([[1.0]])[0] == pytest.approx(np.exp(-0.5))
    model = Model("y", ("x",), (Formula(program, "gauss(x)", 1.0, 0.0, 1.0),), picked=0)
    assert Model.from_dict(json.loads(json.dumps(model.to_dict()))) == model
    with refused("library", value="gauss"):
        Library([Token("gauss", 1, numpy=np.tanh)], ["x"])
    with refused("library", value="sin"):
        Library([Token("sin", 1, formula="a + 1")], ["x"])
