"""Hypothesis strategies for constraint sets, and small helpers shared by the tests of sampling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from engine_helpers import Policy
from symseek import (
    ConstraintSet,
    Count,
    Forbid,
    Length,
    Library,
    MaxConstants,
    NoInverseChild,
    NoNestedTrigonometry,
    NotAllConstants,
    PolicyConfig,
    SoftLength,
    SomeVariable,
    UniformArity,
)
from symseek.constraints.forms import RELATIONS
from symseek.engines.interface import Engine

NAMED = (NotAllConstants(), NoInverseChild(), NoNestedTrigonometry(), SomeVariable())
PRIORS = (SoftLength(6.0, 3.0), UniformArity())


@st.composite
def forbids(draw: st.DrawFn, library: Library) -> Forbid:
    """Some tokens forbidden in some relation to some others."""
    names = st.lists(st.sampled_from(library.names), min_size=1, max_size=3, unique=True)
    relation, of = draw(st.sampled_from(RELATIONS)), draw(names)
    least = min(library[name].arity for name in of)
    argument = None
    if relation in ("child", "descendant") and least:
        argument = draw(st.none() | st.integers(0, least - 1))
    return Forbid(draw(names), relation, of, argument)


@st.composite
def counts(draw: st.DrawFn, library: Library) -> Count:
    """A lower bound, an upper bound or both."""
    names = st.lists(st.sampled_from(library.names), min_size=1, max_size=3, unique=True)
    low = draw(st.integers(0, 2))
    high = draw(st.none() | st.integers(low, low + 3))
    return Count(draw(names), low, high)


@st.composite
def constraint_lists(draw: st.DrawFn, library: Library, *, max_length: int = 16) -> list[Any]:
    """A length limit and a handful of other constraints, in any order."""
    low = draw(st.integers(1, 6))
    rules: list[Any] = [Length(low, draw(st.integers(low, max_length)))]
    rules += draw(st.lists(forbids(library), max_size=3))
    rules += draw(st.lists(counts(library), max_size=2))
    rules += draw(st.lists(st.sampled_from(NAMED + PRIORS), max_size=3, unique=True))
    if draw(st.booleans()):
        rules.append(MaxConstants(draw(st.integers(0, 3))))
    return draw(st.permutations(rules))


def policy(
    library: Library,
    rules: Sequence[Any],
    *,
    seed: int = 0,
    threads: int = 1,
    hidden: int = 8,
    spread: float = 0.0,
    engine: str | Engine = "native",
) -> Policy:
    """A policy with the first weights or, given a spread, with random ones."""
    made = Policy(ConstraintSet(library, rules), PolicyConfig(hidden), seed, threads, engine)
    if spread:
        random = np.random.default_rng(seed)
        made.weights.flat[:] = random.normal(0.0, spread, made.weights.flat.size)
    return made


def every_program(library: Library, longest: int) -> Iterator[tuple[int, ...]]:
    """All complete traversals of at most so many tokens."""
    waiting: list[tuple[tuple[int, ...], int]] = [((), 1)]
    while waiting:
        tokens, open_slots = waiting.pop()
        if open_slots == 0:
            yield tokens
            continue
        for token, arity in enumerate(library.arities):
            if len(tokens) + open_slots + arity <= longest:
                waiting.append(((*tokens, token), open_slots - 1 + arity))
