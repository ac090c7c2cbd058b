"""Exports are used for real: imported, compiled, evaluated; they agree with the formula itself."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import keyword
import math
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from examples import examples, mostly_slow
from refusals import refused
from strategies import COMPOSED, LABELS, any_program, libraries, odd_names, programs
from symseek.errors import InputError
from symseek.export import (
    TARGETS,
    export,
    jax_function,
    latex_table,
    numpy_function,
    to_c,
    to_excel,
    to_latex,
    to_numpy,
    to_python,
    to_sympy,
    torch_function,
)
from symseek.export.names import identifiers, python_identifier
from symseek.export.tree import work
from symseek.model import Formula, Model, full_library
from symseek.programs import Program
from symseek.tokens import OPERATORS, Library, Token

TWICE = Token("twice", 1, 3, formula="a*sin(a) + 0.1")
COLUMNS = ["x", "flow rate", "class"]
LIBRARY = full_library(COLUMNS, [*COMPOSED, TWICE])
SOURCES = ("python", "c", "sympy", "numpy", "excel")

ODD_COLUMNS = [
    *("flow rate", "x.1", "x_1", "x 1", "größe", "class", "1st", "double", "I", "E", "S", "X", "t"),
    *("*/ int broken = ; /*", "/*/", "*", "/", "??/", '"""', '"', "'", "\\", "\\n", "a\nb", "a\rb"),
    *("\N{RIGHT-TO-LEFT OVERRIDE}", "\N{LINE SEPARATOR}", "\x00", "日本", "ﬁ", "fi", "`", "%", "#"),
    *("math", "np", "float", "_exp", "_divide", "part1", "part2", "values", "formula", "Symbol"),
    *("expression", "M_PI", "NAN", "INFINITY", "linux", "_Complex", "__x86_64__", "self", "None"),
    *("{x}", "{}", "$x$", "a&b", "~", "^", "_", "__debug__", "match", "y1", "fabs", " ", "-x"),
]


def applied(name: str, token: Token) -> list[str]:
    """An operator on columns, on numbers, on something compound, and inside the others."""
    places = ("x", "`flow rate`", "class")[: token.arity]
    numbers = ("-1.5", "0.3", "2.5")[: token.arity]
    inside = f"{name} {' '.join(places)}"
    return [
        inside,
        f"{name} {' '.join(numbers)}",
        f"{name} {' '.join(['0.0', '-0.0', '0.0'][: token.arity])}",
        f"{name} {' '.join(f'sub {place} 0.7' for place in places)}",
        f"{name} {' '.join(f'neg {place}' for place in places)}",
        *(f"{outer} x {inside}" for outer in ("add", "sub", "mul", "div", "pow")),
        *(f"{outer} {inside} x" for outer in ("add", "sub", "mul", "div", "pow")),
        *(f"{outer} {inside}" for outer in ("neg", "square", "cube", "fourth", "reciprocal")),
        *(f"{outer} {inside}" for outer in ("abs", "neg_exp", "sqrt", "log")),
    ]


FIXED = [
    Program.from_preorder(text, LIBRARY)
    for token in (*OPERATORS.values(), *COMPOSED, TWICE)
    for text in applied(f"`{token.name}`" if " " in token.name else token.name, token)
] + [
    Program.parse(text, LIBRARY)
    for text in (
        "x",
        "0.1",
        "-1e-300*x",
        "1e300*1e300*x",
        "1.7976931348623157e308*x + 5e-324",
        "0.30000000000000004*x - 123456789.12345679 + 1e22*class",
        "-x**2 + (-x)**2 - -x - (x - (class - x)) + x/(class/x) + -2.5**2 + (-2.5)**2",
        "2.0**-x + x**-2.0 + x**(-1.5) + (x**class)**x + x**class**2.5",
        "sin(x)**2/(1.5 + cos(`flow rate`)) - tanh(tan(class))*log(abs(x))",
        "twice(twice(sin(`flow rate`)) - hypotenuse(x, twice(class)))",
    )
]
COVERING = [  # every operator, in as few formulas as are read easily
    "sin(x)**2 + cos(`flow rate`)*tan(class) - tanh(x)/exp(class)",
    "log(abs(x)) + sqrt(class) - cube(x)*fourth(class) + neg_exp(x)",
    "-x**2 + (-x)**2 - (-x)**3 + 1/(class - 0.25) + class**-1.5 - neg(x)",
    "hypotenuse(x, class) + sigmoid(-x) - `odd one`(x) - -2.5**2 + (x - (class - x))/(x/class)",
    "hypot(x, class)*gauss(x) - logistic(class) + sinh(x)*cosh(class)/asinh(x)",
    "asin(tanh(x)) - acos(x/9.0)*atan(class) + atan2(x, class) - erf(x)**2",
    "min(x, class)*max(x, 1.25 - class) - sign(class - 0.8) + floor(3.0*x)/(-min(2.0, x))",
    "protected_div(x, class - 0.9) + protected_exp(90.0*x)*protected_log(x) - protected_sqrt(-x)",
    "protected_reciprocal(class - 0.7)*protected_neg_exp(-90.0*x) - protected_square(1e6*x)",
    "protected_cube(class)*protected_div(1.5, -x) + protected_log(class - 0.9)",
]


def rows(count: int, size: int = 24) -> np.ndarray:
    """Rows [N, n]: ordinary numbers, and those where formulas are undefined or run over."""
    rng = np.random.default_rng(7)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e3, -800.0, 1e200, -1e200, 1e-200, np.inf, -np.inf]
    ordinary = rng.normal(size=(size, count)) * 2
    equal = np.repeat(np.array([*values, np.nan])[:, None], count, axis=1)
    return np.vstack([ordinary, equal, rng.choice(values, size=(size, count))])


def steady(program: Program, X: np.ndarray) -> np.ndarray:
    """Which rows [N] have a value that does not hang on the last digits of a library's functions.

    Libraries round sin, exp and the like differently in the last place, and a formula may make
    much of that; where far larger errors change nothing, values must agree. Nor do they agree on
    the sign of the zero that is the sign of a zero.
    """
    exact = {"add", "sub", "mul", "div", "sqrt", "square", "cube", "fourth", "reciprocal", "neg"}
    exact |= {"abs", "min", "max", "sign", "floor", "protected_div", "protected_reciprocal"}
    exact |= {"protected_square", "protected_cube"}
    rng = np.random.default_rng(1)

    def shaken(name: str) -> Callable[..., Any]:
        function = OPERATORS[name].numpy
        if name == "sign":
            return lambda a: function(a) * np.where(a == 0, rng.choice([-1.0, 1.0], len(X)), 1.0)
        if name in exact:
            return function
        return lambda *a: function(*a) * (1 + 1e-14 * rng.uniform(-1, 1, size=len(X)))

    forms = {name: shaken(name) for name in OPERATORS if OPERATORS[name].formula is None}
    expected = program.evaluate(X)
    columns = list(X.T)
    kept = np.ones(len(X), dtype=bool)
    with np.errstate(all="ignore"):
        for _ in range(3):
            values = work(program, lambda t: forms.get(t.name), np.float64, columns.__getitem__)
            kept &= np.isclose(values, expected, rtol=1e-11, atol=0, equal_nan=True)
    return kept


def assert_agrees(
    program: Program, X: np.ndarray, values: Sequence[float], smallest: float = 0.0
) -> None:
    kept = steady(program, X)
    found = np.asarray(values, dtype=float)[kept]
    expected = program.evaluate(X)[kept]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=smallest, err_msg=str(program))


def test_most_fixed_rows_are_compared():
    X = rows(3)
    assert np.mean([steady(program, X).mean() for program in FIXED]) > 0.9


# Tables


@pytest.mark.parametrize("language", [*SOURCES, "torch", "jax", "mpmath"])
def test_every_operator_has_a_form_in_every_language(language):
    for token in OPERATORS.values():
        assert getattr(token.forms, language) is not None or token.meaning is not None


def test_every_text_target_is_listed():
    assert set(TARGETS) == {"latex", *SOURCES}


def test_covering_formulas_hold_every_operator():
    used = {name for text in COVERING for name in Program.parse(text, LIBRARY).names}
    assert set(OPERATORS) <= used | {"pow"}


# Python and NumPy source

_modules = itertools.count()


def imported(text: str, folder: Path) -> ModuleType:
    """The source as a module, from a file."""
    name = f"exported_{next(_modules)}"
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exported")


def check_python(program: Program, folder: Path) -> None:
    X = rows(len(program.library.variables))
    function = imported(to_python(program), folder).formula
    assert_agrees(program, X, [function(*row) for row in X])


def check_numpy(program: Program, folder: Path) -> None:
    X = rows(len(program.library.variables))
    function = imported(to_numpy(program), folder).formula
    np.testing.assert_array_equal(function(X), program.evaluate(X))
    np.testing.assert_array_equal(numpy_function(program)(X), program.evaluate(X))


@pytest.mark.parametrize("check", [check_python, check_numpy])
def test_python_source_of_every_operator(check, folder):
    for program in FIXED:
        check(program, folder)


@examples(60)
@given(program=any_program())
def test_python_source_agrees(program, folder):
    check_python(program, folder)


@examples(60)
@given(program=any_program())
def test_numpy_source_agrees(program, folder):
    check_numpy(program, folder)


def test_python_takes_any_numbers(folder):
    program = Program.parse("x**3/y", Library(["cube", "div"], ["x", "y"]))
    function = imported(to_python(program, "ratio"), folder).ratio
    assert function(2, 4) == 2.0
    assert function(np.float32(2), True) == 8.0
    assert function(10**200, 1) == math.inf
    assert function(1, 0) == math.inf
    assert math.isnan(function(0, 0))


def test_numbers_read_back(folder):
    for value in (0.1, -1 / 3, 5e-324, 1.7976931348623157e308, 2**53 + 2.0, -0.0, math.inf):
        program = Program(Library(["const"], ["x"]), (1,), (value,))
        for target in (to_python, to_numpy):
            found = imported(target(program), folder).formula
            result = found(1.0) if target is to_python else found([[1.0]])[0]
            assert (result, math.copysign(1, result)) == (value, math.copysign(1, value))


# Names


def odd_program() -> Program:
    """A formula that depends on every column, each in its own way."""
    library = Library(["add", "mul", "sin", "exp", "div", "square", "const"], ODD_COLUMNS)
    names = [f"`{name.replace('`', '``')}`" for name in ODD_COLUMNS]
    terms = [f"mul {i + 0.5} sin {name}" for i, name in enumerate(names)]
    whole = " ".join(["add"] * len(terms) + terms + [f"square div exp {names[0]} exp {names[1]}"])
    return Program.from_preorder(whole, library)


def test_odd_columns_in_python(folder):
    check_python(odd_program(), folder)
    check_numpy(odd_program(), folder)


def test_docstring_names_the_columns(folder):
    program = Program.parse("`flow rate` + class", Library(["add"], ["flow rate", "class"]))
    doc = imported(to_python(program), folder).formula.__doc__
    assert 'flow_rate: column 0, "flow rate"' in doc
    assert 'class_: column 1, "class"' in doc


@given(names=st.lists(odd_names, unique=True, max_size=8))
def test_identifiers_differ(names):
    found = identifiers(names, python_identifier, keyword.iskeyword)
    assert len(set(found)) == len(names)
    assert all(each.isidentifier() and not keyword.iskeyword(each) for each in found)


@pytest.mark.parametrize("target", [to_python, to_numpy, to_c, to_sympy])
@pytest.mark.parametrize("name", ["1st", "two words", "while", "", "a;b", 3])
def test_functions_need_an_identifier(target, name):
    with pytest.raises(InputError, match="cannot be named"):
        target(Program.parse("x"), name)


# C

compiler = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(compiler is None, reason="there is no C compiler")
FLAGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]


def compiled(text: str, folder: Path, standard: str = "c99") -> ctypes.CDLL:
    """The source as a library; a warning is an error."""
    path = folder / f"exported_{next(_modules)}.c"
    path.write_text(text, encoding="utf-8")
    library = path.with_suffix(".so")
    command = [compiler, f"-std={standard}", *FLAGS, "-shared", "-fPIC", path, "-o", library, "-lm"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[:3000] + text[:3000]
    return ctypes.CDLL(str(library))


def check_c(chosen: Sequence[Program], folder: Path, standard: str = "c99") -> None:
    library = compiled("\n".join(to_c(p, f"f{i}") for i, p in enumerate(chosen)), folder, standard)
    for i, program in enumerate(chosen):
        count = len(program.library.variables)
        function = getattr(library, f"f{i}")
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_double] * count
        X = rows(count)
        assert_agrees(program, X, [function(*row) for row in X])


@needs_compiler
def test_c_of_every_operator(folder):
    check_c(FIXED, folder)


@needs_compiler
@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(chosen=st.lists(any_program(max_length=15), min_size=12, max_size=12))
def test_c_agrees(chosen, folder):
    check_c(chosen, folder)


@needs_compiler
@pytest.mark.parametrize("standard", ["c99", "gnu17"])
def test_odd_columns_in_c(folder, standard):
    check_c([odd_program()], folder, standard)


@needs_compiler
@pytest.mark.parametrize("standard", ["c99", "gnu11"])
def test_macros_are_no_arguments(folder, standard):
    header = "#include <math.h>\n"
    command = [compiler, f"-std={standard}", "-dM", "-E", "-"]
    macros = subprocess.run(command, input=header, capture_output=True, text=True, check=True)
    names = re.findall(r"^#define (\w+)", macros.stdout, re.M)
    assert "NAN" in names
    library = Library(["add"], names)
    program = Program.from_preorder(["add"] * (len(names) - 1) + names, library)
    compiled(to_c(program), folder, standard)


def test_c_names_are_not_those_of_the_library():
    for name in ("sin", "y1", "main"):
        with pytest.raises(InputError, match="cannot be named"):
            to_c(Program.parse("x"), name)


# Trees of any depth


def deep_programs() -> list[Program]:
    library = full_library(["x"], [TWICE])
    return [
        Program.from_preorder(["sin"] * 3000 + ["x"], library),
        Program.from_preorder(["add", "x"] * 3000 + ["x"], library),
        Program.from_preorder(["add"] * 3000 + ["x"] * 3001, library),
        Program.from_preorder(["twice"] * 60 + ["x"], library),
    ]


def test_deep_trees_in_python(folder):
    for program in deep_programs():
        check_python(program, folder)
        check_numpy(program, folder)
        assert len(to_python(program)) < 60 * len(program.tokens) + 10_000


@needs_compiler
def test_deep_trees_in_c(folder):
    check_c(deep_programs(), folder)


def test_deep_trees_do_not_fit_a_cell():
    for program in deep_programs():
        with pytest.raises(InputError, match=r"characters|brackets"):
            to_excel(program)


# SymPy


def sympy_made(program: Program) -> Any:
    scope: dict[str, Any] = {}
    exec(compile(to_sympy(program), "<exported>", "exec", dont_inherit=True), scope)
    return scope["expression"]


def test_sympy_of_every_operator():
    for program in FIXED:
        assert sympy_made(program) == program.sympy(real=True), str(program)


def test_sympy_values():
    import sympy

    X = np.abs(rows(3)[:4]) + 0.3
    symbols = [sympy.Symbol(name, real=True) for name in COLUMNS]
    for text in COVERING:
        program = Program.parse(text, LIBRARY)
        whole = sympy_made(program)
        points = [dict(zip(symbols, map(sympy.Float, row), strict=True)) for row in X.tolist()]
        found = [float(whole.evalf(20, point)) for point in points]
        np.testing.assert_allclose(found, program.evaluate(X), rtol=1e-9)


@examples(40)
@given(data=st.data())
def test_sympy_agrees(data):
    library = data.draw(libraries(constants=False))
    program = data.draw(programs(library, max_length=10))
    try:
        expression = program.sympy(real=True)
    except InputError:  # which SymPy cannot hold inside one another
        assume(all(library.tokens[each].protects is None for each in program.tokens))
        raise
    assert sympy_made(program) == expression


def test_odd_columns_in_sympy():
    assert sympy_made(odd_program()) == odd_program().sympy(real=True)


def test_sympy_numbers_that_are_not_finite():
    library = Library(["mul", "const"], ["x"])
    program = Program.from_preorder("mul x const(-inf)", library)
    assert sympy_made(program) == program.sympy(real=True)


# Spreadsheets


def spreadsheet_values(text: str, X: np.ndarray) -> np.ndarray:
    """What a spreadsheet shows for the formula, row by row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        formulas = pytest.importorskip("formulas", reason="formulas is not installed")
        function = formulas.Parser().ast(text)[1].compile()
        places = ["ABCDEFGH".index(name[0]) for name in function.inputs]
        return np.array([float(function(*row[places])) for row in X])


@pytest.mark.parametrize("text", COVERING)
def test_spreadsheet_agrees(text):
    program = Program.parse(text, LIBRARY)
    X = np.array([[1.3, 0.4, 0.9], [0.2, -1.1, 2.6], [2.5, 3.0, 0.7]])
    found = spreadsheet_values(to_excel(program), X)
    np.testing.assert_allclose(found, program.evaluate(X), rtol=1e-9)


def test_spreadsheet_signs_and_powers():
    texts = ["-x**2", "(-x)**2", "-2.5**x", "x**-2.0", "(x**2)**3", "neg_exp(x**2)", "exp(-x)**2"]
    library = full_library(["x"])
    found = [to_excel(Program.parse(text, library)) for text in texts]
    assert found == [
        "=-(A2^2)",
        "=(-A2)^2",
        "=-(2.5^A2)",
        "=A2^(-2)",
        "=(A2^2)^3",
        "=EXP(-(A2^2))",
        "=EXP(-A2)^2",
    ]


def test_spreadsheet_numbers():
    program = Program.parse("0.30000000000000004*x + 1e-300 - 1e22 - 2.0", full_library(["x"]))
    assert to_excel(program) == "=0.30000000000000004*A2 + 1E-300 - 1E+22 - 2"
    with pytest.raises(InputError, match="no number nan"):
        to_excel(Program.from_preorder("const(nan)", full_library(["x"])))


def test_spreadsheet_cells():
    program = Program.parse("x + `flow rate`", LIBRARY)
    assert to_excel(program) == "=A2 + B2"
    assert to_excel(program, {"x": "C7", "flow rate": "Sheet2!$A1"}) == "=C7 + Sheet2!$A1"
    with refused("cells", value="flow rate"):
        to_excel(program, {"x": "C7"})
    with refused("column", value="flowrate", wanted="did you mean 'flow rate'?"):
        to_excel(program, {"x": "C7", "flowrate": "C8"})
    with pytest.raises(InputError, match="column 'x' has the cell ''"):
        to_excel(program, {"x": ""})


# LaTeX


def balanced(text: str) -> bool:
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0 and text.count(r"\left") == text.count(r"\right")


def assert_typesets(text: str) -> None:
    """matplotlib has a parser of TeX's mathematics."""
    from matplotlib.mathtext import MathTextParser

    MathTextParser("agg").parse(f"${text}$")


@pytest.mark.slow
def test_latex_of_every_operator():
    for program in FIXED[::3]:
        assert_typesets(to_latex(program))


@examples(40)
@given(program=any_program(evaluable=False))
def test_latex_is_balanced(program):
    assert balanced(to_latex(program).replace(r"\\", ""))


def test_latex_digits():
    program = Program.parse("2.718281828459045*x + 0.1234567e-9", full_library(["x"]))
    assert to_latex(program) == r"2.71828 \cdot x + 1.23457 \cdot 10^{-10}"
    assert to_latex(program, digits=2) == r"2.7 \cdot x + 1.2 \cdot 10^{-10}"
    assert to_latex(program, digits=None) == program.latex()
    for digits in (0, 2.5, True):
        with pytest.raises(InputError, match="digits is"):
            to_latex(program, digits)


def model(target: str = "y_1 & more", columns: Sequence[str] = tuple(ODD_COLUMNS)) -> Model:
    library = full_library(columns)
    whole = " ".join(["add"] * (len(columns) - 1))
    names = " ".join(f"`{name.replace('`', '``')}`" for name in columns)
    formulas = [
        Formula(Program.from_preorder("1.5", library), "1.5", 0.25, 1e-7, -math.inf),
        Formula(Program.from_preorder(f"{whole} {names}", library), "sum", 1, 0, 1, 0.98765),
    ]
    return Model(target, tuple(columns), tuple(formulas), picked=1)


def test_latex_table():
    text = latex_table(model(columns=["x", "größe"]))
    assert text == (
        "\\begin{tabular}{crrrrrrl}\n"
        "\\hline\n"
        " & row & complexity & reward & NRMSE & $R^2$ & validation $R^2$"
        " & $\\mathrm{y\\_1\\ \\&\\ more} =$ \\\\\n"
        "\\hline\n"
        " & 0 & 1 & $0.25$ & $1 \\cdot 10^{-7}$ & $-\\infty$ & -- & $1.5$ \\\\\n"
        "$\\triangleright$ & 1 & 3 & $1$ & $0$ & $1$ & $0.9877$ & $x + \\textrm{größe}$ \\\\\n"
        "\\hline\n"
        "\\end{tabular}\n"
    )


def test_latex_table_has_its_cells_whatever_the_names():
    text = latex_table(model())
    assert balanced(text.replace(r"\\", ""))
    for line in text.splitlines():
        if line.endswith(r"\\"):
            assert len(re.findall(r"(?<!\\)&", line)) == 7
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_table_compiles(tmp_path):
    columns = [name for name in ODD_COLUMNS if name.isascii() or name == "größe"]
    body = latex_table(model(columns=columns))
    text = "\\documentclass{article}\n\\begin{document}\n" + body + "\\end{document}\n"
    (tmp_path / "table.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:]


# JAX and PyTorch


@pytest.fixture
def jax():
    module = pytest.importorskip("jax", reason="JAX is not installed")
    module.config.update("jax_enable_x64", True)
    return module


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


# XLA takes numbers below 1e-307, which have fewer digits, for zero.
PLAIN = [each for each in FIXED if all(abs(v) > 1e-99 or not v for v in each.constants)]


def plain_rows() -> np.ndarray:
    X = rows(3)
    return X[((np.abs(X) > 1e-99) | (X == 0)).all(axis=1)]


@pytest.mark.slow
def test_jax_of_every_operator(jax):
    X = plain_rows()
    for program in PLAIN:
        assert_agrees(program, X, jax_function(program)(X), smallest=1e-307)


@pytest.mark.parametrize("text", COVERING)
def test_jax_compiled(jax, text):
    program = Program.parse(text, LIBRARY)
    X = rows(3)[:24]  # XLA makes A*C/B of A/(B/C), which runs over for the largest
    assert_agrees(program, X, jax.jit(jax_function(program))(X))


def test_torch_of_every_operator(torch):
    X = plain_rows()
    for program in PLAIN:
        assert_agrees(program, X, torch_function(program)(torch.tensor(X)).numpy())


def slopes(program: Program, X: np.ndarray) -> np.ndarray:
    """Derivatives [N, n] by differences."""
    step = 1e-6
    shifts = np.eye(X.shape[1]) * step
    return np.stack(
        [(program.evaluate(X + h) - program.evaluate(X - h)) / (2 * step) for h in shifts], axis=1
    )


@pytest.mark.parametrize("text", mostly_slow([*COVERING, "x**3.0 + class"], *COVERING[:4]))
def test_jax_gradient(jax, text):
    program = Program.parse(text, LIBRARY)
    X = np.array([[1.3, 0.4, 0.9], [-0.2, -1.1, 2.6], [-2.5, 3.0, 0.7]])
    function = jax_function(program)
    found = jax.jit(jax.vmap(jax.grad(function)))(X)
    np.testing.assert_allclose(found, slopes(program, X), rtol=1e-5, atol=1e-6)
    summed = jax.grad(lambda X: function(X).sum())(X)
    np.testing.assert_allclose(summed, found, rtol=1e-12)


@pytest.mark.parametrize("text", [*COVERING, "x**3.0 + class"])
def test_torch_gradient(torch, text):
    program = Program.parse(text, LIBRARY)
    X = np.array([[1.3, 0.4, 0.9], [-0.2, -1.1, 2.6], [-2.5, 3.0, 0.7]])
    tensor = torch.tensor(X, requires_grad=True)
    torch_function(program)(tensor).sum().backward()
    np.testing.assert_allclose(tensor.grad.numpy(), slopes(program, X), rtol=1e-5, atol=1e-6)


def test_jax_shapes_and_precision(jax):
    jnp = jax.numpy
    line = jax_function(Program.parse("0.1*x + 1", full_library(["x", "y"])))
    constant = jax_function(Program.parse("2.5", full_library(["x", "y"])))
    assert line(jnp.ones((4, 2), dtype=jnp.float32)).dtype == jnp.float32
    assert line(jnp.ones((4, 2), dtype=int)).tolist() == [1.1] * 4
    assert line([1.0, 2.0]).shape == ()
    assert constant(jnp.ones((4, 2))).tolist() == [2.5] * 4
    with pytest.raises(InputError, match="needs rows of 2 columns, x, y"):
        line(jnp.ones((4, 3)))


def test_torch_shapes_and_precision(torch):
    line = torch_function(Program.parse("0.1*x + 1", full_library(["x", "y"])))
    constant = torch_function(Program.parse("2.5", full_library(["x", "y"])))
    assert line(torch.ones((4, 2), dtype=torch.float32)).dtype == torch.float32
    assert line(torch.ones((4, 2), dtype=torch.int64)).dtype == torch.get_default_dtype()
    assert line(torch.ones(2)).shape == ()
    assert constant(torch.ones((4, 2))).tolist() == [2.5] * 4
    with pytest.raises(InputError, match="needs rows of 2 columns, x, y"):
        line(torch.ones((4, 3)))


@pytest.mark.parametrize(("function", "name"), [(torch_function, "torch"), (jax_function, "jax")])
def test_what_is_not_installed_is_named(monkeypatch, function, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=f"is not installed; run: pip install {name}"):
        function(Program.parse("x"))


# What cannot be exported


@pytest.mark.parametrize(
    "target",
    [*(TARGETS[name] for name in SOURCES), numpy_function, torch_function, jax_function],
)
def test_operators_without_a_formula_are_named(target):
    program = Program.from_preorder("pair x x", Library(LABELS, ["x"]))
    with pytest.raises(InputError, match="operator 'pair' has no formula"):
        target(program)


@pytest.mark.parametrize(
    "target", [*TARGETS.values(), numpy_function, torch_function, jax_function]
)
def test_text_is_no_program(target):
    with refused("program", value="x + 1"):
        target("x + 1")


def test_export_chooses_the_target():
    program = Program.parse("x + 1")
    for name, target in TARGETS.items():
        assert export(program, name) == target(program)
    assert export(program, "c", name="line") == to_c(program, "line")
    with refused("target", value="pyton", wanted="did you mean 'python'?"):
        export(program, "pyton")
    with refused("option of target 'c'", value="nam", wanted="did you mean 'name'?"):
        export(program, "c", nam="line")
