"""What a program tends to as a column goes to infinity, minus infinity or 0.

Each part of a program is compared with exp(k*t**m) * t**p * log(t)**q, where t goes to infinity:
the quotient comes to lie within an interval. Of a sum the part that grows faster remains; of parts
that grow alike, the intervals add up. What cannot be told so is not known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symseek.arrays import Floats
from symseek.limits.bounds import RULES
from symseek.limits.intervals import ZERO, Interval, exponential, logarithm, number
from symseek.operators.record import Token
from symseek.programs import Program

_SLOPES_AT_0 = {
    **dict.fromkeys(("sin", "tan", "tanh", "asin", "atan", "sinh", "asinh"), 1.0),
    "erf": 2 / np.sqrt(np.pi),
}
_ENDS = {"tanh": 1.0, "erf": 1.0, "atan": np.pi / 2, "sign": 1.0}  # of functions that level off
_ABOVE_0 = Interval.of(0.0, np.inf)


@dataclass(frozen=True)
class Growth:
    """f / (exp(rate*t**speed) * t**power * log(t)**logs) comes to lie in `within`.

    Beside exp the power is not known, nor the size: `within` is then as good as a sign.
    """

    within: Interval
    power: float = 0.0
    logs: float = 0.0
    speed: float = 0.0  # 0: no exp
    rate: Interval = ZERO  # it never has 0 inside where there is a speed

    @property
    def level(self) -> int:
        """1 if the scale goes to infinity, -1 if to 0, 0 if it is 1."""
        if self.speed:
            return 1 if self.rate.low > 0 else -1
        for each in (self.power, self.logs):
            if each:
                return 1 if each > 0 else -1
        return 0

    def over(self, other: Growth) -> Growth | None:
        """The quotient of the scales, with `within` as it is; None if that is not known."""
        speed, rate = self.speed, self.rate
        if self.speed == other.speed:
            rate = self.rate - other.rate
            if self.speed and rate.contains(0.0):
                return None
        elif other.speed > self.speed:
            speed, rate = other.speed, -other.rate
        power, logs = self.power - other.power, self.logs - other.logs
        return Growth(self.within, power, logs, speed, rate if speed else ZERO)

    @property
    def sign(self) -> int:
        """1 if it stays above 0, -1 if below; 0 if that is not known."""
        low, high = float(self.within.low), float(self.within.high)
        sure = self.speed > 0  # beside exp, an end of 0 is not reached
        if low > 0 or (sure and low == 0 < high):
            return 1
        return -1 if high < 0 or (sure and low < 0 == high) else 0


def tendency(
    program: Program, column: int, to: float, side: int, low: Floats, high: Floats
) -> Interval | None:
    """Within what the values come to lie; None if that is not known.

    Infinite ends stand for values that grow beyond any number.

    Args:
        program: what tends to something.
        column: the variable that goes somewhere.
        to: inf, -inf or 0.
        side: 1 for 0 from above, -1 from below.
        low: the least values of the variables [n].
        high: the largest.

    >>> ends = np.array([0.0]), np.array([1.0])
    >>> for text in ("2.0*x/(1.0 + x)", "x*exp(-x)", "x - log(x)", "sin(x)/x"):
    ...     print(tendency(Program.parse(text), 0, np.inf, 1, *ends))
    [2, 2]
    [0, 0]
    [inf, inf]
    [0, 0]
    """
    sign = 1.0 if to == np.inf or (to == 0 and side > 0) else -1.0
    here = Growth(number(sign), -1.0 if to == 0 else 1.0)
    columns = [
        here if at == column else Growth(Interval.of(least, most))
        for at, (least, most) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
    ]
    with np.errstate(all="ignore"):
        found = program.worked(
            columns.__getitem__,
            lambda value: Growth(number(value)),
            lambda token, arguments: _applied(token, arguments, columns),
        )
    return None if found is None else _end(found)


def _end(found: Growth) -> Interval | None:
    if found.level < 0 and _is_finite(found):
        return number(0.0)
    if found.level == 0:
        return found.within if _is_finite(found) else None
    return None if found.sign == 0 else number(found.sign * np.inf)


def _is_finite(found: Growth) -> bool:
    """Whether the quotient by the scale is bounded; beside exp, any power is too small to count."""
    ends = np.isfinite(found.within.low) and np.isfinite(found.within.high)
    return bool(ends) or found.speed > 0


def _applied(token: Token, arguments: list[Growth | None], columns: list[Growth]) -> Growth | None:
    """What an operator comes to."""
    known = [each for each in arguments if each is not None]
    if len(known) < len(arguments):
        return None
    name = token.name
    if name in _OF_SEVERAL:
        return _OF_SEVERAL[name](*known)
    if token.exponent is not None:
        return _power(known[0], token.exponent)
    if token.arity == 1 and (name in RULES):
        return _function(name, known[0])
    meaning = token.expansion
    if meaning is None or token.protects:
        return None
    inside = [*known, *columns[: token.columns]]
    return meaning.worked(
        inside.__getitem__,
        lambda value: Growth(number(value)),
        lambda each, parts: _applied(each, parts, inside),
    )


def _sum(a: Growth | None, b: Growth | None) -> Growth | None:
    if a is None or b is None:
        return None
    quotient = a.over(b)
    if quotient is None:
        return a if a.sign == b.sign != 0 else None
    if quotient.level == 0:
        return Growth(a.within + b.within, a.power, a.logs, a.speed, a.rate)
    more, less = (a, b) if quotient.level > 0 else (b, a)
    return more if _is_finite(less) else None


def _negative(a: Growth) -> Growth:
    return Growth(-a.within, a.power, a.logs, a.speed, a.rate)


def _product(a: Growth | None, b: Growth | None) -> Growth | None:
    if a is None or b is None:
        return None
    inverse = Growth(b.within, -b.power, -b.logs, b.speed, -b.rate)
    scale = a.over(inverse)
    if scale is None:
        return None
    within = a.within * b.within
    if scale.speed:  # the size is not known, the sign may be
        sign = a.sign * b.sign
        within = number(0.0) if _is_zero(a) or _is_zero(b) else _signed(sign)
    return Growth(within, scale.power, scale.logs, scale.speed, scale.rate)


def _is_zero(a: Growth) -> bool:
    return bool(a.within.low == a.within.high == 0)


def _signed(sign: int) -> Interval:
    return Interval.of(0.0 if sign > 0 else -np.inf, 0.0 if sign < 0 else np.inf)


def _power(a: Growth, exponent: float) -> Growth | None:
    if a.sign == 0 and not (exponent > 0 and exponent.is_integer()):
        return None
    if a.sign < 0 and not exponent.is_integer():
        return None
    if exponent.is_integer():
        within = a.within.power(int(abs(exponent))) if exponent else number(1.0)
    else:
        within = exponential(number(abs(exponent)) * logarithm(a.within))
    if exponent < 0:
        within = within.inverse()
    if a.speed:
        within = _signed(-1 if a.sign < 0 and exponent % 2 else 1)
    rate = a.rate * exponent
    return Growth(within, a.power * exponent, a.logs * exponent, a.speed if exponent else 0.0, rate)


def _quotient(a: Growth | None, b: Growth | None) -> Growth | None:
    return None if a is None or b is None else _product(a, _power(b, -1.0))


def _to_the(a: Growth, b: Growth) -> Growth | None:
    if b.level == 0 and b.within.low == b.within.high and not b.speed:
        return _power(a, float(b.within.low))
    log = _function("log", a)
    return None if log is None else _exponential(_product(b, log))


def _exponential(a: Growth | None) -> Growth | None:
    if a is None:
        return None
    if a.level < 0 and _is_finite(a):
        return Growth(number(1.0))
    if a.level == 0:
        return Growth(exponential(a.within)) if _is_finite(a) else None
    # exp(c*log(t) + ...) is about t**c, but by what factor is not known.
    if a.speed or a.logs or not a.sign:
        return None
    return Growth(_ABOVE_0, speed=a.power, rate=a.within)


def _logarithm(a: Growth) -> Growth | None:
    if a.sign <= 0:
        return None
    if a.speed:
        return Growth(a.rate, a.speed)
    if a.power:
        return Growth(number(a.power), logs=1.0)
    return None if a.logs else Growth(logarithm(a.within))


def _function(name: str, a: Growth) -> Growth | None:
    """A function of one argument, where it goes."""
    if name == "neg":
        return _negative(a)
    if name in ("exp", "neg_exp"):
        return _exponential(a if name == "exp" else _negative(a))
    if name == "log":
        return _logarithm(a)
    if name == "abs":
        return Growth(a.within.size, a.power, a.logs, a.speed, a.rate)
    if name == "sign" and a.sign:
        return Growth(number(float(a.sign)))
    if a.level < 0 and name in _SLOPES_AT_0:
        slope = number(_SLOPES_AT_0[name])
        return Growth(a.within * slope, a.power, a.logs, a.speed, a.rate)
    if a.level > 0 and name in _ENDS and a.sign:
        return Growth(number(a.sign * _ENDS[name]))
    if name in ("sin", "cos") and a.level > 0:
        return Growth(Interval.of(-1.0, 1.0))
    if not _is_finite(a) or a.level > 0 or name in ("sign", "floor"):
        return None
    at = number(0.0) if a.level < 0 else a.within
    rule = RULES[name]
    inside = rule.sure(at)
    # Near the end of a domain there may be no value.
    if not np.all(inside) or (name in ("asin", "acos") and not _is_inner(at)):
        return None
    return Growth(rule.value(at))


def _is_inner(at: Interval) -> bool:
    return bool(at.low > -1 and at.high < 1)


def _largest(a: Growth, b: Growth) -> Growth | None:
    quotient = a.over(b)
    if quotient is None:
        return None
    if quotient.level == 0:
        ends = np.maximum(a.within.low, b.within.low), np.maximum(a.within.high, b.within.high)
        return Growth(Interval(*ends), a.power, a.logs, a.speed, a.rate)
    more, less = (a, b) if quotient.level > 0 else (b, a)
    if more.sign == 0 or not _is_finite(less):
        return None
    return more if more.sign > 0 else less


def _least(a: Growth, b: Growth) -> Growth | None:
    found = _largest(_negative(a), _negative(b))
    return None if found is None else _negative(found)


_OF_SEVERAL = {
    "add": _sum,
    "sub": lambda a, b: _sum(a, _negative(b)),
    "mul": _product,
    "div": _quotient,
    "pow": _to_the,
    "min": _least,
    "max": _largest,
}
