"""Is the difference of two formulas zero? What SymPy can prove, and within what time.

A few rules decide nearly everything a search finds: expanding, a common denominator, powers and
exponentials gathered, sines written as exponentials, logarithms joined. They run in this process,
but only on expressions whose expanded size is bounded beforehand. The rest, `sympy.simplify` above
all, can run for hours; it gets a child process, which is killed when the time is up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from symseek.notation.sympy_forms import to_sympy
from symseek.programs import Program
from symseek.recovery.child import NoAnswer, ask
from symseek.recovery.precise import ExactFormula
from symseek.tokens import Token

# Bounds for what is tried in this process: terms of an expanded sum, operations in the difference,
# and digits of an exact number. All rules together then take some tens of milliseconds.
_TERMS = 1000
_OPERATIONS = 300
_DIGITS = 2000
_QUICK_SECONDS = 0.5
# Python and SymPy take a good part of a second to start; a child with less would only be killed.
_LEAST_CHILD_SECONDS = 0.3


@dataclass(frozen=True)
class Proof:
    """Whether the formulas were proved equal, and how, or why not."""

    proved: bool
    reason: str


def prove_equal(
    found: ExactFormula, truth: ExactFormula, positive: frozenset[str], deadline: float
) -> Proof:
    """Try to prove that two formulas are equal where both are real, before `time.monotonic()`
    reaches the deadline."""
    if _tame(found) and _tame(truth):
        rule = first_proof(_difference(found, truth, positive), quick=True)
        if rule is not None:
            return Proof(True, rule)
    seconds = deadline - time.monotonic()
    if seconds < _LEAST_CHILD_SECONDS:
        return Proof(False, "there was no time for SymPy to simplify the difference")
    try:
        rule = ask(_dear_proof, found, truth, positive, seconds=seconds)
    except NoAnswer as error:
        return Proof(False, f"{error}")
    return Proof(bool(rule), rule or "SymPy could not simplify the difference to 0")


def _dear_proof(found: ExactFormula, truth: ExactFormula, positive: frozenset[str]) -> str:
    """The rule of any cost that proves it, or nothing."""
    return first_proof(_difference(found, truth, positive), quick=False) or ""


def _difference(found: ExactFormula, truth: ExactFormula, positive: frozenset[str]) -> Any:
    import sympy

    def symbol(name: str) -> Any:
        return sympy.Symbol(name, **{"positive" if name in positive else "real": True})

    return _expression(found, symbol) - _expression(truth, symbol)


def _expression(formula: ExactFormula, symbol: Callable[[str], Any]) -> Any:
    if isinstance(formula, Program):
        return to_sympy(formula, symbol, exact_number)
    return formula.xreplace({each: symbol(each.name) for each in formula.free_symbols})


def exact_number(value: float) -> Any:
    """The rational number that a float is written as: 0.1 is a tenth."""
    import sympy

    return sympy.Rational(repr(value))


def first_proof(difference: Any, quick: bool) -> str | None:
    """Name the first rule that turns the difference into 0, if one does."""
    started = time.monotonic()
    for name, rule in _QUICK_RULES if quick else _QUICK_RULES + _DEAR_RULES:
        if quick and time.monotonic() - started > _QUICK_SECONDS:
            return None
        try:
            if rule(difference, quick) == 0:
                return f"the difference is 0 {name}"
        except Exception:  # too large, or SymPy's own trouble, of any sort: it proves nothing
            continue
    return None


class _TooLarge(Exception):
    """The expression is beyond the bounds for work in this process."""


def _expand(expression: Any, bounded: bool, **hints: bool) -> Any:
    """Expand, unless that would grow beyond the bounds.

    Logarithms and powers are taken apart as if everything in them were positive (`force`): where
    both formulas are real that is so, or the numeric comparison has seen the difference.
    """
    if bounded and (
        expression.count_ops() > _OPERATIONS or _expanded_terms(expression, hints) > _TERMS
    ):
        raise _TooLarge
    return expression.expand(force=True, **hints)


def _expanded_terms(expression: Any, hints: dict[str, bool]) -> float:
    """An upper bound, roughly, on the terms of the expanded expression or of any part of it."""
    from sympy import preorder_traversal

    sizes: dict[Any, float] = {}
    for part in reversed(list(preorder_traversal(expression))):
        inner = [sizes[each] for each in part.args]
        sizes[part] = min(_own_terms(part, inner, hints.get("trig", False)), 1e9)
    return max(sizes.values())


def _own_terms(part: Any, inner: list[float], angles: bool) -> float:
    if part.is_Add:
        return math.fsum(inner)
    if part.is_Mul:
        return float(math.prod(inner))
    if part.is_Pow and part.exp.is_Integer:
        power = min(abs(int(part.exp)), 10**6)
        terms = int(inner[0])
        return 1e9 if power * terms > 10**4 else float(math.comb(terms + power - 1, power))
    if angles and _takes_angles(part):
        return math.pow(2.0, min(inner[0] - 1.0, 30.0))  # sin(a + b + c) has four
    return 1.0


def _takes_angles(part: Any) -> bool:
    """Whether SymPy expands the function of a sum, as in sin(a + b)."""
    from sympy.functions.elementary.hyperbolic import HyperbolicFunction
    from sympy.functions.elementary.trigonometric import TrigonometricFunction

    return isinstance(part, (TrigonometricFunction, HyperbolicFunction))


def _numerator(expression: Any, bounded: bool, **hints: bool) -> Any:
    """The expanded numerator over a common denominator."""
    from sympy import fraction, together

    return _expand(fraction(together(expression))[0], bounded, **hints)


def _as_exponentials(expression: Any, bounded: bool) -> Any:
    """Sines, cosines, tangents and powers as exponentials, over a common denominator."""
    from sympy import exp

    return _numerator(_expand(expression.rewrite(exp), bounded), bounded)


def _gather_powers(expression: Any, bounded: bool) -> Any:
    from sympy import powdenest, powsimp

    return powsimp(powdenest(_expand(expression, bounded), force=True), force=True)


def _join_logarithms(expression: Any, bounded: bool) -> Any:
    """One logarithm of everything: it is 0 when its argument is 1."""
    from sympy import exp, fraction, logcombine, together

    joined = exp(logcombine(_expand(expression, bounded, log=False), force=True))
    above, below = fraction(together(joined))
    return _expand(above - below, bounded)


def _simplify(expression: Any, bounded: bool) -> Any:
    from sympy import simplify

    return simplify(expression)


def _decide(expression: Any, bounded: bool) -> Any:
    """SymPy's own decision, by numbers, derivatives and minimal polynomials."""
    return 0 if expression.equals(0) else 1


ProofRule: TypeAlias = Callable[[Any, bool], Any]

_QUICK_RULES: tuple[tuple[str, ProofRule], ...] = (
    ("as it stands", lambda d, bounded: d),
    ("when expanded", lambda d, bounded: _expand(d, bounded, trig=False)),
    ("with angle sums expanded", lambda d, bounded: _expand(d, bounded, trig=True)),
    ("over a common denominator", _numerator),
    ("with powers gathered", _gather_powers),
    ("with logarithms joined", _join_logarithms),
    ("as exponentials", _as_exponentials),
)
_DEAR_RULES: tuple[tuple[str, ProofRule], ...] = (
    ("when simplified", _simplify),
    ("by SymPy's test of equality", _decide),
)


def _tame(formula: ExactFormula) -> bool:
    """Whether making the SymPy expression is sure to be quick and to stay within the stack.

    SymPy works out 1.0000001**1000000 exactly, all seven million digits of it; and it recurses.
    """
    if not isinstance(formula, Program):
        return True  # it is made already
    return len(formula) <= _OPERATIONS and _exact_digits(formula) <= _DIGITS


def _exact_digits(program: Program) -> float:
    """About how many digits the longest exact number in the program has."""
    longest = 0.0

    def operator(this: Token, arguments: list[tuple[float, float]]) -> tuple[float, float]:
        """The digits of a node, 0 if it is not an exact number, and the value of a literal."""
        nonlocal longest
        digits = sum(each for each, _ in arguments)
        if this.expansion is not None:
            digits *= len(this.expansion)
        elif this.exponent is not None:
            digits *= max(1.0, abs(this.exponent))
        elif this.name == "pow" and arguments[0][0] and arguments[1][0]:
            exponent = arguments[1][1]
            digits = math.inf if math.isnan(exponent) else digits * max(1.0, abs(exponent))
        longest = max(longest, digits)
        return digits, math.nan

    program.worked(
        lambda at: (0.0, math.nan), lambda value: (_number_digits(value), value), operator
    )
    return longest


def _number_digits(value: float) -> float:
    """The digits of a float as an exact fraction; 1e-300 has three hundred."""
    if value == 0.0 or not math.isfinite(value):
        return 1.0
    return len(repr(value)) + abs(math.log10(abs(value)))
