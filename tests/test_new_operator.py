"""An operator added at run time, in one place, reaches every part of the package.

Two kinds are added: one given by a formula, and one with forms of its own in every language and no
kernel in the native engine. Each goes through every consumer of operators.
"""

from __future__ import annotations

import ctypes
import json
import math
import pickle
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_helpers import evaluator
from oracle.evaluate import evaluate
from symseek import Library, Program, Programs, Search, SearchConfig, Token
from symseek.algebra.rounding import rounded
from symseek.algebra.simplify import reductions, rescaled, simplified
from symseek.algebra.typeset import latex_line, tidied
from symseek.engines.native import operations
from symseek.errors import InputError
from symseek.export import (
    TARGETS,
    export,
    jax_function,
    numpy_function,
    to_c,
    to_excel,
    to_latex,
    to_numpy,
    to_python,
    to_sympy,
    torch_function,
)
from symseek.model import Formula, Model, full_library
from symseek.notation.mathml import mathml
from symseek.operators.record import Forms
from symseek.recovery.equivalence import equivalent
from symseek.recovery.precise import Precise
from symseek.report import trees
from symseek.tokens import OPERATORS


def _spiral(a: Any, b: Any) -> Any:
    return np.log1p(np.abs(a)) * b


def _spiral_of_sympy(a: Any, b: Any) -> Any:
    import sympy

    return sympy.log(1 + sympy.Abs(a)) * b


def _spiral_of_mpmath(a: Any, b: Any) -> Any:
    return a.context.log(1 + abs(a)) * b


def _spiral_of_jax(a: Any, b: Any) -> Any:
    import jax.numpy as jnp

    return jnp.log1p(jnp.abs(a)) * b


def _spiral_of_torch(a: Any, b: Any) -> Any:
    return a.abs().log1p() * b


BY_FORMULA = Token("asinh2", 1, 5, formula="log(a + sqrt(a**2 + 1))")
BY_FORMS = Token(
    "spiral",
    2,
    6,
    numpy=_spiral,
    sympy=_spiral_of_sympy,
    latex=r"\ln\left(1 + \left|{a}\right|\right) \cdot {b}",
    forms=Forms(
        c="log1p(fabs({a}))*{b}",
        python="math.log1p(abs({a}))*{b}",
        numpy="np.log1p(np.abs({a}))*{b}",
        sympy="log(1 + Abs({a}))*{b}",
        excel="LN(1 + ABS({a}))*{b}",
        mpmath=_spiral_of_mpmath,
        torch=_spiral_of_torch,
        jax=_spiral_of_jax,
        label="@",
    ),
)
LIBRARY = full_library(["x", "y"], [BY_FORMULA, BY_FORMS])
TEXTS = {
    "formula": "2.5*asinh2(x - y) + asinh2(asinh2(x))**2/3.0",
    "forms": "2.5*spiral(x - y, -x) + spiral(y, spiral(x, 2.0))**2/3.0",
}
VALUES: dict[str, Callable[..., Any]] = {
    "formula": lambda x, y: 2.5 * np.arcsinh(x - y) + np.arcsinh(np.arcsinh(x)) ** 2 / 3,
    "forms": lambda x, y: 2.5 * _spiral(x - y, -x) + _spiral(y, _spiral(x, 2.0)) ** 2 / 3,
}
X = np.random.default_rng(3).uniform(-2.0, 2.0, (30, 2))
KINDS = pytest.mark.parametrize("kind", ["formula", "forms"])


def program(kind: str) -> Program:
    return Program.parse(TEXTS[kind], LIBRARY)


def expected(kind: str) -> np.ndarray:
    return np.asarray(VALUES[kind](*X.T))


@KINDS
def test_numpy(kind):
    np.testing.assert_allclose(program(kind).evaluate(X), expected(kind), rtol=1e-12)
    np.testing.assert_allclose(numpy_function(program(kind))(X), expected(kind), rtol=1e-12)


@KINDS
def test_text_pre_order_and_tree(kind):
    this = program(kind)
    assert Program.parse(str(this), LIBRARY) == this
    assert Program.from_preorder(this.preorder(), LIBRARY) == this
    assert len(this.tree().splitlines()) == len(this)
    assert pickle.loads(pickle.dumps(this)) == this
    nodes = [node.text for node in trees.laid_out(this)]
    assert ("asinh2" if kind == "formula" else "@") in nodes


def test_latex_and_mathml():
    assert Program.parse("asinh2(x)", LIBRARY).latex() == (
        r"\log\left(x + \sqrt{x^{2} + 1}\right)"
    ), "the formula, written out"
    spiral = Program.parse("spiral(x - 1.0, x + y)**2", LIBRARY)
    power = r"\left(\ln\left(1 + \left|x - 1\right|\right) \cdot \left(x + y\right)\right)^{2}"
    assert spiral.latex() == to_latex(spiral) == power
    assert "<mi>ln</mi>" in mathml(spiral)
    assert '<mo fence="true">|</mo>' in mathml(spiral)


@KINDS
def test_sympy_both_ways(kind):
    this = program(kind)
    expression = this.sympy()
    back = Program.from_sympy(expression, LIBRARY)
    np.testing.assert_allclose(back.evaluate(X), expected(kind), rtol=1e-9)


def test_a_class_of_sympy_reads_back():
    import sympy

    token = Token("lambert", 1, 4, numpy=np.tanh, sympy=sympy.LambertW)
    library = Library([token, "add"], ["x"])
    this = Program.parse("x + lambert(x)", library)
    assert Program.from_sympy(this.sympy(), library).names == ("add", "x", "lambert", "x")


@KINDS
def test_many_digits(kind):
    precise = Precise(30)
    at = {"x": precise.number("0.7"), "y": precise.number("-0.2")}
    assert float(precise.program(program(kind), at)) == pytest.approx(
        float(program(kind).apply(0.7, -0.2)), rel=1e-13
    )


def test_recovery():
    truth = "2.5*log(x - y + sqrt((x - y)**2 + 1)) + asinh2(asinh2(x))**2/3"
    assert equivalent(program("formula"), Program.parse(truth, LIBRARY)).answer == "yes"
    assert equivalent(program("formula"), "sin(x)").answer == "no"
    truth = "log(1 + abs(x))*y"
    assert equivalent(Program.parse("spiral(x, y)", LIBRARY), truth).answer == "yes"
    assert equivalent(Program.parse("spiral(y, x)", LIBRARY), truth).answer == "no"
    fitted = Program.parse("1.50001*spiral(x, y)", LIBRARY)
    assert equivalent(fitted, f"1.5*{truth}", tolerance=1e-3).answer == "yes"


@KINDS
def test_simplifying_and_rounding(kind):
    this = program(kind)
    for other in (
        simplified(this, LIBRARY, X),
        rescaled(this, LIBRARY, X, [1.0, 1.0], 1.0),
        tidied(this, 15),
    ):
        np.testing.assert_allclose(other.evaluate(X), expected(kind), rtol=1e-9)
    assert reductions(this, LIBRARY)
    assert latex_line(this)
    off = replace(this, constants=tuple(value + 1e-11 for value in this.constants))
    assert rounded(off, X, expected(kind)).program == this
    doubled = Program.parse(f"2.0*(1.5*({TEXTS[kind]}))", LIBRARY)
    short = simplified(doubled, LIBRARY, X)
    assert short.complexity <= doubled.complexity
    np.testing.assert_allclose(short.evaluate(X), 3 * expected(kind), rtol=1e-9)


def run(source: str, name: str) -> Any:
    scope: dict[str, Any] = {}
    exec(compile(source, "<exported>", "exec", dont_inherit=True), scope)
    return scope[name]


@KINDS
def test_python_numpy_and_sympy_source(kind):
    this = program(kind)
    function = run(to_python(this), "formula")
    np.testing.assert_allclose([function(*row) for row in X], expected(kind), rtol=1e-12)
    np.testing.assert_allclose(run(to_numpy(this), "formula")(X), expected(kind), rtol=1e-12)
    assert run(to_sympy(this), "expression") == this.sympy(real=True)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@KINDS
def test_c_source(kind, tmp_path: Path):
    source, made = tmp_path / "formula.c", tmp_path / "formula.so"
    source.write_text(to_c(program(kind)))
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o"]
    subprocess.run([*command, made, "-lm"], check=True)
    function = ctypes.CDLL(str(made)).formula
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    np.testing.assert_allclose([function(*row) for row in X], expected(kind), rtol=1e-12)


def test_spreadsheet():
    assert to_excel(Program.parse("asinh2(x)", LIBRARY)) == "=LN(A2 + SQRT(A2^2 + 1))"
    spiral = Program.parse("spiral(x - y, -x)**2", LIBRARY)
    assert to_excel(spiral) == "=(LN(1 + ABS(A2 - B2))*(-A2))^2"


@KINDS
def test_jax(kind):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    found = jax_function(program(kind))(X)
    np.testing.assert_allclose(found, expected(kind), rtol=1e-9)


@KINDS
def test_torch(kind):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    found = torch_function(program(kind))(torch.tensor(X))
    np.testing.assert_allclose(found.numpy(), expected(kind), rtol=1e-9)


@KINDS
@pytest.mark.parametrize("target", TARGETS)
def test_every_target_takes_it(kind, target):
    assert export(program(kind), target)


def model_of(this: Program) -> Model:
    return Model("z", ("x", "y"), (Formula(this, str(this), 1.0, 0.0, 1.0),), picked=0)


def test_models_travel_with_the_formula():
    library = full_library(["x", "y"], [BY_FORMULA])
    model = model_of(Program.parse(TEXTS["formula"], library))
    record = json.loads(json.dumps(model.to_dict()))
    again = Model.from_dict(record)
    assert again == model
    np.testing.assert_allclose(again.predict(X), expected("formula"), rtol=1e-12)


def test_models_cannot_hold_python_functions():
    with pytest.raises(InputError, match="operator 'spiral' is a Python function"):
        model_of(program("forms")).to_dict()


def test_search():
    library = Library(["+", "*", BY_FORMULA], variables=["x"])
    y = X[:, 0] + np.arcsinh(X[:, 0])
    config = SearchConfig(stop_reward=1 - 1e-9, max_expressions=50_000)
    result = Search(library, X[:, :1], y, config, seed=0).run()
    assert equivalent(result.best.program, "x + log(x + sqrt(x**2 + 1))").answer == "yes"


def test_formulas_may_use_operators_that_have_one():
    token = Token("ring", 2, 6, formula="gauss(hypot(a, b) - 1)*logistic(a)")
    library = Library([token, "const"], ["x", "y"])
    this = Program.parse("ring(x, ring(y, 0.5))", library)
    values, _ = evaluate(this, X)
    np.testing.assert_allclose(this.evaluate(X), values, rtol=1e-12)
    native = evaluator(library, X).predict(Programs.from_list([this]))
    np.testing.assert_allclose(native.values[0], values, rtol=1e-12)


# What is missing is named, with what to add.


LACKING = Token("lacking", 1, 2, numpy=np.tanh)


@pytest.mark.parametrize("target", [*TARGETS.values(), torch_function, jax_function])
def test_a_form_that_is_missing_is_named(target):
    this = Program.parse("lacking(x)", Library([LACKING], ["x"]))
    if target is to_latex:
        assert target(this) == r"\mathrm{lacking}\left(x\right)"
        return
    with pytest.raises(InputError, match=r"operator 'lacking' has no formula .*give its Token one"):
        target(this)


def test_recovery_and_engine_name_what_is_missing():
    library = Library([LACKING], ["x"])
    this = Program.parse("lacking(x)", library)
    with pytest.raises(InputError, match=r"operator 'lacking' .* mpmath; give its Token one"):
        equivalent(this, "x")
    with pytest.raises(InputError, match=r"operator 'lacking' .* mpmath; give its Token one"):
        Precise(20).program(this, {"x": 1})
    with pytest.raises(InputError, match="cannot evaluate the token 'lacking'; give it a formula"):
        evaluator(library, X[:, :1])
    label = Program.parse("label(x)", Library([Token("label", 1)], ["x"]))
    with pytest.raises(InputError, match="token 'label' has no formula to evaluate; give it one"):
        label.evaluate(X[:, :1])
    assert math.isfinite(this.apply(0.5))


# Operators of the table


def runnable() -> list[str]:
    known = operations()
    return [n for n, token in OPERATORS.items() if token.formula is not None or n in known]


@pytest.mark.parametrize("name", runnable())
def test_a_search_can_use_every_operator(name):
    token = OPERATORS[name]
    library = Library(dict.fromkeys(["add", name]), variables=["x", "y"])
    table = np.abs(X) * 0.4 + 0.1
    y = token.numpy(*table.T[: token.arity]) + 2 * table[:, 1]
    config = SearchConfig(max_expressions=20_000, stop_reward=1 - 1e-9)
    assert Search(library, table, y, config, seed=0).run().best.reward == pytest.approx(1.0)
