"""The native module's own face: the lists that Python reads from it, and the shared rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from constraint_strategies import constraint_lists, policy
from examples import examples
from strategies import libraries, programs
from symseek import ConstraintSet, InputError, Length, Library, Program, Programs, _native
from symseek.constants import FIT_METHODS, FitStatus
from symseek.engines.packing import packed_rules


def test_the_names_of_methods_and_statuses_are_pythons() -> None:
    assert _native.fit_methods() == list(FIT_METHODS)
    assert _native.fit_statuses() == [status.name.lower() for status in FitStatus]


def test_the_kinds_of_pairs_say_what_pair_computes() -> None:
    """Each kind applied to a value and a candidate has the squared error that `pair` reports."""
    random = np.random.default_rng(0)
    values, candidates = random.uniform(1, 2, (3, 5)), random.uniform(1, 2, (5, 8))
    target, weight = random.uniform(1, 2, 5), random.uniform(0.5, 2, 5)
    kinds = _native.pair_kinds()
    error, index = np.empty((3, len(kinds))), np.empty((3, len(kinds)), dtype=np.int64)
    penalty, pool = np.zeros((3, 8)), _native.Pool(1)
    inverses = 1 / candidates
    _native.pair(values, candidates, inverses, target, weight, penalty, pool, error, index)
    operators = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    for row, value in enumerate(values):
        for kind, (name, swapped) in enumerate(kinds):
            operands = (candidates, value[:, None]) if swapped else (value[:, None], candidates)
            squared = weight @ (operators[name](*operands) - target[:, None]) ** 2
            assert error[row, kind] == pytest.approx(squared.min(), rel=1e-12)
            assert index[row, kind] == squared.argmin()


class NoRepeats:
    """A custom mask: no token twice running, and none of the first `banned` below depth `deep`."""

    def __init__(self, banned: int, deep: int) -> None:
        self.banned, self.deep = banned, deep

    def __call__(self, partial: object) -> np.ndarray:
        tokens, library = partial.tokens, partial.library  # type: ignore[attr-defined]
        mask = np.ones((len(tokens), len(library)), dtype=bool)
        if tokens.shape[1]:
            mask[np.arange(len(mask)), tokens[:, -1]] = False
        if tokens.shape[1] >= self.deep:
            mask[:, : self.banned] = False
        return mask


def permitted(rules: ConstraintSet, batch: Programs, threads: int = 1) -> list[bool]:
    core, ok = _native.Rules(packed_rules(rules.tables)), np.empty(len(batch), dtype=bool)
    ask = rules.ask if rules.custom else None
    core.permits(batch.tokens, batch.lengths, _native.Pool(threads), ok, ask=ask)
    return ok.tolist()


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_permitted_is_what_the_policy_gives_a_probability(data: st.DataObject) -> None:
    library = data.draw(libraries(evaluable=False))
    rules = data.draw(constraint_lists(library))
    batch = data.draw(st.lists(programs(library, max_length=12), min_size=1, max_size=30))
    custom = []
    if data.draw(st.booleans()):
        custom = [NoRepeats(data.draw(st.integers(0, 3)), data.draw(st.integers(1, 9)))]
    try:
        made = policy(library, [*rules, *custom])
        batch += list(policy(library, rules).sample(20, iteration=0).programs)
    except InputError:  # the constraints collide
        reject()
    together = Programs.from_list(batch)
    expected = (made.score(together).log_probability > -np.inf).tolist()
    assert permitted(made.rules, together) == expected
    assert permitted(made.rules, together, threads=3) == expected


def test_an_incomplete_program_is_not_permitted() -> None:
    library = Library(["add", "sin"], variables=["x"])
    rules = ConstraintSet(library, [Length(1, 8), NoRepeats(0, 1)])
    tokens = np.full((4, 8), -1, dtype=np.int16)
    add, sin, x = (library.index(name) for name in ("add", "sin", "x"))
    tokens[0, :2] = add, x  # unfinished
    tokens[1, :3] = sin, x, x  # continues after its end
    tokens[2, :1] = 99  # no such token
    tokens[3, :2] = sin, x
    lengths = np.array([2, 3, 1, 2], dtype=np.int32)
    batch = Programs._trusted(library, tokens, lengths, np.ones((4, 0)))
    assert permitted(rules, batch) == [False, False, False, True]


def test_an_error_in_a_custom_constraint_comes_through() -> None:
    class Fails:
        def __call__(self, partial: object) -> np.ndarray:
            raise ZeroDivisionError("on purpose")

    library = Library(["add"], variables=["x"])
    batch = Programs.from_list([Program.parse("x + x", library)])
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        permitted(ConstraintSet(library, [Length(1, 8), Fails()]), batch)


def test_rules_are_shared_and_outlive_their_name() -> None:
    """A policy and a breeder that share one object do what those with one of their own do."""
    library = Library(["add", "mul", "sin", "const"], variables=["x"])
    own = policy(library, [Length(1, 12)])
    rules, alone = (_native.Rules(packed_rules(own.rules.tables)) for _ in range(2))
    pool = _native.Pool(1)
    core = _native.Policy(rules, 8, pool)
    breeders = [_native.Breeder(each, 3, pool) for each in (rules, alone)]
    del rules
    expected = own.sample(50, iteration=0)
    tokens, lengths = np.empty_like(expected.programs.tokens), np.empty(50, dtype=np.int32)
    entropy = np.empty(50, dtype=np.float32)
    core.sample(own.weights.flat, 0, 0, tokens, lengths, entropy, None)
    np.testing.assert_array_equal(tokens, expected.programs.tokens)
    np.testing.assert_array_equal(entropy, expected.entropy)
    first, second = (np.empty(50, dtype=bool) for _ in range(2))
    for breeder, ok in zip(breeders, (first, second), strict=True):
        breeder.admit(tokens, lengths, ok)
    assert first.any()
    np.testing.assert_array_equal(first, second)
