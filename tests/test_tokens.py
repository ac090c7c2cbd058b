"""The operator table and the library."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest
from hypothesis import given

from oracle.evaluate import FORMULAS
from refusals import refused
from strategies import COMPOSED, libraries
from symseek import Program, Search, SearchConfig
from symseek.errors import InputError
from symseek.model import Formula, Model, full_library
from symseek.tokens import CONST, EMPTY, OPERATORS, Library, Token, TokenKind


def test_table_has_the_promised_operators():
    assert " ".join(OPERATORS) == (
        "add sub mul div pow sin cos tan tanh exp log sqrt square cube fourth reciprocal neg abs "
        "neg_exp asin acos atan sinh cosh asinh atan2 min max sign floor erf hypot gauss logistic "
        "protected_div protected_exp protected_log protected_sqrt protected_reciprocal "
        "protected_neg_exp protected_square protected_cube"
    )


@pytest.mark.parametrize("token", OPERATORS.values(), ids=lambda t: t.name)
def test_numpy_form_is_the_formula(token):
    columns = np.linspace(0.1, 2.3, 7), np.linspace(3.1, 0.2, 7)
    with np.errstate(invalid="ignore"):  # beyond 1 there is no arc sine
        got = token.numpy(*columns[: token.arity])
        expected = FORMULAS[token.name](*columns[: token.arity])
    np.testing.assert_allclose(got, expected, rtol=1e-15)


@pytest.mark.parametrize("token", OPERATORS.values(), ids=lambda t: t.name)
def test_sympy_form_is_the_formula(token):
    import sympy

    symbols = sympy.symbols("a b")[: token.arity]
    at = (0.7, 1.9)[: token.arity]
    got = token.sympy(*symbols).subs(dict(zip(symbols, at, strict=True)))
    assert float(got) == pytest.approx(FORMULAS[token.name](*at), rel=1e-14)


def test_integers_are_not_divided_as_integers():
    assert OPERATORS["reciprocal"].numpy(4) == 0.25
    assert OPERATORS["pow"].numpy(2, -1) == 0.5


def test_complexities_of_the_paper():
    expected = {"add": 1, "sub": 1, "mul": 1, "div": 2, "sin": 3, "cos": 3, "exp": 4, "log": 4}
    assert {name: OPERATORS[name].complexity for name in expected} == expected
    assert Library([1, "const"], ["x"]).complexity.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", [n for n, t in OPERATORS.items() if t.inverse])
def test_inverse_undoes_the_operator(name):
    token = OPERATORS[name]
    x = np.array([0.3, 1.0, 1.7])
    np.testing.assert_allclose(token.numpy(OPERATORS[token.inverse].numpy(x)), x, rtol=1e-14)
    assert OPERATORS[token.inverse].inverse == name


def test_only_trigonometric_operators_are():
    assert [t.name for t in OPERATORS.values() if t.trigonometric] == ["sin", "cos", "tan"]


def test_order_of_a_library():
    library = Library(["const", "sin", 2, "add", "1"], variables=["y", "x"])
    assert library.names == ("sin", "add", "y", "x", "2", "1", "const")
    assert library.arity.tolist() == [1, 2, 0, 0, 0, 0, 0]
    assert library.arity.dtype == np.int8
    assert library.complexity.dtype == np.int32
    assert library.variables == ("y", "x")
    assert library.variable_ids == (2, 3)
    assert library.terminal_ids == (2, 3, 4, 5, 6)
    assert library.constant_id == 6
    assert [t.index for t in library if t.kind is TokenKind.VARIABLE] == [0, 1]
    assert library["2"].value == 2.0
    assert len(library) == 7
    assert "sin" in library
    assert "cos" not in library
    assert EMPTY == -1


def test_repr_shows_what_it_was_made_of():
    text = "Library(['sin', '2', 'const'], variables=['x'])"
    assert repr(Library(["sin", 2, "const"], ["x"])) == text


def test_arrays_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        Library(["sin"], ["x"]).arity[0] = 2


def test_equality_and_hash():
    one, same = Library(["sin", 2], ["x"]), Library(["sin", "2.0"], ["x"])
    assert one == same
    assert hash(one) == hash(same)
    assert one != Library(["sin", 2], ["y"])
    assert one != Library([dataclasses.replace(OPERATORS["sin"], complexity=9), 2], ["x"])
    assert one != "sin"


@pytest.mark.parametrize(
    ("value", "name"),
    [(1, "1"), ("2.50", "2.5"), (1e-300, "1e-300"), (-3.0, "-3"), ("1e22", "1e+22"), (-0.0, "0")],
)
def test_number_tokens(value, name):
    token = Library([value], ["x"]).tokens[-1]
    assert (token.name, token.kind, token.value) == (name, TokenKind.NUMBER, float(value))


def test_a_number_may_have_a_name():
    library = Library([Token("g", 0, kind=TokenKind.NUMBER, value=9.81), "mul"], ["x"])
    assert library["g"].value == 9.81


@pytest.mark.parametrize(
    ("names", "variables", "message"),
    [
        (["sinn"], ["x"], "unknown token 'sinn'; did you mean 'sin'"),
        (["Sin"], ["x"], "did you mean 'sin'"),
        (["sin", "sin"], ["x"], "token 'sin' is in the library twice"),
        (["sin", 1, "1.0"], ["x"], "token '1' is in the library twice"),
        (["sin"], ["x", "x"], "token 'x' is in the library twice"),
        ([1], ["1"], "token '1' is in the library twice"),
        (["const", "const"], ["x"], "token 'const' is in the library twice"),
        ([], [], "the library is empty"),
        (["sin", "add"], [], "no terminal"),
        (["add"], ["sin"], "variable 'sin' is named like a token"),
        (["add"], ["const"], "variable 'const' is named like a token"),
        (["add"], [""], "non-empty string"),
        (["add"], [3], "non-empty string"),
        (["add", None], ["x"], "not None"),
        (["add", True], ["x"], "not True"),
        (["nan"], ["x"], "finite"),
        ([float("inf")], ["x"], "finite"),
        ("add", ["x"], "the library is 'add'; it must be a list of names"),
        (["add"], "x", "`variables` is 'x'; it must be a list of names"),
        ([Token("x", 0, kind=TokenKind.VARIABLE, index=0)], [], "list it in `variables`"),
        ([Token("sin", 1)], ["x"], "token 'sin' redefines a built-in"),
        ([Token("const", 0)], ["x"], "token 'const' redefines a built-in"),
    ],
)
def test_bad_libraries_are_refused(names, variables, message):
    with pytest.raises(InputError, match=message):
        Library(names, variables)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (lambda: Token("f", 9), "the arity of the token 'f' is 9; it must be from 0 to 8"),
        (lambda: Token("", 1), "non-empty"),
        (lambda: Token("f", 1, -1), "the complexity of the token 'f' is -1"),
        (lambda: Token("f", 1, formula="a +"), "formula of operator 'f': expected a value"),
        (lambda: Token("f", 1, formula="a + b"), "unknown variable 'b'"),
        (lambda: Token("f", 1, formula="a + 1", numpy=np.sin), "leave out its numpy form"),
        (lambda: Token("k", 1, kind=TokenKind.NUMBER, value=2.0), "must have arity 0"),
        (lambda: Token("k", 0, kind=TokenKind.NUMBER), "finite value"),
        (lambda: Token("k", 0, kind=TokenKind.CONSTANT), "named 'const'"),
    ],
)
def test_bad_tokens_are_refused(token, message):
    with pytest.raises(InputError, match=message):
        token()


def test_unknown_index_suggests():
    with refused("token", value="sped", wanted="did you mean 'speed'?"):
        Library(["add"], ["speed"]).index("sped")


def test_a_composed_operator_needs_only_its_formula():
    import sympy

    token = Token("logistic", 1, 4, formula="1/(1 + exp(-a))")
    x = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(token.numpy(x), 1 / (1 + np.exp(-x)), rtol=1e-15)
    a = sympy.Symbol("a")
    assert token.sympy(a) == 1 / (1 + sympy.exp(-a))
    assert token.expansion.names == ("reciprocal", "add", "const", "exp", "neg", "a")
    assert Token("sin of it", 1, numpy=np.sin).expansion is None
    assert Library([token], ["x"]).evaluable
    assert dataclasses.replace(token, complexity=7).numpy(0.0) == 0.5


def test_labels_make_a_library_that_cannot_be_evaluated():
    assert not Library([Token("pair", 2), "add"], ["x"]).evaluable
    assert Library([Token("pair", 2), Token("leaf", 0)]).terminal_ids == (1,)


@pytest.mark.parametrize("token", [*OPERATORS.values(), *COMPOSED, CONST], ids=lambda t: t.name)
def test_tokens_travel(token):
    assert pickle.loads(pickle.dumps(token)) == token
    assert copy.deepcopy(token) == token


@given(libraries(evaluable=False))
def test_libraries_travel(library):
    sent = pickle.loads(pickle.dumps(library))
    assert sent == library
    assert hash(sent) == hash(library)
    assert sent.names == library.names


def test_a_table_entry_with_another_complexity_is_allowed():
    sine = dataclasses.replace(OPERATORS["sin"], complexity=9)
    library = Library([sine], ["x"])
    assert library.complexity.tolist() == [9, 1]
    assert pickle.loads(pickle.dumps(library)) == library


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "div"), ("^", "pow"), ("**", "pow")],
)
def test_symbols_name_the_arithmetic_operators(symbol, name):
    assert Library([symbol], ["x"]) == Library([name], ["x"])


def test_another_complexity_for_a_built_in_operator():
    cheap = OPERATORS["sin"].with_complexity(1)
    library = Library(["add", cheap], ["x"])
    program = Program.parse("sin(x) + x", library)
    assert program.complexity == 4
    assert library != Library(["add", "sin"], ["x"])
    assert pickle.loads(pickle.dumps(program)) == program
    assert program.sympy() == Program.parse("sin(x) + x").sympy()


@pytest.mark.parametrize("name", ["sin", "square", "logistic"])
def test_another_complexity_in_models_and_searches(name):
    token = OPERATORS[name].with_complexity(9)
    full = full_library(["x"], ["add", token])
    program = Program.parse(f"{name}(x) + x", full)
    model = Model("y", ("x",), (Formula(program, str(program), 1.0, 0.0, 1.0),), picked=0)
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    assert again.best.complexity == 12
    x = np.linspace(0.3, 2.0, 20)
    config = SearchConfig(max_expressions=5_000, stop_reward=1 - 1e-9)
    search = Search(Library(["add", token], ["x"]), x[:, None], program.apply(x), config, seed=0)
    assert search.run().best.program.complexity == 12


def test_functions_of_the_same_name_need_only_their_line():
    acosh = Token.function("acosh", 1, 4, np.arccosh, r"\operatorname{arcosh}", domain="a >= 1.0")
    assert acosh.form("python") == "_acosh({a})"
    assert acosh.forms.helper == (
        "def _acosh(a):\n    return math.acosh(a) if a >= 1.0 else math.nan\n"
    )
    assert (acosh.forms.torch, acosh.forms.jax) == ("arccosh", "numpy.arccosh")
    program = Program.parse("acosh(x)", Library([acosh], ["x"]))
    assert str(program.sympy()) == "acosh(x)"
    assert pickle.loads(pickle.dumps(program)) == program


@pytest.mark.parametrize("token", OPERATORS.values(), ids=lambda t: t.name)
def test_identities_hold(token):
    a, b = np.linspace(0.05, 0.95, 9), np.linspace(0.9, 0.1, 9)
    if token.parity is not None:
        sign = -1.0 if token.parity == "odd" else 1.0
        np.testing.assert_allclose(token.numpy(-a), sign * token.numpy(a), rtol=1e-14)
    if token.exponent is not None:
        np.testing.assert_allclose(token.numpy(a), a**token.exponent, rtol=1e-14)
    if token.meaning is not None:
        arguments = (a, b)[: token.arity]
        values = token.meaning.apply(*arguments)
        np.testing.assert_allclose(values, token.numpy(*arguments), rtol=1e-12)


@pytest.mark.parametrize("name", [n for n, t in OPERATORS.items() if t.domain])
def test_domains_are_where_there_are_values(name):
    points = [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5]
    with np.errstate(all="ignore"):
        defined = [bool(np.isfinite(OPERATORS[name].numpy(a))) for a in points]
    assert [eval(OPERATORS[name].domain, {"a": a}) for a in points] == defined


def test_what_another_language_does_not_have_is_not_made_up():
    def tilt(a):
        return a + 1.0

    token = Token.function("tilt", 1, 3, tilt)
    assert (token.forms.numpy, token.forms.python, token.forms.jax) == (None, None, None)
    program = Program.parse("tilt(x)", Library([token], ["x"]))
    assert program.latex() == r"\operatorname{tilt}\left(x\right)"
    with pytest.raises(InputError, match="SymPy has no function 'tilt'"):
        program.sympy()
    with refused("field of operator 'tilt'", "exel", "did you mean 'excel'?"):
        Token.function("tilt", 1, 3, tilt, exel="TILT")
