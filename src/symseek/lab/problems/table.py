"""The paper's benchmark table as data, one line a problem."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from types import MappingProxyType

import numpy as np

from symseek.lab.problems.problem import Array, Figures, GradedBy, Points, Problem
from symseek.lab.problems.problem import Evenly as E
from symseek.lab.problems.problem import Uniform as U

__all__ = ["BASE", "METHODS", "PROBLEMS"]

#: The library the paper calls L0; each suite says how it differs. Variables come with the problem.
BASE = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log")

GRAMMAR_VAE = ("add", "mul", "div", "sin", "exp", "1", "2", "3")
JIN = ("add", "sub", "mul", "div", "sin", "cos", "exp", "square", "cube", "const")
KEIJZER = ("add", "mul", "div", "reciprocal", "neg", "sqrt")
KORNS = (*BASE, "tan", "tanh", "square", "cube", "sqrt")
VLADISLAVLEVA = ("add", "sub", "mul", "div", "exp", "neg_exp", "square")

#: The methods of the paper that this package has, in the order of its tables.
METHODS = ("dsr", "pqt", "vpg")

# Expressions a run may sample. Fitting constants is what takes the time, so the paper halves it.
BUDGET, BUDGET_WITH_CONSTANTS = 2_000_000, 1_000_000

# A problem's name, its formula, its training points, and the paper's figures by method: recovery in
# percent, or the error by which its suite is graded. Often there is one, for the first method.
Row = tuple[str, str, Points, tuple[float, ...]]


def _suite(
    name: str,
    operators: tuple[str, ...],
    *rows: Row,
    graded_by: GradedBy = "recovery",
    test: Points | None = None,
    target: Callable[[Array], Array] | None = None,
) -> list[Problem]:
    """The problems of one suite and library; `test` is for points unlike the training points."""
    by_recovery = graded_by == "recovery"
    return [
        Problem(
            name=problem,
            suite=name,
            expression=expression,
            operators=operators,
            variables=("x", "y") if re.search(r"\by\b", expression) else ("x",),
            train=train,
            test=test or train,
            budget=BUDGET_WITH_CONSTANTS if "const" in operators else BUDGET,
            target=target,
            graded_by=graded_by,
            published=_by_method(figures if by_recovery else ()),
            published_rmse=_by_method(() if by_recovery else figures),
        )
        for problem, expression, train, figures in rows
    ]


def _by_method(figures: tuple[float, ...]) -> Figures:
    return MappingProxyType(dict(zip(METHODS, figures, strict=False)))


_neat = partial(_suite, "Neat", graded_by="median RMSE")


def _harmonic(X: Array) -> Array:
    """The sum of 1/k for k = 1, ..., x on whole numbers x [N, 1]."""
    x = np.rint(X[:, 0]).astype(int)
    sums = np.cumsum(1 / np.arange(1, x.max() + 1))
    return np.asarray(sums[x - 1])


HARMONIC = "sum of 1/k for k = 1, ..., x"

PROBLEMS: tuple[Problem, ...] = (
    # Recovery of DSR, PQT and VPG over 100 runs.
    *_suite(
        "Nguyen",
        BASE,
        ("Nguyen-1", "x**3 + x**2 + x", U(-1, 1, 20), (100, 100, 96)),
        ("Nguyen-2", "x**4 + x**3 + x**2 + x", U(-1, 1, 20), (100, 99, 47)),
        ("Nguyen-3", "x**5 + x**4 + x**3 + x**2 + x", U(-1, 1, 20), (100, 86, 4)),
        ("Nguyen-4", "x**6 + x**5 + x**4 + x**3 + x**2 + x", U(-1, 1, 20), (100, 93, 1)),
        ("Nguyen-5", "sin(x**2)*cos(x) - 1", U(-1, 1, 20), (72, 73, 5)),
        ("Nguyen-6", "sin(x) + sin(x + x**2)", U(-1, 1, 20), (100, 98, 100)),
        ("Nguyen-7", "log(x + 1) + log(x**2 + 1)", U(0, 2, 20), (35, 41, 3)),
        ("Nguyen-8", "sqrt(x)", U(0, 4, 20), (96, 21, 5)),
        ("Nguyen-9", "sin(x) + sin(y**2)", U(0, 1, 20), (100, 100, 100)),
        ("Nguyen-10", "2*sin(x)*cos(y)", U(0, 1, 20), (100, 91, 99)),
        ("Nguyen-11", "x**y", U(0, 1, 20), (100, 100, 100)),
        ("Nguyen-12", "x**4 - x**3 + y**2/2 - y", U(0, 1, 20), (0, 0, 0)),
    ),
    *_suite(
        "Nguyen-altered",
        BASE,
        ("Nguyen-2'", "4*x**4 + 3*x**3 + 2*x**2 + x", U(-1, 1, 20), (96, 92, 0)),
        ("Nguyen-5'", "sin(x**2)*cos(x) - 2", U(-1, 1, 20), (87, 25, 0)),
        ("Nguyen-8'", "x**(1/3)", U(0, 4, 20), (50, 44, 1)),
        ("Nguyen-8''", "x**(2/3)", U(0, 4, 20), (3, 1, 0)),
    ),
    *_suite(
        "Nguyen-c",
        (*BASE, "const"),
        ("Nguyen-1c", "3.39*x**3 + 2.12*x**2 + 1.78*x", U(-1, 1, 20), (100, 100, 100)),
        ("Nguyen-5c", "sin(x**2)*cos(x) - 0.75", U(-1, 1, 20), (100, 100, 100)),
        ("Nguyen-7c", "log(x + 1.4) + log(x**2 + 1.3)", U(0, 2, 20), (100, 90, 100)),
        ("Nguyen-8c", "sqrt(1.23*x)", U(0, 4, 20), (100, 100, 100)),
        ("Nguyen-10c", "sin(1.5*x)*cos(0.5*y)", U(0, 1, 20), (100, 100, 40)),
    ),
    *_suite(
        "GrammarVAE",
        GRAMMAR_VAE,
        ("GrammarVAE-1", "1/3 + x + sin(x**2)", E(-10, 10, 1000), (19,)),
    ),
    # Average of DSR's test RMSE over 50 runs.
    *_suite(
        "Jin",
        JIN,
        ("Jin-1", "2.5*x**4 - 1.3*x**3 + 0.5*y**2 - 1.7*y", U(-3, 3, 100), (0.46,)),
        ("Jin-2", "8*x**2 + 8*y**3 - 15", U(-3, 3, 100), (0,)),
        ("Jin-3", "0.2*x**3 + 0.5*y**3 - 1.2*y - 0.5*x", U(-3, 3, 100), (5.2e-4,)),
        ("Jin-4", "1.5*exp(x) + 5*cos(y)", U(-3, 3, 100), (1.36e-4,)),
        ("Jin-5", "6*sin(x)*cos(y)", U(-3, 3, 100), (0,)),
        ("Jin-6", "1.35*x*y + 5.5*sin((x - 1)*(y - 1))", U(-3, 3, 100), (2.23,)),
        graded_by="mean RMSE",
        test=U(-3, 3, 30),
    ),
    # Median of DSR's test RMSE over 30 runs.
    *_neat(
        (*BASE, "1"),
        ("Neat-1", "x**4 + x**3 + x**2 + x", U(-1, 1, 20), (0,)),
        ("Neat-2", "x**5 + x**4 + x**3 + x**2 + x", U(-1, 1, 20), (0,)),
        ("Neat-3", "sin(x**2)*cos(x) - 1", U(-1, 1, 20), (0.0041,)),
        ("Neat-4", "log(x + 1) + log(x**2 + 1)", U(0, 2, 20), (0.0189,)),
    ),
    *_neat(BASE, ("Neat-5", "2*sin(x)*cos(y)", U(-1, 1, 100), (0,))),
    *_neat(
        KEIJZER,
        ("Neat-6", HARMONIC, E(1, 50, 50), (0.2378,)),
        test=E(1, 120, 120),
        target=_harmonic,
    ),
    *_neat(
        KORNS,
        ("Neat-7", "2 - 2.1*cos(9.8*x)*sin(1.3*y)", E(-50, 50, 10**5, grid=False), (1.0606,)),
    ),
    *_neat(
        VLADISLAVLEVA,
        ("Neat-8", "exp(-(x - 1)**2)/(1.2 + (y - 2.5)**2)", U(0.3, 4, 100), (0.1076,)),
    ),
    *_neat(BASE, ("Neat-9", "1/(1 + x**-4) + 1/(1 + y**-4)", E(-5, 5, 21), (0.1511,))),
    # The paper gives no RMSE here, only the best expression it found: see its section on Neat-GP.
    *_suite(
        "Neat-extended",
        (*KEIJZER, "log", "const"),
        ("Neat-6-extended", HARMONIC, E(1, 50, 50), ()),
        graded_by="median RMSE",
        test=E(1, 120, 120),
        target=_harmonic,
    ),
)
