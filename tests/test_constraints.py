"""Each form of constraint on programs that can be judged by eye; what is said of bad ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constraint_strategies import constraint_lists, policy
from oracle import size_bounds
from symseek import (
    CloseUnfinished,
    ConstraintSet,
    Count,
    Forbid,
    InputError,
    Length,
    Library,
    MaxConstants,
    NoInverseChild,
    NoNestedTrigonometry,
    NotAllConstants,
    Partial,
    Program,
    Programs,
    SoftLength,
    SomeVariable,
    Token,
    UniformArity,
    paper_constraints,
)
from symseek.constraints.sizes import SizeBounds
from symseek.constraints.tables import Tables

LIBRARY = Library(
    ["add", "sub", "mul", "sin", "cos", "exp", "log", "neg", "sqrt", "square", 1, "const"],
    variables=["x", "y"],
)
ANY = Length(1, 30)

# A constraint, what it lets pass and what it does not.
JUDGED: dict[str, tuple[Any, list[str], list[str]]] = {
    "length": (
        Length(3, 5),
        ["add x y", "add x add x y", "sin sin x"],
        ["x", "sin x", "add x add x sin y", "add add x y add x y"],
    ),
    "child": (
        Forbid("x", "child", of=["add", "sin"]),
        ["x", "add y y", "mul x y", "sin neg x"],
        ["add x y", "add y x", "sin x", "mul y add y x"],
    ),
    "left child": (
        Forbid("x", "left child", of=["add", "sin"]),
        ["add y x", "sin x", "x", "add neg x y", "sub x y"],
        ["add x y", "mul y add x x"],
    ),
    "right child": (
        Forbid("x", "right child", of=["add", "sin"]),
        ["add x y", "sin x", "x", "add y neg x", "sub y x"],
        ["add y x", "add x x", "add add x y x"],
    ),
    "only child": (
        Forbid(["x", "add"], "only child", of=["sin", "add"]),
        ["add x x", "sin y", "cos x", "sin sub x x"],
        ["sin x", "sin add y y", "add y sin x"],
    ),
    "descendant": (
        Forbid(["x", "neg"], "descendant", of=["sin", "mul"]),
        ["x", "neg sin y", "add x sin y", "add sin y x"],
        ["sin x", "sin add y x", "mul y exp log neg y", "sin exp mul y x"],
    ),
    "child in an argument": (
        Forbid("x", "child", of=["add", "sub"], argument=0),
        ["x", "sub y x", "add neg x x", "sin x"],
        ["sub x y", "sin add x x"],
    ),
    "descendant in an argument": (
        Forbid(["x", "neg"], "descendant", of=["sub", "mul"], argument=1),
        ["x", "sub x y", "sub sin neg x y", "add x mul neg x y", "add sub x y x"],
        ["sub y x", "mul x sin x", "sub y mul x y", "sub mul y y neg y", "mul sub y x y"],
    ),
    "descendant of itself": (
        Forbid("sin", "descendant", of="sin"),
        ["sin x", "add sin x sin y"],
        ["sin sin x", "sin add x exp sin y"],
    ),
    "sibling": (
        Forbid("x", "sibling", of=["y", "sin"]),
        ["add x x", "add y y", "sin x", "add x cos y", "add x add y y"],
        ["add x y", "add y x", "add x sin y", "add sin y x", "neg mul sin x x"],
    ),
    "count": (
        Count(["x", "y"], 1, 2),
        ["x", "add x y", "add x x", "add 1 y"],
        ["1", "add x add y x", "sin 1"],
    ),
    "count, no upper bound": (
        Count("sin", low=2),
        ["sin sin x", "add sin x sin sin x"],
        ["x", "sin x", "cos sin x"],
    ),
    "count, upper bound only": (
        Count("add", high=1),
        ["x", "add x y", "mul add x y x"],
        ["add x add x y"],
    ),
    "not all constants": (
        NotAllConstants(),
        ["const", "add const x", "add x const", "sin x", "add const neg x"],
        ["sin const", "add const const", "mul x add const const", "add x neg const"],
    ),
    "no inverse child": (
        NoInverseChild(),
        ["exp x", "exp neg log x", "square square x", "sqrt sqrt x", "exp add log x x"],
        [
            "exp log x",
            "log exp x",
            "neg neg x",
            "sqrt square x",
            "square sqrt x",
            "add x neg neg y",
        ],
    ),
    "no nested trigonometry": (
        NoNestedTrigonometry(),
        ["sin x", "add sin x cos y", "sin exp x", "exp sin x"],
        ["sin sin x", "sin cos x", "cos add x exp sin y"],
    ),
    "at most so many constants": (
        MaxConstants(1),
        ["x", "add x const", "add 1 1"],
        ["add const const", "add x add const mul const y"],
    ),
    "some variable": (SomeVariable(), ["x", "add 1 y"], ["1", "const", "add 1 const"]),
    "closing": (
        CloseUnfinished(2),
        ["x", "sin x", "sin y", "add sub x y x", "add x y"],
        ["add x 1", "sin neg exp x", "add x neg y"],
    ),
    "soft length": (SoftLength(4, 2), ["x", "add x add x add x y"], []),
    "uniform arity": (UniformArity(), ["x", "add x add x add x y"], []),
}


def read(text: str, library: Library = LIBRARY) -> Program:
    """Pre-order names; constants stay placeholders."""
    return Program(library, tuple(library.index(name) for name in text.split()))


@pytest.mark.parametrize(("rule", "fine", "broken"), JUDGED.values(), ids=JUDGED)
def test_each_form_judges_finished_programs_and_the_tables_agree(rule, fine, broken):
    rules = [rule] if isinstance(rule, Length | CloseUnfinished) else [ANY, rule]
    made = policy(LIBRARY, rules)
    for text in fine:
        assert made.rules.violations(read(text)) == [], text
    for text in broken:
        named = made.rules.violations(read(text))
        assert named, text
        assert len(named) == 1
        assert named[0] in (str(rule), repr(rule))
    batch = Programs.from_list([read(text) for text in [*fine, *broken]])
    assert made.permits(batch).tolist() == [True] * len(fine) + [False] * len(broken)


def test_a_program_may_break_several_at_once():
    rules = ConstraintSet(LIBRARY, [*paper_constraints(4, 6), Count("y", 1)])
    broken = rules.violations(read("sin neg neg exp cos log exp x"))
    assert broken == [
        "Length(low=4, high=6)",
        "NoInverseChild()",
        "NoNestedTrigonometry()",
        "Count of y from 1 to any number",
    ]
    assert rules.violations(read("add y sin x")) == []


def test_the_papers_constraints_are_its_four_and_the_limit_on_constants():
    assert paper_constraints() == [
        Length(4, 30),
        NotAllConstants(),
        NoInverseChild(),
        NoNestedTrigonometry(),
        MaxConstants(3),
    ]


def test_named_constraints_ask_nothing_of_a_library_they_do_not_concern():
    library = Library([Token("pair", 2), Token("leaf", 0)])
    made = policy(library, paper_constraints(3, 9))
    assert made.sample(50, iteration=0).programs.lengths.min() >= 3


def test_left_and_right_of_a_ternary_operator_are_its_ends():
    library = Library([Token("three", 3)], variables=["x", "y"])
    left = ConstraintSet(library, [ANY, Forbid("x", "left child", of="three")])
    right = ConstraintSet(library, [ANY, Forbid("x", "right child", of="three")])
    for text, breaks_left, breaks_right in (
        ("three x y y", True, False),
        ("three y x y", False, False),
        ("three y y x", False, True),
    ):
        assert bool(left.violations(read(text, library))) is breaks_left
        assert bool(right.violations(read(text, library))) is breaks_right


@pytest.mark.parametrize("operators", [["sin"], ["sin", "exp"], ["add"], ["add", "neg"]])
def test_long_programs_are_possible_with_few_operators(operators):
    library = Library(operators, variables=["x"])
    lengths = policy(library, [Length(25, 30)]).sample(50, iteration=0).programs.lengths
    assert lengths.min() >= 25
    assert lengths.max() <= 30


def test_more_than_64_tokens():
    names = [f"v{i}" for i in range(80)]
    library = Library(["add", "sin"], variables=names)
    rules = [Length(1, 8), Forbid(names[60:], "child", of="add"), Count(names[:70], high=1)]
    made = policy(library, rules)
    batch = Programs.from_list([read(t, library) for t in ("v70", "add v3 sin v79", "sin v60")])
    assert made.permits(batch).all()
    batch = Programs.from_list([read(t, library) for t in ("add v3 v79", "add v3 sin v4")])
    assert not made.permits(batch).any()


# ---- Priors ----------------------------------------------------------------------------------


def test_soft_length_costs_ending_early_and_growing_late():
    made = policy(Library(["add", "neg"], variables=["x"]), [ANY, SoftLength(location=3, scale=2)])
    bias = made.rules.tables.bias  # [T, last position?, L]
    assert bias[0, 1].tolist() == [0.0, 0.0, -(2**2) / 8]  # the first token must not be the last
    assert bias[0, 0].tolist() == [0.0, 0.0, 0.0]
    assert not bias[2].any()  # at the location
    assert bias[4, 0].tolist() == bias[4, 1].tolist() == [-(2**2) / 8, -(2**2) / 8, 0.0]


def test_priors_add_up():
    library = Library(["add", "neg"], variables=["x"])
    both = ConstraintSet(library, [ANY, SoftLength(3, 2), UniformArity()]).tables.bias
    one = ConstraintSet(library, [ANY, SoftLength(3, 2)]).tables.bias
    other = ConstraintSet(library, [ANY, UniformArity()]).tables.bias
    np.testing.assert_allclose(both, one + other)


# ---- A user's own ----------------------------------------------------------------------------


class Watcher:
    """Allows everything, and keeps what it was shown beside copies of it."""

    def __init__(self) -> None:
        self.shown: list[tuple[Partial, np.ndarray, np.ndarray]] = []

    def __call__(self, partial):
        self.shown.append((partial, partial.tokens.copy(), partial.parent.copy()))
        return np.ones((len(partial.tokens), len(partial.library)), dtype=bool)


def test_a_custom_constraint_sees_every_distinct_beginning_once_a_step():
    watcher = Watcher()
    made = policy(LIBRARY, [Length(2, 8), watcher])
    batch = made.sample(200, iteration=0).programs
    assert [partial.length for partial, *_ in watcher.shown] == list(range(8))
    for length, (_, tokens, _) in enumerate(watcher.shown):
        begun = {program.tokens[:length] for program in batch if len(program) > length}
        assert sorted(map(tuple, tokens.tolist())) == sorted(begun)


def test_what_a_custom_constraint_was_shown_does_not_change_under_its_hands():
    watcher = Watcher()
    policy(LIBRARY, [Length(2, 8), watcher]).sample(200, iteration=0)
    for partial, tokens, parent in watcher.shown:
        np.testing.assert_array_equal(partial.tokens, tokens)
        np.testing.assert_array_equal(partial.parent, parent)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda partial: np.ones(3), r"answered with shape \(3,\)"),
        (lambda partial: None, "answered with shape"),
        (lambda partial: np.full((len(partial.tokens), len(LIBRARY)), np.nan), "NaN"),
        (lambda partial: np.full((len(partial.tokens), len(LIBRARY)), np.inf), "infinity"),
    ],
)
def test_a_custom_constraint_that_answers_nonsense_is_told_so(answer, message):
    made = policy(LIBRARY, [Length(2, 8), answer])
    with pytest.raises(InputError, match=message):
        made.sample(5, iteration=0)


def test_a_custom_constraint_that_allows_nothing_is_named():
    def refuse_all(partial):
        return np.zeros((len(partial.tokens), len(partial.library)), dtype=bool)

    made = policy(LIBRARY, [Length(2, 8), refuse_all])
    with pytest.raises(InputError, match="refuse_all"):
        made.sample(5, iteration=0)


# ---- Constraints that leave nothing ----------------------------------------------------------

SUMS = Library(["add"], variables=["x"])
COLLIDE: dict[str, tuple[Library, list[Any], list[str]]] = {
    "no sum has four tokens": (SUMS, [Length(4, 4)], ["Length"]),
    "more than fit": (SUMS, [Length(1, 9), Count("x", 6)], ["Length", "Count of x"]),
    "none of the only terminal": (SUMS, [ANY, Count("x", 0, 0)], ["Count of x"]),
    "no way to end": (
        SUMS,
        [Length(3, 9), Forbid("x", "child", of="add")],
        ["Length", "Forbid x as child of add"],
    ),
    "only constants": (
        Library(["sin", "const"]),
        [Length(2, 9), NotAllConstants()],
        ["Length", "NotAllConstants"],
    ),
    "no constants left": (Library(["sin", "const"]), [ANY, MaxConstants(0)], ["MaxConstants"]),
    "nothing longer than the root": (
        LIBRARY,
        [Length(2, 9), Forbid(LIBRARY.names, "child", of=LIBRARY.names)],
        ["Length", "Forbid"],
    ),
}


@pytest.mark.parametrize(("library", "rules", "names"), COLLIDE.values(), ids=COLLIDE)
def test_constraints_that_leave_no_program_are_refused_by_name(library, rules, names):
    with pytest.raises(InputError) as caught:
        ConstraintSet(library, rules)
    for name in names:
        assert name in str(caught.value)


def test_a_collision_that_only_shows_while_sampling_names_those_that_collide():
    library = Library(["add", "sin"], variables=["x"])
    rules = [Length(1, 4), Count("x", low=2), Count("sin", low=2)]  # add sin x sin x is too long
    with pytest.raises(InputError) as caught:
        policy(library, rules).sample(50, iteration=0)
    assert "Count of x from 2" in str(caught.value)
    assert "Count of sin from 2" in str(caught.value)


# ---- Bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Length(5, 4), "minimum length 5 is above the maximum length 4"),
        (lambda: Length(0, 4), "Length.low is 0"),
        (lambda: CloseUnfinished(0), "CloseUnfinished.at is 0; it must be a whole number of 1"),
        (lambda: CloseUnfinished(-3), "CloseUnfinished.at is -3"),
        (lambda: Forbid("x", "chidl", of="add"), "unknown relation 'chidl'; did you mean 'child'"),
        (lambda: Forbid("x", "sibling", of="add", argument=1), "only a child or a descendant"),
        (
            lambda: ConstraintSet(LIBRARY, [ANY, Forbid("x", "child", of="sin", argument=1)]),
            "a token of arity 1 has no such argument",
        ),
        (lambda: Count("x", -1), "0 <= low <= high"),
        (lambda: Count("x", 3, 2), "0 <= low <= high"),
        (lambda: Count("x", 300), "255"),
        (lambda: SoftLength(10, 0.0), "SoftLength.scale is .*; it must be a number above 0"),
        (
            lambda: SoftLength(10, float("nan")),
            "SoftLength.scale is .*; it must be a number above 0",
        ),
        (lambda: SoftLength(float("nan"), 5), "SoftLength.location is nan"),
        (lambda: ConstraintSet(LIBRARY, []), "no maximum length; add Length"),
        (lambda: ConstraintSet(LIBRARY, [NoInverseChild()]), "no maximum length; add Length"),
        (lambda: ConstraintSet(LIBRARY, [ANY, Length(2, 9)]), "two Length constraints"),
        (lambda: ConstraintSet(LIBRARY, [ANY, CloseUnfinished(9)]), "CloseUnfinished"),
        (lambda: ConstraintSet(LIBRARY, [CloseUnfinished(9), ANY]), "CloseUnfinished"),
        (lambda: ConstraintSet(Library([1]), [CloseUnfinished(9)]), "input variable"),
        (lambda: ConstraintSet(LIBRARY, [ANY, "x"]), "'x' is not a constraint"),
        (lambda: ConstraintSet(LIBRARY, [ANY, NotAllConstants]), "NotAllConstants"),
        (lambda: ConstraintSet(LIBRARY, [ANY, Count("siin", 1)]), "did you mean 'sin'"),
        (
            lambda: ConstraintSet(LIBRARY, [ANY, Forbid("ad", "child", of="sin")]),
            "Forbid ad as child of sin names 'ad', which is not in the library; did you mean 'add'",
        ),
        (
            lambda: policy(LIBRARY, [ANY, *[Forbid("x", "descendant", of="sin")] * 65]),
            "65 constraints on descendants",
        ),
        (
            lambda: policy(LIBRARY, [ANY, *[Count("x", 1)] * 16]),
            "16 on counts",
        ),
    ],
)
def test_bad_constraints_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@given(st.data())
def test_room_by_kinds_of_tokens_is_that_of_every_token(data):
    """With many variables, most of which no rule tells apart."""
    variables = [f"x{at}" for at in range(data.draw(st.integers(1, 7)))]
    library = Library(["add", "mul", "sin", "cos", "exp", "log", "const"], variables)
    rules = data.draw(constraint_lists(library))
    fast, slow = Tables(library), Tables(library)
    for tables in (fast, slow):
        for rule in rules:
            rule.narrow(tables)
    found, expected = SizeBounds(fast), size_bounds.SizeBounds(slow)
    for name in ("slot_least", "slot_most", "needs", "holds"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert found.exact == expected.exact
    assert np.array_equal(fast.child, slow.child)


def test_thousands_of_variables_are_of_one_kind():
    library = Library(
        ["add", "sub", "sin", "log", "exp", "const"], [f"x{at}" for at in range(3_000)]
    )
    tables = Tables(library)
    for rule in paper_constraints():
        rule.narrow(tables)
    assert len(SizeBounds(tables).rules.arity) <= 7
