"""Priority queue training against a plain copy of what the paper's authors ran."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constraint_strategies import policy
from examples import examples
from oracle.priority_queue import PlainAdam, PlainQueue, factors
from symseek import Library, PriorityQueue, Program, Programs, paper_constraints

LIBRARY = Library(["add", "mul", "sin"], variables=["x", "y"])
SIN, X, Y = (LIBRARY.index(name) for name in ("sin", "x", "y"))
KINDS = [(SIN,) * depth + (leaf,) for depth in range(1, 9) for leaf in (X, Y)]


def as_programs(batch: list[tuple[int, ...]]) -> Programs:
    return Programs.from_list([Program(LIBRARY, tokens) for tokens in batch])


@examples(60)
@given(
    st.lists(
        st.lists(st.integers(0, len(KINDS) - 1), min_size=2, max_size=30), min_size=1, max_size=25
    ),
    st.integers(1, 6),
    st.randoms(use_true_random=False),
)
def test_queue_and_weights_are_those_of_the_plain_copy(batches, capacity, random) -> None:
    worth = [random.random() for _ in KINDS]  # a program has the same reward every time
    objective, plain = PriorityQueue(capacity), PlainQueue(capacity)
    state = objective.start()
    for chosen in batches:
        batch, rewards = [KINDS[kind] for kind in chosen], [worth[kind] for kind in chosen]
        selection, state = objective.select(state, as_programs(batch), np.array(rewards))
        plain.push(batch, rewards)
        assert state.programs is not None
        members = {
            program.tokens: reward
            for program, reward in zip(state.programs, state.rewards, strict=True)
        }
        assert members == {tokens: reward for reward, tokens in plain.members}
        first, *rest = (program.tokens for program in selection.programs)
        assert first in members
        logs, entropies = factors(batch, rewards, first)
        assert logs == {first: selection.weights[0]}
        assert not selection.weights[1:].any()
        shares: dict[tuple[int, ...], float] = {}
        for tokens, share in zip(rest, 0.005 * selection.entropy_shares[1:], strict=True):
            shares[tokens] = shares.get(tokens, 0.0) + share
        assert shares == pytest.approx(entropies)
        assert selection.entropy_shares[0] == 0


@pytest.mark.slow
def test_steps_of_learning_follow_the_plain_copy() -> None:
    """The same batches and rewards: after some steps, the weights are the same to float32."""
    pytest.importorskip("jax")
    from oracle import gradient as oracle

    made = policy(LIBRARY, paper_constraints(4, 10), seed=3, spread=0.4)
    begun = made.weights.flat.astype(np.float64).copy()
    flat, adam = begun.copy(), PlainAdam(begun.size, 5e-4)
    objective, plain = PriorityQueue(3, epsilon=0.2), PlainQueue(3)
    state = objective.start()
    for iteration in range(6):
        programs = made.sample(20, iteration=iteration).programs
        rewards = np.random.default_rng(iteration).permutation(20) / 20
        batch = [program.tokens for program in programs]
        selection, state = objective.select(state, programs, rewards)
        plain.push(batch, rewards.tolist())
        imitated = selection.programs[0].tokens
        assert imitated in [tokens for _, tokens in plain.members]

        logs, entropies = factors(batch, rewards.tolist(), imitated, epsilon=0.2)
        those = sorted({*logs, *entropies})
        weights = [np.array([part.get(each, 0.0) for each in those]) for part in (logs, entropies)]
        steps = oracle.walk(made.weights, as_programs(those), made.rules.constraints)
        flat = adam.ascend(flat, np.asarray(oracle.gradient(flat, steps, *weights, 8, 1.0)))

        score = made.gradient(
            selection.programs, selection.weights, 0.005 * selection.entropy_shares
        )
        made.ascend(score.gradient, learning_rate=5e-4)
    assert np.abs(flat - begun).max() > 2e-3
    # Adam's steps do not shrink with the slope: where it is zero but for rounding, they are chance.
    differences = np.abs(made.weights.flat - flat)
    assert np.quantile(differences, 0.95) < 2e-6
    assert differences.mean() < 2e-5
