"""What each objective learns from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from symseek import InputError, Library, Program, Programs
from symseek.objectives import (
    Novelty,
    PriorityQueue,
    Queue,
    RiskSeeking,
    VanillaPolicyGradient,
    WholeQueue,
    top_quantile,
)

LIBRARY = Library(["add", "mul", "sin"], variables=["x", "y"])


def batch(count: int, distinct: int | None = None) -> Programs:
    """Programs sin(sin(...x)), `distinct` of them different."""
    sin, x = LIBRARY.index("sin"), LIBRARY.index("x")
    depths = [1 + row % (distinct or count) for row in range(count)]
    return Programs.from_list([Program(LIBRARY, (sin,) * depth + (x,)) for depth in depths])


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=2, max_size=300),
    st.sampled_from([0.01, 0.05, 0.1, 0.15, 0.3, 0.5, 1.0]),
)
def test_threshold_is_numpys_higher_quantile(rewards: list[float], epsilon: float) -> None:
    expected = np.quantile(rewards, 1 - epsilon, method="higher")
    assert top_quantile(np.array(rewards), epsilon) == expected


def test_risk_seeking_keeps_exactly_fifty_of_a_thousand_without_ties() -> None:
    rewards = np.random.default_rng(0).permutation(1000) / 1000
    selection, _ = RiskSeeking(0.05).select(None, batch(1000, 20), rewards)
    assert len(selection.programs) == 50
    assert selection.weights.min() == 0.0
    np.testing.assert_allclose(sorted(selection.weights), np.arange(50) / 1000 / 50, atol=1e-15)
    assert selection.entropy_shares.sum() == pytest.approx(1.0)


def test_risk_seeking_keeps_every_tie_with_the_threshold() -> None:
    rewards = np.concatenate([np.zeros(900), np.ones(100)])
    selection, _ = RiskSeeking(0.05).select(None, batch(1000, 20), rewards)
    assert len(selection.programs) == 100
    assert not selection.weights.any()


def test_risk_seeking_with_epsilon_one_uses_the_lowest_reward_as_baseline() -> None:
    selection, _ = RiskSeeking(1.0).select(None, batch(4), np.array([1.0, 2.0, 3.0, 6.0]))
    np.testing.assert_allclose(selection.weights, np.array([0, 1, 2, 5]) / 4)


@pytest.mark.parametrize("epsilon", [0.0, -0.1, 1.5, float("nan")])
def test_risk_seeking_refuses_epsilon_outside_the_unit_interval(epsilon: float) -> None:
    with refused("RiskSeeking.epsilon", wanted="a number above 0 to 1"):
        RiskSeeking(epsilon)


def test_vanilla_baseline_is_a_moving_average_that_lasts() -> None:
    objective = VanillaPolicyGradient(beta=0.25)
    first, second = np.array([0.0, 1.0]), np.array([1.0, 1.0])
    selection, state = objective.select(objective.start(), batch(2), first)
    assert state == 0.5
    np.testing.assert_allclose(selection.weights, [-0.25, 0.25])
    selection, state = objective.select(state, batch(2), second)
    assert state == pytest.approx(0.25 * 1.0 + 0.75 * 0.5)
    np.testing.assert_allclose(selection.weights, (1.0 - state) / 2)


def test_queue_holds_the_best_distinct_programs_of_all_time() -> None:
    objective = WholeQueue(3)
    state = objective.start()
    programs = batch(6, 3)  # two copies of three programs
    selection, state = objective.select(state, programs, np.array([0.1, 0.5, 0.3, 0.1, 0.5, 0.3]))
    assert [len(program) for program in selection.programs] == [3, 4, 2]
    np.testing.assert_allclose(selection.weights, 1 / 3)
    better = batch(8)[[6]]
    selection, state = objective.select(state, better, np.array([0.4]))
    assert [len(program) for program in selection.programs] == [3, 8, 4]
    selection, state = objective.select(state, better, np.array([0.4]))  # seen before: no change
    assert [len(program) for program in selection.programs] == [3, 8, 4]


def test_queue_shorter_than_its_size_shares_the_weight() -> None:
    selection, _ = WholeQueue(10).select(WholeQueue(10).start(), batch(2), np.array([1, 2.0]))
    np.testing.assert_allclose(selection.weights, 0.5)


def test_one_of_the_queue_is_imitated_and_the_best_of_the_batch_have_the_bonus() -> None:
    objective = PriorityQueue(3, weight=7.0, epsilon=0.3)
    programs = batch(6)
    selection, state = objective.select(objective.start(), programs, np.arange(6.0))
    # Only the best of the batch has entered the queue, so it is the one imitated.
    assert [len(program) for program in state.programs] == [7]
    assert [len(program) for program in selection.programs] == [7, 6, 7]
    np.testing.assert_allclose(selection.weights, [7, 0, 0])
    np.testing.assert_allclose(selection.entropy_shares, [0, 0.5, 0.5])
    selection, again = objective.select(state, programs[[5, 0]], np.array([9.0, 1.0]))
    assert len(again.programs) == 1  # its tokens were there already
    assert again.rewards.tolist() == [9.0]


def test_every_member_of_the_queue_is_imitated_now_and_then() -> None:
    objective, state, imitated = PriorityQueue(4), Queue(), []
    rng = np.random.default_rng(0)
    for best in [8, 9, 10, 11, *rng.integers(8, size=380)]:
        chosen = batch(12)[[*rng.integers(best, size=20), best]] if best else batch(12)[:1]
        selection, state = objective.select(state, chosen, chosen.lengths / 12)
        imitated.append(int(selection.programs.lengths[0]))
    counts = np.bincount(imitated[4:], minlength=14)[10:]
    assert counts.sum() == 380
    assert counts.min() > 60  # 95 on average, with a deviation of 8


@pytest.mark.parametrize(
    "make",
    [
        lambda: PriorityQueue(0),
        lambda: WholeQueue(0),
        lambda: PriorityQueue(weight=0.0),
        lambda: PriorityQueue(epsilon=2.0),
        lambda: VanillaPolicyGradient(0.0),
    ],
)
def test_bad_settings_are_refused(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]


def test_novelty_favours_what_was_seldom_seen_and_never_the_invalid() -> None:
    objective = Novelty(RiskSeeking(1.0), weight=0.5)
    programs, rewards = batch(4, distinct=3), np.array([0.2, 0.2, 0.0, 0.2])  # the fourth is a copy
    selection, state = objective.select(objective.start(), programs, rewards)
    # Bonuses 0.5/sqrt(2), 0.5, none for reward 0, 0.5/sqrt(2); the threshold is the lowest, 0.
    expected = [0.2 + 0.5 / np.sqrt(2), 0.7, 0.0, 0.2 + 0.5 / np.sqrt(2)]
    np.testing.assert_allclose(selection.weights * 4, expected)
    selection, _ = objective.select(state, programs[:2], rewards[:2])
    bonus = 0.5 / np.sqrt([3, 2])  # seen in the first batch too
    np.testing.assert_allclose(selection.weights * 2, bonus - bonus.min())


def test_novelty_refuses_a_negative_weight() -> None:
    with refused("Novelty.weight", value=-1, wanted="a number of 0 or more"):
        Novelty(RiskSeeking(), weight=-1)
