"""Candidates by linear algebra: forms, features, sums, quotients, and the programs made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from oracle.projection import best_subset, fewest_terms
from symseek import Library, Program
from symseek.data import Data
from symseek.structure.candidates import exact_candidates, near_candidates
from symseek.structure.curves import curves
from symseek.structure.features import Family, families
from symseek.structure.numberless import without_numbers
from symseek.structure.projection import (
    EXACT,
    Candidate,
    TargetRows,
    exact_sums,
    near_sums,
    weighted_sum,
)
from symseek.structure.quotients import quotients
from symseek.structure.targets import (
    LINKS,
    Link,
    Multiplier,
    TransformedTarget,
    multipliers,
    targets,
)

NAMES = ("u", "v", "w")
FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt", "asin", "acos")
LIBRARY = Library(["add", "sub", "mul", "div", *FUNCTIONS, "const"], NAMES)
OPERATORS = set(LIBRARY.names)
PLAIN = LINKS[0]


def drawn(seed: int, rows: int, columns: int, low: float = 0.5, high: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, (rows, columns))


def value(words: Any, Z: np.ndarray) -> np.ndarray:
    """What words in pre-order come to; none stand for 1."""
    with np.errstate(all="ignore"):
        padded = np.column_stack([Z, np.ones((len(Z), len(NAMES) - Z.shape[1]))])
        return Program.from_preorder(list(words) or [1.0], LIBRARY).evaluate(padded)


def task(Z: np.ndarray, y: np.ndarray) -> tuple[TransformedTarget, TargetRows]:
    """The target as it is."""
    one = Multiplier((0,) * Z.shape[1], np.ones(len(y)))
    return TransformedTarget(PLAIN, one, y), TargetRows(y, np.ones(len(y)), NAMES[: Z.shape[1]])


# Forms and multipliers.

RANGES = {"sin(s)": (-1.5, 1.5), "cos(s)": (0.05, 3.1), "sin(s)**2": (0.05, 1.5)}
RANGES |= {"asin(s)": (-0.95, 0.95), "acos(s)": (-0.95, 0.95)}


@pytest.mark.parametrize("form", LINKS, ids=[form.name for form in LINKS])
def test_forms_go_there_and_back(form: Link) -> None:
    s = np.linspace(*RANGES.get(form.name, (0.05, 3.0)), 50)
    v = form.apply(s)
    assert np.allclose(form.undo(v), s, atol=1e-6)
    assert np.allclose(form.apply(form.undo(v)), v, rtol=1e-12, atol=1e-14)
    words = form.words(["u"])
    assert np.allclose(value(words, s[:, None]), v, rtol=1e-9, atol=1e-12)
    assert {word for word in words if isinstance(word, str)} <= {*form.operators, "u", "mul"}


def test_forms_have_names_of_their_own() -> None:
    assert len({form.name for form in LINKS}) == len(LINKS)


@examples(30)
@given(seed=st.integers(0, 1000), columns=st.integers(0, 3), low=st.sampled_from([0.5, -1.0]))
def test_multipliers_are_what_is_written(seed: int, columns: int, low: float) -> None:
    Z = drawn(seed, 20, columns, low)
    found = list(multipliers(Z, OPERATORS))
    assert len({each.halves for each in found}) == len(found) > 0
    assert sum(each.plain for each in found) == 1
    for each in found:
        above, below = (value(words, Z) for words in each.words(NAMES[:columns]))
        assert np.allclose(above / below, each.values, rtol=1e-10)
    for each in multipliers(Z, {"add", "mul"}):
        assert all(half >= 0 and half % 2 == 0 for half in each.halves)


@examples(30)
@given(seed=st.integers(0, 1000), columns=st.integers(1, 3), low=st.sampled_from([0.1, -1.0]))
def test_targets_come_back_to_y(seed: int, columns: int, low: float) -> None:
    Z = drawn(seed, 30, columns, low)
    y = drawn(seed + 1, 30, 1, low)[:, 0]
    for each in targets(Z, y, OPERATORS):
        if np.abs(y / each.multiplier.values).max() > 20:
            continue  # exp loses digits there
        again = each.multiplier.values * each.form.apply(each.values)
        assert np.allclose(again, y, rtol=1e-6, atol=1e-8 * np.abs(each.multiplier.values).max())
    small = targets(Z, y, {"add", "mul"})
    assert {each.form.name for each in small} <= {"s", "s**2"}


# Features.


@examples(25)
@given(
    seed=st.integers(0, 1000),
    columns=st.integers(0, 3),
    low=st.sampled_from([0.5, -1.0]),
    rate=st.sampled_from([1.0, 2.5]),
    without=st.sets(st.sampled_from(["div", "sqrt", "exp", "log", "sin", "cos"])),
)
def test_features_are_what_is_written(
    seed: int, columns: int, low: float, rate: float, without: set[str]
) -> None:
    Z = drawn(seed, 30, columns, low)
    operators = OPERATORS - without
    halves = (2, -2) if "div" in operators else (2,)
    rates = {(at, half): [rate] for at in range(columns) for half in halves}
    known: set[str] = set()
    for family in families(Z, NAMES[:columns], operators, rates):
        assert family.table.shape == (30, len(family.words))
        assert len(set(family.words)) == len(family.words)
        for words, values in zip(family.words, family.table.T, strict=True):
            assert np.allclose(value(words, Z), values, rtol=1e-9, atol=1e-12)
            known |= {word for word in words if isinstance(word, str)}
    assert known <= operators
    if columns > 1:
        assert {"exp", "sin", "div", "sqrt"} & operators <= known | (
            {"sqrt"} if low < 0 else set()
        ) | ({"sin"} if "cos" in without else set())


# Sums.


def random_family(seed: int, rows: int, count: int) -> Family:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(rows, count)) * 10.0 ** rng.integers(-3, 4, count)
    return Family(tuple(("u",) for _ in range(count)), table)


@examples(40)
@given(
    seed=st.integers(0, 10_000), count=st.integers(1, 7), used=st.integers(1, 7), off=st.booleans()
)
def test_exact_sums_are_those_of_all_subsets(seed: int, count: int, used: int, off: bool) -> None:
    family = random_family(seed, 60, count)
    rng = np.random.default_rng(seed)
    numbers = np.where(rng.permutation(count) < used, rng.uniform(1, 2, count), 0.0)
    y = family.table / np.linalg.norm(family.table, axis=0) @ numbers
    y = y + 1e-3 * np.std(y) * rng.normal(size=60) if off else y
    target, rows = task(np.ones((60, 1)), y)
    found = list(exact_sums(family, [target], rows))
    fewest = fewest_terms(family.table, y, EXACT)
    assert len(found) == (fewest is not None)
    for each in found:
        assert each.words.count("add") == fewest - 1  # type: ignore[operator]
        assert each.error < 1e-8 * np.abs(y).max()


@examples(30)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 7))
def test_near_sums_are_the_best_of_all_subsets(seed: int, count: int) -> None:
    family = random_family(seed, 40, count)
    y = np.random.default_rng(seed + 1).normal(size=40) + 2
    target, rows = task(np.ones((40, 1)), y)
    found = list(near_sums(family, [target], rows))
    assert len(found) == min(count, 4)
    size = np.linalg.norm(y)
    for number, each in enumerate(found, start=1):
        least, _ = best_subset(family.table, y, number)
        assert each.error * np.sqrt(40) / size == pytest.approx(least, rel=1e-6)


def test_as_many_features_as_rows_prove_nothing() -> None:
    family, rng = random_family(0, 12, 10), np.random.default_rng(1)
    target, rows = task(np.ones((12, 1)), rng.normal(size=12))
    assert list(exact_sums(family, [target], rows)) == []
    assert list(quotients(family, target, rows, 1e-10)) == []


@examples(30)
@given(seed=st.integers(0, 1000), which=st.integers(0, 200), form=st.sampled_from(LINKS[:9]))
def test_what_is_written_has_the_error_that_is_told(seed: int, which: int, form: Link) -> None:
    Z = drawn(seed, 60, 2)
    y = drawn(seed + 1, 60, 1, 0.3, 0.9)[:, 0]
    rows = TargetRows(y, drawn(seed + 2, 60, 1)[:, 0], NAMES[:2])
    made = [each for each in targets(Z, y, OPERATORS) if each.form.name == form.name]
    all_families = list(families(Z, NAMES[:2], OPERATORS, {}))
    family = all_families[which % len(all_families)]
    found: list[Candidate] = list(near_sums(family, made, rows))
    found += [c for each in made for c in quotients(family, each, rows, None)]
    for each in found[:20]:
        error = rows.error(value(each.words, Z))
        assert error == pytest.approx(each.error, rel=1e-3, abs=1e-9)


def test_sums_are_written_with_numbers_in_place() -> None:
    words = weighted_sum([["u"], [], ["div", 1.0, "v"]], [2.0, 3.0, 4.0])
    assert words == ["add", "mul", 2.0, "u", "add", 3.0, "div", 4.0, "v"]


# Quotients.


@examples(25)
@given(
    above=st.lists(st.integers(-4, 4), min_size=1, max_size=3).filter(any),
    below=st.lists(st.integers(1, 4), min_size=2, max_size=3),
    seed=st.integers(0, 1000),
)
def test_quotients_of_small_polynomials_are_found(
    above: list[int], below: list[int], seed: int
) -> None:
    Z = drawn(seed, 200, 1)
    u = Z[:, 0]
    y = np.polyval(above, u) / np.polyval(below, u)
    assume(y.std() > 1e-3)
    family = Family(
        (("u", "mul", "u")[:0], ("u",), ("mul", "u", "u")), np.vander(u, 3, increasing=True)
    )
    target, rows = task(Z, y)
    found = list(quotients(family, target, rows, 1e-10))
    assert len(found) == 1
    assert np.allclose(value(found[0].words, Z), y, atol=1e-7)
    assert found[0].error < 1e-7


def test_quotients_under_noise() -> None:
    Z = drawn(0, 400, 1, 0.2, 4.0)
    u = Z[:, 0]
    y = 3 * u / (0.7 + u)
    noisy = y + np.random.default_rng(0).normal(0, 0.05, 400)
    family = Family(((), ("u",), ("mul", "u", "u")), np.vander(u, 3, increasing=True))
    target, rows = task(Z, noisy)
    found = list(quotients(family, target, rows, None))
    short = [each for each in found if len(each.words) <= 9]
    assert min(np.std(value(each.words, Z) - y) for each in short) < 0.02
    assert min(each.error for each in short) < 0.052  # the noise is 0.05


@pytest.mark.parametrize("kind", ["indicator", "doubled", "zero"])
def test_quotients_of_odd_tables(kind: str) -> None:
    """Columns of zeros in [F, -y F], and features that make each other up."""
    u = np.r_[np.zeros(100), drawn(0, 100, 1)[:, 0]]
    table = np.column_stack([np.ones(200), u, u if kind == "doubled" else u * u])
    y = np.where(u == 0, 1.0, 0.0) if kind != "zero" else np.where(u == 0, 1e-8, -1e-8)
    target, rows = task(u[:, None], y)
    family = Family(((), ("u",), ("mul", "u", "u")), table)
    for close in (1e-10, None):
        for each in quotients(family, target, rows, close):
            assert each.error >= 0


# All together.


def candidates(data: Data, library: Library) -> tuple[list[Any], bool]:
    """Exact candidates, or near ones, and which they are."""
    exact = exact_candidates(data, library)
    return exact or near_candidates(data, library), bool(exact)


def found(y: np.ndarray, Z: np.ndarray, operators: tuple[str, ...] = ()) -> tuple[list[Any], bool]:
    names = operators or ("add", "sub", "mul", "div", *FUNCTIONS)
    library = Library([*names, "const"], NAMES[: Z.shape[1]])
    made, exact = candidates(Data(Z, y, np.ones(len(y))), library)
    assert all(program.library == library for program in made)
    return made, exact


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "law",
    [
        lambda u, v: 1 / np.sqrt(1 - 0.2 * u * v),
        lambda u, v: u * np.exp(-v * v / 2) / 3,
        lambda u, v: np.sqrt(u * u + 1 + 2 * u * np.cos(v)),
        lambda u, v: (u + v) / (1 + u * v),
        lambda u, v: u / (np.exp(v / u) - 1),
        lambda u, v: np.arcsin(0.4 * u * np.sin(v)),
        lambda u, v: 3 * u**2 + 2 * v / u - 7,
    ],
)
def test_laws_are_found_exactly(law: Any, sign: int) -> None:
    Z = drawn(0, 300, 2)
    y = sign * law(*Z.T)
    made, exact = found(y, Z)
    assert exact
    assert [len(each) for each in made] == sorted(len(each) for each in made)
    for each in made:
        assert np.allclose(each.evaluate(Z), y, rtol=1e-8)


@pytest.mark.parametrize("turned", [False, True])
def test_a_law_of_one_column_is_found_either_way_up(turned: bool) -> None:
    """A transform may have kb*T/(mom*B) as well as mom*B/(kb*T)."""
    Z = drawn(1, 300, 1)
    y = 0.5 / np.cosh(1 / Z[:, 0] if turned else Z[:, 0])
    made, exact = found(y, Z)
    assert exact
    assert np.allclose(made[0].evaluate(Z), y, rtol=1e-8)


def test_near_candidates_are_sorted_and_one_of_each_kind() -> None:
    Z = drawn(1, 500, 1)
    y = np.exp(-Z[:, 0]) + np.random.default_rng(0).normal(0, 0.05, 500)
    made, exact = found(y, Z)
    assert not exact
    best = made[:600]
    errors = [np.std(each.evaluate(Z) - y) for each in best[:20]]
    assert max(errors) < 0.06
    assert len({each.tokens for each in best}) == len(best)


@examples(12)
@given(
    chosen=st.sets(st.sampled_from(["sub", "div", *FUNCTIONS])),
    columns=st.integers(1, 2),
    noise=st.sampled_from([0.0, 0.1]),
    low=st.sampled_from([-1.0, 0.5]),
)
def test_programs_use_the_operators_of_the_library(
    chosen: set[str], columns: int, noise: float, low: float
) -> None:
    Z = drawn(3, 120, columns, low)
    y = 1 + Z.sum(axis=1) ** 2 + noise * np.random.default_rng(0).normal(size=120)
    library = Library(["add", "mul", *sorted(chosen), "const"], NAMES[:columns])
    made, exact = candidates(Data(Z, y, np.ones(120)), library)
    assert exact == (noise == 0)
    assert made
    with np.errstate(all="ignore"):
        for each in made:
            assert each.evaluate(Z).shape == (120,)


def test_a_library_without_numbers_has_laws_with_small_fractions() -> None:
    Z = drawn(0, 40, 2)
    law = Z[:, 0] ** 4 - 2 * Z[:, 0] ** 3 + Z[:, 1] ** 2 / 2 - Z[:, 1]
    library = Library(["add", "sub", "mul", "div"], NAMES[:2])
    made, exact = candidates(Data(Z, law, np.ones(40)), library)
    assert exact
    assert np.allclose(made[0].evaluate(Z), law, rtol=1e-9)
    made, exact = candidates(Data(Z, 0.37 * law, np.ones(40)), library)
    assert (made, exact) == ([], False)


@examples(50)
@given(st.lists(st.sampled_from([-4.0, -1.5, -1.0, 0.25, 0.5, 2.0, 3.0]), min_size=1, max_size=4))
def test_numbers_are_written_with_a_column(numbers: list[float]) -> None:
    Z = drawn(1, 20, 2)
    library = Library(["add", "sub", "mul", "div"], NAMES[:2])
    words: list[Any] = ["u"]
    expected = Z[:, 0]
    for place, number in enumerate(numbers):
        name = NAMES[place % 2]
        words = ["add", "mul", number, name, *words]
        expected = number * Z[:, place % 2] + expected
    written = without_numbers(words, "v")
    assert written is not None
    assert not any(isinstance(word, float) for word in written)
    found = Program.from_preorder(written, library).evaluate(Z)
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert without_numbers(["mul", 0.371, "u"], "v") is None


def test_a_sum_of_two_different_things_comes_apart() -> None:
    Z = drawn(2, 600, 2)
    y = 1 + np.sqrt(1 + 2 * Z[:, 0]) * np.cos(Z[:, 1])
    made, exact = found(y, Z)
    assert exact
    assert min(np.std(each.evaluate(Z) - y) for each in made) < 1e-6


def test_libraries_without_sums_have_none() -> None:
    data = Data(drawn(0, 100, 1), drawn(1, 100, 1)[:, 0], np.ones(100))
    for names in (["mul", "const"], ["add", "const"], ["add", "mul"]):
        assert candidates(data, Library(names, ["u"])) == ([], False)
    many = Data(drawn(0, 100, 8), drawn(1, 100, 1)[:, 0], np.ones(100))
    assert candidates(many, Library(["add", "mul", "const"], [f"x{i}" for i in range(8)])) == (
        [],
        False,
    )


def test_curves_are_functions_of_one_column() -> None:
    Z = drawn(0, 50, 1)
    names, operators = LIBRARY.variables, set(LIBRARY.names)
    made = curves(Z, {(0, 2): [3.0]}, names, operators)
    texts = {" ".join(map(str, each.words)) for each in made}
    assert len(texts) == len(made)
    assert {
        "mul 1.0 exp mul -1.0 u",
        "mul 1.0 sin mul 3.0 u",
        "div mul 1.0 log div 1.0 u u",
    } <= texts
    defined = [np.isfinite(value(each.words, Z)).all() for each in made]
    assert np.mean(defined) > 0.9  # but for logarithms that begin with a number below 0
    assert curves(drawn(0, 50, 2), {}, names, operators) == []
    signed = curves(Z - 1, {}, names, operators)
    assert not any("sqrt" in each.words for each in signed)
    plain = curves(Z, {}, ("u",), {"add", "mul", "exp", "const"})
    assert plain
    assert not any({"div", "sqrt"} & {*each.words} for each in plain)


@pytest.mark.parametrize("kind", ["zero and huge", "tiny", "both signs", "one row far away"])
def test_odd_targets_end_without_a_warning(kind: str) -> None:
    Z = drawn(2, 150, 1, -1.0, 1.0)
    y = {
        "zero and huge": 1e10 * np.round(Z[:, 0], 1),
        "tiny": 1e-140 * Z[:, 0],
        "both signs": np.sign(Z[:, 0]),
        "one row far away": np.r_[1e12, np.full(149, 1e-3) + Z[1:, 0] ** 2],
    }[kind]
    made, _ = found(y, Z)
    assert 0 < len(made) < 3_000
    assert finite_errors(made, Z, y).min() < y.std()


def test_a_column_with_tiny_values() -> None:
    Z = drawn(2, 150, 1)
    Z[0] = 5e-324
    y = np.sin(3 * Z[:, 0]) + np.random.default_rng(0).normal(0, 0.1, 150)
    made, exact = found(y, Z)
    assert not exact
    assert finite_errors(made, Z, y).min() < 0.15


def finite_errors(made: list[Program], Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The standard deviations of what is left, where the programs are defined on all rows."""
    with np.errstate(all="ignore"):
        errors = np.array([np.std(each.evaluate(Z) - y) for each in made])
    return errors[np.isfinite(errors)]
