"""The native sampler against Algorithm 2 written plainly, and what must hold of every sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from constraint_strategies import constraint_lists, every_program, policy
from engine_helpers import Policy
from examples import examples
from oracle import sampling as oracle
from strategies import libraries, programs
from symseek import (
    CloseUnfinished,
    ConstraintSet,
    Count,
    Forbid,
    InputError,
    InverseNRMSE,
    Length,
    Library,
    NotAllConstants,
    Program,
    Programs,
    Search,
    SearchConfig,
    SoftLength,
    SomeVariable,
    Token,
    UniformArity,
    paper_constraints,
)

KOZA = Library(["add", "sub", "mul", "div", "sin", "cos", "exp", "log"], variables=["x"])
TWO = Library(["add", "mul", "sin", "cos", "exp", "log", "const", 1], variables=["x", "y"])
WIDE = Library(["add", "sin", "cos", "const"], variables=[f"v{i}" for i in range(70)])
TREES = Library(
    [Token("pair", 2), Token("triple", 3), Token("one", 1), Token("leaf", 0)], variables=["x"]
)


class NoDoubleUnary:
    """A user's mask: no unary operator under a unary operator."""

    def __call__(self, partial):
        arity = partial.library.arity
        under = (partial.parent >= 0) & (arity[partial.parent] == 1)
        return ~(under[:, None] & (arity == 1)[None, :])


class LikesSiblings:
    """A user's logits: the token to the left, once more; the more open slots, the less."""

    def __call__(self, partial):
        logits = np.zeros((len(partial.tokens), len(partial.library)))
        rows = np.flatnonzero(partial.sibling >= 0)
        logits[rows, partial.sibling[rows]] = 2.0 / partial.open_slots[rows]
        return logits


class NothingTwiceRunning:
    """A user's mask that reads the tokens so far."""

    def __call__(self, partial):
        mask = np.ones((len(partial.tokens), len(partial.library)), dtype=bool)
        if partial.length:
            mask[np.arange(len(mask)), partial.tokens[:, -1]] = False
        return mask


FEATURES = {
    "one variable": (KOZA, paper_constraints()),
    "two variables, numbers, const": (TWO, paper_constraints()),
    "more than 64 tokens": (WIDE, paper_constraints(4, 20)),
    "arity 3": (TREES, [Length(4, 25), Forbid("triple", "descendant", of="one")]),
    "counts": (
        TWO,
        [Length(3, 15), Count(["x", "y"], 2, 5), Count("const", 0, 2), Count("sin", 0, 1)],
    ),
    "relations": (
        TWO,
        [
            Length(2, 14),
            Forbid(["sin", "exp"], "left child", of=["add", "mul"]),
            Forbid("const", "right child", of="mul"),
            Forbid("log", "only child", of=["sin", "cos"]),
            Forbid("x", "sibling", of=["y", "x"]),
            Forbid(["add", "cos"], "descendant", of="exp"),
            Forbid("1", "child", of=["add", "log"]),
        ],
    ),
    "priors": (TWO, [Length(1, 20), SoftLength(7, 2), UniformArity(), SomeVariable()]),
    "closing": (KOZA, [CloseUnfinished(9)]),
    "user's mask": (TWO, [*paper_constraints(4, 18), NoDoubleUnary()]),
    "user's logits": (TWO, [LikesSiblings(), *paper_constraints(4, 18)]),
    "all at once": (
        TWO,
        [
            *paper_constraints(4, 18),
            NoDoubleUnary(),
            SoftLength(10, 4),
            LikesSiblings(),
            UniformArity(),
            NothingTwiceRunning(),
        ],
    ),
}


def expected(made: Policy, program: Program) -> tuple[float, float]:
    """Log-probability and entropy by the oracle."""
    taken = oracle.steps(made.weights, program.library, made.rules.constraints, program.tokens)
    return oracle.log_probability(taken, program.tokens), sum(step.entropy for step in taken)


# ---- The oracle itself -----------------------------------------------------------------------


@given(programs(TWO))
def test_the_oracles_relatives_are_the_papers(program):
    for length in range(len(program)):
        prefix = program.tokens[:length]
        literal = oracle.parent_sibling_of_the_paper(TWO, prefix)
        assert oracle.parent_sibling(TWO, prefix) == literal


def test_the_oracle_is_no_stranger_to_arity_three():
    names = ["triple", "one", "x", "pair", "x", "leaf"]
    prefix = [TREES.index(name) for name in names]
    parent, sibling = oracle.parent_sibling(TREES, prefix)
    assert (TREES.names[parent], TREES.names[sibling]) == ("triple", "pair")


# ---- Exact probabilities ---------------------------------------------------------------------


@pytest.mark.parametrize(("library", "rules"), FEATURES.values(), ids=FEATURES)
@pytest.mark.parametrize("hidden", [8, 32])
def test_log_probability_and_entropy_are_the_oracles(library, rules, hidden):
    made = policy(library, rules, seed=hidden, hidden=hidden, spread=0.5)
    sample = made.sample(20, iteration=3)
    score = made.score(sample.programs)
    for row, program in enumerate(sample.programs):
        log_probability, entropy = expected(made, program)
        assert score.log_probability[row] == pytest.approx(log_probability, rel=1e-5, abs=2e-5)
        assert score.entropy[row] == pytest.approx(entropy, rel=1e-5, abs=2e-5)
        assert sample.entropy[row] == pytest.approx(entropy, rel=1e-5, abs=2e-5)


SMALL = {
    "arithmetic": (
        Library(["add", "sin", "const"], variables=["x"]),
        paper_constraints(2, 8, 2),
    ),
    "trees": (TREES, [Length(2, 7), Count("leaf", 1, 2)]),
    "relations": (
        Library(["add", "exp", "log"], variables=["x", "y"]),
        [Length(3, 6), Forbid("x", "sibling", of="y"), Forbid("exp", "right child", of="add")],
    ),
    "closing": (Library(["add", "neg"], variables=["x", "y"]), [CloseUnfinished(3)]),
    "custom": (
        Library(["add", "sin", "cos"], variables=["x", "y"]),
        [Length(1, 6), NothingTwiceRunning(), LikesSiblings()],
    ),
}


@pytest.mark.parametrize(("library", "rules"), SMALL.values(), ids=SMALL)
def test_every_program_there_is_has_the_oracles_probability(library, rules):
    """All programs up to a length, the forbidden ones too: so every step must agree exactly."""
    made = policy(library, rules, seed=5, spread=0.7)
    everything = [Program(library, tokens) for tokens in every_program(library, 6)]
    score = made.score(Programs.from_list(everything))
    want = np.array([expected(made, program)[0] for program in everything])
    possible = np.isfinite(want)
    assert 10 < np.count_nonzero(possible) < len(everything)
    np.testing.assert_array_equal(np.isfinite(score.log_probability), possible)
    assert np.all(score.log_probability[~possible] == -np.inf)
    np.testing.assert_allclose(score.log_probability[possible], want[possible], atol=2e-5)
    total = np.exp(score.log_probability.astype(np.float64)).sum()
    if oracle.limits(library, rules)[1] <= 6:  # then these are all there are
        assert total == pytest.approx(1.0, abs=1e-5)
    else:
        assert total < 1.0


@pytest.mark.parametrize(("library", "rules"), SMALL.values(), ids=SMALL)
def test_programs_are_drawn_as_often_as_the_oracle_says(library, rules):
    made = policy(library, rules, seed=11, spread=0.6, threads=2)
    draws = 40_000
    tally: dict[tuple[int, ...], int] = {}
    for iteration in range(4):
        for program in made.sample(draws // 4, iteration).programs:
            tally[program.tokens] = tally.get(program.tokens, 0) + 1
    observed, wanted = [], []
    for tokens in every_program(library, 6):
        probability = math.exp(expected(made, Program(library, tokens))[0])
        assert tokens not in tally or probability > 0
        if draws * probability >= 5:
            observed.append(tally.get(tokens, 0))
            wanted.append(draws * probability)
    observed.append(draws - sum(observed))  # the rare and the long ones, taken together
    wanted.append(draws - sum(wanted))
    cells = np.array(wanted) >= 5
    difference = np.array(observed)[cells] - np.array(wanted)[cells]
    chi_square = float((difference**2 / np.array(wanted)[cells]).sum())
    freedom = np.count_nonzero(cells) - 1
    assert freedom >= 10
    # Mean `freedom`, variance twice that; five standard deviations on a fixed seed.
    assert chi_square < freedom + 5 * math.sqrt(2 * freedom)


@pytest.mark.parametrize(("library", "rules"), list(FEATURES.values())[:6], ids=list(FEATURES)[:6])
def test_each_step_of_long_programs_is_drawn_as_the_oracle_says(library, rules):
    """Sum of p over the steps of sampled programs, token by token, against how often it came."""
    made = policy(library, rules, seed=2, spread=0.5)
    sample = made.sample(80, iteration=0).programs
    counted = np.zeros(len(library))
    mean = np.zeros(len(library))
    variance = np.zeros(len(library))
    for program in sample:
        taken = oracle.steps(made.weights, library, rules, program.tokens)
        for step, token in zip(taken, program.tokens, strict=True):
            counted[token] += 1
            mean += step.probability
            variance += step.probability * (1 - step.probability)
    assert np.all(np.abs(counted - mean) <= 5 * np.sqrt(variance) + 1e-3)


def test_first_policy_is_uniform_over_allowed_tokens():
    rules = paper_constraints()
    made = policy(TWO, rules, seed=9, hidden=32)
    sample = made.sample(50, iteration=0)
    score = made.score(sample.programs)
    for row, program in enumerate(sample.programs):
        taken = oracle.steps(made.weights, TWO, rules, program.tokens)
        for step in taken:
            allowed = step.added == 0.0
            np.testing.assert_allclose(step.probability[allowed], 1 / np.count_nonzero(allowed))
        uniform = -sum(math.log(np.count_nonzero(step.added == 0.0)) for step in taken)
        assert score.log_probability[row] == pytest.approx(uniform, rel=1e-6)
        assert sample.entropy[row] == pytest.approx(-uniform, rel=1e-6)


def test_uniform_arity_prior_makes_arities_equally_likely():
    made = policy(KOZA, [Length(1, 30), UniformArity()])
    first = made.sample(30_000, iteration=0).programs.tokens[:, 0]
    shares = np.bincount(KOZA.arity[first], minlength=3) / len(first)
    np.testing.assert_allclose(shares, 1 / 3, atol=0.015)


def test_soft_length_prior_gathers_lengths_around_its_location():
    free = policy(KOZA, [Length(1, 60)]).sample(3000, iteration=0).programs.lengths
    soft = policy(KOZA, [Length(1, 60), SoftLength(12, 1.5)])
    lengths = soft.sample(3000, iteration=0).programs.lengths
    # Positions opened before the location still have to be filled, so most end somewhat beyond it.
    assert abs(np.median(lengths) - 12) < abs(np.median(free) - 12)
    assert lengths.std() < 0.5 * free.std()


# ---- Reproducible ----------------------------------------------------------------------------


@pytest.mark.parametrize(("library", "rules"), FEATURES.values(), ids=FEATURES)
def test_samples_do_not_depend_on_threads(library, rules):
    alone = policy(library, rules, seed=4, spread=0.3).sample(333, iteration=8)
    for threads in (2, 3):
        together = policy(library, rules, seed=4, spread=0.3, threads=threads).sample(333, 8)
        np.testing.assert_array_equal(together.programs.tokens, alone.programs.tokens)
        np.testing.assert_array_equal(together.programs.lengths, alone.programs.lengths)
        np.testing.assert_array_equal(together.entropy, alone.entropy)


def test_a_sample_does_not_depend_on_its_batch():
    made = policy(TWO, paper_constraints(), seed=4, spread=0.3)
    few, many = made.sample(10, iteration=2), made.sample(500, iteration=2)
    np.testing.assert_array_equal(few.programs.tokens, many.programs.tokens[:10])
    np.testing.assert_array_equal(few.entropy, many.entropy[:10])


def test_seed_and_iteration_change_the_programs():
    rules = paper_constraints()
    tokens = [
        policy(TWO, rules, seed=seed).sample(100, iteration).programs.tokens
        for seed, iteration in ((0, 0), (0, 1), (1, 0), (2**64 - 1, 0), (1 << 32, 0))
    ]
    for i, one in enumerate(tokens):
        for other in tokens[:i]:
            assert not np.array_equal(one, other)
    again = policy(TWO, rules, seed=1).sample(100, 0).programs.tokens
    np.testing.assert_array_equal(tokens[2], again)


@pytest.mark.parametrize("own", [[], [NoDoubleUnary()]], ids=["built-in", "with a custom one"])
def test_twenty_iterations_are_identical_on_one_two_and_three_threads(own):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (40, 2))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    runs = []
    for threads in (1, 2, 3):
        seen = []
        search = Search(
            TWO,
            X,
            y,
            SearchConfig(batch_size=300, max_expressions=20 * 300),
            reward=InverseNRMSE(),
            constraints=[*paper_constraints(), *own],
            seed=6,
            threads=threads,
        )
        grade = search.grader

        def watched(programs, grade=grade, seen=seen):
            graded = grade(programs)
            seen.append((programs.tokens.copy(), programs.lengths.copy(), graded.rewards.copy()))
            return graded

        search.grader = watched
        result = search.run()
        assert len(seen) == 20
        runs.append((seen, search.state.weights.copy(), result))
    first_seen, first_weights, first_result = runs[0]
    for seen, weights, result in runs[1:]:
        for one, other in zip(first_seen, seen, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(weights, first_weights)
        assert result.front.entries == first_result.front.entries


# ---- Edges -----------------------------------------------------------------------------------


def test_a_batch_may_be_a_strided_view():
    made = policy(TWO, paper_constraints(), spread=0.4)
    batch = made.sample(60, iteration=0).programs
    whole = made.score(batch).log_probability
    np.testing.assert_array_equal(made.score(batch[::3]).log_probability, whole[::3])
    np.testing.assert_array_equal(made.score(batch[::-1]).log_probability, whole[::-1])


def test_forbidden_and_too_long_programs_have_no_probability():
    made = policy(TWO, paper_constraints(4, 9), spread=0.4)
    texts = ["sin(x + cos(y))", "log(exp(x)) + y", "x + y", "x + y + x + y + x + y"]
    batch = Programs.from_list([Program.parse(text, TWO) for text in texts])
    assert np.all(made.score(batch).log_probability == -np.inf)
    assert not made.permits(batch).any()
    with pytest.raises(InputError, match="rule out"):
        made.gradient(batch, np.ones(4), np.zeros(4))


def test_incomplete_or_overlong_traversals_are_not_allowed():
    made = policy(KOZA, [Length(1, 6)])
    add, x = KOZA.index("add"), KOZA.index("x")
    tokens = np.full((3, 6), -1, dtype=np.int16)
    tokens[0, :2] = add, x  # unfinished
    tokens[1, :2] = x, x  # continues after its end
    tokens[2, :1] = 99  # no such token
    lengths = np.array([2, 2, 1], dtype=np.int32)
    batch = Programs._trusted(KOZA, tokens, lengths, np.ones((3, 0)))
    assert made.permits(batch).tolist() == [False, False, False]


def test_programs_over_another_library_are_refused():
    made = policy(TWO, paper_constraints())
    batch = Programs.from_list([Program.parse("x + x", Library(["add"], variables=["x"]))])
    for ask in (made.score, made.permits, lambda b: made.gradient(b, np.ones(1), np.ones(1))):
        with pytest.raises(InputError, match="library"):
            ask(batch)


class RefusesSome:
    """Leaves some programs of three tokens without a way on, until it is told to be kind."""

    strict = True

    def __call__(self, partial):
        mask = np.ones((len(partial.tokens), len(partial.library)), dtype=bool)
        if self.strict and partial.length == 3:
            mask[-1] = False
        return mask


def test_sampling_goes_on_as_if_nothing_had_happened_after_a_dead_end():
    library = Library(["add", "sin", "cos"], variables=["x", "y"])
    moody = RefusesSome()
    made = policy(library, [Length(4, 12), moody])
    with pytest.raises(InputError, match="RefusesSome"):
        made.sample(500, iteration=0)
    moody.strict = False
    fresh = policy(library, [Length(4, 12), moody])
    np.testing.assert_array_equal(
        made.sample(500, iteration=1).programs.tokens,
        fresh.sample(500, iteration=1).programs.tokens,
    )


class Broken:
    """A user's constraint with a bug that shows after a few steps."""

    def __call__(self, partial):
        if partial.length == 5:
            raise ZeroDivisionError("the user's own mistake")
        return np.ones((len(partial.tokens), len(partial.library)), dtype=bool)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_custom_constraint_reaches_the_user(threads):
    made = policy(KOZA, [Length(6, 12), Broken()], threads=threads)
    for _ in range(2):  # and leaves the policy in order
        with pytest.raises(ZeroDivisionError, match="own mistake"):
            made.sample(50, iteration=0)


# ---- For random libraries and constraints ----------------------------------------------------


@examples(150)
@given(st.data())
def test_every_sample_is_complete_and_violates_nothing(data):
    """Or the constraints collide, and then they are named."""
    library = data.draw(libraries(evaluable=False))
    rules = data.draw(constraint_lists(library))
    try:
        made = policy(library, rules, seed=1, spread=data.draw(st.sampled_from([0.0, 0.5])))
        batch = made.sample(100, iteration=data.draw(st.integers(0, 9))).programs
    except InputError as error:
        said = str(error)
    else:
        said = ""
    if said:
        named = [str(rule) for rule in rules] + [type(rule).__name__ for rule in rules]
        assert any(name in said for name in named)
        return
    assert made.permits(batch).all()
    for row in range(len(batch)):
        tokens = tuple(batch.tokens[row, : batch.lengths[row]].tolist())
        assert np.all(batch.tokens[row, batch.lengths[row] :] == -1)
        program = Program(library, tokens)  # refuses what is not complete
        assert made.rules.violations(program) == []
    assert np.isfinite(made.score(batch).log_probability).all()


@examples(150)
@given(st.data())
def test_allowed_means_violates_nothing(data):
    """The tables against the judgement of finished programs, on arbitrary programs.

    Where some position cannot take a lone terminal, or is bounded, the tables reserve room for it
    by a cautious estimate: close to the length limits they may refuse what is still valid. Away
    from the limits (a far wider `Length`) they may not, but for rules about descendants and
    siblings, of which the estimate takes the worst case.
    """
    library = data.draw(libraries(evaluable=False))
    rules = data.draw(constraint_lists(library))
    try:
        made = policy(library, rules)
    except InputError:  # the constraints collide
        reject()
    batch = data.draw(st.lists(programs(library, max_length=18), min_size=1, max_size=10))
    valid = [made.rules.violations(program) == [] for program in batch]
    allowed = made.permits(Programs.from_list(batch)).tolist()
    if not made.rules.tables.sized:
        assert allowed == valid
        return
    for program, ok, fine in zip(batch, allowed, valid, strict=True):
        assert fine or not ok, f"{program} is allowed although it violates something"
    if any(getattr(rule, "relation", "") in ("descendant", "sibling") for rule in rules):
        return
    wide = [Length(1, 200) if isinstance(rule, Length) else rule for rule in rules]
    roomy = policy(library, wide)
    valid = [roomy.rules.violations(program) == [] for program in batch]
    assert roomy.permits(Programs.from_list(batch)).tolist() == valid


@examples(60)
@given(st.data())
def test_mutated_samples_are_judged_alike(data):
    """Samples with one token exchanged for another of the same arity: near misses."""
    library = data.draw(libraries(evaluable=False, odd=False))
    rules = data.draw(constraint_lists(library))
    try:
        made = policy(library, rules)
        batch = made.sample(20, iteration=0).programs
    except InputError:  # the constraints collide
        reject()
    mutants = []
    for program in batch:
        at = data.draw(st.integers(0, len(program) - 1))
        arity = library.arities[program.tokens[at]]
        same = [token for token in range(len(library)) if library.arities[token] == arity]
        tokens = list(program.tokens)
        tokens[at] = data.draw(st.sampled_from(same))
        mutants.append(Program(library, tuple(tokens)))
    valid = np.array([made.rules.violations(program) == [] for program in mutants])
    allowed = made.permits(Programs.from_list(mutants))
    assert np.all(valid | ~allowed)
    if not made.rules.tables.sized:
        np.testing.assert_array_equal(allowed, valid)


def test_rules_that_never_meet_do_not_rule_out_programs_together():
    """x may not stand below sin, nor y below cos: that leaves sin(y), cos(x) and x + y."""
    library = Library(["add", "sin", "cos"], variables=["x", "y"])
    rules = [
        Length(1, 10),
        Forbid("x", "descendant", of="sin"),
        Forbid("y", "descendant", of="cos"),
    ]
    made = policy(library, rules)
    texts = ["sin(y)", "cos(x)", "x + y", "sin(y) + cos(x)"]
    batch = Programs.from_list([Program.parse(text, library) for text in texts])
    assert made.permits(batch).all()
    assert len({str(program) for program in made.sample(500, iteration=0).programs}) > 4


@pytest.mark.parametrize("low", [1, 2, 9])
def test_room_is_counted_right_where_positions_are_bounded_and_others_are_not(low):
    library = Library(["neg", "add"], variables=["x"])
    rules = [Length(low, 15), Forbid(["neg", "add"], "child", of="neg")]
    made = policy(library, rules)
    for iteration in range(20):
        batch = made.sample(100, iteration).programs
        assert low <= batch.lengths.min()
        assert all(not made.rules.violations(program) for program in batch[:10])


def test_a_left_child_that_leaves_nothing_for_the_right_is_avoided():
    """sub bears no sibling at all: that leaves sums."""
    library = Library(["add", "sub"], variables=["x"])
    made = policy(library, [Length(1, 9), Forbid("sub", "sibling", of=["add", "sub", "x"])])
    batch = Programs.from_list([Program.parse(text, library) for text in ("x + x", "x - (x + x)")])
    assert made.permits(batch).all()
    assert len({str(program) for program in made.sample(500, iteration=0).programs}) > 4


def test_siblings_of_a_ternary_operator_need_not_be_neighbours():
    rules = [Length(1, 10), Forbid("leaf", "sibling", of="x")]
    made = policy(TREES, rules)
    apart = Program.from_preorder(["triple", "leaf", "one", "x", "x"], TREES)
    assert ConstraintSet(TREES, rules).violations(apart) == ["Forbid leaf as sibling of x"]
    assert made.permits(Programs.from_list([apart])).tolist() == [False]


def test_a_ternary_operator_may_have_two_constants():
    library = Library([Token("fused", 3, formula="a*b + c"), "const"], variables=["x"])
    made = policy(library, [Length(1, 10), NotAllConstants()])
    some = Program.from_preorder(["fused", "const", "const", "x"], library)
    every = Program.from_preorder(["fused", "const", "const", "const"], library)
    assert made.rules.violations(some) == []
    assert made.rules.violations(every) == ["NotAllConstants()"]
    assert made.permits(Programs.from_list([some, every])).tolist() == [True, False]
