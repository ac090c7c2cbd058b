"""Trains the starting policy: `python -m symseek.lab.start.train` writes the file that is shipped.

Maximum likelihood on formulas of the grammar: the gradient of the mean log-probability is that of
the search's own policy with equal weights, and Adam climbs it. It takes half a minute.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from symseek.constraints import ConstraintSet, Length
from symseek.engines.interface import engine_named
from symseek.lab.start.grammar import FormulaGrammar
from symseek.policy import FORMULAS_HIDDEN, AdamState, PolicyWeights
from symseek.programs import Programs
from symseek.start.roles import ROLES, RolePolicy, write
from symseek.tokens import EMPTY, Library, Token

LONGEST = 30
"""Tokens in a formula."""

LIBRARY = Library(
    [
        *("add", "sub", "mul", "div", "pow", Token("binary", 2)),
        *("sin", "cos", "tanh", "exp", "log", "sqrt", "square", "cube", "fourth"),
        *("neg", "reciprocal", "neg_exp", Token("unary", 1), 1, "const"),
    ],
    variables=["variable"],
)
"""A token for each role, in the order of the roles; the number is 1."""

_BATCH = 500
_LEARNING_RATE = 0.01  # at first; it falls to 0 along half a cosine
_SPREAD = 0.1  # of the first weights: the recurrent part of a uniform policy is 0 and stays so


def trained(steps: int, formulas: int, seed: int = 0) -> RolePolicy:
    """A policy after so many steps up the likelihood, and the share of each role."""
    grammar = FormulaGrammar(seed)
    corpus = batch_of([grammar.draw(LONGEST) for _ in range(formulas)])
    rng = np.random.default_rng(seed)
    rules = ConstraintSet(LIBRARY, [Length(1, LONGEST)])
    policy = engine_named("native").policy(rules, FORMULAS_HIDDEN)
    first = PolicyWeights.start(len(ROLES), FORMULAS_HIDDEN, seed)
    for part in (first.parent, first.sibling, first.recurrent):
        part[:] = rng.normal(0, _SPREAD, part.shape)
    weights, adam = first.flat, AdamState.start(first.flat.size)
    equal, no_entropy = np.full(_BATCH, 1 / _BATCH), np.zeros(_BATCH)
    for step in range(steps):
        some = corpus[rng.integers(0, len(corpus), _BATCH)]
        score = policy.gradient(weights, some, equal, no_entropy)
        assert score.gradient is not None
        rate = _LEARNING_RATE * (1 + math.cos(math.pi * step / steps)) / 2
        weights, adam = policy.ascend(weights, adam, score.gradient, rate)
    counts = np.bincount(corpus.tokens[corpus.tokens != EMPTY], minlength=len(ROLES))
    shares = (counts / counts.sum()).astype(np.float32)
    return RolePolicy(PolicyWeights.over(weights, len(ROLES), FORMULAS_HIDDEN), shares)


def batch_of(formulas: Sequence[list[str]]) -> Programs:
    """Formulas over roles as programs of `LIBRARY`."""
    ids = {role: at for at, role in enumerate(ROLES)}
    tokens = np.full((len(formulas), LONGEST), EMPTY, dtype=np.int16)
    for row, formula in enumerate(formulas):
        tokens[row, : len(formula)] = [ids[role] for role in formula]
    constants = int((tokens == LIBRARY.constant_id).sum(axis=1).max())
    lengths = np.array([len(formula) for formula in formulas], dtype=np.int32)
    return Programs(LIBRARY, tokens, lengths, np.ones((len(formulas), constants)))


def main() -> int:
    """Train and write the file, beside this one or where the first argument says."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("formulas.npz")
    table = trained(steps=6_000, formulas=100_000)
    with path.open("wb") as file:
        write(file, table)
    print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
