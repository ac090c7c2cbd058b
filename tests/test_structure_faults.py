"""No fault of structure ends a fit: odd tables, the guarded linear algebra, and the last guard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import PART
from odd_tables import OPERATORS, Faults, fit_and_tell, look_for_structure
from symseek import Evolution, InputError, Library, Program, presets
from symseek.data import Data
from symseek.loop import Stopped
from symseek.regression import regression as regression_module
from symseek.regression.regression import Regression
from symseek.runs.checkpoint import restore, save
from symseek.settings import Settings
from symseek.structure import cycles, proposals, solving, symmetries
from symseek.structure.agreement import agrees
from symseek.structure.candidates import near_candidates
from symseek.structure.features import families
from symseek.structure.proposals import Proposals
from symseek.structure.solving import (
    eigen,
    factored,
    inverses,
    least_squares,
    lengths,
    singular,
    solved,
)
from symseek.structure.surrogate import Surrogate, left_out
from symseek.structure.symmetries import reducing_transform
from symseek.structure.transform import ONE, TableColumn, Transform, product

FEW, ALL = 100, 2_000
# Fits of these take no time. Of the last three, two have one row with nearly all the weight, and
# one has a transform with no columns.
QUICK = (*range(2, 25, PART), 5017, 5078, 5149)
FEW_OPERATORS = ("add", "sub", "mul", "div", "sin")

# --- odd tables, with nothing between them and structure


def faults_of(first: int, last: int) -> Faults:
    faults = Faults()
    for number in range(first, last):
        look_for_structure(number, faults)
    return faults


@pytest.mark.slow
def test_structure_has_no_fault_on_a_hundred_odd_tables() -> None:
    faults = faults_of(0, FEW)
    assert faults.raised == {}
    assert faults.asked["reducing_transform"] == FEW
    assert min(faults.asked.values()) > FEW / 10  # every part was asked


@pytest.mark.slow
def test_structure_has_no_fault_on_all_odd_tables() -> None:
    faults = faults_of(FEW, ALL)
    assert faults.raised == {}


def test_quick_fits_of_odd_tables_have_no_fault() -> None:
    faults = Faults()
    for number in QUICK:
        fit_and_tell(number, faults)
    assert faults.raised == {}


@pytest.mark.slow
def test_fits_of_many_odd_tables_have_no_fault() -> None:
    faults = Faults()
    for number in range(5_000, 5_150):
        fit_and_tell(number, faults)
    assert faults.raised == {}


def test_noisy_roots_of_large_numbers_have_near_candidates() -> None:
    """Of these columns exp(-z*z/2) peaks at 1e-198, and the length of such a feature is 0."""
    draw = np.random.default_rng(0)
    x = draw.uniform(30, 120, 150)
    y = np.sqrt(x) * (1 + 0.1 * draw.normal(size=150))
    data = Data(x[:, None], y, np.ones(150))
    assert near_candidates(data, Library(OPERATORS, ["x"]))
    tables = [family.table for family in families(data.X, ("x",), set(OPERATORS), {})]
    assert tables
    assert all((np.square(table).sum(axis=0) > 0).all() for table in tables)


def test_rows_that_weigh_nothing_have_no_surrogate() -> None:
    x = np.linspace(1, 2, 300)
    weights = np.where(left_out(300), 1.0, 0.0)
    assert Surrogate.fitted(x[:, None], x**2, weights) is None


# --- transforms of many rows, on a few of which they are undefined


def one_zero(law: Callable[[Any, Any], Any], column: int, rows: int = 400) -> Data:
    """A law of a and b but for one row, of many, in which a column is 0."""
    X = np.random.default_rng(3).uniform(1, 3, (rows, 2))
    X[rows // 2, column] = 0.0
    with np.errstate(all="ignore"):
        y = law(*X.T)
    return Data(X, np.where(np.isfinite(y), y, 1.0), np.ones(rows))


@pytest.fixture
def few_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Structure looks at fewer rows than there are, as in a long table."""
    monkeypatch.setattr(symmetries, "_FEW_ROWS", 150)
    monkeypatch.setattr(symmetries, "_MANY_ROWS", 200)


@pytest.mark.usefixtures("few_looked_at")
@pytest.mark.parametrize(
    ("law", "column", "elsewhere"),
    [
        (lambda a, b: a * np.sqrt(1 + b**2), 0, "y/a depends on b only"),
        (lambda a, b: np.tanh(a / b), 0, "y depends on b/a only"),
    ],
)
def test_a_zero_among_many_rows_is_not_divided_by(
    law: Callable[[Any, Any], Any], column: int, elsewhere: str
) -> None:
    data = one_zero(law, column)
    without = data.rows(np.flatnonzero(data.X[:, column]))
    assert str(reducing_transform(without, ("a", "b"), set(OPERATORS))) == elsewhere
    transform = reducing_transform(data, ("a", "b"), set(OPERATORS))
    assert str(transform) != elsewhere
    for each in (Transform.plain(["a", "b"]) if transform is None else transform,):
        assert each.defined(data).all()
        assert len(each.data(data).y) == len(data.y)


def test_a_view_leaves_out_rows_on_which_it_says_nothing() -> None:
    X = np.array([[1.0, 2.0], [0.0, 3.0], [1e200, 4.0]])
    transform = Transform((TableColumn(1, "b"),), TableColumn(0, "a"))
    seen = transform.data(Data(X, np.array([2.0, 1.0, 1e150]), np.ones(3)))
    assert seen.weights.tolist() == [1.0]  # the row of 1e200; beside it the first weighs nothing
    nothing = Transform((), TableColumn(0, "a")).data(Data(X[1:2], np.ones(1), np.ones(1)))
    assert len(nothing.y) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("few_looked_at")
def test_a_fit_of_many_rows_with_one_zero_ends_well() -> None:
    data = one_zero(lambda a, b: a * (b + np.sin(3 * b)), 0)
    settings = Settings(max_expressions=2_000, operators=FEW_OPERATORS)
    found = Regression(data.X, data.y, ["a", "b"], settings)
    found.run()
    assert not found.search.state.failed
    assert found.model().best.nrmse < 0.1


# --- linear algebra

SIZES = st.integers(-240, 240)


@given(st.lists(SIZES, min_size=3, max_size=3), SIZES, st.integers(0, 2**32 - 1))
def test_least_squares_do_not_depend_on_units(sizes: list[int], size: int, seed: int) -> None:
    """Columns and targets from 1e-72 to 1e72 have the coefficients of those near 1, in units."""
    draw = np.random.default_rng(seed)
    A, b = draw.normal(size=(9, 3)), draw.normal(size=9)
    plain = np.linalg.lstsq(A, b, rcond=None)[0]
    units = np.ldexp(1.0, sizes)
    found = least_squares(A * units, b * 2.0**size)
    assert found is not None
    assert np.allclose(found * units / 2.0**size, plain, rtol=1e-8, atol=1e-12)
    assert np.allclose(lengths(A * units), np.linalg.norm(A, axis=0) * units, rtol=1e-12)


@given(SIZES, st.integers(0, 2**32 - 1))
def test_factors_have_the_bits_of_an_ordinary_table(size: int, seed: int) -> None:
    A = np.random.default_rng(seed).normal(size=(9, 3))
    Q, R = np.linalg.qr(A)
    found = factored(A * 2.0**size)
    assert found is not None
    assert np.array_equal(found[0], Q)
    assert np.array_equal(found[1], R * 2.0**size)


UNSOLVABLE: list[Callable[[], object]] = [
    lambda: least_squares(np.array([[1.0], [np.inf]]), np.ones(2)),
    lambda: least_squares(np.ones((2, 1)), np.array([1.0, np.nan])),
    lambda: factored(np.full((3, 2), np.nan)),
    lambda: singular(np.full((3, 2), np.inf)),
    lambda: eigen(np.full((2, 2), np.nan)),
    lambda: inverses(np.zeros((2, 3, 3))),
    lambda: solved(np.zeros((2, 2)), np.ones(2)),
    lambda: solved(np.ones((2, 2)), np.ones(2), independent=1e-9),
]


@pytest.mark.parametrize("ask", UNSOLVABLE)
def test_what_has_no_solution_is_none(ask: Callable[[], object]) -> None:
    assert ask() is None


def test_what_does_not_converge_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any, **options: Any) -> Any:
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "lstsq", fails)
    monkeypatch.setattr(np.linalg, "svd", fails)
    assert least_squares(np.eye(3), np.ones(3)) is None
    assert singular(np.eye(3)) is None


# --- the last guard

X = np.random.default_rng(5).uniform(1, 3, (120, 3))
Y = X[:, 0] * np.sin(X[:, 1]) ** 3 + 0.3 * X[:, 0] ** 4


def small(**options: Any) -> Regression:
    steps = {"generations": 2, "pairing": 2, "pairs": 20}
    config = presets.hybrid(batch_size=50, max_expressions=1_000, evolution=Evolution(**steps))
    settings = Settings(
        config=config, max_length=20, patience=None, operators=FEW_OPERATORS, **options
    )
    return Regression(X[:, :2], Y, ["a", "b"], settings)


def outcome(found: Regression) -> Any:
    state = found.search.state
    front = [(each.program, each.reward, each.found_at) for each in found.search.front]
    return front, state.weights.tobytes(), state.expressions, found.model()


def raising(error: BaseException) -> Callable[..., Any]:
    def fails(*given: Any, **options: Any) -> Any:
        raise error

    return fails


FAULTS = (
    np.linalg.LinAlgError("no"),
    FloatingPointError("no"),
    ValueError("no"),
    IndexError("no"),
    MemoryError(),
)


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_fault_of_structure_means_a_search_without(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "reducing_transform", raising(error))
    found = small()
    found.run()
    assert found.structure is not None
    assert "could not be computed" in found.structure
    plain = small(structure=False)
    plain.run()
    assert plain.structure is None
    assert outcome(found) == outcome(plain)


def test_a_run_without_structure_is_resumed_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though structure can be computed then, as where there was too little memory before."""
    path = tmp_path / "saved"
    with monkeypatch.context() as broken:
        broken.setattr(proposals, "near_candidates", raising(MemoryError()))
        broken.setattr(proposals, "exact_candidates", raising(ZeroDivisionError()))
        whole = small()
        whole.run(lambda now: save(whole.search, path) if now.iteration == 1 else None)
        expected = outcome(whole)
    again = small()
    restore(again.search, path)
    again.run()
    assert outcome(again) == expected
    assert again.structure == whole.structure


def test_a_fault_in_cycles_means_a_search_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regression_module, "cyclic_programs", raising(ValueError("no")))
    found = small()
    assert found.run().stopped is Stopped.BUDGET
    assert found.structure is not None
    assert "could not be computed" in found.structure


def test_a_fault_while_the_model_is_made_leaves_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    found = small()
    found.run()
    asked = found.search.proposals
    assert isinstance(asked, Proposals)
    vars(asked).pop("_exact")
    monkeypatch.setattr(proposals, "exact_candidates", raising(ValueError("no")))
    assert found.model().formulas


@pytest.mark.parametrize("error", [InputError("wrong"), TypeError("a mistake")])
def test_complaints_and_mistakes_pass(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "reducing_transform", raising(error))
    with pytest.raises(type(error)):
        small().run()


# --- very many columns


def test_cycles_are_looked_for_along_some_of_very_many_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide = np.random.default_rng(0).normal(size=(200, 3_000))
    data = Data(wide, np.sin(9 * wide[:, 1_234]), np.ones(200))
    names = [f"x{at}" for at in range(3_000)]
    library = Library(["add", "mul", "sin", "const"], names)
    looked: list[int] = []
    real = cycles.frequencies

    def counted(x: np.ndarray, y: np.ndarray) -> list[float]:
        looked.append(1)
        return real(x, y)

    monkeypatch.setattr(cycles, "frequencies", counted)
    found = cycles.cyclic_programs(library, data)
    assert len(looked) <= 100
    assert any("x1234" in each.names for each in found)


# --- the sentence, and the formula that was picked

A, B, C = (TableColumn(at, name) for at, name in enumerate("abc"))


def test_a_sentence_that_the_picked_formula_contradicts_is_not_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = small()
    found.run()
    found.model()
    asked = found.search.proposals
    assert isinstance(asked, Proposals)
    picked = found._picked
    assert picked is not None
    used = {picked.library.tokens[each].index for each in picked.tokens} - {None}
    assert used == {0, 1}
    vars(asked)["_reduced"] = Transform((A, B))
    assert found.structure == "as far as the rows show, y depends on a, b only"
    for denied in (Transform((A,)), Transform((B,)), Transform((product((A, 1), (B, -1)),))):
        vars(asked)["_reduced"] = denied
        assert found.structure is None
    vars(asked)["_reduced"] = Transform((A, B))
    monkeypatch.setattr(regression_module, "agrees", raising(ValueError("no")))
    assert found.structure is None


def test_no_view_says_that_a_target_that_varies_is_constant() -> None:
    draw = np.random.default_rng(0)
    X, y = 1 + draw.random((200, 1)), 1 + 1e-6 * draw.random(200)
    known = symmetries._known(Transform((A,)), Data(X, y, np.ones(200)), 50)
    assert known is not None
    steps = list(symmetries._stretches(known, roots=True))
    assert all(step.transform.columns or step.transform.factor != ONE for step in steps)


@pytest.mark.parametrize(
    ("transform", "formula", "agreed"),
    [
        (Transform((product((A, 1), (B, -1)),), C), "c*sin(a/b)", True),
        (Transform((product((A, 1), (B, -1)),), C), "c*sin(b/a)", True),
        (Transform((product((A, 1), (B, -1)),), C), "2.5*c", False),
        (Transform((A, B)), "2.5", False),
        (Transform((A, B)), "sin(a)", False),
        (Transform((A, B)), "sin(a) + b", True),
        (Transform((A, B)), "a*b", True),
        (Transform((product((A, 1), (B, -1)),), C), "c*sin(a*b)", False),
        (Transform((product((A, 1), (B, -1)),), C), "c*c*sin(a/b)", False),
        (Transform((product((A, 1), (B, -1)),)), "sin(a/b) + 0.0001*c", False),
        (Transform((), C), "3.0*c", True),
        (Transform((), C), "3.0*c + 1.0", False),
        (Transform(()), "3.0", True),
        (Transform(()), "3.0*c", False),
    ],
)
def test_a_formula_agrees_with_a_transform_or_does_not(
    transform: Transform, formula: str, agreed: bool
) -> None:
    library = Library(["add", "mul", "div", "sin", "const"], ["a", "b", "c"])
    assert agrees(transform, Program.parse(formula, library), X) == agreed


class Recorded:
    """A device that computes on this machine, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.xp = self
        self.linalg = self

    def asarray(self, array: Any) -> Any:
        return np.asarray(array)

    def get(self, array: Any) -> Any:
        return array

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(np.linalg, name)


def test_large_tables_are_fitted_on_the_device_and_small_ones_here() -> None:
    draw, device = np.random.default_rng(0), Recorded()
    large, small = draw.normal(size=(2_000, 200)), draw.normal(size=(30, 3))
    for table, asked in ((small, []), (large, ["lstsq", "qr", "svd"])):
        target = draw.normal(size=len(table))
        calls = (
            lambda table=table, target=target: solving.least_squares(table, target),
            lambda table=table: solving.factored(table)[1],
            lambda table=table: solving.singular(table)[0],
        )
        here = [call() for call in calls]
        with solving.on_device(device):
            there = [call() for call in calls]
        assert device.asked == asked
        assert all(np.array_equal(*pair) for pair in zip(here, there, strict=True))
