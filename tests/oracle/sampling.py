"""Algorithm 2 of the paper with its three subroutines, in plain Python and float64.

`steps` walks a given program as the sampler would have written it and returns the exact
probabilities of every token at every step. Constraints are judged from their declarations, never
from the package's tables: each one is asked "would adding this token violate you?".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek import constraints as declared
from symseek.constraints import Partial
from symseek.policy import PolicyWeights
from symseek.tokens import EMPTY, Library, TokenKind

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """One turn of the loop of Algorithm 2."""

    parent: int  # token, EMPTY for none
    sibling: int
    added: Array  # [L] to the logits, -inf where a constraint forbids
    probability: Array  # [L]

    @property
    def entropy(self) -> float:
        """In nats."""
        p = self.probability[self.probability > 0]
        return float(-(p * np.log(p)).sum())


def steps(
    weights: PolicyWeights, library: Library, rules: Sequence[Any], tokens: Sequence[int]
) -> list[Step]:
    """Lines 1 to 14 of Algorithm 2, with the drawn tokens given."""
    state = cell = np.zeros(len(weights.recurrent))
    taken: list[Step] = []
    counter = 1
    for i, token in enumerate(tokens):
        assert counter > 0, "the program continues after its end"
        parent, sibling = parent_sibling(library, tokens[:i])
        logits, state, cell = network(weights, parent, sibling, state, cell)
        added = np.zeros(len(library))
        for rule in rules:
            added += prior(rule, library, tokens[:i], counter)
        for candidate in range(len(library)):
            if any(violates(rule, library, rules, tokens[:i], candidate) for rule in rules):
                added[candidate] = -np.inf
        taken.append(Step(parent, sibling, added, softmax(logits + added)))
        counter += library.arities[token] - 1
    assert counter == 0, "the program is unfinished"
    return taken


def log_probability(taken: Sequence[Step], tokens: Sequence[int]) -> float:
    """Of the whole program; -inf when some token was forbidden."""
    chosen = [step.probability[token] for step, token in zip(taken, tokens, strict=True)]
    return sum(math.log(p) if p > 0 else -math.inf for p in chosen)


# ---- Line 6: the network ---------------------------------------------------------------------


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def softmax(logits: Array) -> Array:
    """Probabilities; all zero when every token is forbidden."""
    if np.all(logits == -np.inf):
        return np.zeros(len(logits))
    mass = np.exp(logits - logits.max())
    return mass / mass.sum()


def network(
    weights: PolicyWeights, parent: int, sibling: int, state: Array, cell: Array
) -> tuple[Array, Array, Array]:
    """One LSTM step. EMPTY is -1, so it reads the last row, which stands for "none"."""
    gates = weights.bias.astype(np.float64)
    gates = gates + weights.parent[parent] + weights.sibling[sibling]
    gates = gates + state @ weights.recurrent.astype(np.float64)
    into, forget, candidate, out = np.split(gates, 4)
    cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(candidate)
    state = sigmoid(out) * np.tanh(cell)
    return state @ weights.output.astype(np.float64) + weights.output_bias, state, cell


# ---- Line 12: ParentSibling ------------------------------------------------------------------


def parent_sibling_of_the_paper(library: Library, tokens: Sequence[int]) -> tuple[int, int]:
    """Subroutine 1, word for word: it knows unary and binary operators only."""
    if not tokens:
        return EMPTY, EMPTY
    if library.arities[tokens[-1]] > 0:
        return tokens[-1], EMPTY
    counter = 0
    for i in reversed(range(len(tokens))):
        counter += library.arities[tokens[i]] - 1
        if counter == 0:
            return tokens[i], tokens[i + 1]
    raise AssertionError("the program is complete")


def relatives(library: Library, tokens: Sequence[int]) -> tuple[int | None, tuple[int, ...]]:
    """Positions of the next token's parent and of its siblings so far, left to right."""
    return _relatives(library.arities, tuple(tokens))


@lru_cache(maxsize=10_000)  # every rule asks for them at every candidate for the same place
def _relatives(
    arities: tuple[int, ...], tokens: tuple[int, ...]
) -> tuple[int | None, tuple[int, ...]]:
    """The same backward scan for any arity.

    An operator takes its arguments from the subtrees found to its right; the first one that finds
    too few is the parent, and those few are the siblings.
    """
    subtrees: list[int] = []  # positions of their roots, the rightmost first
    for i in reversed(range(len(tokens))):
        arity = arities[tokens[i]]
        if len(subtrees) < arity:
            return i, tuple(subtrees[::-1])
        del subtrees[len(subtrees) - arity :]
        subtrees.append(i)
    return None, ()


def parent_sibling(library: Library, tokens: Sequence[int]) -> tuple[int, int]:
    """Subroutine 1 for any arity: with several siblings, the nearest."""
    parent, siblings = relatives(library, tokens)
    return (
        EMPTY if parent is None else tokens[parent],
        tokens[siblings[-1]] if siblings else EMPTY,
    )


# ---- Line 7: ApplyConstraints ----------------------------------------------------------------


def violates(
    rule: Any, library: Library, rules: Sequence[Any], tokens: Sequence[int], token: int
) -> bool:
    """Would adding the token to the unfinished program violate the rule?"""
    name = library.names[token]
    const = library.constant_id
    if isinstance(rule, declared.Length):
        return not finishes(library, rules, [*tokens, token], (), 0, None)
    if isinstance(rule, declared.Count):
        return not finishes(library, rules, [*tokens, token], rule.tokens, rule.low, rule.high)
    if isinstance(rule, declared.MaxConstants):
        return not finishes(library, rules, [*tokens, token], ["const"], 0, rule.most)
    if isinstance(rule, declared.SomeVariable):
        return not finishes(library, rules, [*tokens, token], library.variables, 1, None)
    if isinstance(rule, declared.CloseUnfinished):
        return len(tokens) >= rule.at and library.tokens[token].kind is not TokenKind.VARIABLE
    if isinstance(rule, declared.Forbid):
        if rule.relation == "sibling":
            _, siblings = relatives(library, tokens)
            names = [library.names[tokens[i]] for i in siblings]
            return any(
                (name in rule.tokens and other in rule.of)
                or (other in rule.tokens and name in rule.of)
                for other in names
            )
        return name in rule.tokens and any(
            other in rule.of and rule.argument in (None, place)
            for other, place in related(rule.relation, library, tokens)
        )
    if isinstance(rule, declared.NotAllConstants):
        parent, siblings = relatives(library, tokens)
        if parent is None or const is None:
            return False
        family = [*(tokens[i] for i in siblings), token]
        return len(family) == library.arities[tokens[parent]] and set(family) == {const}
    if isinstance(rule, declared.NoInverseChild):
        return any(
            library[other].inverse == name for other, _ in related("only child", library, tokens)
        )
    if isinstance(rule, declared.NoNestedTrigonometry):
        above = related("descendant", library, tokens)
        return library.tokens[token].trigonometric and any(
            library[o].trigonometric for o, _ in above
        )
    return False  # priors and custom constraints speak through `prior`


def related(relation: str, library: Library, tokens: Sequence[int]) -> list[tuple[str, int]]:
    """The tokens whose child, ..., descendant the next one would be, and in which argument."""
    found = _related(relation, library.arities, tuple(tokens))
    return [(library.names[token], place) for token, place in found]


@lru_cache(maxsize=10_000)
def _related(
    relation: str, arities: tuple[int, ...], tokens: tuple[int, ...]
) -> list[tuple[int, int]]:
    parent, siblings = _relatives(arities, tokens)
    if parent is None:
        return []
    token, arity = tokens[parent], arities[tokens[parent]]
    if relation == "descendant":
        return [(token, len(siblings)), *_related("descendant", arities, tokens[:parent])]
    first, last = not siblings, len(siblings) == arity - 1
    holds = {
        "child": True,
        "only child": arity == 1,
        "left child": arity > 1 and first,
        "right child": arity > 1 and last,
    }
    return [(token, len(siblings))] if holds[relation] else []


def finishes(
    library: Library,
    rules: Sequence[Any],
    tokens: Sequence[int],
    counted: Iterable[str],
    low: int,
    high: int | None,
) -> bool:
    """Can it be completed within the length limits, with `low` to `high` of the counted tokens?

    Only arities are looked at: what may stand where is for the other rules to say.
    """
    names = frozenset(counted)
    kinds = _kinds(library.names, library.arities, names)
    count = sum(library.names[token] in names for token in tokens)
    open_slots = 1 + sum(library.arities[token] - 1 for token in tokens)
    return _possible(kinds, limits(library, rules), low, high)(len(tokens), open_slots, count)


@lru_cache(maxsize=1000)
def _kinds(
    names: tuple[str, ...], arities: tuple[int, ...], counted: frozenset[str]
) -> tuple[tuple[int, bool], ...]:
    """The kinds of tokens there are: arity, and whether they are counted."""
    return tuple(sorted({(n, name in counted) for name, n in zip(names, arities, strict=True)}))


@lru_cache(maxsize=1000)
def _possible(
    kinds: tuple[tuple[int, bool], ...], length_limits: tuple[int, int], low: int, high: int | None
) -> Callable[[int, int, int], bool]:
    shortest, longest = length_limits

    @cache
    def possible(length: int, open_slots: int, count: int) -> bool:
        if length + open_slots > longest or (high is not None and count > high):
            return False
        if open_slots == 0:
            return length >= shortest and count >= low
        return any(
            possible(length + 1, open_slots - 1 + arity, count + member) for arity, member in kinds
        )

    return possible


def limits(library: Library, rules: Sequence[Any]) -> tuple[int, int]:
    """The least and the greatest length that the rules leave."""
    shortest, longest = 1, 10**6
    for rule in rules:
        if isinstance(rule, declared.Length):
            shortest, longest = rule.low, rule.high
        if isinstance(rule, declared.CloseUnfinished):
            longest = rule.at * max(library.arities) + 1
    return shortest, longest


# ---- What rules add to the logits ------------------------------------------------------------


def prior(rule: Any, library: Library, tokens: Sequence[int], open_slots: int) -> Array:
    """[L]: 0 for a rule that only forbids."""
    arity = np.array(library.arities)
    if isinstance(rule, declared.UniformArity):
        return np.array([-math.log(library.arities.count(each)) for each in library.arities])
    if isinstance(rule, declared.SoftLength):
        place = len(tokens) + 1
        cost = (place - rule.location) ** 2 / (2 * rule.scale**2)
        if place < rule.location and open_slots == 1:
            return np.where(arity == 0, -cost, 0.0)
        if place > rule.location:
            return np.where(arity > 0, -cost, 0.0)
        return np.zeros(len(library))
    if not callable(rule):  # a built-in one that only forbids
        return np.zeros(len(library))
    parent, sibling = parent_sibling(library, tokens)
    answer = np.asarray(
        rule(
            Partial(
                library,
                np.array([list(tokens)], dtype=np.int16).reshape(1, len(tokens)),
                np.array([parent], dtype=np.int16),
                np.array([sibling], dtype=np.int16),
                np.array([open_slots], dtype=np.int32),
            )
        )
    )[0]
    return np.where(answer, 0.0, -np.inf) if answer.dtype == bool else answer.astype(np.float64)
