"""Bounds of a program over boxes: of its values, its slope by a column, and how that changes.

A box has a range for each column. Bounds go up the tree from the leaves, by interval arithmetic and
the rules of differentiation. A slope is here what any two points of a box show: it counts steps and
kinks, so that a function whose slopes are all above 0 rises in the whole box.

Where an operator may be undefined in a part of a box the value is not `sure`; bounds are then those
of the part where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from symseek.arrays import Floats
from symseek.limits.intervals import (
    ANYTHING,
    UPWARDS,
    ZERO,
    Flags,
    Interval,
    cosine,
    exponential,
    falling,
    logarithm,
    number,
    rising,
    root,
    sine,
    tangent,
)
from symseek.operators.record import Token
from symseek.programs import Program

_MOST_POWER = 64  # that a whole exponent may have to be multiplied out
_HALF_PI = np.pi / 2


@dataclass(frozen=True)
class Bounds:
    """Bounds of a program in boxes [M]; slopes are None where they were not asked for."""

    value: Interval
    sure: Flags  # [M] there is a value in every point
    slope: Interval | None = None  # by the column
    curve: Interval | None = None  # the slope of the slope


@dataclass(frozen=True)
class _Rule:
    """What a function of one argument does; slopes may use the value."""

    value: Callable[[Interval], Interval]
    slope: Callable[[Interval, Interval], Interval]
    curve: Callable[[Interval, Interval], Interval]
    sure: Callable[[Interval], Flags | bool] = lambda a: True


def bounds(
    program: Program, low: Floats, high: Floats, column: int | None = None, order: int = 0
) -> Bounds:
    """Bounds of a program in boxes.

    Args:
        program: what is bounded.
        low: the least value of each variable in each box [M, n].
        high: the largest.
        column: the variable that slopes are by.
        order: 0 for values, 1 for slopes too, 2 for their slopes as well.

    >>> law = Program.parse("x*x - 3.0*x")
    >>> found = bounds(law, np.array([[2.0]]), np.array([[3.0]]), column=0, order=2)
    >>> [(float(each.low[0]), float(each.high[0])) for each in (found.slope, found.curve)]
    [(1.0, 3.0), (2.0, 2.0)]
    """
    columns = [
        _variable(Interval(low[:, at], high[:, at]), at == column, order)
        for at in range(low.shape[1])
    ]

    def operator(token: Token, arguments: list[Bounds]) -> Bounds:
        return _applied(token, arguments, columns, order)

    with np.errstate(all="ignore"):
        found = program.worked(columns.__getitem__, lambda value: _number(value, order), operator)
    return _filled(found, len(low))


def _variable(value: Interval, is_column: bool, order: int) -> Bounds:
    slope = number(1.0 if is_column else 0.0)
    return _ordered(value, np.asarray(True), order, slope, ZERO)


def _number(value: float, order: int) -> Bounds:
    return _ordered(number(value), np.asarray(True), order, ZERO, ZERO)


def _ordered(value: Interval, sure: Flags, order: int, slope: Interval, curve: Interval) -> Bounds:
    return Bounds(value, sure, slope if order > 0 else None, curve if order > 1 else None)


def _filled(found: Bounds, boxes: int) -> Bounds:
    """The bounds with an entry for each box, of one that is the same in all."""

    def full(each: Interval | None) -> Interval | None:
        if each is None:
            return None
        return Interval(*(np.broadcast_to(end, boxes) for end in (each.low, each.high)))

    value = full(found.value)
    assert value is not None
    sure = np.broadcast_to(found.sure, boxes)
    return Bounds(value, sure, full(found.slope), full(found.curve))


def _applied(token: Token, arguments: list[Bounds], columns: list[Bounds], order: int) -> Bounds:
    """What an operator comes to."""
    if token.name in _SEVERAL:
        return _SEVERAL[token.name](*arguments, order)
    if token.name in RULES:
        return _chained(RULES[token.name], arguments[0], order)
    meaning = token.expansion
    if meaning is None:
        nothing = np.zeros_like(arguments[0].sure) if arguments else np.asarray(False)
        return _ordered(ANYTHING, nothing, order, ANYTHING, ANYTHING)
    inside = [*arguments, *columns[: token.columns]]
    return meaning.worked(
        inside.__getitem__,
        lambda value: _number(value, order),
        lambda each, parts: _applied(each, parts, inside, order),
    )


def _chained(rule: _Rule, a: Bounds, order: int) -> Bounds:
    """A function of one argument, by the chain rule."""
    value = rule.value(a.value)
    sure = np.asarray(a.sure & rule.sure(a.value))
    slope = curve = None
    if order > 0:
        assert a.slope is not None
        by = rule.slope(a.value, value)
        slope = by * a.slope
        if order > 1:
            assert a.curve is not None
            curve = by * a.curve + rule.curve(a.value, value) * a.slope.power(2)
    return Bounds(value, sure, slope, curve)


def _sum(a: Bounds, b: Bounds, order: int) -> Bounds:
    sure = a.sure & b.sure
    slope = a.slope + b.slope if a.slope is not None and b.slope is not None else None
    curve = a.curve + b.curve if a.curve is not None and b.curve is not None else None
    return Bounds(a.value + b.value, sure, slope, curve)


def _negative(a: Bounds, order: int) -> Bounds:
    return Bounds(
        -a.value,
        a.sure,
        None if a.slope is None else -a.slope,
        None if a.curve is None else -a.curve,
    )


def _difference(a: Bounds, b: Bounds, order: int) -> Bounds:
    return _sum(a, _negative(b, order), order)


def _times(a: Bounds, b: Bounds, order: int) -> Bounds:
    slope = curve = None
    if a.slope is not None and b.slope is not None:
        slope = a.slope * b.value + a.value * b.slope
        if a.curve is not None and b.curve is not None:
            curve = a.curve * b.value + number(2.0) * a.slope * b.slope + a.value * b.curve
    return Bounds(a.value * b.value, a.sure & b.sure, slope, curve)


def _quotient(a: Bounds, b: Bounds, order: int) -> Bounds:
    return _times(a, _chained(RULES["reciprocal"], b, order), order)


def _to_the(a: Bounds, b: Bounds, order: int) -> Bounds:
    """a to the power of b."""
    if b.value.low.size == 1 and b.value.low.item() == b.value.high.item():
        return _chained(_fixed_power(b.value.low.item()), a, order)
    found = _chained(RULES["exp"], _times(b, _chained(RULES["log"], a, order), order), order)
    # Of a negative number there is a power at some exponents, and 0 has one at those above 0.
    above = np.asarray(a.value.low > 0)
    zero = np.asarray((a.value.low >= 0) & (b.value.low > 0))
    sure = np.asarray(a.sure & b.sure & (above | zero))
    value = found.value.where(above, Interval.of(0, np.inf).where(a.value.low >= 0, ANYTHING))
    return _ordered(
        value, sure, order, *(_kept(each, above) for each in (found.slope, found.curve))
    )


def _kept(bounds: Interval | None, where: Flags) -> Interval:
    return ANYTHING if bounds is None else bounds.where(where, ANYTHING)


def _fixed_power(exponent: float) -> _Rule:
    """The power with a number for the exponent."""
    if exponent.is_integer() and abs(exponent) <= _MOST_POWER:
        return _whole_power(int(exponent))

    def value(a: Interval, by: float) -> Interval:
        if by.is_integer() and 0 <= by <= _MOST_POWER:
            return a.power(int(by)) if by else number(1.0)
        found = exponential(number(by) * logarithm(a))
        # A large whole exponent takes negative numbers too.
        return found.where(a.low >= 0, ANYTHING) if exponent.is_integer() else found

    return _Rule(
        lambda a: value(a, exponent),
        lambda a, v: number(exponent) * value(a, exponent - 1),
        lambda a, v: number(exponent) * (number(exponent) - 1.0) * value(a, exponent - 2),
        lambda a: (a.low > 0) if exponent < 0 else (a.low >= 0),
    )


def _whole_power(exponent: int) -> _Rule:
    if exponent == 0:
        return _Rule(lambda a: number(1.0), lambda a, v: ZERO, lambda a, v: ZERO)
    if exponent < 0:
        size = -exponent
        return _Rule(
            lambda a: a.power(size).inverse(),
            lambda a, v: number(-size) * a.power(size + 1).inverse(),
            lambda a, v: number(size * (size + 1)) * a.power(size + 2).inverse(),
            lambda a: ~a.contains(0.0),
        )

    def power(a: Interval, by: int) -> Interval:
        return number(1.0) if by == 0 else ZERO if by < 0 else a.power(by)

    return _Rule(
        lambda a: power(a, exponent),
        lambda a, v: number(exponent) * power(a, exponent - 1),
        lambda a, v: number(exponent * (exponent - 1)) * power(a, exponent - 2),
    )


def _angle(a: Bounds, b: Bounds, order: int) -> Bounds:
    """atan2 of a and b, by the half plane that a box is in."""
    right = _chained(RULES["atan"], _quotient(a, b, order), order)
    turned = _chained(RULES["atan"], _quotient(b, a, order), order)
    up, down = (
        _sum(_number(quarter, order), _negative(turned, order), order)
        for quarter in (_HALF_PI, -_HALF_PI)
    )
    sure = np.asarray(a.sure & b.sure)
    full = Interval.of(-np.pi, np.pi)
    found = _ordered(Interval(full.low - 1e-15, full.high + 1e-15), sure, order, ANYTHING, ANYTHING)
    for where, part in (
        (a.value.high < 0, down),
        (a.value.low > 0, up),
        (b.value.low > 0, right),
    ):
        found = _chosen(where, part, found, sure)
    return found


def _chosen(where: Flags, one: Bounds, other: Bounds, sure: Flags) -> Bounds:
    """One where a condition holds, else the other."""

    def of(mine: Interval | None, its: Interval | None) -> Interval | None:
        return None if mine is None or its is None else mine.where(where, its)

    return Bounds(
        one.value.where(where, other.value),
        sure,
        of(one.slope, other.slope),
        of(one.curve, other.curve),
    )


def _largest(a: Bounds, b: Bounds, order: int) -> Bounds:
    """max: where either may be the larger, the slope may step up from one to the other."""
    sure = a.sure & b.sure
    value = Interval(np.maximum(a.value.low, b.value.low), np.maximum(a.value.high, b.value.high))
    slope = curve = None
    if a.slope is not None and b.slope is not None:
        slope = Interval.hull(a.slope, b.slope)
        if a.curve is not None and b.curve is not None:
            curve = Interval.hull(a.curve, b.curve, ZERO) + UPWARDS
    both = Bounds(value, sure, slope, curve)
    both = _chosen(np.asarray(a.value.high < b.value.low), b, both, sure)
    return _chosen(np.asarray(a.value.low > b.value.high), a, both, sure)


def _least(a: Bounds, b: Bounds, order: int) -> Bounds:
    return _negative(_largest(_negative(a, order), _negative(b, order), order), order)


# Protected operators have a plain number where the ordinary one is undefined or huge.


def _guarded(
    ordinary: Callable[..., Bounds],
    holds: Callable[[Interval], tuple[Flags, Flags]],
    otherwise: float,
) -> Callable[..., Bounds]:
    """`holds` says of the last argument where there is surely an ordinary value, and surely not."""

    def applied(*given: Bounds | int) -> Bounds:
        *arguments, order = given
        assert isinstance(order, int)
        parts = [each for each in arguments if isinstance(each, Bounds)]
        yes, no = holds(parts[-1].value)
        sure = np.logical_and.reduce([each.sure for each in parts])
        mixed = _ordered(ANYTHING, sure, order, ANYTHING, ANYTHING)
        found = _chosen(yes, ordinary(*parts, order), mixed, sure)
        return _chosen(no, _number(otherwise, order), found, sure)

    return applied


def _is_large(a: Interval) -> tuple[Flags, Flags]:
    size = a.size
    return np.asarray(size.low > 0.001), np.asarray(size.high <= 0.001)


def _is_small(a: Interval) -> tuple[Flags, Flags]:
    size = a.size
    return np.asarray(size.high < 1e6), np.asarray(size.low >= 1e6)


def _is_below(most: float, sign: float) -> Callable[[Interval], tuple[Flags, Flags]]:
    def holds(a: Interval) -> tuple[Flags, Flags]:
        of = a if sign > 0 else -a
        return np.asarray(of.high < most), np.asarray(of.low >= most)

    return holds


def _ruled(name: str) -> Callable[[Bounds, int], Bounds]:
    return lambda a, order: _chained(RULES[name], a, order)


def _log_of_size(a: Bounds, order: int) -> Bounds:
    return _chained(RULES["log"], _chained(RULES["abs"], a, order), order)


def _step(a: Interval) -> Interval:
    """The slope of a step upwards at 0."""
    return UPWARDS.where(a.contains(0.0), ZERO)


def _floor_slope(a: Interval, v: Interval) -> Interval:
    return UPWARDS.where(np.asarray(v.low != v.high), ZERO)


_ERF = 2 / np.sqrt(np.pi)


def _erf(a: Floats) -> Floats:
    from symseek.operators.table import OPERATORS

    numpy = OPERATORS["erf"].numpy
    assert numpy is not None
    return np.asarray(numpy(a))


def _even(function: Callable[[Interval], Interval]) -> Callable[[Interval], Interval]:
    return lambda a: function(a.size)


def _bell(a: Interval) -> Interval:
    return exponential(-a.power(2))


def _side(a: Interval) -> Interval:
    """The slope of the absolute value."""
    return Interval(np.where(a.low >= 0, 1.0, -1.0), np.where(a.high <= 0, -1.0, 1.0))


def _in_1(a: Interval) -> Flags:
    return np.asarray((a.low >= -1) & (a.high <= 1))


def _left(a: Interval) -> Interval:
    """1 - a^2, of a within 1."""
    a = a.clipped(-1.0, 1.0)
    return (number(1.0) - a.power(2)).clipped(0.0, 1.0)


# fmt: off
RULES: Mapping[str, _Rule] = {
    "neg": _Rule(lambda a: -a, lambda a, v: number(-1.0), lambda a, v: ZERO),
    "square": _whole_power(2),
    "cube": _whole_power(3),
    "fourth": _whole_power(4),
    "reciprocal": _whole_power(-1),
    "sqrt": _Rule(root, lambda a, v: number(0.5) * v.inverse(),
                  lambda a, v: number(-0.25) * v.power(3).inverse(), lambda a: a.low >= 0),
    "exp": _Rule(exponential, lambda a, v: v, lambda a, v: v),
    "neg_exp": _Rule(lambda a: exponential(-a), lambda a, v: -v, lambda a, v: v),
    "log": _Rule(logarithm, lambda a, v: a.clipped(0.0, np.inf).inverse(),
                 lambda a, v: -a.clipped(0.0, np.inf).power(2).inverse(), lambda a: a.low > 0),
    "sin": _Rule(sine, lambda a, v: cosine(a), lambda a, v: -v),
    "cos": _Rule(cosine, lambda a, v: -sine(a), lambda a, v: -v),
    "tan": _Rule(lambda a: tangent(a)[0], lambda a, v: v.power(2) + 1.0,
                 lambda a, v: number(2.0) * v * (v.power(2) + 1.0), lambda a: ~tangent(a)[1]),
    "tanh": _Rule(lambda a: rising(np.tanh, a, -1.0, 1.0), lambda a, v: _left(v),
                  lambda a, v: number(-2.0) * v * _left(v)),
    "abs": _Rule(lambda a: a.size, lambda a, v: _side(a),
                 lambda a, v: UPWARDS.where(a.contains(0.0), ZERO)),
    "asin": _Rule(lambda a: rising(np.arcsin, a.clipped(-1.0, 1.0)),
                  lambda a, v: root(_left(a)).inverse(),
                  lambda a, v: a.clipped(-1.0, 1.0) * root(_left(a)).power(3).inverse(), _in_1),
    "acos": _Rule(lambda a: falling(np.arccos, a.clipped(-1.0, 1.0)),
                  lambda a, v: -root(_left(a)).inverse(),
                  lambda a, v: -(a.clipped(-1.0, 1.0) * root(_left(a)).power(3).inverse()), _in_1),
    "atan": _Rule(lambda a: rising(np.arctan, a), lambda a, v: (a.power(2) + 1.0).inverse(),
                  lambda a, v: number(-2.0) * a * (a.power(2) + 1.0).power(2).inverse()),
    "sinh": _Rule(lambda a: rising(np.sinh, a), lambda a, v: _cosh(a), lambda a, v: v),
    "cosh": _Rule(lambda a: _cosh(a), lambda a, v: rising(np.sinh, a), lambda a, v: v),
    "asinh": _Rule(lambda a: rising(np.arcsinh, a),
                   lambda a, v: root(a.power(2) + 1.0).inverse(),
                   lambda a, v: -(a * root(a.power(2) + 1.0).power(3).inverse())),
    "sign": _Rule(lambda a: rising(np.sign, a, -1.0, 1.0), lambda a, v: _step(a),
                  lambda a, v: ANYTHING.where(a.contains(0.0), ZERO)),
    "floor": _Rule(lambda a: Interval(np.floor(a.low), np.floor(a.high)), _floor_slope,
                   lambda a, v: ANYTHING.where(np.asarray(v.low != v.high), ZERO)),
    "erf": _Rule(lambda a: rising(_erf, a, -1.0, 1.0),
                 lambda a, v: Interval.of(_ERF * (1 - 1e-15), _ERF * (1 + 1e-15)) * _bell(a),
                 lambda a, v: Interval.of(-2 * _ERF * (1 + 1e-15), -2 * _ERF * (1 - 1e-15))
                 * a * _bell(a)),
}
"""What is known of the operators of one argument; others are in `_SEVERAL`, or have a formula."""

_SEVERAL: Mapping[str, Callable[..., Bounds]] = {
    "add": _sum,
    "sub": _difference,
    "mul": _times,
    "div": _quotient,
    "pow": _to_the,
    "atan2": _angle,
    "min": _least,
    "max": _largest,
    "protected_div": _guarded(_quotient, _is_large, 1.0),
    "protected_exp": _guarded(_ruled("exp"), _is_below(100.0, 1.0), 0.0),
    "protected_log": _guarded(_log_of_size, _is_large, 0.0),
    "protected_reciprocal": _guarded(_ruled("reciprocal"), _is_large, 0.0),
    "protected_neg_exp": _guarded(_ruled("neg_exp"), _is_below(100.0, -1.0), 0.0),
    "protected_square": _guarded(_ruled("square"), _is_small, 0.0),
    "protected_cube": _guarded(_ruled("cube"), _is_small, 0.0),
}
# fmt: on


def _cosh(a: Interval) -> Interval:
    return rising(np.cosh, a.size, 1.0)


def is_known(token: Token) -> bool:
    """Whether there are bounds of an operator that are better than none."""
    return token.name in RULES or token.name in _SEVERAL or token.expansion is not None
