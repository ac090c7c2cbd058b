"""NumPy evaluation of one program, written from the definition.

A program is valid when every node is finite on every row. The operators are spelt out here and not
taken from the package's table, so that a mistake in the table shows.
"""

from __future__ import annotations

import math
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from symseek.programs import Program
from symseek.tokens import ARGUMENTS, TokenKind

Array = NDArray[np.float64]

FORMULAS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "sin": lambda a: np.sin(a),
    "cos": lambda a: np.cos(a),
    "tan": lambda a: np.tan(a),
    "tanh": lambda a: np.tanh(a),
    "exp": lambda a: np.exp(a),
    "log": lambda a: np.log(a),
    "sqrt": lambda a: np.sqrt(a),
    "square": lambda a: a * a,
    "cube": lambda a: a * a * a,
    "fourth": lambda a: (a * a) * (a * a),
    "reciprocal": lambda a: 1.0 / a,
    "neg": lambda a: -a,
    "abs": lambda a: np.abs(a),
    "neg_exp": lambda a: np.exp(-a),
    "asin": lambda a: np.arcsin(a),
    "acos": lambda a: np.arccos(a),
    "atan": lambda a: np.arctan(a),
    "sinh": lambda a: np.sinh(a),
    "cosh": lambda a: np.cosh(a),
    "asinh": lambda a: np.arcsinh(a),
    "atan2": lambda a, b: np.arctan2(a, b),
    "min": lambda a, b: np.minimum(a, b),
    "max": lambda a, b: np.maximum(a, b),
    "sign": lambda a: np.sign(a),
    "floor": lambda a: np.floor(a),
    "erf": np.vectorize(math.erf, otypes=[float]),
    "hypot": lambda a, b: np.sqrt(a * a + b * b),
    "gauss": lambda a: np.exp(-(a * a)),
    "logistic": lambda a: 1.0 / (1.0 + np.exp(-a)),
    "protected_div": lambda a, b: np.where(np.abs(b) > 0.001, a / b, 1.0),
    "protected_exp": lambda a: np.where(a < 100, np.exp(a), 0.0),
    "protected_log": lambda a: np.where(np.abs(a) > 0.001, np.log(np.abs(a)), 0.0),
    "protected_sqrt": lambda a: np.sqrt(np.abs(a)),
    "protected_reciprocal": lambda a: np.where(np.abs(a) > 0.001, 1.0 / a, 0.0),
    "protected_neg_exp": lambda a: np.where(a > -100, np.exp(-a), 0.0),
    "protected_square": lambda a: np.where(np.abs(a) < 1e6, a * a, 0.0),
    "protected_cube": lambda a: np.where(np.abs(a) < 1e6, a * a * a, 0.0),
}


def evaluate(program: Program, X: Array) -> tuple[Array, bool]:
    """The values y [N] on the rows of X [N, n], and whether every node was finite on every row."""
    constants = list(program.constants)
    tokens = list(program.tokens)
    every_node: list[Array] = []

    def node() -> Array:
        token = program.library.tokens[tokens.pop(0)]
        if token.kind is TokenKind.VARIABLE:
            assert token.index is not None
            y = X[:, token.index]
        elif token.kind is TokenKind.NUMBER:
            y = np.full(len(X), token.value)
        elif token.kind is TokenKind.CONSTANT:
            y = np.full(len(X), constants.pop(0))
        else:
            arguments = [node() for _ in range(token.arity)]
            if token.expansion is None:
                y = FORMULAS[token.name](*arguments)
            else:
                assert token.expansion.library.variables == tuple(ARGUMENTS[: token.arity])
                y, finite = evaluate(token.expansion, np.stack(arguments, axis=1))
                every_node.append(np.zeros(1) if finite else np.full(1, np.nan))
        every_node.append(y)
        return y

    with np.errstate(all="ignore"):
        y = node()
    assert not tokens
    assert not constants
    return y, all(bool(np.isfinite(values).all()) for values in every_node)


def evaluate_strictly(program: Program, X: Array) -> tuple[Array, bool]:
    """The same, but a program is also invalid where NumPy raises an underflow at any node."""
    y, valid = evaluate(program, X)
    raised: list[str] = []

    def watched(name: str) -> Any:
        formula = FORMULAS[name]

        def function(*arguments: Array) -> Any:
            with np.errstate(under="call", call=lambda error, _: raised.append(error)):
                return formula(*arguments)

        return function

    with mock.patch.dict(FORMULAS, {name: watched(name) for name in FORMULAS}):
        evaluate(program, X)
    return y, valid and not raised
