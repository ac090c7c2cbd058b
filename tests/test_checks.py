"""Nothing that a caller hands to the native core ends the process: it is refused, or it runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import hostile_batches
from symseek import InputError, Library, Program, Programs, Token, _native
from symseek.engines.native import NativeEngine
from symseek.engines.packing import packed_rules

CALLS = 5_000  # of each kind


def outcomes(way: Callable[[int], None], refusals: tuple[type[Exception], ...]) -> tuple[int, int]:
    """How many of the calls were refused, and how many returned; any other error comes through."""
    refused = 0
    for seed in range(CALLS):
        try:
            way(seed)
        except refusals:
            refused += 1
    return refused, CALLS - refused


def test_random_batches_made_by_hand_are_refused_or_graded() -> None:
    refused, graded = outcomes(hostile_batches.through_programs, (InputError,))
    assert refused > CALLS / 2
    assert graded > 0


def test_random_calls_of_the_native_module_are_refused_or_done() -> None:
    refused, done = outcomes(hostile_batches.through_bindings, (TypeError, ValueError))
    assert refused > CALLS / 3
    assert done > CALLS / 10


def call(name: str, **changed: object) -> object:
    """Call a function of the module with honest arguments but for these."""
    rng = np.random.default_rng(0)
    while True:
        function, arguments = hostile_batches.binding_call(rng)
        if getattr(function, "__name__", "") == name:
            return function(**{**arguments, **changed})


@pytest.mark.parametrize(
    ("name", "changed", "words"),
    [
        ("errors", {"lengths": np.full(6, 99, np.int32)}, "program 0 has length 99; it must be"),
        ("errors", {"tokens": np.full((6, 12), 50, np.int16)}, "program 0 has token 50; there are"),
        ("errors", {"tokens": np.zeros((6, 12), np.int16)}, "program 0 is no complete tree"),
        ("errors", {"sums": np.empty((2, 5))}, r"`sums` has shape \(2, 5\); it must be \(2, 6\)"),
        ("predict", {"predictions": np.empty((6, 3))}, r"must be \(6, 11\)"),
        ("sample", {"weights": np.zeros(3, np.float32)}, "`weights` has shape"),
        ("score", {"gradient": np.zeros(3, np.float32)}, "`gradient` has shape"),
        ("breed", {"tournament": 0}, "`tournament` is 0; it must be from 1 to"),
        ("breed", {"mutation": float("nan")}, "`mutation` is nan"),
        ("pair", {"candidates": np.zeros((11, 3))}, "a multiple of 8"),
        ("fit", {"restarts": -1}, "`restarts` is -1; it must be from 0"),
    ],
)
def test_a_refusal_names_what_is_wrong(name: str, changed: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(name, **changed)


def test_an_array_to_fill_is_filled_itself_and_shares_no_memory() -> None:
    with pytest.raises(TypeError):  # a copy of the right type would be filled, and lost
        call("errors", sums=np.empty((2, 6), np.float32))
    whole = np.empty((2, 6))
    with pytest.raises(ValueError, match="shares its memory"):
        call("errors", sums=whole, ok=whole.view(bool)[0, :6])


def test_weights_that_are_not_numbers_stay_within_the_arrays() -> None:
    weights = np.full_like(hostile_batches.weights(), np.nan)
    call("sample", weights=weights)
    policy = hostile_batches.engine().policy(hostile_batches.rules(), hostile_batches.HIDDEN)
    with pytest.raises(InputError, match="no longer finite numbers; lower the learning rate"):
        policy.sample(weights, 0, 0, 10)


def test_tables_that_disagree_are_refused_by_name() -> None:
    tables = packed_rules(hostile_batches.rules().tables)
    for name in ("child", "bias", "arity", "in_force"):
        with pytest.raises(ValueError, match="table"):
            _native.Rules({**tables, name: tables[name].ravel()[:-1]})
    with pytest.raises(ValueError, match="there is no table `child`"):
        _native.Rules({key: value for key, value in tables.items() if key != "child"})
    with pytest.raises(ValueError, match="`max_length` is of another type"):
        _native.Rules({**tables, "max_length": "ten"})


def test_an_object_that_was_never_set_up_is_refused() -> None:
    empty = _native.Evaluator.__new__(_native.Evaluator)
    with pytest.raises(TypeError):
        empty.predict(*hostile_batches.drawn(np.random.default_rng(0)).values(), None, None)


def test_threads_without_end_are_refused() -> None:
    with pytest.raises(ValueError, match="`threads` is 1000000; it must be from 1 to 1024"):
        _native.Pool(1_000_000)


@pytest.mark.parametrize("waiting", [100, 110, 115, 118, 125])
def test_a_formula_of_several_steps_has_room_on_the_stack_or_is_refused(waiting: int) -> None:
    """It is run above its operands, which a count of what it leaves does not show."""
    wide = Token("wide", 8, formula="a + b + c + d")
    library = Library(["add", wide], variables=["x"])
    names = ["add"] * waiting + ["wide"] + ["x"] * 8 + ["x"] * waiting
    batch = Programs.from_list([Program.from_preorder(names, library)])
    evaluator = NativeEngine().evaluator(library, np.ones((3, 1)), np.ones(3))
    if waiting + 8 + 8 >= 128:  # the most values that the stack holds
        with pytest.raises(InputError, match="nests too deeply"):
            evaluator.predict(batch)
    else:
        assert evaluator.predict(batch).values.tolist() == [[waiting + 4.0] * 3]
