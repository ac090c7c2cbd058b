"""Formulas as functions of a table: in NumPy, PyTorch and JAX, the latter two differentiable.

PyTorch and JAX are loaded when asked for; neither is needed otherwise.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.errors import InputError
from symseek.export.tree import checked, exportable, work
from symseek.programs import Program

if TYPE_CHECKING:
    from jax import Array
    from torch import Tensor

__all__ = ["array_forms", "jax_function", "numpy_function", "torch_function"]


def array_forms(module: Any) -> dict[str, Callable[..., Any]]:
    """The operators as functions of the arrays of a module such as `torch` or `jax.numpy`."""
    named = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs")
    return {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "div": operator.truediv,
        "pow": operator.pow,
        "neg": operator.neg,
        "reciprocal": lambda a: 1 / a,
        "square": lambda a: a * a,
        "cube": lambda a: a * a * a,
        "fourth": lambda a: (a * a) * (a * a),
        "neg_exp": lambda a: module.exp(-a),
        **{name: getattr(module, name) for name in named},
    }


def numpy_function(program: Program) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """A function of rows X [N, n] that gives the values [N]: `Program.evaluate` by another name.

    >>> numpy_function(Program.parse("2*x + 1"))([[1.0], [2.0]])
    array([3., 5.])
    """
    for token in checked(program).tokens:
        this = program.library.tokens[token]
        if this.arity and this.numpy is None:
            raise InputError(f"operator {this.name!r} has no formula, so it cannot be exported")
    return program.evaluate


def torch_function(program: Program) -> Callable[[Tensor], Tensor]:
    """A PyTorch function of rows X [N, n] that gives the values [N]; one row [n] gives one value.

    It computes in the precision and on the device of X, and gradients flow through it.
    """
    exportable(program)
    torch = _imported("torch", "PyTorch")
    forms = array_forms(torch)

    def evaluate(X: Tensor) -> Tensor:
        rows = torch.as_tensor(X)
        if not rows.is_floating_point():
            rows = rows.to(torch.get_default_dtype())
        _check_columns(program, rows.shape)
        like = {"dtype": rows.dtype, "device": rows.device}
        values = work(
            program,
            forms,
            lambda value: torch.tensor(value, **like),
            lambda index: rows[..., index],
        )
        result: Tensor = values.expand(rows.shape[:-1])
        return result

    return evaluate


def jax_function(program: Program) -> Callable[[Array], Array]:
    """A JAX function of rows X [N, n] that gives the values [N]; one row [n] gives one value.

    `jax.jit`, `jax.grad` and `jax.vmap` take it. It computes in the precision of X, which JAX makes
    32 bits unless told otherwise by `jax.config.update("jax_enable_x64", True)`.
    """
    exportable(program)
    _imported("jax", "JAX")
    jnp = importlib.import_module("jax.numpy")
    forms = array_forms(jnp)

    def evaluate(X: Array) -> Array:
        rows = jnp.asarray(X)
        if not jnp.issubdtype(rows.dtype, jnp.floating):
            rows = rows.astype(float)
        _check_columns(program, rows.shape)
        values = work(
            program,
            forms,
            lambda value: jnp.asarray(value, dtype=rows.dtype),
            lambda index: rows[..., index],
        )
        result: Array = jnp.broadcast_to(values, rows.shape[:-1])
        return result

    return evaluate


def _imported(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(f"{name} is not installed; run: pip install {module}") from None


def _check_columns(program: Program, shape: tuple[int, ...]) -> None:
    names = program.library.variables
    if not shape or shape[-1] != len(names):
        raise InputError(
            f"X has shape {tuple(shape)}; this formula needs rows of {len(names)} columns,"
            f" {', '.join(names)}"
        )
