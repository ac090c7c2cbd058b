"""Where a policy begins: the grammar, the shipped file, and the way from roles to any library."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from refusals import refused
from strategies import libraries
from symseek import (
    ConstraintSet,
    InputError,
    Length,
    Library,
    PolicyConfig,
    Programs,
    Search,
    Token,
    presets,
)
from symseek.engines.interface import Policy, engine_named
from symseek.lab.start.grammar import FormulaGrammar
from symseek.lab.start.train import LIBRARY, batch_of, trained
from symseek.policy import FORMULAS_HIDDEN, PolicyWeights
from symseek.start import first_weights
from symseek.start.roles import ROLES, RolePolicy, _shipped, read, role_of, write

FORMULAS = PolicyConfig(start="formulas")
LENGTH = Length(1, 30)


def network(library: Library, hidden: int = 32) -> Policy:
    return engine_named("native").policy(ConstraintSet(library, [LENGTH]), hidden)


def written(library: Library, count: int = 6_000, hidden: int = 32) -> Programs:
    """What the starting policy writes."""
    weights = first_weights(PolicyConfig(hidden, "formulas"), library, seed=0)
    return network(library, hidden).sample(weights.flat, 1, 0, count).programs


def drawn(count: int, seed: int) -> Programs:
    """Formulas of the grammar, other than those of the training."""
    grammar = FormulaGrammar(seed)
    return batch_of([grammar.draw() for _ in range(count)])


def shares(ids: np.ndarray, most: int) -> np.ndarray:
    return np.bincount(ids, minlength=most) / len(ids)


def used(programs: Programs) -> np.ndarray:
    """All tokens of a batch."""
    return programs.tokens[programs.tokens >= 0]


def arities(programs: Programs) -> np.ndarray:
    return shares(programs.library.arity[used(programs)], 3)


# --- the grammar and the policy that was trained on it


def test_a_formula_is_complete_and_short_enough() -> None:
    grammar = FormulaGrammar(4)
    formulas = [grammar.draw(longest=12) for _ in range(500)]
    assert {len(each) for each in formulas} == set(range(2, 13))
    batch_of(formulas)  # which refuses what is not a complete program


def test_the_same_seed_draws_the_same_formulas() -> None:
    first, again, other = (drawn(50, seed).tokens.tolist() for seed in (3, 3, 4))
    assert first == again != other


def test_the_policy_writes_what_the_grammar_draws() -> None:
    """Half the sum of all differences between shares is what one of 6,000 formulas leaves open."""
    ours, theirs = written(LIBRARY), drawn(6_000, seed=77)
    count = len(LIBRARY)
    assert abs(shares(used(ours), count) - shares(used(theirs), count)).sum() / 2 < 0.015
    first = [shares(each.tokens[:, 0], count) for each in (ours, theirs)]
    assert abs(first[0] - first[1]).sum() / 2 < 0.04
    assert abs(ours.lengths.mean() / theirs.lengths.mean() - 1) < 0.05


@pytest.mark.parametrize("parent", ["mul", "div", "add", "sub", "square", "sqrt", "exp"])
def test_it_knows_what_goes_where(parent: str) -> None:
    """The first operand of an operator follows it."""

    def operands(programs: Programs) -> np.ndarray:
        here = programs.tokens[:, :-1] == LIBRARY.index(parent)
        return shares(programs.tokens[:, 1:][here], len(LIBRARY))

    ours, theirs = operands(written(LIBRARY)), operands(drawn(6_000, seed=78))
    usual = np.full(len(LIBRARY), 1 / len(LIBRARY))
    distance = abs(ours - theirs).sum()
    assert distance < 0.25 < abs(usual - theirs).sum()


def test_training_raises_the_likelihood_and_is_repeatable() -> None:
    table, again = (trained(steps=60, formulas=2_000) for _ in range(2))
    assert table.weights.flat.tobytes() == again.weights.flat.tobytes()
    assert table.shares.sum() == pytest.approx(1)
    fresh, policy = drawn(500, seed=5), network(LIBRARY, FORMULAS_HIDDEN)
    uniform = PolicyWeights.start(len(ROLES), FORMULAS_HIDDEN, seed=0)
    before, after, shipped = (
        policy.score(weights.flat, fresh).log_probability.mean()
        for weights in (uniform, table.weights, _shipped().weights)
    )
    assert before < after - 5 < shipped - 5


# --- from roles to a library


def test_the_tokens_of_the_training_have_the_roles_in_order() -> None:
    assert tuple(map(role_of, LIBRARY)) == ROLES


def test_unknown_operators_have_the_role_of_their_arity() -> None:
    own = [Token("mine", 1), Token("both", 2), Token("three", 3), Token("leaf", 0)]
    library = Library(["asin", "atan2", "protected_log", *own, 2.5, "const"], ["exp1", "mul2"])
    assert [role_of(library[name]) for name in ("asin", "mine")] == ["unary"] * 2
    assert [role_of(library[name]) for name in ("atan2", "both", "three")] == ["binary"] * 3
    assert [role_of(library[name]) for name in ("leaf", "2.5")] == ["number"] * 2
    assert [role_of(library[name]) for name in ("exp1", "mul2")] == ["variable"] * 2
    assert role_of(library["protected_log"]) == "log"


def test_a_name_of_another_arity_is_not_the_known_operator() -> None:
    assert role_of(Token("unary", 2)) == "binary"
    assert role_of(Token("variable", 1)) == "unary"


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 10**6))
def test_tokens_of_one_role_share_its_probability(variables: int, numbers: int, seed: int) -> None:
    """Every role is there: a token has its role's probability, divided among the tokens of it.

    That of the variables is raised first, as in the plain policy over roles below.
    """
    names = [token for token in LIBRARY if token.arity or token.name == "const"]
    values = [float(value) for value in range(1, numbers + 1)]
    library = Library([*names, *values], [f"x{at}" for at in range(variables)])
    formulas = drawn(20, seed % 1000)
    rng = np.random.default_rng(seed)
    tokens, cost = np.full_like(formulas.tokens, -1), np.zeros(20)
    for row, at in np.argwhere(formulas.tokens >= 0):
        name = LIBRARY.names[formulas.tokens[row, at]]
        several = {"variable": library.variables, "1": [f"{value:g}" for value in values]}
        choices = several.get(name, [name])
        tokens[row, at] = library.index(str(rng.choice(choices)))
        cost[row] += np.log(len(choices))
    mine = Programs(library, tokens, formulas.lengths, formulas.constants)
    weights = first_weights(FORMULAS, library, seed).flat
    got = network(library).score(weights, mine).log_probability
    plain = PolicyWeights.over(_shipped().weights.flat.copy(), len(ROLES), FORMULAS_HIDDEN)
    plain.output_bias[ROLES.index("variable")] += 0.4 * np.log(variables)
    by_role = network(LIBRARY, FORMULAS_HIDDEN).score(plain.flat, formulas)
    np.testing.assert_allclose(got, by_role.log_probability - cost, atol=2e-3)


@examples(50)
@given(libraries(evaluable=False), st.integers(0, 2**64 - 1), st.sampled_from([16, 17, 32]))
def test_any_library_has_a_start(library: Library, seed: int, hidden: int) -> None:
    weights = first_weights(PolicyConfig(hidden, "formulas"), library, seed)
    assert np.isfinite(weights.flat).all()
    policy = network(library, hidden)
    sample = policy.sample(weights.flat, seed, 0, 60).programs
    assert (sample.lengths <= 30).all()
    assert np.isfinite(policy.score(weights.flat, sample).log_probability).all()


@examples(50)
@given(libraries(evaluable=False), st.randoms(use_true_random=False))
def test_variables_are_exchangeable(library: Library, random: Any) -> None:
    shuffled = list(library.variable_ids)
    random.shuffle(shuffled)
    exchanged = np.arange(len(library) + 1)  # the last is for padding, which stays
    exchanged[[*library.variable_ids]] = shuffled
    exchanged[-1] = -1
    sample = written(library, 40)
    other = Programs(
        library, exchanged[sample.tokens].astype(np.int16), sample.lengths, sample.constants
    )
    policy, weights = network(library), first_weights(FORMULAS, library, 0).flat
    np.testing.assert_allclose(
        policy.score(weights, sample).log_probability,
        policy.score(weights, other).log_probability,
        rtol=1e-5,
    )


@pytest.mark.parametrize(
    "operators",
    [
        ["add", "sub", "mul", "div", "sin", "cos", "exp", "log"],
        ["add", "mul", "square", "sqrt", "const"],
        ["add", "mul", 1, 2],
        ["div", Token("both", 2), Token("nor", 2), Token("flip", 1)],
        ["sub", "atan2", "erf", "asin"],
    ],
    ids=lambda names: " ".join(str(getattr(each, "name", each)) for each in names),
)
def test_formulas_keep_their_length_with_few_operators(operators: list[Any]) -> None:
    library = Library(operators, variables=["x"])
    sample = written(library, 3_000)
    whole = written(LIBRARY, 3_000)
    assert 0.6 < sample.lengths.mean() / whole.lengths.mean() < 1.6
    if 1 in library.arity:
        assert abs(arities(sample) - arities(whole)).max() < 0.1


def test_formulas_are_shorter_beside_many_columns() -> None:
    lengths = [
        written(Library(["add", "mul", "sin"], [f"x{at}" for at in range(columns)])).lengths.mean()
        for columns in (1, 4, 16, 64)
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] > 3


def test_trees_that_are_no_formulas_begin_uniform() -> None:
    library = Library([Token("nor", 2), Token("choose", 3), "exp"], variables=["x", "y"])
    uniform = PolicyWeights.start(len(library), 32, seed=9)
    assert first_weights(FORMULAS, library, seed=9).flat.tobytes() == uniform.flat.tobytes()


def test_further_units_are_silent_at_first_and_can_learn() -> None:
    library = Library(["add", "mul", "sin", "const"], variables=["x", "y"])
    sample = written(library, 200)
    scores = []
    for hidden in (FORMULAS_HIDDEN, 24, 32):
        weights = first_weights(PolicyConfig(hidden, "formulas"), library, seed=0)
        score = network(library, hidden).gradient(
            weights.flat, sample, np.full(200, 1 / 200), np.zeros(200)
        )
        scores.append(score.log_probability)
        assert score.gradient is not None
        gradient = PolicyWeights.over(score.gradient, len(library), hidden)
        candidates = gradient.bias[2 * hidden + FORMULAS_HIDDEN : 3 * hidden]
        assert (candidates != 0).all()
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-5)
    np.testing.assert_allclose(scores[2], scores[0], rtol=1e-5)


# --- in a search

X = np.random.default_rng(0).uniform(1, 3, (30, 2))
Y = X[:, 0] * X[:, 1]
PLAIN = Library(["add", "sub", "mul", "div", "sin", "exp", "log"], variables=["x", "y"])


def search(start: str, **changes: Any) -> Search:
    config = presets.hybrid(
        **{"max_expressions": 3_000, "policy": PolicyConfig(start=start), **changes}
    )
    return Search(PLAIN, X, Y, config, seed=3)


def test_a_search_begins_there_and_so_do_its_fresh_batches() -> None:
    run = search("formulas")
    for weights in (run.state.weights, run._untrained):
        begun = PolicyWeights.over(weights, len(PLAIN), 32)
        shipped = first_weights(FORMULAS, PLAIN, 0)
        assert begun.parent.tobytes() == shipped.parent.tobytes()
        assert begun.output[:FORMULAS_HIDDEN].tobytes() == shipped.output[:16].tobytes()
    first = run.state.weights.copy()
    run.run()
    assert run.state.weights.tobytes() != first.tobytes()
    assert run.restarted(run.state).weights.tobytes() == first.tobytes()


def test_fewer_of_the_first_programs_are_invalid() -> None:
    def invalid(start: str) -> float:
        run = search(start)
        return float(1 - run.grader(run.sample(1000).programs).ok.mean())

    assert invalid("formulas") < invalid("uniform") / 3


def test_only_the_hybrid_begins_with_formulas() -> None:
    starts = {name: make().policy.start for name, make in presets.METHODS.items()}
    assert starts.pop("hybrid") == "formulas"
    assert set(starts.values()) == {"uniform"}


def test_an_unknown_start_is_refused_by_name() -> None:
    with refused("start", value="formula", wanted="did you mean 'formulas'?"):
        PolicyConfig(start="formula")
    with refused("start", wanted="known: uniform, formulas"):
        PolicyConfig(start=None)  # type: ignore[arg-type]


def test_a_policy_that_is_too_small_is_refused() -> None:
    with pytest.raises(InputError, match="8 hidden units, and start='formulas' needs at least 16"):
        PolicyConfig(hidden=8, start="formulas")


# --- the file


def stored(**changes: Any) -> bytes:
    table = _shipped()
    arrays = {
        "roles": np.array(ROLES),
        "weights": table.weights.flat.astype(np.float16),
        "shares": table.shares,
    }
    file = io.BytesIO()
    arrays.update(changes)
    np.savez(file, **{name: array for name, array in arrays.items() if array is not None})
    return file.getvalue()


def test_what_is_written_is_read() -> None:
    table = trained(steps=2, formulas=50)
    file = io.BytesIO()
    write(file, RolePolicy(table.weights, table.shares + 0.01))
    file.seek(0)
    again = read(file)
    np.testing.assert_allclose(again.weights.flat, table.weights.flat, rtol=1e-3, atol=1e-6)
    assert read(io.BytesIO(stored())).weights.flat.tobytes() == _shipped().weights.flat.tobytes()


SIZE = len(_shipped().weights.flat)
DAMAGED: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "text": lambda: b"add 1 2 3",
    "cut": lambda: stored()[:-3000],
    "one array": lambda: stored()[:0] + _array(np.zeros(3)),
    "pickle": lambda: stored(weights=np.array([print], dtype=object)),
    "no weights": lambda: stored(weights=None),
    "other roles": lambda: stored(roles=np.array(ROLES[::-1])),
    "too few weights": lambda: stored(weights=np.zeros(SIZE - 1, np.float16)),
    "other numbers": lambda: stored(weights=np.zeros(SIZE, np.int64)),
    "nan": lambda: stored(weights=np.full(SIZE, np.nan, np.float16)),
    "two axes": lambda: stored(weights=np.zeros((SIZE, 1), np.float16)),
    "no share": lambda: stored(shares=np.zeros(len(ROLES), np.float32)),
    "few shares": lambda: stored(shares=np.ones(3, np.float32)),
}


def _array(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


@pytest.mark.parametrize("make", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_refused(make: Callable[[], bytes]) -> None:
    with pytest.raises(InputError, match=r"formulas\.npz is damaged; install symseek again"):
        read(io.BytesIO(make()))
