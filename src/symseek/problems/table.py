"""The paper's benchmark table as data, one line a problem."""

from __future__ import annotations

from types import MappingProxyType

from symseek.problems.problem import Problem, Uniform

#: The library the paper calls L0; each suite says how it differs. Variables come with the problem.
BASE = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log")

#: The methods of Table 1 that this package has, in the table's order.
METHODS = ("dsr", "pqt", "vpg")


def _nguyen(
    number: int, expression: str, train: Uniform, published: tuple[float, float, float]
) -> Problem:
    return Problem(
        name=f"Nguyen-{number}",
        suite="Nguyen",
        expression=expression,
        operators=BASE,
        variables=("x",) if number <= 8 else ("x", "y"),
        train=train,
        test=train,  # the same distribution, drawn after the training points
        published=MappingProxyType(dict(zip(METHODS, published, strict=True))),
    )


PROBLEMS: tuple[Problem, ...] = (
    # number, formula, points, recovery in the paper: DSR, PQT, VPG (%)
    _nguyen(1, "x**3 + x**2 + x", Uniform(-1, 1, 20), (100, 100, 96)),
    _nguyen(2, "x**4 + x**3 + x**2 + x", Uniform(-1, 1, 20), (100, 99, 47)),
    _nguyen(3, "x**5 + x**4 + x**3 + x**2 + x", Uniform(-1, 1, 20), (100, 86, 4)),
    _nguyen(4, "x**6 + x**5 + x**4 + x**3 + x**2 + x", Uniform(-1, 1, 20), (100, 93, 1)),
    _nguyen(5, "sin(x**2)*cos(x) - 1", Uniform(-1, 1, 20), (72, 73, 5)),
    _nguyen(6, "sin(x) + sin(x + x**2)", Uniform(-1, 1, 20), (100, 98, 100)),
    _nguyen(7, "log(x + 1) + log(x**2 + 1)", Uniform(0, 2, 20), (35, 41, 3)),
    _nguyen(8, "sqrt(x)", Uniform(0, 4, 20), (96, 21, 5)),
    _nguyen(9, "sin(x) + sin(y**2)", Uniform(0, 1, 20), (100, 100, 100)),
    _nguyen(10, "2*sin(x)*cos(y)", Uniform(0, 1, 20), (100, 91, 99)),
    _nguyen(11, "x**y", Uniform(0, 1, 20), (100, 100, 100)),
    _nguyen(12, "x**4 - x**3 + y**2/2 - y", Uniform(0, 1, 20), (0, 0, 0)),
)
