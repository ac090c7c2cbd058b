"""Formulas as functions of a table: in NumPy, PyTorch and JAX, the latter two differentiable.

Of a formula with groups, the last column has the number of each row's group, from 0 on, in the
order of the labels.
PyTorch and JAX are loaded when asked for; neither is needed otherwise.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.errors import InputError
from symseek.export.own import OwnColumns
from symseek.export.tree import checked, exportable, work
from symseek.operators.record import missing_form
from symseek.programs import Program
from symseek.tokens import Token

if TYPE_CHECKING:
    from jax import Array
    from torch import Tensor


def _forms(language: str) -> Callable[[Token], Callable[..., Any] | None]:
    """The operators as functions of the arrays of a package: `torch` or `jax`."""

    def form(token: Token) -> Callable[..., Any] | None:
        known: str | Callable[..., Any] | None = getattr(token.forms, language)
        if isinstance(known, str):
            function: Callable[..., Any] = attribute(language, known)
            return function
        return known

    return form


def attribute(package: str, path: str) -> Any:
    """What a package has under a dotted name, its modules loaded on the way.

    >>> attribute("numpy", "fft.fft").__name__
    'fft'
    """
    module, _, name = f"{package}.{path}".rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (AttributeError, ImportError):
        raise InputError(f"{package} has no {path!r}; give the operator's Token another") from None


def numpy_function(program: Program) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """A function of rows X [N, n] that gives the values [N]: `Program.evaluate` by another name.

    >>> numpy_function(Program.parse("2*x + 1"))([[1.0], [2.0]])
    array([3., 5.])
    """
    for token in checked(program).tokens:
        this = program.library.tokens[token]
        if this.arity and this.numpy is None:
            raise missing_form(this, "NumPy", "numpy=, a function of arrays")
    return program.evaluate


def torch_function(program: Program) -> Callable[[Tensor], Tensor]:
    """A PyTorch function of rows X [N, n] that gives the values [N]; one row [n] gives one value.

    It computes in the precision and on the device of X, and gradients flow through it.
    """
    exportable(program, "torch")
    own = OwnColumns.of(program)
    torch = _imported("torch", "PyTorch")
    form = _forms("torch")

    def evaluate(X: Tensor) -> Tensor:
        rows = torch.as_tensor(X)
        if not rows.is_floating_point():
            rows = rows.to(torch.get_default_dtype())
        _check_columns(program, rows.shape)
        like = {"dtype": rows.dtype, "device": rows.device}

        def column(index: int) -> Tensor:
            if index not in own.numbers:
                return rows[..., index]
            numbers = torch.tensor(own.values[own.numbers.index(index)], **like)
            return numbers[rows[..., own.group].long()]

        values = work(program, form, lambda value: torch.tensor(value, **like), column)
        result: Tensor = values.expand(rows.shape[:-1])
        return result

    return evaluate


def jax_function(program: Program) -> Callable[[Array], Array]:
    """A JAX function of rows X [N, n] that gives the values [N]; one row [n] gives one value.

    `jax.jit`, `jax.grad` and `jax.vmap` take it. It computes in the precision of X, which JAX makes
    32 bits unless you say otherwise by `jax.config.update("jax_enable_x64", True)`.
    """
    exportable(program, "jax")
    own = OwnColumns.of(program)
    _imported("jax", "JAX")
    jnp = importlib.import_module("jax.numpy")
    form = _forms("jax")

    def evaluate(X: Array) -> Array:
        rows = jnp.asarray(X)
        if not jnp.issubdtype(rows.dtype, jnp.floating):
            rows = rows.astype(float)
        _check_columns(program, rows.shape)

        def column(index: int) -> Any:
            if index not in own.numbers:
                return rows[..., index]
            numbers = jnp.asarray(own.values[own.numbers.index(index)], dtype=rows.dtype)
            return numbers[rows[..., own.group].astype(int)]

        values = work(program, form, lambda value: jnp.asarray(value, dtype=rows.dtype), column)
        result: Array = jnp.broadcast_to(values, rows.shape[:-1])
        return result

    return evaluate


def _imported(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(f"{name} is not installed; run: pip install {module}") from None


def _check_columns(program: Program, shape: tuple[int, ...]) -> None:
    names = program.library.columns
    if not shape or shape[-1] != len(names):
        raise InputError(
            f"X has shape {tuple(shape)}; this formula needs rows of {len(names)} columns,"
            f" {', '.join(names)}"
        )
