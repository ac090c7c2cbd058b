"""A search that was stopped and taken up again is the search that was never stopped."""

from __future__ import annotations

import errno
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples import examples, mostly_slow
from symseek import (
    Evolution,
    FitConfig,
    InputError,
    Iteration,
    Length,
    Library,
    Novelty,
    PolicyConfig,
    PriorityQueue,
    Program,
    Programs,
    RiskSeeking,
    Search,
    SearchConfig,
    Stopped,
    Token,
    paper_constraints,
    presets,
)
from symseek.runs import checkpoint, encoding
from symseek.runs.checkpoint import Checkpointer, restore, save

PLAIN = Library(["add", "mul", "div", "sin", "exp"], variables=["x", "y"])
FITTED = Library(["add", "mul", "sin", "exp", "const"], variables=["x", "y"])
X = np.random.default_rng(0).uniform(-1, 1, (20, 2))
Y = 1.7 * X[:, 0] ** 2 + np.sin(2.3 * X[:, 1])

SMALL = Evolution(generations=4, elite=10, pairing=2, pairs=10, kept=10)
SIZE: dict[str, Any] = {"batch_size": 100, "policy": PolicyConfig(hidden=4)}
CONFIGS: dict[str, SearchConfig] = {
    "dsr": presets.dsr(**SIZE, max_expressions=850),
    "pqt": presets.pqt(**SIZE, max_expressions=850),
    "vpg": presets.vpg(**SIZE, max_expressions=850),
    "untrained": presets.dsr(**SIZE, max_expressions=850, untrained_share=0.5),
    "hybrid": presets.hybrid(**SIZE, max_expressions=3_300, evolution=SMALL),
    "evolution": presets.evolution(
        **SIZE, max_expressions=3_300, evolution=replace(SMALL, pairing=0, continues=True)
    ),
    "novelty": presets.dsr(**SIZE, max_expressions=850, objective=Novelty(RiskSeeking())),
    "novelty of queue": presets.dsr(
        **SIZE, max_expressions=850, objective=Novelty(Novelty(PriorityQueue(5)), 0.2)
    ),
}

Factory = Callable[..., Search]


def searching(library: Library, config: SearchConfig, **more: Any) -> Factory:
    return lambda threads=1: Search(library, X, Y, config, seed=7, threads=threads, **more)


def found(search: Search) -> dict[str, Any]:
    """All that a search has come to, to the last bit, but for the time it took."""
    adam = search.state.adam
    rows = [
        tuple(repr(getattr(row, each.name)) for each in fields(row) if each.name != "seconds")
        for row in search.history
    ]
    return {
        "front": [(e.program.tokens, repr(e.program.constants), e.reward) for e in search.front],
        "weights": search.state.weights.tobytes(),
        "adam": (adam.mean.tobytes(), adam.variance.tobytes(), adam.steps),
        "objective": repr(plain(search.state.objective)),
        "history": rows,
        "iteration": search.iteration,
        "expressions": search.expressions,
    }


def plain(value: Any) -> Any:
    """Values that print in full."""
    if isinstance(value, Programs):
        return [(program.tokens, program.constants) for program in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return type(value)(map(plain, value))
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, Program):
        return [plain(getattr(value, each.name)) for each in fields(value)]
    return value


def stopped_anywhere(make: Factory, folder: Path, threads: int = 1) -> None:
    """Save after every iteration of a run, take up the search from some, and compare the ends."""
    whole = make()
    whole.run()
    saved = make()
    saved.run(lambda now: save(saved, folder / f"after {now.iteration}"))
    assert found(saved) == found(whole)
    last = saved.iteration
    assert last >= 4
    for k in sorted({1, 2, last // 2, last - 1, last}):
        again = make(threads=threads)
        restore(again, folder / f"after {k}")
        assert again.iteration == k
        assert again.state.seconds == saved.history[k - 1].seconds
        again.run()
        assert found(again) == found(whole)
        assert again.state.seconds >= saved.history[k - 1].seconds
        assert sum(again.state.timings.values()) == pytest.approx(again.state.seconds)


@pytest.mark.parametrize("threads", mostly_slow([1, 2], 2))
@pytest.mark.parametrize("library", [PLAIN, FITTED], ids=["plain", "constants"])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_stop_changes_nothing(
    config: SearchConfig, library: Library, threads: int, tmp_path: Path
) -> None:
    stopped_anywhere(searching(library, config), tmp_path, threads)


@pytest.mark.parametrize("reward", ["inverse_mae", "r2"])
def test_a_stop_changes_nothing_under_other_rewards(reward: str, tmp_path: Path) -> None:
    config = replace(CONFIGS["dsr"], batch_size=20, max_expressions=120)
    stopped_anywhere(searching(FITTED, config, reward=reward), tmp_path)


def test_a_stop_changes_nothing_under_a_reward_of_predictions(tmp_path: Path) -> None:
    def reward(y: Any, predictions: Any, weights: Any) -> Any:
        # How these products are rounded depends on how many predictions there are.
        return 1 / (1 + np.abs((predictions - y) @ np.stack([weights, y], axis=1)).sum(axis=1))

    config = replace(CONFIGS["dsr"], batch_size=20, max_expressions=120)
    stopped_anywhere(searching(FITTED, config, reward=reward), tmp_path)


class StartsWithSum:
    def __call__(self, partial: Any) -> Any:
        mask = np.ones((len(partial.tokens), len(partial.library)), dtype=bool)
        if partial.length == 0:
            mask[:] = np.array(partial.library.names) == "add"
        return mask


@pytest.mark.parametrize("name", ["hybrid", "evolution"])
def test_a_stop_changes_nothing_under_a_custom_constraint(name: str, tmp_path: Path) -> None:
    rules = [*paper_constraints(), StartsWithSum()]
    stopped_anywhere(searching(FITTED, CONFIGS[name], constraints=rules), tmp_path)


TREES = Library([Token("fork", 2), Token("chain", 1), Token("a", 0), Token("b", 0)])


@pytest.mark.parametrize("library", [TREES, FITTED], ids=["trees", "constants"])
def test_a_stop_changes_nothing_without_data(library: Library, tmp_path: Path) -> None:
    def score(programs: Programs) -> Any:
        # A score should not depend on the company, yet rounding does: here by as little.
        width = programs.constants.sum(axis=1) if programs.constants.shape[1] else 0.0
        base = (programs.tokens == 1).sum(axis=1) / programs.lengths + np.cos(width)
        return base + 1e-13 * len(programs)

    config = replace(CONFIGS["dsr"], batch_size=20, max_expressions=120)

    def make(threads: int = 1) -> Search:
        rules = [Length(4, 8)]
        return Search.for_programs(
            library, score, config, constraints=rules, seed=7, threads=threads
        )

    stopped_anywhere(make, tmp_path)


def test_a_larger_budget_goes_on_where_the_smaller_ended(tmp_path: Path) -> None:
    config = replace(CONFIGS["dsr"], max_expressions=500)
    small = searching(FITTED, config)()
    small.run()
    save(small, tmp_path / "c")
    large = replace(config, max_expressions=1_000, max_seconds=1e6, stop_reward=2.0)
    again, whole = searching(FITTED, large)(), searching(FITTED, large)()
    restore(again, tmp_path / "c")
    assert again.run().stopped is Stopped.BUDGET
    whole.run()
    assert found(again) == found(whole)


def test_a_search_that_has_run_can_be_set_back(tmp_path: Path) -> None:
    make = searching(FITTED, CONFIGS["novelty"])
    search = make()
    search.run(lambda now: now.iteration == 3 and save(search, tmp_path / "c"))
    end = found(search)
    restore(search, tmp_path / "c")
    assert search.iteration == 3
    search.run()
    assert found(search) == end


def test_the_best_of_many_iterations_is_one_object(tmp_path: Path) -> None:
    search, again = (searching(FITTED, CONFIGS["dsr"])() for _ in range(2))
    search.run()
    save(search, tmp_path / "c")
    restore(again, tmp_path / "c")
    for one, other in ((search, again), (again, search)):
        bests = [row.best for row in one.history]
        assert len({id(each) for each in bests}) == len(set(map(repr, bests)))
        assert bests == [row.best for row in other.history]


def test_a_long_history_is_a_few_arrays(tmp_path: Path) -> None:
    sizes = {}
    for iterations in (5, 50):
        search = tiny(max_expressions=10 * iterations)
        search.run()
        save(search, tmp_path / "c")
        sizes[iterations] = len(checkpoint._arrays(io.BytesIO((tmp_path / "c").read_bytes())))
    assert sizes[50] <= sizes[5] + 20


# Interruptions.


@dataclass(frozen=True)
class Interrupted(RiskSeeking):
    """Ctrl-C is pressed within the third iteration."""

    def select(self, state: None, programs: Programs, rewards: Any) -> Any:
        press.append(1)
        if len(press) == 3:
            raise KeyboardInterrupt
        return super().select(state, programs, rewards)


press: list[int] = []


def test_a_search_stopped_within_an_iteration_keeps_the_checkpoint_before(tmp_path: Path) -> None:
    config = replace(CONFIGS["dsr"], objective=Interrupted())
    press.clear()
    search = searching(FITTED, config)()
    keeper = Checkpointer(search, tmp_path / "c", every=0.0)
    assert search.run(keeper).stopped is Stopped.INTERRUPTED
    keeper.finish()
    assert (keeper.saved, keeper.error) == (2, None)
    save(search, tmp_path / "c")  # as it was before that iteration
    again = searching(FITTED, config)()
    restore(again, tmp_path / "c")
    again.run()
    whole = searching(FITTED, config)()
    whole.run()
    assert found(again) == found(whole)


# Refusals.


def tiny(**settings: Any) -> Search:
    library = Library(["add", "sin", "const"], variables=["x"])
    given = {"max_expressions": 30, "batch_size": 10, "policy": PolicyConfig(hidden=1), **settings}
    return Search(library, X[:, :1], Y, SearchConfig(**given), constraints=[Length(2, 5)])


@dataclass
class Victim:
    """A whole file, and a search that must not take up any other."""

    data: bytes
    path: Path
    search: Search

    def written(self, data: bytes) -> Path:
        self.path.write_bytes(data)
        return self.path

    def refuses(self, data: bytes) -> str:
        """Why; the search is left as it was."""
        with pytest.raises(InputError) as caught:
            restore(self.search, self.written(data))
        assert (self.search.iteration, self.search.expressions) == (0, 0)
        assert not self.search.history
        assert not self.search.front.entries
        assert not self.search.state.adam.steps
        return str(caught.value)


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    search, another = (tiny(objective=Novelty(PriorityQueue(3))) for _ in range(2))
    search.run()
    path = tmp_path_factory.mktemp("damaged") / "c"
    save(search, path)
    return Victim(path.read_bytes(), path, another)


def test_a_truncated_file_is_refused(victim: Victim) -> None:
    size = len(victim.data)
    for end in [*range(100), *range(100, size - 20, 13), *range(size - 20, size)]:
        assert "is damaged" in victim.refuses(victim.data[:end])


def test_a_flipped_bit_is_refused_or_changes_nothing(victim: Victim, tmp_path: Path) -> None:
    """An archive has bytes that mean nothing here, such as the date of each array."""
    whole, refused = tiny(objective=Novelty(PriorityQueue(3))), 0
    restore(whole, victim.written(victim.data))
    bits = 8 * len(victim.data)
    for bit in [*range(0, 8 * 64, 3), *random.Random(1).sample(range(8 * 64, bits), 300)]:
        bad = bytearray(victim.data)
        bad[bit // 8] ^= 1 << bit % 8
        search = tiny(objective=Novelty(PriorityQueue(3)))
        path = victim.written(bytes(bad))
        try:
            restore(search, path)
        except InputError:
            refused += 1
        else:
            assert found(search) == found(whole)
    assert refused > 200


@examples(50)
@given(junk=st.binary(max_size=300))
def test_what_is_no_checkpoint_is_refused(junk: bytes, victim: Victim) -> None:
    assert "not a checkpoint of symseek" in victim.refuses(junk)
    assert "not a checkpoint of symseek" in victim.refuses(victim.data[: len(junk)] + junk)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no checkpoint '.*nowhere'"):
        restore(tiny(), tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot be read"):
        restore(tiny(), tmp_path)


def edited(
    data: bytes, change: Callable[[dict[str, Any], dict[str, NDArray[Any]]], object]
) -> bytes:
    """A file with its JSON or arrays changed by someone who knows the format."""
    arrays = checkpoint._arrays(io.BytesIO(data))
    record = json.loads(arrays.pop("record").tobytes())
    change(record, arrays)
    return checkpoint._archive(record, arrays)


def test_another_format_is_refused(victim: Victim) -> None:
    newer = edited(victim.data, lambda record, _: record.update(format=4, symseek="9.9"))
    said = "by symseek 9.9, has format 4, and this version reads format 3"
    assert said in victim.refuses(newer)


def test_a_file_cannot_name_what_it_likes(victim: Victim) -> None:
    def rename(record: dict[str, Any], _: dict[str, NDArray[Any]]) -> None:
        text = json.dumps(record["state"])
        assert "symseek.objectives.Queue" in text
        record["state"] = json.loads(text.replace("symseek.objectives.Queue", "os.system"))

    said = victim.refuses(edited(victim.data, rename))
    assert "by symseek" in said
    assert "is not such as this version writes ('os.system')" in said


def test_programs_that_are_none_are_refused(victim: Victim) -> None:
    def one(record: dict[str, Any], _: dict[str, NDArray[Any]]) -> None:
        text = json.dumps(record["state"])
        assert '{"program": [[' in text
        record["state"] = json.loads(text.replace('{"program": [[', '{"program": [[999, '))

    def batch(_: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        for array in arrays.values():
            if array.dtype == np.int16:
                array[0, 0] = 999

    for change in (one, batch):
        said = victim.refuses(edited(victim.data, change))
        assert "token 999 at position 0 is not in the library" in said


def test_a_small_file_cannot_stand_for_many_values(victim: Victim) -> None:
    def laugh(record: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Ten of ten of ten ... of one list."""
        arrays["index"] = np.zeros(10, np.int64)
        value: Any = 1
        for _ in range(12):
            value = {"list": {"shared": [{"each": [value]}, "index"]}}
        record["known"] = value

    def again(record: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        arrays["long"] = np.zeros(10_000)
        record["known"] = {"list": {"each": [{"list": {"numbers": "long"}}] * 100_000}}

    def back(record: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        arrays["text"] = np.zeros(1000, np.uint8)
        arrays["lengths"] = np.array([1000, -1000] * 1000)
        record["known"] = {"list": {"pieces": ["text", "lengths"]}}

    def deep(record: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        for _ in range(100):
            record["known"] = {"list": {"each": [record["known"]]}}

    more = "stands for more values than a file of its size can hold"
    for change, why in (
        (laugh, more),
        (again, more),
        (back, "its pieces do not make up a whole"),
        (deep, "it is nested too deeply"),
    ):
        assert why in victim.refuses(edited(victim.data, change))


@pytest.mark.parametrize("kind", ["|S0", "<f8", "(1000,)<f8", "<M8[s]"])
def test_an_array_has_the_bytes_that_it_says(kind: str, victim: Victim) -> None:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': (400000000,), }}\n"
    shape = "(400000000, 0)" if kind == "<f8" else "(400000000,)"
    head = head.replace("(400000000,)", shape)
    data = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
    path = victim.written(victim.data)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("long.npy", data)
    assert "is damaged, or not a checkpoint" in victim.refuses(path.read_bytes())


OTHERS: dict[str, tuple[Callable[[], Search], str]] = {
    "library": (
        lambda: other(library=Library(["add", "cos", "const"], variables=["x"])),
        "library",
    ),
    "formula": (lambda: other(own="a*a + 2"), "library"),
    "data": (lambda: other(y=Y + 1e-15), "data"),
    "rows": (lambda: other(rows=19), "data"),
    "weights": (lambda: other(weights=np.arange(1.0, 21.0)), "data"),
    "reward": (lambda: other(reward="r2"), r"reward \(InverseNRMSE\(\) there, R2\(\) here\)"),
    "constraints": (lambda: other(constraints=[Length(2, 6)]), "constraints"),
    "seed": (lambda: other(seed=8), r"seed \(7 there, 8 here\)"),
    "rate": (
        lambda: other(learning_rate=0.1),
        r"setting learning_rate \(0.0005 there, 0.1 here\)",
    ),
    "objective": (lambda: other(objective=PriorityQueue(3)), "setting objective"),
    "batch": (lambda: other(batch_size=11), "setting batch_size"),
    "policy": (lambda: other(policy=PolicyConfig(hidden=2)), "setting policy"),
    "constants": (lambda: other(constants=FitConfig()), "setting constants"),
    "evolution": (lambda: other(evolution=SMALL), "setting evolution"),
    "underflow": (lambda: other(underflow_invalid=True), "setting underflow_invalid"),
}


def other(**changes: Any) -> Search:
    own = Token("own", 1, 3, formula=changes.pop("own", "a*a + 1"))
    library = changes.pop("library", Library(["add", "sin", own, "const"], variables=["x"]))
    rows = changes.pop("rows", 20)
    more = {"constraints": [Length(2, 5)], "seed": 7, "threads": 1, "reward": "inverse_nrmse"}
    more["weights"] = None
    y = changes.pop("y", Y)[:rows]
    more.update({name: changes.pop(name) for name in list(changes) if name in more})
    given = {"max_expressions": 30, "batch_size": 10, "policy": PolicyConfig(hidden=1), **changes}
    return Search(library, X[:rows, :1], y, SearchConfig(**given), **more)


@pytest.mark.parametrize(("make", "says"), OTHERS.values(), ids=OTHERS)
def test_other_settings_are_refused(make: Callable[[], Search], says: str, tmp_path: Path) -> None:
    search = other()
    search.run()
    save(search, tmp_path / "c")
    again = other(threads=2, max_expressions=50, max_seconds=1e9, stop_reward=5.0)
    restore(again, tmp_path / "c")
    assert again.iteration == 3
    different = make()
    before = found(different)
    other_value = f"of another search, with another value of the {says}"
    with pytest.raises(InputError, match="have changed since" if says == "data" else other_value):
        restore(different, tmp_path / "c")
    assert found(different) == before


def test_functions_are_known_by_their_names(tmp_path: Path) -> None:
    def make(score: Any, deterministic: bool = True) -> Search:
        config = SearchConfig(batch_size=10, max_expressions=30)
        return Search.for_programs(
            TREES, score, config, deterministic=deterministic, constraints=[Length(2, 5)]
        )

    def scores() -> Any:
        def shortness(programs: Programs) -> Any:
            return 1 / programs.lengths

        return shortness

    search = make(scores())
    search.run()
    save(search, tmp_path / "c")
    restore(make(scores()), tmp_path / "c")
    with pytest.raises(InputError, match=r"reward .*shortness.*lambda"):
        restore(make(lambda programs: 1 / programs.lengths), tmp_path / "c")
    with pytest.raises(InputError, match="another value of the reward"):
        restore(make(scores(), deterministic=False), tmp_path / "c")


# Objectives of the caller's.


@dataclass(frozen=True)
class Counts:
    batches: int
    mean: np.float64
    programs: Programs | None = None
    best: Program | None = None
    rows: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Counting(RiskSeeking):
    """Remembers all kinds of things."""

    def start(self) -> Any:
        return Counts(0, np.float64(0))

    def select(self, state: Any, programs: Programs, rewards: Any) -> Any:
        selection, _ = super().select(None, programs, rewards)
        best = programs[int(np.argmax(rewards))]
        rows = (*state.rows, {"mean": rewards.mean(), 3: [rewards[:3], b"ab", "text", True, 1.5]})
        return selection, Counts(state.batches + 1, rewards.mean(), programs[:2], best, rows)


@dataclass(frozen=True)
class Setting(RiskSeeking):
    """Remembers what no file can hold."""

    def start(self) -> Any:
        return set()

    def select(self, state: Any, programs: Programs, rewards: Any) -> Any:
        return super().select(None, programs, rewards)[0], {*state, len(state)}


@pytest.mark.parametrize("objective", [Counting(), Novelty(Counting())], ids=["alone", "nested"])
def test_an_objective_may_have_a_state_of_its_own(objective: Any, tmp_path: Path) -> None:
    config = replace(CONFIGS["dsr"], objective=objective)
    stopped_anywhere(searching(FITTED, config), tmp_path)


def test_a_state_that_cannot_be_saved_is_named(tmp_path: Path) -> None:
    search = tiny(objective=Setting())
    keeper = Checkpointer(search, tmp_path / "c", every=0.0)
    assert search.run(keeper).stopped is Stopped.BUDGET
    assert keeper.error is not None
    assert "the state of the objective Setting(epsilon=0.05) cannot be saved" in str(keeper.error)
    with pytest.raises(InputError, match=r"\{0, 1, 2\} is of type builtins.set; it may be None"):
        save(search, tmp_path / "c")
    assert not list(tmp_path.iterdir())


atoms = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.builds(np.float32, st.floats(width=32))
    | st.builds(np.array, st.lists(st.floats(), max_size=3))
    | st.builds(lambda n: np.arange(2 * n, dtype=np.int16).reshape(2, n), st.integers(0, 3))
)
states = st.recursive(
    atoms,
    lambda each: (
        st.lists(each, max_size=4)
        | st.lists(each, max_size=4).map(tuple)
        | st.lists(atoms, max_size=1).map(lambda values: values * 3)
        | st.dictionaries(st.text(max_size=3) | st.binary() | st.integers(), each, max_size=4)
        | st.lists(st.tuples(st.floats(), st.integers()), max_size=4)
    ),
    max_leaves=20,
)


def spelt(value: Any) -> str:
    """The value with the type of everything in it."""
    if isinstance(value, dict):
        return str([(spelt(key), spelt(each)) for key, each in value.items()])
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}{[spelt(each) for each in value]}"
    if isinstance(value, np.ndarray | np.generic):
        return f"{type(value).__name__}{value.dtype}{value.shape}{value.tolist()!r}"
    return f"{type(value).__name__} {value!r}"


@examples(200)
@given(state=states)
def test_any_plain_state_comes_back(state: Any) -> None:
    writer = encoding.Encoder(PLAIN, {})
    written = json.loads(json.dumps(writer.value(state)))
    arrays = checkpoint._arrays(io.BytesIO(checkpoint._archive({}, writer.arrays)))
    assert spelt(encoding.Decoder(arrays, PLAIN, {}).value(written)) == spelt(state)


@pytest.mark.parametrize(
    "state",
    [object(), {1.5: 0}, {(1,): 0}, np.array([None]), [{1}], (1, lambda: 0), Counts(1, 2.0)],
    ids=lambda state: type(state).__name__,
)
def test_other_states_are_not_guessed_at(state: Any) -> None:
    with pytest.raises(encoding.UnknownType, match="is of type"):
        encoding.Encoder(PLAIN, {}).value(state)


def test_a_program_over_another_library_is_not_saved() -> None:
    program = Program.parse("sin(x)", PLAIN)
    for state in (program, Programs.from_list([program])):
        with pytest.raises(encoding.UnknownType, match="over another library"):
            encoding.Encoder(FITTED, {}).value(state)


# The keeper of checkpoints.


def test_checkpoints_come_when_they_are_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    search = tiny(max_expressions=100)
    keeper = Checkpointer(search, tmp_path / "c", every=5.0)
    saved = []

    def tick(now: Iteration) -> None:
        clock[0] += 2.0
        keeper(now)
        saved.append(keeper.saved)

    search.run(tick)
    assert saved == [None, None, 3, 3, 3, 6, 6, 6, 9, 9]
    keeper.finish()
    assert keeper.saved == 10
    again = tiny(max_expressions=100)
    restore(again, tmp_path / "c")
    assert found(again) == found(search)


def test_a_full_disk_does_not_end_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = tiny(max_expressions=60)
    keeper = Checkpointer(search, tmp_path / "c", every=0.0)
    full = [False]
    fsync = os.fsync

    def fail(descriptor: int) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    errors = []

    def listen(now: Iteration) -> None:
        full[0] = now.iteration in (3, 4)
        keeper(now)
        errors.append(keeper.error and str(keeper.error))
        if now.iteration == 4:  # the file before is whole, and nothing else is left
            assert [each.name for each in tmp_path.iterdir()] == ["c"]
            again = tiny(max_expressions=60)
            restore(again, tmp_path / "c")
            assert again.iteration == 2

    monkeypatch.setattr(os, "fsync", fail)
    assert search.run(listen).stopped is Stopped.BUDGET
    said = f"the checkpoint {str(tmp_path / 'c')!r} could not be written: No space left on device"
    assert errors == [None, None, said, said, None, None]
    assert keeper.saved == 6


def test_a_folder_that_is_not_there_does_not_end_the_search(tmp_path: Path) -> None:
    search = tiny()
    keeper = Checkpointer(search, tmp_path / "nowhere" / "c", every=0.0)
    assert search.run(keeper).stopped is Stopped.BUDGET
    assert keeper.saved is None
    assert keeper.error is not None
    said = "the checkpoint 'c' could not be written: No such file or directory"
    assert keeper.error.worded(lambda part: "'c'") == said
    with pytest.raises(OSError, match="No such file"):
        save(search, tmp_path / "nowhere" / "c")


# The real thing.

CHILD = """
import json, pathlib, sys
import numpy as np
from symseek import Library, Search, presets
from symseek.runs.checkpoint import Checkpointer, restore

path, out = map(pathlib.Path, sys.argv[1:])
X = np.random.default_rng(0).uniform(-1, 1, (20, 2))
y = 1.7 * X[:, 0] ** 2 + np.sin(2.3 * X[:, 1]) + np.exp(X[:, 0] * X[:, 1])
library = Library(["add", "sub", "mul", "div", "sin", "cos", "exp", "log", "const"], ["x", "y"])
search = Search(library, X, y, presets.dsr(batch_size=200, max_expressions=40_000), seed=3)
if path.exists():
    restore(search, path)
began = search.iteration
keeper = Checkpointer(search, path, every=0.0)
search.run(keeper)
keeper.finish()
front = [[e.program.tokens, [c.hex() for c in e.program.constants], e.reward] for e in search.front]
out.write_text(json.dumps([began, front, search.state.weights.tobytes().hex(),
                           [row.mean_reward for row in search.history]]))
"""


@pytest.mark.slow
def test_a_killed_search_ends_like_one_that_was_not(tmp_path: Path) -> None:
    path, out = tmp_path / "c", tmp_path / "out"
    command = [sys.executable, "-c", CHILD, str(path), str(out)]
    start = time.monotonic()
    subprocess.run(command, check=True)
    lasts = time.monotonic() - start
    _, *wanted = json.loads(out.read_text())
    draw = random.Random(0)
    kills = resumed = 0
    while kills < 20:
        path.unlink(missing_ok=True)
        out.unlink()
        while not out.exists():
            child = subprocess.Popen(command)
            try:
                child.wait(draw.uniform(0.2, 1.0) * lasts)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                kills += 1
            assert child.wait() in (0, -signal.SIGKILL)
        began, *got = json.loads(out.read_text())
        resumed += began > 0
        assert got == wanted
    assert resumed >= 3
