"""A starting policy for any library, from one that knows tokens by their roles.

The role of a token is its operator's name, if that is a usual one; otherwise that it is a variable,
a number, a constant to fit, or an operator of one operand or of more. The weights of a token are
those of its role. Tokens of one role share its probability alike, and the roles that a library
lacks leave theirs to the others of the same arity, so that formulas keep their length. Only beside
many columns are they shorter: most columns are idle there, and short formulas tell which are not.
"""

from __future__ import annotations

import zipfile
from functools import cache
from importlib.resources import files
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError
from symseek.policy import FORMULAS_HIDDEN, PolicyConfig, PolicyWeights
from symseek.tokens import Library, Token, TokenKind

_ARITY = {
    **dict.fromkeys(("add", "sub", "mul", "div", "pow", "binary"), 2),
    **dict.fromkeys(("sin", "cos", "tanh", "exp", "log", "sqrt", "square", "cube", "fourth"), 1),
    **dict.fromkeys(("neg", "reciprocal", "neg_exp", "unary"), 1),
    **dict.fromkeys(("variable", "number", "const"), 0),
}
ROLES = tuple(_ARITY)
"""What a token can be to the starting policy."""

_GROWTH = 0.4  # the odds of the variables grow with their number to this power
_ARITHMETIC = {"add", "sub", "mul", "div"}
_INDEX = {role: at for at, role in enumerate(ROLES)}
_FILE = "formulas.npz"


class RolePolicy(NamedTuple):
    """A policy over roles, and how often each role is written."""

    weights: PolicyWeights  # R tokens, FORMULAS_HIDDEN units
    shares: NDArray[np.float32]  # [R], sum 1


def role_of(token: Token) -> str:
    """What a token is to the starting policy.

    >>> library = Library(["mul", "protected_div", "atan", 2, "const"], variables=["x"])
    >>> [role_of(token) for token in library]
    ['mul', 'div', 'unary', 'variable', 'number', 'const']
    """
    if token.kind is TokenKind.VARIABLE:
        return "variable"
    if token.kind is TokenKind.CONSTANT:
        return "const"
    name = token.protects or token.name
    if token.arity > 0 and _ARITY.get(name) == token.arity:
        return name
    return ("number", "unary", "binary")[min(token.arity, 2)]


def first_weights(config: PolicyConfig, library: Library, seed: int) -> PolicyWeights:
    """The policy that a search begins with.

    Trees without arithmetic are no formulas: over a library with none of + - * / every policy
    begins uniform.

    >>> library = Library(["add", "mul", "sin"], variables=["x", "y"])
    >>> first_weights(PolicyConfig(start="formulas"), library, seed=0).output.shape
    (32, 5)
    """
    weights = PolicyWeights.start(len(library), config.hidden, seed)
    if config.start == "formulas" and _ARITHMETIC.intersection(map(role_of, library)):
        _fill(weights, library, _shipped())
    return weights


def _fill(weights: PolicyWeights, library: Library, table: RolePolicy) -> None:
    """Copy the weights of the roles into the first units.

    The units beyond stay as in a uniform policy: silent, since nothing leads to them, yet able to
    learn, since their output weights are not 0.
    """
    roles = np.array([_INDEX[role_of(token)] for token in library])
    source, small = table.weights, FORMULAS_HIDDEN
    hidden = len(weights.recurrent)
    gates = (np.arange(4)[:, None] * hidden + np.arange(small)).ravel()
    inputs = np.append(roles, len(ROLES))  # the last row stands for "none"
    weights.parent[:, gates] = source.parent[inputs]
    weights.sibling[:, gates] = source.sibling[inputs]
    weights.recurrent[:small, gates] = source.recurrent
    weights.bias[gates] = source.bias
    weights.output[:small] = source.output[:, roles]
    weights.output_bias[:] = source.output_bias[roles] + _shift(roles, table.shares)


def _shift(roles: NDArray[np.intp], shares: NDArray[np.float32]) -> NDArray[np.float64]:
    """What to add to the logits [L]: each role, and each arity, keeps its odds; variables gain."""
    arity = np.array([_ARITY[role] for role in ROLES])
    per_arity = np.bincount(arity, weights=shares)
    present = np.unique(roles)
    here = np.bincount(arity[present], weights=shares[present], minlength=3)
    tokens = np.bincount(roles, minlength=len(ROLES)).astype(np.float64)
    tokens[_INDEX["variable"]] **= 1 - _GROWTH
    of = arity[roles]
    return np.asarray(np.log(per_arity[of] / here[of]) - np.log(tokens[roles]))


@cache
def _shipped() -> RolePolicy:
    with (files("symseek.start") / _FILE).open("rb") as file:
        return read(file)


def read(file: IO[bytes]) -> RolePolicy:
    """Read what `write` wrote, and refuse anything else."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            roles, flat, shares = (stored[name] for name in ("roles", "weights", "shares"))
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile):
        raise _damaged() from None
    if tuple(roles.tolist()) != ROLES or shares.shape != roles.shape or flat.ndim != 1:
        raise _damaged()
    if flat.dtype != np.float16 or not (np.isfinite(flat).all() and (shares > 0).all()):
        raise _damaged()
    try:
        weights = PolicyWeights.over(flat.astype(np.float32), len(ROLES), FORMULAS_HIDDEN)
    except ValueError:
        raise _damaged() from None
    weights.flat.flags.writeable = False
    return RolePolicy(weights, shares.astype(np.float32))


def _damaged() -> InputError:
    return InputError(f"the package's file {_FILE} is damaged; install symseek again")


def write(file: IO[bytes], table: RolePolicy) -> None:
    """Store a table in 16-bit floats: the policy is the same to a thousandth."""
    np.savez_compressed(
        file,
        roles=np.array(ROLES),
        weights=table.weights.flat.astype(np.float16),
        shares=table.shares.astype(np.float32),
    )
