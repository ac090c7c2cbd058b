"""The native gradient against automatic differentiation and finite differences; Adam."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from constraint_strategies import policy
from examples import mostly_slow
from symseek import (
    InputError,
    Length,
    Library,
    Program,
    Programs,
    SoftLength,
    Token,
    UniformArity,
    paper_constraints,
)
from symseek.policy import AdamState, PolicyWeights

jax = pytest.importorskip("jax")
from oracle import gradient as oracle  # noqa: E402
from oracle import sampling  # noqa: E402

KOZA = Library(["add", "sub", "mul", "div", "sin", "cos", "exp", "log"], variables=["x"])
TWO = Library(["add", "mul", "sin", "cos", "exp", "log", "const", 1], variables=["x", "y"])
WIDE = Library(["add", "sin", "cos", "const"], variables=[f"v{i}" for i in range(70)])
TREES = Library([Token("triple", 3), Token("one", 1), Token("leaf", 0)], variables=["x"])


class LikesTheFirst:
    """A user's logits."""

    def __call__(self, partial):
        logits = np.zeros((len(partial.tokens), len(partial.library)))
        logits[:, 0] = 0.5 * partial.open_slots
        return logits


RULES = paper_constraints(4, 16)
CASES = {
    "paper": (KOZA, paper_constraints(), 32),
    "two variables": (TWO, RULES, 8),
    "priors": (TWO, [Length(2, 16), SoftLength(8, 3), UniformArity()], 8),
    "custom": (TWO, [*RULES, LikesTheFirst()], 8),
    "more than 64 tokens": (WIDE, RULES, 8),
    "arity 3": (TREES, [Length(2, 20)], 8),
    "odd number of units": (KOZA, RULES, 50),
}


def expected(made, batch, log_weights, entropy_weights, entropy_decay=1.0):
    """The gradient by automatic differentiation of the plain objective."""
    flat = made.weights.flat.astype(np.float64)
    steps = oracle.walk(made.weights, batch, made.rules.constraints)
    hidden = len(made.weights.recurrent)
    weights = log_weights, entropy_weights
    return np.asarray(oracle.gradient(flat, steps, *weights, hidden, entropy_decay))


def assert_close(got, want):
    """To float32: relative to the largest entry, the rounding of sums of many terms."""
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("case", mostly_slow(CASES, "paper", "custom", "arity 3"))
def test_gradient_is_that_of_automatic_differentiation(case):
    library, rules, hidden = CASES[case]
    made = policy(library, rules, seed=hidden, hidden=hidden, spread=0.4)
    batch = made.sample(12, iteration=1).programs
    random = np.random.default_rng(1)
    log_weights, entropy_weights = random.normal(size=12), random.uniform(0.0, 1.0, 12)
    score = made.gradient(batch, log_weights, entropy_weights)
    want = expected(made, batch, log_weights, entropy_weights)
    assert np.abs(want).max() > 0.1
    assert_close(score.gradient, want)
    plain = made.score(batch)
    np.testing.assert_array_equal(score.log_probability, plain.log_probability)
    np.testing.assert_array_equal(score.entropy, plain.entropy)


@pytest.mark.parametrize("part", ["log-probability", "entropy"])
def test_each_part_of_the_objective_alone(part):
    made = policy(TWO, RULES, seed=3, hidden=8, spread=0.5)
    batch = made.sample(12, iteration=0).programs
    ones, zeros = np.ones(12), np.zeros(12)
    log_weights, entropy_weights = (ones, zeros) if part == "log-probability" else (zeros, ones)
    want = expected(made, batch, log_weights, entropy_weights)
    assert_close(made.gradient(batch, log_weights, entropy_weights).gradient, want)


@pytest.mark.parametrize("case", ["two variables", "custom", "more than 64 tokens", "arity 3"])
@pytest.mark.parametrize("decay", [0.9, 0.3])
def test_entropy_of_later_tokens_can_count_less(case, decay):
    library, rules, hidden = CASES[case]
    made = policy(library, rules, seed=hidden, hidden=hidden, spread=0.4)
    batch = made.sample(12, iteration=1).programs
    random = np.random.default_rng(1)
    log_weights, entropy_weights = random.normal(size=12), random.uniform(0.0, 1.0, 12)
    want = expected(made, batch, log_weights, entropy_weights, decay)
    assert_close(made.gradient(batch, log_weights, entropy_weights, decay).gradient, want)
    alone = expected(made, batch, np.zeros(12), entropy_weights, decay)
    assert_close(made.gradient(batch, np.zeros(12), entropy_weights, decay).gradient, alone)
    # The decay is seen: without it the entropy pulls elsewhere.
    plain = expected(made, batch, np.zeros(12), entropy_weights)
    assert np.abs(alone - plain).max() > 0.01 * np.abs(plain).max()


def test_an_entropy_decay_of_1_is_none():
    made = policy(TWO, RULES, seed=3, hidden=8, spread=0.5)
    batch = made.sample(12, iteration=0).programs
    weights, shares = np.linspace(-1, 1, 12), np.full(12, 0.5)
    np.testing.assert_array_equal(
        made.gradient(batch, weights, shares, 1.0).gradient,
        made.gradient(batch, weights, shares).gradient,
    )


def test_entropy_decay_leaves_the_log_probability_alone():
    made = policy(TWO, RULES, seed=3, hidden=8, spread=0.5)
    batch = made.sample(12, iteration=0).programs
    weights, nothing = np.linspace(-1, 1, 12), np.zeros(12)
    np.testing.assert_array_equal(
        made.gradient(batch, weights, nothing, 0.5).gradient,
        made.gradient(batch, weights, nothing).gradient,
    )


def test_gradient_of_the_first_policy():
    """Where every recurrent weight is zero and nothing but the output layer is random."""
    made = policy(TWO, RULES, seed=3, hidden=8)
    batch = made.sample(12, iteration=0).programs
    weights, shares = np.linspace(-1, 1, 12), np.full(12, 0.005)
    want = expected(made, batch, weights, shares)
    assert_close(made.gradient(batch, weights, shares).gradient, want)


def test_copies_and_shared_beginnings_add_up():
    texts = ["sin(x) + y*y", "sin(x) + y*x", "sin(x) + y*x", "sin(x) + y", "sin(x) + y*y*exp(y)"]
    batch = Programs.from_list([Program.parse(text, TWO) for text in texts] * 9)
    made = policy(TWO, paper_constraints(), seed=8, hidden=8, spread=0.4)
    random = np.random.default_rng(2)
    log_weights, entropy_weights = random.normal(size=(2, len(batch)))
    want = expected(made, batch, log_weights, entropy_weights)
    assert_close(made.gradient(batch, log_weights, entropy_weights).gradient, want)


def test_gradient_does_not_depend_on_order_beyond_rounding():
    made = policy(TWO, paper_constraints(), seed=8, hidden=32, spread=0.4)
    batch = made.sample(200, iteration=0).programs
    random = np.random.default_rng(2)
    log_weights, entropy_weights = random.normal(size=(2, 200))
    mixed = random.permutation(200)
    one = made.gradient(batch, log_weights, entropy_weights).gradient
    other = made.gradient(batch[mixed], log_weights[mixed], entropy_weights[mixed]).gradient
    np.testing.assert_allclose(one, other, atol=1e-4 * np.abs(one).max())


@pytest.mark.parametrize("threads", [2, 3])
def test_gradient_does_not_depend_on_threads(threads):
    one, other = (
        policy(TWO, paper_constraints(), seed=8, hidden=32, spread=0.4, threads=count)
        for count in (1, threads)
    )
    batch = one.sample(300, iteration=0).programs
    weights = np.linspace(-1, 1, 300)
    np.testing.assert_array_equal(
        one.gradient(batch, weights, weights**2).gradient,
        other.gradient(batch, weights, weights**2).gradient,
    )


def test_finite_differences_agree():
    """A second opinion, without back-propagation: a few coordinates of each array."""
    made = policy(TWO, RULES, seed=1, hidden=8, spread=0.5)
    batch = made.sample(4, iteration=0).programs
    got = made.gradient(batch, np.ones(4), np.full(4, 0.5)).gradient
    flat = made.weights.flat.astype(np.float64)

    def value(at, change):
        moved = flat.copy()
        moved[at] += change
        weights = PolicyWeights.over(moved, len(TWO), 8)
        total = 0.0
        for program in batch:
            steps = sampling.steps(weights, TWO, RULES, program.tokens)
            total += sampling.log_probability(steps, program.tokens)
            total += 0.5 * sum(step.entropy for step in steps)
        return total

    arrays = oracle.named(flat, 8, len(TWO))
    start = 0
    for array in arrays.values():
        largest = start + np.argsort(-np.abs(got[start : start + array.size]))[:3]
        for at in (*largest, start):
            slope = (value(at, 1e-5) - value(at, -1e-5)) / 2e-5
            assert got[at] == pytest.approx(slope, rel=1e-3, abs=1e-4)
        start += array.size


def test_no_programs_have_no_gradient():
    made = policy(TWO, paper_constraints())
    nothing = Programs.from_list([], TWO)
    assert not made.gradient(nothing, np.zeros(0), np.zeros(0)).gradient.any()


def test_ascending_makes_a_program_likelier():
    made = policy(TWO, paper_constraints(), seed=0, hidden=32)
    batch = Programs.from_list([Program.parse("sin(x) + y*y", TWO)])
    before = made.score(batch).log_probability[0]
    for _ in range(50):
        made.ascend(made.gradient(batch, np.ones(1), np.zeros(1)).gradient, learning_rate=0.01)
    assert made.score(batch).log_probability[0] > before + 3.0


def test_learning_from_a_forbidden_program_is_refused_by_name():
    made = policy(TWO, paper_constraints())
    batch = Programs.from_list([Program.parse("sin(sin(x) + y)", TWO)])
    with pytest.raises(InputError, match=r"sin\(sin\(x\) \+ y\)"):
        made.gradient(batch, np.ones(1), np.zeros(1))


# ---- Adam ------------------------------------------------------------------------------------


def test_adam_is_the_textbook_one():
    made = policy(TWO, paper_constraints(), seed=0, hidden=8)
    random = np.random.default_rng(5)
    want = made.weights.flat.astype(np.float64)
    mean, variance = np.zeros_like(want), np.zeros_like(want)
    for step in range(1, 30):
        gradient = random.normal(size=want.size).astype(np.float32)
        gradient[: want.size // 4] = 0.0  # where nothing flows, nothing moves
        mean = 0.9 * mean + 0.1 * gradient
        variance = 0.999 * variance + 0.001 * gradient.astype(np.float64) ** 2
        unbiased = mean / (1 - 0.9**step), variance / (1 - 0.999**step)
        want = want + 0.01 * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
        made.ascend(gradient, learning_rate=0.01)
    assert made.adam.steps == 29
    np.testing.assert_allclose(made.weights.flat, want, atol=2e-5)
    start = PolicyWeights.start(len(TWO), 8, seed=0).flat
    np.testing.assert_array_equal(made.weights.flat[: want.size // 4], start[: want.size // 4])


def test_adam_starts_from_rest():
    state = AdamState.start(3)
    assert state.steps == 0
    assert not state.mean.any()
    assert not state.variance.any()
    # After the first step the two corrections cancel but for sqrt(1 - beta2)/(1 - beta1).
    assert replace(state, steps=1).step_size(1.0) == pytest.approx(np.sqrt(0.001) / 0.1)
