"""Is the found formula the true one?

Two formulas are the same when they agree wherever both are real. First they are compared as
numbers, to many digits at random points: formulas that differ nearly always differ at the first
one, so "no" is quick and needs no algebra. What survives is put to SymPy, under a time limit, for a
proof.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from symseek.errors import InputError, unknown_name
from symseek.parse import infer_library, parse_infix
from symseek.precise import NotReal, Precise
from symseek.programs import Program
from symseek.symbolic import to_sympy
from symseek.tokens import OPERATORS, Kind, Library

if TYPE_CHECKING:
    from sympy import Expr

    from symseek.algebra import Formula

__all__ = ["Recovery", "equivalent"]

# Many points to a fair number of digits, then a few of them to so many that not even a term with a
# factor of 1e-300 escapes.
_POINTS, _DIGITS = 24, 60
_CLOSE_LOOKS, _MANY_DIGITS = 2, 700
# Digits that rounding may eat before a difference is looked into, with more digits, up to a limit.
_SPARE = 20
_MOST_DIGITS = 1000
# A point where one formula is not real tells nothing, so more are drawn, up to this many.
_DRAWS = 200
# The sizes of the coordinates: mostly near 1, now and then larger, to see what an absolute value or
# a root hides, and smaller.
_SIZES = (1, 2, 1, 5, 1, 2, 0.1, 20, 1, 2, 1, 100)


Point: TypeAlias = "dict[str, str]"  # variable -> decimal number


class Recovery(NamedTuple):
    """The answer, and how it came about."""

    answer: Literal["yes", "no", "undecided"]
    reason: str


def equivalent(
    found: Program | Expr | str,
    truth: Program | Expr | str,
    variables: Sequence[str] | None = None,
    *,
    positive: bool | Collection[str] = False,
    time_limit: float = 10.0,
) -> Recovery:
    """Say whether two formulas are the same: yes, no or undecided, and why.

    Args:
        found: the formula to judge.
        truth: the formula it should be.
        variables: the names that may occur; any name, when None.
        positive: True, or the variables that are positive: there sqrt(x**2) is x.
        time_limit: seconds after which the answer is "undecided".

    >>> equivalent("exp(y*log(x))", "x**y").answer
    'yes'
    >>> equivalent("x + 1e-30", "x").answer
    'no'
    """
    deadline = time.monotonic() + time_limit
    pair = _read(found, variables), _read(truth, variables)
    names = sorted(_names(pair[0]) | _names(pair[1]) | set(variables or ()))
    above_zero = _positive_names(positive, names)
    compared, difference = _compare(pair, names, above_zero)
    if difference is not None:
        return Recovery("no", difference)
    if not compared:
        return Recovery("undecided", "no point was found where both formulas are real")
    return _prove(pair, above_zero, deadline, compared)


def _prove(
    pair: tuple[Formula, Formula], above_zero: frozenset[str], deadline: float, compared: int
) -> Recovery:
    from symseek.algebra import prove_equal

    proof = prove_equal(*pair, above_zero, deadline)
    if proof.proved:
        return Recovery("yes", proof.reason)
    agreement = f"the formulas agree to {_DIGITS - _SPARE} digits at {compared} random points"
    return Recovery("undecided", f"{proof.reason}; {agreement}")


def _read(source: Program | Expr | str, variables: Sequence[str] | None) -> Formula:
    """A program, or an expression with exact numbers, over the variables allowed."""
    if isinstance(source, str):
        own = None if variables is None else Library([*OPERATORS, "const"], variables)
        source = parse_infix(source, own or infer_library(source))
    formula = _from_program(source) if isinstance(source, Program) else _from_sympy(source)
    if variables is not None:
        for name in sorted(_names(formula) - set(variables)):
            raise unknown_name("variable", name, variables)
    return formula


def _from_program(program: Program) -> Formula:
    """The program itself; an expression where an operator of the caller's has no other form."""
    used = [program.library.tokens[token] for token in program.tokens]
    own = [
        token
        for token in used
        if token.kind is Kind.OPERATOR and token.name not in OPERATORS and token.formula is None
    ]
    for token in own:
        if token.sympy is None:
            raise InputError(f"token {token.name!r} has no formula to compare")
    if not own:
        return program
    from sympy import Symbol

    from symseek.algebra import exact_number

    expression: Expr = to_sympy(program, Symbol, exact_number)
    return expression


def _from_sympy(expression: Expr) -> Expr:
    import sympy

    from symseek.algebra import exact_number

    try:
        whole = sympy.sympify(expression)
    except (sympy.SympifyError, TypeError):
        whole = None
    if not isinstance(whole, sympy.Expr):
        raise InputError(f"{expression!r} is no formula; give a Program, text or SymPy's own")
    floats = {each: exact_number(float(each)) for each in whole.atoms(sympy.Float)}
    exact: Expr = whole.xreplace(floats)
    return exact


def _names(formula: Formula) -> frozenset[str]:
    """The variables that occur."""
    if isinstance(formula, Program):
        tokens = (formula.library.tokens[token] for token in formula.tokens)
        return frozenset(token.name for token in tokens if token.kind is Kind.VARIABLE)
    return frozenset(symbol.name for symbol in formula.free_symbols)


def _positive_names(positive: bool | Collection[str], names: list[str]) -> frozenset[str]:
    if isinstance(positive, bool):
        return frozenset(names if positive else ())
    if isinstance(positive, str):
        positive = [positive]
    for name in positive:
        if name not in names:
            raise unknown_name("variable", name, names)
    return frozenset(positive)


def _compare(
    pair: tuple[Formula, Formula], names: list[str], above_zero: frozenset[str]
) -> tuple[int, str | None]:
    """Compare at random points: at how many both are real, and the first difference seen."""
    precise = Precise(_DIGITS)
    compared: list[Point] = []
    for point in _points(names, above_zero):
        gap = _gap(pair, point, precise)
        if gap is None:
            continue
        if gap:
            return len(compared), _difference_text(gap, point)
        compared.append(point)
        if len(compared) == _POINTS or not names:
            break
    precise = Precise(_MANY_DIGITS)
    for point in compared[:_CLOSE_LOOKS]:
        gap = _gap(pair, point, precise)
        if gap:
            return len(compared), _difference_text(gap, point)
    return len(compared), None


def _difference_text(gap: Any, point: Point) -> str:
    where = " at " + ", ".join(f"{name} = {value}" for name, value in point.items())
    amount = f"{float(gap):.2g}" if gap > 1e-300 else "less than 1e-300"
    return f"the values differ by {amount}{where if point else ''}"


def _points(names: list[str], above_zero: frozenset[str]) -> Iterator[Point]:
    """Random points, always the same ones, as decimal text; every other one is positive."""
    draw = random.Random("points of comparison")
    for count in range(_DRAWS):
        size = _SIZES[count % len(_SIZES)]
        point = {}
        for name in names:
            value = size * draw.uniform(0.05, 1.0)
            negative = draw.random() < 0.7 and count % 2 == 1 and name not in above_zero
            point[name] = f"{-value if negative else value:.9g}"
        yield point


def _gap(pair: tuple[Formula, Formula], point: Point, precise: Precise) -> Any:
    """How far apart the formulas are: 0 within rounding, None where that cannot be said."""
    values = _values(pair, point, precise)
    if values is None:
        return None
    rounding = precise.number(f"1e{_SPARE - precise.digits}")
    gap = abs(values[0] - values[1])
    return 0 if gap <= rounding * max(map(abs, values)) else _settled_gap(pair, point, rounding)


def _settled_gap(pair: tuple[Formula, Formula], point: Point, rounding: Any) -> Any:
    """The gap by values that rounding does not decide, as it does in the sine of a huge number.

    The digits are doubled until errors in the last of them hardly change the values.
    """
    digits = _DIGITS
    before = _values(pair, point, Precise(digits, noise=True))
    while digits <= _MOST_DIGITS:
        digits *= 2
        values = _values(pair, point, Precise(digits, noise=True))
        if values is not None:
            gap = abs(values[0] - values[1])
            if gap <= rounding * max(map(abs, values)):
                return 0
            if before is not None and _largest_change(before, values) < gap / 1000:
                return gap
        before = values
    # Both are 0 as far as can be told, or nothing can be told.
    return 0 if before is not None and max(map(abs, before)) < rounding else None


def _largest_change(before: list[Any], values: list[Any]) -> Any:
    return max(abs(a - b) for a, b in zip(before, values, strict=True))


def _values(pair: tuple[Formula, Formula], point: Point, precise: Precise) -> list[Any] | None:
    at = {name: precise.number(text) for name, text in point.items()}
    try:
        return [
            precise.program(each, at) if isinstance(each, Program) else precise.expression(each, at)
            for each in pair
        ]
    except NotReal:
        return None
