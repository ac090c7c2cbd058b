"""The native gradient against automatic differentiation and finite differences; Adam."""

from __future__ import annotations

import numpy as np
import pytest

from constraint_strategies import policy
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


CASES = {
    "paper": (KOZA, paper_constraints(), 32),
    "two variables": (TWO, paper_constraints(), 8),
    "more than 64 tokens": (WIDE, paper_constraints(4, 16), 8),
    "arity 3": (TREES, [Length(2, 20)], 8),
    "priors": (TWO, [Length(2, 16), SoftLength(8, 3), UniformArity()], 8),
    "custom": (TWO, [*paper_constraints(4, 16), LikesTheFirst()], 8),
    "odd number of units": (KOZA, paper_constraints(4, 15), 50),
    "one unit": (KOZA, paper_constraints(4, 15), 1),
}


def expected(made, batch, log_weights, entropy_weights):
    """The gradient by automatic differentiation of the plain objective."""
    weights = made.weights
    value = oracle.objective(
        oracle.walk(weights, batch, made.rules.constraints),
        hidden=len(weights.recurrent),
        tokens=len(batch.library),
        log_weights=np.asarray(log_weights, dtype=np.float64),
        entropy_weights=np.asarray(entropy_weights, dtype=np.float64),
    )
    return value, np.asarray(jax.jit(jax.grad(value))(weights.flat.astype(np.float64)))


def assert_close(got, want):
    """To float32: relative to the largest entry, the rounding of sums of many terms."""
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize(("library", "rules", "hidden"), CASES.values(), ids=CASES)
def test_gradient_is_that_of_automatic_differentiation(library, rules, hidden):
    made = policy(library, rules, seed=hidden, hidden=hidden, spread=0.4)
    batch = made.sample(30, iteration=1).programs
    random = np.random.default_rng(1)
    log_weights, entropy_weights = random.normal(size=30), random.uniform(0.0, 1.0, 30)
    score = made.gradient(batch, log_weights, entropy_weights)
    _, want = expected(made, batch, log_weights, entropy_weights)
    assert np.abs(want).max() > 0.1
    assert_close(score.gradient, want)
    plain = made.score(batch)
    np.testing.assert_array_equal(score.log_probability, plain.log_probability)
    np.testing.assert_array_equal(score.entropy, plain.entropy)


@pytest.mark.parametrize("part", ["log-probability", "entropy"])
def test_each_part_of_the_objective_alone(part):
    made = policy(TWO, paper_constraints(4, 14), seed=3, hidden=16, spread=0.5)
    batch = made.sample(12, iteration=0).programs
    ones, zeros = np.ones(12), np.zeros(12)
    log_weights, entropy_weights = (ones, zeros) if part == "log-probability" else (zeros, ones)
    _, want = expected(made, batch, log_weights, entropy_weights)
    assert_close(made.gradient(batch, log_weights, entropy_weights).gradient, want)


def test_gradient_of_the_first_policy():
    """Where every recurrent weight is zero and nothing but the output layer is random."""
    made = policy(TWO, paper_constraints(), seed=3, hidden=32)
    batch = made.sample(20, iteration=0).programs
    weights = np.linspace(-1, 1, 20)
    _, want = expected(made, batch, weights, np.full(20, 0.005))
    assert_close(made.gradient(batch, weights, np.full(20, 0.005)).gradient, want)


def test_copies_and_shared_beginnings_add_up():
    texts = ["sin(x) + y*y", "sin(x) + y*x", "sin(x) + y*x", "sin(x) + y", "sin(x) + y*y*exp(y)"]
    batch = Programs.from_list([Program.parse(text, TWO) for text in texts] * 9)
    made = policy(TWO, paper_constraints(), seed=8, hidden=32, spread=0.4)
    random = np.random.default_rng(2)
    log_weights, entropy_weights = random.normal(size=(2, len(batch)))
    _, want = expected(made, batch, log_weights, entropy_weights)
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
    """A second opinion that shares nothing with back-propagation: a few coordinates of each array."""
    made = policy(TWO, paper_constraints(4, 12), seed=1, hidden=8, spread=0.5)
    batch = made.sample(10, iteration=0).programs
    log_weights, entropy_weights = np.linspace(-1, 1, 10), np.linspace(0, 1, 10)
    got = made.gradient(batch, log_weights, entropy_weights).gradient
    value, _ = expected(made, batch, log_weights, entropy_weights)
    value = jax.jit(value)
    flat = made.weights.flat.astype(np.float64)
    random = np.random.default_rng(0)
    sizes = np.cumsum([0] + [a.size for a in oracle.named(flat, 8, len(TWO)).values()])
    for start, stop in zip(sizes[:-1], sizes[1:], strict=True):
        for at in random.integers(start, stop, size=6):
            step = np.zeros_like(flat)
            step[at] = 1e-5
            slope = float(value(flat + step) - value(flat - step)) / 2e-5
            assert got[at] == pytest.approx(slope, rel=1e-3, abs=1e-4 * np.abs(got).max())


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
    assert state.step_size(1.0) == pytest.approx(np.sqrt(0.001) / 0.1)
