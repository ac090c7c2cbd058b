"""Bounds by interval arithmetic against values, slopes and curvatures of 40 digits, by mpmath."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from strategies import programs
from symseek import Library, Program
from symseek.limits.bounds import bounds, is_known
from symseek.limits.intervals import Interval
from symseek.limits.parity import parity
from symseek.limits.proofs import Verdict, bends_up, between, prove, rises, unclear
from symseek.limits.tendency import tendency
from symseek.recovery.precise import NotReal, Precise
from symseek.tokens import OPERATORS, Token

EXACT = Precise(digits=40)
# Bounds are of the floats that stand in a program; eighths are the same as decimals.
eighths = st.integers(-40, 40).map(lambda number: number / 8)
JUMPS = {"sign", "floor", *(each.name for each in OPERATORS.values() if each.protects)}


@st.composite
def cases(draw):
    """A program of any operators, and a box."""
    chosen = draw(st.lists(st.sampled_from([*OPERATORS.values()]), min_size=1, max_size=8))
    library = Library([*dict.fromkeys(chosen), "const"], ["x", "z"])
    program = draw(programs(library, max_length=draw(st.integers(2, 12))))
    values = draw(st.lists(eighths, min_size=8, max_size=8).map(tuple))
    program = Program(library, program.tokens, values[: len(program.constants)])
    low = np.array([draw(eighths), draw(eighths)])
    width = np.array([draw(st.sampled_from([0.0, 0.125, 0.5, 1.0, 4.0])) for _ in range(2)])
    return program, low, low + width


def exact(program, x, z):
    """The value to 40 digits at a point of floats; None where there is none."""
    names = program.library.variables
    try:
        return EXACT.program(program, dict(zip(names, map(EXACT.number, (x, z)), strict=False)))
    except NotReal:
        return None


def inside(box, count=4):
    """Points of floats along x, for some values of z."""
    low, high = box
    for share in (0.0, 0.375, 1.0):
        z = low[1] + share * (high[1] - low[1])
        yield z, [low[0] + at / count * (high[0] - low[0]) for at in range(count + 1)]


def within(interval, value):
    return EXACT.number(float(interval.low[0])) <= value <= EXACT.number(float(interval.high[0]))


@given(cases())
@settings(max_examples=200)
def test_bounds_contain_every_value(case):
    program, low, high = case
    found = bounds(program, low[None, :], high[None, :])
    for z, xs in inside((low, high)):
        for x in xs:
            value = exact(program, x, z)
            if value is not None:
                assert within(found.value, value), (str(program), x, z, value)
            computed = program.evaluate(np.array([[x, z]]))[0]
            if found.sure[0] and abs(found.value.low[0]) < 1e300 and found.value.high[0] < 1e300:
                assert np.isfinite(computed) or value is None, (str(program), x, z)


@given(cases())
@settings(max_examples=200)
def test_slopes_contain_every_quotient_of_differences(case):
    """The slope between any two points, and the change of it over any three."""
    program, low, high = case
    assume(high[0] > low[0] and "x" in program.names)
    found = bounds(program, low[None, :], high[None, :], column=0, order=2)
    assume(found.sure[0])
    for z, xs in inside((low, high)):
        values = [exact(program, x, z) for x in xs]
        if None in values:
            continue
        for at, one in enumerate(xs):
            for to in range(at + 1, len(xs)):
                slope = (values[to] - values[at]) / EXACT.number(xs[to] - one)
                assert within(found.slope, slope), (str(program), one, xs[to], z, slope)
        if JUMPS & {*program.names}:
            continue
        step = EXACT.number(xs[1] - xs[0])
        for a, b, c in zip(values, values[1:], values[2:], strict=False):
            curve = (a - 2 * b + c) / step**2
            assert within(found.curve, curve), (str(program), z, curve)


@pytest.mark.parametrize("token", OPERATORS.values(), ids=lambda token: token.name)
def test_every_operator_has_bounds(token):
    assert is_known(token)
    library = Library([token], ["x", "z"])
    names = ["x", "z"][: token.arity]
    program = Program.from_preorder([token.name, *names], library)
    box = np.array([[0.25, 0.625]]), np.array([[0.5, 0.75]])
    found = bounds(program, *box, column=0, order=2)
    assert found.sure[0]
    for each in (found.value, found.slope, found.curve):
        assert np.isfinite([each.low[0], each.high[0]]).all(), token.name


def test_an_operator_of_the_users_has_the_bounds_of_its_formula():
    softplus = Token("softplus", 1, 5, formula="log(1 + exp(a))")
    law = Program.parse("softplus(x)", Library([softplus], ["x"]))
    box = np.array([[-2.0]]), np.array([[3.0]])
    assert prove(law, *box, rises, column=0, order=1).verdict is Verdict.PROVED
    unknown = Token("unknown", 1, 2, numpy=np.log1p)
    law = Program.parse("unknown(x)", Library([unknown], ["x"]))
    assert prove(law, *box, rises, column=0, order=1).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("text", "claim", "order", "verdict"),
    [
        ("x - sin(x)", rises, 1, "proved"),
        ("x - 1.01*sin(x)", rises, 1, "disproved"),
        ("x**3", rises, 1, "proved"),
        ("x*x*x", rises, 1, "proved"),
        ("floor(x)", rises, 1, "proved"),
        ("max(x, -x)", bends_up, 2, "proved"),
        ("abs(x) + exp(x)", bends_up, 2, "proved"),
        ("min(x, -x)", bends_up, 2, "undecided"),
        ("1/x", rises, 1, "disproved"),
        ("tan(x)", rises, 1, "undecided"),
        ("sqrt(x)", rises, 1, "undecided"),
        ("sin(x)", between(-1.0, 1.0, 0.0), 0, "proved"),
        ("x*(1 - x)", between(-math.inf, 0.26, 0.0), 0, "proved"),
        ("x*(1 - x)", between(-math.inf, 0.24, 0.0), 0, "disproved"),
    ],
)
def test_what_can_be_proved(text, claim, order, verdict):
    box = np.array([[-3.3]]), np.array([[2.7]])
    assert prove(Program.parse(text), *box, claim, 0, order).verdict.value == verdict


@given(cases())
@settings(max_examples=150)
def test_a_proof_is_of_every_point_and_a_disproof_has_a_witness(case):
    program, low, high = case
    assume(high[0] > low[0] and "x" in program.names)
    proof = prove(program, low[None, :], high[None, :], rises, 0, 1, most=200)
    if proof.verdict is Verdict.PROVED:
        for z, xs in inside((low, high)):
            values = [exact(program, x, z) for x in xs]
            if None not in values:
                assert values == sorted(values), (str(program), z)
    if proof.verdict is Verdict.DISPROVED:
        x, z = proof.witness
        before, after = (exact(program, x + step, z) for step in (-1e-9, 1e-9))
        if before is not None and after is not None and not JUMPS & {*program.names}:
            assert after < before, (str(program), x, z)


def test_poles_and_ends_of_domains_are_found_where_they_are():
    low, high = np.array([0.0, 1.0]), np.array([4.0, 2.0])
    for text, places in [
        ("1/(x - 1.0) + z", [1.0]),
        ("sqrt(x - 3.0)*z", None),
        ("tan(x)", [1.5708]),
    ]:
        found = unclear(Program.parse(text, Library(["const", *OPERATORS], ["x", "z"])), low, high)
        assert found, text
        for box in found if places else []:
            assert min(np.abs(box[:, 0] - place).max() for place in places) < 0.05
    safe = "1/(x*x + z) + log(x + 0.5*z) + exp(x)"
    assert unclear(Program.parse(safe, Library(["const", *OPERATORS], ["x", "z"])), low, high) == []


@given(cases())
@settings(max_examples=150)
def test_parity_is_that_of_the_values(case):
    program, low, high = case
    found = parity(program, 0)
    assume(found is not None)
    sign = {"even": 1, "odd": -1, "zero": 0}[found]
    for z, xs in inside((low, high)):
        for x in xs:
            one, other = exact(program, x, z), exact(program, -x, z)
            assert (one is None) == (other is None) or found == "zero", str(program)
            if one is not None and other is not None:
                assert abs(other - sign * one) <= 1e-30 * (1 + abs(one)), (str(program), x, z)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x*cos(x) - x**3", "odd"),
        ("gauss(x)", "even"),
        ("logistic(x)", None),
        ("hypot(x, z)", "even"),
        ("z/x", "odd"),
        ("x**3/abs(x)", "odd"),
        ("pow(x, 2.0)", None),
        ("sqrt(x**2)", "even"),
    ],
)
def test_parities(text, found):
    assert parity(Program.parse(text, Library([*OPERATORS, "const"], ["x", "z"])), 0) == found


@pytest.mark.parametrize(
    ("text", "to", "found"),
    [
        ("2.0*x/(1.0 + x)", np.inf, (2, 2)),
        ("2.0*x/(1.0 + x)", 0, (0, 0)),
        ("x**3*exp(-2.0*x) + 1.5", np.inf, (1.5, 1.5)),
        ("exp(-2.0*x)", -np.inf, (np.inf, np.inf)),
        ("log(x)/x", np.inf, (0, 0)),
        ("1/log(x)", np.inf, (0, 0)),
        ("tanh(3.0*x)", -np.inf, (-1, -1)),
        ("x*log(x)", 0, (0, 0)),
        ("sin(x)/x", np.inf, (0, 0)),
        ("sin(x)/x", 0, (1, 1)),
        ("z*exp(-(x*x))", np.inf, (0, 0)),
        ("x**2 - x", np.inf, (np.inf, np.inf)),
        ("sqrt(x)/(z + x)", np.inf, (0, 0)),
        ("exp(x)/(1 + exp(x))", np.inf, None),
        ("1/(1 + exp(-x))", np.inf, (1, 1)),
        ("x - (x - 1.0)", np.inf, None),
        ("sin(x)", np.inf, (-1, 1)),
        ("max(x, 2.0)/x", np.inf, (1, 1)),
        ("atan(x)*x", -np.inf, (np.inf, np.inf)),
        ("pow(x, -0.5)", np.inf, (0, 0)),
        ("log(x)", -np.inf, None),
        ("x*exp(-0.1*(x*z))", np.inf, (0, 0)),
        ("exp(x*z - x**2)", np.inf, (0, 0)),
        ("exp(x*z - 1.5*x)", np.inf, None),
    ],
)
def test_what_programs_tend_to(text, to, found):
    law = Program.parse(text, Library([*OPERATORS, "const"], ["x", "z"]))
    tends = tendency(law, 0, to, 1, np.array([0.5, 1.0]), np.array([4.0, 2.0]))
    if found is None:
        assert tends is None
    else:
        assert (float(tends.low), float(tends.high)) == pytest.approx(found)


@given(cases(), st.sampled_from([np.inf, -np.inf, 0.0]))
@settings(max_examples=150)
def test_what_is_said_of_far_values_is_so(case, to):
    program, low, high = case
    assume("x" in program.names and not JUMPS & {*program.names})
    found = tendency(program, 0, to, 1, low, high)
    assume(found is not None)
    far = [10.0**each for each in (3, 4, 5, 6)]
    places = [1 / each if to == 0 else math.copysign(each, to) for each in far]
    values = [exact(program, x, (low[1] + high[1]) / 2) for x in places]
    assume(None not in values)
    if np.isinf(found.low):
        assert abs(values[-1]) >= abs(values[0]) * (1 - 1e-6), str(program)
        return
    off = [max(float(found.low) - each, each - float(found.high), 0) for each in values]
    assert off[-1] <= max(1e-9, off[0]) * (1 + 1e-6), (str(program), found)


@given(st.lists(st.integers(-50, 50), min_size=4, max_size=4))
def test_small_whole_numbers_are_exact(numbers):
    a, b, c, d = numbers
    one, other = Interval.of(min(a, b), max(a, b)), Interval.of(min(c, d), max(c, d))
    pairs = [Fraction(x) * y for x in (a, b) for y in (c, d)]
    product = one * other
    assert (product.low, product.high) == (min(pairs), max(pairs))
