"""Every engine there is, against the same oracles: one list of checks, one list of engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import host_device
import numpy_engine  # registers the engine "numpy"
from constraint_strategies import every_program, policy
from evolution_helpers import copies, token_rows
from oracle import evaluate, pairing, sampling
from refusals import refused
from symseek import (
    Count,
    Evolution,
    FitConfig,
    FitStatus,
    Forbid,
    InputError,
    Length,
    Library,
    Program,
    Programs,
    Search,
    SoftLength,
    UniformArity,
    fit_constants,
    paper_constraints,
    presets,
)
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.interface import ENGINES, PAIRS, Engine, engine_named, register
from symseek.lab import problems
from symseek.loop import run_together
from symseek.policy import AdamState

KOZA = Library(["add", "sub", "mul", "div", "sin", "cos", "exp", "log"], variables=["x"])
FITTED = Library(["add", "mul", "sin", "exp", "const"], variables=["x", "y"])
X = np.random.default_rng(0).uniform(-1, 1, (20, 2))
Y = 1.7 * X[:, 0] ** 2 + np.sin(2.3 * X[:, 1])


class NoSineFirst:
    """A constraint of the caller's own."""

    def __call__(self, partial: Any) -> Any:
        mask = np.ones((len(partial.tokens), len(partial.library)), dtype=bool)
        if partial.length == 0:
            mask[:, partial.library.index("sin")] = False
        return mask


RULES: dict[str, tuple[Library, list[Any]]] = {
    "paper": (KOZA, paper_constraints(4, 12)),
    "constants": (FITTED, paper_constraints(3, 12)),
    "relations": (
        FITTED,
        [
            Length(2, 10),
            Forbid(["sin", "exp"], "left child", of=["add", "mul"]),
            Forbid("const", "right child", of="mul"),
            Forbid("x", "sibling", of="y"),
            Forbid(["add"], "descendant", of="exp"),
            Forbid("mul", "descendant", of="add", argument=1),
            Count(["x", "y"], 1, 5),
        ],
    ),
    "priors": (FITTED, [Length(1, 10), SoftLength(5, 2), UniformArity()]),
    "custom": (FITTED, [*paper_constraints(3, 12), NoSineFirst()]),
}
each_rule = pytest.mark.parametrize(("library", "rules"), RULES.values(), ids=RULES)


# The kernels of a GPU are tested twice: compiled for the host, and where there is a GPU, on it.
EVERY = [
    "native",
    "numpy",
    pytest.param("cuda on the host", marks=host_device.needs_compiler),
    pytest.param("cuda", marks=host_device.needs_gpu),
]


def made(name: str) -> Engine:
    if name == "cuda on the host":
        return CudaEngine(2, host_device.HostDevice())
    return engine_named(name, threads=2)


@pytest.fixture(params=EVERY)
def engine(request: pytest.FixtureRequest) -> Engine:
    return made(request.param)


# ---- the policy ------------------------------------------------------------------------------


@each_rule
def test_probabilities_and_entropies_are_the_oracles(engine: Any, library: Any, rules: Any) -> None:
    made = policy(library, rules, engine=engine, spread=0.4, seed=3)
    batch = made.sample(12, 1)
    score = made.score(batch.programs)
    for row, program in enumerate(batch.programs):
        taken = sampling.steps(made.weights, library, rules, program.tokens)
        expected = sampling.log_probability(taken, program.tokens)
        entropy = sum(step.entropy for step in taken)
        assert score.log_probability[row] == pytest.approx(expected, rel=1e-4)
        assert batch.entropy[row] == pytest.approx(entropy, rel=1e-4)
        assert score.entropy[row] == pytest.approx(entropy, rel=1e-4)


@each_rule
def test_the_gradient_is_that_of_automatic_differentiation(
    engine: Any, library: Any, rules: Any
) -> None:
    from oracle import gradient as oracle

    made = policy(library, rules, engine=engine, spread=0.4, seed=3, hidden=8)
    batch = made.sample(12, 1).programs
    random = np.random.default_rng(1)
    weights = random.normal(size=12), random.uniform(0.0, 1.0, 12)
    got = made.gradient(batch, *weights, 0.9).gradient
    steps = oracle.walk(made.weights, batch, rules)
    want = np.asarray(oracle.gradient(made.weights.flat.astype(float), steps, *weights, 8, 0.9))
    assert np.abs(want).max() > 0.05
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5 * np.abs(want).max())


def test_programs_are_drawn_as_often_as_they_are_likely(engine: Engine) -> None:
    library = Library(["add", "sin"], variables=["x"])
    made = policy(library, [Length(1, 4)], engine=engine, spread=0.3)
    count = 3_000
    drawn = Counter(token_rows(made.sample(count, 0).programs))
    every = [Program(library, tokens) for tokens in every_program(library, 4)]
    likely = np.exp(made.score(Programs.from_list(every)).log_probability.astype(float))
    assert likely.sum() == pytest.approx(1.0, abs=1e-5)
    for program, p in zip(every, likely, strict=True):
        (row,) = token_rows(Programs.from_list([program]))
        off = 5 * np.sqrt(p * (1 - p) / count) + 1 / count
        assert drawn[row] / count == pytest.approx(p, abs=off)
    assert token_rows(made.sample(50, 1).programs) == token_rows(made.sample(50, 1).programs)
    assert token_rows(made.sample(50, 1).programs) != token_rows(made.sample(50, 2).programs)


def test_a_step_of_adam_is_the_formula(engine: Engine) -> None:
    kernel = policy(KOZA, paper_constraints(), engine=engine).kernel
    random = np.random.default_rng(0)
    weights, gradient = (random.normal(size=50).astype(np.float32) for _ in range(2))
    start = AdamState(*(np.abs(random.normal(size=50)).astype(np.float32) for _ in range(2)), 3)
    before = weights.copy()
    after, adam = kernel.ascend(weights, start, gradient, 0.01)
    mean = 0.9 * start.mean + 0.1 * gradient
    variance = 0.999 * start.variance + 0.001 * gradient**2
    step = 0.01 * (mean / (1 - 0.9**4)) / (np.sqrt(variance / (1 - 0.999**4)) + 1e-8)
    np.testing.assert_allclose(after, weights + step, rtol=1e-4)
    np.testing.assert_allclose(adam.mean, mean, rtol=1e-4)
    np.testing.assert_allclose(adam.variance, variance, rtol=1e-4)
    assert adam.steps == 4
    np.testing.assert_array_equal(weights, before)  # nothing is changed in place


@each_rule
def test_what_is_permitted_is_what_could_be_sampled(engine: Any, library: Any, rules: Any) -> None:
    made = policy(library, rules, engine=engine)
    samples = made.sample(20, 0).programs
    assert made.permits(samples).all()
    foreign = policy(library, [Length(1, 12)], engine=engine, seed=5).sample(60, 0).programs
    likely = made.score(foreign).log_probability > -np.inf
    np.testing.assert_array_equal(made.permits(foreign), likely)
    assert not likely.all()
    for program, permitted in zip(foreign, likely, strict=True):
        assert not (permitted and made.rules.violations(program))


def test_no_sample_runs_out_of_room(engine: Engine) -> None:
    """Below log only exp is allowed: a position may need more tokens than one."""
    others = [name for name in KOZA.names if name != "exp"]
    rules = [Length(3, 6), Forbid(others, "child", of="log")]
    made = policy(KOZA, rules, engine=engine)
    assert made.rules.tables.sized
    samples = made.sample(60, 0).programs
    assert any("log" in program.names for program in samples)
    for program in samples:
        Program(KOZA, program.tokens)  # complete, or this raises
        assert made.rules.violations(program) == []
    every = Programs.from_list([Program(KOZA, tokens) for tokens in every_program(KOZA, 4)])
    by_native = policy(KOZA, rules).permits(every)
    np.testing.assert_array_equal(made.permits(every), by_native)


def test_a_dead_end_is_explained(engine: Engine) -> None:
    def nothing(partial: Any) -> Any:
        return np.zeros((len(partial.tokens), len(partial.library)), dtype=bool)

    with pytest.raises(InputError, match="the constraints collide"):
        policy(KOZA, [Length(1, 5), nothing], engine=engine).sample(3, 0)


def test_a_program_that_is_ruled_out_is_not_learnt_from(engine: Engine) -> None:
    made = policy(KOZA, paper_constraints(), engine=engine)
    nested = copies(["sin(x + sin(x))"], KOZA, 1)
    with pytest.raises(InputError, match="rule out"):
        made.gradient(nested, np.ones(1), np.ones(1))


# ---- data ------------------------------------------------------------------------------------


def test_values_errors_and_validity_are_the_oracles(engine: Engine) -> None:
    weights = np.linspace(0.5, 2.0, 20)
    on = engine.evaluator(FITTED, X, Y, weights)
    programs = policy(FITTED, [Length(1, 12)], seed=2).sample(80, 0).programs
    values, errors = on.predict(programs), on.errors(programs)
    assert 0 < np.count_nonzero(values.ok) < 80
    for row, program in enumerate(programs):
        expected, valid = evaluate.evaluate(program, X)
        assert values.ok[row] == errors.ok[row] == valid
        if valid:
            off = expected - Y
            np.testing.assert_allclose(values.values[row], expected, rtol=1e-9, atol=1e-9)
            assert errors.sums[0, row] == pytest.approx(weights @ off**2, rel=1e-9)
            assert errors.sums[1, row] == pytest.approx(weights @ np.abs(off), rel=1e-9)
    assert errors.distinct == len(set(programs))


def test_planted_constants_are_found(engine: Engine) -> None:
    programs = copies(["1.0*sin(x) + 1.0", "exp(1.0*y)"], FITTED, 1)
    for row, y in enumerate((2.5 * np.sin(X[:, 0]) - 3.0, np.exp(0.7 * X[:, 1]))):
        fitted = engine.evaluator(FITTED, X, y).fit(programs, FitConfig(), 20 * y.var(), 0.5)
        assert fitted.status[row] == FitStatus.CONVERGED
        assert fitted.errors.sums[0, row] < 1e-10
        assert fitted.errors.ok[row]
    never = copies(["exp(exp(exp(exp(exp(exp(1.0*x + 1000.0))))))"], FITTED, 1)
    assert engine.evaluator(FITTED, X, Y).fit(never, FitConfig()).status[0] == FitStatus.INVALID


def test_programs_over_another_library_are_refused(engine: Engine) -> None:
    foreign = copies(["x + x"], Library(["add"], variables=["x"]), 1)
    on, made = engine.evaluator(FITTED, X, Y), policy(FITTED, paper_constraints(), engine=engine)
    asked: list[Callable[[Programs], Any]] = [on.errors, on.predict, made.score, made.permits]
    for ask in asked:
        with pytest.raises(InputError, match="library"):
            ask(foreign)


# ---- children --------------------------------------------------------------------------------


@each_rule
def test_children_are_new_and_obey_the_rules(engine: Any, library: Any, rules: Any) -> None:
    made = policy(library, rules, engine=engine)
    parents = made.sample(30, 0).programs
    breeder = engine.breeder(made.rules)
    breeder.begin(parents)
    options = Evolution()
    children = breeder.breed(parents, np.linspace(0, 1, 30), 5, 0, 0, options, 30)
    rows = token_rows(children)
    assert 0 < len(rows) == len(set(rows)) <= 30
    assert not set(rows) & set(token_rows(parents))
    for child in children:
        Program(library, child.tokens, child.constants)  # complete, or this raises
        assert made.rules.violations(child) == []
    assert not breeder.admit(children).any()
    breeder.begin(parents[:0])
    assert breeder.admit(children).all()
    breeder.begin(parents)
    again = breeder.breed(parents, np.linspace(0, 1, 30), 5, 0, 0, options, 30)
    assert token_rows(again) == rows


def test_pairs_are_those_of_trying_all(engine: Engine) -> None:
    random = np.random.default_rng(2)
    task = (
        random.normal(size=(5, 30)),
        random.normal(size=(9, 30)),
        random.normal(size=30),
        random.uniform(0.5, 2.0, 30),
        random.uniform(size=(5, 9)) < 0.7,
    )
    found = engine.pair(*task)
    every, _ = pairing.errors(*task)
    assert found.error.shape == found.candidate.shape == (5, len(PAIRS))
    np.testing.assert_allclose(found.error, every.min(axis=2), rtol=1e-10)
    chosen = np.take_along_axis(every, found.candidate[:, :, None], axis=2)[:, :, 0]
    np.testing.assert_allclose(chosen, found.error, rtol=1e-10)


# ---- the whole -------------------------------------------------------------------------------


def small(engine: str | Engine, seed: int, **more: Any) -> Search:
    config = presets.hybrid(
        batch_size=20,
        max_expressions=180,
        evolution=Evolution(generations=3, elite=5, pairing=0, kept=5),
    )
    return Search(KOZA, X[:, :1], X[:, 0] ** 2, config, seed=seed, engine=engine, **more)


@pytest.mark.slow
def test_searches_side_by_side_find_what_they_find_alone(engine: Engine) -> None:
    alone = [small(engine, seed).run() for seed in range(3)]
    searches = [small(engine, seed) for seed in range(3)]
    together = run_together(searches)
    for one, other in zip(alone, together, strict=True):
        assert (one.front, one.expressions) == (other.front, other.expressions)
        assert [r.mean_reward for r in one.history] == [r.mean_reward for r in other.history]


@pytest.mark.parametrize("name", EVERY)
def test_nguyen_1_is_found(name: str) -> None:
    problem = problems.load("Nguyen-1")
    data = problem.data()
    config = presets.hybrid(
        batch_size=100,
        max_expressions=20_000,
        stop_reward=1 - 1e-9,
        evolution=Evolution(elite=20, pairs=20, kept=20),
    )
    rules = paper_constraints(4, 15)
    search = Search(
        problem.library(), data.X_train, data.y_train, config, constraints=rules, engine=made(name)
    )
    assert search.run().best.reward > 1 - 1e-9


def test_an_engine_is_chosen_by_name() -> None:
    assert engine_named("numpy").name == "numpy"
    assert engine_named("native").name == "native"
    itself = numpy_engine.NumpyEngine()
    assert engine_named(itself) is itself
    with refused("engine", value="natve", wanted="did you mean 'native'?"):
        Search(KOZA, X[:, :1], Y, engine="natve")
    register("another", numpy_engine.NumpyEngine)
    try:
        batch = copies(["1.0*sin(x) + 1.0"], FITTED, 1)
        fitted = fit_constants(batch, X, 2 * np.sin(X[:, 0]) + 3, engine="another")
    finally:
        del ENGINES["another"]
    np.testing.assert_allclose(fitted.programs.constants, [[2.0, 3.0]], atol=1e-4)
