"""The sums that a fit goes by, from a program differentiated by JAX in float64.

The operators are spelt out here; their derivatives are JAX's own business. Every row has its own
copy of the constants, so the derivatives of the sum of all values are those of each row.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
from numpy.typing import NDArray

from symseek.programs import Program
from symseek.tokens import TokenKind

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

Array = NDArray[np.float64]


def _or_1(mask: Any, a: Any) -> Any:
    """Not the operand itself where it is not used: JAX makes NaN of 0 times an infinite slope."""
    return jnp.where(mask, a, 1.0)


FORMULAS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: jnp.power(a, b),
    "sin": lambda a: jnp.sin(a),
    "cos": lambda a: jnp.cos(a),
    "tan": lambda a: jnp.tan(a),
    "tanh": lambda a: jnp.tanh(a),
    "exp": lambda a: jnp.exp(a),
    "log": lambda a: jnp.log(a),
    "sqrt": lambda a: jnp.sqrt(a),
    "square": lambda a: a * a,
    "cube": lambda a: a * a * a,
    "fourth": lambda a: (a * a) * (a * a),
    "reciprocal": lambda a: 1.0 / a,
    "neg": lambda a: -a,
    "abs": lambda a: jnp.where(a < 0.0, -a, a),  # at 0 the slope is 1, as in the native core
    "neg_exp": lambda a: jnp.exp(-a),
    "asin": lambda a: jnp.arcsin(a),
    "acos": lambda a: jnp.arccos(a),
    "atan": lambda a: jnp.arctan(a),
    "sinh": lambda a: jnp.sinh(a),
    "cosh": lambda a: jnp.cosh(a),
    "asinh": lambda a: jnp.arcsinh(a),
    "atan2": lambda a, b: jnp.arctan2(a, b),
    "min": lambda a, b: jnp.where(a < b, a, b),  # one of two equal operands has the slope 1
    "max": lambda a, b: jnp.where(b < a, a, b),
    "sign": lambda a: jnp.sign(a),
    "floor": lambda a: jnp.floor(a),
    "erf": lambda a: jax.scipy.special.erf(a),
    "protected_div": lambda a, b: jnp.where(abs(b) > 0.001, a / _or_1(abs(b) > 0.001, b), 1.0),
    "protected_exp": lambda a: jnp.where(a < 100, jnp.exp(_or_1(a < 100, a)), 0.0),
    "protected_log": lambda a: jnp.where(
        abs(a) > 0.001, jnp.log(jnp.abs(_or_1(abs(a) > 0.001, a))), 0.0
    ),
    "protected_reciprocal": lambda a: jnp.where(
        abs(a) > 0.001, 1.0 / _or_1(abs(a) > 0.001, a), 0.0
    ),
    "protected_square": lambda a: jnp.where(abs(a) < 1e6, _or_1(abs(a) < 1e6, a) ** 2, 0.0),
    "protected_cube": lambda a: jnp.where(abs(a) < 1e6, _or_1(abs(a) < 1e6, a) ** 3, 0.0),
}


VANISHED = 1e-300  # stands for a value that is 0 only because it is too small


class Sums(NamedTuple):
    """Weighted sums over the rows, with residuals r and slopes J of the values by the constants."""

    loss: Any  # r^2
    gradient: Any  # [K] of r J
    normal: Any  # [K, K] of J J'


class Expected(NamedTuple):
    """What should come out; `sums` is None where there is none, or where rounding errors decide."""

    valid: bool | None  # every node is finite on every row; None where the last bits decide
    sums: Sums | None = None
    off: Sums | None = None  # how far rounding may take each sum


def expect(program: Program, X: Array, y: Array, weights: Array, rows: int) -> Expected:
    """The sums over the first rows of the table."""
    # All rows are differentiated every time: JAX compiles anew for each number of them.
    each = Slopes(*(part[:, :rows] for part in slopes(program, X, blurred=4)))
    valid = each.finite.all(axis=1)
    if each.vanished.any():
        return Expected(None)
    if not valid.any():
        return Expected(False)
    if not (valid.all() and each.tame.all() and (each.smooth == each.smooth[0]).all()):
        return Expected(None)
    f, J, w = each.values[0], each.jacobian[0], weights[:rows]
    # What rounding does to a value and to a slope, with room to spare; JAX takes denormals for 0.
    off_f = 1e-200 + 1e-14 * np.abs(f) + 16 * np.abs(each.values - f).max(axis=0)
    off_J = 1e-200 + 1e-14 * np.abs(J) + 16 * np.abs(each.jacobian - J).max(axis=0)
    if any(off.max() > 1e-6 * np.abs(of).max() + 1e-100 for off, of in ((off_f, f), (off_J, J))):
        return Expected(True)
    r, size_J = y[:rows] - f, np.abs(J)
    size = np.abs(r) + off_f
    sums = Sums(w @ r**2, (w * r) @ J, (J.T * w) @ J)
    off = Sums(  # the last share of each is for the summing
        w @ (2 * size * off_f) + 1e-13 * (w @ r**2),
        (w * size) @ off_J + (w * off_f) @ size_J + 1e-13 * ((w * size) @ size_J),
        (off_J.T * w) @ size_J + (size_J.T * w) @ (off_J + 1e-13 * size_J),
    )
    return Expected(True, sums, off)


class Slopes(NamedTuple):
    """Values of a program and their derivatives by its constants: as exact as float64 is, and in
    some versions C that are blurred.
    """

    values: Array  # [1 + C, N]
    jacobian: Array  # [1 + C, N, K] 0 where it is not finite: such a row tells nothing
    smooth: NDArray[np.bool_]  # [1 + C, N, K] whether the derivative was finite
    finite: NDArray[np.bool_]  # [1 + C, N] whether every node was finite
    tame: NDArray[np.bool_]  # [1 + C, N] whether nothing comes near overflow or underflow
    vanished: NDArray[np.bool_]  # [1 + C, N] whether some power came out as 0, being too small


def slopes(program: Program, X: Array, blurred: int = 0) -> Slopes:
    """Differentiate on the rows of X [N, n].

    In a blurred version every operator is off by some units in the last place, at random: how far
    the result moves tells how much of it is rounding.
    """
    versions, rows = 1 + blurred, len(X)
    columns = [jnp.asarray(np.tile(x, versions)) for x in X.T]
    off = itertools.cycle(_noise(versions, rows))

    def function(*constants: Any) -> tuple[Any, list[Any]]:
        nodes: list[Any] = []
        return _evaluate(program, columns, list(constants), nodes, off), nodes

    constants = [jnp.full(versions * rows, value) for value in program.constants]
    values, pull, nodes = jax.vjp(function, *constants, has_aux=True)
    shape = (versions, rows)
    raw = np.stack([np.asarray(each).reshape(shape) for each in pull(jnp.ones_like(values))], 2)
    sizes = np.abs(np.stack([np.asarray(node).reshape(shape) for node in nodes]))
    smooth = np.isfinite(raw)
    jacobian = np.where(smooth, raw, 0.0)
    tame = ((sizes == 0.0) | ((sizes > 1e-60) & (sizes < 1e60))).all(axis=0)
    return Slopes(
        np.asarray(values).reshape(shape),
        jacobian,
        smooth,
        np.isfinite(sizes).all(axis=0),
        tame & (np.abs(jacobian) < 1e60).all(axis=2),
        (sizes == VANISHED).any(axis=0),
    )


@functools.cache
def _noise(versions: int, rows: int) -> list[Any]:
    """Relative errors to go round in: none in the first version."""
    noise = 8e-16 * np.random.default_rng(0).choice([-1.0, 1.0], (16, versions, rows))
    noise[:, 0] = 0.0
    return [jnp.asarray(each.ravel()) for each in noise]


def _evaluate(
    program: Program,
    columns: list[Any],
    constants: list[Any],
    nodes: list[Any],
    off: Iterator[Any],
) -> Any:
    """The values of the root; those of every node are recorded in `nodes`."""
    tokens = list(program.tokens)

    def node() -> Any:
        token = program.library.tokens[tokens.pop(0)]
        if token.kind is TokenKind.VARIABLE:
            assert token.index is not None
            value = columns[token.index]
        elif token.kind is TokenKind.NUMBER:
            value = jnp.full_like(columns[0], token.value)
        elif token.kind is TokenKind.CONSTANT:
            value = constants.pop(0)
        else:
            arguments = [node() for _ in range(token.arity)]
            if token.expansion is not None:
                numbers = [jnp.full_like(columns[0], each) for each in token.expansion.constants]
                return _evaluate(token.expansion, arguments, numbers, nodes, off)
            value = FORMULAS[token.name](*arguments) * (1.0 + next(off))
            if token.name == "tanh":  # its slope 1 - tanh^2 is a difference
                a = arguments[0]
                value = value + next(off) * (a - jax.lax.stop_gradient(a))
            nodes.append(_recorded(token.name, value, arguments[0]))
            return value
        nodes.append(value)
        return value

    root = node()
    assert not tokens
    assert not constants
    return root


def _recorded(name: str, value: Any, argument: Any) -> Any:
    if name in ("exp", "neg_exp"):
        return jnp.where(value == 0.0, VANISHED, value)
    if name == "pow":
        return jnp.where((value == 0.0) & (argument != 0.0), VANISHED, value)
    return value
