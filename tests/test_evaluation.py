"""The native evaluator against NumPy, and its functions against high precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest import mock

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_helpers import evaluator
from examples import examples
from oracle.evaluate import FORMULAS, evaluate
from strategies import COMPOSED, programs
from symseek import InputError, Library, Program, Programs, Token
from symseek.engines.native import operations
from symseek.evaluation import _distinct
from symseek.tokens import OPERATORS

LIBRARY = Library([*OPERATORS, *COMPOSED, "1", "2.5", "-3", "const"], variables=["x", "y", "z"])
ROWS = [1, 7, 8, 9, 20, 255, 256, 257, 2049, 5000]


def table(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 3, (rows, 3))
    return X, X[:, 0] * X[:, 1] - np.cos(X[:, 2])


INEXACT = ("pow", "sin", "cos", "tan", "tanh", "exp", "log", "neg_exp", "asin", "acos", "atan")
INEXACT += ("atan2", "sinh", "cosh", "asinh", "erf", "protected_exp", "protected_log")


def jittered(program: Program, X: np.ndarray) -> tuple[np.ndarray, bool]:
    """How far NumPy's values [N] move when every inexact function is off by a few units in the last
    place, and whether the program's validity hangs on that.
    """
    random = np.random.default_rng(0)

    def rough(name: str) -> Callable[..., np.ndarray]:
        exact = FORMULAS[name]

        def function(*arguments: np.ndarray) -> np.ndarray:
            values = exact(*arguments)
            return values + np.spacing(values) * random.choice([-6, -5, -4, 4, 5, 6], len(values))

        return function

    here, valid = evaluate(program, X)
    with mock.patch.dict(FORMULAS, {name: rough(name) for name in INEXACT}):
        others = [evaluate(program, X) for _ in range(10)]
    with np.errstate(all="ignore"):
        spread = np.max([np.abs(values - here) for values, _ in others], axis=0)
    return spread, any(verdict != valid for _, verdict in others)


def test_the_engine_has_every_operator_and_the_table_every_operation() -> None:
    listed = {name: token.arity for name, token in OPERATORS.items() if token.formula is None}
    assert operations() == listed


@examples(300)
@given(programs(LIBRARY, max_length=25), st.sampled_from(ROWS))
def test_values_and_validity_are_numpys(program: Program, rows: int) -> None:
    X, _ = table(rows)
    expected, valid = evaluate(program, X)
    found = evaluator(LIBRARY, X).predict(Programs.from_list([program]))
    spread, undecided = jittered(program, X)
    if undecided:  # the last bits decide, as in log(sin(x) - sin(x))
        return
    assert bool(found.ok[0]) == valid
    if valid:
        tame = spread <= 1e-6 * np.abs(expected)  # elsewhere rounding errors have taken over
        apart = np.abs(found.values[0] - expected)
        bound = 16 * spread + 1e-15 * np.abs(expected) + 1e-323
        assert np.all(apart[tame] <= bound[tame])


@examples(60)
@given(st.lists(programs(LIBRARY, max_length=12), min_size=1, max_size=20), st.sampled_from(ROWS))
def test_error_sums_are_those_of_the_predictions(batch: list[Program], rows: int) -> None:
    X, y = table(rows)
    weights = np.random.default_rng(1).uniform(0, 2, rows)
    programs_ = Programs.from_list([*batch, *batch])
    predictions = evaluator(LIBRARY, X).predict(programs_)
    errors = evaluator(LIBRARY, X, y, weights).errors(programs_)
    assert errors.ok.tolist() == predictions.ok.tolist()
    assert errors.distinct == len(set(batch))
    with np.errstate(over="ignore"):
        for row in np.flatnonzero(errors.ok):
            residual = y - predictions.values[row]
            squared, absolute = weights @ residual**2, weights @ np.abs(residual)
            assert errors.sums[0, row] == pytest.approx(squared, rel=1e-12)
            assert errors.sums[1, row] == pytest.approx(absolute, rel=1e-12)


def test_cache_threads_and_batch_order_change_nothing() -> None:
    X, y = table(300)
    random = np.random.default_rng(2)
    library = Library(["add", "sub", "mul", "sin", "div", "log", "exp"], ["x", "y", "z"])
    batches = []
    for _ in range(20):
        texts = [f"sin(x*y) + {'z*' * random.integers(0, 9)}x", "x/(y - y)", "log(x)", "exp(x) + z"]
        batches.append(Programs.from_list([Program.parse(t, library) for t in texts]))
    variants = [
        evaluator(library, X, y, cache=0),
        evaluator(library, X, y, cache=4),
        evaluator(library, X, y, threads=3),
    ]
    for batch in batches:
        plain, *others = [each.errors(batch) for each in variants]
        assert plain.ok.tolist() == [True, False, False, True]
        for other in others:
            assert plain.sums[0, plain.ok].tobytes() == other.sums[0, plain.ok].tobytes()
            assert plain.sums[1, plain.ok].tobytes() == other.sums[1, plain.ok].tobytes()
            assert plain.ok.tolist() == other.ok.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "1.0/(1.0/(x - x))",
        "neg_exp(1.0/(x - x)**2)",
        "exp(-1.0/(x - x)**2)",
        "tanh(1.0/(x - x))",
        "pow(log(-1.0 - x*x), x - x)",
        "pow(1.0, 1.0/(x - x))",
        "reciprocal(exp(exp(exp(x*x + 3.0))))",
    ],
)
def test_a_value_that_is_not_finite_cannot_hide(text: str) -> None:
    library = Library([*OPERATORS, "const"], variables=["x"])
    X = np.linspace(1, 2, 20)[:, None]
    program = Program.parse(text, library)
    assert not evaluate(program, X)[1]
    assert not evaluator(library, X).predict(Programs.from_list([program])).ok[0]


@pytest.mark.parametrize(
    "text",
    [
        "atan div x sub x x",
        "erf div x sub x x",
        "sign div x sub x x",
        "floor div x sub x x",
        "atan2 x div x sub x x",
        "atan2 div x sub x x x",
        "min x div x sub x x",
        "min div x sub x x x",
        "max x div neg x sub x x",
        "max div neg x sub x x x",
        "min log neg x x",
        "max x log neg x",
        "asin add x x",
        "acos neg add x x",
        "atan2 exp exp mul x div 1 sub x x x",
        "div 1 cosh mul x fourth fourth add x x",
        "protected_div x log neg x",
        "protected_div log neg x sub x x",
        "protected_exp div x sub x x",
        "protected_exp log neg x",
        "protected_log log neg x",
        "protected_reciprocal div x sub x x",
        "protected_square div x sub x x",
        "protected_cube log neg x",
    ],
)
def test_a_value_that_is_not_finite_cannot_hide_in_the_other_operators(text: str) -> None:
    library = Library([*OPERATORS, "1"], variables=["x"])
    X = np.linspace(1, 2, 20)[:, None]
    program = Program.from_preorder(text, library)
    assert not evaluate(program, X)[1]
    assert not evaluator(library, X).predict(Programs.from_list([program])).ok[0]


def test_one_bad_row_among_many_is_enough() -> None:
    library = Library(["log", "mul"], variables=["x"])
    program = Programs.from_list([Program.parse("log(x)*x", library)])
    for bad in (0, 19, 255, 256, 4999):
        X = np.ones((5000, 1))
        X[bad] = 0.0
        errors = evaluator(library, X, np.ones(5000)).errors(program)
        assert not errors.ok[0]


def ulps(found: np.ndarray, exact: list[mpmath.mpf]) -> float:
    worst = 0.0
    for value, truth in zip(found.tolist(), exact, strict=True):
        if not math.isfinite(value):
            continue
        unit = mpmath.mpf(math.ulp(float(truth)))
        worst = max(worst, float(abs(mpmath.mpf(value) - truth) / unit))
    return worst


RANGES = {
    "exp": [(-700, 700), (-1, 1)],
    "log": [(1e-300, 1e300), (0.5, 2), (0.999, 1.001)],
    "sin": [(-10, 10), (-1e5, 1e5), (-1e12, 1e12)],
    "cos": [(-10, 10), (-1e5, 1e5), (-1e12, 1e12)],
    "tan": [(-10, 10), (-1e5, 1e5)],
    "tanh": [(-1, 1), (-25, 25)],
    "neg_exp": [(-700, 700)],
    "sqrt": [(0, 1e300)],
    "asin": [(-1, 1), (0.45, 0.55)],
    "acos": [(-1, 1), (0.45, 0.55), (-0.55, -0.45)],
    "atan": [(-1, 1), (-10, 10), (1e-300, 1e300)],
    "sinh": [(-1, 1), (-10, 10), (-710, 710)],
    "cosh": [(-1, 1), (-10, 10), (-710, 710)],
    "asinh": [(-1, 1), (-10, 10), (1e-300, 1e300)],
    "erf": [(-1, 1), (-6, 6)],
}


@pytest.mark.parametrize("name", RANGES)
def test_functions_are_within_two_units_in_the_last_place(name: str) -> None:
    function = {"neg_exp": lambda a: mpmath.exp(-a)}.get(name) or getattr(mpmath, name)
    library = Library([name], variables=["x"])
    random = np.random.default_rng(3)
    for low, high in RANGES[name]:
        X = random.uniform(low, high, (800, 1))
        if low > 0 and high / low > 1e6:
            X = np.exp(random.uniform(np.log(low), np.log(high), (800, 1)))
        found = evaluator(library, X).predict(
            Programs.from_list([Program.from_preorder([name, "x"], library)])
        )
        with mpmath.workprec(200):
            exact = [function(mpmath.mpf(x)) for x in X[:, 0].tolist()]
            assert ulps(found.values[0], exact) <= 2.0


def test_pow_is_within_two_units_and_follows_c99() -> None:
    library = Library(["pow"], variables=["x", "y"])
    program = Programs.from_list([Program.from_preorder("pow x y", library)])
    random = np.random.default_rng(4)
    X = np.column_stack([random.uniform(0.01, 50, 800), random.uniform(-40, 40, 800)])
    found = evaluator(library, X).predict(program).values[0]
    with mpmath.workprec(200):
        exact = [mpmath.mpf(a) ** mpmath.mpf(b) for a, b in X.tolist()]
        assert ulps(found, exact) <= 2.0
    special = np.array([[-2, 3], [-2, 2], [-8, -1], [0, 2], [5, 0], [1, 1e300], [-2, 0.5], [0, -1]])
    found = evaluator(library, special).predict(program).values[0]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, np.power(special[:, 0], special[:, 1]))


ATAN2 = {
    "ordinary": (-2.0, 2.0, -2.0, 2.0),
    "near the axes": (1e-9, 1e-3, -50.0, 50.0),
    "steep": (-50.0, 50.0, 1e-9, 1e-3),
    "huge": (1e307, 1.7e308, -1.7e308, 1.7e308),
    "denormal": (-1e-310, 1e-310, -1e-310, 1e-310),
}


@pytest.mark.parametrize("case", ATAN2)
def test_atan2_is_within_two_units(case: str) -> None:
    low_y, high_y, low_x, high_x = ATAN2[case]
    random = np.random.default_rng(7)
    halves = [(low_y / 2, high_y / 2), (low_x / 2, high_x / 2)]  # their difference may overflow
    X = 2 * np.column_stack([random.uniform(*limits, 800) for limits in halves])
    library = Library(["atan2"], variables=["y", "x"])
    program = Programs.from_list([Program.from_preorder("atan2 y x", library)])
    found = evaluator(library, X).predict(program)
    assert found.ok[0]
    with mpmath.workprec(200):
        exact = [mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x)) for y, x in X.tolist()]
        assert ulps(found.values[0], exact) <= 2.0


TINY, HUGE = 5e-324, 1.7976931348623157e308
SPECIAL = [0.0, 0.5, 0.75, 1.0, 2.0, 3.0, 20.5, 709.78, 709.79, 745.13, 745.14, 1023.0, 1075.0]
SPECIAL += [TINY, 1e-310, 2.3e-308, 1e-300, 1 - 2**-53, 1 + 2**-52, math.pi / 2, math.pi, 1e5]
SPECIAL += [0.001, 0.001 + 2**-60, 0.0009, 99.9, 100.0, 100.5, 999999.9, 1e6, 1000000.1]
SPECIAL += [1e15 + 0.5, 1e22, 2.0**51, 2.0**53, 2.0**53 + 2, 1e300, HUGE, math.inf, math.nan]
SPECIAL += [-value for value in SPECIAL]


@pytest.mark.parametrize(("name", "arity"), operations().items(), ids=operations())
def test_special_values_are_numpys(name: str, arity: int) -> None:
    """Zeros with their sign, infinities, NaN, denormals, edges of overflow: all pairs of them."""
    variables = ["x", "y"][:arity]
    library = Library([name], variables)
    X = np.stack([axis.ravel() for axis in np.meshgrid(*[SPECIAL] * arity)], axis=1)
    program = Program.from_preorder([name, *variables], library)
    found = evaluator(library, X).predict(Programs.from_list([program])).values[0]
    with np.errstate(all="ignore"):
        expected = FORMULAS[name](*X.T)
        apart = np.abs(found - expected) / np.spacing(np.abs(expected))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    real = ~np.isnan(expected)
    if name in ("min", "max"):  # which of two equal zeros NumPy takes depends on the machine
        real &= (X != 0.0).any(axis=1)
    np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(expected[real]))
    edges = real & (np.isinf(expected) | (expected == 0.0) | np.isinf(found) | (found == 0.0))
    np.testing.assert_array_equal(found[edges], expected[edges])
    assert np.max(apart[np.isfinite(expected)], initial=0.0) <= 2.0


def scattered(low: float, high: float, signs: bool = True) -> np.ndarray:
    """Numbers spread evenly over the magnitudes, of either sign."""
    random = np.random.default_rng(6)
    sizes = np.exp(random.uniform(math.log(low), math.log(high), 500))
    return sizes * random.choice([-1.0, 1.0], 500) if signs else sizes


BELOW_ONE = 1 - scattered(1e-16, 0.1, signs=False)
QUARTERS = np.random.default_rng(5).integers(1, 10**5, 500) * (math.pi / 2)
HARD = {
    "sin": [QUARTERS, scattered(1e-300, 1e-3), scattered(9e4, 1.1e5), scattered(1e5, 1e308)],
    "cos": [QUARTERS, scattered(1e-300, 1e-3), scattered(9e4, 1.1e5), scattered(1e5, 1e308)],
    "tan": [QUARTERS, scattered(1e-300, 1e-3), scattered(9e4, 1.1e5), scattered(1e5, 1e308)],
    "exp": [-np.linspace(700, 745.1, 500), np.linspace(700, 709.7, 500), scattered(1e-20, 1e-5)],
    "log": [scattered(5e-324, 1e-300, signs=False), 1 + scattered(1e-16, 1e-2)],
    "tanh": [scattered(1e-310, 1e-5), np.linspace(0.7, 0.8, 500)],
    "asin": [scattered(1e-310, 1e-5), np.linspace(0.49, 0.51, 500), BELOW_ONE],
    "acos": [scattered(1e-310, 1e-5), BELOW_ONE, scattered(1e-16, 0.1) - 1],
    "atan": [scattered(1e-310, 1e308), np.linspace(0.65, 0.67, 500), np.linspace(2.4, 2.43, 500)],
    "sinh": [scattered(1e-310, 1e-5), np.linspace(0.99, 1.01, 500), np.linspace(708, 710.4, 500)],
    "cosh": [scattered(1e-310, 1e-5), np.linspace(0.01, 0.5, 500), np.linspace(708, 710.4, 500)],
    "asinh": [scattered(1e-310, 1e308), np.linspace(0.49, 0.51, 500), scattered(2**27, 2**29)],
    "erf": [scattered(1e-310, 1e-5), np.linspace(0.99, 1.01, 500), np.linspace(5.8, 6.2, 500)],
}


@pytest.mark.parametrize("name", HARD)
def test_functions_are_accurate_where_it_is_hard(name: str) -> None:
    """Next to multiples of pi/2, among huge angles and denormals, where methods change over."""
    library = Library([name], variables=["x"])
    program = Programs.from_list([Program.from_preorder([name, "x"], library)])
    for points in HARD[name]:
        found = evaluator(library, points[:, None]).predict(program).values[0]
        with mpmath.workprec(1300):
            exact = [getattr(mpmath, name)(mpmath.mpf(x)) for x in points.tolist()]
            kept = [i for i, x in enumerate(exact) if isinstance(x, mpmath.mpf)]  # asin(1.1) is not
            assert np.isfinite(found[kept]).all()
            assert ulps(found[kept], [exact[i] for i in kept]) <= 2.0


@pytest.mark.parametrize(
    ("base", "exponent"),
    [
        (1 + scattered(1e-15, 1e-6), scattered(1e3, 1e12)),
        (scattered(1e-320, 1e-300, signs=False), np.linspace(-1, 1, 500)),
        (scattered(1e-300, 1e300, signs=False), np.linspace(-1, 1, 500)),
        (-scattered(1e-3, 1e3, signs=False), np.arange(-250.0, 250.0) // 5),
        (np.linspace(1.5, 3, 500), np.linspace(-740, -690, 500) / np.log(np.linspace(1.5, 3, 500))),
    ],
    ids=["near 1", "denormal base", "any base", "negative base", "denormal result"],
)
def test_pow_is_accurate_where_it_is_hard(base: np.ndarray, exponent: np.ndarray) -> None:
    library = Library(["pow"], variables=["x", "y"])
    program = Programs.from_list([Program.from_preorder("pow x y", library)])
    found = evaluator(library, np.column_stack([base, exponent])).predict(program).values[0]
    with mpmath.workprec(200):
        pairs = zip(base.tolist(), exponent.tolist(), strict=True)
        exact = [mpmath.mpf(a) ** mpmath.mpf(b) for a, b in pairs]
        kept = [i for i, value in enumerate(exact) if abs(value) < HUGE]
        assert len(kept) > 100
        assert np.isfinite(found[kept]).all()
        assert ulps(found[kept], [exact[i] for i in kept]) <= 2.0


def test_programs_that_differ_in_a_constant_are_told_apart() -> None:
    library = Library(["mul", "add", "const"], variables=["x"])
    batch = [
        Program.parse(text, library) for text in ("2.0*x", "3.0*x", "2.0*x", "0.0*x", "-0.0*x")
    ]
    X = np.array([[1.0], [2.0]])
    on = evaluator(library, X, np.zeros(2))
    for _ in range(2):  # the second time from the cache
        errors = on.errors(Programs.from_list(batch))
        assert errors.sums[0].tolist() == [20.0, 45.0, 20.0, 0.0, 0.0]
        assert errors.distinct == 4


def test_any_layout_of_the_table_will_do() -> None:
    library = Library(["sub", "mul"], variables=["x", "y"])
    batch = Programs.from_list([Program.parse("x*y - y", library)])
    X = np.arange(40.0).reshape(20, 2)
    expected = X[:, 0] * X[:, 1] - X[:, 1]
    wide = np.zeros((40, 6))
    wide[::2, 1:5:3] = X
    for table_ in (X, np.asfortranarray(X), wide[::2, 1:5:3], X.astype(np.float32), X.astype(int)):
        np.testing.assert_array_equal(evaluator(library, table_).predict(batch).values[0], expected)
        errors = evaluator(library, table_, y=expected[::-1][::-1]).errors(batch)
        assert errors.sums[0, 0] == 0.0


def test_a_composed_operator_is_its_formula_wherever_it_stands() -> None:
    fused = Token("fused", 3, formula="a*b + c/(a - 0.25)")
    same, fixed = Token("same", 1, formula="a"), Token("three", 0, formula="3")
    library = Library([fused, same, fixed, "sub"], variables=["x", "y"])
    text = "sub fused same x three fused y x y fused x same same y sub x y"
    program = Program.from_preorder(text, library)
    X = np.random.default_rng(0).uniform(1, 2, (300, 2))
    x, y = X.T

    def spelt(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return a * b + c / (a - 0.25)

    expected = spelt(x, np.full(300, 3.0), spelt(y, x, y)) - spelt(x, y, x - y)
    found = evaluator(library, X).predict(Programs.from_list([program]))
    np.testing.assert_array_equal(found.values[0], expected)
    assert found.ok[0]


def test_programs_over_another_library_are_refused() -> None:
    batch = Programs.from_list([Program.parse("x + x", Library(["add"], variables=["x"]))])
    on = evaluator(LIBRARY, *table(20))
    for ask in (on.errors, on.predict):
        with pytest.raises(InputError, match="library"):
            ask(batch)


def test_a_very_deep_program_is_refused() -> None:
    library = Library(["add"], variables=["x"])
    batch = Programs.from_list([Program.from_preorder(["add"] * 200 + ["x"] * 201, library)])
    with pytest.raises(InputError, match="too deeply"):
        evaluator(library, np.ones((5, 1))).predict(batch)


@given(st.lists(programs(LIBRARY), max_size=5), st.lists(st.integers(0, 4), max_size=9))
@examples(40)
def test_programs_are_told_apart_by_their_tokens_and_constants(
    drawn: list[Program], order: list[int]
) -> None:
    batch = Programs.from_list([drawn[at % len(drawn)] for at in order if drawn], LIBRARY)
    slow = [
        batch.tokens[row, : batch.lengths[row]].tobytes()
        + np.array(program.constants, dtype=np.float64).tobytes()
        for row, program in enumerate(batch)
    ]
    keys, first, inverse = _distinct(batch)
    assert keys == list(dict.fromkeys(slow))
    assert first.tolist() == [slow.index(key) for key in keys]
    assert [keys[place] for place in inverse] == slow
