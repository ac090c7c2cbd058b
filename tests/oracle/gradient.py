"""The policy's objective written plainly in JAX and float64, for automatic differentiation.

The walk of each program, and what its constraints allow at each step, come from the sampling
oracle; the objective is then sum_i w_i log p(tau_i) + v_i H(tau_i) as a function of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from oracle import sampling
from symseek.policy import PolicyWeights
from symseek.programs import Programs

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_disable_most_optimizations", True)  # each shape is compiled, and run once

Array = NDArray[np.float64]


class Walk(NamedTuple):
    """All steps of a batch of programs. EMPTY, which is -1, reads the last row of a table."""

    token: NDArray[np.int64]  # [B, T]
    parent: NDArray[np.int64]  # [B, T]
    sibling: NDArray[np.int64]  # [B, T]
    added: Array  # [B, T, L] to the logits
    allowed: NDArray[np.bool_]  # [B, T, L]
    taken: NDArray[np.bool_]  # [B, T] False beyond the program's end


def walk(weights: PolicyWeights, programs: Programs, rules: Sequence[Any]) -> Walk:
    """The steps of the batch, by the oracle of sampling."""
    count, width = programs.tokens.shape
    size = len(programs.library)
    token, parent, sibling = (np.zeros((count, width), dtype=np.int64) for _ in range(3))
    added = np.zeros((count, width, size))
    allowed = np.ones((count, width, size), dtype=bool)
    taken = np.zeros((count, width), dtype=bool)
    for row, program in enumerate(programs):
        steps = sampling.steps(weights, programs.library, rules, program.tokens)
        for at, step in enumerate(steps):
            token[row, at], taken[row, at] = program.tokens[at], True
            parent[row, at], sibling[row, at] = step.parent, step.sibling
            allowed[row, at] = step.added > -np.inf
            added[row, at] = np.where(allowed[row, at], step.added, 0.0)
    return Walk(token, parent, sibling, added, allowed, taken)


def objective(
    flat: Any,
    steps: Walk,
    log_weights: Array,
    entropy_weights: Array,
    hidden: int,
    entropy_decay: float = 1.0,
) -> Any:
    """sum_i w_i log p(tau_i) + v_i H(tau_i) as a function of the flat weights."""
    weights = named(flat, hidden, tokens=steps.added.shape[2])
    log_p, entropy = jax.vmap(lambda one: of_one(weights, one, entropy_decay))(steps)
    return jnp.sum(log_weights * log_p + entropy_weights * entropy)


gradient = jax.jit(jax.grad(objective), static_argnames="hidden")


def of_one(weights: dict[str, Any], one: Walk, entropy_decay: float) -> tuple[Any, Any]:
    """Log-probability and entropy of one program; the entropy at step t counts decay**t."""

    def step(before: Any, now: Walk) -> Any:
        state, cell = before
        gates = weights["parent"][now.parent] + weights["sibling"][now.sibling]
        gates = gates + weights["bias"] + state @ weights["recurrent"]
        into, forget, candidate, out = jnp.split(gates, 4)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(into) * jnp.tanh(candidate)
        state = jax.nn.sigmoid(out) * jnp.tanh(cell)
        logits = state @ weights["output"] + weights["output_bias"] + now.added
        log_p = jax.nn.log_softmax(jnp.where(now.allowed, logits, -1e30))
        entropy = -jnp.sum(jnp.where(now.allowed, jnp.exp(log_p) * log_p, 0.0))
        return (state, cell), now.taken * jnp.stack([log_p[now.token], entropy])

    start = jnp.zeros(len(weights["recurrent"]))
    _, each = jax.lax.scan(step, (start, start), one)
    log_p, entropy = each.T
    return log_p.sum(), jnp.sum(entropy * entropy_decay ** jnp.arange(len(entropy)))


def named(flat: Any, hidden: int, tokens: int) -> dict[str, Any]:
    """The arrays in the flat vector, in the order of PolicyWeights."""
    shapes = {
        "parent": (tokens + 1, 4 * hidden),
        "sibling": (tokens + 1, 4 * hidden),
        "recurrent": (hidden, 4 * hidden),
        "bias": (4 * hidden,),
        "output": (hidden, tokens),
        "output_bias": (tokens,),
    }
    arrays, start = {}, 0
    for name, shape in shapes.items():
        arrays[name] = flat[start : start + int(np.prod(shape))].reshape(shape)
        start += int(np.prod(shape))
    assert start == len(flat)
    return arrays
